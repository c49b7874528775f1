// Options of the command that stand behind the script's name, where the command does not look.
#ifndef S2_MISPLACED_H
#define S2_MISPLACED_H

#include "base/status.h"

#include <lua.h>

// S2_INVALID, with the command line that was meant, when such a word stands behind argv[script] and
// the script reads no words at all: neither `arg`, nor `...`, nor sim.options, nor by files it
// loads. Whoever reads them may have an option of that name. Words behind "--" are the script's.
S2Status s2_misplaced_check(lua_State *L, int argc, char **argv, int script);

#endif
