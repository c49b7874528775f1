#include "mcp/conflict.h"

#include "mcp/mlcp_stages.h"

#include <math.h>

static bool is_hard(const S2Row *row) {
  return row->coupled_to < 0 && !(row->compliance > 0);
}

static bool is_bilateral(const S2Row *row) {
  return row->lo == -INFINITY && row->hi == INFINITY;
}

static void fill_row(const S2Row *row, double *to) {
  for (int k = 0; k < 3; k++) {
    if (row->a != S2_GROUND) {
      to[3 * row->a + k] += row->ja[k];
    }
    if (row->b != S2_GROUND) {
      to[3 * row->b + k] += row->jb[k];
    }
  }
}

bool s2_mcp_conflict(const S2Problem *problem, S2Arena *arena) {
  int free = 3 * problem->nodes, equations = 0, inequalities = 0;
  for (int i = 0; i < problem->rows; i++) {
    const S2Row *row = &problem->row[i];
    equations += is_hard(row) && is_bilateral(row);
    inequalities += is_hard(row) && !is_bilateral(row);
  }
  if (free + equations + inequalities > S2_CONFLICT_MAX) {
    return false;
  }
  S2ArenaMark mark = s2_arena_mark(arena);
  size_t width = (size_t)free;
  double *e = S2_TAKE_ZEROED(arena, double, (size_t)equations *width + 1);
  double *d = S2_TAKE_ZEROED(arena, double, (size_t)inequalities *width + 1);
  double *a = S2_TAKE(arena, double, equations + 1);
  double *b = S2_TAKE(arena, double, inequalities + 1);
  double *p = S2_TAKE(arena, double, equations + 1);
  double *t = S2_TAKE(arena, double, inequalities + 1);
  int equation = 0, inequality = 0;
  for (int i = 0; i < problem->rows; i++) {
    const S2Row *row = &problem->row[i];
    if (is_hard(row) && is_bilateral(row)) {
      fill_row(row, e + (size_t)equation * width);
      a[equation++] = row->bias;
    } else if (is_hard(row)) {
      fill_row(row, d + (size_t)inequality * width);
      b[inequality++] = row->bias;
    }
  }
  S2Conditions conditions = {
      .free = free,
      .equations = equations,
      .inequalities = inequalities,
      .e = e,
      .d = d,
      .e_constant = a,
      .d_constant = b,
  };
  bool proved = s2_conditions_conflict(&conditions, p, t, arena);
  s2_arena_rewind(arena, mark);
  return proved;
}
