#include "batch/rollout.h"

#include "base/memory.h"
#include "batch/rollout_gradient.h"
#include "diff/many/world_many.h"
#include "dynamics/control/control.h"

#include <math.h>

enum { LANES = S2_MANY_WORLDS }; // number of sequences that a thread steps together

typedef struct RolloutRun {
  const S2Rollout *rollout;
  int controls, state;
  const unsigned char *image;
  size_t size;
  S2World **scratch; // LANES for each worker
  uint64_t *changes; // of these worlds, after they have read the image
  S2ManyTape **tape; // one for each worker; NULL without gradients, or if S2WorldTape records them
  S2Status *status;  // one status for each sample
} RolloutRun;

typedef struct RolloutLanes { // samples that one thread steps together
  int first, count;           // range of the samples
  S2World **world;
  uint64_t *changes;
  S2ManyTape *tape; // or NULL
  double sum[LANES];
} RolloutLanes;

static const double *rollout_command(const RolloutRun *run, int sample, int knot) {
  size_t row = (size_t)sample * (size_t)run->rollout->knots + (size_t)knot;
  return run->rollout->controls + row * (size_t)run->controls;
}

static double *rollout_slopes(const RolloutRun *run, int sample, int knot) {
  size_t row = (size_t)sample * (size_t)run->rollout->knots + (size_t)knot;
  return run->rollout->gradient + row * (size_t)run->controls;
}

typedef struct RolloutReading { // a sequence whose cost is differentiated
  const RolloutRun *run;
  const RolloutLanes *lanes;
  int lane, knot;
} RolloutReading;

static void rollout_read(void *user, const S2Reading *reading, double slope) {
  const RolloutReading *at = user;
  if (reading->kind == S2_READ_CONTROL) {
    rollout_slopes(at->run, at->lanes->first + at->lane, at->knot)[reading->field] += slope;
  } else {
    s2_many_tape_read(at->lanes->tape, at->lane, reading->body, reading->joint, reading->field,
                      slope);
  }
}

// Computes a running or terminal cost. On a tape, also records `scale` times its slopes.
static S2Status rollout_cost(const RolloutRun *run, const RolloutLanes *lanes, int lane, int knot,
                             bool terminal, double scale, double *cost) {
  const S2Judge *judge = run->rollout->judge;
  const S2World *world = lanes->world[lane];
  const double *command = rollout_command(run, lanes->first + lane, knot);
  if (lanes->tape != NULL) {
    RolloutReading at = {run, lanes, lane, knot};
    return s2_judge_slopes(judge, world, command, terminal, scale, cost, rollout_read, &at);
  }
  return terminal ? s2_judge_terminal(judge, world, command, cost)
                  : s2_judge_running(judge, world, command, cost);
}

static void rollout_step_worlds(const RolloutRun *run, const RolloutLanes *lanes) {
  S2Status *each = run->status + lanes->first, status[LANES];
  int index[LANES] = {0}, count = 0;
  S2World *worlds[LANES] = {NULL};
  if (lanes->tape != NULL) {
    s2_many_tape_step(lanes->tape, each);
    return;
  }
  for (int i = 0; i < lanes->count; i++) {
    if (each[i].code == S2_OK) {
      index[count] = i;
      worlds[count++] = lanes->world[i];
    }
  }
  (void)s2_worlds_step_many(worlds, count, status);
  for (int n = 0; n < count; n++) {
    each[index[n]] = status[n];
  }
}

// Takes one step of each sequence that has not failed, and adds its cost.
static void rollout_step(const RolloutRun *run, RolloutLanes *lanes, int knot) {
  S2Status *status = run->status + lanes->first;
  double before[LANES] = {0};
  for (int i = 0; i < lanes->count; i++) {
    before[i] = s2_world_time(lanes->world[i]);
  }
  rollout_step_worlds(run, lanes);
  for (int i = 0; i < lanes->count; i++) {
    double cost = 0, time = s2_world_time(lanes->world[i]) - before[i];
    if (status[i].code == S2_OK) {
      status[i] = rollout_cost(run, lanes, i, knot, false, time, &cost);
    }
    lanes->sum[i] += time * cost;
  }
}

// Returns a world to the initial state. Its program is kept.
static S2Status rollout_start(const RolloutRun *run, const RolloutLanes *lanes, int lane) {
  S2World *world = lanes->world[lane];
  S2_TRY(s2_world_image_return(world, run->image, run->size, lanes->changes[lane]));
  lanes->changes[lane] = s2_world_changes(world);
  s2_many_tape_prepare(world);
  return s2_ok();
}

