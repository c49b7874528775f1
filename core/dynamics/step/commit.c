// The last phase: copies the result of a finished step to the world, and creates contact events.
#include "dynamics/step/commit.h"
#include "dynamics/audit/audit.h"
#include "dynamics/joints/rows.h"
#include "dynamics/rest/rest.h"
#include "dynamics/step/acted.h"
#include "dynamics/step/solve.h"
#include "dynamics/step/touch.h"
#include "dynamics/trace/notes.h"

#include <string.h>

static bool commit_is_last(const S2Step *step) {
  return step->substep == step->substeps - 1 || step->cut_short;
}

static S2Status commit_check(const S2Step *step) {
  const S2World *world = step->world;
  for (int i = 0; i < world->order.count; i++) {
    int32_t slot = world->order.at[i];
    for (int c = 0; c < 3; c++) {
      if (!isfinite(step->q1[3 * slot + c]) || !isfinite(step->v2[3 * slot + c])) {
        char label[S2_NAME_SIZE + 8];
        s2_body_label(world, slot, label);
        const double *v = world->v.at + 3 * slot;
        return s2_error(S2_INVALID,
                        "body %s: its motion is not finite in step %llu (t = %.6g s); last speed "
                        "%.3g m/s (check forces, or try a smaller dt)",
                        label, (unsigned long long)world->kept.steps + 1, step->t,
                        hypot(v[1], v[2]));
      }
    }
  }
  // Strict worlds reject cut steps and unsolved steps. A cut step may have no warning text, so
  // create a message.
  if (step->cut && world->kept.def.strict && world->warning[0] == '\0') {
    return s2_error(S2_UNSOLVED,
                    "step %llu (t = %.6g s) was cut by its budget, with a scaled residual of %.1e "
                    "(tolerance %.1e)",
                    (unsigned long long)world->kept.steps + 1, step->t,
                    step->residuals.solve.scaled, world->kept.def.tolerance);
  }
  if (step->unsolved > 0 && world->kept.def.strict) {
    return s2_error(S2_UNSOLVED, "%s", world->warning);
  }
  return s2_ok();
}

// Returns the size (m) of the joint's bodies, which converts angular errors to lengths.
static double joint_length(const S2World *world, const S2Joint *joint) {
  double length = 0;
  length = joint->a == S2_NONE ? length : fmax(length, world->bodies.at[joint->a].reach);
  length = joint->b == S2_NONE ? length : fmax(length, world->bodies.at[joint->b].reach);
  for (int i = 0; i < 2 && s2_joint_is_wide(joint); i++) {
    int32_t slot = joint->more[i];
    length = slot == S2_NONE ? length : fmax(length, world->bodies.at[slot].reach);
  }
  return length > 0 ? length : 1;
}

static double joint_error(const S2Step *step, double elapsed) {
  const S2World *world = step->world;
  double worst = 0;
  for (int k = 0; k < step->island_count; k++) {
    const S2Island *island = &step->islands[k];
    if (!isnan(island->joint_error)) {
      worst = fmax(worst, island->joint_error);
      continue;
    }
    S2ArenaMark mark = s2_arena_mark(step->arena);
    const S2Rot *turn = island->joints == 0 ? NULL : s2_step_turns(step, island, step->q1);
    for (int i = 0; i < island->joints; i++) {
      const S2Joint *joint = &world->joints.at[island->joint[i]];
      S2JointAt at = {world, joint, step->q1, elapsed, turn};
      worst = fmax(worst, s2_joint_violation(&at, joint_length(world, joint)));
    }
    s2_arena_rewind(step->arena, mark);
  }
  return worst;
}

static void break_joint(S2World *world, int32_t slot, double force) {
  S2Joint *joint = &world->joints.at[slot];
  joint->enabled = false;
  joint->broken = true;
  s2_world_revised(world);
  S2Event *event = s2_world_event(world, S2_JOINT_BREAK);
  event->a = s2_body_id(world, joint->a);
  event->b = s2_body_id(world, joint->b);
  event->joint = (S2JointId){(uint32_t)slot + 1, joint->serial};
  event->point = s2_joint_anchor(world->q.at, joint->a, joint->local_a);
  event->force = force;
}

