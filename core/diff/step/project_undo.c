// The derivative of the projection of an island. The sweep treats a projection like a solve
// (solve_undo.c), with displacements in place of velocities.
#include "diff/step/solve_undo.h"
#include "dynamics/joints/rows.h"

#include <string.h>

// Returns true if the row is an equation of a joint, or of a contact point that is held.
static bool project_is_equation(const S2Assembly *assembly, int row) {
  return row < assembly->parts && assembly->problem.row[row].lo < 0;
}

// In a projection, the geometry of contacts is taken at q1.
static void project_put_point(S2SolveUndo *solve, int i, int k, const S2PointBar *point) {
  S2Undo *undo = solve->undo;
  s2_touch_point_vjp(undo->world, &undo->open.touches[i], k, undo->step.q1, point, undo->bar.q1,
                     undo->gradient);
}

// Restores q1 to its value before the projection. Computes dl/d(displacement) from q1 and from the
// fraction s. s depends on the largest rotation.
static void project_take_displacement(S2SolveUndo *solve) {
  const S2Note *note = solve->note;
  S2Undo *undo = solve->undo;
  double fraction_bar = 0;
  int most = 0;
  for (int i = 0; i < note->of->island.nodes; i++) {
    int32_t at = 3 * note->of->island.node[i];
    for (int c = 0; c < 3; c++) {
      // q1 = q0 + s x
      solve->dl_dv[3 * i + c] = note->solve.fraction * undo->bar.q1[at + c];
      fraction_bar += note->solve.x[3 * i + c] * undo->bar.q1[at + c];
      undo->step.q1[at + c] = note->solve.before[3 * i + c];
    }
    most = fabs(note->solve.x[3 * i]) > fabs(note->solve.x[3 * most]) ? i : most;
  }
  // s is the largest allowed rotation divided by the largest rotation.
  if (note->solve.fraction < 1) {
    double turn = note->solve.x[3 * most];
    solve->dl_dv[3 * most] -= fraction_bar * note->solve.fraction / turn;
  }
}

// Restores the island, and collects the adjoint of its displacement.
static void project_begin(S2SolveUndo *solve) {
  S2Undo *undo = solve->undo;
  s2_undo_set_island(undo, solve->note);
  solve->touches = undo->open.solved;
  solve->dl_dv = S2_TAKE_ZEROED(undo->arena, double, 3 * s2_solve_nodes(undo, solve->note));
  solve->dl_dlambda = S2_TAKE_ZEROED(undo->arena, double, solve->note->solve.rows);
  project_take_displacement(solve);
}

// Returns true for later passes. After the first pass, limits and contacts are closed within
// rounding, and bodies hardly move. So the choice of active rows does not affect the derivative. In
// event stepping this also holds for the first pass, because the gaps of bodies that rest or have
// just met are 0 for all data.
static bool project_is_later_pass(const S2Undo *undo, const S2Note *of) {
  int32_t first = of->of->island.node[0];
  for (int i = undo->index - 1; i >= 0; i--) {
    const S2Note *note = s2_note_at(undo->notes, i);
    bool feeds =
        note->act == S2_ACT_FEEDBACK || note->act == S2_ACT_SPIN_V2 || note->act == S2_ACT_SPIN_DQ;
    if (!feeds || note->of->island.node[0] != first) {
      return note->act == S2_ACT_PROJECT && note->of->island.node[0] == first;
    }
  }
  return false;
}

// The errors that the projection removes set the scale for the modes of rows.
static void project_scale(S2Problem *problem, const S2Note *note) {
  problem->velocity_scale = S2_PROJECTION_TRIGGER * note->of->island.length;
  for (int r = 0; r < problem->rows; r++) { // open gaps are not errors
    double bias = problem->row[r].bias, error = problem->row[r].lo < 0 ? fabs(bias) : -bias;
    problem->velocity_scale = fmax(problem->velocity_scale, error);
  }
}

