#include "mcp/chain/bilateral.h"
#include "mcp/chain/pdipm_stages.h"
#include "mcp/pivot/exact.h"
#include "mcp/problem/conflict.h"
#include "mcp/solvers.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

// For up to PIVOT_SOON contacts, pivoting runs as soon as the interior-point method has failed
// once, and takes less than 0.5 ms. For up to PIVOT_AT_LAST contacts, it runs last and usually
// takes 30 to 70 ms, rarely seconds. Its time grows with the cube of the number of contacts.
enum { PIVOT_SOON = 20, PIVOT_AT_LAST = 128 };

const char *const s2_solver_names[S2_SOLVER_COUNT + 1] = {
    "auto", "closed", "pdipm", "lemke", "newton", "al",      "ncp",    "nsgs",
    "pgs",  "si",     "nncg",  "pcg",   "linear", "program", "active", NULL};

static const char *const SUMMARIES[S2_SOLVER_COUNT] = {
    "the fastest exact method for each island; other methods if it misses the tolerance",
    "closed-form solution for one contact",
    "primal-dual interior-point method with a final Newton phase, for islands of any size",
    "lexicographic Lemke pivoting, exact, for small islands",
    "proximal semismooth Newton on the friction law",
    "augmented Lagrangian method whose convex inner problems are solved by Newton's method",
    "interior-point method on the friction cone, as in Dojo",
    "Gauss-Seidel over contacts, each solved exactly",
    "projected Gauss-Seidel over rows, in both directions",
    "sequential impulses, as in game engines",
    "nonlinear conjugate gradients over projected Gauss-Seidel",
    "projected conjugate gradients, with friction bounds updated in between",
    "linear systems of joints only, solved by the chosen linear solver",
    "a function of the script, under the name given to sim.solver",
    "active-set method over contacts and limits, for small islands",
};

static S2SolveStatus solve_by_program(const S2Problem *problem, const S2SolverOptions *options,
                                      S2Arena *arena, S2Solution *solution) {
  if (options->program.solve == NULL || problem->mass == NULL) {
    return s2_solver_refuse(problem, arena, solution);
  }
  bool found = options->program.solve(options->program.user, problem, options, solution->lambda,
                                      &solution->iterations);
  s2_mcp_velocity(problem, solution->lambda, solution->v);
  return found ? S2_SOLVED : S2_UNSUPPORTED;
}

static S2SolverFn *const SOLVERS[S2_SOLVER_COUNT] = {
    [S2_SOLVER_CLOSED] = s2_closed_solve,     [S2_SOLVER_PDIPM] = s2_pdipm_solve,
    [S2_SOLVER_LEMKE] = s2_lemke_solve,       [S2_SOLVER_NEWTON] = s2_contact_newton_solve,
    [S2_SOLVER_AL] = s2_contact_al_solve,     [S2_SOLVER_NCP] = s2_contact_ncp_solve,
    [S2_SOLVER_NSGS] = s2_contact_nsgs_solve, [S2_SOLVER_PGS] = s2_contact_pgs_solve,
    [S2_SOLVER_SI] = s2_contact_si_solve,     [S2_SOLVER_NNCG] = s2_contact_nncg_solve,
    [S2_SOLVER_PCG] = s2_contact_pcg_solve,   [S2_SOLVER_LINEAR] = s2_linear_solve,
    [S2_SOLVER_PROGRAM] = solve_by_program,   [S2_SOLVER_ACTIVE] = s2_active_solve,
};

static const char *const STATUSES[] = {
    [S2_SOLVED] = "solved",
    [S2_MAX_ITERATIONS] = "max_iterations",
    [S2_RAY] = "ray",
    [S2_SINGULAR] = "singular",
    [S2_INFEASIBLE] = "infeasible",
    [S2_UNSUPPORTED] = "unsupported",
};

const char *s2_solver_name(S2Solver solver) {
  return (unsigned)solver < S2_SOLVER_COUNT ? s2_solver_names[solver] : NULL;
}

S2Solver s2_solver_built_in(int index) {
  return (S2Solver)(index < S2_SOLVER_PROGRAM ? index : index + 1);
}

const char *s2_solver_summary(S2Solver solver) {
  return (unsigned)solver < S2_SOLVER_COUNT ? SUMMARIES[solver] : NULL;
}

S2Solver s2_solver_from_name(const char *name) {
  int i = 0;
  while (i < S2_SOLVER_COUNT && strcmp(name, s2_solver_names[i]) != 0) {
    i++;
  }
  return (S2Solver)i;
}

const char *s2_solve_status_name(S2SolveStatus status) {
  return (unsigned)status < sizeof STATUSES / sizeof *STATUSES ? STATUSES[status] : NULL;
}

