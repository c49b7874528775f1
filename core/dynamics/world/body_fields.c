// Reads and writes the fields of bodies, and applies forces and impulses.
#include "dynamics/world/world.h"

#include <stdio.h>
#include <string.h>

// The offset of each number in fields.def. Bounds are stored in the lock of the body.
static const struct {
  size_t offset;
  bool bound;
} stored[] = {
#define S2_BODY_NUMBER(ID, member, default, domain, most, unit, meaning)                           \
  {offsetof(S2Body, member), false},
#define S2_BODY_BOUND(ID, member, default, domain, most, unit, meaning)                            \
  {offsetof(S2Joint, member), true},
#define S2_BODY_MARK(ID, member, type, default, domain, names, meaning)                            \
  {offsetof(S2Body, member), false},
#include "dynamics/fields.def"
};

const S2Field *s2_body_field(S2BodyField field) {
  static const S2Field state[S2_BODY_STATE_COUNT] = {
      [S2_BODY_ANGLE] = {.name = "angle", .domain = S2_FIELD_ANY},
      [S2_BODY_X] = {.name = "x", .domain = S2_FIELD_ANY},
      [S2_BODY_Y] = {.name = "y", .domain = S2_FIELD_ANY},
      [S2_BODY_OMEGA] = {.name = "omega", .domain = S2_FIELD_ANY},
      [S2_BODY_VX] = {.name = "vx", .domain = S2_FIELD_ANY},
      [S2_BODY_VY] = {.name = "vy", .domain = S2_FIELD_ANY},
  };
  return field < S2_BODY_STATE_COUNT ? &state[field] : &s2_body_fields[field - S2_BODY_STATE_COUNT];
}

// Returns the description of a field, with the offset in the stored body.
static S2Field body_stored(S2BodyField field) {
  S2Field of = *s2_body_field(field);
  of.offset = stored[field - S2_BODY_STATE_COUNT].offset;
  return of;
}

S2Status s2_body_get(const S2World *world, S2BodyId id, S2BodyField field, double *value) {
  int32_t slot;
  S2_TRY(s2_body_slot(world, id, &slot));
  const S2Body *body = &world->bodies.at[slot];
  // The state is accessed by index, materials by offset, and bounds through the lock of the body.
  if (field < S2_BODY_OMEGA) {
    *value = world->q.at[3 * slot + (int)field - S2_BODY_ANGLE];
  } else if (field < S2_BODY_STATE_COUNT) {
    *value = world->v.at[3 * slot + (int)field - S2_BODY_OMEGA];
  } else {
    bool weight = field == S2_BODY_MASS || field == S2_BODY_INERTIA;
    bool bound = stored[field - S2_BODY_STATE_COUNT].bound, none = bound && body->drive == S2_NONE;
    S2Field of = body_stored(field);
    *value = none || (weight && !s2_body_yields(body)) ? INFINITY
             : bound ? s2_field_get(&of, &world->joints.at[body->drive])
                     : s2_field_get(&of, body);
  }
  return s2_ok();
}

void s2_body_drop_warm_start(S2World *world, int32_t slot) {
  // The old impulses of a moved body are a bad guess and would influence its motion, so discard
  // them.
  for (int i = 0; i < world->touches.count; i++) {
    S2Touch *touch = &world->touches.at[i];
    if (touch->body_a == slot || touch->body_b == slot) {
      for (int k = 0; k < 2; k++) {
        touch->points[k].normal_impulse = touch->points[k].tangent_impulse = 0;
      }
    }
  }
}

static void body_moved(S2World *world, int32_t slot) {
  s2_body_drop_warm_start(world, slot);
  world->boxes_stale = true;
  world->kept.fresh = true;
}

static S2Status body_set_type(S2World *world, int32_t slot, S2BodyType type) {
  S2Body *body = &world->bodies.at[slot];
  // Reject dynamic bodies without mass, because forces cannot move them.
  if (type == S2_DYNAMIC && (!(body->mass > 0) || !(body->inertia > 0))) {
    return s2_error(S2_INVALID, "type: a body without area or mass cannot be dynamic");
  }
  // Only kinematic bodies have bounds, so remove the lock.
  if (body->drive != S2_NONE && type != S2_KINEMATIC) {
    s2_joint_destroy_slot(world, body->drive);
  }
  body->type = type;
  s2_world_revised(world);
  body_moved(world, slot);
  return s2_ok();
}

