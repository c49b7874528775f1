#include "record/draw/scene.h"

#include <math.h>
#include <string.h>

// Width of a margin around the view in pixels. Shapes are clipped beyond it, so that strokes, dots
// and halos at the edge remain visible.
#define BLEED 40.0
// Pixels. Larger discs become polygons that cover their visible part, because renderers draw large
// arcs inexactly.
#define LARGEST_ARC 1e5
enum { ARC_SIDES = 64 }; // number of tangents that replace the arc

void s2_scene_free(S2Scene *scene) {
  s2_array_free(scene->primitives);
  s2_array_free(scene->points);
  s2_array_free(scene->text);
}

static bool finite_vec(S2Vec2 p) {
  return isfinite(p.x) && isfinite(p.y);
}

static int scene_push_point(S2Scene *scene, S2Vec2 p) {
  int at = s2_array_push(scene->points);
  scene->points.at[at] = p;
  return at;
}

static void scene_push(S2Scene *scene, S2Primitive primitive) {
  int at = s2_array_push(scene->primitives);
  scene->primitives.at[at] = primitive;
}

static S2Box clip_box(const S2SceneView *view, double margin) {
  double grow = margin + BLEED / view->scale;
  return (S2Box){{view->lo.x - grow, view->lo.y - grow}, {view->hi.x + grow, view->hi.y + grow}};
}

static bool box_contains(S2Box box, S2Vec2 p) {
  return p.x >= box.lo.x && p.x <= box.hi.x && p.y >= box.lo.y && p.y <= box.hi.y;
}

// ---- Clipping ---------------------------------------------------------------------------------

// Clips a polygon to the half plane dot(normal, p) <= limit (Sutherland and Hodgman, 1974). The
// polygon is scene->points from `first` to the end, and is replaced with the result.
static void clip_half_plane(S2Scene *scene, int first, S2Vec2 normal, double limit) {
  int count = scene->points.count - first;
  // Keep the corners inside, and add a corner where an edge crosses the limit.
  for (int i = 0; i < count; i++) {
    S2Vec2 from = scene->points.at[first + i];
    S2Vec2 to = scene->points.at[first + (i + 1 < count ? i + 1 : 0)];
    double a = s2_dot(normal, from) - limit, b = s2_dot(normal, to) - limit;
    if (a <= 0) {
      scene_push_point(scene, from);
    }
    if (count == 2 && i == 1) {
      break; // a segment has no second edge
    }
    if ((a < 0 && b > 0) || (a > 0 && b < 0)) {
      scene_push_point(scene, s2_add_scaled(from, a / (a - b), s2_sub(to, from)));
    }
  }
  // Replace the old corners with the new ones.
  int kept = scene->points.count - first - count;
  memmove(scene->points.at + first, scene->points.at + first + count,
          sizeof(S2Vec2) * (size_t)kept);
  scene->points.count = first + kept;
}

static void clip_to_box(S2Scene *scene, int first, S2Box box) {
  clip_half_plane(scene, first, s2_vec2(1, 0), box.hi.x);
  clip_half_plane(scene, first, s2_vec2(-1, 0), -box.lo.x);
  clip_half_plane(scene, first, s2_vec2(0, 1), box.hi.y);
  clip_half_plane(scene, first, s2_vec2(0, -1), -box.lo.y);
}

