// world:problem(): the step problem as plain tables, and matrices of the dynamics.
//
// With n bodies that move, m bilateral rows (joints) and c contacts, R = m + 2c rows, the fields
// are
//   bodies    n Body objects (false: a node of a gear); columns 3i-2 .. 3i (angle, x, y) of v
//             belong to body i
//   M         3n x 3n mass matrix, diagonal              (kg m^2, kg, kg)
//   rhs       3n, M v + dt f: momentum without impulses  (N m s, N s)
//   J         R x 3n Jacobian: the m joint rows, then a normal and a tangent row for each contact
//   C         R compliances (diagonal)
//   bias      R: row velocity u = J v + C lambda + bias
//   lo, hi    R bounds of the impulses lambda; rows of friction: -mu, mu times the normal one
//   mu        c friction coefficients
//   E         2c x c: which contact the two opposite directions of friction belong to
//   W, q      R x R Delassus matrix J inv(M) J' + C and R: u = W lambda + q
//   joints    m, contacts: c (counts)
// With contact = "convex", a contact has two edge rows without friction (mcp/problem/convex.h).
// These rows are among the m rows, and c counts only soft contacts.
#include "lua/solve/matrix.h"
#include "lua/solve/solve_info.h"
#include "lua/world/binding.h"

#include <math.h>

// ---- Problem ----------------------------------------------------------------------------------

static double *problem_take_matrix(S2Arena *arena, int rows, int columns) {
  return s2_arena_take_zeroed(arena, sizeof(double) * ((size_t)rows * (size_t)columns + 1));
}

static double *problem_jacobian(const S2Problem *problem, S2Arena *arena) {
  int columns = 3 * problem->nodes;
  double *J = problem_take_matrix(arena, problem->rows, columns);
  // The ground has no columns.
  for (int i = 0; i < problem->rows; i++) {
    const S2Row *row = &problem->row[i];
    double *at = J + (size_t)i * (size_t)columns;
    for (int k = 0; k < 3; k++) {
      if (row->a != S2_GROUND) {
        at[3 * row->a + k] = row->ja[k];
      }
      if (row->b != S2_GROUND) {
        at[3 * row->b + k] = row->jb[k];
      }
    }
  }
  return J;
}

// W = J inv(M) J' + C and q = J inv(M) rhs + bias.
static void set_delassus(lua_State *L, const S2Problem *problem, const double *J, S2Arena *arena) {
  int rows = problem->rows, columns = 3 * problem->nodes;
  double *W = problem_take_matrix(arena, rows, rows), *q = problem_take_matrix(arena, rows, 1);
  // W_ik = sum_c J_ic J_kc / m_c, q_i = bias_i + sum_c J_ic rhs_c / m_c
  for (int i = 0; i < rows; i++) {
    const double *ji = J + (size_t)i * (size_t)columns;
    for (int k = 0; k < rows; k++) {
      const double *jk = J + (size_t)k * (size_t)columns;
      double sum = i == k ? problem->row[i].compliance : 0;
      for (int c = 0; c < columns; c++) {
        sum += ji[c] * jk[c] / problem->mass[c];
      }
      W[(size_t)i * (size_t)rows + (size_t)k] = sum;
    }
    q[i] = problem->row[i].bias;
    for (int c = 0; c < columns; c++) {
      q[i] += ji[c] * problem->rhs[c] / problem->mass[c];
    }
  }
  s2_lua_set_matrix(L, "W", W, rows, rows);
  s2_lua_set_numbers(L, "q", q, rows);
}

static void set_rows(lua_State *L, const S2Problem *problem, int contacts, S2Arena *arena) {
  int rows = problem->rows, at = 0;
  double *C = problem_take_matrix(arena, rows, 1), *bias = problem_take_matrix(arena, rows, 1);
  double *lo = problem_take_matrix(arena, rows, 1), *hi = problem_take_matrix(arena, rows, 1);
  double *mu = problem_take_matrix(arena, contacts, 1),
         *E = problem_take_matrix(arena, 2 * contacts, contacts);
  // The bounds of friction rows are given for a normal impulse of 1 N s.
  for (int i = 0; i < rows; i++) {
    const S2Row *row = &problem->row[i];
    C[i] = row->compliance;
    bias[i] = row->bias;
    lo[i] = row->coupled_to >= 0 ? -row->mu : row->lo;
    hi[i] = row->coupled_to >= 0 ? row->mu : row->hi;
    if (row->coupled_to >= 0) {
      mu[at++] = row->mu;
    }
  }
  // E maps a contact to its two directions of friction.
  for (int i = 0; i < contacts; i++) {
    E[(size_t)(2 * i) * (size_t)contacts + (size_t)i] = 1;
    E[(size_t)(2 * i + 1) * (size_t)contacts + (size_t)i] = 1;
  }
  s2_lua_set_numbers(L, "C", C, rows);
  s2_lua_set_numbers(L, "bias", bias, rows);
  s2_lua_set_numbers(L, "lo", lo, rows);
  s2_lua_set_numbers(L, "hi", hi, rows);
  s2_lua_set_numbers(L, "mu", mu, contacts);
  s2_lua_set_matrix(L, "E", E, 2 * contacts, contacts);
}

