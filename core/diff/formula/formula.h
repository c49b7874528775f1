// Formulas: expressions of real unknowns, recorded once, differentiated exactly and computed many
// times (program.h). Equal expressions are stored once, so common subexpressions cost nothing
// extra. In contrast to a tape (diff/tape), a formula has no values. So its function is recorded
// once for all points and may not branch on values.
#ifndef S2_FORMULA_H
#define S2_FORMULA_H

#include <stdbool.h>
#include <stdint.h>

typedef struct S2FormulaGraph S2FormulaGraph;
typedef int32_t S2Formula; // index in its graph. Arguments have smaller indices than results.

typedef enum S2FormulaOp {
  S2_FORMULA_NUMBER,
  S2_FORMULA_VARIABLE, // element `b` of the array `a` of a program (program.h)
  S2_FORMULA_ADD,
  S2_FORMULA_SUBTRACT,
  S2_FORMULA_MULTIPLY,
  S2_FORMULA_DIVIDE,
  S2_FORMULA_POWER, // a to the power of the constant `number`
  S2_FORMULA_SIN,   // first function of one argument
  S2_FORMULA_COS,
  S2_FORMULA_EXP,
  S2_FORMULA_LOG,
  S2_FORMULA_SQRT,
  S2_FORMULA_TANH,
  S2_FORMULA_ATAN,
} S2FormulaOp;

typedef struct S2FormulaNode {
  S2FormulaOp op;
  S2Formula a, b; // arguments; 0 if unused
  double number;  // value of a number; exponent of a power
} S2FormulaNode;

S2FormulaGraph *s2_formula_graph_new(void);
void s2_formula_graph_free(S2FormulaGraph *graph); // NULL: nothing
const S2FormulaNode *s2_formula_node(const S2FormulaGraph *graph, S2Formula f);
int s2_formula_count(const S2FormulaGraph *graph);

S2Formula s2_formula_number(S2FormulaGraph *graph, double number);
S2Formula s2_formula_variable(S2FormulaGraph *graph, int array, int index);
// ADD to DIVIDE. Operations with numbers, 0 and 1 are simplified.
S2Formula s2_formula_binary(S2FormulaGraph *graph, S2FormulaOp op, S2Formula a, S2Formula b);
S2Formula s2_formula_unary(S2FormulaGraph *graph, S2FormulaOp op, S2Formula a); // SIN to ATAN
// Small whole exponents become products.
S2Formula s2_formula_power(S2FormulaGraph *graph, S2Formula a, double exponent);
// Returns true if f is a number, and stores it.
bool s2_formula_constant(const S2FormulaGraph *graph, S2Formula f, double *number);

// A nonzero derivative with respect to the variable `index` of an array.
typedef struct S2FormulaSlope {
  int index;
  S2Formula slope;
} S2FormulaSlope;
// Finds the derivatives of f with respect to the first `variables` elements of `array`, in the
// order of their index. Returns the number of nonzero derivatives; `slopes` has space for
// `variables`.
int s2_formula_gradient(S2FormulaGraph *graph, S2Formula f, int array, int variables,
                        S2FormulaSlope *slopes);

#endif
