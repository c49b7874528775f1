#include "record/s2d/replay.h"

#include "base/memory.h"
#include "dynamics/annotation.h"
#include "record/s2d/output.h"
#include "record/s2d/s2d_frame.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <sys/types.h>

typedef struct Chunk {
  S2S2dChunk kind;
  off_t offset;  // position of the chunk's header
  uint32_t size; // size of the chunk's contents
} Chunk;

typedef struct Scene {
  off_t channels, scene; // positions of the chunks; `channels` is 0 if there are none
} Scene;

typedef struct Frame {
  off_t offset;    // position of the chunk
  int32_t scene;   // in `scenes`
  uint32_t behind; // number of frames since the last key frame
} Frame;

struct S2Replay {
  FILE *file;
  char *path;
  off_t length; // size of the file when it was opened
  bool complete;
  S2Run run;
  S2_ARRAY(Scene) scenes;
  Frame *frames;
  uint64_t frame_count, frame_capacity;
  unsigned char *contents; // contents of the chunk that was read last
  size_t contents_capacity;
  int32_t scene_loaded; // index of the scene in `moment`; -1: none
  uint64_t read;        // number of frames read in sequence; `past` describes the last one
  S2S2dPast past;
  S2Moment moment;
  bool midpoint; // the run used the midpoint rule of earlier versions
};

// ---- Contents of the chunks -------------------------------------------------------------------

// Reads consecutive items from `at`. Callers must have checked all sizes.
typedef struct Cursor {
  const unsigned char *at;
} Cursor;

static uint32_t replay_get32(Cursor *cursor) {
  cursor->at += 4;
  return s2_s2d_get32(cursor->at - 4);
}

static uint64_t replay_get64(Cursor *cursor) {
  cursor->at += 8;
  return s2_s2d_get64(cursor->at - 8);
}

static double get_double(Cursor *cursor) {
  cursor->at += 8;
  return s2_s2d_get_double(cursor->at - 8);
}

static S2Vec2 get_vec(Cursor *cursor) {
  double x = get_double(cursor);
  return s2_vec2(x, get_double(cursor));
}

static void get_name(Cursor *cursor, char name[S2_NAME_SIZE]) {
  memcpy(name, cursor->at, S2_NAME_SIZE);
  name[S2_NAME_SIZE - 1] = '\0';
  cursor->at += S2_NAME_SIZE;
}

static bool get_settings(Cursor *cursor, S2WorldDef *settings, bool *midpoint) {
  // The fields are in the order of docs/replay-format.md.
  settings->dt = get_double(cursor);
  settings->gravity = get_vec(cursor);
  settings->tolerance = get_double(cursor);
  settings->contact_margin = get_double(cursor);
  uint32_t solver = replay_get32(cursor), contact = replay_get32(cursor),
           stepping = replay_get32(cursor);
  uint32_t stabilization = replay_get32(cursor), friction = replay_get32(cursor),
           restitution = replay_get32(cursor);
  uint32_t iterations = replay_get32(cursor), flags = replay_get32(cursor);
  settings->alpha = get_double(cursor);
  settings->beta = get_double(cursor);
  uint32_t formulation = replay_get32(cursor), elasticity = replay_get32(cursor),
           geometric = replay_get32(cursor);
  uint32_t model = replay_get32(cursor), linear = replay_get32(cursor),
           substeps = replay_get32(cursor);
  settings->smoothing = get_double(cursor);
  // The file is not trusted, so check the range of each number.
  if (solver >= S2_SOLVER_COUNT || contact > S2_CONVEX || stepping > S2_AUTO ||
      stabilization > S2_POST_ASSEMBLY || friction > S2_COMBINE_MAX ||
      restitution > S2_COMBINE_MAX || iterations > INT32_MAX || formulation > S2_FORM_VARIATION ||
      elasticity > S2_AS_STIFFNESS || geometric > S2_GEOMETRIC_PSD || model > S2_REFLECTIONS ||
      linear >= S2_LINEAR_COUNT || substeps < 1 || substeps > INT32_MAX) {
    return false;
  }
  if ((flags & S2_S2D_MIDPOINT) != 0) {
    *midpoint = true;
    return false;
  }
  settings->solver = (S2Solver)solver;
  settings->contact = (S2ContactModel)contact;
  settings->stepping = (S2Stepping)stepping;
  settings->stabilization = (S2Stabilization)stabilization;
  settings->combine_friction = (S2Combine)friction;
  settings->combine_restitution = (S2Combine)restitution;
  settings->max_iterations = (int)iterations;
  settings->formulation = (S2Formulation)formulation;
  settings->elasticity = (S2Elasticity)elasticity;
  settings->geometric_stiffness = (S2GeometricStiffness)geometric;
  settings->restitution_model = (S2RestitutionModel)model;
  settings->linear_solver = (S2LinearSolver)linear;
  settings->substeps = (int)substeps;
  settings->flow = (flags & S2_S2D_RATTLE) != 0 ? S2_FLOW_RATTLE : S2_FLOW_PROJECTED;
  settings->gradient = (flags & S2_S2D_SMOOTH) != 0 ? S2_GRADIENT_SMOOTH : S2_GRADIENT_EXACT;
  settings->stepping_partial = (flags & S2_S2D_PARTIAL) != 0;
  settings->audit = (flags & S2_S2D_AUDIT) != 0;
  settings->strict = (flags & S2_S2D_STRICT) != 0;
  return true;
}

