// The interactive prompt.
#ifndef S2_REPL_H
#define S2_REPL_H

#include <lua.h>

// Reads lines from stdin, runs them and prints the values of expressions, until the input ends. On
// a terminal the prompt has line editing, history and completion if built with libedit. `sim` is
// predefined.
void s2_repl_run(lua_State *L);

#endif
