// Selects file formats by the suffix of a path.
#ifndef S2_SUFFIX_H
#define S2_SUFFIX_H

#include "base/status.h"

// Finds the index of the path's suffix among the `count` known suffixes, ignoring case. Returns
// S2_INVALID for other suffixes; the message lists the known suffixes.
S2Status s2_suffix_find(const char *path, const char *const *known, int count, int *index);

#endif
