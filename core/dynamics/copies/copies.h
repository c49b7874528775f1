// Private to core: copies of a world that keep only the numbers of their motion.
//
// If programs (program/program.h) do all steps of a world, a step reads and writes about forty
// numbers of it. A copy is an array of these numbers, so a thousand copies fit in the cache, and a
// thousand worlds do not. All copies share one world, the stage. It contains the data that are the
// same for all copies, and takes the numbers of one copy at a time. While it has them, all
// functions of a world can be called for it.
//
// A copy gets the same bits as a separate world.
#ifndef S2_COPIES_H
#define S2_COPIES_H

#include "dynamics/dynamics.h"

typedef struct S2Stage S2Stage;

// Makes a stage for copies of `model`, which is not changed and need not outlive the stage. Returns
// NULL if a step of the world may need more than a program: contacts, limits, actuators other than
// forces and torques without delay, forces for the next step, or a processor without vectors of
// four numbers.
S2Stage *s2_stage_new(const S2World *model);
void s2_stage_free(S2Stage *stage); // NULL is allowed
S2World *s2_stage_world(S2Stage *stage);

int s2_copy_size(const S2Stage *stage); // doubles
// Moves the numbers between a copy and a world with the structure of the model.
void s2_copy_read(const S2Stage *stage, S2World *world, const double *copy);
void s2_copy_write(const S2Stage *stage, const S2World *world, double *copy);

// The caller's part of a step of copy `index`. The stage has the numbers of the copy, and the copy
// takes its changes.
typedef struct S2StageTurn {
  void *user;
  bool (*before)(void *user, int index); // returns false to leave the copy without a step
  // `stepped` is false if the program does not support the step. The stage then has the state
  // before the step: the caller has to take a clone of the stage, and step it.
  void (*after)(void *user, int index, bool stepped);
} S2StageTurn;

// Takes one step of each copy.
void s2_stage_step(S2Stage *stage, double *const *copies, int count, const S2StageTurn *turn);

#endif
