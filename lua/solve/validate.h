// Comparing a run with a recording of it, frame by frame (sim2d replay --validate).
#ifndef S2_VALIDATE_H
#define S2_VALIDATE_H

#include "sim2d.h"

typedef struct S2Validator S2Validator;

// Borrows the recording.
S2Validator *s2_validator_new(S2Replay *replay);
void s2_validator_free(S2Validator *validator);

// True if the nth recording of the run (from 1) is the one to compare.
bool s2_validator_wants(const S2Validator *validator, int recording);

// The decision of a clock at that point of the recorded run, counted from 0. False: the recording
// does not reach that point.
bool s2_validator_decision(const S2Validator *validator, int number, uint32_t *decision);

// Compares the next frame. Fails, to end the run, if the frame differs or if a recording that was
// cut short has no more frames.
S2Status s2_validator_frame(S2Validator *validator, S2World *world);

// True if the validator ended the run.
bool s2_validator_ended(const S2Validator *validator);

// Call this if the run raised or could not begin: it then counts as different.
void s2_validator_fail(S2Validator *validator);

// Call this after the run: prints the result and returns true if there were frames and all agreed.
bool s2_validator_report(const S2Validator *validator, const char *path);

#endif
