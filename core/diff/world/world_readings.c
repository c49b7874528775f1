// Tape nodes for readings of contacts and joints in the last step.
#include "diff/world/world_readings.h"
#include "dynamics/step/touch.h"

#include "diff/joints/contact_vjp.h"
#include "dynamics/joints/joint.h"

#include <math.h>
#include <string.h>

// Relative tolerance of gaps. If a recorded gap differs from the present gap by more than this, the
// bodies have moved since.
static const double SAME_GAP = 1e-9;

// ---- Geometry ---------------------------------------------------------------------------------

typedef struct Point {
  const S2World *world;
  const S2Touch *touch;
  int k;
  S2WorldGradient *scratch;
  int places;
  S2Place *place; // numbers on which the point may depend
} Point;

static void reading_list_places(Point *point, S2Arena *arena) {
  const S2Touch *touch = point->touch;
  const int32_t shapes[2] = {touch->shape_a, touch->shape_b};
  const S2Piece *pieces = point->world->pieces.at;
  int vertices = pieces[shapes[0]].count + pieces[shapes[1]].count;
  point->place = S2_TAKE(arena, S2Place, 2 * (3 + 1 + vertices));
  for (int side = 0; side < 2; side++) {
    const S2Piece *piece = &pieces[shapes[side]];
    for (int c = 0; c < 3; c++) {
      point->place[point->places++] = s2_place(S2_PLACE_Q, piece->body, c);
    }
    point->place[point->places++] = s2_place(S2_PLACE_PIECE, shapes[side], 0); // its radius
    for (int i = 0; i < 2 * piece->count; i++) {
      point->place[point->places++] = s2_place(S2_PLACE_VERTEX, piece->first_vertex + i / 2, i % 2);
    }
  }
}

// Makes the node of one or two numbers that depend on a contact point. bar[i] is the derivative of
// number i with respect to point, normal and gap. If `placed` is set, the numbers also contain the
// position of body a.
static S2Var reading_geometry(S2WorldTape *tape, const Point *point, int count,
                              const double *values, const S2PointBar *bar, bool placed) {
  S2Arena *arena = s2_world_tape_arena(tape);
  S2Term *terms = S2_TAKE(arena, S2Term, count * point->places);
  int used = 0;
  for (int i = 0; i < count; i++) {
    s2_touch_point_vjp(point->world, point->touch, point->k, point->world->q.at, &bar[i],
                       point->scratch->q, point->scratch);
    if (placed) {
      point->scratch->q[3 * point->touch->body_a + 1 + i] += 1;
    }
    for (int p = 0; p < point->places; p++) {
      double *factor = s2_place_gradient(point->scratch, point->place[p]);
      if (*factor != 0) {
        terms[used++] = (S2Term){.to = i, .source = point->place[p], .factor = *factor};
        *factor = 0;
      }
    }
  }
  return s2_world_tape_read(tape, point->world, count, values, used, terms);
}

// ---- Contact impulses -------------------------------------------------------------------------

static const S2Acted *reading_find_acted(const S2World *world, const S2Contact *contact) {
  for (int i = 0; i < world->acted.count; i++) {
    const S2Acted *acted = &world->acted.at[i];
    if (acted->shape_a == contact->shape_a && acted->shape_b == contact->shape_b &&
        acted->feature == contact->feature) {
      return acted;
    }
  }
  return NULL;
}

enum {
  OF_IMPULSE = 0,
  OF_PRESS = 2,
  OF_ANGULAR_A = 4,
  OF_ANGULAR_B
}; // numbers of S2_PLACE_CONTACT

static int reading_add_along(S2Term *terms, int used, int to, int at, int number, S2Vec2 along) {
  const double factor[2] = {along.x, along.y};
  for (int c = 0; c < 2; c++) {
    S2Place place = s2_place(S2_PLACE_CONTACT, at, number + c);
    terms[used + c] = (S2Term){.to = to, .source = place, .factor = factor[c]};
  }
  return used + 2;
}

