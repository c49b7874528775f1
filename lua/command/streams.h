// The standard streams of the command.
#ifndef S2_STREAMS_H
#define S2_STREAMS_H

#include <stdbool.h>

// Call this first. It opens the null device in place of closed standard streams. Otherwise the
// first files that are opened would receive the output. Returns false if there is no null device.
bool s2_streams_open(void);

// Call this at the end. It reports an error if standard output could not be written. Returns
// `status`, or a failure status if output failed and `status` was success.
int s2_streams_close(int status);

#endif
