// The numbers of a world, by class: the place of each in a world, and of its derivative in a
// gradient.
#ifndef S2_TEST_WORLD_NUMBERS_H
#define S2_TEST_WORLD_NUMBERS_H

#include "worlds.h"

#include "diff/world/world_gradient.h"
#include "dynamics/world/world.h"

enum { CLASSES = 53 };

typedef enum Class {
  OF_Q,
  OF_V,
  OF_F,
  OF_MASS,
  OF_INERTIA,
  OF_FRICTION,
  OF_RESTITUTION,
  OF_LINEAR_DAMPING,
  OF_ANGULAR_DAMPING,
  OF_GRAVITY_SCALE,
  OF_SURFACE_SPEED,
  OF_CONTACT_COMPLIANCE,
  OF_CONTACT_DAMPING,
  OF_PIECE_RADIUS,
  OF_PIECE_FRICTION,
  OF_PIECE_RESTITUTION,
  OF_VERTEX_X,
  OF_VERTEX_Y,
  OF_GRAVITY_X,
  OF_GRAVITY_Y,
  OF_DT,
  OF_ALPHA,
  OF_BETA,
  OF_CONTACT_VISCOSITY,
  OF_JOINTS, // the first number of joints
  OF_ANCHOR_A = OF_JOINTS,
  OF_ANCHOR_B,
  OF_AXIS,
  OF_ANGLE0,
  OF_LENGTH,
  OF_RATIO,
  OF_SUM,
  OF_GOAL,
  OF_RATE,
  OF_STIFFNESS,
  OF_QUADRATIC,
  OF_CUBIC,
  OF_COMPLIANCE,
  OF_ANGULAR_COMPLIANCE,
  OF_COMPLIANCE_MATRIX,
  OF_DAMPING,
  OF_ANGULAR_DAMPER,
  OF_DAMPING_MATRIX,
  OF_LIMIT_LO,
  OF_LIMIT_HI,
  OF_MOTOR_SPEED,
  OF_MOTOR_MAX,
  OF_DRY,
  OF_MAX_FORCE,
  OF_MAX_TORQUE,
  OF_IMPULSE,
  OF_GROUND_A,
  OF_GROUND_B,
  OF_NOTHING
} Class;

static const char *const class_name[CLASSES] = {
    "q",
    "v",
    "f",
    "mass",
    "inertia",
    "friction",
    "restitution",
    "linear damping",
    "angular damping",
    "gravity scale",
    "surface speed",
    "contact compliance",
    "contact damping",
    "radius",
    "friction of a piece",
    "restitution of a piece",
    "x of a vertex",
    "y of a vertex",
    "x of gravity",
    "y of gravity",
    "dt",
    "alpha",
    "beta",
    "contact viscosity",
    "joint anchor a",
    "joint anchor b",
    "joint axis",
    "joint angle0",
    "joint length",
    "joint ratio",
    "joint sum",
    "joint goal",
    "joint rate",
    "joint stiffness",
    "joint quadratic",
    "joint cubic",
    "joint compliance",
    "joint angular compliance",
    "joint compliance matrix",
    "joint damping",
    "joint angular damper",
    "joint damping matrix",
    "joint limit lo",
    "joint limit hi",
    "joint motor speed",
    "joint motor max",
    "joint dry",
    "joint max force",
    "joint max torque",
    "joint impulse",
    "joint ground a",
    "joint ground b",
    "nothing",
};

// Fields are written directly, without the checks and without their consequences (the reach of a
// body).
static inline int numbers_of_joint(Class of) {
  switch (of) {
  case OF_ANCHOR_A:
  case OF_ANCHOR_B:
  case OF_AXIS:
  case OF_GROUND_A:
  case OF_GROUND_B:
    return 2;
  case OF_GOAL:
  case OF_RATE:
    return 3;
  case OF_COMPLIANCE_MATRIX:
  case OF_DAMPING_MATRIX:
    return 9;
  case OF_IMPULSE:
    return S2_JOINT_ROWS;
  default:
    return 1;
  }
}

static inline bool of_matrix(Class of) {
  return of == OF_COMPLIANCE_MATRIX || of == OF_DAMPING_MATRIX;
}

