#define _XOPEN_SOURCE 700 // NOLINT: for realpath
#include "lua/command/script.h"

#include "lua/base/embedded.h"
#include "lua/base/errors.h"
#include "lua/base/traceback.h"

#include <errno.h>
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// A signal handler receives only the signal number, so its data must be static.
static lua_State *volatile running; // NULL: no Lua code is running
static lua_State *volatile task;    // coroutine of world:start inside `running`, or NULL
static volatile sig_atomic_t interrupted;

volatile sig_atomic_t *s2_script_interrupted(void) {
  return &interrupted;
}

lua_State *volatile *s2_script_task(void) {
  return &task;
}

// The hook stays installed until the call returns, so that a pcall in the script cannot catch the
// interrupt for good.
static void raise_interrupted(lua_State *L, lua_Debug *frame) {
  lua_getinfo(L, "Sl", frame);
  if (frame->currentline > 0 && strcmp(frame->source, S2_EMBEDDED_CHUNK) != 0) {
    lua_pushfstring(L, "%s:%d: interrupted", frame->short_src, frame->currentline);
  } else {
    lua_pushliteral(L, "interrupted");
  }
  lua_error(L);
}

void s2_script_unwind(void) {
  if (running != NULL) { // signal handlers may call lua_sethook (Lua manual, 4.7)
    lua_sethook(running, raise_interrupted, LUA_MASKCOUNT, 1);
    if (task != NULL) { // each coroutine has its own hook
      lua_sethook(task, raise_interrupted, LUA_MASKCOUNT, 1);
    }
  }
}

// Seconds. This is longer than other programs usually wait before they kill a process.
enum { PATIENCE = 10 };

static void on_interrupt(int number) {
  interrupted = number;
  if (number != SIGINT) { // C code might not return, and a second signal might not follow
    alarm(PATIENCE);
  }
  s2_script_unwind();
}

void s2_script_stopped(void) {
  alarm(0);
}

void s2_script_watch(void) {
  // SA_RESTART is not set, so that a script or a prompt that waits for input notices the signal.
  struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};
  sigemptyset(&action.sa_mask);
  interrupted = 0;
  static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
  for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
    struct sigaction before;
    // Signals that were ignored remain ignored. nohup ignores SIGHUP, and a shell ignores Ctrl-C
    // for background processes. The first signal removes the handler (SA_RESETHAND).
    if (sigaction(ends[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN) {
      sigaction(ends[i], &action, NULL);
    }
  }
}

// An error in a callback is caught inside the engine and rethrown outside. The traceback shows
// where the error began.
static int handle_message(lua_State *L) {
  return s2_lua_kept_traceback(L, 1) ? 1 : s2_traceback_handler(L);
}

int s2_script_call(lua_State *L, int arguments, int results) {
  int handler = lua_gettop(L) - arguments;
  lua_pushcfunction(L, handle_message);
  lua_insert(L, handler);
  running = L;
  int status = lua_pcall(L, arguments, results, handler);
  running = NULL;
  lua_sethook(L, NULL, 0, 0);
  lua_remove(L, handler);
  return status;
}

int s2_script_load(lua_State *L, const char *path, bool *missing) {
  *missing = false;
  if (path != NULL) {
    struct stat info;
    FILE *file = fopen(path, "r");
    int failure = file == NULL ? errno : 0;
    if (file != NULL) {
      failure = stat(path, &info) == 0 && S_ISDIR(info.st_mode) ? EISDIR : 0;
      fclose(file);
    }
    if (failure != 0) {
      *missing = true;
      lua_pushfstring(L, "cannot open '%s': %s", path, strerror(failure));
      return LUA_ERRFILE;
    }
  }
  return luaL_loadfile(L, path);
}

bool s2_script_hash(const char *path, char text[S2_SHA256_SIZE]) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) {
    return false;
  }
  S2Sha256 hash = {0};
  char bytes[4096];
  size_t got;
  while ((got = fread(bytes, 1, sizeof bytes, file)) > 0) {
    s2_sha256_add(&hash, bytes, got);
  }
  bool good = ferror(file) == 0;
  fclose(file);
  s2_sha256_end(&hash, text);
  return good;
}

