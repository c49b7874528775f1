// Joints: objects and fields (joint_create.c creates joints).
#include "lua/diff/on_tape.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// Fields of the engine keep their numbers. The numbers of the other fields follow.
enum {
  FIELD_IMPULSE = S2_JOINT_FIELD_COUNT,
  FIELD_FORCE,
  FIELD_NAME,
  FIELD_A,
  FIELD_B,
  FIELD_ANCHOR_A,
  FIELD_ANCHOR_B,
  FIELD_AXIS,
  FIELD_LIMITS,
  FIELD_TARGET,
  FIELD_VELOCITY,
  FIELD_ANGULAR_VELOCITY,
  FIELD_JOINT_A,
  FIELD_JOINT_B,
  FIELD_ERROR,
  FIELD_TYPE,
  FIELD_COLLIDE,
  FIELD_BODIES,
  FIELD_ALIVE,
  FIELD_COUNT
};

static const char *const field_names[FIELD_COUNT] = {[FIELD_IMPULSE] = "impulse",
                                                     [FIELD_FORCE] = "force",
                                                     [FIELD_NAME] = "name",
                                                     [FIELD_A] = "a",
                                                     [FIELD_B] = "b",
                                                     [FIELD_ANCHOR_A] = "anchor_a",
                                                     [FIELD_ANCHOR_B] = "anchor_b",
                                                     [FIELD_AXIS] = "axis",
                                                     [FIELD_LIMITS] = "limits",
                                                     [FIELD_TARGET] = "target",
                                                     [FIELD_VELOCITY] = "velocity",
                                                     [FIELD_ANGULAR_VELOCITY] = "angular_velocity",
                                                     [FIELD_JOINT_A] = "joint_a",
                                                     [FIELD_JOINT_B] = "joint_b",
                                                     [FIELD_ERROR] = "error",
                                                     [FIELD_TYPE] = "type",
                                                     [FIELD_COLLIDE] = "collide",
                                                     [FIELD_BODIES] = "bodies",
                                                     [FIELD_ALIVE] = "alive"};

// ---- Objects ----------------------------------------------------------------------------------

S2LuaJoint *s2_lua_new_joint(lua_State *L, int world) {
  // The object keeps its world alive through the user value.
  S2LuaJoint *joint = lua_newuserdatauv(L, sizeof *joint, 1);
  memset(joint, 0, sizeof *joint);
  joint->type = s2_type_joint;
  joint->lw = lua_touserdata(L, world);
  lua_pushvalue(L, world);
  lua_setiuservalue(L, -2, 1);
  luaL_setmetatable(L, "sim2d.Joint");
  return joint;
}

void s2_lua_bind_joint(lua_State *L, int world, S2LuaJoint *joint, S2JointId id) {
  joint->id = id;
  // The object keeps the name for messages after the joint is destroyed.
  S2JointInfo info;
  if (s2_joint_info(joint->lw->world, id, &info).code == S2_OK) {
    snprintf(joint->name, sizeof joint->name, "%s", info.name);
  }
  lua_getiuservalue(L, world, S2_STORE_JOINTS);
  lua_pushvalue(L, -2);
  lua_rawseti(L, -2, id.serial);
  lua_pop(L, 1);
}

void s2_lua_push_joint(lua_State *L, int world, S2JointId id) {
  world = lua_absindex(L, world);
  // Push the existing object, or create a new one.
  lua_getiuservalue(L, world, S2_STORE_JOINTS);
  if (lua_rawgeti(L, -1, id.serial) == LUA_TNIL) {
    lua_pop(L, 1);
    s2_lua_bind_joint(L, world, s2_lua_new_joint(L, world), id);
  }
  lua_remove(L, -2);
}

static int joint_destroyed(lua_State *L, const S2LuaJoint *joint) {
  if (joint->lw->world == NULL) {
    return s2_lua_fail(L, "world is closed");
  }
  return joint->name[0] != '\0' ? s2_lua_fail(L, "joint '%s' is destroyed", joint->name)
                                : s2_lua_fail(L, "the joint is destroyed");
}

