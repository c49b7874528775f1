// Tables that describe how functions such as sim.lcp and sim.qp read Lua tables and write results:
// one line per key, with its type and its place in a struct. Tables end with {0}.
#ifndef S2_LUA_FIELDS_H
#define S2_LUA_FIELDS_H

#include "lua/base/keys.h"

#include <limits.h>
#include <stddef.h>

typedef enum S2LuaKind {
  S2_LUA_NUMBER,  // double
  S2_LUA_INTEGER, // int
  S2_LUA_BOOLEAN, // bool
  S2_LUA_WORD,    // const char *; only written
  S2_LUA_VECTOR,  // const double *, `rows` numbers
  S2_LUA_MATRIX,  // const double *, row by row
  S2_LUA_SPARSE   // S2LuaSparse (sparse.h); only read
} S2LuaKind;

enum { // S2LuaField.flags
  S2_LUA_REQUIRED = 1,
  S2_LUA_NOT_EMPTY = 2,     // required unless it has no entries
  S2_LUA_SIZES = 4,         // the length of the vector sets `rows`; 0 if absent
  S2_LUA_IF_SOLVED = 8,     // written only if solved
  S2_LUA_IF_INFEASIBLE = 16 // written only if infeasible
};

enum { S2_LUA_FIELDS_MOST = 16 }; // most lines of a table

typedef struct S2LuaField {
  const char *key;
  S2LuaKind kind;
  size_t at;            // offset of the value
  size_t rows, columns; // offsets of its sizes, ints of the same struct
  unsigned flags;
  S2Domain domain;     // allowed numbers
  const char *partner; // a key that must be given together with this one
  size_t gradient;     // offset in the struct of derivatives
  // Limits of integers, in addition to `domain`:
  int least, most;
} S2LuaField;

// The keys of a table in the order of its lines, for s2_keys_open.
void s2_lua_field_names(const S2LuaField *fields, const char *names[S2_LUA_FIELDS_MOST + 1]);

// Reads all lines in order into `to`. Absent numbers keep their values; absent vectors and matrices
// become NULL. The memory of the others is on the stack.
void s2_lua_fields_read(const S2Keys *keys, const S2LuaField *fields, void *to);

// Writes to the table on top of the stack the lines without a condition and those whose condition
// holds in `state` (0 or one of the last two flags). NULL vectors, matrices and words are left out.
void s2_lua_fields_write(lua_State *L, const S2LuaField *fields, const void *from, unsigned state);

// s2_lua_gradient_take allocates memory on the stack for the derivatives of the fields in `read`;
// s2_lua_gradient_push pushes a new table of them.
void s2_lua_gradient_take(lua_State *L, const S2LuaField *fields, const void *read, void *gradient);
void s2_lua_gradient_push(lua_State *L, const S2LuaField *fields, const void *read,
                          const void *gradient);

#endif