// `shapes` is the number of shapes that were assigned to earlier bodies.
static bool get_body(Cursor *cursor, S2MomentBody *body, uint32_t *shapes, uint32_t shape_total) {
  // The fields are in the order of docs/replay-format.md.
  *body = (S2MomentBody){0};
  body->id.index = replay_get32(cursor);
  body->id.serial = replay_get32(cursor);
  uint32_t type = replay_get32(cursor), flags = replay_get32(cursor);
  body->color = replay_get32(cursor);
  uint32_t count = replay_get32(cursor);
  body->mass = get_double(cursor);
  body->inertia = get_double(cursor);
  get_name(cursor, body->name);
  // Assign the next shapes to the body.
  if (type > S2_KINEMATIC || count > shape_total - *shapes) {
    return false;
  }
  body->type = (S2BodyType)type;
  body->sensor = (flags & S2_S2D_SENSOR) != 0;
  body->enabled = (flags & S2_S2D_ENABLED) != 0;
  body->first_shape = (int32_t)*shapes;
  body->shape_count = (int32_t)count;
  *shapes += count;
  return true;
}

static bool get_shape(Cursor *cursor, S2MomentShape *shape, uint32_t *vertices,
                      uint32_t vertex_total) {
  *shape = (S2MomentShape){0};
  uint32_t count = replay_get32(cursor), flags = replay_get32(cursor);
  shape->radius = get_double(cursor);
  shape->previous = get_vec(cursor);
  shape->next = get_vec(cursor);
  if (count == 0 || count > vertex_total - *vertices) {
    return false;
  }
  shape->has_previous = (flags & S2_S2D_PREVIOUS) != 0;
  shape->has_next = (flags & S2_S2D_NEXT) != 0;
  shape->first_vertex = (int32_t)*vertices;
  shape->count = (int32_t)count;
  *vertices += count;
  return true;
}

static bool position_ok(int32_t position, uint32_t count) {
  return position >= 0 && (uint32_t)position < count;
}