static bool joint_is_alive(const S2LuaJoint *joint) {
  return joint->lw->world != NULL && s2_joint_alive(joint->lw->world, joint->id);
}

static S2LuaJoint *check_joint(lua_State *L) {
  S2LuaJoint *joint = s2_lua_check(L, 1, s2_type_joint);
  if (!joint_is_alive(joint)) {
    joint_destroyed(L, joint);
  }
  return joint;
}

static int joint_tostring(lua_State *L) {
  S2LuaJoint *joint = s2_lua_check(L, 1, s2_type_joint);
  const char *state = joint_is_alive(joint) ? "" : " (destroyed)";
  if (joint->name[0] != '\0') {
    lua_pushfstring(L, "Joint '%s'%s", joint->name, state);
    return 1;
  }
  // An unnamed joint is shown with its number in creation order.
  int count = 0, at = 0;
  const S2JointId *joints = joint_is_alive(joint) ? s2_lua_joints(joint->lw, &count) : NULL;
  while (at < count && joints[at].serial != joint->id.serial) {
    at++;
  }
  if (at < count) {
    lua_pushfstring(L, "Joint #%d", at + 1);
  } else {
    lua_pushfstring(L, "Joint%s", state);
  }
  return 1;
}

// ---- Fields -----------------------------------------------------------------------------------

static bool type_has(S2JointType type, int field) {
  // A joint type has the fields of the engine's type, and fields for which its constructor has a
  // key.
  switch (field) {
  case FIELD_LIMITS:
    return s2_joint_type_has(type, S2_JOINT_LIMIT_LO);
  case FIELD_AXIS:
    return s2_joint_type_has(type, S2_JOINT_TRANSLATION);
  case FIELD_TARGET:
  case FIELD_VELOCITY:
  case FIELD_ANGULAR_VELOCITY:
  case FIELD_JOINT_A:
  case FIELD_JOINT_B:
    return s2_lua_joint_takes(type, field_names[field]);
  default:
    return field >= S2_JOINT_FIELD_COUNT || s2_joint_type_has(type, (S2JointField)field);
  }
}

// True for numbers of the engine that scripts see as a vector or a list.
static bool is_hidden(int field) {
  return field == S2_JOINT_FORCE || field == S2_JOINT_LIMIT_LO || field == S2_JOINT_LIMIT_HI;
}

static const char *name_of(int field) {
  const char *name = field_names[field];
  return name != NULL ? name : s2_joint_field_name((S2JointField)field);
}

static bool all_have(int field) {
  for (int type = 0; type < S2_JOINT_TYPE_COUNT; type++) {
    if (!type_has((S2JointType)type, field)) {
      return false;
    }
  }
  return true;
}

// Raises an error if joints of this type do not have the field named in argument 2.
static void check_has(lua_State *L, S2JointType type, int field) {
  // The message lists the fields that this type has but other types lack.
  if (type_has(type, field)) {
    return;
  }
  lua_pushfstring(L, "Joint.%s: does not apply to a %s, whose own fields are:", lua_tostring(L, 2),
                  s2_joint_type_name(type));
  const char *separator = " ";
  for (int i = 0; i < FIELD_COUNT; i++) {
    if (!is_hidden(i) && type_has(type, i) && !all_have(i)) {
      lua_pushfstring(L, "%s%s", separator, name_of(i));
      lua_concat(L, 2);
      separator = ", ";
    }
  }
  s2_lua_fail(L, "%s", lua_tostring(L, -1));
}

static void push_joint(lua_State *L, S2JointId id) {
  if (id.index == 0) {
    lua_pushnil(L);
    return;
  }
  lua_getiuservalue(L, 1, 1);
  s2_lua_push_joint(L, -1, id);
}

// ---- On a tape --------------------------------------------------------------------------------

static int32_t joint_slot(const S2LuaJoint *joint) {
  return (int32_t)joint->id.index - 1;
}

static S2Place number_of(const S2LuaJoint *joint, int number) {
  return s2_place(S2_PLACE_JOINT, joint_slot(joint), number);
}

