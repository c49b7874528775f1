#include "plan/mpcc_problem.h"

#include "base/array.h"

#include <math.h>
#include <string.h>

static int mpcc_triangle(int size) {
  return size * (size + 1) / 2;
}

// ---- Formulas of a kind of stage --------------------------------------------------------------

typedef struct Builder {
  S2MpccProblem *problem;
  S2FormulaGraph *graph;
  S2Arena *arena;
  int variables;          // 2 w
  S2FormulaSlope *slopes; // variables
  S2_ARRAY(S2Formula) outputs;
  S2_ARRAY(int32_t) indices;
} Builder;

static S2Formula builder_times(Builder *b, S2Formula x, S2Formula y) {
  return s2_formula_binary(b->graph, S2_FORMULA_MULTIPLY, x, y);
}

// Moves the collected indices to the arena.
static const int32_t *builder_indices(Builder *b) {
  int32_t *copy = S2_TAKE(b->arena, int32_t, b->indices.count + 1);
  for (int k = 0; k < b->indices.count; k++) {
    copy[k] = b->indices.at[k];
  }
  b->indices.count = 0;
  return copy;
}

static S2FormulaProgram *builder_compile(Builder *b) {
  int count = b->outputs.count;
  b->outputs.count = 0;
  return s2_formula_compile(b->graph, count, b->outputs.at);
}

// Appends the gradient of f to the outputs, and its variables to the indices.
static int builder_gradient(Builder *b, S2Formula f) {
  int count = s2_formula_gradient(b->graph, f, 0, b->variables, b->slopes);
  for (int k = 0; k < count; k++) {
    *s2_array_append(b->outputs) = b->slopes[k].slope;
    *s2_array_append(b->indices) = b->slopes[k].index;
  }
  return count;
}

static void kind_rows(const S2MpccKind *kind, const S2MpccStage *stage, Builder *b,
                      S2Formula *rows) {
  int k = 0;
  for (int i = 0; i < kind->equals; i++) {
    rows[k++] = stage->equal[i];
  }
  for (int i = 0; i < kind->positives; i++) {
    rows[k++] = stage->positive[i];
  }
  S2Formula minus = s2_formula_number(b->graph, -1);
  for (int i = 0; i < kind->products; i++) {
    S2Formula product = builder_times(b, stage->product[2 * i], stage->product[2 * i + 1]);
    rows[k++] = builder_times(b, minus, product);
  }
}

static S2Formula kind_lagrangian(const S2MpccKind *kind, const S2MpccStage *stage, Builder *b,
                                 const S2Formula *rows) {
  S2Formula lagrangian = stage->cost;
  for (int k = 0; k < kind->equals && b->problem->curvature; k++) {
    S2Formula multiplier = s2_formula_variable(b->graph, 1, k);
    lagrangian = s2_formula_binary(b->graph, S2_FORMULA_SUBTRACT, lagrangian,
                                   builder_times(b, multiplier, rows[k]));
  }
  return lagrangian;
}

static int32_t block_root(int32_t *parent, int32_t i) {
  while (parent[i] != i) {
    i = parent[i] = parent[parent[i]];
  }
  return i;
}

// Groups the variables that second derivatives couple.
static void kind_blocks(S2MpccKind *kind, Builder *b, const int32_t *pair) {
  int n = b->variables;
  int32_t *parent = S2_TAKE(b->arena, int32_t, n), *where = S2_TAKE(b->arena, int32_t, n);
  bool *used = S2_TAKE_ZEROED(b->arena, bool, n);
  for (int i = 0; i < n; i++) {
    parent[i] = i;
  }
  for (int e = 0; e < kind->seconds; e++) {
    int32_t i = pair[2 * e], j = pair[2 * e + 1];
    used[i] = used[j] = true;
    parent[block_root(parent, i)] = block_root(parent, j);
  }
  // A block consists of the variables with the same root.
  kind->blocks = 0;
  kind->block = S2_TAKE_ZEROED(b->arena, S2MpccBlock, n);
  for (int root = 0; root < n; root++) {
    if (!used[root] || block_root(parent, root) != root) {
      continue;
    }
    S2MpccBlock *block = &kind->block[kind->blocks++];
    for (int i = 0; i < n; i++) {
      if (used[i] && block_root(parent, i) == root) {
        where[i] = block->size++;
        *s2_array_append(b->indices) = i;
      }
    }
    block->variable = builder_indices(b);
    // Second derivatives that are zero have no entry.
    int32_t *entry = S2_TAKE(b->arena, int32_t, block->size * block->size);
    for (int k = 0; k < block->size * block->size; k++) {
      entry[k] = -1;
    }
    for (int e = 0; e < kind->seconds; e++) {
      int32_t i = pair[2 * e], j = pair[2 * e + 1];
      if (block_root(parent, i) == root) {
        entry[where[i] * block->size + where[j]] = e;
        entry[where[j] * block->size + where[i]] = e;
      }
    }
    block->entry = entry;
  }
}

