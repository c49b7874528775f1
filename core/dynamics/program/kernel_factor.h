// Private to the kernels: factors the matrix S = L W^-1 P' of an island's rows. P contains the rows
// of impulses, L the rows of velocities. Each joint has blocks of two rows. The order, sums and
// factors of the elimination are those of linalg/blocksparse.c. The blocks there have a third row,
// which is 0 with 1 on the diagonal.
#ifndef S2_KERNEL_FACTOR_H
#define S2_KERNEL_FACTOR_H

// Arrays have the sizes of the table, which the analyzer does not know.
// NOLINTBEGIN(clang-analyzer-*)

#include "dynamics/program/kernel_rows.h"

typedef struct Block {
  Real at[2][2]; // [column][row]
} Block;

typedef struct Factor {
  Block diagonal[S2_TABLE_JOINTS], lower[S2_TABLE_BLOCKS], upper[S2_TABLE_BLOCKS];
  Block inverse[S2_TABLE_JOINTS]; // for symmetric matrices: {{1/D_0, l}, {., 1/D_1}}
} Factor;

// Fraction of a row's diagonal that must remain after elimination. The general path rejects values
// below 1e-11, so cases near that limit are left to it.
static const double LEFT = 2e-11;

S2_INLINE void block_clear(Block *block) {
  block->at[0][0] = block->at[0][1] = block->at[1][0] = block->at[1][1] = real(0);
}

S2_KERNEL void factor_fill(const S2Table *t, const Constants *of, const Rows *push, const Rows *see,
                           bool symmetric, Factor *factor) {
  S2_UNROLL for (int g = 0; g < t->joints; g++) {
    block_clear(&factor->diagonal[g]);
  }
  S2_UNROLL for (int k = 0; k < t->blocks; k++) {
    block_clear(&factor->lower[k]);
    if (!symmetric) {
      block_clear(&factor->upper[k]);
    }
  }
  S2_UNROLL for (int i = 0; i < t->fills; i++) {
    const S2TableFill *fill = &t->fill[i];
    const Real *inverse = of->node[fill->node].inverse;
    const Real(*j)[3] = fill->push_side ? push->b[fill->push] : push->a[fill->push];
    const Real(*k)[3] = fill->see_side ? see->b[fill->see] : see->a[fill->see];
    Real *to = fill->block < 0 ? factor->diagonal[t->place[fill->see]].at[0]
                               : factor->lower[fill->block].at[0];
    S2_UNROLL for (int c = 0; c < 2; c++) {
      Real x = j[c][0] * inverse[0], y = j[c][1] * inverse[1], z = j[c][2] * inverse[1];
      S2_UNROLL for (int r = 0; r < 2; r++) {
        to[2 * c + r] = to[2 * c + r] + (k[r][0] * x + k[r][1] * y + k[r][2] * z);
      }
    }
    // For nonsymmetric matrices, also add the transposed product to the block above the diagonal.
    if (!symmetric && fill->block >= 0) {
      j = fill->see_side ? push->b[fill->see] : push->a[fill->see];
      k = fill->push_side ? see->b[fill->push] : see->a[fill->push];
      to = factor->upper[fill->block].at[0];
      S2_UNROLL for (int c = 0; c < 2; c++) {
        Real x = j[c][0] * inverse[0], y = j[c][1] * inverse[1], z = j[c][2] * inverse[1];
        S2_UNROLL for (int r = 0; r < 2; r++) {
          to[2 * r + c] = to[2 * r + c] + (k[r][0] * x + k[r][1] * y + k[r][2] * z);
        }
      }
    }
  }
}

// t = D V'
S2_INLINE void times_transpose(Block *to, const Block *d, const Block *v) {
  S2_UNROLL for (int c = 0; c < 2; c++) {
    S2_UNROLL for (int r = 0; r < 2; r++) {
      to->at[c][r] = d->at[0][r] * v->at[0][c] + d->at[1][r] * v->at[1][c];
    }
  }
}

// s = D' V'
S2_INLINE void transpose_times_transpose(Block *to, const Block *d, const Block *v) {
  S2_UNROLL for (int c = 0; c < 2; c++) {
    S2_UNROLL for (int r = 0; r < 2; r++) {
      to->at[c][r] = d->at[r][0] * v->at[0][c] + d->at[r][1] * v->at[1][c];
    }
  }
}

// w -= a t
S2_INLINE void subtract(Block *w, const Block *a, const Block *by) {
  S2_UNROLL for (int c = 0; c < 2; c++) {
    S2_UNROLL for (int r = 0; r < 2; r++) {
      w->at[c][r] = w->at[c][r] - (a->at[0][r] * by->at[c][0] + a->at[1][r] * by->at[c][1]);
    }
  }
}

