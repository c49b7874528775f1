// The two stages of a piece of a small island.
#include "dynamics/rattle/rattle_numbers.h"
#include "dynamics/small/small.h"
#include "dynamics/step/solve.h"
#include "linalg/numbers.h"

#include <string.h>

// The numbers of rattle_certified.c: scaled residuals of guesses that are the solution, and of
// modes that hold; largest number of corrections.
static const double GUESS_HOLDS = 1e-14, MODES_HOLD = 1e-11;
enum { CORRECTIONS = 40 };

static void small_start_stage(S2Small *small, bool second, S2SmallStage *stage) {
  stage->small = small;
  stage->second = stage->refines = second;
  stage->side = second ? small->at1 : small->at0;
  stage->left = second ? stage->side : stage->slope;
  stage->known = small->known[second];
  stage->unknown = 0;
  stage->scale = small->speed;
}

// Sets the inverse masses. The ground has none, and its velocity is 0.
static void small_set_inverse(S2SmallStage *stage) {
  const S2Small *small = stage->small;
  for (int i = 0; i < 3 * small->nodes; i++) {
    stage->inverse[i] = 1 / stage->mass[i];
  }
  for (int i = 3 * small->nodes; i < 3 * small->seats; i++) {
    stage->inverse[i] = stage->v[i] = 0;
  }
}

// Writes the problem of the stage to a file if the world requires it. The problem is linear about
// its solution, as in s2_stage_dump.
static void small_dump(const S2SmallStage *stage) {
  const S2Small *small = stage->small;
  S2Step *step = small->step;
  if (step->world->dump_directory == NULL) {
    return;
  }
  S2ArenaMark mark = s2_arena_mark(step->arena);
  // The rows are in the order of s2_rattle_make_terms, which is that of a problem.
  S2Row *rows = S2_TAKE(step->arena, S2Row, stage->unknown);
  for (int i = 0; i < stage->unknown; i++) {
    int r = stage->list[i];
    const S2SmallRow *row = &small->row[r];
    const S2SmallSide *side = &stage->side[r];
    bool rough = row->law == S2_RATTLE_FRICTION, equation = row->law == S2_RATTLE_EQUATION;
    double speed = s2_small_along(row, side, stage->v) + stage->compliance[r] * stage->x[r];
    rows[i] = (S2Row){.a = row->a < small->nodes ? row->a : S2_GROUND,
                      .b = row->b < small->nodes ? row->b : S2_GROUND,
                      .coupled_to = rough ? i - 1 : -1,
                      .group = equation ? row->place : small->joints + i - rough,
                      .lo = equation ? -INFINITY : stage->lo[r],
                      .hi = equation ? INFINITY : stage->hi[r],
                      .mu = row->mu,
                      .compliance = stage->compliance[r],
                      .bias = stage->r[r] - speed};
    // The ground has no velocity.
    for (int c = 0; c < 3; c++) {
      rows[i].ja[c] = row->a < small->nodes ? side->a[c] : 0;
      rows[i].jb[c] = row->b < small->nodes ? side->b[c] : 0;
    }
  }
  S2Problem problem = {.nodes = small->nodes,
                       .rows = stage->unknown,
                       .mass = stage->mass,
                       .rhs = stage->rhs,
                       .row = rows,
                       .velocity_scale = stage->scale,
                       .length = small->length};
  s2_step_dump(step, &problem);
  s2_arena_rewind(step->arena, mark);
}

// ---- Stage 1 -----------------------------------------------------------------------------------

