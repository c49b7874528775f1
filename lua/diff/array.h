// Array: a list or matrix of numbers, plain or tracked. Operations on tracked arrays add nodes to
// the tape (core/diff/tape/array_tape.h).
#ifndef S2_LUA_ARRAY_H
#define S2_LUA_ARRAY_H

#include "lua/diff/tracked.h"
#include "lua/world/binding.h"

#include "diff/tape/array_tape.h"

typedef struct S2LuaArray {
  const char *type;
  S2Size shape; // one axis or two
  S2Var var;    // node on the tape; 0: plain
  uint32_t generation;
  bool frozen; // a row read from a matrix: it is a copy, so it refuses assignments
  double data[];
} S2LuaArray;

S2LuaArray *s2_lua_array_test(lua_State *L, int index);
// like s2_lua_array_test, but raises a bad argument
S2LuaArray *s2_lua_array_check(lua_State *L, int argument);
// Pushes a plain array without setting its numbers; raises if it does not fit into memory.
S2LuaArray *s2_lua_array_push(lua_State *L, S2Size shape);
// Makes the array tracked: `var` is its node on the active tape (0: it stays plain).
void s2_lua_array_track(lua_State *L, S2LuaArray *array, S2Var var);
// Pushes the number that results from an operation without axes (tracked if `var` is the node of
// one number).
void s2_lua_array_push_number(lua_State *L, double value, S2Var var);

// The result of an operation: an array on the stack, or a number if its shape has no axes.
typedef struct S2LuaResult {
  S2LuaArray *array; // NULL: a number
  double number;
} S2LuaResult;
// s2_lua_result_begin returns the memory for the numbers; s2_lua_result_end pushes the result with
// its node (0: plain) and returns 1.
double *s2_lua_result_begin(lua_State *L, S2Size shape, S2LuaResult *result);
int s2_lua_result_end(lua_State *L, const S2LuaResult *result, S2Var var);
// Pushes a block of another array, with a shape that has axes; returns 1.
int s2_lua_push_block(lua_State *L, const S2Array *from, const S2ArrayBlock *block, S2Size shape);

// The array at `index` for an operation; raises if it is tracked on a tape that has ended.
S2Array s2_lua_array_view(lua_State *L, const S2LuaArray *array);
// Reads an operand: an array, a number (tracked or not; stored in *number), a vector, or a table
// with a list or matrix. Vectors and tables are replaced on the stack by arrays.
S2Array s2_lua_array_operand(lua_State *L, int index, double *number);
// for messages: true if the value could be an operand
bool s2_lua_array_is_operand(lua_State *L, int index);
// The tape that records an operation if one of the arguments is tracked, else NULL.
#define S2_LUA_ARRAY_NOTE(L, A, B) ((A)->var != 0 || (B)->var != 0 ? s2_lua_tape(L) : NULL)

// Pushes an array made of a table of numbers, a table of rows or a vector. `what` names it in
// messages.
S2LuaArray *s2_lua_array_from(lua_State *L, int index, const char *what);
// Replaces an array at `index` by a table; other values are unchanged. For readers of small tables.
void s2_lua_array_unfold(lua_State *L, int index);
// An integer from lo to hi; otherwise raises a bad argument.
int s2_lua_array_integer(lua_State *L, int argument, int lo, int hi);

// Array case of sim.exp and similar functions: reads argument 1 (and 2) of the running function and
// pushes the result. Returns false if no argument is an array.
bool s2_lua_array_unary(lua_State *L, S2ArrayUnary op);
bool s2_lua_array_binary(lua_State *L, S2ArrayBinary op);
// Operation of a vector with another operand, which may be a tracked number or a table.
bool s2_lua_array_takes_over(lua_State *L, S2ArrayBinary op);

extern const luaL_Reg s2_array_operators[]; // metamethods
extern const luaL_Reg s2_array_methods[];
extern const luaL_Reg s2_array_creators[], s2_array_functions[]; // functions of sim
int s2_lua_array_reshape(lua_State *L);                          // methods
int s2_lua_array_norm(lua_State *L);
int s2_lua_array_dot(lua_State *L);
void s2_lua_push_linalg(lua_State *L); // sim.linalg
void s2_lua_open_array(lua_State *L);  // makes the metatable

#endif
