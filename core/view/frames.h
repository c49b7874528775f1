// Sends the state of a world to the live viewer, as chunks of a .s2d file.
#ifndef S2_FRAMES_H
#define S2_FRAMES_H

#include "record/s2d/s2d_write.h"
#include "view/server.h"

// Zero initialise this before the first call.
typedef struct S2Frames {
  S2Moment moment;
  S2S2dPast past;
  S2S2dScene scene; // shown last
  S2S2dBytes bytes; // bytes of a message
} S2Frames;

// Sends the present state of the world to the clients. The scene is only sent if it has changed.
// Returns S2_INVALID if the world is too large for a .s2d file.
S2Status s2_frames_show(S2Frames *frames, S2Server *server, S2World *world);
// Call this before showing a different world. Its scene is then always sent.
void s2_frames_restart(S2Frames *frames);
void s2_frames_free(S2Frames *frames);

#endif
