#include "lua/plan/nlopt.h"

#include <lauxlib.h>

#ifdef S2_HAVE_NLOPT
#include "base/memory.h"

#include <math.h>
#include <nlopt.h>
#include <string.h>

typedef struct Algorithm {
  const char *name;
  nlopt_algorithm id;
  bool gradient, bounds; // requirements of the algorithm
} Algorithm;

static const Algorithm algorithms[] = {
    {"bobyqa", NLOPT_LN_BOBYQA, false, false},
    {"cobyla", NLOPT_LN_COBYLA, false, false},
    {"crs2", NLOPT_GN_CRS2_LM, false, true},
    {"direct", NLOPT_GN_DIRECT_L, false, true},
    {"esch", NLOPT_GN_ESCH, false, true},
    {"isres", NLOPT_GN_ISRES, false, true},
    {"lbfgs", NLOPT_LD_LBFGS, true, false},
    {"mma", NLOPT_LD_MMA, true, false},
    {"nelder-mead", NLOPT_LN_NELDERMEAD, false, false},
    {"newuoa", NLOPT_LN_NEWUOA_BOUND, false, false},
    {"praxis", NLOPT_LN_PRAXIS, false, false},
    {"slsqp", NLOPT_LD_SLSQP, true, false},
    {"subplex", NLOPT_LN_SBPLX, false, false},
    {"tnewton", NLOPT_LD_TNEWTON_PRECOND_RESTART, true, false},
    {"var2", NLOPT_LD_VAR2, true, false},
};
enum { ALGORITHMS = sizeof algorithms / sizeof *algorithms };

static const Algorithm *nlopt_find(const char *name) {
  for (int i = 0; i < ALGORITHMS; i++) {
    if (strcmp(algorithms[i].name, name) == 0) {
      return &algorithms[i];
    }
  }
  return NULL;
}

int s2_lua_nlopt_about(lua_State *L) {
  if (lua_isnoneornil(L, 1)) {
    lua_createtable(L, ALGORITHMS, 0);
    for (int i = 0; i < ALGORITHMS; i++) {
      lua_pushstring(L, algorithms[i].name);
      lua_rawseti(L, -2, i + 1);
    }
    return 1;
  }
  const Algorithm *algorithm = nlopt_find(luaL_checkstring(L, 1));
  if (algorithm == NULL) {
    lua_pushnil(L);
    return 1;
  }
  lua_createtable(L, 0, 2);
  lua_pushboolean(L, algorithm->gradient);
  lua_setfield(L, -2, "gradient");
  lua_pushboolean(L, algorithm->bounds);
  lua_setfield(L, -2, "bounds");
  return 1;
}

typedef struct Search { // owned by a userdata, so that Lua errors do not leak it
  nlopt_opt opt;
  double *numbers; // x, lower, upper, step
} Search;

static int nlopt_free(lua_State *L) {
  Search *search = lua_touserdata(L, 1);
  if (search->opt != NULL) {
    nlopt_destroy(search->opt);
    search->opt = NULL;
  }
  s2_memory_free(search->numbers);
  search->numbers = NULL;
  return 0;
}

typedef struct Call {
  lua_State *L;
  Search *search;
  bool raised; // whether f raised the error on top of the stack
} Call;

// The function f is at stack index 1.
static double nlopt_value(unsigned n, const double *x, double *gradient, void *data) {
  Call *call = data;
  lua_State *L = call->L;
  // NLopt may evaluate once more after a stop.
  if (call->raised) {
    return INFINITY;
  }
  lua_pushvalue(L, 1);
  lua_createtable(L, (int)n, 0);
  for (unsigned i = 0; i < n; i++) {
    lua_pushnumber(L, x[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_pushboolean(L, gradient != NULL);
  if (lua_pcall(L, 2, 3, 0) != LUA_OK) {
    call->raised = true;
    nlopt_force_stop(call->search->opt);
    return INFINITY;
  }
  double value = lua_tonumber(L, -3);
  for (unsigned i = 0; gradient != NULL && i < n; i++) {
    gradient[i] = 0;
    if (lua_istable(L, -2)) {
      lua_rawgeti(L, -2, (lua_Integer)i + 1);
      gradient[i] = lua_tonumber(L, -1);
      lua_pop(L, 1);
    }
  }
  if (lua_toboolean(L, -1)) {
    nlopt_force_stop(call->search->opt);
  }
  lua_pop(L, 3);
  return value;
}

// Reads a list from the options into `to`. Returns false if it is absent.
static bool nlopt_read(lua_State *L, const char *key, int n, double *to) {
  bool there = lua_getfield(L, 2, key) == LUA_TTABLE;
  for (int i = 0; i < n && there; i++) {
    lua_rawgeti(L, -1, i + 1);
    to[i] = lua_tonumber(L, -1);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return there;
}

static double nlopt_number(lua_State *L, const char *key) {
  lua_getfield(L, 2, key);
  double value = lua_tonumber(L, -1);
  lua_pop(L, 1);
  return value;
}

static Search *nlopt_open(lua_State *L, int n) {
  Search *search = lua_newuserdatauv(L, sizeof *search, 0);
  *search = (Search){0};
  if (luaL_newmetatable(L, "sim2d.nlopt")) {
    lua_pushcfunction(L, nlopt_free);
    lua_setfield(L, -2, "__gc");
  }
  lua_setmetatable(L, -2);
  search->numbers = s2_memory_take_zeroed(sizeof(double) * 4 * (size_t)(n + 1));
  lua_getfield(L, 2, "algorithm");
  const Algorithm *algorithm = nlopt_find(luaL_checkstring(L, -1));
  luaL_argcheck(L, algorithm != NULL, 2, "no such algorithm");
  search->opt = nlopt_create(algorithm->id, (unsigned)n);
  lua_pop(L, 1);
  return search;
}

int s2_lua_nlopt(lua_State *L) {
  lua_settop(L, 2);
  lua_getfield(L, 2, "x0");
  int n = (int)luaL_len(L, -1);
  lua_pop(L, 1);
  Search *search = nlopt_open(L, n);
  double *x = search->numbers, *lower = x + n, *upper = lower + n, *step = upper + n;
  Call call = {L, search, false};
  nlopt_opt opt = search->opt;
  // Set the problem and the stopping criteria.
  nlopt_read(L, "x0", n, x);
  nlopt_set_min_objective(opt, nlopt_value, &call);
  if (nlopt_read(L, "lower", n, lower)) {
    nlopt_set_lower_bounds(opt, lower);
  }
  if (nlopt_read(L, "upper", n, upper)) {
    nlopt_set_upper_bounds(opt, upper);
  }
  if (nlopt_read(L, "step", n, step)) {
    nlopt_set_initial_step(opt, step);
  }
  nlopt_set_xtol_rel(opt, nlopt_number(L, "tolerance"));
  nlopt_set_maxeval(opt, (int)nlopt_number(L, "evaluations"));
  nlopt_srand((unsigned long)nlopt_number(L, "seed")); // each thread has its own generator
  double value;
  nlopt_result result = nlopt_optimize(opt, x, &value);
  if (call.raised) {
    return lua_error(L);
  }
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    lua_pushnumber(L, x[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_pushstring(L, nlopt_result_to_string(result));
  return 2;
}

#else

int s2_lua_nlopt_about(lua_State *L) {
  lua_pushboolean(L, 0);
  return 1;
}

int s2_lua_nlopt(lua_State *L) {
  return luaL_error(L, "built without NLopt");
}

#endif
