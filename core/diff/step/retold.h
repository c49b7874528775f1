// Functions of the program's own within a step, backwards. What they said is in the notes, with how
// it changes with what they were asked (S2Slope); they are not asked again. Private to core/diff.
#ifndef S2_RETOLD_H
#define S2_RETOLD_H

#include "diff/joints/measure_vjp.h"

// Of a row of a constraint (as s2_joint_function_vjp), whose world is that of a S2Undo.
void s2_retold_constraint_vjp(const S2JointAt *at, int row, const S2RowBar *bar,
                              const S2PlaceBar *to);
// Of a driven lock's goal and rate, `since` s after they were told.
void s2_retold_lock_vjp(const S2JointAt *at, int which, double since, double goal_bar,
                        double rate_bar);
// Of the pull of a spring at an extension; returns the adjoint of that.
double s2_retold_pull_vjp(const S2World *world, int32_t slot, double extension, double force_bar,
                          double tangent_bar);

#endif
