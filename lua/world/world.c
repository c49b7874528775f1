// Worlds: creation, fields, closing.
#include "lua/diff/on_tape.h"
#include "lua/record/live.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// Fields that are not settings. Their numbers follow the settings in the table of fields.
enum { FIELD_TIME = 100, FIELD_BODIES, FIELD_JOINTS };

static const char WORLDS = 'w'; // Registry key (address) of a weak table: number -> world.

// Documented names that are not implemented yet.
static const char *const later_names[] = {NULL};

// ---- Life -------------------------------------------------------------------------------------

static S2LuaWorld *check_world(lua_State *L, int index) {
  return s2_lua_check(L, index, s2_type_world);
}

S2LuaWorld *s2_lua_world(lua_State *L, int index) {
  S2LuaWorld *lw = check_world(L, index);
  if (lw->world == NULL) {
    s2_lua_fail(L, "world is closed");
  }
  return lw;
}

void s2_lua_new_weak_table(lua_State *L) {
  lua_newtable(L);
  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "v");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
}

// Reports the approximate size of an engine world to Lua's collector. A world with one body takes 8
// kB after a step. The collector does not see this memory and would otherwise let thousands of
// worlds accumulate.
static void world_tell_collector(lua_State *L) {
  enum { KILOBYTES = 8 };
  if (lua_gc(L, LUA_GCISRUNNING) == 1) {
    lua_gc(L, LUA_GCSTEP, KILOBYTES);
  }
}

S2LuaWorld *s2_lua_push_world(lua_State *L) {
  world_tell_collector(L);
  // User values store the Lua values of the world. The engine's world is created later.
  S2LuaSession *session = s2_lua_session(L);
  S2LuaWorld *lw = lua_newuserdatauv(L, sizeof *lw, S2_STORE_COUNT);
  memset(lw, 0, sizeof *lw);
  lw->type = s2_type_world;
  lw->session = session;
  lw->diff = s2_lua_diff(L);
  lw->number = ++session->made;
  lw->bodies_stale = lw->joints_stale = lw->names_stale = true;
  s2_arena_init(&lw->scratch);
  // Tables of objects by serial are weak. Tables of script values are not weak.
  int world = lua_gettop(L);
  for (int store = S2_STORE_BODIES; store <= S2_STORE_COUNT; store++) {
    if (store == S2_STORE_BODIES || store == S2_STORE_JOINTS) {
      s2_lua_new_weak_table(L);
      lua_setiuservalue(L, world, store);
    } else if (store == S2_STORE_DATA || store == S2_STORE_LAWS || store == S2_STORE_HOOKS ||
               store == S2_STORE_CONSTRAINTS || store == S2_STORE_ROWS) {
      lua_newtable(L);
      lua_setiuservalue(L, world, store);
    }
  }
  // Create the lists, and the guard that undoes a step, only once.
  s2_lua_push_collection(L, world, false);
  lua_setiuservalue(L, world, S2_STORE_BODY_LIST);
  s2_lua_push_collection(L, world, true);
  lua_setiuservalue(L, world, S2_STORE_JOINT_LIST);
  s2_lua_push_guard(L, world);
  lua_setiuservalue(L, world, S2_STORE_GUARD);
  luaL_setmetatable(L, "sim2d.World");
  // Store the world in a weak table of worlds by number, for sim.worlds.
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &WORLDS) != LUA_TTABLE) {
    lua_pop(L, 1);
    s2_lua_new_weak_table(L);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &WORLDS);
  }
  lua_pushvalue(L, world);
  lua_rawseti(L, -2, (lua_Integer)lw->number);
  lua_pop(L, 1);
  return lw;
}

int s2_lua_worlds(lua_State *L) {
  lua_newtable(L);
  int list = lua_gettop(L);
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &WORLDS) == LUA_TTABLE) {
    // List worlds that are open and not about to be collected, oldest first.
    for (const S2LuaWorld *lw = s2_lua_session(L)->oldest; lw != NULL; lw = lw->newer) {
      if (lua_rawgeti(L, -1, (lua_Integer)lw->number) != LUA_TNIL) {
        lua_rawseti(L, list, (lua_Integer)lua_rawlen(L, list) + 1);
      } else {
        lua_pop(L, 1);
      }
    }
  }
  lua_settop(L, list);
  return 1;
}

