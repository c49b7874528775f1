// Collects a run as arrays over time, for .npz and .h5 recordings.
#ifndef S2_TRACK_H
#define S2_TRACK_H

#include "record/data/data.h"
#include "record/moment.h"

typedef struct S2Track S2Track;

S2Track *s2_track_new(void);
// Adds a frame. A frame needs 72 bytes, plus 48 bytes per body and 81 bytes per contact, and up to
// twice as much while memory grows. Large tracks are stored in temporary files
// (record/data/spill.h). Returns S2_IO if there is no space for these files. After that, no more
// frames are added, but the earlier ones are kept.
S2Status s2_track_frame(S2Track *track, const S2Moment *moment);
uint64_t s2_track_bytes(const S2Track *track); // total size of the arrays.

// The arrays over T frames:
//   time (T), residual (T), contacts (T: their number)
//   q and v (T x bodies x 3; nan for a body that does not exist)
//   energy (T x 3: kinetic, potential, total), momentum (T x 3: angular, x, y)
//   serial and name of each body, one row per contact in contact_*, and one array per channel
//
// The set borrows the values of the track, which then accepts no more frames. Returns the error
// that ended the track.
S2Status s2_track_arrays(S2Track *track, S2DataSet *set);
void s2_track_free(S2Track *track); // NULL is allowed

#endif