// Finds the second derivatives of the Lagrangian, for row i and column j <= i.
static void kind_second(S2MpccKind *kind, Builder *b, S2Formula lagrangian) {
  int n = b->variables;
  S2FormulaSlope *first = S2_TAKE(b->arena, S2FormulaSlope, n);
  int count = s2_formula_gradient(b->graph, lagrangian, 0, n, first);
  for (int k = 0; k < count; k++) {
    int found = s2_formula_gradient(b->graph, first[k].slope, 0, first[k].index + 1, b->slopes);
    for (int j = 0; j < found; j++) {
      *s2_array_append(b->outputs) = b->slopes[j].slope;
      *s2_array_append(b->indices) = first[k].index;
      *s2_array_append(b->indices) = b->slopes[j].index;
    }
  }
  kind->seconds = b->outputs.count;
  kind->second = builder_compile(b);
  kind_blocks(kind, b, builder_indices(b));
}

const char *s2_mpcc_row_name(const S2MpccKind *kind, int row, int *index) {
  const char *name[] = {"equal", "positive", "products"};
  int which = row < kind->equals ? 0 : row < kind->equals + kind->positives ? 1 : 2;
  *index = row - (which > 0 ? kind->equals : 0) - (which > 1 ? kind->positives : 0);
  return name[which];
}

static S2Status kind_compile(S2MpccKind *kind, const S2MpccStage *stage, Builder *b) {
  kind->equals = stage->equals;
  kind->positives = stage->positives;
  kind->products = stage->products;
  kind->rows = kind->equals + kind->positives + kind->products;
  S2Formula *rows = S2_TAKE(b->arena, S2Formula, kind->rows + 1);
  kind_rows(kind, stage, b, rows);
  *s2_array_append(b->outputs) = stage->cost;
  for (int k = 0; k < kind->rows; k++) {
    *s2_array_append(b->outputs) = rows[k];
  }
  kind->values = builder_compile(b);

  // The slopes are those of the cost, then those of the rows.
  kind->gradients = builder_gradient(b, stage->cost);
  kind->gradient = builder_indices(b);
  int32_t *start = S2_TAKE(b->arena, int32_t, kind->rows + 1);
  start[0] = 0;
  for (int k = 0; k < kind->rows; k++) {
    start[k + 1] = start[k] + builder_gradient(b, rows[k]);
    if (start[k + 1] == start[k]) {
      int index;
      const char *name = s2_mpcc_row_name(kind, k, &index);
      return s2_error(S2_INVALID, "stage %d: %s[%d] does not depend on an unknown; leave it out",
                      kind->first + 1, name, index + 1);
    }
  }
  kind->start = start;
  kind->entries = start[kind->rows];
  kind->column = builder_indices(b);
  kind->slopes = builder_compile(b);
  kind_second(kind, b, kind_lagrangian(kind, stage, b, rows));

  size_t stages = (size_t)kind->stages;
  kind->gradient_out = s2_arena_take_zeroed(
      b->arena, sizeof(double) * stages * (size_t)(kind->gradients + kind->entries + 1));
  kind->second_out =
      s2_arena_take_zeroed(b->arena, sizeof(double) * stages * (size_t)(kind->seconds + 1));
  return s2_ok();
}

// ---- The matrix -------------------------------------------------------------------------------

typedef struct Entries {
  int32_t *entry; // pairs
  int count;
} Entries;

static void entries_add(Entries *list, int i, int j) {
  list->entry[2 * list->count] = i;
  list->entry[2 * list->count + 1] = j;
  list->count++;
}

static int kind_entries(S2MpccKind *kind) {
  int count = kind->equal_entries = kind->start[kind->equals];
  kind->cliques = 0;
  for (int k = kind->equals; k < kind->rows; k++) {
    kind->cliques += mpcc_triangle(kind->start[k + 1] - kind->start[k]);
  }
  count += kind->cliques;
  for (int i = 0; i < kind->blocks; i++) {
    count += mpcc_triangle(kind->block[i].size);
  }
  return count * kind->stages;
}

