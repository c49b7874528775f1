// Certified problems of a stage. They determine the active set, and solve stages with contacts.
// A certified problem contains all rows and bounds of the stage and is linear in the impulses.
#include "dynamics/rattle/rattle_numbers.h"
#include "dynamics/rattle/rattle_stage.h"
#include "dynamics/step/solve.h"
#include "linalg/numbers.h"
#include "mcp/solvers.h"

#include <string.h>

enum { SYMMETRIC = 40 }; // maximum number of passes
static const double SOLVED = S2_RATTLE_SOLVED;
// The cached contact modes are valid if the scaled residual does not exceed this value.
static const double MODES_HOLD = 1e-11;
// Below this scaled residual, the impulses of the previous step are the solution, up to rounding.
static const double GUESS_HOLDS = 1e-14;

// Returns the state of a row in the solution (x, v) of a certified problem. Either the impulse or
// the speed of the row is 0, up to the solver's residual. The larger of the two determines the
// state.
static S2RattleState state_of(const S2Problem *problem, S2RattleLaw law, int r, const double *v,
                              double x) {
  const S2Row *row = &problem->row[r];
  double near = 1e-9 * (row->hi - row->lo); // tolerance for an impulse at its bound
  double w = s2_mcp_delassus(problem, row, row), speed = row->bias + s2_rattle_row_speed(row, v);
  return law == S2_RATTLE_LIMIT     ? (x * w > speed ? S2_RATTLE_HELD : S2_RATTLE_OPEN)
         : law != S2_RATTLE_BOUNDED ? S2_RATTLE_HELD
         : x >= row->hi - near      ? S2_RATTLE_AT_HI
         : x <= row->lo + near      ? S2_RATTLE_AT_LO
                                    : S2_RATTLE_HELD;
}

typedef struct Certified { // a problem with all rows and their bounds, linear in the impulses
  S2Problem problem;
  S2Solution solution;
  int32_t *of; // maps rows of the problem to rows of the stage
} Certified;

// Lists the rows with unknown impulses in the standard order: equations, bounded rows, then
// contacts and limits. Returns their number.
static int order_rows(const S2RattleStage *stage, int32_t *of) {
  enum { KINDS = 3 };
  int n = 0;
  for (int kind = 0; kind < KINDS; kind++) {
    for (int r = 0; r < stage->rattle->rows; r++) {
      const S2Row *row = &stage->row[r];
      bool contact = row->coupled_to >= 0 || (row->lo == 0 && row->hi > 0);
      int own = contact ? 2 : isfinite(row->lo) ? 1 : 0;
      if (own == kind && !s2_stage_knows(stage->state[r])) {
        of[n++] = r;
      }
    }
  }
  return n;
}

// Returns the offset between the unknown of the certified problem and the impulse of row r. In
// stage 2, the unknowns of contacts are the sums of both stages. If there are contacts, equations
// also use sums. If contacts and joints share a load in an undetermined ratio, the solver then
// chooses the smallest solution for the sums, and each stage gets half of it.
static double impulse_beside(const S2RattleStage *stage, int r) {
  const S2Rattle *rattle = stage->rattle;
  bool sums = stage->second && rattle->touches > 0 && rattle->term[r].law == S2_RATTLE_EQUATION &&
              !s2_stage_knows(stage->state[r]);
  return sums ? rattle->l[r] : 0;
}

