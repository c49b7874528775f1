// Takes an island into flat arrays: its bodies, its joints and their rows, and the contact points
// of a piece.
#include "dynamics/rattle/rattle_numbers.h"
#include "dynamics/small/small.h"
#include "dynamics/step/islands.h"
#include "dynamics/step/laws.h"
#include "dynamics/step/touch.h"

// ---- The island --------------------------------------------------------------------------------

// Returns the seat of a body, or S2_NONE if there is no seat left or the body is kinematic.
static int small_seat_of(S2Small *small, int32_t slot) {
  const S2Step *step = small->step;
  int32_t node = slot == S2_NONE ? S2_GROUND : step->node_of[slot];
  if (node != S2_GROUND) {
    return node;
  }
  if (slot != S2_NONE && step->world->bodies.at[slot].type == S2_KINEMATIC) {
    return S2_NONE;
  }
  for (int i = small->nodes; i < small->seats; i++) {
    if (small->slot[i] == slot) {
      return i;
    }
  }
  if (small->seats == S2_SMALL_SEATS) {
    return S2_NONE;
  }
  int seat = small->seats++;
  small->slot[seat] = slot;
  for (int c = 0; c < 3; c++) {
    small->q0[seat][c] = small->q1[seat][c] = slot == S2_NONE ? 0 : step->q0[3 * slot + c];
  }
  return seat;
}

// Returns false if rows cannot measure the function of joints/measure.c. NULL is a function that is
// not used.
static bool small_find_function(const S2Joint *joint, S2Measure *of, S2SmallFunction *to) {
  bool from_length = of == s2_measure_shift || of == s2_measure_twist || of == s2_measure_stretch;
  *to = (S2SmallFunction){.axis = joint->axis, .offset = from_length ? -joint->length : 0};
  if (of == NULL || of == s2_measure_angle || of == s2_measure_twist) {
    to->measure = S2_SMALL_ANGLE;
    return true;
  }
  if (of == s2_measure_length || of == s2_measure_stretch) {
    to->measure = S2_SMALL_LENGTH;
    return true;
  }
  to->measure = S2_SMALL_ALONG;
  if (of == s2_measure_x || of == s2_measure_y) {
    to->axis = of == s2_measure_x ? s2_vec2(1, 0) : s2_vec2(0, 1);
    return true;
  }
  to->axis = of == s2_measure_across ? s2_left(joint->axis) : joint->axis;
  return of == s2_measure_across || of == s2_measure_translation || of == s2_measure_shift;
}

static S2SmallRow *small_append_row(S2Small *small, int place, int index, S2RattleLaw law,
                                    S2RattleSource source, const S2SmallFunction *of) {
  S2SmallJoint *joint = &small->joint[place];
  int r = small->joint_rows++;
  joint->row[index] = joint->list[joint->rows++] = r;
  small->drives |=
      source != S2_RATTLE_OF_ROWS || (joint->type != S2_HINGE && joint->type != S2_SLIDER);
  small->row[r] = (S2SmallRow){.place = place,
                               .index = index,
                               .law = law,
                               .source = source,
                               .measure = of->measure,
                               .axis = of->axis,
                               .a = joint->a,
                               .b = joint->b,
                               .sign = 1,
                               .offset = of->offset,
                               .most = INFINITY};
  return &small->row[r];
}

// Finds the functions that a joint measures. Returns false if its rows do not fit into the arrays.
// Matrices of compliance combine the equations, which these rows do not.
static bool small_take_functions(const S2Joint *joint, S2SmallJoint *to) {
  const S2JointKind *kind = s2_joint_kind(joint->type);
  bool limited = joint->limit_lo < joint->limit_hi &&
                 (joint->limit_lo > -INFINITY || joint->limit_hi < INFINITY);
  bool takes = kind->rows == NULL && (kind->parts & S2_HAS_OTHERS) == 0 &&
               joint->compliance.size == 0 && joint->damping.size == 0 && !joint->driven &&
               !(limited && joint->restitution > 0);
  to->equations = takes ? s2_joint_row_count(&(S2JointAt){.joint = joint}) : 0;
  for (int k = 0; k < to->equations && takes; k++) {
    takes = small_find_function(joint, kind->equation[k], &to->equation[k]);
  }
  return takes && small_find_function(joint, kind->coordinate, &to->coordinate) &&
         small_find_function(joint, kind->drive, &to->drive);
}

