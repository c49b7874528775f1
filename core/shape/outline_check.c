// Checks that outlines are simple polygons. The time is O(n log n) for outlines that do not fold
// back on themselves.
#include "shape/mesh.h"
#include "shape/shape.h"

#include <math.h>
#include <stdlib.h>

double s2_corner_sine(S2Vec2 p, S2Vec2 q, S2Vec2 r) {
  S2Vec2 in = s2_sub(q, p);
  S2Vec2 out = s2_sub(r, q);
  double lengths = s2_length(in) * s2_length(out);
  return lengths > 0 ? s2_cross(in, out) / lengths : 0;
}

// ---- Exact sides ------------------------------------------------------------------------------

// An exact sum, stored as non-overlapping parts in order of magnitude (Shewchuk 1997).
typedef struct ExactSum {
  double part[16];
  int count;
} ExactSum;

static void exact_add(ExactSum *sum, double x) {
  int kept = 0;
  for (int i = 0; i < sum->count; i++) {
    // Split x + part into large + small exactly.
    double part = sum->part[i], large = x + part, virtual = large - x;
    double small = (x - (large - virtual)) + (part - virtual);
    if (small != 0) {
      sum->part[kept++] = small;
    }
    x = large;
  }
  if (x != 0) {
    sum->part[kept++] = x;
  }
  sum->count = kept;
}

static void exact_add_product(ExactSum *sum, double a, double b) {
  double product = a * b;
  exact_add(sum, fma(a, b, -product));
  exact_add(sum, product);
}

static int exact_side(S2Vec2 p, S2Vec2 q, S2Vec2 r) {
  ExactSum sum = {.count = 0};
  exact_add_product(&sum, p.x, q.y);
  exact_add_product(&sum, -p.y, q.x);
  exact_add_product(&sum, q.x, r.y);
  exact_add_product(&sum, -q.y, r.x);
  exact_add_product(&sum, r.x, p.y);
  exact_add_product(&sum, -r.y, p.x);
  // The last part is larger than the sum of all preceding parts, so it determines the sign.
  double last = sum.count > 0 ? sum.part[sum.count - 1] : 0;
  return (last > 0) - (last < 0);
}

int s2_side(S2Vec2 p, S2Vec2 q, S2Vec2 r) {
  S2Vec2 along = s2_sub(q, p);
  S2Vec2 to = s2_sub(r, p);
  double turn = s2_cross(along, to);
  double rounding = 8 * 0x1p-52 * (fabs(along.x * to.y) + fabs(along.y * to.x));
  return fabs(turn) > rounding ? (turn > 0) - (turn < 0) : exact_side(p, q, r);
}

// ---- Points -----------------------------------------------------------------------------------

static bool outline_between(S2Vec2 p, S2Vec2 q, S2Vec2 r) {
  return fmin(p.x, q.x) <= r.x && r.x <= fmax(p.x, q.x) && fmin(p.y, q.y) <= r.y &&
         r.y <= fmax(p.y, q.y);
}

static bool segments_meet(S2Vec2 p, S2Vec2 q, S2Vec2 r, S2Vec2 s) {
  // Two segments meet if each of them separates the ends of the other, or if an end is on the other
  // segment.
  int r_side = s2_side(p, q, r), s_side = s2_side(p, q, s);
  int p_side = s2_side(r, s, p), q_side = s2_side(r, s, q);
  if (r_side * s_side < 0 && p_side * q_side < 0) {
    return true;
  }
  return (r_side == 0 && outline_between(p, q, r)) || (s_side == 0 && outline_between(p, q, s)) ||
         (p_side == 0 && outline_between(r, s, p)) || (q_side == 0 && outline_between(r, s, q));
}

typedef struct Numbered {
  S2Vec2 point;
  int index;
} Numbered;

static int outline_by_place(const void *a, const void *b) {
  const Numbered *p = a, *q = b;
  int x = (p->point.x > q->point.x) - (p->point.x < q->point.x);
  int y = (p->point.y > q->point.y) - (p->point.y < q->point.y);
  return x != 0 ? x : y != 0 ? y : (p->index > q->index) - (p->index < q->index);
}

