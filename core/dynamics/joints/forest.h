// Private to core/dynamics: a spanning forest of the bodies that joints connect.
//
// Joints make a graph of the bodies, with what stands still as one node, the ground. Given joints
// are in the forest first, then joints that carry a body, then joints that only keep a length.
// Roots: the ground, else the body with no more than half of the mass on any side of it, so that
// the lighter side of a joint is the branch beyond it.
#ifndef S2_FOREST_H
#define S2_FOREST_H

#include "dynamics/joints/joint.h"

enum { S2_FOREST_GROUND = 0 }; // node; body slot i is node i + 1

typedef struct S2Tree { // of a node
  int32_t parent;       // node, S2_NONE: a root
  int32_t joint;        // slot, between it and its parent
} S2Tree;

typedef struct S2Forest {
  S2World *world;
  int nodes, joints;
  int32_t *order; // nodes, parents before their children
  S2Tree *tree;   // a node
  bool *in_tree;  // a joint slot
  // Only while it grows.
  bool *given;    // a joint slot
  double *mass;   // a node
  int32_t *group; // a node: union-find
  int32_t *first; // a node: its first edge in a list, S2_NONE ends it
  int32_t *next;  // an edge: 2 slot at the joint's a, 2 slot + 1 at its b
} S2Forest;

// Bytes that s2_forest_grow takes from `memory`, which is aligned for doubles and zeroed.
size_t s2_forest_size(const S2World *world);
void s2_forest_grow(S2Forest *forest, S2World *world, void *memory, const int32_t *given,
                    int count);
// Is it a hinge or slider?
bool s2_forest_has_coordinate(const S2Joint *joint);
// Does one body carry the other along, or (by_length) is at a distance that it keeps?
bool s2_forest_carries(const S2Joint *joint, bool by_length);

#endif
