// Contacts in the two-stage flow.
// Each contact point selected by event stepping has a normal row and a friction row. The features
// of a point do not change during the piece.
#include "dynamics/audit/audit.h"
#include "dynamics/rattle/rattle.h"
#include "dynamics/step/acted.h"
#include "dynamics/step/solve.h"
#include "dynamics/step/touch.h"

#include <string.h>

// ---- Rows --------------------------------------------------------------------------------------

// Returns an upper bound (m) of the lever arm of a contact normal about the body's centre. The
// bound of a rounded shape depends only on its core polygon, because all normals pass through that
// polygon.
static double normal_arm(const S2World *world, int32_t index) {
  S2Shape shape = s2_piece_shape(world, &world->pieces.at[index]);
  double arm = 0;
  for (int i = 0; i < shape.count; i++) {
    arm = fmax(arm, s2_length(shape.vertices[i]));
  }
  return arm;
}

// Returns an upper bound (1/kg) of the relative speed caused by a unit impulse at a contact point,
// along the normal or the surface. The bound does not depend on poses.
static double touch_mobility(const S2World *world, const S2Touch *touch, bool normal) {
  const int32_t slots[2] = {touch->body_a, touch->body_b};
  const int32_t shapes[2] = {touch->shape_a, touch->shape_b};
  double w = 0;
  for (int i = 0; i < 2; i++) {
    const S2Body *body = &world->bodies.at[slots[i]];
    if (s2_body_moves(body)) {
      double arm = normal ? normal_arm(world, shapes[i]) : body->reach;
      w += 1 / body->mass + arm * arm / body->inertia;
    }
  }
  return w;
}

// Returns true if the spring is slow enough for the trapezoidal rule. The condition is (h w)^2 + 2
// h w_d <= 4, where w^2 is the mobility times the stiffness and w_d is the mobility times the
// damping.
static bool spring_resolved(const S2Rattle *rattle, const S2Touch *touch) {
  double h = rattle->step->dt, w = touch_mobility(rattle->step->world, touch, true);
  return w * h * (h + 2 * touch->compliance * touch->damping) <= 4 * touch->compliance;
}

static bool drag_resolved(const S2Rattle *rattle, const S2Touch *touch) {
  double w = touch_mobility(rattle->step->world, touch, false);
  return w * rattle->step->dt * touch->viscosity <= 2;
}

void s2_rattle_choose(S2Rattle *rattle, const S2Choice *choices) {
  const S2Step *step = rattle->step;
  rattle->touches = 0;
  for (int i = 0; i < rattle->island->touches; i++) {
    int32_t index = rattle->island->touch[i];
    S2Touch touch = step->touches[index];
    int count = 0;
    for (int k = 0; k < touch.count; k++) {
      if (choices[2 * index + k].use) {
        touch.points[count++] = touch.points[k];
      }
    }
    touch.count = count;
    if (count > 0) {
      rattle->touch[rattle->touches] = index;
      rattle->at0.touch[rattle->touches] = touch;
      rattle->at1.touch[rattle->touches++] = touch;
    }
  }
}

static void contact_add_term(S2Rattle *rattle, const S2RattleTerm *term, double guess) {
  int r = rattle->rows++;
  rattle->term[r] = *term;
  rattle->l[r] = guess;
  rattle->first[r] = S2_RATTLE_HELD;
}

void s2_rattle_add_contacts(S2Rattle *rattle) {
  // The guess is half of the step's impulse, scaled to the length of the piece.
  double half = rattle->h / rattle->step->dt / 2;
  for (int i = 0; i < rattle->touches; i++) {
    const S2Touch *touch = &rattle->at0.touch[i];
    for (int k = 0; k < touch->count; k++) {
      const S2TouchPoint *point = &touch->points[k];
      S2RattleTerm normal = {.place = i,
                             .index = k,
                             .law = S2_RATTLE_LIMIT,
                             .source = S2_RATTLE_OF_GAP,
                             .sign = 1,
                             .most = INFINITY};
      if (s2_touch_soft(touch)) {
        normal.soft = normal.changes = true;
        normal.trapezoid = spring_resolved(rattle, touch);
      }
      contact_add_term(rattle, &normal, fmax(point->normal_impulse, 0) * half);
      S2RattleTerm along = {.place = i,
                            .index = k,
                            .law = S2_RATTLE_FRICTION,
                            .source = S2_RATTLE_OF_SLIP,
                            .sign = 1,
                            .most = INFINITY,
                            .mu = touch->friction,
                            .speed = touch->surface_speed};
      if (touch->friction > 0) {
        contact_add_term(rattle, &along, point->tangent_impulse * half);
      }
      if (touch->viscosity > 0) {
        along.law = S2_RATTLE_EQUATION;
        along.soft = true;
        along.trapezoid = drag_resolved(rattle, touch);
        along.compliance = 2 / (rattle->h * touch->viscosity);
        contact_add_term(rattle, &along, 0);
      }
    }
  }
}

