// Impacts of joints at their limits, computed at q1. Coordinates that reached a limit are stopped.
// They then rebound with their restitution. The rebound returns no more energy than the stop took.
#include "dynamics/joints/rows.h"
#include "dynamics/step/acted.h"
#include "dynamics/step/islands.h"
#include "dynamics/step/solve.h"
#include "dynamics/trace/notes.h"

#include <string.h>

// Velocities and impulses of an island before a solve.
typedef struct Taken {
  const double *contacts; // S2_TOUCH_IMPULSES per touch of the island: earlier impulses
  const double *v;        // 3 per node: earlier velocities
  S2JointImpulses joints; // impulses before
} Taken;

static double *limits_velocities(const S2Step *step, const S2Island *island) {
  double *v = S2_TAKE(step->arena, double, 3 * island->nodes);
  for (int i = 0; i < island->nodes; i++) {
    memcpy(v + 3 * i, step->v2 + 3 * island->node[i], 3 * sizeof(double));
  }
  return v;
}

static Taken limits_now(const S2Step *step, const S2Island *island) {
  Taken now = {.contacts = s2_step_contact_impulses(step, island),
               .v = limits_velocities(step, island)};
  now.joints.row = S2_TAKE(step->arena, double, S2_JOINT_ROWS * island->joints);
  now.joints.reaction = S2_TAKE(step->arena, double, 3 * island->joints);
  for (int i = 0; i < island->joints; i++) {
    int32_t slot = island->joint[i];
    memcpy(now.joints.row + S2_JOINT_ROWS * i, step->joint_impulse + S2_JOINT_ROWS * slot,
           sizeof(double) * S2_JOINT_ROWS);
    memcpy(now.joints.reaction + 3 * i, step->joint_reaction + 3 * slot, 3 * sizeof(double));
  }
  return now;
}

static void limits_put_nodes(const S2Step *step, const S2Island *island, const double *v) {
  for (int i = 0; i < island->nodes; i++) {
    memcpy(step->v2 + 3 * island->node[i], v + 3 * i, 3 * sizeof(double));
  }
}

// J: the work of limit impulses since `before` (NULL: of all limit impulses) at the velocities `v`
// (3 per slot). `q`: the poses. `elapsed`: time since the start of the substep, s.
static double limits_work(const S2Step *step, const S2Island *island, const S2JointImpulses *before,
                          const double *q, double elapsed, const double *v) {
  static const int side[2] = {S2_JOINT_LO, S2_JOINT_HI};
  double work = 0;
  for (int i = 0; i < island->joints; i++) {
    int32_t slot = island->joint[i];
    const S2Joint *joint = &step->world->joints.at[slot];
    for (int k = 0; k < 2 && joint->limit_lo < joint->limit_hi; k++) {
      double impulse = step->joint_impulse[S2_JOINT_ROWS * slot + side[k]] -
                       (before == NULL ? 0 : before->row[S2_JOINT_ROWS * i + side[k]]);
      if (impulse != 0) {
        S2JointRow row;
        S2JointAt at = {step->world, joint, q, elapsed, NULL};
        s2_joint_kind(joint->type)->coordinate(&at, &row, NULL);
        s2_joint_speeds(joint, v, &row, 1);
        work += (k == 0 ? 1 : -1) * impulse * row.speed;
      }
    }
  }
  return work;
}

// J: the work of contact impulses since `before` (NULL: of all contact impulses) at the velocities
// `v`.
static double limits_work_of_contacts(const S2Step *step, const S2Island *island,
                                      const double *before, const double *v) {
  double work = 0;
  for (int i = 0; i < island->touches; i++) {
    const S2Touch *touch = &step->touches[island->touch[i]];
    for (int k = 0; k < touch->count && !s2_touch_soft(touch); k++) {
      const S2TouchPoint *point = &touch->points[k];
      S2Vec2 n = point->at.normal;
      const double *was = before == NULL ? NULL : before + S2_TOUCH_IMPULSES * i + 2 * k;
      double normal = point->normal_impulse - (was == NULL ? 0 : was[0]);
      double tangent = point->tangent_impulse - (was == NULL ? 0 : was[1]);
      work += normal * s2_touch_velocity(touch, k, n, v) +
              tangent * (s2_touch_velocity(touch, k, s2_left(n), v) - touch->surface_speed);
    }
  }
  return work;
}