static int count_contacts(const S2Problem *problem) {
  int count = 0;
  for (int i = 0; i < problem->rows; i++) {
    count += problem->row[i].coupled_to < 0 && problem->row[i].lo != -INFINITY;
  }
  return count;
}

// Computes the velocities from the impulses, so that momentum is conserved to the last digit and
// only the constraint rows have errors. Returns false if the residual is then above the tolerance.
static bool mcp_balance(const S2Problem *problem, const S2SolverOptions *options, S2Arena *arena,
                        S2Solution *solution) {
  S2ArenaMark mark = s2_arena_mark(arena);
  double *v = S2_TAKE(arena, double, 3 * problem->nodes);
  s2_mcp_velocity(problem, solution->lambda, v);
  S2Residual residual = s2_mcp_residual(problem, v, solution->lambda, arena);
  bool good = residual.scaled <= options->tolerance;
  if (!good) {
    solution->residual = s2_mcp_residual(problem, solution->v, solution->lambda, arena);
  }
  if (good || residual.scaled <= solution->residual.scaled) {
    memcpy(solution->v, v, sizeof(double) * (size_t)(3 * problem->nodes));
    solution->residual = residual;
  }
  s2_arena_rewind(arena, mark);
  return good;
}

// Runs one solver and computes the residual of its answer. Returns true if the problem is solved
// and momentum is conserved.
static bool mcp_run(S2SolverFn *solve, S2Solver solver, const S2Problem *problem,
                    const S2SolverOptions *options, S2Arena *arena, S2Solution *solution) {
  // Release the memory of the solver before the residual is computed.
  S2ArenaMark mark = s2_arena_mark(arena);
  solution->status = solve(problem, options, arena, solution);
  s2_arena_rewind(arena, mark);
  solution->used = solver;
  return mcp_balance(problem, options, arena, solution);
}

// Runs another solver from zero impulses. Returns true if its answer is accurate enough. Otherwise
// keeps the better of the two answers.
static bool mcp_improve(S2SolverFn *solve, S2Solver solver, const S2Problem *problem,
                        const S2SolverOptions *options, S2Arena *arena, S2Solution *solution) {
  // Start from zero impulses, because the first solver started from the guess.
  S2ArenaMark mark = s2_arena_mark(arena);
  size_t nodes = sizeof(double) * (size_t)(3 * problem->nodes);
  size_t rows = sizeof(double) * (size_t)problem->rows;
  S2Solution second = {.v = s2_arena_take(arena, nodes),
                       .lambda = s2_arena_take_zeroed(arena, rows),
                       .low = solution->low};
  memcpy(second.v, solution->v, nodes);
  bool good = mcp_run(solve, solver, problem, options, arena, &second);
  second.iterations += solution->iterations;
  // Any answer is better than a first answer that contains NaN.
  if (good || !(second.residual.scaled >= solution->residual.scaled)) {
    memcpy(solution->v, second.v, nodes);
    memcpy(solution->lambda, second.lambda, rows);
    second.v = solution->v;
    second.lambda = solution->lambda;
    *solution = second;
  } else {
    solution->iterations = second.iterations;
  }
  s2_arena_rewind(arena, mark);
  return good;
}

// Small islands are solved to this fraction of the tolerance, because their last digits cost
// little. A larger residual would cause creep at rest and add energy.
static const double SMALL_ISLAND_FRACTION = 1e-3;

// A guess with a residual below this fraction of the tolerance is as good as an exact solution.
static const double AS_SOLVED = 1e-3;

// Bodies are at rest if velocities and residuals are below this fraction of the tolerance.
static const double AT_REST = 1e-3;

// Returns true if the guessed impulses already solve the problem, for example if bodies are at
// rest. The impulses then stay unchanged to the last bit.
static bool mcp_keep_guess(const S2Problem *problem, const S2SolverOptions *options, S2Arena *arena,
                           S2Solution *solution) {
  S2ArenaMark mark = s2_arena_mark(arena);
  double limit =
      options->fresh ? fmax(S2_REFINED, AS_SOLVED * options->tolerance) : options->tolerance;
  double *v = S2_TAKE(arena, double, 3 * problem->nodes);
  s2_mcp_velocity(problem, solution->lambda, v);
  S2Residual residual = s2_mcp_residual(problem, v, solution->lambda, arena);
  bool good = residual.scaled <= limit;
  if (good) {
    memcpy(solution->v, v, sizeof(double) * (size_t)(3 * problem->nodes));
    solution->residual = residual;
    solution->status = S2_SOLVED;
    solution->used = S2_SOLVER_PDIPM;
  }
  s2_arena_rewind(arena, mark);
  return good;
}

