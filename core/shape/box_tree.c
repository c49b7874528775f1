// Bounding boxes of the parts of an outline.
#include "shape/mesh.h"

#include <math.h>

// A box is close to a line if the cross product is at most this fraction of the product of the
// lengths. This is several hundred times the rounding error, so the sign of other boxes is correct.
static const double CLOSE = 1e-13;

static const S2Box EMPTY = {{INFINITY, INFINITY}, {-INFINITY, -INFINITY}};

static bool box_tree_is_empty(S2Box box) {
  return !(box.lo.x <= box.hi.x);
}

static double box_tree_least(double a, double b) { // inlined, unlike fmin
  return a < b ? a : b;
}

static double box_tree_most(double a, double b) {
  return a > b ? a : b;
}

static S2Box box_tree_join(S2Box a, S2Box b) {
  return (S2Box){{box_tree_least(a.lo.x, b.lo.x), box_tree_least(a.lo.y, b.lo.y)},
                 {box_tree_most(a.hi.x, b.hi.x), box_tree_most(a.hi.y, b.hi.y)}};
}

// Returns true if cross(along, v - p) is negative for all points v of the box.
static bool box_tree_below(S2Box box, S2Vec2 p, S2Vec2 along) {
  if (box_tree_is_empty(box)) {
    return true;
  }
  double x = (along.y > 0 ? box.lo.x : box.hi.x) - p.x,
         y = (along.x > 0 ? box.hi.y : box.lo.y) - p.y;
  double far_x = box_tree_most(fabs(box.lo.x - p.x), fabs(box.hi.x - p.x));
  double far_y = box_tree_most(fabs(box.lo.y - p.y), fabs(box.hi.y - p.y));
  double close = CLOSE * (fabs(along.x) + fabs(along.y)) * (far_x + far_y);
  return along.x * y - along.y * x < -close;
}

bool s2_box_right_of(S2Box box, S2Vec2 p, S2Vec2 q) {
  return box_tree_below(box, p, s2_sub(q, p));
}

bool s2_box_left_of(S2Box box, S2Vec2 p, S2Vec2 q) {
  return box_tree_below(box, p, s2_sub(p, q));
}

S2BoxTree s2_box_tree(S2Arena *arena, int count) {
  S2BoxTree tree = {.leaves = 1};
  while (tree.leaves < count) {
    tree.leaves *= 2;
  }
  tree.box = S2_TAKE(arena, S2Box, 2 * tree.leaves);
  for (int i = 0; i < 2 * tree.leaves; i++) {
    tree.box[i] = EMPTY;
  }
  return tree;
}

void s2_box_tree_build(S2BoxTree *tree) {
  for (int k = tree->leaves - 1; k > 0; k--) {
    tree->box[k] = box_tree_join(tree->box[2 * k], tree->box[2 * k + 1]);
  }
}

void s2_box_tree_remove(S2BoxTree *tree, int item) {
  int k = tree->leaves + item;
  tree->box[k] = EMPTY;
  for (k /= 2; k > 0; k /= 2) {
    tree->box[k] = box_tree_join(tree->box[2 * k], tree->box[2 * k + 1]);
  }
}
