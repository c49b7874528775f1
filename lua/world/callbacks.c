// Calls from inside the engine's step into Lua. An error must not unwind the engine, so functions
// run in protected mode. The error is stored (S2_STORE_ERROR), the engine undoes the step, and the
// stepping function raises the error again.
#include "lua/diff/slope.h"
#include "lua/solve/program_solver.h"

#include <math.h>
#include <string.h>

// ---- Inside the step --------------------------------------------------------------------------

// Stores the error on top of the stack and makes the engine stop.
static bool put_aside(lua_State *L, S2LuaWorld *lw, int top) {
  // The world keeps the error until the stepping function raises it again.
  lua_setiuservalue(L, 1, S2_STORE_ERROR);
  lw->failed = true;
  lua_settop(L, top);
  return false;
}

bool s2_lua_asked(S2LuaWorld *lw, int top, int arguments, bool sloped, double start) {
  lua_State *L = lw->L;
  S2LuaBorrowed tape;
  if (!s2_lua_borrow_tape(L, lw, lw->at_handler, sloped, &tape)) {
    return put_aside(L, lw, top);
  }
  // Pop the values that the function left on the stack, and count its time as script time.
  bool good = lua_pcall(L, arguments, 0, lw->at_handler) == LUA_OK || put_aside(L, lw, top);
  lua_settop(L, top);
  s2_lua_give_tape_back(L, lw, &tape);
  lw->session->open.seconds_lua += s2_lua_callback_clock(lw) - start;
  return good;
}

void s2_lua_wrong_answer(lua_State *L, int function, const char *what) {
  // Report where the function is defined, because it has already returned.
  lua_Debug info;
  lua_pushvalue(L, function);
  lua_getinfo(L, ">S", &info);
  lua_pushfstring(L, "%s:%d: %s", info.short_src, info.linedefined, what);
  lua_error(L);
}

// Reads the torque and force, which are plain or, on a tape, may be tracked. The nodes of tracked
// numbers are added to `sums`.
static bool law_result(lua_State *L, S2LuaWorld *lw, int top, int function, S2ForceCall *call,
                       S2Var sums[3]) {
  for (int i = 0; i < 3; i++) {
    double value = lua_tonumber(L, i - 3);
    S2Var var = 0;
    bool tracked = s2_lua_tracked_get(L, i - 3, &value, &var);
    if ((!tracked && lua_type(L, i - 3) != LUA_TNUMBER) || !isfinite(value)) {
      static const char *const names[] = {"torque", "fx", "fy"};
      char text[S2_LUA_TEXT];
      lua_Debug law;
      lua_pushvalue(L, function);
      lua_getinfo(L, ">S", &law);
      s2_lua_describe(L, i - 3, text);
      lua_pushfstring(L, "%s:%d: a force law must return torque, fx, fy: %s is %s%s", law.short_src,
                      law.linedefined, names[i], text,
                      lua_isnil(L, i - 3) ? "; a force alone is 'return 0, fx, fy'" : "");
      return put_aside(L, lw, top);
    }
    call->force[i] += value;
    if (var != 0) { // the value 0 of this node is never read
      sums[i] = sums[i] == 0 ? var : s2_tape_scalar2(lw->diff->tape, 0, sums[i], 1, var, 1);
    }
  }
  return true;
}

// Calls all laws of the body in the order of registration, until one fails.
static bool laws_call(lua_State *L, S2LuaWorld *lw, S2LuaWorld *shown, S2ForceCall *call, double t,
                      S2Var sums[3]) {
  int top = lua_gettop(L);
  bool good = true;
  if (lua_rawgeti(L, lw->at_laws, call->body.serial) == LUA_TTABLE) {
    int count = (int)lua_rawlen(L, top + 1);
    for (int i = 1; i <= count && good; i++) {
      lua_rawgeti(L, top + 1, i);
      if (!((const S2LuaHandle *)lua_touserdata(L, -1))->removed) {
        // Push the body (stored in the list at index 0), the time and the duration as arguments.
        lua_getiuservalue(L, -1, 1);
        lua_pushvalue(L, -1);
        lua_rawgeti(L, top + 1, 0);
        s2_lua_push_time(L, shown, t);
        s2_lua_push_dt(L, shown, call->dt);
        good = lua_pcall(L, 3, 3, lw->at_handler) == LUA_OK
                   ? law_result(L, lw, top, top + 3, call, sums)
                   : put_aside(L, lw, top);
      }
      if (good) {
        lua_settop(L, top + 1);
      }
    }
  }
  lua_settop(L, top);
  return good;
}

