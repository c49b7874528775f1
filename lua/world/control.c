// world:act and world:observation for plain numbers, and the C functions of lua/sim2d/control.lua.
// Tracked and invalid values are passed to the Lua functions of that module, which are upvalues.
#include "lua/diff/on_tape.h"

#include "dynamics/control/control.h"

#include <math.h>
#include <string.h>

enum { MOST_ACTUATORS = 64 }; // Maximum number of actuators for the fast path.

// (world, name, kind, object, dx, dy, lo, hi, delay, kp, kd, implicit, fixed, x, y, most): adds an
// actuator and returns its index, counted from 1
static int control_actuator(lua_State *L) {
  S2LuaWorld *lw = s2_lua_world(L, 1);
  const S2LuaBody *body = s2_lua_test(L, 4, s2_type_body);
  const S2LuaJoint *joint = s2_lua_test(L, 4, s2_type_joint);
  S2ActuatorDef def = s2_actuator_def();
  def.name = lua_tostring(L, 2);
  for (int i = 0; s2_actuator_kind_names[i] != NULL; i++) {
    if (strcmp(s2_actuator_kind_names[i], luaL_checkstring(L, 3)) == 0) {
      def.kind = (S2ActuatorKind)i;
    }
  }
  def.body = body != NULL ? body->id : (S2BodyId){0, 0};
  def.joint = joint != NULL ? joint->id : (S2JointId){0, 0};
  // Read the point and direction of the force, and the bounds.
  def.direction = s2_vec2(luaL_checknumber(L, 5), luaL_checknumber(L, 6));
  def.lo = luaL_checknumber(L, 7);
  def.hi = luaL_checknumber(L, 8);
  def.delay = luaL_checknumber(L, 9);
  def.kp = luaL_checknumber(L, 10);
  def.kd = luaL_checknumber(L, 11);
  def.implicit = lua_toboolean(L, 12) != 0;
  def.fixed = lua_toboolean(L, 13) != 0;
  def.at = s2_vec2(luaL_checknumber(L, 14), luaL_checknumber(L, 15));
  def.most = luaL_checknumber(L, 16);
  int index;
  s2_lua_try(L, s2_actuator_create(lw->world, &def, &index));
  lua_pushinteger(L, index + 1);
  return 1;
}

static int control_index(lua_State *L, const S2LuaWorld *lw);

// (world, index, kp, kd, most): sets the gains and the limit of an actuator
static int control_tune(lua_State *L) {
  const S2LuaWorld *lw = s2_lua_world(L, 1);
  s2_lua_try(L, s2_actuator_tune(lw->world, control_index(L, lw), luaL_checknumber(L, 3),
                                 luaL_checknumber(L, 4), luaL_checknumber(L, 5)));
  return 0;
}

static int control_index(lua_State *L, const S2LuaWorld *lw) {
  lua_Integer index = luaL_checkinteger(L, 2);
  luaL_argcheck(L, index >= 1 && index <= s2_world_actuator_count(lw->world), 2, "no actuator");
  return (int)index - 1;
}

static int control_count(lua_State *L) {
  lua_pushinteger(L, s2_world_actuator_count(s2_lua_world(L, 1)->world));
  return 1;
}

static int control_observed(lua_State *L) {
  lua_pushinteger(L, s2_world_observation_size(s2_lua_world(L, 1)->world));
  return 1;
}

static void control_set_origin(S2LuaWorld *lw, int index, S2ActuatorNumber number, S2Var var) {
  if (var != 0) {
    (void)s2_lua_put_on_tape(lw);
    s2_actuator_set_origin(lw->world, index, number, s2_tape_origin(lw->diff->tape, var));
  }
}

void s2_lua_command_origin(S2LuaWorld *lw, int actuator, S2Var var) {
  control_set_origin(lw, actuator, S2_ACTUATOR_COMMAND, var);
}

// The node of the number at `index`, or 0 if it is not tracked.
static S2Var control_var(lua_State *L, int index) {
  double value;
  S2Var var = 0;
  return s2_lua_tracked_get(L, index, &value, &var) ? var : 0;
}

