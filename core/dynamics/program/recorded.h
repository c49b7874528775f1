// Private to core/dynamics and core/diff: records of the steps that worlds take by programs, for
// their derivatives. A record contains the state before the step, and for each piece the state
// after it and the impulses, in as many lanes as the step had.
#ifndef S2_RECORDED_H
#define S2_RECORDED_H

#include "dynamics/program/program.h"

enum {
  S2_RECORDED_LANES = 8,
  S2_RECORDED_MOST = S2_PROGRAM_FREE, // islands
};

// A step of one or more worlds of the same kind, side by side.
typedef struct S2RecordedStep {
  int lanes, worlds;                // lanes; worlds in the first of them
  int32_t index[S2_RECORDED_LANES]; // per world: its index, or -1 if it took the step otherwise
  const double *island[S2_RECORDED_MOST];
} S2RecordedStep;

typedef struct S2Recorder {
  S2Arena arena; // numbers of the records
  S2_ARRAY(S2RecordedStep) steps;
  void *memory, *scratch; // for the record of an island; aligned
} S2Recorder;

void s2_recorder_init(S2Recorder *recorder, int lanes); // for steps in at most so many lanes
void s2_recorder_reset(S2Recorder *recorder);           // forgets the steps
void s2_recorder_free(S2Recorder *recorder);

// Copies the record in `scratch` to the arena. Returns its address.
const double *s2_recorder_keep(S2Recorder *recorder, const S2Table *table, int lanes);

// Runs the kernels with 1, 4 or 8 lanes.
void s2_table_step(int lanes, const S2Table *table, const void *constants, void *state,
                   void *record);
void s2_table_adjoint(int lanes, const S2Table *table, const void *constants, const void *record,
                      bool asked, void *bars);

// Copies the constants of an island to lane `lane` of `lanes`. (program.c)
void s2_program_constants(const S2Program *program, int island, int lanes, int lane,
                          double *constants);
// program.c: returns true if the derivative of each step that the world's program takes can be
// recorded.
bool s2_program_records(const S2World *world);
// Makes the program at once, in a state that does not depend on the steps that the world has taken.
// Then the same steps are taken by the program whenever the world returns to its present state.
void s2_program_restart(S2World *world);

#endif
