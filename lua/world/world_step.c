// Stepping: world:step, world:run, world:steps.
//
// A step consists of before_step callbacks, the engine's step, recordings, events, timers and
// after_step callbacks. An error before the engine has finished undoes the step. For this purpose,
// the stepping function has a guard on its stack, which Lua closes however the function ends.
#include "lua/diff/on_tape.h"
#include "lua/record/live.h"

#include <math.h>

// A run ends early by this fraction of a step, because rounding errors make sums of dt miss the
// exact time.
static const double EARLY = 1e-6;

typedef struct Guard {
  S2LuaWorld *lw; // the guarded world; the user value is the World
} Guard;

// ---- Guard ------------------------------------------------------------------------------------

static void step_undo(lua_State *L, S2LuaWorld *lw, int world) {
  // Return to the mark, if there is one. If no callbacks ran before the engine's step, there is no
  // mark, and the engine has undone everything itself.
  if (lw->marked) {
    s2_world_rollback(lw->world);
    if (s2_lua_on_tape(lw) != NULL) {
      s2_world_tape_copy(lw->on_tape, lw->tape_mark);
    }
    s2_lua_world_changed(lw);
    s2_lua_laws_sync(L, world);
  }
  // Restore the random generator, so that the undone step has drawn no numbers.
  lw->session->random->rng = lw->random_before;
}

static int guard_close(lua_State *L) {
  S2LuaWorld *lw = ((Guard *)lua_touserdata(L, 1))->lw;
  lua_settop(L, 1);
  // If the function ended in the middle of a step, undo the step.
  lua_getiuservalue(L, 1, 1);
  s2_progress_end(&lw->progress);
  if (lw->phase == S2_BEFORE || lw->phase == S2_INSIDE) {
    step_undo(L, lw, 2);
  }
  lw->phase = S2_IDLE;
  if (lw->sweep) {
    s2_lua_hooks_sweep(L, 2);
  }
  return 0;
}

void s2_lua_push_guard(lua_State *L, int world) {
  world = lua_absindex(L, world);
  Guard *guard = lua_newuserdatauv(L, sizeof *guard, 1);
  guard->lw = lua_touserdata(L, world);
  lua_pushvalue(L, world);
  lua_setiuservalue(L, -2, 1);
  luaL_setmetatable(L, "sim2d.Guard");
}

void s2_lua_step_open(lua_State *L, S2LuaWorld *lw, const char *what) {
  // Reserve stack slots for callbacks, so that no push inside the engine can fail.
  enum { SLOTS = 40 }; // more than any callback of the binding pushes
  if (lw->phase != S2_IDLE) {
    s2_lua_fail(L, "%s cannot be called from inside a step", what);
  }
  luaL_checkstack(L, SLOTS, "out of stack");
  // Callbacks find the handler, lists and functions on the stack of the stepping function.
  lw->L = L;
  lw->marked = lw->failed = false;
  lua_pushcfunction(L, s2_lua_keep_traceback);
  lw->at_handler = lua_gettop(L);
  lua_getiuservalue(L, 1, S2_STORE_HOOKS);
  lw->at_hooks = lua_gettop(L);
  lua_getiuservalue(L, 1, S2_STORE_LAWS);
  lw->at_laws = lua_gettop(L);
  lua_getiuservalue(L, 1, S2_STORE_CONSTRAINTS);
  lw->at_constraints = lua_gettop(L);
  // Lua closes the guard when the function ends, even after an error.
  lua_getiuservalue(L, 1, S2_STORE_GUARD);
  lua_toclose(L, -1);
  lw->phase = S2_BETWEEN;
}

void s2_lua_step_failed(lua_State *L, S2LuaWorld *lw, S2Status status) {
  // If a callback failed, raise its stored error.
  if (lw->failed) {
    lua_getiuservalue(L, 1, S2_STORE_ERROR);
    lua_pushnil(L);
    lua_setiuservalue(L, 1, S2_STORE_ERROR);
    lua_error(L);
  }
  // The engine was asked to stop, for example by Ctrl-C.
  if (status.code == S2_ABORTED) {
    s2_lua_fail(L, "interrupted");
  }
  lw->session->open.unsolved |= status.code == S2_UNSOLVED;
  s2_lua_try(L, status);
}

