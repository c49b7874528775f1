// Measures of joints on a tape, with exact derivatives. Private to core/diff/control.
#ifndef S2_WORLD_MEASURES_H
#define S2_WORLD_MEASURES_H

#include "diff/world/world_tape.h"
#include "dynamics/joints/joint.h"

// A measure of a joint at the present poses, with its first and second derivatives.
typedef struct S2Measured {
  S2Measure *measure;
  int32_t joint;
  S2JointRow row;
  S2JointHessian hessian;
} S2Measured;

// Returns false if the derivatives are not known: for gears, pulleys and constraints.
bool s2_measured_at(const S2World *world, int32_t joint, S2Measure *measure, S2Measured *measured);
// Component 0 .. 5 of the measure's gradient: angle, x, y of body a, then of body b.
double s2_measured_slope(const S2Measured *measured, int component);

// A derivative with respect to a number of the world.
typedef struct S2PlaceSlope {
  S2Place place;
  double slope;
} S2PlaceSlope;

// The derivatives of `value` times the measure, plus `along` (6 numbers; NULL: zeros) times its
// gradient. They are those with respect to the poses and to numbers of the joint that may depend
// on a parameter. Zeros are left out. Returns the number of derivatives.
enum { S2_MEASURED_PLACES = 6 + S2_OF_ANGLE0 + 1 };
int s2_measured_vjp(S2WorldTape *tape, const S2World *world, const S2Measured *measured,
                    double value, const double *along, S2PlaceSlope *slopes);
// The derivatives of a coordinate or the speed of a joint. Returns their number, or -1 if they are
// not known.
enum { S2_FIELD_PLACES = S2_MEASURED_PLACES + 6 };
int s2_measured_field(S2WorldTape *tape, const S2World *world, int32_t joint, S2JointField field,
                      S2PlaceSlope *slopes);
// The velocities of the joint's bodies, in the order of the components.
void s2_measured_velocities(const S2World *world, const S2Measured *measured, double v[6]);

#endif
