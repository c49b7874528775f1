// Creation, settings, marks and statistics of worlds.
#include "dynamics/program/program.h"
#include "dynamics/trace/notes.h"

#include <string.h>

// Maximum number of worlds that one processor steps side by side. It is the number of doubles in an
// AVX-512 register.
enum { LANES_MOST = 8 };

S2WorldDef s2_world_def(void) {
  return (S2WorldDef){
#define S2_SETTING(member, type, default, domain, names, unit, derivative, meaning)                \
  .member = default,
#define S2_PROGRAM_SETTING(member, type, default, domain, names, unit, derivative, meaning)        \
  .member = default,
#include "dynamics/fields.def"
  };
}

// Returns the name of an option that excludes the two-stage flow, or NULL.
static const char *not_with_rattle(const S2WorldDef *def) {
  return def->stepping == S2_BISECT                     ? "stepping bisect"
         : def->stabilization != S2_PROJECTION          ? "a stabilization other than projection"
         : def->alpha < 1 || def->beta < 1              ? "alpha or beta below 1"
         : def->geometric_stiffness != S2_GEOMETRIC_OFF ? "geometric_stiffness"
         : def->formulation != S2_FORM_VELOCITY         ? "a formulation other than velocity"
         : def->elasticity != S2_AS_COMPLIANCE          ? "elasticity stiffness"
         : def->restitution_model == S2_REFLECTIONS     ? "restitution_model reflections"
         : def->solver != S2_SOLVER_AUTO                ? "a solver other than auto"
         : def->linear_solver != S2_LINEAR_AUTO         ? "a linear_solver other than auto"
                                                        : NULL;
}

// Checks combinations of options.
static S2Status world_check_together(const S2WorldDef *def) {
  // Some options do not support implicit blending.
  bool blends = def->alpha < 1 || def->beta < 1 || def->geometric_stiffness != S2_GEOMETRIC_OFF;
  const char *option = def->restitution_model == S2_REFLECTIONS ? "restitution_model reflections"
                       : def->stabilization == S2_BAUMGARTE     ? "stabilization baumgarte"
                                                                : NULL;
  if (blends && option != NULL) {
    return s2_error(S2_INVALID, "%s: requires alpha = beta = 1 and no geometric stiffness", option);
  }
  const char *other = def->flow == S2_FLOW_RATTLE ? not_with_rattle(def) : NULL;
  if (other != NULL) {
    return s2_error(S2_INVALID, "flow rattle: cannot be combined with %s: leave one of them out",
                    other);
  }
  // With the convex law, sliding contacts lift. Other schemes would treat them as separating.
  if (def->contact == S2_CONVEX &&
      (s2_world_way(def) != S2_SPECULATIVE || def->restitution_model == S2_REFLECTIONS)) {
    return s2_error(S2_INVALID, "contact convex: requires stepping speculative (or auto) and "
                                "restitution_model newton");
  }
  return s2_ok();
}

// Returns the name of an option that excludes event stepping, or NULL. Event stepping has its own
// integrator, constraint rows and projections.
static const char *not_with_event(const S2WorldDef *def) {
  return def->contact == S2_CONVEX                      ? "contact convex"
         : def->restitution_model == S2_REFLECTIONS     ? "restitution_model reflections"
         : def->alpha < 1 || def->beta < 1              ? "alpha or beta below 1"
         : def->geometric_stiffness != S2_GEOMETRIC_OFF ? "geometric_stiffness"
                                                        : NULL;
}

static bool event_stabilises(const S2WorldDef *def) {
  return def->stabilization == S2_PROJECTION || def->stabilization == S2_NO_STABILIZATION;
}

static S2Status world_check_event(const S2WorldDef *def) {
  const char *option = not_with_event(def);
  if (option != NULL) {
    return s2_error(S2_INVALID, "%s: cannot be combined with stepping event; use speculative",
                    option);
  }
  if (!event_stabilises(def)) {
    return s2_error(S2_INVALID, "stabilization: projection or none expected with stepping event");
  }
  return s2_ok();
}

S2Stepping s2_world_way(const S2WorldDef *def) {
  if (def->stepping != S2_AUTO) {
    return def->stepping;
  }
  return not_with_event(def) == NULL && event_stabilises(def) ? S2_EVENT : S2_SPECULATIVE;
}

