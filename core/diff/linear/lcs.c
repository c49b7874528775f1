#include "diff/linear/lcs.h"

#include "diff/linear/lcs_work.h"
#include "dynamics/control/apply.h"
#include "dynamics/step/acted.h"
#include "dynamics/step/forces.h"
#include "dynamics/step/touch.h"

#include <math.h>
#include <string.h>

// Let p be the impulses along the lines of all rows. Consider a step without contacts, limits and
// drives, in which J'p/h acts as a force. It ends in the same state as the real step, and its v1 is
// affine in p. Its derivatives with respect to state, inputs and force (linearize.h) give A, B and
// D. The derivatives of its velocities without projection give E, H and F. J and J'p also turn with
// the poses. Contacts change the projection of positions, but this step has no contacts. So the
// change is measured at x0, u0 (`defect`) and becomes a part of d.

// ---- Coordinates ------------------------------------------------------------------------------

S2Status s2_coordinates_read(S2World *world, const S2Coordinate *coordinate, int count,
                             S2Arena *arena, double *x) {
  S2ArenaMark mark = s2_arena_mark(arena);
  S2Lines lines = s2_lines_of(world, arena);
  S2Reduction reduction = {lines.n, count, S2_TAKE(arena, S2Coordinate, count + 1)};
  if (count > 0) {
    memcpy(reduction.coordinate, coordinate, sizeof *coordinate * (size_t)count);
  }
  // Remove the part of the velocities that violates the joints. It is restored below.
  S2LineSystem system;
  double *v = s2_reduction_keep(world, arena);
  S2Status status = s2_lines_solve_for(world, &reduction, arena, &system);
  if (status.code == S2_OK) {
    status = s2_reduction_settle_by(world, &system, NULL);
  }
  for (int k = 0; k < count && status.code == S2_OK; k++) {
    const S2Line *line = &system.line[system.rigid + k];
    x[k] = line->value;
    x[count + k] = line->rest;
    for (int i = 0; i < world->order.count; i++) {
      int32_t slot = world->order.at[i], at = system.lines.column[slot];
      for (int c = 0; c < 3 && at != S2_NONE; c++) {
        x[count + k] += line->j[at + c] * world->v.at[3 * slot + c];
      }
    }
  }
  s2_reduction_restore(world, v);
  s2_arena_rewind(arena, mark);
  return status;
}

// ---- Steps of clones --------------------------------------------------------------------------

// Clones the world, so that the clone steps exactly like it.
static S2Status lcs_clone_same(const S2World *world, S2World **clone) {
  S2_TRY(s2_world_clone(world, clone));
  (*clone)->callbacks = world->callbacks;
  return s2_ok();
}

static S2Status lcs_clone(const S2World *world, S2World **clone) {
  S2_TRY(lcs_clone_same(world, clone));
  S2WorldDef def = world->kept.def;
  def.stepping = S2_SPECULATIVE;
  def.flow = S2_FLOW_PROJECTED;
  return s2_world_configure(*clone, &def);
}

// Returns true if dry friction holds the joint at the point of linearisation.
static bool lcs_friction_sticks(const S2LcsWork *work, int32_t slot) {
  static const double at_bound = 1 - 1e-9; // the same threshold as in dynamics/project/project.c
  bool sticks = false;
  for (int i = 0; i < work->rows.part_count; i++) {
    const S2LcsPart *part = &work->rows.part[i];
    if (part->kind == S2_LCS_FRICTION && part->joint.index == (uint32_t)slot + 1) {
      sticks = fabs(work->lcs->lambda[part->row] - part->most) < at_bound * part->most;
    }
  }
  return sticks;
}

