#include "record/picture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define NORMAL_COLOR   0xd22f3fff
#define STICKING_COLOR 0x1d8a63ff
#define SLIDING_COLOR  0xe8790bff
#define JOINT_FILL     0xffffffff
#define ERROR_COLOR    0xd22f3fff

// The longest arrow: this part of the mean body, kept between legible and overwhelming (pixels, and
// part of the picture's smaller side).
#define ARROW_BODIES   0.65
#define ARROW_SHORTEST 22.0
#define ARROW_PART     0.2
// Impulses below this part of the largest get no arrow, all others at least one of this length.
#define ARROW_THRESHOLD 1e-3
#define ARROW_STUB      9.0 // pixels

// ---- Contacts ---------------------------------------------------------------------------------

static double largest_impulse(const S2Moment *moment) {
  double largest = 0;
  for (int i = 0; i < moment->contacts.count; i++) {
    const S2MomentContact *contact = &moment->contacts.at[i];
    double both = hypot(contact->normal_impulse, contact->tangent_impulse);
    if (isfinite(both)) {
      largest = fmax(largest, both);
    }
  }
  return largest;
}

// Arrows show what acts on one of the two bodies: the one that moves, of two moving ones the one
// that is carried. +1: on a, -1: on b.
static double shown_side(const S2Moment *moment, const S2MomentContact *contact) {
  bool a = moment->bodies.at[contact->a].type == S2_DYNAMIC;
  bool b = moment->bodies.at[contact->b].type == S2_DYNAMIC;
  if (a != b) {
    return a ? 1 : -1;
  }
  return s2_dot(contact->normal, moment->settings.gravity) <= 0 ? 1 : -1;
}

static void draw_impulse(S2Picture *picture, S2Vec2 at, S2Vec2 impulse, double largest,
                         uint32_t color) {
  double longest = fmin(fmax(ARROW_BODIES * picture->body_size, ARROW_SHORTEST * picture->unit),
                        ARROW_PART * fmin(picture->scene->view.width, picture->scene->view.height));
  double size = s2_length(impulse);
  if (!(size > ARROW_THRESHOLD * largest)) {
    return;
  }
  double length = fmax(longest * size / largest, ARROW_STUB * picture->unit);
  double width = fmin(fmax(longest / 22, 1.1 * picture->unit), 2.6 * picture->unit);
  s2_scene_arrow(picture->scene, at, s2_scale(length / size, impulse), width,
                 (S2Paint){.fill = color, .stroke = S2_HALO, .width = 1.6 * picture->unit});
}

void s2_picture_contacts(S2Picture *picture) {
  const S2Moment *moment = picture->moment;
  double largest = largest_impulse(moment);
  double radius = fmin(fmax(0.05 * picture->body_size, 1.2 * picture->unit), 2.6 * picture->unit);
  for (int i = 0; i < moment->contacts.count; i++) {
    const S2MomentContact *contact = &moment->contacts.at[i];
    bool carries = contact->normal_impulse > 0;
    S2Paint paint = {.fill = carries ? S2_INK : S2_HALO,
                     .stroke = S2_INK,
                     .width = carries ? 0 : 0.8 * picture->unit};
    s2_scene_dot(picture->scene, contact->point, radius, paint);
  }
  for (int i = 0; i < moment->contacts.count; i++) {
    const S2MomentContact *contact = &moment->contacts.at[i];
    if (contact->normal_impulse > 0) {
      double side = shown_side(moment, contact);
      draw_impulse(picture, contact->point,
                   s2_scale(side * contact->normal_impulse, contact->normal), largest,
                   NORMAL_COLOR);
    }
  }
  for (int i = 0; i < moment->contacts.count; i++) {
    const S2MomentContact *contact = &moment->contacts.at[i];
    double side = shown_side(moment, contact);
    draw_impulse(picture, contact->point,
                 s2_scale(side * contact->tangent_impulse, s2_left(contact->normal)), largest,
                 contact->sliding ? SLIDING_COLOR : STICKING_COLOR);
  }
}

// ---- Joints -----------------------------------------------------------------------------------