// w -= a t + b u
S2_INLINE void subtract_two(Block *w, const Block *a, const Block *by, const Block *b,
                            const Block *by_b) {
  S2_UNROLL for (int c = 0; c < 2; c++) {
    S2_UNROLL for (int r = 0; r < 2; r++) {
      w->at[c][r] = w->at[c][r] - ((a->at[0][r] * by->at[c][0] + a->at[1][r] * by->at[c][1]) +
                                   (b->at[0][r] * by_b->at[c][0] + b->at[1][r] * by_b->at[c][1]));
    }
  }
}

// Applies all earlier columns to column j. `target` lists the blocks that they change.
S2_INLINE const uint8_t *factor_eliminate(const S2Table *t, int j, bool symmetric,
                                          const uint8_t *target, Factor *factor) {
  Block *lower = factor->lower, *upper = symmetric ? factor->lower : factor->upper;
  S2_UNROLL for (int e = t->row_start[j]; e < t->row_start[j + 1]; e++) {
    int k = t->row_column[e], p = t->row_block[e], count = t->column[k + 1] - p - 1;
    Block by, by_2, of, of_2;
    times_transpose(&by, &factor->diagonal[k], &upper[p]);
    subtract(&factor->diagonal[j], &lower[p], &by);
    // Two columns with the same rows below the diagonal are applied together.
    bool two = e + 1 < t->row_start[j + 1] && t->extends[k] && t->row_column[e + 1] == k + 1;
    int p2 = two ? t->row_block[e + 1] : p;
    by_2 = by;
    if (two) {
      times_transpose(&by_2, &factor->diagonal[k + 1], &upper[p2]);
      subtract(&factor->diagonal[j], &lower[p2], &by_2);
      e += 1;
    }
    if (!symmetric && count > 0) {
      transpose_times_transpose(&of, &factor->diagonal[k], &lower[p]);
      transpose_times_transpose(&of_2, &factor->diagonal[two ? k + 1 : k], &lower[p2]);
    }
    S2_UNROLL for (int q = 1; q <= count; q++, target++) {
      if (two) {
        subtract_two(&lower[*target], &lower[p + q], &by, &lower[p2 + q], &by_2);
      } else {
        subtract(&lower[*target], &lower[p + q], &by);
      }
      if (!symmetric && two) {
        subtract_two(&upper[*target], &upper[p + q], &of, &upper[p2 + q], &of_2);
      } else if (!symmetric) {
        subtract(&upper[*target], &upper[p + q], &of);
      }
    }
  }
  return target;
}

// Returns the lanes in which elimination has left too little of the block's diagonal. The test
// needs no division.
S2_INLINE Mask pivots_poor(const Block *block, Real first, Real second) {
  const Real(*d)[2] = block->at;
  Real det = d[0][0] * d[1][1] - d[0][1] * d[1][0];
  return ~(MASK(first > real(0)) & MASK(second > real(0)) & MASK(d[0][0] > LEFT * first) &
           MASK(det > LEFT * second * d[0][0]) & MASK(det < real(INFINITY)));
}

// Computes L D L'. Returns the lanes in which the factors do not exist or are inaccurate.
S2_KERNEL Mask factor_symmetric(const S2Table *t, Factor *factor) {
  Mask poor = MASK(real(0) != real(0));
  const uint8_t *target = t->target;
  S2_UNROLL for (int j = 0; j < t->joints; j++) {
    const Block *own = &factor->diagonal[j];
    Real first = own->at[0][0], second = own->at[1][1];
    target = factor_eliminate(t, j, true, target, factor);
    Real(*d)[2] = factor->diagonal[j].at, (*inverse)[2] = factor->inverse[j].at;
    Real i0 = real(1) / d[0][0], l = d[0][1] * i0;
    Real i1 = real(1) / (d[1][1] - l * d[0][1]);
    inverse[0][0] = i0;
    inverse[0][1] = l;
    inverse[1][1] = i1;
    poor |= pivots_poor(&factor->diagonal[j], first, second);
    S2_UNROLL for (int p = t->column[j]; p < t->column[j + 1]; p++) {
      Real(*a)[2] = factor->lower[p].at;
      S2_UNROLL for (int r = 0; r < 2; r++) {
        Real x = a[0][r], y = a[1][r] - l * x;
        a[1][r] = y * i1;
        a[0][r] = x * i0 - l * a[1][r];
      }
    }
  }
  return poor;
}

