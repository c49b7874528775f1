// Positive semidefinite parts of small symmetric matrices, several at a time, by Jacobi's method.
#include "plan/mpcc_problem.h"

#include <math.h>
#include <string.h>

enum { L = S2_MPCC_LANES, MOST_SWEEPS = 12 };
static const double DIAGONAL =
    1e-14; // size of entries off the diagonal that count as zero, relative

// Computes the rotations that make element (p, q) zero, for all lanes.
static void project_angle(int size, const double *a, int p, int q, double *restrict c,
                          double *restrict s) {
  const double *app = &a[(p * size + p) * L], *aqq = &a[(q * size + q) * L];
  const double *apq = &a[(p * size + q) * L];
  for (int k = 0; k < L; k++) {
    // tan of the smaller angle, as in Golub and Van Loan, algorithm 8.4.1; 0 if (p, q) is zero
    double half = 0.5 * (aqq[k] - app[k]);
    double root = fabs(half) + sqrt(half * half + apq[k] * apq[k]);
    double t = root > 0 ? apq[k] / root : 0;
    t = half < 0 ? -t : t;
    c[k] = 1 / sqrt(1 + t * t);
    s[k] = t * c[k];
  }
}

static void project_turn(double *restrict x, double *restrict y, const double *restrict c,
                         const double *restrict s) {
  for (int k = 0; k < L; k++) {
    double old = x[k];
    x[k] = c[k] * old - s[k] * y[k];
    y[k] = s[k] * old + c[k] * y[k];
  }
}

static void project_rotate(int size, double *a, double *v, int p, int q) {
  double c[L], s[L];
  project_angle(size, a, p, q, c, s);
  for (int i = 0; i < size; i++) { // columns
    project_turn(&a[(i * size + p) * L], &a[(i * size + q) * L], c, s);
  }
  for (int i = 0; i < size; i++) { // rows
    project_turn(&a[(p * size + i) * L], &a[(q * size + i) * L], c, s);
    project_turn(&v[(p * size + i) * L], &v[(q * size + i) * L], c, s);
  }
}

static bool project_is_diagonal(int size, const double *a) {
  for (int k = 0; k < L; k++) {
    double on = 0, off = 0;
    for (int i = 0; i < size; i++) {
      on = fmax(on, fabs(a[(i * size + i) * L + k]));
      for (int j = 0; j < i; j++) {
        double size_off = fabs(a[(i * size + j) * L + k]);
        off = size_off > off ? size_off : off;
      }
    }
    if (off > DIAGONAL * on) {
      return false;
    }
  }
  return true;
}

void s2_mpcc_project(int size, double *a, double *work) {
  double *v = work; // rows are eigenvectors
  memset(v, 0, sizeof *v * (size_t)(size * size * L));
  for (int i = 0; i < size; i++) {
    for (int k = 0; k < L; k++) {
      v[(i * size + i) * L + k] = 1;
    }
  }
  for (int sweep = 0; sweep < MOST_SWEEPS && !project_is_diagonal(size, a); sweep++) {
    for (int p = 0; p < size; p++) {
      for (int q = p + 1; q < size; q++) {
        project_rotate(size, a, v, p, q);
      }
    }
  }
  double value[L], part[L];
  for (int m = 0; m < size; m++) { // scales the eigenvectors by the roots of their eigenvalues
    for (int k = 0; k < L; k++) {
      double eigenvalue = a[(m * size + m) * L + k];
      value[k] = eigenvalue > 0 ? sqrt(eigenvalue) : 0;
    }
    for (int i = 0; i < size; i++) {
      for (int k = 0; k < L; k++) {
        v[(m * size + i) * L + k] *= value[k];
      }
    }
  }
  for (int i = 0; i < size; i++) {
    for (int j = 0; j < size; j++) {
      memset(part, 0, sizeof part);
      for (int m = 0; m < size; m++) {
        for (int k = 0; k < L; k++) {
          part[k] += v[(m * size + i) * L + k] * v[(m * size + j) * L + k];
        }
      }
      memcpy(&a[(i * size + j) * L], part, sizeof part);
    }
  }
}
