// A line typed at the prompt: editing, completion, history and Ctrl-C where the command was built
// with libedit, plain reading otherwise.
#ifndef S2_REPL_LINE_H
#define S2_REPL_LINE_H

#include <lua.h>
#include <stdbool.h>

typedef enum S2Line {
  S2_LINE_READ,    // pushed, without its end
  S2_LINE_CLEARED, // Ctrl-C at the prompt: what was typed of the chunk is given up
  S2_LINE_ENDED,   // the end of the input, or of the process
} S2Line;

void s2_repl_line_begin(lua_State *L);
// `so_far`: the lines of the chunk before, for completion.
S2Line s2_repl_line_read(lua_State *L, bool terminal, const char *prompt, const char *so_far);
void s2_repl_line_end(void);

#endif
