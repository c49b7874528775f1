// Proximal semismooth Newton on the law of Alart and Curnier (1991). With the impulses `anchor` of
// the last outer step and the weight sigma, the law of a row gives impulses for any velocity:
//
//     x = max(0, anchor_n - sigma u_n),  y = clip(anchor_t - sigma u_t, -mu x, mu x)
//
// and Newton solves W v - J' lambda(v) = c by line search. At anchor = lambda it is the problem
// itself, so outer steps move the anchor there. Hyperstatic contacts make no trouble: the
// multiplier nearest to the anchor is found.
#include "mcp/pdipm_stages.h"

#include <math.h>
#include <string.h>

static const double SUFFICIENT = 0.1; // part of the predicted decrease a step must bring
enum { HALVINGS = 8 };                // then the least merit met is taken

typedef struct Newton {
  S2System *system;
  S2Quad *v, *imbalance, *dv;
  double *lambda, *anchor, *u, *du;
  S2Response *response;
  S2Mode *mode;
} Newton;

static Newton make(S2System *system, S2Arena *arena) {
  int n = system->nodes + 1, units = system->units;
  return (Newton){
      .system = system,
      .v = S2_TAKE_ZEROED(arena, S2Quad, n),
      .imbalance = S2_TAKE(arena, S2Quad, n),
      .dv = S2_TAKE_ZEROED(arena, S2Quad, n),
      .lambda = S2_TAKE(arena, double, 2 * units),
      .anchor = S2_TAKE(arena, double, 2 * units),
      .u = S2_TAKE(arena, double, 2 * units),
      .du = S2_TAKE(arena, double, 2 * units),
      .response = S2_TAKE(arena, S2Response, units),
      .mode = S2_TAKE(arena, S2Mode, units),
  };
}

static void copy_point(const S2System *system, S2Quad *v, double *lambda, const S2Quad *v_from,
                       const double *lambda_from) {
  memcpy(v, v_from, sizeof(S2Quad) * (size_t)(system->nodes + 1));
  memcpy(lambda, lambda_from, sizeof(double) * (size_t)(2 * system->units));
}

// ---- The law ----------------------------------------------------------------------------------

// Impulses, mode and response of one unit at row velocities u = J v.
static S2Mode apply_law(const S2Unit *unit, double sigma, const double *u, const double *anchor,
                        double *lambda, S2Response *d) {
  double kn = sigma / (1 + sigma * unit->c[0]), kt = sigma / (1 + sigma * unit->c[1]);
  double x = (anchor[0] - sigma * (u[0] + unit->b0[0])) / (1 + sigma * unit->c[0]);
  double y = (anchor[1] - sigma * (u[1] + unit->b0[1])) / (1 + sigma * unit->c[1]);
  S2Mode mode = S2_STICK;
  *d = (S2Response){.nn = kn, .tt = unit->rows == 2 ? kt : 0};
  if (unit->kind != S2_UNIT_BILATERAL) {
    double bound = unit->mu * x;
    if (!(x > 0)) {
      x = y = 0;
      mode = S2_SEPARATE;
      *d = (S2Response){0};
    } else if (unit->kind == S2_UNIT_NORMAL) {
      y = 0;
    } else if (y > bound) {
      y = bound;
      mode = S2_SLIDE_PLUS;
      *d = (S2Response){.nn = kn, .tn = unit->mu * kn};
    } else if (y < -bound) {
      y = -bound;
      mode = S2_SLIDE_MINUS;
      *d = (S2Response){.nn = kn, .tn = -unit->mu * kn};
    }
  }
  lambda[0] = x;
  lambda[1] = unit->rows == 2 ? y : 0;
  return mode;
}

