// Outputs of a world and their derivatives by the reduced state: coordinates of bodies and joints,
// points of bodies.
#ifndef S2_OUTPUTS_H
#define S2_OUTPUTS_H

#include "diff/linear/reduce.h"

typedef struct S2Output {
  S2Coordinate of; // a body's or joint's; of a point the part is 1 for x, 2 for y
  bool is_point;   // of a body, at `at` in its frame
  S2Vec2 at;       // m
} S2Output;

// y (2 count): values, then speeds (a second).
S2Status s2_outputs_read(const S2World *world, const S2Output *outputs, int count, S2Arena *arena,
                         double *y);
// dy (2 count x 2m): by the coordinates of the reduction and their speeds, with `lift` of it.
S2Status s2_outputs_slope(const S2World *world, const S2Output *outputs, int count,
                          const S2Reduction *reduction, const double *lift, S2Arena *arena,
                          double *dy);

#endif
