// Replacements for names of other engines that sim2d calls differently.
#ifndef S2_REMEDIES_H
#define S2_REMEDIES_H

#include <stdbool.h>

enum { S2_REMEDY_SIZE = 96 };

// Finds the replacement for `word` among the `count` names in `known`, such as "size = {width,
// height}" or "apply_impulse {jx, jy}". Returns false if the table has none. The search ignores
// camelCase, the prefixes set_, get_, add_ ... and the suffixes _joint, _shape, _body.
bool s2_remedy_find(const char *word, const char *const *known, int count,
                    char remedy[S2_REMEDY_SIZE]);

#endif
