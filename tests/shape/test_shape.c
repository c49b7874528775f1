#include "base/rng.h"
#include "shape/mesh.h"
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

// ---- Check ------------------------------------------------------------------------------------

static void refuses(const S2Shape *shape, const char *part) {
  S2Status status = s2_shape_check(shape);
  assert_int_equal(status.code, S2_INVALID);
  if (strstr(status.message, part) == NULL) {
    fail_msg("'%s' does not mention '%s'", status.message, part);
  }
}

static void test_check(void **state) {
  (void)state;
  S2Vec2 square[] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}};
  S2Shape shape = shape_of(square, 4, 0);
  assert_int_equal(s2_shape_check(&shape).code, S2_OK);
  shape.radius = -0.5;
  refuses(&shape, "radius is -0.5");
  shape.radius = NAN;
  refuses(&shape, "radius is nan");
  shape = shape_of(square, 1, 0);
  refuses(&shape, "that of a circle");
  shape = shape_of(square, 0, 1);
  refuses(&shape, "has 0 vertices");
  S2Vec2 clockwise[] = {{0, 0}, {0, 1}, {1, 1}, {1, 0}};
  shape = shape_of(clockwise, 4, 0);
  refuses(&shape, "does not turn left at vertex 2");
  S2Vec2 dented[] = {{0, 0}, {2, 0}, {2, 2}, {1, 0.5}};
  shape = shape_of(dented, 4, 0);
  refuses(&shape, "at vertex 4");
  S2Vec2 star[5];
  for (int i = 0; i < 5; i++) {
    star[i] = s2_vec2(cos(4 * PI * i / 5), sin(4 * PI * i / 5));
  }
  shape = shape_of(star, 5, 0);
  refuses(&shape, "goes around 2 times");
  S2Vec2 infinite[] = {{0, 0}, {INFINITY, 0}};
  shape = shape_of(infinite, 2, 0);
  refuses(&shape, "vertex 2 is (inf, 0)");
  S2Vec2 repeated[] = {{0, 0}, {0, 0}};
  shape = shape_of(repeated, 2, 1);
  refuses(&shape, "vertices 1 and 2 are 0 m apart");
  S2Vec2 sliver[] = {{0, 0}, {1, 0}, {0.5, 1e-7}};
  shape = shape_of(sliver, 3, 0);
  refuses(&shape, "thick above edge 1");
  shape = shape_of(square, 2, 0);
  shape.has_next = true;
  shape.next = square[1];
  refuses(&shape, "next point of the chain is 0 m away");
  shape = shape_of(square, 4, 0);
  shape.has_previous = true;
  refuses(&shape, "in a chain has 4 vertices");
}

// ---- Mass -------------------------------------------------------------------------------------

static void test_mass_known(void **state) {
  (void)state;
  S2Vec2 centre[] = {{3, -2}};
  S2Shape circle = shape_of(centre, 1, 2);
  S2MassProperties mass = s2_shape_mass(&circle);
  assert_near(mass.area, 4 * PI, 1e-14);
  assert_near(mass.centre.x, 3, 1e-15);
  assert_near(mass.centre.y, -2, 1e-15);
  assert_near(mass.inertia, PI * 16 / 2, 1e-13);

  S2Vec2 box[] = {{1, 1}, {4, 1}, {4, 3}, {1, 3}};
  S2Shape rectangle = shape_of(box, 4, 0);
  mass = s2_shape_mass(&rectangle);
  assert_near(mass.area, 6, 1e-14);
  assert_near(mass.centre.x, 2.5, 1e-15);
  assert_near(mass.centre.y, 2, 1e-15);
  assert_near(mass.inertia, 6.0 * (9 + 4) / 12, 1e-14);

  S2Vec2 ends[] = {{-1, 5}, {3, 5}}; // capsule: rectangle and two half discs
  double l = 4, r = 0.5;
  S2Shape capsule = shape_of(ends, 2, r);
  mass = s2_shape_mass(&capsule);
  double disc = PI * r * r;
  double offset = 4 * r / (3 * PI); // of a half disc's centroid
  double half = disc / 2 * (r * r / 2 - offset * offset + (l / 2 + offset) * (l / 2 + offset));
  assert_near(mass.area, 2 * r * l + disc, 1e-14);
  assert_near(mass.centre.x, 1, 1e-15);
  assert_near(mass.centre.y, 5, 1e-15);
  assert_near(mass.inertia, 2 * r * l * (l * l + 4 * r * r) / 12 + 2 * half, 1e-13);

  S2Shape segment = shape_of(ends, 2, 0);
  mass = s2_shape_mass(&segment);
  assert_true(mass.area == 0);
  assert_near(mass.length, 4, 1e-15);
  assert_near(mass.inertia, 4.0 * 4 * 4 / 12, 1e-13); // of a uniform line of 1 kg/m
  assert_near(mass.centre.x, 1, 1e-15);
  assert_near(mass.centre.y, 5, 1e-15);
}