// J: 1/2 dv'M dv, where dv is the change of v2 from `before`.
static double limits_square(const S2Step *step, const S2Island *island, const double *before) {
  double square = 0;
  for (int i = 0; i < island->nodes; i++) {
    const S2Body *body = &step->world->bodies.at[island->node[i]];
    for (int c = 0; c < 3; c++) {
      double change = step->v2[3 * island->node[i] + c] - before[3 * i + c];
      square += (c == 0 ? body->inertia : body->mass) * change * change / 2;
    }
  }
  return square;
}

// J: the work of all rows except limits along the motion of the step. This includes the work of
// moving ground. The work of contacts is included only in bisecting steps, whose motion contains
// the rebounds. In other steps, contacts return their energy in their own impacts.
static double limits_work_of_others(const S2Step *step, const S2Island *island) {
  double work = 0, elapsed = step->t - step->world->kept.time;
  for (int i = 0; i < 3 * island->nodes; i++) {
    int at = 3 * island->node[i / 3] + i % 3;
    work += step->mass[at] * (step->v1[at] - step->free_v[at]) * step->carry[at];
  }
  work -= limits_work(step, island, NULL, step->q0, elapsed, step->carry);
  bool bisect = step->world->kept.def.stepping == S2_BISECT;
  return work - (bisect ? 0 : limits_work_of_contacts(step, island, NULL, step->carry));
}

// J: the energy missing from v2. This is the kinetic energy at the start plus the work of forces
// from q0 to q1, minus the kinetic energy of v2.
static double limits_lacking(const S2Step *step, const S2Island *island) {
  double lacking = 0;
  for (int i = 0; i < 3 * island->nodes; i++) {
    int at = 3 * island->node[i / 3] + i % 3;
    const S2Body *body = &step->world->bodies.at[island->node[i / 3]];
    double v0 = step->v0[at], v2 = step->v2[at], push = step->mass[at] * (step->free_v[at] - v0);
    lacking += (i % 3 == 0 ? body->inertia : body->mass) * (v0 * v0 - v2 * v2) / 2;
    lacking += push * (step->q1[at] - step->q0[at]) / step->h;
  }
  return lacking;
}

// J: the work of moving ground through limits during the stop. `before`: the state before the stop.
static double limits_driven(const S2Step *step, const S2Island *island, const Taken *before) {
  double elapsed = step->t - step->world->kept.time + step->h;
  S2ArenaMark mark = s2_arena_mark(step->arena);
  double *stopped = limits_velocities(step, island);
  limits_put_nodes(step, island, S2_TAKE_ZEROED(step->arena, double, 3 * island->nodes));
  double given = -limits_work(step, island, &before->joints, step->q1, elapsed, step->v2);
  limits_put_nodes(step, island, stopped);
  s2_arena_rewind(step->arena, mark);
  return given;
}

// Returns the largest fraction of the rebound since `stopped` that adds at most the energy `room`
// (J).
static double limits_fraction(const S2Step *step, const S2Island *island, const Taken *stopped,
                              double room) {
  double elapsed = step->t - step->world->kept.time + step->h;
  double square = limits_square(step, island, stopped->v);
  // The condition on the fraction f is linear f + square f^2 <= room. The linear term uses the
  // velocities before the rebound.
  S2ArenaMark mark = s2_arena_mark(step->arena);
  double *thrown = limits_velocities(step, island);
  limits_put_nodes(step, island, stopped->v);
  double linear = limits_work(step, island, &stopped->joints, step->q1, elapsed, step->v2) +
                  limits_work_of_contacts(step, island, stopped->contacts, step->v2);
  limits_put_nodes(step, island, thrown);
  s2_arena_rewind(step->arena, mark);
  room = fmax(room, 0);
  if (!(square > 0) || linear + square <= room * (1 + S2_KEEP_ROUNDING)) {
    return 1;
  }
  double root = sqrt(linear * linear + 4 * square * room);
  return linear > 0 ? 2 * room / (linear + root) : (root - linear) / (2 * square);
}

