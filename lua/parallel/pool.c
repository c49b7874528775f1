#include "lua/parallel/pool.h"

#include "base/memory.h"
#include "lua/world/binding.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

// Time from the request to stop a job until its thread is abandoned (s).
static const double PATIENCE = 2;
// Time between two checks of time limits (s).
static const double LOOK = 0.05;
// The usual stack size of a main thread (bytes), independent of `ulimit -s`. Only pages that are
// used cost memory.
static const size_t STACK_SIZE = (size_t)8 << 20;

typedef enum WorkerPhase { OPENING, IDLE, RUNNING, STOPPING, GIVEN_UP, ENDED } WorkerPhase;

// The pool's mutex guards all members except `state`, which is set only once, before RUNNING.
typedef struct PoolWorker {
  S2Pool *pool;
  struct PoolWorker *next;
  pthread_t thread;
  S2JobState *state;
  WorkerPhase phase;
  uint64_t number;       // number of the running job
  double start, stopped; // time of start and of the request to stop (s)
} PoolWorker;

typedef struct JobQueue {
  S2Job *first, *last;
  int count;
} JobQueue;

struct S2Pool {
  pthread_mutex_t mutex;
  pthread_cond_t work, done; // signal a new job, and a finished job
  JobQueue todo, over;
  PoolWorker *workers; // linked list, newest first
  S2JobSetup setup;
  unsigned char *program;
  S2Bytes failure; // error from opening a state, or empty
  bool closing;
  int users; // number of users: the owner and living threads. The last one frees the pool
};

// ---- Jobs -------------------------------------------------------------------------------------

S2Job *s2_job_new(uint64_t number) {
  S2Job *job = s2_memory_take_zeroed(sizeof *job);
  job->number = number;
  return job;
}

void s2_job_free(S2Job *job) {
  if (job != NULL) {
    s2_bytes_free(&job->bytes);
    s2_memory_free(job);
  }
}

static void queue_add(JobQueue *queue, S2Job *job) {
  job->next = NULL;
  if (queue->last != NULL) {
    queue->last->next = job;
  } else {
    queue->first = job;
  }
  queue->last = job;
  queue->count++;
}

static S2Job *queue_take(JobQueue *queue) {
  S2Job *job = queue->first;
  if (job != NULL) {
    queue->first = job->next;
    queue->last = job->next == NULL ? NULL : queue->last;
    queue->count--;
  }
  return job;
}

// ---- Threads ----------------------------------------------------------------------------------

// Removes one user. Call it with the mutex held. It unlocks the mutex.
static void pool_leave(S2Pool *pool) {
  bool last = --pool->users == 0;
  pthread_mutex_unlock(&pool->mutex);
  if (!last) {
    return;
  }
  S2Job *job;
  while ((job = queue_take(&pool->todo)) != NULL || (job = queue_take(&pool->over)) != NULL) {
    s2_job_free(job);
  }
  for (PoolWorker *worker = pool->workers, *next; worker != NULL; worker = next) {
    next = worker->next;
    s2_memory_free(worker);
  }
  s2_bytes_free(&pool->failure);
  s2_memory_free(pool->program);
  pthread_cond_destroy(&pool->work);
  pthread_cond_destroy(&pool->done);
  pthread_mutex_destroy(&pool->mutex);
  s2_memory_free(pool);
}

// Runs one job. The mutex is held before and after. Returns false if the thread was abandoned
// during the job.
static bool worker_run(PoolWorker *worker, S2Job *job, S2Bytes *out) {
  S2Pool *pool = worker->pool;
  worker->phase = RUNNING;
  worker->number = job->number;
  worker->start = s2_lua_clock();
  pthread_mutex_unlock(&pool->mutex);
  bool good = s2_job_state_run(worker->state, job->number, job->bytes.at, job->bytes.count, out);
  job->seconds = s2_lua_clock() - worker->start;
  pthread_mutex_lock(&pool->mutex);
  s2_job_state_stopped(worker->state);
  if (worker->phase == GIVEN_UP) {
    s2_job_free(job);
    return false;
  }
  // Reuse the memory of the item for the next result.
  S2Bytes item = job->bytes;
  job->bytes = *out;
  *out = item;
  out->count = 0;
  job->failed = !good;
  worker->phase = IDLE;
  queue_add(&pool->over, job);
  pthread_cond_signal(&pool->done);
  return true;
}

