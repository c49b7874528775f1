// Private to core/dynamics: how bodies go in a piece of a step, and when their shapes meet.
#ifndef S2_FLOW_H
#define S2_FLOW_H

#include "dynamics/step/context.h"

// Points of a pair that press for the whole piece: they meet nothing.
typedef struct S2Resting {
  int count;
  uint32_t id[2];
} S2Resting;

static inline bool s2_resting_has(const S2Resting *resting, uint32_t id) {
  return (resting->count > 0 && resting->id[0] == id) ||
         (resting->count > 1 && resting->id[1] == id);
}

// A piece of a step: from step->q0 the bodies go q0 + s v + s^2 bend (3 a slot each).
typedef struct S2Flow {
  S2Step *step;
  double until;       // s, its length
  double leaving;     // the part of it within which what touches at first leaves
  const double *v;    // m/s, rad/s
  const double *bend; // half the accelerations
  double slop;        // m: closer is touching
  int looks;          // between start and end, at pairs of which only both are known: what slides
                      // over the end of a segment overlaps it on the way alone
} S2Flow;

// Where a body is at the time s of the flow, into step->q1.
void s2_flow_place(const S2Flow *flow, int32_t slot, double s);

// When a flow ends for a pair.
typedef struct S2FlowEnd {
  double at;  // s; infinite: not before the flow does
  bool meets; // they meet then. Else no more is known than that they have not met before, or they
              // are so deep in each other that they could come out on the wrong side
} S2FlowEnd;

// The first time in (0, until] when other points of the touch than the resting ones meet. The touch
// is as at the time 0. Uses step->q1 of its two bodies. Bodies do not pass through each other
// unseen. `end` is the touch at the end of the flow, NULL where it is not known.
S2FlowEnd s2_flow_meet(const S2Flow *flow, const S2Touch *touch, const S2Resting *resting,
                       const S2Touch *end);

// The gap of the nearest point that does not rest, at a time; infinite: there is none. As above.
double s2_flow_gap(const S2Flow *flow, const S2Touch *touch, const S2Resting *resting, double s);

// m: how deep the shapes are in each other on the way, at the deepest of a few looks; 0 where they
// cannot get so deep as `least`.
double s2_flow_deepest(const S2Flow *flow, const S2Touch *touch, double least);

// The nearest point that does not rest, NULL: there is none.
const S2TouchPoint *s2_flow_nearest(const S2Touch *touch, const S2Resting *resting);

#endif
