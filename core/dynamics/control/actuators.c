#include "dynamics/control/actuate.h"
#include "dynamics/joints/joint.h"
#include "dynamics/world/world.h"

#include <string.h>

static const double KP = 100, KD = 10; // N m/rad and N m s/rad (N/m and N s/m), where nobody says
static const double EARLY = 1e-6;      // of a step: sums of dt miss their mark by rounding

const char *const s2_actuator_kind_names[] = {"force", "torque", "speed", "position", NULL};

S2ActuatorDef s2_actuator_def(void) {
  return (S2ActuatorDef){.direction = {1, 0}, .lo = -INFINITY, .hi = INFINITY, .kp = KP, .kd = KD};
}

static double actuator_cut(const S2Actuator *actuator, double value) {
  return value < actuator->lo ? actuator->lo : value > actuator->hi ? actuator->hi : value;
}

// ---- Declaring --------------------------------------------------------------------------------

static S2Status actuator_check_joint(const S2World *world, const S2ActuatorDef *def,
                                     S2Actuator *actuator) {
  int32_t slot;
  S2_TRY(s2_joint_slot(world, def->joint, &slot));
  S2JointType type = world->joints.at[slot].type;
  bool turning = type == S2_HINGE || type == S2_WHEEL || type == S2_WELD;
  bool pushed = type == S2_SLIDER || type == S2_SPRING || type == S2_DISTANCE || type == S2_ROPE;
  bool driven = type == S2_HINGE || type == S2_SLIDER || type == S2_WHEEL || type == S2_SPRING;
  bool placed = type == S2_HINGE || type == S2_SLIDER || type == S2_SPRING;
  bool good = def->kind == S2_ACTUATOR_TORQUE  ? turning
              : def->kind == S2_ACTUATOR_FORCE ? pushed || type == S2_WHEEL
              : def->kind == S2_ACTUATOR_SPEED ? driven
                                               : placed;
  actuator->turns =
      def->kind == S2_ACTUATOR_TORQUE || (def->kind == S2_ACTUATOR_POSITION && type == S2_HINGE);
  return good ? s2_ok()
              : s2_error(S2_INVALID, "actuator: '%s' cannot act on a %s",
                         s2_actuator_kind_names[def->kind], s2_joint_type_name(type));
}

static S2Status actuator_check(const S2World *world, const S2ActuatorDef *def,
                               S2Actuator *actuator) {
  if ((def->joint.index == 0) == (def->body.index == 0)) {
    return s2_error(S2_INVALID, "actuator: either a joint or a body expected");
  }
  if (!(def->lo <= def->hi)) {
    return s2_error(S2_INVALID, "actuator: a range lo <= hi expected, got %g, %g", def->lo,
                    def->hi);
  }
  const double numbers[3] = {def->delay, def->kp, def->kd};
  static const char *const names[3] = {"delay", "kp", "kd"};
  for (int i = 0; i < 3; i++) {
    if (!isfinite(numbers[i]) || numbers[i] < 0) {
      return s2_error(S2_INVALID, "actuator: %s: a number not below 0 expected, got %g", names[i],
                      numbers[i]);
    }
  }
  // On a joint: whether it turns or pushes follows from its type. On a body: a force or a torque.
  if (def->joint.index != 0) {
    return actuator_check_joint(world, def, actuator);
  }
  int32_t slot;
  S2_TRY(s2_body_slot(world, def->body, &slot));
  actuator->turns = def->kind == S2_ACTUATOR_TORQUE;
  if (def->kind != S2_ACTUATOR_FORCE && def->kind != S2_ACTUATOR_TORQUE) {
    return s2_error(S2_INVALID, "actuator: '%s' acts on joints only",
                    s2_actuator_kind_names[def->kind]);
  }
  double length = hypot(def->direction.x, def->direction.y);
  if (def->kind == S2_ACTUATOR_FORCE && !(length > 0 && isfinite(length))) {
    return s2_error(S2_INVALID, "actuator: a direction expected");
  }
  return s2_ok();
}

