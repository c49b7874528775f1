// Iterative methods that need only products with W^-1, J and J'. The preconditioner of the rows
// consists of the diagonal blocks of J blockdiag(W)^-1 J' + C.
#include "mcp/kkt/kkt_stages.h"

#include "linalg/numbers.h"

#include <math.h>
#include <string.h>

// Maximum number of runs. Each run starts from the best point. Restarts are needed because rounding
// errors accumulate in the recurrences.
enum { RESTARTS = 10 };

// ---- Conjugate gradients (Hestenes & Stiefel 1952) --------------------------------------------

typedef struct Gradients {
  double *v, *lambda, *lambda_best, *u, *dv, *p, *q, *z;
  double best; // smallest residual since this start
} Gradients;

static double measure_rows(const S2KktScaled *kkt, const double *u) {
  double worst = 0;
  for (int i = 0; i < kkt->m; i++) {
    worst = fmax(worst, fabs(u[i]) * kkt->row_measure[i]);
  }
  return worst;
}

// Runs conjugate gradients from run->lambda until the recurrence has lost its accuracy.
static void krylov_descend(S2KktRun *run, Gradients *g, const double *inverse) {
  const S2KktScaled *kkt = run->kkt;
  int m = kkt->m;
  size_t rows = sizeof(double) * (size_t)m;
  // Start at the best point with u = J v + C lambda + b and p = -P u.
  memcpy(g->lambda, run->lambda, rows);
  memcpy(g->lambda_best, run->lambda, rows);
  s2_kkt_velocity(kkt, g->lambda, g->v, run->arena);
  s2_kkt_offer(run, g->v, g->lambda);
  memcpy(g->u, run->r_row, rows);
  s2_kkt_group_times(kkt, inverse, g->u, g->z);
  for (int i = 0; i < m; i++) {
    g->p[i] = -g->z[i];
  }
  double rho = s2_numbers_dot(g->u, g->z, m);
  g->best = measure_rows(kkt, g->u);
  // q = (J W^-1 J' + C) p
  while (g->best > run->tolerance && run->iterations < run->max_iterations) {
    memset(g->dv, 0, sizeof(double) * (size_t)kkt->n);
    s2_csr_add_transposed_times(&kkt->j, 1, g->p, g->dv);
    s2_kkt_mass_solve(kkt, g->dv, g->dv, run->arena);
    for (int i = 0; i < m; i++) {
      g->q[i] = kkt->compliance[i] * g->p[i];
    }
    s2_csr_add_times(&kkt->j, 1, g->dv, g->q);
    // lambda += rho / (p' q) p, and update u accordingly.
    double step = rho / s2_numbers_dot(g->p, g->q, m);
    if (!(step > 0 && isfinite(step))) {
      break;
    }
    for (int i = 0; i < m; i++) {
      g->lambda[i] += step * g->p[i];
      g->u[i] += step * g->q[i];
    }
    // p = -P u + (rho' / rho) p
    s2_kkt_group_times(kkt, inverse, g->u, g->z);
    double next = s2_numbers_dot(g->u, g->z, m), residual = measure_rows(kkt, g->u);
    run->iterations++;
    s2_history_add(run->history, residual, 1, 0);
    for (int i = 0; i < m; i++) {
      g->p[i] = next / rho * g->p[i] - g->z[i];
    }
    rho = next;
    if (residual < g->best) {
      g->best = residual;
      memcpy(g->lambda_best, g->lambda, rows);
    }
  }
  // Compute the exact residual of the point that the recurrence found.
  s2_kkt_velocity(kkt, g->lambda_best, g->v, run->arena);
  s2_kkt_offer(run, g->v, g->lambda_best);
}

void s2_kkt_solve_cg(S2KktRun *run) {
  int n = run->kkt->n, m = run->kkt->m;
  Gradients g = {
      .v = S2_TAKE(run->arena, double, n),
      .lambda = S2_TAKE(run->arena, double, m),
      .lambda_best = S2_TAKE(run->arena, double, m),
      .u = S2_TAKE(run->arena, double, m),
      .dv = S2_TAKE(run->arena, double, n),
      .p = S2_TAKE(run->arena, double, m),
      .q = S2_TAKE(run->arena, double, m),
      .z = S2_TAKE(run->arena, double, m),
  };
  const double *inverse = s2_kkt_group_inverse(run->kkt, run->arena);
  double before = INFINITY;
  for (int i = 0; i < RESTARTS && !s2_kkt_done(run) && run->best < before &&
                  run->iterations < run->max_iterations;
       i++) {
    before = run->best;
    krylov_descend(run, &g, inverse);
  }
}

// ---- Minimal residuals ------------------------------------------------------------------------
// MINRES of Paige and Saunders (1975), preconditioned as in Elman, Silvester and Wathen (2014),
// algorithm 4.1. Vectors contain the n unknowns v, then the m multipliers. The operator is [W -J';
// -J -C].

typedef struct Minres {
  double *x;
  double *v, *v_old, *v_new; // Lanczos vectors, which are not normalised
  double *z, *z_new;         // preconditioned
  double *w, *w_old, *w_new; // directions
} Minres;