static bool get_joint(Cursor *cursor, S2MomentJoint *joint, uint32_t bodies) {
  *joint = (S2MomentJoint){0};
  joint->id.index = replay_get32(cursor);
  joint->id.serial = replay_get32(cursor);
  uint32_t type = replay_get32(cursor), flags = replay_get32(cursor);
  joint->a = (int32_t)replay_get32(cursor);
  joint->b = (int32_t)replay_get32(cursor);
  get_name(cursor, joint->name);
  if (type >= S2_JOINT_TYPE_COUNT || flags / S2_S2D_WAYS > S2_JOINT_WAY ||
      (joint->a != -1 && !position_ok(joint->a, bodies)) ||
      (joint->b != -1 && !position_ok(joint->b, bodies))) {
    return false;
  }
  joint->type = (S2JointType)type;
  joint->enabled = (flags & S2_S2D_JOINT_ENABLED) != 0;
  joint->collide = (flags & S2_S2D_COLLIDE) != 0;
  joint->compliant = (flags & S2_S2D_COMPLIANT) != 0;
  joint->ways = (int)(flags / S2_S2D_WAYS);
  return true;
}

// Reads the scene in the chunk that was read last.
static bool get_scene(S2Replay *replay, uint32_t size) {
  S2S2dPast *past = &replay->past;
  S2Moment *moment = &replay->moment;
  if (size < S2_S2D_SCENE_HEADER) {
    return false;
  }
  // Read the settings and the grains.
  Cursor cursor = {replay->contents};
  bool ok = get_settings(&cursor, &moment->settings, &replay->midpoint);
  past->grain = get_double(&cursor);
  past->impulse_grain = get_double(&cursor);
  past->any = false;
  ok = ok && past->grain > 0 && past->impulse_grain > 0;
  // Read the sizes of the tables that follow.
  uint32_t bodies = replay_get32(&cursor), shapes = replay_get32(&cursor);
  uint32_t vertices = replay_get32(&cursor), joints = replay_get32(&cursor);
  // The sum cannot overflow, because each product is below 2^39. The comparison also limits every
  // count. The remaining bytes are the points of joints' paths.
  uint64_t wanted = S2_S2D_SCENE_HEADER + (uint64_t)S2_S2D_BODY * bodies +
                    (uint64_t)S2_S2D_SHAPE * shapes + (uint64_t)S2_S2D_VERTEX * vertices +
                    (uint64_t)S2_S2D_JOINT * joints;
  if (!ok || wanted > size) {
    return false;
  }
  s2_array_reserve(moment->bodies, (int)bodies);
  s2_array_reserve(moment->shapes, (int)shapes);
  s2_array_reserve(moment->vertices, (int)vertices);
  s2_array_reserve(moment->joints, (int)joints);
  // The shapes of all bodies must add up to the total, and so must the vertices of all shapes.
  uint32_t shapes_taken = 0, vertices_taken = 0;
  for (uint32_t i = 0; ok && i < bodies; i++) {
    ok = get_body(&cursor, &moment->bodies.at[i], &shapes_taken, shapes);
  }
  for (uint32_t i = 0; ok && i < shapes; i++) {
    ok = get_shape(&cursor, &moment->shapes.at[i], &vertices_taken, vertices);
  }
  for (uint32_t i = 0; ok && i < vertices; i++) {
    moment->vertices.at[i] = get_vec(&cursor);
  }
  for (uint32_t i = 0; ok && i < joints; i++) {
    ok = get_joint(&cursor, &moment->joints.at[i], bodies);
    wanted += ok ? S2_S2D_VERTEX * (uint64_t)moment->joints.at[i].ways : 0;
  }
  ok = ok && wanted == size;
  for (uint32_t i = 0; ok && i < joints; i++) {
    for (int k = 0; k < moment->joints.at[i].ways; k++) {
      moment->joints.at[i].way[k] = get_vec(&cursor);
    }
  }
  moment->bodies.count = (int)bodies;
  moment->shapes.count = (int)shapes;
  moment->vertices.count = (int)vertices;
  moment->joints.count = (int)joints;
  return ok && shapes_taken == shapes && vertices_taken == vertices;
}

