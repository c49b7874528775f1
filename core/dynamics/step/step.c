// The order of the phases of a step, for each scheme.
//
//     forces         forces.c       gravity, applied forces, force laws; the free motion
//     touches        touch.c        broad phase, narrow phase, impulses carried over
//     islands        islands.c      bodies that act on each other
//     assemble       assemble.c     an island as a mixed complementarity problem
//     solve          solve.c        velocities and impulses, and their residual
//     impacts        impact/        contacts that arrive with speed, without duration
//     integrate      context.c      positions
//     project        project/       remaining overlaps and joint errors of the linearisation
//     commit         commit.c       the world changes, all at once; events
//
// Assembly is part of each solve. All phases run once for each substep. The parts specific to a
// scheme are in the file of that name in schemes/.
#include "dynamics/audit/audit.h"
#include "dynamics/control/apply.h"
#include "dynamics/impact/impact.h"
#include "dynamics/joints/rows.h"
#include "dynamics/program/program.h"
#include "dynamics/project/passage.h"
#include "dynamics/project/project.h"
#include "dynamics/project/warn.h"
#include "dynamics/rattle/rattle.h"
#include "dynamics/rest/rest.h"
#include "dynamics/schemes/schemes.h"
#include "dynamics/schemes/threads.h"
#include "dynamics/step/acted.h"
#include "dynamics/step/commit.h"
#include "dynamics/step/forces.h"
#include "dynamics/step/islands.h"
#include "dynamics/step/laws.h"
#include "dynamics/step/touch.h"
#include "dynamics/trace/notes.h"

#include <string.h>

// Projects positions before the step (S2_PRE). In this file, functions return false if aborted.
static bool step_pre_project(S2Step *step) {
  if (step->world->kept.def.stabilization != S2_PRE) {
    return true;
  }
  if (!s2_step_touches(step)) {
    return false;
  }
  s2_step_warn_of_overlaps(step);
  s2_step_islands(step);
  s2_step_project_start(step);
  return true;
}

// ---- Speculative ------------------------------------------------------------------------------

// Solves for v1 with the current touches. Predictive rows stop arriving contacts at the surface.
static bool step_motion(S2Step *step, S2Choice **choices) {
  s2_step_islands(step);
  if (!s2_rest_islands(step)) {
    return false;
  }
  s2_step_find_stiff(step);
  s2_found_begin(step);
  *choices = S2_TAKE_ZEROED(step->arena, S2Choice, 2 * step->touch_count);
  return s2_step_look_ahead(step, *choices);
}

typedef struct Impacts {
  S2Choice *choices;
  bool *touching;
} Impacts;

static bool impacts_work(S2Step *step, S2Island *island, void *user) {
  const Impacts *impacts = user;
  bool done = island->kept || s2_island_put_flowed(island, island->flowed_v2, step->v2);
  island->accounted = !done;
  return done || s2_island_impact(step, island, impacts->choices, impacts->touching);
}

// Solves for v2: the impacts of arriving contacts.
static bool step_impacts(S2Step *step, S2Choice *choices) {
  s2_note_plain(step, S2_ACT_V2_IS_V1, NULL);
  memcpy(step->v2, step->v1, sizeof(double) * 3 * (size_t)step->world->bodies.count);
  Impacts impacts = {choices, S2_TAKE_ZEROED(step->arena, bool, 2 * step->touch_count)};
  return s2_islands_run(step, impacts_work, &impacts, NULL);
}

// Calls s2_found_pressed for each island that may have an impact.
static S2Found **pressed_of_islands(S2Step *step) {
  S2Found **pressed = S2_TAKE_ZEROED(step->arena, S2Found *, step->island_count);
  for (int i = 0; i < step->island_count; i++) {
    if (!step->islands[i].kept) {
      pressed[i] = s2_found_pressed(step, &step->islands[i]);
    }
  }
  return pressed;
}

static void forget_impacts(S2Step *step, S2Found **pressed) {
  for (int i = 0; i < step->island_count; i++) {
    if (step->islands[i].accounted) { // other islands have no stored impulses
      s2_found_forget_impact(step, &step->islands[i], pressed[i]);
    }
  }
}

