// Threads that run jobs, each in a Lua state of its own. One thread, the owner's, hands jobs out
// and collects what became of them; a thread that is free takes the next.
//
// A job whose time is over is made to raise an error. If it does not come back from foreign code
// within PATIENCE (pool.c), it is given up with its thread: another thread takes its place.
#ifndef S2_POOL_H
#define S2_POOL_H

#include "lua/parallel/job_state.h"

typedef struct S2Pool S2Pool;

// On its way in it holds the packed item; on its way out the packed result, or what went wrong.
typedef struct S2Job {
  struct S2Job *next;
  uint64_t number;
  bool failed;
  double seconds; // that it took
  S2Bytes bytes;
} S2Job;

S2Job *s2_job_new(uint64_t number); // its bytes are empty
void s2_job_free(S2Job *job);       // NULL: nothing

// `setup.program` is copied. `threads` is at least 1; their states open in the threads.
S2Pool *s2_pool_open(const S2JobSetup *setup, int threads);

// Ends what runs, and the threads.
void s2_pool_close(S2Pool *pool);

void s2_pool_submit(S2Pool *pool, S2Job *job); // the pool's from now on

// A job that no thread has taken yet, the oldest; NULL: there is none.
S2Job *s2_pool_withdraw(S2Pool *pool);
// What was done elsewhere, to be collected.
void s2_pool_return(S2Pool *pool, S2Job *job);

// Elsewhere a state could not be opened: as if it had been here.
void s2_pool_break(S2Pool *pool, const void *text, size_t size);

// The next job that is done, to be freed; NULL: none within `timeout` s. *broken: a state could not
// be opened, the bytes of the job say why. Looks after time limits: to be called often while jobs
// run.
S2Job *s2_pool_collect(S2Pool *pool, double timeout, bool *broken);

#endif