// Finds the tape places of a field that can be set. Returns their number, or 0 if the field has no
// derivative.
static int joint_places(const S2LuaJoint *joint, int field, S2Place places[3]) {
  // For each field, its first number on the tape and its count of numbers. The engine's fields
  // precede the vectors.
  static const struct {
    int number, count;
  } known[FIELD_COUNT] = {
#define S2_JOINT_READING(ID, name, parts)                                  {S2_OF_NOTHING, 0},
#define S2_JOINT_FIELD(ID, name, domain, parts, member, derivative, count) {derivative, count},
#include "dynamics/fields.def"
      [FIELD_LIMITS] = {S2_OF_LIMIT_LO, 2},
      [FIELD_TARGET] = {S2_OF_LOCAL_B, 2},
      [FIELD_ANGULAR_VELOCITY] = {S2_OF_RATE, 1},
      [FIELD_VELOCITY] = {S2_OF_RATE + 1, 2},
  };
  int count = field == FIELD_COUNT ? 0 : known[field].count;
  for (int k = 0; k < count; k++) {
    places[k] = number_of(joint, known[field].number + k);
  }
  return count;
}

// A quantity that depends on the poses and velocities of the bodies.
typedef struct Measured {
  S2JointId id;
  int field;
} Measured;

static void joint_measure(const void *user, const S2World *world, double *numbers) {
  // The quantity is a number of the engine or a point in the joint's info.
  const Measured *measured = user;
  if (measured->field < S2_JOINT_FIELD_COUNT) {
    (void)s2_joint_get(world, measured->id, (S2JointField)measured->field, numbers);
    return;
  }
  S2JointInfo info = {0};
  (void)s2_joint_ends(world, measured->id, &info);
  S2Vec2 point = measured->field == FIELD_ANCHOR_A   ? info.anchor_a
                 : measured->field == FIELD_ANCHOR_B ? info.anchor_b
                                                     : info.axis;
  numbers[0] = point.x;
  numbers[1] = point.y;
}

static void push_measured(lua_State *L, const S2LuaJoint *joint, int field) {
  // The value depends on the poses and velocities of the joint's bodies.
  S2Place places[S2_MEASURE_PLACES];
  S2World *world = joint->lw->world;
  double value;
  S2Var var;
  if (field < S2_JOINT_FIELD_COUNT) {
    (void)s2_joint_get(world, joint->id, (S2JointField)field, &value);
    if (s2_world_tape_joint_field(s2_lua_on_tape(joint->lw), world, joint_slot(joint),
                                  (S2JointField)field, value, &var)) {
      s2_lua_tracked_push(L, value + 0.0, var);
      return;
    }
  }
  // Measure other fields by differences.
  Measured measured = {joint->id, field};
  int count = s2_measure_places(world, joint_slot(joint), places);
  int numbers = field < S2_JOINT_FIELD_COUNT ? 1 : 2;
  s2_lua_push_measured(L, joint->lw, numbers, joint_measure, &measured, count, places);
}

// Pushes a reaction of the last step. Returns false if it has no derivative.
static bool push_reaction(lua_State *L, const S2LuaJoint *joint, const S2JointInfo *info,
                          int field) {
  // Impulses of the last step are nodes of that step on the tape.
  bool torque = field == S2_JOINT_TORQUE, impulse = field == FIELD_IMPULSE;
  S2Var var = s2_world_tape_reaction(s2_lua_on_tape(joint->lw), joint->lw->world, joint_slot(joint),
                                     torque, impulse);
  S2Vec2 vector = impulse ? info->impulse : info->force;
  const double values[2] = {vector.x, vector.y};
  if (var == 0) {
    return false;
  }
  if (torque) {
    s2_lua_tracked_push(L, info->torque + 0.0, var);
  } else {
    s2_lua_push_list(L, 2, values, var);
  }
  return true;
}

