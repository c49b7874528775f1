#include "diff/linear/lcs.h"

#include "diff/linear/lcs_lines.h"
#include "dynamics/control/apply.h"
#include "dynamics/step/acted.h"
#include "dynamics/step/forces.h"
#include "dynamics/step/touch.h"
#include "linalg/dense.h"
#include "mcp/lcp/lcp.h"

#include <math.h>
#include <string.h>

// How the step is taken apart. With p the impulses along the lines of all rows, the step without
// contacts, limits and drives, on which J'p/h acts as a force, ends where the step itself does: its
// v1 is affine in p. So its derivatives by state, inputs and force (linearize.h) make A, B and D,
// and those of its velocities without projection make E, H and F, where J and J'p turn with the
// poses as well. What contacts change in the projection of positions is not in that; it is measured
// at x0, u0 (`defect`) and put into d.
//
// Rows of an impact, for v2 = v1 + Z J'p2, Z the inverse mass along the joints, count where those
// of the motion are closed at its end:
//     J v2 + WEIGHT (row of the motion) >= 0
// They are right but for what ends within 1/WEIGHT of the gap it came from.
static const double WEIGHT = 1e4;

typedef struct Work {
  S2World *world; // where it starts; stays there
  const S2LcsDef *def;
  S2Arena *arena;
  S2Lcs *lcs;
  S2Reduction reduction;
  S2LcsRows rows;
  int n, m, inputs;             // numbers of q that move; 2 coordinates; inputs
  double h;
  S2Input *input;               // inputs, then a force along each number of q
  double *lift;                 // 2n x m
  double *impulse;              // n: J'p at the point of linearisation
  double *bend;                 // n x n: d(J'p)/dq
  double *v, *v_free;           // n: v1 there, and with lambda = 0
  double *by_state, *by_impulse, *by_input; // of v1: n x m, n x n, n x inputs
  double *jump, *jump_x;        // Z; m x n: x+ by impulses of an impact
} Work;

// ---- Small matrices ---------------------------------------------------------------------------

static double *lcs_numbers(const Work *work, int rows, int columns) {
  return S2_TAKE_ZEROED(work->arena, double, (size_t)rows *(size_t)columns + 1);
}

// out (a x c) += x (a x b) y (b x c)
static void lcs_multiply(int a, int b, int c, const double *x, const double *y, double *out) {
  for (int i = 0; i < a; i++) {
    for (int k = 0; k < b; k++) {
      double factor = x[i * b + k];
      for (int j = 0; j < c && factor != 0; j++) {
        out[i * c + j] += factor * y[k * c + j];
      }
    }
  }
}

// Numbers of q in the rows of the state: positions of the lift.
static const double *lcs_lift_q(const Work *work, int i) {
  return work->lift + (size_t)s2_reduction_place(i) * (size_t)work->m;
}

// ---- Coordinates ------------------------------------------------------------------------------

