// Derivatives of script functions that run inside a step of a world on a tape. The functions
// receive tracked numbers, and the engine receives the derivatives of their results (S2Slope).
#ifndef S2_LUA_SLOPE_H
#define S2_LUA_SLOPE_H

#include "lua/diff/on_tape.h"

enum { S2_SLOPE_INPUTS = S2_JOINT_BODIES + 1 }; // Poses and the time.

// One call of a function. Nodes are created first for its arguments, then for its results. Other
// numbers that the results depend on (upvalues) have older nodes.
typedef struct S2LuaSlopes {
  S2LuaDiff *diff; // NULL: nothing is recorded and all numbers are plain
  S2Var first;     // first node of this call
  int inputs;
  S2Var input[S2_SLOPE_INPUTS];
  int at[S2_SLOPE_INPUTS]; // index in S2Slope.by of each input's first number
} S2LuaSlopes;

S2LuaSlopes s2_lua_slopes(lua_State *L, const S2LuaWorld *lw, bool wanted);
// These push an argument whose derivatives are stored in `by` from index `at`: a pose, a number, or
// a time. The time is tracked if dt is tracked.
void s2_lua_slopes_pose(lua_State *L, S2LuaSlopes *slopes, const double q[3], int at);
void s2_lua_slopes_number(lua_State *L, S2LuaSlopes *slopes, double x, int at);
void s2_lua_slopes_time(lua_State *L, const S2LuaWorld *lw, S2LuaSlopes *slopes, double t, int at);
// Reads the plain or tracked number at `index`. Returns false if the value is not a number.
// Computes the slope unless `slope` is NULL.
bool s2_lua_slopes_result(lua_State *L, const S2LuaSlopes *slopes, int index, double *value,
                          S2Slope *slope);
// Adds `weight` times the slope `of` to `sum`.
void s2_lua_slopes_add(const S2LuaSlopes *slopes, S2Slope *sum, double weight, const S2Slope *of);

// A temporary tape for functions whose slopes the engine needs (linearize, planners). It is used if
// no gradient call is recording this world.
typedef struct S2LuaBorrowed {
  bool lent;        // the tape was started for this call
  bool put;         // the world was put on the tape for this call
  S2LuaDiff before; // state before
  S2WorldTape *was;
  uint32_t was_generation;
  bool was_dt;
} S2LuaBorrowed;
// `handler` is the error handler. If the result is false, an error is on the stack.
bool s2_lua_borrow_tape(lua_State *L, S2LuaWorld *lw, int handler, bool wanted,
                        S2LuaBorrowed *tape);
void s2_lua_give_tape_back(lua_State *L, S2LuaWorld *lw, const S2LuaBorrowed *tape);

// Slopes of force laws. A law reads the world itself, and each number of the state that it reads is
// an input.
typedef struct S2LuaLawSlopes {
  S2LuaWorld *lw;
  S2WorldTape *tape; // NULL: nothing is recorded
  S2Var first;
  S2LuaBorrowed borrowed;
} S2LuaLawSlopes;
// `lw` is the world whose bodies the law sees, and `handler` is the error handler. If the result is
// false, an error is on the stack.
bool s2_lua_law_slopes(lua_State *L, S2LuaWorld *lw, int handler, bool wanted,
                       S2LuaLawSlopes *slopes);
// Lua function with three arguments: an S2LuaLawSlopes, an S2ForceCall, and the nodes of the three
// numbers of the call. A node of 0 is a constant.
int s2_lua_law_answer(lua_State *L);
void s2_lua_law_slopes_end(lua_State *L, const S2LuaLawSlopes *slopes);

#endif