// Returns true if the guessed impulses keep the bodies at rest up to rounding, and then sets their
// velocities to exactly zero. Otherwise rounding errors would topple a tall pile within a hundred
// steps. If a step changes nothing, neither does the next step, so a pile can rest forever.
static bool mcp_rests(const S2Problem *problem, const S2SolverOptions *options, S2Arena *arena,
                      S2Solution *solution) {
  double limit = AT_REST * options->tolerance, fast = limit * problem->velocity_scale;
  for (int i = 0; i < 3 * problem->nodes; i++) {
    double speed = fabs(solution->v[i]);
    if (!((i % 3 == 0 ? speed * problem->length : speed) <= fast)) {
      return false;
    }
  }
  S2ArenaMark mark = s2_arena_mark(arena);
  double *v = S2_TAKE_ZEROED(arena, double, 3 * problem->nodes);
  S2Residual residual = s2_mcp_residual(problem, v, solution->lambda, arena);
  s2_arena_rewind(arena, mark);
  if (!(residual.scaled <= limit)) {
    return false;
  }
  memset(solution->v, 0, sizeof(double) * (size_t)(3 * problem->nodes));
  solution->residual = residual;
  solution->status = S2_SOLVED;
  solution->used = S2_SOLVER_PDIPM;
  return true;
}

// At a scaled residual of at most this value, the contact modes are probably right. Their equations
// are then solved exactly before other methods are tried.
static const double NEAR = 1e-2;

// Rounding of the impulses may keep the residual above the tolerance. If it is at most `near`,
// solves again with twice the digits.
static bool mcp_finish(const S2Problem *problem, const S2SolverOptions *options, double aim,
                       double near, S2Arena *arena, S2Solution *solution) {
  double residual = solution->residual.scaled;
  return residual > options->tolerance && residual <= near &&
         s2_exact_finish(problem, options->tolerance, aim, arena, solution);
}

// Runs the active-set method from the guess. Returns false and leaves the guess unchanged if the
// answer is not good enough.
static bool mcp_active(const S2Problem *problem, const S2SolverOptions *options, S2Arena *arena,
                       S2Solution *solution) {
  S2ArenaMark mark = s2_arena_mark(arena);
  size_t nodes = sizeof(double) * (size_t)(3 * problem->nodes);
  size_t rows = sizeof(double) * (size_t)problem->rows;
  double *v = s2_arena_take(arena, nodes), *lambda = s2_arena_take(arena, rows);
  memcpy(v, solution->v, nodes);
  memcpy(lambda, solution->lambda, rows);
  bool good = mcp_run(s2_active_solve, S2_SOLVER_ACTIVE, problem, options, arena, solution);
  if (!good) {
    memcpy(solution->v, v, nodes);
    memcpy(solution->lambda, lambda, rows);
  }
  s2_arena_rewind(arena, mark);
  return good;
}

// Runs the interior-point method, or the closed form for one contact. If it does not reach the
// tolerance, runs the other methods. `strict` contains the options with a smaller tolerance.
static void mcp_solve_in_turn(const S2Problem *problem, const S2SolverOptions *options,
                              const S2SolverOptions *strict, S2Arena *arena, S2Solution *solution,
                              int contacts, bool one) {
  bool good =
      one ? mcp_run(s2_closed_solve, S2_SOLVER_CLOSED, problem, strict, arena, solution)
          : mcp_run(s2_pdipm_quick_solve, S2_SOLVER_PDIPM, problem, strict, arena, solution);
  if (good || mcp_finish(problem, options, strict->tolerance, NEAR, arena, solution)) {
    return;
  }
  // Test whether there is a solution at all, which costs less than unsuccessful pivoting.
  if (contacts > 0 && !(solution->residual.scaled <= options->tolerance) &&
      s2_mcp_conflict_quick(problem, strict, NULL, arena)) {
    solution->status = S2_INFEASIBLE; // no other method would find a solution
    return;
  }
  // Run pivoting. If it does not reach the tolerance either, run the full chain of the
  // interior-point method.
  mcp_improve(s2_lemke_solve, S2_SOLVER_LEMKE, problem, strict, arena, solution);
  if (!mcp_balance(problem, options, arena, solution) &&
      !mcp_finish(problem, options, strict->tolerance, INFINITY, arena, solution) &&
      options->attempt == 0 &&
      !mcp_improve(s2_pdipm_solve, S2_SOLVER_PDIPM, problem, options, arena, solution)) {
    mcp_finish(problem, options, strict->tolerance, INFINITY, arena, solution);
  }
}

