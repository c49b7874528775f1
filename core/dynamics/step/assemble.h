// Phase 4: an island becomes a mixed complementarity problem, with rows at the touches' geometry
// and the joints' poses. Viscosity comes first, then joints (equations, then motors and friction,
// then limits), then the chosen contact points.
#ifndef S2_ASSEMBLE_H
#define S2_ASSEMBLE_H

#include "dynamics/step/solve_kind.h"
#include "mcp/chain/bilateral.h"

typedef struct S2JointPart { // data of a row of a joint, or of a contact's viscosity
  int32_t joint;             // slot; S2_NONE: viscosity
  int32_t row;               // index in S2Joint.impulse, or S2_NONE; viscosity: 2 touch + k
  double push[3];            // reaction per unit impulse
  double error;              // equations: value at the poses of the problem
  // impulse in addition to the row's own: the part of an elastic force that is known before the
  // solve, already in the right side
  double given;
} S2JointPart;

struct S2Assembly {
  S2Problem problem;
  // parts with rows, in the order of the first rows; then parts without a row, which have a given
  // impulse
  const S2JointPart *part;
  int parts, parts_given; // number of parts with rows; number of parts without rows
  double *mass;           // masses of the problem
  int32_t *place;         // 3 per node: index into arrays of 3 per slot (or S2_NONE for copies)
  double *lambda, *v;     // guesses: kept impulses and v0 for a motion, else zero
  // for S2Island.motion: the factor of its solve; it has no groups if there is no factor
  S2Bilateral *matrix;
};

// The poses (3 per slot) of the joint rows of a solve: q0, or q1 for solves at the end.
static inline const double *s2_step_poses(const S2Step *step, S2SolveKind kind) {
  return s2_solve_traits(kind).at_end ? step->q1 : step->q0;
}
// Makes the rows of joints at the poses q, and of contacts from `touches`. Most solves use
// s2_step_poses() and the touches of the step.
S2Assembly s2_assemble(const S2Step *step, const double *q, const S2Touch *touches,
                       const S2Island *island, const S2Choice *choices, S2SolveKind kind);

// Whether the island's soft contacts that are closed at the start follow alpha and beta. They do if
// the island has no rigid rows and the step resolves all of these contacts. Otherwise they use
// implicit Euler.
bool s2_step_blends_contacts(const S2Step *step, const S2Island *island);
S2Blend s2_contact_blend(const S2Step *step, const S2Island *island, S2SolveKind kind);
// Fails if beta = 0 and a joint has a rigid row, whose position such steps cannot correct
// (blend.c).
S2Status s2_world_check_blend(const S2World *world);

#endif
