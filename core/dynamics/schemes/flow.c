// Finds the time of impact of two shapes.
//
// The method is conservative advancement along the normal of the nearest points. The displacement
// of each vertex of both core polygons along that axis has a bound. For a rotation by phi, the
// bound is the motion of the vertex to second order, minus phi^2/2 times the lever arm. The shapes
// cannot meet before the first of these bounds closes the gap, so the search continues from that
// time. The axis is fixed or turns with one of the bodies. Turning axes are needed for a vertex
// that meets a turning edge: along a fixed axis, the far end of the edge would seem to arrive
// first. Each axis gives a valid lower bound of the time, so the largest bound is used. The search
// converges like Newton's method and never passes the root. If no body rotates, one advance is
// exact.
//
// The whole motion is covered by such bounds. If the number of advances does not suffice, the
// result is the latest time that is known to be free of contact. That case is never reported as "no
// meeting".
#include "dynamics/schemes/flow.h"
#include "dynamics/project/passage.h"
#include "dynamics/step/touch.h"

#include <string.h>

// Maximum number of advances of one search. Most impacts at an angle take fewer than ten. Grazing a
// round body takes more, because each advance is only about the square root of the gap.
#define ADVANCES 200
// Number of samples of the overlap of a pair on its path around a corner. Such an overlap grows
// until it ends at the corner, so the true depth is at most (8/7)^2 times the last sampled depth.
#define DEEP_LOOKS 8
// Maximum number of bisections and secant steps to reduce the bracket of a root to rounding errors.
#define NARROWINGS 80

void s2_flow_place(const S2Flow *flow, int32_t slot, double s) {
  for (int c = 3 * slot; c < 3 * slot + 3; c++) {
    flow->step->q1[c] = flow->step->q0[c] + s * (flow->v[c] + s * flow->bend[c]);
  }
}

static void place_pair(const S2Flow *flow, const S2Touch *touch, double s) {
  s2_flow_place(flow, touch->body_a, s);
  s2_flow_place(flow, touch->body_b, s);
}

static void collide_at(const S2Flow *flow, S2Touch *touch, double s) {
  place_pair(flow, touch, s);
  s2_touch_collide(flow->step->world, touch, flow->step->q1, INFINITY);
}

// Returns the closest points of a pair, ignoring neighbouring segments of chains.
static S2Closest closest_at(const S2Flow *flow, const S2Touch *touch, double s) {
  place_pair(flow, touch, s);
  return s2_touch_closest(flow->step->world, touch, flow->step->q1);
}

const S2TouchPoint *s2_flow_nearest(const S2Touch *touch, const S2Resting *resting) {
  const S2TouchPoint *point = NULL;
  for (int k = 0; k < touch->count; k++) {
    const S2TouchPoint *other = &touch->points[k];
    if (!s2_resting_has(resting, other->at.id) &&
        (point == NULL || other->at.gap < point->at.gap)) {
      point = other;
    }
  }
  return point;
}

// ---- Bounds -----------------------------------------------------------------------------------

// Returns the smallest t > 0 with g + u t + a t^2 = 0, where g >= 0. If squares underflow, the
// result is too small rather than too large.
static double first_root(double g, double u, double a) {
  double inside = u * u - 4 * a * g;
  if (inside < 0 || (u >= 0 && a >= 0)) {
    return INFINITY;
  }
  // This form avoids cancellation. A speed of -0 is not an approach.
  return u < 0 ? 2 * g / (sqrt(inside) - u) : fmax((u + sqrt(inside)) / (-2 * a), sqrt(g / -a));
}

// One shape of the pair at a given time, with its motion until the end of the flow.
typedef struct Rim {
  int count;
  const S2Vec2 *vertex; // vertices of the core polygon, relative to the body's centre
  double radius;        // radius of the rounding around the core polygon (m)
  S2Rot turned;
  double v[3], bend[3];
} Rim;

