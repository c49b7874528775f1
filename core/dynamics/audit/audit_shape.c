// The signed distance between two convex shapes, computed from every vertex and every edge. The
// code is short and slow, and independent of the collision tests.
#include "dynamics/audit/audit.h"

enum { PLACED_ROOM = 16 };

// A placed shape: its vertices in world coordinates, relative to an origin near both bodies.
typedef struct Placed {
  const S2Shape *shape;
  S2Vec2 centre;
  double c, s;
  S2Vec2 at[PLACED_ROOM]; // the first vertices are stored; the others are computed on demand
} Placed;

static S2Vec2 place_vertex(const Placed *placed, int i) {
  S2Vec2 p = placed->shape->vertices[i];
  return s2_vec2(placed->centre.x + placed->c * p.x - placed->s * p.y,
                 placed->centre.y + placed->s * p.x + placed->c * p.y);
}

static void shape_place(Placed *placed, const S2Shape *shape, const double q[3],
                        const double origin[3]) {
  placed->shape = shape;
  placed->centre = s2_vec2(q[1] - origin[1], q[2] - origin[2]);
  placed->c = cos(q[0]);
  placed->s = sin(q[0]);
  for (int i = 0; i < shape->count && i < PLACED_ROOM; i++) {
    placed->at[i] = place_vertex(placed, i);
  }
}

static inline S2Vec2 placed_vertex(const Placed *placed, int i) {
  return i < PLACED_ROOM ? placed->at[i] : place_vertex(placed, i);
}

// Returns the distance of b beyond a along n. This is the smallest n.b minus the largest n.a over
// all vertices.
static double shape_beyond(const Placed *a, const Placed *b, S2Vec2 n) {
  double most = -INFINITY, least = INFINITY;
  for (int i = 0; i < a->shape->count; i++) {
    double along = s2_dot(n, placed_vertex(a, i));
    most = along > most ? along : most;
  }
  for (int i = 0; i < b->shape->count; i++) {
    double along = s2_dot(n, placed_vertex(b, i));
    least = along < least ? along : least;
  }
  return least - most;
}

// Returns the largest gap between a and b along an edge normal of a.
static double widest_gap(const Placed *a, const Placed *b, S2Vec2 *normal) {
  double best = -INFINITY;
  int count = a->shape->count, edges = count == 1 ? 0 : count;
  for (int i = 0; i < edges; i++) {
    S2Vec2 from = placed_vertex(a, i), to = placed_vertex(a, (i + 1) % count);
    S2Vec2 edge = s2_sub(to, from);
    double length = s2_length(edge);
    if (!(length > 0)) {
      continue;
    }
    S2Vec2 n = s2_vec2(edge.y / length, -edge.x / length);
    double gap = shape_beyond(a, b, n);
    if (gap > best) {
      best = gap;
      *normal = n;
    }
  }
  return best;
}

// Places both shapes. Returns the largest gap along an edge normal of either shape; *normal points
// from b to a.
static double place_both(Placed *pa, const S2Shape *a, const double qa[3], Placed *pb,
                         const S2Shape *b, const double qb[3], S2Vec2 *normal) {
  shape_place(pa, a, qa, qa);
  shape_place(pb, b, qb, qa);
  S2Vec2 n_a = {0, 0}, n_b = {0, 0};
  // n_a points from a to b, and n_b from b to a.
  double of_a = widest_gap(pa, pb, &n_a), of_b = widest_gap(pb, pa, &n_b);
  *normal = of_a > of_b ? s2_scale(-1, n_a) : n_b;
  return of_a > of_b ? of_a : of_b;
}

// Returns the smallest distance of a vertex of a from b. *normal points from b to that vertex.
static double nearest_vertex(const Placed *a, const Placed *b, S2Vec2 *normal) {
  double best = INFINITY;
  S2Vec2 nearest = {0, 0};
  int count = b->shape->count, edges = count <= 2 ? 1 : count;
  for (int i = 0; i < a->shape->count; i++) {
    S2Vec2 p = placed_vertex(a, i);
    for (int k = 0; k < edges; k++) {
      S2Vec2 from = placed_vertex(b, k), edge = s2_sub(placed_vertex(b, (k + 1) % count), from);
      double square = s2_dot(edge, edge);
      double along = square > 0 ? s2_dot(s2_sub(p, from), edge) / square : 0;
      along = along > 0 ? along : 0;
      S2Vec2 apart = s2_sub(p, s2_add_scaled(from, along < 1 ? along : 1, edge));
      double away = s2_dot(apart, apart);
      if (away < best) {
        best = away;
        nearest = apart;
      }
    }
  }
  double distance = sqrt(best);
  *normal = distance > 0 ? s2_scale(1 / distance, nearest) : *normal;
  return distance;
}

double s2_audit_distance(const S2Shape *a, const double qa[3], const S2Shape *b, const double qb[3],
                         S2Vec2 *normal) {
  Placed pa = {0}, pb = {0};
  double radii = a->radius + b->radius;
  double depth = place_both(&pa, a, qa, &pb, b, qb, normal);
  if (depth < 0 && isfinite(depth)) { // a point has no edges
    return depth - radii;             // the cores overlap
  }
  S2Vec2 from_b = *normal, from_a = s2_scale(-1, *normal);
  double to_a = nearest_vertex(&pa, &pb, &from_b), to_b = nearest_vertex(&pb, &pa, &from_a);
  *normal = to_a <= to_b ? from_b : s2_scale(-1, from_a);
  return fmin(to_a, to_b) - radii;
}

double s2_audit_beyond(const S2Shape *a, const double qa[3], const S2Shape *b, const double qb[3],
                       S2Vec2 *normal) {
  Placed pa = {0}, pb = {0};
  S2Vec2 of_edge;
  double most = place_both(&pa, a, qa, &pb, b, qb, &of_edge);
  double given = shape_beyond(&pb, &pa, *normal);
  // If the nearest points coincide, the direction between them is only rounding.
  *normal = most > given ? of_edge : *normal;
  return fmax(most, given) - a->radius - b->radius;
}

double s2_audit_thickness(const S2Shape *shape) {
  double least = INFINITY;
  for (int i = 0; shape->count > 2 && i < shape->count; i++) {
    S2Vec2 from = shape->vertices[i], edge = s2_sub(shape->vertices[(i + 1) % shape->count], from);
    double length = s2_length(edge), width = 0;
    for (int k = 0; k < shape->count; k++) {
      width = fmax(width, fabs(s2_cross(edge, s2_sub(shape->vertices[k], from))) / length);
    }
    least = fmin(least, width);
  }
  return (shape->count > 2 ? least : 0) + 2 * shape->radius;
}