// Computes the residuals of stage 1 at the velocities v: (g(q1) - from)/h - speed.
static void small_measure_first(S2SmallStage *stage) {
  S2Small *small = stage->small;
  double h = small->h;
  for (int i = 0; i < small->nodes; i++) {
    for (int c = 0; c < 3; c++) {
      small->q1[i][c] = small->q0[i][c] + h * stage->v[3 * i + c];
    }
  }
  s2_small_measure(small, small->q1, true);
  for (int i = 0; i < stage->unknown; i++) {
    int r = stage->list[i];
    const S2SmallRow *row = &small->row[r];
    double from = row->changes ? small->at0[r].value : 0, speed;
    if (row->source == S2_RATTLE_OF_SLIP) {
      speed = (s2_small_along(row, &small->at0[r], stage->v) +
               s2_small_along(row, &small->at1[r], stage->v)) /
              2;
    } else {
      speed = (small->at1[r].value - from) / h;
    }
    stage->r[r] = speed - row->speed + (row->compliance * stage->x[r] + row->bias);
  }
}

static void small_make_first(S2SmallStage *stage, bool frees) {
  S2Small *small = stage->small;
  double half = small->h / 2;
  for (int i = 0; i < 3 * small->nodes; i++) {
    stage->mass[i] = small->inertial[i] + half * small->damping[i];
    stage->rhs[i] = small->inertial[i] * small->v0[i] + half * small->force[i];
  }
  small_set_inverse(stage);
  for (int r = 0; r < small->rows; r++) {
    const S2SmallRow *row = &small->row[r];
    stage->known[r] = frees && small->late[r];
    stage->compliance[r] = row->compliance;
    stage->lo[r] = row->law == S2_RATTLE_LIMIT ? 0 : -row->most * half;
    stage->hi[r] = row->most * half;
    stage->x[r] = stage->known[r] ? 0 : small->l[r];
    if (!stage->known[r]) {
      stage->list[stage->unknown++] = r;
    }
  }
}

static void small_start_first(S2Small *small, bool frees, S2SmallStage *stage) {
  small_start_stage(small, false, stage);
  stage->scale =
      fmax(small->speed, S2_RATTLE_NO_SPEED * small->rounding / (small->tolerance * small->h));
  small_make_first(stage, frees);
}

// Takes the rows at the end of the piece as derivatives of the speeds of stage 1. Friction acts
// along the mean of both ends.
static void small_take_slopes(S2SmallStage *stage) {
  const S2Small *small = stage->small;
  for (int i = 0; i < stage->unknown; i++) {
    int r = stage->list[i];
    S2SmallSide *slope = &stage->slope[r];
    *slope = small->at1[r];
    for (int c = 0; c < 3 && small->row[r].source == S2_RATTLE_OF_SLIP; c++) {
      slope->a[c] = (slope->a[c] + small->at0[r].a[c]) / 2;
      slope->b[c] = (slope->b[c] + small->at0[r].b[c]) / 2;
    }
  }
}

// Linearises stage 1 at the velocities of the guess or, if these are far from v0, at v0. Computes
// the speeds r for the guess. Returns true if r comes from the true rows and not from the linear
// problem.
static bool small_set_out(S2SmallStage *stage) {
  S2Small *small = stage->small;
  double guess[3 * S2_SMALL_NODES];
  bool near = true;
  for (int i = 0; i < small->points; i++) {
    near &= stage->x[small->point[i].row] > 0;
  }
  s2_small_velocity(stage);
  for (int i = 0; i < 3 * small->nodes && near; i++) {
    double size = i % 3 == 0 ? small->length : 1;
    near = fabs(stage->v[i] - small->v0[i]) * size <= small->speed;
  }
  // Measure the rows there.
  if (!near) {
    memcpy(guess, stage->v, sizeof(double) * (size_t)(3 * small->nodes));
    memcpy(stage->v, small->v0, sizeof(double) * (size_t)(3 * small->nodes));
  }
  small_measure_first(stage);
  small_take_slopes(stage);
  for (int i = 0; i < stage->unknown; i++) {
    int r = stage->list[i];
    stage->bias[r] = stage->r[r] - stage->compliance[r] * stage->x[r] -
                     s2_small_along(&small->row[r], &stage->slope[r], stage->v);
  }
  if (!near) {
    memcpy(stage->v, guess, sizeof(double) * (size_t)(3 * small->nodes));
    s2_small_speeds(stage);
  }
  return near;
}

