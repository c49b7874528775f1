// The state of a world as values: state vectors, snapshots, clones.
#include "lua/diff/array.h"
#include "lua/diff/on_tape.h"

#include <string.h>

// A snapshot is an engine image with references to the Lua values that return with destroyed
// bodies.
typedef struct Snapshot {
  const char *type;
  uint64_t world;       // number that identifies the world
  S2WorldTape *on_tape; // record of the world in gradient call `generation`
  uint32_t generation;  // 0: not on a tape
  bool dt_on_tape;
  size_t size; // bytes of the image
  unsigned char image[];
} Snapshot;

enum {
  SNAPSHOT_DATA = 1,
  SNAPSHOT_LAWS,
  SNAPSHOT_CONSTRAINTS,
  SNAPSHOT_STORES = SNAPSHOT_CONSTRAINTS
};

// ---- State vector -----------------------------------------------------------------------------

static double *take_state(S2LuaWorld *lw, int *count) {
  *count = s2_world_state_size(lw->world);
  s2_arena_reset(&lw->scratch);
  return S2_TAKE(&lw->scratch, double, *count + 1);
}

// Returns the places of the numbers of world:state(), in the world's scratch memory.
static S2Place *state_places(S2LuaWorld *lw, int *count) {
  *count = s2_world_state_size(lw->world);
  s2_arena_reset(&lw->scratch);
  S2Place *places = S2_TAKE(&lw->scratch, S2Place, *count + 1);
  s2_state_places(lw->world, places);
  return places;
}

