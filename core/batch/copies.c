// Batches of copies of one world. A copy is packed while programs take its steps (S2Stage). After a
// step that no program takes, the copy is a separate world until its next reset.
#include "batch/episode.h"

#include "base/memory.h"

// ---- Making -----------------------------------------------------------------------------------

S2Status s2_copies_create(S2Batch *batch, const S2World *model) {
  // All copies share the image of the model.
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the model is only read
  S2BatchWorld first = {.world = (S2World *)(uintptr_t)model};
  s2_episode_starts(&first);
  for (int i = 0; i < batch->count; i++) {
    batch->world[i].image = first.image;
    batch->world[i].size = first.size;
    batch->world[i].controls = first.controls;
    batch->world[i].observed = first.observed;
  }
  int bounds = s2_judge_bounds(batch->def.judge);
  batch->seen = s2_memory_take(sizeof *batch->seen * (size_t)(bounds + 1));
  s2_judge_find(batch->def.judge, model, batch->seen);
  int workers = s2_workers_count(batch->workers);
  // NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers
  batch->stages = s2_memory_take_zeroed(sizeof *batch->stages * (size_t)workers);
  for (int w = 0; w < workers; w++) {
    batch->stages[w] = s2_stage_new(model);
  }
  if (batch->stages[0] == NULL) {
    s2_memory_free(batch->stages);
    batch->stages = NULL;
  }
  if (batch->stages != NULL) {
    batch->pack = s2_copy_size(batch->stages[0]);
    size_t numbers = (size_t)batch->count * (size_t)batch->pack;
    batch->packs = s2_memory_take_zeroed(sizeof *batch->packs * numbers);
  }
  for (int i = 0; i < batch->count; i++) {
    S2BatchWorld *at = &batch->world[i];
    at->packed = batch->stages != NULL;
    if (at->packed) {
      s2_copy_write(batch->stages[0], model, batch->packs + (size_t)i * (size_t)batch->pack);
      continue;
    }
    S2_TRY(s2_world_clone(model, &at->mine));
    at->world = at->mine;
    at->changes = s2_world_changes(at->world);
    at->revision = s2_world_revision(at->world);
  }
  return s2_ok();
}

void s2_copies_free(S2Batch *batch) {
  if (!batch->def.copies) {
    return;
  }
  for (int i = 0; i < batch->count; i++) {
    if (batch->world[i].mine != NULL) {
      s2_world_destroy(batch->world[i].mine);
    }
  }
  s2_memory_free(batch->world[0].image);
  for (int i = 0; i < batch->count; i++) {
    batch->world[i].image = NULL;
  }
  int workers = batch->stages != NULL ? s2_workers_count(batch->workers) : 0;
  for (int w = 0; w < workers; w++) {
    s2_stage_free(batch->stages[w]);
  }
  s2_memory_free(batch->stages);
  s2_memory_free(batch->packs);
  s2_memory_free(batch->seen);
}

// ---- Moves between packs and worlds -----------------------------------------------------------

static double *copies_pack_of(const S2Batch *batch, int i) {
  return batch->packs + (size_t)i * (size_t)batch->pack;
}

// The stage has the numbers of world i from now on.
static void copies_seat(S2Batch *batch, int worker, int i) {
  S2BatchWorld *at = &batch->world[i];
  at->world = s2_stage_world(batch->stages[worker]);
  at->changes = s2_world_changes(at->world);
}

void s2_copies_enter(S2Batch *batch, int worker, int i) {
  if (batch->world[i].packed) {
    copies_seat(batch, worker, i);
    s2_copy_read(batch->stages[worker], batch->world[i].world, copies_pack_of(batch, i));
  }
}

void s2_copies_leave(S2Batch *batch, int worker, int i) {
  S2BatchWorld *at = &batch->world[i];
  if (at->packed) {
    s2_copy_write(batch->stages[worker], at->world, copies_pack_of(batch, i));
    at->world = NULL;
  } else {
    s2_copies_pack(batch, worker, i);
  }
}

void s2_copies_pack(S2Batch *batch, int worker, int i) {
  S2BatchWorld *at = &batch->world[i];
  bool begins = at->place.steps == 0 && !at->place.ended && at->failure.code == S2_OK;
  if (batch->stages != NULL && !at->packed && begins) {
    s2_copy_write(batch->stages[worker], at->world, copies_pack_of(batch, i));
    at->packed = true;
    at->world = NULL;
  }
}

