// Bodies: objects, fields and methods.
#include "lua/diff/on_tape.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// Fields that are not scalars of the engine. Their numbers follow S2BodyField in the table of
// fields.
enum {
  FIELD_POSITION = S2_BODY_FIELD_COUNT,
  FIELD_VELOCITY,
  FIELD_Q,
  FIELD_V,
  FIELD_NAME,
  FIELD_DATA,
  FIELD_WORLD,
  FIELD_DRIVE,
  FIELD_ALIVE
};

static const struct {
  const char *name;
  int field;
} fields[] = {
    {"angular_velocity", S2_BODY_OMEGA}, // alias of an engine field
    {"drive", FIELD_DRIVE},
    {"position", FIELD_POSITION},
    {"velocity", FIELD_VELOCITY},
    {"q", FIELD_Q},
    {"v", FIELD_V},
    {"name", FIELD_NAME},
    {"data", FIELD_DATA},
    {"world", FIELD_WORLD},
    {"alive", FIELD_ALIVE},
};

static const char *const xy_names[] = {"x", "y"};
static const char *const q_names[] = {"a", "x", "y"};
static const char *const v_names[] = {"va", "vx", "vy"};

// ---- Objects ----------------------------------------------------------------------------------

S2LuaBody *s2_lua_new_body(lua_State *L, int world) {
  // There is one object per body. While the object is referenced, it can be found by the body's
  // serial.
  world = lua_absindex(L, world);
  S2LuaBody *body = lua_newuserdatauv(L, sizeof *body, 1);
  memset(body, 0, sizeof *body);
  // The object keeps its world alive through the user value.
  body->type = s2_type_body;
  body->lw = lua_touserdata(L, world);
  lua_pushvalue(L, world);
  lua_setiuservalue(L, -2, 1);
  luaL_setmetatable(L, "sim2d.Body");
  return body;
}

// Sets the handle of the object `body`, which is on top of the stack.
void s2_lua_bind_body(lua_State *L, int world, S2LuaBody *body, S2BodyId id) {
  world = lua_absindex(L, world);
  body->id = id;
  const char *name = "";
  (void)s2_body_name(body->lw->world, id, &name); // the name remains "" if the body is destroyed
  snprintf(body->name, sizeof body->name, "%s", name);
  // The table has weak values, so it keeps no object alive.
  lua_getiuservalue(L, world, S2_STORE_BODIES);
  lua_pushvalue(L, -2);
  lua_rawseti(L, -2, id.serial);
  lua_pop(L, 1);
}

void s2_lua_push_body(lua_State *L, int world, S2BodyId id) {
  if (id.index == 0) {
    lua_pushnil(L);
    return;
  }
  world = lua_absindex(L, world);
  // Push the existing object, or create a new one.
  lua_getiuservalue(L, world, S2_STORE_BODIES);
  if (lua_rawgeti(L, -1, id.serial) == LUA_TNIL) {
    lua_pop(L, 1);
    S2LuaBody *body = s2_lua_new_body(L, world);
    s2_lua_bind_body(L, world, body, id);
  }
  lua_remove(L, -2);
}

static int body_destroyed(lua_State *L, const S2LuaBody *body) {
  if (body->lw->world == NULL) {
    return s2_lua_fail(L, "world is closed");
  }
  return body->name[0] != '\0' ? s2_lua_fail(L, "body '%s' is destroyed", body->name)
                               : s2_lua_fail(L, "the body is destroyed");
}

static bool body_is_alive(const S2LuaBody *body) {
  return body->lw->world != NULL && s2_body_alive(body->lw->world, body->id);
}

S2LuaBody *s2_lua_body(lua_State *L, int index) {
  S2LuaBody *body = s2_lua_check(L, index, s2_type_body);
  if (!body_is_alive(body)) {
    body_destroyed(L, body);
  }
  return body;
}

S2LuaBody *s2_lua_body_of(lua_State *L, int index, const S2LuaWorld *lw) {
  S2LuaBody *body = s2_lua_body(L, index);
  if (body->lw != lw) {
    s2_lua_bad_argument(L, index, "the body belongs to another world");
  }
  return body;
}