S2Status s2_coordinates_read(S2World *world, const S2Coordinate *coordinate, int count,
                             S2Arena *arena, double *x) {
  S2ArenaMark mark = s2_arena_mark(arena);
  S2Lines lines = s2_lines_of(world, arena);
  S2Reduction reduction = {lines.n, count, S2_TAKE(arena, S2Coordinate, count + 1)};
  if (count > 0) {
    memcpy(reduction.coordinate, coordinate, sizeof *coordinate * (size_t)count);
  }
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

static S2Status lcs_clone(const S2World *world, S2World **clone) {
  S2_TRY(s2_world_clone(world, clone));
  (*clone)->callbacks = world->callbacks;
  S2WorldDef def = world->kept.def;
  def.stepping = S2_SPECULATIVE;
  return s2_world_configure(*clone, &def);
}

// The world with joints alone, on which J'p acts.
static S2Status lcs_clone_free(const Work *work, bool projected, S2World **clone) {
  S2_TRY(lcs_clone(work->world, clone));
  S2World *free = *clone;
  S2WorldDef def = free->kept.def;
  def.stabilization = projected ? def.stabilization : S2_NO_STABILIZATION;
  S2_TRY(s2_world_configure(free, &def));
  for (int i = 0; i < free->bodies.count; i++) {
    free->bodies.at[i].mask = 0;
  }
  // Limits that coincide and motors of any effort are equations and stay. What drove a joint still
  // says that projection leaves its velocities alone.
  for (int i = 0; i < free->joint_order.count; i++) {
    S2Joint *joint = &free->joints.at[free->joint_order.at[i]];
    bool drives = (joint->has_motor && joint->motor_max < INFINITY) || joint->friction > 0;
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

static void lcs_gather(const Work *work, const double *from, double *to) {
  const S2World *world = work->world;
  for (int i = 0; i < world->order.count; i++) {
    int32_t slot = world->order.at[i], at = work->rows.lines.column[slot];
    if (at != S2_NONE) {
      memcpy(to + at, from + 3 * slot, 3 * sizeof(double));
    }
  }
}

// v1 and its derivatives, from a step that projects nothing.
static S2Status lcs_look_at_velocities(Work *work) {
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
      lcs_multiply(1, 2 * n, m, a, work->lift, work->by_state + i * m);
    }
    // J'p turns with the poses.
    double *turned = lcs_numbers(work, n, n), *lift_q = lcs_numbers(work, n, m);
    for (int i = 0; i < n; i++) {
      memcpy(lift_q + i * m, lcs_lift_q(work, i), sizeof(double) * (size_t)m);
    }
    lcs_multiply(n, n, n, work->by_impulse, work->bend, turned);
    lcs_multiply(n, n, m, turned, lift_q, work->by_state);
  }
  s2_world_destroy(free);
  s2_arena_rewind(work->arena, mark);
  return status;
}

// p of each line at lambda, and with it J'p and how that turns.
static void lcs_push(Work *work, const double *lambda) {
  const S2LcsRows *rows = &work->rows;
  int n = work->n;
  memset(work->impulse, 0, sizeof(double) * (size_t)n);
  memset(work->bend, 0, sizeof(double) * (size_t)(n * n));
  for (int l = 0; l < rows->line_count; l++) {
    double p = rows->line[l].base;
    for (int r = 0; r < rows->row_count && lambda != NULL; r++) {
      p += rows->row[r].line == l ? rows->row[r].sign * lambda[r] : 0;
    }
    for (int i = 0; i < n && p != 0; i++) {
      work->impulse[i] += p * rows->line[l].line.j[i];
    }
    if (p != 0) {
      s2_lcs_bend(rows, &rows->line[l], p, work->bend);
    }
  }
}

// ---- Rows -------------------------------------------------------------------------------------

// What a row of the motion is beside its line: compliance and slacks.
static double lcs_coupling(const Work *work, const S2LcsPart *part, int r, int k) {
  const S2LcsRow *row = &work->rows.row[r];
  const S2LcsRow *column = &work->rows.row[k];
  if (row->line >= 0) {
    double compliance = column->line == row->line ? work->rows.line[row->line].compliance : 0;
    return k == row->slack ? 1 : compliance;
  }
  // mu lambda_n less both tangents; or what a drive has left
  if (part->kind == S2_LCS_CONTACT) {
    return k == part->row ? part->friction : column->slack == r ? -1 : 0;
  }
  return column->slack == r ? -1 : 0;
}

// Row r for velocities that are those of the state, inputs and impulses of the motion: J v and how
// it changes; `value` at lambda = 0.
typedef struct Speed {
  double value;
  double *e, *h, *f;
} Speed;

static void lcs_speed(const Work *work, int r, Speed *to) {
  const S2LcsRows *rows = &work->rows;
  const S2LcsRow *row = &rows->row[r];
  const S2LcsLine *line = &rows->line[row->line];
  int n = work->n, m = work->m, inputs = work->inputs;
  S2ArenaMark mark = s2_arena_mark(work->arena);
  double *j = lcs_numbers(work, 1, n), *turn = lcs_numbers(work, 1, n);
  double *by_impulse = lcs_numbers(work, 1, n);
  for (int i = 0; i < n; i++) {
    j[i] = row->sign * line->line.j[i];
  }
  // d(J v) = J dv + v' dJ
  s2_lcs_turn(rows, line, row->sign, work->v, turn);
  to->value = row->sign * s2_lcs_along(rows, line, work->v_free);
  lcs_multiply(1, n, m, j, work->by_state, to->e);
  for (int i = 0; i < n; i++) {
    lcs_multiply(1, 1, m, &turn[i], lcs_lift_q(work, i), to->e);
  }
  lcs_multiply(1, n, inputs, j, work->by_input, to->h);
  // Along the lines of the rows.
  lcs_multiply(1, n, n, j, work->by_impulse, by_impulse);
  for (int k = 0; k < rows->row_count; k++) {
    const S2LcsRow *of = &rows->row[k];
    for (int i = 0; i < n && of->line >= 0; i++) {
      to->f[k] += by_impulse[i] * of->sign * rows->line[of->line].line.j[i];
    }
  }
  s2_arena_rewind(work->arena, mark);
}

// E, H, F of row r of the motion; c is its value at lambda = 0 for now.
static void lcs_motion_row(const Work *work, const S2LcsPart *part, int r) {
  const S2LcsRows *rows = &work->rows;
  const S2LcsRow *row = &rows->row[r];
  S2Lcs *lcs = work->lcs;
  Speed speed = {.e = lcs->e + r * work->m, .h = lcs->h + r * work->inputs,
                 .f = lcs->f + r * lcs->rows};
  if (row->line >= 0) {
    const S2LcsLine *line = &rows->line[row->line];
    lcs_speed(work, r, &speed);
    speed.value += row->sign * line->bias;
    for (int i = 0; i < work->n; i++) {
      double by_q = row->sign * line->by_value * line->line.j[i];
      lcs_multiply(1, 1, work->m, &by_q, lcs_lift_q(work, i), speed.e);
    }
  } else if (part->kind != S2_LCS_CONTACT) {
    speed.value = 2 * part->most;
  }
  for (int k = part->row; k < part->row + part->rows; k++) {
    speed.f[k] += lcs_coupling(work, part, r, k);
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

// The same of a row of an impact; those of the motion are there.
static void lcs_impact_row(const Work *work, const S2LcsPart *part, int r) {
  const S2LcsRows *rows = &work->rows;
  const S2LcsRow *row = &rows->row[r];
  S2Lcs *lcs = work->lcs;
  int n = work->n, m = work->m, inputs = work->inputs, shift = part->impact - part->row;
  int to = r + shift;
  Speed speed = {.e = lcs->e + to * m, .h = lcs->h + to * inputs, .f = lcs->f + to * lcs->rows};
  if (row->line >= 0) {
    const S2LcsLine *line = &rows->line[row->line];
    lcs_speed(work, r, &speed);
    speed.value += row->slack >= 0 ? row->sign * line->bias : 0; // of a surface that runs
    for (int p = 0; p < rows->part_count; p++) {
      for (int k = rows->part[p].impact; k >= 0 && k < rows->part[p].impact + rows->part[p].rows;
           k++) {
        const S2LcsRow *of = &rows->row[k - rows->part[p].impact + rows->part[p].row];
        for (int i = 0; i < n * n && of->line >= 0; i++) {
          speed.f[k] += row->sign * line->line.j[i / n] * work->jump[i] * of->sign *
                        rows->line[of->line].line.j[i % n];
        }
      }
    }
  }
  // Only where the motion ends closed.
  if (row->line >= 0 && row->slack < 0) {
    speed.value += WEIGHT * lcs->c[r];
    for (int k = 0; k < m; k++) {
      speed.e[k] += WEIGHT * lcs->e[r * m + k];
    }
    for (int k = 0; k < inputs; k++) {
      speed.h[k] += WEIGHT * lcs->h[r * inputs + k];
    }
    for (int k = 0; k < lcs->first; k++) {
      speed.f[k] += WEIGHT * lcs->f[r * lcs->rows + k];
    }
  }
  for (int k = part->row; k < part->row + part->rows; k++) {
    speed.f[k + shift] += lcs_coupling(work, part, r, k);
  }
  lcs->c[to] = speed.value;
}

// ---- Impacts ----------------------------------------------------------------------------------

// Z = P (P'MP)^-1 P' with dq = P dr: what an impulse gives, joints held.
static S2Status lcs_find_jump(Work *work) {
  const S2World *world = work->world;
  int n = work->n, m = work->m, half = m / 2;
  double *mass = lcs_numbers(work, 1, n), *p = lcs_numbers(work, half, n);
  for (int i = 0; i < world->order.count; i++) {
    int32_t slot = world->order.at[i], at = work->rows.lines.column[slot];
    const S2Body *body = &world->bodies.at[slot];
    for (int c = 0; c < 3 && at != S2_NONE; c++) {
      mass[at + c] = c == 0 ? body->inertia : body->mass;
    }
  }
  for (int k = 0; k < half; k++) { // P', a row a coordinate
    for (int i = 0; i < n; i++) {
      p[k * n + i] = lcs_lift_q(work, i)[k];
    }
  }
  S2Dense reduced = {.size = half,
                     .nonsymmetric = true,
                     .a = lcs_numbers(work, half, half),
                     .pivot = S2_TAKE(work->arena, int32_t, half + 1)};
  for (int i = 0; i < half; i++) {
    for (int k = 0; k < half; k++) {
      for (int c = 0; c < n; c++) {
        reduced.a[i * half + k] += p[i * n + c] * mass[c] * p[k * n + c];
      }
    }
  }
  if (half > 0 && !s2_dense_factor(&reduced)) {
    return s2_error(S2_INVALID, "lcs: coordinates do not tell the motions apart");
  }
  // Columns of (P'MP)^-1 P', then P times them.
  double *column = lcs_numbers(work, 1, half);
  for (int i = 0; i < n; i++) {
    for (int k = 0; k < half; k++) {
      column[k] = p[k * n + i];
    }
    s2_dense_solve(&reduced, column);
    for (int c = 0; c < n; c++) {
      for (int k = 0; k < half; k++) {
        work->jump[c * n + i] += p[k * n + c] * column[k];
      }
    }
  }
  return s2_ok();
}

// Gives the parts that take part in an impact their rows.
static void lcs_add_impact(const Work *work) {
  S2Lcs *lcs = work->lcs;
  for (int p = 0; p < work->rows.part_count; p++) {
    S2LcsPart *part = &work->rows.part[p];
    bool strikes = (part->kind == S2_LCS_CONTACT && !part->soft) ||
                   part->kind == S2_LCS_LIMIT_LO || part->kind == S2_LCS_LIMIT_HI;
    part->impact = strikes ? lcs->rows : -1;
    lcs->rows += strikes ? part->rows : 0;
  }
}

// ---- The step at hand -------------------------------------------------------------------------

// Its touches and free motion, in `world`'s arena. False: aborted.
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

// What the engine makes of it: x+, and whether anything strikes.
static S2Status lcs_take_step(const Work *work, bool *strikes) {
  S2World *world = NULL;
  S2Status status = lcs_clone(work->world, &world);
  if (status.code == S2_OK) {
    uint64_t before = world->stats.second_solves;
    status = s2_world_step(world);
    *strikes = world->stats.second_solves > before;
  }
  if (status.code == S2_OK) {
    status = s2_coordinates_read(world, work->reduction.coordinate, work->reduction.m, work->arena,
                                 work->lcs->next);
  }
  s2_world_destroy(world);
  return status;
}

// lambda of the rows from..to at x0, u0, given those before.
static S2Status lcs_solve(const Work *work, int from, int to) {
  S2Lcs *lcs = work->lcs;
  int n = to - from;
  double *f = lcs_numbers(work, n, n), *q = lcs_numbers(work, 1, n), *w = lcs_numbers(work, 1, n);
  for (int i = 0; i < n; i++) {
    const double *row = lcs->f + (from + i) * lcs->rows;
    q[i] = lcs->c[from + i];
    lcs_multiply(1, from, 1, row, lcs->lambda, &q[i]);
    memcpy(f + i * n, row + from, sizeof(double) * (size_t)n);
  }
  S2LcpSolverOptions options = {.tolerance = work->world->kept.def.tolerance};
  S2LcpSolution solution = {.z = lcs->lambda + from, .w = w};
  S2SolveStatus found =
      s2_lcp_solve(&(S2LcpProblem){n, f, q}, &options, work->arena, &solution);
  return found == S2_SOLVED || solution.residual < 1e-9
             ? s2_ok()
             : s2_error(S2_UNSOLVED, "lcs: the problem of the step was not solved (%s)",
                        s2_solve_status_name(found));
}

// Rows at the present v1, and lambda of them.
static S2Status lcs_motion(Work *work) {
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
  return lcs_solve(work, 0, lcs->first);
}

// A, B, D and x+ of the rows alone: of a step that projects, with J'p as a force. `reached`: x+.
static S2Status lcs_dynamics(Work *work, double *reached) {
  S2World *free = NULL;
  S2Lcs *lcs = work->lcs;
  S2Linear linear;
  int n = work->n, m = work->m, inputs = work->inputs;
  double *lower = lcs_numbers(work, m, 2 * n), *force = lcs_numbers(work, m, n);
  S2Status status = lcs_clone_free(work, true, &free);
  if (status.code == S2_OK) {
    status = s2_world_linearize_reduced(free, work->input, inputs + n, work->def->wanted,
                                        work->def->wanted_count, work->arena, &linear);
  }
  if (status.code == S2_OK) {
    status = s2_coordinates_read(free, work->reduction.coordinate, work->reduction.m, work->arena,
                                 reached);
  }
  if (status.code == S2_OK) {
    status = s2_reduction_lower(free, &work->reduction, work->arena, lower);
  }
  s2_world_destroy(free);
  S2_TRY(status);
  memcpy(lcs->a, linear.a, sizeof(double) * (size_t)(m * m));
  for (int i = 0; i < m; i++) {
    memcpy(lcs->b + i * inputs, linear.b + i * (inputs + n), sizeof(double) * (size_t)inputs);
    for (int c = 0; c < n; c++) {
      force[i * n + c] = linear.b[i * (inputs + n) + inputs + c] / work->h;
      // Of an impact: the speeds of what jumps at the end.
      for (int k = 0; k < n && i >= m / 2; k++) {
        work->jump_x[i * n + c] +=
            lower[i * 2 * n + s2_reduction_place(k) + 3] * work->jump[k * n + c];
      }
    }
  }
  // J'p turns with the poses.
  double *turned = lcs_numbers(work, m, n);
  lcs_multiply(m, n, n, force, work->bend, turned);
  for (int c = 0; c < n; c++) {
    for (int i = 0; i < m; i++) {
      lcs_multiply(1, 1, m, &turned[i * n + c], lcs_lift_q(work, c), lcs->a + i * m);
    }
  }
  for (int p = 0; p < work->rows.part_count; p++) {
    const S2LcsPart *part = &work->rows.part[p];
    for (int r = part->row; r < part->row + part->rows; r++) {
      const S2LcsRow *row = &work->rows.row[r];
      for (int i = 0; i < m * n && row->line >= 0; i++) {
        double along = row->sign * work->rows.line[row->line].line.j[i % n];
        lcs->dl[i / n * lcs->rows + r] += force[i] * along;
        if (part->impact >= 0) {
          lcs->dl[i / n * lcs->rows + r + part->impact - part->row] += work->jump_x[i] * along;
        }
      }
    }
  }
  return s2_ok();
}

// c and d: what is left at x0, u0.
static void lcs_constants(const Work *work, const double *reached) {
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
    lcs_multiply(1, m, 1, lcs->a + i * m, lcs->x0, &known);
    lcs_multiply(1, inputs, 1, lcs->b + i * inputs, work->def->u0, &known);
    lcs_multiply(1, lcs->rows, 1, lcs->dl + i * lcs->rows, lcs->lambda, &known);
    for (int r = lcs->first; r < lcs->rows; r++) {
      jumped += lcs->dl[i * lcs->rows + r] * lcs->lambda[r];
    }
    lcs->d[i] = lcs->next[i] - known;
    lcs->defect[i] = lcs->next[i] - reached[i] - jumped;
  }
}

// ---- All of it --------------------------------------------------------------------------------

// Bounces have targets of their own, which are no rows here.
static S2Status lcs_check_bounces(const Work *work, const S2Step *step) {
  for (int i = 0; i < step->touch_count; i++) {
    const S2Touch *touch = &step->touches[i];
    if (s2_touch_solid(touch) && touch->compliance == 0 && touch->restitution > 0) {
      char label[S2_NAME_SIZE + 8], other[S2_NAME_SIZE + 8];
      s2_body_label(work->world, touch->body_a, label);
      s2_body_label(work->world, touch->body_b, other);
      return s2_error(S2_INVALID,
                      "lcs: body %s bounces off body %s (restitution %g), which has no rows in an "
                      "impact: set restitution = 0, or impacts = false",
                      label, other, touch->restitution);
    }
  }
  return s2_ok();
}

static void lcs_take_room(Work *work) {
  S2Lcs *lcs = work->lcs;
  int n = work->n, m = work->m, rows = lcs->rows;
  lcs->a = lcs_numbers(work, m, m);
  lcs->b = lcs_numbers(work, m, work->inputs);
  lcs->dl = lcs_numbers(work, m, rows);
  lcs->d = lcs_numbers(work, 1, m);
  lcs->e = lcs_numbers(work, rows, m);
  lcs->f = lcs_numbers(work, rows, rows);
  lcs->h = lcs_numbers(work, rows, work->inputs);
  lcs->c = lcs_numbers(work, 1, rows);
  lcs->lambda = lcs_numbers(work, 1, rows);
  lcs->defect = lcs_numbers(work, 1, m);
  work->impulse = lcs_numbers(work, 1, n);
  work->bend = lcs_numbers(work, n, n);
  work->v = lcs_numbers(work, 1, n);
  work->v_free = lcs_numbers(work, 1, n);
  work->by_state = lcs_numbers(work, n, m);
  work->by_impulse = lcs_numbers(work, n, n);
  work->by_input = lcs_numbers(work, n, work->inputs);
  work->jump = lcs_numbers(work, n, n);
  work->jump_x = lcs_numbers(work, m, n);
}

// The inputs, then a force and a torque on each body that moves.
static void lcs_set_inputs(Work *work) {
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
static S2Status lcs_open(Work *work, const S2Step *step) {
  S2Lcs *lcs = work->lcs;
  const S2LcsDef *def = work->def;
  S2_TRY(s2_reduction_choose(work->world, def->wanted, def->wanted_count, work->arena,
                             &work->reduction));
  S2_TRY(s2_lcs_rows_of(step, work->arena, &work->rows));
  work->n = work->reduction.n;
  work->m = 2 * work->reduction.m;
  work->inputs = def->input_count;
  work->h = step->h;
  for (int i = 0; i < work->inputs; i++) {
    if (def->inputs[i].kind == S2_INPUT_MOTOR_MAX) {
      return s2_error(S2_INVALID, "lcs: inputs[%d]: the bound of a motor is no input there: a "
                                  "force or a motor_speed is one",
                      i + 1);
    }
  }
  lcs_set_inputs(work);
  work->lift = lcs_numbers(work, 2 * work->n, work->m);
  S2_TRY(s2_reduction_lift(work->world, &work->reduction, work->arena, work->lift));
  *lcs = (S2Lcs){.states = work->m,
                 .inputs = work->inputs,
                 .rows = work->rows.row_count,
                 .first = work->rows.row_count,
                 .coordinates = work->reduction.m,
                 .coordinate = work->reduction.coordinate,
                 .parts = work->rows.part_count,
                 .part = work->rows.part,
                 .x0 = lcs_numbers(work, 1, work->m),
                 .next = lcs_numbers(work, 1, work->m)};
  return s2_coordinates_read(work->world, work->reduction.coordinate, work->reduction.m,
                             work->arena, lcs->x0);
}

static S2Status lcs_make(Work *work, const S2Step *step) {
  S2Lcs *lcs = work->lcs;
  bool strikes = false;
  S2_TRY(lcs_open(work, step));
  S2_TRY(lcs_take_step(work, &strikes));
  strikes = work->def->impacts == S2_LCS_IMPACT ||
            (strikes && work->def->impacts == S2_LCS_AS_STEP);
  if (strikes) {
    S2_TRY(lcs_check_bounces(work, step));
    lcs_add_impact(work);
  }
  lcs_take_room(work);
  // Impulses first, for which velocities without them are enough; then all at these.
  lcs_push(work, NULL);
  S2_TRY(lcs_look_at_velocities(work));
  memcpy(work->v_free, work->v, sizeof(double) * (size_t)work->n);
  S2_TRY(lcs_motion(work));
  lcs_push(work, lcs->lambda);
  S2_TRY(lcs_look_at_velocities(work));
  S2_TRY(lcs_motion(work));
  if (strikes) {
    S2_TRY(lcs_find_jump(work));
    for (int p = 0; p < work->rows.part_count; p++) {
      const S2LcsPart *part = &work->rows.part[p];
      for (int r = part->row; part->impact >= 0 && r < part->row + part->rows; r++) {
        lcs_impact_row(work, part, r);
      }
    }
    S2_TRY(lcs_solve(work, lcs->first, lcs->rows));
  }
  double *reached = lcs_numbers(work, 1, work->m);
  S2_TRY(lcs_dynamics(work, reached));
  lcs_constants(work, reached);
  return s2_ok();
}

S2Status s2_world_lcs(S2World *world, const S2LcsDef *def, S2Arena *arena, S2Lcs *lcs) {
  S2_TRY(s2_world_idle(world));
  S2_TRY(s2_lcs_check(world));
  Work work = {.world = world, .def = def, .arena = arena, .lcs = lcs};
  // The rows of a step whose search looks as far as the margin.
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