// Scales the changes of v2 and of joint and contact impulses since `stopped` by a fraction.
static void limits_keep(S2Step *step, const S2Island *island, const Taken *stopped,
                        double fraction) {
  s2_note_fraction(step, fraction);
  for (int i = 0; i < 3 * island->nodes; i++) {
    double *v = &step->v2[3 * island->node[i / 3] + i % 3], was = stopped->v[i];
    *v = was + fraction * (*v - was);
  }
  // Scale the impulses of joints and contacts.
  for (int i = 0; i < island->joints; i++) {
    int32_t slot = island->joint[i];
    for (int r = 0; r < S2_JOINT_ROWS; r++) {
      double *impulse = &step->joint_impulse[S2_JOINT_ROWS * slot + r];
      double was = stopped->joints.row[S2_JOINT_ROWS * i + r];
      *impulse = was + fraction * (*impulse - was);
    }
    for (int c = 0; c < 3; c++) {
      double *reaction = &step->joint_reaction[3 * slot + c];
      double was = stopped->joints.reaction[3 * i + c];
      *reaction = was + fraction * (*reaction - was);
    }
  }
  for (int i = 0; i < 2 * island->touches; i++) {
    S2TouchPoint *point = &step->touches[island->touch[i / 2]].points[i % 2];
    const double *was = stopped->contacts + 2 * i;
    point->normal_impulse = was[0] + fraction * (point->normal_impulse - was[0]);
    point->tangent_impulse = was[1] + fraction * (point->tangent_impulse - was[1]);
  }
}

// Applies the rebound after the stop. `before`: the state before the stop. `others`: the result of
// limits_work_of_others. Does not rebound if the targets contradict each other.
static bool limits_rebound(S2Step *step, const S2Island *island, const S2Choice *choices,
                           const Taken *before, double others) {
  Taken stopped = limits_now(step, island);
  double room = others + limits_lacking(step, island) + limits_driven(step, island, before);
  // The rebound.
  S2SolveStatus outcome = S2_SOLVED;
  step->world->stats.second_solves += 1;
  if (!s2_step_solve(step, island, choices, S2_SOLVE_REBOUND, step->v2, &outcome)) {
    return false;
  }
  if (outcome != S2_SOLVED) {
    step->world->stats.contradictions += outcome == S2_INFEASIBLE;
    step->world->stats.unsolved_impacts += outcome != S2_INFEASIBLE;
    return true;
  }
  double fraction = limits_fraction(step, island, &stopped, room);
  if (fraction < 1) {
    limits_keep(step, island, &stopped, fraction);
  }
  return true;
}

bool s2_island_stop_at_limits(S2Step *step, const S2Island *island) {
  if (!s2_step_limit_arrives(step, island)) {
    return true;
  }
  S2ArenaMark mark = s2_arena_mark(step->arena);
  S2Choice *choices = S2_TAKE_ZEROED(step->arena, S2Choice, 2 * step->touch_count);
  double *logged = S2_TAKE_ZEROED(step->arena, double, 4 * island->touches);
  for (int k = 0; k < 2 * island->touches; k++) {
    int32_t index = island->touch[k / 2];
    const S2Touch *touch = &step->touches[index];
    if (k % 2 < touch->count) {
      const S2TouchPoint *point = &touch->points[k % 2];
      logged[2 * k] = point->normal_impulse;
      logged[2 * k + 1] = point->tangent_impulse;
      choices[2 * index + k % 2].use =
          point->normal_impulse > 0 || point->at.gap <= S2_TOUCH_SLOP * island->length;
    }
  }
  // Stop the coordinates before they rebound, to measure the energy that the stop takes.
  bool rebounds = s2_step_limit_rebounds(step, island);
  Taken before = {0};
  double others = 0;
  if (rebounds) {
    before = limits_now(step, island);
    others = limits_work_of_others(step, island);
  }
  step->world->stats.second_solves += 1;
  bool going = s2_step_impact(step, island, choices, S2_SOLVE_LIMITS) &&
               (!rebounds || limits_rebound(step, island, choices, &before, others));
  for (int i = 0; i < island->touches; i++) {
    s2_log_touch(step, island->touch[i], &step->touches[island->touch[i]], logged + 4 * i);
  }
  s2_arena_rewind(step->arena, mark);
  return going;
}

bool s2_step_stop_at_limits(S2Step *step) {
  bool going = true;
  for (int i = 0; i < step->island_count && going; i++) {
    bool done = step->islands[i].kept || step->islands[i].flowed_q1 != NULL;
    going = done || s2_island_stop_at_limits(step, &step->islands[i]);
  }
  return going;
}