bool s2_world_rattles(const S2WorldDef *def) {
  return def->flow == S2_FLOW_RATTLE ||
         (def->flow == S2_FLOW_AUTO && s2_world_way(def) == S2_EVENT &&
          not_with_rattle(def) == NULL);
}

static S2Status world_check_def(const S2WorldDef *def) {
  S2_TRY(s2_fields_check(s2_world_fields, def));
  if (def->stepping == S2_EVENT) {
    S2_TRY(world_check_event(def));
  }
  return world_check_together(def);
}

// Copies the settings without their padding, because images contain it, so it must be zero.
static void world_set_def(S2World *world, const S2WorldDef *def) {
  memset(&world->kept.def, 0, sizeof world->kept.def);
#define S2_SETTING(member, type, default, domain, names, unit, derivative, meaning)                \
  world->kept.def.member = def->member;
#define S2_PROGRAM_SETTING(member, type, default, domain, names, unit, derivative, meaning)        \
  world->kept.def.member = def->member;
#include "dynamics/fields.def"
}

S2Status s2_world_create(const S2WorldDef *def, S2World **out) {
  *out = NULL;
  S2_TRY(world_check_def(def));
  // A zeroed world is empty, except that free lists must end with S2_NONE.
  S2World *world = s2_memory_take_zeroed(sizeof *world);
  world_set_def(world, def);
  world->kept.free_body = world->kept.free_joint = world->kept.free_piece = S2_NONE;
  for (int i = 0; i < S2_VERTEX_CLASSES; i++) {
    world->kept.free_vertices[i] = S2_NONE;
  }
  world->next_serial = 1;
  world->actuated = true;
  world->lanes = LANES_MOST;
  world->broadphase = s2_broadphase_new();
  s2_arena_init(&world->arena);
  *out = world;
  return s2_ok();
}

void s2_world_destroy(S2World *world) {
  if (world == NULL) {
    return;
  }
  // Free arrays, then objects with a destructor.
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
  s2_array_free(world->actuators);
  s2_array_free(world->pushed);
  s2_array_free(world->slopes);
  s2_array_free(world->commands);
  s2_array_free(world->observations);
  s2_array_free(world->acting);
  s2_array_free(world->log);
  s2_array_free(world->merged);
  s2_line_free(world->excluded);
  s2_array_free(world->rest.islands);
  s2_array_free(world->rest.body);
  s2_array_free(world->rest.touch);
  s2_array_free(world->rest.given);
  s2_array_free(world->rest.q);
  s2_array_free(world->rest.v);
  s2_array_free(world->rest.f);
  s2_array_free(world->rest.growth);
  s2_array_free(world->rest.awake_touches);
  s2_array_free(world->rest.awake_acted);
  s2_array_free(world->rest.awake_couples);
  if (world->audit != NULL) {
    world->free_audit(world);
  }
  if (world->threads != NULL) {
    world->free_threads(world->threads);
  }
  s2_array_free(world->events);
  s2_array_free(world->memos);
  s2_array_free(world->drives);
  s2_array_free(world->contacts);
  s2_array_free(world->annotations);
  s2_broadphase_free(world->broadphase);
  s2_arena_free(&world->arena);
  s2_fixed_release(world->fixed);
  s2_memory_free(world->marked);
  s2_memory_free(world->before);
  s2_program_free(world->program);
  s2_memory_free(world->dump_directory);
  s2_memory_free(world);
}

const S2WorldDef *s2_world_settings(const S2World *world) {
  return &world->kept.def;
}

S2Status s2_world_configure(S2World *world, const S2WorldDef *def) {
  S2_TRY(s2_world_idle(world));
  S2_TRY(world_check_def(def));
  world_set_def(world, def);
  s2_world_changed(world);
  return s2_ok();
}

double s2_world_time(const S2World *world) {
  return world->kept.time;
}

uint64_t s2_world_step_count(const S2World *world) {
  return world->kept.steps;
}

