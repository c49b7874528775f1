#include "diff/forward/tangent_work.h"

#include <math.h>
#include <string.h>

// Fraction of a momentum that may remain unexplained by the impulses of an impact.
static const double EXPLAINED = 1e-9;

// An impact solves M v1 = M v0 + J' l, with J v1 = 0 for joints and for contacts that stop, and
// J v1 = -e J v0 for contacts that rebound with the restitution e.

static double restitution_of(const S2SmallImpact *impact, int r) {
  for (int i = 0; i < impact->small.points; i++) {
    if (impact->small.point[i].row == r) {
      return impact->restitution[i];
    }
  }
  return 0;
}

// Returns false if a row that has no impulse in an impact has one.
static bool impact_state(S2TangentWork *work, const S2SmallImpact *impact, int r) {
  const S2Small *small = work->small;
  const S2SmallRow *row = &small->row[r];
  const S2SmallSide *side = &small->at0[r];
  S2RattleState *state = &work->state[0][r];
  double x = small->l[r], least = S2_TANGENT_EDGE * small->speed;
  *state = S2_RATTLE_OPEN;
  if (row->soft || row->changes || row->law == S2_RATTLE_BOUNDED) {
    return x == 0;
  }
  if (row->law == S2_RATTLE_EQUATION) {
    *state = S2_RATTLE_HELD;
    return true;
  }
  double size = s2_small_turns(side) ? small->length : 1;
  double w = s2_tangent_mobility_of(work, r, false) * size,
         after = s2_tangent_along_node(work, r, side, small->v1);
  // A limit or the normal of a contact.
  if (row->law == S2_RATTLE_LIMIT) {
    double before = restitution_of(impact, r) * s2_tangent_along_node(work, r, side, small->v0);
    double speed = (after + before) * size;
    bool closed = row->source == S2_RATTLE_OF_GAP || side->value <= S2_TOUCH_SLOP * small->length;
    work->edge[0][r] = closed && x * w <= least && fabs(speed) <= least;
    *state = x * w > least ? S2_RATTLE_HELD : S2_RATTLE_OPEN;
    return true;
  }
  if (work->state[0][r - 1] != S2_RATTLE_HELD) {
    return true;
  }
  // Friction: it sticks if its impulse is below the bound.
  double slip = after - row->speed, room = (row->mu * small->l[r - 1] - fabs(x)) * w;
  bool ahead = fabs(slip) > least ? slip > 0 : x < 0;
  work->edge[0][r] = room <= least && fabs(slip) <= least;
  bool held = room > fabs(slip) && !work->edge[0][r];
  *state = held ? S2_RATTLE_HELD : ahead ? S2_RATTLE_AT_LO : S2_RATTLE_AT_HI;
  work->slope[0][r] = held ? 0 : ahead ? -row->mu : row->mu;
  return true;
}

// Returns true if the impulses explain the change of the velocities.
static bool impact_explains(const S2TangentWork *work) {
  const S2Small *small = work->small;
  double left[3 * S2_SMALL_NODES] = {0}, size = 0, worst = 0;
  for (int i = 0; i < work->n; i++) {
    left[i] = small->inertial[i] * (small->v1[i] - small->v0[i]);
    size = fmax(size, small->inertial[i] * (fabs(small->v1[i]) + fabs(small->v0[i])));
  }
  for (int r = 0; r < small->rows; r++) {
    const S2SmallRow *row = &small->row[r];
    int a = s2_tangent_place_of(work, row->a), b = s2_tangent_place_of(work, row->b);
    for (int c = 0; c < 3; c++) {
      left[a >= 0 ? a + c : 0] -= a >= 0 ? small->at0[r].a[c] * small->l[r] : 0;
      left[b >= 0 ? b + c : 0] -= b >= 0 ? small->at0[r].b[c] * small->l[r] : 0;
    }
  }
  for (int i = 0; i < work->n; i++) {
    worst = fmax(worst, fabs(left[i]));
  }
  return worst <= EXPLAINED * size;
}

static void add_impact_row(S2TangentWork *work, int r) {
  const S2Small *small = work->small;
  double see[6] = {0}, by_q[6], *b = work->b + work->unknown * work->columns;
  double e = work->back[r];
  memset(b, 0, sizeof(double) * (size_t)work->columns);
  s2_tangent_bend_speed(work, r, &work->bend0[r], small->v1, by_q);
  s2_tangent_sides_of(&small->at0[r], 1, see);
  if (e > 0) {
    double before[6];
    s2_tangent_bend_speed(work, r, &work->bend0[r], small->v0, before);
    for (int c = 0; c < 6; c++) {
      by_q[c] += e * before[c];
    }
    s2_tangent_add_along(work, r, -e, see, work->tangent->v, b);
  }
  s2_tangent_add_along(work, r, -1, by_q, work->tangent->q, b);
  s2_tangent_add_unknown(work, r, small->at0, work->slope[0], see);
}

bool s2_impact_tangent(const S2SmallImpact *impact, S2PieceTangent *tangent, S2Arena *arena) {
  S2ArenaMark mark = s2_arena_mark(arena);
  const S2Small *small = &impact->small;
  S2TangentWork work = s2_tangent_new(small, 0, tangent, arena);
  double none[S2_SMALL_ROWS] = {0};
  bool good = impact_explains(&work);
  for (int r = 0; r < small->rows && good; r++) {
    work.back[r] = restitution_of(impact, r);
    good = impact_state(&work, impact, r);
  }
  for (int r = 0; r < small->joint_rows; r++) {
    s2_tangent_bend_joint(&work, r, small->q0, &work.bend0[r]);
  }
  s2_tangent_bend_contacts(&work, false);
  // The momenta before the impact, and the system of the rows that act.
  for (int i = 0; i < work.n; i++) {
    work.mass[i] = small->inertial[i];
    for (int d = 0; d < work.columns; d++) {
      work.right[i * work.columns + d] = small->inertial[i] * tangent->v[i * work.columns + d];
    }
  }
  s2_tangent_push_bends(&work, work.bend0, small->l, tangent->q);
  for (int r = 0; r < small->rows; r++) {
    if (work.state[0][r] == S2_RATTLE_HELD) {
      add_impact_row(&work, r);
    }
  }
  good = good && s2_tangent_solve(&work, none, work.slope[0], work.dl) &&
         s2_tangent_edges_hold(&work, false, add_impact_row, work.right);
  if (good) {
    memcpy(tangent->v, work.right, sizeof(double) * (size_t)(work.n * work.columns));
  }
  s2_arena_rewind(arena, mark);
  return good;
}
