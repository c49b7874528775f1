// A session contains the settings from the command line and the statistics of all worlds of one Lua
// state. It is stored in the Lua registry. A plain `require "sim2d"` in stock lua5.4 uses the
// defaults.
#ifndef S2_SESSION_H
#define S2_SESSION_H

#include "sim2d.h"

#include "record/draw/plots.h"

#include <lua.h>
#include <signal.h>

typedef struct S2Live S2Live;
struct S2PictureWords;

typedef struct S2Session {
  // The command sets these members before the script runs. Strings are borrowed and outlive the
  // state.
  uint64_t seed;   // seed of sim.random
  bool has_solver; // --solver: the default of sim.world
  S2Solver solver;
  double dt;     // --dt: the default of sim.world; NAN: none
  double budget; // --budget: the default of sim.world; NAN: none
  int threads;   // --threads: default of worlds, batches and jobs; 0: none
  bool strict, audit, quiet;
  bool profile;            // --stats: worlds measure times unless they set `profile` themselves
  const char *record_path; // --record: path for the 1st world; the 2nd gets NAME-2.suffix ...
  // Appearance of recordings, and the body that --view follows. NULL: defaults.
  const struct S2PictureWords *pictures;
  const char *dump_directory; // --dump-problems
  const S2Run *run;           // Stored in recordings. NULL: not started by the command.
  // Returns the number of words that an option of the command and its value take. `word` is the
  // first of them. Returns 0 if it is not an option. NULL: the command did not start this run.
  int (*option_words)(const char *word);
  // The run is compared with the recording of this validator, and nothing is written. NULL:
  // recordings are written.
  struct S2Validator *validator;
  volatile sig_atomic_t *interrupted; // set by the signal handler; NULL: no handler
  lua_State *volatile *task;          // running coroutine, for the signal handler; NULL: no handler

  S2Live *live; // the live viewer and --watch (live.h); NULL: off
  bool aside;   // Trial steps are running: --record and the viewer omit them.

  // The worlds fill in these members.
  int worlds;     // number of worlds stepped at least once
  int recordings; // opened
  bool unsolved;  // A step raised an error because of `strict`.
  // Audit findings in worlds that do not set `audit` themselves: the count of each kind, and the
  // first finding.
  S2AuditStats found;
  char finding[S2_MESSAGE_SIZE];
  // Sums over closed worlds (for worst values, maxima). s2_session_close adds the other worlds.
  S2WorldStats total;
  double seconds_lua;    // time in callbacks (s)
  S2Decisions decisions; // Decisions based on clocks, in order (see recording.c).
  // The --record page of the first world if it contains plots, otherwise NULL. It stays open until
  // the end.
  S2Recorder *page;
  S2Plots plots; // plots of the script, for the page and the live viewer
} S2Session;

S2Session *s2_session(lua_State *L); // Never NULL.

// Closes every recording and adds up the statistics of living worlds. Returns 0, or pushes a
// message and returns 1 if a recording could not be finished.
int s2_session_close(lua_State *L);

int luaopen_sim2d(lua_State *L);

#endif
