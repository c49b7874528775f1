#include "mcp/chain/bilateral.h"

#include "mcp/pivot/schur.h"
#include "mcp/solvers.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

// Largest ratio of pairs of groups that share a node to groups. It is 1 for a chain, 3 for a net,
// and n / 2 for a hub of n joints. Above this limit, the matrix of the interior-point method is
// sparser, because its graph connects nodes instead of groups.
enum { PAIRS_MOST = 8 };

// Largest number of corrections with one factorisation. Usually one correction reaches rounding. A
// long chain with a condition number of up to 1e12 needs two more. If a correction does not halve
// the residual, the residual is rounding.
enum { CORRECTIONS = 6 };
static const double GAIN = 0.5;
static const double ROUNDING = 1e-14; // Smaller scaled residuals are not improved further.

// ---- Assembly ---------------------------------------------------------------------------------

// Groups the rows of each joint between the same nodes, with at most three rows in a group.
static bool bilateral_find_groups(S2Bilateral *bilateral, const S2Problem *problem,
                                  S2Arena *arena) {
  int groups = 0, rigid = 0;
  bilateral->first = S2_TAKE(arena, int32_t, problem->rows + 1);
  for (int i = 0; i < problem->rows; i++) {
    const S2Row *row = &problem->row[i];
    if (!(row->coupled_to < 0 && row->lo == -INFINITY && row->hi == INFINITY)) {
      return false;
    }
    rigid += row->compliance == 0;
    // A group ends with its joint, or after three rows.
    bool same = i > 0 && row[-1].group == row->group && row[-1].a == row->a && row[-1].b == row->b;
    if (!same || i - bilateral->first[groups - 1] == 3) {
      bilateral->first[groups++] = i;
    }
  }
  bilateral->first[groups] = problem->rows;
  bilateral->groups = groups;
  return groups > 0 && rigid <= 3 * problem->nodes; // more would be linearly dependent
}

// Finds the links of each node. The links of node i begin at link[start[i]].
static void bilateral_find_links(S2Bilateral *bilateral, S2Arena *arena) {
  const S2Problem *problem = bilateral->problem;
  int32_t *start = S2_TAKE_ZEROED(arena, int32_t, problem->nodes + 1);
  int32_t *next = S2_TAKE(arena, int32_t, problem->nodes);
  bilateral->start = start;
  bilateral->link = S2_TAKE(arena, int32_t, 2 * bilateral->groups);
  // Count the links, add up the counts, fill in the links.
  for (int g = 0; g < bilateral->groups; g++) {
    const S2Row *row = &problem->row[bilateral->first[g]];
    start[row->a + 1] += row->a >= 0;
    start[row->b + 1] += row->b >= 0;
  }
  for (int i = 0; i < problem->nodes; i++) {
    start[i + 1] += start[i];
    next[i] = start[i];
  }
  for (int g = 0; g < bilateral->groups; g++) {
    const S2Row *row = &problem->row[bilateral->first[g]];
    if (row->a >= 0) {
      bilateral->link[next[row->a]++] = 2 * g;
    }
    if (row->b >= 0) {
      bilateral->link[next[row->b]++] = 2 * g + 1;
    }
  }
}

// The rows of one side of a link. They convert either impulses or velocities. Row r begins at `at +
// r * stride`.
typedef struct Side {
  const double *at;
  int stride, rows;
} Side;

S2_INLINE Side bilateral_side_of(const S2Bilateral *bilateral, const S2RowSides *left,
                                 int32_t link) {
  int first = bilateral->first[link / 2], rows = bilateral->first[link / 2 + 1] - first;
  if (left != NULL) {
    const S2RowSides *sides = &left[first];
    return (Side){link % 2 == 0 ? sides->a : sides->b, sizeof(S2RowSides) / sizeof(double), rows};
  }
  const S2Row *row = &bilateral->problem->row[first];
  return (Side){link % 2 == 0 ? row->ja : row->jb, sizeof(S2Row) / sizeof(double), rows};
}

