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
#include "base/threads/workers.h"
#include "batch/judge.h"

typedef enum S2AutoReset { S2_RESET_NEXT_STEP, S2_RESET_SAME_STEP, S2_RESET_DISABLED } S2AutoReset;

extern const char *const s2_auto_reset_names[]; // "next_step", "same_step", "disabled", NULL

// What a call of s2_batch_step is worth.
//
//   S2_WORTH_STEPS    each of its steps is judged: minus dt times the cost is summed, and the first
//                     one that is beyond a bound is the last
//   S2_WORTH_PERIODS  it is one step of a task: all of its steps are taken, then its end is judged
//                     (s2_judge_reward). An episode that terminates is not truncated, too
typedef enum S2Worth { S2_WORTH_STEPS, S2_WORTH_PERIODS } S2Worth;

// A number that is drawn again whenever a world is reset, after it is as it was in the beginning.
typedef struct S2Draw {
  S2Reading of; // of a body or joint, one that can be set; angle and translation of a hinge or
                // slider by s2_world_set_coordinates
  bool normal;  // else uniform
  double a, b;  // mean and deviation; or lo and hi
} S2Draw;

// Draws it from `rng` and sets it in the world. S2_INVALID: what cannot be set.
S2Status s2_draw(const S2Draw *draw, S2World *world, S2Rng *rng);

// What of a world the program does itself.
enum {
  S2_OWN_STEP = 1,    // act and step
  S2_OWN_RESET = 2,   // reset
  S2_OWN_OBSERVE = 4, // observe
  S2_OWN_JUDGE = 8,   // judge; of S2_WORTH_PERIODS
  S2_OWN_ALL = 15
};

// What the program does for worlds, on the calling thread, after threads have done their part.
typedef struct S2BatchProgram {
  void *user;
  // Which of it (S2_OWN_STEP ...)? Asked in each call, by threads: it may look at that world alone.
  unsigned (*own)(void *user, int world);
  S2Status (*step)(void *user, int world);                  // one step of the world
  S2Status (*act)(void *user, int world, double *commands); // may clip them in place
  S2Status (*reset)(void *user, int world); // back to its beginning; it may set place and world
  S2Status (*observe)(void *user, int world, double *numbers);
  // After a period: both come as the judge has them, to be replaced.
  S2Status (*judge)(void *user, int world, const double *commands, double *reward,
                    bool *terminated);
} S2BatchProgram;

typedef struct S2BatchDef {
  S2AutoReset autoreset;
  S2Worth worth;
  double constant;   // of a period, beside its cost
  int64_t max_steps; // calls of s2_batch_step that an episode has; 0: any number
  uint64_t seed;
  bool unlike; // the worlds need not be made of the same things: what is judged and drawn is
               // told for each (s2_batch_set_world)
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
  // [count] or NULL: of the steps taken, how many missed their tolerance, and changes of mode
  double *unsolved, *mode_changes;
} S2BatchResult;

// Resets worlds to their beginning (mask: NULL, or 1 for those) and draws. `seed`: NULL, or what
// their draws begin from again. Writes observations of all.
void s2_batch_reset(S2Batch *batch, const uint64_t *seed, const double *mask, double *observations);
// Commands (NULL: those that were, or [count][controls], finite) hold for `steps` steps of each
// world (>= 1), fewer where its episode ends. S2_INVALID: a command that is not finite; nothing has
// happened then. With S2_WORTH_PERIODS they are clipped to the ranges of the actuators first, so
// that what acts is judged, and may be infinite; what is not a number fails its world.
S2Status s2_batch_step(S2Batch *batch, const double *commands, int steps, S2BatchResult *result);
void s2_batch_observe(S2Batch *batch, double *observations);
// One world as it began, without draws.
S2Status s2_batch_rewind(S2Batch *batch, int world);
// Another one in its place, with judge (NULL: none) and draws of its own, which have to live as
// long; it begins as it is now. Where it has another number of commands or observations than the
// others, steps of it fail.
void s2_batch_set_world(S2Batch *batch, int world, S2World *with, const S2Judge *judge, int draws,
                        const S2Draw *draw);
// Is it made of the same things as when it began (s2_world_revision), so that it can go back?
bool s2_batch_unchanged(const S2Batch *batch, int world);

// Of the last call: how many worlds failed, and which is the first from `from` on (-1: none).
int s2_batch_failures(const S2Batch *batch);
int s2_batch_failed(const S2Batch *batch, int from, S2Status *why);

// Beside its worlds, all that decides what a batch does.
typedef struct S2BatchPlace {
  S2Rng rng;
  int64_t steps; // of the episode
  bool ended;    // with S2_RESET_NEXT_STEP the next step resets it
} S2BatchPlace;
S2BatchPlace s2_batch_place(const S2Batch *batch, int world);
void s2_batch_set_place(S2Batch *batch, int world, const S2BatchPlace *place);

#endif
