// Threads that run jobs, each in its own Lua state. The owner's thread submits jobs and collects
// their results. A free thread takes the next job.
//
// If a job exceeds its time limit, an error is raised in it. If it does not return from foreign
// code within PATIENCE (pool.c), the job and its thread are abandoned, and another thread replaces
// this thread.
#ifndef S2_POOL_H
#define S2_POOL_H

#include "lua/parallel/job_state.h"

typedef struct S2Pool S2Pool;

// A submitted job contains the packed item. A collected job contains the packed result or the text
// of the error.
typedef struct S2Job {
  struct S2Job *next;
  uint64_t number;
  bool failed;
  double seconds; // duration
  S2Bytes bytes;
} S2Job;

S2Job *s2_job_new(uint64_t number); // a job with empty bytes
void s2_job_free(S2Job *job);       // NULL is allowed.

// Copies `setup.program`. `threads` is at least 1, and each thread opens its own state.
S2Pool *s2_pool_open(const S2JobSetup *setup, int threads);

// Stops running jobs and ends the threads.
void s2_pool_close(S2Pool *pool);

void s2_pool_submit(S2Pool *pool, S2Job *job); // The pool takes ownership.

// The oldest job that no thread has taken yet, or NULL.
S2Job *s2_pool_withdraw(S2Pool *pool);
// Adds a job that another process has run, so that it can be collected.
void s2_pool_return(S2Pool *pool, S2Job *job);

// Reports that another process could not open a state. The effect is the same as for a failure in
// this process.
void s2_pool_break(S2Pool *pool, const void *text, size_t size);

// Returns the next finished job, which the caller frees, or NULL if no job finishes within
// `timeout` seconds. If *broken is set, a state could not be opened, and the job's bytes contain
// the error. Call this often while jobs run, because it also checks time limits.
S2Job *s2_pool_collect(S2Pool *pool, double timeout, bool *broken);

#endif
