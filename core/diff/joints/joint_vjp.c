// The rows that joints have in a problem, backwards: through dynamics/joints/joint_rows.c, in its
// order.
#include "diff/joints/joint_vjp.h"
#include "dynamics/joints/rows.h"

#include <stddef.h>
#include <string.h>

// ---- Two bodies -------------------------------------------------------------------------------

double *s2_joint_number(const S2Joint *joint, double *of, int i) {
  int32_t slot = i < 3 ? joint->a : joint->b;
  return slot == S2_NONE ? NULL : of + 3 * slot + i % 3;
}

static int node_of(const S2JointUndo *undo, int i) {
  int32_t slot = i < 3 ? undo->joint->a : undo->joint->b;
  return slot == S2_NONE ? S2_GROUND : undo->step->node_of[slot];
}

void s2_joint_velocities(const S2JointUndo *undo, double v[6]) {
  for (int i = 0; i < 6; i++) {
    int node = node_of(undo, i);
    const double *given = s2_joint_number(undo->joint, undo->step->free_v, i);
    v[i] = node != S2_GROUND ? undo->rows->v[3 * node + i % 3] : given != NULL ? *given : 0;
  }
}

void s2_joint_start(const S2JointUndo *undo, double v[6]) {
  for (int i = 0; i < 6; i++) {
    const double *at = s2_joint_number(undo->joint, undo->step->v0, i);
    v[i] = at == NULL ? 0 : *at;
  }
}

void s2_joint_momenta_bar(const S2JointUndo *undo, double p[6]) {
  for (int i = 0; i < 6; i++) {
    int node = node_of(undo, i);
    p[i] = node == S2_GROUND ? 0 : undo->rows->rhs[3 * node + i % 3];
  }
}

static double *side_of(S2RowBar *bar, int i) {
  return i < 3 ? &bar->ja[i] : &bar->jb[i - 3];
}

static double j_of(const S2JointRow *row, int i) {
  return i < 3 ? row->ja[i] : row->jb[i - 3];
}

static double times(const S2JointRow *row, const double x[6]) {
  double sum = 0;
  for (int i = 0; i < 6; i++) {
    sum += j_of(row, i) * x[i];
  }
  return sum;
}

void s2_joint_speed_vjp(S2JointUndo *undo, const S2JointRow *row, const S2JointHessian *hessian,
                        S2RowBar *bar) {
  if (bar->speed == 0 && bar->bend == 0) {
    return;
  }
  double v[6] = {0};
  s2_joint_start(undo, v);
  bar->rate += bar->speed;
  bar->bent |= bar->bend != 0;
  for (int i = 0; i < 6; i++) {
    double *to = s2_joint_number(undo->joint, undo->bar->v0, i), sum = bar->speed * j_of(row, i);
    *side_of(bar, i) += bar->speed * v[i];
    for (int j = 0; j < 6 && bar->bend != 0; j++) {
      bar->hessian.at[i][j] += bar->bend * v[i] * v[j];
      sum += 2 * bar->bend * hessian->at[i][j] * v[j];
    }
    if (to != NULL) {
      *to += sum;
    }
  }
}

S2Vec2 s2_joint_arm(const S2JointUndo *undo) {
  int32_t a = undo->joint->a;
  return a == S2_NONE ? s2_vec2(0, 0) : s2_rotate(s2_rot(undo->at.q[3 * a]), undo->joint->local_a);
}

void s2_joint_arm_vjp(S2JointUndo *undo, S2Vec2 push) {
  int32_t a = undo->joint->a;
  double torque = undo->rows->reaction == NULL ? 0 : undo->rows->reaction[3 * undo->slot];
  if (a != S2_NONE && torque != 0) {
    S2Vec2 bar = s2_scale(torque, s2_left(push));
    undo->place.q[3 * a] += s2_dot(s2_left(s2_joint_arm(undo)), bar);
    S2Vec2 local = s2_unrotate(s2_rot(undo->at.q[3 * a]), bar);
    undo->gradient->local_a = s2_add(undo->gradient->local_a, local);
  }
}