// Pushes a field of a joint whose world is on a tape. Returns false and pushes no value if the
// caller has to push the field itself.
static bool push_tracked(lua_State *L, const S2LuaJoint *joint, const S2JointInfo *info,
                         int field) {
  // A value that is not finite has no derivative. Such values mean a matrix instead of a number, or
  // no bound.
  S2Place places[3];
  double value = NAN;
  if (field < S2_JOINT_FIELD_COUNT) {
    if (!s2_joint_type_has(info->type, (S2JointField)field)) {
      return false;
    }
    (void)s2_joint_get(joint->lw->world, joint->id, (S2JointField)field, &value);
    if (!isfinite(value)) {
      return false;
    }
  }
  // Reactions and the error depend on the step. Measured fields depend on the poses. Other fields
  // are numbers of the joint.
  switch (field) {
  case FIELD_IMPULSE:
  case FIELD_FORCE:
  case S2_JOINT_TORQUE:
    return push_reaction(L, joint, info, field);
  case FIELD_ERROR:
    s2_lua_tracked_push(L, info->error,
                        s2_world_tape_joint_error(s2_lua_on_tape(joint->lw), joint->lw->world,
                                                  joint_slot(joint), info->error));
    return true;
  case S2_JOINT_ANGLE:
  case S2_JOINT_TRANSLATION:
  case S2_JOINT_LENGTH:
  case S2_JOINT_SPEED:
  case FIELD_ANCHOR_A:
  case FIELD_ANCHOR_B:
    push_measured(L, joint, field);
    return true;
  case FIELD_AXIS:
    if (s2_joint_type_has(info->type, S2_JOINT_TRANSLATION)) {
      push_measured(L, joint, field);
      return true;
    }
    return false;
  case FIELD_TARGET:
  case FIELD_VELOCITY:
  case FIELD_ANGULAR_VELOCITY:
    if (!type_has(info->type, field)) {
      return false;
    }
    break;
  case S2_JOINT_COMPLIANCE:
  case S2_JOINT_DAMPING: { // the linear or the angular number
    S2Place linear =
        number_of(joint, field == S2_JOINT_COMPLIANCE ? S2_OF_COMPLIANCE : S2_OF_DAMPING);
    // If the value differs from the linear number, it is the angular number.
    if (s2_place_value(joint->lw->world, linear) != value) {
      linear.number++;
    }
    s2_lua_push_place(L, joint->lw, linear);
    return true;
  }
  case FIELD_LIMITS: // a plain list whose numbers may be tracked
    return false;
  default:
    break;
  }
  // A number of the joint is tracked only if its tape place has the value that was read.
  int count = joint_places(joint, field, places);
  if (count == 1 && field < S2_JOINT_FIELD_COUNT &&
      s2_place_value(joint->lw->world, places[0]) != value) {
    return false; // for instance the force of an absent motor
  }
  if (count == 1) {
    s2_lua_push_place(L, joint->lw, places[0]);
  } else if (count > 1) {
    s2_lua_push_places(L, joint->lw, count, places);
  }
  return count > 0;
}

// Pushes {lo, hi}, or nil if there are no limits.
static void push_limits(lua_State *L, const S2LuaJoint *joint) {
  // If both sides are infinite, there are no limits.
  double lo = -INFINITY, hi = INFINITY;
  (void)s2_joint_get(joint->lw->world, joint->id, S2_JOINT_LIMIT_LO, &lo);
  (void)s2_joint_get(joint->lw->world, joint->id, S2_JOINT_LIMIT_HI, &hi);
  if (isinf(lo) && isinf(hi)) {
    lua_pushnil(L);
    return;
  }
  // Push each number separately, because on a tape one of them may be tracked.
  lua_createtable(L, 2, 0);
  for (int i = 0; i < 2; i++) {
    s2_lua_push_place(L, joint->lw, number_of(joint, S2_OF_LIMIT_LO + i));
    lua_rawseti(L, -2, i + 1);
  }
}

// Pushes a list of all bodies of the joint in order.
static void push_bodies(lua_State *L, const S2JointInfo *info) {
  const S2BodyId bodies[S2_JOINT_BODIES] = {info->a, info->b, info->more[0], info->more[1]};
  lua_newtable(L);
  lua_getiuservalue(L, 1, 1);
  for (int i = 0; i < S2_JOINT_BODIES; i++) {
    if (bodies[i].index != 0) {
      s2_lua_push_body(L, -1, bodies[i]);
      lua_rawseti(L, -3, (lua_Integer)lua_rawlen(L, -3) + 1);
    }
  }
  lua_pop(L, 1);
}

