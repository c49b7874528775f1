// The derivative of one step from (q0, v0) under forces F, for bodies that only rigid joints
// constrain: g(q) = 0, J = dg/dq (program.h). The step is
//     v1 = v0 + h M^-1 F + M^-1 J0' p     with J0 v1 = 0, q1 = q0 + h v1
// If q1 violates the joints, SHAKE adds to p until g(q1) = 0. The velocities receive this change,
// too, so q1 = q0 + h v1 still holds. To first order, with w the change of v1 for fixed p,
//     w = dv0 + h M^-1 dF + M^-1 (sum p_r Hess0_r) dq0
//     dv1 = w + M^-1 J0' dp, dq1 = dq0 + h dv1
// The change dp follows from J0 dv1 = -(dJ0) v1 without SHAKE, and from J1 dq1 = 0 with it. A step
// of two stages (rattle/) that was taken in one piece is
//     u = v0 + h/2 M^-1 F + M^-1 J0' l   with g(q1) = 0, q1 = q0 + h u
//     v1 = u + h/2 M^-1 F + M^-1 J1' k   with J1 v1 = 0
// Stage 1 is the step above with SHAKE, with half of the forces and with u in place of v1. Stage 2
// is the step without SHAKE. It begins with u, and its rows are taken at q1. A joint publishes the
// sum p = l + k. The equation
//     (J0 + J1)' l = M (2 u - v0 - v1) + J1' p
// gives l.
#include "diff/linear/direct.h"

#include "diff/linear/lines.h"
#include "dynamics/program/program.h"

#include <math.h>
#include <string.h>

// m, rad: q1 may differ from q0 + h v1 by this, in addition to the rounding of poses. The
// difference is larger if the energy bound keeps a part of SHAKE's change out of the velocities.
// This method then does not apply.
static const double WHOLE = 1e-12;
static const double HELD = 1e-8; // m, rad: largest joint error after a supported step

typedef struct Tangents { // one column per reduced state, then one per input
  int n, count;
  double *q, *v; // n x count
} Tangents;

typedef struct Direct {
  S2World *world;
  const S2Input *inputs;
  const S2Reduction *reduction;
  S2Arena *arena;
  int n, m, count;         // length of q; 2 reduction->m; number of inputs
  double *mass;            // n
  double *before, *after;  // q0 and q1 (n numbers each)
  double *set_out, *speed; // v0 and v1 (n numbers each)
  Tangents tangents;
} Direct;

// ---- Numbers over the columns ------------------------------------------------------------------

static void direct_gather(const S2Lines *lines, const double *from, double *to) {
  for (int i = 0; i < lines->world->order.count; i++) {
    int32_t slot = lines->world->order.at[i], at = lines->column[slot];
    if (at != S2_NONE) {
      memcpy(to + at, from + 3 * slot, 3 * sizeof(double));
    }
  }
}

static S2Status direct_open(Direct *direct, S2LineSystem *system) {
  S2Arena *arena = direct->arena;
  S2World *world = direct->world;
  int n = direct->n, m = direct->m, all = m + direct->count;
  direct->mass = S2_TAKE(arena, double, n + 1);
  direct->before = S2_TAKE(arena, double, n + 1);
  direct->after = S2_TAKE(arena, double, n + 1);
  direct->speed = S2_TAKE(arena, double, n + 1);
  direct->set_out = S2_TAKE(arena, double, n + 1);
  direct->tangents = (Tangents){n, all, S2_TAKE_ZEROED(arena, double, n *all + 1),
                                S2_TAKE_ZEROED(arena, double, n *all + 1)};
  for (int i = 0; i < world->order.count; i++) {
    int32_t slot = world->order.at[i], at = system->lines.column[slot];
    for (int c = 0; c < 3 && at != S2_NONE; c++) {
      direct->mass[at + c] = c == 0 ? world->bodies.at[slot].inertia : world->bodies.at[slot].mass;
    }
  }
  // At the start, the tangents are the derivatives with respect to the reduced state.
  double *lift = S2_TAKE(arena, double, 2 * n * m + 1);
  S2_TRY(s2_reduction_lift_of(world, system, direct->reduction->m, lift));
  for (int i = 0; i < n; i++) {
    memcpy(direct->tangents.q + i * all, lift + s2_reduction_place(i) * m,
           sizeof(double) * (size_t)m);
    memcpy(direct->tangents.v + i * all, lift + (s2_reduction_place(i) + 3) * m,
           sizeof(double) * (size_t)m);
  }
  return s2_ok();
}

// ---- A step ------------------------------------------------------------------------------------