// Errors from the engine already name the body, unless the handle is stale.
static void raise_status(lua_State *L, const S2LuaBody *body, const S2Status *status) {
  if (status->code == S2_STALE) {
    body_destroyed(L, body);
  }
  s2_lua_try(L, *status);
}

static inline void try_body(lua_State *L, const S2LuaBody *body, S2Status status) {
  if (status.code != S2_OK) {
    raise_status(L, body, &status);
  }
}

static int body_tostring(lua_State *L) {
  S2LuaBody *body = s2_lua_check(L, 1, s2_type_body);
  // A destroyed body keeps its name.
  if (!body_is_alive(body)) {
    lua_pushfstring(L, body->name[0] != '\0' ? "Body '%s' (destroyed)" : "Body (destroyed)",
                    body->name);
    return 1;
  }
  const char *name;
  s2_lua_try(L, s2_body_name(body->lw->world, body->id, &name));
  if (name[0] != '\0') {
    lua_pushfstring(L, "Body '%s'", name);
    return 1;
  }
  // An unnamed body is shown with its number in creation order.
  int count, at = 0;
  const S2BodyId *bodies = s2_lua_bodies(body->lw, &count);
  while (at < count && bodies[at].serial != body->id.serial) {
    at++;
  }
  lua_pushfstring(L, "Body #%d", at + 1);
  return 1;
}

// ---- Reading fields ---------------------------------------------------------------------------

static int32_t body_slot(const S2LuaBody *body) {
  return (int32_t)body->id.index - 1;
}

// Finds the place of a number on the tape. Returns false if the number has no derivative.
static bool body_place(const S2LuaBody *body, int field, S2Place *place) {
  if (field < S2_BODY_OMEGA) {
    *place = s2_place(S2_PLACE_Q, body_slot(body), field - S2_BODY_ANGLE);
  } else if (field < S2_BODY_STATE_COUNT) {
    *place = s2_place(S2_PLACE_V, body_slot(body), field - S2_BODY_OMEGA);
  } else if (field - S2_BODY_STATE_COUNT < S2_BODY_NUMBERS) { // these are first in fields.def
    *place = s2_place(S2_PLACE_BODY, body_slot(body), field - S2_BODY_STATE_COUNT);
  } else if (field == S2_BODY_MAX_FORCE || field == S2_BODY_MAX_TORQUE) {
    // A bound belongs to the lock that drives the body. Without a lock, there is no place.
    S2JointId drive = s2_body_drive(body->lw->world, body->id);
    *place = s2_place(S2_PLACE_JOINT, (int32_t)drive.index - 1,
                      field == S2_BODY_MAX_FORCE ? S2_OF_MAX_FORCE : S2_OF_MAX_TORQUE);
    return drive.index != 0;
  } else {
    return false;
  }
  return true;
}
_Static_assert((int)S2_BODY_CONTACT_VISCOSITY - (int)S2_BODY_MASS == (int)S2_OF_CONTACT_VISCOSITY &&
                   (int)S2_BODY_MASS == (int)S2_BODY_STATE_COUNT,
               "the order of S2BodyNumber");

// Records that numbers of q or v were written. If a drive with a bound moves the body, they also
// set the goal and rate of the drive.
static void wrote_state(lua_State *L, const S2LuaBody *body, int begin, const double *base,
                        int count, const S2Place *places) {
  enum { MOST = 3 };
  // If a lock drives the body, its goal and rate continue from the written q and v.
  S2JointId drive = s2_body_drive(body->lw->world, body->id);
  S2Place all[2 * MOST];
  int from[2 * MOST], used = 0;
  for (int i = 0; i < count; i++) {
    all[used] = places[i];
    from[used++] = i;
    if (drive.index != 0 && (places[i].kind == S2_PLACE_Q || places[i].kind == S2_PLACE_V)) {
      int of = places[i].kind == S2_PLACE_Q ? S2_OF_GOAL : S2_OF_RATE;
      all[used] = s2_place(S2_PLACE_JOINT, (int32_t)drive.index - 1, of + (int)places[i].number);
      from[used++] = i;
    }
  }
  s2_lua_wrote_from(L, body->lw, begin, base, count, used, from, all);
}

