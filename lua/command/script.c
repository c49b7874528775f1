#include "lua/command/script.h"

#include "lua/base/embedded.h"
#include "lua/base/errors.h"
#include "lua/base/traceback.h"

#include <errno.h>
#include <lauxlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// A signal handler receives nothing but the signal's number, so what it acts on has to be static.
static lua_State *volatile running; // NULL: no Lua code is running
static lua_State *volatile task;    // of world:start, within `running`; NULL: none
static volatile sig_atomic_t interrupted;

volatile sig_atomic_t *s2_script_interrupted(void) {
  return &interrupted;
}

lua_State *volatile *s2_script_task(void) {
  return &task;
}

// Stays installed until the call returns: a script's own pcall does not stop it.
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
  if (running != NULL) { // lua_sethook may be called from a handler (manual, 4.7)
    lua_sethook(running, raise_interrupted, LUA_MASKCOUNT, 1);
    if (task != NULL) { // hooks are a coroutine's own
      lua_sethook(task, raise_interrupted, LUA_MASKCOUNT, 1);
    }
  }
}

// s: who ends programs in good order waits this long for them at least
enum { PATIENCE = 10 };

static void on_interrupt(int number) {
  interrupted = number;
  if (number != SIGINT) { // nobody may be there to ask a second time when C code does not return
    alarm(PATIENCE);
  }
  s2_script_unwind();
}

void s2_script_stopped(void) {
  alarm(0);
}

void s2_script_watch(void) {
  // Not SA_RESTART: a script or a prompt waiting for input shall notice.
  struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};
  sigemptyset(&action.sa_mask);
  interrupted = 0;
  sigaction(SIGINT, &action, NULL);
  static const int ends[] = {SIGTERM, SIGHUP};
  for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
    struct sigaction before;
    // nohup has the end of its terminal ignored
    if (sigaction(ends[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN) {
      sigaction(ends[i], &action, NULL);
    }
  }
}

// An error of a callback inside the engine was caught there and thrown again from outside: what
// matters is where it happened first.
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

// package.path is a list of templates: a folder whose name has its punctuation cannot be in it.
void s2_script_find_beside(lua_State *L, const char *path) {
  const char *slash = strrchr(path, '/');
  const char *folder = slash != NULL ? path : ".";
  size_t length = slash != NULL ? (size_t)(slash - path) : 1;
  if (memchr(folder, ';', length) != NULL || memchr(folder, '?', length) != NULL) {
    return;
  }
  int top = lua_gettop(L);
  if (lua_getglobal(L, "package") == LUA_TTABLE && lua_getfield(L, -1, "path") == LUA_TSTRING) {
    lua_pushlstring(L, folder, length);
    lua_pushfstring(L, "%s/?.lua;%s", lua_tostring(L, -1), lua_tostring(L, -2));
    lua_setfield(L, top + 1, "path");
  }
  lua_settop(L, top);
}

void s2_script_report(lua_State *L) {
  const char *message = luaL_tolstring(L, -1, NULL);
  const char *end = interrupted != 0 ? strstr(message, "\nstack traceback:") : NULL;
  fflush(stdout);
  fprintf(stderr, "sim2d: %.*s\n", (int)(end != NULL ? (size_t)(end - message) : strlen(message)),
          message);
  lua_pop(L, 2);
}
