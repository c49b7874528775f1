// What is fast and thin must not come out on the other side of what it meets.
#ifndef S2_PASSAGE_H
#define S2_PASSAGE_H

#include "dynamics/step/context.h"

// Part of the smaller body below which its motion in a step needs no look: of more slender bodies
// (10000 : 1) nothing is promised.
#define S2_PASSAGE_SLOW 1e-4

// rad: no body that meets others turns further in a piece of a step. Rows are planes as the piece
// begins, and beyond this a turn is not even nearly one along them.
#define S2_TURN_MOST 0.5
// Pieces of a step for what turns, at most.
#define S2_TURN_PIECES 128

// Is a body the same however it is turned, as a disc about its centre?
bool s2_body_round(const S2World *world, int32_t slot);
// Does the gap of a touch depend on how its body a (0) or b (1) is turned?
bool s2_touch_turns_gap(const S2World *world, const S2Touch *touch, int side);
// m: half the width of the thinner shape of a touch, of two that have one.
double s2_touch_thin(const S2World *world, const S2Touch *touch);
// How many pieces a motion of h (s) needs, in which the bodies of a touch go with the velocities v
// (3 a slot): what turns in one leaves the plane of a row by less than what is thin.
double s2_touch_turns(const S2World *world, const S2Touch *touch, const double *v, double h);
// The same of all touches for the motion over step->h; 1 where that is the shortest piece there is.
double s2_step_turning(const S2Step *step, const double *v);
// m: reach of the smaller body of a touch.
double s2_touch_smaller(const S2World *world, const S2Touch *touch);
// m: how deep the shapes of a touch may get into each other, and come out on the right side.
double s2_touch_depth(const S2World *world, const S2Touch *touch);
// m: how exactly a depth needs to be known.
double s2_touch_depth_fine(const S2World *world, const S2Touch *touch, double depth);

// s from the start of the step, on the ways that `carry` says, after which the shapes of a touch
// are so deep in each other that they would soon come out on the wrong side; INFINITY: never.
double s2_step_passage(const S2Step *step, const S2Touch *touch);
// s from the start of the step, on the same ways, after which the shapes are in each other by more
// than turning explains, of a pair whose row presses or not; INFINITY: never. It is a part of the
// way that does not move with the inputs.
double s2_step_crossing(const S2Step *step, const S2Touch *touch, bool presses);
// Does one of the bodies move as given, whatever it meets?
bool s2_touch_driven(const S2World *world, const S2Touch *touch);
// Names a pair of which one passes through the other after `t` (s) of the piece at hand.
void s2_step_warn_of_passage(const S2Step *step, const S2Touch *touch, double t);
void s2_step_stop_short(S2Step *step); // what would pass through ends its way there
// Its bodies go this fraction of their way; false: all of it.
bool s2_island_stop_short(S2Step *step, const S2Island *island, double fraction);

#endif
