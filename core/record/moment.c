#include "record/moment.h"

#include <string.h>

static void name_copy(char to[S2_NAME_SIZE], const char *from) {
  // Clear all bytes, so that equal moments give equal files.
  memset(to, 0, S2_NAME_SIZE);
  if (from != NULL) {
    memcpy(to, from, strnlen(from, S2_NAME_SIZE - 1));
  }
}

static S2Status capture_shapes(S2Moment *moment, S2World *world, S2MomentBody *body) {
  body->first_shape = moment->shapes.count;
  for (int i = 0; i < body->shape_count; i++) {
    S2Shape shape;
    S2_TRY(s2_body_shape(world, body->id, i, &shape));
    // Append the vertices to the array for all shapes.
    int first = moment->vertices.count;
    s2_array_reserve(moment->vertices, first + shape.count);
    moment->vertices.count += shape.count;
    memcpy(moment->vertices.at + first, shape.vertices, sizeof(S2Vec2) * (size_t)shape.count);
    int at = s2_array_push(moment->shapes);
    moment->shapes.at[at] = (S2MomentShape){
        .first_vertex = first,
        .count = shape.count,
        .radius = shape.radius,
        .has_previous = shape.has_previous,
        .has_next = shape.has_next,
        .previous = shape.has_previous ? shape.previous : s2_vec2(0, 0),
        .next = shape.has_next ? shape.next : s2_vec2(0, 0),
    };
  }
  return s2_ok();
}

static S2Status capture_body(S2Moment *moment, S2World *world, S2BodyId id) {
  S2BodyInfo info;
  S2_TRY(s2_body_info(world, id, &info));
  int at = s2_array_push(moment->bodies);
  S2MomentBody *body = &moment->bodies.at[at];
  *body = (S2MomentBody){
      .id = id,
      .type = info.type,
      .sensor = info.sensor,
      .enabled = info.enabled,
      .color = info.color,
      .mass = info.mass,
      .inertia = info.inertia,
      .shape_count = info.shape_count,
  };
  name_copy(body->name, info.name);
  return capture_shapes(moment, world, body);
}

static S2Status capture_bodies(S2Moment *moment, S2World *world) {
  int count = s2_world_bodies(world, NULL, 0);
  s2_array_reserve(moment->body_ids, count);
  s2_world_bodies(world, moment->body_ids.at, count);
  moment->bodies.count = moment->shapes.count = moment->vertices.count = 0;
  moment->body_of_slot.count = 0;
  for (int i = 0; i < count; i++) {
    S2BodyId id = moment->body_ids.at[i];
    S2_TRY(capture_body(moment, world, id));
    while (moment->body_of_slot.count < (int)id.index) {
      int slot = s2_array_push(moment->body_of_slot);
      moment->body_of_slot.at[slot] = -1;
    }
    moment->body_of_slot.at[id.index - 1] = i;
  }
  return s2_ok();
}

static int32_t body_position(const S2Moment *moment, S2BodyId id) {
  if (id.index == 0 || (int64_t)id.index > moment->body_of_slot.count) {
    return -1;
  }
  int32_t at = moment->body_of_slot.at[id.index - 1];
  return at >= 0 && moment->body_ids.at[at].serial == id.serial ? at : -1;
}

static void capture_contacts(S2Moment *moment, S2World *world) {
  int count = 0;
  const S2Contact *contacts = s2_world_contacts(world, &count);
  moment->contacts.count = 0;
  for (int i = 0; i < count; i++) {
    // Converts body ids to indices in the moment.
    int32_t a = body_position(moment, contacts[i].a);
    int32_t b = body_position(moment, contacts[i].b);
    if (a < 0 || b < 0) {
      continue; // the body was destroyed after the step
    }
    int at = s2_array_push(moment->contacts);
    moment->contacts.at[at] = (S2MomentContact){
        .a = a,
        .b = b,
        .point = contacts[i].point,
        .normal = contacts[i].normal,
        .gap = contacts[i].gap,
        .normal_impulse = contacts[i].normal_impulse,
        .tangent_impulse = contacts[i].tangent_impulse,
        .sliding = contacts[i].sliding,
        .feature = contacts[i].feature,
    };
  }
}

