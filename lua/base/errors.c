#include "lua/base/errors.h"

#include "base/memory.h"
#include "base/text.h"
#include "lua/base/embedded.h"
#include "lua/base/remedies.h"
#include "lua/base/traceback.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

const char s2_type_world[] = "World", s2_type_body[] = "Body", s2_type_joint[] = "Joint",
           s2_type_vector[] = "Vector", s2_type_random[] = "Random", s2_type_handle[] = "Handle",
           s2_type_snapshot[] = "Snapshot", s2_type_recording[] = "Recording",
           s2_type_contact[] = "Contact", s2_type_bodies[] = "Bodies", s2_type_joints[] = "Joints",
           s2_type_array[] = "Array", s2_type_tracked[] = "Tracked", s2_type_formula[] = "Formula";

enum {
  MESSAGE_SIZE = 512, // bytes; longer messages are truncated
  NAMES_SIZE = 128,   // larger than the number of fields of any object
};

// Registry keys: the addresses of these constants.
static const char FUNCTION_NAMES = 'f', KEPT_TRACEBACK = 't';

// ---- Objects ----------------------------------------------------------------------------------

void *s2_lua_test(lua_State *L, int index, const char *type) {
  const char *found = NULL;
  // Each sim2d object begins with the address of its type's name. Userdata that is too short for an
  // address cannot be a sim2d object.
  if (lua_type(L, index) != LUA_TUSERDATA || lua_rawlen(L, index) < sizeof found) {
    return NULL;
  }
  void *object = lua_touserdata(L, index);
  memcpy(&found, object, sizeof found); // userdata of other libraries may contain any bytes
  return found == type ? object : NULL;
}

void *s2_lua_check(lua_State *L, int argument, const char *type) {
  void *object = s2_lua_test(L, argument, type);
  // `world.step()` instead of `world:step()` is the most common mistake.
  if (object == NULL) {
    char text[S2_LUA_TEXT];
    lua_Debug frame = {0};
    bool by_dot = argument == 1 && lua_getstack(L, 0, &frame) && lua_getinfo(L, "n", &frame) &&
                  strcmp(frame.namewhat, "field") == 0;
    s2_lua_bad_argument(L, argument, "%s expected, got %s%s", type,
                        s2_lua_describe(L, argument, text),
                        by_dot ? "; call methods with a colon" : "");
  }
  return object;
}

void s2_lua_metatable(lua_State *L, const char *type) {
  lua_pushfstring(L, "sim2d.%s", type);
  // Lua's own messages use __name. __metatable hides the metatable from scripts.
  if (luaL_newmetatable(L, lua_tostring(L, -1)) != 0) {
    lua_pushstring(L, type);
    lua_setfield(L, -2, "__name");
    lua_pushstring(L, type);
    lua_setfield(L, -2, "__metatable");
  }
  lua_remove(L, -2);
}

void s2_lua_functions(lua_State *L, const luaL_Reg *functions, int upvalues) {
  // Store the name of each function. Messages show this documented name, even if the script calls
  // the function by another name.
  luaL_setfuncs(L, functions, upvalues);
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &FUNCTION_NAMES) == LUA_TNIL) {
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &FUNCTION_NAMES);
  }
  for (; functions->name != NULL; functions++) {
    lua_getfield(L, -2, functions->name);
    lua_pushstring(L, functions->name);
    lua_rawset(L, -3);
  }
  lua_pop(L, 1);
}

// ---- Raising ----------------------------------------------------------------------------------

void s2_lua_push_position(lua_State *L) {
  lua_Debug frame;
  for (int level = 1; lua_getstack(L, level, &frame); level++) {
    lua_getinfo(L, "Sl", &frame);
    if (frame.currentline > 0 && strcmp(frame.source, S2_EMBEDDED_CHUNK) != 0) {
      lua_pushfstring(L, "%s:%d: ", frame.short_src, frame.currentline);
      return;
    }
  }
  lua_pushliteral(L, "");
}

static int error_raise(lua_State *L, const char *message) {
  s2_lua_push_position(L);
  lua_pushstring(L, message);
  lua_concat(L, 2);
  return lua_error(L);
}

// Removes the sign of NaNs, because it carries no information and differs between machines.
static void drop_nan_signs(char *message) {
  for (char *at = strstr(message, "-nan"); at != NULL; at = strstr(at, "-nan")) {
    memmove(at, at + 1, strlen(at));
  }
}

int s2_lua_fail(lua_State *L, const char *format, ...) {
  // Format the message in C, because Lua's own formats support neither width nor precision.
  char message[MESSAGE_SIZE];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  drop_nan_signs(message);
  return error_raise(L, message);
}

