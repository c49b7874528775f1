// Joints: creation and destruction.
#include "dynamics/joints/joint.h"

#include <stdio.h>
#include <string.h>

// Returns true if a gear still works. Bodies that were static when the gear was created must still
// be static.
static bool gear_meshes(const S2World *world, const S2Joint *gear) {
  const int32_t joints[2] = {gear->joint_a, gear->joint_b};
  for (int i = 0; i < 4; i++) {
    const S2Joint *of = &world->joints.at[joints[i / 2]];
    int32_t slot = i % 2 == 0 ? of->a : of->b;
    bool given = slot == S2_NONE || slot == gear->a || slot == gear->b || slot == gear->more[0] ||
                 slot == gear->more[1];
    if (!of->enabled || (!given && world->bodies.at[slot].type != S2_STATIC)) {
      return false;
    }
  }
  return true;
}

bool s2_joint_active(const S2World *world, const S2Joint *joint) {
  // A joint acts if all its bodies and joints are enabled, at least one body can move, and its
  // callback is set.
  const int32_t slots[4] = {joint->a, joint->b, joint->more[0], joint->more[1]};
  bool off = !joint->enabled, moves = false;
  for (int i = 0; i < 4; i++) {
    const S2Body *body = slots[i] == S2_NONE ? NULL : &world->bodies.at[slots[i]];
    off |= body != NULL && !body->enabled;
    moves |= body != NULL && s2_body_moves(body);
  }
  return !off && moves && (joint->joint_a == S2_NONE || gear_meshes(world, joint)) &&
         (joint->type != S2_CONSTRAINT || world->callbacks.constraint != NULL) &&
         (!joint->has_law || world->callbacks.spring != NULL);
}

bool s2_joint_soft_stop(const S2Joint *joint) {
  return joint->type == S2_CONSTRAINT && joint->compliance.linear > 0;
}

bool s2_joint_projected(const S2Joint *joint) {
  return isnan(joint->stabilization);
}

double s2_joint_returned(const S2WorldDef *def, const S2Joint *joint) {
  return !s2_joint_projected(joint)           ? joint->stabilization
         : def->stabilization == S2_BAUMGARTE ? S2_BAUMGARTE_FACTOR
                                              : 0;
}

int s2_joint_rigid_rows(const S2JointAt *at, S2JointRow rows[S2_JOINT_EQUATIONS]) {
  const S2Joint *joint = at->joint;
  int count = s2_joint_rows(at, rows), rigid = 0;
  if (s2_joint_is_rigid(joint)) {
    return count;
  }
  // With matrices, the rigid rows are combinations of the equations. s2_joint_soften with h = 0
  // finds them.
  S2SoftRow soft[S2_JOINT_EQUATIONS];
  s2_joint_soften(joint, rows, count, s2_joint_blend(&at->world->kept.def, 0), soft);
  for (int i = 0; i < count; i++) {
    if (soft[i].rigid) {
      rows[rigid++] = soft[i].row;
    }
  }
  return rigid;
}

void s2_joint_error(const S2JointAt *at, double length, S2JointError *error) {
  const S2Joint *joint = at->joint;
  const S2JointKind *kind = s2_joint_kind(joint->type);
  error->count = s2_joint_rigid_rows(at, error->rows);
  error->rigid = error->beyond = 0;
  error->limited = error->angular = false;
  // Rigid equations: add up their squared errors, with angles converted to lengths.
  for (int i = 0; i < error->count; i++) {
    bool angular = s2_joint_row_angular(&error->rows[i]);
    double size = error->rows[i].value * (angular ? length : 1);
    error->rigid += size * size;
    error->angular |= angular;
  }
  // Velocity-only constraints have no position that a projection could correct.
  bool counts = !joint->velocity_only && s2_joint_projected(joint);
  error->square = counts ? error->rigid : 0;
  error->count = counts ? error->count : 0;
  bool limited = joint->limit_lo > -INFINITY || joint->limit_hi < INFINITY;
  if (!limited || kind->coordinate == NULL) {
    return;
  }
  // Store the excess over limits. Limits with lo = hi are an additional equation.
  S2JointRow *row = &error->rows[error->count];
  kind->coordinate(at, row, NULL);
  double to_length = s2_joint_row_angular(row) ? length : 1;
  double beyond = fmax(joint->limit_lo - row->value, row->value - joint->limit_hi);
  error->beyond = s2_joint_soft_stop(joint) ? 0 : beyond * to_length;
  error->limited = joint->limit_lo < joint->limit_hi;
  if (!error->limited) {
    row->value -= joint->limit_lo;
    error->square += row->value * to_length * (row->value * to_length);
    error->angular |= s2_joint_row_angular(row);
    error->count += 1;
  }
}