// Moves the goal of a yielding body's lock to the place or velocity that the program has set.
static void drive_lead(S2World *world, int32_t slot, int component, bool place) {
  int32_t drive = world->bodies.at[slot].drive;
  if (drive != S2_NONE) {
    S2Joint *joint = &world->joints.at[drive];
    *(place ? &joint->goal[component] : &joint->rate[component]) =
        (place ? world->q.at : world->v.at)[3 * slot + component];
  }
}

static S2Status body_set_bound(S2World *world, int32_t slot, S2BodyField field, double value) {
  const S2Body *body = &world->bodies.at[slot];
  if (body->type != S2_KINEMATIC) {
    return s2_error(
        S2_INVALID,
        "%s: applies only to a kinematic body; for a dynamic body, use a lock with the same key",
        s2_body_field(field)->name);
  }
  // A body without a bound needs no lock.
  if (body->drive == S2_NONE && value == INFINITY) {
    return s2_ok();
  }
  if (!(body->mass > 0) || !(body->inertia > 0)) {
    return s2_error(S2_INVALID, "%s: a body with area or mass expected",
                    s2_body_field(field)->name);
  }
  // The first bound creates the lock. Removing the last bound destroys it.
  if (body->drive == S2_NONE) {
    s2_body_add_drive(world, slot, INFINITY, INFINITY);
  }
  const S2Joint *joint = &world->joints.at[body->drive];
  S2JointId id = {(uint32_t)body->drive + 1, joint->serial};
  bool force = field == S2_BODY_MAX_FORCE;
  if (value == INFINITY && isinf(force ? joint->max_torque : joint->max_force)) {
    return s2_joint_destroy(world, id);
  }
  return s2_joint_set(world, id, force ? S2_JOINT_MAX_FORCE : S2_JOINT_MAX_TORQUE, value);
}

S2Status s2_body_set(S2World *world, S2BodyId id, S2BodyField field, double value) {
  int32_t slot;
  S2_TRY(s2_world_idle(world));
  S2_TRY(s2_body_slot(world, id, &slot));
  S2_TRY(s2_field_check(s2_body_field(field), value));
  S2Body *body = &world->bodies.at[slot];
  // Set the state. A new position discards the warm start of the body, but a new velocity does not.
  if (field < S2_BODY_OMEGA) {
    world->q.at[3 * slot + (int)field - S2_BODY_ANGLE] = value;
    drive_lead(world, slot, (int)field - S2_BODY_ANGLE, true);
    body_moved(world, slot);
    return s2_ok();
  }
  if (field < S2_BODY_STATE_COUNT) {
    world->v.at[3 * slot + (int)field - S2_BODY_OMEGA] = value;
    drive_lead(world, slot, (int)field - S2_BODY_OMEGA, false);
    return s2_ok();
  }
  // Handle fields with side effects on the world. Materials have none, because every step reads
  // them.
  bool revises = false;
  switch (field) {
  case S2_BODY_MAX_FORCE:
  case S2_BODY_MAX_TORQUE:
    return body_set_bound(world, slot, field, value);
  case S2_BODY_TYPE:
    return body_set_type(world, slot, (S2BodyType)value);
  case S2_BODY_MASS:
  case S2_BODY_INERTIA:
    if (!s2_body_yields(body)) {
      return s2_error(S2_INVALID,
                      "%s: applies only to a dynamic body, or to a kinematic body with a max_force "
                      "or max_torque",
                      s2_body_field(field)->name);
    }
    revises = true;
    break;
  // A disabled body has no box. An enabled body gets a box at the next refresh.
  case S2_BODY_ENABLED:
    if (body->enabled && value == 0) {
      s2_world_drop_boxes(world, slot);
    }
    body_moved(world, slot);
    revises = true;
    break;
  case S2_BODY_SENSOR:
  case S2_BODY_COLOR:
    revises = true;
    break;
  default:
    break;
  }
  // All other fields are plain numbers.
  S2Field of = body_stored(field);
  s2_field_set(&of, body, value);
  s2_world_changed(world);
  if (revises) {
    s2_world_revised(world);
  }
  return s2_ok();
}

