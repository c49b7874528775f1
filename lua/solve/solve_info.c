#include "lua/solve/solve_info.h"

#include "lua/base/errors.h"
#include "lua/solve/matrix.h"

#include <stdio.h>

enum { SOLVERS_MOST = 16 };   // maximum number of solvers of a library
enum { HISTORY_MAX = 10000 }; // maximum number of iterations kept (240 kB)

static const double STEP_TOLERANCE = 1e-9; // scaled residual, the default for worlds
static const double OMEGA_END = 2;         // from this value on, over-relaxation diverges

const char *const s2_lua_solve_names[] = {"tolerance", "max_iterations", "history", "kappa", NULL};

static const S2LuaField options[] = {
    {"tolerance", S2_LUA_NUMBER, offsetof(S2LuaSolve, tolerance), .domain = S2_POSITIVE},
    {"max_iterations", S2_LUA_INTEGER, offsetof(S2LuaSolve, max_iterations), .least = 1,
     .most = INT_MAX},
    {"history", S2_LUA_BOOLEAN, .at = offsetof(S2LuaSolve, record)},
    {"kappa", S2_LUA_NUMBER, offsetof(S2LuaSolve, kappa), .domain = S2_NON_NEGATIVE},
    {0}};

void s2_lua_solve_read(const S2Keys *keys, S2LuaSolve *solve) {
  *solve = (S2LuaSolve){0};
  s2_lua_fields_read(keys, options, solve);
  // The memory for the history is on the stack.
  if (solve->record) {
    solve->history.capacity = HISTORY_MAX;
    solve->history.at = lua_newuserdatauv(keys->L, sizeof(S2Iterate) * HISTORY_MAX, 0);
  }
}

void s2_lua_read_solver(const S2Keys *keys, const char *(*name)(int), int count, int *solver) {
  const char *names[SOLVERS_MOST + 1] = {NULL};
  for (int i = 0; i < count; i++) {
    names[i] = name(i);
  }
  s2_keys_choice(keys, "solver", names, solver);
}

void s2_lua_read_omega(const S2Keys *keys, double *omega) {
  if (s2_keys_number(keys, "omega", S2_POSITIVE, omega) && *omega >= OMEGA_END) {
    s2_keys_fail(keys, "omega", "number below 2 expected, got %g", *omega);
  }
}

static const char *step_solver_name(int solver) {
  return s2_solver_name(s2_solver_built_in(solver));
}

S2SolverOptions s2_lua_step_options(const S2Keys *keys, S2LuaSolve *solve, int max_iterations) {
  int solver = S2_SOLVER_AUTO;
  double omega = 0;
  s2_lua_solve_read(keys, solve);
  // Other solvers need a world.
  s2_lua_read_solver(keys, step_solver_name, S2_SOLVERS_BUILT_IN, &solver);
  s2_lua_read_omega(keys, &omega);
  return (S2SolverOptions){
      .solver = s2_solver_built_in(solver),
      .tolerance = solve->tolerance > 0 ? solve->tolerance : STEP_TOLERANCE,
      .max_iterations = solve->max_iterations > 0 ? solve->max_iterations : max_iterations,
      .omega = omega,
  };
}

const char *s2_lua_check_path(lua_State *L, int argument) {
  char text[S2_LUA_TEXT];
  if (lua_type(L, argument) != LUA_TSTRING) {
    s2_lua_bad_argument(L, argument, "path expected, got %s", s2_lua_describe(L, argument, text));
  }
  return lua_tostring(L, argument);
}

void s2_lua_set_number(lua_State *L, const char *key, double number) {
  lua_pushnumber(L, number);
  lua_setfield(L, -2, key);
}

void s2_lua_set_numbers(lua_State *L, const char *key, const double *numbers, int count) {
  if (numbers != NULL) {
    s2_lua_push_numbers(L, numbers, count);
    lua_setfield(L, -2, key);
  }
}

void s2_lua_set_matrix(lua_State *L, const char *key, const double *numbers, int rows,
                       int columns) {
  if (numbers != NULL) {
    s2_lua_push_matrix(L, numbers, rows, columns);
    lua_setfield(L, -2, key);
  }
}

double *s2_lua_take_numbers(lua_State *L, size_t count) {
  return lua_newuserdatauv(L, sizeof(double) * (count + 1), 0);
}

double *s2_lua_take_like(lua_State *L, const double *data, size_t count) {
  return data != NULL ? s2_lua_take_numbers(L, count) : NULL;
}

void s2_lua_push_history(lua_State *L, const S2History *history) {
  // Only the first iterations are kept.
  int kept = history->count < history->capacity ? history->count : history->capacity;
  lua_createtable(L, kept, 0);
  for (int i = 0; i < kept; i++) {
    lua_createtable(L, 0, 3);
    s2_lua_set_number(L, "residual", history->at[i].residual);
    s2_lua_set_number(L, "step", history->at[i].step);
    s2_lua_set_number(L, "mu", history->at[i].mu);
    lua_rawseti(L, -2, i + 1);
  }
}

static const S2LuaField answer_fields[] = {
    {"iterations", S2_LUA_INTEGER, .at = offsetof(S2LuaAnswer, iterations)},
    {"residual", S2_LUA_NUMBER, .at = offsetof(S2LuaAnswer, residual)},
    {"time", S2_LUA_NUMBER, .at = offsetof(S2LuaAnswer, time)},
    {"solver", S2_LUA_WORD, .at = offsetof(S2LuaAnswer, solver)},
    {0}};

