// world:lcs{coordinates =, inputs =, margin =, impacts =}: a step as a linear complementarity
// system. lua/sim2d/control/control_lcs.lua turns the result into an object.
#include "lua/diff/array.h"
#include "lua/diff/linearize.h"
#include "lua/diff/on_tape.h"

#include "diff/linear/lcs.h"

#include "dynamics/control/control.h"

#include <string.h>

static const char *const names[] = {"coordinates", "inputs", "margin", "impacts", NULL};

// ---- Reading ----------------------------------------------------------------------------------

// If the caller names no inputs, takes all actuators.
static int lcs_take_actuators(lua_State *L, S2LuaWorld *lw, S2Input **inputs, double **held) {
  int count = s2_world_actuator_count(lw->world);
  *inputs = S2_TAKE_ZEROED(&lw->scratch, S2Input, count + 1);
  *held = S2_TAKE_ZEROED(&lw->scratch, double, count + 1);
  for (int i = 0; i < count; i++) {
    s2_lua_try(L, s2_actuator_input(lw->world, i, &(*inputs)[i]));
    (*held)[i] = s2_actuator_value(lw->world, i);
  }
  return count;
}

static S2LcsDef lcs_read(const S2Keys *keys, S2LuaWorld *lw) {
  S2Input *inputs = NULL;
  double *held = NULL;
  int count = s2_keys_has(keys, "inputs") ? s2_lua_linearize_inputs(keys, lw, &inputs, &held)
                                          : lcs_take_actuators(keys->L, lw, &inputs, &held);
  // Maximal coordinates would need the equations of joints in addition to the complementarity rows.
  if (s2_keys_push(keys, "coordinates") == LUA_TSTRING &&
      strcmp(lua_tostring(keys->L, -1), "maximal") == 0) {
    s2_keys_fail(keys, "coordinates",
                 "\"reduced\" or a list of joints and bodies expected: maximal coordinates "
                 "have joint equations in addition to the complementarity rows");
  }
  lua_pop(keys->L, 1);
  S2LuaCoordinates wanted = s2_lua_linearize_coordinates(keys, lw);
  S2LcsDef def = {.inputs = inputs,
                  .u0 = held,
                  .input_count = count,
                  .wanted = wanted.list,
                  .wanted_count = wanted.count};
  s2_keys_number(keys, "margin", S2_NON_NEGATIVE, &def.margin);
  bool impacts;
  if (s2_keys_boolean(keys, "impacts", &impacts)) {
    def.impacts = impacts ? S2_LCS_IMPACT : S2_LCS_NO_IMPACT;
  }
  return def;
}

// ---- Results ----------------------------------------------------------------------------------

static void lcs_set_vector(lua_State *L, const char *key, const double *numbers, int count) {
  S2LuaArray *array = s2_lua_array_push(L, s2_size_list(count));
  if (count > 0) {
    memcpy(array->data, numbers, sizeof(double) * (size_t)count);
  }
  lua_setfield(L, -2, key);
}

static void lcs_set_matrix(lua_State *L, const char *key, const double *numbers, int rows,
                           int columns) {
  s2_lua_linearize_push(L, numbers, rows, columns);
  lua_setfield(L, -2, key);
}

// Sets the row numbers: {normal =, ["tangent+"] =, ["tangent-"] =, slack =}, or {row =, slack =}
// for a joint.
static void lcs_set_rows(lua_State *L, const char *key, const S2LcsPart *part, int first) {
  static const char *const of_contact[] = {"normal", "tangent+", "tangent-", "slack"};
  static const char *const of_joint[] = {"row", "slack", "", ""};
  enum { MOST_ROWS = sizeof of_contact / sizeof *of_contact };
  lua_createtable(L, 0, part->rows);
  for (int i = 0; i < part->rows && i < MOST_ROWS; i++) {
    lua_pushinteger(L, first + i + 1);
    lua_setfield(L, -2, part->kind == S2_LCS_CONTACT ? of_contact[i] : of_joint[i]);
  }
  lua_setfield(L, -2, key);
}

