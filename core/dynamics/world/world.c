// Worlds: making, settings, marks.
#include "dynamics/trace/notes.h"

#include <string.h>

S2WorldDef s2_world_def(void) {
  return (S2WorldDef){
      .gravity = {0, -9.81},
      .dt = 1.0 / 120,
      .solver = S2_SOLVER_AUTO,
      .contact = S2_COULOMB,
      .stepping = S2_AUTO,
      .stabilization = S2_PROJECTION,
      .tolerance = 1e-9,
      .max_iterations = 100,
      .contact_margin = 0.01,
      .combine_friction = S2_COMBINE_GEOMETRIC,
      .combine_restitution = S2_COMBINE_AVERAGE,
      .substeps = 1,
      .alpha = 1,
      .beta = 1,
      .smoothing = 1e-4,
  };
}

static S2Status check_blend(const S2WorldDef *def) {
  const double part[2] = {def->alpha, def->beta};
  static const char *const names[2] = {"alpha", "beta"};
  for (int i = 0; i < 2; i++) {
    if (!(part[i] >= 0 && part[i] <= 1)) {
      return s2_error(S2_INVALID, "%s: a number from 0 to 1 expected, got %g", names[i], part[i]);
    }
  }
  if ((unsigned)def->formulation > S2_FORM_VARIATION) {
    return s2_error(S2_INVALID, "formulation: unknown");
  }
  if ((unsigned)def->elasticity > S2_AS_STIFFNESS) {
    return s2_error(S2_INVALID, "elasticity: unknown");
  }
  if ((unsigned)def->geometric_stiffness > S2_GEOMETRIC_PSD) {
    return s2_error(S2_INVALID, "geometric_stiffness: unknown");
  }
  return s2_ok();
}

// What other options of the step do without implicit blending.
static S2Status check_together(const S2WorldDef *def) {
  bool blends = def->alpha < 1 || def->beta < 1 || def->geometric_stiffness != S2_GEOMETRIC_OFF;
  const char *option = def->nonlinear                             ? "nonlinear"
                       : def->restitution_model == S2_REFLECTIONS ? "restitution_model reflections"
                       : def->stabilization == S2_BAUMGARTE       ? "stabilization baumgarte"
                                                                  : NULL;
  if (blends && option != NULL) {
    return s2_error(S2_INVALID, "%s: only with alpha = beta = 1 and no geometric stiffness",
                    option);
  }
  return s2_ok();
}

// Its flow, its rows and what mends it are its own. NULL: all is as event stepping takes it.
static const char *not_with_event(const S2WorldDef *def) {
  return def->nonlinear                                 ? "nonlinear"
         : def->restitution_model == S2_REFLECTIONS     ? "restitution_model reflections"
         : def->alpha < 1 || def->beta < 1              ? "alpha or beta below 1"
         : def->geometric_stiffness != S2_GEOMETRIC_OFF ? "geometric_stiffness"
                                                        : NULL;
}

static bool event_mends(const S2WorldDef *def) {
  return def->stabilization == S2_PROJECTION || def->stabilization == S2_NO_STABILIZATION;
}

static S2Status check_event(const S2WorldDef *def) {
  const char *option = not_with_event(def);
  if (option != NULL) {
    return s2_error(S2_INVALID, "%s: not with stepping event, use speculative", option);
  }
  if (!event_mends(def)) {
    return s2_error(S2_INVALID, "stabilization: projection or none expected with stepping event");
  }
  return s2_ok();
}

S2Stepping s2_world_way(const S2WorldDef *def) {
  if (def->stepping != S2_AUTO) {
    return def->stepping;
  }
  return not_with_event(def) == NULL && event_mends(def) ? S2_EVENT : S2_SPECULATIVE;
}

static S2Status check_def(const S2WorldDef *def) {
  if (!isfinite(def->gravity.x) || !isfinite(def->gravity.y)) {
    return s2_error(S2_INVALID, "gravity: finite numbers expected, got {%g, %g}", def->gravity.x,
                    def->gravity.y);
  }
  if (!(def->dt > 0) || !isfinite(def->dt)) {
    return s2_error(S2_INVALID, "dt: a time above 0 s expected, got %g", def->dt);
  }
  if (!(def->tolerance > 0) || !isfinite(def->tolerance)) {
    return s2_error(S2_INVALID, "tolerance: a number above 0 expected, got %g", def->tolerance);
  }
  if (def->max_iterations < 1) {
    return s2_error(S2_INVALID, "max_iterations: 1 or more expected, got %d", def->max_iterations);
  }
  if (!(def->contact_margin >= 0) || !isfinite(def->contact_margin)) {
    return s2_error(S2_INVALID, "contact_margin: a length of 0 m or more expected, got %g",
                    def->contact_margin);
  }
  if ((int)def->stabilization < 0 || def->stabilization > S2_POST_ASSEMBLY) {
    return s2_error(S2_INVALID, "stabilization: unknown");
  }
  if ((int)def->linear_solver < 0 || def->linear_solver >= S2_LINEAR_COUNT) {
    return s2_error(S2_INVALID, "linear_solver: unknown, %d", (int)def->linear_solver);
  }
  if (def->substeps < 1) {
    return s2_error(S2_INVALID, "substeps: 1 or more expected, got %d", def->substeps);
  }
  if ((int)def->restitution_model < 0 || def->restitution_model > S2_REFLECTIONS) {
    return s2_error(S2_INVALID, "restitution_model: unknown");
  }
  if ((int)def->solver < 0 || def->solver >= S2_SOLVER_COUNT) {
    return s2_error(S2_INVALID, "solver: unknown");
  }
  if ((unsigned)def->gradient > S2_GRADIENT_SMOOTH) {
    return s2_error(S2_INVALID, "gradient: unknown");
  }
  if (!(def->smoothing > 0) || !isfinite(def->smoothing)) {
    return s2_error(S2_INVALID, "smoothing: a number above 0 expected, got %g", def->smoothing);
  }
  S2_TRY(check_blend(def));
  if ((int)def->stepping < 0 || def->stepping > S2_AUTO) {
    return s2_error(S2_INVALID, "stepping: unknown");
  }
  if (def->stepping == S2_EVENT) {
    S2_TRY(check_event(def));
  }
  return check_together(def);
}