static Rim rim_at(const S2Flow *flow, int32_t shape, int32_t body, double s) {
  const S2World *world = flow->step->world;
  S2Shape geometry = s2_piece_shape(world, &world->pieces.at[shape]);
  Rim rim = {.count = geometry.count,
             .vertex = geometry.vertices,
             .radius = geometry.radius,
             .turned = s2_rot(flow->step->q1[3 * body])};
  for (int c = 0; c < 3; c++) {
    rim.bend[c] = flow->bend[3 * body + c];
    rim.v[c] = flow->v[3 * body + c] + 2 * s * rim.bend[c];
  }
  return rim;
}

// The rotation of an axis or lever arm after the time t: phi = t w + t^2 bend.
typedef struct Turn {
  double w, bend;
} Turn;

static Turn turn_against(Turn turn, Turn axis) {
  return (Turn){turn.w - axis.w, turn.bend - axis.bend};
}

// Returns an upper bound (rad/s) of |phi|/t within [0, rest].
static double turn_fastest(Turn turn, double rest) {
  return fmax(fabs(turn.w), fabs(turn.w + rest * turn.bend));
}

typedef struct Bound { // at + u t + a t^2 is a lower bound of a displacement along the axis
  double at, u, a;
} Bound;

// Returns the bound for a vertex relative to its body's centre. `turn` is the rotation relative to
// the axis.
static Bound vertex_bound(const Rim *rim, int i, S2Vec2 normal, Turn turn, double rest,
                          double side) {
  S2Vec2 arm = s2_rotate(rim->turned, rim->vertex[i]);
  double around = s2_cross(arm, normal), fastest = turn_fastest(turn, rest);
  return (Bound){
      .at = side * s2_dot(normal, arm),
      .u = side * turn.w * around,
      .a = side * turn.bend * around - fastest * fastest * s2_length(arm) / 2,
  };
}

// Returns the bound for the centre of body a relative to the centre of body b (`apart`), along a
// turning axis.
static Bound centre_bound(const Rim *a, const Rim *b, S2Vec2 apart, S2Vec2 normal, Turn axis,
                          double rest) {
  S2Vec2 v = s2_vec2(a->v[1] - b->v[1], a->v[2] - b->v[2]);
  S2Vec2 bend = s2_vec2(a->bend[1] - b->bend[1], a->bend[2] - b->bend[2]);
  double fastest = turn_fastest(axis, rest), across = s2_cross(normal, apart);
  double speed = fmax(s2_length(v), s2_length(s2_add_scaled(v, rest, bend)));
  double farthest = s2_length(apart) + rest * speed;
  return (Bound){
      .u = s2_dot(normal, v) + axis.w * across,
      .a = s2_dot(normal, bend) + axis.bend * across - fastest * speed -
           fastest * fastest * farthest / 2,
  };
}

// A pair of shapes at the time s of the flow. The poses of its bodies are in step->q1.
typedef struct Pair {
  Rim a, b;
  S2Vec2 apart; // from the centre of b to the centre of a (m)
  double rest;  // time until the flow ends (s)
} Pair;

static Pair pair_at(const S2Flow *flow, const S2Touch *touch, double s) {
  const double *qa = flow->step->q1 + 3 * touch->body_a, *qb = flow->step->q1 + 3 * touch->body_b;
  return (Pair){
      .a = rim_at(flow, touch->shape_a, touch->body_a, s),
      .b = rim_at(flow, touch->shape_b, touch->body_b, s),
      .apart = s2_vec2(qa[1] - qb[1], qa[2] - qb[2]),
      .rest = flow->until - s,
  };
}

static double nearest_along(const Rim *rim, S2Vec2 normal, double side) {
  double near = INFINITY;
  for (int i = 0; i < rim->count; i++) {
    near = fmin(near, side * s2_dot(normal, s2_rotate(rim->turned, rim->vertex[i])));
  }
  return near;
}

// Returns the distance (m) between the two shapes along an axis.
static double apart_along(const Pair *pair, S2Vec2 normal) {
  return s2_dot(normal, pair->apart) + nearest_along(&pair->a, normal, 1) +
         nearest_along(&pair->b, normal, -1) - pair->a.radius - pair->b.radius;
}

