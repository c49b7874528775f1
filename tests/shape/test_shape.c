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
  refuses(&shape, "the radius of a circle");
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
  refuses(&shape, "next point of the chain is 0 m from");
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
  double offset = 4 * r / (3 * PI); // distance to the centroid of a half disc
  double half = disc / 2 * (r * r / 2 - offset * offset + (l / 2 + offset) * (l / 2 + offset));
  assert_near(mass.area, 2 * r * l + disc, 1e-14);
  assert_near(mass.centre.x, 1, 1e-15);
  assert_near(mass.centre.y, 5, 1e-15);
  assert_near(mass.inertia, 2 * r * l * (l * l + 4 * r * r) / 12 + 2 * half, 1e-13);

  S2Shape segment = shape_of(ends, 2, 0);
  mass = s2_shape_mass(&segment);
  assert_true(mass.area == 0);
  assert_near(mass.length, 4, 1e-15);
  assert_near(mass.inertia, 4.0 * 4 * 4 / 12, 1e-13); // a uniform line of 1 kg/m
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

// Rounded polygon compared with the same outline with its arcs cut into many chords: the error of
// area and inertia falls with the square of the chord's angle.
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
    // The box is tight: its four sides are touched. The reach is tight as well.
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

// The pieces are valid, their areas add up, and a point is in exactly one piece when it is inside
// the outline (crossing number), otherwise in none.
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
    for (int i = 0; i < count / 2; i++) { // with the right orientation, then the comb as it is
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
  decompose_refuses(line, 4, "lie on one line");
  S2Vec2 twice[] = {{0, 0}, {1, 0}, {1, 0}, {0, 1}};
  decompose_refuses(twice, 4, "vertices 2 and 3 are the same point (1, 0)");
  S2Vec2 back[] = {{0, 0}, {2, 0}, {1, 0}, {1, 1}};
  decompose_refuses(back, 4, "folds back on itself at vertex 2");
  S2Vec2 touching[] = {{0, 0}, {2, 0}, {2, 2}, {1, 0}, {0, 2}};
  decompose_refuses(touching, 5, "meets edge");
  S2Vec2 bad[] = {{0, 0}, {1, NAN}, {1, 1}};
  decompose_refuses(bad, 3, "vertex 2 is (1, nan)");
}

// ---- Large polygons ---------------------------------------------------------------------------

// The ear with the shortest diagonal, by comparison of all: the trees must find the same, bit for
// bit.
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
    S2Vec2 moved = points[COUNT / 3]; // the message names the first pair of edges that cross
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
      cmocka_unit_test(test_decompose_large),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
