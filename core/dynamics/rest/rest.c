#include "dynamics/rest/rest.h"
#include "dynamics/step/commit.h"
#include "dynamics/step/laws.h"
#include "dynamics/step/solve.h"
#include "dynamics/step/touch.h"

#include <string.h>

// Returns true if solves of islands may be skipped. This requires that islands depend only on the
// state, the forces and the contents of the world, and not on callbacks.
static bool world_allows(const S2World *world) {
  const S2WorldDef *def = &world->kept.def;
  return world->notes == NULL && world->dump_directory == NULL &&
         world->callbacks.pre_solve == NULL && def->solver == S2_SOLVER_AUTO &&
         def->stabilization == S2_PROJECTION;
}

static bool rest_allowed(const S2Step *step) {
  return step->substeps == 1 && !step->in_pieces && world_allows(step->world);
}

// Compares two objects byte by byte. As in images of worlds, 0 and -0 differ, and padding counts.
static bool same_bits(const void *a, const void *b, size_t bytes) {
  return memcmp(a, b, bytes) == 0;
}

// ---- A step begins ----------------------------------------------------------------------------

static bool body_is_static(const S2World *world, int32_t slot) {
  return world->bodies.at[slot].type == S2_STATIC;
}

void s2_rest_begin(S2Step *step) {
  const S2World *world = step->world;
  const S2Rest *rest = &world->rest;
  step->still = NULL;
  step->frozen = NULL;
  // Examine everything again if bodies were created or moved, or if a setting changed.
  if (rest->islands.count == 0 || rest->changes != world->changes || rest->h != step->dt ||
      world->kept.fresh || !rest_allowed(step)) {
    return;
  }
  step->still = S2_TAKE_ZEROED(step->arena, bool, world->bodies.count);
  for (int i = 0; i < world->order.count; i++) {
    int32_t slot = world->order.at[i];
    // A force law may return a different force at the end of the step.
    bool same = slot < rest->body.count && rest->body.at[slot];
    same = same && (step->laws == 0 || !s2_step_lawful(step, slot));
    if (same) {
      const double *given = &rest->given.at[S2_REST_GIVEN * slot];
      const double *v = step->v0 + 3 * slot;
      same = same_bits(given, step->force + 3 * slot, 3 * sizeof(double)) &&
             same_bits(given + 3, step->mass + 3 * slot, 3 * sizeof(double)) &&
             same_bits(given + 6, step->q0 + 3 * slot, 3 * sizeof(double)) && v[0] == 0 &&
             v[1] == 0 && v[2] == 0;
    }
    step->still[slot] = same || body_is_static(world, slot);
  }
  s2_rest_freeze(step);
}

// ---- Islands are known ------------------------------------------------------------------------

static bool island_stays(const S2Step *step, const S2Island *island, const S2RestIsland *known) {
  bool same = known->first == island->node[0] && known->nodes == island->nodes &&
              known->touches == island->touches && island->joints == 0;
  for (int i = 0; i < island->nodes && same; i++) {
    same = step->still[island->node[i]];
  }
  for (int i = 0; i < island->touches && same; i++) {
    same = s2_touch_kept(step, island->touch[i]);
  }
  return same;
}

// Both lists are in the order of their first bodies.
static void choose_islands(S2Step *step) {
  const S2Rest *rest = &step->world->rest;
  int known = 0;
  for (int i = 0; i < step->island_count; i++) {
    S2Island *island = &step->islands[i];
    while (known < rest->islands.count && rest->islands.at[known].first < island->node[0]) {
      known += 1;
    }
    if (known < rest->islands.count && island_stays(step, island, &rest->islands.at[known])) {
      island->kept = true;
      step->found_at_rest[i] = rest->islands.at[known];
    }
  }
}

// Counts the solves of frozen islands.
static void count_frozen(S2Step *step) {
  const S2Rest *rest = &step->world->rest;
  S2WorldStats *stats = &step->world->stats;
  for (int i = 0; i < rest->islands.count; i++) {
    stats->solves += rest->islands.at[i].solves;
    stats->used[S2_SOLVER_PDIPM] += rest->islands.at[i].solves;
    s2_keep_worst(&step->residuals.solve, &rest->islands.at[i].residual);
  }
}

