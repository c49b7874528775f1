// sim.data: saves arrays to files and loads them.
#include "lua/diff/array.h"
#include "lua/solve/solve_info.h"
#include "lua/world/binding.h"

#include "record/s2d/output.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

// metatable of a userdata that frees a set after an error
static const char DATA_SET[] = "sim2d.DataSet";

// Larger integers are not all exact as doubles.
static const int64_t EXACT = (int64_t)1 << 53;

static int set_collect(lua_State *L) {
  s2_data_free(lua_touserdata(L, 1));
  return 0;
}

// Pushes an empty set that lives as long as it is on the stack.
static S2DataSet *push_set(lua_State *L) {
  S2DataSet *set = lua_newuserdatauv(L, sizeof *set, 0);
  *set = (S2DataSet){0};
  if (luaL_newmetatable(L, DATA_SET)) {
    lua_pushcfunction(L, set_collect);
    lua_setfield(L, -2, "__gc");
  }
  lua_setmetatable(L, -2);
  return set;
}

static int data_trouble(lua_State *L, const char *message) {
  lua_pushnil(L);
  lua_pushstring(L, message);
  return 2;
}

static const char *data_check_path(lua_State *L) {
  char text[S2_LUA_TEXT];
  if (lua_type(L, 1) != LUA_TSTRING) {
    s2_lua_bad_argument(L, 1, "path expected, got %s", s2_lua_describe(L, 1, text));
  }
  return lua_tostring(L, 1);
}

// Raises an error for an unknown suffix, since this is a mistake in the script. If a library is
// missing, the call fails without an error.
static bool check_suffix(lua_State *L, const char *path, S2Status *status) {
  *status = s2_data_check_path(path);
  if (status->code == S2_INVALID) {
    s2_lua_bad_argument(L, 1, "%s", status->message);
  }
  return status->code == S2_OK;
}

// ---- Saving -----------------------------------------------------------------------------------

typedef struct Saving {
  lua_State *L;
  S2DataSet *set;
  const char *name; // name of the array; "" for a single array
  const char *unit;
} Saving;

static int data_refuse(const Saving *saving, int index, const char *expected) {
  char text[S2_LUA_TEXT];
  const char *got = s2_lua_describe(saving->L, index, text);
  if (saving->name[0] == '\0') {
    return s2_lua_bad_argument(saving->L, 2, "%s expected, got %s", expected, got);
  }
  return s2_lua_bad_argument(saving->L, 2, "'%s': %s expected, got %s", saving->name, expected,
                             got);
}

static S2DataArray *data_add(const Saving *saving, S2DataType type, int axes, size_t rows,
                             size_t columns) {
  const size_t shape[2] = {rows, columns};
  return s2_data_add(saving->set, saving->name, saving->unit, type, axes, shape);
}

static bool data_read_plain(lua_State *L, int index, double *value) {
  S2Var var;
  if (lua_type(L, index) == LUA_TNUMBER) {
    *value = lua_tonumber(L, index);
    return true;
  }
  return s2_lua_tracked_test(L, index, value, &var);
}

static const char *read_text(const Saving *saving, int index) {
  size_t length = 0;
  const char *text = lua_tolstring(saving->L, index, &length);
  if (strlen(text) != length) {
    data_refuse(saving, index, "text without zero bytes");
  }
  return text;
}

