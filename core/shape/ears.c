// Ear clipping (Meisters 1975). Cuts off the ear with the shortest diagonal first. A corner is only
// tested when it is the next candidate. If its triangle contains another vertex, the corner waits
// until that vertex is cut off.
#include "shape/mesh.h"

#include <math.h>

enum { NOBODY = -1 };

typedef struct Ears {
  S2Mesh *mesh;
  int count;
  int *half;        // the half-edge that starts at a remaining vertex, along the remaining outline
  S2BoxTree left;   // tree over the remaining vertices
  double *diagonal; // tree like `left` with the minimum squared length of diagonals, or INFINITY
  int *waits_for;   // the vertex that obstructs the ear, or -1
  int *first_waiting, *next_waiting, *previous_waiting; // lists of the waiting vertices
} Ears;

static S2Vec2 ears_point_of(const Ears *ears, int edge) {
  return ears->mesh->points[ears->mesh->edges[edge].origin];
}

static void set_diagonal(Ears *ears, int vertex, double value) {
  int k = ears->left.leaves + vertex;
  ears->diagonal[k] = value;
  for (k /= 2; k > 0; k /= 2) {
    ears->diagonal[k] = fmin(ears->diagonal[2 * k], ears->diagonal[2 * k + 1]);
  }
}

// Returns the first candidate from vertex `from` on with a diagonal up to `value`, or -1.
static int first_of(const Ears *ears, double value, int from, int k, int lo, int width) {
  if (lo + width <= from || !(ears->diagonal[k] <= value)) {
    return NOBODY;
  }
  if (width == 1) {
    return lo;
  }
  // Search the left half first, so that the first of equal candidates is found.
  int half = width / 2, found = first_of(ears, value, from, 2 * k, lo, half);
  return found != NOBODY ? found : first_of(ears, value, from, 2 * k + 1, lo + half, half);
}

// Returns the shortest candidate. If several are equal, chooses the first one around the outline
// from `start`.
static int ears_shortest(const Ears *ears, int start) {
  double value = ears->diagonal[1];
  if (!(value < INFINITY)) {
    return NOBODY;
  }
  int vertex = first_of(ears, value, start, 1, 0, ears->left.leaves);
  return vertex != NOBODY ? vertex : first_of(ears, value, 0, 1, 0, ears->left.leaves);
}

// ---- Waiting ----------------------------------------------------------------------------------

static void wait_for(Ears *ears, int vertex, int other) {
  int next = ears->first_waiting[other];
  ears->waits_for[vertex] = other;
  ears->next_waiting[vertex] = next;
  ears->previous_waiting[vertex] = NOBODY;
  if (next != NOBODY) {
    ears->previous_waiting[next] = vertex;
  }
  ears->first_waiting[other] = vertex;
}

static void wait_no_more(Ears *ears, int vertex) {
  int other = ears->waits_for[vertex];
  if (other == NOBODY) {
    return;
  }
  // Remove the vertex from the list of vertices that wait for the same one.
  int next = ears->next_waiting[vertex], previous = ears->previous_waiting[vertex];
  *(previous == NOBODY ? &ears->first_waiting[other] : &ears->next_waiting[previous]) = next;
  if (next != NOBODY) {
    ears->previous_waiting[next] = previous;
  }
  ears->waits_for[vertex] = NOBODY;
}

// Makes the vertex a candidate for an ear.
static void make_candidate(Ears *ears, int vertex) {
  const S2HalfEdge *e = ears->mesh->edges;
  int at = ears->half[vertex];
  wait_no_more(ears, vertex);
  set_diagonal(
      ears, vertex,
      s2_length2(s2_sub(ears_point_of(ears, e[at].next), ears_point_of(ears, e[at].previous))));
}

// ---- Corners ----------------------------------------------------------------------------------

typedef struct Corner {
  S2Vec2 p, q, r;
  int before, at, after; // vertices
} Corner;

static bool in_triangle(const Corner *corner, S2Vec2 v) {
  return s2_side(corner->p, corner->q, v) >= 0 && s2_side(corner->q, corner->r, v) >= 0 &&
         s2_side(corner->r, corner->p, v) >= 0;
}

// Finds another vertex in the triangle of a corner. Returns -1 if there is none.
static int find_within(const Ears *ears, const Corner *corner, int k, int lo, int width) {
  // Skip a box that is completely outside one side of the triangle.
  S2Box box = ears->left.box[k];
  if (s2_box_right_of(box, corner->p, corner->q) || s2_box_right_of(box, corner->q, corner->r) ||
      s2_box_right_of(box, corner->r, corner->p)) {
    return NOBODY;
  }
  if (width == 1) {
    bool own = lo == corner->before || lo == corner->at || lo == corner->after;
    return !own && in_triangle(corner, ears->mesh->points[lo]) ? lo : NOBODY;
  }
  int half = width / 2, found = find_within(ears, corner, 2 * k, lo, half);
  return found != NOBODY ? found : find_within(ears, corner, 2 * k + 1, lo + half, half);
}

