// Uses a world as a model for planning. Predicts how it moves from its present state under given
// commands.
#ifndef S2_MODEL_H
#define S2_MODEL_H

#include "base/threads/workers.h"
#include "diff/linear/outputs.h"

// Computes numbers that a script derives from a world. Writes `extra` numbers to y and, if dy is
// not NULL, their derivatives with respect to the numbers of s2_world_state (extra rows). Returns
// false if the script has failed. The script reports the reason itself.
typedef bool S2ModelExtra(void *user, S2World *world, double *y, double *dstate);

typedef struct S2ModelDef {
  S2World *world; // must outlive the model, which steps and restores it. Has one actuator for each
                  // component of u
  const S2Coordinate *coordinates; // coordinates of the reduced state. If NULL, joint coordinates
                                   // are chosen before body coordinates
  int coordinate_count;
  const S2Output *outputs; // copied
  int output_count;
  S2ModelExtra *extra; // NULL: none
  void *user;
  int extra_count;
  int knots,
      steps; // number of knots, and number of steps per knot. The command is constant between knots
  // Threads that share the linearisation of a trajectory, or NULL. The results do not depend on
  // them. Not used if steps call functions of the program.
  S2Workers *workers;
} S2ModelDef;

typedef struct S2Model S2Model;

S2Status s2_model_open(const S2ModelDef *def, S2Model **model);
void s2_model_close(S2Model *model);

int s2_model_states(const S2Model *model);  // n: size of the reduced state
int s2_model_inputs(const S2Model *model);  // m: actuators
int s2_model_outputs(const S2Model *model); // p: values of outputs, then their speeds, then extra
const S2Coordinate *s2_model_coordinates(const S2Model *model); // n / 2
double s2_model_period(const S2Model *model);                   // s, time between knots.

// Sets the start of all trajectories to the present state of the world.
void s2_model_start(S2Model *model);
// Restores the world to the start of the trajectories.
S2Status s2_model_rewind(S2Model *model);

// Feedback about a trajectory: u = clamp(u + step k + gain (x' - x)). `step` is that of a trial,
// and 0 in s2_model_run, which does not read k.
typedef struct S2Feedback {
  const double *x, *k, *gain; // (knots + 1) x n, knots x m, knots x m x n
} S2Feedback;

// Runs the world with the commands u (knots x m), clipped to the ranges of the actuators. Writes
// the states x ((knots + 1) x n) and the outputs y ((knots + 1) x p). With feedback, the applied
// commands are written to u. Returns an error if a step fails or a number is not finite. If `raw`
// is set, velocities in x include the part that the next step removes (s2_reduction_settle).
S2Status s2_model_run(S2Model *model, double *u, const S2Feedback *feedback, bool raw, double *x,
                      double *y);

// Maximum number of trajectories of a line search that run at the same time. Later trials are
// rarely needed.
enum { S2_MODEL_TRIALS = 4 };

// A trajectory that a line search tries.
typedef struct S2ModelTrial {
  double *u, *x, *y; // as in s2_model_run, with feedback
  double step;       // of the feedback
  double sum;        // for S2ModelEnd; starts at 0
  bool good;         // result: true if the trajectory is complete and no step failed
} S2ModelTrial;

// Called with the outputs y at each knot after the first one, and the command u before it. Returns
// true to end the trajectory, which is then not good. Threads may call this function at the same
// time.
typedef bool S2ModelEnd(void *user, S2ModelTrial *trial, const double *y, const double *u);

// Returns the number of threads that share the work now. It is 1 if steps call functions of the
// program.
int s2_model_threads(S2Model *model);
// Returns the number of trials that can run at the same time now, at most S2_MODEL_TRIALS.
int s2_model_trials(S2Model *model);
// Runs trials, at most s2_model_trials. Each has the same bits as s2_model_run.
void s2_model_try(S2Model *model, const S2Feedback *feedback, S2ModelEnd *end, void *user,
                  S2ModelTrial *trials, int count);
// Chooses trial k of the last s2_model_try as the trajectory to linearise next.
void s2_model_choose(S2Model *model, const S2ModelTrial *trial, int k);

// Derivatives along a trajectory. a (knots x n x n) and b (knots x n x m) are the derivatives of
// the state at a knot with respect to the state at the previous knot and the command between them.
// dy ((knots + 1) x p x n) are the derivatives of the outputs. `flags` combines the S2GradientFlag
// of all steps.
typedef struct S2ModelSlope {
  double *a, *b, *dy;
  unsigned flags;
} S2ModelSlope;
S2Status s2_model_linearize(S2Model *model, const double *u, double *x, double *y,
                            S2ModelSlope *slope);

// Writes the limits of the m actuators to lo and hi.
void s2_model_range(const S2Model *model, double *lo, double *hi);

#endif
