// Creates joints: world:hinge{...} and the other constructors.
#include "lua/diff/array.h"
#include "lua/diff/on_tape.h"

#include <math.h>
#include <string.h>

// True for "world" and `false`, which mean the world in place of a body.
static bool is_world(lua_State *L, int index) {
  return (lua_type(L, index) == LUA_TBOOLEAN && !lua_toboolean(L, index)) ||
         (lua_type(L, index) == LUA_TSTRING && strcmp(lua_tostring(L, index), "world") == 0);
}

// Reads the body at index `place` of the list or under `key`. nil means the world. If `pair`,
// "world" and `false` also mean the world. *given is set if the value is not nil.
static S2BodyId read_body(const S2Keys *keys, const S2LuaWorld *lw, int place, const char *key,
                          bool pair, bool *given) {
  // The body is given by index or by key, but not both.
  lua_State *L = keys->L;
  bool by_place = lua_geti(L, keys->table, place) != LUA_TNIL;
  if (s2_keys_push(keys, key) != LUA_TNIL) {
    if (by_place) {
      s2_keys_fail(keys, key, "given twice, also as [%d]", place);
    }
    lua_replace(L, -2);
  } else {
    lua_pop(L, 1);
  }
  // A wrong type, a body of another world and a destroyed body each have their own message.
  S2BodyId id = {0, 0};
  *given = !lua_isnil(L, -1);
  if (*given && !(pair && is_world(L, -1))) {
    const S2LuaBody *body = s2_lua_test(L, -1, s2_type_body);
    if (body == NULL) {
      char text[S2_LUA_TEXT];
      s2_keys_fail(keys, key, "Body expected, got %s%s", s2_lua_describe(L, -1, text),
                   pair ? "; for the world, give \"world\" or false" : "");
    } else if (body->lw != lw) {
      s2_keys_fail(keys, key, "the body belongs to another world");
    } else if (!s2_body_alive(lw->world, body->id)) {
      s2_keys_fail(keys, key, "body '%s' is destroyed", body->name);
    } else {
      id = body->id;
    }
  }
  lua_pop(L, 1);
  return id;
}

// Reads the joint at index `place` of the list or under `key`.
static S2JointId read_joint(const S2Keys *keys, const S2LuaWorld *lw, int place, const char *key) {
  lua_State *L = keys->L;
  // The joint is given by index or by key. Without an index, the key is required.
  bool by_place = lua_geti(L, keys->table, place) != LUA_TNIL;
  if (!by_place) {
    lua_pop(L, 1);
    s2_keys_require(keys, key);
    s2_keys_push(keys, key);
  } else if (s2_keys_has(keys, key)) {
    s2_keys_fail(keys, key, "given twice, also as [%d]", place);
  }
  // A joint is required, so nil is an error.
  const S2LuaJoint *joint = s2_lua_test(L, -1, s2_type_joint);
  if (joint == NULL) {
    char text[S2_LUA_TEXT];
    s2_keys_fail(keys, key, "Joint expected, got %s", s2_lua_describe(L, -1, text));
    return (S2JointId){0, 0}; // not reached
  }
  if (joint->lw != lw) {
    s2_keys_fail(keys, key, "the joint belongs to another world");
  } else if (!s2_joint_alive(lw->world, joint->id)) {
    s2_keys_fail(keys, key, "joint '%s' is destroyed", joint->name);
  }
  S2JointId id = joint->id;
  lua_pop(L, 1);
  return id;
}

// ---- Values -----------------------------------------------------------------------------------

static bool read_limit(lua_State *L, int index, double absent, double *value,
                       S2Complaint *complaint) {
  // A value of nil leaves the side unbounded.
  if (lua_isnil(L, index)) {
    *value = absent;
    return true;
  }
  if (s2_lua_is_tracked(L, index)) {
    return s2_value_number(L, index, S2_ANY_NUMBER, value, complaint);
  }
  // Infinite sides are allowed, but NAN is not.
  if (lua_type(L, index) != LUA_TNUMBER || isnan(lua_tonumber(L, index))) {
    char text[S2_LUA_TEXT];
    return s2_complain(complaint, "{lo, hi} of numbers or nil expected, got %s",
                       s2_lua_describe(L, index, text));
  }
  *value = lua_tonumber(L, index);
  return true;
}