static void project_copy_rows(S2Problem *problem, S2Arena *arena) {
  S2Row *rows = S2_TAKE(arena, S2Row, problem->rows);
  if (problem->rows > 0) {
    memcpy(rows, problem->row, sizeof(S2Row) * (size_t)problem->rows);
  }
  problem->row = rows;
}

// Assembles the island with the joint rows at q0.
static S2Assembly project_assemble_start(S2Undo *undo, const S2Note *note) {
  return s2_assemble(&undo->step, undo->step.q0, undo->step.touches, &note->of->island,
                     undo->open.choices, S2_SOLVE_PROJECTION);
}

// Takes over the rows of S2_PROJECT_SHAKE, which are equations at q0. Returns their number.
static int project_take_start(const S2Assembly *start, S2Assembly *assembly, S2Arena *arena) {
  S2Problem *problem = &assembly->problem;
  project_copy_rows(problem, arena);
  S2Row *rows = (S2Row *)problem->row; // the copy
  int count = 0;
  for (; project_is_equation(assembly, count); count++) {
    memcpy(rows[count].ja, start->problem.row[count].ja, sizeof rows[count].ja);
    memcpy(rows[count].jb, start->problem.row[count].jb, sizeof rows[count].jb);
  }
  return count;
}

// A fraction of the joint displacement J' lambda / mass is added to the velocities. Passes its
// adjoint on to lambda.
static void project_feed_vjp(S2SolveUndo *solve, const S2Assembly *start, int equations, double *ja,
                             double *jb) {
  S2Undo *undo = solve->undo;
  const S2Note *note = solve->note;
  for (int r = 0; r < equations; r++) {
    const S2Row *row = &solve->assembly->problem.row[r];
    const S2JointPart *part = &start->part[r];
    double lambda = note->of->lambda[r], sum = 0;
    // Displacements J' lambda/m of bodies. Displacements of a gear's auxiliary nodes are ignored.
    for (int side = 0; side < 2; side++) {
      int node = side == 0 ? row->a : row->b;
      const double *j = side == 0 ? row->ja : row->jb;
      double *j_bar = side == 0 ? ja : jb;
      for (int c = 0; c < 3 && node != S2_GROUND && node < note->of->island.nodes; c++) {
        int32_t slot = note->of->island.node[node]; // the auxiliary nodes of a gear are ignored
        double mass = solve->assembly->problem.mass[3 * node + c];
        double over = note->solve.fraction * undo->displaced[3 * slot + c] / mass;
        sum += j[c] * over;
        j_bar[3 * r + c] += lambda * over;
        *s2_inertial_bar(undo, slot, c) -=
            over * j[c] * lambda * (c == 0 ? note->of->stiffness : 1) / mass;
      }
    }
    // The impulses that joints store.
    sum += note->solve.fraction * undo->feed[part->joint] *
           s2_undo_impulse(undo, part->joint, part->row, part->push);
    solve->dl_dlambda[r] += sum;
  }
  solve->reaction =
      s2_undo_reaction(undo, note, note->solve.fraction * undo->feed[note->of->island.joint[0]]);
}

// Returns the adjoint of the displacement of bodies along equations, through q1 and through the
// velocity feedback.
static double *project_pushes_bar(const S2SolveUndo *solve) {
  const S2Undo *undo = solve->undo;
  int count = 3 * solve->note->of->island.nodes;
  double *bar = S2_TAKE(undo->arena, double, count);
  for (int i = 0; i < count; i++) {
    double displaced = undo->displaced[3 * solve->note->of->island.node[i / 3] + i % 3];
    bar[i] = solve->data.rhs[i] +
             solve->note->solve.fraction * displaced / solve->assembly->problem.mass[i];
  }
  return bar;
}

