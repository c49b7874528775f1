// Settings of a world: the keys of sim.world{...} and, later, its fields.
#include "lua/diff/on_tape.h"

#include <math.h>
#include <string.h>

typedef enum Setting {
  GRAVITY,
  DT,
  SOLVER,
  CONTACT,
  STEPPING,
  RESTITUTION_MODEL,
  TOLERANCE,
  MAX_ITERATIONS,
  CONTACT_MARGIN,
  STABILIZATION,
  POST_STABILIZATION,
  ALPHA,
  BETA,
  FORMULATION,
  ELASTICITY,
  GEOMETRIC_STIFFNESS,
  GRADIENT,
  SMOOTHING,
  COMBINE_FRICTION,
  COMBINE_RESTITUTION,
  SUBSTEPS,
  NONLINEAR,
  LINEAR_SOLVER,
  SETTING_COUNT
} Setting;

const char *const s2_setting_names[] = {
    [GRAVITY] = "gravity",
    [DT] = "dt",
    [SOLVER] = "solver",
    [CONTACT] = "contact",
    [STEPPING] = "stepping",
    [RESTITUTION_MODEL] = "restitution_model",
    [TOLERANCE] = "tolerance",
    [MAX_ITERATIONS] = "max_iterations",
    [CONTACT_MARGIN] = "contact_margin",
    [STABILIZATION] = "stabilization",
    [POST_STABILIZATION] = "post_stabilization",
    [ALPHA] = "alpha",
    [BETA] = "beta",
    [FORMULATION] = "formulation",
    [ELASTICITY] = "elasticity",
    [GEOMETRIC_STIFFNESS] = "geometric_stiffness",
    [GRADIENT] = "gradient",
    [SMOOTHING] = "smoothing",
    [COMBINE_FRICTION] = "combine_friction",
    [COMBINE_RESTITUTION] = "combine_restitution",
    [SUBSTEPS] = "substeps",
    [NONLINEAR] = "nonlinear",
    [LINEAR_SOLVER] = "linear_solver",
    [SETTING_COUNT] = NULL,
};

// The values of the contract, in the order of the engine's enums.
static const char *const contact_names[] = {"coulomb", "frictionless", NULL};
static const char *const stepping_names[] = {"speculative", "bisect", "event", "auto", NULL};
static const char *const stabilization_names[] = {"projection", "none",          "baumgarte", "pre",
                                                  "post",       "post_assembly", NULL};
static const char *const combine_names[] = {"geometric", "average", "multiply", "min", "max", NULL};
static const char *const restitution_model_names[] = {"newton", "reflections", NULL};
static const char *const formulation_names[] = {"velocity", "acceleration", "variation", NULL};
static const char *const elasticity_names[] = {"compliance", "stiffness", NULL};
static const char *const geometric_stiffness_names[] = {"off", "on", "psd", NULL};
static const char *const gradient_names[] = {"exact", "smooth", NULL};
static const char *const linear_solver_names[] = {"auto", "ldlt", "cholesky", "cg", "minres", NULL};

// A number from 0 to 1.
static bool read_part(lua_State *L, int index, double *part, S2Complaint *complaint) {
  double value;
  if (!s2_value_number(L, index, S2_NON_NEGATIVE, &value, complaint)) {
    return false;
  }
  if (value > 1) {
    char text[S2_LUA_TEXT];
    return s2_complain(complaint, "a number from 0 to 1 expected, got %s",
                       s2_lua_describe(L, index, text));
  }
  *part = value;
  return true;
}

static bool read_solver(lua_State *L, int index, S2Solver *solver, S2Complaint *complaint) {
  const char *names[S2_SOLVER_COUNT + 1];
  for (int i = 0; i < S2_SOLVER_COUNT; i++) {
    names[i] = s2_solver_name((S2Solver)i);
  }
  names[S2_SOLVER_COUNT] = NULL;
  int value;
  if (!s2_value_choice(L, index, names, &value, complaint)) {
    return false;
  }
  *solver = (S2Solver)value;
  return true;
}

