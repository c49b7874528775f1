#include "diff/linear/linearize.h"

#include "diff/linear/reduce.h"
#include "diff/step/trace.h"
#include "dynamics/joints/joint.h"

#include <string.h>

// ---- Inputs -----------------------------------------------------------------------------------

typedef struct Column { // of B: d(what the step reads)/du
  S2InputKind kind;
  int32_t slot[2]; // bodies; a joint first where the input is one of its fields
  double f[2][3];  // on these bodies
} Column;

static S2Status linearize_joint_column(const S2World *world, const S2Input *input, int number,
                                       Column *column) {
  int32_t slot;
  S2_TRY(s2_joint_slot(world, input->joint, &slot));
  const S2Joint *joint = &world->joints.at[slot];
  const char *name = s2_joint_type_name(joint->type);
  // A number of the joint's own, ...
  if (input->kind == S2_INPUT_MOTOR_SPEED || input->kind == S2_INPUT_MOTOR_MAX) {
    column->slot[0] = slot;
    return joint->has_motor
               ? s2_ok()
               : s2_error(S2_INVALID, "inputs[%d]: the %s has no motor: give it one", number, name);
  }
  // ... or a force or torque between its bodies, along a coordinate it has.
  bool torque = input->kind == S2_INPUT_JOINT_TORQUE;
  bool turns = joint->type == S2_HINGE || joint->type == S2_WHEEL || joint->type == S2_WELD;
  bool slides = joint->type == S2_SLIDER || joint->type == S2_WHEEL;
  bool pulls = joint->type == S2_SPRING || joint->type == S2_DISTANCE || joint->type == S2_ROPE;
  if (!(torque ? turns : slides || pulls)) {
    return s2_error(S2_INVALID, "inputs[%d]: a %s cannot act on a %s", number,
                    torque ? "torque" : "force", name);
  }
  // f = amount J'
  S2JointAt at = {.world = world, .joint = joint, .q = world->q.at};
  S2JointRow row = {0};
  (torque   ? s2_measure_angle
   : slides ? s2_measure_translation
            : s2_measure_length)(&at, &row, NULL);
  column->kind = S2_INPUT_FORCE;
  column->slot[0] = joint->a;
  column->slot[1] = joint->b;
  for (int c = 0; c < 3; c++) {
    column->f[0][c] = input->amount[0] * row.ja[c];
    column->f[1][c] = input->amount[0] * row.jb[c];
  }
  return s2_ok();
}

static S2Status linearize_columns_of(const S2World *world, const S2Input *inputs, int count,
                                     Column *columns) {
  for (int i = 0; i < count; i++) {
    const S2Input *input = &inputs[i];
    columns[i] = (Column){.kind = input->kind, .slot = {S2_NONE, S2_NONE}};
    for (int c = 0; c < 3; c++) {
      if (!isfinite(input->amount[c])) {
        return s2_error(S2_INVALID, "inputs[%d]: finite numbers expected", i + 1);
      }
    }
    // Of joints: a force on both bodies, or a number.
    if (input->kind != S2_INPUT_FORCE) {
      S2_TRY(linearize_joint_column(world, input, i + 1, &columns[i]));
      columns[i].f[0][0] =
          columns[i].kind == S2_INPUT_FORCE ? columns[i].f[0][0] : input->amount[0];
      continue;
    }
    // Of a body: a force on it.
    S2_TRY(s2_body_slot(world, input->body, &columns[i].slot[0]));
    memcpy(columns[i].f[0], input->amount, sizeof input->amount);
    if (!s2_body_yields(&world->bodies.at[columns[i].slot[0]])) {
      return s2_error(S2_INVALID, "inputs[%d]: forces do not move a body that nothing pushes",
                      i + 1);
    }
  }
  return s2_ok();
}

static double linearize_along(const S2World *world, const Column *column,
                              const S2WorldGradient *g) {
  double sum = 0;
  if (column->kind == S2_INPUT_MOTOR_SPEED) {
    return g->joint[column->slot[0]].motor_speed * column->f[0][0];
  }
  if (column->kind == S2_INPUT_MOTOR_MAX) {
    return g->joint[column->slot[0]].motor_max * column->f[0][0];
  }
  for (int side = 0; side < 2; side++) {
    int32_t slot = column->slot[side];
    for (int c = 0; c < 3 && slot != S2_NONE; c++) {
      bool moves = s2_body_yields(&world->bodies.at[slot]);
      sum += moves ? g->f[3 * slot + c] * column->f[side][c] : 0;
    }
  }
  return sum;
}

// ---- Sweeps -----------------------------------------------------------------------------------

static S2Status linearize_check_laws(const S2World *world) {
  for (int i = 0; i < world->order.count; i++) {
    int32_t slot = world->order.at[i];
    if (world->bodies.at[slot].has_law && world->callbacks.force != NULL) {
      char label[S2_NAME_SIZE + 8];
      s2_body_label(world, slot, label);
      return s2_error(S2_INVALID,
                      "linearize: body %s has a force law, whose derivative is not known: remove "
                      "the law, or take differences of steps",
                      label);
    }
  }
  return s2_ok();
}

