// Pseudo-static equilibrium by kinetic damping (dynamic relaxation: Otter 1965, Cundall 1976).
// Bodies start from rest and move as in a normal simulation until their kinetic energy falls; then
// they are stopped. A single mode would pass its equilibrium at that time. The first step after
// each stop gives the accelerations from rest, which must vanish.
#include "dynamics/world/world.h"

#include <string.h>

S2StaticOptions s2_static_options(void) {
  return (S2StaticOptions){.tolerance = 1e-6, .max_steps = 100000};
}

// m/s: the largest speed; rotation is measured at the farthest point of the body.
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

// Data that stay constant during the search for equilibrium.
typedef struct Held {
  double *v, *f; // 3 per slot
  double time;
  uint64_t steps;
} Held;

static void static_hold(S2World *world, const Held *held, bool stop) {
  // Forces applied for one step continue to act, and time does not advance.
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

// Turning forces (tension across a chain) are explicit in time. A mode of such forces with (h w)^2
// above 1 is farther from rest at each stop. In that case the search continues with shorter steps,
// which is permitted because time has no meaning here. The residuals at stops fluctuate in every
// search. A search makes no progress if STALLED residuals in a row are above half of the best
// residual.
enum { STALLED = 64, HALVINGS = 10 };

typedef struct Search {
  double dt;   // s: the world's dt
  double best; // m/s^2: smallest residual at a stop with the present length of steps
  int stops;   // number of stops since `best` last fell to half
  int halved;  // number of halvings
} Search;

// Evaluates the first step from rest. The last step has the world's length, so that its impulses
// are those of a normal step. Returns whether the length of steps changes.
static bool static_judge(S2World *world, Search *search, const S2StaticOptions *options,
                         S2StaticResult *result) {
  double *dt = &world->kept.def.dt;
  // From rest, the speeds after a step are the accelerations times its length.
  result->residual = static_fastest(world) / *dt;
  bool rests = result->residual <= options->tolerance;
  result->solved = rests && *dt == search->dt;
  // Progress means that the best residual has halved. If STALLED stops bring no progress, the steps
  // are too long.
  search->stops += 1;
  if (result->residual < search->best / 2) {
    search->best = result->residual;
    search->stops = 0;
  }
  bool stalled = !rests && search->stops >= STALLED && search->halved < HALVINGS;
  // Continue, unless steps must become shorter or only a step of the world's length is missing.
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
    // Restore the initial forces; keep the velocities or set them to zero; then step.
    static_hold(world, held, stop);
    status = s2_world_step(world);
    result->steps += 1;
    bool anew = stop && status.code == S2_OK && static_judge(world, &search, options, result);
    // If the kinetic energy falls, some mode has passed its equilibrium: stop all bodies.
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
  // Check that the options permit convergence.
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
  // Store the constant data and the world's image, which is restored on failure.
  size_t size = s2_world_image_size(world), bytes = sizeof(double) * (size_t)world->v.count;
  // doubles come first, so that they are aligned
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
  // Bodies that move as functions of time stand still.
  S2Callbacks callbacks = world->callbacks;
  world->callbacks.motion = NULL;
  S2Status status = static_relax(world, &held, options, result);
  world->callbacks = callbacks;
  if (status.code != S2_OK) {
    (void)s2_world_image_read(world, image, size);
    *result = (S2StaticResult){.residual = INFINITY, .steps = result->steps};
  } else {
    // Bodies are at rest in their new positions, at the same time; kinematic bodies get their
    // velocity back.
    static_hold(world, &held, true);
    for (int i = 0; i < world->order.count; i++) {
      int32_t at = 3 * world->order.at[i];
      memset(world->f.at + at, 0, 3 * sizeof(double)); // the forces have acted
      if (!s2_body_moves(&world->bodies.at[at / 3])) {
        memcpy(world->v.at + at, held.v + at, 3 * sizeof(double));
      }
    }
  }
  s2_memory_free(memory);
  return status;
}