static bool small_is_limited(const S2Joint *joint) {
  return s2_joint_kind(joint->type)->coordinate != NULL &&
         (joint->limit_lo > -INFINITY || joint->limit_hi < INFINITY);
}

// Makes a row soft. It uses the trapezoidal rule if the step resolves its oscillation.
static void small_make_soft(const S2Small *small, S2SmallRow *row, double stiffness,
                            double damping) {
  const S2World *world = small->step->world;
  const S2Joint *joint = &world->joints.at[small->joint[row->place].slot];
  double h = small->step->dt, e = h / 2 * stiffness + damping;
  double w = s2_rattle_mobility(world, joint, row->measure == S2_SMALL_ANGLE);
  row->soft = row->changes = true;
  row->trapezoid = w * h * e <= 2;
  row->stiffness = stiffness;
  row->damping = damping;
}

// Appends the equations of a joint. Compliance and springs make equations soft.
static void small_append_equations(S2Small *small, int place, const S2Joint *joint) {
  const S2SmallJoint *of = &small->joint[place];
  for (int k = 0; k < of->equations; k++) {
    bool angular = of->equation[k].measure == S2_SMALL_ANGLE;
    double give = angular ? joint->compliance.angular : joint->compliance.linear;
    double damping = angular ? joint->damping.angular : joint->damping.linear;
    double stiffness = give > 0 ? 1 / give : 0;
    bool soft = give > 0;
    if (joint->has_spring) { // the other rows are rigid
      soft = s2_joint_sprung(joint, k);
      stiffness = joint->stiffness;
      damping = joint->damping.linear;
    }
    if (soft && !(stiffness > 0 || damping > 0)) {
      continue;
    }
    S2SmallRow *row =
        small_append_row(small, place, k, S2_RATTLE_EQUATION, S2_RATTLE_OF_ROWS, &of->equation[k]);
    if (soft) {
      small->drives = true;
      small_make_soft(small, row, stiffness, damping);
    }
  }
}

// Appends the motor, the dry friction and the servo of a joint if they obey the law.
static void small_append_drive(S2Small *small, int place, const S2Joint *joint, S2RattleLaw law) {
  const S2SmallFunction *drive = &small->joint[place].drive;
  // A motor or servo without a bound is an equation.
  S2RattleLaw of_motor = isfinite(joint->motor_max) ? S2_RATTLE_BOUNDED : S2_RATTLE_EQUATION;
  if (joint->has_motor && joint->motor_max > 0 && law == of_motor) {
    S2SmallRow *row =
        small_append_row(small, place, S2_JOINT_MOTOR, law, S2_RATTLE_OF_DRIVE, drive);
    row->speed = joint->motor_speed;
    row->most = joint->motor_max;
    row->changes = true;
  }
  if (joint->friction > 0 && law == S2_RATTLE_BOUNDED) {
    S2SmallRow *row = small_append_row(small, place, S2_JOINT_DRY, law, S2_RATTLE_OF_DRIVE, drive);
    row->most = joint->friction;
    row->changes = true;
  }
  S2RattleLaw of_servo = isfinite(joint->servo_max) ? S2_RATTLE_BOUNDED : S2_RATTLE_EQUATION;
  bool serves =
      s2_servo_acts(joint, small->step->dt) && (joint->servo_kp > 0 || joint->servo_kd > 0);
  if (serves && law == of_servo) {
    S2SmallRow *row =
        small_append_row(small, place, S2_JOINT_SERVO, law, S2_RATTLE_OF_DRIVE, drive);
    small_make_soft(small, row, joint->servo_kp, joint->servo_kd);
    row->offset = -joint->servo_goal;
    row->most = joint->servo_max;
    row->effort = true;
  }
}

