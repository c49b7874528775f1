// The two stages of a piece of a linkage, with the method of rattle_stage.c.
#include "dynamics/rattle/linkage.h"
#include "dynamics/rattle/rattle_numbers.h"
#include "dynamics/step/solve.h"
#include "linalg/numbers.h"
#include "mcp/solvers.h"

#include <string.h>

enum { PASSES = S2_RATTLE_PASSES };
enum { SYMMETRIC = 40 }; // as in rattle_certified.c
static const double CHORD = S2_RATTLE_CHORD;
static const double ROUNDING = S2_RATTLE_ROUNDING, SOLVED = S2_RATTLE_SOLVED;

typedef struct Stage {
  S2Linkage *linkage;
  bool second;
  const S2LinkageRows *right; // the rows along which impulses act
  double *x, *v;
  double scale; // m/s: velocity scale of the residual
} Stage;

// Returns the largest of abs(r size), or NaN. `size` may be NULL. Absolute values of doubles have
// the order of their bits, in which NaN is largest. Integers need no branches here.
static double largest_error(int rows, const double *r, const double *size) {
  uint64_t worst = 0;
  for (int i = 0; i < rows; i++) {
    double error = fabs(size == NULL ? r[i] : r[i] * size[i]);
    uint64_t bits;
    memcpy(&bits, &error, sizeof bits);
    worst = bits > worst ? bits : worst;
  }
  double largest;
  memcpy(&largest, &worst, sizeof largest);
  return largest;
}

// Computes the residuals of stage 1 at the velocities v, which are g(q1)/h.
static void measure_first(const Stage *stage, const double *v) {
  S2Linkage *linkage = stage->linkage;
  double h = linkage->h;
  for (int i = 0; i < 3 * linkage->nodes; i++) {
    linkage->q1[i] = linkage->q0[i] + h * v[i];
  }
  s2_linkage_measure(linkage, linkage->q1, linkage->at1);
  double per = 1 / h;
  for (int i = 0; i < linkage->joints; i++) {
    linkage->residual[2 * i] = linkage->at1[i].value[0] * per;
    linkage->residual[2 * i + 1] = linkage->at1[i].value[1] * per;
  }
}

// Computes the residuals at the impulses x. Returns the largest error as a displacement (m).
static double stage_measure(const Stage *stage) {
  S2Linkage *linkage = stage->linkage;
  s2_linkage_velocity(linkage, stage->right, stage->x, stage->v);
  if (stage->second) {
    s2_linkage_speeds(linkage, linkage->at1, stage->v, linkage->residual);
  } else {
    measure_first(stage, stage->v);
  }
  return linkage->h * largest_error(linkage->rows, linkage->residual, linkage->size);
}

// Corrects the impulses with the factor of S = left W^-1 right', which is computed first if `left`
// is not NULL. Returns false if rows are linearly dependent.
static bool linkage_correct(const Stage *stage, const S2LinkageRows *left) {
  S2Linkage *linkage = stage->linkage;
  bool factored = true;
  memcpy(linkage->change, linkage->residual, sizeof(double) * (size_t)linkage->rows);
  if (left != NULL) {
    factored = s2_linkage_factor(linkage, left, stage->right, linkage->change);
  } else {
    s2_pairsparse_solve(&linkage->matrix, linkage->change);
  }
  for (int r = 0; r < linkage->rows && factored; r++) {
    stage->x[r] -= linkage->change[r];
  }
  return factored;
}

// Newton's method, as in rattle_stage.c. Returns false if it does not converge.
static bool linkage_newton(const Stage *stage) {
  S2Linkage *linkage = stage->linkage;
  double scale = ROUNDING * linkage->speed * linkage->h;
  double rounding = fmax(100 * linkage->enough, scale);
  double enough = stage->second ? fmin(linkage->enough, 0.1 * scale) : linkage->enough;
  double now = stage_measure(stage), before = INFINITY;
  bool factored = false;
  for (int pass = 0; pass < PASSES && now > enough; pass++) {
    bool stalls = factored && now >= before;
    if (stalls || (stage->second && factored && now > CHORD * before)) {
      break;
    }
    // The rows turn by about the last error. A pass with the old factor therefore gains at most a
    // factor of half of `before / now`. A new factor costs less than another pass.
    bool refactors = !factored || 2 * now * now > enough * before;
    factored = linkage_correct(stage, refactors ? linkage->at1 : NULL);
    if (!factored) {
      return false;
    }
    before = now;
    now = stage_measure(stage);
  }
  return now <= rounding; // false for NaN
}

