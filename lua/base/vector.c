// Vectors: read-only copies of vectors in the engine.
#include "lua/diff/array.h"

#include <math.h>
#include <string.h>

enum { MAX_SIZE = 3 };

typedef struct Vector {
  const char *type;
  const char *source; // name of the field that it was read from, or NULL
  S2VectorKind kind;
  double values[MAX_SIZE];
} Vector;

static const struct {
  int size;
  const char *names[MAX_SIZE];
  const char *shape;
} kinds[S2_VECTOR_KIND_COUNT] = {
    [S2_VECTOR_XY] = {2, {"x", "y", NULL}, "{x, y}"},
    [S2_VECTOR_AXY] = {3, {"a", "x", "y"}, "{a, x, y}"},
    [S2_VECTOR_VELOCITY] = {3, {"va", "vx", "vy"}, "{va, vx, vy}"},
    [S2_VECTOR_MOMENTUM] = {3, {"angular", "x", "y"}, "{angular, x, y}"},
};

void s2_lua_push_vector(lua_State *L, S2VectorKind kind, const double *values, const char *source) {
  Vector *vector = lua_newuserdatauv(L, sizeof *vector, 0);
  *vector = (Vector){.type = s2_type_vector, .source = source, .kind = kind};
  memcpy(vector->values, values, sizeof *values * (size_t)kinds[kind].size);
  luaL_setmetatable(L, "sim2d.Vector");
}

void s2_lua_push_vec2(lua_State *L, S2Vec2 value, const char *source) {
  const double xy[] = {value.x + 0.0, value.y + 0.0}; // + 0.0 turns -0 into 0
  s2_lua_push_vector(L, S2_VECTOR_XY, xy, source);
}

const double *s2_lua_vector_values(lua_State *L, int index, S2VectorKind *kind, int *size) {
  const Vector *vector = s2_lua_test(L, index, s2_type_vector);
  if (vector == NULL) {
    return NULL;
  }
  *kind = vector->kind;
  *size = kinds[vector->kind].size;
  return vector->values;
}

static int vector_index(lua_State *L) {
  const Vector *vector = s2_lua_check(L, 1, s2_type_vector);
  int size = kinds[vector->kind].size;
  lua_Integer place;
  if (s2_value_whole(L, 2, &place)) {
    if (place >= 1 && place <= size) {
      lua_pushnumber(L, vector->values[place - 1]);
    } else {
      lua_pushnil(L); // ends ipairs
    }
    return 1;
  }
  const char *key = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
  for (int i = 0; i < size; i++) {
    if (strcmp(key, kinds[vector->kind].names[i]) == 0) {
      lua_pushnumber(L, vector->values[i]);
      return 1;
    }
  }
  // Methods of lists of numbers, which work for plain and tracked numbers.
  static const luaL_Reg methods[] = {
      {"norm", s2_lua_array_norm}, {"dot", s2_lua_array_dot}, {NULL, NULL}};
  for (int i = 0; methods[i].name != NULL; i++) {
    if (strcmp(key, methods[i].name) == 0) {
      lua_pushcfunction(L, methods[i].func);
      return 1;
    }
  }
  char text[S2_LUA_TEXT];
  return s2_lua_fail(L,
                     "Vector has no field %s; it has the components of %s, norm() and dot(other)",
                     s2_lua_describe(L, 2, text), kinds[vector->kind].shape);
}

static int vector_newindex(lua_State *L) {
  const Vector *vector = s2_lua_check(L, 1, s2_type_vector);
  if (vector->source != NULL) {
    return s2_lua_fail(L,
                       "a vector is a copy, so assigning to a component would have no effect; "
                       "assign the whole vector: %s = %s",
                       vector->source, kinds[vector->kind].shape);
  }
  return s2_lua_fail(L, "a vector is a copy and read-only: make a new one");
}

static int vector_length(lua_State *L) {
  const Vector *vector = s2_lua_check(L, 1, s2_type_vector);
  lua_pushinteger(L, kinds[vector->kind].size);
  return 1;
}

// Reads an operand: a number for all components, or a vector or table of the same size.
static void read_operand(lua_State *L, int index, const Vector *like, double *values) {
  int size = kinds[like->kind].size;
  if (lua_type(L, index) == LUA_TNUMBER) {
    for (int i = 0; i < size; i++) {
      values[i] = lua_tonumber(L, index);
    }
    return;
  }
  const Vector *vector = s2_lua_test(L, index, s2_type_vector);
  if (vector != NULL && kinds[vector->kind].size == size) {
    memcpy(values, vector->values, sizeof vector->values);
    return;
  }
  S2Complaint complaint;
  if (!s2_value_vector(L, index, size, kinds[like->kind].names, kinds[like->kind].shape, values,
                       &complaint)) {
    s2_lua_fail(L, "arithmetic on a vector: %s", complaint.text);
  }
}