// Lists the entries of a kind and the places of their slots, which are filled later.
static void kind_list(S2MpccProblem *problem, S2MpccKind *kind, Entries *list,
                      const int32_t *slot) {
  int width = problem->width;
  for (int i = 0; i < kind->blocks; i++) {
    S2MpccBlock *block = &kind->block[i];
    block->slot = slot + list->count;
    for (int s = 0; s < kind->stages; s++) {
      int base = (kind->first + s) * width;
      for (int p = 0; p < block->size; p++) {
        for (int q = 0; q <= p; q++) {
          entries_add(list, base + block->variable[p], base + block->variable[q]);
        }
      }
    }
  }
  // the Jacobian of the equations
  kind->equal_slot = slot + list->count;
  for (int s = 0; s < kind->stages; s++) {
    int base = (kind->first + s) * width, row = kind->at + s * kind->rows;
    for (int k = 0; k < kind->equals; k++) {
      for (int p = kind->start[k]; p < kind->start[k + 1]; p++) {
        entries_add(list, problem->unknowns + problem->equation[row + k], base + kind->column[p]);
      }
    }
  }
  // J'J of each inequality
  kind->clique_slot = slot + list->count;
  for (int s = 0; s < kind->stages; s++) {
    int base = (kind->first + s) * width;
    for (int k = kind->equals; k < kind->rows; k++) {
      for (int p = kind->start[k]; p < kind->start[k + 1]; p++) {
        for (int q = kind->start[k]; q <= p; q++) {
          entries_add(list, base + kind->column[p], base + kind->column[q]);
        }
      }
    }
  }
}

static void problem_number_rows(S2MpccProblem *problem, S2Arena *arena) {
  int32_t *equation = S2_TAKE(arena, int32_t, problem->rows + 1);
  bool *is_product = S2_TAKE_ZEROED(arena, bool, problem->rows + 1);
  problem->equations = 0;
  for (int i = 0; i < problem->kinds; i++) {
    const S2MpccKind *kind = &problem->kind[i];
    for (int r = 0; r < kind->stages * kind->rows; r++) {
      int k = r % kind->rows;
      equation[kind->at + r] = k < kind->equals ? problem->equations++ : -1;
      is_product[kind->at + r] = k >= kind->equals + kind->positives;
    }
  }
  problem->equation = equation;
  problem->is_product = is_product;
}

static void problem_matrix(S2MpccProblem *problem, S2Arena *arena) {
  int count = 0, largest = 0;
  for (int i = 0; i < problem->kinds; i++) {
    S2MpccKind *kind = &problem->kind[i];
    count += kind_entries(kind);
    for (int k = 0; k < kind->blocks; k++) {
      S2MpccBlock *block = &kind->block[k];
      largest = block->size > largest ? block->size : largest;
      block->value = S2_TAKE_ZEROED(arena, double, kind->stages *mpcc_triangle(block->size) + 1);
    }
  }
  problem->block = S2_TAKE_ZEROED(arena, double, 2 * largest * largest * S2_MPCC_LANES + 1);
  Entries list = {S2_TAKE(arena, int32_t, 2 * count + 2), 0};
  int32_t *slot = S2_TAKE(arena, int32_t, count + 1);
  for (int i = 0; i < problem->kinds; i++) {
    kind_list(problem, &problem->kind[i], &list, slot);
  }
  int order = problem->unknowns + problem->equations;
  s2_sparseldl_init(&problem->matrix, order, count, list.entry, slot, arena);
  bool *positive = S2_TAKE_ZEROED(arena, bool, order + 1);
  for (int k = 0; k < problem->unknowns; k++) {
    positive[k] = true;
  }
  problem->positive = positive;
}

S2Status s2_mpcc_problem_init(S2MpccProblem *problem, const S2MpccDef *def, S2Arena *arena) {
  *problem = (S2MpccProblem){.width = def->width,
                             .stages = def->stages,
                             .unknowns = def->width * def->stages,
                             .curvature = def->curvature};
  Builder b = {.problem = problem, .graph = def->graph, .arena = arena};
  const S2MpccStage *stage[] = {&def->first, &def->running, &def->last};
  int first[] = {0, 1, def->stages - 1, def->stages}, widest = 0;
  S2Status status = s2_ok();
  for (int i = 0; i < 3 && status.code == S2_OK; i++) {
    if (first[i + 1] == first[i]) {
      continue;
    }
    // A problem with two stages has no running stages.
    S2MpccKind *kind = &problem->kind[problem->kinds++];
    kind->first = first[i];
    kind->stages = first[i + 1] - first[i];
    kind->at = problem->rows;
    b.variables = i == 2 ? def->width : 2 * def->width;
    b.slopes = S2_TAKE(arena, S2FormulaSlope, b.variables);
    status = kind_compile(kind, stage[i], &b);
    problem->rows += kind->stages * kind->rows;
    int size = kind->stages * (1 + kind->rows);
    widest = size > widest ? size : widest;
  }
  s2_array_free(b.outputs);
  s2_array_free(b.indices);
  S2_TRY(status);
  problem->values = S2_TAKE(arena, double, widest + 1);
  problem_number_rows(problem, arena);
  problem_matrix(problem, arena);
  return s2_ok();
}

