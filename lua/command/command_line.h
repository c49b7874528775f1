// The words after `sim2d` on the command line. One table of options drives parsing, --help and the
// suggestions for misspelt options.
#ifndef S2_COMMAND_LINE_H
#define S2_COMMAND_LINE_H

#include "lua/base/session.h"
#include "lua/record/picture_words.h"

#include <stdbool.h>

typedef enum S2Tool { S2_RUN_SCRIPT, S2_INSPECT, S2_REPLAY } S2Tool;

typedef struct S2CommandLine {
  S2Session session; // settings from the options; other members are zero
  const char **code; // code of each -e, in order; borrowed from argv
  int code_count;
  int script; // index of the script in argv ("-": stdin); argc: no script
  bool interactive, version, help, stats, view, watch, no_wait;
  S2PictureWords pictures;
  int view_port; // 0: any free port
  S2Tool tool;   // argv[script] is its name, and its own words follow
} S2CommandLine;

// Reads argv. On failure, returns S2_INVALID with a message for the user, and there is nothing to
// free.
S2Status s2_command_line_read(S2CommandLine *line, int argc, char **argv);
// Like s2_command_line_read, for the words of a recording, which may come from anybody. Options
// that run code from the words (-e) or prompt for code (-i) are S2_INVALID. Options that write
// files, serve pages or print are ignored. --record is kept, because it identifies the recording to
// compare with. A validator writes no file.
S2Status s2_command_line_read_recorded(S2CommandLine *line, int argc, char **argv);
// Reads the picture option at argv[*at] and its value into `pictures`, and moves *at to the last
// word of the option. Returns S2_INVALID for other words.
S2Status s2_command_line_read_picture(S2CommandLine *line, int argc, char **argv, int *at);
void s2_command_line_free(S2CommandLine *line);

// Returns the number of words that an option and its value take, given the first word. Returns 0 if
// the command has no such option.
int s2_command_line_option_words(const char *word);

void s2_command_line_help(void);    // to stdout
void s2_command_line_version(void); // to stdout

#endif
