#include "diff/world/world_checkpoint.h"

#include "dynamics/world/world.h"

#include <assert.h>
#include <string.h>

enum {
  NEAR = 16 // bytes; changes closer than this form one patch
};

typedef struct Patch { // a range of bytes of the image that changed since the previous step
  size_t at, size;
  size_t from; // position in the segment's bytes
} Patch;

typedef enum AnswerKind { FORCE, FILTER, PRE_SOLVE, MOTION } AnswerKind;

typedef struct Answer { // the value that a callback returned
  AnswerKind kind;
  bool yes;                         // PRE_SOLVE: enabled
  double number[S2_MOTION_NUMBERS]; // MOTION: mean velocity, velocities at both ends; PRE_SOLVE:
                                    // friction, restitution, surface speed; FORCE: force
  int slopes;      // MOTION: first of its 3 or 9 numbers; FORCE: the call; -1: unknown or unused
  int term, terms; // FORCE: first term, and number of terms
} Answer;

typedef struct Kept {      // one step
  int patches, answers;    // indices of its first patch and its first answer in the segment
  unsigned char callbacks; // bits of the callbacks that were set in the step
} Kept;

typedef struct Again {
  S2Trace *trace;
} Again;

struct S2Segment {
  size_t size; // size of the image
  unsigned char *image;
  S2_ARRAY(Kept) steps;
  S2_ARRAY(Patch) patches;
  S2_ARRAY(unsigned char) bytes;
  S2_ARRAY(Answer) answers;
  S2_ARRAY(S2Slope) slopes;
  S2_ARRAY(S2ForceCall) calls;
  S2_ARRAY(S2ForceTerm) terms;
  S2_ARRAY(Again) traces; // valid during a sweep
};

struct S2Checkpoints {
  // The segment to which the next step is added, unless it is full. If NULL, the next step begins a
  // new segment.
  S2Segment *segment;
  S2_ARRAY(unsigned char) before, after; // images before and after the last step
};

S2Checkpoints *s2_checkpoints_new(void) {
  S2Checkpoints *checkpoints = s2_memory_take(sizeof *checkpoints);
  *checkpoints = (S2Checkpoints){0};
  return checkpoints;
}

void s2_checkpoints_free(S2Checkpoints *checkpoints) {
  if (checkpoints != NULL) {
    s2_array_free(checkpoints->before);
    s2_array_free(checkpoints->after);
    s2_memory_free(checkpoints);
  }
}

void s2_checkpoints_break(S2Checkpoints *checkpoints) {
  checkpoints->segment = NULL;
}

bool s2_checkpoints_can(const S2World *world) {
  bool can = true;
  for (int i = 0; i < world->joint_order.count; i++) {
    const S2Joint *joint = &world->joints.at[world->joint_order.at[i]];
    can &= joint->type != S2_CONSTRAINT && !joint->has_law;
  }
  return can;
}

// ---- Callbacks --------------------------------------------------------------------------------

// Replaces the callbacks in a step: records their returned values, or returns the recorded values.
typedef struct Witness {
  S2Callbacks real;
  S2Segment *segment;
  int next; // the next recorded value to return
  bool replays;
  bool differs; // a call differed from the recorded one
} Witness;

static bool checkpoint_next_answer(Witness *witness, AnswerKind kind, Answer *answer) {
  const S2Segment *segment = witness->segment;
  if (witness->next >= segment->answers.count || segment->answers.at[witness->next].kind != kind) {
    witness->differs = true;
    return false;
  }
  *answer = segment->answers.at[witness->next++];
  return true;
}

static void checkpoint_note_answer(Witness *witness, const Answer *answer) {
  *s2_array_append(witness->segment->answers) = *answer;
}

static bool checkpoint_force_again(Witness *witness, S2World *world, S2ForceCall *call) {
  const S2Segment *segment = witness->segment;
  Answer answer = {.kind = FORCE};
  if (!checkpoint_next_answer(witness, FORCE, &answer)) {
    return false;
  }
  memcpy(call->force, answer.number, sizeof call->force);
  if (answer.slopes >= 0) {
    S2BodyId body = call->body;
    *call = segment->calls.at[answer.slopes];
    call->body = body;
  }
  for (int i = 0; i < answer.terms; i++) {
    const S2ForceTerm *term = &segment->terms.at[answer.term + i];
    s2_force_slope(world, term->number, term->slot, term->part, term->by);
  }
  return true;
}

