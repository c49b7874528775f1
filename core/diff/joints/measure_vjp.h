// Derivatives of the functions that joints are made of. Private to core/diff.
#ifndef S2_MEASURE_VJP_H
#define S2_MEASURE_VJP_H

#include "diff/world/world_gradient.h"
#include "dynamics/joints/joint.h"

typedef struct S2RowBar { // adjoint of an S2JointRow, and with `bent` of the second derivatives
  double value, rate, ja[3], jb[3], more[2][3], speed, bend;
  bool bent;
  S2JointHessian hessian;
  double along[S2_JOINT_COLUMNS]; // for a wide constraint with `bend`: v of the bend v' Hess v
} S2RowBar;

typedef struct S2PlaceBar { // destinations of adjoints; all are added to
  double *q;                // 3 per slot: of S2JointAt.q
  double *elapsed;          // s
  S2WorldGradient *gradient;
  S2JointGradient *joint; // of the joint's own numbers; NULL: its place in `gradient`
} S2PlaceBar;

// The equations of a joint are the functions 0 ..; these two are the coordinate that limits act on,
// and the coordinate that the motor acts on.
enum { S2_OF_COORDINATE = S2_JOINT_EQUATIONS, S2_OF_DRIVE };

// From the adjoints of value, rate, ja, jb and the Hessian of that function to the adjoints of the
// poses and of the joint's own numbers.
void s2_joint_function_vjp(const S2JointAt *at, int function, const S2RowBar *bar,
                           const S2PlaceBar *to);

// The adjoints of both offsets of a joint that pins a point, along x and y of b.
typedef struct S2PinBar {
  double value[2], ja[2][3], jb[2][3];
} S2PinBar;
void s2_joint_pin_vjp(const S2JointAt *at, const S2PinBar *bar, const S2PlaceBar *to);

#endif
