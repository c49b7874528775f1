// Derivative of the constraint rows of joints (dynamics/joints/joint_rows.c), in the same order.
#include "diff/joints/joint_vjp.h"
#include "dynamics/joints/rows.h"

#include <string.h>

static double *joint_side_of(S2RowBar *bar, int i) {
  return i < 3 ? &bar->ja[i] : i < 6 ? &bar->jb[i - 3] : &bar->more[i / 3 - 2][i % 3];
}

static double joint_j_of(const S2JointRow *row, int i) {
  return i < 3 ? row->ja[i] : i < 6 ? row->jb[i - 3] : row->more[i / 3 - 2][i % 3];
}

static double joint_times(const S2JointUndo *undo, const S2JointRow *row,
                          const double x[S2_JOINT_COLUMNS]) {
  double sum = 0;
  for (int c = 0; c < 3; c++) {
    sum += row->ja[c] * x[c];
  }
  for (int c = 0; c < 3; c++) {
    sum += row->jb[c] * x[3 + c];
  }
  for (int i = 6; i < s2_joint_columns(undo->joint); i++) {
    sum += joint_j_of(row, i) * x[i];
  }
  return sum;
}

// Passes on the adjoints of equation `index` of a constraint of more than two bodies.
static void joint_wide_speed_vjp(S2JointUndo *undo, const S2JointRow *row, int index,
                                 const double v[S2_JOINT_COLUMNS], S2RowBar *bar) {
  double hessians[S2_JOINT_EQUATIONS][S2_JOINT_COLUMNS][S2_JOINT_COLUMNS] = {{{0}}};
  if (bar->bend != 0) {
    s2_constraint_hessians(&undo->at, hessians);
  }
  memcpy(bar->along, v, sizeof bar->along);
  for (int i = 0; i < S2_JOINT_COLUMNS; i++) {
    double *to = s2_joint_number(undo->joint, undo->bar->v0, i);
    double sum = bar->speed * joint_j_of(row, i);
    *joint_side_of(bar, i) += bar->speed * v[i];
    for (int j = 0; j < S2_JOINT_COLUMNS && bar->bend != 0; j++) {
      sum += 2 * bar->bend * hessians[index][i][j] * v[j];
    }
    if (to != NULL) {
      *to += sum;
    }
  }
}

// Passes on the adjoints of speed and bend of a row to the row and to v0.
static void joint_speed_vjp(S2JointUndo *undo, int index, const S2JointRow *row,
                            const S2JointHessian *hessian, S2RowBar *bar) {
  if (bar->speed == 0 && bar->bend == 0) {
    return;
  }
  double v[S2_JOINT_COLUMNS] = {0};
  s2_joint_start(undo, v);
  bar->rate += bar->speed;
  bar->bent |= bar->bend != 0;
  if (s2_joint_is_wide(undo->joint)) {
    joint_wide_speed_vjp(undo, row, index, v, bar);
    return;
  }
  // Both sides have a gradient, velocities and a bend.
  for (int i = 0; i < 6; i++) {
    double *to = s2_joint_number(undo->joint, undo->bar->v0, i),
           sum = bar->speed * joint_j_of(row, i);
    *joint_side_of(bar, i) += bar->speed * v[i];
    for (int j = 0; j < 6 && bar->bend != 0; j++) {
      bar->hessian.at[i][j] += bar->bend * v[i] * v[j];
      sum += 2 * bar->bend * hessian->at[i][j] * v[j];
    }
    if (to != NULL) {
      *to += sum;
    }
  }
}