static int random_polygon(S2Rng *rng, double size, int most, S2Vec2 *vertices) {
  S2Vec2 points[16];
  int count = 0;
  while (count < 3) {
    for (int i = 0; i < most; i++) {
      points[i] = s2_vec2(random_in(rng, -size, size), random_in(rng, -size, size));
    }
    count = s2_hull(points, most, vertices);
  }
  return count;
}

// Rounded polygon against the same outline with its arcs cut into many chords: the error of area
// and inertia falls with the square of the chord's angle.
static void test_mass_rounded(void **state) {
  (void)state;
  enum { CHORDS = 2000 };
  static S2Vec2 outline[16 * (CHORDS + 1)];
  S2Rng rng = s2_rng_seeded(1);
  for (int trial = 0; trial < 20; trial++) {
    S2Vec2 vertices[16];
    int count = random_polygon(&rng, 2, 8, vertices);
    double radius = random_in(&rng, 0.01, 1);
    S2Shape rounded = shape_of(vertices, count, radius);
    int n = 0;
    for (int i = 0; i < count; i++) {
      S2Vec2 in = s2_right(s2_sub(vertices[i], vertices[(i + count - 1) % count]));
      S2Vec2 out = s2_right(s2_sub(vertices[(i + 1) % count], vertices[i]));
      double start = atan2(in.y, in.x);
      double turn = atan2(s2_cross(in, out), s2_dot(in, out));
      for (int k = 0; k <= CHORDS; k++) {
        double angle = start + turn * k / CHORDS;
        outline[n++] = s2_add_scaled(vertices[i], radius, s2_vec2(cos(angle), sin(angle)));
      }
    }
    S2Shape many = shape_of(outline, n, 0);
    S2MassProperties mass = s2_shape_mass(&rounded);
    S2MassProperties expected = s2_shape_mass(&many);
    assert_near(mass.area, expected.area, 1e-6 * expected.area);
    assert_near(mass.inertia, expected.inertia, 1e-6 * expected.inertia);
    assert_near(mass.centre.x, expected.centre.x, 1e-6);
    assert_near(mass.centre.y, expected.centre.y, 1e-6);
  }
}

// ---- Box, reach, contains ---------------------------------------------------------------------

static void test_bounds(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(2);
  for (int trial = 0; trial < 500; trial++) {
    S2Vec2 vertices[16];
    int count = random_polygon(&rng, 1, 6, vertices);
    S2Shape shape =
        shape_of(vertices, count - (trial % 3 == 0 ? count - 1 : 0), random_in(&rng, 0.01, 0.5));
    S2Pose pose = s2_pose(random_in(&rng, -4, 4), random_in(&rng, -9, 9), random_in(&rng, -9, 9));
    S2Box box = s2_shape_box(&shape, pose);
    double reach = s2_shape_reach(&shape);
    int inside = 0;
    for (int k = 0; k < 200; k++) {
      S2Vec2 p = s2_add(pose.position, s2_vec2(random_in(&rng, -2, 2), random_in(&rng, -2, 2)));
      if (s2_shape_contains(&shape, pose, p)) {
        inside += 1;
        assert_true(p.x >= box.lo.x && p.x <= box.hi.x && p.y >= box.lo.y && p.y <= box.hi.y);
        assert_true(s2_length(s2_sub(p, pose.position)) <= reach + 1e-15);
      }
    }
    // The box is tight: its four sides are touched. Reach too.
    double left = INFINITY, farthest = 0;
    for (int i = 0; i < shape.count; i++) {
      left = fmin(left, s2_pose_point(pose, shape.vertices[i]).x - shape.radius);
      farthest = fmax(farthest, s2_length(shape.vertices[i]) + shape.radius);
    }
    assert_near(box.lo.x, left, 1e-14);
    assert_near(reach, farthest, 1e-15);
    // Monte Carlo: the area inside agrees with the exact one (5 standard deviations).
    double part = s2_shape_mass(&shape).area / 16;
    assert_near(inside / 200.0, part, 5 * sqrt(part * (1 - part) / 200) + 0.01);
  }
}