// Makes a clone in which only joints act, and J'p acts as a force.
static S2Status lcs_clone_free(const S2LcsWork *work, bool projected, S2World **clone) {
  S2_TRY(lcs_clone(work->world, clone));
  S2World *free = *clone;
  S2WorldDef def = free->kept.def;
  def.stabilization = projected ? def.stabilization : S2_NO_STABILIZATION;
  S2_TRY(s2_world_configure(free, &def));
  for (int i = 0; i < free->bodies.count; i++) {
    free->bodies.at[i].mask = 0;
  }
  // Coinciding limits and unbounded motors are equations, so the clone keeps them. Projection must
  // not change the velocities of a joint with a bounded motor or sticking friction. So either of
  // these becomes a motor of zero effort.
  for (int i = 0; i < free->joint_order.count; i++) {
    int32_t slot = free->joint_order.at[i];
    S2Joint *joint = &free->joints.at[slot];
    bool drives = (joint->has_motor && joint->motor_max < INFINITY) ||
                  (projected && lcs_friction_sticks(work, slot));
    if (joint->limit_lo < joint->limit_hi) {
      joint->limit_lo = -INFINITY;
      joint->limit_hi = INFINITY;
    }
    if (drives && !(joint->has_motor && joint->motor_max == INFINITY)) {
      joint->has_motor = true;
      joint->motor_max = 0;
    }
    joint->friction = 0;
  }
  for (int i = 0; i < free->order.count; i++) {
    int32_t slot = free->order.at[i], at = work->rows.lines.column[slot];
    for (int c = 0; c < 3 && at != S2_NONE; c++) {
      free->f.at[3 * slot + c] += work->impulse[at + c] / work->h;
    }
  }
  s2_world_changed(free);
  return s2_ok();
}

static void lcs_gather(const S2LcsWork *work, const double *from, double *to) {
  const S2World *world = work->world;
  for (int i = 0; i < world->order.count; i++) {
    int32_t slot = world->order.at[i], at = work->rows.lines.column[slot];
    if (at != S2_NONE) {
      memcpy(to + at, from + 3 * slot, 3 * sizeof(double));
    }
  }
}

// Computes v1 and its derivatives, from a step without projection.
static S2Status lcs_look_at_velocities(S2LcsWork *work) {
  S2World *free = NULL;
  S2Linear linear;
  int n = work->n, m = work->m, inputs = work->inputs;
  S2ArenaMark mark = s2_arena_mark(work->arena);
  S2Status status = lcs_clone_free(work, false, &free);
  if (status.code == S2_OK) {
    status = s2_world_linearize(free, work->input, inputs + n, work->arena, &linear);
  }
  if (status.code == S2_OK) {
    lcs_gather(work, free->v.at, work->v);
    for (int i = 0; i < n; i++) {
      const double *a = linear.a + (s2_reduction_place(i) + 3) * linear.states;
      const double *b = linear.b + (s2_reduction_place(i) + 3) * linear.inputs;
      memcpy(work->by_input + i * inputs, b, sizeof(double) * (size_t)inputs);
      for (int j = 0; j < n; j++) {
        work->by_impulse[i * n + j] = b[inputs + j] / work->h;
      }
      memset(work->by_state + i * m, 0, sizeof(double) * (size_t)m);
      s2_lcs_multiply(1, 2 * n, m, a, work->lift, work->by_state + i * m);
    }
    // J'p turns with the poses.
    double *turned = s2_lcs_numbers(work, n, n), *lift_q = s2_lcs_numbers(work, n, m);
    for (int i = 0; i < n; i++) {
      memcpy(lift_q + i * m, s2_lcs_lift_q(work, i), sizeof(double) * (size_t)m);
    }
    s2_lcs_multiply(n, n, n, work->by_impulse, work->bend, turned);
    s2_lcs_multiply(n, n, m, turned, lift_q, work->by_state);
  }
  s2_world_destroy(free);
  s2_arena_rewind(work->arena, mark);
  return status;
}

// ---- Rows -------------------------------------------------------------------------------------

