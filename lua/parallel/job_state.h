// A Lua state in which jobs run, one after the other. It is opened like the state of the command,
// without viewer, recordings and signals. It belongs to one thread.
#ifndef S2_JOB_STATE_H
#define S2_JOB_STATE_H

#include "lua/base/session.h"
#include "lua/parallel/pack.h"

typedef struct S2JobState S2JobState;

// Arguments for opening a state; the bytes are read only while it opens.
typedef struct S2JobSetup {
  // packed by lua/sim2d/parallel/parallel.lua: the function and its setting
  const unsigned char *program;
  size_t size;
  double time_limit; // s per job, for messages; INFINITY: none
  S2Session like;    // source of the default solver, dt and strict; read while the state opens
} S2JobSetup;

// The reason why a job has to stop early.
typedef enum S2JobStop { S2_JOB_GOES_ON, S2_JOB_LATE, S2_JOB_UNWANTED } S2JobStop;

// NULL: `failure` contains the error with its traceback.
S2JobState *s2_job_state_open(const S2JobSetup *setup, S2Bytes *failure);
void s2_job_state_close(S2JobState *state); // NULL is allowed

// Runs job `number` with a packed item. True: `out` contains the packed result; false: the text of
// the error and its place.
bool s2_job_state_run(S2JobState *state, uint64_t number, const unsigned char *item, size_t size,
                      S2Bytes *out);

// Other threads may call this while the state runs, and must then send the signal below to its
// thread. The running Lua code raises an error, which a script can catch only temporarily.
void s2_job_state_stop(S2JobState *state, S2JobStop why);
// Call this when the job has ended, so that the stop does not apply to the next one.
void s2_job_state_stopped(S2JobState *state);

// The signal that makes a thread check whether its job has to stop. It is ignored by default, so a
// late one has no effect.
#define S2_JOB_SIGNAL SIGURG
void s2_job_state_watch(void); // installs the handler

// host.job_entry(open): sets the function of lua/sim2d/parallel/parallel.lua that makes a job of a
// program.
int s2_job_entry(lua_State *L);
// host.job_begin(seed, number, path): seeds sim.random for the job. The first world that steps is
// recorded as `path` (nil: not recorded), further worlds get names as with --record.
int s2_job_begin(lua_State *L);
// host.job_script(name): sets the description of the script for recordings, when a program begins.
int s2_job_script(lua_State *L);

#endif
