// What the live viewer shows of a world: the chunks of a .s2d file, in memory.
#ifndef S2_FRAMES_H
#define S2_FRAMES_H

#include "record/s2d/s2d_write.h"
#include "view/server.h"

// All zeros is one that has shown nothing.
typedef struct S2Frames {
  S2Moment moment;
  S2S2dPast past;
  S2S2dScene scene; // shown last
  S2S2dBytes bytes; // of a message
} S2Frames;

// Puts the world as it is before the clients: a frame, and the scene before it where that differs
// from the one shown last. Fails with S2_INVALID when it is too large for a .s2d file.
S2Status s2_frames_show(S2Frames *frames, S2Server *server, S2World *world);
// The next world is another one: its scene is told again, equal or not.
void s2_frames_restart(S2Frames *frames);
void s2_frames_free(S2Frames *frames);

#endif