// Finds the first vertex that is repeated, and its first repetition.
static bool find_repeated(const S2Vec2 *points, int count, S2Arena *arena, int *first, int *again) {
  Numbered *sorted = S2_TAKE(arena, Numbered, count);
  for (int i = 0; i < count; i++) {
    sorted[i] = (Numbered){points[i], i};
  }
  qsort(sorted, (size_t)count, sizeof *sorted, outline_by_place);
  *first = count;
  // Equal points are neighbours in the sorted list, with the lower index first.
  for (int i = 0; i + 1 < count; i++) {
    bool same =
        sorted[i].point.x == sorted[i + 1].point.x && sorted[i].point.y == sorted[i + 1].point.y;
    if (same && sorted[i].index < *first) {
      *first = sorted[i].index;
      *again = sorted[i + 1].index;
    }
  }
  return *first < count;
}

static S2Status check_points(const S2Vec2 *points, int count, S2Arena *arena) {
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
  // Check that each point occurs once and that not all points are collinear.
  int first = 0, again = 0;
  if (find_repeated(points, count, arena, &first, &again)) {
    return s2_error(S2_INVALID, "vertices %d and %d are the same point (%g, %g)", first + 1,
                    again + 1, points[first].x, points[first].y);
  }
  bool in_line = true;
  for (int i = 0; i < count; i++) {
    double sine = s2_corner_sine(points[i], points[(i + 1) % count], points[(i + 2) % count]);
    in_line = in_line && fabs(sine) <= S2_STRAIGHT_SINE;
  }
  if (in_line) {
    return s2_error(S2_INVALID, "all %d vertices lie on one line", count);
  }
  return s2_ok();
}

// ---- Crossings --------------------------------------------------------------------------------

typedef struct Edges {
  const S2Vec2 *points;
  int count;
  S2BoxTree tree; // tree over edges. Edge i goes from vertex i to the next one
} Edges;

static S2Vec2 edge_end(const Edges *edges, int i) {
  return edges->points[i + 1 == edges->count ? 0 : i + 1];
}

static bool edges_meet(const Edges *edges, int i, int j) {
  return segments_meet(edges->points[i], edge_end(edges, i), edges->points[j], edge_end(edges, j));
}

// Finds the first edge after edge i + 1 that meets edge i. Searches node k, which contains the
// items from lo to lo + width - 1. Returns `count` if there is none.
static int first_meeting(const Edges *edges, int i, S2Box box, int k, int lo, int width) {
  const S2Box *at = &edges->tree.box[k];
  S2Vec2 p = edges->points[i], q = edge_end(edges, i);
  if (lo + width <= i + 2 || lo >= edges->count || !s2_box_overlap(*at, box) ||
      s2_box_right_of(*at, p, q) || s2_box_left_of(*at, p, q)) {
    return edges->count;
  }
  // Skip neighbouring edges, which share a vertex. The first and the last edge are neighbours, too.
  if (width == 1) {
    bool neighbour = i == 0 && lo + 1 == edges->count;
    return !neighbour && edges_meet(edges, i, lo) ? lo : edges->count;
  }
  int half = width / 2;
  int found = first_meeting(edges, i, box, 2 * k, lo, half);
  return found < edges->count ? found : first_meeting(edges, i, box, 2 * k + 1, lo + half, half);
}

static S2Status check_simple(const S2Vec2 *points, int count, S2Arena *arena) {
  Edges edges = {points, count, s2_box_tree(arena, count)};
  // Build the tree of the boxes of edges.
  for (int i = 0; i < count; i++) {
    S2Vec2 p = points[i], q = edge_end(&edges, i);
    edges.tree.box[edges.tree.leaves + i] =
        (S2Box){{fmin(p.x, q.x), fmin(p.y, q.y)}, {fmax(p.x, q.x), fmax(p.y, q.y)}};
  }
  s2_box_tree_build(&edges.tree);
  for (int i = 0; i < count; i++) {
    // Neighbours may share a vertex, but not fold back. Other edges must not meet.
    int i_next = (i + 1) % count;
    S2Vec2 p = points[i], q = points[i_next], r = points[(i + 2) % count];
    if (s2_side(p, q, r) == 0 && s2_dot(s2_sub(q, p), s2_sub(r, q)) < 0) {
      return s2_error(S2_INVALID, "the outline folds back on itself at vertex %d", i_next + 1);
    }
    S2Box box = edges.tree.box[edges.tree.leaves + i];
    int j = first_meeting(&edges, i, box, 1, 0, edges.tree.leaves);
    if (j < count) {
      return s2_error(S2_INVALID, "edge %d-%d meets edge %d-%d; edges must not cross or touch",
                      i + 1, i_next + 1, j + 1, (j + 1) % count + 1);
    }
  }
  return s2_ok();
}

S2Status s2_outline_check(const S2Vec2 *points, int count, S2Arena *arena) {
  S2_TRY(check_points(points, count, arena));
  return check_simple(points, count, arena);
}
