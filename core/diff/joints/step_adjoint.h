// The adjoint of a step in a reverse sweep, including the assembly of joint rows. Private to
// core/diff.
//
// The sweep undoes a step act by act (dynamics/trace/notes.h). For each act, an S2Step restores the
// recorded state just before that act. The functions of core/dynamics then assemble the same
// problem of an island again. Adjoints go to the data that these functions read.
#ifndef S2_STEP_ADJOINT_H
#define S2_STEP_ADJOINT_H

#include "diff/world/world_gradient.h"
#include "dynamics/step/assemble.h"

// Adjoints of the fields of S2Step with the same names. Results are added to all of them.
typedef struct S2StepAdjoint {
  double *q0, *v0, *force, *mass, *free_v, *v1, *v2, *q1; // 3 numbers per slot
  double *given_start, *given_end;                        // 3 numbers per slot
  double *joint_impulse;                                  // S2_JOINT_ROWS numbers per slot
  double *joint_reaction;                                 // 3 numbers per slot
  double h;       // adjoint of S2Step.h, where the step length enters directly
  double elapsed; // adjoint of S2Step.t - kept.time, the time for which goals have moved since the
                  // start of the whole step
  S2WorldGradient *gradient; // adjoints of fields of bodies, pieces, vertices and joints, and of
                             // settings
} S2StepAdjoint;

// dl/d(data of the rows of an assembled problem), as returned by s2_mcp_vjp.
typedef struct S2RowsAdjoint {
  const double *v, *lambda; // the solution: 3 per node, 1 per row
  const double *ja, *jb;    // 3 numbers per row
  const double *bias, *compliance;
  const double *lo, *hi; // bounds of rows with finite bounds
  const double *mu;      // coefficients of friction rows
  const double *rhs;     // 3 per node; includes the given impulses
  // 1 per part (parts + parts_given): the adjoint of its impulse, through the impulses that joints
  // store
  const double *given;
  // 3 per joint slot: the adjoint of the reactions, which contain the impulses `pushed` (1 per
  // row). NULL if there are none.
  const double *reaction, *pushed;
  double still; // m/s, slower speeds are rounding errors of the solve
} S2RowsAdjoint;

// Returns zero adjoints for a solution v. `none` is an array of zeros, at least as long as the
// longest array.
static inline S2RowsAdjoint s2_rows_adjoint(const double *v, const double *none) {
  return (S2RowsAdjoint){v,    none, none, none, none, none, none,
                         none, none, none, none, NULL, NULL, 0};
}

// Passes on the adjoint of the joint rows in the problem made by s2_assemble(step, island, ...,
// kind). The function reads the adjoints of the first assembly->parts rows and of rhs. It adds to
// the adjoints of the poses, v0, free_v (the velocity of moving ground, and the direction of ground
// friction), mass, h, elapsed, joint_impulse, joint fields, alpha and beta. S2_SOLVE_PROJECTION
// takes poses and time from the end of the step, so the adjoint of its poses is q1. For other kinds
// it is q0.
// The arrays of `step` hold the state before the solve.
void s2_joint_rows_vjp(const S2Step *step, const S2Island *island, S2SolveKind kind,
                       const S2Assembly *assembly, const S2RowsAdjoint *rows,
                       S2StepAdjoint *adjoint);

#endif
