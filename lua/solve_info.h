// What sim.qp, sim.lp, sim.mlcp and sim.kkt share: options in the table of the problem, the info
// returned.
#ifndef S2_LUA_SOLVE_INFO_H
#define S2_LUA_SOLVE_INFO_H

#include "keys.h"

#include "mcp/history.h"
#include "mcp/mcp.h"

#include <lauxlib.h>

typedef struct S2LuaSolve {
  double tolerance;   // 0: the default
  int max_iterations; // 0: the default
  bool record;        // history was asked for
  S2History history;  // its memory stays on the stack
} S2LuaSolve;

extern const char *const s2_lua_solve_names[]; // keys of the options
void s2_lua_solve_read(const S2Keys *keys, S2LuaSolve *solve);
// Pushes a table with status, iterations, residual, time and, when asked for, history.
void s2_lua_solve_info(lua_State *L, const S2LuaSolve *solve, S2SolveStatus status, int iterations,
                       double residual, double time);
// table[key] = a list, for the table on top of the stack.
void s2_lua_set_numbers(lua_State *L, const char *key, const double *numbers, int count);
void s2_lua_set_number(lua_State *L, const char *key, double number);

// The matrix or vector under a key of the problem, whose memory stays on the stack. Absent ones are
// NULL and leave the sizes alone; sizes < 0 are any and become what was read.
double *s2_lua_problem_matrix(const S2Keys *keys, const char *key, int *rows, int *columns);
double *s2_lua_problem_vector(const S2Keys *keys, const char *key, int *count);

// A library table with `functions`, in which other names raise; pushed.
void s2_lua_push_library(lua_State *L, const char *name, const luaL_Reg *functions);

#endif
