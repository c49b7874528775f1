// Private to core/dynamics: a spanning forest of the bodies that joints connect.
//
// Joints form a graph of the bodies; all static bodies are one node, the ground. The forest adds
// given joints first, then joints that carry a body, then joints that only keep a length. The root
// of a tree is the ground, or the body with at most half of the tree's mass on any side. So the
// branch beyond a joint is the lighter side.
#ifndef S2_FOREST_H
#define S2_FOREST_H

#include "dynamics/joints/joint.h"

enum { S2_FOREST_GROUND = 0 }; // node; body slot i is node i + 1

typedef struct S2Tree { // a node's place in its tree
  int32_t parent;       // node; S2_NONE for a root
  int32_t joint;        // slot of the joint between the node and its parent
} S2Tree;

typedef struct S2Forest {
  S2World *world;
  int nodes, joints;
  int32_t *order; // nodes, parents before their children
  S2Tree *tree;   // per node
  bool *in_tree;  // per joint slot
  // Used only during construction.
  bool *given;    // per joint slot
  double *mass;   // per node
  int32_t *group; // per node: union-find
  int32_t *first; // per node: its first edge in a list, S2_NONE ends it
  int32_t *next;  // per edge: 2 slot at the joint's a, 2 slot + 1 at its b
} S2Forest;

// Number of bytes that s2_forest_grow needs in `memory`, which must be aligned for doubles and
// zeroed.
size_t s2_forest_size(const S2World *world);
void s2_forest_grow(S2Forest *forest, S2World *world, void *memory, const int32_t *given,
                    int count);
// Whether it is a hinge or slider.
bool s2_forest_has_coordinate(const S2Joint *joint);
// Whether one body carries the other along or (by_length) keeps a distance from it.
bool s2_forest_carries(const S2Joint *joint, bool by_length);

#endif
