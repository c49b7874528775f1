// The cost of a motion: terms and bounds for quantities of bodies and joints. They are declared
// once and evaluated without user code, for batches, rollouts and planners.
//
// With residuals r_j = (field_j - goal_j) / scale_j, a term is a norm n with a parameter p:
//
//   linear      sum r_j
//   quadratic   sum r_j^2 / 2
//   smooth_abs  sum sqrt(r_j^2 + p^2) - p       p > 0, by default 0.1
//   huber       sum r_j^2 / 2 where |r_j| <= p, else p (|r_j| - p / 2)   p > 0, by default 1
//   l2          sqrt(sum r_j^2 + p^2) - p       p >= 0, by default 0.1
//   power       sum |r_j|^p                     p >= 1, by default 2
//
// The cost of a motion with steps of length h is
//
//   sum over steps of h sum_i weight_i n_i(state after the step, controls in it)
//     + sum_i terminal_i n_i(last state, last controls)
//
// so the cost hardly depends on h. The norms come from Howell et al. 2022, "Predictive sampling".
#ifndef S2_JUDGE_H
#define S2_JUDGE_H

#include "dynamics/dynamics.h"

typedef enum S2Norm {
  S2_NORM_LINEAR,
  S2_NORM_QUADRATIC,
  S2_NORM_SMOOTH_ABS,
  S2_NORM_HUBER,
  S2_NORM_L2,
  S2_NORM_POWER,
  S2_NORM_COUNT
} S2Norm;

extern const char *const s2_norm_names[]; // in order; the list ends with NULL
double s2_norm_default(S2Norm norm);      // default value of p.

// Returns the norm n of `count` residuals. `slope` (or NULL) receives dn/dr_j.
double s2_norm(S2Norm norm, double p, int count, const double *r, double *slope);

// A number read from a world: a field of a body or of a joint, a control, 1 if a body touches
// another one (s2_body_touches), else 0, or a coordinate of a point that is fixed to a body.
typedef enum S2ReadingKind {
  S2_READ_BODY,
  S2_READ_JOINT,
  S2_READ_CONTROL,
  S2_READ_TOUCHES,
  S2_READ_POINT
} S2ReadingKind;

typedef struct S2Reading {
  S2ReadingKind kind;
  S2BodyId body;   // of S2_READ_BODY, S2_READ_TOUCHES and S2_READ_POINT
  S2JointId joint; // of S2_READ_JOINT
  int field; // S2BodyField, S2JointField, or the index of a control; of a point: S2_BODY_X, _Y
  S2Vec2 at; // m: the point, relative to the centre of mass, in axes of the body
} S2Reading;

// Reads the number. `controls` may be NULL if no control is read.
S2Status s2_reading_get(const S2World *world, const S2Reading *reading, const double *controls,
                        double *value);

// Sets a field of a body or joint, as s2_body_set and s2_joint_set do; angle and translation of a
// hinge or slider are set by s2_world_set_coordinates, and the speed of a joint by
// s2_joint_set_speed. Returns S2_INVALID for controls and for fields that cannot be set.
S2Status s2_reading_set(S2World *world, const S2Reading *reading, double value);

enum { S2_TERM_MOST = 16 }; // largest number of readings of a term

typedef struct S2CostTerm {
  int count;
  S2Reading of[S2_TERM_MOST];
  double goal[S2_TERM_MOST];  // goals in the units of the fields
  double scale[S2_TERM_MOST]; // in the units of the fields; 0 counts as 1
  bool wrap;                  // residuals are angles and are wrapped to -pi .. pi
  double weight, terminal;    // finite; may be negative (a reward)
  S2Norm norm;
  double p; // parameter of the norm
} S2CostTerm;

// The motion ends if the number is outside lo .. hi (either may be infinite).
typedef struct S2Bound {
  S2Reading of;
  double lo, hi;
} S2Bound;

