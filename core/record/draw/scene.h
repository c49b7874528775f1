// A picture as a list of primitives, in drawing order. Positions are in world coordinates (m, y
// up). Line widths, text and arrows must be legible at any zoom, so their sizes are in pixels. Back
// ends draw this list, and do not use worlds.
#ifndef S2_SCENE_H
#define S2_SCENE_H

#include "base/array.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct S2SceneView {
  S2Vec2 lo, hi;     // m, extent of the whole picture
  int width, height; // pixels
  double scale;      // pixels/m, the same in x and y
  int top, bottom;   // pixels for the title and the legend
  int rows;          // number of rows of the legend
} S2SceneView;

// Converts a position to pixels from the upper left corner, y down.
static inline S2Vec2 s2_view_pixel(const S2SceneView *view, S2Vec2 world) {
  return s2_vec2((world.x - view->lo.x) * view->scale, (view->hi.y - world.y) * view->scale);
}
static inline S2Vec2 s2_view_world(const S2SceneView *view, S2Vec2 pixel) {
  return s2_vec2(view->lo.x + pixel.x / view->scale, view->hi.y - pixel.y / view->scale);
}

typedef struct S2Paint {
  uint32_t fill, stroke; // 0xRRGGBBAA, not drawn if alpha is 0
  double width;          // width of the stroke, pixels
  double dash;           // length of dashes and gaps in pixels, or 0 for a solid line
} S2Paint;

typedef enum S2PrimitiveType {
  S2_PRIMITIVE_OUTLINE, // convex polygon of `count` points, counter-clockwise, grown by a radius
                        // `size` (m). May also be a circle, capsule or segment
  S2_PRIMITIVE_LINE,    // open line through `count` points
  S2_PRIMITIVE_DOT,     // disc at the point, with a radius of `size` pixels
  S2_PRIMITIVE_ARROW,   // arrow from the point along `offset`, with a shaft `size` pixels wide. The
                        // stroke is a halo behind the fill
  S2_PRIMITIVE_TEXT,    // text at the point plus `offset`, `size` pixels high. The stroke is a halo
} S2PrimitiveType;

typedef enum S2TextAlign { S2_TEXT_LEFT, S2_TEXT_CENTRE, S2_TEXT_RIGHT } S2TextAlign;

typedef struct S2Primitive {
  S2PrimitiveType type;
  S2Paint paint;
  int first, count; // in S2Scene.points
  double size;
  S2Vec2 offset; // pixels, y up
  int text;      // index in S2Scene.text, where it ends with a 0. May contain any bytes
  S2TextAlign align;
} S2Primitive;

// A structure of zeros is an empty scene.
typedef struct S2Scene {
  S2SceneView view;
  uint32_t background;
  S2_ARRAY(S2Primitive) primitives;
  S2_ARRAY(S2Vec2) points;
  S2_ARRAY(char) text;
} S2Scene;

void s2_scene_free(S2Scene *scene);

// These functions drop primitives that are outside the view or have a NaN coordinate. They clip
// parts far outside the view, so that back ends receive no huge coordinates. Outlines are given in
// the frame of `pose`.
void s2_scene_outline(S2Scene *scene, S2Pose pose, const S2Vec2 *core, int count, double radius,
                      S2Paint paint);
void s2_scene_line(S2Scene *scene, S2Vec2 from, S2Vec2 to, S2Paint paint);
void s2_scene_path(S2Scene *scene, const S2Vec2 *points, int count, S2Paint paint);
void s2_scene_dot(S2Scene *scene, S2Vec2 at, double radius, S2Paint paint);
void s2_scene_arrow(S2Scene *scene, S2Vec2 at, S2Vec2 offset, double width, S2Paint paint);
void s2_scene_text(S2Scene *scene, S2Vec2 at, S2Vec2 offset, double size, S2TextAlign align,
                   const char *text, S2Paint paint);

// Outline of an arrow primitive: 7 corners in pixels, y down.
enum { S2_ARROW_CORNERS = 7 };
void s2_scene_arrow_corners(const S2Scene *scene, const S2Primitive *arrow,
                            S2Vec2 corners[S2_ARROW_CORNERS]);

#endif
