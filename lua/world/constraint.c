// Constraints that a script defines with world:constraint{...}, and the engine's calls to their
// functions. The functions of a joint are stored as a list {phi, jacobian, hessian, rate} in
// S2_STORE_CONSTRAINTS.
#include "lua/diff/array.h"
#include "lua/diff/slope.h"

#include <math.h>
#include <string.h>

enum { PHI = 1, JACOBIAN, HESSIAN, RATE, FUNCTIONS = RATE };

static const char *const names[FUNCTIONS + 1] = {NULL, "phi", "jacobian", "hessian", "rate"};

// ---- Calling ----------------------------------------------------------------------------------

typedef struct Reader { // reads function results
  S2LuaSlopes slopes;
  int function; // stack index
  const char *what;
} Reader;

// Pushes the poses of all bodies and returns the number of arguments. If there is no second body,
// its pose is nil.
static int push_poses(lua_State *L, S2LuaSlopes *slopes, double q[S2_JOINT_BODIES][3], int bodies) {
  for (int i = 0; i < bodies; i++) {
    s2_lua_slopes_pose(L, slopes, q[i], 3 * i);
  }
  if (bodies == 1) {
    lua_pushnil(L);
  }
  return bodies == 1 ? 2 : bodies;
}

static void read_number(lua_State *L, const Reader *reader, double *number, S2Slope *slope) {
  if (!s2_lua_slopes_result(L, &reader->slopes, -1, number, slope)) {
    char text[S2_LUA_TEXT];
    s2_lua_wrong_answer(L, reader->function,
                        lua_pushfstring(L, "%s must return numbers, got %s", reader->what,
                                        s2_lua_describe(L, -1, text)));
  }
}

// Raises the error for the list on top of the stack. The most likely mistake is a single table with
// all rows.
static void constraint_refuse_list(lua_State *L, int count, const Reader *reader) {
  char text[S2_LUA_TEXT];
  const char *got = s2_lua_describe(L, -1, text), *remedy = "";
  if (lua_type(L, -1) == LUA_TTABLE) {
    got = lua_pushfstring(L, "a list of %d", (int)lua_rawlen(L, -1));
    remedy = lua_rawgeti(L, -2, 1) == LUA_TTABLE ? "; return each row as a separate result: "
                                                   "return {...}, {...}"
                                                 : "";
  }
  s2_lua_wrong_answer(
      L, reader->function,
      lua_pushfstring(L, "%s must return lists of %d numbers: angle, x, y of %s; got %s%s",
                      reader->what, count, count == 3 ? "the body" : "each body", got, remedy));
}

// Reads a list of `count` numbers (3 per body) on top of the stack.
static void read_list(lua_State *L, int count, const Reader *reader, double *numbers,
                      S2Slope *slope) {
  // A sim2d array counts as a list.
  s2_lua_array_unfold(L, -1);
  if (lua_type(L, -1) != LUA_TTABLE || (int)lua_rawlen(L, -1) != count) {
    constraint_refuse_list(L, count, reader);
  }
  // Read each number, and its slopes if they are wanted.
  int list = lua_gettop(L);
  for (int i = 0; i < count; i++) {
    lua_rawgeti(L, list, i + 1);
    read_number(L, reader, &numbers[i], slope == NULL ? NULL : &slope[i]);
    lua_pop(L, 1);
  }
}

static void read_matrix(lua_State *L, int columns, const Reader *reader,
                        double (*numbers)[S2_JOINT_COLUMNS], S2Slope *slope) {
  s2_lua_array_unfold(L, -1);
  if (lua_type(L, -1) != LUA_TTABLE || (int)lua_rawlen(L, -1) != columns) {
    s2_lua_wrong_answer(
        L, reader->function,
        lua_pushfstring(L, "hessian must return %d x %d matrices", columns, columns));
  }
  for (int i = 0; i < columns; i++) {
    lua_rawgeti(L, -1, i + 1);
    read_list(L, columns, reader, numbers[i], slope == NULL ? NULL : slope + S2_JOINT_COLUMNS * i);
    lua_pop(L, 1);
  }
}

