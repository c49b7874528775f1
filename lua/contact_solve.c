// sim.contact: frictional contact problems given as matrices.
#include "binding.h"
#include "matrix.h"
#include "solve_info.h"
#include "sparse.h"

#include "mcp/contact.h"

static const double TOLERANCE = 1e-9; // scaled, as a world's default
static const double OMEGA_END = 2;    // over-relaxation diverges from here on
enum { MAX_ITERATIONS = 50 };         // of the interior point; the others scale from it

typedef struct Call {
  bool global;
  int contacts, freedoms;
  S2LuaSparse matrix[2]; // W, or M and H
  const double *q, *b, *mu;
  S2LuaSolve solve;
  S2SolverOptions options;
  S2ContactSolution solution;
  double time; // s
} Call;

// ---- Reading ----------------------------------------------------------------------------------

// A list with one number a contact, or one number for all.
static const double *read_mu(const S2Keys *keys, int contacts) {
  lua_State *L = keys->L;
  s2_keys_require(keys, "mu");
  double *mu;
  if (s2_keys_push(keys, "mu") == LUA_TNUMBER) {
    double value = lua_tonumber(L, -1);
    mu = lua_newuserdatauv(L, sizeof(double) * ((size_t)contacts + 1), 0);
    for (int i = 0; i < contacts; i++) {
      mu[i] = value;
    }
  } else {
    int count;
    mu = s2_lua_check_vector(L, -1, "mu", contacts, &count);
  }
  for (int i = 0; i < contacts; i++) {
    if (mu[i] < 0) {
      s2_keys_fail(keys, "mu", "number of at least 0 expected, got %g", mu[i]);
    }
  }
  return mu;
}

static void read_problem(const S2Keys *keys, Call *call) {
  call->global = s2_keys_has(keys, "M") || s2_keys_has(keys, "H");
  int rows = -1;
  if (call->global && s2_keys_has(keys, "W")) {
    s2_keys_fail(keys, "W", "either W or M and H expected");
  }
  const char *velocity = call->global ? "bias" : "q"; // what has two numbers a contact
  s2_keys_require(keys, "q");
  s2_keys_require(keys, velocity);
  const double *free_velocity = s2_lua_problem_vector(keys, velocity, &rows);
  if (rows % 2 != 0) {
    s2_keys_fail(keys, velocity, "two numbers a contact expected, got %d", rows);
  }
  call->contacts = rows / 2;
  if (call->global) {
    int freedoms = -1;
    call->b = free_velocity;
    call->q = s2_lua_problem_vector(keys, "q", &freedoms);
    call->freedoms = freedoms;
    call->matrix[0] = s2_lua_problem_sparse(keys, "M", freedoms, freedoms);
    call->matrix[1] = s2_lua_problem_sparse(keys, "H", freedoms, rows);
  } else {
    if (s2_keys_has(keys, "bias")) {
      s2_keys_fail(keys, "bias", "belongs to the form with M and H; q holds it here");
    }
    call->q = free_velocity;
    call->matrix[0] = s2_lua_problem_sparse(keys, "W", rows, rows);
  }
  call->mu = read_mu(keys, call->contacts);
}

static void read_options(const S2Keys *keys, Call *call) {
  const char *solvers[S2_SOLVER_COUNT + 1] = {NULL};
  for (int i = 0; i < S2_SOLVER_COUNT; i++) {
    solvers[i] = s2_solver_name((S2Solver)i);
  }
  int solver = S2_SOLVER_AUTO;
  double omega = 0;
  s2_lua_solve_read(keys, &call->solve);
  s2_keys_choice(keys, "solver", solvers, &solver);
  if (s2_keys_number(keys, "omega", S2_POSITIVE, &omega) && omega >= OMEGA_END) {
    s2_keys_fail(keys, "omega", "number below 2 expected, got %g", omega);
  }
  call->options = (S2SolverOptions){
      .solver = (S2Solver)solver,
      .tolerance = call->solve.tolerance > 0 ? call->solve.tolerance : TOLERANCE,
      .max_iterations =
          call->solve.max_iterations > 0 ? call->solve.max_iterations : MAX_ITERATIONS,
      .omega = omega,
  };
}

// Numbers of the solution, on the stack; r starts from r0 where given.
static void take_solution(const S2Keys *keys, Call *call) {
  lua_State *L = keys->L;
  size_t rows = 2 * (size_t)call->contacts, size = 2 * rows + (size_t)call->freedoms;
  double *memory = lua_newuserdatauv(L, sizeof(double) * (size + 1), 0);
  for (size_t i = 0; i < size; i++) {
    memory[i] = 0;
  }
  call->solution = (S2ContactSolution){.r = memory, .u = memory + rows, .v = memory + 2 * rows};
  int count = (int)rows;
  const double *guess = s2_lua_problem_vector(keys, "r0", &count);
  for (size_t i = 0; i < rows && guess != NULL; i++) {
    memory[i] = guess[i];
  }
}

// ---- Solving ----------------------------------------------------------------------------------

static S2Csr matrix_of(const S2LuaSparse *sparse, S2Arena *arena) {
  return s2_csr_from_triplets(sparse->rows, sparse->columns, sparse->count, sparse->triplet, arena);
}

