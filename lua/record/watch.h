// The option --watch: keeps a list of the files of a run, and detects when one of them is saved.
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
  int64_t size;  // -1: the file did not exist
  bool changing; // true if the last check found a change
} S2WatchedFile;

// If all members are zero, there are no files.
typedef struct S2Watch {
  S2_ARRAY(S2WatchedFile) files;
  double looked; // time of the last check (s)
} S2Watch;

// Starts to watch a file. Has no effect if the file is already watched.
void s2_watch_add(S2Watch *watch, const char *path);
// True if a file was saved after it was added or last reported, and has stopped changing.
bool s2_watch_look(S2Watch *watch, double now);
void s2_watch_free(S2Watch *watch);

// Makes require, dofile and loadfile add the files that they load. `watch` must outlive the state.
void s2_lua_watch_loads(lua_State *L, S2Watch *watch);

#endif
