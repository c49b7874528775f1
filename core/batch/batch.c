#include "batch/batch.h"

#include "base/memory.h"
#include "dynamics/control/control.h"

#include <math.h>
#include <string.h>

enum { CHUNK = 16 }; // number of worlds that a thread steps together

typedef enum BatchLeft { LEFT_NOTHING, LEFT_END, LEFT_RESET } BatchLeft;

typedef struct BatchWorld {
  S2World *world;
  unsigned char *image; // its beginning
  size_t size;
  uint64_t changes, revision; // s2_world_changes and s2_world_revision at the start of the batch
  int controls, observed; // number of commands and number of observations at the start of the batch
  const S2Judge *judge;
  int draws;
  const S2Draw *draw;
  S2BatchPlace place;
  unsigned own;                    // S2_OWN_...: work that the calling program does in this call
  BatchLeft left;                  // work that the threads have left to the calling program
  uint64_t unsolved, mode_changes; // statistics before the steps of this call
  S2Status failure;
} BatchWorld;

struct S2Batch {
  S2BatchDef def; // definition, with a copy of the draws
  S2Workers *workers;
  int count, controls, observed, failures;
  BatchWorld *world;
  double *last; // [count][controls]: the commands that hold now
  const double *mask;
  bool commanded;
  int steps;
  S2BatchResult *result;
};

const char *const s2_auto_reset_names[] = {"next_step", "same_step", "disabled", NULL};

// ---- Same structure ---------------------------------------------------------------------------

static S2Status batch_same_bodies(const S2World *a, const S2World *b) {
  int count = s2_world_bodies(a, NULL, 0), other = s2_world_bodies(b, NULL, 0);
  if (count != other) {
    return s2_error(S2_INVALID, "it has %d bodies, not %d", other, count);
  }
  for (int i = 0; i < count; i++) {
    S2BodyId p = s2_world_body(a, i), q = s2_world_body(b, i);
    S2BodyInfo first, second;
    S2_TRY(s2_body_info(a, p, &first));
    S2_TRY(s2_body_info(b, q, &second));
    // Handles are equal if both worlds were built and changed in the same order.
    if (p.index != q.index || p.serial != q.serial) {
      return s2_error(S2_INVALID,
                      "bodies were created or destroyed in a different order, from body %d on",
                      i + 1);
    }
    if (first.type != second.type || strcmp(first.name, second.name) != 0) {
      return s2_error(S2_INVALID, "its body %d ('%s') has another %s ('%s')", i + 1, second.name,
                      first.type != second.type ? "type" : "name", first.name);
    }
    if (first.shape_count != second.shape_count) {
      return s2_error(S2_INVALID, "body %d ('%s') has %d shapes, not %d", i + 1, second.name,
                      second.shape_count, first.shape_count);
    }
  }
  return s2_ok();
}

static S2Status batch_same_joints(const S2World *a, const S2World *b) {
  int count = s2_world_joints(a, NULL, 0), other = s2_world_joints(b, NULL, 0);
  if (count != other) {
    return s2_error(S2_INVALID, "it has %d joints, not %d", other, count);
  }
  for (int i = 0; i < count; i++) {
    S2JointId p = s2_world_joint(a, i), q = s2_world_joint(b, i);
    S2JointInfo first, second;
    S2_TRY(s2_joint_info(a, p, &first));
    S2_TRY(s2_joint_info(b, q, &second));
    if (p.index != q.index || p.serial != q.serial) {
      return s2_error(S2_INVALID,
                      "joints were created or destroyed in a different order, from joint %d on",
                      i + 1);
    }
    if (first.type != second.type) {
      return s2_error(S2_INVALID, "its joint %d is a %s, not a %s", i + 1,
                      s2_joint_type_name(second.type), s2_joint_type_name(first.type));
    }
    if (first.a.index != second.a.index || first.b.index != second.b.index) {
      return s2_error(S2_INVALID, "joint %d connects different bodies", i + 1);
    }
  }
  return s2_ok();
}

