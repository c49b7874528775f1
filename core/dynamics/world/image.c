// Writes a world to a flat buffer and reads it back: snapshot, restore, clone.
#include "dynamics/world/world.h"

#include <string.h>

#define IMAGE_MAGIC UINT64_C(0x32643270616e733b) // change this number when the layout changes

typedef struct ImageHeader {
  uint64_t magic;
  uint64_t size;
  uint32_t next_serial;
  int32_t slots, order, pieces, vertices, joints, joint_order, touches, acted, corrected, couples,
      excluded, actuators, commands, observations;
  uint64_t noise_seed, broadphase;
} ImageHeader;

static ImageHeader image_header(const S2World *world) {
  // Zero the header, because its padding is written to the image.
  ImageHeader header;
  memset(&header, 0, sizeof header);
  header.magic = IMAGE_MAGIC;
  header.next_serial = world->next_serial;
  header.slots = world->bodies.count;
  header.order = world->order.count;
  header.pieces = world->pieces.count;
  header.vertices = world->vertices.count;
  header.joints = world->joints.count;
  header.joint_order = world->joint_order.count;
  header.touches = world->touches.count;
  header.acted = world->acted.count;
  header.corrected = world->corrected.count;
  header.couples = world->couples.count;
  header.excluded = world->excluded.count;
  header.actuators = world->actuators.count;
  header.commands = world->commands.count;
  header.observations = world->observations.count;
  header.noise_seed = world->noise_seed;
  header.broadphase = s2_broadphase_image_size(world->broadphase);
  // Sum the sizes of all arrays, in the order in which they are written.
  header.size =
      sizeof(ImageHeader) + sizeof(S2Kept) +
      (size_t)header.slots * (9 * sizeof(double) + sizeof(S2Body)) +
      (size_t)header.order * sizeof(int32_t) + (size_t)header.pieces * sizeof(S2Piece) +
      (size_t)header.vertices * sizeof(S2Vec2) + (size_t)header.joints * sizeof(S2Joint) +
      (size_t)header.joint_order * sizeof(int32_t) + (size_t)header.touches * sizeof(S2Touch) +
      (size_t)header.acted * sizeof(S2Acted) + (size_t)header.corrected * sizeof(double) +
      (size_t)header.couples * sizeof(S2Couple) + (size_t)header.excluded * sizeof(S2SlotPair) +
      (size_t)header.actuators * sizeof(S2Actuator) + (size_t)header.commands * sizeof(S2Command) +
      (size_t)header.observations * sizeof(S2Observation) + header.broadphase;
  return header;
}

size_t s2_world_image_size(const S2World *world) {
  return image_header(world).size;
}

static unsigned char *image_put(unsigned char *to, const void *from, size_t bytes) {
  if (bytes > 0) {
    memcpy(to, from, bytes);
  }
  return to + bytes;
}

static const unsigned char *image_get(const unsigned char *from, void *to, size_t bytes) {
  if (bytes > 0) {
    memcpy(to, from, bytes);
  }
  return from + bytes;
}

#define PUT(to, array) image_put((to), (array).at, sizeof *(array).at *(size_t)(array).count)
#define GET_LINE(from, line, n)                                                                    \
  (s2_line_reserve((line), (n)), (line).count = (n),                                               \
   image_get((from), (line).at, sizeof *(line).at * (size_t)(n)))
#define GET(from, array, n)                                                                        \
  (s2_array_reserve((array), (n)), (array).count = (n),                                            \
   image_get((from), (array).at, sizeof *(array).at * (size_t)(n)))

