// The C part of sim.control.trajectory { method = "contact" }: formulas and the solver. Only
// lua/sim2d/control/control_contact.lua calls these functions, after it has checked the arguments
// of the script.
#include "lua/plan/plan.h"

#include "lua/base/errors.h"
#include "lua/diff/array.h"
#include "lua/diff/formula/formula.h"

#include "plan/mpcc.h"

#define MPCC "sim2d.Mpcc"

typedef struct Mpcc {
  S2Mpcc *mpcc;
  int stages, width;
} Mpcc;

// ---- Formulas ---------------------------------------------------------------------------------

// formulas(): returns a graph.
static int mpcc_formulas(lua_State *L) {
  s2_lua_formula_graph_push(L);
  return 1;
}

// formula_variable(graph, k): returns unknown k, counted from 1.
static int mpcc_variable(lua_State *L) {
  S2FormulaGraph *graph = s2_lua_formula_graph(L, 1);
  s2_lua_formula_push(L, 1, s2_formula_variable(graph, 0, (int)luaL_checkinteger(L, 2) - 1));
  return 1;
}

// formula_of(graph, value): returns the value as a formula, or nil if it is none.
static int mpcc_formula_of(lua_State *L) {
  S2FormulaGraph *graph = s2_lua_formula_graph(L, 1);
  S2Formula f;
  if (!s2_lua_formula_get(L, 2, graph, &f)) {
    return 0;
  }
  s2_lua_formula_push(L, 1, f);
  return 1;
}

// ---- Construction -----------------------------------------------------------------------------

typedef struct Reader {
  lua_State *L;
  S2FormulaGraph *graph;
  S2Formula *formula; // space for all formulas
  int count;
} Reader;

static S2Formula reader_formula(Reader *reader, int list, int i) {
  S2Formula f = 0;
  lua_rawgeti(reader->L, list, i);
  if (!s2_lua_formula_get(reader->L, -1, reader->graph, &f)) {
    s2_lua_fail(reader->L, "a formula expected");
  }
  lua_pop(reader->L, 1);
  return f;
}

// Reads the list of formulas in a field of the table at the top of the stack.
static int reader_list(Reader *reader, const char *field, const S2Formula **list) {
  lua_State *L = reader->L;
  lua_getfield(L, -1, field);
  int count = (int)lua_rawlen(L, -1), at = lua_gettop(L);
  *list = reader->formula + reader->count;
  for (int i = 0; i < count; i++) {
    reader->formula[reader->count++] = reader_formula(reader, at, i + 1);
  }
  lua_pop(L, 1);
  return count;
}

static int reader_stage_size(lua_State *L) {
  static const char *const fields[] = {"cost", "equal", "positive", "products"};
  int size = 0;
  for (int i = 0; i < 4; i++) {
    lua_getfield(L, -1, fields[i]);
    size += (int)lua_rawlen(L, -1);
    lua_pop(L, 1);
  }
  return size;
}

// A stage is { cost = { f }, equal = { ... }, positive = { ... }, products = { a, b, a, b, ... } }.
static S2MpccStage reader_stage(Reader *reader) {
  S2MpccStage stage = {0};
  const S2Formula *cost;
  reader_list(reader, "cost", &cost);
  stage.cost = cost[0];
  stage.equals = reader_list(reader, "equal", &stage.equal);
  stage.positives = reader_list(reader, "positive", &stage.positive);
  stage.products = reader_list(reader, "products", &stage.product) / 2;
  return stage;
}

// mpcc(graph, first, running, last, { width, stages, curvature, tolerance, violation }): creates a
// solver.
static int mpcc_new(lua_State *L) {
  Reader reader = {L, s2_lua_formula_graph(L, 1), NULL, 0};
  S2MpccDef def = {.graph = reader.graph};
  int size = 0;
  for (int i = 2; i <= 4; i++) {
    lua_pushvalue(L, i);
    size += reader_stage_size(L);
    lua_pop(L, 1);
  }
  // Lua owns the space, so that an error frees it.
  reader.formula = lua_newuserdatauv(L, sizeof(S2Formula) * (size_t)(size + 1), 0);
  S2MpccStage *stage[] = {&def.first, &def.running, &def.last};
  for (int i = 0; i < 3; i++) {
    lua_pushvalue(L, i + 2);
    *stage[i] = reader_stage(&reader);
    lua_pop(L, 1);
  }
  lua_rawgeti(L, 5, 1);
  lua_rawgeti(L, 5, 2);
  lua_rawgeti(L, 5, 3);
  lua_rawgeti(L, 5, 4);
  lua_rawgeti(L, 5, 5);
  def.width = (int)lua_tointeger(L, -5);
  def.stages = (int)lua_tointeger(L, -4);
  def.curvature = lua_toboolean(L, -3);
  def.tolerance = lua_tonumber(L, -2);
  def.violation = lua_tonumber(L, -1);
  Mpcc *mpcc = lua_newuserdatauv(L, sizeof *mpcc, 0);
  *mpcc = (Mpcc){NULL, def.stages, def.width};
  luaL_setmetatable(L, MPCC);
  s2_lua_try(L, s2_mpcc_new(&def, &mpcc->mpcc));
  return 1;
}

