// Derivatives through user callbacks that a step calls. The notes of the step contain the returned
// values and their derivatives with respect to the arguments (S2Slope), so the callbacks are not
// called again. Private to core/diff.
#ifndef S2_ANSWERS_H
#define S2_ANSWERS_H

#include "diff/joints/measure_vjp.h"
#include "dynamics/trace/notes.h"

// The values that user callbacks returned in the step, and the places that receive their adjoints.
// The callbacks of the world in which problems are assembled again get this structure as their user
// data.
typedef struct S2Answers {
  const S2Notes *notes;
  S2WorldGradient *gradient;
  double begun;                      // s, time at the start of the whole step
  double *goal, *rate, *begin, *end; // 3 per joint slot: adjoint of S2World.drives
} S2Answers;

// Finds a returned value, like s2_notes_answer. Returns NULL if there is none.
const S2Answer *s2_answer_of(const S2Answers *answers, S2Asked asked, int32_t slot, double t,
                             const double q[S2_JOINT_COLUMNS]);
// Passes the adjoint of a returned value on to the tape node from which the value was computed, if
// there is one.
void s2_answer_origin_vjp(const S2Answers *answers, uint32_t origin, double bar);
// Passes on the adjoint of a row of a user-defined constraint, like s2_joint_function_vjp.
void s2_answer_constraint_vjp(const S2JointAt *at, int row, const S2RowBar *bar,
                              const S2PlaceBar *to);
// Passes on the adjoints of the goal and the rate of a driven lock, `since` seconds after the
// callback returned them.
void s2_answer_lock_vjp(const S2JointAt *at, int which, double since, double goal_bar,
                        double rate_bar);
// Passes on the adjoints of the force and the tangent of a spring. Returns the adjoint of the
// extension.
double s2_answer_pull_vjp(const S2World *world, int32_t slot, double extension, double force_bar,
                          double tangent_bar);

#endif
