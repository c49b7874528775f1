// Derivatives at the start and the end of a substep: the world's state, free motion and forces.
#include "diff/step/undo.h"
#include "dynamics/step/forces.h"

#include <string.h>

static size_t substep_bytes(const S2Undo *undo) {
  return sizeof(double) * 3 * (size_t)undo->notes->slots;
}

// ---- Free motion --------------------------------------------------------------------------------

void s2_undo_enter(S2Undo *undo) {
  S2Step *step = &undo->step;
  // The motion started from the q0 of the last S2_ACT_FREE, or from the q0 of a later projection.
  const double *q0 = NULL;
  const S2Note *note;
  for (int i = undo->index - 1; (note = s2_note_at(undo->notes, i))->act != S2_ACT_FREE; i--) {
    q0 = q0 == NULL && note->act == S2_ACT_Q0_IS_Q1 ? note->plain.before : q0;
  }
  memcpy(step->q0, q0 != NULL ? q0 : note->free.q0, substep_bytes(undo));
  memcpy(step->v0, note->free.v0, substep_bytes(undo));
  memcpy(step->force, note->free.force, substep_bytes(undo));
  step->t = note->t;
  step->h = note->h;
  for (int i = 0; i < undo->world->order.count; i++) {
    s2_step_free_body(step, undo->world->order.at[i]);
  }
  s2_undo_give(undo, note);
  undo->world->drives.at = undo->drives;
  undo->world->drives.count = note->free.drives == NULL ? 0 : undo->notes->joint_slots;
  if (note->free.drives != NULL) {
    memcpy(undo->drives, note->free.drives, sizeof(S2Drive) * (size_t)undo->notes->joint_slots);
  }
  // Store the rotations at q0, which joint rows use. Event stepping does not store them, because
  // its q0 changes from interval to interval.
  bool event = s2_world_way(&undo->world->kept.def) == S2_EVENT;
  step->turned = undo->world->joint_order.count > 0 && !event;
  for (int i = 0; i < undo->world->order.count && step->turned; i++) {
    int32_t slot = undo->world->order.at[i];
    step->turn[slot] = s2_rot(step->q0[3 * slot]);
  }
}

void s2_undo_free(S2Undo *undo, const S2Note *note) {
  S2StepAdjoint *bar = &undo->bar;
  double dt = undo->world->kept.def.dt;
  s2_undo_seen(undo);
  for (int i = 0; i < undo->world->order.count; i++) {
    s2_undo_free_body(undo, undo->world->order.at[i], note->h);
  }
  // All times within a step are proportional to dt.
  undo->gradient->dt += (bar->h * note->h + bar->elapsed * (note->t - undo->world->kept.time)) / dt;
  bar->h = bar->elapsed = 0;
  s2_undo_motions(undo, note);
}

// ---- The start ---------------------------------------------------------------------------------

// Computes the adjoints of gravity and of forces that the user applied.
static void substep_forces_vjp(S2Undo *undo) {
  S2WorldGradient *g = undo->gradient;
  S2Vec2 gravity = undo->world->kept.def.gravity;
  for (int i = 0; i < undo->world->order.count; i++) {
    int32_t slot = undo->world->order.at[i];
    const S2Body *body = &undo->world->bodies.at[slot];
    double *bar = undo->bar.force + 3 * slot;
    for (int c = 0; c < 3; c++) {
      bar[c] += undo->held[3 * slot + c];
      undo->held[3 * slot + c] = 0;
      g->f[3 * slot + c] += bar[c];
    }
    if (body->type == S2_DYNAMIC) { // m scale g
      double along = gravity.x * bar[1] + gravity.y * bar[2];
      g->body[slot].mass += body->gravity_scale * along;
      g->body[slot].gravity_scale += body->mass * along;
      g->gravity.x += body->mass * body->gravity_scale * bar[1];
      g->gravity.y += body->mass * body->gravity_scale * bar[2];
    }
    memset(bar, 0, 3 * sizeof(double));
  }
}