// Returns the places of a vector: all components of q or v, or the last two.
static int body_places(const S2LuaBody *body, int field, S2Place places[3]) {
  S2PlaceKind kind = field == FIELD_POSITION || field == FIELD_Q ? S2_PLACE_Q : S2_PLACE_V;
  int count = field == FIELD_Q || field == FIELD_V ? 3 : 2;
  for (int i = 0; i < count; i++) {
    places[i] = s2_place(kind, body_slot(body), 3 - count + i);
  }
  return count;
}

static void body_push_state(lua_State *L, const S2LuaBody *body, int field) {
  // On a tape, push the components as tracked numbers.
  if (s2_lua_on_tape(body->lw) != NULL) {
    S2Place places[3];
    int count = body_places(body, field, places);
    s2_lua_push_places(L, body->lw, count, places);
    return;
  }
  // Without a tape, push a copy of the numbers. If a script assigns to a component, the message
  // names the field.
  double state[3];
  bool is_q = field == FIELD_POSITION || field == FIELD_Q;
  const S2World *world = body->lw->world;
  try_body(L, body, is_q ? s2_body_q(world, body->id, state) : s2_body_v(world, body->id, state));
  switch (field) {
  case FIELD_POSITION:
    s2_lua_push_vector(L, S2_VECTOR_XY, state + 1, "body.position");
    return;
  case FIELD_VELOCITY:
    s2_lua_push_vector(L, S2_VECTOR_XY, state + 1, "body.velocity");
    return;
  case FIELD_Q:
    s2_lua_push_vector(L, S2_VECTOR_AXY, state, "body.q");
    return;
  default:
    s2_lua_push_vector(L, S2_VECTOR_VELOCITY, state, "body.v");
    return;
  }
}

static int body_push_drive(lua_State *L, const S2LuaBody *body) {
  // Push the lock that drives a body with a bound, or nil for bodies without a bound.
  S2JointId drive = s2_body_drive(body->lw->world, body->id);
  if (drive.index == 0) {
    lua_pushnil(L);
  } else {
    lua_getiuservalue(L, 1, 1);
    s2_lua_push_joint(L, -1, drive);
  }
  return 1;
}

// Upvalue 1 maps names to field numbers and methods.
static int body_index(lua_State *L) {
  S2LuaBody *body = s2_lua_check(L, 1, s2_type_body);
  lua_pushvalue(L, 2);
  int type = lua_rawget(L, lua_upvalueindex(1));
  // Methods and fields share a table. Functions are returned directly.
  if (type == LUA_TFUNCTION) {
    return 1;
  }
  if (type != LUA_TNUMBER) {
    return s2_lua_no_field(L, "Body", 2, lua_upvalueindex(1));
  }
  int field = (int)lua_tointeger(L, -1);
  if (field < S2_BODY_FIELD_COUNT && body->lw->world != NULL) {
    // This path is fast for controllers, because s2_body_get also checks that the body is alive.
    double value;
    S2Place place;
    try_body(L, body, s2_body_get(body->lw->world, body->id, (S2BodyField)field, &value));
    if (s2_lua_on_tape(body->lw) != NULL && isfinite(value) && body_place(body, field, &place)) {
      s2_lua_push_place(L, body->lw, place);
      return 1;
    }
    s2_lua_field_push_number(L, s2_body_field((S2BodyField)field), value);
    return 1;
  }
  // Read other fields of the object. For a destroyed body, only `alive` can be read.
  bool alive = body_is_alive(body);
  if (field == FIELD_ALIVE) {
    lua_pushboolean(L, alive);
    return 1;
  }
  if (!alive) {
    return body_destroyed(L, body);
  }
  switch (field) {
  case FIELD_NAME: {
    const char *name;
    try_body(L, body, s2_body_name(body->lw->world, body->id, &name));
    lua_pushstring(L, name);
    return 1;
  }
  case FIELD_DATA:
    lua_getiuservalue(L, 1, 1);
    lua_getiuservalue(L, -1, S2_STORE_DATA);
    lua_rawgeti(L, -1, body->id.serial);
    return 1;
  case FIELD_WORLD:
    lua_getiuservalue(L, 1, 1);
    return 1;
  case FIELD_DRIVE:
    return body_push_drive(L, body);
  default:
    body_push_state(L, body, field);
    return 1;
  }
}

