// Motions as functions of time: body:motion(fn), and the functions of world:lock{...}. The
// functions are stored in S2_STORE_CONSTRAINTS as lists {angle, x, y, velocity, pose}, with false
// for absent functions.
#include "lua/diff/slope.h"

#include <math.h>

enum { ANGLE = 1, X, Y, VELOCITY, POSE, FUNCTIONS = POSE };

static const char *const names[FUNCTIONS + 1] = {NULL, "angle", "x", "y", "velocity", "motion"};

// ---- Calling ----------------------------------------------------------------------------------

typedef struct Said { // result of a function at one time
  double number[3];
  bool has[3];      // false if the function returned nil
  S2Slope slope[3]; // by[0] refers to time; rate_at and velocities_at use the order of S2Slope
} Said;

typedef struct Asked {
  S2LuaWorld *lw;
  S2MotionCall *call;
} Asked;

// Calls the function on top of the stack with t. If `one`, it must return one number.
static Said call_at(lua_State *L, const Asked *asked, int which, double t, bool one) {
  // The function returns one number or three. nil in place of a number leaves that component
  // unchanged.
  int count = one ? 1 : 3, function = lua_gettop(L);
  Said said = {.has = {false}};
  // On a tape, the time may be tracked. The results then have slopes with respect to time.
  S2LuaSlopes slopes = s2_lua_slopes(L, asked->lw, asked->call->slope != NULL);
  lua_pushvalue(L, function);
  s2_lua_slopes_time(L, asked->lw, &slopes, t, 0);
  lua_call(L, 1, count);
  for (int i = 0; i < count; i++) {
    int at = i - count;
    said.has[i] = !lua_isnil(L, at);
    if ((said.has[i] || one) &&
        !s2_lua_slopes_result(L, &slopes, at, &said.number[i], &said.slope[i])) {
      char text[S2_LUA_TEXT];
      s2_lua_wrong_answer(L, function,
                          lua_pushfstring(L, "%s must return %s, got %s", names[which],
                                          one ? "a number"
                                          : which == VELOCITY
                                              ? "va, vx, vy (nil: unchanged)"
                                              : "x, y, angle (nil: velocity unchanged)",
                                          s2_lua_describe(L, at, text)));
    }
  }
  lua_pop(L, count);
  return said;
}

static void motion_set(S2MotionCall *call, int c, double v, const S2Slope *slope) {
  call->v[c] = v;
  if (call->sloped) {
    call->slope[c] = *slope;
  }
}

// Sets the velocity so that the body is at `p` (with slope `of`) at the end of the step.
static void motion_reach(lua_State *L, const Asked *asked, int c, double p, const S2Slope *of) {
  // With v = (p - q)/h, the body reaches the position at the end of the step.
  S2MotionCall *call = asked->call;
  double v = (p - call->q[c]) / call->h;
  S2LuaSlopes slopes = s2_lua_slopes(L, asked->lw, call->sloped);
  // Compute slopes with respect to the end time t + h, to the current position, and to h.
  S2Slope ends = {.origin = of->origin}, slope = {.by = {0}};
  ends.by[3] = ends.by[4] = of->by[0];
  s2_lua_slopes_add(&slopes, &slope, 1 / call->h, &ends);
  call->place[c] = true;
  slope.by[c] -= 1 / call->h;
  slope.by[4] -= v / call->h;
  motion_set(call, c, v, &slope);
}

// Computes p'(t) of the function on top of the stack by one-sided differences, within the step.
// They are exact for parabolas, and 0 if the function is constant.
static Said rate_at(lua_State *L, const Asked *asked, int which, int end) {
  // Spacing as a fraction of the step. The truncation error is p''' by^2/3, and the rounding error
  // is proportional to 1/by.
  static const double PART = 1.0 / 1024, weight[3] = {-3, 4, -1};
  const S2MotionCall *call = asked->call;
  double part = end == 0 ? PART : -PART, by = part * call->h, t = call->t + end * call->h;
  bool one = which != POSE;
  Said at[3], rate = {.has = {true, true, true}};
  for (int k = 0; k < 3; k++) {
    at[k] = call_at(L, asked, which, t + k * by, one);
  }
  S2LuaSlopes slopes = s2_lua_slopes(L, asked->lw, call->sloped);
  for (int i = 0; i < 3; i++) {
    double first = at[1].number[i] - at[0].number[i], second = at[2].number[i] - at[0].number[i];
    rate.number[i] = (4 * first - second) / (2 * by);
    // A change of t shifts all sample times equally. A change of h shifts each in proportion to its
    // fraction of the step.
    for (int k = 0; k < 3; k++) {
      S2Slope of = {.origin = at[k].slope[i].origin};
      of.by[3] = at[k].slope[i].by[0];
      of.by[4] = (end + k * part) * of.by[3];
      s2_lua_slopes_add(&slopes, &rate.slope[i], weight[k] / (2 * by), &of);
      rate.has[i] = rate.has[i] && at[k].has[i];
    }
    rate.slope[i].by[4] -= rate.number[i] / call->h;
  }
  return rate;
}

