#include "mcp/solvers.h"

void s2_mcp_row_velocity(const S2Problem *problem, const double *v, double *u) {
  for (int i = 0; i < problem->rows; i++) {
    const S2Row *row = &problem->row[i];
    double sum = 0;
    for (int k = 0; k < 3 && row->a >= 0; k++) {
      sum += row->ja[k] * v[3 * row->a + k];
    }
    for (int k = 0; k < 3 && row->b >= 0; k++) {
      sum += row->jb[k] * v[3 * row->b + k];
    }
    u[i] = sum;
  }
}

void s2_mcp_velocity(const S2Problem *problem, const double *lambda, double *v) {
  for (int i = 0; i < 3 * problem->nodes; i++) {
    v[i] = problem->rhs[i];
  }
  for (int i = 0; i < problem->rows; i++) {
    const S2Row *row = &problem->row[i];
    for (int k = 0; k < 3 && row->a >= 0; k++) {
      v[3 * row->a + k] += row->ja[k] * lambda[i];
    }
    for (int k = 0; k < 3 && row->b >= 0; k++) {
      v[3 * row->b + k] += row->jb[k] * lambda[i];
    }
  }
  for (int i = 0; i < 3 * problem->nodes; i++) {
    v[i] /= problem->mass[i];
  }
}

void s2_mcp_delassus_diagonal(const S2Problem *problem, double *d) {
  for (int i = 0; i < problem->rows; i++) {
    const S2Row *row = &problem->row[i];
    double sum = row->compliance;
    for (int k = 0; k < 3 && row->a >= 0; k++) {
      sum += row->ja[k] * row->ja[k] / problem->mass[3 * row->a + k];
    }
    for (int k = 0; k < 3 && row->b >= 0; k++) {
      sum += row->jb[k] * row->jb[k] / problem->mass[3 * row->b + k];
    }
    d[i] = sum;
  }
}
