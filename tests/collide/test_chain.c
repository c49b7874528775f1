// Terrain chains: bodies over joints of every bend have the contacts of the terrain and no others.

#include "base/rng.h"
#include "collide/collide.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { POINTS = 8, SEGMENTS = POINTS - 1 };

static const double PI = 3.14159265358979323846;

// Sines of angles by which a normal may leave the cone of its joint: for two vertices rounding
// only, for an edge that rests on a joint a part of the bend.
static const double ROUNDING = 1e-11;
static const double EDGE_TILT = 0.01 + 1e-11;

typedef struct Chain {
  S2Vec2 points[POINTS];
  S2Shape segments[SEGMENTS];
} Chain;

static double random_in(S2Rng *rng, double lo, double hi) {
  return lo + (hi - lo) * s2_rng_uniform(rng);
}

// Segments of length 0.3 to 1.5, each turned relative to the one before by `bend` rad (times 1, -1
// or 0 where `mixed`); the middle of the chain is at the origin.
static void chain_make(Chain *chain, S2Rng *rng, double bend, bool mixed, bool reversed) {
  double angle = -bend * (SEGMENTS / 2);
  S2Vec2 at = {0, 0};
  for (int i = 0; i < POINTS; i++) {
    chain->points[i] = at;
    double length = random_in(rng, 0.3, 1.5);
    at = s2_add(at, s2_scale(length, s2_vec2(cos(angle), sin(angle))));
    angle += mixed ? bend * (double)s2_rng_integer(rng, -1, 1) : bend;
  }
  S2Vec2 middle = chain->points[POINTS / 2];
  for (int i = 0; i < POINTS; i++) {
    chain->points[i] = s2_sub(chain->points[i], middle);
  }
  for (int i = 0; reversed && i < POINTS / 2; i++) {
    S2Vec2 kept = chain->points[i];
    chain->points[i] = chain->points[POINTS - 1 - i];
    chain->points[POINTS - 1 - i] = kept;
  }
  for (int i = 0; i < SEGMENTS; i++) {
    S2Shape *s = &chain->segments[i];
    *s = (S2Shape){.vertices = &chain->points[i], .count = 2};
    s->has_previous = i > 0;
    s->has_next = i + 1 < SEGMENTS;
    s->previous = chain->points[i > 0 ? i - 1 : 0];
    s->next = chain->points[i + 2 < POINTS ? i + 2 : 0];
  }
}

typedef struct Found {
  S2ManifoldPoint point; // the segment is b
  int segment;
} Found;

// Every segment against the body, the body being a or b in turn; all contacts are returned with the
// body as a.
static int contacts(const Chain *chain, const S2Shape *body, S2Pose pose, double reach, bool swap,
                    Found *found) {
  S2Pose origin = s2_pose(0, 0, 0);
  int count = 0;
  for (int i = 0; i < SEGMENTS; i++) {
    S2Manifold m;
    if (swap && i % 2) {
      s2_collide(&chain->segments[i], origin, body, pose, reach, &m);
    } else {
      s2_collide(body, pose, &chain->segments[i], origin, reach, &m);
    }
    for (int k = 0; k < m.count; k++) {
      S2ManifoldPoint p = m.points[k];
      if (swap && i % 2) {
        S2Vec2 local = p.local_a;
        p.local_a = p.local_b;
        p.local_b = local;
        p.normal = s2_neg(p.normal);
        p.feature = p.feature == S2_EDGE_A   ? S2_EDGE_B
                    : p.feature == S2_EDGE_B ? S2_EDGE_A
                                             : S2_VERTEX_VERTEX;
      }
      found[count++] = (Found){p, i};
    }
  }
  return count;
}

static int joint_of(const Chain *chain, const Found *f) {
  S2Vec2 v = f->point.local_b;
  return v.x == chain->points[f->segment].x && v.y == chain->points[f->segment].y ? f->segment
                                                                                  : f->segment + 1;
}