// Passes the adjoint of the reaction, which is the impulse on a, on to the direction of the row.
static void joint_reaction_vjp(S2JointUndo *undo, const S2JointRow *row, double impulse,
                               S2RowBar *bar) {
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

// Returns the index of the first copy row (wide_rows.c) that row `index` of a constraint acts on.
static int joint_copies(const S2JointUndo *undo, int index, int copies) {
  const S2JointPart *part = undo->assembly->part;
  int first = 0;
  while (part[first].joint != undo->slot || part[first].row != S2_NONE) {
    first += 1;
  }
  return first + 3 * copies * (index < S2_JOINT_EQUATIONS ? index : 0);
}

// Differentiates the part of a constraint row for one body. The part determines the direction of
// the row of the body's copy, and the length with which the copy enters row r.
static void joint_copy_vjp(const S2JointUndo *undo, const double j[3], double length, int copy,
                           double size_bar, double bar[3]) {
  double e[3][3], size = s2_wide_basis(j, length, e), e_bar[3][3], along[3];
  for (int i = 0; i < 9; i++) {
    e_bar[i / 3][i % 3] = undo->rows->ja[3 * copy + i] * (i % 3 == 0 ? length : 1);
  }
  // The basis turns with its first vector: d e_j = -(e_j d e_0) e_0.
  for (int c = 0; c < 3; c++) {
    along[c] = e_bar[0][c];
    for (int k = 0; k < 3; k++) {
      along[c] -= (e_bar[0][k] * e[0][k]) * e[0][c];
      along[c] -=
          k > 0 ? (e[0][0] * e_bar[k][0] + e[0][1] * e_bar[k][1] + e[0][2] * e_bar[k][2]) * e[k][c]
                : 0;
    }
    bar[c] += (size_bar * e[0][c] + along[c] / size) / (c == 0 ? length : 1);
  }
}

// The adjoint of the gradient of row r of a constraint of more than two bodies, for the bodies that
// are solved for. Copies, and the rows that couple them, only stand for the bodies. So each part is
// differentiated with the impulse of row r and the velocity of its body, as in an ordinary row. In
// projections, impulses of copies also have adjoints, so the rows of the copies are differentiated,
// except for parts of length 0, which have no direction.
static void joint_wide_sides_vjp(const S2JointUndo *undo, const S2JointRow *row, int r,
                                 S2RowBar *bar) {
  const S2RowsAdjoint *rows = undo->rows;
  S2WideMovers movers = s2_wide_row_movers(undo->step, undo->joint, row);
  int last = movers.count - 1, copy = 0;
  if (movers.count > 2) {
    copy = joint_copies(undo, undo->assembly->part[r].row, last);
  }
  // Each moving body is handled by the row itself, or by the copy that stands for the body.
  for (int i = 0, k = 0; i < S2_JOINT_COLUMNS; i += 3) {
    if (s2_joint_node(undo, i) == S2_GROUND) {
      continue;
    }
    double *to = joint_side_of(bar, i);
    const double *j = movers.j[k];
    bool direct = k == last || movers.count <= 2, none = j[0] == 0 && j[1] == 0 && j[2] == 0;
    if (!s2_solve_traits(undo->kind).displacements || (none && !direct)) {
      for (int c = 0; c < 3; c++) {
        int at = 3 * s2_joint_node(undo, i) + c;
        to[c] += rows->bias[r] * rows->v[at] + rows->lambda[r] * rows->rhs[at];
      }
      k += 1;
      continue;
    }
    if (!direct) {
      joint_copy_vjp(undo, j, s2_wide_length(undo->step, movers.slot[k]), copy + 3 * k,
                     rows->jb[3 * r + k], to);
    }
    for (int c = 0; c < 3 && direct; c++) {
      to[c] += (k == last ? rows->ja : rows->jb)[3 * r + c];
    }
    k += 1;
  }
}

// Row r of the problem is a function times `sign`. Passes the adjoint of the row, except for its
// part in the reaction, on to that function and to the velocity of the ground.
static void joint_unfelt_sides_vjp(S2JointUndo *undo, const S2JointRow *row, double sign, int r,
                                   S2RowBar *bar) {
  const S2RowsAdjoint *rows = undo->rows;
  bool wide = s2_joint_is_wide(undo->joint);
  if (wide) {
    joint_wide_sides_vjp(undo, row, r, bar);
  }
  for (int i = 0; i < s2_joint_columns(undo->joint); i++) {
    double *given = s2_joint_number(undo->joint, undo->step->free_v, i);
    if (s2_joint_node(undo, i) != S2_GROUND && wide) {
      continue;
    }
    if (s2_joint_node(undo, i) != S2_GROUND) {
      *joint_side_of(bar, i) += sign * (i < 3 ? rows->ja : rows->jb)[3 * r + i % 3];
    } else if (given != NULL && !s2_solve_traits(undo->kind).displacements) {
      *joint_side_of(bar, i) += sign * rows->bias[r] * *given;
      *s2_joint_number(undo->joint, undo->bar->free_v, i) +=
          sign * rows->bias[r] * joint_j_of(row, i);
    }
  }
}

static void joint_sides_vjp(S2JointUndo *undo, const S2JointRow *row, double sign, int r,
                            S2RowBar *bar) {
  const S2RowsAdjoint *rows = undo->rows;
  joint_reaction_vjp(undo, row, rows->reaction == NULL ? 0 : sign * rows->pushed[r], bar);
  joint_unfelt_sides_vjp(undo, row, sign, r, bar);
}

// ---- Equations --------------------------------------------------------------------------------

// Adjoint of the bias of a rigid row, which depends on the error and its corrected part.
static void joint_rigid_vjp(S2JointUndo *undo, const S2JointRow *row, double bias, S2RowBar *bar) {
  const S2WorldDef *def = &undo->step->world->kept.def;
  const S2Blend *blend = &undo->blend;
  bool motion = undo->kind == S2_SOLVE_MOTION;
  double h = undo->step->h, projected = motion ? s2_joint_returned(def, undo->joint) / h : 0;
  // A projection removes the whole error.
  if (s2_solve_traits(undo->kind).displacements) {
    bar->value += bias;
    return;
  }
  // The bias of a solve contains the rate, the reflected speed, the bend and a part of the error.
  bar->value += bias * (projected + blend->project);
  bar->rate += bias;
  bar->speed += bias * blend->reflect;
  bar->bend += bias * blend->ahead * h / 2;
  undo->bar->h +=
      bias * (blend->ahead / 2 * row->bend - (projected + blend->project) * row->value / h);
  if (!undo->step->stiff[undo->slot] && blend->beta >= 0.5) {
    // Below beta = 1/2 nothing is reflected; at 1/2 the derivative is the mean of both sides.
    double beta = blend->beta, by = (beta > 0.5 ? 1 : 0.5) * bias / (beta * beta);
    undo->bar->gradient->beta -=
        by * ((blend->reflect > 0 ? row->speed : 0) + (blend->ahead > 0 ? h / 2 * row->bend : 0) +
              (blend->project > 0 ? row->value / h : 0));
  }
}

typedef struct Cursor { // indices of the next row of a joint, and of its next part without a row
  int row, given;
} Cursor;

static void joint_spread(const S2RowBar *own, const S2SoftRow *soft, int count, S2RowBar *bars) {
  for (int i = 0; i < count; i++) {
    double part = soft->mix[i];
    bars[i].value += part * own->value;
    bars[i].rate += part * own->rate;
    bars[i].speed += part * own->speed;
    bars[i].bend += part * own->bend;
    for (int c = 0; c < 3; c++) {
      bars[i].ja[c] += part * own->ja[c];
      bars[i].jb[c] += part * own->jb[c];
      bars[i].more[0][c] += part * own->more[0][c];
      bars[i].more[1][c] += part * own->more[1][c];
    }
  }
}

static void joint_soft_row_vjp(S2JointUndo *undo, const S2SoftRow *soft, int row, int part,
                               const double p[S2_JOINT_COLUMNS], S2SoftSum *sum, S2RowBar *own) {
  const S2RowsAdjoint *rows = undo->rows;
  double h = undo->step->h, kept = part >= 0 ? rows->given[part] : 0;
  double force = row >= 0 ? h * soft->compliance * rows->bias[row]
                          : -h * (joint_times(undo, &soft->row, p) + kept);
  double impulse = soft->given + (row >= 0 ? rows->lambda[row] : 0);
  own->rate += row >= 0 ? rows->bias[row] : 0;
  joint_reaction_vjp(undo, &soft->row, soft->given, own);
  for (int i = 0; i < s2_joint_columns(undo->joint); i++) { // the given impulse also acts along it
    *joint_side_of(own, i) += soft->given * p[i];
  }
  for (int i = 0; i < sum->count; i++) {
    sum->soft[i] |= soft->mix[i] != 0;
    sum->force[i] += soft->mix[i] * force;
    sum->impulse[i] += soft->mix[i] * impulse;
  }
}

// Returns true if the rows are the equations themselves, imposed on the final speeds.
static bool joint_is_plain(const S2JointUndo *undo) {
  const S2Blend *blend = &undo->blend;
  return blend->reflect == 0 && blend->ahead == 0 && blend->project == 0 &&
         s2_joint_is_rigid(undo->joint);
}

static bool joint_is_driven(const S2JointUndo *undo, int32_t slot) {
  return slot != S2_NONE && undo->step->world->bodies.at[slot].type == S2_KINEMATIC;
}

// Returns true if only the values and the sides of a hinge's plain equations have adjoints. Both
// rows are then handled as the offsets of a pin.
static bool joint_is_pin(const S2JointUndo *undo) {
  const S2Joint *joint = undo->joint;
  return joint->type == S2_HINGE && undo->rows->reaction == NULL &&
         (s2_solve_traits(undo->kind).displacements ||
          (s2_joint_returned(&undo->step->world->kept.def, joint) == 0 &&
           !joint_is_driven(undo, joint->a) && !joint_is_driven(undo, joint->b)));
}

static void joint_pin_vjp(S2JointUndo *undo, int row) {
  const S2RowsAdjoint *rows = undo->rows;
  S2PinBar bar;
  bool sees_a = s2_joint_node(undo, 0) != S2_GROUND, sees_b = s2_joint_node(undo, 3) != S2_GROUND;
  for (int k = 0; k < 2; k++, row++) {
    bar.value[k] = s2_solve_traits(undo->kind).displacements ? rows->bias[row] : 0;
    for (int c = 0; c < 3; c++) {
      bar.ja[k][c] = sees_a ? rows->ja[3 * row + c] : 0;
      bar.jb[k][c] = sees_b ? rows->jb[3 * row + c] : 0;
    }
  }
  s2_joint_pin_vjp(&undo->at, &bar, &undo->place);
}

static void joint_plain_equations_vjp(S2JointUndo *undo, Cursor *cursor) {
  S2JointRow rows[S2_JOINT_EQUATIONS];
  int count = s2_joint_rows(&undo->at, rows);
  for (int k = 0; k < count; k++) {
    S2RowBar bar;
    memset(&bar, 0, offsetof(S2RowBar, hessian)); // the other fields are unused without a bend
    joint_sides_vjp(undo, &rows[k], 1, cursor->row, &bar);
    joint_rigid_vjp(undo, &rows[k], undo->rows->bias[cursor->row], &bar);
    s2_joint_function_vjp(&undo->at, k, &bar, &undo->place);
    cursor->row += 1;
  }
}

// The rows of the problem, as add_equations makes them.
static int joint_soften(const S2JointUndo *undo, S2JointRow *rows, S2JointHessian *hessians,
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
    s2_joint_bend_rows(&undo->at, undo->step->v0, rows, count);
  }
  s2_joint_soften(joint, rows, count, *blend, soft);
  return count;
}

