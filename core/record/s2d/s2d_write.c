#include "record/s2d/s2d_write.h"

#include "base/memory.h"

#include <math.h>

_Static_assert(S2_NAME_SIZE == 48, "the file format has 48 bytes for a name");
_Static_assert(S2_NAME_SIZE + S2_UNIT_SIZE == S2_S2D_CHANNEL, "and 16 for a unit");

// ---- Building bytes ---------------------------------------------------------------------------

static unsigned char *put_room(S2S2dBytes *bytes, size_t size) {
  if (bytes->size + size > bytes->capacity) {
    size_t capacity = 2 * (bytes->size + size);
    bytes->at = s2_memory_grow(bytes->at, capacity);
    bytes->capacity = capacity;
  }
  bytes->size += size;
  return bytes->at + bytes->size - size;
}

static void s2d_put32(S2S2dBytes *bytes, uint32_t value) {
  s2_s2d_set32(put_room(bytes, 4), value);
}

static void s2d_put64(S2S2dBytes *bytes, uint64_t value) {
  s2_s2d_set64(put_room(bytes, 8), value);
}

static void set_double(unsigned char *at, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  s2_s2d_set64(at, bits);
}

static void put_double(S2S2dBytes *bytes, double value) {
  set_double(put_room(bytes, 8), value);
}

static void put_vec(S2S2dBytes *bytes, S2Vec2 value) {
  unsigned char *at = put_room(bytes, 16);
  set_double(at, value.x);
  set_double(at + 8, value.y);
}

static uint32_t s2d_flag(bool set, int bit) {
  return set ? (uint32_t)bit : 0;
}

// ---- Contents of the chunks -------------------------------------------------------------------

static void put_settings(S2S2dBytes *bytes, const S2WorldDef *settings) {
  // The fields are in the order of docs/replay-format.md.
  put_double(bytes, settings->dt);
  put_vec(bytes, settings->gravity);
  put_double(bytes, settings->tolerance);
  put_double(bytes, settings->contact_margin);
  s2d_put32(bytes, (uint32_t)settings->solver);
  s2d_put32(bytes, (uint32_t)settings->contact);
  s2d_put32(bytes, (uint32_t)settings->stepping);
  s2d_put32(bytes, (uint32_t)settings->stabilization);
  s2d_put32(bytes, (uint32_t)settings->combine_friction);
  s2d_put32(bytes, (uint32_t)settings->combine_restitution);
  s2d_put32(bytes, (uint32_t)settings->max_iterations);
  s2d_put32(bytes, s2d_flag(settings->stepping_partial, S2_S2D_PARTIAL) |
                       s2d_flag(settings->strict, S2_S2D_STRICT) |
                       s2d_flag(settings->gradient == S2_GRADIENT_SMOOTH, S2_S2D_SMOOTH) |
                       s2d_flag(settings->audit, S2_S2D_AUDIT) |
                       s2d_flag(s2_world_rattles(settings), S2_S2D_RATTLE));
  put_double(bytes, settings->alpha);
  put_double(bytes, settings->beta);
  s2d_put32(bytes, (uint32_t)settings->formulation);
  s2d_put32(bytes, (uint32_t)settings->elasticity);
  s2d_put32(bytes, (uint32_t)settings->geometric_stiffness);
  s2d_put32(bytes, (uint32_t)settings->restitution_model);
  s2d_put32(bytes, (uint32_t)settings->linear_solver);
  s2d_put32(bytes, (uint32_t)settings->substeps);
  put_double(bytes, settings->smoothing);
}

static void s2d_put_body(S2S2dBytes *bytes, const S2MomentBody *body) {
  unsigned char *at = put_room(bytes, S2_S2D_BODY);
  s2_s2d_set32(at, body->id.index);
  s2_s2d_set32(at + 4, body->id.serial);
  s2_s2d_set32(at + 8, (uint32_t)body->type);
  s2_s2d_set32(at + 12,
               s2d_flag(body->sensor, S2_S2D_SENSOR) | s2d_flag(body->enabled, S2_S2D_ENABLED));
  s2_s2d_set32(at + 16, body->color);
  s2_s2d_set32(at + 20, (uint32_t)body->shape_count);
  set_double(at + 24, body->mass);
  set_double(at + 32, body->inertia);
  memcpy(at + 40, body->name, S2_NAME_SIZE);
}