// Appends the limits of a joint if they obey the law. Limits at the same value are an equation.
static void small_append_limits(S2Small *small, int place, const S2Joint *joint, S2RattleLaw law) {
  const S2SmallFunction *coordinate = &small->joint[place].coordinate;
  bool equal = joint->limit_lo == joint->limit_hi;
  if (!small_is_limited(joint) || law != (equal ? S2_RATTLE_EQUATION : S2_RATTLE_LIMIT)) {
    return;
  }
  if (joint->limit_lo > -INFINITY) {
    small_append_row(small, place, S2_JOINT_LO, law, S2_RATTLE_OF_COORDINATE, coordinate)->offset =
        -joint->limit_lo;
  }
  if (joint->limit_hi < INFINITY && !equal) {
    S2SmallRow *row =
        small_append_row(small, place, S2_JOINT_HI, law, S2_RATTLE_OF_COORDINATE, coordinate);
    row->sign = -1;
    row->axis = s2_neg(row->axis);
    row->offset = joint->limit_hi;
  }
}

// Appends the rows of one kind of all joints. The kinds and their order are those of
// s2_rattle_make_terms: equations, bounded rows, limits.
static void small_append_rows(S2Small *small, S2RattleLaw law) {
  for (int i = 0; i < small->joints; i++) {
    const S2Joint *joint = &small->step->world->joints.at[small->joint[i].slot];
    if (law == S2_RATTLE_EQUATION) {
      small_append_equations(small, i, joint);
    }
    small_append_drive(small, i, joint, law);
    small_append_limits(small, i, joint, law);
  }
}

static bool small_take_joints(S2Small *small) {
  const S2Step *step = small->step;
  const S2Island *island = small->island;
  small->joints = island->joints;
  for (int i = 0; i < island->joints; i++) {
    const S2Joint *from = &step->world->joints.at[island->joint[i]];
    S2SmallJoint *to = &small->joint[i];
    *to = (S2SmallJoint){.slot = island->joint[i],
                         .type = from->type,
                         .a = small_seat_of(small, from->a),
                         .b = small_seat_of(small, from->b),
                         .of_world = from->a == S2_NONE,
                         .rigid = s2_joint_is_rigid(from),
                         .local_a = from->local_a,
                         .local_b = from->local_b,
                         .axis = from->axis,
                         .angle = from->angle0};
    // The rows follow below, in the order of their kinds.
    for (int k = 0; k < S2_JOINT_ROWS; k++) {
      to->row[k] = S2_NONE;
    }
    if (to->a == S2_NONE || to->b == S2_NONE || !small_take_functions(from, to)) {
      return false;
    }
  }
  small_append_rows(small, S2_RATTLE_EQUATION);
  small_append_rows(small, S2_RATTLE_BOUNDED);
  small_append_rows(small, S2_RATTLE_LIMIT);
  return true;
}

static bool small_take_touches(S2Small *small) {
  const S2Island *island = small->island;
  bool takes = true;
  for (int i = 0; i < island->touches && takes; i++) {
    const S2Touch *touch = &small->step->touches[island->touch[i]];
    takes = !s2_touch_soft(touch) && touch->viscosity == 0 &&
            small_seat_of(small, touch->body_a) != S2_NONE &&
            small_seat_of(small, touch->body_b) != S2_NONE;
  }
  return takes;
}

void s2_world_set_flat(S2World *world, bool flat) {
  world->plain = !flat;
}

// Returns true if the rows of all joints fit, however many of its possible rows each of them has.
static bool small_rows_fit(const S2Step *step, const S2Island *island) {
  int rows = 0;
  for (int i = 0; i < island->joints; i++) {
    const S2Joint *joint = &step->world->joints.at[island->joint[i]];
    rows += S2_JOINT_EQUATIONS + joint->has_motor + (joint->friction > 0) + joint->has_servo +
            (joint->limit_lo > -INFINITY) + (joint->limit_hi < INFINITY);
  }
  return rows <= S2_SMALL_JOINT_ROWS;
}

