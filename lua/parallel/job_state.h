// A Lua state in which jobs run, one after the other: opened as the command opens its own, without
// its viewer, recordings and signals. It belongs to one thread.
#ifndef S2_JOB_STATE_H
#define S2_JOB_STATE_H

#include "lua/base/session.h"
#include "lua/parallel/pack.h"

typedef struct S2JobState S2JobState;

// What a state is opened with; the bytes are read while it opens.
typedef struct S2JobSetup {
  const unsigned char *program; // what lua/sim2d/parallel.lua packs: the function and its setting
  size_t size;
  double time_limit; // s a job, for messages; INFINITY: none
  S2Session like;    // its solver, dt and strict are those of worlds here; read while it opens
} S2JobSetup;

// Why a job is to end before it is done.
typedef enum S2JobStop { S2_JOB_GOES_ON, S2_JOB_LATE, S2_JOB_UNWANTED } S2JobStop;

// NULL: `failure` holds why, with its traceback.
S2JobState *s2_job_state_open(const S2JobSetup *setup, S2Bytes *failure);
void s2_job_state_close(S2JobState *state); // NULL: nothing

// Runs job `number` with a packed item. True: `out` holds the packed result; false: what went wrong
// and where, as text.
bool s2_job_state_run(S2JobState *state, uint64_t number, const unsigned char *item, size_t size,
                      S2Bytes *out);

// May be called by other threads while the state runs, followed by the signal below to its thread:
// the Lua code that runs raises an error, which it cannot catch for good.
void s2_job_state_stop(S2JobState *state, S2JobStop why);
// The job is over: the next one is not meant.
void s2_job_state_stopped(S2JobState *state);

// The signal that makes a thread look whether its job is to end. Ignored by default, so that one
// which comes late does nothing.
#define S2_JOB_SIGNAL SIGURG
void s2_job_state_watch(void); // installs the handler

// host.job_entry(open): the function of lua/sim2d/parallel.lua that makes a job of a program.
int s2_job_entry(lua_State *L);
// host.job_begin(seed, number, path): sim.random is that of the job; the first world that steps is
// recorded as `path` (nil: none), the next as by --record.
int s2_job_begin(lua_State *L);
// host.job_script(name): what recordings are to say of the script, for a program that begins.
int s2_job_script(lua_State *L);

#endif
