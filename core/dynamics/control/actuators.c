#include "dynamics/control/apply.h"
#include "dynamics/control/control.h"
#include "dynamics/joints/joint.h"

#include <math.h>
#include <string.h>

const char *const s2_actuator_kind_names[] = {"force", "torque", "speed", "position", NULL};

// Tolerance when comparing times, as a fraction of a step, because times are sums of dt.
static const double ROUNDING = 1e-6;
// Default gains kp and kd: N/m and N s/m, or N m/rad and N m s/rad.
static const double STIFF = 100, DAMPED = 10;

// A row counts as independent if this fraction of its squared, mass-weighted length remains after
// the earlier rows are projected out.
static const double REDUNDANT = 1e-12;

// ---- Creating actuators -----------------------------------------------------------------------

S2ActuatorDef s2_actuator_def(void) {
  return (S2ActuatorDef){.lo = -INFINITY,
                         .hi = INFINITY,
                         .kp = STIFF,
                         .kd = DAMPED,
                         .most = INFINITY,
                         .implicit = true};
}

static double actuator_clip(const S2Actuator *actuator, double u) {
  return u < actuator->lo ? actuator->lo : u > actuator->hi ? actuator->hi : u;
}

static S2Status actuator_on_joint(const S2World *world, const S2ActuatorDef *def, bool *turns) {
  S2JointInfo info;
  S2_TRY(s2_joint_info(world, def->joint, &info));
  S2JointType type = info.type;
  bool turning = type == S2_HINGE || type == S2_WHEEL || type == S2_WELD;
  bool pushed = type == S2_SLIDER || type == S2_SPRING || type == S2_DISTANCE || type == S2_ROPE;
  bool driven = type == S2_HINGE || type == S2_SLIDER || type == S2_WHEEL || type == S2_SPRING;
  bool placed = type == S2_HINGE || type == S2_SLIDER || type == S2_SPRING;
  bool good = def->kind == S2_ACTUATOR_TORQUE  ? turning
              : def->kind == S2_ACTUATOR_FORCE ? pushed || type == S2_WHEEL
              : def->kind == S2_ACTUATOR_SPEED ? driven
                                               : placed;
  if (!good) {
    return s2_error(S2_INVALID, "actuator '%s': an actuator of this kind cannot act on a %s",
                    def->name, s2_joint_type_name(type));
  }
  *turns =
      def->kind == S2_ACTUATOR_TORQUE || (def->kind == S2_ACTUATOR_POSITION && type == S2_HINGE);
  return s2_ok();
}

static S2Status actuator_can_push(const S2World *world, int32_t slot, const char *name) {
  const S2Body *body = &world->bodies.at[slot];
  if (s2_body_yields(body)) {
    return s2_ok();
  }
  char label[S2_NAME_SIZE + 8];
  s2_body_label(world, slot, label);
  return s2_error(S2_INVALID,
                  "actuator '%s': body %s is %s and cannot be pushed: make it dynamic first", name,
                  label, body->type == S2_STATIC ? "static" : "kinematic");
}

// Copies the actuator's gains to the servo of its joint.
static S2Status servo_tune(S2World *world, const S2Actuator *actuator) {
  S2_TRY(s2_joint_set(world, actuator->joint, S2_JOINT_SERVO_KP, actuator->kp));
  S2_TRY(s2_joint_set(world, actuator->joint, S2_JOINT_SERVO_KD, actuator->kd));
  return s2_joint_set(world, actuator->joint, S2_JOINT_SERVO_MAX, actuator->most);
}