bool s2_setting_read(lua_State *L, int index, int setting, S2WorldDef *def,
                     S2Complaint *complaint) {
  int choice = 0;
  bool flag = false, good = false;
  int64_t integer = 0;
  switch ((Setting)setting) {
  case GRAVITY:
    return s2_value_vec2(L, index, &def->gravity, complaint);
  case DT:
    return s2_value_number(L, index, S2_POSITIVE, &def->dt, complaint);
  case SOLVER:
    return read_solver(L, index, &def->solver, complaint);
  case CONTACT:
    good = s2_value_choice(L, index, contact_names, &choice, complaint);
    def->contact = good ? (S2ContactModel)choice : def->contact;
    return good;
  case STEPPING:
    good = s2_value_choice(L, index, stepping_names, &choice, complaint);
    def->stepping = good ? (S2Stepping)choice : def->stepping;
    return good;
  case STABILIZATION:
    good = s2_value_choice(L, index, stabilization_names, &choice, complaint);
    def->stabilization = good ? (S2Stabilization)choice : def->stabilization;
    return good;
  case POST_STABILIZATION:
    good = s2_value_boolean(L, index, &flag, complaint);
    if (good) {
      def->stabilization = flag ? S2_PROJECTION : S2_NO_STABILIZATION;
    }
    return good;
  case TOLERANCE:
    return s2_value_number(L, index, S2_POSITIVE, &def->tolerance, complaint);
  case MAX_ITERATIONS:
    good = s2_value_integer(L, index, 1, INT32_MAX, &integer, complaint);
    def->max_iterations = good ? (int)integer : def->max_iterations;
    return good;
  case CONTACT_MARGIN:
    return s2_value_number(L, index, S2_NON_NEGATIVE, &def->contact_margin, complaint);
  case COMBINE_FRICTION:
    good = s2_value_choice(L, index, combine_names, &choice, complaint);
    def->combine_friction = good ? (S2Combine)choice : def->combine_friction;
    return good;
  case COMBINE_RESTITUTION:
    good = s2_value_choice(L, index, combine_names, &choice, complaint);
    def->combine_restitution = good ? (S2Combine)choice : def->combine_restitution;
    return good;
  case RESTITUTION_MODEL:
    good = s2_value_choice(L, index, restitution_model_names, &choice, complaint);
    def->restitution_model = good ? (S2RestitutionModel)choice : def->restitution_model;
    return good;
  case FORMULATION:
    good = s2_value_choice(L, index, formulation_names, &choice, complaint);
    def->formulation = good ? (S2Formulation)choice : def->formulation;
    return good;
  case ELASTICITY:
    good = s2_value_choice(L, index, elasticity_names, &choice, complaint);
    def->elasticity = good ? (S2Elasticity)choice : def->elasticity;
    return good;
  case GEOMETRIC_STIFFNESS:
    good = s2_value_choice(L, index, geometric_stiffness_names, &choice, complaint);
    def->geometric_stiffness = good ? (S2GeometricStiffness)choice : def->geometric_stiffness;
    return good;
  case GRADIENT:
    good = s2_value_choice(L, index, gradient_names, &choice, complaint);
    def->gradient = good ? (S2GradientMode)choice : def->gradient;
    return good;
  case LINEAR_SOLVER:
    good = s2_value_choice(L, index, linear_solver_names, &choice, complaint);
    def->linear_solver = good ? (S2LinearSolver)choice : def->linear_solver;
    return good;
  case ALPHA:
    return read_part(L, index, &def->alpha, complaint);
  case BETA:
    return read_part(L, index, &def->beta, complaint);
  case SMOOTHING:
    return s2_value_number(L, index, S2_POSITIVE, &def->smoothing, complaint);
  case SUBSTEPS:
    good = s2_value_integer(L, index, 1, INT32_MAX, &integer, complaint);
    def->substeps = good ? (int)integer : def->substeps;
    return good;
  case NONLINEAR:
    return s2_value_boolean(L, index, &def->nonlinear, complaint);
  case SETTING_COUNT:
    break;
  }
  return s2_complain(complaint, "no such setting");
}

