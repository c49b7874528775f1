// Fast and thin bodies must not come out on the other side of a body that they meet.
#ifndef S2_PASSAGE_H
#define S2_PASSAGE_H

#include "dynamics/step/context.h"

// Motion in a step, as a fraction of the smaller body, below which no check is needed. So there is
// no guarantee for bodies more slender than 10000 : 1.
#define S2_PASSAGE_SLOW 1e-4

// rad: largest turn in a piece of a step for a body that meets others. Rows are planes at the start
// of the piece; with a larger turn, the motion does not even approximately follow them.
#define S2_TURN_MOST 0.5
// Largest number of pieces of a step because of turns.
#define S2_TURN_PIECES 128

// Whether a body looks the same in every rotation, like a disc about its centre.
bool s2_body_round(const S2World *world, int32_t slot);
// Whether the gap of a touch depends on the rotation of its body a (0) or b (1).
bool s2_touch_turns_gap(const S2World *world, const S2Touch *touch, int side);
// m: half the width of the thinner shape of a touch, if both have a width.
double s2_touch_thin(const S2World *world, const S2Touch *touch);
// The number of pieces for a motion over h (s) with the velocities v (3 per slot). With this number
// of pieces, a turning body of the touch leaves the plane of a row by less than the thickness of
// the shapes.
double s2_touch_turns(const S2World *world, const S2Touch *touch, const double *v, double h);
// The largest such number over all touches for the motion over step->h; 1 if step->h is already the
// shortest piece.
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
// turning explains; INFINITY: never. `presses`: whether the row of the pair presses. As a fraction
// of the motion, the result does not vary with small changes of the inputs.
double s2_step_crossing(const S2Step *step, const S2Touch *touch, bool presses);
// Whether one of the bodies is kinematic and does not yield.
bool s2_touch_driven(const S2World *world, const S2Touch *touch);
// Warns of a pair of bodies if one passes through the other after `t` (s) of the present piece.
void s2_step_warn_of_passage(const S2Step *step, const S2Touch *touch, double t);
// Shortens the motion of bodies that would pass through others.
void s2_step_stop_short(S2Step *step);
// Shortens the motion of the island's bodies to this fraction; false: the motion stays whole.
bool s2_island_stop_short(S2Step *step, const S2Island *island, double fraction);

#endif
