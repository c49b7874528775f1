// What sim.lcp, sim.qp, sim.lp, sim.mlcp, sim.contact and sim.kkt share: options in the table of
// the problem, the info returned, and what their derivatives read and give.
#ifndef S2_LUA_SOLVE_INFO_H
#define S2_LUA_SOLVE_INFO_H

#include "lua/base/keys.h"
#include "lua/solve/fields.h"

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
// `solver`, of names that `name` gives for 0 .. count - 1, and `omega`, in ]0, 2[.
void s2_lua_read_solver(const S2Keys *keys, const char *(*name)(int), int count, int *solver);
void s2_lua_read_omega(const S2Keys *keys, double *omega);
const char *s2_lua_check_path(lua_State *L, int argument); // raises unless it is text

// What every solve has to tell.
typedef struct S2LuaAnswer {
  S2SolveStatus status;
  int iterations;
  double residual, time; // s
  const char *solver;    // whose answer it is; or NULL
} S2LuaAnswer;

// What one of them returns: `results` (vectors) where it is solved, else nil and the status, and
// then the info: of the answer, of `info`, and where it was proved infeasible a table `certificate`
// (each may be NULL). Values are found in `call`. Returns how many were pushed.
typedef struct S2LuaReturns {
  const S2LuaField *results, *info, *certificate;
} S2LuaReturns;
int s2_lua_solve_return(lua_State *L, const S2LuaSolve *solve, const S2LuaAnswer *answer,
                        const S2LuaReturns *returns, const void *call);
// A list of {residual, step, mu}, of the iterations that were kept.
void s2_lua_push_history(lua_State *L, const S2History *history);
// nil and the message: what a file holds is not the script's fault.
int s2_lua_file_failed(lua_State *L, S2Status status);
// A list of {name, summary}: what `solvers` of a library returns.
int s2_lua_push_solvers(lua_State *L, const char *(*name)(int), const char *(*summary)(int),
                        int count);
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
S2Keys s2_lua_loss_open(lua_State *L, int argument, const S2LuaField *fields);
S2Keys s2_lua_solved_open(lua_State *L, int argument);
// The numbers of the info under a key, which must be there when count > 0.
double *s2_lua_solved_vector(const S2Keys *info, const char *key, int count);
double s2_lua_solved_kappa(const S2Keys *info);
// Says in the gradient on top of the stack whether it is one; 1, for return.
int s2_lua_set_regular(lua_State *L, bool regular);

// A library table with `functions`, in which other names raise; pushed.
void s2_lua_push_library(lua_State *L, const char *name, const luaL_Reg *functions);

// problem.c: M, rhs, J and the other fields of a step problem, all but `bodies`, into the table on
// the top of the stack.
void s2_lua_set_problem(lua_State *L, const S2Problem *problem, S2Arena *arena);

#endif