// Fills row r of the motion in E, H and F. c receives the value of the row at lambda = 0.
static void lcs_motion_row(const S2LcsWork *work, const S2LcsPart *part, int r) {
  const S2LcsRows *rows = &work->rows;
  const S2LcsRow *row = &rows->row[r];
  S2Lcs *lcs = work->lcs;
  S2LcsSpeed speed = {
      .e = lcs->e + r * work->m, .h = lcs->h + r * work->inputs, .f = lcs->f + r * lcs->rows};
  if (row->line >= 0) {
    const S2LcsLine *line = &rows->line[row->line];
    s2_lcs_speed(work, r, &speed);
    speed.value += row->sign * line->bias;
    for (int i = 0; i < work->n; i++) {
      double by_q = row->sign * line->by_value * line->line.j[i];
      s2_lcs_multiply(1, 1, work->m, &by_q, s2_lcs_lift_q(work, i), speed.e);
    }
  } else if (part->kind != S2_LCS_CONTACT) {
    speed.value = 2 * part->most;
  }
  for (int k = part->row; k < part->row + part->rows; k++) {
    speed.f[k] += s2_lcs_coupling(work, part, r, k);
  }
  lcs->c[r] = speed.value;
  // A motor's goal is an input.
  const S2LcsPart *drive = part->kind == S2_LCS_MOTOR && row->line >= 0 ? part : NULL;
  for (int k = 0; k < work->inputs && drive != NULL; k++) {
    const S2Input *input = &work->input[k];
    bool own = input->kind == S2_INPUT_MOTOR_SPEED && input->joint.index == drive->joint.index;
    speed.h[k] -= own ? input->amount[0] : 0;
  }
}

// ---- The step at hand -------------------------------------------------------------------------

// Begins a step, and finds its touches and free motion in the arena of `world`.
static S2Status lcs_begin_step(S2World *world, S2Step *step) {
  S2_TRY(s2_world_push(world));
  *step = s2_step_begin(world, 0, 1);
  s2_acted_begin(step);
  world->stepping = true;
  s2_constraints_begin(world);
  s2_motions_begin(world);
  bool going = s2_step_forces(step) && s2_step_free_motion(step, step->dt) && s2_step_touches(step);
  world->stepping = false;
  s2_motions_end(world);
  S2_TRY(s2_constraints_end(world));
  return going ? s2_ok() : s2_error(S2_ABORTED, "the step was stopped by a callback");
}

// Steps a clone. Writes the final state to `x`. Sets *strikes if there was an impact.
static S2Status lcs_step_clone(const S2LcsWork *work, S2World *clone, double *x, bool *strikes) {
  uint64_t before = clone->stats.second_solves;
  S2_TRY(s2_world_step(clone));
  *strikes = clone->stats.second_solves > before;
  return s2_coordinates_read(clone, work->reduction.coordinate, work->reduction.m, work->arena, x);
}

// Takes the step that the system describes, and then the step with the world's own settings.
static S2Status lcs_take_steps(const S2LcsWork *work, bool *strikes) {
  S2World *described = NULL, *own = NULL;
  bool unused;
  S2Status status = lcs_clone(work->world, &described);
  if (status.code == S2_OK) {
    status = lcs_step_clone(work, described, work->lcs->next, strikes);
  }
  if (status.code == S2_OK) {
    status = lcs_clone_same(work->world, &own);
  }
  if (status.code == S2_OK) {
    status = lcs_step_clone(work, own, work->lcs->difference, &unused);
  }
  s2_world_destroy(described);
  s2_world_destroy(own);
  return status;
}

// Computes the rows at the present v1, and the lambda that solves them.
static S2Status lcs_motion(S2LcsWork *work) {
  S2Lcs *lcs = work->lcs;
  memset(lcs->e, 0, sizeof(double) * (size_t)(lcs->rows * work->m));
  memset(lcs->h, 0, sizeof(double) * (size_t)(lcs->rows * work->inputs));
  memset(lcs->f, 0, sizeof(double) * (size_t)(lcs->rows * lcs->rows));
  for (int p = 0; p < work->rows.part_count; p++) {
    const S2LcsPart *part = &work->rows.part[p];
    for (int r = part->row; r < part->row + part->rows; r++) {
      lcs_motion_row(work, part, r);
    }
  }
  return s2_lcs_solve(work, 0, lcs->first);
}

