// With fixed active sets, a piece of the two-stage flow solves (rattle_undo.c)
//
//     W1 u = M v0 + h/2 f + J0' l,             (g(q1) - from)/h + C1 l + b1 = 0,   q1 = q0 + h u
//     W2 v1 = M2 u + h/2 f + J1' k,            J1 v1 + C2 k + b2 = 0
//
// The derivatives of these equations are linear systems for du, dl, dv1 and dk, with one right side
// per direction. Rows that stick measure the mean of their speeds at both ends. The impulses of
// sliding friction follow from the normal impulses. The unknown of stage 2 is the sum x = l + k.
#include "diff/forward/tangent_work.h"

#include <math.h>
#include <string.h>

// An impulse this close to its bound, as a fraction of the bound, is at it (rattle_contact_undo.c).
static const double AT_BOUND = 1e-9;

// ---- Active sets -------------------------------------------------------------------------------

// The compliance of a soft row in stage 2, and its bias without the term of the impulse.
static double second_give(const S2TangentWork *work, int r) {
  const S2SmallRow *row = &work->small->row[r];
  double half = work->small->h / 2, e = half * row->stiffness + row->damping;
  return row->soft && !row->trapezoid ? 1 / (half * e) : 0;
}

// Returns the residual of row r in a stage: a mean speed over the piece, or the speed at its end.
static double tangent_residual(const S2TangentWork *work, int r, bool second) {
  const S2Small *small = work->small;
  const S2SmallRow *row = &small->row[r];
  if (second) {
    double speed = s2_tangent_along_node(work, r, &small->at1[r], small->v1) - row->speed;
    if (row->soft && !row->trapezoid) {
      double e = small->h / 2 * row->stiffness + row->damping;
      speed += second_give(work, r) * small->k[r] + row->stiffness * small->at1[r].value / e;
    }
    return speed;
  }
  if (row->source == S2_RATTLE_OF_SLIP) {
    double start = s2_tangent_along_node(work, r, &small->at0[r], small->u);
    return (start + s2_tangent_along_node(work, r, &small->at1[r], small->u)) / 2 - row->speed;
  }
  double from = row->changes ? small->at0[r].value : 0;
  return (small->at1[r].value - from) / small->h - row->speed + row->compliance * small->l[r] +
         row->bias;
}

// The state of a boxed row of a joint. x is the unknown of its stage.
static S2RattleState state_of_box(S2TangentWork *work, int r, bool second) {
  const S2Small *small = work->small;
  const S2SmallRow *row = &small->row[r];
  bool sums = second && !row->soft;
  double x = sums ? small->l[r] + small->k[r] : second ? small->k[r] : small->l[r];
  double most = row->most * small->h / (sums ? 1 : 2), least = S2_TANGENT_EDGE * small->speed;
  double size = s2_small_turns(&small->at0[r]) ? small->length : 1;
  double w = s2_tangent_mobility_of(work, r, second) * size;
  S2RattleState state = x >= most * (1 - AT_BOUND)    ? S2_RATTLE_AT_HI
                        : x <= -most * (1 - AT_BOUND) ? S2_RATTLE_AT_LO
                                                      : S2_RATTLE_HELD;
  bool held = state == S2_RATTLE_HELD;
  work->edge[second][r] = held ? fmin(most - x, x + most) * w <= least
                               : fabs(tangent_residual(work, r, second)) * size <= least;
  return !held || !work->edge[second][r] ? state
         : most - x < x + most           ? S2_RATTLE_AT_HI
                                         : S2_RATTLE_AT_LO;
}

static S2RattleState state_of_row(S2TangentWork *work, int r, bool second) {
  const S2Small *small = work->small;
  const S2SmallRow *row = &small->row[r];
  double x = second ? small->l[r] + small->k[r] : small->l[r],
         least = S2_TANGENT_EDGE * small->speed;
  if (small->known[second][r]) {
    return S2_RATTLE_KNOWN;
  }
  if (row->law == S2_RATTLE_EQUATION) {
    return S2_RATTLE_HELD;
  }
  if (row->law == S2_RATTLE_BOUNDED) {
    return state_of_box(work, r, second);
  }
  double size = s2_small_turns(&small->at0[r]) ? small->length : 1;
  double w = s2_tangent_mobility_of(work, r, second) * size,
         speed = tangent_residual(work, r, second) * size;
  if (row->law == S2_RATTLE_LIMIT) {
    work->edge[second][r] = x * w <= least && speed <= least;
    return x * w > speed && !work->edge[second][r] ? S2_RATTLE_HELD : S2_RATTLE_OPEN;
  }
  // Friction.
  if (work->state[second][r - 1] != S2_RATTLE_HELD) {
    return S2_RATTLE_OPEN;
  }
  double normal = second ? small->l[r - 1] + small->k[r - 1] : small->l[r - 1];
  double room = (row->mu * normal - fabs(x)) * w;
  work->edge[second][r] = room <= least && fabs(speed) <= least;
  bool ahead = fabs(speed) > least ? speed > 0 : x < 0;
  return room > fabs(speed) && !work->edge[second][r] ? S2_RATTLE_HELD
         : ahead                                      ? S2_RATTLE_AT_LO
                                                      : S2_RATTLE_AT_HI;
}

