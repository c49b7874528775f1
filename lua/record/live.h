// The live viewer between steps: what it shows, what its clients ask for, and when the script goes
// on. Also --watch. One for the command, over all runs of the script; one for a Lua state in a
// stock lua.
#ifndef S2_LIVE_H
#define S2_LIVE_H

#include "lua/record/watch.h"
#include "lua/world/binding.h"
#include "view/frames.h"
#include "view/server.h"

// A value that was set in the page and outlives the run: of a slider or an option.
typedef struct S2LiveSetting {
  char *key, *value; // owned
} S2LiveSetting;

// A client's hand on a body. The joint is made and destroyed between steps of the body's world.
typedef struct S2LiveDrag {
  S2LuaWorld *lw; // NULL: the hand is empty
  bool dropped;
  S2BodyId body;
  S2JointId joint;
  S2Vec2 local, target; // body frame, world
} S2LiveDrag;

struct S2Live {
  S2Server *server; // NULL: nothing is served
  S2Frames frames;
  double pace; // simulated seconds a second; 0: as fast as it goes
  bool wait;   // for a page before the first step
  bool asked;  // its user was told that it waits
  bool stays;  // view:close() does not close it: the command was asked for it
  bool paused;
  int64_t steps; // to go although it is paused

  // Runs. unwind makes the Lua code that runs stop, so that its caller can start the script again;
  // NULL: nobody can, and a reset restores the world that is shown.
  void (*unwind)(void);
  const char *script; // name for the page
  S2Watch watch;      // --watch
  bool again;         // the script is to be run again
  bool ended;
  int run;

  // Worlds. `shown` is one of those that were stepped and are open.
  S2LuaWorld *shown;
  bool chosen;                     // by a client
  bool resets;                     // `shown` is to go back to its start
  bool stale;                      // the present of `shown` was not put before the clients yet
  double stepped, put;             // s: when `shown` was last stepped, last put
  double cost;                     // s: what the last frame took
  double anchor_wall, anchor_time; // pacing: this simulated time is due at this time
  bool anchored;
  S2LuaWorld *followed_in; // the world of the body that pages follow when they open; NULL: none
  S2BodyId followed;
  S2LuaWorld *area_in; // the world of which pages show this part when they open; NULL: none
  S2Vec2 area[2];      // lo, hi
  S2LiveDrag drags[S2_SERVER_CLIENTS];

  S2_ARRAY(S2LiveSetting) settings;
  S2_ARRAY(char) state; // last text put
  int plots;            // changes of the script's plots that were put
};

// Opens the server and prints its address to stderr.
S2Status s2_live_serve(S2Live *live, int port);
// The script is about to run (again).
void s2_live_begin(S2Live *live);
// Pages that open, and those that are, follow this body while its world is shown.
void s2_live_follow_body(S2Live *live, S2LuaWorld *lw, S2BodyId body);
// Shows an error to the clients, "" none, and prints nothing.
void s2_live_notice(S2Live *live, const char *message);
// Shows the plots, if they have changed since.
void s2_live_plots(S2Live *live, const S2Plots *plots);
// The script is over: serves the last state until Ctrl-C, or until the script is to be run again.
void s2_live_linger(lua_State *L, S2Live *live, const volatile sig_atomic_t *interrupted);
void s2_live_stop(S2Live *live); // the server
void s2_live_free(S2Live *live);

static inline bool s2_live_is_on(const S2Live *live) {
  return live != NULL && (live->server != NULL || live->watch.files.count > 0);
}

// Between two steps of `lw`, which is at stack position 1; `first`: before its first one. Returns
// when the next one is due. Raises on Ctrl-C and when the script is to be run again.
void s2_lua_live(lua_State *L, S2LuaWorld *lw, bool first);
void s2_lua_live_world_closes(S2LuaWorld *lw);

// Pushes the values the script watches now: name, unit, value, name ...; nil: there are none. The
// world is at stack position 1.
void s2_lua_push_watched(lua_State *L, S2LuaWorld *lw);

// Pushes {f =, unit =} of the value watched under the name; nil: there is none.
void s2_lua_push_watch(lua_State *L, const char *name);

// Makes the session's viewer, if it has none yet.
S2Live *s2_lua_live_of(lua_State *L);

// Values kept over runs; NULL: never set.
const char *s2_live_setting(const S2Live *live, const char *key);
void s2_live_keep(S2Live *live, const char *key, const char *value);

// The world that clients see from now on; NULL: the next one that steps.
void s2_live_choose(S2Live *live, S2LuaWorld *lw);

// view.c
extern const char s2_live_handler;        // registry key, by address, of the function of live.lua
void s2_lua_push_live_host(lua_State *L); // the table host.live

#endif
