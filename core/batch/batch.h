// Steps many worlds together on native threads, whatever language the calling program uses. The
// program passes commands, and gets observations, rewards and ends of episodes.
//
// The worlds have the same structure (s2_batch_same), so a handle of one world is valid in all of
// them. The caller still owns the worlds, and may read and change them between steps. The results
// of a world depend only on that world, its commands and its seed, never on threads or other
// worlds.
//
// An episode ends when a world is beyond a bound of the judge (terminated), after `max_steps` calls
// of s2_batch_step (truncated), or when a step fails (truncated). Then, with s2_batch_step:
//
//   S2_RESET_NEXT_STEP  the next step only resets the world; it ignores the commands, and its
//                       reward is 0
//   S2_RESET_SAME_STEP  the world is reset at once; the observation belongs to the new episode,
//                       and the last observation of the old one is in `final`
//   S2_RESET_DISABLED   the episode continues until the caller resets the world
//
// The names come from Gymnasium's vector environments.
#ifndef S2_BATCH_H
#define S2_BATCH_H

#include "base/rng.h"
#include "base/threads/workers.h"
#include "batch/judge.h"

typedef enum S2AutoReset { S2_RESET_NEXT_STEP, S2_RESET_SAME_STEP, S2_RESET_DISABLED } S2AutoReset;

extern const char *const s2_auto_reset_names[]; // "next_step", "same_step", "disabled", NULL.

// The reward of a call of s2_batch_step.
//
//   S2_WORTH_STEPS    judges each step: the reward is the sum of -dt times the cost, and the call
//                     ends at the first step beyond a bound
//   S2_WORTH_PERIODS  the call is one step of a task: it takes all of its steps, then judges the
//                     final state (s2_judge_reward); a terminated episode is not truncated
typedef enum S2Worth { S2_WORTH_STEPS, S2_WORTH_PERIODS } S2Worth;

typedef enum S2DrawKind {
  S2_DRAW_UNIFORM, // between a and b
  S2_DRAW_NORMAL,  // with mean a and deviation b
  S2_DRAW_CONSTANT // a
} S2DrawKind;

// A number that is drawn at random at each reset, after the world has returned to its initial
// state, and then set to `add` plus the drawn number.
typedef struct S2Draw {
  S2Reading of; // a number of a body or joint that can be set (s2_reading_set)
  S2DrawKind kind;
  double a, b;   // as in S2DrawKind
  double add;    // in the units of the number
  bool relative; // adds to the present number instead of replacing it
  bool again;    // takes the random number of the draw before
} S2Draw;

// Draws numbers from `rng` and sets them in the world, in this order. Returns S2_INVALID if a
// number cannot be set.
S2Status s2_draw(const S2Draw *draw, int count, S2World *world, S2Rng *rng);

// The parts of the work on a world that the calling program can do itself.
enum {
  S2_OWN_STEP = 1,    // act and step
  S2_OWN_RESET = 2,   // reset
  S2_OWN_OBSERVE = 4, // observe
  S2_OWN_JUDGE = 8,   // judge; only with S2_WORTH_PERIODS
  S2_OWN_ALL = 15
};

// Callbacks with which the calling program does parts of the work on its worlds. They run on the
// calling thread, after the other threads have finished.
typedef struct S2BatchProgram {
  void *user;
  // Returns the parts of the work that the calling program does itself (S2_OWN_STEP ...). Threads
  // call this function in each step and each reset, so it may read only that world.
  unsigned (*own)(void *user, int world);
  S2Status (*step)(void *user, int world);                  // takes one step of the world
  S2Status (*act)(void *user, int world, double *commands); // may clip the commands in place
  // Resets to the initial state. May also set the place and the world.
  S2Status (*reset)(void *user, int world);
  S2Status (*observe)(void *user, int world, double *numbers);
  // Called after a period. It may replace `reward` and `terminated`, which contain the judge's
  // values.
  S2Status (*judge)(void *user, int world, const double *commands, double *reward,
                    bool *terminated);
} S2BatchProgram;

