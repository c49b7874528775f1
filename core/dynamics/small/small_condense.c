// Eliminates the equations from the problem of a stage.
#include "dynamics/small/small_problem.h"

#include <string.h>

enum { ALL = S2_SMALL_ALL };

// Tolerance of all inequalities, as a fraction of V (active.c).
static const double SLACK = 1e-12;

// Lists the equations and the other rows with unknown impulses. Returns false if there are too
// many.
static bool small_list_rows(const S2SmallStage *stage, S2SmallProblem *to) {
  const S2Small *small = stage->small;
  to->equations = to->rows = to->units = 0;
  for (int r = 0; r < small->rows; r++) {
    if (stage->known[r]) {
      continue;
    }
    S2RattleLaw law = small->row[r].law;
    bool equation = law == S2_RATTLE_EQUATION, friction = law == S2_RATTLE_FRICTION;
    bool full = equation ? to->equations == S2_SMALL_EQUATIONS
                         : to->rows == S2_SMALL_SIDED || (!friction && to->units == S2_SMALL_UNITS);
    if (full) {
      return false;
    }
    if (equation) {
      to->equation[to->equations++] = r;
      continue;
    }
    if (!friction) {
      Kind kind = law == S2_RATTLE_BOUNDED ? BOX : NORMAL;
      to->unit[to->units++] = (Unit){.kind = kind, .first = to->rows};
    } else { // a friction row belongs to the contact of the preceding row
      to->unit[to->units - 1].kind = CONTACT;
    }
    to->row[to->rows++] = r;
  }
  return true;
}

// The rows that act on one body: their places in the matrix, their directions, and the changes of
// velocity that their unit impulses cause.
typedef struct Touching {
  int count, place[ALL];
  double j[ALL][3], push[3][ALL];
} Touching;

// Appends a row to those of a body, if the body is not ground.
static void small_list_touching(const S2SmallStage *stage, int seat, int place, const double *left,
                                const double *side, Touching *touching) {
  if (seat < stage->small->nodes) {
    Touching *to = &touching[seat];
    int k = to->count++;
    to->place[k] = place;
    for (int c = 0; c < 3; c++) {
      to->j[k][c] = left[c];
      to->push[c][k] = side[c] * stage->inverse[3 * seat + c];
    }
  }
}

// Adds the effects of all impulses on the speeds of all rows by one body.
static void small_add_effects(const Touching *of, S2SmallProblem *to) {
  for (int i = 0; i < of->count; i++) {
    double effect[ALL], *row = to->s[of->place[i]];
    const double *j = of->j[i];
    for (int k = 0; k < of->count; k++) {
      effect[k] = j[0] * of->push[0][k] + j[1] * of->push[1][k] + j[2] * of->push[2][k];
    }
    for (int k = 0; k < of->count; k++) {
      row[of->place[k]] += effect[k];
    }
  }
}

// Returns the mobility of a row.
static double small_mobility(const S2SmallStage *stage, const S2SmallRow *row,
                             const S2SmallSide *side) {
  const double *a = stage->inverse + 3 * row->a, *b = stage->inverse + 3 * row->b;
  double w = 0;
  for (int c = 0; c < 3; c++) {
    w += side->a[c] * side->a[c] * a[c] + side->b[c] * side->b[c] * b[c];
  }
  return w;
}

// Fills the matrix: equations first, then the other rows. Returns false if a row has no mobility.
static bool small_fill(const S2SmallStage *stage, S2SmallProblem *to) {
  const S2Small *small = stage->small;
  Touching touching[S2_SMALL_NODES];
  for (int i = 0; i < small->nodes; i++) {
    touching[i].count = 0;
  }
  int all = to->equations + to->rows;
  bool moves = true;
  for (int i = 0; i < all; i++) {
    int r = i < to->equations ? to->equation[i] : to->row[i - to->equations];
    const S2SmallRow *row = &small->row[r];
    const S2SmallSide *side = &stage->side[r], *left = &stage->left[r];
    double w = small_mobility(stage, row, side), compliance = stage->compliance[r];
    to->w[r] = w + compliance;
    to->root[r] = sqrt(to->w[r]);
    to->weight[r] = s2_small_turns(side) ? small->length : 1;
    // As s2_row_weight. The equation of a soft row keeps its whole weight, because the derivative
    // with respect to a compliance or damping needs all digits of a small impulse.
    if (compliance > 0 && i >= to->equations) {
      to->weight[r] *= w / to->w[r];
    }
    moves &= w > 0 && isfinite(to->w[r]);
    memset(to->s[i], 0, sizeof(double) * (size_t)all);
    to->s[i][i] = compliance;
    small_list_touching(stage, row->a, i, left->a, side->a, touching);
    small_list_touching(stage, row->b, i, left->b, side->b, touching);
  }
  for (int i = 0; i < small->nodes; i++) {
    small_add_effects(&touching[i], to);
  }
  return moves;
}

// Eliminates the equations. Returns false if they are nearly dependent.
static bool small_eliminate(S2SmallProblem *to) {
  int m = to->equations, all = m + to->rows;
  double diagonal[S2_SMALL_EQUATIONS];
  for (int c = 0; c < m; c++) {
    diagonal[c] = to->s[c][c];
  }
  for (int c = 0; c < m; c++) {
    const double *restrict pivot = to->s[c];
    if (!(pivot[c] > S2_SMALL_DEPENDENT * diagonal[c])) {
      return false;
    }
    double inverse = to->inverse[c] = 1 / pivot[c];
    for (int i = c + 1; i < all; i++) {
      double *restrict row = to->s[i];
      if (row[c] == 0) {
        continue;
      }
      double factor = row[c] *= inverse;
      for (int j = c + 1; j < all; j++) {
        row[j] -= factor * pivot[j];
      }
    }
  }
  return true;
}

bool s2_small_condense(S2SmallStage *stage, S2SmallProblem *to) {
  if (!small_list_rows(stage, to) || !small_fill(stage, to) || !small_eliminate(to)) {
    return false;
  }
  int n = to->rows, m = to->equations;
  double inverse[S2_SMALL_SIDED];
  for (int k = 0; k < n; k++) {
    int r = to->row[k];
    to->size[k] = to->root[r] * to->weight[r];
    inverse[k] = 1 / to->root[r];
    for (int c = 0; c < m; c++) {
      to->z[k][c] = to->s[c][m + k];
    }
  }
  // Scale the Schur complement and the bounds.
  for (int k = 0; k < n; k++) {
    for (int i = 0; i < n; i++) {
      to->g[k][i] = to->s[m + k][m + i] * (inverse[k] * inverse[i]);
    }
  }
  for (int i = 0; i < to->units; i++) {
    Unit *unit = &to->unit[i];
    int k = unit->first, r = to->row[k];
    unit->size[0] = to->size[k];
    unit->lo = stage->lo[r] * to->root[r];
    unit->hi = stage->hi[r] * to->root[r];
    if (unit->kind == CONTACT) {
      unit->size[1] = to->size[k + 1];
      unit->mu = stage->small->row[to->row[k + 1]].mu * to->root[to->row[k + 1]] / to->root[r];
    }
  }
  to->slack = fmin(SLACK, stage->small->tolerance) * stage->scale;
  return true;
}
