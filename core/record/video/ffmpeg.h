// The program ffmpeg, which receives frames through a socket. ffmpeg is found with PATH and started
// without a shell.
#ifndef S2_FFMPEG_H
#define S2_FFMPEG_H

#include "base/status.h"

#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

typedef struct S2Ffmpeg {
  pid_t process; // 0: none
  int input;     // socket connected to its standard input
  FILE *errors;  // its messages
} S2Ffmpeg;

// Checks that ffmpeg exists and runs. Otherwise returns S2_IO, with a message that explains what to
// do.
S2Status s2_ffmpeg_available(void);

// Starts ffmpeg. `arguments` excludes the program's name and ends with NULL.
S2Status s2_ffmpeg_start(S2Ffmpeg *ffmpeg, const char *const *arguments);
// Returns false if ffmpeg accepts no more data; s2_ffmpeg_end returns the reason.
bool s2_ffmpeg_write(S2Ffmpeg *ffmpeg, const unsigned char *bytes, size_t size);
// Waits for ffmpeg to end. An error contains the last line of its output.
S2Status s2_ffmpeg_end(S2Ffmpeg *ffmpeg);

#endif
