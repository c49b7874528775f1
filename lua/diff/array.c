// Memory and metatable of the type Array.
#include "lua/diff/array.h"

S2LuaArray *s2_lua_array_test(lua_State *L, int index) {
  return s2_lua_test(L, index, s2_type_array);
}

S2LuaArray *s2_lua_array_check(lua_State *L, int argument) {
  return s2_lua_check(L, argument, s2_type_array);
}

S2LuaArray *s2_lua_array_push(lua_State *L, S2Size shape) {
  size_t size = s2_size_count(shape);
  if (size > INT32_MAX) {
    char text[S2_SIZE_TEXT];
    s2_lua_fail(L, "an array of %s numbers is too large", s2_size_text(shape, text));
  }
  S2LuaArray *array = lua_newuserdatauv(L, sizeof *array + size * sizeof(double), 0);
  *array = (S2LuaArray){.type = s2_type_array, .shape = shape};
  lua_rawgetp(L, LUA_REGISTRYINDEX, s2_type_array);
  lua_setmetatable(L, -2);
  return array;
}

void s2_lua_array_track(lua_State *L, S2LuaArray *array, S2Var var) {
  array->var = var;
  array->generation = var == 0 ? 0 : s2_lua_tape_generation(L);
}

void s2_lua_array_push_number(lua_State *L, double value, S2Var var) {
  if (var == 0) {
    lua_pushnumber(L, value);
  } else {
    s2_lua_tracked_push(L, value, var);
  }
}

S2Array s2_lua_array_view(lua_State *L, const S2LuaArray *array) {
  if (array->var != 0 && array->generation != s2_lua_tape_generation(L)) {
    s2_lua_tracked_ended(L, "array");
  }
  return (S2Array){array->shape, array->data, array->var};
}

double *s2_lua_result_begin(lua_State *L, S2Size shape, S2LuaResult *result) {
  result->array = shape.axes > 0 ? s2_lua_array_push(L, shape) : NULL;
  return result->array != NULL ? result->array->data : &result->number;
}

int s2_lua_result_end(lua_State *L, const S2LuaResult *result, S2Var var) {
  if (result->array != NULL) {
    s2_lua_array_track(L, result->array, var);
  } else {
    s2_lua_array_push_number(L, result->number, var);
  }
  return 1;
}

int s2_lua_push_block(lua_State *L, const S2Array *from, const S2ArrayBlock *block, S2Size shape) {
  S2LuaArray *out = s2_lua_array_push(L, shape);
  s2_array_gather(block, from->data, out->data);
  if (from->var != 0) {
    s2_lua_array_track(L, out, s2_note_gather(s2_lua_tape(L), block, from, out->data));
  }
  return 1;
}

int s2_lua_array_integer(lua_State *L, int argument, int lo, int hi) {
  return (int)s2_argument_integer(L, argument, lo, hi);
}
