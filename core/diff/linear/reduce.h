// Independent coordinates of the motions that the rigid rows of joints allow. Private to core/diff.
//
// Let J be the independent rigid rows and c(q) the coordinates. Then K = [J; dc/dq] is square, and
// near the present state
//     dq = P dr,  v = P s  where K P = [0; 1]     r = c(q), s = its speed
//     dv = P ds + S dr     K S dr = -(dK/dr) v
#ifndef S2_REDUCE_H
#define S2_REDUCE_H

#include "diff/linear/linearize.h"

typedef struct S2Reduction {
  int n, m; // length of q of the moving bodies; number of coordinates
  S2Coordinate *coordinate;
} S2Reduction;

S2Status s2_reduction_choose(const S2World *world, const S2Coordinate *wanted, int wanted_count,
                             S2Arena *arena, S2Reduction *reduction);
// Removes the part M^-1 J' mu of the velocities that violates the joints, as the next step would.
// This does not change the later motion. Speeds of coordinates do not include this part.
S2Status s2_reduction_settle(S2World *world, const S2Reduction *reduction, S2Arena *arena);
// Saves all velocities in the arena, and restores them, for callers that settle them only for a
// while.
double *s2_reduction_keep(const S2World *world, S2Arena *arena);
void s2_reduction_restore(S2World *world, const double *v);
// Derivatives of the state (as in s2_world_state) with respect to the reduced state (2n x 2m), and
// the reverse (2m x 2n), both row-major. The velocities may contain the part M^-1 J' mu, with mu
// constant.
S2Status s2_reduction_lift(S2World *world, const S2Reduction *reduction, S2Arena *arena,
                           double *lift);
S2Status s2_reduction_settle_and_lift(S2World *world, const S2Reduction *reduction, S2Arena *arena,
                                      double *lift); // for settled velocities
S2Status s2_reduction_lower(const S2World *world, const S2Reduction *reduction, S2Arena *arena,
                            double *lower);

#endif
