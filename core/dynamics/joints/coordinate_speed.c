// Sets the speed of a joint's coordinate by adding a rigid motion to the branch beyond the joint.
//
// The joint is added first to a spanning forest (forest.h). The rigid motion of the branch changes
// only this joint's coordinate, so the speeds of all other coordinates are kept. If joints close
// loops, a least-squares solve adds speeds of other coordinates that keep the loops closed.
#include "dynamics/control/apply.h"
#include "dynamics/joints/forest.h"
#include "linalg/dense.h"

#include <assert.h>
#include <string.h>

enum {
  SPEED_UNKNOWNS = 512, // maximum number of moving coordinates, because the system is dense
  // iterative refinements, needed because the system is regularised
  SPEED_REFINED = 3,
};
// This fraction of the system's largest entry is added to its diagonal. It keeps the system regular
// if a mechanism has more degrees of freedom than the loops determine.
static const double REGULAR = 1e-12;
// Fractions of the change of speed. LEFT_OPEN: loops with a smaller residual count as closed.
// CARRIED: smaller rates are rounding errors, because the branch carries whole loops along.
static const double LEFT_OPEN = 1e-8, CARRIED = 1e-12;

typedef struct Speed {
  S2World *world;
  int32_t slot; // slot of the joint
  S2Forest forest;
  double *dv;   // 3 per body slot: velocity change
  bool *branch; // per body slot: true if it is beyond the last joint examined
} Speed;

// Finds the motion of a relative to b. This is a rotation about *at if *turns is true, otherwise a
// translation along *along.
static bool speed_motion(const S2World *world, const S2Joint *joint, bool child_a, bool *turns,
                         S2Vec2 *at, S2Vec2 *along) {
  S2JointInfo info;
  S2JointId id = {(uint32_t)(joint - world->joints.at) + 1, joint->serial};
  (void)s2_joint_ends(world, id, &info);
  *turns = joint->type == S2_HINGE || joint->type == S2_WHEEL;
  // A hinge turns about the anchor of the body that stays. A wheel turns about its hub on a.
  *at = child_a && joint->type == S2_HINGE ? info.anchor_b : info.anchor_a;
  *along = s2_vec2(0, 0);
  return *turns || s2_joint_push_line(&info, along);
}

// Marks the bodies beyond a joint of the forest. Returns true if the nearest of them is body a of
// the joint.
static bool speed_mark(Speed *s, int32_t slot) {
  const S2Joint *joint = &s->world->joints.at[slot];
  const S2Forest *f = &s->forest;
  bool child_a = false;
  memset(s->branch, 0, (size_t)s->world->bodies.count);
  for (int i = 0; i < f->nodes; i++) {
    int32_t body = f->order[i] - 1, parent = body < 0 ? S2_NONE : f->tree[f->order[i]].parent;
    if (body < 0 || parent == S2_NONE) {
      continue;
    }
    bool first = f->tree[f->order[i]].joint == slot;
    child_a |= first && joint->a == body;
    s->branch[body] = first || (parent > 0 && s->branch[parent - 1]);
  }
  return child_a;
}

// Adds to dv the motion of the branch that changes the joint's coordinate at `rate`.
static bool speed_add(Speed *s, int32_t slot, double rate) {
  const S2World *world = s->world;
  bool child_a = speed_mark(s, slot), turns;
  S2Vec2 at, along;
  if (!speed_motion(world, &world->joints.at[slot], child_a, &turns, &at, &along)) {
    return false;
  }
  double own = child_a ? rate : -rate;
  for (int i = 0; i < world->bodies.count; i++) {
    if (s->branch[i]) {
      const double *q = world->q.at + 3 * i;
      double *dv = s->dv + 3 * i;
      dv[0] += turns ? own : 0;
      dv[1] += turns ? -own * (q[2] - at.y) : own * along.x;
      dv[2] += turns ? own * (q[1] - at.x) : own * along.y;
    }
  }
  return true;
}

