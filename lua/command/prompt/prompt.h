// The functions of prompt.lua: how the prompt prints results, the keys of constructors, and help.
#ifndef S2_PROMPT_H
#define S2_PROMPT_H

#include <lua.h>
#include <stdbool.h>

// Loads prompt.lua and the texts that it reads. Creates the global `help`, unless the script has
// one. The table `sim` must be on top of the stack and stays there. Raises errors of prompt.lua.
void s2_prompt_open(lua_State *L);

// A C function: prints its arguments as results, each on its own lines or, if they are short,
// separated by tabs.
int s2_prompt_print(lua_State *L);

// Pushes a list of the keys ("gravity = ") that may replace `word` after the text `before` of a
// chunk. Returns false and pushes no value if no key is possible there, or the keys are unknown.
bool s2_prompt_keys(lua_State *L, const char *before, const char *word);

#endif
