// The current step: its initialisation, and small functions that its phases share.
#include "dynamics/step/context.h"

#include <string.h>
#include <time.h>

double s2_clock(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// Copies the velocities of bodies. Static and disabled bodies may have a velocity, which has no
// effect until they can move again.
static double *step_velocities(const S2World *world, S2Arena *arena) {
  double *v = s2_arena_copy(arena, world->v.at, 3 * world->bodies.count);
  for (int i = 0; i < world->order.count; i++) {
    int32_t slot = world->order.at[i];
    const S2Body *body = &world->bodies.at[slot];
    if (body->type == S2_STATIC || !body->enabled) {
      memset(v + 3 * slot, 0, 3 * sizeof(double));
    }
  }
  return v;
}

S2Step s2_step_begin(S2World *world, int substep, int substeps) {
  S2Arena *arena = &world->arena;
  int slots = world->bodies.count, joints = world->joints.count;
  s2_arena_reset(arena);
  // Reset the statistics of a step in its first substep only.
  if (substep == 0) {
    world->dumped = 0;
    world->missed = world->cut = false;
    world->stats.last_iterations = 0;
    world->stats.last_status = S2_SOLVED;
  }
  S2Step step = {
      .world = world,
      .arena = arena,
      .substep = substep,
      .substeps = substeps,
      .dt = world->kept.def.dt / substeps,
      .h = world->kept.def.dt / substeps,
      .acted = world->kept.def.dt / substeps,
      .t = world->kept.time,
      .q0 = s2_arena_copy(arena, world->q.at, 3 * slots),
      .v0 = step_velocities(world, arena),
      .force = S2_TAKE_ZEROED(arena, double, 3 * slots),
      .mass = S2_TAKE_ZEROED(arena, double, 3 * slots),
      .free_v = S2_TAKE_ZEROED(arena, double, 3 * slots),
      .halves = S2_TAKE_ZEROED(arena, bool, slots),
      .strayed = S2_TAKE_ZEROED(arena, bool, slots),
      .slack = S2_TAKE_ZEROED(arena, double, slots),
      .v1 = s2_arena_copy(arena, world->v.at, 3 * slots),
      .v2 = s2_arena_copy(arena, world->v.at, 3 * slots),
      .q1 = s2_arena_copy(arena, world->q.at, 3 * slots),
      .turn = S2_TAKE(arena, S2Rot, slots),
      .carry = S2_TAKE_ZEROED(arena, double, 3 * slots),
      .share = world->kept.def.beta,
      .budget = world->kept.def.budget / substeps,
      .ahead = S2_TAKE_ZEROED(arena, bool, slots),
      .joint_impulse = S2_TAKE_ZEROED(arena, double, S2_JOINT_ROWS *joints),
      .joint_reaction = S2_TAKE_ZEROED(arena, double, 3 * joints),
      .stiff = S2_TAKE_ZEROED(arena, bool, joints),
      .balanced = S2_TAKE_ZEROED(arena, double, 3 * slots),
      .corrected = S2_TAKE_ZEROED(arena, double, 3 * slots),
      .pushed = S2_TAKE_ZEROED(arena, double, 2 * joints),
      .node_of = S2_TAKE(arena, int32_t, slots),
  };
  step.v_start = s2_arena_copy(arena, step.v0, 3 * slots);
  if (s2_world_rattles(&world->kept.def)) {
    step.given_start = s2_arena_copy(arena, step.v0, 3 * slots);
    step.given_end = s2_arena_copy(arena, step.v0, 3 * slots);
  }
  // Use the stored joint impulses as the initial guess of the solve.
  for (int i = 0; i < world->joint_order.count; i++) {
    int32_t slot = world->joint_order.at[i];
    const S2Joint *joint = &world->joints.at[slot];
    if (s2_joint_active(world, joint)) { // other joints have no impulse
      memcpy(step.joint_impulse + S2_JOINT_ROWS * slot, joint->impulse, sizeof joint->impulse);
      memcpy(step.pushed + 2 * slot, joint->pushed, sizeof joint->pushed);
    }
  }
  return step;
}

void s2_step_carry(const S2Step *step, int32_t slot) {
  const S2Body *body = &step->world->bodies.at[slot];
  bool goes = body->enabled && body->type != S2_STATIC;
  double share = step->share;
  for (int c = 3 * slot; c < 3 * slot + 3; c++) {
    double v = share == 1 || step->ahead[slot] ? step->v1[c]
                                               : (1 - share) * step->v0[c] + share * step->v1[c];
    step->carry[c] = goes ? v : 0;
    step->q1[c] = step->q0[c] + step->h * step->carry[c];
  }
}

void s2_step_integrate(S2Step *step) {
  const S2World *world = step->world;
  for (int i = 0; i < world->order.count; i++) {
    s2_step_carry(step, world->order.at[i]);
  }
}

S2WorldDef s2_step_settings(const S2Step *step, int32_t joint) {
  S2WorldDef def = step->world->kept.def;
  if (step->stiff[joint]) {
    def.alpha = def.beta = 1;
    def.geometric_stiffness = s2_step_geometric(step, joint);
  }
  return def;
}

double s2_step_gap_bias(const S2Step *step, double gap) {
  bool baumgarte = step->world->kept.def.stabilization == S2_BAUMGARTE;
  return gap >= 0 ? gap / step->h : baumgarte ? S2_BAUMGARTE_FACTOR * gap / step->h : 0;
}

double s2_touch_velocity(const S2Touch *touch, int k, S2Vec2 direction, const double *v) {
  const S2TouchPoint *point = &touch->points[k];
  const double *va = v + 3 * touch->body_a, *vb = v + 3 * touch->body_b;
  return s2_dot(direction, s2_vec2(va[1] - vb[1], va[2] - vb[2])) +
         s2_cross(point->at.point, direction) * va[0] - s2_cross(point->arm_b, direction) * vb[0];
}

const S2Rot *s2_step_turns(const S2Step *step, const S2Island *island, const double *q) {
  const S2World *world = step->world;
  bool known = q == step->q0 && step->turned;
  S2Rot *turn = known ? step->turn : S2_TAKE(step->arena, S2Rot, world->bodies.count);
  for (int i = 0; i < island->nodes && !known; i++) {
    turn[island->node[i]] = s2_rot(q[3 * island->node[i]]);
  }
  for (int i = 0; i < island->joints; i++) {
    const S2Joint *joint = &world->joints.at[island->joint[i]];
    const int32_t body[2] = {joint->a, joint->b};
    for (int k = 0; k < 2; k++) {
      if (body[k] != S2_NONE && step->node_of[body[k]] == S2_GROUND) {
        turn[body[k]] = s2_rot(q[3 * body[k]]);
      }
    }
  }
  return turn;
}