void s2_lua_set_problem(lua_State *L, const S2Problem *problem, S2Arena *arena) {
  int columns = 3 * problem->nodes, contacts = 0;
  for (int i = 0; i < problem->rows; i++) {
    contacts += problem->row[i].coupled_to >= 0;
  }
  // Use full matrices, because they are small and meant to be read.
  double *M = problem_take_matrix(arena, columns, columns);
  for (int i = 0; i < columns; i++) {
    M[(size_t)i * (size_t)columns + (size_t)i] = problem->mass[i];
  }
  s2_lua_set_matrix(L, "M", M, columns, columns);
  s2_lua_set_numbers(L, "rhs", problem->rhs, columns);
  double *J = problem_jacobian(problem, arena);
  s2_lua_set_matrix(L, "J", J, problem->rows, columns);
  set_delassus(L, problem, J, arena);
  set_rows(L, problem, contacts, arena);
  lua_pushinteger(L, problem->rows - 2 * contacts);
  lua_setfield(L, -2, "joints");
  lua_pushinteger(L, contacts);
  lua_setfield(L, -2, "contacts");
}

// Runs everything that can raise an error, under pcall, so that the caller can free the problem.
// Arguments: world, problem, bodies, scratch.
static int build_tables(lua_State *L) {
  const S2Problem *problem = lua_touserdata(L, 2);
  const S2BodyId *bodies = lua_touserdata(L, 3);
  S2Arena *arena = lua_touserdata(L, 4);
  lua_createtable(L, 0, 14);
  // Push the body of each node.
  lua_createtable(L, problem->nodes, 0);
  for (int i = 0; i < problem->nodes; i++) {
    if (bodies[i].index == 0) {
      lua_pushboolean(L, 0);
    } else {
      s2_lua_push_body(L, 1, bodies[i]);
    }
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "bodies");
  s2_lua_set_problem(L, problem, arena);
  return 1;
}

static int world_problem(lua_State *L) {
  S2LuaWorld *lw = s2_lua_world(L, 1);
  s2_lua_step_open(L, lw, "world:problem()"); // allows calls of force laws and filters
  s2_arena_reset(&lw->scratch);
  int capacity = s2_world_bodies(lw->world, NULL, 0) + s2_world_joints(lw->world, NULL, 0);
  // A node is a body or, for gears, a joint.
  S2BodyId *bodies = S2_TAKE(&lw->scratch, S2BodyId, capacity + 1);
  S2Problem *problem = NULL;
  S2Status status = s2_world_problem(lw->world, &problem, bodies, capacity);
  if (status.code != S2_OK) {
    s2_lua_step_failed(L, lw, status);
  }
  // The problem is freed even if building the tables raises an error.
  lua_pushcfunction(L, build_tables);
  lua_pushvalue(L, 1);
  lua_pushlightuserdata(L, problem);
  lua_pushlightuserdata(L, bodies);
  lua_pushlightuserdata(L, &lw->scratch);
  int failed = lua_pcall(L, 4, 1, 0);
  s2_problem_free(problem);
  return failed != LUA_OK ? lua_error(L) : 1;
}

// ---- Dynamics ---------------------------------------------------------------------------------

// Returns the 3n x 3n mass matrix over the dynamic bodies in creation order, as in world:state().
static int world_mass_matrix(lua_State *L) {
  S2LuaWorld *lw = s2_lua_world(L, 1);
  int count, columns = 0;
  const S2BodyId *bodies = s2_lua_bodies(lw, &count);
  s2_arena_reset(&lw->scratch);
  double *mass = problem_take_matrix(&lw->scratch, 3 * count, 1);
  // Static and kinematic bodies have no columns.
  for (int i = 0; i < count; i++) {
    double type, m, inertia;
    s2_lua_try(L, s2_body_get(lw->world, bodies[i], S2_BODY_TYPE, &type));
    s2_lua_try(L, s2_body_get(lw->world, bodies[i], S2_BODY_MASS, &m));
    s2_lua_try(L, s2_body_get(lw->world, bodies[i], S2_BODY_INERTIA, &inertia));
    if ((S2BodyType)(int)type == S2_DYNAMIC) {
      mass[columns++] = inertia;
      mass[columns++] = m;
      mass[columns++] = m;
    }
  }
  double *matrix = problem_take_matrix(&lw->scratch, columns, columns);
  for (int i = 0; i < columns; i++) {
    matrix[(size_t)i * (size_t)columns + (size_t)i] = mass[i];
  }
  s2_lua_push_matrix(L, matrix, columns, columns);
  return 1;
}

// Returns the 2 x 3 matrix that gives the velocity of a point fixed to a body from v = (va, vx,
// vy).
static int world_jacobian(lua_State *L) {
  S2LuaWorld *lw = s2_lua_world(L, 1);
  S2LuaBody *body = s2_lua_body_of(L, 2, lw);
  S2Vec2 point = s2_argument_vec2(L, 3);
  double q[3];
  s2_lua_try(L, s2_body_q(lw->world, body->id, q));
  const double rows[] = {-(point.y - q[2]), 1, 0, point.x - q[1], 0, 1};
  s2_lua_push_matrix(L, rows, 2, 3);
  return 1;
}

const luaL_Reg s2_world_problem_methods[] = {{"problem", world_problem},
                                             {"mass_matrix", world_mass_matrix},
                                             {"jacobian", world_jacobian},
                                             {NULL, NULL}};
