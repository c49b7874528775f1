// Functions that read a world: contacts, energy, residuals, statistics, queries.
#include "lua/base/keys.h"
#include "lua/diff/on_tape.h"

#include <string.h>

static void set_number(lua_State *L, const char *key, double value) {
  lua_pushnumber(L, value + 0.0); // + 0.0 turns -0 into 0
  lua_setfield(L, -2, key);
}

static void set_integer(lua_State *L, const char *key, uint64_t value) {
  lua_pushinteger(L, (lua_Integer)value);
  lua_setfield(L, -2, key);
}

static void set_body(lua_State *L, int world, const char *key, S2BodyId body) {
  s2_lua_push_body(L, world, body);
  lua_setfield(L, -2, key);
}

// ---- Contacts ---------------------------------------------------------------------------------

static void set_list2(lua_State *L, const char *key, S2Vec2 value, S2Var var) {
  // Without a node, store a plain copy, otherwise a tracked list.
  const double numbers[2] = {value.x, value.y};
  if (var == 0) {
    s2_lua_push_vec2(L, value, NULL);
  } else {
    s2_lua_push_list(L, 2, numbers, var);
  }
  lua_setfield(L, -2, key);
}

static void set_tracked(lua_State *L, const char *key, double value, S2Var var) {
  s2_lua_tracked_push(L, value + 0.0, var);
  lua_setfield(L, -2, key);
}

void s2_lua_push_contacts(lua_State *L, int world, S2BodyId body) {
  S2LuaWorld *lw = lua_touserdata(L, world);
  // The engine creates the list on demand.
  int count, listed = 0;
  (void)s2_world_contacts(lw->world, &count);
  lua_createtable(L, body.index == 0 ? count : 0, 0);
  for (int i = 0; i < count; i++) {
    // Get the list again at each pass, because creating objects may run finalisers of the script.
    const S2Contact *contacts = s2_world_contacts(lw->world, &count);
    if (i >= count) {
      break;
    }
    S2Contact contact = contacts[i];
    if (body.index != 0 && contact.a.serial != body.serial && contact.b.serial != body.serial) {
      continue;
    }
    // Create a table per contact, with tracked numbers if the world is on a tape.
    lua_createtable(L, 0, 10);
    set_body(L, world, "a", contact.a);
    set_body(L, world, "b", contact.b);
    S2WorldTape *tape = s2_lua_on_tape(lw);
    S2ContactVars vars = {0};
    if (tape != NULL) {
      vars = s2_world_tape_contact(tape, lw->world, &contact);
    }
    set_list2(L, "point", contact.point, vars.point);
    set_list2(L, "normal", contact.normal, vars.normal);
    set_tracked(L, "gap", contact.gap, vars.gap);
    set_tracked(L, "normal_impulse", contact.normal_impulse, vars.normal_impulse);
    set_tracked(L, "tangent_impulse", contact.tangent_impulse, vars.tangent_impulse);
    set_tracked(L, "angular_impulse_a", contact.angular_impulse_a, vars.angular_impulse_a);
    set_tracked(L, "angular_impulse_b", contact.angular_impulse_b, vars.angular_impulse_b);
    lua_pushboolean(L, contact.sliding);
    lua_setfield(L, -2, "sliding");
    lua_rawseti(L, -2, ++listed);
  }
}

static int world_contacts(lua_State *L) {
  s2_lua_world(L, 1);
  s2_lua_push_contacts(L, 1, (S2BodyId){0, 0});
  return 1;
}

// ---- Numbers ----------------------------------------------------------------------------------

static void world_measure_energy(const void *user, const S2World *world, double *numbers) {
  (void)user;
  S2Energy energy = s2_world_energy(world);
  numbers[0] = energy.kinetic;
  numbers[1] = energy.potential;
}

static void world_measure_momentum(const void *user, const S2World *world, double *numbers) {
  (void)user;
  s2_world_momentum(world, numbers);
}

// Pushes a quantity that depends on all bodies and joints.
static void push_of_all(lua_State *L, S2LuaWorld *lw, int count, S2WorldMeasure *measure) {
  // Energy and momentum depend on all poses, velocities and masses.
  int most = s2_energy_places(lw->world, NULL, 0);
  s2_arena_reset(&lw->scratch);
  S2Place *places = S2_TAKE(&lw->scratch, S2Place, most);
  s2_energy_places(lw->world, places, most);
  s2_lua_push_measured(L, lw, count, measure, NULL, most, places);
}

