// Programs compute a list of formulas at many points. Points are processed in groups of lanes, one
// operation at a time, so that the compiler uses vector instructions. Values do not depend on the
// grouping.
#ifndef S2_FORMULA_PROGRAM_H
#define S2_FORMULA_PROGRAM_H

#include "diff/formula/formula.h"

typedef struct S2FormulaProgram S2FormulaProgram;

// The arrays of a call. Point i has the variables x[i * x_stride + index] (array 0) and
// y[i * y_stride + index] (array 1). Formula k of point i is written to out[i * out_stride + k].
typedef struct S2FormulaPoints {
  int count;
  const double *x, *y; // y may be NULL if no formula depends on it
  int x_stride, y_stride;
  double *out;
  int out_stride;
} S2FormulaPoints;

// The program keeps no reference to the graph.
S2FormulaProgram *s2_formula_compile(const S2FormulaGraph *graph, int count,
                                     const S2Formula *formulas);
void s2_formula_program_free(S2FormulaProgram *program); // NULL: nothing
int s2_formula_program_length(
    const S2FormulaProgram *program); // number of operations for one point
// Only one thread may run a program at a time, because it holds its own working memory.
void s2_formula_run(S2FormulaProgram *program, const S2FormulaPoints *points);

#endif
