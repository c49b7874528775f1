#include "base/threads/workers.h"

#include "base/memory.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

// Average number of chunks per worker in a run. With more chunks, the workers finish at nearly the
// same time. With fewer chunks, taking them costs less.
static const int CHUNKS = 16;
// Seconds for which an idle thread polls for the next run before it sleeps. Runs often follow each
// other immediately, and waking a thread takes as long as a small run.
static const double AWAKE = 1e-4;
// Number of polls between two readings of the clock.
enum { LOOKS = 64 };
// Stack size of a thread in bytes, regardless of `ulimit -s`. Main threads usually have this size.
// Only the used part occupies memory.
static const size_t STACK_SIZE = (size_t)8 << 20;

typedef struct Worker {
  S2Workers *workers;
  pthread_t thread;
  int number;
} Worker;

// The mutex protects all members. Atomic members are written under the mutex, but may be read
// without it.
struct S2Workers {
  pthread_mutex_t mutex;
  pthread_cond_t begin, end; // signalled when a run begins, and when the last worker leaves it
  int count;                 // number of workers, including the calling thread
  Worker *worker;            // [count]; entry 0 is unused
  atomic_ullong run;         // number of runs begun so far
  atomic_int busy;           // number of threads that are still in the run
  atomic_bool closing;
  // data of the current run
  S2Work *work;
  void *user;
  int items, next, chunk;
};

// The caller holds the mutex before and after the call.
static void workers_take_part(S2Workers *workers, int number) {
  S2Work *work = workers->work;
  void *user = workers->user;
  while (workers->next < workers->items) {
    int first = workers->next;
    int left = workers->items - first;
    int last = first + (workers->chunk < left ? workers->chunk : left);
    workers->next = last;
    pthread_mutex_unlock(&workers->mutex);
    for (int item = first; item < last; item++) {
      work(user, number, item);
    }
    pthread_mutex_lock(&workers->mutex);
  }
}

static double workers_clock(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// Polls until a new run begins, but only for a while. The caller must not hold the mutex.
static void workers_look(S2Workers *workers, uint64_t seen) {
  double end = workers_clock() + AWAKE;
  do {
    for (int i = 0; i < LOOKS; i++) {
      if (atomic_load(&workers->run) != seen || atomic_load(&workers->closing)) {
        return;
      }
    }
  } while (workers_clock() < end);
}

static void *workers_main(void *argument) {
  const Worker *worker = argument;
  S2Workers *workers = worker->workers;
  uint64_t seen = 0;
  pthread_mutex_lock(&workers->mutex);
  while (!workers->closing) {
    if (workers->run == seen) {
      pthread_cond_wait(&workers->begin, &workers->mutex);
      continue;
    }
    seen = workers->run;
    workers_take_part(workers, worker->number);
    if (atomic_fetch_sub(&workers->busy, 1) == 1) {
      pthread_cond_signal(&workers->end);
    }
    pthread_mutex_unlock(&workers->mutex);
    workers_look(workers, seen);
    pthread_mutex_lock(&workers->mutex);
  }
  pthread_mutex_unlock(&workers->mutex);
  return NULL;
}

// The thread blocks all signals, so that the host program's own threads receive them.
static bool workers_start(S2Workers *workers, int number) {
  Worker *worker = &workers->worker[number];
  worker->workers = workers;
  worker->number = number;
  sigset_t all, before;
  sigfillset(&all);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, STACK_SIZE);
  pthread_sigmask(SIG_SETMASK, &all, &before); // a new thread inherits the signal mask of its
                                               // creator
  int failure = pthread_create(&worker->thread, &attributes, workers_main, worker);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
  return failure == 0;
}

S2Workers *s2_workers_new(int threads) {
  threads = threads < 1 ? 1 : threads > S2_WORKERS_MOST ? S2_WORKERS_MOST : threads;
  S2Workers *workers = s2_memory_take_zeroed(sizeof *workers);
  workers->worker = s2_memory_take_zeroed(sizeof *workers->worker * (size_t)threads);
  pthread_mutex_init(&workers->mutex, NULL);
  pthread_cond_init(&workers->begin, NULL);
  pthread_cond_init(&workers->end, NULL);
  workers->count = 1;
  while (workers->count < threads && workers_start(workers, workers->count)) {
    workers->count++;
  }
  return workers;
}

void s2_workers_free(S2Workers *workers) {
  if (workers == NULL) {
    return;
  }
  pthread_mutex_lock(&workers->mutex);
  workers->closing = true;
  pthread_cond_broadcast(&workers->begin);
  pthread_mutex_unlock(&workers->mutex);
  for (int i = 1; i < workers->count; i++) {
    pthread_join(workers->worker[i].thread, NULL);
  }
  pthread_cond_destroy(&workers->begin);
  pthread_cond_destroy(&workers->end);
  pthread_mutex_destroy(&workers->mutex);
  s2_memory_free(workers->worker);
  s2_memory_free(workers);
}

int s2_workers_count(const S2Workers *workers) {
  return workers->count;
}

void s2_workers_run(S2Workers *workers, int count, S2Work *work, void *user) {
  // Without other threads, there is nothing to wake.
  if (workers->count == 1 || count <= 1) {
    for (int item = 0; item < count; item++) {
      work(user, 0, item);
    }
    return;
  }
  pthread_mutex_lock(&workers->mutex);
  assert(workers->busy == 0); // `work` must not start another run
  int chunk = count / (CHUNKS * workers->count);
  workers->work = work;
  workers->user = user;
  workers->items = count;
  workers->next = 0;
  workers->chunk = chunk < 1 ? 1 : chunk;
  workers->busy = workers->count - 1;
  workers->run++;
  pthread_cond_broadcast(&workers->begin);
  // The calling thread takes part, then waits until the other threads have left the run, because
  // the work uses the caller's data.
  workers_take_part(workers, 0);
  while (workers->busy > 0) {
    pthread_cond_wait(&workers->end, &workers->mutex);
  }
  pthread_mutex_unlock(&workers->mutex);
}
