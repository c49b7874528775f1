#include "diff/tape/array_tape.h"

#include <string.h>

// An argument as a sweep uses it: a node or a copy of the numbers.
typedef struct Argument {
  S2Size shape;
  S2Var var;
  const double *copy;
} Argument;

static Argument note_keep(S2Tape *tape, const S2Array *array) {
  Argument argument = {.shape = array->shape, .var = array->var};
  if (array->var == 0) {
    size_t bytes = s2_size_count(array->shape) * sizeof *array->data;
    double *copy = s2_tape_take(tape, bytes + 1);
    if (bytes > 0) {
      memcpy(copy, array->data, bytes);
    }
    argument.copy = copy;
  }
  return argument;
}

static const double *note_numbers_of(const S2Tape *tape, const Argument *argument) {
  return argument->var != 0 ? s2_tape_value(tape, argument->var) : argument->copy;
}

// Returns true if the adjoint is zero. The backward function can then return without error.
static bool note_is_idle(S2Tape *tape, S2Var node) {
  const double *adjoint = s2_tape_adjoint(tape, node);
  int count = s2_tape_count(tape, node);
  for (int i = 0; i < count; i++) {
    if (adjoint[i] != 0) {
      return false;
    }
  }
  return true;
}

static S2Var note(S2Tape *tape, size_t count, const double *out, S2TapeBackward *backward,
                  const void *data, size_t bytes) {
  void *kept = s2_tape_take(tape, bytes);
  memcpy(kept, data, bytes);
  return s2_tape_node(tape, (int)count, out, backward, NULL, kept);
}

// ---- Elements and axes ------------------------------------------------------------------------

typedef struct Elements {
  int op;
  S2ArrayAxis axis;
  Argument a, b;
} Elements;

static S2Status note_unary_back(S2Tape *tape, S2Var node, void *data) {
  const Elements *at = data;
  s2_array_unary_vjp((S2ArrayUnary)at->op, s2_size_count(at->a.shape),
                     note_numbers_of(tape, &at->a), s2_tape_value(tape, node),
                     s2_tape_adjoint(tape, node), s2_tape_adjoint(tape, at->a.var));
  return s2_ok();
}

S2Var s2_note_unary(S2Tape *tape, S2ArrayUnary op, const S2Array *a, const double *out) {
  if (a->var == 0) {
    return 0;
  }
  const Elements at = {.op = (int)op, .a = note_keep(tape, a)};
  return note(tape, s2_size_count(a->shape), out, note_unary_back, &at, sizeof at);
}

static S2Status note_binary_back(S2Tape *tape, S2Var node, void *data) {
  const Elements *at = data;
  const S2ArrayPair pair = {at->a.shape, at->b.shape, note_numbers_of(tape, &at->a),
                            note_numbers_of(tape, &at->b)};
  s2_array_binary_vjp((S2ArrayBinary)at->op, &pair, s2_tape_value(tape, node),
                      s2_tape_adjoint(tape, node), s2_tape_adjoint(tape, at->a.var),
                      s2_tape_adjoint(tape, at->b.var));
  return s2_ok();
}

S2Var s2_note_binary(S2Tape *tape, S2ArrayBinary op, const S2Array *a, const S2Array *b,
                     S2Size shape, const double *out) {
  if ((a->var == 0 && b->var == 0) || op >= S2_ARRAY_LESS) {
    return 0;
  }
  const Elements at = {.op = (int)op, .a = note_keep(tape, a), .b = note_keep(tape, b)};
  return note(tape, s2_size_count(shape), out, note_binary_back, &at, sizeof at);
}

static S2Status note_reduce_back(S2Tape *tape, S2Var node, void *data) {
  const Elements *at = data;
  s2_array_reduce_vjp((S2ArrayReduce)at->op, at->axis, at->a.shape, note_numbers_of(tape, &at->a),
                      s2_tape_adjoint(tape, node), s2_tape_adjoint(tape, at->a.var));
  return s2_ok();
}

