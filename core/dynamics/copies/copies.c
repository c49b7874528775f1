#include "dynamics/copies/copies.h"

#include "dynamics/control/apply.h"
#include "dynamics/program/program.h"
#include "dynamics/program/recorded.h"

#include <string.h>

enum { LANES = 8 }; // number of lanes of the widest kernel

// A copy begins with these numbers. The poses and velocities of all slots, the corrections if an
// island floats, JOINT_NUMBERS per joint and a command per actuator follow.
enum { COPY_TIME, COPY_STEPS, COPY_SEED, COPY_FLAGS, COPY_COMMANDED, COPY_BODIES };

enum { JOINT_NUMBERS = 6, FLAG_FRESH = 1, FLAG_CORRECTED = 2 };

struct S2Stage {
  S2World *world;
  int lanes, slots, joints, actuators, size;
  bool floats;
  void *memory;
  double *state, *constants; // of each island, for `lanes` lanes
};

static const size_t STATE = LANES * sizeof(S2TableState) / sizeof(double);
static const size_t CONSTANTS = LANES * sizeof(S2Constants) / sizeof(double);

// ---- Making -----------------------------------------------------------------------------------

static bool stage_supports(const S2World *world) {
  bool plain = world->touches.count == 0 && world->acted.count == 0 && world->couples.count == 0 &&
               world->actuated && world->commands.count == 0;
  for (int i = 0; i < 3 * world->bodies.count; i++) {
    plain = plain && world->f.at[i] == 0;
  }
  for (int i = 0; i < world->actuators.count; i++) {
    const S2Actuator *actuator = &world->actuators.at[i];
    plain = plain && actuator->kind <= S2_ACTUATOR_TORQUE && actuator->delay == 0;
  }
  return plain;
}

S2Stage *s2_stage_new(const S2World *model) {
  S2World *world;
  if (!stage_supports(model) || s2_world_clone(model, &world).code != S2_OK) {
    return NULL;
  }
  world->lanes = model->lanes;
  s2_program_hasten(world);
  const S2Program *program = world->program;
  int lanes = s2_program_lanes(world->lanes);
  if (program == NULL || program->pairs > 0 || lanes < 4 || !s2_program_ready(world)) {
    s2_world_destroy(world);
    return NULL;
  }
  S2Stage *stage = s2_memory_take_zeroed(sizeof *stage);
  *stage = (S2Stage){.world = world,
                     .lanes = lanes,
                     .slots = world->bodies.count,
                     .joints = world->joints.count,
                     .actuators = world->actuators.count};
  for (int i = 0; i < program->islands; i++) {
    stage->floats |= program->island[i].table.floats;
  }
  stage->size = COPY_BODIES + (stage->floats ? 9 : 6) * stage->slots +
                JOINT_NUMBERS * stage->joints + stage->actuators;
  // The kernels need memory that begins at a multiple of the size of a vector.
  size_t apart = STATE + CONSTANTS, align = LANES * sizeof(double);
  unsigned char *memory =
      s2_memory_take_zeroed(apart * sizeof(double) * (size_t)program->islands + align);
  stage->memory = memory;
  stage->state = (void *)(memory + (align - (uintptr_t)memory % align));
  stage->constants = stage->state + STATE * (size_t)program->islands;
  for (int i = 0; i < program->islands; i++) {
    for (int lane = 0; lane < lanes; lane++) {
      s2_program_read(world, i, lanes, lane, stage->state + STATE * (size_t)i,
                      stage->constants + CONSTANTS * (size_t)i);
    }
  }
  return stage;
}

void s2_stage_free(S2Stage *stage) {
  if (stage != NULL) {
    s2_world_destroy(stage->world);
    s2_memory_free(stage->memory);
    s2_memory_free(stage);
  }
}

S2World *s2_stage_world(S2Stage *stage) {
  return stage->world;
}

int s2_copy_size(const S2Stage *stage) {
  return stage->size;
}

// ---- Copies -----------------------------------------------------------------------------------

static inline double *put_numbers(double *to, const double *from, int count) {
  for (int i = 0; i < count; i++) {
    to[i] = from[i];
  }
  return to + count;
}

static inline const double *get_numbers(const double *from, double *to, int count) {
  for (int i = 0; i < count; i++) {
    to[i] = from[i];
  }
  return from + count;
}

static void write_commands(const S2Stage *stage, const S2World *world, double *copy) {
  copy[COPY_COMMANDED] = world->commands.count > 0 ? world->commands.at[0].t : (double)NAN;
  double *to = copy + stage->size - stage->actuators;
  for (int i = 0; i < world->commands.count; i++) {
    to[world->commands.at[i].actuator] = world->commands.at[i].value;
  }
}

// Without delays, a world has no command, or one for each actuator, all from the same time.
static void read_commands(const S2Stage *stage, S2World *world, const double *copy) {
  const double *from = copy + stage->size - stage->actuators;
  bool commanded = !isnan(copy[COPY_COMMANDED]);
  s2_array_reserve(world->commands, stage->actuators);
  world->commands.count = commanded ? stage->actuators : 0;
  for (int i = 0; i < world->commands.count; i++) {
    memset(&world->commands.at[i], 0, sizeof world->commands.at[i]);
    world->commands.at[i].actuator = i;
    world->commands.at[i].t = copy[COPY_COMMANDED];
    world->commands.at[i].value = from[i];
  }
}

