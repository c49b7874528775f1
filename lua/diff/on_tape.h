// Worlds on the tape of a gradient call (core/diff/world/world_tape.h): what the binding notes
// where it reads and writes numbers of a world. Outside of gradient calls each of these is one
// comparison.
#ifndef S2_LUA_ON_TAPE_H
#define S2_LUA_ON_TAPE_H

#include "lua/diff/tracked.h"
#include "lua/world/binding.h"

#include "diff/world/world_tape.h"

// Does a gradient call record?
// What actuators do at the start of a step of the world at argument 1, by forces that are on the
// tape.
void s2_lua_actuate_by_hand(lua_State *L, S2LuaWorld *lw, double t);

static inline bool s2_lua_recording(const S2LuaWorld *lw) {
  return lw->diff->generation != 0;
}

// What the world is on the running tape; NULL: nothing tracked was written to it (or none runs).
static inline S2WorldTape *s2_lua_on_tape(const S2LuaWorld *lw) {
  return lw->on_tape != NULL && lw->tape_generation == lw->diff->generation ? lw->on_tape : NULL;
}

// Puts it there.
S2WorldTape *s2_lua_put_on_tape(S2LuaWorld *lw);

// ---- Writing ----------------------------------------------------------------------------------
//
// A function that writes begins with s2_lua_writes (which pushes one value and returns its stack
// index; 0 when nothing is recorded), reads its arguments, writes, and ends with one of the others
// (each does nothing for index 0).

int s2_lua_writes(lua_State *L, const S2LuaWorld *lw);

// The `count` numbers from `base` on, as they were read, went to the places in this order.
void s2_lua_wrote(lua_State *L, S2LuaWorld *lw, int begin, const double *base, int count,
                  const S2Place *places);
// The same where a number may go to several places (or none): number `from[i]` to place i. What is
// tracked and went nowhere raises.
void s2_lua_wrote_from(lua_State *L, S2LuaWorld *lw, int begin, const double *base, int numbers,
                       int count, const int *from, const S2Place *places);
// All tracked numbers that were read: `list`, with the world on the tape when there are some (or it
// was there); NULL: nothing is to be noted.
S2WorldTape *s2_lua_written(lua_State *L, S2LuaWorld *lw, int begin, int *count,
                            const S2LuaRead **list);
// Raises when something tracked was read or the world is on the tape: `what` has no derivative.
void s2_lua_not_on_tape(lua_State *L, const S2LuaWorld *lw, const char *what);
// A body or joint was made: `build` as in world_tape.h, reading its arguments after
// s2_lua_tracked_shift(L, begin, which, by).
void s2_lua_made(lua_State *L, S2LuaWorld *lw, int begin, bool joint, int32_t slot,
                 S2WorldBuild *build, void *user);

// ---- Settings ---------------------------------------------------------------------------------

// Settings that were given tracked numbers: open this, report to it after each setting that was
// read, and write when the world has them.
typedef struct S2SettingReads {
  int object, begin; // stack indices: what was on top, s2_lua_writes
  int count, places, terms;
  S2Place place[8]; // of the settings that were read
  S2Term term[8];
} S2SettingReads;
S2SettingReads s2_setting_reads(lua_State *L, const S2LuaWorld *lw);
void s2_setting_was_read(lua_State *L, int setting, const S2WorldDef *def, S2SettingReads *reads);
void s2_setting_wrote(lua_State *L, S2LuaWorld *lw, const S2SettingReads *reads);
// Pushes one of those; false: a setting without derivative.
bool s2_setting_push_tracked(lua_State *L, int setting, S2LuaWorld *lw);

// ---- Reading ----------------------------------------------------------------------------------

// Push a number or a list of them from places of the world, which is on the tape.
void s2_lua_push_place(lua_State *L, S2LuaWorld *lw, S2Place place);
void s2_lua_push_places(lua_State *L, S2LuaWorld *lw, int count, const S2Place *places);
// What `measure` gives, as it depends on places; one number or a list.
void s2_lua_push_measured(lua_State *L, S2LuaWorld *lw, int count, S2WorldMeasure *measure,
                          const void *user, int places, const S2Place *place);
// `count` numbers as an array whose node is `var` (0: plain).
void s2_lua_push_list(lua_State *L, int count, const double *values, S2Var var);
// A time, which is tracked when dt is.
void s2_lua_push_time(lua_State *L, const S2LuaWorld *lw, double t);
void s2_lua_push_dt(lua_State *L, S2LuaWorld *lw, double dt); // of a step, or part of it

// A list of the names of flags, see S2GradientFlag: what derivatives of worlds are worth.
void s2_lua_push_flags(lua_State *L, unsigned flags);

// The tracked arguments among `count` numbers from `base` on, for acts; at most `most`.
int s2_lua_arguments(const S2LuaRead *list, int reads, const double *base, S2Argument *arguments,
                     int most);

#endif
