// C functions for lua/sim2d/batch.
#ifndef S2_LUA_BATCH_H
#define S2_LUA_BATCH_H

#include "lua/world/binding.h"

#include "batch/batch.h"

// Pushes a table of functions. A `reading` is a list {object, field, object, field ...}: a Body, a
// Joint or nil (false) for controls, and a number from `fields`.
//   workers(threads) -> workers
//   fields(object, name) -> list of numbers and list of their names; nil and a list of the known
//     names
//   controls(world) -> number of actuators; observed(world) -> number of observed numbers
//   alone(world) -> true if script functions run in its steps, so that no thread can step it
//   tracked(array), on_tape(world) -> true if it depends on a parameter of a gradient
//   judge(world, controls, terms, bounds, factors) -> judge, or nil and a message
//     terms    list of { reading =, goals =, scales =, wrap =, weight =, terminal =, norm =, p = }
//     bounds   list of { reading =, lo =, hi = }; the field -1 reads whether a body touches another
//     factors  list of { reading =, lo =, hi =, margin =, shape =, value = }
//   draws(list of { reading =, kind =, a =, b =, add =, relative =, again = }) -> draws; S2DrawKind
//   norm(name) -> its number and its default p; nil and the list of names
//   shape(name) -> its number; nil and the list of names
//   running(judge, world, controls), terminal(...) -> numbers
//   batch(worlds, workers, options) -> batch, or nil and a message; batch:NAME see batch.c
//   rollout(world, workers, judge, controls, knots, hold, states, gradient) -> costs, states or
//     nil, gradient or nil, failed, message
// For environments (batch_env.c, batch_episodes.c):
//   draw(draws, world, random)
//   bare(world) -> s2_world_revision, number of actuators, number of observed numbers,
//     s2_world_changes; no values if functions of the script run in its steps
//   drawn(random) -> a text that encodes the generator's next draws
//   alike(world, world) -> true if the states and all numbers of both worlds are equal
//   rewind(world, snapshot, changes) -> changes: see s2_world_image_return
//   act(world, commands) -> the commands after clipping, or no value: see batch_env.c
//   seen(world) -> list of observed numbers, or no value if the Lua code must observe
//   left(world) -> scaled residual of the last step; steps so far that missed their tolerance;
//     changes of mode so far
//   judged(judge, world, commands, constant) -> reward, terminated, cost of the last state
//   episodes(workers, options) -> environments that are stepped together: batch_episodes.c
void s2_lua_batch_push(lua_State *L);

// batch_env.c: true if script functions run in the steps of the world.
bool s2_lua_batch_stepped(const S2LuaWorld *lw);
// True if script functions run in the steps of the world, command it or observe it.
bool s2_lua_batch_alone(const S2LuaWorld *lw);
double s2_lua_env_clip(const S2World *world, int actuator, double u);
void s2_lua_env_functions(lua_State *L); // added to the table on top

int s2_lua_new_episodes(lua_State *L); // batch_episodes.c

// batch_judge.c
S2Judge *s2_lua_judge(lua_State *L, int index); // NULL for nil
void s2_lua_judge_functions(lua_State *L);      // added to the table on top
// Reads the list of readings at `index`. Raises an error if it is invalid.
void s2_lua_readings(lua_State *L, int index, int count, S2Reading *readings);
// Reads a table { reading =, kind =, a =, b =, add =, relative =, again = } at `index`.
void s2_lua_read_draw(lua_State *L, int index, S2Draw *draw);
typedef struct S2LuaDraws {
  int count;
  S2Draw draw[];
} S2LuaDraws;
const S2LuaDraws *s2_lua_draws(lua_State *L, int index); // NULL for nil

int s2_lua_rollout(lua_State *L); // batch_rollout.c

// batch_workers.c
int s2_lua_new_workers(lua_State *L);
S2Workers *s2_lua_workers(lua_State *L, int index);

#endif
