#include "lua/parallel/machines.h"

#include <stdlib.h>

bool s2_machines_launched(void) {
  // Open MPI and PMI (MPICH, srun --mpi=pmi2) set these variables. PMIx (srun --mpi=pmix) does not
  // set a count.
  static const char *const counts[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
    const char *count = getenv(counts[i]);
    if (count != NULL && strtol(count, NULL, 10) > 1) {
      return true;
    }
  }
  const char *tasks = getenv("SLURM_NTASKS");
  return getenv("PMIX_RANK") != NULL && tasks != NULL && strtol(tasks, NULL, 10) > 1;
}

#ifdef S2_HAVE_MPI

#include "base/memory.h"
#include "lua/world/binding.h"

#include <limits.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

// Kinds of messages. OPEN, JOB, CLOSE and LEAVE are sent from rank 0 to the others. The rest are
// sent to rank 0.
typedef enum Message { OPEN, JOB, CLOSE, LEAVE, DONE, BROKEN, CLOSED } Message;

// Time that an idle process waits between two polls (s).
static const double LOOK = 5e-4;

enum { AHEAD = 4 }; // Short jobs that may queue in a process, per thread.
// If jobs are shorter than this (s), the time of a message is significant.
static const double SHORT_JOB = 0.02;

// ---- Messages ---------------------------------------------------------------------------------

typedef struct JobHead {
  uint64_t number;
  double seconds;
  uint64_t failed;
} JobHead;

typedef struct OpenHead {
  double time_limit;
  uint64_t threads;
} OpenHead;

static void machines_nap(void) {
  const struct timespec wait = {.tv_nsec = (long)(LOOK * 1e9)};
  nanosleep(&wait, NULL);
}

// Receives a pending message from any rank. Its contents replace the contents of `bytes`.
static bool machines_receive(S2Bytes *bytes, Message *message, int *from) {
  int there = 0, size = 0;
  MPI_Status status;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &status);
  if (!there) {
    return false;
  }
  MPI_Get_count(&status, MPI_BYTE, &size);
  bytes->count = 0;
  s2_bytes_room(bytes, (size_t)size + 1);
  MPI_Recv(bytes->at, size, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, &status);
  bytes->count = (size_t)size;
  *message = (Message)status.MPI_TAG;
  *from = status.MPI_SOURCE;
  return true;
}

static void bytes_set(S2Bytes *bytes, const void *head, size_t head_size, const void *data,
                      size_t size) {
  bytes->count = 0;
  s2_bytes_add(bytes, head, head_size);
  s2_bytes_add(bytes, data, size);
}

// ---- Joining ----------------------------------------------------------------------------------

static bool machines_joined(void) {
  int started = 0, ended = 0;
  MPI_Initialized(&started);
  MPI_Finalized(&ended);
  return started && !ended;
}

int s2_machines_rank(void) {
  int rank = 0;
  if (machines_joined()) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  }
  return rank;
}

int s2_machines_count(void) {
  int count = 1;
  if (machines_joined()) {
    MPI_Comm_size(MPI_COMM_WORLD, &count);
  }
  return count;
}

static void machines_leave(void) {
  if (!machines_joined()) {
    return;
  }
  int count = s2_machines_rank() == 0 ? s2_machines_count() : 0;
  for (int rank = 1; rank < count; rank++) {
    MPI_Send(NULL, 0, MPI_BYTE, rank, LEAVE, MPI_COMM_WORLD);
  }
  MPI_Finalize();
}

S2Status s2_machines_join(void) {
  int level = MPI_THREAD_SINGLE;
  // Only the thread that joins sends and receives messages.
  if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS ||
      level < MPI_THREAD_FUNNELED) {
    return s2_error(S2_UNAVAILABLE, "this MPI library does not support programs that have threads");
  }
  atexit(machines_leave); // also runs after os.exit
  return s2_ok();
}

// ---- Rank 0 -----------------------------------------------------------------------------------

// A message being sent.
typedef struct Sending {
  struct Sending *next;
  MPI_Request request;
  S2Bytes bytes;
} Sending;

