// Springs whose force is a script function: world:spring{force = function(x) ... end}. The function
// is stored as a list {function} in S2_STORE_CONSTRAINTS.
#include "lua/diff/slope.h"

#include <math.h>
#include <string.h>

// Step of the central difference for functions that return no derivative, as a fraction of the
// extension or the rest length. It is the cube root of the rounding unit.
static const double DIFFERENCE = 6e-6;

typedef struct Pull {
  double x, size; // extension, and length scale of the differences (m)
  S2SpringCall *call;
  S2LuaWorld *lw;
} Pull;

// Calls the function at stack index `function` with x. Reads the force and, if returned, the
// derivative.
static bool spring_evaluate(lua_State *L, const Pull *pull, int function, double x, double *numbers,
                            S2Slope *slope) {
  // On a tape, the extension is an input, and the results have slopes with respect to the
  // extension.
  S2LuaSlopes slopes = s2_lua_slopes(L, pull->lw, pull->call->slope != NULL);
  pull->call->sloped = slopes.diff != NULL;
  lua_pushvalue(L, function);
  s2_lua_slopes_number(L, &slopes, x, 0);
  lua_call(L, 1, 2);
  // The derivative is optional.
  bool known = !lua_isnil(L, -1);
  bool number = s2_lua_slopes_result(L, &slopes, -2, &numbers[0], &slope[0]);
  if (!number || (known && !s2_lua_slopes_result(L, &slopes, -1, &numbers[1], &slope[1]))) {
    char text[S2_LUA_TEXT];
    s2_lua_describe(L, number ? -1 : -2, text);
    s2_lua_wrong_answer(L, function,
                        lua_pushfstring(L,
                                        "a spring's force must return the force in N and, "
                                        "optionally, its derivative in N/m: got %s",
                                        text));
  }
  lua_pop(L, 2);
  return known;
}

// The arguments are the list with the function, and the Pull.
static int spring_answer(lua_State *L) {
  const Pull *pull = lua_touserdata(L, 2);
  S2SpringCall *call = pull->call;
  double numbers[2] = {0, 0};
  S2Slope slope[2] = {{{0}, 0}, {{0}, 0}};
  lua_rawgeti(L, 1, 1);
  if (!spring_evaluate(L, pull, 3, pull->x, numbers, slope)) {
    // If the function returns no derivative, compute (F(x + d) - F(x - d))/2d, and the slopes in
    // the same way.
    double up = pull->x + DIFFERENCE * pull->size, down = pull->x - DIFFERENCE * pull->size;
    double above[2], below[2];
    S2Slope of_above[2] = {{{0}, 0}}, of_below[2] = {{{0}, 0}};
    spring_evaluate(L, pull, 3, up, above, of_above);
    spring_evaluate(L, pull, 3, down, below, of_below);
    numbers[1] = (above[0] - below[0]) / (up - down);
    S2LuaSlopes slopes = s2_lua_slopes(L, pull->lw, call->sloped);
    s2_lua_slopes_add(&slopes, &slope[1], 1 / (up - down), of_above);
    s2_lua_slopes_add(&slopes, &slope[1], -1 / (up - down), of_below);
  }
  // Return the results to the engine, with slopes if wanted.
  call->force = numbers[0];
  call->tangent = numbers[1];
  if (call->sloped) {
    memcpy(call->slope, slope, sizeof slope);
  }
  return 0;
}

bool s2_lua_engine_spring(void *user, S2World *world, S2SpringCall *call) {
  S2LuaWorld *lw = user;
  lua_State *L = lw->L;
  int top = lua_gettop(L);
  // The length scale is the larger of the extension and the rest length.
  double start = s2_lua_callback_clock(lw), rest = 0;
  (void)s2_joint_get(world, call->joint, S2_JOINT_REST_LENGTH, &rest);
  Pull pull = {.x = call->extension, .call = call, .lw = lw};
  pull.size = fmax(fabs(pull.x), rest);
  pull.size = pull.size > 0 ? pull.size : 1;
  lua_pushcfunction(L, spring_answer);
  lua_rawgeti(L, lw->at_constraints, call->joint.serial);
  lua_pushlightuserdata(L, &pull);
  return s2_lua_asked(lw, top, 2, call->slope != NULL, start);
}

bool s2_lua_spring_law(const S2Keys *keys, S2JointDef *def) {
  lua_State *L = keys->L;
  int type = s2_keys_push(keys, "force");
  if (type == LUA_TNIL) {
    lua_pop(L, 1);
    return false;
  }
  if (type != LUA_TFUNCTION) {
    char text[S2_LUA_TEXT];
    s2_keys_fail(keys, "force", "a function of the extension expected, got %s",
                 s2_lua_describe(L, -1, text));
  }
  // A law gives the entire force, so other keys for the force are rejected.
  static const char *const others[] = {"stiffness", "quadratic", "cubic"};
  for (int i = 0; i < 3; i++) {
    if (s2_keys_has(keys, others[i])) {
      s2_keys_fail(keys, others[i], "cannot be combined with 'force', which gives the whole force");
    }
  }
  def->has_law = true;
  def->stiffness = 0;
  lua_pop(L, 1);
  return true;
}
