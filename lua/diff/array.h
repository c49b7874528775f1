// Array: a list or matrix of numbers, plain or tracked. Operations on tracked arrays add nodes to
// the tape (core/diff/tape/array_tape.h).
#ifndef S2_LUA_ARRAY_H
#define S2_LUA_ARRAY_H

#include "lua/diff/tracked.h"
#include "lua/world/binding.h"

#include "diff/tape/array_tape.h"

typedef struct S2LuaArray {
  const char *type;
  S2Size shape; // has one or two axes
  S2Var var;    // node on the tape; 0: plain
  uint32_t generation;
  bool frozen; // row read from a matrix: a copy that refuses assignments
  double data[];
} S2LuaArray;

S2LuaArray *s2_lua_array_test(lua_State *L, int index);
// Like s2_lua_array_test, but raises a bad-argument error instead of returning NULL.
S2LuaArray *s2_lua_array_check(lua_State *L, int argument);
// Pushes a plain array without initialising its numbers. Raises an error if memory is insufficient.
S2LuaArray *s2_lua_array_push(lua_State *L, S2Size shape);
// Makes the array tracked. `var` is its node on the active tape. If `var` is 0, the array remains
// plain.
void s2_lua_array_track(lua_State *L, S2LuaArray *array, S2Var var);
// Pushes the result of an operation that returns a number. The number is tracked if `var` is a node
// with a single number.
void s2_lua_array_push_number(lua_State *L, double value, S2Var var);

// The result of an operation: an array on the stack, or a number if its shape has no axes.
typedef struct S2LuaResult {
  S2LuaArray *array; // NULL if the result is a number
  double number;
} S2LuaResult;
// s2_lua_result_begin returns the memory for the numbers. s2_lua_result_end pushes the result with
// node `var` (0 if plain) and returns 1.
double *s2_lua_result_begin(lua_State *L, S2Size shape, S2LuaResult *result);
int s2_lua_result_end(lua_State *L, const S2LuaResult *result, S2Var var);
// Pushes a block of another array, with a shape that has axes, and returns 1.
int s2_lua_push_block(lua_State *L, const S2Array *from, const S2ArrayBlock *block, S2Size shape);

// Returns the array as an operand. Raises an error if it is tracked on a tape that has ended.
S2Array s2_lua_array_view(lua_State *L, const S2LuaArray *array);
// Reads an operand: an array, a number, a vector, or a table with a list or matrix. A number,
// tracked or not, is stored in *number. Vectors and tables are replaced on the stack by arrays.
S2Array s2_lua_array_operand(lua_State *L, int index, double *number);
// True if the value can be an operand. Used for messages.
bool s2_lua_array_is_operand(lua_State *L, int index);
// The tape that records an operation if one of the arguments is tracked, else NULL.
#define S2_LUA_ARRAY_NOTE(L, A, B) ((A)->var != 0 || (B)->var != 0 ? s2_lua_tape(L) : NULL)

// Pushes an array with the contents of a table of numbers, a table of rows or a vector. `what`
// names it in messages.
S2LuaArray *s2_lua_array_from(lua_State *L, int index, const char *what);
// Replaces an array at `index` by a table; other values are unchanged. Used by code that reads
// small tables.
void s2_lua_array_unfold(lua_State *L, int index);
// Returns an integer from lo to hi. Raises a bad-argument error for other values.
int s2_lua_array_integer(lua_State *L, int argument, int lo, int hi);

// The array version of sim.exp and similar functions. Reads argument 1 (and 2) of the running
// function and pushes the result. Returns false if no argument is an array.
bool s2_lua_array_unary(lua_State *L, S2ArrayUnary op);
bool s2_lua_array_binary(lua_State *L, S2ArrayBinary op);
// Performs an operation on a vector and another operand, which may be a tracked number or a table.
bool s2_lua_array_takes_over(lua_State *L, S2ArrayBinary op);

extern const luaL_Reg s2_array_operators[]; // metamethods
extern const luaL_Reg s2_array_methods[];
extern const luaL_Reg s2_array_creators[], s2_array_functions[]; // Functions of sim.
int s2_lua_array_reshape(lua_State *L);                          // methods
int s2_lua_array_norm(lua_State *L);
int s2_lua_array_dot(lua_State *L);
void s2_lua_push_linalg(lua_State *L); // sim.linalg
void s2_lua_open_array(lua_State *L);  // creates the metatable

#endif