// Returns true if the residual of the stage is at most SOLVED, and records it. Velocities follow
// from the impulses, so only the rows have errors.
static bool stage_accept(const Stage *stage) {
  S2Linkage *linkage = stage->linkage;
  double weighted = largest_error(linkage->rows, linkage->residual, linkage->size);
  S2Residual residual = {.joint = largest_error(linkage->rows, linkage->residual, NULL),
                         .scaled = weighted / stage->scale};
  if (!(residual.scaled <= SOLVED)) {
    return false;
  }
  s2_keep_worst(&linkage->worst, &residual);
  return true;
}

// Solves the linear problem of stage 1 that has J0 on both sides and is linearised at rest. Its
// factor stays in the matrix. Returns false if rows are redundant.
static bool solve_linear(const Stage *stage) {
  S2Linkage *linkage = stage->linkage;
  linkage->certified += 1;
  memset(stage->x, 0, sizeof(double) * (size_t)linkage->rows);
  // The second pass corrects rounding errors of the first one.
  for (int pass = 0; pass < 2; pass++) {
    s2_linkage_velocity(linkage, linkage->at0, stage->x, stage->v);
    s2_linkage_speeds(linkage, linkage->at0, stage->v, linkage->residual);
    for (int r = 0; r < linkage->rows; r++) {
      linkage->residual[r] += linkage->at0[r / 2].value[r % 2] / linkage->h;
    }
    if (!linkage_correct(stage, pass == 0 ? linkage->at0 : NULL)) {
      return false;
    }
  }
  return true;
}

// Solves a sequence of problems with J0 on both sides, each linearised at the previous solution.
static bool solve_symmetric(const Stage *stage) {
  S2Linkage *linkage = stage->linkage;
  double before = INFINITY;
  if (!solve_linear(stage)) {
    return false;
  }
  for (int pass = 1; pass < SYMMETRIC; pass++) {
    double now = stage_measure(stage);
    if (!(now > linkage->enough && now < before)) {
      break;
    }
    (void)linkage_correct(stage, NULL);
    linkage->certified += 1;
    before = now;
  }
  stage_measure(stage);
  return stage_accept(stage);
}

// M (u - v0) = h/2 (f - D u) + J0' l
S2LinkageOutcome s2_linkage_first(S2Linkage *linkage) {
  double half = linkage->h / 2;
  double least = S2_RATTLE_NO_SPEED * linkage->rounding / (linkage->tolerance * linkage->h);
  for (int i = 0; i < 3 * linkage->nodes; i++) {
    double mass = linkage->inertial[i] + half * linkage->damping[i];
    linkage->inverse[i] = 1 / mass;
    linkage->rhs[i] = linkage->inertial[i] * linkage->v0[i] + half * linkage->force[i];
  }
  Stage stage = {linkage, false, linkage->at0, linkage->l, linkage->u, fmax(linkage->speed, least)};
  if (linkage_newton(&stage) && stage_accept(&stage)) {
    return S2_LINKAGE_SOLVED;
  }
  // The guess of the impulses may have led to no root. The impulses of the linear problem are
  // close to the solution if the piece is short enough.
  if (!solve_linear(&stage)) {
    return S2_LINKAGE_ELSEWHERE;
  }
  bool solved = (linkage_newton(&stage) && stage_accept(&stage)) || solve_symmetric(&stage);
  return solved ? S2_LINKAGE_SOLVED : S2_LINKAGE_TOO_LONG;
}

// M (v1 - u) = h/2 (f - D u) + J1' k. For bodies that damping stops within the step, D v1 replaces
// D u.
bool s2_linkage_second(S2Linkage *linkage) {
  double half = linkage->h / 2;
  for (int i = 0; i < 3 * linkage->nodes; i++) {
    double inertial = linkage->inertial[i], damped = half * linkage->damping[i];
    bool cayley = linkage->step->dt * linkage->damping[i] <= 2 * inertial;
    linkage->inverse[i] = 1 / (inertial + (cayley ? 0 : damped));
    linkage->rhs[i] = (inertial - (cayley ? damped : 0)) * linkage->u[i] + half * linkage->force[i];
  }
  memcpy(linkage->k, linkage->l, sizeof(double) * (size_t)linkage->rows);
  Stage stage = {linkage, true, linkage->at1, linkage->k, linkage->v1, linkage->speed};
  return linkage_newton(&stage) && stage_accept(&stage);
}
