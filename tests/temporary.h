// The folder for files of tests: the one for temporary files that the environment names.
#ifndef S2_TEST_TEMPORARY_H
#define S2_TEST_TEMPORARY_H

#include <stdio.h>
#include <stdlib.h>

enum { TEMPORARY_SIZE = 256 };

// A template for mkdtemp and mkstemp.
static inline void temporary_name(char name[TEMPORARY_SIZE], const char *what) {
  const char *folder = getenv("TMPDIR");
  snprintf(name, TEMPORARY_SIZE, "%s/sim2d-%s-XXXXXX",
           folder == NULL || folder[0] == '\0' ? "/tmp" : folder, what);
}

#endif
