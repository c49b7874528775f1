// What lua/sim2d/control.lua needs of C.
#ifndef S2_LUA_CONTROL_H
#define S2_LUA_CONTROL_H

#include "lua/world/binding.h"

void s2_lua_control_push(lua_State *L); // pushes a table of functions, see control.c

#endif
