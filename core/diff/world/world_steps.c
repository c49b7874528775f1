// Steps of a world on a tape: recording, the reverse sweep, and the forward pass.
#include "diff/linear/static_vjp.h"
#include "diff/step/trace_notes.h"
#include "diff/world/world_tape_parts.h"
#include "dynamics/world/world.h"

#include <string.h>

// ---- Steps ------------------------------------------------------------------------------------

// The places that a step writes and on which the outputs of a forward pass depend. The probe finds
// these places.
typedef struct Live {
  int count;
  S2Place *place;
} Live;

static void world_tape_probe(const S2WorldTape *world, Live *live) {
  const S2WorldGradient *gradient = &world->gradient;
  if (s2_tape_probing(world->tape)) {
    live->place = s2_tape_take(world->tape,
                               sizeof *live->place * (size_t)(s2_world_stepped_most(gradient) + 1));
    live->count = s2_world_stepped_places(gradient, live->place);
  }
}

// Computes a row for each of these places. Uses the backward function of the act.
static S2Status world_tape_push_live(S2WorldTape *world, S2Var node, const Live *live,
                                     S2TapeBackward *undo, void *data) {
  S2WorldTangents *tangents = &world->tangents;
  size_t columns = (size_t)tangents->columns;
  double *rows = s2_world_tangents_fresh(tangents, live->count);
  for (int i = 0; i < live->count; i++) {
    double *row = rows + (size_t)i * columns;
    s2_world_gradient_clear(&world->gradient);
    world->gradient.flags = S2_GRADIENT_WEAK; // the probe has examined the other side of all edges
    *s2_place_gradient(&world->gradient, live->place[i]) = 1;
    S2_TRY(s2_tape_row(world->tape, node, undo, data, row));
    s2_world_tangents_product(tangents, &world->gradient, row);
  }
  for (int i = 0; i < live->count; i++) {
    s2_world_tangents_set(tangents, live->place[i], rows + (size_t)i * columns);
  }
  return s2_ok();
}

typedef struct Step { // a step or a part of a step
  S2WorldTape *world;
  S2Trace *trace;     // or
  S2Segment *segment; // the segment from which the step can be repeated
  int index;          // index of the step in the segment; the first step owns the segment
  size_t bytes;
  double share; // of dt
  bool goes_on; // true if another part of the same step follows
  bool failed;  // true if the step failed, so this part has no effect
  struct Step *earlier;
  Live live;
} Step;

static void world_tape_release_step(void *data) {
  Step *step = data;
  s2_tape_count_bytes(step->world->tape, -(ptrdiff_t)step->bytes);
  s2_trace_free(step->trace);
  if (step->segment != NULL && step->index == 0) {
    s2_segment_free(step->segment);
  }
}

// Forces that the user applies act in all parts of a step, so the adjoints of the later parts
// (`later`) are added.
static void world_tape_forces_vjp(const Step *step, const double *later) {
  S2WorldTape *world = step->world;
  for (int i = 0; i < 3 * world->gradient.slots && later != NULL; i++) {
    world->gradient.f[i] += later[i];
  }
}

// Returns a copy of the adjoints of contact impulses for the previous part of the step, because
// these impulses are sums over all parts. (Joint impulses are those of the last part.) NULL if
// there is no previous part.
static S2ContactGradient *world_tape_asked_of_earlier(const Step *step, S2Arena *arena) {
  const S2WorldGradient *gradient = &step->world->gradient;
  if (step->earlier == NULL || gradient->contacts == 0) {
    return NULL;
  }
  S2ContactGradient *asked = S2_TAKE(arena, S2ContactGradient, gradient->contacts);
  memcpy(asked, gradient->contact, sizeof *asked * (size_t)gradient->contacts);
  return asked;
}

// Checks the flags of the sweep over a step.
static S2Status world_tape_swept(const S2WorldTape *world) {
  if (world->flags != NULL && s2_tape_columns(world->tape) == 0) {
    *world->flags |= world->gradient.flags;
  }
  if ((world->gradient.flags & S2_GRADIENT_SINGULAR) != 0) {
    return s2_error(S2_INVALID, "a step has no derivative: its linear system is singular");
  }
  return s2_ok();
}

