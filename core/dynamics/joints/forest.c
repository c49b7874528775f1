#include "dynamics/joints/forest.h"

static int32_t forest_node(const S2World *world, int32_t slot) {
  return slot == S2_NONE || !s2_body_moves(&world->bodies.at[slot]) ? S2_FOREST_GROUND : slot + 1;
}

bool s2_forest_has_coordinate(const S2Joint *joint) {
  return joint->type == S2_HINGE || joint->type == S2_SLIDER;
}

// Returns true if the joint makes one body carry the other along. With `by_length`: returns true if
// it only keeps a length between them.
bool s2_forest_carries(const S2Joint *joint, bool by_length) {
  bool length = joint->type == S2_DISTANCE || joint->type == S2_ROPE;
  bool holds = s2_forest_has_coordinate(joint) || joint->type == S2_WELD || joint->type == S2_WHEEL;
  return joint->serial != 0 && joint->enabled && (by_length ? length : holds);
}

static int32_t group_of(int32_t *group, int32_t node) {
  while (group[node] != node) {
    group[node] = group[group[node]];
    node = group[node];
  }
  return node;
}

static void push_edge(S2Forest *f, int32_t node, int32_t edge) {
  f->next[edge] = f->first[node];
  f->first[node] = edge;
}

static void join_groups(S2Forest *f, int32_t slot) {
  const S2Joint *joint = &f->world->joints.at[slot];
  int32_t a = group_of(f->group, forest_node(f->world, joint->a));
  int32_t b = group_of(f->group, forest_node(f->world, joint->b));
  // If a group contains the ground, the ground remains its representative.
  f->in_tree[slot] = a != b;
  f->group[a > b ? a : b] = a > b ? b : a;
  if (a != b) {
    push_edge(f, forest_node(f->world, joint->a), 2 * slot);
    push_edge(f, forest_node(f->world, joint->b), 2 * slot + 1);
  }
}

static void grow_forest(S2Forest *f, const int32_t *given, int count) {
  // Add the given joints first, then joints that carry a body, then joints that only keep a length.
  for (int i = 0; i < count; i++) {
    f->given[given[i]] = true;
    join_groups(f, given[i]);
  }
  for (int by_length = 0; by_length < 2; by_length++) {
    for (int32_t slot = 0; slot < f->joints; slot++) {
      if (!f->given[slot] && s2_forest_carries(&f->world->joints.at[slot], by_length != 0)) {
        join_groups(f, slot);
      }
    }
  }
}

// Lists the nodes of a tree with parents before children. Returns their number.
static int walk_tree(S2Forest *f, int32_t root, int32_t *order) {
  int count = 1;
  order[0] = root;
  f->tree[root] = (S2Tree){S2_NONE, S2_NONE};
  for (int i = 0; i < count; i++) {
    for (int32_t edge = f->first[order[i]]; edge != S2_NONE; edge = f->next[edge]) {
      int32_t slot = edge / 2;
      if (slot != f->tree[order[i]].joint) {
        const S2Joint *joint = &f->world->joints.at[slot];
        int32_t child = forest_node(f->world, edge % 2 == 0 ? joint->b : joint->a);
        f->tree[child] = (S2Tree){order[i], slot};
        order[count++] = child;
      }
    }
  }
  return count;
}

static double node_mass(const S2World *world, int32_t node) {
  return node == S2_FOREST_GROUND ? INFINITY : world->bodies.at[node - 1].mass;
}

// Finds the body that has at most half of the tree's mass on any side. `mass` needs room for all
// nodes.
static int32_t heart_of_tree(S2Forest *f, const int32_t *order, int count, double *mass) {
  double whole = 0;
  for (int i = 0; i < count; i++) {
    mass[order[i]] = node_mass(f->world, order[i]);
    whole += mass[order[i]];
  }
  // Take the first node, from the leaves upwards, whose branch has at least half of the mass.
  for (int i = count - 1; i > 0; i--) {
    if (2 * mass[order[i]] >= whole) {
      return order[i];
    }
    mass[f->tree[order[i]].parent] += mass[order[i]];
  }
  return order[0];
}

static void plant_forest(S2Forest *f) {
  int done = walk_tree(f, S2_FOREST_GROUND, f->order);
  for (int32_t node = 1; node < f->nodes; node++) {
    // Walk each group without the ground from its representative to make one tree.
    bool moves =
        f->world->bodies.at[node - 1].serial != 0 && forest_node(f->world, node - 1) == node;
    if (moves && group_of(f->group, node) == node) {
      int count = walk_tree(f, node, f->order + done);
      int32_t heart = heart_of_tree(f, f->order + done, count, f->mass);
      done += walk_tree(f, heart, f->order + done);
    }
  }
  f->nodes = done;
}

size_t s2_forest_size(const S2World *world) {
  size_t nodes = (size_t)world->bodies.count + 1, joints = (size_t)world->joints.count;
  size_t size = sizeof(double) * nodes + sizeof(S2Tree) * nodes +
                sizeof(int32_t) * (3 * nodes + 2 * joints) + 2 * joints;
  return (size + sizeof(double) - 1) / sizeof(double) * sizeof(double);
}

void s2_forest_grow(S2Forest *forest, S2World *world, void *memory, const int32_t *given,
                    int count) {
  int nodes = world->bodies.count + 1, joints = world->joints.count;
  *forest = (S2Forest){.world = world, .nodes = nodes, .joints = joints, .mass = memory};
  forest->tree = (S2Tree *)(void *)(forest->mass + nodes);
  forest->order = (int32_t *)(void *)(forest->tree + nodes);
  forest->group = forest->order + nodes;
  forest->first = forest->group + nodes;
  forest->next = forest->first + nodes;
  forest->in_tree = (bool *)(void *)(forest->next + 2 * joints);
  forest->given = forest->in_tree + joints;
  for (int i = 0; i < nodes; i++) {
    forest->group[i] = i;
    forest->first[i] = S2_NONE;
  }
  grow_forest(forest, given, count);
  plant_forest(forest);
}
