#include "lua/record/watch.h"

#include "lua/base/embedded.h"

#include <lauxlib.h>
#include <string.h>
#include <sys/stat.h>

static const double LOOK = 0.1; // seconds between checks

static void watch_look_at(S2WatchedFile *file) {
  struct stat info;
  file->size = -1;
  if (stat(file->path, &info) == 0) {
    file->saved = info.st_mtim;
    file->size = info.st_size;
  }
}

void s2_watch_add(S2Watch *watch, const char *path) {
  for (int i = 0; i < watch->files.count; i++) {
    if (strcmp(watch->files.at[i].path, path) == 0) {
      return;
    }
  }
  size_t size = strlen(path) + 1;
  S2WatchedFile file = {.path = memcpy(s2_memory_take(size), path, size)};
  watch_look_at(&file);
  *s2_array_append(watch->files) = file;
}

bool s2_watch_look(S2Watch *watch, double now) {
  bool saved = false;
  if (watch->files.count == 0 || now < watch->looked + LOOK) {
    return false;
  }
  watch->looked = now;
  for (int i = 0; i < watch->files.count; i++) {
    S2WatchedFile *file = &watch->files.at[i], fresh = *file;
    watch_look_at(&fresh);
    if (fresh.size < 0) {
      continue; // While an editor replaces a file, the file may be missing for a moment.
    }
    bool same = fresh.size == file->size && fresh.saved.tv_sec == file->saved.tv_sec &&
                fresh.saved.tv_nsec == file->saved.tv_nsec;
    // A file is saved in several writes, and the first one empties it. So it counts as saved when
    // it has not changed between two checks.
    saved |= same && file->changing;
    *file = fresh;
    file->changing = !same;
  }
  return saved;
}

void s2_watch_free(S2Watch *watch) {
  for (int i = 0; i < watch->files.count; i++) {
    s2_memory_free(watch->files.at[i].path);
  }
  s2_array_free(watch->files);
}

static int watch_add_path(lua_State *L) {
  const char *path = lua_tostring(L, 1);
  if (path != NULL) {
    s2_watch_add(lua_touserdata(L, lua_upvalueindex(1)), path);
  }
  return 0;
}

void s2_lua_watch_loads(lua_State *L, S2Watch *watch) {
  // Add files before loading them, so that files with syntax errors are watched too.
  static const char wrappers[] =
      "local add, search, load, run = ..., package.searchers[2], loadfile, dofile\n"
      "package.searchers[2] = function(name)\n"
      "  add((package.searchpath(name, package.path)))\n"
      "  return search(name)\n"
      "end\n"
      "function loadfile(path, ...) add(path) return load(path, ...) end\n"
      "function dofile(path) add(path) return run(path) end\n";
  if (luaL_loadbuffer(L, wrappers, sizeof wrappers - 1, S2_EMBEDDED_CHUNK) != LUA_OK) {
    lua_error(L);
  }
  lua_pushlightuserdata(L, watch);
  lua_pushcclosure(L, watch_add_path, 1);
  lua_call(L, 1, 0);
}