void s2_lua_world_attach(S2LuaWorld *lw, S2World *world) {
  // Append the world to the session's list of open worlds, which s2_session_close closes.
  lw->world = world;
  lw->older = lw->session->newest;
  if (lw->older != NULL) {
    lw->older->newer = lw;
  } else {
    lw->session->oldest = lw;
  }
  lw->session->newest = lw;
  // Let the engine call back into Lua.
  S2Callbacks callbacks;
  s2_lua_engine_callbacks(lw, &callbacks);
  s2_world_set_callbacks(world, &callbacks);
}

void s2_lua_world_changed(S2LuaWorld *lw) {
  lw->bodies_stale = lw->joints_stale = lw->names_stale = true;
}

bool s2_lua_world_close(S2LuaWorld *lw, S2Status *status) {
  *status = s2_ok();
  if (lw->world == NULL) {
    return true;
  }
  // Close the viewer and the recordings first, because they still read the world.
  s2_lua_live_world_closes(lw);
  bool good = s2_lua_recorders_close(lw, status);
  s2_lua_world_gather(lw);
  s2_lua_warnings_close(lw);
  s2_world_destroy(lw->world);
  lw->world = NULL;
  // Free the memory of the binding, then remove the world from the session's list.
  s2_arena_free(&lw->scratch);
  s2_array_free(lw->bodies);
  s2_array_free(lw->joints);
  s2_array_free(lw->recorders);
  *(lw->older != NULL ? &lw->older->newer : &lw->session->oldest) = lw->newer;
  *(lw->newer != NULL ? &lw->newer->older : &lw->session->newest) = lw->older;
  return good;
}

// True if a function further down the stack uses this world. Metamethods of tables that it reads,
// and finalisers, may run within such a function.
static bool is_in_use(lua_State *L, const S2LuaWorld *lw) {
  // The first argument of each C function of the binding is the object, from which the world is
  // found.
  lua_Debug frame;
  bool in_use = false;
  for (int level = 1; !in_use && lua_getstack(L, level, &frame); level++) {
    lua_getinfo(L, "S", &frame);
    if (strcmp(frame.what, "C") == 0 && lua_getlocal(L, &frame, 1) != NULL) {
      const S2LuaWorld *world = s2_lua_test(L, -1, s2_type_world);
      const S2LuaBody *body = s2_lua_test(L, -1, s2_type_body);
      in_use = world == lw || (body != NULL && body->lw == lw);
      lua_pop(L, 1);
    }
  }
  return in_use;
}

static int world_close(lua_State *L) {
  S2LuaWorld *lw = check_world(L, 1);
  // Closing would free memory that the running function uses.
  if (lw->phase != S2_IDLE) {
    return s2_lua_fail(L, "world:close() cannot be called from inside a step");
  }
  if (lw->held != NULL && *lw->held) {
    return s2_lua_fail(L, "world:close() cannot be called from inside a step of its batch");
  }
  if (lw->world != NULL && is_in_use(L, lw)) {
    return s2_lua_fail(L,
                       "world:close() cannot be called while another function of the world runs");
  }
  S2Status status;
  if (!s2_lua_world_close(lw, &status)) {
    return s2_lua_fail(L, "%s", status.message);
  }
  return 0;
}

// A finaliser cannot raise an error, so failures are only printed.
static int world_collect(lua_State *L) {
  S2LuaWorld *lw = check_world(L, 1);
  S2Status status;
  if (!s2_lua_world_close(lw, &status)) {
    fprintf(stderr, "sim2d: %s\n", status.message);
  }
  return 0;
}

