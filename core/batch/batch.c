#include "batch/episode.h"

#include "base/memory.h"
#include "dynamics/control/control.h"

#include <math.h>
#include <string.h>

const char *const s2_auto_reset_names[] = {"next_step", "same_step", "disabled", NULL};

// Takes all steps of a world that the calling program steps.
static void batch_step_world(void *user, int worker, int i) {
  S2Batch *batch = user;
  (void)worker;
  if (s2_episode_begin(batch, i, false)) {
    for (int k = 0; k < batch->steps && s2_episode_advance(batch, i); k++) {
    }
    s2_episode_end(batch, i, false);
  }
}

// For a world that threads have stepped, completes the work that they left to the calling program.
static void batch_finish_world(S2Batch *batch, int i) {
  if (batch->world[i].left == S2_LEFT_END) {
    s2_episode_end(batch, i, false);
  } else if (batch->world[i].left == S2_LEFT_RESET) {
    s2_episode_renew(batch, i, false);
  }
}

// Steps the worlds first .. last - 1 together. Worlds that the calling program steps are left out.
static void batch_step_chunk(S2Batch *batch, int worker, int first, int last) {
  int index[S2_BATCH_CHUNK], count = 0, begun = 0, all[S2_BATCH_CHUNK];
  int packed[S2_BATCH_CHUNK] = {0}, packs = 0;
  double before[S2_BATCH_CHUNK];
  S2World *worlds[S2_BATCH_CHUNK] = {NULL};
  S2Status status[S2_BATCH_CHUNK];
  for (int i = first; i < last; i++) {
    s2_episode_open(batch, i);
    if (batch->world[i].packed) {
      packed[packs++] = i;
      continue;
    }
    // If a reset is due, this step only resets the world.
    if ((batch->world[i].own & S2_OWN_STEP) != 0 || !s2_episode_begin(batch, i, true)) {
      continue;
    }
    all[begun++] = i;
    if (batch->world[i].failure.code == S2_OK) {
      index[count++] = i;
    }
  }
  for (int k = 0; k < batch->steps && count > 0; k++) {
    for (int n = 0; n < count; n++) {
      worlds[n] = batch->world[index[n]].world;
      before[n] = s2_world_time(worlds[n]);
    }
    (void)s2_worlds_step_many(worlds, count, status);
    // Worlds whose episodes continue move forward in the list.
    int left = 0;
    for (int n = 0; n < count; n++) {
      if (s2_episode_weigh(batch, index[n], before[n], status[n])) {
        index[left++] = index[n];
      }
    }
    count = left;
  }
  for (int n = 0; n < begun; n++) {
    s2_episode_end(batch, all[n], true);
  }
  s2_copies_step(batch, worker, packed, packs);
  for (int i = first; batch->stages != NULL && i < last; i++) {
    s2_copies_pack(batch, worker, i);
  }
}

static void batch_reset_world(void *user, int worker, int i) {
  S2Batch *batch = user;
  s2_copies_enter(batch, worker, i);
  if (batch->mask == NULL || batch->mask[i] != 0) {
    s2_episode_reset(batch, i);
  }
  s2_episode_observe(batch, i, s2_episode_row(batch, batch->result->observations, i));
  s2_copies_leave(batch, worker, i);
}

static void batch_observe_world(void *user, int worker, int i) {
  S2Batch *batch = user;
  s2_copies_enter(batch, worker, i);
  s2_episode_observe(batch, i, s2_episode_row(batch, batch->result->observations, i));
  s2_copies_leave(batch, worker, i);
}

// ---- All worlds -------------------------------------------------------------------------------

typedef struct BatchRun {
  S2Batch *batch;
  S2Work *work;
} BatchRun;

static void batch_run_chunk(void *user, int worker, int i) {
  S2Batch *batch = user;
  int last = (i + 1) * S2_BATCH_CHUNK;
  batch_step_chunk(batch, worker, i * S2_BATCH_CHUNK, last < batch->count ? last : batch->count);
}

static void batch_run_item(void *user, int worker, int i) {
  const BatchRun *run = user;
  s2_episode_open(run->batch, i);
  if (run->batch->world[i].own == 0) {
    run->work(run->batch, worker, i);
  }
}

