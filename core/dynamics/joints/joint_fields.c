// Functions that read and write fields of joints.
#include "dynamics/joints/joint.h"

#include <assert.h>
#include <string.h>

enum { OWN = 1 << 30 }; // fields that only some types have, as listed in S2JointKind.fields

typedef enum Domain { READ_ONLY, ANY, NOT_NEGATIVE, LIMIT, BOUND, POSITIVE, PART, FLAG } Domain;

static const struct {
  const char *name;
  Domain domain;
  unsigned parts;
  size_t offset; // offset within S2Joint; the member is a double, or a bool for flags
} fields[S2_JOINT_FIELD_COUNT] = {
#define S2_JOINT_READING(ID, name, parts) {#name, READ_ONLY, parts, 0},
#define S2_JOINT_FIELD(ID, name, domain, parts, member, derivative, count)                         \
  {#name, domain, parts, offsetof(S2Joint, member)},
#include "dynamics/fields.def"
};

const char *s2_joint_field_name(S2JointField field) {
  return fields[field].name;
}

bool s2_joint_type_has(S2JointType type, S2JointField field) {
  const S2JointKind *kind = s2_joint_kind(type);
  return fields[field].parts == 0 || (kind->parts & fields[field].parts) != 0 ||
         (kind->fields >> field & 1) != 0;
}

bool s2_joint_type_sets(S2JointType type, S2JointField field) {
  bool own = (s2_joint_kind(type)->fields >> field & 1) != 0;
  return s2_joint_type_has(type, field) && fields[field].domain != READ_ONLY &&
         (field != S2_JOINT_LENGTH || own);
}

static S2JointAt joint_here(const S2World *world, const S2Joint *joint) {
  return (S2JointAt){world, joint, world->q.at, 0, NULL};
}

static double joint_rate(const S2World *world, const S2Joint *joint, const S2JointRow *row) {
  // u = J v + rate.
  double rate = row->rate;
  for (int c = 0; c < 3; c++) {
    rate += joint->a == S2_NONE ? 0 : row->ja[c] * world->v.at[3 * joint->a + c];
    rate += joint->b == S2_NONE ? 0 : row->jb[c] * world->v.at[3 * joint->b + c];
  }
  for (int c = 0; c < 6; c++) {
    int32_t slot = joint->more[c / 3];
    rate += slot == S2_NONE ? 0 : row->more[c / 3][c % 3] * world->v.at[3 * slot + c % 3];
  }
  return rate;
}

S2Measure *s2_joint_measure(const S2Joint *joint, S2JointField field) {
  const S2JointKind *kind = s2_joint_kind(joint->type);
  switch (field) {
  case S2_JOINT_ANGLE:
    return s2_measure_angle;
  case S2_JOINT_TRANSLATION:
    return s2_measure_translation;
  case S2_JOINT_LENGTH:
    return kind->length != NULL ? kind->length : s2_measure_length;
  case S2_JOINT_SPEED:
    break;
  default:
    return NULL;
  }
  return joint->type == S2_CONSTRAINT         ? NULL
         : kind->drive != NULL                ? kind->drive
         : kind->coordinate != NULL           ? kind->coordinate
         : (kind->parts & S2_HAS_LENGTH) != 0 ? s2_measure_length
                                              : s2_measure_angle;
}

static double joint_speed(const S2World *world, const S2Joint *joint) {
  S2Measure *measure = s2_joint_measure(joint, S2_JOINT_SPEED);
  S2JointAt at = joint_here(world, joint);
  S2JointRow row = joint->last[0]; // of a constraint
  if (measure != NULL) {
    measure(&at, &row, NULL);
  }
  return joint_rate(world, joint, &row);
}

static double joint_softness(const S2Joint *joint, const S2JointWeights *weights,
                             const S2JointAt *at) {
  S2JointRow rows[S2_JOINT_EQUATIONS];
  // Return the number that applies to the joint's first row. For a matrix, return NAN.
  bool angular =
      s2_joint_rows(at, rows) > 0 && s2_joint_row_angular(&rows[0]) && !joint->has_spring;
  return weights->size > 0 ? NAN : angular ? weights->angular : weights->linear;
}

static double joint_reaction(const S2Joint *joint, double impulse) {
  return joint->reaction_time > 0 ? impulse / joint->reaction_time : 0;
}

static double joint_measured(const S2World *world, const S2Joint *joint, S2JointField field) {
  S2JointAt at = joint_here(world, joint);
  S2JointRow row = {0};
  s2_joint_measure(joint, field)(&at, &row, NULL);
  return row.value;
}

static double *joint_number(S2Joint *joint, S2JointField field) {
  return (double *)(void *)((unsigned char *)joint + fields[field].offset);
}

static S2Status joint_lacks(const S2Joint *joint, S2JointField field) {
  return s2_error(S2_INVALID, "%s: does not apply to a %s", fields[field].name,
                  s2_joint_type_name(joint->type));
}

S2Status s2_joint_get(const S2World *world, S2JointId id, S2JointField field, double *value) {
  int32_t slot;
  S2_TRY(s2_joint_slot(world, id, &slot));
  const S2Joint *joint = &world->joints.at[slot];
  S2JointAt at = joint_here(world, joint);
  if (!s2_joint_type_has(joint->type, field)) {
    return joint_lacks(joint, field);
  }
  // Some values are measured, some come from the last step, and the others are stored.
  switch (field) {
  case S2_JOINT_ANGLE:
  case S2_JOINT_TRANSLATION:
  case S2_JOINT_LENGTH:
    *value = joint_measured(world, joint, field);
    break;
  case S2_JOINT_SPEED:
    *value = joint_speed(world, joint);
    break;
  case S2_JOINT_FORCE:
    *value = joint_reaction(joint, hypot(joint->reaction[1], joint->reaction[2]));
    break;
  case S2_JOINT_TORQUE:
    *value = joint_reaction(joint, joint->reaction[0]);
    break;
  case S2_JOINT_COMPLIANCE:
    *value = joint_softness(joint, &joint->compliance, &at);
    break;
  case S2_JOINT_DAMPING:
    *value = joint_softness(joint, &joint->damping, &at);
    break;
  case S2_JOINT_ENABLED:
    *value = joint->enabled;
    break;
  case S2_JOINT_BROKEN:
    *value = joint->broken;
    break;
  default:
    *value = field == S2_JOINT_MOTOR_MAX && !joint->has_motor
                 ? 0
                 : *joint_number((S2Joint *)joint, field); // only for reading
  }
  return s2_ok();
}

bool s2_joint_get_motion(const S2World *world, S2JointId id, S2JointField field, double *value,
                         double *speed) {
  int32_t slot;
  if (s2_joint_slot(world, id, &slot).code != S2_OK) {
    return false;
  }
  const S2Joint *joint = &world->joints.at[slot];
  const S2JointKind *kind = s2_joint_kind(joint->type);
  bool drives = (field == S2_JOINT_ANGLE && kind->drive == s2_measure_angle) ||
                (field == S2_JOINT_TRANSLATION && kind->drive == s2_measure_translation);
  if (!drives || !s2_joint_type_has(joint->type, field)) {
    return false;
  }
  S2JointAt at = joint_here(world, joint);
  S2JointRow row;
  kind->drive(&at, &row, NULL);
  *value = row.value;
  *speed = joint_rate(world, joint, &row);
  return true;
}

// Bounds and friction exist only for constraints that were created with them.
static S2Status joint_check_constraint(const S2Joint *joint, S2JointField field, double value) {
  const char *name = fields[field].name;
  if (!joint->bounded && (field == S2_JOINT_BOUND_LO || field == S2_JOINT_BOUND_HI)) {
    return s2_error(S2_INVALID, "%s: applies only to a constraint created with lo and hi", name);
  }
  if (joint->coupled == S2_NONE && field == S2_JOINT_FRICTION) {
    return s2_error(S2_INVALID, "friction: applies only to a constraint created with coupled_to");
  }
  if (!joint->unilateral && field == S2_JOINT_RESTITUTION) {
    return s2_error(S2_INVALID, "restitution: applies only to a unilateral constraint");
  }
  bool bounces = field == S2_JOINT_RESTITUTION && joint->compliance.linear > 0;
  if (value > 0 && (bounces || (field == S2_JOINT_COMPLIANCE && joint->restitution > 0))) {
    return s2_error(S2_INVALID, "%s: a constraint has restitution or compliance, not both", name);
  }
  return s2_ok();
}

static S2Status joint_check(const S2Joint *joint, S2JointField field, double value) {
  const char *name = fields[field].name; // Check that the field exists and can be written.
  Domain domain = fields[field].domain;
  if (!s2_joint_type_has(joint->type, field)) {
    return joint_lacks(joint, field);
  }
  if (!s2_joint_type_sets(joint->type, field)) {
    return s2_error(S2_INVALID, "%s: cannot be set", name);
  }
  if (joint->has_law &&
      (field == S2_JOINT_STIFFNESS || field == S2_JOINT_QUADRATIC || field == S2_JOINT_CUBIC)) {
    return s2_error(S2_INVALID, "%s: cannot be set, because the spring has a force law", name);
  }
  // The two limits are checked together.
  if (domain == LIMIT) {
    double lo = field == S2_JOINT_LIMIT_LO ? value : joint->limit_lo;
    double hi = field == S2_JOINT_LIMIT_HI ? value : joint->limit_hi;
    return s2_joint_check_limits(joint->type, lo, hi);
  }
  // Check the domain of the value.
  bool bound = field == S2_JOINT_MAX_FORCE || field == S2_JOINT_MAX_TORQUE;
  if (bound && joint->type == S2_LOCK) { // an infinite bound makes the component rigid
    domain = BOUND;
  }
  if (domain != BOUND && !isfinite(value)) {
    return s2_error(S2_INVALID, "%s: finite number expected, got %g", name, value);
  }
  if (domain == POSITIVE && !(value > S2_NO_LENGTH)) {
    return s2_error(S2_INVALID, "%s: a number above 0 expected, got %g", name, value);
  }
  if ((domain == NOT_NEGATIVE || domain == BOUND) && !(value >= 0)) {
    return s2_error(S2_INVALID, "%s: a number not below 0 expected, got %g", name, value);
  }
  if (domain == PART && !(value >= 0 && value <= 1)) {
    return s2_error(S2_INVALID, "%s: a number from 0 to 1 expected, got %g", name, value);
  }
  if (joint->type == S2_CONSTRAINT) {
    S2_TRY(joint_check_constraint(joint, field, value));
  }
  if ((field == S2_JOINT_BOUND_LO && !(value < joint->bound_hi)) ||
      (field == S2_JOINT_BOUND_HI && !(value > joint->bound_lo))) {
    return s2_error(S2_INVALID, "%s: lo < hi expected, got %s = %g with the other bound %g", name,
                    name, value, field == S2_JOINT_BOUND_LO ? joint->bound_hi : joint->bound_lo);
  }
  // Check the ranges of single fields.
  if (field == S2_JOINT_BREAK_FORCE && value == 0) {
    return s2_error(S2_INVALID, "%s: a number above 0 expected, got %g", name, value);
  }
  if (field == S2_JOINT_RATIO && value == 0) {
    return s2_error(S2_INVALID, "%s: a finite number other than 0 expected, got %g", name, value);
  }
  // Check the conditions that involve other numbers of the joint.
  bool rigid = joint->compliance.size == 0 && joint->compliance.linear == 0 &&
               joint->compliance.angular == 0;
  bool springs = (s2_joint_kind(joint->type)->parts & S2_HAS_STIFFNESS) != 0;
  if ((field == S2_JOINT_STIFFNESS && !rigid) ||
      (field == S2_JOINT_COMPLIANCE && value > 0 && joint->has_spring)) {
    return s2_joint_either_spring(joint->type, name);
  }
  if (joint->type == S2_LOCK &&
      ((bound && isfinite(value) && !rigid) ||
       (field == S2_JOINT_COMPLIANCE && value > 0 && s2_lock_yields(joint)))) {
    return s2_error(S2_INVALID, "%s: a lock has a bound or compliance, not both", name);
  }
  if (field == S2_JOINT_DAMPING && value > 0 && rigid && !springs) {
    return s2_error(S2_INVALID, "damping: requires compliance above 0");
  }
  if (domain == FLAG && value != 0 && value != 1) {
    return s2_error(S2_INVALID, "%s: 0 or 1 expected, got %g", name, value);
  }
  return s2_ok();
}

// Clears the results of the last step, which belong to another configuration.
static void joint_forget(S2Joint *joint) {
  memset(joint->impulse, 0, sizeof joint->impulse);
  memset(joint->reaction, 0, sizeof joint->reaction);
}

static void joint_enable(const S2World *world, S2Joint *joint, bool enabled) {
  // A joint that is enabled again starts without impulses. A lock then starts at the pose of its
  // body.
  bool again = enabled && !joint->enabled;
  joint->enabled = enabled;
  joint->broken = joint->broken && !enabled;
  joint_forget(joint);
  for (int c = 0; c < 3 && again && joint->type == S2_LOCK; c++) {
    joint->goal[c] = world->q.at[3 * joint->a + c]; // the lock holds the body's present pose
  }
}

// If a lock starts or stops yielding, its rows change. A component that becomes rigid is held at
// its present value.
static void joint_set_bound(const S2World *world, S2Joint *joint, double *bound, double value) {
  if (joint->type == S2_LOCK && isfinite(*bound) != isfinite(value)) {
    joint_forget(joint);
    for (int c = 0; c < 3; c++) {
      bool of = (c == 0) == (bound == &joint->max_torque);
      joint->goal[c] = of ? world->q.at[3 * joint->a + c] : joint->goal[c];
    }
  }
  *bound = value;
}

// A hinge or slider that gets stiffness, or damping without compliance, has a spring from then on.
static void joint_set_spring(S2Joint *joint, S2JointField field) {
  bool springs = (s2_joint_kind(joint->type)->parts & S2_HAS_STIFFNESS) != 0;
  bool soft =
      joint->compliance.size > 0 || joint->compliance.linear > 0 || joint->compliance.angular > 0;
  joint->has_spring |= springs && (field == S2_JOINT_STIFFNESS || !soft);
}

static void joint_set_ratio(const S2World *world, S2Joint *joint, double ratio) {
  S2JointRow rows[S2_JOINT_EQUATIONS];
  S2JointAt at = joint_here(world, joint);
  joint->ratio = ratio;
  // Choose `sum` so that the gear holds the present configuration with the new ratio.
  joint->sum = 0;
  s2_joint_rows(&at, rows);
  joint->sum = rows[0].value;
}

// Laws may set numbers of joints in each step. These changes do not disturb islands at rest,
// because such islands have no joints.
static void joint_changed(S2World *world) {
  bool known = world->rest.changes == world->changes;
  s2_world_changed(world);
  world->rest.changes = known ? world->changes : world->rest.changes;
}

S2Status s2_joint_set(S2World *world, S2JointId id, S2JointField field, double value) {
  int32_t slot;
  S2_TRY(s2_world_idle(world));
  S2_TRY(s2_joint_slot(world, id, &slot));
  S2Joint *joint = &world->joints.at[slot];
  S2_TRY(joint_check(joint, field, value));
  joint_changed(world);
  // These fields have side effects. All other fields are plain numbers of the joint.
  switch (field) {
  case S2_JOINT_COMPLIANCE:
    joint->compliance = (S2JointWeights){.linear = value, .angular = value};
    s2_world_revised(world);
    break;
  case S2_JOINT_DAMPING:
    joint->damping = (S2JointWeights){.linear = value, .angular = value};
    joint_set_spring(joint, field);
    break;
  case S2_JOINT_STIFFNESS:
    joint->stiffness = value;
    joint_set_spring(joint, field);
    break;
  case S2_JOINT_MAX_FORCE:
  case S2_JOINT_MAX_TORQUE:
    joint_set_bound(world, joint, joint_number(joint, field), value);
    break;
  case S2_JOINT_RATIO:
    joint_set_ratio(world, joint, value);
    break;
  case S2_JOINT_ENABLED:
    joint_enable(world, joint, value != 0);
    s2_world_revised(world);
    break;
  default: // a plain number: joint_check() has rejected fields that are read-only
    joint->has_motor |= field == S2_JOINT_MOTOR_SPEED || field == S2_JOINT_MOTOR_MAX;
    joint->has_servo |= field >= S2_JOINT_SERVO_GOAL && field <= S2_JOINT_SERVO_MAX;
    *joint_number(joint, field) = value;
    break;
  }
  return s2_ok();
}

S2Status s2_joint_set_limits(S2World *world, S2JointId id, double lo, double hi) {
  int32_t slot;
  S2_TRY(s2_world_idle(world));
  S2_TRY(s2_joint_slot(world, id, &slot));
  // Check both limits together, so that their order does not matter.
  S2Joint limits = world->joints.at[slot];
  limits.limit_hi = hi;
  S2_TRY(joint_check(&limits, S2_JOINT_LIMIT_LO, lo));
  joint_changed(world);
  world->joints.at[slot].limit_lo = lo;
  world->joints.at[slot].limit_hi = hi;
  return s2_ok();
}

bool s2_joint_is_within(const S2World *world, S2JointId id) {
  int32_t slot;
  double unused;
  return s2_joint_slot(world, id, &slot).code == S2_OK &&
         s2_joint_within_limits(world, &world->joints.at[slot], &unused);
}

S2Status s2_joint_set_target(S2World *world, S2JointId id, S2Vec2 target) {
  int32_t slot;
  S2_TRY(s2_world_idle(world));
  S2_TRY(s2_joint_slot(world, id, &slot));
  if (world->joints.at[slot].type != S2_MOUSE) {
    return s2_error(S2_INVALID, "target: does not apply to a %s",
                    s2_joint_type_name(world->joints.at[slot].type));
  }
  if (!isfinite(target.x) || !isfinite(target.y)) {
    return s2_error(S2_INVALID, "target: finite numbers expected, got {%g, %g}", target.x,
                    target.y);
  }
  world->joints.at[slot].local_b = target;
  return s2_ok();
}

S2Status s2_joint_set_velocity(S2World *world, S2JointId id, const double velocity[3]) {
  int32_t slot;
  S2_TRY(s2_world_idle(world));
  S2_TRY(s2_joint_slot(world, id, &slot));
  S2Joint *joint = &world->joints.at[slot];
  if (joint->type != S2_LOCK) {
    return s2_error(S2_INVALID, "velocity: does not apply to a %s",
                    s2_joint_type_name(joint->type));
  }
  if (joint->driven) {
    return s2_error(S2_INVALID,
                    "velocity: cannot be set, because functions move the lock; make another lock");
  }
  for (int c = 0; c < 3; c++) {
    if (!isfinite(velocity[c]) || (!joint->locked[c] && velocity[c] != 0)) {
      return s2_error(S2_INVALID, "velocity: %s expected, got %g",
                      joint->locked[c] ? "finite numbers" : "0 for a coordinate that is not locked",
                      velocity[c]);
    }
  }
  memcpy(joint->rate, velocity, sizeof joint->rate);
  return s2_ok();
}

// ---- Information about a joint ----------------------------------------------------------------

static S2JointId id_of(const S2World *world, int32_t slot) {
  return slot == S2_NONE ? (S2JointId){0, 0}
                         : (S2JointId){(uint32_t)slot + 1, world->joints.at[slot].serial};
}

// Gears report the anchors of the joints that they couple.
static void info_anchors(const S2World *world, const S2Joint *joint, S2JointInfo *info) {
  const S2Joint *a = joint, *b = joint;
  info->anchor_b = s2_joint_anchor(world->q.at, b->b, b->local_b);
  if (joint->joint_a != S2_NONE) {
    a = &world->joints.at[joint->joint_a];
    b = &world->joints.at[joint->joint_b];
    info->anchor_b = s2_joint_anchor(world->q.at, b->a, b->local_a);
  }
  info->anchor_a = s2_joint_anchor(world->q.at, a->a, a->local_a);
  // Types without an anchor on the world (locks, ground friction) report the anchor on a as both
  // anchors.
  if (joint->b == S2_NONE && joint->joint_a == S2_NONE &&
      s2_joint_kind(joint->type)->anchors == S2_ANCHORS_NONE) {
    info->anchor_b = info->anchor_a;
  }
}

static S2Vec2 info_axis(const S2World *world, const S2Joint *joint) {
  return s2_rotate(s2_rot(joint->b == S2_NONE ? 0 : world->q.at[3 * joint->b]), joint->axis);
}

S2Status s2_joint_ends(const S2World *world, S2JointId id, S2JointInfo *info) {
  int32_t slot;
  S2_TRY(s2_joint_slot(world, id, &slot));
  const S2Joint *joint = &world->joints.at[slot];
  info->type = joint->type;
  info->a = s2_body_id(world, joint->a);
  info->b = s2_body_id(world, joint->b);
  info->axis = info_axis(world, joint);
  info_anchors(world, joint, info);
  return s2_ok();
}

S2JointType s2_joint_type(const S2World *world, S2JointId id) {
  assert(s2_joint_alive(world, id));
  return world->joints.at[id.index - 1].type;
}

const char *s2_joint_name(const S2World *world, S2JointId id) {
  int32_t slot;
  return s2_joint_slot(world, id, &slot).code == S2_OK ? world->joints.at[slot].name : "";
}

S2Status s2_joint_info(const S2World *world, S2JointId id, S2JointInfo *info) {
  int32_t slot;
  S2_TRY(s2_joint_slot(world, id, &slot));
  const S2Joint *joint = &world->joints.at[slot];
  S2JointAt at = joint_here(world, joint);
  S2JointRow angle;
  // Angular errors are multiplied by the reach of the largest body.
  double length = 0;
  const int32_t bodies[S2_JOINT_BODIES] = {joint->a, joint->b, joint->more[0], joint->more[1]};
  for (int i = 0; i < (joint->type == S2_GEAR ? 2 : S2_JOINT_BODIES); i++) {
    length = bodies[i] == S2_NONE ? length : fmax(length, world->bodies.at[bodies[i]].reach);
  }
  s2_measure_angle(&at, &angle, NULL);
  *info = (S2JointInfo){
      .type = joint->type,
      .a = s2_body_id(world, joint->a),
      .b = s2_body_id(world, joint->b),
      .more = {s2_body_id(world, joint->more[0]), s2_body_id(world, joint->more[1])},
      .joint_a = id_of(world, joint->joint_a),
      .joint_b = id_of(world, joint->joint_b),
      .enabled = joint->enabled,
      .broken = joint->broken,
      .collide = joint->collide,
      .compliant = joint->compliance.size > 0 || joint->compliance.linear > 0 ||
                   joint->compliance.angular > 0,
      .name = joint->name,
      .axis = info_axis(world, joint),
      .target = joint->type == S2_MOUSE ? joint->local_b : s2_vec2(0, 0),
      .driven = joint->driven,
      .has_law = joint->has_law,
      .velocity = {joint->rate[0], joint->rate[1], joint->rate[2]},
      .impulse = {joint->reaction[1], joint->reaction[2]},
      .angular_impulse = joint->reaction[0],
      .force = {joint_reaction(joint, joint->reaction[1]),
                joint_reaction(joint, joint->reaction[2])},
      .torque = joint_reaction(joint, joint->reaction[0]),
      .angle = angle.value,
      .speed = joint_rate(world, joint, &angle),
      .error = s2_joint_violation(&at, length > 0 ? length : 1),
  };
  info_anchors(world, joint, info);
  const S2JointKind *kind = s2_joint_kind(joint->type);
  info->ways = kind->way == NULL ? 0 : kind->way(joint, info->way);
  return s2_ok();
}
