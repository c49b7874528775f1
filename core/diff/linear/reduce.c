#include "diff/linear/reduce.h"

#include "diff/linear/outputs.h"

#include "dynamics/joints/joint.h"
#include "linalg/dense.h"

#include <string.h>

// Part of a row, each number times the square root of what it moves, that must be left beside the
// rows before it for a row of its own. Rows that repeat each other leave 1e-15.
static const double INDEPENDENT = 1e-7;

typedef struct Line { // a function of the poses
  double value;
  double *j;       // n: its gradient
  double *turn;    // n: how J v changes with q
  double rest;     // the part of its speed that bodies without a column and moving goals bring
  int32_t slot[2]; // of the bodies it bends with; S2_NONE: none
  S2JointHessian bend;
} Line;

typedef struct Lines {
  const S2World *world;
  S2Arena *arena;
  int n;
  int32_t *column; // a body slot: its first column, S2_NONE: it has none
} Lines;

static Lines reduction_lines_of(const S2World *world, S2Arena *arena) {
  Lines lines = {world, arena, 0, S2_TAKE(arena, int32_t, world->bodies.count + 1)};
  for (int i = 0; i < world->order.count; i++) {
    int32_t slot = world->order.at[i];
    bool moves = s2_body_yields(&world->bodies.at[slot]);
    lines.column[slot] = moves ? lines.n : S2_NONE;
    lines.n += moves ? 3 : 0;
  }
  return lines;
}

static Line reduction_new_line(const Lines *lines) {
  return (Line){.j = S2_TAKE_ZEROED(lines->arena, double, lines->n + 1),
                .turn = S2_TAKE_ZEROED(lines->arena, double, lines->n + 1),
                .slot = {S2_NONE, S2_NONE}};
}

// out += factor Hess w, w over the columns
static void reduction_bend(const Lines *lines, const Line *line, double factor, const double *w,
                           double *out) {
  for (int i = 0; i < 6; i++) {
    int32_t to = line->slot[i / 3] == S2_NONE ? S2_NONE : lines->column[line->slot[i / 3]];
    for (int k = 0; k < 6 && to != S2_NONE; k++) {
      int32_t from = line->slot[k / 3] == S2_NONE ? S2_NONE : lines->column[line->slot[k / 3]];
      out[to + i % 3] += from == S2_NONE ? 0 : factor * line->bend.at[k][i] * w[from + k % 3];
    }
  }
}

static void reduction_add_slot(const Lines *lines, Line *line, int32_t slot, const double j[3]) {
  for (int c = 0; c < 3 && slot != S2_NONE; c++) {
    if (lines->column[slot] == S2_NONE) {
      line->rest += j[c] * lines->world->v.at[3 * slot + c];
    } else {
      line->j[lines->column[slot] + c] += j[c];
    }
  }
}

// A row of a joint and its Hessian.
static void reduction_add_row(const Lines *lines, Line *line, const S2Joint *joint,
                              const S2JointRow *row, const S2JointHessian *hessian) {
  const int32_t slot[2] = {joint->a, joint->b};
  reduction_add_slot(lines, line, joint->a, row->ja);
  reduction_add_slot(lines, line, joint->b, row->jb);
  for (int i = 0; i < 2 && joint->more[i] != S2_NONE; i++) {
    const double angle[3] = {row->more[i], 0, 0};
    reduction_add_slot(lines, line, joint->more[i], angle);
  }
  line->rest += row->rate;
  line->value = row->value;
  line->slot[0] = slot[0];
  line->slot[1] = slot[1];
  line->bend = *hessian;
  // How the row turns with the velocities there are.
  for (int i = 0; i < 6; i++) {
    if (slot[i / 3] == S2_NONE || lines->column[slot[i / 3]] == S2_NONE) {
      continue;
    }
    double *turn = &line->turn[lines->column[slot[i / 3]] + i % 3];
    for (int k = 0; k < 6; k++) {
      *turn += slot[k / 3] == S2_NONE
                   ? 0
                   : hessian->at[k][i] * lines->world->v.at[3 * slot[k / 3] + k % 3];
    }
  }
}

