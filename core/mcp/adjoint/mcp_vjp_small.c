// The adjoint of a small step problem with independent active rows, computed by elimination. E are
// the active rows, where a sliding contact has the row Jn + sigma mu Jt. N are the same rows
// without the friction part:
//
//     (E W^-1 N' + C) eta = -(dl/dlambda_E + E W^-1 dl/dv),    p = W^-1 (dl/dv + N' eta)
//
// (mcp_vjp.c defines p and eta.) A ball on the floor takes a microsecond, a tenth of the setup time
// of the general method. The general method is used for rows that are exactly or nearly linearly
// dependent, and for contacts that may be on an edge.
#include "mcp/adjoint/mcp_vjp_stages.h"
#include "mcp/solvers.h"

#include <math.h>
#include <string.h>

// Largest number of active rows. For more rows, elimination is slower than the general method.
enum { MOST = 24 };

typedef struct Held { // an active row
  int row, friction;  // friction row if the contact slides, else -1
  double slope;       // sigma mu of the friction row
  double scale;       // 1/sqrt of the row's Delassus diagonal
  S2Row along;        // Jacobian of the row of E
} Held;

typedef struct Small {
  const S2Problem *problem;
  const double *v, *lambda;
  int count;
  unsigned flags;
  Held held[MOST];
  signed char bound[MOST * 4]; // per row: -1 or 1 for a boxed row at a bound, else 0
  double sign[MOST * 4];       // per row: sigma of a sliding friction row
} Small;

static double velocity_of(const S2Row *row, const double *v) {
  double u = 0;
  for (int c = 0; c < 3; c++) {
    u += row->a >= 0 ? row->ja[c] * v[3 * row->a + c] : 0;
    u += row->b >= 0 ? row->jb[c] * v[3 * row->b + c] : 0;
  }
  return u;
}

static bool vjp_small_hold(Small *s, int row, double w) {
  if (s->count == MOST) {
    return false;
  }
  s->held[s->count++] =
      (Held){.row = row, .friction = -1, .scale = 1 / sqrt(w), .along = s->problem->row[row]};
  return true;
}

static double vjp_small_diagonal(const Small *s, int row) {
  const S2Row *of = &s->problem->row[row];
  double w = s2_mcp_delassus(s->problem, of, of) + of->compliance;
  return w > 0 ? w : 1;
}

// Returns lambda - u, both scaled, which is positive if the row is active.
static double vjp_small_lead(Small *s, int row, double w) {
  const S2Row *of = &s->problem->row[row];
  double u = velocity_of(of, s->v) + of->compliance * s->lambda[row] + of->bias;
  double x = (s->lambda[row] * w - u) / s->problem->velocity_scale;
  // If a number is not finite, the general method decides.
  s->flags |= isfinite(x) ? 0 : S2_VJP_SINGULAR;
  return x;
}

static bool vjp_small_read_box(Small *s, int row) {
  const S2Row *of = &s->problem->row[row];
  double w = vjp_small_diagonal(s, row), x = vjp_small_lead(s, row, w),
         scale = w / s->problem->velocity_scale;
  bool edge = fabs(x - of->lo * scale) <= S2_VJP_EDGE || fabs(x - of->hi * scale) <= S2_VJP_EDGE;
  s->bound[row] = x > of->hi * scale ? 1 : x < of->lo * scale ? -1 : 0;
  return !edge && (s->bound[row] != 0 || vjp_small_hold(s, row, w));
}

// Reads a contact with its friction row, if it has one. sigma has the same sign as in
// s2_mcp_linearise.
static bool read_contact(Small *s, int row, bool rough) {
  const S2Row *friction = &s->problem->row[row + 1];
  double w = vjp_small_diagonal(s, row), x = vjp_small_lead(s, row, w);
  // Stop if the contact clearly separates, or if it is too close to the edge for this method.
  if (!(x > S2_VJP_EDGE)) {
    return x < -S2_VJP_EDGE;
  }
  if (!vjp_small_hold(s, row, w) || !rough) {
    return s->held[s->count - 1].row == row;
  }
  // If the contact sticks, its friction is a separate row. If it slides, its friction follows the
  // normal impulse.
  double w_t = vjp_small_diagonal(s, row + 1);
  if (friction->mu > 0) {
    double y = vjp_small_lead(s, row + 1, w_t), bound = friction->mu * w_t / w * x;
    if (fabs(y) <= bound + S2_VJP_EDGE) {
      return fabs(y) < bound - S2_VJP_EDGE && vjp_small_hold(s, row + 1, w_t);
    }
    s->sign[row + 1] = y > 0 ? 1 : -1;
  } else {
    double slip = (velocity_of(friction, s->v) + friction->bias) / s->problem->velocity_scale;
    bool slow = fabs(slip) <= S2_VJP_EDGE;
    s->flags |= slow ? S2_VJP_WEAK : 0;
    s->sign[row + 1] = slow ? 0 : slip > 0 ? -1 : 1;
  }
  // Jn + sigma mu Jt
  Held *held = &s->held[s->count - 1];
  held->friction = row + 1;
  held->slope = s->sign[row + 1] * friction->mu;
  for (int c = 0; c < 3; c++) {
    held->along.ja[c] += held->slope * friction->ja[c];
    held->along.jb[c] += held->slope * friction->jb[c];
  }
  return true;
}

