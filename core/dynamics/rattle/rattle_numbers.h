// Private to core/dynamics: numerical limits of the flow by two stages. Kernels of programs
// (program/kernel_rattle.h) use the same values.
#ifndef S2_RATTLE_NUMBERS_H
#define S2_RATTLE_NUMBERS_H

// rad: largest turn of a body in a piece, as its rows see it (s2_rattle_seen_turn). Stage 1 has a
// solution up to about 1 rad. Whipping chains turn by this much in a piece at any step length, so
// it bounds their energy error: ten times larger with 0.5, a tenth with 0.1. But each change of the
// number of pieces costs energy, too. With 0.15, chains that hardly whip gain 2e-4 m g L/2; with
// 0.25 they gain 1e-7.
#define S2_RATTLE_TURN 0.25
// Fraction of the kinetic energy that rows may add in a piece as they turn; joints may not take
// more, either. Without this bound, heaps of boxes and discs gained up to 8e-2 of it in a step, at
// the same computing cost, and whipping chains up to 0.4. With 1e-3 the error of chains over 5 s is
// an eighth, for a tenth more pieces; 1e-4 halves it again, for twice the pieces.
#define S2_RATTLE_SWAY 1e-3
// Pieces shorter than the step by more than this factor are not halved for that reason.
#define S2_RATTLE_SWAY_PIECES 8
// Largest (h w)^2, in a piece, of an oscillation across a joint's force; it is the stability limit.
// The number of pieces leaves S2_TURNS_TOO_FAST of it for the forces of the last step.
#define S2_RATTLE_SWINGS 4.0
// Mobility of a joint's rows times the heavier mass. Above this, double precision does not suffice.
#define S2_RATTLE_LIGHT 1e9
// m: rounding of differences of positions, as a fraction of body size plus distance from the
// origin.
#define S2_RATTLE_ROUNDED 4e-16
// Newton's method ends at errors of this fraction of a body's size (PLACE), or this fraction (WAY)
// of tolerance times V h.
#define S2_RATTLE_PLACE 1e-13
#define S2_RATTLE_WAY   1e-2
// PASSES: largest number of Newton passes. CHORD: the factor is kept while each pass reduces the
// error to this fraction.
#define S2_RATTLE_PASSES 25
#define S2_RATTLE_CHORD  1e-3
// Scaled residuals of a stage. ROUNDING: Newton's method without further progress has reached
// rounding. SOLVED: the active set of a certified solution is correct.
#define S2_RATTLE_ROUNDING 1e-12
#define S2_RATTLE_SOLVED   1e-9
// Rounded positions over h are not speeds. V of stage 1 is large enough that its tolerance is at
// least NO_SPEED times their rounding. FINEST: smallest tolerance that is used.
#define S2_RATTLE_NO_SPEED 25.0
#define S2_RATTLE_FINEST   1e-13

#endif
