// Functions of the program's own within a step, backwards. What they answered is in the notes, with
// how it changes with what they were asked (S2Slope); they are not asked again. Private to
// core/diff.
#ifndef S2_ANSWERS_H
#define S2_ANSWERS_H

#include "diff/joints/measure_vjp.h"
#include "dynamics/trace/notes.h"

// What the program answered in the step, and where adjoints of that go. The callbacks' user of the
// world that problems are made again in.
typedef struct S2Answers {
  const S2Notes *notes;
  S2WorldGradient *gradient;
  double begun;                      // s, time at the start of the whole step
  double *goal, *rate, *begin, *end; // 3 a joint slot: adjoint of S2World.drives
} S2Answers;

// As s2_notes_answer; NULL: nothing was.
const S2Answer *s2_answer_of(const S2Answers *answers, S2Asked asked, int32_t slot, double t,
                             const double q[S2_JOINT_COLUMNS]);
// To what an answer was computed from on the tape, if it was.
void s2_answer_origin_vjp(const S2Answers *answers, uint32_t origin, double bar);
// Of a row of a constraint (as s2_joint_function_vjp).
void s2_answer_constraint_vjp(const S2JointAt *at, int row, const S2RowBar *bar,
                              const S2PlaceBar *to);
// Of a driven lock's goal and rate, `since` s after they were answered.
void s2_answer_lock_vjp(const S2JointAt *at, int which, double since, double goal_bar,
                        double rate_bar);
// Of the pull of a spring at an extension; returns the adjoint of that.
double s2_answer_pull_vjp(const S2World *world, int32_t slot, double extension, double force_bar,
                          double tangent_bar);

#endif