// The row of a gear that moves more than two bodies (wide_rows.c). Copies, and the rows that couple
// them, only stand for the bodies. So each part of the row is differentiated with the impulse of
// the row and the velocity of its body.
static void joint_wide_gear_vjp(S2JointUndo *undo, Cursor *cursor) {
  const S2Step *step = undo->step;
  const S2Joint *gear = undo->joint;
  const S2RowsAdjoint *of = undo->rows;
  S2JointRow row[S2_JOINT_EQUATIONS];
  S2JointHessian hessian[S2_JOINT_EQUATIONS] = {{{{0}}}};
  S2SoftRow soft[S2_JOINT_EQUATIONS];
  // The rows of the gear's copies come first; its own row is the last.
  S2WideMovers movers = s2_wide_movers(step, gear);
  int count = s2_wide_row_count(&movers), r = cursor->row + count - 1;
  cursor->row += count;
  if (count == 0) {
    return;
  }
  // The bias depends on value and speed.
  joint_soften(undo, row, hessian, soft);
  S2RowBar bar = {0};
  joint_rigid_vjp(undo, &soft[0].row, of->bias[r], &bar);
  // For each of up to four angles, the adjoint of its factor. For ground, also that of its speed.
  const int32_t slots[4] = {gear->a, gear->b, gear->more[0], gear->more[1]};
  const double factors[4] = {row[0].ja[0], row[0].jb[0], row[0].more[0][0], row[0].more[1][0]};
  double *const factor_bar[4] = {&bar.ja[0], &bar.jb[0], &bar.more[0][0], &bar.more[1][0]};
  for (int i = 0; i < 4; i++) {
    int at = 3 * slots[i], node = slots[i] == S2_NONE ? S2_GROUND : step->node_of[slots[i]];
    if (node != S2_GROUND) {
      *factor_bar[i] += of->bias[r] * of->v[3 * node] + of->lambda[r] * of->rhs[3 * node];
    } else if (slots[i] != S2_NONE && !s2_solve_traits(undo->kind).displacements) {
      *factor_bar[i] += of->bias[r] * step->free_v[at];
      undo->bar->free_v[at] += of->bias[r] * factors[i];
    }
    if (i >= 2 && slots[i] != S2_NONE) { // joint_speed_vjp handles the others
      *factor_bar[i] += bar.speed * step->v0[at];
      undo->bar->v0[at] += bar.speed * factors[i];
    }
  }
  joint_speed_vjp(undo, 0, &row[0], &hessian[0], &bar);
  s2_joint_function_vjp(&undo->at, 0, &bar, &undo->place);
}

