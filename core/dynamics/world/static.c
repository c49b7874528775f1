// Finds a static equilibrium by kinetic damping (dynamic relaxation: Otter 1965, Cundall 1976).
// Bodies start from rest and move as in a normal simulation until their kinetic energy decreases.
// Then they are stopped. A single mode would pass its equilibrium at that time. The first step
// after each stop gives the accelerations from rest, which must vanish.
#include "dynamics/world/world.h"

#include <string.h>

S2StaticOptions s2_static_options(void) {
  return (S2StaticOptions){.tolerance = 1e-6, .max_steps = 100000};
}

// Returns the largest speed in m/s. Rotations count with the speed of the farthest point of the
// body.
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

// Data that do not change during the search for equilibrium.
typedef struct Held {
  double *v, *f; // 3 per slot
  double time;
  uint64_t steps;
} Held;

static void static_hold(S2World *world, const Held *held, bool stop) {
  // Restore the applied forces, which would otherwise act for one step only, and reset the time.
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

// Forces whose direction turns, such as the tension in a chain, are integrated explicitly. If such
// a force causes an oscillation with (h w)^2 above 1, it grows from stop to stop. The search then
// continues with shorter steps, because time has no meaning here. The residuals at stops fluctuate
// in every search. A search makes no progress if STALLED successive residuals are above half of the
// best residual.
enum { STALLED = 64, HALVINGS = 10 };

typedef struct Search {
  double dt;   // s: dt of the world
  double best; // m/s^2: smallest residual at a stop with the current step length
  int stops;   // number of stops since `best` was last halved
  int halved;  // number of times that the step was halved
} Search;

// Evaluates the first step from rest. The last step must have the normal length, because its
// impulses remain in the world. Returns true if the step length changes.
static bool static_judge(S2World *world, Search *search, const S2StaticOptions *options,
                         S2StaticResult *result) {
  double *dt = &world->kept.def.dt;
  // After a step from rest, the speeds are the accelerations times the step length.
  result->residual = static_fastest(world) / *dt;
  bool rests = result->residual <= options->tolerance;
  result->solved = rests && *dt == search->dt;
  // The search makes progress if the best residual is halved. If there is no progress during
  // STALLED stops, the steps are too long.
  search->stops += 1;
  if (result->residual < search->best / 2) {
    search->best = result->residual;
    search->stops = 0;
  }
  bool stalled = !rests && search->stops >= STALLED && search->halved < HALVINGS;
  // Change the step length only if steps must become shorter, or if only a step of normal length is
  // missing.
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
    // Restore the initial forces, keep the velocities or set them to zero, and step.
    static_hold(world, held, stop);
    status = s2_world_step(world);
    result->steps += 1;
    bool anew = stop && status.code == S2_OK && static_judge(world, &search, options, result);
    // If the kinetic energy decreases, some mode has passed its equilibrium. Stop all bodies.
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
  // Check that convergence is possible with the options.
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
      return s2_error(S2_INVALID, "a lock moves its body, so there is no state of rest");
    }
  }
  // Store the constant data and an image of the world, which is restored on failure.
  size_t size = s2_world_image_size(world), bytes = sizeof(double) * (size_t)world->v.count;
  // Put the doubles first, because they must be aligned.
  unsigned char *memory = s2_memory_take(size + 2 * bytes);
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
  // Stop prescribed motions, which depend on time.
  S2Callbacks callbacks = world->callbacks;
  world->callbacks.motion = NULL;
  S2Status status = static_relax(world, &held, options, result);
  world->callbacks = callbacks;
  if (status.code != S2_OK) {
    (void)s2_world_image_read(world, image, size);
    *result = (S2StaticResult){.residual = INFINITY, .steps = result->steps};
  } else {
    // Bodies are at rest in their new positions, at the original time. Restore the velocities of
    // kinematic bodies.
    static_hold(world, &held, true);
    for (int i = 0; i < world->order.count; i++) {
      int32_t at = 3 * world->order.at[i];
      memset(world->f.at + at, 0, 3 * sizeof(double)); // applied forces act for one step
      if (!s2_body_moves(&world->bodies.at[at / 3])) {
        memcpy(world->v.at + at, held.v + at, 3 * sizeof(double));
      }
    }
  }
  s2_memory_free(memory);
  return status;
}