// Runs the threads. Then the calling program does its own part of the work, world by world.
static void batch_run(S2Batch *batch, S2Work *work) {
  BatchRun run = {batch, work};
  bool stepped = work == batch_step_world;
  if (stepped) {
    s2_workers_run(batch->workers, (batch->count + S2_BATCH_CHUNK - 1) / S2_BATCH_CHUNK,
                   batch_run_chunk, batch);
  } else {
    s2_workers_run(batch->workers, batch->count, batch_run_item, &run);
  }
  batch->failures = 0;
  for (int i = 0; i < batch->count; i++) {
    unsigned own = batch->world[i].own;
    if ((own & S2_OWN_STEP) != 0 || (own != 0 && !stepped)) {
      work(batch, 0, i);
    } else if (stepped) {
      batch_finish_world(batch, i);
    }
    batch->failures += batch->world[i].failure.code != S2_OK;
  }
}

S2Status s2_batch_step(S2Batch *batch, const double *commands, int steps, S2BatchResult *result) {
  if (steps < 1) {
    return s2_error(S2_INVALID, "1 step or more expected, got %d", steps);
  }
  size_t numbers = (size_t)batch->count * (size_t)batch->controls;
  bool periods = batch->def.worth == S2_WORTH_PERIODS;
  for (size_t i = 0; commands != NULL && !periods && i < numbers; i++) {
    if (!isfinite(commands[i])) {
      return s2_error(S2_INVALID, "world %d, command %d: a finite number expected, got %g",
                      (int)(i / (size_t)batch->controls) + 1,
                      (int)(i % (size_t)batch->controls) + 1, commands[i]);
    }
  }
  batch->commanded = commands != NULL;
  if (commands != NULL && numbers > 0) {
    memcpy(batch->last, commands, sizeof *commands * numbers);
  }
  batch->steps = steps;
  batch->result = result;
  batch_run(batch, batch_step_world);
  batch->result = NULL;
  return s2_ok();
}

// Each world has a separate random stream, which does not depend on the mask.
static void batch_seed(S2Batch *batch, uint64_t seed, const double *mask) {
  S2Rng parent = s2_rng_seeded(seed);
  for (int i = 0; i < batch->count; i++) {
    S2Rng child = s2_rng_split(&parent);
    if (mask == NULL || mask[i] != 0) {
      batch->world[i].place.rng = child;
    }
  }
}

void s2_batch_reset(S2Batch *batch, const uint64_t *seed, const double *mask,
                    double *observations) { // NOLINT(*-non-const-parameter): the rows are written
  S2BatchResult result = {.observations = observations};
  if (seed != NULL) {
    batch_seed(batch, *seed, mask);
  }
  batch->mask = mask;
  batch->result = &result;
  batch_run(batch, batch_reset_world);
  batch->mask = NULL;
  batch->result = NULL;
}

// NOLINTNEXTLINE(*-non-const-parameter): the rows are written
void s2_batch_observe(S2Batch *batch, double *observations) {
  S2BatchResult result = {.observations = observations};
  batch->result = &result;
  batch_run(batch, batch_observe_world);
  batch->result = NULL;
}

// ---- Making -----------------------------------------------------------------------------------

static S2Status check_draw(const S2World *world, const S2Draw *draw) {
  if (draw->of.kind == S2_READ_CONTROL) {
    return s2_error(S2_INVALID, "controls cannot be drawn at random");
  }
  if (!isfinite(draw->a) || !isfinite(draw->b) || !isfinite(draw->add) ||
      (draw->kind == S2_DRAW_NORMAL ? draw->b < 0
                                    : draw->kind == S2_DRAW_UNIFORM && draw->b < draw->a)) {
    return s2_error(S2_INVALID,
                    draw->kind == S2_DRAW_NORMAL
                        ? "a mean and a deviation >= 0 expected, got %g and %g"
                        : "lo <= hi expected, got %g and %g",
                    draw->a, draw->b);
  }
  // Try the draw on a copy, because setting the number checks the field and its range.
  S2World *copy;
  S2_TRY(s2_world_clone(world, &copy));
  S2Draw middle = *draw;
  middle.again = false;
  middle.kind = draw->kind == S2_DRAW_UNIFORM ? S2_DRAW_UNIFORM : S2_DRAW_CONSTANT;
  S2Rng rng = s2_rng_seeded(0);
  S2Status status = s2_draw(&middle, 1, copy, &rng);
  s2_world_destroy(copy);
  return status;
}

