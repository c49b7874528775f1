#include "lua/solve/fields.h"

#include "lua/solve/solve_info.h"
#include "lua/solve/sparse.h"

// ---- Places of values -------------------------------------------------------------------------

static void *field_at(void *base, size_t offset) {
  return (char *)base + offset;
}

static const void *field_in(const void *base, size_t offset) {
  return (const char *)base + offset;
}

static int field_int(const void *base, size_t offset) {
  return *(const int *)field_in(base, offset);
}

static const double *field_numbers(const void *base, size_t offset) {
  return *(const double *const *)field_in(base, offset);
}

void s2_lua_field_names(const S2LuaField *fields, const char *names[S2_LUA_FIELDS_MOST + 1]) {
  int count = 0;
  for (; count < S2_LUA_FIELDS_MOST && fields[count].key != NULL; count++) {
    names[count] = fields[count].key;
  }
  names[count] = NULL;
}

// ---- Reading ----------------------------------------------------------------------------------

static void field_read_vector(const S2Keys *keys, const S2LuaField *field, void *to) {
  int *count = field_at(to, field->rows);
  // Any length is accepted. Later fields with the same size member must match this length.
  if (field->flags & S2_LUA_SIZES) {
    *count = -1;
  }
  *(const double **)field_at(to, field->at) = s2_lua_problem_vector(keys, field->key, count);
  *count = *count < 0 ? 0 : *count;
}

static void field_read_matrix(const S2Keys *keys, const S2LuaField *field, void *to) {
  int rows = field_int(to, field->rows), columns = field_int(to, field->columns);
  if ((field->flags & S2_LUA_NOT_EMPTY) && rows > 0 && columns > 0) {
    s2_keys_require(keys, field->key);
  }
  *(const double **)field_at(to, field->at) =
      s2_lua_problem_matrix(keys, field->key, &rows, &columns);
}

static void field_read_sparse(const S2Keys *keys, const S2LuaField *field, void *to) {
  int rows = field_int(to, field->rows), columns = field_int(to, field->columns);
  S2LuaSparse *matrix = field_at(to, field->at);
  *matrix = (S2LuaSparse){.rows = rows, .columns = columns};
  // An empty matrix may be omitted.
  bool empty = rows == 0 || columns == 0;
  if (!(field->flags & S2_LUA_NOT_EMPTY) || !empty || s2_keys_has(keys, field->key)) {
    *matrix = s2_lua_problem_sparse(keys, field->key, rows, columns, false);
  }
}

static void field_read(const S2Keys *keys, const S2LuaField *field, void *to) {
  void *at = field_at(to, field->at);
  // An absent number keeps its default.
  switch (field->kind) {
  case S2_LUA_NUMBER:
    s2_keys_number(keys, field->key, field->domain, at);
    break;
  case S2_LUA_INTEGER: {
    int64_t value = *(int *)at;
    s2_keys_integer(keys, field->key, field->least, field->most, &value);
    *(int *)at = (int)value;
    break;
  }
  case S2_LUA_BOOLEAN:
    s2_keys_boolean(keys, field->key, at);
    break;
  case S2_LUA_VECTOR:
    field_read_vector(keys, field, to);
    break;
  case S2_LUA_MATRIX:
    field_read_matrix(keys, field, to);
    break;
  case S2_LUA_SPARSE:
    field_read_sparse(keys, field, to);
    break;
  case S2_LUA_WORD:
    break;
  }
}

void s2_lua_fields_read(const S2Keys *keys, const S2LuaField *fields, void *to) {
  for (const S2LuaField *field = fields; field->key != NULL; field++) {
    const char *partner = field->partner;
    // If only one of two keys that belong together is given, the message names the missing one.
    bool alone = partner != NULL && s2_keys_has(keys, partner) != s2_keys_has(keys, field->key);
    if (alone) {
      s2_keys_require(keys, partner);
    }
    if (alone || (field->flags & S2_LUA_REQUIRED)) {
      s2_keys_require(keys, field->key);
    }
    field_read(keys, field, to);
  }
}

// ---- Writing ----------------------------------------------------------------------------------

static void field_set_numbers(lua_State *L, const S2LuaField *field, const void *sizes,
                              const double *numbers) {
  if (field->kind == S2_LUA_MATRIX) {
    s2_lua_set_matrix(L, field->key, numbers, field_int(sizes, field->rows),
                      field_int(sizes, field->columns));
  } else {
    s2_lua_set_numbers(L, field->key, numbers, field_int(sizes, field->rows));
  }
}

static void field_write(lua_State *L, const S2LuaField *field, const void *from) {
  const void *at = field_in(from, field->at);
  // The setters omit vectors and words that are NULL.
  switch (field->kind) {
  case S2_LUA_NUMBER:
    s2_lua_set_number(L, field->key, *(const double *)at);
    break;
  case S2_LUA_INTEGER:
    lua_pushinteger(L, *(const int *)at);
    lua_setfield(L, -2, field->key);
    break;
  case S2_LUA_BOOLEAN:
    lua_pushboolean(L, *(const bool *)at);
    lua_setfield(L, -2, field->key);
    break;
  case S2_LUA_WORD:
    lua_pushstring(L, *(const char *const *)at); // pushes nil for NULL
    lua_setfield(L, -2, field->key);
    break;
  case S2_LUA_VECTOR:
  case S2_LUA_MATRIX:
    field_set_numbers(L, field, from, *(const double *const *)at);
    break;
  case S2_LUA_SPARSE:
    break;
  }
}

void s2_lua_fields_write(lua_State *L, const S2LuaField *fields, const void *from, unsigned state) {
  for (const S2LuaField *field = fields; field->key != NULL; field++) {
    // Entries without a condition are always written.
    unsigned when = field->flags & (S2_LUA_IF_SOLVED | S2_LUA_IF_INFEASIBLE);
    if (when == 0 || (when & state)) {
      field_write(L, field, from);
    }
  }
}

// ---- Derivatives ------------------------------------------------------------------------------

void s2_lua_gradient_take(lua_State *L, const S2LuaField *fields, const void *read,
                          void *gradient) {
  for (const S2LuaField *field = fields; field->key != NULL; field++) {
    // A value that was not given has no derivative.
    size_t rows = (size_t)field_int(read, field->rows);
    size_t columns =
        field->kind == S2_LUA_MATRIX ? (size_t)field_int(read, field->columns) : (size_t)1;
    *(double **)field_at(gradient, field->gradient) =
        s2_lua_take_like(L, field_numbers(read, field->at), rows * columns);
  }
}

void s2_lua_gradient_push(lua_State *L, const S2LuaField *fields, const void *read,
                          const void *gradient) {
  lua_createtable(L, 0, S2_LUA_FIELDS_MOST);
  for (const S2LuaField *field = fields; field->key != NULL; field++) {
    field_set_numbers(L, field, read, field_numbers(gradient, field->gradient));
  }
}
