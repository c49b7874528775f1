// Private to core/batch: the storage of a batch, and the parts of a step that concern one world.
#ifndef S2_EPISODE_H
#define S2_EPISODE_H

#include "batch/batch.h"
#include "dynamics/copies/copies.h"

enum { S2_BATCH_CHUNK = 16 }; // number of worlds that a thread steps together

typedef enum S2BatchLeft { S2_LEFT_NOTHING, S2_LEFT_END, S2_LEFT_RESET } S2BatchLeft;

typedef struct S2BatchWorld {
  S2World *world;       // NULL: the world is packed
  unsigned char *image; // its beginning; all copies of one world share it
  size_t size;
  uint64_t changes, revision; // s2_world_changes and s2_world_revision at the start of the batch
  int controls, observed; // number of commands and number of observations at the start of the batch
  const S2Judge *judge;
  int draws;
  const S2Draw *draw;
  S2BatchPlace place;
  bool packed;                     // true if the state of the world is its row of S2Batch.packs
  unsigned own;                    // S2_OWN_...: work that the calling program does in this call
  S2BatchLeft left;                // work that the threads have left to the calling program
  uint64_t unsolved, mode_changes; // statistics before the steps of this call
  S2World *mine;                   // a copy that is not packed, or memory for it, or NULL
  S2Status failure;
} S2BatchWorld;

struct S2Batch {
  S2BatchDef def; // definition, with a copy of the draws
  S2Workers *workers;
  int count, controls, observed, failures;
  S2BatchWorld *world;
  double *last; // [count][controls]: the commands that hold now
  const double *mask;
  bool commanded;
  int steps;
  S2BatchResult *result;
  // Copies of one world that programs step. NULL without them.
  S2Stage **stages; // per worker
  double *packs;    // [count][pack]
  int pack;
  int *seen; // per bound of the judge: index in the observation, or -1; NULL without copies
};

// The world is in its initial state. If it has no image of that state yet, takes one.
void s2_episode_starts(S2BatchWorld *at);
// Asks the calling program which parts of the work on this world it does itself in this call.
void s2_episode_open(S2Batch *batch, int i);
// Applies the commands, or resets the world if a reset is due. Returns true if the world must be
// stepped.
bool s2_episode_begin(S2Batch *batch, int i, bool threaded);
// Adds the reward of a step and checks the bounds. Returns true if the episode continues.
bool s2_episode_weigh(S2Batch *batch, int i, double before, S2Status status);
// Takes one step of a world that the calling program steps. Returns true if the episode continues.
bool s2_episode_advance(S2Batch *batch, int i);
// Checks whether the episode has ended, takes the observation, and performs a due reset.
void s2_episode_end(S2Batch *batch, int i, bool threaded);
// Resets the world. (Without this, only the masks of s2_batch_reset are considered.)
void s2_episode_reset(S2Batch *batch, int i);
// Begins a new episode and takes its first observation. If this runs on a thread and the calling
// program does some of this work itself, that program does it later.
void s2_episode_renew(S2Batch *batch, int i, bool threaded);
// Takes the observation. If that fails, the row becomes NaN.
void s2_episode_observe(S2Batch *batch, int i, double *row);
void s2_episode_note(S2BatchWorld *at, S2Status status); // keeps the first error
double *s2_episode_row(const S2Batch *batch, double *observations, int i);

// ---- Copies (copies.c) ------------------------------------------------------------------------

// Makes the worlds of the batch as copies of the model.
S2Status s2_copies_create(S2Batch *batch, const S2World *model);
void s2_copies_free(S2Batch *batch);
// Steps packed worlds of a chunk.
void s2_copies_step(S2Batch *batch, int worker, const int *index, int count);
// Brings a packed world onto the stage of the worker, where it is a world like others, and back.
void s2_copies_enter(S2Batch *batch, int worker, int i);
void s2_copies_leave(S2Batch *batch, int worker, int i);
// Packs a world that has just been reset, if the batch packs worlds.
void s2_copies_pack(S2Batch *batch, int worker, int i);

#endif
