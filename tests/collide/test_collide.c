// Narrow phase: manifolds, distances and rays, compared with brute force and with their
// definitions.

#include "base/rng.h"
#include "collide/collide.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MOST = 12 }; // vertices of a random polygon

typedef struct Body {
  S2Vec2 vertices[MOST];
  S2Shape shape;
  S2Pose pose;
} Body;

static void assert_near(double value, double expected, double tolerance) {
  if (!(fabs(value - expected) <= tolerance)) {
    fail_msg("%.17g is not %.17g within %g", value, expected, tolerance);
  }
}

static double random_in(S2Rng *rng, double lo, double hi) {
  return lo + (hi - lo) * s2_rng_uniform(rng);
}

static S2Vec2 random_point(S2Rng *rng, double size) {
  double x = random_in(rng, -size, size);
  return s2_vec2(x, random_in(rng, -size, size));
}

// Circle, segment, capsule, polygon or rounded polygon, of about `size`, within `spread` of
// `about`. Every other one is axis-aligned on a grid, so that ties and touching occur.
static bool try_body(Body *body, S2Rng *rng, double size, S2Vec2 about, double spread) {
  int kind = (int)s2_rng_integer(rng, 0, 4);
  double radius = kind == 1 || kind == 3 ? 0 : size * random_in(rng, 0.05, 0.6);
  int count = 0;
  bool grid = s2_rng_integer(rng, 0, 1) == 0;
  S2Vec2 points[MOST];
  do {
    int most = kind < 3 ? 2 : (int)s2_rng_integer(rng, 3, MOST);
    for (int i = 0; i < most; i++) {
      points[i] = random_point(rng, size);
      if (grid) {
        points[i].x = size * floor(4 * points[i].x / size) / 4;
        points[i].y = size * floor(4 * points[i].y / size) / 4;
      }
    }
    int hull = s2_hull(points, most, body->vertices);
    count = kind == 0 ? 1 : hull;
  } while (count < (kind == 0 ? 1 : kind < 3 ? 2 : 3));
  body->shape = (S2Shape){.vertices = body->vertices, .count = count, .radius = radius};
  body->pose = s2_pose(random_in(rng, -4, 4), 0, 0);
  S2Vec2 offset = random_point(rng, spread);
  if (grid) {
    body->pose = s2_pose(0, 0, 0);
    offset = s2_vec2(size * floor(4 * offset.x / size) / 4, size * floor(4 * offset.y / size) / 4);
    body->shape.radius = size * floor(8 * radius / size) / 8;
    if (count == 1 && body->shape.radius == 0) {
      body->shape.radius = size / 8;
    }
  }
  body->pose.position = s2_add(about, offset);
  return s2_shape_check(&body->shape).code == S2_OK;
}

static void random_body(Body *body, S2Rng *rng, double size, S2Vec2 about, double spread) {
  while (!try_body(body, rng, size, about, spread)) { // too thin
  }
}

static void random_pair(Body pair[2], S2Rng *rng, double size) {
  random_body(&pair[0], rng, size, s2_vec2(0, 0), 0.5 * size);
  random_body(&pair[1], rng, size * random_in(rng, 0.3, 3), pair[0].pose.position, 3 * size);
  if (s2_rng_integer(rng, 0, 9) == 0) { // exactly the same body at the same place
    pair[1] = pair[0];
    pair[1].shape.vertices = pair[1].vertices;
  }
}

static S2Vec2 vertex(const Body *body, int i) {
  return s2_pose_point(body->pose, body->shape.vertices[i % body->shape.count]);
}

static double size_of(const Body pair[2]) {
  return s2_shape_reach(&pair[0].shape) + s2_shape_reach(&pair[1].shape) +
         s2_length(s2_sub(pair[1].pose.position, pair[0].pose.position));
}

// ---- Brute force ------------------------------------------------------------------------------

static double point_to_edge(S2Vec2 p, S2Vec2 a, S2Vec2 b) {
  S2Vec2 along = s2_sub(b, a);
  double length2 = s2_length2(along);
  double t = length2 > 0 ? fmin(fmax(s2_dot(s2_sub(p, a), along) / length2, 0), 1) : 0;
  return s2_length(s2_sub(p, s2_add_scaled(a, t, along)));
}