static bool get_channels(const unsigned char *contents, uint32_t size, S2Moment *moment) {
  Cursor cursor = {contents};
  uint32_t count = size < 4 ? 0 : replay_get32(&cursor);
  if (size != 4 + (uint64_t)S2_S2D_CHANNEL * count) {
    return false;
  }
  s2_array_reserve(moment->channels, (int)count);
  moment->channels.count = (int)count;
  for (uint32_t i = 0; i < count; i++) {
    S2MomentChannel *channel = &moment->channels.at[i];
    get_name(&cursor, channel->name);
    memcpy(channel->unit, cursor.at, S2_UNIT_SIZE);
    channel->unit[S2_UNIT_SIZE - 1] = '\0';
    cursor.at += S2_UNIT_SIZE;
    channel->value = (double)NAN;
  }
  return true;
}

// Reads a text that is preceded by its length. Returns NULL if it is truncated.
static const unsigned char *get_text(Cursor *cursor, const unsigned char *end, uint32_t *size) {
  if (end - cursor->at < 4) {
    return NULL;
  }
  *size = replay_get32(cursor);
  if ((size_t)(end - cursor->at) < *size) {
    return NULL;
  }
  cursor->at += *size;
  return cursor->at - *size;
}

static bool get_run(const unsigned char *contents, uint32_t size, S2Run *run) {
  Cursor cursor = {contents};
  const unsigned char *end = contents + size;
  s2_run_free(run);
  uint32_t count = size < 4 ? 0 : replay_get32(&cursor), key_size, value_size;
  for (uint32_t i = 0; i < count; i++) {
    const unsigned char *key = get_text(&cursor, end, &key_size);
    const unsigned char *value = key == NULL ? NULL : get_text(&cursor, end, &value_size);
    if (value == NULL) {
      return false;
    }
    s2_run_add_bytes(run, (const char *)key, key_size, (const char *)value, value_size);
  }
  return size >= 4 && cursor.at == end;
}

// ---- The file ---------------------------------------------------------------------------------

// Reads and checks the chunk at `offset` into `contents`. Returns false if there is no complete
// chunk.
static bool replay_read_chunk(S2Replay *replay, off_t offset, Chunk *chunk) {
  unsigned char header[S2_S2D_CHUNK_HEADER];
  if (replay->length - offset < S2_S2D_CHUNK_HEADER ||
      fseeko(replay->file, offset, SEEK_SET) != 0 ||
      fread(header, 1, sizeof header, replay->file) != sizeof header) {
    return false;
  }
  // The size of the chunk is in its header. A shorter file is truncated.
  uint32_t size = s2_s2d_get32(header + 4);
  if (replay->length - offset - S2_S2D_CHUNK_HEADER < (off_t)size) {
    return false; // also limits the memory to the size of the file
  }
  if (size > replay->contents_capacity) {
    replay->contents = s2_memory_grow(replay->contents, 2 * (size_t)size);
    replay->contents_capacity = 2 * (size_t)size;
  }
  if (fread(replay->contents, 1, size, replay->file) != size) {
    return false;
  }
  // The checksum covers the kind, size and contents.
  uint64_t hash = s2_s2d_hash(s2_s2d_hash(S2_S2D_HASH_START, header, 8), replay->contents, size);
  *chunk = (Chunk){.kind = (S2S2dChunk)s2_s2d_get32(header), .offset = offset, .size = size};
  return hash == s2_s2d_get64(header + 8);
}

static bool load_scene(S2Replay *replay, int32_t at) {
  const Scene *scene = &replay->scenes.at[at];
  Chunk chunk;
  replay->scene_loaded = -1;
  replay->moment.channels.count = 0;
  if (scene->channels > 0 &&
      (!replay_read_chunk(replay, scene->channels, &chunk) || chunk.kind != S2_S2D_CHANNELS ||
       !get_channels(replay->contents, chunk.size, &replay->moment))) {
    return false;
  }
  if (!replay_read_chunk(replay, scene->scene, &chunk) || chunk.kind != S2_S2D_SCENE ||
      !get_scene(replay, chunk.size)) {
    return false;
  }
  replay->scene_loaded = at;
  return true;
}