// Moves all bodies over the time step->h. If *turns is greater than 1 on return, the piece must be
// repeated with h divided by *turns.
static bool speculative_piece(S2Step *step, double *turns) {
  // Compute v1, which moves the positions and stops arriving contacts at the surface.
  S2Choice *choices = NULL;
  int noted = s2_notes_mark(step), searches = 0;
  do { // repeat until bodies stay within the search range
    const S2SeenTouch *seen = s2_step_see(step);
    int seen_count = step->touch_count;
    if (!s2_step_touches(step)) {
      return false;
    }
    s2_step_warn_of_overlaps(step);
    if (choices != NULL && s2_step_same_points(step, seen, seen_count)) {
      break; // the wider search has found the same points
    }
    *turns = choices == NULL ? s2_step_turning(step, step->free_v) : 1;
    if (*turns > 1) {
      return true;
    }
    s2_notes_rewind(step, noted);
    if (!step_motion(step, &choices)) {
      return false;
    }
    searches += 1;
  } while (s2_step_outran(step) && searches < S2_REACH_PASSES && !step->hurries);
  // Check if shapes that had no point in reach overlap at the end.
  bool found = !step->hurries;
  for (int pass = 0; found && pass < S2_RELINEARISE_PASSES && !step->hurries; pass++) {
    if (!s2_step_unforeseen(step, &found) || (found && !step_motion(step, &choices))) {
      return false;
    }
  }
  // A body that was hit may turn faster.
  *turns = ceil(s2_step_turning(step, step->v1) / 2);
  if (*turns > 1) {
    return true;
  }
  // Compute v2. Contacts that have arrived with speed rebound or stay closed.
  S2Found **pressed = pressed_of_islands(step);
  if (!step_impacts(step, choices)) {
    return false;
  }
  // Move the positions, and project the remaining errors of predictive rows.
  s2_log_islands(step);
  s2_note_integrate(step);
  s2_step_integrate(step);
  for (int i = 0; i < step->island_count; i++) {
    if (s2_island_put_flowed(&step->islands[i], step->islands[i].flowed_q1, step->q1)) {
      s2_note_island(step, &step->islands[i], S2_ACT_FLOWED, NULL);
    }
  }
  s2_step_stop_short(step);
  s2_step_settle(step);
  if (!s2_step_project(step) || !s2_step_stop_at_limits(step)) {
    return false;
  }
  forget_impacts(step, pressed);
  bool changed;
  return s2_laws_arrive(step, NULL, NULL, &changed);
}

// Takes the step in pieces, and shortens each piece until no body turns too far in it.
static bool speculative_pieces(S2Step *step, double turns) {
  S2Bisect all = s2_bisect_begin(step), *pieces = &all;
  step->in_pieces = true;
  s2_rest_thaw(step);
  step->still = NULL; // do not skip kept islands
  s2_audit_again(step, NULL);
  pieces->next = step->dt / turns;
  while (pieces->left > 0) {
    if (pieces->left < step->dt && !s2_laws_set_out(step, NULL, NULL)) {
      return false;
    }
    s2_bisect_set_out(step, pieces);
    bool missed = step->world->missed;
    for (turns = 2; turns > 1;) {
      s2_bisect_forget(step, pieces);
      step->unsolved = pieces->unsolved;
      step->world->missed = missed;
      memset(step->slack, 0, sizeof(double) * (size_t)step->world->bodies.count);
      if (!s2_step_free_motion(step, pieces->h) || !speculative_piece(step, &turns)) {
        return false;
      }
      pieces->h = turns > 1 ? fmax(pieces->h / turns, step->dt / S2_TURN_PIECES) : pieces->h;
    }
    s2_log_keep(step);
    s2_bisect_go_on(step, pieces);
  }
  step->cut_short = false;
  s2_bisect_end(step, pieces);
  return true;
}

// Takes the whole step at once, or in pieces if a body turns too far in it.
static bool step_speculative(S2Step *step) {
  if (!s2_step_forces(step) || !s2_step_free_motion(step, step->dt) || !step_pre_project(step)) {
    return false;
  }
  s2_rest_begin(step);
  double turns = 1;
  return speculative_piece(step, &turns) && (turns <= 1 || speculative_pieces(step, turns));
}

