// Joints of all types in each of their ways to hold, yield, stop or drive.
#ifndef S2_TEST_JOINT_WAYS_H
#define S2_TEST_JOINT_WAYS_H

#include "world_differences.h"

typedef enum Way {
  AS_IS,
  SCALAR,
  DAMPED,
  MATRIX,
  STIFFNESS_FORM,
  STIFFNESS_MATRIX,
  BLENDED,
  BLENDED_SOFT,
  BLENDED_MATRIX,
  EXPLICIT,
  GEOMETRIC,
  GEOMETRIC_PSD,
  GEOMETRIC_BLENDED,
  GEOMETRIC_SOFT,
  GEOMETRIC_NO_MENDS,
  LIMITED,
  LIMITED_BELOW,
  PINCHED,
  MOTOR,
  MOTOR_AT_BOUND,
  MOTOR_ENDLESS,
  DRY_FRICTION,
  CURVED,
  SPRUNG,
  SUBSTEPS,
  BAUMGARTE,
  POST_SAME,
  POST_ANEW,
  BEFORE,
  UNMENDED,
  BISECTED,
  TWO_STAGES,
  TWO_STAGES_SOFT,
  TWO_STAGES_SPRUNG,
  TWO_STAGES_MOTOR,
  TWO_STAGES_BOUND,
  TWO_STAGES_PINCHED,
  TWO_STAGES_CARRIED,
  ON_A_CARRIER, // a kinematic body instead of the base
  WAYS,
  REFLECTING = WAYS, // only in `mixed`
  FRICTIONLESS,
  ACCELERATIONS,
  BISECTED_SHORT,
  STIFFENED,
  BY_EVENTS,
  ALL_WAYS
} Way;

static const char *const way_name[ALL_WAYS] = {
    "as is",
    "compliance",
    "damped compliance",
    "compliance matrix",
    "stiffness",
    "stiffness matrix",
    "alpha, beta",
    "alpha, beta and compliance",
    "alpha, beta and a compliance matrix",
    "explicit",
    "geometric",
    "geometric psd",
    "geometric, alpha, beta",
    "geometric with compliance",
    "geometric without corrections",
    "limits",
    "limits below",
    "limits that are equal",
    "motor",
    "motor at its bound",
    "motor of any force",
    "dry friction",
    "curved spring",
    "spring along its coordinate",
    "substeps",
    "baumgarte",
    "post",
    "post, new rows",
    "pre",
    "no stabilisation",
    "bisect",
    "two stages",
    "two stages with compliance",
    "two stages with a spring",
    "two stages with a motor",
    "two stages at the bound",
    "two stages, limits that are equal",
    "two stages on a carrier",
    "on a carrier",
    "reflections",
    "frictionless",
    "accelerations",
    "bisect, partial steps",
    "forces that turn too fast",
    "event",
};

static inline void weights(S2JointWeights *to, int size, double linear) {
  to->size = size;
  for (int i = 0; i < size * size; i++) {
    int row = i / size, column = i % size;
    to->matrix[i] = linear * (row == column ? 1 + 0.3 * row : 0.2 / (1 + row + column));
  }
}

static inline int rows_of(S2JointType type) {
  switch (type) {
  case S2_HINGE:
  case S2_SLIDER:
    return 2;
  case S2_WELD:
  case S2_LOCK:
    return 3;
  default:
    return 1;
  }
}

static inline bool may(S2JointType type, unsigned part) {
  return (s2_joint_kind(type)->parts & part) != 0;
}

// Is its coordinate a length? It is 1 in the scenes of this file.
static inline bool is_length(S2JointType type) {
  return type == S2_SPRING || type == S2_PULLEY;
}

