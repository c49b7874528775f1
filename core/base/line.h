// Growable arrays of plain values with free space at both ends. Inserting or removing an item moves
// the shorter side. Removing an item at the front or at the end moves nothing.
#ifndef S2_LINE_H
#define S2_LINE_H

#include "base/memory.h"

#include <stddef.h>
#include <string.h>

// `at` is the first item. The array has space for `capacity` items; `before` free places precede
// `at`.
#define S2_LINE(Type)                                                                              \
  struct {                                                                                         \
    Type *at;                                                                                      \
    int count, capacity, before;                                                                   \
  }

typedef struct S2LinePlace { // a reference to a line of any type, which the functions below change
  int *count, *capacity, *before;
  size_t item;
} S2LinePlace;

#define s2_line_place(line)                                                                        \
  ((S2LinePlace){&(line).count, &(line).capacity, &(line).before, sizeof *(line).at})

// Makes the capacity at least `wanted` items. The items keep their order.
void *s2_line_reserved(void *at, S2LinePlace line, int wanted);
// Opens a place for an item before item `index`, or at the end. The contents of the place are
// undefined. s2_line_closed removes an item and closes its place.
void *s2_line_opened(void *at, S2LinePlace line, int index);
void *s2_line_closed(void *at, S2LinePlace line, int index);
void s2_line_freed(void *at, S2LinePlace line);

#define s2_line_reserve(line, wanted)                                                              \
  ((line).at = s2_line_reserved((line).at, s2_line_place(line), (wanted)))
#define s2_line_insert(line, index)                                                                \
  ((line).at = s2_line_opened((line).at, s2_line_place(line), (index)))
#define s2_line_remove(line, index)                                                                \
  ((line).at = s2_line_closed((line).at, s2_line_place(line), (index)))
#define s2_line_free(line) (s2_line_freed((line).at, s2_line_place(line)), (line).at = NULL)

#endif