// Copies the world on a stage to a separate world.
static S2Status copies_part(S2BatchWorld *at, const S2World *from) {
  if (at->mine == NULL) {
    S2_TRY(s2_world_clone(from, &at->mine));
  } else {
    size_t size = s2_world_image_size(from);
    void *image = s2_memory_take(size);
    s2_world_image_write(from, image);
    S2Status status = s2_world_image_read(at->mine, image, size);
    s2_memory_free(image);
    S2_TRY(status);
  }
  at->changes = s2_world_changes(at->mine);
  return s2_ok();
}

S2Status s2_batch_copy(S2Batch *batch, int world, const S2World **copy) {
  S2BatchWorld *at = &batch->world[world];
  if (!batch->def.copies) {
    return s2_error(S2_INVALID, "the worlds of this batch are not copies");
  }
  if (at->packed) {
    s2_copies_enter(batch, 0, world);
    S2Status status = copies_part(at, at->world);
    at->world = NULL;
    S2_TRY(status);
  }
  *copy = at->mine;
  return s2_ok();
}

// ---- Steps ------------------------------------------------------------------------------------

typedef struct CopiesTurn {
  S2Batch *batch;
  int worker, step; // of the period
  const int *index;
  bool done[S2_BATCH_CHUNK];     // the step of this world is complete
  double before[S2_BATCH_CHUNK]; // s: time at the start of the engine's step
} CopiesTurn;

static bool copies_before(void *user, int k) {
  CopiesTurn *turn = user;
  S2Batch *batch = turn->batch;
  int i = turn->index[k];
  turn->before[k] = s2_world_time(s2_stage_world(batch->stages[turn->worker]));
  if (turn->step > 0 || turn->done[k]) {
    return !turn->done[k];
  }
  copies_seat(batch, turn->worker, i);
  if (!s2_episode_begin(batch, i, true)) {
    turn->done[k] = true; // this step was a reset
  } else if (batch->world[i].failure.code != S2_OK) {
    s2_episode_end(batch, i, true);
    turn->done[k] = true;
  }
  return !turn->done[k];
}

// Takes the rest of the steps of a world that does not fit on the stage any more.
static void copies_step_rest(CopiesTurn *turn, int k) {
  S2Batch *batch = turn->batch;
  int i = turn->index[k];
  S2BatchWorld *at = &batch->world[i];
  S2Status status = copies_part(at, s2_stage_world(batch->stages[turn->worker]));
  at->world = at->mine;
  at->packed = false;
  // Programs change neither of these statistics.
  at->unsolved = s2_world_stats(at->world)->unsolved;
  at->mode_changes = s2_world_stats(at->world)->mode_changes;
  bool going = true;
  for (int step = turn->step; step < batch->steps && going; step++) {
    double before = s2_world_time(at->world);
    status = status.code == S2_OK ? s2_world_step(at->world) : status;
    going = s2_episode_weigh(batch, i, before, status);
  }
  s2_episode_end(batch, i, true);
  turn->done[k] = true;
}

static void copies_after(void *user, int k, bool stepped) {
  CopiesTurn *turn = user;
  S2Batch *batch = turn->batch;
  if (!stepped) {
    copies_step_rest(turn, k);
    return;
  }
  bool going = s2_episode_weigh(batch, turn->index[k], turn->before[k], s2_ok());
  if (!going || turn->step == batch->steps - 1) {
    s2_episode_end(batch, turn->index[k], true);
    turn->done[k] = true;
  }
}

void s2_copies_step(S2Batch *batch, int worker, const int *index, int count) {
  CopiesTurn turn = {.batch = batch, .worker = worker, .index = index};
  const S2StageTurn callbacks = {&turn, copies_before, copies_after};
  double *packs[S2_BATCH_CHUNK];
  for (int k = 0; k < count; k++) {
    packs[k] = copies_pack_of(batch, index[k]);
  }
  for (turn.step = 0; turn.step < batch->steps && count > 0; turn.step++) {
    s2_stage_step(batch->stages[worker], packs, count, &callbacks);
  }
  for (int k = 0; k < count; k++) {
    S2BatchWorld *at = &batch->world[index[k]];
    at->world = at->packed ? NULL : at->mine;
  }
}
