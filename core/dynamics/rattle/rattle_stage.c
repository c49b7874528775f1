// One stage of the flow: Newton's method on the rows that an active set holds, with J1 M^-1 J0' of
// joints and a substitution a pass; the set is that of the last step, or of a certified linear
// problem, whose impulses are near: those of a wrong set would take Newton to another root.
#include "dynamics/rattle/rattle.h"
#include "dynamics/rattle/rattle_numbers.h"
#include "dynamics/step/solve.h"
#include "linalg/numbers.h"
#include "mcp/solvers.h"

#include <string.h>

// Active sets tried; the certified problem says every so many which one it is.
enum { SETS = 12, CERTIFIED = 4 };
enum { PASSES = S2_RATTLE_PASSES, SYMMETRIC = 40 };
static const double CHORD = S2_RATTLE_CHORD;
static const double ROUNDING = S2_RATTLE_ROUNDING, SOLVED = S2_RATTLE_SOLVED;
static const double NO_SPEED = S2_RATTLE_NO_SPEED;
// Of the scaled residual: modes that were kept hold.
static const double MODES_HOLD = 1e-11;
// Part of its bounds, or of its impulse, by which an impulse may be beyond its bound: rounding.
static const double SLACK = 1e-15;

typedef struct Stage {
  S2Rattle *rattle;
  bool second;
  S2Problem problem; // of the rows; bounds of x
  S2Row *row;
  double *mass, *rhs; // 3 a node
  double *x, *v, *r;  // a row: impulses; 3 a node: their velocities; a row: what it is off, m/s
  S2RattleState *state;
  // Rows that are held, in their order
  S2Problem active;
  S2Row *part;
  S2RowSides *left;
  double *change;
  int32_t *index;
  int held;
  bool dense;    // rows make a dense graph, which has no pattern
  double turned; // m: by how much late rows have changed what they push
} Stage;

// ---- Residuals ---------------------------------------------------------------------------------

// Poses at the end of stage 1.
static void move_nodes(const S2Rattle *rattle, const double *u) {
  for (int i = 0; i < 3 * rattle->nodes; i++) {
    int at = 3 * rattle->island->node[i / 3] + i % 3;
    rattle->q1[at] = rattle->q0[at] + rattle->h * u[i];
  }
}

// r of stage 1 at the velocities v: (g(q1) - from)/h + C l + b.
static void measure_first(Stage *stage, const double *v) {
  S2Rattle *rattle = stage->rattle;
  double h = rattle->h;
  move_nodes(rattle, v);
  s2_rattle_measure(rattle, rattle->q1, s2_rattle_elapsed(rattle) + h, &rattle->at1);
  for (int r = 0; r < rattle->rows; r++) {
    const S2RattleTerm *term = &rattle->term[r];
    double from = term->changes ? rattle->at0.value[r] : 0;
    double speed = term->law == S2_RATTLE_FRICTION ? s2_rattle_slip(rattle, r, v)
                                                   : (rattle->at1.value[r] - from) / h;
    stage->r[r] = speed + term->compliance * stage->x[r] + term->bias - term->speed;
  }
}

// Rows that begin open push along what they are at the end: m, by how much that has changed.
static double turn_late(Stage *stage) {
  const S2Rattle *rattle = stage->rattle;
  double worst = 0, length = rattle->island->length;
  for (int r = 0; r < rattle->rows; r++) {
    S2Row *row = &stage->row[r];
    if (!rattle->late[r]) {
      continue;
    }
    S2Row now = s2_rattle_row(rattle, r, &rattle->at1.side[r]);
    double push = rattle->h * fabs(stage->x[r]);
    for (int c = 0; c < 3; c++) {
      double size = c == 0 ? length : 1;
      double a = row->a >= 0 ? fabs(now.ja[c] - row->ja[c]) / stage->mass[3 * row->a + c] : 0;
      double b = row->b >= 0 ? fabs(now.jb[c] - row->jb[c]) / stage->mass[3 * row->b + c] : 0;
      worst = fmax(worst, push * size * fmax(a, b));
      row->ja[c] = now.ja[c];
      row->jb[c] = now.jb[c];
    }
  }
  return worst;
}

