#include "linalg/band.h"

#include <lapacke.h>
#include <string.h>

S2Band s2_band_make(int size, int width, S2Arena *arena) {
  return (S2Band){
      .size = size,
      .width = width,
      .stride = 3 * width + 1,
      .a = s2_arena_take(arena, sizeof(double) * s2_band_room(size, width)),
      .pivot = S2_TAKE(arena, int32_t, size),
  };
}

void s2_band_clear(S2Band *band) {
  memset(band->a, 0, sizeof(double) * s2_band_room(band->size, band->width));
}

bool s2_band_factor(S2Band *band) {
  int n = band->size, w = band->width;
  // LU with pivoting of rows; LAPACK lets the upper band grow by `width` for it (hence the stride).
  return LAPACKE_dgbtrf_work(LAPACK_COL_MAJOR, n, n, w, w, band->a, band->stride, band->pivot) == 0;
}

void s2_band_solve(const S2Band *band, double *x) {
  int n = band->size, w = band->width;
  LAPACKE_dgbtrs_work(LAPACK_COL_MAJOR, 'N', n, w, w, 1, band->a, band->stride, band->pivot, x, n);
}