// ---- Writing fields ---------------------------------------------------------------------------

// Reads a scalar of the engine as a double. The engine checks the domain.
static bool read_scalar(lua_State *L, S2BodyField number, double *value, S2Complaint *complaint) {
  S2Field field = *s2_body_field(number);
  // Read the value with the type of the field's domain, then convert it to double.
  union {
    double number;
    uint32_t bits;
    bool flag;
    int choice;
  } given = {.number = 0};
  // A value of nil selects a colour from the palette.
  if (field.domain == S2_FIELD_COLOR && lua_isnil(L, 3)) {
    *value = 0;
    return true;
  }
  // Read the value in place, so that the tape knows the address of a tracked number.
  bool plain = field.domain <= S2_FIELD_BOUND;
  field.offset = 0;
  if (!s2_lua_field_read(L, 3, &field, plain ? (void *)value : &given, complaint)) {
    return false;
  }
  *value = plain ? *value : s2_field_get(&field, &given);
  return true;
}

static bool body_write_state(lua_State *L, const S2LuaBody *body, int field,
                             S2Complaint *complaint) {
  double state[3];
  S2World *world = body->lw->world;
  bool is_q = field == FIELD_POSITION || field == FIELD_Q;
  // The new state depends on the tracked numbers that are read after this call.
  int begin = s2_lua_writes(L, body->lw);
  try_body(L, body, is_q ? s2_body_q(world, body->id, state) : s2_body_v(world, body->id, state));
  // Components that are not given keep their values, such as the angle if a position is assigned.
  bool good;
  if (field == FIELD_POSITION || field == FIELD_VELOCITY) {
    good = s2_value_vector(L, 3, 2, xy_names, "{x, y}", state + 1, complaint);
  } else {
    good = s2_value_vector(L, 3, 3, is_q ? q_names : v_names, is_q ? "{a, x, y}" : "{va, vx, vy}",
                           state, complaint);
  }
  if (good && field == FIELD_VELOCITY) { // set only x and y, to keep a drive of the angle
    try_body(L, body, s2_body_set(world, body->id, S2_BODY_VX, state[1]));
    try_body(L, body, s2_body_set(world, body->id, S2_BODY_VY, state[2]));
  } else if (good) {
    try_body(L, body,
             is_q ? s2_body_set_q(world, body->id, state) : s2_body_set_v(world, body->id, state));
  }
  // Record on the tape which number was written to which place.
  if (good) {
    S2Place places[3];
    int count = body_places(body, field, places);
    wrote_state(L, body, begin, state + 3 - count, count, places);
  }
  return good;
}

static bool body_write_name(lua_State *L, S2LuaBody *body, S2Complaint *complaint) {
  const char *name = "";
  if (!lua_isnil(L, 3) && !s2_value_name(L, 3, &name, complaint)) {
    return false;
  }
  try_body(L, body, s2_body_set_name(body->lw->world, body->id, name));
  snprintf(body->name, sizeof body->name, "%s", name);
  body->lw->names_stale = true;
  return true;
}

static bool body_write_field(lua_State *L, S2LuaBody *body, int field, S2Complaint *complaint) {
  if (field < S2_BODY_FIELD_COUNT) {
    // Write a number of the engine. If the number has a derivative, the tape records its
    // dependencies.
    double value = 0;
    S2Place place;
    bool differentiable = body_place(body, field, &place);
    int begin = differentiable ? s2_lua_writes(L, body->lw) : 0;
    // The tape supports neither a change of type nor a new lock.
    if (field == S2_BODY_TYPE) {
      s2_lua_not_on_tape(L, body->lw, "changing a body's type");
    }
    bool bound = field == S2_BODY_MAX_FORCE || field == S2_BODY_MAX_TORQUE;
    if (bound && !differentiable) {
      s2_lua_not_on_tape(L, body->lw, "setting the first max_force or max_torque of a body");
    }
    if (!read_scalar(L, (S2BodyField)field, &value, complaint)) {
      return false;
    }
    S2Status status = s2_body_set(body->lw->world, body->id, (S2BodyField)field, value);
    if (status.code == S2_INVALID) {
      // The message of the engine starts with the name of the field.
      return s2_lua_fail(L, "Body.%s", status.message) == 0;
    }
    try_body(L, body, status);
    wrote_state(L, body, begin, &value, differentiable, &place);
    return true;
  }
  // Write other fields of the object.
  switch (field) {
  case FIELD_NAME:
    return body_write_name(L, body, complaint);
  case FIELD_DATA:
    lua_getiuservalue(L, 1, 1);
    lua_getiuservalue(L, -1, S2_STORE_DATA);
    lua_pushvalue(L, 3);
    lua_rawseti(L, -2, body->id.serial);
    return true;
  case FIELD_WORLD:
  case FIELD_DRIVE:
  case FIELD_ALIVE:
    return s2_complain(complaint, "read-only");
  default:
    return body_write_state(L, body, field, complaint);
  }
}