// (world, index): returns the last command, which is tracked if it is on the tape
static int control_value(lua_State *L) {
  const S2LuaWorld *lw = s2_lua_world(L, 1);
  int index = control_index(L, lw);
  uint64_t origin = s2_actuator_origin(lw->world, index, S2_ACTUATOR_COMMAND);
  s2_lua_tracked_push(L, s2_actuator_value(lw->world, index),
                      s2_lua_recording(lw) ? s2_tape_var(lw->diff->tape, origin) : 0);
  return 1;
}

// (world, index, value, tracked value): sets the command
static int control_command(lua_State *L) {
  S2LuaWorld *lw = s2_lua_world(L, 1);
  int index = control_index(L, lw);
  s2_lua_try(L, s2_actuator_command(lw->world, index, luaL_checknumber(L, 3), NULL));
  s2_lua_command_origin(lw, index, control_var(L, 4));
  return 0;
}

// (world, index, number, value): notes that this number of the actuator was set to a tracked value
static int control_track(lua_State *L) {
  static const char *const names[] = {"command", "idle", "direction_x", "direction_y", "at_x",
                                      "at_y",    "kp",   "kd",          "most",        NULL};
  S2LuaWorld *lw = s2_lua_world(L, 1);
  int index = control_index(L, lw);
  int number = luaL_checkoption(L, 3, NULL, names);
  control_set_origin(lw, index, (S2ActuatorNumber)number, control_var(L, 4));
  return 0;
}

// ---- act --------------------------------------------------------------------------------------

static bool control_number(lua_State *L, double *value) {
  bool good = lua_type(L, -1) == LUA_TNUMBER;
  *value = good ? lua_tonumber(L, -1) : NAN;
  lua_pop(L, 1);
  return good && isfinite(*value);
}

// Reads a list with one number per actuator.
static bool control_read_list(lua_State *L, int count, double *u) {
  for (int i = 0; i < count; i++) {
    lua_rawgeti(L, 2, i + 1);
    if (!control_number(L, &u[i])) {
      return false;
    }
  }
  return true;
}

// Reads numbers by name. Other numbers are NAN, which means no change.
static bool control_read_names(lua_State *L, const S2World *world, int count, double *u) {
  S2ActuatorDef def;
  for (int i = 0; i < count; i++) {
    u[i] = NAN;
  }
  for (lua_pushnil(L); lua_next(L, 2) != 0;) {
    double value;
    if (!control_number(L, &value) || lua_type(L, -1) != LUA_TSTRING) {
      lua_pop(L, 1);
      return false;
    }
    const char *name = lua_tostring(L, -1);
    int found = -1;
    for (int i = 0; i < count && found < 0; i++) {
      (void)s2_actuator_info(world, i, &def);
      found = strcmp(def.name, name) == 0 ? i : -1;
    }
    if (found < 0) {
      lua_pop(L, 1);
      return false;
    }
    u[found] = value;
  }
  return true;
}

// The upvalue is the Lua function that handles tracked values and raises errors.
static int control_act(lua_State *L) {
  S2LuaWorld *lw = s2_lua_world(L, 1);
  int count = s2_world_actuator_count(lw->world);
  double u[MOST_ACTUATORS];
  lua_settop(L, 2);
  bool plain =
      lua_type(L, 2) == LUA_TTABLE && count > 0 && count <= MOST_ACTUATORS && !s2_lua_recording(lw);
  if (plain) {
    int given = (int)lua_rawlen(L, 2);
    plain = given == count ? control_read_list(L, count, u)
                           : given == 0 && control_read_names(L, lw->world, count, u);
  }
  // Pass everything else to Lua, which also reports errors.
  if (!plain) {
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, 2, 1);
    return 1;
  }
  int cuts = 0;
  for (int i = 0; i < count; i++) {
    bool cut = false;
    if (!isnan(u[i])) {
      s2_lua_try(L, s2_actuator_command(lw->world, i, u[i], &cut));
    }
    cuts += cut;
  }
  lua_pushinteger(L, cuts);
  return 1;
}

