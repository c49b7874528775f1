// Running Lua from the command: loading with messages a person understands, calling with tracebacks
// and Ctrl-C.
#ifndef S2_SCRIPT_H
#define S2_SCRIPT_H

#include "base/sha256.h"

#include <lua.h>
#include <signal.h>
#include <stdbool.h>

// Loads the file `path`, NULL: stdin. Returns what luaL_loadfile returns, with the chunk or a
// message on the stack; *missing tells that the file could not be opened.
int s2_script_load(lua_State *L, const char *path, bool *missing);

// SHA-256 of the file as text. False: it cannot be read.
bool s2_script_hash(const char *path, char hash[S2_SHA256_SIZE]);

// Lets `require` find modules in the folder of the script `path`, before any other.
void s2_script_find_beside(lua_State *L, const char *path);

// From now on the first SIGINT, SIGTERM or SIGHUP sets the flag below and raises "interrupted" in
// the Lua code that s2_script_call is running, which scripts cannot catch for good; the second one
// kills the process. Clears the flag.
void s2_script_watch(void);

// The script runs no more: what follows, closing recordings, may take its time. After SIGTERM or
// SIGHUP a script that is in C code and does not return is ended all the same, some seconds later.
void s2_script_stopped(void);

// Makes the Lua code that s2_script_call is running stop, as Ctrl-C does.
void s2_script_unwind(void);

// The signal, 0 before one; what S2Session.interrupted points to.
volatile sig_atomic_t *s2_script_interrupted(void);
// Where the coroutine that runs is to be put; what S2Session.task points to.
lua_State *volatile *s2_script_task(void);

// lua_pcall with a traceback in the message. Not to be nested.
int s2_script_call(lua_State *L, int arguments, int results);

// Prints "sim2d: message" for the error value on top of the stack, and pops it. Whoever pressed
// Ctrl-C knows the reason, so there the traceback is left out.
void s2_script_report(lua_State *L);

#endif
