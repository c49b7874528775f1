#include "shape/outline.h"

#include <math.h>
#include <stdbool.h>

// Sine of the turn below which three vertices count as in line: ten times what s2_shape_check
// asks for, so that what is left passes it.
static const double IN_LINE_SINE = 1e-8;

static bool turns(S2Vec2 before, S2Vec2 vertex, S2Vec2 after) {
  S2Vec2 in = s2_sub(vertex, before);
  S2Vec2 out = s2_sub(after, vertex);
  return fabs(s2_cross(in, out)) > IN_LINE_SINE * s2_length(in) * s2_length(out);
}

int s2_outline_straighten(S2Vec2 *vertices, int count) {
  // Dropping one vertex may bring its neighbours in line, hence until nothing changes.
  bool changed = true;
  while (changed && count >= 3) {
    changed = false;
    for (int i = 0; i < count && count >= 3;) {
      S2Vec2 before = vertices[(i + count - 1) % count];
      if (turns(before, vertices[i], vertices[(i + 1) % count])) {
        i += 1;
        continue;
      }
      for (int k = i; k + 1 < count; k++) {
        vertices[k] = vertices[k + 1];
      }
      count -= 1;
      changed = true;
    }
  }
  return count;
}