static int world_tostring(lua_State *L) {
  S2LuaWorld *lw = check_world(L, 1);
  if (lw->world == NULL) {
    lua_pushliteral(L, "World (closed)");
    return 1;
  }
  char text[S2_LUA_TEXT];
  snprintf(text, sizeof text, "World (t = %.6g s, %d bodies)", s2_world_time(lw->world),
           s2_world_bodies(lw->world, NULL, 0));
  lua_pushstring(L, text);
  return 1;
}

// ---- Making -----------------------------------------------------------------------------------

static int sim_world(lua_State *L) {
  // Command-line options are defaults. Settings in the script override them.
  S2LuaSession *session = s2_lua_session(L);
  lua_settop(L, 1);
  S2Keys keys = s2_keys_open(L, 1, true, s2_setting_names, NULL, 0);
  S2WorldDef def = s2_world_def();
  if (session->open.has_solver) {
    def.solver = session->open.solver;
  }
  if (!isnan(session->open.dt)) {
    def.dt = session->open.dt;
  }
  if (!isnan(session->open.budget)) {
    def.budget = session->open.budget;
  }
  if (session->open.threads > 0) {
    def.threads = session->open.threads;
  }
  def.strict = session->open.strict;
  def.audit = session->open.audit || session->open.strict;
  def.profile = session->open.profile;
  // Create the object before the engine's world, so that no later failure can leak the engine's
  // world.
  S2LuaWorld *lw = s2_lua_push_world(L);
  lw->judged = s2_keys_push(&keys, "audit") == LUA_TNIL;
  lua_pop(L, 1);
  S2SettingReads reads = s2_setting_reads(L, lw);
  // Read the settings in order, and record the tracked numbers of each.
  for (int i = 0; s2_setting_names[i] != NULL; i++) {
    S2Complaint complaint;
    if (s2_keys_push(&keys, s2_setting_names[i]) != LUA_TNIL &&
        !s2_setting_read(L, -1, i, &def, &complaint)) {
      return s2_keys_fail(&keys, s2_setting_names[i], "%s", complaint.text);
    }
    lua_pop(L, 1);
    s2_setting_was_read(L, i, &def, &reads);
  }
  // The engine checks that the settings are consistent.
  S2World *world = NULL;
  S2Status status = s2_world_create(&def, &world);
  if (status.code != S2_OK) {
    return s2_lua_bad_argument(L, 1, "%s", status.message);
  }
  s2_lua_world_attach(lw, world);
  s2_setting_wrote(L, lw, &reads);
  lua_pushvalue(L, reads.object);
  return 1;
}

// ---- Fields -----------------------------------------------------------------------------------

// Upvalue 1 maps names to field numbers, methods, or `false` if not implemented yet.
static int world_index(lua_State *L) {
  S2LuaWorld *lw = check_world(L, 1);
  // Methods and fields share a table. Functions are returned directly.
  lua_pushvalue(L, 2);
  int type = lua_rawget(L, lua_upvalueindex(1));
  if (type == LUA_TFUNCTION) {
    return 1;
  }
  if (type != LUA_TNUMBER) {
    return s2_lua_no_field(L, "World", 2, lua_upvalueindex(1));
  }
  int field = (int)lua_tointeger(L, -1);
  if (lw->world == NULL) {
    return s2_lua_fail(L, "world is closed");
  }
  // Lists are objects of the world. Other fields are settings or the time.
  switch (field) {
  case FIELD_TIME:
    s2_lua_push_time(L, lw, s2_world_time(lw->world));
    break;
  case FIELD_BODIES:
    lua_getiuservalue(L, 1, S2_STORE_BODY_LIST);
    break;
  case FIELD_JOINTS:
    lua_getiuservalue(L, 1, S2_STORE_JOINT_LIST);
    break;
  default:
    if (s2_lua_on_tape(lw) == NULL || !s2_setting_push_tracked(L, field, lw)) {
      s2_setting_push(L, field, s2_world_settings(lw->world));
    }
    break;
  }
  return 1;
}

