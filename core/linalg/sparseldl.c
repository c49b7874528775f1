#include "linalg/sparseldl.h"

#include "linalg/order.h"

#include <math.h>
#include <string.h>

// ---- Pattern ----------------------------------------------------------------------------------

// Sorts the rows of each column and removes duplicates. `at` maps entries from their position in
// the unsorted list to their position in the result. Returns the number of entries that remain.
static int ldl_compress(int n, int32_t *start, int32_t *row, int count, int32_t *at,
                        S2Arena *arena) {
  S2ArenaMark mark = s2_arena_mark(arena);
  // Two stable counting sorts, by row and then by column, sort the entries.
  int32_t *column = S2_TAKE(arena, int32_t, count + 1),
          *by_row = S2_TAKE(arena, int32_t, count + 1);
  int32_t *next = S2_TAKE_ZEROED(arena, int32_t, n + 2), *copy = S2_TAKE(arena, int32_t, count + 1);
  for (int j = 0; j < n; j++) {
    for (int p = start[j]; p < start[j + 1]; p++) {
      column[p] = j;
    }
  }
  for (int p = 0; p < count; p++) {
    next[row[p] + 1]++;
  }
  for (int i = 0; i < n; i++) {
    next[i + 1] += next[i];
  }
  for (int p = 0; p < count; p++) {
    by_row[next[row[p]]++] = p;
  }
  memcpy(next, start, sizeof *next * (size_t)(n + 1));
  memcpy(copy, row, sizeof *copy * (size_t)count);
  int32_t *sorted = S2_TAKE(arena, int32_t, count + 1);
  for (int k = 0; k < count; k++) {
    sorted[next[column[by_row[k]]]++] = by_row[k];
  }
  int kept = 0, from = 0;
  for (int j = 0; j < n; j++) {
    int end = start[j + 1], first = kept;
    start[j] = first;
    for (; from < end; from++) {
      int p = sorted[from];
      if (kept == first || row[kept - 1] != copy[p]) {
        row[kept++] = copy[p];
      }
      at[p] = kept - 1;
    }
  }
  start[n] = kept;
  s2_arena_rewind(arena, mark);
  return kept;
}

// Finds the elimination order from the entries off the diagonal.
static void ldl_order(S2SparseLdl *matrix, int entries, const int32_t *entry, S2Arena *arena) {
  int n = matrix->n, count = 0;
  matrix->order = S2_TAKE(arena, int32_t, n + 1);
  matrix->place = S2_TAKE(arena, int32_t, n + 1);
  S2ArenaMark mark = s2_arena_mark(arena);
  int32_t *start = S2_TAKE_ZEROED(arena, int32_t, n + 2);
  int32_t *neighbour = S2_TAKE(arena, int32_t, 2 * entries + 1);
  int32_t *unused = S2_TAKE(arena, int32_t, 2 * entries + 1);
  for (int e = 0; e < entries; e++) {
    if (entry[2 * e] != entry[2 * e + 1]) {
      start[entry[2 * e] + 1]++;
      start[entry[2 * e + 1] + 1]++;
      count += 2;
    }
  }
  for (int i = 0; i < n; i++) {
    start[i + 1] += start[i];
  }
  // Each edge is listed at both ends.
  int32_t *next = S2_TAKE(arena, int32_t, n + 1);
  memcpy(next, start, sizeof *next * (size_t)(n + 1));
  for (int e = 0; e < entries; e++) {
    int32_t i = entry[2 * e], j = entry[2 * e + 1];
    if (i != j) {
      neighbour[next[i]++] = j;
      neighbour[next[j]++] = i;
    }
  }
  ldl_compress(n, start, neighbour, count, unused, arena);
  s2_order_minimum_degree(n, start, neighbour, matrix->order, arena);
  s2_arena_rewind(arena, mark);
  for (int k = 0; k < n; k++) {
    matrix->place[matrix->order[k]] = k;
  }
}

// Stores the lower triangle of the reordered matrix by columns.
static void ldl_columns(S2SparseLdl *matrix, int entries, const int32_t *entry, int32_t *slot,
                        S2Arena *arena) {
  int n = matrix->n, all = entries + n;
  matrix->start = S2_TAKE_ZEROED(arena, int32_t, n + 2);
  matrix->row = S2_TAKE(arena, int32_t, all + 1);
  S2ArenaMark mark = s2_arena_mark(arena);
  int32_t *next = S2_TAKE(arena, int32_t, n + 1), *at = S2_TAKE(arena, int32_t, all + 1);
  int32_t *unsorted = S2_TAKE(arena, int32_t, entries + 1);
  for (int j = 0; j < n; j++) {
    matrix->start[j + 1] = 1; // the diagonal
  }
  for (int e = 0; e < entries; e++) {
    int a = matrix->place[entry[2 * e]], b = matrix->place[entry[2 * e + 1]];
    matrix->start[(a < b ? a : b) + 1]++;
  }
  for (int j = 0; j < n; j++) {
    matrix->start[j + 1] += matrix->start[j];
    next[j] = matrix->start[j];
    matrix->row[next[j]++] = j;
  }
  for (int e = 0; e < entries; e++) {
    int a = matrix->place[entry[2 * e]], b = matrix->place[entry[2 * e + 1]];
    unsorted[e] = next[a < b ? a : b]++;
    matrix->row[unsorted[e]] = a < b ? b : a;
  }
  matrix->entries = ldl_compress(n, matrix->start, matrix->row, all, at, arena);
  for (int e = 0; e < entries; e++) {
    slot[e] = at[unsorted[e]];
  }
  s2_arena_rewind(arena, mark);
  matrix->value = S2_TAKE_ZEROED(arena, double, matrix->entries + 1);
  matrix->index = S2_TAKE(arena, int32_t, matrix->entries + 1);
  for (int p = 0; p < matrix->entries; p++) {
    matrix->index[p] = matrix->order[matrix->row[p]];
  }
}

