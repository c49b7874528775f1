// Sets coordinates of joints by moving bodies to poses that have the given values.
//
// The given joints are added first to a spanning forest (forest.h). In it, each body has a pose
// relative to its parent. For a given joint, this pose has the required coordinate. Other joints
// keep their present relative pose. Roots do not move. Joints outside the trees form loops.
// Newton's method closes the loops by changing those coordinates of the trees that the caller did
// not set.
#include "dynamics/joints/forest.h"
#include "linalg/dense.h"

#include <string.h>

enum {
  LOOP_STEPS = 50,     // maximum number of Newton steps; 5 to 10 usually close the loops
  LOOP_PARTS = 1000,   // maximum number of increments in which the coordinates change
  LOOP_UNKNOWNS = 512, // maximum number of free coordinates, because the system is dense
};
// Fractions of the largest reach of a body. CLOSED is the target of Newton's method, at the level
// of rounding. LEFT_OPEN is the largest accepted error.
static const double CLOSED = 1e-13, LEFT_OPEN = 1e-9;
// DIFFERENCE: step of the finite differences in Newton's matrix, rad or m. REGULAR: fraction of the
// matrix's largest entry to add to its diagonal. This is needed if the loops do not determine all
// degrees of freedom.
static const double DIFFERENCE = 1e-7, REGULAR = 1e-12;
static const double LARGEST_STEP = 0.5; // rad or m: largest change in one Newton step.
// rad or m: change of the given coordinates after which the loops are closed again
static const double LOOP_PART = 0.1;

typedef struct Coordinates {
  S2World *world;
  const S2JointCoordinate *set;
  int set_count, joints;
  S2Forest forest; // with the given joints first
  int32_t *set_at; // per joint slot: index in `set`, or S2_NONE
  double *value;   // per joint slot: required coordinate
  double *from;    // per entry of `set`: present coordinate
  double *q, *v;   // 3 per slot, at the start
  int32_t *free;   // slots of tree joints that the caller did not set and that may change
  int free_count;
} Coordinates;

static double coordinate_value(const S2World *world, const S2Joint *joint) {
  S2JointRow row;
  S2JointAt at = {world, joint, world->q.at, 0, NULL};
  s2_joint_kind(joint->type)->coordinate(&at, &row, NULL);
  return row.value;
}

// ---- Placing bodies ---------------------------------------------------------------------------

static const double *pose_of(const double *q, int32_t slot) {
  static const double world[3] = {0, 0, 0};
  return slot == S2_NONE ? world : q + 3 * slot;
}

static bool same_three(const double a[3], const double b[3]) {
  return a[0] == b[0] && a[1] == b[1] && a[2] == b[2];
}

// Computes the pose at which the coordinate of a hinge or slider is `value`. Places b relative to
// a, or a relative to b.
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