// An impulse along a row pushes on a; from the reaction to where that lies.
static void reaction_vjp(S2JointUndo *undo, const S2JointRow *row, double impulse, S2RowBar *bar) {
  if (undo->rows->reaction == NULL || impulse == 0) {
    return;
  }
  const double *reaction = undo->rows->reaction + 3 * undo->slot;
  S2Vec2 arm = s2_joint_arm(undo);
  bar->ja[0] += impulse * reaction[0];
  bar->ja[1] += impulse * (reaction[1] + reaction[0] * arm.y);
  bar->ja[2] += impulse * (reaction[2] - reaction[0] * arm.x);
  s2_joint_arm_vjp(undo, s2_scale(impulse, s2_vec2(row->ja[1], row->ja[2])));
}

// Row r of the problem along `sign` times a function: to the function, and what moves the ground.
static void sides_vjp(S2JointUndo *undo, const S2JointRow *row, double sign, int r, S2RowBar *bar) {
  const S2RowsAdjoint *rows = undo->rows;
  reaction_vjp(undo, row, rows->reaction == NULL ? 0 : sign * rows->pushed[r], bar);
  for (int i = 0; i < 6; i++) {
    double *given = s2_joint_number(undo->joint, undo->step->free_v, i);
    if (node_of(undo, i) != S2_GROUND) {
      *side_of(bar, i) += sign * (i < 3 ? rows->ja : rows->jb)[3 * r + i % 3];
    } else if (given != NULL && !s2_solve_traits(undo->kind).displacements) {
      *side_of(bar, i) += sign * rows->bias[r] * *given;
      *s2_joint_number(undo->joint, undo->bar->free_v, i) += sign * rows->bias[r] * j_of(row, i);
    }
  }
}

// ---- Equations --------------------------------------------------------------------------------

// What an error and its return (s2_joint_return) put into the bias of a rigid row.
static void rigid_vjp(S2JointUndo *undo, const S2JointRow *row, double bias, S2RowBar *bar) {
  const S2WorldDef *def = &undo->step->world->kept.def;
  const S2Blend *blend = &undo->blend;
  bool motion = undo->kind == S2_SOLVE_MOTION;
  bool biased = motion && def->stabilization == S2_BAUMGARTE;
  double h = undo->step->h, mended = biased ? S2_BAUMGARTE_FACTOR / h : 0;
  if (s2_solve_traits(undo->kind).displacements) {
    bar->value += bias;
    return;
  }
  bar->value += bias * (mended + blend->mend);
  bar->rate += bias;
  bar->speed += bias * blend->reflect;
  bar->bend += bias * blend->ahead * h / 2;
  undo->bar->h += bias * (blend->ahead / 2 * row->bend - (mended + blend->mend) * row->value / h);
  if (!undo->step->stiff[undo->slot] && blend->beta >= 0.5) {
    // Below 1/2 there is none, at 1/2 the mean of both sides.
    double beta = blend->beta, by = (beta > 0.5 ? 1 : 0.5) * bias / (beta * beta);
    undo->bar->gradient->beta -=
        by * ((blend->reflect > 0 ? row->speed : 0) + (blend->ahead > 0 ? h / 2 * row->bend : 0) +
              (blend->mend > 0 ? row->value / h : 0));
  }
}

typedef struct Cursor { // next row of a joint, and next part without one
  int row, given;
} Cursor;

static void spread(const S2RowBar *own, const S2SoftRow *soft, int count, S2RowBar *bars) {
  for (int i = 0; i < count; i++) {
    double part = soft->mix[i];
    bars[i].value += part * own->value;
    bars[i].rate += part * own->rate;
    bars[i].speed += part * own->speed;
    bars[i].bend += part * own->bend;
    for (int c = 0; c < 3; c++) {
      bars[i].ja[c] += part * own->ja[c];
      bars[i].jb[c] += part * own->jb[c];
    }
  }
}

