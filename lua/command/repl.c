#include "lua/command/repl.h"

#include "lua/command/prompt/prompt.h"
#include "lua/command/repl_line.h"
#include "lua/command/script.h"
#include "lua/world/binding.h"
#include "sim2d.h"

#include <lauxlib.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char PROMPT[] = "> ";
static const char PROMPT_MORE[] = ">> ";

// ---- Running them -----------------------------------------------------------------------------

// A chunk that ends too early is a statement that the user has not finished typing.
static bool is_incomplete(lua_State *L, int status) {
  static const char END[] = "<eof>";
  size_t length = 0;
  if (status != LUA_ERRSYNTAX) {
    return false;
  }
  const char *message = lua_tolstring(L, -1, &length);
  return length >= sizeof END - 1 && strcmp(message + length - (sizeof END - 1), END) == 0;
}

// Loads the text on top of the stack as an expression, or else as a statement. Pushes the chunk or
// the message. If both fail, pushes the message for the expression if the expression is incomplete,
// otherwise the message for the statement.
static int repl_load_text(lua_State *L) {
  int text = lua_gettop(L);
  const char *start = lua_tostring(L, text);
  start += strspn(start, " \t");
  lua_pushfstring(L, "return %s", *start == '=' ? start + 1 : start); // "=x": as in Lua before 5.3
  int status = luaL_loadbuffer(L, lua_tostring(L, -1), lua_rawlen(L, -1), "=stdin");
  lua_remove(L, -2);
  if (status == LUA_OK || *start == '=') { // no statement starts with =
    return status;
  }
  int expression = is_incomplete(L, status) ? status : LUA_OK;
  status = luaL_loadbuffer(L, lua_tostring(L, text), lua_rawlen(L, text), "=stdin");
  if (status != LUA_OK && expression != LUA_OK) {
    lua_pop(L, 1);
    return expression;
  }
  lua_remove(L, -2);
  return status;
}

// Reads lines until they form a chunk. Pushes the chunk or the message, and stores the load status
// in *status. Pushes no value unless it returns S2_LINE_READ.
static S2Line repl_read_chunk(lua_State *L, bool terminal, int *status) {
  S2Line line = s2_repl_line_read(L, terminal, PROMPT, NULL);
  if (line != S2_LINE_READ) {
    return line;
  }
  for (;;) { // the text so far is on top
    *status = repl_load_text(L);
    if (is_incomplete(L, *status)) {
      line = s2_repl_line_read(L, terminal, PROMPT_MORE, lua_tostring(L, -2));
    } else {
      line = S2_LINE_ENDED;
    }
    if (line == S2_LINE_CLEARED) {
      lua_pop(L, 2);
      return line;
    }
    // The chunk or the input has ended. If the chunk is incomplete, the message reports the missing
    // end.
    if (line == S2_LINE_ENDED) {
      lua_remove(L, -2);
      return *s2_script_interrupted() == 0 ? S2_LINE_READ : line;
    }
    lua_remove(L, -2); // the message
    lua_pushliteral(L, "\n");
    lua_insert(L, -2);
    lua_concat(L, 3);
  }
}

static void run_lines(lua_State *L, bool terminal) {
  int base = lua_gettop(L);
  int status = LUA_OK;
  for (S2Line line; (line = repl_read_chunk(L, terminal, &status)) != S2_LINE_ENDED;) {
    if (line == S2_LINE_CLEARED) {
      continue;
    }
    if (status == LUA_OK) {
      status = s2_script_call(L, 0, LUA_MULTRET);
    }
    // Print the results.
    int values = lua_gettop(L) - base;
    if (status == LUA_OK && values > 0) {
      luaL_checkstack(L, LUA_MINSTACK, "too many results");
      lua_pushcfunction(L, s2_prompt_print);
      lua_insert(L, base + 1);
      status = s2_script_call(L, values, 0);
    }
    if (status != LUA_OK) {
      s2_script_report(L);
    }
    lua_settop(L, base);
    if (*s2_script_interrupted() == SIGINT) { // Ctrl-C stopped only that line
      s2_script_watch();
    } else if (*s2_script_interrupted() != 0) {
      break;
    }
  }
  lua_settop(L, base);
}

static const char WORLDS = 'w'; // registry key (address) of script worlds kept for the prompt

void s2_repl_run(lua_State *L) {
  // Worlds in local variables of the script are garbage at this point, so keep them before the
  // collector runs.
  lua_gc(L, LUA_GCSTOP);
  s2_lua_worlds(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &WORLDS);
  lua_gc(L, LUA_GCRESTART);
  bool terminal = isatty(STDIN_FILENO) == 1;
  // Predefine `sim`.
  lua_getglobal(L, "require");
  lua_pushliteral(L, "sim2d");
  lua_call(L, 1, 1);
  s2_prompt_open(L);
  lua_setglobal(L, "sim");
  if (!terminal) {
    run_lines(L, false);
    return;
  }
  printf("sim2d %s, Lua %s.%s. `sim` is require \"sim2d\"; help() explains more; Ctrl-D ends.\n",
         s2_version(), LUA_VERSION_MAJOR, LUA_VERSION_MINOR);
  s2_repl_line_begin(L);
  run_lines(L, true);
  s2_repl_line_end();
}
