// Rows of small islands: their values and directions at given poses.
#include "dynamics/small/small.h"

#include <string.h>

// The two bodies of a joint at given poses, as in joints/measure.c.
typedef struct Sides {
  S2Vec2 ra, rb; // arms of the anchors, in world axes
  S2Vec2 apart;  // from the anchor of b to the anchor of a
  S2Rot turn_b;
} Sides;

static Sides small_joint_sides(const S2SmallJoint *joint, double q[][3], const S2Rot *turn) {
  const double *qa = q[joint->a], *qb = q[joint->b];
  Sides sides = {.turn_b = turn[joint->b]};
  sides.ra = s2_rotate(turn[joint->a], joint->local_a);
  sides.rb = s2_rotate(turn[joint->b], joint->local_b);
  sides.apart = s2_vec2((qa[1] - qb[1]) + (sides.ra.x - sides.rb.x),
                        (qa[2] - qb[2]) + (sides.ra.y - sides.rb.y));
  return sides;
}

// The component of the distance between the anchors along a direction u that turns with b.
static void small_measure_along(const Sides *sides, S2Vec2 u, S2SmallSide *to) {
  to->value = s2_dot(u, sides->apart);
  to->a[0] = s2_cross(sides->ra, u);
  to->a[1] = u.x;
  to->a[2] = u.y;
  to->b[0] = -s2_cross(s2_add(sides->apart, sides->rb), u);
  to->b[1] = -u.x;
  to->b[2] = -u.y;
}

// Measures a row of a joint, which is sign times a function of the poses plus an offset.
static void small_measure_row(const S2SmallJoint *joint, const S2SmallRow *row, double q[][3],
                              const Sides *sides, S2SmallSide *to) {
  double sign = row->sign;
  if (row->measure == S2_SMALL_ALONG) {
    small_measure_along(sides, s2_rotate(sides->turn_b, row->axis), to);
    to->value += row->offset;
  } else if (row->measure == S2_SMALL_ANGLE) {
    double angle = q[joint->a][0] - q[joint->b][0] - joint->angle;
    *to = (S2SmallSide){sign * angle + row->offset, {sign, 0, 0}, {-sign, 0, 0}};
  } else {
    // The distance between the anchors. If they coincide, its direction is the initial one.
    double length = s2_length(sides->apart);
    S2Vec2 n = length < S2_NO_LENGTH ? s2_scale(sign, s2_rotate(sides->turn_b, joint->axis))
                                     : s2_scale(sign / length, sides->apart);
    *to = (S2SmallSide){sign * length + row->offset,
                        {s2_cross(sides->ra, n), n.x, n.y},
                        {-s2_cross(sides->rb, n), -n.x, -n.y}};
  }
}

static void small_measure_joint(const S2Small *small, int i, double q[][3], const S2Rot *turn,
                                bool end, S2SmallSide *to) {
  const S2SmallJoint *joint = &small->joint[i];
  Sides sides = small_joint_sides(joint, q, turn);
  for (int k = 0; k < joint->rows; k++) {
    int r = joint->list[k];
    if (!end || !small->late[r]) {
      small_measure_row(joint, &small->row[r], q, &sides, &to[r]);
    }
  }
}

void s2_small_measure_open(S2Small *small) {
  for (int r = 0; r < small->joint_rows; r++) {
    if (small->late[r]) {
      const S2SmallJoint *joint = &small->joint[small->row[r].place];
      S2Rot turn[S2_SMALL_SEATS];
      Sides sides = {0};
      if (small->row[r].measure != S2_SMALL_ANGLE) {
        turn[joint->a] = s2_rot(small->q1[joint->a][0]);
        turn[joint->b] = s2_rot(small->q1[joint->b][0]);
        sides = small_joint_sides(joint, small->q1, turn);
      }
      small_measure_row(joint, &small->row[r], small->q1, &sides, &small->at1[r]);
    }
  }
}

