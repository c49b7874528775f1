// Coordinates of joints set by the program: bodies are put where they have these values.
//
// Joints make a graph of the bodies, with what stands still as one node, the ground. In a spanning
// forest of it, given joints first, each body has a place against the one before it: that of now,
// or, across a given joint, the one with the coordinate asked for. Roots stay: the ground, else the
// body with no more than half of the mass on any side of it, so that the lighter side moves.
// Joints that are in no tree close loops: coordinates of the trees that nobody gave are moved by
// Newton's method until they do.
#include "dynamics/joints/joint.h"
#include "linalg/dense.h"

#include <string.h>

enum {
  GROUND = 0,          // node; body slot i is node i + 1
  LOOP_STEPS = 50,     // of Newton's method; quadratic where loops can be closed: 5 to 10 are seen
  LOOP_PARTS = 1000,   // on the way to what is given
  LOOP_UNKNOWNS = 512, // coordinates that may move: the system is dense
};
// Of the largest reach of a body: joints are as exact as rounding leaves them.
static const double CLOSED = 1e-13, LEFT_OPEN = 1e-9;
// Step of the differences that Newton's matrix is made of, rad or m, and what keeps it regular
// where a mechanism has more freedom than loops take: parts of its largest entry.
static const double DIFFERENCE = 1e-7, REGULAR = 1e-12;
static const double LARGEST_STEP = 0.5; // rad or m, of one of Newton's steps
static const double LOOP_PART = 0.1;    // rad or m: of what is given, on the way of a loop

typedef struct Tree { // of a node
  int32_t parent;     // node, S2_NONE: a root
  int32_t joint;      // slot, between it and its parent
} Tree;

typedef struct Coordinates {
  S2World *world;
  const S2JointCoordinate *set;
  int set_count, nodes, joints;
  int32_t *set_at; // a joint slot: which of `set`, S2_NONE
  int32_t *group;  // a node: union-find
  int32_t *order;  // nodes, parents before their children
  int32_t *first;  // a node: its first edge in a list, S2_NONE ends it
  int32_t *next;   // an edge of the forest: 2 slot at the joint's a, 2 slot + 1 at its b
  Tree *tree;      // a node
  bool *in_tree;   // a joint slot
  double *value;   // a joint slot: the coordinate that it is to have
  double *from;    // one of `set`: the coordinate that it has
  double *q, *v;   // 3 a slot, as they were
  int32_t *free;   // joint slots in trees that nobody gave and loops may move
  int free_count;
} Coordinates;

static int32_t coordinate_node(const S2World *world, int32_t slot) {
  return slot == S2_NONE || !s2_body_moves(&world->bodies.at[slot]) ? GROUND : slot + 1;
}

static bool has_coordinate(const S2Joint *joint) {
  return joint->type == S2_HINGE || joint->type == S2_SLIDER;
}

// Does one body carry the other along?
static bool joint_carries(const S2Joint *joint, bool by_length) {
  bool length = joint->type == S2_DISTANCE || joint->type == S2_ROPE;
  bool holds = has_coordinate(joint) || joint->type == S2_WELD || joint->type == S2_WHEEL;
  return joint->serial != 0 && joint->enabled && (by_length ? length : holds);
}

static double coordinate_value(const S2World *world, const S2Joint *joint) {
  S2JointRow row;
  S2JointAt at = {world, joint, world->q.at, 0, NULL, NULL};
  s2_joint_kind(joint->type)->coordinate(&at, &row, NULL);
  return row.value;
}

// ---- The forest -------------------------------------------------------------------------------

static int32_t group_of(int32_t *group, int32_t node) {
  while (group[node] != node) {
    group[node] = group[group[node]];
    node = group[node];
  }
  return node;
}

static void push_edge(Coordinates *c, int32_t node, int32_t edge) {
  c->next[edge] = c->first[node];
  c->first[node] = edge;
}