S2Status s2_body_q(const S2World *world, S2BodyId id, double q[3]) {
  int32_t slot;
  S2_TRY(s2_body_slot(world, id, &slot));
  memcpy(q, world->q.at + 3 * slot, 3 * sizeof(double));
  return s2_ok();
}

S2Status s2_body_v(const S2World *world, S2BodyId id, double v[3]) {
  int32_t slot;
  S2_TRY(s2_body_slot(world, id, &slot));
  memcpy(v, world->v.at + 3 * slot, 3 * sizeof(double));
  return s2_ok();
}

S2Status s2_body_set_q(S2World *world, S2BodyId id, const double q[3]) {
  int32_t slot;
  S2_TRY(s2_world_idle(world));
  S2_TRY(s2_body_slot(world, id, &slot));
  // Check all three numbers before writing any of them.
  for (int k = 0; k < 3; k++) {
    S2_TRY(s2_field_check(s2_body_field(S2_BODY_ANGLE + (S2BodyField)k), q[k]));
  }
  memcpy(world->q.at + 3 * slot, q, 3 * sizeof(double));
  for (int k = 0; k < 3; k++) {
    drive_lead(world, slot, k, true);
  }
  body_moved(world, slot);
  return s2_ok();
}

S2Status s2_body_set_v(S2World *world, S2BodyId id, const double v[3]) {
  int32_t slot;
  S2_TRY(s2_world_idle(world));
  S2_TRY(s2_body_slot(world, id, &slot));
  for (int k = 0; k < 3; k++) {
    S2_TRY(s2_field_check(s2_body_field(S2_BODY_OMEGA + (S2BodyField)k), v[k]));
  }
  memcpy(world->v.at + 3 * slot, v, 3 * sizeof(double));
  for (int k = 0; k < 3; k++) {
    drive_lead(world, slot, k, false);
  }
  return s2_ok();
}

S2Status s2_body_name(const S2World *world, S2BodyId id, const char **name) {
  int32_t slot;
  *name = "";
  S2_TRY(s2_body_slot(world, id, &slot));
  *name = world->bodies.at[slot].name;
  return s2_ok();
}

S2Status s2_body_set_name(S2World *world, S2BodyId id, const char *name) {
  int32_t slot;
  S2_TRY(s2_world_idle(world));
  S2_TRY(s2_body_slot(world, id, &slot));
  if (strlen(name) >= S2_NAME_SIZE) {
    return s2_error(S2_INVALID, "name: at most %d bytes expected, got %zu", S2_NAME_SIZE - 1,
                    strlen(name));
  }
  snprintf(world->bodies.at[slot].name, S2_NAME_SIZE, "%s", name);
  s2_world_revised(world);
  return s2_ok();
}

// ---- Forces -----------------------------------------------------------------------------------

static S2Status check_vector(const char *name, S2Vec2 vector) {
  if (!isfinite(vector.x) || !isfinite(vector.y)) {
    return s2_error(S2_INVALID, "%s: finite numbers expected, got {%g, %g}", name, vector.x,
                    vector.y);
  }
  return s2_ok();
}

static double torque_of(const S2World *world, int32_t slot, S2Vec2 force, const S2Vec2 *at) {
  if (at == NULL) {
    return 0;
  }
  const double *q = world->q.at + 3 * slot;
  // The torque is (p - x) x F about the centre of mass x. If no point p is specified, the force
  // acts at the centre of mass.
  return s2_cross(s2_sub(*at, s2_vec2(q[1], q[2])), force);
}

S2Status s2_body_apply_force(S2World *world, S2BodyId id, S2Vec2 force, const S2Vec2 *at) {
  int32_t slot;
  S2_TRY(s2_world_idle(world));
  S2_TRY(s2_body_slot(world, id, &slot));
  S2_TRY(check_vector("force", force));
  if (at != NULL) {
    S2_TRY(check_vector("at", *at));
  }
  double *f = world->f.at + 3 * slot;
  f[0] += torque_of(world, slot, force, at);
  f[1] += force.x;
  f[2] += force.y;
  return s2_ok();
}