// A thin line from the anchor to the centre of a body that does not reach it.
static void draw_arm(S2Picture *picture, int32_t position, S2Vec2 anchor, S2Paint paint) {
  if (position < 0 || picture->moment->bodies.at[position].type == S2_STATIC) {
    return;
  }
  const S2MomentBody *body = &picture->moment->bodies.at[position];
  S2Vec2 centre = s2_vec2(body->q[1], body->q[2]);
  double reach = 0;
  for (int i = 0; i < body->shape_count; i++) {
    S2Shape shape = s2_moment_shape(picture->moment, body->first_shape + i);
    for (int k = 0; k < shape.count; k++) {
      reach = fmax(reach, s2_length(shape.vertices[k]) + shape.radius);
    }
  }
  if (s2_length(s2_sub(anchor, centre)) > reach) {
    s2_scene_line(picture->scene, centre, anchor, paint);
  }
}

static bool fixed(const S2Moment *moment, int32_t position) {
  return position < 0 || moment->bodies.at[position].type != S2_DYNAMIC;
}

// A line that zigzags sideways by `width` pixels.
static void draw_spring(S2Picture *picture, S2Vec2 from, S2Vec2 to, double width, S2Paint paint) {
  enum { TURNS = 8 };
  S2Vec2 way = s2_sub(to, from);
  double length = s2_length(way), scale = picture->scene->view.scale;
  if (!(length > 0) || !(scale > 0)) {
    return;
  }
  S2Vec2 side = s2_scale(width / scale / length, s2_left(way)), last = from;
  for (int i = 1; i <= TURNS; i++) {
    double part = i == TURNS ? 1 : (i - 0.5) / (TURNS - 1), sign = i % 2 == 0 ? -1 : 1;
    S2Vec2 next = s2_add_scaled(from, part, way);
    next = i == TURNS ? to : s2_add_scaled(next, sign, side);
    s2_scene_line(picture->scene, last, next, paint);
    last = next;
  }
}

// Between the anchors: what pulls, the way along an axis, or, in red, what should not be there.
static void draw_span(S2Picture *picture, const S2MomentJoint *joint, double radius) {
  double unit = picture->unit;
  S2Scene *scene = picture->scene;
  S2Paint line = {.stroke = joint->enabled ? S2_INK : S2_FAINT_INK, .width = 1.3 * unit};
  S2Paint faint = {.stroke = S2_FAINT_INK, .width = unit};
  S2Paint apart = {.stroke = ERROR_COLOR, .width = 1.3 * unit};
  double gap = s2_length(s2_sub(joint->anchor_a, joint->anchor_b)) * scene->view.scale;
  switch (joint->type) {
  case S2_SPRING:
  case S2_WHEEL:
    draw_spring(picture, joint->anchor_a, joint->anchor_b, radius, line);
    break;
  case S2_DISTANCE:
  case S2_ROPE:
    s2_scene_line(scene, joint->anchor_a, joint->anchor_b, line);
    break;
  case S2_SLIDER:
  case S2_MOUSE:
  case S2_GEAR:
    s2_scene_line(scene, joint->anchor_a, joint->anchor_b, faint);
    break;
  case S2_HINGE:
  case S2_WELD:
    if (gap > 1 && joint->compliant) { // apart as asked
      s2_scene_line(scene, joint->anchor_a, joint->anchor_b, faint);
    } else if (gap > 1) {
      s2_scene_line(scene, joint->anchor_a, joint->anchor_b, apart);
      s2_scene_dot(scene, joint->anchor_b, 0.5 * radius, (S2Paint){.fill = ERROR_COLOR});
    }
    break;
  case S2_LOCK:
  case S2_CONSTRAINT:
  case S2_GROUND_FRICTION:
  case S2_JOINT_TYPE_COUNT:
    break;
  }
}

