// The derivative of a projection by one factorisation (dynamics/project/shake.c).
//
// The result of SHAKE does not depend on its iterations. It is dq = M^-1 J0' l, with the joint rows
// at q0, such that no error remains, g(q1 + dq) = 0. Let J1 be the rows at the end. Then
//
//     [M  J1'] [p]   [dl/d(dq)]
//     [-J0  0] [y] = [dl/dl   ],    dl/dM = -p dq,  dl/dJ0 = l p',  dl/dg = -y.
#include "diff/step/undo.h"

#include <string.h>

typedef struct Shake {
  S2Undo *undo;
  const S2Note *note;
  S2Assembly start, end; // the problem at q0 and at q1
  S2Remade *solve;       // a solve with the same rows as `start`, or NULL
  int rows;
  double *p, *y, *dq_bar; // 3 per node; 1 per row; 3 per node
  const double *reaction; // adjoint of the feedback of joint impulses (s2_undo_reaction)
} Shake;

// Makes S2_SOLVE_PROJECTION use the rows at the start of the step. If the first solve had these
// rows, also uses the time at the start.
static void shake_set_start(S2Undo *undo, const S2Note *note, bool start) {
  undo->step.t = start && note->solve.of_motion ? note->t - note->h : note->t;
  if (start) {
    undo->step.q1 = undo->step.q0;
  }
}

static int shake_equations(const S2Problem *problem) {
  int count = 0;
  while (count < problem->rows && problem->row[count].lo < 0) {
    count += 1;
  }
  return count;
}

static bool shake_is_same_island(const S2Island *a, const S2Island *b) {
  return a->nodes == b->nodes && a->joints == b->joints &&
         memcmp(a->node, b->node, sizeof(int32_t) * (size_t)a->nodes) == 0 &&
         memcmp(a->joint, b->joint, sizeof(int32_t) * (size_t)a->joints) == 0;
}

// Finds the island's first solve. Returns its note index if its rows are exactly the joint
// equations at q0, otherwise S2_NONE. This requires rigid joints that are not driven, as in
// dynamics/project/shake.c.
static int shake_find_solve(const Shake *shake) {
  const S2Notes *notes = shake->undo->notes;
  const S2Island *island = &shake->note->of->island;
  for (int i = shake->undo->index - 1;; i--) {
    const S2Note *note = s2_note_at(notes, i);
    if (note->act == S2_ACT_FREE || note->act == S2_ACT_SET_OUT) { // q0 was different in that solve
      return S2_NONE;
    }
    if (note->act == S2_ACT_SOLVE && note->solve.kind == S2_SOLVE_MOTION &&
        shake_is_same_island(&note->of->island, island)) {
      return i;
    }
  }
}

static bool shake_has_same_rows(const S2Assembly *motion, const S2Assembly *end, int rows) {
  bool same = motion->parts == rows && motion->parts_given == 0;
  for (int r = 0; r < rows && same; r++) {
    const S2Row *row = &motion->problem.row[r];
    same = row->lo == -INFINITY && row->hi == INFINITY && row->compliance == 0 &&
           motion->part[r].joint == end->part[r].joint && motion->part[r].row == end->part[r].row;
  }
  return same;
}

// Returns false if there is no such solve, or if more than the adjoint of its rows is needed.
static bool shake_take_rows_of_solve(Shake *shake) {
  S2Undo *undo = shake->undo;
  int of =
      shake->note->solve.of_motion && shake->reaction == NULL ? shake_find_solve(shake) : S2_NONE;
  if (of == S2_NONE) {
    return false;
  }
  // Assemble the problem of the first solve only once. The solve itself and all acts that need it
  // share the result.
  const S2Note *note = s2_note_at(undo->notes, of);
  if (undo->remade[of] == NULL) {
    S2Remade *remade = S2_TAKE(undo->arena, S2Remade, 1);
    s2_undo_set_island(undo, note);
    remade->assembly =
        s2_assemble(&undo->step, s2_step_poses(&undo->step, note->solve.kind), undo->step.touches,
                    &note->of->island, undo->open.choices, note->solve.kind);
    remade->ja = S2_TAKE_ZEROED(undo->arena, double, 6 * remade->assembly.parts);
    remade->jb = remade->ja + 3 * (size_t)remade->assembly.parts;
    undo->remade[of] = remade;
  }
  // The rows must equal the rows in the note, because this function cannot represent rows that the
  // note omits.
  S2Remade *remade = undo->remade[of];
  if (!shake_has_same_rows(&remade->assembly, &shake->end, shake->rows)) {
    return false;
  }
  shake->solve = remade;
  shake->start = remade->assembly;
  return true;
}

