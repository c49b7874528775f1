#include "shape/outline.h"

#include <math.h>
#include <stdbool.h>

// Sine of the turn below which three vertices count as in line. The sine is ten times the limit of
// s2_shape_check, so that the remaining vertices pass it.
static const double IN_LINE_SINE = 1e-8;

static bool outline_turns(S2Vec2 before, S2Vec2 vertex, S2Vec2 after) {
  S2Vec2 in = s2_sub(vertex, before);
  S2Vec2 out = s2_sub(after, vertex);
  return fabs(s2_cross(in, out)) > IN_LINE_SINE * s2_length(in) * s2_length(out);
}

// One round over all vertices, each compared with the remaining ones before it.
static int straighten_once(S2Vec2 *vertices, int count) {
  int kept = 0, i = 0;
  // At least three vertices are kept: the caller decides about outlines without area.
  for (; i < count && kept + count - i >= 3; i++) {
    S2Vec2 before = vertices[kept > 0 ? kept - 1 : count - 1];
    S2Vec2 after = vertices[i + 1 < count ? i + 1 : 0]; // the first that is kept
    if (outline_turns(before, vertices[i], after)) {
      vertices[kept++] = vertices[i];
    }
  }
  for (; i < count; i++) {
    vertices[kept++] = vertices[i];
  }
  return kept;
}

int s2_outline_straighten(S2Vec2 *vertices, int count) {
  // Removing one vertex may bring its neighbours in line, so this repeats until nothing changes.
  for (int before = count + 1; count < before && count >= 3;) {
    before = count;
    count = straighten_once(vertices, count);
  }
  return count;
}
