// Finds command options that were placed after the script's name, where the command does not read
// them.
#ifndef S2_MISPLACED_H
#define S2_MISPLACED_H

#include "base/status.h"

#include <lua.h>

// Returns S2_INVALID with the corrected command line if such an option follows argv[script] and the
// script cannot read it. A script cannot read options if it uses neither `arg` nor `...` nor
// sim.options, and loads no files. A script that reads its arguments may have an option of that
// name. Words after "--" belong to the script.
S2Status s2_misplaced_check(lua_State *L, int argc, char **argv, int script);

#endif