void s2_setting_push(lua_State *L, int setting, const S2WorldDef *def) {
  switch ((Setting)setting) {
  case GRAVITY:
    s2_lua_push_vec2(L, def->gravity, "world.gravity");
    return;
  case DT:
    lua_pushnumber(L, def->dt);
    return;
  case SOLVER:
    lua_pushstring(L, s2_solver_name(def->solver));
    return;
  case CONTACT:
    lua_pushstring(L, contact_names[def->contact]);
    return;
  case STEPPING:
    lua_pushstring(L, stepping_names[def->stepping]);
    return;
  case STABILIZATION:
    lua_pushstring(L, stabilization_names[def->stabilization]);
    return;
  case POST_STABILIZATION:
    lua_pushboolean(L, def->stabilization != S2_NO_STABILIZATION);
    return;
  case TOLERANCE:
    lua_pushnumber(L, def->tolerance);
    return;
  case MAX_ITERATIONS:
    lua_pushinteger(L, def->max_iterations);
    return;
  case CONTACT_MARGIN:
    lua_pushnumber(L, def->contact_margin);
    return;
  case COMBINE_FRICTION:
    lua_pushstring(L, combine_names[def->combine_friction]);
    return;
  case COMBINE_RESTITUTION:
    lua_pushstring(L, combine_names[def->combine_restitution]);
    return;
  case RESTITUTION_MODEL:
    lua_pushstring(L, restitution_model_names[def->restitution_model]);
    return;
  case FORMULATION:
    lua_pushstring(L, formulation_names[def->formulation]);
    return;
  case ELASTICITY:
    lua_pushstring(L, elasticity_names[def->elasticity]);
    return;
  case GEOMETRIC_STIFFNESS:
    lua_pushstring(L, geometric_stiffness_names[def->geometric_stiffness]);
    return;
  case GRADIENT:
    lua_pushstring(L, gradient_names[def->gradient]);
    return;
  case LINEAR_SOLVER:
    lua_pushstring(L, linear_solver_names[def->linear_solver]);
    return;
  case ALPHA:
    lua_pushnumber(L, def->alpha);
    return;
  case BETA:
    lua_pushnumber(L, def->beta);
    return;
  case SMOOTHING:
    lua_pushnumber(L, def->smoothing);
    return;
  case SUBSTEPS:
    lua_pushinteger(L, def->substeps);
    return;
  case NONLINEAR:
    lua_pushboolean(L, def->nonlinear);
    return;
  case SETTING_COUNT:
    break;
  }
  lua_pushnil(L);
}

// ---- Tracked ----------------------------------------------------------------------------------

// Places of a setting that has a derivative; returns how many.
static int places_of(int setting, S2Place places[2]) {
  static const struct {
    Setting setting;
    S2WorldNumber number;
    int count;
  } numbers[] = {{GRAVITY, S2_OF_GRAVITY_X, 2},
                 {DT, S2_OF_DT, 1},
                 {ALPHA, S2_OF_ALPHA, 1},
                 {BETA, S2_OF_BETA, 1}};
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    if ((int)numbers[i].setting == setting) {
      places[0] = s2_place(S2_PLACE_WORLD, 0, (int)numbers[i].number);
      places[1] = s2_place(S2_PLACE_WORLD, 0, (int)numbers[i].number + 1);
      return numbers[i].count;
    }
  }
  return 0;
}

S2SettingReads s2_setting_reads(lua_State *L, const S2LuaWorld *lw) {
  S2SettingReads reads = {.object = lua_gettop(L)};
  reads.begin = s2_lua_writes(L, lw);
  return reads;
}

void s2_setting_was_read(lua_State *L, int setting, const S2WorldDef *def, S2SettingReads *reads) {
  const S2LuaRead *list;
  S2Place places[2];
  if (reads->begin == 0) {
    return;
  }
  int count = s2_lua_tracked_count(L, reads->begin, &list), known = places_of(setting, places);
  if (count > reads->count && known == 0) {
    s2_lua_fail(L, "World.%s has no derivative: give a plain number, x:value() of a tracked one",
                s2_setting_names[setting]);
  }
  for (int r = reads->count; r < count; r++) {
    bool second = setting == GRAVITY && list[r].where == &def->gravity.y;
    reads->term[reads->terms++] =
        (S2Term){.to = reads->places + (second ? 1 : 0), .from = list[r].var, .factor = 1};
  }
  for (int i = 0; i < known && (size_t)reads->places < sizeof reads->place / sizeof places[0];
       i++) {
    reads->place[reads->places++] = places[i];
  }
  reads->count = count;
}

void s2_setting_wrote(lua_State *L, S2LuaWorld *lw, const S2SettingReads *reads) {
  const S2LuaRead *list;
  int count;
  S2WorldTape *tape = s2_lua_written(L, lw, reads->begin, &count, &list);
  if (tape != NULL && reads->places > 0) {
    s2_world_tape_write(tape, lw->world, reads->places, reads->place, reads->terms, reads->term);
    for (int i = 0; i < reads->terms; i++) {
      lw->dt_on_tape |= reads->place[reads->term[i].to].number == S2_OF_DT;
    }
  }
}

bool s2_setting_push_tracked(lua_State *L, int setting, S2LuaWorld *lw) {
  S2Place places[2];
  int count = places_of(setting, places);
  if (count == 1) {
    s2_lua_push_place(L, lw, places[0]);
  } else if (count == 2) {
    s2_lua_push_places(L, lw, count, places);
  }
  return count > 0;
}