static int push_energy_on_tape(lua_State *L, S2LuaWorld *lw) {
  // The energy stored in compliant contacts has no derivative.
  static const char *const names[] = {"kinetic", "potential"};
  if (s2_world_has_soft_contacts(lw->world)) {
    return s2_lua_fail(L, "the energy of compliant contacts has no derivative yet: add up "
                          "body:kinetic_energy() and the other terms instead");
  }
  // Compute both energies at once. The total is their sum, and is recorded on the tape.
  push_of_all(L, lw, 2, world_measure_energy);
  int list = lua_gettop(L);
  lua_createtable(L, 0, 3);
  for (int i = 0; i < 2; i++) {
    lua_geti(L, list, i + 1);
    lua_setfield(L, -2, names[i]);
  }
  lua_geti(L, list, 1);
  lua_geti(L, list, 2);
  lua_arith(L, LUA_OPADD);
  lua_setfield(L, -2, "total");
  return 1;
}

static int world_energy(lua_State *L) {
  S2LuaWorld *lw = s2_lua_world(L, 1);
  if (s2_lua_on_tape(lw) != NULL) {
    return push_energy_on_tape(L, lw);
  }
  S2Energy energy = s2_world_energy(lw->world);
  lua_createtable(L, 0, 3);
  set_number(L, "kinetic", energy.kinetic);
  set_number(L, "potential", energy.potential);
  set_number(L, "total", energy.total);
  return 1;
}

static int world_momentum(lua_State *L) {
  double momentum[3];
  S2LuaWorld *lw = s2_lua_world(L, 1);
  if (s2_lua_on_tape(lw) != NULL) {
    push_of_all(L, lw, 3, world_measure_momentum);
    return 1;
  }
  s2_world_momentum(lw->world, momentum);
  s2_lua_push_vector(L, S2_VECTOR_MOMENTUM, momentum, NULL);
  return 1;
}

static int world_residuals(lua_State *L) {
  S2WorldResiduals residuals = s2_world_residuals(s2_lua_world(L, 1)->world);
  // Store the residuals of the last solve, then the residuals of the positions.
  lua_createtable(L, 0, 7);
  set_number(L, "dynamics", residuals.solve.dynamics);
  set_number(L, "complementarity", residuals.solve.complementarity);
  set_number(L, "cone", residuals.solve.cone);
  set_number(L, "joint", residuals.solve.joint);
  set_number(L, "scaled", residuals.solve.scaled);
  set_number(L, "joint_error", residuals.joint_error);
  set_number(L, "penetration", residuals.penetration);
  set_number(L, "passage", residuals.audit.passage);
  set_number(L, "jump", residuals.audit.jump);
  set_number(L, "slip", residuals.audit.slip);
  set_number(L, "momentum", residuals.audit.momentum);
  set_number(L, "energy", residuals.audit.energy);
  set_number(L, "distance", residuals.audit.distance);
  set_number(L, "drift", residuals.audit.drift);
  return 1;
}

