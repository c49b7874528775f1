// The live viewer between steps: it shows the world, handles commands of clients, and paces the
// script. It also implements --watch. The command has one viewer for all runs of the script; under
// stock lua each Lua state has its own.
#ifndef S2_LIVE_H
#define S2_LIVE_H

#include "lua/record/watch.h"
#include "lua/world/binding.h"
#include "view/frames.h"
#include "view/server.h"

// A value set in the page that survives a rerun: of a slider or an option.
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
  S2Server *server; // NULL: no server
  S2Frames frames;
  double pace; // simulated seconds per second; 0: as fast as possible
  bool wait;   // before the first step, wait for a page to connect
  bool asked;  // the user was asked to open the page
  bool stays;  // opened by --view, so view:close() does not close it
  bool paused;
  int64_t steps; // single steps requested while paused

  // Runs. `unwind` stops the running Lua code so that its caller can start the script again. NULL:
  // no rerun is possible, and a reset restores the shown world.
  void (*unwind)(void);
  const char *script; // name shown in the page
  S2Watch watch;      // --watch
  bool again;         // the script has to run again
  bool ended;
  int run;

  // Worlds. `shown` is one of the open worlds that were stepped.
  S2LuaWorld *shown;
  bool chosen;                     // a client chose `shown`
  bool resets;                     // `shown` has to return to its first state
  bool stale;                      // clients have not seen the present state of `shown`
  double stepped, put;             // s: when `shown` was last stepped, last sent
  double cost;                     // s: cost of the last frame
  double anchor_wall, anchor_time; // pacing: anchor_time (simulated) is due at anchor_wall
  bool anchored;
  S2LuaWorld *followed_in; // world of the body that opening pages follow; NULL: none
  S2BodyId followed;
  S2LuaWorld *area_in; // world of the part that opening pages show; NULL: none
  S2Vec2 area[2];      // lo, hi
  S2LiveDrag drags[S2_SERVER_CLIENTS];

  S2_ARRAY(S2LiveSetting) settings;
  S2_ARRAY(char) state; // last text sent
  int plots;            // plots->changes when the plots were last sent
};

// Opens the server and prints its address to stderr.
S2Status s2_live_serve(S2Live *live, int port);
// Call this before each run of the script.
void s2_live_begin(S2Live *live);
// Pages, open or not, follow this body while its world is shown.
void s2_live_follow_body(S2Live *live, S2LuaWorld *lw, S2BodyId body);
// Shows an error to the clients ("": clears it); prints no output.
void s2_live_notice(S2Live *live, const char *message);
// Sends the plots if they have changed since the last call.
void s2_live_plots(S2Live *live, const S2Plots *plots);
// Call this when the script has ended: serves the last state until Ctrl-C or a rerun.
void s2_live_linger(lua_State *L, S2Live *live, const volatile sig_atomic_t *interrupted);
void s2_live_stop(S2Live *live); // stops the server
void s2_live_free(S2Live *live);

static inline bool s2_live_is_on(const S2Live *live) {
  return live != NULL && (live->server != NULL || live->watch.files.count > 0);
}

// Call this between two steps of `lw`, which is at stack position 1; `first`: before the first
// step. Returns when the next step is due. Raises on Ctrl-C and when the script has to run again.
void s2_lua_live(lua_State *L, S2LuaWorld *lw, bool first);
void s2_lua_live_world_closes(S2LuaWorld *lw);

// Pushes the values that the script watches now as a list: name, unit, value, name ...; nil if
// there are none. The world is at stack position 1.
void s2_lua_push_watched(lua_State *L, S2LuaWorld *lw);

// Pushes {f =, unit =} of the value watched under the name; nil if there is none.
void s2_lua_push_watch(lua_State *L, const char *name);

// Returns the viewer of the session; makes it at the first call.
S2Live *s2_lua_live_of(lua_State *L);

// Values that survive a rerun; NULL: never set.
const char *s2_live_setting(const S2Live *live, const char *key);
void s2_live_keep(S2Live *live, const char *key, const char *value);

// Shows this world from now on; NULL: the next one that steps.
void s2_live_choose(S2Live *live, S2LuaWorld *lw);

// view.c
extern const char s2_live_handler;        // registry key, by address, of the function of live.lua
void s2_lua_push_live_host(lua_State *L); // the table host.live

#endif