static void joint_push_field(lua_State *L, const S2LuaJoint *joint, const S2JointInfo *info,
                             int field) {
  switch (field) {
  case FIELD_IMPULSE:
    s2_lua_push_vec2(L, info->impulse, NULL);
    return;
  case FIELD_FORCE:
    s2_lua_push_vec2(L, info->force, NULL);
    return;
  case FIELD_NAME:
    lua_pushstring(L, info->name);
    return;
  case FIELD_A:
  case FIELD_B:
    lua_getiuservalue(L, 1, 1);
    s2_lua_push_body(L, -1, field == FIELD_A ? info->a : info->b);
    return;
  case FIELD_BODIES:
    push_bodies(L, info);
    return;
  case FIELD_ANCHOR_A:
    s2_lua_push_vec2(L, info->anchor_a, NULL);
    return;
  case FIELD_ANCHOR_B:
    s2_lua_push_vec2(L, info->anchor_b, NULL);
    return;
  case FIELD_LIMITS:
    push_limits(L, joint);
    return;
  case FIELD_JOINT_A:
  case FIELD_JOINT_B:
    push_joint(L, field == FIELD_JOINT_A ? info->joint_a : info->joint_b);
    return;
  case FIELD_ERROR:
    lua_pushnumber(L, info->error);
    return;
  case FIELD_TYPE:
    lua_pushstring(L, s2_joint_type_name(info->type));
    return;
  case FIELD_COLLIDE:
    lua_pushboolean(L, info->collide);
    return;
  case FIELD_AXIS:
    s2_lua_push_vec2(L, info->axis, NULL);
    return;
  // For the vectors below, a script must assign the whole vector to change a component. The message
  // explains this.
  case FIELD_TARGET:
    s2_lua_push_vec2(L, info->target, "joint.target");
    return;
  case FIELD_VELOCITY:
    s2_lua_push_vec2(L, s2_vec2(info->velocity[1], info->velocity[2]), "joint.velocity");
    return;
  case FIELD_ANGULAR_VELOCITY:
    lua_pushnumber(L, info->velocity[0]);
    return;
  default: // methods, and fields that joint_index handles
    return;
  }
}

static bool is_flag(int field) {
  return field == S2_JOINT_ENABLED || field == S2_JOINT_BROKEN;
}

// Pushes a number of the engine, or nil if a matrix replaces it.
static void joint_push_number(lua_State *L, const S2LuaJoint *joint, S2JointField field) {
  // NAN means that a matrix replaces the number.
  double value = NAN;
  s2_lua_try(L, s2_joint_get(joint->lw->world, joint->id, field, &value));
  if (isnan(value)) {
    lua_pushnil(L);
  } else if (is_flag((int)field)) {
    lua_pushboolean(L, value != 0);
  } else {
    lua_pushnumber(L, value + 0.0);
  }
}

// Upvalue 1 maps names to field numbers and methods.
static int find_field(lua_State *L) {
  // As for bodies, fields and methods share a table.
  lua_pushvalue(L, 2);
  int type = lua_rawget(L, lua_upvalueindex(1));
  if (type == LUA_TNIL) {
    return s2_lua_no_field(L, "Joint", 2, lua_upvalueindex(1));
  }
  return type == LUA_TNUMBER ? (int)lua_tointeger(L, -1) : FIELD_COUNT;
}

static int joint_index(lua_State *L) {
  S2LuaJoint *joint = s2_lua_check(L, 1, s2_type_joint);
  int field = find_field(L);
  if (field == FIELD_COUNT) {
    return 1; // a method
  }
  // `alive` can be read even if the joint is destroyed.
  bool alive = joint_is_alive(joint);
  if (field == FIELD_ALIVE) {
    lua_pushboolean(L, alive);
    return 1;
  }
  if (!alive) {
    return joint_destroyed(L, joint);
  }
  // If this type does not have the field, raise an error that lists the fields of the type.
  check_has(L, s2_joint_type(joint->lw->world, joint->id), field);
  // Numbers of the engine are read without the joint's info.
  bool on_tape = s2_lua_on_tape(joint->lw) != NULL;
  if (field < S2_JOINT_FIELD_COUNT && !on_tape) {
    joint_push_number(L, joint, (S2JointField)field);
    return 1;
  }
  S2JointInfo info;
  s2_lua_try(L, s2_joint_info(joint->lw->world, joint->id, &info));
  // On a tape, fields are tracked numbers. Otherwise they are plain values.
  if (on_tape && push_tracked(L, joint, &info, field)) {
    return 1;
  }
  if (field < S2_JOINT_FIELD_COUNT) {
    joint_push_number(L, joint, (S2JointField)field);
  } else {
    joint_push_field(L, joint, &info, field);
  }
  return 1;
}

