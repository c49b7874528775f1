#include "record/draw/picture.h"

#include <math.h>

// Length of the longest arrow, relative to the mean size of bodies. It is at least ARROW_SHORTEST
// pixels, and at most a fraction of the picture's smaller side.
#define ARROW_BODIES   0.65
#define ARROW_SHORTEST 22.0
#define ARROW_PART     0.2
// Minimum length of an arrow.
#define ARROW_STUB 9.0 // pixels

uint32_t s2_picture_color(const S2Picture *picture, uint32_t color) {
  uint32_t result = color & 0xff, background = picture->theme->background;
  for (int shift = 8; shift < 32; shift += 8) {
    double own = color >> shift & 0xff, behind = background >> shift & 0xff;
    result |= (uint32_t)lround(own + picture->fade * (behind - own)) << shift;
  }
  return result;
}

// ---- Contacts ---------------------------------------------------------------------------------

double s2_picture_largest_impulse(const S2Moment *moment) {
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

// Arrows show the impulse on one of the two bodies. This is the moving body, or the upper body if
// both move. Returns +1 for a, -1 for b.
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
  // Shorten the arrows between small bodies, so that they do not hide the bodies.
  double grain = fmax(1.2 * picture->body_size, 10 * picture->unit);
  double shortest = fmin(ARROW_SHORTEST * picture->unit, grain);
  double halo = fmin(1.6 * picture->unit, 0.06 * picture->body_size);
  double longest = fmin(fmax(ARROW_BODIES * picture->body_size, shortest),
                        ARROW_PART * fmin(picture->scene->view.width, picture->scene->view.height));
  double size = s2_length(impulse);
  if (!(size > S2_ARROW_THRESHOLD * largest)) {
    return;
  }
  double length = fmax(longest * size / largest, fmin(ARROW_STUB * picture->unit, 0.4 * shortest));
  double width =
      fmin(fmax(longest / 22, fmin(1.1 * picture->unit, longest / 14)), 2.6 * picture->unit);
  s2_scene_arrow(picture->scene, at, s2_scale(length / size, impulse), width,
                 (S2Paint){.fill = color, .stroke = picture->theme->halo, .width = halo});
}

void s2_picture_contacts(S2Picture *picture) {
  const S2Theme *theme = picture->theme;
  const S2Moment *moment = picture->moment;
  double largest = s2_picture_largest_impulse(moment);
  // Draw a filled dot at a point with an impulse, otherwise a ring.
  double radius = fmin(fmax(0.05 * picture->body_size, 1.2 * picture->unit), 2.6 * picture->unit);
  for (int i = 0; i < moment->contacts.count; i++) {
    const S2MomentContact *contact = &moment->contacts.at[i];
    bool carries = contact->normal_impulse > 0;
    S2Paint paint = {.fill = carries ? theme->ink : theme->halo,
                     .stroke = theme->ink,
                     .width = carries ? 0 : 0.8 * picture->unit};
    s2_scene_dot(picture->scene, contact->point, radius, paint);
  }
  // Draw the arrows of normal impulses.
  for (int i = 0; i < moment->contacts.count; i++) {
    const S2MomentContact *contact = &moment->contacts.at[i];
    if (contact->normal_impulse > 0) {
      double side = shown_side(moment, contact);
      draw_impulse(picture, contact->point,
                   s2_scale(side * contact->normal_impulse, contact->normal), largest,
                   theme->normal);
    }
  }
  // Draw the friction arrows on top. The colour shows whether the contact sticks.
  for (int i = 0; i < moment->contacts.count; i++) {
    const S2MomentContact *contact = &moment->contacts.at[i];
    double side = shown_side(moment, contact);
    draw_impulse(picture, contact->point,
                 s2_scale(side * contact->tangent_impulse, s2_left(contact->normal)), largest,
                 contact->sliding ? theme->sliding : theme->sticking);
  }
}

// ---- Joints -----------------------------------------------------------------------------------

static uint32_t ink_of(const S2Picture *picture, bool enabled) {
  return s2_picture_color(picture, enabled ? picture->theme->ink : picture->theme->faint);
}

// Draws a thin line from the anchor to the centre of a body whose shapes do not reach the anchor.
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

static bool mark_fixed(const S2Moment *moment, int32_t position) {
  return position < 0 || moment->bodies.at[position].type != S2_DYNAMIC;
}