double s2_joint_violation(const S2JointAt *at, double length) {
  S2JointError error;
  s2_joint_error(at, length, &error);
  return fmax(sqrt(error.rigid), error.beyond);
}

// ---- Creation ---------------------------------------------------------------------------------

S2JointDef s2_joint_def(S2JointType type) {
  S2JointDef def = {
#define S2_JOINT_KEY(member, type, default, domain, required) .member = default,
#include "dynamics/fields.def"
      .anchor_a = {NAN, NAN},
      .anchor_b = {NAN, NAN},
      .stiffness = NAN,
      .stabilization = NAN,
      .limit_lo = -INFINITY,
      .limit_hi = INFINITY,
      .motor_max = INFINITY,
      .break_force = INFINITY,
  };
  def.type = type;
  def.max_force = def.max_torque = s2_joint_kind(type)->bound;
  return def;
}

static S2Status joint_find_bodies(const S2World *world, const S2JointDef *def, S2Joint *joint) {
  if (def->a.index != 0) {
    S2_TRY(s2_body_slot(world, def->a, &joint->a));
  }
  if (def->b.index != 0) {
    S2_TRY(s2_body_slot(world, def->b, &joint->b));
  }
  if (joint->a == joint->b) {
    return joint->a == S2_NONE
               ? s2_error(S2_INVALID, "a joint needs at least one body")
               : s2_error(S2_INVALID,
                          "a joint needs two different bodies, got the same body twice");
  }
  return s2_ok();
}

static S2Status joint_check_moving(const S2World *world, const S2Joint *joint) {
  const int32_t slots[4] = {joint->a, joint->b, joint->more[0], joint->more[1]};
  for (int i = 0; i < 4; i++) {
    if (slots[i] != S2_NONE && s2_body_yields(&world->bodies.at[slots[i]])) {
      return s2_ok();
    }
  }
  return s2_error(S2_INVALID, "a joint needs at least one dynamic body");
}

static S2Vec2 local_point(const S2World *world, int32_t slot, S2Vec2 point) {
  return slot == S2_NONE ? point : s2_pose_local(s2_slot_pose(world->q.at, slot), point);
}

// Two NAN values mean the centre of mass. A single NAN is an error. For the world, any NAN is an
// error.
static S2Status joint_read_anchor(const S2World *world, const char *name, int32_t slot,
                                  S2Vec2 given, bool needed, S2Vec2 *local) {
  if (slot != S2_NONE && !needed && isnan(given.x) && isnan(given.y)) {
    *local = s2_vec2(0, 0);
    return s2_ok();
  }
  if (!isfinite(given.x) || !isfinite(given.y)) {
    return s2_error(S2_INVALID, "%s: finite numbers expected, got {%g, %g}", name, given.x,
                    given.y);
  }
  *local = local_point(world, slot, given);
  return s2_ok();
}

static S2Status joint_read_anchors(const S2World *world, const S2JointDef *def, S2Joint *joint) {
  // Read the anchors that the joint type requires: one on one body, one on each body, or one shared
  // point.
  S2JointAnchors anchors = s2_joint_kind(joint->type)->anchors;
  if (anchors == S2_ANCHORS_ONE) {
    return joint_read_anchor(world, "anchor", joint->a, def->anchor_a, false, &joint->local_a);
  }
  if (anchors == S2_ANCHORS_TWO) {
    S2_TRY(joint_read_anchor(world, "anchor_a", joint->a, def->anchor_a, false, &joint->local_a));
    return joint_read_anchor(world, "anchor_b", joint->b, def->anchor_b, false, &joint->local_b);
  }
  if (anchors == S2_ANCHORS_SHARED) {
    S2_TRY(joint_read_anchor(world, "anchor", joint->a, def->anchor_a, true, &joint->local_a));
    return joint_read_anchor(world, "anchor", joint->b, def->anchor_a, true, &joint->local_b);
  }
  return s2_ok();
}

