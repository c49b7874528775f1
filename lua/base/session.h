// What the command line asked for and what all worlds of one Lua state report to. Lives in the Lua
// registry; a plain `require "sim2d"` from stock lua5.4 gets the defaults.
#ifndef S2_SESSION_H
#define S2_SESSION_H

#include "sim2d.h"

#include "record/draw/plots.h"

#include <lua.h>
#include <signal.h>

typedef struct S2Live S2Live;
struct S2PictureWords;

typedef struct S2Session {
  // Set by the command before the script runs; strings are borrowed and outlive the state.
  uint64_t seed;   // of sim.random
  bool has_solver; // --solver: the default of sim.world
  S2Solver solver;
  double dt;     // --dt: the default of sim.world; NAN: none
  double budget; // --budget: the same; NAN: none
  int threads;   // --threads: of worlds, batches and jobs; 0: none
  bool strict, audit, quiet;
  bool profile;            // --stats: worlds measure times unless they say otherwise
  const char *record_path; // --record: every world stepped; the 2nd world gets NAME-2.suffix ...
  const struct S2PictureWords *pictures; // how it looks, and what --view follows; NULL: as usual
  const char *dump_directory;            // --dump-problems
  const S2Run *run;                      // for recordings; NULL: not from the command
  // The words an option of the command and its value take up, by the first: 0, it is none; NULL:
  // there is no command.
  int (*option_words)(const char *word);
  struct S2Validator *validator; // recordings are compared with one instead of written; NULL: no
  volatile sig_atomic_t *interrupted; // set by the signal handler; NULL: never
  lua_State *volatile *task; // where the handler finds the coroutine that runs; NULL: no handler

  S2Live *live; // the live viewer and --watch (live.h); NULL: off
  bool aside;   // what is stepped now is tried out: no file of --record, not seen in the viewer

  // Filled by the worlds.
  int worlds;     // stepped at least once
  int recordings; // opened
  bool unsolved;  // a step raised because of `strict`
  // Of audits, in worlds that do not set `audit` themselves: how many of each kind, and the first.
  S2AuditStats found;
  char finding[S2_MESSAGE_SIZE];
  S2WorldStats total; // summed (worst: maximised) when a world is closed, and by s2_session_close
  double seconds_lua; // in callbacks
  S2Decisions decisions; // of clocks, in order (recording.c)
  S2Recorder *page; // of --record, of the first world, if it holds plots: open to the end; or NULL
  S2Plots plots;    // of the script, for the page and the live viewer
} S2Session;

S2Session *s2_session(lua_State *L); // never NULL

// Closes every recording, gathers the statistics of living worlds. Returns 0, or a message on the
// Lua stack (1) when a recording could not be finished.
int s2_session_close(lua_State *L);

int luaopen_sim2d(lua_State *L);

#endif