static S2JointAt reduction_joint_at(const S2World *world, const S2Joint *joint) {
  return (S2JointAt){.world = world, .joint = joint, .q = world->q.at};
}

// ---- Rigid rows -------------------------------------------------------------------------------

// Returns how many; combinations of the joint's equations where it has matrices.
static int reduction_rigid_lines(const Lines *lines, const S2Joint *joint,
                                 Line out[S2_JOINT_EQUATIONS]) {
  S2JointAt at = reduction_joint_at(lines->world, joint);
  S2JointRow rows[S2_JOINT_EQUATIONS] = {0};
  S2JointHessian hessians[S2_JOINT_EQUATIONS] = {0};
  S2SoftRow soft[S2_JOINT_EQUATIONS] = {0};
  int count = s2_joint_rows(&at, rows), rigid = 0;
  s2_joint_hessians(&at, hessians);
  bool all = s2_joint_is_rigid(joint);
  // Where the joint has matrices, what gives no way is a combination of its equations.
  if (!all) {
    s2_joint_soften(joint, rows, count, s2_joint_blend(&lines->world->kept.def, 0), soft);
  }
  for (int i = 0; i < count; i++) {
    if (!all && !soft[i].rigid) {
      continue;
    }
    // The same combination of the Hessians.
    S2JointHessian hessian = {0};
    for (int k = 0; k < count; k++) {
      double part = all ? (i == k) : soft[i].mix[k];
      for (int e = 0; e < 36; e++) {
        hessian.at[e / 6][e % 6] += part * hessians[k].at[e / 6][e % 6];
      }
    }
    out[rigid] = reduction_new_line(lines);
    reduction_add_row(lines, &out[rigid++], joint, all ? &rows[i] : &soft[i].row, &hessian);
  }
  return rigid;
}

// ---- Coordinates ------------------------------------------------------------------------------

static int reduction_parts_of(const S2Joint *joint) {
  const S2JointKind *kind = s2_joint_kind(joint->type);
  return kind->drive != NULL && kind->drive != kind->coordinate ? 2 : kind->coordinate != NULL;
}

static Line reduction_joint_line(const Lines *lines, const S2Joint *joint, int part) {
  const S2JointKind *kind = s2_joint_kind(joint->type);
  S2JointAt at = reduction_joint_at(lines->world, joint);
  S2JointRow row = {0};
  S2JointHessian hessian = {0};
  (part == 0 ? kind->coordinate : kind->drive)(&at, &row, &hessian);
  Line line = reduction_new_line(lines);
  reduction_add_row(lines, &line, joint, &row, &hessian);
  return line;
}

static Line reduction_coordinate_line(const Lines *lines, const S2Coordinate *coordinate) {
  if (coordinate->joint.index != 0) {
    return reduction_joint_line(lines, &lines->world->joints.at[coordinate->joint.index - 1],
                                coordinate->part);
  }
  Line line = reduction_new_line(lines);
  double j[3] = {0, 0, 0};
  int32_t slot = (int32_t)coordinate->body.index - 1;
  j[coordinate->part] = 1;
  reduction_add_slot(lines, &line, slot, j);
  line.value = lines->world->q.at[3 * slot + coordinate->part];
  return line;
}

// ---- Which rows are independent ---------------------------------------------------------------

typedef struct Basis { // orthonormal
  int n, count;
  double *at;
  const double *scale; // n: square roots of masses, over which numbers of rows are measured
  double *try;
} Basis;

