// What sim.lcp, sim.qp, sim.lp, sim.mlcp, sim.contact and sim.kkt share: options in the table of
// the problem, the info returned, and what their derivatives read and give.
#ifndef S2_LUA_SOLVE_INFO_H
#define S2_LUA_SOLVE_INFO_H

#include "lua/base/keys.h"

#include "mcp/history.h"
#include "mcp/mcp.h"

#include <lauxlib.h>

typedef struct S2LuaSolve {
  double tolerance;   // 0: the default
  int max_iterations; // 0: the default
  double kappa;       // 0: a solution, not a point of the central path
  bool record;        // history was asked for
  S2History history;  // its memory stays on the stack
} S2LuaSolve;

extern const char *const s2_lua_solve_names[]; // keys of the options
void s2_lua_solve_read(const S2Keys *keys, S2LuaSolve *solve);
// The same and `solver` and `omega` of step problems (mcp.h), without the history.
S2SolverOptions s2_lua_step_options(const S2Keys *keys, S2LuaSolve *solve, int max_iterations);
const char *s2_lua_check_path(lua_State *L, int argument); // raises unless it is text
// Pushes a table with status, iterations, residual, time and, when asked for, kappa and history.
void s2_lua_solve_info(lua_State *L, const S2LuaSolve *solve, S2SolveStatus status, int iterations,
                       double residual, double time);
// table[key] = a list, for the table on top of the stack; nothing when `numbers` is NULL.
void s2_lua_set_numbers(lua_State *L, const char *key, const double *numbers, int count);
void s2_lua_set_number(lua_State *L, const char *key, double number);

// The same for a matrix.
void s2_lua_set_matrix(lua_State *L, const char *key, const double *numbers, int rows, int columns);
// Memory for numbers, left on the stack.
double *s2_lua_take_numbers(lua_State *L, size_t count);
double *s2_lua_take_like(lua_State *L, const double *data, size_t count); // NULL if data is

// The matrix or vector under a key of the problem, whose memory stays on the stack. Absent ones are
// NULL and leave the sizes alone; sizes < 0 are any and become what was read.
double *s2_lua_problem_matrix(const S2Keys *keys, const char *key, int *rows, int *columns);
double *s2_lua_problem_vector(const S2Keys *keys, const char *key, int *count);

// For derivatives: the keys of the loss, argument `argument`, and of the info that the solve
// returned, whatever else it holds. Both are tables, or it raises.
S2Keys s2_lua_loss_open(lua_State *L, int argument, const char *const *names);
S2Keys s2_lua_solved_open(lua_State *L, int argument);
// The numbers of the info under a key, which must be there when count > 0; those of a loss, or
// NULL.
double *s2_lua_solved_vector(const S2Keys *info, const char *key, int count);
double s2_lua_solved_kappa(const S2Keys *info);
double *s2_lua_loss_vector(const S2Keys *loss, const char *key, int count);

// A library table with `functions`, in which other names raise; pushed.
void s2_lua_push_library(lua_State *L, const char *name, const luaL_Reg *functions);

#endif
