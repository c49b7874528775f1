#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

S2Status s2_error(S2Code code, const char *format, ...) {
  S2Status status = {.code = code};
  va_list args;
  va_start(args, format);
  vsnprintf(status.message, sizeof status.message, format, args);
  va_end(args);
  // The sign of a NaN means nothing to a reader and differs between machines.
  for (char *at = strstr(status.message, "-nan"); at != NULL; at = strstr(at, "-nan")) {
    memmove(at, at + 1, strlen(at));
  }
  return status;
}
