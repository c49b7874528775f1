// Arguments and results shared by world:linearize and world:lcs.
#ifndef S2_LUA_LINEARIZE_H
#define S2_LUA_LINEARIZE_H

#include "lua/base/keys.h"
#include "lua/world/binding.h"

#include "diff/linear/linearize.h"

typedef struct S2LuaCoordinates {
  bool reduced;
  S2Coordinate *list; // NULL: the engine chooses
  int count;
} S2LuaCoordinates;

// Reads the keys "inputs" and "coordinates" into the world's scratch memory. `held` receives the
// command of each input that is an actuator, and 0 for other inputs.
int s2_lua_linearize_inputs(const S2Keys *keys, S2LuaWorld *lw, S2Input **inputs, double **held);
S2LuaCoordinates s2_lua_linearize_coordinates(const S2Keys *keys, S2LuaWorld *lw);

void s2_lua_linearize_push(lua_State *L, const double *numbers, int rows, int columns);
// Pushes {{body = or joint =, field =}, ...}.
void s2_lua_push_coordinates(lua_State *L, const S2LuaWorld *lw, const S2Coordinate *coordinate,
                             int count);

#endif