static void push_info(lua_State *L, const S2LuaSolve *solve, const S2LuaAnswer *answer,
                      const S2LuaReturns *returns, const void *call) {
  // Some fields are written only if the problem is solved, or only if it is infeasible.
  unsigned state = answer->status == S2_SOLVED       ? S2_LUA_IF_SOLVED
                   : answer->status == S2_INFEASIBLE ? S2_LUA_IF_INFEASIBLE
                                                     : 0;
  lua_createtable(L, 0, 16);
  lua_pushstring(L, s2_solve_status_name(answer->status));
  lua_setfield(L, -2, "status");
  s2_lua_fields_write(L, answer_fields, answer, 0);
  if (solve->kappa > 0) {
    s2_lua_set_number(L, "kappa", solve->kappa);
  }
  if (solve->record) {
    s2_lua_push_history(L, &solve->history);
    lua_setfield(L, -2, "history");
  }
  if (returns->info != NULL) {
    s2_lua_fields_write(L, returns->info, call, state);
  }
  // A certificate is a table inside the info.
  if (returns->certificate != NULL && answer->status == S2_INFEASIBLE) {
    lua_createtable(L, 0, 4);
    s2_lua_fields_write(L, returns->certificate, call, state);
    lua_setfield(L, -2, "certificate");
  }
}

int s2_lua_solve_return(lua_State *L, const S2LuaSolve *solve, const S2LuaAnswer *answer,
                        const S2LuaReturns *returns, const void *call) {
  int count = 0;
  // Push the vectors of the solution, or nil and the status.
  if (answer->status == S2_SOLVED) {
    for (const S2LuaField *field = returns->results; field->key != NULL; field++, count++) {
      const char *from = call;
      s2_lua_push_numbers(L, *(const double *const *)(const void *)(from + field->at),
                          *(const int *)(const void *)(from + field->rows));
    }
  } else {
    lua_pushnil(L);
    lua_pushstring(L, s2_solve_status_name(answer->status));
    count = 2;
  }
  push_info(L, solve, answer, returns, call);
  return count + 1;
}

int s2_lua_file_failed(lua_State *L, S2Status status) {
  lua_pushnil(L);
  lua_pushstring(L, status.message);
  return 2;
}

int s2_lua_push_solvers(lua_State *L, const char *(*name)(int), const char *(*summary)(int),
                        int count) {
  lua_createtable(L, count, 0);
  for (int i = 0; i < count; i++) {
    lua_createtable(L, 0, 2);
    lua_pushstring(L, name(i));
    lua_setfield(L, -2, "name");
    lua_pushstring(L, summary(i));
    lua_setfield(L, -2, "summary");
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

double *s2_lua_problem_matrix(const S2Keys *keys, const char *key, int *rows, int *columns) {
  if (s2_keys_push(keys, key) == LUA_TNIL) {
    lua_pop(keys->L, 1);
    return NULL;
  }
  return s2_lua_check_matrix(keys->L, -1, key, *rows, *columns, rows, columns);
}

double *s2_lua_problem_vector(const S2Keys *keys, const char *key, int *count) {
  if (s2_keys_push(keys, key) == LUA_TNIL) {
    lua_pop(keys->L, 1);
    return NULL;
  }
  char what[S2_KEYS_SCOPE + S2_LUA_TEXT];
  snprintf(what, sizeof what, "%s%s", keys->scope, key);
  return s2_lua_check_vector(keys->L, -1, what, *count, count);
}

// ---- Derivatives ------------------------------------------------------------------------------

S2Keys s2_lua_loss_open(lua_State *L, int argument, const S2LuaField *fields) {
  const char *names[S2_LUA_FIELDS_MOST + 1];
  s2_lua_field_names(fields, names);
  S2Keys keys = s2_keys_open(L, argument, false, names, NULL, 0);
  snprintf(keys.scope, sizeof keys.scope, "dl.");
  return keys;
}

S2Keys s2_lua_solved_open(lua_State *L, int argument) {
  char text[S2_LUA_TEXT];
  if (lua_type(L, argument) != LUA_TTABLE) {
    s2_lua_bad_argument(L, argument, "the info returned by the solve function expected, got %s",
                        s2_lua_describe(L, argument, text));
  }
  // Other keys are allowed, because the info contains more than this function reads.
  return (S2Keys){.L = L, .table = argument, .argument = argument, .scope = "info."};
}

double *s2_lua_solved_vector(const S2Keys *info, const char *key, int count) {
  if (count > 0) {
    s2_keys_require(info, key);
  }
  double *numbers = s2_lua_problem_vector(info, key, &count);
  return numbers != NULL ? numbers : s2_lua_take_numbers(info->L, 0);
}

double s2_lua_solved_kappa(const S2Keys *info) {
  double kappa = 0;
  s2_keys_number(info, "kappa", S2_NON_NEGATIVE, &kappa);
  return kappa;
}

int s2_lua_set_regular(lua_State *L, bool regular) {
  lua_pushboolean(L, regular);
  lua_setfield(L, -2, "regular");
  return 1;
}

// ---- Libraries --------------------------------------------------------------------------------

// The upvalues are the table of functions and the name of the library.
static int no_field(lua_State *L) {
  return s2_lua_no_field(L, lua_tostring(L, lua_upvalueindex(2)), 2, lua_upvalueindex(1));
}

void s2_lua_push_library(lua_State *L, const char *name, const luaL_Reg *functions) {
  lua_newtable(L);
  s2_lua_functions(L, functions, 0);
  lua_createtable(L, 0, 1);
  lua_pushvalue(L, -2);
  lua_pushstring(L, name);
  lua_pushcclosure(L, no_field, 2);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
}
