#include "diff/formula/program.h"

#include "base/array.h"

#include <math.h>
#include <string.h>

enum { LANES = 8 }; // two or more vectors of every processor, so that latencies overlap

typedef enum ProgramOp { // follows the operations of formulas
  STORE = S2_FORMULA_ATAN + 1,
} ProgramOp;

typedef struct Instruction {
  int32_t op;
  int32_t to;   // register; for STORE the index of the output
  int32_t a, b; // registers; for VARIABLE the array and the index
  double number;
} Instruction;

struct S2FormulaProgram {
  S2_ARRAY(Instruction) code;
  int registers, constants; // the first registers hold the constants
  double *constant;
  double *work; // LANES numbers for each register
};

// ---- Compilation ------------------------------------------------------------------------------

typedef struct Compiler {
  const S2FormulaGraph *graph;
  S2FormulaProgram *program;
  int nodes;
  int32_t *uses;          // remaining uses of each node that the formulas need
  int32_t *place;         // register of each node
  S2_ARRAY(int32_t) free; // registers that hold no value that is still needed
} Compiler;

static int formula_arguments(S2FormulaOp op) {
  return op <= S2_FORMULA_VARIABLE ? 0 : op <= S2_FORMULA_DIVIDE ? 2 : 1;
}

static void compile_count_uses(Compiler *compiler, int count, const S2Formula *formulas) {
  for (int k = 0; k < count; k++) {
    compiler->uses[formulas[k]]++;
  }
  for (int i = compiler->nodes - 1; i >= 0; i--) {
    const S2FormulaNode *node = s2_formula_node(compiler->graph, i);
    int arguments = compiler->uses[i] > 0 ? formula_arguments(node->op) : 0;
    if (arguments > 0) {
      compiler->uses[node->a]++;
    }
    if (arguments > 1) {
      compiler->uses[node->b]++;
    }
  }
}

static void compile_constants(Compiler *compiler) {
  S2FormulaProgram *program = compiler->program;
  for (int pass = 0; pass < 2; pass++) {
    program->constants = 0;
    for (int i = 0; i < compiler->nodes; i++) {
      double number;
      if (compiler->uses[i] > 0 && s2_formula_constant(compiler->graph, i, &number)) {
        if (pass == 1) {
          program->constant[program->constants] = number;
        }
        compiler->place[i] = program->constants++;
      }
    }
    if (pass == 0) {
      program->constant = s2_memory_take(sizeof(double) * (size_t)(program->constants + 1));
    }
  }
  program->registers = program->constants;
}

static int compile_register(Compiler *compiler) {
  if (compiler->free.count > 0) {
    return compiler->free.at[--compiler->free.count];
  }
  return compiler->program->registers++;
}

// The value of a node has been used once. After its last use, its register is free.
static void compile_used(Compiler *compiler, S2Formula f) {
  if (--compiler->uses[f] == 0 && compiler->place[f] >= compiler->program->constants) {
    *s2_array_append(compiler->free) = compiler->place[f];
  }
}

static void compile_node(Compiler *compiler, S2Formula f) {
  const S2FormulaNode *node = s2_formula_node(compiler->graph, f);
  int arguments = formula_arguments(node->op);
  Instruction next = {(int32_t)node->op, 0, node->a, node->b, node->number};
  if (arguments > 0) {
    next.a = compiler->place[node->a];
    next.b = arguments > 1 ? compiler->place[node->b] : next.a;
    compile_used(compiler, node->a);
    if (arguments > 1) {
      compile_used(compiler, node->b);
    }
  }
  // The result may take the register of an argument: each lane is read before it is written.
  next.to = compiler->place[f] = compile_register(compiler);
  *s2_array_append(compiler->program->code) = next;
}

static void compile_store(Compiler *compiler, S2Formula f, int output) {
  *s2_array_append(compiler->program->code) =
      (Instruction){STORE, output, compiler->place[f], 0, 0};
  compile_used(compiler, f);
}