// Step of the central time difference as a fraction of the world's time step. It is the cube root
// of the rounding unit.
static const double TIME_DIFFERENCE = 6e-6;

// Computes the derivative with respect to time, for events within a step. Their times vary even if
// t is not tracked.
static bool laws_by_time(lua_State *L, S2LuaWorld *lw, S2LuaWorld *shown, S2ForceCall *call) {
  S2ForceCall up = *call, down = *call;
  volatile double after = call->t + TIME_DIFFERENCE * call->dt;
  volatile double before = call->t - TIME_DIFFERENCE * call->dt;
  S2Var ignored[3] = {0, 0, 0};
  memset(up.force, 0, sizeof up.force);
  memset(down.force, 0, sizeof down.force);
  if (!laws_call(L, lw, shown, &up, after, ignored) ||
      !laws_call(L, lw, shown, &down, before, ignored)) {
    return false;
  }
  for (int k = 0; k < 3; k++) {
    call->by_time[k] = (up.force[k] - down.force[k]) / (after - before);
  }
  return true;
}

// Returns the world whose bodies are passed to the laws. It is the clone itself, or the original
// world if the clone borrows its laws.
static S2LuaWorld *laws_show(lua_State *L, S2LuaWorld *lw, uint32_t serial) {
  int top = lua_gettop(L);
  S2LuaWorld *shown = lw;
  if (lua_rawgeti(L, lw->at_laws, serial) == LUA_TTABLE) {
    lua_rawgeti(L, -1, 0);
    shown = ((const S2LuaBody *)lua_touserdata(L, -1))->lw;
  }
  lua_settop(L, top);
  return shown;
}

static bool engine_force(void *user, S2World *world, S2ForceCall *call) {
  S2LuaWorld *lw = user;
  lua_State *L = lw->L;
  int top = lua_gettop(L);
  double start = s2_lua_callback_clock(lw);
  S2LuaWorld *shown = laws_show(L, lw, call->body.serial);
  S2LuaLawSlopes slopes;
  if (!s2_lua_law_slopes(L, shown, lw->at_handler, call->wanted, &slopes)) {
    return put_aside(L, lw, top);
  }
  // The laws must read the state of the calling world, which may be a clone.
  S2World *own = shown->world;
  shown->world = world;
  S2Var sums[3] = {0, 0, 0};
  bool good = laws_call(L, lw, shown, call, call->t, sums);
  // Give the engine the derivatives with respect to the state.
  if (good && slopes.tape != NULL) {
    lua_pushcfunction(L, s2_lua_law_answer);
    lua_pushlightuserdata(L, &slopes);
    lua_pushlightuserdata(L, call);
    lua_pushlightuserdata(L, sums);
    good = lua_pcall(L, 3, 0, lw->at_handler) == LUA_OK || put_aside(L, lw, top);
    bool timed = call->timed && !shown->dt_on_tape;
    good = good && (!timed || laws_by_time(L, lw, shown, call));
  }
  s2_lua_law_slopes_end(L, &slopes);
  shown->world = own;
  // Restore the stack, and count the time spent in the script.
  lua_settop(L, top);
  lw->session->open.seconds_lua += s2_lua_callback_clock(lw) - start;
  return good;
}

typedef struct FilterCall {
  S2BodyId a, b;
  bool collide;
} FilterCall;

