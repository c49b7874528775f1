#include "diff/linear/reduce.h"

#include "diff/linear/lines.h"
#include "dynamics/joints/joint.h"

#include <string.h>

// ---- Which coordinates ------------------------------------------------------------------------

// Adds the free coordinates of a body or joint and returns their number.
static int reduction_take(const S2Lines *lines, S2Basis *basis, S2Coordinate of, int parts,
                          S2Reduction *reduction) {
  int before = basis->count;
  for (of.part = 0; of.part < parts; of.part++) {
    if (s2_basis_extend(basis, s2_line_of_coordinate(lines, &of).j)) {
      reduction->coordinate[reduction->m++] = of;
    }
  }
  return basis->count - before;
}

static void reduction_take_all(const S2Lines *lines, S2Basis *basis, S2Reduction *reduction) {
  const S2World *world = lines->world;
  for (int i = 0; i < world->joint_order.count; i++) {
    int32_t slot = world->joint_order.at[i];
    const S2Joint *joint = &world->joints.at[slot];
    const S2JointKind *kind = s2_joint_kind(joint->type);
    bool known = kind->drive != NULL && (kind->parts & S2_HAS_LENGTH) == 0;
    if (known && s2_joint_active(world, joint)) {
      S2Coordinate of = {.joint = {(uint32_t)slot + 1, joint->serial}};
      reduction_take(lines, basis, of, s2_line_parts_of(joint), reduction);
    }
  }
  for (int i = 0; i < world->order.count; i++) {
    int32_t slot = world->order.at[i];
    if (lines->column[slot] != S2_NONE) {
      reduction_take(lines, basis, (S2Coordinate){.body = s2_body_id(world, slot)}, 3, reduction);
    }
  }
}

static S2Status reduction_take_wanted(const S2Lines *lines, S2Basis *basis,
                                      const S2Coordinate *wanted, int count,
                                      S2Reduction *reduction) {
  const S2World *world = lines->world;
  for (int i = 0; i < count; i++) {
    S2Coordinate of = wanted[i];
    int32_t slot;
    int parts = 3;
    // Try all coordinates of the body or joint.
    if (of.joint.index != 0) {
      S2_TRY(s2_joint_slot(world, of.joint, &slot));
      parts = s2_joint_active(world, &world->joints.at[slot])
                  ? s2_line_parts_of(&world->joints.at[slot])
                  : 0;
    } else {
      S2_TRY(s2_body_slot(world, of.body, &slot));
      parts = lines->column[slot] != S2_NONE ? 3 : 0;
    }
    // Each listed object must add a coordinate.
    if (reduction_take(lines, basis, of, parts, reduction) == 0) {
      return s2_error(S2_INVALID,
                      "coordinates[%d]: the joints and the coordinates listed before it already "
                      "determine it: leave it out",
                      i + 1);
    }
  }
  // Together, the listed objects must determine the motion of all bodies.
  if (basis->count < lines->n) {
    return s2_error(S2_INVALID,
                    "coordinates: %d of the %d motions that joints allow are not determined by the "
                    "list: add the joints or bodies of these motions",
                    lines->n - basis->count, lines->n - basis->count + reduction->m);
  }
  return s2_ok();
}

S2Status s2_reduction_choose(const S2World *world, const S2Coordinate *wanted, int wanted_count,
                             S2Arena *arena, S2Reduction *reduction) {
  S2Lines lines = s2_lines_of(world, arena);
  for (int i = 0; i < world->joint_order.count; i++) {
    const S2Joint *joint = &world->joints.at[world->joint_order.at[i]];
    if (joint->type == S2_CONSTRAINT && s2_joint_active(world, joint)) {
      return s2_error(S2_INVALID, "reduced coordinates do not support custom constraints: use a "
                                  "joint of the library, or maximal coordinates");
    }
  }
  *reduction = (S2Reduction){.n = lines.n, .coordinate = S2_TAKE(arena, S2Coordinate, lines.n + 1)};
  S2ArenaMark mark = s2_arena_mark(arena);
  S2Basis basis = s2_basis_new(&lines);
  s2_basis_constrain(&lines, &basis, S2_TAKE(arena, S2Line, lines.n + 1));
  S2Status status = s2_ok();
  if (wanted != NULL) {
    status = reduction_take_wanted(&lines, &basis, wanted, wanted_count, reduction);
  } else {
    reduction_take_all(&lines, &basis, reduction);
  }
  s2_arena_rewind(arena, mark);
  return status;
}

// Computes the velocities that remain if only the rigid rows act, as in the step: u = v - M^-1 J'
// mu with J M^-1 J' mu = J v + rest.
typedef struct Settled {
  int rigid;
  double *mass;   // n
  double *mu;     // rigid
  S2Dense factor; // factors of J M^-1 J'
} Settled;

