#include "lua/command/prompt/prompt.h"

#include "lua/base/embedded.h"
#include "lua/base/host.h"

#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

static const char PROMPT_KEY = 'p'; // Registry key (address) of the table from prompt.lua.

// Runs an embedded file and pushes its result.
static void prompt_load(lua_State *L, const S2Embedded *text) {
  if (luaL_loadbufferx(L, (const char *)text->source, text->size, S2_EMBEDDED_CHUNK, "t") !=
      LUA_OK) {
    lua_error(L);
  }
  lua_call(L, 0, 1);
}

void s2_prompt_open(lua_State *L) {
  int sim = lua_gettop(L);
  // The first two texts are prompt.lua, a function of (sim, host, read, meta), and annotations.lua,
  // which returns `read`.
  const S2Embedded *text = s2_prompt_texts, *meta = text + 2;
  prompt_load(L, &text[0]);
  lua_pushvalue(L, sim);
  s2_host_push(L);
  prompt_load(L, &text[1]);
  lua_newtable(L);
  for (int i = 0; meta[i].name != NULL; i++) {
    lua_pushlstring(L, (const char *)meta[i].source, meta[i].size);
    lua_rawseti(L, -2, i + 1);
  }
  lua_call(L, 4, 1);
  // Makes `help` a global, unless there is one.
  lua_pushglobaltable(L);
  lua_pushliteral(L, "help");
  if (lua_rawget(L, -2) == LUA_TNIL) {
    lua_pushliteral(L, "help");
    lua_getfield(L, sim + 1, "help");
    lua_rawset(L, -4);
  }
  lua_settop(L, sim + 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &PROMPT_KEY);
}

// Pushes a function of prompt.lua.
static void prompt_push(lua_State *L, const char *name) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &PROMPT_KEY);
  lua_getfield(L, -1, name);
  lua_remove(L, -2);
}

int s2_prompt_print(lua_State *L) {
  int count = lua_gettop(L);
  luaL_checkstack(L, count + LUA_MINSTACK, "too many results");
  // Convert all results to text first. A text of several lines is printed on separate lines.
  bool lines = false;
  for (int i = 1; i <= count; i++) {
    prompt_push(L, "show");
    lua_pushvalue(L, i);
    lua_call(L, 1, 1);
    const char *text = luaL_tolstring(L, -1, NULL);
    lines |= strchr(text, '\n') != NULL;
    lua_remove(L, -2);
  }
  for (int i = count + 1; i <= 2 * count; i++) {
    size_t length = 0;
    const char *text = lua_tolstring(L, i, &length);
    if (i > count + 1) {
      putchar(lines ? '\n' : '\t');
    }
    fwrite(text, 1, length, stdout);
  }
  putchar('\n');
  fflush(stdout);
  return 0;
}

bool s2_prompt_keys(lua_State *L, const char *before, const char *word) {
  int top = lua_gettop(L);
  prompt_push(L, "keys");
  lua_pushstring(L, before);
  lua_pushstring(L, word);
  if (lua_pcall(L, 2, 1, 0) == LUA_OK && lua_istable(L, -1)) {
    return true;
  }
  lua_settop(L, top);
  return false;
}