// Finds the states of all rows. A row on an edge counts as free, that is, open or at its bound.
static void find_states(S2TangentWork *work) {
  const S2Small *small = work->small;
  for (int i = 0; i < 2; i++) {
    for (int r = 0; r < small->rows; r++) {
      const S2SmallRow *row = &small->row[r];
      S2RattleState state = work->state[i][r] = state_of_row(work, r, i == 1);
      bool slides =
          row->law == S2_RATTLE_FRICTION && (state == S2_RATTLE_AT_LO || state == S2_RATTLE_AT_HI);
      work->slope[i][r] = !slides ? 0 : state == S2_RATTLE_AT_HI ? row->mu : -row->mu;
    }
  }
}

// Returns -1, 0 or 1 for a boxed row at its lower bound, off its bounds, or at its upper bound.
static double bound_side(const S2TangentWork *work, int r, bool second) {
  S2RattleState state = work->state[second][r];
  bool boxed = work->small->row[r].law == S2_RATTLE_BOUNDED;
  return !boxed ? 0 : state == S2_RATTLE_AT_HI ? 1 : state == S2_RATTLE_AT_LO ? -1 : 0;
}

// Adds the derivatives of the fields that row r reads. `by_value`: derivative of the row's residual
// with respect to its value.
static void add_fields(S2TangentWork *work, int r, double by_value, double *to) {
  const S2SmallRow *row = &work->small->row[r];
  const S2PieceTangent *tangent = work->tangent;
  for (int i = 0; i < tangent->fields && r < work->small->joint_rows; i++) {
    const S2FieldTangent *field = &tangent->field[i];
    if (work->small->joint[row->place].slot == field->joint && row->index == field->index) {
      // The value contains minus the goal. The residual contains minus the speed.
      bool goal = field->index == S2_JOINT_SERVO;
      to[field->column] -= field->amount * (goal ? by_value : 1);
    }
  }
}

static void find_bends(S2TangentWork *work) {
  const S2Small *small = work->small;
  for (int r = 0; r < small->joint_rows; r++) {
    if (small->l[r] != 0) {
      s2_tangent_bend_joint(work, r, small->q0, &work->bend0[r]);
    }
    if (work->state[1][r] == S2_RATTLE_HELD || small->k[r] != 0) {
      s2_tangent_bend_joint(work, r, small->q1, &work->bend1[r]);
    }
  }
  s2_tangent_bend_contacts(work, false);
  s2_tangent_bend_contacts(work, true);
}

// ---- The start ---------------------------------------------------------------------------------

// A step begins with poses that satisfy the joints and closed contacts. A change of the poses that
// violates them is projected in the mass norm, as placing_of_none in rattle_undo.c explains.
static bool place_start(S2TangentWork *work) {
  const S2Small *small = work->small;
  int columns = work->columns;
  double none[S2_SMALL_ROWS] = {0};
  work->unknown = 0;
  memcpy(work->right, work->tangent->q, sizeof(double) * (size_t)(work->n * columns));
  for (int i = 0; i < work->n; i++) {
    work->mass[i] = small->inertial[i];
    for (int d = 0; d < columns; d++) {
      work->right[i * columns + d] *= small->inertial[i];
    }
  }
  for (int r = 0; r < small->rows && small->done == 0; r++) {
    const S2SmallRow *row = &small->row[r];
    // The rows of rigid joints, of closed limits and of contacts that press.
    bool placed = row->law == S2_RATTLE_EQUATION || row->law == S2_RATTLE_LIMIT;
    if (placed && !row->changes && work->state[0][r] == S2_RATTLE_HELD) {
      double see[6] = {0};
      memset(work->b + work->unknown * columns, 0, sizeof(double) * (size_t)columns);
      s2_tangent_sides_of(&small->at0[r], 1, see);
      s2_tangent_add_unknown(work, r, small->at0, none, see);
    }
  }
  if (!s2_tangent_solve(work, none, none, work->dx)) {
    return false;
  }
  memcpy(work->q0, work->right, sizeof(double) * (size_t)(work->n * columns));
  return true;
}

// ---- Stage 1 -----------------------------------------------------------------------------------

