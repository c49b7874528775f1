#include "record/s2d.h"

#include "base/memory.h"

_Static_assert(S2_NAME_SIZE == 48, "the file has 48 bytes for a name");

// ---- Building bytes ---------------------------------------------------------------------------

static unsigned char *put_room(S2S2dBytes *bytes, size_t size) {
  if (bytes->size + size > bytes->capacity) {
    bytes->capacity = 2 * (bytes->size + size);
    bytes->at = s2_memory_grow(bytes->at, bytes->capacity);
  }
  bytes->size += size;
  return bytes->at + bytes->size - size;
}

static void put32(S2S2dBytes *bytes, uint32_t value) {
  s2_s2d_set32(put_room(bytes, 4), value);
}

static void put64(S2S2dBytes *bytes, uint64_t value) {
  s2_s2d_set64(put_room(bytes, 8), value);
}

static void put_double(S2S2dBytes *bytes, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  put64(bytes, bits);
}

static void put_vec(S2S2dBytes *bytes, S2Vec2 value) {
  put_double(bytes, value.x);
  put_double(bytes, value.y);
}

static uint32_t flag(bool set, int bit) {
  return set ? (uint32_t)bit : 0;
}

// ---- Contents of the chunks -------------------------------------------------------------------

static void put_settings(S2S2dBytes *bytes, const S2WorldDef *settings) {
  put_double(bytes, settings->dt);
  put_vec(bytes, settings->gravity);
  put_double(bytes, settings->tolerance);
  put_double(bytes, settings->contact_margin);
  put32(bytes, (uint32_t)settings->solver);
  put32(bytes, (uint32_t)settings->contact);
  put32(bytes, (uint32_t)settings->stepping);
  put32(bytes, (uint32_t)settings->stabilization);
  put32(bytes, (uint32_t)settings->combine_friction);
  put32(bytes, (uint32_t)settings->combine_restitution);
  put32(bytes, (uint32_t)settings->max_iterations);
  put32(bytes, flag(settings->stepping_partial, S2_S2D_PARTIAL) |
                   flag(settings->strict, S2_S2D_STRICT) |
                   flag(settings->nonlinear, S2_S2D_NONLINEAR) |
                   flag(settings->gradient == S2_GRADIENT_SMOOTH, S2_S2D_SMOOTH));
  put_double(bytes, settings->alpha);
  put_double(bytes, settings->beta);
  put32(bytes, (uint32_t)settings->formulation);
  put32(bytes, (uint32_t)settings->elasticity);
  put32(bytes, (uint32_t)settings->geometric_stiffness);
  put32(bytes, (uint32_t)settings->restitution_model);
  put32(bytes, (uint32_t)settings->linear_solver);
  put32(bytes, (uint32_t)settings->substeps);
  put_double(bytes, settings->smoothing);
}

static void put_body(S2S2dBytes *bytes, const S2MomentBody *body) {
  put32(bytes, body->id.index);
  put32(bytes, body->id.serial);
  put32(bytes, (uint32_t)body->type);
  put32(bytes, flag(body->sensor, S2_S2D_SENSOR) | flag(body->enabled, S2_S2D_ENABLED));
  put32(bytes, body->color);
  put32(bytes, (uint32_t)body->shape_count);
  put_double(bytes, body->mass);
  put_double(bytes, body->inertia);
  memcpy(put_room(bytes, S2_NAME_SIZE), body->name, S2_NAME_SIZE);
}

static void put_shape(S2S2dBytes *bytes, const S2MomentShape *shape) {
  put32(bytes, (uint32_t)shape->count);
  put32(bytes, flag(shape->has_previous, S2_S2D_PREVIOUS) | flag(shape->has_next, S2_S2D_NEXT));
  put_double(bytes, shape->radius);
  put_vec(bytes, shape->previous);
  put_vec(bytes, shape->next);
}

static void put_joint(S2S2dBytes *bytes, const S2MomentJoint *joint) {
  put32(bytes, joint->id.index);
  put32(bytes, joint->id.serial);
  put32(bytes, (uint32_t)joint->type);
  put32(bytes, flag(joint->enabled, S2_S2D_JOINT_ENABLED) | flag(joint->collide, S2_S2D_COLLIDE) |
                   flag(joint->compliant, S2_S2D_COMPLIANT));
  put32(bytes, (uint32_t)joint->a);
  put32(bytes, (uint32_t)joint->b);
  memcpy(put_room(bytes, S2_NAME_SIZE), joint->name, S2_NAME_SIZE);
}