static double core_distance(const Body pair[2]) {
  double least = INFINITY;
  for (int k = 0; k < 2; k++) {
    const Body *p = &pair[k], *q = &pair[1 - k];
    for (int i = 0; i < p->shape.count; i++) {
      for (int j = 0; j < q->shape.count; j++) {
        least = fmin(least, point_to_edge(vertex(p, i), vertex(q, j), vertex(q, j + 1)));
      }
    }
  }
  return least;
}

// The gap of the cores along a unit direction from b to a; negative: overlap.
static double core_gap_along(const Body pair[2], S2Vec2 n) {
  double lowest = INFINITY, highest = -INFINITY;
  for (int i = 0; i < pair[0].shape.count; i++) {
    lowest = fmin(lowest, s2_dot(n, s2_sub(vertex(&pair[0], i), pair[0].pose.position)));
  }
  for (int i = 0; i < pair[1].shape.count; i++) {
    highest = fmax(highest, s2_dot(n, s2_sub(vertex(&pair[1], i), pair[0].pose.position)));
  }
  return lowest - highest;
}

// The least translation that separates overlapping cores is along a normal of one of them.
static double best_core_gap(const Body pair[2]) {
  double best = -INFINITY;
  for (int k = 0; k < 2; k++) {
    for (int i = 0; pair[k].shape.count > 1 && i < pair[k].shape.count; i++) {
      S2Vec2 n = s2_right(s2_sub(vertex(&pair[k], i + 1), vertex(&pair[k], i)));
      n = s2_scale((k == 0 ? -1 : 1) / s2_length(n), n);
      best = fmax(best, core_gap_along(pair, n));
    }
  }
  return best;
}

static bool cores_overlap(const Body pair[2], double tolerance) {
  // Collinear or crossing segments and points have no area: only their distance is compared.
  bool flat = pair[0].shape.count <= 2 && pair[1].shape.count <= 2;
  double best = best_core_gap(pair);
  if (!flat) {
    return best < -tolerance;
  }
  if (pair[0].shape.count == 1 || pair[1].shape.count == 1) {
    return false;
  }
  S2Vec2 n = s2_sub(vertex(&pair[0], 1), vertex(&pair[0], 0));
  n = s2_scale(1 / s2_length(n), n);
  return best < -tolerance && core_gap_along(pair, n) < 0 && core_gap_along(pair, s2_neg(n)) < 0;
}

static void test_distance_against_brute_force(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(11);
  int overlapping = 0;
  for (int trial = 0; trial < 60000; trial++) {
    Body pair[2];
    double size = pow(10, (double)s2_rng_integer(&rng, -4, 4));
    random_pair(pair, &rng, size);
    double tolerance = 1e-12 * size_of(pair);
    double radii = pair[0].shape.radius + pair[1].shape.radius;
    S2Closest closest = s2_closest(&pair[0].shape, pair[0].pose, &pair[1].shape, pair[1].pose);
    bool overlap = cores_overlap(pair, tolerance);
    overlapping += overlap;
    double expected = overlap ? best_core_gap(pair) : core_distance(pair);
    assert_near(closest.distance, expected - radii, 50 * tolerance);
    assert_near(s2_length(closest.normal), 1, 1e-14);
    S2Vec2 between = s2_sub(closest.point_a, closest.point_b);
    assert_near(s2_dot(between, closest.normal), closest.distance, tolerance);
    assert_near(s2_cross(between, closest.normal), 0, tolerance);
    // The distance is the largest gap over all directions: none separates further.
    for (int k = 0; k < 16; k++) {
      double angle = random_in(&rng, -4, 4);
      double gap = core_gap_along(pair, s2_vec2(cos(angle), sin(angle)));
      assert_true(gap - radii <= closest.distance + tolerance);
    }
    if (!overlap && expected > 1e-9 * size) {
      assert_near(core_gap_along(pair, closest.normal), expected, 100 * tolerance);
    }
  }
  assert_in_range(overlapping, 5000, 40000);
}

// ---- Properties of manifolds ------------------------------------------------------------------

static void collide(const Body pair[2], double reach, S2Manifold *manifold) {
  s2_collide(&pair[0].shape, pair[0].pose, &pair[1].shape, pair[1].pose, reach, manifold);
}

