// Simulated time: world:every, world:at, world:start with sim.wait.
//
// Timers do not count their calls. Whether a timer fires depends only on the times before and after
// a step. Therefore a restored world repeats the timers after the restored time.
#include "lua/world/binding.h"

#include <math.h>

// A timer fires early by this fraction of its period or of dt, because rounding errors make sums of
// dt miss the exact time.
static const double EARLY = 1e-6;

// Registry key (address) of a weak table: thread -> handle.
static const char TASKS = 'w';

// The number of times a timer is due up to time t.
static double timer_due(const S2LuaHandle *handle, double t, double dt) {
  // A periodic timer counts whole periods. A timer for one time counts 1 after that time, otherwise
  // 0.
  if (handle->timer == S2_TIMER_EVERY) {
    return floor((t - handle->start) / handle->period + EARLY);
  }
  return t >= handle->start - EARLY * dt ? 1 : 0;
}

// ---- Tasks ------------------------------------------------------------------------------------

// Runs the thread on top of the stack until it waits or ends.
static void task_resume(lua_State *L, S2LuaHandle *handle, int world) {
  lua_State *task = lua_tothread(L, -1);
  int arguments = 0, results = 0;
  // At the first call, pass the world to the function as its argument.
  if (lua_status(task) == LUA_OK) { // the task has not started yet
    lua_pushvalue(L, world);
    lua_xmove(L, task, 1);
    arguments = 1;
  }
  // An interrupt must reach the running thread, and afterwards the outer thread.
  lua_State *volatile *interruptible = handle->lw->session->open.task;
  lua_State *outer = interruptible != NULL ? *interruptible : NULL;
  handle->running = true;
  if (interruptible != NULL) {
    *interruptible = task;
  }
  int status = lua_resume(task, L, arguments, &results);
  if (interruptible != NULL) {
    *interruptible = outer;
  }
  handle->running = false;
  // If the task waits, ignore its results.
  if (status == LUA_YIELD) {
    lua_pop(task, results);
    return;
  }
  // If the task has ended, drop the handle. If it failed, raise an error with the traceback of the
  // thread.
  handle->removed = true;
  handle->lw->sweep = true;
  if (status != LUA_OK) {
    lua_xmove(task, L, 1);
    s2_lua_keep_task_traceback(L, task);
    lua_error(L);
  }
}

int s2_lua_wait(lua_State *L) {
  double duration = lua_isnoneornil(L, 1) ? 0 : s2_argument_number(L, 1, S2_NON_NEGATIVE);
  S2LuaHandle *handle = NULL;
  // Find the handle of the running thread.
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &TASKS) == LUA_TTABLE) {
    lua_pushthread(L);
    lua_rawget(L, -2);
    handle = lua_touserdata(L, -1);
  }
  if (handle == NULL || !handle->running) {
    return s2_lua_fail(L, "sim.wait works only inside a function started by world:start");
  }
  handle->start += duration; // from the scheduled time, so that delays do not accumulate
  return lua_yield(L, 0);
}

// ---- Firing -----------------------------------------------------------------------------------

static void timer_fire(lua_State *L, S2LuaHandle *handle, double before, double now, double dt) {
  // Tasks wake up once their time is reached. Timers fire as often as they are due within the step.
  if (handle->timer == S2_TIMER_TASK) {
    if (!handle->running && now >= handle->start - EARLY * dt) {
      lua_getiuservalue(L, -1, 1);
      task_resume(L, handle, 1);
    }
    return;
  }
  // Subtract the number due before the step from the number due after it. There is no counter, so a
  // restore needs no special case.
  double times = timer_due(handle, now, dt) - fmax(timer_due(handle, before, dt), 0);
  for (; times > 0 && !handle->removed; times--) {
    lua_getiuservalue(L, -1, 1);
    lua_pushvalue(L, 1);
    lua_pushnumber(L, now);
    lua_call(L, 2, 0);
  }
}

