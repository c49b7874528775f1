// Derivatives of dynamics/joints/measure.c and of the joint functions that are built from it.
#include "diff/joints/measure_vjp.h"

#include "diff/joints/answers.h"
#include "dynamics/joints/sides.h"

#include <string.h>

typedef struct SidesBar {
  S2Vec2 ra, rb, apart;
  S2Rot turn_b; // adjoint of cosine and sine
  double length;
} SidesBar;

static void measure_add_to(S2Vec2 *to, S2Vec2 x) {
  *to = s2_add(*to, x);
}

static S2JointGradient *measure_gradient(const S2JointAt *at, const S2PlaceBar *to) {
  return to->joint != NULL ? to->joint : &to->gradient->joint[at->joint - at->world->joints.at];
}

static void measure_sides_vjp(const S2JointAt *at, const S2Sides *sides, const SidesBar *bar,
                              const S2PlaceBar *to) {
  const S2Joint *joint = at->joint;
  S2JointGradient *g = measure_gradient(at, to);
  // length = |apart|
  S2Vec2 apart = bar->apart;
  double length = bar->length != 0 ? s2_length(sides->apart) : 0;
  if (length > 0) {
    apart = s2_add_scaled(apart, bar->length / length, sides->apart);
  }
  // apart = p_a - p_b + ra - rb
  S2Vec2 ra = s2_add(apart, bar->ra), rb = s2_sub(bar->rb, apart);
  measure_add_to(&g->local_a, s2_unrotate(sides->turn_a, ra));
  measure_add_to(&g->local_b, s2_unrotate(sides->turn_b, rb));
  if (joint->a != S2_NONE) {
    double *q = to->q + 3 * joint->a;
    q[0] += s2_dot(s2_left(sides->ra), ra);
    q[1] += apart.x;
    q[2] += apart.y;
  }
  if (joint->b != S2_NONE) {
    double *q = to->q + 3 * joint->b;
    q[0] += s2_dot(s2_left(sides->rb), rb) +
            (sides->turn_b.c * bar->turn_b.s - sides->turn_b.s * bar->turn_b.c);
    q[1] -= apart.x;
    q[2] -= apart.y;
  }
}

// Passes the adjoint of a joint function on to the poses and to the joint's own parameters. `row`
// is the index of the equation, for functions that need it.
typedef void MeasureVjp(const S2JointAt *at, int row, const S2RowBar *bar, const S2PlaceBar *to);

// Adjoint of cross(arm, along).
static void measure_cross_vjp(S2Vec2 arm, S2Vec2 along, double bar, S2Vec2 *arm_bar,
                              S2Vec2 *along_bar) {
  *arm_bar = s2_add_scaled(*arm_bar, bar, s2_right(along));
  *along_bar = s2_add_scaled(*along_bar, bar, s2_left(arm));
}

static double measure_both(const S2JointHessian *bar, int i, int j) {
  return i == j ? bar->at[i][j] : bar->at[i][j] + bar->at[j][i];
}

// ---- measure.c --------------------------------------------------------------------------------

static void measure_angle_vjp(const S2JointAt *at, int row, const S2RowBar *bar,
                              const S2PlaceBar *to) {
  (void)row;
  const S2Joint *joint = at->joint;
  if (joint->a != S2_NONE) {
    to->q[3 * joint->a] += bar->value;
  }
  if (joint->b != S2_NONE) {
    to->q[3 * joint->b] -= bar->value;
  }
  measure_gradient(at, to)->angle0 -= bar->value;
}

// Returns the adjoint of the direction.
static S2Vec2 measure_along_direction_vjp(const S2JointAt *at, S2Vec2 direction,
                                          const S2RowBar *bar, const S2PlaceBar *to) {
  S2Sides sides = s2_sides_at(at);
  SidesBar sum = {0};
  S2Vec2 u = s2_rotate(sides.turn_b, direction), w = s2_add(sides.apart, sides.rb);
  // value = u'apart, ja = (ra x u, u), jb = (-w x u, -u) with w = apart + rb
  S2Vec2 u_bar = s2_scale(bar->value, sides.apart), w_bar = {0};
  sum.apart = s2_scale(bar->value, u);
  measure_cross_vjp(sides.ra, u, bar->ja[0], &sum.ra, &u_bar);
  measure_cross_vjp(w, u, -bar->jb[0], &w_bar, &u_bar);
  measure_add_to(&u_bar, s2_vec2(bar->ja[1] - bar->jb[1], bar->ja[2] - bar->jb[2]));
  // Second derivatives: -+ u'ra, -u'w, and left(u) where b turns.
  if (bar->bent) {
    const S2JointHessian *bent = &bar->hessian;
    double arm = measure_both(bent, 0, 3) - measure_both(bent, 0, 0),
           far = -measure_both(bent, 3, 3);
    u_bar = s2_add_scaled(s2_add_scaled(u_bar, arm, sides.ra), far, w);
    sum.ra = s2_add_scaled(sum.ra, arm, u);
    w_bar = s2_add_scaled(w_bar, far, u);
    S2Vec2 turned_bar = s2_vec2(measure_both(bent, 1, 3) - measure_both(bent, 3, 4),
                                measure_both(bent, 2, 3) - measure_both(bent, 3, 5));
    measure_add_to(&u_bar, s2_right(turned_bar));
  }
  // w = apart + rb, and u turns with b.
  measure_add_to(&sum.apart, w_bar);
  measure_add_to(&sum.rb, w_bar);
  sum.turn_b.c = s2_dot(u_bar, direction);
  sum.turn_b.s = s2_dot(u_bar, s2_left(direction));
  measure_sides_vjp(at, &sides, &sum, to);
  return s2_unrotate(sides.turn_b, u_bar);
}