// An edge point must have its vertex in front of the edge, not to the side of it.
static void assert_in_front(const Body pair[2], const S2ManifoldPoint *point, double tolerance) {
  bool edge_is_a = point->feature == S2_EDGE_A;
  const Body *edge = &pair[edge_is_a ? 0 : 1], *other = &pair[edge_is_a ? 1 : 0];
  S2Vec2 v = s2_pose_point(other->pose, edge_is_a ? point->local_b : point->local_a);
  S2Vec2 local = s2_pose_local(edge->pose, v);
  S2Vec2 along = s2_left(point->local_normal);
  double lowest = INFINITY, highest = -INFINITY, support = -INFINITY;
  for (int i = 0; i < edge->shape.count; i++) {
    support = fmax(support, s2_dot(point->local_normal, edge->shape.vertices[i]));
  }
  for (int i = 0; i < edge->shape.count; i++) { // the ends of the edge are the extreme vertices
    if (s2_dot(point->local_normal, edge->shape.vertices[i]) >= support - tolerance) {
      lowest = fmin(lowest, s2_dot(along, edge->shape.vertices[i]));
      highest = fmax(highest, s2_dot(along, edge->shape.vertices[i]));
    }
  }
  double at = s2_dot(along, local);
  assert_true(highest > lowest);
  assert_true(at >= lowest - tolerance && at <= highest + tolerance);
}

static void test_manifold_properties(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(12);
  int twos = 0;
  for (int trial = 0; trial < 60000; trial++) {
    Body pair[2];
    double size = pow(10, (double)s2_rng_integer(&rng, -4, 4));
    random_pair(pair, &rng, size);
    double tolerance = 1e-9 * size_of(pair);
    double reach = size * random_in(&rng, 0, 2);
    S2Closest closest = s2_closest(&pair[0].shape, pair[0].pose, &pair[1].shape, pair[1].pose);
    S2Manifold manifold;
    collide(pair, reach, &manifold);
    twos += manifold.count == 2;
    assert_int_equal(manifold.count > 0, closest.distance <= reach);
    double least = INFINITY;
    double radii = pair[0].shape.radius + pair[1].shape.radius;
    for (int k = 0; k < manifold.count; k++) {
      const S2ManifoldPoint *point = &manifold.points[k];
      least = fmin(least, point->gap);
      assert_true(point->gap <= reach);
      assert_near(s2_length(point->normal), 1, 1e-14);
      assert_true(isfinite(point->point.x) && isfinite(point->point.y));
      if (closest.distance + radii > tolerance && point->feature != S2_VERTEX_VERTEX) {
        assert_in_front(pair, point, tolerance);
      }
      S2ManifoldPoint again = *point; // updating a point whose bodies did not move changes nothing
      s2_manifold_point_update(&again, &pair[0].shape, pair[0].pose, &pair[1].shape, pair[1].pose);
      assert_memory_equal(&again.normal, &point->normal, sizeof again.normal);
      assert_memory_equal(&again.point, &point->point, sizeof again.point);
      assert_true(again.gap == point->gap);
    }
    if (manifold.count > 0) {
      assert_near(least, closest.distance, tolerance);
    }
    if (manifold.count == 2) {
      assert_int_not_equal(manifold.points[0].id, manifold.points[1].id);
    }
  }
  assert_in_range(twos, 10000, 50000);
}

static bool mirrored(const S2ManifoldPoint *p, const S2ManifoldPoint *q, S2Vec2 offset,
                     double size) {
  return fabs(p->gap - q->gap) <= 1e-9 * size && s2_length(s2_add(p->normal, q->normal)) <= 1e-6 &&
         s2_length(s2_sub(s2_sub(p->point, offset), q->point)) <= 1e-6 * size;
}