S2Small *s2_small_take(S2Step *step, const S2Island *island) {
  if (step->world->plain || island->nodes > S2_SMALL_NODES || island->joints > S2_SMALL_JOINTS) {
    return NULL;
  }
  // Force laws depend on the velocities in both stages.
  if (s2_island_lawful(step, island) || !small_rows_fit(step, island)) {
    return NULL;
  }
  S2Small *small = S2_TAKE(step->arena, S2Small, 1);
  small->step = step;
  small->problem = s2_small_new_problem(step->arena);
  small->island = island;
  small->nodes = small->seats = island->nodes;
  small->joint_rows = small->rows = small->points = 0;
  small->drives = false;
  small->length = island->length;
  double asked = step->world->kept.def.tolerance;
  small->tolerance = fmin(fmax(asked, S2_RATTLE_FINEST), S2_RATTLE_SOLVED);
  for (int i = 0; i < island->nodes; i++) {
    const S2Body *body = &step->world->bodies.at[island->node[i]];
    small->slot[i] = island->node[i];
    for (int c = 0; c < 3; c++) {
      double inertial = c == 0 ? body->inertia : body->mass;
      small->inertial[3 * i + c] = inertial;
      small->damping[3 * i + c] =
          inertial * (c == 0 ? body->angular_damping : body->linear_damping);
    }
  }
  return small_take_joints(small) && small_take_touches(small) ? small : NULL;
}

// ---- A piece -----------------------------------------------------------------------------------

static void small_append_point(S2Small *small, int touch, const S2Touch *from, int k) {
  const S2World *world = small->step->world;
  S2SmallPoint *point = &small->point[small->points++];
  *point = (S2SmallPoint){.touch = touch,
                          .of = k,
                          .a = small_seat_of(small, from->body_a),
                          .b = small_seat_of(small, from->body_b),
                          .row = small->rows++,
                          .rough = from->friction > 0,
                          .radius_a = world->pieces.at[from->shape_a].radius,
                          .radius_b = world->pieces.at[from->shape_b].radius,
                          .at0 = from->points[k].at,
                          .at1 = from->points[k].at,
                          .arm0 = from->points[k].arm_b,
                          .arm1 = from->points[k].arm_b};
  // The rows of the normal and of friction.
  S2SmallRow normal = {.place = touch,
                       .index = k,
                       .law = S2_RATTLE_LIMIT,
                       .source = S2_RATTLE_OF_GAP,
                       .a = point->a,
                       .b = point->b,
                       .sign = 1,
                       .most = INFINITY};
  small->row[point->row] = normal;
  if (point->rough) {
    S2SmallRow along = normal;
    along.law = S2_RATTLE_FRICTION;
    along.source = S2_RATTLE_OF_SLIP;
    along.mu = from->friction;
    along.speed = from->surface_speed;
    small->row[small->rows++] = along;
  }
}

// Takes the chosen points. Returns false if there are too many, or if one of them does not touch.
static bool small_take_points(S2Small *small, const S2Choice *choices) {
  const S2Island *island = small->island;
  double slop = S2_TOUCH_SLOP * island->length;
  for (int i = 0; i < island->touches; i++) {
    const S2Touch *touch = &small->step->touches[island->touch[i]];
    for (int k = 0; k < touch->count; k++) {
      if (!choices[2 * island->touch[i] + k].use) {
        continue;
      }
      if (small->points == S2_SMALL_POINTS || fabs(touch->points[k].at.gap) > slop) {
        return false;
      }
      small_append_point(small, i, touch, k);
    }
  }
  return true;
}

// Sets C and b of soft rows over the piece (compliance.c). Each stage applies half of the impulse.
static void small_soften(S2Small *small) {
  for (int r = 0; r < small->joint_rows; r++) {
    S2SmallRow *row = &small->row[r];
    if (row->soft) {
      double h = small->h, e = (row->trapezoid ? h / 2 : h) * row->stiffness + row->damping;
      row->compliance = 2 / (h * e);
      row->bias = row->stiffness * small->at0[r].value / e;
    }
  }
}