S2Var s2_note_reduce(S2Tape *tape, S2ArrayReduce op, S2ArrayAxis axis, const S2Array *a,
                     const double *out) {
  if (a->var == 0) {
    return 0;
  }
  const Elements at = {.op = (int)op, .axis = axis, .a = note_keep(tape, a)};
  size_t size = s2_size_count(s2_array_reduce_shape(a->shape, axis));
  return note(tape, size, out, note_reduce_back, &at, sizeof at);
}

static S2Status note_norm_back(S2Tape *tape, S2Var node, void *data) {
  const Argument *a = data;
  s2_array_norm_vjp(s2_size_count(a->shape), note_numbers_of(tape, a), *s2_tape_value(tape, node),
                    *s2_tape_adjoint(tape, node), s2_tape_adjoint(tape, a->var));
  return s2_ok();
}

S2Var s2_note_norm(S2Tape *tape, const S2Array *a, double out) {
  if (a->var == 0) {
    return 0;
  }
  const Argument at = note_keep(tape, a);
  return note(tape, 1, &out, note_norm_back, &at, sizeof at);
}

// ---- Numbers at other places ------------------------------------------------------------------

static S2Status note_gather_back(S2Tape *tape, S2Var node, void *data) {
  const S2ArrayPart *part = data;
  s2_array_scatter_add(&part->block, s2_tape_adjoint(tape, node), s2_tape_adjoint(tape, part->var));
  return s2_ok();
}

S2Var s2_note_gather(S2Tape *tape, const S2ArrayBlock *block, const S2Array *a, const double *out) {
  if (a->var == 0) {
    return 0;
  }
  const S2ArrayPart part = {a->var, *block};
  size_t size = (size_t)block->rows * (size_t)block->columns;
  return note(tape, size, out, note_gather_back, &part, sizeof part);
}

typedef struct Join {
  int count;
  S2ArrayPart *parts;
} Join;

static S2Status note_join_back(S2Tape *tape, S2Var node, void *data) {
  const Join *join = data;
  for (int i = 0; i < join->count; i++) {
    s2_array_gather_add(&join->parts[i].block, s2_tape_adjoint(tape, node),
                        s2_tape_adjoint(tape, join->parts[i].var));
  }
  return s2_ok();
}

S2Var s2_note_join(S2Tape *tape, int count, const S2ArrayPart *parts, size_t size,
                   const double *out) {
  int tracked = 0;
  for (int i = 0; i < count; i++) {
    tracked += parts[i].var != 0;
  }
  if (tracked == 0) {
    return 0;
  }
  Join join = {0, s2_tape_take(tape, (size_t)tracked * sizeof *parts)};
  for (int i = 0; i < count; i++) {
    if (parts[i].var != 0) {
      join.parts[join.count++] = parts[i];
    }
  }
  return note(tape, size, out, note_join_back, &join, sizeof join);
}

// ---- Linear algebra ---------------------------------------------------------------------------

typedef struct Linear {
  int m, k, n; // product: m x k times k x n; solve: n, with columns in k
  Argument a, b;
  const double *factors;
  const int *pivot;
} Linear;

static S2Status note_product_back(S2Tape *tape, S2Var node, void *data) {
  const Linear *at = data;
  s2_array_product_vjp(at->m, at->k, at->n, note_numbers_of(tape, &at->a),
                       note_numbers_of(tape, &at->b), s2_tape_adjoint(tape, node),
                       s2_tape_adjoint(tape, at->a.var), s2_tape_adjoint(tape, at->b.var));
  return s2_ok();
}

S2Var s2_note_product(S2Tape *tape, int m, int k, int n, const S2Array *a, const S2Array *b,
                      const double *out) {
  if (a->var == 0 && b->var == 0) {
    return 0;
  }
  const Linear at = {.m = m, .k = k, .n = n, .a = note_keep(tape, a), .b = note_keep(tape, b)};
  return note(tape, (size_t)m * (size_t)n, out, note_product_back, &at, sizeof at);
}

