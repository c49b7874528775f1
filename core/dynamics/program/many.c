// Steps worlds side by side. One kernel steps worlds whose programs have the same tables, in one
// lane per world. Lanes are independent, so each world gets the same bits as in a separate step.
#include "dynamics/control/apply.h"
#include "dynamics/program/recorded.h"

#include <string.h>

enum {
  LANES = 8,   // number of lanes of the widest kernel
  ISLANDS = 2, // maximum number of islands per world in lanes, limited by the stack
  QUEUES = 8,  // maximum number of kinds of worlds that are collected at once
};

int s2_program_lanes(int most) {
#ifdef S2_HAVE_LANES
  if (most >= 8 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) {
    return 8;
  }
  if (most >= 4 && __builtin_cpu_supports("avx2")) {
    return 4;
  }
#endif
  return most >= 1 ? 1 : 0;
}

// Worlds of one kind that are collected until the lanes are full.
typedef struct Queue {
  int count, most; // number of worlds; largest number of lanes that they permit
  int index[LANES];
} Queue;

typedef struct Many {
  S2World *const *worlds;
  S2Status *each;
  S2Status first; // first failure
  S2StepAlone *alone;
  void *user;
  S2Recorder *recorder; // or NULL
  Queue queue[QUEUES];
  int next; // the queue to release next if none is free
} Many;

static void many_tell(Many *many, int index, S2Status status) {
  if (many->each != NULL) {
    many->each[index] = status;
  }
  if (status.code != S2_OK && many->first.code == S2_OK) {
    many->first = status;
  }
}

// `pushed`: true if the world was prepared for a lane, where its actuators have already added their
// forces.
static void step_alone(Many *many, int index, bool pushed) {
  S2World *world = many->worlds[index];
  if (pushed) {
    s2_world_unpush(world);
  }
  // All of these worlds use the arena of the first world, because its memory stays in the caches of
  // the processor. A thousand arenas would not.
  S2Arena *shared = &many->worlds[0]->arena;
  if (world != many->worlds[0]) {
    s2_arena_exchange(&world->arena, shared);
  }
  many_tell(many, index, many->alone(many->user, world, index));
  if (world != many->worlds[0]) {
    s2_arena_exchange(&world->arena, shared);
  }
}

// Begins the record of a step of the worlds in the queue.
static S2RecordedStep *record_step(const Many *many, const Queue *queue, int lanes) {
  if (many->recorder == NULL) {
    return NULL;
  }
  S2RecordedStep *step = s2_array_append(many->recorder->steps);
  *step = (S2RecordedStep){.lanes = lanes, .worlds = queue->count};
  memcpy(step->index, queue->index, sizeof *step->index * (size_t)queue->count);
  return step;
}

// Runs the kernels with `lanes` lanes. Surplus lanes repeat the first world.
static void step_lanes(Many *many, const Queue *queue, int lanes) {
  _Alignas(8 * LANES) double state[ISLANDS][LANES * sizeof(S2TableState) / sizeof(double)];
  _Alignas(8 * LANES) double constants[LANES * sizeof(S2Constants) / sizeof(double)];
  const S2Program *program = many->worlds[queue->index[0]]->program;
  S2RecordedStep *step = record_step(many, queue, lanes);
  for (int i = 0; i < program->islands; i++) {
    for (int lane = 0; lane < lanes; lane++) {
      int index = queue->index[lane < queue->count ? lane : 0];
      s2_program_read(many->worlds[index], i, lanes, lane, state[i], constants);
    }
    const S2Table *table = &program->island[i].table;
    s2_table_step(lanes, table, constants, state[i], step != NULL ? many->recorder->scratch : NULL);
    if (step != NULL) {
      step->island[i] = s2_recorder_keep(many->recorder, table, lanes);
    }
  }
  // Write the results. The general path steps the worlds whose lane has no result.
  for (int lane = 0; lane < queue->count; lane++) {
    int index = queue->index[lane];
    S2World *world = many->worlds[index];
    if (s2_program_write(world, lanes, lane, state[0], sizeof state[0] / sizeof(double))) {
      many_tell(many, index, s2_ok());
      continue;
    }
    if (step != NULL) {
      step->index[lane] = -1;
    }
    step_alone(many, index, true);
  }
}

