// Private to core/dynamics: programs, which step worlds whose only joints are hinges and sliders
// while nothing is near enough to collide. Tables replace assembly, solver and projection. The
// results are bit-identical, and a step takes a tenth of the time.
//
// A program is made when a world has been stepped once without changes. It is discarded when
// anything except the motion changes. If the program does not support a step, the general path does
// this step from the same state. A program therefore only affects the time of a step, not its
// result.
#ifndef S2_PROGRAM_H
#define S2_PROGRAM_H

#include "dynamics/program/table.h"
#include "dynamics/world/world.h"

enum { S2_PROGRAM_BODIES = 24, S2_PROGRAM_FREE = 8, S2_PROGRAM_PAIRS = 32 };

// A body that may collide with another one.
typedef struct S2ProgramNear {
  int32_t slot;
  bool stays; // true if the body is static; `box` is then its box at the pose `q`
  bool exact; // true if `box` is made from the shapes of the body
  double q[3], slack;
  S2Box box; // contains all that the search finds of the body in this step
} S2ProgramNear;

typedef struct S2ProgramIsland {
  S2Table table;
  S2Constants constants;
  int32_t node[S2_TABLE_NODES], ground[S2_TABLE_GROUNDS], joint[S2_TABLE_JOINTS]; // slots
} S2ProgramIsland;

typedef struct S2Program {
  int32_t users; // the world, and records of its steps
  double dt;     // s: length of the steps for which the program was made.
  // Two hashes of the islands' tables, 128 bits. Worlds with equal hashes can be stepped side by
  // side.
  uint64_t kind[2];
  int bodies, islands, free, still;
  int32_t slot[S2_PROGRAM_BODIES];                 // all bodies, in order
  char label[S2_PROGRAM_BODIES][S2_NAME_SIZE + 8]; // for messages about derivatives
  bool boxed;                                      // true if static bodies are in the broad phase.
  // number of steps that are left to the general path; this number after the last failure
  int32_t wait, waits;
  int32_t free_slot[S2_PROGRAM_FREE];       // bodies without joints
  double free_inertial[S2_PROGRAM_FREE][2]; // their inertia and mass
  bool splits; // true if free bodies follow the trapezoidal rule, because steps are split at events
  int32_t still_slot[S2_PROGRAM_BODIES]; // bodies that no force moves
  bool goes[S2_PROGRAM_BODIES];          // true if the body has a velocity
  // Bodies that may collide, and pairs of them (indices).
  int near_count, pairs;
  S2ProgramNear near[S2_PROGRAM_BODIES];
  uint8_t pair[S2_PROGRAM_PAIRS][2];
  S2ProgramIsland island[];
} S2Program;

struct S2Recorder;
struct S2RecordedStep;

// Makes a program for a world that has none, if the world has been stepped since it changed. Call
// this before a step of the general path, where memory may run out.
void s2_program_prepare(S2World *world);

// Makes the program at once, without waiting for that step. Used by callers that do not change the
// world.
void s2_program_hasten(S2World *world);

// Returns true if the world's program can do the next step, if s2_program_apart is also true. Call
// this exactly once per step.
bool s2_program_ready(S2World *world);
// Steps a world that is ready and whose callback has agreed to proceed. Returns false if the
// general path must do the step. In that case nothing was written. *status: as for s2_world_step.
// `recorder` is NULL, or records the step as `step`.
bool s2_program_run(S2World *world, struct S2Recorder *recorder, struct S2RecordedStep *step,
                    S2Status *status);
// Combines s2_program_ready and s2_program_run for one world, and calls S2Callbacks.proceed.
bool s2_program_step(S2World *world, S2Status *status);
// s2_program_proceeds calls S2Callbacks.proceed, as solves do. s2_program_stopped returns the
// status of a step that the callback stopped.
bool s2_program_proceeds(S2World *world);
S2Status s2_program_stopped(S2World *world);

// Returns true if the world has a program in which all islands are attached to the ground, and no
// bodies can collide. The
// result depends only on the structure of the world. It is the same whether or not steps use the
// program.
bool s2_program_hangs(const S2World *world);

// Returns true if no bodies of the world can come near each other in the next step, so that its
// search finds no pairs. The actuators have already added their forces (s2_world_push).
bool s2_program_apart(const S2World *world);
// Returns true if the search would still find no pairs with a body whose pose at the end of the
// step is q, which may be farther away than the first search expects.
bool s2_program_stays_apart(const S2World *world, int32_t slot, const double q[3]);

// Frees the program after its last user. NULL is allowed.
static inline void s2_program_free(S2Program *program) {
  if (program != NULL && --program->users == 0) {
    s2_memory_free(program);
  }
}
// Compiles the program of a world (compile.c). Returns NULL if the world does not qualify.
S2Program *s2_program_compile(const S2World *world, S2Arena *arena);

// Copies the state of an island to lane `lane` of `lanes` interleaved S2_TABLE_STATE structs. Also
// copies its constants if `constants` is not NULL. (program.c)
void s2_program_read(const S2World *world, int island, int lanes, int lane, double *state,
                     double *constants);
// Writes the results of all islands to the world. `state` is the state of the first island.
// Consecutive islands are `apart` doubles apart. If a kernel missed the step or a result is not
// finite, writes nothing and returns false.
bool s2_program_write(S2World *world, int lanes, int lane, const double *state, size_t apart);

// Steps worlds side by side (s2_worlds_step_many). The function `alone` steps the remaining worlds,
// one after the other. `recorder` is NULL, or records the steps by programs (recorded.h). (many.c)
typedef S2Status S2StepAlone(void *user, S2World *world, int index);
S2Status s2_worlds_step_with(S2World *const *worlds, int count, S2Status *each, S2StepAlone *alone,
                             void *user, struct S2Recorder *recorder);
// Returns the number of lanes that this processor supports, which is 1, 4 or 8 and at most `most`.
int s2_program_lanes(int most);
// For tests: sets the largest number of lanes for this world. 0 disables programs.
void s2_world_set_lanes(S2World *world, int most);

#endif