// Corrects the impulses in the modes of the linear problem until the true rows hold. The rows turn
// within the piece, so each correction leaves a fraction of the error. Two corrections measure this
// fraction, so each further correction is extrapolated (Anderson 1965, depth 1).
static bool small_correct_first(S2SmallStage *stage) {
  S2Small *small = stage->small;
  double enough = small->enough / small->h, before = INFINITY;
  double x[2][S2_SMALL_ROWS], change[2][S2_SMALL_ROWS]; // of this and the last correction
  for (int pass = 0;; pass++) {
    int now = pass % 2, last = 1 - now;
    memcpy(x[now], stage->x, sizeof x[now]);
    s2_small_velocity(stage);
    small_measure_first(stage);
    double error = s2_small_correct(stage, small->problem, enough);
    if (error <= enough) {
      return true;
    }
    if (!(error < before) || pass == CORRECTIONS) {
      return false;
    }
    before = error;
    double along = 0, square = 0;
    for (int i = 0; i < stage->unknown; i++) {
      int r = stage->list[i];
      change[now][r] = stage->x[r] - x[now][r];
      double difference = pass > 0 ? change[now][r] - change[last][r] : 0;
      along += change[now][r] * difference;
      square += difference * difference;
    }
    double part = square > 0 ? along / square : 0;
    for (int i = 0; i < stage->unknown && part != 0; i++) {
      int r = stage->list[i];
      stage->x[r] -= part * (stage->x[r] - x[last][r] - change[last][r]);
    }
    s2_small_clip(stage, small->problem);
  }
}

// Solves stage 1. Returns false if the modes of its first linear problem do not hold for the true
// rows.
bool s2_small_first(S2Small *small, bool frees) {
  // The general path pushes such limits along the rows at the end of the piece.
  for (int r = 0; r < small->joint_rows && !frees; r++) {
    if (small->late[r]) {
      return false;
    }
  }
  S2SmallStage stage;
  small_start_first(small, frees, &stage);
  bool near = small_set_out(&stage);
  if (!s2_small_condense(&stage, small->problem)) {
    return false;
  }
  // If bodies keep sliding or rolling, the guessed impulses are already the solution.
  S2Residual residual = s2_small_residual(&stage, small->problem);
  if (!near || !(residual.scaled <= GUESS_HOLDS)) {
    if (!s2_small_solve(&stage, small->problem) || !small_correct_first(&stage)) {
      return false;
    }
    residual = s2_small_residual(&stage, small->problem);
  }
  // Rounding errors of positions may cause a residual above MODES_HOLD.
  if (!(residual.scaled <= fmax(MODES_HOLD, small->rounding / (small->h * stage.scale)))) {
    return false;
  }
  s2_keep_worst(&small->worst, &residual);
  small_dump(&stage);
  s2_small_states(&stage, small->problem);
  s2_small_measure_open(small);
  memcpy(small->l, stage.x, sizeof(double) * (size_t)small->rows);
  memcpy(small->u, stage.v, sizeof(double) * (size_t)(3 * small->nodes));
  return true;
}

// Returns true if the contact or limit of row r is closed in stage 2.
static bool small_closed(const S2Small *small, int r) {
  bool contact = small->row[r].source == S2_RATTLE_OF_GAP;
  double near = contact ? S2_TOUCH_SLOP * small->length : small->enough;
  return small->l[r] > 0 || small->at1[r].value <= near || r == small->closes;
}

// ---- Rest ---------------------------------------------------------------------------------------