static void soft_row_vjp(S2JointUndo *undo, const S2SoftRow *soft, int row, int part,
                         const double p[6], S2SoftSum *sum, S2RowBar *own) {
  const S2RowsAdjoint *rows = undo->rows;
  double h = undo->step->h, kept = part >= 0 ? rows->given[part] : 0;
  double force =
      row >= 0 ? h * soft->compliance * rows->bias[row] : -h * (times(&soft->row, p) + kept);
  double impulse = soft->given + (row >= 0 ? rows->lambda[row] : 0);
  own->rate += row >= 0 ? rows->bias[row] : 0;
  reaction_vjp(undo, &soft->row, soft->given, own);
  for (int i = 0; i < 6; i++) { // what is given acts along the row, too
    *side_of(own, i) += soft->given * p[i];
  }
  for (int i = 0; i < sum->count; i++) {
    sum->soft[i] |= soft->mix[i] != 0;
    sum->force[i] += soft->mix[i] * force;
    sum->impulse[i] += soft->mix[i] * impulse;
  }
}

// Are the rows the equations themselves, met by the speeds at the end?
static bool is_plain(const S2JointUndo *undo) {
  const S2Blend *blend = &undo->blend;
  return blend->reflect == 0 && blend->ahead == 0 && blend->mend == 0 &&
         s2_joint_is_rigid(undo->joint);
}

static bool is_driven(const S2JointUndo *undo, int32_t slot) {
  return slot != S2_NONE && undo->step->world->bodies.at[slot].type == S2_KINEMATIC;
}

// Are the adjoints of its plain equations those of their values and sides, both of them offsets,
// and nothing else?
static bool is_pin(const S2JointUndo *undo) {
  const S2Joint *joint = undo->joint;
  return joint->type == S2_HINGE && undo->rows->reaction == NULL &&
         (s2_solve_traits(undo->kind).displacements ||
          (undo->step->world->kept.def.stabilization != S2_BAUMGARTE &&
           !is_driven(undo, joint->a) && !is_driven(undo, joint->b)));
}

static void pin_vjp(S2JointUndo *undo, int row) {
  const S2RowsAdjoint *rows = undo->rows;
  S2PinBar bar;
  bool sees_a = node_of(undo, 0) != S2_GROUND, sees_b = node_of(undo, 3) != S2_GROUND;
  for (int k = 0; k < 2; k++, row++) {
    bar.value[k] = s2_solve_traits(undo->kind).displacements ? rows->bias[row] : 0;
    for (int c = 0; c < 3; c++) {
      bar.ja[k][c] = sees_a ? rows->ja[3 * row + c] : 0;
      bar.jb[k][c] = sees_b ? rows->jb[3 * row + c] : 0;
    }
  }
  s2_joint_pin_vjp(&undo->at, &bar, &undo->place);
}

static void plain_equations_vjp(S2JointUndo *undo, Cursor *cursor) {
  S2JointRow rows[S2_JOINT_EQUATIONS];
  int count = s2_joint_rows(&undo->at, rows);
  for (int k = 0; k < count; k++) {
    S2RowBar bar;
    memset(&bar, 0, offsetof(S2RowBar, hessian)); // that of what is not bent is nobody's
    sides_vjp(undo, &rows[k], 1, cursor->row, &bar);
    rigid_vjp(undo, &rows[k], undo->rows->bias[cursor->row], &bar);
    s2_joint_function_vjp(&undo->at, k, &bar, &undo->place);
    cursor->row += 1;
  }
}

// The rows of the problem, as add_equations makes them.
static int soften(const S2JointUndo *undo, S2JointRow *rows, S2JointHessian *hessians,
                  S2SoftRow *soft) {
  const S2Joint *joint = undo->joint;
  int count = s2_joint_rows(&undo->at, rows);
  const S2Blend *blend = &undo->blend;
  if (s2_solve_traits(undo->kind).takes_time) {
    s2_spring_ask(undo->step->world, undo->slot, &rows[0]);
  }
  s2_joint_speeds(joint, undo->step->v0, rows, count);
  if (blend->ahead > 0 || blend->bent > 0) {
    s2_joint_hessians(&undo->at, hessians);
    s2_joint_bends(joint, undo->step->v0, hessians, rows, count);
  }
  s2_joint_soften(joint, rows, count, *blend, soft);
  return count;
}