static void join_groups(Coordinates *c, int32_t slot) {
  const S2Joint *joint = &c->world->joints.at[slot];
  int32_t a = group_of(c->group, coordinate_node(c->world, joint->a));
  int32_t b = group_of(c->group, coordinate_node(c->world, joint->b));
  // The ground stays the name of its group.
  c->in_tree[slot] = a != b;
  c->group[a > b ? a : b] = a > b ? b : a;
  if (a != b) {
    push_edge(c, coordinate_node(c->world, joint->a), 2 * slot);
    push_edge(c, coordinate_node(c->world, joint->b), 2 * slot + 1);
  }
}

static void grow_forest(Coordinates *c) {
  // Given joints, then what carries bodies, then what only keeps lengths.
  for (int i = 0; i < c->set_count; i++) {
    join_groups(c, (int32_t)c->set[i].joint.index - 1);
  }
  for (int by_length = 0; by_length < 2; by_length++) {
    for (int32_t slot = 0; slot < c->joints; slot++) {
      bool given = c->set_at[slot] != S2_NONE;
      if (!given && joint_carries(&c->world->joints.at[slot], by_length != 0)) {
        join_groups(c, slot);
      }
    }
  }
}

// Nodes of a tree from its root on, parents first; returns how many.
static int walk_tree(Coordinates *c, int32_t root, int32_t *order) {
  int count = 1;
  order[0] = root;
  c->tree[root] = (Tree){S2_NONE, S2_NONE};
  for (int i = 0; i < count; i++) {
    for (int32_t edge = c->first[order[i]]; edge != S2_NONE; edge = c->next[edge]) {
      int32_t slot = edge / 2;
      if (slot != c->tree[order[i]].joint) {
        const S2Joint *joint = &c->world->joints.at[slot];
        int32_t child = coordinate_node(c->world, edge % 2 == 0 ? joint->b : joint->a);
        c->tree[child] = (Tree){order[i], slot};
        order[count++] = child;
      }
    }
  }
  return count;
}

static double node_mass(const S2World *world, int32_t node) {
  return node == GROUND ? INFINITY : world->bodies.at[node - 1].mass;
}

// The body with no more than half of the tree's mass on any side; `mass` has room for all nodes.
static int32_t heart_of_tree(Coordinates *c, const int32_t *order, int count, double *mass) {
  double whole = 0;
  for (int i = 0; i < count; i++) {
    mass[order[i]] = node_mass(c->world, order[i]);
    whole += mass[order[i]];
  }
  // From the leaves: the first whose branch has half of the mass has less than half behind it.
  for (int i = count - 1; i > 0; i--) {
    if (2 * mass[order[i]] >= whole) {
      return order[i];
    }
    mass[c->tree[order[i]].parent] += mass[order[i]];
  }
  return order[0];
}

static void plant_forest(Coordinates *c, double *mass) {
  int done = walk_tree(c, GROUND, c->order);
  for (int32_t node = 1; node < c->nodes; node++) {
    // One tree for each group that the ground is not in, from the node that names it.
    bool moves =
        c->world->bodies.at[node - 1].serial != 0 && coordinate_node(c->world, node - 1) == node;
    if (moves && group_of(c->group, node) == node) {
      int count = walk_tree(c, node, c->order + done);
      int32_t heart = heart_of_tree(c, c->order + done, count, mass);
      done += walk_tree(c, heart, c->order + done);
    }
  }
  c->nodes = done;
}

// ---- Placing ----------------------------------------------------------------------------------

static const double *pose_of(const double *q, int32_t slot) {
  static const double world[3] = {0, 0, 0};
  return slot == S2_NONE ? world : q + 3 * slot;
}

static bool same_three(const double a[3], const double b[3]) {
  return a[0] == b[0] && a[1] == b[1] && a[2] == b[2];
}