// Creates the certified problem. Its matrix is symmetric, with the stage's J on both sides. Stage 1
// is linearised at the velocities v for which r was computed.
static Certified make_certified(S2RattleStage *stage) {
  const S2Rattle *rattle = stage->rattle;
  S2Arena *arena = rattle->step->arena;
  S2Row *rows = S2_TAKE(arena, S2Row, rattle->rows);
  double *x = S2_TAKE(arena, double, rattle->rows), *speed = S2_TAKE(arena, double, rattle->rows);
  double *v = s2_arena_copy(arena, stage->v, 3 * rattle->nodes);
  double *rhs = s2_arena_copy(arena, stage->rhs, 3 * rattle->nodes);
  // Move known impulses to the right-hand side.
  s2_mcp_row_velocity(&stage->problem, stage->v, speed);
  for (int r = 0; r < rattle->rows; r++) {
    const S2Row *row = &stage->row[r];
    double known = s2_stage_knows(stage->state[r]) ? stage->x[r] : -impulse_beside(stage, r);
    for (int c = 0; c < 3 && known != 0; c++) {
      rhs[row->a >= 0 ? 3 * row->a + c : 0] += row->a >= 0 ? row->ja[c] * known : 0;
      rhs[row->b >= 0 ? 3 * row->b + c : 0] += row->b >= 0 ? row->jb[c] * known : 0;
    }
  }
  int32_t *of = S2_TAKE(arena, int32_t, rattle->rows);
  int n = order_rows(stage, of);
  for (int i = 0; i < n; i++) {
    int r = of[i];
    const S2Row *row = &stage->row[r];
    bool joins = i > 0 && row->group == stage->row[of[i - 1]].group;
    rows[i] = *row;
    rows[i].coupled_to = row->coupled_to < 0 ? -1 : i - 1;
    rows[i].group = i == 0 ? 0 : rows[i - 1].group + !joins;
    if (!stage->second) {
      rows[i].bias = stage->r[r] - speed[r] - row->compliance * stage->x[r];
    }
    x[i] = stage->x[r] + impulse_beside(stage, r);
    rows[i].bias -= row->compliance * impulse_beside(stage, r);
  }
  Certified certified = {.problem = stage->problem, .solution = {.v = v, .lambda = x}, .of = of};
  certified.problem.rows = n;
  certified.problem.row = rows;
  certified.problem.rhs = rhs;
  return certified;
}

void s2_stage_dump(S2RattleStage *stage) {
  S2Step *step = stage->rattle->step;
  if (step->world->dump_directory != NULL) {
    S2ArenaMark mark = s2_arena_mark(step->arena);
    Certified certified = make_certified(stage);
    s2_step_dump(step, &certified.problem);
    s2_arena_rewind(step->arena, mark);
  }
}

// Tolerance of a certified problem, unless the world has a smaller tolerance.
static const double CERTIFIED = 1e-9;

static S2SolverOptions certified_options(const S2RattleStage *stage) {
  double asked = stage->rattle->step->world->kept.def.tolerance;
  return (S2SolverOptions){.tolerance = fmin(CERTIFIED, asked), .max_iterations = 100};
}

// False: no method finds a solution.
static bool find_certified(const S2RattleStage *stage, Certified *certified) {
  S2SolverOptions options = certified_options(stage);
  s2_mcp_solve(&certified->problem, &options, stage->rattle->step->arena, &certified->solution);
  stage->rattle->step->world->stats.iterations += (uint64_t)certified->solution.iterations;
  return certified->solution.residual.scaled < 1e3 * SOLVED;
}

// Copies the impulses to the stage. If there are no contacts, also copies the active set.
static void take_certified(S2RattleStage *stage, const Certified *certified) {
  const S2Rattle *rattle = stage->rattle;
  const double *v = certified->solution.v, *x = certified->solution.lambda;
  for (int i = 0; i < certified->problem.rows; i++) {
    int r = certified->of[i];
    const S2Row *row = &certified->problem.row[i];
    if (rattle->touches > 0) { // problems with contacts need no active set
      stage->change[r] = row->bias + row->compliance * x[i] + s2_rattle_row_speed(row, v);
      stage->x[r] = x[i] - impulse_beside(stage, r);
    } else {
      stage->state[r] = state_of(&certified->problem, rattle->term[r].law, i, v, x[i]);
      stage->x[r] = s2_stage_clip(stage->state[r], &stage->row[r], x[i]);
    }
  }
}

bool s2_stage_solve_certified(S2RattleStage *stage) {
  S2ArenaMark mark = s2_arena_mark(stage->rattle->step->arena);
  Certified certified = make_certified(stage);
  bool solved = find_certified(stage, &certified);
  take_certified(stage, &certified);
  s2_arena_rewind(stage->rattle->step->arena, mark);
  return solved;
}