S2Status s2_world_create(const S2WorldDef *def, S2World **out) {
  *out = NULL;
  S2_TRY(check_def(def));
  S2World *world = s2_memory_take_zeroed(sizeof *world);
  world->kept.def = *def;
  world->kept.free_body = world->kept.free_joint = world->kept.free_piece = S2_NONE;
  for (int i = 0; i < S2_VERTEX_CLASSES; i++) {
    world->kept.free_vertices[i] = S2_NONE;
  }
  world->next_serial = 1;
  world->broadphase = s2_broadphase_new();
  s2_arena_init(&world->arena);
  *out = world;
  return s2_ok();
}

void s2_world_destroy(S2World *world) {
  if (world == NULL) {
    return;
  }
  s2_array_free(world->q);
  s2_array_free(world->v);
  s2_array_free(world->f);
  s2_array_free(world->bodies);
  s2_line_free(world->order);
  s2_array_free(world->pieces);
  s2_array_free(world->vertices);
  s2_array_free(world->joints);
  s2_line_free(world->joint_order);
  s2_array_free(world->touches);
  s2_array_free(world->acted);
  s2_array_free(world->corrected);
  s2_array_free(world->couples);
  s2_array_free(world->acting);
  s2_array_free(world->log);
  s2_array_free(world->merged);
  s2_line_free(world->excluded);
  s2_array_free(world->events);
  s2_array_free(world->memos);
  s2_array_free(world->drives);
  s2_array_free(world->contacts);
  s2_broadphase_free(world->broadphase);
  s2_arena_free(&world->arena);
  s2_fixed_release(world->fixed);
  s2_memory_free(world->marked);
  s2_memory_free(world->before);
  s2_memory_free(world->dump_directory);
  s2_memory_free(world);
}

const S2WorldDef *s2_world_settings(const S2World *world) {
  return &world->kept.def;
}

S2Status s2_world_configure(S2World *world, const S2WorldDef *def) {
  S2_TRY(s2_world_idle(world));
  S2_TRY(check_def(def));
  world->kept.def = *def;
  return s2_ok();
}

double s2_world_time(const S2World *world) {
  return world->kept.time;
}

uint64_t s2_world_step_count(const S2World *world) {
  return world->kept.steps;
}

uint64_t s2_world_revision(const S2World *world) {
  return world->revision + 1;
}

S2Status s2_world_idle(const S2World *world) {
  if (world->stepping) {
    return s2_error(S2_BUSY, "the world is in the middle of a step");
  }
  return s2_ok();
}

S2Status s2_world_within_memory(S2World *world, S2MemoryRun *run, void *user) {
  S2Callbacks callbacks = world->callbacks;
  S2Status status = s2_memory_guarded(run, user);
  if (status.code == S2_MEMORY) {
    world->callbacks = callbacks;
    world->stepping = world->evaluating = false;
    world->refused = s2_ok();
    world->drives.count = 0;
    world->events.count = 0;
    world->boxes_stale = true;
    s2_arena_free(&world->arena); // a small step can be done still
  }
  return status;
}

void s2_world_set_callbacks(S2World *world, const S2Callbacks *callbacks) {
  static const S2Callbacks none = {0};
  world->callbacks = callbacks == NULL ? none : *callbacks;
}

void s2_world_mark(S2World *world) {
  size_t size = s2_world_image_size(world);
  if (size > world->marked_capacity) {
    // A quarter more, so that a slowly growing world does not reallocate in every step.
    world->marked_capacity = size + size / 4;
    s2_memory_free(world->marked);
    world->marked = s2_memory_take(world->marked_capacity);
  }
  world->marked_size = size;
  s2_world_image_write(world, world->marked);
}

void s2_world_rollback(S2World *world) {
  if (world->marked != NULL) {
    (void)s2_world_image_read(world, world->marked, world->marked_size);
  }
}

const S2WorldStats *s2_world_stats(const S2World *world) {
  return &world->stats;
}

S2WorldResiduals s2_world_residuals(const S2World *world) {
  return world->residuals;
}
