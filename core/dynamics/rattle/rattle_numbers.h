// Private to core/dynamics: what the flow by two stages is measured by. Kernels of programs
// (program/kernel_rattle.h) have the same.
#ifndef S2_RATTLE_NUMBERS_H
#define S2_RATTLE_NUMBERS_H

// rad: no body turns further in a piece if its rows see that (s2_rattle_seen_turn). Stage 1 has a
// solution up to about 1. Chains that whip turn by this much in a piece at any step length, so it
// bounds the errors of their energy: ten times as much with 0.5, a tenth with 0.1. But each change
// of the number of pieces costs energy, too: with 0.15 chains that hardly whip gain 2e-4 m g L/2
// where they gain 1e-7 with 0.25.
#define S2_RATTLE_TURN 0.25
// Part of the kinetic energy that contacts may bring in a piece as their rows turn. Without that
// bound heaps of boxes and discs gained up to 8e-2 of it in a step, and took as long.
#define S2_RATTLE_SWAY 1e-3
// Pieces shorter than the step by more than this are not halved for that.
#define S2_RATTLE_SWAY_PIECES 8
// (h w)^2 of a swing across a joint's force in a piece: stable up to this. The number of pieces
// leaves S2_TURNS_TOO_FAST of it by the forces of the last step.
#define S2_RATTLE_SWINGS 4.0
// Mobility of a joint's rows times the heavier mass: above it the digits of a double do not
// suffice.
#define S2_RATTLE_LIGHT 1e9
// m: what rounding leaves of differences of places, in parts of bodies and their distance from the
// origin.
#define S2_RATTLE_ROUNDED 4e-16
// Newton's method ends with errors of this part of a body's size, or of what V goes in the piece
// times the tolerance.
#define S2_RATTLE_PLACE 1e-13
#define S2_RATTLE_WAY   1e-2
// Newton passes; a chord serves as long as a pass gains so much.
#define S2_RATTLE_PASSES 25
#define S2_RATTLE_CHORD  1e-3
// Scaled residuals of a stage. Below the first, Newton's method that gains no more has met
// rounding. Below the second, the set of rows of a certified solution is right.
#define S2_RATTLE_ROUNDING 1e-12
#define S2_RATTLE_SOLVED   1e-9
// Rounded places over h are no speeds: V of stage 1 is such that its tolerance is at least so many
// times what rounding leaves. The tolerance is the world's, within these bounds.
#define S2_RATTLE_NO_SPEED 25.0
#define S2_RATTLE_FINEST   1e-13

#endif
