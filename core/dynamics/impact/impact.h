// Impacts, which instantaneously change velocities from v1 (or from an earlier v2) to v2.
#ifndef S2_IMPACT_H
#define S2_IMPACT_H

#include "dynamics/step/solve_kind.h"

// Writes the velocities before an impact to v2. They are v0, corrected so that they satisfy the
// joints at q0. Without the correction, a body that turned far in the last step would violate its
// joints, and targets computed from v0 could require arbitrary energy. `recalled`: these velocities
// only define approach speeds and are not part of the motion. Returns false if aborted.
bool s2_step_before_impact(S2Step *step, const S2Island *island, bool recalled);
// Solves an impact with restitution targets and writes v2. Targets may contradict each other (a
// ball between two closing walls cannot leave both), or no solver may reach them. In that case the
// impact is treated as inelastic, and counted. Returns false if aborted.
bool s2_step_impact(S2Step *step, const S2Island *island, S2Choice *choices, S2SolveKind kind);
// Solves further impacts from v2, without forces, until no contact marked in `touching` (index 2
// touch + k) approaches. Contacts that approach no faster than the forces of a step explain are
// stopped inelastically. Endless sequences of impacts are stopped in the same way. `part`: the
// fraction of each restitution that applies. Overwrites the choices. Returns false if aborted.
bool s2_step_later_impacts(S2Step *step, const S2Island *island, S2Choice *choices,
                           const bool *touching, double part);
// Replaces s2_step_impact under S2_REFLECTIONS: applies the impact, then the forces, to v2.
// `choices` are given as for Newton's targets and are overwritten. Joint impulses are added to the
// existing ones. Returns false if aborted. (reflect.c)
bool s2_step_reflect(S2Step *step, const S2Island *island, S2Choice *choices, const bool *touching);
// Stops coordinates that reached a limit in this step, because their v2 still moves them towards
// it. The stop is computed at q1, after the correction of positions, because its impulses balance
// only there. Returns false if aborted.
bool s2_step_stop_at_limits(S2Step *step);
bool s2_island_stop_at_limits(S2Step *step, const S2Island *island);

// A copy of the impulses and reactions of an island's joints. It is stored in the arena and can be
// restored.
typedef struct S2JointImpulses {
  double *row, *reaction; // per joint of the island: S2_JOINT_ROWS impulses and 3 reactions
} S2JointImpulses;
S2JointImpulses s2_step_take_joints(S2Step *step, const S2Island *island);
void s2_step_put_joints(S2Step *step, const S2Island *island, const S2JointImpulses *kept);
// Normal and tangent impulses of the two points of each touch of an island; allocated in the arena.
double *s2_step_contact_impulses(const S2Step *step, const S2Island *island);

// `room`: the energy (J) that contacts took from an island until v1. A fraction s of the impact
// from v1 to `v2` (3 per node) returns the energy linear s + square s^2, J. Velocities are relative
// to the touched body, because kinematic bodies may do any amount of additional work. `touches`:
// the array to which the island's touch indices refer. `pressed` and `struck`: contact impulses of
// the motion and of the impact.
typedef struct S2ImpactEnergy {
  double room, linear, square;
} S2ImpactEnergy;
S2ImpactEnergy s2_impact_energy(const S2Step *step, const S2Touch *touches, const S2Island *island,
                                const double *pressed, const double *struck, const double *v2);
// Scales the impact from v1 to v2 so that it returns no more energy than the contacts took. The
// targets of several simultaneous contacts, or of contacts with friction, may require more energy.
// `held`: joint impulses from before the impact.
void s2_step_keep_energy(S2Step *step, const S2Island *island, const double *pressed,
                         const S2JointImpulses *held);

#endif