S2Status s2_actuator_create(S2World *world, const S2ActuatorDef *def, int *index) {
  S2_TRY(s2_world_idle(world));
  S2Actuator actuator;
  memset(&actuator, 0, sizeof actuator); // images contain the padding, so it must be zero
  actuator.kind = def->kind;
  actuator.joint = def->joint;
  actuator.body = def->body;
  actuator.lo = def->lo;
  actuator.hi = def->hi;
  actuator.delay = def->delay;
  actuator.kp = def->kp;
  actuator.kd = def->kd;
  actuator.most = def->most;
  actuator.implicit = def->implicit && def->kind == S2_ACTUATOR_POSITION;
  actuator.fixed = def->fixed;
  actuator.at = def->at;
  if (def->name == NULL || def->name[0] == 0 || strlen(def->name) >= S2_NAME_SIZE) {
    return s2_error(S2_INVALID, "actuator name: 1 to %d bytes expected", S2_NAME_SIZE - 1);
  }
  memcpy(actuator.name, def->name, strlen(def->name) + 1);
  if (!(def->lo <= def->hi) || !(def->delay >= 0) || !isfinite(def->delay) || !isfinite(def->kp) ||
      !isfinite(def->kd) || !isfinite(def->at.x) || !isfinite(def->at.y)) {
    return s2_error(S2_INVALID, "actuator '%s': lo <= hi and finite numbers expected", def->name);
  }
  if (!(def->most >= 0) || !(def->kp >= 0) || !(def->kd >= 0)) {
    return s2_error(S2_INVALID, "actuator '%s': most, kp, kd: numbers not below 0 expected",
                    def->name);
  }
  // Exactly one target is allowed, and it must be movable.
  actuator.on_joint = def->joint.index != 0;
  if (actuator.on_joint == (def->body.index != 0)) {
    return s2_error(S2_INVALID, "actuator '%s': either a joint or a body expected", def->name);
  }
  if (actuator.on_joint) {
    S2_TRY(actuator_on_joint(world, def, &actuator.turns));
  } else {
    int32_t slot;
    S2_TRY(s2_body_slot(world, def->body, &slot));
    S2_TRY(actuator_can_push(world, slot, def->name));
    actuator.turns = def->kind == S2_ACTUATOR_TORQUE;
    double length = sqrt(def->direction.x * def->direction.x + def->direction.y * def->direction.y);
    if (def->kind > S2_ACTUATOR_TORQUE || (!actuator.turns && !(length > 0 && isfinite(length)))) {
      return s2_error(S2_INVALID, "actuator '%s': %s", def->name,
                      def->kind > S2_ACTUATOR_TORQUE
                          ? "an actuator of this kind can act only on a joint"
                          : "a direction expected");
    }
    actuator.direction = actuator.turns
                             ? s2_vec2(0, 0)
                             : s2_vec2(def->direction.x / length, def->direction.y / length);
  }
  if (actuator.fixed && (actuator.on_joint || actuator.turns)) {
    return s2_error(S2_INVALID, "actuator '%s': fixed: applies only to a force on a body",
                    def->name);
  }
  if (!actuator.fixed && (def->at.x != 0 || def->at.y != 0)) {
    return s2_error(S2_INVALID, "actuator '%s': at: applies only to a force fixed to its body",
                    def->name);
  }
  if (isfinite(def->most) && def->kind < S2_ACTUATOR_SPEED) {
    return s2_error(S2_INVALID,
                    "actuator '%s': most: does not apply to a force or torque; use lo and hi",
                    def->name);
  }
  if (def->kind == S2_ACTUATOR_SPEED && isfinite(def->most)) {
    S2_TRY(s2_joint_set(world, def->joint, S2_JOINT_MOTOR_MAX, def->most));
  }
  if (actuator.implicit) {
    if (world->joints.at[def->joint.index - 1].has_servo) {
      return s2_error(S2_INVALID,
                      "actuator '%s': the joint already has an implicit position actuator: set "
                      "implicit = false for one of them",
                      def->name);
    }
    S2_TRY(servo_tune(world, &actuator));
  }
  *index = world->actuators.count;
  *s2_array_append(world->actuators) = actuator;
  return s2_ok();
}

int s2_world_actuator_count(const S2World *world) {
  return world->actuators.count;
}

const char *s2_actuator_name(const S2World *world, int index) {
  return world->actuators.at[index].name;
}

