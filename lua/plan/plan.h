// C functions for the planners of sim.control, for the modules in lua/sim2d/control.
#ifndef S2_LUA_PLAN_H
#define S2_LUA_PLAN_H

#include <lauxlib.h>

void s2_lua_open_plan(lua_State *L);
extern const luaL_Reg s2_lua_plan_functions[]; // For `model` and `ilqr`, see plan.c.
void s2_lua_open_mpcc(lua_State *L);
extern const luaL_Reg s2_lua_mpcc_functions[]; // For `formulas` and `mpcc`, see mpcc.c.

#endif
