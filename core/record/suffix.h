// File formats chosen by the suffix of a path.
#ifndef S2_SUFFIX_H
#define S2_SUFFIX_H

#include "base/status.h"

// Index of the path's suffix among the `count` known ones; case does not matter. S2_INVALID for
// other suffixes; the message lists the known ones.
S2Status s2_suffix_find(const char *path, const char *const *known, int count, int *index);

#endif
