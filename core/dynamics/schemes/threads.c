#include "dynamics/schemes/threads.h"
#include "base/threads/workers.h"
#include "dynamics/step/solve.h"

#include <string.h>

// Islands with at most this many touches do not run in threads, because solving them takes about as
// long as waking a thread.
enum { SHARED_TOUCHES = 20 };

// Data of a worker. All members except the first two are reset for each island.
typedef struct Lane {
  S2Arena arena;
  S2ActedList log;
  S2World world; // a copy that reads the world's data and collects separate results
} Lane;

typedef struct Gathered { // results of an island processed by a thread
  bool done, failed, going, cut, hurries, rows_stay, missed;
  int unsolved;
  S2WorldResiduals residuals;
  S2WorldStats stats;
  const Lane *lane;
  int log_first, log_count; // entries of the island in the log of the lane
  const char *warning;      // NULL: none
} Gathered;

struct S2Threads { // the threads of a world, reused in all its steps
  S2Workers *workers;
  int wanted; // threads
  Lane *lane; // one for each worker.
  // Data of the current phase:
  S2Step *step;
  S2IslandWork *work;
  void *user;
  const int32_t *list; // indices of the islands to process
  Gathered *gathered;  // one entry for each island of the step
};

static void threads_free(S2Threads *threads) {
  for (int i = 0; i < s2_workers_count(threads->workers); i++) {
    Lane *lane = &threads->lane[i];
    s2_arena_free(&lane->arena);
    s2_array_free(lane->log);
  }
  s2_workers_free(threads->workers);
  s2_memory_free(threads->lane);
  s2_memory_free(threads);
}

static S2Threads *threads_of(S2World *world) {
  int wanted = world->kept.def.threads;
  if (world->threads != NULL && world->threads->wanted != wanted) {
    threads_free(world->threads);
    world->threads = NULL;
  }
  if (world->threads == NULL) {
    S2Threads *threads = s2_memory_take_zeroed(sizeof *threads);
    threads->wanted = wanted;
    threads->workers = s2_workers_new(wanted);
    int count = s2_workers_count(threads->workers);
    threads->lane = s2_memory_take_zeroed(sizeof *threads->lane * (size_t)count);
    world->threads = threads;
    world->free_threads = threads_free;
  }
  return world->threads;
}

// ---- In a thread ------------------------------------------------------------------------------

typedef struct Task {
  S2Threads *threads;
  int worker, item;
} Task;

static S2Status task_run(void *user) {
  const Task *task = user;
  S2Threads *threads = task->threads;
  const S2World *world = threads->step->world;
  int32_t index = threads->list[task->item];
  Gathered *gathered = &threads->gathered[index];
  Lane *lane = &threads->lane[task->worker];
  // Copy the world without its collected results and without its callbacks, because threads must
  // not call them.
  lane->world = *world;
  lane->world.callbacks = (S2Callbacks){0};
  lane->world.stats = (S2WorldStats){0};
  lane->world.log = lane->log;
  lane->world.missed = false;
  memset(&lane->world.events, 0, sizeof lane->world.events);
  gathered->lane = lane;
  gathered->log_first = lane->log.count;
  S2Step step = *threads->step;
  step.world = &lane->world;
  step.arena = &lane->arena;
  step.residuals = (S2WorldResiduals){0};
  step.unsolved = 0;
  step.threaded = true;
  gathered->going = threads->work(&step, &threads->step->islands[index], threads->user);
  // Collect the results of the island.
  gathered->log_count = lane->world.log.count - gathered->log_first;
  gathered->stats = lane->world.stats;
  gathered->missed = lane->world.missed;
  gathered->residuals = step.residuals;
  gathered->unsolved = step.unsolved;
  gathered->cut = step.cut;
  gathered->hurries = step.hurries;
  gathered->rows_stay = step.rows_stay;
  if (lane->world.events.count > 0) {
    char *text = s2_arena_take(&lane->arena, sizeof lane->world.warning);
    memcpy(text, lane->world.warning, sizeof lane->world.warning);
    gathered->warning = text;
  }
  gathered->done = true;
  return s2_ok();
}

static void threads_work(void *user, int worker, int item) {
  Task task = {user, worker, item};
  S2Threads *threads = user;
  bool done = s2_memory_guarded(task_run, &task).code == S2_OK;
  threads->gathered[threads->list[item]].failed = !done;
  // Store the pointers to the arrays, because the arrays may have moved. They are valid even if
  // memory ran out.
  Lane *lane = &threads->lane[worker];
  lane->log = lane->world.log;
  s2_array_free(lane->world.events);
}

// ---- A phase ----------------------------------------------------------------------------------

// Returns true if islands may run in threads. They must depend only on the step, and no code may
// need them in order.
static bool threads_allowed(const S2Step *step) {
  const S2World *world = step->world;
  const S2WorldDef *def = &world->kept.def;
  return def->threads > 1 && !isfinite(step->budget) && def->solver != S2_SOLVER_PROGRAM &&
         world->notes == NULL && world->dump_directory == NULL &&
         world->callbacks.pre_solve == NULL && !world->listed;
}

