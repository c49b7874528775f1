// The C part of the planners of sim.control: worlds as models, and iLQR. Only
// lua/sim2d/control/*.lua calls these functions, after it has checked the arguments of the script.
#include "lua/plan/plan.h"

#include "lua/batch/batch.h"
#include "lua/diff/array.h"
#include "lua/diff/on_tape.h"

#include "plan/ilqr.h"

#include <string.h>

#define MODEL "sim2d.Model"
#define ILQR  "sim2d.Ilqr"

typedef struct Model { // user values: the world, the function of additional residuals
  S2Model *model;
  S2LuaWorld *lw;
  lua_State *L; // Lua state of the running call, with the model at index `at`
  int at;
  int knots, extra;
} Model;

typedef struct Ilqr { // user value: the model
  S2Ilqr *ilqr;
  Model *model;
  int knots;
} Ilqr;

// ---- Reading ----------------------------------------------------------------------------------

// Reads the body or joint at the top of the stack and pops it.
static S2Coordinate plan_object(lua_State *L) {
  S2Coordinate of = {.part = 0};
  const S2LuaBody *body = s2_lua_test(L, -1, s2_type_body);
  const S2LuaJoint *joint = s2_lua_test(L, -1, s2_type_joint);
  if (body != NULL) {
    of.body = body->id;
  } else if (joint != NULL) {
    of.joint = joint->id;
  } else {
    s2_lua_fail(L, "a body or joint expected");
  }
  lua_pop(L, 1);
  return of;
}

static double plan_number(lua_State *L, int table, int i) {
  lua_rawgeti(L, table, i);
  double number = lua_tonumber(L, -1);
  lua_pop(L, 1);
  return number;
}

static int plan_integer(lua_State *L, int table, const char *key) {
  lua_getfield(L, table, key);
  int number = (int)lua_tointeger(L, -1);
  lua_pop(L, 1);
  return number;
}

// Reads a list of {object, part [, x, y]}.
static int plan_read_outputs(lua_State *L, int list, S2Arena *arena, S2Output **out) {
  int count = (int)lua_rawlen(L, list);
  S2Output *outputs = S2_TAKE_ZEROED(arena, S2Output, count + 1);
  for (int i = 0; i < count; i++) {
    lua_rawgeti(L, list, i + 1);
    int entry = lua_gettop(L);
    lua_rawgeti(L, entry, 1);
    outputs[i].of = plan_object(L);
    outputs[i].of.part = (int)plan_number(L, entry, 2);
    outputs[i].is_point = lua_rawlen(L, entry) >= 4;
    outputs[i].at = s2_vec2(plan_number(L, entry, 3), plan_number(L, entry, 4));
    lua_settop(L, entry - 1);
  }
  *out = outputs;
  return count;
}

static int plan_read_coordinates(lua_State *L, int list, S2Arena *arena, S2Coordinate **out) {
  *out = NULL;
  if (lua_type(L, list) != LUA_TTABLE) {
    return 0;
  }
  int count = (int)lua_rawlen(L, list);
  *out = S2_TAKE_ZEROED(arena, S2Coordinate, count + 1);
  for (int i = 0; i < count; i++) {
    lua_rawgeti(L, list, i + 1);
    (*out)[i] = plan_object(L);
  }
  return count;
}

// ---- The model --------------------------------------------------------------------------------

