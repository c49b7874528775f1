// Arrays on a tape. Each function makes the node of an operation that array.h has computed. It
// returns 0 (a constant) if no argument is tracked. It copies the numbers of untracked arguments.
#ifndef S2_DIFF_ARRAY_TAPE_H
#define S2_DIFF_ARRAY_TAPE_H

#include "diff/tape/array.h"
#include "diff/tape/tape.h"

typedef struct S2Array {
  S2Size shape;
  const double *data;
  S2Var var; // 0: untracked
} S2Array;

S2Var s2_note_unary(S2Tape *tape, S2ArrayUnary op, const S2Array *a, const double *out);
S2Var s2_note_binary(S2Tape *tape, S2ArrayBinary op, const S2Array *a, const S2Array *b,
                     S2Size shape, const double *out);
S2Var s2_note_reduce(S2Tape *tape, S2ArrayReduce op, S2ArrayAxis axis, const S2Array *a,
                     const double *out);
S2Var s2_note_norm(S2Tape *tape, const S2Array *a, double out);
S2Var s2_note_gather(S2Tape *tape, const S2ArrayBlock *block, const S2Array *a, const double *out);
// `out` has `size` numbers, and each part fills a block of it. Numbers outside all parts are
// constants.
typedef struct S2ArrayPart {
  S2Var var;
  S2ArrayBlock block;
} S2ArrayPart;
S2Var s2_note_join(S2Tape *tape, int count, const S2ArrayPart *parts, size_t size,
                   const double *out);
S2Var s2_note_product(S2Tape *tape, int m, int k, int n, const S2Array *a, const S2Array *b,
                      const double *out);
S2Var s2_note_array_solve(S2Tape *tape, int n, int columns, const S2Array *a, const S2Array *b,
                          const double *x, const double *factors, const int *pivot);
S2Var s2_note_least_squares(S2Tape *tape, int columns, const S2Array *a, const S2Array *b,
                            const double *x);

// Functions of one matrix. If there are several results, `out` contains them in the order given
// here.
typedef enum S2ArrayFactor {
  S2_ARRAY_INVERSE,
  S2_ARRAY_DETERMINANT,
  S2_ARRAY_CHOLESKY,
  S2_ARRAY_EXPONENTIAL,
  S2_ARRAY_QR,   // q, r
  S2_ARRAY_SVD,  // u, s, v
  S2_ARRAY_EIGEN // values, then vectors; real eigenvalues only
} S2ArrayFactor;
size_t s2_array_factor_size(S2ArrayFactor factor, S2Size in); // size of `out`.
// Computes the results. For eigenvalues, `out` has n additional numbers, the imaginary parts.
S2Status s2_array_factor(S2ArrayFactor factor, S2Size in, const double *a, double *out,
                         S2Arena *arena);
S2Var s2_note_factor(S2Tape *tape, S2ArrayFactor factor, const S2Array *a, const double *out);

#endif
