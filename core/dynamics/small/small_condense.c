// Eliminates the equations from the problem of a stage.
#include "dynamics/small/small_problem.h"

#include <string.h>

enum { ALL = S2_SMALL_ALL };

// Tolerance of all inequalities, as a fraction of V (active.c).
static const double SLACK = 1e-12;

// Lists the equations and the other rows with unknown impulses. Returns false if there are too
// many.
static bool small_list_rows(const S2SmallStage *stage, S2SmallProblem *to) {
  const S2Small *small = stage->small;
  to->equations = to->rows = to->units = 0;
  for (int r = 0; r < small->rows; r++) {
    if (stage->known[r]) {
      continue;
    }
    S2RattleLaw law = small->row[r].law;
    bool equation = law == S2_RATTLE_EQUATION, friction = law == S2_RATTLE_FRICTION;
    bool full = equation ? to->equations == S2_SMALL_EQUATIONS
                         : to->rows == S2_SMALL_SIDED || (!friction && to->units == S2_SMALL_UNITS);
    if (full) {
      return false;
    }
    // A friction row belongs to the contact of the preceding row.
    if (equation) {
      to->equation[to->equations++] = r;
      continue;
    }
    if (!friction) {
      Kind kind = law == S2_RATTLE_BOUNDED ? BOX : NORMAL;
      to->unit[to->units++] = (Unit){.kind = kind, .first = to->rows};
    } else {
      to->unit[to->units - 1].kind = CONTACT;
    }
    to->row[to->rows++] = r;
  }
  return true;
}

// The unknown rows in the order of elimination. Neighbouring rows between the same bodies are a
// block.
typedef struct Order {
  int rows, row[S2_SMALL_EQUATIONS + S2_SMALL_SIDED];
  int blocks, start[S2_SMALL_EQUATIONS + S2_SMALL_SIDED + 1];
  int a[S2_SMALL_EQUATIONS + S2_SMALL_SIDED], b[S2_SMALL_EQUATIONS + S2_SMALL_SIDED]; // per block
} Order;

static void small_order_rows(const S2Small *small, const S2SmallProblem *to, Order *order) {
  order->rows = to->equations + to->rows;
  order->blocks = 0;
  for (int i = 0; i < order->rows; i++) {
    int r = i < to->equations ? to->equation[i] : to->row[i - to->equations];
    int a = small->row[r].a, b = small->row[r].b, last = order->blocks - 1;
    order->row[i] = r;
    if (last < 0 || order->a[last] != a || order->b[last] != b) {
      order->a[order->blocks] = a;
      order->b[order->blocks] = b;
      order->start[order->blocks++] = i;
    }
  }
  order->start[order->blocks] = order->rows;
}

// The effects of a unit impulse of a row on its two bodies.
typedef struct Push {
  double a[3], b[3];
} Push;

static double small_times(const double j[3], const double push[3]) {
  return j[0] * push[0] + j[1] * push[1] + j[2] * push[2];
}

// Adds to the entries of a block of rows and a block of impulses the effects by one body. `on_a`
// and `by_a` are true if this body is the first one of the rows and of the impulses.
static void small_add_effects(const S2SmallStage *stage, S2SmallProblem *to, const Order *order,
                              const Push *push, int of, int by, bool on_a, bool by_a) {
  int first = order->start[by], count = order->start[by + 1] - first;
  for (int i = order->start[of]; i < order->start[of + 1]; i++) {
    const S2SmallSide *side = &stage->left[order->row[i]];
    const double *j = on_a ? side->a : side->b, turn = j[0], x = j[1], y = j[2];
    const double *p = by_a ? push[first].a : push[first].b;
    double *entry = to->s[i] + first;
    for (int k = 0; k < count; k++, p += sizeof(Push) / sizeof(double)) {
      entry[k] += turn * p[0] + x * p[1] + y * p[2];
    }
  }
}

static void small_fill_block(const S2SmallStage *stage, S2SmallProblem *to, const Order *order,
                             const Push *push, int of, int by) {
  int nodes = stage->small->nodes;
  int a = order->a[of], b = order->b[of], on_a = order->a[by], on_b = order->b[by];
  if (a < nodes && a == on_a) {
    small_add_effects(stage, to, order, push, of, by, true, true);
  }
  if (a < nodes && a == on_b) {
    small_add_effects(stage, to, order, push, of, by, true, false);
  }
  if (b < nodes && b == on_a) {
    small_add_effects(stage, to, order, push, of, by, false, true);
  }
  if (b < nodes && b == on_b) {
    small_add_effects(stage, to, order, push, of, by, false, false);
  }
}