// Calls the script's function of residuals, f(world, derivatives). It returns a list of numbers
// and, if wanted, a list of their derivatives with respect to the state.
static bool plan_extra(void *user, S2World *world, double *y, double *dstate) {
  Model *model = user;
  lua_State *L = model->L;
  S2LuaWorld *lw = model->lw;
  int top = lua_gettop(L), states = s2_world_state_size(world);
  S2Phase phase = lw->phase;
  // The function runs as if outside a step, so it may read anything and set the state to compute
  // derivatives.
  lw->phase = S2_IDLE;
  lua_getiuservalue(L, model->at, 2);
  lua_getiuservalue(L, model->at, 1);
  lua_pushboolean(L, dstate != NULL);
  bool good = lua_pcall(L, 2, 2, lw->at_handler) == LUA_OK;
  lw->phase = phase;
  if (!good) {
    lua_setiuservalue(L, 1, S2_STORE_ERROR);
    lw->failed = true;
    lua_settop(L, top);
    return false;
  }
  for (int i = 0; i < model->extra; i++) {
    y[i] = plan_number(L, top + 1, i + 1);
    if (dstate != NULL) {
      lua_rawgeti(L, top + 2, i + 1);
      for (int k = 0; k < states; k++) {
        dstate[i * states + k] = plan_number(L, top + 3, k + 1);
      }
      lua_settop(L, top + 2);
    }
  }
  lua_settop(L, top);
  return true;
}

static int model_gc(lua_State *L) {
  Model *model = luaL_checkudata(L, 1, MODEL);
  s2_model_close(model->model);
  model->model = NULL;
  return 0;
}

// Creates a model from (world, {coordinates=, outputs=, knots=, steps=, extra=, extra_count=}).
static int plan_model(lua_State *L) {
  S2LuaWorld *lw = s2_lua_world(L, 1);
  lua_settop(L, 2);
  s2_lua_not_on_tape(L, lw, "a planner");
  // Read everything before creating the model, so that an error leaks no memory.
  s2_arena_reset(&lw->scratch);
  S2ModelDef def = {.world = lw->world,
                    .knots = plan_integer(L, 2, "knots"),
                    .steps = plan_integer(L, 2, "steps"),
                    .extra_count = plan_integer(L, 2, "extra_count")};
  S2Output *outputs;
  S2Coordinate *coordinates;
  lua_getfield(L, 2, "outputs");
  def.output_count = plan_read_outputs(L, 3, &lw->scratch, &outputs);
  lua_getfield(L, 2, "coordinates");
  def.coordinate_count = plan_read_coordinates(L, 4, &lw->scratch, &coordinates);
  def.outputs = outputs;
  def.coordinates = coordinates;
  lua_settop(L, 4);
  // The workers outlive the model, because the binding keeps all of them.
  if (lua_getfield(L, 2, "workers") != LUA_TNIL) {
    def.workers = s2_lua_workers(L, 5);
  }
  lua_settop(L, 4);
  Model *model = lua_newuserdatauv(L, sizeof *model, 2);
  *model = (Model){.lw = lw, .knots = def.knots, .extra = def.extra_count};
  luaL_setmetatable(L, MODEL);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, 5, 1);
  lua_getfield(L, 2, "extra");
  lua_setiuservalue(L, 5, 2);
  def.extra = def.extra_count > 0 ? plan_extra : NULL;
  def.user = model;
  s2_lua_try(L, s2_model_open(&def, &model->model));
  return 1;
}

static Model *plan_check(lua_State *L, int index) {
  Model *model = luaL_checkudata(L, index, MODEL);
  if (model->model == NULL || model->lw->world == NULL) {
    s2_lua_fail(L, "the planner's world is closed");
  }
  return model;
}

// Opens a step of the model's world, so that callbacks of the script may run. Inserts the world as
// argument 1, which moves the model up by 1.
static void plan_open(lua_State *L, Model *model, int at) {
  lua_getiuservalue(L, at, 1);
  lua_insert(L, 1);
  model->L = L;
  model->at = at + 1;
  s2_lua_step_open(L, model->lw, "a planner");
  model->lw->random_before = model->lw->session->random->rng;
  model->lw->phase = S2_INSIDE;
}

static void plan_done(lua_State *L, Model *model, S2Status status) {
  S2LuaWorld *lw = model->lw;
  lw->phase = S2_BETWEEN;
  lw->session->random->rng = lw->random_before;
  s2_lua_world_changed(lw);
  if (status.code != S2_OK) {
    s2_lua_step_failed(L, lw, status);
  }
}

// model:start(): makes the current state of the world the initial state of trajectories
static int model_start(lua_State *L) {
  s2_model_start(plan_check(L, 1)->model);
  return 0;
}

