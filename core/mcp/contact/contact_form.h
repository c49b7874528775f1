// Step problems (mcp.h) that are equivalent to contact problems given by matrices. Memory comes
// from the arena.
#ifndef S2_CONTACT_FORM_H
#define S2_CONTACT_FORM_H

#include "linalg/blocksparse.h"
#include "mcp/contact/contact.h"

bool s2_contact_finite(const S2ContactProblem *problem);

// Does the same as s2_contact_step_problem. If `place` is not NULL, it also sets place[p] to the
// index of entry p of W in the blocks of the mobility.
S2Problem s2_contact_local_form(const S2ContactProblem *problem, int32_t *place, S2Arena *arena);

typedef struct S2ContactMass { // M of a global form, factored in blocks of three
  int rows, blocks;
  S2BlockSparse matrix;
  S2Quad *x;
} S2ContactMass;

typedef struct S2GlobalForm {
  // True if the nodes are bodies with three degrees of freedom, false if they are contacts in local
  // form.
  bool bodies;
  S2Problem step;     // step problem; the bias is b for bodies, and 0 in the local form
  double *v;          // velocities without impulses, 3 per node
  S2ContactMass mass; // used only in the local form
} S2GlobalForm;

// Returns S2_SOLVED, or S2_SINGULAR or S2_UNSUPPORTED for the same reasons as
// s2_contact_solve_global.
S2SolveStatus s2_contact_global_form(const S2GlobalContactProblem *problem, S2GlobalForm *form,
                                     S2Arena *arena);
void s2_global_form_respond(const S2GlobalForm *form, int freedoms, double *x); // x = M^-1 x

#endif
