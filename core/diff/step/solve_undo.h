// Common parts of the reverse sweep over solves and projections of an island. Private to core/diff.
#ifndef S2_SOLVE_VJP_H
#define S2_SOLVE_VJP_H

#include "diff/step/undo.h"
#include "mcp/adjoint/mcp_vjp.h"

typedef struct S2SolveUndo {
  S2Undo *undo;
  const S2Note *note;
  const S2Touch *touches; // contacts from which the rows are assembled
  S2Assembly *assembly;
  S2Blend blend; // blend of soft contacts
  S2McpGradient data;
  const double *v, *lambda; // the solution that is differentiated
  double *dl_dv, *dl_dlambda, *given;
  const double *reaction;
  double *aside; // 2 per touch: adjoints of surface impulses without a row
  double still;  // m/s: speeds up to this are rounding errors of the solve
} S2SolveUndo;

// Converts dl_dv and dl_dlambda to `data`. Returns false if the loss does not depend on this solve.
bool s2_solve_differentiate(S2SolveUndo *solve);
// Assembles the problem again. Returns false and sets `failed` if the rows differ from those of the
// step.
bool s2_solve_same_rows(const S2SolveUndo *solve);
// Returns the number of nodes of the problem, including the auxiliary nodes of gears.
int s2_solve_nodes(const S2Undo *undo, const S2Note *note);
double *s2_inertial_bar(S2Undo *undo, int32_t slot, int c);

// Pass `data` on to masses, velocities and forces, and to contact points and materials. `put`
// receives the adjoint of each contact point.
void s2_solve_bodies_vjp(const S2SolveUndo *solve);
// zero_undo.c: differentiates friction and viscosity that are 0, at point k of touch i with this
// normal row.
void s2_solve_zero_vjp(const S2SolveUndo *solve, int i, int k, int normal, S2TouchBar *pair);
// quiet_look.c, see diff/world/quiet.h
void s2_quiet_look_at_solve(const S2SolveUndo *solve);
typedef void S2PutPoint(S2SolveUndo *solve, int i, int k, const S2PointBar *point);
void s2_solve_contacts_vjp(S2SolveUndo *solve, S2PutPoint *put);

#endif
