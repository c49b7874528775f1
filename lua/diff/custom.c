// sim.custom: a function whose derivative is written in Lua.
#include "lua/diff/array.h"

#include <math.h>
#include <string.h>

// Data of a custom node on the tape. s2_lua_tape_keep keeps the functions and values as a list
// {backward, y, x1 .. xn, extras ...}.
typedef struct Custom {
  S2LuaDiff *diff;
  int kept, inputs;
  S2Var input[]; // 0: plain
} Custom;

// Adds the derivative that `backward` returned for one input.
static void custom_add_derivative(lua_State *L, S2Tape *tape, const Custom *custom, int which,
                                  int index) {
  char text[S2_LUA_TEXT];
  S2Var var = custom->input[which];
  if (var == 0) {
    return;
  }
  int count = s2_tape_count(tape, var);
  double *adjoint = s2_tape_adjoint(tape, var);
  // The original input: a number or an array.
  s2_lua_tape_kept(L, custom->kept);
  lua_rawgeti(L, -1, 3 + which);
  const S2LuaArray *input = s2_lua_array_test(L, -1), *array = s2_lua_array_test(L, index);
  lua_pop(L, 2);
  // The derivative must have the same kind and shape as the input.
  if (input == NULL && lua_type(L, index) == LUA_TNUMBER) {
    *adjoint += lua_tonumber(L, index);
  } else if (input != NULL && array != NULL && s2_size_equal(input->shape, array->shape)) {
    for (int i = 0; i < count; i++) {
      adjoint[i] += array->data[i];
    }
  } else {
    s2_lua_fail(
        L, "backward has to return the derivative with respect to argument %d (%s); it returned %s",
        which + 1, input == NULL ? "a number" : "an array of its shape",
        s2_lua_describe(L, index, text));
  }
}

// Runs in protected mode. Arguments: the tape, the Custom of the node, and the node.
static int custom_call_backward(lua_State *L) {
  S2Tape *tape = lua_touserdata(L, 1);
  const Custom *custom = lua_touserdata(L, 2);
  S2Var node = (S2Var)lua_tointeger(L, 3);
  // Call backward(dy, y, x1 .. xn, extras ...).
  s2_lua_tape_kept(L, custom->kept);
  int kept = lua_gettop(L), length = (int)lua_rawlen(L, kept);
  luaL_checkstack(L, length + custom->inputs + 8, "arguments");
  lua_rawgeti(L, kept, 1);
  lua_rawgeti(L, kept, 2);
  const S2LuaArray *y = s2_lua_array_test(L, -1);
  if (y != NULL) {
    S2LuaArray *dy = s2_lua_array_push(L, y->shape);
    memcpy(dy->data, s2_tape_adjoint(tape, node), s2_size_count(y->shape) * sizeof(double));
  } else {
    lua_pushnumber(L, *s2_tape_adjoint(tape, node));
  }
  lua_insert(L, -2); // arguments: dy, y, x ..., extras ...
  for (int i = 3; i <= length; i++) {
    lua_rawgeti(L, kept, i);
  }
  lua_call(L, length, custom->inputs);
  // `backward` returns one derivative per input.
  for (int i = 0; i < custom->inputs; i++) {
    custom_add_derivative(L, tape, custom, i, kept + 1 + i);
  }
  return 0;
}

static S2Status custom_backward(S2Tape *tape, S2Var node, void *data) {
  const Custom *custom = data;
  lua_State *L = custom->diff->L;
  if (!lua_checkstack(L, 8)) {
    return s2_error(S2_MEMORY, "the Lua stack has no space for a backward function");
  }
  int top = lua_gettop(L);
  // Run in protected mode, because an error must not unwind the C code of the sweep.
  lua_pushcfunction(L, s2_lua_keep_traceback);
  lua_pushcfunction(L, custom_call_backward);
  lua_pushlightuserdata(L, tape);
  lua_pushlightuserdata(L, data);
  lua_pushinteger(L, (lua_Integer)node);
  S2Status status = s2_ok();
  if (lua_pcall(L, 3, 0, top + 1) != LUA_OK) {
    status = s2_lua_sweep_raised(L);
  }
  lua_settop(L, top);
  return status;
}

// Pushes the plain value of argument `index` and returns its node.
static S2Var custom_push_input(lua_State *L, int index) {
  double value = 0;
  S2Var var = 0;
  const S2LuaArray *array = s2_lua_array_test(L, index);
  // Push a copy without the node, because `forward` is not recorded.
  if (array != NULL) {
    S2Array view = s2_lua_array_view(L, array);
    S2LuaArray *plain = s2_lua_array_push(L, view.shape);
    memcpy(plain->data, view.data, s2_size_count(view.shape) * sizeof(double));
    return view.var;
  }
  if (s2_lua_tracked_test(L, index, &value, &var)) {
    lua_pushnumber(L, value);
  } else {
    lua_pushvalue(L, index);
  }
  return var;
}