void s2_undo_substep(S2Undo *undo, const S2Note *note) {
  (void)note;
  S2WorldGradient *g = undo->gradient;
  S2StepAdjoint *bar = &undo->bar;
  substep_forces_vjp(undo);
  // q1 = q0 and v0 are taken from the world.
  for (int i = 0; i < undo->world->order.count; i++) {
    int32_t slot = undo->world->order.at[i];
    bool goes = s2_undo_goes(&undo->world->bodies.at[slot]);
    for (int at = 3 * slot; at < 3 * slot + 3; at++) {
      g->q[at] += bar->q0[at] + bar->q1[at];
      g->v[at] += goes ? bar->v0[at] : 0;
    }
  }
  // Joints begin with the impulses of the world.
  for (int i = 0; i < undo->world->joint_order.count; i++) {
    int32_t slot = undo->world->joint_order.at[i];
    for (int r = 0; r < S2_JOINT_ROWS; r++) {
      g->joint[slot].impulse[r] += bar->joint_impulse[S2_JOINT_ROWS * slot + r];
      bar->joint_impulse[S2_JOINT_ROWS * slot + r] = 0;
    }
  }
  // The sweep over the preceding substep starts without adjoints in these arrays.
  double *const used[] = {bar->q0, bar->q1, bar->v0, bar->v1, bar->v2};
  for (size_t i = 0; i < sizeof used / sizeof *used && undo->index > 0; i++) {
    memset(used[i], 0, substep_bytes(undo));
  }
  s2_quiet_look_at_flight(undo);
}

// ---- The end -----------------------------------------------------------------------------------

static void substep_put_end(S2Undo *undo, const S2Note *note) {
  memcpy(undo->step.q1, note->end.q1, substep_bytes(undo));
  memcpy(undo->step.v2, note->end.v2, substep_bytes(undo));
  memcpy(undo->step.v1, note->end.v1, substep_bytes(undo));
}

void s2_undo_next(S2Undo *undo, const S2Note *note) {
  S2StepAdjoint *bar = &undo->bar;
  for (size_t i = 0; i < 3 * (size_t)undo->notes->slots; i++) {
    bar->q1[i] += bar->q0[i];
    bar->v2[i] += bar->v0[i];
    bar->q0[i] = bar->v0[i] = 0;
  }
  substep_put_end(undo, note);
  s2_undo_end_fraction(undo);
  s2_undo_enter(undo);
}

// Bodies that do not move keep their prescribed poses.
static void substep_bodies_vjp(S2Undo *undo) {
  S2WorldGradient *g = undo->gradient;
  for (int i = 0; i < undo->world->order.count; i++) {
    int32_t slot = undo->world->order.at[i];
    const S2Body *body = &undo->world->bodies.at[slot];
    bool given = body->has_motion && body->type == S2_KINEMATIC && body->enabled;
    bool moves = s2_body_moves(body) || given;
    for (int at = 3 * slot; at < 3 * slot + 3; at++) {
      undo->bar.q1[at] = g->q[at];
      undo->bar.v2[at] = moves ? g->v[at] : 0;
      g->v[at] = moves ? 0 : g->v[at];
      g->q[at] = 0;
    }
  }
}

// Adjoints of impulses, and of goals that move at a rate. `whole` is the ratio of the whole time to
// the time of the last attempt.
static void substep_joints_vjp(S2Undo *undo, double elapsed, double whole) {
  S2WorldGradient *g = undo->gradient;
  double dt = undo->world->kept.def.dt;
  for (int i = 0; i < undo->world->joint_order.count; i++) {
    int32_t slot = undo->world->joint_order.at[i];
    S2JointGradient *joint = &g->joint[slot];
    const S2Joint *of = &undo->world->joints.at[slot];
    for (int r = 0; r < S2_JOINT_ROWS; r++) {
      undo->bar.joint_impulse[S2_JOINT_ROWS * slot + r] = whole * joint->impulse[r];
      undo->impulse_bar[S2_JOINT_ROWS * slot + r] = whole * joint->impulse[r];
      joint->impulse[r] = 0;
    }
    g->dt += joint->reaction_time * elapsed / dt;
    joint->reaction_time = 0;
    // other goals do not move, or the program prescribes their motion
    bool goes_on = of->type == S2_LOCK && !of->driven && s2_joint_active(undo->world, of);
    if (goes_on) {
      s2_undo_given_up(undo, slot, elapsed);
    }
    for (int c = 0; c < 3 && goes_on; c++) {
      joint->rate[c] += elapsed * joint->goal[c];
      g->dt += elapsed / dt * of->rate[c] * joint->goal[c];
    }
  }
}

void s2_undo_commit(S2Undo *undo, const S2Note *note) {
  const S2WorldDef *def = &undo->world->kept.def;
  // Substeps have equal lengths. If a substep was cut short, its end is the time that it reached.
  double elapsed = def->stepping_partial ? note->t - undo->world->kept.time
                                         : def->dt / (def->substeps > 1 ? def->substeps : 1);
  // Impulses of the last attempt or piece are scaled to the whole time.
  double whole = elapsed / note->h;
  substep_put_end(undo, note);
  substep_bodies_vjp(undo);
  substep_joints_vjp(undo, elapsed, whole);
  s2_undo_end_impulses(undo);
  s2_undo_enter(undo);
  s2_undo_locks(undo, elapsed);
}
