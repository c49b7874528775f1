// A world as a model for planning: predicts the motion from its present state under given commands.
#ifndef S2_MODEL_H
#define S2_MODEL_H

#include "diff/linear/outputs.h"

// Computes numbers that a script derives from a world. Writes `extra` numbers to y and, if dy is
// not NULL, their derivatives with respect to the numbers of s2_world_state (extra rows). Returns
// false if the script has failed; the script reports the reason elsewhere.
typedef bool S2ModelExtra(void *user, S2World *world, double *y, double *dstate);

typedef struct S2ModelDef {
  S2World *world; // has one actuator for each number of u; the model steps it and restores it. The
                  // caller owns it, and it must outlive the model
  const S2Coordinate *coordinates; // coordinates of the reduced state; NULL: first joints, then
                                   // bodies
  int coordinate_count;
  const S2Output *outputs; // copied
  int output_count;
  S2ModelExtra *extra; // NULL: none
  void *user;
  int extra_count;
  int knots, steps; // a trajectory has `knots` knots of `steps` steps with the same command
} S2ModelDef;

typedef struct S2Model S2Model;

S2Status s2_model_open(const S2ModelDef *def, S2Model **model);
void s2_model_close(S2Model *model);

int s2_model_states(const S2Model *model);  // n: size of the reduced state
int s2_model_inputs(const S2Model *model);  // m: actuators
int s2_model_outputs(const S2Model *model); // p: values of outputs, then their speeds, then extra
const S2Coordinate *s2_model_coordinates(const S2Model *model); // n / 2
double s2_model_period(const S2Model *model);                   // s, time between knots.

// Makes the present state of the world the start of trajectories.
void s2_model_start(S2Model *model);
// Returns the world to the start of trajectories.
S2Status s2_model_rewind(S2Model *model);

// Feedback about a trajectory: u = clamp(u + step k + gain (x' - x)).
typedef struct S2Feedback {
  const double *x, *k, *gain; // (knots + 1) x n, knots x m, knots x m x n
  double step;
} S2Feedback;

// u (knots x m): commands, which are clipped to the ranges of actuators. With feedback, u receives
// the applied commands. x ((knots + 1) x n), y ((knots + 1) x p): states and outputs at knots. If a
// step fails or a number is not finite, the run ends with a status. With `raw`, x contains the
// velocities that a script reads, including the part that the next step removes
// (s2_reduction_settle).
S2Status s2_model_run(S2Model *model, double *u, const S2Feedback *feedback, bool raw, double *x,
                      double *y);

// Computes the derivatives along a trajectory (u is not changed): a (knots x n x n) and b (knots x
// n x m), the derivatives of a knot with respect to the state at the previous knot and to the
// command between them, and dy ((knots + 1) x p x n). `flags`: S2GradientFlag of all steps.
typedef struct S2ModelSlope {
  double *a, *b, *dy;
  unsigned flags;
} S2ModelSlope;
S2Status s2_model_linearize(S2Model *model, const double *u, double *x, double *y,
                            S2ModelSlope *slope);

// The ranges of the actuators: lo, hi (m numbers each).
void s2_model_range(const S2Model *model, double *lo, double *hi);

#endif