bool s2_lua_limits(lua_State *L, int index, double limits[2], S2Complaint *complaint) {
  // If the list is nil, both sides are unbounded.
  limits[0] = -INFINITY;
  limits[1] = INFINITY;
  if (lua_isnil(L, index)) {
    return true;
  }
  char text[S2_LUA_TEXT];
  if (lua_type(L, index) != LUA_TTABLE) {
    return s2_complain(complaint, "{lo, hi} expected, got %s", s2_lua_describe(L, index, text));
  }
  // Other keys would silently leave both sides unbounded.
  if (s2_lua_pair_stray(L, index, text)) {
    return s2_complain(complaint, "{lo, hi} expected, two values without names, got key %s", text);
  }
  index = lua_absindex(L, index);
  bool good = true;
  for (int i = 0; i < 2 && good; i++) {
    lua_rawgeti(L, index, i + 1);
    good = read_limit(L, -1, limits[i], &limits[i], complaint);
    lua_pop(L, 1);
  }
  return good;
}

// Reads a number that may be infinite. The engine makes all other checks.
bool s2_lua_read_bound(const S2Keys *keys, const char *key, double *value) {
  // A plain number may be infinite, whereas s2_keys_number requires a finite number.
  lua_State *L = keys->L;
  if (s2_keys_push(keys, key) != LUA_TNUMBER) {
    lua_pop(L, 1);
    return s2_keys_number(keys, key, S2_NON_NEGATIVE, value);
  }
  *value = lua_tonumber(L, -1);
  lua_pop(L, 1);
  if (!(*value >= 0)) {
    s2_keys_fail(keys, key, "non-negative number expected, got %g", *value);
  }
  return true;
}

static void read_matrix(const S2Keys *keys, const char *key, S2JointWeights *weights) {
  lua_State *L = keys->L;
  // The value is a square matrix with at most three rows.
  int table = lua_gettop(L), size = (int)lua_rawlen(L, table);
  if (size < 1 || size > 3) {
    s2_keys_fail(keys, key, "a matrix of 1 to 3 rows expected, got %d", size);
  }
  weights->size = size;
  for (int i = 0; i < size; i++) {
    if (lua_rawgeti(L, table, i + 1) != LUA_TTABLE || (int)lua_rawlen(L, -1) != size) {
      s2_keys_fail(keys, key, "a square matrix expected, with %d numbers in row %d", size, i + 1);
    }
    for (int j = 0; j < size; j++) {
      // Entries may be tracked. If an entry is not a number, the message gives its index.
      double *entry = &weights->matrix[i * size + j];
      S2Complaint complaint;
      if (lua_rawgeti(L, -1, j + 1) == LUA_TNUMBER) {
        *entry = lua_tonumber(L, -1);
      } else if (!s2_lua_is_tracked(L, -1)) {
        s2_keys_fail(keys, key, "numbers expected, but there is none in row %d, column %d", i + 1,
                     j + 1);
      } else if (!s2_value_number(L, -1, S2_ANY_NUMBER, entry, &complaint)) {
        s2_keys_fail(keys, key, "%s", complaint.text);
      }
      lua_pop(L, 1);
    }
    lua_pop(L, 1);
  }
  // A finite difference shifts one of two equal entries. Change both by half of the shift, so that
  // the matrix remains symmetric.
  for (int i = 0; i < size && s2_lua_diff(L)->shift_by != 0; i++) {
    for (int j = 0; j < i; j++) {
      double *below = &weights->matrix[i * size + j], *above = &weights->matrix[j * size + i];
      *below = *above = (*below + *above) / 2;
    }
  }
}

