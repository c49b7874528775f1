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
#include "dynamics/trace/notes.h"

#include <string.h>
#include <time.h>

double s2_clock(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// Static and disabled bodies may have been given a velocity: it waits until they move again.
static double *velocities(const S2World *world, S2Arena *arena) {
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

S2Step s2_step_begin(S2World *world, int part, int parts) {
  S2Arena *arena = &world->arena;
  int slots = world->bodies.count, joints = world->joints.count;
  s2_arena_reset(arena);
  if (part == 0) {
    world->dumped = 0;
    world->missed = false;
    world->stats.last_iterations = 0;
    world->stats.last_status = S2_SOLVED;
  }
  S2Step step = {
      .world = world,
      .arena = arena,
      .part = part,
      .parts = parts,
      .dt = world->kept.def.dt / parts,
      .h = world->kept.def.dt / parts,
      .acted = world->kept.def.dt / parts,
      .t = world->kept.time,
      .q0 = s2_arena_copy(arena, world->q.at, 3 * slots),
      .v0 = velocities(world, arena),
      .v_start = velocities(world, arena),
      .force = S2_TAKE_ZEROED(arena, double, 3 * slots),
      .mass = S2_TAKE_ZEROED(arena, double, 3 * slots),
      .free_v = S2_TAKE_ZEROED(arena, double, 3 * slots),
      .slack = S2_TAKE_ZEROED(arena, double, slots),
      .v1 = s2_arena_copy(arena, world->v.at, 3 * slots),
      .v2 = s2_arena_copy(arena, world->v.at, 3 * slots),
      .q1 = s2_arena_copy(arena, world->q.at, 3 * slots),
      .turn = S2_TAKE(arena, S2Rot, slots),
      .carry = S2_TAKE_ZEROED(arena, double, 3 * slots),
      .share = world->kept.def.beta,
      .ahead = S2_TAKE_ZEROED(arena, bool, slots),
      .joint_impulse = S2_TAKE_ZEROED(arena, double, S2_JOINT_ROWS *joints),
      .joint_reaction = S2_TAKE_ZEROED(arena, double, 3 * joints),
      .stiff = S2_TAKE_ZEROED(arena, bool, joints),
      .corrected = S2_TAKE_ZEROED(arena, double, 3 * slots),
      .pushed = S2_TAKE_ZEROED(arena, double, 2 * joints),
      .node_of = S2_TAKE(arena, int32_t, slots),
  };
  for (int i = 0; i < world->joint_order.count; i++) {
    int32_t slot = world->joint_order.at[i];
    const S2Joint *joint = &world->joints.at[slot];
    if (s2_joint_active(world, joint)) { // the others carry nothing
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

static S2Status step_part(S2World *world, int part, int parts, bool *cut_short) {
  S2Step step = s2_step_begin(world, part, parts);
  s2_acted_begin(&step);
  world->stepping = true;
  s2_note_substep(&step);
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
