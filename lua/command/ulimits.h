// Limits that the shell sets (ulimit): the command fails at them with a message.
#ifndef S2_ULIMITS_H
#define S2_ULIMITS_H

#include <stdbool.h>

// At the start of the command, which may start itself again. False, having said why: the limits
// leave no room to work.
bool s2_ulimits_obey(char **argv);

#endif
