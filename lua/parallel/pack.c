#include "lua/parallel/pack.h"

#include "base/array.h"
#include "lua/diff/array.h"
#include "lua/world/binding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The first byte of each value. Journals store these numbers, so append new tags only at the end.
typedef enum Tag { NIL, NO, YES, INTEGER, FLOAT, TEXT, TABLE, LIST, MATRIX, VECTOR } Tag;

enum {
  DEEPEST = 64,    // nesting limit of tables; deeper ones may contain themselves
  PATH_SIZE = 120, // maximum length of the path in a message
  STACK = 4        // Lua stack slots per table
};

typedef struct Packer {
  lua_State *L;
  S2Bytes *bytes;
  S2Complaint *complaint;
  char path[PATH_SIZE];
} Packer;

// ---- Bytes ------------------------------------------------------------------------------------

void s2_bytes_room(S2Bytes *bytes, size_t more) {
  if (more > bytes->capacity - bytes->count) {
    size_t grown = 2 * (bytes->count + more); // doubling makes appending constant time on average
    bytes->at = s2_memory_grow(bytes->at, grown);
    bytes->capacity = grown;
  }
}

void s2_bytes_add(S2Bytes *bytes, const void *data, size_t size) {
  if (size > 0) {
    s2_bytes_room(bytes, size);
    memcpy(bytes->at + bytes->count, data, size);
    bytes->count += size;
  }
}

void s2_bytes_free(S2Bytes *bytes) {
  s2_memory_free(bytes->at);
  *bytes = (S2Bytes){0};
}

static void add_tag(S2Bytes *bytes, Tag tag) {
  unsigned char byte = (unsigned char)tag;
  s2_bytes_add(bytes, &byte, 1);
}

// Numbers have the byte order of the machine, because only machines of the same kind exchange
// messages.
static void add_word(S2Bytes *bytes, uint64_t word) {
  s2_bytes_add(bytes, &word, sizeof word);
}

// ---- Packing ----------------------------------------------------------------------------------

// A key of a table other than 1 .. n.
typedef struct PackKey {
  int type; // Lua type
  bool whole;
  lua_Integer integer;
  lua_Number number;
  const char *text; // the table keeps the string alive
  size_t size;
} PackKey;

typedef S2_ARRAY(PackKey) PackKeys;

// Sort numbers before texts, each in ascending order.
static int compare_keys(const void *left, const void *right) {
  const PackKey *a = left, *b = right;
  if (a->type != b->type) {
    return a->type < b->type ? -1 : 1;
  }
  if (a->type == LUA_TSTRING) {
    int order = memcmp(a->text, b->text, a->size < b->size ? a->size : b->size);
    return order != 0 ? order : (a->size > b->size) - (a->size < b->size);
  }
  if (a->type == LUA_TNUMBER && a->whole && b->whole) {
    return (a->integer > b->integer) - (a->integer < b->integer);
  }
  return (a->number > b->number) - (a->number < b->number);
}

static bool packer_complain(Packer *packer, const char *what) {
  return s2_complain(packer->complaint, "%s: %s", packer->path, what);
}

static bool pack_here(Packer *packer, int index, int level);

// Packs the value on top of the stack, whose key is `key`. During the call, the path contains the
// key.
static bool pack_below(Packer *packer, const PackKey *key, int level) {
  size_t length = strlen(packer->path);
  char *end = packer->path + length;
  if (key->type == LUA_TSTRING) {
    snprintf(end, PATH_SIZE - length, ".%s", key->text);
  } else if (key->whole) {
    snprintf(end, PATH_SIZE - length, "[%lld]", (long long)key->integer);
  } else {
    snprintf(end, PATH_SIZE - length, "[%.14g]", key->number);
  }
  bool good = pack_here(packer, lua_gettop(packer->L), level + 1);
  *end = '\0';
  return good;
}

static bool read_key(Packer *packer, int index, PackKey *key) {
  lua_State *L = packer->L;
  *key = (PackKey){.type = lua_type(L, index)};
  if (key->type == LUA_TSTRING) {
    key->text = lua_tolstring(L, index, &key->size);
  } else if (key->type == LUA_TNUMBER) {
    key->whole = lua_isinteger(L, index) != 0;
    key->integer = key->whole ? lua_tointeger(L, index) : 0;
    key->number = lua_tonumber(L, index);
  } else if (key->type == LUA_TBOOLEAN) {
    key->number = lua_toboolean(L, index);
  } else {
    char text[S2_COMPLAINT_SIZE];
    snprintf(text, sizeof text, "a table with a %s as a key cannot be sent",
             lua_typename(L, key->type));
    return packer_complain(packer, text);
  }
  return true;
}

static void push_key(lua_State *L, const PackKey *key) {
  if (key->type == LUA_TSTRING) {
    lua_pushlstring(L, key->text, key->size);
  } else if (key->type == LUA_TBOOLEAN) {
    lua_pushboolean(L, key->number > 0);
  } else if (key->whole) {
    lua_pushinteger(L, key->integer);
  } else {
    lua_pushnumber(L, key->number);
  }
}

