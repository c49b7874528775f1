// sim.value_and_grad and similar functions: record a tape while a function runs, sweep it, and
// return the derivatives in the shape of the parameters.
#include "diff/world/world_gradient.h"
#include "lua/diff/array.h"
#include "lua/diff/on_tape.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
  PATH_SIZE = 160,  // maximum length of a name like p.links[3].mass
  DEEPEST = 64,     // nesting limit of parameter tables; deeper ones may contain themselves
  SLOTS_A_LEVEL = 8 // stack slots per level of tables
};

// If all derivatives are smaller than this, they may be rounding errors of 0. This is reported if
// the bodies rest (quiet.h).
static const double ROUNDING = 1e-15;

// The address is the registry key of a list of values that nodes of the tape need. Index 0 is the
// error of a backward function.
static const char KEPT = 'k';

// ---- One call ---------------------------------------------------------------------------------

void s2_lua_refuse_nested(lua_State *L) {
  if (s2_lua_diff(L)->busy) {
    s2_lua_fail(L, "a gradient cannot be taken inside a gradient call; sim.hvp gives second "
                   "derivatives");
  }
}

static void gradient_start_tape(lua_State *L, S2LuaDiff *diff) {
  lua_newtable(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &KEPT);
  if (diff->tape == NULL) {
    diff->tape = s2_tape_new();
  }
  diff->busy = true;
  diff->flags = 0;
  diff->quiet = (S2Quiet){0};
  diff->reason[0] = '\0';
  // Generation 0 marks values that belong to no tape.
  diff->last = diff->last == UINT32_MAX ? 1 : diff->last + 1;
  diff->generation = diff->last;
  s2_tape_set_generation(diff->tape, diff->generation);
  diff->L = L;
}

static void gradient_end_tape(lua_State *L, S2LuaDiff *diff) {
  diff->generation = 0;
  diff->nodes = s2_tape_nodes(diff->tape);
  diff->bytes = s2_tape_bytes(diff->tape);
  diff->peak = s2_tape_peak(diff->tape);
  s2_tape_clear(diff->tape);
  diff->busy = false;
  lua_pushnil(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &KEPT);
}

int s2_lua_lend_tape(lua_State *L) {
  gradient_start_tape(L, s2_lua_diff(L));
  return 0;
}

void s2_lua_return_tape(lua_State *L, const S2LuaDiff *before) {
  S2LuaDiff *diff = s2_lua_diff(L);
  uint32_t last = diff->last;
  S2Tape *tape = diff->tape;
  gradient_end_tape(L, diff);
  *diff = *before;
  diff->last = last;
  diff->tape = tape;
}

// An error that a step or a sweep rethrows already has a traceback.
static int gradient_keep_first_traceback(lua_State *L) {
  if (s2_lua_kept_traceback(L, 1)) {
    lua_settop(L, 1);
    return 1;
  }
  return s2_lua_keep_traceback(L);
}

// The warning includes a remedy. Finite differences of the same steps agree with the gradient, so
// they do not show the error.
static void gradient_warn_of_impacts(lua_State *L, const S2LuaDiff *diff) {
  if ((diff->flags & S2_GRADIENT_IMPACT) != 0) {
    s2_lua_warn_call(L, "the gradient passes through impacts in steps of fixed length: it ignores "
                        "how the impact times depend on the parameters, and a smaller dt does not "
                        "remove this error; sim.world { stepping = \"event\" } gives the gradient "
                        "of the motion");
  }
  if ((diff->flags & S2_GRADIENT_INFINITE) != 0) {
    s2_lua_warn_call(L, "a friction or restitution is 0, where the derivative of the combined "
                        "value (a geometric mean) is infinite; the gradient omits this term: start "
                        "above 0, or set combine_friction (combine_restitution) = \"average\"");
  }
  if ((diff->flags & S2_GRADIENT_JUMP) != 0) {
    s2_lua_warn_call(L, "a compliance, or the quadratic or cubic coefficient of a spring, is 0: at "
                        "0 steps use another method, so the loss jumps there, and the gradient "
                        "omits this jump; start from a small number, such as 1e-9");
  }
}

