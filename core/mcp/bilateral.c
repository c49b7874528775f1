#include "mcp/bilateral.h"

#include "mcp/schur.h"
#include "mcp/solvers.h"

#include <math.h>
#include <string.h>

// Pairs of groups on one node, per group: a chain has 1, a net 3, a hub of n joints n / 2. Beyond,
// the interior point's matrix, whose graph is that of the nodes, is the sparser one.
enum { PAIRS_MOST = 8 };

// Corrections with one factorisation: one does it but for rounding, the condition of a long chain
// (up to 1e12) takes another two. A correction that does not halve the residual met rounding.
enum { CORRECTIONS = 6 };
static const double GAIN = 0.5;
static const double ROUNDING = 1e-14; // a scaled residual this good is not improved further

typedef struct Link { // rows of a group on one node: block = J_node
  int32_t group;
  double j[3][3]; // row, column; rows that a group lacks are 0
} Link;

// ---- Assembly ---------------------------------------------------------------------------------

// Rows of one joint, between the same nodes, share a group: at most three.
static bool find_groups(S2Bilateral *bilateral, const S2Problem *problem, S2Arena *arena) {
  int groups = 0;
  bilateral->first = S2_TAKE(arena, int32_t, problem->rows + 1);
  for (int i = 0; i < problem->rows; i++) {
    const S2Row *row = &problem->row[i];
    if (!(row->coupled_to < 0 && row->lo == -INFINITY && row->hi == INFINITY)) {
      return false;
    }
    bool same = i > 0 && row[-1].group == row->group && row[-1].a == row->a && row[-1].b == row->b;
    if (!same || i - bilateral->first[groups - 1] == 3) {
      bilateral->first[groups++] = i;
    }
  }
  bilateral->first[groups] = problem->rows;
  bilateral->groups = groups;
  return groups > 0;
}

// The links by nodes: those of node i are link[start[i]] ..
static Link *find_links(const S2Bilateral *bilateral, const S2Problem *problem, int32_t *start,
                        S2Arena *arena) {
  Link *link = S2_TAKE(arena, Link, 2 * bilateral->groups);
  int32_t *next = S2_TAKE(arena, int32_t, problem->nodes + 1);
  memset(start, 0, sizeof(int32_t) * (size_t)(problem->nodes + 1));
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
    int rows = bilateral->first[g + 1] - bilateral->first[g];
    for (int side = 0; side < 2; side++) {
      int32_t node = side == 0 ? row->a : row->b;
      if (node >= 0) {
        Link *to = &link[next[node]++];
        *to = (Link){.group = g};
        for (int r = 0; r < rows; r++) {
          memcpy(to->j[r], side == 0 ? row[r].ja : row[r].jb, sizeof to->j[r]);
        }
      }
    }
  }
  return link;
}

// block = G W^-1 H'
S2_INLINE void couple(const Link *g, const Link *h, const double inverse[3], double block[9]) {
  for (int r = 0; r < 3; r++) {
    double x = g->j[r][0] * inverse[0], y = g->j[r][1] * inverse[1], z = g->j[r][2] * inverse[2];
    for (int c = 0; c < 3; c++) {
      block[3 * r + c] = x * h->j[c][0] + y * h->j[c][1] + z * h->j[c][2];
    }
  }
}

static void fill(S2Bilateral *bilateral, const S2Problem *problem, const int32_t *start,
                 const Link *link, const int32_t *slot) {
  S2BlockSparse *matrix = &bilateral->matrix;
  double block[9];
  s2_blocksparse_clear(matrix, false);
  for (int i = 0; i < problem->nodes; i++) {
    const double *mass = problem->mass + 3 * i;
    const double inverse[3] = {1 / mass[0], 1 / mass[1], 1 / mass[2]};
    for (int32_t p = start[i]; p < start[i + 1]; p++) {
      for (int32_t q = start[i]; q <= p; q++) {
        couple(&link[p], &link[q], inverse, block);
        s2_blocksparse_add(matrix, p == q ? -1 : *slot++, link[p].group, link[q].group, block);
      }
    }
  }
  for (int g = 0; g < bilateral->groups; g++) {
    int first = bilateral->first[g], rows = bilateral->first[g + 1] - first;
    S2Quad *diagonal = matrix->diagonal + 3 * matrix->place[g];
    for (int r = 0; r < 3; r++) {
      diagonal[r][r] += r < rows ? problem->row[first + r].compliance : 1;
    }
  }
}

