#include "batch/rollout.h"

#include "base/memory.h"
#include "batch/rollout_gradient.h"
#include "dynamics/control/control.h"

#include <math.h>

typedef struct RolloutRun {
  const S2Rollout *rollout;
  int controls, state;
  const unsigned char *image;
  size_t size;
  S2World **scratch; // a worker
  S2Status *status;  // a sample
} RolloutRun;

static S2Status rollout_steps(const RolloutRun *run, S2World *world, int sample) {
  const S2Rollout *rollout = run->rollout;
  size_t knots = (size_t)rollout->knots, first = (size_t)sample * knots;
  S2_TRY(s2_world_image_read(world, run->image, run->size));
  double sum = 0, cost = 0;
  const double *u = NULL;
  for (size_t k = 0; k < knots; k++) {
    u = rollout->controls + (first + k) * (size_t)run->controls;
    if (run->controls > 0) {
      S2_TRY(s2_world_act(world, u, run->controls, NULL));
    }
    for (int i = 0; i < rollout->hold; i++) {
      double before = s2_world_time(world);
      S2_TRY(s2_world_step(world));
      S2_TRY(s2_judge_running(rollout->judge, world, u, &cost));
      sum += (s2_world_time(world) - before) * cost;
    }
    if (rollout->states != NULL) {
      s2_world_state(world, rollout->states + (first + k) * (size_t)run->state);
    }
  }
  S2_TRY(s2_judge_terminal(rollout->judge, world, u, &cost));
  rollout->costs[sample] = sum + cost;
  return s2_ok();
}

static void rollout_sample(void *user, int worker, int sample) {
  const RolloutRun *run = user;
  const S2Rollout *rollout = run->rollout;
  S2World *world = run->scratch[worker];
  size_t numbers = (size_t)rollout->knots * (size_t)run->controls;
  size_t first = (size_t)sample * numbers;
  S2Status status = rollout_steps(run, world, sample);
  // The same once more, noted.
  if (status.code == S2_OK && rollout->gradient != NULL) {
    status = s2_world_image_read(world, run->image, run->size);
    S2RolloutSample at = {.knots = rollout->knots,
                          .hold = rollout->hold,
                          .controls = rollout->controls + first,
                          .judge = rollout->judge,
                          .gradient = rollout->gradient + first};
    status = status.code == S2_OK ? s2_rollout_gradient(world, &at) : status;
  }
  if (status.code != S2_OK) {
    rollout->costs[sample] = INFINITY;
    for (size_t i = 0; rollout->gradient != NULL && i < numbers; i++) {
      rollout->gradient[first + i] = NAN;
    }
    size_t states = (size_t)rollout->knots * (size_t)run->state;
    for (size_t i = 0; rollout->states != NULL && i < states; i++) {
      rollout->states[(size_t)sample * states + i] = NAN;
    }
  }
  run->status[sample] = status;
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
  // A world a worker, which each of its samples begins anew from the image.
  int count = s2_workers_count(workers), made = 0;
  S2Status status = s2_ok();
  run.scratch = s2_memory_take_zeroed(sizeof *run.scratch * (size_t)count);
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
    s2_workers_run(workers, rollout->samples, rollout_sample, &run);
  }
  // The first that failed is told.
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
