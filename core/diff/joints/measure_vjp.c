// Backwards through dynamics/joints/measure.c and what the joint types make of it.
#include "diff/joints/measure_vjp.h"

#include "diff/step/retold.h"

#include <string.h>

typedef struct Sides { // as in measure.c
  S2Rot turn_a, turn_b;
  S2Vec2 ra, rb, apart;
  double length;
} Sides;

typedef struct SidesBar {
  S2Vec2 ra, rb, apart;
  S2Rot turn_b; // of cosine and sine
  double length;
} SidesBar;

static const double *pose_of(const double *q, int32_t slot) {
  static const double world[3] = {0, 0, 0};
  return slot == S2_NONE ? world : q + 3 * slot;
}

static Sides sides_at(const S2JointAt *at, const double *q) {
  const S2Joint *joint = at->joint;
  const double *qa = pose_of(q, joint->a), *qb = pose_of(q, joint->b);
  Sides sides = {.turn_a = {1, 0}, .turn_b = {1, 0}};
  bool known = at->turn != NULL && q == at->q;
  if (joint->a != S2_NONE) {
    sides.turn_a = known ? at->turn[joint->a] : s2_rot(qa[0]);
  }
  if (joint->b != S2_NONE) {
    sides.turn_b = known ? at->turn[joint->b] : s2_rot(qb[0]);
  }
  sides.ra = s2_rotate(sides.turn_a, joint->local_a);
  sides.rb = s2_rotate(sides.turn_b, joint->local_b);
  sides.apart = s2_vec2((qa[1] - qb[1]) + (sides.ra.x - sides.rb.x),
                        (qa[2] - qb[2]) + (sides.ra.y - sides.rb.y));
  sides.length = s2_length(sides.apart);
  return sides;
}

static S2Vec2 mean(S2Vec2 a, S2Vec2 b) {
  return s2_vec2((a.x + b.x) / 2, (a.y + b.y) / 2);
}

static Sides sides_of(const S2JointAt *at) {
  Sides sides = sides_at(at, at->q);
  if (at->to != NULL) {
    Sides end = sides_at(at, at->to);
    sides.turn_b.c = (sides.turn_b.c + end.turn_b.c) / 2;
    sides.turn_b.s = (sides.turn_b.s + end.turn_b.s) / 2;
    sides.ra = mean(sides.ra, end.ra);
    sides.rb = mean(sides.rb, end.rb);
    sides.apart = mean(sides.apart, end.apart);
    sides.length = (sides.length + end.length) / 2;
  }
  return sides;
}

static void add_to(S2Vec2 *to, S2Vec2 x) {
  *to = s2_add(*to, x);
}

// `part` of the adjoint to the poses q.
static void place_vjp(const S2Joint *joint, Sides sides, const SidesBar *bar, double part,
                      double *q_bar, S2JointGradient *g) {
  S2Vec2 apart = s2_scale(part, bar->apart);
  if (bar->length != 0 && sides.length > 0) {
    apart = s2_add_scaled(apart, part * bar->length / sides.length, sides.apart);
  }
  S2Vec2 ra = s2_add_scaled(apart, part, bar->ra), rb = s2_sub(s2_scale(part, bar->rb), apart);
  add_to(&g->local_a, s2_unrotate(sides.turn_a, ra));
  add_to(&g->local_b, s2_unrotate(sides.turn_b, rb));
  if (joint->a != S2_NONE) {
    double *to = q_bar + 3 * joint->a;
    to[0] += s2_dot(s2_left(sides.ra), ra);
    to[1] += apart.x;
    to[2] += apart.y;
  }
  if (joint->b != S2_NONE) {
    double *to = q_bar + 3 * joint->b;
    to[0] += s2_dot(s2_left(sides.rb), rb) +
             part * (sides.turn_b.c * bar->turn_b.s - sides.turn_b.s * bar->turn_b.c);
    to[1] -= apart.x;
    to[2] -= apart.y;
  }
}