// Reads the keys other than 1 .. n, and sorts them.
static bool read_keys(Packer *packer, int index, lua_Integer n, PackKeys *keys) {
  lua_State *L = packer->L;
  for (lua_pushnil(L); lua_next(L, index) != 0; lua_pop(L, 1)) {
    PackKey key;
    if (!read_key(packer, -2, &key)) {
      lua_pop(L, 2);
      return false;
    }
    if (!key.whole || key.integer < 1 || key.integer > n) {
      *s2_array_append(*keys) = key;
    }
  }
  if (keys->count > 1) {
    qsort(keys->at, (size_t)keys->count, sizeof *keys->at, compare_keys);
  }
  return true;
}

static bool pack_table(Packer *packer, int index, int level) {
  lua_State *L = packer->L;
  // Refuse tables that would arrive changed, and tables that contain themselves.
  if (lua_getmetatable(L, index)) {
    lua_pop(L, 1);
    return packer_complain(packer,
                           "a table with a metatable cannot be sent; send its plain values");
  }
  if (level > DEEPEST || !lua_checkstack(L, STACK)) {
    return packer_complain(packer, "tables are nested too deeply (does one contain itself?)");
  }
  // The list comes first, then the other keys.
  lua_Integer n = (lua_Integer)lua_rawlen(L, index);
  PackKeys keys = {0};
  bool good = read_keys(packer, index, n, &keys);
  add_tag(packer->bytes, TABLE);
  add_word(packer->bytes, (uint64_t)n);
  add_word(packer->bytes, (uint64_t)keys.count);
  for (lua_Integer i = 1; good && i <= n; i++) {
    PackKey key = {.type = LUA_TNUMBER, .whole = true, .integer = i};
    lua_rawgeti(L, index, i);
    good = pack_below(packer, &key, level);
    lua_pop(L, 1);
  }
  for (int i = 0; good && i < keys.count; i++) {
    push_key(L, &keys.at[i]);
    good = pack_here(packer, lua_gettop(L), level + 1);
    lua_rawget(L, index);
    good = good && pack_below(packer, &keys.at[i], level);
    lua_pop(L, 1);
  }
  s2_array_free(keys);
  return good;
}

static bool pack_array(Packer *packer, const S2LuaArray *array) {
  if (array->var != 0) {
    return packer_complain(packer, "a tracked array cannot be sent; use sim.stop_gradient(x)");
  }
  add_tag(packer->bytes, array->shape.axes == 2 ? MATRIX : LIST);
  add_word(packer->bytes, (uint64_t)array->shape.rows);
  add_word(packer->bytes, (uint64_t)array->shape.columns);
  size_t count = (size_t)array->shape.rows * (size_t)array->shape.columns;
  s2_bytes_add(packer->bytes, array->data, count * sizeof *array->data);
  return true;
}

static bool pack_other(Packer *packer, int index) {
  lua_State *L = packer->L;
  const S2LuaArray *array = s2_lua_test(L, index, s2_type_array);
  if (array != NULL) {
    return pack_array(packer, array);
  }
  S2VectorKind kind;
  int size = 0;
  const double *values = s2_lua_vector_values(L, index, &kind, &size);
  if (values != NULL) {
    add_tag(packer->bytes, VECTOR);
    add_word(packer->bytes, (uint64_t)kind);
    s2_bytes_add(packer->bytes, values, (size_t)size * sizeof *values);
    return true;
  }
  char text[S2_COMPLAINT_SIZE], value[S2_LUA_TEXT];
  snprintf(text, sizeof text,
           "a %s cannot be sent; only nil, booleans, numbers, texts, arrays and tables of these "
           "can be sent",
           s2_lua_describe(L, index, value));
  return packer_complain(packer, text);
}

static bool pack_here(Packer *packer, int index, int level) {
  lua_State *L = packer->L;
  S2Bytes *bytes = packer->bytes;
  lua_Number number;
  size_t size;
  const char *text;
  // Write a tag for the kind of value, then the value.
  switch (lua_type(L, index)) {
  case LUA_TNIL:
    add_tag(bytes, NIL);
    return true;
  case LUA_TBOOLEAN:
    add_tag(bytes, lua_toboolean(L, index) ? YES : NO);
    return true;
  case LUA_TNUMBER:
    if (lua_isinteger(L, index)) {
      add_tag(bytes, INTEGER);
      add_word(bytes, (uint64_t)lua_tointeger(L, index));
    } else {
      number = lua_tonumber(L, index);
      add_tag(bytes, FLOAT);
      s2_bytes_add(bytes, &number, sizeof number);
    }
    return true;
  case LUA_TSTRING:
    text = lua_tolstring(L, index, &size);
    add_tag(bytes, TEXT);
    add_word(bytes, size);
    s2_bytes_add(bytes, text, size);
    return true;
  case LUA_TTABLE:
    return pack_table(packer, index, level);
  default:
    return pack_other(packer, index);
  }
}

