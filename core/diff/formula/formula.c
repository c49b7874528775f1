#include "diff/formula/formula.h"

#include "base/array.h"

#include <math.h>
#include <string.h>

enum { LARGEST_PRODUCT = 8 }; // largest exponent that becomes a product

struct S2FormulaGraph {
  S2_ARRAY(S2FormulaNode) node;
  int32_t *bucket; // hash table of the nodes: index + 1, or 0
  uint32_t buckets;
  // Gradients: the derivative of f by each node that has been reached, or -1.
  S2_ARRAY(S2Formula) adjoint;
};

// ---- Nodes ------------------------------------------------------------------------------------

S2FormulaGraph *s2_formula_graph_new(void) {
  return s2_memory_take_zeroed(sizeof(S2FormulaGraph));
}

void s2_formula_graph_free(S2FormulaGraph *graph) {
  if (graph != NULL) {
    s2_array_free(graph->node);
    s2_array_free(graph->adjoint);
    s2_memory_free(graph->bucket);
    s2_memory_free(graph);
  }
}

const S2FormulaNode *s2_formula_node(const S2FormulaGraph *graph, S2Formula f) {
  return &graph->node.at[f];
}

int s2_formula_count(const S2FormulaGraph *graph) {
  return graph->node.count;
}

static uint64_t formula_bits(double number) {
  uint64_t bits;
  memcpy(&bits, &number, sizeof bits);
  return bits;
}

static uint32_t formula_hash(const S2FormulaNode *node) {
  // Multiplications by odd numbers mix the bits (Knuth's multiplicative hashing).
  uint64_t h = (uint64_t)node->op * 0x9e3779b97f4a7c15u;
  h = (h ^ (uint32_t)node->a) * 0xbf58476d1ce4e5b9u;
  h = (h ^ (h >> 29) ^ (uint32_t)node->b) * 0x94d049bb133111ebu;
  h = (h ^ (h >> 31) ^ formula_bits(node->number)) * 0x9e3779b97f4a7c15u;
  return (uint32_t)(h >> 32);
}

static bool formula_equal(const S2FormulaNode *a, const S2FormulaNode *b) {
  return a->op == b->op && a->a == b->a && a->b == b->b &&
         formula_bits(a->number) == formula_bits(b->number);
}

static void formula_grow(S2FormulaGraph *graph) {
  uint32_t buckets = graph->buckets == 0 ? 256 : 2 * graph->buckets;
  int32_t *bucket = s2_memory_take_zeroed(sizeof *bucket * buckets);
  for (int i = 0; i < graph->node.count; i++) {
    uint32_t at = formula_hash(&graph->node.at[i]) & (buckets - 1);
    while (bucket[at] != 0) {
      at = (at + 1) & (buckets - 1);
    }
    bucket[at] = i + 1;
  }
  s2_memory_free(graph->bucket);
  graph->bucket = bucket;
  graph->buckets = buckets;
}

// Returns the node with these parts, which is created if it does not exist yet.
static S2Formula formula_make(S2FormulaGraph *graph, S2FormulaNode node) {
  if (2 * (uint32_t)graph->node.count >= graph->buckets) {
    formula_grow(graph);
  }
  uint32_t at = formula_hash(&node) & (graph->buckets - 1);
  while (graph->bucket[at] != 0) {
    if (formula_equal(&graph->node.at[graph->bucket[at] - 1], &node)) {
      return graph->bucket[at] - 1;
    }
    at = (at + 1) & (graph->buckets - 1);
  }
  *s2_array_append(graph->node) = node;
  graph->bucket[at] = graph->node.count;
  return graph->node.count - 1;
}

S2Formula s2_formula_number(S2FormulaGraph *graph, double number) {
  // -0 and 0 are one number, so that simplifications find both.
  return formula_make(graph, (S2FormulaNode){S2_FORMULA_NUMBER, 0, 0, number == 0 ? 0 : number});
}

S2Formula s2_formula_variable(S2FormulaGraph *graph, int array, int index) {
  return formula_make(graph, (S2FormulaNode){S2_FORMULA_VARIABLE, array, index, 0});
}

bool s2_formula_constant(const S2FormulaGraph *graph, S2Formula f, double *number) {
  *number = graph->node.at[f].number;
  return graph->node.at[f].op == S2_FORMULA_NUMBER;
}