// Sets the results of both stages for bodies that stay where they are.
static void small_stay(const S2SmallStage *stage) {
  S2Small *small = stage->small;
  s2_small_states(stage, small->problem);
  bool open = false;
  for (int r = 0; r < small->rows; r++) {
    const S2SmallRow *row = &small->row[r];
    small->l[r] = small->k[r] = stage->x[r];
    open = row->law == S2_RATTLE_LIMIT ? !small_closed(small, r) : open;
    bool known = row->trapezoid || (row->law >= S2_RATTLE_LIMIT && open);
    small->known[1][r] = known;
    small->state[1][r] = known ? S2_RATTLE_KNOWN : small->state[0][r];
  }
  memset(small->u, 0, sizeof small->u);
  memset(small->v1, 0, sizeof small->v1);
}

// Returns the speed (m/s) of the fastest body at the start of the piece.
static double small_fastest(const S2Small *small) {
  double fastest = 0;
  for (int i = 0; i < 3 * small->nodes; i++) {
    double size = i % 3 == 0 ? small->length : 1;
    fastest = fmax(fastest, fabs(small->v0[i]) * size);
  }
  return fastest;
}

// Linearises stage 1 for bodies that do not move. A gap within rounding errors counts as closed.
static void small_set_still(S2SmallStage *stage) {
  S2Small *small = stage->small;
  memset(stage->v, 0, sizeof stage->v);
  small_measure_first(stage);
  for (int i = 0; i < small->points; i++) {
    int r = small->point[i].row;
    bool closed = fabs(small->at1[r].value) <= S2_RATTLE_GAP_ROUNDED * small->rounding;
    stage->r[r] = closed ? 0 : stage->r[r];
  }
  small_take_slopes(stage);
  for (int i = 0; i < stage->unknown; i++) {
    int r = stage->list[i];
    stage->bias[r] = stage->r[r] - stage->compliance[r] * stage->x[r];
  }
}

// Returns the residual of the impulses x for bodies that do not move. Sets v to the velocities that
// the impulses cause.
static S2Residual small_residual_still(S2SmallStage *stage) {
  const S2Small *small = stage->small;
  for (int i = 0; i < stage->unknown; i++) {
    int r = stage->list[i];
    stage->r[r] = stage->compliance[r] * stage->x[r] + stage->bias[r];
  }
  S2Residual residual = s2_small_residual(stage, small->problem);
  s2_small_velocity(stage);
  for (int i = 0; i < 3 * small->nodes; i++) {
    double change = fabs(stage->v[i]) * (i % 3 == 0 ? small->length : 1);
    residual.dynamics = s2_larger(residual.dynamics, fabs(stage->v[i]) * stage->mass[i]);
    residual.scaled = s2_larger(residual.scaled, change / stage->scale);
  }
  return residual;
}

bool s2_small_rests(S2Small *small, bool frees) {
  double fastest = small_fastest(small);
  bool late = false;
  for (int r = 0; r < small->joint_rows; r++) {
    late |= small->late[r];
  }
  if (!(fastest <= S2_RATTLE_SOLVED * small->speed) || (late && !frees)) {
    return false;
  }
  S2SmallStage stage;
  small_start_first(small, frees, &stage);
  small_set_still(&stage);
  if (!s2_small_condense(&stage, small->problem)) {
    return false;
  }
  // Try the guess. For bodies that were set down, also try the impulses of the linear problem.
  S2Residual residual = small_residual_still(&stage);
  if (!(residual.scaled <= S2_RATTLE_ROUNDING) && fastest == 0) {
    s2_small_speeds(&stage);
    stage.refines = true;
    if (!s2_small_solve(&stage, small->problem)) {
      return false;
    }
    residual = small_residual_still(&stage);
    if (residual.scaled <= S2_RATTLE_ROUNDING) {
      small_dump(&stage);
    }
  }
  if (!(residual.scaled <= S2_RATTLE_ROUNDING)) {
    return false;
  }
  s2_keep_worst(&small->worst, &residual);
  s2_small_measure_open(small);
  small_stay(&stage);
  return true;
}

// ---- Stage 2 -----------------------------------------------------------------------------------

