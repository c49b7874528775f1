// Private to core/dynamics: a spanning forest of the bodies that joints connect.
//
// Bodies and joints form a graph. All bodies that cannot move are a single node, the ground. The
// forest adds the given joints first, then joints that carry a body, then joints that only keep a
// length. The root of a tree is the ground, or else the body that has at most half of the tree's
// mass on any side. This makes the branch beyond a joint its lighter side.
#ifndef S2_FOREST_H
#define S2_FOREST_H

#include "dynamics/joints/joint.h"

enum { S2_FOREST_GROUND = 0 }; // a node; body slot i is node i + 1

typedef struct S2Tree { // the position of a node in its tree
  int32_t parent;       // parent node; S2_NONE for a root
  int32_t joint;        // slot of the joint between the node and its parent
} S2Tree;

typedef struct S2Forest {
  S2World *world;
  int nodes, joints;
  int32_t *order; // nodes, parents before their children
  S2Tree *tree;   // per node
  bool *in_tree;  // per joint slot: whether it is in a tree.
  // Only used during construction:
  bool *given;    // per joint slot: whether it was given
  double *mass;   // per node
  int32_t *group; // per node: union-find
  int32_t *first; // per node: first edge in its list; S2_NONE: empty list
  int32_t *next;  // next edge; edges 2 slot and 2 slot + 1 are at bodies a and b
} S2Forest;

// Number of bytes of `memory` that s2_forest_grow needs. The memory must be zeroed, and aligned for
// doubles.
size_t s2_forest_size(const S2World *world);
void s2_forest_grow(S2Forest *forest, S2World *world, void *memory, const int32_t *given,
                    int count);
// Returns true if the joint is a hinge or a slider.
bool s2_forest_has_coordinate(const S2Joint *joint);
// Returns true if the joint makes one body carry the other along. With `by_length`: returns true if
// it only keeps a length between them.
bool s2_forest_carries(const S2Joint *joint, bool by_length);

#endif
