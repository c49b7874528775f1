#include "mcp/chain/pdipm_system.h"

#include "linalg/numbers.h"
#include "mcp/chain/pdipm_local.h"
#include "mcp/solvers.h"

#include <assert.h>
#include <math.h>
#include <string.h>

// Up to this number of nodes K is dense, and LAPACK factors it with pivoting. The sparse
// factorisation is always faster: a solve takes 2.1 us instead of 3.8 us for one box on the ground,
// and half the time for ten boxes. The dense factorisation is therefore used only where it costs
// little time.
enum { DENSE_NODES = 1 };

// ---- Building ---------------------------------------------------------------------------------

static void system_fill_row(S2Unit *unit, int r, const S2Row *row, double w,
                            const S2Problem *problem) {
  unit->g[r] = w > 0 ? 1 / w : 1; // w = 0 for a row that no impulse can move
  unit->c[r] = row->compliance * unit->g[r];
  unit->b0[r] = row->bias / problem->velocity_scale;
  unit->angular[r] = s2_row_is_angular(row);
}

// Packs the rows that begin with `i` into one unit. Returns the number of rows of the problem in
// this unit.
static int fill_unit(S2Unit *unit, const S2Problem *problem, int i, const double *w) {
  const S2Row *row = &problem->row[i], *next = i + 1 < problem->rows ? row + 1 : NULL;
  // One of the nodes may be the ground. The other node then comes first.
  *unit = (S2Unit){.row = i, .rows = 1, .slot = -1, .g = {1, 1}, .turned = row->a < 0};
  assert(row->coupled_to < 0 && row->a != row->b);
  unit->a = unit->turned ? row->b : row->a;
  unit->b = unit->turned || row->b < 0 ? problem->nodes : row->b;
  system_fill_row(unit, 0, row, w[i], problem);
  // Two neighbouring rows of one joint make one unit of two equations.
  if (row->lo == -INFINITY) {
    assert(row->hi == INFINITY);
    unit->kind = S2_UNIT_BILATERAL;
    bool pair = next != NULL && next->group == row->group && next->coupled_to < 0 &&
                next->lo == -INFINITY && next->a == row->a && next->b == row->b;
    if (pair) {
      unit->rows = 2;
      system_fill_row(unit, 1, next, w[i + 1], problem);
    }
    return unit->rows;
  }
  // Scale the bounds of a boxed row like its impulse.
  if (isfinite(row->hi)) {
    double scale = w[i] > 0 ? w[i] / problem->velocity_scale : 1 / problem->velocity_scale;
    assert(row->lo < row->hi && isfinite(row->lo));
    unit->kind = S2_UNIT_BOX;
    unit->lo = row->lo * scale;
    unit->hi = row->hi * scale;
    return 1;
  }
  // A contact, with its friction row if mu > 0.
  assert(row->lo == 0 && row->hi == INFINITY);
  unit->kind = S2_UNIT_NORMAL;
  if (next == NULL || next->coupled_to != i) {
    return 1;
  }
  assert(next->a == row->a && next->b == row->b);
  if (next->mu > 0) {
    unit->kind = S2_UNIT_CONTACT;
    unit->rows = 2;
    system_fill_row(unit, 1, next, w[i + 1], problem);
    unit->mu = next->mu * unit->g[0] / unit->g[1];
  }
  return 2;
}

void s2_system_prepare(S2System *system, S2Arena *arena) {
  int n = system->nodes;
  if (system->prepared) {
    return;
  }
  system->prepared = true;
  // The local form has a different pattern. Small problems are dense.
  if (system->local != NULL) {
    s2_local_prepare(system, arena);
    return;
  }
  system->dense = n <= DENSE_NODES;
  if (system->dense) {
    s2_dense_single_threaded();
    system->dense_matrix = (S2Dense){
        .size = 3 * n,
        .a = S2_TAKE(arena, double, 9 * n * n),
        .pivot = S2_TAKE(arena, int32_t, 3 * n),
    };
    return;
  }
  // Otherwise build the graph of the nodes: an edge for each unit between two of them.
  int32_t *edge = S2_TAKE(arena, int32_t, 2 * system->units);
  int32_t *slot = S2_TAKE(arena, int32_t, system->units);
  int edges = 0;
  for (int k = 0; k < system->units; k++) {
    const S2Unit *unit = &system->unit[k];
    if (unit->b < n) {
      edge[2 * edges] = unit->a;
      edge[2 * edges + 1] = unit->b;
      edges++;
    }
  }
  s2_blocksparse_init(&system->sparse, n, edges, edge, slot, arena);
  system->factored = S2_TAKE(arena, S2Response, system->units);
  // Write the slots of the edges to their units.
  for (int k = system->units - 1; k >= 0; k--) {
    if (system->unit[k].b < n) {
      system->unit[k].slot = slot[--edges];
    }
  }
}