// Adds G W^-1 H' to a block that is stored by columns. These are the velocities of rows g per
// impulse along rows h. Adds the transpose if `turned` is set.
S2_INLINE void bilateral_couple(Side g, Side h, const double inverse[3], bool turned,
                                double block[9]) {
  for (int c = 0; c < h.rows; c++) {
    const double *j = h.at + (ptrdiff_t)c * h.stride;
    double x = j[0] * inverse[0], y = j[1] * inverse[1], z = j[2] * inverse[2];
    for (int r = 0; r < g.rows; r++) {
      const double *k = g.at + (ptrdiff_t)r * g.stride;
      double entry = k[0] * x + k[1] * y + k[2] * z;
      block[turned ? 3 * r + c : 3 * c + r] += entry;
    }
  }
}

static void bilateral_fill(S2Bilateral *bilateral, const S2RowSides *left) {
  const S2Problem *problem = bilateral->problem;
  const int32_t *start = bilateral->start, *slot = bilateral->slot;
  S2BlockSparse *matrix = &bilateral->matrix;
  s2_blocksparse_clear(matrix, left != NULL);
  // Assembles S, the sum of G W_i^-1 H' over all nodes i and all pairs of links G, H of node i.
  for (int i = 0; i < problem->nodes; i++) {
    const double *mass = problem->mass + 3 * i;
    const double inverse[3] = {1 / mass[0], 1 / mass[1], 1 / mass[2]};
    for (int32_t p = start[i]; p < start[i + 1]; p++) {
      int32_t x = bilateral->link[p], place = matrix->place[x / 2];
      Side pushed = bilateral_side_of(bilateral, NULL, x),
           sees = bilateral_side_of(bilateral, left, x);
      double own[9] = {0};
      bilateral_couple(sees, pushed, inverse, false, own);
      for (int c = 0; c < 3; c++) {
        S2Quad column;
        s2_quad_load(&column, own + 3 * c);
        matrix->diagonal[3 * place + c] += column;
      }
      // For a pair of two groups, fill the block below the diagonal in the order of elimination.
      for (int32_t q = start[i]; q < p; q++, slot++) {
        int32_t y = bilateral->link[q];
        Side other = bilateral_side_of(bilateral, NULL, y),
             other_sees = bilateral_side_of(bilateral, left, y);
        double *lower = matrix->lower + S2_BLOCK * (size_t)*slot;
        double *upper = matrix->upper + S2_BLOCK * (size_t)*slot;
        if (place > matrix->place[y / 2]) {
          bilateral_couple(sees, other, inverse, false, lower);
        } else {
          bilateral_couple(other_sees, pushed, inverse, false, lower);
        }
        // Fill the block above the diagonal, too, if the rows for velocities and impulses differ.
        if (left != NULL && place > matrix->place[y / 2]) {
          bilateral_couple(other_sees, pushed, inverse, true, upper);
        } else if (left != NULL) {
          bilateral_couple(sees, other, inverse, true, upper);
        }
      }
    }
  }
  // Add compliances to the diagonal. Fill unused diagonal entries of groups with fewer than three
  // rows with 1.
  for (int g = 0; g < bilateral->groups; g++) {
    int first = bilateral->first[g], rows = bilateral->first[g + 1] - first;
    S2Quad *diagonal = matrix->diagonal + 3 * matrix->place[g];
    for (int r = 0; r < 3; r++) {
      diagonal[r][r] += r < rows ? problem->row[first + r].compliance : 1;
    }
  }
}

static void keep_diagonal(const S2Bilateral *bilateral) {
  for (int g = 0; g < bilateral->groups; g++) {
    const S2Quad *block = bilateral->matrix.diagonal + 3 * bilateral->matrix.place[g];
    for (int i = bilateral->first[g], r = 0; i < bilateral->first[g + 1]; i++, r++) {
      bilateral->diagonal[i] = block[r][r];
    }
  }
}

