// Projects poses before the flow begins.
// This is necessary if the program has moved bodies so that they violate joints or limits. The
// projection uses the current rows and the mass norm. It does not affect the velocities.
#include "dynamics/rattle/rattle.h"
#include "dynamics/trace/notes.h"
#include "mcp/solvers.h"

#include <string.h>

static const double SOLVED = 1e-9; // tolerance of the scaled residual of a pass.

// Returns true if the row can have a position error. *off receives the size of the error (m) at q0.
static bool row_off(const S2Rattle *rattle, int r, double *off) {
  const S2RattleTerm *term = &rattle->term[r];
  double size = s2_rattle_turns(&rattle->at0.side[r]) ? rattle->island->length : 1;
  double value = rattle->at0.value[r] * size;
  *off = term->law == S2_RATTLE_LIMIT ? fmax(-value, 0) : fabs(value);
  return s2_rattle_has_place(term);
}

static double place_off(const S2Rattle *rattle) {
  double worst = 0, off;
  for (int r = 0; r < rattle->rows; r++) {
    worst = row_off(rattle, r, &off) ? fmax(worst, off) : worst;
  }
  return worst;
}

// Records the poses and the held rows for the derivative.
static void record_placing(S2Rattle *rattle, const double *x) {
  double *to = rattle->placing + (3 * rattle->nodes + rattle->rows) * rattle->placings, off;
  int n = 0;
  for (int i = 0; i < 3 * rattle->nodes; i++) {
    *to++ = rattle->q0[3 * rattle->island->node[i / 3] + i % 3];
  }
  for (int r = 0; r < rattle->rows; r++) {
    bool placed = row_off(rattle, r, &off);
    bool limit = rattle->term[r].law == S2_RATTLE_LIMIT;
    *to++ = placed && (!limit || x[n] > 0);
    n += placed;
  }
  rattle->placings += 1;
}

static void place_once(S2Rattle *rattle) {
  S2Arena *arena = rattle->step->arena;
  S2ArenaMark mark = s2_arena_mark(arena);
  S2Row *rows = S2_TAKE(arena, S2Row, rattle->rows);
  double *x = S2_TAKE_ZEROED(arena, double, rattle->rows);
  double *dq = S2_TAKE_ZEROED(arena, double, 3 * rattle->nodes), off;
  double *rhs = S2_TAKE_ZEROED(arena, double, 3 * rattle->nodes);
  // Express equations and limits as conditions on displacements.
  int n = 0;
  for (int r = 0; r < rattle->rows; r++) {
    if (row_off(rattle, r, &off)) {
      rows[n] = s2_rattle_row(rattle, r, &rattle->at0.side[r]);
      rows[n].lo = rattle->term[r].law == S2_RATTLE_LIMIT ? 0 : -INFINITY;
      rows[n++].bias = rattle->at0.value[r];
    }
  }
  S2Problem problem = {.nodes = rattle->nodes,
                       .rows = n,
                       .mass = rattle->inertial,
                       .rhs = rhs,
                       .row = rows,
                       .velocity_scale = rattle->island->length,
                       .length = rattle->island->length};
  S2SolverOptions options = {.tolerance = SOLVED, .max_iterations = 100};
  S2Solution solution = {.v = dq, .lambda = x};
  s2_mcp_solve(&problem, &options, arena, &solution);
  // Shorten the displacement so that no body turns too far.
  double turn = 0;
  for (int i = 0; i < rattle->nodes; i++) {
    turn = fmax(turn, fabs(dq[3 * i]));
  }
  double part = turn > S2_PROJECTION_TURN ? S2_PROJECTION_TURN / turn : 1;
  rattle->shortened |= part < 1;
  if (rattle->placing != NULL) {
    record_placing(rattle, x);
  }
  for (int i = 0; i < 3 * rattle->nodes; i++) {
    rattle->q0[3 * rattle->island->node[i / 3] + i % 3] += part * dq[i];
  }
  rattle->step->world->stats.projections += 1;
  s2_arena_rewind(arena, mark);
}

bool s2_rattle_place(S2Rattle *rattle) {
  double enough = fmax(S2_PROJECTION_TOLERANCE * rattle->island->length, 10 * rattle->rounding);
  bool placed = place_off(rattle) > rattle->placed;
  if (placed && rattle->step->world->notes != NULL) {
    size_t room = S2_RATTLE_PLACINGS * (size_t)(3 * rattle->nodes + rattle->rows);
    rattle->placing = s2_note_take(rattle->step->world->notes, sizeof(double) * room);
  }
  for (int pass = 0; pass < S2_RATTLE_PLACINGS && placed && place_off(rattle) > enough; pass++) {
    place_once(rattle);
    s2_rattle_measure(rattle, rattle->q0, rattle->done, &rattle->at0);
  }
  return placed;
}