// Run in protected mode, because a coroutine that ends with an error does not close its variables.
int s2_lua_record(lua_State *L, lua_CFunction body) {
  S2LuaDiff *diff = s2_lua_diff(L);
  int arguments = lua_gettop(L);
  luaL_checkstack(L, 4, "arguments");
  // Insert the error handler and the body below the arguments.
  lua_pushcfunction(L, gradient_keep_first_traceback);
  lua_insert(L, 1);
  lua_pushcfunction(L, body);
  lua_insert(L, 2);
  gradient_start_tape(L, diff);
  int status = lua_pcall(L, arguments, LUA_MULTRET, 1);
  gradient_end_tape(L, diff);
  if (status != LUA_OK) {
    return lua_error(L);
  }
  gradient_warn_of_impacts(L, diff);
  lua_remove(L, 1);
  return lua_gettop(L);
}

int s2_lua_tape_keep(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &KEPT);
  int number = (int)lua_rawlen(L, -1) + 1;
  lua_insert(L, -2);
  lua_rawseti(L, -2, number);
  lua_pop(L, 1);
  return number;
}

void s2_lua_tape_kept(lua_State *L, int number) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &KEPT);
  lua_rawgeti(L, -1, number);
  lua_remove(L, -2);
}

S2Status s2_lua_sweep_raised(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &KEPT);
  lua_insert(L, -2);
  lua_rawseti(L, -2, 0);
  lua_pop(L, 1);
  return s2_error(S2_ABORTED, "a backward function raised an error");
}

void s2_lua_check_sweep(lua_State *L, S2Status status) {
  // An error of a backward function is raised unchanged.
  if (status.code == S2_ABORTED) {
    s2_lua_tape_kept(L, 0);
    lua_error(L);
  }
  if (status.code != S2_OK) {
    s2_lua_fail(L, "the gradient cannot be computed: %s", status.message);
  }
}

void s2_lua_check_function(lua_State *L, int argument) {
  if (lua_type(L, argument) != LUA_TFUNCTION) {
    if (luaL_getmetafield(L, argument, "__call") == LUA_TNIL) {
      char text[S2_LUA_TEXT];
      s2_lua_bad_argument(L, argument, "function expected, got %s",
                          s2_lua_describe(L, argument, text));
    }
    lua_pop(L, 1);
  }
}

// ---- Parameters -------------------------------------------------------------------------------

// The parameters (nested tables of numbers and arrays) are copied twice: once with tracked numbers
// for the function, and once for the gradient, with nodes in place of the numbers.

// Appends the name of the key at stack index `key` to the path and returns the old length.
static size_t gradient_extend(lua_State *L, char path[PATH_SIZE], int key) {
  size_t length = strlen(path);
  char text[S2_LUA_TEXT];
  if (lua_type(L, key) == LUA_TSTRING) {
    snprintf(path + length, PATH_SIZE - length, ".%s", lua_tostring(L, key));
  } else {
    snprintf(path + length, PATH_SIZE - length, "[%s]", s2_lua_describe(L, key, text));
  }
  return length;
}

static void gradient_track(lua_State *L, S2Tape *tape, int index, char path[PATH_SIZE], int depth);

static void gradient_track_number(lua_State *L, S2Tape *tape, int index, const char *path) {
  double value = lua_tonumber(L, index);
  if (!isfinite(value)) {
    s2_lua_fail(L, "%s is %s: parameters have to be finite", path,
                isnan(value) ? "nan"
                : value > 0  ? "inf"
                             : "-inf");
  }
  S2Var var = s2_tape_input(tape, &value, 1);
  s2_lua_tracked_push(L, value, var);
  lua_pushinteger(L, (lua_Integer)var);
}

static void gradient_track_array(lua_State *L, S2Tape *tape, const S2LuaArray *from,
                                 const char *path) {
  S2Array view = s2_lua_array_view(L, from);
  size_t count = s2_size_count(view.shape);
  if (!s2_array_finite(count, view.data)) {
    s2_lua_fail(L, "%s has numbers that are not finite: parameters have to be finite", path);
  }
  S2Var var = s2_tape_input(tape, view.data, (int)count);
  // Create one array with the numbers for the function, and one array of zeros with the node for
  // the gradient.
  S2LuaArray *copy = s2_lua_array_push(L, view.shape);
  memcpy(copy->data, view.data, count * sizeof(double));
  s2_lua_array_track(L, copy, var);
  S2LuaArray *gradient = s2_lua_array_push(L, view.shape);
  memset(gradient->data, 0, count * sizeof(double));
  gradient->var = var;
}

