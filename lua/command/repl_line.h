// Reads lines typed at the prompt. If the command is built with libedit, it supports editing,
// completion, history and Ctrl-C. Otherwise it reads plain lines.
#ifndef S2_REPL_LINE_H
#define S2_REPL_LINE_H

#include <lua.h>
#include <stdbool.h>

typedef enum S2Line {
  S2_LINE_READ,    // the line was pushed, without its line end
  S2_LINE_CLEARED, // Ctrl-C at the prompt: the chunk typed so far is discarded
  S2_LINE_ENDED,   // end of the input, or the process must end
} S2Line;

void s2_repl_line_begin(lua_State *L);
// `so_far` contains the earlier lines of the chunk, for completion.
S2Line s2_repl_line_read(lua_State *L, bool terminal, const char *prompt, const char *so_far);
void s2_repl_line_end(void);

#endif
