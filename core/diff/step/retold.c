#include "diff/step/retold.h"

#include "diff/step/undo.h"

#include <string.h>

// ---- Telling again ----------------------------------------------------------------------------

static const S2Answer *answer_of(const S2Retold *retold, S2Asked asked, int32_t slot, double t,
                                 const double q[6]) {
  S2Answer like = {.asked = asked, .slot = slot, .t = t};
  memcpy(like.q, q, sizeof like.q);
  return s2_notes_answer(retold->notes, &like);
}

static bool tell_constraint(void *user, S2World *world, S2ConstraintCall *call) {
  S2Asked asked = S2_ASKED_VALUE;
  double q[6], *to = call->value;
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
  memcpy(q, call->qa, sizeof call->qa);
  memcpy(q + 3, call->qb, sizeof call->qb);
  const S2Answer *answer = answer_of(user, asked, (int32_t)call->joint.index - 1, call->t, q);
  if (answer == NULL || to == NULL) {
    return false;
  }
  memcpy(to, answer->number, sizeof(double) * (size_t)answer->count);
  return true;
}

static bool tell_spring(void *user, S2World *world, S2SpringCall *call) {
  const double q[6] = {call->extension};
  (void)world;
  const S2Answer *answer = answer_of(user, S2_ASKED_PULL, (int32_t)call->joint.index - 1, 0, q);
  if (answer != NULL) {
    call->force = answer->number[0];
    call->tangent = answer->number[1];
  }
  return answer != NULL;
}

void s2_undo_retell(S2Undo *undo) {
  S2World *world = undo->world;
  int joints = world->joints.count;
  undo->retold = (S2Retold){
      .notes = undo->notes,
      .gradient = undo->gradient,
      .begun = s2_note_at(undo->notes, 0)->t,
      .goal = S2_TAKE_ZEROED(undo->arena, double, 3 * joints + 1),
      .rate = S2_TAKE_ZEROED(undo->arena, double, 3 * joints + 1),
  };
  world->callbacks =
      (S2Callbacks){.user = &undo->retold, .constraint = tell_constraint, .spring = tell_spring};
  world->evaluating = true;
  bool constraints = false;
  for (int i = 0; i < joints; i++) {
    constraints |= undo->notes->fixed->joint[i].type == S2_CONSTRAINT;
  }
  if (!constraints) { // then nobody looks for what they said
    return;
  }
  world->memos.at = S2_TAKE_ZEROED(undo->arena, S2ConstraintMemo, joints);
  world->memos.count = joints;
  for (int i = 0; i < joints; i++) {
    world->memos.at[i].world = world;
  }
}

// ---- Adjoints ---------------------------------------------------------------------------------

// All times of a step are in proportion to dt.
static void time_vjp(const S2Retold *retold, double dt, double t, double bar) {
  retold->gradient->time += bar;
  retold->gradient->dt += bar * (t - retold->begun) / dt;
}

static void origin_vjp(const S2Retold *retold, uint32_t origin, double bar) {
  if (origin != 0 && retold->gradient->tape != NULL) {
    *s2_tape_adjoint(retold->gradient->tape, origin) += bar;
  }
}

typedef struct Back {
  const S2JointAt *at;
  const S2PlaceBar *to;
} Back;

static void to_answer(void *user, S2Asked asked, const double q[6], double t, int number,
                      double bar) {
  const Back *back = user;
  const S2World *world = back->at->world;
  const S2Joint *joint = back->at->joint;
  const S2Retold *retold = world->callbacks.user;
  const S2Answer *answer = answer_of(retold, asked, (int32_t)(joint - world->joints.at), t, q);
  if (answer == NULL) {
    world->memos.at[joint - world->joints.at].world->refused = s2_error(S2_INVALID, "no answer");
    return;
  }
  const S2Slope *slope = &answer->slope[number];
  for (int i = 0; i < 6; i++) {
    int32_t slot = i < 3 ? joint->a : joint->b;
    if (slot != S2_NONE) {
      back->to->q[3 * slot + i % 3] += bar * slope->by[i];
    }
  }
  // Pieces of event stepping begin when others meet; what is asked later than the row is for is so
  // by a part of dt, and so is the start of the part of the step.
  double by_time = bar * slope->by[6], now = world->kept.time + back->at->elapsed;
  *back->to->elapsed += by_time;
  retold->gradient->time += by_time;
  retold->gradient->dt +=
      by_time * (world->kept.time - retold->begun + t - now) / world->kept.def.dt;
  origin_vjp(retold, slope->origin, bar);
}

void s2_retold_constraint_vjp(const S2JointAt *at, int row, const S2RowBar *bar,
                              const S2PlaceBar *to) {
  S2ConstraintBar its = {.value = bar->value, .rate = bar->rate};
  Back back = {at, to};
  memcpy(its.j, bar->ja, sizeof bar->ja);
  memcpy(its.j + 3, bar->jb, sizeof bar->jb);
  its.hessian = bar->bent ? bar->hessian.at : NULL;
  const S2WorldDef *def = &at->world->kept.def;
  to->gradient->dt += s2_constraint_back(at, row, &its, to_answer, &back) / def->substeps;
}