static bool checkpoint_ask_force(void *user, S2World *world, S2ForceCall *call) {
  Witness *witness = user;
  S2Segment *segment = witness->segment;
  if (witness->replays) {
    return checkpoint_force_again(witness, world, call);
  }
  bool good = witness->real.force(witness->real.user, world, call);
  Answer answer = {.kind = FORCE, .slopes = -1};
  memcpy(answer.number, call->force, sizeof call->force);
  if (call->wanted) { // with derivatives
    answer.slopes = segment->calls.count;
    answer.term = segment->terms.count;
    answer.terms = world->slopes.count;
    for (int i = 0; i < answer.terms; i++) {
      *s2_array_append(segment->terms) = world->slopes.at[i];
    }
    *s2_array_append(segment->calls) = *call;
  }
  checkpoint_note_answer(witness, &answer);
  return good;
}

static bool checkpoint_ask_filter(void *user, S2World *world, S2BodyId a, S2BodyId b,
                                  bool *collide) {
  Witness *witness = user;
  Answer answer = {.kind = FILTER};
  if (witness->replays) {
    bool good = checkpoint_next_answer(witness, FILTER, &answer);
    *collide = answer.yes;
    return good;
  }
  bool good = witness->real.filter(witness->real.user, world, a, b, collide);
  answer.yes = *collide;
  checkpoint_note_answer(witness, &answer);
  return good;
}

static bool checkpoint_ask_pre_solve(void *user, S2World *world, S2PreContact *contact) {
  Witness *witness = user;
  Answer answer = {.kind = PRE_SOLVE};
  if (witness->replays) {
    bool good = checkpoint_next_answer(witness, PRE_SOLVE, &answer);
    contact->friction = answer.number[0];
    contact->restitution = answer.number[1];
    contact->surface_speed = answer.number[2];
    contact->enabled = answer.yes;
    return good;
  }
  bool good = witness->real.pre_solve(witness->real.user, world, contact);
  answer = (Answer){.kind = PRE_SOLVE,
                    .yes = contact->enabled,
                    .number = {contact->friction, contact->restitution, contact->surface_speed}};
  checkpoint_note_answer(witness, &answer);
  return good;
}

static bool checkpoint_ask_motion(void *user, S2World *world, S2MotionCall *call) {
  Witness *witness = user;
  Answer answer = {.kind = MOTION};
  int slopes = call->ends ? 9 : 3;
  if (witness->replays) { // the mean velocity, and the velocities at both ends
    bool good = checkpoint_next_answer(witness, MOTION, &answer);
    memcpy(call->v, answer.number, sizeof call->v);
    memcpy(call->start, answer.number + 3, sizeof call->start);
    memcpy(call->end, answer.number + 6, sizeof call->end);
    call->sloped = good && answer.slopes >= 0;
    if (call->sloped && call->slope != NULL) {
      memcpy(call->slope, witness->segment->slopes.at + answer.slopes,
             sizeof(S2Slope) * (size_t)slopes);
    }
    return good;
  }
  S2Slope slope[S2_MOTION_NUMBERS] = {0};
  call->slope = slope;
  bool good = witness->real.motion(witness->real.user, world, call);
  call->slope = NULL;
  answer.slopes = call->sloped ? witness->segment->slopes.count : -1;
  for (int i = 0; i < slopes && call->sloped; i++) {
    *s2_array_append(witness->segment->slopes) = slope[i];
  }
  memcpy(answer.number, call->v, sizeof call->v);
  memcpy(answer.number + 3, call->start, sizeof call->start);
  memcpy(answer.number + 6, call->end, sizeof call->end);
  checkpoint_note_answer(witness, &answer);
  return good;
}

static bool checkpoint_ask_proceed(void *user) {
  const Witness *witness = user;
  return witness->real.proceed(witness->real.user);
}

static void checkpoint_put_between(Witness *witness, S2World *world) {
  // With recorded values, use the callbacks that were set in the step.
  const S2Callbacks *real = &witness->real;
  world->callbacks = (S2Callbacks){
      .user = witness,
      .force = real->force != NULL ? checkpoint_ask_force : NULL,
      .filter = real->filter != NULL ? checkpoint_ask_filter : NULL,
      .pre_solve = real->pre_solve != NULL ? checkpoint_ask_pre_solve : NULL,
      .motion = real->motion != NULL ? checkpoint_ask_motion : NULL,
      .proceed = real->proceed != NULL ? checkpoint_ask_proceed : NULL,
  };
}