void s2_copy_write(const S2Stage *stage, const S2World *world, double *copy) {
  bool corrected = world->corrected.count == 3 * stage->slots;
  copy[COPY_TIME] = world->kept.time;
  memcpy(&copy[COPY_STEPS], &world->kept.steps, sizeof(double));
  memcpy(&copy[COPY_SEED], &world->noise_seed, sizeof(double));
  copy[COPY_FLAGS] = (world->kept.fresh ? FLAG_FRESH : 0) + (corrected ? FLAG_CORRECTED : 0);
  double *to = put_numbers(copy + COPY_BODIES, world->q.at, 3 * stage->slots);
  to = put_numbers(to, world->v.at, 3 * stage->slots);
  if (stage->floats) {
    to = corrected ? put_numbers(to, world->corrected.at, 3 * stage->slots) : to + 3 * stage->slots;
  }
  for (int g = 0; g < stage->joints; g++) {
    const S2Joint *joint = &world->joints.at[g];
    to = put_numbers(to, joint->impulse, 2);
    to = put_numbers(to, joint->reaction, 3);
    *to++ = joint->reaction_time;
  }
  write_commands(stage, world, copy);
}

void s2_copy_read(const S2Stage *stage, S2World *world, const double *copy) {
  int flags = (int)copy[COPY_FLAGS], numbers = 3 * stage->slots;
  world->kept.time = copy[COPY_TIME];
  memcpy(&world->kept.steps, &copy[COPY_STEPS], sizeof(double));
  memcpy(&world->noise_seed, &copy[COPY_SEED], sizeof(double));
  world->kept.fresh = (flags & FLAG_FRESH) != 0;
  const double *from = get_numbers(copy + COPY_BODIES, world->q.at, numbers);
  from = get_numbers(from, world->v.at, numbers);
  memset(world->f.at, 0, sizeof *world->f.at * (size_t)numbers);
  // If no island floats, all corrections are 0.
  s2_array_reserve(world->corrected, numbers);
  world->corrected.count = (flags & FLAG_CORRECTED) != 0 ? numbers : 0;
  if (stage->floats) {
    from = get_numbers(from, world->corrected.at, numbers);
  } else {
    memset(world->corrected.at, 0, sizeof *world->corrected.at * (size_t)numbers);
  }
  for (int g = 0; g < stage->joints; g++) {
    S2Joint *joint = &world->joints.at[g];
    from = get_numbers(from, joint->impulse, 2);
    from = get_numbers(from, joint->reaction, 3);
    joint->reaction_time = *from++;
  }
  read_commands(stage, world, copy);
  // Invalidate the data that are derived from these numbers, as s2_world_image_read() does.
  world->boxes_stale = true;
  world->contacts_stale = true;
  world->rest.islands.count = 0;
  world->impulses_listed = true;
}

// ---- Steps ------------------------------------------------------------------------------------

typedef struct Turn {
  S2Stage *stage;
  double *const *copies;
  const S2StageTurn *turn;
  int index[LANES], count; // copies in the lanes
} Turn;

// Moves the copy on the stage to the next free lane. Surplus lanes repeat the last copy.
static void turn_gather(Turn *turn, int index) {
  S2Stage *stage = turn->stage;
  for (int i = 0; i < stage->world->program->islands; i++) {
    s2_program_read(stage->world, i, stage->lanes, turn->count, stage->state + STATE * (size_t)i,
                    NULL);
  }
  write_commands(stage, stage->world, turn->copies[index]);
  turn->index[turn->count++] = index;
}

// The copy goes to the caller without a step.
static void turn_miss(Turn *turn, int index) {
  S2Stage *stage = turn->stage;
  stage->world->program->wait = stage->world->program->waits = 0; // the other copies share it
  s2_copy_read(stage, stage->world, turn->copies[index]);
  turn->turn->after(turn->turn->user, index, false);
}

static void turn_flush(Turn *turn) {
  S2Stage *stage = turn->stage;
  S2World *world = stage->world;
  int used = turn->count, islands = world->program->islands, lanes = stage->lanes;
  if (used == 0) {
    return;
  }
  for (int lane = used; lane < lanes; lane++) {
    for (int i = 0; i < islands; i++) {
      s2_program_read(world, i, lanes, lane, stage->state + STATE * (size_t)i, NULL);
    }
  }
  for (int i = 0; i < islands; i++) {
    s2_table_step(lanes, &world->program->island[i].table, stage->constants + CONSTANTS * (size_t)i,
                  stage->state + STATE * (size_t)i, NULL);
  }
  for (int lane = 0; lane < used; lane++) {
    int index = turn->index[lane];
    s2_copy_read(stage, world, turn->copies[index]);
    // Bodies without joints move here, by their forces. The first push had no errors.
    bool good = world->program->free == 0 || s2_world_push(world).code == S2_OK;
    good = good && s2_program_write(world, lanes, lane, stage->state, STATE);
    if (good) {
      turn->turn->after(turn->turn->user, index, true);
      s2_copy_write(stage, world, turn->copies[index]);
    } else {
      turn_miss(turn, index);
    }
  }
  turn->count = 0;
}

void s2_stage_step(S2Stage *stage, double *const *copies, int count, const S2StageTurn *callbacks) {
  Turn turn = {.stage = stage, .copies = copies, .turn = callbacks};
  S2World *world = stage->world;
  for (int k = 0; k < count; k++) {
    s2_copy_read(stage, world, copies[k]);
    if (!callbacks->before(callbacks->user, k)) {
      s2_copy_write(stage, world, copies[k]);
      continue;
    }
    write_commands(stage, world, copies[k]);
    if (s2_program_ready(world) && s2_world_push(world).code == S2_OK) {
      turn_gather(&turn, k);
    } else {
      turn_miss(&turn, k);
    }
    if (turn.count == stage->lanes) {
      turn_flush(&turn);
    }
  }
  turn_flush(&turn);
}
