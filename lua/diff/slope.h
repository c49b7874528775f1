// Functions of the script that are called from inside a step of a world on a tape: they get tracked
// numbers, and how what they return changes with these is told to the engine (S2Slope).
#ifndef S2_LUA_SLOPE_H
#define S2_LUA_SLOPE_H

#include "lua/diff/on_tape.h"

enum { S2_SLOPE_INPUTS = S2_JOINT_BODIES + 1 }; // poses and the time

// One call of a function. The nodes of its arguments are new, and so is what it computes with them;
// what else its results depend on (upvalues) was on the tape before.
typedef struct S2LuaSlopes {
  S2LuaDiff *diff; // NULL: nothing is noted, and all is plain
  S2Var first;     // node from which on all is of this call
  int inputs;
  S2Var input[S2_SLOPE_INPUTS];
  int at[S2_SLOPE_INPUTS]; // of S2Slope.by, of its first number
} S2LuaSlopes;

S2LuaSlopes s2_lua_slopes(lua_State *L, const S2LuaWorld *lw, bool wanted);
// Push an argument whose derivatives are by[at] and on: a pose, a number, a time (which is tracked
// where dt is; constraints in event stepping always track it).
void s2_lua_slopes_pose(lua_State *L, S2LuaSlopes *slopes, const double q[3], int at);
void s2_lua_slopes_number(lua_State *L, S2LuaSlopes *slopes, double x, int at);
void s2_lua_slopes_time(lua_State *L, const S2LuaWorld *lw, S2LuaSlopes *slopes, double t, int at);
// The number at an index, plain or tracked; false: it is none. Fills in the slope (NULL: not asked
// for).
bool s2_lua_slopes_result(lua_State *L, const S2LuaSlopes *slopes, int index, double *value,
                          S2Slope *slope);
// The slope of `sum` + weight x, where that of x is `of`.
void s2_lua_slopes_add(const S2LuaSlopes *slopes, S2Slope *sum, double weight, const S2Slope *of);

// Where no gradient call records, or knows nothing of the world, functions whose slopes the engine
// wants (linearize, planners) are called with a tape of their own.
typedef struct S2LuaBorrowed {
  bool lent;        // the tape is for this call alone
  bool put;         // the world is on it for this call alone, ...
  S2LuaDiff before; // ... and how it was before
  S2WorldTape *was;
  uint32_t was_generation;
  bool was_dt;
} S2LuaBorrowed;
// `handler`: of errors. False: an error is on the stack.
bool s2_lua_borrow_tape(lua_State *L, S2LuaWorld *lw, int handler, bool wanted,
                        S2LuaBorrowed *tape);
void s2_lua_give_tape_back(lua_State *L, S2LuaWorld *lw, const S2LuaBorrowed *tape);

// Force laws look at the world themselves: what they read of its state is an input each.
typedef struct S2LuaLawSlopes {
  S2LuaWorld *lw;
  S2WorldTape *tape; // NULL: nothing is noted
  S2Var first;
  S2LuaBorrowed borrowed;
} S2LuaLawSlopes;
// `lw`: whose bodies they see; `handler`: of errors. False: an error is on the stack.
bool s2_lua_law_slopes(lua_State *L, S2LuaWorld *lw, int handler, bool wanted,
                       S2LuaLawSlopes *slopes);
// Arguments: these, a S2ForceCall, and the nodes of its three numbers (0: constant).
int s2_lua_law_answer(lua_State *L);
void s2_lua_law_slopes_end(lua_State *L, const S2LuaLawSlopes *slopes);

#endif