S2Status s2_batch_same(const S2World *a, const S2World *b) {
  S2_TRY(batch_same_bodies(a, b));
  S2_TRY(batch_same_joints(a, b));
  if (s2_world_actuator_count(a) != s2_world_actuator_count(b)) {
    return s2_error(S2_INVALID, "it has %d actuators, not %d", s2_world_actuator_count(b),
                    s2_world_actuator_count(a));
  }
  if (s2_world_observation_size(a) != s2_world_observation_size(b)) {
    return s2_error(S2_INVALID, "the observations are %d numbers, not %d",
                    s2_world_observation_size(b), s2_world_observation_size(a));
  }
  return s2_ok();
}

// ---- Resets -----------------------------------------------------------------------------------

S2Status s2_draw(const S2Draw *draw, S2World *world, S2Rng *rng) {
  double value = draw->normal ? draw->a + draw->b * s2_rng_normal(rng)
                              : draw->a + (draw->b - draw->a) * s2_rng_uniform(rng);
  return s2_reading_set(world, &draw->of, value);
}

S2Status s2_batch_rewind(S2Batch *batch, int world) {
  BatchWorld *at = &batch->world[world];
  S2_TRY(s2_world_image_return(at->world, at->image, at->size, at->changes));
  at->changes = s2_world_changes(at->world);
  at->revision = s2_world_revision(at->world);
  return s2_ok();
}

static void batch_begins(BatchWorld *at) {
  size_t size = s2_world_image_size(at->world);
  if (at->image == NULL || at->size != size) {
    s2_memory_free(at->image);
    at->image = s2_memory_take(size);
    at->size = size;
  }
  s2_world_image_write(at->world, at->image);
  at->changes = s2_world_changes(at->world);
  at->revision = s2_world_revision(at->world);
  at->controls = s2_world_actuator_count(at->world);
  at->observed = s2_world_observation_size(at->world);
}

bool s2_batch_unchanged(const S2Batch *batch, int world) {
  const BatchWorld *at = &batch->world[world];
  return at->revision == s2_world_revision(at->world) &&
         at->controls == s2_world_actuator_count(at->world) &&
         at->observed == s2_world_observation_size(at->world);
}

void s2_batch_set_world(S2Batch *batch, int world, S2World *with, const S2Judge *judge, int draws,
                        const S2Draw *draw) {
  BatchWorld *at = &batch->world[world];
  at->world = with;
  at->judge = judge;
  at->draws = draws;
  at->draw = draw;
  batch_begins(at);
}

static S2Status batch_restart(S2Batch *batch, int i) {
  BatchWorld *at = &batch->world[i];
  at->place.steps = 0;
  at->place.ended = false;
  if ((at->own & S2_OWN_RESET) != 0) {
    S2_TRY(batch->def.program.reset(batch->def.program.user, i));
  } else {
    S2_TRY(s2_batch_rewind(batch, i));
  }
  for (int d = 0; d < at->draws; d++) {
    S2_TRY(s2_draw(&at->draw[d], at->world, &at->place.rng));
  }
  s2_world_renew_noise(at->world, &at->place.rng);
  return s2_ok();
}

// Initial commands are 0.
static void batch_forget_commands(S2Batch *batch, int i) {
  for (int c = 0; c < batch->controls; c++) {
    batch->last[(size_t)i * (size_t)batch->controls + (size_t)c] = 0;
  }
}

static double *batch_row(const S2Batch *batch, double *observations, int i) {
  return observations + (size_t)i * (size_t)batch->observed;
}

static void batch_row_nan(const S2Batch *batch, double *row) {
  for (int k = 0; k < batch->observed; k++) {
    row[k] = NAN;
  }
}

static S2Status batch_see(const S2Batch *batch, int i, double *row) {
  const BatchWorld *at = &batch->world[i];
  if ((at->own & S2_OWN_OBSERVE) != 0) {
    return batch->def.program.observe(batch->def.program.user, i, row);
  }
  // The caller may have declared more observations since the start of the batch.
  int size = s2_world_observation_size(at->world);
  return size == batch->observed
             ? s2_world_observe(at->world, row)
             : s2_error(S2_INVALID, "it observes %d numbers, not %d", size, batch->observed);
}

// Records the first error, and fills the row with NaN.
static void batch_note(BatchWorld *at, S2Status status) {
  if (at->failure.code == S2_OK) {
    at->failure = status;
  }
}

