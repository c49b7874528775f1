// Moments kept in a temporary file that vanishes with the process: what a video is drawn from when
// the run is over.
#ifndef S2_STORE_H
#define S2_STORE_H

#include "record/moment.h"

#include <stdio.h>

typedef struct S2Store {
  FILE *file; // NULL: nothing was added
} S2Store;

// Fail with S2_IO.
S2Status s2_store_add(S2Store *store, const S2Moment *moment);
S2Status s2_store_rewind(S2Store *store);
S2Status s2_store_next(S2Store *store, S2Moment *moment);
void s2_store_close(S2Store *store);

#endif
