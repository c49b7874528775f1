// Phase 2: touches, which are pairs of shapes that are in contact or may meet within the step.
#ifndef S2_TOUCH_H
#define S2_TOUCH_H

#include "dynamics/step/context.h"

// Finds the contact points of a touch that may close within the step. *overlapping counts deeply
// overlapping pairs, because their number is limited. Returns false if aborted.
bool s2_touch_search(const S2Step *step, S2Touch *touch, int *overlapping);
// Returns true if `touch` precedes `other` in the order of touches.
static inline bool s2_touch_before(const S2Touch *touch, const S2Touch *other) {
  return touch->shape_a != other->shape_a ? touch->shape_a < other->shape_a
                                          : touch->shape_b < other->shape_b;
}
bool s2_step_touches(S2Step *step); // broad and narrow phase, returns false if aborted.
// Adds missing contact points. Shapes that overlap at q1 although they had no point in reach get
// points there. Shapes that a kinematic body passes through get points where the passage begins.
// *found is true if points were added. Returns false if aborted.
bool s2_step_unforeseen(const S2Step *step, bool *found);
// Finds missing contact points of the island's touches, except for overlaps that exist only at the
// end of the step.
bool s2_island_unforeseen_within(const S2Step *step, const S2Island *island, bool *found);
void s2_step_settle(S2Step *step); // updates the contact geometry at q1
void s2_touch_settle(const S2Step *step,
                     S2Touch *touch); // updates the geometry of a non-sensor touch at q1.
// Returns true if the bodies of the touch have moved by less than `fraction` of their size. The
// touch can then be updated by s2_touch_follow.
bool s2_touch_still(const S2Step *step, const S2Touch *touch, double fraction);
void s2_touch_follow(const S2Step *step, S2Touch *touch); // updates the points at q1.
// Returns true if the touch may carry impulses in this step.
static inline bool s2_touch_solid(const S2Touch *touch) {
  return touch->allowed && touch->enabled && !touch->sensor && touch->count > 0;
}

// Computes the geometry of a touch at the poses q. Points whose feature persists keep their
// impulses.
void s2_touch_collide(const S2World *world, S2Touch *touch, const double *q, double reach);
// Collides the shapes as if they had no neighbours, including corners that belong to another
// segment or piece.
void s2_touch_collide_alone(const S2World *world, const S2Touch *touch, const double *q,
                            double reach, S2Manifold *manifold);
// Returns the nearest points of the two shapes of a touch at the poses q, relative to body a.
S2Closest s2_touch_closest(const S2World *world, const S2Touch *touch, const double *q);
// Calls the pre-solve callback once for each step, if there are contact points. Returns false if
// aborted.
bool s2_touch_ask(const S2Step *step, S2Touch *touch);
// Sets friction, restitution, viscosity, surface speed, compliance and damping of the pair.
void s2_touch_set_material(const S2World *world, S2Touch *touch);
double s2_step_penetration(const S2Step *step); // deepest overlap of rigid touches (m)

#endif