// The place of a class in a joint and in its gradient, which name their numbers alike.
#define PLACE(field)                                                                               \
  { offsetof(S2Joint, field), offsetof(S2JointGradient, field) }
static const size_t place_in_joint[][2] = {
    [OF_ANCHOR_A - OF_JOINTS] = PLACE(local_a),
    [OF_ANCHOR_B - OF_JOINTS] = PLACE(local_b),
    [OF_AXIS - OF_JOINTS] = PLACE(axis),
    [OF_ANGLE0 - OF_JOINTS] = PLACE(angle0),
    [OF_LENGTH - OF_JOINTS] = PLACE(length),
    [OF_RATIO - OF_JOINTS] = PLACE(ratio),
    [OF_SUM - OF_JOINTS] = PLACE(sum),
    [OF_GOAL - OF_JOINTS] = PLACE(goal),
    [OF_RATE - OF_JOINTS] = PLACE(rate),
    [OF_STIFFNESS - OF_JOINTS] = PLACE(stiffness),
    [OF_QUADRATIC - OF_JOINTS] = PLACE(quadratic),
    [OF_CUBIC - OF_JOINTS] = PLACE(cubic),
    [OF_COMPLIANCE - OF_JOINTS] = PLACE(compliance.linear),
    [OF_ANGULAR_COMPLIANCE - OF_JOINTS] = PLACE(compliance.angular),
    [OF_COMPLIANCE_MATRIX - OF_JOINTS] = PLACE(compliance.matrix),
    [OF_DAMPING - OF_JOINTS] = PLACE(damping.linear),
    [OF_ANGULAR_DAMPER - OF_JOINTS] = PLACE(damping.angular),
    [OF_DAMPING_MATRIX - OF_JOINTS] = PLACE(damping.matrix),
    [OF_LIMIT_LO - OF_JOINTS] = PLACE(limit_lo),
    [OF_LIMIT_HI - OF_JOINTS] = PLACE(limit_hi),
    [OF_MOTOR_SPEED - OF_JOINTS] = PLACE(motor_speed),
    [OF_MOTOR_MAX - OF_JOINTS] = PLACE(motor_max),
    [OF_DRY - OF_JOINTS] = PLACE(friction),
    [OF_MAX_FORCE - OF_JOINTS] = PLACE(max_force),
    [OF_MAX_TORQUE - OF_JOINTS] = PLACE(max_torque),
    [OF_IMPULSE - OF_JOINTS] = PLACE(impulse),
    [OF_GROUND_A - OF_JOINTS] = PLACE(ground_a),
    [OF_GROUND_B - OF_JOINTS] = PLACE(ground_b),
};
#undef PLACE

// Number i of a joint's class, and the same in the gradient.
static inline double *number_of_joint(S2Joint *joint, Class of, int i) {
  return (double *)(void *)((char *)joint + place_in_joint[of - OF_JOINTS][0]) + i;
}

static inline const double *derivative_of_joint(const S2JointGradient *joint, Class of, int i) {
  const char *place = (const char *)joint + place_in_joint[of - OF_JOINTS][1];
  return (const double *)(const void *)place + i;
}

// The entry across the diagonal: matrices remain symmetric.
static inline int mirrored(int i, int size) {
  return i % size * size + i / size;
}

static inline int numbers_of(const S2World *world, Class of) {
  if (of >= OF_JOINTS && of < OF_NOTHING) {
    return world->joints.count * numbers_of_joint(of);
  }
  switch (of) {
  case OF_Q:
  case OF_V:
  case OF_F:
    return 3 * world->bodies.count;
  case OF_PIECE_RADIUS:
  case OF_PIECE_FRICTION:
  case OF_PIECE_RESTITUTION:
    return world->pieces.count;
  case OF_VERTEX_X:
  case OF_VERTEX_Y:
    return world->vertices.count;
  case OF_GRAVITY_X:
  case OF_GRAVITY_Y:
  case OF_DT:
  case OF_ALPHA:
  case OF_BETA:
    return 1;
  case OF_NOTHING:
    return 0;
  default:
    return world->bodies.count;
  }
}