// Computes the pose that keeps the present pose of `of` relative to its parent.
static void place_along(const Coordinates *c, int32_t parent, int32_t of, double pose[3]) {
  const double *was = pose_of(c->q, of), *from = pose_of(c->q, parent);
  const double *now = pose_of(c->world->q.at, parent);
  if (same_three(from, now)) { // the parent has not moved: keep all bits
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
  for (int i = 0; i < c->forest.nodes; i++) {
    const S2Tree *tree = &c->forest.tree[c->forest.order[i]];
    int32_t slot = c->forest.order[i] - 1;
    if (tree->parent == S2_NONE) {
      continue;
    }
    // Keep the relative pose without rounding if the coordinate is unchanged.
    const S2Joint *joint = &world->joints.at[tree->joint];
    bool moves = s2_forest_has_coordinate(joint) && !isnan(c->value[tree->joint]);
    int32_t parent = joint->a == slot ? joint->b : joint->a;
    if (moves) {
      place_across(world, joint, c->value[tree->joint], joint->a == slot, world->q.at + 3 * slot);
    } else {
      place_along(c, parent, slot, world->q.at + 3 * slot);
    }
  }
}

// Turns the velocities with the bodies. This keeps the motion relative to the parent, in its frame,
// and so the speeds of coordinates.
static void turn_velocities(const Coordinates *c) {
  S2World *world = c->world;
  static const double still[3] = {0, 0, 0};
  for (int i = 0; i < c->forest.nodes; i++) {
    const S2Tree *tree = &c->forest.tree[c->forest.order[i]];
    int32_t slot = c->forest.order[i] - 1;
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
    // Turn the old relative velocity v - u - w x arm with the body, and apply it at the new arm.
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

// Writes the errors of the rigid equations of joints that close loops, which are the joints outside
// the trees. Returns the number of equations. Only counts them if `error` is NULL.
static int loop_errors(const Coordinates *c, double *error, double *worst, int32_t *worst_joint) {
  int count = 0;
  *worst = 0;
  for (int32_t slot = 0; slot < c->joints; slot++) {
    const S2Joint *joint = &c->world->joints.at[slot];
    // Callbacks may only be called in steps. Skip joints that need them.
    bool asks = joint->type == S2_CONSTRAINT || joint->driven;
    if (joint->serial == 0 || asks || !s2_joint_active(c->world, joint) ||
        (c->forest.in_tree[slot] && s2_forest_carries(joint, false))) {
      continue;
    }
    S2JointAt at = {c->world, joint, c->world->q.at, 0, NULL};
    S2JointRow rows[S2_JOINT_EQUATIONS + 1];
    int of = s2_joint_rigid_rows(&at, rows);
    // If a given joint closes a loop, it adds an equation for its coordinate.
    if (!c->forest.in_tree[slot] && c->set_at[slot] != S2_NONE) {
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

// Computes J'J + small (lower triangle, by columns) and -J'r. J is stored by columns.
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

// One Newton step on the free coordinates. `memory` has room for r, J, J'J and the step.
static bool close_loops_once(Coordinates *c, int count, double *memory) {
  size_t n = (size_t)c->free_count, rows = (size_t)count;
  double *r = memory, *j = r + rows, *a = j + rows * n, *x = a + n * n;
  double unused, most = 0;
  int32_t of = S2_NONE;
  loop_errors(c, r, &unused, &of);
  // Compute the columns of J by finite differences.
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
  // Linearised rows are only accurate for small rotations, so limit the step size.
  for (size_t k = 0; k < n; k++) {
    most = fmax(most, fabs(x[k]));
  }
  for (size_t k = 0; k < n; k++) {
    c->value[c->free[k]] += x[k] * (most > LARGEST_STEP ? LARGEST_STEP / most : 1);
  }
  place_bodies(c);
  return isfinite(most);
}

// Repeats Newton steps until the loops are closed or no longer improve.
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

// Changes the given coordinates in small increments, so that each loop keeps its assembly mode. A
// crank and its rod have two modes, for example.
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
  // Only coordinates that the caller did not set may change, up to a maximum number.
  for (int i = 0; i < c->forest.nodes; i++) {
    int32_t slot = c->forest.tree[c->forest.order[i]].joint;
    if (slot != S2_NONE && c->set_at[slot] == S2_NONE &&
        s2_forest_has_coordinate(&c->world->joints.at[slot])) {
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
  return s2_error(
      S2_INVALID,
      "with these coordinates, the loop closed by the %s stays open by %.3g: set fewer of "
      "its joints, or other values",
      label, worst);
}

// ---- Setting the coordinates ------------------------------------------------------------------

static S2Status coordinates_check(const S2World *world, const S2JointCoordinate *set, int count) {
  for (int i = 0; i < count; i++) {
    int32_t slot;
    char label[S2_NAME_SIZE + 32];
    S2_TRY(s2_joint_slot(world, set[i].joint, &slot));
    const S2Joint *joint = &world->joints.at[slot];
    s2_joint_label(world, slot, label);
    // The joint must have a coordinate and be enabled.
    if (!s2_forest_has_coordinate(joint)) {
      return s2_error(S2_INVALID, "%s: a hinge or slider expected", label);
    }
    if (!joint->enabled) {
      return s2_error(S2_INVALID, "%s: the joint is disabled, so its coordinate cannot be set",
                      label);
    }
    // The value must be finite and within the limits.
    if (!isfinite(set[i].value)) {
      return s2_error(S2_INVALID, "%s: finite number expected, got %g", label, set[i].value);
    }
    if (set[i].value < joint->limit_lo || set[i].value > joint->limit_hi) {
      return s2_error(S2_INVALID, "%s: %g is beyond its limits, {%g, %g}", label, set[i].value,
                      joint->limit_lo, joint->limit_hi);
    }
    // Each joint may occur only once.
    for (int k = 0; k < i; k++) {
      if (set[k].joint.index == set[i].joint.index) {
        return s2_error(S2_INVALID, "%s: given twice", label);
      }
    }
  }
  return s2_ok();
}

// Moves the bodies by s2_body_set, which updates the rest of the world.
static void coordinates_commit(const Coordinates *c) {
  S2World *world = c->world;
  for (int i = 0; i < c->forest.nodes; i++) {
    int32_t slot = c->forest.order[i] - 1;
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
  if (count == 0) { // also true for an empty world
    return s2_ok();
  }
  // One allocation for all arrays; the doubles come first, for alignment.
  int bodies = world->bodies.count, joints = world->joints.count;
  size_t numbers = 6 * (size_t)bodies + (size_t)joints + (size_t)count;
  size_t room = s2_forest_size(world), indices = 2 * (size_t)joints + (size_t)count;
  double *memory =
      s2_memory_take_zeroed(sizeof(double) * numbers + room + sizeof(int32_t) * indices);
  Coordinates c = {.world = world, .set = set, .set_count = count, .joints = joints};
  c.q = memory;
  c.v = c.q + 3 * bodies;
  c.value = c.v + 3 * bodies;
  c.from = c.value + joints;
  c.set_at = (int32_t *)(void *)((unsigned char *)(c.from + count) + room);
  c.free = c.set_at + joints;
  int32_t *given = c.free + joints;
  // Save the present state. NAN marks a coordinate to keep.
  memcpy(c.q, world->q.at, sizeof(double) * 3 * (size_t)bodies);
  memcpy(c.v, world->v.at, sizeof(double) * 3 * (size_t)bodies);
  double length = 0;
  for (int i = 0; i < bodies; i++) {
    length = fmax(length, world->bodies.at[i].reach);
  }
  for (int i = 0; i < joints; i++) {
    c.set_at[i] = S2_NONE;
    c.value[i] = NAN;
  }
  for (int i = 0; i < count; i++) {
    given[i] = (int32_t)set[i].joint.index - 1;
    c.set_at[given[i]] = i;
    c.value[given[i]] = set[i].value;
    c.from[i] = coordinate_value(world, &world->joints.at[given[i]]);
  }
  // Build the trees, place the bodies along them, then close the loops.
  s2_forest_grow(&c.forest, world, c.from + count, given, count);
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
