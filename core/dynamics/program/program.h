// Private to core/dynamics: worlds that hinges and sliders alone hold, where nothing can collide,
// are stepped by tables in place of assembly, solver and projection: same bits, a tenth of the
// time.
//
// A program is made when a world has been stepped once without change, and goes when anything of it
// changes but what moves. What it cannot do in a step is left to the general path, from the same
// state; so a program may be there or not, and nothing tells but the time.
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
  double dt; // s, that it was made for
  // Two hashes of the islands' tables, 128 bits: worlds that have the same may go side by side.
  uint64_t kind[2];
  int islands, free, still;
  bool boxed;          // are some that stand still in the broad phase?
  int32_t wait, waits; // steps that the general path takes; and those it will after a miss
  int32_t free_slot[S2_PROGRAM_FREE];    // bodies that nothing holds
  int32_t still_slot[S2_PROGRAM_BODIES]; // and those that no force moves
  bool goes[S2_PROGRAM_BODIES];          // which of these have a velocity
  S2ProgramIsland island[];
} S2Program;

// Makes the program of a world that has none and has been stepped since it changed. To be called
// before a step of the general path, where memory may run out.
void s2_program_prepare(S2World *world);

// Makes it before that step, for who knows that the world stays as it is.
void s2_program_hasten(S2World *world);

// May the world be stepped by its program now? To be asked once a step.
bool s2_program_ready(S2World *world);
// Takes the step of a world that is ready and was told to proceed. False: the general path has to,
// and nothing was written. *status is that of s2_world_step.
bool s2_program_run(S2World *world, S2Status *status);
// Both, for one world; asks the program of the world, too, whether to go on.
bool s2_program_step(S2World *world, S2Status *status);
// Asks that, as solves do; and what a step gives that was stopped so.
bool s2_program_proceeds(S2World *world);
S2Status s2_program_stopped(S2World *world);

// Has the world a program whose islands all hang on something? A question of how it hangs together,
// whatever has been stepped: not of whether a step is the program's or the general path's.
bool s2_program_hangs(const S2World *world);

// The islands a world holds (compile.c): a program, or NULL where it is none for programs.
S2Program *s2_program_compile(const S2World *world, S2Arena *arena);

// program.c: reads the state of an island into lane `lane` of `lanes`, of S2_TABLE_STATE numbers;
// `constants` likewise, where it is not NULL.
void s2_program_read(const S2World *world, int island, int lanes, int lane, double *state,
                     double *constants);
// Writes the step of all islands (`state` is that of the first, `apart` numbers of doubles are
// between them) to the world. False: it has missed one, or is not finite, and nothing was written.
bool s2_program_write(S2World *world, int lanes, int lane, const double *state, size_t apart);

// Steps worlds side by side (s2_worlds_step_many); those that go alone by the caller's function,
// one after the other. (many.c)
typedef S2Status S2StepAlone(void *user, S2World *world, int index);
S2Status s2_worlds_step_with(S2World *const *worlds, int count, S2Status *each, S2StepAlone *alone,
                             void *user);
// How many lanes this processor has, up to the given number: 1, 4 or 8.
int s2_program_lanes(int most);
// For tests: lanes that this world may be stepped in, 0: no program.
void s2_world_set_lanes(S2World *world, int most);

#endif