static void test_swap(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(13);
  int compared = 0;
  for (int trial = 0; trial < 30000; trial++) {
    Body pair[2];
    random_pair(pair, &rng, 1);
    // On a grid two directions can be equally good: the chosen one may depend on the order.
    if (pair[0].pose.rotation.s == 0 || pair[1].pose.rotation.s == 0 ||
        pair[0].pose.rotation.s == pair[1].pose.rotation.s) {
      continue;
    }
    Body swapped[2] = {pair[1], pair[0]};
    swapped[0].shape.vertices = swapped[0].vertices;
    swapped[1].shape.vertices = swapped[1].vertices;
    S2Manifold m, w;
    collide(pair, 1, &m);
    collide(swapped, 1, &w);
    assert_int_equal(m.count, w.count);
    S2Vec2 offset = s2_sub(pair[1].pose.position, pair[0].pose.position);
    for (int k = 0; k < m.count; k++) {
      bool found = false;
      for (int l = 0; l < w.count; l++) {
        found = found || mirrored(&m.points[k], &w.points[l], offset, size_of(pair));
      }
      assert_true(found);
      compared += 1;
    }
  }
  assert_true(compared > 3000);
}

// The rate of a gap is n.(velocity of a's point - velocity of b's point), with arms from the body
// centres to `point`: the Jacobian rows of the step rely on it.
static void test_gap_rate(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(14);
  int seen[3] = {0};
  for (int trial = 0; trial < 20000; trial++) {
    Body pair[2];
    random_pair(pair, &rng, 1);
    S2Manifold manifold;
    collide(pair, 2, &manifold);
    for (int k = 0; k < manifold.count; k++) {
      S2ManifoldPoint point = manifold.points[k];
      double core = point.gap + pair[0].shape.radius + pair[1].shape.radius;
      if (point.feature == S2_VERTEX_VERTEX && fabs(core) < 1e-2) {
        continue; // too curved for the step of the difference
      }
      seen[point.feature] += 1;
      for (int body = 0; body < 2; body++) {
        S2Vec2 centre = s2_sub(pair[body].pose.position, pair[0].pose.position);
        S2Vec2 arm = s2_sub(point.point, centre);
        double sign = body == 0 ? 1 : -1;
        double rates[3] = {sign * s2_cross(arm, point.normal), sign * point.normal.x,
                           sign * point.normal.y};
        for (int direction = 0; direction < 3; direction++) {
          double step = 1e-6, gaps[2];
          for (int end = 0; end < 2; end++) {
            S2Pose poses[2] = {pair[0].pose, pair[1].pose};
            double moved = end == 0 ? -step : step;
            if (direction == 0) {
              S2Rot turn = s2_rot(moved), r = poses[body].rotation;
              poses[body].rotation =
                  (S2Rot){r.c * turn.c - r.s * turn.s, r.s * turn.c + r.c * turn.s};
            } else if (direction == 1) {
              poses[body].position.x += moved;
            } else {
              poses[body].position.y += moved;
            }
            S2ManifoldPoint p = point;
            s2_manifold_point_update(&p, &pair[0].shape, poses[0], &pair[1].shape, poses[1]);
            gaps[end] = p.gap;
          }
          assert_near((gaps[1] - gaps[0]) / (2 * step), rates[direction], 2e-7);
        }
      }
    }
  }
  assert_true(seen[0] > 1000 && seen[1] > 1000 && seen[2] > 1000);
}

// Moving the bodies apart along the normal by the overlap makes them just touch.
static void test_separation(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(15);
  int separated = 0;
  for (int trial = 0; trial < 30000; trial++) {
    Body pair[2];
    random_pair(pair, &rng, 1);
    S2Manifold manifold;
    collide(pair, 0, &manifold);
    if (manifold.count == 0) {
      continue;
    }
    S2ManifoldPoint deepest = manifold.points[0];
    if (manifold.count == 2 && manifold.points[1].gap < deepest.gap) {
      deepest = manifold.points[1];
    }
    pair[0].pose.position = s2_add_scaled(pair[0].pose.position, -deepest.gap, deepest.normal);
    S2Closest closest = s2_closest(&pair[0].shape, pair[0].pose, &pair[1].shape, pair[1].pose);
    assert_near(closest.distance, 0, 1e-9 * size_of(pair));
    separated += 1;
  }
  assert_true(separated > 5000);
}