// Computes A, B and D of the motion. They come from a step with projection in which J'p acts as a
// force.
static void lcs_motion_state(const S2LcsWork *work, const S2Linear *linear) {
  S2Lcs *lcs = work->lcs;
  int n = work->n, m = work->m, inputs = work->inputs;
  double *force = s2_lcs_numbers(work, m, n), *turned = s2_lcs_numbers(work, m, n);
  memcpy(lcs->a, linear->a, sizeof(double) * (size_t)(m * m));
  for (int i = 0; i < m; i++) {
    const double *b = linear->b + i * (inputs + n);
    memcpy(lcs->b + i * inputs, b, sizeof(double) * (size_t)inputs);
    for (int c = 0; c < n; c++) {
      force[i * n + c] = b[inputs + c] / work->h;
    }
  }
  // J'p turns with the poses.
  s2_lcs_multiply(m, n, n, force, work->bend, turned);
  for (int i = 0; i < m; i++) {
    for (int c = 0; c < n; c++) {
      s2_lcs_multiply(1, 1, m, &turned[i * n + c], s2_lcs_lift_q(work, c), lcs->a + i * m);
    }
  }
  for (int r = 0; r < lcs->first; r++) {
    const S2LcsRow *row = &work->rows.row[r];
    for (int i = 0; i < m * n && row->line >= 0; i++) {
      lcs->dl[i / n * lcs->rows + r] +=
          force[i] * row->sign * work->rows.line[row->line].line.j[i % n];
    }
  }
}

// Computes A, B and D. `reached` receives the x+ that follows from the rows of the motion alone.
static S2Status lcs_state(S2LcsWork *work, double *reached) {
  S2World *free = NULL;
  S2Linear linear;
  S2Status status = lcs_clone_free(work, true, &free);
  if (status.code == S2_OK) {
    status =
        s2_world_linearize_reduced(free, work->input, work->inputs + work->n, work->def->wanted,
                                   work->def->wanted_count, work->arena, &linear);
  }
  if (status.code == S2_OK) {
    lcs_motion_state(work, &linear);
    status = s2_coordinates_read(free, work->reduction.coordinate, work->reduction.m, work->arena,
                                 reached);
  }
  if (status.code == S2_OK && work->strikes) {
    status = s2_lcs_impact_state(work, free);
  }
  s2_world_destroy(free);
  return status;
}

// Chooses c and d so that the system is exact at x0, u0.
static void lcs_constants(const S2LcsWork *work, const double *reached) {
  S2Lcs *lcs = work->lcs;
  int m = work->m, inputs = work->inputs;
  for (int r = 0; r < lcs->rows; r++) {
    for (int k = 0; k < m; k++) {
      lcs->c[r] -= lcs->e[r * m + k] * lcs->x0[k];
    }
    for (int k = 0; k < inputs; k++) {
      lcs->c[r] -= lcs->h[r * inputs + k] * work->def->u0[k];
    }
  }
  for (int i = 0; i < m; i++) {
    double known = 0, jumped = 0;
    s2_lcs_multiply(1, m, 1, lcs->a + i * m, lcs->x0, &known);
    s2_lcs_multiply(1, inputs, 1, lcs->b + i * inputs, work->def->u0, &known);
    s2_lcs_multiply(1, lcs->rows, 1, lcs->dl + i * lcs->rows, lcs->lambda, &known);
    for (int r = lcs->first; r < lcs->rows; r++) {
      jumped += lcs->dl[i * lcs->rows + r] * lcs->lambda[r];
    }
    // The step is no reference if it has an impact and the system has none, or the reverse.
    double rows = reached[i] + jumped;
    lcs->next[i] = work->struck == work->strikes ? lcs->next[i] : rows;
    lcs->d[i] = lcs->next[i] - known;
    lcs->defect[i] = lcs->next[i] - rows;
    lcs->difference[i] -= lcs->next[i];
  }
}