// With the impulse F, its tangent t and the sum P of normal impulses as vectors, n = P/|P|:
// dn = t t'dP/|P|, d(n'F) = n'dF + (t'F) t'dP/|P|, d(t'F) = t'dF - (n'F) t'dP/|P|.
static void reading_impulses(S2WorldTape *tape, const S2World *world, const S2Acted *acted, int at,
                             S2ContactVars *vars) {
  S2Vec2 n = acted->normal, t = s2_left(n);
  double normal = acted->normal_impulse, tangent = acted->tangent_impulse;
  // Viscosity can act without a normal impulse.
  double turn = acted->press > 0 ? 1 / acted->press : 0;
  S2Term terms[4];
  if (normal != 0) { // a small change does not cause a normal impulse where there was none
    int used = reading_add_along(terms, 0, 0, at, OF_IMPULSE, n);
    used = reading_add_along(terms, used, 0, at, OF_PRESS, s2_scale(turn * tangent, t));
    vars->normal_impulse = s2_world_tape_read(tape, world, 1, &normal, used, terms);
  }
  // Free rolling has no impulse, but a small push would cause one.
  if (normal != 0 || tangent != 0) {
    int used = reading_add_along(terms, 0, 0, at, OF_IMPULSE, t);
    used = reading_add_along(terms, used, 0, at, OF_PRESS, s2_scale(-turn * normal, t));
    vars->tangent_impulse = s2_world_tape_read(tape, world, 1, &tangent, used, terms);
  }
  // Angular impulses are stored directly.
  const S2Term angular_a = {.source = s2_place(S2_PLACE_CONTACT, at, OF_ANGULAR_A), .factor = 1};
  const S2Term angular_b = {.source = s2_place(S2_PLACE_CONTACT, at, OF_ANGULAR_B), .factor = 1};
  vars->angular_impulse_a = s2_world_tape_read(tape, world, 1, &acted->angular_a, 1, &angular_a);
  vars->angular_impulse_b = s2_world_tape_read(tape, world, 1, &acted->angular_b, 1, &angular_b);
  // dn = t t'dP/|P|
  if (turn > 0) {
    const double numbers[2] = {n.x, n.y};
    int used = reading_add_along(terms, 0, 0, at, OF_PRESS, s2_scale(turn * t.x, t));
    used = reading_add_along(terms, used, 1, at, OF_PRESS, s2_scale(turn * t.y, t));
    vars->normal = s2_world_tape_read(tape, world, 2, numbers, used, terms);
  }
}

S2Var s2_world_tape_contact_impulse(S2WorldTape *tape, const S2World *world, int32_t slot,
                                    const double impulse[3]) {
  S2WorldGradient *gradient = s2_world_tape_gradient(tape, world);
  S2Arena *arena = s2_world_tape_arena(tape);
  s2_arena_reset(arena);
  S2Term *terms = S2_TAKE(arena, S2Term, 3 * world->acted.count);
  int used = 0;
  for (int i = 0; i < world->acted.count; i++) {
    const S2Acted *acted = &world->acted.at[i];
    // The body may be on either side of the contact. The impulses on the two sides have opposite
    // signs.
    bool is_a = acted->body_a == slot && acted->serial_a == world->bodies.at[slot].serial;
    bool is_b = acted->body_b == slot && acted->serial_b == world->bodies.at[slot].serial;
    if (is_a || is_b) {
      int at = s2_world_gradient_contact(gradient, acted->shape_a, acted->shape_b, acted->feature);
      for (int c = 0; c < 2; c++) {
        S2Place place = s2_place(S2_PLACE_CONTACT, at, OF_IMPULSE + c);
        terms[used++] = (S2Term){.to = 1 + c, .source = place, .factor = is_a ? 1 : -1};
      }
      S2Place angular = s2_place(S2_PLACE_CONTACT, at, is_a ? OF_ANGULAR_A : OF_ANGULAR_B);
      terms[used++] = (S2Term){.to = 0, .source = angular, .factor = 1};
    }
  }
  return used == 0 ? 0 : s2_world_tape_read(tape, world, 3, impulse, used, terms);
}

// Recomputes the contact point of a feature at the present poses, even if the contact no longer
// exists.
static bool reading_touch_of(const S2World *world, const S2Contact *contact, S2Touch *touch) {
  const S2Piece *a = &world->pieces.at[contact->shape_a], *b = &world->pieces.at[contact->shape_b];
  *touch = (S2Touch){.shape_a = contact->shape_a,
                     .shape_b = contact->shape_b,
                     .body_a = a->body,
                     .body_b = b->body,
                     .count = 1};
  S2Shape of_a = s2_piece_shape(world, a), of_b = s2_piece_shape(world, b);
  S2ManifoldPoint *at = &touch->points[0].at;
  *at = s2_manifold_point_of(contact->feature, &of_a, &of_b);
  at->normal = contact->normal;
  s2_manifold_point_update(at, &of_a, s2_slot_pose(world->q.at, a->body), &of_b,
                           s2_slot_pose(world->q.at, b->body));
  double size = world->bodies.at[a->body].reach + world->bodies.at[b->body].reach;
  return fabs(at->gap - contact->gap) <= SAME_GAP * size;
}