// Adds the list at `index`. Its first element determines the type.
static void add_list(const Saving *saving, int index, size_t count) {
  lua_State *L = saving->L;
  // All elements must have the type of the first element.
  int kind = lua_geti(L, index, 1);
  lua_pop(L, 1);
  S2DataType type = kind == LUA_TSTRING    ? S2_DATA_TEXT
                    : kind == LUA_TBOOLEAN ? S2_DATA_FLAG
                                           : S2_DATA_NUMBER;
  S2DataArray *array = data_add(saving, type, 1, count, 0);
  double number = 0;
  for (size_t i = 0; i < count; i++) {
    int got = lua_geti(L, index, (lua_Integer)i + 1);
    if (type == S2_DATA_NUMBER && data_read_plain(L, -1, &number)) {
      ((double *)array->values)[i] = number;
    } else if (type == S2_DATA_TEXT && got == LUA_TSTRING) {
      s2_data_add_text(array, read_text(saving, -1));
    } else if (type == S2_DATA_FLAG && got == LUA_TBOOLEAN) {
      ((unsigned char *)array->values)[i] = lua_toboolean(L, -1) != 0;
    } else {
      char expected[48];
      snprintf(expected, sizeof expected, "[%zu]: %s", i + 1,
               type == S2_DATA_TEXT   ? "string"
               : type == S2_DATA_FLAG ? "true or false"
                                      : "number");
      data_refuse(saving, -1, expected);
    }
    lua_pop(L, 1);
  }
}

static bool is_list(lua_State *L, int index) {
  return lua_type(L, index) == LUA_TTABLE || s2_lua_array_test(L, index) != NULL ||
         s2_lua_test(L, index, s2_type_vector) != NULL;
}

static void add_rows(const Saving *saving, int index, size_t rows) {
  lua_State *L = saving->L;
  // All rows must have the length of the first row.
  lua_geti(L, index, 1);
  size_t width = (size_t)luaL_len(L, -1);
  lua_pop(L, 1);
  double *values = data_add(saving, S2_DATA_NUMBER, 2, rows, width)->values;
  for (size_t i = 0; i < rows; i++) {
    lua_geti(L, index, (lua_Integer)i + 1);
    char expected[64];
    snprintf(expected, sizeof expected, "[%zu]: a row of %zu numbers", i + 1, width);
    if (!is_list(L, -1) || (size_t)luaL_len(L, -1) != width) {
      data_refuse(saving, -1, expected);
    }
    for (size_t k = 0; k < width; k++) {
      lua_geti(L, -1, (lua_Integer)k + 1);
      if (!data_read_plain(L, -1, &values[i * width + k])) {
        data_refuse(saving, -1, expected);
      }
      lua_pop(L, 1);
    }
    lua_pop(L, 1);
  }
}

// Adds the value at the absolute stack index `index`.
static void add_value(const Saving *saving, int index) {
  lua_State *L = saving->L;
  const S2LuaArray *array = s2_lua_array_test(L, index);
  double number = 0;
  int type = lua_type(L, index);
  // Arrays are copied. The only axis of a list has the length `columns`.
  if (array != NULL) {
    S2Array view = s2_lua_array_view(L, array);
    bool list = view.shape.axes == 1;
    S2DataArray *added =
        data_add(saving, S2_DATA_NUMBER, view.shape.axes,
                 (size_t)(list ? view.shape.columns : view.shape.rows), (size_t)view.shape.columns);
    memcpy(added->values, view.data, s2_size_count(view.shape) * sizeof(double));
    // Single values keep their types.
  } else if (lua_isinteger(L, index)) {
    *(int64_t *)data_add(saving, S2_DATA_INTEGER, 0, 0, 0)->values = lua_tointeger(L, index);
  } else if (data_read_plain(L, index, &number)) {
    *(double *)data_add(saving, S2_DATA_NUMBER, 0, 0, 0)->values = number;
  } else if (type == LUA_TBOOLEAN) {
    *(unsigned char *)data_add(saving, S2_DATA_FLAG, 0, 0, 0)->values =
        lua_toboolean(L, index) != 0;
  } else if (type == LUA_TSTRING) {
    const char *text = read_text(saving, index);
    s2_data_add_text(data_add(saving, S2_DATA_TEXT, 0, 0, 0), text);
    // Lists and lists of lists are added. A table that has only other keys is an error.
  } else if (is_list(L, index)) {
    size_t count = (size_t)luaL_len(L, index);
    if (count == 0 && type == LUA_TTABLE) {
      lua_pushnil(L);
      if (lua_next(L, index) != 0) {
        data_refuse(saving, index, "an array, a list, a number or a text");
      }
    }
    lua_geti(L, index, 1);
    bool rows = count > 0 && is_list(L, -1);
    lua_pop(L, 1);
    if (rows) {
      add_rows(saving, index, count);
    } else {
      add_list(saving, index, count);
    }
  } else {
    data_refuse(saving, index, "an array, a list, a number or a text");
  }
}