// Where the coordinate of a hinge or slider is `value`: the pose of b from that of a, or of a.
static void place_across(const S2World *world, const S2Joint *joint, double value, bool places_a,
                         double pose[3]) {
  const double *q = world->q.at;
  double angle = joint->angle0 + (joint->type == S2_HINGE ? value : 0);
  double along = joint->type == S2_SLIDER ? value : 0;
  double angle_b = places_a ? pose_of(q, joint->b)[0] : pose_of(q, joint->a)[0] - angle;
  // anchor_a = anchor_b + along axis
  S2Vec2 shift = s2_scale(along, s2_rotate(s2_rot(angle_b), joint->axis));
  S2Vec2 known = places_a ? s2_add(s2_joint_anchor(q, joint->b, joint->local_b), shift)
                          : s2_sub(s2_joint_anchor(q, joint->a, joint->local_a), shift);
  pose[0] = places_a ? angle_b + angle : angle_b;
  S2Vec2 arm = s2_rotate(s2_rot(pose[0]), places_a ? joint->local_a : joint->local_b);
  pose[1] = known.x - arm.x;
  pose[2] = known.y - arm.y;
}

// The pose that keeps the place of `of` against its parent as it was.
static void place_along(const Coordinates *c, int32_t parent, int32_t of, double pose[3]) {
  const double *was = pose_of(c->q, of), *from = pose_of(c->q, parent);
  const double *now = pose_of(c->world->q.at, parent);
  if (same_three(from, now)) { // not a bit moves
    memcpy(pose, was, 3 * sizeof(double));
    return;
  }
  S2Rot turn = s2_rot(now[0] - from[0]);
  S2Vec2 arm = s2_rotate(turn, s2_vec2(was[1] - from[1], was[2] - from[2]));
  pose[0] = was[0] + (now[0] - from[0]);
  pose[1] = now[1] + arm.x;
  pose[2] = now[2] + arm.y;
}

static void place_bodies(const Coordinates *c) {
  S2World *world = c->world;
  for (int i = 0; i < c->nodes; i++) {
    const Tree *tree = &c->tree[c->order[i]];
    int32_t slot = c->order[i] - 1;
    if (tree->parent == S2_NONE) {
      continue;
    }
    // Across a coordinate that stays the place is kept, too, to the bit.
    const S2Joint *joint = &world->joints.at[tree->joint];
    bool moves = has_coordinate(joint) && !isnan(c->value[tree->joint]);
    int32_t parent = joint->a == slot ? joint->b : joint->a;
    if (moves) {
      place_across(world, joint, c->value[tree->joint], joint->a == slot, world->q.at + 3 * slot);
    } else {
      place_along(c, parent, slot, world->q.at + 3 * slot);
    }
  }
}

// Speeds of coordinates stay, and so do those of what is carried: the motion against the parent, in
// its frame, turns by as much as the body does there.
static void turn_velocities(const Coordinates *c) {
  S2World *world = c->world;
  static const double still[3] = {0, 0, 0};
  for (int i = 0; i < c->nodes; i++) {
    const Tree *tree = &c->tree[c->order[i]];
    int32_t slot = c->order[i] - 1;
    if (tree->parent == S2_NONE) {
      continue;
    }
    const S2Joint *joint = &world->joints.at[tree->joint];
    int32_t parent = joint->a == slot ? joint->b : joint->a;
    const double *was = c->q + 3 * slot, *now = world->q.at + 3 * slot;
    const double *p0 = pose_of(c->q, parent), *p1 = pose_of(world->q.at, parent);
    bool unmoved = same_three(was, now) && same_three(p0, p1);
    const double *u0 = parent == S2_NONE ? still : c->v + 3 * parent;
    const double *u1 = parent == S2_NONE ? still : world->v.at + 3 * parent;
    if (unmoved && same_three(u0, u1)) {
      continue;
    }
    // v - u - w x arm before, turned with the body, on the arm of now.
    double *v = world->v.at + 3 * slot;
    S2Vec2 arm0 = s2_vec2(was[1] - p0[1], was[2] - p0[2]);
    S2Vec2 arm1 = s2_vec2(now[1] - p1[1], now[2] - p1[2]);
    S2Vec2 carried = s2_add_scaled(s2_vec2(u0[1], u0[2]), u0[0], s2_left(arm0));
    S2Vec2 own = s2_sub(s2_vec2(v[1], v[2]), carried);
    own = s2_rotate(s2_rot(now[0] - was[0]), own);
    v[0] += u1[0] - u0[0];
    v[1] = u1[1] - u1[0] * arm1.y + own.x;
    v[2] = u1[2] + u1[0] * arm1.x + own.y;
  }
}

