#include "record/draw/picture.h"

#include "record/draw/view.h"

#include <math.h>

#define OUTLINE_DARKNESS 0.62 // brightness of an outline, relative to its fill
#define SEAM             0.5  // pixels
#define DISABLED_ALPHA   0.28
#define SENSOR_ALPHA     0.16

// Length of the orientation mark, relative to the distance from the centre to the rim. In a disc
// the mark reaches the rim.
#define MARK_PART 0.55
enum { MARK_HALVINGS = 24 }; // bisection steps when searching for the rim

static uint32_t picture_darker(uint32_t color) {
  uint32_t result = color & 0xff;
  for (int shift = 8; shift < 32; shift += 8) {
    result |= (uint32_t)(OUTLINE_DARKNESS * (color >> shift & 0xff)) << shift;
  }
  return result;
}

static uint32_t picture_faded(uint32_t color, double alpha) {
  return (color & ~0xffu) | (uint32_t)lround(alpha * (color & 0xff));
}

// ---- Bodies -----------------------------------------------------------------------------------

static S2Paint body_paint(const S2Picture *picture, const S2MomentBody *body) {
  // Small bodies have thin outlines, because thick outlines would hide them.
  double width = fmax(fmin(1.5 * picture->unit, 0.07 * picture->body_size), 0.4);
  // Choose the colour by slot, so that a body keeps its colour when other bodies are destroyed.
  uint32_t fill = s2_palette(body->id.index - 1);
  const S2Theme *theme = picture->theme;
  S2Paint paint = {.fill = fill, .stroke = picture_darker(fill), .width = width};
  // Static and kinematic bodies have fixed colours.
  if (body->type == S2_STATIC) {
    paint = (S2Paint){.fill = theme->static_fill, .stroke = theme->static_line, .width = width};
  } else if (body->type == S2_KINEMATIC) {
    paint = (S2Paint){
        .fill = theme->kinematic_fill, .stroke = theme->kinematic_line, .width = 1.7 * width};
  }
  // A colour set by the script takes precedence.
  if (body->color != 0) {
    paint.fill = body->color;
    paint.stroke = body->type == S2_KINEMATIC ? theme->kinematic_line : picture_darker(body->color);
  }
  // Sensors and disabled bodies are transparent.
  if (body->sensor) {
    paint.fill = picture_faded(paint.fill, SENSOR_ALPHA);
    paint.dash = 4 * picture->unit;
  }
  if (!body->enabled) {
    paint.fill = picture_faded(paint.fill, DISABLED_ALPHA);
    paint.stroke = picture_faded(paint.stroke, DISABLED_ALPHA);
  }
  // Fade earlier moments.
  paint.fill = s2_picture_color(picture, paint.fill);
  paint.stroke = s2_picture_color(picture, paint.stroke);
  return paint;
}

static void draw_shape(S2Picture *picture, const S2MomentBody *body, int32_t index, S2Paint paint) {
  S2Shape shape = s2_moment_shape(picture->moment, index);
  S2Pose pose = s2_pose(body->q[0], body->q[1], body->q[2]);
  if (shape.count == 2 && shape.radius == 0) {
    paint.width = fmax(2.2 * picture->unit, paint.width); // a segment is only an outline
  }
  s2_scene_outline(picture->scene, pose, shape.vertices, shape.count, shape.radius, paint);
}

static void draw_shapes(S2Picture *picture, const S2MomentBody *body, S2Paint paint) {
  bool opaque = (paint.fill & 0xff) == 0xff;
  if (body->shape_count == 1 || !opaque) {
    for (int i = 0; i < body->shape_count; i++) {
      draw_shape(picture, body, body->first_shape + i, paint);
    }
    return;
  }
  // The pieces of a body must look like a single shape. Draw all outlines first, so that the fills
  // cover the inner ones. The fills are slightly enlarged to hide seams.
  S2Paint outline = paint, fill = {.fill = paint.fill, .stroke = paint.fill, .width = SEAM};
  outline.width = 1.5 * paint.width + SEAM;
  for (int i = 0; i < body->shape_count; i++) {
    draw_shape(picture, body, body->first_shape + i, outline);
  }
  for (int i = 0; i < body->shape_count; i++) {
    const S2MomentShape *shape = &picture->moment->shapes.at[body->first_shape + i];
    if (shape->count != 2 || shape->radius > 0) {
      draw_shape(picture, body, body->first_shape + i, fill);
    }
  }
}

