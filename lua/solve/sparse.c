#include "lua/solve/sparse.h"

#include "lua/diff/array.h"
#include "lua/solve/matrix.h"
#include "lua/solve/solve_info.h"

#include <limits.h>
#include <stdio.h>

// ---- Reading ----------------------------------------------------------------------------------

static S2Triplet *take_triplets(lua_State *L, size_t count) {
  return lua_newuserdatauv(L, sizeof(S2Triplet) * (count + 1), 0);
}

static void check_size(const S2Keys *keys, const char *key, const S2LuaSparse *matrix, int rows,
                       int columns) {
  bool fits = (rows < 0 || matrix->rows == rows) && (columns < 0 || matrix->columns == columns);
  if (!fits) {
    s2_keys_fail(keys, key, "%d x %d matrix expected, got %d x %d", rows < 0 ? matrix->rows : rows,
                 columns < 0 ? matrix->columns : columns, matrix->rows, matrix->columns);
  }
}

// Reads an element of the list i or j. `of` is the number of rows or columns.
static int index_at(const S2Keys *keys, const char *key, const double *list, int k, int of) {
  if (!(list[k] >= 1 && list[k] <= of) || list[k] != (double)(int)list[k]) {
    s2_keys_fail(keys, key, "[%d]: integer from 1 to %d expected, got %g", k + 1, of, list[k]);
  }
  return (int)list[k] - 1;
}

static const char *const triplet_names[] = {"rows", "columns", "i", "j", "v", NULL};

static S2LuaSparse read_triplets(const S2Keys *inner) {
  int64_t rows = 0, columns = 0;
  int count = -1;
  for (int k = 0; triplet_names[k] != NULL; k++) {
    s2_keys_require(inner, triplet_names[k]);
  }
  s2_keys_integer(inner, "rows", 0, INT_MAX, &rows);
  s2_keys_integer(inner, "columns", 0, INT_MAX, &columns);
  // The number of values determines the number of entries.
  const double *v = s2_lua_problem_vector(inner, "v", &count);
  const double *i = s2_lua_problem_vector(inner, "i", &count);
  const double *j = s2_lua_problem_vector(inner, "j", &count);
  // Check each entry, and store indices that count from 0.
  S2Triplet *triplet = take_triplets(inner->L, (size_t)count);
  for (int k = 0; k < count; k++) {
    triplet[k].row = index_at(inner, "i", i, k, (int)rows);
    triplet[k].column = index_at(inner, "j", j, k, (int)columns);
    triplet[k].value = v[k];
  }
  return (S2LuaSparse){(int)rows, (int)columns, count, triplet, S2_LUA_TRIPLETS};
}

bool s2_lua_is_sparse(lua_State *L, int index) {
  if (lua_type(L, index) != LUA_TTABLE) {
    return false;
  }
  bool sparse = lua_getfield(L, index, "i") != LUA_TNIL;
  lua_pop(L, 1);
  return sparse;
}

S2LuaSparse s2_lua_argument_sparse(lua_State *L, int argument, const char *name) {
  S2Keys keys = s2_keys_open(L, argument, false, triplet_names, NULL, 0);
  snprintf(keys.scope, sizeof keys.scope, "%s.", name);
  return read_triplets(&keys);
}

static S2LuaSparse read_diagonal(const S2Keys *keys, const char *key) {
  int n = -1;
  const double *diagonal = s2_lua_problem_vector(keys, key, &n);
  S2Triplet *triplet = take_triplets(keys->L, (size_t)n);
  for (int i = 0; i < n; i++) {
    triplet[i] = (S2Triplet){i, i, diagonal[i]};
  }
  return (S2LuaSparse){n, n, n, triplet, S2_LUA_DIAGONAL};
}

static S2LuaSparse read_dense(const S2Keys *keys, const char *key, bool zeros) {
  int rows = -1, columns = -1, count = 0;
  const double *values = s2_lua_problem_matrix(keys, key, &rows, &columns);
  size_t size = (size_t)rows * (size_t)columns;
  for (size_t k = 0; k < size; k++) {
    count += zeros || values[k] != 0;
  }
  S2Triplet *triplet = take_triplets(keys->L, (size_t)count);
  S2LuaSparse matrix = {rows, columns, 0, triplet, S2_LUA_ROWS};
  // Zeros become entries only if their derivatives are needed.
  for (int i = 0; i < rows; i++) {
    for (int j = 0; j < columns; j++) {
      double value = values[(size_t)i * (size_t)columns + (size_t)j];
      if (zeros || value != 0) {
        triplet[matrix.count++] = (S2Triplet){i, j, value};
      }
    }
  }
  return matrix;
}