// model:follow(world): makes the state of `world` the initial state of trajectories. The model's
// world is a clone of `world`.
static int model_follow(lua_State *L) {
  Model *model = plan_check(L, 1);
  const S2LuaWorld *from = s2_lua_world(L, 2);
  S2LuaWorld *lw = model->lw;
  size_t size = s2_world_image_size(from->world);
  s2_arena_reset(&lw->scratch);
  unsigned char *image = S2_TAKE(&lw->scratch, unsigned char, size);
  s2_world_image_write(from->world, image);
  s2_lua_try(L, s2_world_image_read(lw->world, image, size));
  s2_lua_world_changed(lw);
  s2_model_start(model->model);
  return 0;
}

// model:rewind(): restores the initial state of trajectories in the world
static int model_rewind(lua_State *L) {
  Model *model = plan_check(L, 1);
  s2_lua_try(L, s2_model_rewind(model->model));
  s2_lua_world_changed(model->lw);
  return 0;
}

static void plan_push_numbers(lua_State *L, const double *numbers, int rows, int columns) {
  S2LuaArray *array = s2_lua_array_push(L, (S2Size){2, rows, columns});
  memcpy(array->data, numbers, sizeof(double) * (size_t)(rows * columns));
}

// model:sizes(): returns the numbers of states, inputs and outputs, and the time between knots (s).
static int model_sizes(lua_State *L) {
  const S2Model *model = plan_check(L, 1)->model;
  lua_pushinteger(L, s2_model_states(model));
  lua_pushinteger(L, s2_model_inputs(model));
  lua_pushinteger(L, s2_model_outputs(model));
  lua_pushnumber(L, s2_model_period(model));
  return 4;
}

