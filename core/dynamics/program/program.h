// Private to core/dynamics: programs, which step worlds whose only joints are hinges and sliders
// and in which nothing can collide. Tables replace assembly, solver and projection. The bits are
// the same, and a step takes a tenth of the time.
//
// A program is made when a world has been stepped once without change. It ends when anything except
// the motion changes. The general path takes the steps that the program does not support, from the
// same state. So a program only affects the time of a step.
#ifndef S2_PROGRAM_H
#define S2_PROGRAM_H

#include "dynamics/program/table.h"
#include "dynamics/world/world.h"

enum { S2_PROGRAM_BODIES = 24, S2_PROGRAM_FREE = 8 };

typedef struct S2ProgramIsland {
  S2Table table;
  S2Constants constants;
  int32_t node[S2_TABLE_NODES], ground[S2_TABLE_GROUNDS], joint[S2_TABLE_JOINTS]; // slots
} S2ProgramIsland;

typedef struct S2Program {
  double dt; // s: length of the steps for which it was made
  // Two hashes of the islands' tables, 128 bits: worlds with equal hashes can be stepped side by
  // side.
  uint64_t kind[2];
  int islands, free, still;
  bool boxed; // whether bodies at rest are in the broad phase
  // steps that the general path still takes; steps that it takes after the next miss
  int32_t wait, waits;
  int32_t free_slot[S2_PROGRAM_FREE];    // bodies without joints
  int32_t still_slot[S2_PROGRAM_BODIES]; // bodies that no force moves
  bool goes[S2_PROGRAM_BODIES];          // whether these bodies have a velocity
  S2ProgramIsland island[];
} S2Program;

// Makes the program of a world that has none and has been stepped since it changed. Call it before
// a step of the general path, when memory may run out.
void s2_program_prepare(S2World *world);

// Makes the program without waiting for that step, for callers that do not change the world.
void s2_program_hasten(S2World *world);

// Whether the world's program can step it now. Call it once for each step.
bool s2_program_ready(S2World *world);
// Steps a world that is ready and whose callback has agreed to proceed. False: the general path
// must do the step, and nothing was written. *status: as of s2_world_step.
bool s2_program_run(S2World *world, S2Status *status);
// s2_program_ready and s2_program_run for one world; also calls S2Callbacks.proceed.
bool s2_program_step(S2World *world, S2Status *status);
// Calls S2Callbacks.proceed, as solves do; s2_program_stopped: the status of a step that it
// stopped.
bool s2_program_proceeds(S2World *world);
S2Status s2_program_stopped(S2World *world);

// Whether the world has a program in which all islands are attached to the ground. This depends on
// the world's structure only, not on its steps, and not on whether a step uses the program.
bool s2_program_hangs(const S2World *world);

// Compiles a world (compile.c): the program, or NULL if the world does not qualify.
S2Program *s2_program_compile(const S2World *world, S2Arena *arena);

// program.c: copies the state of an island into lane `lane` of `lanes`, of S2_TABLE_STATE numbers;
// and its constants, if `constants` is not NULL.
void s2_program_read(const S2World *world, int island, int lanes, int lane, double *state,
                     double *constants);
// Writes the step of all islands to the world. `state` is the state of the first island;
// consecutive states are `apart` doubles apart. False: an island missed the step, or its state is
// not finite, and nothing was written.
bool s2_program_write(S2World *world, int lanes, int lane, const double *state, size_t apart);

// Steps worlds side by side (s2_worlds_step_many). The caller's function steps the remaining worlds
// one after the other. (many.c)
typedef S2Status S2StepAlone(void *user, S2World *world, int index);
S2Status s2_worlds_step_with(S2World *const *worlds, int count, S2Status *each, S2StepAlone *alone,
                             void *user);
// The number of lanes of this processor, up to the given number: 1, 4 or 8.
int s2_program_lanes(int most);
// For tests: largest number of lanes for this world, 0: no program.
void s2_world_set_lanes(S2World *world, int most);

#endif