void s2_joint_pin_vjp(const S2JointAt *at, const S2PinBar *bar, const S2PlaceBar *to) {
  S2Sides sides = s2_sides_at(at);
  SidesBar sum = {0};
  S2Vec2 w = s2_add(sides.apart, sides.rb), w_bar = {0};
  S2Vec2 u = s2_vec2(sides.turn_b.c, sides.turn_b.s); // the column of x of b
  for (int k = 0; k < 2; k++) {
    S2Vec2 u_bar = s2_scale(bar->value[k], sides.apart);
    const double *ja = bar->ja[k], *jb = bar->jb[k];
    sum.apart = s2_add_scaled(sum.apart, bar->value[k], u);
    measure_cross_vjp(sides.ra, u, ja[0], &sum.ra, &u_bar);
    measure_cross_vjp(w, u, -jb[0], &w_bar, &u_bar);
    measure_add_to(&u_bar, s2_vec2(ja[1] - jb[1], ja[2] - jb[2]));
    sum.turn_b.c += k == 0 ? u_bar.x : u_bar.y;
    sum.turn_b.s += k == 0 ? u_bar.y : -u_bar.x;
    u = s2_left(u);
  }
  measure_add_to(&sum.apart, w_bar);
  measure_add_to(&sum.rb, w_bar);
  measure_sides_vjp(at, &sides, &sum, to);
}

// The offset along x or y of b.
static void measure_offset_vjp(const S2JointAt *at, int row, const S2RowBar *bar,
                               const S2PlaceBar *to) {
  (void)measure_along_direction_vjp(at, row == 0 ? s2_vec2(1, 0) : s2_vec2(0, 1), bar, to);
}

// The offset along the joint's axis, or across it.
static void measure_along_vjp(const S2JointAt *at, int row, const S2RowBar *bar,
                              const S2PlaceBar *to) {
  (void)row;
  S2Vec2 along = measure_along_direction_vjp(at, at->joint->axis, bar, to);
  measure_add_to(&measure_gradient(at, to)->axis, along);
}

static void measure_across_vjp(const S2JointAt *at, int row, const S2RowBar *bar,
                               const S2PlaceBar *to) {
  (void)row;
  S2Vec2 across = measure_along_direction_vjp(at, s2_left(at->joint->axis), bar, to);
  measure_add_to(&measure_gradient(at, to)->axis, s2_right(across));
}

// The angle relative to the rest angle.
static void measure_twist_vjp(const S2JointAt *at, int row, const S2RowBar *bar,
                              const S2PlaceBar *to) {
  measure_gradient(at, to)->length -= bar->value;
  measure_angle_vjp(at, row, bar, to);
}

static void measure_shift_vjp(const S2JointAt *at, int row, const S2RowBar *bar,
                              const S2PlaceBar *to) {
  measure_gradient(at, to)->length -= bar->value;
  measure_along_vjp(at, row, bar, to);
}

