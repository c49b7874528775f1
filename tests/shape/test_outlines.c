// Outlines like those in files, and the parts of pieces that are on the outline of their body.

#include "base/rng.h"
#include "shape/shape.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const double PI = 3.14159265358979323846;

static void assert_near(double value, double expected, double tolerance) {
  if (!(fabs(value - expected) <= tolerance)) {
    fail_msg("%.17g is not %.17g within %g", value, expected, tolerance);
  }
}

static double random_in(S2Rng *rng, double lo, double hi) {
  return lo + (hi - lo) * s2_rng_uniform(rng);
}

static S2Shape shape_of(const S2Vec2 *vertices, int count, double radius) {
  return (S2Shape){.vertices = vertices, .count = count, .radius = radius};
}

// ---- Outlines like those in files -------------------------------------------------------------

enum { OUTLINE_MOST = 2000 };

typedef struct Outline {
  S2Vec2 points[OUTLINE_MOST];
  int count;
} Outline;

static void outline_add(Outline *outline, double x, double y) {
  if (outline->count < OUTLINE_MOST) {
    outline->points[outline->count++] = s2_vec2(x, y);
  }
}

// Radii around the origin: a star, or noise.
static void make_star(Outline *outline, S2Rng *rng, int n, double least) {
  for (int i = 0; i < n; i++) {
    double r = random_in(rng, least, 1), angle = 2 * PI * i / n;
    outline_add(outline, r * cos(angle), r * sin(angle));
  }
}

static void make_comb(Outline *outline, S2Rng *rng, int teeth) {
  outline_add(outline, 0, -0.1);
  outline_add(outline, 1, -0.1);
  for (int i = teeth; i > 0; i--) {
    outline_add(outline, i * 1.0 / teeth, 0);
    outline_add(outline, (i - 0.5 + random_in(rng, -0.3, 0.3)) / teeth, random_in(rng, 0.1, 1));
  }
  outline_add(outline, 0, 0);
}

// A band about a spiral, out and back.
static void make_spiral(Outline *outline, S2Rng *rng, int n) {
  double turns = random_in(rng, 0.5, 3), width = random_in(rng, 0.01, 0.3) / (2 * turns);
  for (int side = 0; side < 2; side++) {
    for (int i = 0; i < n / 2; i++) {
      int k = side == 0 ? i : n / 2 - 1 - i;
      double part = k / (n / 2 - 1.0), angle = 2 * PI * turns * part;
      double r = 0.3 + part * 0.6 + (side == 0 ? width : -width);
      outline_add(outline, r * cos(angle), r * sin(angle));
    }
  }
}

// A triangle or another convex outline with many points on its sides.
static void make_sides(Outline *outline, S2Rng *rng, int n) {
  int corners = (int)s2_rng_integer(rng, 3, 6);
  S2Vec2 v[6];
  double turn = random_in(rng, 0, 6);
  for (int i = 0; i < corners; i++) {
    double angle = turn + 2 * PI * (i + random_in(rng, 0, 0.6)) / corners;
    v[i] = s2_vec2(cos(angle), sin(angle));
  }
  for (int i = 0; i < corners; i++) {
    S2Vec2 along = s2_sub(v[(i + 1) % corners], v[i]);
    int points = 1 + n / corners;
    for (int k = 0; k < points; k++) {
      S2Vec2 p = s2_add_scaled(v[i], (double)k / points, along);
      outline_add(outline, p.x, p.y);
    }
  }
}

// Tiny edges: corners cut off by very little.
static void make_chamfered(Outline *outline, S2Rng *rng, int n) {
  Outline sharp = {.count = 0};
  make_star(&sharp, rng, n, 0.4);
  for (int i = 0; i < sharp.count; i++) {
    S2Vec2 v = sharp.points[i], before = sharp.points[(i + sharp.count - 1) % sharp.count];
    S2Vec2 after = sharp.points[(i + 1) % sharp.count];
    double cut = pow(10, random_in(rng, -7, -2));
    S2Vec2 p = s2_add_scaled(v, cut, s2_sub(before, v)),
           q = s2_add_scaled(v, cut, s2_sub(after, v));
    outline_add(outline, p.x, p.y);
    outline_add(outline, q.x, q.y);
  }
}