// r of all rows at the impulses x; the largest of those that are held, as a displacement, m.
static double stage_measure(Stage *stage) {
  const S2Rattle *rattle = stage->rattle;
  double worst = 0, fastest = 0;
  s2_mcp_velocity(&stage->problem, stage->x, stage->v);
  if (stage->second) {
    s2_mcp_row_velocity(&stage->problem, stage->v, stage->r);
    for (int r = 0; r < rattle->rows; r++) {
      stage->r[r] += stage->row[r].compliance * stage->x[r] + stage->row[r].bias;
    }
  } else {
    measure_first(stage, stage->v);
    worst = stage->turned = turn_late(stage);
  }
  for (int r = 0; r < rattle->rows; r++) {
    if (stage->state[r] == S2_RATTLE_HELD) {
      double size = s2_row_is_angular(&stage->row[r]) ? rattle->island->length : 1;
      double error = fabs(stage->r[r]) * size;
      fastest = error <= fastest ? fastest : error; // keeps a NaN
    }
  }
  double error = rattle->h * fastest;
  return error <= worst ? worst : error;
}

// The residual of a stage that has only equations. Its velocities follow from the impulses, so the
// errors of the rows are all there is.
static bool certify_equations(const Stage *stage, S2Residual *residual) {
  const S2Rattle *rattle = stage->rattle;
  double scaled = 0;
  *residual = (S2Residual){0};
  for (int r = 0; r < rattle->rows; r++) {
    if (rattle->term[r].law != S2_RATTLE_EQUATION) {
      return false;
    }
    bool known = stage->state[r] == S2_RATTLE_KNOWN;
    double error = known ? 0 : fabs(stage->r[r]);
    double speed = error * s2_row_weight(&stage->problem, &stage->row[r]);
    residual->joint = s2_larger(residual->joint, error);
    scaled = s2_larger(scaled, speed);
  }
  residual->scaled = scaled / stage->problem.velocity_scale;
  return true;
}

// The residual of the stage's problem with the measured rows. Rows whose impulse the stage knows
// have no law in it and are left out.
static S2Residual stage_certificate(Stage *stage) {
  const S2Rattle *rattle = stage->rattle;
  S2Arena *arena = rattle->step->arena;
  S2ArenaMark mark = s2_arena_mark(arena);
  S2Problem problem = stage->problem;
  S2Row *rows = S2_TAKE(arena, S2Row, rattle->rows);
  double *speed = S2_TAKE(arena, double, rattle->rows), *x = S2_TAKE(arena, double, rattle->rows);
  s2_mcp_row_velocity(&problem, stage->v, speed);
  // In stage 1 a row has the speed that it was measured with.
  int n = 0;
  for (int r = 0; r < rattle->rows; r++) {
    if (rattle->touches > 0 && stage->state[r] == S2_RATTLE_KNOWN) {
      continue;
    }
    rows[n] = stage->row[r];
    rows[n].coupled_to = rows[n].coupled_to < 0 ? -1 : n - 1;
    if (!stage->second) {
      rows[n].bias = stage->r[r] - speed[r] - rows[n].compliance * stage->x[r];
    }
    x[n++] = stage->x[r];
  }
  problem.row = rows;
  problem.rows = n;
  S2Residual residual = s2_mcp_residual(&problem, stage->v, x, arena);
  s2_arena_rewind(arena, mark);
  return residual;
}

// ---- Newton ------------------------------------------------------------------------------------

static void choose_active(Stage *stage) {
  stage->held = 0;
  for (int r = 0; r < stage->rattle->rows; r++) {
    if (stage->state[r] == S2_RATTLE_HELD) {
      stage->index[stage->held] = r;
      stage->part[stage->held] = stage->row[r];
      stage->part[stage->held].lo = -INFINITY;
      stage->part[stage->held++].hi = INFINITY;
    }
  }
  stage->active = stage->problem;
  stage->active.rows = stage->held;
  stage->active.row = stage->part;
}

// The pattern of the rows that are held, which most stages share.
static bool take_pattern(Stage *stage) {
  S2Rattle *rattle = stage->rattle;
  size_t size = sizeof(int32_t) * (size_t)stage->held;
  bool same = rattle->patterned && rattle->pattern_rows == stage->held &&
              memcmp(rattle->pattern_of, stage->index, size) == 0;
  if (!same) {
    rattle->patterned = s2_bilateral_init(&rattle->matrix, &stage->active, rattle->step->arena);
    rattle->pattern_rows = stage->held;
    memcpy(rattle->pattern_of, stage->index, size);
    stage->dense = !rattle->patterned;
  }
  rattle->matrix.problem = &stage->active;
  return rattle->patterned;
}