// Give errors from the engine the same form as errors of the binding.
static void set_or_raise(lua_State *L, S2Status status) {
  if (status.code == S2_INVALID) {
    s2_lua_fail(L, "Joint.%s", status.message);
  }
  s2_lua_try(L, status);
}

// Raises an error unless `good`. The name of the field is argument 2.
static void check_value(lua_State *L, bool good, const S2Complaint *complaint) {
  if (!good) {
    s2_lua_fail(L, "Joint.%s: %s", lua_tostring(L, 2), complaint->text);
  }
}

static void wrote_ratio(lua_State *L, const S2LuaJoint *joint, int begin) {
  // A new ratio also changes the sum that the gear keeps constant, so the tape has a special entry
  // for it.
  const S2LuaRead *list;
  int reads;
  S2WorldTape *tape = s2_lua_written(L, joint->lw, begin, &reads, &list);
  if (tape != NULL) {
    s2_world_tape_ratio(tape, joint->lw->world, joint_slot(joint), reads > 0 ? list[0].var : 0);
  }
}

static void joint_set_number(lua_State *L, const S2LuaJoint *joint, S2JointField field) {
  double value;
  bool flag = false;
  S2Complaint complaint;
  // If the field has a derivative, the tape records the numbers that are read after this call.
  S2Place places[3];
  static const int from[] = {0, 0};
  int count = joint_places(joint, (int)field, places);
  int begin = count > 0 ? s2_lua_writes(L, joint->lw) : 0;
  // Read a flag, a plain number, which the engine checks, or a tracked number.
  if (is_flag((int)field)) {
    check_value(L, s2_value_boolean(L, 3, &flag, &complaint), &complaint);
    value = flag;
  } else if (lua_type(L, 3) == LUA_TNUMBER) {
    value = lua_tonumber(L, 3); // the engine checks whether the number may be infinite
  } else {
    check_value(L, s2_value_number(L, 3, S2_ANY_NUMBER, &value, &complaint), &complaint);
  }
  set_or_raise(L, s2_joint_set(joint->lw->world, joint->id, field, value));
  // Record the assignment on the tape. The ratio and `enabled` have special entries.
  if (field == S2_JOINT_RATIO) {
    wrote_ratio(L, joint, begin);
  } else {
    s2_lua_wrote_from(L, joint->lw, begin, &value, 1, count, from, places);
  }
  if (field == S2_JOINT_ENABLED && s2_lua_on_tape(joint->lw) != NULL) {
    s2_world_tape_enabled(s2_lua_on_tape(joint->lw), joint->lw->world, joint_slot(joint));
  }
}

static void joint_set_velocity(lua_State *L, const S2LuaJoint *joint, const S2JointInfo *info,
                               int field) {
  // The engine sets both velocities at once, so pass the current value of the other one.
  S2Complaint complaint;
  S2Vec2 linear = {info->velocity[1], info->velocity[2]};
  double turn = info->velocity[0];
  S2Place places[3];
  int begin = s2_lua_writes(L, joint->lw), count = joint_places(joint, field, places);
  if (field == FIELD_VELOCITY) {
    check_value(L, s2_value_vec2(L, 3, &linear, &complaint), &complaint);
  } else {
    check_value(L, s2_value_number(L, 3, S2_ANY_NUMBER, &turn, &complaint), &complaint);
  }
  const double velocity[3] = {turn, linear.x, linear.y};
  set_or_raise(L, s2_joint_set_velocity(joint->lw->world, joint->id, velocity));
  s2_lua_wrote(L, joint->lw, begin, field == FIELD_VELOCITY ? &linear.x : &turn, count, places);
}