bool s2_rest_islands(S2Step *step) {
  const S2World *world = step->world;
  step->found_at_rest = S2_TAKE_ZEROED(step->arena, S2RestIsland, step->island_count);
  if (step->frozen != NULL) {
    count_frozen(step);
  } else if (step->still != NULL) {
    choose_islands(step);
    // Bodies of the other islands may move.
    for (int i = 0; i < world->order.count; i++) {
      int32_t slot = world->order.at[i];
      step->still[slot] = body_is_static(world, slot);
    }
    for (int i = 0; i < step->island_count; i++) {
      for (int k = 0; k < step->islands[i].nodes && step->islands[i].kept; k++) {
        step->still[step->islands[i].node[k]] = true;
      }
    }
  }
  // Search the touches of these bodies again, because the next step needs to know which touches
  // join bodies.
  int overlapping = 0;
  for (int i = 0; i < step->touch_count; i++) {
    S2Touch *touch = &step->touches[i];
    bool stays = step->still != NULL && s2_touch_kept(step, i);
    if (stays && !(step->still[touch->body_a] && step->still[touch->body_b])) {
      stays = false;
      if (!s2_touch_search(step, touch, &overlapping)) {
        return false;
      }
    }
    if (!stays) {
      step->kept[i] = s2_touch_solid(touch) || touch->hidden ? S2_TOUCH_JOINS : 0;
    }
  }
  return true;
}

bool s2_rest_keeps(S2Step *step, const S2Island *island) {
  if (!island->kept) {
    return false;
  }
  for (int i = 0; i < island->nodes; i++) {
    int32_t at = 3 * island->node[i];
    for (int c = at; c < at + 3; c++) {
      step->v1[c] = step->v2[c] = step->carry[c] = 0;
      step->q1[c] = step->q0[c];
    }
  }
  // Count the skipped solves, with their last residual.
  const S2RestIsland *known = &step->found_at_rest[island - step->islands];
  S2WorldStats *stats = &step->world->stats;
  stats->solves += known->solves;
  stats->used[S2_SOLVER_PDIPM] += known->solves;
  s2_keep_worst(&step->residuals.solve, &known->residual);
  return true;
}

// ---- A step is over ---------------------------------------------------------------------------

// Returns true if the step has left the bodies of an island in place and at rest without a solve.
static bool island_rests(const S2Step *step, const S2Island *island, const S2RestIsland *found) {
  const S2World *world = step->world;
  bool rests = found->solves > 0 && !found->solved && island->joints == 0;
  for (int i = 0; i < island->nodes && rests; i++) {
    int32_t slot = island->node[i], at = 3 * slot;
    rests = same_bits(step->q1 + at, world->q.at + at, 3 * sizeof(double)) && !step->strayed[slot];
    for (int c = at; c < at + 3 && rests; c++) {
      rests = step->v2[c] == 0 && step->v1[c] == 0 && world->v.at[c] == 0 &&
              signbit(step->v2[c]) == signbit(world->v.at[c]) && step->corrected[c] == 0;
    }
  }
  return rests;
}

// Marks the touches whose bytes have not changed since the last step.
static bool *same_touches(const S2Step *step) {
  const S2World *world = step->world;
  bool *same = S2_TAKE_ZEROED(step->arena, bool, step->touch_count);
  int o = 0;
  for (int i = 0; i < step->touch_count; i++) {
    const S2Touch *touch = &step->touches[i];
    while (o < world->touches.count && s2_touch_before(&world->touches.at[o], touch)) {
      o += 1;
    }
    same[i] = s2_touch_kept(step, i) ||
              (o < world->touches.count && same_bits(&world->touches.at[o], touch, sizeof *touch));
  }
  return same;
}