static int world_state(lua_State *L) {
  S2LuaWorld *lw = s2_lua_world(L, 1);
  int count;
  // On a tape, push a list of tracked numbers, otherwise a table of numbers.
  if (s2_lua_on_tape(lw) != NULL) {
    S2Place *places = state_places(lw, &count);
    const S2World *world = lw->world;
    double *values = S2_TAKE(&lw->scratch, double, count + 1);
    s2_world_state(world, values);
    s2_lua_push_list(L, count, values,
                     s2_world_tape_read_places(s2_lua_on_tape(lw), world, count, places));
    return 1;
  }
  double *state = take_state(lw, &count);
  s2_world_state(lw->world, state);
  lua_createtable(L, count, 0);
  for (int i = 0; i < count; i++) {
    lua_pushnumber(L, state[i]);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

static int world_set_state(lua_State *L) {
  S2LuaWorld *lw = s2_lua_world(L, 1);
  char text[S2_LUA_TEXT];
  // The value is a table or a sim2d array.
  if (lua_type(L, 2) != LUA_TTABLE && s2_lua_array_test(L, 2) == NULL) {
    return s2_lua_bad_argument(L, 2, "table expected, got %s", s2_lua_describe(L, 2, text));
  }
  // Read as many numbers as world:state() returns. Tracked numbers are recorded.
  int count, begin = s2_lua_writes(L, lw);
  double *state = take_state(lw, &count);
  lua_Integer given = luaL_len(L, 2);
  if (given != count) {
    return s2_lua_bad_argument(L, 2, "%d numbers expected (6 per dynamic body), got %lld", count,
                               (long long)given);
  }
  for (int i = 0; i < count; i++) {
    S2Complaint complaint;
    lua_geti(L, 2, i + 1);
    if (!s2_value_number(L, -1, S2_ANY_NUMBER, &state[i], &complaint)) {
      return s2_lua_bad_argument(L, 2, "[%d]: %s", i + 1, complaint.text);
    }
    lua_pop(L, 1);
  }
  // The engine checks and writes all numbers at once. Then they are recorded on the tape.
  s2_lua_try(L, s2_world_set_state(lw->world, state, count));
  const S2LuaRead *list;
  int reads;
  S2WorldTape *tape = s2_lua_written(L, lw, begin, &reads, &list);
  if (tape != NULL) {
    S2Argument *arguments = s2_tape_take(lw->diff->tape, sizeof *arguments * (size_t)(reads + 1));
    s2_world_tape_set_state(tape, lw->world, s2_lua_arguments(list, reads, state, arguments, reads),
                            arguments);
  }
  return 0;
}

// ---- Snapshots --------------------------------------------------------------------------------

// Pushes a copy of a table. If `deep`, nested tables are copied too.
static void push_copy(lua_State *L, int table, bool deep) {
  table = lua_absindex(L, table);
  lua_newtable(L);
  // Copy the lists of laws too, because the world may remove handles from its lists.
  for (lua_pushnil(L); lua_next(L, table) != 0;) {
    lua_pushvalue(L, -2);
    if (deep && lua_type(L, -2) == LUA_TTABLE) {
      push_copy(L, -2, false);
      lua_pushinteger(L, 0); // index 0 of a list of laws is the body
      lua_rawget(L, -4);
      lua_rawseti(L, -2, 0);
    } else {
      lua_pushvalue(L, -2);
    }
    lua_rawset(L, -5);
    lua_pop(L, 1);
  }
}

static void refuse_inside(lua_State *L, const S2LuaWorld *lw, const char *what) {
  if (lw->phase == S2_INSIDE) {
    s2_lua_fail(L, "%s cannot be called while the engine is in the middle of a step", what);
  }
}

static int world_snapshot(lua_State *L) {
  // A snapshot contains the engine's image, the tape record, and the tables of the script.
  S2LuaWorld *lw = s2_lua_world(L, 1);
  refuse_inside(L, lw, "world:snapshot()");
  size_t size = s2_world_image_size(lw->world);
  Snapshot *snapshot = lua_newuserdatauv(L, sizeof *snapshot + size, SNAPSHOT_STORES);
  snapshot->type = s2_type_snapshot;
  snapshot->world = lw->number;
  snapshot->size = size;
  s2_world_image_write(lw->world, snapshot->image);
  // Store the generation, because the record is valid only in this gradient call.
  snapshot->generation = 0;
  if (s2_lua_on_tape(lw) != NULL) {
    snapshot->on_tape = s2_world_tape_new(lw->diff->tape, NULL);
    snapshot->generation = lw->tape_generation;
    snapshot->dt_on_tape = lw->dt_on_tape;
    s2_world_tape_copy(snapshot->on_tape, lw->on_tape);
  }
  luaL_setmetatable(L, "sim2d.Snapshot");
  // Store the values that return with destroyed bodies: data, laws and functions.
  int at = lua_gettop(L);
  lua_getiuservalue(L, 1, S2_STORE_DATA);
  push_copy(L, -1, false);
  lua_setiuservalue(L, at, SNAPSHOT_DATA);
  lua_getiuservalue(L, 1, S2_STORE_LAWS);
  push_copy(L, -1, true);
  lua_setiuservalue(L, at, SNAPSHOT_LAWS);
  lua_getiuservalue(L, 1, S2_STORE_CONSTRAINTS);
  push_copy(L, -1, false);
  lua_setiuservalue(L, at, SNAPSHOT_CONSTRAINTS);
  lua_settop(L, at);
  return 1;
}

// Adds entries of the snapshot's table that are missing in the world because their bodies were
// destroyed.
static void bring_back(lua_State *L, int store, int from) {
  // Do not replace entries that the world has, because they may be newer.
  lua_getiuservalue(L, 1, store);
  lua_getiuservalue(L, 2, from);
  int kept = lua_gettop(L);
  for (lua_pushnil(L); lua_next(L, kept) != 0;) {
    lua_pushvalue(L, -2);
    if (lua_rawget(L, kept - 1) == LUA_TNIL) {
      lua_pop(L, 1);
      lua_pushvalue(L, -2);
      lua_insert(L, -2);
      lua_rawset(L, kept - 1);
    } else {
      lua_pop(L, 2);
    }
  }
  lua_settop(L, kept - 2);
}

static int world_restore(lua_State *L) {
  S2LuaWorld *lw = s2_lua_world(L, 1);
  const Snapshot *snapshot = s2_lua_check(L, 2, s2_type_snapshot);
  refuse_inside(L, lw, "world:restore()");
  // Restore the engine's state, then the tape record, then the tables.
  S2Status status = s2_world_image_read(lw->world, snapshot->image, snapshot->size);
  if (status.code == S2_INVALID) {
    return s2_lua_bad_argument(L, 2, "%s", status.message);
  }
  s2_lua_try(L, status);
  // Only a snapshot from this gradient call has tracked numbers. Any other snapshot is constant.
  bool tracked = snapshot->generation != 0 && snapshot->generation == lw->diff->generation;
  if (tracked || s2_lua_on_tape(lw) != NULL) {
    s2_world_tape_copy(s2_lua_put_on_tape(lw), tracked ? snapshot->on_tape : NULL);
    lw->dt_on_tape = tracked && snapshot->dt_on_tape;
  }
  s2_lua_world_changed(lw);
  bring_back(L, S2_STORE_DATA, SNAPSHOT_DATA);
  if (snapshot->world == lw->number) { // laws are callbacks, so a clone has its own laws or none
    bring_back(L, S2_STORE_LAWS, SNAPSHOT_LAWS);
    bring_back(L, S2_STORE_CONSTRAINTS, SNAPSHOT_CONSTRAINTS);
  } else { // the functions belong to the joints of the snapshot
    lua_getiuservalue(L, 2, SNAPSHOT_CONSTRAINTS);
    push_copy(L, -1, false);
    lua_setiuservalue(L, 1, S2_STORE_CONSTRAINTS);
    lua_pop(L, 1);
  }
  s2_lua_laws_sync(L, 1);
  return 0;
}

int s2_lua_world_rewind(lua_State *L) {
  S2LuaWorld *lw = s2_lua_world(L, 1);
  const Snapshot *snapshot = s2_lua_check(L, 2, s2_type_snapshot);
  refuse_inside(L, lw, "env:reset()");
  uint64_t changes = (uint64_t)luaL_checkinteger(L, 3);
  s2_lua_try(L, s2_world_image_return(lw->world, snapshot->image, snapshot->size, changes));
  lua_pushinteger(L, (lua_Integer)s2_world_changes(lw->world));
  return 1;
}

static int snapshot_tostring(lua_State *L) {
  const Snapshot *snapshot = s2_lua_check(L, 1, s2_type_snapshot);
  lua_pushfstring(L, "Snapshot (%I bytes)", (lua_Integer)snapshot->size);
  return 1;
}

// ---- Clones -----------------------------------------------------------------------------------

static int world_clone(lua_State *L) {
  // Callbacks are copied only if requested.
  static const char *const names[] = {"callbacks", "functions", NULL};
  S2LuaWorld *lw = s2_lua_world(L, 1);
  lua_settop(L, 2);
  S2Keys keys = s2_keys_open(L, 2, true, names, NULL, 0);
  bool callbacks = false, functions = false;
  s2_keys_boolean(&keys, "callbacks", &callbacks);
  s2_keys_boolean(&keys, "functions", &functions);
  functions = functions || callbacks;
  refuse_inside(L, lw, "world:clone()");
  // Constraints that the script defines need their functions.
  if (!functions && s2_lua_has_constraints(lw)) {
    return s2_lua_fail(L, "world:clone(): functions of the script constrain, pull or move bodies; "
                          "copy them with {functions = true} or {callbacks = true}");
  }
  // Create the object first, then the engine's copy, which the object owns.
  S2LuaWorld *copy = s2_lua_push_world(L);
  int at = lua_gettop(L);
  S2World *world;
  s2_lua_try(L, s2_world_clone(lw->world, &world));
  s2_lua_world_attach(copy, world);
  copy->judged = lw->judged;
  // The numbers of the copy have the same dependencies as the originals.
  if (s2_lua_on_tape(lw) != NULL) {
    s2_world_tape_copy(s2_lua_put_on_tape(copy), lw->on_tape);
    copy->dt_on_tape = lw->dt_on_tape;
  }
  lua_getiuservalue(L, 1, S2_STORE_DATA);
  push_copy(L, -1, false);
  lua_setiuservalue(L, at, S2_STORE_DATA);
  lua_settop(L, at);
  // Copy the functions called within a step, then the callbacks before and after it.
  if (functions) {
    lua_getiuservalue(L, 1, S2_STORE_CONSTRAINTS);
    push_copy(L, -1, false);
    lua_setiuservalue(L, at, S2_STORE_CONSTRAINTS);
    lua_settop(L, at);
    copy->constraints = lw->constraints;
  }
  if (callbacks) {
    s2_lua_hooks_copy(L, 1, at);
  }
  return 1;
}

const luaL_Reg s2_world_state_methods[] = {
    {"state", world_state},     {"set_state", world_set_state}, {"snapshot", world_snapshot},
    {"restore", world_restore}, {"clone", world_clone},         {NULL, NULL}};

void s2_lua_open_snapshot(lua_State *L) {
  s2_lua_metatable(L, s2_type_snapshot);
  lua_pushcfunction(L, snapshot_tostring);
  lua_setfield(L, -2, "__tostring");
  lua_pop(L, 1);
}