// Pushes the names to save: the names in `columns` in that order, or all names, sorted.
static int push_names(lua_State *L, const S2Keys *keys) {
  lua_newtable(L);
  int names = lua_gettop(L), count = 0;
  // Take the names in `columns`, in that order. Each name may occur once.
  if (s2_keys_push(keys, "columns") != LUA_TNIL) {
    if (lua_type(L, -1) != LUA_TTABLE) {
      s2_keys_fail(keys, "columns", "list of names expected");
    }
    count = (int)lua_rawlen(L, -1);
    for (int i = 1; i <= count; i++) {
      if (lua_rawgeti(L, -1, i) != LUA_TSTRING) {
        s2_keys_fail(keys, "columns", "list of names expected");
      }
      lua_pushvalue(L, -1);
      if (lua_rawget(L, 2) == LUA_TNIL) {
        s2_keys_fail(keys, "columns", "there is no array '%s'", lua_tostring(L, -2));
      }
      lua_pop(L, 1);
      for (int k = 1; k < i; k++) {
        lua_rawgeti(L, names, k);
        if (lua_rawequal(L, -1, -2)) {
          s2_keys_fail(keys, "columns", "'%s' comes twice", lua_tostring(L, -1));
        }
        lua_pop(L, 1);
      }
      lua_rawseti(L, names, i);
    }
    lua_settop(L, names);
    return count;
  }
  // Take all names and sort them, because Lua tables have no order.
  lua_settop(L, names);
  for (lua_pushnil(L); lua_next(L, 2) != 0; lua_pop(L, 1)) {
    char text[S2_LUA_TEXT];
    if (lua_type(L, -2) != LUA_TSTRING || lua_rawlen(L, -2) == 0) {
      s2_lua_bad_argument(L, 2, "names as keys expected, got the key %s",
                          s2_lua_describe(L, -2, text));
    }
    lua_pushvalue(L, -2);
    int at = ++count; // insertion sort, because there are few names
    for (; at > 1; at--) {
      lua_rawgeti(L, names, at - 1);
      bool placed = strcmp(lua_tostring(L, -1), lua_tostring(L, -2)) < 0;
      if (placed) {
        lua_pop(L, 1);
        break;
      }
      lua_rawseti(L, names, at);
    }
    lua_rawseti(L, names, at);
  }
  return count;
}

// Checks `units` and leaves it on the stack.
static int push_units(lua_State *L, const S2Keys *keys) {
  if (s2_keys_push(keys, "units") == LUA_TNIL) {
    lua_pop(L, 1);
    lua_newtable(L);
  }
  int units = lua_gettop(L);
  // `units` maps names of existing arrays to texts.
  if (lua_type(L, units) != LUA_TTABLE) {
    s2_keys_fail(keys, "units", "a table expected, {name = unit}");
  }
  for (lua_pushnil(L); lua_next(L, units) != 0; lua_pop(L, 1)) {
    if (lua_type(L, -2) != LUA_TSTRING || lua_type(L, -1) != LUA_TSTRING) {
      s2_keys_fail(keys, "units", "a table of texts expected, {name = unit}");
    }
    lua_pushvalue(L, -2);
    if (lua_rawget(L, 2) == LUA_TNIL) {
      s2_keys_fail(keys, "units", "there is no array '%s'", lua_tostring(L, -3));
    }
    lua_pop(L, 1);
  }
  return units;
}