// Returns false if the type does not support this way.
static inline bool shape_joint(Way way, S2JointDef *def) {
  int size = rows_of(def->type);
  bool soft = may(def->type, S2_HAS_COMPLIANCE), springs = may(def->type, S2_HAS_STIFFNESS);
  switch (way) {
  case STIFFNESS_FORM:
  case BLENDED_SOFT:
  case DAMPED:
  case TWO_STAGES_SOFT:
  case EXPLICIT:
  case GEOMETRIC_SOFT:
  case SCALAR:
    if (soft) {
      def->compliance = (S2JointWeights){.linear = 2e-4, .angular = 3e-2};
      def->damping = (S2JointWeights){.linear = way == SCALAR ? 0 : 4, .angular = 0.3};
    }
    return soft || (springs && way != SCALAR);
  case MATRIX:
  case STIFFNESS_MATRIX:
  case BLENDED_MATRIX:
    weights(&def->compliance, size, 3e-3);
    weights(&def->damping, size, 2);
    return soft;
  case LIMITED_BELOW:
    def->axis = s2_vec2(-0.8, -0.6);
    def->has_limits = true;
    def->limit_lo = is_length(def->type) ? 0.998 : -0.004;
    def->limit_hi = 2;
    return may(def->type, S2_HAS_LIMITS);
  case LIMITED:
    def->has_limits = true;
    def->limit_lo = is_length(def->type) ? 0.9995 : -5e-4;
    def->limit_hi = is_length(def->type) ? 1.0005 : 5e-4;
    return may(def->type, S2_HAS_LIMITS);
  case PINCHED:
  case TWO_STAGES_PINCHED:
    def->has_limits = true;
    def->limit_lo = def->limit_hi = is_length(def->type) ? 1.0 : 0;
    return may(def->type, S2_HAS_LIMITS);
  case MOTOR:
  case TWO_STAGES_MOTOR:
  case TWO_STAGES_BOUND:
  case MOTOR_AT_BOUND:
  case MOTOR_ENDLESS:
    def->has_motor = true;
    def->motor_speed = 0.7;
    def->motor_max = way == MOTOR || way == TWO_STAGES_MOTOR            ? 200
                     : way == MOTOR_AT_BOUND || way == TWO_STAGES_BOUND ? 0.4
                                                                        : INFINITY;
    return may(def->type, S2_HAS_DRIVE);
  case DRY_FRICTION:
    def->friction = 0.3;
    return may(def->type, S2_HAS_DRIVE);
  case CURVED:
    def->quadratic = 30;
    def->cubic = 50;
    return def->type == S2_SPRING;
  case SPRUNG:
  case TWO_STAGES_SPRUNG:
    def->stiffness = 12;
    def->damping = (S2JointWeights){.linear = 0.7, .angular = 0.7};
    def->rest = 0.05;
    def->reference = 0.02;
    return soft && springs;
  default:
    return true;
  }
}

static inline void shape_world(Way way, S2WorldDef *def) {
  switch (way) {
  case STIFFNESS_FORM:
  case STIFFNESS_MATRIX:
    def->elasticity = S2_AS_STIFFNESS;
    def->alpha = 0.8;
    def->beta = 0.9;
    break;
  case BLENDED:
  case BLENDED_SOFT:
  case BLENDED_MATRIX:
    def->alpha = 0.7;
    def->beta = 0.6;
    break;
  case EXPLICIT:
    def->alpha = 0;
    def->beta = 0.7;
    break;
  case GEOMETRIC:
    def->geometric_stiffness = S2_GEOMETRIC_ON;
    break;
  case GEOMETRIC_PSD:
    def->geometric_stiffness = S2_GEOMETRIC_PSD;
    break;
  case GEOMETRIC_SOFT:
  case GEOMETRIC_BLENDED:
    def->geometric_stiffness = S2_GEOMETRIC_ON;
    def->alpha = 0.8;
    def->beta = 0.7;
    break;
  case GEOMETRIC_NO_MENDS:
    def->geometric_stiffness = S2_GEOMETRIC_PSD;
    def->beta = 0.8;
    def->stabilization = S2_NO_STABILIZATION;
    break;
  case TWO_STAGES:
  case TWO_STAGES_SOFT:
  case TWO_STAGES_SPRUNG:
  case TWO_STAGES_MOTOR:
  case TWO_STAGES_BOUND:
  case TWO_STAGES_PINCHED:
  case TWO_STAGES_CARRIED:
    def->flow = S2_FLOW_RATTLE;
    break;
  case SUBSTEPS:
    def->substeps = 3;
    break;
  case BAUMGARTE:
    def->stabilization = S2_BAUMGARTE;
    break;
  case POST_SAME:
    def->stabilization = S2_POST;
    break;
  case POST_ANEW:
    def->stabilization = S2_POST_ASSEMBLY;
    break;
  case BEFORE:
    def->stabilization = S2_PRE;
    break;
  case UNMENDED:
    def->stabilization = S2_NO_STABILIZATION;
    break;
  case BISECTED:
    def->stepping = S2_BISECT;
    break;
  case REFLECTING:
    def->restitution_model = S2_REFLECTIONS;
    break;
  case FRICTIONLESS:
    def->contact = S2_FRICTIONLESS;
    break;
  case ACCELERATIONS:
    def->formulation = S2_FORM_ACCELERATION;
    break;
  case BISECTED_SHORT:
    def->stepping = S2_BISECT;
    def->stepping_partial = true;
    break;
  case STIFFENED:
    def->gravity.y = -300;
    def->dt = 0.1;
    break;
  case BY_EVENTS:
    def->stepping = S2_EVENT;
    break;
  default:
    break;
  }
}

static inline S2BodyDef moving(double x, double y, double vx, double vy, double omega) {
  S2BodyDef def = at(x, y);
  def.velocity = s2_vec2(vx, vy);
  def.angular_velocity = omega;
  def.density = 1.3;
  def.angular_damping = 0.1;
  return def;
}