// Computes L D U, and the inverses of the blocks of D.
S2_KERNEL Mask factor_whole(const S2Table *t, Factor *factor) {
  Mask poor = MASK(real(0) != real(0));
  const uint8_t *target = t->target;
  S2_UNROLL for (int j = 0; j < t->joints; j++) {
    const Block *own = &factor->diagonal[j];
    Real first = own->at[0][0], second = own->at[1][1];
    target = factor_eliminate(t, j, false, target, factor);
    Real(*d)[2] = factor->diagonal[j].at, (*v)[2] = factor->inverse[j].at;
    Real a = d[0][0], b = d[1][0], e = d[0][1], f = d[1][1];
    Real k = real(1) / (a * f + b * -e);
    v[0][0] = f * k;
    v[0][1] = -e * k;
    v[1][0] = -b * k;
    v[1][1] = a * k;
    poor |= pivots_poor(&factor->diagonal[j], first, second);
    // L := L D^-1, and U in the same way.
    S2_UNROLL for (int p = t->column[j]; p < t->column[j + 1]; p++) {
      Real(*l)[2] = factor->lower[p].at, (*u)[2] = factor->upper[p].at;
      S2_UNROLL for (int r = 0; r < 2; r++) {
        Real x = l[0][r], y = l[1][r];
        l[0][r] = x * v[0][0] + y * v[0][1];
        l[1][r] = x * v[1][0] + y * v[1][1];
        x = u[0][r], y = u[1][r];
        u[0][r] = x * v[0][0] + y * v[1][0];
        u[1][r] = x * v[0][1] + y * v[1][1];
      }
    }
  }
  return poor;
}

// Replaces the nonsymmetric factors by `fresh` in the lanes `on`.
S2_KERNEL void factor_select(const S2Table *t, Mask on, const Factor *fresh, Factor *factor) {
  S2_UNROLL for (int k = 0; k < 4; k++) {
    int c = k / 2, r = k % 2;
    S2_UNROLL for (int g = 0; g < t->joints; g++) {
      Real *inverse = &factor->inverse[g].at[c][r];
      *inverse = select(on, fresh->inverse[g].at[c][r], *inverse);
    }
    S2_UNROLL for (int p = 0; p < t->blocks; p++) {
      Real *lower = &factor->lower[p].at[c][r], *upper = &factor->upper[p].at[c][r];
      *lower = select(on, fresh->lower[p].at[c][r], *lower);
      *upper = select(on, fresh->upper[p].at[c][r], *upper);
    }
  }
}

// x = S^-1 x, with one pair of numbers per joint.
S2_KERNEL void factor_apply(const S2Table *t, const Factor *factor, bool symmetric, Pairs *pairs) {
  Real w[S2_TABLE_JOINTS][2], (*x)[2] = pairs->at;
  S2_UNROLL for (int k = 0; k < t->joints; k++) {
    w[k][0] = x[t->order[k]][0];
    w[k][1] = x[t->order[k]][1];
  }
  S2_UNROLL for (int j = 0; j < t->joints; j++) {
    S2_UNROLL for (int p = t->column[j]; p < t->column[j + 1]; p++) {
      const Real(*l)[2] = factor->lower[p].at;
      S2_UNROLL for (int r = 0; r < 2; r++) {
        w[t->row[p]][r] = w[t->row[p]][r] - (l[0][r] * w[j][0] + l[1][r] * w[j][1]);
      }
    }
  }
  // Back substitution, from the last column to the first.
  const Block *upper = symmetric ? factor->lower : factor->upper;
  S2_UNROLL for (int j = t->joints - 1; j >= 0; j--) {
    Real sum[2][2] = {{real(0), real(0)}, {real(0), real(0)}};
    S2_UNROLL for (int p = t->column[j]; p < t->column[j + 1]; p++) {
      S2_UNROLL for (int c = 0; c < 2; c++) {
        S2_UNROLL for (int r = 0; r < 2; r++) {
          sum[c][r] = sum[c][r] + upper[p].at[c][r] * w[t->row[p]][r];
        }
      }
    }
    const Real(*v)[2] = factor->inverse[j].at;
    Real y0 = w[j][0], y1 = w[j][1], x0, x1;
    if (symmetric) {
      x1 = (y1 - v[0][1] * y0) * v[1][1];
      x0 = y0 * v[0][0] - v[0][1] * x1;
    } else {
      x0 = v[0][0] * y0 + v[1][0] * y1;
      x1 = v[0][1] * y0 + v[1][1] * y1;
    }
    w[j][0] = x0 - (sum[0][0] + sum[0][1]);
    w[j][1] = x1 - (sum[1][0] + sum[1][1]);
  }
  S2_UNROLL for (int k = 0; k < t->joints; k++) {
    x[t->order[k]][0] = w[k][0];
    x[t->order[k]][1] = w[k][1];
  }
}

// NOLINTEND(clang-analyzer-*)
#endif
