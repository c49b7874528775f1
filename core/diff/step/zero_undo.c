// Friction and viscosity of contacts that are exactly 0. An assembly has no rows for them, and the
// derivative is the one-sided derivative towards positive numbers (see diff/joints/zero_vjp.c).
// Friction opposes sliding with mu times the normal impulse. Viscosity gives an impulse of h d
// times the sliding speed.
#include "diff/step/solve_undo.h"

// Computes the adjoint of an impulse on a along the surface, and the speed along the surface.
static double zero_along(const S2SolveUndo *solve, const S2Touch *touch, int k, double *speed) {
  const S2Step *step = &solve->undo->step;
  const S2TouchPoint *point = &touch->points[k];
  S2Vec2 t = s2_left(point->at.normal);
  const double j[2][3] = {{s2_cross(point->at.point, t), t.x, t.y},
                          {-s2_cross(point->arm_b, t), -t.x, -t.y}};
  const int32_t slot[2] = {touch->body_a, touch->body_b};
  double bar = 0;
  *speed = -touch->surface_speed;
  for (int i = 0; i < 6; i++) {
    int node = step->node_of[slot[i / 3]], c = i % 3;
    bool ground = node == S2_GROUND;
    bar += ground ? 0 : j[i / 3][c] * solve->data.rhs[3 * node + c];
    *speed += j[i / 3][c] * (ground ? step->free_v[3 * slot[i / 3] + c] : solve->v[3 * node + c]);
  }
  return bar;
}

static bool zero_tracks_friction(const S2Undo *undo, const S2Touch *touch) {
  const S2WorldGradient *all = undo->gradient;
  return undo->world->kept.def.contact != S2_FRICTIONLESS &&
         (S2_TRACKS_BODY(all, touch->body_a, friction) ||
          S2_TRACKS_BODY(all, touch->body_b, friction) ||
          S2_TRACKS_PIECE(all, touch->shape_a, friction) ||
          S2_TRACKS_PIECE(all, touch->shape_b, friction));
}

static bool zero_tracks_viscosity(const S2Undo *undo, const S2Touch *touch) {
  return S2_TRACKS_BODY(undo->gradient, touch->body_a, contact_viscosity) ||
         S2_TRACKS_BODY(undo->gradient, touch->body_b, contact_viscosity);
}

void s2_solve_zero_vjp(const S2SolveUndo *solve, int i, int k, int normal, S2TouchBar *pair) {
  S2Undo *undo = solve->undo;
  const S2Touch *touch = &solve->touches[i];
  S2SolveTraits traits = s2_solve_traits(solve->note->solve.kind);
  const S2ManifoldPoint *at = &touch->points[k].at;
  bool rough = touch->friction == 0 && traits.friction && zero_tracks_friction(undo, touch);
  if (solve->note->solve.kind == S2_SOLVE_FRICTIONLESS && touch->friction == 0 &&
      zero_tracks_friction(undo, touch)) {
    // reflections are a separate solve, which is excluded
    undo->gradient->flags |= S2_GRADIENT_PARTIAL;
  }
  bool drags = touch->viscosity == 0 && traits.takes_time && zero_tracks_viscosity(undo, touch);
  if (!rough && !drags) {
    return;
  }
  double speed, bar = zero_along(solve, touch, k, &speed) + solve->aside[2 * i + k];
  if (rough && fabs(speed) > solve->still) {
    double load = traits.normals ? solve->lambda[normal] : undo->open.choices[2 * i + k].bias;
    pair->friction -= copysign(load, speed) * bar;
    // With a convex friction cone, a sliding contact separates at mu times its sliding speed.
    if (undo->world->kept.def.contact == S2_CONVEX && traits.normals) {
      pair->friction -= fabs(speed) * solve->data.bias[normal];
    }
  }
  double touching = S2_TOUCH_SLOP * solve->note->of->island.length; // threshold of assemble.c
  if (drags && (at->gap <= touching || touch->points[k].pressed)) {
    pair->viscosity -= undo->step.h * speed * bar;
  }
}