// The row of a gear that moves more than two bodies (gear_rows.c). Its copies have no data of their
// own, and with what is beside them are the bodies: what acts along a body's part of the row is the
// row's impulse, and what it feels the body's velocity.
static void wide_gear_vjp(S2JointUndo *undo, Cursor *cursor) {
  const S2Step *step = undo->step;
  const S2Joint *gear = undo->joint;
  const S2RowsAdjoint *of = undo->rows;
  S2JointRow row[S2_JOINT_EQUATIONS];
  S2JointHessian hessian[S2_JOINT_EQUATIONS] = {{{{0}}}};
  S2SoftRow soft[S2_JOINT_EQUATIONS];
  S2GearMovers movers = s2_gear_movers(step, gear);
  int count = s2_gear_row_count(&movers), r = cursor->row + count - 1;
  cursor->row += count;
  if (count == 0) {
    return;
  }
  soften(undo, row, hessian, soft);
  S2RowBar bar = {0};
  rigid_vjp(undo, &soft[0].row, of->bias[r], &bar);
  const int32_t slots[4] = {gear->a, gear->b, gear->more[0], gear->more[1]};
  const double factors[4] = {row[0].ja[0], row[0].jb[0], row[0].more[0], row[0].more[1]};
  double *const factor_bar[4] = {&bar.ja[0], &bar.jb[0], &bar.more[0], &bar.more[1]};
  for (int i = 0; i < 4; i++) {
    int at = 3 * slots[i], node = slots[i] == S2_NONE ? S2_GROUND : step->node_of[slots[i]];
    if (node != S2_GROUND) {
      *factor_bar[i] += of->bias[r] * of->v[3 * node] + of->lambda[r] * of->rhs[3 * node];
    } else if (slots[i] != S2_NONE && !s2_solve_traits(undo->kind).displacements) {
      *factor_bar[i] += of->bias[r] * step->free_v[at];
      undo->bar->free_v[at] += of->bias[r] * factors[i];
    }
    if (i >= 2 && slots[i] != S2_NONE) { // the others are below
      *factor_bar[i] += bar.speed * step->v0[at];
      undo->bar->v0[at] += bar.speed * factors[i];
    }
  }
  s2_joint_speed_vjp(undo, &row[0], &hessian[0], &bar);
  s2_joint_function_vjp(&undo->at, 0, &bar, &undo->place);
}

static void equations_vjp(S2JointUndo *undo, Cursor *cursor) {
  S2JointRow rows[S2_JOINT_EQUATIONS];
  S2JointHessian hessians[S2_JOINT_EQUATIONS] = {{{{0}}}};
  S2SoftRow soft[S2_JOINT_EQUATIONS];
  S2RowBar bars[S2_JOINT_EQUATIONS] = {{0}};
  if (s2_solve_traits(undo->kind).displacements && undo->joint->velocity_only) {
    return;
  }
  if (undo->joint->more[0] != S2_NONE) {
    wide_gear_vjp(undo, cursor);
    return;
  }
  if (is_plain(undo)) {
    if (is_pin(undo)) {
      pin_vjp(undo, cursor->row);
      cursor->row += 2;
    } else {
      plain_equations_vjp(undo, cursor);
    }
    return;
  }
  int count = soften(undo, rows, hessians, soft);
  S2SoftSum sum = {.count = count};
  double p[6], v[6];
  s2_joint_momenta_bar(undo, p);
  s2_joint_velocities(undo, v);
  bool any = false;
  for (int k = 0; k < count; k++) {
    if (!soft[k].rigid && !s2_solve_traits(undo->kind).takes_time) {
      continue;
    }
    S2RowBar own = {0};
    bool has_row = isfinite(soft[k].compliance);
    int row = has_row ? cursor->row++ : -1;
    int part = has_row ? row : soft[k].given != 0 ? cursor->given++ : -1;
    if (has_row) {
      sides_vjp(undo, &soft[k].row, 1, row, &own);
    }
    if (soft[k].rigid) {
      rigid_vjp(undo, &soft[k].row, undo->rows->bias[row], &own);
    } else {
      soft_row_vjp(undo, &soft[k], row, part, p, &sum, &own);
      any = true;
    }
    spread(&own, &soft[k], count, bars);
  }
  for (int i = 0; i < count; i++) {
    sum.speed[i] = times(&rows[i], v) + rows[i].rate;
  }
  if (any) {
    s2_joint_soften_vjp(undo, rows, &sum, bars);
  }
  for (int i = 0; i < count; i++) {
    s2_joint_speed_vjp(undo, &rows[i], &hessians[i], &bars[i]);
    s2_joint_function_vjp(&undo->at, i, &bars[i], &undo->place);
  }
}

