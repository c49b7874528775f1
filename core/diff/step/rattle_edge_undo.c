// Rows of the two-stage flow on the edge between two states of the active set. Examples are a
// closed limit without force, or a motor or dry friction that just holds. The derivative is
// one-sided there. Such a row counts as free, that is, open or at its bound. If other rows hold the
// free row, so that the adjoint does not move it, both sides have the same derivative.
#include "diff/step/rattle_undo.h"

// An impulse or speed below this fraction of the island's speed counts as being on an edge. Stages
// are solved to rounding.
static const double EDGE = 1e-9;
// Fraction of the adjoint below which the derivatives on both sides count as equal.
static const double ALIKE = 1e-10;
// Smaller adjoints have no correct digits, so the loss counts as constant.
static const double NOTHING = 1e-200;

double s2_rattle_row_off(const S2RattlePiece *piece, int r, bool second) {
  const S2Rattle *rattle = &piece->rattle;
  const S2RattleTerm *term = &rattle->term[r];
  if (!second && term->law == S2_RATTLE_FRICTION) {
    return s2_rattle_slip(rattle, r, rattle->u) - term->speed;
  }
  if (!second) {
    double change = rattle->at1.value[r] - s2_rattle_from(rattle, r);
    return change / rattle->h + term->compliance * rattle->l[r] + term->bias - term->speed;
  }
  double soft =
      term->soft && !s2_rattle_halved(term) ? piece->c2[r] * rattle->k[r] + piece->b2[r] : 0;
  double back = rattle->arrival.any ? rattle->arrival.back[r] : 0;
  double rate = rattle->at1.rate[r] + s2_rattle_given_speed(rattle, r);
  S2Row row = s2_rattle_row(rattle, r, &rattle->at1.side[r]);
  return s2_rattle_row_speed(&row, rattle->v1) + rate + soft + back - term->speed;
}

static void find_edge(S2RattlePiece *piece, int r, bool second) {
  S2Rattle *rattle = &piece->rattle;
  const S2RattleTerm *term = &rattle->term[r];
  S2RattleState *state = second ? &rattle->second[r] : &rattle->first[r];
  bool limit = term->law == S2_RATTLE_LIMIT;
  // x is the unknown of the stage, `most` its bound.
  double x = second ? rattle->k[r] + (term->soft ? 0 : rattle->l[r]) : rattle->l[r];
  double most = term->most * piece->half * (second && !term->soft ? 2 : 1);
  S2Row row = s2_rattle_row(rattle, r, &(second ? rattle->at1 : rattle->at0).side[r]);
  double size = s2_rattle_turns(&rattle->at0.side[r]) ? rattle->island->length : 1;
  double w = s2_rattle_row_mobility(&piece->rattle, &row) * size, least = EDGE * rattle->speed;
  double room = limit ? x : fmin(most - x, x + most);
  bool held = *state == S2_RATTLE_HELD;
  bool bound = *state == S2_RATTLE_OPEN || *state == S2_RATTLE_AT_LO || *state == S2_RATTLE_AT_HI;
  bool slow = bound && fabs(s2_rattle_row_off(piece, r, second)) * size <= least;
  piece->edge[second][r] = (held && room * w <= least) || slow;
  if (piece->edge[second][r]) {
    S2RattleState nearer = most - x < x + most ? S2_RATTLE_AT_HI : S2_RATTLE_AT_LO;
    *state = limit ? S2_RATTLE_OPEN : held ? nearer : *state;
  }
}

void s2_rattle_find_edges(S2RattlePiece *piece, bool second) {
  const S2Rattle *rattle = &piece->rattle;
  for (int r = 0; r < rattle->rows; r++) {
    if (rattle->term[r].law != S2_RATTLE_EQUATION && !s2_rattle_of_contact(&rattle->term[r])) {
      find_edge(piece, r, second);
    }
  }
}

void s2_rattle_flag_edge(const S2RattlePiece *piece, int r, bool second, double pushed) {
  const S2Rattle *rattle = &piece->rattle;
  const double *right = second ? piece->v1_bar : piece->u_bar;
  double size = 0;
  if (!piece->edge[second][r]) {
    return;
  }
  S2Row row = s2_rattle_row(rattle, r, &(second ? rattle->at1 : rattle->at0).side[r]);
  for (int i = 0; i < 3 * rattle->nodes; i++) {
    size = fmax(size, fabs(right[i]) / sqrt(rattle->inertial[i]));
  }
  bool matters =
      fabs(pushed) > ALIKE * size * sqrt(s2_rattle_row_mobility(&piece->rattle, &row)) + NOTHING;
  piece->undo->gradient->flags |= matters ? S2_GRADIENT_WEAK : 0;
}

// A redundant row with bounds keeps its previous impulse. That impulse decides how the other rows
// share the load. So a loss that contains their forces has no derivative.
void s2_rattle_flag_repeated(const S2RattlePiece *piece) {
  const S2Rattle *rattle = &piece->rattle;
  bool repeats = false, asked = false;
  for (int r = 0; r < rattle->rows; r++) {
    bool given = rattle->first[r] == S2_RATTLE_GIVEN || rattle->second[r] == S2_RATTLE_GIVEN;
    repeats |= given && rattle->term[r].law != S2_RATTLE_EQUATION;
  }
  for (int i = 0; i < 3 * rattle->island->joints; i++) {
    asked |= piece->undo->bar.joint_reaction[3 * rattle->island->joint[i / 3] + i % 3] != 0;
  }
  piece->undo->gradient->flags |= repeats ? S2_GRADIENT_REDUNDANT : 0;
  piece->undo->gradient->flags |= repeats && asked ? S2_GRADIENT_UNDETERMINED : 0;
}
