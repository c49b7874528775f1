#include "shape/outline.h"

#include <math.h>
#include <stdbool.h>

// Vertices are collinear if the sine of the turn is below this. It is ten times the limit of
// s2_shape_check, so that the remaining vertices are accepted.
static const double IN_LINE_SINE = 1e-8;

static bool outline_turns(S2Vec2 before, S2Vec2 vertex, S2Vec2 after) {
  S2Vec2 in = s2_sub(vertex, before);
  S2Vec2 out = s2_sub(after, vertex);
  return fabs(s2_cross(in, out)) > IN_LINE_SINE * s2_length(in) * s2_length(out);
}

// Make one pass over all vertices. Compare each vertex with the preceding ones that were kept.
static int straighten_once(S2Vec2 *vertices, int count) {
  int kept = 0, i = 0;
  // Keep at least three vertices. The caller decides about outlines without area.
  for (; i < count && kept + count - i >= 3; i++) {
    S2Vec2 before = vertices[kept > 0 ? kept - 1 : count - 1];
    S2Vec2 after = vertices[i + 1 < count ? i + 1 : 0]; // the first vertex that is kept
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
  // Removing a vertex may make its neighbours collinear, so repeat this until nothing changes.
  for (int before = count + 1; count < before && count >= 3;) {
    before = count;
    count = straighten_once(vertices, count);
  }
  return count;
}
