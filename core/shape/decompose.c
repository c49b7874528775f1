// Convex pieces of a simple polygon: ears are clipped (Meisters 1975), the triangles are kept as
// half-edges, and every diagonal whose two ends stay convex without it is taken out again (Hertel
// and Mehlhorn 1983: at most four times the least number of pieces).

#include "shape/outline.h"
#include "shape/shape.h"

#include <math.h>

// A corner of this sine or less counts as straight, and is no ear.
static const double STRAIGHT_SINE = 1e-9;

// A merged corner may turn the wrong way by rounding only; straightening removes it afterwards.
static const double ROUNDING_SINE = 1e-14;

typedef struct HalfEdge {
  int origin; // vertex it leaves
  int next, previous;
  int twin; // the same diagonal in the neighbouring piece, -1 on the outline
} HalfEdge;

typedef struct Mesh {
  const S2Vec2 *points;
  HalfEdge *edges;
  int count;
} Mesh;

// Twice the area of p, q, r over the product of the two sides at q: the sine of the turn there.
static double corner_sine(S2Vec2 p, S2Vec2 q, S2Vec2 r) {
  S2Vec2 in = s2_sub(q, p);
  S2Vec2 out = s2_sub(r, q);
  double lengths = s2_length(in) * s2_length(out);
  return lengths > 0 ? s2_cross(in, out) / lengths : 0;
}

static double area(const S2Vec2 *points, int count) {
  double twice = 0;
  for (int i = 1; i + 1 < count; i++) {
    twice += s2_cross(s2_sub(points[i], points[0]), s2_sub(points[i + 1], points[0]));
  }
  return twice / 2;
}

// -1, 0, 1: side of r seen along p -> q; 0 within rounding.
static int side(S2Vec2 p, S2Vec2 q, S2Vec2 r) {
  S2Vec2 along = s2_sub(q, p);
  S2Vec2 to = s2_sub(r, p);
  double turn = s2_cross(along, to);
  double rounding = 8 * 0x1p-52 * (fabs(along.x * to.y) + fabs(along.y * to.x));
  return (turn > rounding) - (turn < -rounding);
}

static bool between(S2Vec2 p, S2Vec2 q, S2Vec2 r) {
  return fmin(p.x, q.x) <= r.x && r.x <= fmax(p.x, q.x) && fmin(p.y, q.y) <= r.y &&
         r.y <= fmax(p.y, q.y);
}

static bool segments_meet(S2Vec2 p, S2Vec2 q, S2Vec2 r, S2Vec2 s) {
  int r_side = side(p, q, r), s_side = side(p, q, s);
  int p_side = side(r, s, p), q_side = side(r, s, q);
  if (r_side * s_side < 0 && p_side * q_side < 0) {
    return true;
  }
  return (r_side == 0 && between(p, q, r)) || (s_side == 0 && between(p, q, s)) ||
         (p_side == 0 && between(r, s, p)) || (q_side == 0 && between(r, s, q));
}

static S2Status check_points(const S2Vec2 *points, int count) {
  if (count < 3) {
    return s2_error(S2_INVALID, "a polygon has %d vertices; it needs at least 3", count);
  }
  for (int i = 0; i < count; i++) {
    S2Vec2 p = points[i];
    if (!(fabs(p.x) <= S2_SHAPE_MAX_SIZE && fabs(p.y) <= S2_SHAPE_MAX_SIZE)) {
      return s2_error(S2_INVALID, "vertex %d is (%g, %g); coordinates must be within +-%g m", i + 1,
                      p.x, p.y, S2_SHAPE_MAX_SIZE);
    }
  }
  for (int i = 0; i < count; i++) {
    for (int j = i + 1; j < count; j++) {
      if (points[i].x == points[j].x && points[i].y == points[j].y) {
        return s2_error(S2_INVALID, "vertices %d and %d are the same point (%g, %g)", i + 1, j + 1,
                        points[i].x, points[i].y);
      }
    }
  }
  bool in_line = true;
  for (int i = 0; i < count; i++) {
    double sine = corner_sine(points[i], points[(i + 1) % count], points[(i + 2) % count]);
    in_line = in_line && fabs(sine) <= STRAIGHT_SINE;
  }
  if (in_line) {
    return s2_error(S2_INVALID, "all %d vertices lie in one line", count);
  }
  return s2_ok();
}

static S2Status check_simple(const S2Vec2 *points, int count) {
  for (int i = 0; i < count; i++) {
    int i_next = (i + 1) % count;
    int i_after = (i + 2) % count;
    S2Vec2 p = points[i], q = points[i_next], r = points[i_after];
    if (side(p, q, r) == 0 && s2_dot(s2_sub(q, p), s2_sub(r, q)) < 0) {
      return s2_error(S2_INVALID, "the outline folds back on itself at vertex %d", i_next + 1);
    }
    for (int j = i + 2; j < count; j++) {
      int j_next = (j + 1) % count;
      if (j_next != i && segments_meet(p, q, points[j], points[j_next])) {
        return s2_error(S2_INVALID, "edge %d-%d meets edge %d-%d; edges must not cross or touch",
                        i + 1, i_next + 1, j + 1, j_next + 1);
      }
    }
  }
  return s2_ok();
}

// ---- Ears -------------------------------------------------------------------------------------

