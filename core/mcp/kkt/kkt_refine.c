// Iterative refinement with regularised rows, repeated until the original system is solved. This is
// the proximal method on the rows. For redundant rows it converges to the impulses nearest to the
// start. Each pass multiplies the error of a row with stiffness s by delta / (s + delta). For rows
// that are too soft for this, GMRES (Saad and Schultz 1986; flexible: Saad 1993) takes over, with
// the same factorisation as the preconditioner. Such rows are few, and GMRES needs about one step
// for each of them.
#include "linalg/numbers.h"
#include "mcp/kkt/kkt_stages.h"

#include <math.h>
#include <string.h>

// Values of delta. Scaled rows have a length of about 1. With a large delta the factorisation is
// accurate: its error is 1e-16 / delta. With a small delta few passes are needed. If light bodies
// connect heavy bodies, the stiffness s is as small as the mass ratio.
static const double DELTAS[] = {1e-7, 1e-5, 1e-9, 1e-11};
enum { COUNT = sizeof DELTAS / sizeof *DELTAS };

// Stop if a pass leaves more than this fraction of the residual.
static const double GAIN = 0.3;

enum {
  BASIS = 20, // GMRES vectors before a restart
  CYCLES = 4, // GMRES cycles per factorisation
  WITNESS_STEPS = 3,
};

// Stop if a cycle leaves more than this fraction of the residual.
static const double CYCLE_GAIN = 0.5;

typedef struct Refinement {
  S2KktRun *run;
  const S2KktDirect *direct;
  double *x; // current point: n velocities, then m multipliers
  double *basis[BASIS + 1], *step[BASIS];
  double h[BASIS][BASIS + 1]; // h[k] is column k of the Hessenberg matrix, and later of R
  double cosine[BASIS], sine[BASIS], g[BASIS + 1];
} Refinement;

static bool may_go_on(const S2KktRun *run) {
  return !s2_kkt_done(run) && run->iterations < run->max_iterations;
}

static double kkt_refine_offer(Refinement *r) {
  return s2_kkt_offer(r->run, r->x, r->x + r->run->kkt->n);
}

static void back_to_best(Refinement *r) {
  const S2KktScaled *kkt = r->run->kkt;
  memcpy(r->x, r->run->v, sizeof(double) * (size_t)kkt->n);
  memcpy(r->x + kkt->n, r->run->lambda, sizeof(double) * (size_t)kkt->m);
}

static void kkt_refine_solve(Refinement *r, double *x) {
  r->direct->solve(r->direct->method, x, x + r->run->kkt->n);
  r->run->iterations++;
}

// Makes refinement passes as long as they reduce the residual, even below the tolerance, to reach
// full precision.
static void kkt_refine_passes(Refinement *r) {
  S2KktRun *run = r->run;
  const S2KktScaled *kkt = run->kkt;
  double *x = r->basis[0], last = kkt_refine_offer(r), before;
  do {
    // x -= (K + delta)^-1 (K x - right side)
    memcpy(x, run->r_v, sizeof(double) * (size_t)kkt->n);
    memcpy(x + kkt->n, run->r_row, sizeof(double) * (size_t)kkt->m);
    kkt_refine_solve(r, x);
    for (int i = 0; i < kkt->n + kkt->m; i++) {
      r->x[i] -= x[i];
    }
    before = last;
    last = kkt_refine_offer(r);
    s2_history_add(run->history, last, 1, 0);
  } while (last < GAIN * before && run->iterations < run->max_iterations);
}

// ---- Minimal residuals ------------------------------------------------------------------------

// y = [W -J'; J C] x
static void kkt_refine_operate(const S2KktScaled *kkt, const double *x, double *y) {
  memset(y, 0, sizeof(double) * (size_t)kkt->n);
  s2_csr_add_times(&kkt->w, 1, x, y);
  s2_csr_add_transposed_times(&kkt->j, -1, x + kkt->n, y);
  for (int i = 0; i < kkt->m; i++) {
    y[kkt->n + i] = kkt->compliance[i] * x[kkt->n + i];
  }
  s2_csr_add_times(&kkt->j, 1, x, y + kkt->n);
}

// Makes w orthogonal to the basis and writes the coefficients to column k. Repeats this once,
// because a single pass is not accurate enough. Then applies all previous rotations and a new one
// to the column. Returns the remaining length of w.
static double kkt_refine_orthogonalise(Refinement *r, int k, double *w, int size) {
  double *h = r->h[k];
  memset(h, 0, sizeof r->h[k]);
  // Gram-Schmidt, twice.
  for (int i = 0; i < 2 * (k + 1); i++) {
    const double *v = r->basis[i % (k + 1)];
    double along = 0;
    for (int j = 0; j < size; j++) {
      along += v[j] * w[j];
    }
    h[i % (k + 1)] += along;
    for (int j = 0; j < size; j++) {
      w[j] -= along * v[j];
    }
  }
  // Apply all previous rotations to the new column. Another rotation makes it triangular.
  double left = h[k + 1] = sqrt(s2_numbers_dot(w, w, size));
  for (int i = 0; i < k; i++) {
    double upper = r->cosine[i] * h[i] + r->sine[i] * h[i + 1];
    h[i + 1] = r->cosine[i] * h[i + 1] - r->sine[i] * h[i];
    h[i] = upper;
  }
  double length = hypot(h[k], h[k + 1]);
  r->cosine[k] = length > 0 ? h[k] / length : 1;
  r->sine[k] = length > 0 ? h[k + 1] / length : 0;
  h[k] = length;
  // Rotate the right side. Its last number is the new residual.
  r->g[k + 1] = -r->sine[k] * r->g[k];
  r->g[k] *= r->cosine[k];
  return left;
}

