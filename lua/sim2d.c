// require "sim2d"
#include "lua/base/embedded.h"
#include "lua/diff/array.h"
#include "lua/diff/formula/formula.h"
#include "lua/plan/plan.h"
#include "lua/solve/program_solver.h"
#include "lua/world/binding.h"

#include <string.h>

static int sim_solvers(lua_State *L) {
  lua_createtable(L, S2_SOLVER_COUNT, 0);
  for (int i = 0; i < S2_SOLVERS_BUILT_IN; i++) {
    lua_createtable(L, 0, 2);
    lua_pushstring(L, s2_solver_name(s2_solver_built_in(i)));
    lua_setfield(L, -2, "name");
    lua_pushstring(L, s2_solver_summary(s2_solver_built_in(i)));
    lua_setfield(L, -2, "summary");
    lua_rawseti(L, -2, i + 1);
  }
  s2_lua_list_program_solvers(L, S2_SOLVERS_BUILT_IN);
  return 1;
}

static int sim_clock(lua_State *L) {
  lua_pushnumber(L, s2_lua_clock());
  return 1;
}

// Upvalues: a table of the known names, and the name of the table for messages.
static int sim_no_field(lua_State *L) {
  return s2_lua_no_field(L, lua_tostring(L, lua_upvalueindex(2)), 2, lua_upvalueindex(1));
}

// Makes reading or writing an unknown field of the table on top of the stack raise an error.
// Existing metamethods are kept.
static void close_table(lua_State *L, const char *name) {
  static const char *const events[] = {"__index", "__newindex"};
  int closed = lua_gettop(L);
  if (!lua_getmetatable(L, closed)) {
    lua_createtable(L, 0, 2);
  }
  lua_newtable(L);
  for (lua_pushnil(L); lua_next(L, closed) != 0; lua_pop(L, 1)) {
    lua_pushvalue(L, -2);
    lua_pushboolean(L, 1);
    lua_rawset(L, closed + 2);
  }
  lua_pushstring(L, name);
  lua_pushcclosure(L, sim_no_field, 2);
  for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
    if (lua_getfield(L, closed + 1, events[i]) == LUA_TNIL) {
      lua_pushvalue(L, closed + 2);
      lua_setfield(L, closed + 1, events[i]);
    }
    lua_pop(L, 1);
  }
  lua_pushvalue(L, closed + 1);
  lua_setmetatable(L, closed);
  lua_settop(L, closed);
}

// Closes the library on top of the stack and the tables in it.
static void close_library(lua_State *L) {
  for (lua_pushnil(L); lua_next(L, -2) != 0; lua_pop(L, 1)) {
    if (lua_type(L, -1) == LUA_TTABLE && lua_type(L, -2) == LUA_TSTRING) {
      const char *name = lua_pushfstring(L, "sim.%s", lua_tostring(L, -2));
      lua_insert(L, -2);
      close_table(L, name);
      lua_remove(L, -2);
    }
  }
  close_table(L, "sim");
}

int luaopen_sim2d(lua_State *L) {
  static const luaL_Reg functions[] = {{"solvers", sim_solvers},
                                       {"worlds", s2_lua_worlds},
                                       {"clock", sim_clock},
                                       {"wait", s2_lua_wait},
                                       {NULL, NULL}};
  luaL_checkversion(L);
  // Open the types first, because constructors look up their metatables.
  s2_lua_open_vector(L);
  s2_lua_open_body(L);
  s2_lua_open_joint(L);
  s2_lua_open_collection(L);
  s2_lua_open_hooks(L);
  s2_lua_open_contact(L);
  s2_lua_open_timers(L);
  s2_lua_open_recording(L);
  s2_lua_open_snapshot(L);
  s2_lua_open_step(L);
  s2_lua_open_plan(L);
  s2_lua_open_formula(L);
  s2_lua_open_mpcc(L);
  s2_lua_open_tracked(L);
  s2_lua_open_array(L);
  // Create the table sim and the libraries in it.
  lua_newtable(L);
  s2_lua_functions(L, functions, 0);
  s2_lua_open_program_solvers(L);
  s2_lua_functions(L, s2_array_creators, 0);
  s2_lua_functions(L, s2_array_functions, 0);
  s2_lua_open_tracked_functions(L);
  s2_lua_open_gradient(L);
  s2_lua_open_jacobian(L);
  s2_lua_open_custom(L);
  s2_lua_push_linalg(L);
  lua_setfield(L, -2, "linalg");
  s2_lua_open_random(L);
  lua_setfield(L, -2, "random");
  s2_lua_open_world(L);
  lua_setfield(L, -2, "world");
  s2_lua_open_ncp(L);
  lua_setfield(L, -2, "ncp");
  s2_lua_open_lcp(L);
  lua_setfield(L, -2, "lcp");
  s2_lua_open_kkt(L);
  lua_setfield(L, -2, "kkt");
  s2_lua_open_mlcp(L);
  lua_setfield(L, -2, "mlcp");
  s2_lua_open_problem_library(L);
  lua_setfield(L, -2, "problem");
  s2_lua_open_contact_library(L);
  lua_setfield(L, -2, "contact");
  s2_lua_open_qp(L);
  lua_setfield(L, -2, "qp");
  s2_lua_open_lp(L);
  lua_setfield(L, -2, "lp");
  s2_lua_open_data(L);
  lua_setfield(L, -2, "data");
  lua_pushstring(L, s2_version());
  lua_setfield(L, -2, "version");
  // Modules written in Lua add to the table. After that, unknown names raise errors.
  s2_embedded_open(L);
  close_library(L);
  return 1;
}
