// world:linearize{inputs =, coordinates =}: the derivatives of a step as matrices.
#include "lua/diff/linearize.h"

#include "lua/diff/array.h"
#include "lua/diff/on_tape.h"

#include <stdio.h>
#include <string.h>

static const char *const names[] = {"inputs", "coordinates", NULL};
static const char *const input_names[] = {"body",        "joint",     "force", "torque",
                                          "motor_speed", "motor_max", "rest",  "goal",
                                          "frame",       "at",        NULL};
enum { AMOUNTS = 2, AMOUNTS_END = 8 }; // Range of the kinds of inputs in input_names.

// ---- Inputs -----------------------------------------------------------------------------------

// Pushes the body given under `key`, as an object or by its name.
static void linearize_push_body(const S2Keys *keys, S2LuaWorld *lw) {
  lua_State *L = keys->L;
  if (s2_keys_push(keys, "body") == LUA_TSTRING) {
    lua_getfield(L, 1, "bodies");
    lua_insert(L, -2);
    lua_gettable(L, -2); // raises an error if there is none
    lua_remove(L, -2);
  }
  const S2LuaBody *body = s2_lua_test(L, -1, s2_type_body);
  if (body == NULL || body->lw != lw) {
    char text[S2_LUA_TEXT];
    s2_keys_fail(keys, "body", "a body of this world or its name expected, got %s",
                 body != NULL ? "one of another world" : s2_lua_describe(L, -1, text));
  }
}

static const S2LuaJoint *linearize_push_joint(const S2Keys *keys, S2LuaWorld *lw) {
  lua_State *L = keys->L;
  s2_keys_push(keys, "joint");
  const S2LuaJoint *joint = s2_lua_test(L, -1, s2_type_joint);
  if (joint == NULL || joint->lw != lw) {
    char text[S2_LUA_TEXT];
    s2_keys_fail(keys, "joint", "a joint of this world expected, got %s",
                 joint != NULL ? "one of another world" : s2_lua_describe(L, -1, text));
  }
  return joint;
}

// Returns the key that gives the kind of an input. There must be exactly one such key.
static const char *linearize_what_acts(const S2Keys *keys, bool joint) {
  const char *found = NULL;
  for (int i = AMOUNTS; i < AMOUNTS_END; i++) {
    if (s2_keys_has(keys, input_names[i])) {
      if (found != NULL) {
        s2_keys_fail(keys, input_names[i], "an input has only one kind, but '%s' is also given",
                     found);
      }
      found = input_names[i];
    }
  }
  if (found == NULL) {
    s2_keys_fail(keys, joint ? "joint" : "body",
                 joint
                     ? "a second key expected: force, torque, motor_speed, motor_max, rest or "
                       "goal, with its value for an input of 1"
                     : "a second key expected: force or torque, with its value for an input of 1");
  }
  return found;
}

// Read a force that turns with its body, and its point of application.
static void linearize_read_frame(const S2Keys *keys, S2Input *input, bool pushes) {
  S2Vec2 at = {0, 0};
  if (!pushes) {
    for (int i = AMOUNTS_END; input_names[i] != NULL; i++) {
      if (s2_keys_has(keys, input_names[i])) {
        s2_keys_fail(keys, input_names[i], "applies only to the force of a body");
      }
    }
    return;
  }
  input->fixed =
      s2_keys_push(keys, "frame") == LUA_TSTRING && strcmp(lua_tostring(keys->L, -1), "body") == 0;
  if (!input->fixed && !lua_isnil(keys->L, -1)) {
    s2_keys_fail(keys, "frame", "\"body\" expected, or nothing");
  }
  lua_pop(keys->L, 1);
  s2_keys_vec2(keys, "at", &at);
  if (!input->fixed && (at.x != 0 || at.y != 0)) {
    s2_keys_fail(keys, "at", "applies only to a force with frame = \"body\"");
  }
  input->amount[0] = at.x * input->amount[2] - at.y * input->amount[1];
}

static void linearize_read_input(const S2Keys *keys, S2LuaWorld *lw, S2Input *input) {
  lua_State *L = keys->L;
  // An input belongs to a joint or a body and has one kind.
  bool joint = s2_keys_has(keys, "joint");
  // An input at a joint acts on its two bodies in opposite directions.
  if (joint == s2_keys_has(keys, "body")) {
    s2_keys_fail(keys, "body", "either a body or a joint expected");
  }
  const char *what = linearize_what_acts(keys, joint);
  *input = (S2Input){.kind = S2_INPUT_FORCE};
  if (joint) {
    input->joint = linearize_push_joint(keys, lw)->id;
    input->kind = strcmp(what, "force") == 0         ? S2_INPUT_JOINT_FORCE
                  : strcmp(what, "torque") == 0      ? S2_INPUT_JOINT_TORQUE
                  : strcmp(what, "motor_speed") == 0 ? S2_INPUT_MOTOR_SPEED
                  : strcmp(what, "rest") == 0        ? S2_INPUT_REST
                  : strcmp(what, "goal") == 0        ? S2_INPUT_GOAL
                                                     : S2_INPUT_MOTOR_MAX;
    s2_keys_number(keys, what, S2_ANY_NUMBER, &input->amount[0]);
  } else {
    S2Vec2 force = {0, 0};
    linearize_push_body(keys, lw);
    input->body = ((S2LuaBody *)lua_touserdata(L, -1))->id;
    if (strcmp(what, "force") == 0) {
      s2_keys_vec2(keys, "force", &force);
      input->amount[1] = force.x;
      input->amount[2] = force.y;
    } else if (strcmp(what, "torque") == 0) {
      s2_keys_number(keys, "torque", S2_ANY_NUMBER, &input->amount[0]);
    } else {
      s2_keys_fail(keys, what, "applies to joints, not to bodies");
    }
  }
  linearize_read_frame(keys, input, !joint && strcmp(what, "force") == 0);
  lua_pop(L, 1);
}