double s2_bilateral_least_pivot(const S2Bilateral *bilateral) {
  double least = INFINITY;
  for (int g = 0; g < bilateral->groups; g++) {
    const S2Quad *block = bilateral->matrix.diagonal + 3 * bilateral->matrix.place[g];
    S2Quad d[3] = {block[0], block[1], block[2]};
    // Eliminate the block of a group entry by entry. Each pivot is compared with the diagonal of
    // its row.
    for (int i = bilateral->first[g], r = 0; i < bilateral->first[g + 1]; i++, r++) {
      double left = d[r][r] / bilateral->diagonal[i];
      least = left > 0 ? fmin(least, left) : -INFINITY; // also handles NaN
      for (int c = r + 1; c < 3; c++) {
        d[c] -= d[r] * (d[c][r] / d[r][r]);
      }
    }
  }
  return least;
}

int s2_bilateral_redundant(const S2Bilateral *bilateral) {
  int found = -1, first = bilateral->groups;
  for (int g = 0; g < bilateral->groups; g++) {
    int place = bilateral->matrix.place[g];
    const S2Quad *block = bilateral->matrix.diagonal + 3 * place;
    S2Quad d[3] = {block[0], block[1], block[2]};
    // Find the remaining fraction of each diagonal, as in s2_bilateral_least_pivot.
    for (int i = bilateral->first[g], r = 0; i < bilateral->first[g + 1]; i++, r++) {
      double left = d[r][r] / bilateral->diagonal[i];
      if (!(left > s2_schur_redundant(false)) && place < first) {
        found = i;
        first = place;
      }
      for (int c = r + 1; c < 3; c++) {
        d[c] -= d[r] * (d[c][r] / d[r][r]);
      }
    }
  }
  return found;
}

bool s2_bilateral_init(S2Bilateral *bilateral, const S2Problem *problem, S2Arena *arena) {
  *bilateral = (S2Bilateral){.problem = problem};
  if (problem->mobility != NULL || !bilateral_find_groups(bilateral, problem, arena)) {
    return false;
  }
  bilateral_find_links(bilateral, arena);
  const int32_t *start = bilateral->start;
  int groups = bilateral->groups, edges = 0;
  int64_t pairs = 0;
  // Nodes with many joints make a dense graph, which this solver does not support.
  for (int i = 0; i < problem->nodes; i++) {
    int64_t links = start[i + 1] - start[i];
    pairs += links * (links - 1) / 2;
  }
  if (pairs > (int64_t)PAIRS_MOST * groups) {
    return false;
  }
  // Add an edge for each pair of links on a node, in the order in which bilateral_fill() visits
  // them.
  int32_t *edge = S2_TAKE(arena, int32_t, 2 * pairs);
  bilateral->slot = S2_TAKE(arena, int32_t, pairs);
  for (int i = 0; i < problem->nodes; i++) {
    for (int32_t p = start[i]; p < start[i + 1]; p++) {
      for (int32_t q = start[i]; q < p; q++, edges++) {
        edge[2 * edges] = bilateral->link[p] / 2;
        edge[2 * edges + 1] = bilateral->link[q] / 2;
      }
    }
  }
  s2_blocksparse_init(&bilateral->matrix, groups, edges, edge, bilateral->slot, arena);
  bilateral->matrix.careful = true;
  bilateral->x = S2_TAKE(arena, S2Quad, groups);
  bilateral->diagonal = S2_TAKE(arena, double, problem->rows);
  return true;
}

bool s2_bilateral_factor(S2Bilateral *bilateral, const S2RowSides *left) {
  bilateral_fill(bilateral, left);
  keep_diagonal(bilateral);
  // If elimination leaves almost nothing of a row's diagonal, the row depends linearly on other
  // rows.
  return s2_blocksparse_factor(&bilateral->matrix) &&
         s2_bilateral_least_pivot(bilateral) > s2_schur_redundant(false);
}

// ---- Solving ----------------------------------------------------------------------------------

void s2_bilateral_apply(const S2Bilateral *bilateral, double *x) {
  S2Quad *y = bilateral->x;
  for (int g = 0; g < bilateral->groups; g++) {
    y[g] = (S2Quad){0};
    for (int i = bilateral->first[g]; i < bilateral->first[g + 1]; i++) {
      y[g][i - bilateral->first[g]] = x[i];
    }
  }
  s2_blocksparse_solve(&bilateral->matrix, y, y);
  for (int g = 0; g < bilateral->groups; g++) {
    for (int i = bilateral->first[g]; i < bilateral->first[g + 1]; i++) {
      x[i] = y[g][i - bilateral->first[g]];
    }
  }
}