// No call into Lua between the arena's beginning and its end: an error would leak it.
static void solve(Call *call) {
  call->options.history = call->solve.record ? &call->solve.history : NULL;
  S2Arena arena;
  s2_arena_init(&arena);
  S2Csr first = matrix_of(&call->matrix[0], &arena);
  double start = s2_lua_clock();
  if (call->global) {
    S2Csr h = matrix_of(&call->matrix[1], &arena);
    S2GlobalContactProblem problem = {call->freedoms, call->contacts, &first,  &h,
                                      call->q,        call->b,        call->mu};
    s2_contact_solve_global(&problem, &call->options, &arena, &call->solution);
  } else {
    S2ContactProblem problem = {call->contacts, &first, call->q, call->mu};
    s2_contact_solve(&problem, &call->options, &arena, &call->solution);
  }
  call->time = s2_lua_clock() - start;
  s2_arena_free(&arena);
}

static void push_info(lua_State *L, const Call *call) {
  const S2ContactSolution *solution = &call->solution;
  s2_lua_solve_info(L, &call->solve, solution->status, solution->iterations,
                    solution->residual.scaled, call->time);
  lua_pushstring(L, s2_solver_name(solution->used));
  lua_setfield(L, -2, "solver");
  s2_lua_set_number(L, "complementarity", solution->residual.complementarity);
  s2_lua_set_number(L, "cone", solution->residual.cone);
  if (call->global && solution->status == S2_SOLVED) {
    s2_lua_set_numbers(L, "v", solution->v, call->freedoms);
  }
}

static int contact_solve(lua_State *L) {
  static const char *const names[] = {"W",  "M",      "H",     "q",  "bias",
                                      "mu", "solver", "omega", "r0", NULL};
  Call call = {0};
  lua_settop(L, 1);
  S2Keys keys = s2_keys_open(L, 1, false, names, s2_lua_solve_names, 0);
  read_problem(&keys, &call);
  read_options(&keys, &call);
  take_solution(&keys, &call);
  solve(&call);
  if (call.solution.status == S2_SOLVED) {
    s2_lua_push_numbers(L, call.solution.r, 2 * call.contacts);
    s2_lua_push_numbers(L, call.solution.u, 2 * call.contacts);
  } else {
    lua_pushnil(L);
    lua_pushstring(L, s2_solve_status_name(call.solution.status));
  }
  push_info(L, &call);
  return 3;
}

// ---- Files ------------------------------------------------------------------------------------

static const char *check_path(lua_State *L, int argument) {
  char text[S2_LUA_TEXT];
  if (lua_type(L, argument) != LUA_TSTRING) {
    s2_lua_bad_argument(L, argument, "path expected, got %s", s2_lua_describe(L, argument, text));
  }
  return lua_tostring(L, argument);
}

// Argument: the file.
static int push_problem(lua_State *L) {
  const S2ContactFile *file = lua_touserdata(L, 1);
  lua_createtable(L, 0, 5);
  if (file->global) {
    const S2GlobalContactProblem *problem = &file->global_form;
    s2_lua_push_sparse(L, problem->m);
    lua_setfield(L, -2, "M");
    s2_lua_push_sparse(L, problem->h);
    lua_setfield(L, -2, "H");
    s2_lua_set_numbers(L, "q", problem->q, problem->freedoms);
    s2_lua_set_numbers(L, "bias", problem->b, 2 * problem->contacts);
    s2_lua_set_numbers(L, "mu", problem->mu, problem->contacts);
  } else {
    const S2ContactProblem *problem = &file->local_form;
    s2_lua_push_sparse(L, problem->w);
    lua_setfield(L, -2, "W");
    s2_lua_set_numbers(L, "q", problem->q, 2 * problem->contacts);
    s2_lua_set_numbers(L, "mu", problem->mu, problem->contacts);
  }
  return 1;
}

static int contact_read(lua_State *L) {
  S2ContactFile *file;
  S2Status status = s2_contact_read(check_path(L, 1), &file);
  if (status.code != S2_OK) { // what a file holds is not the script's fault
    lua_pushnil(L);
    lua_pushstring(L, status.message);
    return 2;
  }
  lua_settop(L, 0);
  lua_pushcfunction(L, push_problem);
  lua_pushlightuserdata(L, file);
  int failed = lua_pcall(L, 1, 1, 0);
  s2_contact_free(file);
  return failed != LUA_OK ? lua_error(L) : 1;
}

static S2Status write_file(const Call *call, const char *path) {
  S2Arena arena;
  s2_arena_init(&arena);
  S2Csr first = matrix_of(&call->matrix[0], &arena);
  S2Status status;
  if (call->global) {
    S2Csr h = matrix_of(&call->matrix[1], &arena);
    S2GlobalContactProblem problem = {call->freedoms, call->contacts, &first,  &h,
                                      call->q,        call->b,        call->mu};
    status = s2_contact_write_global(&problem, path);
  } else {
    S2ContactProblem problem = {call->contacts, &first, call->q, call->mu};
    status = s2_contact_write(&problem, path);
  }
  s2_arena_free(&arena);
  return status;
}

static int contact_write(lua_State *L) {
  static const char *const names[] = {"W", "M", "H", "q", "bias", "mu", NULL};
  const char *path = check_path(L, 1);
  Call call = {0};
  lua_settop(L, 2);
  S2Keys keys = s2_keys_open(L, 2, false, names, NULL, 0);
  read_problem(&keys, &call);
  S2Status status = write_file(&call, path);
  if (status.code != S2_OK) {
    lua_pushnil(L);
    lua_pushstring(L, status.message);
    return 2;
  }
  lua_pushboolean(L, 1);
  return 1;
}

void s2_lua_open_contact_library(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"solve", contact_solve}, {"read", contact_read}, {"write", contact_write}, {NULL, NULL}};
  s2_lua_push_library(L, "sim.contact", functions);
}