// ---- One step ---------------------------------------------------------------------------------

static void step_once(lua_State *L, S2LuaWorld *lw) {
  // Interrupts are also checked between steps.
  if (s2_lua_interrupted(lw->session)) {
    s2_lua_fail(L, "interrupted");
  }
  // The initial state is the first frame of recordings and of the viewer.
  bool aside = lw->session->open.aside;
  bool live = !aside && s2_live_is_on(lw->session->open.live);
  if (!lw->stepped && !aside) {
    s2_lua_record_first(L, lw);
    if (live) {
      s2_lua_live(L, lw, true);
    }
  }
  double before = s2_world_time(lw->world);
  // A mark is needed only if script functions run before the engine's step.
  lw->random_before = lw->session->random->rng;
  lw->marked =
      lw->hooks[S2_HOOK_BEFORE] > 0 || lw->hooks[S2_HOOK_NOW] > 0 || lw->hooks[S2_HOOK_CONTROL] > 0;
  if (lw->marked) {
    s2_world_mark(lw->world);
    lw->tape_mark = NULL;
    if (s2_lua_on_tape(lw) != NULL) {
      lw->tape_mark = s2_world_tape_new(lw->diff->tape, NULL);
      s2_world_tape_copy(lw->tape_mark, lw->on_tape);
    }
    lw->phase = S2_BEFORE;
    s2_lua_timers_call(L, lw, S2_HOOK_NOW, before, before);
    s2_lua_hooks_call(L, lw, S2_HOOK_CONTROL, before);
    s2_lua_hooks_call(L, lw, S2_HOOK_BEFORE, before);
  }
  // After this point, the engine undoes a failed step.
  lw->phase = S2_INSIDE;
  lw->failed = false;
  if (s2_lua_recording(lw) && s2_lua_on_tape(lw) == NULL && s2_world_asks(lw->world)) {
    s2_lua_put_on_tape(lw); // script functions may return tracked numbers
  }
  S2WorldTape *tape = s2_lua_on_tape(lw);
  S2Status status = tape == NULL ? s2_world_step(lw->world)
                                 : s2_world_tape_step(tape, lw->world, lw->diff->checkpoint);
  if (status.code != S2_OK) {
    s2_lua_step_failed(L, lw, status);
  }
  // The step is done. Recordings, events, timers and callbacks follow, and an error in them does
  // not undo the step.
  lw->phase = S2_AFTER;
  s2_lua_record_step(L, lw);
  s2_lua_events_call(L, lw);
  double now = s2_world_time(lw->world);
  s2_lua_timers_call(L, lw, S2_HOOK_TIMER, before, now);
  s2_lua_hooks_call(L, lw, S2_HOOK_AFTER, now);
  lw->phase = S2_BETWEEN;
  if (live) {
    s2_lua_live(L, lw, false);
  }
}

static int world_step(lua_State *L) {
  S2LuaWorld *lw = s2_lua_world(L, 1);
  // Make one step, unless a count is given.
  if (lua_type(L, 2) == LUA_TNUMBER && fmod(lua_tonumber(L, 2), 1) != 0) {
    s2_lua_bad_argument(L, 2,
                        "a number of steps expected, got %g; world.dt sets the length of a step",
                        lua_tonumber(L, 2));
  }
  int64_t count = lua_isnoneornil(L, 2) ? 1 : s2_argument_integer(L, 2, 0, INT64_MAX);
  s2_lua_step_open(L, lw, "world:step()");
  for (int64_t i = 0; i < count; i++) {
    step_once(L, lw);
  }
  return 0;
}

// ---- Many -------------------------------------------------------------------------------------

typedef struct Run {
  double start, duration; // s
  int64_t steps;          // maximum
  bool has_until;
} Run;

static double end_time(const S2LuaWorld *lw, double start, double duration) {
  return start + duration - EARLY * s2_world_settings(lw->world)->dt;
}