S2Status s2_actuator_info(const S2World *world, int index, S2ActuatorDef *def) {
  if (index < 0 || index >= world->actuators.count) {
    return s2_error(S2_INVALID, "actuator %d does not exist; there are %d", index + 1,
                    world->actuators.count);
  }
  const S2Actuator *a = &world->actuators.at[index];
  *def = (S2ActuatorDef){a->name, a->kind, a->joint, a->body, a->direction, a->fixed, a->at,
                         a->lo,   a->hi,   a->delay, a->kp,   a->kd,        a->most,  a->implicit};
  return s2_ok();
}

S2Status s2_actuator_tune(S2World *world, int index, double kp, double kd, double most) {
  S2_TRY(s2_world_idle(world));
  if (index < 0 || index >= world->actuators.count) {
    return s2_error(S2_INVALID, "actuator %d does not exist; there are %d", index + 1,
                    world->actuators.count);
  }
  S2Actuator *actuator = &world->actuators.at[index];
  bool good = kp >= 0 && kd >= 0 && most >= 0 && isfinite(kp) && isfinite(kd);
  if (!good || actuator->kind != S2_ACTUATOR_POSITION) {
    return s2_error(S2_INVALID, "actuator '%s': %s", actuator->name,
                    good ? "only an actuator of kind 'position' has gains"
                         : "kp, kd, most: numbers not below 0 expected");
  }
  actuator->warned &= actuator->kd == kd;
  actuator->kp = kp;
  actuator->kd = kd;
  actuator->most = most;
  memset(&actuator->origin[S2_ACTUATOR_KP], 0, 3 * sizeof actuator->origin[0]); // kp, kd, most
  return actuator->implicit ? servo_tune(world, actuator) : s2_ok();
}

void s2_actuator_range(const S2World *world, int index, double *lo, double *hi) {
  *lo = world->actuators.at[index].lo;
  *hi = world->actuators.at[index].hi;
}

// The index of the last command in world->commands, or S2_NONE.
static int command_last(const S2World *world, int index) {
  int last = world->commands.count - 1;
  while (last >= 0 && world->commands.at[last].actuator != index) {
    last -= 1;
  }
  return last >= 0 ? last : S2_NONE;
}

double s2_actuator_value(const S2World *world, int index) {
  int last = command_last(world, index);
  return last == S2_NONE ? actuator_clip(&world->actuators.at[index], 0)
                         : world->commands.at[last].value;
}

void s2_actuator_set_origin(S2World *world, int index, S2ActuatorNumber number, uint64_t origin) {
  int last = number == S2_ACTUATOR_COMMAND ? command_last(world, index) : S2_NONE;
  if (last != S2_NONE) {
    world->commands.at[last].origin = origin;
  } else if (number != S2_ACTUATOR_COMMAND) {
    world->actuators.at[index].origin[number] = origin;
  }
}

uint64_t s2_actuator_origin(const S2World *world, int index, S2ActuatorNumber number) {
  int last = number == S2_ACTUATOR_COMMAND ? command_last(world, index) : S2_NONE;
  return last != S2_NONE                 ? world->commands.at[last].origin
         : number == S2_ACTUATOR_COMMAND ? world->actuators.at[index].origin[S2_ACTUATOR_IDLE]
                                         : world->actuators.at[index].origin[number];
}

double s2_actuator_held(S2World *world, int index, double *time) {
  int command;
  double value = s2_actuator_due(world, index, &command);
  *time = command == S2_NONE ? -INFINITY : world->commands.at[command].t;
  return value;
}

void s2_world_set_actuated(S2World *world, bool actuated) {
  world->actuated = actuated;
}

// ---- Commands ---------------------------------------------------------------------------------

// Removes the commands of one actuator from the time `from` on. Used when the steps that gave them
// are undone.
static void commands_cut(S2World *world, int index, double from) {
  int kept = 0;
  for (int i = 0; i < world->commands.count; i++) {
    const S2Command *command = &world->commands.at[i];
    if (command->actuator != index || command->t < from) {
      world->commands.at[kept++] = *command;
    }
  }
  world->commands.count = kept;
}

