// A mend of an island, backwards: as a solve (solve_vjp.c), of displacements.
#include "diff/step/solve_vjp.h"

#include <string.h>

// ---- Mends ------------------------------------------------------------------------------------

// Of a joint: points that are held are equations, too.
static bool is_equation(const S2Assembly *assembly, int row) {
  return row < assembly->parts && assembly->problem.row[row].lo < 0;
}

// In a mend the geometry of contacts is that of q1, ...
static void put_mended(S2SolveUndo *solve, int i, int k, const S2PointBar *point) {
  S2Undo *undo = solve->undo;
  s2_touch_point_vjp(undo->world, &undo->open.touches[i], k, undo->step.q1, point, undo->bar.q1,
                     undo->gradient);
}

// q1 is what it was; dl/d(displacement), from q1 and from the part that was limited by the turn.
static void take_displacement(S2SolveUndo *solve) {
  const S2Note *note = solve->note;
  S2Undo *undo = solve->undo;
  double part_bar = 0;
  int most = 0;
  for (int i = 0; i < note->of->island.nodes; i++) {
    int32_t at = 3 * note->of->island.node[i];
    for (int c = 0; c < 3; c++) {
      solve->dl_dv[3 * i + c] = note->part * undo->bar.q1[at + c];
      part_bar += note->more[3 * i + c] * undo->bar.q1[at + c];
      undo->step.q1[at + c] = note->before[3 * i + c];
    }
    most = fabs(note->more[3 * i]) > fabs(note->more[3 * most]) ? i : most;
  }
  if (note->part < 1) {
    double turn = note->more[3 * most];
    solve->dl_dv[3 * most] -= part_bar * note->part / turn;
  }
}

// Passes after the first find limits and contacts where those before put them, to rounding: which
// of them hold then makes no difference, as they move next to nothing. Nor does it in event
// stepping, where the gaps of what rests and of what has just met are 0 whatever the data.
static bool is_later_pass(const S2Undo *undo, int index) {
  int32_t first = s2_note_at(undo->notes, index)->of->island.node[0];
  for (int i = index - 1; i >= 0; i--) {
    const S2Note *note = s2_note_at(undo->notes, i);
    bool feeds =
        note->act == S2_ACT_FEEDBACK || note->act == S2_ACT_SPIN_V2 || note->act == S2_ACT_SPIN_DQ;
    if (!feeds || note->of->island.node[0] != first) {
      return note->act == S2_ACT_MEND && note->of->island.node[0] == first;
    }
  }
  return false;
}

// Modes are told relative to what was to be removed.
static void scale_mend(S2Problem *problem, const S2Note *note) {
  problem->velocity_scale = S2_PROJECTION_TRIGGER * note->of->island.length;
  for (int r = 0; r < problem->rows; r++) { // what is open is not removed
    double bias = problem->row[r].bias, error = problem->row[r].lo < 0 ? fabs(bias) : -bias;
    problem->velocity_scale = fmax(problem->velocity_scale, error);
  }
}

static void copy_rows(S2Problem *problem, S2Arena *arena) {
  S2Row *rows = S2_TAKE(arena, S2Row, problem->rows);
  if (problem->rows > 0) {
    memcpy(rows, problem->row, sizeof(S2Row) * (size_t)problem->rows);
  }
  problem->row = rows;
}

// The same island with the joints' rows at q0.
static S2Assembly assemble_start(S2Undo *undo, const S2Note *note) {
  return s2_assemble(&undo->step, undo->step.q0, undo->step.touches, &note->of->island,
                     undo->open.choices, S2_SOLVE_PROJECTION);
}

// Rows of S2_MEND_SHAKE: equations at q0. Returns how many.
static int take_start(const S2Assembly *start, S2Assembly *assembly, S2Arena *arena) {
  S2Problem *problem = &assembly->problem;
  copy_rows(problem, arena);
  S2Row *rows = (S2Row *)problem->row; // the copy
  int count = 0;
  for (; is_equation(assembly, count); count++) {
    memcpy(rows[count].ja, start->problem.row[count].ja, sizeof rows[count].ja);
    memcpy(rows[count].jb, start->problem.row[count].jb, sizeof rows[count].jb);
  }
  return count;
}

