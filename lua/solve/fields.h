// Tables that describe how functions such as sim.lcp and sim.qp read Lua tables and write results.
// A table has one entry per key, with its type and its offset in a struct, and ends with {0}.
#ifndef S2_LUA_FIELDS_H
#define S2_LUA_FIELDS_H

#include "lua/base/keys.h"

#include <limits.h>
#include <stddef.h>

typedef enum S2LuaKind {
  S2_LUA_NUMBER,  // double
  S2_LUA_INTEGER, // int
  S2_LUA_BOOLEAN, // bool
  S2_LUA_WORD,    // const char *; can only be written
  S2_LUA_VECTOR,  // const double *, `rows` numbers
  S2_LUA_MATRIX,  // const double *, row by row
  S2_LUA_SPARSE   // S2LuaSparse (sparse.h); can only be read
} S2LuaKind;

enum { // S2LuaField.flags
  S2_LUA_REQUIRED = 1,
  S2_LUA_NOT_EMPTY = 2,     // required unless it is empty
  S2_LUA_SIZES = 4,         // the vector's length sets `rows`; 0 if absent
  S2_LUA_IF_SOLVED = 8,     // written only if solved
  S2_LUA_IF_INFEASIBLE = 16 // written only if infeasible
};

enum { S2_LUA_FIELDS_MOST = 16 }; // maximum number of entries of a table

typedef struct S2LuaField {
  const char *key;
  S2LuaKind kind;
  size_t at;            // offset of the value
  size_t rows, columns; // offsets of the sizes, which are ints in the same struct
  unsigned flags;
  S2Domain domain;     // allowed numbers
  const char *partner; // a key that must be given together with this one
  size_t gradient;     // Offset in the struct of derivatives.
  // Limits of integers, in addition to `domain`.
  int least, most;
} S2LuaField;

// Lists the keys of a table in the order of its entries, for s2_keys_open.
void s2_lua_field_names(const S2LuaField *fields, const char *names[S2_LUA_FIELDS_MOST + 1]);

// Reads all entries in order into `to`. Absent numbers keep their values. Absent vectors and
// matrices become NULL, and the memory of the others is on the stack.
void s2_lua_fields_read(const S2Keys *keys, const S2LuaField *fields, void *to);

// Writes entries to the table on top of the stack: those without a condition, and those whose
// condition is `state`. `state` is 0, S2_LUA_IF_SOLVED or S2_LUA_IF_INFEASIBLE. Vectors, matrices
// and words that are NULL are omitted.
void s2_lua_fields_write(lua_State *L, const S2LuaField *fields, const void *from, unsigned state);

// s2_lua_gradient_take allocates memory on the stack for the derivatives with respect to the fields
// in `read`. s2_lua_gradient_push pushes a new table of these derivatives.
void s2_lua_gradient_take(lua_State *L, const S2LuaField *fields, const void *read, void *gradient);
void s2_lua_gradient_push(lua_State *L, const S2LuaField *fields, const void *read,
                          const void *gradient);

#endif