S2Status s2_actuator_command(S2World *world, int index, double u, bool *clipped) {
  if (index < 0 || index >= world->actuators.count) {
    return s2_error(S2_INVALID, "actuator %d does not exist; there are %d", index + 1,
                    world->actuators.count);
  }
  if (!isfinite(u)) {
    return s2_error(S2_INVALID, "actuator '%s': a finite number expected, got %g",
                    world->actuators.at[index].name, u);
  }
  double value = actuator_clip(&world->actuators.at[index], u);
  if (clipped != NULL) {
    *clipped = value != u;
  }
  commands_cut(world, index, s2_world_time(world));
  S2Command command;
  memset(&command, 0, sizeof command);
  command.actuator = index;
  command.t = s2_world_time(world);
  command.value = value;
  *s2_array_append(world->commands) = command;
  return s2_ok();
}

S2Status s2_world_act(S2World *world, const double *u, int count, int *clipped) {
  S2_TRY(s2_world_idle(world));
  if (count != world->actuators.count) {
    return s2_error(S2_INVALID, "%d values expected, one per actuator, got %d",
                    world->actuators.count, count);
  }
  for (int i = 0; i < count; i++) { // apply all commands or none
    if (!isfinite(u[i])) {
      return s2_error(S2_INVALID, "'%s': finite number expected, got %g",
                      world->actuators.at[i].name, u[i]);
    }
  }
  int beyond = 0;
  for (int i = 0; i < count; i++) {
    bool was_clipped = false;
    S2_TRY(s2_actuator_command(world, i, u[i], &was_clipped));
    beyond += was_clipped;
  }
  if (clipped != NULL) {
    *clipped = beyond;
  }
  return s2_ok();
}

double s2_actuator_due(S2World *world, int index, int *command) {
  const S2Actuator *actuator = &world->actuators.at[index];
  double t = s2_world_time(world), dt = world->kept.def.dt;
  double due = t - ceil(actuator->delay / dt - ROUNDING) * dt + ROUNDING * dt;
  *command = S2_NONE;
  for (int i = 0; i < world->commands.count; i++) {
    const S2Command *at = &world->commands.at[i];
    if (at->actuator == index && at->t <= t && at->t <= due) {
      *command = i;
    }
  }
  return *command == S2_NONE ? actuator_clip(actuator, 0) : world->commands.at[*command].value;
}

// Remove commands that are older than the one in force.
static double command_now(S2World *world, int index) {
  int last;
  double value = s2_actuator_due(world, index, &last);
  int kept = 0;
  for (int i = 0; i < world->commands.count; i++) {
    if (i >= last || world->commands.at[i].actuator != index) {
      world->commands.at[kept++] = world->commands.at[i];
    }
  }
  world->commands.count = kept;
  return value;
}

// ---- Forces -----------------------------------------------------------------------------------

static bool actuator_moves(const S2World *world, S2BodyId body) {
  return body.index != 0 && s2_body_yields(&world->bodies.at[body.index - 1]);
}

static S2Status actuator_push(S2World *world, S2BodyId body, S2Vec2 force, const S2Vec2 *at) {
  return actuator_moves(world, body) ? s2_body_apply_force(world, body, force, at) : s2_ok();
}

static S2Status actuator_turn(S2World *world, S2BodyId body, double torque) {
  return actuator_moves(world, body) ? s2_body_apply_torque(world, body, torque) : s2_ok();
}

bool s2_joint_push_line(const S2JointInfo *info, S2Vec2 *n) {
  if (info->type == S2_SLIDER || info->type == S2_WHEEL) {
    *n = info->axis;
    return true;
  }
  double dx = info->anchor_a.x - info->anchor_b.x, dy = info->anchor_a.y - info->anchor_b.y;
  double length = sqrt(dx * dx + dy * dy);
  *n = s2_vec2(dx / length, dy / length);
  return length > 0;
}

