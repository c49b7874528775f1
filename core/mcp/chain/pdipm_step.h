// One step of the primal-dual interior-point method (Mehrotra 1992) for the step problem. A contact
// has four pairs,
//
//   z0 = lambda_n,  s0 = u_n                       u = J v + C lambda + b
//   z1, z2 with lambda_t = z1 - z2,                s1 = u_t + z3,  s2 = -u_t + z3
//   z3 = sliding speed,                            s3 = mu z0 - z1 - z2
//
// with z, s >= 0 and z o s = kappa. A frictionless contact has only the first pair. A boxed row has
// two pairs,
//
//   z0 = lambda - lo,  z1 = hi - lambda            s0 - s1 = u
//
// kappa is 0 for a solution. A positive kappa denotes a point on the central path.
#ifndef S2_PDIPM_STEP_H
#define S2_PDIPM_STEP_H

#include "mcp/chain/pdipm_system.h"

typedef struct S2Interior {
  S2System *system;
  S2Arena *arena; // arena for the temporary memory of a step
  S2Quad *v;
  double *lambda, *u; // 2 numbers per unit
  double *z, *s;      // 4 numbers per unit
  int pairs;
  bool joints;
  double joint_proximal; // scaled compliance of bilateral rows
  int joint_refinements; // number of refinements that remove the effect of joint_proximal
  double mean;           // mean of z o s over all pairs
  double taken;          // fraction of the last direction that was taken
} S2Interior;

static inline int s2_unit_pairs(const S2Unit *unit) {
  return unit->kind == S2_UNIT_CONTACT  ? 4
         : unit->kind == S2_UNIT_BOX    ? 2
         : unit->kind == S2_UNIT_NORMAL ? 1
                                        : 0;
}

// Allocates a point in the arena, with all values 0. The caller sets v, z, s and lambda of
// bilateral rows.
S2Interior s2_interior_make(S2System *system, S2Arena *arena);

// Computes lambda of contacts and the mean from v, z, s and u = J v.
void s2_interior_measure(S2Interior *interior);

// Computes the errors of unit k. These are the errors in the definition of s for each pair, or the
// errors of bilateral rows. Call s2_interior_measure first.
void s2_interior_gap(const S2Interior *interior, int k, double gap[4]);

// Makes one predictor-corrector step towards z o s = kappa, with one factorisation. Call
// s2_interior_measure first. Returns false if the matrix is singular or the direction is not
// finite.
bool s2_interior_step(S2Interior *interior, double kappa);

// Returns the response of a unit whose pairs have w = s / z.
S2Response s2_pairs_respond(const S2Unit *unit, const double *w, double joint_proximal);

// Computes y = B^-T E' h. B is the derivative of the pairs' equations (each divided by its z) with
// respect to z, and E is the derivative of lambda with respect to z.
void s2_pairs_adjoint(const S2Unit *unit, const double *w, const double h[2], double y[4]);

#endif
