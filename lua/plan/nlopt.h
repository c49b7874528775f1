// Methods of NLopt, available if the library was found at build time.
#ifndef S2_LUA_NLOPT_H
#define S2_LUA_NLOPT_H

#include <lua.h>

// (algorithm or nil): returns a table of the algorithm's requirements, {gradient =, bounds =}, or
// nil if the algorithm is unknown. Without an argument, returns the list of names. If built without
// NLopt, the first result is `false`.
int s2_lua_nlopt_about(lua_State *L);

// (f, options) -> x, status; options: algorithm, x0, lower, upper, step (lists of n numbers; the
// last three may be nil), tolerance (relative, of parameters), evaluations, seed. f(x,
// wants_gradient) returns the value, the gradient as a list if wanted, and true to stop. Errors in
// f are rethrown.
int s2_lua_nlopt(lua_State *L);

#endif
