// Warnings about likely mistakes that do not raise an error: an angle in degrees, the mass of a
// static body, a run in which every body falls out of the scene. Each is printed once per world.
#include "lua/world/binding.h"

#include <math.h>
#include <stdio.h>

enum { HINT_SIZE = 320 };

// Radians. A larger round number was most likely meant in degrees.
static const double TWO_TURNS = 4 * 3.14159265358979323846;
// Length of the ray that searches for ground below a body (m).
static const double FAR_DOWN = 1e6;

static void hint_warn(lua_State *L, S2LuaWorld *lw, const char *text) {
  s2_lua_push_position(L);
  lua_pushstring(L, text);
  lua_concat(L, 2);
  s2_lua_warn(lw, lua_tostring(L, -1));
  lua_pop(L, 1);
}

void s2_lua_hint_degrees(lua_State *L, S2LuaWorld *lw, const char *key, double angle) {
  // Angles of this size that a script computes are hardly ever multiples of 0.5 rad.
  if (!isfinite(angle) || fabs(angle) <= TWO_TURNS || fmod(angle, 0.5) != 0) {
    return;
  }
  char text[HINT_SIZE];
  snprintf(text, sizeof text,
           "key '%s': %g rad is %.1f turns; angles are radians: for degrees write math.rad(%g)",
           key, angle, angle / (TWO_TURNS / 2), angle);
  hint_warn(L, lw, text);
}

void s2_lua_hint_limits(lua_State *L, S2LuaWorld *lw, S2JointType type, double lo, double hi) {
  if (s2_joint_traits(type)->turns) {
    s2_lua_hint_degrees(L, lw, "limits", lo);
    s2_lua_hint_degrees(L, lw, "limits", hi);
  }
}

void s2_lua_hint_jump(lua_State *L, S2LuaWorld *lw, S2JointId joint, bool rope) {
  if (!s2_joint_is_within(lw->world, joint)) {
    hint_warn(
        L, lw,
        rope ? "key 'max_length': less than the present distance of the rope's anchors, so its "
               "bodies jump in the next step; move the bodies, or make the rope longer"
             : "Joint.limits: the limits exclude the joint's present coordinate, so its bodies "
               "jump in the next step; set the coordinate first, or set limits that include it");
  }
}

void s2_lua_hint_static_mass(lua_State *L, S2LuaWorld *lw, const S2BodyDef *def) {
  if (def->type == S2_STATIC && !isnan(def->mass)) {
    hint_warn(L, lw,
              "key 'mass': a static body does not move, so its mass has no effect; leave it out, "
              "or write "
              "type = \"dynamic\"");
  }
}

// True if a body falls below `lowest` (m, measured downwards) with no body under it.
static bool body_falls_for_ever(S2World *world, const S2BodyInfo *info, S2Vec2 down,
                                double lowest) {
  S2Vec2 from = s2_vec2(info->q[1], info->q[2]);
  if (info->v[1] * down.x + info->v[2] * down.y <= 0 || s2_dot(from, down) <= lowest) {
    return false;
  }
  // The ray starts inside the body, so it does not hit this body.
  return s2_world_raycast(world, from, s2_add(from, s2_scale(FAR_DOWN, down)), NULL).body.index ==
         0;
}

// Returns the lowest centre of a body on which others could rest (m, measured downwards), or -inf
// if there is none.
static double hint_lowest_ground(S2World *world, const S2BodyId *bodies, int count, S2Vec2 down) {
  double lowest = -INFINITY;
  for (int i = 0; i < count; i++) {
    S2BodyInfo info;
    if (s2_body_info(world, bodies[i], &info).code == S2_OK && info.enabled && !info.sensor &&
        info.type != S2_DYNAMIC) {
      lowest = fmax(lowest, s2_dot(s2_vec2(info.q[1], info.q[2]), down));
    }
  }
  return lowest;
}

void s2_lua_hint_all_gone(lua_State *L, S2LuaWorld *lw) {
  S2Vec2 gravity = s2_world_settings(lw->world)->gravity;
  double size = hypot(gravity.x, gravity.y);
  // Bodies that hang from joints may swing without any ground.
  if (size == 0 || s2_world_joints(lw->world, NULL, 0) > 0) {
    return;
  }
  S2Vec2 down = s2_scale(1 / size, gravity);
  int count = s2_world_bodies(lw->world, NULL, 0);
  s2_arena_reset(&lw->scratch);
  S2BodyId *bodies = S2_TAKE(&lw->scratch, S2BodyId, count + 1);
  s2_world_bodies(lw->world, bodies, count);
  // If there is no ground, free flight is intended.
  double lowest = hint_lowest_ground(lw->world, bodies, count, down);
  bool moving = false;
  // Stop at the first body that does not fall. In most scenes this is the first body.
  for (int i = 0; i < count && isfinite(lowest); i++) {
    S2BodyInfo info;
    if (s2_body_info(lw->world, bodies[i], &info).code == S2_OK && info.enabled &&
        info.type == S2_DYNAMIC) {
      if (!body_falls_for_ever(lw->world, &info, down, lowest)) {
        return;
      }
      moving = true;
    }
  }
  if (moving) {
    hint_warn(L, lw,
              "at the end of the run every moving body falls with no body under it: make the "
              "ground wider, or check 'mask' and 'category' of bodies that should have collided");
  }
}