// Adds the node of y, which is at index `result`. The plain arguments are below y on the stack. The
// upvalues are `forward` and `backward`. `custom` is complete except for `kept`.
static void custom_note(lua_State *L, Custom *custom, int arguments, int result) {
  S2Tape *tape = custom->diff->tape;
  int extras = lua_gettop(L) - result;
  // Create the list described at Custom. It lives as long as the tape.
  lua_createtable(L, 2 + arguments + extras, 0);
  int kept = lua_gettop(L);
  lua_pushvalue(L, lua_upvalueindex(2));
  lua_rawseti(L, kept, 1);
  lua_pushvalue(L, result);
  lua_rawseti(L, kept, 2);
  for (int i = 0; i < arguments; i++) {
    lua_pushvalue(L, arguments + 1 + i);
    lua_rawseti(L, kept, 3 + i);
  }
  for (int i = 1; i <= extras; i++) {
    lua_pushvalue(L, result + i);
    lua_rawseti(L, kept, 2 + arguments + i);
  }
  custom->kept = s2_lua_tape_keep(L);
  // The result becomes a tracked number or array with this node.
  const S2LuaArray *y = s2_lua_array_test(L, result);
  if (y == NULL) {
    double value = lua_tonumber(L, result);
    s2_lua_tracked_push(L, value, s2_tape_node(tape, 1, &value, custom_backward, NULL, custom));
    return;
  }
  size_t count = s2_size_count(y->shape);
  S2Var var = s2_tape_node(tape, (int)count, y->data, custom_backward, NULL, custom);
  S2LuaArray *out = s2_lua_array_push(L, y->shape);
  memcpy(out->data, y->data, count * sizeof(double));
  s2_lua_array_track(L, out, var);
}

static bool custom_is_tracked(lua_State *L, int index) {
  const S2LuaArray *array = s2_lua_array_test(L, index);
  return s2_lua_is_tracked(L, index) || (array != NULL && array->var != 0);
}

static int custom_call(lua_State *L) {
  int arguments = lua_gettop(L);
  luaL_checkstack(L, 2 * arguments + 8, "arguments");
  // A node is needed only if an argument is tracked and a tape is recording.
  bool tracked = false;
  for (int i = 1; i <= arguments; i++) {
    tracked = tracked || custom_is_tracked(L, i);
  }
  Custom *custom = NULL;
  S2Tape *tape = s2_lua_tape(L);
  if (tracked && tape != NULL) {
    custom = s2_tape_take(tape, sizeof *custom + sizeof(S2Var) * (size_t)arguments);
    *custom = (Custom){.diff = s2_lua_diff(L), .inputs = arguments};
  }
  for (int i = 1; i <= arguments; i++) {
    // `forward` always receives plain values.
    S2Var var = custom_push_input(L, i); // raises an error for numbers of other tapes
    if (custom != NULL) {
      custom->input[i - 1] = var;
    }
  }
  // Call y, extras ... = forward(x1 .. xn).
  int result = lua_gettop(L) + 1;
  lua_pushvalue(L, lua_upvalueindex(1));
  for (int i = 1; i <= arguments; i++) {
    lua_pushvalue(L, arguments + i);
  }
  lua_call(L, arguments, LUA_MULTRET);
  const S2LuaArray *array = lua_gettop(L) < result ? NULL : s2_lua_array_test(L, result);
  if ((array == NULL || array->var != 0) &&
      (lua_gettop(L) < result || lua_type(L, result) != LUA_TNUMBER)) {
    char text[S2_LUA_TEXT];
    return s2_lua_fail(
        L, "forward has to return a plain number or array as its first result; it returned %s",
        array != NULL ? "a tracked array" : s2_lua_describe(L, result, text));
  }
  if (custom != NULL) {
    custom_note(L, custom, arguments, result);
  } else {
    lua_settop(L, result);
  }
  return 1;
}

static int sim_custom(lua_State *L) {
  static const char *const names[] = {"forward", "backward", NULL};
  S2Keys keys = s2_keys_open(L, 1, false, names, NULL, 0);
  for (int i = 0; i < 2; i++) {
    s2_keys_require(&keys, names[i]);
    if (s2_keys_push(&keys, names[i]) != LUA_TFUNCTION) {
      char text[S2_LUA_TEXT];
      s2_keys_fail(&keys, names[i], "function expected, got %s", s2_lua_describe(L, -1, text));
    }
  }
  lua_pushcclosure(L, custom_call, 2);
  return 1;
}

void s2_lua_open_custom(lua_State *L) {
  static const luaL_Reg functions[] = {{"custom", sim_custom}, {NULL, NULL}};
  s2_lua_functions(L, functions, 0);
}
