// sim.ncp: nonlinear complementarity problems over cones whose functions are written in Lua.
//
// The solver calls the functions of the script under lua_pcall. If one of them raises an error, the
// error stays on the stack until the solver has returned, and is then raised again. All memory
// belongs to userdata.
#include "lua/diff/solve_tracked.h"
#include "lua/solve/matrix.h"
#include "lua/solve/solve_info.h"
#include "lua/world/binding.h"

#include "mcp/cone/ncp.h"

#include <math.h>
#include <string.h>

static const char SCRATCH[] = "sim2d.Scratch";

enum {
  SLOTS = 16,         // more stack slots than a call of a script function uses
  MAX_ITER = 1000000, // maximum iterations; a history of 24 MB
};

typedef enum Function { RESIDUAL, JACOBIAN, THETA_JACOBIAN, FUNCTIONS } Function;

static const char *const function_keys[] = {"residual", "jacobian", "theta_jacobian"};

typedef struct Call {
  lua_State *L;
  S2Ncp ncp;
  int equations, stored;   // length of c; size of w = (x, y, z)
  int handler;             // stack positions
  int function[FUNCTIONS]; // 0: absent
} Call;

// ---- The script's functions -------------------------------------------------------------------

typedef struct Request {
  const Call *call;
  Function which;
  const double *x, *y, *z, *theta;
  double *out;
} Request;

// The arguments are the request and the function.
static int ncp_answer(lua_State *L) {
  const Request *request = lua_touserdata(L, 1);
  const Call *call = request->call;
  const S2Ncp *ncp = &call->ncp;
  int cone = s2_cones_size(&ncp->cones), rows, columns;
  // All functions are called as f(x, y, z, theta).
  s2_lua_push_numbers(L, request->x, ncp->x.size);
  s2_lua_push_numbers(L, request->y, cone);
  s2_lua_push_numbers(L, request->z, cone);
  s2_lua_push_numbers(L, request->theta, ncp->parameters);
  // The result must have the size that this kind of function requires.
  lua_call(L, 4, 1);
  const double *numbers;
  if (request->which == RESIDUAL) {
    columns = 1;
    numbers = s2_lua_check_vector(L, 2, "the result of residual", call->equations, &rows);
  } else if (request->which == JACOBIAN) {
    numbers = s2_lua_check_matrix(L, 2, "the result of jacobian", call->equations, call->stored,
                                  &rows, &columns);
  } else {
    numbers = s2_lua_check_matrix(L, 2, "the result of theta_jacobian", call->equations,
                                  ncp->parameters, &rows, &columns);
  }
  memcpy(request->out, numbers, sizeof(double) * (size_t)rows * (size_t)columns);
  return 0;
}

static bool ncp_ask(Request request) {
  const Call *call = request.call;
  lua_State *L = call->L;
  lua_pushcfunction(L, ncp_answer);
  lua_pushlightuserdata(L, &request);
  lua_pushvalue(L, call->function[request.which]);
  return lua_pcall(L, 2, 0, call->handler) == LUA_OK;
}

static bool ask_residual(void *user, const double *x, const double *y, const double *z,
                         const double *theta, double *out) {
  return ncp_ask((Request){user, RESIDUAL, x, y, z, theta, out});
}

static bool ncp_ask_jacobian(void *user, const double *x, const double *y, const double *z,
                             const double *theta, double *out) {
  return ncp_ask((Request){user, JACOBIAN, x, y, z, theta, out});
}

static bool ask_theta_jacobian(void *user, const double *x, const double *y, const double *z,
                               const double *theta, double *out) {
  return ncp_ask((Request){user, THETA_JACOBIAN, x, y, z, theta, out});
}

// Raises an error if the solver failed. An error in the script is raised unchanged.
static void ncp_check(lua_State *L, S2Status status) {
  if (status.code == S2_ABORTED) {
    lua_error(L);
  }
  s2_lua_try(L, status);
}

// ---- Reading the problem ----------------------------------------------------------------------

static int scratch_free(lua_State *L) {
  s2_arena_free(lua_touserdata(L, 1));
  return 0;
}

// Pushes an arena that is freed when the running function returns or raises an error.
static S2Arena *push_scratch(lua_State *L) {
  S2Arena *arena = lua_newuserdatauv(L, sizeof *arena, 0);
  s2_arena_init(arena);
  // The arena is a to-be-closed variable, so it is freed after an error too.
  luaL_setmetatable(L, SCRATCH);
  lua_toclose(L, -1);
  return arena;
}

