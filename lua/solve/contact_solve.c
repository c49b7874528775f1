// sim.contact: frictional contact problems given as matrices, and their derivatives.
#include "lua/diff/solve_tracked.h"
#include "lua/solve/matrix.h"
#include "lua/solve/solve_info.h"
#include "lua/solve/sparse.h"
#include "lua/world/binding.h"

#include "mcp/contact/contact.h"

// Default of the interior-point solver. The defaults of the other solvers are multiples of this
// number.
enum { MAX_ITERATIONS = 50 };

typedef struct Call {
  bool global;
  int contacts, freedoms;
  S2LuaSparse matrix[2]; // either W, or M and H
  const double *q, *b, *mu;
  bool one_mu; // one coefficient for all contacts
  S2LuaSolve solve;
  S2SolverOptions options;
  S2ContactSolution solution;
  int rows, pairs; // 2 rows and 4 pairs per contact
  S2ContactLoss loss;
  S2LuaAnswer answer;
} Call;

#define FOUND(name) offsetof(Call, solution.name)
#define LOSS(name)  offsetof(Call, loss.name)
enum {
  ROWS = offsetof(Call, rows),
  PAIRS = offsetof(Call, pairs),
  FREE = offsetof(Call, freedoms)
};

static const S2LuaField result_fields[] = {{"r", S2_LUA_VECTOR, FOUND(r), .rows = ROWS},
                                           {"u", S2_LUA_VECTOR, FOUND(u), .rows = ROWS},
                                           {0}};
static const S2LuaField info_fields[] = {
    {"complementarity", S2_LUA_NUMBER, .at = FOUND(residual.complementarity)},
    {"cone", S2_LUA_NUMBER, .at = FOUND(residual.cone)},
    {"v", S2_LUA_VECTOR, FOUND(v), FREE,
     .flags = S2_LUA_IF_SOLVED}, // only in the form with M and H
    {"z", S2_LUA_VECTOR, FOUND(z), PAIRS, .flags = S2_LUA_IF_SOLVED}, // only with kappa
    {0}};
static const S2LuaField loss_fields[] = {
    {"r", S2_LUA_VECTOR, LOSS(r), .rows = ROWS}, {"u", S2_LUA_VECTOR, LOSS(u), .rows = ROWS}, {0}};
static const S2LuaField global_loss_fields[] = {{"r", S2_LUA_VECTOR, LOSS(r), .rows = ROWS},
                                                {"u", S2_LUA_VECTOR, LOSS(u), .rows = ROWS},
                                                {"v", S2_LUA_VECTOR, LOSS(v), .rows = FREE},
                                                {0}};

// ---- Reading ----------------------------------------------------------------------------------

