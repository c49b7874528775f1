// Products of self-dual cones: nonnegative numbers first, then second-order cones, each
//
//     Q = {(a0, a1) : a0 >= |a1|},   a o b = (a'b, a0 b1 + b0 a1),   neutral element (1, 0).
//
// On the numbers o is the ordinary product, its neutral element 1. A vector of the product cone
// holds all numbers, then the entries of one second-order cone after the other.
#ifndef S2_CONE_H
#define S2_CONE_H

typedef struct S2Cones {
  int orthant;    // how many nonnegative numbers
  int soc_count;  // how many second-order cones
  const int *soc; // the size of each, >= 1; borrowed
} S2Cones;

int s2_cones_size(const S2Cones *cones);   // entries of a vector
int s2_cones_degree(const S2Cones *cones); // e'e: y o z = kappa e means y'z = kappa degree

void s2_cones_add_neutral(const S2Cones *cones, double amount, double *v); // v += amount e
void s2_cones_product(const S2Cones *cones, const double *a, const double *b, double *product);

// Adds the matrix of b -> (a + shift e) o b to the row-major `matrix`, whose rows are `stride`
// long.
void s2_cones_add_product_matrix(const S2Cones *cones, const double *a, double shift,
                                 double *matrix, int stride);

// The least of the numbers and of a0 - |a1|: above 0 inside the cone.
double s2_cones_margin(const S2Cones *cones, const double *a);

// The step along d, at most 1, that goes the fraction `tau` (`tau_soc` for second-order cones) of
// the way from the interior point `a` to the boundary. 1 if d meets no boundary.
double s2_cones_step(const S2Cones *cones, const double *a, const double *d, double tau,
                     double tau_soc);

#endif