// ---- The whole system -------------------------------------------------------------------------

// Rejects contacts with restitution. Their impact rows would need targets, which the system does
// not have.
static S2Status lcs_check_bounces(const S2LcsWork *work, const S2Step *step) {
  for (int i = 0; i < step->touch_count; i++) {
    const S2Touch *touch = &step->touches[i];
    if (s2_touch_solid(touch) && touch->compliance == 0 && touch->restitution > 0) {
      char label[S2_NAME_SIZE + 8], other[S2_NAME_SIZE + 8];
      s2_body_label(work->world, touch->body_a, label);
      s2_body_label(work->world, touch->body_b, other);
      return s2_error(S2_INVALID,
                      "lcs: body %s bounces off body %s (restitution %g), but impacts in an LCS "
                      "have no restitution: set restitution = 0, or impacts = false",
                      label, other, touch->restitution);
    }
  }
  return s2_ok();
}

static void lcs_take_room(S2LcsWork *work) {
  S2Lcs *lcs = work->lcs;
  int n = work->n, m = work->m, rows = lcs->rows;
  lcs->a = s2_lcs_numbers(work, m, m);
  lcs->b = s2_lcs_numbers(work, m, work->inputs);
  lcs->dl = s2_lcs_numbers(work, m, rows);
  lcs->d = s2_lcs_numbers(work, 1, m);
  lcs->e = s2_lcs_numbers(work, rows, m);
  lcs->f = s2_lcs_numbers(work, rows, rows);
  lcs->h = s2_lcs_numbers(work, rows, work->inputs);
  lcs->c = s2_lcs_numbers(work, 1, rows);
  lcs->lambda = s2_lcs_numbers(work, 1, rows);
  lcs->defect = s2_lcs_numbers(work, 1, m);
  work->impulse = s2_lcs_numbers(work, 1, n);
  work->bend = s2_lcs_numbers(work, n, n);
  work->v = s2_lcs_numbers(work, 1, n);
  work->v_free = s2_lcs_numbers(work, 1, n);
  work->by_state = s2_lcs_numbers(work, n, m);
  work->by_impulse = s2_lcs_numbers(work, n, n);
  work->by_input = s2_lcs_numbers(work, n, work->inputs);
  work->jump = s2_lcs_numbers(work, n, n);
  work->jump_v = s2_lcs_numbers(work, n, m);
  work->jumped = s2_lcs_numbers(work, 1, n);
}

// The inputs, followed by a force and a torque on each moving body.
static void lcs_set_inputs(S2LcsWork *work) {
  const S2World *world = work->world;
  const S2LcsDef *def = work->def;
  work->input = S2_TAKE_ZEROED(work->arena, S2Input, work->inputs + work->n + 1);
  for (int i = 0; i < work->inputs; i++) {
    work->input[i] = def->inputs[i];
  }
  for (int i = 0; i < world->order.count; i++) {
    int32_t slot = world->order.at[i], at = work->rows.lines.column[slot];
    for (int c = 0; c < 3 && at != S2_NONE; c++) {
      S2Input *input = &work->input[work->inputs + at + c];
      *input = (S2Input){.kind = S2_INPUT_FORCE, .body = s2_body_id(world, slot)};
      input->amount[c] = 1;
    }
  }
}

