// Joints: making, objects, fields.
#include "binding.h"

#include <stdio.h>
#include <string.h>

typedef enum Field {
  FIELD_IMPULSE,
  FIELD_FORCE,
  FIELD_ANGLE,
  FIELD_SPEED,
  FIELD_ENABLED,
  FIELD_NAME,
  FIELD_A,
  FIELD_B,
  FIELD_ANCHOR_A,
  FIELD_ANCHOR_B,
  FIELD_ERROR,
  FIELD_TYPE,
  FIELD_COLLIDE,
  FIELD_ALIVE,
  FIELD_COUNT
} Field;

static const char *const field_names[FIELD_COUNT] = {[FIELD_IMPULSE] = "impulse",
                                                     [FIELD_FORCE] = "force",
                                                     [FIELD_ANGLE] = "angle",
                                                     [FIELD_SPEED] = "speed",
                                                     [FIELD_ENABLED] = "enabled",
                                                     [FIELD_NAME] = "name",
                                                     [FIELD_A] = "a",
                                                     [FIELD_B] = "b",
                                                     [FIELD_ANCHOR_A] = "anchor_a",
                                                     [FIELD_ANCHOR_B] = "anchor_b",
                                                     [FIELD_ERROR] = "error",
                                                     [FIELD_TYPE] = "type",
                                                     [FIELD_COLLIDE] = "collide",
                                                     [FIELD_ALIVE] = "alive"};

// Of the contract, not built yet.
static const char *const later_fields[] = {"motor_speed", "limits", "translation", NULL};

static const char *const type_names[] = {[S2_HINGE] = "hinge"};

// ---- Objects ----------------------------------------------------------------------------------

static S2LuaJoint *new_joint(lua_State *L, int world) {
  S2LuaJoint *joint = lua_newuserdatauv(L, sizeof *joint, 1);
  memset(joint, 0, sizeof *joint);
  joint->type = s2_type_joint;
  joint->lw = lua_touserdata(L, world);
  lua_pushvalue(L, world);
  lua_setiuservalue(L, -2, 1);
  luaL_setmetatable(L, "sim2d.Joint");
  return joint;
}

static void bind_joint(lua_State *L, int world, S2LuaJoint *joint, S2JointId id) {
  joint->id = id;
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
  lua_getiuservalue(L, world, S2_STORE_JOINTS);
  if (lua_rawgeti(L, -1, id.serial) == LUA_TNIL) {
    lua_pop(L, 1);
    bind_joint(L, world, new_joint(L, world), id);
  }
  lua_remove(L, -2);
}

static int destroyed(lua_State *L, const S2LuaJoint *joint) {
  if (joint->lw->world == NULL) {
    return s2_lua_fail(L, "world is closed");
  }
  return joint->name[0] != '\0' ? s2_lua_fail(L, "joint '%s' is destroyed", joint->name)
                                : s2_lua_fail(L, "the joint is destroyed");
}

static bool is_alive(const S2LuaJoint *joint) {
  return joint->lw->world != NULL && s2_joint_alive(joint->lw->world, joint->id);
}

static S2LuaJoint *check_joint(lua_State *L) {
  S2LuaJoint *joint = s2_lua_check(L, 1, s2_type_joint);
  if (!is_alive(joint)) {
    destroyed(L, joint);
  }
  return joint;
}

