// Band matrices through LAPACKE, with row pivoting: what is left of a sparse system without a
// definite pivot anywhere when its unknowns are in a good order. No workspace, no heap.
#ifndef S2_BAND_H
#define S2_BAND_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct S2Band {
  int size, width; // entries (i, j) with |i - j| <= width
  int stride;      // of a column: room for what pivoting fills
  double *a;       // stride * size
  int32_t *pivot;  // size
} S2Band;

// How many numbers a band matrix takes.
static inline size_t s2_band_room(int size, int width) {
  return ((size_t)width * 3 + 1) * (size_t)size;
}

S2Band s2_band_make(int size, int width, S2Arena *arena);
void s2_band_clear(S2Band *band);
static inline double *s2_band_at(const S2Band *band, int row, int column) {
  return band->a + (size_t)column * (size_t)band->stride + 2 * band->width + row - column;
}

// Overwrites the values by L U. False when singular.
bool s2_band_factor(S2Band *band);
// x := K^-1 x
void s2_band_solve(const S2Band *band, double *x);

#endif
