// --watch: the files of a run, and whether they were saved.
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
  int64_t size; // -1: it did not exist
} S2WatchedFile;

// All zeros: no files.
typedef struct S2Watch {
  S2_ARRAY(S2WatchedFile) files;
  double looked; // s, time of the last check
} S2Watch;

// Watches a file from now on; no effect if it is watched already.
void s2_watch_add(S2Watch *watch, const char *path);
// True if one of the files was saved since it was added or last reported.
bool s2_watch_look(S2Watch *watch, double now);
void s2_watch_free(S2Watch *watch);

// Makes require, dofile and loadfile add the files they load; `watch` must outlive the state.
void s2_lua_watch_loads(lua_State *L, S2Watch *watch);

#endif