static void measure_length_vjp(const S2JointAt *at, int row, const S2RowBar *bar,
                               const S2PlaceBar *to) {
  (void)row;
  S2Sides sides = s2_sides_at(at);
  SidesBar sum = {.length = bar->value};
  double length = s2_length(sides.apart);
  // n = apart/length. If the length is 0, n keeps its initial direction.
  bool none = length < S2_NO_LENGTH;
  S2Vec2 axis = at->joint->axis;
  S2Vec2 n = none ? s2_rotate(sides.turn_b, axis) : s2_scale(1 / length, sides.apart);
  // ja = (ra x n, n), jb = (-rb x n, -n)
  S2Vec2 n_bar = s2_vec2(bar->ja[1] - bar->jb[1], bar->ja[2] - bar->jb[2]);
  measure_cross_vjp(sides.ra, n, bar->ja[0], &sum.ra, &n_bar);
  measure_cross_vjp(sides.rb, n, -bar->jb[0], &sum.rb, &n_bar);
  if (bar->bent) {
    // Hessian: across across'/length, -n'ra and n'rb; across is (ra x t, t, -rb x t, -t).
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
    measure_cross_vjp(sides.ra, t, across_bar[0], &sum.ra, &t_bar);
    measure_cross_vjp(sides.rb, t, -across_bar[3], &sum.rb, &t_bar);
    measure_add_to(&n_bar, s2_right(t_bar));
    sum.ra = s2_add_scaled(sum.ra, -bent->at[0][0], n);
    sum.rb = s2_add_scaled(sum.rb, bent->at[3][3], n);
    n_bar =
        s2_add_scaled(s2_add_scaled(n_bar, -bent->at[0][0], sides.ra), bent->at[3][3], sides.rb);
  }
  // The adjoint of the vector that determines n.
  if (none) {
    sum.turn_b.c = s2_dot(n_bar, axis);
    sum.turn_b.s = s2_dot(n_bar, s2_left(axis));
    measure_add_to(&measure_gradient(at, to)->axis, s2_unrotate(sides.turn_b, n_bar));
  } else { // adjoint of n = apart/length
    sum.apart = s2_scale(1 / length, n_bar);
    sum.length -= s2_dot(n, n_bar) / length;
  }
  measure_sides_vjp(at, &sides, &sum, to);
}

// The length minus the rest length.
static void measure_stretch_vjp(const S2JointAt *at, int row, const S2RowBar *bar,
                                const S2PlaceBar *to) {
  measure_gradient(at, to)->length -= bar->value;
  measure_length_vjp(at, row, bar, to);
}

// ---- Types ------------------------------------------------------------------------------------

static void measure_lock_vjp(const S2JointAt *at, int row, const S2RowBar *bar,
                             const S2PlaceBar *to) {
  const S2Joint *joint = at->joint;
  S2JointGradient *g = measure_gradient(at, to);
  int c = s2_lock_component(joint, row);
  to->q[3 * joint->a + c] += bar->value;
  const S2World *world = at->world;
  const S2Drive *drive =
      world->drives.count > 0 ? &world->drives.at[joint - world->joints.at] : NULL;
  // the condition is the same as in s2_lock_goal
  if (drive != NULL && drive->valid && at->elapsed >= drive->start) {
    double moved = -bar->value * drive->rate[c];
    s2_answer_lock_vjp(at, c, at->elapsed - drive->start, -bar->value, -bar->rate);
    *to->elapsed += moved; // in event stepping, `elapsed` is not proportional to dt
    to->gradient->dt -= moved * at->elapsed / at->world->kept.def.dt;
  } else {
    g->goal[c] -= bar->value;
    g->rate[c] -= bar->value * at->elapsed + bar->rate;
    *to->elapsed -= bar->value * joint->rate[c];
  }
}