// Frees the traces of the segment after the sweep has passed its first step.
static void world_tape_forget_traces(const Step *step) {
  if (step->segment != NULL) {
    s2_tape_count_bytes(step->world->tape, -(ptrdiff_t)s2_segment_traces(step->segment));
    s2_segment_forget(step->segment);
  }
}

static S2Status world_tape_undo_step(S2Tape *tape, S2Var node, void *data) {
  Step *step = data;
  S2WorldTape *world = step->world;
  const S2Trace *trace = step->trace;
  (void)node;
  if (step->failed) {
    return s2_ok();
  }
  world_tape_probe(world, &step->live);
  // dt also advances the time of the world.
  s2_arena_reset(&world->arena);
  S2WorldGradient *gradient = &world->gradient;
  gradient->dt += step->share * gradient->time;
  gradient->quiet = s2_world_tape_looks(world);
  const double *later =
      step->goes_on ? s2_arena_copy(&world->arena, gradient->f, 3 * gradient->slots) : NULL;
  // If the trace was discarded, compute it again, together with its segment.
  if (trace == NULL) {
    size_t before = s2_segment_traces(step->segment);
    S2_TRY(s2_segment_trace(step->segment, step->index, &trace));
    // 0, or the bytes of all traces of the segment
    size_t made = s2_segment_traces(step->segment) - before;
    s2_tape_count_bytes(tape, (ptrdiff_t)made);
  }
  // The sweep overwrites the adjoints of contacts, so save those for the previous part of the step.
  const S2ContactGradient *asked = world_tape_asked_of_earlier(step, &world->arena);
  S2_TRY(s2_trace_vjp(trace, gradient, &world->arena));
  if (asked != NULL) {
    memcpy(gradient->contact, asked, sizeof *asked * (size_t)gradient->contacts);
  }
  world_tape_forces_vjp(step, later);
  if (step->index == 0 && s2_tape_columns(tape) == 0) {
    world_tape_forget_traces(step);
  }
  return world_tape_swept(world);
}

static S2Status world_tape_push_step(S2Tape *tape, S2Var node, void *data) {
  Step *step = data;
  (void)tape;
  if (step->failed) {
    return s2_ok();
  }
  S2_TRY(world_tape_push_live(step->world, node, &step->live, world_tape_undo_step, step));
  if (step->segment != NULL && step->index + 1 == s2_segment_steps(step->segment)) {
    world_tape_forget_traces(step);
  }
  return s2_ok();
}

static int world_tape_step_rows(const void *data) {
  const Step *step = data;
  return step->live.count;
}

// ---- Rest -------------------------------------------------------------------------------------

typedef struct Rest {
  S2WorldTape *world;
  S2Trace *trace; // trace of a step that starts at rest
  bool found;
  int count; // number of pose coordinates; `at` lists their indices in arrays with 3 numbers per
             // slot
  int32_t *at;
  size_t bytes;
  Live live;
} Rest;

static void world_tape_release_rest(void *data) {
  Rest *rest = data;
  s2_tape_count_bytes(rest->world->tape, -(ptrdiff_t)rest->bytes);
  s2_trace_free(rest->trace);
}

static S2Status world_tape_undo_rest(S2Tape *tape, S2Var node, void *data) {
  Rest *rest = data;
  S2WorldTape *world = rest->world;
  bool asked = false;
  (void)tape, (void)node;
  world_tape_probe(world, &rest->live);
  for (int i = 0; i < rest->count; i++) {
    asked |= world->gradient.q[rest->at[i]] != 0;
  }
  if (asked && !rest->found) {
    return s2_error(S2_INVALID, "world:solve_static() found no state of rest within max_steps, so "
                                "the final positions have no derivative");
  }
  s2_arena_reset(&world->arena);
  S2_TRY(s2_static_vjp(rest->trace, rest->count, rest->at, &world->gradient, &world->arena));
  return world_tape_swept(world);
}

