// Overlaps that exist before a step: finds them, warns about them, and moves the bodies apart.
#include "dynamics/project/project.h"
#include "dynamics/project/warn.h"
#include "dynamics/step/islands.h"
#include "dynamics/step/touch.h"

#include <stdio.h>
#include <stdlib.h>

// Overlap that causes a warning, as a fraction of a body's size. Boxes stacked at computed
// positions have rounding errors far below this value.
#define OVERLAP_WORTH_A_WARNING 1e-6

// Maximum number of separation rounds, each of which is a full projection. Bodies that were created
// at one point need a few rounds.
enum { RESOLVE_ROUNDS = 50, NAMED_IN_WARNING = 3 };

// Makes a step without motion, with the touches and islands at the present positions.
static S2Step overlap_survey(S2World *world) {
  S2Arena *arena = &world->arena;
  int slots = world->bodies.count;
  s2_arena_reset(arena);
  S2Step step = {
      .world = world,
      .arena = arena,
      .t = world->kept.time,
      .budget = INFINITY,
      .q0 = world->q.at,
      .v0 = S2_TAKE_ZEROED(arena, double, 3 * slots),
      .free_v = S2_TAKE_ZEROED(arena, double, 3 * slots),
      .slack = S2_TAKE_ZEROED(arena, double, slots),
      .q1 = S2_TAKE(arena, double, 3 * slots),
      .balanced = S2_TAKE_ZEROED(arena, double, 3 * slots),
      .corrected = S2_TAKE_ZEROED(arena, double, 3 * slots),
      .turn = S2_TAKE(arena, S2Rot, slots),
      .node_of = S2_TAKE(arena, int32_t, slots),
      .stiff = S2_TAKE_ZEROED(arena, bool, world->joints.count),
  };
  for (int i = 0; i < 3 * slots; i++) {
    step.q1[i] = world->q.at[i];
  }
  return step;
}

// Calls the filter for new pairs but does not store its results. Pre-solve callbacks are not
// called. If a filter aborts or there are too many pairs, finds nothing and stores the error in
// step->world->refused.
static bool overlap_search(S2Step *step) {
  S2World *world = step->world;
  S2Callbacks callbacks = world->callbacks;
  world->callbacks.pre_solve = NULL;
  world->stepping = true; // here, too, the filter must not change the world
  world->refused = s2_ok();
  bool found = s2_step_touches(step);
  world->stepping = false;
  world->callbacks = callbacks;
  return found;
}

static int overlap_deeper(const void *a, const void *b) {
  double da = ((const S2Overlap *)a)->depth, db = ((const S2Overlap *)b)->depth;
  return (da < db) - (da > db);
}

static double pair_size(const S2World *world, const S2Touch *touch) {
  double a = world->bodies.at[touch->body_a].reach, b = world->bodies.at[touch->body_b].reach;
  return fmin(a, b);
}

// Lists the overlaps among the touches of a step, deepest first. Returns their number.
static int list_overlaps(const S2Step *step, S2Overlap **list) {
  S2World *world = step->world;
  S2Overlap *all = S2_TAKE(step->arena, S2Overlap, step->touch_count);
  int count = 0;
  for (int i = 0; i < step->touch_count; i++) {
    const S2Touch *touch = &step->touches[i];
    double depth = 0;
    bool rigid = s2_touch_solid(touch) && !s2_touch_soft(touch);
    for (int k = 0; k < touch->count && rigid; k++) {
      depth = fmax(depth, -touch->points[k].at.gap);
    }
    if (depth > OVERLAP_WORTH_A_WARNING * pair_size(world, touch)) {
      all[count++] =
          (S2Overlap){s2_body_id(world, touch->body_a), s2_body_id(world, touch->body_b), depth};
    }
  }
  qsort(all, (size_t)count, sizeof *all, overlap_deeper);
  *list = all;
  return count;
}

int s2_world_overlaps(S2World *world, S2Overlap *overlaps, int capacity) {
  if (world->stepping) {
    return 0;
  }
  S2Step step = overlap_survey(world);
  if (!overlap_search(&step)) {
    world->refused = s2_ok();
    return 0;
  }
  S2Overlap *all;
  int count = list_overlaps(&step, &all);
  for (int i = 0; i < count && i < capacity; i++) {
    overlaps[i] = all[i];
  }
  return count;
}

void s2_step_warn_of_overlaps(const S2Step *step) {
  S2World *world = step->world;
  if (!world->kept.fresh || step->passes > 1) {
    return;
  }
  S2Overlap *worst;
  int count = list_overlaps(step, &worst);
  if (count == 0) {
    return;
  }
  char text[S2_MESSAGE_SIZE] = "";
  size_t at = 0;
  for (int i = 0; i < count && i < NAMED_IN_WARNING && at < sizeof text; i++) {
    char a[S2_NAME_SIZE + 8], b[S2_NAME_SIZE + 8];
    s2_body_label(world, (int32_t)worst[i].a.index - 1, a);
    s2_body_label(world, (int32_t)worst[i].b.index - 1, b);
    int wrote = snprintf(text + at, sizeof text - at, "%s%s and %s by %.3g m", i > 0 ? ", " : "", a,
                         b, worst[i].depth);
    at += wrote < 0 ? 0 : (size_t)wrote;
  }
  s2_world_warn(world,
                "%d overlap%s at the start: %s%s (world:resolve_overlaps() moves them apart)",
                count, count == 1 ? "" : "s", text, count > NAMED_IN_WARNING ? ", ..." : "");
}

typedef struct Resolving {
  S2World *world;
  double remaining;
} Resolving;

static S2Status overlap_stopped(S2World *world) {
  S2Status refused = world->refused;
  world->refused = s2_ok();
  return refused.code != S2_OK ? refused : s2_error(S2_ABORTED, "stopped by a callback");
}

static S2Status overlap_resolve(void *user) {
  Resolving *resolving = user;
  S2World *world = resolving->world;
  for (int round = 0; round < RESOLVE_ROUNDS; round++) {
    // Find the touches of the resting bodies, then project all islands.
    S2Step step = overlap_survey(world);
    if (!overlap_search(&step)) {
      return overlap_stopped(world);
    }
    s2_step_islands(&step);
    resolving->remaining = s2_step_penetration(&step);
    double before = resolving->remaining;
    if (!s2_islands_project(&step)) {
      return overlap_stopped(world);
    }
    // Repeat until no body moves, because a body that has moved may overlap other bodies.
    bool moved = false;
    for (int i = 0; i < 3 * world->bodies.count; i++) {
      moved |= step.q1[i] != world->q.at[i];
      world->q.at[i] = step.q1[i];
    }
    if (!moved || before == 0) {
      break;
    }
    world->boxes_stale = true;
    world->contacts_stale = true;
    world->kept.fresh = true;
  }
  return s2_ok();
}

S2Status s2_world_resolve_overlaps(S2World *world, double *remaining) {
  *remaining = 0;
  S2_TRY(s2_world_idle(world));
  Resolving resolving = {world, 0};
  S2Status status = s2_world_within_memory(world, overlap_resolve, &resolving);
  *remaining = resolving.remaining;
  return status;
}