// Lists the islands for the threads. The largest islands come first, so all threads finish at
// nearly the same time. Islands with joints are excluded, because joints may call the program.
static int list_shared(const S2Step *step, const bool *chosen, int32_t *list) {
  int count = 0;
  for (int i = 0; i < step->island_count; i++) {
    const S2Island *island = &step->islands[i];
    bool large = island->touches > SHARED_TOUCHES && island->joints == 0;
    if (!large || island->kept || (chosen != NULL && !chosen[i])) {
      continue;
    }
    int k = count++;
    for (; k > 0 && step->islands[list[k - 1]].touches < island->touches; k--) {
      list[k] = list[k - 1];
    }
    list[k] = i;
  }
  return count;
}

// Runs islands in threads. Returns the results of each island, or NULL if the caller must process
// all islands.
static const Gathered *phase_share(S2Step *step, S2IslandWork *work, void *user,
                                   const bool *chosen) {
  if (!threads_allowed(step)) {
    return NULL;
  }
  int32_t *list = S2_TAKE(step->arena, int32_t, step->island_count);
  int count = list_shared(step, chosen, list);
  if (count < 2) {
    return NULL;
  }
  S2Threads *threads = threads_of(step->world);
  // Copy the current entries to each log, because touches refer to their entries by index.
  const S2ActedList *log = &step->world->log;
  for (int i = 0; i < s2_workers_count(threads->workers); i++) {
    Lane *lane = &threads->lane[i];
    s2_arena_reset(&lane->arena);
    s2_array_reserve(lane->log, log->count);
    lane->log.count = log->count;
    if (log->count > 0) {
      memcpy(lane->log.at, log->at, sizeof *log->at * (size_t)log->count);
    }
  }
  threads->step = step;
  threads->work = work;
  threads->user = user;
  threads->list = list;
  threads->gathered = S2_TAKE_ZEROED(step->arena, Gathered, step->island_count);
  s2_workers_run(threads->workers, count, threads_work, threads);
  return threads->gathered;
}

// Appends the log of an island to the log of the step. Adjusts the indices by which touches refer
// to entries.
static void add_log(S2Step *step, const S2Island *island, const Gathered *gathered) {
  if (gathered->log_count == 0) {
    return;
  }
  S2ActedList *log = &step->world->log;
  int at = log->count, shift = at - gathered->log_first;
  s2_array_reserve(*log, at + gathered->log_count);
  memcpy(&log->at[at], &gathered->lane->log.at[gathered->log_first],
         sizeof *log->at * (size_t)gathered->log_count);
  log->count += gathered->log_count;
  for (int i = at; i < log->count; i++) {
    log->at[i].next += log->at[i].next == S2_NONE ? 0 : shift;
  }
  for (int i = 0; i < island->touches; i++) {
    int32_t *first = &step->logged[island->touch[i]];
    *first += *first == S2_NONE ? 0 : shift;
  }
}

static bool phase_add(S2Step *step, const S2Island *island, const Gathered *gathered) {
  S2World *world = step->world;
  if (gathered->failed) {
    world->refused = s2_error(S2_MEMORY, "out of memory in a thread");
    return false;
  }
  add_log(step, island, gathered);
  uint64_t unsolved = world->stats.unsolved + (gathered->missed && !world->missed);
  s2_stats_add(&world->stats, &gathered->stats);
  world->stats.unsolved = unsolved; // counts steps, not islands
  world->stats.shared += 1;
  world->missed |= gathered->missed;
  s2_keep_worst(&step->residuals.solve, &gathered->residuals.solve);
  step->unsolved += gathered->unsolved;
  step->cut |= gathered->cut;
  step->hurries |= gathered->hurries;
  step->rows_stay |= gathered->rows_stay;
  if (gathered->warning != NULL) {
    s2_world_warn(world, "%s", gathered->warning);
  }
  return gathered->going;
}

bool s2_islands_run(S2Step *step, S2IslandWork *work, void *user, const bool *chosen) {
  const Gathered *gathered = phase_share(step, work, user, chosen);
  // A script may have stopped the run in the meantime. Threads do not check this, so check it here.
  if (gathered != NULL && !s2_step_goes_on(step)) {
    return false;
  }
  bool hurried = step->hurries, hurries = hurried, going = true;
  bool stayed = step->rows_stay, stay = stayed;
  for (int i = 0; i < step->island_count && going; i++) {
    S2Island *island = &step->islands[i];
    step->hurries = hurried || step->cut;
    step->rows_stay = stayed;
    going = gathered != NULL && (gathered[i].done || gathered[i].failed)
                ? phase_add(step, island, &gathered[i])
                : work(step, island, user);
    hurries |= step->hurries;
    stay |= step->rows_stay;
  }
  step->hurries = hurries;
  step->rows_stay = stay;
  return going;
}
