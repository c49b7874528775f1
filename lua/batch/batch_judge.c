// Readings of worlds and judges for scripts.
#include "lua/batch/batch.h"

#include "base/memory.h"

#include <string.h>

static const char JUDGE[] = "sim2d.judge", DRAWS[] = "sim2d.draws";

typedef struct JudgeObject {
  S2Judge *judge;
} JudgeObject;

// ---- Fields -----------------------------------------------------------------------------------

// Readings that are missing from the engine's tables: angular_velocity, and vectors with their
// components.
static const struct {
  const char *name;
  int count;
  S2BodyField field[3];
} more_fields[] = {
    {"angular_velocity", 1, {S2_BODY_OMEGA}},
    {"position", 2, {S2_BODY_X, S2_BODY_Y}},
    {"velocity", 2, {S2_BODY_VX, S2_BODY_VY}},
    {"q", 3, {S2_BODY_ANGLE, S2_BODY_X, S2_BODY_Y}},
    {"v", 3, {S2_BODY_OMEGA, S2_BODY_VX, S2_BODY_VY}},
};
enum { MORE_FIELDS = sizeof more_fields / sizeof *more_fields };

// Pushes the numbers of the field and their names.
static int push_body_fields(lua_State *L, int count, const S2BodyField *field) {
  lua_createtable(L, count, 0);
  lua_createtable(L, count, 0);
  for (int i = 0; i < count; i++) {
    lua_pushinteger(L, (lua_Integer)field[i]);
    lua_rawseti(L, -3, i + 1);
    lua_pushstring(L, s2_body_field(field[i])->name);
    lua_rawseti(L, -2, i + 1);
  }
  return 2;
}

static int body_fields(lua_State *L, const char *name) {
  for (int i = 0; i < MORE_FIELDS; i++) {
    if (strcmp(name, more_fields[i].name) == 0) {
      return push_body_fields(L, more_fields[i].count, more_fields[i].field);
    }
  }
  for (int i = 0; i < S2_BODY_FIELD_COUNT; i++) {
    S2BodyField field = (S2BodyField)i;
    if (strcmp(name, s2_body_field(field)->name) == 0) {
      return push_body_fields(L, 1, &field);
    }
  }
  // The name is unknown: push the known names.
  lua_pushnil(L);
  lua_newtable(L);
  for (int i = 0; i < MORE_FIELDS + S2_BODY_FIELD_COUNT; i++) {
    lua_pushstring(L, i < MORE_FIELDS ? more_fields[i].name
                                      : s2_body_field((S2BodyField)(i - MORE_FIELDS))->name);
    lua_rawseti(L, -2, i + 1);
  }
  return 2;
}

static int joint_fields(lua_State *L, const S2LuaJoint *joint, const char *name) {
  S2JointInfo info;
  s2_lua_try(L, s2_joint_info(joint->lw->world, joint->id, &info));
  for (int i = 0; i < S2_JOINT_FIELD_COUNT; i++) {
    S2JointField field = (S2JointField)i;
    if (s2_joint_type_has(info.type, field) && strcmp(name, s2_joint_field_name(field)) == 0) {
      lua_createtable(L, 1, 0);
      lua_pushinteger(L, i);
      lua_rawseti(L, -2, 1);
      lua_createtable(L, 1, 0);
      lua_pushstring(L, name);
      lua_rawseti(L, -2, 1);
      return 2;
    }
  }
  lua_pushnil(L);
  lua_newtable(L);
  for (int i = 0, n = 0; i < S2_JOINT_FIELD_COUNT; i++) {
    if (s2_joint_type_has(info.type, (S2JointField)i)) {
      lua_pushstring(L, s2_joint_field_name((S2JointField)i));
      lua_rawseti(L, -2, ++n);
    }
  }
  return 2;
}