// Returns true if the point p, in the body frame, is in the shape.
static bool shape_contains(const S2Shape *shape, S2Vec2 p) {
  bool inside = shape->count > 2;
  double nearest = INFINITY;
  for (int i = 0; i < shape->count; i++) {
    S2Vec2 from = shape->vertices[i], to = shape->vertices[(i + 1) % shape->count];
    S2Vec2 edge = s2_sub(to, from), offset = s2_sub(p, from);
    inside = inside && s2_cross(edge, offset) >= 0;
    double length2 = s2_length2(edge);
    double along = length2 > 0 ? fmin(fmax(s2_dot(edge, offset) / length2, 0), 1) : 0;
    nearest = fmin(nearest, s2_length(s2_sub(offset, s2_scale(along, edge))));
  }
  return inside || nearest <= shape->radius;
}

// Returns the distance from the centre of mass to the rim along the body's x axis, or 0 if the
// centre is outside all shapes. Sets `disc` if the shape is a disc about the centre.
static double rim_distance(const S2Moment *moment, const S2MomentBody *body, bool *disc) {
  *disc = false;
  double best = 0;
  // Choose the shape that covers the centre and reaches farthest along the axis.
  for (int i = 0; i < body->shape_count; i++) {
    S2Shape shape = s2_moment_shape(moment, body->first_shape + i);
    if (!shape_contains(&shape, s2_vec2(0, 0))) {
      continue;
    }
    // The rim is between the centre and the farthest vertex. Find it by bisection.
    double lo = 0, hi = shape.radius;
    for (int k = 0; k < shape.count; k++) {
      hi = fmax(hi, s2_length(shape.vertices[k]) + shape.radius);
    }
    for (int k = 0; k < MARK_HALVINGS; k++) {
      double middle = 0.5 * (lo + hi);
      if (shape_contains(&shape, s2_vec2(middle, 0))) {
        lo = middle;
      } else {
        hi = middle;
      }
    }
    if (lo > best) {
      best = lo;
      *disc = shape.count == 1;
    }
  }
  return best;
}

static void draw_mark(S2Picture *picture, const S2MomentBody *body, S2Paint paint) {
  bool disc = false;
  double rim = rim_distance(picture->moment, body, &disc);
  S2Vec2 centre = s2_vec2(body->q[1], body->q[2]);
  S2Rot rotation = s2_rot(body->q[0]);
  S2Paint line = {.stroke = paint.stroke, .width = paint.width};
  double part = disc ? 1.0 : MARK_PART;
  if (rim > 0) {
    S2Vec2 tip = s2_add(centre, s2_rotate(rotation, s2_vec2(part * rim, 0)));
    s2_scene_line(picture->scene, centre, tip, line);
  }
  s2_scene_dot(picture->scene, centre, 1.1 * paint.width, (S2Paint){.fill = paint.stroke});
}

// Later layers are drawn over earlier layers.
enum { STATIC_LAYER, SENSOR_LAYER, KINEMATIC_LAYER, DYNAMIC_LAYER };

static int picture_layer(const S2MomentBody *body) {
  if (body->sensor) {
    return SENSOR_LAYER;
  }
  return body->type == S2_STATIC      ? STATIC_LAYER
         : body->type == S2_KINEMATIC ? KINEMATIC_LAYER
                                      : DYNAMIC_LAYER;
}

static void draw_bodies(S2Picture *picture, int from, int to) {
  for (int level = from; level <= to; level++) {
    for (int i = 0; i < picture->moment->bodies.count; i++) {
      const S2MomentBody *body = &picture->moment->bodies.at[i];
      if (picture_layer(body) != level) {
        continue;
      }
      S2Paint paint = body_paint(picture, body);
      draw_shapes(picture, body, paint);
      if (body->type != S2_STATIC && !body->sensor) {
        draw_mark(picture, body, paint);
      }
    }
  }
}

// ---- Trails -----------------------------------------------------------------------------------