static void sides_vjp(const S2JointAt *at, const Sides *sides, const SidesBar *bar,
                      const S2PlaceBar *to) {
  S2JointGradient *g = &to->gradient->joint[at->joint - at->world->joints.at];
  if (at->to == NULL) {
    place_vjp(at->joint, *sides, bar, 1, to->q, g);
  } else {
    place_vjp(at->joint, sides_at(at, at->q), bar, 0.5, to->q, g);
    place_vjp(at->joint, sides_at(at, at->to), bar, 0.5, to->to, g);
  }
}

// Of cross(arm, along).
static void cross_vjp(S2Vec2 arm, S2Vec2 along, double bar, S2Vec2 *arm_bar, S2Vec2 *along_bar) {
  *arm_bar = s2_add_scaled(*arm_bar, bar, s2_right(along));
  *along_bar = s2_add_scaled(*along_bar, bar, s2_left(arm));
}

static double both(const S2JointHessian *bar, int i, int j) {
  return i == j ? bar->at[i][j] : bar->at[i][j] + bar->at[j][i];
}

// ---- measure.c --------------------------------------------------------------------------------

static double turned(const S2JointAt *at, int side) { // half of it
  int32_t slot = side == 0 ? at->joint->a : at->joint->b;
  return (pose_of(at->to, slot)[0] - pose_of(at->q, slot)[0]) / 2;
}

// s2_measure_turn: bend cos A cos B with bend = (A - B)/sin(A - B).
static void turn_vjp(const S2JointAt *at, double bar, const S2PlaceBar *to) {
  double a = turned(at, 0), b = turned(at, 1), x = a - b;
  double bend = fabs(x) < 1e-8 ? 1 : x / sin(x);
  // (1 - x cot x)/sin x; its digits vanish where x does
  double slope = fabs(x) < 1e-3 ? x / 3 * (1 + 7 * x * x / 30) : (1 - x / tan(x)) / sin(x);
  double a_bar = bar * (slope * cos(a) * cos(b) - bend * sin(a) * cos(b));
  double b_bar = bar * (-slope * cos(a) * cos(b) - bend * cos(a) * sin(b));
  for (int side = 0; side < 2; side++) {
    int32_t slot = side == 0 ? at->joint->a : at->joint->b;
    double half = (side == 0 ? a_bar : b_bar) / 2;
    if (slot != S2_NONE) {
      to->to[3 * slot] += half;
      to->q[3 * slot] -= half;
    }
  }
}

static void angle_vjp(const S2JointAt *at, const S2RowBar *bar, const S2PlaceBar *to) {
  const S2Joint *joint = at->joint;
  if (joint->a != S2_NONE) {
    to->q[3 * joint->a] += bar->value;
  }
  if (joint->b != S2_NONE) {
    to->q[3 * joint->b] -= bar->value;
  }
  to->gradient->joint[joint - at->world->joints.at].angle0 -= bar->value;
  if (at->to != NULL) {
    turn_vjp(at, bar->ja[0] - bar->jb[0], to);
  }
}