static void replay_add_frame(S2Replay *replay, Frame frame) {
  if (replay->frame_count == replay->frame_capacity) {
    uint64_t capacity = replay->frame_capacity == 0 ? 256 : 2 * replay->frame_capacity;
    replay->frames = s2_memory_grow(replay->frames, sizeof(Frame) * (size_t)capacity);
    replay->frame_capacity = capacity;
  }
  replay->frames[replay->frame_count++] = frame;
}

// Processes the chunk that was read last. Returns false if it is invalid.
static bool replay_take_chunk(S2Replay *replay, const Chunk *chunk, off_t *channels) {
  const unsigned char *contents = replay->contents;
  // The preceding channels belong to this scene.
  if (chunk->kind == S2_S2D_SCENE) {
    *s2_array_append(replay->scenes) = (Scene){*channels, chunk->offset};
    replay->moment.channels.count = *channels > 0 ? replay->moment.channels.count : 0;
    *channels = 0;
    bool ok = get_scene(replay, chunk->size);
    replay->scene_loaded = ok ? replay->scenes.count - 1 : -1;
    return ok;
  }
  // Read the frame, because damage can only be detected in this way. Each frame depends on the
  // preceding one.
  if (chunk->kind == S2_S2D_FRAME) {
    if (replay->scene_loaded < 0 ||
        !s2_s2d_frame_read(&replay->past, contents, chunk->size, &replay->moment)) {
      return false;
    }
    bool key = s2_s2d_frame_is_key(contents, chunk->size);
    uint32_t behind = key ? 0 : replay->frames[replay->frame_count - 1].behind + 1;
    replay_add_frame(replay, (Frame){chunk->offset, replay->scene_loaded, behind});
    replay->read = replay->frame_count;
  } else if (chunk->kind == S2_S2D_CHANNELS) {
    *channels = chunk->offset;
    replay->scene_loaded = -1;
    return get_channels(contents, chunk->size, &replay->moment);
  } else if (chunk->kind == S2_S2D_RUN) {
    return get_run(contents, chunk->size, &replay->run);
  } // other chunks are not needed here, or come from a later version
  return true;
}

// Finds the frames by reading the whole file, up to the end mark or the first invalid chunk.
static void find_frames(S2Replay *replay) {
  off_t offset = S2_S2D_FILE_HEADER, channels = 0;
  Chunk chunk;
  while (replay_read_chunk(replay, offset, &chunk)) {
    if (chunk.kind == S2_S2D_END) {
      replay->complete = true;
      return;
    }
    if (!replay_take_chunk(replay, &chunk, &channels)) {
      return;
    }
    offset += S2_S2D_CHUNK_HEADER + (off_t)chunk.size;
  }
}

static bool get_index(S2Replay *replay, uint32_t size) {
  Cursor cursor = {replay->contents};
  uint64_t frames = size < S2_S2D_INDEX_HEADER ? 0 : replay_get64(&cursor);
  uint64_t scenes = size < S2_S2D_INDEX_HEADER ? 0 : replay_get64(&cursor);
  if (frames > size || scenes > size ||
      size != S2_S2D_INDEX_HEADER + S2_S2D_INDEX_SCENE * scenes + S2_S2D_INDEX_FRAME * frames) {
    return false;
  }
  // Do not check offsets. The chunks are checked when they are read.
  for (uint64_t i = 0; i < scenes; i++) {
    off_t channels = (off_t)(replay_get64(&cursor) & INT64_MAX);
    *s2_array_append(replay->scenes) =
        (Scene){channels, (off_t)(replay_get64(&cursor) & INT64_MAX)};
  }
  for (uint64_t i = 0; i < frames; i++) {
    off_t offset = (off_t)(replay_get64(&cursor) & INT64_MAX);
    uint32_t scene = replay_get32(&cursor), behind = replay_get32(&cursor);
    bool same = i > 0 && behind > 0 && replay->frames[i - 1].scene == (int32_t)scene &&
                replay->frames[i - 1].behind + 1 == behind;
    if (scene >= scenes || (behind > 0 && !same)) {
      return false;
    }
    replay_add_frame(replay, (Frame){offset, (int32_t)scene, behind});
  }
  return true;
}