static S2Status reduction_rigid_factor(const S2LineSystem *system, Settled *settled) {
  S2Arena *arena = system->lines.arena;
  const S2Lines *lines = &system->lines;
  const S2World *world = lines->world;
  int n = lines->n, rigid = system->rigid;
  *settled = (Settled){.rigid = rigid,
                       .mass = S2_TAKE(arena, double, n + 1),
                       .mu = S2_TAKE_ZEROED(arena, double, rigid + 1),
                       .factor = {.size = rigid,
                                  .a = S2_TAKE(arena, double, rigid *rigid + 1),
                                  .nonsymmetric = true,
                                  .pivot = S2_TAKE(arena, int32_t, rigid + 1)}};
  // Collect the masses, then the matrix of the rigid rows.
  for (int s = 0; s < world->order.count; s++) {
    int32_t slot = world->order.at[s], at = lines->column[slot];
    for (int c = 0; c < 3 && at != S2_NONE; c++) {
      settled->mass[at + c] = c == 0 ? world->bodies.at[slot].inertia : world->bodies.at[slot].mass;
    }
  }
  double *push = S2_TAKE(arena, double, n + 1);
  for (int i = 0; i < rigid; i++) {
    for (int c = 0; c < n; c++) {
      push[c] = system->line[i].j[c] / settled->mass[c];
    }
    for (int k = 0; k <= i; k++) {
      double sum = 0;
      for (int c = 0; c < n; c++) {
        sum += system->line[k].j[c] * push[c];
      }
      settled->factor.a[k * rigid + i] = settled->factor.a[i * rigid + k] = sum;
    }
  }
  return rigid == 0 || s2_dense_factor(&settled->factor)
             ? s2_ok()
             : s2_error(S2_INVALID, "coordinates: some joints are redundant");
}

