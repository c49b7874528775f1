// The state of a world for the live viewer: the chunks of a .s2d file, in memory.
#ifndef S2_FRAMES_H
#define S2_FRAMES_H

#include "record/s2d/s2d_write.h"
#include "view/server.h"

// A structure of zeros has shown no world.
typedef struct S2Frames {
  S2Moment moment;
  S2S2dPast past;
  S2S2dScene scene; // shown last
  S2S2dBytes bytes; // bytes of a message
} S2Frames;

// Sends the present world to the clients: a frame, preceded by the scene if the scene has changed
// since it was last sent. Returns S2_INVALID if the world is too large for a .s2d file.
S2Status s2_frames_show(S2Frames *frames, S2Server *server, S2World *world);
// Call this if the next world is a different one. Its scene is then sent even if it is equal.
void s2_frames_restart(S2Frames *frames);
void s2_frames_free(S2Frames *frames);

#endif
