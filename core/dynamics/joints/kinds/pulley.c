// Pulley: a rope from a over two fixed points to b, with `ratio` strands on the side of b. Its
// equation is |p_a - ground_a| + ratio |p_b - ground_b| = length. It holds a length, so it can also
// push, like a rod. The coordinate is the length on the side of a.
#include "dynamics/joints/joint.h"

// One side of the pulley, as a distance joint between a body and a point of the world.
S2Joint s2_pulley_side(const S2Joint *pulley, int side) {
  return (S2Joint){
      .type = S2_DISTANCE,
      .a = side == 0 ? pulley->a : pulley->b,
      .b = S2_NONE,
      .local_a = side == 0 ? pulley->local_a : pulley->local_b,
      .local_b = side == 0 ? pulley->ground_a : pulley->ground_b,
      .axis = {0, -1}, // direction at zero length: straight down
  };
}

static void pulley_measure_side(const S2JointAt *at, int side, S2JointRow *row,
                                S2JointHessian *hessian) {
  S2Joint of = s2_pulley_side(at->joint, side);
  S2JointAt its = *at;
  its.joint = &of;
  s2_measure_length(&its, row, hessian);
  // The second body of a side is the world, which does not move.
  for (int i = 0; i < 3; i++) {
    row->jb[i] = 0;
    for (int j = 0; j < 6 && hessian != NULL; j++) {
      hessian->at[3 + i][j] = hessian->at[j][3 + i] = 0;
    }
  }
}

void s2_pulley_measure_a(const S2JointAt *at, S2JointRow *row, S2JointHessian *hessian) {
  pulley_measure_side(at, 0, row, hessian);
}

static void pulley_measure_length(const S2JointAt *at, S2JointRow *row, S2JointHessian *hessian) {
  S2JointRow b;
  S2JointHessian bent;
  double ratio = at->joint->ratio;
  pulley_measure_side(at, 0, row, hessian);
  pulley_measure_side(at, 1, &b, hessian == NULL ? NULL : &bent);
  row->value += ratio * b.value;
  // The first body of the side of b is the second body of the pulley.
  for (int i = 0; i < 3; i++) {
    row->jb[i] = ratio * b.ja[i];
    for (int j = 0; j < 3 && hessian != NULL; j++) {
      hessian->at[3 + i][3 + j] = ratio * bent.at[i][j];
    }
  }
}

void s2_pulley_measure(const S2JointAt *at, S2JointRow *row, S2JointHessian *hessian) {
  pulley_measure_length(at, row, hessian);
  row->value -= at->joint->length;
}

static int pulley_way(const S2Joint *joint, S2Vec2 way[S2_JOINT_WAY]) {
  way[0] = joint->ground_a;
  way[1] = joint->ground_b;
  return 2;
}

static S2Status pulley_create(const S2World *world, const S2JointDef *def, S2Joint *joint) {
  const S2Vec2 ground[2] = {def->ground_a, def->ground_b};
  S2JointRow now;
  if (joint->a == S2_NONE || joint->b == S2_NONE) {
    return s2_error(S2_INVALID, "a pulley joins two bodies: a and b expected");
  }
  for (int i = 0; i < 2; i++) {
    if (!isfinite(ground[i].x) || !isfinite(ground[i].y)) {
      return s2_error(S2_INVALID, "%s: finite numbers expected, got {%g, %g}",
                      i == 0 ? "ground_a" : "ground_b", ground[i].x, ground[i].y);
    }
  }
  if (!isfinite(def->ratio) || !(def->ratio > 0)) {
    return s2_error(S2_INVALID, "ratio: a number above 0 expected, got %g", def->ratio);
  }
  joint->ground_a = def->ground_a;
  joint->ground_b = def->ground_b;
  joint->ratio = def->ratio;
  pulley_measure_length(&(S2JointAt){world, joint, world->q.at, 0, NULL}, &now, NULL);
  joint->length = isnan(def->length) ? now.value : def->length;
  return joint->length > S2_NO_LENGTH && isfinite(joint->length)
             ? s2_ok()
             : s2_error(S2_INVALID, "length: a number above 0 expected, got %g", joint->length);
}

const S2JointKind s2_pulley_kind = {
    .traits = {.name = "pulley",
               .keys = S2_KEYS(S2_KEYS_LENGTH, "ground_a", "ground_b", "ratio", "length", "limits",
                               "restitution", "compliance", "damping", "stabilization"),
               .span = S2_SPAN_LINE,
               .dots = S2_DOTS_ENDS},
    .parts = S2_HAS_COMPLIANCE | S2_HAS_LIMITS | S2_HAS_OTHERS,
    .fields = S2_FIELD_BIT(LENGTH), // scripts can set the length
    .anchors = S2_ANCHORS_TWO,
    .equation = {s2_pulley_measure},
    .coordinate = s2_pulley_measure_a,
    .length = pulley_measure_length,
    .way = pulley_way,
    .create = pulley_create,
};