static void capture_annotations(S2Moment *moment, const S2World *world) {
  int count;
  const S2Annotation *annotations = s2_world_annotations(world, &count);
  if (count > 0) {
    s2_array_reserve(moment->annotations, count);
    memcpy(moment->annotations.at, annotations, sizeof *annotations * (size_t)count);
  }
  moment->annotations.count = count;
}

static S2Status capture_poses(S2Moment *moment, const S2World *world) {
  for (int i = 0; i < moment->bodies.count; i++) {
    S2MomentBody *body = &moment->bodies.at[i];
    S2_TRY(s2_body_q(world, body->id, body->q));
    S2_TRY(s2_body_v(world, body->id, body->v));
  }
  return s2_ok();
}

// Updates the joints of the moment. Their list must be empty or match the world's revision.
static S2Status capture_joints(S2Moment *moment, const S2World *world) {
  int count = s2_world_joints(world, NULL, 0);
  // Fill the list if it is empty. Otherwise only update the values that change with every step.
  bool anew = moment->joints.count != count;
  if (anew) {
    s2_array_reserve(moment->joint_ids, count);
    s2_array_reserve(moment->joints, count);
    s2_world_joints(world, moment->joint_ids.at, count);
    moment->joints.count = count;
  }
  for (int i = 0; i < moment->joints.count; i++) {
    S2JointInfo info;
    S2_TRY(s2_joint_info(world, moment->joint_ids.at[i], &info));
    S2MomentJoint *joint = &moment->joints.at[i];
    if (anew) {
      *joint = (S2MomentJoint){
          .id = moment->joint_ids.at[i],
          .type = info.type,
          .enabled = info.enabled,
          .collide = info.collide,
          .compliant = info.compliant,
          .a = body_position(moment, info.a),
          .b = body_position(moment, info.b),
      };
      joint->ways = info.ways;
      memcpy(joint->way, info.way, sizeof joint->way);
      name_copy(joint->name, info.name);
    }
    // These vectors change with every step.
    joint->anchor_a = info.anchor_a;
    joint->anchor_b = info.anchor_b;
    joint->impulse = info.impulse;
    joint->angle = info.angle;
    joint->speed = info.speed;
  }
  return s2_ok();
}

S2Status s2_moment_capture_bodies(S2Moment *moment, S2World *world) {
  uint64_t revision = s2_world_revision(world);
  bool anew = moment->revision != revision;
  moment->time = s2_world_time(world);
  moment->contacts.count = 0;
  moment->annotations.count = 0;
  moment->joints.count = anew ? 0 : moment->joints.count;
  moment->revision = 0;
  if (anew) {
    S2_TRY(capture_bodies(moment, world));
  }
  S2_TRY(capture_poses(moment, world));
  moment->revision = revision;
  return s2_ok();
}

S2Status s2_moment_capture(S2Moment *moment, S2World *world) {
  moment->settings = *s2_world_settings(world);
  moment->step = s2_world_step_count(world);
  moment->hash = s2_world_hash(world);
  S2Energy energy = s2_world_energy(world);
  moment->kinetic = energy.kinetic;
  moment->potential = energy.potential;
  s2_world_momentum(world, moment->momentum);
  moment->residual = s2_world_residuals(world).solve.scaled;
  moment->iterations = s2_world_stats(world)->last_iterations;
  S2_TRY(s2_moment_capture_bodies(moment, world));
  capture_contacts(moment, world);
  capture_annotations(moment, world);
  return capture_joints(moment, world);
}

void s2_moment_free(S2Moment *moment) {
  s2_array_free(moment->bodies);
  s2_array_free(moment->shapes);
  s2_array_free(moment->vertices);
  s2_array_free(moment->contacts);
  s2_array_free(moment->joints);
  s2_array_free(moment->annotations);
  s2_array_free(moment->channels);
  s2_array_free(moment->body_of_slot);
  s2_array_free(moment->body_ids);
  s2_array_free(moment->joint_ids);
}