static bool in_triangle(S2Vec2 p, S2Vec2 q, S2Vec2 r, S2Vec2 v) {
  return side(p, q, v) >= 0 && side(q, r, v) >= 0 && side(r, p, v) >= 0;
}

// Whether the corner before, at, after of the remaining outline (half-edges linked by next) can be
// cut off without touching the rest.
static bool is_ear(const Mesh *mesh, int at) {
  const HalfEdge *e = mesh->edges;
  int before = e[at].previous;
  int after = e[at].next;
  S2Vec2 p = mesh->points[e[before].origin];
  S2Vec2 q = mesh->points[e[at].origin];
  S2Vec2 r = mesh->points[e[after].origin];
  if (corner_sine(p, q, r) <= STRAIGHT_SINE) {
    return false;
  }
  for (int k = e[after].next; k != before; k = e[k].next) {
    if (in_triangle(p, q, r, mesh->points[e[k].origin])) {
      return false;
    }
  }
  return true;
}

// The ear with the shortest diagonal. When rounding leaves none (what remains is flat), the corner
// that turns most to the left.
static int choose_ear(const Mesh *mesh, int start) {
  const HalfEdge *e = mesh->edges;
  int ear = -1;
  int fallback = start;
  double shortest = INFINITY;
  double sharpest = -INFINITY;
  int at = start;
  do {
    S2Vec2 p = mesh->points[e[e[at].previous].origin];
    S2Vec2 r = mesh->points[e[e[at].next].origin];
    double diagonal = s2_length2(s2_sub(r, p));
    double sine = corner_sine(p, mesh->points[e[at].origin], r);
    if (diagonal < shortest && is_ear(mesh, at)) {
      ear = at;
      shortest = diagonal;
    }
    if (sine > sharpest) {
      fallback = at;
      sharpest = sine;
    }
    at = e[at].next;
  } while (at != start);
  return ear >= 0 ? ear : fallback;
}

// Half-edge k leaves vertex k at first; each ear adds a diagonal, that is two half-edges.
static void triangulate(Mesh *mesh, int count) {
  HalfEdge *e = mesh->edges;
  for (int i = 0; i < count; i++) {
    e[i] = (HalfEdge){i, (i + 1) % count, (i + count - 1) % count, -1};
  }
  mesh->count = count;
  int start = 0;
  for (int left = count; left > 3; left--) {
    int at = choose_ear(mesh, start);
    int before = e[at].previous;
    int after = e[at].next;
    int inner = mesh->count; // closes the ear
    int outer = inner + 1;   // takes the ear's place in the remaining outline
    e[inner] = (HalfEdge){e[after].origin, before, at, outer};
    e[outer] = (HalfEdge){e[before].origin, after, e[before].previous, inner};
    e[e[before].previous].next = outer;
    e[after].previous = outer;
    e[at].next = inner;
    e[before].previous = inner;
    mesh->count += 2;
    start = outer;
  }
}

// ---- Merging ----------------------------------------------------------------------------------

static bool stays_convex(const Mesh *mesh, int before, int after) {
  const HalfEdge *e = mesh->edges;
  S2Vec2 p = mesh->points[e[before].origin];
  S2Vec2 q = mesh->points[e[after].origin];
  S2Vec2 r = mesh->points[e[e[after].next].origin];
  return corner_sine(p, q, r) >= -ROUNDING_SINE;
}

static void link(HalfEdge *edges, int before, int after) {
  edges[before].next = after;
  edges[after].previous = before;
}

static void merge(Mesh *mesh, int outline_count) {
  HalfEdge *e = mesh->edges;
  for (int d = outline_count; d < mesh->count; d += 2) {
    int twin = d + 1;
    int d_before = e[d].previous, d_after = e[d].next;
    int twin_before = e[twin].previous, twin_after = e[twin].next;
    if (stays_convex(mesh, d_before, twin_after) && stays_convex(mesh, twin_before, d_after)) {
      link(e, d_before, twin_after);
      link(e, twin_before, d_after);
      e[d].next = e[twin].next = -1; // gone
    }
  }
}

static void collect(const Mesh *mesh, S2Arena *arena, S2Pieces *pieces) {
  pieces->sizes = S2_TAKE(arena, int, mesh->count);
  pieces->vertices = S2_TAKE(arena, S2Vec2 *, mesh->count);
  S2Vec2 *store = S2_TAKE(arena, S2Vec2, mesh->count);
  HalfEdge *e = mesh->edges;
  for (int k = 0; k < mesh->count; k++) {
    int size = 0;
    for (int at = k; e[at].next >= 0;) {
      int next = e[at].next;
      store[size++] = mesh->points[e[at].origin];
      e[at].next = -1;
      at = next;
    }
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
  S2_TRY(check_points(points, count));
  S2_TRY(check_simple(points, count));
  S2Vec2 *outline = S2_TAKE(arena, S2Vec2, count);
  bool clockwise = area(points, count) < 0;
  for (int i = 0; i < count; i++) {
    outline[i] = points[clockwise ? count - 1 - i : i];
  }
  count = s2_outline_straighten(outline, count);
  if (count < 3) {
    return s2_error(S2_INVALID, "the polygon has no area: its vertices lie in one line");
  }
  Mesh mesh = {.points = outline, .edges = S2_TAKE(arena, HalfEdge, 3 * count)};
  triangulate(&mesh, count);
  merge(&mesh, count);
  collect(&mesh, arena, pieces);
  return s2_ok();
}
