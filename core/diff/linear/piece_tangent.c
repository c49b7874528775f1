// With fixed active sets, a piece of the two-stage flow solves (rattle_undo.c)
//
//     W1 u = M v0 + h/2 f + J0' l,             (g(q1) - from)/h + C1 l + b1 = 0,   q1 = q0 + h u
//     W2 v1 = M2 u + h/2 f + J1' k,            J1 v1 + C2 k + b2 = 0
//
// The derivatives of these equations are linear systems for du, dl, dv1 and dk, with one right side
// per direction. Rows that stick measure the mean of their speeds at both ends. The impulses of
// sliding friction follow from the normal impulses. The unknown of stage 2 is the sum x = l + k.
#include "diff/linear/piece_tangent.h"

#include <math.h>
#include <string.h>

// The numbers of rattle_contact_undo.c. An impulse or speed below EDGE times the speed of the
// island counts as 0. An impulse this close to its bound, as a fraction of the bound, is at it.
static const double EDGE = 1e-9, AT_BOUND = 1e-9;
// Rows whose pivot is below REPEATS times the first pivot depend on other rows. What remains of
// their right sides may be at most REMAINS times its largest entry.
static const double REPEATS = 1e-11, REMAINS = 1e-9;
// A speed below this fraction of its terms is a rounding error. Terms below NOTHING are 0.
static const double ALIKE = 1e-9, NOTHING = 1e-200;
// Fraction of a momentum that may remain unexplained by the impulses of an impact.
static const double EXPLAINED = 1e-9;

enum { UNKNOWN = S2_SMALL_ROWS };

typedef struct Bend { // d(J_i)/d(pose c), with i and c the pose (angle, x, y) of a, then of b
  double at[6][6];
} Bend;

typedef struct Work {
  const S2Small *small;
  const S2PieceTangent *tangent;
  S2Arena *arena;
  double dt;
  int n, columns;
  bool edge[2][S2_SMALL_ROWS]; // true if the row is on the edge between two states
  S2RattleState state[2][S2_SMALL_ROWS];
  double slope[2][S2_SMALL_ROWS]; // impulse of sliding friction per normal impulse
  Bend *bend0, *bend1;            // per row
  double back[S2_SMALL_ROWS];     // of an impact: restitution
  double mass[3 * S2_SMALL_NODES];
  double *q0;           // n x columns: poses at the start
  double *du, *q1;      // n x columns
  double *dl, *dx;      // rows x columns
  double *right, *free; // n x columns; `free` leaves out the unknown impulses
  // The rows of a stage: unknown impulses, the effect of each on the velocities, and the row that
  // measures the speed.
  int unknown, row[UNKNOWN];
  double *push, *see; // unknown x n
  double *a, *b;      // unknown x unknown, unknown x columns
} Work;

static S2RattleSource source_of(const Work *work, int r) {
  return work->small->row[r].source;
}

// Returns the index of the first number of a seat among the nodes, or -1 for the ground.
static int place_of(const Work *work, int seat) {
  return seat < work->small->nodes ? 3 * seat : -1;
}

// ---- How rows turn -----------------------------------------------------------------------------

static void write_bend(S2Vec2 point, S2Vec2 arm, S2Vec2 d, S2Vec2 dpoint, S2Vec2 darm, S2Vec2 dd,
                       int c, Bend *bend) {
  bend->at[0][c] = s2_cross(dpoint, d) + s2_cross(point, dd);
  bend->at[1][c] = dd.x;
  bend->at[2][c] = dd.y;
  bend->at[3][c] = -(s2_cross(darm, d) + s2_cross(arm, dd));
  bend->at[4][c] = -dd.x;
  bend->at[5][c] = -dd.y;
}

// The derivatives of the translation of a and b with respect to pose c.
static S2Vec2 shift_of(int c) {
  return c == 1 || c == 4 ? s2_vec2(1, 0) : c == 2 || c == 5 ? s2_vec2(0, 1) : s2_vec2(0, 0);
}

static void bend_joint(const Work *work, int r, const double q[][3], Bend *bend) {
  const S2SmallRow *row = &work->small->row[r];
  const S2SmallJoint *joint = &work->small->joint[row->place];
  const double *qa = q[joint->a], *qb = q[joint->b];
  memset(bend, 0, sizeof *bend);
  if (row->measure == S2_SMALL_ANGLE) {
    return;
  }
  S2Rot turn_b = s2_rot(qb[0]);
  S2Vec2 ra = s2_rotate(s2_rot(qa[0]), joint->local_a), rb = s2_rotate(turn_b, joint->local_b);
  S2Vec2 apart = s2_vec2((qa[1] - qb[1]) + (ra.x - rb.x), (qa[2] - qb[2]) + (ra.y - rb.y));
  bool along = row->measure == S2_SMALL_ALONG;
  double length = s2_length(apart);
  S2Vec2 d = along ? s2_rotate(turn_b, row->axis) : s2_scale(row->sign / length, apart);
  for (int c = 0; c < 6; c++) {
    S2Vec2 dra = c == 0 ? s2_left(ra) : s2_vec2(0, 0), drb = c == 3 ? s2_left(rb) : s2_vec2(0, 0);
    S2Vec2 shift = c < 3 ? shift_of(c) : s2_neg(shift_of(c));
    S2Vec2 dapart = s2_add(shift, s2_sub(dra, drb));
    S2Vec2 across = s2_add_scaled(dapart, -s2_dot(d, dapart), d); // d has the length 1
    S2Vec2 dd = !along ? s2_scale(row->sign / length, across) : c == 3 ? s2_left(d) : s2_vec2(0, 0);
    // A direction fixed to b acts on b at the anchor of a.
    S2Vec2 arm = along ? s2_add(apart, rb) : rb, darm = along ? s2_add(dapart, drb) : drb;
    write_bend(ra, arm, d, dra, darm, dd, c, bend);
  }
}

