// sim2d inspect and sim2d replay: reading recordings.
#ifndef S2_COMMAND_RECORDING_H
#define S2_COMMAND_RECORDING_H

#include "lua/command/command_line.h"
#include "lua/solve/validate.h"

#include <stdio.h>

// The words from the command's own name on. Each returns the exit status.
int s2_command_inspect(int argc, char **argv);

// `line`: what stood before the command's name: --record says where to. With --validate the
// recorded command line is given to `run`, with the validator to be put into its session.
typedef int S2RunAgain(int argc, char **argv, S2Validator *validator);
// `script`: that the user lets run, "": any in this folder, NULL: none.
int s2_command_validate(S2Replay *replay, const char *path, const char *script, S2RunAgain *run);
// The command line of a run, for a shell, as a line.
void s2_command_print_run(FILE *file, const S2Run *run);

int s2_command_replay(S2CommandLine *line, int argc, char **argv, S2RunAgain *run);

#endif
