// Computes the derivatives with respect to the data of a step problem from its adjoint, by the
// products given in mcp_vjp.c.
#include "linalg/numbers.h"
#include "mcp/adjoint/mcp_vjp_stages.h"
#include "mcp/chain/pdipm_step.h"
#include "mcp/solvers.h"

#include <string.h>

void s2_vjp_fill(const S2Problem *problem, const S2McpGradient *gradient, double value) {
  if (problem->mobility != NULL) {
    s2_fill_numbers(gradient->mobility, 9 * problem->mobility->start[problem->nodes], value);
  } else {
    s2_fill_numbers(gradient->mass, 3 * problem->nodes, value);
  }
  s2_fill_numbers(gradient->rhs, 3 * problem->nodes, value);
  s2_fill_numbers(gradient->ja, 3 * problem->rows, value);
  s2_fill_numbers(gradient->jb, 3 * problem->rows, value);
  s2_fill_numbers(gradient->bias, problem->rows, value);
  s2_fill_numbers(gradient->compliance, problem->rows, value);
  s2_fill_numbers(gradient->mu, problem->rows, value);
  s2_fill_numbers(gradient->lo, problem->rows, value);
  s2_fill_numbers(gradient->hi, problem->rows, value);
  s2_fill_numbers(gradient->w, problem->rows, value);
}

static void write_mobility(const S2McpLinear *l, double *to) {
  const S2Mobility *a = l->mobility;
  for (int i = 0; i < l->problem.nodes; i++) {
    for (int32_t p = a->start[i]; p < a->start[i + 1]; p++) {
      for (int k = 0; k < 9; k++) {
        to[9 * (size_t)p + (size_t)k] = l->rhs[3 * i + k / 3] * l->force[3 * a->column[p] + k % 3];
      }
    }
  }
}

void s2_vjp_write_bodies(const S2Problem *problem, const double *p, const double *v,
                         const S2McpGradient *gradient) {
  for (int i = 0; i < 3 * problem->nodes; i++) {
    if (gradient->rhs != NULL) {
      gradient->rhs[i] = p[i];
    }
    if (gradient->mass != NULL) {
      gradient->mass[i] = -p[i] * v[i];
    }
  }
}

void s2_vjp_write_products(const S2Problem *problem, int r, const double *p, const double *v,
                           double eta, double lambda, const S2McpGradient *gradient) {
  const S2Row *row = &problem->row[r];
  for (int c = 0; c < 3; c++) {
    int at_a = 3 * row->a + c, at_b = 3 * row->b + c;
    if (gradient->ja != NULL) {
      gradient->ja[3 * r + c] = row->a >= 0 ? lambda * p[at_a] + eta * v[at_a] : 0;
    }
    if (gradient->jb != NULL) {
      gradient->jb[3 * r + c] = row->b >= 0 ? lambda * p[at_b] + eta * v[at_b] : 0;
    }
  }
  if (gradient->bias != NULL) {
    gradient->bias[r] = eta;
  }
  if (gradient->compliance != NULL) {
    gradient->compliance[r] = eta * lambda;
  }
}

static void vjp_write_row(const S2McpLinear *l, int i, const double *dl_dlambda,
                          const S2McpGradient *gradient) {
  const S2Row *row = &l->system.problem->row[i];
  s2_vjp_write_products(l->system.problem, i, l->p_node, l->v, l->eta_row[i], l->lambda[i],
                        gradient);
  // Set the derivatives with respect to bounds and friction coefficients. They contain dl/dlambda +
  // J p of a boxed row at its bound, or of a sliding contact.
  double *bound = l->bound[i] < 0 ? gradient->lo : l->bound[i] > 0 ? gradient->hi : NULL;
  if (bound != NULL) {
    bound[i] = (dl_dlambda != NULL ? dl_dlambda[i] : 0) + l->u_row[i];
  }
  if (gradient->mu != NULL && l->sign[i] != 0) {
    double pull = dl_dlambda != NULL ? dl_dlambda[i] : 0;
    gradient->mu[i] = l->sign[i] * l->lambda[row->coupled_to] * (pull + l->u_row[i]);
  }
}

static void add_local_slope(const S2McpLinear *l, int i, double slope,
                            const S2McpGradient *gradient) {
  const S2Row *row = &l->problem.row[i];
  const double *block = s2_mobility_block(l->mobility, row->a, row->a), *j = row->ja;
  ptrdiff_t at = block - l->mobility->block;
  // w = j' A j: dw/dA = j j', dw/dj = (A + A') j
  for (int k = 0; k < 9; k++) {
    if (gradient->mobility != NULL) {
      gradient->mobility[at + k] += slope * j[k / 3] * j[k % 3];
    }
    if (gradient->ja != NULL) {
      gradient->ja[3 * i + k / 3] += slope * block[k] * j[k % 3];
      gradient->ja[3 * i + k % 3] += slope * block[k] * j[k / 3];
    }
  }
}