static void lcs_push_part(lua_State *L, const S2LcsPart *part) {
  static const char *const kinds[] = {[S2_LCS_LIMIT_LO] = "limit_lo",
                                      [S2_LCS_LIMIT_HI] = "limit_hi",
                                      [S2_LCS_MOTOR] = "motor",
                                      [S2_LCS_FRICTION] = "friction"};
  lua_createtable(L, 0, 8);
  // Set the bodies of a contact, or the joint of a row.
  if (part->kind == S2_LCS_CONTACT) {
    s2_lua_push_body(L, 1, part->a);
    lua_setfield(L, -2, "a");
    s2_lua_push_body(L, 1, part->b);
    lua_setfield(L, -2, "b");
    s2_lua_push_vec2(L, part->point, NULL);
    lua_setfield(L, -2, "point");
    s2_lua_push_vec2(L, part->normal, NULL);
    lua_setfield(L, -2, "normal");
    lua_pushnumber(L, part->friction);
    lua_setfield(L, -2, "friction");
  } else {
    s2_lua_push_joint(L, 1, part->joint);
    lua_setfield(L, -2, "joint");
    lua_pushstring(L, kinds[part->kind]);
    lua_setfield(L, -2, "kind");
  }
  // Set the distance to the contact or the limit, and the indices of the rows.
  if (part->kind == S2_LCS_CONTACT || part->kind == S2_LCS_LIMIT_LO ||
      part->kind == S2_LCS_LIMIT_HI) {
    lua_pushnumber(L, part->gap);
    lua_setfield(L, -2, "gap");
  }
  lcs_set_rows(L, "rows", part, part->row);
  if (part->impact >= 0) {
    lcs_set_rows(L, "impact", part, part->impact);
  }
}

static void lcs_push(lua_State *L, const S2LuaWorld *lw, const S2Lcs *lcs, const double *u0) {
  int n = lcs->states, m = lcs->inputs, rows = lcs->rows;
  lua_createtable(L, 0, 20);
  lcs_set_matrix(L, "A", lcs->a, n, n);
  lcs_set_matrix(L, "B", lcs->b, n, m);
  lcs_set_matrix(L, "D", lcs->dl, n, rows);
  lcs_set_vector(L, "d", lcs->d, n);
  lcs_set_matrix(L, "E", lcs->e, rows, n);
  lcs_set_matrix(L, "F", lcs->f, rows, rows);
  lcs_set_matrix(L, "H", lcs->h, rows, m);
  lcs_set_vector(L, "c", lcs->c, rows);
  lcs_set_vector(L, "x0", lcs->x0, n);
  lcs_set_vector(L, "u0", u0, m);
  lcs_set_vector(L, "lambda0", lcs->lambda, rows);
  lcs_set_vector(L, "defect", lcs->defect, n);
  lcs_set_vector(L, "difference", lcs->difference, n);
  lua_pushinteger(L, lcs->first);
  lua_setfield(L, -2, "motion_rows");
  s2_lua_push_coordinates(L, lw, lcs->coordinate, lcs->coordinates);
  lua_setfield(L, -2, "coordinates");
  // Push the contacts and the rows of joints.
  lua_newtable(L);
  lua_newtable(L);
  for (int i = 0, contacts = 0; i < lcs->parts; i++) {
    bool contact = lcs->part[i].kind == S2_LCS_CONTACT;
    lcs_push_part(L, &lcs->part[i]);
    contacts += contact;
    lua_rawseti(L, contact ? -3 : -2, contact ? contacts : i + 1 - contacts);
  }
  lua_setfield(L, -3, "joints");
  lua_setfield(L, -2, "contacts");
}

// ---- Methods ----------------------------------------------------------------------------------

typedef struct Call {
  S2LcsDef def;
  S2Lcs lcs;
  S2Arena arena;
} Call;

static int lcs_free_call(lua_State *L) {
  Call *call = lua_touserdata(L, 1);
  s2_arena_free(&call->arena);
  return 0;
}

// Lua owns the memory of a call and frees it, even if pushing the results raises an error.
static Call *lcs_new_call(lua_State *L) {
  Call *call = lua_newuserdatauv(L, sizeof *call, 0);
  memset(call, 0, sizeof *call);
  s2_arena_init(&call->arena);
  if (luaL_newmetatable(L, "sim2d.LcsCall")) {
    lua_pushcfunction(L, lcs_free_call);
    lua_setfield(L, -2, "__gc");
  }
  lua_setmetatable(L, -2);
  return call;
}

// Steps a clone of the world. Callbacks see the clone in place of the world, because handles are
// equal.
static S2Status lcs_of_clone(S2LuaWorld *lw, Call *call) {
  S2World *world = lw->world, *clone;
  S2Callbacks callbacks;
  S2_TRY(s2_world_clone(world, &clone));
  s2_lua_engine_callbacks(lw, &callbacks);
  s2_world_set_callbacks(clone, &callbacks);
  lw->world = clone;
  S2Status status = s2_world_lcs(clone, &call->def, &call->arena, &call->lcs);
  lw->world = world;
  s2_world_destroy(clone);
  return status;
}

