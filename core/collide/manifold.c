// Contact points of a pair. Each point is a vertex against an edge, or a vertex against a vertex.
// There are no other cases in the plane, so a point can be updated exactly when the bodies move
// (s2_manifold_point_update).
//
// Take the edge with the largest separation, and the edge of the other shape that faces it. There
// are at most two points, at the ends of the part in which these edges face each other. At such an
// end, a vertex of one edge is in front of the other edge. A vertex beyond the end of an edge gives
// no point, because that point would stop bodies that merely pass beside each other.

#include "collide/chain.h"
#include "collide/collide.h"
#include "collide/separation.h"

#include <float.h>
#include <math.h>

// Two ends that are closer than this fraction of the shorter edge count as one. The shapes, not
// rounding errors, then decide which of the two vertices is used.
static const double TIE = 1e-10;

// Rounding error of a coordinate, relative to the magnitudes from which it is computed.
static const double ROUNDING = 16 * DBL_EPSILON;

// A shape counts as inside another shape if they overlap by more than this fraction of the size of
// the smaller one.
static const double SUNK = 1e-2;

// Two vertices closer than this fraction of their coordinates do not define a direction.
static const double NO_DIRECTION = 1e-12;

// A unit vector is along a segment, and points to neither side, if its component across the segment
// is smaller than this.
static const double ALONG_SEGMENT = 1e-9;

// The shortest translation leads to the far side of a segment if the sine of the angle between them
// is at least this. The depth at the segment is at most the length of the translation divided by
// this number. If this number were much smaller than SUNK, a body that barely overlaps the end of a
// segment could be pushed all the way through the segment.
static const double TO_FAR_SIDE = 1e-2;

typedef struct Candidate {
  S2Feature feature;
  int index_a, index_b; // indices of vertices, or of an edge if the feature has one
  double gap;           // gap between the cores
} Candidate;

typedef struct Candidates {
  Candidate list[2];
  int count;
  double tolerance; // gaps that differ by at most this count as equal
} Candidates;

typedef struct Pair {
  S2Placed a, b;
} Pair;

typedef struct Edge {
  S2Vec2 start, end, along, normal; // `along` and `normal` are unit vectors
  double length;
} Edge;

static Edge manifold_edge_of(const S2Placed *placed, int index) {
  S2Vec2 start = s2_placed_vertex(placed, index);
  S2Vec2 end = s2_placed_vertex(placed, s2_edge_end(placed->shape, index));
  S2Vec2 normal = s2_rotate(placed->pose.rotation, s2_edge_normal(placed->shape, index));
  return (Edge){start, end, s2_left(normal), normal, s2_length(s2_sub(end, start))};
}

static double manifold_magnitude(S2Vec2 p) {
  return fabs(p.x) + fabs(p.y);
}

static bool manifold_within(double at, double length, double tolerance) {
  return at >= -tolerance && at <= length + tolerance;
}

static Candidate against_edge(bool edge_is_a, int edge_index, const Edge *edge, int vertex_index,
                              S2Vec2 vertex) {
  return (Candidate){
      .feature = edge_is_a ? S2_EDGE_A : S2_EDGE_B,
      .index_a = edge_is_a ? edge_index : vertex_index,
      .index_b = edge_is_a ? vertex_index : edge_index,
      .gap = s2_dot(edge->normal, s2_sub(vertex, edge->start)),
  };
}

// ---- Two edges facing each other --------------------------------------------------------------

// Finds the edge at vertex `support` that faces the direction `normal` most directly.
static int facing_edge(const S2Placed *placed, int support, S2Vec2 normal) {
  int count = placed->shape->count;
  int before = support > 0 ? support - 1 : count - 1;
  S2Vec2 local = s2_unrotate(placed->pose.rotation, normal);
  double facing_before = s2_dot(local, s2_edge_normal(placed->shape, before));
  double facing_after = s2_dot(local, s2_edge_normal(placed->shape, support));
  return facing_before < facing_after ? before : support;
}

static void add_candidate(Candidates *found, Candidate candidate, double floor) {
  if (candidate.gap >= floor - found->tolerance) {
    found->list[found->count++] = candidate;
  }
}

