// world:record(path, {columns = ...}) writes a table of named numbers and results of functions over
// time.
#include "lua/diff/tracked.h"
#include "lua/record/live.h"

#include <string.h>

struct S2LuaRows {
  S2Rows *rows;     // NULL if no file is written
  int width;        // number of columns, not counting the time
  S2Column *column; // number == FUNCTION means the result of a function
  double *values;   // one row, starting with the time
};

enum { FUNCTION = -1 };

// ---- Requested columns ------------------------------------------------------------------------

static void check_name(lua_State *L, const S2Keys *keys, int index) {
  if (strlen(lua_tostring(L, index)) != lua_rawlen(L, index)) {
    s2_keys_fail(keys, "columns", "the name '%s...' contains a zero byte", lua_tostring(L, index));
  }
}

// Moves the value on top of the stack to the end of the list.
static void columns_append(lua_State *L, int list) {
  lua_rawseti(L, list, (lua_Integer)lua_rawlen(L, list) + 1);
}

static bool columns_less(lua_State *L, const char *name, int list, lua_Integer at) {
  lua_rawgeti(L, list, at);
  bool is_less = strcmp(name, lua_tostring(L, -1)) < 0;
  lua_pop(L, 1);
  return is_less;
}

// Pushes the names of the functions. They are sorted, because tables have no order.
static void push_function_names(lua_State *L, const S2Keys *keys, int columns) {
  lua_newtable(L);
  int list = lua_gettop(L);
  for (lua_pushnil(L); lua_next(L, columns) != 0; lua_pop(L, 1)) {
    if (lua_isinteger(L, -2)) {
      continue;
    }
    if (lua_type(L, -2) != LUA_TSTRING || lua_rawlen(L, -2) == 0 ||
        lua_type(L, -1) != LUA_TFUNCTION) {
      s2_keys_fail(keys, "columns",
                   "names, such as \"cart.x\", and functions, such as force = "
                   "function(world, t) ... end, expected");
    }
    check_name(L, keys, -2);
    lua_Integer at = (lua_Integer)lua_rawlen(L, list) + 1;
    const char *name = lua_tostring(L, -2);
    for (; at > 1 && columns_less(L, name, list, at - 1); at--) {
      lua_rawgeti(L, list, at - 1);
      lua_rawseti(L, list, at);
    }
    lua_pushvalue(L, -2);
    lua_rawseti(L, list, at);
  }
}

// Pushes a list of the names of all columns, and a table that maps the number of a column to its
// function and the negative number to the name of the function.
static void push_columns(lua_State *L, const S2Keys *keys, int columns) {
  lua_newtable(L);
  lua_newtable(L);
  int names = lua_gettop(L) - 1, functions = names + 1;
  for (lua_Unsigned i = 1; i <= lua_rawlen(L, columns); i++) {
    if (lua_rawgeti(L, columns, (lua_Integer)i) != LUA_TSTRING) {
      char text[S2_LUA_TEXT];
      s2_keys_fail(keys, "columns", "[%d]: a name like \"cart.x\" expected, got %s", (int)i,
                   s2_lua_describe(L, -1, text));
    }
    check_name(L, keys, -1);
    columns_append(L, names);
  }
  push_function_names(L, keys, columns);
  for (lua_Unsigned i = 1; i <= lua_rawlen(L, functions + 1); i++) {
    lua_rawgeti(L, functions + 1, (lua_Integer)i);
    lua_pushvalue(L, -1);
    columns_append(L, names);
    lua_Integer column = (lua_Integer)lua_rawlen(L, names);
    lua_pushvalue(L, -1);
    lua_rawseti(L, functions, -column); // name of the function, for messages
    lua_rawget(L, columns);
    lua_rawseti(L, functions, column);
  }
  lua_settop(L, functions);
}

