// Private to core/diff/world: what a world on a tape is made of.
#ifndef S2_WORLD_TAPE_PARTS_H
#define S2_WORLD_TAPE_PARTS_H

#include "base/array.h"
#include "diff/world/world_checkpoint.h"
#include "diff/world/world_readings.h"
#include "diff/world/world_tangent.h"
#include "diff/world/world_tape.h"

struct S2WorldTape {
  S2Tape *tape;
  S2WorldGradient gradient;
  S2WorldTangents tangents;    // of a pass forward
  S2WorldGradient tracked;     // of it: what has ever been written from a parameter is 1
  unsigned *flags;             // or NULL
  S2Arena arena;               // of one act, at either end
  S2Quiet *quiet;              // or NULL
  S2World *scratch;            // where things are made again; NULL but while that goes on
  S2Checkpoints *checkpoints;  // NULL: none so far
  bool asks;                   // a force law runs
  S2_ARRAY(S2LawInput) inputs; // of it
};

S2Quiet *s2_world_tape_looks(const S2WorldTape *world); // NULL: sweeps look for nothing

#endif
