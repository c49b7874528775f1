// Compact frames of a .s2d recording: key frames, which stand for themselves, and frames that say
// how they differ from the one before.
#ifndef S2_S2D_FRAME_H
#define S2_S2D_FRAME_H

#include "record/moment.h"
#include "record/s2d/s2d.h"

enum {
  S2_S2D_CONTACT_VALUES = 6,
  S2_S2D_JOINT_VALUES = 8,
  S2_S2D_HEAD_VALUES = 7,
  S2_S2D_SUMS = 5, // of them, which bodies add up to: energies and momentum
};

// What the speeds of a body are guessed to be.
typedef enum S2S2dGuess {
  S2_S2D_AS_LAST,
  S2_S2D_STRAIGHT, // they go on changing as between the last two frames
  S2_S2D_AS_SECOND,
  S2_S2D_AS_THIRD, // as in the third last frame
} S2S2dGuess;

typedef struct S2S2dBodyPast {
  double q[3], v[3][3];    // of the last frame; of the last one, the one before it ...
  uint8_t length[6];       // of what q and v were missed by, bits
  uint8_t short_length[3]; // the same of speeds as whole numbers of 2^exponent
  int16_t exponent[3];
  uint8_t guess; // S2S2dGuess
} S2S2dBodyPast;

typedef struct S2S2dContactPast {
  int32_t a, b;
  uint32_t feature;
  bool sliding;
  int32_t value[S2_S2D_CONTACT_VALUES]; // in grains
  uint8_t length[S2_S2D_CONTACT_VALUES];
} S2S2dContactPast;

typedef struct S2S2dJointPast {
  int64_t value[S2_S2D_JOINT_VALUES];
  uint8_t length[S2_S2D_JOINT_VALUES];
} S2S2dJointPast;

// What a writer and its reader remember of the frames so far. All zeros: nothing.
typedef struct S2S2dPast {
  double grain, impulse_grain; // m, N s; of the scene: what lengths and impulses are rounded to
  bool any;
  double time;
  uint64_t step;
  double head[S2_S2D_HEAD_VALUES], sums[S2_S2D_SUMS];
  uint8_t head_length[S2_S2D_HEAD_VALUES], step_length, time_length, count_length;
  uint8_t run_length[3], key_length[3]; // of runs and names of contacts
  uint8_t fresh_length[S2_S2D_CONTACT_VALUES];
  S2_ARRAY(S2S2dBodyPast) bodies;
  S2_ARRAY(S2S2dContactPast) contacts;
  S2_ARRAY(S2S2dContactPast) contacts_next; // under construction
  S2_ARRAY(S2S2dJointPast) joints;
  S2_ARRAY(double) channels;
  S2_ARRAY(uint8_t) channel_length;
} S2S2dPast;

void s2_s2d_past_free(S2S2dPast *past);

// Most bytes the frame can take.
size_t s2_s2d_frame_room(const S2Moment *moment);

// Writes to `at`, which has that room; returns the bytes used.
size_t s2_s2d_frame_write(S2S2dPast *past, const S2Moment *moment, bool key, unsigned char *at);

// Does the frame stand for itself?
bool s2_s2d_frame_is_key(const unsigned char *at, size_t size);

// Reads into a moment that holds the frame's scene and channels. False: no frame, or not of this
// past, which is then of no more use.
bool s2_s2d_frame_read(S2S2dPast *past, const unsigned char *at, size_t size, S2Moment *moment);

#endif