// Selects one of a segment's two edges, which are its two sides. If the other shape's edge
// `against` is at right angles to the segment and ends at the segment's end, neither side faces
// that edge. The contact is then on the side to which the other shape extends from that end. The
// unit vector `along` points from that end along `against`.
static void take_side(const S2Placed *placed, const Edge *against, S2Vec2 along, int *index,
                      Edge *edge) {
  if (placed->shape->count == 2 && s2_dot(edge->normal, s2_sub(along, against->normal)) < 0) {
    *index = 1 - *index;
    *edge = manifold_edge_of(placed, *index);
  }
}

// Returns true if the shape extends farther in front of the line through `point` than behind it.
static bool is_before(const S2Placed *placed, S2Vec2 point, S2Vec2 normal) {
  double highest = -INFINITY, lowest = INFINITY;
  for (int i = 0; i < placed->shape->count; i++) {
    double height = s2_dot(normal, s2_sub(s2_placed_vertex(placed, i), point));
    highest = fmax(highest, height);
    lowest = fmin(lowest, height);
  }
  return highest > -lowest;
}

// Returns true if a vertex of `shape` touches the extension of edge `index`. The vertex is at the
// distance `beyond` past an end of that edge. It touches if most of `shape` is in front of both
// edges of the concave corner. *over receives the length of the extension (m).
static bool hangs_over(const S2Placed *shape, const S2Placed *placed, int index, const Edge *edge,
                       bool at_end, double beyond, double *over) {
  S2Vec2 normal = {0, 0}, joint = at_end ? edge->end : edge->start;
  *over = s2_side_overhang(placed->shape, index, at_end, &normal);
  return *over > 0 && beyond >= 0 && beyond <= *over && is_before(shape, joint, edge->normal) &&
         is_before(shape, joint, s2_rotate(placed->pose.rotation, normal));
}

// Finds the contact points between the edge of `axis` and the opposite edge, with gaps of at least
// `floor`. A vertex below `floor` is behind the whole shape, not in front of its edge.
static Candidates manifold_clip(const Pair *pair, bool reference_is_a, const S2Axis *axis,
                                double floor) {
  const S2Placed *reference = reference_is_a ? &pair->a : &pair->b;
  const S2Placed *incident = reference_is_a ? &pair->b : &pair->a;
  Candidates found = {0};
  int r = axis->edge;
  Edge edge = manifold_edge_of(reference, r);
  // The size of the coordinates determines their rounding error.
  double size = manifold_magnitude(edge.start) + manifold_magnitude(edge.end) +
                2 * manifold_magnitude(pair->b.pose.position);
  // A circle has a single vertex, so only that vertex can be in front of the edge.
  if (incident->shape->count == 1) {
    S2Vec2 w = s2_placed_vertex(incident, 0);
    double rounding = ROUNDING * (size + manifold_magnitude(w));
    found.tolerance = rounding;
    if (manifold_within(s2_dot(s2_sub(w, edge.start), edge.along), edge.length, rounding)) {
      add_candidate(&found, against_edge(reference_is_a, r, &edge, 0, w), floor);
    }
    return found;
  }
  // Both shapes have edges. At each end of the edge there is at most one point: this end, or the
  // nearby end of the other edge.
  int i = facing_edge(incident, axis->support, edge.normal);
  Edge other = manifold_edge_of(incident, i);
  double shorter = fmin(edge.length, other.length);
  double rounding =
      ROUNDING * (size + manifold_magnitude(other.start) + manifold_magnitude(other.end));
  found.tolerance = TIE * shorter + rounding;
  // A joined shape contributes its edge, because its vertex may belong to its neighbour. Otherwise
  // shape a contributes its edge.
  bool edge_of_a = !s2_is_joined(pair->b.shape);
  // The edges have opposite directions: the end of one is near the start of the other.
  for (int k = 0; k < 2; k++) {
    int v_index = k == 0 ? r : s2_edge_end(reference->shape, r);
    int w_index = k == 0 ? s2_edge_end(incident->shape, i) : i;
    S2Vec2 v = k == 0 ? edge.start : edge.end;
    S2Vec2 w = k == 0 ? other.end : other.start;
    double w_at = s2_dot(s2_sub(w, edge.start), edge.along);
    double v_at = s2_dot(s2_sub(v, other.start), other.along);
    double beyond = k == 0 ? -w_at : w_at - edge.length;
    // Use the end of the incident edge if it is in front of the reference edge. Otherwise use the
    // end of the reference edge if that end is in front of the incident edge.
    bool tie =
        fabs(beyond) <= found.tolerance && manifold_within(v_at, other.length, found.tolerance);
    double over, v_beyond = k == 0 ? v_at - other.length : -v_at;
    if (hangs_over(incident, reference, r, &edge, k == 1, tie ? 0 : beyond, &over)) {
      add_candidate(&found, against_edge(reference_is_a, r, &edge, w_index, w), -over);
    } else if (hangs_over(reference, incident, i, &other, k == 0, tie ? 0 : v_beyond, &over)) {
      add_candidate(&found, against_edge(!reference_is_a, i, &other, v_index, v), -over);
    } else if (tie ? reference_is_a == edge_of_a : manifold_within(w_at, edge.length, rounding)) {
      add_candidate(&found, against_edge(reference_is_a, r, &edge, w_index, w), floor);
    } else if (tie || (beyond > 0 && manifold_within(v_at, other.length, rounding))) {
      int side = i;
      Edge faced = other;
      if (tie) {
        take_side(incident, &edge, k == 0 ? edge.along : s2_neg(edge.along), &side, &faced);
      }
      add_candidate(&found, against_edge(!reference_is_a, side, &faced, v_index, v), floor);
    }
  }
  return found;
}

