// Motions as functions of time: body:motion(fn), and the functions that world:lock{...} may be
// given. They are lists {angle, x, y, velocity, pose} (false: none) in S2_STORE_CONSTRAINTS.
#include "binding.h"

#include <math.h>

enum { ANGLE = 1, X, Y, VELOCITY, POSE, FUNCTIONS = POSE };

static const char *const names[FUNCTIONS + 1] = {NULL, "angle", "x", "y", "velocity", "motion"};

// ---- Calling ----------------------------------------------------------------------------------

// Raises an error at the place where the function on stack index `function` is defined.
static void wrong(lua_State *L, int function, const char *what) {
  lua_Debug info;
  lua_pushvalue(L, function);
  lua_getinfo(L, ">S", &info);
  lua_pushfstring(L, "%s:%d: %s", info.short_src, info.linedefined, what);
  lua_error(L);
}

// Calls the function with t; `numbers` gets its results, what is nil stays as it is (and `has`
// false). One number is wanted when `one`.
static void call_at(lua_State *L, int function, int which, double t, bool one, double numbers[3],
                    bool has[3]) {
  int count = one ? 1 : 3;
  lua_pushvalue(L, function);
  lua_pushnumber(L, t);
  lua_call(L, 1, count);
  for (int i = 0; i < count; i++) {
    int at = i - count;
    has[i] = !lua_isnil(L, at);
    if ((has[i] || one) && lua_type(L, at) != LUA_TNUMBER) {
      char text[S2_LUA_TEXT];
      wrong(L, function,
            lua_pushfstring(L, "%s must return %s, got %s", names[which],
                            one                 ? "a number"
                            : which == VELOCITY ? "va, vx, vy (nil: as it is)"
                                                : "x, y, angle (nil: as it is)",
                            s2_lua_describe(L, at, text)));
    }
    numbers[i] = has[i] ? lua_tonumber(L, at) : numbers[i];
  }
  lua_pop(L, count);
}

// The mean over the step by Gauss and Legendre's three points: exact up to polynomials of degree 5.
static void mean_velocity(lua_State *L, int function, S2MotionCall *call) {
  static const double point[3] = {-0.7745966692414834, 0, 0.7745966692414834};
  static const double weight[3] = {5.0 / 18, 8.0 / 18, 5.0 / 18};
  double mean[3] = {0, 0, 0};
  bool has[3];
  for (int i = 0; i < 3; i++) {
    double v[3] = {call->v[0], call->v[1], call->v[2]};
    call_at(L, function, VELOCITY, call->t + call->h * (1 + point[i]) / 2, false, v, has);
    for (int c = 0; c < 3; c++) {
      mean[c] += weight[i] * v[c];
    }
  }
  for (int c = 0; c < 3; c++) {
    call->v[c] = has[c] ? mean[c] : call->v[c];
  }
}

// Arguments: the functions, the call.
static int answer(lua_State *L) {
  S2MotionCall *call = lua_touserdata(L, 2);
  double end = call->t + call->h;
  static const int place[3] = {1, 2, 0}; // of x, y, angle among angle, x, y
  if (lua_type(L, 1) != LUA_TTABLE) {
    return luaL_error(L, "motion: its functions are gone");
  }
  for (int which = FUNCTIONS; which >= ANGLE; which--) { // a position counts more than a velocity
    double at[3] = {0, 0, 0};
    bool has[3] = {false, false, false};
    if (lua_rawgeti(L, 1, which) == LUA_TFUNCTION) {
      if (which == VELOCITY) {
        mean_velocity(L, 3, call);
      } else if (which == POSE) {
        call_at(L, 3, which, end, false, at, has);
        for (int i = 0; i < 3; i++) {
          int c = place[i];
          call->v[c] = has[i] ? (at[i] - call->q[c]) / call->h : call->v[c];
        }
      } else {
        call_at(L, 3, which, end, true, at, has);
        call->v[which - 1] = (at[0] - call->q[which - 1]) / call->h;
      }
    }
    lua_settop(L, 2);
  }
  return 0;
}

bool s2_lua_engine_motion(void *user, S2World *world, S2MotionCall *call) {
  S2LuaWorld *lw = user;
  lua_State *L = lw->L;
  (void)world;
  int top = lua_gettop(L);
  double start = s2_lua_clock();
  lua_pushcfunction(L, answer);
  lua_rawgeti(L, lw->at_constraints,
              call->joint.index != 0 ? call->joint.serial : call->body.serial);
  lua_pushlightuserdata(L, call);
  bool good = lua_pcall(L, 2, 0, lw->at_handler) == LUA_OK;
  if (!good) {
    lua_setiuservalue(L, 1, S2_STORE_ERROR);
    lw->failed = true;
  }
  lua_settop(L, top);
  lw->session->open.seconds_lua += s2_lua_clock() - start;
  return good;
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
  lua_State *L = keys->L;
  bool *const flags[4] = {NULL, &def->lock_angle, &def->lock_x, &def->lock_y};
  push_no_functions(L);
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
  lua_rawgeti(L, -1, VELOCITY);
  bool both = lua_isfunction(L, -1) && s2_keys_has(keys, "angular_velocity");
  lua_pop(L, 1);
  if (both) {
    s2_keys_fail(keys, "angular_velocity",
                 "not beside a velocity function, which returns va, vx, vy");
  }
}

int s2_lua_body_motion(lua_State *L) {
  S2LuaBody *body = s2_lua_body(L, 1);
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
  lua_getiuservalue(L, 1, 1);
  if (has) {
    push_no_functions(L);
    lua_pushvalue(L, 2);
    lua_rawseti(L, -2, POSE);
  } else {
    lua_pushnil(L); // so that a snapshot brings back what was there
  }
  s2_lua_store_functions(L, 3, body->id.serial);
  return 0;
}
