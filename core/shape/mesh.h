// Checks of outlines, ear clipping, and the box trees that both use. Private to shape/.
#ifndef S2_MESH_H
#define S2_MESH_H

#include "base/arena.h"
#include "base/status.h"
#include "base/vec.h"

// An outline is a line if the sines of its turns are at most this.
#define S2_STRAIGHT_SINE 1e-9

typedef struct S2HalfEdge {
  int origin; // the vertex at which the half-edge starts
  int next, previous;
  int twin; // the opposite half-edge in the neighbouring piece, or -1 on the outline
} S2HalfEdge;

typedef struct S2Mesh {
  const S2Vec2 *points;
  S2HalfEdge *edges; // space for 3 half-edges per point
  int count;
} S2Mesh;

// Returns the sine of the turn at q, which is twice the area of p, q, r divided by the lengths of
// both sides.
double s2_corner_sine(S2Vec2 p, S2Vec2 q, S2Vec2 r);

// Returns the exact side of p -> q on which r lies. 1 is left, -1 is right, and 0 means collinear.
int s2_side(S2Vec2 p, S2Vec2 q, S2Vec2 r);

// Return true if the whole box is to the right or to the left of p -> q by more than rounding
// errors. Return false if the box is close to the line. Empty boxes are on both sides.
bool s2_box_right_of(S2Box box, S2Vec2 p, S2Vec2 q);
bool s2_box_left_of(S2Box box, S2Vec2 p, S2Vec2 q);

// A binary tree with a bounding box for each node. The boxes are small, because consecutive items
// are parts of an outline and close together. Node 1 is the root, node k has the children 2k and 2k
// + 1, and item i is node `leaves + i`.
typedef struct S2BoxTree {
  int leaves; // a power of two; leaves without an item are empty
  S2Box *box;
} S2BoxTree;

S2BoxTree s2_box_tree(S2Arena *arena, int count); // all empty
void s2_box_tree_build(S2BoxTree *tree);          // computes all boxes; the boxes of the leaves
                                                  // must be set
void s2_box_tree_remove(S2BoxTree *tree, int item);

S2Status s2_outline_check(const S2Vec2 *points, int count, S2Arena *arena);

// Triangulates a counter-clockwise outline by clipping ears. Half-edge k of the outline starts at
// vertex k. Each ear adds a diagonal, which is a pair of half-edges.
void s2_triangulate(S2Mesh *mesh, int count, S2Arena *arena);

// Flips the diagonals of a triangulated outline of `count` vertices until it is a Delaunay
// triangulation. This maximises the smallest angle and so avoids slivers.
void s2_delaunay(S2Mesh *mesh, int count, S2Arena *arena);

#endif
