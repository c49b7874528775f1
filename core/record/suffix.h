// Selects file formats by the suffix of a path.
#ifndef S2_SUFFIX_H
#define S2_SUFFIX_H

#include "base/status.h"

// Finds the suffix of a path in a list of `count` suffixes, ignoring case. Returns S2_INVALID if it
// is not in the list. The message contains the list.
S2Status s2_suffix_find(const char *path, const char *const *known, int count, int *index);

#endif
