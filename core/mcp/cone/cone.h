// Products of self-dual cones: first nonnegative numbers, then second-order cones. For a
// second-order cone,
//
//     Q = {(a0, a1) : a0 >= |a1|},   a o b = (a'b, a0 b1 + b0 a1),   neutral element (1, 0).
//
// For numbers, o is the ordinary product with the neutral element 1. A vector of the product cone
// consists of all numbers, followed by the entries of each second-order cone in turn.
#ifndef S2_CONE_H
#define S2_CONE_H

typedef struct S2Cones {
  int orthant;    // number of nonnegative numbers
  int soc_count;  // number of second-order cones
  const int *soc; // size of each second-order cone, >= 1; borrowed
} S2Cones;

int s2_cones_size(const S2Cones *cones); // Returns the number of entries of a vector.
// Returns the degree e'e: y o z = kappa e implies y'z = kappa degree.
int s2_cones_degree(const S2Cones *cones);

void s2_cones_add_neutral(const S2Cones *cones, double amount, double *v); // v += amount * e
void s2_cones_product(const S2Cones *cones, const double *a, const double *b, double *product);

// Adds the matrix of b -> (a + shift e) o b to the row-major `matrix`, whose rows are `stride`
// long.
void s2_cones_add_product_matrix(const S2Cones *cones, const double *a, double shift,
                                 double *matrix, int stride);

// Returns the smallest of all numbers and all a0 - |a1|, which is positive inside the cone.
double s2_cones_margin(const S2Cones *cones, const double *a);

// Returns the step, at most 1, from the interior point `a` along d. The step covers at most the
// fraction `tau` of the distance to the boundary, or `tau_soc` for second-order cones.
double s2_cones_step(const S2Cones *cones, const double *a, const double *d, double tau,
                     double tau_soc);

#endif