// ---- Operations -------------------------------------------------------------------------------

static double formula_fold(S2FormulaOp op, double a, double b) {
  return op == S2_FORMULA_ADD        ? a + b
         : op == S2_FORMULA_SUBTRACT ? a - b
         : op == S2_FORMULA_MULTIPLY ? a * b
                                     : a / b;
}

S2Formula s2_formula_binary(S2FormulaGraph *graph, S2FormulaOp op, S2Formula a, S2Formula b) {
  double x, y;
  bool x_known = s2_formula_constant(graph, a, &x), y_known = s2_formula_constant(graph, b, &y);
  bool sums = op == S2_FORMULA_ADD || op == S2_FORMULA_SUBTRACT;
  bool commutes = op == S2_FORMULA_ADD || op == S2_FORMULA_MULTIPLY;
  if (x_known && y_known) {
    return s2_formula_number(graph, formula_fold(op, x, y));
  }
  if (!sums && ((x_known && x == 0) || (op == S2_FORMULA_MULTIPLY && y_known && y == 0))) {
    return s2_formula_number(graph, 0);
  }
  if (y_known && y == (sums ? 0 : 1)) {
    return a;
  }
  if (x_known && commutes && x == (sums ? 0 : 1)) {
    return b;
  }
  if (op == S2_FORMULA_SUBTRACT && a == b) {
    return s2_formula_number(graph, 0);
  }
  if (op == S2_FORMULA_SUBTRACT && x_known && x == 0) {
    return s2_formula_binary(graph, S2_FORMULA_MULTIPLY, s2_formula_number(graph, -1), b);
  }
  if (commutes && a > b) { // the order of arguments does not change the value
    S2Formula c = a;
    a = b;
    b = c;
  }
  return formula_make(graph, (S2FormulaNode){op, a, b, 0});
}

static double formula_function(S2FormulaOp op, double x) {
  switch (op) {
  case S2_FORMULA_SIN:
    return sin(x);
  case S2_FORMULA_COS:
    return cos(x);
  case S2_FORMULA_EXP:
    return exp(x);
  case S2_FORMULA_LOG:
    return log(x);
  case S2_FORMULA_SQRT:
    return sqrt(x);
  case S2_FORMULA_TANH: // 1 - f^2
    return tanh(x);
  default:
    return atan(x);
  }
}

S2Formula s2_formula_unary(S2FormulaGraph *graph, S2FormulaOp op, S2Formula a) {
  double x;
  if (s2_formula_constant(graph, a, &x)) {
    return s2_formula_number(graph, formula_function(op, x));
  }
  return formula_make(graph, (S2FormulaNode){op, a, 0, 0});
}

S2Formula s2_formula_power(S2FormulaGraph *graph, S2Formula a, double exponent) {
  double x;
  if (s2_formula_constant(graph, a, &x)) {
    return s2_formula_number(graph, pow(x, exponent));
  }
  double size = fabs(exponent);
  if (size <= LARGEST_PRODUCT && size == floor(size)) {
    S2Formula product = s2_formula_number(graph, 1);
    for (int i = 0; i < (int)size; i++) {
      product = s2_formula_binary(graph, S2_FORMULA_MULTIPLY, product, a);
    }
    return exponent >= 0
               ? product
               : s2_formula_binary(graph, S2_FORMULA_DIVIDE, s2_formula_number(graph, 1), product);
  }
  return formula_make(graph, (S2FormulaNode){S2_FORMULA_POWER, a, 0, exponent});
}

// ---- Derivatives ------------------------------------------------------------------------------

static void formula_reach(S2FormulaGraph *graph, S2Formula node, S2Formula more) {
  S2Formula *adjoint = &graph->adjoint.at[node];
  *adjoint = *adjoint < 0 ? more : s2_formula_binary(graph, S2_FORMULA_ADD, *adjoint, more);
}

