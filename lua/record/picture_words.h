// Command-line options for recordings as pictures, videos and pages, such as --width and
// --view-follow.
#ifndef S2_PICTURE_WORDS_H
#define S2_PICTURE_WORDS_H

#include "record/record.h"

typedef enum S2PictureWord {
  S2_WORD_WIDTH,
  S2_WORD_FOLLOW,
  S2_WORD_STROBE,
  S2_WORD_TRAILS,
  S2_WORD_FPS,
  S2_WORD_SPEED,
  S2_PICTURE_WORDS
} S2PictureWord;

enum { S2_STROBE_TIMES = 64 }; // Maximum number of times in a list on the command line.

// If all members are zero, no option was given.
typedef struct S2PictureWords {
  bool given[S2_PICTURE_WORDS];
  int width;                            // pixels
  double fps, speed;                    // 1/s; simulated seconds per second of video
  double strobe_period;                 // seconds; 0: use the list of times
  const char *follow;                   // body name, or body number in order of creation; borrowed
  double strobe_times[S2_STROBE_TIMES]; // s, ascending
  int strobe_count;
} S2PictureWords;

// The name of the option.
const char *s2_picture_word_option(S2PictureWord word);

// Reads the value of an option. On failure, returns S2_INVALID with a message that names the
// option.
S2Status s2_picture_words_read(S2PictureWords *words, S2PictureWord word, const char *value);

// Returns S2_INVALID if a given option does not apply to the format of the file.
S2Status s2_picture_words_check(const S2PictureWords *words, const char *path);

// Finds the body that the view follows in the present frame. The index is 0 if no option names a
// body. If the frame does not contain the body, returns S2_INVALID with the nearest name.
S2Status s2_picture_words_body(const S2PictureWords *words, const S2Moment *moment, S2BodyId *id);

// The options of a recorder, which borrow from `words`.
S2RecordOptions s2_picture_words_options(const S2PictureWords *words, S2BodyId follow);

#endif
