// Angular momentum and energy of an island as a whole, which projection must not bring.
#ifndef S2_SPIN_H
#define S2_SPIN_H

#include "dynamics/step/context.h"

// What is not solved for and holds an island, by joints or contacts that press: slots, S2_NONE is
// the world, into `ground` (room for S2_HOLDERS of it). Bounds on the energy count velocities
// against their mean, so that it does not matter how fast all of it goes; where there is nothing,
// against the first body's.
#define S2_HOLDERS(island) (2 * (island)->touches + 5 * (island)->joints)
int s2_island_holders(const S2Step *step, const S2Island *island, bool closed, int32_t *ground);
S2Vec2 s2_island_frame(const S2Step *step, const S2Island *island, const int32_t *ground,
                       int grounds);

// Angular momentum about the centre of mass of an island that only joints between its own bodies
// act on, at q1 with the velocities (or displacements) v, 3 a node; and v made to have it by a
// rotation of the whole.
bool s2_island_floats(const S2Step *step, const S2Island *island);
double s2_island_spin(const S2Step *step, const S2Island *island, const double *v);
void s2_island_set_spin(const S2Step *step, const S2Island *island, double spin, double *v);
// Turns v1 of a stiff island that floats, as one body, until what its joints did is balanced at q0.
void s2_island_balance(S2Step *step, const S2Island *island);
// The momenta of that turn count as corrections, now that the motion is the one that is taken.
void s2_island_correct_balance(const S2Step *step, const S2Island *island);

// Kinetic energy of an island at velocities v (3 a node), J.
double s2_island_kinetic(const S2Step *step, const S2Island *island, const double *v);
// The same beside the motion of its centre of mass.
double s2_island_kinetic_within(const S2Step *step, const S2Island *island, const double *v);
// The latter that it may have, J: that of v2 or of the free motion; infinite where joints bring
// energy. `v` is for its use; `from_v2`: is it the former?
double s2_island_most_kinetic(const S2Step *step, const S2Island *island, double *v, bool *from_v2);
// Less of v, so that its energy within is at most this; linear momentum and, if it can be, spin
// stay.
void s2_island_cap(const S2Step *step, const S2Island *island, double most, double *v);

#endif