static void init_masses(S2System *system, S2Arena *arena) {
  int n = system->nodes;
  system->mass = system->weight;
  system->inverse_mass = S2_TAKE_ZEROED(arena, S2Quad, n + 1);
  for (int i = 0; i < n; i++) {
    const double *m = system->problem->mass + 3 * i;
    system->mass[i] = (S2Quad){m[0], m[1], m[2], 0};
    system->inverse_mass[i] = (S2Quad){1 / m[0], 1 / m[1], 1 / m[2], 0};
  }
}

void s2_system_init(S2System *system, const S2Problem *problem, S2Arena *arena) {
  int n = problem->nodes;
  *system = (S2System){.problem = problem, .nodes = n};
  system->weight = S2_TAKE(arena, S2Quad, n + 1);
  system->rhs = S2_TAKE_ZEROED(arena, S2Quad, n + 1);
  system->scratch = S2_TAKE(arena, S2Quad, n + 1);
  double scale = problem->velocity_scale;
  // Divide velocities and the right side by V. Nodes have weight 1 if there are no masses.
  for (int i = 0; i < n; i++) {
    const double *c = problem->rhs + 3 * i;
    system->rhs[i] = (S2Quad){c[0] / scale, c[1] / scale, c[2] / scale, 0};
    system->weight[i] = (S2Quad){1, 1, 1, 0};
  }
  system->weight[n] = (S2Quad){0};
  if (problem->mobility == NULL) {
    init_masses(system, arena);
  }
  // Rows become units, scaled by their Delassus diagonals w.
  int most = 0; // friction rows belong to the unit of the preceding row
  for (int i = 0; i < problem->rows; i++) {
    most += problem->row[i].coupled_to < 0;
  }
  system->unit = S2_TAKE(arena, S2Unit, most);
  S2ArenaMark mark = s2_arena_mark(arena);
  double *w = S2_TAKE(arena, double, problem->rows);
  s2_mcp_delassus_diagonal(problem, w);
  for (int i = 0; i < problem->rows; system->units++) {
    S2Unit *unit = &system->unit[system->units];
    i += fill_unit(unit, problem, i, w);
    system->contacts += unit->kind != S2_UNIT_BILATERAL;
  }
  s2_arena_rewind(arena, mark);
  if (problem->mobility != NULL) {
    s2_local_init(system, arena);
  }
}

void s2_system_read(const S2System *system, const double *v, const double *lambda, S2Quad *v_scaled,
                    double *lambda_scaled) {
  double scale = system->problem->velocity_scale;
  for (int i = 0; i < system->nodes; i++) {
    v_scaled[i] = (S2Quad){v[3 * i] / scale, v[3 * i + 1] / scale, v[3 * i + 2] / scale, 0};
  }
  v_scaled[system->nodes] = (S2Quad){0};
  // Multiply impulses by w / V = 1 / (g V).
  for (int k = 0; k < system->units; k++) {
    const S2Unit *unit = &system->unit[k];
    for (int r = 0; r < 2; r++) {
      double value = r < unit->rows ? lambda[unit->row + r] / (unit->g[r] * scale) : 0;
      lambda_scaled[2 * k + r] = isfinite(value) ? value : 0; // a guess may contain any numbers
    }
  }
}

void s2_system_write(const S2System *system, const S2Quad *v_scaled, const double *lambda_scaled,
                     double *v, double *lambda) {
  double scale = system->problem->velocity_scale;
  for (int i = 0; i < system->nodes; i++) {
    for (int k = 0; k < 3; k++) {
      v[3 * i + k] = v_scaled[i][k] * scale;
    }
  }
  for (int i = 0; i < system->problem->rows; i++) {
    lambda[i] = 0;
  }
  for (int k = 0; k < system->units; k++) {
    const S2Unit *unit = &system->unit[k];
    for (int r = 0; r < unit->rows; r++) {
      lambda[unit->row + r] = lambda_scaled[2 * k + r] * (unit->g[r] * scale);
    }
  }
}

void s2_system_clip(const S2System *system, double *lambda) {
  for (int k = 0; k < system->units; k++) {
    const S2Unit *unit = &system->unit[k];
    if (unit->kind == S2_UNIT_BOX) {
      lambda[2 * k] = s2_unit_clip(unit, lambda[2 * k]);
    } else if (unit->kind != S2_UNIT_BILATERAL) {
      double n = lambda[2 * k] = fmax(lambda[2 * k], 0), bound = unit->mu * n;
      lambda[2 * k + 1] = fmax(-bound, fmin(bound, lambda[2 * k + 1]));
    }
  }
}

