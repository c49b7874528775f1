// What a recording says about the run it comes from: what it takes to make that run again. No time
// of writing: the same run gives the same bytes.
#ifndef S2_RUN_H
#define S2_RUN_H

#include "base/array.h"
#include "base/status.h"

// Keys in use, those marked * possibly more than once, in order:
//   sim2d, build      version; commit and compiler
//   script            path; "" or none: the run had none
//   script_hash       FNV-1a of the file, 16 hexadecimal digits
//   code*             of -e
//   argument*         behind the script
//   seed, dt, solver  as decimal numbers and names; dt and solver only where the command set them
//   option*           others of the command ("--strict"; "--record run.s2d" as two of them)
//   recording         which one of the run, from 1
//   every             steps from one frame to the next
typedef struct S2RunEntry {
  char *key, *value; // owned
} S2RunEntry;

// All zeros: nothing is known.
typedef struct S2Run {
  S2_ARRAY(S2RunEntry) entries;
} S2Run;

void s2_run_add(S2Run *run, const char *key, const char *value); // copies
void s2_run_add_bytes(S2Run *run, const char *key, size_t key_size, const char *value,
                      size_t value_size);
void s2_run_copy(S2Run *to, const S2Run *from); // appends
// The nth value of the key, from 0; NULL: none.
const char *s2_run_get(const S2Run *run, const char *key, int n);
void s2_run_free(S2Run *run);

#endif