static void measure_gear_vjp(const S2JointAt *at, int row, const S2RowBar *bar,
                             const S2PlaceBar *to) {
  (void)row;
  const S2Joint *gear = at->joint;
  S2JointGradient *g = measure_gradient(at, to);
  g->sum -= bar->value;
  // c_a + ratio c_b, where each coordinate c has its own bodies.
  for (int k = 0; k < 2; k++) {
    int32_t slot = k == 0 ? gear->joint_a : gear->joint_b;
    double factor = k == 0 ? 1 : gear->ratio;
    S2JointAt of = {at->world, &at->world->joints.at[slot], at->q, at->elapsed, NULL};
    S2JointRow its;
    S2JointHessian bent;
    int column[2];
    s2_joint_kind(of.joint->type)->coordinate(&of, &its, bar->bent ? &bent : NULL);
    s2_gear_columns(gear, of.joint, column);
    // The part of the gear's adjoint for this coordinate, in the columns of its bodies.
    S2RowBar part = {.value = factor * bar->value, .bent = bar->bent};
    // The derivative with respect to the ratio consists of the coordinate and its derivatives.
    double along = bar->value * its.value;
    for (int i = 0; i < 6; i++) {
      int from = column[i / 3] + i % 3;
      if (column[i / 3] < 0 || (column[i / 3] >= S2_GEAR_MORE && i % 3 > 0)) {
        continue;
      }
      double j_bar = column[i / 3] >= S2_GEAR_MORE ? bar->more[from - S2_GEAR_MORE][0]
                     : from < 3                    ? bar->ja[from]
                                                   : bar->jb[from - 3];
      *(i < 3 ? &part.ja[i] : &part.jb[i - 3]) = factor * j_bar;
      along += j_bar * (i < 3 ? its.ja[i] : its.jb[i - 3]);
      for (int j = 0; j < 6 && bar->bent && from < S2_GEAR_MORE; j++) {
        if (column[j / 3] >= 0 && column[j / 3] < S2_GEAR_MORE) {
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

// One side of a pulley, times `factor`. Computes the adjoints of its body and points and, for side
// b, of the ratio.
static void pulley_side_vjp(const S2JointAt *at, int side, double factor, const S2RowBar *bar,
                            const S2PlaceBar *to) {
  S2JointGradient *g = measure_gradient(at, to), own = {0};
  S2Joint of = s2_pulley_side(at->joint, side);
  S2JointAt its = *at;
  S2PlaceBar place = *to;
  S2RowBar share = {.value = factor * bar->value, .bent = bar->bent};
  const double *j_bar = side == 0 ? bar->ja : bar->jb;
  int first = 3 * side; // the first column of the body
  its.joint = &of;
  place.joint = &own;
  // The derivative with respect to the ratio consists of the length and its derivatives.
  S2JointRow row;
  S2JointHessian bent;
  s2_measure_length(&its, &row, bar->bent ? &bent : NULL);
  double along = bar->value * row.value;
  for (int i = 0; i < 3; i++) {
    share.ja[i] = factor * j_bar[i];
    along += j_bar[i] * row.ja[i];
    for (int j = 0; j < 3 && bar->bent; j++) {
      share.hessian.at[i][j] = factor * bar->hessian.at[first + i][first + j];
      along += bar->hessian.at[first + i][first + j] * bent.at[i][j];
    }
  }
  measure_length_vjp(&its, 0, &share, &place);
  measure_add_to(side == 0 ? &g->local_a : &g->local_b, own.local_a);
  measure_add_to(side == 0 ? &g->ground_a : &g->ground_b, own.local_b);
  g->ratio += side == 0 ? 0 : along;
}

static void measure_pulley_vjp(const S2JointAt *at, int row, const S2RowBar *bar,
                               const S2PlaceBar *to) {
  (void)row;
  pulley_side_vjp(at, 0, 1, bar, to);
  pulley_side_vjp(at, 1, at->joint->ratio, bar, to);
  measure_gradient(at, to)->length -= bar->value;
}

static void measure_pulley_a_vjp(const S2JointAt *at, int row, const S2RowBar *bar,
                                 const S2PlaceBar *to) {
  (void)row;
  pulley_side_vjp(at, 0, 1, bar, to);
}

// The derivative of each measure, or of the function that a joint type has in its place.
static const struct {
  S2Measure *measure;
  MeasureVjp *vjp;
} measure_vjps[] = {
    {s2_measure_x, measure_offset_vjp},          {s2_measure_y, measure_offset_vjp},
    {s2_measure_across, measure_across_vjp},     {s2_measure_translation, measure_along_vjp},
    {s2_measure_angle, measure_angle_vjp},       {s2_measure_length, measure_length_vjp},
    {s2_measure_twist, measure_twist_vjp},       {s2_measure_shift, measure_shift_vjp},
    {s2_measure_stretch, measure_stretch_vjp},   {s2_pulley_measure, measure_pulley_vjp},
    {s2_pulley_measure_a, measure_pulley_a_vjp},
};
static MeasureVjp *const own_vjps[S2_JOINT_TYPE_COUNT] = {
    [S2_LOCK] = measure_lock_vjp,
    [S2_GEAR] = measure_gear_vjp,
    [S2_CONSTRAINT] = s2_answer_constraint_vjp,
};

static MeasureVjp *measure_vjp_of(S2Measure *measure) {
  MeasureVjp *vjp = NULL;
  for (size_t i = 0; i < sizeof measure_vjps / sizeof measure_vjps[0] && vjp == NULL; i++) {
    vjp = measure != NULL && measure_vjps[i].measure == measure ? measure_vjps[i].vjp : NULL;
  }
  return vjp;
}

bool s2_measure_vjp(const S2JointAt *at, S2Measure *measure, const S2RowBar *bar,
                    const S2PlaceBar *to) {
  MeasureVjp *vjp = measure_vjp_of(measure);
  if (vjp != NULL) {
    vjp(at, measure == s2_measure_x ? 0 : 1, bar, to);
  }
  return vjp != NULL;
}

void s2_joint_function_vjp(const S2JointAt *at, int function, const S2RowBar *bar,
                           const S2PlaceBar *to) {
  S2JointType type = at->joint->type;
  const S2JointKind *kind = s2_joint_kind(type);
  bool equation = function < S2_JOINT_EQUATIONS;
  S2Measure *measure = equation                       ? kind->equation[function]
                       : function == S2_OF_COORDINATE ? kind->coordinate
                                                      : kind->drive;
  MeasureVjp *vjp = own_vjps[type] != NULL ? own_vjps[type] : measure_vjp_of(measure);
  if (vjp != NULL) {
    vjp(at, equation ? function : 0, bar, to);
  }
}
