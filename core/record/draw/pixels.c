#include "record/draw/pixels.h"

#include <math.h>

static void line_to(S2Canvas *canvas, S2Vec2 pixel) {
  s2_canvas_to(canvas, pixel.x, pixel.y);
}

// Moves the edges of the core outwards, and joins them by arcs around the corners.
static void outline_path(S2Canvas *canvas, const S2Scene *scene, const S2Primitive *primitive) {
  const S2SceneView *view = &scene->view;
  const S2Vec2 *core = scene->points.at + primitive->first;
  double radius = primitive->size * view->scale;
  if (primitive->count == 1) {
    S2Vec2 centre = s2_view_pixel(view, core[0]);
    s2_canvas_circle(canvas, centre.x, centre.y, radius);
    return;
  }
  for (int i = 0; i < primitive->count; i++) {
    S2Vec2 at = s2_view_pixel(view, core[i]);
    if (radius == 0) {
      line_to(canvas, at);
      continue;
    }
    // Outwards is to the left of the path, because y points down here.
    S2Vec2 before = s2_view_pixel(view, core[i > 0 ? i - 1 : primitive->count - 1]);
    S2Vec2 after = s2_view_pixel(view, core[i + 1 < primitive->count ? i + 1 : 0]);
    S2Vec2 start = s2_left(s2_sub(at, before)), end = s2_left(s2_sub(after, at));
    // The arc spans the angle between the edges. Rounding must not make it a full circle.
    double turn = atan2(s2_cross(start, end), s2_dot(start, end)), half = acos(-1);
    turn = turn > 0.5 * half ? -half : fmin(turn, 0);
    s2_canvas_arc(canvas, at.x, at.y, radius, atan2(start.y, start.x), turn);
  }
  s2_canvas_close(canvas);
}

static void line_path(S2Canvas *canvas, const S2Scene *scene, const S2Primitive *primitive) {
  for (int i = 0; i < primitive->count; i++) {
    line_to(canvas, s2_view_pixel(&scene->view, scene->points.at[primitive->first + i]));
  }
}

static void arrow_path(S2Canvas *canvas, const S2Scene *scene, const S2Primitive *primitive) {
  S2Vec2 corners[S2_ARROW_CORNERS];
  s2_scene_arrow_corners(scene, primitive, corners);
  for (int i = 0; i < S2_ARROW_CORNERS; i++) {
    line_to(canvas, corners[i]);
  }
  s2_canvas_close(canvas);
}

static void draw_text(S2Canvas *canvas, const S2Scene *scene, const S2Primitive *primitive) {
  S2Vec2 at = s2_view_pixel(&scene->view, scene->points.at[primitive->first]);
  const S2CanvasText how = {.x = at.x + primitive->offset.x,
                            .y = at.y - primitive->offset.y,
                            .size = primitive->size,
                            .align = primitive->align,
                            .fill = primitive->paint.fill,
                            .halo = primitive->paint.stroke,
                            .halo_width = primitive->paint.width};
  s2_canvas_text(canvas, &how, scene->text.at + primitive->text);
}

static void draw_primitive(S2Canvas *canvas, const S2Scene *scene, const S2Primitive *primitive) {
  const S2Paint *paint = &primitive->paint;
  // Draw the primitive according to its type. Lines are not filled. Arrows and texts have a halo.
  S2CanvasPaint painted = {.fill = paint->fill,
                           .stroke = paint->stroke,
                           .width = paint->width,
                           .dash = &paint->dash,
                           .dash_count = paint->dash > 0 ? 1 : 0};
  S2Vec2 at = s2_view_pixel(&scene->view, scene->points.at[primitive->first]);
  switch (primitive->type) {
  case S2_PRIMITIVE_OUTLINE:
    outline_path(canvas, scene, primitive);
    break;
  case S2_PRIMITIVE_LINE:
    line_path(canvas, scene, primitive);
    painted.fill = 0;
    break;
  case S2_PRIMITIVE_DOT:
    s2_canvas_circle(canvas, at.x, at.y, primitive->size);
    break;
  case S2_PRIMITIVE_ARROW:
    arrow_path(canvas, scene, primitive);
    painted.behind = true;
    break;
  case S2_PRIMITIVE_TEXT:
    draw_text(canvas, scene, primitive);
    return;
  }
  s2_canvas_paint(canvas, &painted);
}

S2Status s2_pixels_open(S2Canvas **canvas, const S2SceneView *view) {
  return s2_canvas_open(canvas, S2_CANVAS_PICTURE, view->width, view->height, 1);
}

S2Status s2_pixels_draw(S2Canvas *canvas, const S2Scene *scene) {
  s2_canvas_clear(canvas, scene->background);
  for (int i = 0; i < scene->primitives.count; i++) {
    draw_primitive(canvas, scene, &scene->primitives.at[i]);
  }
  return s2_canvas_finish(canvas);
}

S2Status s2_png_write(S2Output *output, const S2Scene *scene) {
  S2Canvas *canvas = NULL;
  S2_TRY(s2_pixels_open(&canvas, &scene->view));
  S2Status status = s2_pixels_draw(canvas, scene);
  if (status.code == S2_OK) {
    status = s2_canvas_png(canvas, output);
  }
  s2_canvas_free(canvas);
  return status;
}