// Lists the islands that rest, and marks their bodies.
static void list_islands(const S2Step *step, const bool *same) {
  S2Rest *rest = &step->world->rest;
  for (int i = 0; i < step->island_count; i++) {
    const S2Island *island = &step->islands[i];
    bool rests = island->kept || island_rests(step, island, &step->found_at_rest[i]);
    for (int k = 0; k < island->touches && rests; k++) {
      rests = same[island->touch[k]];
    }
    if (!rests) {
      continue;
    }
    // Store the island, and the forces and poses for which it rests.
    S2RestIsland *known = s2_array_append(rest->islands);
    *known = step->found_at_rest[i];
    known->first = island->node[0];
    known->nodes = island->nodes;
    known->touches = island->touches;
    known->points = 0;
    for (int k = 0; k < island->touches; k++) {
      known->points += step->touches[island->touch[k]].count;
    }
    for (int k = 0; k < island->nodes; k++) {
      int32_t slot = island->node[k];
      rest->body.at[slot] = true;
      memcpy(&rest->given.at[S2_REST_GIVEN * slot], step->force + 3 * slot, 3 * sizeof(double));
      memcpy(&rest->given.at[S2_REST_GIVEN * slot + 3], step->mass + 3 * slot, 3 * sizeof(double));
      memcpy(&rest->given.at[S2_REST_GIVEN * slot + 6], step->q1 + 3 * slot, 3 * sizeof(double));
    }
  }
}

// Returns true if the step has kept all islands and if all other bodies and touches stay unchanged.
// Bodies with joints are never kept, so a world with joints is always stepped.
static bool whole_rests(const S2Step *step) {
  const S2World *world = step->world;
  bool whole = world->audit == NULL && step->unsolved == 0 && world->joint_order.count == 0 &&
               (step->frozen == NULL || step->touch_count == 0);
  for (int i = 0; i < step->island_count && whole; i++) {
    whole = step->islands[i].kept;
  }
  for (int i = 0; i < world->order.count && whole; i++) {
    int32_t slot = world->order.at[i];
    const S2Body *body = &world->bodies.at[slot];
    whole = !body->enabled || body->type == S2_STATIC || world->rest.body.at[slot];
  }
  for (int i = 0; i < step->touch_count && whole; i++) {
    whole = s2_touch_kept(step, i);
  }
  return whole;
}

static void keep_numbers(double *to, const double *from, int count) {
  if (count > 0) {
    memcpy(to, from, sizeof(double) * (size_t)count);
  }
}

// Stores the forces of a step that leaves the whole world unchanged. The commit resets them.
static void keep_whole(const S2Step *step) {
  S2World *world = step->world;
  S2Rest *rest = &world->rest;
  int numbers = world->f.count;
  s2_array_reserve(rest->q, numbers);
  s2_array_reserve(rest->v, numbers);
  s2_array_reserve(rest->f, numbers);
  rest->q.count = rest->v.count = rest->f.count = numbers;
  keep_numbers(rest->f.at, world->f.at, numbers);
  rest->solves = 0;
  for (int i = 0; i < rest->islands.count; i++) {
    rest->solves += rest->islands.at[i].solves;
  }
  rest->forced = false;
  for (int i = 0; i < numbers && !rest->forced; i++) {
    rest->forced = rest->f.at[i] != 0 || signbit(rest->f.at[i]);
  }
}

// Returns true if the step may record islands at rest.
static bool may_record(const S2Step *step) {
  return step->found_at_rest != NULL && !step->cut && rest_allowed(step);
}

// Returns true if any awake island rests or is kept.
static bool any_rests(const S2Step *step) {
  bool any = false;
  for (int i = 0; i < step->island_count && !any; i++) {
    const S2Island *island = &step->islands[i];
    any = island->kept || island_rests(step, island, &step->found_at_rest[i]);
  }
  return any;
}

// The records of a step that has left out all islands at rest stay. If another island comes to
// rest, the next step is stepped without frozen islands, so that it makes new records.
static void commit_frozen(const S2Step *step) {
  S2Rest *rest = &step->world->rest;
  rest->listed = may_record(step) && !any_rests(step);
  if (rest->listed && whole_rests(step)) {
    keep_whole(step);
    rest->whole = true;
  }
}