// ---- Products ---------------------------------------------------------------------------------

S2_WIDE void s2_system_row_velocity(const S2System *system, const S2Quad *v, double *u) {
  for (int k = 0; k < system->units; k++) {
    s2_system_unit_velocity(system, k, v, u + 2 * k);
  }
}

S2_INLINE void system_add_impulses(const S2System *system, const double *lambda, double factor,
                                   S2Quad *y) {
  for (int k = 0; k < system->units; k++) {
    const S2Unit *unit = &system->unit[k];
    S2UnitRows j;
    s2_unit_rows(system, unit, &j);
    double n = factor * unit->g[0] * lambda[2 * k], t = factor * unit->g[1] * lambda[2 * k + 1];
    y[unit->a] += j.ja[0] * n + j.ja[1] * t;
    y[unit->b] += j.jb[0] * n + j.jb[1] * t;
  }
}

S2_WIDE void s2_system_add_impulses(const S2System *system, const double *lambda, double factor,
                                    S2Quad *y) {
  system_add_impulses(system, lambda, factor, y);
}

S2_WIDE void s2_system_push_all(const S2System *system, const double *lambda, double factor,
                                S2Quad *y) {
  if (system->local != NULL) {
    s2_local_push_all(system, lambda, factor, y);
    return;
  }
  S2Quad *momentum = system->scratch;
  memset(momentum, 0, sizeof(S2Quad) * (size_t)(system->nodes + 1));
  system_add_impulses(system, lambda, factor, momentum);
  for (int i = 0; i < system->nodes; i++) {
    y[i] += momentum[i] * system->inverse_mass[i];
  }
}

S2_WIDE void s2_system_velocity(const S2System *system, const double *lambda, S2Quad *v) {
  memcpy(v, system->rhs, sizeof(S2Quad) * (size_t)(system->nodes + 1));
  if (system->local != NULL) {
    s2_local_push_all(system, lambda, 1, v);
    return;
  }
  system_add_impulses(system, lambda, 1, v);
  for (int i = 0; i <= system->nodes; i++) {
    v[i] *= system->inverse_mass[i];
  }
}

S2_WIDE void s2_system_imbalance(const S2System *system, const S2Quad *v, const double *lambda,
                                 S2Quad *f) {
  s2_system_velocity(system, lambda, f);
  for (int i = 0; i <= system->nodes; i++) {
    f[i] = v[i] - f[i];
  }
}

S2_WIDE double s2_system_residual(const S2System *system, const S2Quad *v, const double *lambda,
                                  double *u) {
  double worst = 0, length = system->problem->length;
  // Nodes: v - A (c + J' (g o lambda)), with angular parts multiplied by L.
  s2_system_imbalance(system, v, lambda, system->scratch);
  for (int i = 0; i < system->nodes; i++) {
    S2Quad error = system->scratch[i];
    worst = s2_larger(worst, fabs(error[0]) * length);
    worst = s2_larger(worst, fabs(error[1]));
    worst = s2_larger(worst, fabs(error[2]));
  }
  // Rows: the laws of residual.c, which have w = 1 in scaled units.
  s2_system_row_velocity(system, v, u);
  for (int k = 0; k < system->units; k++) {
    const S2Unit *unit = &system->unit[k];
    double n = lambda[2 * k], t = lambda[2 * k + 1];
    double un = u[2 * k] + unit->c[0] * n + unit->b0[0];
    double ut = u[2 * k + 1] + unit->c[1] * t + unit->b0[1];
    if (unit->kind == S2_UNIT_BILATERAL) {
      worst = s2_larger(worst, fabs(un) * s2_unit_arm(system, unit, 0));
      worst = s2_larger(worst, fabs(ut) * s2_unit_arm(system, unit, 1));
      continue;
    }
    if (unit->kind == S2_UNIT_BOX) {
      worst = s2_larger(worst, fabs(n - s2_unit_clip(unit, n - un)) * s2_unit_arm(system, unit, 0));
      continue;
    }
    worst = s2_larger(worst, fabs(un > n ? n : un) * s2_unit_arm(system, unit, 0));
    if (unit->kind == S2_UNIT_CONTACT) {
      double aim = s2_clip(t - ut, unit->mu * (n > 0 ? n : 0));
      worst = s2_larger(worst, fabs(t - aim) * s2_unit_arm(system, unit, 1));
    }
  }
  return worst;
}

