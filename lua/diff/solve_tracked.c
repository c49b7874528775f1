#include "lua/diff/solve_tracked.h"

#include "lua/diff/array.h"

enum { DEEPEST = 8 }; // nesting limit of tables; problems have three levels

static const char SOLVERS[] = "sim2d.tracked_solvers"; // registry key

static bool is_tracked(lua_State *L, int index, int depth) {
  if (lua_type(L, index) == LUA_TUSERDATA) {
    const S2LuaArray *array = s2_lua_array_test(L, index);
    return array != NULL ? array->var != 0 : s2_lua_is_tracked(L, index);
  }
  if (lua_type(L, index) != LUA_TTABLE || depth == DEEPEST) {
    return false;
  }
  luaL_checkstack(L, LUA_MINSTACK, "nested tables");
  for (lua_pushnil(L); lua_next(L, index) != 0; lua_pop(L, 1)) {
    if (lua_type(L, -1) >= LUA_TTABLE && is_tracked(L, lua_gettop(L), depth + 1)) {
      lua_pop(L, 2);
      return true;
    }
  }
  return false;
}

void s2_lua_push_tracked_solvers(lua_State *L) {
  luaL_getsubtable(L, LUA_REGISTRYINDEX, SOLVERS);
}

int s2_lua_solve_tracked(lua_State *L, const char *library) {
  if (s2_lua_tape(L) == NULL) {
    return -1;
  }
  int arguments = lua_gettop(L);
  for (int i = 1; i <= arguments; i++) {
    if (is_tracked(L, i, 0)) {
      s2_lua_push_tracked_solvers(L);
      lua_getfield(L, -1, library);
      lua_insert(L, 1);
      lua_settop(L, arguments + 1);
      lua_call(L, arguments, LUA_MULTRET);
      return lua_gettop(L);
    }
  }
  return -1;
}