int s2_lua_linearize_inputs(const S2Keys *keys, S2LuaWorld *lw, S2Input **inputs, double **held) {
  lua_State *L = keys->L;
  char text[S2_LUA_TEXT];
  int type = s2_keys_push(keys, "inputs");
  if (type == LUA_TNIL) {
    lua_pop(L, 1);
    return 0;
  }
  if (type != LUA_TTABLE) {
    s2_keys_fail(keys, "inputs", "list of inputs expected, got %s", s2_lua_describe(L, -1, text));
  }
  int list = lua_gettop(L), count = (int)lua_rawlen(L, list);
  *inputs = S2_TAKE(&lw->scratch, S2Input, count + 1);
  *held = S2_TAKE_ZEROED(&lw->scratch, double, count + 1);
  for (int i = 0; i < count; i++) {
    char scope[S2_KEYS_SCOPE];
    snprintf(scope, sizeof scope, "inputs[%d].", i + 1);
    // For an actuator of sim.control, the field `input` contains this table.
    if (lua_rawgeti(L, list, i + 1) == LUA_TTABLE &&
        luaL_getmetafield(L, -1, "__name") != LUA_TNIL) {
      lua_pop(L, 1);
      lua_getfield(L, -1, "value");
      (*held)[i] = lua_tonumber(L, -1);
      lua_pop(L, 1);
      lua_getfield(L, -1, "input"); // the table of an actuator
      lua_replace(L, -2);
    }
    if (lua_type(L, -1) != LUA_TTABLE) {
      s2_keys_fail(keys, "inputs", "[%d]: an actuator or {body = or joint =, ...} expected, got %s",
                   i + 1, s2_lua_describe(L, -1, text));
    }
    S2Keys inner = s2_keys_inner(keys, scope, input_names, NULL);
    linearize_read_input(&inner, lw, &(*inputs)[i]);
    lua_settop(L, list);
  }
  lua_settop(L, list - 1);
  return count;
}

// ---- Coordinates ------------------------------------------------------------------------------

S2LuaCoordinates s2_lua_linearize_coordinates(const S2Keys *keys, S2LuaWorld *lw) {
  lua_State *L = keys->L;
  static const char *const ways[] = {"maximal", "reduced", NULL};
  S2LuaCoordinates wanted = {0};
  int type = s2_keys_push(keys, "coordinates"), list = lua_gettop(L), way = 0;
  // The value is a name of coordinates.
  if (type != LUA_TTABLE) {
    if (type != LUA_TNIL && type != LUA_TSTRING) {
      char text[S2_LUA_TEXT];
      s2_keys_fail(keys, "coordinates",
                   "'maximal', 'reduced' or a list of joints and bodies expected, got %s",
                   s2_lua_describe(L, -1, text));
    }
    lua_pop(L, 1);
    s2_keys_choice(keys, "coordinates", ways, &way);
    wanted.reduced = way == 1;
    return wanted;
  }
  // The value is a list of joints and bodies of this world.
  wanted.reduced = true;
  wanted.count = (int)lua_rawlen(L, list);
  wanted.list = S2_TAKE_ZEROED(&lw->scratch, S2Coordinate, wanted.count + 1);
  for (int i = 0; i < wanted.count; i++) {
    lua_rawgeti(L, list, i + 1);
    const S2LuaBody *body = s2_lua_test(L, -1, s2_type_body);
    const S2LuaJoint *joint = s2_lua_test(L, -1, s2_type_joint);
    if (joint != NULL && joint->lw == lw) {
      wanted.list[i].joint = joint->id;
    } else if (body != NULL && body->lw == lw) {
      wanted.list[i].body = body->id;
    } else {
      char text[S2_LUA_TEXT];
      s2_keys_fail(keys, "coordinates", "[%d]: a joint or body of this world expected, got %s",
                   i + 1, s2_lua_describe(L, -1, text));
    }
    lua_pop(L, 1);
  }
  lua_settop(L, list - 1);
  return wanted;
}

// ---- Results ----------------------------------------------------------------------------------

void s2_lua_linearize_push(lua_State *L, const double *numbers, int rows, int columns) {
  S2LuaArray *array = s2_lua_array_push(L, (S2Size){2, rows, columns});
  if (rows * columns > 0) {
    memcpy(array->data, numbers, sizeof(double) * (size_t)rows * (size_t)columns);
  }
}