// ---- Limits and what drives -------------------------------------------------------------------

static void equal_limits_vjp(S2JointUndo *undo, int r) {
  S2JointRow row;
  S2JointHessian hessian;
  S2RowBar bar = {0};
  s2_joint_kind(undo->joint->type)->coordinate(&undo->at, &row, &hessian);
  row.value -= undo->joint->limit_lo;
  s2_joint_speeds(undo->joint, undo->step->v0, &row, 1);
  s2_joint_bends(undo->joint, undo->step->v0, &hessian, &row, 1);
  sides_vjp(undo, &row, 1, r, &bar);
  rigid_vjp(undo, &row, undo->rows->bias[r], &bar);
  undo->gradient->limit_lo -= bar.value;
  s2_joint_speed_vjp(undo, &row, &hessian, &bar);
  s2_joint_function_vjp(&undo->at, S2_OF_COORDINATE, &bar, &undo->place);
}

// What the distance asks for in a motion: all of what is open, and of what is not by rounding.
static double distance_part(const S2JointUndo *undo, const S2JointRow *row, double distance) {
  bool baumgarte = undo->step->world->kept.def.stabilization == S2_BAUMGARTE;
  double slop = S2_PROJECTION_TOLERANCE * (s2_joint_row_angular(row) ? 1 : undo->length);
  return distance >= -slop ? 1 : baumgarte ? S2_BAUMGARTE_FACTOR : 0;
}

// At a limit as the step began that no step before it had met: it is there by its data, which may
// move it to either side. Beyond it the position is mended, before it the velocity goes up to it.
static bool just_met(const S2JointUndo *undo, const S2JointRow *row, double distance, int index) {
  const S2Step *step = undo->step;
  bool first = step->t == step->world->kept.time; // of the parts that bisect makes
  double before =
      first ? undo->joint->impulse[index] : step->joint_impulse[S2_JOINT_ROWS * undo->slot + index];
  double slop = S2_TOUCH_SLOP * (s2_joint_row_angular(row) ? 1 : undo->length);
  return fabs(distance) <= slop && before == 0;
}

static void limit_vjp(S2JointUndo *undo, int r, bool upper) {
  const S2Joint *joint = undo->joint;
  S2JointRow row;
  S2RowBar bar = {0};
  s2_joint_kind(joint->type)->coordinate(&undo->at, &row, NULL);
  double sign = upper ? -1 : 1, bias = undo->rows->bias[r];
  double distance = upper ? joint->limit_hi - row.value : row.value - joint->limit_lo;
  double distance_bar = s2_solve_traits(undo->kind).displacements ? bias : 0, h = undo->step->h;
  bool bisect = undo->step->world->kept.def.stepping == S2_BISECT;
  if (undo->kind == S2_SOLVE_MOTION || (undo->kind == S2_SOLVE_FORCES && bisect)) {
    double part = distance_part(undo, &row, distance);
    distance_bar = bias * part / h;
    undo->bar->h -= bias * part * distance / (h * h);
    bool edge = bias != 0 && just_met(undo, &row, distance, upper ? S2_JOINT_HI : S2_JOINT_LO);
    undo->bar->gradient->flags |= edge ? S2_GRADIENT_WEAK : 0;
  }
  sides_vjp(undo, &row, sign, r, &bar);
  bar.value = sign * distance_bar;
  bar.rate = s2_solve_traits(undo->kind).displacements ? 0 : sign * bias;
  *(upper ? &undo->gradient->limit_hi : &undo->gradient->limit_lo) -= sign * distance_bar;
  s2_joint_function_vjp(&undo->at, S2_OF_COORDINATE, &bar, &undo->place);
}

// Of a row with |lambda| <= most h.
static void bound_vjp(S2JointUndo *undo, int r, double most, double *most_bar) {
  double bar = undo->rows->hi[r] - undo->rows->lo[r];
  *most_bar += bar * undo->step->h;
  undo->bar->h += bar * most;
}