static void make_outline(Outline *outline, S2Rng *rng, int kind) {
  int n = (int)s2_rng_integer(rng, 3, s2_rng_integer(rng, 3, 4) == 3 ? 12 : 500);
  outline->count = 0;
  if (kind == 0) {
    make_star(outline, rng, n, 0.3);
  } else if (kind == 1) {
    make_comb(outline, rng, n / 2 + 1);
  } else if (kind == 2) {
    make_spiral(outline, rng, n < 8 ? 8 : n);
  } else if (kind == 3) {
    make_sides(outline, rng, n);
  } else {
    make_chamfered(outline, rng, n);
  }
  // At any place, of any size, rotated, in either sense.
  double size = pow(10, random_in(rng, -1, 2)), turn = random_in(rng, 0, 7);
  S2Vec2 at = {random_in(rng, -2, 2) * size, random_in(rng, -2, 2) * size};
  S2Rot rotation = {cos(turn), sin(turn)};
  for (int i = 0; i < outline->count; i++) {
    outline->points[i] = s2_add_scaled(at, size, s2_rotate(rotation, outline->points[i]));
  }
  bool reversed = s2_rng_integer(rng, 0, 1) == 1;
  for (int i = 0; reversed && i < outline->count / 2; i++) {
    S2Vec2 kept = outline->points[i];
    outline->points[i] = outline->points[outline->count - 1 - i];
    outline->points[outline->count - 1 - i] = kept;
  }
}

// To so many decimals, 9: to float32. Points that coincide become one.
static void round_outline(Outline *outline, int decimals) {
  double unit = pow(10, -decimals);
  int kept = 0;
  for (int i = 0; i < outline->count; i++) {
    S2Vec2 p = outline->points[i];
    p = decimals == 9 ? s2_vec2((float)p.x, (float)p.y)
                      : s2_vec2(round(p.x / unit) * unit, round(p.y / unit) * unit);
    S2Vec2 last = outline->points[kept > 0 ? kept - 1 : 0];
    if (kept == 0 || p.x != last.x || p.y != last.y) {
      outline->points[kept++] = p;
    }
  }
  S2Vec2 first = outline->points[0];
  while (kept > 1 && outline->points[kept - 1].x == first.x &&
         outline->points[kept - 1].y == first.y) {
    kept -= 1;
  }
  outline->count = kept;
}

// Whether two closed segments have a point in common, in long double: then the outline may be
// refused.
static bool outline_meets(S2Vec2 p, S2Vec2 q, S2Vec2 r, S2Vec2 s) {
#define SIDE(a, b, c)                                                                              \
  (((long double)(b).x - (a).x) * ((long double)(c).y - (a).y) -                                   \
   ((long double)(b).y - (a).y) * ((long double)(c).x - (a).x))
  const long double near = 1e-17L;
  long double size =
      fabsl((long double)p.x) + fabsl((long double)p.y) + fabsl((long double)r.x) + 1;
  long double d[] = {SIDE(p, q, r), SIDE(p, q, s), SIDE(r, s, p), SIDE(r, s, q)};
  for (int i = 0; i < 4; i++) {
    d[i] = fabsl(d[i]) <= near * size * size ? 0 : d[i];
  }
  bool boxes = fmax(fmin(p.x, q.x), fmin(r.x, s.x)) <= fmin(fmax(p.x, q.x), fmax(r.x, s.x)) &&
               fmax(fmin(p.y, q.y), fmin(r.y, s.y)) <= fmin(fmax(p.y, q.y), fmax(r.y, s.y));
  return boxes && d[0] * d[1] <= 0 && d[2] * d[3] <= 0;
#undef SIDE
}

static bool outline_is_simple(const Outline *outline) {
  int n = outline->count;
  for (int i = 0; i < n; i++) {
    for (int k = i + 1; k < n; k++) {
      S2Vec2 p = outline->points[i], q = outline->points[(i + 1) % n];
      S2Vec2 r = outline->points[k], s = outline->points[(k + 1) % n];
      bool neighbours = k == i + 1 || (i == 0 && k == n - 1);
      if (!neighbours && outline_meets(p, q, r, s)) {
        return false;
      }
    }
  }
  return true;
}

