// The parts of the decomposition: checks of outlines, ear clipping, and the box trees that both
// use. Private to shape/.
#ifndef S2_MESH_H
#define S2_MESH_H

#include "base/arena.h"
#include "base/status.h"
#include "base/vec.h"

// If the sine at all corners of an outline is at most this, the outline is a line.
#define S2_STRAIGHT_SINE 1e-9

typedef struct S2HalfEdge {
  int origin; // the vertex at which the half-edge starts
  int next, previous;
  int twin; // the same diagonal in the neighbouring piece; -1 on the outline
} S2HalfEdge;

typedef struct S2Mesh {
  const S2Vec2 *points;
  S2HalfEdge *edges; // space for 3 half-edges per point
  int count;
} S2Mesh;

// Twice the area of p, q, r over the product of the two sides at q: the sine of the turn there.
double s2_corner_sine(S2Vec2 p, S2Vec2 q, S2Vec2 r);

// The side of p -> q on which r lies: -1, 0 or 1, computed exactly. 0 means that the points are
// collinear.
int s2_side(S2Vec2 p, S2Vec2 q, S2Vec2 r);

// Whether a whole box is to the right of p -> q (where s2_side returns -1), or to the left, by more
// than rounding. Returns false if the box is close to the line. EMPTY boxes are on both sides.
bool s2_box_right_of(S2Box box, S2Vec2 p, S2Vec2 q);
bool s2_box_left_of(S2Box box, S2Vec2 p, S2Vec2 q);

// A binary tree over items 0 .. count - 1, in order, with the box of all items below each node. The
// boxes are small, because consecutive parts of an outline are close together. Node k has children
// 2k and 2k + 1, the root is 1, item i is node `leaves + i`.
typedef struct S2BoxTree {
  int leaves; // a power of two; leaves without an item are empty
  S2Box *box;
} S2BoxTree;

S2BoxTree s2_box_tree(S2Arena *arena, int count); // all empty
void s2_box_tree_build(S2BoxTree *tree);          // computes all boxes; the boxes of the leaves
                                                  // must be set
void s2_box_tree_remove(S2BoxTree *tree, int item);

S2Status s2_outline_check(const S2Vec2 *points, int count, S2Arena *arena);

// Clips ears. Initially, half-edge k leaves vertex k. Each ear that is cut off adds a diagonal,
// that is, two half-edges. The outline is counter-clockwise.
void s2_triangulate(S2Mesh *mesh, int count, S2Arena *arena);

// Flips the diagonals of a triangulated outline of `count` vertices until it is a Delaunay
// triangulation, which maximises the smallest angle, so slivers remain only where the outline
// forces them.
void s2_delaunay(S2Mesh *mesh, int count, S2Arena *arena);

#endif