S2Status s2_actuator_create(S2World *world, const S2ActuatorDef *def, int *index) {
  S2Actuator actuator;
  memset(&actuator, 0, sizeof actuator); // its padding goes into images
  S2_TRY(s2_world_idle(world));
  S2_TRY(actuator_check(world, def, &actuator));
  if (def->name != NULL) {
    size_t size = strnlen(def->name, S2_NAME_SIZE - 1);
    memcpy(actuator.name, def->name, size);
  }
  actuator.kind = def->kind;
  actuator.joint = def->joint;
  actuator.body = def->body;
  double x = def->direction.x, y = def->direction.y, length = sqrt(x * x + y * y);
  actuator.direction = length > 0 ? s2_vec2(x / length, y / length) : s2_vec2(0, 0);
  actuator.lo = def->lo;
  actuator.hi = def->hi;
  actuator.delay = def->delay;
  actuator.kp = def->kp;
  actuator.kd = def->kd;
  actuator.value = actuator.held = actuator_cut(&actuator, 0);
  actuator.held_time = -INFINITY; // nobody gave it
  *index = world->actuators.count;
  *s2_array_append(world->actuators) = actuator;
  return s2_ok();
}

int s2_world_actuator_count(const S2World *world) {
  return world->actuators.count;
}

static S2Status actuator_find(const S2World *world, int index, S2Actuator **actuator) {
  if (index < 0 || index >= world->actuators.count) {
    return s2_error(S2_INVALID, "actuator %d: there are %d", index + 1, world->actuators.count);
  }
  *actuator = &world->actuators.at[index];
  return s2_ok();
}

S2Status s2_actuator_info(const S2World *world, int index, S2ActuatorDef *def) {
  S2Actuator *a = NULL;
  S2_TRY(actuator_find(world, index, &a));
  *def = (S2ActuatorDef){a->name, a->kind, a->joint, a->body, a->direction,
                         a->lo,   a->hi,   a->delay, a->kp,   a->kd};
  return s2_ok();
}

void s2_actuator_range(const S2World *world, int index, double *lo, double *hi) {
  *lo = world->actuators.at[index].lo;
  *hi = world->actuators.at[index].hi;
}

double s2_actuator_held(S2World *world, int index, double *time) {
  s2_world_take_due(world);
  *time = world->actuators.at[index].held_time;
  return world->actuators.at[index].held;
}

void s2_world_actuate_by_hand(S2World *world, bool by_hand) {
  world->by_hand = by_hand;
}

double s2_actuator_value(const S2World *world, int index) {
  return world->actuators.at[index].value;
}

// ---- Commands ---------------------------------------------------------------------------------

static void actuator_tell(S2World *world, int index, double value) {
  S2Actuator *actuator = &world->actuators.at[index];
  double now = world->kept.time;
  actuator->value = value;
  if (actuator->delay == 0) {
    actuator->held = value;
    actuator->held_time = now;
    return;
  }
  // A second command at the same time takes the place of the first.
  for (int i = world->commands.count - 1; i >= 0; i--) {
    S2Command *command = &world->commands.at[i];
    if (command->actuator == index && command->time >= now) {
      command->value = value;
      return;
    }
  }
  *s2_array_append(world->commands) = (S2Command){index, now, value};
}

S2Status s2_actuator_command(S2World *world, int index, double value, bool *clipped) {
  S2Actuator *actuator = NULL;
  S2_TRY(actuator_find(world, index, &actuator));
  if (!isfinite(value)) {
    return s2_error(S2_INVALID, "'%s': finite number expected, got %g", actuator->name, value);
  }
  double cut = actuator_cut(actuator, value);
  actuator_tell(world, index, cut);
  if (clipped != NULL) {
    *clipped = cut != value;
  }
  return s2_ok();
}

S2Status s2_world_act(S2World *world, const double *u, int count, int *clipped) {
  if (count != world->actuators.count) {
    return s2_error(S2_INVALID, "%d commands expected, one an actuator, got %d",
                    world->actuators.count, count);
  }
  // All are looked at before any counts.
  int cuts = 0;
  for (int i = 0; i < count; i++) {
    if (!isfinite(u[i])) {
      return s2_error(S2_INVALID, "'%s': finite number expected, got %g",
                      world->actuators.at[i].name, u[i]);
    }
  }
  for (int i = 0; i < count; i++) {
    double cut = actuator_cut(&world->actuators.at[i], u[i]);
    cuts += cut != u[i];
    actuator_tell(world, i, cut);
  }
  if (clipped != NULL) {
    *clipped = cuts;
  }
  return s2_ok();
}

// ---- In the step ------------------------------------------------------------------------------

void s2_world_take_due(S2World *world) {
  double now = world->kept.time, dt = world->kept.def.dt;
  int left = 0;
  for (int i = 0; i < world->commands.count; i++) {
    S2Command command = world->commands.at[i];
    S2Actuator *actuator = &world->actuators.at[command.actuator];
    double due = now - ceil(actuator->delay / dt - EARLY) * dt + EARLY * dt;
    if (command.time <= due) {
      actuator->held = command.value;
      actuator->held_time = command.time;
    } else {
      world->commands.at[left++] = command;
    }
  }
  world->commands.count = left;
}