static S2Status note_solve_back(S2Tape *tape, S2Var node, void *data) {
  const Linear *at = data;
  if (note_is_idle(tape, node)) {
    return s2_ok();
  }
  S2Arena arena;
  s2_arena_init(&arena);
  s2_array_solve_vjp(at->n, at->k, at->factors, at->pivot, s2_tape_value(tape, node),
                     s2_tape_adjoint(tape, node), s2_tape_adjoint(tape, at->a.var),
                     s2_tape_adjoint(tape, at->b.var), &arena);
  s2_arena_free(&arena);
  return s2_ok();
}

S2Var s2_note_array_solve(S2Tape *tape, int n, int columns, const S2Array *a, const S2Array *b,
                          const double *x, const double *factors, const int *pivot) {
  if (a->var == 0 && b->var == 0) {
    return 0;
  }
  size_t bytes = (size_t)n * (size_t)n * sizeof *factors, row = (size_t)n * sizeof *pivot;
  double *kept = s2_tape_take(tape, bytes + 1);
  int *kept_pivot = s2_tape_take(tape, row + 1);
  memcpy(kept, factors, bytes);
  memcpy(kept_pivot, pivot, row);
  const Linear at = {.n = n,
                     .k = columns,
                     .a = {.var = a->var},
                     .b = {.var = b->var},
                     .factors = kept,
                     .pivot = kept_pivot};
  return note(tape, (size_t)n * (size_t)columns, x, note_solve_back, &at, sizeof at);
}

static S2Status note_least_squares_back(S2Tape *tape, S2Var node, void *data) {
  const Linear *at = data;
  if (note_is_idle(tape, node)) {
    return s2_ok();
  }
  const S2ArrayLeastSquares in = {.rows = at->m,
                                  .n = at->n,
                                  .columns = at->k,
                                  .a = note_numbers_of(tape, &at->a),
                                  .b = note_numbers_of(tape, &at->b),
                                  .x = s2_tape_value(tape, node)};
  S2Arena arena;
  s2_arena_init(&arena);
  S2Status status =
      s2_array_least_squares_vjp(&in, s2_tape_adjoint(tape, node), s2_tape_adjoint(tape, at->a.var),
                                 s2_tape_adjoint(tape, at->b.var), &arena);
  s2_arena_free(&arena);
  return status;
}

S2Var s2_note_least_squares(S2Tape *tape, int columns, const S2Array *a, const S2Array *b,
                            const double *x) {
  if (a->var == 0 && b->var == 0) {
    return 0;
  }
  const Linear at = {.m = a->shape.rows,
                     .n = a->shape.columns,
                     .k = columns,
                     .a = note_keep(tape, a),
                     .b = note_keep(tape, b)};
  return note(tape, (size_t)at.n * (size_t)columns, x, note_least_squares_back, &at, sizeof at);
}

// ---- Functions of one matrix ------------------------------------------------------------------

typedef struct Factor {
  S2ArrayFactor factor;
  Argument a;
} Factor;

typedef struct Places { // positions of the results in `out`
  size_t second, third, size;
} Places;

static Places note_places_of(S2ArrayFactor factor, S2Size in) {
  size_t rows = (size_t)in.rows, columns = (size_t)in.columns, k = rows < columns ? rows : columns;
  switch (factor) {
  case S2_ARRAY_QR:
    return (Places){rows * k, 0, (rows + columns) * k};
  case S2_ARRAY_SVD:
    return (Places){rows * k, (rows + 1) * k, (rows + 1 + columns) * k};
  case S2_ARRAY_EIGEN:
    return (Places){rows, 0, rows * (rows + 1)};
  case S2_ARRAY_DETERMINANT:
    return (Places){0, 0, 1};
  case S2_ARRAY_INVERSE:
  case S2_ARRAY_CHOLESKY:
  case S2_ARRAY_EXPONENTIAL:
    break;
  }
  return (Places){0, 0, rows * rows};
}