typedef struct S2BatchDef {
  S2AutoReset autoreset;
  S2Worth worth;
  double constant;   // added to the reward of each period
  int64_t max_steps; // calls of s2_batch_step per episode; 0: no limit
  uint64_t seed;
  bool unlike; // the worlds may differ in structure; each has a separate judge and draws
               // (s2_batch_set_world)
  // The batch makes and owns `count` copies of worlds[0], in place of the worlds of a list. If
  // their steps need only programs, the copies share the memory that is the same in all of them,
  // and a step takes half of the time. Without callbacks (`program`).
  bool copies;
  const S2Judge *judge; // NULL: no rewards, no bounds; must live as long as the batch
  int draws;
  const S2Draw *draw;     // copied
  S2BatchProgram program; // all zero: threads do all the work.
  // Numbers of commands and observations if the calling program acts and observes. If 0, the worlds
  // declare them.
  int controls, observed;
} S2BatchDef;

typedef struct S2Batch S2Batch;

// Checks that two worlds have the same bodies, shapes, joints, actuators and observations in the
// same order. If not, returns S2_INVALID with a message that names the difference.
S2Status s2_batch_same(const S2World *a, const S2World *b);

// Creates a batch of `count` >= 1 worlds. Episodes start from the present states of the worlds. The
// first draws are applied at once. If a world differs from the first one or a draw is not possible,
// this returns S2_INVALID and creates nothing.
S2Status s2_batch_create(const S2BatchDef *def, S2World *const *worlds, int count,
                         S2Workers *workers, S2Batch **batch);
void s2_batch_free(S2Batch *batch); // NULL is allowed; the caller's worlds and workers stay
// With S2BatchDef.copies: the present state of one world, as a separate world. The batch owns it.
// The result is valid until the next call of another function of the batch.
S2Status s2_batch_copy(S2Batch *batch, int world, const S2World **copy);

int s2_batch_count(const S2Batch *batch);
int s2_batch_controls(const S2Batch *batch); // number of commands for each world
int s2_batch_observed(const S2Batch *batch); // number of observed values for each world.

// Arrays over the worlds, one row per world. Rows of worlds that failed are NaN.
typedef struct S2BatchResult {
  double *observations;           // [count][observed]
  double *rewards;                // [count]: minus the cost
  double *terminated, *truncated; // [count]: 1 or 0
  double *final; // [count][observed] or NULL: last observations of the episodes that have ended.
  // [count] or NULL: number of steps that missed their tolerance, and number of mode changes
  double *unsolved, *mode_changes;
} S2BatchResult;

// Resets worlds to their initial states and applies new draws. `mask` is 1 for each world to reset,
// or NULL for all worlds. `seed` (or NULL) restarts their random streams. Writes the observations
// of all worlds.
void s2_batch_reset(S2Batch *batch, const uint64_t *seed, const double *mask, double *observations);
// Steps each world `steps` >= 1 times, or fewer if its episode ends. The commands are finite, and
// hold for all of these steps. They form an array [count][controls], or are NULL to use the
// previous commands. If a command is not finite, this returns S2_INVALID and steps no world.
// With S2_WORTH_PERIODS, commands may be infinite. They are first clipped to the ranges of the
// actuators, so that the judge sees the applied values. A NaN makes its world fail.
S2Status s2_batch_step(S2Batch *batch, const double *commands, int steps, S2BatchResult *result);
void s2_batch_observe(S2Batch *batch, double *observations);
// Resets one world to its initial state, without draws.
S2Status s2_batch_rewind(S2Batch *batch, int world);
// Replaces a world with another one, which has its own draws and its own judge (or NULL). All three
// must live as long as the batch. Episodes of the new world start from its present state. Its steps
// fail unless it has as many commands and observations as the other worlds.
void s2_batch_set_world(S2Batch *batch, int world, S2World *with, const S2Judge *judge, int draws,
                        const S2Draw *draw);
// Returns true if the world still has the same structure (s2_world_revision), so that it can be
// reset.
bool s2_batch_unchanged(const S2Batch *batch, int world);

// Failures of the last call. The first function returns the number of worlds that failed. The
// second returns the first failed world at or after index `from`, or -1.
int s2_batch_failures(const S2Batch *batch);
int s2_batch_failed(const S2Batch *batch, int from, S2Status *why);

// The data that determine the future of a world in a batch, in addition to the world itself.
typedef struct S2BatchPlace {
  S2Rng rng;
  int64_t steps; // steps of the current episode
  bool ended;    // whether the next step only resets the world (S2_RESET_NEXT_STEP)
} S2BatchPlace;
S2BatchPlace s2_batch_place(const S2Batch *batch, int world);
void s2_batch_set_place(S2Batch *batch, int world, const S2BatchPlace *place);

#endif