// Reads a list of numbers, which is empty if the key is absent. The memory is on the stack.
static const double *ncp_read_numbers(const S2Keys *keys, const char *key, int wanted, int *count) {
  char what[S2_KEYS_SCOPE + S2_LUA_TEXT];
  snprintf(what, sizeof what, "%s%s", keys->scope, key);
  if (s2_keys_push(keys, key) == LUA_TNIL) {
    lua_newtable(keys->L);
    wanted = -1;
  }
  return s2_lua_check_vector(keys->L, -1, what, wanted, count);
}

// Reads a list of integers from 1 to `highest`, subtracts `base` from each, and sorts them if
// `sorted`.
static const int *read_integers(const S2Keys *keys, const char *key, int highest, int base,
                                bool sorted, int *count, S2Arena *arena) {
  const double *numbers = ncp_read_numbers(keys, key, -1, count);
  int *integers = S2_TAKE(arena, int, *count);
  // Check each integer, and insert it in order if needed.
  for (int i = 0; i < *count; i++) {
    if (!(numbers[i] >= 1 && numbers[i] <= highest && numbers[i] == floor(numbers[i]))) {
      s2_keys_fail(keys, key, "[%d]: an integer from 1 to %d expected, got %g", i + 1, highest,
                   numbers[i]);
    }
    int at = i, integer = (int)numbers[i] - base;
    for (; sorted && at > 0 && integers[at - 1] > integer; at--) {
      integers[at] = integers[at - 1];
    }
    integers[at] = integer;
  }
  return integers;
}

// Pushes the table of a key. If the key is absent, returns false and pushes no value.
static bool push_table(const S2Keys *keys, const char *key) {
  char text[S2_LUA_TEXT];
  int type = s2_keys_push(keys, key);
  if (type == LUA_TNIL) {
    lua_pop(keys->L, 1);
    return false;
  }
  if (type != LUA_TTABLE) {
    s2_keys_fail(keys, key, "table expected, got %s", s2_lua_describe(keys->L, -1, text));
  }
  return true;
}

static S2Cones read_cones(const S2Keys *keys, S2Arena *arena) {
  static const char *const names[] = {"orthant", "soc", NULL};
  S2Cones cones = {0};
  int64_t orthant = 0;
  // Without cones the problem has only equations.
  if (push_table(keys, "cones")) {
    S2Keys inner = s2_keys_inner(keys, "cones.", names, NULL);
    s2_keys_integer(&inner, "orthant", 0, S2_NCP_MAX_SIZE, &orthant);
    cones.orthant = (int)orthant;
    cones.soc = read_integers(&inner, "soc", S2_NCP_MAX_SIZE, 0, false, &cones.soc_count, arena);
  }
  return cones;
}

#define OPTION(name) offsetof(S2NcpOptions, name)

// ncp.h explains the options. `undercut` is read separately, because it may be infinite.
static const S2LuaField option_fields[] = {
    {"r_tol", S2_LUA_NUMBER, OPTION(r_tol), .domain = S2_POSITIVE},
    {"b_tol", S2_LUA_NUMBER, OPTION(b_tol), .domain = S2_POSITIVE},
    {"kappa", S2_LUA_NUMBER, OPTION(kappa), .domain = S2_NON_NEGATIVE},
    {"ls_scale", S2_LUA_NUMBER, OPTION(ls_scale), .domain = S2_POSITIVE},
    {"no_progress_undercut", S2_LUA_NUMBER, OPTION(no_progress_undercut), .domain = S2_POSITIVE},
    {"reg", S2_LUA_NUMBER, OPTION(reg), .domain = S2_NON_NEGATIVE},
    {"corrector", S2_LUA_BOOLEAN, .at = OPTION(corrector)},
    {"centering", S2_LUA_NUMBER, OPTION(centering), .domain = S2_NON_NEGATIVE},
    {"max_iter", S2_LUA_INTEGER, OPTION(max_iter), .least = 0, .most = MAX_ITER},
    {"max_ls", S2_LUA_INTEGER, OPTION(max_ls), .least = 1, .most = MAX_ITER},
    {"no_progress_max", S2_LUA_INTEGER, OPTION(no_progress_max), .least = 1, .most = MAX_ITER},
    {0}};

