// Pseudo-static equilibrium by kinetic damping (dynamic relaxation: Otter 1965, Cundall 1976):
// bodies start from rest and move as in time until their kinetic energy falls, where they are
// stopped. A single mode passes its equilibrium just then. Each stop tells the accelerations from
// rest, which are what is to vanish.
#include "dynamics/world/world.h"

#include <string.h>

S2StaticOptions s2_static_options(void) {
  return (S2StaticOptions){.tolerance = 1e-6, .max_steps = 100000};
}

// The largest speed, turning counted at the farthest point of the body, m/s.
static double static_fastest(const S2World *world) {
  double speed = 0;
  for (int i = 0; i < world->order.count; i++) {
    int32_t slot = world->order.at[i];
    const S2Body *body = &world->bodies.at[slot];
    const double *v = world->v.at + 3 * slot;
    if (s2_body_moves(body)) {
      double reach = body->reach > 0 ? body->reach : 1;
      speed = fmax(speed, fmax(hypot(v[1], v[2]), fabs(v[0]) * reach));
    }
  }
  return speed;
}

// What stays as it is while the bodies look for their places.
typedef struct Held {
  double *v, *f; // 3 a slot
  double time;
  uint64_t steps;
} Held;

static void static_hold(S2World *world, const Held *held, bool stop) {
  // Forces applied for one step go on acting, and time stands still.
  size_t bytes = sizeof(double) * (size_t)world->f.count;
  if (bytes > 0) {
    memcpy(world->f.at, held->f, bytes);
  }
  if (stop && bytes > 0) {
    memset(world->v.at, 0, bytes);
  }
  world->kept.time = held->time;
  world->kept.steps = held->steps;
}

// Forces that turn (tension across a chain) are explicit in time, and a mode of theirs with (h w)^2
// of more than 1 is further from rest at each stop than at the last. Then the bodies look for their
// places by shorter steps, as time is nothing here. What stops tell goes up and down on the way;
// it is told from a search that goes nowhere by so many of them without one that is half the best.
enum { STALLED = 64, HALVINGS = 10 };

typedef struct Search {
  double dt;   // s, the world's
  double best; // m/s^2, at any stop with these steps
  int stops;   // since it was half of that before it
  int halved;  // times
} Search;

// What a first step from rest tells. At the end it is one of the world's length, so that impulses
// are those of such a step. Are steps of another length from here on?
static bool static_judge(S2World *world, Search *search, const S2StaticOptions *options,
                         S2StaticResult *result) {
  double *dt = &world->kept.def.dt;
  // From rest the speeds after a step are the accelerations times its length.
  result->residual = static_fastest(world) / *dt;
  bool rests = result->residual <= options->tolerance;
  result->solved = rests && *dt == search->dt;
  // Progress is half of the best residual; without any for STALLED stops the steps are too long.
  search->stops += 1;
  if (result->residual < search->best / 2) {
    search->best = result->residual;
    search->stops = 0;
  }
  bool stalled = !rests && search->stops >= STALLED && search->halved < HALVINGS;
  // Goes on, unless steps get shorter, or all rests but for a step of the world's length.
  if (!stalled && !(rests && *dt != search->dt)) {
    return false;
  }
  search->halved += stalled;
  *dt = stalled ? *dt / 2 : search->dt;
  search->best = INFINITY;
  search->stops = 0;
  return true;
}

static S2Status static_relax(S2World *world, const Held *held, const S2StaticOptions *options,
                             S2StaticResult *result) {
  Search search = {.dt = world->kept.def.dt, .best = INFINITY};
  double before = 0; // kinetic energy, J
  bool stop = true;
  S2Status status = s2_ok();
  while (result->steps < options->max_steps && !result->solved && status.code == S2_OK) {
    // Forces as at first, velocities as they are or zero; then the step.
    static_hold(world, held, stop);
    status = s2_world_step(world);
    result->steps += 1;
    bool anew = stop && status.code == S2_OK && static_judge(world, &search, options, result);
    // Kinetic energy falls: past an equilibrium of some mode, so everything is stopped there.
    double now = s2_world_energy(world).kinetic;
    stop = now < before || anew;
    before = stop ? 0 : now;
  }
  world->kept.def.dt = search.dt;
  return status;
}

S2Status s2_world_solve_static(S2World *world, const S2StaticOptions *options,
                               S2StaticResult *result) {
  *result = (S2StaticResult){.residual = INFINITY};
  S2_TRY(s2_world_idle(world));
  // What cannot come to rest is refused.
  if (!(options->tolerance > 0) || !isfinite(options->tolerance)) {
    return s2_error(S2_INVALID, "tolerance: an acceleration above 0 m/s^2 expected, got %g",
                    options->tolerance);
  }
  if (options->max_steps < 1) {
    return s2_error(S2_INVALID, "max_steps: 1 or more expected, got %d", options->max_steps);
  }
  for (int i = 0; i < world->joint_order.count; i++) {
    const S2Joint *joint = &world->joints.at[world->joint_order.at[i]];
    const double *rate = joint->rate;
    if (joint->driven || rate[0] != 0 || rate[1] != 0 || rate[2] != 0) {
      return s2_error(S2_INVALID, "a lock moves its body as given: nothing is at rest there");
    }
  }
  // What is held and the world as it was, which is read back on failure.
  size_t size = s2_world_image_size(world), bytes = sizeof(double) * (size_t)world->v.count;
  unsigned char *memory = s2_memory_take(size + 2 * bytes); // doubles first: they are aligned
  Held held = {
      .v = (double *)(void *)memory,
      .f = (double *)(void *)(memory + bytes),
      .time = world->kept.time,
      .steps = world->kept.steps,
  };
  unsigned char *image = memory + 2 * bytes;
  if (bytes > 0) {
    memcpy(held.v, world->v.at, bytes);
    memcpy(held.f, world->f.at, bytes);
  }
  s2_world_image_write(world, image);
  // Motions given by functions of time stand still.
  S2Callbacks callbacks = world->callbacks;
  world->callbacks.motion = NULL;
  S2Status status = static_relax(world, &held, options, result);
  world->callbacks = callbacks;
  if (status.code != S2_OK) {
    (void)s2_world_image_read(world, image, size);
    *result = (S2StaticResult){.residual = INFINITY, .steps = result->steps};
  } else {
    // At rest where they are, at the same time; what moves as given has its velocity again.
    static_hold(world, &held, true);
    for (int i = 0; i < world->order.count; i++) {
      int32_t at = 3 * world->order.at[i];
      memset(world->f.at + at, 0, 3 * sizeof(double)); // they have acted
      if (!s2_body_moves(&world->bodies.at[at / 3])) {
        memcpy(world->v.at + at, held.v + at, 3 * sizeof(double));
      }
    }
  }
  s2_memory_free(memory);
  return status;
}