// A ring where things turn, a dot where they do not; filled with a light ring where it is fixed.
static void draw_anchor(S2Picture *picture, const S2MomentJoint *joint, double radius) {
  const S2Moment *moment = picture->moment;
  uint32_t ink = joint->enabled ? S2_INK : S2_FAINT_INK;
  S2Paint ring = {.fill = JOINT_FILL, .stroke = ink, .width = 1.3 * picture->unit};
  bool ends = joint->type == S2_DISTANCE || joint->type == S2_SPRING || joint->type == S2_ROPE ||
              joint->type == S2_MOUSE;
  if (joint->type == S2_GEAR || joint->type == S2_CONSTRAINT || joint->type == S2_GROUND_FRICTION) {
    return; // its joints have theirs
  }
  if (ends) {
    s2_scene_dot(picture->scene, joint->anchor_a, 0.5 * radius, (S2Paint){.fill = ink});
    s2_scene_dot(picture->scene, joint->anchor_b, 0.5 * radius, (S2Paint){.fill = ink});
    return;
  }
  if (fixed(moment, joint->a) || fixed(moment, joint->b)) {
    ring.fill = ink;
    ring.stroke = JOINT_FILL;
  }
  s2_scene_dot(picture->scene, joint->anchor_a, radius, ring);
  if (joint->type == S2_WELD || joint->type == S2_SLIDER) {
    s2_scene_dot(picture->scene, joint->anchor_a, 0.4 * radius, (S2Paint){.fill = ring.stroke});
  }
}

void s2_picture_joints(S2Picture *picture) {
  const S2Moment *moment = picture->moment;
  double unit = picture->unit;
  double radius = fmin(fmax(0.12 * picture->body_size, 1.6 * unit), 4 * unit);
  S2Paint arm = {.stroke = S2_INK, .width = 1.3 * unit};
  for (int i = 0; i < moment->joints.count; i++) {
    const S2MomentJoint *joint = &moment->joints.at[i];
    if (joint->type != S2_GEAR && joint->type != S2_CONSTRAINT) {
      draw_arm(picture, joint->a, joint->anchor_a, arm);
      draw_arm(picture, joint->b, joint->anchor_b, arm);
    }
  }
  for (int i = 0; i < moment->joints.count; i++) {
    draw_span(picture, &moment->joints.at[i], radius);
    draw_anchor(picture, &moment->joints.at[i], radius);
  }
}

// ---- Text -------------------------------------------------------------------------------------

#define FONT_SIZE 12.0 // pixels in a picture 800 wide

static S2Paint text_paint(const S2Picture *picture, uint32_t color) {
  return (S2Paint){.fill = color, .stroke = S2_HALO, .width = 2.6 * picture->unit};
}

void s2_picture_names(S2Picture *picture) {
  for (int i = 0; i < picture->moment->bodies.count; i++) {
    const S2MomentBody *body = &picture->moment->bodies.at[i];
    S2Vec2 at = s2_vec2(body->q[1], body->q[2]);
    if (body->type == S2_STATIC) {
      // The middle of a landscape is seldom in sight: its name goes to what is.
      const S2SceneView *view = &picture->scene->view;
      S2Vec2 inset = s2_scale(2 * FONT_SIZE * picture->unit / view->scale, s2_vec2(2, 1));
      at.x = fmin(fmax(at.x, view->lo.x + inset.x), view->hi.x - inset.x);
      at.y = fmin(fmax(at.y, view->lo.y + inset.y), view->hi.y - inset.y);
    }
    if (body->name[0] != '\0') {
      double size = FONT_SIZE * picture->unit;
      s2_scene_text(picture->scene, at, s2_vec2(0, 0.5 * size), size, S2_TEXT_CENTRE, body->name,
                    text_paint(picture, S2_INK));
    }
  }
}

// The largest of 1, 2, 5 times a power of ten that is not above `limit`.
static double round_length(double limit) {
  double power = pow(10, floor(log10(limit)));
  return limit >= 5 * power ? 5 * power : limit >= 2 * power ? 2 * power : power;
}

static void length_label(char *label, size_t size, double length) {
  static const struct {
    double unit;
    const char *name;
  } units[] = {{1e3, "km"}, {1, "m"}, {1e-2, "cm"}, {1e-3, "mm"}, {0, "\xc2\xb5m"}};
  int i = 0;
  while (length < units[i].unit * 0.999) { // 0.999: lengths are rounded powers of ten
    i++;
  }
  double unit = units[i].unit > 0 ? units[i].unit : 1e-6;
  snprintf(label, size, "%.6g %s", length / unit, units[i].name);
}

