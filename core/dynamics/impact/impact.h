// Impacts, which change velocities in no time: from v1, or v2, into v2.
#ifndef S2_IMPACT_H
#define S2_IMPACT_H

#include "dynamics/step/solve_kind.h"

// The velocities before an impact, into v2: v0 as the joints allow it at q0. A body that turned far
// in the last step has left its joints with v0, and targets taken from there could ask for any
// energy. `recalled`: they only tell how fast things arrive, and are no part of the motion. False:
// aborted.
bool s2_step_before_impact(S2Step *step, const S2Island *island, bool recalled);
// A solve with restitution targets into v2. Targets may contradict each other (a ball between two
// closing walls cannot leave both), or no solver may meet them: then the impact is taken as
// inelastic and counted. False: aborted.
bool s2_step_impact(S2Step *step, const S2Island *island, S2Choice *choices, S2SolveKind kind);
// Further impacts from v2, without forces, until no contact marked in `touching` (2 touch + k)
// approaches. What is slower than one step of the forces, or does not end, ends inelastically.
// Overwrites the choices. False: aborted.
bool s2_step_later_impacts(S2Step *step, const S2Island *island, S2Choice *choices,
                           const bool *touching);
// In place of s2_step_impact under S2_REFLECTIONS: the impact from v2, then the forces, into v2.
// `choices` are those of the impact with Newton's targets; overwritten. The joints' impulses are
// added to what is there. False: aborted. (reflect.c)
bool s2_step_reflect(S2Step *step, const S2Island *island, S2Choice *choices, const bool *touching);
// Ends, at q1, the motion v2 of what arrived at a limit in this step: its row let it approach to
// the limit. At q1, as there it balances, and after the positions are right. False: aborted.
bool s2_step_stop_at_limits(S2Step *step);
bool s2_island_stop_at_limits(S2Step *step, const S2Island *island);

// The impulses and reactions of an island's joints, taken out (into the arena) and put back.
typedef struct S2JointImpulses {
  double *row, *reaction; // S2_JOINT_ROWS and 3 a joint of the island
} S2JointImpulses;
S2JointImpulses s2_step_take_joints(S2Step *step, const S2Island *island);
void s2_step_put_joints(S2Step *step, const S2Island *island, const S2JointImpulses *kept);
// Normal and tangent impulses of the two points of each touch of an island, into the arena.
double *s2_step_contact_impulses(const S2Step *step, const S2Island *island);

// What contacts took from an island's energy on the way to v1, and what a fraction of the impact
// from there to `v2` (3 a node) gives back: linear fraction + square fraction^2, J. All of it in
// velocities relative to what is touched: bodies that move as given may do any work beside that.
// `touches` are those that the island lists; `pressed`, `struck`: impulses of contacts in the
// motion, and in the impact.
typedef struct S2ImpactEnergy {
  double room, linear, square;
} S2ImpactEnergy;
S2ImpactEnergy s2_impact_energy(const S2Step *step, const S2Touch *touches, const S2Island *island,
                                const double *pressed, const double *struck, const double *v2);
// Of the impact from v1 to v2 only the fraction is taken that gives back no more than was taken:
// targets of several contacts at once, or with friction, may ask for more. `held`: what joints gave
// before.
void s2_step_keep_energy(S2Step *step, const S2Island *island, const double *pressed,
                         const S2JointImpulses *held);

#endif
