// A quantity of a recording by name, over all frames.
#ifndef S2_REPLAY_COLUMN_H
#define S2_REPLAY_COLUMN_H

#include "record/s2d/replay.h"

// Fills one value per frame, or NaN in frames without that quantity. The names are
//   time, step, residual, iterations, contacts
//   energy.kinetic, energy.potential, energy.total, momentum.angular, momentum.x, momentum.y
//   the name of a channel
//   BODY.angle, .x, .y, .omega, .vx, .vy     of the first body of that name, in each frame
//   JOINT.angle, .speed, .impulse_x, .impulse_y
// S2_INVALID: no frame has the quantity. S2_IO: a frame cannot be read.
S2Status s2_replay_column(S2Replay *replay, const char *name, double *values);

#endif