// Sets b = -(derivative of the residual of row r, for constant u and l) and adds the unknown.
static void first_row(S2TangentWork *work, int r) {
  const S2Small *small = work->small;
  const S2SmallRow *row = &small->row[r];
  double h = small->h, see[6] = {0}, by_q[6] = {0}, *b = work->b + work->unknown * work->columns;
  double *length = &b[work->columns - 1];
  memset(b, 0, sizeof(double) * (size_t)work->columns);
  if (row->source == S2_RATTLE_OF_SLIP) {
    double end[6];
    s2_tangent_bend_speed(work, r, &work->bend0[r], small->u, by_q);
    s2_tangent_bend_speed(work, r, &work->bend1[r], small->u, end);
    s2_tangent_sides_of(&small->at0[r], 0.5, see);
    s2_tangent_sides_of(&small->at1[r], 0.5, see);
    for (int c = 0; c < 6; c++) {
      see[c] += h / 2 * end[c];
      by_q[c] = (by_q[c] + end[c]) / 2;
      int at = s2_tangent_place_of(work, c < 3 ? row->a : row->b);
      *length += at >= 0 ? end[c] * small->u[at + c % 3] / 2 : 0;
    }
  } else {
    double e = (row->trapezoid ? h / 2 : h) * row->stiffness + row->damping;
    double by_start = row->soft ? row->stiffness / e : 0, rate = row->trapezoid ? 0.5 : 1;
    double from = row->changes ? small->at0[r].value : 0;
    s2_tangent_sides_of(&small->at1[r], 1, see);
    s2_tangent_sides_of(&small->at1[r], 1 / h, by_q);
    s2_tangent_sides_of(&small->at0[r], by_start - (row->changes ? 1 / h : 0), by_q);
    add_fields(work, r, row->changes ? by_start : 1 / h + by_start, b);
    *length += s2_tangent_along_node(work, r, &small->at1[r], small->u) / h;
    *length -= (small->at1[r].value - from) / (h * h);
    if (row->soft) { // C = 2/(h e), b = K g/e
      double give = row->compliance, stiff = rate * row->stiffness / e;
      *length -= small->l[r] * (give / h + give * stiff) + row->bias * stiff;
    }
  }
  s2_tangent_add_along(work, r, 1, by_q, work->q0, b);
  for (int d = 0; d < work->columns; d++) {
    b[d] = -b[d];
  }
  s2_tangent_add_unknown(work, r, small->at0, work->slope[0], see);
}

static bool first_stage(S2TangentWork *work) {
  const S2Small *small = work->small;
  const S2PieceTangent *tangent = work->tangent;
  int columns = work->columns;
  double half = small->h / 2, give[S2_SMALL_ROWS];
  for (int i = 0; i < work->n; i++) {
    double *right = work->right + i * columns;
    work->mass[i] = small->inertial[i] + half * small->damping[i];
    for (int d = 0; d < columns; d++) {
      right[d] =
          small->inertial[i] * tangent->v[i * columns + d] + half * tangent->force[i * columns + d];
    }
    right[columns - 1] += (small->force[i] - small->damping[i] * small->u[i]) / 2;
  }
  // The rows turn while their impulses act.
  s2_tangent_push_bends(work, work->bend0, small->l, work->q0);
  work->unknown = 0;
  for (int r = 0; r < small->rows; r++) {
    double *dl = work->dl + r * columns;
    memset(dl, 0, sizeof(double) * (size_t)columns);
    give[r] = small->row[r].compliance;
    if (work->state[0][r] == S2_RATTLE_HELD) {
      first_row(work, r);
    } else if (bound_side(work, r, false) != 0) {
      dl[columns - 1] = bound_side(work, r, false) * small->row[r].most / 2;
      s2_tangent_push_columns(work, r, &small->at0[r], 1, dl);
    }
  }
  if (!s2_tangent_solve(work, give, work->slope[0], work->dl)) {
    return false;
  }
  // The poses at the end of the piece.
  memcpy(work->du, work->right, sizeof(double) * (size_t)(work->n * columns));
  for (int i = 0; i < work->n; i++) {
    double *q1 = work->q1 + i * columns;
    memcpy(q1, work->q0 + i * columns, sizeof(double) * (size_t)columns);
    s2_tangent_add_columns(work, small->h, work->du + i * columns, q1);
    q1[columns - 1] += small->u[i];
  }
  return true;
}

// ---- Stage 2 -----------------------------------------------------------------------------------