// False: there is no factor, or (*again) a row that repeats others was left out of the set.
static bool stage_factor(Stage *stage, bool *again) {
  S2Rattle *rattle = stage->rattle;
  for (int i = 0; i < stage->held; i++) {
    const S2Row *row = &stage->row[stage->index[i]];
    stage->left[i] = rattle->at1.side[stage->index[i]];
    memcpy(stage->part[i].ja, row->ja, sizeof row->ja);
    memcpy(stage->part[i].jb, row->jb, sizeof row->jb);
  }
  if (s2_bilateral_factor(&rattle->matrix, stage->second ? NULL : stage->left)) {
    return true;
  }
  int redundant = s2_bilateral_redundant(&rattle->matrix);
  *again = redundant >= 0;
  if (*again) {
    int r = stage->index[redundant];
    stage->state[r] = S2_RATTLE_GIVEN;
    stage->x[r] = rattle->term[r].law == S2_RATTLE_EQUATION ? 0 : stage->x[r];
  }
  return false;
}

static bool newton_pass(Stage *stage, double *now, double *before) {
  for (int i = 0; i < stage->held; i++) {
    stage->change[i] = stage->r[stage->index[i]];
  }
  s2_bilateral_apply(&stage->rattle->matrix, stage->change);
  for (int i = 0; i < stage->held; i++) {
    stage->x[stage->index[i]] -= stage->change[i];
  }
  *before = *now;
  *now = stage_measure(stage);
  return isfinite(*now);
}

// Newton's method on what is held. False: it does not converge.
static bool stage_newton(Stage *stage) {
  const S2Rattle *rattle = stage->rattle;
  double rounding = fmax(100 * rattle->enough, ROUNDING * rattle->speed * rattle->h);
  double enough = stage->second ? fmin(rattle->enough, 0.1 * ROUNDING * rattle->speed * rattle->h)
                                : rattle->enough;
  bool again = true;
  while (again) { // once for each row that repeats others
    double now = stage_measure(stage), before = INFINITY;
    bool factored = false;
    again = false;
    choose_active(stage);
    if (stage->held == 0 || now <= enough) {
      return true;
    }
    if (!take_pattern(stage)) {
      return false;
    }
    for (int pass = 0; pass < PASSES && now > enough && !again; pass++) {
      bool stalls = factored && now >= before;
      if (stalls || (stage->second && factored && now > CHORD * before)) {
        return now <= rounding;
      }
      if (!factored || now > CHORD * before) {
        factored = stage_factor(stage, &again);
        if (!factored && !again) {
          return false;
        }
      }
      if (!again && !newton_pass(stage, &now, &before)) {
        return false;
      }
    }
    if (!again) {
      return now <= rounding;
    }
  }
  return false;
}

// ---- The active set ----------------------------------------------------------------------------

static double clip_to(S2RattleState state, const S2Row *row, double x) {
  return state == S2_RATTLE_AT_HI   ? row->hi
         : state == S2_RATTLE_AT_LO ? row->lo
         : state == S2_RATTLE_OPEN  ? 0
                                    : x;
}

static void put_bounds(Stage *stage) {
  for (int r = 0; r < stage->rattle->rows; r++) {
    stage->x[r] = clip_to(stage->state[r], &stage->row[r], stage->x[r]);
  }
}

// Is the impulse no unknown?
static bool stage_knows(S2RattleState state) {
  return state == S2_RATTLE_GIVEN || state == S2_RATTLE_KNOWN;
}

// Are all rows on their right side? Changes the states of those that are not.
static bool stage_revise(Stage *stage) {
  const S2Rattle *rattle = stage->rattle;
  double tiny = rattle->enough / rattle->h;
  bool right = true;
  for (int r = 0; r < rattle->rows; r++) {
    S2RattleLaw law = rattle->term[r].law;
    S2RattleState state = stage->state[r], next;
    const S2Row *row = &stage->row[r];
    double x = stage->x[r], slack = SLACK * (isfinite(row->hi) ? row->hi - row->lo : fabs(x));
    if (law == S2_RATTLE_EQUATION || stage_knows(state)) {
      // A limit that repeated others, and is beyond its place all the same: one of those has to
      // open.
      right &= !(law == S2_RATTLE_LIMIT && state == S2_RATTLE_GIVEN && stage->r[r] < -tiny);
      continue;
    }
    if (state == S2_RATTLE_HELD) {
      next = x > row->hi + slack   ? S2_RATTLE_AT_HI
             : x < row->lo - slack ? (law == S2_RATTLE_LIMIT ? S2_RATTLE_OPEN : S2_RATTLE_AT_LO)
                                   : state;
    } else if (state == S2_RATTLE_AT_HI) {
      next = stage->r[r] > tiny ? S2_RATTLE_HELD : state;
    } else {
      next = stage->r[r] < -tiny ? S2_RATTLE_HELD : state;
    }
    right &= next == state;
    stage->state[r] = next;
  }
  // A row that repeated one that is held no more.
  for (int r = 0; r < rattle->rows && !right; r++) {
    bool freed = stage->state[r] == S2_RATTLE_GIVEN && rattle->term[r].law != S2_RATTLE_EQUATION;
    stage->state[r] = freed ? S2_RATTLE_HELD : stage->state[r];
  }
  put_bounds(stage);
  return right;
}

