// Threads that share out numbered items: 0 to count - 1, in chunks, to whoever is free.
//
// The threads stay between runs and sleep there. The calling thread works too, as worker 0. What is
// computed for an item must depend on nothing but the item, so that it does not matter who does it.
#ifndef S2_WORKERS_H
#define S2_WORKERS_H

typedef struct S2Workers S2Workers;

enum { S2_WORKERS_MOST = 1024 }; // threads

// `threads` in all, 1 to S2_WORKERS_MOST (clamped). Where the system gives fewer, there are fewer.
S2Workers *s2_workers_new(int threads);
void s2_workers_free(S2Workers *workers); // NULL: nothing
int s2_workers_count(const S2Workers *workers);

// Calls work(user, worker, item) once for each item; returns when all are done. `worker` is 0 to
// s2_workers_count - 1: no two calls that run at a time have the same. Not from within `work`.
typedef void S2Work(void *user, int worker, int item);
void s2_workers_run(S2Workers *workers, int count, S2Work *work, void *user);

#endif
