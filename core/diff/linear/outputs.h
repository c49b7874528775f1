// Outputs of a world (coordinates of bodies and joints, points of bodies) and their derivatives
// with respect to the reduced state.
#ifndef S2_OUTPUTS_H
#define S2_OUTPUTS_H

#include "diff/linear/reduce.h"

typedef struct S2Output {
  S2Coordinate of; // coordinate of a body or joint; for a point, part 1 or 2 is its x or y
  bool is_point;   // true for the point `at` of the body, in its frame
  S2Vec2 at;       // m
} S2Output;

// Writes y (2 count): first the values, then the speeds (per second).
S2Status s2_outputs_read(const S2World *world, const S2Output *outputs, int count, S2Arena *arena,
                         double *y);
// Computes dy (2 count x 2m), the derivatives with respect to the reduction's coordinates and their
// speeds. `lift` belongs to the reduction.
S2Status s2_outputs_slope(const S2World *world, const S2Output *outputs, int count,
                          const S2Reduction *reduction, const double *lift, S2Arena *arena,
                          double *dy);

#endif