static void *worker_main(void *argument) {
  PoolWorker *worker = argument;
  S2Pool *pool = worker->pool;
  // Open this thread's state.
  S2Bytes out = {0};
  S2JobState *state = s2_job_state_open(&pool->setup, &out);
  pthread_mutex_lock(&pool->mutex);
  if (state == NULL) {
    if (pool->failure.count == 0) {
      s2_bytes_add(&pool->failure, out.at, out.count);
    }
    pthread_cond_signal(&pool->done);
  }
  worker->state = state;
  worker->phase = IDLE;
  // Run jobs until the pool closes.
  bool wanted = state != NULL;
  while (wanted && !pool->closing) {
    S2Job *job = queue_take(&pool->todo);
    if (job == NULL) {
      pthread_cond_wait(&pool->work, &pool->mutex);
    } else {
      wanted = worker_run(worker, job, &out);
    }
  }
  pthread_mutex_unlock(&pool->mutex);
  s2_job_state_close(state);
  s2_bytes_free(&out);
  pthread_mutex_lock(&pool->mutex);
  worker->phase = worker->phase == GIVEN_UP ? GIVEN_UP : ENDED;
  pthread_cond_signal(&pool->done);
  pool_leave(pool);
  return NULL;
}

// Starts a thread that blocks all signals except S2_JOB_SIGNAL, so that the program's own threads
// receive the other signals. Call it with the mutex held.
static bool worker_start(S2Pool *pool) {
  PoolWorker *worker = s2_memory_take_zeroed(sizeof *worker);
  worker->pool = pool;
  // A new thread inherits the signal mask of its creator.
  sigset_t all, before;
  sigfillset(&all);
  sigdelset(&all, S2_JOB_SIGNAL);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, STACK_SIZE);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int failure = pthread_create(&worker->thread, &attributes, worker_main, worker);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
  if (failure != 0) {
    char text[S2_COMPLAINT_SIZE];
    int length = snprintf(text, sizeof text, "a thread cannot be started: %s", strerror(failure));
    s2_memory_free(worker);
    if (pool->failure.count == 0) {
      s2_bytes_add(&pool->failure, text, (size_t)length);
    }
    return false;
  }
  pool->users++;
  worker->next = pool->workers;
  pool->workers = worker;
  return true;
}

S2Pool *s2_pool_open(const S2JobSetup *setup, int threads) {
  S2Pool *pool = s2_memory_take_zeroed(sizeof *pool);
  pool->setup = *setup;
  pool->program = s2_memory_take(setup->size);
  memcpy(pool->program, setup->program, setup->size);
  pool->setup.program = pool->program;
  pool->users = 1;
  // Waits use the monotonic clock, because this clock cannot be set.
  pthread_condattr_t clock;
  pthread_condattr_init(&clock);
  pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
  pthread_mutex_init(&pool->mutex, NULL);
  pthread_cond_init(&pool->work, NULL);
  pthread_cond_init(&pool->done, &clock);
  pthread_condattr_destroy(&clock);
  s2_job_state_watch();
  pthread_mutex_lock(&pool->mutex);
  for (int i = 0; i < threads && worker_start(pool); i++) {
  }
  pthread_mutex_unlock(&pool->mutex);
  return pool;
}

// ---- Ending jobs ------------------------------------------------------------------------------

static void worker_stop(PoolWorker *worker, S2JobStop why, double now) {
  worker->phase = STOPPING;
  worker->stopped = now;
  s2_job_state_stop(worker->state, why);
  pthread_kill(worker->thread, S2_JOB_SIGNAL);
}

// Detaches a thread that does not return from foreign code. Its memory is lost until the code
// returns.
static void worker_give_up(S2Pool *pool, PoolWorker *worker) {
  worker->phase = GIVEN_UP;
  pthread_detach(worker->thread);
  char text[S2_COMPLAINT_SIZE];
  int length = snprintf(text, sizeof text,
                        "the job exceeded its time limit of %g s, but it is in code that is not "
                        "Lua and does not return: its thread is abandoned",
                        pool->setup.time_limit);
  S2Job *job = s2_job_new(worker->number);
  job->failed = true;
  job->seconds = s2_lua_clock() - worker->start;
  s2_bytes_add(&job->bytes, text, (size_t)length);
  queue_add(&pool->over, job);
}