// (function): creates world:act with the function as fallback
static int control_make_act(lua_State *L) {
  lua_settop(L, 1);
  lua_pushcclosure(L, control_act, 1);
  return 1;
}

// ---- observation ------------------------------------------------------------------------------

// (world, object, list of fields, noise): adds the fields to the observation and returns the number
// of values, or 0 if C cannot observe the fields
static int control_observe(lua_State *L) {
  static const struct {
    const char *name;
    const char *fields[3];
  } groups[] = {
      {"position", {"x", "y"}},        {"velocity", {"vx", "vy"}},
      {"q", {"angle", "x", "y"}},      {"v", {"omega", "vx", "vy"}},
      {"angular_velocity", {"omega"}}, {"direction", {"cos_angle", "sin_angle"}}}; // also of joints
  S2LuaWorld *lw = s2_lua_world(L, 1);
  const S2LuaBody *body = s2_lua_test(L, 2, s2_type_body);
  const S2LuaJoint *joint = s2_lua_test(L, 2, s2_type_joint);
  const char *fields[S2_OBSERVED_FIELDS];
  S2ObservationDef def = {.name = "", .fields = fields, .noise = luaL_checknumber(L, 4)};
  def.body = body != NULL ? body->id : (S2BodyId){0, 0};
  def.joint = joint != NULL ? joint->id : (S2JointId){0, 0};
  // A vector of a body is replaced by its numbers.
  int given = (int)lua_rawlen(L, 3), count = 0;
  bool fits = true;
  for (int i = 0; i < given && fits; i++) {
    lua_rawgeti(L, 3, i + 1);
    const char *name = luaL_checkstring(L, -1); // the list keeps the string alive
    const char *const one[3] = {name, NULL, NULL}, *const *names = one;
    for (size_t k = 0; k < sizeof groups / sizeof *groups; k++) {
      bool has = body != NULL || strcmp(groups[k].name, "direction") == 0;
      names = has && strcmp(name, groups[k].name) == 0 ? groups[k].fields : names;
    }
    for (int k = 0; k < 3 && names[k] != NULL && fits; k++) {
      fits = count < S2_OBSERVED_FIELDS;
      if (fits) {
        fields[count++] = names[k];
      }
    }
    lua_pop(L, 1);
  }
  def.field_count = count;
  int index;
  fits = fits && s2_observation_create(lw->world, &def, &index).code == S2_OK;
  lua_pushinteger(L, fits ? count : 0);
  return 1;
}

bool s2_lua_observe(lua_State *L, S2LuaWorld *lw, double **numbers, S2Var **vars) {
  int size = s2_world_observation_size(lw->world);
  S2WorldTape *tape = s2_lua_on_tape(lw);
  if (lw->control_in_lua || size == 0) {
    return false;
  }
  s2_arena_reset(&lw->scratch);
  *numbers = S2_TAKE(&lw->scratch, double, size);
  *vars = S2_TAKE_ZEROED(&lw->scratch, S2Var, size);
  if (tape == NULL) {
    s2_lua_try(L, s2_world_observe(lw->world, *numbers));
    return true;
  }
  S2Status status = s2_world_tape_observe(tape, lw->world, *numbers, *vars);
  if (status.code != S2_UNAVAILABLE) {
    s2_lua_try(L, status);
  }
  return status.code == S2_OK;
}