void s2_mpcc_problem_free(S2MpccProblem *problem) {
  for (int i = 0; i < problem->kinds; i++) {
    s2_formula_program_free(problem->kind[i].values);
    s2_formula_program_free(problem->kind[i].slopes);
    s2_formula_program_free(problem->kind[i].second);
  }
}

// ---- Evaluation -------------------------------------------------------------------------------

static S2FormulaPoints kind_points(const S2MpccProblem *problem, const S2MpccKind *kind,
                                   const double *x, double *out, int stride) {
  return (S2FormulaPoints){.count = kind->stages,
                           .x = x + kind->first * problem->width,
                           .x_stride = problem->width,
                           .out = out,
                           .out_stride = stride};
}

double s2_mpcc_values(S2MpccProblem *problem, const double *x, double kappa, double *rows) {
  double cost = 0;
  for (int i = 0; i < problem->kinds; i++) {
    const S2MpccKind *kind = &problem->kind[i];
    S2FormulaPoints points = kind_points(problem, kind, x, problem->values, 1 + kind->rows);
    s2_formula_run(kind->values, &points);
    int first_product = kind->equals + kind->positives;
    for (int s = 0; s < kind->stages; s++) {
      const double *from = problem->values + s * (1 + kind->rows);
      double *to = rows + kind->at + s * kind->rows;
      cost += from[0];
      memcpy(to, from + 1, sizeof *to * (size_t)kind->rows);
      for (int k = first_product; k < kind->rows; k++) {
        to[k] += kappa;
      }
    }
  }
  return cost;
}

void s2_mpcc_slopes(S2MpccProblem *problem, const double *x, double *gradient) {
  memset(gradient, 0, sizeof *gradient * (size_t)problem->unknowns);
  for (int i = 0; i < problem->kinds; i++) {
    const S2MpccKind *kind = &problem->kind[i];
    int stride = kind->gradients + kind->entries;
    S2FormulaPoints points = kind_points(problem, kind, x, kind->gradient_out, stride);
    s2_formula_run(kind->slopes, &points);
    for (int s = 0; s < kind->stages; s++) {
      double *to = gradient + (kind->first + s) * problem->width;
      for (int k = 0; k < kind->gradients; k++) {
        to[kind->gradient[k]] += kind->gradient_out[s * stride + k];
      }
    }
  }
}

// The Jacobian of the rows of a stage of this kind.
static const double *kind_jacobian(const S2MpccKind *kind, int s) {
  return kind->gradient_out + s * (kind->gradients + kind->entries) + kind->gradients;
}

// ---- Second derivatives -----------------------------------------------------------------------

// Makes the blocks of up to S2_MPCC_LANES stages positive semidefinite.
static void block_project(const S2MpccProblem *problem, const S2MpccKind *kind,
                          const S2MpccBlock *block, int first) {
  int size = block->size, left = kind->stages - first;
  int lanes = left < S2_MPCC_LANES ? left : S2_MPCC_LANES;
  double *a = problem->block, *work = a + size * size * S2_MPCC_LANES;
  for (int k = 0; k < size * size; k++) {
    for (int lane = 0; lane < S2_MPCC_LANES; lane++) { // unused lanes repeat the last stage
      int s = first + (lane < lanes ? lane : lanes - 1);
      int entry = block->entry[k];
      a[k * S2_MPCC_LANES + lane] = entry < 0 ? 0 : kind->second_out[s * kind->seconds + entry];
    }
  }
  s2_mpcc_project(size, a, work);
  for (int lane = 0; lane < lanes; lane++) {
    double *value = block->value + (first + lane) * mpcc_triangle(size);
    for (int i = 0; i < size; i++) {
      for (int j = 0; j <= i; j++) {
        *value++ = a[(i * size + j) * S2_MPCC_LANES + lane];
      }
    }
  }
}