static S2NcpOptions ncp_read_options(const S2Keys *keys) {
  static const char *const names[] = {"r_tol",    "b_tol",           "kappa",
                                      "max_iter", "ls_scale",        "max_ls",
                                      "undercut", "no_progress_max", "no_progress_undercut",
                                      "reg",      "corrector",       "centering",
                                      NULL};
  S2NcpOptions options = s2_ncp_options();
  if (!push_table(keys, "options")) {
    return options;
  }
  // Options that are absent keep their defaults.
  S2Keys inner = s2_keys_inner(keys, "options.", names, NULL);
  s2_lua_fields_read(&inner, option_fields, &options);
  if (s2_keys_push(&inner, "undercut") == LUA_TNUMBER && lua_tonumber(keys->L, -1) == INFINITY) {
    options.undercut = INFINITY; // s2_keys_number does not accept infinity
  } else {
    s2_keys_number(&inner, "undercut", S2_POSITIVE, &options.undercut);
  }
  return options;
}

// Reads the problem, whose memory stays on the stack.
static void ncp_read_problem(const S2Keys *keys, Call *call, S2Arena *arena) {
  static S2NcpFunction *const asks[] = {ask_residual, ncp_ask_jacobian, ask_theta_jacobian};
  lua_State *L = keys->L;
  S2Ncp *ncp = &call->ncp;
  char text[S2_LUA_TEXT];
  s2_keys_require(keys, "residual");
  // The functions stay on the stack for the calls.
  for (int i = 0; i < FUNCTIONS; i++) {
    int type = s2_keys_push(keys, function_keys[i]);
    if (type != LUA_TNIL && type != LUA_TFUNCTION) {
      s2_keys_fail(keys, function_keys[i], "function expected, got %s",
                   s2_lua_describe(L, -1, text));
    }
    call->function[i] = type == LUA_TFUNCTION ? lua_gettop(L) : 0;
  }
  ncp->residual = asks[RESIDUAL];
  ncp->jacobian = call->function[JACOBIAN] != 0 ? asks[JACOBIAN] : NULL;
  // Read the parameters, the cones, and the positions of quaternions and rotations in x.
  ncp->theta_jacobian = call->function[THETA_JACOBIAN] != 0 ? asks[THETA_JACOBIAN] : NULL;
  ncp->user = call;
  ncp->theta = ncp_read_numbers(keys, "theta", -1, &ncp->parameters);
  ncp->cones = read_cones(keys, arena);
  ncp->x.rotation =
      read_integers(keys, "rotations", ncp->x.size, 1, true, &ncp->x.rotations, arena);
  ncp->x.quaternion =
      read_integers(keys, "quaternions", ncp->x.size, 1, true, &ncp->x.quaternions, arena);
  s2_lua_try(L, s2_ncp_check(ncp));
  int cone = s2_cones_size(&ncp->cones);
  call->equations = s2_ncp_space_dimension(&ncp->x) + cone;
  call->stored = ncp->x.size + 2 * cone;
}

// ---- Results ----------------------------------------------------------------------------------

// Sets info.dw_dtheta and info.dl_dtheta if they are requested. A derivative that does not exist
// remains nil.
static void set_derivatives(lua_State *L, const S2Keys *keys, const Call *call, int info,
                            const double *w, S2Arena *arena) {
  static const char *const names[] = {"x", "y", "z", NULL};
  const S2Ncp *ncp = &call->ncp;
  int cone = s2_cones_size(&ncp->cones);
  const int sizes[] = {ncp->x.size, cone, cone};
  const double *y = w + ncp->x.size, *z = y + cone;
  bool wanted = false, regular = false;
  s2_keys_boolean(keys, "dw_dtheta", &wanted);
  // Compute dw/dtheta as a matrix, if requested.
  if (wanted) {
    size_t count = (size_t)call->stored * (size_t)ncp->parameters;
    double *dw = s2_arena_take(arena, sizeof(double) * count);
    ncp_check(L, s2_ncp_derivative(ncp, w, y, z, dw, &regular, arena));
    if (regular) {
      s2_lua_push_matrix(L, dw, call->stored, ncp->parameters);
      lua_setfield(L, info, "dw_dtheta");
    }
  }
  // Compute the product dl/dw dw/dtheta, if requested.
  if (push_table(keys, "dl_dw")) {
    S2Keys inner = s2_keys_inner(keys, "dl_dw.", names, NULL);
    double *dl_dw = S2_TAKE_ZEROED(arena, double, call->stored), *at = dl_dw;
    double *dl_dtheta = S2_TAKE(arena, double, ncp->parameters);
    for (int i = 0, count; i < 3; at += sizes[i], i++) {
      const double *numbers = ncp_read_numbers(&inner, names[i], sizes[i], &count);
      memcpy(at, numbers, sizeof(double) * (size_t)count);
    }
    ncp_check(L, s2_ncp_pull_back(ncp, w, y, z, dl_dw, dl_dtheta, &regular, arena));
    if (regular) {
      s2_lua_push_numbers(L, dl_dtheta, ncp->parameters);
      lua_setfield(L, info, "dl_dtheta");
    }
  }
}