// Returns the documented name of the running function. If there is none, returns the name that the
// caller used, or "?".
static const char *function_name(lua_State *L, lua_Debug *frame) {
  // Look up the function in the table of names.
  const char *name = NULL;
  if (lua_getstack(L, 0, frame)) {
    lua_getinfo(L, "nf", frame);
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &FUNCTION_NAMES) == LUA_TTABLE) {
      lua_pushvalue(L, -2);
      lua_rawget(L, -2);
      name = lua_tostring(L, -1); // the table keeps the string alive
      lua_pop(L, 1);
    }
    lua_pop(L, 2);
  }
  return name != NULL ? name : frame->name != NULL ? frame->name : "?";
}

static bool is_method_of(lua_State *L) {
  return s2_lua_test(L, 1, s2_type_world) != NULL || s2_lua_test(L, 1, s2_type_body) != NULL ||
         s2_lua_test(L, 1, s2_type_joint) != NULL;
}

int s2_lua_bad_argument(lua_State *L, int argument, const char *format, ...) {
  char message[MESSAGE_SIZE], text[MESSAGE_SIZE + 64];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  drop_nan_signs(message);
  lua_Debug frame = {0};
  // The first argument of a method is the object. Messages number the arguments after it from 1.
  const char *name = function_name(L, &frame);
  bool is_method = frame.name != NULL && strcmp(frame.namewhat, "method") == 0;
  if (is_method || (argument > 1 && is_method_of(L))) {
    argument--;
  }
  // Number 0 means that the object itself is the bad argument.
  if (argument == 0) {
    snprintf(text, sizeof text, "calling '%s' on bad self (%s)", name, message);
  } else {
    snprintf(text, sizeof text, "bad argument #%d to '%s' (%s)", argument, name, message);
  }
  return error_raise(L, text);
}

typedef struct Work {
  S2LuaWork *run;
  void *user;
  S2Arena arena;
} Work;

static S2Status run_work(void *user) {
  Work *work = user;
  work->run(work->user, &work->arena);
  return s2_ok();
}

void s2_lua_with_arena(lua_State *L, S2LuaWork *work, void *user) {
  // The arena is freed before the error is raised, because raising does not return.
  Work with = {.run = work, .user = user};
  s2_arena_init(&with.arena);
  S2Status status = s2_memory_guarded(run_work, &with);
  s2_arena_free(&with.arena);
  s2_lua_try(L, status);
}

void s2_lua_try(lua_State *L, S2Status status) {
  // The engine refuses changes during a step, so the caller is a callback.
  if (status.code == S2_BUSY) {
    s2_lua_fail(
        L, "%s: force laws, constraints, filters and pre_solve callbacks must not change the world",
        status.message);
  }
  if (status.code != S2_OK) {
    s2_lua_fail(L, "%s", status.message);
  }
}

// If other engines use this name, raises an error that shows the sim2d equivalent.
static void no_field_remedy(lua_State *L, const char *owner, const char *name,
                            const char *const *known, int count) {
  static const char *const owners[][2] = {
      {"World", "world"}, {"Body", "body"}, {"Joint", "joint"}, {"sim", "sim"}};
  char remedy[S2_REMEDY_SIZE];
  for (size_t i = 0; i < sizeof owners / sizeof owners[0]; i++) {
    if (strcmp(owner, owners[i][0]) == 0 && s2_remedy_find(name, known, count, remedy)) {
      // The remedy is a name, an assignment "name = value" or a call. Fields and functions of sim
      // follow a dot, methods follow a colon.
      size_t length = strcspn(remedy, " ({");
      bool field = remedy[length] == '\0' || strncmp(remedy + length, " = ", 3) == 0;
      s2_lua_fail(L, "%s has no field '%s'; write %s%c%s", owner, name, owners[i][1],
                  field || strcmp(owner, "sim") == 0 ? '.' : ':', remedy);
    }
  }
}

// A field whose value is `false` in the table of names is documented but not implemented yet.
int s2_lua_no_field(lua_State *L, const char *owner, int key, int names) {
  char text[S2_LUA_TEXT];
  names = lua_absindex(L, names);
  // Only strings can be misspelt names.
  if (lua_type(L, key) != LUA_TSTRING) {
    return s2_lua_fail(L, "%s has no field %s", owner, s2_lua_describe(L, key, text));
  }
  const char *name = lua_tostring(L, key), *known[NAMES_SIZE];
  // Report names that are documented but not implemented yet.
  lua_pushvalue(L, key);
  if (lua_rawget(L, names) == LUA_TBOOLEAN && !lua_toboolean(L, -1)) {
    const char *prefix = strcmp(owner, "World") == 0 ? "world:" : "sim.";
    return s2_lua_fail(L, "%s%s: not available yet", prefix, name);
  }
  lua_pop(L, 1);
  // Collect all names in alphabetical order, to find the nearest one.
  int count = 0;
  for (lua_pushnil(L); lua_next(L, names) != 0; lua_pop(L, 1)) {
    if (lua_type(L, -2) == LUA_TSTRING && count < NAMES_SIZE) {
      // Sort the names, because the traversal order differs between runs and the first name wins a
      // tie.
      const char *field = lua_tostring(L, -2);
      int at = count++;
      for (; at > 0 && strcmp(known[at - 1], field) > 0; at--) {
        known[at] = known[at - 1];
      }
      known[at] = field;
    }
  }
  // Suggest the sim2d name for another engine's word, or the nearest name.
  no_field_remedy(L, owner, name, known, count);
  const char *nearest = s2_text_nearest(name, known, count);
  if (nearest != NULL) {
    return s2_lua_fail(L, "%s has no field '%s'; did you mean '%s'?", owner, name, nearest);
  }
  return s2_lua_fail(L, "%s has no field '%s'", owner, name);
}

