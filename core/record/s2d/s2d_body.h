// Bodies in compact frames of a .s2d recording.
#ifndef S2_S2D_BODY_H
#define S2_S2D_BODY_H

#include "record/s2d/s2d_bits.h"
#include "record/s2d/s2d_frame.h"

// Writes or reads the poses and velocities of all bodies. h is the time since the last frame, in s.
void s2_s2d_code_bodies(S2S2dBits *bits, S2S2dPast *past, S2Moment *moment, double h);

#endif
