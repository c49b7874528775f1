// For lua/sim2d/control.lua: actuators and observations that steps without Lua know, too.
#include "lua/world/control.h"

#include "dynamics/control/control.h"

#include <string.h>

enum { MOST_FIELDS = S2_OBSERVED_FIELDS };

// What it is of: a Body or Joint at `index`.
static void read_object(lua_State *L, int index, S2BodyId *body, S2JointId *joint) {
  const S2LuaBody *b = s2_lua_test(L, index, s2_type_body);
  const S2LuaJoint *j = s2_lua_test(L, index, s2_type_joint);
  *body = b != NULL ? b->id : (S2BodyId){0, 0};
  *joint = j != NULL ? j->id : (S2JointId){0, 0};
}

// (world, name, kind, object, lo, hi, delay, kp, kd, x, y): true, or nil and a message.
static int control_actuator(lua_State *L) {
  static const char *const kinds[] = {"force", "torque", "speed", "position", NULL};
  S2LuaWorld *lw = s2_lua_world(L, 1);
  S2ActuatorDef def = s2_actuator_def();
  def.name = luaL_checkstring(L, 2);
  def.kind = (S2ActuatorKind)luaL_checkoption(L, 3, NULL, kinds);
  read_object(L, 4, &def.body, &def.joint);
  def.lo = luaL_checknumber(L, 5);
  def.hi = luaL_checknumber(L, 6);
  def.delay = luaL_checknumber(L, 7);
  def.kp = luaL_checknumber(L, 8);
  def.kd = luaL_checknumber(L, 9);
  def.direction = s2_vec2(luaL_optnumber(L, 10, 0), luaL_optnumber(L, 11, 0));
  int index;
  S2Status status = s2_actuator_create(lw->world, &def, &index);
  lua_pushboolean(L, status.code == S2_OK);
  lua_pushstring(L, status.message);
  return 2;
}

// (world, index from 1, value)
static int control_command(lua_State *L) {
  S2LuaWorld *lw = s2_lua_world(L, 1);
  s2_lua_try(L, s2_actuator_command(lw->world, (int)luaL_checkinteger(L, 2) - 1,
                                    luaL_checknumber(L, 3), NULL));
  return 0;
}

// (world, name, object, list of fields, noise): true, or nil and a message.
static int control_observation(lua_State *L) {
  S2LuaWorld *lw = s2_lua_world(L, 1);
  const char *fields[MOST_FIELDS];
  S2ObservationDef def = {.name = luaL_checkstring(L, 2), .fields = fields};
  read_object(L, 3, &def.body, &def.joint);
  int count = (int)lua_rawlen(L, 4);
  def.noise = luaL_checknumber(L, 5);
  for (int i = 0; i < count && i < MOST_FIELDS; i++) {
    lua_rawgeti(L, 4, i + 1);
    fields[i] = luaL_checkstring(L, -1); // the list keeps it
    lua_pop(L, 1);
  }
  def.field_count = count;
  int index;
  S2Status status = s2_observation_create(lw->world, &def, &index);
  lua_pushboolean(L, status.code == S2_OK);
  lua_pushstring(L, status.message);
  return 2;
}

static int control_noise(lua_State *L) {
  s2_world_set_noise_seed(s2_lua_world(L, 1)->world, (uint64_t)luaL_checkinteger(L, 2));
  return 0;
}

// Its actuators' function is among those before steps.
static int control_hooked(lua_State *L) {
  s2_lua_world(L, 1)->control_hooks = 1;
  return 0;
}

// Something of its actuators or observations is known in Lua alone.
static int control_in_lua(lua_State *L) {
  s2_lua_world(L, 1)->control_in_lua = true;
  return 0;
}

void s2_lua_control_push(lua_State *L) {
  static const luaL_Reg functions[] = {{"actuator", control_actuator},
                                       {"command", control_command},
                                       {"observation", control_observation},
                                       {"noise", control_noise},
                                       {"hooked", control_hooked},
                                       {"in_lua", control_in_lua},
                                       {NULL, NULL}};
  luaL_newlib(L, functions);
}