// Solves J0 M^-1 J1' y = J0 M^-1 dl/d(dq) + dl/dl. Returns false if rows are redundant.
static bool shake_solve(Shake *shake) {
  S2Undo *undo = shake->undo;
  const S2Row *row = shake->start.problem.row;
  S2RowSides *left = S2_TAKE(undo->arena, S2RowSides, shake->rows);
  // The right-hand side, and the rows J0 that convert dual displacements to multipliers.
  for (int r = 0; r < shake->rows; r++) {
    const S2JointPart *part = &shake->start.part[r];
    double sum =
        undo->feed[part->joint] * s2_undo_impulse(undo, part->joint, part->row, part->push);
    for (int c = 0; c < 3; c++) {
      left[r].a[c] = row[r].ja[c];
      left[r].b[c] = row[r].jb[c];
      const double *mass = shake->end.mass;
      sum += row[r].a == S2_GROUND
                 ? 0
                 : row[r].ja[c] * shake->dq_bar[3 * row[r].a + c] / mass[3 * row[r].a + c];
      sum += row[r].b == S2_GROUND
                 ? 0
                 : row[r].jb[c] * shake->dq_bar[3 * row[r].b + c] / mass[3 * row[r].b + c];
    }
    shake->y[r] = sum;
  }
  // The matrix is not symmetric: J1 contains the rows at the end, and J0, on the left, the rows at
  // the start.
  S2Bilateral matrix;
  bool good = s2_bilateral_init(&matrix, &shake->end.problem, undo->arena) &&
              s2_bilateral_factor(&matrix, left);
  if (good) {
    s2_bilateral_apply(&matrix, shake->y);
  }
  return good;
}

static void shake_masses_vjp(Shake *shake) {
  const S2Row *row = shake->end.problem.row;
  const double *mass = shake->end.mass;
  int count = 3 * shake->note->of->island.nodes;
  memcpy(shake->p, shake->dq_bar, sizeof(double) * (size_t)count);
  // p = M^-1 (dl/d(dq) - J1' y)
  for (int r = 0; r < shake->rows; r++) {
    for (int c = 0; c < 3; c++) {
      if (row[r].a != S2_GROUND) {
        shake->p[3 * row[r].a + c] -= row[r].ja[c] * shake->y[r];
      }
      if (row[r].b != S2_GROUND) {
        shake->p[3 * row[r].b + c] -= row[r].jb[c] * shake->y[r];
      }
    }
  }
  // dl/dM = -p dq
  for (int i = 0; i < count; i++) {
    S2BodyGradient *body = &shake->undo->gradient->body[shake->note->of->island.node[i / 3]];
    shake->p[i] /= mass[i];
    *(i % 3 == 0 ? &body->inertia : &body->mass) -= shake->p[i] * shake->note->solve.x[i];
  }
}