// What the solution (x, v) of a certified problem says of its row: of an impulse and its speed one
// is 0, up to what the solver leaves, and the larger one says which.
static S2RattleState state_of(const S2Problem *problem, S2RattleLaw law, int r, const double *v,
                              double x) {
  const S2Row *row = &problem->row[r];
  double near = 1e-9 * (row->hi - row->lo); // a certified impulse is at its bound but for that
  double w = 0, speed = row->bias;
  for (int c = 0; c < 3; c++) {
    w += row->a >= 0 ? row->ja[c] * row->ja[c] / problem->mass[3 * row->a + c] : 0;
    w += row->b >= 0 ? row->jb[c] * row->jb[c] / problem->mass[3 * row->b + c] : 0;
    speed += row->a >= 0 ? row->ja[c] * v[3 * row->a + c] : 0;
    speed += row->b >= 0 ? row->jb[c] * v[3 * row->b + c] : 0;
  }
  return law == S2_RATTLE_LIMIT     ? (x * w > speed ? S2_RATTLE_HELD : S2_RATTLE_OPEN)
         : law != S2_RATTLE_BOUNDED ? S2_RATTLE_HELD
         : x >= row->hi - near      ? S2_RATTLE_AT_HI
         : x <= row->lo + near      ? S2_RATTLE_AT_LO
                                    : S2_RATTLE_HELD;
}

typedef struct Certified { // all rows with their bounds, linear in the impulses
  S2Problem problem;
  S2Solution solution;
} Certified;

// With the stage's J on both sides. Stage 1 is linearised at the velocities v, at which r has been
// measured.
static Certified make_certified(Stage *stage) {
  const S2Rattle *rattle = stage->rattle;
  S2Arena *arena = rattle->step->arena;
  S2Row *rows = S2_TAKE(arena, S2Row, rattle->rows);
  double *x = S2_TAKE(arena, double, rattle->rows), *speed = S2_TAKE(arena, double, rattle->rows);
  double *v = s2_arena_copy(arena, stage->v, 3 * rattle->nodes);
  double *rhs = s2_arena_copy(arena, stage->rhs, 3 * rattle->nodes);
  // What the stage knows is on the right side.
  int n = 0;
  s2_mcp_row_velocity(&stage->problem, stage->v, speed);
  for (int r = 0; r < rattle->rows; r++) {
    const S2Row *row = &stage->row[r];
    if (stage_knows(stage->state[r])) {
      for (int c = 0; c < 3 && stage->x[r] != 0; c++) {
        rhs[row->a >= 0 ? 3 * row->a + c : 0] += row->a >= 0 ? row->ja[c] * stage->x[r] : 0;
        rhs[row->b >= 0 ? 3 * row->b + c : 0] += row->b >= 0 ? row->jb[c] * stage->x[r] : 0;
      }
      continue;
    }
    rows[n] = *row;
    rows[n].coupled_to = row->coupled_to < 0 ? -1 : n - 1;
    if (!stage->second) {
      rows[n].bias = stage->r[r] - speed[r] - row->compliance * stage->x[r];
    }
    x[n++] = stage->x[r];
  }
  Certified certified = {.problem = stage->problem, .solution = {.v = v, .lambda = x}};
  certified.problem.rows = n;
  certified.problem.row = rows;
  certified.problem.rhs = rhs;
  return certified;
}

static const S2SolverOptions CERTIFIED_OPTIONS = {.tolerance = 1e-11, .max_iterations = 100};

// False: no method finds a solution.
static bool find_certified(const Stage *stage, Certified *certified) {
  s2_mcp_solve(&certified->problem, &CERTIFIED_OPTIONS, stage->rattle->step->arena,
               &certified->solution);
  stage->rattle->step->world->stats.iterations += (uint64_t)certified->solution.iterations;
  return certified->solution.residual.scaled < 1e3 * SOLVED;
}