// True: the row is none that the others make, and is one of them from now on.
static bool reduction_extend(Basis *basis, const double *row) {
  double size = 0, left = 0, *x = basis->try;
  // Numbers over roots of masses, so that lengths and angles compare.
  for (int i = 0; i < basis->n; i++) {
    x[i] = row[i] / basis->scale[i];
    size += x[i] * x[i];
  }
  // What the basis has is taken out (Gram, Schmidt).
  for (int pass = 0; pass < 2; pass++) { // twice is enough
    for (int k = 0; k < basis->count; k++) {
      const double *e = basis->at + k * basis->n;
      double along = 0;
      // Is anything left beyond rounding?
      for (int i = 0; i < basis->n; i++) {
        along += e[i] * x[i];
      }
      for (int i = 0; i < basis->n; i++) {
        x[i] -= along * e[i];
      }
    }
  }
  for (int i = 0; i < basis->n; i++) {
    left += x[i] * x[i];
  }
  if (basis->count == basis->n || !(left > INDEPENDENT * INDEPENDENT * size)) {
    return false;
  }
  for (int i = 0; i < basis->n; i++) {
    basis->at[basis->count * basis->n + i] = x[i] / sqrt(left);
  }
  // It is the next vector.
  basis->count += 1;
  return true;
}

static Basis reduction_new_basis(const Lines *lines) {
  int n = lines->n;
  double *scale = S2_TAKE(lines->arena, double, n + 1);
  for (int i = 0; i < lines->world->order.count; i++) {
    int32_t slot = lines->world->order.at[i], at = lines->column[slot];
    const S2Body *body = &lines->world->bodies.at[slot];
    for (int c = 0; c < 3 && at != S2_NONE; c++) {
      scale[at + c] = sqrt(c == 0 ? body->inertia : body->mass);
    }
  }
  return (Basis){n, 0, S2_TAKE(lines->arena, double, n *n + 1), scale,
                 S2_TAKE(lines->arena, double, n + 1)};
}

// The independent rigid rows, into `kept` (n of them at most).
static int reduction_constrain(const Lines *lines, Basis *basis, Line *kept) {
  const S2World *world = lines->world;
  for (int i = 0; i < world->joint_order.count; i++) {
    const S2Joint *joint = &world->joints.at[world->joint_order.at[i]];
    Line rigid[S2_JOINT_EQUATIONS];
    int count = s2_joint_active(world, joint) ? reduction_rigid_lines(lines, joint, rigid) : 0;
    for (int k = 0; k < count; k++) {
      if (reduction_extend(basis, rigid[k].j)) {
        kept[basis->count - 1] = rigid[k];
      }
    }
  }
  return basis->count;
}

// Takes those coordinates of a body or joint that are free; returns how many.
static int reduction_take(const Lines *lines, Basis *basis, S2Coordinate of, int parts,
                          S2Reduction *reduction) {
  int before = basis->count;
  for (of.part = 0; of.part < parts; of.part++) {
    if (reduction_extend(basis, reduction_coordinate_line(lines, &of).j)) {
      reduction->coordinate[reduction->m++] = of;
    }
  }
  return basis->count - before;
}

static void reduction_take_all(const Lines *lines, Basis *basis, S2Reduction *reduction) {
  const S2World *world = lines->world;
  for (int i = 0; i < world->joint_order.count; i++) {
    int32_t slot = world->joint_order.at[i];
    const S2Joint *joint = &world->joints.at[slot];
    const S2JointKind *kind = s2_joint_kind(joint->type);
    bool known = kind->drive != NULL && (kind->parts & S2_HAS_LENGTH) == 0;
    if (known && s2_joint_active(world, joint)) {
      S2Coordinate of = {.joint = {(uint32_t)slot + 1, joint->serial}};
      reduction_take(lines, basis, of, reduction_parts_of(joint), reduction);
    }
  }
  for (int i = 0; i < world->order.count; i++) {
    int32_t slot = world->order.at[i];
    if (lines->column[slot] != S2_NONE) {
      reduction_take(lines, basis, (S2Coordinate){.body = s2_body_id(world, slot)}, 3, reduction);
    }
  }
}

