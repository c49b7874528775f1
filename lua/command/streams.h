// The standard streams of the command.
#ifndef S2_STREAMS_H
#define S2_STREAMS_H

#include <stdbool.h>

// Call this first: it opens the null device in place of closed standard streams. Otherwise the
// first opened files would receive the output. False if there is no null device.
bool s2_streams_open(void);

// Call this at the end: it reports why standard output could not take all output. Returns `status`,
// or that of a failure if `status` was success.
int s2_streams_close(int status);

#endif