// ---- Compliant contacts ------------------------------------------------------------------------
//
// With e = min(gap, 0), s = (g1 - e0)/h and K = 1/C, a contact point has the impulses
//
//   trapezoid        l = h/2 max(0, -K (e0 + g1)/2 - D s),  k = l
//   implicit Euler   l = h/2 max(0, -K g1 - D s),   l + k >= 0, k = h/2 F(g1 + h/2 J1 v1, J1 v1).
//
// The damper therefore acts only on the displacement below the surface, even if the contact closes
// during the piece.

// Computes C' and b of a row over the time h.
// C' = C/(h (theta h + C D)), b = value/(theta h + C D)
static void soften_touch(const S2Touch *touch, double h, double theta, double value,
                         double *compliance, double *bias) {
  double e = theta * h + touch->compliance * touch->damping;
  *compliance = touch->compliance / (h * e);
  *bias = value / e;
}

void s2_rattle_soften_contacts(const S2Rattle *rattle) {
  for (int r = 0; r < rattle->rows; r++) {
    S2RattleTerm *term = &rattle->term[r];
    if (term->source == S2_RATTLE_OF_GAP && term->soft) {
      const S2Touch *touch = &rattle->at0.touch[term->place];
      soften_touch(touch, rattle->h, term->trapezoid ? 0.5 : 1, s2_rattle_from(rattle, r),
                   &term->compliance, &term->bias);
      term->compliance *= 2; // each stage applies half of the impulse
    }
  }
}

void s2_rattle_soften_contact_end(const S2Rattle *rattle, int r, double *compliance, double *bias) {
  const S2RattleTerm *term = &rattle->term[r];
  const S2Touch *touch = &rattle->at1.touch[term->place];
  double half = rattle->h / 2;
  if (term->source == S2_RATTLE_OF_SLIP) {
    *compliance = 1 / (half * touch->viscosity);
  } else {
    soften_touch(touch, half, 1, rattle->at1.value[r], compliance, bias);
  }
}

bool s2_rattle_drags(const S2Rattle *rattle, int r) {
  double gap = rattle->at0.value[s2_rattle_normal(rattle, r)];
  return gap <= S2_TOUCH_SLOP * rattle->island->length;
}

void s2_rattle_measure_contacts(const S2Rattle *rattle, const double *q, const S2RattleRows *rows) {
  if (rattle->touches == 0) {
    return;
  }
  S2Step at = *rattle->step;
  memcpy(&at.q1, &q, sizeof at.q1); // s2_touch_follow reads q1
  for (int i = 0; i < rattle->touches; i++) {
    s2_touch_follow(&at, &rows->touch[i]);
  }
  for (int r = 0; r < rattle->rows; r++) {
    const S2RattleTerm *term = &rattle->term[r];
    if (!s2_rattle_of_contact(term)) {
      continue;
    }
    // The row measures the velocity of body a relative to body b, along the normal or along the
    // normal turned left by 90 degrees.
    const S2TouchPoint *point = &rows->touch[term->place].points[term->index];
    bool gap = term->source == S2_RATTLE_OF_GAP;
    S2Vec2 d = gap ? point->at.normal : s2_left(point->at.normal);
    rows->value[r] = gap ? point->at.gap : 0;
    rows->rate[r] = 0;
    rows->side[r] = (S2RowSides){.a = {s2_cross(point->at.point, d), d.x, d.y},
                                 .b = {-s2_cross(point->arm_b, d), -d.x, -d.y}};
  }
}

double s2_rattle_slip(const S2Rattle *rattle, int r, const double *v) {
  const S2Step *step = rattle->step;
  const S2RowSides *start = &rattle->at0.side[r], *end = &rattle->at1.side[r];
  const double *const from[2] = {start->a, start->b}, *const to[2] = {end->a, end->b};
  int32_t slot[2];
  s2_rattle_bodies(rattle, &rattle->term[r], slot);
  double speed = 0;
  for (int i = 0; i < 2; i++) {
    int32_t node = step->node_of[slot[i]];
    const double *of = node == S2_GROUND ? step->free_v + 3 * slot[i] : v + 3 * node;
    for (int c = 0; c < 3; c++) {
      double j = rattle->late[r] ? to[i][c] : 0.5 * (from[i][c] + to[i][c]);
      speed += j * of[c];
    }
  }
  return speed;
}

bool s2_rattle_awaits(const S2Rattle *rattle, int r) {
  int normal = s2_rattle_normal(rattle, r);
  return rattle->ahead && s2_rattle_of_contact(&rattle->term[r]) && !rattle->term[normal].soft &&
         rattle->at0.value[normal] > S2_TOUCH_SLOP * rattle->island->length;
}

double s2_rattle_arm_runs(const S2Rattle *rattle, int r) {
  const S2RowSides *from = &rattle->at0.side[r], *to = &rattle->at1.side[r];
  if (!s2_rattle_of_contact(&rattle->term[r])) {
    return 0;
  }
  int32_t slot[2];
  s2_rattle_bodies(rattle, &rattle->term[r], slot);
  const int32_t *node_of = rattle->step->node_of;
  double a = node_of[slot[0]] == S2_GROUND ? 0 : fabs(to->a[0] - from->a[0]);
  double b = node_of[slot[1]] == S2_GROUND ? 0 : fabs(to->b[0] - from->b[0]);
  return fmax(a, b);
}