// Returns the adjoint of the direction.
static S2Vec2 offset_vjp(const S2JointAt *at, S2Vec2 direction, const S2RowBar *bar,
                         const S2PlaceBar *to) {
  Sides sides = sides_of(at);
  SidesBar sum = {0};
  S2Vec2 u = s2_rotate(sides.turn_b, direction), w = s2_add(sides.apart, sides.rb);
  S2Vec2 u_bar = s2_scale(bar->value, sides.apart), w_bar = {0};
  sum.apart = s2_scale(bar->value, u);
  cross_vjp(sides.ra, u, bar->ja[0], &sum.ra, &u_bar);
  cross_vjp(w, u, -bar->jb[0], &w_bar, &u_bar);
  add_to(&u_bar, s2_vec2(bar->ja[1] - bar->jb[1], bar->ja[2] - bar->jb[2]));
  if (bar->bent) {
    const S2JointHessian *bent = &bar->hessian;
    double arm = both(bent, 0, 3) - both(bent, 0, 0), far = -both(bent, 3, 3);
    u_bar = s2_add_scaled(s2_add_scaled(u_bar, arm, sides.ra), far, w);
    sum.ra = s2_add_scaled(sum.ra, arm, u);
    w_bar = s2_add_scaled(w_bar, far, u);
    S2Vec2 turned_bar =
        s2_vec2(both(bent, 1, 3) - both(bent, 3, 4), both(bent, 2, 3) - both(bent, 3, 5));
    add_to(&u_bar, s2_right(turned_bar));
  }
  add_to(&sum.apart, w_bar);
  add_to(&sum.rb, w_bar);
  sum.turn_b.c = s2_dot(u_bar, direction);
  sum.turn_b.s = s2_dot(u_bar, s2_left(direction));
  sides_vjp(at, &sides, &sum, to);
  return s2_unrotate(sides.turn_b, u_bar);
}

void s2_joint_pin_vjp(const S2JointAt *at, const S2PinBar *bar, const S2PlaceBar *to) {
  Sides sides = sides_at(at, at->q);
  SidesBar sum = {0};
  S2Vec2 w = s2_add(sides.apart, sides.rb), w_bar = {0};
  S2Vec2 u = s2_vec2(sides.turn_b.c, sides.turn_b.s); // x of b
  for (int k = 0; k < 2; k++) {
    S2Vec2 u_bar = s2_scale(bar->value[k], sides.apart);
    const double *ja = bar->ja[k], *jb = bar->jb[k];
    sum.apart = s2_add_scaled(sum.apart, bar->value[k], u);
    cross_vjp(sides.ra, u, ja[0], &sum.ra, &u_bar);
    cross_vjp(w, u, -jb[0], &w_bar, &u_bar);
    add_to(&u_bar, s2_vec2(ja[1] - jb[1], ja[2] - jb[2]));
    sum.turn_b.c += k == 0 ? u_bar.x : u_bar.y;
    sum.turn_b.s += k == 0 ? u_bar.y : -u_bar.x;
    u = s2_left(u);
  }
  add_to(&sum.apart, w_bar);
  add_to(&sum.rb, w_bar);
  sides_vjp(at, &sides, &sum, to);
}

// Along the joint's axis turned left so often.
static void axis_vjp(const S2JointAt *at, bool left, const S2RowBar *bar, const S2PlaceBar *to) {
  S2Vec2 axis = at->joint->axis;
  S2Vec2 along = offset_vjp(at, left ? s2_left(axis) : axis, bar, to);
  add_to(&to->gradient->joint[at->joint - at->world->joints.at].axis,
         left ? s2_right(along) : along);
}