// Adds a polygon that covers the visible part of a huge disc. It is the view, clipped by tangents
// to the disc.
static void push_large_disc(S2Scene *scene, S2Vec2 centre, double radius) {
  S2Box box = clip_box(&scene->view, 0);
  const S2Vec2 corners[4] = {box.lo, {box.hi.x, box.lo.y}, box.hi, {box.lo.x, box.hi.y}};
  int first = scene->points.count;
  for (int i = 0; i < 4; i++) {
    scene_push_point(scene, corners[i]);
  }
  // Measure angles from the middle of the view, so that they do not jump by a full turn at its
  // corners.
  S2Vec2 middle = s2_sub(s2_scale(0.5, s2_add(box.lo, box.hi)), centre);
  double base = atan2(middle.y, middle.x), lo = 0, hi = 0;
  if (box_contains(box, centre)) {
    lo = -acos(-1), hi = acos(-1);
  } else {
    for (int i = 0; i < 4; i++) {
      S2Vec2 corner = s2_sub(corners[i], centre);
      double angle = atan2(s2_cross(middle, corner), s2_dot(middle, corner));
      lo = fmin(lo, angle);
      hi = fmax(hi, angle);
    }
  }
  for (int i = 0; i <= ARC_SIDES; i++) {
    S2Rot turn = s2_rot(base + lo + (hi - lo) * i / ARC_SIDES);
    S2Vec2 normal = {turn.c, turn.s};
    clip_half_plane(scene, first, normal, s2_dot(normal, centre) + radius);
  }
}

// ---- Primitives -------------------------------------------------------------------------------

void s2_scene_outline(S2Scene *scene, S2Pose pose, const S2Vec2 *core, int count, double radius,
                      S2Paint paint) {
  if (!isfinite(radius) || radius < 0) {
    return;
  }
  // Transform the core to world coordinates, and clip it near the view.
  S2Box box = clip_box(&scene->view, radius);
  int first = scene->points.count;
  bool inside = true;
  for (int i = 0; i < count; i++) {
    S2Vec2 p = s2_pose_point(pose, core[i]);
    if (!finite_vec(p)) {
      scene->points.count = first;
      return;
    }
    inside = inside && box_contains(box, p);
    scene_push_point(scene, p);
  }
  if (!inside) {
    // Clipping does not change the visible outline, because the clipped part is farther away than
    // the radius.
    clip_to_box(scene, first, box);
  }
  // Replace a disc that is far larger than the picture with a polygon.
  int left = scene->points.count - first;
  if (left == 1 && radius * scene->view.scale > LARGEST_ARC) {
    S2Vec2 centre = scene->points.at[first];
    scene->points.count = first;
    push_large_disc(scene, centre, radius);
    radius = 0;
    left = scene->points.count - first;
  }
  if (left == 0) {
    return;
  }
  scene_push(scene, (S2Primitive){.type = S2_PRIMITIVE_OUTLINE,
                                  .paint = paint,
                                  .first = first,
                                  .count = left,
                                  .size = radius});
}

void s2_scene_line(S2Scene *scene, S2Vec2 from, S2Vec2 to, S2Paint paint) {
  if (!finite_vec(from) || !finite_vec(to)) {
    return;
  }
  int first = scene_push_point(scene, from);
  scene_push_point(scene, to);
  S2Box box = clip_box(&scene->view, 0);
  if (!box_contains(box, from) || !box_contains(box, to)) {
    clip_to_box(scene, first, box);
  }
  int left = scene->points.count - first;
  if (left < 2) {
    scene->points.count = first;
    return;
  }
  scene_push(scene, (S2Primitive){
                        .type = S2_PRIMITIVE_LINE, .paint = paint, .first = first, .count = left});
}

// Makes a line from the points that begin at `first`.
static void end_path(S2Scene *scene, int first, S2Paint paint) {
  int count = scene->points.count - first;
  if (count < 2) {
    scene->points.count = first;
    return;
  }
  scene_push(scene, (S2Primitive){
                        .type = S2_PRIMITIVE_LINE, .paint = paint, .first = first, .count = count});
}