// Returns the velocities that a function gives for one end of the step.
static Said velocities_at(lua_State *L, const Asked *asked, int end) {
  Said said = call_at(L, asked, VELOCITY, asked->call->t + end * asked->call->h, false);
  for (int i = 0; i < 3; i++) {
    S2Slope *slope = &said.slope[i];
    slope->by[3] = slope->by[0];
    slope->by[4] = end * slope->by[0];
    slope->by[0] = 0;
  }
  return said;
}

// Computes the velocities of the function on top of the stack at both ends of the step.
static void motion_ends(lua_State *L, const Asked *asked, int which) {
  S2MotionCall *call = asked->call;
  static const int place[3] = {1, 2, 0}; // index of x, y, angle in (angle, x, y)
  for (int end = 0; end < 2 && call->ends; end++) {
    double *to = end == 0 ? call->start : call->end;
    Said said = which == VELOCITY ? velocities_at(L, asked, end) : rate_at(L, asked, which, end);
    int count = which == VELOCITY || which == POSE ? 3 : 1;
    for (int i = 0; i < count; i++) {
      int c = which == VELOCITY ? i : which == POSE ? place[i] : which - 1;
      to[c] = said.has[i] ? said.number[i] : to[c];
      if (said.has[i] && call->sloped) {
        call->slope[3 + 3 * end + c] = said.slope[i];
      }
    }
  }
}

// Computes the mean velocity over the step by three-point Gauss-Legendre quadrature, which is exact
// for polynomials up to degree 5.
static void mean_velocity(lua_State *L, const Asked *asked) {
  // The points are in -1 .. 1, and the weights add up to 1.
  S2MotionCall *call = asked->call;
  static const double point[3] = {-0.7745966692414834, 0, 0.7745966692414834};
  static const double weight[3] = {5.0 / 18, 8.0 / 18, 5.0 / 18};
  double mean[3] = {0, 0, 0};
  S2Slope sum[3] = {{{0}, 0}, {{0}, 0}, {{0}, 0}};
  Said said = {.has = {false}};
  for (int i = 0; i < 3; i++) {
    double part = (1 + point[i]) / 2;
    said = call_at(L, asked, VELOCITY, call->t + call->h * (1 + point[i]) / 2, false);
    // The slope with respect to t is the slope of the function. The slope with respect to h is this
    // slope times the point's fraction of the step.
    S2LuaSlopes slopes = s2_lua_slopes(L, asked->lw, call->sloped);
    for (int c = 0; c < 3; c++) {
      S2Slope of = {.origin = said.slope[c].origin};
      of.by[3] = said.slope[c].by[0];
      of.by[4] = part * of.by[3];
      mean[c] += weight[i] * (said.has[c] ? said.number[c] : call->v[c]);
      s2_lua_slopes_add(&slopes, &sum[c], weight[i], &of);
    }
  }
  // A component for which the function returns nil keeps its velocity.
  for (int c = 0; c < 3; c++) {
    if (said.has[c]) {
      motion_set(call, c, mean[c], &sum[c]);
    }
  }
}

static void motion_begin_slopes(lua_State *L, const Asked *asked) {
  S2MotionCall *call = asked->call;
  call->sloped = call->slope != NULL && s2_lua_slopes(L, asked->lw, true).diff != NULL;
  for (int c = 0; c < 3 && call->sloped; c++) { // the velocity is unchanged
    call->slope[c] = (S2Slope){.origin = 0};
    call->slope[c].by[5] = 1;
  }
}

