// Phase 4: converts an island to a mixed complementarity problem.
// Its rows use the geometry of the touches and the poses of the joints. Rows of viscosity come
// first, then rows of joints (equations, then motors and friction, then limits), then rows of the
// chosen contact points.
#ifndef S2_ASSEMBLE_H
#define S2_ASSEMBLE_H

#include "dynamics/step/solve_kind.h"
#include "mcp/chain/bilateral.h"

typedef struct S2JointPart { // data of a joint row, or of a viscosity row of a contact
  int32_t joint;             // slot of the joint, or S2_NONE for viscosity
  int32_t row;               // index in S2Joint.impulse or S2_NONE; for viscosity, 2 touch + k
  double push[3];            // reaction per unit impulse
  double error;              // value of an equation at the poses of the problem.
  // An impulse in addition to the impulse of the row. It is the part of an elastic force that is
  // known before the solve and included in the right-hand side.
  double given;
} S2JointPart;

struct S2Assembly {
  S2Problem problem;
  // The data of joint and viscosity rows, which are the first rows of the problem, followed by the
  // data of joints with a given impulse, which have no row.
  const S2JointPart *part;
  int parts, parts_given; // numbers of entries with and without a row
  double *mass;           // masses of the nodes
  int32_t *place; // 3 per node: index into arrays with 3 entries per slot, or S2_NONE for copies
  double *lambda, *v; // guesses: cached impulses and v0 for a motion, zero for all other solves.
  // The matrix factor of the solve of S2Island.motion. It has no groups if there is no factor.
  S2Bilateral *matrix;
};

// Returns the poses (3 per slot) at which a solve evaluates joint rows. These are q1 for solves at
// the end of the step and q0 for all other solves.
static inline const double *s2_step_poses(const S2Step *step, S2SolveKind kind) {
  return s2_solve_traits(kind).at_end ? step->q1 : step->q0;
}
// Creates the rows of joints at the poses q, and the rows of contacts from `touches`. Most solves
// use s2_step_poses() and the touches of the step.
S2Assembly s2_assemble(const S2Step *step, const double *q, const S2Touch *touches,
                       const S2Island *island, const S2Choice *choices, S2SolveKind kind);

// Returns true if the soft contacts of the island that are closed at the start use alpha and beta.
// This requires that the island has no rigid rows and that the step resolves all these contacts.
// Otherwise they use implicit Euler.
bool s2_step_blends_contacts(const S2Step *step, const S2Island *island);
S2Blend s2_contact_blend(const S2Step *step, const S2Island *island, S2SolveKind kind);
// Fails if beta = 0 and a joint has a rigid row, because the step cannot correct the joint's
// position (blend.c).
S2Status s2_world_check_blend(const S2World *world);

#endif
