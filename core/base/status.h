// Status: every failure that a caller can cause is returned as an S2Status, with a message that
// helps a person to fix it. Asserts are only for internal bugs.
#ifndef S2_STATUS_H
#define S2_STATUS_H

#include <stdbool.h>

typedef enum S2Code {
  S2_OK = 0,
  S2_INVALID,  // a value out of its domain; the message names the value and the domain
  S2_STALE,    // a handle to an object that was destroyed
  S2_BUSY,     // a call that is not allowed during a step or a sweep of a tape
  S2_ABORTED,  // a callback asked to stop; the step was rolled back
  S2_UNSOLVED, // a computation found no solution, or a step of a strict world missed its tolerance
  S2_IO,       // a file could not be read or written
  S2_MEMORY,   // out of memory
  S2_UNAVAILABLE, // this build lacks the library for the call, or (core/diff) the operation has no
                  // derivative
} S2Code;

enum { S2_MESSAGE_SIZE = 240 }; // bytes, including the final 0; longer messages are truncated

typedef struct S2Status {
  S2Code code;
  char message[S2_MESSAGE_SIZE];
} S2Status;

static inline S2Status s2_ok(void) {
  S2Status status; // only the used part of the message is initialised, to save time
                   // than most calls
  status.code = S2_OK;
  status.message[0] = 0;
  return status;
}

// Formats like printf, but prints NaN as "nan", never "-nan".
S2Status s2_error(S2Code code, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define S2_TRY(expression)                                                                         \
  do {                                                                                             \
    S2Status s2_try_status = (expression);                                                         \
    if (s2_try_status.code != S2_OK) {                                                             \
      return s2_try_status;                                                                        \
    }                                                                                              \
  } while (0)

#endif