static void joint_equations_vjp(S2JointUndo *undo, Cursor *cursor) {
  S2JointRow rows[S2_JOINT_EQUATIONS];
  S2JointHessian hessians[S2_JOINT_EQUATIONS] = {{{{0}}}};
  S2SoftRow soft[S2_JOINT_EQUATIONS];
  S2RowBar bars[S2_JOINT_EQUATIONS] = {{0}};
  if (s2_solve_traits(undo->kind).displacements &&
      (undo->joint->velocity_only || !s2_joint_projected(undo->joint))) {
    return;
  }
  if (undo->joint->type == S2_GEAR && undo->joint->more[0] != S2_NONE) {
    joint_wide_gear_vjp(undo, cursor);
    return;
  }
  int last = undo->assembly->parts;
  while (s2_joint_is_wide(undo->joint) && cursor->row < last && // its copies
         undo->assembly->part[cursor->row].joint == undo->slot &&
         undo->assembly->part[cursor->row].row == S2_NONE) {
    cursor->row += 1;
  }
  // Plain rigid rows need no blending.
  if (joint_is_plain(undo)) {
    if (joint_is_pin(undo)) {
      joint_pin_vjp(undo, cursor->row);
      cursor->row += 2;
    } else {
      joint_plain_equations_vjp(undo, cursor);
    }
    return;
  }
  // These rows are compliant, or rigid and dependent on the start of the step.
  int count = joint_soften(undo, rows, hessians, soft);
  S2SoftSum sum = {.count = count};
  double p[S2_JOINT_COLUMNS], v[S2_JOINT_COLUMNS];
  s2_joint_momenta_bar(undo, p);
  s2_joint_velocities(undo, v);
  bool any = false;
  for (int k = 0; k < count; k++) {
    if (!soft[k].rigid && !s2_solve_traits(undo->kind).takes_time) {
      continue;
    }
    // A row that was eliminated only contributes its given impulse.
    S2RowBar own = {0};
    bool has_row = isfinite(soft[k].compliance);
    int row = has_row ? cursor->row++ : -1;
    int part = has_row ? row : soft[k].given != 0 ? cursor->given++ : -1;
    if (has_row) {
      joint_sides_vjp(undo, &soft[k].row, 1, row, &own);
    }
    // First the adjoint of the combined row, then of the equations that it combines.
    if (soft[k].rigid) {
      joint_rigid_vjp(undo, &soft[k].row, undo->rows->bias[row], &own);
    } else {
      joint_soft_row_vjp(undo, &soft[k], row, part, p, &sum, &own);
      any = true;
    }
    joint_spread(&own, &soft[k], count, bars);
  }
  for (int i = 0; i < count; i++) {
    // Compliant rows are differentiated in the original equations (compliance_vjp.c).
    sum.speed[i] = joint_times(undo, &rows[i], v) + rows[i].rate;
  }
  if (any) {
    s2_joint_soften_vjp(undo, rows, &sum, bars);
  }
  for (int i = 0; i < count; i++) {
    // The last equations are the functions themselves, with their speeds and bends.
    joint_speed_vjp(undo, i, &rows[i], &hessians[i], &bars[i]);
    s2_joint_function_vjp(&undo->at, i, &bars[i], &undo->place);
  }
}

