#include "diff/world/world_control.h"

#include "diff/world/world_readings.h"
#include "dynamics/control/apply.h"

#include <assert.h>

enum {
  MOVED = 12, // number of pose and velocity components of two bodies
  FORCES = 6  // torque, x, y on each of two bodies
};

// ---- Measures of joints ------------------------------------------------------------------------

// The places of the coordinates of a joint's moving bodies: poses and, with `speeds`, velocities.
static int moved_places(const S2World *world, const S2Joint *joint, bool speeds,
                        S2Place places[MOVED]) {
  const int32_t bodies[2] = {joint->a, joint->b};
  int count = 0;
  for (int kind = 0; kind < (speeds ? 2 : 1); kind++) {
    for (int k = 0; k < 2; k++) {
      bool moves = bodies[k] != S2_NONE && world->bodies.at[bodies[k]].type != S2_STATIC;
      for (int c = 0; moves && c < 3; c++) {
        places[count++] = s2_place(kind == 0 ? S2_PLACE_Q : S2_PLACE_V, bodies[k], c);
      }
    }
  }
  return count;
}

typedef struct Measured {
  S2JointId joint;
  S2JointField field;
} Measured;

static void measure_field(const void *user, const S2World *world, double *numbers) {
  const Measured *measured = user;
  S2Status status = s2_joint_get(world, measured->joint, measured->field, numbers);
  assert(status.code == S2_OK); // reading it has already succeeded once
  (void)status;
}

// Subtracts the angles or the angular velocities of two bodies.
static S2Var field_between(S2WorldTape *tape, const S2World *world, const S2Joint *joint,
                           S2PlaceKind kind, double value) {
  S2Term terms[2];
  int used = 0;
  if (joint->a != S2_NONE) {
    terms[used++] = (S2Term){.to = 0, .source = s2_place(kind, joint->a, 0), .factor = 1};
  }
  if (joint->b != S2_NONE) {
    terms[used++] = (S2Term){.to = 0, .source = s2_place(kind, joint->b, 0), .factor = -1};
  }
  return s2_world_tape_read(tape, world, 1, &value, used, terms);
}

static S2Status joint_field(S2WorldTape *tape, S2World *world, S2JointId id, S2JointField field,
                            double value, S2Var *var) {
  const S2Joint *joint = &world->joints.at[id.index - 1];
  bool plain = joint->type != S2_GEAR && joint->type != S2_CONSTRAINT && joint->type != S2_PULLEY;
  switch (field) {
  case S2_JOINT_FORCE:
  case S2_JOINT_TORQUE:
    return s2_error(S2_UNAVAILABLE, "a rollout cannot differentiate the joint field '%s'",
                    s2_joint_field_name(field));
  case S2_JOINT_ANGLE:
  case S2_JOINT_TRANSLATION:
  case S2_JOINT_LENGTH:
  case S2_JOINT_SPEED:
    break;
  default: // a constant: only motor commands change such fields, and costs do not read them
    *var = 0;
    return s2_ok();
  }
  // Angles are differences of the bodies' angles. Differentiate all other measures numerically.
  bool turns = s2_joint_traits(joint->type)->turns;
  if (plain && field == S2_JOINT_ANGLE) {
    *var = field_between(tape, world, joint, S2_PLACE_Q, value);
  } else if (plain && field == S2_JOINT_SPEED && turns) {
    *var = field_between(tape, world, joint, S2_PLACE_V, value);
  } else if (plain) {
    S2Place places[MOVED];
    int count = moved_places(world, joint, field == S2_JOINT_SPEED, places);
    Measured measured = {id, field};
    *var = s2_world_tape_measure(tape, world, 1, &value, measure_field, &measured, count, places);
  } else {
    return s2_error(S2_UNAVAILABLE, "a rollout cannot differentiate a measurement of a %s",
                    s2_joint_type_name(joint->type));
  }
  return s2_ok();
}

S2Status s2_world_tape_field(S2WorldTape *tape, S2World *world, S2BodyId body, S2JointId joint,
                             int field, double *value, S2Var *var) {
  *var = 0;
  if (joint.index != 0) {
    S2_TRY(s2_joint_get(world, joint, (S2JointField)field, value));
    return joint_field(tape, world, joint, (S2JointField)field, *value, var);
  }
  // Only the poses and velocities of bodies are tracked.
  S2_TRY(s2_body_get(world, body, (S2BodyField)field, value));
  if (field < S2_BODY_STATE_COUNT) {
    S2PlaceKind kind = field < S2_BODY_OMEGA ? S2_PLACE_Q : S2_PLACE_V;
    int number = field < S2_BODY_OMEGA ? field : field - S2_BODY_OMEGA;
    S2Place place = s2_place(kind, (int32_t)body.index - 1, number);
    *var = s2_world_tape_read_places(tape, world, 1, &place);
  }
  return s2_ok();
}

