// The smooth functions of two poses from which all joints are built, with exact first and second
// derivatives. They do not change when both bodies move or turn together, so forces along their
// gradients conserve momentum and angular momentum.
#include "dynamics/joints/sides.h"

S2Vec2 s2_joint_anchor(const double *q, int32_t slot, S2Vec2 local) {
  return slot == S2_NONE ? local : s2_pose_point(s2_slot_pose(q, slot), local);
}

S2Rot s2_joint_turn(const S2JointAt *at, int32_t slot) {
  return s2_sides_turn(at, slot);
}

static void hessian_add(S2JointHessian *hessian, int i, int j, double value) {
  hessian->at[i][j] += value;
  if (i != j) {
    hessian->at[j][i] += value;
  }
}

void s2_measure_angle(const S2JointAt *at, S2JointRow *row, S2JointHessian *hessian) {
  const S2Joint *joint = at->joint;
  double a = joint->a == S2_NONE ? 0 : at->q[3 * joint->a];
  double b = joint->b == S2_NONE ? 0 : at->q[3 * joint->b];
  *row = (S2JointRow){.value = a - b - joint->angle0, .ja = {1, 0, 0}, .jb = {-1, 0, 0}};
  if (hessian != NULL) {
    *hessian = (S2JointHessian){0};
  }
}

// With U = R_b u and w = p_a - x_b, the offset is s = U'(w - r_b). A force along U acts on both
// bodies at p_a.
static inline void measure_offset(const S2Sides *sides, S2Vec2 u, double *value, double ja[3],
                                  double jb[3]) {
  *value = s2_dot(u, sides->apart);
  ja[0] = s2_cross(sides->ra, u);
  ja[1] = u.x;
  ja[2] = u.y;
  jb[0] = -s2_cross(s2_add(sides->apart, sides->rb), u);
  jb[1] = -u.x;
  jb[2] = -u.y;
}

void s2_measure_offset(const S2JointAt *at, S2Vec2 direction, S2JointRow *row,
                       S2JointHessian *hessian) {
  S2Sides sides = s2_sides_at(at);
  S2Vec2 u = s2_rotate(sides.turn_b, direction);
  *row = (S2JointRow){0};
  measure_offset(&sides, u, &row->value, row->ja, row->jb);
  if (hessian != NULL) {
    // Add the second derivatives. A rotation of a turns its arm, a rotation of b turns the relative
    // position.
    S2Vec2 turned = s2_left(u), w = s2_add(sides.apart, sides.rb);
    *hessian = (S2JointHessian){0};
    hessian_add(hessian, 0, 0, -s2_dot(u, sides.ra));
    hessian_add(hessian, 0, 3, s2_dot(u, sides.ra));
    hessian_add(hessian, 1, 3, turned.x);
    hessian_add(hessian, 2, 3, turned.y);
    hessian_add(hessian, 3, 3, -s2_dot(u, w));
    hessian_add(hessian, 3, 4, -turned.x);
    hessian_add(hessian, 3, 5, -turned.y);
  }
}

void s2_measure_offsets(const S2JointAt *at, S2JointRow rows[2]) {
  S2Sides sides = s2_sides_at(at);
  S2Vec2 x = s2_vec2(sides.turn_b.c, sides.turn_b.s);
  rows[0] = rows[1] = (S2JointRow){0};
  measure_offset(&sides, x, &rows[0].value, rows[0].ja, rows[0].jb);
  measure_offset(&sides, s2_left(x), &rows[1].value, rows[1].ja, rows[1].jb);
}

void s2_measure_pin(const S2JointAt *at, S2Pin *pin) {
  S2Sides sides = s2_sides_at(at);
  S2Vec2 x = s2_vec2(sides.turn_b.c, sides.turn_b.s);
  measure_offset(&sides, x, &pin->value[0], pin->ja[0], pin->jb[0]);
  measure_offset(&sides, s2_left(x), &pin->value[1], pin->ja[1], pin->jb[1]);
}

void s2_measure_translation(const S2JointAt *at, S2JointRow *row, S2JointHessian *hessian) {
  s2_measure_offset(at, at->joint->axis, row, hessian);
}

void s2_measure_across(const S2JointAt *at, S2JointRow *row, S2JointHessian *hessian) {
  s2_measure_offset(at, s2_left(at->joint->axis), row, hessian);
}

void s2_measure_x(const S2JointAt *at, S2JointRow *row, S2JointHessian *hessian) {
  s2_measure_offset(at, s2_vec2(1, 0), row, hessian);
}

void s2_measure_y(const S2JointAt *at, S2JointRow *row, S2JointHessian *hessian) {
  s2_measure_offset(at, s2_vec2(0, 1), row, hessian);
}

