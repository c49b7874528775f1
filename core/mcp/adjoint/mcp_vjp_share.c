// The adjoint for active rows that are linearly dependent and whose impulses have least norm, like
// the impulses of the active-set solver (active.c).
//
// Let x be the impulses of the active rows. The friction of a sliding contact follows from its
// normal impulse and is not an unknown. With D = diag(w) and a basis Z of the null space of A,
//
//     A x = b,    Z' D x = 0,    A Z = 0.
//
// Sliding friction makes A nonsymmetric. A change of the data that keeps the rows compatible
// changes x according to A dx = db - dA x. Since A dZ = -dA Z, the condition Z' D x = 0 gives
//
//     Z' D dx = -dZ' D x - Z' dD x = (dA Z)' r - Z' dD x,    A' r = D x.
//
// Let t = dl/dx, beta = (Z' D Z)^-1 Z' t and A' eta = -(t - D Z beta). Then the loss changes by
//
//     dl = -eta' (db - dA x) + r' dA (Z beta) - (Z beta)' dD x.
//
// The first term is the gradient for any such eta (mcp_vjp.c). This file adds the other terms to
// it. Here rows and unknowns are scaled by 1/sqrt(w) at the solution, so D is 1.
#include "linalg/numbers.h"
#include "mcp/adjoint/mcp_vjp_stages.h"
#include "mcp/pivot/dense_lu.h"
#include "mcp/solvers.h"

#include <math.h>
#include <string.h>

// Largest number of active rows: the rows of the active-set solver and the equations that it
// eliminates.
enum { MOST = 136 };

// If pivots are between these two fractions of the largest entry, it is not clear whether rows are
// dependent. The general method handles such cases.
static const double REPEATS = 1e-11, CLEAR = 1e-8;

// Impulses count as having least norm if their part in the null space is below this fraction of
// their size.
static const double LEAST = 1e-9;
// MISSED is the largest accepted residual. A dependence of the loss on single impulses is ignored
// if it is at most ASKED. Both are fractions of dl/d(v, lambda).
static const double MISSED = 1e-9, ASKED = 1e-9;

typedef struct ShareRow { // an active row
  int row, friction;      // friction row if the contact slides, else -1
  double slope;           // friction impulse divided by the normal impulse
  double scale;           // 1/sqrt(w)
} ShareRow;

typedef struct Share {
  S2McpLinear *l;
  S2Arena *arena;
  int count, ties;
  ShareRow *held;
  double *a;            // the matrix A, row by row
  S2DenseLu transposed; // Factors of A'.
  // Orthonormal vectors, one after the other: null vectors z with A z = 0, left null vectors y with
  // y' A = 0.
  double *null, *left;
  double *x; // impulses of the active rows
} Share;

static bool share_hold(Share *share, int row, int friction, double slope, double w) {
  if (share->count == MOST || !(w > 0)) {
    return false;
  }
  share->held[share->count++] = (ShareRow){row, friction, slope, 1 / sqrt(w)};
  return true;
}

// Lists the active rows. Returns false if there are too many.
static bool share_collect(Share *share) {
  const S2McpLinear *l = share->l;
  const S2Problem *problem = &l->problem;
  bool good = true;
  for (int k = 0; k < l->system.units && good; k++) {
    const S2Unit *unit = &l->system.unit[k];
    const S2Response *d = &l->response[k];
    bool slides = unit->kind == S2_UNIT_CONTACT && l->sign[unit->row + 1] != 0;
    double slope = slides ? l->sign[unit->row + 1] * problem->row[unit->row + 1].mu : 0;
    if (d->nn > 0) {
      good = share_hold(share, unit->row, slides ? unit->row + 1 : -1, slope, 1 / unit->g[0]);
    }
    if (d->tt > 0) {
      good &= share_hold(share, unit->row + 1, -1, 0, 1 / unit->g[1]);
    }
  }
  return good;
}

static void share_fill(Share *share) {
  const S2Problem *problem = &share->l->problem;
  int n = share->count;
  for (int i = 0; i < n; i++) {
    const S2Row *of = &problem->row[share->held[i].row];
    for (int j = 0; j < n; j++) {
      const ShareRow *on = &share->held[j];
      double sum = s2_mcp_delassus(problem, of, &problem->row[on->row]);
      sum += i == j ? of->compliance : 0;
      if (on->friction >= 0) {
        sum += on->slope * s2_mcp_delassus(problem, of, &problem->row[on->friction]);
      }
      share->a[i * n + j] = sum * share->held[i].scale * on->scale;
    }
  }
}

// Returns true if it is clear which pivots are only rounding.
static bool share_rank_is_clear(const S2DenseLu *lu) {
  return lu->rank > 0 && lu->rank < lu->n &&
         fabs(lu->a[(lu->rank - 1) * (lu->n + 1)]) > CLEAR * fabs(lu->a[0]);
}