static void drive_vjp(S2JointUndo *undo, int r, int index) {
  const S2Joint *joint = undo->joint;
  S2JointRow row;
  S2RowBar bar = {0};
  s2_joint_kind(joint->type)->drive(&undo->at, &row, NULL);
  sides_vjp(undo, &row, 1, r, &bar);
  if (index == S2_JOINT_DRY) {
    bound_vjp(undo, r, joint->friction, &undo->gradient->friction);
  } else {
    undo->gradient->motor_speed -= undo->rows->bias[r];
    if (isfinite(joint->motor_max)) {
      bound_vjp(undo, r, joint->motor_max, &undo->gradient->motor_max);
    }
  }
  s2_joint_function_vjp(&undo->at, S2_OF_DRIVE, &bar, &undo->place);
}

// A lock that yields: its row aims at the goal's speed and back to the goal.
static void bounded_lock_vjp(S2JointUndo *undo, int r, int index) {
  S2BoundedRow rows[S2_JOINT_EQUATIONS];
  int count = s2_lock_bounded_rows(&undo->at, rows), k = 0;
  while (k + 1 < count && rows[k].index != index) {
    k += 1;
  }
  const S2BoundedRow *of = &rows[k];
  double bias = undo->rows->bias[r], push = of->most / of->mass;
  S2LockReturn back = s2_lock_return(of->row.value, push, undo->step->h);
  S2RowBar bar = {0};
  sides_vjp(undo, &of->row, 1, r, &bar);
  bar.rate = bias;
  bar.value = bias * back.by_off;
  undo->bar->h += bias * back.by_h;
  S2JointGradient *g = undo->gradient;
  double *most_bar = of->component == 0 ? &g->max_torque : &g->max_force;
  S2BodyGradient *body = &undo->bar->gradient->body[undo->joint->a];
  *most_bar += bias * back.by_push / of->mass;
  *(of->component == 0 ? &body->inertia : &body->mass) -= bias * back.by_push * push / of->mass;
  bound_vjp(undo, r, of->most, most_bar);
  s2_joint_function_vjp(&undo->at, index, &bar, &undo->place);
}

// Rows lie along the momentum so that their solution is that of the disc to first order, wherever
// it turns to: of all that they are made of only the bounds count.
static void ground_friction_vjp(S2JointUndo *undo, int r, int index) {
  if (index == 0) {
    bound_vjp(undo, r, undo->joint->max_torque, &undo->gradient->max_torque);
  } else {
    bound_vjp(undo, r, undo->joint->max_force, &undo->gradient->max_force);
  }
}

// ---- The joints of an island ------------------------------------------------------------------

// What all joints of the island share.
// NOLINTBEGIN(readability-non-const-parameter): elapsed is added to through undo.place
static S2JointUndo begin(const S2Step *step, const S2Island *island, S2SolveKind kind,
                         const S2RowsAdjoint *rows, S2StepAdjoint *adjoint, double *elapsed) {
  // NOLINTEND(readability-non-const-parameter)
  bool end = s2_solve_traits(kind).at_end;
  double *q = end ? step->q1 : step->q0;
  S2JointUndo undo = {
      .step = step,
      .rows = rows,
      .bar = adjoint,
      .kind = kind,
      .length = island->length,
      .world_blend =
          s2_joint_blend(&step->world->kept.def, s2_solve_traits(kind).displacements ? 0 : step->h),
  };
  double since = step->t - step->world->kept.time + (end ? step->h : 0);
  const S2Rot *turn = s2_step_turns(step, island, q);
  undo.at = (S2JointAt){.world = step->world, .q = q, .elapsed = since, .turn = turn};
  undo.place = (S2PlaceBar){end ? adjoint->q1 : adjoint->q0, NULL, elapsed, adjoint->gradient};
  return undo;
}

static void take_joint(S2JointUndo *undo, int32_t slot) {
  undo->slot = slot;
  undo->joint = undo->at.joint = &undo->step->world->joints.at[slot];
  undo->gradient = &undo->bar->gradient->joint[slot];
  undo->blend = s2_step_blend(undo->step, slot, undo->kind, &undo->world_blend);
}

static bool is_bilateral(const S2Assembly *assembly, int r, int32_t slot) {
  return r < assembly->parts && assembly->part[r].joint == slot &&
         assembly->problem.row[r].lo == -INFINITY;
}

