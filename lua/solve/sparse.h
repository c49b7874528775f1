// Sparse matrices as Lua tables: {rows = 4, columns = 4, i = {1, 2}, j = {1, 3}, v = {.5, -1}},
// where entry k is v[k] at row i[k], column j[k] (counted from 1; entries at the same place add
// up).
#ifndef S2_LUA_SPARSE_H
#define S2_LUA_SPARSE_H

#include "lua/base/keys.h"

#include "linalg/csr.h"

typedef enum S2LuaShape { S2_LUA_ROWS, S2_LUA_DIAGONAL, S2_LUA_TRIPLETS } S2LuaShape;

typedef struct S2LuaSparse {
  int rows, columns, count;
  const S2Triplet *triplet; // in a userdata on the stack
  S2LuaShape shape;         // form in which it was given
} S2LuaSparse;

// The matrix under a key: a table of triplets as above, a list of rows, or (square ones) a list of
// the diagonal. Raises with the key and the index if it is none of these or does not have the
// wanted size
// (< 0: any). With `zeros` a list of rows has an entry for each number, otherwise only for nonzero
// ones.
S2LuaSparse s2_lua_problem_sparse(const S2Keys *keys, const char *key, int rows, int columns,
                                  bool zeros);

bool s2_lua_is_sparse(lua_State *L, int index); // it has the keys of a table of triplets
// An argument that is a table of triplets, called `name` in messages.
S2LuaSparse s2_lua_argument_sparse(lua_State *L, int argument, const char *name);

void s2_lua_push_sparse(lua_State *L, const S2Csr *matrix); // as triplets
// Pushes a matrix in the form of another, which was read with `zeros`; `numbers` has one per entry.
void s2_lua_push_like(lua_State *L, const S2LuaSparse *like, const double *numbers);

#endif