typedef struct Operands {
  S2VectorKind kind;
  int size;
  bool scalar; // one of the operands is a number
  double a[MAX_SIZE], b[MAX_SIZE];
} Operands;

static Operands read_operands(lua_State *L) {
  const Vector *like = s2_lua_test(L, 1, s2_type_vector);
  if (like == NULL) {
    like = s2_lua_check(L, 2, s2_type_vector);
  }
  Operands operands = {.kind = like->kind, .size = kinds[like->kind].size};
  operands.scalar = lua_type(L, 1) == LUA_TNUMBER || lua_type(L, 2) == LUA_TNUMBER;
  read_operand(L, 1, like, operands.a);
  read_operand(L, 2, like, operands.b);
  return operands;
}

// Adding a number to a vector is most often a mistake, so it raises an error.
static void refuse_scalar(lua_State *L, const Operands *operands, const char *verb) {
  if (operands->scalar) {
    s2_lua_fail(L, "attempt to %s a vector and a number", verb);
  }
}

static int vector_add(lua_State *L) {
  if (s2_lua_array_takes_over(L, S2_ARRAY_ADD)) {
    return 1;
  }
  Operands operands = read_operands(L);
  refuse_scalar(L, &operands, "add");
  for (int i = 0; i < operands.size; i++) {
    operands.a[i] += operands.b[i];
  }
  s2_lua_push_vector(L, operands.kind, operands.a, NULL);
  return 1;
}

static int vector_sub(lua_State *L) {
  if (s2_lua_array_takes_over(L, S2_ARRAY_SUBTRACT)) {
    return 1;
  }
  Operands operands = read_operands(L);
  refuse_scalar(L, &operands, "subtract");
  for (int i = 0; i < operands.size; i++) {
    operands.a[i] -= operands.b[i];
  }
  s2_lua_push_vector(L, operands.kind, operands.a, NULL);
  return 1;
}

static int vector_mul(lua_State *L) {
  if (s2_lua_array_takes_over(L, S2_ARRAY_MULTIPLY)) {
    return 1;
  }
  Operands operands = read_operands(L);
  for (int i = 0; i < operands.size; i++) {
    operands.a[i] *= operands.b[i];
  }
  s2_lua_push_vector(L, operands.kind, operands.a, NULL);
  return 1;
}

static int vector_div(lua_State *L) {
  if (s2_lua_array_takes_over(L, S2_ARRAY_DIVIDE)) {
    return 1;
  }
  Operands operands = read_operands(L);
  for (int i = 0; i < operands.size; i++) {
    operands.a[i] /= operands.b[i];
  }
  s2_lua_push_vector(L, operands.kind, operands.a, NULL);
  return 1;
}

static int vector_unm(lua_State *L) {
  Vector vector = *(const Vector *)s2_lua_check(L, 1, s2_type_vector);
  for (int i = 0; i < MAX_SIZE; i++) {
    vector.values[i] = -vector.values[i];
  }
  s2_lua_push_vector(L, vector.kind, vector.values, NULL);
  return 1;
}

static int vector_eq(lua_State *L) {
  const Vector *a = s2_lua_test(L, 1, s2_type_vector), *b = s2_lua_test(L, 2, s2_type_vector);
  bool equal = a != NULL && b != NULL && kinds[a->kind].size == kinds[b->kind].size;
  for (int i = 0; equal && i < kinds[a->kind].size; i++) {
    equal = a->values[i] == b->values[i];
  }
  lua_pushboolean(L, equal);
  return 1;
}

static int vector_tostring(lua_State *L) {
  const Vector *vector = s2_lua_check(L, 1, s2_type_vector);
  luaL_Buffer text;
  luaL_buffinit(L, &text);
  for (int i = 0; i < kinds[vector->kind].size; i++) {
    double value = vector->values[i];
    luaL_addstring(&text, i == 0 ? "{" : ", ");
    lua_pushnumber(L, isnan(value) ? fabs(value) : value);
    luaL_tolstring(L, -1, NULL);
    lua_remove(L, -2);
    luaL_addvalue(&text);
  }
  luaL_addstring(&text, "}");
  luaL_pushresult(&text);
  return 1;
}

void s2_lua_open_vector(lua_State *L) {
  static const luaL_Reg meta[] = {{"__index", vector_index},
                                  {"__newindex", vector_newindex},
                                  {"__len", vector_length},
                                  {"__add", vector_add},
                                  {"__sub", vector_sub},
                                  {"__mul", vector_mul},
                                  {"__div", vector_div},
                                  {"__unm", vector_unm},
                                  {"__eq", vector_eq},
                                  {"__tostring", vector_tostring},
                                  {NULL, NULL}};
  s2_lua_metatable(L, s2_type_vector);
  luaL_setfuncs(L, meta, 0);
  lua_pop(L, 1);
}
