// Array: a list or matrix of numbers, plain or tracked. Operations on tracked ones make nodes of
// the tape (core/diff/tape/array_tape.h).
#ifndef S2_LUA_ARRAY_H
#define S2_LUA_ARRAY_H

#include "lua/diff/tracked.h"
#include "lua/world/binding.h"

#include "diff/tape/array_tape.h"

typedef struct S2LuaArray {
  const char *type;
  S2Size shape; // one or two axes
  S2Var var;    // 0: plain
  uint32_t generation;
  bool frozen; // a row read from a matrix: assigning to it would be lost
  double data[];
} S2LuaArray;

S2LuaArray *s2_lua_array_test(lua_State *L, int index);
S2LuaArray *s2_lua_array_check(lua_State *L, int argument); // or a bad argument
// Pushes a plain one of a size that fits into memory; its numbers are not set.
S2LuaArray *s2_lua_array_push(lua_State *L, S2Size shape);
// Makes it tracked: `var` is its node on the active tape (0: it stays plain).
void s2_lua_array_track(lua_State *L, S2LuaArray *array, S2Var var);
// Pushes the number (tracked if var is a node of one number) or the array at the end of an
// operation whose shape has no axes.
void s2_lua_array_push_number(lua_State *L, double value, S2Var var);

// The result of an operation: an array on the stack, or a number where its shape has no axes.
typedef struct S2LuaResult {
  S2LuaArray *array; // NULL: a number
  double number;
} S2LuaResult;
// Returns where its numbers go; the end pushes it with its node (0: plain), and returns 1.
double *s2_lua_result_begin(lua_State *L, S2Size shape, S2LuaResult *result);
int s2_lua_result_end(lua_State *L, const S2LuaResult *result, S2Var var);
// Pushes a block of another array's numbers, of a shape with axes; returns 1.
int s2_lua_push_block(lua_State *L, const S2Array *from, const S2ArrayBlock *block, S2Size shape);

// The array at `index` for an operation; raises when it is tracked on a tape that is gone.
S2Array s2_lua_array_view(lua_State *L, const S2LuaArray *array);
// What an operation takes: an array, a number (tracked or not; kept in *number), a vector or a list
// or matrix as a table. The latter two are replaced on the stack by arrays.
S2Array s2_lua_array_operand(lua_State *L, int index, double *number);
bool s2_lua_array_is_operand(lua_State *L, int index); // for messages: looks like one
// The tape to note something on, when one of the arguments is tracked.
#define S2_LUA_ARRAY_NOTE(L, A, B) ((A)->var != 0 || (B)->var != 0 ? s2_lua_tape(L) : NULL)

// A table of numbers, a table of rows, a vector: pushes the array. `what` names it in messages.
S2LuaArray *s2_lua_array_from(lua_State *L, int index, const char *what);
// An array at `index` becomes a table there; anything else stays. For readers of small tables.
void s2_lua_array_unfold(lua_State *L, int index);
// lo .. hi, or a bad argument.
int s2_lua_array_integer(lua_State *L, int argument, int lo, int hi);

// sim.exp and its like, for arguments 1 (and 2) of the running function: push the result; return
// false when neither is an array.
bool s2_lua_array_unary(lua_State *L, S2ArrayUnary op);
bool s2_lua_array_binary(lua_State *L, S2ArrayBinary op);
// The same where one argument is a vector: also with tracked numbers, and tables of them.
bool s2_lua_array_takes_over(lua_State *L, S2ArrayBinary op);

extern const luaL_Reg s2_array_operators[]; // metamethods
extern const luaL_Reg s2_array_methods[];
extern const luaL_Reg s2_array_creators[], s2_array_functions[]; // of sim
int s2_lua_array_reshape(lua_State *L);                          // methods
int s2_lua_array_norm(lua_State *L);
int s2_lua_array_dot(lua_State *L);
void s2_lua_push_linalg(lua_State *L); // sim.linalg
void s2_lua_open_array(lua_State *L);  // makes the metatable

#endif