// Solves a sequence of certified problems, each linearised at the previous solution. This is used
// if the constraint graph is dense or if the active set does not converge. Stage 2 is linear and
// needs only one pass.
bool s2_stage_solve_symmetric(S2RattleStage *stage) {
  double before = INFINITY;
  bool going = true;
  s2_stage_free_given(stage);
  s2_stage_stand_still(stage);
  for (int pass = 0; pass < SYMMETRIC && going; pass++) {
    if (!s2_stage_solve_certified(stage)) {
      return false;
    }
    double now = s2_stage_measure(stage);
    going = !stage->second && now > stage->rattle->enough && now < before;
    before = now;
  }
  return s2_stage_accept(stage, SOLVED);
}

// Returns the largest difference (m) between the true error of a row and the error that the
// certified problem predicts. Ignores rows that neither push nor are violated.
static double off_certified(const S2RattleStage *stage) {
  const S2Rattle *rattle = stage->rattle;
  double worst = stage->turned;
  for (int r = 0; r < rattle->rows; r++) {
    const S2RattleTerm *term = &rattle->term[r];
    int normal = term->law == S2_RATTLE_FRICTION ? r - 1 : r; // viscosity has no normal row
    bool open = term->law >= S2_RATTLE_LIMIT && s2_rattle_of_contact(term) &&
                stage->x[normal] == 0 && stage->r[normal] > 0;
    if (!open && !s2_stage_knows(stage->state[r])) {
      double size = s2_row_is_angular(&stage->row[r]) ? rattle->island->length : 1;
      double error = rattle->h * fabs(stage->r[r] - stage->change[r]) * size;
      worst = error <= worst ? worst : error; // propagates NaN
    }
  }
  return worst;
}

// Linearises stage 1 at the velocities caused by the guessed impulses. This saves a pass if the
// rows have not changed since the previous step. Returns false if these velocities are too far from
// v0.
static bool stage_set_out(S2RattleStage *stage) {
  const S2Rattle *rattle = stage->rattle;
  bool near = !stage->second;
  for (int r = 0; r < rattle->rows; r++) {
    bool presses = rattle->term[r].source == S2_RATTLE_OF_GAP;
    near &= !rattle->late[r] && !(presses && stage->x[r] == 0);
  }
  if (near) {
    s2_mcp_velocity(&stage->problem, stage->x, stage->v);
  }
  // Check that the velocities are close enough to v0.
  for (int i = 0; i < 3 * rattle->nodes && near; i++) {
    double size = i % 3 == 0 ? rattle->island->length : 1;
    near = fabs(stage->v[i] - rattle->v0[i]) * size <= rattle->speed;
  }
  if (near) {
    s2_stage_measure_first(stage, stage->v);
  }
  return near;
}

// Returns true if the problem is a single contact. Its solution has a closed form, so there are no
// modes to cache.
static bool one_contact(const S2Problem *problem) {
  return problem->rows <= 2 && problem->row[0].lo == 0 && problem->row[0].hi == INFINITY;
}

// Solves the certified problem of the first pass. *modes receives its contact modes and their
// matrix factor, or NULL. If there are modes, the solution is exact, and the stage is certified
// later. Returns false if no method finds a solution.
static bool first_pass(S2RattleStage *stage, Certified *certified, S2ActiveModes **modes) {
  S2Arena *arena = stage->rattle->step->arena;
  *certified = make_certified(stage);
  *modes = NULL;
  if (!one_contact(&certified->problem)) {
    S2ArenaMark mark = s2_arena_mark(arena);
    S2SolverOptions options = certified_options(stage);
    *modes = s2_active_keep(&certified->problem, &options, arena, &certified->solution);
    stage->rattle->step->world->stats.iterations += (uint64_t)certified->solution.iterations;
    if (*modes == NULL) {
      s2_arena_rewind(arena, mark);
      *certified = make_certified(stage);
    }
  }
  if (*modes == NULL && !find_certified(stage, certified)) {
    return false;
  }
  take_certified(stage, certified);
  s2_stage_measure(stage);
  return true;
}

