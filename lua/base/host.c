#include "lua/base/host.h"

#include "lua/base/traceback.h"
#include "lua/batch/batch.h"
#include "lua/diff/solve_tracked.h"
#include "lua/diff/tracked.h"
#include "lua/parallel/parallel.h"
#include "lua/plan/nlopt.h"
#include "lua/plan/plan.h"
#include "lua/record/canvas.h"
#include "lua/record/live.h"
#include "lua/record/replay.h"
#include "lua/world/binding.h"
#include "record/s2d/output.h"

#include <math.h>

static int host_nearest(lua_State *L) {
  const char *word = luaL_checkstring(L, 1);
  luaL_checktype(L, 2, LUA_TTABLE);
  int count = (int)luaL_len(L, 2);
  // Create an array of names for the search. The Lua table keeps the strings alive.
  const char **names = lua_newuserdatauv(L, ((size_t)count + 1) * sizeof *names, 0);
  for (int i = 0; i < count; i++) {
    lua_geti(L, 2, i + 1);
    names[i] = luaL_checkstring(L, -1); // the table keeps the string alive
    lua_pop(L, 1);
  }
  lua_pushstring(L, s2_text_nearest(word, names, count)); // pushes nil for NULL
  return 1;
}

// (word): the number of command-line words that this option and its value take, or 0 if the word is
// not an option.
static int host_option_words(lua_State *L) {
  const S2Session *session = s2_session(L);
  const char *word = luaL_checkstring(L, 1);
  lua_pushinteger(L, session->option_words != NULL ? session->option_words(word) : 0);
  return 1;
}

// ---- Progress bar -----------------------------------------------------------------------------

static const char BAR[] = "sim2d.progress";

typedef struct Bar {
  S2Progress progress;
  lua_Integer count;
} Bar;

static int bar_update(lua_State *L) {
  Bar *bar = luaL_checkudata(L, 1, BAR);
  lua_Number done = luaL_checknumber(L, 2);
  s2_progress_update(&bar->progress, done / (double)bar->count, (double)NAN);
  return 0;
}

static int bar_done(lua_State *L) {
  Bar *bar = luaL_checkudata(L, 1, BAR);
  s2_progress_end(&bar->progress);
  return 0;
}

// The iterator of `for i in sim.progress(n) do`: called with the bar, an unused state, and i.
static int bar_next(lua_State *L) {
  Bar *bar = luaL_checkudata(L, 1, BAR);
  // The control value is the number of items done.
  lua_Integer done = luaL_optinteger(L, 3, 0);
  if (done >= bar->count) {
    s2_progress_end(&bar->progress);
    lua_pushnil(L);
    return 1;
  }
  s2_progress_update(&bar->progress, (double)done / (double)bar->count, (double)NAN);
  lua_pushinteger(L, done + 1);
  return 1;
}

static int host_progress(lua_State *L) {
  lua_Integer count = luaL_checkinteger(L, 1);
  luaL_argcheck(L, count >= 0, 1, "the number of items, 0 or more, is expected");
  // The bar can be called (it is an iterator) and closed.
  Bar *bar = lua_newuserdatauv(L, sizeof *bar, 0);
  bar->count = count;
  s2_progress_begin(&bar->progress, !s2_session(L)->quiet);
  if (luaL_newmetatable(L, BAR)) {
    static const luaL_Reg methods[] = {{"update", bar_update}, {"done", bar_done}, {NULL, NULL}};
    static const luaL_Reg meta[] = {
        {"__call", bar_next}, {"__close", bar_done}, {"__gc", bar_done}, {NULL, NULL}};
    luaL_setfuncs(L, meta, 0);
    luaL_newlib(L, methods);
    lua_setfield(L, -2, "__index");
  }
  lua_setmetatable(L, -2);
  // Return the iterator, the state, the control value and the closing value. The closing value
  // clears the bar even if a loop ends early.
  lua_pushnil(L);
  lua_pushinteger(L, 0);
  lua_pushvalue(L, -3);
  return 4;
}

// ---- Files ------------------------------------------------------------------------------------

// (path, text): writes the text to a file, completely or not at all. Returns true, or nil and a
// message.
static int host_write_file(lua_State *L) {
  size_t size = 0;
  const char *path = luaL_checkstring(L, 1), *text = luaL_checklstring(L, 2, &size);
  S2Output output;
  S2Status status = s2_output_open_whole(&output, path);
  if (status.code == S2_OK) {
    s2_output_bytes(&output, text, size);
    status = s2_output_close(&output);
  }
  if (status.code != S2_OK) {
    lua_pushnil(L);
    lua_pushstring(L, status.message);
    return 2;
  }
  lua_pushboolean(L, 1);
  return 1;
}