static S2Status reduction_take_wanted(const Lines *lines, Basis *basis, const S2Coordinate *wanted,
                                      int count, S2Reduction *reduction) {
  const S2World *world = lines->world;
  for (int i = 0; i < count; i++) {
    S2Coordinate of = wanted[i];
    int32_t slot;
    int parts = 3;
    // All coordinates that the body or joint has.
    if (of.joint.index != 0) {
      S2_TRY(s2_joint_slot(world, of.joint, &slot));
      parts = s2_joint_active(world, &world->joints.at[slot])
                  ? reduction_parts_of(&world->joints.at[slot])
                  : 0;
    } else {
      S2_TRY(s2_body_slot(world, of.body, &slot));
      parts = lines->column[slot] != S2_NONE ? 3 : 0;
    }
    // Each has to add something, ...
    if (reduction_take(lines, basis, of, parts, reduction) == 0) {
      return s2_error(S2_INVALID,
                      "coordinates[%d]: nothing of it is free to move that is not given by the "
                      "joints and what is listed before it: leave it out",
                      i + 1);
    }
  }
  // ... and together they have to say how everything moves.
  if (basis->count < lines->n) {
    return s2_error(S2_INVALID,
                    "coordinates: %d of the %d motions that joints allow are not determined by "
                    "what is listed: add the joints or bodies that make them",
                    lines->n - basis->count, lines->n - basis->count + reduction->m);
  }
  return s2_ok();
}

S2Status s2_reduction_choose(const S2World *world, const S2Coordinate *wanted, int wanted_count,
                             S2Arena *arena, S2Reduction *reduction) {
  Lines lines = reduction_lines_of(world, arena);
  for (int i = 0; i < world->joint_order.count; i++) {
    const S2Joint *joint = &world->joints.at[world->joint_order.at[i]];
    if (joint->type == S2_CONSTRAINT && s2_joint_active(world, joint)) {
      return s2_error(S2_INVALID, "reduced coordinates: not with constraints of the program's own");
    }
  }
  *reduction = (S2Reduction){.n = lines.n, .coordinate = S2_TAKE(arena, S2Coordinate, lines.n + 1)};
  S2ArenaMark mark = s2_arena_mark(arena);
  Basis basis = reduction_new_basis(&lines);
  reduction_constrain(&lines, &basis, S2_TAKE(arena, Line, lines.n + 1));
  S2Status status = s2_ok();
  if (wanted != NULL) {
    status = reduction_take_wanted(&lines, &basis, wanted, wanted_count, reduction);
  } else {
    reduction_take_all(&lines, &basis, reduction);
  }
  s2_arena_rewind(arena, mark);
  return status;
}

// ---- The square system ------------------------------------------------------------------------

typedef struct System {
  Lines lines;
  Line *line;     // n: rigid rows, then coordinates
  int rigid;      // how many of the former
  S2Dense factor; // of K
} System;

static S2Status reduction_new_system(const S2World *world, const S2Reduction *reduction,
                                     S2Arena *arena, System *system) {
  *system = (System){.lines = reduction_lines_of(world, arena)};
  int n = reduction->n;
  system->line = S2_TAKE(arena, Line, n + 1);
  // The rows: independent rigid ones, then the coordinates.
  Basis basis = reduction_new_basis(&system->lines);
  system->rigid = reduction_constrain(&system->lines, &basis, system->line);
  if (system->rigid + reduction->m != n) { // a state where joints repeat each other otherwise
    return s2_error(S2_INVALID,
                    "coordinates: joints are in a position where %d motions are free, "
                    "not %d",
                    n - system->rigid, reduction->m);
  }
  // K, its columns by rows of lines, factored.
  system->factor = (S2Dense){.size = n,
                             .nonsymmetric = true,
                             .a = S2_TAKE(arena, double, n *n + 1),
                             .pivot = S2_TAKE(arena, int32_t, n + 1)};
  for (int i = 0; i < n; i++) {
    if (i >= system->rigid) {
      system->line[i] =
          reduction_coordinate_line(&system->lines, &reduction->coordinate[i - system->rigid]);
    }
    for (int k = 0; k < n; k++) {
      system->factor.a[k * n + i] = system->line[i].j[k];
    }
  }
  return s2_dense_factor(&system->factor)
             ? s2_ok()
             : s2_error(S2_INVALID, "coordinates: they do not tell the motions apart");
}

// Where number k of q and of v is in the state: {q, v} of each body.
static int reduction_place(int k) {
  return 6 * (k / 3) + k % 3;
}