// Upvalue 1 is the Lua function for all other cases. Upvalue 2 is a table of the worlds that C
// observes completely: world -> {plan = {name, count, name, count, ...}}.
static int control_observation(lua_State *L) {
  S2LuaWorld *lw = s2_lua_world(L, 1);
  lua_settop(L, 2);
  int size = s2_world_observation_size(lw->world), type = LUA_TNIL;
  double *numbers;
  S2Var *vars;
  bool plain = lua_isnil(L, 2) || (lua_type(L, 2) == LUA_TTABLE && !lua_getmetatable(L, 2));
  if (plain) {
    lua_pushvalue(L, 1);
    if (lua_rawget(L, lua_upvalueindex(2)) == LUA_TTABLE) {
      lua_pushliteral(L, "plan");
      type = lua_rawget(L, 3);
    }
  }
  if (type != LUA_TTABLE || !s2_lua_observe(L, lw, &numbers, &vars)) {
    lua_settop(L, 2);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, 2, 1);
    return 1;
  }
  int names = (int)lua_rawlen(L, 4) / 2, at = 0;
  bool again = lua_type(L, 2) == LUA_TTABLE;
  if (again) {
    lua_pushvalue(L, 2); // the table to fill
  } else {
    lua_createtable(L, size, names);
  }
  // Store the values as a list, and by name as a number or a list of numbers.
  for (int i = 0; i < names; i++) {
    lua_rawgeti(L, 4, 2 * i + 1);
    lua_rawgeti(L, 4, 2 * i + 2);
    int count = (int)lua_tointeger(L, -1);
    lua_pop(L, 1);
    if (count == 1) {
      s2_lua_tracked_push(L, numbers[at], vars[at]);
    } else {
      lua_pushvalue(L, -1);
      // Reuse the list from the last call, or create a new list.
      if (!again || lua_rawget(L, 5) != LUA_TTABLE) {
        lua_pop(L, 1);
        lua_createtable(L, count, 0);
      }
    }
    for (int k = 0; k < count; k++, at++) {
      s2_lua_tracked_push(L, numbers[at], vars[at]);
      if (count > 1) {
        lua_pushvalue(L, -1);
        lua_rawseti(L, 7, k + 1);
      }
      lua_rawseti(L, 5, at + 1);
    }
    lua_rawset(L, 5);
  }
  return 1;
}

// (function, systems): creates world:observation with the function as fallback
static int control_make_observation(lua_State *L) {
  lua_settop(L, 2);
  lua_pushcclosure(L, control_observation, 2);
  return 1;
}

// ---- On a tape --------------------------------------------------------------------------------

// (world): marks that some observations exist only in Lua
static int control_in_lua(lua_State *L) {
  s2_lua_world(L, 1)->control_in_lua = true;
  return 0;
}

// (world, seed)
static int control_noise(lua_State *L) {
  s2_world_set_noise_seed(s2_lua_world(L, 1)->world, (uint64_t)luaL_checkinteger(L, 2));
  return 0;
}

// (world): returns the seed of the noise, or 0 if no noise is declared
static int control_noise_seed(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)s2_world_noise_seed(s2_lua_world(L, 1)->world));
  return 1;
}

// (world, random): starts the noise of a new episode
static int control_renew_noise(lua_State *L) {
  S2LuaRandom *random = s2_lua_check(L, 2, s2_type_random);
  s2_world_renew_noise(s2_lua_world(L, 1)->world, &random->rng);
  return 0;
}

// (world, message): prints a warning, like an engine warning that has no handler
static int control_warn(lua_State *L) {
  s2_lua_warn(s2_lua_world(L, 1), luaL_checkstring(L, 2));
  return 0;
}

static int control_recording(lua_State *L) {
  lua_pushboolean(L, s2_lua_recording(s2_lua_world(L, 1)));
  return 1;
}

// (name): records that a tracked command of the named actuator was clipped
static int control_clipped(lua_State *L) {
  s2_quiet_clipped(&s2_lua_diff(L)->quiet, luaL_checkstring(L, 1));
  return 0;
}

const luaL_Reg s2_lua_control_functions[] = {{"actuator", control_actuator},
                                             {"actuator_tune", control_tune},
                                             {"actuator_count", control_count},
                                             {"observation_count", control_observed},
                                             {"actuator_value", control_value},
                                             {"actuator_track", control_track},
                                             {"actuator_command", control_command},
                                             {"actuator_clipped", control_clipped},
                                             {"act", control_make_act},
                                             {"control_in_lua", control_in_lua},
                                             {"observation_noise", control_noise},
                                             {"observation_noise_seed", control_noise_seed},
                                             {"warn", control_warn},
                                             {"renew_noise", control_renew_noise},
                                             {"observe", control_observe},
                                             {"observation", control_make_observation},
                                             {"recording_gradient", control_recording},
                                             {"speed_by_hand", s2_lua_speed_by_hand},
                                             {NULL, NULL}};