// Writes the errors of the rows into x and the velocities of the impulses into v. Returns the same
// residual as s2_mcp_residual. The momentum balance is exact here.
static double bilateral_miss(const S2Problem *problem, const double *lambda, double *v, double *x) {
  double worst = 0;
  s2_mcp_velocity(problem, lambda, v);
  s2_mcp_row_velocity(problem, v, x);
  for (int i = 0; i < problem->rows; i++) {
    const S2Row *row = &problem->row[i];
    x[i] += row->compliance * lambda[i] + row->bias;
    double error = fabs(x[i]) * s2_row_weight(problem, row);
    worst = error <= worst ? worst : error; // propagates NaN
  }
  return worst / problem->velocity_scale;
}

// Corrects the impulses several times. Writes the best point found to `lambda` and its velocities
// to v.
static double bilateral_correct(const S2Bilateral *bilateral, const S2Problem *problem,
                                const S2SolverOptions *options, double *lambda, double *v,
                                S2Arena *arena) {
  size_t rows = sizeof(double) * (size_t)problem->rows;
  size_t nodes = sizeof(double) * (size_t)(3 * problem->nodes);
  double *x = S2_TAKE(arena, double, problem->rows), *now = S2_TAKE(arena, double, problem->rows);
  double *v_now = S2_TAKE(arena, double, 3 * problem->nodes);
  memcpy(now, lambda, rows);
  bilateral_miss(problem, now, v_now, x);
  double best = INFINITY;
  // lambda -= S^-1 (J v + C lambda + b), where v are exactly the velocities that the impulses give.
  for (int pass = 0; pass < CORRECTIONS; pass++) {
    s2_bilateral_apply(bilateral, x);
    for (int i = 0; i < problem->rows; i++) {
      now[i] -= x[i];
    }
    double residual = bilateral_miss(problem, now, v_now, x);
    s2_history_add(options->history, residual, 1, 0);
    if (!(residual < best)) {
      break;
    }
    memcpy(lambda, now, rows);
    memcpy(v, v_now, nodes);
    // Stop when the residual is only rounding, or when a correction gains too little.
    bool slow = residual > GAIN * best;
    best = residual;
    if (slow || best <= ROUNDING) {
      break;
    }
  }
  return best;
}

bool s2_bilateral_solve(const S2Problem *problem, const S2SolverOptions *options, S2Arena *arena,
                        S2Solution *solution) {
  S2ArenaMark mark = s2_arena_mark(arena);
  S2Bilateral bilateral;
  bool good =
      s2_bilateral_init(&bilateral, problem, arena) && s2_bilateral_factor(&bilateral, NULL);
  // Start the corrections from the guess. This saves no time, but keeps the digits that are already
  // correct.
  if (good) {
    double *lambda = S2_TAKE(arena, double, problem->rows);
    for (int i = 0; i < problem->rows; i++) { // a guess may contain any numbers
      lambda[i] = isfinite(solution->lambda[i]) ? solution->lambda[i] : 0;
    }
    double *v = S2_TAKE(arena, double, 3 * problem->nodes);
    good = bilateral_correct(&bilateral, problem, options, lambda, v, arena) <= options->tolerance;
    if (good) {
      memcpy(solution->lambda, lambda, sizeof(double) * (size_t)problem->rows);
      memcpy(solution->v, v, sizeof(double) * (size_t)(3 * problem->nodes));
      solution->residual = s2_mcp_residual(problem, solution->v, lambda, arena);
      solution->status = S2_SOLVED;
      solution->used = S2_SOLVER_LINEAR;
      solution->iterations = 1;
    }
  }
  // If the caller asks for the factorisation, keep it and its memory.
  if (good && options->keep != NULL) {
    *options->keep = bilateral;
    options->keep->problem = NULL;
    return true;
  }
  s2_arena_rewind(arena, mark);
  return good;
}
