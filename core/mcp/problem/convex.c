#include "mcp/problem/convex.h"

#include <math.h>
#include <string.h>

// Returns true if row i is the friction row of a rigid contact. Its normal row is row i - 1.
static bool convex_has_edges(const S2Problem *problem, int i) {
  const S2Row *row = &problem->row[i];
  return row->coupled_to >= 0 && row->mu > 0 && problem->row[i - 1].compliance == 0 &&
         row->compliance == 0;
}

S2Problem s2_mcp_convex(const S2Problem *problem, S2Arena *arena) {
  S2Problem convex = *problem;
  S2Row *rows = S2_TAKE(arena, S2Row, problem->rows);
  if (problem->rows > 0) {
    memcpy(rows, problem->row, sizeof *rows * (size_t)problem->rows);
  }
  for (int i = 1; i < problem->rows; i++) {
    if (!convex_has_edges(problem, i)) {
      continue;
    }
    // Replace the normal row with one edge of the cone, and the friction row with the other edge.
    const S2Row *normal = &problem->row[i - 1], *tangent = &problem->row[i];
    for (int side = 0; side < 2; side++) {
      double mu = side == 0 ? tangent->mu : -tangent->mu;
      S2Row *edge = &rows[i - 1 + side];
      *edge = *normal;
      for (int c = 0; c < 3; c++) {
        edge->ja[c] += mu * tangent->ja[c];
        edge->jb[c] += mu * tangent->jb[c];
      }
      edge->bias += mu * tangent->bias;
    }
  }
  convex.row = rows;
  return convex;
}

void s2_mcp_convex_edges(const S2Problem *problem, double *lambda) {
  for (int i = 1; i < problem->rows; i++) {
    if (convex_has_edges(problem, i)) {
      double normal = lambda[i - 1], across = lambda[i] / problem->row[i].mu;
      lambda[i - 1] = (normal + across) / 2;
      lambda[i] = (normal - across) / 2;
    }
  }
}

void s2_mcp_convex_impulses(const S2Problem *problem, double *lambda) {
  for (int i = 1; i < problem->rows; i++) {
    if (convex_has_edges(problem, i)) {
      double p = lambda[i - 1], q = lambda[i];
      lambda[i - 1] = p + q;
      lambda[i] = problem->row[i].mu * (p - q);
    }
  }
}

void s2_mcp_convex_seed(const S2Problem *problem, double *dl_dlambda) {
  for (int i = 1; i < problem->rows; i++) {
    if (convex_has_edges(problem, i)) {
      double normal = dl_dlambda[i - 1], across = problem->row[i].mu * dl_dlambda[i];
      dl_dlambda[i - 1] = normal + across;
      dl_dlambda[i] = normal - across;
    }
  }
}

// Converts three entries of the rows for one body: J_n receives the sum of both edges, and J_t
// receives mu times their difference. Returns the contribution to the derivative with respect to
// mu.
static double convex_jacobian_vjp(const double tangent[3], double mu, double *normal_bar,
                                  double *tangent_bar) {
  double of_mu = 0;
  for (int c = 0; c < 3; c++) {
    double p = normal_bar[c], q = tangent_bar[c];
    normal_bar[c] = p + q;
    tangent_bar[c] = mu * (p - q);
    of_mu += (p - q) * tangent[c];
  }
  return of_mu;
}

void s2_mcp_convex_vjp(const S2Problem *problem, const double *lambda, const double *dl_dlambda,
                       const S2McpGradient *gradient) {
  for (int i = 1; i < problem->rows; i++) {
    if (!convex_has_edges(problem, i)) {
      continue;
    }
    const S2Row *row = &problem->row[i];
    double of_mu =
        convex_jacobian_vjp(row->ja, row->mu, gradient->ja + 3 * (i - 1), gradient->ja + 3 * i) +
        convex_jacobian_vjp(row->jb, row->mu, gradient->jb + 3 * (i - 1), gradient->jb + 3 * i);
    double p = gradient->bias[i - 1], q = gradient->bias[i];
    gradient->bias[i - 1] = p + q;
    gradient->bias[i] = row->mu * (p - q);
    of_mu += (p - q) * row->bias;
    // Add the contribution of l_t = mu (p - q).
    of_mu += dl_dlambda == NULL ? 0 : dl_dlambda[i] * lambda[i] / row->mu;
    gradient->mu[i] = of_mu;
  }
}
