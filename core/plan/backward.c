#include "plan/backward.h"

#include "plan/boxqp.h"

#include <string.h>

typedef struct Work { // arrays for one knot
  double *vx, *vxx;   // derivatives of the cost-to-go
  double *qx, *qu, *qxx, *quu, *qux, *regular;
  double *va, *vb, *factor, *column, *lo, *hi;
  bool *free;
} Work;

static Work backward_work(S2Arena *arena, int n, int m) {
  return (Work){.vx = S2_TAKE(arena, double, n + 1),
                .vxx = S2_TAKE(arena, double, n *n + 1),
                .qx = S2_TAKE(arena, double, n + 1),
                .qu = S2_TAKE(arena, double, m + 1),
                .qxx = S2_TAKE(arena, double, n *n + 1),
                .quu = S2_TAKE(arena, double, m *m + 1),
                .qux = S2_TAKE(arena, double, m *n + 1),
                .regular = S2_TAKE(arena, double, m *m + m * n + 1),
                .va = S2_TAKE(arena, double, n *n + 1),
                .vb = S2_TAKE(arena, double, n *m + 1),
                .factor = S2_TAKE(arena, double, m *m + 1),
                .column = S2_TAKE(arena, double, m + 1),
                .lo = S2_TAKE(arena, double, m + 1),
                .hi = S2_TAKE(arena, double, m + 1),
                .free = S2_TAKE(arena, bool, m + 1)};
}

// out (r x c) = x (s x r)' y (s x c)
static void backward_product(int r, int s, int c, const double *x, const double *y, double *out) {
  memset(out, 0, sizeof(double) * (size_t)(r * c));
  for (int k = 0; k < s; k++) {
    for (int i = 0; i < r; i++) {
      double factor = x[k * r + i];
      for (int j = 0; j < c; j++) {
        out[i * c + j] += factor * y[k * c + j];
      }
    }
  }
}

// Computes the derivatives of Q at a knot. Writes the regularised derivatives, which the gains
// need, to `regular`.
static void backward_quadratic(const S2Backward *problem, int knot, Work *work) {
  int n = problem->n, m = problem->m;
  const double *a = problem->a + knot * n * n, *b = problem->b + knot * n * m;
  // First derivatives.
  backward_product(n, n, 1, a, work->vx, work->qx);
  backward_product(m, n, 1, b, work->vx, work->qu);
  for (int i = 0; i < n; i++) {
    work->qx[i] += problem->lx[knot * n + i];
  }
  for (int i = 0; i < m; i++) {
    work->qu[i] += problem->lu[knot * m + i];
  }
  // Second derivatives, from V a and V b (V is symmetric).
  backward_product(n, n, n, work->vxx, a, work->va);
  backward_product(n, n, m, work->vxx, b, work->vb);
  backward_product(n, n, n, a, work->va, work->qxx);
  backward_product(m, n, n, b, work->va, work->qux);
  backward_product(m, n, m, b, work->vb, work->quu);
  for (int i = 0; i < n * n; i++) {
    work->qxx[i] += problem->lxx[knot * n * n + i];
  }
  for (int i = 0; i < m; i++) {
    work->quu[i * m + i] += problem->luu[knot * m + i];
  }
  // Add the weight on changes of the state: mu b'b and mu b'a.
  double *quu = work->regular, *qux = quu + m * m;
  backward_product(m, n, m, b, b, quu);
  backward_product(m, n, n, b, a, qux);
  for (int i = 0; i < m * m; i++) {
    quu[i] = work->quu[i] + problem->mu * quu[i];
  }
  for (int i = 0; i < m * n; i++) {
    qux[i] = work->qux[i] + problem->mu * qux[i];
  }
}