// Writes the rates at which dv opens loops, for the rows of the joints that close them. Returns the
// number of rows.
static int speed_open(const Speed *s, double *rate, int32_t *worst_joint) {
  const S2World *world = s->world;
  int count = 0;
  double worst = -1;
  for (int32_t slot = 0; slot < s->forest.joints; slot++) {
    const S2Joint *joint = &world->joints.at[slot];
    // Callbacks may only be called in steps. Skip joints that need them.
    bool asks = joint->type == S2_CONSTRAINT || joint->driven;
    if (joint->serial == 0 || asks || !s2_joint_active(world, joint) ||
        (s->forest.in_tree[slot] && (s2_forest_carries(joint, false) || slot == s->slot))) {
      continue;
    }
    S2JointAt at = {world, joint, world->q.at, 0, NULL};
    S2JointRow rows[S2_JOINT_EQUATIONS];
    int of = s2_joint_rigid_rows(&at, rows);
    for (int i = 0; i < of; i++) {
      rows[i].rate = 0;
    }
    s2_joint_speeds(joint, s->dv, rows, of);
    for (int i = 0; i < of; i++, count++) {
      if (fabs(rows[i].speed) > worst) {
        worst = fabs(rows[i].speed);
        *worst_joint = slot;
      }
      if (rate != NULL) {
        rate[count] = rows[i].speed;
      }
    }
  }
  return count;
}

static double speed_largest_open(const Speed *s, int rows) {
  int32_t unused;
  double *rate = s2_memory_take(sizeof *rate * (size_t)(rows + 1)), worst = 0;
  speed_open(s, rate, &unused);
  for (int i = 0; i < rows; i++) {
    worst = fmax(worst, fabs(rate[i]));
  }
  s2_memory_free(rate);
  return worst;
}

// x = (J'J + small)^-1 J'r, where J is stored by columns.
static bool speed_solve(const double *j, const double *r, int rows, int n, double *a, double *x) {
  double largest = 0;
  for (int k = 0; k < n; k++) {
    x[k] = 0;
    for (int i = 0; i < rows; i++) {
      x[k] += j[k * rows + i] * r[i];
    }
    for (int l = 0; l <= k; l++) {
      a[l * n + k] = 0;
      for (int i = 0; i < rows; i++) {
        a[l * n + k] += j[k * rows + i] * j[l * rows + i];
      }
    }
    largest = fmax(largest, a[k * n + k]);
  }
  for (int k = 0; k < n; k++) {
    a[k * n + k] += REGULAR * largest;
  }
  S2Dense matrix = {.size = n, .a = a};
  if (!(largest > 0) || !s2_dense_factor(&matrix)) {
    return false;
  }
  s2_dense_solve(&matrix, x);
  return true;
}

// Closes the loops as far as possible. Returns the largest remaining rate at which they open.
static double speed_close(Speed *s, int rows, const int32_t *free, int n, double *memory,
                          int32_t *of) {
  int numbers = 3 * s->world->bodies.count;
  double *r = memory, *j = r + rows, *a = j + rows * n, *x = a + n * n, *kept = x + n;
  memcpy(kept, s->dv, sizeof(double) * (size_t)numbers);
  for (int k = 0; k < n; k++) {
    memset(s->dv, 0, sizeof(double) * (size_t)numbers);
    (void)speed_add(s, free[k], 1);
    speed_open(s, j + k * rows, of);
  }
  memcpy(s->dv, kept, sizeof(double) * (size_t)numbers);
  for (int pass = 0; pass < SPEED_REFINED && n > 0; pass++) {
    speed_open(s, r, of);
    if (!speed_solve(j, r, rows, n, a, x)) {
      break;
    }
    for (int k = 0; k < n; k++) {
      (void)speed_add(s, free[k], -x[k]);
    }
  }
  speed_open(s, r, of);
  return speed_largest_open(s, rows);
}

static double speed_largest(const Speed *s) {
  double most = 0;
  for (int i = 0; i < 3 * s->world->bodies.count; i++) {
    most = fmax(most, fabs(s->dv[i]));
  }
  return most;
}

