// What other engines call what we call otherwise: a name that is not known, but understood.
#ifndef S2_REMEDIES_H
#define S2_REMEDIES_H

#include <stdbool.h>

enum { S2_REMEDY_SIZE = 96 };

// What to write instead of `word` where the `count` names of `known` are: "size = {width, height}",
// "apply_impulse {jx, jy}". False where nothing is listed. camelCase, the prefixes set_, get_, add_
// ... and the suffixes _joint, _shape, _body are seen through.
bool s2_remedy_find(const char *word, const char *const *known, int count,
                    char remedy[S2_REMEDY_SIZE]);

#endif
