// One step of the primal-dual interior point (Mehrotra 1992) for the step problem. A contact has
// four pairs,
//
//   z0 = lambda_n,  s0 = u_n                       u = J v + C lambda + b
//   z1, z2 with lambda_t = z1 - z2,                s1 = u_t + z3,  s2 = -u_t + z3
//   z3 = sliding speed,                            s3 = mu z0 - z1 - z2
//
// z, s >= 0, z o s = kappa, a frictionless one only the first. A boxed row has two,
//
//   z0 = lambda - lo,  z1 = hi - lambda            s0 - s1 = u
//
// kappa is 0 for a solution; above 0
// it names a point of the central path.
#ifndef S2_PDIPM_STEP_H
#define S2_PDIPM_STEP_H

#include "mcp/chain/pdipm_system.h"

typedef struct S2Interior {
  S2System *system;
  S2Arena *arena; // of what a step needs besides
  S2Quad *v;
  double *lambda, *u; // 2 a unit
  double *z, *s;      // 4 a unit
  int pairs;
  bool joints;
  double joint_proximal; // compliance (scaled) that bilateral rows get,
  int joint_refinements; // and how often that is refined away
  double mean;           // z's / pairs
  double taken;          // part of the last direction
} S2Interior;

static inline int s2_unit_pairs(const S2Unit *unit) {
  return unit->kind == S2_UNIT_CONTACT  ? 4
         : unit->kind == S2_UNIT_BOX    ? 2
         : unit->kind == S2_UNIT_NORMAL ? 1
                                        : 0;
}

// Everything zero, the memory the arena's. The caller sets v, z, s and the lambda of bilateral
// rows.
S2Interior s2_interior_make(S2System *system, S2Arena *arena);

// From v, z, s, and u = J v: lambda of contacts, mean.
void s2_interior_measure(S2Interior *interior);

// After measure: what the definitions of s miss in unit k, one a pair; of bilateral rows what they
// miss themselves.
void s2_interior_gap(const S2Interior *interior, int k, double gap[4]);

// One predictor-corrector step towards z o s = kappa, one factorisation; after measure. False when
// the matrix is singular or the direction not finite.
bool s2_interior_step(S2Interior *interior, double kappa);

// Response of a unit whose pairs have w = s / z.
S2Response s2_pairs_respond(const S2Unit *unit, const double *w, double joint_proximal);

// With B the derivative of the pairs' equations (each over its z) by z and E that of lambda by z:
// y = B^-T E' h.
void s2_pairs_adjoint(const S2Unit *unit, const double *w, const double h[2], double y[4]);

#endif