// ---- Loops ------------------------------------------------------------------------------------

// Errors of what closes loops: rigid equations of joints that are in no tree; returns how many.
// NULL: only counts them.
static int loop_errors(const Coordinates *c, double *error, double *worst, int32_t *worst_joint) {
  int count = 0;
  *worst = 0;
  for (int32_t slot = 0; slot < c->joints; slot++) {
    const S2Joint *joint = &c->world->joints.at[slot];
    // What the program's functions say is asked in steps only.
    bool asks = joint->type == S2_CONSTRAINT || joint->driven;
    if (joint->serial == 0 || asks || !s2_joint_active(c->world, joint) ||
        (c->in_tree[slot] && joint_carries(joint, false))) {
      continue;
    }
    S2JointAt at = {c->world, joint, c->world->q.at, 0, NULL, NULL};
    S2JointRow rows[S2_JOINT_EQUATIONS + 1];
    int of = s2_joint_rigid_rows(&at, rows);
    // A given joint that closes a loop has its coordinate as an equation.
    if (!c->in_tree[slot] && c->set_at[slot] != S2_NONE) {
      s2_joint_kind(joint->type)->coordinate(&at, &rows[of], NULL);
      rows[of++].value -= c->value[slot];
    }
    for (int i = 0; i < of; i++, count++) {
      double size = fabs(rows[i].value);
      *worst_joint = size > *worst ? slot : *worst_joint;
      *worst = fmax(*worst, size);
      if (error != NULL) {
        error[count] = rows[i].value;
      }
    }
  }
  return count;
}

// J'J + small, its lower triangle by columns, and -J'r; J is by columns, too.
static bool normal_equations(const double *j, const double *r, size_t rows, size_t n, double *a,
                             double *x) {
  double largest = 0;
  for (size_t k = 0; k < n; k++) {
    x[k] = 0;
    for (size_t i = 0; i < rows; i++) {
      x[k] -= j[k * rows + i] * r[i];
    }
    for (size_t l = 0; l <= k; l++) {
      double sum = 0;
      for (size_t i = 0; i < rows; i++) {
        sum += j[k * rows + i] * j[l * rows + i];
      }
      a[l * n + k] = sum;
    }
    largest = fmax(largest, a[k * n + k]);
  }
  for (size_t k = 0; k < n; k++) {
    a[k * n + k] += REGULAR * largest;
  }
  return largest > 0;
}

// One step of Newton's method on the free coordinates; `memory` has r, J, J'J and the step.
static bool close_loops_once(Coordinates *c, int count, double *memory) {
  size_t n = (size_t)c->free_count, rows = (size_t)count;
  double *r = memory, *j = r + rows, *a = j + rows * n, *x = a + n * n;
  double unused, most = 0;
  int32_t of = S2_NONE;
  loop_errors(c, r, &unused, &of);
  // Columns of J by differences.
  for (size_t k = 0; k < n; k++) {
    double *value = &c->value[c->free[k]], kept = *value;
    *value = kept + DIFFERENCE;
    place_bodies(c);
    loop_errors(c, j + k * rows, &unused, &of);
    *value = kept;
    for (size_t i = 0; i < rows; i++) {
      j[k * rows + i] = (j[k * rows + i] - r[i]) / DIFFERENCE;
    }
  }
  S2Dense matrix = {.size = c->free_count, .a = a};
  if (!normal_equations(j, r, rows, n, a, x) || !s2_dense_factor(&matrix)) {
    return false;
  }
  s2_dense_solve(&matrix, x);
  // Linear rows are good for small turns only.
  for (size_t k = 0; k < n; k++) {
    most = fmax(most, fabs(x[k]));
  }
  for (size_t k = 0; k < n; k++) {
    c->value[c->free[k]] += x[k] * (most > LARGEST_STEP ? LARGEST_STEP / most : 1);
  }
  place_bodies(c);
  return isfinite(most);
}