static double least_gap(const Candidates *found) {
  double least = INFINITY;
  for (int k = 0; k < found->count; k++) {
    least = fmin(least, found->list[k].gap);
  }
  return least;
}

// ---- Search -----------------------------------------------------------------------------------

static bool shares_vertex(const Candidate *p, const Candidate *primary) {
  bool same_a = p->feature != S2_EDGE_A && primary->feature != S2_EDGE_A;
  bool same_b = p->feature != S2_EDGE_B && primary->feature != S2_EDGE_B;
  return (same_a && p->index_a == primary->index_a) || (same_b && p->index_b == primary->index_b);
}

// Finds the closest features of the two cores, which have the smallest gap, and the second point of
// the two facing edges. If the cores overlap, the closest features are those of the shortest
// translation that separates them.
static Candidates manifold_search(const Pair *pair, const S2Axis axes[2], double separation) {
  // Take the edge with the larger separation. If the separations are almost equal, take the edge of
  // a.
  double margin = TIE * fmin(axes[0].length, axes[1].length);
  int first = axes[1].separation > axes[0].separation + margin ? 1 : 0;
  if (axes[first].edge < 0) {
    first = 1 - first;
  }
  Candidates found = manifold_clip(pair, first == 0, &axes[first], separation);
  if (least_gap(&found) <= separation + found.tolerance) {
    return found;
  }
  if (axes[1 - first].edge >= 0) {
    Candidates second = manifold_clip(pair, first == 1, &axes[1 - first], separation);
    if (least_gap(&second) <= separation + second.tolerance) {
      return second;
    }
  }
  // No edge has a vertex in front of it at the distance of the cores. So either the closest
  // features are two vertices, or the cores overlap so deeply that the vertex of the shortest
  // translation is beyond the end of the edge.
  Candidate primary = {.feature = S2_VERTEX_VERTEX};
  primary.gap = s2_nearest_vertices(&pair->a, &pair->b, &primary.index_a, &primary.index_b);
  double size = manifold_magnitude(s2_placed_vertex(&pair->a, primary.index_a)) +
                manifold_magnitude(s2_placed_vertex(&pair->b, primary.index_b));
  // If the cores are apart, two vertices are closest. If they overlap, the shortest translation is
  // along the normal of an edge.
  bool apart = separation > 0 || s2_end_separation(&pair->a, &pair->b) > 0 ||
               s2_end_separation(&pair->b, &pair->a) > 0;
  if (!apart || primary.gap <= NO_DIRECTION * size) {
    const S2Placed *reference = first == 0 ? &pair->a : &pair->b;
    const S2Placed *incident = first == 0 ? &pair->b : &pair->a;
    Edge edge = manifold_edge_of(reference, axes[first].edge);
    int support = axes[first].support;
    primary = against_edge(first == 0, axes[first].edge, &edge, support,
                           s2_placed_vertex(incident, support));
  }
  // Add the other point of the facing edges, unless it is the same vertex.
  Candidates all = {.list = {primary}, .count = 1, .tolerance = found.tolerance};
  for (int k = 0; k < found.count && all.count < 2; k++) {
    if (!shares_vertex(&found.list[k], &primary)) {
      all.list[all.count++] = found.list[k];
    }
  }
  return all;
}