struct S2Machines {
  int count;     // number of processes, including this process
  int threads;   // threads per process
  int *out;      // number of jobs of each process, by rank
  double mean;   // running mean of seconds per job; NAN: unknown
  S2Bytes bytes; // buffer for received messages
  Sending *sendings;
};

// Sends without waiting, because two processes that wait for each other to receive would deadlock.
static void machines_send(S2Machines *machines, int rank, Message message, S2Bytes bytes) {
  Sending *sending = s2_memory_take_zeroed(sizeof *sending);
  sending->bytes = bytes;
  sending->next = machines->sendings;
  machines->sendings = sending;
  MPI_Isend(bytes.at, (int)bytes.count, MPI_BYTE, rank, message, MPI_COMM_WORLD, &sending->request);
}

// Frees messages that have arrived.
static void machines_sweep(S2Machines *machines) {
  for (Sending **at = &machines->sendings; *at != NULL;) {
    Sending *sending = *at;
    int arrived = 0;
    MPI_Test(&sending->request, &arrived, MPI_STATUS_IGNORE);
    if (arrived) {
      *at = sending->next;
      s2_bytes_free(&sending->bytes);
      s2_memory_free(sending);
    } else {
      at = &sending->next;
    }
  }
}

S2Machines *s2_machines_open(const S2JobSetup *setup, int threads) {
  int count = s2_machines_count();
  if (count == 1) {
    return NULL;
  }
  S2Machines *machines = s2_memory_take_zeroed(sizeof *machines);
  machines->count = count;
  machines->threads = threads;
  machines->out = s2_memory_take_zeroed((size_t)count * sizeof *machines->out);
  machines->mean = (double)NAN;
  const OpenHead head = {setup->time_limit, (uint64_t)threads};
  for (int rank = 1; rank < count; rank++) {
    S2Bytes bytes = {0};
    bytes_set(&bytes, &head, sizeof head, setup->program, setup->size);
    machines_send(machines, rank, OPEN, bytes);
  }
  return machines;
}

void s2_machines_close(S2Machines *machines) {
  if (machines == NULL) {
    return;
  }
  for (int rank = 1; rank < machines->count; rank++) {
    machines_send(machines, rank, CLOSE, (S2Bytes){0});
  }
  // Discard messages that still arrive, because they belong to abandoned jobs.
  int closed = 1;
  while (closed < machines->count || machines->sendings != NULL) {
    Message message;
    int from;
    if (!machines_receive(&machines->bytes, &message, &from)) {
      machines_nap();
    } else if (message == CLOSED) {
      closed++;
    }
    machines_sweep(machines);
  }
  s2_bytes_free(&machines->bytes);
  s2_memory_free(machines->out);
  s2_memory_free(machines);
}

static void machines_take_in(S2Machines *machines, S2Pool *pool, Message message, int from) {
  const S2Bytes *bytes = &machines->bytes;
  if (message == BROKEN) {
    s2_pool_break(pool, bytes->at, bytes->count);
    return;
  }
  if (message != DONE || bytes->count < sizeof(JobHead)) {
    return;
  }
  JobHead head;
  memcpy(&head, bytes->at, sizeof head);
  S2Job *job = s2_job_new(head.number);
  job->failed = head.failed != 0;
  job->seconds = head.seconds;
  s2_bytes_add(&job->bytes, bytes->at + sizeof head, bytes->count - sizeof head);
  s2_pool_return(pool, job);
  machines->out[from]--;
  machines->mean = isnan(machines->mean) ? head.seconds : 0.9 * machines->mean + 0.1 * head.seconds;
}

void s2_machines_exchange(S2Machines *machines, S2Pool *pool) {
  // Receive the results.
  Message message;
  int from;
  while (machines_receive(&machines->bytes, &message, &from)) {
    machines_take_in(machines, pool, message, from);
  }
  machines_sweep(machines);
  // Send a job to the process with the fewest jobs. Long jobs do not queue in a process, because
  // another process may become free earlier.
  int most = machines->threads * (machines->mean < SHORT_JOB ? 1 + AHEAD : 1);
  for (int level = 0; level < most; level++) {
    for (int rank = 1; rank < machines->count; rank++) {
      S2Job *job = machines->out[rank] > level ? NULL : s2_pool_withdraw(pool);
      if (job != NULL) {
        const JobHead head = {.number = job->number};
        S2Bytes bytes = {0};
        bytes_set(&bytes, &head, sizeof head, job->bytes.at, job->bytes.count);
        s2_job_free(job);
        machines_send(machines, rank, JOB, bytes);
        machines->out[rank]++;
      }
    }
  }
}

