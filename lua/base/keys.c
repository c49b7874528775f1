#include "lua/base/keys.h"

#include "base/text.h"
#include "lua/base/errors.h"
#include "lua/base/remedies.h"

#include <lauxlib.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { KNOWN_SIZE = 64 }; // larger than the number of keys of any constructor

static int keys_gather(const char **known, const char *const *names, const char *const *more) {
  // Gather the function's own keys, then the shared keys.
  int count = 0;
  for (; *names != NULL && count < KNOWN_SIZE; names++) {
    known[count++] = *names;
  }
  for (; more != NULL && *more != NULL && count < KNOWN_SIZE; more++) {
    known[count++] = *more;
  }
  return count;
}

static bool keys_contain(const char **known, int count, const char *name) {
  for (int i = 0; i < count; i++) {
    if (strcmp(known[i], name) == 0) {
      return true;
    }
  }
  return false;
}

// Returns the key that a message gives as an example.
static const char *keys_example(const char *const *names) {
  return names[0] != NULL ? names[0] : "name";
}

static void keys_check_names(const S2Keys *keys, const char *const *names, const char *const *more,
                             int positional) {
  lua_State *L = keys->L;
  const char *known[KNOWN_SIZE];
  int count = keys_gather(known, names, more);
  // Name the first unknown key in alphabetical order, because the traversal order differs between
  // runs.
  const char *unknown = NULL;
  // Integer keys are positions of a list, up to the allowed number.
  for (lua_pushnil(L); lua_next(L, keys->table) != 0; lua_pop(L, 1)) {
    if (lua_type(L, -2) == LUA_TSTRING) {
      const char *name = lua_tostring(L, -2);
      if (!keys_contain(known, count, name) && (unknown == NULL || strcmp(name, unknown) < 0)) {
        unknown = name;
      }
    } else if (!lua_isinteger(L, -2) || lua_tointeger(L, -2) < 1 ||
               lua_tointeger(L, -2) > positional) {
      char text[S2_LUA_TEXT];
      s2_lua_bad_argument(L, keys->argument,
                          "unknown key %s[%s]; write each value with its name: %s = ...",
                          keys->scope, s2_lua_describe(L, -2, text), keys_example(names));
    }
  }
  // Suggest the sim2d name for another engine's word, or else the nearest known key. Otherwise list
  // all keys.
  if (unknown != NULL) {
    char remedy[S2_REMEDY_SIZE];
    if (s2_remedy_find(unknown, known, count, remedy)) {
      s2_lua_bad_argument(L, keys->argument, "unknown key '%s%.80s'; write %s", keys->scope,
                          unknown, remedy);
    }
    const char *nearest = s2_text_nearest(unknown, known, count);
    if (nearest != NULL) {
      s2_lua_bad_argument(L, keys->argument, "unknown key '%s%.80s'; did you mean '%s'?",
                          keys->scope, unknown, nearest);
    }
    luaL_Buffer list;
    luaL_buffinit(L, &list);
    for (int i = 0; i < count; i++) {
      luaL_addstring(&list, i == 0 ? "" : ", ");
      luaL_addstring(&list, known[i]);
    }
    luaL_pushresult(&list);
    s2_lua_bad_argument(L, keys->argument, "unknown key '%s%.80s'; known: %s", keys->scope, unknown,
                        lua_tostring(L, -1));
  }
}

// Replaces a table that has an `__index` metamethod by a plain copy of its known keys: the
// metamethod could return different values at the next read.
static void keys_settle(const S2Keys *keys, const char *const *names, const char *const *more,
                        int positional) {
  lua_State *L = keys->L;
  // Plain tables do not need a copy.
  if (luaL_getmetafield(L, keys->table, "__index") == LUA_TNIL) {
    return;
  }
  lua_pop(L, 1);
  // Read each known key once, in a fixed order.
  const char *known[KNOWN_SIZE];
  int count = keys_gather(known, names, more);
  lua_createtable(L, positional, count);
  for (int i = 0; i < count; i++) {
    lua_getfield(L, keys->table, known[i]);
    lua_setfield(L, -2, known[i]);
  }
  for (int i = 1; i <= positional; i++) {
    lua_rawgeti(L, keys->table, i);
    lua_rawseti(L, -2, i);
  }
  lua_replace(L, keys->table);
}

