// Error messages as a person wants them: the script's own lines, without the frames of ours.
#ifndef S2_TRACEBACK_H
#define S2_TRACEBACK_H

#include <lua.h>

// Message handler for lua_pcall: turns any error value into a string (its __tostring if it has one)
// and appends a traceback of the lines of the script. A message that brought its own traceback with
// it keeps that.
int s2_traceback_handler(lua_State *L);

// Pushes what an error value at `index` says, without a traceback.
const char *s2_traceback_message(lua_State *L, int index);

#endif