// Returns a time during which the two shapes stay apart along an axis with the given rotation.
// `gap` is the distance along the axis.
static double time_along(const Pair *pair, S2Vec2 n, double gap, Turn axis) {
  const Rim *a = &pair->a, *b = &pair->b;
  double rest = pair->rest, first = INFINITY;
  double near_a = nearest_along(a, n, 1), near_b = nearest_along(b, n, -1);
  Bound centre = centre_bound(a, b, pair->apart, n, axis, rest);
  Turn turn_a = turn_against((Turn){a->v[0], a->bend[0]}, axis);
  Turn turn_b = turn_against((Turn){b->v[0], b->bend[0]}, axis);
  for (int i = 0; i < a->count; i++) {
    Bound of_a = vertex_bound(a, i, n, turn_a, rest, 1);
    for (int j = 0; j < b->count; j++) {
      Bound of_b = vertex_bound(b, j, n, turn_b, rest, -1);
      double apart = gap + (of_a.at - near_a) + (of_b.at - near_b);
      first = fmin(first, first_root(fmax(apart, 0), centre.u + of_a.u + of_b.u,
                                     centre.a + of_a.a + of_b.a));
    }
  }
  return first;
}

static bool rim_turns(const Rim *rim) {
  return rim->v[0] != 0 || rim->bend[0] != 0;
}

// Returns a time during which the two shapes stay apart. Uses the axis with the longest time. `gap`
// is the distance along the normal.
static double free_time(const Pair *pair, S2Vec2 normal, double gap) {
  double time = time_along(pair, normal, gap, (Turn){0, 0});
  const Rim *of[2] = {&pair->a, &pair->b};
  for (int i = 0; i < 2 && time < pair->rest; i++) {
    if (rim_turns(of[i])) {
      Turn axis = {of[i]->v[0], of[i]->bend[0]};
      time = fmax(time, time_along(pair, normal, gap, axis));
    }
  }
  return time;
}

// ---- From the end of the flow -----------------------------------------------------------------

static double gap_of(const S2Touch *touch, const S2Resting *resting) {
  const S2TouchPoint *point = s2_flow_nearest(touch, resting);
  return point == NULL ? INFINITY : point->at.gap;
}

double s2_flow_gap(const S2Flow *flow, const S2Touch *touch, const S2Resting *resting, double s) {
  S2Touch there = *touch;
  collide_at(flow, &there, s);
  return gap_of(&there, resting);
}

// Finds a root of the gap between two times. The gap is positive at the first time and negative at
// the second. The result is never later than the root.
static double flow_narrow(const S2Flow *flow, const S2Touch *touch, const S2Resting *resting,
                          double lo, double hi, double gap_lo, double gap_hi) {
  int side = 0;
  for (int i = 0; i < NARROWINGS && hi - lo > 1e-15 * flow->until; i++) {
    double fraction = isfinite(gap_lo) && i % 8 < 6 ? gap_lo / (gap_lo - gap_hi) : 0.5;
    double s = lo + (hi - lo) * fraction;
    double gap = s2_flow_gap(flow, touch, resting, s);
    // Use the Illinois method. If the same end is replaced twice, halve the value of the other end.
    if (gap > S2_EVENT_MET * flow->slop) {
      gap_hi = side == 1 ? gap_hi / 2 : gap_hi;
      lo = s, gap_lo = gap, side = 1;
    } else if (gap < -S2_EVENT_MET * flow->slop) {
      gap_lo = side == 2 ? gap_lo / 2 : gap_lo;
      hi = s, gap_hi = gap, side = 2;
    } else {
      return s;
    }
  }
  return isfinite(gap_lo) ? lo : hi; // if there is no point at `lo`, the point appears at `hi`
}

// Returns an upper bound (m) of the relative motion of the pair over the whole flow, including
// rotations.
static double flow_length(const S2Flow *flow, const S2Touch *touch) {
  const S2Body *bodies = flow->step->world->bodies.at;
  int32_t a = touch->body_a, b = touch->body_b;
  const double *va = flow->v + 3 * a, *vb = flow->v + 3 * b;
  const double *ba = flow->bend + 3 * a, *bb = flow->bend + 3 * b;
  double h = flow->until, turned = h * ((fabs(va[0]) + h * fabs(ba[0])) * bodies[a].reach +
                                        (fabs(vb[0]) + h * fabs(bb[0])) * bodies[b].reach);
  double gone = h * (hypot(va[1] - vb[1], va[2] - vb[2]) + h * hypot(ba[1] - bb[1], ba[2] - bb[2]));
  return gone + turned;
}

