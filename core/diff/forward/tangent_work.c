// The parts that derivatives of pieces and of impacts share: how rows turn, and linear systems with
// one right side per direction.
#include "diff/forward/tangent_work.h"

#include <math.h>
#include <string.h>

// Rows whose pivot is below REPEATS times the first pivot depend on other rows. The remainder
// of their right sides may be at most REMAINS times the largest entry.
static const double REPEATS = 1e-11, REMAINS = 1e-9;
// A diagonal pivot is taken if it exceeds LARGE times the entries of its column and these exceed
// SURE. The diagonal is 1 at first.
static const double LARGE = 0.1, SURE = 1e-3;
// A speed below this fraction of its terms is a rounding error. Terms below NOTHING are 0.
static const double ALIKE = 1e-9, NOTHING = 1e-200;

S2RattleSource s2_tangent_source_of(const S2TangentWork *work, int r) {
  return work->small->row[r].source;
}

// Returns the index of the first number of a seat among the nodes, or -1 for the ground.
int s2_tangent_place_of(const S2TangentWork *work, int seat) {
  return seat < work->small->nodes ? 3 * seat : -1;
}

// ---- How rows turn -----------------------------------------------------------------------------

static void write_bend(S2Vec2 point, S2Vec2 arm, S2Vec2 d, S2Vec2 dpoint, S2Vec2 darm, S2Vec2 dd,
                       int c, S2Bend *bend) {
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

void s2_tangent_bend_joint(const S2TangentWork *work, int r, const double q[][3], S2Bend *bend) {
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
static void bend_contact(const S2SmallPoint *point, const double q[][3], bool end, S2Bend *normal,
                         S2Bend *along) {
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

void s2_tangent_bend_contacts(S2TangentWork *work, bool end) {
  const S2Small *small = work->small;
  S2Bend *bends = end ? work->bend1 : work->bend0;
  for (int i = 0; i < small->points; i++) {
    const S2SmallPoint *point = &small->point[i];
    bend_contact(point, end ? small->q1 : small->q0, end, &bends[point->row],
                 point->rough ? &bends[point->row + 1] : NULL);
  }
}

double s2_tangent_mobility_of(const S2TangentWork *work, int r, bool end) {
  const S2Small *small = work->small;
  const S2SmallRow *row = &small->row[r];
  const S2SmallSide *side = end ? &small->at1[r] : &small->at0[r];
  double w = 0;
  for (int c = 0; c < 3; c++) {
    int a = s2_tangent_place_of(work, row->a), b = s2_tangent_place_of(work, row->b);
    w += a >= 0 ? side->a[c] * side->a[c] / small->inertial[a + c] : 0;
    w += b >= 0 ? side->b[c] * side->b[c] / small->inertial[b + c] : 0;
  }
  return w;
}

double s2_tangent_along_node(const S2TangentWork *work, int r, const S2SmallSide *side,
                             const double *v) {
  const S2SmallRow *row = &work->small->row[r];
  int a = s2_tangent_place_of(work, row->a), b = s2_tangent_place_of(work, row->b);
  double sum = 0;
  for (int c = 0; c < 3; c++) {
    sum += a >= 0 ? side->a[c] * v[a + c] : 0;
    sum += b >= 0 ? side->b[c] * v[b + c] : 0;
  }
  return sum;
}

// ---- Products over the columns -----------------------------------------------------------------

// to += factor from, over the columns
void s2_tangent_add_columns(const S2TangentWork *work, double factor, const double *from,
                            double *to) {
  for (int d = 0; d < work->columns; d++) {
    to[d] += factor * from[d];
  }
}

// to += factor (6 numbers of the seats of row r)' of, where `of` has n x columns
void s2_tangent_add_along(const S2TangentWork *work, int r, double factor, const double j[6],
                          const double *of, double *to) {
  const S2SmallRow *row = &work->small->row[r];
  for (int c = 0; c < 6; c++) {
    int at = s2_tangent_place_of(work, c < 3 ? row->a : row->b);
    if (at >= 0 && j[c] != 0) {
      s2_tangent_add_columns(work, factor * j[c], of + (at + c % 3) * work->columns, to);
    }
  }
}

// right += J' x, where x has one number per column
void s2_tangent_push_columns(S2TangentWork *work, int r, const S2SmallSide *side, double factor,
                             const double *x) {
  const S2SmallRow *row = &work->small->row[r];
  int a = s2_tangent_place_of(work, row->a), b = s2_tangent_place_of(work, row->b);
  for (int c = 0; c < 3; c++) {
    if (a >= 0 && side->a[c] != 0) {
      s2_tangent_add_columns(work, factor * side->a[c], x, work->right + (a + c) * work->columns);
    }
    if (b >= 0 && side->b[c] != 0) {
      s2_tangent_add_columns(work, factor * side->b[c], x, work->right + (b + c) * work->columns);
    }
  }
}

// right += (sum of impulses times dJ'/dq) dq
void s2_tangent_push_bends(S2TangentWork *work, const S2Bend *bends, const double *impulse,
                           const double *dq) {
  const S2Small *small = work->small;
  double g[3 * S2_SMALL_NODES][3 * S2_SMALL_NODES] = {{0}};
  for (int r = 0; r < small->rows; r++) {
    const S2SmallRow *row = &small->row[r];
    const int place[2] = {s2_tangent_place_of(work, row->a), s2_tangent_place_of(work, row->b)};
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
        s2_tangent_add_columns(work, g[i][c], dq + c * work->columns,
                               work->right + i * work->columns);
      }
    }
  }
}

// j_c = sum over i of bend_ic v_i, the derivative of the speed J v with respect to the poses
void s2_tangent_bend_speed(const S2TangentWork *work, int r, const S2Bend *bend, const double *v,
                           double j[6]) {
  const S2SmallRow *row = &work->small->row[r];
  memset(j, 0, sizeof(double) * 6);
  for (int i = 0; i < 6; i++) {
    int at = s2_tangent_place_of(work, i < 3 ? row->a : row->b);
    for (int c = 0; c < 6 && at >= 0; c++) {
      j[c] += bend->at[i][c] * v[at + i % 3];
    }
  }
}

void s2_tangent_sides_of(const S2SmallSide *side, double factor, double j[6]) {
  for (int c = 0; c < 3; c++) {
    j[c] += factor * side->a[c];
    j[3 + c] += factor * side->b[c];
  }
}

// ---- The linear system of a stage --------------------------------------------------------------

// Adds an unknown row. `sides` are the directions of impulses, and `slope` the impulse of sliding
// friction per normal impulse, both per row. `see` (6 numbers) measures the speed of the row.
void s2_tangent_add_unknown(S2TangentWork *work, int r, const S2SmallSide *sides,
                            const double *slope, const double see[6]) {
  const S2Small *small = work->small;
  const S2SmallRow *row = &small->row[r];
  int k = work->unknown++;
  double j[6] = {0}, *push = work->push + k * work->n, *seen = work->see + k * work->n;
  work->row[k] = r;
  s2_tangent_sides_of(&sides[r], 1, j);
  bool contact = r + 1 < small->rows && s2_tangent_source_of(work, r) == S2_RATTLE_OF_GAP;
  if (contact && s2_tangent_source_of(work, r + 1) == S2_RATTLE_OF_SLIP) {
    s2_tangent_sides_of(&sides[r + 1], slope[r + 1], j);
  }
  memset(push, 0, sizeof(double) * (size_t)work->n);
  memset(seen, 0, sizeof(double) * (size_t)work->n);
  for (int c = 0; c < 6; c++) {
    int at = s2_tangent_place_of(work, c < 3 ? row->a : row->b);
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

// Chooses the largest diagonal entry as the pivot, if it is large, and otherwise the largest entry
// of all, which takes longer to find.
static void tangent_pivot(const double *a, int rank, int n, int *row, int *at) {
  int k = rank;
  for (int i = rank + 1; i < n; i++) {
    k = fabs(a[i * n + i]) > fabs(a[k * n + k]) ? i : k;
  }
  double column = 0;
  for (int i = rank; i < n; i++) {
    column = fmax(column, fabs(a[i * n + k]));
  }
  *row = *at = k;
  if (fabs(a[k * n + k]) > LARGE * column && column > SURE) {
    return;
  }
  for (int i = rank; i < n; i++) {
    for (int c = rank; c < n; c++) {
      bool larger = fabs(a[i * n + c]) > fabs(a[*row * n + *at]);
      *row = larger ? i : *row;
      *at = larger ? c : *at;
    }
  }
}

// Solves a x = b by elimination. The unknowns of rows that depend on other rows become 0.
// Returns false if these rows contradict the others. Overwrites a. The result is in b.
static bool solve_square(double *a, double *b, int n, int columns) {
  int column[S2_SMALL_ROWS], rank = 0;
  double first = 0;
  for (int i = 0; i < n; i++) {
    column[i] = i;
  }
  for (; rank < n; rank++) {
    int row, at;
    tangent_pivot(a, rank, n, &row, &at);
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
    double x[S2_SMALL_ROWS] = {0};
    for (int i = 0; i < rank; i++) {
      x[column[i]] = b[i * columns + d];
    }
    for (int i = 0; i < n; i++) {
      b[i * columns + d] = x[i];
    }
  }
  return true;
}

static void add_sizes(const S2TangentWork *work, double factor, const double *from, double *to) {
  for (int d = 0; d < work->columns; d++) {
    to[d] += fabs(factor * from[d]);
  }
}

// Solves a system with the unknown rows. At the start, `right` contains the momenta, and b the
// right sides of the rows without the terms of the velocities. At the end, `right` contains the
// derivatives of the velocities, and the rows of `to` those of the unknown impulses.
bool s2_tangent_solve(S2TangentWork *work, const double *give, const double *slope, double *to) {
  int n = work->n, count = work->unknown, columns = work->columns;
  double *right = work->right, scale[S2_SMALL_ROWS];
  for (int i = 0; i < n; i++) {
    for (int d = 0; d < columns; d++) {
      right[i * columns + d] /= work->mass[i];
    }
  }
  for (int i = 0; i < n * columns; i++) {
    work->terms[i] = fabs(right[i]);
  }
  for (int k = 0; k < count; k++) {
    const double *see = work->see + k * n;
    const S2SmallRow *of = &work->small->row[work->row[k]];
    const int place[2] = {s2_tangent_place_of(work, of->a), s2_tangent_place_of(work, of->b)};
    for (int s = 0; s < count; s++) {
      double sum = 0;
      for (int side = 0; side < 2; side++) { // a row moves two bodies only
        if (place[side] >= 0) {
          const double *push = work->push + s * n + place[side], *seen = see + place[side];
          sum += seen[0] * push[0] + seen[1] * push[1] + seen[2] * push[2];
        }
      }
      work->a[k * count + s] = sum;
    }
    work->a[k * count + k] += give[work->row[k]];
    for (int i = 0; i < n; i++) {
      if (see[i] != 0) {
        s2_tangent_add_columns(work, -see[i], right + i * columns, work->b + k * columns);
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
        s2_tangent_add_columns(work, work->push[k * n + i], x, right + i * columns);
        add_sizes(work, work->push[k * n + i], x, work->terms + i * columns);
      }
    }
    if (r + 1 < work->small->rows && slope[r + 1] != 0) { // sliding friction
      s2_tangent_add_columns(work, slope[r + 1], x, x + columns);
    }
  }
  return true;
}

// ---- Edges -------------------------------------------------------------------------------------

// Returns true if the derivatives leave the speeds of all rows on edges unchanged. If other rows
// hold such a row, both of its states give the same derivatives. (An example is the friction at one
// of two points of a foot that stands, if it is at its bound.) `v` contains the derivatives of the
// velocities.
bool s2_tangent_edges_hold(S2TangentWork *work, bool second, S2AddRow *add_row, const double *v) {
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
        size += fabs(work->see[i]) * work->terms[i * columns + d];
      }
      if (!(fabs(speed) <= ALIKE * size + NOTHING)) {
        return false;
      }
    }
  }
  return true;
}

S2TangentWork s2_tangent_new(const S2Small *piece, double dt, const S2PieceTangent *tangent,
                             S2Arena *arena) {
  int n = 3 * piece->nodes, columns = tangent->columns, rows = piece->rows;
  double *numbers = S2_TAKE(arena, double, 5 * n * columns + 3 * rows * columns + 2 * rows * n);
  S2TangentWork work = {.small = piece,
                        .tangent = tangent,
                        .arena = arena,
                        .dt = dt,
                        .n = n,
                        .columns = columns,
                        .bend0 = S2_TAKE_ZEROED(arena, S2Bend, rows + 1),
                        .bend1 = S2_TAKE_ZEROED(arena, S2Bend, rows + 1),
                        .du = numbers,
                        .q1 = numbers + n * columns,
                        .right = numbers + 2 * n * columns,
                        .q0 = numbers + 3 * n * columns,
                        .terms = numbers + 4 * n * columns,
                        .dl = numbers + 5 * n * columns,
                        .a = S2_TAKE(arena, double, rows *rows + 1)};
  work.dx = work.dl + rows * columns;
  work.b = work.dx + rows * columns;
  work.push = work.b + rows * columns;
  work.see = work.push + rows * n;
  return work;
}