// Reads the axis. Joints with a length use the present direction between their anchors, or the x
// axis if the length is zero.
static S2Status joint_read_axis(const S2World *world, const S2JointDef *def, S2Joint *joint) {
  unsigned parts = s2_joint_kind(joint->type)->parts;
  S2Vec2 axis = def->axis;
  // For joints with a length, take the present direction between the anchors.
  if ((parts & S2_HAS_LENGTH) != 0) {
    axis = s2_sub(s2_joint_anchor(world->q.at, joint->a, joint->local_a),
                  s2_joint_anchor(world->q.at, joint->b, joint->local_b));
    axis = s2_length(axis) < S2_NO_LENGTH ? s2_vec2(1, 0) : axis;
  } else if ((parts & S2_HAS_AXIS) == 0) {
    return s2_ok();
  }
  double length = hypot(axis.x, axis.y);
  if (!isfinite(length) || !(length > 0)) {
    return s2_error(S2_INVALID, "axis: a direction expected, got {%g, %g}", axis.x, axis.y);
  }
  // Store the axis in the frame of b, in which it is constant.
  S2Rot turn = s2_rot(joint->b == S2_NONE ? 0 : world->q.at[3 * joint->b]);
  joint->axis = s2_unrotate(turn, s2_vec2(axis.x / length, axis.y / length));
  return s2_ok();
}

static S2Status not_negative(const char *name, double value, bool may_be_infinite) {
  if (!(value >= 0) || (!may_be_infinite && isinf(value))) {
    return s2_error(S2_INVALID, "%s: a%s number not below 0 expected, got %g", name,
                    may_be_infinite ? "" : " finite", value);
  }
  return s2_ok();
}

static S2Status joint_unasked(const S2JointKind *kind, const char *name) {
  return s2_error(S2_INVALID, "%s: does not apply to a %s", name, kind->traits.name);
}

S2Status s2_joint_check_limits(S2JointType type, double lo, double hi) {
  if (!(lo <= hi) || lo == INFINITY || hi == -INFINITY) {
    return s2_error(S2_INVALID, "limits: lo <= hi expected, got {%g, %g}", lo, hi);
  }
  if ((s2_joint_kind(type)->parts & S2_HAS_LENGTH) != 0 && !(hi > S2_NO_LENGTH)) {
    return s2_error(S2_INVALID,
                    "limits: hi above 0 expected for a length, got {%g, %g} (use a hinge to "
                    "hold points that coincide)",
                    lo, hi);
  }
  return s2_ok();
}

static S2Status joint_read_drive(const S2JointDef *def, S2Joint *joint) {
  const S2JointKind *kind = s2_joint_kind(joint->type);
  // Keys that the joint type does not use are errors.
  if ((kind->parts & S2_HAS_LIMITS) == 0 && def->has_limits) {
    return joint_unasked(kind, "limits");
  }
  bool dry = def->friction != 0 && (kind->fields & S2_FIELD_BIT(FRICTION)) == 0;
  if ((kind->parts & S2_HAS_DRIVE) == 0 && (def->has_motor || dry)) {
    return joint_unasked(kind, def->has_motor ? "motor" : "friction");
  }
  bool rebounds =
      (kind->parts & S2_HAS_LIMITS) != 0 || (kind->fields & S2_FIELD_BIT(RESTITUTION)) != 0;
  if (!rebounds && def->restitution != 0) {
    return joint_unasked(kind, "restitution");
  }
  if (!(def->restitution >= 0 && def->restitution <= 1)) {
    return s2_error(S2_INVALID, "restitution: a number from 0 to 1 expected, got %g",
                    def->restitution);
  }
  if (def->has_limits) {
    S2_TRY(s2_joint_check_limits(joint->type, def->limit_lo, def->limit_hi));
    joint->limit_lo = def->limit_lo;
    joint->limit_hi = def->limit_hi;
  }
  if (def->has_motor && !isfinite(def->motor_speed)) {
    return s2_error(S2_INVALID, "motor_speed: finite number expected, got %g", def->motor_speed);
  }
  S2_TRY(not_negative("motor_max", def->motor_max, true));
  S2_TRY(not_negative("friction", def->friction, false));
  if (!(def->break_force > 0)) {
    return s2_error(S2_INVALID, "break_force: a number above 0 expected, got %g", def->break_force);
  }
  joint->has_motor = def->has_motor;
  joint->motor_speed = def->has_motor ? def->motor_speed : 0;
  joint->motor_max = def->motor_max;
  joint->friction = def->friction;
  joint->break_force = def->break_force;
  joint->restitution = def->restitution;
  return s2_ok();
}

