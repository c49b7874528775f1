// Tracked numbers: what a number is while a gradient is taken. Each is a value and a node of the
// tape of the gradient call that runs; when that has ended it has only its value.
#ifndef S2_TRACKED_H
#define S2_TRACKED_H

#include "base/array.h"
#include "base/status.h"
#include "diff/tape/array.h"
#include "diff/tape/tape.h"
#include "diff/world/quiet.h"

#include <lauxlib.h>
#include <lua.h>

// What a function read that takes tracked numbers, see s2_lua_tracked_begin.
typedef struct S2LuaRead {
  const double *where; // what was handed to s2_value_number and its like
  double value;
  S2Var var;
} S2LuaRead;

// What gradient calls of one Lua state share.
typedef struct S2LuaDiff {
  S2Tape *tape;        // NULL before the first call
  uint32_t generation; // of the numbers that may be used; 0: of none
  uint32_t last;       // generation given out
  bool busy;           // in a gradient call, its sweeps included
  int reading;         // depth of s2_lua_tracked_begin
  S2_ARRAY(S2LuaRead) reads;
  int shift_read; // s2_lua_tracked_shift: position in `reads`
  double shift_by;
  lua_State *L;                                   // that sweeps, for nodes written in Lua
  bool (*arrays)(lua_State *L, S2ArrayBinary op); // s2_lua_array_takes_over, where there are arrays
  int checkpoint;             // sim.checkpoint: steps between images of worlds; 0: none
  unsigned flags;             // S2GradientFlag of the worlds, of the last call
  S2Quiet quiet;              // what its sweep saw
  char reason[S2_QUIET_TEXT]; // why all derivatives of the last call are 0; "": they are not
  int64_t nodes;              // of the last tape
  size_t bytes, peak;         // of the last tape, at its end and at most
} S2LuaDiff;

S2LuaDiff *s2_lua_diff(lua_State *L);
// The tape that a gradient call is recording on, or NULL.
S2Tape *s2_lua_tape(lua_State *L);
// Which tape; 0: none records. Anything else that keeps an S2Var keeps this beside it.
uint32_t s2_lua_tape_generation(lua_State *L);

// Pushes a tracked number, or a plain one when `var` is 0.
void s2_lua_tracked_push(lua_State *L, double value, S2Var var);
// Is it a tracked number? Raises when its gradient call has ended.
bool s2_lua_tracked_test(lua_State *L, int index, double *value, S2Var *var);
// The same, and false when it has ended.
bool s2_lua_tracked_get(lua_State *L, int index, double *value, S2Var *var);
// Only asks, and never raises.
bool s2_lua_is_tracked(lua_State *L, int index);
// Raises the error about one whose gradient call has ended.
int s2_lua_tracked_ended(lua_State *L, const char *what);

void s2_lua_open_tracked(lua_State *L);           // makes the metatable
void s2_lua_open_tracked_functions(lua_State *L); // sim.sin ...: into the table on top
void s2_lua_open_custom(lua_State *L);            // sim.custom: the same
void s2_lua_open_jacobian(lua_State *L);          // sim.jacobian: the same
void s2_lua_open_gradient(lua_State *L);          // sim.value_and_grad ...: the same

// Calls `body` with the arguments of the running function while a tape records, which ends with it,
// by an error too. Returns how many results are on the stack (nothing else is).
int s2_lua_record(lua_State *L, lua_CFunction body);
// The tape for a moment in which no gradient call records. Lends it; protected, as it may raise.
int s2_lua_lend_tape(lua_State *L);
void s2_lua_return_tape(lua_State *L, const S2LuaDiff *before); // all is as it was
// (f, p): what sim.value_and_grad gives, also when numbers are not finite.
int s2_lua_value_and_grad_any(lua_State *L);
void s2_lua_refuse_nested(lua_State *L);                // raises inside of another's record
void s2_lua_check_sweep(lua_State *L, S2Status status); // raises what went wrong in a sweep
void s2_lua_check_function(lua_State *L, int argument); // what can be called, or a bad argument

// Keeps the value on top of the stack (popped) as long as the tape; gives its number, for nodes
// that need it when they are swept.
int s2_lua_tape_keep(lua_State *L);
void s2_lua_tape_kept(lua_State *L, int number); // pushes it
// For backward functions that ran Lua: keeps the error on top of the stack (popped); the gradient
// call raises it instead of the status given here.
S2Status s2_lua_sweep_raised(lua_State *L);

// An operation on two numbers and its partial derivatives.
typedef struct S2LuaPartials {
  double value, da, db;
} S2LuaPartials;

S2LuaPartials s2_lua_partials(S2ArrayBinary op, double a, double b);

// ---- Functions that take tracked numbers for plain ones ---------------------------------------
//
// s2_value_number refuses tracked numbers, and with it every constructor and field. Between begin
// and end in one call of a C function it takes their values and notes where it put them. That
// function's end, by an error too, ends it as well. Nothing is done while no tape records.

void s2_lua_tracked_begin(lua_State *L); // pushes one value, which stays where it is
// How many tracked numbers were read since the begin at that stack index; *list, in the order of
// reading, is valid until the next begin.
int s2_lua_tracked_end(lua_State *L, int begin, const S2LuaRead **list);
// The same, and goes on noting.
int s2_lua_tracked_count(lua_State *L, int begin, const S2LuaRead **list);
// Forgets what was read, as the function is about to read its arguments again, and changes what is
// then read as tracked number `which` (from 0) by `by`: for differences of what it does.
void s2_lua_tracked_shift(lua_State *L, int begin, int which, double by);
// For readers of numbers. False: it is no tracked number, or none is wanted here.
bool s2_lua_tracked_read(lua_State *L, int index, double *value);
void s2_lua_tracked_note(lua_State *L, int index, double *where); // one that was read

#endif