// Returns an orthonormal basis of the null space of the factored matrix, one vector after the
// other.
static double *share_null_space(const S2DenseLu *lu, S2Arena *arena) {
  int n = lu->n, rank = lu->rank;
  double *basis = S2_TAKE_ZEROED(arena, double, (n - rank) * n);
  double *u = S2_TAKE(arena, double, n);
  for (int c = rank; c < n; c++) {
    double *z = basis + (size_t)(c - rank) * (size_t)n;
    for (int i = rank - 1; i >= 0; i--) {
      u[i] = lu->a[i * n + c];
      for (int j = i + 1; j < rank; j++) {
        u[i] -= lu->a[i * n + j] * u[j];
      }
      u[i] /= lu->a[i * n + i];
      z[lu->column[i]] = u[i];
    }
    z[lu->column[c]] = -1;
    // Gram-Schmidt, twice for full precision.
    for (int pass = 0; pass < 2; pass++) {
      for (int e = 0; e < c - rank; e++) {
        const double *other = basis + (size_t)e * (size_t)n;
        double part = s2_numbers_dot(z, other, n);
        for (int i = 0; i < n; i++) {
          z[i] -= part * other[i];
        }
      }
    }
    double length = sqrt(s2_numbers_dot(z, z, n));
    for (int i = 0; i < n; i++) {
      z[i] /= length;
    }
  }
  return basis;
}

// Removes the part of x along a basis. `parts` receives its coefficients unless it is NULL.
static void share_take_out(const Share *share, const double *basis, double *x, double *parts) {
  int n = share->count;
  for (int c = 0; c < share->ties; c++) {
    const double *z = basis + (size_t)c * (size_t)n;
    double part = s2_numbers_dot(z, x, n);
    for (int i = 0; i < n; i++) {
      x[i] -= part * z[i];
      if (parts != NULL) {
        parts[i] += part * z[i];
      }
    }
  }
}

// Solves A' x = b with least norm. b is passed in x and replaced with the solution. Returns false
// if there is no solution.
static bool share_solve(const Share *share, double *x, double size) {
  int n = share->count;
  double *b = s2_arena_copy(share->arena, x, n), missed = 0;
  s2_dense_lu_solve(&share->transposed, x);
  share_take_out(share, share->left, x, NULL);
  for (int j = 0; j < n; j++) {
    double sum = -b[j];
    for (int i = 0; i < n; i++) {
      sum += share->a[i * n + j] * x[i];
    }
    missed = s2_larger(missed, fabs(sum));
  }
  return missed <= MISSED * size;
}

// Sets up the active rows and their null spaces. Returns false if the rows are independent, if
// their rank is not clear, or if the impulses do not have least norm.
static bool share_make(Share *share) {
  S2Arena *arena = share->arena;
  share->held = S2_TAKE(arena, ShareRow, MOST);
  if (!share_collect(share) || share->count == 0) {
    return false;
  }
  int n = share->count;
  share->a = S2_TAKE(arena, double, n *n);
  share_fill(share);
  double *across = S2_TAKE(arena, double, n *n);
  for (int i = 0; i < n * n; i++) {
    across[i] = share->a[i % n * n + i / n];
  }
  S2DenseLu lu = s2_dense_lu_factor(n, s2_arena_copy(arena, share->a, n * n), REPEATS, arena);
  share->transposed = s2_dense_lu_factor(n, across, REPEATS, arena);
  share->ties = n - lu.rank;
  if (!share_rank_is_clear(&lu) || share->transposed.rank != lu.rank) {
    return false;
  }
  share->null = share_null_space(&lu, arena);
  share->left = share_null_space(&share->transposed, arena);
  // Compute the impulses and their coefficients in the null space.
  double *parts = S2_TAKE_ZEROED(arena, double, n);
  share->x = S2_TAKE(arena, double, n);
  for (int i = 0; i < n; i++) {
    share->x[i] = share->l->lambda[share->held[i].row] / share->held[i].scale;
  }
  double size = sqrt(s2_numbers_dot(share->x, share->x, n));
  share_take_out(share, share->null, share->x, parts);
  return sqrt(s2_numbers_dot(parts, parts, n)) <= LEAST * size;
}

// Computes v := W^-1 (f + J' x) for impulses x of all rows. f is 0 if NULL.
static void share_velocity(const S2McpLinear *l, const double *f, const double *x, double *v) {
  const S2Problem *problem = &l->problem;
  for (int i = 0; i < 3 * problem->nodes; i++) {
    v[i] = f != NULL ? f[i] : 0;
  }
  for (int r = 0; r < problem->rows; r++) {
    const S2Row *row = &problem->row[r];
    for (int c = 0; c < 3 && x[r] != 0; c++) {
      v[row->a >= 0 ? 3 * row->a + c : 0] += row->a >= 0 ? row->ja[c] * x[r] : 0;
      v[row->b >= 0 ? 3 * row->b + c : 0] += row->b >= 0 ? row->jb[c] * x[r] : 0;
    }
  }
  for (int i = 0; i < 3 * problem->nodes; i++) {
    v[i] /= problem->mass[i];
  }
}