static void assert_in_cone(const Chain *chain, const Found *f) {
  S2Vec2 d = f->point.normal; // from the chain to the body
  int at = joint_of(chain, f);
  if (f->point.feature == S2_EDGE_B) { // a face of the chain: its own normal
    S2Vec2 along = s2_sub(chain->points[f->segment + 1], chain->points[f->segment]);
    assert_true(fabs(s2_dot(d, along)) <= 1e-12);
    return;
  }
  if (at == 0 || at == POINTS - 1) {
    return;
  }
  double slack = f->point.feature == S2_VERTEX_VERTEX ? ROUNDING : EDGE_TILT;
  S2Vec2 in = s2_sub(chain->points[at], chain->points[at - 1]);
  S2Vec2 out = s2_sub(chain->points[at + 1], chain->points[at]);
  assert_true(s2_dot(d, in) >= -slack * s2_length(in));
  assert_true(s2_dot(d, out) <= slack * s2_length(out));
}

static const S2Vec2 BALL[] = {{0, 0}};
static const S2Vec2 ROD[] = {{-0.5, 0}, {0.5, 0}};
static const S2Vec2 BOX[] = {{-0.4, -0.3}, {0.4, -0.3}, {0.4, 0.3}, {-0.4, 0.3}};
static const S2Vec2 PLANK[] = {{-1.5, -0.1}, {1.5, -0.1}, {1.5, 0.1}, {-1.5, 0.1}};

static S2Shape body_shape(int kind) {
  const S2Vec2 *vertices[] = {BALL, ROD, BOX, PLANK, BOX};
  const int counts[] = {1, 2, 4, 4, 4};
  const double radii[] = {0.3, 0.2, 0, 0, 0.1};
  return (S2Shape){.vertices = vertices[kind], .count = counts[kind], .radius = radii[kind]};
}

// Bodies at a distance from a chain, at random: the nearest point of the whole chain is always
// among the contacts, all directions are in their cones, and no joint is reported twice.
static void test_bends(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(31);
  int met = 0, joints = 0;
  for (int degrees = -60; degrees <= 60; degrees += 5) {
    for (int trial = 0; trial < 2000; trial++) {
      Chain chain;
      chain_make(&chain, &rng, degrees * PI / 180, trial % 4 == 0, trial % 2 == 0);
      S2Shape body = body_shape(trial % 5);
      double angle = trial % 3 == 0 ? 0 : random_in(&rng, -PI, PI);
      double x = random_in(&rng, -1, 1);
      S2Pose pose = s2_pose(angle, x, random_in(&rng, -1.2, 1.2));
      double nearest = INFINITY;
      for (int i = 0; i < SEGMENTS; i++) {
        S2Closest c = s2_closest(&body, pose, &chain.segments[i], s2_pose(0, 0, 0));
        nearest = fmin(nearest, c.distance);
      }
      double reach = random_in(&rng, 0, 0.5);
      Found found[2 * SEGMENTS];
      int count = contacts(&chain, &body, pose, reach, trial % 7 < 3, found);
      double least = INFINITY;
      for (int k = 0; k < count; k++) {
        least = fmin(least, found[k].point.gap);
        assert_in_cone(&chain, &found[k]);
        for (int l = 0; l < k; l++) {
          bool at_joint =
              found[k].point.feature != S2_EDGE_B && found[l].point.feature != S2_EDGE_B;
          if (at_joint && joint_of(&chain, &found[k]) == joint_of(&chain, &found[l])) {
            fail_msg("joint %d is reported by segments %d and %d", joint_of(&chain, &found[k]),
                     found[l].segment, found[k].segment);
          }
        }
        joints += found[k].point.feature != S2_EDGE_B;
      }
      if (nearest > 1e-6 - body.radius) {
        if (nearest > reach) {
          assert_int_equal(count, 0);
        } else if (!(fabs(least - nearest) <= 1e-9)) {
          fail_msg("bend %d: nearest %.17g, contacts start at %.17g", degrees, nearest, least);
        } else {
          met += 1;
        }
      }
    }
  }
  assert_true(met > 10000);
  assert_true(joints > 3000);
}