// Passes on the adjoints of joint rows. Errors are at q1. In S2_PROJECT_SHAKE, all other data of
// the equations are at q0.
static void project_joints_vjp(S2SolveUndo *solve, const S2Assembly *start, int equations) {
  S2Undo *undo = solve->undo;
  const S2Note *note = solve->note;
  S2McpGradient *data = &solve->data;
  // Take rows, errors and the directions of impulses at q1.
  double h = undo->bar.h, elapsed = undo->bar.elapsed;
  double *none =
      S2_TAKE_ZEROED(undo->arena, double, 3 * (note->solve.rows + note->of->island.nodes));
  S2RowsAdjoint rows = s2_rows_adjoint(note->solve.x, none);
  rows.lambda = note->of->lambda;
  rows.ja = data->ja;
  rows.jb = data->jb;
  rows.bias = data->bias;
  rows.rhs = start == NULL ? data->rhs : none;
  rows.given = solve->given;
  // Take errors at q1, and all other data at q0, where the equations were assembled.
  if (start != NULL) {
    S2RowsAdjoint at_start = s2_rows_adjoint(note->solve.x, none);
    at_start.lambda = note->of->lambda;
    at_start.ja = data->ja;
    at_start.jb = data->jb;
    at_start.rhs = project_pushes_bar(solve);
    at_start.given = solve->given;
    at_start.reaction = solve->reaction;
    at_start.pushed = note->of->lambda;
    // Let the assembly and its adjoint use q0 in place of q1.
    double *q1 = undo->step.q1, *q1_bar = undo->bar.q1;
    S2Assembly only = *start; // equations come first
    only.parts = equations;
    only.parts_given = 0;
    undo->step.q1 = undo->step.q0;
    undo->bar.q1 = undo->bar.q0;
    s2_joint_rows_vjp(&undo->step, &note->of->island, S2_SOLVE_PROJECTION, &only, &at_start,
                      &undo->bar);
    undo->step.q1 = q1;
    undo->bar.q1 = q1_bar;
    // The end gets only the adjoints that are not at the start.
    memset(data->ja, 0, sizeof(double) * 3 * (size_t)equations);
    memset(data->jb, 0, sizeof(double) * 3 * (size_t)equations);
  }
  s2_joint_rows_vjp(&undo->step, &note->of->island, S2_SOLVE_PROJECTION, solve->assembly, &rows,
                    &undo->bar);
  if (note->h == 0) { // goals have not moved before the step
    undo->bar.h = h;
    undo->bar.elapsed = elapsed;
  }
}

// ---- With the rows of the solve -----------------------------------------------------------------

// The rows are those of the solve, and errors are those at the end. The error is measured at the
// same feature if it still exists. Otherwise it is extrapolated from the solve.
static void project_put_solved_point(S2SolveUndo *solve, int i, int k, const S2PointBar *bar) {
  S2Undo *undo = solve->undo;
  const S2Touch *now = &undo->open.touches[i], *then = &solve->touches[i];
  S2PointBar point = *bar, gap = {.gap = bar->gap};
  // If the contact feature still exists, its gap is measured at q1, and all other data are taken
  // from the solve.
  for (int j = 0; j < now->count; j++) {
    if (now->points[j].at.id == then->points[k].at.id) {
      point.gap = 0;
      s2_touch_point_vjp(undo->world, now, j, undo->step.q1, &gap, undo->bar.q1, undo->gradient);
      s2_undo_point(undo, i, k, &point);
      return;
    }
  }
  // If the contact feature no longer exists, its gap is the gap in the solve plus h times the speed
  // along the normal.
  S2ArenaMark mark = s2_arena_mark(undo->arena);
  const S2Note *moved = s2_undo_last(undo, S2_ACT_INTEGRATE);
  int count = 3 * undo->notes->slots;
  double *carry = S2_TAKE_ZEROED(undo->arena, double, count);
  double *carry_bar = S2_TAKE_ZEROED(undo->arena, double, count);
  const int32_t slot[2] = {then->body_a, then->body_b};
  for (int side = 0; side < 2; side++) {
    for (int at = 3 * slot[side]; at < 3 * slot[side] + 3; at++) {
      carry[at] = s2_undo_carry(undo, moved, at);
    }
  }
  // gap + h n'(carry of a - carry of b)
  S2Vec2 n = then->points[k].at.normal;
  undo->bar.h += bar->gap * s2_touch_velocity(then, k, n, carry);
  s2_touch_velocity_vjp(then, k, n, carry, undo->step.h * bar->gap, carry_bar, &point,
                        &point.normal);
  for (int side = 0; side < 2; side++) {
    for (int at = 3 * slot[side]; at < 3 * slot[side] + 3; at++) {
      s2_undo_carried(undo, moved, at, carry_bar[at]);
    }
  }
  s2_undo_point(undo, i, k, &point);
  s2_arena_rewind(undo->arena, mark);
}