S2ContactVars s2_world_tape_contact(S2WorldTape *tape, const S2World *world,
                                    const S2Contact *contact) {
  S2ContactVars vars = {0};
  S2WorldGradient *gradient = s2_world_tape_gradient(tape, world);
  // Make nodes for the impulses of the last step, and for the normal that follows from them.
  const S2Acted *acted = reading_find_acted(world, contact);
  if (acted != NULL) {
    int at =
        s2_world_gradient_contact(gradient, contact->shape_a, contact->shape_b, contact->feature);
    reading_impulses(tape, world, acted, at, &vars);
  }
  // Take the derivatives of the position from the touch with the same feature at the present poses.
  S2Touch touch;
  if (!reading_touch_of(world, contact, &touch)) { // bodies were moved after the step
    return vars;
  }
  Point point = {.world = world, .touch = &touch};
  static const S2PointBar points[2] = {{.point = {1, 0}}, {.point = {0, 1}}};
  static const S2PointBar normals[2] = {{.normal = {1, 0}}, {.normal = {0, 1}}};
  static const S2PointBar gap = {.gap = 1};
  const double at[2] = {contact->point.x, contact->point.y};
  const double normal[2] = {contact->normal.x, contact->normal.y};
  S2Arena *arena = s2_world_tape_arena(tape);
  s2_arena_reset(arena);
  point.scratch = s2_world_gradient_like(gradient, arena);
  reading_list_places(&point, arena);
  vars.point = reading_geometry(tape, &point, 2, at, points, true);
  if (acted == NULL || !(acted->press > 0)) {
    vars.normal = reading_geometry(tape, &point, 2, normal, normals, false);
  }
  vars.gap = reading_geometry(tape, &point, 1, &contact->gap, &gap, false);
  return vars;
}

// ---- Distances --------------------------------------------------------------------------------

// Finds the contact of two pieces whose gap is the distance. Returns false if there is none.
static bool reading_find_nearest(const S2World *world, int32_t shape_a, int32_t shape_b,
                                 double distance, S2Touch *touch, int *k) {
  const S2Piece *a = &world->pieces.at[shape_a], *b = &world->pieces.at[shape_b];
  *touch = (S2Touch){.shape_a = shape_a, .shape_b = shape_b, .body_a = a->body, .body_b = b->body};
  s2_touch_collide(world, touch, world->q.at, INFINITY);
  double size = world->bodies.at[a->body].reach + world->bodies.at[b->body].reach;
  for (*k = 0; *k < touch->count; ++*k) {
    if (fabs(touch->points[*k].at.gap - distance) <= SAME_GAP * (size + fabs(distance))) {
      return true;
    }
  }
  return false;
}

S2Status s2_world_tape_closest(S2WorldTape *tape, const S2World *world, S2BodyId a, S2BodyId b,
                               const S2ClosestBodies *closest, S2ClosestVars *vars) {
  // Find the contact whose gap is the distance.
  S2Touch touch;
  Point point = {.world = world, .touch = &touch};
  bool found = false;
  int32_t p = world->bodies.at[a.index - 1].first_shape;
  for (; p != S2_NONE && !found; p = world->pieces.at[p].next) {
    int32_t r = world->bodies.at[b.index - 1].first_shape;
    for (; r != S2_NONE && !found; r = world->pieces.at[r].next) {
      found = reading_find_nearest(world, p, r, closest->distance, &touch, &point.k);
    }
  }
  if (!found) {
    return s2_error(S2_UNAVAILABLE,
                    "the distance between bodies that overlap this far has no derivative");
  }
  // A contact point is midway between the surfaces: p_a = p + gap/2 n.
  double half = closest->distance / 2;
  S2Vec2 n = closest->normal;
  S2PointBar points[2][2], normals[2] = {{.normal = {1, 0}}, {.normal = {0, 1}}};
  static const S2PointBar gap = {.gap = 1};
  for (int i = 0; i < 4; i++) {
    double side = i < 2 ? 1 : -1;
    S2Vec2 axis = s2_vec2(i % 2 == 0, i % 2 == 1);
    points[i / 2][i % 2] = (S2PointBar){
        .point = axis, .normal = s2_scale(side * half, axis), .gap = side * s2_dot(axis, n) / 2};
  }
  const double at_a[2] = {closest->point_a.x, closest->point_a.y};
  const double at_b[2] = {closest->point_b.x, closest->point_b.y}, normal[2] = {n.x, n.y};
  S2WorldGradient *gradient = s2_world_tape_gradient(tape, world);
  S2Arena *arena = s2_world_tape_arena(tape);
  s2_arena_reset(arena);
  point.scratch = s2_world_gradient_like(gradient, arena);
  reading_list_places(&point, arena);
  vars->point_a = reading_geometry(tape, &point, 2, at_a, points[0], true);
  vars->point_b = reading_geometry(tape, &point, 2, at_b, points[1], true);
  vars->normal = reading_geometry(tape, &point, 2, normal, normals, false);
  vars->distance = reading_geometry(tape, &point, 1, &closest->distance, &gap, false);
  return s2_ok();
}

