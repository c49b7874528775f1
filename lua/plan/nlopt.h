// NLopt's methods, if the library was found at build time.
#ifndef S2_LUA_NLOPT_H
#define S2_LUA_NLOPT_H

#include <lua.h>

// (algorithm or nil): a table of its requirements, {gradient =, bounds =}; nil for an unknown
// algorithm. Without an argument the list of names; `false` as first result if built without NLopt.
int s2_lua_nlopt_about(lua_State *L);

// (f, options) -> x, status; options: algorithm, x0, lower, upper, step (lists of n numbers; the
// last three may be nil), tolerance (relative, of parameters), evaluations, seed. f(x,
// wants_gradient) returns the value, its gradient (a list) if wanted, and true to stop. Errors of f
// are raised.
int s2_lua_nlopt(lua_State *L);

#endif
