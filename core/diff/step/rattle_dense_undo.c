// Solves the adjoint of a stage as a dense system with complete pivoting. Stages with contacts need
// this, because sliding friction makes them unsymmetric, and rows of several sticking points can be
// redundant. Their islands are small. Joints without another factorisation also use it.
#include "diff/step/rattle_undo.h"
#include "mcp/pivot/dense_lu.h"
#include "mcp/solvers.h"

#include <string.h>

// A row is redundant if its pivot is at most this fraction of the largest entry. Rows are in units
// of their own mobility.
static const double REPEATS = 1e-10;
// The adjoint is not determined if a row without a pivot misses its right-hand side by more than
// this fraction of the largest right-hand side.
static const double ASKED = 1e-8;
// Smaller adjoints have no correct digits, so the loss counts as constant.
static const double NOTHING = 1e-200;

// Returns true if the rows without a pivot agree with the other rows.
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

// The system of a stage. Rows are in units of their own mobility, given by `scale`.
typedef struct Dense {
  const S2Problem *problem;
  const S2Row *push, *see;
  int n;
  const int32_t *index;
  const double *scale;
  S2DenseLu lu;
  const double *x; // its solution
} Dense;

static double dense_scale(const Dense *dense, int r) {
  const S2Row *row = &dense->push[r];
  double own = s2_mcp_delassus(dense->problem, row, row) + row->compliance;
  return own > 0 ? 1 / sqrt(own) : 0;
}

// Adds to q (3 per slot) `by` times the derivative of the value of row r with respect to the poses
// at the start of the piece. Rows that measure a change have the derivative 0.
static void dense_by_start(const S2Rattle *rattle, int r, double by, double *q) {
  const S2RattleTerm *term = &rattle->term[r];
  const S2RowSides *side = &rattle->at1.side[r];
  int32_t slot[2];
  s2_rattle_bodies(rattle, term, slot);
  for (int c = 0; c < 6 && !term->changes && term->source != S2_RATTLE_OF_SLIP; c++) {
    if (slot[c / 3] != S2_NONE) {
      q[3 * slot[c / 3] + c % 3] += by * (c < 3 ? side->a[c] : side->b[c - 3]);
    }
  }
}

// Returns true if contact row r of stage 1 would be redundant with held rows and take a part of
// their load. The row is on an edge and counts as free. If a change of an initial pose makes the
// rows contradict each other, the derivative with respect to that pose is different. An example is
// the position of one of two boxes that friction holds side by side.
static bool dense_takes(const S2Rattle *rattle, const Dense *dense, int r, S2Arena *arena) {
  S2ArenaMark mark = s2_arena_mark(arena);
  int slots = 3 * rattle->step->world->bodies.count;
  double *c = S2_TAKE(arena, double, dense->n), *q = S2_TAKE_ZEROED(arena, double, slots);
  double scale = dense_scale(dense, r), left = 1, asked = 0, moved = 0;
  for (int i = 0; i < dense->n; i++) {
    const S2Row *row = &dense->see[dense->index[i]];
    c[i] = s2_mcp_delassus(dense->problem, row, &dense->push[r]) * dense->scale[i] * scale;
    asked = fmax(asked, fabs(dense->x[i]));
  }
  s2_dense_lu_solve(&dense->lu, c);
  // `left` is the part of the row's mobility that held rows do not cover. `q` is the derivative of
  // the row's value, minus the contribution of held rows in the same directions.
  bool takes = false;
  dense_by_start(rattle, r, 1, q);
  for (int i = 0; i < dense->n; i++) {
    const S2Row *row = &dense->push[dense->index[i]];
    double seen = s2_mcp_delassus(dense->problem, &dense->see[r], row) * dense->scale[i] * scale;
    left -= seen * c[i];
    takes |= fabs(c[i]) > ASKED && fabs(c[i] * dense->x[i]) > ASKED * asked + NOTHING;
    dense_by_start(rattle, dense->index[i], -c[i] * dense->scale[i] / scale, q);
  }
  for (int i = 0; i < slots; i++) {
    moved = fmax(moved, fabs(q[i]) / (i % 3 == 0 ? rattle->island->length : 1));
  }
  s2_arena_rewind(arena, mark);
  return takes && fabs(left) <= ASKED && moved > ASKED;
}

static void flag_tied(const S2RattlePiece *piece, const S2RattleState *state, const Dense *dense) {
  const S2Rattle *rattle = &piece->rattle;
  for (int r = 0; r < rattle->rows && state == rattle->first; r++) {
    bool edge = piece->edge[0][r] && s2_rattle_of_contact(&rattle->term[r]);
    if (edge && dense_takes(rattle, dense, r, piece->undo->arena)) {
      piece->undo->gradient->flags |= S2_GRADIENT_WEAK;
    }
  }
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
  Dense dense = {&problem, push, see, n, index, scale, {0}, NULL};
  for (int i = 0; i < n; i++) { // with this scale, a single row has the matrix 1
    scale[i] = dense_scale(&dense, index[i]);
  }
  // Compute the speed of each row per impulse of each other row.
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
  piece->undo->gradient->flags |= lu.rank == n ? 0 : S2_GRADIENT_REDUNDANT;
  piece->undo->gradient->flags |= determined ? 0 : S2_GRADIENT_UNDETERMINED;
  dense.lu = lu;
  dense.x = x;
  flag_tied(piece, state, &dense);
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
