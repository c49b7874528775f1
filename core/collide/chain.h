// Which contacts at the end of a chain's segment are real. Private to collide/.
#ifndef S2_CHAIN_H
#define S2_CHAIN_H

#include "shape/shape.h"

#include <stdbool.h>

bool s2_is_chained(const S2Shape *shape);

// Whether a contact at end `vertex` (0 or 1) of `segment` is this segment's to report. `direction`
// is the unit normal of the contact, from the segment to the other shape, in the frame of the
// segment. `against_edge`: the other shape touches with an edge, not with a vertex.
//
// At a joint of two segments a contact is real when its direction lies between their normals on the
// convex side. Exactly one of the two reports it: the one whose normal is (about) the nearer.
bool s2_chain_owns(const S2Shape *segment, int vertex, S2Vec2 direction, bool against_edge);

#endif
