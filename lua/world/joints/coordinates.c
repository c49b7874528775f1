// world:set_coordinates{...} and assignments to joint.angle and joint.translation. They move bodies
// so that joints have the given coordinates.
#include "lua/diff/on_tape.h"

// Rejects a tracked number and a world on a tape, because the derivative would be lost.
static void coordinates_refuse(lua_State *L, int index, const S2LuaWorld *lw) {
  if (s2_lua_is_tracked(L, index) && s2_lua_recording(lw)) {
    s2_lua_fail(L, "setting a joint's coordinate to a tracked number has no derivative yet: set "
                   "angle, position and velocity of the bodies beyond the joint as functions of "
                   "the number, or create these bodies there");
  }
}

static void coordinates_set(lua_State *L, S2LuaWorld *lw, const S2JointCoordinate *set, int count) {
  s2_lua_not_on_tape(L, lw,
                     "setting a joint's coordinate (its bodies' angle, position and velocity can "
                     "be set instead)");
  s2_lua_try(L, s2_world_set_coordinates(lw->world, set, count));
}

int s2_lua_set_coordinate(lua_State *L, const S2LuaJoint *joint, S2JointType type,
                          S2JointField field) {
  // A hinge has the coordinate `angle`, and a slider has `translation`.
  bool has = (type == S2_HINGE && field == S2_JOINT_ANGLE) ||
             (type == S2_SLIDER && field == S2_JOINT_TRANSLATION);
  if (!has) {
    return s2_lua_fail(
        L, "Joint.%s is read-only: only angles of hinges and translations of sliders can be set",
        lua_tostring(L, 2));
  }
  S2JointCoordinate set = {.joint = joint->id};
  S2Complaint complaint;
  coordinates_refuse(L, 3, joint->lw);
  if (!s2_value_number(L, 3, S2_ANY_NUMBER, &set.value, &complaint)) {
    return s2_lua_fail(L, "Joint.%s: %s", lua_tostring(L, 2), complaint.text);
  }
  coordinates_set(L, joint->lw, &set, 1);
  return 0;
}

static const char BY_HAND[] = "sim2d.speed_by_hand"; // registry key

int s2_lua_speed_by_hand(lua_State *L) {
  lua_settop(L, 1);
  lua_setfield(L, LUA_REGISTRYINDEX, BY_HAND);
  return 0;
}

// On a tape, sets the speed through fields of bodies. Stack: joint, name, value.
static void speed_by_hand(lua_State *L, const S2LuaJoint *joint) {
  S2LuaWorld *lw = joint->lw;
  int count = s2_world_bodies(lw->world, NULL, 0);
  S2BodyId *bodies = lua_newuserdatauv(L, sizeof *bodies * (size_t)(count + 1), 0);
  bool of_a;
  s2_lua_try(L, s2_joint_branch(lw->world, joint->id, bodies, &count, &of_a));
  lua_getfield(L, LUA_REGISTRYINDEX, BY_HAND);
  lua_pushvalue(L, 1);
  lua_pushvalue(L, 3);
  lua_createtable(L, count, 0);
  lua_getiuservalue(L, 1, 1);
  for (int i = 0; i < count; i++) {
    s2_lua_push_body(L, -1, bodies[i]);
    lua_rawseti(L, -3, i + 1);
  }
  lua_pop(L, 1);
  lua_pushboolean(L, of_a);
  lua_call(L, 4, 0);
}

int s2_lua_set_speed(lua_State *L, const S2LuaJoint *joint) {
  double speed;
  S2Complaint complaint;
  if (s2_lua_recording(joint->lw) &&
      (s2_lua_on_tape(joint->lw) != NULL || lua_type(L, 3) != LUA_TNUMBER)) {
    speed_by_hand(L, joint);
    return 0;
  }
  if (!s2_value_number(L, 3, S2_ANY_NUMBER, &speed, &complaint)) {
    return s2_lua_fail(L, "Joint.speed: %s", complaint.text);
  }
  S2Status status = s2_joint_set_speed(joint->lw->world, joint->id, speed);
  if (status.code == S2_INVALID) {
    return s2_lua_fail(L, "Joint.%s", status.message);
  }
  s2_lua_try(L, status);
  return 0;
}

// Returns the joint for the key at index -2. The key is the joint itself or its name.
static const S2LuaJoint *coordinates_joint(lua_State *L, S2LuaWorld *lw) {
  char text[S2_LUA_TEXT];
  if (lua_type(L, -2) == LUA_TSTRING) {
    lua_getfield(L, 1, "joints");
    lua_pushvalue(L, -3);
    lua_gettable(L, -2);
    lua_replace(L, -4); // the key
    lua_pop(L, 1);
  }
  const S2LuaJoint *joint = s2_lua_test(L, -2, s2_type_joint);
  if (joint == NULL) {
    s2_lua_bad_argument(L, 2, "{[joint] = number} expected, got the key %s",
                        s2_lua_describe(L, -2, text));
  } else if (joint->lw != lw) {
    s2_lua_bad_argument(L, 2, "a joint belongs to another world");
  }
  return joint;
}

static int world_set_coordinates(lua_State *L) {
  S2LuaWorld *lw = s2_lua_world(L, 1);
  char text[S2_LUA_TEXT];
  if (lua_type(L, 2) != LUA_TTABLE) {
    return s2_lua_bad_argument(L, 2, "{[joint] = number} expected, got %s",
                               s2_lua_describe(L, 2, text));
  }
  lua_settop(L, 2);
  // Read one coordinate per key of the table, into memory that Lua owns.
  int count = 0;
  for (lua_pushnil(L); lua_next(L, 2) != 0; lua_pop(L, 1)) {
    count += 1;
  }
  S2JointCoordinate *set = lua_newuserdatauv(L, sizeof *set * (size_t)(count + 1), 0);
  int at = 0;
  for (lua_pushnil(L); lua_next(L, 2) != 0; lua_pop(L, 1)) {
    S2Complaint complaint;
    lua_pushvalue(L, -2); // replace names in a copy, because lua_next needs the key
    lua_pushvalue(L, -2);
    const S2LuaJoint *joint = coordinates_joint(L, lw);
    set[at].joint = joint->id;
    coordinates_refuse(L, -1, lw);
    if (!s2_value_number(L, -1, S2_ANY_NUMBER, &set[at].value, &complaint)) {
      return s2_lua_bad_argument(L, 2, "the coordinate of %s: %s", luaL_tolstring(L, -2, NULL),
                                 complaint.text);
    }
    lua_pop(L, 2);
    at += 1;
  }
  coordinates_set(L, lw, set, at);
  return 0;
}

void s2_lua_open_coordinates(lua_State *L) {
  static const luaL_Reg methods[] = {{"set_coordinates", world_set_coordinates}, {NULL, NULL}};
  s2_lua_functions(L, methods, 0);
}