// A package searcher. Upvalue 1 is a folder that package.path cannot express.
static int script_search(lua_State *L) {
  static const char *const forms[] = {"%s/%s.lua", "%s/%s/init.lua"};
  const char *name = luaL_checkstring(L, 1), *inside = luaL_gsub(L, name, ".", "/");
  const char *folder = lua_tostring(L, lua_upvalueindex(1));
  lua_pushliteral(L, "");
  int missing = lua_gettop(L);
  for (int i = 0; i < 2; i++) {
    const char *path = lua_pushfstring(L, forms[i], folder, inside);
    if (access(path, R_OK) != 0) {
      lua_pushfstring(L, "%s%sno file '%s'", lua_tostring(L, missing), i > 0 ? "\n\t" : "", path);
      lua_replace(L, missing);
      continue;
    }
    lua_getglobal(L, "loadfile"); // so that --watch tracks the file
    lua_pushvalue(L, -2);
    lua_call(L, 1, 2);
    if (lua_isnil(L, -2)) {
      return luaL_error(L, "error loading module '%s' from file '%s':\n\t%s", name, path,
                        lua_tostring(L, -1));
    }
    lua_pop(L, 1);
    lua_pushstring(L, path);
    return 2;
  }
  lua_settop(L, missing);
  return 1;
}

// True if package.path cannot express the folder, because the name contains characters with a
// special meaning in templates.
static bool is_odd(const char *folder, size_t length) {
  return memchr(folder, ';', length) != NULL || memchr(folder, '?', length) != NULL;
}

// Gives modules in the folder priority. If `odd`, uses a searcher instead of package.path.
static void find_in(lua_State *L, const char *folder, size_t length, bool odd) {
  int top = lua_gettop(L);
  if (lua_getglobal(L, LUA_LOADLIBNAME) != LUA_TTABLE) {
    lua_settop(L, top);
    return;
  }
  const char *text = lua_pushlstring(L, folder, length);
  if (odd) {
    if (lua_getfield(L, top + 1, "searchers") == LUA_TTABLE) {
      // Insert the searcher after the first one, which is package.preload.
      for (lua_Integer i = (lua_Integer)lua_rawlen(L, -1); i > 1; i--) {
        lua_rawgeti(L, -1, i);
        lua_rawseti(L, -2, i + 1);
      }
      lua_pushvalue(L, top + 2);
      lua_pushcclosure(L, script_search, 1);
      lua_rawseti(L, -2, 2);
    }
  } else if (lua_getfield(L, top + 1, "path") == LUA_TSTRING) {
    lua_pushfstring(L, "%s/?.lua;%s/?/init.lua;%s", text, text, lua_tostring(L, -1));
    lua_setfield(L, top + 1, "path");
  }
  lua_settop(L, top);
}

void s2_script_find_beside(lua_State *L, const char *path) {
  const char *slash = strrchr(path, '/');
  // If the script is a link, search the folder of the link first, then the folder of its target.
  char *whole = realpath(path, NULL), *link = slash != NULL ? NULL : realpath(".", NULL);
  if (slash != NULL) {
    lua_pushlstring(L, path, slash > path ? (size_t)(slash - path) : 1);
    link = realpath(lua_tostring(L, -1), NULL);
    lua_pop(L, 1);
  }
  const char *end = whole != NULL ? strrchr(whole, '/') : NULL;
  const char *near = slash != NULL ? path : ".";
  size_t length = slash != NULL ? (size_t)(slash - path) : 1;
  bool both = end != NULL && (link == NULL || strlen(link) != (size_t)(end - whole) ||
                              strncmp(link, whole, (size_t)(end - whole)) != 0);
  // Lua consults searchers before package.path. Therefore, if one folder needs a searcher, both get
  // one.
  bool odd = is_odd(near, length) || (both && is_odd(whole, (size_t)(end - whole)));
  if (both) {
    find_in(L, whole, (size_t)(end - whole), odd);
  }
  free(whole);
  free(link);
  find_in(L, near, length, odd);
}

void s2_script_report(lua_State *L) {
  const char *message = luaL_tolstring(L, -1, NULL);
  const char *end = interrupted != 0 ? strstr(message, "\nstack traceback:") : NULL;
  fflush(stdout);
  fprintf(stderr, "sim2d: %.*s\n", (int)(end != NULL ? (size_t)(end - message) : strlen(message)),
          message);
  lua_pop(L, 2);
}