// The rows of a contact point, the normal row and the friction row, as small_place_point computes
// them.
static void bend_contact(const S2SmallPoint *point, const double q[][3], bool end, Bend *normal,
                         Bend *along) {
  const S2ManifoldPoint *at = end ? &point->at1 : &point->at0;
  const double *qa = q[point->a], *qb = q[point->b];
  S2Vec2 pa = s2_rotate(s2_rot(qa[0]), at->local_a), rb = s2_rotate(s2_rot(qb[0]), at->local_b);
  S2Vec2 offset = s2_vec2(qb[1] - qa[1], qb[2] - qa[2]), n = at->normal, t = s2_left(n);
  S2Vec2 from_b = s2_sub(pa, s2_add(offset, rb)), arm = end ? point->arm1 : point->arm0;
  double sign = s2_dot(from_b, n) < 0 ? -1 : 1, distance = s2_length(from_b);
  for (int c = 0; c < 6; c++) {
    S2Vec2 zero = s2_vec2(0, 0), shift = c < 3 ? s2_neg(shift_of(c)) : shift_of(c);
    S2Vec2 dpa = c == 0 ? s2_left(pa) : zero;
    S2Vec2 dpb = s2_add(shift, c == 3 ? s2_left(rb) : zero);
    S2Vec2 dfrom = s2_sub(dpa, dpb), dn = zero;
    if (at->feature == S2_VERTEX_VERTEX) {
      dn = s2_scale(sign / distance, s2_add_scaled(dfrom, -s2_dot(n, dfrom), n));
    } else if (c == (at->feature == S2_EDGE_A ? 0 : 3)) {
      dn = t;
    }
    double half = (s2_dot(dfrom, n) + s2_dot(from_b, dn)) / 2; // of the change of the gap
    double reach =
        at->feature == S2_EDGE_B ? -(point->radius_a + at->gap / 2) : point->radius_b + at->gap / 2;
    S2Vec2 dpoint = at->feature == S2_EDGE_B
                        ? s2_add_scaled(s2_add_scaled(dpa, reach, dn), -half, n)
                        : s2_add_scaled(s2_add_scaled(dpb, reach, dn), half, n);
    S2Vec2 darm = s2_sub(dpoint, shift);
    write_bend(at->point, arm, n, dpoint, darm, dn, c, normal);
    if (along != NULL) {
      write_bend(at->point, arm, t, dpoint, darm, s2_left(dn), c, along);
    }
  }
}

static void bend_contacts(Work *work, bool end) {
  const S2Small *small = work->small;
  Bend *bends = end ? work->bend1 : work->bend0;
  for (int i = 0; i < small->points; i++) {
    const S2SmallPoint *point = &small->point[i];
    bend_contact(point, end ? small->q1 : small->q0, end, &bends[point->row],
                 point->rough ? &bends[point->row + 1] : NULL);
  }
}

static void find_bends(Work *work) {
  const S2Small *small = work->small;
  for (int r = 0; r < small->joint_rows; r++) {
    if (small->l[r] != 0) {
      bend_joint(work, r, small->q0, &work->bend0[r]);
    }
    if (work->state[1][r] == S2_RATTLE_HELD || small->k[r] != 0) {
      bend_joint(work, r, small->q1, &work->bend1[r]);
    }
  }
  bend_contacts(work, false);
  bend_contacts(work, true);
}

// ---- Active sets -------------------------------------------------------------------------------

static double mobility_of(const Work *work, int r, bool end) {
  const S2Small *small = work->small;
  const S2SmallRow *row = &small->row[r];
  const S2SmallSide *side = end ? &small->at1[r] : &small->at0[r];
  double w = 0;
  for (int c = 0; c < 3; c++) {
    int a = place_of(work, row->a), b = place_of(work, row->b);
    w += a >= 0 ? side->a[c] * side->a[c] / small->inertial[a + c] : 0;
    w += b >= 0 ? side->b[c] * side->b[c] / small->inertial[b + c] : 0;
  }
  return w;
}