void s2_lua_timers_call(lua_State *L, S2LuaWorld *lw, S2Hook hook, double before, double now) {
  int count = lw->hooks[hook], top = lua_gettop(L);
  if (count == 0) {
    return;
  }
  double start = s2_lua_callback_clock(lw), dt = s2_world_settings(lw->world)->dt;
  // The count was read first, because functions added during the calls must wait.
  lua_rawgeti(L, lw->at_hooks, hook + 1);
  for (int i = 1; i <= count; i++) {
    lua_rawgeti(L, top + 1, i);
    S2LuaHandle *handle = lua_touserdata(L, -1);
    if (handle->removed) {
      lua_pop(L, 1);
      continue;
    }
    // After a step, S2_HOOK_TIMER timers fire. Before a step, timers for the current time fire.
    if (hook == S2_HOOK_TIMER) {
      timer_fire(L, handle, before, now, dt);
    } else if (fabs(now - handle->start) <= EARLY * dt) {
      timer_fire(L, handle, -INFINITY, now, dt);
    }
    lua_settop(L, top + 1);
  }
  lua_settop(L, top);
  lw->session->open.seconds_lua += s2_lua_callback_clock(lw) - start;
}

// ---- Registering ------------------------------------------------------------------------------

static S2LuaWorld *timer_check(lua_State *L, int function) {
  S2LuaWorld *lw = s2_lua_world(L, 1);
  char text[S2_LUA_TEXT];
  if (lua_type(L, function) != LUA_TFUNCTION) {
    s2_lua_bad_argument(L, function, "function expected, got %s",
                        s2_lua_describe(L, function, text));
  }
  lua_settop(L, function);
  return lw;
}

static int world_every(lua_State *L) {
  double period = s2_argument_number(L, 2, S2_POSITIVE);
  S2LuaWorld *lw = timer_check(L, 3);
  // The first period starts at the current time.
  S2LuaHandle *handle = s2_lua_hook_add(L, 1, S2_HOOK_TIMER, 0);
  handle->timer = S2_TIMER_EVERY;
  handle->start = s2_world_time(lw->world);
  handle->period = period;
  return 1;
}

static int world_at(lua_State *L) {
  double time = s2_argument_number(L, 2, S2_ANY_NUMBER);
  S2LuaWorld *lw = timer_check(L, 3);
  double now = s2_world_time(lw->world), early = EARLY * s2_world_settings(lw->world)->dt;
  if (time < now - early) {
    return s2_lua_bad_argument(L, 2, "the time %.14g s has passed: world.time is %.14g s", time,
                               now);
  }
  // No step will end at the current time, so a timer for this time fires before the next step.
  S2LuaHandle *handle = s2_lua_hook_add(L, 1, time <= now + early ? S2_HOOK_NOW : S2_HOOK_TIMER, 0);
  handle->timer = S2_TIMER_AT;
  handle->start = time;
  return 1;
}

static int world_start(lua_State *L) {
  // The thread refers to the function, and the handle refers to the thread.
  S2LuaWorld *lw = timer_check(L, 2);
  lua_State *task = lua_newthread(L);
  lua_insert(L, 2);
  lua_xmove(L, task, 1);
  S2LuaHandle *handle = s2_lua_hook_add(L, 1, S2_HOOK_TIMER, 0); // pops the thread
  handle->timer = S2_TIMER_TASK;
  handle->start = s2_world_time(lw->world);
  int at = lua_gettop(L);
  // Store the handle in a weak table from threads to handles, for sim.wait. The table keeps neither
  // of them alive.
  lua_getiuservalue(L, at, 1);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &TASKS);
  lua_pushvalue(L, -2);
  lua_pushvalue(L, at);
  lua_rawset(L, -3);
  lua_pop(L, 1);
  // Run the task at once, until its first wait.
  task_resume(L, handle, 1);
  lua_settop(L, at);
  return 1;
}

const luaL_Reg s2_world_timer_methods[] = {
    {"every", world_every}, {"at", world_at}, {"start", world_start}, {NULL, NULL}};

void s2_lua_open_timers(lua_State *L) {
  // The keys are weak, so that unreferenced threads are collected.
  lua_newtable(L);
  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "k");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &TASKS);
}