// ---- Limits and actuators ----------------------------------------------------------------------

static void joint_equal_limits_vjp(S2JointUndo *undo, int r) {
  S2JointRow row;
  S2JointHessian hessian;
  S2RowBar bar = {0};
  s2_joint_kind(undo->joint->type)->coordinate(&undo->at, &row, &hessian);
  row.value -= undo->joint->limit_lo;
  s2_joint_speeds(undo->joint, undo->step->v0, &row, 1);
  s2_joint_bends(undo->joint, undo->step->v0, &hessian, &row, 1);
  joint_sides_vjp(undo, &row, 1, r, &bar);
  joint_rigid_vjp(undo, &row, undo->rows->bias[r], &bar);
  undo->gradient->limit_lo -= bar.value;
  joint_speed_vjp(undo, 0, &row, &hessian, &bar);
  s2_joint_function_vjp(&undo->at, S2_OF_COORDINATE, &bar, &undo->place);
}

// Returns the fraction of the gap that a motion closes. It is 1 for limits that are open or closed.
static double joint_distance_part(const S2JointUndo *undo, const S2JointRow *row, double distance) {
  double slop = S2_PROJECTION_TOLERANCE * (s2_joint_row_angular(row) ? 1 : undo->length);
  return distance >= -slop ? 1 : s2_joint_returned(&undo->step->world->kept.def, undo->joint);
}

// Returns true if the joint began the step at a limit that it had not reached in an earlier step.
// It is there because of the initial data, so a change of the data may move it to either side.
// Beyond the limit, it is projected back. Before the limit, it may still move closer.
static bool joint_just_met(const S2JointUndo *undo, const S2JointRow *row, double distance,
                           int index) {
  const S2Step *step = undo->step;
  bool first = step->t == step->world->kept.time; // first part of a bisected step
  double before =
      first ? undo->joint->impulse[index] : step->joint_impulse[S2_JOINT_ROWS * undo->slot + index];
  double slop = S2_TOUCH_SLOP * (s2_joint_row_angular(row) ? 1 : undo->length);
  return fabs(distance) <= slop && before == 0;
}

// `target` is the adjoint of s2_limit_target: e times the speed of arrival w. For the speeds u and
// f before and after the forces, and the initial distance d, w^2 = u^2 - 2 (f - u) d/h.
static void joint_rebound_vjp(S2JointUndo *undo, int index, double target) {
  const S2Step *step = undo->step;
  S2LimitArrival from = s2_limit_arrival(step, undo->island, undo->slot, index);
  if (target == 0 || !from.rebounds) {
    return;
  }
  // For all values of the data, the impact is at the end of the step.
  undo->bar->gradient->flags |= S2_GRADIENT_PARTIAL;
  double w = from.arrival, h = step->h, w_bar = target * undo->joint->restitution / w;
  double change = from.free_speed - from.speed, distance = fmax(from.distance, 0);
  double free_bar = -w_bar * distance / h, speed_bar = w_bar * from.speed - free_bar;
  double distance_bar = from.distance > 0 ? -w_bar * change / h : 0;
  undo->gradient->restitution += target * w;
  undo->bar->h += w_bar * change * distance / (h * h);
  // The distance and the speeds belong to the coordinate at q0, times `sign`.
  S2RowBar bar = {.value = from.sign * distance_bar, .rate = from.sign * (speed_bar + free_bar)};
  for (int i = 0; i < 6; i++) {
    double *v0 = s2_joint_number(undo->joint, step->v0, i);
    if (v0 != NULL) {
      double j = from.sign * joint_j_of(&from.row, i);
      *joint_side_of(&bar, i) +=
          from.sign * (speed_bar * *v0 + free_bar * *s2_joint_number(undo->joint, step->free_v, i));
      *s2_joint_number(undo->joint, undo->bar->v0, i) += speed_bar * j;
      *s2_joint_number(undo->joint, undo->bar->free_v, i) += free_bar * j;
    }
  }
  *(index == S2_JOINT_HI ? &undo->gradient->limit_hi : &undo->gradient->limit_lo) -= bar.value;
  S2JointAt at = undo->at;
  at.q = step->q0;
  at.elapsed = step->t - step->world->kept.time;
  at.turn = NULL;
  S2PlaceBar place = undo->place;
  place.q = undo->bar->q0;
  place.elapsed = &undo->bar->elapsed;
  s2_joint_function_vjp(&at, S2_OF_COORDINATE, &bar, &place);
}

