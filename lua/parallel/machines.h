// Processes on this and other machines that run jobs for a script, started by mpirun or srun. The
// first process (rank 0) runs the script and distributes jobs to the others. The transport is MPI.
// A build without S2_MPI reports an error if it is started as one of several processes.
//
// If a process dies, MPI ends all processes. The journal keeps the finished jobs.
#ifndef S2_MACHINES_H
#define S2_MACHINES_H

#include "lua/parallel/pool.h"

#include "base/status.h"

// True if this process was started as one of several processes, according to the environment
// variables of mpirun and srun.
bool s2_machines_launched(void);

// Joins the other processes. Returns S2_UNAVAILABLE in a build without MPI. Call it once, before
// any thread starts. A process leaves when it exits.
S2Status s2_machines_join(void);
int s2_machines_rank(void);  // 0 if not joined.
int s2_machines_count(void); // 1 if not joined.

// For ranks above 0: runs jobs until rank 0 ends. For `like`, see S2JobSetup.
void s2_machines_serve(const S2Session *like);

// For rank 0: the other processes, each opened with the program of a pool. NULL if there are no
// other processes.
typedef struct S2Machines S2Machines;
S2Machines *s2_machines_open(const S2JobSetup *setup, int threads); // threads of each process
void s2_machines_close(S2Machines *machines);                       // NULL is allowed.

// Sends queued jobs of the pool to free processes, and returns their results to the pool. Call it
// often.
void s2_machines_exchange(S2Machines *machines, S2Pool *pool);

#endif