// Returns the derivative of a function of one argument, as a factor of its adjoint.
static S2Formula formula_factor(S2FormulaGraph *graph, S2Formula f, S2FormulaNode node) {
  S2Formula one = s2_formula_number(graph, 1);
  // the derivative of the function with respect to its argument
  switch (node.op) {
  case S2_FORMULA_SIN:
    return s2_formula_unary(graph, S2_FORMULA_COS, node.a);
  case S2_FORMULA_COS:
    return s2_formula_binary(graph, S2_FORMULA_MULTIPLY, s2_formula_number(graph, -1),
                             s2_formula_unary(graph, S2_FORMULA_SIN, node.a));
  case S2_FORMULA_EXP:
    return f;
  case S2_FORMULA_LOG: // 1 / a
    return s2_formula_binary(graph, S2_FORMULA_DIVIDE, one, node.a);
  case S2_FORMULA_SQRT:
    return s2_formula_binary(graph, S2_FORMULA_DIVIDE, s2_formula_number(graph, 0.5), f);
  case S2_FORMULA_TANH: // 1 - f^2
    return s2_formula_binary(graph, S2_FORMULA_SUBTRACT, one,
                             s2_formula_binary(graph, S2_FORMULA_MULTIPLY, f, f));
  case S2_FORMULA_ATAN: // 1 / (1 + a^2)
    return s2_formula_binary(
        graph, S2_FORMULA_DIVIDE, one,
        s2_formula_binary(graph, S2_FORMULA_ADD, one,
                          s2_formula_binary(graph, S2_FORMULA_MULTIPLY, node.a, node.a)));
  default: // a power
    return s2_formula_binary(graph, S2_FORMULA_MULTIPLY, s2_formula_number(graph, node.number),
                             s2_formula_power(graph, node.a, node.number - 1));
  }
}

// Adds the adjoint of f to the adjoints of its arguments.
static void formula_backward(S2FormulaGraph *graph, S2Formula f, S2Formula adjoint) {
  S2FormulaNode node = graph->node.at[f]; // a copy, because new nodes may move the array
  S2Formula part;
  switch (node.op) {
  case S2_FORMULA_NUMBER:
  case S2_FORMULA_VARIABLE:
    break;
  case S2_FORMULA_ADD:
    formula_reach(graph, node.a, adjoint);
    formula_reach(graph, node.b, adjoint);
    break;
  case S2_FORMULA_SUBTRACT:
    formula_reach(graph, node.a, adjoint);
    part = s2_formula_number(graph, -1);
    formula_reach(graph, node.b, s2_formula_binary(graph, S2_FORMULA_MULTIPLY, part, adjoint));
    break;
  case S2_FORMULA_MULTIPLY:
    formula_reach(graph, node.a, s2_formula_binary(graph, S2_FORMULA_MULTIPLY, adjoint, node.b));
    formula_reach(graph, node.b, s2_formula_binary(graph, S2_FORMULA_MULTIPLY, adjoint, node.a));
    break;
  case S2_FORMULA_DIVIDE:
    part = s2_formula_binary(graph, S2_FORMULA_DIVIDE, adjoint, node.b);
    formula_reach(graph, node.a, part);
    part = s2_formula_binary(graph, S2_FORMULA_MULTIPLY, part, f);
    formula_reach(
        graph, node.b,
        s2_formula_binary(graph, S2_FORMULA_MULTIPLY, s2_formula_number(graph, -1), part));
    break;
  default:
    part = formula_factor(graph, f, node);
    formula_reach(graph, node.a, s2_formula_binary(graph, S2_FORMULA_MULTIPLY, adjoint, part));
  }
}

int s2_formula_gradient(S2FormulaGraph *graph, S2Formula f, int array, int variables,
                        S2FormulaSlope *slopes) {
  s2_array_reserve(graph->adjoint, f + 1);
  for (S2Formula i = 0; i <= f; i++) {
    graph->adjoint.at[i] = -1;
  }
  graph->adjoint.at[f] = s2_formula_number(graph, 1);
  // Arguments have smaller indices, so this order meets each node after all of its uses.
  for (S2Formula i = f; i >= 0; i--) {
    if (graph->adjoint.at[i] >= 0) {
      formula_backward(graph, i, graph->adjoint.at[i]);
    }
  }
  int count = 0;
  for (int k = 0; k < variables; k++) {
    double number;
    S2Formula variable = s2_formula_variable(graph, array, k);
    if (variable <= f && graph->adjoint.at[variable] >= 0 &&
        !(s2_formula_constant(graph, graph->adjoint.at[variable], &number) && number == 0)) {
      slopes[count++] = (S2FormulaSlope){k, graph->adjoint.at[variable]};
    }
  }
  return count;
}
