// A run as arrays over time, gathered frame by frame: what .npz and .h5 recordings hold.
#ifndef S2_TRACK_H
#define S2_TRACK_H

#include "record/data/data.h"
#include "record/moment.h"

typedef struct S2Track S2Track;

S2Track *s2_track_new(void);
// Keeps 48 bytes a body, 81 a contact and 72 a frame, and up to as much again to grow: in memory
// while it is little, then in temporary files (record/data/spill.h). S2_IO: there is no room for
// these; the frames before are kept, no more are taken.
S2Status s2_track_frame(S2Track *track, const S2Moment *moment);
uint64_t s2_track_bytes(const S2Track *track); // of the arrays

// time (T), q and v (T x bodies x 3; nan where a body is not there), energy (T x 3: kinetic,
// potential, total), momentum (T x 3: angular, x, y), residual (T), contacts (T: how many),
// serial and name of each body, a row a contact in contact_*, and an array a channel. The
// set borrows the values of the track, which takes no more frames. Returns what ended the track.
S2Status s2_track_arrays(S2Track *track, S2DataSet *set);
void s2_track_free(S2Track *track); // safe on NULL

#endif
