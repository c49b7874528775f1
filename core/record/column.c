#include "record/column.h"

#include "base/memory.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct Known {
  const char *name, *unit;
} Known;

typedef enum OfWorld {
  KINETIC,
  POTENTIAL,
  TOTAL,
  SPIN,
  MOMENTUM_X,
  MOMENTUM_Y,
  RESIDUAL,
  PENETRATION,
  JOINT_ERROR,
  PASSAGE,
  JUMP,
  SLIP,
  MOMENTUM_REST,
  ENERGY_REST,
  DISTANCE,
  DRIFT,
  CONTACTS,
  STEP,
  OF_WORLD
} OfWorld;

static const Known of_world[OF_WORLD] = {
    [KINETIC] = {"energy.kinetic", "J"},
    [POTENTIAL] = {"energy.potential", "J"},
    [TOTAL] = {"energy.total", "J"},
    [SPIN] = {"momentum.angular", "kg m^2/s"},
    [MOMENTUM_X] = {"momentum.x", "kg m/s"},
    [MOMENTUM_Y] = {"momentum.y", "kg m/s"},
    [RESIDUAL] = {"residual", ""},
    [PENETRATION] = {"penetration", "m"},
    [JOINT_ERROR] = {"joint_error", "m"},
    [PASSAGE] = {"audit.passage", "m"},
    [JUMP] = {"audit.jump", "m"},
    [SLIP] = {"audit.slip", "m"},
    [MOMENTUM_REST] = {"audit.momentum", "N s"},
    [ENERGY_REST] = {"audit.energy", "J"},
    [DISTANCE] = {"audit.distance", "m"},
    [DRIFT] = {"audit.drift", "m/s"},
    [CONTACTS] = {"contacts", ""},
    [STEP] = {"step", ""},
};

enum { OF_BODY = 6 };
static const Known of_body[OF_BODY] = {{"angle", "rad"},   {"x", "m"},    {"y", "m"},
                                       {"omega", "rad/s"}, {"vx", "m/s"}, {"vy", "m/s"}};

typedef enum OfJoint { ANGLE, SPEED, FORCE_X, FORCE_Y, TORQUE, ERROR, OF_JOINT } OfJoint;

static const Known of_joint[OF_JOINT] = {
    [ANGLE] = {"angle", "rad"},   [SPEED] = {"speed", "rad/s"}, [FORCE_X] = {"force_x", "N"},
    [FORCE_Y] = {"force_y", "N"}, [TORQUE] = {"torque", "N m"}, [ERROR] = {"error", "m"},
};

// ---- Finding columns --------------------------------------------------------------------------

static int column_find(const Known *known, int count, const char *name) {
  for (int i = 0; i < count; i++) {
    if (strcmp(known[i].name, name) == 0) {
      return i;
    }
  }
  return -1;
}

static bool is_name(const char *name, const char *start, size_t length) {
  return strlen(name) == length && memcmp(name, start, length) == 0;
}

static S2BodyId find_body(const S2World *world, const char *start, size_t length) {
  int count = s2_world_bodies(world, NULL, 0);
  S2BodyId *bodies = s2_memory_take((size_t)(count + 1) * sizeof *bodies), found = {0};
  s2_world_bodies(world, bodies, count);
  for (int i = 0; i < count && found.index == 0; i++) {
    const char *name = "";
    if (s2_body_name(world, bodies[i], &name).code == S2_OK && is_name(name, start, length)) {
      found = bodies[i];
    }
  }
  s2_memory_free(bodies);
  return found;
}

static S2JointId find_joint(const S2World *world, const char *start, size_t length) {
  int count = s2_world_joints(world, NULL, 0);
  S2JointId *joints = s2_memory_take((size_t)(count + 1) * sizeof *joints), found = {0};
  s2_world_joints(world, joints, count);
  for (int i = 0; i < count && found.index == 0; i++) {
    S2JointInfo info;
    if (s2_joint_info(world, joints[i], &info).code == S2_OK && info.name != NULL &&
        is_name(info.name, start, length)) {
      found = joints[i];
    }
  }
  s2_memory_free(joints);
  return found;
}

// Returns an error for an unknown name. The message suggests the nearest name or lists all names.
static S2Status no_column(const char *name, const char *owner, const char *word, const Known *known,
                          int count) {
  const char *names[OF_WORLD];
  char list[S2_MESSAGE_SIZE / 2] = "";
  for (int i = 0; i < count; i++) {
    names[i] = known[i].name;
    size_t used = strlen(list);
    snprintf(list + used, sizeof list - used, "%s%s", i == 0 ? "" : ", ", names[i]);
  }
  const char *nearest = s2_text_nearest(word, names, count);
  if (nearest != NULL) {
    return s2_error(S2_INVALID, "column '%.40s': %s has no '%.40s'; did you mean '%s'?", name,
                    owner, word, nearest);
  }
  return s2_error(S2_INVALID, "column '%.40s': %s has no '%.40s', only %s", name, owner, word,
                  list);
}

