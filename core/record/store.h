// Stores moments in a temporary file, from which a video is drawn after the run. The file is
// deleted when the process ends.
#ifndef S2_STORE_H
#define S2_STORE_H

#include "record/moment.h"

#include <stdio.h>

typedef struct S2Store {
  FILE *file; // NULL if no moment has been added
} S2Store;

// These functions return S2_IO on failure.
S2Status s2_store_add(S2Store *store, const S2Moment *moment);
S2Status s2_store_rewind(S2Store *store);
S2Status s2_store_next(S2Store *store, S2Moment *moment);
void s2_store_close(S2Store *store);

#endif