// What the solution says, to the stage: impulses, and the active set of joints alone.
static void take_certified(Stage *stage, const Certified *certified) {
  const S2Rattle *rattle = stage->rattle;
  const double *v = certified->solution.v, *x = certified->solution.lambda;
  int n = 0;
  for (int r = 0; r < rattle->rows; r++) {
    if (!stage_knows(stage->state[r]) && rattle->touches > 0) { // symmetric passes need no set
      const S2Row *row = &certified->problem.row[n];
      stage->change[r] = row->bias + row->compliance * x[n] + s2_rattle_row_speed(row, v);
      stage->x[r] = x[n++];
    } else if (!stage_knows(stage->state[r])) {
      stage->state[r] = state_of(&certified->problem, rattle->term[r].law, n, v, x[n]);
      stage->x[r] = clip_to(stage->state[r], &stage->row[r], x[n++]);
    }
  }
}

static bool solve_certified(Stage *stage) {
  S2ArenaMark mark = s2_arena_mark(stage->rattle->step->arena);
  Certified certified = make_certified(stage);
  bool solved = find_certified(stage, &certified);
  take_certified(stage, &certified);
  s2_arena_rewind(stage->rattle->step->arena, mark);
  return solved;
}

// As stage 1 is linearised first: at velocities 0 of the nodes, with the ground at its end.
static void stage_stand_still(Stage *stage) {
  memset(stage->v, 0, sizeof(double) * (size_t)(3 * stage->rattle->nodes));
  if (!stage->second) {
    measure_first(stage, stage->v);
  }
}

// `most`: of the scaled residual.
static bool stage_accept(Stage *stage, double most) {
  S2Residual residual;
  if (!certify_equations(stage, &residual)) {
    residual = stage_certificate(stage);
  }
  if (!(residual.scaled <= most)) {
    return false;
  }
  s2_keep_worst(&stage->rattle->worst, &residual);
  return true;
}

static void free_given(Stage *stage) {
  for (int r = 0; r < stage->rattle->rows; r++) {
    bool given = stage->state[r] == S2_RATTLE_GIVEN;
    stage->state[r] = given ? S2_RATTLE_HELD : stage->state[r];
  }
}

// Certified problems alone, each linearised where the one before has led: for graphs that have no
// pattern, and sets that do not settle. Stage 2 is linear.
static bool solve_symmetric(Stage *stage) {
  double before = INFINITY;
  bool going = true;
  free_given(stage);
  stage_stand_still(stage);
  for (int pass = 0; pass < SYMMETRIC && going; pass++) {
    if (!solve_certified(stage)) {
      return false;
    }
    double now = stage_measure(stage);
    going = !stage->second && now > stage->rattle->enough && now < before;
    before = now;
  }
  return stage_accept(stage, SOLVED);
}

// m: by how much rows that push, or are beyond their place, are off what the certified problem has
// had them at.
static double off_certified(const Stage *stage) {
  const S2Rattle *rattle = stage->rattle;
  double worst = stage->turned;
  for (int r = 0; r < rattle->rows; r++) {
    const S2RattleTerm *term = &rattle->term[r];
    int normal = term->law == S2_RATTLE_FRICTION ? r - 1 : r;
    bool open = s2_rattle_of_contact(term) && stage->x[normal] == 0 && stage->r[normal] > 0;
    if (!open && !stage_knows(stage->state[r])) {
      double size = s2_row_is_angular(&stage->row[r]) ? rattle->island->length : 1;
      double error = rattle->h * fabs(stage->r[r] - stage->change[r]) * size;
      worst = error <= worst ? worst : error; // keeps a NaN
    }
  }
  return worst;
}

// Takes the velocities of the guessed impulses as the first point of linearisation of stage 1. That
// saves a pass where the rows are those of the step before. False: the guess is too far off.
static bool stage_set_out(Stage *stage) {
  const S2Rattle *rattle = stage->rattle;
  bool near = !stage->second;
  for (int r = 0; r < rattle->rows; r++) {
    bool presses = rattle->term[r].source == S2_RATTLE_OF_GAP;
    near &= !rattle->late[r] && !(presses && stage->x[r] == 0);
  }
  if (near) {
    s2_mcp_velocity(&stage->problem, stage->x, stage->v);
  }
  for (int i = 0; i < 3 * rattle->nodes && near; i++) { // not far from where they were
    double size = i % 3 == 0 ? rattle->island->length : 1;
    near = fabs(stage->v[i] - rattle->v0[i]) * size <= rattle->speed;
  }
  if (near) {
    measure_first(stage, stage->v);
  }
  return near;
}

// Do rows that stage 1 does not know push along the same directions in each of its passes?
static bool pushes_stay(const Stage *stage) {
  bool stay = true;
  for (int r = 0; r < stage->rattle->rows; r++) {
    stay &= !stage->rattle->late[r] || stage_knows(stage->state[r]);
  }
  return stay;
}