// What joints displaced, part J' lambda / mass, goes into the velocities; its adjoint to lambda.
static void feed_vjp(S2SolveUndo *solve, const S2Assembly *start, int equations, double *ja,
                     double *jb) {
  S2Undo *undo = solve->undo;
  const S2Note *note = solve->note;
  for (int r = 0; r < equations; r++) {
    const S2Row *row = &solve->assembly->problem.row[r];
    const S2JointPart *part = &start->part[r];
    double lambda = note->of->lambda[r], sum = 0;
    for (int side = 0; side < 2; side++) {
      int node = side == 0 ? row->a : row->b;
      const double *j = side == 0 ? row->ja : row->jb;
      double *j_bar = side == 0 ? ja : jb;
      for (int c = 0; c < 3 && node != S2_GROUND && node < note->of->island.nodes; c++) {
        int32_t slot = note->of->island.node[node]; // nodes of gears are displaced for nothing
        const S2Body *body = &undo->world->bodies.at[slot];
        double mass = solve->assembly->problem.mass[3 * node + c]; // a part of the body's
        double over = note->part * undo->displaced[3 * slot + c] / mass;
        sum += j[c] * over;
        j_bar[3 * r + c] += lambda * over;
        *s2_inertial_bar(undo, slot, c) -=
            over * j[c] * lambda / (c == 0 ? body->inertia : body->mass);
      }
    }
    sum += note->part * undo->feed[part->joint] *
           s2_undo_impulse(undo, part->joint, part->row, part->push);
    solve->dl_dlambda[r] += sum;
  }
  solve->reaction =
      s2_undo_reaction(undo, note, note->part * undo->feed[note->of->island.joint[0]]);
}

// What a displacement of bodies is worth that acts along equations: of q1, and of what is fed back.
static double *pushes_bar(const S2SolveUndo *solve) {
  const S2Undo *undo = solve->undo;
  int count = 3 * solve->note->of->island.nodes;
  double *bar = S2_TAKE(undo->arena, double, count);
  for (int i = 0; i < count; i++) {
    double displaced = undo->displaced[3 * solve->note->of->island.node[i / 3] + i % 3];
    bar[i] = solve->data.rhs[i] + solve->note->part * displaced / solve->assembly->problem.mass[i];
  }
  return bar;
}

// Joints: errors at q1, and in S2_MEND_SHAKE the rest of the equations at q0.
static void mended_joints(S2SolveUndo *solve, const S2Assembly *start, int equations) {
  S2Undo *undo = solve->undo;
  const S2Note *note = solve->note;
  S2McpGradient *data = &solve->data;
  double h = undo->bar.h, elapsed = undo->bar.elapsed;
  double *none = S2_TAKE_ZEROED(undo->arena, double, 3 * (note->rows + note->of->island.nodes));
  S2RowsAdjoint rows = {note->more,
                        note->of->lambda,
                        data->ja,
                        data->jb,
                        data->bias,
                        none,
                        none,
                        none,
                        start == NULL ? data->rhs : none,
                        solve->given,
                        NULL,
                        NULL};
  if (start != NULL) {
    S2RowsAdjoint at_start = {note->more,
                              note->of->lambda,
                              data->ja,
                              data->jb,
                              none,
                              none,
                              none,
                              none,
                              pushes_bar(solve),
                              solve->given,
                              solve->reaction,
                              note->of->lambda};
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
    memset(data->ja, 0, sizeof(double) * 3 * (size_t)equations);
    memset(data->jb, 0, sizeof(double) * 3 * (size_t)equations);
  }
  s2_joint_rows_vjp(&undo->step, &note->of->island, S2_SOLVE_PROJECTION, solve->assembly, &rows,
                    &undo->bar);
  if (note->h == 0) { // before the step: goals are where they are
    undo->bar.h = h;
    undo->bar.elapsed = elapsed;
  }
}

// ---- Mends with the rows of the solve ---------------------------------------------------------