static int world_stats(lua_State *L) {
  const S2WorldStats *stats = s2_world_stats(s2_lua_world(L, 1)->world);
  // Store counts of the run, worst residuals, times, current counts, and solvers that were used.
  lua_createtable(L, 0, 30);
  set_integer(L, "steps", stats->steps);
  set_integer(L, "solves", stats->solves);
  set_integer(L, "second_solves", stats->second_solves);
  set_integer(L, "projections", stats->projections);
  set_integer(L, "relinearisations", stats->relinearisations);
  set_integer(L, "contradictions", stats->contradictions);
  set_integer(L, "unsolved_impacts", stats->unsolved_impacts);
  set_integer(L, "bisections", stats->bisections);
  set_integer(L, "splits", stats->splits);
  set_integer(L, "iterations", stats->iterations);
  set_integer(L, "unsolved", stats->unsolved);
  set_integer(L, "unsolved_solves", stats->unsolved_solves);
  set_integer(L, "cut", stats->cut);
  set_integer(L, "mode_changes", stats->mode_changes);
  set_integer(L, "rows_stayed", stats->rows_stayed);
  set_integer(L, "halved", stats->halved);
  set_integer(L, "kept", stats->kept);
  set_integer(L, "shared", stats->shared);
  set_integer(L, "stiffened", stats->stiffened);
  set_integer(L, "passages", stats->audit.passages);
  set_integer(L, "overlaps", stats->audit.overlaps);
  set_integer(L, "jumps", stats->audit.jumps);
  set_integer(L, "slips", stats->audit.slips);
  set_integer(L, "momenta", stats->audit.momenta);
  set_integer(L, "energies", stats->audit.energies);
  set_integer(L, "events", stats->audit.events);
  set_integer(L, "drifts", stats->audit.drifts);
  set_number(L, "unexplained_energy", stats->audit.energy);
  set_number(L, "worst_scaled", stats->worst_scaled);
  set_number(L, "worst_penetration", stats->worst_penetration);
  set_number(L, "worst_joint_error", stats->worst_joint_error);
  set_number(L, "seconds_broad", stats->seconds_broad);
  set_number(L, "seconds_narrow", stats->seconds_narrow);
  set_number(L, "seconds_solve", stats->seconds_solve);
  set_number(L, "seconds_project", stats->seconds_project);
  set_number(L, "seconds_total", stats->seconds_total);
  set_integer(L, "bodies", (uint64_t)stats->bodies);
  set_integer(L, "joints", (uint64_t)stats->joints);
  set_integer(L, "contacts", (uint64_t)stats->contacts);
  set_integer(L, "islands", (uint64_t)stats->islands);
  set_integer(L, "largest_island", (uint64_t)stats->largest_island);
  set_integer(L, "last_iterations", (uint64_t)stats->last_iterations);
  lua_pushstring(L, s2_solve_status_name(stats->last_status));
  lua_setfield(L, -2, "last_status");
  set_integer(L, "arena_bytes", stats->arena_bytes);
  lua_createtable(L, 0, S2_SOLVER_COUNT);
  for (int i = 0; i < S2_SOLVER_COUNT; i++) {
    if (i != S2_SOLVER_AUTO) { // `auto` never solves a problem itself
      set_integer(L, s2_solver_name((S2Solver)i), stats->used[i]);
    }
  }
  lua_setfield(L, -2, "used");
  return 1;
}

// ---- Queries ----------------------------------------------------------------------------------

static S2LuaWorld *world_check_idle(lua_State *L, const char *what) {
  S2LuaWorld *lw = s2_lua_world(L, 1);
  if (lw->phase == S2_INSIDE) {
    s2_lua_fail(L, "%s cannot be called while the engine is in the middle of a step", what);
  }
  return lw;
}