// Far from the origin a pair gives the same result, as long as the positions are exact.
static void test_far_from_origin(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(16);
  for (int trial = 0; trial < 5000; trial++) {
    Body pair[2];
    random_pair(pair, &rng, 1);
    S2Manifold near, far;
    for (int k = 0; k < 2; k++) { // to multiples of 2^-24: exact up to 1e6 and more
      S2Vec2 *p = &pair[k].pose.position;
      *p = s2_vec2(floor(p->x * 0x1p24) * 0x1p-24, floor(p->y * 0x1p24) * 0x1p-24);
    }
    collide(pair, 1, &near);
    for (int k = 0; k < 2; k++) {
      pair[k].pose.position = s2_add(pair[k].pose.position, s2_vec2(1048576, -3145728));
    }
    collide(pair, 1, &far);
    assert_int_equal(near.count, far.count);
    for (int k = 0; k < near.count; k++) {
      assert_true(near.points[k].gap == far.points[k].gap);
      assert_true(near.points[k].id == far.points[k].id);
    }
  }
}

// Sizes from 1e-6 to 1e6 in pairs, up to 1e6 from the origin.
static void test_mixed_sizes(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(19);
  for (int trial = 0; trial < 100000; trial++) {
    Body pair[2];
    S2Vec2 about = random_point(&rng, trial % 2 ? 1e6 : 0);
    double sizes[2] = {pow(10, random_in(&rng, -5, 5.5)), pow(10, random_in(&rng, -5, 5.5))};
    double size = sizes[0] + sizes[1];
    random_body(&pair[0], &rng, sizes[0], about, 0);
    random_body(&pair[1], &rng, sizes[1], pair[0].pose.position, size);
    S2Manifold m;
    collide(pair, size * random_in(&rng, 0, 1), &m);
    S2Closest c = s2_closest(&pair[0].shape, pair[0].pose, &pair[1].shape, pair[1].pose);
    S2Closest d = s2_closest(&pair[1].shape, pair[1].pose, &pair[0].shape, pair[0].pose);
    assert_near(c.distance, d.distance, 1e-12 * size);
    assert_near(s2_length(c.normal), 1, 1e-14);
    for (int k = 0; k < m.count; k++) {
      assert_true(m.points[k].gap >= c.distance - 1e-9 * size);
      assert_near(s2_length(m.points[k].normal), 1, 1e-14);
      assert_true(isfinite(m.points[k].point.x) && isfinite(m.points[k].point.y));
    }
  }
}

// Positions that are not finite must not crash the narrow phase.
static void test_not_a_number(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(20);
  const double bad[] = {NAN, INFINITY, -INFINITY};
  for (size_t trial = 0; trial < 3000; trial++) {
    Body pair[2];
    random_pair(pair, &rng, 1);
    double *numbers[] = {&pair[0].pose.position.x, &pair[1].pose.position.y,
                         &pair[0].pose.rotation.c, &pair[1].pose.rotation.s};
    *numbers[trial % 4] = bad[trial / 4 % 3];
    S2Manifold m;
    collide(pair, 1, &m);
    assert_int_equal(m.count, 0);
    S2Closest c = s2_closest(&pair[0].shape, pair[0].pose, &pair[1].shape, pair[1].pose);
    assert_true(!isfinite(c.distance));
  }
}

// ---- Known manifolds --------------------------------------------------------------------------

static const S2Vec2 GROUND[] = {{-50, -1}, {50, -1}, {50, 0}, {-50, 0}};
static const S2Vec2 BOX[] = {{-0.5, -0.5}, {0.5, -0.5}, {0.5, 0.5}, {-0.5, 0.5}};

static S2Shape view(const S2Vec2 *vertices, int count, double radius) {
  return (S2Shape){.vertices = vertices, .count = count, .radius = radius};
}

static void test_box_on_ground(void **state) {
  (void)state;
  S2Shape ground = view(GROUND, 4, 0), box = view(BOX, 4, 0);
  const double gaps[] = {-1e-3, -1e-9, 0, 1e-12, 1e-3, 1e-2, 0.1};
  for (int k = 0; k < 7; k++) {
    for (int order = 0; order < 2; order++) {
      S2Pose pose = s2_pose(0, 7.25, 0.5 + gaps[k]);
      S2Manifold m;
      if (order == 0) {
        s2_collide(&ground, s2_pose(0, 0, 0), &box, pose, 0.5, &m);
      } else {
        s2_collide(&box, pose, &ground, s2_pose(0, 0, 0), 0.5, &m);
      }
      assert_int_equal(m.count, 2);
      double xs = 0;
      for (int i = 0; i < 2; i++) {
        const S2ManifoldPoint *p = &m.points[i];
        assert_int_equal(p->feature, order == 0 ? S2_EDGE_A : S2_EDGE_B);
        assert_near(p->gap, gaps[k], 2.3e-16);
        assert_true(p->normal.x == 0 && p->normal.y == (order == 0 ? -1 : 1));
        double x = p->point.x - (order == 0 ? 7.25 : 0);
        assert_near(fabs(x), 0.5, 1e-15);
        xs += x;
        assert_near(p->point.y + (order == 0 ? 0 : pose.position.y), gaps[k] / 2, 2.3e-16);
      }
      assert_near(xs, 0, 1e-15);
    }
  }
}