// Reads a number, {linear =, angular =} or a matrix.
void s2_lua_read_weights(const S2Keys *keys, const char *key, S2JointWeights *weights) {
  static const char *const names[] = {"linear", "angular", NULL};
  lua_State *L = keys->L;
  // sim2d arrays count as lists.
  s2_keys_push(keys, key);
  s2_lua_array_unfold(L, -1);
  int type = lua_type(L, -1);
  if (type == LUA_TTABLE && lua_rawlen(L, -1) > 0) {
    read_matrix(keys, key, weights);
  } else if (type == LUA_TTABLE) {
    S2Keys inner = s2_keys_inner(keys, key[0] == 'c' ? "compliance." : "damping.", names, NULL);
    s2_keys_number(&inner, "linear", S2_NON_NEGATIVE, &weights->linear);
    s2_keys_number(&inner, "angular", S2_NON_NEGATIVE, &weights->angular);
  } else if (s2_keys_number(keys, key, S2_NON_NEGATIVE, &weights->linear)) {
    weights->angular = weights->linear;
  }
  lua_pop(L, 1);
}

static void joint_read_motor(const S2Keys *keys, bool turns, S2JointDef *def) {
  static const char *const turning[] = {"speed", "max_torque", NULL};
  static const char *const pushing[] = {"speed", "max_force", NULL};
  lua_State *L = keys->L;
  int type = s2_keys_push(keys, "motor");
  // A motor is a table with a speed and a bound, which is a torque if the joint turns.
  if (type == LUA_TTABLE) {
    S2Keys inner = s2_keys_inner(keys, "motor.", turns ? turning : pushing, NULL);
    def->has_motor = true;
    s2_keys_require(&inner, "speed");
    s2_keys_number(&inner, "speed", S2_ANY_NUMBER, &def->motor_speed);
    s2_lua_read_bound(&inner, turns ? "max_torque" : "max_force", &def->motor_max);
  } else if (type != LUA_TNIL) {
    char text[S2_LUA_TEXT];
    s2_keys_fail(keys, "motor", "{speed =, %s =} expected, got %s",
                 turns ? "max_torque" : "max_force", s2_lua_describe(L, -1, text));
  }
  lua_pop(L, 1);
}

static void joint_read_limits(const S2Keys *keys, S2JointDef *def) {
  lua_State *L = keys->L;
  S2Complaint complaint;
  double limits[2];
  if (s2_keys_push(keys, "limits") != LUA_TNIL) {
    if (!s2_lua_limits(L, -1, limits, &complaint)) {
      s2_keys_fail(keys, "limits", "%s", complaint.text);
    }
    def->has_limits = true;
    def->limit_lo = limits[0];
    def->limit_hi = limits[1];
  }
  lua_pop(L, 1);
}

void s2_lua_read_stabilization(const S2Keys *keys, S2JointDef *def) {
  static const char *const choices[] = {"none", "baumgarte", NULL};
  // The other values that a world accepts correct the positions of whole islands at once.
  static const char *const worlds[] = {"projection", "pre", "post", "post_assembly", NULL};
  int type = s2_keys_push(keys, "stabilization"), choice;
  for (int i = 0; type == LUA_TSTRING && worlds[i] != NULL; i++) {
    if (strcmp(lua_tostring(keys->L, -1), worlds[i]) == 0) {
      s2_keys_fail(
          keys, "stabilization",
          "'none' or 'baumgarte' expected, got '%s', which moves whole islands: give it to "
          "sim.world, and leave the key out here",
          worlds[i]);
    }
  }
  lua_pop(keys->L, 1);
  if (s2_keys_choice(keys, "stabilization", choices, &choice)) {
    def->stabilization = choice == 0 ? 0 : S2_BAUMGARTE_FACTOR;
  }
}

// ---- By type ----------------------------------------------------------------------------------

static const char *const common[] = {"name", "collide", "break_force", NULL};

bool s2_lua_joint_takes(S2JointType type, const char *key) {
  // The file that implements the joint type lists its keys.
  const char *const *keys = s2_joint_traits(type)->keys;
  while (keys != NULL && *keys != NULL && strcmp(*keys, key) != 0) {
    keys++;
  }
  return keys != NULL && *keys != NULL;
}

static void read_vec2(const S2Keys *keys, S2JointType type, const char *key, bool required,
                      S2Vec2 *value) {
  if (s2_lua_joint_takes(type, key)) {
    if (required) {
      s2_keys_require(keys, key);
    }
    s2_keys_vec2(keys, key, value);
  }
}

