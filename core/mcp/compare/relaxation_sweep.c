// The three rules that relax a unit. Let u be the velocities of its rows before the change, and G =
// [nn nt; tn tt] its coupling. A change d of its impulses changes the velocities to u + G d.
// Therefore both rows can be relaxed before the nodes are updated. In scaled units the diagonal of
// G is 1, so the step of a row equals its velocity.
#include "mcp/compare/relaxation.h"

#include "linalg/numbers.h"

#include <math.h>

// Tolerance for the inequalities of a mode, as a fraction of the velocities in them. Without it,
// rounding could reject both modes of a contact between two modes.
static const double SLACK = 1e-13;

// A mode has no solution if its determinant, or nn +- mu nt, is below this fraction of its terms.
static const double DEGENERATE = 1e-14;

S2_INLINE void relax_bilateral(const S2Response *g, const double *u, double omega, double *d) {
  d[0] = -omega * u[0];
  d[1] = -omega * (u[1] + g->tn * d[0]);
}

S2_INLINE void relax_rows(const S2Response *g, double mu, const double *u, double omega,
                          const double *lambda, double *d) {
  double n = fmax(0, lambda[0] - omega * u[0]);
  d[0] = n - lambda[0];
  d[1] = s2_clip(lambda[1] - omega * (u[1] + g->tn * d[0]), mu * n) - lambda[1];
}

S2_INLINE void relax_impulses(const S2Response *g, double mu, const double *u, double omega,
                              const double *lambda, double *d) {
  d[1] = s2_clip(lambda[1] - omega * u[1], mu * lambda[0]) - lambda[1];
  d[0] = fmax(0, lambda[0] - omega * (u[0] + g->nt * d[1])) - lambda[0];
}

// Computes the impulses that bring both rows to rest. Returns false if G is singular.
S2_INLINE bool relax_stick(const S2Response *g, double qn, double qt, double *n, double *t) {
  double diagonal = g->nn * g->tt, determinant = diagonal - g->nt * g->tn;
  *n = (g->nt * qt - g->tt * qn) / determinant;
  *t = (g->tn * qn - g->nn * qt) / determinant;
  return determinant > DEGENERATE * diagonal;
}

// Chooses the mode of one unit as in closed.c. q contains its velocities without its own impulses.
S2_INLINE void solve_contact(const S2Response *g, double mu, double qn, double qt, double *n,
                             double *t) {
  double sn, st, slack = SLACK * fmax(fabs(qn), fabs(qt));
  if (!(qn < 0)) {
    *n = *t = 0;
    return;
  }
  // A contact that does not separate sticks or slides.
  bool stuck = relax_stick(g, qn, qt, &sn, &st);
  double missed = fmax(-sn * g->nn, (fabs(st) - mu * sn) * g->tt);
  if (stuck && missed <= slack) {
    *n = fmax(sn, 0);
    *t = s2_clip(st, mu * *n);
    return;
  }
  // Try sliding ahead and sliding back. If both modes hold (Painleve), choose the smaller impulse.
  // If rounding rejects both modes, choose the mode with the smaller violation.
  double least = INFINITY, best_n = INFINITY, best_t = 0;
  for (int side = -1; side <= 1; side += 2) {
    double slope = side * mu, normal = g->nn + slope * g->nt, p = -qn / normal;
    double ut = qt + (g->tn + slope * g->tt) * p;
    double miss = fmax(fmax(-p * g->nn, side * ut), slack);
    bool solvable = fabs(normal) > DEGENERATE * (g->nn + mu * fabs(g->nt));
    if (solvable && (miss < least || (miss == least && p < best_n))) {
      least = miss;
      best_n = p;
      best_t = slope * p;
    }
  }
  if (stuck && missed < least) {
    best_n = sn;
    best_t = st;
  }
  *n = isfinite(best_n) ? fmax(best_n, 0) : 0;
  *t = s2_clip(best_t, mu * *n);
}

S2_INLINE void relax_block(const S2Unit *unit, const S2Response *g, const double *u,
                           const double *lambda, double *d) {
  double n = lambda[0], t = lambda[1];
  if (unit->kind == S2_UNIT_BILATERAL) {
    if (!relax_stick(g, u[0], u[1], &d[0], &d[1])) {
      relax_bilateral(g, u, 1, d);
    }
    return;
  }
  solve_contact(g, unit->mu, u[0] - g->nn * n - g->nt * t, u[1] - g->tn * n - g->tt * t, &n, &t);
  d[0] = n - lambda[0];
  d[1] = t - lambda[1];
}

S2_INLINE void relax(S2Relaxation *run, int k, S2SweepRule rule, double omega) {
  const S2Unit *unit = &run->system.unit[k];
  const S2Response *g = &run->coupling[k];
  double *lambda = run->lambda + 2 * k, u[2], d[2];
  // Compute u = J v + C lambda + b of the unit.
  s2_system_unit_velocity(&run->system, k, run->v, u);
  u[0] += unit->c[0] * lambda[0] + unit->b0[0];
  u[1] += unit->c[1] * lambda[1] + unit->b0[1];
  // Handle units with one row, then units with two rows. `rule` is a compile-time constant, because
  // this function is inlined.
  if (unit->rows == 1) {
    double n = lambda[0] - (rule == S2_SWEEP_BLOCKS ? 1 : omega) * u[0];
    bool bilateral = unit->kind == S2_UNIT_BILATERAL, box = unit->kind == S2_UNIT_BOX;
    d[0] = (bilateral ? n : box ? s2_unit_clip(unit, n) : fmax(n, 0)) - lambda[0];
    d[1] = 0;
  } else if (rule == S2_SWEEP_BLOCKS) {
    relax_block(unit, g, u, lambda, d);
  } else if (unit->kind == S2_UNIT_BILATERAL) {
    relax_bilateral(g, u, omega, d);
  } else if (rule == S2_SWEEP_ROWS) {
    relax_rows(g, unit->mu, u, omega, lambda, d);
  } else {
    relax_impulses(g, unit->mu, u, omega, lambda, d);
  }
  if (d[0] != 0 || d[1] != 0) {
    lambda[0] += d[0];
    lambda[1] += d[1];
    s2_system_push(&run->system, k, d, run->v);
  }
}

S2_INLINE void relax_sweep(S2Relaxation *run, S2SweepRule rule, double omega, bool backward) {
  int units = run->system.units;
  for (int i = 0; i < units; i++) {
    relax(run, backward ? units - 1 - i : i, rule, omega);
  }
  run->sweeps += 1;
}

// Compile a separate loop for each rule.
S2_WIDE void s2_relaxation_sweep(S2Relaxation *run, S2SweepRule rule, double omega, bool backward) {
  if (rule == S2_SWEEP_ROWS) {
    relax_sweep(run, S2_SWEEP_ROWS, omega, backward);
  } else if (rule == S2_SWEEP_IMPULSES) {
    relax_sweep(run, S2_SWEEP_IMPULSES, omega, backward);
  } else {
    relax_sweep(run, S2_SWEEP_BLOCKS, omega, backward);
  }
}