// ---- The linear system ------------------------------------------------------------------------

// Adds left' * right to a block, where `left` has two quads and `right` has 2 x 3 numbers.
S2_INLINE void add_pivot(S2Quad *block, const S2Quad *left, double right[2][3]) {
  for (int c = 0; c < 3; c++) {
    block[c] += left[0] * right[0][c] + left[1] * right[1][c];
  }
}

S2_INLINE void add_sparse(double *block, const S2Quad *left, double right[2][3]) {
  for (int c = 0; c < 3; c++, block += 3) {
    S2Quad column;
    s2_quad_load(&column, block);
    column += left[0] * right[0][c] + left[1] * right[1][c];
    s2_quad_store(block, &column);
  }
}

S2_INLINE void add_dense(double *block, int stride, const S2Quad *left, double right[2][3]) {
  for (int c = 0; c < 3; c++) {
    S2Quad column = left[0] * right[0][c] + left[1] * right[1][c];
    for (int r = 0; r < 3; r++) {
      block[c * stride + r] += column[r];
    }
  }
}

S2_INLINE void system_times(double out[2][3], const S2Response *d, const S2Quad *j) {
  for (int c = 0; c < 3; c++) {
    out[0][c] = d->nn * j[0][c] + d->nt * j[1][c];
    out[1][c] = d->tn * j[0][c] + d->tt * j[1][c];
  }
}

// Adds the contribution of a unit to all columns, or only to stale columns.
S2_INLINE void fill_sparse_unit(S2System *system, const S2Unit *unit, const S2Response *d,
                                bool all) {
  S2BlockSparse *matrix = &system->sparse;
  S2UnitRows j;
  s2_unit_rows(system, unit, &j);
  double da[2][3], db[2][3];
  // Add ja' D ja. If there is a second node, add jb' D jb and the block between the nodes.
  int32_t a = matrix->place[unit->a];
  system_times(da, d, j.ja);
  if (all || matrix->stale[a]) {
    add_pivot(matrix->diagonal + 3 * a, j.ja, da);
  }
  if (unit->slot < 0) {
    return;
  }
  int32_t b = matrix->place[unit->b];
  system_times(db, d, j.jb);
  if (all || matrix->stale[b]) {
    add_pivot(matrix->diagonal + 3 * b, j.jb, db);
  }
  // The block is stored below the diagonal in the order of elimination.
  bool a_below = a > b;
  if (!all && !matrix->stale[a_below ? b : a]) {
    return;
  }
  const S2Quad *below = a_below ? j.ja : j.jb, *above = a_below ? j.jb : j.ja;
  add_sparse(matrix->lower + S2_BLOCK * (size_t)unit->slot, below, a_below ? db : da);
  // The block above the diagonal is the transpose, with D' in place of D.
  if (matrix->nonsymmetric) {
    S2Response transposed = {d->nn, d->tn, d->nt, d->tt};
    system_times(da, &transposed, above);
    add_sparse(matrix->upper + S2_BLOCK * (size_t)unit->slot, below, da);
  }
}

S2_INLINE void fill_dense_unit(S2System *system, const S2Unit *unit, const S2Response *d) {
  const S2Dense *matrix = &system->dense_matrix;
  S2UnitRows j;
  s2_unit_rows(system, unit, &j);
  double da[2][3], db[2][3], *k = matrix->a;
  int stride = matrix->size, a = 3 * unit->a, b = 3 * unit->b;
  system_times(da, d, j.ja);
  add_dense(k + a + a * stride, stride, j.ja, da);
  if (unit->b < system->nodes) {
    system_times(db, d, j.jb);
    add_dense(k + b + b * stride, stride, j.jb, db);
    add_dense(k + a + b * stride, stride, j.ja, db);
    add_dense(k + b + a * stride, stride, j.jb, da);
  }
}

// Computes g o D of a unit. Returns false if the unit does not respond, so that it adds nothing.
S2_INLINE bool unit_response(const S2Unit *unit, const S2Response *r, S2Response *d) {
  *d = (S2Response){unit->g[0] * r->nn, unit->g[0] * r->nt, unit->g[1] * r->tn, unit->g[1] * r->tt};
  return r->nn != 0 || r->tt != 0;
}

static bool dense_factor(S2System *system, const S2Response *response, bool nonsymmetric) {
  int n = system->nodes;
  S2Dense *matrix = &system->dense_matrix;
  matrix->nonsymmetric = nonsymmetric;
  memset(matrix->a, 0, sizeof(double) * (size_t)(9 * n * n));
  for (int i = 0; i < 3 * n; i++) {
    matrix->a[i * (3 * n + 1)] = system->mass[i / 3][i % 3];
  }
  for (int k = 0; k < system->units; k++) {
    S2Response d;
    if (unit_response(&system->unit[k], &response[k], &d)) {
      fill_dense_unit(system, &system->unit[k], &d);
    }
  }
  return s2_dense_factor(matrix);
}

