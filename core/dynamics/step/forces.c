// Phase 1: the forces on bodies, and their motion without contacts and joints.
#include "dynamics/step/forces.h"
#include "dynamics/step/laws.h"
#include "dynamics/trace/notes.h"

#include <string.h>

bool s2_step_forces(S2Step *step) {
  const S2World *world = step->world;
  S2Vec2 gravity = world->kept.def.gravity;
  for (int i = 0; i < world->order.count; i++) {
    int32_t slot = world->order.at[i];
    const S2Body *body = &world->bodies.at[slot];
    // Add applied forces.
    double *force = step->force + 3 * slot;
    memcpy(force, world->f.at + 3 * slot, 3 * sizeof(double));
    if (body->type != S2_DYNAMIC) {
      continue;
    }
    // Add gravity.
    force[1] += body->mass * body->gravity_scale * gravity.x;
    force[2] += body->mass * body->gravity_scale * gravity.y;
  }
  // Add the force laws of the program.
  return s2_laws_begin(step);
}

// W = M (1 + h alpha damping). If alpha is 1, damping never reverses a velocity.
void s2_step_free_body(const S2Step *step, int32_t slot) {
  const S2World *world = step->world;
  const S2Body *body = &world->bodies.at[slot];
  double h = step->h, alpha = world->kept.def.alpha;
  const double *v0 = step->v0 + 3 * slot, *force = step->force + 3 * slot;
  double *mass = step->mass + 3 * slot, *free_v = step->free_v + 3 * slot;
  if (!s2_body_moves(body)) {
    memset(mass, 0, 3 * sizeof(double));
    bool goes = body->type == S2_KINEMATIC && body->enabled;
    for (int k = 0; k < 3; k++) {
      free_v[k] = goes ? v0[k] : 0;
    }
    return;
  }
  const double inertial[3] = {body->inertia, body->mass, body->mass};
  for (int k = 0; k < 3; k++) {
    double damping = k == 0 ? body->angular_damping : body->linear_damping;
    mass[k] = inertial[k] * (1 + h * alpha * damping);
    // The factor of v0. It is exactly M if alpha is 1.
    double left = inertial[k] * (1 - h * (1 - alpha) * damping);
    free_v[k] = (left * v0[k] + h * force[k]) / mass[k];
  }
}

bool s2_step_free_motion(S2Step *step, double h) {
  const S2World *world = step->world;
  step->h = h;
  if (!s2_step_motions(step, h)) {
    return false;
  }
  s2_note_free(step);
  for (int i = 0; i < world->order.count; i++) {
    s2_step_free_body(step, world->order.at[i]);
  }
  return true;
}