// ---- Bisect -----------------------------------------------------------------------------------

// Makes one attempt over step->h, from q0, v0 to q1, v2.
static bool step_attempt(S2Step *step, S2Bisect *bisect) {
  memset(step->slack, 0, sizeof(double) * (size_t)step->world->bodies.count);
  int searches = 0, noted = s2_notes_mark(step);
  do {
    if (!s2_step_touches(step)) {
      return false;
    }
    s2_step_warn_of_overlaps(step);
    bisect->before = s2_step_penetration(step);
    s2_step_islands(step);
    s2_step_find_stiff(step);
    s2_notes_rewind(step, noted);
    if (!s2_bisect_solve(step)) {
      return false;
    }
    searches += 1;
  } while (s2_step_outran(step) && searches < S2_REACH_PASSES);
  if (step->world->audit != NULL) { // discard records of an earlier attempt
    s2_audit_forget(step);
  }
  s2_log_islands(step);
  s2_note_integrate(step);
  s2_step_integrate(step);
  s2_step_settle(step);
  return true;
}

// Takes the step in substeps that are short enough to end without new overlaps.
static bool step_bisect(S2Step *step) {
  if (!s2_step_forces(step) || !s2_step_free_motion(step, step->dt) || !step_pre_project(step)) {
    return false;
  }
  // Force laws are evaluated again for each substep.
  S2Bisect bisect = s2_bisect_begin(step);
  while (bisect.left > 0 && !step->cut_short) {
    if (bisect.left < step->dt && !s2_laws_set_out(step, NULL, NULL)) {
      return false;
    }
    s2_bisect_set_out(step, &bisect);
    bool changed;
    do {
      s2_bisect_forget(step, &bisect);
      if (!s2_step_free_motion(step, bisect.h) || !step_attempt(step, &bisect)) {
        return false;
      }
    } while (s2_bisect_halves(step, &bisect));
    if (!s2_step_project(step) || !s2_step_stop_at_limits(step) ||
        !s2_laws_arrive(step, NULL, NULL, &changed)) {
      return false;
    }
    s2_log_keep(step);
    s2_bisect_go_on(step, &bisect);
  }
  s2_bisect_end(step, &bisect);
  return true;
}

// ---- Event, and auto --------------------------------------------------------------------------

// Steps each island separately in pieces. In each piece, touching contacts that approach have an
// impact. The bodies then move until the next impact (assemble, solve, integrate), and positions
// are projected. Some islands take one speculative step instead (s2_island_looks_ahead): islands
// with only joints and, with S2_AUTO, large islands.
static bool step_event(S2Step *step) {
  if (!s2_step_forces(step) || !s2_step_free_motion(step, step->dt)) {
    return false;
  }
  S2EventSearch search = s2_event_begin(step);
  s2_rest_begin(step);
  do { // repeat until bodies stay within the search range
    S2Touch *done = step->touches;
    s2_event_back_to_start(step, &search);
    s2_laws_back_to_begin(step);
    if (!s2_step_touches(step)) {
      return false;
    }
    s2_step_warn_of_overlaps(step);
    if (!s2_event_found_more(step, &search)) {
      step->touches = done; // the wider search has found no more
      break;
    }
    s2_notes_rewind(step, search.noted);
    s2_step_islands(step);
    if (!s2_rest_islands(step)) {
      return false;
    }
    s2_step_find_stiff(step);
    s2_found_begin(step);
    if (!s2_event_run(step, &search)) {
      return false;
    }
  } while (s2_event_outran(step, &search) && step->passes < S2_REACH_PASSES && !step->hurries);
  step->world->stats.splits += (uint64_t)search.splits;
  s2_event_settle(step);
  bool changed;
  return s2_laws_arrive(step, NULL, NULL, &changed);
}

// ---- Substeps ---------------------------------------------------------------------------------