static S2Status world_tape_push_rest(S2Tape *tape, S2Var node, void *data) {
  Rest *rest = data;
  (void)tape;
  return world_tape_push_live(rest->world, node, &rest->live, world_tape_undo_rest, rest);
}

static int world_tape_rest_rows(const void *data) {
  const Rest *rest = data;
  return rest->live.count;
}

S2Status s2_world_tape_static(S2WorldTape *tape, S2World *world, const S2StaticOptions *options,
                              S2StaticResult *result) {
  s2_arena_reset(&tape->arena);
  // The user's forces are cleared after the first step, but they also act on the equilibrium.
  size_t numbers = (size_t)world->f.count;
  double *f = S2_TAKE(&tape->arena, double, numbers);
  if (numbers > 0) {
    memcpy(f, world->f.at, sizeof(double) * numbers);
  }
  S2_TRY(s2_world_solve_static(world, options, result));
  // A step at the equilibrium pose gives the derivatives of that pose with respect to all data.
  Rest *rest = s2_tape_take(tape->tape, sizeof *rest);
  *rest = (Rest){.world = tape, .trace = s2_trace_new(), .found = result->solved};
  rest->at = s2_tape_take(tape->tape, sizeof *rest->at * numbers);
  for (int i = 0; i < world->order.count; i++) {
    int32_t slot = world->order.at[i];
    for (int c = 0; c < 3 && s2_body_moves(&world->bodies.at[slot]); c++) {
      rest->at[rest->count++] = 3 * slot + c;
    }
  }
  S2Status status = s2_world_rest_traced(world, f, rest->trace);
  if (status.code != S2_OK) {
    s2_trace_free(rest->trace);
    return status;
  }
  if (tape->checkpoints != NULL) {
    s2_checkpoints_break(tape->checkpoints);
  }
  // Without stabilization, joints drift, so the equilibrium pose depends on the path to it.
  bool drifts = world->kept.def.stabilization == S2_NO_STABILIZATION;
  if (drifts && world->joint_order.count > 0) {
    s2_world_tape_flag(tape, S2_GRADIENT_PARTIAL);
  }
  s2_world_gradient_fit(&tape->gradient, world);
  rest->bytes = s2_trace_bytes(rest->trace);
  s2_tape_count_bytes(tape->tape, (ptrdiff_t)rest->bytes);
  S2Var node =
      s2_tape_node(tape->tape, 0, NULL, world_tape_undo_rest, world_tape_release_rest, rest);
  s2_tape_set_forward(tape->tape, node, world_tape_push_rest, world_tape_rest_rows);
  return s2_ok();
}

// ---- User callbacks ---------------------------------------------------------------------------

bool s2_world_asks(const S2World *world) {
  bool asks = false;
  for (int i = 0; i < world->order.count; i++) {
    const S2Body *body = &world->bodies.at[world->order.at[i]];
    asks |= body->has_law || body->has_motion;
  }
  for (int i = 0; i < world->joint_order.count; i++) {
    const S2Joint *joint = &world->joints.at[world->joint_order.at[i]];
    asks |= joint->type == S2_CONSTRAINT || joint->has_law || joint->driven;
  }
  return asks;
}

void s2_world_tape_law_begin(S2WorldTape *tape) {
  tape->asks = true;
  tape->inputs.count = 0;
}

void s2_world_tape_law_clear(S2WorldTape *tape) {
  tape->inputs.count = 0;
}

const S2LawInput *s2_world_tape_law_inputs(const S2WorldTape *tape, int *count) {
  *count = tape->inputs.count;
  return tape->inputs.at;
}

void s2_world_tape_law_end(S2WorldTape *tape) {
  tape->asks = false;
}

static Step *world_tape_new_step(S2WorldTape *tape) {
  Step *step = s2_tape_take(tape->tape, sizeof *step);
  *step = (Step){.world = tape, .share = 1};
  return step;
}

