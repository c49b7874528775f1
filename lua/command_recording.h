// sim2d inspect and sim2d replay: reading recordings.
#ifndef S2_COMMAND_RECORDING_H
#define S2_COMMAND_RECORDING_H

#include "validate.h"

// The words from the command's own name on. Each returns the exit status.
int s2_command_inspect(int argc, char **argv);

// `output`: of --record, NULL: none. With --validate the recorded command line is given to `run`,
// with the validator to be put into its session.
typedef int S2RunAgain(int argc, char **argv, S2Validator *validator);
int s2_command_replay(int argc, char **argv, const char *output, S2RunAgain *run);

#endif
