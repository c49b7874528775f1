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
  S2WorldDef def; // that it was made for
  uint64_t hash;  // of the islands' tables: worlds of one hash may be stepped side by side
  int islands, free, still;
  int32_t free_slot[S2_PROGRAM_FREE];    // bodies that nothing holds
  int32_t still_slot[S2_PROGRAM_BODIES]; // and those that no force moves
  bool goes[S2_PROGRAM_BODIES];          // which of these have a velocity
  bool boxed;                            // are some of them in the broad phase?
  int32_t wait, waits; // steps that the general path takes; and those it will after a miss
  S2ProgramIsland island[];
} S2Program;

// Makes the program of a world that has none and has been stepped since it changed. To be called
// before a step of the general path, where memory may run out.
void s2_program_prepare(S2World *world);

// Takes the step; false: the general path has to, and nothing was written. *status is that of
// s2_world_step.
bool s2_program_step(S2World *world, S2Status *status);

// The islands a world holds (compile.c): a program, or NULL where it is none for programs.
S2Program *s2_program_compile(const S2World *world, S2Arena *arena);

// program.c: may the world be stepped by its program now?
bool s2_program_ready(S2World *world);
// Reads the state of an island into lane `lane` of `lanes`, of S2_TABLE_STATE numbers; `constants`
// likewise, where it is not NULL.
void s2_program_read(const S2World *world, int island, int lanes, int lane, double *state,
                     double *constants);
// Writes the step of all islands (`state` is that of the first, `apart` numbers of doubles are
// between them) to the world. False: it has missed one, or is not finite, and nothing was written.
bool s2_program_write(S2World *world, int lanes, int lane, const double *state, size_t apart);
// Asks the program whether to go on, as solves do.
bool s2_program_proceeds(S2World *world);

// How many lanes this processor has, up to the given number: 1, 4 or 8.
int s2_program_lanes(int most);
// For tests: lanes that this world may be stepped in, 0: no program.
void s2_world_set_lanes(S2World *world, int most);

#endif
