// Derivatives of the functions that joints are made of. Private to core/diff.
#ifndef S2_MEASURE_VJP_H
#define S2_MEASURE_VJP_H

#include "diff/world/world_gradient.h"
#include "dynamics/joints/joint.h"

typedef struct S2RowBar { // adjoint of an S2JointRow, and of the second derivatives where `bent`
  double value, rate, ja[3], jb[3], more[2][3], speed, bend;
  bool bent;
  S2JointHessian hessian;
  double along[S2_JOINT_COLUMNS]; // of a wide constraint with `bend`: v of the bend v' Hess v
} S2RowBar;

typedef struct S2PlaceBar { // where it goes; all are added to
  double *q;                // 3 a slot: of S2JointAt.q
  double *elapsed;          // s
  S2WorldGradient *gradient;
  S2JointGradient *joint; // of the joint's own numbers; NULL: its place in `gradient`
} S2PlaceBar;

// Of the equations of a joint (0 ..), what its limits and what its motor act on.
enum { S2_OF_COORDINATE = S2_JOINT_EQUATIONS, S2_OF_DRIVE };

// From value, rate, ja, jb and the Hessian of that function to the poses and the joint's own
// numbers.
void s2_joint_function_vjp(const S2JointAt *at, int function, const S2RowBar *bar,
                           const S2PlaceBar *to);

// The same of both offsets of a joint that pins a point, along x and y of b.
typedef struct S2PinBar {
  double value[2], ja[2][3], jb[2][3];
} S2PinBar;
void s2_joint_pin_vjp(const S2JointAt *at, const S2PinBar *bar, const S2PlaceBar *to);

#endif
