// The description of the run that produced a recording: the data needed to repeat that run. It
// contains no time of writing, so that the same run gives the same bytes.
#ifndef S2_RUN_H
#define S2_RUN_H

#include "base/array.h"
#include "base/status.h"

// Keys in use:
//   sim2d, build   version; commit and compiler
//   seed           of sim.random
//   word           of the command line, one entry each, in order; none: not run by the command
//   script         which of them is the script
//   script_hash    SHA-256 of its contents
//   recording      which one of the run it is, from 1
//   every          steps from one frame to the next
//   view_follow    of a page: serial of the body that the view moves with when it opens
//   view_trails    of a page: "all", paths are shown when it opens
//   view_speed     of a page: seconds of the world per second when it opens
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
// Returns the value of the next entry with the key, from entry *at on, and moves *at past it.
// Returns NULL if there is none.
const char *s2_run_next(const S2Run *run, const char *key, int *at);
// Returns the nth value of the key (from 0), or NULL. The search begins at the first entry, so use
// it only for few entries.
const char *s2_run_get(const S2Run *run, const char *key, int n);
void s2_run_free(S2Run *run);

#endif