// Returns true if the corner can be cut off without touching the rest of the outline. Otherwise it
// is no longer a candidate.
static bool is_ear(Ears *ears, int vertex) {
  const S2HalfEdge *e = ears->mesh->edges;
  int at = ears->half[vertex], before = e[at].previous, after = e[at].next;
  // The corner must turn to the left, and its triangle must contain no other vertex.
  Corner corner = {ears_point_of(ears, before),
                   ears_point_of(ears, at),
                   ears_point_of(ears, after),
                   e[before].origin,
                   vertex,
                   e[after].origin};
  bool turns = s2_side(corner.p, corner.q, corner.r) > 0;
  int other = turns ? find_within(ears, &corner, 1, 0, ears->left.leaves) : NOBODY;
  if (turns && other == NOBODY) {
    return true;
  }
  // The corner is not an ear now. It may become one after the vertex that obstructs it is cut off.
  set_diagonal(ears, vertex, INFINITY);
  if (other != NOBODY) {
    wait_for(ears, vertex, other);
  }
  return false;
}

// Simple outlines always have an ear. If there is none, the outline was not simple. Then choose the
// corner that turns most to the left.
static int ears_sharpest(const Ears *ears, int start) {
  const S2HalfEdge *e = ears->mesh->edges;
  int found = ears->half[start], at = found;
  double most = -INFINITY;
  do {
    double sine = s2_corner_sine(ears_point_of(ears, e[at].previous), ears_point_of(ears, at),
                                 ears_point_of(ears, e[at].next));
    if (sine > most) {
      found = at;
      most = sine;
    }
    at = e[at].next;
  } while (at != ears->half[start]);
  return e[found].origin;
}

static int ears_choose(Ears *ears, int start) {
  for (int vertex = ears_shortest(ears, start); vertex != NOBODY;
       vertex = ears_shortest(ears, start)) {
    if (is_ear(ears, vertex)) {
      return vertex;
    }
  }
  return ears_sharpest(ears, start);
}

// ---- Cutting ----------------------------------------------------------------------------------

static int *ears_numbers(S2Arena *arena, int count, int value) {
  int *list = S2_TAKE(arena, int, count);
  for (int i = 0; i < count; i++) {
    list[i] = value;
  }
  return list;
}

static Ears ears_begin(S2Mesh *mesh, int count, S2Arena *arena) {
  Ears ears = {.mesh = mesh,
               .count = count,
               .half = S2_TAKE(arena, int, count),
               .left = s2_box_tree(arena, count),
               .waits_for = ears_numbers(arena, count, NOBODY),
               .first_waiting = ears_numbers(arena, count, NOBODY),
               .next_waiting = ears_numbers(arena, count, NOBODY),
               .previous_waiting = ears_numbers(arena, count, NOBODY)};
  ears.diagonal = S2_TAKE(arena, double, 2 * ears.left.leaves);
  for (int k = 0; k < 2 * ears.left.leaves; k++) {
    ears.diagonal[k] = INFINITY;
  }
  // Start with a ring of half-edges for the outline, and with all vertices in the tree.
  for (int i = 0; i < count; i++) {
    mesh->edges[i] = (S2HalfEdge){i, (i + 1) % count, (i + count - 1) % count, -1};
    ears.half[i] = i;
    ears.left.box[ears.left.leaves + i] = (S2Box){mesh->points[i], mesh->points[i]};
  }
  mesh->count = count;
  s2_box_tree_build(&ears.left);
  for (int i = 0; i < count; i++) {
    make_candidate(&ears, i);
  }
  return ears;
}

// Cuts off the corner at a vertex. Returns the previous vertex.
static int ears_cut(Ears *ears, int vertex) {
  S2Mesh *mesh = ears->mesh;
  S2HalfEdge *e = mesh->edges;
  int at = ears->half[vertex], before = e[at].previous, after = e[at].next;
  int inner = mesh->count; // the half-edge that closes the ear
  int outer = inner + 1;   // the half-edge that replaces the ear in the remaining outline.
  // The diagonal has two half-edges. One closes the ear, and the other replaces it in the ring.
  e[inner] = (S2HalfEdge){e[after].origin, before, at, outer};
  e[outer] = (S2HalfEdge){e[before].origin, after, e[before].previous, inner};
  e[e[before].previous].next = outer;
  e[after].previous = outer;
  e[at].next = inner;
  e[before].previous = inner;
  mesh->count += 2;
  // Remove the vertex. Its neighbours and the corners that waited for it may have become ears.
  int start = e[outer].origin;
  ears->half[start] = outer;
  set_diagonal(ears, vertex, INFINITY);
  wait_no_more(ears, vertex);
  s2_box_tree_remove(&ears->left, vertex);
  while (ears->first_waiting[vertex] != NOBODY) {
    make_candidate(ears, ears->first_waiting[vertex]);
  }
  make_candidate(ears, start);
  make_candidate(ears, e[after].origin);
  return start;
}

void s2_triangulate(S2Mesh *mesh, int count, S2Arena *arena) {
  Ears ears = ears_begin(mesh, count, arena);
  int start = 0;
  // The last three vertices form the last triangle.
  for (int left = count; left > 3; left--) {
    start = ears_cut(&ears, ears_choose(&ears, start));
  }
}