void s2_scene_path(S2Scene *scene, const S2Vec2 *points, int count, S2Paint paint) {
  S2Box box = clip_box(&scene->view, 0);
  double fine = 0.4 / scene->view.scale; // m: closer points look the same
  bool drawing = false;
  int first = scene->points.count;
  S2Vec2 last = {0, 0};
  // Draw each part inside the view as a path, and each segment that crosses the edge of the view as
  // a clipped line.
  for (int i = 0; i < count; i++) {
    bool inside = finite_vec(points[i]) && box_contains(box, points[i]);
    if (drawing && !inside) {
      end_path(scene, first, paint);
    }
    if (i > 0 && (!inside || !drawing)) {
      s2_scene_line(scene, points[i - 1], points[i], paint); // may cross the edge of the view
    }
    if (inside && !drawing) {
      first = scene->points.count;
    }
    // Omit points that look the same as the previous one, but keep the last point.
    if (inside && (!drawing || i + 1 == count || s2_length(s2_sub(points[i], last)) >= fine)) {
      scene_push_point(scene, points[i]);
      last = points[i];
    }
    drawing = inside;
  }
  if (drawing) {
    end_path(scene, first, paint);
  }
}

// Adds a point. Returns its index, or -1 if it is outside the view.
static int push_visible(S2Scene *scene, S2Vec2 at) {
  if (!finite_vec(at) || !box_contains(clip_box(&scene->view, 0), at)) {
    return -1;
  }
  return scene_push_point(scene, at);
}

void s2_scene_dot(S2Scene *scene, S2Vec2 at, double radius, S2Paint paint) {
  int first = push_visible(scene, at);
  if (first >= 0) {
    scene_push(
        scene,
        (S2Primitive){
            .type = S2_PRIMITIVE_DOT, .paint = paint, .first = first, .count = 1, .size = radius});
  }
}

void s2_scene_arrow(S2Scene *scene, S2Vec2 at, S2Vec2 offset, double width, S2Paint paint) {
  int first = finite_vec(offset) ? push_visible(scene, at) : -1;
  if (first >= 0) {
    scene_push(scene, (S2Primitive){.type = S2_PRIMITIVE_ARROW,
                                    .paint = paint,
                                    .first = first,
                                    .count = 1,
                                    .size = width,
                                    .offset = offset});
  }
}

void s2_scene_text(S2Scene *scene, S2Vec2 at, S2Vec2 offset, double size, S2TextAlign align,
                   const char *text, S2Paint paint) {
  int first = push_visible(scene, at);
  if (first < 0) {
    return;
  }
  int start = scene->text.count;
  int bytes = (int)strlen(text) + 1;
  s2_array_reserve(scene->text, start + bytes);
  memcpy(scene->text.at + start, text, (size_t)bytes);
  scene->text.count += bytes;
  scene_push(scene, (S2Primitive){.type = S2_PRIMITIVE_TEXT,
                                  .paint = paint,
                                  .first = first,
                                  .count = 1,
                                  .size = size,
                                  .offset = offset,
                                  .text = start,
                                  .align = align});
}

void s2_scene_arrow_corners(const S2Scene *scene, const S2Primitive *arrow,
                            S2Vec2 corners[S2_ARROW_CORNERS]) {
  S2Vec2 tail = s2_view_pixel(&scene->view, scene->points.at[arrow->first]);
  S2Vec2 along = s2_vec2(arrow->offset.x, -arrow->offset.y);
  double length = s2_length(along);
  along = length > 0 ? s2_scale(1 / length, along) : s2_vec2(1, 0);
  // A short arrow consists of its head only.
  double head = fmin(4.2 * arrow->size, 0.75 * length), wing = 0.42 * head;
  double half = fmin(0.5 * arrow->size, 0.5 * wing);
  S2Vec2 side = s2_left(along);
  S2Vec2 neck = s2_add_scaled(tail, length - head, along);
  corners[0] = s2_add_scaled(tail, half, side);
  corners[1] = s2_add_scaled(neck, half, side);
  corners[2] = s2_add_scaled(neck, wing, side);
  corners[3] = s2_add_scaled(tail, length, along);
  corners[4] = s2_add_scaled(neck, -wing, side);
  corners[5] = s2_add_scaled(neck, -half, side);
  corners[6] = s2_add_scaled(tail, -half, side);
}