// One contact in closed form has no modes that could be kept.
static bool one_contact(const S2Problem *problem) {
  return problem->rows <= 2 && problem->row[0].lo == 0 && problem->row[0].hi == INFINITY;
}

// The certified problem of the first pass; its modes and their factor, or NULL. The answer of modes
// is exact, and the stage is certified in the end. False: no method finds a solution.
static bool first_pass(Stage *stage, Certified *certified, S2ActiveModes **modes) {
  S2Arena *arena = stage->rattle->step->arena;
  *certified = make_certified(stage);
  *modes = NULL;
  if (!one_contact(&certified->problem)) {
    S2ArenaMark mark = s2_arena_mark(arena);
    *modes = s2_active_keep(&certified->problem, &CERTIFIED_OPTIONS, arena, &certified->solution);
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
  stage_measure(stage);
  return true;
}

// Passes with the modes and the factor of the first one: what rows that hold miss is taken away.
// False: it does not come to an end.
static bool correct_in_modes(Stage *stage, const Certified *certified, S2ActiveModes *modes) {
  const S2Rattle *rattle = stage->rattle;
  double *speed = S2_TAKE(rattle->step->arena, double, certified->problem.rows);
  double before = INFINITY;
  for (int pass = 0; pass < SYMMETRIC; pass++) {
    int n = 0;
    for (int r = 0; r < rattle->rows; r++) {
      if (!stage_knows(stage->state[r])) {
        speed[n++] = stage->r[r];
      }
    }
    double now = rattle->h * s2_active_missed(modes, speed);
    if (now <= rattle->enough || !(now < before)) {
      return now <= rattle->enough;
    }
    s2_active_correct(modes);
    before = now;
    n = 0;
    for (int r = 0; r < rattle->rows; r++) {
      if (!stage_knows(stage->state[r])) {
        stage->x[r] = certified->solution.lambda[n++];
      }
    }
    stage_measure(stage);
  }
  return false;
}

// Solves certified problems until both agree: each takes its right side from the rows where the one
// before has led.
static bool contacts_pass(Stage *stage) {
  double before = INFINITY, now = INFINITY;
  for (int pass = 0; pass < SYMMETRIC; pass++) {
    if (!solve_certified(stage)) {
      return false;
    }
    stage_measure(stage);
    now = off_certified(stage);
    if (!(now > stage->rattle->enough && (now < before || pass < 4))) {
      return stage_accept(stage, SOLVED);
    }
    before = now;
  }
  return stage_accept(stage, SOLVED);
}

// Stage 2 is linear, and solved at once. Stage 1 keeps the modes of its first solution, if they hold
// in the end.
static bool contacts_at_once(Stage *stage) {
  const S2Rattle *rattle = stage->rattle;
  S2ArenaMark mark = s2_arena_mark(rattle->step->arena);
  Certified certified;
  S2ActiveModes *modes;
  bool done = first_pass(stage, &certified, &modes);
  if (done && !stage->second && off_certified(stage) > rattle->enough) {
    modes = modes != NULL || !pushes_stay(stage) ? modes :
      s2_active_keep(&certified.problem, &CERTIFIED_OPTIONS, rattle->step->arena,
                               &certified.solution);
    done = modes != NULL && pushes_stay(stage) && correct_in_modes(stage, &certified, modes);
  }
  done = done && stage_accept(stage, stage->second ? SOLVED : MODES_HOLD);
  s2_arena_rewind(rattle->step->arena, mark);
  return done;
}

static bool solve_contacts(Stage *stage) {
  if (stage->second) {
    stage_stand_still(stage);
    return contacts_at_once(stage);
  }
  bool near = stage_set_out(stage);
  if (!near) {
    stage_stand_still(stage);
  }
  if (contacts_at_once(stage) || (near && contacts_pass(stage))) {
    return true;
  }
  stage_stand_still(stage);
  return contacts_pass(stage);
}

static bool stage_solve(Stage *stage) {
  if (stage->rattle->touches > 0) {
    return solve_contacts(stage);
  }
  for (int pass = 0; pass < SETS; pass++) {
    put_bounds(stage);
    bool solved = stage_newton(stage);
    if (solved && stage_revise(stage)) {
      if (stage_accept(stage, SOLVED)) {
        return true;
      }
      // Not so rows that were left out: far from the solution J1 M^-1 J0' may be singular by
      // chance.
      solved = false;
      free_given(stage);
      stage->dense |= pass > 0;
    }
    if (stage->dense) {
      break;
    }
    if (pass % CERTIFIED > 0 && solved) {
      continue;
    }
    // A Newton that went elsewhere leaves impulses that say nothing.
    for (int r = 0; r < stage->rattle->rows && !solved; r++) {
      stage->x[r] = stage_knows(stage->state[r]) ? stage->x[r] : 0;
    }
    stage_stand_still(stage);
    if (!solve_certified(stage)) {
      return false;
    }
  }
  return solve_symmetric(stage);
}

// ---- The two stages ----------------------------------------------------------------------------

static double place_speed(const S2Rattle *rattle) {
  return fmax(rattle->speed, NO_SPEED * rattle->rounding / rattle->h);
}

static Stage stage_make(S2Rattle *rattle, bool second) {
  S2Arena *arena = rattle->step->arena;
  int rows = rattle->rows, nodes = 3 * rattle->nodes;
  // Its own arrays; impulses, velocities and states are those of the piece.
  double *numbers = S2_TAKE(arena, double, 2 * rows + 2 * nodes);
  Stage stage = {.rattle = rattle,
                 .second = second,
                 .row = S2_TAKE(arena, S2Row, rows),
                 .part = S2_TAKE(arena, S2Row, rows),
                 .left = S2_TAKE(arena, S2RowSides, rows),
                 .index = S2_TAKE(arena, int32_t, rows),
                 .r = numbers,
                 .change = numbers + rows,
                 .mass = numbers + 2 * rows,
                 .rhs = numbers + 2 * rows + nodes,
                 .x = second ? rattle->k : rattle->l,
                 .v = second ? rattle->v1 : rattle->u,
                 .state = second ? rattle->second : rattle->first};
  stage.problem = (S2Problem){.nodes = rattle->nodes,
                              .rows = rows,
                              .mass = stage.mass,
                              .rhs = stage.rhs,
                              .row = stage.row,
                              .velocity_scale = second ? rattle->speed : place_speed(rattle),
                              .length = rattle->island->length};
  return stage;
}

// M (u - v0) = h/2 (f - D u) + J0' l
static void make_first(Stage *stage) {
  const S2Rattle *rattle = stage->rattle;
  double half = rattle->h / 2;
  for (int i = 0; i < 3 * rattle->nodes; i++) {
    stage->mass[i] = rattle->inertial[i] + half * (rattle->damping[i] + rattle->slope[i]);
    stage->rhs[i] = rattle->inertial[i] * rattle->v0[i] + half * rattle->force[i];
  }
  for (int r = 0; r < rattle->rows; r++) {
    const S2RattleTerm *term = &rattle->term[r];
    S2Row *row = &stage->row[r];
    *row = s2_rattle_row(rattle, r, &rattle->at0.side[r]);
    row->compliance = term->compliance;
    row->lo = term->law == S2_RATTLE_LIMIT ? 0 : -term->most * half;
    row->hi = term->most * half;
    if (rattle->touches > 0) { // the solver finds the set
      stage->state[r] = S2_RATTLE_HELD;
    }
    if (rattle->frees && rattle->late[r] && !s2_rattle_of_contact(term)) {
      stage->state[r] = S2_RATTLE_KNOWN;
      stage->x[r] = row->hi = 0;
    }
  }
}

static void push_nodes(const S2Row *row, double x, double *rhs) {
  for (int c = 0; c < 3; c++) {
    if (row->a >= 0) {
      rhs[3 * row->a + c] += row->ja[c] * x;
    }
    if (row->b >= 0) {
      rhs[3 * row->b + c] += row->jb[c] * x;
    }
  }
}

// What ground that moves brings along a row, m/s or rad/s.
static double ground_speed(const S2Rattle *rattle, int r, const S2RowSides *side) {
  const S2Step *step = rattle->step;
  const double *const j[2] = {side->a, side->b};
  int32_t slots[2];
  s2_rattle_bodies(rattle, &rattle->term[r], slots);
  double speed = 0;
  for (int i = 0; i < 2; i++) {
    for (int c = 0; c < 3 && slots[i] != S2_NONE && step->node_of[slots[i]] == S2_GROUND; c++) {
      speed += j[i][c] * step->free_v[3 * slots[i] + c];
    }
  }
  return speed;
}

// Unknown are k of equations and of soft rows, and the sums l + k of other rows with bounds.
static bool takes_sum(const S2RattleTerm *term) {
  return term->law != S2_RATTLE_EQUATION && !term->soft;
}

static void make_second_row(Stage *stage, int r) {
  const S2Rattle *rattle = stage->rattle;
  const S2RattleTerm *term = &rattle->term[r];
  const S2RowSides *side = &rattle->at1.side[r];
  S2Row *row = &stage->row[r];
  double *k = &stage->x[r], l = rattle->l[r], half = rattle->h / 2;
  double compliance = row->compliance, bias = row->bias; // of soft rows at the end
  *row = s2_rattle_row(rattle, r, side);
  row->bias = rattle->at1.rate[r] + ground_speed(rattle, r, side) - term->speed;
  stage->state[r] = rattle->touches > 0 ? S2_RATTLE_HELD : rattle->first[r];
  if (term->soft && term->trapezoid) { // k = l is known
    push_nodes(row, l, stage->rhs);
    stage->state[r] = S2_RATTLE_KNOWN;
    *k = 0;
    row->lo = row->hi = 0;
    return;
  }
  if (term->soft) {
    row->compliance = compliance;
    row->bias += bias;
  }
  row->lo = term->law == S2_RATTLE_LIMIT ? 0 : -term->most * half;
  row->hi = term->most * half;
  *k = l;
  if (takes_sum(term)) {
    row->lo *= 2;
    row->hi *= 2;
    push_nodes(row, -l, stage->rhs);
    *k = 2 * l;
  }
  // Limits that stage 1 has left open have no impulse.
  bool closed = s2_rattle_closed(rattle, r);
  if (term->law >= S2_RATTLE_LIMIT && !closed) {
    stage->state[r] = S2_RATTLE_KNOWN;
    *k = 0;
    row->lo = row->hi = 0;
  } else if (term->law == S2_RATTLE_LIMIT) {
    stage->state[r] = S2_RATTLE_HELD;
  }
}

// M (v1 - u) = h/2 (f - D u) + J1' k; bodies that damping stops within the step have D v1 there.
static void make_second(Stage *stage) {
  const S2Rattle *rattle = stage->rattle;
  double half = rattle->h / 2;
  for (int i = 0; i < 3 * rattle->nodes; i++) {
    double inertial = rattle->inertial[i], damped = half * rattle->damping[i];
    bool cayley = rattle->step->dt * rattle->damping[i] <= 2 * inertial;
    stage->mass[i] = inertial + (cayley ? 0 : damped);
    stage->rhs[i] = (inertial - (cayley ? damped : 0)) * rattle->u[i] + half * rattle->force[i];
  }
  double *compliance = S2_TAKE_ZEROED(rattle->step->arena, double, 2 * rattle->rows);
  double *bias = compliance + rattle->rows;
  s2_rattle_soften_end(rattle, &rattle->at1, compliance, bias, NULL);
  for (int r = 0; r < rattle->rows; r++) {
    stage->row[r].compliance = compliance[r];
    stage->row[r].bias = bias[r];
    make_second_row(stage, r);
  }
}

bool s2_rattle_first(S2Rattle *rattle) {
  // The pattern stays in the arena for the other stage, until the piece ends.
  Stage stage = stage_make(rattle, false);
  make_first(&stage);
  return stage_solve(&stage);
}

bool s2_rattle_second(S2Rattle *rattle) {
  Stage stage = stage_make(rattle, true);
  make_second(&stage);
  bool solved = stage_solve(&stage);
  for (int r = 0; r < rattle->rows; r++) { // k itself
    const S2RattleTerm *term = &rattle->term[r];
    bool known = term->soft && term->trapezoid;
    rattle->k[r] += known ? rattle->l[r] : takes_sum(term) ? -rattle->l[r] : 0;
  }
  return solved;
}

bool s2_rattle_rests(S2Rattle *rattle) {
  double fastest = 0, length = rattle->island->length;
  for (int i = 0; i < 3 * rattle->nodes; i++) {
    fastest = fmax(fastest, fabs(rattle->v0[i]) * (i % 3 == 0 ? length : 1));
  }
  if (fastest > SOLVED * rattle->speed) {
    return false;
  }
  S2ArenaMark mark = s2_arena_mark(rattle->step->arena);
  Stage stage = stage_make(rattle, false);
  make_first(&stage);
  stage_stand_still(&stage);
  for (int r = 0; r < rattle->rows; r++) { // gaps that are rounding are none
    bool rounded = fabs(rattle->at1.value[r]) <= 2 * rattle->rounding;
    stage.r[r] = rattle->term[r].source == S2_RATTLE_OF_GAP && rounded ? 0 : stage.r[r];
  }
  S2Residual residual = stage_certificate(&stage);
  s2_arena_rewind(rattle->step->arena, mark);
  if (!(residual.scaled <= ROUNDING)) { // a NaN is no rest
    return false;
  }
  s2_keep_worst(&rattle->worst, &residual);
  return true;
}