// Stores the data that constraints and ground friction keep from a step.
static void commit_keep_own(const S2Step *step, S2Joint *joint, double elapsed) {
  const S2World *world = step->world;
  if (joint->type == S2_CONSTRAINT && s2_joint_active(world, joint)) {
    s2_constraint_keep(&(S2JointAt){world, joint, step->q1, elapsed, NULL}, joint);
  }
  int32_t slot = (int32_t)(joint - world->joints.at);
  memcpy(joint->pushed, step->pushed + 2 * slot, sizeof joint->pushed);
}

// Moves the goal of a lock that has yielded. A lock with a bounded force that follows a velocity
// does not make up the distance that it lost by yielding.
static void commit_give_up(const S2Step *step, const S2Joint *joint, double elapsed,
                           double goal[3]) {
  const S2World *world = step->world;
  const S2Drive *drive = &world->drives.at[joint - world->joints.at];
  S2JointAt at = {world, joint, step->q1, elapsed, NULL};
  S2BoundedRow rows[S2_JOINT_EQUATIONS];
  int count = s2_lock_yields(joint) ? s2_lock_bounded_rows(&at, rows) : 0;
  for (int i = 0; i < count; i++) {
    int c = rows[i].component;
    bool held, place = joint->driven && drive->valid && drive->place[c];
    if (!place) {
      goal[c] = s2_lock_goal_kept(goal[c], step->q1[3 * joint->a + c], rows[i].most / rows[i].mass,
                                  elapsed, &held);
    }
  }
}

// Stores impulses and reactions, advances moving goals, and breaks overloaded joints.
static void commit_joints(const S2Step *step, double elapsed) {
  S2World *world = step->world;
  double goal[3], rate[3];
  for (int i = 0; i < world->joint_order.count; i++) {
    int32_t slot = world->joint_order.at[i];
    S2Joint *joint = &world->joints.at[slot];
    memcpy(joint->impulse, step->joint_impulse + S2_JOINT_ROWS * slot, sizeof joint->impulse);
    memcpy(joint->reaction, step->joint_reaction + 3 * slot, sizeof joint->reaction);
    joint->reaction_time = step->acted;
    commit_keep_own(step, joint, elapsed);
    // goals of other joints do not move
    if (joint->type == S2_LOCK && s2_joint_active(world, joint)) {
      s2_lock_goal(&(S2JointAt){world, joint, step->q1, elapsed, NULL}, goal, rate);
      commit_give_up(step, joint, elapsed, goal);
      memcpy(joint->goal, goal, sizeof goal);
      memcpy(joint->rate, rate, sizeof rate);
    }
    if (isfinite(joint->break_force)) {
      double impulse = hypot(joint->reaction[1], joint->reaction[2]);
      double force = (impulse > 0 ? impulse : fabs(joint->reaction[0])) / step->acted;
      if (force > joint->break_force) {
        break_joint(world, slot, force);
      }
    }
  }
}