// Draws a line that zigzags sideways by `width` pixels.
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

// Draws a line from anchor to anchor, through the points where the rope or belt is deflected.
static void draw_way(S2Picture *picture, const S2MomentJoint *joint, S2Paint line, double radius) {
  S2Vec2 from = joint->anchor_a;
  for (int i = 0; i < joint->ways; i++) {
    s2_scene_line(picture->scene, from, joint->way[i], line);
    from = joint->way[i];
  }
  s2_scene_line(picture->scene, from, joint->anchor_b, line);
  S2Paint ring = {.fill = s2_picture_color(picture, picture->theme->background),
                  .stroke = line.stroke,
                  .width = line.width};
  for (int i = 0; i < joint->ways; i++) {
    s2_scene_dot(picture->scene, joint->way[i], radius, ring);
  }
}

// Draws the connection between the anchors of a joint. An error is drawn in red.
static void draw_span(S2Picture *picture, const S2MomentJoint *joint, double radius) {
  double unit = picture->unit;
  S2Scene *scene = picture->scene;
  // Parts of the joint have strong lines, but mere connections have faint lines.
  S2Paint line = {.stroke = ink_of(picture, joint->enabled), .width = 1.3 * unit};
  S2Paint faint = {.stroke = ink_of(picture, false), .width = unit};
  uint32_t error = s2_picture_color(picture, picture->theme->error);
  S2Paint apart = {.stroke = error, .width = 1.3 * unit};
  // A visible gap is drawn as an error, unless the joint has compliance.
  double gap = s2_length(s2_sub(joint->anchor_a, joint->anchor_b)) * scene->view.scale;
  switch (s2_joint_traits(joint->type)->span) {
  case S2_SPAN_SPRING:
    draw_spring(picture, joint->anchor_a, joint->anchor_b, radius, line);
    break;
  case S2_SPAN_LINE:
    draw_way(picture, joint, line, radius);
    break;
  case S2_SPAN_FAINT:
    s2_scene_line(scene, joint->anchor_a, joint->anchor_b, faint);
    break;
  case S2_SPAN_ERROR:
    if (gap > 1 && joint->compliant) { // compliance allows a gap
      s2_scene_line(scene, joint->anchor_a, joint->anchor_b, faint);
    } else if (gap > 1) {
      s2_scene_line(scene, joint->anchor_a, joint->anchor_b, apart);
      s2_scene_dot(scene, joint->anchor_b, 0.5 * radius, (S2Paint){.fill = error});
    }
    break;
  case S2_SPAN_NONE:
    break;
  }
}

// Draws the symbol at the anchor of a joint. If a body is fixed, the colours are inverted.
static void draw_anchor(S2Picture *picture, const S2MomentJoint *joint, double radius) {
  const S2Moment *moment = picture->moment;
  uint32_t ink = ink_of(picture, joint->enabled);
  uint32_t paper = s2_picture_color(picture, picture->theme->background);
  S2Paint ring = {.fill = paper, .stroke = ink, .width = 1.3 * picture->unit};
  // Draw a dot at each end of a line, and a ring at a hinge. Rings of welds and sliders also have a
  // dot in the middle.
  S2JointDots dots = s2_joint_traits(joint->type)->dots;
  if (dots == S2_DOTS_NONE) {
    return;
  }
  if (dots == S2_DOTS_ENDS) {
    s2_scene_dot(picture->scene, joint->anchor_a, 0.5 * radius, (S2Paint){.fill = ink});
    s2_scene_dot(picture->scene, joint->anchor_b, 0.5 * radius, (S2Paint){.fill = ink});
    return;
  }
  if (mark_fixed(moment, joint->a) || mark_fixed(moment, joint->b)) {
    ring.fill = ink;
    ring.stroke = paper;
  }
  s2_scene_dot(picture->scene, joint->anchor_a, radius, ring);
  if (dots == S2_DOTS_FIXED) {
    s2_scene_dot(picture->scene, joint->anchor_a, 0.4 * radius, (S2Paint){.fill = ring.stroke});
  }
}

void s2_picture_joints(S2Picture *picture) {
  const S2Moment *moment = picture->moment;
  double unit = picture->unit;
  double radius = fmin(fmax(0.12 * picture->body_size, 1.6 * unit), 4 * unit);
  S2Paint arm = {.stroke = ink_of(picture, true), .width = 1.3 * unit};
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