// Computes the change of u within its limits, and the gains of the free controls.
static bool backward_gains(const S2Backward *problem, int knot, Work *work, S2Arena *arena,
                           double *k, double *gain) {
  int n = problem->n, m = problem->m;
  const double *u = problem->u + knot * m, *qux = work->regular + m * m;
  for (int i = 0; i < m; i++) {
    work->lo[i] = problem->lo[i] - u[i];
    work->hi[i] = problem->hi[i] - u[i];
  }
  S2BoxQp qp = {m, work->regular, work->qu, work->lo, work->hi};
  if (!s2_boxqp(&qp, arena, k, work->free, work->factor)) {
    return false;
  }
  // Compute the gains column by column, with the factor for the free controls.
  memset(gain, 0, sizeof(double) * (size_t)(m * n));
  for (int c = 0; c < n; c++) {
    int count = 0;
    for (int i = 0; i < m; i++) {
      if (work->free[i]) {
        work->column[count++] = -qux[i * n + c];
      }
    }
    s2_boxqp_solve(count, m, work->factor, work->column);
    count = 0;
    for (int i = 0; i < m; i++) {
      gain[i * n + c] = work->free[i] ? work->column[count++] : 0;
    }
  }
  return true;
}

// Computes V at this knot from Q with u = k + gain x, and adds to the expected change of the cost.
static void backward_value(int n, int m, Work *work, const double *k, const double *gain,
                           double dv[2]) {
  // Compute quu k, and quu gain + qux.
  double *quu_k = work->column, *rows = work->va;
  for (int i = 0; i < m; i++) {
    quu_k[i] = 0;
    for (int j = 0; j < m; j++) {
      quu_k[i] += work->quu[i * m + j] * k[j];
    }
    dv[0] += k[i] * work->qu[i];
    dv[1] += 0.5 * k[i] * quu_k[i];
    for (int c = 0; c < n; c++) {
      double sum = work->qux[i * n + c];
      for (int j = 0; j < m; j++) {
        sum += work->quu[i * m + j] * gain[j * n + c];
      }
      rows[i * n + c] = sum;
    }
  }
  // vx = qx + gain'(quu k + qu) + qux'k and vxx = qxx + gain'(quu gain + qux) + qux'gain
  for (int c = 0; c < n; c++) {
    work->vx[c] = work->qx[c];
    for (int i = 0; i < m; i++) {
      work->vx[c] += gain[i * n + c] * (quu_k[i] + work->qu[i]) + work->qux[i * n + c] * k[i];
    }
    for (int d = 0; d < n; d++) {
      double sum = work->qxx[c * n + d];
      for (int i = 0; i < m; i++) {
        sum += gain[i * n + c] * rows[i * n + d] + work->qux[i * n + c] * gain[i * n + d];
      }
      work->vxx[c * n + d] = sum;
    }
  }
  for (int c = 0; c < n; c++) {
    for (int d = 0; d < c; d++) {
      double mean = 0.5 * (work->vxx[c * n + d] + work->vxx[d * n + c]);
      work->vxx[c * n + d] = work->vxx[d * n + c] = mean;
    }
  }
}

bool s2_backward(const S2Backward *problem, S2Arena *arena, double *k, double *gain, double dv[2],
                 int *at) {
  int n = problem->n, m = problem->m, last = problem->knots;
  S2ArenaMark mark = s2_arena_mark(arena);
  Work work = backward_work(arena, n > m ? n : m, m);
  memcpy(work.vx, problem->lx + last * n, sizeof(double) * (size_t)n);
  memcpy(work.vxx, problem->lxx + last * n * n, sizeof(double) * (size_t)(n * n));
  dv[0] = dv[1] = 0;
  bool good = true;
  for (int knot = last - 1; knot >= 0 && good; knot--) {
    *at = knot;
    backward_quadratic(problem, knot, &work);
    memset(k + knot * m, 0, sizeof(double) * (size_t)m);
    good = backward_gains(problem, knot, &work, arena, k + knot * m, gain + knot * m * n);
    if (good) {
      backward_value(n, m, &work, k + knot * m, gain + knot * m * n, dv);
    }
  }
  s2_arena_rewind(arena, mark);
  return good;
}
