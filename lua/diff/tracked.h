// Tracked numbers: numbers while a gradient is taken. Each has a value and a node on the tape of
// the running gradient call; after the call it keeps only the value.
#ifndef S2_TRACKED_H
#define S2_TRACKED_H

#include "base/array.h"
#include "base/status.h"
#include "diff/tape/array.h"
#include "diff/tape/tape.h"
#include "diff/world/quiet.h"

#include <lauxlib.h>
#include <lua.h>

// A tracked number that was read, see s2_lua_tracked_begin.
typedef struct S2LuaRead {
  const double *where; // the address given to s2_value_number or similar
  double value;
  S2Var var;
} S2LuaRead;

// State shared by the gradient calls of one Lua state.
typedef struct S2LuaDiff {
  S2Tape *tape;        // NULL before the first call
  uint32_t generation; // generation of numbers that may be used; 0: none
  uint32_t last;       // last generation given out
  bool busy;           // a gradient call is running, including its sweeps
  int reading;         // depth of s2_lua_tracked_begin
  S2_ARRAY(S2LuaRead) reads;
  int shift_read; // s2_lua_tracked_shift: position in `reads`
  double shift_by;
  lua_State *L;                                   // the state that sweeps, for nodes written in Lua
  bool (*arrays)(lua_State *L, S2ArrayBinary op); // s2_lua_array_takes_over, if arrays are open
  int checkpoint;             // sim.checkpoint: steps between images of worlds; 0: none
  unsigned flags;             // S2GradientFlag of the worlds, of the last call
  S2Quiet quiet;              // findings of the sweep of the last call
  char reason[S2_QUIET_TEXT]; // why all derivatives of the last call are 0; "": they are not
  int64_t nodes;              // number of nodes of the last tape
  size_t bytes, peak;         // bytes of the last tape: at its end, and the largest
} S2LuaDiff;

S2LuaDiff *s2_lua_diff(lua_State *L);
// The tape that a gradient call is recording on, or NULL.
S2Tape *s2_lua_tape(lua_State *L);
// The generation of the tape; 0: no recording. Code that keeps an S2Var must keep the generation
// with it.
uint32_t s2_lua_tape_generation(lua_State *L);

// Pushes a tracked number, or a plain one if `var` is 0.
void s2_lua_tracked_push(lua_State *L, double value, S2Var var);
// True for a tracked number. Raises if its gradient call has ended.
bool s2_lua_tracked_test(lua_State *L, int index, double *value, S2Var *var);
// Like s2_lua_tracked_test, but returns false if the call has ended.
bool s2_lua_tracked_get(lua_State *L, int index, double *value, S2Var *var);
// True for a tracked number; never raises.
bool s2_lua_is_tracked(lua_State *L, int index);
// Raises the error about a number whose gradient call has ended.
int s2_lua_tracked_ended(lua_State *L, const char *what);

void s2_lua_open_tracked(lua_State *L);           // makes the metatable
void s2_lua_open_tracked_functions(lua_State *L); // adds sim.sin ... to the table on top
void s2_lua_open_custom(lua_State *L);            // adds sim.custom
void s2_lua_open_jacobian(lua_State *L);          // adds sim.jacobian
void s2_lua_open_gradient(lua_State *L);          // adds sim.value_and_grad ...

// Calls `body` with the arguments of the running function while a tape records. The tape ends with
// the call, also after an error. Returns the number of results; the stack then contains only these.
int s2_lua_record(lua_State *L, lua_CFunction body);
// Starts the tape temporarily while no gradient call is recording. May raise, so call it protected.
int s2_lua_lend_tape(lua_State *L);
void s2_lua_return_tape(lua_State *L, const S2LuaDiff *before); // ends it and restores the state
// (f, p): like sim.value_and_grad, but also returns numbers that are not finite.
int s2_lua_value_and_grad_any(lua_State *L);
void s2_lua_refuse_nested(lua_State *L);                // raises inside of another record
void s2_lua_check_sweep(lua_State *L, S2Status status); // raises the error of a sweep
// a callable value; otherwise raises a bad argument
void s2_lua_check_function(lua_State *L, int argument);

// Keeps the value on top of the stack (and pops it) as long as the tape; returns its number, for
// nodes that need it in the sweep.
int s2_lua_tape_keep(lua_State *L);
void s2_lua_tape_kept(lua_State *L, int number); // pushes a kept value
// For backward functions that ran Lua: keeps the error on top of the stack (and pops it). The
// gradient call then raises this error in place of the returned status.
S2Status s2_lua_sweep_raised(lua_State *L);

// An operation on two numbers and its partial derivatives.
typedef struct S2LuaPartials {
  double value, da, db;
} S2LuaPartials;

S2LuaPartials s2_lua_partials(S2ArrayBinary op, double a, double b);

// ---- Functions that take tracked numbers for plain ones ---------------------------------------
//
// s2_value_number, and so every constructor and field, refuses tracked numbers. Between begin and
// end, within one call of a C function, it accepts their values and notes the addresses it wrote
// to. The scope also ends when the C function returns or raises. Without a recording tape these
// functions have no effect.

void s2_lua_tracked_begin(lua_State *L); // pushes one value, which must stay on the stack
// Returns how many tracked numbers were read since the begin at that stack index. *list is in the
// order of reading and valid until the next begin.
int s2_lua_tracked_end(lua_State *L, int begin, const S2LuaRead **list);
// Like s2_lua_tracked_end, but keeps the scope open.
int s2_lua_tracked_count(lua_State *L, int begin, const S2LuaRead **list);
// Discards the reads so that the function can read its arguments again, and then adds `by` to
// tracked number `which` (from 0): for finite differences of the function.
void s2_lua_tracked_shift(lua_State *L, int begin, int which, double by);
// For readers of numbers. False: it is not a tracked number, or no scope accepts one.
bool s2_lua_tracked_read(lua_State *L, int index, double *value);
void s2_lua_tracked_note(lua_State *L, int index, double *where); // notes a number that was read

#endif
