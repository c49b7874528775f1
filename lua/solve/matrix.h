// Vectors and matrices as plain Lua tables, {1, 2, 3} and {{1, 2}, {3, 4}} (rows), or arrays.
#ifndef S2_LUA_MATRIX_H
#define S2_LUA_MATRIX_H

#include <lua.h>

// These read numbers in row-major order into a userdata on the stack, so that an error leaks no
// memory. They raise an error with `what` and the index if an element is not a number, if a row has
// another length, or if the size is not the wanted size. A wanted size < 0 accepts any size, and an
// empty table is 0 x 0. NaN and infinities are passed on to the solver, which reports them.
double *s2_lua_check_vector(lua_State *L, int index, const char *what, int wanted, int *count);
double *s2_lua_check_matrix(lua_State *L, int index, const char *what, int wanted_rows,
                            int wanted_columns, int *rows, int *columns);

void s2_lua_push_numbers(lua_State *L, const double *numbers, int count); // a vector
void s2_lua_push_matrix(lua_State *L, const double *numbers, int rows, int columns);

#endif
