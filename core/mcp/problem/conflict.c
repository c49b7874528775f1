#include "mcp/problem/conflict.h"

#include "mcp/mixed/mixed.h"

#include <math.h>

// Compliance of hard rows in the quick proof, as a fraction of their Delassus diagonal. It leaves a
// relative error of about this size in the condition J' lambda = 0.
static const double SOFTENING = 1e-10;
// Smallest violation that counts, as a fraction of the largest bias. Smaller violations may be
// rounding errors.
static const double LEAST_GAIN = 1e-9;
// Largest permitted error in the equations of the proof, as a fraction of its gain. Only velocities
// that are larger than the required velocities by the inverse of this fraction could satisfy the
// rows in spite of the proof.
static const double LEAST_REACH = 1e-8;

// Returns true for hard rows. Friction rows, motors with a bounded force and compliant rows are not
// hard.
static bool is_hard(const S2Row *row) {
  return row->coupled_to < 0 && row->hi == INFINITY && !(row->compliance > 0);
}

static bool conflict_is_bilateral(const S2Row *row) {
  return row->lo == -INFINITY && row->hi == INFINITY;
}

static void conflict_fill_row(const S2Row *row, double *to) {
  for (int k = 0; k < 3; k++) {
    if (row->a != S2_GROUND) {
      to[3 * row->a + k] += row->ja[k];
    }
    if (row->b != S2_GROUND) {
      to[3 * row->b + k] += row->jb[k];
    }
  }
}

static double conflict_diagonal(const S2Problem *problem, const S2Row *row) {
  double sum = 0;
  for (int k = 0; k < 3; k++) {
    sum += row->a == S2_GROUND ? 0 : row->ja[k] * row->ja[k] / problem->mass[3 * row->a + k];
    sum += row->b == S2_GROUND ? 0 : row->jb[k] * row->jb[k] / problem->mass[3 * row->b + k];
  }
  return sum;
}

// Returns true if the multipliers of hard rows are a proof. Sizes are compared in units in which
// rows and masses have size 1.
static bool conflict_proves(const S2Problem *problem, const double *lambda, S2Arena *arena) {
  double *push = S2_TAKE_ZEROED(arena, double, 3 * problem->nodes);
  double largest = 0, bias = 0, gain = 0, miss = 0;
  // Compute gain = -b' lambda and push = J' lambda, and the sizes of lambda and b.
  for (int i = 0; i < problem->rows; i++) {
    const S2Row *row = &problem->row[i];
    if (!isfinite(lambda[i]) || (row->lo == 0 && lambda[i] < 0)) {
      return false;
    }
    double scale = sqrt(conflict_diagonal(problem, row));
    largest = fmax(largest, scale * fabs(lambda[i]));
    bias = scale > 0 ? fmax(bias, fabs(row->bias) / scale) : bias;
    gain -= row->bias * lambda[i];
    for (int k = 0; k < 3; k++) {
      if (row->a != S2_GROUND) {
        push[3 * row->a + k] += row->ja[k] * lambda[i];
      }
      if (row->b != S2_GROUND) {
        push[3 * row->b + k] += row->jb[k] * lambda[i];
      }
    }
  }
  // Farkas' lemma requires that b' lambda is clearly negative, and that J' lambda = 0 up to errors
  // that no reasonable velocity could outweigh.
  for (int i = 0; i < 3 * problem->nodes; i++) {
    miss = fmax(miss, fabs(push[i]) / sqrt(problem->mass[i]));
  }
  return gain >= LEAST_GAIN * largest * bias && gain > 0 && miss * bias <= LEAST_REACH * gain;
}

// With slightly compliant rows, the solution is a compromise whose impulses are proportional to the
// violations. In the limit of rigid rows these impulses are the proof by Farkas' lemma.
bool s2_mcp_conflict_by(S2SolverFn *solve, const S2Problem *problem, const S2SolverOptions *options,
                        double *proof, S2Arena *arena) {
  if (problem->mass == NULL) {
    return false;
  }
  S2SolverOptions plain = *options;
  plain.history = NULL;
  plain.keep = NULL;
  S2ArenaMark mark = s2_arena_mark(arena);
  // Copy the hard rows, each with the compliance SOFTENING times its Delassus diagonal.
  S2Row *row = S2_TAKE(arena, S2Row, problem->rows);
  // `impossible` is the index of a row whose required velocity no impulse can produce, or -1.
  int kept = 0, impossible = -1;
  for (int i = 0; i < problem->rows; i++) {
    if (is_hard(&problem->row[i])) {
      row[kept] = problem->row[i];
      row[kept].compliance = SOFTENING * conflict_diagonal(problem, &row[kept]);
      if (row[kept].compliance > 0) {
        kept++;
      } else { // the row requires b >= 0, or b = 0 if it is bilateral
        bool asks = conflict_is_bilateral(&row[kept]) ? row[kept].bias != 0 : row[kept].bias < 0;
        impossible = asks ? i : impossible;
      }
    }
  }
  bool proved = impossible >= 0;
  // Solve once. Impulses of rows that cannot all be satisfied grow like 1 / compliance.
  S2Problem soft = *problem;
  soft.row = row;
  soft.rows = kept;
  S2Solution solution = {.v = S2_TAKE_ZEROED(arena, double, 3 * problem->nodes),
                         .lambda = S2_TAKE_ZEROED(arena, double, kept)};
  if (!proved && kept > 0) {
    solve(&soft, &plain, arena, &solution);
    proved = conflict_proves(&soft, solution.lambda, arena);
  }
  // Copy the multipliers to their rows.
  for (int i = 0, k = 0; i < problem->rows && proved && proof != NULL; i++) {
    bool in = is_hard(&problem->row[i]) && conflict_diagonal(problem, &problem->row[i]) > 0;
    double against = problem->row[i].bias > 0 ? -1 : 1; // the sign that makes b' d negative
    proof[i] = i == impossible ? against : impossible < 0 && in ? solution.lambda[k] : 0;
    k += in;
  }
  s2_arena_rewind(arena, mark);
  return proved;
}

bool s2_mcp_conflict(const S2Problem *problem, double *proof, S2Arena *arena) {
  int free = 3 * problem->nodes, equations = 0, inequalities = 0;
  for (int i = 0; i < problem->rows; i++) {
    const S2Row *row = &problem->row[i];
    equations += is_hard(row) && conflict_is_bilateral(row);
    inequalities += is_hard(row) && !conflict_is_bilateral(row);
  }
  if (free + equations + inequalities > S2_CONFLICT_MAX) {
    return false;
  }
  // Write the hard rows as linear conditions on v: E v + a = 0 and D v + b >= 0.
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
    if (is_hard(row) && conflict_is_bilateral(row)) {
      conflict_fill_row(row, e + (size_t)equation * width);
      a[equation++] = row->bias;
    } else if (is_hard(row)) {
      conflict_fill_row(row, d + (size_t)inequality * width);
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
  // Copy the proof to the rows.
  bool proved = s2_conditions_conflict(&conditions, p, t, arena);
  equation = inequality = 0;
  for (int i = 0; i < problem->rows && proved && proof != NULL; i++) {
    const S2Row *row = &problem->row[i];
    proof[i] = !is_hard(row) ? 0 : conflict_is_bilateral(row) ? p[equation++] : t[inequality++];
  }
  s2_arena_rewind(arena, mark);
  return proved;
}