// Elimination that leaves next to nothing of a row's diagonal met a row that repeats others.
static bool is_independent(const S2BlockSparse *matrix, const double *diagonal) {
  double least = s2_schur_redundant(false);
  for (int k = 0; k < matrix->nodes; k++) {
    for (int r = 0; r < 3; r++) {
      double pivot = 1 / matrix->inverse[3 * k + r][r];
      if (!(pivot > least * diagonal[3 * k + r])) {
        return false;
      }
    }
  }
  return true;
}

bool s2_bilateral_factor(S2Bilateral *bilateral, const S2Problem *problem, S2Arena *arena) {
  *bilateral = (S2Bilateral){0};
  if (problem->mobility != NULL || !find_groups(bilateral, problem, arena)) {
    return false;
  }
  int groups = bilateral->groups;
  int32_t *start = S2_TAKE(arena, int32_t, problem->nodes + 1);
  const Link *link = find_links(bilateral, problem, start, arena);
  int64_t pairs = 0;
  for (int i = 0; i < problem->nodes; i++) {
    int64_t links = start[i + 1] - start[i];
    pairs += links * (links - 1) / 2;
  }
  if (pairs > (int64_t)PAIRS_MOST * groups) {
    return false;
  }
  int32_t *edge = S2_TAKE(arena, int32_t, 2 * pairs), *slot = S2_TAKE(arena, int32_t, pairs);
  int edges = 0;
  for (int i = 0; i < problem->nodes; i++) {
    for (int32_t p = start[i]; p < start[i + 1]; p++) {
      for (int32_t q = start[i]; q < p; q++, edges++) {
        edge[2 * edges] = link[p].group;
        edge[2 * edges + 1] = link[q].group;
      }
    }
  }
  S2BlockSparse *matrix = &bilateral->matrix;
  s2_blocksparse_init(matrix, groups, edges, edge, slot, arena);
  matrix->careful = true;
  bilateral->x = S2_TAKE(arena, S2Quad, groups);
  fill(bilateral, problem, start, link, slot);
  double *diagonal = S2_TAKE(arena, double, 3 * groups);
  for (int k = 0; k < 3 * groups; k++) {
    diagonal[k] = matrix->diagonal[k][k % 3];
  }
  return s2_blocksparse_factor(matrix) && is_independent(matrix, diagonal);
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

// What the rows miss, into x; the velocities of the impulses into v.
static void miss(const S2Problem *problem, const double *lambda, double *v, double *x) {
  s2_mcp_velocity(problem, lambda, v);
  s2_mcp_row_velocity(problem, v, x);
  for (int i = 0; i < problem->rows; i++) {
    x[i] += problem->row[i].compliance * lambda[i] + problem->row[i].bias;
  }
}

// Correction after correction; the best point met goes to `lambda`.
static double correct(const S2Bilateral *bilateral, const S2Problem *problem,
                      const S2SolverOptions *options, double *lambda, S2Arena *arena) {
  size_t size = sizeof(double) * (size_t)problem->rows;
  double *x = S2_TAKE(arena, double, problem->rows), *now = S2_TAKE(arena, double, problem->rows);
  double *v = S2_TAKE(arena, double, 3 * problem->nodes);
  memcpy(now, lambda, size);
  miss(problem, now, v, x);
  double best = INFINITY;
  for (int pass = 0; pass < CORRECTIONS; pass++) {
    s2_bilateral_apply(bilateral, x);
    for (int i = 0; i < problem->rows; i++) {
      now[i] -= x[i];
    }
    miss(problem, now, v, x);
    double residual = s2_mcp_residual(problem, v, now, arena).scaled;
    s2_history_add(options->history, residual, 1, 0);
    if (!(residual < best)) {
      break;
    }
    memcpy(lambda, now, size);
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
  bool good = s2_bilateral_factor(&bilateral, problem, arena);
  if (good) {
    double *lambda = S2_TAKE(arena, double, problem->rows);
    for (int i = 0; i < problem->rows; i++) { // a guess may be anything
      lambda[i] = isfinite(solution->lambda[i]) ? solution->lambda[i] : 0;
    }
    good = correct(&bilateral, problem, options, lambda, arena) <= options->tolerance;
    if (good) {
      memcpy(solution->lambda, lambda, sizeof(double) * (size_t)problem->rows);
      s2_mcp_velocity(problem, lambda, solution->v);
      solution->residual = s2_mcp_residual(problem, solution->v, lambda, arena);
      solution->status = S2_SOLVED;
      solution->used = S2_SOLVER_LINEAR;
      solution->iterations = 1;
    }
  }
  s2_arena_rewind(arena, mark);
  return good;
}
