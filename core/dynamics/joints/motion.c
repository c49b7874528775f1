// Bodies and locks that a program moves (S2Callbacks.motion). A step uses the mean velocity over
// its length. Positions given as functions of time are therefore reached exactly and without drift.
// This holds for any step length and for the substeps of bisecting steps.
#include "dynamics/step/forces.h"
#include "dynamics/trace/notes.h"

#include <string.h>

// `joint` is the slot of the lock, or of the lock that drives a body that yields. It is S2_NONE for
// other bodies.
static bool motion_ask(S2World *world, S2MotionCall *call, int32_t joint) {
  // Storage for slopes, which are only requested if the step is recorded for its derivative.
  S2Slope slope[S2_MOTION_NUMBERS] = {0};
  call->slope = world->notes == NULL ? NULL : slope;
  call->ends = s2_world_rattles(&world->kept.def);
  for (int c = 0; c < 3; c++) {
    call->start[c] = call->end[c] = NAN;
  }
  // The mask prevents a jump across the program's stack frames if memory runs out.
  bool masked = s2_memory_mask(true);
  bool going = world->callbacks.motion(world->callbacks.user, world, call);
  s2_memory_mask(masked);
  if (!going) {
    world->refused = s2_error(S2_ABORTED, "the step was stopped by a callback");
    return false;
  }
  // The error message names the component.
  for (int c = 0; c < 3; c++) {
    if (!isfinite(call->v[c])) {
      static const char *const names[3] = {"angle", "x", "y"};
      world->refused =
          s2_error(S2_INVALID,
                   "motion of a %s: the velocity of its %s is %g (t = %.6g s): finite "
                   "numbers expected",
                   call->joint.index != 0 ? "lock" : "body", names[c], call->v[c], call->t);
      return false;
    }
  }
  double numbers[S2_MOTION_NUMBERS];
  memcpy(numbers, call->v, sizeof call->v);
  // Missing velocities at the start and end are replaced by the mean.
  for (int i = 3; i < S2_MOTION_NUMBERS; i++) {
    double *at_end = i < 6 ? &call->start[i - 3] : &call->end[i - 6];
    slope[i] = isfinite(*at_end) ? slope[i] : slope[i % 3];
    numbers[i] = *at_end = isfinite(*at_end) ? *at_end : call->v[i % 3];
  }
  // Record the result under the slot of the lock, or of the body.
  bool lock = joint != S2_NONE;
  s2_note_answer(world, &(S2Answer){.asked = lock ? S2_ASKED_LOCK : S2_ASKED_BODY,
                                    .slot = lock ? joint : (int32_t)call->body.index - 1,
                                    .t = call->t,
                                    .q = {call->h},
                                    .count = call->ends ? S2_MOTION_NUMBERS : 3,
                                    .number = numbers,
                                    .slope = call->sloped ? slope : NULL});
  call->slope = NULL;
  return true;
}

static bool move_body(S2Step *step, int32_t slot, double h) {
  S2World *world = step->world;
  double *v0 = step->v0 + 3 * slot;
  // Without a callback, the body stands still. Otherwise the callback gives its velocity.
  S2MotionCall call = {.body = s2_body_id(world, slot), .t = step->t, .h = h};
  memcpy(call.q, step->q0 + 3 * slot, sizeof call.q);
  if (world->callbacks.motion != NULL) {
    memcpy(call.v, v0, sizeof call.v);
    if (!motion_ask(world, &call, S2_NONE)) {
      return false;
    }
  }
  memcpy(v0, call.v, sizeof call.v);
  bool asked = world->callbacks.motion != NULL;
  if (step->given_start != NULL) {
    memcpy(step->given_start + 3 * slot, asked ? call.start : call.v, sizeof call.v);
    memcpy(step->given_end + 3 * slot, asked ? call.end : call.v, sizeof call.v);
  }
  if (step->substep == 0 && step->t == world->kept.time) {
    memcpy(step->v_start + 3 * slot, call.v, sizeof call.v);
  }
  return true;
}