static void rollout_steps(const RolloutRun *run, RolloutLanes *lanes) {
  const S2Rollout *rollout = run->rollout;
  for (int i = 0; i < lanes->count; i++) {
    run->status[lanes->first + i] = rollout_start(run, lanes, i);
    lanes->sum[i] = 0;
  }
  if (lanes->tape != NULL) {
    s2_many_tape_start(lanes->tape, lanes->world, lanes->count);
    size_t numbers = (size_t)lanes->count * (size_t)rollout->knots * (size_t)run->controls;
    memset(rollout_slopes(run, lanes->first, 0), 0, sizeof(double) * numbers);
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
      run->status[sample] = rollout_cost(run, lanes, i, rollout->knots - 1, true, 1, &cost);
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

// Adds the derivatives by the efforts of an actuator to the derivatives by the controls.
static void rollout_add_efforts(const RolloutRun *run, const RolloutLanes *lanes, int lane, int c) {
  const S2Rollout *rollout = run->rollout;
  int sample = lanes->first + lane;
  double lo, hi, given;
  s2_actuator_range(lanes->world[lane], c, &lo, &hi);
  for (int t = rollout->knots * rollout->hold - 1; t >= 0; t--) {
    double bar = s2_many_tape_effort(lanes->tape, lane, t, c, &given);
    // Find the knot of the command in force. With a delay it is an earlier one, or none.
    int knot = t / rollout->hold;
    while (knot >= 0 && s2_many_tape_time(lanes->tape, knot * rollout->hold) != given) {
      knot--;
    }
    double u = knot < 0 ? NAN : rollout_command(run, sample, knot)[c];
    if (lo <= u && u <= hi) { // otherwise it was clipped
      rollout_slopes(run, sample, knot)[c] += bar;
    }
  }
}

static void rollout_sweep(const RolloutRun *run, RolloutLanes *lanes) {
  s2_many_tape_sweep(lanes->tape);
  for (int i = 0; i < lanes->count; i++) {
    int sample = lanes->first + i;
    if (run->status[sample].code == S2_OK && !s2_many_tape_good(lanes->tape, i)) {
      rollout_gradient(run, lanes->world[i], sample);
    } else if (run->status[sample].code == S2_OK) {
      for (int c = 0; c < run->controls; c++) {
        rollout_add_efforts(run, lanes, i, c);
      }
    }
  }
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
  RolloutLanes lanes = {.first = chunk * LANES,
                        .world = run->scratch + worker * LANES,
                        .changes = run->changes + worker * LANES,
                        .tape = run->tape != NULL ? run->tape[worker] : NULL};
  lanes.count = rollout->samples - lanes.first < LANES ? rollout->samples - lanes.first : LANES;
  rollout_steps(run, &lanes);
  if (lanes.tape != NULL) {
    rollout_sweep(run, &lanes);
  }
  for (int i = 0; i < lanes.count; i++) {
    int sample = lanes.first + i;
    if (run->status[sample].code == S2_OK && rollout->gradient != NULL && lanes.tape == NULL) {
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

// Returns true if S2ManyTape has the derivatives of the rollout.
static bool rollout_can_tape(const S2Rollout *rollout, S2World *world) {
  s2_many_tape_prepare(world);
  bool can = rollout->gradient != NULL && s2_many_tape_can(world);
  for (int i = 0; i < s2_judge_terms(rollout->judge) && can; i++) {
    const S2CostTerm *term = s2_judge_term(rollout->judge, i);
    for (int k = 0; k < term->count && can; k++) {
      const S2Reading *of = &term->of[k];
      can = of->kind == S2_READ_CONTROL || s2_many_tape_reads(world, of->joint, of->field);
    }
  }
  return can;
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
  run.changes = s2_memory_take_zeroed(sizeof *run.changes * (size_t)count);
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
  int tapes = 0;
  if (status.code == S2_OK && rollout_can_tape(rollout, run.scratch[0])) {
    tapes = s2_workers_count(workers);
    // NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers
    run.tape = s2_memory_take(sizeof *run.tape * (size_t)tapes);
  }
  for (int i = 0; i < tapes; i++) {
    run.tape[i] = s2_many_tape_new();
  }
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
  for (int i = 0; i < tapes; i++) {
    s2_many_tape_free(run.tape[i]);
  }
  s2_memory_free(run.tape);
  s2_memory_free(run.changes);
  s2_memory_free(run.scratch);
  s2_memory_free(image);
  s2_memory_free(run.status);
  return status;
}