// Rows where the solve had them; errors are those at the end, of the same feature or as the solve
// left it.
static void put_solved_row(S2SolveUndo *solve, int i, int k, const S2PointBar *bar) {
  S2Undo *undo = solve->undo;
  const S2Touch *now = &undo->open.touches[i], *then = &solve->touches[i];
  S2PointBar point = *bar, gap = {.gap = bar->gap};
  for (int j = 0; j < now->count; j++) {
    if (now->points[j].at.id == then->points[k].at.id) {
      point.gap = 0;
      s2_touch_point_vjp(undo->world, now, j, undo->step.q1, &gap, undo->bar.q1, undo->gradient);
      s2_undo_point(undo, solve->index, i, k, &point);
      return;
    }
  }
  S2ArenaMark mark = s2_arena_mark(undo->arena);
  const S2Note *moved = s2_note_at(undo->notes, s2_undo_last(undo, solve->index, S2_ACT_INTEGRATE));
  int count = 3 * undo->notes->slots;
  double *carry = S2_TAKE_ZEROED(undo->arena, double, count);
  double *carry_bar = S2_TAKE_ZEROED(undo->arena, double, count);
  const int32_t slot[2] = {then->body_a, then->body_b};
  for (int side = 0; side < 2; side++) {
    for (int at = 3 * slot[side]; at < 3 * slot[side] + 3; at++) {
      carry[at] = s2_undo_carry(undo, moved, at);
    }
  }
  S2Vec2 n = then->points[k].at.normal;
  undo->bar.h += bar->gap * s2_touch_velocity(then, k, n, carry);
  s2_touch_velocity_vjp(then, k, n, carry, undo->step.h * bar->gap, carry_bar, &point,
                        &point.normal);
  for (int side = 0; side < 2; side++) {
    for (int at = 3 * slot[side]; at < 3 * slot[side] + 3; at++) {
      s2_undo_carried(undo, moved, at, carry_bar[at]);
    }
  }
  s2_undo_point(undo, solve->index, i, k, &point);
  s2_arena_rewind(undo->arena, mark);
}

// The row of `end` that gives row r its error; -1: none does.
static int end_row(const S2SolveUndo *solve, const S2Assembly *end, int r) {
  const S2JointPart *then = &solve->assembly->part[r];
  int found = -1;
  for (int k = 0; k < end->parts; k++) {
    bool same = end->part[k].joint == then->joint && end->part[k].row == then->row;
    found = same ? k : found;
  }
  return found;
}

static void solved_joints(S2SolveUndo *solve, const S2Assembly *end) {
  S2Undo *undo = solve->undo;
  S2McpGradient *data = &solve->data;
  const S2Note *note = solve->note;
  int rows = solve->assembly->parts > end->parts ? solve->assembly->parts : end->parts;
  double *none = S2_TAKE_ZEROED(undo->arena, double, 3 * (rows + note->of->island.nodes));
  double *errors = S2_TAKE_ZEROED(undo->arena, double, rows);
  double *given = S2_TAKE_ZEROED(undo->arena, double, end->parts + end->parts_given);
  for (int r = 0; r < solve->assembly->parts; r++) {
    int at = end_row(solve, end, r);
    if (at >= 0) {
      errors[at] += data->bias[r];
      data->bias[r] = 0;
    }
  }
  double *q1 = undo->step.q1, *q1_bar = undo->bar.q1;
  S2RowsAdjoint at_start = {
      note->more, note->of->lambda, data->ja,     data->jb, data->bias, none, none,
      none,       data->rhs,        solve->given, NULL,     NULL};
  S2RowsAdjoint at_end = {note->more, none, none, none,  errors, none,
                          none,       none, none, given, NULL,   NULL};
  undo->step.q1 = undo->step.q0;
  undo->bar.q1 = undo->bar.q0;
  s2_joint_rows_vjp(&undo->step, &note->of->island, S2_SOLVE_PROJECTION, solve->assembly, &at_start,
                    &undo->bar);
  undo->step.q1 = q1;
  undo->bar.q1 = q1_bar;
  s2_joint_rows_vjp(&undo->step, &note->of->island, S2_SOLVE_PROJECTION, end, &at_end, &undo->bar);
}