bool s2_stage_solve_modes(S2RattleStage *stage) {
  S2ArenaMark mark = s2_arena_mark(stage->rattle->step->arena);
  Certified certified;
  S2ActiveModes *modes;
  bool solved = first_pass(stage, &certified, &modes);
  s2_arena_rewind(stage->rattle->step->arena, mark);
  return solved;
}

// Corrects the impulses with the modes and the factor of the first pass until the held rows have no
// error. Late rows still use the matrix of the first pass, although their directions have changed.
// Returns false if the passes do not converge.
static bool correct_in_modes(S2RattleStage *stage, const Certified *certified,
                             S2ActiveModes *modes) {
  const S2Rattle *rattle = stage->rattle;
  double *speed = S2_TAKE(rattle->step->arena, double, certified->problem.rows);
  double before = INFINITY;
  for (int pass = 0; pass < SYMMETRIC; pass++) {
    for (int i = 0; i < certified->problem.rows; i++) {
      speed[i] = stage->r[certified->of[i]];
    }
    double now = s2_larger(rattle->h * s2_active_missed(modes, speed), stage->turned);
    if (now <= rattle->enough || !(now < before)) {
      return now <= rattle->enough;
    }
    // Correct the impulses, then evaluate the rows at the new velocities.
    s2_active_correct(modes);
    before = now;
    for (int i = 0; i < certified->problem.rows; i++) {
      stage->x[certified->of[i]] = certified->solution.lambda[i];
    }
    s2_stage_measure(stage);
  }
  return false;
}

// Solves a sequence of certified problems until their rows match the true rows. Each problem is
// linearised at the previous solution.
static bool contacts_pass(S2RattleStage *stage) {
  double before = INFINITY, now = INFINITY;
  for (int pass = 0; pass < SYMMETRIC; pass++) {
    if (!s2_stage_solve_certified(stage)) {
      return false;
    }
    s2_stage_measure(stage);
    now = off_certified(stage);
    if (!(now > stage->rattle->enough && (now < before || pass < 4))) {
      return s2_stage_accept(stage, SOLVED);
    }
    before = now;
  }
  return s2_stage_accept(stage, SOLVED);
}

// Stage 2 is linear and needs one solve. Stage 1 corrects its first solution with the same contact
// modes, and accepts the result if these modes are still valid.
static bool contacts_at_once(S2RattleStage *stage) {
  const S2Rattle *rattle = stage->rattle;
  S2ArenaMark mark = s2_arena_mark(rattle->step->arena);
  Certified certified;
  S2ActiveModes *modes;
  S2SolverOptions options = certified_options(stage);
  bool done = first_pass(stage, &certified, &modes);
  if (done && !stage->second && off_certified(stage) > rattle->enough) {
    modes = modes != NULL ? modes
                          : s2_active_keep(&certified.problem, &options, rattle->step->arena,
                                           &certified.solution);
    done = modes != NULL && correct_in_modes(stage, &certified, modes);
  }
  done = done && s2_stage_accept(stage, stage->second ? SOLVED : MODES_HOLD);
  s2_arena_rewind(rattle->step->arena, mark);
  return done;
}

bool s2_stage_solve_contacts(S2RattleStage *stage) {
  if (stage->second) {
    s2_stage_measure(stage);
    if (s2_stage_accept(stage, GUESS_HOLDS)) {
      return true;
    }
    s2_stage_stand_still(stage);
    return contacts_at_once(stage);
  }
  // If bodies keep sliding or rolling, the guessed impulses are already the solution.
  bool near = stage_set_out(stage);
  if (near && s2_stage_accept(stage, GUESS_HOLDS)) {
    return true;
  }
  if (!near) {
    s2_stage_stand_still(stage);
  }
  if (contacts_at_once(stage) || (near && contacts_pass(stage))) {
    return true;
  }
  s2_stage_stand_still(stage);
  return contacts_pass(stage);
}
