// Compares a run with a recording of it, frame by frame (sim2d replay --validate).
#ifndef S2_VALIDATE_H
#define S2_VALIDATE_H

#include "sim2d.h"

typedef struct S2Validator S2Validator;

// Borrows the recording.
S2Validator *s2_validator_new(S2Replay *replay);
void s2_validator_free(S2Validator *validator);

// True if this is the recording to compare. Recordings of a run are numbered from 1.
bool s2_validator_wants(const S2Validator *validator, int recording);

// Gets clock decision `number` of the recorded run, counted from 0. Returns false if the recording
// ends before it.
bool s2_validator_decision(const S2Validator *validator, int number, uint32_t *decision);

// Compares the next frame. Returns an error, which ends the run, if the frame differs or if the
// recording has no more frames.
S2Status s2_validator_frame(S2Validator *validator, S2World *world);

// True if the validator ended the run.
bool s2_validator_ended(const S2Validator *validator);

// Call this if the run raised an error or could not begin. The run then counts as different.
void s2_validator_fail(S2Validator *validator);

// Call this after the run. It prints the result, and returns true if there were frames and all
// agreed.
bool s2_validator_report(const S2Validator *validator, const char *path);

#endif
