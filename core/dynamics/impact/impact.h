// Impacts, which change velocities instantaneously, from v1 (or from an earlier v2) to v2.
#ifndef S2_IMPACT_H
#define S2_IMPACT_H

#include "dynamics/step/solve_kind.h"

// Writes the velocities before an impact to v2: v0, corrected so that the joints allow it at q0. If
// a body turned far in the last step, its v0 violates its joints, and targets computed from v0
// could require arbitrary energy. `recalled`: these velocities only define arrival speeds, and are
// not part of the motion. False: aborted.
bool s2_step_before_impact(S2Step *step, const S2Island *island, bool recalled);
// Solves an impact with restitution targets, into v2. Targets may contradict each other (a ball
// between two closing walls cannot leave both), or no solver may reach them. Then the impact is
// treated as inelastic, and counted. False: aborted.
bool s2_step_impact(S2Step *step, const S2Island *island, S2Choice *choices, S2SolveKind kind);
// Solves further impacts from v2, without forces, until no contact marked in `touching` (2 touch +
// k) approaches. Contacts that approach no faster than the forces of a step make them, and
// sequences that do not end, are stopped inelastically. Overwrites the choices. False: aborted.
bool s2_step_later_impacts(S2Step *step, const S2Island *island, S2Choice *choices,
                           const bool *touching);
// Replaces s2_step_impact under S2_REFLECTIONS: applies the impact, then the forces, to v2.
// `choices`: as for the impact with Newton's targets; they are overwritten. Impulses of joints are
// added to the present ones. False: aborted. (reflect.c)
bool s2_step_reflect(S2Step *step, const S2Island *island, S2Choice *choices, const bool *touching);
// Stops the motion v2 of coordinates that reached a limit in this step. (The row of the limit let
// them approach it.) The stop is computed at q1, after the positions are corrected, because its
// impulses balance only there. False: aborted.
bool s2_step_stop_at_limits(S2Step *step);
bool s2_island_stop_at_limits(S2Step *step, const S2Island *island);

// The impulses and reactions of an island's joints, to copy them into the arena and to restore
// them.
typedef struct S2JointImpulses {
  double *row, *reaction; // per joint of the island: S2_JOINT_ROWS impulses; 3 numbers of reactions
} S2JointImpulses;
S2JointImpulses s2_step_take_joints(S2Step *step, const S2Island *island);
void s2_step_put_joints(S2Step *step, const S2Island *island, const S2JointImpulses *kept);
// Normal and tangent impulses of the two points of each touch of an island, in the arena.
double *s2_step_contact_impulses(const S2Step *step, const S2Island *island);

// The energy that contacts took from an island until v1 (`room`), and the energy that a fraction of
// the impact from v1 to `v2` (3 per node) returns: linear fraction + square fraction^2, J.
// Velocities are relative to the touched body, because kinematic bodies may do any amount of
// additional work. `touches`: the list in which the island's touches are indices; `pressed`,
// `struck`: impulses of contacts in the motion and in the impact.
typedef struct S2ImpactEnergy {
  double room, linear, square;
} S2ImpactEnergy;
S2ImpactEnergy s2_impact_energy(const S2Step *step, const S2Touch *touches, const S2Island *island,
                                const double *pressed, const double *struck, const double *v2);
// Scales the impact from v1 to v2 so that it returns no more energy than contacts took. Targets of
// several simultaneous contacts, or of contacts with friction, may require more energy. `held`:
// earlier impulses of joints.
void s2_step_keep_energy(S2Step *step, const S2Island *island, const double *pressed,
                         const S2JointImpulses *held);

#endif