static bool is_zero(const S2JointWeights *weights) {
  return weights->size == 0 && weights->linear == 0 && weights->angular == 0;
}

static S2Status joint_read_curve(const S2JointDef *def, S2Joint *joint) {
  bool curved = def->quadratic != 0 || def->cubic != 0 || def->has_law;
  // Only springs can be nonlinear. A force law replaces all other numbers.
  if (curved && (s2_joint_kind(joint->type)->fields & S2_FIELD_BIT(QUADRATIC)) == 0) {
    return joint_unasked(s2_joint_kind(joint->type), def->has_law ? "force" : "quadratic, cubic");
  }
  if (!isfinite(def->quadratic) || !isfinite(def->cubic)) {
    return s2_error(S2_INVALID, "%s: finite number expected, got %g",
                    isfinite(def->quadratic) ? "cubic" : "quadratic",
                    isfinite(def->quadratic) ? def->cubic : def->quadratic);
  }
  if (def->has_law && (def->stiffness != 0 || def->quadratic != 0 || def->cubic != 0)) {
    return s2_error(S2_INVALID,
                    "force: a law replaces stiffness, quadratic and cubic: leave them out");
  }
  joint->quadratic = def->quadratic;
  joint->cubic = def->cubic;
  joint->has_law = def->has_law;
  return s2_ok();
}

S2Status s2_joint_either_spring(S2JointType type, const char *name) {
  return s2_error(S2_INVALID,
                  "%s: a %s has compliance or a spring along its coordinate, not both (for "
                  "any combination, use a weld with a matrix)",
                  name, s2_joint_type_name(type));
}

static S2Status joint_read_softness(const S2JointDef *def, S2Joint *joint) {
  const S2JointKind *kind = s2_joint_kind(joint->type);
  bool gives = (kind->parts & S2_HAS_COMPLIANCE) != 0,
       springs = (kind->parts & S2_HAS_STIFFNESS) != 0;
  bool soft = !is_zero(&def->compliance), damped = !is_zero(&def->damping);
  // A joint has compliance or a spring, never both.
  if (!gives && soft) {
    return joint_unasked(kind, "compliance");
  }
  if (!springs && damped && !soft) {
    return s2_error(S2_INVALID, "damping: requires compliance above 0");
  }
  joint->has_spring = springs && (!gives || !isnan(def->stiffness) || (damped && !soft));
  if (joint->has_spring && soft) {
    return s2_joint_either_spring(def->type, "stiffness");
  }
  // Set the numbers of the spring. Damping without stiffness is a spring of zero stiffness.
  if (joint->has_spring) {
    joint->stiffness = gives && isnan(def->stiffness) ? 0 : def->stiffness;
    S2_TRY(not_negative("stiffness", joint->stiffness, false));
    S2_TRY(not_negative("damping", def->damping.linear, false));
    if (def->damping.size > 0 || (gives && def->damping.angular != def->damping.linear)) {
      return s2_error(S2_INVALID, "damping: one number expected, got %s",
                      def->damping.size > 0 ? "a matrix" : "two");
    }
    S2_TRY(joint_read_curve(def, joint));
  }
  joint->compliance = def->compliance;
  joint->damping = def->damping;
  return s2_ok();
}

S2Status s2_joint_read_rest(const S2JointDef *def, S2Joint *joint) {
  double rest = isnan(def->rest) ? def->reference : def->rest;
  if (!isfinite(def->reference) || !isfinite(rest)) {
    return s2_error(S2_INVALID, "%s: finite number expected, got %g",
                    isfinite(def->reference) ? "rest" : "reference",
                    isfinite(def->reference) ? rest : def->reference);
  }
  if (!isnan(def->rest) && !joint->has_spring) {
    return s2_error(S2_INVALID, "rest: applies only to a spring; give stiffness, too");
  }
  joint->length = rest;
  return s2_ok();
}

// ---- Lists of joints ----------------------------------------------------------------------------

static S2JointLink *link_at(S2World *world, int32_t place) {
  return &world->joints.at[place / S2_JOINT_LINKS].link[place % S2_JOINT_LINKS];
}

