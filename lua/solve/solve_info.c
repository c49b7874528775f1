#include "lua/solve/solve_info.h"

#include "lua/base/errors.h"
#include "lua/solve/matrix.h"

#include <stdio.h>

enum { HISTORY_MAX = 10000 }; // iterations kept, 240 kB; nobody plots more

static const double STEP_TOLERANCE = 1e-9; // scaled, as a world's default
static const double OMEGA_END = 2;         // over-relaxation diverges from here on

const char *const s2_lua_solve_names[] = {"tolerance", "max_iterations", "history", "kappa", NULL};

void s2_lua_solve_read(const S2Keys *keys, S2LuaSolve *solve) {
  int64_t iterations = 0;
  *solve = (S2LuaSolve){0};
  s2_keys_number(keys, "tolerance", S2_POSITIVE, &solve->tolerance);
  s2_keys_integer(keys, "max_iterations", 1, INT32_MAX, &iterations);
  s2_keys_boolean(keys, "history", &solve->record);
  s2_keys_number(keys, "kappa", S2_NON_NEGATIVE, &solve->kappa);
  solve->max_iterations = (int)iterations;
  if (solve->record) {
    solve->history.capacity = HISTORY_MAX;
    solve->history.at = lua_newuserdatauv(keys->L, sizeof(S2Iterate) * HISTORY_MAX, 0);
  }
}

S2SolverOptions s2_lua_step_options(const S2Keys *keys, S2LuaSolve *solve, int max_iterations) {
  const char *solvers[S2_SOLVER_COUNT + 1] = {NULL};
  for (int i = 0; i < S2_SOLVER_COUNT; i++) {
    solvers[i] = s2_solver_name((S2Solver)i);
  }
  int solver = S2_SOLVER_AUTO;
  double omega = 0;
  s2_lua_solve_read(keys, solve);
  s2_keys_choice(keys, "solver", solvers, &solver);
  if (s2_keys_number(keys, "omega", S2_POSITIVE, &omega) && omega >= OMEGA_END) {
    s2_keys_fail(keys, "omega", "number below 2 expected, got %g", omega);
  }
  return (S2SolverOptions){
      .solver = (S2Solver)solver,
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

static void push_history(lua_State *L, const S2History *history) {
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

void s2_lua_solve_info(lua_State *L, const S2LuaSolve *solve, S2SolveStatus status, int iterations,
                       double residual, double time) {
  lua_createtable(L, 0, 16);
  lua_pushstring(L, s2_solve_status_name(status));
  lua_setfield(L, -2, "status");
  lua_pushinteger(L, iterations);
  lua_setfield(L, -2, "iterations");
  s2_lua_set_number(L, "residual", residual);
  s2_lua_set_number(L, "time", time);
  if (solve->kappa > 0) {
    s2_lua_set_number(L, "kappa", solve->kappa);
  }
  if (solve->record) {
    push_history(L, &solve->history);
    lua_setfield(L, -2, "history");
  }
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

S2Keys s2_lua_loss_open(lua_State *L, int argument, const char *const *names) {
  S2Keys keys = s2_keys_open(L, argument, false, names, NULL, 0);
  snprintf(keys.scope, sizeof keys.scope, "dl.");
  return keys;
}

S2Keys s2_lua_solved_open(lua_State *L, int argument) {
  char text[S2_LUA_TEXT];
  if (lua_type(L, argument) != LUA_TTABLE) {
    s2_lua_bad_argument(L, argument, "the info of the solve expected, got %s",
                        s2_lua_describe(L, argument, text));
  }
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

double *s2_lua_loss_vector(const S2Keys *loss, const char *key, int count) {
  return s2_lua_problem_vector(loss, key, &count);
}

// ---- Libraries --------------------------------------------------------------------------------

// Upvalues: the functions there are, the name of the library.
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
