#include "batch/rollout_gradient.h"

#include "diff/control/world_control.h"
#include "dynamics/control/control.h"

#include <string.h>

// A sample that is recorded on its own tape.
typedef struct Taped {
  const S2RolloutSample *sample;
  S2World *world;
  S2Tape *tape;
  S2WorldTape *on_tape;
  int controls;
  S2Var input; // all controls
  S2Var sum;   // the node of the cost; its value is not used
} Taped;

static S2Var taped_control(const Taped *taped, int knot, int control) {
  return s2_tape_element(taped->tape, taped->input, knot * taped->controls + control);
}

// A cost at a knot.
typedef struct TapedCost {
  Taped *taped;
  int knot;
  S2Status status; // of the first reading without a derivative
} TapedCost;

// Adds `slope` times a reading to the node of the cost.
static void taped_read(void *user, const S2Reading *reading, double slope) {
  TapedCost *at = user;
  Taped *taped = at->taped;
  S2Var var = 0;
  double value;
  if (reading->kind == S2_READ_CONTROL) {
    var = taped_control(taped, at->knot, reading->field);
  } else if (reading->kind != S2_READ_TOUCHES && at->status.code == S2_OK) {
    at->status = s2_world_tape_field(taped->on_tape, taped->world, reading->body, reading->joint,
                                     reading->field, &value, &var);
  }
  taped->sum = s2_tape_scalar2(taped->tape, 0, taped->sum, 1, var, slope);
}

static S2Status taped_terms(Taped *taped, int knot, bool terminal, double scale) {
  const S2RolloutSample *sample = taped->sample;
  const double *u = sample->controls + (size_t)knot * (size_t)taped->controls;
  TapedCost at = {taped, knot, s2_ok()};
  double cost;
  S2_TRY(s2_judge_slopes(sample->judge, taped->world, u, terminal, scale, &cost, taped_read, &at));
  return at.status;
}

// Applies the commands of a knot and records their tape nodes.
static S2Status taped_act(Taped *taped, int knot) {
  const S2RolloutSample *sample = taped->sample;
  const double *u = sample->controls + (size_t)knot * (size_t)taped->controls;
  S2_TRY(s2_world_act(taped->world, u, taped->controls, NULL));
  for (int c = 0; c < taped->controls; c++) {
    if (s2_actuator_value(taped->world, c) == u[c]) { // clipped commands are constants
      s2_actuator_set_origin(taped->world, c, S2_ACTUATOR_COMMAND,
                             s2_tape_origin(taped->tape, taped_control(taped, knot, c)));
    }
  }
  return s2_ok();
}

static S2Status taped_run(Taped *taped) {
  const S2RolloutSample *sample = taped->sample;
  for (int k = 0; k < sample->knots; k++) {
    S2_TRY(taped_act(taped, k));
    for (int i = 0; i < sample->hold; i++) {
      double before = s2_world_time(taped->world);
      S2_TRY(s2_world_tape_step(taped->on_tape, taped->world, 0));
      S2_TRY(taped_terms(taped, k, false, s2_world_time(taped->world) - before));
    }
  }
  return taped_terms(taped, sample->knots - 1, true, 1);
}

S2Status s2_rollout_gradient(S2World *world, const S2RolloutSample *sample) {
  int controls = s2_world_actuator_count(world), count = sample->knots * controls;
  Taped taped = {.sample = sample, .world = world, .controls = controls};
  memset(sample->gradient, 0, sizeof *sample->gradient * (size_t)count);
  taped.tape = s2_tape_new();
  taped.input = s2_tape_input(taped.tape, sample->controls, count);
  taped.on_tape = s2_world_tape_new(taped.tape, NULL);
  // Take the steps, then sweep backwards unless the cost is constant.
  S2Status status = taped_run(&taped);
  if (status.code == S2_OK && taped.sum != 0) {
    status = s2_tape_sweep(taped.tape, taped.sum, NULL);
    if (status.code == S2_OK) {
      memcpy(sample->gradient, s2_tape_adjoint(taped.tape, taped.input),
             sizeof *sample->gradient * (size_t)count);
    }
  }
  s2_tape_free(taped.tape);
  return status;
}
