// Raising errors that a script's author can act on: at the line of the script, with the function's
// documented name.
#ifndef S2_ERRORS_H
#define S2_ERRORS_H

#include "base/arena.h"
#include "base/status.h"

#include <lauxlib.h>
#include <lua.h>

// Names of the object types, compared by address.
extern const char s2_type_world[], s2_type_body[], s2_type_joint[], s2_type_vector[],
    s2_type_random[], s2_type_handle[], s2_type_snapshot[], s2_type_recording[], s2_type_contact[],
    s2_type_bodies[], s2_type_joints[], s2_type_array[], s2_type_tracked[];

// Every object starts with its type. NULL when the value is anything else.
void *s2_lua_test(lua_State *L, int index, const char *type);
void *s2_lua_check(lua_State *L, int argument, const char *type); // or a bad argument

// Makes the metatable of a type under its name; pushes it. It hides itself from getmetatable.
void s2_lua_metatable(lua_State *L, const char *type);
// Like luaL_setfuncs; the names of the functions are remembered for messages.
void s2_lua_functions(lua_State *L, const luaL_Reg *functions, int upvalues);

// printf-like; they do not return (int for `return s2_lua_fail(...)`).
int s2_lua_fail(lua_State *L, const char *format, ...) __attribute__((format(printf, 2, 3)));
int s2_lua_bad_argument(lua_State *L, int argument, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// Raises unless the status is good.
void s2_lua_try(lua_State *L, S2Status status);
// Runs `work` with an arena of its own, which is gone afterwards; raises an error where memory runs
// out. Within there may be no call into Lua: an error would leave the arena behind.
typedef void S2LuaWork(void *user, S2Arena *arena);
void s2_lua_with_arena(lua_State *L, S2LuaWork *work, void *user);
// "FILE:LINE: " of the innermost line of a script (tail calls and our own Lua leave frames without
// one), or "".
void s2_lua_push_position(lua_State *L);
// "OWNER has no field 'KEY'; did you mean ...": the names are the string keys of the table at
// `names`. What the engine will have one day is "not available yet".
int s2_lua_no_field(lua_State *L, const char *owner, int key, int names);

// "number 3", "'text'", "table" ...: a value in a message.
enum { S2_LUA_TEXT = 80 };
const char *s2_lua_describe(lua_State *L, int index, char text[S2_LUA_TEXT]);
// Has the table that is to be {lo, hi} a key beside 1 and 2? Then `text` describes it.
bool s2_lua_pair_stray(lua_State *L, int index, char text[S2_LUA_TEXT]);

// Message handler for callbacks that run inside the engine: keeps the traceback of the error, which
// is rethrown from elsewhere. s2_lua_kept_traceback pushes the text when `error` is that one.
int s2_lua_keep_traceback(lua_State *L);
// The same for the error on top of the stack, which ended a coroutine.
void s2_lua_keep_task_traceback(lua_State *L, lua_State *task);
bool s2_lua_kept_traceback(lua_State *L, int error);

#endif
