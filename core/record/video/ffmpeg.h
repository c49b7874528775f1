// The program ffmpeg, fed with frames through a socket. It is found by PATH and gets no shell.
#ifndef S2_FFMPEG_H
#define S2_FFMPEG_H

#include "base/status.h"

#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

typedef struct S2Ffmpeg {
  pid_t process; // 0: none
  int input;     // its standard input
  FILE *errors;  // what it says
} S2Ffmpeg;

// Is it there, and does it run? S2_IO with what to do when not.
S2Status s2_ffmpeg_available(void);

// `arguments` without the program's name; ends with NULL.
S2Status s2_ffmpeg_start(S2Ffmpeg *ffmpeg, const char *const *arguments);
// False when it takes no more: s2_ffmpeg_end tells why.
bool s2_ffmpeg_write(S2Ffmpeg *ffmpeg, const unsigned char *bytes, size_t size);
// Waits for it. Its failure comes with the last line that it said.
S2Status s2_ffmpeg_end(S2Ffmpeg *ffmpeg);

#endif
