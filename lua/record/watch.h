// --watch: the files a run is made of, and whether they were saved.
#ifndef S2_WATCH_H
#define S2_WATCH_H

#include "base/array.h"

#include <lua.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

typedef struct S2WatchedFile {
  char *path; // owned
  struct timespec saved;
  int64_t size; // -1: it was not there
} S2WatchedFile;

// All zeros: none.
typedef struct S2Watch {
  S2_ARRAY(S2WatchedFile) files;
  double looked; // s, when they were looked at
} S2Watch;

// From now on; a file that is watched already stays as it was.
void s2_watch_add(S2Watch *watch, const char *path);
// Was one of them saved since it was added, or since this was last asked?
bool s2_watch_look(S2Watch *watch, double now);
void s2_watch_free(S2Watch *watch);

// Adds whatever the script loads by require, dofile and loadfile; `watch` outlives the state.
void s2_lua_watch_loads(lua_State *L, S2Watch *watch);

#endif