// model:coordinates(): returns {{object, part}, ...}.
static int model_coordinates(lua_State *L) {
  Model *model = plan_check(L, 1);
  const S2Coordinate *list = s2_model_coordinates(model->model);
  int count = s2_model_states(model->model) / 2;
  lua_getiuservalue(L, 1, 1);
  int world = lua_gettop(L);
  lua_createtable(L, count, 0);
  for (int i = 0; i < count; i++) {
    lua_createtable(L, 2, 0);
    if (list[i].joint.index != 0) {
      s2_lua_push_joint(L, world, list[i].joint);
    } else {
      s2_lua_push_body(L, world, list[i].body);
    }
    lua_rawseti(L, -2, 1);
    lua_pushinteger(L, list[i].part);
    lua_rawseti(L, -2, 2);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

static S2LuaArray *plan_array(lua_State *L, int index, int rows, int columns) {
  S2LuaArray *array = s2_lua_array_check(L, index);
  int size = array->shape.axes == 2 ? array->shape.rows * array->shape.columns : array->shape.rows;
  if (size != rows * columns) {
    s2_lua_fail(L, "%d x %d numbers expected", rows, columns);
  }
  return array;
}

// model:run(u): returns x and y.
static int model_run(lua_State *L) {
  Model *model = plan_check(L, 1);
  int n = s2_model_states(model->model), m = s2_model_inputs(model->model);
  int p = s2_model_outputs(model->model), knots = model->knots;
  S2LuaArray *u = plan_array(L, 2, knots, m);
  lua_settop(L, 2);
  S2LuaArray *x = s2_lua_array_push(L, (S2Size){2, knots + 1, n});
  S2LuaArray *y = s2_lua_array_push(L, (S2Size){2, knots + 1, p > 0 ? p : 1});
  plan_open(L, model, 1);
  plan_done(L, model, s2_model_run(model->model, u->data, NULL, true, x->data, y->data));
  lua_pushvalue(L, 4);
  lua_pushvalue(L, 5);
  return 2;
}

// model:linearize(u): returns x, y, a, b and flags. For each knot, `a` has an n x n matrix and `b`
// an n x m matrix.
static int model_linearize(lua_State *L) {
  Model *model = plan_check(L, 1);
  int n = s2_model_states(model->model), m = s2_model_inputs(model->model);
  int p = s2_model_outputs(model->model), knots = model->knots;
  S2LuaArray *u = plan_array(L, 2, knots, m);
  lua_settop(L, 2);
  S2LuaArray *x = s2_lua_array_push(L, (S2Size){2, knots + 1, n});
  S2LuaArray *y = s2_lua_array_push(L, (S2Size){2, knots + 1, p > 0 ? p : 1});
  S2LuaArray *a = s2_lua_array_push(L, (S2Size){2, knots * n, n});
  S2LuaArray *b = s2_lua_array_push(L, (S2Size){2, knots * n, m});
  double *dy = lua_newuserdatauv(L, sizeof(double) * (size_t)((knots + 1) * p * n + 1), 0);
  S2ModelSlope slope = {a->data, b->data, dy, 0};
  plan_open(L, model, 1);
  plan_done(L, model, s2_model_linearize(model->model, u->data, x->data, y->data, &slope));
  for (int i = 4; i <= 7; i++) {
    lua_pushvalue(L, i);
  }
  lua_pushinteger(L, (lua_Integer)slope.flags);
  return 5;
}

// ---- iLQR -------------------------------------------------------------------------------------

static int ilqr_gc(lua_State *L) {
  Ilqr *ilqr = luaL_checkudata(L, 1, ILQR);
  s2_ilqr_free(ilqr->ilqr);
  ilqr->ilqr = NULL;
  return 0;
}

static double plan_field(lua_State *L, int table, const char *key) {
  lua_getfield(L, table, key);
  double number = lua_tonumber(L, -1);
  lua_pop(L, 1);
  return number;
}

// Reads a list of {first=, count=, goal={...}, weight=, terminal=, norm=number, p=}.
static void plan_read_terms(lua_State *L, int list, S2Arena *arena, S2Cost *cost) {
  cost->count = (int)lua_rawlen(L, list);
  S2PlanTerm *terms = S2_TAKE_ZEROED(arena, S2PlanTerm, cost->count + 1);
  for (int i = 0; i < cost->count; i++) {
    lua_rawgeti(L, list, i + 1);
    int entry = lua_gettop(L);
    S2PlanTerm *term = &terms[i];
    term->first = plan_integer(L, entry, "first");
    term->count = plan_integer(L, entry, "count");
    term->weight = plan_field(L, entry, "weight");
    term->terminal = plan_field(L, entry, "terminal");
    term->norm = (S2Norm)plan_integer(L, entry, "norm");
    term->p = plan_field(L, entry, "p");
    lua_getfield(L, entry, "wrap");
    term->wrap = lua_toboolean(L, -1) != 0;
    lua_pop(L, 1);
    // There is one goal per residual.
    double *goal = S2_TAKE(arena, double, term->count + 1);
    lua_getfield(L, entry, "goal");
    for (int k = 0; k < term->count; k++) {
      goal[k] = plan_number(L, entry + 1, k + 1);
    }
    term->goal = goal;
    lua_settop(L, entry - 1);
  }
  cost->terms = terms;
}

// Creates a solver from (model, {terms=, controls=, goals={{output, value}}, tolerance=,
// violation=}).
static int plan_ilqr(lua_State *L) {
  Model *model = plan_check(L, 1);
  lua_settop(L, 2);
  S2Arena *arena = &model->lw->scratch;
  s2_arena_reset(arena);
  S2IlqrDef def = {.model = model->model,
                   .tolerance = plan_field(L, 2, "tolerance"),
                   .violation = plan_field(L, 2, "violation")};
  lua_getfield(L, 2, "terms");
  plan_read_terms(L, 3, arena, &def.cost);
  lua_getfield(L, 2, "controls");
  def.cost.inputs = s2_model_inputs(model->model);
  double *controls = S2_TAKE(arena, double, def.cost.inputs + 1);
  for (int i = 0; i < def.cost.inputs; i++) {
    controls[i] = plan_number(L, 4, i + 1);
  }
  def.cost.controls = controls;
  lua_getfield(L, 2, "goals");
  def.goal_count = (int)lua_rawlen(L, 5);
  S2IlqrGoal *goals = S2_TAKE(arena, S2IlqrGoal, def.goal_count + 1);
  for (int i = 0; i < def.goal_count; i++) {
    lua_rawgeti(L, 5, i + 1);
    goals[i] = (S2IlqrGoal){(int)plan_number(L, 6, 1), plan_number(L, 6, 2)};
    lua_pop(L, 1);
  }
  def.goals = goals;
  // The solver keeps the model's userdata alive.
  Ilqr *ilqr = lua_newuserdatauv(L, sizeof *ilqr, 1);
  *ilqr = (Ilqr){.model = model, .knots = model->knots};
  luaL_setmetatable(L, ILQR);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, 1);
  s2_lua_try(L, s2_ilqr_new(&def, model->knots, &ilqr->ilqr));
  return 1;
}

// Returns the solver at argument 1 and pushes the model's userdata after the arguments.
static Ilqr *plan_check_ilqr(lua_State *L, int arguments) {
  Ilqr *ilqr = luaL_checkudata(L, 1, ILQR);
  lua_settop(L, arguments);
  lua_getiuservalue(L, 1, 1);
  plan_check(L, arguments + 1);
  return ilqr;
}

static void plan_set(lua_State *L, const char *key, double number) {
  lua_pushnumber(L, number);
  lua_setfield(L, -2, key);
}

// Pushes {state =, iterations =, cost =, violation =, step =, mu =, flags =}.
static int plan_push_result(lua_State *L, const S2IlqrResult *result) {
  static const char *const states[] = {"going", "converged", "stuck"};
  lua_createtable(L, 0, 7);
  lua_pushstring(L, states[result->state]);
  lua_setfield(L, -2, "state");
  lua_pushinteger(L, result->iterations);
  lua_setfield(L, -2, "iterations");
  lua_pushinteger(L, result->threads);
  lua_setfield(L, -2, "threads");
  s2_lua_push_flags(L, result->flags);
  lua_setfield(L, -2, "flags");
  plan_set(L, "cost", result->cost);
  plan_set(L, "violation", result->violation);
  plan_set(L, "step", result->step);
  plan_set(L, "mu", result->mu);
  return 1;
}

// ilqr:set(u [, x, gains]): sets the initial trajectory, or feedback around a trajectory. Returns
// its result before the first iteration.
static int ilqr_set(lua_State *L) {
  Ilqr *ilqr = plan_check_ilqr(L, 4);
  int n = s2_model_states(ilqr->model->model), m = s2_model_inputs(ilqr->model->model);
  const S2LuaArray *u = plan_array(L, 2, ilqr->knots, m), *x = NULL, *gain = NULL;
  if (!lua_isnil(L, 3)) {
    x = plan_array(L, 3, ilqr->knots + 1, n);
    gain = plan_array(L, 4, ilqr->knots * m, n);
  }
  S2IlqrResult result;
  plan_open(L, ilqr->model, 5);
  plan_done(L, ilqr->model,
            x == NULL ? s2_ilqr_set(ilqr->ilqr, u->data, &result)
                      : s2_ilqr_follow(ilqr->ilqr, u->data, x->data, gain->data, &result));
  return plan_push_result(L, &result);
}

// ilqr:iterate(): performs an iteration and returns the result.
static int ilqr_iterate(lua_State *L) {
  Ilqr *ilqr = plan_check_ilqr(L, 1);
  S2IlqrResult result;
  plan_open(L, ilqr->model, 2);
  plan_done(L, ilqr->model, s2_ilqr_iterate(ilqr->ilqr, &result));
  return plan_push_result(L, &result);
}

// ilqr:gradient(): returns d(cost)/du, an array of size knots x m.
static int ilqr_gradient(lua_State *L) {
  Ilqr *ilqr = plan_check_ilqr(L, 1);
  int m = s2_model_inputs(ilqr->model->model);
  S2LuaArray *gradient = s2_lua_array_push(L, (S2Size){2, ilqr->knots, m});
  plan_open(L, ilqr->model, 2);
  plan_done(L, ilqr->model, s2_ilqr_gradient(ilqr->ilqr, gradient->data));
  lua_pushvalue(L, 4);
  return 1;
}

static int ilqr_forget(lua_State *L) {
  s2_ilqr_forget(((Ilqr *)luaL_checkudata(L, 1, ILQR))->ilqr);
  return 0;
}

// ilqr:gains(): computes the gains about the present trajectory. Returns the decrease of the cost
// that is predicted for another step, relative to the cost.
static int ilqr_gains(lua_State *L) {
  Ilqr *ilqr = plan_check_ilqr(L, 1);
  double expected;
  plan_open(L, ilqr->model, 2);
  plan_done(L, ilqr->model, s2_ilqr_gains(ilqr->ilqr, &expected));
  lua_pushnumber(L, expected);
  return 1;
}

// ilqr:terms(count): returns the contribution of each cost term, and its largest slope in a
// command.
static int ilqr_terms(lua_State *L) {
  int count = (int)luaL_checkinteger(L, 2);
  Ilqr *ilqr = plan_check_ilqr(L, 1);
  S2LuaArray *value = s2_lua_array_push(L, s2_size_list(count));
  S2LuaArray *slope = s2_lua_array_push(L, s2_size_list(count));
  plan_open(L, ilqr->model, 2);
  plan_done(L, ilqr->model, s2_ilqr_terms(ilqr->ilqr, value->data, slope->data));
  lua_pushvalue(L, 4);
  lua_pushvalue(L, 5);
  return 2;
}

// ilqr:plan(): returns u, x, y and the gains, an m x n matrix for each knot.
static int ilqr_plan(lua_State *L) {
  const Ilqr *ilqr = luaL_checkudata(L, 1, ILQR);
  S2IlqrPlan plan = s2_ilqr_plan(ilqr->ilqr);
  plan_push_numbers(L, plan.u, plan.knots, plan.m);
  plan_push_numbers(L, plan.x, plan.knots + 1, plan.n);
  plan_push_numbers(L, plan.y, plan.knots + 1, plan.p);
  plan_push_numbers(L, plan.gain, plan.knots * plan.m, plan.n);
  return 4;
}

static void plan_class(lua_State *L, const char *name, const luaL_Reg *methods, lua_CFunction gc) {
  luaL_newmetatable(L, name);
  lua_newtable(L);
  luaL_setfuncs(L, methods, 0);
  lua_setfield(L, -2, "__index");
  lua_pushcfunction(L, gc);
  lua_setfield(L, -2, "__gc");
  lua_pop(L, 1);
}

void s2_lua_open_plan(lua_State *L) {
  static const luaL_Reg models[] = {{"start", model_start},
                                    {"follow", model_follow},
                                    {"rewind", model_rewind},
                                    {"sizes", model_sizes},
                                    {"coordinates", model_coordinates},
                                    {"run", model_run},
                                    {"linearize", model_linearize},
                                    {NULL, NULL}};
  static const luaL_Reg solvers[] = {{"set", ilqr_set},           {"iterate", ilqr_iterate},
                                     {"gradient", ilqr_gradient}, {"forget", ilqr_forget},
                                     {"gains", ilqr_gains},       {"terms", ilqr_terms},
                                     {"plan", ilqr_plan},         {NULL, NULL}};
  plan_class(L, MODEL, models, model_gc);
  plan_class(L, ILQR, solvers, ilqr_gc);
}

// (clone, world): gives the clone the force laws of the world. The functions are shared. While they
// run for the clone, their body objects show the state of the clone.
static int plan_lend_laws(lua_State *L) {
  s2_lua_world(L, 1);
  s2_lua_world(L, 2);
  lua_getiuservalue(L, 2, S2_STORE_LAWS);
  lua_setiuservalue(L, 1, S2_STORE_LAWS);
  s2_lua_laws_sync(L, 1);
  return 0;
}

const luaL_Reg s2_lua_plan_functions[] = {
    {"model", plan_model}, {"ilqr", plan_ilqr}, {"lend_laws", plan_lend_laws}, {NULL, NULL}};