static S2Status speed_close_loops(Speed *s) {
  double most = speed_largest(s);
  int32_t of = S2_NONE;
  int rows = speed_open(s, NULL, &of), n = 0;
  if (speed_largest_open(s, rows) <= CARRIED * most) {
    return s2_ok();
  }
  // Only hinges and sliders whose speed was not set by the caller may move, up to a maximum number.
  size_t nodes = (size_t)s->forest.nodes, all = (size_t)rows;
  int32_t *free = s2_memory_take(sizeof *free * (nodes + 1));
  for (int i = 0; i < s->forest.nodes; i++) {
    int32_t slot = s->forest.tree[s->forest.order[i]].joint;
    bool moves =
        slot != S2_NONE && slot != s->slot && s2_forest_has_coordinate(&s->world->joints.at[slot]);
    if (moves && n < SPEED_UNKNOWNS) {
      free[n++] = slot;
    }
  }
  size_t some = (size_t)n, numbers = 3 * (size_t)s->world->bodies.count;
  double *memory =
      s2_memory_take(sizeof(double) * (all + all * some + some * some + some + numbers));
  double open = speed_close(s, rows, free, n, memory, &of);
  s2_memory_free(memory);
  s2_memory_free(free);
  if (open <= LEFT_OPEN * most) {
    return s2_ok();
  }
  char label[S2_NAME_SIZE + 32];
  s2_joint_label(s->world, of, label);
  return s2_error(S2_INVALID,
                  "speed: with this speed, the loop closed by the %s would open at %.3g", label,
                  open);
}

// Checks the joint and builds the forest. On success the caller must free *memory.
static S2Status speed_begin(S2World *world, S2JointId id, Speed *s, void **memory) {
  int32_t slot;
  S2_TRY(s2_world_idle(world));
  S2_TRY(s2_joint_slot(world, id, &slot));
  const S2Joint *joint = &world->joints.at[slot];
  S2JointType type = joint->type;
  if (type != S2_HINGE && type != S2_SLIDER && type != S2_WHEEL && type != S2_SPRING &&
      type != S2_ROPE) {
    return s2_error(S2_INVALID,
                    "speed: cannot be set for a %s, only for a hinge, slider, wheel, "
                    "spring or rope",
                    s2_joint_type_name(type));
  }
  if (!s2_joint_active(world, joint)) {
    return s2_error(S2_INVALID, "speed: cannot be set while the joint is disabled");
  }
  size_t bodies = (size_t)world->bodies.count, room = s2_forest_size(world);
  double *numbers = s2_memory_take_zeroed(sizeof(double) * 3 * bodies + room + bodies);
  *s = (Speed){.world = world, .slot = slot, .dv = numbers};
  s->branch = (bool *)((unsigned char *)(numbers + 3 * bodies) + room);
  s2_forest_grow(&s->forest, world, numbers + 3 * bodies, &slot, 1);
  *memory = numbers;
  return s2_ok();
}

S2Status s2_joint_set_speed(S2World *world, S2JointId id, double speed) {
  Speed s = {0};
  void *memory = NULL;
  double now = 0;
  if (!isfinite(speed)) {
    return s2_error(S2_INVALID, "speed: finite number expected, got %g", speed);
  }
  S2_TRY(speed_begin(world, id, &s, &memory));
  assert(s.world != NULL && memory != NULL);
  S2Status status = s2_joint_get(world, id, S2_JOINT_SPEED, &now);
  if (status.code == S2_OK && !speed_add(&s, s.slot, speed - now)) {
    status =
        s2_error(S2_INVALID, "speed: the joint's anchors coincide, so its length has no direction");
  }
  status = status.code == S2_OK ? speed_close_loops(&s) : status;
  for (int i = 0; i < 3 * world->bodies.count && status.code == S2_OK; i++) {
    if (s.dv[i] != 0) {
      status = s2_body_set(world, s2_body_id(world, i / 3), S2_BODY_OMEGA + (S2BodyField)(i % 3),
                           world->v.at[i] + s.dv[i]);
    }
  }
  s2_memory_free(memory);
  return status;
}

S2Status s2_joint_branch(S2World *world, S2JointId id, S2BodyId *bodies, int *count, bool *of_a) {
  Speed s = {0};
  void *memory = NULL;
  int32_t unused;
  S2_TRY(speed_begin(world, id, &s, &memory));
  assert(s.world != NULL && memory != NULL);
  *of_a = speed_mark(&s, s.slot);
  *count = 0;
  for (int i = 0; i < world->bodies.count; i++) {
    if (s.branch[i]) {
      bodies[(*count)++] = s2_body_id(world, i);
    }
  }
  bool good = speed_add(&s, s.slot, 1);
  int rows = speed_open(&s, NULL, &unused);
  good = good && speed_largest_open(&s, rows) <= CARRIED * speed_largest(&s);
  s2_memory_free(memory);
  return good ? s2_ok()
              : s2_error(S2_UNAVAILABLE, "speed: setting it has no derivative when joints form "
                                         "closed loops: set the velocities of bodies instead");
}
