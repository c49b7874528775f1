// Stand-in until tracked numbers arrive: nothing is tracked.
#ifndef S2_TRACKED_H
#define S2_TRACKED_H

#include "diff/tape.h"

#include <lauxlib.h>
#include <lua.h>

static inline S2Tape *s2_lua_tape(lua_State *L) {
  (void)L;
  return NULL;
}

static inline uint64_t s2_lua_tape_generation(lua_State *L) {
  (void)L;
  return 1;
}

static inline bool s2_lua_tracked_test(lua_State *L, int index, double *value, S2Var *var) {
  (void)L, (void)index, (void)value, (void)var;
  return false;
}

static inline void s2_lua_tracked_push(lua_State *L, double value, S2Var var) {
  (void)var;
  lua_pushnumber(L, value);
}

#endif