// The unit of a column in the table at stack index `units`, or `otherwise` if none is given.
static const char *unit_of(lua_State *L, int units, const char *name, const char *otherwise) {
  if (lua_type(L, units) != LUA_TTABLE || lua_getfield(L, units, name) != LUA_TSTRING) {
    return otherwise;
  }
  return lua_tostring(L, -1); // the table keeps the string alive
}

static void check_units(lua_State *L, const S2Keys *keys, int units, int names) {
  if (lua_isnil(L, units)) {
    return;
  }
  if (lua_type(L, units) != LUA_TTABLE) {
    s2_keys_fail(keys, "units", "a table expected, {name = unit}");
  }
  for (lua_pushnil(L); lua_next(L, units) != 0; lua_pop(L, 1)) {
    if (lua_type(L, -2) != LUA_TSTRING || lua_type(L, -1) != LUA_TSTRING) {
      s2_keys_fail(keys, "units", "a table of texts expected, {name = unit}");
    }
    bool found = false;
    for (lua_Unsigned i = 1; i <= lua_rawlen(L, names) && !found; i++) {
      lua_rawgeti(L, names, (lua_Integer)i);
      found = lua_rawequal(L, -1, -3) != 0;
      lua_pop(L, 1);
    }
    if (!found) {
      s2_keys_fail(keys, "units", "there is no column '%s'", lua_tostring(L, -2));
    }
  }
}

// Makes a watched value (sim.watch) the function of a column.
static bool take_watched(lua_State *L, int functions, int column, const char *name,
                         const char **unit) {
  s2_lua_push_watch(L, name);
  if (!lua_istable(L, -1)) {
    lua_pop(L, 1);
    return false;
  }
  lua_getfield(L, -1, "f");
  lua_rawseti(L, functions, column);
  lua_pushstring(L, name);
  lua_rawseti(L, functions, -column);
  lua_getfield(L, -1, "unit");
  *unit = lua_tostring(L, -1); // the watch keeps the string alive
  lua_pop(L, 2);
  return true;
}

S2LuaRows *s2_lua_rows_read(lua_State *L, S2LuaWorld *lw, const S2Keys *keys, const char *path,
                            S2Status *status) {
  if (s2_keys_push(keys, "columns") != LUA_TTABLE) {
    s2_keys_fail(keys, "columns", "a table expected, such as {\"cart.x\", \"energy.total\"}");
  }
  // Order on the stack: columns, names, functions, units. A function is nil if the column is an
  // engine value.
  int columns = lua_gettop(L), names = columns + 1, functions = names + 1, units = functions + 1;
  push_columns(L, keys, columns);
  (void)s2_keys_push(keys, "units");
  check_units(L, keys, units, names);
  int width = (int)lua_rawlen(L, names);
  luaL_checkstack(L, width + LUA_MINSTACK, "too many columns");
  S2Column *column = lua_newuserdatauv(L, ((size_t)width + 1) * sizeof *column, 0);
  S2RowTitle *titles = lua_newuserdatauv(L, ((size_t)width + 1) * sizeof *titles, 0);
  titles[0] = (S2RowTitle){"time", "s"};
  // Each name occurs once. It names an engine value, a watched value, or a given function.
  for (int i = 0; i < width; i++) {
    lua_rawgeti(L, names, i + 1);
    const char *name = lua_tostring(L, -1), *unit = "";
    for (int k = 0; k <= i; k++) {
      if (strcmp(titles[k].name, name) == 0) {
        s2_keys_fail(keys, "columns", "there are two columns '%s'%s", name,
                     k == 0 ? ": the first column is always the time" : "");
      }
    }
    column[i] = (S2Column){.number = FUNCTION};
    if (lua_rawgeti(L, functions, i + 1) == LUA_TNIL) {
      S2Status found = s2_column_find(lw->world, name, &column[i]);
      unit = column[i].unit;
      if (found.code != S2_OK && !take_watched(L, functions, i + 1, name, &unit)) {
        s2_keys_fail(keys, "columns", "%s", found.message);
      } else if (found.code != S2_OK) {
        column[i] = (S2Column){.number = FUNCTION};
      }
    }
    lua_settop(L, units + 2);
    titles[i + 1] = (S2RowTitle){name, unit_of(L, units, name, unit)};
    lua_settop(L, units + 2);
  }
  // Open the file, then create the writer. The code after this point raises no errors.
  S2Rows *rows = NULL;
  *status = path == NULL ? s2_ok() : s2_rows_open(path, width + 1, titles, &rows);
  if (status->code != S2_OK) {
    return NULL;
  }
  S2LuaRows *read = s2_memory_take(sizeof *read);
  *read = (S2LuaRows){.rows = rows, .width = width};
  read->column = s2_memory_take(((size_t)width + 1) * sizeof *read->column);
  memcpy(read->column, column, (size_t)width * sizeof *column);
  read->values = s2_memory_take(((size_t)width + 1) * sizeof *read->values);
  lua_settop(L, functions);
  return read;
}

