#include "diff/linear/linearize.h"

#include "diff/forward/step_tangent.h"
#include "diff/linear/direct.h"
#include "diff/linear/lines.h"
#include "diff/step/trace_notes.h"
#include "dynamics/control/control.h"
#include "dynamics/joints/joint.h"
#include "dynamics/program/program.h"

#include <string.h>

// ---- Inputs -----------------------------------------------------------------------------------

typedef struct Column { // a column of B: d(data that the step reads)/du
  S2InputKind kind;
  int32_t slot[2]; // both bodies, or only the joint if the input is a field of a joint
  double f[2][3];  // forces on both bodies
} Column;

static S2Status linearize_joint_column(const S2World *world, const S2Input *input, int number,
                                       Column *column) {
  int32_t slot;
  S2_TRY(s2_joint_slot(world, input->joint, &slot));
  const S2Joint *joint = &world->joints.at[slot];
  const char *name = s2_joint_type_name(joint->type);
  // The input is a field of the joint.
  if (input->kind == S2_INPUT_REST) {
    column->slot[0] = slot;
    return joint->has_spring ? s2_ok()
                             : s2_error(S2_INVALID, "inputs[%d]: the %s has no spring: give it one",
                                        number, name);
  }
  if (input->kind == S2_INPUT_GOAL) {
    column->slot[0] = slot;
    return joint->has_servo ? s2_ok()
                            : s2_error(S2_INVALID,
                                       "inputs[%d]: the %s has no servo: give it an actuator of "
                                       "kind 'position'",
                                       number, name);
  }
  if (input->kind == S2_INPUT_MOTOR_SPEED || input->kind == S2_INPUT_MOTOR_MAX) {
    column->slot[0] = slot;
    return joint->has_motor
               ? s2_ok()
               : s2_error(S2_INVALID, "inputs[%d]: the %s has no motor: give it one", number, name);
  }
  // The input is a force or torque between the bodies, along a coordinate of the joint.
  bool torque = input->kind == S2_INPUT_JOINT_TORQUE;
  bool turns = joint->type == S2_HINGE || joint->type == S2_WHEEL || joint->type == S2_WELD;
  bool slides = joint->type == S2_SLIDER || joint->type == S2_WHEEL;
  bool pulls = joint->type == S2_SPRING || joint->type == S2_DISTANCE || joint->type == S2_ROPE;
  if (!(torque ? turns : slides || pulls)) {
    return s2_error(S2_INVALID, "inputs[%d]: a %s cannot act on a %s", number,
                    torque ? "torque" : "force", name);
  }
  // f = amount J', the gradient of the coordinate
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
    // An input of a joint is a force on both bodies, or a field.
    if (input->kind != S2_INPUT_FORCE) {
      S2_TRY(linearize_joint_column(world, input, i + 1, &columns[i]));
      columns[i].f[0][0] =
          columns[i].kind == S2_INPUT_FORCE ? columns[i].f[0][0] : input->amount[0];
      continue;
    }
    // An input of a body is a force on it.
    S2_TRY(s2_body_slot(world, input->body, &columns[i].slot[0]));
    s2_input_push(world, input, columns[i].f[0]);
    if (!s2_body_yields(&world->bodies.at[columns[i].slot[0]])) {
      return s2_error(S2_INVALID, "inputs[%d]: a force cannot move this body; make it dynamic",
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
  if (column->kind == S2_INPUT_REST) {
    return g->joint[column->slot[0]].length * column->f[0][0];
  }
  if (column->kind == S2_INPUT_GOAL) {
    return g->joint[column->slot[0]].servo_goal * column->f[0][0];
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

S2Status s2_actuator_input(const S2World *world, int index, S2Input *input) {
  S2ActuatorDef def;
  S2_TRY(s2_actuator_info(world, index, &def));
  if ((def.kind == S2_ACTUATOR_POSITION && !def.implicit) || def.delay > 0) {
    return s2_error(S2_INVALID, "actuator '%s': %s cannot be an input of a linear step", def.name,
                    def.delay > 0 ? "one with a delay" : "an explicit position");
  }
  // Describe the effect of a command of 1 as a force or field of a joint, or a force on a body.
  *input = (S2Input){.body = def.body, .joint = def.joint, .amount = {1, 0, 0}};
  bool joint = def.joint.index != 0;
  if (def.kind == S2_ACTUATOR_POSITION) {
    input->kind = S2_INPUT_GOAL;
  } else if (def.kind == S2_ACTUATOR_SPEED) {
    input->kind = S2_INPUT_MOTOR_SPEED;
  } else if (def.kind == S2_ACTUATOR_TORQUE) {
    input->kind = joint ? S2_INPUT_JOINT_TORQUE : S2_INPUT_FORCE;
  } else if (joint) {
    input->kind = S2_INPUT_JOINT_FORCE;
  } else {
    input->kind = S2_INPUT_FORCE;
    input->amount[0] = s2_cross(def.at, def.direction);
    input->fixed = def.fixed;
    input->amount[1] = def.direction.x;
    input->amount[2] = def.direction.y;
  }
  return s2_ok();
}

// ---- Sweeps -----------------------------------------------------------------------------------

// Memory that repeated linearisations reuse, instead of allocating it each time.
struct S2Linearizer {
  S2Trace *trace;
  S2WorldGradient g;
};

S2Linearizer *s2_linearizer_new(void) {
  S2Linearizer *linearizer = s2_memory_take_zeroed(sizeof *linearizer);
  s2_dense_single_threaded();
  linearizer->trace = s2_trace_new();
  return linearizer;
}

void s2_linearizer_free(S2Linearizer *linearizer) {
  if (linearizer != NULL) {
    s2_world_gradient_free(&linearizer->g);
    s2_trace_free(linearizer->trace);
    s2_memory_free(linearizer);
  }
}

// dl/dq += u (dF/dq)' dl/dF
static void linearize_turn(S2Turning *turning, S2WorldGradient *g) {
  const S2Lines *lines = &turning->lines;
  const S2World *world = lines->world;
  if (turning->count == 0) {
    return;
  }
  for (int i = 0; i < world->order.count; i++) {
    int32_t slot = world->order.at[i], at = lines->column[slot];
    for (int c = 0; c < 3 && at != S2_NONE; c++) {
      turning->force[at + c] = g->f[3 * slot + c];
      turning->by_pose[at + c] = 0;
    }
  }
  for (int i = 0; i < turning->count; i++) {
    s2_line_bend(lines, &turning->line[i], turning->u[i], turning->force, turning->by_pose);
  }
  for (int i = 0; i < world->order.count; i++) {
    int32_t slot = world->order.at[i], at = lines->column[slot];
    for (int c = 0; c < 3 && at != S2_NONE; c++) {
      g->q[3 * slot + c] += turning->by_pose[at + c];
    }
  }
}

// Computes one row of A and B. It is the derivative of a weighted sum of the final state with
// respect to the initial state and the inputs. `sum` contains the weights.
static S2Status linearize_sweep(S2Linearizer *linearizer, const S2World *world,
                                const Column *columns, int inputs, S2Turning *turning,
                                const double *sum, S2Arena *arena, double *row_a, double *row_b) {
  S2WorldGradient *g = &linearizer->g;
  unsigned flags = g->flags;
  // The weights are dl/d(final state).
  s2_world_gradient_clear(g);
  for (int i = 0, at = 0; i < world->order.count; i++) {
    int32_t slot = world->order.at[i];
    if (s2_body_yields(&world->bodies.at[slot])) {
      memcpy(g->q + 3 * slot, sum + at, 3 * sizeof(double));
      memcpy(g->v + 3 * slot, sum + at + 3, 3 * sizeof(double));
      at += 6;
    }
  }
  // The resulting dl/d(initial state) is the row of A.
  S2_TRY(s2_trace_vjp(linearizer->trace, g, arena));
  linearize_turn(turning, g);
  for (int i = 0, at = 0; i < world->order.count; i++) {
    int32_t slot = world->order.at[i];
    if (s2_body_yields(&world->bodies.at[slot])) {
      memcpy(row_a + at, g->q + 3 * slot, 3 * sizeof(double));
      memcpy(row_a + at + 3, g->v + 3 * slot, 3 * sizeof(double));
      at += 6;
    }
  }
  // Inputs act as forces on bodies, or as fields.
  for (int k = 0; k < inputs; k++) {
    row_b[k] = linearize_along(world, &columns[k], g);
  }
  g->flags |= flags;
  return s2_ok();
}

// `rows` weighted sums of the final state of a step (weights: rows x states). They are
// differentiated with respect to the initial state (rows x states) and the inputs (rows x inputs).
typedef struct Sweeps {
  const Column *columns;
  int count, rows, states;
  double *sum, *a, *b;
} Sweeps;

// One backward sweep per row over the step that the linearizer has recorded.
static S2Status linearize_rows(S2Linearizer *linearizer, const S2World *world, const Sweeps *sweeps,
                               S2Turning *turning, S2Arena *arena) {
  for (int i = 0; i < sweeps->rows; i++) {
    size_t at = (size_t)i * (size_t)sweeps->states;
    S2_TRY(linearize_sweep(linearizer, world, sweeps->columns, sweeps->count, turning,
                           sweeps->sum + at, arena, sweeps->a + at, sweeps->b + i * sweeps->count));
  }
  // There is no derivative if the sweep met a singular linear system.
  return (linearizer->g.flags & S2_GRADIENT_SINGULAR) == 0
             ? s2_ok()
             : s2_error(S2_UNSOLVED,
                        "linearize: a linear system for the derivative could not be solved");
}

// Only a step that calls a force law shows if the law supplies slopes. If a law has none, the world
// returns to its initial state.
typedef struct Return {
  size_t size; // 0: nothing to return to
  unsigned char *image;
} Return;

static Return return_keep(const S2World *world, S2Arena *arena) {
  bool asks = false;
  for (int i = 0; i < world->order.count; i++) {
    asks |= world->bodies.at[world->order.at[i]].has_law;
  }
  Return back = {asks ? s2_world_image_size(world) : 0, NULL};
  back.image = S2_TAKE(arena, unsigned char, back.size + 1);
  if (asks) {
    s2_world_image_write(world, back.image);
  }
  return back;
}

static S2Status return_to(S2World *world, const Return *back, S2Status status) {
  if (back->size > 0 && status.code != S2_OK && s2_world_idle(world).code == S2_OK) {
    S2_TRY(s2_world_image_read(world, back->image, back->size));
  }
  return status;
}

static S2Status linearize_swept(S2Linearizer *linearizer, S2World *world, const S2Input *inputs,
                                Sweeps *sweeps, S2Arena *arena) {
  Column *columns = S2_TAKE(arena, Column, sweeps->count + 1);
  S2_TRY(linearize_columns_of(world, inputs, sweeps->count, columns));
  sweeps->columns = columns;
  S2Turning turning;
  S2_TRY(s2_turning_of(world, true, arena, &turning));
  linearizer->trace->keeps_pieces = false;
  S2_TRY(s2_world_step_traced(world, linearizer->trace));
  s2_world_gradient_fit(&linearizer->g, world);
  linearizer->g.flags = 0;
  return linearize_rows(linearizer, world, sweeps, &turning, arena);
}

S2Status s2_world_linearize(S2World *world, const S2Input *inputs, int count, S2Arena *arena,
                            S2Linear *linear) {
  int states = s2_world_state_size(world);
  size_t numbers = (size_t)states * (size_t)states;
  S2_TRY(s2_world_idle(world));
  *linear = (S2Linear){.states = states,
                       .inputs = count,
                       .a = S2_TAKE_ZEROED(arena, double, numbers + 1),
                       .b = S2_TAKE_ZEROED(arena, double, states *count + 1)};
  // Sweep once per entry of the state, with the unit matrix as weights.
  Sweeps sweeps = {NULL,      count,    states, states, S2_TAKE_ZEROED(arena, double, numbers + 1),
                   linear->a, linear->b};
  for (int i = 0; i < states; i++) {
    sweeps.sum[(size_t)i * (size_t)states + (size_t)i] = 1;
  }
  S2Linearizer *linearizer = s2_linearizer_new();
  Return back = return_keep(world, arena);
  S2Status status = linearize_swept(linearizer, world, inputs, &sweeps, arena);
  status = return_to(world, &back, status);
  linear->flags = linearizer->g.flags;
  s2_linearizer_free(linearizer);
  return status;
}

// ---- Reduced ----------------------------------------------------------------------------------

// The linear map of several steps, from the reduced state at their start. `full` is true if
// `tangents` contains the derivatives of the present state: one column per reduced state and per
// input. Otherwise the matrices of `linear` contain those of the reduced state.
typedef struct Period {
  S2Linearizer *linearizer;
  S2World *world;
  const S2Input *inputs;
  const S2Reduction *reduction;
  S2Arena *arena;
  S2Linear *linear;
  int n, m, count; // sizes of the state, the reduced state and the inputs
  bool full;
  S2Lines lines;
  S2Tangents tangents;
} Period;

// tangents = lift (A, B)
static S2Status period_lift(Period *period, bool first) {
  int m = period->m, count = period->count, columns = period->tangents.columns;
  S2ArenaMark mark = s2_arena_mark(period->arena);
  double *lift = S2_TAKE(period->arena, double, period->n *m + 1);
  S2_TRY(s2_reduction_lift(period->world, period->reduction, period->arena, lift));
  for (int i = 0; i < period->n / 2; i++) {
    for (int speed = 0; speed < 2; speed++) {
      const double *row = lift + (s2_reduction_place(i) + 3 * speed) * m;
      double *to = (speed ? period->tangents.v : period->tangents.q) + i * columns;
      memset(to, 0, sizeof(double) * (size_t)columns);
      for (int k = 0; k < m; k++) {
        to[k] += first ? row[k] : 0;
        for (int d = 0; d < m && !first; d++) {
          to[d] += row[k] * period->linear->a[k * m + d];
        }
        for (int d = 0; d < count && !first; d++) {
          to[m + d] += row[k] * period->linear->b[k * count + d];
        }
      }
    }
  }
  period->full = true;
  s2_arena_rewind(period->arena, mark);
  return s2_ok();
}

// (A, B) = rows tangents, where `rows` (m x n) depend on the state
static void period_lower(Period *period, const double *rows) {
  int m = period->m, count = period->count, columns = period->tangents.columns;
  double *a = period->linear->a, *b = period->linear->b;
  memset(a, 0, sizeof(double) * (size_t)(m * m));
  memset(b, 0, sizeof(double) * (size_t)(m * count));
  for (int r = 0; r < m; r++) {
    for (int i = 0; i < period->n; i++) {
      double part = rows[r * period->n + s2_reduction_place(i / 2) + 3 * (i % 2)];
      const double *from = (i % 2 ? period->tangents.v : period->tangents.q) + i / 2 * columns;
      for (int d = 0; d < m && part != 0; d++) {
        a[r * m + d] += part * from[d];
      }
      for (int d = 0; d < count && part != 0; d++) {
        b[r * count + d] += part * from[m + d];
      }
    }
  }
  period->full = false;
}

// Sets the derivatives of the forces and fields that the inputs set. Returns false if an input has
// no forward derivative.
static bool period_push(Period *period, const Column *columns) {
  S2Tangents *to = &period->tangents;
  bool good = true;
  to->fields = 0;
  memset(to->force, 0, sizeof(double) * (size_t)(to->n * to->columns));
  for (int k = 0; k < period->count; k++) {
    const Column *column = &columns[k];
    bool goal = column->kind == S2_INPUT_GOAL;
    // A force acts on one or two bodies.
    for (int side = 0; side < 2 && column->kind == S2_INPUT_FORCE; side++) {
      int32_t slot = column->slot[side],
              at = slot == S2_NONE ? S2_NONE : period->lines.column[slot];
      for (int c = 0; c < 3 && at != S2_NONE; c++) {
        to->force[(at + c) * to->columns + period->m + k] += column->f[side][c];
      }
    }
    if (goal || column->kind == S2_INPUT_MOTOR_SPEED) {
      to->field[to->fields++] = (S2FieldTangent){.joint = column->slot[0],
                                                 .index = goal ? S2_JOINT_SERVO : S2_JOINT_MOTOR,
                                                 .column = period->m + k,
                                                 .amount = column->f[0][0]};
    } else if (column->kind != S2_INPUT_FORCE) {
      good = false;
    }
  }
  return good;
}

// Takes a step. Moves the tangents forward over the step, or multiplies them by the rows of
// backward sweeps.
static S2Status period_step(Period *period, Column *columns) {
  S2Linearizer *linearizer = period->linearizer;
  S2World *world = period->world;
  S2Arena *arena = period->arena;
  S2ArenaMark mark = s2_arena_mark(arena);
  S2Turning turning;
  S2_TRY(linearize_columns_of(world, period->inputs, period->count, columns));
  S2_TRY(s2_turning_of(world, true, arena, &turning));
  bool forward = period_push(period, columns);
  S2_TRY(s2_tangents_turn(world, arena, &period->tangents));
  // Take the step.
  linearizer->trace->keeps_pieces = forward;
  S2_TRY(s2_world_step_traced(world, linearizer->trace));
  forward = forward && s2_step_tangent(world, &linearizer->trace->notes, &period->lines, arena,
                                       &period->tangents);
  if (!forward) {
    int n = period->n, m = period->m, count = period->count;
    double *at = S2_TAKE(arena, double, 2 * n * m + m * count + 1);
    Sweeps sweeps = {columns, count, m, n, at, at + n * m, at + 2 * n * m};
    s2_world_gradient_fit(&linearizer->g, world);
    linearizer->g.flags = 0;
    S2_TRY(s2_reduction_lower(world, period->reduction, arena, sweeps.sum));
    S2_TRY(linearize_rows(linearizer, world, &sweeps, &turning, arena));
    period->linear->flags |= linearizer->g.flags;
    period_lower(period, sweeps.a);
    for (int i = 0; i < m * count; i++) {
      period->linear->b[i] += sweeps.b[i];
    }
  }
  s2_arena_rewind(arena, mark);
  return s2_ok();
}

static S2Status period_steps(Period *period, int steps) {
  Column *columns = S2_TAKE(period->arena, Column, period->count + 1);
  for (int step = 0; step < steps; step++) {
    if (!period->full) {
      S2_TRY(period_lift(period, step == 0));
    }
    S2_TRY(period_step(period, columns));
  }
  if (period->full) {
    double *lower = S2_TAKE(period->arena, double, period->n * period->m + 1);
    S2_TRY(s2_reduction_lower(period->world, period->reduction, period->arena, lower));
    period_lower(period, lower);
  }
  return s2_ok();
}

S2Status s2_linearizer_steps(S2Linearizer *linearizer, S2World *world, const S2Input *inputs,
                             int count, const S2Reduction *reduction, int steps, S2Arena *arena,
                             S2Linear *linear) {
  int m = 2 * reduction->m;
  bool direct;
  S2_TRY(s2_direct_try(world, inputs, count, reduction, steps, arena, linear, &direct));
  if (direct) {
    return s2_ok();
  }
  *linear = (S2Linear){.states = m,
                       .inputs = count,
                       .a = S2_TAKE(arena, double, m *m + 1),
                       .b = S2_TAKE(arena, double, m *count + 1),
                       .coordinates = reduction->m,
                       .coordinate = reduction->coordinate};
  // The steps keep their matrices in `linear`, which lies before the mark.
  S2ArenaMark mark = s2_arena_mark(arena);
  Period period = {.linearizer = linearizer,
                   .world = world,
                   .inputs = inputs,
                   .reduction = reduction,
                   .arena = arena,
                   .linear = linear,
                   .n = 2 * reduction->n,
                   .m = m,
                   .count = count,
                   .lines = s2_lines_of(world, arena),
                   .tangents = s2_tangents_new(reduction->n, m + count, count, arena)};
  Return back = return_keep(world, arena);
  S2Status status = return_to(world, &back, period_steps(&period, steps));
  s2_arena_rewind(arena, mark);
  return status;
}

S2Status s2_world_linearize_reduced(S2World *world, const S2Input *inputs, int count,
                                    const S2Coordinate *wanted, int wanted_count, S2Arena *arena,
                                    S2Linear *linear) {
  S2Reduction *reduction = S2_TAKE(arena, S2Reduction, 1);
  S2_TRY(s2_world_idle(world));
  S2_TRY(s2_reduction_choose(world, wanted, wanted_count, arena, reduction));
  // Report invalid inputs before the world changes.
  S2_TRY(linearize_columns_of(world, inputs, count, S2_TAKE(arena, Column, count + 1)));
  S2Linearizer *linearizer = s2_linearizer_new();
  S2Status status =
      s2_linearizer_steps(linearizer, world, inputs, count, reduction, 1, arena, linear);
  s2_linearizer_free(linearizer);
  return status;
}
