#include "base/line.h"

enum { LEAST = 8 }; // smallest capacity, in items

static unsigned char *line_start_of(void *at, S2LinePlace line) {
  return at == NULL ? NULL : (unsigned char *)at - (size_t)*line.before * line.item;
}

// Moves the items to new memory for `capacity` items, leaves `before` free places in front, and
// frees the old memory.
static void *line_moved(void *at, S2LinePlace line, int capacity, int before) {
  unsigned char *fresh = s2_memory_take((size_t)capacity * line.item);
  unsigned char *to = fresh + (size_t)before * line.item;
  if (*line.count > 0) {
    memcpy(to, at, (size_t)*line.count * line.item);
  }
  s2_memory_free(line_start_of(at, line));
  *line.capacity = capacity;
  *line.before = before;
  return to;
}

void *s2_line_reserved(void *at, S2LinePlace line, int wanted) {
  if (wanted <= *line.capacity - *line.before) {
    return at;
  }
  // Leaves a third of the memory free, so a caller that removes at the front and appends at the end
  // rarely moves all items.
  int capacity = *line.capacity < LEAST ? LEAST : *line.capacity;
  while (capacity < wanted + wanted / 2) {
    capacity *= 2;
  }
  // Allocates more memory, or moves the free places from the front to the end.
  if (capacity > *line.capacity) {
    return line_moved(at, line, capacity, 0);
  }
  unsigned char *start = line_start_of(at, line);
  memmove(start, at, (size_t)*line.count * line.item);
  *line.before = 0;
  return start;
}

void *s2_line_opened(void *at, S2LinePlace line, int index) {
  int behind = *line.count - index;
  if (index < behind) { // the items at the front move
    if (*line.before == 0) {
      int capacity = 2 * *line.count < LEAST ? LEAST : 2 * *line.count;
      at = line_moved(at, line, capacity, (capacity - *line.count) / 2);
    }
    unsigned char *first = (unsigned char *)at - line.item;
    memmove(first, at, (size_t)index * line.item);
    *line.before -= 1;
    *line.count += 1;
    return first;
  }
  // Move the items after the open place.
  at = s2_line_reserved(at, line, *line.count + 1);
  unsigned char *place = (unsigned char *)at + (size_t)index * line.item;
  memmove(place + line.item, place, (size_t)behind * line.item);
  *line.count += 1;
  return at;
}

void *s2_line_closed(void *at, S2LinePlace line, int index) {
  unsigned char *first = at, *place = first + (size_t)index * line.item;
  int behind = *line.count - 1 - index;
  *line.count -= 1;
  if (index < behind) {
    memmove(first + line.item, first, (size_t)index * line.item);
    *line.before += 1;
    return first + line.item;
  }
  memmove(place, place + line.item, (size_t)behind * line.item);
  return at;
}

void s2_line_freed(void *at, S2LinePlace line) {
  s2_memory_free(line_start_of(at, line));
  *line.count = *line.capacity = *line.before = 0;
}
