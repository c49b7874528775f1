// Splits a simple polygon into convex pieces. First clips ears (Meisters 1975), and stores the
// triangles as half-edges. Then flips diagonals to avoid thin triangles (delaunay.c). Finally
// removes each diagonal whose end corners are convex without it. This gives at most four times the
// minimum number of pieces (Hertel and Mehlhorn 1983).

#include "shape/mesh.h"
#include "shape/outline.h"
#include "shape/shape.h"

#include <string.h>

// A merged corner may be slightly concave because of rounding. Such corners are removed later.
static const double ROUNDING_SINE = 1e-14;

// Minimum distance between vertices in m. This is the minimum size of a shape plus a margin for
// rounding.
static const double NEIGHBOURS = S2_SHAPE_MIN_SIZE * (1 + 1e-9);

static double decompose_area(const S2Vec2 *points, int count) {
  double twice = 0;
  for (int i = 1; i + 1 < count; i++) {
    twice += s2_cross(s2_sub(points[i], points[0]), s2_sub(points[i + 1], points[0]));
  }
  return twice / 2;
}

// ---- Merging ----------------------------------------------------------------------------------

static bool stays_convex(const S2Mesh *mesh, int before, int after) {
  const S2HalfEdge *e = mesh->edges;
  S2Vec2 p = mesh->points[e[before].origin];
  S2Vec2 q = mesh->points[e[after].origin];
  S2Vec2 r = mesh->points[e[e[after].next].origin];
  return s2_corner_sine(p, q, r) >= -ROUNDING_SINE;
}

static void decompose_link(S2HalfEdge *edges, int before, int after) {
  edges[before].next = after;
  edges[after].previous = before;
}

static void decompose_merge(S2Mesh *mesh, int outline_count) {
  S2HalfEdge *e = mesh->edges;
  for (int d = outline_count; d < mesh->count; d += 2) {
    int twin = d + 1;
    int d_before = e[d].previous, d_after = e[d].next;
    int twin_before = e[twin].previous, twin_after = e[twin].next;
    // Merge the two pieces if both ends of the diagonal are convex without it.
    if (stays_convex(mesh, d_before, twin_after) && stays_convex(mesh, twin_before, d_after)) {
      decompose_link(e, d_before, twin_after);
      decompose_link(e, twin_before, d_after);
      e[d].next = e[twin].next = -1; // removed
    }
  }
}

// ---- Pieces -----------------------------------------------------------------------------------

// Removes vertices until no neighbours are closer than the minimum size of a shape. The removed
// area is thinner than this size.
static int decompose_thin_out(S2Vec2 *vertices, int count) {
  int kept = 0;
  for (int i = 0; i < count; i++) {
    if (kept == 0 || s2_length(s2_sub(vertices[i], vertices[kept - 1])) >= NEIGHBOURS) {
      vertices[kept++] = vertices[i];
    }
  }
  while (kept > 1 && s2_length(s2_sub(vertices[kept - 1], vertices[0])) < NEIGHBOURS) {
    kept -= 1;
  }
  return kept;
}

static void decompose_collect(const S2Mesh *mesh, S2Arena *arena, S2Pieces *pieces) {
  pieces->sizes = S2_TAKE(arena, int, mesh->count);
  pieces->vertices = S2_TAKE(arena, S2Vec2 *, mesh->count);
  S2Vec2 *store = S2_TAKE(arena, S2Vec2, mesh->count);
  S2HalfEdge *e = mesh->edges;
  // Each remaining loop of half-edges is a piece. Remove the edges that were visited.
  for (int k = 0; k < mesh->count; k++) {
    int size = 0;
    for (int at = k; e[at].next >= 0;) {
      int next = e[at].next;
      store[size++] = mesh->points[e[at].origin];
      e[at].next = -1;
      at = next;
    }
    size = s2_outline_straighten(store, decompose_thin_out(store, size));
    // Omit pieces that are too thin to be valid shapes.
    S2Shape shape = {.vertices = store, .count = size};
    if (size >= 3 && s2_shape_check(&shape).code == S2_OK) {
      pieces->sizes[pieces->count] = size;
      pieces->vertices[pieces->count] = store;
      pieces->count += 1;
      store += size;
    }
  }
}

// Removes tiny edges and collinear vertices from the outline, as long as the outline remains
// simple.
static int decompose_clean(S2Vec2 *outline, int count, S2Arena *arena) {
  S2Vec2 *clean = S2_TAKE(arena, S2Vec2, count);
  memcpy(clean, outline, sizeof *clean * (size_t)count);
  int left = s2_outline_straighten(clean, decompose_thin_out(clean, count));
  if (left >= 3 && s2_outline_check(clean, left, arena).code == S2_OK) {
    memcpy(outline, clean, sizeof *clean * (size_t)left);
    return left;
  }
  return count;
}

S2Status s2_decompose(const S2Vec2 *points, int count, S2Arena *arena, S2Pieces *pieces) {
  *pieces = (S2Pieces){0};
  S2_TRY(s2_outline_check(points, count, arena));
  S2Vec2 *outline = S2_TAKE(arena, S2Vec2, count);
  // Make the outline counter-clockwise, without collinear vertices.
  bool clockwise = decompose_area(points, count) < 0;
  for (int i = 0; i < count; i++) {
    outline[i] = points[clockwise ? count - 1 - i : i];
  }
  count = decompose_clean(outline, count, arena);
  S2Mesh mesh = {.points = outline, .edges = S2_TAKE(arena, S2HalfEdge, 3 * count)};
  s2_triangulate(&mesh, count, arena);
  s2_delaunay(&mesh, count, arena);
  decompose_merge(&mesh, count);
  decompose_collect(&mesh, arena, pieces);
  if (pieces->count == 0) {
    return s2_error(S2_INVALID, "the polygon of %d vertices is thinner than %g m everywhere", count,
                    S2_SHAPE_MIN_SIZE);
  }
  return s2_ok();
}
