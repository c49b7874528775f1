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
  int input;     // connected to the standard input of ffmpeg
  FILE *errors;  // its messages
} S2Ffmpeg;

// Checks that ffmpeg exists and runs. Returns S2_IO if it does not. The message explains the
// remedy.
S2Status s2_ffmpeg_available(void);

// Starts ffmpeg. `arguments` excludes the program's name and ends with NULL.
S2Status s2_ffmpeg_start(S2Ffmpeg *ffmpeg, const char *const *arguments);
// Returns false if ffmpeg accepts no more data. Then s2_ffmpeg_end returns the reason.
bool s2_ffmpeg_write(S2Ffmpeg *ffmpeg, const unsigned char *bytes, size_t size);
// Waits until ffmpeg ends. The message of an error contains the last line of its output.
S2Status s2_ffmpeg_end(S2Ffmpeg *ffmpeg);

#endif