// ---- Actuators --------------------------------------------------------------------------------

// The effort of an actuator, and its tape node.
typedef struct Effort {
  double value;
  S2Var var;
} Effort;

// Adds factors[i] times the effort to the forces of a body.
static void add_force(S2WorldTape *tape, const S2World *world, S2BodyId body, S2Var effort,
                      const double factors[3]) {
  S2Place places[3];
  S2Term terms[3];
  if (body.index == 0 || !s2_body_yields(&world->bodies.at[body.index - 1]) || effort == 0) {
    return;
  }
  for (int c = 0; c < 3; c++) {
    places[c] = s2_place(S2_PLACE_F, (int32_t)body.index - 1, c);
    terms[c] = (S2Term){.to = c, .from = effort, .factor = factors[c]};
  }
  s2_world_tape_add(tape, world, 3, places, 3, terms);
}

// Adds an effort to a component of a body's forces. `part` is the tape node of the direction
// component, by which the effort is multiplied.
static void add_measured(S2WorldTape *tape, const S2World *world, int32_t slot, int number,
                         const Effort *effort, double push, S2Var part) {
  S2Tape *of = s2_world_tape_of(tape);
  S2Var force = s2_tape_scalar2(of, effort->value * push, effort->var, push, part, effort->value);
  if (force != 0) {
    S2Place place = s2_place(S2_PLACE_F, slot, number);
    S2Term term = {.to = 0, .from = force, .factor = 1};
    s2_world_tape_add(tape, world, 1, &place, 1, &term);
  }
}

static S2Var push_part(S2WorldTape *tape, S2Var node, int k) {
  return node != 0 ? s2_tape_element(s2_world_tape_of(tape), node, k) : 0;
}

// Computes torque and force (x, y) on both bodies of a joint for an effort of 1.
static void measure_push(const void *user, const S2World *world, double *numbers) {
  const S2JointId *joint = user;
  S2JointInfo info;
  S2Status status = s2_joint_info(world, *joint, &info);
  assert(status.code == S2_OK);
  (void)status;
  S2Vec2 n;
  bool some = s2_joint_push_line(&info, &n);
  const S2BodyId bodies[2] = {info.a, info.b};
  for (int k = 0; k < 2; k++) {
    double *push = numbers + 3 * k, sign = k == 0 ? 1 : -1;
    push[0] = push[1] = push[2] = 0;
    if (some && bodies[k].index != 0) {
      const double *q = world->q.at + 3 * (bodies[k].index - 1);
      S2Vec2 arm = s2_vec2(info.anchor_a.x - q[1], info.anchor_a.y - q[2]);
      push[0] = sign * (arm.x * n.y - arm.y * n.x);
      push[1] = sign * n.x;
      push[2] = sign * n.y;
    }
  }
}

static void control_push_joint(S2WorldTape *tape, S2World *world, const S2Actuator *actuator,
                               const Effort *effort) {
  const S2Joint *joint = &world->joints.at[actuator->joint.index - 1];
  // The line of action and its distance from the centres depend on the poses.
  S2Place places[MOVED];
  double push[FORCES];
  int count = moved_places(world, joint, false, places);
  S2Var node = s2_world_tape_measure(tape, world, FORCES, push, measure_push, &actuator->joint,
                                     count, places);
  const S2BodyId bodies[2] = {s2_body_id(world, joint->a), s2_body_id(world, joint->b)};
  for (int k = 0; k < FORCES; k++) {
    S2BodyId body = bodies[k / 3];
    if (body.index == 0 || !s2_body_yields(&world->bodies.at[body.index - 1])) {
      continue;
    }
    add_measured(tape, world, (int32_t)body.index - 1, k % 3, effort, push[k],
                 push_part(tape, node, k));
  }
}

// Computes the torque and force (x, y) of an effort of 1. The force is fixed to its body.
static void measure_thrust(const void *user, const S2World *world, double *numbers) {
  const S2Actuator *actuator = user;
  double angle = world->q.at[3 * (actuator->body.index - 1)];
  S2Vec2 along = s2_rotate(s2_rot(angle), actuator->direction);
  numbers[0] = s2_actuator_arm(actuator);
  numbers[1] = along.x;
  numbers[2] = along.y;
}