int s2_lua_lcs(lua_State *L) {
  S2LuaWorld *lw = s2_lua_world(L, 1);
  lua_settop(L, 2);
  S2Keys keys = s2_keys_open(L, 2, true, names, NULL, 0);
  s2_arena_reset(&lw->scratch);
  // Read all arguments before the computation, because reading may raise errors.
  S2LcsDef def = lcs_read(&keys, lw);
  s2_lua_not_on_tape(L, lw, "world:lcs()");
  // Callbacks may use the scratch memory, so the call needs its own memory.
  Call *call = lcs_new_call(L);
  call->def = def;
  S2Input *inputs = S2_TAKE(&call->arena, S2Input, def.input_count + 1);
  double *u0 = S2_TAKE(&call->arena, double, def.input_count + 1);
  for (int i = 0; i < def.input_count; i++) {
    inputs[i] = def.inputs[i];
    u0[i] = def.u0[i];
  }
  call->def.inputs = inputs;
  call->def.u0 = u0;
  if (def.wanted != NULL) {
    S2Coordinate *wanted = S2_TAKE(&call->arena, S2Coordinate, def.wanted_count + 1);
    memcpy(wanted, def.wanted, sizeof *wanted * (size_t)def.wanted_count);
    call->def.wanted = wanted;
  }
  s2_lua_step_open(L, lw, "world:lcs()");
  // Restore the random generator afterwards, because callbacks may draw from it.
  lw->random_before = lw->session->random->rng;
  lw->phase = S2_INSIDE;
  S2Status status = lcs_of_clone(lw, call);
  lw->phase = S2_BETWEEN;
  lw->session->random->rng = lw->random_before;
  if (status.code != S2_OK) {
    s2_lua_step_failed(L, lw, status);
  }
  lcs_push(L, lw, &call->lcs, u0);
  return 1;
}

// (world, coordinates as from s2_lua_push_coordinates): pushes the values and speeds of the
// coordinates. The coordinates may belong to the world or to the world it was cloned from.
int s2_lua_lcs_read(lua_State *L) {
  S2LuaWorld *lw = s2_lua_world(L, 1);
  luaL_checktype(L, 2, LUA_TTABLE);
  int count = (int)lua_rawlen(L, 2);
  s2_lua_not_on_tape(L, lw, "lcs:read()");
  Call *call = lcs_new_call(L);
  S2Coordinate *list = S2_TAKE_ZEROED(&call->arena, S2Coordinate, count + 1);
  double *x = S2_TAKE_ZEROED(&call->arena, double, 2 * count + 1);
  for (int i = 0; i < count; i++) {
    S2JointInfo info = {0};
    lua_rawgeti(L, 2, i + 1);
    lua_getfield(L, -1, "field");
    const char *field = luaL_checkstring(L, -1);
    lua_getfield(L, -2, "joint");
    lua_getfield(L, -3, "body");
    const S2LuaJoint *joint = s2_lua_test(L, -2, s2_type_joint);
    const S2LuaBody *body = s2_lua_test(L, -1, s2_type_body);
    // The field name determines the coordinate.
    if (joint != NULL) {
      list[i].joint = joint->id;
      s2_lua_try(L, s2_joint_info(lw->world, joint->id, &info));
      list[i].part = info.type == S2_WHEEL && strcmp(field, "angle") == 0;
    } else if (body != NULL) {
      list[i].body = body->id;
      if (!s2_body_alive(lw->world, body->id)) {
        s2_lua_fail(L, "coordinates[%d]: the body is destroyed", i + 1);
      }
      list[i].part = strcmp(field, "x") == 0 ? 1 : strcmp(field, "y") == 0 ? 2 : 0;
    } else {
      s2_lua_fail(L, "coordinates[%d]: a joint or a body expected", i + 1);
    }
    lua_pop(L, 4);
  }
  s2_lua_try(L, s2_coordinates_read(lw->world, list, count, &call->arena, x));
  S2LuaArray *array = s2_lua_array_push(L, s2_size_list(2 * count));
  if (count > 0) {
    memcpy(array->data, x, sizeof(double) * 2 * (size_t)count);
  }
  return 1;
}
