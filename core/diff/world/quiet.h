// Explains why every derivative of a loss is 0, from observations that a sweep makes on request.
#ifndef S2_QUIET_H
#define S2_QUIET_H

#include <stdbool.h>

// Reasons that a step can reveal, the most specific first.
typedef enum S2QuietReason {
  S2_QUIET_CLIPPED,    // a command is beyond the range of its actuator
  S2_QUIET_MOTOR_FULL, // a motor speed has no effect, because the motor pushes with its largest
                       // force
  S2_QUIET_MOTOR_IDLE, // a largest force has no effect, because the motor needs less
  S2_QUIET_DRY,        // joint friction has no effect, because it holds the joint
  S2_QUIET_STICKS,     // contact friction has no effect, because the contact sticks
  S2_QUIET_UNTOUCHED,  // a material has no effect, because the body has no contacts
  S2_QUIET_UNSTRUCK,   // restitution has no effect, because the body has no impacts
  S2_QUIET_LIMIT,      // a limit was not reached
  S2_QUIET_HELD,       // friction holds a body against all changes of the parameters
  S2_QUIET_UNLINKED,   // the loss depends only on bodies without parameters
  S2_QUIET_REASONS
} S2QuietReason;

enum { S2_QUIET_TEXT = 320 };

typedef struct S2Quiet {
  bool looks;                                 // true if the current sweep makes observations
  bool worlds;                                // there is a world on the tape
  bool asked;                                 // the loss depends on a number read from a world
  bool moved;                                 // a body that the loss depends on moved in a step
  bool linked;                                // the loss depends on a body with parameters
  bool denied[S2_QUIET_REASONS];              // a step contradicts the reason
  char text[S2_QUIET_REASONS][S2_QUIET_TEXT]; // "": not observed
} S2Quiet;

// A tracked command to an actuator was clipped.
void s2_quiet_clipped(S2Quiet *quiet, const char *actuator);
// The most specific explanation; never empty.
const char *s2_quiet_sentence(const S2Quiet *quiet);
// The explanation for derivatives that are zero within rounding: bodies are at rest. Returns "" if
// the sweep has not observed this.
const char *s2_quiet_rest(const S2Quiet *quiet);

#endif
