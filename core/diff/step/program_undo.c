// User callbacks in a step. When a problem is assembled again, the notes of the step supply the
// values that the callbacks returned. This file also differentiates the prescribed motions of locks
// and of kinematic bodies.
#include "diff/step/undo.h"

#include <string.h>

// ---- Recorded return values ---------------------------------------------------------------------

static bool program_constraint(void *user, S2World *world, S2ConstraintCall *call) {
  S2Asked asked = S2_ASKED_VALUE;
  double q[S2_JOINT_COLUMNS], *to = call->value;
  (void)world;
  if (call->jacobian != NULL) {
    asked = S2_ASKED_JACOBIAN;
    to = call->jacobian[0];
  } else if (call->rate != NULL) {
    asked = S2_ASKED_RATE;
    to = call->rate;
  } else if (call->hessian != NULL) {
    asked = S2_ASKED_HESSIAN;
    to = call->hessian[0][0];
  }
  memcpy(q, call->q, sizeof q);
  const S2Answer *answer = s2_answer_of(user, asked, (int32_t)call->joint.index - 1, call->t, q);
  if (answer == NULL || to == NULL) {
    return false;
  }
  memcpy(to, answer->number, sizeof(double) * (size_t)answer->count);
  return true;
}

static bool program_spring(void *user, S2World *world, S2SpringCall *call) {
  const double q[S2_JOINT_COLUMNS] = {call->extension};
  (void)world;
  const S2Answer *answer = s2_answer_of(user, S2_ASKED_PULL, (int32_t)call->joint.index - 1, 0, q);
  if (answer != NULL) {
    call->force = answer->number[0];
    call->tangent = answer->number[1];
  }
  return answer != NULL;
}

void s2_undo_answer(S2Undo *undo) {
  S2World *world = undo->world;
  int joints = world->joints.count;
  // The returned values, and the destinations of their adjoints.
  undo->answers = (S2Answers){
      .notes = undo->notes,
      .gradient = undo->gradient,
      .begun = s2_note_at(undo->notes, 0)->t,
      .goal = S2_TAKE_ZEROED(undo->arena, double, 3 * joints + 1),
      .rate = S2_TAKE_ZEROED(undo->arena, double, 3 * joints + 1),
      .begin = S2_TAKE_ZEROED(undo->arena, double, 3 * joints + 1),
      .end = S2_TAKE_ZEROED(undo->arena, double, 3 * joints + 1),
  };
  // A call with the poses and time of the step returns the value that it returned in the step.
  world->callbacks = (S2Callbacks){
      .user = &undo->answers, .constraint = program_constraint, .spring = program_spring};
  world->evaluating = true;
  bool constraints = false;
  for (int i = 0; i < joints; i++) {
    constraints |= undo->notes->fixed->joint[i].type == S2_CONSTRAINT;
  }
  if (!constraints) { // no callback needs the stored arguments
    return;
  }
  // Store the arguments of constraints, as worlds do.
  world->memos.at = S2_TAKE_ZEROED(undo->arena, S2ConstraintMemo, joints);
  world->memos.count = joints;
  for (int i = 0; i < joints; i++) {
    world->memos.at[i].world = world;
  }
}

// ---- Motions ------------------------------------------------------------------------------------

// All times in a step are proportional to dt.
static void program_time_vjp(const S2Answers *answers, double dt, double t, double bar) {
  answers->gradient->time += bar;
  answers->gradient->dt += bar * (t - answers->begun) / dt;
}

// Passes the adjoints of the returned velocity, and of the velocities at both ends of the step, on
// to q and to the previous velocity. Clears the adjoints that it passes on.
static void program_velocities_vjp(const S2Undo *undo, const S2Answer *answer, double h,
                                   double v_bar[3], double start_bar[3], double end_bar[3],
                                   double q_bar[3]) {
  double dt = undo->world->kept.def.dt,
         before[3] = {0}, *const bars[3] = {v_bar, start_bar, end_bar};
  for (int k = 0; k < answer->count; k++) {
    const S2Slope *slope = &answer->slope[k];
    double bar = bars[k / 3][k % 3];
    for (int i = 0; i < 3; i++) {
      q_bar[i] += bar * slope->by[i];
    }
    program_time_vjp(&undo->answers, dt, answer->t, bar * slope->by[3]);
    undo->gradient->dt += bar * slope->by[4] * h / dt;
    before[k % 3] += bar * slope->by[5];
    s2_answer_origin_vjp(&undo->answers, slope->origin, bar);
  }
  for (int c = 0; c < 3; c++) {
    v_bar[c] = before[c];
    start_bar[c] = end_bar[c] = 0;
  }
}

// Returns the drive that the lock had before this note in the same substep, or NULL if the lock was
// at its own goal.
static const S2Drive *program_drive_before(const S2Undo *undo, int32_t slot) {
  int index = undo->index;
  const S2Note *note;
  do {
    note = s2_note_at(undo->notes, --index);
  } while (note->act != S2_ACT_FREE && note->act != S2_ACT_SUBSTEP);
  return note->act == S2_ACT_FREE && note->free.drives != NULL ? &note->free.drives[slot] : NULL;
}

