#include "batch/rollout.h"

#include "base/memory.h"
#include "batch/rollout_gradient.h"
#include "dynamics/control/control.h"

#include <math.h>

enum { LANES = 8 }; // number of sequences that a thread steps together

typedef struct RolloutRun {
  const S2Rollout *rollout;
  int controls, state;
  const unsigned char *image;
  size_t size;
  S2World **scratch; // LANES for each worker
  S2Status *status;  // one status for each sample
} RolloutRun;

typedef struct RolloutLanes { // samples that one thread steps together
  int first, count;           // range of the samples
  S2World **world;
  double sum[LANES];
} RolloutLanes;

static const double *rollout_command(const RolloutRun *run, int sample, int knot) {
  size_t row = (size_t)sample * (size_t)run->rollout->knots + (size_t)knot;
  return run->rollout->controls + row * (size_t)run->controls;
}

// Takes one step of each sequence that has not failed, and adds its cost.
static void rollout_step(const RolloutRun *run, RolloutLanes *lanes, int knot) {
  int index[LANES] = {0}, count = 0;
  S2World *worlds[LANES] = {NULL};
  S2Status status[LANES];
  double before[LANES] = {0};
  for (int i = 0; i < lanes->count; i++) {
    if (run->status[lanes->first + i].code == S2_OK) {
      index[count] = i;
      worlds[count] = lanes->world[i];
      before[count++] = s2_world_time(lanes->world[i]);
    }
  }
  (void)s2_worlds_step_many(worlds, count, status);
  for (int n = 0; n < count; n++) {
    int sample = lanes->first + index[n];
    double cost = 0;
    run->status[sample] = status[n];
    if (status[n].code == S2_OK) {
      run->status[sample] = s2_judge_running(run->rollout->judge, worlds[n],
                                             rollout_command(run, sample, knot), &cost);
    }
    lanes->sum[index[n]] += (s2_world_time(worlds[n]) - before[n]) * cost;
  }
}

static void rollout_steps(const RolloutRun *run, RolloutLanes *lanes) {
  const S2Rollout *rollout = run->rollout;
  for (int i = 0; i < lanes->count; i++) {
    run->status[lanes->first + i] = s2_world_image_read(lanes->world[i], run->image, run->size);
    lanes->sum[i] = 0;
  }
  // At each knot, apply the command, take the steps for which it holds, and record the state.
  for (int k = 0; k < rollout->knots; k++) {
    for (int i = 0; i < lanes->count && run->controls > 0; i++) {
      int sample = lanes->first + i;
      if (run->status[sample].code == S2_OK) {
        run->status[sample] =
            s2_world_act(lanes->world[i], rollout_command(run, sample, k), run->controls, NULL);
      }
    }
    for (int h = 0; h < rollout->hold; h++) {
      rollout_step(run, lanes, k);
    }
    for (int i = 0; i < lanes->count && rollout->states != NULL; i++) {
      size_t row = (size_t)(lanes->first + i) * (size_t)rollout->knots + (size_t)k;
      s2_world_state(lanes->world[i], rollout->states + row * (size_t)run->state);
    }
  }
  for (int i = 0; i < lanes->count; i++) {
    int sample = lanes->first + i;
    double cost = 0;
    if (run->status[sample].code == S2_OK) {
      run->status[sample] = s2_judge_terminal(
          rollout->judge, lanes->world[i], rollout_command(run, sample, rollout->knots - 1), &cost);
    }
    rollout->costs[sample] = lanes->sum[i] + cost;
  }
}

// Repeats the steps of a sample on a tape, to compute the gradient.
static void rollout_gradient(const RolloutRun *run, S2World *world, int sample) {
  const S2Rollout *rollout = run->rollout;
  size_t first = (size_t)sample * (size_t)rollout->knots * (size_t)run->controls;
  S2Status status = s2_world_image_read(world, run->image, run->size);
  S2RolloutSample at = {.knots = rollout->knots,
                        .hold = rollout->hold,
                        .controls = rollout->controls + first,
                        .judge = rollout->judge,
                        .gradient = rollout->gradient + first};
  run->status[sample] = status.code == S2_OK ? s2_rollout_gradient(world, &at) : status;
}