// Converts the set of callbacks to bits and back. A repeated step must call the same callbacks.
static unsigned char checkpoint_present(const S2Callbacks *real) {
  return (unsigned char)((real->force != NULL) | (real->filter != NULL) << 1 |
                         (real->pre_solve != NULL) << 2 | (real->motion != NULL) << 3);
}

static S2Callbacks checkpoint_stand_ins(unsigned char present) {
  return (S2Callbacks){.force = present & 1 ? checkpoint_ask_force : NULL,
                       .filter = present & 2 ? checkpoint_ask_filter : NULL,
                       .pre_solve = present & 4 ? checkpoint_ask_pre_solve : NULL,
                       .motion = present & 8 ? checkpoint_ask_motion : NULL};
}

// ---- Recording --------------------------------------------------------------------------------

#define TAKE_IMAGE(array, world)                                                                   \
  (s2_array_reserve(array, (int)s2_world_image_size(world)),                                       \
   (array).count = (int)s2_world_image_size(world), s2_world_image_write(world, (array).at))

static S2Segment *checkpoint_begin_segment(const S2Checkpoints *checkpoints) {
  S2Segment *segment = s2_memory_take(sizeof *segment);
  *segment = (S2Segment){.size = (size_t)checkpoints->before.count};
  segment->image = s2_memory_take(segment->size);
  memcpy(segment->image, checkpoints->before.at, segment->size);
  return segment;
}

static void checkpoint_add_patch(S2Segment *segment, const unsigned char *image, size_t at,
                                 size_t size) {
  Patch patch = {at, size, (size_t)segment->bytes.count};
  s2_array_reserve(segment->bytes, segment->bytes.count + (int)size);
  memcpy(segment->bytes.at + segment->bytes.count, image + at, size);
  segment->bytes.count += (int)size;
  *s2_array_append(segment->patches) = patch;
}

static void checkpoint_keep_changes(S2Segment *segment, const unsigned char *before,
                                    const unsigned char *after) {
  size_t size = segment->size;
  for (size_t i = 0; i < size; i++) {
    if (before[i] == after[i]) {
      continue;
    }
    size_t end = i + 1;
    for (size_t k = end; k < size && k < end + NEAR; k++) {
      end = before[k] != after[k] ? k + 1 : end;
    }
    checkpoint_add_patch(segment, before, i, end - i);
    i = end;
  }
}

S2Status s2_checkpoints_step(S2Checkpoints *checkpoints, S2World *world, int every, S2Segment **at,
                             int *index) {
  TAKE_IMAGE(checkpoints->before, world);
  S2Segment *segment = checkpoints->segment;
  // Add the step to the last segment, unless that is full or the world has another size.
  bool goes_on = segment != NULL && segment->steps.count < every &&
                 segment->size == (size_t)checkpoints->before.count &&
                 checkpoints->after.count == checkpoints->before.count;
  S2Segment *started = goes_on ? NULL : checkpoint_begin_segment(checkpoints);
  segment = goes_on ? segment : started;
  Kept kept = {segment->patches.count, segment->answers.count,
               checkpoint_present(&world->callbacks)};
  int slopes = segment->slopes.count;
  int calls = segment->calls.count, terms = segment->terms.count;
  int bytes = segment->bytes.count;
  // Record the changes since the last step.
  if (goes_on) {
    checkpoint_keep_changes(segment, checkpoints->before.at, checkpoints->after.at);
  }
  // Record the values that callbacks return during the step.
  Witness witness = {.real = world->callbacks, .segment = segment};
  checkpoint_put_between(&witness, world);
  // A traced step calls force laws more often, because it needs the forces at its end. The repeated
  // step is traced and must make the same calls, so trace this step, too.
  S2Trace *trace = witness.real.force == NULL ? NULL : s2_trace_new();
  S2Status status = trace == NULL ? s2_world_step(world) : s2_world_step_traced(world, trace);
  s2_trace_free(trace);
  world->callbacks = witness.real;
  // A step that fails is not recorded.
  if (status.code != S2_OK) {
    segment->patches.count = kept.patches;
    segment->answers.count = kept.answers;
    segment->slopes.count = slopes;
    segment->calls.count = calls;
    segment->terms.count = terms;
    segment->bytes.count = bytes;
    s2_segment_free(started);
    return status;
  }
  *s2_array_append(segment->steps) = kept;
  TAKE_IMAGE(checkpoints->after, world);
  checkpoints->segment = segment;
  *at = segment;
  *index = segment->steps.count - 1;
  return status;
}

