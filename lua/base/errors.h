// Functions that raise errors. Each message shows the line of the script and the documented name of
// the function.
#ifndef S2_ERRORS_H
#define S2_ERRORS_H

#include "base/arena.h"
#include "base/status.h"

#include <lauxlib.h>
#include <lua.h>

// Names of the object types, compared by address.
extern const char s2_type_world[], s2_type_body[], s2_type_joint[], s2_type_vector[],
    s2_type_random[], s2_type_handle[], s2_type_snapshot[], s2_type_recording[], s2_type_contact[],
    s2_type_bodies[], s2_type_joints[], s2_type_array[], s2_type_tracked[], s2_type_formula[];

// Returns the object at `index`, or NULL if the value is not an object of this type. Every object
// starts with the address of its type.
void *s2_lua_test(lua_State *L, int index, const char *type);
// Like s2_lua_test, but raises a bad-argument error instead of returning NULL.
void *s2_lua_check(lua_State *L, int argument, const char *type);

// Creates the metatable of a type if necessary and pushes it. Scripts cannot read it with
// getmetatable.
void s2_lua_metatable(lua_State *L, const char *type);
// Like luaL_setfuncs, but also stores the names of the functions for messages.
void s2_lua_functions(lua_State *L, const luaL_Reg *functions, int upvalues);

// Raise an error with a message formatted as by printf. These functions never return; the result
// type int allows `return s2_lua_fail(...)`.
int s2_lua_fail(lua_State *L, const char *format, ...) __attribute__((format(printf, 2, 3)));
int s2_lua_bad_argument(lua_State *L, int argument, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// Raises an error unless the status is S2_OK.
void s2_lua_try(lua_State *L, S2Status status);
// Runs `work` with a temporary arena and raises an error if memory runs out. `work` must not call
// Lua: an error raised there would leak the arena.
typedef void S2LuaWork(void *user, S2Arena *arena);
void s2_lua_with_arena(lua_State *L, S2LuaWork *work, void *user);
// Pushes "FILE:LINE: " of the innermost frame with a script line, or "" if there is none. Tail
// calls and the library's own Lua code leave no script line.
void s2_lua_push_position(lua_State *L);
// Raises "OWNER has no field 'KEY'; did you mean ...". The known names are the string keys of the
// table at `names`. A documented field that is not implemented raises "not available yet".
int s2_lua_no_field(lua_State *L, const char *owner, int key, int names);

// Describes a value for a message: "number 3", "'text'", "table" ...
enum { S2_LUA_TEXT = 80 };
const char *s2_lua_describe(lua_State *L, int index, char text[S2_LUA_TEXT]);
// True if a table that should be {lo, hi} has a key other than 1 and 2. In this case `text`
// describes the key.
bool s2_lua_pair_stray(lua_State *L, int index, char text[S2_LUA_TEXT]);

// Message handler for callbacks that run inside the engine. It stores the traceback, because the
// error is rethrown elsewhere. s2_lua_kept_traceback pushes the traceback if it belongs to `error`.
int s2_lua_keep_traceback(lua_State *L);
// Like s2_lua_keep_traceback, for the error on top of the stack that ended a coroutine.
void s2_lua_keep_task_traceback(lua_State *L, lua_State *task);
bool s2_lua_kept_traceback(lua_State *L, int error);

#endif