static void joint_limit_vjp(S2JointUndo *undo, int r, bool upper) {
  const S2Joint *joint = undo->joint;
  S2JointRow row;
  S2RowBar bar = {0};
  s2_joint_kind(joint->type)->coordinate(&undo->at, &row, NULL);
  // A projection uses the distance itself, and a motion uses the fraction closed within h.
  double sign = upper ? -1 : 1, bias = undo->rows->bias[r];
  double distance = upper ? joint->limit_hi - row.value : row.value - joint->limit_lo;
  double distance_bar = s2_solve_traits(undo->kind).displacements ? bias : 0, h = undo->step->h;
  bool bisect = undo->step->world->kept.def.stepping == S2_BISECT;
  if (undo->kind == S2_SOLVE_MOTION || (undo->kind == S2_SOLVE_FORCES && bisect)) {
    double part = joint_distance_part(undo, &row, distance);
    distance_bar = bias * part / h;
    undo->bar->h -= bias * part * distance / (h * h);
    // The limit may be active for some directions of the change only.
    bool edge =
        bias != 0 && joint_just_met(undo, &row, distance, upper ? S2_JOINT_HI : S2_JOINT_LO);
    undo->bar->gradient->flags |= edge ? S2_GRADIENT_WEAK : 0;
  }
  if (undo->kind == S2_SOLVE_REBOUND) {
    joint_rebound_vjp(undo, upper ? S2_JOINT_HI : S2_JOINT_LO, -bias);
  }
  // Adjoints of the coordinate and of the limit.
  joint_sides_vjp(undo, &row, sign, r, &bar);
  bar.value = sign * distance_bar;
  bar.rate = s2_solve_traits(undo->kind).displacements ? 0 : sign * bias;
  *(upper ? &undo->gradient->limit_hi : &undo->gradient->limit_lo) -= sign * distance_bar;
  s2_joint_function_vjp(&undo->at, S2_OF_COORDINATE, &bar, &undo->place);
}

// A row with |lambda| <= most h.
static void joint_bound_vjp(S2JointUndo *undo, int r, double most, double *most_bar) {
  double bar = undo->rows->hi[r] - undo->rows->lo[r];
  *most_bar += bar * undo->step->h;
  undo->bar->h += bar * most;
}

static void joint_drive_vjp(S2JointUndo *undo, int r, int index) {
  const S2Joint *joint = undo->joint;
  S2JointRow row;
  S2RowBar bar = {0};
  s2_joint_kind(joint->type)->drive(&undo->at, &row, NULL);
  joint_sides_vjp(undo, &row, 1, r, &bar);
  if (index == S2_JOINT_DRY) {
    joint_bound_vjp(undo, r, joint->friction, &undo->gradient->friction);
  } else {
    undo->gradient->motor_speed -= undo->rows->bias[r];
    if (isfinite(joint->motor_max)) {
      joint_bound_vjp(undo, r, joint->motor_max, &undo->gradient->motor_max);
    }
  }
  s2_joint_function_vjp(&undo->at, S2_OF_DRIVE, &bar, &undo->place);
}

// Row r belongs to the servo. It is S2_NONE for gains of 0, because the servo then has no row.
static void joint_servo_vjp(S2JointUndo *undo, int r) {
  const S2Joint *joint = undo->joint;
  S2JointGradient *g = undo->gradient, own = {0};
  S2WorldGradient *world = undo->bar->gradient;
  S2JointUndo spring = *undo;
  S2RowBar bar = {0};
  S2Servo servo;
  s2_servo_row(&undo->at, undo->step->h, undo->step->v0, undo->kind == S2_SOLVE_MOTION, &servo);
  double v[S2_JOINT_COLUMNS], p[S2_JOINT_COLUMNS], alpha = world->alpha, beta = world->beta;
  s2_joint_velocities(undo, v);
  S2SoftSum sum = {.count = 1, .soft = {true}};
  sum.speed[0] = joint_times(undo, &servo.row, v) + servo.row.rate;
  if (r != S2_NONE) {
    joint_unfelt_sides_vjp(undo, &servo.soft[0].row, 1, r, &bar);
    bar.rate = undo->rows->bias[r];
    sum.impulse[0] = undo->rows->lambda[r];
    sum.force[0] = undo->step->h * servo.soft[0].compliance * undo->rows->bias[r];
  } else {
    s2_joint_momenta_bar(undo, p);
    sum.force[0] = -undo->step->h * joint_times(undo, &servo.row, p);
  }
  // The servo's gains act like a spring with the alpha and beta of implicit Euler.
  spring.joint = &servo.spring;
  spring.gradient = &own;
  spring.blend = servo.blend;
  s2_joint_soften_vjp(&spring, &servo.row, &sum, &bar);
  world->alpha = alpha;
  world->beta = beta;
  g->servo_kp += own.stiffness;
  g->servo_kd += own.damping.linear;
  g->servo_goal -= bar.value;
  if (r != S2_NONE && isfinite(joint->servo_max)) {
    joint_bound_vjp(undo, r, joint->servo_max, &g->servo_max);
  }
  joint_speed_vjp(undo, 0, &servo.row, &servo.hessian, &bar);
  s2_joint_function_vjp(&undo->at, S2_OF_DRIVE, &bar, &undo->place);
}