static void world_tape_note_step(Step *step, const S2World *world) {
  S2WorldTape *tape = step->world;
  s2_world_gradient_fit(&tape->gradient, world);
  if (step->segment == NULL) {
    step->bytes = s2_trace_bytes(step->trace);
  } else { // the first step counts the bytes of the segment
    size_t bytes = s2_segment_bytes(step->segment);
    step->bytes = step->index == 0 ? bytes : 0;
  }
  s2_tape_count_bytes(tape->tape, (ptrdiff_t)step->bytes);
  S2Var node =
      s2_tape_node(tape->tape, 0, NULL, world_tape_undo_step, world_tape_release_step, step);
  s2_tape_set_forward(tape->tape, node, world_tape_push_step, world_tape_step_rows);
}

// If user callbacks read the states between parts of a step, record the parts one by one.
typedef struct Parts {
  Step *now;
  S2World *world;
} Parts;

static void world_tape_begin_part(Parts *parts, Step *earlier) {
  Step *step = parts->now = world_tape_new_step(parts->now->world);
  step->share = 1.0 / parts->world->kept.def.substeps;
  step->earlier = earlier;
  step->trace = s2_trace_new();
  parts->world->notes = &step->trace->notes;
}

static void world_tape_next_part(void *user) {
  Parts *parts = user;
  Step *ended = parts->now;
  ended->goes_on = true;
  world_tape_note_step(ended, parts->world);
  world_tape_begin_part(parts, ended);
}

static S2Status world_tape_step_in_parts(S2WorldTape *tape, S2World *world) {
  Step first = {.world = tape};
  Parts parts = {&first, world};
  S2_TRY(s2_world_idle(world));
  world_tape_begin_part(&parts, NULL);
  world->parted = world_tape_next_part;
  world->parted_user = &parts; // cppcheck-suppress autoVariables; reset below
  S2Status status = s2_world_step(world);
  world->parted = NULL;
  world->parted_user = NULL;
  world->notes = NULL;
  if (status.code == S2_OK) {
    world_tape_note_step(parts.now, world);
    return status;
  }
  s2_trace_free(parts.now->trace);
  for (Step *step = parts.now->earlier; step != NULL; step = step->earlier) {
    step->failed = true;
  }
  return status;
}

// Steps by programs need no notes if only derivatives with respect to the state and to forces are
// asked for. A number that becomes a parameter later does not affect the earlier steps.
static S2Recorder *world_tape_recorder(S2WorldTape *tape, const S2World *world) {
  if (tape->parameters || world->kept.def.gradient == S2_GRADIENT_SMOOTH) {
    return NULL;
  }
  if (tape->recorder == NULL) {
    tape->recorder = s2_memory_take(sizeof *tape->recorder);
    s2_recorder_init(tape->recorder, 1);
  }
  return tape->recorder;
}

S2Status s2_world_tape_advance(S2WorldTape *tape, S2World *world, int every) {
  bool in_parts = world->kept.def.substeps > 1 && s2_world_asks(world);
  if (every > 0 && !in_parts && s2_checkpoints_can(world)) {
    tape->checkpoints = tape->checkpoints == NULL ? s2_checkpoints_new() : tape->checkpoints;
    Step *step = world_tape_new_step(tape);
    S2_TRY(s2_checkpoints_step(tape->checkpoints, world, every, &step->segment, &step->index));
    world_tape_note_step(step, world);
    return s2_ok();
  }
  if (tape->checkpoints != NULL) {
    s2_checkpoints_break(tape->checkpoints);
  }
  if (in_parts) {
    return world_tape_step_in_parts(tape, world);
  }
  // Record the step by itself.
  Step *step = world_tape_new_step(tape);
  step->trace = s2_trace_new();
  S2Status status =
      s2_world_step_traced_state(world, world_tape_recorder(tape, world), step->trace);
  if (status.code != S2_OK) {
    s2_trace_free(step->trace);
    return status;
  }
  world_tape_note_step(step, world);
  return status;
}