S2Status s2_body_apply_torque(S2World *world, S2BodyId id, double torque) {
  int32_t slot;
  S2_TRY(s2_world_idle(world));
  S2_TRY(s2_body_slot(world, id, &slot));
  if (!isfinite(torque)) {
    return s2_error(S2_INVALID, "torque: finite number expected, got %g", torque);
  }
  world->f.at[3 * slot] += torque;
  return s2_ok();
}

S2Status s2_body_apply_impulse(S2World *world, S2BodyId id, S2Vec2 impulse, const S2Vec2 *at) {
  int32_t slot;
  S2_TRY(s2_world_idle(world));
  S2_TRY(s2_body_slot(world, id, &slot));
  S2_TRY(check_vector("impulse", impulse));
  if (at != NULL) {
    S2_TRY(check_vector("at", *at));
  }
  const S2Body *body = &world->bodies.at[slot];
  // Impulses act immediately, and only on bodies that forces can move.
  if (s2_body_yields(body)) {
    double *v = world->v.at + 3 * slot;
    v[0] += torque_of(world, slot, impulse, at) / body->inertia;
    v[1] += impulse.x / body->mass;
    v[2] += impulse.y / body->mass;
  }
  return s2_ok();
}

S2Status s2_body_force(const S2World *world, S2BodyId id, double force[3]) {
  int32_t slot;
  S2_TRY(s2_body_slot(world, id, &slot));
  memcpy(force, world->f.at + 3 * slot, 3 * sizeof(double));
  return s2_ok();
}

S2Status s2_body_set_motion(S2World *world, S2BodyId id, bool has_motion) {
  int32_t slot;
  S2_TRY(s2_world_idle(world));
  S2_TRY(s2_body_slot(world, id, &slot));
  S2Body *body = &world->bodies.at[slot];
  if (has_motion && body->type != S2_KINEMATIC) {
    return s2_error(S2_INVALID, "motion: a kinematic body expected; use a lock for a dynamic body");
  }
  body->has_motion = has_motion;
  s2_world_changed(world);
  // If the body has a lock, set whether the lock calls the program.
  if (body->drive != S2_NONE) {
    world->joints.at[body->drive].driven = has_motion;
  }
  return s2_ok();
}

S2JointId s2_body_drive(const S2World *world, S2BodyId id) {
  int32_t drive = s2_body_alive(world, id) ? world->bodies.at[id.index - 1].drive : S2_NONE;
  return drive == S2_NONE ? (S2JointId){0, 0}
                          : (S2JointId){(uint32_t)drive + 1, world->joints.at[drive].serial};
}

bool s2_body_has_motion(const S2World *world, S2BodyId id) {
  return s2_body_alive(world, id) && world->bodies.at[id.index - 1].has_motion;
}

S2Status s2_body_set_force_law(S2World *world, S2BodyId id, bool has_law) {
  int32_t slot;
  S2_TRY(s2_world_idle(world));
  S2_TRY(s2_body_slot(world, id, &slot));
  world->bodies.at[slot].has_law = has_law;
  s2_world_changed(world);
  return s2_ok();
}

S2Status s2_body_info(const S2World *world, S2BodyId id, S2BodyInfo *info) {
  int32_t slot;
  S2_TRY(s2_body_slot(world, id, &slot));
  const S2Body *body = &world->bodies.at[slot];
  // A body that forces cannot move is reported with infinite mass.
  bool dynamic = s2_body_yields(body);
  *info = (S2BodyInfo){
      .type = body->type,
      .sensor = body->sensor,
      .enabled = body->enabled,
      .color = body->color,
      .mass = dynamic ? body->mass : INFINITY,
      .inertia = dynamic ? body->inertia : INFINITY,
      .shape_count = s2_body_shape_count(world, id),
  };
  memcpy(info->q, world->q.at + 3 * slot, sizeof info->q);
  memcpy(info->v, world->v.at + 3 * slot, sizeof info->v);
  return s2_body_name(world, id, &info->name);
}
