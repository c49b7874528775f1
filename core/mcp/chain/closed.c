// One contact in closed form: each of the four modes is a linear system with at most two unknowns.
//
//     u = G lambda + q,   G = [a b; b d] (Delassus matrix with compliance), lambda = (n, t)
//
//     separate       n = t = 0                              needs u_n >= 0
//     stick          u = 0                                  needs n >= 0, |t| <= mu n
//     slide ahead    t = -mu n, n = -q_n / (a - mu b)       needs n >= 0, u_t >= 0
//     slide back     t = +mu n, n = -q_n / (a + mu b)       needs n >= 0, u_t <= 0
//
// For mu |b| < a exactly one mode holds, except on boundaries, where neighbouring modes agree. For
// mu |b| >= a (Painleve) several modes can hold. Then separation is preferred, then sticking, then
// the sliding mode with the smallest normal impulse. At least one mode holds if G is positive
// definite, because the step problem is posed in impulses.
#include "mcp/solvers.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

// A mode holds if its inequalities are violated by at most this fraction of their largest velocity.
// Otherwise rounding might reject both modes of a contact on the boundary of two modes.
static const double SLACK = 1e-13;

// The system of a mode is singular if its determinant is below this fraction of a d, or a -+ mu b
// is below this fraction of a + mu |b|.
static const double DEGENERATE = 1e-14;

enum { REFINEMENTS = 2 }; // refinements, with the residual computed from the velocities

typedef struct Contact {
  double a, b, d, mu;
  bool friction;
} Contact;

typedef enum Mode { SEPARATE = 0, STICK, SLIDE_AHEAD, SLIDE_BACK, MODES } Mode;

typedef struct Impulse {
  double n, t;
} Impulse;

static Contact closed_contact_of(const S2Problem *problem) {
  const S2Row *row = problem->row;
  Contact contact = {.a = s2_mcp_delassus(problem, row, row) + row[0].compliance, .d = 1};
  if (problem->rows == 2 && row[1].mu > 0) {
    contact.friction = true;
    contact.b = s2_mcp_delassus(problem, row, row + 1);
    contact.d = s2_mcp_delassus(problem, row + 1, row + 1) + row[1].compliance;
    contact.mu = row[1].mu;
  }
  return contact;
}

// Computes the change of impulse that corrects the errors (un, ut) of the equations of a mode.
// Returns false if the system of the mode is singular.
static bool solve_mode(const Contact *c, Mode mode, double un, double ut, Impulse *change) {
  double slope = mode == SLIDE_AHEAD ? -c->mu : mode == SLIDE_BACK ? c->mu : 0;
  double normal = c->a + slope * c->b, determinant = c->a * c->d - c->b * c->b;
  // The equations of the mode are none, u = 0, or u_n = 0 with t = slope n.
  switch (mode) {
  case SEPARATE:
    *change = (Impulse){0, 0};
    return true;
  case STICK:
    if (!c->friction) { // without friction, STICK only means that the contact presses
      *change = (Impulse){-un / c->a, 0};
      return c->a > 0;
    }
    *change =
        (Impulse){(c->b * ut - c->d * un) / determinant, (c->b * un - c->a * ut) / determinant};
    return determinant > DEGENERATE * c->a * c->d;
  default:
    change->n = -un / normal;
    change->t = slope * change->n;
    return c->friction && fabs(normal) > DEGENERATE * (c->a + c->mu * fabs(c->b));
  }
}

// Returns the violation of a mode's inequalities by its solution, as a velocity. Impulses are
// multiplied by the diagonal of G.
static double closed_violation(const Contact *c, Mode mode, Impulse p, double un, double ut) {
  double excess = mode == SEPARATE ? -un : -p.n * c->a;
  if (mode == STICK && c->friction) {
    excess = fmax(excess, (fabs(p.t) - c->mu * p.n) * c->d);
  } else if (mode == SLIDE_AHEAD) {
    excess = fmax(excess, -ut);
  } else if (mode == SLIDE_BACK) {
    excess = fmax(excess, ut);
  }
  return fmax(0, excess);
}

