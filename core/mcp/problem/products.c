#include "mcp/solvers.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

void s2_mcp_row_velocity(const S2Problem *problem, const double *v, double *u) {
  for (int i = 0; i < problem->rows; i++) {
    const S2Row *row = &problem->row[i];
    double sum = 0;
    if (row->a >= 0) {
      const double *va = v + 3 * row->a;
      sum = row->ja[0] * va[0] + row->ja[1] * va[1] + row->ja[2] * va[2];
    }
    if (row->b >= 0) {
      const double *vb = v + 3 * row->b;
      sum = sum + row->jb[0] * vb[0] + row->jb[1] * vb[1] + row->jb[2] * vb[2];
    }
    u[i] = sum;
  }
}

static void local_velocity(const S2Problem *problem, const double *lambda, double *v) {
  const S2Mobility *a = problem->mobility;
  for (int i = 0; i < problem->nodes; i++) {
    double sum[3] = {0, 0, 0};
    // v_i = rhs_i + sum_k A_ik (J' lambda)_k, where the impulses of node k come from its rows.
    for (int32_t p = a->start[i]; p < a->start[i + 1]; p++) {
      const double *block = a->block + 9 * (size_t)p;
      double impulse[3] = {0, 0, 0};
      for (int32_t r = a->row[a->column[p]]; r < a->row[a->column[p] + 1]; r++) {
        for (int k = 0; k < 3; k++) {
          impulse[k] += problem->row[r].ja[k] * lambda[r];
        }
      }
      for (int k = 0; k < 3; k++) {
        sum[k] += block[3 * k] * impulse[0] + block[3 * k + 1] * impulse[1] +
                  block[3 * k + 2] * impulse[2];
      }
    }
    for (int k = 0; k < 3; k++) {
      v[3 * i + k] = problem->rhs[3 * i + k] + sum[k];
    }
  }
}

static inline void add_impulse(double *v, const double *j, double impulse) {
  for (int k = 0; k < 3; k++) {
    v[k] += j[k] * impulse;
  }
}

void s2_mcp_velocity(const S2Problem *problem, const double *lambda, double *v) {
  if (problem->mobility != NULL) {
    local_velocity(problem, lambda, v);
    return;
  }
  memcpy(v, problem->rhs, sizeof(double) * (size_t)(3 * problem->nodes));
  for (int i = 0; i < problem->rows; i++) {
    const S2Row *row = &problem->row[i];
    if (row->a >= 0) {
      add_impulse(v + 3 * row->a, row->ja, lambda[i]);
    }
    if (row->b >= 0) {
      add_impulse(v + 3 * row->b, row->jb, lambda[i]);
    }
  }
  for (int i = 0; i < 3 * problem->nodes; i++) {
    v[i] /= problem->mass[i];
  }
}

static void add_impulse_precise(S2Double2 *v, const double *j, S2Double2 impulse) {
  for (int k = 0; k < 3; k++) {
    v[k] = s2_double2_add(v[k], s2_double2_multiply(impulse, (S2Double2){j[k], 0}));
  }
}

void s2_mcp_velocity_precise(const S2Problem *problem, const S2Double2 *lambda, S2Double2 *v) {
  for (int i = 0; i < 3 * problem->nodes; i++) {
    v[i] = (S2Double2){problem->rhs[i], 0};
  }
  for (int i = 0; i < problem->rows; i++) {
    const S2Row *row = &problem->row[i];
    if (row->a >= 0) {
      add_impulse_precise(v + 3 * row->a, row->ja, lambda[i]);
    }
    if (row->b >= 0) {
      add_impulse_precise(v + 3 * row->b, row->jb, lambda[i]);
    }
  }
  for (int i = 0; i < 3 * problem->nodes; i++) {
    v[i] = s2_double2_divide(v[i], (S2Double2){problem->mass[i], 0});
  }
}

const double *s2_mobility_block(const S2Mobility *mobility, int row, int column) {
  int32_t low = mobility->start[row], high = mobility->start[row + 1];
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    if (mobility->column[middle] < column) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  bool found = low < mobility->start[row + 1] && mobility->column[low] == column;
  return found ? mobility->block + 9 * (size_t)low : NULL;
}

static double products_weighted(const double *j, const double *mass, const double *k) {
  return j[0] * k[0] / mass[0] + j[1] * k[1] / mass[1] + j[2] * k[2] / mass[2];
}

static double products_through(const double *j, const double *block, const double *k) {
  double sum = 0;
  for (int r = 0; r < 3 && block != NULL; r++) {
    sum += j[r] * (block[3 * r] * k[0] + block[3 * r + 1] * k[1] + block[3 * r + 2] * k[2]);
  }
  return sum;
}

double s2_mcp_delassus(const S2Problem *problem, const S2Row *x, const S2Row *y) {
  if (problem->mobility != NULL) {
    return products_through(x->ja, s2_mobility_block(problem->mobility, x->a, y->a), y->ja);
  }
  double sum = 0;
  const double *mass = problem->mass;
  if (x->a >= 0) {
    sum += x->a == y->a ? products_weighted(x->ja, mass + 3 * x->a, y->ja) : 0;
    sum += x->a == y->b ? products_weighted(x->ja, mass + 3 * x->a, y->jb) : 0;
  }
  if (x->b >= 0) {
    sum += x->b == y->a ? products_weighted(x->jb, mass + 3 * x->b, y->ja) : 0;
    sum += x->b == y->b ? products_weighted(x->jb, mass + 3 * x->b, y->jb) : 0;
  }
  return sum;
}

void s2_mcp_delassus_diagonal(const S2Problem *problem, double *d) {
  for (int i = 0; i < problem->rows; i++) {
    const S2Row *row = &problem->row[i];
    d[i] = s2_mcp_delassus(problem, row, row) + row->compliance;
  }
}