static void add_named(lua_State *L, S2DataSet *set, const S2Keys *keys) {
  int count = push_names(L, keys), names = lua_gettop(L), units = push_units(L, keys);
  for (int i = 1; i <= count; i++) {
    // Read the name, the unit and the value.
    lua_rawgeti(L, names, i);
    Saving saving = {L, set, lua_tostring(L, -1), ""};
    if (strlen(saving.name) != lua_rawlen(L, -1)) {
      s2_lua_bad_argument(L, 2, "the name '%s...' contains a zero byte", saving.name);
    }
    lua_pushvalue(L, -1);
    if (lua_rawget(L, units) == LUA_TSTRING) {
      saving.unit = lua_tostring(L, -1);
    }
    lua_pushvalue(L, -2);
    lua_rawget(L, 2);
    add_value(&saving, lua_gettop(L));
    lua_settop(L, units);
  }
}

static int data_save(lua_State *L) {
  static const char *const names[] = {"columns", "units", NULL};
  lua_settop(L, 3);
  const char *path = data_check_path(L);
  S2Status status;
  // Check the suffix before reading any values.
  if (!check_suffix(L, path, &status)) {
    return data_trouble(L, status.message);
  }
  S2Keys keys = s2_keys_open(L, 3, true, names, NULL, 0);
  S2DataSet *set = push_set(L);
  bool one = lua_type(L, 2) != LUA_TTABLE || lua_rawlen(L, 2) > 0;
  // Save a single array without a name, if the format allows it, or a table of named arrays.
  if (one) {
    set->bare = true;
    if (s2_keys_has(&keys, "columns") || s2_keys_has(&keys, "units")) {
      s2_lua_bad_argument(L, 3,
                          "names and units apply only to a table of arrays, {x = ..., y = ...}");
    }
    const char *dot = s2_path_suffix(path);
    bool named = strcasecmp(dot, ".npz") == 0 || strcasecmp(dot, ".h5") == 0;
    if (named) {
      s2_lua_bad_argument(L, 2, "%s files hold arrays by name: {name = array} expected", dot);
    }
    const Saving saving = {L, set, "", ""};
    if (!is_list(L, 2)) {
      data_refuse(&saving, 2, "arrays by name, {name = array}, or one array");
    }
    add_value(&saving, 2);
  } else {
    add_named(L, set, &keys);
  }
  status = s2_data_save(set, path);
  if (status.code == S2_INVALID) {
    return s2_lua_bad_argument(L, 2, "%s", status.message);
  }
  if (status.code != S2_OK) {
    return data_trouble(L, status.message);
  }
  lua_pushboolean(L, 1);
  return 1;
}

// ---- Loading ----------------------------------------------------------------------------------

static double value_at(const S2DataArray *array, size_t i) {
  return array->type == S2_DATA_NUMBER    ? ((const double *)array->values)[i]
         : array->type == S2_DATA_INTEGER ? (double)((const int64_t *)array->values)[i]
                                          : (double)((const unsigned char *)array->values)[i];
}

// Checks that the array fits into a Lua array. All axes except the first are joined.
static bool check_array(const S2DataArray *array, const char *path, S2Status *status) {
  // Join all axes but the first.
  size_t count = s2_data_count(array), rows = array->axes > 0 ? array->shape[0] : 1, rest = 1;
  for (int i = 1; i < array->axes; i++) {
    rest *= array->shape[i];
  }
  if (count > INT32_MAX || rows > INT32_MAX || rest > INT32_MAX) {
    *status =
        s2_error(S2_INVALID, "cannot read '%s': '%.60s' has too many values", path, array->name);
    return false;
  }
  // Integers must have exact values as doubles.
  for (size_t i = 0; array->type == S2_DATA_INTEGER && array->axes > 0 && i < count; i++) {
    int64_t value = ((const int64_t *)array->values)[i];
    if (value > EXACT || value < -EXACT) {
      *status = s2_error(S2_INVALID,
                         "cannot read '%s': '%.60s' has integers beyond 2^53, which an array of "
                         "doubles cannot hold",
                         path, array->name);
      return false;
    }
  }
  return true;
}

