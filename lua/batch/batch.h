// What lua/sim2d/batch needs of C.
#ifndef S2_LUA_BATCH_H
#define S2_LUA_BATCH_H

#include "lua/world/binding.h"

#include "batch/judge.h"
#include "batch/workers.h"

// Pushes a table of functions. A `reading` is a list {object, field, object, field ...}: a Body, a
// Joint or nil (false) for controls, and a number as `fields` gives it.
//   workers(threads) -> workers
//   fields(object, name) -> list of numbers and list of their names; nil and a list of the names
//     there are
//   controls(world) -> how many actuators; observed(world) -> how many numbers are observed
//   alone(world) -> true: functions of the script run in its steps, so that no thread can step it
//   tracked(array), on_tape(world) -> true: depends on what a gradient is taken by
//   judge(world, controls, terms, bounds) -> judge, or nil and a message
//     terms   list of { reading =, goals =, wrap =, weight =, terminal =, norm =, p = }
//     bounds  list of { reading =, lo =, hi = }
//   norm(name) -> number of it, p that it has by default; nil and the list of names
//   running(judge, world, controls), terminal(...) -> numbers
//   batch(worlds, workers, options) -> batch, or nil and a message; batch:NAME see batch.c
//   advance(worlds, workers, steps) -> numbers of worlds left alone, messages by number
//   bare(world) -> its revision (s2_world_revision); nil where functions of the script run in its
//     steps
//   drawn(random) -> a text: what the generator will draw
//   unsolved(world) -> steps so far that missed their tolerance, changes of mode so far
//   rollout(world, workers, judge, controls, knots, hold, states, gradient) -> costs, states or
//     nil, gradient or nil, failed, message
void s2_lua_batch_push(lua_State *L);

// batch_advance.c. Is the world stepped by functions of the script?
bool s2_lua_batch_alone(const S2LuaWorld *lw);

// batch_judge.c
S2Judge *s2_lua_judge(lua_State *L, int index); // NULL for nil
void s2_lua_judge_functions(lua_State *L);      // into the table on top
// Reads the list at `index`; raises what is wrong with it.
void s2_lua_readings(lua_State *L, int index, int count, S2Reading *readings);

int s2_lua_rollout(lua_State *L); // batch_rollout.c
// batch_advance.c. (list of worlds, workers, steps): the numbers of those that the script has to
// step, as functions of it run in their steps, and what went wrong by number. Each world once in
// the list.
int s2_lua_advance(lua_State *L);
int s2_lua_bare(lua_State *L);
int s2_lua_drawn(lua_State *L);
int s2_lua_unsolved(lua_State *L);

// batch_workers.c
int s2_lua_new_workers(lua_State *L);
S2Workers *s2_lua_workers(lua_State *L, int index);

#endif