// ---- Points -----------------------------------------------------------------------------------

enum { INDEX_BITS = 15, INDEX_MASK = (1 << INDEX_BITS) - 1 }; // bit fields of S2ManifoldPoint.id

static inline S2ManifoldPoint of_features(S2Feature feature, int index_a, int index_b,
                                          const S2Shape *a, const S2Shape *b) {
  S2ManifoldPoint point = {
      .feature = feature,
      .id =
          (uint32_t)feature << 2 * INDEX_BITS | (uint32_t)index_a << INDEX_BITS | (uint32_t)index_b,
      .local_a = a->vertices[index_a],
      .local_b = b->vertices[index_b],
      .normal = {0, 1}, // default for two circles with the same centre; replaced in all other cases
  };
  if (feature == S2_EDGE_A) {
    point.local_normal = s2_edge_normal(a, index_a);
  } else if (feature == S2_EDGE_B) {
    point.local_normal = s2_edge_normal(b, index_b);
  }
  return point;
}

void s2_manifold_indices(uint32_t id, int *in_a, int *in_b) {
  *in_a = (int)(id >> INDEX_BITS) & INDEX_MASK;
  *in_b = (int)id & INDEX_MASK;
}

S2ManifoldPoint s2_manifold_point_of(uint32_t id, const S2Shape *a, const S2Shape *b) {
  int in_a, in_b;
  s2_manifold_indices(id, &in_a, &in_b);
  return of_features((S2Feature)(id >> 2 * INDEX_BITS), in_a, in_b, a, b);
}

static S2ManifoldPoint manifold_point_of(const Pair *pair, const Candidate *candidate) {
  S2ManifoldPoint point = of_features(candidate->feature, candidate->index_a, candidate->index_b,
                                      pair->a.shape, pair->b.shape);
  if (point.feature == S2_VERTEX_VERTEX) {
    S2Vec2 from_b = s2_sub(s2_placed_vertex(&pair->a, candidate->index_a),
                           s2_placed_vertex(&pair->b, candidate->index_b));
    if (s2_length2(from_b) > 0) {
      point.normal = from_b; // only the sign of this vector is used
    }
  }
  return point;
}

static void manifold_place(S2ManifoldPoint *point, const Pair *pair) {
  S2Vec2 pa = s2_pose_point(pair->a.pose, point->local_a);
  S2Vec2 pb = s2_pose_point(pair->b.pose, point->local_b);
  double ra = pair->a.shape->radius;
  double rb = pair->b.shape->radius;
  S2Vec2 from_b = s2_sub(pa, pb);
  // The normal either points from one vertex to the other, or is the normal of the edge.
  if (point->feature == S2_VERTEX_VERTEX) {
    double distance = s2_length(from_b);
    if (distance > NO_DIRECTION * (manifold_magnitude(pa) + manifold_magnitude(pb))) {
      double sign = s2_dot(from_b, point->normal) < 0 ? -1 : 1;
      point->normal = s2_scale(sign / distance, from_b);
    }
  } else if (point->feature == S2_EDGE_A) {
    point->normal = s2_neg(s2_rotate(pair->a.pose.rotation, point->local_normal));
  } else {
    point->normal = s2_rotate(pair->b.pose.rotation, point->local_normal);
  }
  // Set the gap of the surfaces along the normal.
  point->gap = s2_dot(from_b, point->normal) - ra - rb;
  // Start from the surface at the vertex, and go half of the gap towards the other surface.
  if (point->feature == S2_EDGE_B) {
    point->point = s2_add_scaled(pa, -(ra + point->gap / 2), point->normal);
  } else {
    point->point = s2_add_scaled(pb, rb + point->gap / 2, point->normal);
  }
}

