// Private to core/dynamics: the motion of bodies in a piece of a step, and the times at which their
// shapes meet.
#ifndef S2_FLOW_H
#define S2_FLOW_H

#include "dynamics/step/context.h"

// Points of a pair that press throughout the piece, so they cause no meeting.
typedef struct S2Resting {
  int count;
  uint32_t id[2];
} S2Resting;

static inline bool s2_resting_has(const S2Resting *resting, uint32_t id) {
  return (resting->count > 0 && resting->id[0] == id) ||
         (resting->count > 1 && resting->id[1] == id);
}

// A piece of a step: from step->q0 the bodies move by s v + s^2 bend (3 per slot each).
typedef struct S2Flow {
  S2Step *step;
  double until;       // s, its length
  double leaving;     // fraction of `until` within which initially touching pairs separate
  const double *v;    // m/s, rad/s
  const double *bend; // half the accelerations
  double slop;        // m: a smaller gap counts as touching
  // number of samples between start and end, for pairs known only at both ends. (A shape that
  // slides over the end of a segment overlaps it only in between.)
  int looks;
} S2Flow;

// Writes the pose of a body at the time s of the flow to step->q1.
void s2_flow_place(const S2Flow *flow, int32_t slot, double s);

// The end of a flow for a pair.
typedef struct S2FlowEnd {
  double at; // s; infinite: not before the end of the flow
  // whether the shapes meet then; otherwise it is only known that they have not met before, or they
  // overlap so deeply that they could come out on the wrong side
  bool meets;
} S2FlowEnd;

// The first time in (0, until] at which points of the touch other than resting ones meet. `touch`
// is the touch at time 0. Uses step->q1 of its two bodies. Bodies do not pass through each other
// unnoticed. `end` is the touch at the end of the flow, or NULL if it is not known.
S2FlowEnd s2_flow_meet(const S2Flow *flow, const S2Touch *touch, const S2Resting *resting,
                       const S2Touch *end);

// The gap of the nearest point that does not rest, at the time s; infinite: there is none.
double s2_flow_gap(const S2Flow *flow, const S2Touch *touch, const S2Resting *resting, double s);

// m: the overlap of the shapes at the deepest of a few samples; 0 if it cannot reach `least`.
double s2_flow_deepest(const S2Flow *flow, const S2Touch *touch, double least);

// The nearest point that does not rest, or NULL.
const S2TouchPoint *s2_flow_nearest(const S2Touch *touch, const S2Resting *resting);

#endif
