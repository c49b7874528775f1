#include "plan/cost.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

// Computes the second derivative of a norm that is a sum over its residuals.
static double norm_bend(S2Norm norm, double p, double r) {
  double a = fabs(r), root;
  switch (norm) {
  case S2_NORM_QUADRATIC:
    return 1;
  case S2_NORM_SMOOTH_ABS:
    root = sqrt(r * r + p * p);
    return root > 0 ? p * p / (root * root * root) : 0;
  case S2_NORM_HUBER:
    return a <= p;
  case S2_NORM_POWER:
    return a > 0 ? p * (p - 1) * pow(a, p - 2) : 0;
  default: // linear
    return 0;
  }
}

double s2_plan_norm(S2Norm norm, double p, int count, const double *r, double *slope,
                    double *curvature) {
  double value = s2_norm(norm, p, count, r, slope);
  // The norm of the whole vector has curvature along all residuals.
  double root = value + p, over = norm == S2_NORM_L2 && root > 0 ? 1 / root : 0;
  for (int i = 0; i < count; i++) {
    for (int j = 0; j < count; j++) {
      curvature[i * count + j] = norm == S2_NORM_L2 ? over * ((i == j) - slope[i] * slope[j])
                                 : i == j           ? norm_bend(norm, p, r[i])
                                                    : 0;
    }
  }
  return value;
}

static const double TURN = 6.283185307179586476925; // rad

static double cost_residual(const S2PlanTerm *term, const double *y, int i) {
  double r = y[term->first + i] - term->goal[i];
  return term->wrap ? remainder(r, TURN) : r;
}

double s2_cost_term(const S2PlanTerm *term, const double *y) {
  double r[S2_TERM_MOST];
  for (int i = 0; i < term->count; i++) {
    r[i] = cost_residual(term, y, i);
  }
  return s2_norm(term->norm, term->p, term->count, r, NULL);
}

double s2_cost_stage(const S2Cost *cost, const double *y, const double *u) {
  double sum = 0;
  for (int i = 0; i < cost->count; i++) {
    double weight = u == NULL ? cost->terms[i].terminal : cost->terms[i].weight;
    sum += weight == 0 ? 0 : weight * s2_cost_term(&cost->terms[i], y);
  }
  for (int i = 0; i < cost->inputs && u != NULL; i++) {
    sum += 0.5 * cost->controls[i] * u[i] * u[i];
  }
  return sum;
}

int s2_cost_work(const S2Cost *cost, int n) {
  int most = 0;
  for (int i = 0; i < cost->count; i++) {
    most = cost->terms[i].count > most ? cost->terms[i].count : most;
  }
  return n + most * (2 + n + most) + 1;
}

void s2_cost_slope(const S2Cost *cost, const double *y, const double *dy, double scale, bool last,
                   const S2CostSlope *slope) {
  int n = slope->n;
  for (int t = 0; t < cost->count; t++) {
    const S2PlanTerm *term = &cost->terms[t];
    int count = term->count;
    double weight = scale * (last ? term->terminal : term->weight);
    if (weight == 0) {
      continue;
    }
    double *r = slope->work, *d1 = r + count, *d2 = d1 + count, *half = d2 + count * count;
    for (int i = 0; i < count; i++) {
      r[i] = cost_residual(term, y, i);
    }
    s2_plan_norm(term->norm, term->p, count, r, d1, d2);
    // Compute lx += dy'd1, half = d2 dy, and lxx += dy'half.
    const double *rows = dy + term->first * n;
    for (int i = 0; i < count; i++) {
      for (int k = 0; k < n; k++) {
        double sum = 0;
        for (int j = 0; j < count; j++) {
          sum += d2[i * count + j] * rows[j * n + k];
        }
        half[i * n + k] = weight * sum;
        slope->lx[k] += weight * d1[i] * rows[i * n + k];
      }
    }
    for (int i = 0; i < count; i++) {
      for (int k = 0; k < n; k++) {
        double row = rows[i * n + k];
        for (int j = 0; j < n && row != 0; j++) {
          slope->lxx[k * n + j] += row * half[i * n + j];
        }
      }
    }
  }
}