static int mpcc_gc(lua_State *L) {
  Mpcc *mpcc = luaL_checkudata(L, 1, MPCC);
  s2_mpcc_free(mpcc->mpcc);
  mpcc->mpcc = NULL;
  return 0;
}

// ---- Solution ---------------------------------------------------------------------------------

static int mpcc_push_result(lua_State *L, const S2MpccResult *result) {
  static const char *const states[] = {"going", "converged", "stuck"};
  static const char *const kinds[] = {"equal", "positive", "products"};
  lua_createtable(L, 0, 12);
  // numbers by name
  const struct {
    const char *name;
    double value;
  } numbers[] = {{"cost", result->cost},
                 {"equal", result->equal},
                 {"positive", result->positive},
                 {"product", result->product},
                 {"mu", result->mu},
                 {"change", result->change},
                 {"expected", result->expected},
                 {"regularisation", result->regularisation}};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    lua_pushnumber(L, numbers[i].value);
    lua_setfield(L, -2, numbers[i].name);
  }
  const struct {
    const char *name;
    int value;
  } integers[] = // counted from 1, like lists
      {{"iterations", result->iterations},
       {"worst_stage", result->worst_stage + 1},
       {"worst_row", result->worst_row + 1}};
  for (size_t i = 0; i < sizeof integers / sizeof *integers; i++) {
    lua_pushinteger(L, integers[i].value);
    lua_setfield(L, -2, integers[i].name);
  }
  lua_pushstring(L, states[result->state]);
  lua_setfield(L, -2, "state");
  lua_pushstring(L, kinds[result->worst]);
  lua_setfield(L, -2, "worst");
  return 1;
}

// mpcc:start(x, smoothing): x is an array, stages x width.
static int mpcc_start(lua_State *L) {
  Mpcc *mpcc = luaL_checkudata(L, 1, MPCC);
  const S2LuaArray *x = s2_lua_array_check(L, 2);
  S2MpccResult result;
  s2_lua_try(L, s2_mpcc_start(mpcc->mpcc, x->data, luaL_checknumber(L, 3), &result));
  return mpcc_push_result(L, &result);
}

// mpcc:iterate(count): performs iterations until the search ends.
static int mpcc_iterate(lua_State *L) {
  Mpcc *mpcc = luaL_checkudata(L, 1, MPCC);
  S2MpccResult result;
  int count = (int)luaL_checkinteger(L, 2);
  do {
    s2_lua_try(L, s2_mpcc_iterate(mpcc->mpcc, &result));
    count--;
  } while (result.state == S2_MPCC_GOING && count > 0);
  return mpcc_push_result(L, &result);
}

static int mpcc_point(lua_State *L) {
  const Mpcc *mpcc = luaL_checkudata(L, 1, MPCC);
  const double *x = s2_mpcc_point(mpcc->mpcc);
  S2LuaArray *array = s2_lua_array_push(L, (S2Size){2, mpcc->stages, mpcc->width});
  for (int k = 0; k < mpcc->stages * mpcc->width; k++) {
    array->data[k] = x[k];
  }
  return 1;
}

// mpcc:sizes(): returns the order of the linear systems, and the entries of their factors.
static int mpcc_sizes(lua_State *L) {
  const Mpcc *mpcc = luaL_checkudata(L, 1, MPCC);
  int order, fill;
  s2_mpcc_sizes(mpcc->mpcc, &order, &fill);
  lua_pushinteger(L, order);
  lua_pushinteger(L, fill);
  return 2;
}

void s2_lua_open_mpcc(lua_State *L) {
  static const luaL_Reg methods[] = {{"start", mpcc_start},
                                     {"iterate", mpcc_iterate},
                                     {"point", mpcc_point},
                                     {"sizes", mpcc_sizes},
                                     {NULL, NULL}};
  luaL_newmetatable(L, MPCC);
  lua_newtable(L);
  luaL_setfuncs(L, methods, 0);
  lua_setfield(L, -2, "__index");
  lua_pushcfunction(L, mpcc_gc);
  lua_setfield(L, -2, "__gc");
  lua_pop(L, 1);
}

const luaL_Reg s2_lua_mpcc_functions[] = {{"formulas", mpcc_formulas},
                                          {"formula_variable", mpcc_variable},
                                          {"formula_of", mpcc_formula_of},
                                          {"mpcc", mpcc_new},
                                          {NULL, NULL}};