// The force and its lever arm turn together with the body, so their cross product does not depend
// on the body's angle.
double s2_actuator_arm(const S2Actuator *actuator) {
  return s2_cross(actuator->at, actuator->direction);
}

static S2Status actuator_thrust(S2World *world, const S2Actuator *actuator, double value) {
  double angle;
  S2_TRY(s2_body_get(world, actuator->body, S2_BODY_ANGLE, &angle));
  S2Vec2 along = s2_rotate(s2_rot(angle), actuator->direction);
  S2_TRY(actuator_turn(world, actuator->body, value * s2_actuator_arm(actuator)));
  return actuator_push(world, actuator->body, s2_vec2(value * along.x, value * along.y), NULL);
}

static S2Status actuator_effort(S2World *world, const S2Actuator *actuator, double value) {
  if (actuator->fixed) {
    return actuator_thrust(world, actuator, value);
  }
  if (!actuator->on_joint) {
    S2Vec2 force = s2_vec2(value * actuator->direction.x, value * actuator->direction.y);
    return actuator->turns ? actuator_turn(world, actuator->body, value)
                           : actuator_push(world, actuator->body, force, NULL);
  }
  // Apply equal and opposite forces to both bodies along the joint's coordinate.
  S2JointInfo info;
  S2_TRY(s2_joint_ends(world, actuator->joint, &info));
  if (actuator->turns) {
    S2_TRY(actuator_turn(world, info.a, value));
    return actuator_turn(world, info.b, -value);
  }
  S2Vec2 n;
  if (!s2_joint_push_line(&info, &n)) {
    return s2_ok();
  }
  S2_TRY(actuator_push(world, info.a, s2_vec2(value * n.x, value * n.y), &info.anchor_a));
  return actuator_push(world, info.b, s2_vec2(-value * n.x, -value * n.y), &info.anchor_a);
}

S2JointField s2_actuator_coordinate(const S2World *world, const S2Actuator *actuator) {
  const S2Joint *joint = &world->joints.at[actuator->joint.index - 1];
  return actuator->turns            ? S2_JOINT_ANGLE
         : joint->type == S2_SLIDER ? S2_JOINT_TRANSLATION
                                    : S2_JOINT_LENGTH;
}

// Multiplies a row by M^(-1/2). Returns its squared length, which is the speed per unit impulse
// along the row.
static double row_by_mass(const S2World *world, const S2Joint *joint, const S2JointRow *row,
                          double along[6]) {
  const int32_t slot[2] = {joint->a, joint->b};
  double square = 0;
  for (int c = 0; c < 6; c++) {
    const S2Body *body = slot[c / 3] == S2_NONE ? NULL : &world->bodies.at[slot[c / 3]];
    bool moves = body != NULL && s2_body_yields(body);
    double j = c < 3 ? row->ja[c] : row->jb[c - 3];
    along[c] = moves ? j / sqrt(c % 3 == 0 ? body->inertia : body->mass) : 0;
    square += along[c] * along[c];
  }
  return square;
}

// Projects the `count` earlier rows out of a row. The earlier rows have unit length. Returns the
// squared length of the remainder.
static double row_beside(double along[][6], int count) {
  double *row = along[count], left = 0;
  for (int k = 0; k < count; k++) {
    double part = 0;
    for (int c = 0; c < 6; c++) {
      part += row[c] * along[k][c];
    }
    for (int c = 0; c < 6; c++) {
      row[c] -= part * along[k][c];
    }
  }
  for (int c = 0; c < 6; c++) {
    left += row[c] * row[c];
  }
  return left;
}

