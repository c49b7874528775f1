// Settings from the command line, and statistics of all worlds of one Lua state. It is stored in
// the Lua registry; a plain `require "sim2d"` from stock lua5.4 gets the defaults.
#ifndef S2_SESSION_H
#define S2_SESSION_H

#include "sim2d.h"

#include "record/draw/plots.h"

#include <lua.h>
#include <signal.h>

typedef struct S2Live S2Live;
struct S2PictureWords;

typedef struct S2Session {
  // The command sets these before the script runs; strings are borrowed and outlive the state.
  uint64_t seed;   // seed of sim.random
  bool has_solver; // --solver: the default of sim.world
  S2Solver solver;
  double dt;     // --dt: the default of sim.world; NAN: none
  double budget; // --budget: the default of sim.world; NAN: none
  int threads;   // --threads: default of worlds, batches and jobs; 0: none
  bool strict, audit, quiet;
  bool profile;            // --stats: worlds measure times unless they set `profile` themselves
  const char *record_path; // --record: every world stepped; the 2nd world gets NAME-2.suffix ...
  // appearance, and the body that --view follows; NULL: defaults
  const struct S2PictureWords *pictures;
  const char *dump_directory; // --dump-problems
  const S2Run *run;           // for recordings; NULL: the command did not start this run
  // Returns the number of words that an option of the command and its value take, given the first
  // word; 0 if it is not an option. NULL: the command did not start this run.
  int (*option_words)(const char *word);
  // recordings are compared with this one and not written; NULL: they are written
  struct S2Validator *validator;
  volatile sig_atomic_t *interrupted; // set by the signal handler; NULL: no handler
  lua_State *volatile *task; // the handler finds the running coroutine here; NULL: no handler

  S2Live *live; // the live viewer and --watch (live.h); NULL: off
  bool aside;   // the current steps are a trial: --record and the viewer leave them out

  // Filled by the worlds.
  int worlds;     // stepped at least once
  int recordings; // opened
  bool unsolved;  // a step raised because of `strict`
  // Findings of audits in worlds that do not set `audit` themselves: the number of each kind, and
  // the first.
  S2AuditStats found;
  char finding[S2_MESSAGE_SIZE];
  S2WorldStats total; // summed (worst: maximised) when a world is closed, and by s2_session_close
  double seconds_lua; // s, in callbacks
  S2Decisions decisions; // decisions of clocks, in order (see recording.c)
  // the --record page of the first world if it holds plots, open until the end; or NULL
  S2Recorder *page;
  S2Plots plots; // plots of the script, for the page and the live viewer
} S2Session;

S2Session *s2_session(lua_State *L); // never NULL

// Closes every recording and adds up the statistics of living worlds. Returns 0, or pushes a
// message and returns 1 if a recording could not be finished.
int s2_session_close(lua_State *L);

int luaopen_sim2d(lua_State *L);

#endif
