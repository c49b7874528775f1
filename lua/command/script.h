// Functions that load and run Lua code for the command, with readable messages, tracebacks and
// Ctrl-C.
#ifndef S2_SCRIPT_H
#define S2_SCRIPT_H

#include "base/sha256.h"

#include <lua.h>
#include <signal.h>
#include <stdbool.h>

// Loads the file `path`, or stdin if `path` is NULL. Returns the status of luaL_loadfile and pushes
// the chunk or a message. Sets *missing if the file cannot be opened.
int s2_script_load(lua_State *L, const char *path, bool *missing);

// Computes the SHA-256 of the file as text. Returns false if the file cannot be read.
bool s2_script_hash(const char *path, char hash[S2_SHA256_SIZE]);

// Lets `require` search the folder of the script `path` before any other folder.
void s2_script_find_beside(lua_State *L, const char *path);

// Installs the signal handlers and clears the flag s2_script_interrupted. The first SIGINT, SIGTERM
// or SIGHUP then sets the flag and raises "interrupted" in the Lua code of s2_script_call. A script
// can catch this error only temporarily. A second signal kills the process.
void s2_script_watch(void);

// Call this when the script has ended, so that closing recordings may take as long as it needs.
// If it is not called, the process is killed a few seconds after SIGTERM or SIGHUP, even if it is
// busy in C code.
void s2_script_stopped(void);

// Stops the Lua code that s2_script_call is running, as Ctrl-C does.
void s2_script_unwind(void);

// The number of the last signal, or 0. S2Session.interrupted points to it.
volatile sig_atomic_t *s2_script_interrupted(void);
// The location of the pointer to the running coroutine. S2Session.task points to it.
lua_State *volatile *s2_script_task(void);

// lua_pcall with a traceback in the message. Calls must not be nested.
int s2_script_call(lua_State *L, int arguments, int results);

// Prints "sim2d: message" for the error value on top of the stack, and pops it. After Ctrl-C the
// traceback is omitted.
void s2_script_report(lua_State *L);

#endif