// Computes the velocities over the columns without the part that violates the joints, and the
// multipliers mu that remove that part.
static void reduction_speeds(const S2LineSystem *system, Settled *settled, double *v) {
  const S2Lines *lines = &system->lines;
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

S2Status s2_reduction_settle_by(S2World *world, S2LineSystem *system, double *mu) {
  S2Arena *arena = system->lines.arena;
  S2ArenaMark mark = s2_arena_mark(arena);
  Settled settled;
  S2Status status = reduction_rigid_factor(system, &settled);
  if (status.code == S2_OK) {
    double *v = S2_TAKE(arena, double, system->lines.n + 1);
    reduction_speeds(system, &settled, v);
    for (int s = 0; s < world->order.count; s++) {
      int32_t slot = world->order.at[s], at = system->lines.column[slot];
      if (at != S2_NONE) {
        memcpy(world->v.at + 3 * slot, v + at, 3 * sizeof(double));
      }
    }
    if (mu != NULL) {
      memcpy(mu, settled.mu, sizeof(double) * (size_t)system->rigid);
    }
    s2_lines_retune(system);
  }
  s2_arena_rewind(arena, mark);
  return status;
}

S2Status s2_reduction_settle(S2World *world, const S2Reduction *reduction, S2Arena *arena) {
  S2ArenaMark mark = s2_arena_mark(arena);
  S2LineSystem system;
  S2Status status = s2_lines_hold(world, reduction, arena, &system);
  if (status.code == S2_OK) {
    status = s2_reduction_settle_by(world, &system, NULL);
  }
  s2_arena_rewind(arena, mark);
  return status;
}

S2Status s2_reduction_settle_and_lift(S2World *world, const S2Reduction *reduction, S2Arena *arena,
                                      double *lift) {
  S2ArenaMark mark = s2_arena_mark(arena);
  S2LineSystem system;
  S2Status status = s2_lines_solve_for(world, reduction, arena, &system);
  if (status.code == S2_OK) {
    status = s2_reduction_settle_by(world, &system, NULL);
  }
  if (status.code == S2_OK) {
    s2_reduction_lift_by(&system, reduction->m, lift);
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

void s2_reduction_lift_by(const S2LineSystem *system, int m, double *lift) {
  S2Arena *arena = system->lines.arena;
  S2ArenaMark mark = s2_arena_mark(arena);
  int n = system->lines.n;
  memset(lift, 0, sizeof(double) * (size_t)(4 * n * m));
  double *p = S2_TAKE_ZEROED(arena, double, n *m + 1), *s = S2_TAKE_ZEROED(arena, double, n *m + 1);
  // Solve K p = e_k for the columns p of dq/d(coordinates).
  for (int k = 0; k < m; k++) {
    p[k * n + n - m + k] = 1;
  }
  s2_dense_solve_many(&system->factor, p, m);
  // The rows turn, so solve K s = -turn p for the columns s of dv/d(coordinates).
  for (int k = 0; k < m; k++) {
    for (int i = 0; i < n; i++) {
      for (int c = 0; c < n; c++) {
        s[k * n + i] -= system->line[i].turn[c] * p[k * n + c];
      }
    }
  }
  s2_dense_solve_many(&system->factor, s, m);
  // Derivatives of positions by positions, of velocities by velocities, and of velocities by
  // positions.
  for (int k = 0; k < m; k++) {
    for (int i = 0; i < n; i++) {
      double *at = lift + s2_reduction_place(i) * 2 * m + k, *speed = at + 6 * m;
      at[0] = speed[m] = p[k * n + i];
      speed[0] = s[k * n + i];
    }
  }
  s2_arena_rewind(arena, mark);
}

S2Status s2_reduction_lift_of(S2World *world, S2LineSystem *system, int m, double *lift) {
  S2Arena *arena = system->lines.arena;
  S2ArenaMark mark = s2_arena_mark(arena);
  int n = system->lines.n;
  double *mu = S2_TAKE(arena, double, system->rigid + 1);
  double *v = s2_reduction_keep(world, arena);
  S2Status status = s2_reduction_settle_by(world, system, mu);
  if (status.code == S2_OK) {
    s2_reduction_lift_by(system, m, lift);
  }
  s2_reduction_restore(world, v);
  // M^-1 J' mu turns with the poses.
  double *dq = S2_TAKE(arena, double, n + 1), *turned = S2_TAKE(arena, double, n + 1);
  for (int k = 0; k < m && status.code == S2_OK; k++) {
    for (int i = 0; i < n; i++) {
      dq[i] = lift[s2_reduction_place(i) * 2 * m + k];
      turned[i] = 0;
    }
    for (int r = 0; r < system->rigid; r++) {
      s2_line_bend(&system->lines, &system->line[r], mu[r], dq, turned);
    }
    for (int s = 0; s < world->order.count; s++) {
      int32_t slot = world->order.at[s], at = system->lines.column[slot];
      const S2Body *body = &world->bodies.at[slot];
      for (int c = 0; c < 3 && at != S2_NONE; c++) {
        lift[(s2_reduction_place(at + c) + 3) * 2 * m + k] +=
            turned[at + c] / (c == 0 ? body->inertia : body->mass);
      }
    }
  }
  s2_arena_rewind(arena, mark);
  return status;
}

S2Status s2_reduction_lift(S2World *world, const S2Reduction *reduction, S2Arena *arena,
                           double *lift) {
  S2ArenaMark mark = s2_arena_mark(arena);
  S2LineSystem system;
  S2Status status = s2_lines_solve_for(world, reduction, arena, &system);
  if (status.code == S2_OK) {
    status = s2_reduction_lift_of(world, &system, reduction->m, lift);
  }
  s2_arena_rewind(arena, mark);
  return status;
}

// Derivatives of the speed C u of a coordinate with respect to q and v, with u as above, y = G^-1 J
// M^-1 C' and a = M^-1 (C' - J'y):
//     d/dv = C - y'J,   d/dq = Hess(c) u - sum y_r Hess(g_r) u - sum mu_r Hess(g_r) a
static void reduction_lower_speed(const S2LineSystem *system, const Settled *settled,
                                  const double *u, const S2Line *line, S2Arena *arena, double *by_q,
                                  double *by_v) {
  const S2Lines *lines = &system->lines;
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
  // First compute by_v, then by_q, which depends on by_v.
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
  s2_line_bend(lines, line, 1, u, by_q);
  s2_line_bend_along(lines, line, 1, by_q);
  for (int r = 0; r < rigid; r++) {
    s2_line_bend(lines, &system->line[r], -y[r], u, by_q);
    s2_line_bend_along(lines, &system->line[r], -y[r], by_q);
    s2_line_bend(lines, &system->line[r], -settled->mu[r], a, by_q);
  }
  s2_arena_rewind(arena, mark);
}

S2Status s2_reduction_lower_by(const S2LineSystem *system, int m, double *lower) {
  S2Arena *arena = system->lines.arena;
  S2ArenaMark mark = s2_arena_mark(arena);
  int n = system->lines.n;
  Settled settled;
  S2Status status = reduction_rigid_factor(system, &settled);
  // Each coordinate has one row for its value and one row for its speed.
  memset(lower, 0, sizeof(double) * (size_t)(4 * n * m));
  double *u = S2_TAKE(arena, double, n + 1);
  double *by_q = S2_TAKE(arena, double, n + 1), *by_v = S2_TAKE(arena, double, n + 1);
  if (status.code == S2_OK) {
    reduction_speeds(system, &settled, u);
  }
  for (int k = 0; k < m && status.code == S2_OK; k++) {
    const S2Line *line = &system->line[system->rigid + k];
    reduction_lower_speed(system, &settled, u, line, arena, by_q, by_v);
    for (int i = 0; i < n; i++) {
      lower[k * 2 * n + s2_reduction_place(i)] = line->j[i];
      lower[(m + k) * 2 * n + s2_reduction_place(i)] = by_q[i];
      lower[(m + k) * 2 * n + s2_reduction_place(i) + 3] = by_v[i];
    }
  }
  s2_arena_rewind(arena, mark);
  return status;
}

S2Status s2_reduction_lower(const S2World *world, const S2Reduction *reduction, S2Arena *arena,
                            double *lower) {
  S2ArenaMark mark = s2_arena_mark(arena);
  S2LineSystem system;
  S2Status status = s2_lines_solve_for(world, reduction, arena, &system);
  if (status.code == S2_OK) {
    status = s2_reduction_lower_by(&system, reduction->m, lower);
  }
  s2_arena_rewind(arena, mark);
  return status;
}
