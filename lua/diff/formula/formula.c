#include "lua/diff/formula/formula.h"

#include "lua/base/errors.h"

#define GRAPH "sim2d.FormulaGraph"

typedef struct Graph {
  S2FormulaGraph *graph;
} Graph;

typedef struct Formula { // user value: the graph
  const char *type;
  S2FormulaGraph *graph;
  S2Formula f;
} Formula;

static const char KINKS[] =
    "this function is not available for formulas, which have sin, cos, tan, sinh, cosh, tanh, "
    "atan, "
    "exp, log, sqrt and pow; state a kink by a complementary pair, for example |x| = p + q, where "
    "x = p - q, p >= 0, q >= 0 and { p, q } is in products";
static const char BRANCHES[] =
    "a formula has no value, so it cannot be compared: the function is recorded once for all "
    "stages "
    "and points and cannot branch on unknowns; state a case as a pair of products, such as "
    "{ force, gap }";

// ---- Objects ----------------------------------------------------------------------------------

S2FormulaGraph *s2_lua_formula_graph_push(lua_State *L) {
  Graph *graph = lua_newuserdatauv(L, sizeof *graph, 0);
  graph->graph = NULL;
  luaL_setmetatable(L, GRAPH);
  graph->graph = s2_formula_graph_new();
  return graph->graph;
}

static int graph_gc(lua_State *L) {
  Graph *graph = luaL_checkudata(L, 1, GRAPH);
  s2_formula_graph_free(graph->graph);
  graph->graph = NULL;
  return 0;
}

S2FormulaGraph *s2_lua_formula_graph(lua_State *L, int index) {
  return ((Graph *)luaL_checkudata(L, index, GRAPH))->graph;
}

void s2_lua_formula_push(lua_State *L, int graph, S2Formula f) {
  graph = lua_absindex(L, graph);
  Formula *formula = lua_newuserdatauv(L, sizeof *formula, 1);
  *formula = (Formula){s2_type_formula, s2_lua_formula_graph(L, graph), f};
  lua_pushvalue(L, graph);
  lua_setiuservalue(L, -2, 1);
  s2_lua_metatable(L, s2_type_formula);
  lua_setmetatable(L, -2);
}

bool s2_lua_formula_get(lua_State *L, int index, S2FormulaGraph *graph, S2Formula *f) {
  const Formula *formula = s2_lua_test(L, index, s2_type_formula);
  if (formula != NULL) {
    *f = formula->f;
    return formula->graph == graph;
  }
  if (lua_type(L, index) != LUA_TNUMBER) {
    return false;
  }
  *f = s2_formula_number(graph, lua_tonumber(L, index));
  return true;
}

// ---- Operations -------------------------------------------------------------------------------

// Reads arguments 1 and 2, of which at least one is a formula, and pushes their graph.
static S2FormulaGraph *formula_operands(lua_State *L, S2Formula *a, S2Formula *b) {
  const Formula *first = s2_lua_test(L, 1, s2_type_formula);
  const Formula *second = s2_lua_test(L, 2, s2_type_formula);
  const Formula *any = first != NULL ? first : second;
  S2FormulaGraph *graph = any == NULL ? NULL : any->graph;
  if (graph == NULL || (second != NULL && second->graph != graph)) {
    s2_lua_fail(L, "two formulas of different problems cannot be combined");
  }
  for (int i = 1; i <= 2; i++) {
    if (!s2_lua_formula_get(L, i, graph, i == 1 ? a : b)) {
      char text[S2_LUA_TEXT];
      s2_lua_fail(L, "a formula can be combined with numbers and formulas, not with %s",
                  s2_lua_describe(L, i, text));
    }
  }
  lua_getiuservalue(L, first != NULL ? 1 : 2, 1);
  return graph;
}

static int formula_binary(lua_State *L, S2FormulaOp op) {
  S2Formula a = 0, b = 0;
  S2FormulaGraph *graph = formula_operands(L, &a, &b);
  s2_lua_formula_push(L, -1, s2_formula_binary(graph, op, a, b));
  return 1;
}

static int formula_add(lua_State *L) {
  return formula_binary(L, S2_FORMULA_ADD);
}
static int formula_sub(lua_State *L) {
  return formula_binary(L, S2_FORMULA_SUBTRACT);
}
static int formula_mul(lua_State *L) {
  return formula_binary(L, S2_FORMULA_MULTIPLY);
}
static int formula_div(lua_State *L) {
  return formula_binary(L, S2_FORMULA_DIVIDE);
}

static int formula_pow(lua_State *L) {
  S2Formula a = 0, b = 0;
  double exponent;
  S2FormulaGraph *graph = formula_operands(L, &a, &b);
  S2Formula f;
  if (s2_formula_constant(graph, b, &exponent)) {
    f = s2_formula_power(graph, a, exponent);
  } else { // a^b = exp(b log a)
    f = s2_formula_unary(graph, S2_FORMULA_LOG, a);
    f = s2_formula_binary(graph, S2_FORMULA_MULTIPLY, b, f);
    f = s2_formula_unary(graph, S2_FORMULA_EXP, f);
  }
  s2_lua_formula_push(L, -1, f);
  return 1;
}