// ---- Worlds -----------------------------------------------------------------------------------

// Pushes the table of World's methods, so that modules can add to it.
static int host_world_methods(lua_State *L) {
  // The first upvalue of world_index() is the table in which it looks up names.
  luaL_getmetatable(L, "sim2d.World");
  lua_getfield(L, -1, "__index");
  lua_getupvalue(L, -1, 1);
  return 1;
}

// Pushes the world if the argument is an open world, else nil.
static int host_world(lua_State *L) {
  s2_lua_world(L, 1);
  lua_settop(L, 1);
  return 1;
}

// (world, function): calls the function at each step, before all before_step functions. Returns a
// handle.
static int host_before_actuators(lua_State *L) {
  s2_lua_world(L, 1);
  lua_settop(L, 2);
  s2_lua_hook_add(L, 1, S2_HOOK_CONTROL, 0);
  return 1;
}

// (world, value): "body" or "joint" if the value is a living body or joint of the world, else nil.
static int host_owned(lua_State *L) {
  // The value must be a living body or joint of this world.
  const S2LuaWorld *lw = s2_lua_world(L, 1);
  const S2LuaBody *body = s2_lua_test(L, 2, s2_type_body);
  const S2LuaJoint *joint = s2_lua_test(L, 2, s2_type_joint);
  if (body != NULL && body->lw == lw && s2_body_alive(lw->world, body->id)) {
    lua_pushliteral(L, "body");
  } else if (joint != NULL && joint->lw == lw && s2_joint_alive(lw->world, joint->id)) {
    lua_pushliteral(L, "joint");
  } else {
    lua_pushnil(L);
  }
  return 1;
}

// (copy, body or joint): `copy` is a copy of the object's world. Returns the object in `copy` with
// the same handle.
static int host_counterpart(lua_State *L) {
  s2_lua_world(L, 1);
  // A copy keeps the handles but has new objects.
  const S2LuaBody *body = s2_lua_test(L, 2, s2_type_body);
  const S2LuaJoint *joint = s2_lua_test(L, 2, s2_type_joint);
  if (body != NULL) {
    s2_lua_push_body(L, 1, body->id);
  } else if (joint != NULL) {
    s2_lua_push_joint(L, 1, joint->id);
  } else {
    lua_pushnil(L);
  }
  return 1;
}

// ---- Host -------------------------------------------------------------------------------------

void s2_host_push(lua_State *L) {
  static const luaL_Reg functions[] = {{"nearest", host_nearest},
                                       {"option_words", host_option_words},
                                       {"progress", host_progress},
                                       {"owned", host_owned},
                                       {"before_actuators", host_before_actuators},
                                       {"world", host_world},
                                       {"world_methods", host_world_methods},
                                       {"fan_options", s2_lua_fan_options},
                                       {"fan", s2_lua_fan},
                                       {"lcs", s2_lua_lcs},
                                       {"lcs_read", s2_lua_lcs_read},
                                       {"counterpart", host_counterpart},
                                       {"recording_methods", s2_lua_recording_methods},
                                       {"record", s2_lua_record_later},
                                       {"record_next", s2_lua_record_next},
                                       {"plots_wanted", s2_lua_plots_wanted},
                                       {"plot_show", s2_lua_plot_show},
                                       {"plot_record", s2_lua_plot_record},
                                       {"nlopt", s2_lua_nlopt},
                                       {"nlopt_about", s2_lua_nlopt_about},
                                       {"decided", s2_lua_decided},
                                       {"decide", s2_lua_decide},
                                       {"canvas", s2_lua_canvas},
                                       {"write_file", host_write_file},
                                       {"color", s2_lua_color},
                                       {"traceback", s2_traceback_handler},
                                       {"value_and_grad", s2_lua_value_and_grad_any},
                                       {NULL, NULL}};
  // The library's own Lua code gets a table of these functions. Scripts cannot reach this table.
  luaL_newlib(L, functions);
  luaL_setfuncs(L, s2_lua_control_functions, 0);
  luaL_setfuncs(L, s2_lua_plan_functions, 0);
  luaL_setfuncs(L, s2_lua_mpcc_functions, 0);
  s2_lua_push_tracked_solvers(L);
  lua_setfield(L, -2, "tracked_solvers");
  s2_lua_push_replay_host(L);
  lua_setfield(L, -2, "replay");
  s2_lua_push_live_host(L);
  lua_setfield(L, -2, "live");
  s2_lua_batch_push(L);
  lua_setfield(L, -2, "batch");
  s2_parallel_push(L);
  lua_setfield(L, -2, "parallel");
}