static int world_newindex(lua_State *L) {
  S2LuaWorld *lw = check_world(L, 1);
  lua_pushvalue(L, 2);
  int type = lua_rawget(L, lua_upvalueindex(1));
  int field = (int)lua_tointeger(L, -1);
  if (type == LUA_TFUNCTION || (type == LUA_TNUMBER && field >= FIELD_TIME)) {
    return s2_lua_fail(L, "World.%s is read-only", lua_tostring(L, 2));
  }
  if (type != LUA_TNUMBER) {
    return s2_lua_no_field(L, "World", 2, lua_upvalueindex(1));
  }
  if (lw->world == NULL) {
    return s2_lua_fail(L, "world is closed");
  }
  // Change a copy of the settings and check it, then configure the world with the copy.
  S2WorldDef def = *s2_world_settings(lw->world);
  S2Complaint complaint;
  S2SettingReads reads = s2_setting_reads(L, lw);
  if (!s2_setting_read(L, 3, field, &def, &complaint)) {
    return s2_lua_fail(L, "World.%s: %s", lua_tostring(L, 2), complaint.text);
  }
  // On a tape, record the tracked numbers of the new setting.
  s2_setting_was_read(L, field, &def, &reads);
  s2_lua_try(L, s2_world_configure(lw->world, &def));
  s2_setting_wrote(L, lw, &reads);
  return 0;
}

void s2_lua_open_world(lua_State *L) {
  static const luaL_Reg methods[] = {{"close", world_close}, {NULL, NULL}};
  static const luaL_Reg meta[] = {{"__gc", world_collect},
                                  {"__close", world_close},
                                  {"__tostring", world_tostring},
                                  {NULL, NULL}};
  static const luaL_Reg functions[] = {{"world", sim_world}, {NULL, NULL}};
  // Store fields by number. `false` marks names that are not implemented yet.
  s2_lua_metatable(L, s2_type_world);
  luaL_setfuncs(L, meta, 0);
  lua_newtable(L); // fields
  for (int i = 0; s2_setting_names[i] != NULL; i++) {
    lua_pushinteger(L, i);
    lua_setfield(L, -2, s2_setting_names[i]);
  }
  lua_pushinteger(L, FIELD_TIME);
  lua_setfield(L, -2, "time");
  lua_pushinteger(L, FIELD_BODIES);
  lua_setfield(L, -2, "bodies");
  lua_pushinteger(L, FIELD_JOINTS);
  lua_setfield(L, -2, "joints");
  for (int i = 0; later_names[i] != NULL; i++) {
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, later_names[i]);
  }
  // Put the methods of all files of the binding into one table.
  s2_lua_functions(L, methods, 0);
  s2_lua_functions(L, s2_world_create_methods, 0);
  s2_lua_open_joint_makers(L);
  s2_lua_open_coordinates(L);
  s2_lua_functions(L, s2_world_constraint_methods, 0);
  s2_lua_functions(L, s2_world_step_methods, 0);
  s2_lua_functions(L, s2_world_hook_methods, 0);
  s2_lua_functions(L, s2_world_timer_methods, 0);
  s2_lua_functions(L, s2_world_read_methods, 0);
  s2_lua_functions(L, s2_world_state_methods, 0);
  s2_lua_functions(L, s2_world_record_methods, 0);
  s2_lua_functions(L, s2_annotate_methods, 0);
  s2_lua_functions(L, s2_world_problem_methods, 0);
  s2_lua_functions(L, s2_world_linearize_methods, 0);
  // Set the table as first upvalue of both functions.
  lua_pushvalue(L, -1);
  lua_pushcclosure(L, world_index, 1);
  lua_setfield(L, -3, "__index");
  lua_pushcclosure(L, world_newindex, 1);
  lua_setfield(L, -2, "__newindex");
  lua_pop(L, 1);
  // Push sim.world through a table, which registers its name for messages.
  lua_newtable(L);
  s2_lua_functions(L, functions, 0);
  lua_getfield(L, -1, "world");
  lua_remove(L, -2);
}
