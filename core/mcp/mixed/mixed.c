// Common functions for mixed problems: products, residuals and scaling.
#include "mcp/mixed/mixed.h"

#include "linalg/double2.h"

#include <math.h>
#include <string.h>

// Number of scaling passes. Each pass roughly replaces the largest entry of a row by its square
// root.
enum { EQUILIBRATIONS = 12 };

// ---- Products and measures --------------------------------------------------------------------

S2Mixed s2_mixed_pairs(int count, const double *matrix, const double *right, S2Arena *arena) {
  size_t m = (size_t)count;
  S2Mixed p = {0, count, S2_TAKE(arena, double, m *m + 1), S2_TAKE(arena, double, m + 1)};
  s2_copy_numbers(p.k, matrix, m * m);
  s2_copy_numbers(p.r, right, m);
  return p;
}

// Computes row x + r, summed with twice the digits. If x is very large, rounding in double
// precision could make the sum zero at points that are not solutions.
static double row_at(const double *row, const double *x, double r, int size) {
  double sum = r, lost = 0;
  for (int j = 0; j < size; j++) {
    S2Double2 product = s2_double2_product(row[j], x[j]), next = s2_double2_sum(sum, product.hi);
    sum = next.hi;
    lost += product.lo + next.lo;
  }
  if (isfinite(sum + lost)) {
    return sum + lost;
  }
  for (int j = 0; j < size; j++) { // these numbers are too large to be split
    r += row[j] * x[j];
  }
  return r;
}

void s2_mixed_apply(const S2Mixed *p, const double *x, double *f) {
  int size = s2_mixed_size(p);
  for (int i = 0; i < size; i++) {
    f[i] = row_at(p->k + (size_t)i * (size_t)size, x, p->r[i], size);
  }
}

double s2_mixed_row_unit(const S2Mixed *p, const double *x, int i, double most) {
  int size = s2_mixed_size(p);
  const double *row = p->k + (size_t)i * (size_t)size;
  double unit = fabs(p->r[i]);
  for (int j = 0; j < size; j++) {
    unit = fmax(unit, fabs(row[j]) * fmax(1, fabs(x[j])));
  }
  return fmin(unit, most);
}

double s2_mixed_pair_miss(double x, double w, double lo, double hi, double x_unit, double w_unit) {
  double aim = w == 0 ? 0 : w / w_unit; // a row of zeros has no unit
  return fabs(fmax((x - hi) / x_unit, fmin((x - lo) / x_unit, aim)));
}

double s2_mixed_residual(const S2Mixed *p, const double *x, const double *f) {
  int size = s2_mixed_size(p);
  if (!s2_all_finite(x, (size_t)size) || !s2_all_finite(f, (size_t)size)) {
    return NAN;
  }
  double residual = s2_largest(f, (size_t)p->n);
  for (int i = p->n; i < size; i++) {
    residual = fmax(residual, fabs(fmin(x[i], f[i])));
  }
  return residual;
}

static const double PATH_FRACTION = 1e-3;

double s2_mixed_path_tolerance(double tolerance, double kappa) {
  return fmin(tolerance, PATH_FRACTION * kappa);
}

double s2_mixed_off_path(const S2Mixed *p, const double *x, const double *f, double kappa) {
  double most = 0;
  for (int i = p->n; i < s2_mixed_size(p); i++) {
    if (!(x[i] > 0 && f[i] > 0)) {
      return INFINITY;
    }
    most = fmax(most, fabs(x[i] * f[i] - kappa));
  }
  return most;
}

// ---- Scaling ----------------------------------------------------------------------------------

double s2_mixed_equilibrate(S2Mixed *scaled, double *s, const S2Mixed *p, double kappa) {
  int size = s2_mixed_size(p);
  for (int i = 0; i < size; i++) {
    s[i] = 1;
  }
  // Find scales S for which the largest entry of each row and column of K' = S K S is about 1. Each
  // pass divides rows and columns by square roots of their largest entries.
  for (int pass = 0; pass < EQUILIBRATIONS; pass++) {
    double *next = scaled->r;
    for (int i = 0; i < size; i++) {
      // Find the largest entry of row i and column i, which share a scale.
      double largest = 0;
      for (int j = 0; j < size; j++) {
        double across = fabs(p->k[(size_t)i * (size_t)size + (size_t)j]) * s[j];
        double down = fabs(p->k[(size_t)j * (size_t)size + (size_t)i]) * s[j];
        largest = fmax(largest, fmax(across, down));
      }
      largest *= s[i];
      next[i] = s[i] * s2_half_inverse(largest);
    }
    memcpy(s, next, sizeof(double) * (size_t)size);
  }
  // Apply the scales once at the end. Powers of two are exact.
  for (int i = 0; i < size; i++) {
    for (int j = 0; j < size; j++) {
      size_t at = (size_t)i * (size_t)size + (size_t)j;
      scaled->k[at] = p->k[at] * s[i] * s[j];
    }
    scaled->r[i] = p->r[i] * s[i];
  }
  // Divide the right side by its size, a power of two. With kappa > 0, this size is at least
  // sqrt(kappa).
  int exponent = 0;
  frexp(fmax(s2_largest(scaled->r, (size_t)size), sqrt(kappa)), &exponent);
  for (int i = 0; i < size; i++) {
    scaled->r[i] = ldexp(scaled->r[i], -exponent);
  }
  return ldexp(1, exponent);
}
