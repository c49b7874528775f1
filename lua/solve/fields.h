// Tables that say what a function of sim.lcp, sim.qp ... reads from a table of the script and
// writes into one: a line a key, with its type and where in a struct its value is. Tables end with
// {0}.
#ifndef S2_LUA_FIELDS_H
#define S2_LUA_FIELDS_H

#include "lua/base/keys.h"

#include <limits.h>
#include <stddef.h>

typedef enum S2LuaKind {
  S2_LUA_NUMBER,  // double
  S2_LUA_INTEGER, // int
  S2_LUA_BOOLEAN, // bool
  S2_LUA_WORD,    // const char *; written only
  S2_LUA_VECTOR,  // const double *, `rows` numbers
  S2_LUA_MATRIX,  // const double *, row by row
  S2_LUA_SPARSE   // S2LuaSparse (sparse.h); read only
} S2LuaKind;

enum { // S2LuaField.flags
  S2_LUA_REQUIRED = 1,
  S2_LUA_NOT_EMPTY = 2,     // required unless it has no numbers
  S2_LUA_SIZES = 4,         // the vector says how long `rows` is: 0 where it is absent
  S2_LUA_IF_SOLVED = 8,     // written only then
  S2_LUA_IF_INFEASIBLE = 16 // likewise
};

enum { S2_LUA_FIELDS_MOST = 16 }; // lines of a table

typedef struct S2LuaField {
  const char *key;
  S2LuaKind kind;
  size_t at;            // offset of the value
  size_t rows, columns; // offsets of its sizes, which are int's of the same struct
  unsigned flags;
  S2Domain domain;     // of numbers that are read
  const char *partner; // a key that does not go without this one, nor this one without it
  size_t gradient;     // offset in the struct of its derivatives
  // Of numbers and integers that are read, beside `domain`:
  int least, most;
} S2LuaField;

// The keys of a table in its order, for s2_keys_open.
void s2_lua_field_names(const S2LuaField *fields, const char *names[S2_LUA_FIELDS_MOST + 1]);

// Reads all lines in their order into `to`. What is absent leaves numbers alone and makes vectors
// and matrices NULL; memory of the others stays on the stack.
void s2_lua_fields_read(const S2Keys *keys, const S2LuaField *fields, void *to);

// Writes the lines whose flags hold in the present `state` (0 or flags of the last kind) to the
// table on top of the stack; NULL vectors, matrices and words are left out.
void s2_lua_fields_write(lua_State *L, const S2LuaField *fields, const void *from, unsigned state);

// Memory for the derivatives of what was read to `read`, on the stack; and a new table of them.
void s2_lua_gradient_take(lua_State *L, const S2LuaField *fields, const void *read, void *gradient);
void s2_lua_gradient_push(lua_State *L, const S2LuaField *fields, const void *read,
                          const void *gradient);

#endif
