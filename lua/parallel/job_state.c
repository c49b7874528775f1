#include "lua/parallel/job_state.h"

#include "base/memory.h"
#include "lua/base/embedded.h"
#include "lua/base/traceback.h"
#include "lua/world/binding.h"

#include <lualib.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

struct S2JobState {
  lua_State *L;
  S2JobSetup setup;
  atomic_int stop; // An S2JobStop, set by other threads.
  // Set by the signal handler in this thread. S2Session.interrupted points to this member.
  volatile sig_atomic_t interrupted;
  lua_State *volatile task;    // S2Session.task points to this member
  lua_State *volatile running; // the running coroutine, or L
  S2Run run;                   // description of the script, for recordings of jobs
  double collected;            // time of the last full collection (s)
  double rate;                 // time per kilobyte of live data of a collection (s)
};

// Lua's collector runs in jobs too, but it does not see all memory of the engine. Therefore a full
// collection runs when this many times its expected duration has passed since the last one. The
// expected duration covers only the live data. Collections then cost at most half a percent, plus
// the time to free garbage. The time to free garbage must not count. Otherwise, after a long
// collection, the next one would run later, find more garbage and take even longer.
static const double COLLECT_AFTER = 200;

static const char ENTRY = 'j', RECORD = 'r'; // Registry keys (addresses).

// This constant is odd and differs from the increment of s2_rng_seeded. Otherwise the streams of
// two jobs would overlap.
static const uint64_t JOB_STRIDE = 0xD1342543DE82EF95u;

// A signal handler receives only the signal number, so the state is thread-local.
static _Thread_local S2JobState *job_here;

int s2_job_entry(lua_State *L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_settop(L, 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &ENTRY);
  return 0;
}

int s2_job_begin(lua_State *L) {
  S2LuaSession *session = s2_lua_session(L);
  // The seed depends only on these two numbers, not on threads or earlier jobs.
  S2Rng all = s2_rng_seeded((uint64_t)luaL_checkinteger(L, 1));
  session->open.seed = s2_rng_next(&all) + JOB_STRIDE * (uint64_t)luaL_checkinteger(L, 2);
  session->random->rng = s2_rng_seeded(session->open.seed);
  session->open.worlds = session->open.recordings = 0;
  session->open.record_path = luaL_optstring(L, 3, NULL);
  lua_settop(L, 3);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &RECORD); // the registry keeps the text alive
  return 0;
}

int s2_job_script(lua_State *L) {
  s2_run_add(&job_here->run, "script", luaL_checkstring(L, 1));
  s2_session(L)->run = &job_here->run;
  return 0;
}

// ---- Ending a job -----------------------------------------------------------------------------

// The hook stays installed until the job has ended, so that a pcall in the script cannot catch the
// error for good.
static void raise_stop(lua_State *L, lua_Debug *frame) {
  lua_getinfo(L, "Sl", frame);
  if (frame->currentline > 0 && strcmp(frame->source, S2_EMBEDDED_CHUNK) != 0) {
    lua_pushfstring(L, "%s:%d: stopped here", frame->short_src, frame->currentline);
  } else {
    lua_pushliteral(L, "stopped");
  }
  lua_error(L);
}

static void on_job_signal(int number) {
  (void)number;
  S2JobState *state = job_here;
  if (state == NULL || atomic_load(&state->stop) == S2_JOB_GOES_ON || state->running == NULL) {
    return;
  }
  state->interrupted = 1;
  // lua_sethook is allowed in a signal handler (Lua manual, 4.7).
  lua_sethook(state->running, raise_stop, LUA_MASKCOUNT, 1);
  if (state->task != NULL) {
    lua_sethook(state->task, raise_stop, LUA_MASKCOUNT, 1);
  }
}

void s2_job_state_watch(void) {
  struct sigaction action = {.sa_handler = on_job_signal, .sa_flags = SA_RESTART};
  sigemptyset(&action.sa_mask);
  sigaction(S2_JOB_SIGNAL, &action, NULL);
}

void s2_job_state_stop(S2JobState *state, S2JobStop why) {
  atomic_store(&state->stop, (int)why);
}

void s2_job_state_stopped(S2JobState *state) {
  atomic_store(&state->stop, (int)S2_JOB_GOES_ON);
  state->interrupted = 0;
  lua_sethook(state->L, NULL, 0, 0);
}

// Replaces coroutine.resume (upvalue 1). It also stores the running coroutine, because each
// coroutine has its own hook.
static int job_resume(lua_State *L) {
  S2JobState *state = job_here;
  lua_State *before = state->running, *coroutine = lua_tothread(L, 1);
  if (coroutine != NULL) {
    state->running = coroutine;
  }
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  state->running = before;
  if (state->interrupted != 0) { // stop the resuming coroutine too
    lua_sethook(L, raise_stop, LUA_MASKCOUNT, 1);
  }
  return lua_gettop(L);
}

static int job_exit(lua_State *L) {
  return s2_lua_fail(L, "os.exit: a job cannot end the program; return a value or raise an error");
}

// ---- Opening ----------------------------------------------------------------------------------

// Replaces FIELD of the global table LIBRARY by a function whose upvalue is the original.
static void job_replace(lua_State *L, const char *library, const char *field,
                        lua_CFunction function) {
  lua_getglobal(L, library);
  lua_getfield(L, -1, field);
  lua_pushcclosure(L, function, 1);
  lua_setfield(L, -2, field);
  lua_pop(L, 1);
}