static int formula_unm(lua_State *L) {
  const Formula *formula = s2_lua_check(L, 1, s2_type_formula);
  S2Formula minus = s2_formula_number(formula->graph, -1);
  lua_getiuservalue(L, 1, 1);
  s2_lua_formula_push(L, -1,
                      s2_formula_binary(formula->graph, S2_FORMULA_MULTIPLY, minus, formula->f));
  return 1;
}

static int formula_compare(lua_State *L) {
  return s2_lua_fail(L, "%s", BRANCHES);
}

static int formula_kink(lua_State *L) {
  return s2_lua_fail(L, "// and %% are not available for formulas, because they have jumps");
}

static int formula_concat(lua_State *L) {
  return s2_lua_fail(L, "attempt to concatenate a formula, which has no value yet");
}

static int formula_tostring(lua_State *L) {
  const Formula *formula = s2_lua_check(L, 1, s2_type_formula);
  lua_pushfstring(L, "Formula %d", (int)formula->f);
  return 1;
}

// ---- Functions of sim -------------------------------------------------------------------------

static S2Formula formula_quotient(S2FormulaGraph *graph, S2Formula a, S2Formula b) {
  return s2_formula_binary(graph, S2_FORMULA_DIVIDE, a, b);
}

// (exp(a) + sign exp(-a)) / 2
static S2Formula formula_hyperbolic(S2FormulaGraph *graph, S2Formula a, S2FormulaOp join) {
  S2Formula up = s2_formula_unary(graph, S2_FORMULA_EXP, a);
  S2Formula down = formula_quotient(graph, s2_formula_number(graph, 1), up);
  return s2_formula_binary(graph, S2_FORMULA_MULTIPLY, s2_formula_number(graph, 0.5),
                           s2_formula_binary(graph, join, up, down));
}

// Returns the operation of a function that formulas have themselves, or S2_FORMULA_NUMBER.
static S2FormulaOp formula_op(S2ArrayUnary op) {
  static const struct {
    S2ArrayUnary of;
    S2FormulaOp op;
  } known[] = {{S2_ARRAY_SIN, S2_FORMULA_SIN},   {S2_ARRAY_COS, S2_FORMULA_COS},
               {S2_ARRAY_EXP, S2_FORMULA_EXP},   {S2_ARRAY_LOG, S2_FORMULA_LOG},
               {S2_ARRAY_SQRT, S2_FORMULA_SQRT}, {S2_ARRAY_TANH, S2_FORMULA_TANH},
               {S2_ARRAY_ATAN, S2_FORMULA_ATAN}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (known[i].of == op) {
      return known[i].op;
    }
  }
  return S2_FORMULA_NUMBER;
}

bool s2_lua_formula_unary(lua_State *L, S2ArrayUnary op) {
  const Formula *formula = s2_lua_test(L, 1, s2_type_formula);
  if (formula == NULL) {
    return false;
  }
  S2FormulaGraph *graph = formula->graph;
  S2Formula a = formula->f, f = 0;
  if (formula_op(op) != S2_FORMULA_NUMBER) {
    f = s2_formula_unary(graph, formula_op(op), a);
  } else if (op == S2_ARRAY_TAN) {
    f = formula_quotient(graph, s2_formula_unary(graph, S2_FORMULA_SIN, a),
                         s2_formula_unary(graph, S2_FORMULA_COS, a));
  } else if (op == S2_ARRAY_SINH || op == S2_ARRAY_COSH) {
    f = formula_hyperbolic(graph, a, op == S2_ARRAY_SINH ? S2_FORMULA_SUBTRACT : S2_FORMULA_ADD);
  } else {
    s2_lua_fail(L, "%s", KINKS);
  }
  lua_getiuservalue(L, 1, 1);
  s2_lua_formula_push(L, -1, f);
  return true;
}

bool s2_lua_formula_binary(lua_State *L, S2ArrayBinary op) {
  if (s2_lua_test(L, 1, s2_type_formula) == NULL && s2_lua_test(L, 2, s2_type_formula) == NULL) {
    return false;
  }
  if (op == S2_ARRAY_POWER) {
    return formula_pow(L) == 1;
  }
  s2_lua_formula_refuse(L, 1);
  s2_lua_formula_refuse(L, 2);
  return false;
}

void s2_lua_formula_refuse(lua_State *L, int argument) {
  if (s2_lua_test(L, argument, s2_type_formula) != NULL) {
    s2_lua_fail(L, "%s", KINKS);
  }
}

void s2_lua_open_formula(lua_State *L) {
  static const luaL_Reg graphs[] = {{"__gc", graph_gc}, {NULL, NULL}};
  static const luaL_Reg formulas[] = {
      {"__add", formula_add},           {"__sub", formula_sub},
      {"__mul", formula_mul},           {"__div", formula_div},
      {"__pow", formula_pow},           {"__unm", formula_unm},
      {"__lt", formula_compare},        {"__le", formula_compare},
      {"__eq", formula_compare},        {"__mod", formula_kink},
      {"__idiv", formula_kink},         {"__concat", formula_concat},
      {"__tostring", formula_tostring}, {NULL, NULL}};
  luaL_newmetatable(L, GRAPH);
  luaL_setfuncs(L, graphs, 0);
  lua_pop(L, 1);
  s2_lua_metatable(L, s2_type_formula);
  luaL_setfuncs(L, formulas, 0);
  lua_pushstring(L, s2_type_formula);
  lua_setfield(L, -2, "__name");
  lua_pop(L, 1);
}
