#include "plan/cost.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

// A norm that adds up over its numbers: value, first and second derivative of one.
static double norm_number(S2Norm norm, double p, double r, double *d1, double *d2) {
  double a = fabs(r), sign = r < 0 ? -1 : 1, root;
  switch (norm) {
  case S2_SMOOTH_ABS:
    root = sqrt(r * r + p * p);
    *d1 = root > 0 ? r / root : 0;
    *d2 = root > 0 ? p * p / (root * root * root) : 0;
    return root - p;
  case S2_HUBER:
    *d1 = a <= p ? r : p * sign;
    *d2 = a <= p;
    return a <= p ? 0.5 * r * r : p * (a - 0.5 * p);
  case S2_POWER:
    *d1 = a > 0 ? p * pow(a, p - 1) * sign : 0;
    *d2 = a > 0 ? p * (p - 1) * pow(a, p - 2) : 0;
    *d2 = *d2 > 0 ? *d2 : 0;
    return pow(a, p);
  default: // quadratic
    *d1 = r;
    *d2 = 1;
    return 0.5 * r * r;
  }
}

double s2_norm(S2Norm norm, double p, int count, const double *r, double *slope,
               double *curvature) {
  double value = 0;
  if (curvature != NULL) {
    memset(curvature, 0, sizeof(double) * (size_t)(count * count));
  }
  // The length of all of them together.
  if (norm == S2_L2) {
    double square = p * p;
    for (int i = 0; i < count; i++) {
      square += r[i] * r[i];
    }
    double root = sqrt(square), over = root > 0 ? 1 / root : 0;
    for (int i = 0; i < count && slope != NULL; i++) {
      slope[i] = r[i] * over;
      for (int j = 0; j < count && curvature != NULL; j++) {
        curvature[i * count + j] = over * ((i == j) - r[i] * r[j] * over * over);
      }
    }
    return root - p;
  }
  // Each by itself.
  for (int i = 0; i < count; i++) {
    double d1, d2;
    value += norm_number(norm, p, r[i], &d1, &d2);
    if (slope != NULL) {
      slope[i] = d1;
    }
    if (curvature != NULL) {
      curvature[i * count + i] = d2;
    }
  }
  return value;
}

double s2_cost_term(const S2CostTerm *term, const double *y) {
  // A length needs all residuals at once; the others are added up.
  double value = 0, square = term->p * term->p, d1, d2;
  for (int i = 0; i < term->count; i++) {
    double r = y[term->first + i] - term->goal[i];
    square += r * r;
    value += term->norm == S2_L2 ? 0 : norm_number(term->norm, term->p, r, &d1, &d2);
  }
  return term->norm == S2_L2 ? sqrt(square) - term->p : value;
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
    const S2CostTerm *term = &cost->terms[t];
    int count = term->count;
    double weight = scale * (last ? term->terminal : term->weight);
    if (weight == 0) {
      continue;
    }
    double *r = slope->work, *d1 = r + count, *d2 = d1 + count, *half = d2 + count * count;
    for (int i = 0; i < count; i++) {
      r[i] = y[term->first + i] - term->goal[i];
    }
    s2_norm(term->norm, term->p, count, r, d1, d2);
    // lx += dy'd1, half = d2 dy, lxx += dy'half
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