// Returns the head of the list that contains one of the joint's links, or NULL if there is no such
// list.
static int32_t *list_of(S2World *world, int32_t slot, int which) {
  const S2Joint *joint = &world->joints.at[slot];
  bool gear = joint->type == S2_GEAR; // the bodies of a gear follow from its joints
  const int32_t owners[S2_JOINT_LINKS] = {joint->a, joint->b,
                                          gear ? joint->joint_a : joint->more[0],
                                          gear ? joint->joint_b : joint->more[1]};
  int32_t owner = owners[which];
  return owner == S2_NONE            ? NULL
         : gear && which > S2_LINK_B ? &world->joints.at[owner].first_link
                                     : &world->bodies.at[owner].first_link;
}

static void join_lists(S2World *world, int32_t slot) {
  // Put the joint first in the list of each of its bodies. A gear is also put first in the list of
  // each of its joints.
  for (int which = 0; which < S2_JOINT_LINKS; which++) {
    int32_t *first = list_of(world, slot, which), place = S2_JOINT_LINKS * slot + which;
    if (first == NULL) {
      continue;
    }
    *link_at(world, place) = (S2JointLink){S2_NONE, *first};
    if (*first != S2_NONE) {
      link_at(world, *first)->before = place;
    }
    *first = place;
  }
}

static void leave_lists(S2World *world, int32_t slot) {
  for (int which = 0; which < S2_JOINT_LINKS; which++) {
    int32_t *first = list_of(world, slot, which);
    // Connect the joint's neighbours in the list with each other.
    if (first == NULL) {
      continue;
    }
    S2JointLink link = world->joints.at[slot].link[which];
    *(link.before == S2_NONE ? first : &link_at(world, link.before)->after) = link.after;
    if (link.after != S2_NONE) {
      link_at(world, link.after)->before = link.before;
    }
  }
}

// Applies `part` to each pair of the joint's bodies, which do not collide by default. For a gear,
// only to the first two bodies.
static void joint_part_pairs(S2World *world, const S2Joint *joint,
                             void part(S2World *, int32_t, int32_t, bool)) {
  const int32_t slots[S2_JOINT_BODIES] = {joint->a, joint->b, joint->more[0], joint->more[1]};
  int count = s2_joint_is_wide(joint) ? S2_JOINT_BODIES : 2;
  for (int i = 0; i < count && !joint->collide; i++) {
    for (int k = i + 1; k < count; k++) {
      if (slots[i] != S2_NONE && slots[k] != S2_NONE) {
        part(world, slots[i], slots[k], false);
      }
    }
  }
}

static S2JointId joint_add(S2World *world, const S2Joint *joint) {
  // Take a free slot, or a new one. Slots are reused, serials are not.
  int32_t slot = world->kept.free_joint;
  if (slot != S2_NONE) {
    world->kept.free_joint = world->joints.at[slot].a; // `a` links to the next free slot
  } else {
    slot = s2_array_push(world->joints);
  }
  world->joints.at[slot] = *joint;
  world->joints.at[slot].serial = world->next_serial++;
  world->joints.at[slot].first_link = S2_NONE;
  // Serials ascend, so the newest joint is last in the order.
  s2_line_insert(world->joint_order, world->joint_order.count);
  world->joint_order.at[world->joint_order.count - 1] = slot;
  join_lists(world, slot);
  s2_world_revised(world);
  joint_part_pairs(world, joint, s2_world_exclude);
  return (S2JointId){(uint32_t)slot + 1, world->joints.at[slot].serial};
}

bool s2_joint_within_limits(const S2World *world, const S2Joint *joint, double *value) {
  const S2JointKind *kind = s2_joint_kind(joint->type);
  if (kind->coordinate == NULL || joint->type == S2_CONSTRAINT) {
    return true;
  }
  S2JointRow row;
  S2JointAt at = {world, joint, world->q.at, 0, NULL};
  kind->coordinate(&at, &row, NULL);
  *value = row.value;
  // Scripts give numbers with only a few decimals. Accept the resulting small errors here.
  // Projection removes them later.
  double size = 1;
  if (!s2_joint_row_angular(&row)) {
    size = fabs(row.value);
    size = fmax(size, joint->a == S2_NONE ? 0 : world->bodies.at[joint->a].reach);
    size = fmax(size, joint->b == S2_NONE ? 0 : world->bodies.at[joint->b].reach);
  }
  double slop = S2_MISFIT * size;
  return row.value >= joint->limit_lo - slop && row.value <= joint->limit_hi + slop;
}