// ---- Joints -----------------------------------------------------------------------------------

S2Var s2_world_tape_reaction(S2WorldTape *tape, const S2World *world, int32_t slot, bool torque,
                             bool impulse) {
  const S2Joint *joint = &world->joints.at[slot];
  double time = impulse ? 1 : joint->reaction_time, values[2];
  int count = torque ? 1 : 2, first = torque ? 0 : 1, used = 0;
  S2Term terms[4];
  if (!(time > 0)) {
    return 0;
  }
  for (int i = 0; i < count; i++) {
    // F = impulse/time
    S2Place place = s2_place(S2_PLACE_JOINT, slot, S2_OF_REACTION + first + i);
    S2Place acted = s2_place(S2_PLACE_JOINT, slot, S2_OF_REACTION_TIME);
    values[i] = joint->reaction[first + i] / time;
    terms[used++] = (S2Term){.to = i, .source = place, .factor = 1 / time};
    if (!impulse) {
      terms[used++] = (S2Term){.to = i, .source = acted, .factor = -values[i] / time};
    }
  }
  return s2_world_tape_read(tape, world, count, values, used, terms);
}

typedef struct Errors { // the terms of s2_joint_violation, which are smooth at zero although their
                        // combination is not
  int32_t slot;
  double length;
} Errors;

static void reading_measure_errors(const void *user, const S2World *world, double *numbers) {
  const Errors *errors = user;
  const S2Joint *joint = &world->joints.at[errors->slot];
  const S2JointAt at = {world, joint, world->q.at, 0, NULL};
  S2JointError error;
  s2_joint_error(&at, errors->length, &error);
  int count = joint->velocity_only ? 0 : error.count - (joint->limit_lo == joint->limit_hi);
  for (int i = 0; i < S2_JOINT_EQUATIONS; i++) {
    bool angular = i < count && s2_joint_row_angular(&error.rows[i]);
    numbers[i] = i < count ? error.rows[i].value * (angular ? errors->length : 1) : 0;
  }
  numbers[S2_JOINT_EQUATIONS] = error.beyond;
}

S2Var s2_world_tape_joint_error(S2WorldTape *tape, S2World *world, int32_t slot, double value) {
  enum { ROWS = S2_JOINT_EQUATIONS };
  S2Place places[S2_MEASURE_PLACES + S2_JOINT_NUMBERS];
  double numbers[ROWS + 1];
  // Differentiate each error with respect to all numbers in the joint's functions.
  int count = s2_measure_places(world, slot, places);
  for (int i = S2_OF_LENGTH; i < S2_OF_IMPULSE; i++) {
    places[count++] = s2_place(S2_PLACE_JOINT, slot, i); // the joint's target values
  }
  const int32_t bodies[2] = {world->joints.at[slot].a, world->joints.at[slot].b};
  double length = 0; // computed as in s2_joint_info
  for (int i = 0; i < 2; i++) {
    length = bodies[i] == S2_NONE ? length : fmax(length, world->bodies.at[bodies[i]].reach);
  }
  Errors errors = {slot, length > 0 ? length : 1};
  S2Var rows = s2_world_tape_measure(tape, world, ROWS + 1, numbers, reading_measure_errors,
                                     &errors, count, places);
  S2Tape *of = s2_world_tape_of(tape);
  if (rows == 0 || value == 0) {
    return 0;
  }
  // If a limit is exceeded by more than the other errors, the violation is that excess.
  if (value == numbers[ROWS]) {
    return s2_tape_element(of, rows, ROWS);
  }
  // Otherwise the violation is the square root of the sum of squares.
  S2Var sum = 0;
  double square = 0;
  for (int i = 0; i < ROWS; i++) {
    square += numbers[i] * numbers[i];
    sum = s2_tape_scalar2(of, square, sum, 1, s2_tape_element(of, rows, i), 2 * numbers[i]);
  }
  return s2_tape_scalar1(of, value, sum, 0.5 / value);
}
