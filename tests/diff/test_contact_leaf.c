// Derivatives of contact points and of the terms that a soft contact adds to its row, compared with
// extrapolated central differences.
#include "worlds.h"

#include "collide/collide.h"
#include "collide/placed.h"
#include "diff/joints/contact_vjp.h"
#include "dynamics/joints/joint.h"

enum { MOST = 5, FIELDS = 3 + 3 + 2 + 4 * MOST };

typedef struct Pair { // poses, radii, vertices of a and b, as one list of numbers
  double number[FIELDS];
  int count_a, count_b;
} Pair;

static S2Shape shape_of(const Pair *pair, bool a, S2Vec2 vertex[MOST]) {
  const double *from = pair->number + 8 + (a ? 0 : 2 * MOST);
  for (int k = 0; k < MOST; k++) {
    vertex[k] = s2_vec2(from[2 * k], from[2 * k + 1]);
  }
  return (S2Shape){.vertices = vertex,
                   .count = a ? pair->count_a : pair->count_b,
                   .radius = pair->number[a ? 6 : 7]};
}

static S2Pose pose_of(const double q[3]) {
  return s2_pose(q[0], q[1], q[2]);
}

static bool collide(const Pair *pair, S2Manifold *manifold) {
  S2Vec2 va[MOST], vb[MOST];
  S2Shape a = shape_of(pair, true, va), b = shape_of(pair, false, vb);
  s2_collide(&a, pose_of(pair->number), &b, pose_of(pair->number + 3), 1, manifold);
  return manifold->count > 0;
}

// A linear function of the point's fields; NAN: another feature.
static double value_of(const Pair *pair, uint32_t id, const S2PointBar *weight) {
  S2Manifold manifold;
  collide(pair, &manifold);
  for (int k = 0; k < manifold.count; k++) {
    const S2ManifoldPoint *at = &manifold.points[k];
    if (at->id == id) {
      S2Vec2 apart = s2_vec2(pair->number[1] - pair->number[4], pair->number[2] - pair->number[5]);
      return s2_dot(weight->normal, at->normal) + s2_dot(weight->point, at->point) +
             s2_dot(weight->arm_b, s2_add(at->point, apart)) + weight->gap * at->gap;
    }
  }
  return NAN;
}

static double slope_of(const Pair *pair, int field, uint32_t id, const S2PointBar *weight) {
  enum { LEVELS = 3 };
  double table[LEVELS];
  for (int k = 0; k < LEVELS; k++) {
    double step = 4e-4 / (1 << k);
    Pair up = *pair, down = *pair;
    up.number[field] += step;
    down.number[field] -= step;
    table[k] = (value_of(&up, id, weight) - value_of(&down, id, weight)) / (2 * step);
  }
  double one = (4 * table[1] - table[0]) / 3, two = (4 * table[2] - table[1]) / 3;
  return (16 * two - one) / 15;
}

static void make_shape(S2Rng *rng, Pair *pair, bool a) {
  double *to = pair->number + 8 + (a ? 0 : 2 * MOST);
  int count = (int)s2_rng_integer(rng, 1, MOST);
  S2Vec2 v[MOST], hull[MOST];
  for (int k = 0; k < count; k++) {
    double angle = 6.28 * (k + 0.4 * s2_rng_uniform(rng)) / count;
    double reach = 0.5 + 0.3 * s2_rng_uniform(rng);
    v[k] = s2_vec2(reach * cos(angle), reach * sin(angle));
  }
  bool polygon = count >= 3;
  int kept = polygon ? s2_hull(v, count, hull) : count;
  for (int k = 0; k < kept; k++) {
    to[2 * k] = polygon ? hull[k].x : v[k].x;
    to[2 * k + 1] = polygon ? hull[k].y : v[k].y;
  }
  *(a ? &pair->count_a : &pair->count_b) = kept;
  pair->number[a ? 6 : 7] = kept == 1 ? 0.3 : s2_rng_uniform(rng) < 0.5 ? 0 : 0.1;
}

// The index of the derivative of field `field` in a source.
static double derivative_of(const S2PointSource *source, const S2ManifoldPoint *at,
                            const Pair *pair, int field) {
  if (field < 6) {
    return field < 3 ? source->qa[field] : source->qb[field - 3];
  }
  if (field < 8) {
    return field == 6 ? source->radius_a : source->radius_b;
  }
  bool of_a = field < 8 + 2 * MOST;
  int number = field - 8 - (of_a ? 0 : 2 * MOST), vertex = number / 2;
  int index = (int)(of_a ? at->id >> 15 : at->id) & 0x7fff;
  bool edge = at->feature == (of_a ? S2_EDGE_A : S2_EDGE_B);
  int end = index + 1 < (of_a ? pair->count_a : pair->count_b) ? index + 1 : 0;
  S2Vec2 local = of_a ? source->local_a : source->local_b;
  double sum = vertex == index ? (number % 2 == 0 ? local.x : local.y) : 0;
  return sum +
         (edge && vertex == end ? (number % 2 == 0 ? source->edge_end.x : source->edge_end.y) : 0);
}