// h M^-1 dF (n x all, initially 0). It is computed before the step from the forces of inputs, and
// from the forces of actuators whose direction turns with the poses.
static S2Status direct_push(const Direct *direct, const S2LineSystem *system, double *push_by) {
  const Tangents *t = &direct->tangents;
  int n = direct->n, all = t->count;
  double h = s2_world_settings(direct->world)->dt;
  S2ArenaMark mark = s2_arena_mark(direct->arena);
  for (int k = 0; k < direct->count; k++) {
    const S2Input *input = &direct->inputs[k];
    bool free = input->kind == S2_INPUT_FORCE;
    S2Line line =
        free ? s2_lines_new(&system->lines)
             : s2_line_of_coordinate(&system->lines, &(S2Coordinate){.joint = input->joint});
    if (free) {
      double push[3];
      s2_input_push(direct->world, input, push);
      s2_line_add_slot(&system->lines, &line, (int32_t)input->body.index - 1, push);
    }
    double amount = free ? 1 : input->amount[0];
    for (int i = 0; i < n; i++) {
      push_by[i * all + direct->m + k] += h * amount * line.j[i] / direct->mass[i];
    }
  }
  // The forces of the current commands.
  S2Turning turning;
  S2_TRY(s2_turning_of(direct->world, false, direct->arena, &turning));
  for (int d = 0; d < all && turning.count > 0; d++) {
    for (int i = 0; i < n; i++) {
      turning.force[i] = t->q[i * all + d];
      turning.by_pose[i] = 0;
    }
    for (int k = 0; k < turning.count; k++) {
      s2_line_bend(&turning.lines, &turning.line[k], h * turning.u[k], turning.force,
                   turning.by_pose);
    }
    for (int i = 0; i < n; i++) {
      push_by[i * all + d] += turning.by_pose[i] / direct->mass[i];
    }
  }
  s2_arena_rewind(direct->arena, mark);
  return s2_ok();
}

// dv += part * push_by
static void direct_add_push(const Direct *direct, const double *push_by, double part) {
  for (int i = 0; i < direct->n * direct->tangents.count; i++) {
    direct->tangents.v[i] += part * push_by[i];
  }
}

// Adds the velocity changes that arise because the rows turn while their impulses act.
static void direct_turn(const Direct *direct, const S2LineSystem *start, const double *impulse) {
  const Tangents *t = &direct->tangents;
  int n = direct->n;
  S2ArenaMark mark = s2_arena_mark(direct->arena);
  // sum p_r Hess_r as one matrix, column by column
  double *bend = S2_TAKE_ZEROED(direct->arena, double, n *n + 1);
  double *unit = S2_TAKE_ZEROED(direct->arena, double, n + 1);
  for (int i = 0; i < n; i++) {
    unit[i] = 1;
    for (int r = 0; r < start->rigid; r++) {
      const S2Line *line = &start->line[r];
      bool has = false;
      for (int side = 0; side < 2; side++) {
        int32_t slot = line->slot[side], at = slot == S2_NONE ? S2_NONE : start->lines.column[slot];
        has = has || (at != S2_NONE && at <= i && i < at + 3);
      }
      if (has) {
        s2_line_bend(&start->lines, line, impulse[r], unit, bend + i * n);
      }
    }
    unit[i] = 0;
  }
  for (int i = 0; i < n; i++) {
    for (int c = 0; c < n; c++) {
      double part = bend[c * n + i] / direct->mass[i];
      for (int d = 0; d < t->count && part != 0; d++) {
        t->v[i * t->count + d] += part * t->q[c * t->count + d];
      }
    }
  }
  s2_arena_rewind(direct->arena, mark);
}

