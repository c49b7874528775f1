// A world as a model of itself: the motion that follows from its present state under given
// commands.
#ifndef S2_MODEL_H
#define S2_MODEL_H

#include "diff/linear/outputs.h"

// Computes the numbers that a script derives from a world: writes `extra` numbers to y and, if dy
// is not NULL, their derivatives with respect to the numbers of s2_world_state (extra rows). False:
// the script has failed and reported the reason elsewhere.
typedef bool S2ModelExtra(void *user, S2World *world, double *y, double *dstate);

typedef struct S2ModelDef {
  S2World *world; // with one actuator for each number of u; it is stepped, then restored; the
                  // caller's, outlives the model
  const S2Coordinate *coordinates; // coordinates of the reduced state; NULL: joints, then bodies
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

int s2_model_states(const S2Model *model);  // n: numbers of the reduced state
int s2_model_inputs(const S2Model *model);  // m: actuators
int s2_model_outputs(const S2Model *model); // p: values of outputs, then their speeds, then extra
const S2Coordinate *s2_model_coordinates(const S2Model *model); // n / 2
double s2_model_period(const S2Model *model);                   // s between knots

// From now on trajectories start in the present state of the world.
void s2_model_start(S2Model *model);
// Returns the world to that start.
S2Status s2_model_rewind(S2Model *model);

// Feedback about a trajectory: u = clamp(u + step k + gain (x' - x)).
typedef struct S2Feedback {
  const double *x, *k, *gain; // (knots + 1) x n, knots x m, knots x m x n
  double step;
} S2Feedback;

// u (knots x m): commands, clipped to the ranges of actuators; with feedback it becomes the applied
// commands. x ((knots + 1) x n), y ((knots + 1) x p): states and outputs at knots. A step that
// fails, or numbers that are not finite, end the run with a status. With `raw`, x contains the
// velocities as a script reads them, including the part that the next step removes
// (s2_reduction_settle).
S2Status s2_model_run(S2Model *model, double *u, const S2Feedback *feedback, bool raw, double *x,
                      double *y);

// Computes the derivatives along a trajectory (u is not changed): a (knots x n x n) and b (knots x
// n x m), the derivatives of a knot with respect to the state at the knot before and to the command
// between them, and dy ((knots + 1) x p x n). `flags`: S2GradientFlag of all steps.
typedef struct S2ModelSlope {
  double *a, *b, *dy;
  unsigned flags;
} S2ModelSlope;
S2Status s2_model_linearize(S2Model *model, const double *u, double *x, double *y,
                            S2ModelSlope *slope);

// The ranges of the actuators: lo, hi (m).
void s2_model_range(const S2Model *model, double *lo, double *hi);

#endif
