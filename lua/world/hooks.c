// Script functions that the world calls: lists of handles, and the callbacks before and after a
// step.
#include "lua/diff/on_tape.h"

#include <string.h>

// ---- Lists ------------------------------------------------------------------------------------

// Pushes the list of a handle, and creates it if needed. `world` is an absolute index.
static void push_list(lua_State *L, int world, S2Hook hook, uint32_t serial) {
  // Laws have one list per body. Other hooks have one list per kind.
  bool is_law = hook == S2_HOOK_LAW;
  lua_Integer key = is_law ? (lua_Integer)serial : (lua_Integer)hook + 1;
  lua_getiuservalue(L, world, is_law ? S2_STORE_LAWS : S2_STORE_HOOKS);
  if (lua_rawgeti(L, -1, key) == LUA_TNIL) {
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_rawseti(L, -3, key);
  }
  lua_remove(L, -2);
}

// True if the functions of a hook decide about contacts during a step.
static bool hook_decides(S2Hook hook) {
  return hook == S2_HOOK_FILTER || hook == S2_HOOK_PRE_SOLVE;
}

// The engine calls filters and pre_solve only if a function is registered.
static void hooks_set_callbacks(S2LuaWorld *lw) {
  if (lw->world != NULL) {
    S2Callbacks callbacks;
    s2_lua_engine_callbacks(lw, &callbacks);
    s2_world_set_callbacks(lw->world, &callbacks);
  }
}

S2LuaHandle *s2_lua_hook_add(lua_State *L, int world, S2Hook hook, uint32_t serial) {
  world = lua_absindex(L, world);
  // The handle refers to the function and the world. The list refers to the handle.
  S2LuaHandle *handle = lua_newuserdatauv(L, sizeof *handle, 2);
  *handle = (S2LuaHandle){
      .type = s2_type_handle, .lw = lua_touserdata(L, world), .hook = hook, .serial = serial};
  luaL_setmetatable(L, "sim2d.Handle");
  lua_insert(L, -2);
  lua_setiuservalue(L, -2, 1);
  lua_pushvalue(L, world);
  lua_setiuservalue(L, -2, 2);
  // Append the handle, because functions run in the order of registration.
  push_list(L, world, hook, serial);
  lua_pushvalue(L, -2);
  lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
  lua_pop(L, 1);
  handle->lw->hooks[hook]++;
  if (hook == S2_HOOK_PRE_SOLVE) {
    s2_lua_push_contact(L, world); // create it now: an allocation during the step could fail
    lua_pop(L, 1);
  }
  if (hook_decides(hook)) {
    hooks_set_callbacks(handle->lw);
  }
  return handle;
}

// Drops removed handles from the list on top of the stack, and returns the number of remaining
// handles.
static int sweep_list(lua_State *L) {
  lua_Integer kept = 0, count = (lua_Integer)lua_rawlen(L, -1);
  // Move the remaining handles together, in order.
  for (lua_Integer i = 1; i <= count; i++) {
    lua_rawgeti(L, -1, i);
    const S2LuaHandle *handle = lua_touserdata(L, -1);
    if (handle->removed) {
      lua_pop(L, 1);
    } else {
      lua_rawseti(L, -2, ++kept);
    }
  }
  // Clear the end of the list.
  for (lua_Integer i = kept + 1; i <= count; i++) {
    lua_pushnil(L);
    lua_rawseti(L, -2, i);
  }
  return (int)kept;
}

