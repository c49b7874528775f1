// Checkpoints store occasional images of the world, its changes between steps, and the return
// values of callbacks. A sweep starts from an image, repeats the steps bit for bit, and traces
// them.
#ifndef S2_WORLD_CHECKPOINT_H
#define S2_WORLD_CHECKPOINT_H

#include "diff/step/trace.h"

typedef struct S2Checkpoints S2Checkpoints; // the checkpoints of one world
typedef struct S2Segment S2Segment;         // an image, and the steps that follow it

S2Checkpoints *s2_checkpoints_new(void);
void s2_checkpoints_free(S2Checkpoints *checkpoints); // segments are freed separately

// Returns true if steps of this world can be repeated. Returns false if user callbacks define
// constraints or springs.
bool s2_checkpoints_can(const S2World *world);
// Advances the world. `*segment` and `*index` receive the position of the step's record. A new
// segment (index 0) begins after `every` steps. On failure nothing is recorded.
S2Status s2_checkpoints_step(S2Checkpoints *checkpoints, S2World *world, int every,
                             S2Segment **segment, int *index);
// Makes the next step begin a new segment. Call this if no segment records the changes of the
// world.
void s2_checkpoints_break(S2Checkpoints *checkpoints);

// Returns the trace of a step. The first call for a segment creates all traces of that segment.
S2Status s2_segment_trace(S2Segment *segment, int index, const S2Trace **trace);
int s2_segment_steps(const S2Segment *segment);
void s2_segment_forget(S2Segment *segment);         // frees the traces
size_t s2_segment_traces(const S2Segment *segment); // bytes of the traces
size_t s2_segment_bytes(const S2Segment *segment);  // without traces
void s2_segment_free(S2Segment *segment);

#endif