// Newton's method until loops are closed, or come no closer.
static double close_loops_here(Coordinates *c, int rows, double length, double *memory,
                               int32_t *of) {
  double worst, best = INFINITY;
  loop_errors(c, NULL, &worst, of);
  for (int step = 0; step < LOOP_STEPS && worst > CLOSED * length; step++) {
    if ((worst <= LEFT_OPEN * length && worst >= best) || // rounding
        !close_loops_once(c, rows, memory)) {
      break;
    }
    best = fmin(best, worst);
    loop_errors(c, NULL, &worst, of);
  }
  return worst;
}

// Given coordinates go from what they are to what they are to be in small parts, so that a loop
// stays closed in the way it is: a crank and its rod have two.
static double close_loops_along(Coordinates *c, int rows, double length, int32_t *of) {
  size_t all = (size_t)rows, some = (size_t)c->free_count;
  double *memory = s2_memory_take(sizeof(double) * (all + all * some + some * some + some));
  double way = 0, worst = INFINITY;
  for (int i = 0; i < c->set_count; i++) {
    way = fmax(way, fabs(c->set[i].value - c->from[i]));
  }
  int parts = (int)fmin(ceil(way / LOOP_PART) + 1, LOOP_PARTS);
  for (int part = 1; part <= parts; part++) {
    for (int i = 0; i < c->set_count; i++) {
      double to = c->set[i].value, rest = to - c->from[i];
      c->value[c->set[i].joint.index - 1] = part == parts ? to : c->from[i] + rest * part / parts;
    }
    place_bodies(c);
    worst = close_loops_here(c, rows, length, memory, of);
  }
  s2_memory_free(memory);
  return worst;
}

static S2Status close_loops(Coordinates *c, double length) {
  double worst;
  int32_t of = S2_NONE;
  int rows = loop_errors(c, NULL, &worst, &of), n = 0;
  if (worst <= CLOSED * length) {
    return s2_ok();
  }
  // Coordinates that nobody gave may move, from where they are, where there are not too many.
  for (int i = 0; i < c->nodes; i++) {
    int32_t slot = c->tree[c->order[i]].joint;
    if (slot != S2_NONE && c->set_at[slot] == S2_NONE &&
        has_coordinate(&c->world->joints.at[slot])) {
      c->free[n++] = slot;
    }
  }
  c->free_count = n;
  if (n > 0 && n <= LOOP_UNKNOWNS) {
    for (int k = 0; k < n; k++) {
      c->value[c->free[k]] = coordinate_value(c->world, &c->world->joints.at[c->free[k]]);
    }
    worst = close_loops_along(c, rows, length, &of);
  }
  if (worst <= LEFT_OPEN * length) {
    return s2_ok();
  }
  char label[S2_NAME_SIZE + 32];
  s2_joint_label(c->world, of, label);
  return s2_error(S2_INVALID,
                  "the %s closes a loop that these coordinates leave open by %.3g: give fewer of "
                  "its joints, or others",
                  label, worst);
}

// ---- Setting ----------------------------------------------------------------------------------

static S2Status coordinates_check(const S2World *world, const S2JointCoordinate *set, int count) {
  for (int i = 0; i < count; i++) {
    int32_t slot;
    char label[S2_NAME_SIZE + 32];
    S2_TRY(s2_joint_slot(world, set[i].joint, &slot));
    const S2Joint *joint = &world->joints.at[slot];
    s2_joint_label(world, slot, label);
    // A joint that has a coordinate and keeps it.
    if (!has_coordinate(joint)) {
      return s2_error(S2_INVALID, "%s: a hinge or slider expected", label);
    }
    if (!joint->enabled) {
      return s2_error(S2_INVALID, "%s: it is disabled and keeps nothing", label);
    }
    // A value that it may have.
    if (!isfinite(set[i].value)) {
      return s2_error(S2_INVALID, "%s: finite number expected, got %g", label, set[i].value);
    }
    if (set[i].value < joint->limit_lo || set[i].value > joint->limit_hi) {
      return s2_error(S2_INVALID, "%s: %g is beyond its limits, {%g, %g}", label, set[i].value,
                      joint->limit_lo, joint->limit_hi);
    }
    // Once.
    for (int k = 0; k < i; k++) {
      if (set[k].joint.index == set[i].joint.index) {
        return s2_error(S2_INVALID, "%s: given twice", label);
      }
    }
  }
  return s2_ok();
}