// Records residuals and statistics. Residuals of solves are the maximum over all parts of the step.
// Position errors are the errors at the end of the step.
static void commit_measure(S2Step *step) {
  S2World *world = step->world;
  S2WorldStats *stats = &world->stats;
  // Set the residuals of this step.
  double resting = step->frozen == NULL ? 0 : world->rest.penetration;
  double penetration = s2_step_penetration(step);
  step->residuals.penetration = resting > penetration ? resting : penetration;
  if (step->substep > 0) {
    s2_keep_worst(&step->residuals.solve, &world->residuals.solve);
  }
  step->residuals.audit = world->residuals.audit;
  world->residuals = step->residuals;
  // Update the statistics of all steps.
  stats->steps += commit_is_last(step);
  stats->worst_scaled = fmax(stats->worst_scaled, step->residuals.solve.scaled);
  stats->worst_penetration = fmax(stats->worst_penetration, step->residuals.penetration);
  stats->worst_joint_error = fmax(stats->worst_joint_error, step->residuals.joint_error);
  // Set the problem size of this step.
  stats->bodies = world->order.count;
  stats->joints = world->joint_order.count;
  stats->islands = step->island_count;
  stats->contacts = stats->largest_island = 0;
  for (int i = 0; i < step->island_count; i++) {
    int points = 0;
    for (int k = 0; k < step->islands[i].touches; k++) {
      points += step->touches[step->islands[i].touch[k]].count;
    }
    stats->contacts += points;
    stats->kept += step->islands[i].kept;
    stats->largest_island = points > stats->largest_island ? points : stats->largest_island;
  }
  const S2Rest *rest = &world->rest;
  for (int i = 0; i < rest->islands.count && step->frozen != NULL; i++) {
    int points = rest->islands.at[i].points;
    stats->islands += 1;
    stats->contacts += points;
    stats->kept += 1;
    stats->largest_island = points > stats->largest_island ? points : stats->largest_island;
  }
  stats->arena_bytes = world->arena.peak;
  stats->cut += step->cut && !world->cut;
  world->cut |= step->cut;
}

// Commits touches. Their impulses are guesses for the next step.
static void commit_touches(const S2Step *step) {
  S2World *world = step->world;
  if (step->frozen != NULL) {
    s2_rest_put_acted(step);
    s2_rest_put_touches(step);
    return;
  }
  world->touches.count = step->touch_count;
  if (step->touch_count > 0) {
    memcpy(world->touches.at, step->touches, sizeof(S2Touch) * (size_t)step->touch_count);
  }
}

S2Status s2_step_commit(S2Step *step) {
  S2World *world = step->world;
  double elapsed = step->cut_short ? step->t - world->kept.time : step->dt;
  // Do all checks that may reject the step before anything is written.
  S2_TRY(commit_check(step));
  step->residuals.joint_error = joint_error(step, elapsed);
  if (world->refused.code != S2_OK) { // a constraint callback has failed
    return world->refused;
  }
  s2_note_end(step, S2_ACT_COMMIT);
  if (step->unsolved > 0) {
    s2_note_unsolved(step);
  }
  if (world->audit != NULL) {
    s2_audit_substep(step);
  }
  // These are the last allocations, except for the lists of impulses and events. The code below
  // changes the world.
  s2_array_reserve(world->touches, step->touch_count);
  s2_array_reserve(world->events, world->events.count + world->joint_order.count);
  s2_rest_commit(step);
  // Commit impulses and the resulting contact events.
  s2_acted_commit(step);
  s2_step_contact_events(step, commit_is_last(step));
  // Commit positions and velocities. Reset applied forces.
  for (int i = 0; i < world->order.count; i++) {
    int32_t at = 3 * world->order.at[i];
    memcpy(world->q.at + at, step->q1 + at, 3 * sizeof(double));
    const S2Body *body = &world->bodies.at[at / 3];
    bool given = body->has_motion && body->type == S2_KINEMATIC && body->enabled;
    if (s2_body_moves(body) || given) { // all other bodies keep the velocity that was set
      memcpy(world->v.at + at, step->v2 + at, 3 * sizeof(double));
    }
    if (commit_is_last(step)) {
      memset(world->f.at + at, 0, 3 * sizeof(double));
    }
  }
  commit_touches(step);
  commit_measure(step);
  commit_joints(step, elapsed);
  world->kept.time = step->cut_short ? step->t : world->kept.time + step->dt;
  world->kept.steps += commit_is_last(step);
  world->kept.fresh = false;
  world->boxes_stale = true;
  world->contacts_stale = true;
  world->impulses_listed = false;
  s2_rest_end(step);
  return s2_ok();
}
