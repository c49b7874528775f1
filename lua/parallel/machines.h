// Processes on this and other machines that run jobs for a script, started by mpirun or srun: the
// first (rank 0) runs the script and hands out jobs, the others serve. The transport is MPI; a
// build without S2_MPI has none, and says so where it was started as one of several.
//
// A process that dies ends them all (MPI does that): the journal has what was done.
#ifndef S2_MACHINES_H
#define S2_MACHINES_H

#include "lua/parallel/pool.h"

#include "base/status.h"

// Was this process started as one of several? By what mpirun and srun put into the environment.
bool s2_machines_launched(void);

// Joins the others; S2_UNAVAILABLE in a build without MPI. Once, before any thread. Leaving is
// seen to when the process exits.
S2Status s2_machines_join(void);
int s2_machines_rank(void);  // 0 when nobody was joined
int s2_machines_count(void); // 1 then

// For ranks above 0: runs jobs until rank 0 ends. `like`: see S2JobSetup.
void s2_machines_serve(const S2Session *like);

// For rank 0: the other processes, opened with the program of a pool. NULL: there are none.
typedef struct S2Machines S2Machines;
S2Machines *s2_machines_open(const S2JobSetup *setup, int threads); // of each process
void s2_machines_close(S2Machines *machines);                       // NULL: nothing

// Hands jobs that wait in the pool to processes that are free, and gives it what came back. To be
// called often.
void s2_machines_exchange(S2Machines *machines, S2Pool *pool);

#endif
