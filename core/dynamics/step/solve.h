// Phase 5: computes the velocities and impulses of an island, and their residual.
#ifndef S2_SOLVE_H
#define S2_SOLVE_H

#include "dynamics/step/assemble.h"

// Solves a motion or impact of an island with the chosen contact points (index 2 touch + k). Writes
// the velocities to v (3 per slot). The impulses are stored in the touches and in
// step->joint_impulse. Impacts and later solves add their impulses. If `outcome` is not NULL, a
// solve that misses the tolerance does not count as unsolved and leaves v and the impulses
// unchanged. In that case, *outcome is S2_INFEASIBLE if the rows provably contradict each other,
// otherwise S2_MAX_ITERATIONS. Returns false if aborted.
bool s2_step_solve(S2Step *step, const S2Island *island, const S2Choice *choices, S2SolveKind kind,
                   double *v, S2SolveStatus *outcome);

// Writes a problem to the world's dump directory, if it has one.
void s2_step_dump(S2Step *step, const S2Problem *problem);

// Called before each solve. Returns false if the step is aborted.
bool s2_step_goes_on(const S2Step *step);

// Multiplies the impulses of an island's contacts or joints.
void s2_step_scale_contacts(S2Step *step, const S2Island *island, double factor);
void s2_step_scale_joints(S2Step *step, const S2Island *island, double factor);
// Adds `factor` times the multipliers of joint rows.
void s2_step_add_joints(S2Step *step, const S2JointPart *parts, int count, const double *lambda,
                        double factor);
// Sets the part of the step's budget that a solve of this island may use. s2_budget_spend subtracts
// the work of a solve from the budget.
void s2_budget_share(const S2Step *step, const S2Island *island, S2SolverOptions *options);
void s2_budget_spend(S2Step *step, const S2Solution *solution);
void s2_keep_worst(S2Residual *worst, const S2Residual *residual);

// s2_step_pose converts the assembled problem and its guesses to the formulation of the world.
// s2_step_unpose converts the solution back, with the residual in velocities. `before` contains the
// velocities before the step or impact, 3 per slot. (formulation.c)
S2Problem s2_step_pose(const S2Step *step, const S2Assembly *assembly, const double *before);
void s2_step_unpose(const S2Step *step, const S2Assembly *assembly, const double *before,
                    double tolerance, S2Solution *solution);

#endif
