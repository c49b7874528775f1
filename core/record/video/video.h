// Makes videos (.gif, .mp4). Moments are stored during the run, because the view that fits all of
// them is only known at the end. Then the frames are sent to ffmpeg one by one.
#ifndef S2_VIDEO_H
#define S2_VIDEO_H

#include "record/draw/trails.h"
#include "record/draw/view.h"
#include "record/store.h"

// A structure of zeros is a video without frames.
typedef struct S2Video {
  bool gif;
  int64_t frames;               // number of frames so far
  double start;                 // s, world time of frame 0
  S2_ARRAY(int64_t) shown_from; // the first frame that shows each stored moment
  S2Store store;
  S2Sweep sweep;
  S2Trails trails;
} S2Video;

// Checks that the tools are available. Returns S2_UNAVAILABLE without cairo, and S2_IO without
// ffmpeg.
S2Status s2_video_available(void);
// Returns true if the video needs a moment at this time.
bool s2_video_wants(const S2Video *video, double time, const S2RecordOptions *options);
S2Status s2_video_add(S2Video *video, const S2Moment *moment, const S2RecordOptions *options);
// Makes the video file.
S2Status s2_video_write(S2Video *video, const char *path, const S2RecordOptions *options);
void s2_video_free(S2Video *video);

#endif
