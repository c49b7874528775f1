// The parts of a world on a tape. Private to core/diff/world.
#ifndef S2_WORLD_TAPE_PARTS_H
#define S2_WORLD_TAPE_PARTS_H

#include "base/array.h"
#include "diff/world/world_checkpoint.h"
#include "diff/world/world_readings.h"
#include "diff/world/world_tangent.h"
#include "diff/world/world_tape.h"
#include "dynamics/program/recorded.h"

struct S2WorldTape {
  S2Tape *tape;
  S2WorldGradient gradient;
  S2WorldTangents tangents;    // tangents of a forward pass
  S2WorldGradient tracked;     // 1 for each number that ever depended on a parameter
  bool parameters;             // true if one of them is not part of the state, or a force
  unsigned *flags;             // or NULL
  S2Arena arena;               // workspace for one act, forwards or in a sweep
  S2Quiet *quiet;              // or NULL
  S2World *scratch;            // world in which objects are created again, or NULL
  S2Checkpoints *checkpoints;  // NULL: none yet
  S2Recorder *recorder;        // of steps by programs; NULL: none yet
  bool asks;                   // true while a force law is running
  S2_ARRAY(S2LawInput) inputs; // inputs of the running law
};

// Writes to a world, or readings from it, as one node.
typedef struct S2WorldAct {
  S2WorldTape *world;
  bool within;  // true if a force law reads the number within a step
  int replaced; // the first places are replaced, and the sums of terms are added to the others
  int places, terms;
  S2Place *place;
  S2Term *term;
} S2WorldAct;

// Records writes to `count` places, each listed once. To take them back, set the numbers of places
// and terms to 0.
S2WorldAct *s2_world_tape_act(S2WorldTape *tape, const S2World *world, int replaced, int count,
                              const S2Place *places, int terms, const S2Term *term);

// Like s2_world_tape_step, but does not record actuators.
S2Status s2_world_tape_advance(S2WorldTape *tape, S2World *world, int every);

S2Quiet *s2_world_tape_looks(const S2WorldTape *world); // NULL: sweeps make no observations

#endif
