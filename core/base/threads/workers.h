// Threads that process the items 0 to count - 1. Each idle thread takes the next chunk of items.
//
// The threads sleep between runs. The calling thread also works, as worker 0. The result for an
// item must depend only on the item, so that any worker can compute it.
#ifndef S2_WORKERS_H
#define S2_WORKERS_H

typedef struct S2Workers S2Workers;

enum { S2_WORKERS_MOST = 1024 }; // threads.

// `threads` includes the calling thread, 1 to S2_WORKERS_MOST (clamped). The actual number is
// smaller if the system cannot create that many threads.
S2Workers *s2_workers_new(int threads);
void s2_workers_free(S2Workers *workers); // NULL is allowed
int s2_workers_count(const S2Workers *workers);

// Calls work(user, worker, item) once for each item, and returns when all items are done. `worker`
// is between 0 and s2_workers_count - 1, and no two calls use the same worker at the same time.
// `work` must not call this function.
typedef void S2Work(void *user, int worker, int item);
void s2_workers_run(S2Workers *workers, int count, S2Work *work, void *user);

#endif