static Pair pair_of(const S2Shape *a, S2Pose pose_a, const S2Shape *b, S2Pose pose_b) {
  S2Vec2 offset = s2_sub(pose_b.position, pose_a.position);
  return (Pair){{a, {{0, 0}, pose_a.rotation}}, {b, {offset, pose_b.rotation}}};
}

void s2_manifold_point_update(S2ManifoldPoint *point, const S2Shape *a, S2Pose pose_a,
                              const S2Shape *b, S2Pose pose_b) {
  Pair pair = pair_of(a, pose_a, b, pose_b);
  manifold_place(point, &pair);
}

// ---- Joints -----------------------------------------------------------------------------------

static bool owned_by(const S2Placed *placed, bool placed_is_a, const S2Placed *other,
                     const Candidate *candidate, S2Vec2 normal, double tolerance) {
  if (!s2_is_joined(placed->shape)) {
    return true;
  }
  int index = placed_is_a ? candidate->index_a : candidate->index_b;
  int other_index = placed_is_a ? candidate->index_b : candidate->index_a;
  // The candidate is either a vertex of the other shape in front of this shape's edge, or a vertex
  // of this shape.
  if (candidate->feature == (placed_is_a ? S2_EDGE_A : S2_EDGE_B)) {
    Edge edge = manifold_edge_of(placed, index);
    double at = s2_dot(s2_sub(s2_placed_vertex(other, other_index), edge.start), edge.along);
    return s2_side_has(placed->shape, index, at, edge.length, tolerance);
  }
  S2Vec2 outward = s2_unrotate(placed->pose.rotation, placed_is_a ? s2_neg(normal) : normal);
  return s2_corner_owns(placed->shape, index, outward, candidate->feature != S2_VERTEX_VERTEX);
}

// Returns the normal of the candidate with the smallest gap, from b to a.
static S2Vec2 least_normal(const Pair *pair, const Candidates *found) {
  const Candidate *least = &found->list[0];
  for (int k = 1; k < found->count; k++) {
    least = found->list[k].gap < least->gap ? &found->list[k] : least;
  }
  S2ManifoldPoint point = manifold_point_of(pair, least);
  manifold_place(&point, pair);
  return point.normal;
}

typedef enum Dropped { KEPT, DROPPED_BY_A, DROPPED_BY_B } Dropped;

// Adds the candidates that belong to this pair and are within reach. If the candidate with the
// smallest gap belongs to a neighbour of one of the shapes, returns which shape dropped it.
static Dropped add_owned(S2Manifold *manifold, const Pair *pair, const Candidates *found,
                         double reach) {
  Dropped dropped = KEPT;
  double least = least_gap(found);
  for (int k = 0; k < found->count; k++) {
    const Candidate *candidate = &found->list[k];
    S2ManifoldPoint point = manifold_point_of(pair, candidate);
    manifold_place(&point, pair);
    bool by_a = owned_by(&pair->a, true, &pair->b, candidate, point.normal, found->tolerance);
    bool by_b = owned_by(&pair->b, false, &pair->a, candidate, point.normal, found->tolerance);
    if (!by_a || !by_b) {
      dropped =
          candidate->gap <= least && dropped == KEPT ? by_a ? DROPPED_BY_B : DROPPED_BY_A : dropped;
    } else if (point.gap <= reach) {
      manifold->points[manifold->count++] = point;
    }
  }
  return dropped;
}

