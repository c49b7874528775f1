// Growable arrays of plain values. They only grow, so arrays that are large enough no longer use
// the heap.
#ifndef S2_ARRAY_H
#define S2_ARRAY_H

#include "base/memory.h"

#include <limits.h>
#include <stddef.h>

#define S2_ARRAY(Type)                                                                             \
  struct {                                                                                         \
    Type *at;                                                                                      \
    int count, capacity;                                                                           \
  }

static inline void *s2_array_grown(void *at, int *capacity, int wanted, size_t item) {
  if (wanted <= *capacity) {
    return at;
  }
  // The capacity doubles, so that appending takes constant time on average.
  int grown = *capacity < 8 ? 8 : *capacity;
  while (grown < wanted) {
    grown = grown > INT_MAX / 2 ? INT_MAX : 2 * grown;
  }
  at = s2_memory_grow(at, (size_t)grown * item); // does not return if memory runs out
  *capacity = grown;
  return at;
}

#define s2_array_reserve(array, wanted)                                                            \
  ((array).at = s2_array_grown((array).at, &(array).capacity, (wanted), sizeof *(array).at))

// Appends space for one item (contents undefined). Returns its address, which is valid until the
// next append.
#define s2_array_append(array)                                                                     \
  (s2_array_reserve(array, (array).count + 1), (array).count += 1, &(array).at[(array).count - 1])

// Like s2_array_append, but returns the index of the item. Never write x.at[s2_array_push(x)]: C
// may read `at` before the push moves it.
#define s2_array_push(array)                                                                       \
  (s2_array_reserve(array, (array).count + 1), (array).count += 1, (array).count - 1)

#define s2_array_free(array)                                                                       \
  (s2_memory_free((array).at), (array).at = NULL, (array).count = (array).capacity = 0)

#endif