static const char *linearize_part_name(const S2LuaWorld *lw, const S2Coordinate *of) {
  static const char *const of_bodies[] = {"angle", "x", "y"};
  S2JointInfo info = {0};
  if (of->joint.index == 0) {
    return of_bodies[of->part];
  }
  (void)s2_joint_info(lw->world, of->joint, &info);
  return info.type == S2_HINGE || of->part == 1            ? "angle"
         : info.type == S2_SLIDER || info.type == S2_WHEEL ? "translation"
                                                           : "length";
}

// Pushes {{body = or joint =, field =}, ...}.
void s2_lua_push_coordinates(lua_State *L, const S2LuaWorld *lw, const S2Coordinate *coordinate,
                             int count) {
  lua_createtable(L, count, 0);
  for (int i = 0; i < count; i++) {
    const S2Coordinate *of = &coordinate[i];
    // Each entry is a body or a joint, and one of its coordinates.
    bool joint = of->joint.index != 0;
    lua_createtable(L, 0, 2);
    if (joint) {
      s2_lua_push_joint(L, 1, of->joint);
    } else {
      s2_lua_push_body(L, 1, of->body);
    }
    lua_setfield(L, -2, joint ? "joint" : "body");
    lua_pushstring(L, linearize_part_name(lw, of));
    lua_setfield(L, -2, "field");
    lua_rawseti(L, -2, i + 1);
  }
}

static double *linearize_keep(S2Arena *arena, const double *numbers, int rows, int columns) {
  double *kept = S2_TAKE(arena, double, rows *columns + 1);
  if (rows * columns > 0) {
    memcpy(kept, numbers, sizeof(double) * (size_t)rows * (size_t)columns);
  }
  return kept;
}

// Linearizes a step of a clone. Callbacks see the clone in place of the world (handles are equal).
// They may use the scratch memory, so the results are copied there only at the end.
static S2Status linearize(S2LuaWorld *lw, const S2Input *inputs, int count,
                          const S2LuaCoordinates *wanted, S2Linear *linear) {
  S2World *world = lw->world, *clone;
  S2Arena arena;
  S2_TRY(s2_world_clone(world, &clone));
  s2_arena_init(&arena);
  // The clone gets the callbacks of the world.
  S2Callbacks callbacks;
  s2_lua_engine_callbacks(lw, &callbacks);
  s2_world_set_callbacks(clone, &callbacks);
  lw->world = clone;
  S2Status status = wanted->reduced ? s2_world_linearize_reduced(clone, inputs, count, wanted->list,
                                                                 wanted->count, &arena, linear)
                                    : s2_world_linearize(clone, inputs, count, &arena, linear);
  lw->world = world;
  s2_world_destroy(clone);
  // Keep the results in the scratch memory until the next call.
  if (status.code == S2_OK) {
    const S2Coordinate *coordinate = linear->coordinate;
    s2_arena_reset(&lw->scratch);
    linear->a = linearize_keep(&lw->scratch, linear->a, linear->states, linear->states);
    linear->b = linearize_keep(&lw->scratch, linear->b, linear->states, linear->inputs);
    linear->coordinate = S2_TAKE(&lw->scratch, S2Coordinate, linear->coordinates + 1);
    for (int i = 0; i < linear->coordinates; i++) {
      linear->coordinate[i] = coordinate[i];
    }
  }
  s2_arena_free(&arena);
  return status;
}

static int world_linearize(lua_State *L) {
  S2LuaWorld *lw = s2_lua_world(L, 1);
  lua_settop(L, 2);
  S2Keys keys = s2_keys_open(L, 2, true, names, NULL, 0);
  S2Input *inputs = NULL;
  S2Linear linear = {0};
  s2_arena_reset(&lw->scratch);
  // Read all arguments before the computation, since they may raise.
  double *held;
  int count = s2_lua_linearize_inputs(&keys, lw, &inputs, &held);
  s2_lua_not_on_tape(L, lw, "world:linearize()");
  S2LuaCoordinates wanted = s2_lua_linearize_coordinates(&keys, lw);
  s2_lua_step_open(L, lw, "world:linearize()");
  // Restore the random generator afterwards, because callbacks may draw from it.
  lw->random_before = lw->session->random->rng;
  lw->phase = S2_INSIDE;
  S2Status status = linearize(lw, inputs, count, &wanted, &linear);
  lw->phase = S2_BETWEEN;
  lw->session->random->rng = lw->random_before;
  if (status.code != S2_OK) {
    s2_lua_step_failed(L, lw, status);
  }
  s2_lua_linearize_push(L, linear.a, linear.states, linear.states);
  s2_lua_linearize_push(L, linear.b, linear.states, linear.inputs);
  if (!wanted.reduced) {
    return 2;
  }
  s2_lua_push_coordinates(L, lw, linear.coordinate, linear.coordinates);
  return 3;
}

const luaL_Reg s2_world_linearize_methods[] = {{"linearize", world_linearize}, {NULL, NULL}};