static double along_node(const Work *work, int r, const S2SmallSide *side, const double *v) {
  const S2SmallRow *row = &work->small->row[r];
  int a = place_of(work, row->a), b = place_of(work, row->b);
  double sum = 0;
  for (int c = 0; c < 3; c++) {
    sum += a >= 0 ? side->a[c] * v[a + c] : 0;
    sum += b >= 0 ? side->b[c] * v[b + c] : 0;
  }
  return sum;
}

// The compliance of a soft row in stage 2, and its bias without the term of the impulse.
static double second_give(const Work *work, int r) {
  const S2SmallRow *row = &work->small->row[r];
  double half = work->small->h / 2, e = half * row->stiffness + row->damping;
  return row->soft && !row->trapezoid ? 1 / (half * e) : 0;
}

// Returns the residual of row r in a stage: a mean speed over the piece, or the speed at its end.
static double row_speed(const Work *work, int r, bool second) {
  const S2Small *small = work->small;
  const S2SmallRow *row = &small->row[r];
  if (second) {
    double speed = along_node(work, r, &small->at1[r], small->v1) - row->speed;
    if (row->soft && !row->trapezoid) {
      double e = small->h / 2 * row->stiffness + row->damping;
      speed += second_give(work, r) * small->k[r] + row->stiffness * small->at1[r].value / e;
    }
    return speed;
  }
  if (row->source == S2_RATTLE_OF_SLIP) {
    double start = along_node(work, r, &small->at0[r], small->u);
    return (start + along_node(work, r, &small->at1[r], small->u)) / 2 - row->speed;
  }
  double from = row->changes ? small->at0[r].value : 0;
  return (small->at1[r].value - from) / small->h - row->speed + row->compliance * small->l[r] +
         row->bias;
}

// The state of a boxed row of a joint. x is the unknown of its stage.
static S2RattleState box_state(Work *work, int r, bool second) {
  const S2Small *small = work->small;
  const S2SmallRow *row = &small->row[r];
  bool sums = second && !row->soft;
  double x = sums ? small->l[r] + small->k[r] : second ? small->k[r] : small->l[r];
  double most = row->most * small->h / (sums ? 1 : 2), least = EDGE * small->speed;
  double size = s2_small_turns(&small->at0[r]) ? small->length : 1;
  double w = mobility_of(work, r, second) * size;
  S2RattleState state = x >= most * (1 - AT_BOUND)    ? S2_RATTLE_AT_HI
                        : x <= -most * (1 - AT_BOUND) ? S2_RATTLE_AT_LO
                                                      : S2_RATTLE_HELD;
  bool held = state == S2_RATTLE_HELD;
  work->edge[second][r] = held ? fmin(most - x, x + most) * w <= least
                               : fabs(row_speed(work, r, second)) * size <= least;
  return !held || !work->edge[second][r] ? state
         : most - x < x + most           ? S2_RATTLE_AT_HI
                                         : S2_RATTLE_AT_LO;
}