// What rigid rows alone make of velocities, as the step does whatever else acts: u = v - M^-1 J' mu
// with J M^-1 J' mu = J v + rest.
typedef struct Settled {
  int rigid;
  double *mass;   // n
  double *mu;     // rigid
  S2Dense factor; // of J M^-1 J'
} Settled;

static S2Status reduction_rigid_factor(const System *system, S2Arena *arena, Settled *settled) {
  const Lines *lines = &system->lines;
  const S2World *world = lines->world;
  int n = lines->n, rigid = system->rigid;
  *settled = (Settled){.rigid = rigid,
                       .mass = S2_TAKE(arena, double, n + 1),
                       .mu = S2_TAKE_ZEROED(arena, double, rigid + 1),
                       .factor = {.size = rigid,
                                  .a = S2_TAKE(arena, double, rigid *rigid + 1),
                                  .nonsymmetric = true,
                                  .pivot = S2_TAKE(arena, int32_t, rigid + 1)}};
  // Masses over the columns, then the matrix of the rigid rows.
  for (int s = 0; s < world->order.count; s++) {
    int32_t slot = world->order.at[s], at = lines->column[slot];
    for (int c = 0; c < 3 && at != S2_NONE; c++) {
      settled->mass[at + c] = c == 0 ? world->bodies.at[slot].inertia : world->bodies.at[slot].mass;
    }
  }
  for (int i = 0; i < rigid; i++) {
    for (int k = 0; k < rigid; k++) {
      double sum = 0;
      for (int c = 0; c < n; c++) {
        sum += system->line[i].j[c] * system->line[k].j[c] / settled->mass[c];
      }
      settled->factor.a[k * rigid + i] = sum;
    }
  }
  return rigid == 0 || s2_dense_factor(&settled->factor)
             ? s2_ok()
             : s2_error(S2_INVALID, "coordinates: joints repeat each other");
}

// Velocities over the columns, and the multipliers that take out what is against the joints.
static void reduction_speeds(const System *system, Settled *settled, double *v) {
  const Lines *lines = &system->lines;
  const S2World *world = lines->world;
  for (int s = 0; s < world->order.count; s++) {
    int32_t slot = world->order.at[s], at = lines->column[slot];
    if (at != S2_NONE) {
      memcpy(v + at, world->v.at + 3 * slot, 3 * sizeof(double));
    }
  }
  for (int i = 0; i < settled->rigid; i++) {
    settled->mu[i] = system->line[i].rest;
    for (int c = 0; c < lines->n; c++) {
      settled->mu[i] += system->line[i].j[c] * v[c];
    }
  }
  if (settled->rigid > 0) {
    s2_dense_solve(&settled->factor, settled->mu);
  }
  for (int i = 0; i < settled->rigid; i++) {
    for (int c = 0; c < lines->n; c++) {
      v[c] -= system->line[i].j[c] * settled->mu[i] / settled->mass[c];
    }
  }
}

S2Status s2_reduction_settle(S2World *world, const S2Reduction *reduction, S2Arena *arena) {
  S2ArenaMark mark = s2_arena_mark(arena);
  System system;
  Settled settled;
  S2Status status = reduction_new_system(world, reduction, arena, &system);
  if (status.code == S2_OK) {
    status = reduction_rigid_factor(&system, arena, &settled);
  }
  if (status.code == S2_OK) {
    double *v = S2_TAKE(arena, double, reduction->n + 1);
    reduction_speeds(&system, &settled, v);
    for (int s = 0; s < world->order.count; s++) {
      int32_t slot = world->order.at[s], at = system.lines.column[slot];
      if (at != S2_NONE) {
        memcpy(world->v.at + 3 * slot, v + at, 3 * sizeof(double));
      }
    }
  }
  s2_arena_rewind(arena, mark);
  return status;
}

double *s2_reduction_keep(const S2World *world, S2Arena *arena) {
  return s2_arena_copy(arena, world->v.at, world->v.count);
}

void s2_reduction_restore(S2World *world, const double *v) {
  memcpy(world->v.at, v, sizeof(double) * (size_t)world->v.count);
}