static void gradient_track_table(lua_State *L, S2Tape *tape, int index, char path[PATH_SIZE],
                                 int depth) {
  if (depth == DEEPEST) {
    s2_lua_fail(L, "parameters in more than %d tables (does one contain itself?)", DEEPEST);
  }
  luaL_checkstack(L, SLOTS_A_LEVEL, "parameters");
  // Stack during the traversal: key, value, then both copies of the value.
  lua_newtable(L);
  lua_newtable(L);
  int copy = lua_gettop(L) - 1;
  for (lua_pushnil(L); lua_next(L, index) != 0; lua_pop(L, 1)) {
    size_t length = gradient_extend(L, path, -2);
    gradient_track(L, tape, lua_gettop(L), path, depth + 1);
    path[length] = '\0';
    // Put the first copy into the table for the function, and the second into the table of
    // derivatives.
    lua_pushvalue(L, -4);
    lua_insert(L, -2);
    lua_rawset(L, copy + 1);
    lua_pushvalue(L, -3);
    lua_insert(L, -2);
    lua_rawset(L, copy);
  }
}

// Pushes both copies of the value at `index`. A value that is not a number, array, vector or table
// is passed to the function unchanged and has no derivative.
static void gradient_track(lua_State *L, S2Tape *tape, int index, char path[PATH_SIZE], int depth) {
  if (lua_type(L, index) == LUA_TNUMBER) {
    gradient_track_number(L, tape, index, path);
  } else if (lua_type(L, index) == LUA_TTABLE) {
    gradient_track_table(L, tape, index, path, depth);
  } else if (s2_lua_is_tracked(L, index)) {
    char text[S2_LUA_TEXT];
    s2_lua_fail(L, "%s has to be a plain value, got %s", path, s2_lua_describe(L, index, text));
  } else if (s2_lua_test(L, index, s2_type_array) != NULL) {
    gradient_track_array(L, tape, lua_touserdata(L, index), path);
  } else if (s2_lua_test(L, index, s2_type_vector) != NULL) {
    gradient_track_array(L, tape, s2_lua_array_from(L, index, path), path);
    lua_remove(L, -3);
  } else {
    lua_pushvalue(L, index);
    lua_pushnil(L);
  }
}

// Records derivatives that are not finite. The alphabetically first one is reported, because the
// traversal order differs between runs.
typedef struct Bad {
  char path[PATH_SIZE];
  double value;
  bool any;    // whether some derivative is not 0
  double most; // largest absolute value
} Bad;

static double gradient_checked(double value, const char *path, Bad *bad) {
  bad->any |= value != 0;
  bad->most = fmax(bad->most, fabs(value));
  if (!isfinite(value) && (bad->path[0] == '\0' || strcmp(path, bad->path) < 0)) {
    memcpy(bad->path, path, strlen(path) + 1);
    bad->value = value;
  }
  return value;
}

// Replaces the nodes in the copy at `index` by derivatives. Arrays and tables are changed in place,
// and a number is replaced on the stack.
static void gradient_resolve(lua_State *L, S2Tape *tape, int index, char path[PATH_SIZE],
                             Bad *bad) {
  S2LuaArray *array = s2_lua_array_test(L, index);
  // A number in the copy is the index of a node.
  if (lua_type(L, index) == LUA_TNUMBER) {
    lua_pushnumber(
        L, gradient_checked(*s2_tape_adjoint(tape, (S2Var)lua_tointeger(L, index)), path, bad));
    lua_replace(L, index);
  } else if (array != NULL) {
    const double *adjoint = s2_tape_adjoint(tape, array->var);
    size_t count = s2_size_count(array->shape);
    array->var = 0;
    for (size_t i = 0; i < count; i++) {
      array->data[i] = gradient_checked(adjoint[i], path, bad);
    }
  } else if (lua_type(L, index) == LUA_TTABLE) {
    // Resolve each field in place.
    for (lua_pushnil(L); lua_next(L, index) != 0; lua_pop(L, 1)) {
      size_t length = gradient_extend(L, path, -2);
      gradient_resolve(L, tape, lua_gettop(L), path, bad);
      path[length] = '\0';
      lua_pushvalue(L, -2);
      lua_pushvalue(L, -2);
      lua_rawset(L, index); // assigning to an existing field keeps the traversal valid
    }
  }
}