// Adds an impulse along a row to the right side.
static void small_push_rhs(S2SmallStage *stage, int r, double x) {
  const S2Small *small = stage->small;
  const S2SmallRow *row = &small->row[r];
  const S2SmallSide *side = &stage->side[r];
  for (int c = 0; c < 3; c++) {
    if (row->a < small->nodes) {
      stage->rhs[3 * row->a + c] += side->a[c] * x;
    }
    if (row->b < small->nodes) {
      stage->rhs[3 * row->b + c] += side->b[c] * x;
    }
  }
}

// Sets the bounds and coefficients of row r of stage 2. The unknown is the sum l + k, except for
// soft rows with the trapezoidal rule, for which k = l.
static void small_make_second_row(S2SmallStage *stage, int r, bool known) {
  const S2Small *small = stage->small;
  const S2SmallRow *row = &small->row[r];
  double l = small->l[r], half = small->h / 2, bound = row->most * (row->soft ? half : small->h);
  stage->known[r] = known || row->trapezoid;
  stage->lo[r] = row->law == S2_RATTLE_LIMIT ? 0 : -bound + (row->soft ? l : 0);
  stage->hi[r] = bound + (row->soft ? l : 0);
  stage->bias[r] = -row->speed;
  stage->compliance[r] = 0;
  stage->x[r] = stage->known[r] ? 0 : 2 * l;
  if (row->soft && !row->trapezoid) {
    double e = half * row->stiffness + row->damping;
    stage->compliance[r] = 1 / (half * e);
    stage->bias[r] += row->stiffness * small->at1[r].value / e - stage->compliance[r] * l;
  }
  if (l != 0) {
    small_push_rhs(stage, r, row->trapezoid ? l : -l);
  }
  if (!stage->known[r]) {
    stage->list[stage->unknown++] = r;
  }
}

static void small_make_second(S2SmallStage *stage) {
  S2Small *small = stage->small;
  double half = small->h / 2;
  for (int i = 0; i < 3 * small->nodes; i++) {
    double inertial = small->inertial[i], damped = half * small->damping[i];
    bool cayley = small->step->dt * small->damping[i] <= 2 * inertial;
    stage->mass[i] = inertial + (cayley ? 0 : damped);
    stage->rhs[i] = (inertial - (cayley ? damped : 0)) * small->u[i] + half * small->force[i];
  }
  small_set_inverse(stage);
  bool open = false;
  for (int r = 0; r < small->rows; r++) {
    S2RattleLaw law = small->row[r].law;
    if (law == S2_RATTLE_LIMIT) {
      open = !small_closed(small, r);
    }
    small_make_second_row(stage, r, law >= S2_RATTLE_LIMIT && open);
  }
}

bool s2_small_second(S2Small *small) {
  S2SmallStage stage;
  small_start_stage(small, true, &stage);
  small_make_second(&stage);
  if (!s2_small_condense(&stage, small->problem)) {
    return false;
  }
  s2_small_velocity(&stage);
  s2_small_speeds(&stage);
  // If the bodies move as in the last step, twice the impulses of stage 1 are the solution.
  S2Residual residual = s2_small_residual(&stage, small->problem);
  if (!(residual.scaled <= GUESS_HOLDS)) {
    if (!s2_small_solve(&stage, small->problem)) {
      return false;
    }
    s2_small_velocity(&stage);
    s2_small_speeds(&stage);
    residual = s2_small_residual(&stage, small->problem);
  }
  if (!(residual.scaled <= S2_RATTLE_SOLVED)) {
    return false;
  }
  s2_keep_worst(&small->worst, &residual);
  small_dump(&stage);
  s2_small_states(&stage, small->problem);
  for (int r = 0; r < small->rows; r++) {
    small->k[r] = small->row[r].trapezoid ? small->l[r] : stage.x[r] - small->l[r];
  }
  memcpy(small->v1, stage.v, sizeof(double) * (size_t)(3 * small->nodes));
  return true;
}