static S2RattleState row_state(Work *work, int r, bool second) {
  const S2Small *small = work->small;
  const S2SmallRow *row = &small->row[r];
  double x = second ? small->l[r] + small->k[r] : small->l[r], least = EDGE * small->speed;
  if (small->known[second][r]) {
    return S2_RATTLE_KNOWN;
  }
  if (row->law == S2_RATTLE_EQUATION) {
    return S2_RATTLE_HELD;
  }
  if (row->law == S2_RATTLE_BOUNDED) {
    return box_state(work, r, second);
  }
  double size = s2_small_turns(&small->at0[r]) ? small->length : 1;
  double w = mobility_of(work, r, second) * size, speed = row_speed(work, r, second) * size;
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
static void find_states(Work *work) {
  const S2Small *small = work->small;
  for (int i = 0; i < 2; i++) {
    for (int r = 0; r < small->rows; r++) {
      const S2SmallRow *row = &small->row[r];
      S2RattleState state = work->state[i][r] = row_state(work, r, i == 1);
      bool slides =
          row->law == S2_RATTLE_FRICTION && (state == S2_RATTLE_AT_LO || state == S2_RATTLE_AT_HI);
      work->slope[i][r] = !slides ? 0 : state == S2_RATTLE_AT_HI ? row->mu : -row->mu;
    }
  }
}

// Returns -1, 0 or 1 for a boxed row at its lower bound, off its bounds, or at its upper bound.
static double bound_side(const Work *work, int r, bool second) {
  S2RattleState state = work->state[second][r];
  bool boxed = work->small->row[r].law == S2_RATTLE_BOUNDED;
  return !boxed ? 0 : state == S2_RATTLE_AT_HI ? 1 : state == S2_RATTLE_AT_LO ? -1 : 0;
}

// ---- Products over the columns -----------------------------------------------------------------

// to += factor from, over the columns
static void add_columns(const Work *work, double factor, const double *from, double *to) {
  for (int d = 0; d < work->columns; d++) {
    to[d] += factor * from[d];
  }
}

// to += factor (6 numbers of the seats of row r)' of, where `of` has n x columns
static void add_along(const Work *work, int r, double factor, const double j[6], const double *of,
                      double *to) {
  const S2SmallRow *row = &work->small->row[r];
  for (int c = 0; c < 6; c++) {
    int at = place_of(work, c < 3 ? row->a : row->b);
    if (at >= 0 && j[c] != 0) {
      add_columns(work, factor * j[c], of + (at + c % 3) * work->columns, to);
    }
  }
}

// right += J' x, where x has one number per column
static void push_columns(Work *work, int r, const S2SmallSide *side, double factor,
                         const double *x) {
  const S2SmallRow *row = &work->small->row[r];
  int a = place_of(work, row->a), b = place_of(work, row->b);
  for (int c = 0; c < 3; c++) {
    if (a >= 0 && side->a[c] != 0) {
      add_columns(work, factor * side->a[c], x, work->right + (a + c) * work->columns);
    }
    if (b >= 0 && side->b[c] != 0) {
      add_columns(work, factor * side->b[c], x, work->right + (b + c) * work->columns);
    }
  }
}

// right += (sum of impulses times dJ'/dq) dq
static void push_bends(Work *work, const Bend *bends, const double *impulse, const double *dq) {
  const S2Small *small = work->small;
  double g[3 * S2_SMALL_NODES][3 * S2_SMALL_NODES] = {{0}};
  for (int r = 0; r < small->rows; r++) {
    const S2SmallRow *row = &small->row[r];
    const int place[2] = {place_of(work, row->a), place_of(work, row->b)};
    bool turns = r >= small->joint_rows || row->measure != S2_SMALL_ANGLE;
    for (int i = 0; i < 6 && impulse[r] != 0 && turns; i++) {
      for (int c = 0; c < 6 && place[i / 3] >= 0; c++) {
        if (place[c / 3] >= 0) {
          g[place[i / 3] + i % 3][place[c / 3] + c % 3] += impulse[r] * bends[r].at[i][c];
        }
      }
    }
  }
  for (int i = 0; i < work->n; i++) {
    for (int c = 0; c < work->n; c++) {
      if (g[i][c] != 0) {
        add_columns(work, g[i][c], dq + c * work->columns, work->right + i * work->columns);
      }
    }
  }
}

// j_c = sum over i of bend_ic v_i, the derivative of the speed J v with respect to the poses
static void bend_speed(const Work *work, int r, const Bend *bend, const double *v, double j[6]) {
  const S2SmallRow *row = &work->small->row[r];
  memset(j, 0, sizeof(double) * 6);
  for (int i = 0; i < 6; i++) {
    int at = place_of(work, i < 3 ? row->a : row->b);
    for (int c = 0; c < 6 && at >= 0; c++) {
      j[c] += bend->at[i][c] * v[at + i % 3];
    }
  }
}

static void sides_of(const S2SmallSide *side, double factor, double j[6]) {
  for (int c = 0; c < 3; c++) {
    j[c] += factor * side->a[c];
    j[3 + c] += factor * side->b[c];
  }
}

// ---- The linear system of a stage --------------------------------------------------------------

// Adds an unknown row. `sides` are the directions of impulses, and `slope` the impulse of sliding
// friction per normal impulse, both per row. `see` (6 numbers) measures the speed of the row.
static void add_unknown(Work *work, int r, const S2SmallSide *sides, const double *slope,
                        const double see[6]) {
  const S2Small *small = work->small;
  const S2SmallRow *row = &small->row[r];
  int k = work->unknown++;
  double j[6] = {0}, *push = work->push + k * work->n, *seen = work->see + k * work->n;
  work->row[k] = r;
  sides_of(&sides[r], 1, j);
  bool contact = r + 1 < small->rows && source_of(work, r) == S2_RATTLE_OF_GAP;
  if (contact && source_of(work, r + 1) == S2_RATTLE_OF_SLIP) {
    sides_of(&sides[r + 1], slope[r + 1], j);
  }
  memset(push, 0, sizeof(double) * (size_t)work->n);
  memset(seen, 0, sizeof(double) * (size_t)work->n);
  for (int c = 0; c < 6; c++) {
    int at = place_of(work, c < 3 ? row->a : row->b);
    if (at >= 0) {
      push[at + c % 3] += j[c] / work->mass[at + c % 3];
      seen[at + c % 3] += see[c];
    }
  }
}

static void swap_rows(double *a, int i, int k, int size) {
  for (int c = 0; c < size && i != k; c++) {
    double t = a[i * size + c];
    a[i * size + c] = a[k * size + c];
    a[k * size + c] = t;
  }
}

// Solves a x = b with complete pivoting. The unknowns of rows that depend on other rows become 0.
// Returns false if these rows contradict the others. Overwrites a. The result is in b.
static bool solve_square(double *a, double *b, int n, int columns) {
  int column[UNKNOWN], rank = 0;
  double first = 0;
  for (int i = 0; i < n; i++) {
    column[i] = i;
  }
  for (; rank < n; rank++) {
    int row = rank, at = rank;
    for (int i = rank; i < n; i++) {
      for (int c = rank; c < n; c++) {
        bool larger = fabs(a[i * n + c]) > fabs(a[row * n + at]);
        row = larger ? i : row;
        at = larger ? c : at;
      }
    }
    double most = fabs(a[row * n + at]);
    first = rank == 0 ? most : first;
    if (!(most > REPEATS * first)) {
      break;
    }
    swap_rows(a, row, rank, n);
    swap_rows(b, row, rank, columns);
    for (int i = 0; i < n && at != rank; i++) {
      double t = a[i * n + at];
      a[i * n + at] = a[i * n + rank];
      a[i * n + rank] = t;
    }
    int t = column[at];
    column[at] = column[rank];
    column[rank] = t;
    for (int i = rank + 1; i < n; i++) {
      double factor = a[i * n + rank] / a[rank * n + rank];
      for (int c = rank; c < n && factor != 0; c++) {
        a[i * n + c] -= factor * a[rank * n + c];
      }
      for (int d = 0; d < columns && factor != 0; d++) {
        b[i * columns + d] -= factor * b[rank * columns + d];
      }
    }
  }
  double size = 0, left = 0; // of the independent rows and of the others
  for (int i = 0; i < n * columns; i++) {
    double *most = i < rank * columns ? &size : &left;
    *most = fmax(*most, fabs(b[i]));
  }
  if (!(left <= REMAINS * size)) {
    return false;
  }
  for (int i = rank - 1; i >= 0; i--) {
    for (int c = i + 1; c < rank; c++) {
      for (int d = 0; d < columns; d++) {
        b[i * columns + d] -= a[i * n + c] * b[c * columns + d];
      }
    }
    for (int d = 0; d < columns; d++) {
      b[i * columns + d] /= a[i * n + i];
    }
  }
  // Bring the unknowns back to the order of the rows. The pivots a are no longer needed.
  for (int d = 0; d < columns; d++) {
    double x[UNKNOWN] = {0};
    for (int i = 0; i < rank; i++) {
      x[column[i]] = b[i * columns + d];
    }
    for (int i = 0; i < n; i++) {
      b[i * columns + d] = x[i];
    }
  }
  return true;
}

// Solves a system with the unknown rows. At the start, `right` contains the momenta, and b the
// right sides of the rows without the terms of the velocities. At the end, `right` contains the
// derivatives of the velocities, and the rows of `to` those of the unknown impulses.
static bool solve_rows(Work *work, const double *give, const double *slope, double *to) {
  int n = work->n, count = work->unknown, columns = work->columns;
  double *right = work->right, scale[UNKNOWN];
  for (int i = 0; i < n; i++) {
    for (int d = 0; d < columns; d++) {
      right[i * columns + d] /= work->mass[i];
    }
  }
  memcpy(work->free, right, sizeof(double) * (size_t)(n * columns));
  for (int k = 0; k < count; k++) {
    const double *see = work->see + k * n;
    for (int s = 0; s < count; s++) {
      const double *push = work->push + s * n;
      double sum = 0;
      for (int i = 0; i < n; i++) {
        sum += see[i] * push[i];
      }
      work->a[k * count + s] = sum;
    }
    work->a[k * count + k] += give[work->row[k]];
    for (int i = 0; i < n; i++) {
      if (see[i] != 0) {
        add_columns(work, -see[i], right + i * columns, work->b + k * columns);
      }
    }
  }
  // Scale rows and unknowns by the square roots of the mobilities, so that pivots compare.
  for (int k = 0; k < count; k++) {
    double w = fabs(work->a[k * count + k]);
    scale[k] = w > 0 ? 1 / sqrt(w) : 1;
  }
  for (int k = 0; k < count; k++) {
    for (int s = 0; s < count; s++) {
      work->a[k * count + s] *= scale[k] * scale[s];
    }
    for (int d = 0; d < columns; d++) {
      work->b[k * columns + d] *= scale[k];
    }
  }
  if (!solve_square(work->a, work->b, count, columns)) {
    return false;
  }
  for (int k = 0; k < count; k++) {
    int r = work->row[k];
    double *x = to + r * columns;
    for (int d = 0; d < columns; d++) {
      x[d] = scale[k] * work->b[k * columns + d];
    }
    for (int i = 0; i < n; i++) {
      if (work->push[k * n + i] != 0) {
        add_columns(work, work->push[k * n + i], x, right + i * columns);
      }
    }
    if (r + 1 < work->small->rows && slope[r + 1] != 0) { // sliding friction
      add_columns(work, slope[r + 1], x, x + columns);
    }
  }
  return true;
}

// Adds the derivatives of the fields that row r reads. `by_value`: derivative of the row's residual
// with respect to its value.
static void add_fields(Work *work, int r, double by_value, double *to) {
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

// ---- The start ---------------------------------------------------------------------------------

// A step begins with poses that satisfy the joints and closed contacts. A change of the poses that
// violates them is projected in the mass norm, as placing_of_none in rattle_undo.c explains.
static bool place_start(Work *work) {
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
    bool placed = row->law == S2_RATTLE_EQUATION || row->law == S2_RATTLE_LIMIT;
    if (placed && !row->changes && work->state[0][r] == S2_RATTLE_HELD) {
      double see[6] = {0};
      memset(work->b + work->unknown * columns, 0, sizeof(double) * (size_t)columns);
      sides_of(&small->at0[r], 1, see);
      add_unknown(work, r, small->at0, none, see);
    }
  }
  if (!solve_rows(work, none, none, work->dx)) {
    return false;
  }
  memcpy(work->q0, work->right, sizeof(double) * (size_t)(work->n * columns));
  return true;
}

// ---- Stage 1 -----------------------------------------------------------------------------------

// Sets b = -(derivative of the residual of row r, for constant u and l) and adds the unknown.
static void first_row(Work *work, int r) {
  const S2Small *small = work->small;
  const S2SmallRow *row = &small->row[r];
  double h = small->h, see[6] = {0}, by_q[6] = {0}, *b = work->b + work->unknown * work->columns;
  double *length = &b[work->columns - 1];
  memset(b, 0, sizeof(double) * (size_t)work->columns);
  if (row->source == S2_RATTLE_OF_SLIP) {
    double end[6];
    bend_speed(work, r, &work->bend0[r], small->u, by_q);
    bend_speed(work, r, &work->bend1[r], small->u, end);
    sides_of(&small->at0[r], 0.5, see);
    sides_of(&small->at1[r], 0.5, see);
    for (int c = 0; c < 6; c++) {
      see[c] += h / 2 * end[c];
      by_q[c] = (by_q[c] + end[c]) / 2;
      int at = place_of(work, c < 3 ? row->a : row->b);
      *length += at >= 0 ? end[c] * small->u[at + c % 3] / 2 : 0;
    }
  } else {
    double e = (row->trapezoid ? h / 2 : h) * row->stiffness + row->damping;
    double by_start = row->soft ? row->stiffness / e : 0, rate = row->trapezoid ? 0.5 : 1;
    double from = row->changes ? small->at0[r].value : 0;
    sides_of(&small->at1[r], 1, see);
    sides_of(&small->at1[r], 1 / h, by_q);
    sides_of(&small->at0[r], by_start - (row->changes ? 1 / h : 0), by_q);
    add_fields(work, r, row->changes ? by_start : 1 / h + by_start, b);
    *length += along_node(work, r, &small->at1[r], small->u) / h;
    *length -= (small->at1[r].value - from) / (h * h);
    if (row->soft) { // C = 2/(h e), b = K g/e
      double give = row->compliance, stiff = rate * row->stiffness / e;
      *length -= small->l[r] * (give / h + give * stiff) + row->bias * stiff;
    }
  }
  add_along(work, r, 1, by_q, work->q0, b);
  for (int d = 0; d < work->columns; d++) {
    b[d] = -b[d];
  }
  add_unknown(work, r, small->at0, work->slope[0], see);
}

static bool first_stage(Work *work) {
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
  push_bends(work, work->bend0, small->l, work->q0);
  work->unknown = 0;
  for (int r = 0; r < small->rows; r++) {
    double *dl = work->dl + r * columns;
    memset(dl, 0, sizeof(double) * (size_t)columns);
    give[r] = small->row[r].compliance;
    if (work->state[0][r] == S2_RATTLE_HELD) {
      first_row(work, r);
    } else if (bound_side(work, r, false) != 0) {
      dl[columns - 1] = bound_side(work, r, false) * small->row[r].most / 2;
      push_columns(work, r, &small->at0[r], 1, dl);
    }
  }
  if (!solve_rows(work, give, work->slope[0], work->dl)) {
    return false;
  }
  memcpy(work->du, work->right, sizeof(double) * (size_t)(work->n * columns));
  for (int i = 0; i < work->n; i++) {
    double *q1 = work->q1 + i * columns;
    memcpy(q1, work->q0 + i * columns, sizeof(double) * (size_t)columns);
    add_columns(work, small->h, work->du + i * columns, q1);
    q1[columns - 1] += small->u[i];
  }
  return true;
}

// ---- Stage 2 -----------------------------------------------------------------------------------

static void second_row(Work *work, int r) {
  const S2Small *small = work->small;
  const S2SmallRow *row = &small->row[r];
  double see[6] = {0}, by_q[6], *b = work->b + work->unknown * work->columns;
  double give = second_give(work, r);
  memset(b, 0, sizeof(double) * (size_t)work->columns);
  bend_speed(work, r, &work->bend1[r], small->v1, by_q);
  sides_of(&small->at1[r], 1, see);
  if (give > 0) {
    double e = small->h / 2 * row->stiffness + row->damping, by_value = row->stiffness / e;
    sides_of(&small->at1[r], by_value, by_q);
    add_fields(work, r, by_value, b);
    add_columns(work, -give, work->dl + r * work->columns, b);
    b[work->columns - 1] -= small->k[r] * give * (1 / small->h + by_value / 2) +
                            by_value * small->at1[r].value * by_value / 2;
  } else if (!row->soft) {
    add_fields(work, r, 0, b);
  }
  add_along(work, r, 1, by_q, work->q1, b);
  for (int d = 0; d < work->columns; d++) {
    b[d] = -b[d];
  }
  add_unknown(work, r, small->at1, work->slope[1], see);
}

// Sets dx of a row whose sum x = l + k is not an unknown, and pushes with it.
static void second_known(Work *work, int r) {
  const S2Small *small = work->small;
  const S2SmallRow *row = &small->row[r];
  int columns = work->columns;
  double *dx = work->dx + r * columns, *dl = work->dl + r * columns;
  double side = bound_side(work, r, true);
  memset(dx, 0, sizeof(double) * (size_t)columns);
  if (row->trapezoid) { // k = l
    push_columns(work, r, &small->at1[r], 2, dl);
  } else if (side != 0) {
    if (row->soft) {
      memcpy(dx, dl, sizeof(double) * (size_t)columns);
    }
    dx[columns - 1] += side * row->most / (row->soft ? 2 : 1);
    push_columns(work, r, &small->at1[r], 1, dx);
  }
}

static bool second_stage(Work *work) {
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
  push_bends(work, work->bend1, small->k, work->q1);
  work->unknown = 0;
  for (int r = 0; r < small->rows; r++) {
    push_columns(work, r, &small->at1[r], -1, work->dl + r * columns);
    give[r] = second_give(work, r);
    if (work->state[1][r] == S2_RATTLE_HELD) {
      second_row(work, r);
    } else {
      second_known(work, r);
    }
  }
  return solve_rows(work, give, work->slope[1], work->dx);
}

// ---- Edges -------------------------------------------------------------------------------------

// Sets the right side b of a row for unchanged velocities and impulses, and adds the row.
typedef void AddRow(Work *work, int r);

// Returns true if the derivatives leave the speeds of all rows on edges unchanged. If other rows
// hold such a row, both of its states give the same derivatives. (An example is the friction at one
// of two points of a foot that stands, if it is at its bound.) `v` contains the derivatives of the
// velocities.
static bool edges_hold(Work *work, bool second, AddRow *add_row, const double *v) {
  int n = work->n, columns = work->columns;
  for (int r = 0; r < work->small->rows; r++) {
    if (!work->edge[second][r]) {
      continue;
    }
    work->unknown = 0; // the system is solved, so its memory is free
    add_row(work, r);
    for (int d = 0; d < columns; d++) {
      double speed = -work->b[d], size = fabs(work->b[d]);
      for (int i = 0; i < n; i++) {
        speed += work->see[i] * v[i * columns + d];
        size += fabs(work->see[i] * work->free[i * columns + d]);
      }
      if (!(fabs(speed) <= ALIKE * size + NOTHING)) {
        return false;
      }
    }
  }
  return true;
}

// ---- The piece ---------------------------------------------------------------------------------

static Work work_new(const S2Small *piece, double dt, const S2PieceTangent *tangent,
                     S2Arena *arena) {
  int n = 3 * piece->nodes, columns = tangent->columns, rows = piece->rows;
  double *numbers = S2_TAKE(arena, double, 5 * n * columns + 3 * rows * columns + 2 * rows * n);
  Work work = {.small = piece,
               .tangent = tangent,
               .arena = arena,
               .dt = dt,
               .n = n,
               .columns = columns,
               .bend0 = S2_TAKE_ZEROED(arena, Bend, rows + 1),
               .bend1 = S2_TAKE_ZEROED(arena, Bend, rows + 1),
               .du = numbers,
               .q1 = numbers + n * columns,
               .right = numbers + 2 * n * columns,
               .q0 = numbers + 3 * n * columns,
               .free = numbers + 4 * n * columns,
               .dl = numbers + 5 * n * columns,
               .a = S2_TAKE(arena, double, rows *rows + 1)};
  work.dx = work.dl + rows * columns;
  work.b = work.dx + rows * columns;
  work.push = work.b + rows * columns;
  work.see = work.push + rows * n;
  return work;
}

bool s2_piece_tangent(const S2Small *piece, double dt, S2PieceTangent *tangent, S2Arena *arena) {
  S2ArenaMark mark = s2_arena_mark(arena);
  Work work = work_new(piece, dt, tangent, arena);
  find_states(&work);
  find_bends(&work);
  bool good = place_start(&work) && first_stage(&work) &&
              edges_hold(&work, false, first_row, work.du) && second_stage(&work) &&
              edges_hold(&work, true, second_row, work.right);
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

// ---- Impacts -----------------------------------------------------------------------------------

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
static bool impact_state(Work *work, const S2SmallImpact *impact, int r) {
  const S2Small *small = work->small;
  const S2SmallRow *row = &small->row[r];
  const S2SmallSide *side = &small->at0[r];
  S2RattleState *state = &work->state[0][r];
  double x = small->l[r], least = EDGE * small->speed;
  *state = S2_RATTLE_OPEN;
  if (row->soft || row->changes || row->law == S2_RATTLE_BOUNDED) {
    return x == 0;
  }
  if (row->law == S2_RATTLE_EQUATION) {
    *state = S2_RATTLE_HELD;
    return true;
  }
  double size = s2_small_turns(side) ? small->length : 1;
  double w = mobility_of(work, r, false) * size, after = along_node(work, r, side, small->v1);
  if (row->law == S2_RATTLE_LIMIT) {
    double before = restitution_of(impact, r) * along_node(work, r, side, small->v0);
    double speed = (after + before) * size;
    bool closed = row->source == S2_RATTLE_OF_GAP || side->value <= S2_TOUCH_SLOP * small->length;
    work->edge[0][r] = closed && x * w <= least && fabs(speed) <= least;
    *state = x * w > least ? S2_RATTLE_HELD : S2_RATTLE_OPEN;
    return true;
  }
  if (work->state[0][r - 1] != S2_RATTLE_HELD) {
    return true;
  }
  double slip = after - row->speed, room = (row->mu * small->l[r - 1] - fabs(x)) * w;
  bool ahead = fabs(slip) > least ? slip > 0 : x < 0;
  work->edge[0][r] = room <= least && fabs(slip) <= least;
  bool held = room > fabs(slip) && !work->edge[0][r];
  *state = held ? S2_RATTLE_HELD : ahead ? S2_RATTLE_AT_LO : S2_RATTLE_AT_HI;
  work->slope[0][r] = held ? 0 : ahead ? -row->mu : row->mu;
  return true;
}

// Returns true if the impulses explain the change of the velocities.
static bool impact_explains(const Work *work) {
  const S2Small *small = work->small;
  double left[3 * S2_SMALL_NODES], size = 0, worst = 0;
  for (int i = 0; i < work->n; i++) {
    left[i] = small->inertial[i] * (small->v1[i] - small->v0[i]);
    size = fmax(size, small->inertial[i] * (fabs(small->v1[i]) + fabs(small->v0[i])));
  }
  for (int r = 0; r < small->rows; r++) {
    const S2SmallRow *row = &small->row[r];
    int a = place_of(work, row->a), b = place_of(work, row->b);
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

static void impact_row(Work *work, int r) {
  const S2Small *small = work->small;
  double see[6] = {0}, by_q[6], *b = work->b + work->unknown * work->columns;
  double e = work->back[r];
  memset(b, 0, sizeof(double) * (size_t)work->columns);
  bend_speed(work, r, &work->bend0[r], small->v1, by_q);
  sides_of(&small->at0[r], 1, see);
  if (e > 0) {
    double before[6];
    bend_speed(work, r, &work->bend0[r], small->v0, before);
    for (int c = 0; c < 6; c++) {
      by_q[c] += e * before[c];
    }
    add_along(work, r, -e, see, work->tangent->v, b);
  }
  add_along(work, r, -1, by_q, work->tangent->q, b);
  add_unknown(work, r, small->at0, work->slope[0], see);
}

bool s2_impact_tangent(const S2SmallImpact *impact, S2PieceTangent *tangent, S2Arena *arena) {
  S2ArenaMark mark = s2_arena_mark(arena);
  const S2Small *small = &impact->small;
  Work work = work_new(small, 0, tangent, arena);
  double none[S2_SMALL_ROWS] = {0};
  bool good = impact_explains(&work);
  for (int r = 0; r < small->rows && good; r++) {
    work.back[r] = restitution_of(impact, r);
    good = impact_state(&work, impact, r);
  }
  for (int r = 0; r < small->joint_rows; r++) {
    bend_joint(&work, r, small->q0, &work.bend0[r]);
  }
  bend_contacts(&work, false);
  for (int i = 0; i < work.n; i++) {
    work.mass[i] = small->inertial[i];
    for (int d = 0; d < work.columns; d++) {
      work.right[i * work.columns + d] = small->inertial[i] * tangent->v[i * work.columns + d];
    }
  }
  push_bends(&work, work.bend0, small->l, tangent->q);
  for (int r = 0; r < small->rows; r++) {
    if (work.state[0][r] == S2_RATTLE_HELD) {
      impact_row(&work, r);
    }
  }
  good = good && solve_rows(&work, none, work.slope[0], work.dl) &&
         edges_hold(&work, false, impact_row, work.right);
  if (good) {
    memcpy(tangent->v, work.right, sizeof(double) * (size_t)(work.n * work.columns));
  }
  s2_arena_rewind(arena, mark);
  return good;
}