static void add_body_slope(const S2McpLinear *l, int i, double slope,
                           const S2McpGradient *gradient) {
  const S2Problem *problem = &l->problem;
  const S2Row *row = &problem->row[i];
  for (int side = 0; side < 2; side++) {
    int node = side == 0 ? row->a : row->b;
    const double *j = side == 0 ? row->ja : row->jb;
    double *dj = side == 0 ? gradient->ja : gradient->jb;
    // w = sum j^2 / m: dw/dj = 2 j / m, dw/dm = -(j / m)^2
    for (int k = 0; k < 3 && node >= 0; k++) {
      double over = j[k] / problem->mass[3 * node + k];
      if (dj != NULL) {
        dj[3 * i + k] += 2 * slope * over;
      }
      if (gradient->mass != NULL) {
        gradient->mass[3 * node + k] -= slope * over * over;
      }
    }
  }
}

// Adds the derivatives that act through w = diag(J W^-1 J' + C) of row i, where dl/dw = slope. w
// scales kappa and the norm of shared impulses.
static void add_scale_slope(const S2McpLinear *l, int i, double slope,
                            const S2McpGradient *gradient) {
  if (l->mobility != NULL) {
    add_local_slope(l, i, slope, gradient);
  } else {
    add_body_slope(l, i, slope, gradient);
  }
  if (gradient->w != NULL) {
    gradient->w[i] = slope;
  }
  if (gradient->compliance != NULL) {
    gradient->compliance[i] += slope;
  }
}

// Adds the contributions of a contact on the path that do not come from its rows.
static void vjp_write_add_path(const S2McpLinear *l, int k, const S2McpGradient *gradient) {
  const S2Unit *unit = &l->system.unit[k];
  const double *w = l->w + 4 * k, *z = l->z + 4 * k, *g = unit->g;
  double scale = l->kappa * l->system.problem->velocity_scale;
  double h[2] = {g[0] * (l->data.unit[2 * k] + l->u[2 * k]),
                 g[1] * (l->data.unit[2 * k + 1] + l->u[2 * k + 1])};
  // The adjoint of the pairs, whose sides satisfy s = kappa / z.
  double y[4];
  s2_pairs_adjoint(unit, w, h, y);
  add_scale_slope(l, unit->row, -scale * g[0] * y[0] / z[0], gradient);
  if (unit->kind == S2_UNIT_CONTACT) {
    double sum = y[1] / z[1] + y[2] / z[2] + y[3] / z[3];
    add_scale_slope(l, unit->row + 1, -scale * g[1] * sum, gradient);
    if (gradient->mu != NULL) {
      gradient->mu[unit->row + 1] = -y[3] * l->lambda[unit->row] / g[1];
    }
  }
}

// Adds the terms by which impulses of least norm depend on the data: r' dA (Z beta) - (Z beta)' dD
// x.
static void write_share(const S2McpLinear *l, const S2McpGradient *gradient) {
  const S2Problem *problem = &l->problem;
  const double *r = l->share_r, *z = l->share_z, *pr = l->share_pr, *pz = l->share_pz;
  for (int i = 0; i < 3 * problem->nodes && gradient->mass != NULL; i++) {
    gradient->mass[i] -= pr[i] * pz[i];
  }
  for (int i = 0; i < problem->rows; i++) {
    const S2Row *row = &problem->row[i];
    double across = 0; // J W^-1 J' r of a friction row
    for (int k = 0; k < 6; k++) {
      int32_t node = k < 3 ? row->a : row->b;
      double *to = k < 3 ? gradient->ja : gradient->jb, j = k < 3 ? row->ja[k] : row->jb[k - 3];
      int at = 3 * node + k % 3;
      if (node >= 0) {
        across += j * pr[at];
      }
      if (node >= 0 && to != NULL) {
        to[3 * i + k % 3] += r[i] * pz[at] + z[i] * pr[at];
      }
    }
    if (gradient->compliance != NULL) {
      gradient->compliance[i] += r[i] * z[i];
    }
    if (l->sign[i] == 0) { // skip the friction of sliding contacts, which is not an unknown
      add_scale_slope(l, i, -z[i] * l->lambda[i], gradient);
    } else if (gradient->mu != NULL) {
      gradient->mu[i] += l->sign[i] * z[row->coupled_to] * across;
    }
  }
}

void s2_vjp_write(const S2McpLinear *l, const double *dl_dlambda, const S2McpGradient *gradient) {
  const S2System *system = &l->system;
  const S2Problem *problem = system->problem;
  if (l->mobility == NULL) {
    s2_vjp_write_bodies(problem, l->p_node, l->v, gradient);
  } else if (gradient->rhs != NULL) {
    memcpy(gradient->rhs, l->rhs, sizeof(double) * 3 * (size_t)problem->nodes);
  }
  if (gradient->mobility != NULL && l->mobility != NULL) {
    write_mobility(l, gradient->mobility);
  }
  // Write the gradient row by row. On the path, add the part that acts through the scale of kappa.
  for (int i = 0; i < problem->rows; i++) {
    vjp_write_row(l, i, dl_dlambda, gradient);
  }
  for (int k = 0; k < system->units; k++) {
    if (s2_vjp_is_smooth(l, k)) {
      vjp_write_add_path(l, k, gradient);
    }
  }
  if (l->shared) {
    write_share(l, gradient);
  }
}