// Returns the row of `end` that contains the error of row r, or -1 if there is none.
static int project_end_row(const S2SolveUndo *solve, const S2Assembly *end, int r) {
  const S2JointPart *then = &solve->assembly->part[r];
  int found = -1;
  for (int k = 0; k < end->parts; k++) {
    bool same = end->part[k].joint == then->joint && end->part[k].row == then->row;
    found = same ? k : found;
  }
  return found;
}

static void project_solved_joints_vjp(S2SolveUndo *solve, const S2Assembly *end) {
  S2Undo *undo = solve->undo;
  S2McpGradient *data = &solve->data;
  const S2Note *note = solve->note;
  int rows = solve->assembly->parts > end->parts ? solve->assembly->parts : end->parts;
  double *none = S2_TAKE_ZEROED(undo->arena, double, 3 * (rows + note->of->island.nodes));
  double *errors = S2_TAKE_ZEROED(undo->arena, double, rows);
  double *given = S2_TAKE_ZEROED(undo->arena, double, end->parts + end->parts_given);
  // Errors come from rows at the end with the same joint and index.
  for (int r = 0; r < solve->assembly->parts; r++) {
    int at = project_end_row(solve, end, r);
    if (at >= 0) {
      errors[at] += data->bias[r];
      data->bias[r] = 0;
    }
  }
  // Rows and right-hand sides are computed at q0.
  double *q1 = undo->step.q1, *q1_bar = undo->bar.q1;
  S2RowsAdjoint at_start = s2_rows_adjoint(note->solve.x, none);
  at_start.lambda = note->of->lambda;
  at_start.ja = data->ja;
  at_start.jb = data->jb;
  at_start.bias = data->bias;
  at_start.rhs = data->rhs;
  at_start.given = solve->given;
  S2RowsAdjoint at_end = s2_rows_adjoint(note->solve.x, none);
  at_end.bias = errors;
  at_end.given = given;
  undo->step.q1 = undo->step.q0;
  undo->bar.q1 = undo->bar.q0;
  s2_joint_rows_vjp(&undo->step, &note->of->island, S2_SOLVE_PROJECTION, solve->assembly, &at_start,
                    &undo->bar);
  undo->step.q1 = q1;
  undo->bar.q1 = q1_bar;
  // Errors are computed at q1.
  s2_joint_rows_vjp(&undo->step, &note->of->island, S2_SOLVE_PROJECTION, end, &at_end, &undo->bar);
}