// Finds the active rows. Returns false if there are too many, or if the modes are not clear.
static bool vjp_small_read(Small *s) {
  const S2Problem *problem = s->problem;
  for (int r = 0; r < problem->rows; r++) {
    const S2Row *row = &problem->row[r];
    if (row->lo == -INFINITY) {
      if (!vjp_small_hold(s, r, vjp_small_diagonal(s, r))) {
        return false;
      }
    } else if (isfinite(row->hi)) {
      if (!vjp_small_read_box(s, r)) {
        return false;
      }
    } else {
      bool rough = r + 1 < problem->rows && problem->row[r + 1].coupled_to == r;
      if (!read_contact(s, r, rough)) {
        return false;
      }
      r += rough;
    }
  }
  // Some rows are linearly dependent if there are more rigid rows than velocities of nodes.
  int rigid = 0;
  for (int i = 0; i < s->count; i++) {
    rigid += problem->row[s->held[i].row].compliance == 0;
  }
  return rigid <= 3 * problem->nodes && (s->flags & S2_VJP_SINGULAR) == 0;
}

// Solves a x = b by elimination with row pivots. x replaces b. Returns false if the rows are not
// independent.
static bool vjp_small_eliminate(int n, double a[MOST * MOST], double *b) {
  // Rows are exchanged by swapping pointers.
  double *row[MOST];
  for (int k = 0; k < MOST; k++) {
    row[k] = a + (size_t)k * MOST;
  }
  for (int k = 0; k < n; k++) {
    int pivot = k;
    for (int i = k + 1; i < n; i++) {
      pivot = fabs(row[i][k]) > fabs(row[pivot][k]) ? i : pivot;
    }
    if (!(fabs(row[pivot][k]) > S2_VJP_INDEPENDENT)) {
      return false;
    }
    // Find the largest entry of the column. If it is too small, the rows are not independent.
    double *chosen = row[pivot], kept = b[pivot];
    row[pivot] = row[k];
    row[k] = chosen;
    b[pivot] = b[k];
    b[k] = kept;
    // Eliminate below the pivot, including the right side.
    for (int i = k + 1; i < n; i++) {
      double factor = row[i][k] / chosen[k];
      if (factor != 0) {
        for (int j = k + 1; j < n; j++) {
          row[i][j] -= factor * chosen[j];
        }
        b[i] -= factor * b[k];
      }
    }
  }
  // Back substitution.
  for (int k = n - 1; k >= 0; k--) {
    for (int j = k + 1; j < n; j++) {
      b[k] -= row[k][j] * b[j];
    }
    b[k] /= row[k][k];
  }
  return true;
}

static bool vjp_small_meet(const S2Row *x, const S2Row *y) {
  return (x->a >= 0 && (x->a == y->a || x->a == y->b)) ||
         (x->b >= 0 && (x->b == y->a || x->b == y->b));
}

// Computes p (3 per node) and eta (1 per active row).
static bool vjp_small_solve(const Small *s, const double *dl_dv, const double *dl_dlambda,
                            double *p, double *eta) {
  const S2Problem *problem = s->problem;
  double a[MOST * MOST];
  // p = W^-1 dl/dv
  for (int i = 0; i < 3 * problem->nodes; i++) {
    p[i] = (dl_dv != NULL ? dl_dv[i] : 0) / problem->mass[i];
  }
  // Set up E W^-1 N' + C, scaled, and the right side -(dl/dlambda_E + E p).
  for (int i = 0; i < s->count; i++) {
    const Held *of = &s->held[i];
    for (int j = 0; j < s->count; j++) {
      const S2Row *normal = &problem->row[s->held[j].row];
      double w =
          vjp_small_meet(&of->along, normal) ? s2_mcp_delassus(problem, &of->along, normal) : 0;
      a[i * MOST + j] = (i == j ? w + normal->compliance : w) * of->scale * s->held[j].scale;
    }
    double pull = velocity_of(&of->along, p);
    if (dl_dlambda != NULL) {
      pull += dl_dlambda[of->row] + (of->friction >= 0 ? of->slope * dl_dlambda[of->friction] : 0);
    }
    eta[i] = -pull * of->scale;
  }
  if (!vjp_small_eliminate(s->count, a, eta)) {
    return false;
  }
  // p += W^-1 N' eta
  for (int i = 0; i < s->count; i++) {
    const S2Row *row = &problem->row[s->held[i].row];
    eta[i] *= s->held[i].scale;
    for (int c = 0; c < 3; c++) {
      if (row->a >= 0) {
        p[3 * row->a + c] += row->ja[c] * eta[i] / problem->mass[3 * row->a + c];
      }
      if (row->b >= 0) {
        p[3 * row->b + c] += row->jb[c] * eta[i] / problem->mass[3 * row->b + c];
      }
    }
  }
  return true;
}

