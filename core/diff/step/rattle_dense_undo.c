// The adjoint of a stage as a dense system with the largest pivots. Stages with contacts take it,
// as friction that slides makes them nonsymmetric, and points that stick together repeat each
// other: islands of these pieces are small. So do joints that have no factor otherwise.
#include "diff/step/rattle_undo.h"
#include "mcp/pivot/dense_lu.h"
#include "mcp/solvers.h"

#include <string.h>

// Part of the largest entry, with rows in units of their own mobility: a pivot up to this belongs
// to a row that repeats others.
static const double REPEATS = 1e-10;
// Part of the largest right side: a row without a pivot that misses its own by more asks for
// something that is not determined.
static const double ASKED = 1e-8;
// Adjoints below this have no digits: the loss depends on nothing any more.
static const double NOTHING = 1e-200;

// Do rows without a pivot agree with the others?
static bool dense_agrees(int n, const double *a, const double *x, const double *b) {
  double asked = 0, missed = 0;
  for (int i = 0; i < n; i++) {
    double off = b[i];
    for (int j = 0; j < n; j++) {
      off -= a[i * n + j] * x[j];
    }
    asked = fmax(asked, fabs(b[i]));
    missed = fmax(missed, fabs(off));
  }
  return missed <= ASKED * asked + NOTHING;
}

bool s2_rattle_dense(S2RattlePiece *piece, const S2RattleState *state, const double *mass,
                     const S2Row *push, const S2Row *see, const double *right,
                     const double *l_bar) {
  S2Arena *arena = piece->undo->arena;
  S2ArenaMark mark = s2_arena_mark(arena);
  int nodes = 3 * piece->rattle.nodes, n = 0;
  int32_t *index = S2_TAKE(arena, int32_t, piece->rattle.rows);
  for (int r = 0; r < piece->rattle.rows; r++) {
    if (state[r] == S2_RATTLE_HELD) {
      index[n++] = r;
    }
  }
  size_t entries = (size_t)n * (size_t)n;
  double *a = S2_TAKE(arena, double, entries), *b = S2_TAKE(arena, double, n);
  double *scale = S2_TAKE(arena, double, n), *speed = S2_TAKE(arena, double, nodes);
  S2Problem problem = {.nodes = piece->rattle.nodes, .mass = mass};
  for (int i = 0; i < nodes; i++) {
    speed[i] = right[i] / mass[i];
  }
  for (int i = 0; i < n; i++) { // in units in which a row alone has the matrix 1
    const S2Row *row = &push[index[i]];
    double own = s2_mcp_delassus(&problem, row, row) + row->compliance;
    scale[i] = own > 0 ? 1 / sqrt(own) : 0;
  }
  // What rows see of what others push.
  for (int i = 0; i < n; i++) {
    const S2Row *row = &see[index[i]];
    for (int j = 0; j < n; j++) {
      double entry = s2_mcp_delassus(&problem, row, &push[index[j]]);
      entry += i == j ? push[index[j]].compliance : 0;
      a[i * n + j] = entry * scale[i] * scale[j];
    }
    b[i] = (s2_rattle_row_speed(row, speed) + l_bar[index[i]]) * scale[i];
  }
  double *x = s2_arena_copy(arena, b, n), *kept = S2_TAKE(arena, double, entries);
  memcpy(kept, a, sizeof *a * entries);
  S2DenseLu lu = s2_dense_lu_factor(n, a, REPEATS, arena);
  s2_dense_lu_solve(&lu, x);
  bool determined = lu.rank == n || dense_agrees(n, kept, x, b);
  bool repeats = lu.rank < n && piece->rattle.touches == 0;
  piece->undo->gradient->flags |= determined ? 0 : S2_GRADIENT_UNDETERMINED;
  piece->undo->gradient->flags |= repeats ? S2_GRADIENT_REDUNDANT : 0;
  // p = W^-1 (right - J' y)
  memcpy(piece->p, right, sizeof(double) * (size_t)nodes);
  for (int i = 0; i < n; i++) {
    const S2Row *row = &push[index[i]];
    double y = piece->y[index[i]] = x[i] * scale[i];
    for (int c = 0; c < 3; c++) {
      piece->p[row->a >= 0 ? 3 * row->a + c : 0] -= row->a >= 0 ? row->ja[c] * y : 0;
      piece->p[row->b >= 0 ? 3 * row->b + c : 0] -= row->b >= 0 ? row->jb[c] * y : 0;
    }
  }
  bool finite = true;
  for (int i = 0; i < nodes; i++) {
    piece->p[i] /= mass[i];
    finite &= isfinite(piece->p[i]) != 0;
  }
  s2_arena_rewind(arena, mark);
  return finite;
}