bool s2_rattle_closed(const S2Rattle *rattle, int r) {
  if (s2_rattle_awaits(rattle, r)) {
    return false;
  }
  int normal = s2_rattle_normal(rattle, r);
  const S2RattleTerm *term = &rattle->term[normal];
  double near =
      s2_rattle_of_contact(term) ? S2_TOUCH_SLOP * rattle->island->length : rattle->enough;
  if (term->soft) { // with implicit Euler, a closed contact may push only at the end
    near = s2_rattle_halved(term) ? -INFINITY : 0;
  }
  return rattle->l[normal] > 0 || rattle->at1.value[normal] <= near || normal == rattle->closes;
}

// ---- The end of a piece ------------------------------------------------------------------------

S2RattleFlow s2_rattle_new_flow(const S2Step *step, const S2Island *island) {
  S2Arena *arena = step->arena;
  int numbers = 3 * step->world->bodies.count;
  // For kinematic bodies, `u` is the mean velocity and `v1` is the prescribed velocity at the end
  // of the step.
  return (S2RattleFlow){.u = s2_arena_copy(arena, step->free_v, numbers),
                        .v1 = s2_arena_copy(arena, step->given_end, numbers),
                        .halves = S2_TAKE(arena, double, S2_RATTLE_HALVES * island->joints),
                        .first = S2_TAKE(arena, S2Touch, island->touches),
                        .second = S2_TAKE(arena, S2Touch, island->touches)};
}

static void set_sliding(S2TouchPoint *point, double friction) {
  double most = friction * point->normal_impulse * (1 - 1e-9); // tolerance for rounding
  point->sliding = point->normal_impulse > 0 && fabs(point->tangent_impulse) >= most;
}

static S2Touch *copy_touches(const S2Rattle *rattle) {
  S2Touch *copy = S2_TAKE(rattle->step->arena, S2Touch, rattle->touches);
  memcpy(copy, rattle->at0.touch, sizeof(S2Touch) * (size_t)rattle->touches);
  return copy;
}

// Writes the impulses of a stage (l or k) to the touches, with the geometry of that stage.
static void put_stage(const S2Rattle *rattle, const double *of, bool second, S2Touch *to) {
  for (int r = 0; r < rattle->rows; r++) {
    const S2RattleTerm *term = &rattle->term[r];
    if (term->source != S2_RATTLE_OF_GAP) {
      continue;
    }
    const S2RattleRows *at = second ? &rattle->at1 : &rattle->at0;
    S2TouchPoint *point = &to[term->place].points[term->index];
    bool late = !second && rattle->late[r];
    *point = late ? rattle->pushed[r] : at->touch[term->place].points[term->index];
    point->normal_impulse = of[r];
    point->tangent_impulse = 0;
    for (int s = r + 1; s < rattle->rows && rattle->term[s].source == S2_RATTLE_OF_SLIP; s++) {
      point->tangent_impulse += of[s]; // viscosity counts as friction
    }
  }
}

void s2_rattle_keep_contacts(const S2Rattle *rattle, S2RattleFlow *flow) {
  const S2Step *step = rattle->step;
  const S2Island *island = rattle->island;
  // Write the impulses of both stages, in order, for the touches that have rows.
  S2ArenaMark mark = s2_arena_mark(step->arena);
  S2Touch *halves[2] = {copy_touches(rattle), copy_touches(rattle)};
  put_stage(rattle, rattle->l, false, halves[0]);
  put_stage(rattle, rattle->k, true, halves[1]);
  for (int i = 0, t = 0; i < island->touches; i++) {
    S2Touch *touch = &step->touches[island->touch[i]];
    for (int k = 0; k < touch->count; k++) {
      touch->points[k].normal_impulse = touch->points[k].tangent_impulse = 0;
      touch->points[k].sliding = false;
    }
    if (t == rattle->touches || rattle->touch[t] != island->touch[i]) {
      flow->first[i].count = flow->second[i].count = 0;
      continue;
    }
    // Add the impulses to the contact points of the step, and determine which points slide.
    for (int p = 0; p < halves[0][t].count; p++) {
      S2TouchPoint *first = &halves[0][t].points[p], *second = &halves[1][t].points[p];
      int k = touch->points[0].at.id == first->at.id ? 0 : 1;
      touch->points[k].normal_impulse = first->normal_impulse + second->normal_impulse;
      touch->points[k].tangent_impulse = first->tangent_impulse + second->tangent_impulse;
      // A point also slides if its friction reaches the bound of stage 1, because stage 1 moves the
      // bodies.
      set_sliding(&touch->points[k], touch->friction);
      set_sliding(first, touch->friction);
      touch->points[k].sliding |= first->sliding;
      first->sliding = second->sliding = touch->points[k].sliding;
    }
    flow->first[i] = halves[0][t];
    flow->second[i] = halves[1][t++];
  }
  s2_arena_rewind(step->arena, mark);
}