// Let n be the direction and t the direction across it. Then dL = n'd(p_a - p_b). The second
// derivative is n' times the second derivative of p_a - p_b, plus (1/L) (J't)(J't)'. If the anchors
// coincide, n is the joint's initial direction.
void s2_measure_length(const S2JointAt *at, S2JointRow *row, S2JointHessian *hessian) {
  S2Sides sides = s2_sides_at(at);
  double length = s2_length(sides.apart);
  bool none = length < S2_NO_LENGTH;
  S2Vec2 n = none ? s2_rotate(sides.turn_b, at->joint->axis) : s2_scale(1 / length, sides.apart);
  *row = (S2JointRow){
      .value = length,
      .ja = {s2_cross(sides.ra, n), n.x, n.y},
      .jb = {-s2_cross(sides.rb, n), -n.x, -n.y},
  };
  if (hessian != NULL) {
    // Add (1/L) (J't)(J't)', or 0 at zero length, and the components of the arms along n.
    S2Vec2 t = s2_left(n);
    const double across[6] = {s2_cross(sides.ra, t), t.x, t.y, -s2_cross(sides.rb, t), -t.x, -t.y};
    *hessian = (S2JointHessian){0};
    for (int i = 0; i < 6; i++) {
      for (int j = 0; j < 6; j++) {
        hessian->at[i][j] = none ? 0 : across[i] * across[j] / length;
      }
    }
    hessian->at[0][0] -= s2_dot(n, sides.ra);
    hessian->at[3][3] += s2_dot(n, sides.rb);
  }
}

void s2_measure_stretch(const S2JointAt *at, S2JointRow *row, S2JointHessian *hessian) {
  s2_measure_length(at, row, hessian);
  row->value -= at->joint->length;
}

void s2_measure_twist(const S2JointAt *at, S2JointRow *row, S2JointHessian *hessian) {
  s2_measure_angle(at, row, hessian);
  row->value -= at->joint->length;
}

void s2_measure_shift(const S2JointAt *at, S2JointRow *row, S2JointHessian *hessian) {
  s2_measure_translation(at, row, hessian);
  row->value -= at->joint->length;
}

// Counts the measures of the joint that are equations. The measure of a spring counts only if the
// joint has one.
static int joint_measures(const S2JointKind *kind, const S2Joint *joint) {
  bool may_spring = (kind->parts & S2_HAS_COMPLIANCE) != 0 && (kind->parts & S2_HAS_STIFFNESS) != 0;
  return may_spring && !joint->has_spring ? kind->sprung : S2_JOINT_EQUATIONS;
}

int s2_joint_row_count(const S2JointAt *at) {
  const S2JointKind *kind = s2_joint_kind(at->joint->type);
  S2JointRow rows[S2_JOINT_EQUATIONS];
  int most = joint_measures(kind, at->joint), count = 0;
  if (kind->rows != NULL) {
    return kind->rows(at, rows);
  }
  while (count < most && kind->equation[count] != NULL) {
    count += 1;
  }
  return count;
}

int s2_joint_rows(const S2JointAt *at, S2JointRow rows[S2_JOINT_EQUATIONS]) {
  const S2JointKind *kind = s2_joint_kind(at->joint->type);
  int count = 0;
  if (kind->rows != NULL) {
    return kind->rows(at, rows);
  }
  // The next equation is y. Computing both costs little more than one of them.
  if (kind->equation[0] == s2_measure_x) {
    s2_measure_offsets(at, rows);
    count = 2;
  }
  int most = joint_measures(kind, at->joint);
  for (; count < most && kind->equation[count] != NULL; count++) {
    kind->equation[count](at, &rows[count], NULL);
  }
  return count;
}

void s2_joint_hessians(const S2JointAt *at, S2JointHessian hessians[S2_JOINT_EQUATIONS]) {
  const S2JointKind *kind = s2_joint_kind(at->joint->type);
  S2JointRow row;
  if (kind->hessians != NULL) {
    kind->hessians(at, hessians);
    return;
  }
  int most = joint_measures(kind, at->joint);
  for (int i = 0; i < most && kind->equation[i] != NULL; i++) {
    kind->equation[i](at, &row, &hessians[i]);
  }
}

bool s2_joint_sprung(const S2Joint *joint, int row) {
  const S2JointKind *kind = s2_joint_kind(joint->type);
  return joint->has_spring && (kind->sprung == S2_ALL_ROWS || kind->sprung == row);
}

bool s2_joint_may_hold(const S2Joint *joint) {
  return (s2_joint_kind(joint->type)->parts & S2_HAS_OTHERS) != 0 && joint->joint_a == S2_NONE;
}
