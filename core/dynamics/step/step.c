// One step, from the outside in. The phases, in the order they happen:
//
//     forces         forces.c       gravity, applied forces, force laws; the free motion
//     touches        touch.c        broad phase, narrow phase, impulses carried over
//     islands        islands.c      bodies that act on each other
//     assemble       assemble.c     an island as a mixed complementarity problem
//     solve          solve.c        velocities and impulses, and the residual they leave
//     integrate      below          positions
//     stabilise      stabilise.c    position projection
//     commit         commit.c       the world changes, all at once; events
//
// All of that once for each of `substeps`.
//
// speculative.c, bisect.c and event.c are the three ways to order the middle ones.
#include "dynamics/schemes/schemes.h"
#include "dynamics/step/acted.h"
#include "dynamics/step/commit.h"
#include "dynamics/trace/notes.h"

#include <string.h>

static S2Status step_part(S2World *world, int part, int parts, bool *cut_short) {
  S2Step step = s2_step_begin(world, part, parts);
  s2_acted_begin(&step);
  world->stepping = true;
  s2_note_part(&step);
  s2_constraints_begin(world);
  s2_motions_begin(world);
  S2Stepping stepping = s2_world_way(&world->kept.def);
  bool done = stepping == S2_BISECT  ? s2_step_bisect(&step)
              : stepping == S2_EVENT ? s2_step_event(&step)
                                     : s2_step_speculative(&step);
  world->stepping = false;
  *cut_short = step.cut_short;
  S2Status status =
      done ? s2_step_commit(&step) : s2_error(S2_ABORTED, "the step was stopped by a callback");
  s2_motions_end(world);
  S2Status refused = s2_constraints_end(world);
  return refused.code != S2_OK ? refused : status;
}

// Each part is committed; when one fails, the world goes back to where it was before the first.
static S2Status step_parts(S2World *world, int parts) {
  size_t size = s2_world_image_size(world);
  if (size > world->before_capacity) {
    // A quarter more, so that a slowly growing world does not reallocate in every step.
    s2_memory_free(world->before);
    world->before = NULL;
    world->before_capacity = 0;
    world->before = s2_memory_take(size + size / 4);
    world->before_capacity = size + size / 4;
  }
  s2_world_image_write(world, world->before);
  world->before_size = size;
  double end = world->kept.time + world->kept.def.dt;
  bool cut_short = false;
  S2Status status = s2_ok();
  for (int part = 0; part < parts && status.code == S2_OK && !cut_short; part++) {
    if (part > 0 && world->parted != NULL) {
      world->parted(world->parted_user);
    }
    status = step_part(world, part, parts, &cut_short);
  }
  if (status.code != S2_OK) {
    (void)s2_world_image_read(world, world->before, size);
    world->events.count = 0;
  } else if (!cut_short) {
    world->kept.time = end; // not a sum of rounded parts
  }
  return status;
}

// A blow that travels turns the momentum that friction on the ground lies along: turned rows do not
// settle, and the force would leave its disc.
static S2Status check_ground(const S2World *world) {
  for (int i = 0; i < world->joint_order.count; i++) {
    const S2Joint *joint = &world->joints.at[world->joint_order.at[i]];
    if (joint->type == S2_GROUND_FRICTION && world->kept.def.restitution_model == S2_REFLECTIONS) {
      return s2_error(S2_INVALID, "restitution_model reflections: not with ground friction");
    }
  }
  return s2_ok();
}

typedef struct Work {
  S2World *world;
  int parts;
} Work;

static S2Status step_all(void *user) {
  const Work *work = user;
  bool cut_short;
  return work->parts == 1 ? step_part(work->world, 0, 1, &cut_short)
                          : step_parts(work->world, work->parts);
}

static S2Status step_within_memory(S2World *world, int parts) {
  Work work = {world, parts};
  uint64_t steps = world->kept.steps;
  double time = world->kept.time;
  S2Status status = s2_world_within_memory(world, step_all, &work);
  if (status.code != S2_MEMORY) {
    return status;
  }
  if (parts > 1 && (world->kept.steps != steps || world->kept.time != time)) { // room is there
    (void)s2_world_image_read(world, world->before, world->before_size);
  }
  return s2_error(S2_MEMORY,
                  "out of memory in step %llu of %d bodies, which is left out: are there too many "
                  "contacts in one place?",
                  (unsigned long long)world->kept.steps + 1, world->order.count);
}

S2Status s2_world_step(S2World *world) {
  S2_TRY(s2_world_idle(world));
  double start = s2_clock();
  S2_TRY(s2_world_check_blend(world));
  S2_TRY(check_ground(world));
  int parts = world->kept.def.substeps;
  world->events.count = 0;
  world->impulses_told = true; // there are none yet
  world->warning[0] = 0;
  S2Status status = step_within_memory(world, parts);
  world->stats.seconds_total += s2_clock() - start;
  return status;
}