static void test_box_corner_down(void **state) {
  (void)state;
  S2Shape ground = view(GROUND, 4, 0), box = view(BOX, 4, 0);
  double tilt = 0.3;
  double half = sqrt(0.5) * cos(atan(1) - tilt); // height of the centre above the lowest corner
  S2Pose pose = s2_pose(tilt, 0, half + 0.01);
  S2Manifold m;
  s2_collide(&ground, s2_pose(0, 0, 0), &box, pose, 0.2, &m);
  assert_int_equal(m.count, 1);
  assert_near(m.points[0].gap, 0.01, 1e-15);
  s2_collide(&ground, s2_pose(0, 0, 0), &box, pose, 0.4, &m);
  assert_int_equal(m.count, 2);
  assert_near(fmax(m.points[0].gap, m.points[1].gap), 0.01 + sin(tilt), 1e-15);
}

static void test_boxes_overhanging(void **state) {
  (void)state;
  S2Shape box = view(BOX, 4, 0);
  for (int order = 0; order < 2; order++) {
    S2Pose low = s2_pose(0, 0, 0), high = s2_pose(0, 0.25, 1.125);
    S2Manifold m;
    s2_collide(&box, order ? high : low, &box, order ? low : high, 1, &m);
    assert_int_equal(m.count, 2);
    assert_true(m.points[0].feature != m.points[1].feature); // one end vertex of each edge
    assert_true(m.points[0].gap == 0.125 && m.points[1].gap == 0.125);
  }
  S2Manifold m; // past the corner: two vertices, and no other point at any margin
  s2_collide(&box, s2_pose(0, 0, 0), &box, s2_pose(0, 1.3, 1.4), 10, &m);
  assert_int_equal(m.count, 1);
  assert_int_equal(m.points[0].feature, S2_VERTEX_VERTEX);
  assert_near(m.points[0].gap, 0.5, 1e-15);
  assert_near(m.points[0].normal.x, -0.6, 1e-15);
}

static void test_stack_keeps_ids(void **state) {
  (void)state;
  S2Shape box = view(BOX, 4, 0);
  S2Rng rng = s2_rng_seeded(17);
  S2Manifold first, m;
  s2_collide(&box, s2_pose(0, 0, 0), &box, s2_pose(0, 0, 1), 0.1, &first);
  assert_int_equal(first.count, 2);
  for (int trial = 0; trial < 1000; trial++) {
    double e = 1e-12;
    S2Pose high =
        s2_pose(random_in(&rng, -e, e), random_in(&rng, -e, e), 1 + random_in(&rng, -e, e));
    s2_collide(&box, s2_pose(0, 0, 0), &box, high, 0.1, &m);
    assert_int_equal(m.count, 2);
    for (int k = 0; k < 2; k++) {
      assert_true(m.points[k].id == first.points[0].id || m.points[k].id == first.points[1].id);
    }
  }
}