// The results are on the stack above the function.
static void read_results(lua_State *L, const S2ConstraintCall *call, int which,
                         const Reader *reader) {
  int function = reader->function;
  // Slopes are stored in the engine's memory, row by row.
  S2Slope *slope = reader->slopes.diff == NULL ? NULL : call->slope;
  int got = lua_gettop(L) - function, columns = 3 * call->bodies;
  if (got != call->rows) {
    s2_lua_wrong_answer(L, function,
                        lua_pushfstring(L, "%s must return %d value%s here, got %d", names[which],
                                        call->rows, call->rows == 1 ? "" : "s", got));
  }
  // Each result belongs to one row, and is a number, a gradient or a matrix.
  for (int r = 0; r < call->rows; r++) {
    lua_pushvalue(L, function + 1 + r);
    if (which == PHI || which == RATE) {
      double *to = which == PHI ? call->value : call->rate;
      read_number(L, reader, &to[r], slope == NULL ? NULL : &slope[r]);
    } else if (which == JACOBIAN) {
      read_list(L, columns, reader, call->jacobian[r],
                slope == NULL ? NULL : &slope[S2_JOINT_COLUMNS * r]);
    } else {
      read_matrix(L, columns, reader, call->hessian[r],
                  slope == NULL ? NULL : &slope[S2_JOINT_COLUMNS * S2_JOINT_COLUMNS * r]);
    }
    lua_pop(L, 1);
  }
}

static bool is_number(lua_State *L, int index) {
  return lua_type(L, index) == LUA_TNUMBER || s2_lua_is_tracked(L, index);
}

// The arguments are the functions, the call and the world.
static int constraint_answer(lua_State *L) {
  S2ConstraintCall *call = lua_touserdata(L, 2);
  const S2LuaWorld *lw = lua_touserdata(L, 3);
  // The engine requests one result at a time. Only the destination of this result is not NULL.
  const bool asked[FUNCTIONS + 1] = {false, call->value != NULL, call->jacobian != NULL,
                                     call->hessian != NULL, call->rate != NULL};
  for (int which = PHI; which <= FUNCTIONS; which++) {
    if (!asked[which]) {
      continue;
    }
    lua_rawgeti(L, 1, which);
    Reader reader = {s2_lua_slopes(L, lw, call->slope != NULL), lua_gettop(L), names[which]};
    call->sloped = reader.slopes.diff != NULL;
    // A number in place of a function means a constant.
    if (call->rate != NULL && is_number(L, -1)) { // a constant rate
      read_number(L, &reader, call->rate, call->slope);
      lua_settop(L, 3);
      continue;
    }
    // Poses and time are inputs if slopes are wanted.
    lua_pushvalue(L, reader.function);
    int poses = push_poses(L, &reader.slopes, call->q, call->bodies);
    // Event stepping also calls the function at the times of impacts, so the time is always an
    // input.
    if (s2_world_way(s2_world_settings(lw->world)) == S2_EVENT) {
      s2_lua_slopes_number(L, &reader.slopes, call->t, S2_JOINT_COLUMNS);
    } else {
      s2_lua_slopes_time(L, lw, &reader.slopes, call->t, S2_JOINT_COLUMNS);
    }
    lua_call(L, poses + 1, LUA_MULTRET);
    read_results(L, call, which, &reader);
    lua_settop(L, 3);
  }
  return 0;
}

bool s2_lua_engine_constraint(void *user, S2World *world, S2ConstraintCall *call) {
  S2LuaWorld *lw = user;
  lua_State *L = lw->L;
  (void)world;
  int top = lua_gettop(L);
  double start = s2_lua_callback_clock(lw);
  // Run everything that may allocate memory in protected mode.
  lua_pushcfunction(L, constraint_answer);
  if (call->joint.index == 0) { // the constraint being created
    lua_pushvalue(L, lw->at_making);
  } else {
    lua_rawgeti(L, lw->at_constraints, call->joint.serial);
  }
  lua_pushlightuserdata(L, call);
  lua_pushlightuserdata(L, lw);
  return s2_lua_asked(lw, top, 3, call->slope != NULL, start);
}

// ---- Making -----------------------------------------------------------------------------------

