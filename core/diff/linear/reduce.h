// Coordinates of the motions that the rigid rows of joints allow. Private to core/diff.
//
// With J the independent ones of those rows and c(q) the coordinates, K = [J; dc/dq] is square, and
// near the present state
//     dq = P dr,  v = P s  where K P = [0; 1]     r = c(q), s = its speed
//     dv = P ds + S dr     K S dr = -(dK/dr) v
#ifndef S2_REDUCE_H
#define S2_REDUCE_H

#include "diff/linear/linearize.h"

typedef struct S2Reduction {
  int n, m; // numbers of q that move; coordinates
  S2Coordinate *coordinate;
} S2Reduction;

S2Status s2_reduction_choose(const S2World *world, const S2Coordinate *wanted, int wanted_count,
                             S2Arena *arena, S2Reduction *reduction);
// Velocities lose what is against the joints, as the next step would take it from them: with M^-1
// J' mu, which changes nothing in what follows. Speeds of coordinates are those of velocities
// without it.
S2Status s2_reduction_settle(S2World *world, const S2Reduction *reduction, S2Arena *arena);
// A copy of all velocities in the arena, and back: for who settles them to look at them only.
double *s2_reduction_keep(const S2World *world, S2Arena *arena);
void s2_reduction_restore(S2World *world, const double *v);
// d(state)/d(reduced state), 2n x 2m, and d(reduced state)/d(state), 2m x 2n; row-major, the state
// as s2_world_state has it.
// (Of velocities as they are: those of the reduced state and M^-1 J' mu, mu as it is.)
S2Status s2_reduction_lift(S2World *world, const S2Reduction *reduction, S2Arena *arena,
                           double *lift);
S2Status s2_reduction_settle_and_lift(S2World *world, const S2Reduction *reduction, S2Arena *arena,
                                      double *lift); // of the settled velocities
S2Status s2_reduction_lower(const S2World *world, const S2Reduction *reduction, S2Arena *arena,
                            double *lower);

#endif