static void batch_see_or_note(S2Batch *batch, int i, double *row) {
  S2Status status = batch_see(batch, i, row);
  if (status.code != S2_OK) {
    batch_note(&batch->world[i], status);
    batch_row_nan(batch, row);
  }
}

// Begins a new episode and takes its first observation. If this runs on a thread and the calling
// program does some of this work itself, that program does it later.
static void batch_renew(S2Batch *batch, int i, bool threaded) {
  BatchWorld *at = &batch->world[i];
  if (threaded && (at->own & (S2_OWN_RESET | S2_OWN_OBSERVE)) != 0) {
    at->left = LEFT_RESET;
    return;
  }
  batch_forget_commands(batch, i);
  S2Status status = batch_restart(batch, i);
  if (status.code != S2_OK) {
    batch_note(at, status);
    at->place.ended = batch->def.autoreset == S2_RESET_NEXT_STEP; // the next step tries the reset
                                                                  // again
  }
  batch_see_or_note(batch, i, batch_row(batch, batch->result->observations, i));
}

// ---- One world's part of a step ----------------------------------------------------------------

static double *commands_of(const S2Batch *batch, int i) {
  return batch->last + (size_t)i * (size_t)batch->controls;
}

static void batch_clip(const S2Batch *batch, int i) {
  const S2World *world = batch->world[i].world;
  double *commands = commands_of(batch, i);
  for (int c = 0; c < batch->controls && c < s2_world_actuator_count(world); c++) {
    double lo, hi;
    s2_actuator_range(world, c, &lo, &hi);
    commands[c] = commands[c] < lo ? lo : commands[c] > hi ? hi : commands[c];
  }
}

// Asks the calling program which parts of the work on this world it does itself in this call.
static void batch_open(S2Batch *batch, int i) {
  BatchWorld *at = &batch->world[i];
  const S2BatchProgram *program = &batch->def.program;
  at->own = program->own != NULL ? program->own(program->user, i) : 0;
  at->left = LEFT_NOTHING;
  at->failure.code = S2_OK;
}

// Records the statistics of the world's steps in this call. Call it with `begin` before the steps,
// and without it after them.
static void batch_tell(S2Batch *batch, int i, bool begin) {
  BatchWorld *at = &batch->world[i];
  S2BatchResult *result = batch->result;
  if (result->unsolved == NULL || at->failure.code != S2_OK) {
    return;
  }
  const S2WorldStats *stats = s2_world_stats(at->world);
  if (begin) {
    at->unsolved = stats->unsolved;
    at->mode_changes = stats->mode_changes;
  } else {
    result->unsolved[i] = (double)(stats->unsolved - at->unsolved);
    result->mode_changes[i] = (double)(stats->mode_changes - at->mode_changes);
  }
}

// Applies the commands, or resets the world if a reset is due. Returns true if the world must be
// stepped.
static bool batch_begin(S2Batch *batch, int i, bool threaded) {
  BatchWorld *at = &batch->world[i];
  batch->result->rewards[i] = 0;
  batch->result->terminated[i] = batch->result->truncated[i] = 0;
  if (batch->result->unsolved != NULL) {
    batch->result->unsolved[i] = batch->result->mode_changes[i] = 0;
  }
  if (batch->def.autoreset == S2_RESET_NEXT_STEP && at->place.ended) {
    batch_renew(batch, i, threaded);
    return false;
  }
  // Clip the commands, because the judge of a period sees the applied values.
  S2Status status = s2_ok();
  if (batch->def.worth == S2_WORTH_PERIODS && (at->own & S2_OWN_STEP) == 0) {
    batch_clip(batch, i);
  }
  if (batch->commanded && batch->controls > 0) {
    status = (at->own & S2_OWN_STEP) != 0
                 ? batch->def.program.act(batch->def.program.user, i, commands_of(batch, i))
                 : s2_world_act(at->world, commands_of(batch, i), batch->controls, NULL);
  }
  if (status.code != S2_OK) {
    batch_note(at, status);
  }
  batch_tell(batch, i, true);
  return true;
}