// A bounded lock. Its row demands the speed of the goal and a return to the goal.
static void joint_bounded_lock_vjp(S2JointUndo *undo, int r, int index) {
  S2BoundedRow rows[S2_JOINT_EQUATIONS];
  int count = s2_lock_bounded_rows(&undo->at, rows), k = 0;
  while (k + 1 < count && rows[k].index != index) {
    k += 1;
  }
  const S2BoundedRow *of = &rows[k];
  double bias = undo->rows->bias[r], push = of->most / of->mass;
  S2LockReturn back = s2_lock_return(of->row.value, push, undo->step->h);
  // The row demands the goal's speed and s2_lock_return, a function of value, push and h.
  S2RowBar bar = {0};
  joint_sides_vjp(undo, &of->row, 1, r, &bar);
  bar.rate = bias;
  bar.value = bias * back.by_off;
  undo->bar->h += bias * back.by_h;
  // push = bound / mass, and the row has the same bound.
  S2JointGradient *g = undo->gradient;
  double *most_bar = of->component == 0 ? &g->max_torque : &g->max_force;
  S2BodyGradient *body = &undo->bar->gradient->body[undo->joint->a];
  *most_bar += bias * back.by_push / of->mass;
  *(of->component == 0 ? &body->inertia : &body->mass) -= bias * back.by_push * push / of->mass;
  joint_bound_vjp(undo, r, of->most, most_bar);
  s2_joint_function_vjp(&undo->at, index, &bar, &undo->place);
}

// Rows are aligned with the momentum. If the momentum rotates, the rows still describe the friction
// disc to first order. So only the bounds of the rows have derivatives.
static void joint_ground_friction_vjp(S2JointUndo *undo, int r, int index) {
  if (index == 0) {
    joint_bound_vjp(undo, r, undo->joint->max_torque, &undo->gradient->max_torque);
  } else {
    joint_bound_vjp(undo, r, undo->joint->max_force, &undo->gradient->max_force);
  }
}

// ---- The joints of an island ------------------------------------------------------------------

