// Error messages with the script's own lines and without the frames of the library.
#ifndef S2_TRACEBACK_H
#define S2_TRACEBACK_H

#include <lua.h>

// Message handler for lua_pcall: turns any error value into a string (with __tostring if it has
// one) and appends a traceback of the lines of the script. A message that already has a traceback
// keeps it.
int s2_traceback_handler(lua_State *L);

// Pushes the message of the error value at `index`, without a traceback.
const char *s2_traceback_message(lua_State *L, int index);

#endif