static Run read_run(lua_State *L, const S2LuaWorld *lw, bool *progress) {
  static const char *const names[] = {"duration", "steps", "until_", "progress", NULL};
  // Read a duration or a number of steps, but not both.
  if (lua_type(L, 2) == LUA_TNUMBER) {
    s2_lua_bad_argument(L, 2,
                        "table expected, got %g; write run { duration = seconds } or "
                        "run { steps = number }",
                        lua_tonumber(L, 2));
  }
  S2Keys keys = s2_keys_open(L, 2, false, names, NULL, 0);
  Run run = {.start = s2_world_time(lw->world), .duration = INFINITY, .steps = INT64_MAX};
  bool bounded = s2_keys_number(&keys, "duration", S2_NON_NEGATIVE, &run.duration);
  if (s2_keys_integer(&keys, "steps", 0, INT64_MAX, &run.steps)) {
    if (bounded) {
      s2_keys_fail(&keys, "steps", "either duration or steps expected, not both");
    }
    bounded = true;
  }
  // Read a condition, alone or in addition to a duration or a number of steps.
  run.has_until = s2_keys_has(&keys, "until_");
  if (!bounded && !run.has_until) {
    s2_lua_bad_argument(L, 2, "one of the keys 'duration', 'steps', 'until_' expected");
  }
  *progress = true; // the bar is shown only on a terminal
  s2_keys_boolean(&keys, "progress", progress);
  // The function of `until_` stays on the stack.
  if (run.has_until && s2_keys_push(&keys, "until_") != LUA_TFUNCTION) {
    char text[S2_LUA_TEXT];
    s2_keys_fail(&keys, "until_", "function expected, got %s", s2_lua_describe(L, -1, text));
  }
  return run; // the function, if given, is on top of the stack
}

static int world_run(lua_State *L) {
  S2LuaWorld *lw = s2_lua_world(L, 1);
  lua_settop(L, 2);
  bool progress;
  Run run = read_run(L, lw, &progress);
  s2_lua_step_open(L, lw, "world:run()");
  // A progress bar needs a known end.
  bool bounded = run.steps < INT64_MAX || isfinite(run.duration);
  s2_progress_begin(&lw->progress, progress && bounded && !lw->session->open.quiet);
  int64_t done = 0;
  // Step until the condition holds, the steps are done, or the end time is reached.
  bool finished = false;
  while (!finished && done < run.steps &&
         s2_world_time(lw->world) < end_time(lw, run.start, run.duration)) {
    step_once(L, lw);
    done++;
    double time = s2_world_time(lw->world);
    s2_progress_update(&lw->progress,
                       isfinite(run.duration) ? (time - run.start) / run.duration
                                              : (double)done / (double)run.steps,
                       time);
    // Evaluate the condition after every step.
    if (run.has_until) {
      lua_pushvalue(L, 3);
      lua_pushvalue(L, 1);
      lua_call(L, 1, 1);
      finished = lua_toboolean(L, -1) != 0;
      lua_pop(L, 1);
    }
  }
  s2_lua_hint_all_gone(L, lw);
  lua_pushinteger(L, done);
  return 1;
}

// The upvalues are the world and the end time.
static int next_step(lua_State *L) {
  // Functions that open a step expect the world as argument 1.
  double end = lua_tonumber(L, lua_upvalueindex(2));
  lua_settop(L, 0);
  lua_pushvalue(L, lua_upvalueindex(1));
  S2LuaWorld *lw = s2_lua_world(L, 1);
  if (s2_world_time(lw->world) >= end) {
    return 0;
  }
  s2_lua_step_open(L, lw, "world:steps()");
  step_once(L, lw);
  lua_pushnumber(L, s2_world_time(lw->world));
  return 1;
}

static int world_steps(lua_State *L) {
  S2LuaWorld *lw = s2_lua_world(L, 1);
  double duration = s2_argument_number(L, 2, S2_NON_NEGATIVE);
  // The iterator is a closure that contains the world and the end time.
  lua_pushvalue(L, 1);
  lua_pushnumber(L, end_time(lw, s2_world_time(lw->world), duration));
  lua_pushcclosure(L, next_step, 2);
  return 1;
}

const luaL_Reg s2_world_step_methods[] = {
    {"step", world_step}, {"run", world_run}, {"steps", world_steps}, {NULL, NULL}};

void s2_lua_open_step(lua_State *L) {
  // The guard has only a __close metamethod.
  luaL_newmetatable(L, "sim2d.Guard");
  lua_pushcfunction(L, guard_close);
  lua_setfield(L, -2, "__close");
  lua_pop(L, 1);
}