static void put_shape(S2S2dBytes *bytes, const S2MomentShape *shape) {
  unsigned char *at = put_room(bytes, S2_S2D_SHAPE);
  s2_s2d_set32(at, (uint32_t)shape->count);
  s2_s2d_set32(at + 4, s2d_flag(shape->has_previous, S2_S2D_PREVIOUS) |
                           s2d_flag(shape->has_next, S2_S2D_NEXT));
  set_double(at + 8, shape->radius);
  set_double(at + 16, shape->previous.x);
  set_double(at + 24, shape->previous.y);
  set_double(at + 32, shape->next.x);
  set_double(at + 40, shape->next.y);
}

static void put_joint(S2S2dBytes *bytes, const S2MomentJoint *joint) {
  s2d_put32(bytes, joint->id.index);
  s2d_put32(bytes, joint->id.serial);
  s2d_put32(bytes, (uint32_t)joint->type);
  s2d_put32(bytes, s2d_flag(joint->enabled, S2_S2D_JOINT_ENABLED) |
                       s2d_flag(joint->collide, S2_S2D_COLLIDE) |
                       s2d_flag(joint->compliant, S2_S2D_COMPLIANT) |
                       S2_S2D_WAYS * (uint32_t)joint->ways);
  s2d_put32(bytes, (uint32_t)joint->a);
  s2d_put32(bytes, (uint32_t)joint->b);
  memcpy(put_room(bytes, S2_NAME_SIZE), joint->name, S2_NAME_SIZE);
}

// Returns the largest power of two up to a positive number.
static double power_below(double number) {
  int exponent = 0;
  frexp(number, &exponent);
  return ldexp(1, exponent - 1);
}

// Chooses the grains. Lengths are rounded to at most 1/1024 of the size of the smallest moving
// body. Impulses become 0 if they are below a millionth of the impulse of the lightest body's
// weight in a step.
static void find_grains(const S2Moment *moment, double *grain, double *impulse) {
  // Find the smallest and the lightest moving body.
  double smallest = INFINITY, lightest = INFINITY;
  for (int i = 0; i < moment->bodies.count; i++) {
    const S2MomentBody *body = &moment->bodies.at[i];
    if (body->type != S2_DYNAMIC) {
      continue;
    }
    double reach = 0;
    for (int k = 0; k < body->shape_count; k++) {
      S2Shape shape = s2_moment_shape(moment, body->first_shape + k);
      double farthest = 0;
      for (int n = 0; n < shape.count; n++) {
        farthest = fmax(farthest, s2_dot(shape.vertices[n], shape.vertices[n]));
      }
      reach = fmax(reach, sqrt(farthest) + shape.radius);
    }
    smallest = reach > 0 ? fmin(smallest, reach) : smallest;
    lightest = body->mass > 0 ? fmin(lightest, body->mass) : lightest;
  }
  // Use the impulse of its weight in a step, or the impulse that changes its velocity by 1 mm/s if
  // that is larger.
  double speed = s2_length(moment->settings.gravity) * moment->settings.dt;
  double least = lightest * fmax(speed, 1e-3);
  *grain = 0x1p-10 * power_below(smallest > 1e-60 && smallest < 1e60 ? smallest : 1);
  *impulse = 0x1p-20 * power_below(least > 1e-60 && least < 1e60 ? least : 1);
}

