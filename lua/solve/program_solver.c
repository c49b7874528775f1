// sim.solver(name, fn): solvers that a script defines, and the engine's calls to them.
//
// The Lua registry keeps solvers as {name, fn} in the order of registration. The settings of a
// world store the number of the solver, so that clones, snapshots and restored worlds use the same
// solver.
#include "lua/solve/program_solver.h"

#include "lua/solve/solve_info.h"

#include <math.h>
#include <string.h>

static const char SOLVERS; // the address is the registry key of the list

static void push_solvers(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &SOLVERS) != LUA_TTABLE) {
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &SOLVERS);
  }
}

int s2_lua_program_solver(lua_State *L, const char *name) {
  int found = 0;
  push_solvers(L);
  for (int i = 1, count = (int)lua_rawlen(L, -1); i <= count && found == 0; i++) {
    lua_rawgeti(L, -1, i);
    lua_rawgeti(L, -1, 1);
    found = strcmp(lua_tostring(L, -1), name) == 0 ? i : 0;
    lua_pop(L, 2);
  }
  lua_pop(L, 1);
  return found;
}

void s2_lua_push_program_solver(lua_State *L, int number) {
  push_solvers(L);
  lua_rawgeti(L, -1, number);
  lua_rawgeti(L, -1, 1);
  lua_replace(L, -3);
  lua_pop(L, 1);
}

static int sim_solver(lua_State *L) {
  char text[S2_LUA_TEXT];
  if (lua_type(L, 1) != LUA_TSTRING || lua_rawlen(L, 1) == 0) {
    return s2_lua_bad_argument(L, 1, "a name expected, got %s", s2_lua_describe(L, 1, text));
  }
  const char *name = lua_tostring(L, 1);
  if (s2_solver_from_name(name) != S2_SOLVER_COUNT) {
    return s2_lua_bad_argument(L, 1, "'%s' is a solver of the engine: another name expected", name);
  }
  if (lua_type(L, 2) != LUA_TFUNCTION) {
    return s2_lua_bad_argument(L, 2,
                               "a function that gets a problem and returns its impulses "
                               "expected, got %s",
                               s2_lua_describe(L, 2, text));
  }
  // If the name is known, the new function replaces the old one.
  int at = s2_lua_program_solver(L, name);
  push_solvers(L);
  lua_createtable(L, 2, 0);
  lua_pushvalue(L, 1);
  lua_rawseti(L, -2, 1);
  lua_pushvalue(L, 2);
  lua_rawseti(L, -2, 2);
  lua_rawseti(L, -2, at > 0 ? at : (int)lua_rawlen(L, -2) + 1);
  return 0;
}

// ---- Asking -----------------------------------------------------------------------------------

static void push_problem(lua_State *L, S2LuaWorld *lw, const S2ProgramCall *call) {
  const S2SolverOptions *options = call->options;
  lua_createtable(L, 0, 18);
  s2_arena_reset(&lw->scratch);
  s2_lua_set_problem(L, call->problem, &lw->scratch);
  s2_lua_set_numbers(L, "guess", call->lambda, call->problem->rows);
  s2_lua_set_number(L, "velocity_scale", call->problem->velocity_scale);
  s2_lua_set_number(L, "length", call->problem->length);
  s2_lua_set_number(L, "tolerance", options->tolerance);
  lua_pushinteger(L, options->max_iterations);
  lua_setfield(L, -2, "max_iterations");
}

// Reads the impulses: an array or a list with one number per row.
static void solver_read_impulses(lua_State *L, int index, const char *name, S2ProgramCall *call) {
  char text[S2_LUA_TEXT];
  int rows = call->problem->rows;
  bool list =
      lua_type(L, index) == LUA_TTABLE || luaL_getmetafield(L, index, "__index") != LUA_TNIL;
  lua_settop(L, index);
  lua_Integer count = list ? luaL_len(L, index) : -1;
  if (count != rows) {
    s2_lua_fail(L, "solver '%s': a list of %d impulses expected, got %s%s", name, rows,
                count < 0 ? s2_lua_describe(L, index, text) : "one of ",
                count < 0 ? "" : lua_pushfstring(L, "%d", (int)count));
  }
  for (int i = 0; i < rows; i++) {
    lua_geti(L, index, i + 1);
    if (lua_type(L, -1) != LUA_TNUMBER || !isfinite(lua_tonumber(L, -1))) {
      s2_lua_fail(L, "solver '%s': impulse %d: a finite number expected, got %s", name, i + 1,
                  s2_lua_describe(L, -1, text));
    }
    call->lambda[i] = lua_tonumber(L, -1);
    lua_pop(L, 1);
  }
}

// The arguments are the call and the world.
static int program_answer(lua_State *L) {
  enum { ENTRY = 3, NAME, FIRST, ITERATIONS };
  S2ProgramCall *call = lua_touserdata(L, 1);
  S2LuaWorld *lw = lua_touserdata(L, 2);
  push_solvers(L);
  lua_rawgeti(L, -1, call->program);
  lua_replace(L, ENTRY);
  lua_rawgeti(L, ENTRY, 1);
  // Call fn(problem), which returns impulses or nil, and the number of iterations.
  lua_rawgeti(L, ENTRY, 2);
  push_problem(L, lw, call);
  lua_call(L, 1, 2);
  call->found = !lua_isnil(L, FIRST);
  call->iterations = lua_isinteger(L, ITERATIONS) ? (int)lua_tointeger(L, ITERATIONS) : 1;
  if (call->found) {
    lua_settop(L, FIRST);
    solver_read_impulses(L, FIRST, lua_tostring(L, NAME), call);
  }
  return 0;
}

bool s2_lua_engine_solve(void *user, S2World *world, S2ProgramCall *call) {
  S2LuaWorld *lw = user;
  lua_State *L = lw->L;
  (void)world;
  int top = lua_gettop(L);
  double start = s2_lua_callback_clock(lw);
  // Run everything that may allocate memory in protected mode.
  lua_pushcfunction(L, program_answer);
  lua_pushlightuserdata(L, call);
  lua_pushlightuserdata(L, lw);
  return s2_lua_asked(lw, top, 2, false, start);
}

void s2_lua_open_program_solvers(lua_State *L) {
  static const luaL_Reg functions[] = {{"solver", sim_solver}, {NULL, NULL}};
  s2_lua_functions(L, functions, 0);
}

// Appends {name, summary} of each solver to the list on top of the stack, which already has `count`
// entries.
void s2_lua_list_program_solvers(lua_State *L, int count) {
  push_solvers(L);
  for (int i = 1, all = (int)lua_rawlen(L, -1); i <= all; i++) {
    lua_createtable(L, 0, 2);
    s2_lua_push_program_solver(L, i);
    lua_setfield(L, -2, "name");
    lua_pushstring(L, "a function of this script");
    lua_setfield(L, -2, "summary");
    lua_rawseti(L, -3, count + i);
  }
  lua_pop(L, 1);
}