static int body_newindex(lua_State *L) {
  S2LuaBody *body = s2_lua_check(L, 1, s2_type_body);
  // As in body_index(), one table contains the fields and methods.
  lua_pushvalue(L, 2);
  int type = lua_rawget(L, lua_upvalueindex(1));
  if (type == LUA_TFUNCTION) {
    return s2_lua_fail(L, "Body.%s is a method and read-only; write body:%s(...)",
                       lua_tostring(L, 2), lua_tostring(L, 2));
  }
  if (type != LUA_TNUMBER) {
    return s2_lua_no_field(L, "Body", 2, lua_upvalueindex(1));
  }
  int field = (int)lua_tointeger(L, -1);
  if (!body_is_alive(body)) {
    return body_destroyed(L, body);
  }
  S2Complaint complaint;
  if (!body_write_field(L, body, field, &complaint)) {
    return s2_lua_fail(L, "Body.%s: %s", lua_tostring(L, 2), complaint.text);
  }
  // Warn about angles that are probably in degrees.
  if (field == S2_BODY_ANGLE && lua_type(L, 3) == LUA_TNUMBER) {
    s2_lua_hint_degrees(L, body->lw, "angle", lua_tonumber(L, 3));
  }
  return 0;
}

// ---- Methods ----------------------------------------------------------------------------------

// Reads {at = {x, y}} in argument 3. Returns false if it is absent.
static bool read_at(lua_State *L, double at[2]) {
  static const char *const names[] = {"at", NULL}, *const components[] = {"x", "y"};
  S2Complaint complaint;
  if (lua_isnoneornil(L, 3)) {
    // Without options, there is no point of application.
    return false;
  }
  S2Keys keys = s2_keys_open(L, 3, false, names, NULL, 0);
  if (s2_keys_push(&keys, "at") == LUA_TNIL) {
    return false;
  }
  if (!s2_value_vector(L, -1, 2, components, "{x, y}", at, &complaint)) {
    s2_keys_fail(&keys, "at", "%s", complaint.text);
  }
  return true;
}

typedef S2Status Push(S2World *world, S2BodyId body, S2Vec2 push, const S2Vec2 *at);

static int push_body(lua_State *L, Push *push, bool impulse) {
  static const char *const names[] = {"x", "y"};
  S2LuaBody *body = s2_lua_body(L, 1);
  lua_settop(L, 3);
  // Read the force or impulse and its point of application. The tape records the dependencies of
  // both.
  int begin = s2_lua_writes(L, body->lw);
  double numbers[4] = {0, 0, 0, 0};
  S2Complaint complaint;
  if (!s2_value_vector(L, 2, 2, names, "{x, y}", numbers, &complaint)) {
    return s2_lua_bad_argument(L, 2, "%s", complaint.text);
  }
  bool has_at = read_at(L, numbers + 2);
  S2Vec2 at = {numbers[2], numbers[3]};
  try_body(L, body,
           push(body->lw->world, body->id, s2_vec2(numbers[0], numbers[1]), has_at ? &at : NULL));
  // On a tape, a force or impulse has its own entry with its dependencies.
  const S2LuaRead *list;
  S2Argument arguments[4];
  int reads;
  S2WorldTape *tape = s2_lua_written(L, body->lw, begin, &reads, &list);
  if (tape != NULL) {
    s2_world_tape_push(tape, body->lw->world, body_slot(body), impulse, numbers, has_at,
                       s2_lua_arguments(list, reads, numbers, arguments, 4), arguments);
  }
  return 0;
}