void s2_lua_hooks_sweep(lua_State *L, int world) {
  S2LuaWorld *lw = lua_touserdata(L, world);
  world = lua_absindex(L, world);
  lw->sweep = false;
  // Sweep the lists by kind and update their counts, then sweep the lists of laws by body.
  lua_getiuservalue(L, world, S2_STORE_HOOKS);
  for (int hook = 0; hook < S2_HOOK_LAW; hook++) {
    if (lua_rawgeti(L, -1, hook + 1) == LUA_TTABLE) {
      int before = lw->hooks[hook];
      lw->hooks[hook] = sweep_list(L);
      if (hook_decides((S2Hook)hook) && lw->hooks[hook] != before) {
        hooks_set_callbacks(lw);
      }
    }
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  lua_getiuservalue(L, world, S2_STORE_LAWS);
  for (lua_pushnil(L); lua_next(L, -2) != 0; lua_pop(L, 1)) {
    sweep_list(L);
  }
  lua_pop(L, 1);
  // Update the engine's marks, so that it does not call Lua for bodies that have lost their last
  // law.
  s2_lua_laws_sync(L, world);
}

void s2_lua_laws_sync(lua_State *L, int world) {
  // A closed world has no bodies.
  S2LuaWorld *lw = lua_touserdata(L, world);
  if (lw->world == NULL) {
    return;
  }
  // After a restore, the engine has old marks, but the lists are current.
  lua_getiuservalue(L, world, S2_STORE_LAWS);
  for (lua_pushnil(L); lua_next(L, -2) != 0; lua_pop(L, 1)) {
    lua_rawgeti(L, -1, 0);
    const S2LuaBody *body = lua_touserdata(L, -1);
    lua_pop(L, 1);
    if (s2_body_alive(lw->world, body->id)) {
      (void)s2_body_set_force_law(lw->world, body->id, lua_rawlen(L, -1) > 0);
    }
  }
  lua_pop(L, 1);
}

// Undoing a step or restoring a snapshot brings destroyed bodies back, so their data and laws are
// kept for a while. They are removed when the destroyed bodies outnumber the living bodies.
void s2_lua_laws_sweep(lua_State *L, int world) {
  S2LuaWorld *lw = lua_touserdata(L, world);
  enum { SMALL = 64 }; // Fewer destroyed bodies are not worth a sweep.
  // Do not sweep inside a step, which may be undone, or for only a few bodies.
  if (lw->phase != S2_IDLE || lw->destroyed < SMALL ||
      lw->destroyed < s2_world_bodies(lw->world, NULL, 0)) {
    return;
  }
  int count;
  const S2BodyId *bodies = s2_lua_bodies(lw, &count);
  lw->destroyed = 0;
  // New tables with the data and laws of living bodies replace the old ones.
  for (int store = S2_STORE_DATA; store <= S2_STORE_LAWS; store++) {
    lua_getiuservalue(L, world, store);
    lua_newtable(L);
    for (int i = 0; i < count; i++) {
      if (lua_rawgeti(L, -2, bodies[i].serial) != LUA_TNIL) {
        lua_rawseti(L, -2, bodies[i].serial);
      } else {
        lua_pop(L, 1);
      }
    }
    lua_setiuservalue(L, world, store);
    lua_pop(L, 1);
  }
}

void s2_lua_hook_remove(lua_State *L, S2LuaHandle *handle) {
  if (handle->removed) {
    return;
  }
  // Only mark the handle, because the list must not change during a traversal.
  handle->removed = true;
  handle->lw->sweep = true;
  if (handle->lw->phase == S2_IDLE) {
    lua_getiuservalue(L, 1, 2);
    s2_lua_hooks_sweep(L, lua_gettop(L));
    lua_pop(L, 1);
  }
}

static int handle_remove(lua_State *L) {
  s2_lua_hook_remove(L, s2_lua_check(L, 1, s2_type_handle));
  return 0;
}

// Registers the functions in the list on top of the stack for another world.
static void copy_list(lua_State *L, int to, S2Hook hook, uint32_t serial) {
  lua_Integer count = (lua_Integer)lua_rawlen(L, -1);
  // Skip tasks, whose threads cannot be copied, and removed handles.
  for (lua_Integer i = 1; i <= count; i++) {
    lua_rawgeti(L, -1, i);
    const S2LuaHandle *old = lua_touserdata(L, -1);
    if (!old->removed && old->timer != S2_TIMER_TASK) {
      lua_getiuservalue(L, -1, 1);
      S2LuaHandle *handle = s2_lua_hook_add(L, to, hook, serial);
      // Timers keep the times of the original.
      handle->timer = old->timer;
      handle->start = old->start;
      handle->period = old->period;
      lua_pop(L, 1);
    }
    lua_pop(L, 1);
  }
}

void s2_lua_hooks_copy(lua_State *L, int from, int to) {
  // Copy the lists by kind, then the laws of each body.
  lua_getiuservalue(L, from, S2_STORE_HOOKS);
  for (int hook = 0; hook < S2_HOOK_LAW; hook++) {
    if (lua_rawgeti(L, -1, hook + 1) == LUA_TTABLE && hook != S2_HOOK_CONTROL) {
      copy_list(L, to, (S2Hook)hook, 0);
    }
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  lua_getiuservalue(L, from, S2_STORE_LAWS);
  for (lua_pushnil(L); lua_next(L, -2) != 0; lua_pop(L, 1)) {
    // In the copy, the body has the same handle but another object.
    lua_rawgeti(L, -1, 0);
    S2BodyId id = ((const S2LuaBody *)lua_touserdata(L, -1))->id;
    lua_pop(L, 1);
    copy_list(L, to, S2_HOOK_LAW, id.serial);
    push_list(L, to, S2_HOOK_LAW, id.serial);
    s2_lua_push_body(L, to, id);
    lua_rawseti(L, -2, 0);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

// ---- Around the step --------------------------------------------------------------------------

void s2_lua_hooks_call(lua_State *L, S2LuaWorld *lw, S2Hook hook, double t) {
  // Read the count first, because functions added during the calls wait for the next step.
  int count = lw->hooks[hook], top = lua_gettop(L);
  if (count == 0) {
    return;
  }
  double start = s2_lua_callback_clock(lw);
  lua_rawgeti(L, lw->at_hooks, hook + 1);
  for (int i = 1; i <= count; i++) {
    lua_rawgeti(L, top + 1, i);
    const S2LuaHandle *handle = lua_touserdata(L, -1);
    // Push the arguments: the world, the time and the duration.
    if (!handle->removed) {
      lua_getiuservalue(L, -1, 1);
      lua_pushvalue(L, 1);
      s2_lua_push_time(L, lw, t);
      s2_lua_push_dt(L, lw, s2_world_settings(lw->world)->dt);
      lua_call(L, 3, 0);
    }
    lua_settop(L, top + 1);
  }
  lua_settop(L, top);
  lw->session->open.seconds_lua += s2_lua_callback_clock(lw) - start;
}

static const char *const event_names[] = {
    [S2_CONTACT_BEGIN] = "contact_begin",     [S2_CONTACT_END] = "contact_end",
    [S2_CONTACT_IMPULSE] = "contact_impulse", [S2_SENSOR_BEGIN] = "sensor_begin",
    [S2_TOUCH_BEGIN] = "touch_begin",         [S2_TOUCH_END] = "touch_end",
    [S2_SENSOR_END] = "sensor_end",           [S2_SOLVER_WARNING] = "solver_warning",
    [S2_JOINT_BREAK] = "joint_break",         [S2_SOLVER_WARNING + 1] = NULL};

static void set_number(lua_State *L, const char *key, double value) {
  lua_pushnumber(L, value + 0.0); // + 0.0 turns -0 into 0
  lua_setfield(L, -2, key);
}

// Pushes the table that describes an event to its handlers.
static void push_event(lua_State *L, const S2Event *event) {
  // A warning has a text. A break has a joint and a force. Contacts have the other fields.
  lua_createtable(L, 0, 10);
  lua_pushstring(L, event_names[event->type]);
  lua_setfield(L, -2, "type");
  if (event->type == S2_SOLVER_WARNING) {
    lua_pushstring(L, event->message);
    lua_setfield(L, -2, "message");
    return;
  }
  s2_lua_push_body(L, 1, event->a);
  lua_setfield(L, -2, "a");
  s2_lua_push_body(L, 1, event->b);
  lua_setfield(L, -2, "b");
  s2_lua_push_vec2(L, event->point, NULL);
  lua_setfield(L, -2, "point");
  // Omit a joint that was destroyed after the event.
  if (event->type == S2_JOINT_BREAK) {
    if (s2_joint_alive(s2_lua_world(L, 1)->world, event->joint)) {
      s2_lua_push_joint(L, 1, event->joint);
      lua_setfield(L, -2, "joint");
    }
    set_number(L, "force", event->force);
    return;
  }
  // For contacts, add the impulses and the approach velocity.
  s2_lua_push_vec2(L, event->normal, NULL);
  lua_setfield(L, -2, "normal");
  set_number(L, "normal_impulse", event->normal_impulse);
  set_number(L, "tangent_impulse", event->tangent_impulse);
  set_number(L, "speed", event->speed);
  s2_lua_push_vec2(L, event->impulse, NULL);
  lua_setfield(L, -2, "impulse");
}

void s2_lua_events_call(lua_State *L, S2LuaWorld *lw) {
  // Process the events in order, and call all handlers of each event.
  int count, top = lua_gettop(L);
  for (int i = 0;; i++) {
    // Get the list at each pass, because handlers may change the world and the list.
    const S2Event *events = s2_world_events(lw->world, &count);
    if (i >= count) {
      return;
    }
    S2Hook hook = (S2Hook)(S2_HOOK_EVENT + (int)events[i].type);
    int handlers = lw->hooks[hook];
    // Print warnings that have no handler.
    if (handlers == 0) {
      if (events[i].type == S2_SOLVER_WARNING) {
        s2_lua_warn(lw, events[i].message);
      }
      continue;
    }
    // Create one table per event for all of its handlers.
    double start = s2_lua_callback_clock(lw);
    lua_rawgeti(L, lw->at_hooks, hook + 1);
    push_event(L, &events[i]);
    for (int k = 1; k <= handlers; k++) {
      lua_rawgeti(L, top + 1, k);
      if (!((const S2LuaHandle *)lua_touserdata(L, -1))->removed) {
        lua_getiuservalue(L, -1, 1);
        lua_pushvalue(L, top + 2);
        lua_call(L, 1, 0);
      }
      lua_settop(L, top + 2);
    }
    lua_settop(L, top);
    lw->session->open.seconds_lua += s2_lua_callback_clock(lw) - start;
  }
}

// ---- Registering ------------------------------------------------------------------------------

static void check_function(lua_State *L, int argument) {
  char text[S2_LUA_TEXT];
  // The value must be a function or an object that can be called.
  if (lua_type(L, argument) == LUA_TFUNCTION) {
    return;
  }
  if (luaL_getmetafield(L, argument, "__call") == LUA_TNIL) {
    s2_lua_bad_argument(L, argument, "function expected, got %s",
                        s2_lua_describe(L, argument, text));
  }
  lua_pop(L, 1);
}

static int hook_add(lua_State *L, S2Hook hook) {
  s2_lua_world(L, 1);
  check_function(L, 2);
  lua_settop(L, 2);
  s2_lua_hook_add(L, 1, hook, 0);
  return 1;
}

static int world_before_step(lua_State *L) {
  return hook_add(L, S2_HOOK_BEFORE);
}

static int world_after_step(lua_State *L) {
  return hook_add(L, S2_HOOK_AFTER);
}

static int world_filter(lua_State *L) {
  return hook_add(L, S2_HOOK_FILTER);
}

static int world_pre_solve(lua_State *L) {
  return hook_add(L, S2_HOOK_PRE_SOLVE);
}

static int world_on(lua_State *L) {
  // Read the type of event, then the function.
  s2_lua_world(L, 1);
  int type = 0;
  S2Complaint complaint;
  if (!s2_value_choice(L, 2, event_names, &type, &complaint)) {
    return s2_lua_bad_argument(L, 2, "%s", complaint.text);
  }
  check_function(L, 3);
  lua_settop(L, 3);
  s2_lua_hook_add(L, 1, (S2Hook)(S2_HOOK_EVENT + type), 0);
  return 1;
}

static int world_no_contact(lua_State *L) {
  S2LuaWorld *lw = s2_lua_world(L, 1);
  S2LuaBody *a = s2_lua_body_of(L, 2, lw), *b = s2_lua_body_of(L, 3, lw);
  s2_lua_try(L, s2_world_no_contact(lw->world, a->id, b->id, true));
  return 0;
}

int s2_lua_body_force_law(lua_State *L) {
  // The engine calls force laws only for bodies with this mark.
  S2LuaBody *body = s2_lua_body(L, 1);
  check_function(L, 2);
  lua_settop(L, 2);
  S2BodyInfo info;
  s2_lua_try(L, s2_body_info(body->lw->world, body->id, &info));
  if (info.type != S2_DYNAMIC) {
    return s2_lua_fail(L,
                       "force_law: %s is %s, so force laws cannot move it: set its type to "
                       "\"dynamic\" first",
                       luaL_tolstring(L, 1, NULL), info.type == S2_STATIC ? "static" : "kinematic");
  }
  s2_lua_try(L, s2_body_set_force_law(body->lw->world, body->id, true));
  lua_getiuservalue(L, 1, 1);
  // The list contains the body at index 0, which is the first argument of the law.
  push_list(L, 3, S2_HOOK_LAW, body->id.serial);
  lua_pushvalue(L, 1);
  lua_rawseti(L, -2, 0);
  lua_pushvalue(L, 2);
  s2_lua_hook_add(L, 3, S2_HOOK_LAW, body->id.serial);
  return 1;
}

const luaL_Reg s2_world_hook_methods[] = {{"before_step", world_before_step},
                                          {"after_step", world_after_step},
                                          {"filter", world_filter},
                                          {"pre_solve", world_pre_solve},
                                          {"on", world_on},
                                          {"no_contact", world_no_contact},
                                          {NULL, NULL}};

static int handle_no_field(lua_State *L) {
  return s2_lua_no_field(L, "Handle", 2, lua_upvalueindex(1));
}

static int handle_tostring(lua_State *L) {
  const S2LuaHandle *handle = s2_lua_check(L, 1, s2_type_handle);
  lua_pushfstring(L, "Handle%s", handle->removed ? " (removed)" : "");
  return 1;
}

void s2_lua_open_hooks(lua_State *L) {
  static const luaL_Reg handle_methods[] = {{"remove", handle_remove}, {NULL, NULL}};
  // The table of methods is __index. Reading an unknown name raises an error that suggests the
  // nearest name.
  s2_lua_metatable(L, s2_type_handle);
  lua_newtable(L);
  s2_lua_functions(L, handle_methods, 0);
  lua_createtable(L, 0, 1);
  lua_pushvalue(L, -2);
  lua_pushcclosure(L, handle_no_field, 1);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
  lua_setfield(L, -2, "__index");
  lua_pushcfunction(L, handle_tostring);
  lua_setfield(L, -2, "__tostring");
  lua_pop(L, 1);
}