static void control_thrust(S2WorldTape *tape, S2World *world, const S2Actuator *actuator,
                           const Effort *effort) {
  int32_t slot = (int32_t)actuator->body.index - 1;
  if (!s2_body_yields(&world->bodies.at[slot])) {
    return;
  }
  S2Place angle = s2_place(S2_PLACE_Q, slot, 0);
  double push[3];
  S2Var node = s2_world_tape_measure(tape, world, 3, push, measure_thrust, actuator, 1, &angle);
  for (int k = 0; k < 3; k++) {
    add_measured(tape, world, slot, k, effort, push[k], push_part(tape, node, k));
  }
}

static void control_exert(S2WorldTape *tape, S2World *world, const S2Actuator *actuator,
                          const Effort *effort) {
  static const double turn[3] = {1, 0, 0}, back[3] = {-1, 0, 0};
  if (actuator->fixed) {
    control_thrust(tape, world, actuator, effort);
  } else if (!actuator->on_joint) {
    const double along[3] = {0, actuator->direction.x, actuator->direction.y};
    add_force(tape, world, actuator->body, effort->var, actuator->turns ? turn : along);
  } else if (actuator->turns) {
    const S2Joint *joint = &world->joints.at[actuator->joint.index - 1];
    add_force(tape, world, s2_body_id(world, joint->a), effort->var, turn);
    add_force(tape, world, s2_body_id(world, joint->b), effort->var, back);
  } else {
    control_push_joint(tape, world, actuator, effort);
  }
}

// The effort of a position actuator: kp (goal - position) - kd speed.
static Effort position_effort(S2WorldTape *tape, S2World *world, const S2Actuator *actuator,
                              const Effort *goal) {
  S2Tape *of = s2_world_tape_of(tape);
  double at = 0, speed = 0;
  S2Var at_var = 0, speed_var = 0;
  const S2BodyId none = {0, 0};
  S2JointField field = s2_actuator_coordinate(world, actuator);
  S2Status status =
      s2_world_tape_field(tape, world, none, actuator->joint, (int)field, &at, &at_var);
  assert(status.code == S2_OK); // hinge, slider, spring
  status =
      s2_world_tape_field(tape, world, none, actuator->joint, S2_JOINT_SPEED, &speed, &speed_var);
  assert(status.code == S2_OK);
  (void)status;
  double held = actuator->kp * (goal->value - at);
  S2Var sum = s2_tape_scalar2(of, held, goal->var, actuator->kp, at_var, -actuator->kp);
  double value = held - actuator->kd * speed;
  if (fabs(value) > actuator->most) {
    return (Effort){copysign(actuator->most, value), 0};
  }
  return (Effort){value, s2_tape_scalar2(of, value, sum, 1, speed_var, -actuator->kd)};
}

static void control_actuate(S2WorldTape *tape, S2World *world, int index, int count,
                            const S2TapeCommand *command) {
  const S2Actuator *actuator = &world->actuators.at[index];
  // The command that is in effect, and whether it was clipped.
  int due;
  Effort effort = {s2_actuator_due(world, index, &due), 0};
  for (int i = count - 1; due != S2_NONE && i >= 0; i--) {
    if (command[i].t == world->commands.at[due].t) {
      bool within = command[i].u == effort.value;
      effort.var = within ? command[i].var : 0;
      if (!within && command[i].var != 0) {
        s2_world_tape_clipped(tape, s2_actuator_name(world, index));
      }
      break;
    }
  }
  if (actuator->kind == S2_ACTUATOR_SPEED || actuator->implicit) {
    int number = actuator->implicit ? S2_OF_SERVO_GOAL : S2_OF_MOTOR_SPEED;
    S2Place place = s2_place(S2_PLACE_JOINT, (int32_t)actuator->joint.index - 1, number);
    S2Term term = {.to = 0, .from = effort.var, .factor = 1};
    s2_world_tape_write(tape, world, 1, &place, effort.var != 0 ? 1 : 0, &term);
    return;
  }
  if (actuator->kind == S2_ACTUATOR_POSITION) {
    effort = position_effort(tape, world, actuator, &effort);
  }
  control_exert(tape, world, actuator, &effort);
}

void s2_world_tape_actuate(S2WorldTape *tape, S2World *world, int room, int count,
                           const S2TapeCommand *command) {
  for (int i = 0; i < world->actuators.count; i++) {
    const S2Actuator *actuator = &world->actuators.at[i];
    bool alive = actuator->on_joint ? s2_joint_alive(world, actuator->joint)
                                    : s2_body_alive(world, actuator->body);
    if (alive) { // ignore destroyed targets, which the step reports
      control_actuate(tape, world, i, count, command + (size_t)i * (size_t)room);
    }
  }
}
