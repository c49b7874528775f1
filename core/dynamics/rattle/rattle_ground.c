// Ground friction in the two-stage flow.
// The force on a body is bounded by a disc. While the body slides, the force opposes the motion of
// its centre. Stage 1 uses the mean velocity and the impulse over h/2. Stage 2 uses the final
// velocity and the impulse of both stages.
//
// The disc is represented by a bounded row along the motion and an unbounded row across it. The
// force on a sliding body turns with its motion. If the momentum without ground friction has a
// component across the motion, the force gets a proportional component. The row across the motion
// is therefore compliant, with C = |v|/(bound h). After each solve, the rows are aligned with the
// new motion and solved again. This is Newton's method for the friction law, and the force across
// the motion converges to zero.
//
// If a body slides in stage 1 and stage 2 does not reverse it, k = l along the mean velocity. This
// method is of second order even if the velocity turns. Otherwise each stage has separate rows,
// because the velocities differ. The rows of stage 1 then have k = -l. The rows of stage 2 have l =
// 0, and their k is the impulse of both stages.
#include "dynamics/rattle/rattle_numbers.h"
#include "dynamics/rattle/rattle_stage.h"
#include "dynamics/step/islands.h"

#include <string.h>

// Relative tolerance of a force at its bound.
static const double AT_BOUND = 1e-12;

static bool is_ground(const S2Rattle *rattle, int place) {
  const S2Joint *joint = &rattle->step->world->joints.at[rattle->island->joint[place]];
  return joint->type == S2_GROUND_FRICTION;
}

// Returns the row of the joint along the motion in a stage, or a negative number if the joint has
// no friction force.
static int ground_row(const S2Rattle *rattle, int place, bool second) {
  return is_ground(rattle, place)
             ? rattle->row_of[place][second ? S2_GROUND_SECOND : S2_GROUND_FIRST]
             : S2_NONE;
}

static int ground_node(const S2Rattle *rattle, int r) {
  return rattle->step->node_of[s2_rattle_joint(rattle, &rattle->term[r])->a];
}

// Returns the radius (N s) of the friction disc in a stage.
static double disc_radius(const S2Rattle *rattle, int r, bool second) {
  return rattle->term[r].most * rattle->h * (second ? 1 : 0.5);
}

// Returns the speed (m/s) below which speeds are rounding errors.
static double ground_still(const S2Rattle *rattle) {
  return S2_RATTLE_ROUNDING * s2_island_speed(rattle->step, rattle->island);
}

int s2_rattle_ground_terms(const S2Rattle *rattle, int place, S2RattleTerm *terms) {
  const S2Joint *joint = &rattle->step->world->joints.at[rattle->island->joint[place]];
  S2RattleTerm term = {.place = place,
                       .law = S2_RATTLE_BOUNDED,
                       .source = S2_RATTLE_OF_GROUND,
                       .sign = 1,
                       .changes = true};
  int count = 0;
  if (joint->max_torque > 0) {
    terms[count] = term;
    terms[count].index = S2_GROUND_TORQUE;
    terms[count].most = joint->max_torque;
    terms[count++].mix[0] = 1;
  }
  // rows along and across the motion, in both stages
  for (int k = 0; k < 4 && joint->max_force > 0; k++) {
    bool across = k % 2 == 1;
    terms[count] = term;
    terms[count].index = S2_GROUND_SECOND + k;
    terms[count].most = across ? INFINITY : joint->max_force;
    terms[count++].mix[across ? 2 : 1] = 1;
  }
  return count;
}

// Aligns row r with the direction `along` and the next row with the perpendicular direction. The
// perpendicular row gets the compliance.
static void aim_rows(S2Rattle *rattle, int r, S2Vec2 along, double compliance) {
  S2Vec2 across = s2_left(along);
  double *const to[2] = {rattle->term[r].mix, rattle->term[r + 1].mix};
  to[0][1] = along.x;
  to[0][2] = along.y;
  to[1][1] = across.x;
  to[1][2] = across.y;
  rattle->term[r + 1].compliance = compliance;
}

static S2Vec2 row_direction(const S2Rattle *rattle, int r) {
  return s2_vec2(rattle->term[r].mix[1], rattle->term[r].mix[2]);
}

