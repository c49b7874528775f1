#include "lua/base/session.h"

#include "lua/world/binding.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const char SESSION = 's'; // its address is the registry key

static int session_collect(lua_State *L) {
  S2LuaSession *session = lua_touserdata(L, 1);
  s2_plots_free(&session->open.plots);
  s2_array_free(session->open.decisions);
  return 0;
}

S2LuaSession *s2_lua_session(lua_State *L) {
  // The session of this Lua state, created at the first call.
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &SESSION) == LUA_TUSERDATA) {
    S2LuaSession *session = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return session;
  }
  lua_pop(L, 1);
  // NAN means that the command line does not set the value.
  S2LuaSession *session = lua_newuserdatauv(L, sizeof *session, 0);
  *session = (S2LuaSession){.open = {.dt = (double)NAN, .budget = (double)NAN}};
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, session_collect);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &SESSION);
  return session;
}

S2Session *s2_session(lua_State *L) {
  return &s2_lua_session(L)->open;
}

bool s2_lua_interrupted(const S2LuaSession *session) {
  return session->open.interrupted != NULL && *session->open.interrupted != 0;
}

double s2_lua_clock(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double s2_lua_callback_clock(const S2LuaWorld *lw) {
  return s2_world_settings(lw->world)->profile ? s2_lua_clock() : 0;
}

void s2_lua_world_gather(S2LuaWorld *lw) {
  if (!lw->gathered && lw->world != NULL) {
    lw->gathered = true;
    const S2WorldStats *stats = s2_world_stats(lw->world);
    S2Session *session = &lw->session->open;
    if (lw->judged && s2_audit_findings(&stats->audit) > 0) {
      if (s2_audit_findings(&session->found) == 0) {
        snprintf(session->finding, sizeof session->finding, "%s", s2_world_finding(lw->world));
      }
      s2_audit_stats_add(&session->found, &stats->audit);
    }
    s2_stats_add(&session->total, stats);
  }
}

int s2_session_close(lua_State *L) {
  S2LuaSession *session = s2_lua_session(L);
  S2Status failure = s2_ok();
  // Close all recordings, even after one failed, and report the first failure.
  for (S2LuaWorld *lw = session->oldest; lw != NULL; lw = lw->newer) {
    S2Status status;
    if (!s2_lua_recorders_close(lw, &status) && failure.code == S2_OK) {
      failure = status;
    }
    s2_lua_world_gather(lw);
  }
  S2Status page = s2_lua_page_close(&session->open);
  failure = failure.code == S2_OK ? page : failure;
  if (failure.code == S2_OK) {
    return 0;
  }
  lua_pushstring(L, failure.message);
  return 1;
}