// Reads the friction coefficients: a list with one number per contact, or one number for all
// contacts.
static const double *read_mu(const S2Keys *keys, int contacts, bool *one) {
  lua_State *L = keys->L;
  s2_keys_require(keys, "mu");
  double *mu;
  *one = s2_keys_push(keys, "mu") == LUA_TNUMBER;
  // One number applies to all contacts.
  if (*one) {
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

// If `zeros`, zero entries of full matrices are stored too.
static void contact_read_problem(const S2Keys *keys, Call *call, bool zeros) {
  call->global = s2_keys_has(keys, "M") || s2_keys_has(keys, "H");
  int rows = -1;
  // Only one of the two forms may be given, since with both it would be unclear which matrices to
  // use.
  if (call->global && s2_keys_has(keys, "W")) {
    s2_keys_fail(keys, "W", "either W, or M and H, expected");
  }
  // The number of contacts follows from the vector with two numbers per contact.
  const char *velocity = call->global ? "bias" : "q"; // name of that vector
  s2_keys_require(keys, "q");
  s2_keys_require(keys, velocity);
  const double *free_velocity = s2_lua_problem_vector(keys, velocity, &rows);
  if (rows % 2 != 0) {
    s2_keys_fail(keys, velocity, "two numbers per contact expected, got %d", rows);
  }
  call->contacts = rows / 2;
  call->rows = rows;
  call->pairs = 2 * rows;
  // The two forms are M v = H r + q, u = H' v + b, and u = W r + q.
  if (call->global) {
    int freedoms = -1;
    call->b = free_velocity;
    call->q = s2_lua_problem_vector(keys, "q", &freedoms);
    call->freedoms = freedoms;
    call->matrix[0] = s2_lua_problem_sparse(keys, "M", freedoms, freedoms, zeros);
    call->matrix[1] = s2_lua_problem_sparse(keys, "H", freedoms, rows, zeros);
  } else {
    if (s2_keys_has(keys, "bias")) {
      s2_keys_fail(keys, "bias",
                   "applies only to the form with M and H; in the form with W, add the bias to q");
    }
    call->q = free_velocity;
    call->matrix[0] = s2_lua_problem_sparse(keys, "W", rows, rows, zeros);
  }
  // Read friction last, because it requires the number of contacts.
  call->mu = read_mu(keys, call->contacts, &call->one_mu);
}

static void contact_read_options(const S2Keys *keys, Call *call) {
  call->options = s2_lua_step_options(keys, &call->solve, MAX_ITERATIONS);
  // Only the interior-point solver can return points on the central path.
  S2Solver solver = call->options.solver;
  if (call->solve.kappa > 0 && solver != S2_SOLVER_AUTO && solver != S2_SOLVER_PDIPM) {
    s2_keys_fail(keys, "kappa", "requires the solver 'pdipm' or 'auto', got '%s'",
                 s2_solver_name(solver));
  }
}

// Allocates memory for the solution on the stack. If r0 is given, it is the initial value of r.
static void take_solution(const S2Keys *keys, Call *call) {
  lua_State *L = keys->L;
  // Use one block of memory for all vectors of the solution. It is zero unless there is an initial
  // guess.
  size_t rows = 2 * (size_t)call->contacts, size = 4 * rows + (size_t)call->freedoms;
  double *memory = lua_newuserdatauv(L, sizeof(double) * (size + 1), 0);
  for (size_t i = 0; i < size; i++) {
    memory[i] = 0;
  }
  call->solution = (S2ContactSolution){.r = memory,
                                       .u = memory + rows,
                                       .z = call->solve.kappa > 0 ? memory + 2 * rows : NULL,
                                       .v = call->global ? memory + 4 * rows : NULL};
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

static void contact_solve_local(const Call *call, const S2Csr *w, S2Arena *arena,
                                S2ContactSolution *to) {
  S2ContactProblem problem = {call->contacts, w, call->q, call->mu};
  if (call->solve.kappa > 0) {
    s2_contact_smooth_solve(&problem, call->solve.kappa, &call->options, arena, to);
  } else {
    s2_contact_solve(&problem, &call->options, arena, to);
  }
}

static S2GlobalContactProblem global_problem(const Call *call, const S2Csr *m, const S2Csr *h) {
  return (S2GlobalContactProblem){call->freedoms, call->contacts, m, h, call->q, call->b, call->mu};
}

static void contact_solve_global(const Call *call, const S2Csr *m, const S2Csr *h, S2Arena *arena,
                                 S2ContactSolution *to) {
  S2GlobalContactProblem problem = global_problem(call, m, h);
  if (call->solve.kappa > 0) {
    s2_contact_smooth_solve_global(&problem, call->solve.kappa, &call->options, arena, to);
  } else {
    s2_contact_solve_global(&problem, &call->options, arena, to);
  }
}

// Called by s2_lua_with_arena.
static void contact_run(void *user, S2Arena *arena) {
  Call *call = user;
  call->options.history = call->solve.record ? &call->solve.history : NULL;
  // Build the matrices before the clock starts, so that only the solver is timed.
  S2Csr first = matrix_of(&call->matrix[0], arena);
  double start = s2_lua_clock();
  if (call->global) {
    S2Csr h = matrix_of(&call->matrix[1], arena);
    contact_solve_global(call, &first, &h, arena, &call->solution);
  } else {
    contact_solve_local(call, &first, arena, &call->solution);
  }
  double time = s2_lua_clock() - start;
  const S2ContactSolution *found = &call->solution;
  call->answer = (S2LuaAnswer){found->status, found->iterations, found->residual.scaled, time,
                               s2_solver_name(found->used)};
}

static const char *const problem_names[] = {"W",  "M",      "H",     "q",  "bias",
                                            "mu", "solver", "omega", "r0", NULL};

static int contact_solve(lua_State *L) {
  static const S2LuaReturns returns = {result_fields, info_fields, NULL};
  Call call = {0};
  // Problems with tracked numbers are solved with derivatives.
  int results = s2_lua_solve_tracked(L, "contact");
  if (results >= 0) {
    return results;
  }
  lua_settop(L, 1);
  // Read the problem and the options first, because the problem determines the size of the
  // solution.
  S2Keys keys = s2_keys_open(L, 1, false, problem_names, s2_lua_solve_names, 0);
  contact_read_problem(&keys, &call, false);
  contact_read_options(&keys, &call);
  take_solution(&keys, &call);
  s2_lua_with_arena(L, contact_run, &call);
  return s2_lua_solve_return(L, &call.solve, &call.answer, &returns, &call);
}

// ---- Derivatives ------------------------------------------------------------------------------

typedef struct Gradient { // the matrices have one number for each given entry
  double *matrix[2], *q, *b, *mu;
} Gradient;

static const struct {
  S2VjpFlag flag;
  const char *words;
} reasons[] = {
    {S2_VJP_WEAK, "a contact hardly touches or is about to slide"},
    {S2_VJP_REDUNDANT, "contacts repeat each other"},
    {S2_VJP_UNDETERMINED, "the shares of redundant contacts in a load are not determined"},
    {S2_VJP_SINGULAR, "numbers are not finite or a linear system was not solved"},
};

// Reads the solution from the arguments r, u and info.
static void contact_read_solution(lua_State *L, Call *call) {
  S2ContactSolution *at = &call->solution;
  int rows = 2 * call->contacts, count;
  S2Keys info = s2_lua_solved_open(L, 4);
  at->r = s2_lua_check_vector(L, 2, "r", rows, &count);
  at->u = s2_lua_check_vector(L, 3, "u", rows, &count);
  at->kappa = s2_lua_solved_kappa(&info);
  at->v = call->global ? s2_lua_solved_vector(&info, "v", call->freedoms) : NULL;
  at->z = at->kappa > 0 ? s2_lua_solved_vector(&info, "z", 2 * rows) : NULL;
}

// Gathers the derivatives with respect to the entries of a matrix, at the positions of the given
// triplets.
static void contact_gather(const S2LuaSparse *to, const S2Csr *matrix, const double *from,
                           double *numbers) {
  for (int k = 0; k < to->count; k++) {
    int32_t low = matrix->start[to->triplet[k].row], high = matrix->start[to->triplet[k].row + 1];
    // Use bisection to find the column among the entries of the row.
    while (high - low > 1) {
      int32_t middle = low + (high - low) / 2;
      if (matrix->column[middle] > to->triplet[k].column) {
        high = middle;
      } else {
        low = middle;
      }
    }
    numbers[k] = from[low];
  }
}

static unsigned pull_global(const Call *call, const S2Csr *m, const S2ContactLoss *loss,
                            const Gradient *to, S2Arena *arena) {
  S2Csr h = matrix_of(&call->matrix[1], arena);
  S2GlobalContactProblem problem = global_problem(call, m, &h);
  // Compute derivatives with respect to the entries of the sparse matrices, then gather them for
  // the given numbers.
  S2GlobalContactGradient gradient = {.m = S2_TAKE(arena, double, m->start[m->rows]),
                                      .h = S2_TAKE(arena, double, h.start[h.rows]),
                                      .q = to->q,
                                      .b = to->b,
                                      .mu = to->mu};
  unsigned flags = s2_contact_vjp_global(&problem, &call->solution, loss, &gradient, arena);
  contact_gather(&call->matrix[0], m, gradient.m, to->matrix[0]);
  contact_gather(&call->matrix[1], &h, gradient.h, to->matrix[1]);
  return flags;
}

static unsigned contact_pull_local(const Call *call, const S2Csr *w, const S2ContactLoss *loss,
                                   const Gradient *to, S2Arena *arena) {
  S2ContactProblem problem = {call->contacts, w, call->q, call->mu};
  S2LocalContactGradient gradient = {
      .w = S2_TAKE(arena, double, w->start[w->rows]), .q = to->q, .mu = to->mu};
  unsigned flags = s2_contact_vjp(&problem, &call->solution, loss, &gradient, arena);
  contact_gather(&call->matrix[0], w, gradient.w, to->matrix[0]);
  return flags;
}

// This function must not call Lua while the arena exists, because an error would leak the arena.
static unsigned contact_pull_back(const Call *call, const S2ContactLoss *loss, const Gradient *to) {
  S2Arena arena;
  s2_arena_init(&arena);
  S2Csr first = matrix_of(&call->matrix[0], &arena);
  unsigned flags = call->global ? pull_global(call, &first, loss, to, &arena)
                                : contact_pull_local(call, &first, loss, to, &arena);
  s2_arena_free(&arena);
  return flags;
}

static void push_gradient(lua_State *L, const Call *call, const Gradient *from) {
  lua_createtable(L, 0, 7);
  // Push matrices in the form in which they were given.
  for (int i = 0; i < (call->global ? 2 : 1); i++) {
    s2_lua_push_like(L, &call->matrix[i], from->matrix[i]);
    lua_setfield(L, -2, !call->global ? "W" : i == 0 ? "M" : "H");
  }
  s2_lua_set_numbers(L, "q", from->q, call->global ? call->freedoms : 2 * call->contacts);
  s2_lua_set_numbers(L, "bias", from->b, 2 * call->contacts);
  if (!call->one_mu) {
    s2_lua_set_numbers(L, "mu", from->mu, call->contacts);
    return;
  }
  // If one coefficient applies to all contacts, its derivative is the sum over the contacts.
  double sum = 0;
  for (int k = 0; k < call->contacts; k++) {
    sum += from->mu[k];
  }
  s2_lua_set_number(L, "mu", sum);
}

// Sets `regular` in the table on top of the stack, and if it is false, also the reasons `why`.
static void set_worth(lua_State *L, unsigned flags) {
  luaL_Buffer text;
  lua_pushboolean(L, flags == 0);
  lua_setfield(L, -2, "regular");
  if (flags == 0) {
    return;
  }
  // Describe in words why the derivative is not regular.
  luaL_buffinit(L, &text);
  const char *between = "";
  for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
    if (flags & reasons[i].flag) {
      luaL_addstring(&text, between);
      luaL_addstring(&text, reasons[i].words);
      between = "; ";
    }
  }
  luaL_pushresult(&text);
  lua_setfield(L, -2, "why");
}

// Arguments: problem, r, u, info, dl.
static int contact_vjp(lua_State *L) {
  Call call = {0};
  lua_settop(L, 5);
  luaL_checkstack(L, 3 * LUA_MINSTACK, NULL);
  S2Keys keys = s2_keys_open(L, 1, false, problem_names, s2_lua_solve_names, 0);
  contact_read_problem(&keys, &call, true);
  contact_read_solution(L, &call);
  const S2LuaField *fields = call.global ? global_loss_fields : loss_fields;
  S2Keys loss = s2_lua_loss_open(L, 5, fields);
  s2_lua_fields_read(&loss, fields, &call);
  size_t rows = 2 * (size_t)call.contacts, freedoms = (size_t)call.freedoms;
  Gradient to = {.q = s2_lua_take_numbers(L, call.global ? freedoms : rows),
                 .b = s2_lua_take_like(L, call.b, rows),
                 .mu = s2_lua_take_numbers(L, (size_t)call.contacts)};
  for (int i = 0; i < 2; i++) {
    to.matrix[i] = s2_lua_take_numbers(L, (size_t)call.matrix[i].count);
  }
  unsigned flags = contact_pull_back(&call, &call.loss, &to);
  push_gradient(L, &call, &to);
  set_worth(L, flags);
  return 1;
}

// ---- Files ------------------------------------------------------------------------------------

// The argument is the file.
static int contact_push_problem(lua_State *L) {
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
  S2Status status = s2_contact_read(s2_lua_check_path(L, 1), &file);
  if (status.code != S2_OK) {
    return s2_lua_file_failed(L, status);
  }
  // Build the tables under pcall, so that the file's memory is always freed.
  lua_settop(L, 0);
  lua_pushcfunction(L, contact_push_problem);
  lua_pushlightuserdata(L, file);
  int failed = lua_pcall(L, 1, 1, 0);
  s2_contact_free(file);
  return failed != LUA_OK ? lua_error(L) : 1;
}

static S2Status contact_write_file(const Call *call, const char *path) {
  S2Arena arena;
  s2_arena_init(&arena);
  S2Csr first = matrix_of(&call->matrix[0], &arena);
  S2Status status;
  if (call->global) {
    S2Csr h = matrix_of(&call->matrix[1], &arena);
    S2GlobalContactProblem problem = global_problem(call, &first, &h);
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
  const char *path = s2_lua_check_path(L, 1);
  Call call = {0};
  lua_settop(L, 2);
  // Read only the problem, because files contain no solver options.
  S2Keys keys = s2_keys_open(L, 2, false, names, NULL, 0);
  contact_read_problem(&keys, &call, false);
  S2Status status = contact_write_file(&call, path);
  if (status.code != S2_OK) {
    return s2_lua_file_failed(L, status);
  }
  lua_pushboolean(L, 1);
  return 1;
}

void s2_lua_open_contact_library(lua_State *L) {
  static const luaL_Reg functions[] = {{"solve", contact_solve},
                                       {"vjp", contact_vjp},
                                       {"read", contact_read},
                                       {"write", contact_write},
                                       {NULL, NULL}};
  s2_lua_push_library(L, "sim.contact", functions);
}