static int batch_fields(lua_State *L) {
  const S2LuaJoint *joint = s2_lua_test(L, 1, s2_type_joint);
  const char *name = luaL_checkstring(L, 2);
  if (joint != NULL) {
    return joint_fields(L, joint, name);
  }
  s2_lua_body(L, 1);
  return body_fields(L, name);
}

void s2_lua_readings(lua_State *L, int index, int count, S2Reading *readings) {
  index = lua_absindex(L, index);
  for (int i = 0; i < count; i++) {
    lua_rawgeti(L, index, 2 * i + 1);
    lua_rawgeti(L, index, 2 * i + 2);
    const S2LuaBody *body = s2_lua_test(L, -2, s2_type_body);
    const S2LuaJoint *joint = s2_lua_test(L, -2, s2_type_joint);
    readings[i] = (S2Reading){.kind = body != NULL    ? S2_READ_BODY
                                      : joint != NULL ? S2_READ_JOINT
                                                      : S2_READ_CONTROL,
                              .field = (int)luaL_checkinteger(L, -1)};
    if (body != NULL) {
      readings[i].body = body->id;
      readings[i].kind = readings[i].field < 0 ? S2_READ_TOUCHES : S2_READ_BODY;
      readings[i].field = readings[i].field < 0 ? 0 : readings[i].field;
    } else if (joint != NULL) {
      readings[i].joint = joint->id;
    }
    lua_pop(L, 2);
  }
}

static double judge_number(lua_State *L, int table, const char *key) {
  lua_getfield(L, table, key);
  double value = luaL_checknumber(L, -1);
  lua_pop(L, 1);
  return value;
}

// ---- Draws ------------------------------------------------------------------------------------

void s2_lua_read_draw(lua_State *L, int index, S2Draw *draw) {
  int at = lua_gettop(L);
  lua_getfield(L, index, "reading");
  s2_lua_readings(L, -1, 1, &draw->of);
  lua_getfield(L, index, "kind");
  draw->kind = (S2DrawKind)luaL_checkinteger(L, -1);
  lua_getfield(L, index, "relative");
  draw->relative = lua_toboolean(L, -1) != 0;
  lua_getfield(L, index, "again");
  draw->again = lua_toboolean(L, -1) != 0;
  draw->a = judge_number(L, index, "a");
  draw->b = judge_number(L, index, "b");
  draw->add = judge_number(L, index, "add");
  lua_settop(L, at);
}

// (list of tables, see s2_lua_read_draw): creates an object with these draws
static int batch_draws(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  int count = (int)lua_rawlen(L, 1);
  S2LuaDraws *draws = lua_newuserdatauv(L, sizeof *draws + sizeof(S2Draw) * (size_t)(count + 1), 0);
  draws->count = count;
  luaL_newmetatable(L, DRAWS);
  lua_setmetatable(L, -2);
  for (int i = 0; i < count; i++) {
    lua_rawgeti(L, 1, i + 1);
    s2_lua_read_draw(L, lua_gettop(L), &draws->draw[i]);
    lua_pop(L, 1);
  }
  return 1;
}

const S2LuaDraws *s2_lua_draws(lua_State *L, int index) {
  return lua_isnoneornil(L, index) ? NULL : luaL_checkudata(L, index, DRAWS);
}

// ---- Judges -----------------------------------------------------------------------------------

static int judge_collect(lua_State *L) {
  JudgeObject *object = lua_touserdata(L, 1);
  s2_judge_free(object->judge);
  object->judge = NULL;
  return 0;
}

S2Judge *s2_lua_judge(lua_State *L, int index) {
  if (lua_isnoneornil(L, index)) {
    return NULL;
  }
  return ((const JudgeObject *)luaL_checkudata(L, index, JUDGE))->judge;
}

