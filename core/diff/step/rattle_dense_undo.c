// The adjoint of a stage with contacts: a dense system, as friction that slides makes it
// nonsymmetric, and points that stick together repeat each other. Islands of these pieces are
// small.
#include "diff/step/rattle_undo.h"

#include <string.h>

// Of rows in units of their own mobility: a pivot below this repeats others; a row that was left
// out and is off by more than this part is asked for something that is not determined.
static const double REPEATS = 1e-10, ASKED = 1e-8;

typedef struct Dense {
  int n;
  double *a, *b, *x;     // n * n, by rows; n
  double *kept, *kept_b; // as they were
  double *scale;         // n
  int *row, *column;     // orders of elimination
} Dense;

static double *dense_at(const Dense *dense, int i, int j) {
  return &dense->a[dense->row[i] * dense->n + dense->column[j]];
}

static void dense_swap(int *order, int i, int k) {
  int at = order[i];
  order[i] = order[k];
  order[k] = at;
}

// Elimination with the largest pivot that is left. Returns the rank.
static int dense_eliminate(Dense *dense) {
  int n = dense->n, rank = 0;
  for (; rank < n; rank++) {
    int row = rank, column = rank;
    for (int i = rank * (n + 1); i < n * n; i++) {
      int at_row = i / n, at_column = i % n;
      bool larger = at_column >= rank &&
                    fabs(*dense_at(dense, at_row, at_column)) > fabs(*dense_at(dense, row, column));
      row = larger ? at_row : row;
      column = larger ? at_column : column;
    }
    // What is left of the rows below.
    dense_swap(dense->row, rank, row);
    dense_swap(dense->column, rank, column);
    double pivot = *dense_at(dense, rank, rank);
    if (!(fabs(pivot) > REPEATS)) {
      break;
    }
    for (int i = rank + 1; i < n; i++) {
      double factor = *dense_at(dense, i, rank) / pivot;
      for (int j = rank; j < n && factor != 0; j++) {
        *dense_at(dense, i, j) -= factor * *dense_at(dense, rank, j);
      }
      dense->b[dense->row[i]] -= factor * dense->b[dense->row[rank]];
    }
  }
  return rank;
}

// x of the rows that are independent, 0 of others. False: what others ask for is not determined.
static bool dense_solve(Dense *dense) {
  int n = dense->n, rank = dense_eliminate(dense);
  memset(dense->x, 0, sizeof(double) * (size_t)n);
  for (int i = rank - 1; i >= 0; i--) {
    double sum = dense->b[dense->row[i]];
    for (int j = i + 1; j < rank; j++) {
      sum -= *dense_at(dense, i, j) * dense->x[dense->column[j]];
    }
    dense->x[dense->column[i]] = sum / *dense_at(dense, i, i);
  }
  double asked = 0, missed = 0;
  for (int i = 0; i < n && rank < n; i++) {
    double off = dense->kept_b[i];
    for (int j = 0; j < n; j++) {
      off -= dense->kept[i * n + j] * dense->x[j];
    }
    asked = fmax(asked, fabs(dense->kept_b[i]));
    missed = fmax(missed, fabs(off));
  }
  return missed <= ASKED * asked;
}

// What `seen` sees of a unit impulse along `pushed`.
static double dense_entry(const S2Row *seen, const S2Row *pushed, const double *mass) {
  double sum = 0;
  const int32_t nodes[2] = {seen->a, seen->b}, others[2] = {pushed->a, pushed->b};
  for (int i = 0; i < 4; i++) {
    const double *j = i % 2 == 0 ? seen->ja : seen->jb, *k = i < 2 ? pushed->ja : pushed->jb;
    int32_t node = nodes[i % 2];
    for (int c = 0; c < 3 && node >= 0 && node == others[i / 2]; c++) {
      sum += j[c] * k[c] / mass[3 * node + c];
    }
  }
  return sum;
}

static Dense dense_make(S2Arena *arena, int n) {
  double *numbers = S2_TAKE(arena, double, 2 * n * n + 4 * n);
  Dense dense = {.n = n,
                 .a = numbers,
                 .kept = numbers + n * n,
                 .b = numbers + 2 * n * n,
                 .kept_b = numbers + 2 * n * n + n,
                 .x = numbers + 2 * n * n + 2 * n,
                 .scale = numbers + 2 * n * n + 3 * n,
                 .row = S2_TAKE(arena, int, n),
                 .column = S2_TAKE(arena, int, n)};
  for (int i = 0; i < n; i++) {
    dense.row[i] = dense.column[i] = i;
  }
  return dense;
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
  Dense dense = dense_make(arena, n);
  double *speed = S2_TAKE(arena, double, nodes);
  for (int i = 0; i < nodes; i++) {
    speed[i] = right[i] / mass[i];
  }
  for (int i = 0; i < n; i++) { // in units in which a row alone has the matrix 1
    const S2Row *row = &push[index[i]];
    double own = dense_entry(row, row, mass) + row->compliance;
    dense.scale[i] = own > 0 ? 1 / sqrt(own) : 0;
  }
  for (int i = 0; i < n; i++) {
    const S2Row *row = &see[index[i]];
    for (int j = 0; j < n; j++) {
      double entry =
          dense_entry(row, &push[index[j]], mass) + (i == j ? push[index[j]].compliance : 0);
      dense.a[i * n + j] = dense.kept[i * n + j] = entry * dense.scale[i] * dense.scale[j];
    }
    double b = s2_rattle_row_speed(row, speed) + l_bar[index[i]];
    dense.b[i] = dense.kept_b[i] = b * dense.scale[i];
  }
  bool determined = dense_solve(&dense);
  piece->undo->gradient->flags |= determined ? 0 : S2_GRADIENT_UNDETERMINED;
  // p = W^-1 (right - J' y)
  memcpy(piece->p, right, sizeof(double) * (size_t)nodes);
  for (int i = 0; i < n; i++) {
    const S2Row *row = &push[index[i]];
    double y = piece->y[index[i]] = dense.x[i] * dense.scale[i];
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