static int joint_newindex(lua_State *L) {
  S2LuaJoint *joint = s2_lua_check(L, 1, s2_type_joint);
  int field = find_field(L);
  S2Complaint complaint;
  S2JointInfo info;
  S2Vec2 target;
  double limits[2];
  S2Place places[3];
  // The tape records the numbers that are read after this call.
  int begin = 0, count = joint_places(joint, field, places);
  if (field == FIELD_TARGET || field == FIELD_LIMITS) {
    begin = s2_lua_writes(L, joint->lw);
  }
  // A destroyed joint cannot be written. Only the fields of its type can be written in a living
  // joint.
  if (field != FIELD_COUNT && field != FIELD_ALIVE) {
    if (!joint_is_alive(joint)) {
      return joint_destroyed(L, joint);
    }
    s2_lua_try(L, s2_joint_info(joint->lw->world, joint->id, &info));
    check_has(L, info.type, field);
  }
  // Set vectors and lists. Single numbers follow below.
  switch (field) {
  case FIELD_TARGET:
    check_value(L, s2_value_vec2(L, 3, &target, &complaint), &complaint);
    set_or_raise(L, s2_joint_set_target(joint->lw->world, joint->id, target));
    s2_lua_wrote(L, joint->lw, begin, &target.x, count, places);
    return 0;
  case FIELD_LIMITS:
    check_value(L, s2_lua_limits(L, 3, limits, &complaint), &complaint);
    set_or_raise(L, s2_joint_set_limits(joint->lw->world, joint->id, limits[0], limits[1]));
    s2_lua_wrote(L, joint->lw, begin, limits, count, places);
    s2_lua_hint_limits(L, joint->lw, info.type, limits[0], limits[1]);
    s2_lua_hint_jump(L, joint->lw, joint->id, false);
    return 0;
  case FIELD_VELOCITY:
  case FIELD_ANGULAR_VELOCITY:
    joint_set_velocity(L, joint, &info, field);
    return 0;
  default:
    break;
  }
  // Setting a coordinate or the speed moves bodies.
  if (field == S2_JOINT_ANGLE || field == S2_JOINT_TRANSLATION) {
    return s2_lua_set_coordinate(L, joint, info.type, (S2JointField)field);
  }
  if (field == S2_JOINT_SPEED) {
    return s2_lua_set_speed(L, joint);
  }
  // The field is not a number of the engine, or is read-only.
  if (field >= S2_JOINT_FIELD_COUNT || !s2_joint_type_sets(info.type, (S2JointField)field)) {
    return s2_lua_fail(L, "Joint.%s is read-only", lua_tostring(L, 2));
  }
  joint_set_number(L, joint, (S2JointField)field);
  return 0;
}

static int joint_destroy(lua_State *L) {
  S2LuaJoint *joint = check_joint(L);
  s2_lua_try(L, s2_joint_destroy(joint->lw->world, joint->id));
  s2_lua_world_changed(joint->lw);
  return 0;
}

void s2_lua_open_joint(lua_State *L) {
  static const luaL_Reg methods[] = {{"destroy", joint_destroy}, {NULL, NULL}};
  // One table of fields and methods is used for reading and writing. It contains vectors instead of
  // their separate numbers.
  s2_lua_metatable(L, s2_type_joint);
  lua_newtable(L);
  for (int i = 0; i < FIELD_COUNT; i++) {
    if (!is_hidden(i)) {
      lua_pushinteger(L, i);
      lua_setfield(L, -2, name_of(i));
    }
  }
  s2_lua_functions(L, methods, 0);
  // Set the table as first upvalue of both functions.
  lua_pushvalue(L, -1);
  lua_pushcclosure(L, joint_index, 1);
  lua_setfield(L, -3, "__index");
  lua_pushcclosure(L, joint_newindex, 1);
  lua_setfield(L, -2, "__newindex");
  lua_pushcfunction(L, joint_tostring);
  lua_setfield(L, -2, "__tostring");
  lua_pop(L, 1);
}
