// Tracked numbers take part in the computation of a gradient. Each has a value and a node on the
// tape of the running gradient call. After the call, only the value remains.
#ifndef S2_TRACKED_H
#define S2_TRACKED_H

#include "base/array.h"
#include "base/status.h"
#include "diff/tape/array.h"
#include "diff/tape/tape.h"
#include "diff/world/quiet.h"

#include <lauxlib.h>
#include <lua.h>

// A tracked number that was read (see s2_lua_tracked_begin).
typedef struct S2LuaRead {
  const double *where; // the address given to s2_value_number or similar
  double value;
  S2Var var;
} S2LuaRead;

// State shared by the gradient calls of one Lua state.
typedef struct S2LuaDiff {
  S2Tape *tape;        // NULL before the first call
  uint32_t generation; // generation of usable numbers; 0: none
  uint32_t last;       // last generation that was assigned
  bool busy;           // a gradient call is running, including its sweeps
  int reading;         // nesting depth of s2_lua_tracked_begin
  S2_ARRAY(S2LuaRead) reads;
  int shift_read; // for s2_lua_tracked_shift: position in `reads`
  double shift_by;
  lua_State *L;                                   // state of the sweep, for nodes written in Lua
  bool (*arrays)(lua_State *L, S2ArrayBinary op); // s2_lua_array_takes_over, once it exists
  int checkpoint;             // sim.checkpoint: steps between world images; 0: none
  unsigned flags;             // S2GradientFlag values from the worlds of the last call
  S2Quiet quiet;              // findings of the sweep of the last call
  char reason[S2_QUIET_TEXT]; // why all derivatives of the last call are 0, or ""
  int64_t nodes;              // number of nodes of the last tape
  size_t bytes, peak;         // final and largest size of the last tape
} S2LuaDiff;

S2LuaDiff *s2_lua_diff(lua_State *L);
// The tape that a gradient call is recording on, or NULL.
S2Tape *s2_lua_tape(lua_State *L);
// The generation of the tape, or 0 if nothing is recorded. Code that keeps an S2Var must keep the
// generation with it.
uint32_t s2_lua_tape_generation(lua_State *L);

// Pushes a tracked number, or a plain one if `var` is 0.
void s2_lua_tracked_push(lua_State *L, double value, S2Var var);
// True for a tracked number. Raises an error if the gradient call of the number has ended.
bool s2_lua_tracked_test(lua_State *L, int index, double *value, S2Var *var);
// Like s2_lua_tracked_test, but returns false if the gradient call has ended.
bool s2_lua_tracked_get(lua_State *L, int index, double *value, S2Var *var);
// True for a tracked number. Never raises an error.
bool s2_lua_is_tracked(lua_State *L, int index);
// Raises the error for a number whose gradient call has ended.
int s2_lua_tracked_ended(lua_State *L, const char *what);

void s2_lua_open_tracked(lua_State *L);           // creates the metatable
void s2_lua_open_tracked_functions(lua_State *L); // adds sim.sin ... to the top table
void s2_lua_open_custom(lua_State *L);            // adds sim.custom
void s2_lua_open_jacobian(lua_State *L);          // adds sim.jacobian
void s2_lua_open_gradient(lua_State *L);          // adds sim.value_and_grad ...

// Calls `body` with the arguments of the running function while a tape records. The tape ends with
// the call, even after an error. Returns the number of results, which are then the only values on
// the stack.
int s2_lua_record(lua_State *L, lua_CFunction body);
// Starts the tape temporarily while no gradient call is recording. May raise an error, so call it
// in protected mode.
int s2_lua_lend_tape(lua_State *L);
void s2_lua_return_tape(lua_State *L, const S2LuaDiff *before); // ends the tape
// (f, p): like sim.value_and_grad, but returns numbers that are not finite instead of raising an
// error.
int s2_lua_value_and_grad_any(lua_State *L);
void s2_lua_refuse_nested(lua_State *L);                // raises an error inside a gradient call
void s2_lua_check_sweep(lua_State *L, S2Status status); // raises the error of a sweep
// Raises a bad-argument error unless the argument is callable.
void s2_lua_check_function(lua_State *L, int argument);

// Pops the value on top of the stack and keeps it as long as the tape. Returns a number by which
// nodes can get the value during the sweep.
int s2_lua_tape_keep(lua_State *L);
void s2_lua_tape_kept(lua_State *L, int number); // Pushes a kept value.
// For backward functions that run Lua code. Pops the error on top of the stack and keeps it. The
// gradient call then raises this error in place of the returned status.
S2Status s2_lua_sweep_raised(lua_State *L);

// An operation on two numbers and its partial derivatives.
typedef struct S2LuaPartials {
  double value, da, db;
} S2LuaPartials;

S2LuaPartials s2_lua_partials(S2ArrayBinary op, double a, double b);

// ---- Functions that take tracked numbers for plain ones ---------------------------------------
//
// By default s2_value_number refuses tracked numbers, and therefore so does every constructor and
// field. Between `begin` and `end`, within one call of a C function, it accepts their values and
// records the addresses that it writes to. The scope also ends when the C function returns or
// raises an error. Without a recording tape these functions have no effect.

void s2_lua_tracked_begin(lua_State *L); // Pushes one value, which must stay on the stack.
// Returns the number of tracked numbers read since the `begin` call at stack index `begin`. *list
// is in the order of reading and valid until the next `begin` call.
int s2_lua_tracked_end(lua_State *L, int begin, const S2LuaRead **list);
// Like s2_lua_tracked_end, but keeps the scope open.
int s2_lua_tracked_count(lua_State *L, int begin, const S2LuaRead **list);
// For finite differences of a C function. Discards the reads, so that the function can read its
// arguments again. Then `by` is added to tracked number `which` (from 0).
void s2_lua_tracked_shift(lua_State *L, int begin, int which, double by);
// For readers of numbers. Returns false if the value is not a tracked number, or if no scope
// accepts one.
bool s2_lua_tracked_read(lua_State *L, int index, double *value);
void s2_lua_tracked_note(lua_State *L, int index, double *where); // records a number that was read

#endif