void s2_world_image_write(const S2World *world, void *image) {
  ImageHeader header = image_header(world);
  unsigned char *to = image_put(image, &header, sizeof header);
  to = image_put(to, &world->kept, sizeof world->kept);
  to = PUT(to, world->q);
  to = PUT(to, world->v);
  to = PUT(to, world->f);
  to = PUT(to, world->bodies);
  to = PUT(to, world->order);
  to = PUT(to, world->pieces);
  to = PUT(to, world->vertices);
  to = PUT(to, world->joints);
  to = PUT(to, world->joint_order);
  to = PUT(to, world->touches);
  to = PUT(to, world->acted);
  to = PUT(to, world->corrected);
  to = PUT(to, world->couples);
  to = PUT(to, world->excluded);
  to = PUT(to, world->actuators);
  to = PUT(to, world->commands);
  to = PUT(to, world->observations);
  s2_broadphase_image_write(world->broadphase, to);
}

S2Status s2_world_image_read(S2World *world, const void *image, size_t size) {
  S2_TRY(s2_world_idle(world));
  ImageHeader header;
  if (size < sizeof header) {
    // Reject invalid data and other layouts before the world changes.
    return s2_error(S2_INVALID, "not a snapshot of a world (%zu bytes)", size);
  }
  memcpy(&header, image, sizeof header);
  if (header.magic != IMAGE_MAGIC || header.size != size) {
    return s2_error(S2_INVALID,
                    "not a snapshot of a world, or a snapshot of another version of sim2d");
  }
  // Read the arrays in the order of s2_world_image_write().
  const unsigned char *from = (const unsigned char *)image + sizeof header;
  from = image_get(from, &world->kept, sizeof world->kept);
  from = GET(from, world->q, 3 * header.slots);
  from = GET(from, world->v, 3 * header.slots);
  from = GET(from, world->f, 3 * header.slots);
  from = GET(from, world->bodies, header.slots);
  from = GET_LINE(from, world->order, header.order);
  from = GET(from, world->pieces, header.pieces);
  from = GET(from, world->vertices, header.vertices);
  from = GET(from, world->joints, header.joints);
  from = GET_LINE(from, world->joint_order, header.joint_order);
  from = GET(from, world->touches, header.touches);
  from = GET(from, world->acted, header.acted);
  from = GET(from, world->corrected, header.corrected);
  from = GET(from, world->couples, header.couples);
  from = GET_LINE(from, world->excluded, header.excluded);
  from = GET(from, world->actuators, header.actuators);
  from = GET(from, world->commands, header.commands);
  from = GET(from, world->observations, header.observations);
  world->noise_seed = header.noise_seed;
  s2_broadphase_image_read(world->broadphase, from, header.broadphase);
  // Serials are never reused, even if they were assigned after the snapshot.
  if (header.next_serial > world->next_serial) {
    world->next_serial = header.next_serial;
  }
  // Invalidate all data derived from the arrays.
  world->boxes_stale = true;
  world->contacts_stale = true;
  world->rest.islands.count = 0;
  world->impulses_listed = true; // the impulses belong to another step
  s2_world_revised(world);
  return s2_ok();
}

S2Status s2_world_image_return(S2World *world, const void *image, size_t size, uint64_t changes) {
  bool same = world->changes == changes;
  S2ProgramIs program_is = world->program_is;
  S2_TRY(s2_world_image_read(world, image, size));
  if (same) {
    world->program_is = program_is;
    world->changes = changes;
  }
  return s2_ok();
}

S2Status s2_world_clone(const S2World *world, S2World **clone) {
  S2_TRY(s2_world_create(&world->kept.def, clone));
  size_t size = s2_world_image_size(world);
  void *image = s2_memory_take(size);
  s2_world_image_write(world, image);
  S2Status status = s2_world_image_read(*clone, image, size);
  s2_memory_free(image);
  // A clone must not use a serial of the original.
  (*clone)->next_serial = world->next_serial;
  return status;
}

// ---- State ------------------------------------------------------------------------------------

int s2_world_state_size(const S2World *world) {
  // The state has angle, x, y and their speeds for each body that forces can move.
  int size = 0;
  for (int i = 0; i < world->order.count; i++) {
    size += s2_body_yields(&world->bodies.at[world->order.at[i]]) ? 6 : 0;
  }
  return size;
}