static void project_solved_undo(S2Undo *undo, const S2Note *note) {
  S2Arena *arena = undo->arena;
  S2ArenaMark mark = s2_arena_mark(arena);
  S2SolveUndo solve = {.undo = undo, .note = note};
  project_begin(&solve);
  // The errors of joints come from an assembly at the end. The problem itself is at q0, with the
  // touches of that time.
  S2Choice *no_contacts = S2_TAKE_ZEROED(arena, S2Choice, 2 * note->of->island.touches);
  S2Assembly end = s2_assemble(&undo->step, undo->step.q1, undo->step.touches, &note->of->island,
                               no_contacts, S2_SOLVE_PROJECTION);
  undo->step.touches = (S2Touch *)undo->open.solved; // only read
  S2Assembly made = project_assemble_start(undo, note);
  solve.assembly = &made;
  // The right-hand sides of the problem are the errors at q1.
  if (s2_solve_same_rows(&solve)) {
    S2Problem *problem = &made.problem;
    project_copy_rows(problem, arena);
    for (int r = 0; r < made.parts; r++) {
      int at = project_end_row(&solve, &end, r);
      S2Row *row = (S2Row *)problem->row + r; // the copy
      row->bias = at >= 0 ? end.problem.row[at].bias : row->bias;
    }
    // Determine the modes, then the adjoint of the solution, then the adjoints of all data.
    project_scale(problem, note);
    solve.given = S2_TAKE_ZEROED(arena, double, made.parts + made.parts_given);
    if (s2_solve_differentiate(&solve)) {
      s2_solve_bodies_vjp(&solve);
      s2_solve_contacts_vjp(&solve, project_put_solved_point);
      if (note->of->island.joints > 0) {
        project_solved_joints_vjp(&solve, &end);
      }
    }
  }
  s2_undo_forget_island(undo, note);
  s2_arena_rewind(arena, mark);
}

void s2_undo_project(S2Undo *undo, const S2Note *note) {
  S2Arena *arena = undo->arena;
  if (note->solve.from == S2_PROJECT_SOLVED) {
    project_solved_undo(undo, note);
    return;
  }
  S2ArenaMark mark = s2_arena_mark(arena);
  S2SolveUndo solve = {.undo = undo, .note = note};
  project_begin(&solve);
  // Assemble the problem again, with larger inertias for bodies that rotated too far.
  S2Assembly made = s2_assemble(&undo->step, undo->step.q1, undo->step.touches, &note->of->island,
                                undo->open.choices, S2_SOLVE_PROJECTION);
  solve.assembly = &made;
  project_scale(&made.problem, note);
  s2_wide_stiffen(&undo->step, &note->of->island, note->of->stiffness, made.mass);
  // Handle joint equations at q0, and the part of their displacement that goes into the velocities.
  solve.given = S2_TAKE_ZEROED(arena, double, made.parts + made.parts_given);
  double *ja = S2_TAKE_ZEROED(arena, double, 3 * note->solve.rows);
  double *jb = S2_TAKE_ZEROED(arena, double, 3 * note->solve.rows);
  bool shaken = note->solve.from == S2_PROJECT_SHAKE;
  S2Assembly start = {0};
  int equations = 0;
  bool same = s2_solve_same_rows(&solve);
  if (same && shaken) {
    start = project_assemble_start(undo, note);
    equations = project_take_start(&start, &made, arena);
    project_feed_vjp(&solve, &start, equations, ja, jb);
  }
  // Pass adjoints from the solution to the data. In later passes and in event stepping, the
  // derivatives on both sides of an edge are equal.
  unsigned found = undo->found;
  if (same && s2_solve_differentiate(&solve)) {
    if (s2_world_way(&undo->world->kept.def) == S2_EVENT || project_is_later_pass(undo, note)) {
      undo->found = found;
    }
    // The rows also get the adjoint of the velocity feedback.
    for (int i = 0; i < 3 * note->solve.rows; i++) {
      solve.data.ja[i] += ja[i];
      solve.data.jb[i] += jb[i];
    }
    s2_solve_bodies_vjp(&solve);
    s2_solve_contacts_vjp(&solve, project_put_point);
    if (note->of->island.joints > 0) {
      project_joints_vjp(&solve, shaken ? &start : NULL, equations);
    }
  }
  s2_undo_forget_island(undo, note);
  s2_arena_rewind(arena, mark);
}
