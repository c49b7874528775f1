// Derivatives of the constraint functions of joints. Private to core/diff.
#ifndef S2_MEASURE_VJP_H
#define S2_MEASURE_VJP_H

#include "diff/world/world_gradient.h"
#include "dynamics/joints/joint.h"

typedef struct S2RowBar { // adjoint of an S2JointRow and, if `bent`, of its second derivatives
  double value, rate, ja[3], jb[3], more[2][3], speed, bend;
  bool bent;
  S2JointHessian hessian;
  double along[S2_JOINT_COLUMNS]; // the v of v' Hess v, for a constraint of more than two bodies
                                  // with a `bend`
} S2RowBar;

// Sets value, rate and gradients of `scaled`. Its other members, most of its bytes, stay 0.
static inline void s2_row_bar_scale(const S2RowBar *bar, double factor, S2RowBar *scaled) {
  scaled->value = factor * bar->value;
  scaled->rate = factor * bar->rate;
  for (int c = 0; c < 3; c++) {
    scaled->ja[c] = factor * bar->ja[c];
    scaled->jb[c] = factor * bar->jb[c];
  }
}

typedef struct S2PlaceBar { // the adjoints to which results are added
  double *q;                // 3 per slot: adjoint of S2JointAt.q
  double *elapsed;          // s
  S2WorldGradient *gradient;
  S2JointGradient *joint; // adjoint of the joint's own parameters; NULL: the joint's entry in
                          // `gradient`
} S2PlaceBar;

// The equations of a joint are numbered 0, 1, ... These two constants stand for the coordinate that
// limits act on, and for the coordinate that the motor acts on.
enum { S2_OF_COORDINATE = S2_JOINT_EQUATIONS, S2_OF_DRIVE };

// Passes the adjoints of value, rate, ja, jb and Hessian of a joint function on to the poses and to
// the joint's own parameters.
void s2_joint_function_vjp(const S2JointAt *at, int function, const S2RowBar *bar,
                           const S2PlaceBar *to);
// Like s2_joint_function_vjp, for a measure. Returns false if its derivative is not known.
bool s2_measure_vjp(const S2JointAt *at, S2Measure *measure, const S2RowBar *bar,
                    const S2PlaceBar *to);

// Passes on the adjoints of both offsets of a pin joint, along x and y of b.
typedef struct S2PinBar {
  double value[2], ja[2][3], jb[2][3];
} S2PinBar;
void s2_joint_pin_vjp(const S2JointAt *at, const S2PinBar *bar, const S2PlaceBar *to);

#endif