static void joint_read_bodies(const S2Keys *keys, const S2LuaWorld *lw, S2JointDef *def) {
  // Gears connect joints. Other types connect one or two bodies.
  if (s2_lua_joint_takes(def->type, "joint_a")) {
    def->joint_a = read_joint(keys, lw, 1, "joint_a");
    def->joint_b = read_joint(keys, lw, 2, "joint_b");
    return;
  }
  // If the second body is omitted, it is the world. If the second body is given, the first must not
  // be nil, because nil would most likely be a misspelt variable.
  bool one = s2_lua_joint_takes(def->type, "body"), given_a, given_b = false;
  def->a = read_body(keys, lw, 1, one ? "body" : "a", !one, &given_a);
  def->b = one ? def->b : read_body(keys, lw, 2, "b", true, &given_b);
  if (!given_a && given_b) {
    s2_keys_fail(keys, "a", "a body, \"world\" or false expected before 'b', got nil");
  }
  if (given_a && !one && def->a.index == 0 && def->b.index == 0) {
    s2_keys_fail(keys, "b", "a body expected after the world, got %s",
                 given_b ? "the world" : "nil");
  }
  if (def->a.index == 0 && def->b.index == 0) {
    s2_lua_bad_argument(keys->L, keys->argument, "key '%s' is missing", one ? "body" : "a");
  }
}

static void joint_read_keys(const S2Keys *keys, S2JointDef *def) {
  S2JointType type = def->type;
  // An anchor is required if no body provides a default.
  read_vec2(keys, type, "anchor", !s2_lua_joint_takes(type, "body"), &def->anchor_a);
  read_vec2(keys, type, "anchor_a", def->a.index == 0, &def->anchor_a);
  read_vec2(keys, type, "anchor_b", def->b.index == 0, &def->anchor_b);
  for (const S2Field *field = s2_joint_keys; field->name != NULL; field++) {
    if (s2_lua_joint_takes(type, field->name)) {
      if (field->required) {
        s2_keys_require(keys, field->name);
      }
      s2_lua_field_key(keys, field, def);
    }
  }
  // Springs have a stiffness or a law, and other types have a compliance. Hinges and sliders accept
  // either.
  if (s2_lua_joint_takes(type, "compliance")) {
    s2_lua_read_weights(keys, "compliance", &def->compliance);
    s2_lua_read_weights(keys, "damping", &def->damping);
    if (s2_lua_joint_takes(type, "stiffness")) {
      s2_keys_number(keys, "stiffness", S2_NON_NEGATIVE, &def->stiffness);
    }
  } else if (s2_lua_joint_takes(type, "stiffness")) {
    if (!s2_lua_joint_takes(type, "force") || !s2_lua_spring_law(keys, def)) {
      s2_keys_require(keys, "stiffness");
    }
    s2_keys_number(keys, "stiffness", S2_NON_NEGATIVE, &def->stiffness);
    s2_keys_number(keys, "damping", S2_NON_NEGATIVE, &def->damping.linear);
  }
  // Read limits and motor.
  if (s2_lua_joint_takes(type, "limits")) {
    joint_read_limits(keys, def);
    joint_read_motor(keys, s2_joint_traits(type)->turns, def);
  }
  if (s2_lua_joint_takes(type, "stabilization")) {
    s2_lua_read_stabilization(keys, def);
  }
  // Read keys that all joints share.
  s2_lua_read_bound(keys, "break_force", &def->break_force);
  s2_keys_name(keys, "name", &def->name);
  s2_keys_boolean(keys, "collide", &def->collide);
}

// Describes how to read the definition of a joint from the arguments of the running function.
typedef struct Recipe {
  const S2Keys *keys;
  const S2LuaWorld *lw;
  S2JointType type;
  int begin; // result of s2_lua_writes
} Recipe;

// Reads the definition. For a lock, also pushes the functions.
static S2JointDef joint_read_recipe(const Recipe *recipe) {
  S2JointDef def = s2_joint_def(recipe->type);
  joint_read_bodies(recipe->keys, recipe->lw, &def);
  joint_read_keys(recipe->keys, &def);
  if (s2_lua_joint_takes(recipe->type, "velocity")) {
    s2_lua_read_lock(recipe->keys, &def);
  }
  return def;
}