// Chooses the mode for the free velocities (qn, qt) and computes its impulse. If no mode holds,
// because G is singular, chooses the mode with the smallest violation.
static Mode closed_choose(const Contact *c, double qn, double qt, Impulse *impulse) {
  double scale = fmax(fabs(qn), c->friction ? fabs(qt) : 0);
  Mode best = SEPARATE, nearest = SEPARATE;
  double best_n = INFINITY, least = INFINITY;
  Impulse found[MODES] = {{0, 0}};
  // Separation is chosen if it holds.
  if (qn >= 0) {
    *impulse = (Impulse){0, 0};
    return SEPARATE;
  }
  // Otherwise choose a mode that holds: sticking first, then sliding with the smaller impulse. If
  // no mode holds, choose the mode with the smallest violation.
  for (Mode mode = SEPARATE; mode < MODES; ++mode) {
    if (!solve_mode(c, mode, qn, qt, &found[mode])) {
      continue;
    }
    Impulse p = found[mode];
    double un = qn + c->a * p.n + c->b * p.t, ut = qt + c->b * p.n + c->d * p.t;
    double miss = closed_violation(c, mode, p, un, ut);
    if (miss < least) {
      least = miss;
      nearest = mode;
    }
    if (mode != SEPARATE && miss <= SLACK * scale && p.n < best_n) {
      best = mode;
      best_n = mode == STICK ? -INFINITY : p.n;
    }
  }
  best = best_n == INFINITY ? nearest : best;
  *impulse = found[best];
  return best;
}

static void free_velocity(const S2Problem *problem, const double *lambda, double *v, double *u) {
  s2_mcp_velocity(problem, lambda, v);
  s2_mcp_row_velocity(problem, v, u);
  for (int i = 0; i < problem->rows; ++i) {
    u[i] += problem->row[i].compliance * lambda[i] + problem->row[i].bias;
  }
}

static bool closed_supported(const S2Problem *problem) {
  const S2Row *row = problem->row;
  if (problem->rows == 0) {
    return true;
  }
  bool normal = row[0].coupled_to < 0 && row[0].lo == 0 && row[0].hi == INFINITY;
  return normal && (problem->rows == 1 || (problem->rows == 2 && row[1].coupled_to == 0));
}

static void closed_clip(const Contact *c, double *lambda, int rows) {
  lambda[0] = fmax(0, lambda[0]);
  if (rows == 2) {
    double bound = c->mu * lambda[0];
    lambda[1] = fmin(bound, fmax(-bound, lambda[1]));
  }
}

S2SolveStatus s2_closed_solve(const S2Problem *problem, const S2SolverOptions *options,
                              S2Arena *arena, S2Solution *solution) {
  double *v = solution->v, *lambda = solution->lambda;
  solution->iterations = 0;
  if (!closed_supported(problem)) {
    return s2_solver_refuse(problem, arena, solution);
  }
  if (problem->rows > 0) {
    // Choose the mode from the free velocities. Then solve its equations for the remaining errors
    // to reach full precision.
    Contact contact = closed_contact_of(problem);
    double u[2] = {0, 0};
    Impulse impulse = {0, 0};
    memset(lambda, 0, sizeof(double) * (size_t)problem->rows);
    free_velocity(problem, lambda, v, u);
    Mode mode = closed_choose(&contact, u[0], u[1], &impulse);
    for (int pass = 0; pass <= REFINEMENTS; ++pass) {
      lambda[0] += impulse.n;
      if (problem->rows == 2) {
        lambda[1] += impulse.t;
      }
      closed_clip(&contact, lambda, problem->rows);
      free_velocity(problem, lambda, v, u);
      solve_mode(&contact, mode, u[0], u[1], &impulse);
    }
  }
  s2_mcp_velocity(problem, lambda, v);
  solution->residual = s2_mcp_residual(problem, v, lambda, arena);
  bool solved = solution->residual.scaled <= options->tolerance;
  return solution->status = solved ? S2_SOLVED : S2_SINGULAR;
}