// Returns the inverse inertia of the joint's coordinate, the speed per unit impulse. Takes into
// account only the joint's own rigid rows. Other constraints would reduce it. Returns 0 if the
// result would be at most `most` even without these rows.
static double actuator_mobility(const S2World *world, const S2Joint *joint, double most) {
  double along[S2_JOINT_EQUATIONS + 1][6];
  S2JointRow drive, rows[S2_JOINT_EQUATIONS];
  S2JointAt at = {world, joint, world->q.at, 0, NULL};
  s2_joint_kind(joint->type)->drive(&at, &drive, NULL);
  if (!(row_by_mass(world, joint, &drive, along[0]) > most)) {
    return 0;
  }
  int count = s2_joint_rigid_rows(&at, rows);
  for (int r = 0; r < count; r++) {
    double whole = row_by_mass(world, joint, &rows[r], along[r]), left = row_beside(along, r);
    double size = left > REDUNDANT * whole ? 1 / sqrt(left) : 0;
    for (int c = 0; c < 6; c++) {
      along[r][c] *= size;
    }
  }
  (void)row_by_mass(world, joint, &drive, along[count]);
  return row_beside(along, count);
}

// Explicit damping changes the speed at the start of a step by the fraction kd dt / I. Above 2, the
// speed grows from step to step with alternating sign.
static void actuator_check_damping(S2World *world, int index) {
  S2Actuator *actuator = &world->actuators.at[index];
  const S2Joint *joint = &world->joints.at[actuator->joint.index - 1];
  double dt = world->kept.def.dt;
  double most = 2 / (actuator->kd * dt); // 1/I
  double inverse = actuator->warned ? 0 : actuator_mobility(world, joint, most);
  if (!(inverse > most)) {
    return;
  }
  actuator->warned = true;
  s2_world_warn(
      world,
      "actuator '%s': its explicit damping reverses the speed in each step, because kd dt = "
      "%.3g is above 2 I = %.3g: leave out implicit = false, or choose kd below %.3g or dt "
      "below %.3g s",
      actuator->name, actuator->kd * dt, 2 / inverse, 2 / (dt * inverse),
      2 / (actuator->kd * inverse));
}

static S2Status actuator_apply(S2World *world, int index) {
  const S2Actuator *actuator = &world->actuators.at[index];
  if (actuator->on_joint ? !s2_joint_alive(world, actuator->joint)
                         : !s2_body_alive(world, actuator->body)) {
    return s2_error(S2_STALE, "actuator '%s': its joint or body is destroyed", actuator->name);
  }
  double value = command_now(world, index);
  if (actuator->kind == S2_ACTUATOR_SPEED) {
    return s2_joint_set(world, actuator->joint, S2_JOINT_MOTOR_SPEED, value);
  }
  if (actuator->implicit) {
    world->joints.at[actuator->joint.index - 1].servo_goal = value;
    return s2_ok();
  }
  if (actuator->kind == S2_ACTUATOR_POSITION) {
    double at, speed;
    S2_TRY(s2_joint_get(world, actuator->joint, s2_actuator_coordinate(world, actuator), &at));
    S2_TRY(s2_joint_get(world, actuator->joint, S2_JOINT_SPEED, &speed));
    value = actuator->kp * (value - at) - actuator->kd * speed;
    value = fmin(fmax(value, -actuator->most), actuator->most);
    actuator_check_damping(world, index);
  }
  return actuator_effort(world, actuator, value);
}

static bool actuators_push(const S2World *world) {
  return world->actuated && world->actuators.count > 0 && world->f.count > 0;
}

S2Status s2_world_push(S2World *world) {
  if (!actuators_push(world)) {
    return s2_ok();
  }
  // Copy `f`, to restore it after a failure.
  s2_array_reserve(world->pushed, world->f.count);
  memcpy(world->pushed.at, world->f.at, sizeof *world->f.at * (size_t)world->f.count);
  S2Status status = s2_ok();
  for (int i = 0; i < world->actuators.count && status.code == S2_OK; i++) {
    status = actuator_apply(world, i);
  }
  if (status.code != S2_OK) {
    s2_world_unpush(world);
  }
  return status;
}

void s2_world_unpush(S2World *world) {
  if (actuators_push(world)) {
    memcpy(world->f.at, world->pushed.at, sizeof *world->f.at * (size_t)world->f.count);
  }
}
