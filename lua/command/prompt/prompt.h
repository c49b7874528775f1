// What the prompt says of values and of the library (prompt.lua): how results are printed, the keys
// a constructor takes, and help.
#ifndef S2_PROMPT_H
#define S2_PROMPT_H

#include <lua.h>
#include <stdbool.h>

// Loads prompt.lua and what it reads; makes the global `help`, if the script has none. The table
// `sim` is on top of the stack, and stays there. Raises what it raises.
void s2_prompt_open(lua_State *L);

// A C function: prints its arguments as results, each on lines of its own or, if they are short,
// with tabs between.
int s2_prompt_print(lua_State *L);

// Pushes the list of keys ("gravity = ") that may stand where `word` does, behind the text `before`
// of a chunk. False, with nothing pushed: that is no place for a key, or nobody knows it.
bool s2_prompt_keys(lua_State *L, const char *before, const char *word);

#endif