S2Status s2_lua_rows_close(S2LuaRows *rows) {
  S2Status status = s2_rows_close(rows->rows);
  s2_memory_free(rows->column);
  s2_memory_free(rows->values);
  s2_memory_free(rows);
  return status;
}

void s2_lua_rows_run(S2LuaRows *rows, const S2Run *run) {
  if (rows->rows != NULL) {
    s2_rows_run(rows->rows, run);
  }
}

// ---- Rows -------------------------------------------------------------------------------------

// Pushes the plain result of a column's function.
static void columns_push_result(lua_State *L, int functions, int column, double time) {
  double value = 0;
  S2Var var = 0;
  char text[S2_LUA_TEXT];
  lua_rawgeti(L, functions, column);
  lua_pushvalue(L, 1);
  lua_pushnumber(L, time);
  lua_call(L, 2, 1);
  if (lua_type(L, -1) == LUA_TNUMBER) {
    return;
  }
  if (!s2_lua_tracked_test(L, -1, &value, &var)) {
    lua_rawgeti(L, functions, -column);
    s2_lua_fail(L, "column '%s' of a recording: its function must return a number, got %s",
                lua_tostring(L, -1), s2_lua_describe(L, -2, text));
  }
  lua_pop(L, 1);
  lua_pushnumber(L, value);
}

S2LuaRows *s2_lua_rows_find(S2LuaWorld *lw, int64_t id) {
  for (int i = 0; i < lw->recorders.count; i++) {
    if (lw->recorders.at[i].id == id) {
      return lw->recorders.at[i].rows;
    }
  }
  return NULL;
}

// Evaluates a row. A function may close this recording, so the recording is looked up again after
// each call.
S2Status s2_lua_rows_add(lua_State *L, S2LuaWorld *lw, int64_t id) {
  int top = lua_gettop(L);
  double time = s2_world_time(lw->world), start = s2_lua_callback_clock(lw);
  // Collect the results of functions and the engine values on the stack.
  lua_getiuservalue(L, 1, S2_STORE_ROWS);
  lua_rawgeti(L, -1, id);
  int functions = top + 2;
  S2LuaRows *rows = s2_lua_rows_find(lw, id);
  for (int i = 0; rows != NULL && i < rows->width; i++) {
    luaL_checkstack(L, LUA_MINSTACK, "too many columns");
    if (rows->column[i].number == FUNCTION) {
      columns_push_result(L, functions, i + 1, time);
      rows = s2_lua_rows_find(lw, id);
    } else {
      lua_pushnumber(L, s2_column_read(lw->world, &rows->column[i]));
    }
  }
  // Write the row, unless a function has closed the recording.
  S2Status status = s2_ok();
  if (rows != NULL && rows->rows != NULL) {
    rows->values[0] = time;
    for (int i = 0; i < rows->width; i++) {
      rows->values[i + 1] = lua_tonumber(L, functions + 1 + i);
    }
    status = s2_rows_add(rows->rows, rows->values);
  }
  lua_settop(L, top);
  lw->session->open.seconds_lua += s2_lua_callback_clock(lw) - start;
  return status;
}