static S2Vec2 ground_force(const S2Rattle *rattle, int r, const double *x) {
  S2Vec2 sum = s2_scale(x[r], row_direction(rattle, r));
  return s2_add_scaled(sum, x[r + 1], row_direction(rattle, r + 1));
}

static void put_force(const S2Rattle *rattle, int r, S2Vec2 force, double *x) {
  x[r] = s2_dot(force, row_direction(rattle, r));
  x[r + 1] = s2_dot(force, row_direction(rattle, r + 1));
}

// Sets the directions of the rows of a body at rest with the impulse `force`. They are the axes of
// the world or, if the force is outside the disc, the direction in which the body will slide.
static void aim_held(S2Rattle *rattle, int r, S2Vec2 force, double radius, double mass) {
  double size = s2_length(force);
  bool slides = size > radius * (1 + AT_BOUND);
  aim_rows(rattle, r, slides ? s2_scale(-1 / size, force) : s2_vec2(1, 0),
           slides ? (size - radius) / (mass * radius) : 0);
}

void s2_rattle_guess_ground(S2Rattle *rattle) {
  for (int i = 0; i < rattle->island->joints && rattle->grounds > 0; i++) {
    int r = ground_row(rattle, i, false), end = ground_row(rattle, i, true);
    if (r < 0) {
      continue;
    }
    // Use the direction of the momentum that the body would have without joints.
    int at = 3 * ground_node(rattle, r) + 1;
    const double *force =
        rattle->step->force + 3 * s2_rattle_joint(rattle, &rattle->term[r])->a + 1;
    double mass = rattle->inertial[at], radius = disc_radius(rattle, r, false);
    S2Vec2 v = s2_vec2(rattle->v0[at], rattle->v0[at + 1]);
    S2Vec2 p = s2_add_scaled(s2_scale(mass, v), rattle->h / 2, s2_vec2(force[0], force[1]));
    S2Vec2 held = s2_vec2(rattle->l[end], rattle->l[end + 1]);
    double size = s2_length(p);
    if (s2_length(v) > 1e3 * ground_still(rattle) && size > 0) {
      aim_rows(rattle, r, s2_scale(1 / size, p), fmax(size - radius, 0) / (mass * radius));
    } else {
      aim_held(rattle, r, held, radius, mass);
    }
    put_force(rattle, r, held, rattle->l);
    rattle->l[r] = fmax(-radius, fmin(radius, rattle->l[r]));
    aim_rows(rattle, end, row_direction(rattle, r), 0);
    for (int k = 0; k < 2; k++) {
      rattle->l[end + k] = 0;
      rattle->first[end + k] = S2_RATTLE_KNOWN;
      rattle->first[r + k] = S2_RATTLE_HELD;
    }
  }
}

void s2_rattle_set_grounds(S2Rattle *rattle) {
  for (int i = 0; i < rattle->island->joints && rattle->grounds > 0; i++) {
    for (int second = 0; second < 2; second++) {
      int r = ground_row(rattle, i, second);
      if (r < 0) {
        continue;
      }
      const double *v = (second ? rattle->v1 : rattle->u) + 3 * ground_node(rattle, r);
      double speed = hypot(v[1], v[2]);
      bool slides = speed > ground_still(rattle);
      S2Vec2 along = slides ? s2_scale(1 / speed, s2_vec2(v[1], v[2])) : s2_vec2(1, 0);
      aim_rows(rattle, r, along, slides ? speed / disc_radius(rattle, r, second) : 0);
    }
  }
}

static void repeat_ground(S2Rattle *rattle, int r, bool repeats) {
  for (int k = r; k < r + 2; k++) {
    rattle->term[k].soft = rattle->term[k].trapezoid = repeats;
  }
}

void s2_rattle_repeat_grounds(S2Rattle *rattle) {
  for (int i = 0; i < rattle->island->joints && rattle->grounds > 0; i++) {
    int r = ground_row(rattle, i, false);
    if (r >= 0) {
      repeat_ground(rattle, r, rattle->term[r + 1].compliance > 0);
    }
  }
}

void s2_rattle_find_repeated(S2Rattle *rattle) {
  for (int i = 0; i < rattle->island->joints && rattle->grounds > 0; i++) {
    int r = ground_row(rattle, i, false);
    if (r >= 0) {
      repeat_ground(rattle, r, rattle->l[r] * rattle->k[r] > 0);
    }
  }
}