// ---- Value and gradient -----------------------------------------------------------------------

static void gradient_check_finite_loss(lua_State *L, double value) {
  if (!isfinite(value)) {
    s2_lua_fail(L, "the loss is %s: it has no gradient",
                isnan(value) ? "nan"
                : value > 0  ? "inf"
                             : "-inf");
  }
}

// Warns that the loss is a plain number: it does not depend on the parameters, or it has lost its
// dependence on them.
static void gradient_warn_constant(lua_State *L, double value) {
  const char *clipped = s2_lua_diff(L)->quiet.text[S2_QUIET_CLIPPED];
  s2_lua_push_position(L);
  if (clipped[0] != '\0') {
    lua_pushfstring(L, "%sall derivatives of the loss are 0: %s", lua_tostring(L, -1), clipped);
    s2_lua_warn_call(L, lua_tostring(L, -1));
    lua_pop(L, 2);
    return;
  }
  lua_pushfstring(L,
                  "%sthe function returned %f, a plain number that depends on no parameter, so its "
                  "gradient is 0; use the parameters directly, without tonumber or :value()",
                  lua_tostring(L, -1), value);
  s2_lua_warn_call(L, lua_tostring(L, -1));
  lua_pop(L, 2);
}

// Finds the reason why every derivative is 0 (if `exactly`) or only a rounding error. Uses a
// separate sweep over everything that the loss depends on.
static void gradient_find_reason(lua_State *L, S2LuaDiff *diff, S2Var loss, bool exactly) {
  S2Quiet *quiet = &diff->quiet;
  const char *reason = quiet->text[S2_QUIET_CLIPPED][0] != '\0' ? quiet->text[S2_QUIET_CLIPPED]
                                                                : "the loss is a plain number";
  if (loss != 0 && quiet->worlds) {
    quiet->looks = true;
    s2_lua_check_sweep(L, s2_tape_sweep(diff->tape, loss, NULL));
    quiet->looks = false;
  }
  if (loss != 0) {
    reason = exactly ? s2_quiet_sentence(quiet) : s2_quiet_rest(quiet);
  }
  snprintf(diff->reason, sizeof diff->reason, "%s", reason);
}

// Replaces a tracked value at `index` by its plain value.
static void gradient_make_plain(lua_State *L, int index) {
  double value;
  S2Var var;
  S2LuaArray *array = s2_lua_array_test(L, index);
  if (s2_lua_tracked_test(L, index, &value, &var)) {
    lua_pushnumber(L, value);
    lua_replace(L, index);
  } else if (array != NULL && array->var != 0) {
    S2Array from = s2_lua_array_view(L, array);
    S2LuaArray *plain = s2_lua_array_push(L, from.shape);
    memcpy(plain->data, from.data, s2_size_count(from.shape) * sizeof(double));
    lua_replace(L, index);
  }
}

static void gradient_check_parameters(lua_State *L, int argument) {
  if (lua_type(L, argument) != LUA_TNUMBER && lua_type(L, argument) != LUA_TTABLE &&
      s2_lua_test(L, argument, s2_type_array) == NULL &&
      s2_lua_test(L, argument, s2_type_vector) == NULL) {
    char text[S2_LUA_TEXT];
    s2_lua_bad_argument(L, argument,
                        "parameters (a number, array or table of these) expected, "
                        "got %s",
                        s2_lua_describe(L, argument, text));
  }
}