// Checks the time limits. Call it with the mutex held.
static void pool_look(S2Pool *pool) {
  double now = s2_lua_clock();
  for (PoolWorker *worker = pool->workers; worker != NULL; worker = worker->next) {
    if (worker->phase == RUNNING && now - worker->start > pool->setup.time_limit) {
      worker_stop(worker, S2_JOB_LATE, now);
    } else if (worker->phase == STOPPING && now - worker->stopped > PATIENCE) {
      worker_give_up(pool, worker);
      worker_start(pool);
    }
  }
}

// Waits at most `seconds` until a job is finished. Call it with the mutex held.
static void pool_wait(S2Pool *pool, double seconds) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  double end = (double)until.tv_nsec * 1e-9 + seconds;
  until.tv_sec += (time_t)end;
  until.tv_nsec = (long)((end - floor(end)) * 1e9);
  pthread_cond_timedwait(&pool->done, &pool->mutex, &until);
}

void s2_pool_close(S2Pool *pool) {
  pthread_mutex_lock(&pool->mutex);
  pool->closing = true;
  pthread_cond_broadcast(&pool->work);
  double start = s2_lua_clock();
  for (PoolWorker *worker = pool->workers; worker != NULL; worker = worker->next) {
    if (worker->phase == RUNNING) {
      worker_stop(worker, S2_JOB_UNWANTED, start);
    }
    // Abandon threads that do not return.
    bool patient = true;
    while (worker->phase != ENDED && worker->phase != GIVEN_UP && patient) {
      patient = worker->phase != STOPPING || s2_lua_clock() - start < PATIENCE;
      pool_wait(pool, LOOK);
      if (worker->phase == RUNNING) { // The thread took a job before it saw `closing`.
        worker_stop(worker, S2_JOB_UNWANTED, s2_lua_clock());
      }
    }
    if (worker->phase == ENDED) {
      pthread_mutex_unlock(&pool->mutex);
      pthread_join(worker->thread, NULL);
      pthread_mutex_lock(&pool->mutex);
    } else if (worker->phase != GIVEN_UP) {
      worker->phase = GIVEN_UP;
      pthread_detach(worker->thread);
    }
  }
  pool_leave(pool);
}

// ---- Handing out and collecting ---------------------------------------------------------------

void s2_pool_submit(S2Pool *pool, S2Job *job) {
  pthread_mutex_lock(&pool->mutex);
  queue_add(&pool->todo, job);
  pthread_cond_signal(&pool->work);
  pthread_mutex_unlock(&pool->mutex);
}

S2Job *s2_pool_withdraw(S2Pool *pool) {
  pthread_mutex_lock(&pool->mutex);
  S2Job *job = queue_take(&pool->todo);
  pthread_mutex_unlock(&pool->mutex);
  return job;
}

void s2_pool_return(S2Pool *pool, S2Job *job) {
  pthread_mutex_lock(&pool->mutex);
  queue_add(&pool->over, job);
  pthread_mutex_unlock(&pool->mutex);
}

void s2_pool_break(S2Pool *pool, const void *text, size_t size) {
  pthread_mutex_lock(&pool->mutex);
  if (pool->failure.count == 0) {
    s2_bytes_add(&pool->failure, text, size);
  }
  pthread_mutex_unlock(&pool->mutex);
}

S2Job *s2_pool_collect(S2Pool *pool, double timeout, bool *broken) {
  *broken = false;
  double end = s2_lua_clock() + timeout;
  pthread_mutex_lock(&pool->mutex);
  S2Job *job = queue_take(&pool->over);
  while (job == NULL && pool->failure.count == 0) {
    double left = end - s2_lua_clock();
    if (!(left > 0)) {
      break;
    }
    pool_look(pool);
    pool_wait(pool, fmin(left, LOOK));
    job = queue_take(&pool->over);
  }
  pool_look(pool);
  if (job == NULL && pool->failure.count > 0) {
    *broken = true;
    job = s2_job_new(0);
    s2_bytes_add(&job->bytes, pool->failure.at, pool->failure.count);
  }
  pthread_mutex_unlock(&pool->mutex);
  return job;
}