bool s2_rattle_grounds_turn_back(S2Rattle *rattle) {
  double still = ground_still(rattle);
  bool any = false;
  for (int i = 0; i < rattle->island->joints && rattle->grounds > 0; i++) {
    int r = ground_row(rattle, i, false);
    if (r < 0 || !s2_rattle_halved(&rattle->term[r])) {
      continue;
    }
    const double *v = rattle->v1 + 3 * ground_node(rattle, r);
    if (s2_dot(row_direction(rattle, r), s2_vec2(v[1], v[2])) < -still) {
      repeat_ground(rattle, r, false);
      any = true;
    }
  }
  return any;
}

double s2_rattle_ground_impulse(const S2Rattle *rattle, int place, int axis) {
  double sum = 0;
  for (int k = 0; k < 4; k++) {
    int r = rattle->row_of[place][S2_GROUND_SECOND + k];
    sum += rattle->term[r].mix[1 + axis] * (rattle->l[r] + rattle->k[r]);
  }
  return sum;
}

bool s2_rattle_ground_holds(const S2Rattle *rattle) {
  bool holds = true;
  for (int i = 0; i < rattle->island->joints && rattle->grounds > 0; i++) {
    int r = ground_row(rattle, i, false);
    holds &= r < 0 || s2_length(ground_force(rattle, r, rattle->l)) <=
                          disc_radius(rattle, r, false) * (1 + AT_BOUND);
  }
  return holds;
}

// Copies the current directions of the rows to the stage.
static void put_rows(S2RattleStage *stage, int r) {
  S2Rattle *rattle = stage->rattle;
  const S2Joint *joint = s2_rattle_joint(rattle, &rattle->term[r]);
  for (int k = r; k < r + 2; k++) {
    const double *mix = rattle->term[k].mix, *q[2] = {rattle->q0, rattle->q1};
    S2RattleRows *const at[2] = {&rattle->at0, &rattle->at1};
    for (int i = 0; i < 2; i++) {
      memcpy(at[i]->side[k].a, mix, sizeof at[i]->side[k].a);
      at[i]->value[k] = 0;
      for (int c = 0; c < 3; c++) {
        at[i]->value[k] += mix[c] * q[i][3 * joint->a + c];
      }
    }
    memcpy(stage->row[k].ja, mix, sizeof stage->row[k].ja);
    stage->row[k].compliance = rattle->term[k].compliance;
  }
}

double s2_stage_turn_ground(S2RattleStage *stage) {
  S2Rattle *rattle = stage->rattle;
  double worst = 0, still = ground_still(rattle);
  for (int i = 0; i < rattle->island->joints; i++) {
    int r = ground_row(rattle, i, stage->second), first = ground_row(rattle, i, false);
    if (r < 0 || (stage->second && s2_rattle_halved(&rattle->term[first]))) {
      continue;
    }
    int at = 3 * ground_node(rattle, r) + 1;
    double mass = stage->mass[at], radius = disc_radius(rattle, r, stage->second), off;
    S2Vec2 v = s2_vec2(stage->v[at], stage->v[at + 1]), force = ground_force(rattle, r, stage->x);
    double speed = s2_length(v);
    bool inside = fabs(stage->x[r]) < radius * (1 - AT_BOUND);
    bool slides = speed > still && !inside;
    if (slides) {
      off = s2_length(s2_add_scaled(force, radius / speed, v)) / mass;
      aim_rows(rattle, r, s2_scale(1 / speed, v), speed / radius);
    } else {
      off = fmax(speed > still ? speed : 0, (s2_length(force) - radius * (1 + AT_BOUND)) / mass);
      aim_held(rattle, r, force, radius, mass);
    }
    worst = off <= worst ? worst : off; // propagates NaN
    put_force(rattle, r, force, stage->x);
    // Rows of bodies that do not slide keep their active-set states, because some of them may be
    // redundant.
    if (rattle->touches == 0 && slides) {
      stage->state[r] = S2_RATTLE_AT_LO;
      stage->state[r + 1] = S2_RATTLE_HELD;
    } else if (rattle->touches == 0 && !s2_stage_knows(stage->state[r])) {
      stage->state[r] = S2_RATTLE_HELD;
    }
    put_rows(stage, r);
  }
  return worst;
}
