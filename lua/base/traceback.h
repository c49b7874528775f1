// Error messages with the script's own lines and without the frames of the library.
#ifndef S2_TRACEBACK_H
#define S2_TRACEBACK_H

#include <lua.h>

// Message handler for lua_pcall. Converts any error value to a string, with __tostring if
// available, and appends a traceback of the script's lines. If the message already has a traceback,
// it is unchanged.
int s2_traceback_handler(lua_State *L);

// Pushes the message of the error value at `index`, without a traceback.
const char *s2_traceback_message(lua_State *L, int index);

#endif