// Returns value, gradient and the other results. If the loss is not finite, raises an error (with
// `finite`) or returns nil as the gradient.
static int gradient_differentiate(lua_State *L, bool finite) {
  S2LuaDiff *diff = s2_lua_diff(L);
  int extras = lua_gettop(L) - 2;
  char path[PATH_SIZE] = "p";
  // Track the parameters. A table of the same shape will receive their derivatives.
  gradient_track(L, diff->tape, 2, path, 0);
  int shape = lua_gettop(L), first = shape + 1;
  luaL_checkstack(L, extras + SLOTS_A_LEVEL, "arguments");
  // Call loss, ... = f(p, extras ...).
  lua_pushvalue(L, 1);
  lua_pushvalue(L, shape - 1);
  for (int i = 0; i < extras; i++) {
    lua_pushvalue(L, 3 + i);
  }
  lua_call(L, 1 + extras, LUA_MULTRET);
  luaL_checkstack(L, SLOTS_A_LEVEL, "results");
  // The loss must be a number. Its node is 0 if the loss depends on no parameter.
  double value = 0;
  S2Var loss = 0;
  if (lua_gettop(L) >= first && lua_type(L, first) == LUA_TNUMBER) {
    value = lua_tonumber(L, first);
    gradient_warn_constant(L, value);
  } else if (lua_gettop(L) < first || !s2_lua_tracked_test(L, first, &value, &loss)) {
    char text[S2_LUA_TEXT];
    s2_lua_fail(
        L, "the function has to return the loss (a number) as its first result; it returned %s",
        s2_lua_describe(L, first, text));
  }
  if (finite) {
    gradient_check_finite_loss(L, value);
  } else if (!isfinite(value)) {
    lua_pushnumber(L, value);
    lua_pushnil(L);
    return 2;
  }
  // Make the other results plain.
  for (int i = first; i <= lua_gettop(L); i++) {
    gradient_make_plain(L, i);
  }
  // Compute the derivatives, and return their table between the loss and the other results.
  diff->generation = 0; // so that the sweep records nothing
  s2_lua_check_sweep(L, s2_tape_sweep(diff->tape, loss, NULL));
  Bad bad = {.path = ""};
  gradient_resolve(L, diff->tape, shape, path, &bad);
  if (finite && bad.path[0] != '\0') {
    s2_lua_fail(L, "the derivative with respect to %s is %s", bad.path,
                isnan(bad.value) ? "nan"
                : bad.value > 0  ? "inf"
                                 : "-inf");
  }
  unsigned doubts = diff->flags & ~(unsigned)S2_GRADIENT_REDUNDANT;
  if (doubts == 0 && (!bad.any || (diff->quiet.worlds && bad.most < ROUNDING))) {
    gradient_find_reason(L, diff, loss, !bad.any);
  }
  lua_pushvalue(L, shape);
  lua_insert(L, first + 1);
  return lua_gettop(L) - first + 1;
}

static int gradient_differentiate_finite(lua_State *L) {
  return gradient_differentiate(L, true);
}

static int gradient_differentiate_any(lua_State *L) {
  return gradient_differentiate(L, false);
}

// Only calls from scripts get this warning. Optimisers call s2_lua_value_and_grad_any instead,
// since they end where derivatives are 0.
static void gradient_warn_of_zeros(lua_State *L) {
  const S2LuaDiff *diff = s2_lua_diff(L);
  if (diff->quiet.asked && diff->reason[0] != '\0') {
    lua_pushfstring(L, "all derivatives of the loss are 0: %s", diff->reason);
    s2_lua_warn_call(L, lua_tostring(L, -1));
    lua_pop(L, 1);
  }
}

static int sim_value_and_grad(lua_State *L) {
  s2_lua_refuse_nested(L);
  s2_lua_check_function(L, 1);
  gradient_check_parameters(L, 2);
  int results = s2_lua_record(L, gradient_differentiate_finite);
  gradient_warn_of_zeros(L);
  return results;
}

int s2_lua_value_and_grad_any(lua_State *L) {
  s2_lua_refuse_nested(L);
  s2_lua_check_function(L, 1);
  gradient_check_parameters(L, 2);
  return s2_lua_record(L, gradient_differentiate_any);
}