static void ncp_push_point(lua_State *L, const Call *call, const double *w) {
  int cone = s2_cones_size(&call->ncp.cones);
  s2_lua_push_numbers(L, w, call->ncp.x.size);
  s2_lua_push_numbers(L, w + call->ncp.x.size, cone);
  s2_lua_push_numbers(L, w + call->ncp.x.size + cone, cone);
}

// ---- sim.ncp.solve ----------------------------------------------------------------------------

static int ncp_solve(lua_State *L) {
  static const char *const names[] = {
      "residual", "jacobian", "theta_jacobian", "cones", "quaternions", "rotations", "x0",
      "theta",    "options",  "dw_dtheta",      "dl_dw", "history",     NULL};
  int results = s2_lua_solve_tracked(L, "ncp");
  if (results >= 0) {
    return results;
  }
  luaL_checkstack(L, 4 * SLOTS, "out of stack");
  S2Keys keys = s2_keys_open(L, 1, false, names, NULL, 0);
  lua_settop(L, 1);
  // This memory of the solver is freed with the stack if a script function raises an error.
  S2Arena *arena = push_scratch(L);
  lua_pushcfunction(L, s2_lua_keep_traceback);
  Call call = {.L = L, .handler = lua_gettop(L)};
  const double *x0 = ncp_read_numbers(&keys, "x0", -1, &call.ncp.x.size);
  ncp_read_problem(&keys, &call, arena);
  // The history has space for every possible iteration.
  S2NcpOptions options = ncp_read_options(&keys);
  bool recorded = false;
  s2_keys_boolean(&keys, "history", &recorded);
  S2History history = {.capacity = recorded ? options.max_iter : 0};
  history.at = S2_TAKE(arena, S2Iterate, history.capacity);

  // Initialise w = (x, y, z), with x = x0.
  double *w = S2_TAKE_ZEROED(arena, double, call.stored), *y = w + call.ncp.x.size;
  memcpy(w, x0, sizeof(double) * (size_t)call.ncp.x.size);
  S2NcpInfo result;
  double start = s2_lua_clock();
  ncp_check(L, s2_ncp_solve(&call.ncp, &options, w, y, y + s2_cones_size(&call.ncp.cones),
                            recorded ? &history : NULL, arena, &result));
  double time = s2_lua_clock() - start;

  // The info has the same fields for success and failure.
  lua_createtable(L, 0, 10);
  int info = lua_gettop(L);
  lua_pushstring(L, s2_solve_status_name(result.status));
  lua_setfield(L, info, "status");
  lua_pushinteger(L, result.iterations);
  lua_setfield(L, info, "iterations");
  s2_lua_set_number(L, "residual", result.b_vio > result.r_vio ? result.b_vio : result.r_vio);
  s2_lua_set_number(L, "r_vio", result.r_vio);
  s2_lua_set_number(L, "b_vio", result.b_vio);
  s2_lua_set_number(L, "time", time);
  if (recorded) {
    s2_lua_push_history(L, &history);
    lua_setfield(L, info, "history");
  }
  // If solved, return x, y, z and info. Otherwise return nil, the status, and the info with the
  // last point.
  if (result.status == S2_SOLVED) {
    set_derivatives(L, &keys, &call, info, w, arena);
    ncp_push_point(L, &call, w);
    lua_pushvalue(L, info);
    return 4;
  }
  lua_settop(L, info);
  ncp_push_point(L, &call, w);
  lua_setfield(L, info, "z");
  lua_setfield(L, info, "y");
  lua_setfield(L, info, "x");
  lua_pushnil(L);
  lua_pushstring(L, s2_solve_status_name(result.status));
  lua_pushvalue(L, info);
  return 3;
}

void s2_lua_open_ncp(lua_State *L) {
  static const luaL_Reg functions[] = {{"solve", ncp_solve}, {NULL, NULL}};
  luaL_newmetatable(L, SCRATCH);
  lua_pushcfunction(L, scratch_free);
  lua_setfield(L, -2, "__gc");
  lua_pushcfunction(L, scratch_free);
  lua_setfield(L, -2, "__close");
  lua_pop(L, 1);
  s2_lua_push_library(L, "sim.ncp", functions);
}
