#include "mcp/cone/cone.h"

#include <math.h>
#include <stddef.h>

int s2_cones_size(const S2Cones *cones) {
  int size = cones->orthant;
  for (int i = 0; i < cones->soc_count; ++i) {
    size += cones->soc[i];
  }
  return size;
}

int s2_cones_degree(const S2Cones *cones) {
  return cones->orthant + cones->soc_count;
}

void s2_cones_add_neutral(const S2Cones *cones, double amount, double *v) {
  for (int i = 0; i < cones->orthant; ++i) {
    v[i] += amount;
  }
  v += cones->orthant;
  for (int i = 0; i < cones->soc_count; v += cones->soc[i], ++i) {
    v[0] += amount;
  }
}

void s2_cones_product(const S2Cones *cones, const double *a, const double *b, double *product) {
  for (int i = 0; i < cones->orthant; ++i) {
    product[i] = a[i] * b[i];
  }
  int at = cones->orthant;
  for (int i = 0; i < cones->soc_count; at += cones->soc[i], ++i) {
    const double *u = a + at, *v = b + at;
    // Compute (a'b, a0 b1 + b0 a1) for each second-order cone.
    double dot = u[0] * v[0];
    for (int k = 1; k < cones->soc[i]; ++k) {
      dot += u[k] * v[k];
      product[at + k] = u[0] * v[k] + v[0] * u[k];
    }
    product[at] = dot;
  }
}

void s2_cones_add_product_matrix(const S2Cones *cones, const double *a, double shift,
                                 double *matrix, int stride) {
  size_t diagonal = (size_t)stride + 1;
  for (int i = 0; i < cones->orthant; ++i) {
    matrix[(size_t)i * diagonal] += a[i] + shift;
  }
  int at = cones->orthant;
  for (int i = 0; i < cones->soc_count; at += cones->soc[i], ++i) {
    double *block = matrix + (size_t)at * diagonal;
    // Add [a0 a1'; a1 a0], with `shift` added to its diagonal.
    block[0] += a[at] + shift;
    for (int k = 1; k < cones->soc[i]; ++k) {
      block[k] += a[at + k];
      block[(size_t)k * (size_t)stride] += a[at + k];
      block[(size_t)k * diagonal] += a[at] + shift;
    }
  }
}

// Returns the length of v. Divides by the largest entry first, so that squares cannot overflow.
static double cone_length(const double *v, int count) {
  double largest = 0, sum = 0;
  for (int k = 0; k < count; ++k) {
    largest = fmax(largest, fabs(v[k]));
  }
  if (largest == 0 || isinf(largest)) {
    return largest;
  }
  for (int k = 0; k < count; ++k) {
    sum += (v[k] / largest) * (v[k] / largest);
  }
  return largest * sqrt(sum);
}

double s2_cones_margin(const S2Cones *cones, const double *a) {
  double margin = INFINITY;
  for (int i = 0; i < cones->orthant; ++i) {
    margin = fmin(margin, a[i]);
  }
  a += cones->orthant;
  for (int i = 0; i < cones->soc_count; a += cones->soc[i], ++i) {
    margin = fmin(margin, a[0] - cone_length(a + 1, cones->soc[i] - 1));
  }
  return margin;
}

// Returns the smallest s > 0 for which a + s d is on the boundary of Q, or INFINITY. This is a root
// of A s^2 + 2 B s + C with the Lorentz products A = <d, d>, B = <a, d> and C = <a, a> > 0. The
// root is real (B^2 >= A C), because a is inside the cone.
static double soc_boundary(const double *a, const double *d, int size) {
  double d_length = cone_length(d + 1, size - 1), a_length = cone_length(a + 1, size - 1);
  double d_scale = fmax(fabs(d[0]), d_length), a_scale = a[0];
  if (!(d_scale > 0)) {
    return INFINITY;
  }
  // Compute <d, d>, <a, a> and <a, d> for vectors scaled to size 1.
  double dd = (d[0] - d_length) / d_scale * ((d[0] + d_length) / d_scale);
  double aa = (a[0] - a_length) / a_scale * ((a[0] + a_length) / a_scale);
  double ad = d[0] / d_scale;
  for (int k = 1; k < size; ++k) {
    ad -= a[k] / a_scale * (d[k] / d_scale);
  }
  // Compute the smallest positive root without cancellation.
  double root = sqrt(fmax(0, ad * ad - dd * aa)), s = INFINITY;
  if (ad <= 0 && root - ad > 0) {
    s = aa / (root - ad);
  } else if (ad > 0 && dd < 0) {
    s = (ad + root) / -dd;
  }
  return s * (a_scale / d_scale);
}

double s2_cones_step(const S2Cones *cones, const double *a, const double *d, double tau,
                     double tau_soc) {
  double step = 1;
  for (int i = 0; i < cones->orthant; ++i) {
    if (d[i] < 0) {
      step = fmin(step, tau * (a[i] / -d[i]));
    }
  }
  a += cones->orthant;
  d += cones->orthant;
  for (int i = 0; i < cones->soc_count; a += cones->soc[i], d += cones->soc[i], ++i) {
    step = fmin(step, tau_soc * soc_boundary(a, d, cones->soc[i]));
  }
  return step;
}