// Updates a contact point for the poses q, as s2_manifold_point_update does, and its lever arm on
// b.
static void small_place_point(const S2SmallPoint *point, double q[][3], const S2Rot *turn,
                              S2ManifoldPoint *at, S2Vec2 *arm) {
  static const double FAR = 1e-12; // as in manifold.c
  const double *qa = q[point->a], *qb = q[point->b];
  S2Rot turn_a = turn[point->a], turn_b = turn[point->b];
  S2Vec2 offset = s2_vec2(qb[1] - qa[1], qb[2] - qa[2]);
  S2Vec2 pa = s2_rotate(turn_a, at->local_a);
  S2Vec2 pb = s2_add(offset, s2_rotate(turn_b, at->local_b));
  S2Vec2 from_b = s2_sub(pa, pb);
  if (at->feature == S2_VERTEX_VERTEX) {
    double distance = s2_length(from_b);
    double size = fabs(pa.x) + fabs(pa.y) + fabs(pb.x) + fabs(pb.y);
    if (distance > FAR * size) {
      at->normal = s2_scale((s2_dot(from_b, at->normal) < 0 ? -1 : 1) / distance, from_b);
    }
  } else if (at->feature == S2_EDGE_A) {
    at->normal = s2_neg(s2_rotate(turn_a, at->local_normal));
  } else {
    at->normal = s2_rotate(turn_b, at->local_normal);
  }
  at->gap = s2_dot(from_b, at->normal) - point->radius_a - point->radius_b;
  at->point = at->feature == S2_EDGE_B
                  ? s2_add_scaled(pa, -(point->radius_a + at->gap / 2), at->normal)
                  : s2_add_scaled(pb, point->radius_b + at->gap / 2, at->normal);
  *arm = s2_sub(at->point, offset);
}

static void small_write_direction(S2Vec2 arm_a, S2Vec2 arm_b, S2Vec2 d, S2SmallSide *to) {
  to->a[0] = s2_cross(arm_a, d);
  to->a[1] = d.x;
  to->a[2] = d.y;
  to->b[0] = -s2_cross(arm_b, d);
  to->b[1] = -d.x;
  to->b[2] = -d.y;
}

void s2_small_measure(S2Small *small, double q[][3], bool end) {
  S2Rot turn[S2_SMALL_SEATS];
  S2SmallSide *to = end ? small->at1 : small->at0;
  for (int i = 0; i < small->seats; i++) {
    turn[i] = q[i][0] == 0 ? (S2Rot){1, 0} : s2_rot(q[i][0]);
  }
  for (int i = 0; i < small->joints; i++) {
    small_measure_joint(small, i, q, turn, end, to);
  }
  for (int i = 0; i < small->points; i++) {
    S2SmallPoint *point = &small->point[i];
    S2ManifoldPoint *at = end ? &point->at1 : &point->at0;
    S2Vec2 *arm = end ? &point->arm1 : &point->arm0;
    if (end) { // the normal of the start decides the sign of a normal between two vertices
      at->normal = point->at0.normal;
      small_place_point(point, q, turn, at, arm);
    }
    small_write_direction(at->point, *arm, at->normal, &to[point->row]);
    to[point->row].value = at->gap;
    if (point->rough) {
      small_write_direction(at->point, *arm, s2_left(at->normal), &to[point->row + 1]);
      to[point->row + 1].value = 0;
    }
  }
}

// ---- Velocities ---------------------------------------------------------------------------------

void s2_small_velocity(S2SmallStage *stage) {
  const S2Small *small = stage->small;
  double sum[3 * S2_SMALL_SEATS];
  memcpy(sum, stage->rhs, sizeof(double) * (size_t)(3 * small->nodes));
  memset(sum + 3 * small->nodes, 0, sizeof(double) * (size_t)(3 * (small->seats - small->nodes)));
  for (int i = 0; i < stage->unknown; i++) {
    int r = stage->list[i];
    const S2SmallRow *row = &small->row[r];
    const S2SmallSide *side = &stage->side[r];
    double x = stage->x[r], *a = sum + 3 * row->a, *b = sum + 3 * row->b;
    a[0] += side->a[0] * x;
    a[1] += side->a[1] * x;
    a[2] += side->a[2] * x;
    b[0] += side->b[0] * x;
    b[1] += side->b[1] * x;
    b[2] += side->b[2] * x;
  }
  for (int i = 0; i < 3 * small->nodes; i++) {
    stage->v[i] = sum[i] * stage->inverse[i];
  }
}

double s2_small_along(const S2SmallRow *row, const S2SmallSide *side, const double *v) {
  const double *a = v + 3 * row->a, *b = v + 3 * row->b;
  return (side->a[0] * a[0] + side->a[1] * a[1] + side->a[2] * a[2]) +
         (side->b[0] * b[0] + side->b[1] * b[1] + side->b[2] * b[2]);
}

void s2_small_speeds(S2SmallStage *stage) {
  const S2Small *small = stage->small;
  for (int i = 0; i < stage->unknown; i++) {
    int r = stage->list[i];
    stage->r[r] = s2_small_along(&small->row[r], &stage->left[r], stage->v) +
                  (stage->compliance[r] * stage->x[r] + stage->bias[r]);
  }
}