// Finds the pattern of L by rows, from the elimination tree: row i contains the paths in the tree
// from the entries of row i of the matrix up to i. With `rows` NULL only counts.
static int ldl_rows(const S2SparseLdl *matrix, int32_t *parent, int32_t *mark, const int32_t *start,
                    const int32_t *column, int32_t *r_start, int32_t *rows) {
  int count = 0;
  for (int i = 0; i < matrix->n; i++) {
    r_start[i] = count;
    mark[i] = i;
    if (rows == NULL) {
      parent[i] = -1;
    }
    for (int p = start[i]; p < start[i + 1]; p++) {
      for (int k = column[p]; mark[k] != i; k = parent[k]) {
        if (rows == NULL && parent[k] < 0) {
          parent[k] = i;
        }
        if (rows != NULL) {
          rows[count] = k;
        }
        mark[k] = i;
        count++;
      }
    }
  }
  r_start[matrix->n] = count;
  return count;
}

static void ldl_pattern(S2SparseLdl *matrix, S2Arena *arena) {
  int n = matrix->n;
  matrix->r_start = S2_TAKE(arena, int32_t, n + 1);
  matrix->l_start = S2_TAKE_ZEROED(arena, int32_t, n + 2);
  int32_t *start = S2_TAKE_ZEROED(arena, int32_t, n + 2); // the matrix by rows
  int32_t *column = S2_TAKE(arena, int32_t, matrix->entries + 1);
  int32_t *parent = S2_TAKE(arena, int32_t, n + 1), *mark = S2_TAKE(arena, int32_t, n + 1);
  int32_t *next = S2_TAKE(arena, int32_t, n + 1);
  for (int j = 0; j < n; j++) {
    for (int p = matrix->start[j] + 1; p < matrix->start[j + 1]; p++) {
      start[matrix->row[p] + 1]++;
    }
  }
  for (int i = 0; i < n; i++) {
    start[i + 1] += start[i];
    next[i] = start[i];
  }
  for (int j = 0; j < n; j++) {
    for (int p = matrix->start[j] + 1; p < matrix->start[j + 1]; p++) {
      column[next[matrix->row[p]]++] = j;
    }
  }
  matrix->fill = ldl_rows(matrix, parent, mark, start, column, matrix->r_start, NULL);
  matrix->r_column = S2_TAKE(arena, int32_t, matrix->fill + 1);
  matrix->r_at = S2_TAKE(arena, int32_t, matrix->fill + 1);
  matrix->l_row = S2_TAKE(arena, int32_t, matrix->fill + 1);
  ldl_rows(matrix, parent, mark, start, column, matrix->r_start, matrix->r_column);

  // Rows in ascending order fill the columns in ascending order.
  for (int p = 0; p < matrix->fill; p++) {
    matrix->l_start[matrix->r_column[p] + 1]++;
  }
  for (int j = 0; j < n; j++) {
    matrix->l_start[j + 1] += matrix->l_start[j];
    next[j] = matrix->l_start[j];
  }
  for (int i = 0; i < n; i++) {
    for (int p = matrix->r_start[i]; p < matrix->r_start[i + 1]; p++) {
      matrix->r_at[p] = next[matrix->r_column[p]]++;
      matrix->l_row[matrix->r_at[p]] = i;
    }
  }
  // The columns of a row ascend, too, so that updates are summed in a fixed order.
  memcpy(next, matrix->r_start, sizeof *next * (size_t)n);
  for (int j = 0; j < n; j++) {
    for (int p = matrix->l_start[j]; p < matrix->l_start[j + 1]; p++) {
      int q = next[matrix->l_row[p]]++;
      matrix->r_column[q] = j;
      matrix->r_at[q] = p;
    }
  }
}