// ---- Hull -------------------------------------------------------------------------------------

static void test_hull(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(3);
  for (int trial = 0; trial < 2000; trial++) {
    S2Vec2 points[40], hull[40];
    int count = (int)s2_rng_integer(&rng, 3, 40);
    bool grid = trial % 2 == 0; // full of repeated points and points in line
    for (int i = 0; i < count; i++) {
      points[i] =
          grid ? s2_vec2((double)s2_rng_integer(&rng, 0, 4), (double)s2_rng_integer(&rng, 0, 4))
               : s2_vec2(random_in(&rng, -1, 1), random_in(&rng, -1, 1));
    }
    int size = s2_hull(points, count, hull);
    if (size < 3) {
      assert_true(grid);
      continue;
    }
    S2Shape shape = shape_of(hull, size, 0);
    assert_int_equal(s2_shape_check(&shape).code, S2_OK);
    for (int i = 0; i < count; i++) {
      for (int k = 0; k < size; k++) {
        S2Vec2 along = s2_sub(hull[(k + 1) % size], hull[k]);
        assert_true(s2_cross(along, s2_sub(points[i], hull[k])) >= -1e-7 * s2_length(along));
      }
    }
  }
  S2Vec2 line[] = {{0, 0}, {3, 1}, {6, 2}, {1.5, 0.5}}, hull[4];
  assert_int_equal(s2_hull(line, 4, hull), 2);
  S2Vec2 same[] = {{1, 1}, {1, 1}, {1, 1}};
  assert_int_equal(s2_hull(same, 3, hull), 1);
}

// ---- Decomposition ----------------------------------------------------------------------------

static double outline_area(const S2Vec2 *points, int count) {
  double twice = 0;
  for (int i = 0; i < count; i++) {
    twice += s2_cross(points[i], points[(i + 1) % count]);
  }
  return twice / 2;
}

// The pieces are valid, their areas add up, and points fall into exactly one piece when they are
// inside the outline (crossing number), else into none.
static int decomposes(const S2Vec2 *points, int count, S2Rng *rng, double size) {
  S2Arena arena;
  s2_arena_init(&arena);
  S2Pieces pieces;
  S2Status status = s2_decompose(points, count, &arena, &pieces);
  if (status.code != S2_OK) {
    fail_msg("%s", status.message);
  }
  double area = 0;
  for (int k = 0; k < pieces.count; k++) {
    S2Shape piece = shape_of(pieces.vertices[k], pieces.sizes[k], 0);
    status = s2_shape_check(&piece);
    if (status.code != S2_OK) {
      fail_msg("piece %d: %s", k, status.message);
    }
    area += s2_shape_mass(&piece).area;
  }
  assert_near(area, fabs(outline_area(points, count)), 1e-9 * size * size);
  S2Pose origin = s2_pose(0, 0, 0);
  for (int trial = 0; trial < 50; trial++) {
    S2Vec2 p = s2_vec2(random_in(rng, -size, size), random_in(rng, -size, size));
    bool inside = false;
    for (int i = 0, j = count - 1; i < count; j = i++) {
      S2Vec2 a = points[i], b = points[j];
      if ((a.y > p.y) != (b.y > p.y) && p.x < (b.x - a.x) * (p.y - a.y) / (b.y - a.y) + a.x) {
        inside = !inside;
      }
    }
    int hits = 0;
    for (int k = 0; k < pieces.count; k++) {
      S2Shape piece = shape_of(pieces.vertices[k], pieces.sizes[k], 0);
      hits += s2_shape_contains(&piece, origin, p);
    }
    assert_int_equal(hits, inside ? 1 : 0);
  }
  int found = pieces.count;
  s2_arena_free(&arena);
  return found;
}