// A factor of a reward, after dm_control: 1 if the number is within lo .. hi. With the distance
// from the bounds it decreases, and it is `value` at the distance `margin`. With margin = 0 it is 0
// beyond the bounds.
typedef enum S2FactorShape {
  S2_FACTOR_GAUSSIAN,
  S2_FACTOR_LINEAR,
  S2_FACTOR_QUADRATIC,
  S2_FACTOR_LONG_TAIL,
  S2_FACTOR_RECIPROCAL,
  S2_FACTOR_HYPERBOLIC,
  S2_FACTOR_COSINE,
  S2_FACTOR_COUNT
} S2FactorShape;

extern const char *const s2_shape_names[]; // in order; the list ends with NULL

typedef struct S2Factor {
  S2Reading of;
  double lo, hi, margin; // in the units of the field; lo and hi may be infinite
  S2FactorShape shape;
  double value; // between 0 and 1
} S2Factor;

double s2_tolerance(const S2Factor *factor, double x);

typedef struct S2Judge S2Judge;

// Copies its arguments. `controls` is the number of controls. The judge can be used for `world` and
// for worlds with the same handles. Returns S2_INVALID or S2_STALE if a term or bound is not
// possible in `world`; the message names that term or bound.
S2Status s2_judge_create(const S2World *world, int controls, int terms, const S2CostTerm *term,
                         int bounds, const S2Bound *bound, S2Judge **judge);
// Adds factors, whose product is added to the reward of a period (s2_judge_reward). Copies them.
S2Status s2_judge_multiply(S2Judge *judge, const S2World *world, int controls, int factors,
                           const S2Factor *factor);
void s2_judge_free(S2Judge *judge); // NULL is allowed
int s2_judge_terms(const S2Judge *judge);
const S2CostTerm *s2_judge_term(const S2Judge *judge, int index);

// The cost per second, sum_i weight_i n_i. A NULL judge gives 0.
S2Status s2_judge_running(const S2Judge *judge, const S2World *world, const double *controls,
                          double *cost);
// The reward of a period, which depends only on its final state: constant + factor_1 factor_2 ... -
// weight_1 n_1 - weight_2 n_2 ..., summed in this order. Without factors, their product is 0. A
// NULL judge gives the constant.
S2Status s2_judge_reward(const S2Judge *judge, const S2World *world, const double *controls,
                         double constant, double *reward);
// As s2_judge_reward. Calls `tell` for each reading, with the derivative of the reward with respect
// to it. A point counts as a reading of the body's position and one of its angle.
typedef void S2JudgeSlope(void *user, const S2Reading *reading, double slope);
S2Status s2_judge_reward_slopes(const S2Judge *judge, const S2World *world, const double *controls,
                                double constant, double *reward, S2JudgeSlope *tell, void *user);
// The terminal cost, sum_i terminal_i n_i.
S2Status s2_judge_terminal(const S2Judge *judge, const S2World *world, const double *controls,
                           double *cost);
// As s2_judge_running or, if `terminal`, as s2_judge_terminal. Calls `tell` for each reading, with
// `scale` times the derivative of the cost with respect to it.
S2Status s2_judge_slopes(const S2Judge *judge, const S2World *world, const double *controls,
                         bool terminal, double scale, double *cost, S2JudgeSlope *tell, void *user);
// Whether the world is beyond a bound. NaN counts as beyond.
S2Status s2_judge_ended(const S2Judge *judge, const S2World *world, const double *controls,
                        bool *ended);
// The same with the present observation of the world, in which most bounded numbers are found.
// seen[i] is the index of the number of bound i, or -1 (s2_judge_find).
S2Status s2_judge_ended_seen(const S2Judge *judge, const S2World *world, const double *controls,
                             const int *seen, const double *observation, bool *ended);
int s2_judge_bounds(const S2Judge *judge);
void s2_judge_find(const S2Judge *judge, const S2World *world, int *seen);

#endif
