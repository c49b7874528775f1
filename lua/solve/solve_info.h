// Common code of sim.lcp, sim.qp, sim.lp, sim.mlcp, sim.contact and sim.kkt. It handles the options
// in the table of the problem, the returned info, and the inputs and outputs of derivatives.
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
  double kappa;       // 0: the solution; > 0: a point on the central path
  bool record;        // option `history`
  S2History history;  // its memory is on the stack
} S2LuaSolve;

extern const char *const s2_lua_solve_names[]; // keys of the options
void s2_lua_solve_read(const S2Keys *keys, S2LuaSolve *solve);
// For step problems (mcp.h). Reads these options and also `solver` and `omega`. Does not set the
// history.
S2SolverOptions s2_lua_step_options(const S2Keys *keys, S2LuaSolve *solve, int max_iterations);
// s2_lua_read_solver reads `solver`, one of the names that `name` returns for 0 .. count - 1.
// s2_lua_read_omega reads `omega`, a number between 0 and 2.
void s2_lua_read_solver(const S2Keys *keys, const char *(*name)(int), int count, int *solver);
void s2_lua_read_omega(const S2Keys *keys, double *omega);
const char *s2_lua_check_path(lua_State *L, int argument); // Raises an error for non-strings.

// Results common to all solves.
typedef struct S2LuaAnswer {
  S2SolveStatus status;
  int iterations;
  double residual, time; // s
  const char *solver;    // solver that found the solution, or NULL
} S2LuaAnswer;

// Describes the return values of a solve. If solved, the first values are the vectors `results`,
// otherwise nil and the status. The info follows, with the answer, the fields of `info` and, if
// infeasible, a table `certificate`. `info` and `certificate` may be NULL. Values are read from
// `call`. s2_lua_solve_return returns the number of pushed values.
typedef struct S2LuaReturns {
  const S2LuaField *results, *info, *certificate;
} S2LuaReturns;
int s2_lua_solve_return(lua_State *L, const S2LuaSolve *solve, const S2LuaAnswer *answer,
                        const S2LuaReturns *returns, const void *call);
// Pushes a list of {residual, step, mu} of the kept iterations.
void s2_lua_push_history(lua_State *L, const S2History *history);
// Returns nil and the message, because invalid file contents are not a mistake in the script.
int s2_lua_file_failed(lua_State *L, S2Status status);
// Pushes a list of {name, summary}, which is the result of a library's function `solvers`.
int s2_lua_push_solvers(lua_State *L, const char *(*name)(int), const char *(*summary)(int),
                        int count);
// Sets table[key] to a list of the numbers, for the table on top of the stack. Has no effect if
// `numbers` is NULL.
void s2_lua_set_numbers(lua_State *L, const char *key, const double *numbers, int count);
void s2_lua_set_number(lua_State *L, const char *key, double number);

// Like s2_lua_set_numbers, for a matrix.
void s2_lua_set_matrix(lua_State *L, const char *key, const double *numbers, int rows, int columns);
// Allocates memory for numbers on the stack.
double *s2_lua_take_numbers(lua_State *L, size_t count);
double *s2_lua_take_like(lua_State *L, const double *data, size_t count); // NULL if `data` is NULL.

// These return the matrix or vector under a key of the problem, with memory on the stack. If the
// key is absent, they return NULL and leave the sizes unchanged. A size < 0 accepts any size and
// receives the actual size.
double *s2_lua_problem_matrix(const S2Keys *keys, const char *key, int *rows, int *columns);
double *s2_lua_problem_vector(const S2Keys *keys, const char *key, int *count);

// For derivatives. These open the keys of the loss and the keys of the info of a solve, which may
// contain other keys. They raise an error unless the arguments are tables.
S2Keys s2_lua_loss_open(lua_State *L, int argument, const S2LuaField *fields);
S2Keys s2_lua_solved_open(lua_State *L, int argument);
// Returns the numbers under a key of the info. The key is required if count > 0.
double *s2_lua_solved_vector(const S2Keys *info, const char *key, int count);
double s2_lua_solved_kappa(const S2Keys *info);
// Writes `regular` into the gradient on top of the stack and returns 1. `regular` is false if there
// is no derivative. The gradient is then only one of several possible values.
int s2_lua_set_regular(lua_State *L, bool regular);

// Pushes a library table with `functions`. Reading other names raises an error.
void s2_lua_push_library(lua_State *L, const char *name, const luaL_Reg *functions);

// problem.c: writes M, rhs, J and the other fields of a step problem except `bodies` into the table
// on top of the stack.
void s2_lua_set_problem(lua_State *L, const S2Problem *problem, S2Arena *arena);

#endif