void s2_sparseldl_init(S2SparseLdl *matrix, int n, int entries, const int32_t *entry, int32_t *slot,
                       S2Arena *arena) {
  *matrix = (S2SparseLdl){.n = n};
  ldl_order(matrix, entries, entry, arena);
  ldl_columns(matrix, entries, entry, slot, arena);
  ldl_pattern(matrix, arena);
  matrix->l = S2_TAKE(arena, double, matrix->fill + 1);
  matrix->pivot = S2_TAKE(arena, double, n + 1);
  matrix->extends = S2_TAKE_ZEROED(arena, bool, n + 1);
  matrix->work = S2_TAKE_ZEROED(arena, double, 2 * n + 1);
  matrix->inverse = S2_TAKE(arena, double, n + 1);
  for (int j = 0; j < n; j++) {
    int length = matrix->l_start[j + 1] - matrix->l_start[j];
    // The rows of a column, without its first row j + 1, are rows of column j + 1. So the rows are
    // equal if their numbers are.
    matrix->extends[j] = j + 1 < n && length > 0 && matrix->l_row[matrix->l_start[j]] == j + 1 &&
                         matrix->l_start[j + 2] - matrix->l_start[j + 1] == length - 1;
  }
}

// ---- Numbers ----------------------------------------------------------------------------------

// Subtracts the update of column k, below and including its entry `at`, from the column in `work`.
static void ldl_update(const S2SparseLdl *matrix, int k, int at, double *restrict work) {
  const int32_t *restrict row = matrix->l_row;
  const double *restrict l = matrix->l;
  double factor = l[at] * matrix->pivot[k];
  for (int p = at, end = matrix->l_start[k + 1]; p < end; p++) {
    work[row[p]] -= factor * l[p];
  }
}

// The same for columns k and k + 1 with equal rows.
static void ldl_update_two(const S2SparseLdl *matrix, int k, int at, int next,
                           double *restrict work) {
  const int32_t *restrict row = matrix->l_row + at;
  const double *restrict a = matrix->l + at, *restrict b = matrix->l + next;
  double fa = a[0] * matrix->pivot[k], fb = b[0] * matrix->pivot[k + 1];
  for (int p = 0, count = matrix->l_start[k + 1] - at; p < count; p++) {
    work[row[p]] -= fa * a[p] + fb * b[p];
  }
}

bool s2_sparseldl_factor(S2SparseLdl *matrix, const bool *positive) {
  double *work = matrix->work;
  for (int j = 0; j < matrix->n; j++) {
    int first = matrix->l_start[j], end = matrix->l_start[j + 1];
    work[j] = matrix->value[matrix->start[j]];
    for (int p = matrix->start[j] + 1; p < matrix->start[j + 1]; p++) {
      work[matrix->row[p]] = matrix->value[p];
    }
    // Subtract the updates of the columns in row j, two at a time if their rows are equal.
    for (int p = matrix->r_start[j], last = matrix->r_start[j + 1]; p < last; p++) {
      int k = matrix->r_column[p];
      if (p + 1 < last && matrix->extends[k] && matrix->r_column[p + 1] == k + 1) {
        ldl_update_two(matrix, k, matrix->r_at[p], matrix->r_at[p + 1], work);
        p++;
      } else {
        ldl_update(matrix, k, matrix->r_at[p], work);
      }
    }
    double pivot = work[j];
    bool good = isfinite(pivot) && (positive[matrix->order[j]] ? pivot > 0 : pivot < 0);
    double scale = 1 / pivot;
    matrix->pivot[j] = pivot;
    matrix->inverse[j] = scale;
    work[j] = 0;
    for (int p = first; p < end; p++) {
      matrix->l[p] = work[matrix->l_row[p]] * scale;
      work[matrix->l_row[p]] = 0;
    }
    if (!good) {
      return false;
    }
  }
  return true;
}

void s2_sparseldl_solve(S2SparseLdl *matrix, const double *b, double *x) {
  int n = matrix->n;
  double *y = matrix->work + n;
  for (int k = 0; k < n; k++) {
    y[k] = b[matrix->order[k]];
  }
  for (int k = 0; k < n; k++) {
    double yk = y[k];
    for (int p = matrix->l_start[k], last = matrix->l_start[k + 1]; p < last; p++) {
      y[matrix->l_row[p]] -= matrix->l[p] * yk;
    }
  }
  for (int k = n - 1; k >= 0; k--) {
    double yk = y[k] * matrix->inverse[k];
    for (int p = matrix->l_start[k]; p < matrix->l_start[k + 1]; p++) {
      yk -= matrix->l[p] * y[matrix->l_row[p]];
    }
    y[k] = yk;
  }
  for (int k = 0; k < n; k++) {
    x[matrix->order[k]] = y[k];
  }
}

double s2_sparseldl_residual(const S2SparseLdl *matrix, const double *b, const double *x,
                             double *residual) {
  int n = matrix->n;
  double most = 0;
  memcpy(residual, b, sizeof *residual * (size_t)n);
  for (int j = 0; j < n; j++) {
    int column = matrix->order[j], p = matrix->start[j];
    double sum = matrix->value[p] * x[column];
    for (p++; p < matrix->start[j + 1]; p++) {
      int row = matrix->index[p];
      residual[row] -= matrix->value[p] * x[column];
      sum += matrix->value[p] * x[row];
    }
    residual[column] -= sum;
  }
  for (int i = 0; i < n; i++) {
    most = fabs(residual[i]) > most ? fabs(residual[i]) : most;
  }
  return most;
}