// Computes dp and adds its effect to dv1. Also updates dq1 if `moves` is true. shook[r] is true if
// SHAKE corrected row r.
static bool direct_hold(const Direct *direct, const S2LineSystem *start, const S2LineSystem *end,
                        const bool *shook, bool moves) {
  const Tangents *t = &direct->tangents;
  int n = direct->n, rigid = start->rigid, all = t->count;
  double h = s2_world_settings(direct->world)->dt;
  S2ArenaMark mark = s2_arena_mark(direct->arena);
  S2Dense g = {.size = rigid,
               .nonsymmetric = true,
               .a = S2_TAKE(direct->arena, double, rigid *rigid + 1),
               .pivot = S2_TAKE(direct->arena, int32_t, rigid + 1)};
  double *p = S2_TAKE(direct->arena, double, rigid *all + 1);
  double *push = S2_TAKE(direct->arena, double, rigid *n + 1); // M^-1 J0'
  for (int r = 0; r < rigid; r++) {
    for (int c = 0; c < n; c++) {
      push[r * n + c] = start->line[r].j[c] / direct->mass[c];
    }
  }
  // G = J M^-1 J0'. For rows that SHAKE corrected, J is taken at the end, for other rows at the
  // start.
  for (int r = 0; r < rigid; r++) {
    const double *j = shook[r] ? end->line[r].j : start->line[r].j;
    for (int k = 0; k < rigid; k++) {
      double sum = 0;
      for (int c = 0; c < n; c++) {
        sum += j[c] * push[k * n + c];
      }
      g.a[k * rigid + r] = sum;
    }
  }
  bool good = rigid == 0 || s2_dense_factor(&g);
  // G dp = -(J (dq0 / h + w)) with SHAKE, -(J0 w + turn dq0) without
  for (int r = 0; r < rigid; r++) {
    const double *j = shook[r] ? end->line[r].j : start->line[r].j, *turn = start->line[r].turn;
    for (int d = 0; d < all; d++) {
      p[d * rigid + r] = 0;
    }
    for (int c = 0; c < n; c++) {
      double by_q = shook[r] ? j[c] / h : turn[c];
      for (int d = 0; d < all && (j[c] != 0 || by_q != 0); d++) {
        p[d * rigid + r] -= by_q * t->q[c * all + d] + j[c] * t->v[c * all + d];
      }
    }
  }
  if (rigid > 0 && good) {
    s2_dense_solve_many(&g, p, all);
  }
  // dv1 and dq1
  for (int c = 0; c < n && good; c++) {
    for (int r = 0; r < rigid; r++) {
      double part = push[r * n + c];
      for (int d = 0; d < all && part != 0; d++) {
        t->v[c * all + d] += part * p[d * rigid + r];
      }
    }
    for (int d = 0; d < all && moves; d++) {
      t->q[c * all + d] += h * t->v[c * all + d];
    }
  }
  s2_arena_rewind(direct->arena, mark);
  return good;
}

// Splits the impulses p into l of stage 1 and k of stage 2. Returns false if no split reproduces
// the step.
static bool direct_halves(const Direct *direct, const S2LineSystem *start, const S2LineSystem *end,
                          const double *p, double *l, double *k) {
  int n = direct->n, rigid = start->rigid;
  double h = s2_world_settings(direct->world)->dt;
  double *left = S2_TAKE(direct->arena, double, n + 1); // the residual M (2 u - v0 - v1) + J1' p -
                                                        // (J0 + J1)' l
  S2Dense g = {.size = rigid,
               .nonsymmetric = true,
               .a = S2_TAKE(direct->arena, double, rigid *rigid + 1),
               .pivot = S2_TAKE(direct->arena, int32_t, rigid + 1)};
  for (int c = 0; c < n; c++) {
    double mean = (direct->after[c] - direct->before[c]) / h;
    left[c] = direct->mass[c] * (2 * mean - direct->set_out[c] - direct->speed[c]);
    for (int r = 0; r < rigid; r++) {
      left[c] += end->line[r].j[c] * p[r];
    }
  }
  // Solve the normal equations in the metric of the masses.
  for (int r = 0; r < rigid; r++) {
    l[r] = 0;
    for (int c = 0; c < n; c++) {
      double both = (start->line[r].j[c] + end->line[r].j[c]) / direct->mass[c];
      l[r] += both * left[c];
      for (int s = 0; s < rigid; s++) {
        g.a[s * rigid + r] =
            (c == 0 ? 0 : g.a[s * rigid + r]) + both * (start->line[s].j[c] + end->line[s].j[c]);
      }
    }
  }
  if (rigid > 0 && !s2_dense_factor(&g)) {
    return false;
  }
  if (rigid > 0) {
    s2_dense_solve_many(&g, l, 1);
  }
  for (int r = 0; r < rigid; r++) {
    k[r] = p[r] - l[r];
    for (int c = 0; c < n; c++) {
      left[c] -= (start->line[r].j[c] + end->line[r].j[c]) * l[r];
    }
  }
  bool explains = true;
  for (int c = 0; c < n; c++) {
    double way = h * left[c] / direct->mass[c];
    explains &= fabs(way) <= WHOLE * (1 + fabs(direct->after[c]));
  }
  return explains;
}

