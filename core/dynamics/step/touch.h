// Phase 2: touches, which are pairs of shapes that are in contact or may meet within the step.
#ifndef S2_TOUCH_H
#define S2_TOUCH_H

#include "dynamics/step/context.h"

// Finds the points of a touch that may close within the step; *overlapping counts deeply
// overlapping pairs, whose number is limited. False: aborted.
bool s2_touch_search(const S2Step *step, S2Touch *touch, int *overlapping);
// Whether the touch precedes the other one in the order of touches.
static inline bool s2_touch_before(const S2Touch *touch, const S2Touch *other) {
  return touch->shape_a != other->shape_a ? touch->shape_a < other->shape_a
                                          : touch->shape_b < other->shape_b;
}
bool s2_step_touches(S2Step *step); // broad and narrow phase; false: aborted
// Adds missing points: shapes without any point in reach that overlap at q1 get points there;
// shapes that a kinematic body passes through get points where the passage begins. *found: whether
// points were added. False: aborted.
bool s2_step_unforeseen(const S2Step *step, bool *found);
// Finds missing points of the island's touches, except for overlaps that exist only at the end.
bool s2_island_unforeseen_within(const S2Step *step, const S2Island *island, bool *found);
void s2_step_settle(S2Step *step); // contact geometry at q1
void s2_touch_settle(const S2Step *step,
                     S2Touch *touch); // contact geometry at q1 of one touch that is no sensor
// Whether the touch's bodies have moved by less than this fraction of their size, so that it only
// needs an update.
bool s2_touch_still(const S2Step *step, const S2Touch *touch, double fraction);
void s2_touch_follow(const S2Step *step, S2Touch *touch); // updates its points at q1
// whether the touch may carry impulses in this step
bool s2_touch_solid(const S2Touch *touch);

// Computes the geometry of one touch at the poses q. Points that stay keep their impulses.
void s2_touch_collide(const S2World *world, S2Touch *touch, const double *q, double reach);
// Collides the shapes as if they had no neighbours: corners that belong to another segment or piece
// also count.
void s2_touch_collide_alone(const S2World *world, const S2Touch *touch, const double *q,
                            double reach, S2Manifold *manifold);
// The nearest points of its two shapes at the poses q, relative to body a.
S2Closest s2_touch_closest(const S2World *world, const S2Touch *touch, const double *q);
// Calls the pre-solve callback, once for each step, if there are points; false: aborted.
bool s2_touch_ask(const S2Step *step, S2Touch *touch);
// Sets friction, restitution, surface speed and softness of the pair.
void s2_touch_set_material(const S2World *world, S2Touch *touch);
double s2_step_penetration(const S2Step *step); // deepest overlap of rigid touches, m

#endif