static double distance_to_outline(const Outline *outline, S2Vec2 p) {
  double least2 = INFINITY;
  for (int i = 0; i < outline->count; i++) {
    S2Vec2 a = outline->points[i], along = s2_sub(outline->points[(i + 1) % outline->count], a);
    double t = fmin(fmax(s2_dot(s2_sub(p, a), along) / s2_length2(along), 0), 1);
    least2 = fmin(least2, s2_length2(s2_sub(p, s2_add_scaled(a, t, along))));
  }
  return sqrt(least2);
}

static bool outline_contains(const Outline *outline, S2Vec2 p) {
  bool inside = false;
  for (int i = 0, j = outline->count - 1; i < outline->count; j = i++) {
    S2Vec2 a = outline->points[i], b = outline->points[j];
    if ((a.y > p.y) != (b.y > p.y) && p.x < (b.x - a.x) * (p.y - a.y) / (b.y - a.y) + a.x) {
      inside = !inside;
    }
  }
  return inside;
}

// Area, first and second moments about `origin` by the outline alone.
static void outline_moments(const Outline *outline, S2Vec2 origin, double moments[4]) {
  memset(moments, 0, 4 * sizeof *moments);
  for (int i = 0; i < outline->count; i++) {
    S2Vec2 p = s2_sub(outline->points[i], origin);
    S2Vec2 q = s2_sub(outline->points[(i + 1) % outline->count], origin);
    double twice = s2_cross(p, q);
    moments[0] += twice / 2;
    moments[1] += twice / 6 * (p.x + q.x);
    moments[2] += twice / 6 * (p.y + q.y);
    moments[3] += twice / 12 * (s2_length2(p) + s2_dot(p, q) + s2_length2(q));
  }
}

// Pieces that are shapes, cover the outline once and have its moments. Outlines with `tiny` edges
// may have an error of about the least size of a shape along their length.
static void covers(const Outline *outline, const S2Pieces *pieces, bool tiny, S2Rng *rng) {
  Outline piece;
  double moments[4], sum[4] = {0}, part[4], length = 0, reach = 0;
  S2Vec2 origin = outline->points[0];
  for (int i = 0; i < outline->count; i++) {
    length += s2_length(s2_sub(outline->points[(i + 1) % outline->count], outline->points[i]));
    reach = fmax(reach, s2_length(s2_sub(outline->points[i], origin)));
  }
  outline_moments(outline, origin, moments);
  for (int k = 0; k < pieces->count; k++) {
    S2Shape shape = shape_of(pieces->vertices[k], pieces->sizes[k], 0);
    S2Status status = s2_shape_check(&shape);
    if (status.code != S2_OK) {
      fail_msg("piece %d: %s", k, status.message);
    }
    memcpy(piece.points, shape.vertices, sizeof(S2Vec2) * (size_t)shape.count);
    piece.count = shape.count;
    outline_moments(&piece, origin, part);
    for (int i = 0; i < 4; i++) {
      sum[i] += part[i];
    }
  }
  double sign = moments[0] < 0 ? -1 : 1, width = tiny ? 2e-6 * length : 0;
  double size[] = {reach * reach, pow(reach, 3), pow(reach, 3), pow(reach, 4)};
  for (int i = 0; i < 4; i++) {
    assert_near(sum[i], sign * moments[i], (1e-8 + width / reach) * size[i]);
  }
  for (int trial = 0; trial < 20; trial++) {
    S2Vec2 p =
        s2_add(origin, s2_vec2(random_in(rng, -reach, reach), random_in(rng, -reach, reach)));
    int hits = 0;
    for (int k = 0; k < pieces->count; k++) {
      S2Shape shape = shape_of(pieces->vertices[k], pieces->sizes[k], 0);
      hits += s2_shape_contains(&shape, s2_pose(0, 0, 0), p);
    }
    if (distance_to_outline(outline, p) > 1e-5) {
      assert_int_equal(hits, outline_contains(outline, p));
    }
  }
}