// Equations, what turns, limits that coincide and motors of any force, in the order of the rows.
static void bilateral_vjp(S2JointUndo *undo, const S2Assembly *assembly, Cursor *cursor) {
  equations_vjp(undo, cursor);
  s2_joint_geometric_vjp(undo);
  while (is_bilateral(assembly, cursor->row, undo->slot)) {
    int index = assembly->part[cursor->row].row;
    if (index == S2_JOINT_LO) {
      equal_limits_vjp(undo, cursor->row);
    } else if (index != S2_NONE) {
      drive_vjp(undo, cursor->row, index);
    } // else a row of geometric stiffness
    cursor->row += 1;
  }
  int last = assembly->parts + assembly->parts_given;
  while (cursor->given < last && assembly->part[cursor->given].joint == undo->slot) {
    cursor->given += 1;
  }
}

// A unilateral constraint that gives way: at the end of the step for all alpha and beta.
static void soft_stop_vjp(S2JointUndo *undo, int r) {
  S2WorldGradient *g = undo->bar->gradient;
  double alpha = g->alpha, beta = g->beta;
  S2JointRow row;
  S2RowBar bar = {0};
  S2SoftRow soft[S2_JOINT_EQUATIONS];
  S2Blend blend = undo->blend;
  undo->blend = (S2Blend){.h = undo->step->h, .alpha = 1, .beta = 1};
  s2_joint_kind(undo->joint->type)->coordinate(&undo->at, &row, NULL);
  s2_joint_soften(undo->joint, &row, 1, undo->blend, soft);
  sides_vjp(undo, &row, 1, r, &bar);
  double v[6], force = undo->step->h * soft[0].compliance * undo->rows->bias[r];
  s2_joint_velocities(undo, v);
  S2SoftSum sum = {.count = 1, .soft = {true}, .impulse = {undo->rows->lambda[r]}};
  sum.force[0] = force;
  sum.speed[0] = times(&row, v) + row.rate;
  bar.rate = undo->rows->bias[r];
  s2_joint_soften_vjp(undo, &row, &sum, &bar);
  s2_joint_function_vjp(&undo->at, S2_OF_COORDINATE, &bar, &undo->place);
  undo->blend = blend;
  g->alpha = alpha;
  g->beta = beta;
}

static void one_sided_vjp(S2JointUndo *undo, int r, int index) {
  if (undo->joint->type == S2_CONSTRAINT && s2_joint_soft_stop(undo->joint)) {
    soft_stop_vjp(undo, r);
  } else if (undo->joint->type == S2_GROUND_FRICTION) {
    ground_friction_vjp(undo, r, index);
  } else if (undo->joint->type == S2_LOCK) {
    bounded_lock_vjp(undo, r, index);
  } else if (index == S2_JOINT_LO || index == S2_JOINT_HI) {
    limit_vjp(undo, r, index == S2_JOINT_HI);
  } else {
    drive_vjp(undo, r, index);
  }
}

void s2_joint_rows_vjp(const S2Step *step, const S2Island *island, S2SolveKind kind,
                       const S2Assembly *assembly, const S2RowsAdjoint *rows,
                       S2StepAdjoint *adjoint) {
  double elapsed = 0;
  S2ArenaMark mark = s2_arena_mark(step->arena);
  S2JointUndo undo = begin(step, island, kind, rows, adjoint, &elapsed);
  Cursor cursor = {0, assembly->parts};
  while (cursor.row < assembly->parts && assembly->part[cursor.row].joint == S2_NONE) {
    cursor.row += 1; // viscosity of contacts
  }
  for (int i = 0; i < island->joints; i++) {
    take_joint(&undo, island->joint[i]);
    bilateral_vjp(&undo, assembly, &cursor);
  }
  for (int r = cursor.row; r < assembly->parts; r++) {
    take_joint(&undo, assembly->part[r].joint);
    one_sided_vjp(&undo, r, assembly->part[r].row);
  }
  s2_arena_rewind(step->arena, mark);
  adjoint->elapsed += elapsed;
  adjoint->h += s2_solve_traits(kind).at_end ? elapsed : 0;
}