const char *s2_lua_describe(lua_State *L, int index, char text[S2_LUA_TEXT]) {
  // Numbers are written in full. Text is quoted and truncated. Objects are shown by type.
  if (lua_type(L, index) == LUA_TNUMBER) {
    if (lua_isinteger(L, index)) {
      snprintf(text, S2_LUA_TEXT, "%lld", (long long)lua_tointeger(L, index));
    } else {
      double value = lua_tonumber(L, index);
      snprintf(text, S2_LUA_TEXT, "%.14g", isnan(value) ? fabs(value) : value);
    }
  } else if (lua_type(L, index) == LUA_TSTRING) {
    snprintf(text, S2_LUA_TEXT, "'%.60s'", lua_tostring(L, index));
  } else if (lua_type(L, index) == LUA_TBOOLEAN) {
    snprintf(text, S2_LUA_TEXT, "%s", lua_toboolean(L, index) ? "true" : "false");
  } else if (s2_lua_test(L, index, s2_type_tracked) != NULL) {
    snprintf(text, S2_LUA_TEXT,
             "a tracked number; x:value() or sim.stop_gradient(x) gives its plain value");
  } else if (luaL_getmetafield(L, index, "__name") == LUA_TSTRING) {
    snprintf(text, S2_LUA_TEXT, "%.60s", lua_tostring(L, -1));
    lua_pop(L, 1);
  } else {
    snprintf(text, S2_LUA_TEXT, "%s", lua_isnone(L, index) ? "no value" : luaL_typename(L, index));
  }
  return text;
}

bool s2_lua_pair_stray(lua_State *L, int index, char text[S2_LUA_TEXT]) {
  index = lua_absindex(L, index);
  lua_pushnil(L);
  while (lua_next(L, index) != 0) {
    lua_pop(L, 1);
    bool place = lua_isinteger(L, -1) && (lua_tointeger(L, -1) == 1 || lua_tointeger(L, -1) == 2);
    if (!place) {
      s2_lua_describe(L, -1, text);
      lua_pop(L, 1);
      return true;
    }
  }
  return false;
}

// ---- Tracebacks -------------------------------------------------------------------------------

// Pops the traceback text and stores it for the error at index `error`.
static void traceback_keep(lua_State *L, int error) {
  // The pair {error, text} ties the traceback to its error, so that it is not shown with another
  // error.
  lua_createtable(L, 2, 0);
  lua_pushvalue(L, error);
  lua_rawseti(L, -2, 1);
  lua_insert(L, -2);
  lua_rawseti(L, -2, 2);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &KEPT_TRACEBACK);
}

int s2_lua_keep_traceback(lua_State *L) {
  // The handler makes the traceback while the stack of the error still exists.
  lua_pushcfunction(L, s2_traceback_handler);
  lua_pushvalue(L, 1);
  lua_call(L, 1, 1);
  traceback_keep(L, 1);
  return 1;
}

void s2_lua_keep_task_traceback(lua_State *L, lua_State *task) {
  // Get the stack of the failed coroutine, starting at the point of failure.
  int error = lua_gettop(L);
  const char *message = s2_traceback_message(L, error);
  luaL_traceback(L, task, message, 0);
  const char *text = lua_tostring(L, -1);
  luaL_Buffer shown;
  luaL_buffinit(L, &shown);
  // Omit the lines of C functions, which do not help the author of a script.
  while (*text != '\0') {
    size_t line = strcspn(text, "\n");
    line += text[line] == '\n';
    if (strncmp(text, "\t[C]:", 5) != 0) {
      luaL_addlstring(&shown, text, line);
    }
    text += line;
  }
  luaL_pushresult(&shown);
  traceback_keep(L, error);
  lua_settop(L, error);
}

bool s2_lua_kept_traceback(lua_State *L, int error) {
  error = lua_absindex(L, error);
  // The stored traceback may belong to another error, or there may be none.
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &KEPT_TRACEBACK) != LUA_TTABLE) {
    lua_pop(L, 1);
    return false;
  }
  lua_rawgeti(L, -1, 1);
  bool same = lua_rawequal(L, -1, error) != 0;
  lua_pop(L, 1);
  if (same) {
    lua_rawgeti(L, -1, 2);
    lua_remove(L, -2);
  } else {
    lua_pop(L, 1);
  }
  return same;
}