// Sets V and the accuracy of positions, as set_speed in rattle.c. Returns false if a joint is open.
static bool small_set_scales(S2Small *small) {
  double length = small->length, far = 0, off = 0;
  small->speed = s2_island_speed(small->step, small->island);
  for (int i = 0; i < small->nodes; i++) {
    far = fmax(far, fmax(fabs(small->q0[i][1]), fabs(small->q0[i][2])));
  }
  for (int r = 0; r < small->rows; r++) {
    const S2SmallRow *row = &small->row[r];
    const S2SmallSide *side = &small->at0[r];
    bool turns = s2_small_turns(side);
    double size = turns ? length : 1;
    double asked = fabs(row->bias - row->speed);
    if (asked != 0) {
      double w = 0;
      for (int c = 0; c < 3; c++) {
        w += row->a < small->nodes ? side->a[c] * side->a[c] / small->inertial[3 * row->a + c] : 0;
        w += row->b < small->nodes ? side->b[c] * side->b[c] / small->inertial[3 * row->b + c] : 0;
      }
      asked = w > 0 ? fmin(asked * w / (w + row->compliance), row->most * small->h * w) : 0;
      small->speed = fmax(small->speed, asked * size);
    }
    // The error of a position, which bodies may have if a script has placed them.
    if (!row->changes && row->law != S2_RATTLE_FRICTION) {
      double value = side->value * size;
      off = fmax(off, row->law == S2_RATTLE_LIMIT ? -value : fabs(value));
    }
    bool limit = row->law == S2_RATTLE_LIMIT && row->source == S2_RATTLE_OF_COORDINATE;
    small->late[r] = limit && side->value > S2_TOUCH_SLOP * (turns ? 1 : length);
  }
  small->rounding = S2_RATTLE_ROUNDED * (length + far);
  double way = S2_RATTLE_WAY * small->tolerance * small->speed * small->h;
  small->enough = fmax(fmin(S2_RATTLE_PLACE * length, way), small->rounding);
  return off <= fmax(S2_PROJECTION_TRIGGER * length, 100 * small->rounding);
}

bool s2_small_begin(S2Small *small, const double *q, const double *v, const S2Choice *choices,
                    double done, double h) {
  const S2Step *step = small->step;
  small->h = h;
  small->done = done;
  small->closes = S2_NONE;
  small->rows = small->joint_rows;
  small->points = 0;
  for (int i = 0; i < small->nodes; i++) {
    int at = 3 * small->slot[i];
    for (int c = 0; c < 3; c++) {
      small->q0[i][c] = q[at + c];
      small->v0[3 * i + c] = v[at + c];
      small->force[3 * i + c] = step->force[at + c];
    }
  }
  if (choices != NULL && !small_take_points(small, choices)) {
    return false;
  }
  return s2_small_set_out(small);
}

bool s2_small_set_length(S2Small *small, double h) {
  small->h = h;
  small_soften(small);
  return small_set_scales(small);
}

bool s2_small_set_out(S2Small *small) {
  s2_small_measure(small, small->q0, false);
  return s2_small_set_length(small, small->h);
}

void s2_small_guess(S2Small *small) {
  const S2Step *step = small->step;
  double half = small->h / step->dt / 2;
  for (int r = 0; r < small->joint_rows; r++) {
    const S2SmallRow *row = &small->row[r];
    int32_t slot = small->joint[row->place].slot;
    double kept = step->joint_impulse[S2_JOINT_ROWS * slot + row->index];
    double l = isfinite(kept) ? kept * half : 0, most = row->most * small->h / 2;
    small->l[r] = row->law == S2_RATTLE_LIMIT ? fmax(l, 0) : fmax(-most, fmin(most, l));
  }
  for (int i = 0; i < small->points; i++) {
    const S2SmallPoint *point = &small->point[i];
    const S2TouchPoint *from = &step->touches[small->island->touch[point->touch]].points[point->of];
    small->l[point->row] = fmax(from->normal_impulse, 0) * half;
    if (point->rough) {
      small->l[point->row + 1] = from->tangent_impulse * half;
    }
  }
}