// Returns true if the start and the end of the flow prove that the pair does not meet in between.
// This is the case if the motion is too short to close the gaps, or if the start and the end have
// the same points and all of them rest.
static bool ends_tell(const S2Flow *flow, const S2Touch *touch, const S2Resting *resting,
                      const S2Touch *end, double gap, double gap_end) {
  bool same = end != NULL && touch->count > 0 && end->count == touch->count;
  for (int k = 0; same && k < touch->count; k++) {
    same = s2_resting_has(resting, touch->points[k].at.id) &&
           (end->points[k].at.id == touch->points[0].at.id ||
            end->points[k].at.id == touch->points[touch->count - 1].at.id);
  }
  bool far = isfinite(gap) && isfinite(gap_end) &&
             gap + gap_end - flow_length(flow, touch) > 2 * flow->slop;
  return same || far;
}

// Returns the time at which an overlap begins, if the pair overlaps at the end of the flow or at an
// earlier sample. Otherwise returns INFINITY.
static double meet_by_end(const S2Flow *flow, const S2Touch *touch, const S2Resting *resting,
                          const S2Touch *end, double from, double gap) {
  double gap_end =
      end != NULL ? gap_of(end, resting) : s2_flow_gap(flow, touch, resting, flow->until);
  int looks = ends_tell(flow, touch, resting, end, gap, gap_end) ? 0 : flow->looks;
  for (int i = 1; i <= looks; i++) {
    double s = from + (flow->until - from) * i / (flow->looks + 1);
    double there = s2_flow_gap(flow, touch, resting, s);
    if (there < -S2_EVENT_PRESSED * flow->slop) {
      return gap <= 0 ? from : flow_narrow(flow, touch, resting, from, s, gap, there);
    }
  }
  if (gap_end >= -S2_EVENT_PRESSED * flow->slop) {
    return INFINITY;
  }
  return gap <= 0 ? from : flow_narrow(flow, touch, resting, from, flow->until, gap, gap_end);
}

// ---- Search -----------------------------------------------------------------------------------

static const S2FlowEnd NOTHING = {INFINITY, false};

static S2FlowEnd flow_meets_at(double s) {
  return (S2FlowEnd){s, isfinite(s)};
}

// Returns the time at which the overlap of a pair becomes so deep that the shapes could separate on
// the wrong side. Used for pairs that have rows or overlap at the start. Their rows are planes at
// the start of the flow, which do not turn. If the overlap is already deep at the start, there is
// no such time.
static S2FlowEnd flow_deepens(const S2Flow *flow, const S2Touch *touch) {
  const S2World *world = flow->step->world;
  // A short relative motion cannot cause such a deep overlap.
  double length = flow_length(flow, touch);
  if (length <= S2_PASSAGE_SLOW * s2_touch_smaller(world, touch)) {
    return NOTHING;
  }
  double depth = s2_touch_depth(world, touch), fine = s2_touch_depth_fine(world, touch, depth);
  if (length <= depth) {
    return NOTHING;
  }
  double s = 0;
  for (int i = 0; i < ADVANCES; i++) {
    S2Closest closest = closest_at(flow, touch, s);
    double room = depth + closest.distance;
    if (!(room > fine)) {
      return i == 0 ? NOTHING : (S2FlowEnd){s, false};
    }
    Pair pair = pair_at(flow, touch, s);
    double more = free_time(&pair, closest.normal, room);
    if (s + more >= flow->until) {
      return NOTHING;
    }
    s += more;
  }
  return (S2FlowEnd){s, false};
}

double s2_flow_deepest(const S2Flow *flow, const S2Touch *touch, double least) {
  double deepest = 0;
  bool shallow = flow_length(flow, touch) <= least;
  for (int i = 1; i < DEEP_LOOKS && !shallow; i++) {
    deepest = fmax(deepest, -closest_at(flow, touch, flow->until * i / DEEP_LOOKS).distance);
  }
  return deepest;
}