// Adds the reward of a step and checks the bounds. Returns true if the episode continues.
static bool batch_weigh(S2Batch *batch, int i, double before, S2Status status) {
  BatchWorld *at = &batch->world[i];
  double cost = 0;
  bool ended = false;
  if (status.code == S2_OK && batch->def.worth == S2_WORTH_PERIODS) {
    return true; // a period is judged only at its end
  }
  if (status.code == S2_OK) {
    status = s2_judge_running(at->judge, at->world, commands_of(batch, i), &cost);
  }
  if (status.code == S2_OK) {
    status = s2_judge_ended(at->judge, at->world, commands_of(batch, i), &ended);
  }
  if (status.code != S2_OK) {
    batch_note(at, status);
    return false;
  }
  batch->result->rewards[i] -= (s2_world_time(at->world) - before) * cost;
  batch->result->terminated[i] = ended ? 1 : 0;
  return !ended;
}

// Takes one step of a world that the calling program steps. Returns true if the episode continues.
static bool batch_advance(S2Batch *batch, int i) {
  BatchWorld *at = &batch->world[i];
  if (at->failure.code != S2_OK) {
    return false;
  }
  double before = s2_world_time(at->world);
  return batch_weigh(batch, i, before, batch->def.program.step(batch->def.program.user, i));
}

// Lets the judge and the calling program compute the reward of a period.
static void batch_weigh_period(S2Batch *batch, int i) {
  BatchWorld *at = &batch->world[i];
  const S2BatchProgram *program = &batch->def.program;
  const double *commands = commands_of(batch, i);
  double reward = 0;
  bool terminated = false;
  S2Status status = s2_judge_reward(at->judge, at->world, commands, batch->def.constant, &reward);
  if (status.code == S2_OK) {
    status = s2_judge_ended(at->judge, at->world, commands, &terminated);
  }
  if (status.code == S2_OK && (at->own & S2_OWN_JUDGE) != 0) {
    status = program->judge(program->user, i, commands, &reward, &terminated);
  }
  if (status.code != S2_OK) {
    batch_note(at, status);
    return;
  }
  batch->result->rewards[i] = reward;
  batch->result->terminated[i] = terminated ? 1 : 0;
}

// Checks whether the episode has ended, takes the observation, and performs a due reset.
static void batch_end(S2Batch *batch, int i, bool threaded) {
  BatchWorld *at = &batch->world[i];
  S2BatchResult *result = batch->result;
  double *row = batch_row(batch, result->observations, i);
  bool periods = batch->def.worth == S2_WORTH_PERIODS;
  if (threaded && (at->own & (S2_OWN_JUDGE | S2_OWN_OBSERVE)) != 0) {
    at->left = LEFT_END;
    return;
  }
  batch_tell(batch, i, false);
  if (periods && at->failure.code == S2_OK) {
    batch_weigh_period(batch, i);
  }
  batch_see_or_note(batch, i, row);
  bool failed = at->failure.code != S2_OK;
  at->place.steps++;
  bool over = batch->def.max_steps > 0 && at->place.steps >= batch->def.max_steps &&
              !(periods && result->terminated[i] != 0);
  result->truncated[i] = failed || over ? 1 : 0;
  bool ended = failed || over || result->terminated[i] != 0;
  // Add the terminal cost of the final state.
  double cost = 0;
  if (ended && !failed) {
    S2Status status = s2_judge_terminal(at->judge, at->world, commands_of(batch, i), &cost);
    if (status.code != S2_OK) {
      batch_note(at, status);
    }
  }
  result->rewards[i] = at->failure.code != S2_OK ? (double)NAN : result->rewards[i] - cost;
  at->place.ended = ended;
  if (!ended) {
    return;
  }
  if (result->final != NULL) {
    memcpy(batch_row(batch, result->final, i), row, sizeof *row * (size_t)batch->observed);
  }
  if (batch->def.autoreset == S2_RESET_SAME_STEP) {
    batch_renew(batch, i, threaded);
  }
}

// Takes all steps of a world that the calling program steps.
static void batch_step_world(void *user, int worker, int i) {
  S2Batch *batch = user;
  (void)worker;
  if (batch_begin(batch, i, false)) {
    for (int k = 0; k < batch->steps && batch_advance(batch, i); k++) {
    }
    batch_end(batch, i, false);
  }
}