S2LuaSparse s2_lua_problem_sparse(const S2Keys *keys, const char *key, int rows, int columns,
                                  bool zeros) {
  lua_State *L = keys->L;
  char text[S2_LUA_TEXT];
  s2_keys_require(keys, key);
  int type = s2_keys_push(keys, key);
  const S2LuaArray *array = s2_lua_array_test(L, -1);
  if (type != LUA_TTABLE && array == NULL) {
    s2_keys_fail(keys, key, "matrix expected, got %s", s2_lua_describe(L, -1, text));
  }
  // The value is a table of triplets, a list of numbers (the diagonal), or a list of rows.
  bool sparse = s2_lua_is_sparse(L, lua_gettop(L)), diagonal;
  if (array != NULL) {
    diagonal = array->shape.axes == 1;
  } else {
    diagonal = lua_rawgeti(L, -1, 1) == LUA_TNUMBER;
    lua_pop(L, 1);
  }
  S2LuaSparse matrix;
  if (sparse) {
    char scope[S2_KEYS_SCOPE];
    snprintf(scope, sizeof scope, "%s.", key);
    S2Keys inner = s2_keys_inner(keys, scope, triplet_names, NULL);
    matrix = read_triplets(&inner);
  } else if (diagonal) {
    matrix = read_diagonal(keys, key);
  } else {
    matrix = read_dense(keys, key, zeros);
    if (matrix.rows == 0) { // an empty list matches any empty size
      matrix.rows = rows == 0 || columns == 0 ? rows : 0;
      matrix.columns = rows == 0 || columns == 0 ? columns : 0;
    }
  }
  check_size(keys, key, &matrix, rows, columns);
  return matrix;
}

// ---- Writing ----------------------------------------------------------------------------------

// Pushes a table with the sizes. The caller adds the lists.
static void push_size(lua_State *L, int rows, int columns) {
  lua_createtable(L, 0, 5);
  lua_pushinteger(L, rows);
  lua_setfield(L, -2, "rows");
  lua_pushinteger(L, columns);
  lua_setfield(L, -2, "columns");
}

void s2_lua_push_like(lua_State *L, const S2LuaSparse *like, const double *numbers) {
  if (like->shape == S2_LUA_DIAGONAL) {
    s2_lua_push_numbers(L, numbers, like->count);
    return;
  }
  if (like->shape == S2_LUA_ROWS) {
    s2_lua_push_matrix(L, numbers, like->rows, like->columns);
    return;
  }
  // Push triplets with the same indices and new values.
  push_size(L, like->rows, like->columns);
  lua_createtable(L, like->count, 0);
  lua_createtable(L, like->count, 0);
  for (int k = 0; k < like->count; k++) {
    lua_pushinteger(L, like->triplet[k].row + 1);
    lua_rawseti(L, -3, k + 1);
    lua_pushinteger(L, like->triplet[k].column + 1);
    lua_rawseti(L, -2, k + 1);
  }
  lua_setfield(L, -3, "j");
  lua_setfield(L, -2, "i");
  s2_lua_set_numbers(L, "v", numbers, like->count);
}

void s2_lua_push_sparse(lua_State *L, const S2Csr *matrix) {
  int count = matrix->start[matrix->rows];
  push_size(L, matrix->rows, matrix->columns);
  lua_createtable(L, count, 0);
  lua_createtable(L, count, 0);
  lua_createtable(L, count, 0);
  // Fill the three lists in parallel.
  for (int i = 0; i < matrix->rows; i++) {
    for (int32_t p = matrix->start[i]; p < matrix->start[i + 1]; p++) {
      lua_pushinteger(L, i + 1);
      lua_rawseti(L, -4, p + 1);
      lua_pushinteger(L, matrix->column[p] + 1);
      lua_rawseti(L, -3, p + 1);
      lua_pushnumber(L, matrix->value[p]);
      lua_rawseti(L, -2, p + 1);
    }
  }
  lua_setfield(L, -4, "v");
  lua_setfield(L, -3, "j");
  lua_setfield(L, -2, "i");
}