// Rejects a coordinate outside its limits, because bodies would jump in the first step.
static S2Status joint_check_begins(const S2World *world, const S2Joint *joint) {
  double value;
  if (joint->type == S2_ROPE || s2_joint_within_limits(world, joint, &value)) {
    return s2_ok(); // if a rope is too short, it pulls its bodies together
  }
  return s2_error(S2_INVALID,
                  "limits: {%g, %g} exclude the initial coordinate %g: %s, or give limits that "
                  "include it",
                  joint->limit_lo, joint->limit_hi, value,
                  joint->type == S2_HINGE || joint->type == S2_SLIDER
                      ? "give the true initial coordinate as reference"
                      : "move the bodies or anchors");
}

static S2Status joint_read_stabilization(const S2World *world, const S2JointDef *def,
                                         S2Joint *joint) {
  joint->stabilization = def->stabilization;
  if (isnan(def->stabilization)) {
    return s2_ok();
  }
  if (!(def->stabilization >= 0 && def->stabilization <= 1)) {
    return s2_error(S2_INVALID, "stabilization: a number from 0 to 1 expected, got %g",
                    def->stabilization);
  }
  if (def->type == S2_MOUSE || def->type == S2_GROUND_FRICTION) {
    return joint_unasked(s2_joint_kind(def->type), "stabilization");
  }
  if (def->type == S2_LOCK && (isfinite(def->max_force) || isfinite(def->max_torque))) {
    return s2_error(S2_INVALID,
                    "stabilization: does not apply to a lock with max_force or max_torque, whose "
                    "error is never projected; leave it out");
  }
  // Event stepping may solve a motion repeatedly, but only the first solve corrects errors.
  if (def->stabilization > 0 && world->kept.def.stepping == S2_EVENT) {
    return s2_error(
        S2_INVALID,
        "stabilization: baumgarte cannot be combined with stepping event; use auto or speculative");
  }
  return s2_ok();
}

S2Status s2_joint_create(S2World *world, const S2JointDef *def, S2JointId *id) {
  *id = (S2JointId){0, 0};
  S2_TRY(s2_world_idle(world));
  if ((unsigned)def->type >= S2_JOINT_TYPE_COUNT) {
    return s2_error(S2_INVALID, "type: no such joint");
  }
  // Use a local joint for all checks, so that a failed check leaves the world unchanged.
  S2Joint joint = {
      .type = def->type,
      .enabled = true,
      .collide = def->collide,
      .a = S2_NONE,
      .b = S2_NONE,
      .joint_a = S2_NONE,
      .joint_b = S2_NONE,
      .more = {S2_NONE, S2_NONE},
      .coupled = S2_NONE,
      .stabilization = NAN,
      .limit_lo = -INFINITY,
      .limit_hi = INFINITY,
      .servo_max = INFINITY,
  };
  // Gears get their bodies from their joints, in create() of the type.
  if (def->type != S2_GEAR) {
    S2_TRY(joint_find_bodies(world, def, &joint));
  }
  if (def->name != NULL && strlen(def->name) >= S2_NAME_SIZE) {
    return s2_error(S2_INVALID, "name: at most %d bytes expected, got %zu", S2_NAME_SIZE - 1,
                    strlen(def->name));
  }
  snprintf(joint.name, sizeof joint.name, "%s", def->name == NULL ? "" : def->name);
  // Read the common parts first, because create() of the joint type uses them.
  S2_TRY(joint_read_anchors(world, def, &joint));
  S2_TRY(joint_read_drive(def, &joint));
  S2_TRY(joint_read_softness(def, &joint));
  S2_TRY(joint_read_axis(world, def, &joint));
  S2_TRY(joint_read_stabilization(world, def, &joint));
  if (s2_joint_kind(def->type)->create != NULL) {
    S2_TRY(s2_joint_kind(def->type)->create(world, def, &joint));
  }
  // Check the size of compliance and damping matrices here, because it is only known for the
  // complete joint.
  S2JointRow rows[S2_JOINT_EQUATIONS];
  int count = s2_joint_rows(&(S2JointAt){world, &joint, world->q.at, 0, NULL}, rows);
  if (def->type == S2_CONSTRAINT) {
    count = def->rows;
  }
  S2_TRY(s2_joint_check_weights("compliance", &def->compliance, count));
  S2_TRY(s2_joint_check_weights("damping", &def->damping, count));
  S2_TRY(joint_check_moving(world, &joint));
  // Choose the zero of the angle. Limits, motors and readings measure 0 or the given reference at
  // creation.
  bool turns = s2_joint_kind(def->type)->coordinate == s2_measure_angle;
  joint.angle0 = (joint.a == S2_NONE ? 0 : world->q.at[3 * joint.a]) -
                 (joint.b == S2_NONE ? 0 : world->q.at[3 * joint.b]) - (turns ? def->reference : 0);
  S2_TRY(joint_check_begins(world, &joint));
  // Evaluate a constraint once, so that errors in its functions are reported at creation.
  if (def->type == S2_CONSTRAINT) {
    S2_TRY(s2_constraint_first(world, &joint));
  }
  *id = joint_add(world, &joint);
  return s2_ok();
}

