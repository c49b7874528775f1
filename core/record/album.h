// Collects the moments and trails that are drawn in one picture. A strobe picture shows several
// moments, any other picture only the last one.
#ifndef S2_ALBUM_H
#define S2_ALBUM_H

#include "record/draw/picture.h"
#include "record/draw/view.h"

// A structure of zeros is an empty album.
typedef struct S2Album {
  S2_ARRAY(S2Moment) moments; // entries from `count` on are unused, and their memory is reused
  int count;
  int shown;           // number of options->strobe_times that have passed
  double start;        // s, time of the first moment
  double period, next; // period in s, and number of periods from the start to the next moment
  S2Trails trails;
  S2Sweep sweep;
} S2Album;

// Returns true if the album needs a moment at this time.
bool s2_album_wants(const S2Album *album, double time, const S2RecordOptions *options);
// Copies the moment into the album if it is needed.
S2Status s2_album_add(S2Album *album, const S2Moment *moment, const S2RecordOptions *options);
// Makes the scene of the picture. Returns S2_IO if no moment was recorded.
S2Status s2_album_scene(const S2Album *album, const S2RecordOptions *options, S2Scene *scene);
void s2_album_free(S2Album *album);

#endif