static void length_vjp(const S2JointAt *at, const S2RowBar *bar, const S2PlaceBar *to) {
  Sides sides = sides_of(at);
  SidesBar sum = {.length = bar->value};
  double length = sides.length;
  bool none = length < S2_NO_LENGTH;
  S2Vec2 axis = at->joint->axis;
  S2Vec2 n = none ? s2_rotate(sides.turn_b, axis) : s2_scale(1 / length, sides.apart);
  S2Vec2 n_bar = s2_vec2(bar->ja[1] - bar->jb[1], bar->ja[2] - bar->jb[2]);
  cross_vjp(sides.ra, n, bar->ja[0], &sum.ra, &n_bar);
  cross_vjp(sides.rb, n, -bar->jb[0], &sum.rb, &n_bar);
  if (bar->bent) {
    const S2JointHessian *bent = &bar->hessian;
    S2Vec2 t = s2_left(n), t_bar = {0};
    const double across[6] = {s2_cross(sides.ra, t), t.x, t.y, -s2_cross(sides.rb, t), -t.x, -t.y};
    double across_bar[6] = {0}, whole = 0;
    for (int i = 0; i < 36 && !none; i++) {
      across_bar[i / 6] +=
          (bent->at[i / 6][i % 6] + bent->at[i % 6][i / 6]) * across[i % 6] / length;
      whole += bent->at[i / 6][i % 6] * across[i / 6] * across[i % 6];
    }
    sum.length -= none ? 0 : whole / (length * length);
    t_bar = s2_vec2(across_bar[1] - across_bar[4], across_bar[2] - across_bar[5]);
    cross_vjp(sides.ra, t, across_bar[0], &sum.ra, &t_bar);
    cross_vjp(sides.rb, t, -across_bar[3], &sum.rb, &t_bar);
    add_to(&n_bar, s2_right(t_bar));
    sum.ra = s2_add_scaled(sum.ra, -bent->at[0][0], n);
    sum.rb = s2_add_scaled(sum.rb, bent->at[3][3], n);
    n_bar =
        s2_add_scaled(s2_add_scaled(n_bar, -bent->at[0][0], sides.ra), bent->at[3][3], sides.rb);
  }
  if (none) {
    sum.turn_b.c = s2_dot(n_bar, axis);
    sum.turn_b.s = s2_dot(n_bar, s2_left(axis));
    add_to(&to->gradient->joint[at->joint - at->world->joints.at].axis,
           s2_unrotate(sides.turn_b, n_bar));
  } else { // n = apart/length, of a chord both means
    sum.apart = s2_scale(1 / length, n_bar);
    sum.length -= s2_dot(n, n_bar) / length;
  }
  sides_vjp(at, &sides, &sum, to);
}

// ---- Types ------------------------------------------------------------------------------------

static void lock_vjp(const S2JointAt *at, int row, const S2RowBar *bar, const S2PlaceBar *to) {
  const S2Joint *joint = at->joint;
  S2JointGradient *g = &to->gradient->joint[joint - at->world->joints.at];
  int c = s2_lock_component(joint, row);
  to->q[3 * joint->a + c] += bar->value;
  const S2World *world = at->world;
  const S2Drive *drive =
      world->drives.count > 0 ? &world->drives.at[joint - world->joints.at] : NULL;
  if (drive != NULL && drive->valid && at->elapsed >= drive->start) { // as s2_lock_goal has it
    double moved = -bar->value * drive->rate[c];
    s2_retold_lock_vjp(at, c, at->elapsed - drive->start, -bar->value, -bar->rate);
    *to->elapsed += moved; // which is no part of dt in event stepping
    to->gradient->dt -= moved * at->elapsed / at->world->kept.def.dt;
  } else {
    g->goal[c] -= bar->value;
    g->rate[c] -= bar->value * at->elapsed + bar->rate;
    *to->elapsed -= bar->value * joint->rate[c];
  }
  if (at->to != NULL && c == 0) {
    turn_vjp(at, bar->ja[0], to);
  }
}

enum { MORE = 6 }; // columns of the angles of S2Joint.more, behind those of a and b

// Columns of a and b of the joint `of` in the row of the gear, -1: it stands still.
static void columns(const S2Joint *gear, const S2Joint *of, int column[2]) {
  const int32_t slots[2] = {of->a, of->b};
  for (int side = 0; side < 2; side++) {
    column[side] = slots[side] == S2_NONE         ? -1
                   : slots[side] == gear->a       ? 0
                   : slots[side] == gear->b       ? 3
                   : slots[side] == gear->more[0] ? MORE
                   : slots[side] == gear->more[1] ? MORE + 1
                                                  : -1;
  }
}