// Searches for the impact time of a pair whose contact points give no information between the time
// `from` and the end of the flow.
static S2FlowEnd by_end_or_deep(const S2Flow *flow, const S2Touch *touch, const S2Resting *resting,
                                const S2Touch *end, double from, double gap) {
  S2FlowEnd deep = flow_deepens(flow, touch);
  double s = meet_by_end(flow, touch, resting, end, from, gap);
  return s <= deep.at ? flow_meets_at(s) : deep;
}

// Returns true if the shapes approach each other at a contact point, at the time of `pair`.
static bool flow_approaches(const Pair *pair, const S2TouchPoint *point) {
  const Rim *a = &pair->a, *b = &pair->b;
  S2Vec2 n = point->at.normal;
  double u = s2_dot(n, s2_vec2(a->v[1] - b->v[1], a->v[2] - b->v[2])) +
             s2_cross(point->at.point, n) * a->v[0] - s2_cross(point->arm_b, n) * b->v[0];
  return u < 0;
}

// ---- Pairs with resting points -----------------------------------------------------------------

// A vertex of one shape and an edge of the other shape.
typedef struct Facing {
  bool edge_is_a;
  int edge, vertex;
} Facing;

static int facing_end(const S2Shape *shape, int edge) {
  return edge + 1 < shape->count ? edge + 1 : 0;
}

// Returns the distance (m) of the vertex above the edge at the time of `pair`, and computes a lower
// bound of its displacement. *before is true if the vertex is in front of the edge and not beyond
// its ends.
static Bound facing_bound(const S2Flow *flow, const S2Touch *touch, const Pair *pair,
                          const Facing *of, bool *before) {
  const S2World *world = flow->step->world;
  const Rim *holder = of->edge_is_a ? &pair->a : &pair->b;
  const Rim *other = of->edge_is_a ? &pair->b : &pair->a;
  int32_t piece = of->edge_is_a ? touch->shape_a : touch->shape_b;
  S2Shape shape = s2_piece_shape(world, &world->pieces.at[piece]);
  S2Vec2 start = shape.vertices[of->edge], end = shape.vertices[facing_end(&shape, of->edge)];
  double length = s2_length(s2_sub(end, start));
  S2Vec2 t = s2_rotate(holder->turned, s2_scale(1 / length, s2_sub(end, start)));
  S2Vec2 n = s2_neg(s2_left(t));
  S2Vec2 apart = of->edge_is_a ? s2_neg(pair->apart) : pair->apart;
  // `way` is the vector from the start of the edge to the vertex.
  S2Vec2 arm = s2_rotate(other->turned, other->vertex[of->vertex]);
  S2Vec2 way = s2_sub(s2_add(apart, arm), s2_rotate(holder->turned, start));
  double along = s2_dot(t, way);
  *before = along >= 0 && along <= length;
  // The axis turns with the edge.
  Turn axis = {holder->v[0], holder->bend[0]};
  Turn turn = turn_against((Turn){other->v[0], other->bend[0]}, axis);
  Bound centre = centre_bound(other, holder, apart, n, axis, pair->rest);
  Bound of_vertex = vertex_bound(other, of->vertex, n, turn, pair->rest, 1);
  return (Bound){.at = s2_dot(n, way) - holder->radius - other->radius,
                 .u = centre.u + of_vertex.u,
                 .a = centre.a + of_vertex.a};
}

// Returns the time at which a vertex meets an edge that it does not touch at the time `from`.
static S2FlowEnd facing_meets(const S2Flow *flow, const S2Touch *touch, const Facing *of,
                              double from) {
  double met = S2_EVENT_MET * flow->slop, s = from, left = from + flow->leaving * flow->until;
  for (int i = 0; i < ADVANCES; i++) {
    place_pair(flow, touch, s);
    Pair pair = pair_at(flow, touch, s);
    bool before;
    Bound bound = facing_bound(flow, touch, &pair, of, &before);
    if (i == 0 && bound.at < -flow->slop) { // the vertex is on the other side of the edge's line
      return NOTHING;
    }
    if (i == 0 && bound.at <= flow->slop) { // the vertex separates first
      s = left;
      continue;
    }
    bool closed = !(bound.at > met);
    double more = first_root(closed ? bound.at + flow->slop : bound.at, bound.u, bound.a);
    if ((closed && bound.u < 0) || s + more == s) {
      return before && s > left ? flow_meets_at(s) : NOTHING;
    }
    s += more;
    if (!(s < flow->until)) {
      return NOTHING;
    }
  }
  return NOTHING;
}

