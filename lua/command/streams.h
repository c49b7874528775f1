// The standard streams of the command.
#ifndef S2_STREAMS_H
#define S2_STREAMS_H

#include <stdbool.h>

// At the very start: opens the null device in place of streams that are closed, or the first files
// opened would get what is printed. False: there is no null device.
bool s2_streams_open(void);

// At the end: prints why standard output did not take all that was printed. The exit status: that
// of a failure instead of success.
int s2_streams_close(int status);

#endif