// For a world that threads have stepped, completes the work that they left to the calling program.
static void batch_finish_world(S2Batch *batch, int i) {
  if (batch->world[i].left == LEFT_END) {
    batch_end(batch, i, false);
  } else if (batch->world[i].left == LEFT_RESET) {
    batch_renew(batch, i, false);
  }
}

// Steps the worlds first .. last - 1 together. Worlds that the calling program steps are left out.
static void batch_step_chunk(S2Batch *batch, int first, int last) {
  int index[CHUNK], count = 0, begun = 0, all[CHUNK];
  double before[CHUNK];
  S2World *worlds[CHUNK] = {NULL};
  S2Status status[CHUNK];
  for (int i = first; i < last; i++) {
    batch_open(batch, i);
    // If a reset is due, this step only resets the world.
    if ((batch->world[i].own & S2_OWN_STEP) != 0 || !batch_begin(batch, i, true)) {
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
      if (batch_weigh(batch, index[n], before[n], status[n])) {
        index[left++] = index[n];
      }
    }
    count = left;
  }
  for (int n = 0; n < begun; n++) {
    batch_end(batch, all[n], true);
  }
}

static void batch_reset_world(void *user, int worker, int i) {
  S2Batch *batch = user;
  BatchWorld *at = &batch->world[i];
  (void)worker;
  if (batch->mask == NULL || batch->mask[i] != 0) {
    batch_forget_commands(batch, i);
    S2Status status = batch_restart(batch, i);
    if (status.code != S2_OK) {
      batch_note(at, status);
    }
  }
  batch_see_or_note(batch, i, batch_row(batch, batch->result->observations, i));
}

static void batch_observe_world(void *user, int worker, int i) {
  S2Batch *batch = user;
  (void)worker;
  batch_see_or_note(batch, i, batch_row(batch, batch->result->observations, i));
}

// ---- All worlds -------------------------------------------------------------------------------

typedef struct BatchRun {
  S2Batch *batch;
  S2Work *work;
} BatchRun;

static void batch_run_chunk(void *user, int worker, int i) {
  S2Batch *batch = user;
  (void)worker;
  int last = (i + 1) * CHUNK;
  batch_step_chunk(batch, i * CHUNK, last < batch->count ? last : batch->count);
}

static void batch_run_item(void *user, int worker, int i) {
  const BatchRun *run = user;
  batch_open(run->batch, i);
  if (run->batch->world[i].own == 0) {
    run->work(run->batch, worker, i);
  }
}

// Runs the threads. Then the calling program does its own part of the work, world by world.
static void batch_run(S2Batch *batch, S2Work *work) {
  BatchRun run = {batch, work};
  bool stepped = work == batch_step_world;
  if (stepped) {
    s2_workers_run(batch->workers, (batch->count + CHUNK - 1) / CHUNK, batch_run_chunk, batch);
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
  if (!isfinite(draw->a) || !isfinite(draw->b) ||
      (draw->normal ? draw->b < 0 : draw->b < draw->a)) {
    return s2_error(S2_INVALID,
                    draw->normal ? "a mean and a deviation >= 0 expected, got %g and %g"
                                 : "lo <= hi expected, got %g and %g",
                    draw->a, draw->b);
  }
  // Try the draw on a copy, because setting the number checks the field and its range.
  S2World *copy;
  S2_TRY(s2_world_clone(world, &copy));
  S2Draw middle = *draw;
  middle.normal = false;
  middle.b = draw->normal ? draw->a : draw->b;
  S2Rng rng = s2_rng_seeded(0);
  S2Status status = s2_draw(&middle, copy, &rng);
  s2_world_destroy(copy);
  return status;
}

S2Status s2_batch_create(const S2BatchDef *def, S2World *const *worlds, int count,
                         S2Workers *workers, S2Batch **out) {
  if (count < 1) {
    return s2_error(S2_INVALID, "1 world or more expected, got %d", count);
  }
  for (int i = 1; i < count && !def->unlike; i++) {
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
    BatchWorld *at = &batch->world[i];
    at->world = worlds[i];
    at->judge = def->judge;
    at->draws = def->draws;
    at->draw = draw;
    batch_begins(at);
  }
  batch_seed(batch, def->seed, NULL);
  *out = batch;
  return s2_ok();
}

void s2_batch_free(S2Batch *batch) {
  if (batch == NULL) {
    return;
  }
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