// Converts scaled impulses of the active rows to impulses of all rows. With `follows`, includes the
// friction of sliding contacts.
static void share_spread(const Share *share, const double *x, bool follows, double *to) {
  memset(to, 0, sizeof(double) * (size_t)share->l->problem.rows);
  for (int i = 0; i < share->count; i++) {
    const ShareRow *held = &share->held[i];
    to[held->row] = x[i] * held->scale;
    if (follows && held->friction >= 0) {
      to[held->friction] = held->slope * to[held->row];
    }
  }
}

// Computes t := dl/dx of the active rows, where p = W^-1 dl/dv. `dl_dlambda` is 0 if NULL.
static void share_pull(const Share *share, const double *p, const double *dl_dlambda, double *t) {
  const S2McpLinear *l = share->l;
  double *u = S2_TAKE(share->arena, double, l->problem.rows);
  s2_mcp_row_velocity(&l->problem, p, u);
  for (int r = 0; r < l->problem.rows; r++) {
    u[r] += dl_dlambda != NULL ? dl_dlambda[r] : 0;
  }
  for (int i = 0; i < share->count; i++) {
    const ShareRow *held = &share->held[i];
    t[i] =
        held->scale * (u[held->row] + (held->friction >= 0 ? held->slope * u[held->friction] : 0));
  }
}

// Sets p and eta of the linear system from eta of the active rows.
static void share_put(const Share *share, const double *dl_dv, const double *eta) {
  S2McpLinear *l = share->l;
  double *all = S2_TAKE(share->arena, double, l->problem.rows);
  share_spread(share, eta, false, all);
  share_velocity(l, dl_dv, all, l->p_node);
  for (int i = 0; i < l->problem.nodes; i++) {
    const double *p = l->p_node + 3 * (size_t)i;
    l->x.node[i] = (S2Quad){p[0], p[1], p[2], 0};
  }
  for (int k = 0; k < l->system.units; k++) {
    const S2Unit *unit = &l->system.unit[k];
    for (int r = 0; r < unit->rows; r++) {
      l->x.unit[2 * k + r] = all[unit->row + r] / unit->g[r];
    }
  }
}

// Returns true if dl/dlambda has a part in the null space. The loss then depends on single
// impulses.
static bool share_asked(const Share *share, const double *dl_dlambda, double size) {
  const S2McpLinear *l = share->l;
  int n = share->count;
  double *t = S2_TAKE(share->arena, double, n), *parts = S2_TAKE_ZEROED(share->arena, double, n);
  double *still = S2_TAKE_ZEROED(share->arena, double, 3 * l->problem.nodes);
  share_pull(share, still, dl_dlambda, t);
  share_take_out(share, share->null, t, parts);
  return dl_dlambda != NULL && sqrt(s2_numbers_dot(parts, parts, n)) > ASKED * size;
}

bool s2_vjp_share(S2McpLinear *l, const double *dl_dv, const double *dl_dlambda, double size,
                  S2Arena *arena, unsigned *flags) {
  Share share = {.l = l, .arena = arena};
  if (l->mobility != NULL || l->kappa > 0 || !share_make(&share)) {
    return false;
  }
  int n = share.count;
  double *none = S2_TAKE_ZEROED(arena, double, l->problem.rows);
  double *t = S2_TAKE(arena, double, n), *beta = S2_TAKE_ZEROED(arena, double, n);
  // Compute -eta in t, and r in share.x.
  share_velocity(l, dl_dv, none, l->p_node);
  share_pull(&share, l->p_node, dl_dlambda, t);
  share_take_out(&share, share.null, t, beta);
  bool good = share_solve(&share, t, size) &&
              share_solve(&share, share.x, sqrt(s2_numbers_dot(share.x, share.x, n)));
  for (int i = 0; i < n; i++) {
    t[i] = -t[i];
  }
  if (!good || !s2_all_finite(t, (size_t)n)) {
    return false;
  }
  share_put(&share, dl_dv, t);
  // Compute the terms of the gradient that do not come from p and eta.
  share_spread(&share, share.x, false, l->share_r);
  share_spread(&share, beta, true, l->share_z);
  share_velocity(l, NULL, l->share_r, l->share_pr);
  share_velocity(l, NULL, l->share_z, l->share_pz);
  l->shared = true;
  *flags |= share_asked(&share, dl_dlambda, size) ? S2_VJP_UNDETERMINED : 0;
  return true;
}