static void draw_scale_bar(S2Picture *picture, double margin, double font) {
  const S2SceneView *view = &picture->scene->view;
  double length = round_length(0.2 * view->width / view->scale);
  if (!isfinite(length) || !(length > 0)) {
    return;
  }
  double tick = 3 * picture->unit;
  S2Vec2 left = s2_vec2(margin, view->height - margin);
  S2Vec2 right = s2_vec2(margin + length * view->scale, left.y);
  const S2Vec2 path[4] = {{left.x, left.y - tick}, left, right, {right.x, right.y - tick}};
  S2Paint halo = {.stroke = S2_HALO, .width = 4 * picture->unit};
  S2Paint line = {.stroke = S2_INK, .width = 1.4 * picture->unit};
  for (int pass = 0; pass < 2; pass++) {
    for (int i = 0; i < 3; i++) {
      s2_scene_line(picture->scene, s2_view_world(view, path[i]), s2_view_world(view, path[i + 1]),
                    pass == 0 ? halo : line);
    }
  }
  char label[32];
  length_label(label, sizeof label, length);
  S2Vec2 middle = s2_scale(0.5, s2_add(left, right));
  s2_scene_text(picture->scene, s2_view_world(view, middle), s2_vec2(0, 0.5 * font), font,
                S2_TEXT_CENTRE, label, text_paint(picture, S2_INK));
}

static void draw_arrow_legend(S2Picture *picture, double margin, double font) {
  const S2Moment *moment = picture->moment;
  const S2SceneView *view = &picture->scene->view;
  double largest = 0;
  bool sticking = false, sliding = false;
  double threshold = ARROW_THRESHOLD * largest_impulse(moment);
  for (int i = 0; i < moment->contacts.count; i++) {
    const S2MomentContact *contact = &moment->contacts.at[i];
    if (isfinite(contact->normal_impulse)) {
      largest = fmax(largest, contact->normal_impulse);
    }
    if (fabs(contact->tangent_impulse) > threshold) {
      sliding = sliding || contact->sliding;
      sticking = sticking || !contact->sliding;
    }
  }
  char normal[64];
  snprintf(normal, sizeof normal, "normal \xe2\x89\xa4 %.3g N s", largest);
  const struct {
    bool shown;
    const char *text;
    uint32_t color;
  } entries[3] = {{largest > 0, normal, NORMAL_COLOR},
                  {sticking, "sticking friction", STICKING_COLOR},
                  {sliding, "sliding friction", SLIDING_COLOR}};
  S2Vec2 corner = s2_vec2(view->width - margin, margin + 0.8 * font);
  for (int i = 0; i < 3; i++) {
    if (entries[i].shown) {
      s2_scene_text(picture->scene, s2_view_world(view, corner), s2_vec2(0, 0), font, S2_TEXT_RIGHT,
                    entries[i].text, text_paint(picture, entries[i].color));
      corner.y += 1.3 * font;
    }
  }
}

// A fitted view leaves strays out; the reader shall know.
static void draw_stray_count(S2Picture *picture, double margin, double font) {
  const S2SceneView *view = &picture->scene->view;
  int count = 0;
  for (int i = 0; i < picture->moment->bodies.count; i++) {
    const S2MomentBody *body = &picture->moment->bodies.at[i];
    bool inside = body->q[1] >= view->lo.x && body->q[1] <= view->hi.x &&
                  body->q[2] >= view->lo.y && body->q[2] <= view->hi.y;
    count += body->type != S2_STATIC && body->enabled && !inside;
  }
  if (count > 0 && picture->options->fit) {
    char text[48];
    snprintf(text, sizeof text, "%d %s out of view", count, count == 1 ? "body" : "bodies");
    S2Vec2 corner = s2_vec2(view->width - margin, view->height - margin);
    s2_scene_text(picture->scene, s2_view_world(view, corner), s2_vec2(0, 0), font, S2_TEXT_RIGHT,
                  text, text_paint(picture, S2_INK));
  }
}

void s2_picture_legend(S2Picture *picture) {
  const S2SceneView *view = &picture->scene->view;
  double font = FONT_SIZE * picture->unit, margin = 0.9 * font;
  if (isfinite(picture->moment->time)) {
    char time[48];
    snprintf(time, sizeof time, "t = %.4g s", picture->moment->time);
    s2_scene_text(picture->scene, s2_view_world(view, s2_vec2(margin, margin + 0.8 * font)),
                  s2_vec2(0, 0), font, S2_TEXT_LEFT, time, text_paint(picture, S2_INK));
  }
  draw_scale_bar(picture, margin, font);
  draw_stray_count(picture, margin, font);
  if (picture->options->contacts) {
    draw_arrow_legend(picture, margin, font);
  }
}