size_t s2_array_factor_size(S2ArrayFactor factor, S2Size in) {
  return note_places_of(factor, in).size;
}

S2Status s2_array_factor(S2ArrayFactor factor, S2Size in, const double *a, double *out,
                         S2Arena *arena) {
  Places at = note_places_of(factor, in);
  switch (factor) {
  case S2_ARRAY_INVERSE:
    return s2_array_inverse(in.rows, a, out, arena);
  case S2_ARRAY_DETERMINANT:
    *out = s2_array_determinant(in.rows, a, arena);
    return s2_ok();
  case S2_ARRAY_CHOLESKY:
    return s2_array_cholesky(in.rows, a, out);
  case S2_ARRAY_EXPONENTIAL:
    return s2_array_exponential(in.rows, a, out, arena);
  case S2_ARRAY_QR:
    return s2_array_qr(in.rows, in.columns, a, out, out + at.second, arena);
  case S2_ARRAY_SVD:
    return s2_array_svd(in.rows, in.columns, a, out, out + at.second, out + at.third, arena);
  case S2_ARRAY_EIGEN:
    break;
  }
  return s2_array_eigen(in.rows, a, out, out + at.size, out + at.second, arena);
}

static S2Status note_factor_vjp(const Factor *at, const double *a, const double *out,
                                const double *g, double *dl_da, S2Arena *arena) {
  S2Size in = at->a.shape;
  Places to = note_places_of(at->factor, in);
  switch (at->factor) {
  case S2_ARRAY_INVERSE:
    s2_array_inverse_vjp(in.rows, out, g, dl_da, arena);
    return s2_ok();
  case S2_ARRAY_DETERMINANT:
    return s2_array_determinant_vjp(in.rows, a, *g, dl_da, arena);
  case S2_ARRAY_CHOLESKY:
    s2_array_cholesky_vjp(in.rows, out, g, dl_da, arena);
    return s2_ok();
  case S2_ARRAY_EXPONENTIAL:
    return s2_array_exponential_vjp(in.rows, a, g, dl_da, arena);
  // Several factors are stored one after another, both in `out` and in `g`.
  case S2_ARRAY_QR:
    return s2_array_qr_vjp(in.rows, in.columns, out, out + to.second, g, g + to.second, dl_da,
                           arena);
  case S2_ARRAY_SVD: {
    const S2ArraySvd svd = {in.rows, in.columns, out, out + to.second, out + to.third};
    return s2_array_svd_vjp(&svd, g, g + to.second, g + to.third, dl_da, arena);
  }
  case S2_ARRAY_EIGEN:
    break;
  }
  return s2_array_eigen_vjp(in.rows, out, out + to.second, g, g + to.second, dl_da, arena);
}

static S2Status note_factor_back(S2Tape *tape, S2Var node, void *data) {
  const Factor *at = data;
  if (note_is_idle(tape, node)) {
    return s2_ok();
  }
  S2Arena arena;
  s2_arena_init(&arena);
  S2Status status =
      note_factor_vjp(at, note_numbers_of(tape, &at->a), s2_tape_value(tape, node),
                      s2_tape_adjoint(tape, node), s2_tape_adjoint(tape, at->a.var), &arena);
  s2_arena_free(&arena);
  return status;
}

S2Var s2_note_factor(S2Tape *tape, S2ArrayFactor factor, const S2Array *a, const double *out) {
  if (a->var == 0) {
    return 0;
  }
  const Factor at = {factor, note_keep(tape, a)};
  return note(tape, s2_array_factor_size(factor, a->shape), out, note_factor_back, &at, sizeof at);
}
