// Sparse matrices as Lua tables: {rows = 4, columns = 4, i = {1, 2}, j = {1, 3}, v = {.5, -1}},
// where entry k is v[k] at row i[k] and column j[k]. Rows and columns count from 1. Entries at the
// same position are added.
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

// Returns the matrix under a key: a table of triplets as above, a list of rows, or, for a square
// matrix, a list of the diagonal. Raises an error if the value has another form or another size
// than `rows` x `columns`, where a number < 0 accepts any size. With `zeros`, a list of rows has an
// entry for each number, otherwise only for nonzero numbers.
S2LuaSparse s2_lua_problem_sparse(const S2Keys *keys, const char *key, int rows, int columns,
                                  bool zeros);

bool s2_lua_is_sparse(lua_State *L, int index); // True for a table of triplets.
// Reads an argument that is a table of triplets. Messages call it `name`.
S2LuaSparse s2_lua_argument_sparse(lua_State *L, int argument, const char *name);

void s2_lua_push_sparse(lua_State *L, const S2Csr *matrix); // Pushes triplets.
// Pushes a matrix in the form of `like`, which was read with `zeros`. `numbers` has one number per
// entry.
void s2_lua_push_like(lua_State *L, const S2LuaSparse *like, const double *numbers);

#endif