static int joint_tostring(lua_State *L) {
  S2LuaJoint *joint = s2_lua_check(L, 1, s2_type_joint);
  const char *state = is_alive(joint) ? "" : " (destroyed)";
  if (joint->name[0] != '\0') {
    lua_pushfstring(L, "Joint '%s'%s", joint->name, state);
    return 1;
  }
  int count = 0, at = 0;
  const S2JointId *joints = is_alive(joint) ? s2_lua_joints(joint->lw, &count) : NULL;
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

static void push_field(lua_State *L, const S2JointInfo *info, Field field) {
  switch (field) {
  case FIELD_IMPULSE:
    s2_lua_push_vec2(L, info->impulse, NULL);
    return;
  case FIELD_FORCE:
    s2_lua_push_vec2(L, info->force, NULL);
    return;
  case FIELD_ANGLE:
    lua_pushnumber(L, info->angle);
    return;
  case FIELD_SPEED:
    lua_pushnumber(L, info->speed);
    return;
  case FIELD_ENABLED:
    lua_pushboolean(L, info->enabled);
    return;
  case FIELD_NAME:
    lua_pushstring(L, info->name);
    return;
  case FIELD_A:
  case FIELD_B:
    lua_getiuservalue(L, 1, 1);
    s2_lua_push_body(L, -1, field == FIELD_A ? info->a : info->b);
    return;
  case FIELD_ANCHOR_A:
    s2_lua_push_vec2(L, info->anchor_a, NULL);
    return;
  case FIELD_ANCHOR_B:
    s2_lua_push_vec2(L, info->anchor_b, NULL);
    return;
  case FIELD_ERROR:
    lua_pushnumber(L, info->error);
    return;
  case FIELD_TYPE:
    lua_pushstring(L, type_names[info->type]);
    return;
  case FIELD_COLLIDE:
    lua_pushboolean(L, info->collide);
    return;
  case FIELD_ALIVE:
  case FIELD_COUNT:
    break;
  }
  lua_pushnil(L);
}

static bool is_later(const char *name) {
  for (int i = 0; later_fields[i] != NULL; i++) {
    if (strcmp(later_fields[i], name) == 0) {
      return true;
    }
  }
  return false;
}

// Upvalue 1: name -> number of a field, or method.
static int find_field(lua_State *L) {
  if (lua_type(L, 2) == LUA_TSTRING && is_later(lua_tostring(L, 2))) {
    return s2_lua_fail(L, "Joint.%s: not available yet", lua_tostring(L, 2));
  }
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
  bool alive = is_alive(joint);
  if (field == FIELD_ALIVE) {
    lua_pushboolean(L, alive);
    return 1;
  }
  if (!alive) {
    return destroyed(L, joint);
  }
  S2JointInfo info;
  s2_lua_try(L, s2_joint_info(joint->lw->world, joint->id, &info));
  push_field(L, &info, (Field)field);
  return 1;
}

static int joint_newindex(lua_State *L) {
  S2LuaJoint *joint = s2_lua_check(L, 1, s2_type_joint);
  int field = find_field(L);
  if (field != FIELD_ENABLED) {
    return s2_lua_fail(L, "Joint.%s is read-only", lua_tostring(L, 2));
  }
  if (!is_alive(joint)) {
    return destroyed(L, joint);
  }
  bool enabled = false;
  S2Complaint complaint;
  if (!s2_value_boolean(L, 3, &enabled, &complaint)) {
    return s2_lua_fail(L, "Joint.enabled: %s", complaint.text);
  }
  s2_lua_try(L, s2_joint_set_enabled(joint->lw->world, joint->id, enabled));
  return 0;
}

static int joint_destroy(lua_State *L) {
  S2LuaJoint *joint = check_joint(L);
  s2_lua_try(L, s2_joint_destroy(joint->lw->world, joint->id));
  s2_lua_world_changed(joint->lw);
  return 0;
}

// ---- Making -----------------------------------------------------------------------------------

// The body at position `place` of the list or under `key`; nil is the world.
static S2BodyId read_body(const S2Keys *keys, const S2LuaWorld *lw, int place, const char *key) {
  lua_State *L = keys->L;
  bool by_place = lua_geti(L, keys->table, place) != LUA_TNIL;
  if (s2_keys_push(keys, key) != LUA_TNIL) {
    if (by_place) {
      s2_keys_fail(keys, key, "given twice, as [%d] too", place);
    }
    lua_replace(L, -2);
  } else {
    lua_pop(L, 1);
  }
  S2BodyId id = {0, 0};
  if (!lua_isnil(L, -1)) {
    const S2LuaBody *body = s2_lua_test(L, -1, s2_type_body);
    if (body == NULL) {
      char text[S2_LUA_TEXT];
      s2_keys_fail(keys, key, "Body expected, got %s", s2_lua_describe(L, -1, text));
    } else if (body->lw != lw) {
      s2_keys_fail(keys, key, "the body belongs to another world");
    } else if (!s2_body_alive(lw->world, body->id)) {
      s2_keys_fail(keys, key, "body '%s' is destroyed", body->name);
    } else {
      id = body->id;
    }
  }
  lua_pop(L, 1);
  return id;
}

static int world_hinge(lua_State *L) {
  static const char *const names[] = {"a",       "b",          "anchor",      "name",
                                      "collide", "compliance", "damping",     "limits",
                                      "motor",   "friction",   "break_force", NULL};
  static const char *const later[] = {"compliance", "damping",     "limits", "motor",
                                      "friction",   "break_force", NULL};
  S2LuaWorld *lw = s2_lua_world(L, 1);
  lua_settop(L, 2);
  S2Keys keys = s2_keys_open(L, 2, false, names, NULL, 2);
  for (int i = 0; later[i] != NULL; i++) {
    s2_keys_later(&keys, later[i]);
  }
  S2HingeDef def = {.a = read_body(&keys, lw, 1, "a"), .b = read_body(&keys, lw, 2, "b")};
  if (def.a.index == 0 && def.b.index == 0) {
    return s2_lua_bad_argument(L, 2, "key 'a' is missing");
  }
  s2_keys_require(&keys, "anchor");
  s2_keys_vec2(&keys, "anchor", &def.anchor);
  s2_keys_name(&keys, "name", &def.name);
  s2_keys_boolean(&keys, "collide", &def.collide);
  S2LuaJoint *joint = new_joint(L, 1);
  S2JointId id;
  S2Status status = s2_hinge_create(lw->world, &def, &id);
  if (status.code == S2_INVALID) {
    return s2_lua_bad_argument(L, 2, "%s", status.message);
  }
  s2_lua_try(L, status);
  s2_lua_world_changed(lw);
  bind_joint(L, 1, joint, id);
  return 1;
}

const luaL_Reg s2_world_joint_methods[] = {{"hinge", world_hinge}, {NULL, NULL}};

void s2_lua_open_joint(lua_State *L) {
  static const luaL_Reg methods[] = {{"destroy", joint_destroy}, {NULL, NULL}};
  s2_lua_metatable(L, s2_type_joint);
  lua_newtable(L);
  for (int i = 0; i < FIELD_COUNT; i++) {
    lua_pushinteger(L, i);
    lua_setfield(L, -2, field_names[i]);
  }
  s2_lua_functions(L, methods, 0);
  lua_pushvalue(L, -1);
  lua_pushcclosure(L, joint_index, 1);
  lua_setfield(L, -3, "__index");
  lua_pushcclosure(L, joint_newindex, 1);
  lua_setfield(L, -2, "__newindex");
  lua_pushcfunction(L, joint_tostring);
  lua_setfield(L, -2, "__tostring");
  lua_pop(L, 1);
}