// Swaps the results: the gradient first, then the value.
static int gradient_first(lua_State *L) {
  int results = sim_value_and_grad(L);
  lua_pushvalue(L, 1);
  lua_copy(L, 2, 1);
  lua_replace(L, 2);
  return results;
}

// Upvalue 1 is the function.
static int gradient_grad_of(lua_State *L) {
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  return gradient_first(L);
}

static int sim_grad(lua_State *L) {
  if (lua_gettop(L) > 1) {
    return gradient_first(L);
  }
  s2_lua_check_function(L, 1);
  lua_settop(L, 1);
  lua_pushcclosure(L, gradient_grad_of, 1);
  return 1;
}

// ---- Out of the tape --------------------------------------------------------------------------

static void gradient_push_plain(lua_State *L, int index, int depth) {
  if (depth == DEEPEST) {
    s2_lua_fail(L, "tables are nested more than %d deep (does one contain itself?)", DEEPEST);
  }
  luaL_checkstack(L, SLOTS_A_LEVEL, "tables");
  if (lua_type(L, index) != LUA_TTABLE) {
    lua_pushvalue(L, index);
    gradient_make_plain(L, lua_gettop(L));
    return;
  }
  // Tables are copied, because their fields are replaced.
  lua_newtable(L);
  int copy = lua_gettop(L);
  for (lua_pushnil(L); lua_next(L, index) != 0; lua_pop(L, 1)) {
    lua_pushvalue(L, -2);
    gradient_push_plain(L, lua_gettop(L) - 1, depth + 1);
    lua_rawset(L, copy);
  }
}

static int sim_stop_gradient(lua_State *L) {
  luaL_checkany(L, 1);
  lua_settop(L, 1);
  gradient_push_plain(L, 1, 0);
  return 1;
}

static int sim_checkpoint(lua_State *L) {
  S2LuaDiff *diff = s2_lua_diff(L);
  int was = diff->checkpoint;
  diff->checkpoint = lua_isnoneornil(L, 1) ? 0 : (int)s2_lua_array_integer(L, 1, 1, INT32_MAX);
  if (was > 0) {
    lua_pushinteger(L, was);
  } else {
    lua_pushnil(L);
  }
  return 1;
}

static const char *const flag_names[] = {"weak",     "redundant", "undetermined", "singular",
                                         "partial",  "grazing",   "impact",       "together",
                                         "infinite", "jump"};

void s2_lua_push_flags(lua_State *L, unsigned flags) {
  int count = 0;
  lua_newtable(L);
  for (int i = 0; i < (int)(sizeof flag_names / sizeof flag_names[0]); i++) {
    if ((flags & 1u << i) != 0) {
      lua_pushstring(L, flag_names[i]);
      lua_rawseti(L, -2, ++count);
    }
  }
}

static int sim_tape_stats(lua_State *L) {
  const S2LuaDiff *diff = s2_lua_diff(L);
  // Returns statistics of the tape that is recording, or of the last tape.
  int64_t nodes = diff->busy ? s2_tape_nodes(diff->tape) : diff->nodes;
  size_t bytes = diff->busy ? s2_tape_bytes(diff->tape) : diff->bytes;
  lua_createtable(L, 0, 4);
  s2_lua_push_flags(L, diff->flags);
  lua_setfield(L, -2, "flags");
  if (diff->reason[0] != '\0') {
    lua_pushstring(L, diff->reason);
    lua_setfield(L, -2, "reason");
  }
  lua_pushinteger(L, nodes);
  lua_setfield(L, -2, "nodes");
  lua_pushinteger(L, (lua_Integer)bytes);
  lua_setfield(L, -2, "bytes");
  lua_pushinteger(L, (lua_Integer)(diff->busy ? s2_tape_peak(diff->tape) : diff->peak));
  lua_setfield(L, -2, "peak_bytes");
  return 1;
}

void s2_lua_open_gradient(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"value_and_grad", sim_value_and_grad}, {"grad", sim_grad},
      {"stop_gradient", sim_stop_gradient},   {"tape_stats", sim_tape_stats},
      {"checkpoint", sim_checkpoint},         {NULL, NULL}};
  s2_lua_functions(L, functions, 0);
}