S2Keys s2_keys_open(lua_State *L, int argument, bool optional, const char *const *names,
                    const char *const *more, int positional) {
  S2Keys keys = {.L = L, .table = argument, .argument = argument};
  // A missing optional table becomes an empty one, so that readers do not need a special case.
  if (optional && lua_isnoneornil(L, argument)) {
    lua_newtable(L);
    keys.table = lua_gettop(L);
    return keys;
  }
  if (lua_type(L, argument) != LUA_TTABLE) {
    char text[S2_LUA_TEXT];
    s2_lua_bad_argument(L, argument, "table expected, got %s; write { %s = ... }",
                        s2_lua_describe(L, argument, text), keys_example(names));
  }
  // Check for unknown keys first. Otherwise they would pass unnoticed.
  keys_check_names(&keys, names, more, positional);
  keys_settle(&keys, names, more, positional);
  return keys;
}

S2Keys s2_keys_inner(const S2Keys *outer, const char *scope, const char *const *names,
                     const char *const *more) {
  S2Keys keys = {.L = outer->L, .table = lua_gettop(outer->L), .argument = outer->argument};
  snprintf(keys.scope, sizeof keys.scope, "%s", scope);
  keys_check_names(&keys, names, more, 0);
  keys_settle(&keys, names, more, 0);
  return keys;
}

// ---- Values -----------------------------------------------------------------------------------

int s2_keys_push(const S2Keys *keys, const char *key) {
  return lua_getfield(keys->L, keys->table, key);
}

bool s2_keys_has(const S2Keys *keys, const char *key) {
  bool has = s2_keys_push(keys, key) != LUA_TNIL;
  lua_pop(keys->L, 1);
  return has;
}

int s2_keys_fail(const S2Keys *keys, const char *key, const char *format, ...) {
  S2Complaint complaint;
  va_list args;
  va_start(args, format);
  vsnprintf(complaint.text, sizeof complaint.text, format, args);
  va_end(args);
  return s2_lua_bad_argument(keys->L, keys->argument, "key '%s%s': %s", keys->scope, key,
                             complaint.text);
}

void s2_keys_require(const S2Keys *keys, const char *key) {
  if (!s2_keys_has(keys, key)) {
    s2_lua_bad_argument(keys->L, keys->argument, "key '%s%s' is missing", keys->scope, key);
  }
}

// Pops the value that was read. Raises an error if it was invalid.
static bool keys_end(const S2Keys *keys, const char *key, bool good, const S2Complaint *complaint) {
  lua_pop(keys->L, 1);
  if (!good) {
    s2_keys_fail(keys, key, "%s", complaint->text);
  }
  return true;
}

static bool keys_begin(const S2Keys *keys, const char *key) {
  if (s2_keys_push(keys, key) == LUA_TNIL) {
    lua_pop(keys->L, 1);
    return false;
  }
  return true;
}

bool s2_keys_number(const S2Keys *keys, const char *key, S2Domain domain, double *value) {
  S2Complaint complaint;
  return keys_begin(keys, key) &&
         keys_end(keys, key, s2_value_number(keys->L, -1, domain, value, &complaint), &complaint);
}

bool s2_keys_integer(const S2Keys *keys, const char *key, int64_t lo, int64_t hi, int64_t *value) {
  S2Complaint complaint;
  return keys_begin(keys, key) &&
         keys_end(keys, key, s2_value_integer(keys->L, -1, lo, hi, value, &complaint), &complaint);
}

bool s2_keys_boolean(const S2Keys *keys, const char *key, bool *value) {
  S2Complaint complaint;
  return keys_begin(keys, key) &&
         keys_end(keys, key, s2_value_boolean(keys->L, -1, value, &complaint), &complaint);
}

bool s2_keys_choice(const S2Keys *keys, const char *key, const char *const *names, int *value) {
  S2Complaint complaint;
  return keys_begin(keys, key) &&
         keys_end(keys, key, s2_value_choice(keys->L, -1, names, value, &complaint), &complaint);
}

bool s2_keys_vec2(const S2Keys *keys, const char *key, S2Vec2 *value) {
  S2Complaint complaint;
  return keys_begin(keys, key) &&
         keys_end(keys, key, s2_value_vec2(keys->L, -1, value, &complaint), &complaint);
}

bool s2_keys_color(const S2Keys *keys, const char *key, uint32_t *value) {
  S2Complaint complaint;
  return keys_begin(keys, key) &&
         keys_end(keys, key, s2_value_color(keys->L, -1, value, &complaint), &complaint);
}

bool s2_keys_name(const S2Keys *keys, const char *key, const char **value) {
  S2Complaint complaint;
  return keys_begin(keys, key) &&
         keys_end(keys, key, s2_value_name(keys->L, -1, value, &complaint), &complaint);
}