static void test_decompose_known(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(4);
  S2Vec2 square[] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}};
  assert_int_equal(decomposes(square, 4, &rng, 2), 1);
  S2Vec2 clockwise[] = {{0, 0}, {0, 1}, {1, 1}, {1, 0}};
  assert_int_equal(decomposes(clockwise, 4, &rng, 2), 1);
  S2Vec2 in_line[] = {{0, 0}, {0.25, 0}, {0.5, 0}, {1, 0}, {1, 1}, {0.5, 1}, {0, 1}, {0, 0.5}};
  assert_int_equal(decomposes(in_line, 8, &rng, 2), 1);
  S2Vec2 ell[] = {{0, 0}, {2, 0}, {2, 1}, {1, 1}, {1, 2}, {0, 2}};
  assert_int_equal(decomposes(ell, 6, &rng, 3), 2);
  S2Vec2 plus[] = {{1, 0}, {2, 0}, {2, 1}, {3, 1}, {3, 2}, {2, 2},
                   {2, 3}, {1, 3}, {1, 2}, {0, 2}, {0, 1}, {1, 1}};
  int pieces = decomposes(plus, 12, &rng, 4);
  assert_in_range(pieces, 3, 5);
}

static void test_decompose_random(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(5);
  for (int trial = 0; trial < 400; trial++) {
    S2Vec2 points[60];
    int count = (int)s2_rng_integer(&rng, 3, 60);
    for (int i = 0; i < count; i++) { // a star around the origin, or a comb: both simple
      double angle = 2 * PI * (trial % 2 ? i : count - 1 - i) / count;
      points[i] = s2_scale(random_in(&rng, 0.2, 2), s2_vec2(cos(angle), sin(angle)));
    }
    decomposes(points, count, &rng, 2);
  }
  for (int teeth = 1; teeth <= 20; teeth++) {
    S2Vec2 comb[100];
    int count = 0;
    comb[count++] = s2_vec2(teeth, -1);
    for (int i = teeth - 1; i >= 0; i--) {
      comb[count++] = s2_vec2(i + 0.75, random_in(&rng, 0.5, 2));
      comb[count++] = s2_vec2(i + 0.25, 0);
    }
    comb[count++] = s2_vec2(0, -1);
    for (int i = 0; i < count / 2; i++) { // the right way round, then the comb as it is
      S2Vec2 kept = comb[i];
      comb[i] = comb[count - 1 - i];
      comb[count - 1 - i] = kept;
    }
    decomposes(comb, count, &rng, teeth + 1);
  }
}

static void decompose_refuses(const S2Vec2 *points, int count, const char *part) {
  S2Arena arena;
  s2_arena_init(&arena);
  S2Pieces pieces;
  S2Status status = s2_decompose(points, count, &arena, &pieces);
  assert_int_equal(status.code, S2_INVALID);
  if (strstr(status.message, part) == NULL) {
    fail_msg("'%s' does not mention '%s'", status.message, part);
  }
  s2_arena_free(&arena);
}

static void test_decompose_errors(void **state) {
  (void)state;
  S2Vec2 bow[] = {{0, 0}, {1, 1}, {1, 0}, {0, 1}};
  decompose_refuses(bow, 4, "edge 1-2 meets edge 3-4");
  decompose_refuses(bow, 2, "has 2 vertices");
  S2Vec2 line[] = {{0, 0}, {1, 0}, {2, 0}, {3, 0}};
  decompose_refuses(line, 4, "lie in one line");
  S2Vec2 twice[] = {{0, 0}, {1, 0}, {1, 0}, {0, 1}};
  decompose_refuses(twice, 4, "vertices 2 and 3 are the same point (1, 0)");
  S2Vec2 back[] = {{0, 0}, {2, 0}, {1, 0}, {1, 1}};
  decompose_refuses(back, 4, "folds back on itself at vertex 2");
  S2Vec2 touching[] = {{0, 0}, {2, 0}, {2, 2}, {1, 0}, {0, 2}};
  decompose_refuses(touching, 5, "meets edge");
  S2Vec2 bad[] = {{0, 0}, {1, NAN}, {1, 1}};
  decompose_refuses(bad, 3, "vertex 2 is (1, nan)");
}