// Reads the ignored bodies of a filter from the keys. The list is in the world's scratch memory.
static void query_read_ignored(const S2Keys *keys, S2LuaWorld *lw, S2QueryFilter *filter) {
  lua_State *L = keys->L;
  int type = s2_keys_push(keys, "ignore");
  // The value is one body or a list of bodies.
  bool list = type == LUA_TTABLE;
  int count = list ? (int)luaL_len(L, -1) : type != LUA_TNIL;
  S2BodyId *ignored = S2_TAKE(&lw->scratch, S2BodyId, count + 1);
  for (int i = 0; i < count; i++) {
    if (list) {
      lua_geti(L, -1, i + 1);
    } else {
      lua_pushvalue(L, -1);
    }
    const S2LuaBody *body = s2_lua_test(L, -1, s2_type_body);
    if (body == NULL || body->lw != lw) {
      s2_keys_fail(keys, "ignore", "a body of this world, or a list of them, expected");
      return; // not reached, because s2_keys_fail raises an error
    }
    ignored[i] = body->id; // a query never finds a destroyed body
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  filter->ignored = ignored;
  filter->ignored_count = count;
}

// Reads a filter from the keys of a query, which may also have the keys of a fan. nil means no
// filter.
static S2QueryFilter query_filter(lua_State *L, S2LuaWorld *lw, int argument,
                                  const char *const *more) {
  static const char *const names[] = {"category", "mask", "ignore", "sensors", NULL};
  S2QueryFilter filter = {0};
  s2_arena_reset(&lw->scratch);
  if (lua_isnoneornil(L, argument)) {
    return filter;
  }
  S2Keys keys = s2_keys_open(L, argument, true, names, more, 0);
  // Reject a mask without bits, because it would find no body.
  int64_t category = 0, mask = 0;
  s2_keys_integer(&keys, "category", 1, UINT32_MAX, &category);
  s2_keys_integer(&keys, "mask", 1, UINT32_MAX, &mask);
  s2_keys_boolean(&keys, "sensors", &filter.sensors);
  filter.category = (uint32_t)category;
  filter.mask = (uint32_t)mask;
  query_read_ignored(&keys, lw, &filter);
  return filter;
}

// A ray and the dependencies of its ends.
enum { RAY_NUMBERS = 4 };
typedef struct LuaRay {
  S2LuaWorld *lw;
  S2Vec2 ends[2];
  S2WorldTape *tape; // NULL if not recorded
  int count;
  S2Argument arguments[RAY_NUMBERS];
} LuaRay;

// Reads the two ends of a ray from arguments `from` and `to`. Messages name the invalid argument.
static LuaRay query_read_ray(lua_State *L, S2LuaWorld *lw, int from, int to) {
  LuaRay ray = {.lw = lw};
  S2Complaint complaint;
  const int at[2] = {from, to};
  int begin = s2_lua_writes(L, lw), reads;
  for (int i = 0; i < 2; i++) {
    if (!s2_value_vec2(L, at[i], &ray.ends[i], &complaint)) {
      s2_lua_bad_argument(L, at[i], "%s", complaint.text);
    }
  }
  // The hit depends on the ends and on the body.
  const S2LuaRead *list;
  ray.tape = s2_lua_written(L, lw, begin, &reads, &list);
  ray.count = s2_lua_arguments(list, reads, &ray.ends[0].x, ray.arguments, RAY_NUMBERS);
  return ray;
}

static void push_hit(lua_State *L, const LuaRay *ray, const S2RayResult *hit) {
  S2RayVars vars = {0};
  if (ray->tape != NULL) {
    vars = s2_world_tape_ray(ray->tape, ray->lw->world, ray->ends[0], ray->ends[1], hit, ray->count,
                             ray->arguments);
  }
  lua_createtable(L, 0, 4);
  set_body(L, 1, "body", hit->body);
  set_list2(L, "point", hit->point, vars.point);
  set_list2(L, "normal", hit->normal, vars.normal);
  set_tracked(L, "fraction", hit->fraction, vars.fraction);
}

static S2LuaWorld *ray_begin(lua_State *L, const char *what) {
  S2LuaWorld *lw = world_check_idle(L, what);
  // If an end is missing, raise a bad-argument error before reading anything.
  if (lua_gettop(L) < 3) { // raises
    (void)s2_argument_vec2(L, 2);
    (void)s2_argument_vec2(L, 3);
  }
  lua_settop(L, 4);
  return lw;
}

static int world_raycast(lua_State *L) {
  S2LuaWorld *lw = ray_begin(L, "world:raycast()");
  S2QueryFilter filter = query_filter(L, lw, 4, NULL);
  LuaRay ray = query_read_ray(L, lw, 2, 3);
  S2RayResult hit = s2_world_raycast(lw->world, ray.ends[0], ray.ends[1], &filter);
  if (hit.body.index == 0) {
    lua_pushnil(L);
  } else {
    push_hit(L, &ray, &hit);
  }
  return 1;
}

static int world_raycast_all(lua_State *L) {
  S2LuaWorld *lw = ray_begin(L, "world:raycast_all()");
  S2QueryFilter filter = query_filter(L, lw, 4, NULL);
  LuaRay ray = query_read_ray(L, lw, 2, 3);
  // There is at most one hit per body. Lua owns the memory, because finalisers may use the scratch
  // memory.
  int capacity = s2_world_bodies(lw->world, NULL, 0);
  S2RayResult *hits = lua_newuserdatauv(L, ((size_t)capacity + 1) * sizeof *hits, 0);
  int count = s2_world_raycast_all(lw->world, ray.ends[0], ray.ends[1], &filter, hits, capacity);
  lua_createtable(L, count, 0);
  for (int i = 0; i < count; i++) {
    push_hit(L, &ray, &hits[i]);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

// ---- Fans of rays: lua/sim2d/rays.lua makes their ends, which may be tracked ------------------

static const char *const FAN_KEYS[] = {"rays", "range", "angle", "spread", NULL};
enum { FAN_MOST = 1000000 };

// (world, from, options): returns the number of rays, then x, y, range, angle and spread as the
// script gave them. Absent values are nil.
int s2_lua_fan_options(lua_State *L) {
  lua_settop(L, 3);
  S2LuaWorld *lw = world_check_idle(L, "world:raycast_fan()");
  if (lua_isnil(L, 3)) {
    lua_newtable(L);
    lua_replace(L, 3);
  }
  (void)query_filter(L, lw, 3, FAN_KEYS);
  (void)s2_lua_writes(L, lw); // tracked numbers are recorded with the rays
  (void)s2_argument_vec2(L, 2);
  S2Keys keys = {.L = L, .table = 3, .argument = 3};
  // Only check the values, because the script's own values are passed on.
  int64_t rays = 0;
  double number;
  s2_keys_require(&keys, "rays");
  s2_keys_require(&keys, "range");
  s2_keys_integer(&keys, "rays", 1, FAN_MOST, &rays);
  s2_keys_number(&keys, "range", S2_POSITIVE, &number);
  s2_keys_number(&keys, "angle", S2_ANY_NUMBER, &number);
  s2_keys_number(&keys, "spread", S2_NON_NEGATIVE, &number);
  lua_pushinteger(L, rays);
  for (int i = 0; i < 2; i++) { // read {x, y} or {x =, y =}
    if (lua_geti(L, 2, i + 1) == LUA_TNIL) {
      lua_pop(L, 1);
      lua_getfield(L, 2, i == 0 ? "x" : "y");
    }
  }
  for (int i = 1; FAN_KEYS[i] != NULL; i++) {
    s2_keys_push(&keys, FAN_KEYS[i]);
  }
  return 6;
}

// (world, from, options, ends): returns a list of hits, with false for a miss.
int s2_lua_fan(lua_State *L) {
  S2LuaWorld *lw = world_check_idle(L, "world:raycast_fan()");
  int rays = (int)luaL_len(L, 4);
  S2QueryFilter filter = query_filter(L, lw, 3, FAN_KEYS);
  // The list of ignored bodies must outlive the calls that create the hits.
  size_t bytes = (size_t)filter.ignored_count * sizeof *filter.ignored;
  S2BodyId *ignored = lua_newuserdatauv(L, bytes + 1, 0);
  if (bytes > 0) {
    memcpy(ignored, filter.ignored, bytes);
  }
  filter.ignored = ignored;
  lua_createtable(L, rays, 0);
  int list = lua_gettop(L);
  for (int i = 0; i < rays; i++) {
    lua_geti(L, 4, i + 1);
    LuaRay ray = query_read_ray(L, lw, 2, list + 1);
    S2RayResult hit = s2_world_raycast(lw->world, ray.ends[0], ray.ends[1], &filter);
    if (hit.body.index == 0) {
      lua_pushboolean(L, false);
    } else {
      push_hit(L, &ray, &hit);
    }
    lua_rawseti(L, list, i + 1);
    lua_settop(L, list);
  }
  return 1;
}

// Allocates memory for all bodies in the world's scratch memory, after the memory of a filter.
static S2BodyId *take_bodies(S2LuaWorld *lw, int *capacity) {
  *capacity = s2_world_bodies(lw->world, NULL, 0);
  return S2_TAKE(&lw->scratch, S2BodyId, *capacity + 1);
}

static void push_bodies(lua_State *L, const S2BodyId *bodies, int count) {
  lua_createtable(L, count, 0);
  for (int i = 0; i < count; i++) {
    s2_lua_push_body(L, 1, bodies[i]);
    lua_rawseti(L, -2, i + 1);
  }
}

static int world_query_aabb(lua_State *L) {
  S2LuaWorld *lw = world_check_idle(L, "world:query_aabb()");
  // Treat swapped corners as a mistake, not as an empty box.
  S2Vec2 lo = s2_argument_vec2(L, 2), hi = s2_argument_vec2(L, 3);
  if (hi.x < lo.x || hi.y < lo.y) {
    return s2_lua_bad_argument(
        L, 3,
        "the upper right corner must not be below the lower left corner or to the left of it");
  }
  S2QueryFilter filter = query_filter(L, lw, 4, NULL);
  int capacity;
  S2BodyId *bodies = take_bodies(lw, &capacity);
  push_bodies(L, bodies, s2_world_query_box(lw->world, lo, hi, &filter, bodies, capacity));
  return 1;
}

static int world_query_point(lua_State *L) {
  S2LuaWorld *lw = world_check_idle(L, "world:query_point()");
  S2Vec2 point = s2_argument_vec2(L, 2);
  S2QueryFilter filter = query_filter(L, lw, 3, NULL);
  int capacity;
  S2BodyId *bodies = take_bodies(lw, &capacity);
  push_bodies(L, bodies, s2_world_query_point(lw->world, point, &filter, bodies, capacity));
  return 1;
}

static int world_closest(lua_State *L) {
  S2LuaWorld *lw = world_check_idle(L, "world:closest()");
  S2LuaBody *a = s2_lua_body_of(L, 2, lw), *b = s2_lua_body_of(L, 3, lw);
  S2ClosestBodies closest;
  // On a tape, all fields are tracked. A field without a derivative raises an error.
  s2_lua_try(L, s2_world_closest(lw->world, a->id, b->id, &closest));
  S2ClosestVars vars = {0};
  if (s2_lua_on_tape(lw) != NULL) {
    s2_lua_try(L,
               s2_world_tape_closest(s2_lua_on_tape(lw), lw->world, a->id, b->id, &closest, &vars));
  }
  lua_createtable(L, 0, 4);
  set_tracked(L, "distance", closest.distance, vars.distance);
  set_list2(L, "point_a", closest.point_a, vars.point_a);
  set_list2(L, "point_b", closest.point_b, vars.point_b);
  set_list2(L, "normal", closest.normal, vars.normal);
  return 1;
}

// Returns the largest remaining overlap in m.
static int world_resolve_overlaps(lua_State *L) {
  S2LuaWorld *lw = s2_lua_world(L, 1);
  s2_lua_not_on_tape(L, lw, "world:resolve_overlaps()");
  // As in a step, the call runs callbacks, and a failure undoes the changes.
  s2_lua_step_open(L, lw, "world:resolve_overlaps()"); // calls filters
  double remaining = 0;
  S2Status status = s2_world_resolve_overlaps(lw->world, &remaining);
  if (status.code != S2_OK) {
    s2_lua_step_failed(L, lw, status);
  }
  lua_pushnumber(L, remaining + 0.0);
  return 1;
}

// Returns whether the bodies rest, and their remaining acceleration in m/s^2.
static int world_solve_static(lua_State *L) {
  static const char *const names[] = {"tolerance", "max_steps", NULL};
  S2LuaWorld *lw = s2_lua_world(L, 1);
  lua_settop(L, 2);
  // Read the options. Their defaults are the engine's.
  S2StaticOptions options = s2_static_options();
  S2Keys keys = s2_keys_open(L, 2, true, names, NULL, 0);
  int64_t steps = options.max_steps;
  s2_keys_number(&keys, "tolerance", S2_POSITIVE, &options.tolerance);
  s2_keys_integer(&keys, "max_steps", 1, INT32_MAX, &steps);
  options.max_steps = (int)steps;
  // Force laws may depend on anything, so with force laws the rest position has no derivative.
  if (s2_world_asks(lw->world)) {
    s2_lua_not_on_tape(L, lw, "world:solve_static() with force laws");
  }
  s2_lua_step_open(L, lw, "world:solve_static()");
  S2StaticResult result;
  // On a tape, the derivative is the derivative of the rest position, not of the iterations.
  S2WorldTape *tape = s2_lua_on_tape(lw);
  S2Status status = tape == NULL ? s2_world_solve_static(lw->world, &options, &result)
                                 : s2_world_tape_static(tape, lw->world, &options, &result);
  if (status.code != S2_OK) {
    s2_lua_step_failed(L, lw, status);
  }
  lua_pushboolean(L, result.solved);
  lua_pushnumber(L, result.residual);
  return 2;
}

const luaL_Reg s2_world_read_methods[] = {{"contacts", world_contacts},
                                          {"energy", world_energy},
                                          {"momentum", world_momentum},
                                          {"residuals", world_residuals},
                                          {"stats", world_stats},
                                          {"raycast", world_raycast},
                                          {"raycast_all", world_raycast_all},
                                          {"query_aabb", world_query_aabb},
                                          {"query_point", world_query_point},
                                          {"closest", world_closest},
                                          {"resolve_overlaps", world_resolve_overlaps},
                                          {"solve_static", world_solve_static},
                                          {NULL, NULL}};
