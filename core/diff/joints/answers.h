// Derivatives through functions of the program that a step calls. The notes hold the answers and
// their derivatives with respect to the arguments (S2Slope), so the functions are not called again.
// Private to core/diff.
#ifndef S2_ANSWERS_H
#define S2_ANSWERS_H

#include "diff/joints/measure_vjp.h"
#include "dynamics/trace/notes.h"

// The answers that the program gave in the step, and the destinations of their adjoints. This
// structure is the user data of the callbacks in the world in which problems are made again.
typedef struct S2Answers {
  const S2Notes *notes;
  S2WorldGradient *gradient;
  double begun;                      // s, time at the start of the whole step
  double *goal, *rate, *begin, *end; // 3 per joint slot: adjoint of S2World.drives
} S2Answers;

// Finds an answer as s2_notes_answer does. NULL: there was none.
const S2Answer *s2_answer_of(const S2Answers *answers, S2Asked asked, int32_t slot, double t,
                             const double q[S2_JOINT_COLUMNS]);
// Passes the adjoint of an answer on to the tape node that the answer was computed from, if there
// is one.
void s2_answer_origin_vjp(const S2Answers *answers, uint32_t origin, double bar);
// The adjoint of a row of a constraint (as s2_joint_function_vjp).
void s2_answer_constraint_vjp(const S2JointAt *at, int row, const S2RowBar *bar,
                              const S2PlaceBar *to);
// The adjoints of the goal and the rate of a driven lock, `since` s after they were answered.
void s2_answer_lock_vjp(const S2JointAt *at, int which, double since, double goal_bar,
                        double rate_bar);
// The adjoint of the pull of a spring at an extension. Returns the adjoint of the extension.
double s2_answer_pull_vjp(const S2World *world, int32_t slot, double extension, double force_bar,
                          double tangent_bar);

#endif
