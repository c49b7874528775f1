// Flips the diagonals of a triangulated outline until they are locally Delaunay (Lawson 1977).
#include "shape/mesh.h"

#include <math.h>

// A diagonal is flipped if the sum of the two opposite angles exceeds 180 degrees. This tolerance
// for rounding applies to the sine of the sum.
static const double TURN_SINE = 1e-12;

// Maximum number of flips per diagonal. In practice outlines need few flips, although Lawson's
// bound is the number of diagonals. The result is a triangulation even if this limit is reached.
enum { TURNS_MOST = 200 };

// The triangles a, b, c and b, a, e on both sides of a diagonal a -> b.
typedef struct Quad {
  int after, before;           // half-edges b -> c, c -> a
  int twin_after, twin_before; // a -> e, e -> b
} Quad;

static Quad quad_of(const S2Mesh *mesh, int d) {
  const S2HalfEdge *e = mesh->edges;
  int twin = e[d].twin;
  return (Quad){e[d].next, e[d].previous, e[twin].next, e[twin].previous};
}

static S2Vec2 delaunay_point(const S2Mesh *mesh, int edge) {
  return mesh->points[mesh->edges[edge].origin];
}

static bool should_turn(const S2Mesh *mesh, int d) {
  Quad quad = quad_of(mesh, d);
  S2Vec2 a = delaunay_point(mesh, d), b = delaunay_point(mesh, quad.after);
  S2Vec2 c = delaunay_point(mesh, quad.before), e = delaunay_point(mesh, quad.twin_before);
  // Both new triangles must be counter-clockwise.
  if (s2_side(e, b, c) <= 0 || s2_side(a, e, c) <= 0) {
    return false;
  }
  S2Vec2 ca = s2_sub(a, c), cb = s2_sub(b, c), ea = s2_sub(a, e), eb = s2_sub(b, e);
  double sine_c = s2_cross(ca, cb), sine_e = s2_cross(eb, ea);
  double of_sum = sine_c * s2_dot(ea, eb) + s2_dot(ca, cb) * sine_e;
  double size = s2_length(ca) * s2_length(cb) * s2_length(ea) * s2_length(eb);
  return of_sum < -TURN_SINE * size;
}

static void delaunay_loop(S2HalfEdge *edges, int one, int two, int three) {
  edges[one].next = edges[three].previous = two;
  edges[two].next = edges[one].previous = three;
  edges[three].next = edges[two].previous = one;
}

static void turn_diagonal(S2Mesh *mesh, int d) {
  S2HalfEdge *e = mesh->edges;
  Quad quad = quad_of(mesh, d);
  int twin = e[d].twin;
  // The new half-edges start at c and at e.
  e[d].origin = e[quad.before].origin;
  e[twin].origin = e[quad.twin_before].origin;
  delaunay_loop(e, quad.twin_before, quad.after, d);
  delaunay_loop(e, quad.twin_after, twin, quad.before);
}

void s2_delaunay(S2Mesh *mesh, int count, S2Arena *arena) {
  int diagonals = (mesh->count - count) / 2;
  int *stack = S2_TAKE(arena, int, diagonals + 1), top = 0;
  bool *waits = S2_TAKE(arena, bool, diagonals + 1);
  // Diagonal k consists of the half-edges count + 2 k and count + 2 k + 1. Diagonal 0 is processed
  // first.
  for (int k = diagonals - 1; k >= 0; k--) {
    stack[top++] = k;
    waits[k] = true;
  }
  for (int64_t left = (int64_t)TURNS_MOST * diagonals; top > 0 && left > 0;) {
    int k = stack[--top], d = count + 2 * k;
    waits[k] = false;
    if (!should_turn(mesh, d)) {
      continue;
    }
    left -= 1;
    Quad quad = quad_of(mesh, d);
    turn_diagonal(mesh, d);
    // Check the four sides again, because their triangles have changed.
    const int sides[] = {quad.after, quad.before, quad.twin_after, quad.twin_before};
    for (int i = 0; i < 4; i++) {
      int side = (sides[i] - count) / 2;
      if (sides[i] >= count && !waits[side]) {
        stack[top++] = side;
        waits[side] = true;
      }
    }
  }
}