// What moved is told to the rest of the world, as of any body that is put elsewhere.
static void coordinates_commit(const Coordinates *c) {
  S2World *world = c->world;
  for (int i = 0; i < c->nodes; i++) {
    int32_t slot = c->order[i] - 1;
    if (slot < 0) {
      continue;
    }
    for (int k = 0; k < 3; k++) {
      if (world->q.at[3 * slot + k] != c->q[3 * slot + k]) {
        (void)s2_body_set(world, s2_body_id(world, slot), S2_BODY_ANGLE + (S2BodyField)k,
                          world->q.at[3 * slot + k]);
      }
    }
  }
}

S2Status s2_world_set_coordinates(S2World *world, const S2JointCoordinate *set, int count) {
  S2_TRY(s2_world_idle(world));
  S2_TRY(coordinates_check(world, set, count));
  if (count == 0) { // as of a world that is empty
    return s2_ok();
  }
  // One block for all, numbers first so that they are aligned.
  int bodies = world->bodies.count, joints = world->joints.count, nodes = bodies + 1;
  size_t numbers = 6 * (size_t)bodies + (size_t)joints + (size_t)nodes + (size_t)count;
  size_t size = sizeof(double) * numbers + sizeof(Tree) * (size_t)nodes +
                sizeof(int32_t) * (3 * (size_t)nodes + 4 * (size_t)joints) + (size_t)joints;
  double *memory = s2_memory_take_zeroed(size);
  Coordinates c = {
      .world = world, .set = set, .set_count = count, .nodes = nodes, .joints = joints};
  c.q = memory;
  c.v = c.q + 3 * bodies;
  c.value = c.v + 3 * bodies;
  double *mass = c.value + joints;
  c.from = mass + nodes;
  c.tree = (Tree *)(void *)(c.from + count);
  c.order = (int32_t *)(void *)(c.tree + nodes);
  c.group = c.order + nodes;
  c.first = c.group + nodes;
  c.next = c.first + nodes;
  c.set_at = c.next + 2 * joints;
  c.free = c.set_at + joints;
  c.in_tree = (bool *)(void *)(c.free + joints);
  // As it is now; a NAN stands for a coordinate that stays.
  memcpy(c.q, world->q.at, sizeof(double) * 3 * (size_t)bodies);
  memcpy(c.v, world->v.at, sizeof(double) * 3 * (size_t)bodies);
  double length = 0;
  for (int i = 0; i < bodies; i++) {
    length = fmax(length, world->bodies.at[i].reach);
  }
  for (int i = 0; i < nodes; i++) {
    c.group[i] = i;
    c.first[i] = S2_NONE;
  }
  for (int i = 0; i < joints; i++) {
    c.set_at[i] = S2_NONE;
    c.value[i] = NAN;
  }
  for (int i = 0; i < count; i++) {
    c.set_at[set[i].joint.index - 1] = i;
    c.value[set[i].joint.index - 1] = set[i].value;
    c.from[i] = coordinate_value(world, &world->joints.at[set[i].joint.index - 1]);
  }
  // Trees, places along them, and what closes loops.
  grow_forest(&c);
  plant_forest(&c, mass);
  place_bodies(&c);
  S2Status status = close_loops(&c, length);
  if (status.code == S2_OK) {
    turn_velocities(&c);
    coordinates_commit(&c);
  } else {
    memcpy(world->q.at, c.q, sizeof(double) * 3 * (size_t)bodies);
  }
  s2_memory_free(memory);
  return status;
}