static void gear_vjp(const S2JointAt *at, const S2RowBar *bar, const S2PlaceBar *to) {
  const S2Joint *gear = at->joint;
  S2JointGradient *g = &to->gradient->joint[gear - at->world->joints.at];
  g->sum -= bar->value;
  for (int k = 0; k < 2; k++) {
    int32_t slot = k == 0 ? gear->joint_a : gear->joint_b;
    double factor = k == 0 ? 1 : gear->ratio;
    S2JointAt of = {at->world, &at->world->joints.at[slot], at->q, at->elapsed, NULL, at->to};
    S2JointRow its;
    S2JointHessian bent;
    int column[2];
    s2_joint_kind(of.joint->type)->coordinate(&of, &its, bar->bent ? &bent : NULL);
    columns(gear, of.joint, column);
    S2RowBar part = {.value = factor * bar->value, .bent = bar->bent};
    double along = bar->value * its.value;
    for (int i = 0; i < 6; i++) {
      int from = column[i / 3] + i % 3;
      if (column[i / 3] < 0 || (column[i / 3] >= MORE && i % 3 > 0)) {
        continue;
      }
      double j_bar = column[i / 3] >= MORE ? bar->more[from - MORE]
                     : from < 3            ? bar->ja[from]
                                           : bar->jb[from - 3];
      *(i < 3 ? &part.ja[i] : &part.jb[i - 3]) = factor * j_bar;
      along += j_bar * (i < 3 ? its.ja[i] : its.jb[i - 3]);
      for (int j = 0; j < 6 && bar->bent && from < MORE; j++) {
        if (column[j / 3] >= 0 && column[j / 3] < MORE) {
          double of_bar = bar->hessian.at[from][column[j / 3] + j % 3];
          part.hessian.at[i][j] = factor * of_bar;
          along += of_bar * bent.at[i][j];
        }
      }
    }
    g->ratio += k == 0 ? 0 : along;
    s2_joint_function_vjp(&of, S2_OF_COORDINATE, &part, to);
  }
}

static void equation_vjp(const S2JointAt *at, int row, const S2RowBar *bar, const S2PlaceBar *to) {
  const S2Vec2 unit[2] = {{1, 0}, {0, 1}};
  switch (at->joint->type) {
  case S2_HINGE:
  case S2_MOUSE:
    (void)offset_vjp(at, unit[row], bar, to);
    break;
  case S2_WELD:
    if (row < 2) {
      (void)offset_vjp(at, unit[row], bar, to);
    } else {
      angle_vjp(at, bar, to);
    }
    break;
  case S2_SLIDER:
    if (row == 0) {
      axis_vjp(at, true, bar, to);
    } else {
      angle_vjp(at, bar, to);
    }
    break;
  case S2_WHEEL:
    axis_vjp(at, row == 0, bar, to);
    break;
  case S2_DISTANCE:
  case S2_SPRING:
    to->gradient->joint[at->joint - at->world->joints.at].length -= bar->value;
    length_vjp(at, bar, to);
    break;
  case S2_LOCK:
    lock_vjp(at, row, bar, to);
    break;
  case S2_GEAR:
    gear_vjp(at, bar, to);
    break;
  case S2_CONSTRAINT:
    s2_retold_constraint_vjp(at, row, bar, to);
    break;
  default: // no equations, or none that has a derivative
    break;
  }
}

void s2_joint_function_vjp(const S2JointAt *at, int function, const S2RowBar *bar,
                           const S2PlaceBar *to) {
  bool drive = function == S2_OF_DRIVE;
  if (function < S2_JOINT_EQUATIONS) {
    equation_vjp(at, function, bar, to);
    return;
  }
  switch (at->joint->type) {
  case S2_HINGE:
    angle_vjp(at, bar, to);
    break;
  case S2_SLIDER:
    axis_vjp(at, false, bar, to);
    break;
  case S2_WHEEL:
    if (drive) {
      angle_vjp(at, bar, to);
    } else {
      axis_vjp(at, false, bar, to);
    }
    break;
  case S2_SPRING:
  case S2_ROPE:
    length_vjp(at, bar, to);
    break;
  case S2_CONSTRAINT:
    s2_retold_constraint_vjp(at, 0, bar, to);
    break;
  default:
    break;
  }
}