// Coordinates, rows and x0.
static S2Status lcs_open(S2LcsWork *work, const S2Step *step) {
  S2Lcs *lcs = work->lcs;
  const S2LcsDef *def = work->def;
  S2_TRY(s2_reduction_choose(work->world, def->wanted, def->wanted_count, work->arena,
                             &work->reduction));
  S2_TRY(s2_lcs_rows_of(step, work->arena, &work->rows));
  work->n = work->reduction.n;
  work->m = 2 * work->reduction.m;
  work->inputs = def->input_count;
  work->h = step->h;
  // Bounds of drives cannot be inputs, because they appear in two rows and in d.
  for (int i = 0; i < work->inputs; i++) {
    if (def->inputs[i].kind == S2_INPUT_MOTOR_MAX) {
      return s2_error(
          S2_INVALID,
          "lcs: inputs[%d]: the bound of a motor cannot be an input; use a force or a motor_speed",
          i + 1);
    }
  }
  for (int i = 0; i < work->world->joint_order.count; i++) {
    const S2Joint *joint = &work->world->joints.at[work->world->joint_order.at[i]];
    if (joint->has_servo && isfinite(joint->servo_max)) {
      return s2_error(S2_INVALID,
                      "lcs: %s '%s': the force bound of a position actuator is not supported; "
                      "leave it out",
                      s2_joint_type_name(joint->type), joint->name);
    }
  }
  lcs_set_inputs(work);
  work->lift = s2_lcs_numbers(work, 2 * work->n, work->m);
  S2_TRY(s2_reduction_lift(work->world, &work->reduction, work->arena, work->lift));
  *lcs = (S2Lcs){.states = work->m,
                 .inputs = work->inputs,
                 .rows = work->rows.row_count,
                 .first = work->rows.row_count,
                 .coordinates = work->reduction.m,
                 .coordinate = work->reduction.coordinate,
                 .parts = work->rows.part_count,
                 .part = work->rows.part,
                 .x0 = s2_lcs_numbers(work, 1, work->m),
                 .next = s2_lcs_numbers(work, 1, work->m),
                 .difference = s2_lcs_numbers(work, 1, work->m)};
  return s2_coordinates_read(work->world, work->reduction.coordinate, work->reduction.m,
                             work->arena, lcs->x0);
}

static S2Status lcs_make(S2LcsWork *work, const S2Step *step) {
  S2Lcs *lcs = work->lcs;
  bool strikes = false;
  S2_TRY(lcs_open(work, step));
  S2_TRY(lcs_take_steps(work, &strikes));
  S2LcsImpacts wanted = work->def->impacts;
  work->struck = strikes;
  strikes = wanted == S2_LCS_AS_STEP ? strikes : wanted == S2_LCS_IMPACT;
  work->strikes = strikes;
  if (strikes) {
    S2_TRY(lcs_check_bounces(work, step));
    s2_lcs_add_impact(work);
  }
  lcs_take_room(work);
  // First compute the impulses, which need only the velocities without impulses. Then compute all
  // data with these impulses.
  s2_lcs_push(work, NULL, false, work->impulse, work->bend);
  S2_TRY(lcs_look_at_velocities(work));
  memcpy(work->v_free, work->v, sizeof(double) * (size_t)work->n);
  S2_TRY(lcs_motion(work));
  s2_lcs_push(work, lcs->lambda, false, work->impulse, work->bend);
  S2_TRY(lcs_look_at_velocities(work));
  S2_TRY(lcs_motion(work));
  if (strikes) {
    S2_TRY(s2_lcs_impact(work));
  }
  double *reached = s2_lcs_numbers(work, 1, work->m);
  S2_TRY(lcs_state(work, reached));
  lcs_constants(work, reached);
  return s2_ok();
}

S2Status s2_world_lcs(S2World *world, const S2LcsDef *def, S2Arena *arena, S2Lcs *lcs) {
  S2_TRY(s2_world_idle(world));
  S2_TRY(s2_lcs_check(world));
  S2LcsWork work = {.world = world, .def = def, .arena = arena, .lcs = lcs};
  // The contact search of this step covers the margin.
  S2World *seen = NULL;
  S2Step step;
  S2Status status = lcs_clone(world, &seen);
  if (status.code == S2_OK) {
    S2WorldDef settings = seen->kept.def;
    settings.contact_margin = fmax(settings.contact_margin, def->margin);
    status = s2_world_configure(seen, &settings);
  }
  if (status.code == S2_OK) {
    status = lcs_begin_step(seen, &step);
  }
  if (status.code == S2_OK) {
    status = lcs_make(&work, &step);
  }
  s2_world_destroy(seen);
  return status;
}