static void rollout_failed(const RolloutRun *run, int sample) {
  const S2Rollout *rollout = run->rollout;
  size_t numbers = (size_t)rollout->knots * (size_t)run->controls, row = (size_t)sample * numbers;
  size_t states = (size_t)rollout->knots * (size_t)run->state;
  rollout->costs[sample] = INFINITY;
  for (size_t i = 0; rollout->gradient != NULL && i < numbers; i++) {
    rollout->gradient[row + i] = NAN;
  }
  for (size_t i = 0; rollout->states != NULL && i < states; i++) {
    rollout->states[(size_t)sample * states + i] = NAN;
  }
}

static void rollout_chunk(void *user, int worker, int chunk) {
  const RolloutRun *run = user;
  const S2Rollout *rollout = run->rollout;
  RolloutLanes lanes = {.first = chunk * LANES, .world = run->scratch + worker * LANES};
  lanes.count = rollout->samples - lanes.first < LANES ? rollout->samples - lanes.first : LANES;
  rollout_steps(run, &lanes);
  for (int i = 0; i < lanes.count; i++) {
    int sample = lanes.first + i;
    if (run->status[sample].code == S2_OK && rollout->gradient != NULL) {
      rollout_gradient(run, lanes.world[i], sample);
    }
    if (run->status[sample].code != S2_OK) {
      rollout_failed(run, sample);
    }
  }
}

static S2Status rollout_check(const S2Rollout *rollout, int controls) {
  if (rollout->samples < 1 || rollout->knots < 1 || rollout->hold < 1) {
    return s2_error(S2_INVALID, "1 or more sequences, knots and steps expected, got %d, %d and %d",
                    rollout->samples, rollout->knots, rollout->hold);
  }
  size_t row = (size_t)rollout->knots * (size_t)controls;
  for (size_t i = 0; i < row * (size_t)rollout->samples; i++) {
    if (!isfinite(rollout->controls[i])) {
      size_t at = i % row;
      return s2_error(S2_INVALID,
                      "sequence %d, knot %d, control %d: a finite number expected, got %g",
                      (int)(i / row) + 1, (int)(at / (size_t)controls) + 1,
                      (int)(at % (size_t)controls) + 1, rollout->controls[i]);
    }
  }
  return s2_ok();
}

S2Status s2_rollout(S2Workers *workers, const S2World *world, const S2Rollout *rollout, int *failed,
                    S2Status *why) {
  RolloutRun run = {.rollout = rollout,
                    .controls = s2_world_actuator_count(world),
                    .state = s2_world_state_size(world),
                    .size = s2_world_image_size(world)};
  S2_TRY(rollout_check(rollout, run.controls));
  // Create the worlds of each worker. Every sample starts from the image.
  int count = LANES * s2_workers_count(workers), made = 0;
  S2Status status = s2_ok();
  run.scratch = s2_memory_take_zeroed(sizeof(S2World *) *
                                      (size_t)count); // NOLINT(bugprone-sizeof-expression)
  while (made < count && status.code == S2_OK) {
    status = s2_world_clone(world, &run.scratch[made]);
    if (status.code == S2_OK) {
      made++;
    }
  }
  unsigned char *image = s2_memory_take(run.size);
  s2_world_image_write(world, image);
  run.image = image;
  run.status = s2_memory_take_zeroed(sizeof *run.status * (size_t)rollout->samples);
  if (status.code == S2_OK) {
    s2_workers_run(workers, (rollout->samples + LANES - 1) / LANES, rollout_chunk, &run);
  }
  // Report the first failure.
  int failures = 0;
  for (int i = 0; i < rollout->samples && status.code == S2_OK; i++) {
    if (run.status[i].code != S2_OK && failures++ == 0 && why != NULL) {
      *why = s2_error(run.status[i].code, "sequence %d: %s", i + 1, run.status[i].message);
    }
  }
  if (failed != NULL) {
    *failed = failures;
  }
  for (int i = 0; i < made; i++) {
    s2_world_destroy(run.scratch[i]);
  }
  s2_memory_free(run.scratch);
  s2_memory_free(image);
  s2_memory_free(run.status);
  return status;
}