static void second_row(S2TangentWork *work, int r) {
  const S2Small *small = work->small;
  const S2SmallRow *row = &small->row[r];
  double see[6] = {0}, by_q[6], *b = work->b + work->unknown * work->columns;
  double give = second_give(work, r);
  memset(b, 0, sizeof(double) * (size_t)work->columns);
  s2_tangent_bend_speed(work, r, &work->bend1[r], small->v1, by_q);
  s2_tangent_sides_of(&small->at1[r], 1, see);
  if (give > 0) {
    double e = small->h / 2 * row->stiffness + row->damping, by_value = row->stiffness / e;
    s2_tangent_sides_of(&small->at1[r], by_value, by_q);
    add_fields(work, r, by_value, b);
    s2_tangent_add_columns(work, -give, work->dl + r * work->columns, b);
    b[work->columns - 1] -= small->k[r] * give * (1 / small->h + by_value / 2) +
                            by_value * small->at1[r].value * by_value / 2;
  } else if (!row->soft) {
    add_fields(work, r, 0, b);
  }
  s2_tangent_add_along(work, r, 1, by_q, work->q1, b);
  for (int d = 0; d < work->columns; d++) {
    b[d] = -b[d];
  }
  s2_tangent_add_unknown(work, r, small->at1, work->slope[1], see);
}

// Sets dx of a row whose sum x = l + k is not an unknown, and pushes with it.
static void second_known(S2TangentWork *work, int r) {
  const S2Small *small = work->small;
  const S2SmallRow *row = &small->row[r];
  int columns = work->columns;
  double *dx = work->dx + r * columns, *dl = work->dl + r * columns;
  double side = bound_side(work, r, true);
  memset(dx, 0, sizeof(double) * (size_t)columns);
  if (row->trapezoid) { // k = l
    s2_tangent_push_columns(work, r, &small->at1[r], 2, dl);
  } else if (side != 0) {
    if (row->soft) {
      memcpy(dx, dl, sizeof(double) * (size_t)columns);
    }
    dx[columns - 1] += side * row->most / (row->soft ? 2 : 1);
    s2_tangent_push_columns(work, r, &small->at1[r], 1, dx);
  }
}

static bool second_stage(S2TangentWork *work) {
  const S2Small *small = work->small;
  int columns = work->columns;
  double half = small->h / 2, give[S2_SMALL_ROWS];
  for (int i = 0; i < work->n; i++) {
    double inertial = small->inertial[i], damping = small->damping[i];
    bool cayley = work->dt * damping <= 2 * inertial; // as in small_stage.c
    double left = inertial - (cayley ? half * damping : 0), *right = work->right + i * columns;
    work->mass[i] = inertial + (cayley ? 0 : half * damping);
    for (int d = 0; d < columns; d++) {
      right[d] = left * work->du[i * columns + d] + half * work->tangent->force[i * columns + d];
    }
    double damped = damping * (cayley ? small->u[i] : small->v1[i]);
    right[columns - 1] += (small->force[i] - damped) / 2;
  }
  s2_tangent_push_bends(work, work->bend1, small->k, work->q1);
  work->unknown = 0;
  for (int r = 0; r < small->rows; r++) {
    s2_tangent_push_columns(work, r, &small->at1[r], -1, work->dl + r * columns);
    give[r] = second_give(work, r);
    if (work->state[1][r] == S2_RATTLE_HELD) {
      second_row(work, r);
    } else {
      second_known(work, r);
    }
  }
  return s2_tangent_solve(work, give, work->slope[1], work->dx);
}

// ---- The piece ---------------------------------------------------------------------------------

bool s2_piece_tangent(const S2Small *piece, double dt, S2PieceTangent *tangent, S2Arena *arena) {
  S2ArenaMark mark = s2_arena_mark(arena);
  S2TangentWork work = s2_tangent_new(piece, dt, tangent, arena);
  find_states(&work);
  find_bends(&work);
  bool good = place_start(&work) && first_stage(&work) &&
              s2_tangent_edges_hold(&work, false, first_row, work.du) && second_stage(&work) &&
              s2_tangent_edges_hold(&work, true, second_row, work.right);
  size_t bytes = sizeof(double) * (size_t)(work.n * work.columns);
  if (good) {
    memcpy(tangent->q, work.q1, bytes);
    memcpy(tangent->v, work.right, bytes);
  }
  s2_arena_rewind(arena, mark);
  return good;
}

bool s2_piece_closing(const S2Small *piece, const S2PieceTangent *tangent, double *length) {
  if (piece->closes == S2_NONE) {
    return false;
  }
  const S2SmallRow *row = &piece->row[piece->closes];
  const S2SmallSide *side = &piece->at1[piece->closes];
  int columns = tangent->columns;
  memset(length, 0, sizeof(double) * (size_t)columns);
  for (int c = 0; c < 6; c++) {
    int seat = c < 3 ? row->a : row->b;
    double j = c < 3 ? side->a[c] : side->b[c - 3];
    for (int d = 0; d < columns && seat < piece->nodes; d++) {
      length[d] += j * tangent->q[(3 * seat + c % 3) * columns + d];
    }
  }
  double rate = length[columns - 1];
  for (int d = 0; d < columns; d++) {
    length[d] = d == columns - 1 ? 0 : -length[d] / rate;
  }
  return true;
}