static void krylov_operate(const S2KktScaled *kkt, const double *x, double *y) {
  int n = kkt->n, m = kkt->m;
  memset(y, 0, sizeof(double) * (size_t)n);
  s2_csr_add_times(&kkt->w, 1, x, y);
  s2_csr_add_transposed_times(&kkt->j, -1, x + n, y);
  for (int i = 0; i < m; i++) {
    y[n + i] = -kkt->compliance[i] * x[n + i];
  }
  s2_csr_add_times(&kkt->j, -1, x, y + n);
}

static void krylov_precondition(const S2KktRun *run, const double *inverse, const double *b,
                                double *x) {
  int n = run->kkt->n;
  s2_kkt_mass_solve(run->kkt, b, x, run->arena);
  s2_kkt_group_times(run->kkt, inverse, b + n, x + n);
}

static void krylov_rotate(double **a, double **b, double **c) {
  double *first = *a;
  *a = *b;
  *b = *c;
  *c = first;
}

// Makes MINRES steps from the best point until the system is solved or the estimated residual is
// negligible.
static void krylov_minimise(S2KktRun *run, Minres *r, const double *inverse) {
  const S2KktScaled *kkt = run->kkt;
  int n = kkt->n, size = kkt->n + kkt->m;
  size_t bytes = sizeof(double) * (size_t)size;
  // Start with the preconditioned residual, right side - K x, of the best point.
  memcpy(r->x, run->v, sizeof(double) * (size_t)n);
  memcpy(r->x + n, run->lambda, sizeof(double) * (size_t)kkt->m);
  s2_kkt_offer(run, r->x, r->x + n);
  for (int i = 0; i < size; i++) {
    r->v[i] = i < n ? -run->r_v[i] : run->r_row[i - n];
    r->v_old[i] = r->w[i] = r->w_old[i] = 0;
  }
  krylov_precondition(run, inverse, r->v, r->z);
  double gamma = sqrt(s2_numbers_dot(r->z, r->v, size)), gamma_old = 1, eta = gamma;
  double c = 1, c_old = 1, s = 0, s_old = 0, enough = 1e-16 * gamma;
  // Make a Lanczos step: v' = K z - (delta / gamma) v - (gamma / gamma_old) v_old.
  while (fabs(eta) > enough && run->iterations < run->max_iterations && !s2_kkt_done(run)) {
    for (int i = 0; i < size; i++) {
      r->z[i] /= gamma;
    }
    krylov_operate(kkt, r->z, r->v_new);
    double delta = s2_numbers_dot(r->v_new, r->z, size);
    for (int i = 0; i < size; i++) {
      r->v_new[i] -= delta / gamma * r->v[i] + gamma / gamma_old * r->v_old[i];
    }
    // Find the rotation that makes the new column of the tridiagonal matrix triangular.
    krylov_precondition(run, inverse, r->v_new, r->z_new);
    double gamma_new = sqrt(fmax(s2_numbers_dot(r->z_new, r->v_new, size), 0));
    double a0 = c * delta - c_old * s * gamma, a1 = hypot(a0, gamma_new);
    double a2 = s * delta + c_old * c * gamma, a3 = s_old * gamma;
    if (!(a1 > 0)) {
      break;
    }
    // Compute the direction of the step from the two previous directions.
    for (int i = 0; i < size; i++) {
      r->w_new[i] = (r->z[i] - a3 * r->w_old[i] - a2 * r->w[i]) / a1;
    }
    // Take the step along this direction, and update the estimated residual.
    c_old = c;
    s_old = s;
    c = a0 / a1;
    s = gamma_new / a1;
    for (int i = 0; i < size; i++) {
      r->x[i] += c * eta * r->w_new[i];
    }
    eta *= -s;
    run->iterations++;
    s2_history_add(run->history, s2_kkt_offer(run, r->x, r->x + n), 1, 0);
    if (!(gamma_new > 0)) {
      break;
    }
    // Reuse the oldest vectors for the next step.
    gamma_old = gamma;
    gamma = gamma_new;
    krylov_rotate(&r->v_old, &r->v, &r->v_new);
    krylov_rotate(&r->w_old, &r->w, &r->w_new);
    memcpy(r->z, r->z_new, bytes);
  }
}

void s2_kkt_solve_minres(S2KktRun *run) {
  int size = run->kkt->n + run->kkt->m;
  Minres r = {0};
  double **const vectors[] = {&r.x, &r.v,     &r.v_old, &r.v_new, &r.z,
                              &r.w, &r.w_old, &r.w_new, &r.z_new};
  for (int i = 0; i < (int)(sizeof vectors / sizeof *vectors); i++) {
    *vectors[i] = S2_TAKE(run->arena, double, size);
  }
  const double *inverse = s2_kkt_group_inverse(run->kkt, run->arena);
  double before = INFINITY;
  for (int i = 0; i < RESTARTS && !s2_kkt_done(run) && run->best < before &&
                  run->iterations < run->max_iterations;
       i++) {
    before = run->best;
    krylov_minimise(run, &r, inverse);
  }
}