static void add_all(S2Manifold *manifold, const Pair *pair, const Candidates *found, double reach) {
  for (int k = 0; k < found->count; k++) {
    S2ManifoldPoint point = manifold_point_of(pair, &found->list[k]);
    manifold_place(&point, pair);
    if (point.gap <= reach) {
      manifold->points[manifold->count++] = point;
    }
  }
}

// m: if the cores of two shapes overlap by more than this, one shape counts as inside the other.
static double sunk_depth(const Pair *pair) {
  double size = INFINITY;
  for (int i = 0; i < 2; i++) {
    const S2Shape *shape = i == 0 ? pair->a.shape : pair->b.shape;
    double extent = 0;
    for (int k = 1; k < shape->count; k++) {
      extent = fmax(extent, s2_length(s2_sub(shape->vertices[k], shape->vertices[0])));
    }
    size = fmin(size, extent);
  }
  return SUNK * size;
}

// Adds points of a joined shape whose neighbour has the closest features, because this shape may
// still support another vertex of the other shape. `floor` is a lower bound for the gaps of such
// points. While the cores are apart, no gap can be smaller than the smallest known gap. If the
// cores overlap, the least translation separates them. So the joined shape is inside the other one
// by at most the length of that translation, measured in its direction. The same bound holds for
// the part of an edge beyond a vertex of the other shape, on the side of the edge to which the
// translation leads.
static void add_further(S2Manifold *manifold, const Pair *pair, bool joined_is_a,
                        const Candidates *closest, double separation, double reach) {
  const S2Placed *joined = joined_is_a ? &pair->a : &pair->b;
  const S2Placed *other = joined_is_a ? &pair->b : &pair->a;
  manifold->count = 0;
  double floor = separation > 0 ? separation : -INFINITY;
  if (separation <= 0 && joined->shape->sides != NULL) {
    // A vertex beyond another side of the piece is not a contact. But if a shape has sunk in
    // deeply, all points are used to push the shape out.
    floor = -sunk_depth(pair);
    if (separation < floor) {
      add_all(manifold, pair, closest, reach);
      return;
    }
  }
  S2Axis axis = s2_outline_separation(joined, other);
  if (axis.edge >= 0) {
    if (separation <= 0 && joined->shape->sides == NULL) {
      S2Vec2 outward = s2_rotate(joined->pose.rotation, s2_edge_normal(joined->shape, axis.edge));
      double along = s2_dot(joined_is_a ? s2_neg(outward) : outward, least_normal(pair, closest));
      if (along < -TO_FAR_SIDE) { // the translation leads to the other side of the segment
        axis = s2_edge_separation(joined, other, 1 - axis.edge);
        along = -along;
      }
      if (along > ALONG_SEGMENT) {
        floor = separation / along;
      } else {
        floor = along < -ALONG_SEGMENT ? -sunk_depth(pair) : -INFINITY;
      }
    }
    Candidates found = manifold_clip(pair, joined_is_a, &axis, floor);
    add_owned(manifold, pair, &found, reach);
  }
}

void s2_collide(const S2Shape *a, S2Pose pose_a, const S2Shape *b, S2Pose pose_b, double reach,
                S2Manifold *manifold) {
  manifold->count = 0;
  Pair pair = pair_of(a, pose_a, b, pose_b);
  if (a->count == 1 && b->count == 1) {
    Candidates found = {.list = {{.feature = S2_VERTEX_VERTEX}}, .count = 1};
    add_owned(manifold, &pair, &found, reach);
    return;
  }
  // Return early if the shapes are too far apart to touch.
  S2Axis axes[2] = {s2_separation(&pair.a, &pair.b), s2_separation(&pair.b, &pair.a)};
  double separation = fmax(axes[0].separation, axes[1].separation);
  if (separation == -INFINITY || separation - a->radius - b->radius > reach) {
    return; // the first condition also rejects poses that are NaN
  }
  Candidates found = manifold_search(&pair, axes, separation);
  Dropped dropped = add_owned(manifold, &pair, &found, reach);
  if (dropped != KEPT) {
    add_further(manifold, &pair, dropped == DROPPED_BY_A, &found, separation, reach);
  }
}