// Fills the matrix. Returns false if a row has no mobility.
static bool small_fill(const S2SmallStage *stage, S2SmallProblem *to) {
  const S2Small *small = stage->small;
  Order order;
  small_order_rows(small, to, &order);
  Push push[ALL];
  bool moves = true;
  for (int i = 0; i < order.rows; i++) {
    int r = order.row[i];
    const S2SmallSide *side = &stage->side[r];
    const double *of_a = stage->inverse + 3 * small->row[r].a;
    const double *of_b = stage->inverse + 3 * small->row[r].b;
    for (int c = 0; c < 3; c++) {
      push[i].a[c] = side->a[c] * of_a[c];
      push[i].b[c] = side->b[c] * of_b[c];
    }
    double w = small_times(side->a, push[i].a) + small_times(side->b, push[i].b);
    to->w[r] = w + stage->compliance[r];
    to->root[r] = sqrt(to->w[r]);
    to->weight[r] = s2_small_turns(side) ? small->island->length : 1;
    if (stage->compliance[r] > 0) { // as s2_row_weight
      to->weight[r] *= w / to->w[r];
    }
    moves &= w > 0 && isfinite(to->w[r]);
    memset(to->s[i], 0, sizeof(double) * (size_t)order.rows);
  }
  for (int of = 0; of < order.blocks; of++) {
    for (int by = 0; by < order.blocks; by++) {
      small_fill_block(stage, to, &order, push, of, by);
    }
  }
  for (int i = 0; i < order.rows; i++) {
    to->s[i][i] += stage->compliance[order.row[i]];
  }
  return moves;
}

// Eliminates the equations. Returns false if they are nearly dependent.
static bool small_eliminate(S2SmallProblem *to) {
  int m = to->equations, all = m + to->rows;
  double diagonal[S2_SMALL_EQUATIONS];
  for (int c = 0; c < m; c++) {
    diagonal[c] = to->s[c][c];
  }
  for (int c = 0; c < m; c++) {
    const double *restrict pivot = to->s[c];
    if (!(pivot[c] > S2_SMALL_DEPENDENT * diagonal[c])) {
      return false;
    }
    double inverse = to->inverse[c] = 1 / pivot[c];
    for (int i = c + 1; i < all; i++) {
      double *restrict row = to->s[i];
      if (row[c] == 0) {
        continue;
      }
      double factor = row[c] *= inverse;
      for (int j = c + 1; j < all; j++) {
        row[j] -= factor * pivot[j];
      }
    }
  }
  return true;
}

bool s2_small_condense(S2SmallStage *stage, S2SmallProblem *to) {
  if (!small_list_rows(stage, to) || !small_fill(stage, to) || !small_eliminate(to)) {
    return false;
  }
  int n = to->rows, m = to->equations;
  double inverse[S2_SMALL_SIDED];
  for (int k = 0; k < n; k++) {
    int r = to->row[k];
    to->size[k] = to->root[r] * to->weight[r];
    inverse[k] = 1 / to->root[r];
    for (int c = 0; c < m; c++) {
      to->z[k][c] = to->s[c][m + k];
    }
  }
  // Scale the Schur complement and the bounds.
  for (int k = 0; k < n; k++) {
    for (int i = 0; i < n; i++) {
      to->g[k][i] = to->s[m + k][m + i] * (inverse[k] * inverse[i]);
    }
  }
  for (int i = 0; i < to->units; i++) {
    Unit *unit = &to->unit[i];
    int k = unit->first, r = to->row[k];
    unit->size[0] = to->size[k];
    unit->lo = stage->lo[r] * to->root[r];
    unit->hi = stage->hi[r] * to->root[r];
    if (unit->kind == CONTACT) {
      unit->size[1] = to->size[k + 1];
      unit->mu = stage->small->row[to->row[k + 1]].mu * to->root[to->row[k + 1]] / to->root[r];
    }
  }
  to->slack = fmin(SLACK, stage->small->tolerance) * stage->scale;
  return true;
}
