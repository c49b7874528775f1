// Cleans outlines, for the hull and the decomposition. Private to shape/.
#ifndef S2_OUTLINE_H
#define S2_OUTLINE_H

#include "base/vec.h"

// Removes repeated vertices, and vertices at which a closed outline does not turn (sine of the turn
// at most 1e-8), in place. Returns the number of remaining vertices: fewer than 3 if the outline
// has no area.
int s2_outline_straighten(S2Vec2 *vertices, int count);

#endif