static void shake_rows_vjp(Shake *shake) {
  S2Undo *undo = shake->undo;
  const S2Note *note = shake->note;
  int most = 3 * (shake->rows + note->of->island.nodes) + shake->start.parts + shake->end.parts;
  // dl/dJ0 = l p'
  double *none = S2_TAKE_ZEROED(undo->arena, double, most);
  bool solved = shake->solve != NULL; // the adjoint of the rows at q0 goes to the solve
  double *ja = solved ? shake->solve->ja : S2_TAKE_ZEROED(undo->arena, double, 3 * shake->rows);
  double *jb = solved ? shake->solve->jb : S2_TAKE_ZEROED(undo->arena, double, 3 * shake->rows);
  for (int r = 0; r < shake->rows; r++) {
    const S2Row *row = &shake->start.problem.row[r];
    for (int c = 0; c < 3; c++) {
      ja[3 * r + c] += row->a == S2_GROUND ? 0 : note->of->lambda[r] * shake->p[3 * row->a + c];
      jb[3 * r + c] += row->b == S2_GROUND ? 0 : note->of->lambda[r] * shake->p[3 * row->b + c];
    }
    shake->y[r] = -shake->y[r];
  }
  // dl/dg = -y, for the rows at the end
  S2RowsAdjoint at_end = s2_rows_adjoint(none, none);
  at_end.bias = shake->y;
  shake->start.parts = shake->end.parts = shake->rows; // equations come first
  shake->start.parts_given = shake->end.parts_given = 0;
  s2_joint_rows_vjp(&undo->step, &note->of->island, S2_SOLVE_PROJECTION, &shake->end, &at_end,
                    &undo->bar);
  // Rows at the start are undone with the solve that has the same rows.
  if (solved) {
    return;
  }
  // Otherwise they are differentiated in a step with q0 in place of q1.
  S2RowsAdjoint at_start = s2_rows_adjoint(none, none);
  at_start.lambda = note->of->lambda;
  at_start.ja = ja;
  at_start.jb = jb;
  at_start.rhs = shake->p;
  at_start.reaction = shake->reaction;
  at_start.pushed = note->of->lambda;
  double *q1 = undo->step.q1, *q1_bar = undo->bar.q1;
  double h = undo->bar.h;
  shake_set_start(undo, note, true);
  undo->bar.q1 = undo->bar.q0;
  s2_joint_rows_vjp(&undo->step, &note->of->island, S2_SOLVE_PROJECTION, &shake->start, &at_start,
                    &undo->bar);
  shake_set_start(undo, note, false);
  // These rows are taken at the start of the step.
  undo->bar.h = note->solve.of_motion ? h : undo->bar.h;
  undo->step.q1 = q1;
  undo->bar.q1 = q1_bar;
}

void s2_undo_shake(S2Undo *undo, const S2Note *note) {
  int count = 3 * note->of->island.nodes;
  Shake shake = {.undo = undo, .note = note, .rows = note->solve.rows};
  // Rows at both ends. Rows at the start may be shared with the first solve.
  s2_undo_set_island(undo, note);
  shake.reaction = s2_undo_reaction(undo, note, undo->feed[note->of->island.joint[0]]);
  shake.end = s2_assemble(&undo->step, undo->step.q1, undo->step.touches, &note->of->island, NULL,
                          S2_SOLVE_PROJECTION);
  bool solved = shake_take_rows_of_solve(&shake); // kept until the sweep reaches the solve
  // Otherwise the rows are assembled again at q0.
  S2ArenaMark mark = s2_arena_mark(undo->arena);
  s2_undo_set_island(undo, note);
  if (!solved) {
    double *q1 = undo->step.q1;
    shake_set_start(undo, note, true);
    shake.start = s2_assemble(&undo->step, undo->step.q1, undo->step.touches, &note->of->island,
                              NULL, S2_SOLVE_PROJECTION);
    shake_set_start(undo, note, false);
    undo->step.q1 = q1;
  }
  // dl/d(dq), through q1 and through the velocity feedback.
  shake.y = S2_TAKE(undo->arena, double, note->solve.rows);
  shake.p = S2_TAKE(undo->arena, double, count);
  shake.dq_bar = S2_TAKE(undo->arena, double, count);
  for (int i = 0; i < count; i++) {
    int at = 3 * note->of->island.node[i / 3] + i % 3;
    shake.dq_bar[i] = undo->bar.q1[at] + undo->displaced[at];
  }
  // Compute p and y, then the adjoints of masses and rows.
  if (shake_equations(&shake.start.problem) != note->solve.rows ||
      shake_equations(&shake.end.problem) != note->solve.rows) {
    *undo->failed = s2_error(
        S2_INVALID, "a projection of %d equations had %d when it was repeated (this is a bug)",
        note->solve.rows, shake_equations(&shake.end.problem));
  } else {
    shake.end.problem.rows = note->solve.rows;
    if (shake_solve(&shake)) {
      shake_masses_vjp(&shake);
      shake_rows_vjp(&shake);
    } else {
      undo->gradient->flags |= S2_GRADIENT_SINGULAR;
    }
  }
  for (int i = 0; i < count; i++) {
    undo->step.q1[3 * note->of->island.node[i / 3] + i % 3] = note->solve.before[i];
  }
  s2_undo_forget_island(undo, note);
  s2_arena_rewind(undo->arena, mark);
}