static void put_scene(S2S2dBytes *bytes, const S2Moment *moment) {
  put_settings(bytes, &moment->settings);
  put32(bytes, (uint32_t)moment->bodies.count);
  put32(bytes, (uint32_t)moment->shapes.count);
  put32(bytes, (uint32_t)moment->vertices.count);
  put32(bytes, (uint32_t)moment->joints.count);
  for (int i = 0; i < moment->bodies.count; i++) {
    put_body(bytes, &moment->bodies.at[i]);
  }
  for (int i = 0; i < moment->shapes.count; i++) {
    put_shape(bytes, &moment->shapes.at[i]);
  }
  for (int i = 0; i < moment->vertices.count; i++) {
    put_vec(bytes, moment->vertices.at[i]);
  }
  for (int i = 0; i < moment->joints.count; i++) {
    put_joint(bytes, &moment->joints.at[i]);
  }
}

static void put_frame(S2S2dBytes *bytes, const S2Moment *moment) {
  put_double(bytes, moment->time);
  put64(bytes, moment->step);
  put64(bytes, moment->hash);
  put32(bytes, (uint32_t)moment->bodies.count);
  put32(bytes, (uint32_t)moment->contacts.count);
  put32(bytes, (uint32_t)moment->joints.count);
  put32(bytes, 0);
  for (int i = 0; i < moment->bodies.count; i++) {
    for (int k = 0; k < 3; k++) {
      put_double(bytes, moment->bodies.at[i].q[k]);
    }
    for (int k = 0; k < 3; k++) {
      put_double(bytes, moment->bodies.at[i].v[k]);
    }
  }
  for (int i = 0; i < moment->contacts.count; i++) {
    const S2MomentContact *contact = &moment->contacts.at[i];
    put32(bytes, (uint32_t)contact->a);
    put32(bytes, (uint32_t)contact->b);
    put32(bytes, contact->feature);
    put32(bytes, flag(contact->sliding, S2_S2D_SLIDING));
    put_vec(bytes, contact->point);
    put_vec(bytes, contact->normal);
    put_double(bytes, contact->gap);
    put_double(bytes, contact->normal_impulse);
    put_double(bytes, contact->tangent_impulse);
  }
  for (int i = 0; i < moment->joints.count; i++) {
    const S2MomentJoint *joint = &moment->joints.at[i];
    put_vec(bytes, joint->anchor_a);
    put_vec(bytes, joint->anchor_b);
    put_vec(bytes, joint->impulse);
    put_double(bytes, joint->angle);
    put_double(bytes, joint->speed);
  }
}

// ---- The file ---------------------------------------------------------------------------------

// Chunk header around what `bytes` holds behind room for one.
static S2Status write_chunk(S2Output *output, S2S2dChunk kind, S2S2dBytes *bytes) {
  size_t size = bytes->size - S2_S2D_CHUNK_HEADER;
  if (size > UINT32_MAX) {
    return s2_error(S2_INVALID, "world too large for a .s2d recording (%zu bytes a frame)", size);
  }
  s2_s2d_set32(bytes->at, (uint32_t)kind);
  s2_s2d_set32(bytes->at + 4, (uint32_t)size);
  uint64_t hash = s2_s2d_hash(S2_S2D_HASH_START, bytes->at, 8);
  hash = s2_s2d_hash(hash, bytes->at + S2_S2D_CHUNK_HEADER, size);
  s2_s2d_set64(bytes->at + 8, hash);
  s2_output_bytes(output, bytes->at, bytes->size);
  return s2_ok();
}

static void chunk_start(S2S2dBytes *bytes) {
  bytes->size = 0;
  put_room(bytes, S2_S2D_CHUNK_HEADER);
}

void s2_s2d_start(S2Output *output) {
  unsigned char header[S2_S2D_FILE_HEADER] = {0};
  memcpy(header, S2_S2D_MAGIC, sizeof S2_S2D_MAGIC - 1);
  s2_s2d_set32(header + 8, S2_S2D_VERSION);
  s2_output_bytes(output, header, sizeof header);
}

S2Status s2_s2d_frame(S2S2dWriter *writer, S2Output *output, const S2Moment *moment) {
  S2S2dBytes *fresh = &writer->fresh;
  chunk_start(fresh);
  put_scene(fresh, moment);
  const unsigned char *contents = fresh->at + S2_S2D_CHUNK_HEADER;
  size_t size = fresh->size - S2_S2D_CHUNK_HEADER;
  if (size != writer->scene.size || memcmp(contents, writer->scene.at, size) != 0) {
    S2_TRY(write_chunk(output, S2_S2D_SCENE, fresh));
    writer->scene.size = 0;
    memcpy(put_room(&writer->scene, size), contents, size);
  }
  chunk_start(fresh);
  put_frame(fresh, moment);
  return write_chunk(output, S2_S2D_FRAME, fresh);
}

void s2_s2d_end(S2Output *output) {
  S2S2dBytes bytes = {0};
  chunk_start(&bytes);
  S2Status status = write_chunk(output, S2_S2D_END, &bytes);
  (void)status; // an empty chunk always fits
  s2_memory_free(bytes.at);
}

void s2_s2d_free(S2S2dWriter *writer) {
  s2_memory_free(writer->scene.at);
  s2_memory_free(writer->fresh.at);
  *writer = (S2S2dWriter){0};
}