static void points(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(1);
  int seen[3] = {0}, compared = 0, deep = 0;
  for (int trial = 0; trial < 600; trial++) {
    Pair pair = {0};
    make_shape(&rng, &pair, true);
    make_shape(&rng, &pair, false);
    double angle = 6.28 * s2_rng_uniform(&rng), far = 0.9 + 0.7 * s2_rng_uniform(&rng);
    const double q[6] = {
        3 * s2_rng_normal(&rng), 5, -3, 3 * s2_rng_normal(&rng), 5 + far * cos(angle),
        -3 + far * sin(angle)};
    memcpy(pair.number, q, sizeof q);
    S2Manifold manifold;
    if (!collide(&pair, &manifold)) {
      continue;
    }
    const S2ManifoldPoint *at = &manifold.points[0];
    S2PointBar weight = {{s2_rng_normal(&rng), s2_rng_normal(&rng)},
                         {s2_rng_normal(&rng), s2_rng_normal(&rng)},
                         {s2_rng_normal(&rng), s2_rng_normal(&rng)},
                         s2_rng_normal(&rng)};
    S2Vec2 va[MOST], vb[MOST], edge = {0};
    S2Shape a = shape_of(&pair, true, va), b = shape_of(&pair, false, vb);
    if (at->feature != S2_VERTEX_VERTEX) {
      const S2Shape *owner = at->feature == S2_EDGE_A ? &a : &b;
      int start = (int)(at->feature == S2_EDGE_A ? at->id >> 15 : at->id) & 0x7fff;
      edge = s2_sub(owner->vertices[s2_edge_end(owner, start)], owner->vertices[start]);
    }
    S2PointSource source =
        s2_manifold_point_vjp(at, edge, pair.number, pair.number + 3, a.radius, b.radius, &weight);
    for (int field = 0; field < FIELDS; field++) {
      double expected = slope_of(&pair, field, at->id, &weight);
      if (isnan(expected)) { // another feature is near
        continue;
      }
      double mine = derivative_of(&source, at, &pair, field);
      if (!(fabs(mine - expected) <= 1e-8 * fmax(1, fabs(expected)))) {
        fail_msg("trial %d, feature %d, number %d: %.12g, differences %.12g", trial,
                 (int)at->feature, field, mine, expected);
      }
      compared += 1;
    }
    seen[at->feature] += 1;
    deep += at->gap < 0;
  }
  assert_true(seen[0] > 50 && seen[1] > 50 && seen[2] > 50 && compared > 5000 && deep > 50);
}

// gap, speed, compliance, damping, h, alpha, beta
static double soft_loss(const double x[7]) {
  S2Blend blend = {.h = x[4], .alpha = x[5], .beta = x[6]};
  S2SoftRow row = s2_soften_gap(x[0], x[1], x[2], x[3], blend);
  return 0.7 * row.compliance - 0.4 * row.bias;
}

static void soft_rows(void **state) {
  (void)state;
  for (int k = 0; k < 16; k++) {
    const double at[7] = {k % 2 == 0 ? -0.02 : 0.03,
                          0.6,
                          k / 2 % 2 == 0 ? 1e-3 : 3,
                          k / 4 % 2 == 0 ? 2 : 0,
                          1.0 / 60,
                          k < 8 ? 1 : 0.8,
                          k < 8 ? 1 : 0.6};
    S2Blend blend = {.h = at[4], .alpha = at[5], .beta = at[6]};
    S2TouchBar touch = {0};
    S2SoftGapBar to = s2_soften_gap_vjp(at[0], at[1], at[2], at[3], blend, 0.7, -0.4, &touch);
    const double mine[7] = {to.gap, to.speed, touch.compliance, touch.damping,
                            to.h,   to.alpha, to.beta};
    for (int field = 0; field < 7; field++) {
      double slope[2];
      for (int level = 0; level < 2; level++) {
        double l[2], step = 1e-3 * fmax(fabs(at[field]), 1e-2) / (1 + level);
        for (int side = 0; side < 2; side++) {
          double x[7];
          memcpy(x, at, sizeof x);
          x[field] += side == 0 ? -step : step;
          l[side] = soft_loss(x);
        }
        slope[level] = (l[1] - l[0]) / (2 * step);
      }
      double expected = (4 * slope[1] - slope[0]) / 3;
      assert_true(fabs(mine[field] - expected) <= 1e-7 * fmax(fabs(expected), 1e-6));
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(points),
      cmocka_unit_test(soft_rows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