uint64_t s2_world_changes(const S2World *world) {
  return world->changes;
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
  // Restore the callbacks, because the guarded run may have replaced them.
  S2Callbacks callbacks = world->callbacks;
  S2Status status = s2_memory_guarded(run, user);
  // The run ended with a long jump, so discard its temporary data. The arrays are unchanged.
  if (status.code == S2_MEMORY) {
    world->callbacks = callbacks;
    world->stepping = world->evaluating = false;
    world->refused = s2_ok();
    world->drives.count = 0;
    world->events.count = 0;
    world->rest.islands.count = 0; // may belong to the discarded step
    world->boxes_stale = true;
    s2_arena_free(&world->arena); // a small step may still succeed
  }
  return status;
}

void s2_world_set_callbacks(S2World *world, const S2Callbacks *callbacks) {
  static const S2Callbacks none = {0};
  world->callbacks = callbacks == NULL ? none : *callbacks;
  s2_world_changed(world);
}

const S2WorldStats *s2_world_stats(const S2World *world) {
  return &world->stats;
}

void s2_audit_stats_add(S2AuditStats *total, const S2AuditStats *stats) {
  total->passages += stats->passages;
  total->overlaps += stats->overlaps;
  total->jumps += stats->jumps;
  total->slips += stats->slips;
  total->momenta += stats->momenta;
  total->energies += stats->energies;
  total->events += stats->events;
  total->drifts += stats->drifts;
  total->energy += stats->energy;
}

uint64_t s2_audit_findings(const S2AuditStats *stats) {
  return stats->passages + stats->overlaps + stats->jumps + stats->slips + stats->momenta +
         stats->energies + stats->events + stats->drifts;
}

void s2_stats_add(S2WorldStats *total, const S2WorldStats *stats) {
  // Add the counts.
  total->steps += stats->steps;
  total->solves += stats->solves;
  total->second_solves += stats->second_solves;
  total->projections += stats->projections;
  total->relinearisations += stats->relinearisations;
  total->bisections += stats->bisections;
  total->splits += stats->splits;
  total->iterations += stats->iterations;
  total->unsolved += stats->unsolved;
  total->unsolved_solves += stats->unsolved_solves;
  total->cut += stats->cut;
  total->rows_stayed += stats->rows_stayed;
  total->halved += stats->halved;
  total->kept += stats->kept;
  total->shared += stats->shared;
  total->stiffened += stats->stiffened;
  total->contradictions += stats->contradictions;
  total->unsolved_impacts += stats->unsolved_impacts;
  total->mode_changes += stats->mode_changes;
  s2_audit_stats_add(&total->audit, &stats->audit);
  for (int i = 0; i < S2_SOLVER_COUNT; i++) {
    total->used[i] += stats->used[i];
  }
  // Take the maximum of the residuals.
  total->worst_scaled = fmax(total->worst_scaled, stats->worst_scaled);
  total->worst_penetration = fmax(total->worst_penetration, stats->worst_penetration);
  total->worst_joint_error = fmax(total->worst_joint_error, stats->worst_joint_error);
  // Add times and sizes. Take the maximum of the largest island and the memory.
  total->seconds_broad += stats->seconds_broad;
  total->seconds_narrow += stats->seconds_narrow;
  total->seconds_solve += stats->seconds_solve;
  total->seconds_project += stats->seconds_project;
  total->seconds_total += stats->seconds_total;
  total->bodies += stats->bodies;
  total->joints += stats->joints;
  total->contacts += stats->contacts;
  total->islands += stats->islands;
  total->last_iterations += stats->last_iterations;
  if (stats->largest_island > total->largest_island) {
    total->largest_island = stats->largest_island;
  }
  if (stats->last_status != S2_SOLVED) {
    total->last_status = stats->last_status;
  }
  if (stats->arena_bytes > total->arena_bytes) {
    total->arena_bytes = stats->arena_bytes;
  }
}

S2WorldResiduals s2_world_residuals(const S2World *world) {
  return world->residuals;
}

bool s2_body_alive(const S2World *world, S2BodyId body) {
  return body.index != 0 && body.index <= (uint32_t)world->bodies.count &&
         world->bodies.at[body.index - 1].serial == body.serial && body.serial != 0;
}

S2Status s2_body_slot(const S2World *world, S2BodyId body, int32_t *slot) {
  *slot = (int32_t)body.index - 1;
  if (!s2_body_alive(world, body)) {
    return s2_error(S2_STALE, "the body is destroyed");
  }
  return s2_ok();
}