bool s2_pack_value(lua_State *L, int index, const char *what, S2Bytes *bytes,
                   S2Complaint *complaint) {
  Packer packer = {.L = L, .bytes = bytes, .complaint = complaint};
  snprintf(packer.path, sizeof packer.path, "%s", what);
  int top = lua_gettop(L);
  luaL_checkstack(L, STACK, NULL);
  bool good = pack_here(&packer, lua_absindex(L, index), 0);
  lua_settop(L, top);
  return good;
}

// ---- Unpacking --------------------------------------------------------------------------------

typedef struct Unpacker {
  lua_State *L;
  const unsigned char *at, *end;
} Unpacker;

static bool unpack_bytes(Unpacker *unpacker, void *data, size_t size) {
  if (size > (size_t)(unpacker->end - unpacker->at)) {
    return false;
  }
  memcpy(data, unpacker->at, size);
  unpacker->at += size;
  return true;
}

static bool unpack_word(Unpacker *unpacker, uint64_t *word) {
  return unpack_bytes(unpacker, word, sizeof *word);
}

// Reads a count and checks it against the remaining bytes.
static bool unpack_count(Unpacker *unpacker, size_t item, uint64_t *count) {
  return unpack_word(unpacker, count) && *count <= (uint64_t)(unpacker->end - unpacker->at) / item;
}

static bool unpack_here(Unpacker *unpacker, int level);

static bool unpack_table(Unpacker *unpacker, int level) {
  lua_State *L = unpacker->L;
  uint64_t listed, keyed;
  if (level > DEEPEST || !lua_checkstack(L, STACK) || !unpack_count(unpacker, 1, &listed) ||
      !unpack_count(unpacker, 2, &keyed) || listed > INT32_MAX || keyed > INT32_MAX) {
    return false;
  }
  lua_createtable(L, (int)listed, (int)keyed);
  for (uint64_t i = 1; i <= listed; i++) {
    if (!unpack_here(unpacker, level + 1)) {
      return false;
    }
    lua_rawseti(L, -2, (lua_Integer)i);
  }
  // nil and nan cannot be keys.
  for (uint64_t i = 0; i < keyed; i++) {
    if (!unpack_here(unpacker, level + 1) || lua_isnil(L, -1) || !lua_rawequal(L, -1, -1) ||
        !unpack_here(unpacker, level + 1)) {
      return false;
    }
    lua_rawset(L, -3);
  }
  return true;
}

static bool unpack_array(Unpacker *unpacker, int axes) {
  uint64_t rows, columns;
  if (!unpack_word(unpacker, &rows) || !unpack_word(unpacker, &columns) || rows > INT32_MAX ||
      columns > INT32_MAX ||
      rows * columns > (uint64_t)(unpacker->end - unpacker->at) / sizeof(double)) {
    return false;
  }
  S2Size shape = {.axes = axes, .rows = (int)rows, .columns = (int)columns};
  S2LuaArray *array = s2_lua_array_push(unpacker->L, shape);
  return unpack_bytes(unpacker, array->data, (size_t)(rows * columns) * sizeof *array->data);
}

static bool unpack_vector(Unpacker *unpacker) {
  uint64_t kind;
  double values[3] = {0};
  if (!unpack_word(unpacker, &kind) || kind >= S2_VECTOR_KIND_COUNT ||
      !unpack_bytes(unpacker, values, sizeof *values * (kind == S2_VECTOR_XY ? 2 : 3))) {
    return false;
  }
  s2_lua_push_vector(unpacker->L, (S2VectorKind)kind, values, NULL);
  return true;
}

static bool unpack_here(Unpacker *unpacker, int level) {
  lua_State *L = unpacker->L;
  unsigned char tag;
  uint64_t word;
  lua_Number number;
  // The tag determines the bytes that follow.
  if (!unpack_bytes(unpacker, &tag, 1)) {
    return false;
  }
  switch ((Tag)tag) {
  case NIL:
    lua_pushnil(L);
    return true;
  case NO:
  case YES:
    lua_pushboolean(L, tag == YES);
    return true;
  case INTEGER:
    if (!unpack_word(unpacker, &word)) {
      return false;
    }
    lua_pushinteger(L, (lua_Integer)word);
    return true;
  case FLOAT:
    if (!unpack_bytes(unpacker, &number, sizeof number)) {
      return false;
    }
    lua_pushnumber(L, number);
    return true;
  case TEXT:
    if (!unpack_count(unpacker, 1, &word)) {
      return false;
    }
    lua_pushlstring(L, (const char *)unpacker->at, (size_t)word);
    unpacker->at += word;
    return true;
  case TABLE:
    return unpack_table(unpacker, level);
  case LIST:
    return unpack_array(unpacker, 1);
  case MATRIX:
    return unpack_array(unpacker, 2);
  case VECTOR:
    return unpack_vector(unpacker);
  default:
    return false;
  }
}

bool s2_unpack_value(lua_State *L, const unsigned char *data, size_t size) {
  Unpacker unpacker = {.L = L, .at = data, .end = data + size};
  int top = lua_gettop(L);
  luaL_checkstack(L, STACK, NULL);
  bool good = unpack_here(&unpacker, 0) && unpacker.at == unpacker.end;
  lua_settop(L, good ? top + 1 : top);
  return good;
}