// Pushes the function that runs a job.
static int job_open(lua_State *L) {
  S2JobState *state = lua_touserdata(L, 1);
  luaL_openlibs(L);
  job_replace(L, "os", "exit", job_exit);
  job_replace(L, "coroutine", "resume", job_resume);
  // Open the library as `require` does, but without progress bars, which would overwrite each
  // other.
  S2Session *session = s2_session(L);
  const S2Session *like = &state->setup.like;
  session->quiet = true;
  session->has_solver = like->has_solver;
  session->solver = like->solver;
  session->dt = like->dt;
  session->budget = like->budget;
  session->strict = like->strict;
  session->audit = like->audit;
  session->interrupted = &state->interrupted;
  session->task = &state->task;
  luaL_requiref(L, "sim2d", luaopen_sim2d, 0);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &ENTRY);
  if (!s2_unpack_value(L, state->setup.program, state->setup.size)) {
    return luaL_error(L, "the program of the jobs cannot be read");
  }
  lua_call(L, 1, 1);
  return 1;
}

// Appends the text of the error on top of the stack, and pops it.
static void job_failure(lua_State *L, const char *before, S2Bytes *out) {
  size_t size;
  const char *text = luaL_tolstring(L, -1, &size);
  out->count = 0;
  s2_bytes_add(out, before, strlen(before));
  s2_bytes_add(out, text, size);
  lua_pop(L, 2);
}

S2JobState *s2_job_state_open(const S2JobSetup *setup, S2Bytes *failure) {
  S2JobState *state = s2_memory_take_zeroed(sizeof *state);
  state->setup = *setup;
  lua_State *L = luaL_newstate();
  if (L == NULL) {
    static const char text[] = "not enough memory for a Lua state";
    s2_bytes_add(failure, text, sizeof text - 1);
    s2_memory_free(state);
    return NULL;
  }
  state->L = L;
  state->running = L;
  job_here = state;
  lua_pushcfunction(L, s2_traceback_handler);
  lua_pushcfunction(L, job_open);
  lua_pushlightuserdata(L, state);
  if (lua_pcall(L, 1, 1, 1) != LUA_OK) {
    job_failure(L, "", failure);
    s2_job_state_close(state);
    return NULL;
  }
  // Collect the garbage from opening the state, then measure the time of a collection of the live
  // data.
  lua_gc(L, LUA_GCCOLLECT);
  double start = s2_lua_clock();
  lua_gc(L, LUA_GCCOLLECT);
  state->collected = s2_lua_clock();
  state->rate = (state->collected - start) / fmax(1, lua_gc(L, LUA_GCCOUNT));
  return state;
}

void s2_job_state_close(S2JobState *state) {
  if (state != NULL) {
    state->running = NULL;
    lua_close(state->L);
    job_here = NULL;
    s2_run_free(&state->run);
    s2_memory_free(state);
  }
}

// ---- Running ----------------------------------------------------------------------------------

typedef struct JobCall {
  uint64_t number;
  const unsigned char *item;
  size_t size;
  S2Bytes *out;
} JobCall;

// The stack contains the call and the function that runs a job.
static int job_call(lua_State *L) {
  JobCall *call = lua_touserdata(L, 1);
  lua_pushinteger(L, (lua_Integer)call->number);
  if (!s2_unpack_value(L, call->item, call->size)) {
    return luaL_error(L, "the item of the job cannot be read");
  }
  lua_call(L, 2, 1);
  // Close recordings that the job left open.
  if (s2_session_close(L) != 0) {
    return lua_error(L);
  }
  S2Complaint complaint;
  call->out->count = 0;
  if (!s2_pack_value(L, 2, "its result", call->out, &complaint)) {
    return s2_lua_fail(L, "%s", complaint.text);
  }
  return 0;
}

static int job_traceback(lua_State *L) {
  return s2_lua_kept_traceback(L, 1) ? 1 : s2_traceback_handler(L);
}

static int job_collect(lua_State *L) {
  lua_gc(L, LUA_GCCOLLECT);
  return 0;
}

static void collect_garbage(S2JobState *state) {
  double lives = state->rate * lua_gc(state->L, LUA_GCCOUNT);
  if (s2_lua_clock() - state->collected < COLLECT_AFTER * lives) {
    return;
  }
  lua_pushcfunction(state->L, job_collect);
  if (lua_pcall(state->L, 0, 0, 0) != LUA_OK) { // a finaliser in the script failed
    lua_pop(state->L, 1);
  }
  state->collected = s2_lua_clock();
}

bool s2_job_state_run(S2JobState *state, uint64_t number, const unsigned char *item, size_t size,
                      S2Bytes *out) {
  lua_State *L = state->L;
  JobCall call = {number, item, size, out};
  int top = lua_gettop(L);
  // The stack contains the handler from opening and the function that runs a job.
  lua_pushcfunction(L, job_traceback);
  lua_pushcfunction(L, job_call);
  lua_pushlightuserdata(L, &call);
  lua_pushvalue(L, top);
  bool good = lua_pcall(L, 2, 0, top + 1) == LUA_OK;
  state->running = L;
  // The code below must not be interrupted. A stop that arrives too late has no effect.
  lua_sethook(L, NULL, 0, 0);
  if (!good) {
    char before[S2_COMPLAINT_SIZE] = "";
    if (state->interrupted != 0 && atomic_load(&state->stop) == S2_JOB_LATE) {
      snprintf(before, sizeof before,
               "the job exceeded its time limit of %g s: ", state->setup.time_limit);
    }
    state->interrupted = 0;
    job_failure(L, before, out);
    lua_settop(L, top);
    lua_pushcfunction(L, s2_session_close); // close recordings that the failed job left open
    if (lua_pcall(L, 0, 0, 0) != LUA_OK) {
      lua_pop(L, 1);
    }
  }
  lua_settop(L, top);
  collect_garbage(state);
  return good;
}