static void test_round_shapes(void **state) {
  (void)state;
  S2Vec2 zero[] = {{0, 0}}, rod[] = {{-1, 0}, {1, 0}};
  S2Shape circle = view(zero, 1, 0.5), capsule = view(rod, 2, 0.25), box = view(BOX, 4, 0);
  S2Shape ground = view(GROUND, 4, 0);
  S2Manifold m;
  s2_collide(&circle, s2_pose(1, 3, 4), &circle, s2_pose(2, 3, 4), 0, &m); // equal centres
  assert_int_equal(m.count, 1);
  assert_true(m.points[0].gap == -1 && m.points[0].normal.x == 0 && m.points[0].normal.y == 1);
  s2_collide(&capsule, s2_pose(0, 0, 0.26), &ground, s2_pose(0, 0, 0), 1, &m); // lying
  assert_int_equal(m.count, 2);
  assert_near(m.points[0].gap, 0.01, 1e-16);
  assert_near(m.points[1].gap, 0.01, 1e-16);
  s2_collide(&circle, s2_pose(0, 0, 0.3), &box, s2_pose(0, 0, 0), 0, &m); // centre inside
  assert_int_equal(m.count, 1);
  assert_int_equal(m.points[0].feature, S2_EDGE_B);
  assert_near(m.points[0].gap, -0.7, 1e-15);
  assert_near(m.points[0].normal.y, 1, 1e-15);
  s2_collide(&circle, s2_pose(0, 0.8, 0.9), &box, s2_pose(0, 0, 0), 1, &m); // at a corner
  assert_int_equal(m.points[0].feature, S2_VERTEX_VERTEX);
  assert_near(m.points[0].gap, 0, 1e-15);
  s2_collide(&capsule, s2_pose(0, 0, 0), &capsule, s2_pose(0, 2.5, 0), 1, &m); // end to end
  assert_int_equal(m.count, 1);
  assert_int_equal(m.points[0].feature, S2_VERTEX_VERTEX);
  assert_near(m.points[0].gap, 0, 1e-16);
  assert_near(m.points[0].normal.x, -1, 1e-16);
  // Two vertices keep the direction of their normal after they have passed each other.
  s2_collide(&circle, s2_pose(0, 0, 0), &circle, s2_pose(0, 0.1, 0), 0, &m);
  s2_manifold_point_update(&m.points[0], &circle, s2_pose(0, 0, 0), &circle, s2_pose(0, -0.1, 0));
  assert_near(m.points[0].gap, -1.1, 1e-15);
  assert_near(m.points[0].normal.x, -1, 1e-15);
}

// ---- Rays -------------------------------------------------------------------------------------

static void test_rays(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(18);
  int hits = 0;
  for (int trial = 0; trial < 20000; trial++) {
    Body body;
    random_body(&body, &rng, 1, s2_vec2(0, 0), 1);
    S2Vec2 from = random_point(&rng, 4), to = random_point(&rng, 4);
    S2RayHit hit = s2_shape_raycast(&body.shape, body.pose, from, to);
    bool starts_inside = s2_shape_contains(&body.shape, body.pose, from);
    double until = hit.hit ? hit.fraction - 1e-9 : 1;
    // the ray passes through no body before the hit
    for (int k = 0; k < 100 && !starts_inside; k++) {
      S2Vec2 p = s2_add_scaled(from, until * k / 99, s2_sub(to, from));
      assert_false(s2_shape_contains(&body.shape, body.pose, p));
    }
    if (!hit.hit) {
      continue;
    }
    hits += 1;
    assert_false(starts_inside);
    assert_true(hit.fraction >= 0 && hit.fraction <= 1);
    assert_near(s2_length(hit.normal), 1, 1e-12);
    assert_true(s2_dot(hit.normal, s2_sub(to, from)) <= 1e-12);
    S2Vec2 zero = {0, 0}; // a tiny ball at the hit touches the shape from outside
    S2Shape probe = {.vertices = &zero, .count = 1, .radius = 1e-3};
    S2Vec2 at = s2_add_scaled(hit.point, 1e-3, hit.normal);
    S2Closest closest = s2_closest(&probe, (S2Pose){at, {1, 0}}, &body.shape, body.pose);
    assert_near(closest.distance, 0, 1e-12);
  }
  assert_in_range(hits, 2000, 18000);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_distance_against_brute_force),
      cmocka_unit_test(test_manifold_properties),
      cmocka_unit_test(test_swap),
      cmocka_unit_test(test_gap_rate),
      cmocka_unit_test(test_separation),
      cmocka_unit_test(test_far_from_origin),
      cmocka_unit_test(test_mixed_sizes),
      cmocka_unit_test(test_not_a_number),
      cmocka_unit_test(test_box_on_ground),
      cmocka_unit_test(test_box_corner_down),
      cmocka_unit_test(test_boxes_overhanging),
      cmocka_unit_test(test_stack_keeps_ids),
      cmocka_unit_test(test_round_shapes),
      cmocka_unit_test(test_rays),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