static inline double *number_of(S2World *world, Class of, int i) {
  S2Body *body = i < world->bodies.count ? &world->bodies.at[i] : NULL;
  S2Piece *piece = i < world->pieces.count ? &world->pieces.at[i] : NULL;
  S2WorldDef *def = &world->kept.def;
  if (of >= OF_JOINTS && of < OF_NOTHING) {
    int each = numbers_of_joint(of);
    return number_of_joint(&world->joints.at[i / each], of, i % each);
  }
  switch (of) {
  case OF_Q:
    return &world->q.at[i];
  case OF_V:
    return &world->v.at[i];
  case OF_F:
    return &world->f.at[i];
  case OF_MASS:
    return &body->mass;
  case OF_INERTIA:
    return &body->inertia;
  case OF_FRICTION:
    return &body->friction;
  case OF_RESTITUTION:
    return &body->restitution;
  case OF_LINEAR_DAMPING:
    return &body->linear_damping;
  case OF_ANGULAR_DAMPING:
    return &body->angular_damping;
  case OF_GRAVITY_SCALE:
    return &body->gravity_scale;
  case OF_SURFACE_SPEED:
    return &body->surface_speed;
  case OF_CONTACT_COMPLIANCE:
    return &body->contact_compliance;
  case OF_CONTACT_DAMPING:
    return &body->contact_damping;
  case OF_PIECE_RADIUS:
    return &piece->radius;
  case OF_PIECE_FRICTION:
    return &piece->friction;
  case OF_PIECE_RESTITUTION:
    return &piece->restitution;
  case OF_VERTEX_X:
    return &world->vertices.at[i].x;
  case OF_VERTEX_Y:
    return &world->vertices.at[i].y;
  case OF_GRAVITY_X:
    return &def->gravity.x;
  case OF_GRAVITY_Y:
    return &def->gravity.y;
  case OF_DT:
    return &def->dt;
  case OF_ALPHA:
    return &def->alpha;
  case OF_BETA:
    return &def->beta;
  case OF_CONTACT_VISCOSITY:
    return &body->contact_viscosity;
  default:
    break;
  }
  return NULL;
}

static inline double derivative_of(const S2WorldGradient *g, Class of, int i) {
  if (of >= OF_JOINTS && of < OF_NOTHING) {
    int each = numbers_of_joint(of);
    return *derivative_of_joint(&g->joint[i / each], of, i % each);
  }
  switch (of) {
  case OF_Q:
    return g->q[i];
  case OF_V:
    return g->v[i];
  case OF_F:
    return g->f[i];
  case OF_MASS:
    return g->body[i].mass;
  case OF_INERTIA:
    return g->body[i].inertia;
  case OF_FRICTION:
    return g->body[i].friction;
  case OF_RESTITUTION:
    return g->body[i].restitution;
  case OF_LINEAR_DAMPING:
    return g->body[i].linear_damping;
  case OF_ANGULAR_DAMPING:
    return g->body[i].angular_damping;
  case OF_GRAVITY_SCALE:
    return g->body[i].gravity_scale;
  case OF_SURFACE_SPEED:
    return g->body[i].surface_speed;
  case OF_CONTACT_COMPLIANCE:
    return g->body[i].contact_compliance;
  case OF_CONTACT_DAMPING:
    return g->body[i].contact_damping;
  case OF_PIECE_RADIUS:
    return g->piece[i].radius;
  case OF_PIECE_FRICTION:
    return g->piece[i].friction;
  case OF_PIECE_RESTITUTION:
    return g->piece[i].restitution;
  case OF_VERTEX_X:
    return g->vertex[i].x;
  case OF_VERTEX_Y:
    return g->vertex[i].y;
  case OF_GRAVITY_X:
    return g->gravity.x;
  case OF_GRAVITY_Y:
    return g->gravity.y;
  case OF_DT:
    return g->dt;
  case OF_ALPHA:
    return g->alpha;
  case OF_BETA:
    return g->beta;
  case OF_CONTACT_VISCOSITY:
    return g->body[i].contact_viscosity;
  default:
    break;
  }
  return 0;
}

#endif