// rad: an upper bound of the rotation of a shape over the whole flow.
static double turn_over(const S2Flow *flow, const Rim *rim) {
  return flow->until * (fabs(rim->v[0]) + 3 * flow->until * fabs(rim->bend[0]));
}

// Returns the next impact time after `from` for a vertex that touches an edge, if the pair turns
// about the vertex. Either a neighbour of the vertex meets the edge, or an end of the edge meets an
// edge adjacent to the vertex.
static S2FlowEnd pivot_meets(const S2Flow *flow, const S2Touch *touch, const S2Resting *resting,
                             const S2ManifoldPoint *pivot, double from) {
  bool edge_is_a = pivot->feature == S2_EDGE_A;
  const S2World *world = flow->step->world;
  S2Shape a = s2_piece_shape(world, &world->pieces.at[touch->shape_a]);
  S2Shape b = s2_piece_shape(world, &world->pieces.at[touch->shape_b]);
  const S2Shape *holder = edge_is_a ? &a : &b, *other = edge_is_a ? &b : &a;
  int in_a, in_b;
  s2_manifold_indices(pivot->id, &in_a, &in_b);
  int edge = edge_is_a ? in_a : in_b, vertex = edge_is_a ? in_b : in_a;
  if (pivot->feature == S2_VERTEX_VERTEX || other->count < 2) {
    return NOTHING;
  }
  int next = (vertex + 1) % other->count, last = (vertex + other->count - 1) % other->count;
  int end = facing_end(holder, edge);
  const Facing all[6] = {{edge_is_a, edge, next},    {edge_is_a, edge, last},
                         {!edge_is_a, vertex, edge}, {!edge_is_a, vertex, end},
                         {!edge_is_a, last, edge},   {!edge_is_a, last, end}};
  // Skip vertices that are too far from the edge or on the other side of its line. The distance
  // from the line of an edge changes by less than twice the relative motion, unless bodies turn
  // far.
  place_pair(flow, touch, from);
  Pair pair = pair_at(flow, touch, from);
  double turns = fmax(turn_over(flow, &pair.a), turn_over(flow, &pair.b));
  double most = turns < 1 ? 2 * flow_length(flow, touch) + flow->slop : INFINITY;
  S2FlowEnd first = NOTHING;
  for (int i = 0; i < 6; i++) {
    bool before;
    double at = facing_bound(flow, touch, &pair, &all[i], &before).at;
    if (at >= -flow->slop && at <= most) {
      S2FlowEnd one = facing_meets(flow, touch, &all[i], from);
      first = one.at < first.at ? one : first;
    }
  }
  // Beyond the ends of an edge, its line may pass through other shapes of the body, so the manifold
  // must confirm the impact.
  double gap = isfinite(first.at) ? s2_flow_gap(flow, touch, resting, first.at) : INFINITY;
  return fabs(gap) <= flow->slop ? first : NOTHING;
}

// Returns the next impact time of a pair with one resting point.
static S2FlowEnd meets_beside(const S2Flow *flow, const S2Touch *touch, const S2Resting *resting) {
  S2FlowEnd first = NOTHING;
  for (int k = 0; k < touch->count && resting->count == 1; k++) {
    if (s2_resting_has(resting, touch->points[k].at.id)) {
      first = pivot_meets(flow, touch, resting, &touch->points[k].at, 0);
    }
  }
  return first;
}

