// Convex pieces of a simple polygon: ears are clipped (Meisters 1975), the triangles are kept as
// half-edges, and every diagonal whose two ends stay convex without it is taken out again (Hertel
// and Mehlhorn 1983: at most four times the least number of pieces).

#include "shape/mesh.h"
#include "shape/outline.h"
#include "shape/shape.h"

// A merged corner may turn the wrong way by rounding only; straightening removes it afterwards.
static const double ROUNDING_SINE = 1e-14;

static double polygon_area(const S2Vec2 *points, int count) {
  double twice = 0;
  for (int i = 1; i + 1 < count; i++) {
    twice += s2_cross(s2_sub(points[i], points[0]), s2_sub(points[i + 1], points[0]));
  }
  return twice / 2;
}

// ---- Merging ----------------------------------------------------------------------------------

static bool stays_convex(const S2Mesh *mesh, int before, int after) {
  // Corners of the merged outline: from before the diagonal to after its twin.
  const S2HalfEdge *e = mesh->edges;
  S2Vec2 p = mesh->points[e[before].origin];
  S2Vec2 q = mesh->points[e[after].origin];
  S2Vec2 r = mesh->points[e[e[after].next].origin];
  return s2_corner_sine(p, q, r) >= -ROUNDING_SINE;
}

static void mesh_link(S2HalfEdge *edges, int before, int after) {
  edges[before].next = after;
  edges[after].previous = before;
}

static void mesh_merge(S2Mesh *mesh, int outline_count) {
  S2HalfEdge *e = mesh->edges;
  // Diagonals follow the outline's half-edges in pairs of twins; each is tried once.
  for (int d = outline_count; d < mesh->count; d += 2) {
    int twin = d + 1;
    int d_before = e[d].previous, d_after = e[d].next;
    int twin_before = e[twin].previous, twin_after = e[twin].next;
    if (stays_convex(mesh, d_before, twin_after) && stays_convex(mesh, twin_before, d_after)) {
      mesh_link(e, d_before, twin_after);
      mesh_link(e, twin_before, d_after);
      e[d].next = e[twin].next = -1; // gone
    }
  }
}

static void mesh_collect(const S2Mesh *mesh, S2Arena *arena, S2Pieces *pieces) {
  pieces->sizes = S2_TAKE(arena, int, mesh->count);
  pieces->vertices = S2_TAKE(arena, S2Vec2 *, mesh->count);
  S2Vec2 *store = S2_TAKE(arena, S2Vec2, mesh->count);
  S2HalfEdge *e = mesh->edges;
  for (int k = 0; k < mesh->count; k++) {
    // Each half-edge left is of one piece; -1 marks those already walked over.
    int size = 0;
    for (int at = k; e[at].next >= 0;) {
      int next = e[at].next;
      store[size++] = mesh->points[e[at].origin];
      e[at].next = -1;
      at = next;
    }
    // Merging may leave corners in line, and ears along a line leave pieces without area.
    size = s2_outline_straighten(store, size);
    if (size >= 3) {
      pieces->sizes[pieces->count] = size;
      pieces->vertices[pieces->count] = store;
      pieces->count += 1;
      store += size;
    }
  }
}

S2Status s2_decompose(const S2Vec2 *points, int count, S2Arena *arena, S2Pieces *pieces) {
  *pieces = (S2Pieces){0};
  // Counter-clockwise, as shapes are, and without corners in line.
  S2_TRY(s2_outline_check(points, count, arena));
  S2Vec2 *outline = S2_TAKE(arena, S2Vec2, count);
  bool clockwise = polygon_area(points, count) < 0;
  for (int i = 0; i < count; i++) {
    outline[i] = points[clockwise ? count - 1 - i : i];
  }
  count = s2_outline_straighten(outline, count);
  if (count < 3) {
    return s2_error(S2_INVALID, "the polygon has no area: its vertices lie in one line");
  }
  S2Mesh mesh = {.points = outline, .edges = S2_TAKE(arena, S2HalfEdge, 3 * count)};
  s2_triangulate(&mesh, count, arena);
  mesh_merge(&mesh, count);
  mesh_collect(&mesh, arena, pieces);
  return s2_ok();
}