S2FormulaProgram *s2_formula_compile(const S2FormulaGraph *graph, int count,
                                     const S2Formula *formulas) {
  S2FormulaProgram *program = s2_memory_take_zeroed(sizeof *program);
  Compiler compiler = {.graph = graph, .program = program, .nodes = s2_formula_count(graph)};
  size_t bytes = sizeof(int32_t) * (size_t)(compiler.nodes + 1);
  compiler.uses = s2_memory_take_zeroed(bytes);
  compiler.place = s2_memory_take_zeroed(bytes);
  // outputs of each node as linked lists
  int32_t *head = s2_memory_take_zeroed(bytes);
  int32_t *next = s2_memory_take_zeroed(sizeof(int32_t) * (size_t)(count + 1));
  for (int k = count - 1; k >= 0; k--) {
    next[k] = head[formulas[k]];
    head[formulas[k]] = k + 1;
  }
  compile_count_uses(&compiler, count, formulas);
  compile_constants(&compiler);
  for (S2Formula f = 0; f < compiler.nodes; f++) {
    if (compiler.uses[f] == 0) {
      continue;
    }
    if (s2_formula_node(graph, f)->op != S2_FORMULA_NUMBER) {
      compile_node(&compiler, f);
    }
    for (int k = head[f]; k != 0; k = next[k - 1]) {
      compile_store(&compiler, f, k - 1);
    }
  }
  program->work = s2_memory_take_zeroed(sizeof(double) * LANES * (size_t)(program->registers + 1));
  for (int i = 0; i < program->constants; i++) {
    for (int lane = 0; lane < LANES; lane++) {
      program->work[i * LANES + lane] = program->constant[i];
    }
  }
  s2_array_free(compiler.free);
  s2_memory_free(compiler.uses);
  s2_memory_free(compiler.place);
  s2_memory_free(head);
  s2_memory_free(next);
  return program;
}

void s2_formula_program_free(S2FormulaProgram *program) {
  if (program != NULL) {
    s2_array_free(program->code);
    s2_memory_free(program->constant);
    s2_memory_free(program->work);
    s2_memory_free(program);
  }
}

int s2_formula_program_length(const S2FormulaProgram *program) {
  return program->code.count;
}

// ---- Execution --------------------------------------------------------------------------------

#define EACH_LANE(EXPRESSION)                                                                      \
  for (int i = 0; i < LANES; i++) {                                                                \
    to[i] = EXPRESSION;                                                                            \
  }                                                                                                \
  break

static void program_load(const Instruction *in, const S2FormulaPoints *points, int first, int lanes,
                         double *to) {
  const double *from = in->a == 0 ? points->x : points->y;
  int stride = in->a == 0 ? points->x_stride : points->y_stride;
  for (int i = 0; i < LANES; i++) { // unused lanes repeat the last point
    int point = first + (i < lanes ? i : lanes - 1);
    to[i] = from[(ptrdiff_t)point * stride + in->b];
  }
}

static void program_operate(const Instruction *in, double *to, const double *a, const double *b) {
  switch (in->op) {
  case S2_FORMULA_ADD:
    EACH_LANE(a[i] + b[i]);
  case S2_FORMULA_SUBTRACT:
    EACH_LANE(a[i] - b[i]);
  case S2_FORMULA_MULTIPLY:
    EACH_LANE(a[i] * b[i]);
  case S2_FORMULA_DIVIDE:
    EACH_LANE(a[i] / b[i]);
  // functions of the C library, one lane after another
  case S2_FORMULA_POWER:
    EACH_LANE(pow(a[i], in->number));
  case S2_FORMULA_SIN:
    EACH_LANE(sin(a[i]));
  case S2_FORMULA_COS:
    EACH_LANE(cos(a[i]));
  case S2_FORMULA_EXP:
    EACH_LANE(exp(a[i]));
  case S2_FORMULA_LOG:
    EACH_LANE(log(a[i]));
  case S2_FORMULA_SQRT:
    EACH_LANE(sqrt(a[i]));
  case S2_FORMULA_TANH:
    EACH_LANE(tanh(a[i]));
  default:
    EACH_LANE(atan(a[i]));
  }
}

void s2_formula_run(S2FormulaProgram *program, const S2FormulaPoints *points) {
  double *work = program->work;
  const Instruction *end = program->code.at + program->code.count;
  for (int first = 0; first < points->count; first += LANES) {
    int lanes = points->count - first < LANES ? points->count - first : LANES;
    for (const Instruction *in = program->code.at; in < end; in++) {
      if (in->op == S2_FORMULA_VARIABLE) {
        program_load(in, points, first, lanes, &work[in->to * LANES]);
      } else if (in->op == STORE) {
        for (int i = 0; i < lanes; i++) {
          points->out[(ptrdiff_t)(first + i) * points->out_stride + in->to] =
              work[in->a * LANES + i];
        }
      } else {
        program_operate(in, &work[in->to * LANES], &work[in->a * LANES], &work[in->b * LANES]);
      }
    }
  }
}