void s2_body_add_drive(S2World *world, int32_t slot, double max_force, double max_torque) {
  // Lock all three components with bounded forces. The body follows its prescribed velocity as far
  // as the bounds permit.
  S2Body *body = &world->bodies.at[slot];
  S2Joint joint = {
      .type = S2_LOCK,
      .enabled = true,
      .driven = body->has_motion,
      .locked = {true, true, true},
      .a = slot,
      .b = S2_NONE,
      .joint_a = S2_NONE,
      .joint_b = S2_NONE,
      .more = {S2_NONE, S2_NONE},
      .limit_lo = -INFINITY,
      .limit_hi = INFINITY,
      .coupled = S2_NONE,
      .stabilization = NAN,
      .motor_max = INFINITY,
      .servo_max = INFINITY,
      .break_force = INFINITY,
      .max_force = max_force,
      .max_torque = max_torque,
  };
  // The lock begins at the pose and velocity of the body.
  memcpy(joint.goal, world->q.at + 3 * slot, sizeof joint.goal);
  memcpy(joint.rate, world->v.at + 3 * slot, sizeof joint.rate);
  memcpy(joint.name, body->name, sizeof joint.name);
  body->drive = (int32_t)joint_add(world, &joint).index - 1;
  world->boxes_stale = true; // from here on, the body collides with static bodies
  world->kept.fresh = true;
}

// ---- Destruction ------------------------------------------------------------------------------

static void joint_destroy_one(S2World *world, int32_t slot) {
  // Reverse the effects of creation: the pair can collide again, the body loses its drive, and the
  // joint leaves its lists.
  S2Joint *joint = &world->joints.at[slot];
  joint_part_pairs(world, joint, s2_world_include);
  if (joint->type == S2_LOCK && world->bodies.at[joint->a].drive == slot) {
    world->bodies.at[joint->a].drive = S2_NONE; // no lock drives the body any more
    world->boxes_stale = true;
  }
  leave_lists(world, slot);
  s2_line_remove(world->joint_order, s2_world_joint_place(world, slot));
  s2_world_revised(world);
  // Free the slot; `a` links to the next free slot.
  memset(joint, 0, sizeof *joint);
  joint->a = world->kept.free_joint;
  world->kept.free_joint = slot;
}

// Destroys a joint and the gears that couple it.
void s2_joint_destroy_slot(S2World *world, int32_t slot) {
  while (world->joints.at[slot].first_link != S2_NONE) {
    joint_destroy_one(world, world->joints.at[slot].first_link / S2_JOINT_LINKS);
  }
  joint_destroy_one(world, slot);
}

S2Status s2_joint_destroy(S2World *world, S2JointId id) {
  int32_t slot;
  S2_TRY(s2_world_idle(world));
  S2_TRY(s2_joint_slot(world, id, &slot));
  s2_joint_destroy_slot(world, slot);
  return s2_ok();
}

int s2_world_joints(const S2World *world, S2JointId *joints, int capacity) {
  for (int i = 0; i < world->joint_order.count && i < capacity; i++) {
    int32_t slot = world->joint_order.at[i];
    joints[i] = (S2JointId){(uint32_t)slot + 1, world->joints.at[slot].serial};
  }
  return world->joint_order.count;
}
