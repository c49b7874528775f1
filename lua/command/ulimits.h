// Shell limits (ulimit). If the command reaches a limit, it fails with a message.
#ifndef S2_ULIMITS_H
#define S2_ULIMITS_H

#include <stdbool.h>

// Call this at the start of the command. It may restart the process. If the limits leave too little
// memory, it prints a message and returns false.
bool s2_ulimits_obey(char **argv);

#endif
