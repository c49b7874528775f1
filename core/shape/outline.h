// Simplifies outlines for the hull and the decomposition. Private to shape/.
#ifndef S2_OUTLINE_H
#define S2_OUTLINE_H

#include "base/vec.h"

// Removes repeated and collinear vertices of a closed outline, in place. Vertices are collinear if
// the sine of the turn is at most 1e-8. Returns the number of remaining vertices, which is less
// than 3 if the outline has no area.
int s2_outline_straighten(S2Vec2 *vertices, int count);

#endif