// x -= step R^-1 g
static void kkt_refine_descend(Refinement *r, int count, int size) {
  double y[BASIS] = {0};
  // Solve R y = g by back substitution.
  for (int k = count - 1; k >= 0; k--) {
    double sum = r->g[k];
    for (int i = k + 1; i < count; i++) {
      sum -= r->h[i][k] * y[i];
    }
    y[k] = r->h[k][k] != 0 ? sum / r->h[k][k] : 0;
  }
  for (int k = 0; k < count; k++) {
    for (int i = 0; i < size; i++) {
      r->x[i] -= y[k] * r->step[k][i];
    }
  }
}

// Runs one cycle from the best point. Returns the residual at its end.
static double kkt_refine_cycle(Refinement *r) {
  S2KktRun *run = r->run;
  const S2KktScaled *kkt = run->kkt;
  int size = kkt->n + kkt->m, count = 0;
  size_t bytes = sizeof(double) * (size_t)size;
  back_to_best(r);
  // The first basis vector is the residual of the best point.
  double residual = kkt_refine_offer(r), *v = r->basis[0];
  memcpy(v, run->r_v, sizeof(double) * (size_t)kkt->n);
  memcpy(v + kkt->n, run->r_row, sizeof(double) * (size_t)kkt->m);
  double length = r->g[0] = sqrt(s2_numbers_dot(v, v, size));
  // The next vector is K (K + delta)^-1 v, made orthogonal to all previous vectors.
  while (count < BASIS && length > 0 && isfinite(length)) {
    v = r->basis[count];
    for (int i = 0; i < size; i++) {
      v[i] /= length;
    }
    memcpy(r->step[count], v, bytes);
    kkt_refine_solve(r, r->step[count]);
    kkt_refine_operate(kkt, r->step[count], r->basis[count + 1]);
    length = kkt_refine_orthogonalise(r, count, r->basis[count + 1], size);
    count++;
    // Estimate the residual: the residual at the start, times the relative reduction of the 2-norm.
    double promised = residual * fabs(r->g[count]) / fmax(fabs(r->g[0]), fabs(r->g[count]));
    s2_history_add(run->history, promised, 1, 0);
    if (promised < run->tolerance * GAIN || run->iterations >= run->max_iterations) {
      break;
    }
  }
  kkt_refine_descend(r, count, size);
  return kkt_refine_offer(r);
}

// Finds the part of the row speeds that no impulse reduces. (S + delta)^-1 multiplies this part by
// 1 / delta and all other parts by smaller factors. After several multiplications only this part is
// left.
static void find_witness(Refinement *r) {
  const S2KktScaled *kkt = r->run->kkt;
  if (!r->direct->factor(r->direct->method, DELTAS[0])) {
    return;
  }
  back_to_best(r);
  kkt_refine_offer(r);
  double *x = r->basis[0], *y = r->basis[0] + kkt->n;
  memcpy(y, r->run->r_row, sizeof(double) * (size_t)kkt->m);
  // Multiply repeatedly by (S + delta)^-1.
  for (int i = 0; i < WITNESS_STEPS; i++) {
    double length = sqrt(s2_numbers_dot(y, y, kkt->m));
    for (int k = 0; k < kkt->m; k++) {
      y[k] /= length;
    }
    memset(x, 0, sizeof(double) * (size_t)kkt->n);
    r->direct->solve(r->direct->method, x, y);
  }
  r->run->witness = y;
}

void s2_kkt_refine(S2KktRun *run, const S2KktDirect *direct) {
  int size = run->kkt->n + run->kkt->m;
  Refinement r = {.run = run, .direct = direct, .x = S2_TAKE(run->arena, double, size)};
  for (int i = 0; i <= BASIS; i++) {
    r.basis[i] = S2_TAKE(run->arena, double, size);
  }
  for (int i = 0; i < BASIS; i++) {
    r.step[i] = S2_TAKE(run->arena, double, size);
  }
  run->status = S2_SINGULAR;
  // Try the regularisations in turn, until passes and cycles with one of them converge.
  for (int k = 0; k < COUNT && may_go_on(run); k++) {
    if (!direct->factor(direct->method, DELTAS[k])) {
      continue;
    }
    run->status = S2_MAX_ITERATIONS;
    back_to_best(&r);
    kkt_refine_passes(&r);
    for (int i = 0; i < CYCLES && may_go_on(run); i++) {
      double before = run->best;
      if (!(kkt_refine_cycle(&r) < CYCLE_GAIN * before)) {
        break;
      }
    }
  }
  // Perhaps there is no solution. Find a vector that could prove it.
  if (!s2_kkt_done(run)) {
    find_witness(&r);
  }
}