double s2_retold_pull_vjp(const S2World *world, int32_t slot, double extension, double force_bar,
                          double tangent_bar) {
  const S2Retold *retold = world->callbacks.user;
  const double q[6] = {extension}, bar[2] = {force_bar, tangent_bar};
  const S2Answer *answer = answer_of(retold, S2_ASKED_PULL, slot, 0, q);
  double sum = 0;
  for (int i = 0; i < 2 && answer != NULL; i++) {
    sum += bar[i] * answer->slope[i].by[0];
    origin_vjp(retold, answer->slope[i].origin, bar[i]);
  }
  return sum; // an answer there is: the spring was made again from it
}

// ---- Motions ----------------------------------------------------------------------------------

void s2_retold_lock_vjp(const S2JointAt *at, int which, double since, double goal_bar,
                        double rate_bar) {
  const S2World *world = at->world;
  const S2Retold *retold = world->callbacks.user;
  int32_t slot = (int32_t)(at->joint - world->joints.at);
  retold->goal[3 * slot + which] += goal_bar;
  retold->rate[3 * slot + which] += rate_bar + since * goal_bar;
  double rate = world->drives.at[slot].rate[which];
  retold->gradient->dt += goal_bar * rate * since / world->kept.def.dt;
}

// From the adjoint of the velocities told (0 afterwards) to q, and that of those before.
static void told_vjp(const S2Undo *undo, const S2Answer *answer, double h, double v_bar[3],
                     double q_bar[3]) {
  double dt = undo->world->kept.def.dt, before[3] = {0};
  for (int c = 0; c < 3; c++) {
    const S2Slope *slope = &answer->slope[c];
    for (int i = 0; i < 3; i++) {
      q_bar[i] += v_bar[c] * slope->by[i];
    }
    time_vjp(&undo->retold, dt, answer->t, v_bar[c] * slope->by[3]);
    undo->gradient->dt += v_bar[c] * slope->by[4] * h / dt;
    before[c] = v_bar[c] * slope->by[5];
    origin_vjp(&undo->retold, slope->origin, v_bar[c]);
  }
  memcpy(v_bar, before, sizeof before);
}

// What drove the lock before this note of the same part; NULL: it was at its own goal.
static const S2Drive *driven_before(const S2Undo *undo, int index, int32_t slot) {
  const S2Note *note;
  do {
    note = s2_note_at(undo->notes, --index);
  } while (note->act != S2_ACT_FREE && note->act != S2_ACT_PART);
  return note->act == S2_ACT_FREE && note->drives != NULL ? &note->drives[slot] : NULL;
}

static void lock_vjp(S2Undo *undo, int index, int32_t slot) {
  const S2Note *note = s2_note_at(undo->notes, index);
  const S2Drive *drive = &note->drives[slot], *before = driven_before(undo, index, slot);
  S2JointGradient *g = &undo->gradient->joint[slot];
  const double q[6] = {note->h};
  const S2Answer *answer = answer_of(&undo->retold, S2_ASKED_LOCK, slot, note->t, q);
  double *goal = undo->retold.goal + 3 * slot, *rate = undo->retold.rate + 3 * slot;
  for (int c = 0; c < 3; c++) { // what is not locked has the rate 0
    rate[c] = undo->world->joints.at[slot].locked[c] ? rate[c] : 0;
  }
  if (answer != NULL) {
    told_vjp(undo, answer, note->h, rate, goal);
  }
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

void s2_undo_motions(S2Undo *undo, int index) {
  const S2Note *note = s2_note_at(undo->notes, index);
  const S2World *world = undo->world;
  const double q[6] = {note->h};
  for (int i = 0; i < world->joint_order.count && note->drives != NULL; i++) {
    int32_t slot = world->joint_order.at[i];
    if (note->drives[slot].valid) {
      lock_vjp(undo, index, slot);
    }
  }
  for (int i = 0; i < world->order.count; i++) {
    int32_t slot = world->order.at[i];
    const S2Answer *answer = world->bodies.at[slot].has_motion
                                 ? answer_of(&undo->retold, S2_ASKED_BODY, slot, note->t, q)
                                 : NULL;
    if (answer != NULL) {
      told_vjp(undo, answer, note->h, undo->bar.v0 + 3 * slot, undo->bar.q0 + 3 * slot);
    }
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
  for (int i = 0; i < count; i++) {
    int c = rows[i].component;
    double push = rows[i].most / rows[i].mass, q = undo->step.q1[3 * joint->a + c],
           bar = g->goal[c];
    bool held = joint->driven && drive != NULL && drive->place[c];
    if (!held) {
      (void)s2_lock_goal_kept(q - rows[i].row.value, q, push, elapsed, &held);
    }
    if (held) {
      continue;
    }
    // it is q and, on the goal's side, S2_LOCK_LAG push elapsed^2 of it
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
      s2_retold_lock_vjp(&at, c, elapsed - drive->start, g->goal[c], g->rate[c]);
      g->goal[c] = g->rate[c] = 0;
    }
  }
}