// ---- Repeating --------------------------------------------------------------------------------

static S2Status checkpoint_step_again(Witness *witness, S2World *world, unsigned char *image,
                                      int index) {
  S2Segment *segment = witness->segment;
  bool last = index + 1 == segment->steps.count;
  int end = last ? segment->patches.count : segment->steps.at[index + 1].patches;
  for (int i = segment->steps.at[index].patches; i < end; i++) {
    const Patch *patch = &segment->patches.at[i];
    memcpy(image + patch->at, segment->bytes.at + patch->from, patch->size);
  }
  S2_TRY(s2_world_image_read(world, image, segment->size));
  witness->real = checkpoint_stand_ins(segment->steps.at[index].callbacks);
  checkpoint_put_between(witness, world);
  S2Trace *trace = s2_trace_new();
  *s2_array_append(segment->traces) = (Again){trace};
  S2Status status = s2_world_step_traced(world, trace);
  // The step fails if a callback is called differently, because there is no recorded value. The
  // error is reported below.
  if (status.code != S2_OK && !witness->differs) {
    return status;
  }
  if (last && !witness->differs) {
    return s2_ok();
  }
  if (witness->differs || s2_world_image_size(world) != segment->size) {
    return s2_error(S2_INVALID,
                    "a step between checkpoints gave a different result when it was repeated");
  }
  s2_world_image_write(world, image);
  return s2_ok();
}

static S2Status checkpoint_make_again(S2Segment *segment) {
  S2WorldDef def = s2_world_def();
  S2World *world;
  S2_TRY(s2_world_create(&def, &world));
  Witness witness = {.segment = segment, .replays = true};
  unsigned char *image = s2_memory_take(segment->size);
  memcpy(image, segment->image, segment->size);
  S2Status status = s2_ok();
  for (int i = 0; i < segment->steps.count && status.code == S2_OK; i++) {
    status = checkpoint_step_again(&witness, world, image, i);
  }
  s2_memory_free(image);
  s2_world_destroy(world);
  return status;
}

S2Status s2_segment_trace(S2Segment *segment, int index, const S2Trace **trace) {
  if (segment->traces.count == 0) {
    S2Status status = checkpoint_make_again(segment);
    if (status.code != S2_OK) {
      s2_segment_forget(segment);
      return status;
    }
  }
  assert(index < segment->traces.count);
  *trace = segment->traces.at[index].trace;
  return s2_ok();
}

int s2_segment_steps(const S2Segment *segment) {
  return segment->steps.count;
}

void s2_segment_forget(S2Segment *segment) {
  for (int i = 0; i < segment->traces.count; i++) {
    s2_trace_free(segment->traces.at[i].trace);
  }
  segment->traces.count = 0;
}

size_t s2_segment_traces(const S2Segment *segment) {
  size_t bytes = 0;
  for (int i = 0; i < segment->traces.count; i++) {
    bytes += s2_trace_bytes(segment->traces.at[i].trace);
  }
  return bytes;
}

size_t s2_segment_bytes(const S2Segment *segment) {
  return sizeof *segment + segment->size + sizeof(Kept) * (size_t)segment->steps.capacity +
         sizeof(Patch) * (size_t)segment->patches.capacity + (size_t)segment->bytes.capacity +
         sizeof(Answer) * (size_t)segment->answers.capacity +
         sizeof(S2Slope) * (size_t)segment->slopes.capacity +
         sizeof(S2ForceCall) * (size_t)segment->calls.capacity +
         sizeof(S2ForceTerm) * (size_t)segment->terms.capacity;
}

void s2_segment_free(S2Segment *segment) {
  if (segment != NULL) {
    s2_segment_forget(segment);
    s2_memory_free(segment->image);
    s2_array_free(segment->steps);
    s2_array_free(segment->patches);
    s2_array_free(segment->bytes);
    s2_array_free(segment->answers);
    s2_array_free(segment->slopes);
    s2_array_free(segment->calls);
    s2_array_free(segment->terms);
    s2_array_free(segment->traces);
    s2_memory_free(segment);
  }
}
