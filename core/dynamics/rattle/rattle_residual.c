// Computes the residuals of a stage's rows at its impulses, and the certificate of the stage.
#include "dynamics/rattle/rattle_stage.h"
#include "dynamics/step/solve.h"
#include "linalg/numbers.h"
#include "mcp/solvers.h"

#include <string.h>

// ---- Residuals ---------------------------------------------------------------------------------

// Computes the poses at the end of stage 1.
static void move_nodes(const S2Rattle *rattle, const double *u) {
  for (int i = 0; i < 3 * rattle->nodes; i++) {
    int at = 3 * rattle->island->node[i / 3] + i % 3;
    rattle->q1[at] = rattle->q0[at] + rattle->h * u[i];
  }
}

// Computes the residuals of stage 1 at the velocities v.
// r = (g(q1) - from)/h + C l + b
void s2_stage_measure_first(S2RattleStage *stage, const double *v) {
  S2Rattle *rattle = stage->rattle;
  double h = rattle->h;
  move_nodes(rattle, v);
  s2_rattle_measure(rattle, rattle->q1, rattle->done + h, &rattle->at1);
  for (int r = 0; r < rattle->rows; r++) {
    const S2RattleTerm *term = &rattle->term[r];
    double speed = term->source == S2_RATTLE_OF_SLIP
                       ? s2_rattle_slip(rattle, r, v)
                       : (rattle->at1.value[r] - s2_rattle_from(rattle, r)) / h;
    stage->r[r] = speed + term->compliance * stage->x[r] + term->bias - term->speed;
  }
}

// Updates the directions of late rows, which push along their final directions. Returns the
// resulting displacement error (m).
static double turn_late(S2RattleStage *stage) {
  const S2Rattle *rattle = stage->rattle;
  double worst = 0, length = rattle->island->length;
  for (int r = 0; r < rattle->rows; r++) {
    S2Row *row = &stage->row[r];
    const S2RattleTerm *term = &rattle->term[r];
    if (!rattle->late[r] || stage->state[r] == S2_RATTLE_KNOWN) { // skip rows without an impulse
      continue;
    }
    if (term->source == S2_RATTLE_OF_GAP) { // the velocities were computed with the previous point
      rattle->pushed[r] = rattle->point[r];
      rattle->point[r] = rattle->at1.touch[term->place].points[term->index];
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

// Computes the residuals r of all rows at the impulses x. Returns the largest error of a held row,
// as a displacement (m).
double s2_stage_measure(S2RattleStage *stage) {
  const S2Rattle *rattle = stage->rattle;
  double worst = 0, fastest = 0;
  s2_mcp_velocity(&stage->problem, stage->x, stage->v);
  if (stage->second) {
    s2_mcp_row_velocity(&stage->problem, stage->v, stage->r);
    for (int r = 0; r < rattle->rows; r++) {
      stage->r[r] += stage->row[r].compliance * stage->x[r] + stage->row[r].bias;
    }
  } else {
    s2_stage_measure_first(stage, stage->v);
    worst = stage->turned = turn_late(stage);
  }
  for (int r = 0; r < rattle->rows; r++) {
    if (stage->state[r] == S2_RATTLE_HELD) {
      double size = s2_row_is_angular(&stage->row[r]) ? rattle->island->length : 1;
      double error = fabs(stage->r[r]) * size;
      fastest = error <= fastest ? fastest : error; // propagates NaN
    }
  }
  double error = rattle->h * fastest;
  return error <= worst ? worst : error;
}

// Computes the residual of a stage that has only equations. The velocities follow from the
// impulses, so only the rows have errors. Returns false if the stage has other rows.
static bool certify_equations(const S2RattleStage *stage, S2Residual *residual) {
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

// Computes the residual of the stage's problem with the current rows. Omits rows with a known
// impulse, because they have no condition in this stage.
S2Residual s2_stage_certificate(S2RattleStage *stage) {
  const S2Rattle *rattle = stage->rattle;
  S2Arena *arena = rattle->step->arena;
  S2ArenaMark mark = s2_arena_mark(arena);
  S2Problem problem = stage->problem;
  S2Row *rows = S2_TAKE(arena, S2Row, rattle->rows);
  double *speed = S2_TAKE(arena, double, rattle->rows), *x = S2_TAKE(arena, double, rattle->rows);
  s2_mcp_row_velocity(&problem, stage->v, speed);
  // In stage 1, set the bias so that each row has its measured speed.
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

double s2_stage_clip(S2RattleState state, const S2Row *row, double x) {
  return state == S2_RATTLE_AT_HI   ? row->hi
         : state == S2_RATTLE_AT_LO ? row->lo
         : state == S2_RATTLE_OPEN  ? 0
                                    : x;
}

// Linearises stage 1 with nodes at rest and the ground at its final pose.
void s2_stage_stand_still(S2RattleStage *stage) {
  memset(stage->v, 0, sizeof(double) * (size_t)(3 * stage->rattle->nodes));
  if (!stage->second) {
    s2_stage_measure_first(stage, stage->v);
  }
}

// Returns true if the scaled residual is at most `most`. If so, it is recorded.
bool s2_stage_accept(S2RattleStage *stage, double most) {
  S2Residual residual;
  if (!certify_equations(stage, &residual)) {
    residual = s2_stage_certificate(stage);
  }
  if (!(residual.scaled <= most)) {
    return false;
  }
  s2_keep_worst(&stage->rattle->worst, &residual);
  return true;
}

void s2_stage_free_given(S2RattleStage *stage) {
  for (int r = 0; r < stage->rattle->rows; r++) {
    bool given = stage->state[r] == S2_RATTLE_GIVEN;
    stage->state[r] = given ? S2_RATTLE_HELD : stage->state[r];
  }
}
