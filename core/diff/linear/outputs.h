// Outputs of a world (coordinates of bodies and joints, points of bodies) and their derivatives
// with respect to the reduced state.
#ifndef S2_OUTPUTS_H
#define S2_OUTPUTS_H

#include "diff/linear/reduce.h"

typedef struct S2Output {
  S2Coordinate of; // coordinate of a body or joint; for a point, part 1 is x and 2 is y
  bool is_point;   // a point of the body, at `at` in its frame
  S2Vec2 at;       // m
} S2Output;

// Writes y (2 count): the values, followed by the speeds (per second).
S2Status s2_outputs_read(const S2World *world, const S2Output *outputs, int count, S2Arena *arena,
                         double *y);
// dy (2 count x 2m): derivatives with respect to the reduction's coordinates and their speeds;
// `lift` belongs to the reduction.
S2Status s2_outputs_slope(const S2World *world, const S2Output *outputs, int count,
                          const S2Reduction *reduction, const double *lift, S2Arena *arena,
                          double *dy);

#endif
