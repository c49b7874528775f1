// One stage of the two-stage flow.
// Newton's method solves the rows held by the active set, with the joint matrix J1 M^-1 J0'. Most
// iterations reuse the factor of the matrix. The initial active set is taken from the last step or
// from a certified linear problem. Impulses of a wrong set could lead Newton's method to a wrong
// root, but impulses of the certified problem are close to the solution.
#include "dynamics/rattle/rattle_stage.h"
#include "dynamics/rattle/rattle_numbers.h"
#include "dynamics/step/solve.h"
#include "linalg/numbers.h"
#include "mcp/solvers.h"

#include <string.h>

// SETS is the maximum number of active sets to try. Every fourth set (CERTIFIED) is taken from the
// certified problem.
enum { SETS = 12, CERTIFIED = 4 };
enum { PASSES = S2_RATTLE_PASSES };
enum { TURNS = 40 }; // maximum number of solves with ground friction, which converge quadratically
static const double CHORD = S2_RATTLE_CHORD;
static const double ROUNDING = S2_RATTLE_ROUNDING, SOLVED = S2_RATTLE_SOLVED;
static const double NO_SPEED = S2_RATTLE_NO_SPEED;
// Multiples of the rounding error of positions. GAP_ROUNDED: a smaller gap counts as closed.
// SPRING_ROUNDED: the permitted deformation error of a spring whose impulse balances the forces.
static const double GAP_ROUNDED = S2_RATTLE_GAP_ROUNDED, SPRING_ROUNDED = 16;
// An impulse may exceed its bound by this fraction of the bounds or of the impulse, because of
// rounding errors.
static const double SLACK = 1e-15;

// ---- Newton ------------------------------------------------------------------------------------

// Adds a row to the held rows. Ground friction rows along and across the motion are separate
// blocks, which makes the held rows exact.
static void hold_row(S2RattleStage *stage, int r) {
  const S2RattleTerm *term = &stage->rattle->term[r];
  bool own = term->source == S2_RATTLE_OF_GROUND;
  S2Row *row = &stage->part[stage->held];
  *row = stage->row[r];
  row->lo = -INFINITY;
  row->hi = INFINITY;
  row->group = own ? row->group : term->place;
  stage->index[stage->held++] = r;
}

// Lists the held rows, including bounded rows. Groups them by joint to get fewer blocks.
static void choose_active(S2RattleStage *stage) {
  const S2Rattle *rattle = stage->rattle;
  stage->held = 0;
  for (int i = 0; i < rattle->island->joints; i++) {
    for (int k = 0; k < S2_JOINT_ROWS; k++) {
      int r = rattle->row_of[i][k];
      if (r >= 0 && stage->state[r] == S2_RATTLE_HELD) {
        hold_row(stage, r);
      }
    }
  }
  stage->active = stage->problem;
  stage->active.rows = stage->held;
  stage->active.row = stage->part;
}

