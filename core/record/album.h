// The part of a recording that becomes one picture: the last moment or the moments of a strobe, and
// trails.
#ifndef S2_ALBUM_H
#define S2_ALBUM_H

#include "record/draw/picture.h"
#include "record/draw/view.h"

// A structure of zeros is an empty album.
typedef struct S2Album {
  S2_ARRAY(S2Moment) moments; // moments after `count` are free for reuse
  int count;
  int shown;           // number of options->strobe_times that are done
  double start;        // s, time of the first moment
  double period, next; // s; number of periods from the start to the next recorded moment
  S2Trails trails;
  S2Sweep sweep;
} S2Album;

// Whether the album needs a moment at this time.
bool s2_album_wants(const S2Album *album, double time, const S2RecordOptions *options);
// Adds a moment if the album needs it; its contents are copied.
S2Status s2_album_add(S2Album *album, const S2Moment *moment, const S2RecordOptions *options);
// Makes the scene of the picture. Returns S2_IO if no moment was recorded.
S2Status s2_album_scene(const S2Album *album, const S2RecordOptions *options, S2Scene *scene);
void s2_album_free(S2Album *album);

#endif