static void undo_solved_mend(S2Undo *undo, int index) {
  const S2Note *note = s2_note_at(undo->notes, index);
  S2Arena *arena = undo->arena;
  S2ArenaMark mark = s2_arena_mark(arena);
  S2SolveUndo solve = {.undo = undo, .index = index, .note = note};
  s2_undo_set_island(undo, note);
  solve.touches = undo->open.solved;
  solve.dl_dv = S2_TAKE_ZEROED(arena, double, 3 * s2_solve_nodes(undo, note));
  solve.dl_dlambda = S2_TAKE_ZEROED(arena, double, note->rows);
  take_displacement(&solve);
  S2Choice *no_contacts = S2_TAKE_ZEROED(arena, S2Choice, 2 * note->of->island.touches);
  S2Assembly end = s2_assemble(&undo->step, undo->step.q1, undo->step.touches, &note->of->island,
                               no_contacts, S2_SOLVE_PROJECTION);
  undo->step.touches = (S2Touch *)undo->open.solved; // only read
  S2Assembly made = assemble_start(undo, note);
  solve.assembly = &made;
  if (s2_solve_same_rows(&solve)) {
    S2Problem *problem = &made.problem;
    copy_rows(problem, arena);
    for (int r = 0; r < made.parts; r++) {
      int at = end_row(&solve, &end, r);
      S2Row *row = (S2Row *)problem->row + r; // the copy
      row->bias = at >= 0 ? end.problem.row[at].bias : row->bias;
    }
    scale_mend(problem, note);
    solve.given = S2_TAKE_ZEROED(arena, double, made.parts + made.parts_given);
    if (s2_solve_differentiate(&solve)) {
      s2_solve_bodies_vjp(&solve);
      s2_solve_contacts_vjp(&solve, put_solved_row);
      if (note->of->island.joints > 0) {
        solved_joints(&solve, &end);
      }
    }
  }
  s2_undo_forget_island(undo, note);
  s2_arena_rewind(arena, mark);
}

void s2_undo_mend(S2Undo *undo, int index) {
  const S2Note *note = s2_note_at(undo->notes, index);
  S2Arena *arena = undo->arena;
  if (note->mend == S2_MEND_SOLVED) {
    undo_solved_mend(undo, index);
    return;
  }
  S2ArenaMark mark = s2_arena_mark(arena);
  S2SolveUndo solve = {.undo = undo, .index = index, .note = note};
  s2_undo_set_island(undo, note);
  solve.touches = undo->open.solved;
  solve.dl_dv = S2_TAKE_ZEROED(arena, double, 3 * s2_solve_nodes(undo, note));
  solve.dl_dlambda = S2_TAKE_ZEROED(arena, double, note->rows);
  take_displacement(&solve);
  S2Assembly made = s2_assemble(&undo->step, undo->step.q1, undo->step.touches, &note->of->island,
                                undo->open.choices, S2_SOLVE_PROJECTION);
  solve.assembly = &made;
  scale_mend(&made.problem, note);
  for (int i = 0; i < note->of->island.nodes; i++) {
    made.mass[3 * i] *= note->of->stiffness;
  }
  solve.given = S2_TAKE_ZEROED(arena, double, made.parts + made.parts_given);
  double *ja = S2_TAKE_ZEROED(arena, double, 3 * note->rows);
  double *jb = S2_TAKE_ZEROED(arena, double, 3 * note->rows);
  bool shaken = note->mend == S2_MEND_SHAKE;
  S2Assembly start = {0};
  int equations = 0;
  bool same = s2_solve_same_rows(&solve);
  if (same && shaken) {
    start = assemble_start(undo, note);
    equations = take_start(&start, &made, arena);
    feed_vjp(&solve, &start, equations, ja, jb);
  }
  unsigned found = undo->found;
  if (same && s2_solve_differentiate(&solve)) {
    if (s2_world_way(&undo->world->kept.def) == S2_EVENT || is_later_pass(undo, index)) {
      undo->found = found;
    }
    for (int i = 0; i < 3 * note->rows; i++) {
      solve.data.ja[i] += ja[i];
      solve.data.jb[i] += jb[i];
    }
    s2_solve_bodies_vjp(&solve);
    s2_solve_contacts_vjp(&solve, put_mended);
    if (note->of->island.joints > 0) {
      mended_joints(&solve, shaken ? &start : NULL, equations);
    }
  }
  s2_undo_forget_island(undo, note);
  s2_arena_rewind(arena, mark);
}