// ---- The others -------------------------------------------------------------------------------

typedef struct Server {
  S2Session like;
  S2Pool *pool;  // NULL: no pool is open
  S2Bytes bytes; // buffer for received messages
  S2Bytes out;
} Server;

static void server_close(Server *server) {
  if (server->pool != NULL) {
    s2_pool_close(server->pool);
    server->pool = NULL;
  }
}

static void server_open(Server *server) {
  OpenHead head;
  memcpy(&head, server->bytes.at, sizeof head);
  S2JobSetup setup = {.program = server->bytes.at + sizeof head,
                      .size = server->bytes.count - sizeof head,
                      .time_limit = head.time_limit,
                      .like = server->like};
  server_close(server);
  server->pool = s2_pool_open(&setup, (int)head.threads);
}

static void server_submit(Server *server) {
  JobHead head;
  memcpy(&head, server->bytes.at, sizeof head);
  if (server->pool == NULL) {
    return; // the pool has failed, and rank 0 was notified
  }
  S2Job *job = s2_job_new(head.number);
  s2_bytes_add(&job->bytes, server->bytes.at + sizeof head, server->bytes.count - sizeof head);
  s2_pool_submit(server->pool, job);
}

// Sends finished jobs. Returns false if no job finishes within `wait` seconds.
static bool server_deliver(Server *server, double wait) {
  bool broken;
  S2Job *job = s2_pool_collect(server->pool, wait, &broken);
  if (job == NULL) {
    return false;
  }
  if (!broken && job->bytes.count > INT_MAX - sizeof(JobHead)) {
    static const char text[] = "the job's result is larger than 2 GB, the limit of a message";
    job->failed = true;
    bytes_set(&job->bytes, text, sizeof text - 1, NULL, 0);
  }
  const JobHead head = {job->number, job->seconds, job->failed};
  bytes_set(&server->out, &head, broken ? 0 : sizeof head, job->bytes.at, job->bytes.count);
  MPI_Send(server->out.at, (int)server->out.count, MPI_BYTE, 0, broken ? BROKEN : DONE,
           MPI_COMM_WORLD);
  s2_job_free(job);
  if (broken) {
    server_close(server);
  }
  return !broken;
}

void s2_machines_serve(const S2Session *like) {
  Server server = {.like = *like};
  Message message = CLOSE;
  int from;
  while (message != LEAVE) {
    // Handle requests of rank 0 before sending results.
    if (machines_receive(&server.bytes, &message, &from)) {
      switch (message) {
      case OPEN:
        server_open(&server);
        break;
      case JOB:
        server_submit(&server);
        break;
      case CLOSE:
        server_close(&server);
        MPI_Send(NULL, 0, MPI_BYTE, 0, CLOSED, MPI_COMM_WORLD);
        break;
      default:
        break;
      }
    } else if (server.pool == NULL) {
      machines_nap();
    } else if (server_deliver(&server, LOOK)) {
      while (server_deliver(&server, 0)) {
      }
    }
  }
  server_close(&server);
  s2_bytes_free(&server.bytes);
  s2_bytes_free(&server.out);
}

#else

S2Status s2_machines_join(void) {
  return s2_error(S2_UNAVAILABLE, "this is one of several processes started together, and this "
                                  "build has no MPI: build with -DS2_MPI=ON, or start one process");
}

int s2_machines_rank(void) {
  return 0;
}

int s2_machines_count(void) {
  return 1;
}

void s2_machines_serve(const S2Session *like) {
  (void)like;
}

S2Machines *s2_machines_open(const S2JobSetup *setup, int threads) {
  (void)setup;
  (void)threads;
  return NULL;
}

void s2_machines_close(S2Machines *machines) {
  (void)machines;
}

void s2_machines_exchange(S2Machines *machines, S2Pool *pool) {
  (void)machines;
  (void)pool;
}

#endif
