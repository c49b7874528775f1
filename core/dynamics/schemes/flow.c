// The first time when two shapes meet.
//
// Conservative advancement: along the normal of the nearest points at hand, every vertex of both
// cores goes at least as far as its motion to second order says, less what the turn may take from
// that (phi^2/2 times its distance from the centre). Before the first of these bounds vanishes the
// shapes cannot have met; there all begins anew. The bounds are exact to second order, so that this
// converges as Newton's method does, from before the root, and without turning is exact at once.
#include "dynamics/schemes/flow.h"
#include "dynamics/step/touch.h"

#include <string.h>

// Advances of one search; what grazes a round body may need many.
#define ADVANCES 40
// Halvings and secants until the bracket of a root is as small as its rounding.
#define NARROWINGS 80
// Part of the slop by which bodies may overlap without having met: what rests does so.
#define PRESSED 0.1

void s2_flow_place(const S2Flow *flow, int32_t slot, double s) {
  for (int c = 3 * slot; c < 3 * slot + 3; c++) {
    flow->step->q1[c] = flow->step->q0[c] + s * (flow->v[c] + s * flow->bend[c]);
  }
}

static void collide_at(const S2Flow *flow, S2Touch *touch, double s) {
  s2_flow_place(flow, touch->body_a, s);
  s2_flow_place(flow, touch->body_b, s);
  s2_touch_collide(flow->step->world, touch, flow->step->q1, INFINITY);
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

// The smallest t > 0 with g + u t + a t^2 = 0, g >= 0.
static double first_root(double g, double u, double a) {
  double inside = u * u - 4 * a * g;
  if (inside < 0 || (u >= 0 && a >= 0)) {
    return INFINITY;
  }
  double q = -(u + copysign(sqrt(inside), u)) / 2;
  return u < 0 ? g / q : q / a;
}

typedef struct Rim { // the vertices of a core as they are at a time, seen from the body's centre
  int count;
  const S2Vec2 *vertex;
  S2Rot turned;
  double v[3], bend[3];
  double fastest; // rad/s, until the end of the flow
} Rim;

static Rim rim_at(const S2Flow *flow, int32_t shape, int32_t body, double s) {
  const S2World *world = flow->step->world;
  S2Shape geometry = s2_piece_shape(world, &world->pieces.at[shape]);
  Rim rim = {.count = geometry.count,
             .vertex = geometry.vertices,
             .turned = s2_rot(flow->step->q1[3 * body])};
  for (int c = 0; c < 3; c++) {
    rim.bend[c] = flow->bend[3 * body + c];
    rim.v[c] = flow->v[3 * body + c] + 2 * s * rim.bend[c];
  }
  rim.fastest = fmax(fabs(rim.v[0]), fabs(rim.v[0] + 2 * (flow->until - s) * rim.bend[0]));
  return rim;
}

typedef struct Bound { // of how far a vertex goes along the normal: at + u t + a t^2
  double at, u, a;
} Bound;

static Bound flow_bound(const Rim *rim, int i, S2Vec2 normal, double side) {
  S2Vec2 arm = s2_rotate(rim->turned, rim->vertex[i]);
  double along = s2_dot(normal, arm), around = s2_cross(arm, normal);
  return (Bound){
      .at = side * along,
      .u = side * (s2_dot(normal, s2_vec2(rim->v[1], rim->v[2])) + rim->v[0] * around),
      .a = side * (s2_dot(normal, s2_vec2(rim->bend[1], rim->bend[2])) + rim->bend[0] * around) -
           rim->fastest * rim->fastest * s2_length(arm) / 2,
  };
}

// How long nothing of the pair can meet, from the time s of the flow on at which `touch` and
// step->q1 are.
static double free_time(const S2Flow *flow, const S2Touch *touch, const S2TouchPoint *point,
                        double s) {
  Rim a = rim_at(flow, touch->shape_a, touch->body_a, s);
  Rim b = rim_at(flow, touch->shape_b, touch->body_b, s);
  double first = INFINITY, near_a = INFINITY, near_b = INFINITY;
  S2Vec2 n = point->at.normal;
  for (int i = 0; i < a.count; i++) {
    near_a = fmin(near_a, flow_bound(&a, i, n, 1).at);
  }
  for (int j = 0; j < b.count; j++) {
    near_b = fmin(near_b, flow_bound(&b, j, n, -1).at);
  }
  for (int i = 0; i < a.count; i++) {
    Bound of_a = flow_bound(&a, i, n, 1);
    for (int j = 0; j < b.count; j++) {
      Bound of_b = flow_bound(&b, j, n, -1);
      double gap = point->at.gap + (of_a.at - near_a) + (of_b.at - near_b);
      first = fmin(first, first_root(fmax(gap, 0), of_a.u + of_b.u, of_a.a + of_b.a));
    }
  }
  return first;
}

static double gap_of(const S2Touch *touch, const S2Resting *resting) {
  const S2TouchPoint *point = s2_flow_nearest(touch, resting);
  return point == NULL ? INFINITY : point->at.gap;
}

double s2_flow_gap(const S2Flow *flow, const S2Touch *touch, const S2Resting *resting, double s) {
  S2Touch there = *touch;
  collide_at(flow, &there, s);
  return gap_of(&there, resting);
}

// A root between two times, the gap being above 0 at the first and below at the second; from
// before it.
static double flow_narrow(const S2Flow *flow, const S2Touch *touch, const S2Resting *resting,
                          double lo, double hi, double gap_lo, double gap_hi) {
  int side = 0;
  for (int i = 0; i < NARROWINGS && hi - lo > 1e-15 * flow->until; i++) {
    double fraction = isfinite(gap_lo) && i % 8 < 6 ? gap_lo / (gap_lo - gap_hi) : 0.5;
    double s = lo + (hi - lo) * fraction;
    double gap = s2_flow_gap(flow, touch, resting, s);
    if (gap > S2_EVENT_MET * flow->slop) { // Illinois: halve the other end when one stays twice
      gap_hi = side == 1 ? gap_hi / 2 : gap_hi;
      lo = s, gap_lo = gap, side = 1;
    } else if (gap < -S2_EVENT_MET * flow->slop) {
      gap_lo = side == 2 ? gap_lo / 2 : gap_lo;
      hi = s, gap_hi = gap, side = 2;
    } else {
      return s;
    }
  }
  return isfinite(gap_lo) ? lo : hi; // where there was no point before, it is there
}

// Does it overlap at the end? Then when it began.
static double meet_by_end(const S2Flow *flow, const S2Touch *touch, const S2Resting *resting,
                          const S2Touch *end, double from, double gap) {
  double gap_end =
      end != NULL ? gap_of(end, resting) : s2_flow_gap(flow, touch, resting, flow->until);
  if (gap_end >= -PRESSED * flow->slop) {
    return INFINITY;
  }
  return gap <= 0 ? from : flow_narrow(flow, touch, resting, from, flow->until, gap, gap_end);
}

double s2_flow_meet(const S2Flow *flow, const S2Touch *touch, const S2Resting *resting,
                    const S2Touch *end) {
  const S2TouchPoint *point = s2_flow_nearest(touch, resting);
  if (point == NULL && touch->count == 0) {
    return meet_by_end(flow, touch, resting, end, 0, INFINITY);
  }
  // What can be said without a search.
  double gap = point == NULL ? INFINITY : point->at.gap, s = 0;
  if (resting->count > 0) { // nothing can be said of all vertices, as some rest
    return gap > flow->slop ? meet_by_end(flow, touch, resting, end, 0, gap) : INFINITY;
  }
  if (gap < -flow->slop) { // it leaves an overlap
    return INFINITY;
  }
  // What touches at the start first leaves.
  S2Touch there = *touch;
  s2_flow_place(flow, touch->body_a, 0);
  s2_flow_place(flow, touch->body_b, 0);
  if (gap <= flow->slop) {
    s = S2_EVENT_LEAVING * flow->until;
    collide_at(flow, &there, s);
    point = s2_flow_nearest(&there, resting);
  }
  // Conservative advancement: as long as the gap cannot close, the shapes move freely.
  for (int i = 0; i < ADVANCES && point != NULL; i++) {
    gap = point->at.gap;
    double more = free_time(flow, &there, point, s);
    if (s + more >= flow->until) {
      return INFINITY;
    }
    s += more;
    // Closed: that is a meeting only if they approach there.
    if (gap <= S2_EVENT_MET * flow->slop) {
      Rim a = rim_at(flow, touch->shape_a, touch->body_a, s);
      Rim b = rim_at(flow, touch->shape_b, touch->body_b, s);
      S2Vec2 n = point->at.normal, arm_a = point->at.point, arm_b = point->arm_b;
      double u = s2_dot(n, s2_vec2(a.v[1] - b.v[1], a.v[2] - b.v[2])) +
                 s2_cross(arm_a, n) * a.v[0] - s2_cross(arm_b, n) * b.v[0];
      return u < 0 ? s : meet_by_end(flow, touch, resting, end, s, gap);
    }
    collide_at(flow, &there, s);
    point = s2_flow_nearest(&there, resting);
  }
  return meet_by_end(flow, touch, resting, end, s, gap);
}
