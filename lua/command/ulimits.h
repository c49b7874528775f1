// Limits set by the shell (ulimit): the command fails at them with a message.
#ifndef S2_ULIMITS_H
#define S2_ULIMITS_H

#include <stdbool.h>

// Call this at the start of the command; it may restart the process. False, after a message, if the
// limits leave too little memory.
bool s2_ulimits_obey(char **argv);

#endif
