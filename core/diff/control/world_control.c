#include "diff/control/world_control.h"

#include "diff/control/world_measures.h"
#include "diff/world/world_tape_parts.h"
#include "dynamics/control/apply.h"

#include <math.h>

// ---- Fields -----------------------------------------------------------------------------------

static S2Status joint_field(S2WorldTape *tape, S2World *world, S2JointId id, S2JointField field,
                            double value, S2Var *var) {
  const S2Joint *joint = &world->joints.at[id.index - 1];
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
    return s2_ok();
  }
  if (!s2_world_tape_joint_field(tape, world, (int32_t)id.index - 1, field, value, var)) {
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

enum {
  MOVED = 6,   // components of the poses, velocities or forces of two bodies
  COMMANDS = 4 // command, kp, kd, most
};
enum { CAUSES = COMMANDS + S2_MEASURED_PLACES + MOVED };

// The effort of an actuator and its derivatives: with respect to tape nodes, or to numbers of the
// world where `from` is 0.
typedef struct Effort {
  double value;
  int count;
  S2Term cause[CAUSES]; // `to` is unused
} Effort;

// The forces of all actuators in the order of their places, and the terms of these forces.
typedef struct Forces {
  S2WorldTape *tape;
  const S2World *world;
  int places, terms;
  S2Place *place;
  S2Term *term;
} Forces;

// Largest numbers of places and terms of one actuator.
enum { MOST_PLACES = MOVED, MOST_TERMS = MOVED * (CAUSES + S2_MEASURED_PLACES) };

static void effort_by_var(Effort *effort, S2Var var, double slope) {
  if (var != 0 && slope != 0) {
    effort->cause[effort->count++] = (S2Term){.from = var, .factor = slope};
  }
}

static void effort_by_place(Effort *effort, S2Place place, double slope) {
  if (slope != 0) {
    effort->cause[effort->count++] = (S2Term){.source = place, .factor = slope};
  }
}

static S2Var actuator_var(const Forces *forces, int index, S2ActuatorNumber number) {
  uint64_t origin = forces->world->actuators.at[index].origin[number];
  return s2_tape_var(forces->tape->tape, origin);
}

// Reads the command in force.
static Effort control_due(const Forces *forces, S2World *world, int index) {
  int due;
  Effort effort = {.value = s2_actuator_due(world, index, &due)};
  S2Var var = due == S2_NONE ? actuator_var(forces, index, S2_ACTUATOR_IDLE)
                             : s2_tape_var(forces->tape->tape, world->commands.at[due].origin);
  effort_by_var(&effort, var, 1);
  return effort;
}

static void add_term(Forces *forces, int to, S2Term term, double factor) {
  term.to = to;
  term.factor *= factor;
  if (term.factor != 0) {
    forces->term[forces->terms++] = term;
  }
}

// The index of a component of a body's force among the places. `number` is 0 .. 2: torque, x, y.
static int force_place(Forces *forces, int32_t slot, int number) {
  int at = forces->places - 1;
  while (at >= 0 && (forces->place[at].kind != S2_PLACE_F || forces->place[at].slot != slot ||
                     forces->place[at].number != number)) {
    at -= 1;
  }
  if (at < 0) {
    at = forces->places++;
    forces->place[at] = s2_place(S2_PLACE_F, slot, number);
  }
  return at;
}

// Adds `push` times the effort to a component of a body's force. `by` (`count` terms) are the
// derivatives of `push`.
static void add_force(Forces *forces, int32_t slot, int number, const Effort *effort, double push,
                      int count, const S2Term *by) {
  if (slot == S2_NONE || !s2_body_yields(&forces->world->bodies.at[slot])) {
    return;
  }
  int to = force_place(forces, slot, number);
  for (int i = 0; i < effort->count; i++) {
    add_term(forces, to, effort->cause[i], push);
  }
  for (int i = 0; i < count; i++) {
    add_term(forces, to, by[i], effort->value);
  }
}

// The measure of a joint along whose gradient the actuator pushes.
static S2Measure *control_measure(const S2Actuator *actuator, const S2Joint *joint) {
  bool slides = joint->type == S2_SLIDER || joint->type == S2_WHEEL;
  return actuator->turns ? s2_measure_angle : slides ? s2_measure_translation : s2_measure_length;
}

// The forces are the effort times the gradient of the measure, which depends on the poses.
static void control_push_joint(Forces *forces, const S2Actuator *actuator, const Effort *effort) {
  const S2World *world = forces->world;
  int32_t slot = (int32_t)actuator->joint.index - 1;
  const S2Joint *joint = &world->joints.at[slot];
  S2Measured measured;
  S2PlaceSlope slopes[S2_MEASURED_PLACES];
  S2Term by[S2_MEASURED_PLACES];
  bool known = s2_measured_at(world, slot, control_measure(actuator, joint), &measured);
  bool none = measured.measure == s2_measure_length && !(measured.row.value > 0);
  for (int k = 0; k < MOVED && known && !none; k++) {
    double along[MOVED] = {0};
    int32_t body = k < 3 ? joint->a : joint->b;
    along[k] = 1;
    int count = actuator->turns ? 0 // a torque does not depend on the poses
                                : s2_measured_vjp(forces->tape, world, &measured, 0, along, slopes);
    for (int i = 0; i < count; i++) {
      by[i] = (S2Term){.source = slopes[i].place, .factor = slopes[i].slope};
    }
    double push = s2_measured_slope(&measured, k);
    if (push != 0 || count > 0) {
      add_force(forces, body, k % 3, effort, push, count, by);
    }
  }
}

// A force on a body. With `fixed`, direction and point turn with the body.
static void control_push_body(Forces *forces, int index, const Effort *effort) {
  const S2Actuator *actuator = &forces->world->actuators.at[index];
  int32_t slot = (int32_t)actuator->body.index - 1;
  S2Vec2 d = actuator->direction, p = actuator->at;
  S2Rot turn = actuator->fixed ? s2_rot(forces->world->q.at[3 * slot]) : (S2Rot){1, 0};
  S2Vec2 along = s2_rotate(turn, d);
  S2Var dx = actuator_var(forces, index, S2_ACTUATOR_DIRECTION_X);
  S2Var dy = actuator_var(forces, index, S2_ACTUATOR_DIRECTION_Y);
  S2Place angle = s2_place(S2_PLACE_Q, slot, 0);
  double bends = actuator->fixed ? 1 : 0;
  const S2Term by_x[] = {{.from = dx, .factor = dx == 0 ? 0 : turn.c},
                         {.from = dy, .factor = dy == 0 ? 0 : -turn.s},
                         {.source = angle, .factor = -along.y * bends}};
  const S2Term by_y[] = {{.from = dx, .factor = dx == 0 ? 0 : turn.s},
                         {.from = dy, .factor = dy == 0 ? 0 : turn.c},
                         {.source = angle, .factor = along.x * bends}};
  add_force(forces, slot, 1, effort, along.x, 3, by_x);
  add_force(forces, slot, 2, effort, along.y, 3, by_y);
  if (actuator->fixed) { // the torque is p_x d_y - p_y d_x
    S2Var px = actuator_var(forces, index, S2_ACTUATOR_AT_X);
    S2Var py = actuator_var(forces, index, S2_ACTUATOR_AT_Y);
    const S2Term by_arm[] = {{.from = px, .factor = px == 0 ? 0 : d.y},
                             {.from = py, .factor = py == 0 ? 0 : -d.x},
                             {.from = dy, .factor = dy == 0 ? 0 : p.x},
                             {.from = dx, .factor = dx == 0 ? 0 : -p.y}};
    add_force(forces, slot, 0, effort, s2_actuator_arm(actuator), 4, by_arm);
  }
}

static void control_exert(Forces *forces, int index, const Effort *effort) {
  const S2Actuator *actuator = &forces->world->actuators.at[index];
  if (actuator->on_joint) {
    control_push_joint(forces, actuator, effort);
  } else if (actuator->turns) {
    add_force(forces, (int32_t)actuator->body.index - 1, 0, effort, 1, 0, NULL);
  } else {
    control_push_body(forces, index, effort);
  }
}

// The effort of an explicit position actuator: kp (goal - position) - kd speed, at most `most`.
static Effort control_hold(Forces *forces, int index, const Effort *goal) {
  const S2World *world = forces->world;
  const S2Actuator *actuator = &world->actuators.at[index];
  int32_t slot = (int32_t)actuator->joint.index - 1;
  const S2Joint *joint = &world->joints.at[slot];
  S2Measured measured = {0};
  S2PlaceSlope slopes[S2_MEASURED_PLACES];
  double v[MOVED], along[MOVED], speed = 0;
  (void)s2_measured_at(world, slot, control_measure(actuator, joint), &measured);
  s2_measured_velocities(world, &measured, v);
  for (int k = 0; k < MOVED; k++) {
    speed += s2_measured_slope(&measured, k) * v[k];
    along[k] = -actuator->kd * v[k];
  }
  // Saturated efforts depend only on their bound.
  double apart = goal->value - measured.row.value;
  Effort effort = {.value = actuator->kp * apart - actuator->kd * speed};
  if (fabs(effort.value) > actuator->most) {
    double sign = copysign(1, effort.value);
    effort.value = sign * actuator->most;
    effort_by_var(&effort, actuator_var(forces, index, S2_ACTUATOR_MOST), sign);
    return effort;
  }
  // Other efforts depend on the goal, the gains and the motion.
  effort_by_var(&effort, goal->count > 0 ? goal->cause[0].from : 0, actuator->kp);
  effort_by_var(&effort, actuator_var(forces, index, S2_ACTUATOR_KP), apart);
  effort_by_var(&effort, actuator_var(forces, index, S2_ACTUATOR_KD), -speed);
  int count = s2_measured_vjp(forces->tape, world, &measured, -actuator->kp, along, slopes);
  for (int i = 0; i < count; i++) {
    effort_by_place(&effort, slopes[i].place, slopes[i].slope);
  }
  for (int k = 0; k < MOVED; k++) {
    int32_t body = k < 3 ? joint->a : joint->b;
    if (body != S2_NONE) {
      effort_by_place(&effort, s2_place(S2_PLACE_V, body, k % 3),
                      -actuator->kd * s2_measured_slope(&measured, k));
    }
  }
  return effort;
}

// Writes the speed of a motor or the goal of a servo.
static void control_set(Forces *forces, S2World *world, int index) {
  const S2Actuator *actuator = &world->actuators.at[index];
  int number = actuator->implicit ? S2_OF_SERVO_GOAL : S2_OF_MOTOR_SPEED;
  Effort goal = control_due(forces, world, index);
  forces->place[forces->places] =
      s2_place(S2_PLACE_JOINT, (int32_t)actuator->joint.index - 1, number);
  for (int i = 0; i < goal.count; i++) {
    add_term(forces, forces->places, goal.cause[i], 1);
  }
  forces->places += 1;
}

static bool control_sets(const S2Actuator *actuator) {
  return actuator->kind == S2_ACTUATOR_SPEED || actuator->implicit;
}

// Ignores destroyed targets, which the step reports.
static bool control_acts(const S2World *world, const S2Actuator *actuator) {
  return actuator->on_joint ? s2_joint_alive(world, actuator->joint)
                            : s2_body_alive(world, actuator->body);
}

// Records the effect of all actuators on the next step, which applies them: the forces, the goals
// of servos and the speeds of motors. Returns NULL if nothing was recorded.
static S2WorldAct *control_actuate(S2WorldTape *tape, S2World *world) {
  int count = world->actuated ? world->actuators.count : 0;
  if (count == 0) {
    return NULL;
  }
  s2_arena_reset(&tape->arena);
  Forces forces = {.tape = tape,
                   .world = world,
                   .place = S2_TAKE(&tape->arena, S2Place, MOST_PLACES * (size_t)count),
                   .term = S2_TAKE(&tape->arena, S2Term, MOST_TERMS * (size_t)count)};
  // The places that are replaced come first.
  for (int i = 0; i < count; i++) {
    const S2Actuator *actuator = &world->actuators.at[i];
    if (control_acts(world, actuator) && control_sets(actuator)) {
      control_set(&forces, world, i);
    }
  }
  int replaced = forces.places;
  for (int i = 0; i < count; i++) {
    const S2Actuator *actuator = &world->actuators.at[i];
    if (control_acts(world, actuator) && !control_sets(actuator)) {
      Effort effort = control_due(&forces, world, i);
      effort = actuator->kind == S2_ACTUATOR_POSITION ? control_hold(&forces, i, &effort) : effort;
      control_exert(&forces, i, &effort);
    }
  }
  return forces.terms == 0 && replaced == 0
             ? NULL
             : s2_world_tape_act(tape, world, replaced, forces.places, forces.place, forces.terms,
                                 forces.term);
}

S2Status s2_world_tape_step(S2WorldTape *tape, S2World *world, int every) {
  S2WorldAct *act = control_actuate(tape, world);
  S2Status status = s2_world_tape_advance(tape, world, every);
  if (status.code != S2_OK && act != NULL) { // the actuators had no effect
    act->places = act->terms = act->replaced = 0;
  }
  return status;
}