// Returns the next impact time of a pair that touches at a vertex shared with a neighbouring shape,
// if the neighbour has the row. The corners between the segments of a chain are such vertices.
static S2FlowEnd hidden_pivot_meets(const S2Flow *flow, const S2Touch *touch,
                                    const S2Resting *resting, double from) {
  place_pair(flow, touch, from);
  S2Manifold manifold;
  s2_touch_collide_alone(flow->step->world, touch, flow->step->q1, flow->slop, &manifold);
  S2FlowEnd first = NOTHING;
  for (int k = 0; k < manifold.count; k++) {
    S2FlowEnd one = pivot_meets(flow, touch, resting, &manifold.points[k], from);
    first = one.at < first.at ? one : first;
  }
  return first;
}

// Returns true if the motion is too short to close the gap. If one of the shapes has neighbours,
// the gap may belong to a point farther away than another one, so this test does not apply.
static bool too_far(const S2Flow *flow, const S2Touch *touch, double gap) {
  const S2World *world = flow->step->world;
  const S2Piece *a = &world->pieces.at[touch->shape_a], *b = &world->pieces.at[touch->shape_b];
  bool joined =
      a->has_previous || a->has_next || a->joined || b->has_previous || b->has_next || b->joined;
  return !joined && isfinite(gap) && gap > flow_length(flow, touch) + flow->slop;
}

// Searches from the time s on, for a pair without resting points or overlaps.
static S2FlowEnd flow_advance(const S2Flow *flow, const S2Touch *touch, const S2Resting *resting,
                              const S2Touch *end, double s) {
  double met = S2_EVENT_MET * flow->slop;
  S2Touch there = *touch;
  for (int i = 0; i < ADVANCES; i++) {
    if (s > 0) {
      collide_at(flow, &there, s);
    } else {
      place_pair(flow, touch, 0);
    }
    Pair pair = pair_at(flow, touch, s);
    const S2TouchPoint *point = s2_flow_nearest(&there, resting);
    double gap = point == NULL ? INFINITY : point->at.gap;
    S2Vec2 normal = point == NULL ? s2_vec2(0, 0) : point->at.normal;
    // At a corner of a chain, the nearest points and the impact may belong to the neighbouring
    // segment.
    if (point == NULL || apart_along(&pair, normal) < gap - flow->slop) {
      S2Closest closest = closest_at(flow, touch, s);
      if (!(closest.distance > met)) {
        S2FlowEnd beside = hidden_pivot_meets(flow, touch, resting, s);
        S2FlowEnd by_end = by_end_or_deep(flow, touch, resting, end, s, INFINITY);
        return beside.at <= by_end.at ? beside : by_end;
      }
      gap = closest.distance;
      normal = closest.normal;
    }
    bool closed = !(gap > met);
    if (closed && flow_approaches(&pair, point)) {
      return flow_meets_at(s);
    }
    // A closed pair that separates may move freely as long as it does not overlap by more than the
    // slop.
    double more = free_time(&pair, normal, closed ? gap + flow->slop : gap);
    if (s + more >= flow->until) {
      return NOTHING;
    }
    if (s + more == s) { // the remaining distance is below the rounding error
      return flow_meets_at(s);
    }
    s += more;
  }
  return (S2FlowEnd){s, false};
}

S2FlowEnd s2_flow_meet(const S2Flow *flow, const S2Touch *touch, const S2Resting *resting,
                       const S2Touch *end) {
  const S2TouchPoint *point = s2_flow_nearest(touch, resting);
  double gap = point == NULL ? INFINITY : point->at.gap;
  if (resting->count > 0) { // some vertices rest, so the bound for all vertices cannot be used
    S2FlowEnd beside = meets_beside(flow, touch, resting);
    S2FlowEnd by_end = gap > flow->slop ? by_end_or_deep(flow, touch, resting, end, 0, gap)
                                        : flow_deepens(flow, touch);
    return beside.at <= by_end.at ? beside : by_end;
  }
  if (gap < -flow->slop) { // the pair overlaps at the start
    return flow_deepens(flow, touch);
  }
  if (too_far(flow, touch, gap)) {
    return NOTHING;
  }
  // A pair that touches at the start separates first.
  double s = gap <= flow->slop ? flow->leaving * flow->until : 0;
  return flow_advance(flow, touch, resting, end, s);
}