// Arguments: the world, the list of handles and the call. Runs in protected mode, because creating
// objects may fail.
static int filter_call(lua_State *L) {
  FilterCall *call = lua_touserdata(L, 3);
  // Push the objects of both bodies, for all filters.
  int count = (int)lua_rawlen(L, 2);
  s2_lua_push_body(L, 1, call->a);
  s2_lua_push_body(L, 1, call->b);
  for (int i = 1; i <= count && call->collide; i++) {
    lua_rawgeti(L, 2, i);
    if (!((const S2LuaHandle *)lua_touserdata(L, -1))->removed) {
      lua_getiuservalue(L, -1, 1);
      lua_pushvalue(L, 4);
      lua_pushvalue(L, 5);
      lua_call(L, 2, 1);
      // Only the result `false` forbids contact. A filter that returns nil allows it.
      call->collide = lua_type(L, -1) != LUA_TBOOLEAN || lua_toboolean(L, -1) != 0;
    }
    lua_settop(L, 5);
  }
  return 0;
}

// Calls a function in protected mode with (world, list of the hook, data).
static bool hook_dispatch(S2LuaWorld *lw, S2Hook hook, lua_CFunction function, void *data) {
  lua_State *L = lw->L;
  int top = lua_gettop(L);
  double start = s2_lua_callback_clock(lw);
  // Run everything that may allocate memory in protected mode, because errors must not unwind the
  // engine.
  lua_pushcfunction(L, function);
  lua_pushvalue(L, 1);
  lua_rawgeti(L, lw->at_hooks, hook + 1);
  lua_pushlightuserdata(L, data);
  return s2_lua_asked(lw, top, 3, false, start);
}

static bool engine_filter(void *user, S2World *world, S2BodyId a, S2BodyId b, bool *collide) {
  S2LuaWorld *lw = user;
  (void)world;
  FilterCall call = {a, b, true};
  if (lw->hooks[S2_HOOK_FILTER] > 0 && !hook_dispatch(lw, S2_HOOK_FILTER, filter_call, &call)) {
    return false;
  }
  *collide = call.collide;
  return true;
}

static int pre_solve_call(lua_State *L) {
  int count = (int)lua_rawlen(L, 2);
  // One object is used for all contacts of the world. It is valid only during the call.
  s2_lua_push_contact(L, 1);
  for (int i = 1; i <= count; i++) {
    lua_rawgeti(L, 2, i);
    if (!((const S2LuaHandle *)lua_touserdata(L, -1))->removed) {
      lua_getiuservalue(L, -1, 1);
      lua_pushvalue(L, 4);
      lua_call(L, 1, 1);
      if (lua_isboolean(L, -1)) { // a boolean would have no effect here, unlike that of a filter
        s2_lua_fail(L,
                    "pre_solve returned %s: return nothing, and change the contact instead, for "
                    "instance contact.enabled = false",
                    lua_toboolean(L, -1) != 0 ? "true" : "false");
      }
    }
    lua_settop(L, 4);
  }
  return 0;
}

static bool engine_pre_solve(void *user, S2World *world, S2PreContact *pre) {
  S2LuaWorld *lw = user;
  (void)world;
  // The object refers to the engine's contact while the functions run.
  S2LuaContact *contact = s2_lua_push_contact(lw->L, 1); // created when the function was registered
  lua_pop(lw->L, 1);
  contact->contact = pre;
  bool good = hook_dispatch(lw, S2_HOOK_PRE_SOLVE, pre_solve_call, NULL);
  contact->contact = NULL;
  return good;
}

static bool engine_proceed(void *user) {
  const S2LuaWorld *lw = user;
  return !s2_lua_interrupted(lw->session);
}

void s2_lua_engine_callbacks(S2LuaWorld *lw, S2Callbacks *callbacks) {
  *callbacks =
      (S2Callbacks){.user = lw,
                    .force = engine_force,
                    // NULL if no function is registered, so that islands may rest and threads may
                    // run.
                    .filter = lw->hooks[S2_HOOK_FILTER] > 0 ? engine_filter : NULL,
                    .pre_solve = lw->hooks[S2_HOOK_PRE_SOLVE] > 0 ? engine_pre_solve : NULL,
                    .constraint = s2_lua_engine_constraint,
                    .motion = s2_lua_engine_motion,
                    .spring = s2_lua_engine_spring,
                    .solve = s2_lua_engine_solve,
                    .proceed = engine_proceed};
}
