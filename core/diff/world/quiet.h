// Why every derivative of a loss is 0: what a sweep sees of the steps when it is asked to look.
#ifndef S2_QUIET_H
#define S2_QUIET_H

#include <stdbool.h>

// Reasons that a step can show, the most specific first.
typedef enum S2QuietReason {
  S2_QUIET_CLIPPED,    // a command beyond the range of its actuator
  S2_QUIET_MOTOR_FULL, // the speed of a motor that pushes with all it may
  S2_QUIET_MOTOR_IDLE, // the largest force of a motor that needs less
  S2_QUIET_DRY,        // the dry friction of a joint that it holds
  S2_QUIET_STICKS,     // the friction of a contact that sticks
  S2_QUIET_UNTOUCHED,  // a material of a body that touches nothing
  S2_QUIET_UNSTRUCK,   // the restitution of a body that nothing strikes
  S2_QUIET_LIMIT,      // a limit that was not reached
  S2_QUIET_HELD,       // a body that friction holds against all that parameters change
  S2_QUIET_UNLINKED,   // the loss is about other bodies than the parameters
  S2_QUIET_REASONS
} S2QuietReason;

enum { S2_QUIET_TEXT = 320 };

typedef struct S2Quiet {
  bool looks;                                 // in a sweep that is to look
  bool worlds;                                // there is a world on the tape
  bool asked;                                 // the loss depends on a number read from one
  bool moved;                                 // a body that it depends on moved in a step
  bool linked;                                // a body with parameters is one that it depends on
  bool denied[S2_QUIET_REASONS];              // it was otherwise in some step
  char text[S2_QUIET_REASONS][S2_QUIET_TEXT]; // "": not seen
} S2Quiet;

// A tracked command to an actuator was clipped.
void s2_quiet_clipped(S2Quiet *quiet, const char *actuator);
// The most specific sentence; never empty.
const char *s2_quiet_sentence(const S2Quiet *quiet);
// The same where derivatives are of the size of rounding: that bodies rest, or "".
const char *s2_quiet_rest(const S2Quiet *quiet);

#endif