S2Status s2_batch_create(const S2BatchDef *def, S2World *const *worlds, int count,
                         S2Workers *workers, S2Batch **out) {
  if (count < 1) {
    return s2_error(S2_INVALID, "1 world or more expected, got %d", count);
  }
  for (int i = 1; i < count && !def->unlike && !def->copies; i++) {
    S2Status status = s2_batch_same(worlds[0], worlds[i]);
    if (status.code != S2_OK) {
      return s2_error(status.code, "world %d differs from world 1: %s", i + 1, status.message);
    }
  }
  for (int d = 0; d < def->draws; d++) {
    S2Status status = check_draw(worlds[0], &def->draw[d]);
    if (status.code != S2_OK) {
      return s2_error(status.code, "draw %d: %s", d + 1, status.message);
    }
  }
  S2Batch *batch = s2_memory_take_zeroed(sizeof *batch);
  batch->def = *def;
  batch->workers = workers;
  batch->count = count;
  batch->controls = def->controls > 0 ? def->controls : s2_world_actuator_count(worlds[0]);
  batch->observed = def->observed > 0 ? def->observed : s2_world_observation_size(worlds[0]);
  S2Draw *draw = s2_memory_take(sizeof *draw * (size_t)(def->draws + 1));
  if (def->draws > 0) {
    memcpy(draw, def->draw, sizeof *draw * (size_t)def->draws);
  }
  batch->def.draw = draw;
  size_t commands = (size_t)count * (size_t)batch->controls + 1;
  batch->last = s2_memory_take_zeroed(sizeof *batch->last * commands);
  // Save the initial state of each world.
  batch->world = s2_memory_take_zeroed(sizeof *batch->world * (size_t)count);
  for (int i = 0; i < count; i++) {
    S2BatchWorld *at = &batch->world[i];
    at->judge = def->judge;
    at->draws = def->draws;
    at->draw = draw;
    if (!def->copies) {
      at->world = worlds[i];
      s2_episode_starts(at);
    }
  }
  batch_seed(batch, def->seed, NULL);
  S2Status status = def->copies ? s2_copies_create(batch, worlds[0]) : s2_ok();
  if (status.code != S2_OK) {
    s2_batch_free(batch);
    return status;
  }
  *out = batch;
  return s2_ok();
}

void s2_batch_free(S2Batch *batch) {
  if (batch == NULL) {
    return;
  }
  s2_copies_free(batch);
  for (int i = 0; i < batch->count; i++) {
    s2_memory_free(batch->world[i].image);
  }
  s2_memory_free(batch->world);
  s2_memory_free(batch->last);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the batch owns this copy
  s2_memory_free((void *)(uintptr_t)batch->def.draw);
  s2_memory_free(batch);
}

// ---- Reading ----------------------------------------------------------------------------------

int s2_batch_count(const S2Batch *batch) {
  return batch->count;
}

int s2_batch_controls(const S2Batch *batch) {
  return batch->controls;
}

int s2_batch_observed(const S2Batch *batch) {
  return batch->observed;
}

int s2_batch_failures(const S2Batch *batch) {
  return batch->failures;
}

int s2_batch_failed(const S2Batch *batch, int from, S2Status *why) {
  for (int i = from; i < batch->count; i++) {
    if (batch->world[i].failure.code != S2_OK) {
      *why = batch->world[i].failure;
      return i;
    }
  }
  return -1;
}

S2BatchPlace s2_batch_place(const S2Batch *batch, int world) {
  return batch->world[world].place;
}

void s2_batch_set_place(S2Batch *batch, int world, const S2BatchPlace *place) {
  batch->world[world].place = *place;
}