// A joint of this type between the given bodies; false if that is impossible.
static inline bool add_joint(S2World *world, S2JointType type, Way way, S2BodyId a, S2BodyId b,
                             S2Vec2 anchor, const S2JointId *parts) {
  S2JointDef def = s2_joint_def(type);
  def.a = a;
  def.b = b;
  def.anchor_a = anchor;
  def.axis = s2_vec2(0.8, 0.6);
  if (type == S2_DISTANCE || type == S2_SPRING || type == S2_ROPE) {
    def.anchor_b = s2_vec2(anchor.x - 0.6, anchor.y + 0.8);
  }
  if (type == S2_PULLEY) {
    def.anchor_b = s2_vec2(NAN, NAN);
    def.ground_a = s2_vec2(anchor.x - 0.6, anchor.y + 0.8);
    def.ground_b = s2_vec2(anchor.x + 0.9, anchor.y + 1);
    def.ratio = 1.4;
  }
  if (type == S2_SPRING || type == S2_MOUSE || type == S2_WHEEL) {
    def.stiffness = 40;
    def.damping.linear = 0.8;
  }
  if (type == S2_SPRING) {
    def.rest_length = 0.95;
  }
  if (type == S2_MOUSE || type == S2_LOCK || type == S2_GROUND_FRICTION) {
    def.b = (S2BodyId){0};
    def.target = s2_vec2(anchor.x + 0.2, anchor.y + 0.1);
  }
  if (type == S2_LOCK) {
    def.anchor_a = s2_vec2(NAN, NAN);
    def.lock_x = def.lock_y = def.lock_angle = true;
    def.velocity = s2_vec2(0.3, 0.1);
    def.angular_velocity = 0.2;
  }
  if (type == S2_GROUND_FRICTION) {
    def.anchor_a = s2_vec2(NAN, NAN);
    def.max_force = 0.9;
    def.max_torque = 0.05;
  }
  if (type == S2_GEAR) {
    def.a = def.b = (S2BodyId){0};
    def.anchor_a = s2_vec2(NAN, NAN);
    def.joint_a = parts[0];
    def.joint_b = parts[1];
    def.ratio = -1.5;
  }
  S2JointId joint;
  if (!shape_joint(way, &def)) {
    return false;
  }
  must(s2_joint_create(world, &def, &joint));
  return true;
}

// The joint (in its own way) attaches one body to the base, and a hinge attaches another body to
// the first. NULL: there is no such joint.
static inline S2World *scene(S2JointType type, Way joint, Way way) {
  S2World *world = world_new(-9.8, 1.0 / 60);
  S2WorldDef def = *s2_world_settings(world);
  def.gravity = type == S2_GROUND_FRICTION ? s2_vec2(0, 0) : s2_vec2(0.4, -9.8);
  def.tolerance = 1e-12;
  shape_world(way, &def);
  must(s2_world_configure(world, &def));
  S2BodyDef place = fixed_at(0, 0);
  if (way == ON_A_CARRIER || way == TWO_STAGES_CARRIED) {
    place = moving(0, 0, 0.3, -0.2, 0.4);
    place.type = S2_KINEMATIC;
  }
  place.angle = 0.2;
  S2BodyId base = add_box(world, place, 0.2, 0.2);
  bool lively = type != S2_LOCK && type != S2_WELD;
  S2BodyDef first = moving(0.6, -0.2, lively ? 0.2 : 0, 0.1, lively ? 0.4 : 0);
  first.angle = 0.3;
  S2BodyId one = add_box(world, first, 0.7, 0.3);
  S2BodyId two = add_box(world, moving(1.3, -0.5, 0.1, 0.2, -0.3), 0.5, 0.2);
  S2JointId hinges[2];
  S2JointDef hinge = s2_joint_def(S2_HINGE);
  hinge.a = two;
  hinge.b = one;
  hinge.anchor_a = s2_vec2(1, -0.3);
  must(s2_joint_create(world, &hinge, &hinges[1]));
  if (type == S2_GEAR) { // a gear moves two bodies here: the other one is on the world
    hinge.a = two;
    hinge.b = s2_joint_def(S2_HINGE).b;
    S2JointDef slider = s2_joint_def(S2_SLIDER);
    slider.a = one;
    slider.anchor_a = s2_vec2(0.2, 0.1);
    slider.axis = s2_vec2(0.8, -0.6);
    must(s2_joint_create(world, &slider, &hinges[0]));
  }
  S2BodyId other = type == S2_PULLEY ? two : base; // the other end hangs, too
  if (!add_joint(world, type, joint, one, other, s2_vec2(0.3, 0.1), hinges)) {
    s2_world_destroy(world);
    return NULL;
  }
  return world;
}

static const S2JointType types[] = {
    S2_HINGE, S2_WELD, S2_SLIDER, S2_DISTANCE, S2_SPRING,          S2_ROPE,
    S2_GEAR,  S2_LOCK, S2_MOUSE,  S2_WHEEL,    S2_GROUND_FRICTION, S2_PULLEY};
enum { TYPES = sizeof types / sizeof *types };

#endif