// Reads the readings of a term, bound or factor. With the key `at` they are those of a point.
static void judge_read_readings(lua_State *L, int table, int count, S2Reading *readings) {
  lua_getfield(L, table, "reading");
  s2_lua_readings(L, -1, count, readings);
  lua_pop(L, 1);
  if (lua_getfield(L, table, "at") == LUA_TTABLE) {
    S2Vec2 at;
    lua_rawgeti(L, -1, 1);
    lua_rawgeti(L, -2, 2);
    at = s2_vec2(luaL_checknumber(L, -2), luaL_checknumber(L, -1));
    lua_pop(L, 2);
    for (int i = 0; i < count; i++) {
      readings[i].kind = S2_READ_POINT;
      readings[i].at = at;
    }
  }
  lua_pop(L, 1);
}

static void judge_read_term(lua_State *L, int table, S2CostTerm *term) {
  *term = (S2CostTerm){.weight = judge_number(L, table, "weight"),
                       .terminal = judge_number(L, table, "terminal"),
                       .norm = (S2Norm)judge_number(L, table, "norm"),
                       .p = judge_number(L, table, "p")};
  lua_getfield(L, table, "wrap");
  term->wrap = lua_toboolean(L, -1) != 0;
  lua_pop(L, 1);
  // Read the goals of the reading. If there are too many, s2_judge_create reports an error.
  lua_getfield(L, table, "scales");
  for (int i = 0; i < S2_TERM_MOST && i < (int)lua_rawlen(L, -1); i++) {
    lua_rawgeti(L, -1, i + 1);
    term->scale[i] = luaL_checknumber(L, -1);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  lua_getfield(L, table, "goals");
  term->count = (int)lua_rawlen(L, -1);
  int count = term->count < S2_TERM_MOST ? term->count : S2_TERM_MOST;
  for (int i = 0; i < count; i++) {
    lua_rawgeti(L, -1, i + 1);
    term->goal[i] = luaL_checknumber(L, -1);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  judge_read_readings(L, table, count, term->of);
}

static void judge_read_bound(lua_State *L, int table, S2Bound *bound) {
  *bound = (S2Bound){.lo = judge_number(L, table, "lo"), .hi = judge_number(L, table, "hi")};
  judge_read_readings(L, table, 1, &bound->of);
}

static void judge_read_factor(lua_State *L, int table, S2Factor *factor) {
  *factor = (S2Factor){.lo = judge_number(L, table, "lo"),
                       .hi = judge_number(L, table, "hi"),
                       .margin = judge_number(L, table, "margin"),
                       .shape = (S2FactorShape)judge_number(L, table, "shape"),
                       .value = judge_number(L, table, "value")};
  judge_read_readings(L, table, 1, &factor->of);
}

// Adds the list of factors at `index` to a judge.
static S2Status judge_multiply(lua_State *L, int index, const S2World *world, int controls,
                               S2Judge *judge) {
  int count = (int)lua_rawlen(L, index);
  S2Factor *factor = lua_newuserdatauv(L, sizeof *factor * (size_t)(count + 1), 0);
  for (int i = 0; i < count; i++) {
    lua_rawgeti(L, index, i + 1);
    judge_read_factor(L, lua_gettop(L), &factor[i]);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return s2_judge_multiply(judge, world, controls, count, factor);
}

static int batch_judge(lua_State *L) {
  const S2LuaWorld *lw = s2_lua_world(L, 1);
  int controls = (int)luaL_checkinteger(L, 2);
  luaL_checktype(L, 3, LUA_TTABLE);
  luaL_checktype(L, 4, LUA_TTABLE);
  luaL_checktype(L, 5, LUA_TTABLE);
  int terms = (int)lua_rawlen(L, 3), bounds = (int)lua_rawlen(L, 4);
  // Lua owns the memory, so that an error does not leak it.
  S2CostTerm *term = lua_newuserdatauv(L, sizeof *term * (size_t)(terms + 1), 0);
  S2Bound *bound = lua_newuserdatauv(L, sizeof *bound * (size_t)(bounds + 1), 0);
  for (int i = 0; i < terms; i++) {
    lua_rawgeti(L, 3, i + 1);
    judge_read_term(L, lua_gettop(L), &term[i]);
    lua_pop(L, 1);
  }
  for (int i = 0; i < bounds; i++) {
    lua_rawgeti(L, 4, i + 1);
    judge_read_bound(L, lua_gettop(L), &bound[i]);
    lua_pop(L, 1);
  }
  JudgeObject *object = lua_newuserdatauv(L, sizeof *object, 0);
  object->judge = NULL;
  if (luaL_newmetatable(L, JUDGE)) {
    lua_pushcfunction(L, judge_collect);
    lua_setfield(L, -2, "__gc");
  }
  lua_setmetatable(L, -2);
  S2Status status =
      s2_judge_create(lw->world, controls, terms, term, bounds, bound, &object->judge);
  if (status.code == S2_OK) {
    status = judge_multiply(L, 5, lw->world, controls, object->judge);
  }
  if (status.code != S2_OK) {
    lua_pushnil(L);
    lua_pushstring(L, status.message);
    return 2;
  }
  return 1;
}

// Takes the name of a norm. Returns its number and default p, or nil and all names.
static int batch_norm(lua_State *L) {
  const char *name = luaL_checkstring(L, 1);
  for (int i = 0; s2_norm_names[i] != NULL; i++) {
    if (strcmp(name, s2_norm_names[i]) == 0) {
      lua_pushinteger(L, i);
      lua_pushnumber(L, s2_norm_default((S2Norm)i));
      return 2;
    }
  }
  lua_pushnil(L);
  lua_newtable(L);
  for (int i = 0; s2_norm_names[i] != NULL; i++) {
    lua_pushstring(L, s2_norm_names[i]);
    lua_rawseti(L, -2, i + 1);
  }
  return 2;
}

typedef S2Status Judging(const S2Judge *judge, const S2World *world, const double *controls,
                         double *cost);

// Arguments: judge, world, list of controls.
static int judge_with(lua_State *L, Judging *judging) {
  const S2Judge *judge = s2_lua_judge(L, 1);
  const S2LuaWorld *lw = s2_lua_world(L, 2);
  int count = (int)lua_rawlen(L, 3);
  double *controls = lua_newuserdatauv(L, sizeof *controls * (size_t)(count + 1), 0);
  for (int i = 0; i < count; i++) {
    lua_rawgeti(L, 3, i + 1);
    controls[i] = luaL_checknumber(L, -1);
    lua_pop(L, 1);
  }
  double cost;
  s2_lua_try(L, judging(judge, lw->world, controls, &cost));
  lua_pushnumber(L, cost);
  return 1;
}

// Takes the name of a shape (sim.env.tolerance). Returns its number, or nil and all names.
static int batch_shape(lua_State *L) {
  const char *name = luaL_checkstring(L, 1);
  for (int i = 0; s2_shape_names[i] != NULL; i++) {
    if (strcmp(name, s2_shape_names[i]) == 0) {
      lua_pushinteger(L, i);
      return 1;
    }
  }
  lua_pushnil(L);
  lua_newtable(L);
  for (int i = 0; s2_shape_names[i] != NULL; i++) {
    lua_pushstring(L, s2_shape_names[i]);
    lua_rawseti(L, -2, i + 1);
  }
  return 2;
}

static int batch_running(lua_State *L) {
  return judge_with(L, s2_judge_running);
}

static int batch_terminal(lua_State *L) {
  return judge_with(L, s2_judge_terminal);
}

void s2_lua_judge_functions(lua_State *L) {
  static const luaL_Reg functions[] = {{"fields", batch_fields},     {"judge", batch_judge},
                                       {"draws", batch_draws},       {"norm", batch_norm},
                                       {"shape", batch_shape},       {"running", batch_running},
                                       {"terminal", batch_terminal}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
