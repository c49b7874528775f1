// NLopt's methods, where the library was found when this was built.
#ifndef S2_LUA_NLOPT_H
#define S2_LUA_NLOPT_H

#include <lua.h>

// (algorithm or nil): what it needs, a table {gradient =, bounds =}, or nil: no such algorithm;
// without one the list of names; `false` first: built without NLopt.
int s2_lua_nlopt_about(lua_State *L);

// (f, options) -> x, status; options: algorithm, x0, lower, upper, step (lists of n numbers; the
// last three may be nil), tolerance (relative, of parameters), evaluations, seed. f(x,
// wants_gradient) returns the value, its gradient (a list) where it is wanted, and true to stop.
// Its errors are raised.
int s2_lua_nlopt(lua_State *L);

#endif