// Moves the tangents over both stages. `end` contains the rows and velocities at the end of the
// step.
static bool direct_stages(const Direct *direct, const S2LineSystem *start, const S2LineSystem *end,
                          const double *p, const double *push_by) {
  int rigid = start->rigid;
  double *l = S2_TAKE(direct->arena, double, rigid + 1),
         *k = S2_TAKE(direct->arena, double, rigid + 1);
  bool *by_place = S2_TAKE(direct->arena, bool, rigid + 1);
  bool *by_speed = S2_TAKE_ZEROED(direct->arena, bool, rigid + 1);
  memset(by_place, true, (size_t)rigid);
  if (!direct_halves(direct, start, end, p, l, k)) {
    return false;
  }
  direct_add_push(direct, push_by, 0.5);
  direct_turn(direct, start, l);
  if (!direct_hold(direct, start, end, by_place, true)) {
    return false;
  }
  direct_add_push(direct, push_by, 0.5);
  direct_turn(direct, end, k);
  return direct_hold(direct, end, end, by_speed, false);
}

// Returns true if SHAKE corrected the joints of this island. The final velocities then violate the
// initial rows, and h J0 v1 is the error that SHAKE removed.
static bool direct_shook(const Direct *direct, const S2LineSystem *start,
                         const S2ProgramIsland *island) {
  const S2World *world = direct->world;
  double h = s2_world_settings(world)->dt, length = island->constants.length, most = 0;
  for (int i = 0, row = 0; i < world->joint_order.count; i++) {
    int32_t slot = world->joint_order.at[i];
    bool of_island = false;
    for (int g = 0; g < island->table.joints; g++) {
      of_island = of_island || island->joint[g] == slot;
    }
    bool slider = world->joints.at[slot].type == S2_SLIDER;
    for (int k = 0; k < 2 && s2_joint_active(world, &world->joints.at[slot]); k++, row++) {
      const S2Line *line = &start->line[row];
      double error = line->rest;
      for (int c = 0; c < direct->n && of_island; c++) {
        error += line->j[c] * direct->speed[c];
      }
      most = of_island ? fmax(most, fabs(error) * (slider && k == 1 ? length : 1)) : most;
    }
  }
  return h * most > 0.5 * S2_PROJECTION_TRIGGER * length;
}

// Reads the impulses of the step in the order of the system's rows. Sets shook[r] if SHAKE
// corrected row r. Returns false if the number of rows differs or if joint errors remain after the
// step.
static bool direct_rows(const Direct *direct, const S2LineSystem *system, const S2LineSystem *end,
                        double *impulse, bool *shook) {
  const S2World *world = direct->world;
  // The impulses, in the order of the rows.
  int rows = 0;
  for (int i = 0; i < world->joint_order.count; i++) {
    const S2Joint *joint = &world->joints.at[world->joint_order.at[i]];
    for (int k = 0; k < 2 && s2_joint_active(world, joint); k++, rows++) {
      if (rows < system->rigid) {
        impulse[rows] = joint->impulse[k];
      }
    }
  }
  if (rows != system->rigid || end->rigid != system->rigid) {
    return false;
  }
  // Mark the rows of islands that SHAKE corrected.
  for (int i = 0; i < world->program->islands; i++) {
    const S2ProgramIsland *island = &world->program->island[i];
    bool shaken = direct_shook(direct, system, island);
    rows = 0;
    for (int k = 0; k < world->joint_order.count; k++) {
      int32_t slot = world->joint_order.at[k];
      int count = s2_joint_active(world, &world->joints.at[slot]) ? 2 : 0;
      for (int g = 0; g < island->table.joints && count > 0; g++) {
        if (island->joint[g] == slot) {
          shook[rows] = shook[rows + 1] = shaken;
        }
      }
      rows += count;
    }
  }
  // Check the remaining joint errors.
  for (int r = 0; r < end->rigid; r++) {
    if (!(fabs(end->line[r].value) <= HELD)) {
      return false;
    }
  }
  return true;
}

// Returns true if q1 = q0 + h v1 holds. In the two-stage flow, returns true if each island took the
// step in one piece.
static bool direct_is(const Direct *direct, uint64_t solves) {
  const S2World *world = direct->world;
  double h = s2_world_settings(world)->dt;
  if (s2_world_rattles(s2_world_settings(world))) {
    return solves == 2 * (uint64_t)world->program->islands;
  }
  bool is = true;
  for (int i = 0; i < direct->n && is; i++) {
    double apart = direct->after[i] - direct->before[i] - h * direct->speed[i];
    is = fabs(apart) <= WHOLE * (1 + fabs(direct->after[i]));
  }
  return is;
}