static void draw_trail(S2Picture *picture, const S2Trails *trails, const S2Trail *trail,
                       const S2MomentBody *body) {
  const double alpha = 0.75;
  int count = trail->points.count;
  while (count > 0 && trails->times.at[trail->first + count - 1] > picture->moment->time) {
    count--;
  }
  uint32_t color = body_paint(picture, body).fill;
  S2Paint paint = {.stroke =
                       picture_faded(picture->options->dark ? color : picture_darker(color), alpha),
                   .width = 1.3 * picture->unit};
  s2_scene_path(picture->scene, trail->points.at, count, paint);
  if (count > 0) { // draw up to the present position of the body
    s2_scene_line(picture->scene, trail->points.at[count - 1], s2_vec2(body->q[1], body->q[2]),
                  paint);
  }
}

static void draw_trails(S2Picture *picture, const S2Trails *trails) {
  for (int i = 0; i < picture->moment->bodies.count; i++) {
    const S2MomentBody *body = &picture->moment->bodies.at[i];
    const S2Trail *trail = s2_trails_find(trails, body->id);
    if (trail != NULL) {
      draw_trail(picture, trails, trail, body);
    }
  }
}

// ---- The whole picture ------------------------------------------------------------------------

static double mean_body_size(const S2Moment *moment) {
  double sum = 0;
  int count = 0;
  for (int i = 0; i < moment->bodies.count; i++) {
    const S2MomentBody *body = &moment->bodies.at[i];
    // Use twice the distance of the farthest vertex as the size of a body.
    double reach = 0;
    for (int k = 0; body->type != S2_STATIC && k < body->shape_count; k++) {
      S2Shape shape = s2_moment_shape(moment, body->first_shape + k);
      for (int n = 0; n < shape.count; n++) {
        reach = fmax(reach, s2_length(shape.vertices[n]) + shape.radius);
      }
    }
    if (reach > 0 && isfinite(reach)) {
      sum += 2 * reach;
      count += 1;
    }
  }
  return count > 0 ? sum / count : 0;
}

// Fade past moments, the earliest most strongly.
static double fade_of(int index, int count) {
  const double oldest = 0.82, newest = 0.5;
  return count > 2 ? oldest + (newest - oldest) * index / (count - 2) : newest;
}

static void draw_past(S2Picture *picture, const S2Story *story) {
  for (int i = 0; i + 1 < story->count; i++) {
    picture->moment = &story->moments[i];
    picture->fade = fade_of(i, story->count);
    draw_bodies(picture, KINEMATIC_LAYER, DYNAMIC_LAYER);
    if (picture->options->joints) {
      s2_picture_joints(picture);
    }
  }
  picture->moment = &story->moments[story->count - 1];
  picture->fade = 0;
}

void s2_picture_story(S2Scene *scene, const S2Story *story, const S2DrawOptions *options) {
  scene->primitives.count = scene->points.count = scene->text.count = 0;
  const S2Moment *last = &story->moments[story->count - 1];
  // Set the scales for the size of bodies and the width of lines.
  double size = mean_body_size(last);
  S2Picture picture = {
      .scene = scene,
      .moment = last,
      .options = options,
      .theme = s2_theme(options->dark),
      .unit = s2_view_unit(scene->view.width),
      .body_size = size > 0 ? size * scene->view.scale : 0.2 * scene->view.width,
  };
  scene->background = picture.theme->background;
  // Draw from back to front: the ground, past moments, trails, moving bodies, marks and texts.
  draw_bodies(&picture, STATIC_LAYER, SENSOR_LAYER);
  draw_past(&picture, story);
  if (story->trails != NULL) {
    draw_trails(&picture, story->trails);
  }
  draw_bodies(&picture, KINEMATIC_LAYER, DYNAMIC_LAYER);
  if (options->joints) {
    s2_picture_joints(&picture);
  }
  if (options->contacts) {
    s2_picture_contacts(&picture);
  }
  if (options->names) {
    s2_picture_names(&picture);
  }
  s2_picture_annotations(&picture);
  s2_picture_legend(&picture, story);
}

S2Status s2_picture_build(S2Scene *scene, const S2Moment *moment, const S2DrawOptions *options) {
  S2_TRY(s2_view_of(moment, options, &scene->view));
  const S2Story story = {.moments = moment, .count = 1};
  s2_picture_story(scene, &story, options);
  return s2_ok();
}
