// Private to core/dynamics: the motion of bodies in a piece of a step.
// Finds the impact times of their shapes.
#ifndef S2_FLOW_H
#define S2_FLOW_H

#include "dynamics/step/context.h"

// Contact points of a pair that press throughout the piece. The search for impacts ignores them.
typedef struct S2Resting {
  int count;
  uint32_t id[2];
} S2Resting;

static inline bool s2_resting_has(const S2Resting *resting, uint32_t id) {
  return (resting->count > 0 && resting->id[0] == id) ||
         (resting->count > 1 && resting->id[1] == id);
}

// A piece of a step. The bodies move from step->q0 by s v + s^2 bend. The arrays v and bend have 3
// entries per slot.
typedef struct S2Flow {
  S2Step *step;
  double until;    // length of the piece (s)
  double leaving;  // pairs that touch initially do not meet again before this fraction of `until`
  const double *v; // m/s, rad/s
  const double *bend; // half the accelerations
  double slop;        // shapes touch if their gap (m) is smaller
  // Number of samples between start and end, for pairs whose overlap is known only at both ends. A
  // shape that slides over the end of a segment, for example, may overlap it only in between.
  int looks;
} S2Flow;

// Writes the pose of a body at the time s of the flow to step->q1.
void s2_flow_place(const S2Flow *flow, int32_t slot, double s);

// The result of the search for a pair.
typedef struct S2FlowEnd {
  double at; // impact time (s), or INFINITY if there is none before the end of the flow
  // True if the shapes meet at that time. If false, it is only known that they do not meet earlier,
  // or they overlap too deeply to be separated safely.
  bool meets;
} S2FlowEnd;

// Returns the first time in (0, until] at which points of the touch meet, ignoring resting points.
// Does not miss bodies that pass through each other. `touch` is the touch at time 0. `end` is the
// touch at the end of the flow, or NULL if it is not known. Overwrites step->q1 of the two bodies.
S2FlowEnd s2_flow_meet(const S2Flow *flow, const S2Touch *touch, const S2Resting *resting,
                       const S2Touch *end);

// Returns the gap of the nearest point that does not rest, at the time s. Returns INFINITY if there
// is no such point.
double s2_flow_gap(const S2Flow *flow, const S2Touch *touch, const S2Resting *resting, double s);

// Returns the deepest overlap (m) of the shapes in a few samples, or 0 if it cannot reach `least`.
double s2_flow_deepest(const S2Flow *flow, const S2Touch *touch, double least);

// Returns the nearest point that does not rest, or NULL.
const S2TouchPoint *s2_flow_nearest(const S2Touch *touch, const S2Resting *resting);

#endif