S2Status s2_reduction_lift(const S2World *world, const S2Reduction *reduction, S2Arena *arena,
                           double *lift) {
  S2ArenaMark mark = s2_arena_mark(arena);
  int n = reduction->n, m = reduction->m;
  System system;
  S2Status status = reduction_new_system(world, reduction, arena, &system);
  memset(lift, 0, sizeof(double) * (size_t)(4 * n * m));
  double *p = S2_TAKE(arena, double, n + 1), *s = S2_TAKE(arena, double, n + 1);
  for (int k = 0; k < m && status.code == S2_OK; k++) {
    // dq by coordinate k: K p = e_k
    memset(p, 0, sizeof(double) * (size_t)n);
    p[n - m + k] = 1;
    s2_dense_solve(&system.factor, p);
    // dv by it, as rows turn: K s = -turn p
    for (int i = 0; i < n; i++) {
      s[i] = 0;
      for (int c = 0; c < n; c++) {
        s[i] -= system.line[i].turn[c] * p[c];
      }
    }
    s2_dense_solve(&system.factor, s);
    for (int i = 0; i < n; i++) {
      // Of positions by positions, velocities by velocities, and velocities by positions.
      lift[reduction_place(i) * 2 * m + k] = lift[(reduction_place(i) + 3) * 2 * m + m + k] = p[i];
      lift[(reduction_place(i) + 3) * 2 * m + k] = s[i];
    }
  }
  s2_arena_rewind(arena, mark);
  return status;
}

// The speed of a coordinate, C u with u as above, by q and v: with y = G^-1 J M^-1 C' and a = M^-1
// (C' - J'y)
//   d/dv = C - y'J,   d/dq = Hess(c) u - sum y_r Hess(g_r) u - sum mu_r Hess(g_r) a
static void reduction_lower_speed(const System *system, const Settled *settled, const double *u,
                                  const Line *line, S2Arena *arena, double *by_q, double *by_v) {
  const Lines *lines = &system->lines;
  int n = lines->n, rigid = settled->rigid;
  S2ArenaMark mark = s2_arena_mark(arena);
  double *y = S2_TAKE_ZEROED(arena, double, rigid + 1), *a = S2_TAKE(arena, double, n + 1);
  for (int r = 0; r < rigid; r++) {
    for (int c = 0; c < n; c++) {
      y[r] += system->line[r].j[c] * line->j[c] / settled->mass[c];
    }
  }
  if (rigid > 0) {
    s2_dense_solve(&settled->factor, y);
  }
  // by_v, and by_q with it
  memcpy(by_v, line->j, sizeof(double) * (size_t)n);
  for (int r = 0; r < rigid; r++) {
    for (int c = 0; c < n; c++) {
      by_v[c] -= y[r] * system->line[r].j[c];
    }
  }
  for (int c = 0; c < n; c++) {
    a[c] = by_v[c] / settled->mass[c];
    by_q[c] = 0;
  }
  reduction_bend(lines, line, 1, u, by_q);
  for (int r = 0; r < rigid; r++) {
    reduction_bend(lines, &system->line[r], -y[r], u, by_q);
    reduction_bend(lines, &system->line[r], -settled->mu[r], a, by_q);
  }
  s2_arena_rewind(arena, mark);
}

S2Status s2_reduction_lower(const S2World *world, const S2Reduction *reduction, S2Arena *arena,
                            double *lower) {
  S2ArenaMark mark = s2_arena_mark(arena);
  int n = reduction->n, m = reduction->m;
  System system;
  Settled settled;
  S2Status status = reduction_new_system(world, reduction, arena, &system);
  if (status.code == S2_OK) {
    status = reduction_rigid_factor(&system, arena, &settled);
  }
  // A row for the value of each coordinate, and one for its speed.
  memset(lower, 0, sizeof(double) * (size_t)(4 * n * m));
  double *u = S2_TAKE(arena, double, n + 1);
  double *by_q = S2_TAKE(arena, double, n + 1), *by_v = S2_TAKE(arena, double, n + 1);
  if (status.code == S2_OK) {
    reduction_speeds(&system, &settled, u);
  }
  for (int k = 0; k < m && status.code == S2_OK; k++) {
    const Line *line = &system.line[system.rigid + k];
    reduction_lower_speed(&system, &settled, u, line, arena, by_q, by_v);
    for (int i = 0; i < n; i++) {
      lower[k * 2 * n + reduction_place(i)] = line->j[i];
      lower[(m + k) * 2 * n + reduction_place(i)] = by_q[i];
      lower[(m + k) * 2 * n + reduction_place(i) + 3] = by_v[i];
    }
  }
  s2_arena_rewind(arena, mark);
  return status;
}

