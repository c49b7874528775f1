// Derivatives of script functions that run inside a step of a world on a tape: the functions
// receive tracked numbers, and the engine receives the derivatives of their results (S2Slope).
#ifndef S2_LUA_SLOPE_H
#define S2_LUA_SLOPE_H

#include "lua/diff/on_tape.h"

enum { S2_SLOPE_INPUTS = S2_JOINT_BODIES + 1 }; // poses and the time

// One call of a function. Its arguments get new nodes, and its results newer ones. Other numbers
// that the results depend on (upvalues) were on the tape before.
typedef struct S2LuaSlopes {
  S2LuaDiff *diff; // NULL: nothing is recorded, all numbers are plain
  S2Var first;     // first node of this call
  int inputs;
  S2Var input[S2_SLOPE_INPUTS];
  int at[S2_SLOPE_INPUTS]; // index in S2Slope.by of its first number
} S2LuaSlopes;

S2LuaSlopes s2_lua_slopes(lua_State *L, const S2LuaWorld *lw, bool wanted);
// Push an argument whose derivatives go to by[at] and on: a pose, a number, a time (which is
// tracked if dt is; constraints in event stepping always track it).
void s2_lua_slopes_pose(lua_State *L, S2LuaSlopes *slopes, const double q[3], int at);
void s2_lua_slopes_number(lua_State *L, S2LuaSlopes *slopes, double x, int at);
void s2_lua_slopes_time(lua_State *L, const S2LuaWorld *lw, S2LuaSlopes *slopes, double t, int at);
// Reads the number at an index, plain or tracked; false if it is not a number. Fills in the slope
// unless it is NULL.
bool s2_lua_slopes_result(lua_State *L, const S2LuaSlopes *slopes, int index, double *value,
                          S2Slope *slope);
// Adds `weight` times the slope `of` to `sum`.
void s2_lua_slopes_add(const S2LuaSlopes *slopes, S2Slope *sum, double weight, const S2Slope *of);

// Functions whose slopes the engine wants (linearize, planners) get a tape of their own if no
// gradient call is recording, or if it does not record this world.
typedef struct S2LuaBorrowed {
  bool lent;        // the tape was started for this call
  bool put;         // the world was put on it for this call
  S2LuaDiff before; // state before
  S2WorldTape *was;
  uint32_t was_generation;
  bool was_dt;
} S2LuaBorrowed;
// `handler`: error handler. False: an error is on the stack.
bool s2_lua_borrow_tape(lua_State *L, S2LuaWorld *lw, int handler, bool wanted,
                        S2LuaBorrowed *tape);
void s2_lua_give_tape_back(lua_State *L, S2LuaWorld *lw, const S2LuaBorrowed *tape);

// Force laws read the world themselves: each number of its state that they read is an input.
typedef struct S2LuaLawSlopes {
  S2LuaWorld *lw;
  S2WorldTape *tape; // NULL: nothing is recorded
  S2Var first;
  S2LuaBorrowed borrowed;
} S2LuaLawSlopes;
// `lw`: the world whose bodies the law sees; `handler`: error handler. False: an error is on the
// stack.
bool s2_lua_law_slopes(lua_State *L, S2LuaWorld *lw, int handler, bool wanted,
                       S2LuaLawSlopes *slopes);
// Arguments: these slopes, an S2ForceCall, and the nodes of the three numbers of the call (0:
// constant).
int s2_lua_law_answer(lua_State *L);
void s2_lua_law_slopes_end(lua_State *L, const S2LuaLawSlopes *slopes);

#endif