S2Status s2_column_find(const S2World *world, const char *name, S2Column *column) {
  // Names of the world itself come first, because "energy.total" also has a dot.
  *column = (S2Column){.number = column_find(of_world, OF_WORLD, name)};
  if (column->number >= 0) {
    column->unit = of_world[column->number].unit;
    return s2_ok();
  }
  // Otherwise the part before the last dot names a body, or a joint if there is no such body.
  const char *dot = strrchr(name, '.');
  if (dot == NULL) {
    return no_column(name, "a world", name, of_world, OF_WORLD);
  }
  size_t length = (size_t)(dot - name);
  column->body = find_body(world, name, length);
  column->joint = column->body.index == 0 ? find_joint(world, name, length) : (S2JointId){0};
  bool is_body = column->body.index != 0;
  const Known *known = is_body ? of_body : of_joint;
  int count = is_body ? OF_BODY : OF_JOINT;
  // The owner does not exist. The name may be a mistyped quantity of the world, so list these
  // quantities.
  if (!is_body && column->joint.index == 0) {
    if (is_name("energy", name, length) || is_name("momentum", name, length) ||
        is_name("audit", name, length)) {
      return no_column(name, "a world", name, of_world, OF_WORLD);
    }
    return s2_error(S2_INVALID, "column '%.60s': no body or joint has the name '%.*s'", name,
                    (int)(length < 40 ? length : 40), name);
  }
  // The part after the dot is a quantity of the owner.
  column->number = column_find(known, count, dot + 1);
  if (column->number < 0) {
    return no_column(name, is_body ? "a body" : "a joint", dot + 1, known, count);
  }
  column->unit = known[column->number].unit;
  return s2_ok();
}

// ---- Reading ----------------------------------------------------------------------------------

static double read_world(S2World *world, OfWorld number) {
  int count = 0;
  double momentum[3];
  switch (number) {
  // Each column queries the world separately, because a table has few columns.
  case KINETIC:
    return s2_world_energy(world).kinetic;
  case POTENTIAL:
    return s2_world_energy(world).potential;
  case TOTAL:
    return s2_world_energy(world).total;
  case SPIN:
  case MOMENTUM_X:
  case MOMENTUM_Y:
    s2_world_momentum(world, momentum);
    return momentum[number - SPIN];
  case RESIDUAL:
    return s2_world_residuals(world).solve.scaled;
  case PENETRATION:
    return s2_world_residuals(world).penetration;
  case JOINT_ERROR:
    return s2_world_residuals(world).joint_error;
  case PASSAGE:
    return s2_world_residuals(world).audit.passage;
  case JUMP:
    return s2_world_residuals(world).audit.jump;
  case SLIP:
    return s2_world_residuals(world).audit.slip;
  case MOMENTUM_REST:
    return s2_world_residuals(world).audit.momentum;
  case ENERGY_REST:
    return s2_world_residuals(world).audit.energy;
  case DISTANCE:
    return s2_world_residuals(world).audit.distance;
  case DRIFT:
    return s2_world_residuals(world).audit.drift;
  case CONTACTS:
    (void)s2_world_contacts(world, &count);
    return count;
  case STEP:
    return (double)s2_world_step_count(world);
  case OF_WORLD:
    break;
  }
  return (double)NAN;
}

static double column_read_joint(const S2World *world, const S2Column *column) {
  S2JointInfo info;
  if (s2_joint_info(world, column->joint, &info).code != S2_OK) {
    return (double)NAN;
  }
  const double values[OF_JOINT] = {
      [ANGLE] = info.angle,     [SPEED] = info.speed,   [FORCE_X] = info.force.x,
      [FORCE_Y] = info.force.y, [TORQUE] = info.torque, [ERROR] = info.error,
  };
  return values[column->number];
}

double s2_column_read(S2World *world, const S2Column *column) {
  if (column->joint.index != 0) {
    return column_read_joint(world, column);
  }
  if (column->body.index == 0) {
    return read_world(world, (OfWorld)column->number);
  }
  double q[3], v[3];
  if (s2_body_q(world, column->body, q).code != S2_OK ||
      s2_body_v(world, column->body, v).code != S2_OK) {
    return (double)NAN;
  }
  return column->number < 3 ? q[column->number] : v[column->number - 3];
}