static void put_tables(S2S2dBytes *bytes, const S2Moment *moment) {
  s2d_put32(bytes, (uint32_t)moment->bodies.count);
  s2d_put32(bytes, (uint32_t)moment->shapes.count);
  s2d_put32(bytes, (uint32_t)moment->vertices.count);
  s2d_put32(bytes, (uint32_t)moment->joints.count);
  for (int i = 0; i < moment->bodies.count; i++) {
    s2d_put_body(bytes, &moment->bodies.at[i]);
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
  for (int i = 0; i < moment->joints.count; i++) {
    const S2MomentJoint *joint = &moment->joints.at[i];
    for (int k = 0; k < joint->ways; k++) {
      put_vec(bytes, joint->way[k]);
    }
  }
}

static void put_channels(S2S2dBytes *bytes, const S2Moment *moment) {
  s2d_put32(bytes, (uint32_t)moment->channels.count);
  for (int i = 0; i < moment->channels.count; i++) {
    memcpy(put_room(bytes, S2_NAME_SIZE), moment->channels.at[i].name, S2_NAME_SIZE);
    memcpy(put_room(bytes, S2_UNIT_SIZE), moment->channels.at[i].unit, S2_UNIT_SIZE);
  }
}

static void s2d_put_text(S2S2dBytes *bytes, const char *text) {
  size_t size = strlen(text);
  s2d_put32(bytes, (uint32_t)size);
  memcpy(put_room(bytes, size), text, size);
}

// ---- Chunks -----------------------------------------------------------------------------------

// Reserves the header. Returns the start of the chunk.
static size_t chunk_start(S2S2dBytes *bytes) {
  size_t start = bytes->size;
  put_room(bytes, S2_S2D_CHUNK_HEADER);
  return start;
}

static S2Status chunk_end(S2S2dBytes *bytes, size_t start, S2S2dChunk kind) {
  unsigned char *at = bytes->at + start;
  size_t size = bytes->size - start - S2_S2D_CHUNK_HEADER;
  if (size > UINT32_MAX) {
    bytes->size = start;
    return s2_error(S2_INVALID, "world too large for a .s2d recording (%zu bytes per frame)", size);
  }
  s2_s2d_set32(at, (uint32_t)kind);
  s2_s2d_set32(at + 4, (uint32_t)size);
  uint64_t hash = s2_s2d_hash(S2_S2D_HASH_START, at, 8);
  hash = s2_s2d_hash(hash, at + S2_S2D_CHUNK_HEADER, size);
  s2_s2d_set64(at + 8, hash);
  return s2_ok();
}

void s2_s2d_put_header(S2S2dBytes *bytes) {
  unsigned char *header = put_room(bytes, S2_S2D_FILE_HEADER);
  memset(header, 0, S2_S2D_FILE_HEADER);
  memcpy(header, S2_S2D_MAGIC, sizeof S2_S2D_MAGIC - 1);
  s2_s2d_set32(header + 8, S2_S2D_VERSION);
}

void s2_s2d_put_run(S2S2dBytes *bytes, const S2Run *run) {
  size_t start = chunk_start(bytes);
  s2d_put32(bytes, (uint32_t)run->entries.count);
  for (int i = 0; i < run->entries.count; i++) {
    s2d_put_text(bytes, run->entries.at[i].key);
    s2d_put_text(bytes, run->entries.at[i].value);
  }
  if (chunk_end(bytes, start, S2_S2D_RUN).code != S2_OK) {
    return; // the description of the run does not fit into 4 GB and is omitted
  }
}

S2Status s2_s2d_put_scene(S2S2dBytes *bytes, S2S2dPast *past, const S2Moment *moment) {
  if (moment->channels.count > 0) {
    size_t channels = chunk_start(bytes);
    put_channels(bytes, moment);
    S2_TRY(chunk_end(bytes, channels, S2_S2D_CHANNELS));
  }
  find_grains(moment, &past->grain, &past->impulse_grain);
  size_t start = chunk_start(bytes);
  put_settings(bytes, &moment->settings);
  put_double(bytes, past->grain);
  put_double(bytes, past->impulse_grain);
  put_tables(bytes, moment);
  return chunk_end(bytes, start, S2_S2D_SCENE);
}

bool s2_s2d_same_scene(S2S2dScene *last, const S2Moment *moment) {
  S2S2dBytes *fresh = &last->fresh, *bytes = &last->bytes;
  fresh->size = 0;
  put_channels(fresh, moment);
  put_settings(fresh, &moment->settings);
  bool same = fresh->size <= bytes->size && memcmp(fresh->at, bytes->at, fresh->size) == 0;
  if (same && moment->revision != 0 && moment->revision == last->revision) {
    return true;
  }
  put_tables(fresh, moment);
  last->revision = moment->revision;
  if (fresh->size == bytes->size && memcmp(fresh->at, bytes->at, fresh->size) == 0) {
    return true;
  }
  bytes->size = 0;
  memcpy(put_room(bytes, fresh->size), fresh->at, fresh->size);
  return false;
}

void s2_s2d_scene_free(S2S2dScene *scene) {
  s2_s2d_bytes_free(&scene->bytes);
  s2_s2d_bytes_free(&scene->fresh);
  scene->revision = 0;
}

S2Status s2_s2d_put_frame(S2S2dBytes *bytes, S2S2dPast *past, const S2Moment *moment, bool key) {
  size_t start = chunk_start(bytes), room = s2_s2d_frame_room(moment);
  unsigned char *at = put_room(bytes, room);
  bytes->size -= room - s2_s2d_frame_write(past, moment, key, at);
  return chunk_end(bytes, start, S2_S2D_FRAME);
}

S2Status s2_s2d_put_annotations(S2S2dBytes *bytes, const S2Moment *moment) {
  if (moment->annotations.count == 0) {
    return s2_ok();
  }
  size_t start = chunk_start(bytes);
  s2d_put32(bytes, (uint32_t)moment->annotations.count);
  for (int i = 0; i < moment->annotations.count; i++) {
    const S2MomentAnnotation *of = &moment->annotations.at[i];
    s2d_put32(bytes, (uint32_t)of->type);
    s2d_put32(bytes, of->color);
    put_vec(bytes, of->from);
    put_vec(bytes, of->to);
    put_double(bytes, of->size);
    put_double(bytes, of->letters);
    s2d_put_text(bytes, of->text);
  }
  return chunk_end(bytes, start, S2_S2D_ANNOTATIONS);
}

void s2_s2d_bytes_free(S2S2dBytes *bytes) {
  s2_memory_free(bytes->at);
  *bytes = (S2S2dBytes){0};
}

// ---- The file ---------------------------------------------------------------------------------

static void send_chunk(S2S2dWriter *writer, S2Output *output) {
  s2_output_bytes(output, writer->chunk.at, writer->chunk.size);
  writer->offset += writer->chunk.size;
  writer->chunk.size = 0;
}

void s2_s2d_start(S2S2dWriter *writer, S2Output *output, const S2Run *run) {
  enum { FRAMES_AT_FIRST = 1024 };
  s2_array_reserve(writer->frames, FRAMES_AT_FIRST);
  s2_s2d_put_header(&writer->chunk);
  if (run != NULL) {
    s2_s2d_put_run(&writer->chunk, run);
  }
  send_chunk(writer, output);
}

// Writes the scene if it differs from the last scene.
static S2Status update_scene(S2S2dWriter *writer, S2Output *output, const S2Moment *moment,
                             bool *changed) {
  *changed = !s2_s2d_same_scene(&writer->scene, moment);
  if (!*changed) {
    return s2_ok();
  }
  S2_TRY(s2_s2d_put_scene(&writer->chunk, &writer->past, moment));
  size_t channels =
      moment->channels.count == 0 ? 0 : S2_S2D_CHUNK_HEADER + s2_s2d_get32(writer->chunk.at + 4);
  *s2_array_append(writer->scenes) = (S2S2dIndexScene){
      .channels = channels == 0 ? 0 : writer->offset,
      .scene = writer->offset + channels,
  };
  send_chunk(writer, output);
  return s2_ok();
}

// Key frames must be frequent, so that any frame is found quickly, but they need space. The player
// reads a few million bodies and contacts per second.
static bool key_due(S2S2dWriter *writer, const S2Moment *moment) {
  enum { LEAST = 32, MOST = 256, ITEMS = 400000 };
  writer->items += (uint64_t)moment->bodies.count + (uint64_t)moment->contacts.count;
  return writer->since_key >= MOST || (writer->since_key >= LEAST && writer->items >= ITEMS);
}

S2Status s2_s2d_frame(S2S2dWriter *writer, S2Output *output, const S2Moment *moment) {
  bool changed = false;
  S2_TRY(update_scene(writer, output, moment, &changed));
  bool key = key_due(writer, moment) || changed;
  S2_TRY(s2_s2d_put_frame(&writer->chunk, &writer->past, moment, key));
  S2_TRY(s2_s2d_put_annotations(&writer->chunk, moment));
  if (key) {
    writer->since_key = writer->items = 0;
  }
  *s2_array_append(writer->frames) = (S2S2dIndexFrame){
      .offset = writer->offset,
      .scene = (uint32_t)writer->scenes.count - 1,
      .behind = (uint32_t)writer->since_key,
  };
  writer->since_key += 1;
  send_chunk(writer, output);
  return s2_ok();
}

S2Status s2_s2d_plot(S2S2dWriter *writer, S2Output *output, const char *name, const char *svg) {
  S2S2dBytes *chunk = &writer->chunk;
  size_t start = chunk_start(chunk);
  s2d_put_text(chunk, name);
  s2d_put_text(chunk, svg);
  S2_TRY(chunk_end(chunk, start, S2_S2D_PLOT));
  send_chunk(writer, output);
  return s2_ok();
}

S2Status s2_s2d_decisions(S2S2dWriter *writer, S2Output *output, const uint32_t *decisions,
                          int count) {
  S2S2dBytes *chunk = &writer->chunk;
  size_t start = chunk_start(chunk);
  for (int i = 0; i < count; i++) {
    s2d_put32(chunk, decisions[i]);
  }
  S2_TRY(chunk_end(chunk, start, S2_S2D_DECISIONS));
  send_chunk(writer, output);
  return s2_ok();
}

void s2_s2d_end(S2S2dWriter *writer, S2Output *output) {
  S2S2dBytes *chunk = &writer->chunk;
  chunk->size = 0; // removes an incomplete frame.
  // Write the index: the positions of scenes and frames.
  uint64_t index = writer->offset;
  size_t start = chunk_start(chunk);
  s2d_put64(chunk, (uint64_t)writer->frames.count);
  s2d_put64(chunk, (uint64_t)writer->scenes.count);
  for (int i = 0; i < writer->scenes.count; i++) {
    s2d_put64(chunk, writer->scenes.at[i].channels);
    s2d_put64(chunk, writer->scenes.at[i].scene);
  }
  for (int i = 0; i < writer->frames.count; i++) {
    s2d_put64(chunk, writer->frames.at[i].offset);
    s2d_put32(chunk, writer->frames.at[i].scene);
    s2d_put32(chunk, writer->frames.at[i].behind);
  }
  if (chunk_end(chunk, start, S2_S2D_INDEX).code != S2_OK) {
    index = 0; // too many frames for an index, so readers search the file
  }
  // The end mark points to the index.
  start = chunk_start(chunk);
  s2d_put64(chunk, index);
  S2Status status = chunk_end(chunk, start, S2_S2D_END);
  (void)status; // 8 bytes always fit
  send_chunk(writer, output);
}

void s2_s2d_free(S2S2dWriter *writer) {
  s2_s2d_scene_free(&writer->scene);
  s2_s2d_bytes_free(&writer->chunk);
  s2_s2d_past_free(&writer->past);
  s2_array_free(writer->scenes);
  s2_array_free(writer->frames);
  *writer = (S2S2dWriter){0};
}
