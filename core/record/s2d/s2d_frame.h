// Compact frames of a .s2d recording. Key frames do not depend on other frames. All others contain
// the differences from the preceding frame.
#ifndef S2_S2D_FRAME_H
#define S2_S2D_FRAME_H

#include "record/moment.h"
#include "record/s2d/s2d.h"

enum {
  S2_S2D_CONTACT_VALUES = 6,
  S2_S2D_JOINT_VALUES = 8,
  S2_S2D_HEAD_VALUES = 7,
  S2_S2D_SUMS = 5, // number of sums over bodies (energies and momentum) among these values
};

// Predictions of a body's velocity.
typedef enum S2S2dGuess {
  S2_S2D_AS_LAST,
  S2_S2D_STRAIGHT, // the last change repeats
  S2_S2D_AS_SECOND,
  S2_S2D_AS_THIRD, // the velocity of the third last frame
} S2S2dGuess;

typedef struct S2S2dBodyPast {
  double q[3], v[3][3];    // q of the last frame, and v of the last three frames (newest first)
  uint8_t length[6];       // bit lengths of the prediction errors of q and v
  uint8_t short_length[3]; // bit lengths of the prediction errors of speeds as multiples of
                           // 2^exponent
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

// Data about the previous frames. The writer and the reader both maintain them. Zero initialise
// this before the first frame.
typedef struct S2S2dPast {
  // m and N s. Lengths and impulses are rounded to multiples of these grains.
  double grain, impulse_grain;
  bool any;
  double time;
  uint64_t step;
  double head[S2_S2D_HEAD_VALUES], sums[S2_S2D_SUMS];
  uint8_t head_length[S2_S2D_HEAD_VALUES], step_length, time_length, count_length;
  uint8_t run_length[3], key_length[3]; // bit lengths of runs and names of contacts
  uint8_t fresh_length[S2_S2D_CONTACT_VALUES];
  S2_ARRAY(S2S2dBodyPast) bodies;
  S2_ARRAY(S2S2dContactPast) contacts;
  S2_ARRAY(S2S2dContactPast) contacts_next; // under construction
  S2_ARRAY(S2S2dJointPast) joints;
  S2_ARRAY(double) channels;
  S2_ARRAY(uint8_t) channel_length;
} S2S2dPast;

void s2_s2d_past_free(S2S2dPast *past);

// Returns the largest possible size of the frame in bytes.
size_t s2_s2d_frame_room(const S2Moment *moment);

// Writes to `at`, which must have that much memory. Returns the number of bytes used.
size_t s2_s2d_frame_write(S2S2dPast *past, const S2Moment *moment, bool key, unsigned char *at);

// Returns true if the frame is a key frame.
bool s2_s2d_frame_is_key(const unsigned char *at, size_t size);

// Reads into a moment that contains the frame's scene and channels. Returns false if the bytes are
// not a frame or do not follow `past`. After that, `past` is invalid.
bool s2_s2d_frame_read(S2S2dPast *past, const unsigned char *at, size_t size, S2Moment *moment);

#endif