// ---- Outputs ----------------------------------------------------------------------------------

// x or y of a point of a body: its place, and how that turns with the body.
static Line reduction_point_line(const Lines *lines, const S2Output *output) {
  int32_t slot = (int32_t)output->of.body.index - 1;
  const double *q = lines->world->q.at + 3 * slot;
  S2Vec2 r = s2_rotate(s2_rot(q[0]), output->at);
  bool along_x = output->of.part == 1;
  double place = along_x ? r.x : r.y;
  double j[3] = {along_x ? -r.y : r.x, along_x, !along_x};
  Line line = reduction_new_line(lines);
  reduction_add_slot(lines, &line, slot, j);
  line.value = q[output->of.part] + place;
  // d2(R r)/d(angle)2 = -R r
  if (lines->column[slot] != S2_NONE) {
    line.turn[lines->column[slot]] = -place * lines->world->v.at[3 * slot];
  }
  return line;
}

static S2Status reduction_check(const S2World *world, const S2Output *output) {
  int32_t slot;
  return output->of.joint.index != 0 ? s2_joint_slot(world, output->of.joint, &slot)
                                     : s2_body_slot(world, output->of.body, &slot);
}

static Line reduction_output_line(const Lines *lines, const S2Output *output) {
  return output->is_point ? reduction_point_line(lines, output)
                          : reduction_coordinate_line(lines, &output->of);
}

S2Status s2_outputs_read(const S2World *world, const S2Output *outputs, int count, S2Arena *arena,
                         double *y) {
  S2ArenaMark mark = s2_arena_mark(arena);
  Lines lines = reduction_lines_of(world, arena);
  S2Status status = s2_ok();
  for (int i = 0; i < count && status.code == S2_OK; i++) {
    status = reduction_check(world, &outputs[i]);
    if (status.code == S2_OK) {
      // The value, and the speed that the bodies give it.
      Line line = reduction_output_line(&lines, &outputs[i]);
      y[i] = line.value;
      y[count + i] = line.rest;
      for (int s = 0; s < world->order.count; s++) {
        int32_t slot = world->order.at[s], at = lines.column[slot];
        for (int c = 0; c < 3 && at != S2_NONE; c++) {
          y[count + i] += line.j[at + c] * world->v.at[3 * slot + c];
        }
      }
    }
  }
  s2_arena_rewind(arena, mark);
  return status;
}

S2Status s2_outputs_slope(const S2World *world, const S2Output *outputs, int count,
                          const S2Reduction *reduction, const double *lift, S2Arena *arena,
                          double *dy) {
  S2ArenaMark mark = s2_arena_mark(arena);
  Lines lines = reduction_lines_of(world, arena);
  int n = reduction->n, m = 2 * reduction->m;
  S2Status status = s2_ok();
  memset(dy, 0, sizeof(double) * (size_t)(2 * count * m));
  for (int i = 0; i < count && status.code == S2_OK; i++) {
    status = reduction_check(world, &outputs[i]);
    if (status.code != S2_OK) {
      break;
    }
    // d(value) = j dq and d(speed) = j dv + turn dq, with dq and dv as the reduced state makes them
    Line line = reduction_output_line(&lines, &outputs[i]);
    for (int c = 0; c < n; c++) {
      const double *dq = lift + reduction_place(c) * m, *dv = lift + (reduction_place(c) + 3) * m;
      for (int k = 0; k < m; k++) {
        dy[i * m + k] += line.j[c] * dq[k];
        dy[(count + i) * m + k] += line.j[c] * dv[k] + line.turn[c] * dq[k];
      }
    }
  }
  s2_arena_rewind(arena, mark);
  return status;
}
