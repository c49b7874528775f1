// Problems with tracked numbers. lua/sim2d/solve_gradient.lua solves them with the plain solvers
// and uses vector-Jacobian products.
#ifndef S2_LUA_SOLVE_TRACKED_H
#define S2_LUA_SOLVE_TRACKED_H

#include <lua.h>

// Call this at the start of a solve. If an argument contains a tracked number, this calls the
// function registered for `library` with all arguments. It leaves only the results on the stack and
// returns their number. Otherwise it returns -1. It costs nothing outside of gradient calls.
int s2_lua_solve_tracked(lua_State *L, const char *library);
void s2_lua_push_tracked_solvers(lua_State *L); // Pushes the table of these functions.

#endif