// ---- Outlines as files have them --------------------------------------------------------------

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

// Tiny edges: corners cut off by hardly anything.
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
  // Anywhere, of any size, turned, in either sense.
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

// To so many decimals, 9: to float32. Points that fall together are one.
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

// Whether two closed segments have a point in common, in long double: what may be refused.
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

// Pieces that are shapes, cover the outline once and have its moments. What has `tiny` edges may be
// off by about the least size of a shape along its length.
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

// ---- Large polygons ---------------------------------------------------------------------------

// The ear with the shortest diagonal, by looking at all: what the trees must find, bit for bit.
static int plain_ear(const S2Mesh *mesh, int start) {
  const S2HalfEdge *e = mesh->edges;
  int ear = -1, fallback = start, at = start;
  double shortest = INFINITY, sharpest = -INFINITY;
  do {
    int before = e[at].previous, after = e[at].next;
    S2Vec2 p = mesh->points[e[before].origin], q = mesh->points[e[at].origin];
    S2Vec2 r = mesh->points[e[after].origin];
    double diagonal = s2_length2(s2_sub(r, p)), sine = s2_corner_sine(p, q, r);
    bool free = s2_side(p, q, r) > 0;
    for (int k = e[after].next; k != before && free; k = e[k].next) {
      S2Vec2 v = mesh->points[e[k].origin];
      free = !(s2_side(p, q, v) >= 0 && s2_side(q, r, v) >= 0 && s2_side(r, p, v) >= 0);
    }
    if (free && diagonal < shortest) {
      ear = at;
      shortest = diagonal;
    }
    if (sine > sharpest) {
      fallback = at;
      sharpest = sine;
    }
    at = after;
  } while (at != start);
  return ear >= 0 ? ear : fallback;
}

static void plain_triangulate(S2Mesh *mesh, int count) {
  S2HalfEdge *e = mesh->edges;
  for (int i = 0; i < count; i++) {
    e[i] = (S2HalfEdge){i, (i + 1) % count, (i + count - 1) % count, -1};
  }
  mesh->count = count;
  int start = 0;
  for (int left = count; left > 3; left--) {
    int at = plain_ear(mesh, start), before = e[at].previous, after = e[at].next;
    int inner = mesh->count, outer = inner + 1;
    e[inner] = (S2HalfEdge){e[after].origin, before, at, outer};
    e[outer] = (S2HalfEdge){e[before].origin, after, e[before].previous, inner};
    e[e[before].previous].next = outer;
    e[after].previous = outer;
    e[at].next = inner;
    e[before].previous = inner;
    mesh->count += 2;
    start = outer;
  }
}

// Heights on a grid (many equal diagonals), stars and noise, counter-clockwise.
static int some_outline(S2Rng *rng, S2Vec2 *points) {
  int kind = (int)s2_rng_integer(rng, 0, 3), n = (int)s2_rng_integer(rng, 2, 24), count = 0;
  if (kind == 0) {
    points[count++] = s2_vec2(0, -1);
    points[count++] = s2_vec2(n, -1);
    for (int i = n; i > 0; i--) {
      double height = (double)s2_rng_integer(rng, 0, 4);
      points[count++] = s2_vec2(i, height);
      points[count++] = s2_vec2(i - 0.5 * (double)s2_rng_integer(rng, 1, 2), height);
    }
    return count;
  }
  for (int i = 0; i < n + 2; i++) {
    double r = kind == 1   ? 1 + i % 2
               : kind == 2 ? random_in(rng, 1, 2)
                           : 1,
           t = 2 * PI * i / (n + 2);
    points[count++] = s2_vec2(r * cos(t), r * sin(t));
  }
  return count;
}