static int body_apply_force(lua_State *L) {
  return push_body(L, s2_body_apply_force, false);
}

static int body_apply_impulse(lua_State *L) {
  return push_body(L, s2_body_apply_impulse, true);
}

static int body_apply_torque(lua_State *L) {
  S2LuaBody *body = s2_lua_body(L, 1);
  int begin = s2_lua_writes(L, body->lw), reads;
  double torque = s2_argument_number(L, 2, S2_ANY_NUMBER);
  try_body(L, body, s2_body_apply_torque(body->lw->world, body->id, torque));
  const S2LuaRead *list;
  S2WorldTape *tape = s2_lua_written(L, body->lw, begin, &reads, &list);
  // On a tape, record f[0] += torque, which adds to the current torque.
  S2Place place = s2_place(S2_PLACE_F, body_slot(body), 0);
  if (reads > 0) {
    const S2Term term = {.from = list[0].var, .factor = 1};
    s2_world_tape_add(tape, body->lw->world, 1, &place, 1, &term);
  }
  return 0;
}

static S2Pose read_pose(lua_State *L, const S2LuaBody *body) {
  double q[3];
  try_body(L, body, s2_body_q(body->lw->world, body->id, q));
  return s2_pose(q[0], q[1], q[2]);
}

// Transforms the point in argument 2 by the pose of the body: p + R x, or R'(x - p) if `back`.
static int push_point(lua_State *L, bool back) {
  static const char *const names[] = {"x", "y"};
  S2LuaBody *body = s2_lua_body(L, 1);
  double given[2];
  S2Complaint complaint;
  // The result depends on the given point and on the pose of the body.
  int begin = s2_lua_writes(L, body->lw), reads;
  if (!s2_value_vector(L, 2, 2, names, "{x, y}", given, &complaint)) {
    return s2_lua_bad_argument(L, 2, "%s", complaint.text);
  }
  S2Pose pose = read_pose(L, body);
  S2Vec2 x = {given[0], given[1]};
  S2Vec2 point = back ? s2_pose_local(pose, x) : s2_pose_point(pose, x);
  // Without a tape the result is a plain copy.
  const S2LuaRead *list;
  S2WorldTape *tape = s2_lua_written(L, body->lw, begin, &reads, &list);
  if (tape == NULL) {
    s2_lua_push_vec2(L, point, NULL);
    return 1;
  }
  const double values[2] = {point.x, point.y};
  S2Argument arguments[2];
  int count = s2_lua_arguments(list, reads, given, arguments, 2);
  s2_lua_push_list(
      L, 2, values,
      s2_world_tape_point(tape, body->lw->world, body_slot(body), back, values, count, arguments));
  return 1;
}

static int body_world_point(lua_State *L) {
  return push_point(L, false);
}

static int body_local_point(lua_State *L) {
  return push_point(L, true);
}

// Only a dynamic body has kinetic energy, because the mass of other bodies is infinite.
static void body_measure_energy(const void *user, const S2World *world, double *energy) {
  // Computes 1/2 (J w^2 + m v^2).
  const S2BodyId *body = user;
  double type = S2_STATIC, mass = 0, inertia = 0, v[3] = {0, 0, 0};
  (void)s2_body_get(world, *body, S2_BODY_TYPE, &type);
  (void)s2_body_get(world, *body, S2_BODY_MASS, &mass);
  (void)s2_body_get(world, *body, S2_BODY_INERTIA, &inertia);
  (void)s2_body_v(world, *body, v);
  bool is_dynamic = (S2BodyType)(int)type == S2_DYNAMIC;
  *energy = is_dynamic ? 0.5 * (inertia * v[0] * v[0] + mass * (v[1] * v[1] + v[2] * v[2])) : 0;
}