static void kind_second_values(const S2MpccProblem *problem, const S2MpccKind *kind,
                               const double *x, const double *y) {
  S2FormulaPoints points = kind_points(problem, kind, x, kind->second_out, kind->seconds);
  points.y = y + kind->at;
  points.y_stride = kind->rows;
  s2_formula_run(kind->second, &points);
  for (int i = 0; i < kind->blocks; i++) {
    const S2MpccBlock *block = &kind->block[i];
    if (block->size == 1) {
      for (int s = 0; s < kind->stages; s++) {
        block->value[s] = fmax(0, kind->second_out[s * kind->seconds + block->entry[0]]);
      }
      continue;
    }
    for (int s = 0; s < kind->stages; s += S2_MPCC_LANES) {
      block_project(problem, kind, block, s);
    }
  }
}

void s2_mpcc_fill(S2MpccProblem *problem, const double *x, const double *y, const double *weight,
                  double soft, double delta) {
  S2SparseLdl *matrix = &problem->matrix;
  double *value = matrix->value;
  memset(value, 0, sizeof *value * (size_t)matrix->entries);
  for (int k = 0; k < matrix->n; k++) {
    value[matrix->start[matrix->place[k]]] = k < problem->unknowns ? delta : -soft;
  }
  for (int i = 0; i < problem->kinds; i++) {
    const S2MpccKind *kind = &problem->kind[i];
    kind_second_values(problem, kind, x, y);
    for (int k = 0; k < kind->blocks; k++) {
      const S2MpccBlock *block = &kind->block[k];
      for (int e = 0; e < kind->stages * mpcc_triangle(block->size); e++) {
        value[block->slot[e]] += block->value[e];
      }
    }
    // The slots of equations and inequalities are in the order of stages and rows.
    const int32_t *equal = kind->equal_slot, *clique = kind->clique_slot;
    for (int s = 0; s < kind->stages; s++) {
      const double *slope = kind_jacobian(kind, s);
      for (int p = 0; p < kind->equal_entries; p++) {
        value[*equal++] += slope[p];
      }
      const double *w = weight + kind->at + s * kind->rows;
      for (int k = kind->equals; k < kind->rows; k++) {
        for (int p = kind->start[k]; p < kind->start[k + 1]; p++) {
          double scaled = w[k] * slope[p];
          for (int q = kind->start[k]; q <= p; q++) {
            value[*clique++] += scaled * slope[q];
          }
        }
      }
    }
  }
}

double s2_mpcc_bend(const S2MpccProblem *problem, const double *dx, double delta) {
  double sum = 0;
  for (int k = 0; k < problem->unknowns; k++) {
    sum += delta * dx[k] * dx[k];
  }
  for (int i = 0; i < problem->kinds; i++) {
    const S2MpccKind *kind = &problem->kind[i];
    for (int k = 0; k < kind->blocks; k++) {
      const S2MpccBlock *block = &kind->block[k];
      const double *value = block->value;
      for (int s = 0; s < kind->stages; s++) {
        const double *d = dx + (kind->first + s) * problem->width;
        for (int p = 0; p < block->size; p++) {
          for (int q = 0; q <= p; q++) {
            double term = *value++ * d[block->variable[p]] * d[block->variable[q]];
            sum += p == q ? term : 2 * term;
          }
        }
      }
    }
  }
  return sum;
}

void s2_mpcc_add_transposed(const S2MpccProblem *problem, bool all, double factor, const double *y,
                            double *out) {
  for (int i = 0; i < problem->kinds; i++) {
    const S2MpccKind *kind = &problem->kind[i];
    for (int s = 0; s < kind->stages; s++) {
      const double *slope = kind_jacobian(kind, s), *ys = y + kind->at + s * kind->rows;
      double *to = out + (kind->first + s) * problem->width;
      for (int k = all ? 0 : kind->equals; k < kind->rows; k++) {
        for (int p = kind->start[k]; p < kind->start[k + 1]; p++) {
          to[kind->column[p]] += factor * ys[k] * slope[p];
        }
      }
    }
  }
}

void s2_mpcc_times_inequalities(const S2MpccProblem *problem, const double *dx, double *out) {
  for (int i = 0; i < problem->kinds; i++) {
    const S2MpccKind *kind = &problem->kind[i];
    for (int s = 0; s < kind->stages; s++) {
      const double *slope = kind_jacobian(kind, s);
      const double *from = dx + (kind->first + s) * problem->width;
      double *to = out + kind->at + s * kind->rows;
      for (int k = kind->equals; k < kind->rows; k++) {
        double sum = 0;
        for (int p = kind->start[k]; p < kind->start[k + 1]; p++) {
          sum += slope[p] * from[kind->column[p]];
        }
        to[k] = sum;
      }
    }
  }
}
