// Reading a world: energy, momentum, contacts.
#include "dynamics/joint.h"

static bool touch_alive(const S2World *world, const S2Touch *touch) {
  return world->bodies.at[touch->body_a].serial == touch->serial_a &&
         world->bodies.at[touch->body_b].serial == touch->serial_b;
}

// Of compliant contacts as the last step left them, J.
static double compressed_energy(const S2World *world) {
  double energy = 0;
  for (int i = 0; i < world->touches.count; i++) {
    const S2Touch *touch = &world->touches.at[i];
    bool pushes = touch->allowed && touch->enabled && !touch->sensor && touch_alive(world, touch);
    for (int k = 0; k < touch->count && pushes && s2_touch_soft(touch); k++) {
      double depth = fmax(-touch->points[k].at.gap, 0);
      energy += depth * depth / (2 * touch->compliance);
    }
  }
  return energy;
}

S2Energy s2_world_energy(const S2World *world) {
  S2Energy energy = {0};
  S2Vec2 gravity = world->kept.def.gravity;
  for (int i = 0; i < world->order.count; i++) {
    int32_t slot = world->order.at[i];
    const S2Body *body = &world->bodies.at[slot];
    const double *q = world->q.at + 3 * slot, *v = world->v.at + 3 * slot;
    if (s2_body_moves(body)) {
      energy.kinetic +=
          0.5 * (body->inertia * v[0] * v[0] + body->mass * (v[1] * v[1] + v[2] * v[2]));
      double scale = body->type == S2_DYNAMIC ? body->gravity_scale : 0; // drives carry theirs
      energy.potential -= body->mass * scale * (gravity.x * q[1] + gravity.y * q[2]);
    }
  }
  for (int i = 0; i < world->joint_order.count; i++) {
    const S2Joint *joint = &world->joints.at[world->joint_order.at[i]];
    if (s2_joint_active(world, joint)) {
      S2JointRow rows[S2_JOINT_EQUATIONS];
      S2JointAt at = {world, joint, world->q.at, 0, NULL, NULL};
      int count = s2_joint_kind(joint->type)->rows(&at, rows);
      if (joint->type == S2_CONSTRAINT && joint->unilateral && joint->last[0].value < 0) {
        rows[count++] = joint->last[0]; // a soft stop
      }
      energy.potential += s2_joint_energy(joint, rows, count);
    }
  }
  energy.potential += compressed_energy(world);
  energy.total = energy.kinetic + energy.potential;
  return energy;
}

void s2_world_momentum(const S2World *world, double momentum[3]) {
  momentum[0] = momentum[1] = momentum[2] = 0;
  for (int i = 0; i < world->order.count; i++) {
    int32_t slot = world->order.at[i];
    const S2Body *body = &world->bodies.at[slot];
    const double *q = world->q.at + 3 * slot, *v = world->v.at + 3 * slot;
    if (s2_body_moves(body)) {
      momentum[0] += body->inertia * v[0] + body->mass * (q[1] * v[2] - q[2] * v[1]);
      momentum[1] += body->mass * v[1];
      momentum[2] += body->mass * v[2];
    }
  }
}

static void list_contacts(S2World *world) {
  double margin = world->kept.def.contact_margin;
  world->contacts.count = 0;
  for (int i = 0; i < world->touches.count; i++) {
    const S2Touch *touch = &world->touches.at[i];
    bool alive = touch_alive(world, touch);
    for (int k = 0; k < touch->count && alive && !touch->sensor && touch->enabled; k++) {
      const S2TouchPoint *point = &touch->points[k];
      const double *qa = world->q.at + 3 * touch->body_a;
      double impulse = point->earlier_normal + point->normal_impulse;
      if (point->at.gap > margin && !(impulse > 0)) {
        continue;
      }
      *s2_array_append(world->contacts) = (S2Contact){
          .a = s2_body_id(world, touch->body_a),
          .b = s2_body_id(world, touch->body_b),
          .point = s2_vec2(qa[1] + point->at.point.x, qa[2] + point->at.point.y),
          .normal = point->at.normal,
          .gap = point->at.gap,
          .normal_impulse = impulse,
          .tangent_impulse = point->earlier_tangent + point->tangent_impulse,
          .sliding = point->sliding,
          .shape_a = touch->shape_a,
          .shape_b = touch->shape_b,
          .feature = point->at.id,
      };
    }
  }
}

const S2Contact *s2_world_contacts(S2World *world, int *count) {
  if (world->contacts_stale) {
    list_contacts(world);
    world->contacts_stale = false;
  }
  *count = world->contacts.count;
  return world->contacts.at;
}
