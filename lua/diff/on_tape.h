// Worlds on the tape of a gradient call (core/diff/world/world_tape.h). The Lua binding uses these
// functions to record which numbers of a world it reads and writes. Outside of gradient calls, each
// function costs one comparison.
#ifndef S2_LUA_ON_TAPE_H
#define S2_LUA_ON_TAPE_H

#include "lua/diff/tracked.h"
#include "lua/world/binding.h"

#include "diff/world/world_tape.h"

// True while a gradient call records.
static inline bool s2_lua_recording(const S2LuaWorld *lw) {
  return lw->diff->generation != 0;
}

// The world's record on the running tape. NULL if no tracked number was written to the world, or if
// no tape is running.
static inline S2WorldTape *s2_lua_on_tape(const S2LuaWorld *lw) {
  return lw->on_tape != NULL && lw->tape_generation == lw->diff->generation ? lw->on_tape : NULL;
}

// Puts the world on the running tape.
S2WorldTape *s2_lua_put_on_tape(S2LuaWorld *lw);

// ---- Writing ----------------------------------------------------------------------------------
//
// A function that writes begins with s2_lua_writes, which pushes one value and returns its stack
// index (0 if no tape is recording). Then it reads its arguments, writes, and ends with one of the
// other functions, each of which does nothing for index 0.

int s2_lua_writes(lua_State *L, const S2LuaWorld *lw);

// Records that `count` numbers, read into memory at `base`, were written to the places in this
// order.
void s2_lua_wrote(lua_State *L, S2LuaWorld *lw, int begin, const double *base, int count,
                  const S2Place *places);
// Like s2_lua_wrote, for numbers that are written to several places or to none. Place i receives
// number `from[i]`. Raises an error if no place received a tracked number.
void s2_lua_wrote_from(lua_State *L, S2LuaWorld *lw, int begin, const double *base, int numbers,
                       int count, const int *from, const S2Place *places);
// Stores all tracked numbers that were read in `list`. If there are any, puts the world on the
// tape. Returns NULL if nothing has to be recorded.
S2WorldTape *s2_lua_written(lua_State *L, S2LuaWorld *lw, int begin, int *count,
                            const S2LuaRead **list);
// Raises an error if the world is on the tape, because `what` has no derivative.
void s2_lua_not_on_tape(lua_State *L, const S2LuaWorld *lw, const char *what);
// Records that a body or joint was created. `build` is described in world_tape.h. It calls
// s2_lua_tracked_shift(L, begin, which, by) before it reads its arguments.
void s2_lua_made(lua_State *L, S2LuaWorld *lw, int begin, bool joint, int32_t slot,
                 S2WorldBuild *build, void *user);

// ---- Settings ---------------------------------------------------------------------------------

// Settings with tracked numbers. Call s2_setting_reads first, then s2_setting_was_read after each
// setting is read, and s2_setting_wrote once the world has the new settings.
typedef struct S2SettingReads {
  int object, begin; // stack indices: the previous top, and the result of s2_lua_writes
  int count, places, terms;
  S2Place place[8]; // places of the settings that were read
  S2Term term[8];
} S2SettingReads;
S2SettingReads s2_setting_reads(lua_State *L, const S2LuaWorld *lw);
void s2_setting_was_read(lua_State *L, int setting, const S2WorldDef *def, S2SettingReads *reads);
void s2_setting_wrote(lua_State *L, S2LuaWorld *lw, const S2SettingReads *reads);
// Pushes a tracked setting. Returns false if the setting has no derivative.
bool s2_setting_push_tracked(lua_State *L, int setting, S2LuaWorld *lw);

// Tracks the last command of an actuator, unless `var` is 0.
void s2_lua_command_origin(S2LuaWorld *lw, int actuator, S2Var var);

// ---- Reading ----------------------------------------------------------------------------------

// Reads the observation into arrays that are valid until the next use of `lw->scratch`. `vars`
// receives the nodes, or 0 for constants. Returns false if Lua code has to observe.
bool s2_lua_observe(lua_State *L, S2LuaWorld *lw, double **numbers, S2Var **vars);

// These push one number, or a list, from places of a world on the tape.
void s2_lua_push_place(lua_State *L, S2LuaWorld *lw, S2Place place);
void s2_lua_push_places(lua_State *L, S2LuaWorld *lw, int count, const S2Place *places);
// Pushes the results of `measure`, which depend on the given places. They are one number or a list.
void s2_lua_push_measured(lua_State *L, S2LuaWorld *lw, int count, S2WorldMeasure *measure,
                          const void *user, int places, const S2Place *place);
// Pushes `count` numbers as an array with node `var` (0 for a plain array).
void s2_lua_push_list(lua_State *L, int count, const double *values, S2Var var);
// Pushes a time, which is tracked if dt is tracked.
void s2_lua_push_time(lua_State *L, const S2LuaWorld *lw, double t);
void s2_lua_push_dt(lua_State *L, S2LuaWorld *lw, double dt); // Duration of a step or a part of it.

// Pushes a list of the names of flags (S2GradientFlag), which describe the reliability of world
// derivatives.
void s2_lua_push_flags(lua_State *L, unsigned flags);

// Copies at most `most` tracked arguments that were read into memory at `base`.
int s2_lua_arguments(const S2LuaRead *list, int reads, const double *base, S2Argument *arguments,
                     int most);

#endif