// Finds the frames from the index. Returns false if the end mark or the index is invalid.
static bool find_index(S2Replay *replay) {
  Chunk chunk;
  // The end mark of a closed recording contains the position of the index.
  off_t end = replay->length - S2_S2D_CHUNK_HEADER - 8;
  if (end < S2_S2D_FILE_HEADER || !replay_read_chunk(replay, end, &chunk) ||
      chunk.kind != S2_S2D_END || chunk.size != 8) {
    return false;
  }
  // Ignore an invalid index.
  off_t index = (off_t)(s2_s2d_get64(replay->contents) & INT64_MAX);
  if (index < S2_S2D_FILE_HEADER || !replay_read_chunk(replay, index, &chunk) ||
      chunk.kind != S2_S2D_INDEX || !get_index(replay, chunk.size)) {
    replay->scenes.count = 0;
    replay->frame_count = 0;
    return false;
  }
  // The description of the run is the first chunk, if there is one.
  if (replay_read_chunk(replay, S2_S2D_FILE_HEADER, &chunk) && chunk.kind == S2_S2D_RUN) {
    get_run(replay->contents, chunk.size, &replay->run);
  }
  replay->complete = true;
  return true;
}

static S2Status replay_read_header(S2Replay *replay) {
  const char *path = s2_path_tail(replay->path);
  unsigned char header[S2_S2D_FILE_HEADER];
  errno = 0;
  // The file may still grow, so only read it up to its present length.
  bool sought = fseeko(replay->file, 0, SEEK_END) == 0;
  replay->length = ftello(replay->file);
  if (!sought || replay->length < 0 || fseeko(replay->file, 0, SEEK_SET) != 0) {
    return s2_error(S2_IO, "cannot read '%s': %s", path, strerror(errno));
  }
  size_t got = fread(header, 1, sizeof header, replay->file);
  if (ferror(replay->file)) {
    return s2_error(S2_IO, "cannot read '%s': %s", path, strerror(errno));
  }
  // Reject other kinds of files and other versions.
  if (got < sizeof header || memcmp(header, S2_S2D_MAGIC, sizeof S2_S2D_MAGIC - 1) != 0) {
    return s2_error(S2_INVALID, "'%s' is not a .s2d recording", path);
  }
  uint32_t version = s2_s2d_get32(header + 8);
  if (version != S2_S2D_VERSION) {
    return s2_error(S2_INVALID, "'%s' has format version %lu; this program reads version %d only",
                    path, (unsigned long)version, S2_S2D_VERSION);
  }
  return s2_ok();
}

static S2Status replay_refuse(const S2Replay *replay) {
  return s2_error(S2_INVALID,
                  "'%s' has steps of the midpoint rule (nonlinear), which this program does not "
                  "support: read it with the version that wrote it",
                  s2_path_tail(replay->path));
}

typedef struct Opening {
  const char *path;
  FILE *file;
  S2Replay *replay;
} Opening;

static S2Status open_replay(void *user) {
  Opening *opening = user;
  S2Replay *opened = s2_memory_take_zeroed(sizeof *opened);
  opened->file = opening->file;
  opened->scene_loaded = -1;
  size_t bytes = strlen(opening->path) + 1;
  opened->path = memcpy(s2_memory_take(bytes), opening->path, bytes);
  S2Status status = replay_read_header(opened);
  if (status.code != S2_OK) {
    opened->file = NULL;
    s2_replay_close(opened);
    return status;
  }
  // Finds the frames of the file, and checks that this version can step the first scene.
  if (!find_index(opened)) {
    find_frames(opened);
  } else if (opened->scenes.count > 0) {
    (void)load_scene(opened, 0);
  }
  if (opened->midpoint) {
    status = replay_refuse(opened);
    opened->file = NULL;
    s2_replay_close(opened);
    return status;
  }
  opening->replay = opened;
  return s2_ok();
}

