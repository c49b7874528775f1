// What environments need: worlds of all kinds stepped in threads, and whether one can be used
// again.
#include "lua/batch/batch.h"
#include "lua/diff/on_tape.h"

#include "dynamics/dynamics.h"

bool s2_lua_batch_alone(const S2LuaWorld *lw) {
  bool alone = lw->recorders.count > 0 || s2_world_settings(lw->world)->solver == S2_SOLVER_PROGRAM;
  for (int hook = 0; hook < S2_HOOK_COUNT; hook++) {
    alone = alone || lw->hooks[hook] > 0;
  }
  return alone || lw->control_in_lua || s2_world_asks(lw->world);
}

enum { CHUNK = 64 }; // worlds a thread takes at a time; neighbours of one kind are stepped together

typedef struct AdvanceWorld {
  S2LuaWorld *lw;
  int number;      // in the list of the script, from 1
  S2Status status; // of its last step
} AdvanceWorld;

typedef struct Advance {
  int count, steps;
  AdvanceWorld *at;
} Advance;

// Worlds that a step failed for stay behind.
static void advance_chunk(void *user, int worker, int chunk) {
  const Advance *advance = user;
  (void)worker;
  int first = chunk * CHUNK, all = advance->count - first, count = 0;
  int place[CHUNK];
  S2World *worlds[CHUNK];
  S2Status status[CHUNK];
  all = all < CHUNK ? all : CHUNK;
  // At first all of the chunk
  for (int i = 0; i < all; i++) {
    advance->at[first + i].status = s2_ok();
    place[count++] = first + i;
  }
  for (int step = 0; step < advance->steps && count > 0; step++) {
    for (int i = 0; i < count; i++) {
      worlds[i] = advance->at[place[i]].lw->world;
    }
    (void)s2_worlds_step_many(worlds, count, status);
    // Those that could close ranks
    int left = 0;
    for (int i = 0; i < count; i++) {
      if (status[i].code == S2_OK) {
        place[left++] = place[i];
      } else {
        advance->at[place[i]].status = status[i];
      }
    }
    count = left;
  }
}

// Pushes the world at `index` of the list; raises where it cannot be stepped now.
static S2LuaWorld *advance_world(lua_State *L, int index) {
  lua_rawgeti(L, 1, index);
  S2LuaWorld *lw = s2_lua_world(L, lua_gettop(L));
  if (lw->phase != S2_IDLE) {
    s2_lua_fail(L, "world %d: it cannot be stepped from inside its step", index);
  }
  if (s2_lua_on_tape(lw) != NULL) {
    s2_lua_fail(L, "world %d: steps in threads have no derivative", index);
  }
  return lw;
}

int s2_lua_advance(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  S2Workers *workers = s2_lua_workers(L, 2);
  lua_Integer steps = luaL_checkinteger(L, 3);
  luaL_argcheck(L, steps >= 1 && steps <= INT32_MAX, 3, "1 step or more");
  lua_settop(L, 3);
  int all = (int)lua_rawlen(L, 1);
  Advance advance = {.steps = (int)steps};
  advance.at =
      lua_newuserdatauv(L, sizeof *advance.at * (size_t)(all + 1), 0); // until the call is over
  // Those that functions of the script step are left to it: their numbers.
  lua_newtable(L);
  int alone = lua_gettop(L);
  for (int i = 1; i <= all; i++) {
    S2LuaWorld *lw = advance_world(L, i);
    lua_settop(L, alone);
    if (s2_lua_batch_alone(lw)) {
      lua_pushinteger(L, i);
      lua_rawseti(L, alone, (lua_Integer)lua_rawlen(L, alone) + 1);
    } else {
      advance.at[advance.count++] = (AdvanceWorld){.lw = lw, .number = i};
    }
  }
  s2_workers_run(workers, (advance.count + CHUNK - 1) / CHUNK, advance_chunk, &advance);
  // What failed, by number.
  lua_newtable(L);
  for (int i = 0; i < advance.count; i++) {
    s2_lua_world_changed(advance.at[i].lw);
    if (advance.at[i].status.code != S2_OK) {
      lua_pushstring(L, advance.at[i].status.message);
      lua_rawseti(L, -2, advance.at[i].number);
    }
  }
  return 2;
}

int s2_lua_bare(lua_State *L) {
  const S2LuaWorld *lw = s2_lua_check(L, 1, s2_type_world);
  bool bare = lw->world != NULL && lw->recorders.count == 0 && s2_lua_on_tape(lw) == NULL;
  for (int hook = 0; hook < S2_HOOK_COUNT; hook++) {
    bare = bare && lw->hooks[hook] == 0;
  }
  if (bare) {
    lua_pushinteger(L, (lua_Integer)s2_world_revision(lw->world));
  } else {
    lua_pushnil(L);
  }
  return 1;
}

int s2_lua_drawn(lua_State *L) {
  const S2LuaRandom *random = s2_lua_check(L, 1, s2_type_random);
  lua_pushlstring(L, (const char *)&random->rng, sizeof random->rng);
  return 1;
}

int s2_lua_unsolved(lua_State *L) {
  const S2WorldStats *stats = s2_world_stats(s2_lua_world(L, 1)->world);
  lua_pushinteger(L, (lua_Integer)stats->unsolved);
  lua_pushinteger(L, (lua_Integer)stats->mode_changes);
  return 2;
}