void s2_rest_commit(const S2Step *step) {
  S2World *world = step->world;
  S2Rest *rest = &world->rest;
  rest->whole = false;
  s2_rest_reserve(step);
  if (step->frozen != NULL) { // the commit still needs the records of the frozen islands
    commit_frozen(step);
    return;
  }
  rest->islands.count = 0;
  rest->listed = false;
  if (!may_record(step) || !any_rests(step)) {
    return;
  }
  rest->growth.count = 0;
  // Allocate all memory before the first write, because allocations may fail.
  int slots = world->bodies.count;
  s2_array_reserve(rest->body, slots);
  s2_array_reserve(rest->given, S2_REST_GIVEN * slots);
  s2_array_reserve(rest->touch, step->touch_count);
  s2_array_reserve(rest->islands, step->island_count);
  rest->body.count = slots;
  memset(rest->body.at, 0, sizeof(bool) * (size_t)slots);
  const bool *same = same_touches(step);
  list_islands(step, same);
  for (int i = 0; i < step->touch_count; i++) {
    const S2Touch *touch = &step->touches[i];
    bool a = rest->body.at[touch->body_a] || body_is_static(world, touch->body_a);
    bool b = rest->body.at[touch->body_b] || body_is_static(world, touch->body_b);
    rest->touch.at[i] =
        (unsigned char)((step->kept[i] & S2_TOUCH_JOINS) | (same[i] && a && b ? S2_TOUCH_KEPT : 0));
  }
  rest->changes = world->changes;
  rest->h = step->dt;
  if (whole_rests(step)) {
    keep_whole(step);
    rest->whole = true;
  }
}

void s2_rest_end(const S2Step *step) {
  S2World *world = step->world;
  S2Rest *rest = &world->rest;
  if (step->frozen == NULL && rest->islands.count > 0) {
    s2_rest_list(world);
  }
  if (!may_record(step)) {
    rest->islands.count = 0;
  }
  rest->boxed = true;
  rest->whole = rest->whole && world->events.count == 0;
  if (rest->whole) {
    keep_numbers(rest->q.at, world->q.at, rest->q.count);
    keep_numbers(rest->v.at, world->v.at, rest->v.count);
  }
}

// ---- A step of a world at rest ----------------------------------------------------------------

static bool same_numbers(const double *a, const double *b, int count) {
  return count == 0 || same_bits(a, b, sizeof(double) * (size_t)count);
}

// Returns true if nothing has changed since the last step, which left the whole world unchanged.
static bool whole_repeats(const S2World *world) {
  const S2Rest *rest = &world->rest;
  const S2WorldDef *def = &world->kept.def;
  int numbers = rest->q.count;
  if (!rest->whole || !rest->boxed || rest->islands.count == 0 || world->kept.fresh) {
    return false;
  }
  // The definition.
  if (rest->changes != world->changes || rest->h != def->dt || def->substeps != 1 || def->audit ||
      world->audit != NULL || !world_allows(world)) {
    return false;
  }
  // The state and the forces.
  return numbers == world->q.count && same_numbers(rest->q.at, world->q.at, numbers) &&
         same_numbers(rest->v.at, world->v.at, numbers) &&
         same_numbers(rest->f.at, world->f.at, numbers);
}

bool s2_rest_step(S2World *world) {
  const S2Rest *rest = &world->rest;
  if (!whole_repeats(world)) {
    return false;
  }
  s2_couples_grow(world);
  for (int i = 0; i < world->order.count && rest->forced; i++) {
    memset(world->f.at + 3 * world->order.at[i], 0, 3 * sizeof(double));
  }
  // Count the step and its skipped solves.
  S2WorldStats *stats = &world->stats;
  stats->steps += 1;
  stats->solves += rest->solves;
  stats->used[S2_SOLVER_PDIPM] += rest->solves;
  stats->kept += (uint64_t)rest->islands.count;
  stats->last_iterations = 0;
  stats->last_status = S2_SOLVED;
  // Reset the data of a single step, as s2_step_begin does.
  world->dumped = 0;
  world->missed = world->cut = false;
  world->kept.time += world->kept.def.dt;
  world->kept.steps += 1;
  world->impulses_listed = false;
  return true;
}
