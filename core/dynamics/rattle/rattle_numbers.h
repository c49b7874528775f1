// Private to core/dynamics: numerical limits of the two-stage flow.
// The kernels of programs (program/kernel_rattle.h) use the same values.
#ifndef S2_RATTLE_NUMBERS_H
#define S2_RATTLE_NUMBERS_H

// The largest rotation (rad) of a body in a piece, including only the part that affects its rows
// (s2_rattle_seen_turn). Stage 1 has a solution for rotations up to about 1 rad. Whipping chains
// reach the limit at any step length, so it determines their energy error. A limit of 0.5 makes
// this error ten times larger, and 0.1 makes it ten times smaller. However, each change in the
// number of pieces causes an additional error, which favours larger limits. With 0.15, chains that
// hardly whip gain 2e-4 m g L/2. With 0.25, they gain 1e-7 m g L/2.
#define S2_RATTLE_TURN 0.25
// The fraction of the kinetic energy that turning contact rows may add in a piece. Without this
// bound, heaps of boxes and discs gained up to 8e-2 of their kinetic energy in a step, at the same
// computing cost. In islands without contacts, turning joint rows may add or remove this fraction
// of the sum of the energies before and after the piece. Without that bound, whipping chains gained
// up to 0.4 of this sum in a step. With the bound, their energy error after 5 s is four times
// smaller, and a step has 10 % more pieces.
#define S2_RATTLE_SWAY 1e-3
// The work of joint rows is checked only if a body or the direction of a joint row rotates by more
// than this angle (rad) in a piece. Near rest, that work is a rounding error, which differs between
// lanes.
#define S2_RATTLE_SWAY_TURN 0.06
// S2_RATTLE_SWAY is not checked if the step is more than this many times as long as the piece.
#define S2_RATTLE_SWAY_PIECES 8
// The stability limit: the largest (h w)^2 in a piece for an oscillation perpendicular to a joint's
// force. The initial number of pieces keeps the forces of the last step below S2_TURNS_TOO_FAST.
#define S2_RATTLE_SWINGS 4.0
// Double precision suffices if the mobility of a joint's rows times the mass of the heavier body is
// at most this value.
#define S2_RATTLE_LIGHT 1e9
// The rounding error of position differences, as a fraction of the body size plus the distance from
// the origin.
#define S2_RATTLE_ROUNDED 4e-16
// Newton's method ends when errors are at most PLACE times the body size, or at most WAY times the
// tolerance times V h.
#define S2_RATTLE_PLACE 1e-13
#define S2_RATTLE_WAY   1e-2
// PASSES is the maximum number of Newton iterations. The matrix factor is reused as long as each
// iteration reduces the error to at most the fraction CHORD.
#define S2_RATTLE_PASSES 25
#define S2_RATTLE_CHORD  1e-3
// Bodies that do not move: a gap counts as closed below this multiple of the rounding error of
// positions.
#define S2_RATTLE_GAP_ROUNDED 2.0
// Scaled residuals of a stage. If Newton's method stalls below ROUNDING, only rounding errors
// remain. The active set of a certified solution counts as correct if its residual is at most
// SOLVED.
#define S2_RATTLE_ROUNDING 1e-12
#define S2_RATTLE_SOLVED   1e-9
// The tolerance of speeds in stage 1 is at least NO_SPEED times the rounding error of positions
// divided by h. The velocity scale V of stage 1 is increased if necessary. FINEST is the smallest
// tolerance that is used.
#define S2_RATTLE_NO_SPEED 25.0
#define S2_RATTLE_FINEST   1e-13

#endif