void s2_world_state(const S2World *world, double *state) {
  for (int i = 0; i < world->order.count; i++) {
    int32_t slot = world->order.at[i];
    if (s2_body_yields(&world->bodies.at[slot])) {
      memcpy(state, world->q.at + 3 * slot, 3 * sizeof(double));
      memcpy(state + 3, world->v.at + 3 * slot, 3 * sizeof(double));
      state += 6;
    }
  }
}

S2Status s2_world_set_state(S2World *world, const double *state, int count) {
  // Check the whole vector before writing any number.
  S2_TRY(s2_world_idle(world));
  int size = s2_world_state_size(world);
  if (count != size) {
    return s2_error(S2_INVALID, "a state of %d numbers (6 per dynamic body) expected, got %d", size,
                    count);
  }
  for (int i = 0; i < count; i++) {
    if (!isfinite(state[i])) {
      return s2_error(S2_INVALID, "state[%d]: finite number expected, got %g", i + 1, state[i]);
    }
  }
  // Read the bodies in the order of creation, like s2_world_state().
  for (int i = 0; i < world->order.count; i++) {
    int32_t slot = world->order.at[i];
    if (s2_body_yields(&world->bodies.at[slot])) {
      memcpy(world->q.at + 3 * slot, state, 3 * sizeof(double));
      memcpy(world->v.at + 3 * slot, state + 3, 3 * sizeof(double));
      state += 6;
    }
  }
  // Discard warm starts, because they belong to another state. Worlds in equal states must move
  // equally.
  for (int i = 0; i < world->touches.count; i++) {
    for (int k = 0; k < 2; k++) {
      S2TouchPoint *point = &world->touches.at[i].points[k];
      point->normal_impulse = point->tangent_impulse = 0;
    }
  }
  world->acted.count = world->corrected.count = 0;
  for (int i = 0; i < world->joints.count; i++) {
    memset(world->joints.at[i].impulse, 0, sizeof world->joints.at[i].impulse);
    memset(world->joints.at[i].pushed, 0, sizeof world->joints.at[i].pushed);
  }
  world->boxes_stale = true;
  world->contacts_stale = true;
  world->kept.fresh = true;
  return s2_ok();
}

// Computes an FNV-1a hash over 64-bit words, which is eight times as fast as over bytes. The shift
// spreads the upper bits of a word to all later words. Otherwise two sign changes would cancel.
static uint64_t hash_doubles(uint64_t hash, const double *at, int count) {
  for (int i = 0; i < count; i++) {
    uint64_t word;
    memcpy(&word, &at[i], sizeof word);
    hash = (hash ^ word) * UINT64_C(0x100000001b3);
    hash ^= hash >> 32;
  }
  return hash;
}

uint64_t s2_world_hash(const S2World *world) {
  uint64_t hash = hash_doubles(UINT64_C(0xcbf29ce484222325), &world->kept.time, 1);
  for (int i = 0; i < world->order.count; i++) {
    int32_t slot = world->order.at[i];
    hash = hash_doubles(hash, world->q.at + 3 * slot, 3);
    hash = hash_doubles(hash, world->v.at + 3 * slot, 3);
  }
  return hash;
}

void s2_world_mark(S2World *world) {
  size_t size = s2_world_image_size(world);
  if (size > world->marked_capacity) {
    // Reserve a quarter more. Otherwise a world that grows slowly would reallocate in every step.
    world->marked_capacity = size + size / 4;
    s2_memory_free(world->marked);
    world->marked = s2_memory_take(world->marked_capacity);
  }
  world->marked_size = size;
  s2_world_image_write(world, world->marked);
}

void s2_world_rollback(S2World *world) {
  if (world->marked != NULL) {
    (void)s2_world_image_read(world, world->marked, world->marked_size);
  }
}
