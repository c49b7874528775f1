// What the user typed after `sim2d`. One table of options drives parsing, --help and the
// suggestions for misspelt ones.
#ifndef S2_COMMAND_LINE_H
#define S2_COMMAND_LINE_H

#include "lua/base/session.h"
#include "lua/record/picture_words.h"

#include <stdbool.h>

typedef enum S2Tool { S2_RUN_SCRIPT, S2_INSPECT, S2_REPLAY } S2Tool;

typedef struct S2CommandLine {
  S2Session session; // what the options set of it; the rest zero
  const char **code; // -e, in order; borrowed from argv
  int code_count;
  int script; // index in argv of the script ("-": stdin); argc: none
  bool interactive, version, help, stats, view, watch, no_wait;
  S2PictureWords pictures;
  int view_port; // 0: any
  S2Tool tool;   // its words are those from `script` on, its own name first
} S2CommandLine;

// Reads argv. A failure is S2_INVALID, with a message for the user; nothing has to be freed then.
S2Status s2_command_line_read(S2CommandLine *line, int argc, char **argv);
// The same with the words of a recording, which may come from anybody: what runs code that stands
// in them (-e) or asks for some (-i) is S2_INVALID; what writes files, serves pages or prints is
// passed over.
// --record stays, since it says which recording to compare with: under a validator none is written.
S2Status s2_command_line_read_recorded(S2CommandLine *line, int argc, char **argv);
// Reads the option of pictures at argv[*at], and its value, into `pictures`, and leaves *at at its
// last word; S2_INVALID for other words.
S2Status s2_command_line_read_picture(S2CommandLine *line, int argc, char **argv, int *at);
void s2_command_line_free(S2CommandLine *line);

// How many words the option takes up that this one is the first of, its value among them; 0: the
// command has no such option.
int s2_command_line_option_words(const char *word);

void s2_command_line_help(void);    // to stdout
void s2_command_line_version(void); // to stdout

#endif
