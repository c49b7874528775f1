// Comparing a run with a recording of it, frame by frame (sim2d replay --validate).
#ifndef S2_VALIDATE_H
#define S2_VALIDATE_H

#include "sim2d.h"

typedef struct S2Validator S2Validator;

// Borrows the recording.
S2Validator *s2_validator_new(S2Replay *replay);
void s2_validator_free(S2Validator *validator);

// Is it the nth recording of the run (from 1) that is compared?
bool s2_validator_wants(const S2Validator *validator, int recording);

// What a clock decided at that point of the recorded run, counted from 0. False: the recording does
// not go so far.
bool s2_validator_decision(const S2Validator *validator, int number, uint32_t *decision);

// The next frame. Fails, to end the run, when it differs, and when a recording that was cut short
// has no more.
S2Status s2_validator_frame(S2Validator *validator, S2World *world);

// Did it end the run?
bool s2_validator_ended(const S2Validator *validator);

// The run raised, or could not begin: whatever agrees, it is not the run that was recorded.
void s2_validator_fail(S2Validator *validator);

// After the run: did all frames agree, and was there one? Prints what came out.
bool s2_validator_report(const S2Validator *validator, const char *path);

#endif
