#include "diff/world/quiet.h"

#include <stdio.h>

void s2_quiet_clipped(S2Quiet *quiet, const char *actuator) {
  char *text = quiet->text[S2_QUIET_CLIPPED];
  if (text[0] == '\0') {
    snprintf(text, S2_QUIET_TEXT,
             "actuator '%s' gets commands beyond its range, so they have no effect", actuator);
  }
}

static const char nothing_moved[] = "none of the bodies that the loss depends on moved";

const char *s2_quiet_rest(const S2Quiet *quiet) {
  const char *held = quiet->text[S2_QUIET_HELD];
  return held[0] != '\0' ? held : quiet->asked && !quiet->moved ? nothing_moved : "";
}

const char *s2_quiet_sentence(const S2Quiet *quiet) {
  if (!quiet->asked) {
    return "all derivatives of the loss with respect to the numbers it was computed from are 0 "
           "here (a square at 0, a clamp or floor function, or parameters that it does not use)";
  }
  for (int i = 0; i < S2_QUIET_REASONS; i++) {
    bool unlinked = i == S2_QUIET_UNLINKED && quiet->linked;
    if (quiet->text[i][0] != '\0' && !quiet->denied[i] && !unlinked) {
      return quiet->text[i];
    }
  }
  if (!quiet->moved) {
    return nothing_moved;
  }
  return "the parameters do not affect anything that the loss depends on, in any step";
}