// Takes the step and moves the tangents over it. `system` describes the state at the start of the
// step, and afterwards the state at its end.
static S2Status direct_step(Direct *direct, S2LineSystem *system, bool *is_direct) {
  S2World *world = direct->world;
  uint64_t solves = world->stats.solves;
  double *push_by = S2_TAKE_ZEROED(direct->arena, double, direct->n * direct->tangents.count + 1);
  direct_gather(&system->lines, world->q.at, direct->before);
  direct_gather(&system->lines, world->v.at, direct->set_out);
  S2_TRY(direct_push(direct, system, push_by));
  S2_TRY(s2_world_step(world));
  direct_gather(&system->lines, world->q.at, direct->after);
  direct_gather(&system->lines, world->v.at, direct->speed);
  // Check that this method supports the step.
  *is_direct = direct_is(direct, world->stats.solves - solves);
  if (!*is_direct) {
    return s2_ok();
  }
  double *impulse = S2_TAKE(direct->arena, double, system->rigid + 1);
  bool *shook = S2_TAKE_ZEROED(direct->arena, bool, system->rigid + 1);
  S2LineSystem end;
  S2_TRY(s2_lines_solve_for(world, direct->reduction, direct->arena, &end));
  *is_direct = direct_rows(direct, system, &end, impulse, shook);
  if (*is_direct && s2_world_rattles(s2_world_settings(world))) {
    *is_direct = direct_stages(direct, system, &end, impulse, push_by);
  } else if (*is_direct) {
    direct_add_push(direct, push_by, 1);
    direct_turn(direct, system, impulse);
    s2_lines_retune(system); // derivatives of the initial rows, for the final velocities
    *is_direct = direct_hold(direct, system, &end, shook, true);
  }
  *system = end;
  return s2_ok();
}

static S2Status direct_steps(S2World *world, const S2Input *inputs, int count,
                             const S2Reduction *reduction, int steps, S2Arena *arena,
                             S2Linear *linear, bool *is_direct) {
  int n = reduction->n, m = 2 * reduction->m;
  Direct direct = {world, inputs, reduction, arena, n, m, count, NULL, NULL, NULL, NULL, NULL, {0}};
  *linear = (S2Linear){.states = m,
                       .inputs = count,
                       .a = S2_TAKE_ZEROED(arena, double, m *m + 1),
                       .b = S2_TAKE_ZEROED(arena, double, m *count + 1),
                       .coordinates = reduction->m,
                       .coordinate = reduction->coordinate};
  S2ArenaMark mark = s2_arena_mark(arena);
  S2LineSystem system;
  S2_TRY(s2_lines_solve_for(world, reduction, arena, &system));
  S2_TRY(direct_open(&direct, &system));
  for (int step = 0; step < steps; step++) {
    S2_TRY(direct_step(&direct, &system, is_direct));
    if (!*is_direct) {
      return s2_ok();
    }
  }
  // Convert the tangents to the reduced state at the end.
  const Tangents *t = &direct.tangents;
  double *lower = S2_TAKE(arena, double, 2 * n * m + 1);
  S2_TRY(s2_reduction_lower_by(&system, reduction->m, lower));
  for (int r = 0; r < m; r++) {
    for (int c = 0; c < n; c++) {
      double by_q = lower[r * 2 * n + s2_reduction_place(c)];
      double by_v = lower[r * 2 * n + s2_reduction_place(c) + 3];
      for (int d = 0; d < t->count; d++) {
        double part = by_q * t->q[c * t->count + d] + by_v * t->v[c * t->count + d];
        *(d < m ? &linear->a[r * m + d] : &linear->b[r * count + d - m]) += part;
      }
    }
  }
  s2_arena_rewind(arena, mark);
  return s2_ok();
}

S2Status s2_direct_try(S2World *world, const S2Input *inputs, int count,
                       const S2Reduction *reduction, int steps, S2Arena *arena, S2Linear *linear,
                       bool *direct) {
  s2_program_hasten(world);
  const S2WorldDef *def = s2_world_settings(world);
  // In the two-stage flow, free bodies take this kind of step only if steps are split at events.
  *direct = s2_program_hangs(world) && (!s2_world_rattles(def) || s2_world_way(def) == S2_EVENT);
  for (int i = 0; i < count; i++) {
    *direct = *direct && inputs[i].kind <= S2_INPUT_JOINT_TORQUE; // no fields
  }
  if (!*direct) {
    return s2_ok();
  }
  size_t size = s2_world_image_size(world);
  uint64_t changes = world->changes;
  unsigned char *image = S2_TAKE(arena, unsigned char, size);
  s2_world_image_write(world, image);
  S2_TRY(direct_steps(world, inputs, count, reduction, steps, arena, linear, direct));
  return *direct ? s2_ok() : s2_world_image_return(world, image, size, changes);
}