static void actuator_push(S2World *world, S2BodyId body, S2Vec2 force, const S2Vec2 *at) {
  if (body.index != 0 && world->bodies.at[body.index - 1].type == S2_DYNAMIC) {
    (void)s2_body_apply_force(world, body, force, at);
  }
}

static void actuator_turn(S2World *world, S2BodyId body, double torque) {
  if (body.index != 0 && world->bodies.at[body.index - 1].type == S2_DYNAMIC) {
    (void)s2_body_apply_torque(world, body, torque);
  }
}

// Along what a joint measures: its translation, or the line between its anchors.
static S2Status actuator_push_joint(S2World *world, const S2Actuator *actuator, double force) {
  S2JointInfo info;
  S2_TRY(s2_joint_info(world, actuator->joint, &info));
  S2Vec2 n = info.axis;
  if (info.type != S2_SLIDER && info.type != S2_WHEEL) {
    S2Vec2 d = s2_sub(info.anchor_a, info.anchor_b);
    double length = sqrt(d.x * d.x + d.y * d.y);
    if (!(length > 0)) {
      return s2_ok();
    }
    n = s2_vec2(d.x / length, d.y / length);
  }
  actuator_push(world, info.a, s2_vec2(force * n.x, force * n.y), &info.anchor_a);
  actuator_push(world, info.b, s2_vec2(-force * n.x, -force * n.y), &info.anchor_a);
  return s2_ok();
}

static S2Status actuator_exert(S2World *world, const S2Actuator *actuator, double effort) {
  if (actuator->joint.index == 0) {
    S2Vec2 d = actuator->direction;
    if (actuator->turns) {
      actuator_turn(world, actuator->body, effort);
    } else {
      actuator_push(world, actuator->body, s2_vec2(effort * d.x, effort * d.y), NULL);
    }
    return s2_ok();
  }
  if (!actuator->turns) {
    return actuator_push_joint(world, actuator, effort);
  }
  const S2Joint *joint = &world->joints.at[actuator->joint.index - 1];
  actuator_turn(world, s2_body_id(world, joint->a), effort);
  actuator_turn(world, s2_body_id(world, joint->b), -effort);
  return s2_ok();
}

static S2Status actuator_act(S2World *world, const S2Actuator *actuator) {
  int32_t slot;
  S2Status alive = actuator->joint.index != 0 ? s2_joint_slot(world, actuator->joint, &slot)
                                              : s2_body_slot(world, actuator->body, &slot);
  if (alive.code != S2_OK) {
    return s2_error(alive.code, "actuator '%s': what it acts on is destroyed", actuator->name);
  }
  if (actuator->kind == S2_ACTUATOR_SPEED) {
    world->joints.at[slot].motor_speed = actuator->held;
    return s2_ok();
  }
  double effort = actuator->held;
  if (actuator->kind == S2_ACTUATOR_POSITION) {
    S2JointType type = world->joints.at[slot].type;
    double at = 0, speed = 0;
    S2_TRY(s2_joint_get(world, actuator->joint,
                        type == S2_HINGE    ? S2_JOINT_ANGLE
                        : type == S2_SLIDER ? S2_JOINT_TRANSLATION
                                            : S2_JOINT_LENGTH,
                        &at));
    S2_TRY(s2_joint_get(world, actuator->joint, S2_JOINT_SPEED, &speed));
    effort = actuator->kp * (actuator->held - at) - actuator->kd * speed;
  }
  return actuator_exert(world, actuator, effort);
}

S2Status s2_world_actuate(S2World *world) {
  if (world->actuators.count == 0 || world->by_hand) {
    return s2_ok();
  }
  // Forces by hand are kept beside: a step that fails leaves them as they were.
  int count = world->f.count;
  s2_array_reserve(world->f_by_hand, count);
  world->f_by_hand.count = count;
  memcpy(world->f_by_hand.at, world->f.at, sizeof(double) * (size_t)count);
  s2_world_take_due(world);
  for (int i = 0; i < world->actuators.count; i++) {
    S2Status status = actuator_act(world, &world->actuators.at[i]);
    if (status.code != S2_OK) {
      s2_world_actuated(world, true);
      return status;
    }
  }
  return s2_ok();
}

void s2_world_actuated(S2World *world, bool failed) {
  if (failed && world->actuators.count > 0 && !world->by_hand) {
    memcpy(world->f.at, world->f_by_hand.at, sizeof(double) * (size_t)world->f_by_hand.count);
  }
}
