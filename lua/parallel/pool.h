// Threads that run jobs, each in its own Lua state. The owner's thread hands out jobs and collects
// their results; a free thread takes the next job.
//
// A job that exceeds its time limit is made to raise an error. If it does not return from foreign
// code within PATIENCE (pool.c), it is given up with its thread, and another thread takes its
// place.
#ifndef S2_POOL_H
#define S2_POOL_H

#include "lua/parallel/job_state.h"

typedef struct S2Pool S2Pool;

// When submitted it contains the packed item; when collected the packed result or the error text.
typedef struct S2Job {
  struct S2Job *next;
  uint64_t number;
  bool failed;
  double seconds; // duration
  S2Bytes bytes;
} S2Job;

S2Job *s2_job_new(uint64_t number); // with empty bytes
void s2_job_free(S2Job *job);       // NULL is allowed

// `setup.program` is copied. `threads` is at least 1; each thread opens its own state.
S2Pool *s2_pool_open(const S2JobSetup *setup, int threads);

// Stops running jobs and ends the threads.
void s2_pool_close(S2Pool *pool);

void s2_pool_submit(S2Pool *pool, S2Job *job); // the pool takes ownership

// The oldest job that no thread has taken yet; NULL if there is none.
S2Job *s2_pool_withdraw(S2Pool *pool);
// Adds a job that was run elsewhere, to be collected.
void s2_pool_return(S2Pool *pool, S2Job *job);

// Reports that a state could not be opened elsewhere, with the same effect as a failure here.
void s2_pool_break(S2Pool *pool, const void *text, size_t size);

// The next finished job, which the caller frees; NULL if none finishes within `timeout` s. *broken:
// a state could not be opened, and the job's bytes contain the error. This also checks time limits,
// so call it often while jobs run.
S2Job *s2_pool_collect(S2Pool *pool, double timeout, bool *broken);

#endif
