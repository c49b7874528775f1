// Phase 4: an island becomes a mixed complementarity problem, rows at the touches' geometry and the
// joints' poses. Viscosity comes first, then joints (equations, then motors and friction, then
// limits), then the chosen contact points.
#ifndef S2_ASSEMBLE_H
#define S2_ASSEMBLE_H

#include "dynamics/step/solve_kind.h"
#include "mcp/chain/bilateral.h"

typedef struct S2JointPart { // of a row that comes from a joint, or from a contact's viscosity
  int32_t joint;             // slot; S2_NONE: viscosity
  int32_t row;               // in S2Joint.impulse, S2_NONE: not kept there; 2 touch + k
  double push[3];            // reaction of a unit impulse
  double error;              // of an equation: its value at the poses of the row
  double given;              // impulse that acts beside the row's: the part of an elastic force
                             // that is known before the solve, already in the right side
} S2JointPart;

struct S2Assembly {
  S2Problem problem;
  const S2JointPart *part; // of the first rows, then those without a row: all of them is given
  int parts, parts_given;  // the former; the latter
  double *mass;            // the problem's
  int32_t *place;          // 3 a node: which number of 3 a slot it is (or copies)
  double *lambda, *v;      // guesses: kept impulses and v0 for motion, else zero
  S2Bilateral *matrix;     // of S2Island.motion: the factor of its solve; no groups: there is none
};

// Where a solve takes the rows of joints: q0, or q1 of what happens at the end (3 a slot).
static inline const double *s2_step_poses(const S2Step *step, S2SolveKind kind) {
  return s2_solve_traits(kind).at_end ? step->q1 : step->q0;
}
// Rows of joints at the poses q, those of contacts of the `touches` that the island lists; most
// solves take s2_step_poses() and the step's.
S2Assembly s2_assemble(const S2Step *step, const double *q, const S2Touch *touches,
                       const S2Island *island, const S2Choice *choices, S2SolveKind kind);

// Do its soft contacts that are closed as the step begins follow alpha and beta? Where nothing in
// it is rigid and the step resolves all of them; else they are implicit Euler's.
bool s2_step_blends_contacts(const S2Step *step, const S2Island *island);
S2Blend s2_contact_blend(const S2Step *step, const S2Island *island, S2SolveKind kind);
// Fails where beta = 0 meets a joint with a rigid row, whose position it cannot reach (blend.c).
S2Status s2_world_check_blend(const S2World *world);

#endif
