// Problems with tracked numbers in them: lua/sim2d/solve_gradient.lua solves them, by the plain
// solvers and their vector-Jacobian products.
#ifndef S2_LUA_SOLVE_TRACKED_H
#define S2_LUA_SOLVE_TRACKED_H

#include <lua.h>

// At the start of a solve. When an argument holds something tracked, calls the function that is
// registered for `library` with all arguments, leaves its results only and returns how many; else
// -1. Costs nothing while no gradient is taken.
int s2_lua_solve_tracked(lua_State *L, const char *library);
void s2_lua_push_tracked_solvers(lua_State *L); // the table of these functions

#endif
