// Describes the run that produced a recording, so that the run can be repeated. The time of writing
// is not included, so that the same run gives the same bytes.
#ifndef S2_RUN_H
#define S2_RUN_H

#include "base/array.h"
#include "base/status.h"

// Keys in use:
//   sim2d, build   version; commit and compiler
//   seed           seed of sim.random
//   word           a word of the command line, one entry each, in order; none if another program
//                  made the recording
//   script         index of the script in the list of words
//   script_hash    SHA-256 of the contents of the script
//   recording      index of the recording in the run, from 1
//   every          number of steps between frames
//   view_follow    for a page: serial of the body that the view follows when the page opens
//   view_trails    for a page: "all" if paths are shown when the page opens
//   view_speed     for a page: seconds of the world per second when the page opens
typedef struct S2RunEntry {
  char *key, *value; // owned
} S2RunEntry;

// A structure of zeros has no entries.
typedef struct S2Run {
  S2_ARRAY(S2RunEntry) entries;
} S2Run;

void s2_run_add(S2Run *run, const char *key, const char *value); // copies
void s2_run_add_bytes(S2Run *run, const char *key, size_t key_size, const char *value,
                      size_t value_size);
void s2_run_copy(S2Run *to, const S2Run *from); // appends an entry.
// Returns the value of the next entry with this key, and moves *at past it. The search begins at
// entry *at. Returns NULL if there is no such entry.
const char *s2_run_next(const S2Run *run, const char *key, int *at);
// Returns the nth value of the key (from 0), or NULL. This searches from the first entry, so use it
// only for few entries.
const char *s2_run_get(const S2Run *run, const char *key, int n);
void s2_run_free(S2Run *run);

#endif