// Evaluates the law everywhere at v + step dv (u and du are their row velocities); returns the
// merit |W v - J' lambda - c|^2 in the norm of W^-1. Imbalance, lambda, mode, response are left.
static double evaluate(Newton *newton, double sigma, const S2Quad *v, double step) {
  S2System *system = newton->system;
  for (int k = 0; k < system->units; k++) {
    double u[2] = {newton->u[2 * k] + step * newton->du[2 * k],
                   newton->u[2 * k + 1] + step * newton->du[2 * k + 1]};
    newton->mode[k] = apply_law(&system->unit[k], sigma, u, newton->anchor + 2 * k,
                                newton->lambda + 2 * k, &newton->response[k]);
  }
  double merit = 0;
  for (int i = 0; i <= system->nodes; i++) {
    newton->v[i] = v[i] + step * newton->dv[i];
  }
  s2_system_imbalance(system, newton->v, newton->lambda, newton->imbalance);
  for (int i = 0; i < system->nodes; i++) {
    S2Quad f = newton->imbalance[i] * newton->imbalance[i] * system->inverse_mass[i];
    merit += f[0] + f[1] + f[2];
  }
  return merit;
}

static bool any_sliding(const Newton *newton) {
  for (int k = 0; k < newton->system->units; k++) {
    if (newton->mode[k] >= S2_SLIDE_PLUS) {
      return true;
    }
  }
  return false;
}

static double largest_imbalance(const Newton *newton) {
  double worst = 0;
  for (int i = 0; i < newton->system->nodes; i++) {
    S2Quad f = newton->imbalance[i] * newton->system->inverse_mass[i];
    worst = fmax(worst,
                 fmax(fabs(f[0]) * newton->system->problem->length, fmax(fabs(f[1]), fabs(f[2]))));
  }
  return worst;
}

// ---- Newton -----------------------------------------------------------------------------------

// Newton steps at a fixed anchor from `v`, whose merit is given by the last evaluation.
static void solve_inner(Newton *newton, double sigma, int inners, double tolerance, S2Quad *v,
                        int *factorizations) {
  S2System *system = newton->system;
  memset(newton->dv, 0, sizeof(S2Quad) * (size_t)(system->nodes + 1));
  memset(newton->du, 0, sizeof(double) * (size_t)(2 * system->units));
  s2_system_row_velocity(system, v, newton->u);
  double merit = evaluate(newton, sigma, v, 0);
  for (int i = 0; i < inners && largest_imbalance(newton) > tolerance; i++) {
    (*factorizations)++;
    if (!s2_system_factor(system, newton->response, any_sliding(newton))) {
      return;
    }
    s2_system_solve(system, newton->imbalance, newton->dv);
    for (int k = 0; k < system->nodes; k++) {
      newton->dv[k] = -newton->dv[k];
    }
    s2_system_row_velocity(system, newton->dv, newton->du);
    double step = 1, best = 1, least = INFINITY, now = 0;
    int halvings = 0;
    for (; halvings < HALVINGS; halvings++, step /= 2) {
      now = evaluate(newton, sigma, v, step);
      if (now < least) {
        least = now;
        best = step;
      }
      if (now < merit * (1 - SUFFICIENT * step)) {
        break;
      }
    }
    if (halvings == HALVINGS) {
      now = evaluate(newton, sigma, v, best);
    }
    memcpy(v, newton->v, sizeof(S2Quad) * (size_t)(system->nodes + 1));
    s2_system_row_velocity(system, v, newton->u);
    if (!(now < merit)) {
      return;
    }
    merit = now;
  }
}

double s2_newton_solve(S2System *system, double sigma, int outers, int inners, double tolerance,
                       S2Quad *v, double *lambda, int *factorizations, S2Arena *arena) {
  S2ArenaMark mark = s2_arena_mark(arena);
  Newton newton = make(system, arena);
  S2Quad *at = S2_TAKE_ZEROED(arena, S2Quad, system->nodes + 1);
  double best = s2_system_residual(system, v, lambda, newton.u);
  copy_point(system, at, newton.anchor, v, lambda);
  for (int outer = 0; outer < outers && !(best <= tolerance); outer++) {
    // The inner problem is worth solving a little better than the tolerance asks of the whole.
    solve_inner(&newton, sigma, inners, tolerance / 5, at, factorizations);
    double residual = s2_system_residual(system, at, newton.lambda, newton.u);
    if (!isfinite(residual)) {
      break;
    }
    if (residual < best) {
      best = residual;
      copy_point(system, v, lambda, at, newton.lambda);
    }
    memcpy(newton.anchor, newton.lambda, sizeof(double) * (size_t)(2 * system->units));
  }
  s2_arena_rewind(arena, mark);
  return best;
}