static void constraint_read_bodies(const S2Keys *keys, const S2LuaWorld *lw, S2JointDef *def) {
  lua_State *L = keys->L;
  // Read one to four living bodies of this world.
  s2_keys_require(keys, "bodies");
  char text[S2_LUA_TEXT];
  if (s2_keys_push(keys, "bodies") != LUA_TTABLE) {
    s2_keys_fail(keys, "bodies", "a list of 1 to 4 bodies expected, got %s",
                 s2_lua_describe(L, -1, text));
  }
  int count = (int)lua_rawlen(L, -1);
  if (count < 1 || count > S2_JOINT_BODIES) {
    s2_keys_fail(
        keys, "bodies",
        "a list of 1 to 4 bodies expected, got %d; split a longer row into constraints that "
        "share a body",
        count);
  }
  for (int i = 0; i < count; i++) {
    lua_rawgeti(L, -1, i + 1);
    const S2LuaBody *body = s2_lua_test(L, -1, s2_type_body);
    if (body == NULL) {
      s2_keys_fail(keys, "bodies", "Body expected, got %s", s2_lua_describe(L, -1, text));
    } else if (body->lw != lw) {
      s2_keys_fail(keys, "bodies", "the body belongs to another world");
    } else if (!s2_body_alive(lw->world, body->id)) {
      s2_keys_fail(keys, "bodies", "body '%s' is destroyed", body->name);
    } else {
      *(i < 2 ? (i == 0 ? &def->a : &def->b) : &def->more[i - 2]) = body->id;
    }
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

// Pushes the list of functions.
static void constraint_read_functions(const S2Keys *keys, S2JointDef *def) {
  lua_State *L = keys->L;
  // Store `false` for absent functions, so that the list has no holes.
  bool has[FUNCTIONS + 1] = {false};
  lua_createtable(L, FUNCTIONS, 0);
  for (int which = PHI; which <= FUNCTIONS; which++) {
    int type = s2_keys_push(keys, names[which]);
    has[which] = type != LUA_TNIL;
    bool number = which == RATE && is_number(L, -1);
    if (has[which] && !number && type != LUA_TFUNCTION) {
      char text[S2_LUA_TEXT];
      s2_keys_fail(keys, names[which], "function%s expected, got %s",
                   which == RATE ? " or number" : "", s2_lua_describe(L, -1, text));
    }
    // A rate may be a number, plain or tracked.
    double rate = 0;
    S2Var var;
    if (number && type != LUA_TNUMBER) {
      s2_lua_tracked_test(L, -1, &rate, &var);
    } else if (number) {
      rate = lua_tonumber(L, -1);
    }
    if (!isfinite(rate)) {
      s2_keys_fail(keys, "rate", "finite number expected");
    }
    if (has[which]) {
      lua_rawseti(L, -2, which);
    } else {
      lua_pop(L, 1);
      lua_pushboolean(L, 0);
      lua_rawseti(L, -2, which);
    }
  }
  // Check the keys of each kind. Velocity-only constraints have gradients but no value.
  s2_keys_boolean(keys, "velocity_only", &def->velocity_only);
  s2_keys_boolean(keys, "unilateral", &def->unilateral);
  s2_keys_require(keys, def->velocity_only ? "jacobian" : "phi");
  for (int which = PHI; which <= HESSIAN && def->velocity_only; which++) {
    if (has[which] && which != JACOBIAN) {
      s2_keys_fail(keys, names[which], "does not apply to a velocity_only constraint");
    }
  }
  def->has_jacobian = has[JACOBIAN];
  def->has_hessian = has[HESSIAN];
  def->has_rate = has[RATE];
}

// Calls a function in the list on top of the stack once. The number of its results is the number of
// rows.
static int count_rows(const S2Keys *keys, S2LuaWorld *lw, const S2JointDef *def) {
  lua_State *L = keys->L;
  // Call the function with the current poses. Use protected mode, even though the engine is not
  // involved.
  int functions = lua_gettop(L), which = def->velocity_only ? JACOBIAN : PHI;
  double q[S2_JOINT_BODIES][3];
  const S2BodyId ids[S2_JOINT_BODIES] = {def->a, def->b, def->more[0], def->more[1]};
  int bodies = 0;
  for (; bodies < S2_JOINT_BODIES && ids[bodies].index != 0; bodies++) {
    s2_lua_try(L, s2_body_q(lw->world, ids[bodies], q[bodies]));
  }
  lua_pushcfunction(L, s2_lua_keep_traceback);
  int handler = lua_gettop(L);
  lua_rawgeti(L, functions, which);
  S2LuaSlopes plain = {0};
  int poses = push_poses(L, &plain, q, bodies);
  lua_pushnumber(L, s2_world_time(lw->world));
  S2Phase phase = lw->phase;
  lw->phase = S2_INSIDE; // the function must not step or restore the world
  int result = lua_pcall(L, poses + 1, LUA_MULTRET, handler);
  lw->phase = phase;
  if (result != LUA_OK) {
    lua_error(L);
  }
  // There is one row per result. If the rate is a number, there must be a single row.
  int count = lua_gettop(L) - handler, most = def->unilateral ? 1 : 3;
  lua_settop(L, functions);
  if (count < 1 || count > most) {
    s2_keys_fail(keys, names[which], "the function must return %s, one per row, got %d",
                 def->unilateral ? "1 value" : "1 to 3 values", count);
  }
  lua_rawgeti(L, functions, RATE);
  bool number = is_number(L, -1);
  lua_pop(L, 1);
  if (number && count > 1) {
    s2_keys_fail(keys, "rate", "a function expected for %d rows", count);
  }
  return count;
}

// Functions of destroyed constraints are kept for a while, because undoing a step or restoring a
// snapshot brings the constraints back. They are removed when they outnumber the functions of
// living constraints.
static void functions_sweep(lua_State *L, int world) {
  enum { SMALL = 64 };
  S2LuaWorld *lw = lua_touserdata(L, world);
  int joint_count, body_count;
  const S2JointId *joints = s2_lua_joints(lw, &joint_count);
  const S2BodyId *bodies = s2_lua_bodies(lw, &body_count);
  int count = joint_count + body_count;
  // Do not sweep inside a step, which may be undone, or for only a few functions.
  if (lw->phase != S2_IDLE || lw->constraints < SMALL || lw->constraints < 2 * count) {
    return;
  }
  // A new table with the functions of living constraints replaces the old one.
  lw->constraints = 0;
  lua_getiuservalue(L, world, S2_STORE_CONSTRAINTS);
  lua_newtable(L);
  for (int i = 0; i < count; i++) {
    uint32_t serial = i < joint_count ? joints[i].serial : bodies[i - joint_count].serial;
    if (lua_rawgeti(L, -2, serial) != LUA_TNIL) {
      lua_rawseti(L, -2, serial);
      lw->constraints++;
    } else {
      lua_pop(L, 1);
    }
  }
  lua_setiuservalue(L, world, S2_STORE_CONSTRAINTS);
  lua_pop(L, 1);
}

void s2_lua_store_functions(lua_State *L, int world, uint32_t serial) {
  S2LuaWorld *lw = lua_touserdata(L, world);
  world = lua_absindex(L, world);
  // The key is the serial, which is never reused.
  functions_sweep(L, world);
  lua_getiuservalue(L, world, S2_STORE_CONSTRAINTS);
  lua_insert(L, -2);
  lua_rawseti(L, -2, serial);
  lua_pop(L, 1);
  lw->constraints++;
}

// The compliance, damping and bounds that were given as tracked numbers.
typedef struct Tracked {
  int count;
  S2Term term[2 * (2 + 9) + 4]; // one term per place
  S2Place place[2 * (2 + 9) + 4];
} Tracked;

// Adds a term for the tracked number that was read into `at`, if there is one.
static void take_number(Tracked *tracked, const double *at, int number, const S2LuaRead *list,
                        int reads) {
  for (int i = 0; i < reads; i++) {
    if (list[i].where == at) {
      tracked->place[tracked->count] = s2_place(S2_PLACE_JOINT, 0, number);
      tracked->term[tracked->count] =
          (S2Term){.to = tracked->count, .from = list[i].var, .factor = 1};
      tracked->count += 1;
    }
  }
}

// If `one`, the script gave a single number for both weights, which is stored as the linear weight.
static void take_weights(Tracked *tracked, const S2JointWeights *weights, bool one, int number,
                         const S2LuaRead *list, int reads) {
  // Find the place of each tracked number in the definition.
  for (int k = 0; k < 11; k++) { // linear, angular and matrix numbers
    const double *at = k == 0 || (k == 1 && one) ? &weights->linear
                       : k == 1                  ? &weights->angular
                                                 : &weights->matrix[k - 2];
    take_number(tracked, at, number + k, list, reads);
  }
}

static bool is_one(const S2Keys *keys, const char *key) {
  s2_keys_push(keys, key);
  bool one = is_number(keys->L, -1);
  lua_pop(keys->L, 1);
  return one;
}

// Reads the bounds of the row's impulse, and the row whose friction this row models.
static void constraint_read_bounds(const S2Keys *keys, const S2LuaWorld *lw, S2JointDef *def) {
  lua_State *L = keys->L;
  char text[S2_LUA_TEXT];
  // Both bounds are required, or neither.
  bool lo = s2_keys_number(keys, "lo", S2_ANY_NUMBER, &def->bound_lo);
  bool hi = s2_keys_number(keys, "hi", S2_ANY_NUMBER, &def->bound_hi);
  if (lo != hi) {
    s2_keys_fail(keys, lo ? "lo" : "hi",
                 "lo and hi belong together: '%s' is missing (for a constraint that only pushes, "
                 "set unilateral = true)",
                 lo ? "hi" : "lo");
  }
  def->bounded = lo;
  // A row may model the friction of another constraint in this world.
  s2_keys_number(keys, "friction", S2_NON_NEGATIVE, &def->friction);
  s2_keys_number(keys, "restitution", S2_NON_NEGATIVE, &def->restitution);
  if (s2_keys_push(keys, "coupled_to") != LUA_TNIL) {
    const S2LuaJoint *normal = s2_lua_test(L, -1, s2_type_joint);
    if (normal == NULL) {
      s2_keys_fail(keys, "coupled_to", "a unilateral constraint expected, got %s",
                   s2_lua_describe(L, -1, text));
    } else if (normal->lw != lw) {
      s2_keys_fail(keys, "coupled_to", "the constraint belongs to another world");
    } else if (!s2_joint_alive(lw->world, normal->id)) {
      s2_keys_fail(keys, "coupled_to", "the constraint is destroyed");
    } else {
      def->coupled_to = normal->id;
      s2_keys_require(keys, "friction");
    }
  }
  lua_pop(L, 1);
}

static Tracked read_weights(const S2Keys *keys, const S2LuaWorld *lw, S2JointDef *def) {
  Tracked tracked = {0};
  const S2LuaRead *list;
  // Compliance, damping and bounds may be tracked.
  int begin = s2_lua_writes(keys->L, lw);
  s2_lua_read_weights(keys, "compliance", &def->compliance);
  s2_lua_read_weights(keys, "damping", &def->damping);
  constraint_read_bounds(keys, lw, def);
  if (begin != 0) {
    int reads = s2_lua_tracked_end(keys->L, begin, &list);
    take_weights(&tracked, &def->compliance, is_one(keys, "compliance"), S2_OF_COMPLIANCE, list,
                 reads);
    take_weights(&tracked, &def->damping, is_one(keys, "damping"), S2_OF_DAMPING, list, reads);
    take_number(&tracked, &def->bound_lo, S2_OF_BOUND_LO, list, reads);
    take_number(&tracked, &def->bound_hi, S2_OF_BOUND_HI, list, reads);
    take_number(&tracked, &def->friction, S2_OF_JOINT_FRICTION, list, reads);
    take_number(&tracked, &def->restitution, S2_OF_JOINT_RESTITUTION, list, reads);
  }
  return tracked;
}

static void note_made(lua_State *L, S2LuaWorld *lw, Tracked *tracked, int32_t slot) {
  if (tracked->count == 0 && (!s2_lua_recording(lw) || s2_lua_on_tape(lw) == NULL)) {
    return;
  }
  // The tape treats other numbers of the joint as constants.
  S2WorldTape *tape = s2_lua_put_on_tape(lw);
  const S2Made constant = {.build = NULL};
  s2_lua_try(L, s2_world_tape_made_joint(tape, lw->world, slot, &constant));
  for (int i = 0; i < tracked->count; i++) {
    tracked->place[i].slot = slot;
  }
  s2_world_tape_write(tape, lw->world, tracked->count, tracked->place, tracked->count,
                      tracked->term);
}

static int world_constraint(lua_State *L) {
  static const char *const keys_known[] = {
      "bodies",     "phi",           "jacobian",    "hessian",     "rate",
      "compliance", "damping",       "unilateral",  "break_force", "velocity_only",
      "name",       "collide",       "lo",          "hi",          "friction",
      "coupled_to", "stabilization", "restitution", NULL};
  S2LuaWorld *lw = s2_lua_world(L, 1);
  lua_settop(L, 2);
  if (lw->phase == S2_INSIDE) {
    return s2_lua_fail(L, "world:constraint() cannot be called from inside a step");
  }
  S2Keys keys = s2_keys_open(L, 2, false, keys_known, NULL, 0);
  // Read all keys, then the functions, which stay on the stack.
  S2JointDef def = s2_joint_def(S2_CONSTRAINT);
  constraint_read_bodies(&keys, lw, &def);
  Tracked tracked = read_weights(&keys, lw, &def);
  s2_lua_read_stabilization(&keys, &def);
  s2_lua_read_bound(&keys, "break_force", &def.break_force);
  s2_keys_name(&keys, "name", &def.name);
  s2_keys_boolean(&keys, "collide", &def.collide);
  constraint_read_functions(&keys, &def);
  int functions = lua_gettop(L);
  // Call the functions once to count the rows. This call may close the world.
  def.rows = count_rows(&keys, lw, &def);
  if (lw->world == NULL) {
    return s2_lua_fail(L, "world is closed"); // the function closed it
  }
  // The engine calls the functions while it creates the joint, as in a step.
  S2LuaJoint *joint = s2_lua_new_joint(L, 1);
  luaL_checkstack(L, 40, "out of stack");
  lua_State *outer = lw->L;
  int handler = lw->at_handler;
  lua_pushcfunction(L, s2_lua_keep_traceback);
  lw->L = L;
  lw->at_handler = lua_gettop(L);
  lw->at_making = functions;
  lw->failed = false;
  S2JointId id;
  S2Status status = s2_joint_create(lw->world, &def, &id);
  bool failed = lw->failed;
  lw->L = outer;
  lw->at_handler = handler;
  lw->failed = false;
  lua_pop(L, 1);
  // Raise an error in a function in the same way as an error in a step.
  if (failed) {
    lw->failed = true;
    s2_lua_step_failed(L, lw, status); // raises the error of the function
  }
  if (status.code == S2_INVALID) {
    return s2_lua_bad_argument(L, 2, "%s", status.message);
  }
  // Store the functions under the serial that the engine has assigned.
  s2_lua_try(L, status);
  s2_lua_world_changed(lw);
  lua_pushvalue(L, functions);
  s2_lua_store_functions(L, 1, id.serial);
  s2_lua_bind_joint(L, 1, joint, id);
  note_made(L, lw, &tracked, (int32_t)id.index - 1);
  return 1;
}

bool s2_lua_has_constraints(S2LuaWorld *lw) {
  int count;
  const S2JointId *joints = s2_lua_joints(lw, &count);
  for (int i = 0; i < count; i++) {
    S2JointInfo info;
    if (s2_joint_info(lw->world, joints[i], &info).code == S2_OK &&
        (info.type == S2_CONSTRAINT || info.driven || info.has_law)) {
      return true;
    }
  }
  const S2BodyId *bodies = s2_lua_bodies(lw, &count);
  for (int i = 0; i < count; i++) {
    if (s2_body_has_motion(lw->world, bodies[i])) {
      return true;
    }
  }
  return false;
}

const luaL_Reg s2_world_constraint_methods[] = {{"constraint", world_constraint}, {NULL, NULL}};