S2Status s2_replay_open(const char *path, S2Replay **replay) {
  *replay = NULL;
  FILE *file = fopen(path, "rb");
  if (file == NULL) {
    return s2_error(S2_IO, "cannot read '%s': %s", s2_path_tail(path), strerror(errno));
  }
  Opening opening = {path, file, NULL};
  S2Status status = s2_memory_building(open_replay, &opening);
  if (status.code == S2_OK) {
    *replay = opening.replay;
  } else {
    fclose(file);
  }
  return status; // cppcheck-suppress resourceLeak ; the replay owns the file
}

uint64_t s2_replay_frame_count(const S2Replay *replay) {
  return replay->frame_count;
}

const S2Run *s2_replay_run(const S2Replay *replay) {
  return &replay->run;
}

bool s2_replay_complete(const S2Replay *replay) {
  return replay->complete;
}

// Reads the script's drawings for the frame whose chunk ends at `offset`. Invalid drawings are
// dropped.
static void read_annotations(S2Replay *replay, off_t offset) {
  enum { FIXED = 4 + 4 + 6 * 8 + 4 }; // size in bytes of a drawing without its text
  S2Moment *moment = &replay->moment;
  Chunk chunk;
  moment->annotations.count = 0;
  if (!replay_read_chunk(replay, offset, &chunk) || chunk.kind != S2_S2D_ANNOTATIONS ||
      chunk.size < 4) {
    return;
  }
  // Check each drawing before it is used.
  Cursor cursor = {replay->contents};
  const unsigned char *end = cursor.at + chunk.size;
  uint32_t count = replay_get32(&cursor);
  for (uint32_t i = 0; i < count && end - cursor.at >= FIXED; i++) {
    S2MomentAnnotation of = {.type = (S2AnnotationType)replay_get32(&cursor)};
    of.color = replay_get32(&cursor);
    of.from = get_vec(&cursor);
    of.to = get_vec(&cursor);
    of.size = get_double(&cursor);
    of.letters = get_double(&cursor);
    uint32_t size;
    const unsigned char *text = get_text(&cursor, end, &size);
    if (text == NULL || size >= S2_ANNOTATION_SIZE || (uint32_t)of.type > S2_ANNOTATION_TEXT) {
      return;
    }
    memcpy(of.text, text, size);
    *s2_array_append(moment->annotations) = of;
  }
}

// Reads frame `index` and the frames that it depends on.
static bool read_frames(S2Replay *replay, uint64_t index) {
  // Start at the last key frame.
  const Frame *frame = &replay->frames[index];
  uint64_t from = index - frame->behind;
  if (replay->scene_loaded != frame->scene) {
    if (!load_scene(replay, frame->scene)) {
      return false;
    }
  } else if (replay->read > from && replay->read <= index) {
    from = replay->read; // continue after the last frame
  }
  // Each call of s2_s2d_frame_read advances the moment by one frame.
  Chunk chunk;
  for (uint64_t i = from; i <= index; i++) {
    if (!replay_read_chunk(replay, replay->frames[i].offset, &chunk) ||
        chunk.kind != S2_S2D_FRAME ||
        !s2_s2d_frame_read(&replay->past, replay->contents, chunk.size, &replay->moment)) {
      return false;
    }
  }
  replay->read = index + 1;
  if (from <= index) {
    read_annotations(replay, chunk.offset + S2_S2D_CHUNK_HEADER + (off_t)chunk.size);
  }
  return true;
}

typedef struct Wanted {
  S2Replay *replay;
  uint64_t index;
  bool good;
} Wanted;