static void mcp_solve_small(const S2Problem *problem, const S2SolverOptions *options,
                            S2Arena *arena, S2Solution *solution, int contacts) {
  // Use the closed form for one contact, otherwise the active-set method first, with a smaller
  // tolerance.
  bool one = contacts == 1 && problem->row[0].lo == 0 && problem->row[0].hi == INFINITY;
  S2SolverOptions strict = *options;
  strict.tolerance *= SMALL_ISLAND_FRACTION;
  int tries = 0;
  if (contacts > 0 && !one) {
    if (mcp_active(problem, &strict, arena, solution)) {
      return;
    }
    tries = solution->iterations;
  }
  mcp_solve_in_turn(problem, options, &strict, arena, solution, contacts, one);
  solution->iterations += tries;
}

static void solve_auto(const S2Problem *problem, const S2SolverOptions *options, S2Arena *arena,
                       S2Solution *solution) {
  int contacts = count_contacts(problem);
  // For problems with joints only, use the requested linear solver, or factor the Delassus matrix.
  if (contacts == 0 && options->linear != S2_LINEAR_AUTO) {
    mcp_run(s2_linear_solve, S2_SOLVER_LINEAR, problem, options, arena, solution);
    return;
  }
  if (contacts == 0 && s2_bilateral_solve(problem, options, arena, solution)) {
    return;
  }
  if (contacts > 0 && options->rest && mcp_rests(problem, options, arena, solution)) {
    return;
  }
  // For few contacts, use the fastest methods, with early pivoting.
  if (contacts <= PIVOT_SOON) {
    mcp_solve_small(problem, options, arena, solution, contacts);
    return;
  }
  // For many contacts, run the chain of the interior-point method first, unless the guess is the
  // solution.
  if (mcp_keep_guess(problem, options, arena, solution)) {
    return;
  }
  bool good = mcp_run(s2_pdipm_solve, S2_SOLVER_PDIPM, problem, options, arena, solution);
  // Pivoting is expensive here. Use it only for problems that are not solved, or whose answer does
  // not conserve momentum.
  bool on = !good && !solution->cut && options->attempt == 0 && solution->status != S2_INFEASIBLE &&
            solution->status != S2_RAY;
  if (on && contacts <= PIVOT_AT_LAST) {
    on = !mcp_improve(s2_lemke_solve, S2_SOLVER_LEMKE, problem, options, arena, solution);
  }
  if (on) {
    mcp_finish(problem, options, options->tolerance, NEAR, arena, solution);
  }
}

// Returns true if the solvers support all rows (mcp.h). Problems from files may contain other rows.
static bool known_rows(const S2Problem *problem) {
  for (int i = 0; i < problem->rows; i++) {
    const S2Row *row = &problem->row[i];
    if (row->a == row->b) {
      return false;
    }
    // A friction row must follow its normal row and have the same nodes.
    if (row->coupled_to >= 0) {
      const S2Row *normal = row - 1;
      bool follows = row->coupled_to == i - 1 && normal->coupled_to < 0 && normal->lo == 0 &&
                     normal->hi == INFINITY && normal->a == row->a && normal->b == row->b;
      if (!follows) {
        return false;
      }
      continue;
    }
    // Accept only equations, contacts, limits and boxed rows.
    bool bilateral = row->lo == -INFINITY && row->hi == INFINITY;
    bool normal = row->lo == 0 && row->hi == INFINITY;
    bool box = isfinite(row->lo) && isfinite(row->hi) && row->lo < row->hi;
    if (!bilateral && !normal && !box) {
      return false;
    }
  }
  return true;
}

S2SolveStatus s2_mcp_solve(const S2Problem *problem, const S2SolverOptions *options, S2Arena *arena,
                           S2Solution *solution) {
  solution->iterations = 0;
  solution->work = 0;
  solution->cut = false;
  solution->used = options->solver;
  if (solution->low != NULL) {
    memset(solution->low, 0, sizeof(double) * (size_t)problem->rows);
  }
  if (options->keep != NULL) {
    options->keep->groups = 0;
  }
  // Reject problems that no solver supports, and solve problems without rows directly.
  if (!known_rows(problem)) {
    return s2_solver_refuse(problem, arena, solution);
  }
  if (problem->rows == 0) {
    s2_mcp_velocity(problem, solution->lambda, solution->v);
    solution->residual = s2_mcp_residual(problem, solution->v, solution->lambda, arena);
    return solution->status = S2_SOLVED;
  }
  if (options->solver == S2_SOLVER_AUTO) {
    solve_auto(problem, options, arena, solution);
  } else {
    mcp_run(SOLVERS[options->solver], options->solver, problem, options, arena, solution);
  }
  // Judge the answer by its residual, not by the status that the solver reports.
  if (solution->residual.scaled <= options->tolerance) {
    solution->status = S2_SOLVED;
  } else if (solution->status == S2_SOLVED) {
    solution->status = S2_MAX_ITERATIONS;
  }
  return solution->status;
}