// Fills all columns, or only the stale columns.
S2_INLINE void fill_sparse(S2System *system, const S2Response *response, bool all) {
  S2BlockSparse *matrix = &system->sparse;
  for (int i = 0; i < system->nodes; i++) {
    int32_t at = matrix->place[i];
    for (int k = 0; k < 3 && (all || matrix->stale[at]); k++) {
      matrix->diagonal[3 * at + k][k] = system->mass[i][k];
    }
  }
  for (int k = 0; k < system->units; k++) {
    const S2Unit *unit = &system->unit[k];
    bool wanted = all || matrix->stale[matrix->place[unit->a]] ||
                  (unit->slot >= 0 && matrix->stale[matrix->place[unit->b]]);
    S2Response d;
    if (wanted && unit_response(unit, &response[k], &d)) {
      fill_sparse_unit(system, unit, &d, all);
    }
  }
}

// Marks the columns that a change of responses affects. Returns the number of changed units.
static int mark_stale(S2System *system, const S2Response *response) {
  S2BlockSparse *matrix = &system->sparse;
  int changed = 0;
  for (int k = 0; k < system->units; k++) {
    const S2Unit *unit = &system->unit[k];
    const S2Response *was = &system->factored[k], *is = &response[k];
    bool same = was->nn == is->nn && was->nt == is->nt && was->tn == is->tn && was->tt == is->tt;
    if (!same) {
      changed++;
      matrix->stale[matrix->place[unit->a]] = true;
      if (unit->slot >= 0) {
        matrix->stale[matrix->place[unit->b]] = true;
      }
    }
  }
  return changed;
}

// If more than the fraction MOST_CHANGED of the units has changed, nearly all columns would change,
// so the whole matrix is factored again. BESIDE is the fraction of the time that is spent on solves
// and products instead of factorisations, measured in piles of 1000 discs.
static const double MOST_CHANGED = 0.25, BESIDE = 0.4;

S2_WIDE bool s2_system_factor(S2System *system, const S2Response *response, bool nonsymmetric) {
  assert(system->prepared);
  if (system->local != NULL) {
    return s2_local_factor(system, response);
  }
  // Assemble K = W + J' D J = W (1 + W^-1 J' D J): first the masses, then all units.
  if (system->dense) {
    return dense_factor(system, response, nonsymmetric);
  }
  S2BlockSparse *matrix = &system->sparse;
  bool same_way = system->is_factored && !matrix->careful && matrix->nonsymmetric == nonsymmetric &&
                  system->factored_accurate == matrix->accurate;
  bool regular;
  if (same_way && mark_stale(system, response) <= MOST_CHANGED * system->units) {
    system->spent += BESIDE + (1 - BESIDE) * s2_blocksparse_spread(matrix);
    fill_sparse(system, response, false);
    regular = s2_blocksparse_refactor(matrix);
  } else {
    system->spent += 1;
    memset(matrix->stale, 0, sizeof(bool) * (size_t)system->nodes);
    s2_blocksparse_clear(matrix, nonsymmetric);
    fill_sparse(system, response, true);
    regular = s2_blocksparse_factor(matrix);
  }
  // Record the state that the next call can build on.
  system->is_factored = regular && !matrix->careful;
  system->factored_accurate = matrix->accurate;
  memcpy(system->factored, response, sizeof(S2Response) * (size_t)system->units);
  return regular;
}

void s2_system_solve(const S2System *system, const S2Quad *b, S2Quad *x) {
  int n = system->nodes;
  // Solve K x = W b for bodies. The local form has no masses.
  if (system->local != NULL) {
    s2_blocksparse_solve(&system->sparse, b, x);
  } else if (!system->dense) {
    for (int i = 0; i < n; i++) {
      x[i] = system->mass[i] * b[i];
    }
    s2_blocksparse_solve(&system->sparse, x, x);
  } else {
    double y[3 * DENSE_NODES];
    for (int i = 0; i < 3 * n; i++) {
      y[i] = system->mass[i / 3][i % 3] * b[i / 3][i % 3];
    }
    s2_dense_solve(&system->dense_matrix, y);
    for (int i = 0; i < n; i++) {
      x[i] = (S2Quad){y[3 * i], y[3 * i + 1], y[3 * i + 2], 0};
    }
  }
  x[n] = (S2Quad){0};
}