// The arguments are the functions and the request.
static int motion_answer(lua_State *L) {
  const Asked *asked = lua_touserdata(L, 2);
  const S2MotionCall *call = asked->call;
  // Evaluate functions at the end of the step.
  double end = call->t + call->h;
  static const int place[3] = {1, 2, 0}; // index of x, y, angle in (angle, x, y)
  if (lua_type(L, 1) != LUA_TTABLE) {
    return luaL_error(L, "motion: the functions of the motion no longer exist");
  }
  // Components without a function keep their velocity.
  motion_begin_slopes(L, asked);
  // A position takes precedence over a velocity.
  for (int which = FUNCTIONS; which >= ANGLE; which--) {
    if (lua_rawgeti(L, 1, which) == LUA_TFUNCTION && which == VELOCITY) {
      mean_velocity(L, asked);
      motion_ends(L, asked, which);
    } else if (lua_type(L, -1) == LUA_TFUNCTION) {
      Said at = call_at(L, asked, which, end, which != POSE);
      for (int i = 0; i < 3; i++) {
        if (at.has[i]) {
          motion_reach(L, asked, which == POSE ? place[i] : which - 1, at.number[i], &at.slope[i]);
        }
      }
      motion_ends(L, asked, which);
    }
    lua_settop(L, 2);
  }
  return 0;
}

bool s2_lua_engine_motion(void *user, S2World *world, S2MotionCall *call) {
  // Run everything that may allocate memory in protected mode.
  S2LuaWorld *lw = user;
  lua_State *L = lw->L;
  (void)world;
  int top = lua_gettop(L);
  double start = s2_lua_callback_clock(lw);
  lua_pushcfunction(L, motion_answer);
  lua_rawgeti(L, lw->at_constraints,
              call->joint.index != 0 ? call->joint.serial : call->body.serial);
  Asked asked = {lw, call};
  lua_pushlightuserdata(L, &asked);
  return s2_lua_asked(lw, top, 2, call->slope != NULL, start);
}

// ---- Making -----------------------------------------------------------------------------------

static void push_no_functions(lua_State *L) {
  lua_createtable(L, FUNCTIONS, 0);
  for (int i = 1; i <= FUNCTIONS; i++) {
    lua_pushboolean(L, 0);
    lua_rawseti(L, -2, i);
  }
}

void s2_lua_read_lock(const S2Keys *keys, S2JointDef *def) {
  // A component is held in place if it is `true`, or moved by a function of time.
  lua_State *L = keys->L;
  bool *const flags[4] = {NULL, &def->lock_angle, &def->lock_x, &def->lock_y};
  push_no_functions(L);
  // Store functions in the list, and plain values in the definition.
  for (int which = ANGLE; which <= VELOCITY; which++) {
    bool function = s2_keys_push(keys, names[which]) == LUA_TFUNCTION;
    char text[S2_LUA_TEXT];
    if (function) {
      lua_rawseti(L, -2, which);
      def->driven = true;
      if (which != VELOCITY) {
        *flags[which] = true;
      }
      continue;
    }
    if (which != VELOCITY && !lua_isnil(L, -1) && !lua_isboolean(L, -1)) {
      s2_keys_fail(keys, names[which], "true, false or a function of time expected, got %s",
                   s2_lua_describe(L, -1, text));
    }
    lua_pop(L, 1);
    if (which == VELOCITY) {
      s2_keys_vec2(keys, "velocity", &def->velocity);
    } else {
      s2_keys_boolean(keys, names[which], flags[which]);
    }
  }
  // A velocity function returns all three components.
  lua_rawgeti(L, -1, VELOCITY);
  bool both = lua_isfunction(L, -1) && s2_keys_has(keys, "angular_velocity");
  lua_pop(L, 1);
  if (both) {
    s2_keys_fail(keys, "angular_velocity",
                 "cannot be combined with a velocity function, which returns va, vx, vy");
  }
}

int s2_lua_body_motion(lua_State *L) {
  S2LuaBody *body = s2_lua_body(L, 1);
  // A value of nil stops the motion.
  bool has = !lua_isnoneornil(L, 2);
  char text[S2_LUA_TEXT];
  if (has && !lua_isfunction(L, 2)) {
    return s2_lua_bad_argument(L, 2, "function or nil expected, got %s",
                               s2_lua_describe(L, 2, text));
  }
  lua_settop(L, 2);
  S2Status status = s2_body_set_motion(body->lw->world, body->id, has);
  if (status.code == S2_INVALID) {
    return s2_lua_fail(L, "body '%s': %s", body->name, status.message);
  }
  s2_lua_try(L, status);
  // A body's list has only the function of its pose.
  lua_getiuservalue(L, 1, 1);
  if (has) {
    push_no_functions(L);
    lua_pushvalue(L, 2);
    lua_rawseti(L, -2, POSE);
  } else {
    lua_pushnil(L); // replace the list, so that snapshots keep the old one
  }
  s2_lua_store_functions(L, 3, body->id.serial);
  return 0;
}
