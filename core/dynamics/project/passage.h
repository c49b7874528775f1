// Prevents fast and thin bodies from passing through the bodies that they hit.
#ifndef S2_PASSAGE_H
#define S2_PASSAGE_H

#include "dynamics/step/context.h"

// Motion in a step, as a fraction of the smaller body's size. Pairs with less motion are not
// checked, so there is no protection for bodies more slender than 10000 : 1.
#define S2_PASSAGE_SLOW 1e-4

// rad: largest rotation of a body that touches others, per piece of a step. Contact rows are planes
// at the start of the piece and do not describe the motion for larger rotations.
#define S2_TURN_MOST 0.5
// Maximum number of pieces into which rotations may split a step.
#define S2_TURN_PIECES 128

// Returns true if a body looks the same in every rotation, such as a disc about its centre.
bool s2_body_round(const S2World *world, int32_t slot);
// Returns true if the gap of a touch depends on the rotation of its body a (side 0) or b (side 1).
bool s2_touch_turns_gap(const S2World *world, const S2Touch *touch, int side);
// m: half the width of the thinner shape of a touch. Shapes without a width are ignored.
double s2_touch_thin(const S2World *world, const S2Touch *touch);
// Returns the number of pieces for a motion over h (s) with the velocities v (3 per slot). Within a
// piece, a turning body of the touch leaves the plane of a row by less than the thickness of the
// shapes.
double s2_touch_turns(const S2World *world, const S2Touch *touch, const double *v, double h);
// Returns the largest such number over all touches, for a motion over step->h. Returns 1 if step->h
// is already the shortest piece.
double s2_step_turning(const S2Step *step, const double *v);
// m: reach of the smaller body of a touch.
double s2_touch_smaller(const S2World *world, const S2Touch *touch);
// m: the allowed overlap of the shapes of a touch. This is half of the overlap at which they would
// come out on the wrong side.
double s2_touch_depth(const S2World *world, const S2Touch *touch);
// m: the required accuracy of such an overlap.
double s2_touch_depth_fine(const S2World *world, const S2Touch *touch, double depth);

// s: time after the start of the step, along the motion `carry`, at which the shapes of a touch
// overlap so deeply that they would soon come out on the wrong side. INFINITY if this does not
// happen.
double s2_step_passage(const S2Step *step, const S2Touch *touch);
// s: time after the start of the step, along the same motion, at which the shapes overlap by more
// than turning explains. INFINITY if this does not happen. `presses`: whether the row of the pair
// has a positive impulse. Small changes of the inputs do not change the result as a fraction of the
// motion.
double s2_step_crossing(const S2Step *step, const S2Touch *touch, bool presses);
// Returns true if one of the bodies is kinematic.
bool s2_touch_driven(const S2World *world, const S2Touch *touch);
// Warns that a pair of bodies may pass through each other after `t` (s) of the present piece.
void s2_step_warn_of_passage(const S2Step *step, const S2Touch *touch, double t);
// Shortens the motion of all bodies that would pass through others.
void s2_step_stop_short(S2Step *step);
// Shortens the motion of the island's bodies to this fraction. Returns false if the motion is not
// shortened.
bool s2_island_stop_short(S2Step *step, const S2Island *island, double fraction);

#endif