// A shifted matrix may have a negative eigenvalue, even for the smallest shift if an eigenvalue is
// 0. The engine would then refuse to create the joint. Therefore the joint is created with the unit
// matrix and gets its numbers afterwards. A zero matrix is kept, because it makes the joint rigid.
static void joint_unshift(S2JointWeights *weights) {
  bool zero = true;
  for (int i = 0; i < weights->size * weights->size; i++) {
    zero = zero && weights->matrix[i] == 0;
  }
  for (int i = 0; i < weights->size * weights->size && !zero; i++) {
    weights->matrix[i] = i % (weights->size + 1) == 0;
  }
}

static S2Status joint_build_again(void *user, S2World *world, int which, double by) {
  const Recipe *recipe = user;
  lua_State *L = recipe->keys->L;
  S2JointId id;
  int top = lua_gettop(L);
  s2_lua_tracked_shift(L, recipe->begin, which, by);
  S2JointDef def = joint_read_recipe(recipe);
  // Pop the functions of a lock, which were pushed while reading.
  lua_settop(L, top);
  S2JointWeights compliance = def.compliance, damping = def.damping;
  joint_unshift(&def.compliance);
  joint_unshift(&def.damping);
  S2_TRY(s2_joint_create(world, &def, &id));
  for (int k = 0; k < 9; k++) {
    S2Place place = s2_place(S2_PLACE_JOINT, (int32_t)id.index - 1, S2_OF_COMPLIANCE + 2 + k);
    *s2_place_in(world, place) = compliance.matrix[k];
    place.number = (uint16_t)(S2_OF_DAMPING + 2 + k);
    *s2_place_in(world, place) = damping.matrix[k];
  }
  return s2_ok();
}

// Upvalue 1 is the joint type.
static int world_joint(lua_State *L) {
  // All constructors are this function. The upvalue distinguishes them.
  S2JointType type = (S2JointType)lua_tointeger(L, lua_upvalueindex(1));
  S2LuaWorld *lw = s2_lua_world(L, 1);
  lua_settop(L, 2);
  // The first one or two values in the list are bodies or joints.
  int positional = s2_lua_joint_takes(type, "body") ? 1 : 2;
  S2Keys keys = s2_keys_open(L, 2, false, s2_joint_traits(type)->keys, common, positional);
  Recipe recipe = {.keys = &keys, .lw = lw, .type = type};
  recipe.begin = s2_lua_writes(L, lw);
  S2JointDef def = joint_read_recipe(&recipe);
  int functions = lua_gettop(L);
  // Create the object first, because nothing may fail once the joint exists.
  S2LuaJoint *joint = s2_lua_new_joint(L, 1);
  S2JointId id;
  S2Status status = s2_joint_create(lw->world, &def, &id);
  if (status.code == S2_INVALID) {
    return s2_lua_bad_argument(L, 2, "%s", status.message);
  }
  s2_lua_try(L, status);
  s2_lua_world_changed(lw);
  // The world stores functions that the engine calls within a step, under the serial of the joint.
  if (def.driven) {
    lua_pushvalue(L, functions);
    s2_lua_store_functions(L, 1, id.serial);
  } else if (def.has_law) {
    lua_createtable(L, 1, 0);
    s2_keys_push(&keys, "force");
    lua_rawseti(L, -2, 1);
    s2_lua_store_functions(L, 1, id.serial);
  }
  s2_lua_bind_joint(L, 1, joint, id);
  if (def.has_limits) {
    s2_lua_hint_limits(L, lw, type, def.limit_lo, def.limit_hi);
  }
  if (type == S2_ROPE) {
    s2_lua_hint_jump(L, lw, id, true);
  }
  s2_lua_made(L, lw, recipe.begin, true, (int32_t)id.index - 1, joint_build_again, &recipe);
  return 1;
}

void s2_lua_open_joint_makers(lua_State *L) {
  for (int type = 0; type < S2_JOINT_TYPE_COUNT; type++) {
    // Types without keys have their own constructor.
    const S2JointTraits *traits = s2_joint_traits((S2JointType)type);
    if (traits->keys != NULL) {
      const luaL_Reg maker[] = {{traits->name, world_joint}, {NULL, NULL}};
      lua_pushinteger(L, type);
      s2_lua_functions(L, maker, 1);
    }
  }
}