static S2Status step_substep(S2World *world, int substep, int substeps, bool *cut_short) {
  S2Step step = s2_step_begin(world, substep, substeps);
  s2_acted_begin(&step);
  world->stepping = true;
  s2_note_substep(&step);
  s2_constraints_begin(world);
  s2_motions_begin(world);
  S2Stepping stepping = s2_world_way(&world->kept.def);
  bool done = stepping == S2_BISECT  ? step_bisect(&step)
              : stepping == S2_EVENT ? step_event(&step)
                                     : step_speculative(&step);
  world->stepping = false;
  *cut_short = step.cut_short;
  s2_rattle_warn_of_unsolved(&step);
  S2Status status =
      done ? s2_step_commit(&step) : s2_error(S2_ABORTED, "the step was stopped by a callback");
  s2_motions_end(world);
  S2Status refused = s2_constraints_end(world);
  return refused.code != S2_OK ? refused : status;
}

// Takes and commits each substep. If a substep fails, restores the state of the world before the
// first substep.
static S2Status step_substeps(S2World *world, int substeps) {
  size_t size = s2_world_image_size(world);
  if (size > world->before_capacity) {
    // Reserve a quarter more, so that a slowly growing world does not reallocate in every step.
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
  for (int substep = 0; substep < substeps && status.code == S2_OK && !cut_short; substep++) {
    if (substep > 0 && world->parted != NULL) {
      world->parted(world->parted_user);
    }
    status = step_substep(world, substep, substeps, &cut_short);
  }
  if (status.code != S2_OK) {
    (void)s2_world_image_read(world, world->before, size);
    world->events.count = 0;
  } else if (!cut_short) {
    world->kept.time = end; // exact, unlike a sum of rounded substeps
  }
  return status;
}

// Rejects reflections combined with ground friction. Reflections change the momentum that ground
// friction opposes. The directions of its rows would not converge, and the force would leave the
// friction disc.
static S2Status check_ground(const S2World *world) {
  for (int i = 0; i < world->joint_order.count; i++) {
    const S2Joint *joint = &world->joints.at[world->joint_order.at[i]];
    if (joint->type == S2_GROUND_FRICTION && world->kept.def.restitution_model == S2_REFLECTIONS) {
      return s2_error(S2_INVALID,
                      "restitution_model reflections: cannot be combined with ground friction");
    }
  }
  return s2_ok();
}

typedef struct Work {
  S2World *world;
  int substeps;
} Work;

static S2Status step_all(void *user) {
  const Work *work = user;
  bool cut_short;
  s2_program_prepare(work->world);
  return work->substeps == 1 ? step_substep(work->world, 0, 1, &cut_short)
                             : step_substeps(work->world, work->substeps);
}

static S2Status step_within_memory(S2World *world, int substeps) {
  Work work = {world, substeps};
  S2Status by_program;
  if (s2_program_step(world, &by_program)) {
    return by_program;
  }
  if (s2_rest_step(world)) {
    return s2_ok();
  }
  uint64_t steps = world->kept.steps;
  double time = world->kept.time;
  S2Status status = s2_world_within_memory(world, step_all, &work);
  if (status.code != S2_MEMORY) {
    return status;
  }
  // The memory of the image is already allocated.
  if (substeps > 1 && (world->kept.steps != steps || world->kept.time != time)) {
    (void)s2_world_image_read(world, world->before, world->before_size);
  }
  return s2_error(S2_MEMORY,
                  "out of memory in step %llu of %d bodies; the step was undone (are there too "
                  "many contacts in one place?)",
                  (unsigned long long)world->kept.steps + 1, world->order.count);
}

S2Status s2_world_step(S2World *world) {
  S2_TRY(s2_world_idle(world));
  double start = s2_stats_clock(world);
  S2_TRY(s2_world_check_blend(world));
  S2_TRY(check_ground(world));
  int substeps = world->kept.def.substeps;
  world->events.count = 0;
  world->impulses_listed = true; // there are no impulses yet
  world->warning[0] = 0;
  s2_annotations_begin_step(world);
  S2Status status = s2_world_push(world);
  if (status.code == S2_OK) {
    bool audits = world->kept.def.audit || world->audit != NULL;
    status = audits ? s2_audit_begin(world) : status;
    status = status.code == S2_OK ? step_within_memory(world, substeps) : status;
    status = audits && status.code == S2_OK ? s2_audit_end(world) : status;
    if (status.code != S2_OK) {
      s2_world_unpush(world);
    }
  }
  s2_annotations_end_step(world);
  world->stats.seconds_total += s2_stats_clock(world) - start;
  return status;
}
