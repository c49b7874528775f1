// The live viewer. Between steps it shows the world, handles commands of clients, and paces the
// script. It also implements --watch. The command has one viewer for all runs of the script. With
// stock lua, each Lua state has its own viewer.
#ifndef S2_LIVE_H
#define S2_LIVE_H

#include "lua/record/watch.h"
#include "lua/world/binding.h"
#include "view/frames.h"
#include "view/server.h"

// The value of a slider or an option that a client set in the page. It survives a rerun.
typedef struct S2LiveSetting {
  char *key, *value; // owned
} S2LiveSetting;

// A body that a client drags in the page. The joint is created and destroyed between steps of the
// body's world.
typedef struct S2LiveDrag {
  S2LuaWorld *lw; // NULL: the client drags no body
  bool dropped;
  S2BodyId body;
  S2JointId joint;
  S2Vec2 local, target; // in the frame of the body; in the world
} S2LiveDrag;

struct S2Live {
  S2Server *server; // NULL if there is no server
  S2Frames frames;
  double pace; // simulated seconds per real second; 0: as fast as possible
  bool wait;   // wait for a page to connect before the first step
  bool asked;  // the user was asked to open the page
  bool stays;  // opened by --view, so view:close() does not close it
  bool paused;
  int64_t steps; // Single steps requested while paused.

  // State of runs. `unwind` stops the running Lua code so that its caller can rerun the script. If
  // it is NULL, no rerun is possible, and a reset restores the shown world.
  void (*unwind)(void);
  const char *script; // name shown in the page
  S2Watch watch;      // --watch
  bool again;         // the script has to run again
  bool ended;
  int run;

  // State of worlds. `shown` is one of the open worlds that have been stepped.
  S2LuaWorld *shown;
  bool chosen;                     // a client chose `shown`
  bool resets;                     // `shown` must return to its first state
  bool stale;                      // clients have not seen the current state of `shown`
  double stepped, put;             // times when `shown` was last stepped and last sent (s)
  double cost;                     // duration of the last frame (s)
  double anchor_wall, anchor_time; // pacing: simulated anchor_time is due at wall time anchor_wall
  bool anchored;
  S2LuaWorld *followed_in; // world of the body that new pages follow; NULL: none
  S2BodyId followed;
  S2LuaWorld *area_in; // world of the area that new pages show; NULL: none
  S2Vec2 area[2];      // lo, hi
  S2LiveDrag drags[S2_SERVER_CLIENTS];

  S2_ARRAY(S2LiveSetting) settings;
  S2_ARRAY(char) state; // text of the last state that was sent
  int plots;            // value of plots->changes when the plots were last sent
};

// Opens the server and prints its address to stderr.
S2Status s2_live_serve(S2Live *live, int port);
// Call this before each run of the script.
void s2_live_begin(S2Live *live);
// Open pages and pages opened later follow this body while its world is shown.
void s2_live_follow_body(S2Live *live, S2LuaWorld *lw, S2BodyId body);
// Shows an error to the clients, or clears the error if `message` is "". Prints no output.
void s2_live_notice(S2Live *live, const char *message);
// Sends the plots if they have changed since the last call.
void s2_live_plots(S2Live *live, const S2Plots *plots);
// Call this when the script has ended. It serves the last state until Ctrl-C or a rerun.
void s2_live_linger(lua_State *L, S2Live *live, const volatile sig_atomic_t *interrupted);
void s2_live_stop(S2Live *live); // Stops the server.
void s2_live_free(S2Live *live);

static inline bool s2_live_is_on(const S2Live *live) {
  return live != NULL && (live->server != NULL || live->watch.files.count > 0);
}

// Call this between two steps of `lw`, which is at stack index 1. `first` means before the first
// step. Returns when the next step is due. Raises an error on Ctrl-C and when the script must run
// again.
void s2_lua_live(lua_State *L, S2LuaWorld *lw, bool first);
void s2_lua_live_world_closes(S2LuaWorld *lw);

// Pushes the values that the script watches as a list: name, unit, value, name ... Pushes nil if
// there are none. The world is at stack index 1.
void s2_lua_push_watched(lua_State *L, S2LuaWorld *lw);

// Pushes {f =, unit =} for the watched value with this name, or nil if there is none.
void s2_lua_push_watch(lua_State *L, const char *name);

// Returns the viewer of the session, which the first call creates.
S2Live *s2_lua_live_of(lua_State *L);

// Values that survive a rerun. NULL if the value was never set.
const char *s2_live_setting(const S2Live *live, const char *key);
void s2_live_keep(S2Live *live, const char *key, const char *value);

// Shows this world, or the next world that steps if `lw` is NULL.
void s2_live_choose(S2Live *live, S2LuaWorld *lw);

// view.c
extern const char s2_live_handler;        // registry key (address) of the function in live.lua
void s2_lua_push_live_host(lua_State *L); // pushes the table host.live

#endif
