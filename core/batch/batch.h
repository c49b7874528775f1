// Many worlds stepped at once, by threads that know no program's language: commands in,
// observations, rewards and what has ended out.
//
// The worlds are made of the same things (s2_batch_same), so that a handle of one is good for all.
// They remain the caller's, who may look at them and change them between steps. What comes out of a
// world depends on that world, its commands and its seed: never on threads or its neighbours.
//
// An episode ends when a world is beyond a bound of the judge (terminated), after `max_steps` steps
// of it, or where a step failed (both: truncated). Then, with s2_batch_step:
//
//   S2_RESET_NEXT_STEP  the next step resets the world and does nothing else: its commands are not
//                       looked at, its reward is 0
//   S2_RESET_SAME_STEP  it is reset at once; what is observed is the new beginning, and the end
//                       stands in `final`
//   S2_RESET_DISABLED   it goes on until somebody resets it
//
// as Gymnasium's vector environments name them.
#ifndef S2_BATCH_H
#define S2_BATCH_H

#include "base/rng.h"
#include "batch/judge.h"
#include "batch/workers.h"

typedef enum S2AutoReset { S2_RESET_NEXT_STEP, S2_RESET_SAME_STEP, S2_RESET_DISABLED } S2AutoReset;

extern const char *const s2_auto_reset_names[]; // "next_step", "same_step", "disabled", NULL

// A number that is drawn anew whenever a world is reset, after it is as it was in the beginning.
typedef struct S2Draw {
  S2Reading of; // of a body or joint, one that can be set; angle and translation of a hinge or
                // slider by s2_world_set_coordinates
  bool normal;  // else uniform
  double a, b;  // mean and deviation; or lo and hi
} S2Draw;

// What the program does for a world that is not to be stepped by threads, on the calling thread.
typedef struct S2BatchProgram {
  void *user;
  bool (*own)(void *user, int world);      // is it such a world? asked before each step
  S2Status (*step)(void *user, int world); // one step of the world
  S2Status (*act)(void *user, int world, const double *commands);
  S2Status (*reset)(void *user, int world); // back to its beginning
  S2Status (*observe)(void *user, int world, double *numbers);
} S2BatchProgram;

typedef struct S2BatchDef {
  S2AutoReset autoreset;
  int64_t max_steps; // calls of s2_batch_step that an episode has; 0: any number
  uint64_t seed;
  const S2Judge *judge; // NULL: no rewards, no bounds; must live as long as the batch
  int draws;
  const S2Draw *draw;     // copied
  S2BatchProgram program; // zero: threads do everything
  // How many commands and numbers, where the program acts and observes; 0: as the worlds have.
  int controls, observed;
} S2BatchDef;

typedef struct S2Batch S2Batch;

// Are the two made of the same things? S2_INVALID says what differs.
S2Status s2_batch_same(const S2World *a, const S2World *b);

// `count` >= 1 worlds, which begin as they are now, with the first draws. S2_INVALID: a world that
// differs from the first, a draw that cannot be; nothing is made then.
S2Status s2_batch_create(const S2BatchDef *def, S2World *const *worlds, int count,
                         S2Workers *workers, S2Batch **batch);
void s2_batch_free(S2Batch *batch); // NULL: nothing; worlds and workers stay

int s2_batch_count(const S2Batch *batch);
int s2_batch_controls(const S2Batch *batch); // numbers a world is commanded with
int s2_batch_observed(const S2Batch *batch); // numbers a world is observed by

// Arrays over the worlds, row by row. Where a world failed its numbers are NAN.
typedef struct S2BatchResult {
  double *observations;           // [count][observed]
  double *rewards;                // [count]: minus the cost
  double *terminated, *truncated; // [count]: 1 or 0
  double *final; // [count][observed] or NULL: what was observed last where the episode has ended
} S2BatchResult;

// Resets worlds to their beginning (mask: NULL, or 1 for those) and draws. `seed`: NULL, or what
// their draws begin from anew. Writes observations of all.
void s2_batch_reset(S2Batch *batch, const uint64_t *seed, const double *mask, double *observations);
// Commands (NULL: those that were, or [count][controls], finite) hold for `steps` steps of each
// world (>= 1), fewer where its episode ends. S2_INVALID: a command that is not finite; nothing has
// happened then.
S2Status s2_batch_step(S2Batch *batch, const double *commands, int steps, S2BatchResult *result);
void s2_batch_observe(S2Batch *batch, double *observations);
// One world as it began, without draws.
S2Status s2_batch_rewind(S2Batch *batch, int world);

// Of the last call: how many worlds failed, and which is the first from `from` on (-1: none).
int s2_batch_failures(const S2Batch *batch);
int s2_batch_failed(const S2Batch *batch, int from, S2Status *why);

// Beside its worlds, all that decides what a batch does.
typedef struct S2BatchPlace {
  S2Rng rng;
  int64_t steps; // of the episode
  bool ended;    // the next step resets it
} S2BatchPlace;
S2BatchPlace s2_batch_place(const S2Batch *batch, int world);
void s2_batch_set_place(S2Batch *batch, int world, const S2BatchPlace *place);

#endif