// One row of A and B: the derivative of number `of` of the state after the step.
static S2Status linearize_sweep(const S2World *world, const S2Trace *trace, const Column *columns,
                                int of, S2WorldGradient *g, S2Arena *arena, S2Linear *linear) {
  unsigned flags = g->flags;
  // dl/d(state) is the unit vector of that number, ...
  s2_world_gradient_clear(g);
  for (int i = 0, at = 0; i < world->order.count; i++) {
    int32_t slot = world->order.at[i];
    bool moves = s2_body_yields(&world->bodies.at[slot]);
    if (moves && of >= at && of < at + 6) {
      (of - at < 3 ? g->q : g->v)[3 * slot + (of - at) % 3] = 1;
    }
    at += moves ? 6 : 0;
  }
  // ... and what it becomes is the row.
  S2_TRY(s2_trace_vjp(trace, g, arena));
  double *row = linear->a + (size_t)of * (size_t)linear->states;
  for (int i = 0, at = 0; i < world->order.count; i++) {
    int32_t slot = world->order.at[i];
    if (s2_body_yields(&world->bodies.at[slot])) {
      memcpy(row + at, g->q + 3 * slot, 3 * sizeof(double));
      memcpy(row + at + 3, g->v + 3 * slot, 3 * sizeof(double));
      at += 6;
    }
  }
  // Inputs act as forces of the step, or as fields.
  for (int k = 0; k < linear->inputs; k++) {
    linear->b[of * linear->inputs + k] = linearize_along(world, &columns[k], g);
  }
  g->flags |= flags;
  return s2_ok();
}

S2Status s2_world_linearize(S2World *world, const S2Input *inputs, int count, S2Arena *arena,
                            S2Linear *linear) {
  int states = s2_world_state_size(world);
  size_t numbers = (size_t)states * (size_t)states;
  S2_TRY(s2_world_idle(world));
  S2_TRY(linearize_check_laws(world));
  *linear = (S2Linear){.states = states,
                       .inputs = count,
                       .a = S2_TAKE_ZEROED(arena, double, numbers + 1),
                       .b = S2_TAKE_ZEROED(arena, double, states *count + 1)};
  Column *columns = S2_TAKE(arena, Column, count + 1);
  S2_TRY(linearize_columns_of(world, inputs, count, columns));
  // One step, and a sweep over it for each number of the state.
  S2Trace *trace = s2_trace_new();
  S2WorldGradient g = {0};
  S2Status status = s2_world_step_traced(world, trace);
  if (status.code == S2_OK) {
    s2_world_gradient_fit(&g, world);
  }
  for (int i = 0; i < states && status.code == S2_OK; i++) {
    status = linearize_sweep(world, trace, columns, i, &g, arena, linear);
  }
  // A derivative that some system did not give is none.
  linear->flags = g.flags;
  if (status.code == S2_OK && (g.flags & S2_GRADIENT_SINGULAR) != 0) {
    status = s2_error(S2_UNSOLVED, "linearize: a linear system of the derivative was not solved");
  }
  s2_world_gradient_free(&g);
  s2_trace_free(trace);
  return status;
}

// ---- Reduced ----------------------------------------------------------------------------------

// out = x (a x b) times y (b x c)
static void linearize_multiply(int a, int b, int c, const double *x, const double *y, double *out) {
  memset(out, 0, sizeof(double) * (size_t)(a * c));
  for (int i = 0; i < a; i++) {
    for (int k = 0; k < b; k++) {
      for (int j = 0; j < c; j++) {
        out[i * c + j] += x[i * b + k] * y[k * c + j];
      }
    }
  }
}

S2Status s2_world_linearize_reduced(S2World *world, const S2Input *inputs, int count,
                                    const S2Coordinate *wanted, int wanted_count, S2Arena *arena,
                                    S2Linear *linear) {
  S2Reduction reduction;
  S2Linear all;
  S2_TRY(s2_world_idle(world));
  // Coordinates, and a state that obeys the joints to the last digit.
  S2_TRY(s2_reduction_choose(world, wanted, wanted_count, arena, &reduction));
  S2_TRY(s2_reduction_settle(world, &reduction, arena));
  int n = 2 * reduction.n, m = 2 * reduction.m;
  double *lift = S2_TAKE(arena, double, n *m + 1), *lower = S2_TAKE(arena, double, n *m + 1);
  double *half = S2_TAKE(arena, double, n *m + 1);
  S2_TRY(s2_reduction_lift(world, &reduction, arena, lift));
  S2_TRY(s2_world_linearize(world, inputs, count, arena, &all));
  s2_reduction_lower(world, &reduction, arena, lower);
  // A = lower A lift, B = lower B
  *linear = (S2Linear){.states = m,
                       .inputs = count,
                       .a = S2_TAKE(arena, double, m *m + 1),
                       .b = S2_TAKE(arena, double, m *count + 1),
                       .flags = all.flags,
                       .coordinates = reduction.m,
                       .coordinate = reduction.coordinate};
  linearize_multiply(m, n, n, lower, all.a, half);
  linearize_multiply(m, n, m, half, lift, linear->a);
  linearize_multiply(m, n, count, lower, all.b, linear->b);
  return s2_ok();
}
