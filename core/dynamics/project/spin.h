// Angular momentum and energy of an island as a whole. Projection must not increase them.
#ifndef S2_SPIN_H
#define S2_SPIN_H

#include "dynamics/step/context.h"

// Finds the bodies outside an island that hold it by joints or pressing contacts. Writes their
// slots to `ground` (S2_HOLDERS entries), S2_NONE for the world. Energy limits use velocities
// relative to the mean velocity of these bodies, or of the first body of the island if there are
// none. They therefore do not depend on a common velocity.
#define S2_HOLDERS(island) (2 * (island)->touches + 5 * (island)->joints)
int s2_island_holders(const S2Step *step, const S2Island *island, bool closed, int32_t *ground);
S2Vec2 s2_island_frame(const S2Step *step, const S2Island *island, const int32_t *ground,
                       int grounds);

// s2_island_floats returns true if only joints between its own bodies act on an island.
// s2_island_spin returns the angular momentum of such an island about its centre of mass, at q1
// with the velocities (or displacements) v, 3 per node. s2_island_set_spin adds a rotation of the
// whole island to v, so that this angular momentum is `spin`.
bool s2_island_floats(const S2Step *step, const S2Island *island);
double s2_island_spin(const S2Step *step, const S2Island *island, const double *v);
void s2_island_set_spin(const S2Step *step, const S2Island *island, double spin, double *v);
// Adds a rotation of the whole island to v1, so that the impulses of its joints balance at q0. Used
// for stiff floating islands.
void s2_island_balance(S2Step *step, const S2Island *island);
// Records the momenta of that rotation as corrections. Called when the motion is final.
void s2_island_correct_balance(const S2Step *step, const S2Island *island);

// J: kinetic energy of an island at the velocities v (3 per node).
double s2_island_kinetic(const S2Step *step, const S2Island *island, const double *v);
// J: kinetic energy without the motion of the island's centre of mass.
double s2_island_kinetic_within(const S2Step *step, const S2Island *island, const double *v);
// J: upper limit of s2_island_kinetic_within. It is the larger of the values for v2 and for the
// unconstrained motion, or infinite if joints may add energy. `v`: scratch memory. *from_v2: true
// if the limit is the value for v2.
double s2_island_most_kinetic(const S2Step *step, const S2Island *island, double *v, bool *from_v2);
// Reduces v so that s2_island_kinetic_within is at most `most`. Keeps the linear momentum and, if
// possible, the angular momentum.
void s2_island_cap(const S2Step *step, const S2Island *island, double most, double *v);

#endif