// Solves rows of joints that are nearly dependent only because of the masses. Contacts that share a
// load because of their masses are left to the general method, which flags such results.
static bool vjp_small_solve_exact(const Small *s, const double *dl_dv, const double *dl_dlambda,
                                  double *p, double *eta, S2Arena *arena) {
  const S2Row *rows[MOST];
  double pull[MOST];
  for (int i = 0; i < s->count; i++) {
    const S2Row *row = &s->problem->row[s->held[i].row];
    if (row->coupled_to >= 0 || (row->lo != -INFINITY && row->hi == INFINITY)) {
      return false;
    }
    rows[i] = row;
    pull[i] = dl_dlambda != NULL ? dl_dlambda[s->held[i].row] : 0;
  }
  S2VjpHeld held = {s->problem, s->count, rows, dl_dv, pull};
  return s2_vjp_exact_solve(&held, p, eta, arena);
}

static void vjp_small_write_row(const Small *s, int r, double eta, const double *p,
                                const double *dl_dlambda, const S2McpGradient *to) {
  const S2Row *row = &s->problem->row[r];
  s2_vjp_write_products(s->problem, r, p, s->v, eta, s->lambda[r], to);
  // dl/dmu = sigma lambda_n (dl/dlambda_t + Jt p). For a boxed row whose impulse is at a bound,
  // `along` is the derivative with respect to this bound.
  double along = (dl_dlambda != NULL ? dl_dlambda[r] : 0) + velocity_of(row, p);
  double values[4] = {s->sign[r] != 0 ? s->sign[r] * s->lambda[row->coupled_to] * along : 0,
                      s->bound[r] < 0 ? along : 0, s->bound[r] > 0 ? along : 0, 0};
  double *const fields[4] = {to->mu, to->lo, to->hi, to->w};
  for (int k = 0; k < 4; k++) {
    if (fields[k] != NULL) {
      fields[k][r] = values[k];
    }
  }
}

bool s2_mcp_vjp_small(const S2Problem *problem, const double *v, const double *lambda,
                      const double *dl_dv, const double *dl_dlambda, const S2McpGradient *gradient,
                      S2Arena *arena, unsigned *flags) {
  bool tried = problem->mobility == NULL && problem->rows <= MOST * 4 &&
               s2_all_finite(problem->mass, 3 * (size_t)problem->nodes) &&
               s2_all_finite(v, 3 * (size_t)problem->nodes) &&
               s2_all_finite(lambda, (size_t)problem->rows) &&
               (dl_dv == NULL || s2_all_finite(dl_dv, 3 * (size_t)problem->nodes)) &&
               (dl_dlambda == NULL || s2_all_finite(dl_dlambda, (size_t)problem->rows));
  if (!tried) {
    return false;
  }
  S2ArenaMark mark = s2_arena_mark(arena);
  // Do not zero the whole structure, because its arrays are larger than most problems need.
  Small s;
  s.problem = problem;
  s.v = v;
  s.lambda = lambda;
  s.count = 0;
  s.flags = 0;
  memset(s.bound, 0, (size_t)problem->rows);
  memset(s.sign, 0, sizeof(double) * (size_t)problem->rows);
  double *p = S2_TAKE(arena, double, 3 * problem->nodes), held[MOST], eta[MOST * 4];
  // Find the active rows, then solve their equations.
  bool solved = vjp_small_read(&s) &&
                (vjp_small_solve(&s, dl_dv, dl_dlambda, p, held) ||
                 vjp_small_solve_exact(&s, dl_dv, dl_dlambda, p, held, arena)) &&
                s2_all_finite(p, 3 * (size_t)problem->nodes) &&
                s2_all_finite(held, (size_t)s.count);
  if (solved) {
    // Compute eta of all rows, then the products given in mcp_vjp.c.
    memset(eta, 0, sizeof(double) * (size_t)problem->rows);
    for (int i = 0; i < s.count; i++) {
      eta[s.held[i].row] = held[i];
    }
    s2_vjp_write_bodies(problem, p, v, gradient);
    for (int r = 0; r < problem->rows; r++) {
      vjp_small_write_row(&s, r, eta[r], p, dl_dlambda, gradient);
    }
    *flags = s.flags;
  }
  s2_arena_rewind(arena, mark);
  return solved;
}