// Data that all joints of the island share.
// NOLINTBEGIN(readability-non-const-parameter): `elapsed` is changed through undo.place
static S2JointUndo joint_begin(const S2Step *step, const S2Island *island, S2SolveKind kind,
                               const S2RowsAdjoint *rows, S2StepAdjoint *adjoint, double *elapsed) {
  // NOLINTEND(readability-non-const-parameter)
  bool end = s2_solve_traits(kind).at_end;
  double *q = end ? step->q1 : step->q0;
  S2JointUndo undo = {
      .step = step,
      .island = island,
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
  undo.place = (S2PlaceBar){
      .q = end ? adjoint->q1 : adjoint->q0, .elapsed = elapsed, .gradient = adjoint->gradient};
  return undo;
}

static void take_joint(S2JointUndo *undo, int32_t slot) {
  undo->slot = slot;
  undo->joint = undo->at.joint = &undo->step->world->joints.at[slot];
  undo->gradient = &undo->bar->gradient->joint[slot];
  undo->blend = s2_step_blend(undo->step, slot, undo->kind, &undo->world_blend);
}

static bool joint_is_bilateral(const S2Assembly *assembly, int r, int32_t slot) {
  return r < assembly->parts && assembly->part[r].joint == slot &&
         assembly->problem.row[r].lo == -INFINITY;
}

// Equations, geometric stiffness, coinciding limits and motors without a bound, in this order.
static void joint_bilateral_vjp(S2JointUndo *undo, const S2Assembly *assembly, Cursor *cursor) {
  joint_equations_vjp(undo, cursor);
  s2_joint_geometric_vjp(undo);
  while (joint_is_bilateral(assembly, cursor->row, undo->slot)) {
    int index = assembly->part[cursor->row].row;
    if (index == S2_JOINT_LO) {
      joint_equal_limits_vjp(undo, cursor->row);
    } else if (index == S2_JOINT_SERVO) {
      joint_servo_vjp(undo, cursor->row);
    } else if (index != S2_NONE) {
      joint_drive_vjp(undo, cursor->row, index);
    } // other rows are geometric stiffness
    cursor->row += 1;
  }
  bool idle = undo->joint->servo_kp == 0 && undo->joint->servo_kd == 0;
  if (idle && s2_servo_acts(undo->joint, undo->step->h) && s2_solve_traits(undo->kind).takes_time) {
    joint_servo_vjp(undo, S2_NONE);
  }
  int last = assembly->parts + assembly->parts_given;
  while (cursor->given < last && assembly->part[cursor->given].joint == undo->slot) {
    cursor->given += 1;
  }
}

// A compliant unilateral constraint. It is imposed at the end of the step for all alpha and beta.
static void joint_soft_stop_vjp(S2JointUndo *undo, int r) {
  S2WorldGradient *g = undo->bar->gradient;
  double alpha = g->alpha, beta = g->beta;
  S2JointRow row;
  S2RowBar bar = {0};
  S2SoftRow soft[S2_JOINT_EQUATIONS];
  // Alpha and beta are 1 here, not the world's values, so their adjoints are removed again.
  S2Blend blend = undo->blend;
  undo->blend = (S2Blend){.h = undo->step->h, .alpha = 1, .beta = 1};
  s2_joint_kind(undo->joint->type)->coordinate(&undo->at, &row, NULL);
  s2_joint_soften(undo->joint, &row, 1, undo->blend, soft);
  joint_sides_vjp(undo, &row, 1, r, &bar);
  // The coordinate has one compliant row.
  double v[S2_JOINT_COLUMNS], force = undo->step->h * soft[0].compliance * undo->rows->bias[r];
  s2_joint_velocities(undo, v);
  S2SoftSum sum = {.count = 1, .soft = {true}, .impulse = {undo->rows->lambda[r]}};
  sum.force[0] = force;
  sum.speed[0] = joint_times(undo, &row, v) + row.rate;
  bar.rate = undo->rows->bias[r];
  s2_joint_soften_vjp(undo, &row, &sum, &bar);
  s2_joint_function_vjp(&undo->at, S2_OF_COORDINATE, &bar, &undo->place);
  undo->blend = blend;
  g->alpha = alpha;
  g->beta = beta;
}

// The row of a constraint that has bounds, or that is friction of another constraint.
static void joint_bounded_vjp(S2JointUndo *undo, int r) {
  const S2Joint *joint = undo->joint;
  S2JointGradient *g = undo->gradient;
  S2JointRow row;
  S2RowBar bar = {.rate = undo->rows->bias[r]};
  s2_joint_kind(joint->type)->coordinate(&undo->at, &row, NULL);
  joint_sides_vjp(undo, &row, 1, r, &bar);
  if (joint->bounded) {
    double lo = undo->rows->lo[r], hi = undo->rows->hi[r], h = undo->step->h;
    g->bound_lo += lo * h;
    g->bound_hi += hi * h;
    undo->bar->h += lo * joint->bound_lo + hi * joint->bound_hi;
  } else {
    g->friction += undo->rows->mu[r];
  }
  s2_joint_function_vjp(&undo->at, S2_OF_COORDINATE, &bar, &undo->place);
}

static void joint_one_sided_vjp(S2JointUndo *undo, int r, int index) {
  if (undo->joint->type == S2_CONSTRAINT && index == S2_JOINT_DRY) {
    joint_bounded_vjp(undo, r);
  } else if (undo->joint->type == S2_CONSTRAINT && s2_joint_soft_stop(undo->joint)) {
    joint_soft_stop_vjp(undo, r);
  } else if (index == S2_JOINT_SERVO && undo->joint->has_servo) {
    joint_servo_vjp(undo, r);
  } else if (undo->joint->type == S2_GROUND_FRICTION) {
    joint_ground_friction_vjp(undo, r, index);
  } else if (undo->joint->type == S2_LOCK) {
    joint_bounded_lock_vjp(undo, r, index);
  } else if (index == S2_JOINT_LO || index == S2_JOINT_HI) {
    joint_limit_vjp(undo, r, index == S2_JOINT_HI);
  } else {
    joint_drive_vjp(undo, r, index);
  }
}

void s2_joint_rows_vjp(const S2Step *step, const S2Island *island, S2SolveKind kind,
                       const S2Assembly *assembly, const S2RowsAdjoint *rows,
                       S2StepAdjoint *adjoint) {
  double elapsed = 0;
  S2ArenaMark mark = s2_arena_mark(step->arena);
  S2JointUndo undo = joint_begin(step, island, kind, rows, adjoint, &elapsed);
  undo.still = rows->still;
  undo.assembly = assembly;
  Cursor cursor = {0, assembly->parts};
  while (cursor.row < assembly->parts && assembly->part[cursor.row].joint == S2_NONE) {
    cursor.row += 1; // rows of contact viscosity
  }
  for (int i = 0; i < island->joints; i++) {
    take_joint(&undo, island->joint[i]);
    joint_bilateral_vjp(&undo, assembly, &cursor);
    s2_joint_zero_vjp(&undo, assembly);
  }
  for (int r = cursor.row; r < assembly->parts; r++) {
    take_joint(&undo, assembly->part[r].joint);
    joint_one_sided_vjp(&undo, r, assembly->part[r].row);
  }
  s2_arena_rewind(step->arena, mark);
  adjoint->elapsed += elapsed;
  adjoint->h += s2_solve_traits(kind).at_end ? elapsed : 0;
}