// Pushes texts as nested lists, and moves *at past them.
static void push_texts(lua_State *L, const S2DataArray *array, int axis, const char **at) {
  if (axis == array->axes) {
    lua_pushstring(L, *at);
    *at += strlen(*at) + 1;
    return;
  }
  luaL_checkstack(L, 4, "too many axes");
  lua_newtable(L);
  for (size_t i = 0; i < array->shape[axis]; i++) {
    push_texts(L, array, axis + 1, at);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

static void push_value(lua_State *L, const S2DataArray *array) {
  if (array->type == S2_DATA_TEXT) {
    const char *at = array->values;
    push_texts(L, array, 0, &at);
    return;
  }
  // Single values become plain Lua values.
  if (array->axes == 0 && array->type == S2_DATA_INTEGER) {
    lua_pushinteger(L, *(const int64_t *)array->values);
    return;
  }
  if (array->axes == 0 && array->type == S2_DATA_FLAG) {
    lua_pushboolean(L, *(const unsigned char *)array->values);
    return;
  }
  if (array->axes == 0) {
    lua_pushnumber(L, *(const double *)array->values);
    return;
  }
  // Join all axes but the first.
  size_t count = s2_data_count(array), rest = 1;
  for (int i = 1; i < array->axes; i++) {
    rest *= array->shape[i];
  }
  S2LuaArray *pushed =
      s2_lua_array_push(L, array->axes == 1 ? s2_size_list((int)array->shape[0])
                                            : s2_size_matrix((int)array->shape[0], (int)rest));
  for (size_t i = 0; i < count; i++) {
    pushed->data[i] = value_at(array, i);
  }
}

// Pushes {names =, units =, run =}.
static void push_about(lua_State *L, const S2DataSet *set) {
  lua_createtable(L, 0, 3);
  // Push the names in order. Rows of different lengths have no names.
  lua_createtable(L, set->arrays.count, 0);
  for (int i = 0; i < set->arrays.count && !set->bare; i++) {
    lua_pushstring(L, set->arrays.at[i].name);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "names");
  // Push the units of the arrays that have one.
  lua_newtable(L);
  for (int i = 0; i < set->arrays.count; i++) {
    if (set->arrays.at[i].unit[0] != '\0') {
      lua_pushstring(L, set->arrays.at[i].unit);
      lua_setfield(L, -2, set->arrays.at[i].name);
    }
  }
  lua_setfield(L, -2, "units");
  // Push the entries that describe the run.
  lua_newtable(L);
  for (int i = 0; i < set->run.entries.count; i++) {
    lua_pushstring(L, set->run.entries.at[i].value);
    lua_setfield(L, -2, set->run.entries.at[i].key);
  }
  lua_setfield(L, -2, "run");
}

// Reads a list of names, which stays on the stack. Returns NULL if the list is absent.
static const char *const *data_read_names(lua_State *L, const S2Keys *keys, const char *key,
                                          bool ragged, int *used) {
  if (s2_keys_push(keys, key) == LUA_TNIL) {
    return NULL;
  }
  int list = lua_gettop(L);
  lua_Unsigned count = lua_type(L, list) == LUA_TTABLE ? lua_rawlen(L, list) : 0;
  if (count == 0 || count > INT32_MAX || ragged) {
    s2_keys_fail(keys, key,
                 ragged ? "rows of different lengths have no columns" : "list of names expected");
  }
  const char **names = lua_newuserdatauv(L, count * sizeof *names, 0);
  for (lua_Unsigned i = 0; i < count; i++) {
    if (lua_rawgeti(L, list, (lua_Integer)i + 1) != LUA_TSTRING || lua_rawlen(L, -1) == 0) {
      s2_keys_fail(keys, key, "list of names expected");
    }
    names[i] = lua_tostring(L, -1); // the list on the stack keeps the string alive
    lua_pop(L, 1);
  }
  *used = (int)count;
  return names;
}

// Reads the options. Their texts stay on the stack.
static S2DataOptions data_read_options(lua_State *L) {
  static const char *const known[] = {"columns",   "decimal", "fill",  "ragged",
                                      "separator", "skip",    "texts", NULL};
  S2Keys keys = s2_keys_open(L, 2, true, known, NULL, 0);
  S2DataOptions options = {0};
  s2_keys_boolean(&keys, "ragged", &options.ragged);
  if (s2_keys_push(&keys, "separator") != LUA_TNIL) {
    const char *text = lua_tostring(L, -1);
    // The separator must be a character that does not occur in numbers or line ends.
    if (lua_type(L, -1) != LUA_TSTRING || strlen(text) != 1 ||
        strchr("\"#.+-\r\n", *text) != NULL) {
      s2_keys_fail(&keys, "separator",
                   "a single character expected, such as ',', ';', '\\t', or ' ' for blanks");
    }
    options.separator = *text;
  }
  if (s2_keys_push(&keys, "decimal") != LUA_TNIL) {
    const char *text = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
    if (strcmp(text, ",") != 0 && strcmp(text, ".") != 0) {
      s2_keys_fail(&keys, "decimal", "'.' or ',' expected");
    }
    options.decimal = *text;
  }
  if (options.decimal == ',' && options.separator == ',') {
    s2_keys_fail(&keys, "decimal",
                 "a comma cannot be both the decimal point and the separator of cells");
  }
  s2_keys_boolean(&keys, "fill", &options.fill);
  int64_t skip = 0;
  s2_keys_integer(&keys, "skip", 0, INT32_MAX, &skip);
  options.skip = (int)skip;
  options.names = data_read_names(L, &keys, "columns", options.ragged, &options.name_count);
  options.texts = data_read_names(L, &keys, "texts", options.ragged, &options.text_count);
  return options;
}

static int data_load(lua_State *L) {
  lua_settop(L, 2);
  const char *path = data_check_path(L);
  S2Status status;
  (void)check_suffix(L, path, &status); // a build may read formats that it cannot write
  S2DataOptions options = data_read_options(L);
  // Only .csv files have reading options.
  bool csv = strcasecmp(s2_path_suffix(path), ".csv") == 0;
  if (!csv && !lua_isnil(L, 2)) {
    s2_lua_bad_argument(
        L, 2, "options apply only to .csv files; other formats describe their own contents");
  }
  S2DataSet *set = push_set(L);
  status = s2_data_load(path, &options, set);
  // Check that all arrays fit before creating the first one.
  for (int i = 0; i < set->arrays.count && status.code == S2_OK; i++) {
    (void)check_array(&set->arrays.at[i], s2_path_tail(path), &status);
  }
  if (status.code != S2_OK) {
    return data_trouble(L, status.message);
  }
  if (set->open > 0) { // only warn, because many programs omit the last line end
    fprintf(stderr,
            "sim2d: warning: '%s' ends within line %d: if it was cut there, its last value may "
            "lack digits (to silence this, add a line end)\n",
            s2_path_tail(path), set->open);
  }
  // The result is a single array, a list of rows, or a table of named arrays.
  if (set->bare && !options.ragged) {
    push_value(L, &set->arrays.at[0]);
  } else {
    lua_newtable(L);
    for (int i = 0; i < set->arrays.count; i++) {
      push_value(L, &set->arrays.at[i]);
      if (set->bare) {
        lua_rawseti(L, -2, i + 1);
      } else {
        lua_setfield(L, -2, set->arrays.at[i].name);
      }
    }
  }
  push_about(L, set);
  return 2;
}

void s2_lua_open_data(lua_State *L) {
  static const luaL_Reg functions[] = {{"save", data_save}, {"load", data_load}, {NULL, NULL}};
  s2_lua_push_library(L, "sim.data", functions);
}