// A box on a straight chain, a little above or a little below its surface, at every position: two
// rows straight up at its own lower corners, wherever the joints are.
static void test_straight(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(32);
  for (int trial = 0; trial < 20000; trial++) {
    Chain chain;
    chain_make(&chain, &rng, 0, false, trial % 2 == 0);
    S2Shape box = body_shape(2);
    const double gaps[] = {-1e-2, -1e-3, -1e-6, 0, 1e-9, 1e-3, 0.05};
    double gap = gaps[trial % 7];
    bool below = trial % 3 == 0;
    double x = trial % 11 == 0 ? 0.4 : random_in(&rng, -0.4, 0.4); // a corner exactly on the joint
    S2Pose pose = s2_pose(below ? PI : 0, x, below ? -0.3 - gap : 0.3 + gap);
    Found found[2 * SEGMENTS];
    int count = contacts(&chain, &box, pose, 0.25, trial % 5 == 0, found);
    int left = 0, right = 0;
    for (int k = 0; k < count; k++) {
      const S2ManifoldPoint *p = &found[k].point;
      assert_int_equal(p->feature, S2_EDGE_B);
      assert_true(fabs(p->normal.y - (below ? -1 : 1)) < 1e-12);
      assert_true(fabs(p->gap - gap) < 1e-14);
      left += p->local_a.x < 0;
      right += p->local_a.x > 0;
    }
    // Exactly on the joint both neighbours report the corner.
    assert_true(left >= 1 && right >= 1 && count <= (trial % 11 == 0 ? 3 : 2));
  }
}

// A ball rolling over a ridge: exactly one contact at every position, and the gap of the ridge.
static void test_ball_over_ridge(void **state) {
  (void)state;
  S2Vec2 points[] = {{-2, -1}, {0, 0}, {2, -1}};
  S2Shape before = {.vertices = points, .count = 2, .has_next = true, .next = points[2]};
  S2Shape after = {.vertices = points + 1, .count = 2, .has_previous = true, .previous = points[0]};
  S2Shape ball = body_shape(0);
  for (int step = 0; step <= 400; step++) {
    S2Pose pose = s2_pose(0, -0.5 + step / 400.0, 0.4);
    S2Manifold m[2];
    s2_collide(&ball, pose, &before, s2_pose(0, 0, 0), 1, &m[0]);
    s2_collide(&ball, pose, &after, s2_pose(0, 0, 0), 1, &m[1]);
    assert_int_equal(m[0].count + m[1].count, 1);
    double x = fabs(pose.position.x);
    double gap = x <= 0.2 ? s2_length(pose.position) : (x + 2 * 0.4) / sqrt(5);
    double found = m[0].count ? m[0].points[0].gap : m[1].points[0].gap;
    assert_true(fabs(found - (gap - 0.3)) < 1e-14);
  }
}

// A box on a flat hilltop narrower than itself rests on both joints, also when it is tilted a
// little.
static void test_hilltop(void **state) {
  (void)state;
  const double tilts[] = {-5e-3, -1e-6, 0, 1e-9, 2e-3};
  Chain chain = {
      .points = {{-9, -9}, {-4, -4}, {-3, -3}, {-0.2, 0}, {0.2, 0}, {3, -3}, {4, -4}, {9, -9}}};
  for (int i = 0; i < SEGMENTS; i++) {
    S2Shape *s = &chain.segments[i];
    *s = (S2Shape){.vertices = &chain.points[i], .count = 2};
    s->has_previous = i > 0;
    s->has_next = i + 1 < SEGMENTS;
    s->previous = chain.points[i > 0 ? i - 1 : 0];
    s->next = chain.points[i + 2 < POINTS ? i + 2 : 0];
  }
  S2Shape box = body_shape(2);
  for (int k = 0; k < 5; k++) {
    Found found[2 * SEGMENTS];
    int count = contacts(&chain, &box, s2_pose(tilts[k], 0, 0.302), 0.01, false, found);
    assert_int_equal(count, 2);
    assert_int_not_equal(joint_of(&chain, &found[0]), joint_of(&chain, &found[1]));
  }
}

