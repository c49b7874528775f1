// A Lua state in which jobs run one after another. It is opened like the state of the command, but
// without a viewer, recordings and signal handlers. It belongs to one thread.
#ifndef S2_JOB_STATE_H
#define S2_JOB_STATE_H

#include "lua/base/session.h"
#include "lua/parallel/pack.h"

typedef struct S2JobState S2JobState;

// Arguments for opening a state. The bytes are read only while the state opens.
typedef struct S2JobSetup {
  // The function and its settings, packed by lua/sim2d/parallel/parallel.lua.
  const unsigned char *program;
  size_t size;
  double time_limit; // limit per job (s), for messages; INFINITY: none
  S2Session like;    // source of default settings; read while the state opens
} S2JobSetup;

// The reason why a job has to stop early.
typedef enum S2JobStop { S2_JOB_GOES_ON, S2_JOB_LATE, S2_JOB_UNWANTED } S2JobStop;

// Opens a state. If it returns NULL, `failure` contains the error with a traceback.
S2JobState *s2_job_state_open(const S2JobSetup *setup, S2Bytes *failure);
void s2_job_state_close(S2JobState *state); // NULL is allowed.

// Runs job `number` with a packed item. If it returns true, `out` contains the packed result,
// otherwise the text of the error with its location.
bool s2_job_state_run(S2JobState *state, uint64_t number, const unsigned char *item, size_t size,
                      S2Bytes *out);

// Other threads may call this while the state runs, and must then send S2_JOB_SIGNAL to the thread
// of the state. The running Lua code raises an error, which a script can catch only temporarily.
void s2_job_state_stop(S2JobState *state, S2JobStop why);
// Call this when the job has ended, so that the stop does not apply to the next job.
void s2_job_state_stopped(S2JobState *state);

// The signal that makes a thread check whether its job has to stop. The signal is ignored by
// default, so a late signal has no effect.
#define S2_JOB_SIGNAL SIGURG
void s2_job_state_watch(void); // Installs the handler.

// host.job_entry(open): sets the function in lua/sim2d/parallel/parallel.lua that creates a job
// from a program.
int s2_job_entry(lua_State *L);
// host.job_begin(seed, number, path): seeds sim.random for the job. The first world that steps is
// recorded as `path`. Further worlds get names as with --record. If `path` is nil, nothing is
// recorded.
int s2_job_begin(lua_State *L);
// host.job_script(name): sets the description of the script for recordings. Called when a program
// begins.
int s2_job_script(lua_State *L);

#endif
