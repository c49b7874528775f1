// Reads energy, momentum and contacts of a world.
#include "dynamics/joints/joint.h"

#include <string.h>

static bool touch_alive(const S2World *world, const S2Touch *touch) {
  return world->bodies.at[touch->body_a].serial == touch->serial_a &&
         world->bodies.at[touch->body_b].serial == touch->serial_b;
}

// Returns the energy of compliant contacts after the last step, in J.
static double compressed_energy(const S2World *world) {
  // A compressed point stores the energy 1/2 depth^2/C.
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
  // Add 1/2 v' M v, and -m g.x for bodies with gravity.
  for (int i = 0; i < world->order.count; i++) {
    int32_t slot = world->order.at[i];
    const S2Body *body = &world->bodies.at[slot];
    const double *q = world->q.at + 3 * slot, *v = world->v.at + 3 * slot;
    if (s2_body_moves(body)) {
      energy.kinetic +=
          0.5 * (body->inertia * v[0] * v[0] + body->mass * (v[1] * v[1] + v[2] * v[2]));
      // gravity does not act on kinematic bodies that yield
      double scale = body->type == S2_DYNAMIC ? body->gravity_scale : 0;
      energy.potential -= body->mass * scale * (gravity.x * q[1] + gravity.y * q[2]);
    }
  }
  // Add the energy stored in elastic joints.
  for (int i = 0; i < world->joint_order.count; i++) {
    const S2Joint *joint = &world->joints.at[world->joint_order.at[i]];
    if (s2_joint_active(world, joint)) {
      S2JointRow rows[S2_JOINT_EQUATIONS];
      S2JointAt at = {world, joint, world->q.at, 0, NULL};
      int count = s2_joint_rows(&at, rows);
      if (joint->type == S2_CONSTRAINT && joint->unilateral && joint->last[0].value < 0) {
        rows[count++] = joint->last[0]; // a compliant limit
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
      // The angular momentum about the origin is J w + m x cross v.
      momentum[0] += body->inertia * v[0] + body->mass * (q[1] * v[2] - q[2] * v[1]);
      momentum[1] += body->mass * v[1];
      momentum[2] += body->mass * v[2];
    }
  }
}

static void list_acted(S2World *world, const S2Acted *acted) {
  // Check the serials, because bodies of the last step may have been destroyed and their slots
  // reused.
  if (world->bodies.at[acted->body_a].serial == acted->serial_a &&
      world->bodies.at[acted->body_b].serial == acted->serial_b) {
    *s2_array_append(world->contacts) = (S2Contact){
        .a = s2_body_id(world, acted->body_a),
        .b = s2_body_id(world, acted->body_b),
        .point = acted->point,
        .normal = acted->normal,
        .gap = acted->gap,
        .normal_impulse = acted->normal_impulse,
        .tangent_impulse = acted->tangent_impulse,
        .angular_impulse_a = acted->angular_a,
        .angular_impulse_b = acted->angular_b,
        .sliding = acted->sliding,
        .shape_a = acted->shape_a,
        .shape_b = acted->shape_b,
        .feature = acted->feature,
    };
  }
}

// Lists the points of a touch with their impulses. `acted` contains the `count` impulses of its
// pair.
static void list_touch(S2World *world, const S2Touch *touch, const S2Acted *acted, int count) {
  bool shown = touch_alive(world, touch) && !touch->sensor && touch->enabled;
  const double *qa = world->q.at + 3 * touch->body_a;
  for (int k = 0; k < touch->count; k++) {
    const S2ManifoldPoint *at = &touch->points[k].at;
    // Find the impulse of the same feature. If there is none, the point is near but has no impulse.
    int i = 0;
    while (i < count && acted[i].feature != at->id) {
      i += 1;
    }
    if (i < count) {
      list_acted(world, &acted[i]);
    } else if (shown && at->gap <= world->kept.def.contact_margin) {
      *s2_array_append(world->contacts) = (S2Contact){
          .a = s2_body_id(world, touch->body_a),
          .b = s2_body_id(world, touch->body_b),
          .point = s2_vec2(qa[1] + at->point.x, qa[2] + at->point.y),
          .normal = at->normal,
          .gap = at->gap,
          .shape_a = touch->shape_a,
          .shape_b = touch->shape_b,
          .feature = at->id,
      };
    }
  }
}

// Lists all contacts. Touches and impulses are both sorted by shapes. Impulses at features that no
// longer exist follow the points of their pair.
static void list_contacts(S2World *world) {
  const S2ActedList *acted = &world->acted;
  int a = 0;
  world->contacts.count = 0;
  for (int i = 0; i <= world->touches.count; i++) {
    const S2Touch *touch = i < world->touches.count ? &world->touches.at[i] : NULL;
    // List the impulses of pairs that are not touches at the end of the step.
    for (; a < acted->count && (touch == NULL || s2_acted_compare(&acted->at[a], touch) < 0); a++) {
      list_acted(world, &acted->at[a]);
    }
    // List the touch with the impulses of its pair.
    int first = a;
    while (touch != NULL && a < acted->count && s2_acted_compare(&acted->at[a], touch) == 0) {
      a += 1;
    }
    if (touch != NULL) {
      list_touch(world, touch, acted->at + first, a - first);
    }
    // List impulses at points that do not exist at the end of the step.
    for (int k = first; k < a; k++) {
      if (acted->at[k].gone) {
        list_acted(world, &acted->at[k]);
      }
    }
  }
}

S2Status s2_body_contact_impulse(const S2World *world, S2BodyId body, double impulse[3]) {
  int32_t slot;
  S2_TRY(s2_body_slot(world, body, &slot));
  memset(impulse, 0, 3 * sizeof(double));
  for (int i = 0; i < world->acted.count; i++) {
    const S2Acted *acted = &world->acted.at[i];
    bool is_a = acted->body_a == slot && acted->serial_a == body.serial;
    bool is_b = acted->body_b == slot && acted->serial_b == body.serial;
    // Body b receives the opposite linear impulse, but a separate angular impulse.
    if (is_a || is_b) {
      S2Vec2 on_a = s2_acted_impulse(acted);
      impulse[0] += is_a ? acted->angular_a : acted->angular_b;
      impulse[1] += is_a ? on_a.x : -on_a.x;
      impulse[2] += is_a ? on_a.y : -on_a.y;
    }
  }
  return s2_ok();
}

S2Status s2_body_correction(const S2World *world, S2BodyId body, double impulse[3]) {
  int32_t slot;
  S2_TRY(s2_body_slot(world, body, &slot));
  for (int c = 0; c < 3; c++) {
    // false if the body was created after the step
    bool known = 3 * slot + c < world->corrected.count;
    impulse[c] = known ? world->corrected.at[3 * slot + c] : 0;
  }
  return s2_ok();
}

const S2Contact *s2_world_contacts(S2World *world, int *count) {
  if (world->contacts_stale) {
    list_contacts(world);
    world->contacts_stale = false;
  }
  *count = world->contacts.count;
  return world->contacts.at;
}

S2Status s2_body_touches(const S2World *world, S2BodyId body, bool *touches) {
  int32_t slot;
  S2_TRY(s2_body_slot(world, body, &slot));
  int count;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the list is made on demand, and is not a state
  const S2Contact *contacts = s2_world_contacts((S2World *)(uintptr_t)world, &count);
  *touches = false;
  for (int i = 0; i < count && !*touches; i++) {
    *touches = contacts[i].a.serial == body.serial || contacts[i].b.serial == body.serial;
  }
  return s2_ok();
}