static void program_lock_vjp(S2Undo *undo, const S2Note *note, int32_t slot) {
  const S2Drive *drive = &note->free.drives[slot], *before = program_drive_before(undo, slot);
  S2JointGradient *g = &undo->gradient->joint[slot];
  const double q[S2_JOINT_COLUMNS] = {note->h};
  const S2Answer *answer = s2_answer_of(&undo->answers, S2_ASKED_LOCK, slot, note->t, q);
  double *goal = undo->answers.goal + 3 * slot, *rate = undo->answers.rate + 3 * slot;
  double *begin = undo->answers.begin + 3 * slot, *end = undo->answers.end + 3 * slot;
  for (int c = 0; c < 3; c++) { // the rate of a component that is not locked is 0
    rate[c] = undo->world->joints.at[slot].locked[c] ? rate[c] : 0;
  }
  // The returned value depends on the lock's pose.
  if (answer != NULL) {
    program_velocities_vjp(undo, answer, note->h, rate, begin, end, goal);
  }
  // If the lock followed an earlier returned value, its goal moved with that value.
  for (int c = 0; c < 3; c++) {
    double of_rate = rate[c], since = before == NULL ? 0 : drive->start - before->start;
    rate[c] = 0;
    g->rate[c] += of_rate;
    if (before != NULL && before->valid) {
      rate[c] = since * goal[c];
      undo->gradient->dt += goal[c] * before->rate[c] * since / undo->world->kept.def.dt;
    } else {
      g->goal[c] += goal[c];
      goal[c] = 0;
    }
  }
}

void s2_undo_motions(S2Undo *undo, const S2Note *note) {
  const S2World *world = undo->world;
  const double q[S2_JOINT_COLUMNS] = {note->h};
  for (int i = 0; i < world->joint_order.count && note->free.drives != NULL; i++) {
    int32_t slot = world->joint_order.at[i];
    if (note->free.drives[slot].valid) {
      program_lock_vjp(undo, note, slot);
    }
  }
  for (int i = 0; i < world->order.count; i++) {
    int32_t slot = world->order.at[i];
    const S2Answer *answer = world->bodies.at[slot].has_motion
                                 ? s2_answer_of(&undo->answers, S2_ASKED_BODY, slot, note->t, q)
                                 : NULL;
    double *const of[4] = {undo->bar.v0 + 3 * slot, undo->bar.given_start + 3 * slot,
                           undo->bar.given_end + 3 * slot, undo->bar.q0 + 3 * slot};
    if (answer != NULL) {
      program_velocities_vjp(undo, answer, note->h, of[0], of[1], of[2], of[3]);
    }
    // Without a returned value, a component has the same velocity at all times.
    for (int c = 0; c < 3; c++) {
      of[0][c] += of[1][c] + of[2][c];
      of[1][c] = of[2][c] = 0;
    }
  }
}

void s2_undo_give(S2Undo *undo, const S2Note *note) {
  const S2World *world = undo->world;
  const double q[S2_JOINT_COLUMNS] = {note->h};
  for (int i = 0; i < world->order.count && s2_world_rattles(&world->kept.def); i++) {
    int32_t slot = world->order.at[i];
    const S2Answer *answer = world->bodies.at[slot].has_motion
                                 ? s2_answer_of(&undo->answers, S2_ASKED_BODY, slot, note->t, q)
                                 : NULL;
    const double *v = note->free.v0 + 3 * slot;
    memcpy(undo->step.given_start + 3 * slot, answer != NULL ? answer->number + 3 : v,
           3 * sizeof(double));
    memcpy(undo->step.given_end + 3 * slot, answer != NULL ? answer->number + 6 : v,
           3 * sizeof(double));
  }
}

void s2_undo_given_up(S2Undo *undo, int32_t slot, double elapsed) {
  S2World *world = undo->world;
  const S2Joint *joint = &world->joints.at[slot];
  const S2Drive *drive = world->drives.count > 0 ? &world->drives.at[slot] : NULL;
  S2JointGradient *g = &undo->gradient->joint[slot];
  S2JointAt at = {.world = world, .joint = joint, .q = undo->step.q1, .elapsed = elapsed};
  S2BoundedRow rows[S2_JOINT_EQUATIONS];
  int count = s2_lock_yields(joint) ? s2_lock_bounded_rows(&at, rows) : 0;
  // Handle each component that has a bound and has moved away from its goal.
  for (int i = 0; i < count; i++) {
    int c = rows[i].component;
    double push = rows[i].most / rows[i].mass, q = undo->step.q1[3 * joint->a + c],
           bar = g->goal[c];
    // A component that the lock holds has not moved.
    bool held = joint->driven && drive != NULL && drive->place[c];
    if (!held) {
      (void)s2_lock_goal_kept(q - rows[i].row.value, q, push, elapsed, &held);
    }
    if (held) {
      continue;
    }
    // The goal stays on its side of q, at the distance S2_LOCK_LAG push elapsed^2.
    S2BodyGradient *body = &undo->gradient->body[joint->a];
    double reach_bar = S2_LOCK_LAG * (rows[i].row.value > 0 ? -bar : bar);
    double push_bar = reach_bar * elapsed * elapsed;
    undo->bar.q1[3 * joint->a + c] += bar;
    undo->gradient->dt += reach_bar * 2 * push * elapsed * elapsed / world->kept.def.dt;
    *(c == 0 ? &g->max_torque : &g->max_force) += push_bar / rows[i].mass;
    *(c == 0 ? &body->inertia : &body->mass) -= push_bar * push / rows[i].mass;
    g->goal[c] = 0;
  }
}

void s2_undo_locks(S2Undo *undo, double elapsed) {
  const S2World *world = undo->world;
  for (int i = 0; i < world->joint_order.count && world->drives.count > 0; i++) {
    int32_t slot = world->joint_order.at[i];
    const S2Drive *drive = &world->drives.at[slot];
    S2JointGradient *g = &undo->gradient->joint[slot];
    S2JointAt at = {.world = world, .joint = &world->joints.at[slot]};
    if (drive->valid) {
      s2_undo_given_up(undo, slot, elapsed);
    }
    for (int c = 0; c < 3 && drive->valid; c++) {
      s2_answer_lock_vjp(&at, c, elapsed - drive->start, g->goal[c], g->rate[c]);
      g->goal[c] = g->rate[c] = 0;
    }
  }
}
