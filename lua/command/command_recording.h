// The tools `sim2d inspect` and `sim2d replay`, which read recordings.
#ifndef S2_COMMAND_RECORDING_H
#define S2_COMMAND_RECORDING_H

#include "lua/command/command_line.h"
#include "lua/solve/validate.h"

#include <stdio.h>

// `argv` starts at the name of the tool. Each returns the exit status.
int s2_command_inspect(int argc, char **argv);

// `line` contains the options before the name of the tool. --record names the output. With
// --validate, `run` is called with the recorded command line and with the validator for its
// session.
typedef int S2RunAgain(int argc, char **argv, S2Validator *validator);
// `script` is the script that the user allows to run. "" allows any script in the current folder,
// and NULL allows none.
int s2_command_validate(S2Replay *replay, const char *path, const char *script, S2RunAgain *run);
// Prints the command line of a run on one line, quoted for a shell.
void s2_command_print_run(FILE *file, const S2Run *run);

int s2_command_replay(S2CommandLine *line, int argc, char **argv, S2RunAgain *run);

#endif