// A box stands with a corner at the end of a segment, up to rounding in both directions: no contact
// is on the far side of the segment.
static void test_corner_at_the_end(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(9);
  for (int trial = 0; trial < 20000; trial++) {
    double tilt = trial % 2 == 0 ? 0 : random_in(&rng, -PI, PI);
    S2Rot turn = s2_rot(tilt);
    bool above = s2_rng_uniform(&rng) < 0.5, right = s2_rng_uniform(&rng) < 0.5;
    // In the frame of the segment, which goes from the origin along x.
    S2Vec2 end = s2_vec2(right ? 1 : 0, 0);
    S2Vec2 centre = s2_vec2(end.x + (right ? 0.1 : -0.1), above ? 0.1 : -0.1);
    centre.x += (double)s2_rng_integer(&rng, -40, 40) * 2.2e-16;
    centre.y += (double)s2_rng_integer(&rng, -40, 40) * 2.2e-16;
    const S2Vec2 ends[2] = {{0, 0}, {1, 0}};
    const S2Vec2 corners[4] = {{-0.1, -0.1}, {0.1, -0.1}, {0.1, 0.1}, {-0.1, 0.1}};
    S2Shape segment = {.vertices = ends, .count = 2};
    segment.has_previous = segment.has_next = trial % 3 == 0;
    segment.previous = s2_vec2(-1, 0);
    segment.next = s2_vec2(2, 0);
    S2Shape box = {.vertices = corners, .count = 4};
    S2Pose at = {{0, 0}, turn}, stands = {s2_rotate(turn, centre), turn};
    S2Manifold manifold;
    for (int swapped = 0; swapped < 2; swapped++) {
      if (swapped) {
        s2_collide(&box, stands, &segment, at, 0.01, &manifold);
      } else {
        s2_collide(&segment, at, &box, stands, 0.01, &manifold);
      }
      for (int k = 0; k < manifold.count; k++) {
        S2Vec2 to_box = s2_scale(swapped ? 1 : -1, manifold.points[k].normal);
        double up = s2_unrotate(turn, to_box).y * (above ? 1 : -1);
        assert_true(up > -1e-9);
      }
    }
  }
}

// A bar lies on a peak, which is on its face up to rounding: no segment of the chain is deeper in
// the bar than the peak, and all contacts push up. If a corner belongs to the neighbour, the
// segment must not report the depth of the bar's far corner behind a side that does not reach that
// corner.
static void test_bar_over_a_peak(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(52);
  S2Pose origin = s2_pose(0, 0, 0);
  for (int trial = 0; trial < 20000; trial++) {
    double left = random_in(&rng, 0.02, 1.2), right = random_in(&rng, 0.02, 1.2);
    S2Vec2 points[] = {{-cos(left), -sin(left)}, {0, 0}, {cos(right), -sin(right)}};
    S2Shape before = {.vertices = points, .count = 2, .has_next = true, .next = points[2]};
    S2Shape after = {
        .vertices = points + 1, .count = 2, .has_previous = true, .previous = points[0]};
    // The bar from -from to length - from along its face, which lies in the cone of the peak.
    double length = random_in(&rng, 0.3, 2), thick = random_in(&rng, 0.02, 0.6);
    double from = random_in(&rng, 0.05, 0.95) * length, deep = pow(10, random_in(&rng, -12, -8));
    double tilt = random_in(&rng, -0.9 * right, 0.9 * left);
    const S2Vec2 corners[4] = {
        {-from, -deep}, {length - from, -deep}, {length - from, thick}, {-from, thick}};
    S2Shape bar = {.vertices = corners, .count = 4};
    S2Manifold m[2];
    s2_collide(&before, origin, &bar, s2_pose(tilt, 0, 0), 0.01, &m[0]);
    s2_collide(&bar, s2_pose(tilt, 0, 0), &after, origin, 0.01, &m[1]);
    assert_true(m[0].count + m[1].count >= 1);
    for (int i = 0; i < 2; i++) {
      for (int k = 0; k < m[i].count; k++) {
        assert_true(m[i].points[k].gap > -1e-7);
        assert_true(m[i].points[k].normal.y * (i == 0 ? -1 : 1) > 0);
      }
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bends),
      cmocka_unit_test(test_straight),
      cmocka_unit_test(test_ball_over_ridge),
      cmocka_unit_test(test_hilltop),
      cmocka_unit_test(test_corner_at_the_end),
      cmocka_unit_test(test_bar_over_a_peak),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