static void queue_flush(Many *many, Queue *queue) {
  if (queue->count == 1) {
    S2Status status = s2_ok();
    S2RecordedStep *step = record_step(many, queue, 1);
    if (s2_program_run(many->worlds[queue->index[0]], many->recorder, step, &status)) {
      many_tell(many, queue->index[0], status);
    } else {
      if (step != NULL) {
        step->index[0] = -1;
      }
      step_alone(many, queue->index[0], true);
    }
  } else if (queue->count > 1) {
    step_lanes(many, queue, queue->count <= 4 ? 4 : queue->most);
  }
  queue->count = 0;
}

static bool same_kind(const S2World *a, const S2World *b) {
  return a->program->kind[0] == b->program->kind[0] && a->program->kind[1] == b->program->kind[1] &&
         a->lanes == b->lanes;
}

// Adds a world to the queue of its kind, and steps the queue when it is full.
static void many_gather(Many *many, int index, int lanes) {
  S2World *world = many->worlds[index];
  Queue *queue = NULL, *free = NULL;
  for (int i = 0; i < QUEUES && queue == NULL; i++) {
    Queue *at = &many->queue[i];
    bool same = at->count > 0 && same_kind(many->worlds[at->index[0]], world);
    queue = same ? at : NULL;
    free = at->count == 0 && free == NULL ? at : free;
  }
  if (queue == NULL && free == NULL) {
    free = &many->queue[many->next];
    many->next = (many->next + 1) % QUEUES;
    queue_flush(many, free);
  }
  queue = queue == NULL ? free : queue;
  queue->most = lanes;
  queue->index[queue->count++] = index;
  if (queue->count == lanes) {
    queue_flush(many, queue);
  }
}

static void step_one(Many *many, int index) {
  S2World *world = many->worlds[index];
  // NOLINTNEXTLINE(clang-analyzer-*): s2_worlds_step_with has checked
  int lanes = s2_program_ready(world) ? s2_program_lanes(world->lanes) : 0;
  S2Status pushed;
  if (lanes == 0) {
    step_alone(many, index, false);
  } else if (!s2_program_proceeds(world)) {
    many_tell(many, index, s2_program_stopped(world));
  } else if ((pushed = s2_world_push(world)).code != S2_OK) {
    many_tell(many, index, pushed);
  } else if (!s2_program_apart(world)) {
    step_alone(many, index, true);
  } else if (lanes == 1 || world->program->islands > ISLANDS) {
    Queue alone = {.count = 1, .index = {index}};
    queue_flush(many, &alone);
  } else {
    many_gather(many, index, lanes);
  }
}

S2Status s2_worlds_step_with(S2World *const *worlds, int count, S2Status *each, S2StepAlone *alone,
                             void *user, S2Recorder *recorder) {
  // Reject worlds that are listed twice, because such a world would take two steps at the same
  // time.
  S2Status status = s2_ok();
  int listed = 0;
  for (; listed < count && status.code == S2_OK; listed++) {
    if (worlds[listed] == NULL || worlds[listed]->listed) {
      status = s2_error(S2_INVALID, "worlds[%d]: %s", listed,
                        worlds[listed] == NULL ? "a world expected, got NULL" : "listed twice");
      break;
    }
    worlds[listed]->listed = true;
  }
  Many many = {.worlds = worlds,
               .each = each,
               .first = status,
               .alone = alone,
               .user = user,
               .recorder = recorder};
  for (int i = 0; i < count && status.code == S2_OK; i++) {
    step_one(&many, i);
  }
  for (int i = 0; i < QUEUES; i++) {
    queue_flush(&many, &many.queue[i]);
  }
  for (int i = 0; i < listed; i++) {
    worlds[i]->listed = false;
  }
  return many.first;
}

static S2Status many_step_alone(void *user, S2World *world, int index) {
  (void)user;
  (void)index;
  return s2_world_step(world);
}

S2Status s2_worlds_step_many(S2World *const *worlds, int count, S2Status *each) {
  return s2_worlds_step_with(worlds, count, each, many_step_alone, NULL, NULL);
}