// Computes the sparsity pattern of the held rows. Most stages share the same pattern.
static bool take_pattern(S2RattleStage *stage) {
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

// Factors the matrix of the held rows. Returns false if there is no factor, or if a redundant row
// was removed from the set. In the second case, *again is true.
static bool stage_factor(S2RattleStage *stage, bool *again) {
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

static bool newton_pass(S2RattleStage *stage, double *now, double *before) {
  for (int i = 0; i < stage->held; i++) {
    stage->change[i] = stage->r[stage->index[i]];
  }
  s2_bilateral_apply(&stage->rattle->matrix, stage->change);
  for (int i = 0; i < stage->held; i++) {
    stage->x[stage->index[i]] -= stage->change[i];
  }
  *before = *now;
  *now = s2_stage_measure(stage);
  return isfinite(*now);
}

// Runs Newton's method on the held rows. Returns false if it does not converge.
static bool stage_newton(S2RattleStage *stage) {
  const S2Rattle *rattle = stage->rattle;
  double rounding = fmax(100 * rattle->enough, ROUNDING * rattle->speed * rattle->h);
  double enough = stage->second ? fmin(rattle->enough, 0.1 * ROUNDING * rattle->speed * rattle->h)
                                : rattle->enough;
  bool again = true;
  while (again) { // repeat after removing each redundant row
    double now = s2_stage_measure(stage), before = INFINITY;
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

static void put_bounds(S2RattleStage *stage) {
  for (int r = 0; r < stage->rattle->rows; r++) {
    stage->x[r] = s2_stage_clip(stage->state[r], &stage->row[r], stage->x[r]);
  }
}

// Returns true if all rows satisfy their bounds. Changes the states of the rows that do not.
static bool stage_revise(S2RattleStage *stage) {
  const S2Rattle *rattle = stage->rattle;
  double tiny = rattle->enough / rattle->h;
  bool right = true;
  for (int r = 0; r < rattle->rows; r++) {
    S2RattleLaw law = rattle->term[r].law;
    S2RattleState state = stage->state[r], next;
    const S2Row *row = &stage->row[r];
    double x = stage->x[r], slack = SLACK * (isfinite(row->hi) ? row->hi - row->lo : fabs(x));
    if (law == S2_RATTLE_EQUATION || s2_stage_knows(state)) {
      // If a redundant limit is violated, one of the rows that determine it must open.
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
  // Hold redundant rows again, because the row that made them redundant may no longer be held.
  for (int r = 0; r < rattle->rows && !right; r++) {
    bool freed = stage->state[r] == S2_RATTLE_GIVEN && rattle->term[r].law != S2_RATTLE_EQUATION;
    stage->state[r] = freed ? S2_RATTLE_HELD : stage->state[r];
  }
  put_bounds(stage);
  return right;
}

// The data with which an attempt of Newton's method begins.
typedef struct Attempt {
  double *x; // NULL if there is none
  S2RattleState *state;
  S2Row *row;
} Attempt;

// Returns true if the next attempt would begin like the last one, which failed. Otherwise records
// the data of the next attempt. Only for stages without contacts, because points of contacts also
// belong to these data.
static bool attempt_repeats(const S2RattleStage *stage, Attempt *last) {
  size_t rows = (size_t)stage->rattle->rows;
  size_t x = sizeof *last->x * rows, state = sizeof *last->state * rows,
         row = sizeof *last->row * rows;
  if (last->x == NULL) {
    S2Arena *arena = stage->rattle->step->arena;
    last->x = S2_TAKE(arena, double, rows);
    last->state = S2_TAKE(arena, S2RattleState, rows);
    last->row = S2_TAKE(arena, S2Row, rows);
  } else if (memcmp(last->x, stage->x, x) == 0 && memcmp(last->state, stage->state, state) == 0 &&
             memcmp(last->row, stage->row, row) == 0) {
    return true;
  }
  memcpy(last->x, stage->x, x);
  memcpy(last->state, stage->state, state);
  memcpy(last->row, stage->row, row);
  return false;
}

static bool stage_solve(S2RattleStage *stage) {
  Attempt last = {0};
  if (stage->rattle->touches > 0) {
    return s2_stage_solve_contacts(stage);
  }
  for (int pass = 0; pass < SETS; pass++) {
    put_bounds(stage);
    bool solved = stage_newton(stage);
    if (solved && stage_revise(stage)) {
      if (s2_stage_accept(stage, SOLVED)) {
        return true;
      }
      // Rows may have been removed wrongly, because J1 M^-1 J0' may be singular by chance far from
      // the solution.
      solved = false;
      s2_stage_free_given(stage);
      stage->dense |= pass > 0;
    }
    if (stage->dense) {
      break;
    }
    if ((stage->second ? pass % CERTIFIED < CERTIFIED - 1 : pass % CERTIFIED > 0) && solved) {
      continue;
    }
    // If Newton's method failed, its impulses are not a useful guess.
    for (int r = 0; r < stage->rattle->rows && !solved; r++) {
      stage->x[r] = s2_stage_knows(stage->state[r]) ? stage->x[r] : 0;
    }
    s2_stage_stand_still(stage);
    if (!s2_stage_solve_certified(stage)) {
      return false;
    }
    if (!solved && attempt_repeats(stage, &last)) {
      break; // all further attempts would fail in the same way
    }
  }
  return s2_stage_solve_symmetric(stage);
}

// Solves repeatedly, until the ground friction rows agree with the motion of the solution. After
// each solve, aligns the rows with the motion.
static bool solve_turning(S2RattleStage *stage) {
  S2Rattle *rattle = stage->rattle;
  double before = INFINITY;
  if (rattle->grounds == 0) {
    return stage_solve(stage);
  }
  for (int pass = 0; pass < TURNS; pass++) {
    if (!stage_solve(stage)) {
      return false;
    }
    double off = s2_stage_turn_ground(stage) / stage->problem.velocity_scale;
    bool done = off <= ROUNDING || (off <= SOLVED && off >= before) || pass + 1 == TURNS;
    if (done) {
      S2Residual residual = {.cone = off * stage->problem.velocity_scale, .scaled = off};
      s2_keep_worst(&rattle->worst, &residual);
      return off <= SOLVED;
    }
    before = off;
  }
  return false;
}

static bool solve_and_dump(S2RattleStage *stage) {
  bool solved = solve_turning(stage);
  if (solved) {
    s2_stage_dump(stage);
  }
  return solved;
}

// ---- The two stages ----------------------------------------------------------------------------

static double place_speed(const S2Rattle *rattle) {
  return fmax(rattle->speed, NO_SPEED * rattle->rounding / (rattle->tolerance * rattle->h));
}

static S2RattleStage stage_make(S2Rattle *rattle, bool second) {
  S2Arena *arena = rattle->step->arena;
  int rows = rattle->rows, nodes = 3 * rattle->nodes;
  // Allocate the arrays of the stage. Impulses, velocities and states are shared with the piece.
  double *numbers = S2_TAKE(arena, double, 2 * rows + 2 * nodes);
  S2RattleStage stage = {.rattle = rattle,
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
static void make_first(S2RattleStage *stage) {
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
    if (term->source == S2_RATTLE_OF_GAP) {
      rattle->pushed[r] = rattle->point[r] = rattle->at0.touch[term->place].points[term->index];
    }
    if (rattle->touches > 0) { // if there are contacts, the solver finds the active set
      stage->state[r] = S2_RATTLE_HELD;
    }
    bool free = rattle->frees && rattle->late[r] && !s2_rattle_of_contact(term);
    bool slips = term->source == S2_RATTLE_OF_SLIP;
    bool drags = slips && term->law == S2_RATTLE_EQUATION;
    if (free || (slips && s2_rattle_awaits(rattle, r)) || (drags && !s2_rattle_drags(rattle, r))) {
      stage->state[r] = S2_RATTLE_KNOWN;
      stage->x[r] = row->hi = 0;
    } else if (s2_rattle_other_stage(term, false)) {
      stage->state[r] = S2_RATTLE_KNOWN;
      stage->x[r] = row->lo = row->hi = 0;
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

// Returns the speed (m/s or rad/s) of moving ground along a row at the end of the piece.
static double ground_speed(const S2Rattle *rattle, int r) {
  const S2Step *step = rattle->step;
  const S2RowSides *side = &rattle->at1.side[r];
  const double *given = s2_rattle_ground_end(rattle);
  const double *const j[2] = {side->a, side->b};
  int32_t slots[2];
  s2_rattle_bodies(rattle, &rattle->term[r], slots);
  double speed = 0;
  for (int i = 0; i < 2; i++) {
    for (int c = 0; c < 3 && slots[i] != S2_NONE && step->node_of[slots[i]] == S2_GROUND; c++) {
      speed += j[i][c] * given[3 * slots[i] + c];
    }
  }
  return speed;
}

int s2_rattle_lock_of(const S2Rattle *rattle, int r) {
  const S2RattleTerm *term = &rattle->term[r];
  const S2World *world = rattle->step->world;
  const S2Joint *joint = s2_rattle_of_contact(term) ? NULL : s2_rattle_joint(rattle, term);
  if (joint == NULL || !joint->driven || term->source != S2_RATTLE_OF_ROWS ||
      !s2_rattle_ends_step(rattle) || !world->drives.at[rattle->island->joint[term->place]].valid) {
    return S2_NONE;
  }
  return s2_lock_component(joint, term->index);
}

// Returns the mean rate minus the final rate (m/s or rad/s) of a lock that the program moves.
static double lock_speed(const S2Rattle *rattle, int r) {
  int c = s2_rattle_lock_of(rattle, r);
  if (c == S2_NONE) {
    return 0;
  }
  const S2Drive *drive =
      &rattle->step->world->drives.at[rattle->island->joint[rattle->term[r].place]];
  return drive->rate[c] - drive->end[c];
}

double s2_rattle_given_speed(const S2Rattle *rattle, int r) {
  return ground_speed(rattle, r) + lock_speed(rattle, r);
}

// Bounds the friction of a contact that uses the trapezoidal rule. The bounds are known in stage 2,
// because the normal impulse is known.
static void bound_friction(const S2Rattle *rattle, int r, S2Row *row) {
  row->coupled_to = -1;
  row->hi = 2 * row->mu * rattle->l[r - 1];
  row->lo = -row->hi;
}

// Marks a row as known. Its impulse is not an unknown of the stage.
static void know_row(S2RattleStage *stage, int r) {
  stage->state[r] = S2_RATTLE_KNOWN;
  stage->x[r] = stage->row[r].lo = stage->row[r].hi = 0;
}

static void make_second_row(S2RattleStage *stage, int r) {
  const S2Rattle *rattle = stage->rattle;
  const S2RattleTerm *term = &rattle->term[r];
  const S2RowSides *side = &rattle->at1.side[r];
  S2Row *row = &stage->row[r];
  double *k = &stage->x[r], l = rattle->l[r], half = rattle->h / 2;
  double compliance = row->compliance, bias = row->bias; // C and b at the end of the piece
  *row = s2_rattle_row(rattle, r, side);
  row->bias = rattle->at1.rate[r] + s2_rattle_given_speed(rattle, r);
  row->bias -= term->speed;
  stage->state[r] = rattle->touches > 0 ? S2_RATTLE_HELD : rattle->first[r];
  if (s2_rattle_halved(term)) { // k = l is known
    push_nodes(row, l, stage->rhs);
    know_row(stage, r);
    return;
  }
  if (term->soft) {
    row->compliance = compliance;
    row->bias += bias - (s2_rattle_sums(term) ? compliance * l : 0);
  }
  row->lo = term->law == S2_RATTLE_LIMIT ? 0 : -term->most * half;
  row->hi = term->most * half;
  *k = l;
  if (s2_rattle_sums(term)) {
    row->lo *= 2;
    row->hi *= 2;
    push_nodes(row, -l, stage->rhs);
    *k = 2 * l;
  }
  if (term->source == S2_RATTLE_OF_GROUND && term->index != S2_GROUND_TORQUE) {
    row->compliance = term->compliance;
    stage->state[r] = S2_RATTLE_HELD;
    int first = rattle->row_of[term->place][S2_GROUND_FIRST];
    if (s2_rattle_other_stage(term, true) || s2_rattle_halved(&rattle->term[first])) {
      know_row(stage, r);
    }
    return;
  }
  // Limits that stay open in stage 1 have no impulse.
  bool closed = s2_rattle_closed(rattle, r);
  bool idle = term->source == S2_RATTLE_OF_SLIP && term->law == S2_RATTLE_EQUATION &&
              stage->rattle->first[r] == S2_RATTLE_KNOWN; // viscous friction does not act
  if (idle || (term->law >= S2_RATTLE_LIMIT && !closed)) {
    know_row(stage, r);
  } else if (term->law == S2_RATTLE_FRICTION && s2_rattle_halved(&rattle->term[r - 1])) {
    bound_friction(rattle, r, row);
  } else if (term->law == S2_RATTLE_LIMIT) {
    stage->state[r] = S2_RATTLE_HELD;
  }
}

// M (v1 - u) = h/2 (f - D u) + J1' k. For bodies that damping stops within the step, D v1 replaces
// D u.
static void make_second(S2RattleStage *stage) {
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
  // The pattern stays in the arena until the piece ends, because the other stage uses it.
  S2RattleStage stage = stage_make(rattle, false);
  make_first(&stage);
  return solve_and_dump(&stage);
}

// Converts the unknowns of stage 2 to k.
static void stage_take_halves(S2RattleStage *stage) {
  const S2Rattle *rattle = stage->rattle;
  for (int r = 0; r < rattle->rows; r++) {
    const S2RattleTerm *term = &rattle->term[r];
    stage->x[r] += s2_rattle_halved(term) ? rattle->l[r] : s2_rattle_sums(term) ? -rattle->l[r] : 0;
  }
}

// Returns true if a limit with restitution closes at the end of the piece.
static bool limit_arrives(const S2Rattle *rattle, int r) {
  const S2RattleTerm *term = &rattle->term[r];
  return term->restitution > 0 && rattle->late[r] && rattle->l[r] == 0 &&
         s2_rattle_closed(rattle, r);
}

// Finds the limits that rebound. A limit that closes with restitution causes an impact at that
// time. Stage 2 is solved without these limits to find the arrival speeds. A coordinate does not
// rebound if forces alone would return it to its limit within half a step. This rule prevents an
// endless sequence of impacts. Returns false if stage 2 is not solved.
static bool find_rebounds(S2Rattle *rattle) {
  S2RattleArrival *arrival = &rattle->arrival;
  S2RattleStage stage = stage_make(rattle, true);
  stage.x = arrival->k;
  stage.v = arrival->v;
  stage.state = arrival->state;
  make_second(&stage);
  for (int r = 0; r < rattle->rows; r++) {
    if (limit_arrives(rattle, r)) {
      stage.state[r] = S2_RATTLE_KNOWN;
      stage.x[r] = stage.row[r].lo = stage.row[r].hi = 0;
    }
  }
  // The final velocities of stage 2 determine which limits rebound.
  bool solved = solve_and_dump(&stage);
  double parts = rattle->step->dt / rattle->h;
  for (int r = 0; r < rattle->rows && solved; r++) {
    const S2Row *row = &stage.row[r];
    double speed = row->bias + s2_rattle_row_speed(row, arrival->v);
    double before = row->bias + s2_rattle_row_speed(row, rattle->v0);
    bool fast = -speed > parts / 2 * fabs(speed - before);
    bool back = limit_arrives(rattle, r) && fast;
    arrival->back[r] = back ? rattle->term[r].restitution * speed : 0;
  }
  stage_take_halves(&stage);
  return solved;
}

bool s2_rattle_second(S2Rattle *rattle) {
  S2RattleArrival *arrival = &rattle->arrival;
  arrival->any = false;
  for (int r = 0; r < rattle->rows; r++) {
    arrival->any |= limit_arrives(rattle, r);
  }
  s2_rattle_repeat_grounds(rattle);
  if (arrival->any && !find_rebounds(rattle)) {
    return false;
  }
  bool solved;
  do {
    S2RattleStage stage = stage_make(rattle, true);
    make_second(&stage);
    for (int r = 0; r < rattle->rows && arrival->any; r++) {
      stage.row[r].bias += arrival->back[r];
    }
    solved = solve_and_dump(&stage);
    stage_take_halves(&stage);
  } while (solved && rattle->grounds > 0 && s2_rattle_grounds_turn_back(rattle));
  return solved;
}

// Returns the difference (m) between the gap of row r and the gap that corresponds to its impulse,
// for bodies at rest.
static double gap_off(const S2RattleStage *stage, int r) {
  const S2Rattle *rattle = stage->rattle;
  const S2RattleTerm *term = &rattle->term[r];
  double per = term->soft && term->bias != 0 ? s2_rattle_from(rattle, r) / term->bias : 0;
  return per != 0 ? stage->r[r] * per : rattle->at1.value[r];
}

// Returns the scaled residual that contact springs cause if positions have rounding errors. The
// result is at most a tenth of the residual that counts as solved.
static double rest_rounding(const S2RattleStage *stage) {
  const S2Rattle *rattle = stage->rattle;
  double most = 0;
  for (int r = 0; r < rattle->rows; r++) {
    const S2RattleTerm *term = &rattle->term[r];
    if (term->source == S2_RATTLE_OF_GAP && term->soft && term->bias != 0) {
      double rounded = 2 * rattle->rounding * term->bias / s2_rattle_from(rattle, r);
      double w = s2_rattle_row_mobility(rattle, &stage->row[r]);
      most = fmax(most, rounded * w / (term->compliance * rattle->speed));
    }
  }
  return fmin(fmax(ROUNDING, most), SOLVED / 10);
}

// Computes the certificate of the stage at rest, ignoring gaps within rounding errors. For springs,
// gaps up to `rounded` times the rounding error of positions are ignored.
static S2Residual certify_rest(S2RattleStage *stage, double rounded) {
  const S2Rattle *rattle = stage->rattle;
  for (int r = 0; r < rattle->rows; r++) {
    const S2RattleTerm *term = &rattle->term[r];
    double most = (term->soft ? rounded : GAP_ROUNDED) * rattle->rounding;
    if (term->source == S2_RATTLE_OF_GAP && fabs(gap_off(stage, r)) <= most) {
      stage->r[r] = 0;
    }
  }
  return s2_stage_certificate(stage);
}

// Computes impulses that balance the forces at the current gaps. The springs then have errors of
// only a few times the rounding error of positions, so the next step finds the island at rest. If
// there are no such impulses, x is unchanged.
static void balance_rest(S2RattleStage *stage) {
  const S2Rattle *rattle = stage->rattle;
  double *guess = s2_arena_copy(rattle->step->arena, stage->x, rattle->rows);
  bool solved = s2_stage_solve_modes(stage);
  s2_stage_stand_still(stage);
  if (!solved || !(certify_rest(stage, SPRING_ROUNDED).scaled <= ROUNDING)) {
    memcpy(stage->x, guess, sizeof(double) * (size_t)rattle->rows);
  }
}

// Returns true if the impulses of the previous step balance the forces, except for rounding errors
// of positions that springs amplify.
static bool rests_but_for_rounding(S2RattleStage *stage, S2Residual *residual) {
  *residual = certify_rest(stage, SPRING_ROUNDED);
  if (residual->scaled <= ROUNDING) {
    return true;
  }
  s2_stage_stand_still(stage);
  *residual = certify_rest(stage, GAP_ROUNDED);
  bool rests = residual->scaled <= rest_rounding(stage); // false for NaN
  if (rests && residual->scaled > ROUNDING) {
    balance_rest(stage);
  }
  return rests;
}

bool s2_rattle_rests(S2Rattle *rattle) {
  double fastest = 0, length = rattle->island->length;
  for (int i = 0; i < 3 * rattle->nodes; i++) {
    fastest = fmax(fastest, fabs(rattle->v0[i]) * (i % 3 == 0 ? length : 1));
  }
  if (fastest > SOLVED * rattle->speed || !s2_rattle_ground_holds(rattle)) {
    return false;
  }
  S2ArenaMark mark = s2_arena_mark(rattle->step->arena);
  S2RattleStage stage = stage_make(rattle, false);
  make_first(&stage);
  s2_stage_stand_still(&stage);
  S2Residual residual;
  bool rests = rests_but_for_rounding(&stage, &residual);
  s2_arena_rewind(rattle->step->arena, mark);
  if (rests) {
    s2_keep_worst(&rattle->worst, &residual);
  }
  return rests;
}