static S2Status read_frame(void *user) {
  Wanted *wanted = user;
  wanted->good = read_frames(wanted->replay, wanted->index);
  return s2_ok();
}

S2Status s2_replay_frame(S2Replay *replay, uint64_t index, const S2Moment **moment) {
  *moment = NULL;
  if (index >= replay->frame_count) {
    return s2_error(S2_INVALID, "no frame %llu in '%s' (it has %llu, counted from 0)",
                    (unsigned long long)index, s2_path_tail(replay->path),
                    (unsigned long long)replay->frame_count);
  }
  // The moment is undefined if memory runs out during the call.
  Wanted wanted = {replay, index, false};
  S2Status status = s2_memory_guarded(read_frame, &wanted);
  if (!wanted.good) {
    replay->read = 0;
    replay->scene_loaded = -1; // the scene may be incomplete
    S2_TRY(status);
    if (replay->midpoint) {
      return replay_refuse(replay);
    }
    return s2_error(S2_IO,
                    "cannot read frame %llu of '%s': the file is damaged there, or changed while "
                    "it was open",
                    (unsigned long long)index, s2_path_tail(replay->path));
  }
  *moment = &replay->moment;
  return s2_ok();
}

// Reads the two texts in the chunk that was read last.
static void take_plot(const S2Replay *replay, uint32_t size, S2Plots *plots) {
  Cursor cursor = {replay->contents};
  const unsigned char *end = cursor.at + size;
  uint32_t name_size, svg_size;
  const unsigned char *name = get_text(&cursor, end, &name_size);
  const unsigned char *svg = name == NULL ? NULL : get_text(&cursor, end, &svg_size);
  if (svg == NULL || cursor.at != end) {
    return;
  }
  s2_plots_append(plots, (const char *)name, name_size, (const char *)svg, svg_size);
}

// Finds the next chunk of a kind from `*offset` on. Returns false if there is none.
static bool replay_next(S2Replay *replay, off_t *offset, uint32_t wanted, Chunk *chunk) {
  unsigned char header[S2_S2D_CHUNK_HEADER];
  while (replay->length - *offset >= S2_S2D_CHUNK_HEADER &&
         fseeko(replay->file, *offset, SEEK_SET) == 0 &&
         fread(header, 1, sizeof header, replay->file) == sizeof header) {
    off_t here = *offset;
    uint32_t kind = s2_s2d_get32(header);
    if (kind == S2_S2D_END) {
      return false;
    }
    *offset += S2_S2D_CHUNK_HEADER + (off_t)s2_s2d_get32(header + 4);
    if (kind == wanted && replay_read_chunk(replay, here, chunk)) {
      return true;
    }
  }
  return false;
}

void s2_replay_plots(S2Replay *replay, S2Plots *plots) {
  off_t offset = S2_S2D_FILE_HEADER;
  Chunk chunk;
  while (replay_next(replay, &offset, S2_S2D_PLOT, &chunk)) {
    take_plot(replay, chunk.size, plots);
  }
  s2_plots_settle(plots);
}

void s2_replay_decisions(S2Replay *replay, S2Decisions *decisions) {
  off_t offset = S2_S2D_FILE_HEADER;
  Chunk chunk;
  while (replay_next(replay, &offset, S2_S2D_DECISIONS, &chunk)) {
    for (uint32_t i = 0; i + 4 <= chunk.size; i += 4) {
      *s2_array_append(*decisions) = s2_s2d_get32(replay->contents + i);
    }
  }
}

void s2_replay_close(S2Replay *replay) {
  if (replay == NULL) {
    return;
  }
  if (replay->file != NULL) {
    fclose(replay->file);
  }
  s2_memory_free(replay->path);
  s2_memory_free(replay->frames);
  s2_memory_free(replay->contents);
  s2_array_free(replay->scenes);
  s2_run_free(&replay->run);
  s2_s2d_past_free(&replay->past);
  s2_moment_free(&replay->moment);
  s2_memory_free(replay);
}