static void test_decompose_rounded(void **state) {
  (void)state;
  static Outline outline;
  S2Rng rng = s2_rng_seeded(21);
  S2Arena arena;
  s2_arena_init(&arena);
  int taken = 0, refused = 0;
  for (int trial = 0; trial < 1000; trial++) {
    make_outline(&outline, &rng, trial % 5);
    round_outline(&outline, 3 + trial / 5 % 7);
    if (outline.count < 3) {
      continue;
    }
    S2Pieces pieces;
    s2_arena_reset(&arena);
    S2Status status = s2_decompose(outline.points, outline.count, &arena, &pieces);
    if (status.code == S2_OK) {
      taken += 1;
      covers(&outline, &pieces, trial % 5 == 4, &rng);
    } else if (outline_is_simple(&outline)) {
      fail_msg("trial %d of %d vertices: %s", trial, outline.count, status.message);
    } else {
      refused += 1;
      assert_true(strstr(status.message, "edge") != NULL ||
                  strstr(status.message, "same") != NULL ||
                  strstr(status.message, "folds") != NULL);
    }
  }
  assert_true(taken > 850);
  s2_arena_free(&arena);
}

// ---- Sides ------------------------------------------------------------------------------------

static void box_at(S2Vec2 corners[4], double x, double y, double width, double height) {
  corners[0] = s2_vec2(x, y);
  corners[1] = s2_vec2(x + width, y);
  corners[2] = s2_vec2(x + width, y + height);
  corners[3] = s2_vec2(x, y + height);
}

// Edge 0 is the bottom of a box, 1 its right side, 2 its top, 3 its left side.
static bool edge_is_inner(const S2Side *sides, int edge) {
  return sides[edge].from > sides[edge].to;
}

static void test_sides(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  S2Vec2 left[4], right[4], far[4];
  S2Side *sides[3];
  for (int trial = 0; trial < 200; trial++) {
    S2Rng rng = s2_rng_seeded((uint64_t)trial);
    double width = random_in(&rng, 0.1, 2), height = random_in(&rng, 0.1, 2);
    double gap = trial % 2 == 0 ? 0 : random_in(&rng, -4e-8, 4e-8) * fmin(width, height);
    box_at(left, -width, 0, width, height);
    box_at(right, gap, 0, 2 * width,
           height + (trial % 4 < 2 ? 0 : 1)); // the same height, or a step
    box_at(far, 10, 10, 1, 1);
    S2Shape shapes[] = {shape_of(left, 4, 0), shape_of(right, 4, 0), shape_of(far, 4, 0)};
    s2_arena_reset(&arena);
    s2_sides(shapes, 3, &arena, sides);
    assert_null(sides[2]); // next to no other
    assert_true(edge_is_inner(sides[0], 1));
    assert_false(edge_is_inner(sides[0], 0) || edge_is_inner(sides[0], 2) ||
                 edge_is_inner(sides[0], 3));
    assert_true(edge_is_inner(sides[1], 3) == (trial % 4 < 2));
    // Both bottoms are one line: it comes to the corner and leaves it along x.
    const S2Side *corner = &sides[0][1];
    assert_near(corner->in.x, 1, 1e-12);
    assert_near(corner->out.x, 1, 1e-12);
    assert_true(corner->owns_in == 1 && corner->owns_out == 0);
    assert_true(sides[1][0].owns_in == 0 && sides[1][0].owns_out == 1);
    assert_true(sides[0][0].owns_in == 1 && sides[0][0].owns_out == 1);
    if (trial % 4 >= 2) { // the part of the step's face above the left box is open
      // ... and it continues in front of the hollow, as does the top of the left box.
      double over = .1 * fmin(width, height);
      assert_near(sides[1][3].to, 1 + over, 1e-6);
      assert_true(sides[1][3].from == -INFINITY);
      assert_near(sides[0][2].from, -over, 1e-6);
    }
  }
  // A visible gap is a gap.
  box_at(left, -1, 0, 1, 1);
  box_at(right, 1e-4, 0, 1, 1);
  S2Shape apart[] = {shape_of(left, 4, 0), shape_of(right, 4, 0)};
  s2_sides(apart, 2, &arena, sides);
  assert_true(sides[0] == NULL && sides[1] == NULL);
  s2_arena_free(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_decompose_rounded),
      cmocka_unit_test(test_sides),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
