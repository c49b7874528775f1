// Private to core/dynamics: numerical limits of the flow by two stages. Kernels of programs
// (program/kernel_rattle.h) use the same values.
#ifndef S2_RATTLE_NUMBERS_H
#define S2_RATTLE_NUMBERS_H

// rad: largest turn of a body in a piece that affects its rows (s2_rattle_seen_turn). Stage 1 has a
// solution up to about 1 rad. Whipping chains turn by this much in a piece at any step length, so
// this limit bounds their energy error. With 0.5 the error is ten times larger; with 0.1 it is ten
// times smaller. But each change of the number of pieces also causes an energy error. With 0.15,
// chains that hardly whip gain 2e-4 m g L/2; with 0.25 they gain 1e-7 m g L/2.
#define S2_RATTLE_TURN 0.25
// Fraction of the kinetic energy that turning rows of contacts may add in a piece. Without this
// bound, heaps of boxes and discs gained up to 8e-2 of their kinetic energy in a step, at the same
// computing cost. In islands without contacts, turning rows of joints may add or take this fraction
// of the energies before and after. Without that bound, whipping chains gained up to 0.4 of these
// energies in a step. With the bound, their energy error after 5 s is four times smaller, and a
// step has a tenth more pieces.
#define S2_RATTLE_SWAY 1e-3
// rad: if neither a body nor the direction of a joint row turns farther than this in a piece, the
// work of joint rows is not checked. Near rest, that work is rounding and differs between lanes.
#define S2_RATTLE_SWAY_TURN 0.06
// S2_RATTLE_SWAY does not halve pieces that are shorter than the step by more than this factor.
#define S2_RATTLE_SWAY_PIECES 8
// Largest (h w)^2, in a piece, of an oscillation across a joint's force: the stability limit. The
// number of pieces is chosen so that the forces of the last step stay below S2_TURNS_TOO_FAST.
#define S2_RATTLE_SWINGS 4.0
// Largest product of the mobility of a joint's rows and the heavier mass for which double precision
// suffices.
#define S2_RATTLE_LIGHT 1e9
// m: rounding of differences of positions, as a fraction of body size plus distance from the
// origin.
#define S2_RATTLE_ROUNDED 4e-16
// Newton's method ends when errors are at most this fraction of a body's size (PLACE) or this
// fraction of tolerance times V h (WAY).
#define S2_RATTLE_PLACE 1e-13
#define S2_RATTLE_WAY   1e-2
// PASSES: largest number of Newton passes. CHORD: the factor is kept while each pass reduces the
// error to this fraction.
#define S2_RATTLE_PASSES 25
#define S2_RATTLE_CHORD  1e-3
// Scaled residuals of a stage. ROUNDING: if Newton's method makes no further progress at this
// residual, it has reached rounding. SOLVED: up to this residual, the active set of a certified
// solution counts as correct.
#define S2_RATTLE_ROUNDING 1e-12
#define S2_RATTLE_SOLVED   1e-9
// The rounding of positions, divided by h, is not a speed. So V of stage 1 is at least large enough
// to make its tolerance NO_SPEED times this rounding. FINEST: smallest tolerance that is used.
#define S2_RATTLE_NO_SPEED 25.0
#define S2_RATTLE_FINEST   1e-13

#endif