// Sets the goal and rate of a lock. The initial goal is the goal at the end of the previous
// substep.
static bool drive_lock(S2Step *step, int32_t slot, double h) {
  S2World *world = step->world;
  const S2Joint *joint = &world->joints.at[slot];
  S2Drive *drive = &world->drives.at[slot];
  double elapsed = step->t - world->kept.time;
  // The call names the lock, or the body if the lock is the body's drive.
  S2MotionCall call = {.joint = {(uint32_t)slot + 1, joint->serial}, .t = step->t, .h = h};
  if (world->bodies.at[joint->a].drive == slot) { // the motion belongs to the body
    call.joint = (S2JointId){0, 0};
    call.body = s2_body_id(world, joint->a);
  }
  for (int c = 0; c < 3; c++) {
    call.q[c] =
        drive->valid ? drive->goal[c] + (elapsed - drive->start) * drive->rate[c] : joint->goal[c];
    call.v[c] = joint->rate[c];
  }
  if (world->callbacks.motion == NULL) {
    memset(call.v, 0, sizeof call.v);
    memset(call.start, 0, sizeof call.start);
    memset(call.end, 0, sizeof call.end);
  } else if (!motion_ask(world, &call, slot)) {
    return false;
  }
  // The goal moves at this rate until the next substep.
  *drive = (S2Drive){.valid = true, .start = elapsed};
  for (int c = 0; c < 3; c++) {
    drive->goal[c] = call.q[c];
    drive->rate[c] = joint->locked[c] ? call.v[c] : 0;
    drive->begin[c] = joint->locked[c] ? call.start[c] : 0;
    drive->end[c] = joint->locked[c] ? call.end[c] : 0;
    drive->place[c] = call.place[c];
  }
  return true;
}

void s2_motions_begin(S2World *world) {
  s2_array_reserve(world->drives, world->joints.count);
  world->drives.count = world->joints.count;
  for (int i = 0; i < world->drives.count; i++) {
    world->drives.at[i].valid = false;
  }
}

void s2_motions_end(S2World *world) {
  world->drives.count = 0;
}

bool s2_step_motions(S2Step *step, double h) {
  const S2World *world = step->world;
  // First move the kinematic bodies that callbacks control, then the locks. Bodies that yield are
  // moved by their locks.
  for (int i = 0; i < world->order.count; i++) {
    int32_t slot = world->order.at[i];
    const S2Body *body = &world->bodies.at[slot];
    if (body->has_motion && body->type == S2_KINEMATIC && body->enabled && body->drive == S2_NONE &&
        !move_body(step, slot, h)) {
      return false;
    }
  }
  for (int i = 0; i < world->joint_order.count; i++) {
    int32_t slot = world->joint_order.at[i];
    const S2Joint *joint = &world->joints.at[slot];
    if (joint->driven && s2_joint_active(world, joint) && !drive_lock(step, slot, h)) {
      return false;
    }
  }
  return true;
}

void s2_lock_goal(const S2JointAt *at, double goal[3], double rate[3]) {
  const S2Joint *joint = at->joint;
  // Within a step, use the goal of the substep. Outside a step, use the goal of the last step.
  const S2Drive *drive = NULL;
  if (joint->driven && at->world->drives.count > 0) {
    drive = &at->world->drives.at[joint - at->world->joints.at];
  }
  bool now = drive != NULL && drive->valid && at->elapsed >= drive->start;
  double since = now ? at->elapsed - drive->start : at->elapsed;
  for (int c = 0; c < 3; c++) {
    rate[c] = now ? drive->rate[c] : joint->rate[c];
    goal[c] = (now ? drive->goal[c] : joint->goal[c]) + since * rate[c];
    rate[c] = now && drive->strikes ? drive->begin[c] : rate[c];
  }
}