static void test_ears(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(11);
  S2Arena arena;
  s2_arena_init(&arena);
  int simple = 0;
  for (int round = 0; round < 3000; round++) {
    S2Vec2 points[64];
    int count = some_outline(&rng, points);
    s2_arena_reset(&arena);
    if (s2_outline_check(points, count, &arena).code != S2_OK) {
      continue;
    }
    simple += 1;
    S2HalfEdge edges[2][3 * 64];
    S2Mesh found = {points, edges[0], 0}, plain = {points, edges[1], 0};
    s2_triangulate(&found, count, &arena);
    plain_triangulate(&plain, count);
    assert_int_equal(found.count, plain.count);
    assert_memory_equal(edges[0], edges[1], sizeof(S2HalfEdge) * (size_t)found.count);
  }
  assert_true(simple > 1500);
  s2_arena_free(&arena);
}

static void test_decompose_large(void **state) {
  (void)state;
  enum { COUNT = 10000 };
  static S2Vec2 points[COUNT];
  S2Arena arena;
  s2_arena_init(&arena);
  S2Rng rng = s2_rng_seeded(12);
  for (int kind = 0; kind < 3; kind++) {
    double area = 0;
    for (int i = 0; i < COUNT; i++) {
      double r = kind == 0 ? 1 : kind == 1 ? 1 + i % 2 : random_in(&rng, 9, 10);
      points[i] = s2_vec2(r * cos(2 * PI * i / COUNT), r * sin(2 * PI * i / COUNT));
    }
    for (int i = 0; i < COUNT; i++) {
      area += s2_cross(points[i], points[(i + 1) % COUNT]) / 2;
    }
    S2Pieces pieces;
    s2_arena_reset(&arena);
    assert_int_equal(s2_decompose(points, COUNT, &arena, &pieces).code, S2_OK);
    assert_in_range(pieces.count, kind == 0 ? 1 : 2000, kind == 0 ? 1 : COUNT);
    double sum = 0;
    for (int i = 0; i < pieces.count; i++) {
      S2Shape shape = shape_of(pieces.vertices[i], pieces.sizes[i], 0);
      sum += s2_shape_mass(&shape).area;
    }
    assert_near(sum, area, 1e-9 * area);
    S2Vec2 moved = points[COUNT / 3]; // the first pair of edges that cross is named
    points[COUNT / 3] = s2_scale(-1.5, points[COUNT / 3]);
    S2Status status = s2_decompose(points, COUNT, &arena, &pieces);
    assert_int_equal(status.code, S2_INVALID);
    assert_non_null(strstr(status.message, "meets edge"));
    points[COUNT / 3] = moved;
    points[7] = points[COUNT - 1];
    status = s2_decompose(points, COUNT, &arena, &pieces);
    assert_non_null(strstr(status.message, "vertices 8 and 10000 are the same point"));
  }
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
    assert_null(sides[2]); // beside no other
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
    if (trial % 4 >= 2) { // of the step's face what is above the left box is open
      assert_near(sides[1][3].to, 1, 1e-6);
      assert_true(sides[1][3].from == -INFINITY);
    }
  }
  // A gap that can be seen is a gap.
  box_at(left, -1, 0, 1, 1);
  box_at(right, 1e-4, 0, 1, 1);
  S2Shape apart[] = {shape_of(left, 4, 0), shape_of(right, 4, 0)};
  s2_sides(apart, 2, &arena, sides);
  assert_true(sides[0] == NULL && sides[1] == NULL);
  s2_arena_free(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_check),
      cmocka_unit_test(test_mass_known),
      cmocka_unit_test(test_mass_rounded),
      cmocka_unit_test(test_bounds),
      cmocka_unit_test(test_hull),
      cmocka_unit_test(test_decompose_known),
      cmocka_unit_test(test_decompose_random),
      cmocka_unit_test(test_decompose_errors),
      cmocka_unit_test(test_ears),
      cmocka_unit_test(test_decompose_rounded),
      cmocka_unit_test(test_decompose_large),
      cmocka_unit_test(test_sides),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
