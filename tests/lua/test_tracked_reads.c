// The binding's functions take tracked numbers as plain ones: s2_lua_tracked_begin and end.
#include "lua/diff/tracked.h"
#include "lua/world/binding.h"

#include <lualib.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

typedef struct Taken {
  double number, vector[2];
  S2Vec2 point;
} Taken;

// take(number, {a, b}, {x, y} [, fail]): reads its arguments, the first also as a positive number.
// Returns how many were tracked.
static int take(lua_State *L) {
  static const char *const names[] = {"a", "b"};
  Taken taken = {0};
  S2Complaint complaint;
  const S2LuaRead *list = NULL;
  lua_settop(L, 4);
  s2_lua_tracked_begin(L);
  int begin = lua_gettop(L);
  if (!s2_value_number(L, 1, S2_POSITIVE, &taken.number, &complaint) ||
      !s2_value_vector(L, 2, 2, names, "{a, b}", taken.vector, &complaint) ||
      !s2_value_vec2(L, 3, &taken.point, &complaint)) {
    return luaL_error(L, "%s", complaint.text);
  }
  if (lua_toboolean(L, 4)) {
    return luaL_error(L, "failed on purpose");
  }
  int count = s2_lua_tracked_end(L, begin, &list);
  assert_int_equal(s2_lua_tracked_end(L, begin, &list), 0); // once
  lua_pushinteger(L, count);
  return 1;
}

// The same, and returns the index in Taken of the place for each number.
static int places(lua_State *L) {
  static const char *const names[] = {"a", "b"};
  Taken taken = {0};
  S2Complaint complaint;
  const S2LuaRead *list = NULL;
  lua_settop(L, 4);
  s2_lua_tracked_begin(L);
  int begin = lua_gettop(L);
  lua_getglobal(L, "take"); // a nested call ends its own list
  lua_pushvalue(L, 1);
  lua_pushvalue(L, 2);
  lua_pushvalue(L, 3);
  lua_call(L, 3, 0);
  assert_true(s2_value_number(L, 1, S2_POSITIVE, &taken.number, &complaint));
  assert_true(s2_value_vector(L, 2, 2, names, "{a, b}", taken.vector, &complaint));
  assert_true(s2_value_vec2(L, 3, &taken.point, &complaint));
  int count = s2_lua_tracked_end(L, begin, &list);
  for (int i = 0; i < count; i++) {
    assert_true(*list[i].where == list[i].value);
    assert_true(s2_tape_value(s2_lua_tape(L), list[i].var)[0] == list[i].value);
    lua_pushinteger(L, (lua_Integer)((const char *)list[i].where - (const char *)&taken) /
                           (lua_Integer)sizeof(double));
  }
  return count;
}

// shifted(number, {a, b}, {x, y}, which): the numbers as read while tracked number `which` (from 0)
// is changed by 0.5.
static int shifted(lua_State *L) {
  static const char *const names[] = {"a", "b"};
  Taken taken = {0};
  S2Complaint complaint;
  const S2LuaRead *list = NULL;
  s2_lua_tracked_begin(L);
  int begin = lua_gettop(L);
  s2_lua_tracked_shift(L, begin, (int)lua_tointeger(L, 4), 0.5);
  assert_true(s2_value_number(L, 1, S2_NON_NEGATIVE, &taken.number, &complaint));
  assert_true(s2_value_vector(L, 2, 2, names, "{a, b}", taken.vector, &complaint));
  assert_true(s2_value_vec2(L, 3, &taken.point, &complaint));
  s2_lua_tracked_end(L, begin, &list);
  lua_pushfstring(L, "%f %f %f %f %f", taken.number, taken.vector[0], taken.vector[1],
                  taken.point.x, taken.point.y);
  return 1;
}

static lua_State *open_state(void) {
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  luaL_requiref(L, "sim2d", luaopen_sim2d, 0);
  lua_setglobal(L, "sim");
  lua_register(L, "take", take);
  lua_register(L, "places", places);
  lua_register(L, "shifted", shifted);
  return L;
}

static void run(const char *code) {
  lua_State *L = open_state();
  if (luaL_dostring(L, code) != LUA_OK) {
    print_error("%s\n", lua_tostring(L, -1));
    fail();
  }
  lua_close(L);
}

static void what_is_tracked_is_noted(void **state) {
  (void)state;
  run("sim.grad(function(p)\n"
      "  assert(take(p.x, {1, 2}, {3, 4}) == 1)\n"
      "  assert(take(5, {1, 2}, {3, 4}) == 0)\n"
      "  assert(take(p.x * 2, {p.x, p.y}, {x = p.y, y = 1}) == 4)\n"
      "  local list = {places(1, {p.x, 2}, {3, p.y})}\n"
      "  assert(#list == 2 and list[1] == 1 and list[2] == 4)\n" // places in Taken, in order
      "  return p.x\n"
      "end, {x = 1, y = 2})\n");
}

static void one_number_is_read_with_a_change(void **state) {
  (void)state;
  run("sim.grad(function(x)\n"
      "  assert(shifted(x, {1, 2}, {x, 4}, 0) == '1.5 1.0 2.0 1.0 4.0')\n"
      "  assert(shifted(x, {1, 2}, {x, 4}, 1) == '1.0 1.0 2.0 1.5 4.0')\n"
      "  assert(shifted(x, {1, 2}, {x, 4}, 2) == '1.0 1.0 2.0 1.0 4.0')\n"
      "  local list = {places(x, {1, 2}, {3, x})}\n" // and it has ended
      "  assert(#list == 2)\n"
      "  return x\n"
      "end, 1)\n");
}

static void nothing_is_noted_while_no_tape_records(void **state) {
  (void)state;
  run("assert(take(5, {1, 2}, {3, 4}) == 0)\n"
      "local kept\n"
      "sim.grad(function(x) kept = x return x end, 1)\n"
      "local good, message = pcall(take, kept, {1, 2}, {3, 4})\n"
      "assert(not good and message:find 'got a tracked number', message)\n");
}

static void it_ends_with_the_function(void **state) {
  (void)state;
  run("sim.grad(function(x)\n"
      "  assert(not pcall(take, x, {1, 2}, {3, 4}, true))\n" // an error ends it
      "  local good, message = pcall(sim.random.uniform, 0, x)\n"
      "  assert(not good and message:find 'got a tracked number', message)\n"
      "  assert(take(x, {1, 2}, {x, x}) == 3)\n" // and leaves no trace
      "  assert(not pcall(sim.random.uniform, 0, x))\n"
      "  return x\n"
      "end, 1)\n");
}

static void what_is_wrong_is_told(void **state) {
  (void)state;
  run("sim.grad(function(x)\n"
      "  local good, message = pcall(take, -x, {1, 2}, {3, 4})\n"
      "  assert(not good and message:find 'positive number expected, got %-1$', message)\n"
      "  good, message = pcall(take, x, {1, x / 0}, {3, 4})\n"
      "  assert(not good and message:find 'component 2: finite number expected, got inf', "
      "message)\n"
      "  assert(take(x, {1, 2}, {3, 4}) == 1)\n"
      "  return x\n"
      "end, 1)\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_tracked_is_noted),
      cmocka_unit_test(one_number_is_read_with_a_change),
      cmocka_unit_test(nothing_is_noted_while_no_tape_records),
      cmocka_unit_test(it_ends_with_the_function),
      cmocka_unit_test(what_is_wrong_is_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
