// Fast and thin bodies must not come out on the other side of a body that they meet.
#ifndef S2_PASSAGE_H
#define S2_PASSAGE_H

#include "dynamics/step/context.h"

// Motion in a step, as a fraction of the smaller body, below which no check is needed. For more
// slender bodies (10000 : 1) there is no guarantee.
#define S2_PASSAGE_SLOW 1e-4

// rad: largest turn in a piece of a step for a body that meets others. Rows are planes at the start
// of the piece; a larger turn is not even approximately a motion along them.
#define S2_TURN_MOST 0.5
// Largest number of pieces of a step because of turns.
#define S2_TURN_PIECES 128

// Whether a body is the same in every rotation, as a disc about its centre.
bool s2_body_round(const S2World *world, int32_t slot);
// Whether the gap of a touch depends on the rotation of its body a (0) or b (1).
bool s2_touch_turns_gap(const S2World *world, const S2Touch *touch, int side);
// m: half the width of the thinner shape of a touch, if both have a width.
double s2_touch_thin(const S2World *world, const S2Touch *touch);
// The number of pieces for a motion of h (s), in which the bodies of a touch have the velocities v
// (3 per slot). A body that turns then leaves the plane of a row by less than the thickness.
double s2_touch_turns(const S2World *world, const S2Touch *touch, const double *v, double h);
// The maximum over all touches for the motion over step->h; 1 if that is already the shortest
// piece.
double s2_step_turning(const S2Step *step, const double *v);
// m: reach of the smaller body of a touch.
double s2_touch_smaller(const S2World *world, const S2Touch *touch);
// m: the largest overlap from which the shapes of a touch come out on the right side.
double s2_touch_depth(const S2World *world, const S2Touch *touch);
// m: required accuracy of such a depth.
double s2_touch_depth_fine(const S2World *world, const S2Touch *touch, double depth);

// s from the start of the step, along the motion of `carry`, after which the shapes of a touch
// overlap so deeply that they would soon come out on the wrong side; INFINITY: never.
double s2_step_passage(const S2Step *step, const S2Touch *touch);
// s from the start of the step, along the same motion, after which the shapes overlap by more than
// turning explains, for a pair whose row presses or not; INFINITY: never. It is a fraction of the
// motion that does not depend on the inputs.
double s2_step_crossing(const S2Step *step, const S2Touch *touch, bool presses);
// Whether one of the bodies is kinematic and does not yield.
bool s2_touch_driven(const S2World *world, const S2Touch *touch);
// Warns of a pair of which one passes through the other after `t` (s) of the present piece.
void s2_step_warn_of_passage(const S2Step *step, const S2Touch *touch, double t);
// shortens the motion of bodies that would pass through others
void s2_step_stop_short(S2Step *step);
// Shortens the motion of its bodies to this fraction; false: it stays whole.
bool s2_island_stop_short(S2Step *step, const S2Island *island, double fraction);

#endif