static int body_kinetic_energy(lua_State *L) {
  S2LuaBody *body = s2_lua_body(L, 1);
  double energy;
  // On a tape, record the energy with its derivatives with respect to velocity, mass and inertia.
  if (s2_lua_on_tape(body->lw) == NULL) {
    body_measure_energy(&body->id, body->lw->world, &energy);
    lua_pushnumber(L, energy);
    return 1;
  }
  int32_t slot = body_slot(body);
  const S2Place places[] = {
      s2_place(S2_PLACE_V, slot, 0), s2_place(S2_PLACE_V, slot, 1), s2_place(S2_PLACE_V, slot, 2),
      s2_place(S2_PLACE_BODY, slot, S2_OF_MASS), s2_place(S2_PLACE_BODY, slot, S2_OF_INERTIA)};
  s2_lua_push_measured(L, body->lw, 1, body_measure_energy, &body->id, 5, places);
  return 1;
}

static int body_destroy(lua_State *L) {
  S2LuaBody *body = s2_lua_body(L, 1);
  try_body(L, body, s2_body_destroy(body->lw->world, body->id));
  // Data and laws of destroyed bodies are removed occasionally.
  s2_lua_world_changed(body->lw);
  body->lw->destroyed++;
  lua_getiuservalue(L, 1, 1);
  s2_lua_laws_sweep(L, lua_gettop(L));
  return 0;
}

static int body_contacts(lua_State *L) {
  S2LuaBody *body = s2_lua_body(L, 1);
  lua_getiuservalue(L, 1, 1);
  s2_lua_push_contacts(L, lua_gettop(L), body->id);
  return 1;
}

// Returns x, y, and the angular impulse about the centre.
static int body_net_contact_impulse(lua_State *L) {
  S2LuaBody *body = s2_lua_body(L, 1);
  double impulse[3];
  try_body(L, body, s2_body_contact_impulse(body->lw->world, body->id, impulse));
  S2WorldTape *tape = s2_lua_on_tape(body->lw);
  // The engine stores the angular component first, but the script gets it last.
  S2Var var = tape == NULL
                  ? 0
                  : s2_world_tape_contact_impulse(tape, body->lw->world, body_slot(body), impulse);
  s2_lua_push_list(L, 3, impulse, var);
  int list = lua_gettop(L);
  lua_geti(L, list, 2);
  lua_geti(L, list, 3);
  lua_geti(L, list, 1);
  return 3;
}

// Like net_contact_impulse, but always returns plain numbers.
static int body_net_correction(lua_State *L) {
  S2LuaBody *body = s2_lua_body(L, 1);
  double impulse[3];
  try_body(L, body, s2_body_correction(body->lw->world, body->id, impulse));
  lua_pushnumber(L, impulse[1]);
  lua_pushnumber(L, impulse[2]);
  lua_pushnumber(L, impulse[0]);
  return 3;
}

void s2_lua_open_body(lua_State *L) {
  static const luaL_Reg methods[] = {{"apply_force", body_apply_force},
                                     {"apply_torque", body_apply_torque},
                                     {"apply_impulse", body_apply_impulse},
                                     {"force_law", s2_lua_body_force_law},
                                     {"motion", s2_lua_body_motion},
                                     {"world_point", body_world_point},
                                     {"local_point", body_local_point},
                                     {"kinetic_energy", body_kinetic_energy},
                                     {"contacts", body_contacts},
                                     {"net_contact_impulse", body_net_contact_impulse},
                                     {"net_correction", body_net_correction},
                                     {"destroy", body_destroy},
                                     {NULL, NULL}};
  // One table of fields and methods is used for reading and writing. It is the upvalue of both
  // functions.
  s2_lua_metatable(L, s2_type_body);
  lua_newtable(L);
  for (int i = 0; i < S2_BODY_FIELD_COUNT; i++) {
    lua_pushinteger(L, i);
    lua_setfield(L, -2, s2_body_field((S2BodyField)i)->name);
  }
  for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
    lua_pushinteger(L, fields[i].field);
    lua_setfield(L, -2, fields[i].name);
  }
  s2_lua_functions(L, methods, 0);
  // Set the table as first upvalue of both functions.
  lua_pushvalue(L, -1);
  lua_pushcclosure(L, body_index, 1);
  lua_setfield(L, -3, "__index");
  lua_pushcclosure(L, body_newindex, 1);
  lua_setfield(L, -2, "__newindex");
  lua_pushcfunction(L, body_tostring);
  lua_setfield(L, -2, "__tostring");
  lua_pop(L, 1);
}
