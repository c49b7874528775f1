// The parts of the decomposition: which outlines are simple, ears, and what they ask of boxes.
// Private to shape/.
#ifndef S2_MESH_H
#define S2_MESH_H

#include "base/arena.h"
#include "base/status.h"
#include "base/vec.h"

// An outline all of whose corners have this sine or less is a line.
#define S2_STRAIGHT_SINE 1e-9

typedef struct S2HalfEdge {
  int origin; // vertex it leaves
  int next, previous;
  int twin; // the same diagonal in the neighbouring piece, -1 on the outline
} S2HalfEdge;

typedef struct S2Mesh {
  const S2Vec2 *points;
  S2HalfEdge *edges; // room for 3 a point
  int count;
} S2Mesh;

// Twice the area of p, q, r over the product of the two sides at q: the sine of the turn there.
double s2_corner_sine(S2Vec2 p, S2Vec2 q, S2Vec2 r);

// -1, 0, 1: side of r seen along p -> q, exactly; 0: the three are in line.
int s2_side(S2Vec2 p, S2Vec2 q, S2Vec2 r);

// Is all of a box on the right of p -> q (s2_side gives -1), or on the left? Beyond all rounding:
// false where it is close. EMPTY boxes are on both.
bool s2_box_right_of(S2Box box, S2Vec2 p, S2Vec2 q);
bool s2_box_left_of(S2Box box, S2Vec2 p, S2Vec2 q);

// A binary tree over items 0 .. count - 1 in their order, with a box around what is below each
// node: consecutive parts of an outline lie close together. Node k has children 2k and 2k + 1, the
// root is 1, item i is node `leaves + i`.
typedef struct S2BoxTree {
  int leaves; // a power of two; those without an item are empty
  S2Box *box;
} S2BoxTree;

S2BoxTree s2_box_tree(S2Arena *arena, int count); // all empty
void s2_box_tree_build(S2BoxTree *tree);          // the leaves have their boxes
void s2_box_tree_remove(S2BoxTree *tree, int item);

S2Status s2_outline_check(const S2Vec2 *points, int count, S2Arena *arena);

// Half-edge k leaves vertex k at first; each ear that is cut off adds a diagonal, that is two
// half-edges. The outline runs counter-clockwise.
void s2_triangulate(S2Mesh *mesh, int count, S2Arena *arena);

// Turns the diagonals of a triangulated outline of `count` vertices until it is Delaunay's, which
// has the largest least angle: no slivers but where the outline leaves no choice.
void s2_delaunay(S2Mesh *mesh, int count, S2Arena *arena);

#endif
