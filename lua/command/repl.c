#include "lua/command/repl.h"

#include "lua/command/script.h"
#include "sim2d.h"

#include <lauxlib.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef S2_HAVE_EDIT
#include <editline/readline.h>
#endif

static const char PROMPT[] = "> ";
static const char PROMPT_MORE[] = ">> ";

// ---- Reading lines ----------------------------------------------------------------------------

// Pushes a line of any length without its end. False at the end of the input or on Ctrl-C.
static bool repl_read_plain(lua_State *L) {
  int c = getchar();
  if (c == EOF) {
    return false;
  }
  luaL_Buffer line;
  luaL_buffinit(L, &line);
  for (; c != EOF && c != '\n'; c = getchar()) {
    luaL_addchar(&line, (char)c);
  }
  luaL_pushresult(&line);
  return true;
}

#ifdef S2_HAVE_EDIT

enum {
  HISTORY_LINES = 1000, // kept in the file
  PATH_SIZE = 4096,     // bytes; longer paths go without a history
};

// Completion callbacks of libedit receive no user data, so the state has to be static.
static lua_State *completing;

// Pushes what `path` ("world.bodies", length bytes; empty: the globals) names, without running any
// code of the script. False, with nothing pushed, when there is no such thing.
static bool push_named(lua_State *L, const char *path, size_t length) {
  lua_pushglobaltable(L);
  const char *end = path + length;
  while (path < end) {
    size_t part = strcspn(path, ".:");
    part = part < (size_t)(end - path) ? part : (size_t)(end - path);
    if (!lua_istable(L, -1)) {
      lua_pop(L, 1);
      return false;
    }
    lua_pushlstring(L, path, part);
    lua_rawget(L, -2);
    lua_remove(L, -2);
    path += part + (path + part < end);
  }
  return true;
}

// Appends the string keys of the table on top that start with `word` to the list at `list`.
static void add_keys(lua_State *L, int list, const char *word) {
  for (lua_pushnil(L); lua_next(L, -2) != 0; lua_pop(L, 1)) {
    // `false` stands for what is not built yet
    if (lua_type(L, -2) == LUA_TSTRING && (!lua_isboolean(L, -1) || lua_toboolean(L, -1))) {
      const char *key = lua_tostring(L, -2);
      bool is_private = key[0] == '_' && word[0] != '_';
      if (strncmp(key, word, strlen(word)) == 0 && !is_private) {
        lua_pushvalue(L, -2);
        lua_rawseti(L, list, (lua_Integer)lua_rawlen(L, list) + 1);
      }
    }
  }
}

// Leaves a sorted list of completions of `text`, whole words, on the stack.
static void list_completions(lua_State *L, const char *text) {
  // The word that is to be completed starts behind the last point.
  const char *word = text + strlen(text);
  while (word > text && word[-1] != '.' && word[-1] != ':') {
    word--;
  }
  lua_newtable(L);
  int list = lua_gettop(L);
  // Names in the table before it, and in what its objects are looked up in.
  if (push_named(L, text, word > text ? (size_t)(word - text) - 1 : 0)) {
    if (lua_istable(L, -1)) {
      add_keys(L, list, word);
    }
    int index = luaL_getmetafield(L, -1, "__index");
    // Our objects look fields up in a table that is the first upvalue of a C function.
    if (index == LUA_TFUNCTION && lua_iscfunction(L, -1) && lua_getupvalue(L, -1, 1) != NULL) {
      index = lua_type(L, -1);
    }
    if (index == LUA_TTABLE) {
      add_keys(L, list, word);
    }
  }
  // Completions are whole words.
  lua_settop(L, list);
  for (lua_Integer i = 1; lua_rawgeti(L, list, i) != LUA_TNIL; i++) {
    lua_pushlstring(L, text, (size_t)(word - text));
    lua_insert(L, -2);
    lua_concat(L, 2);
    lua_rawseti(L, list, i);
  }
  // Sorted, if the script has left table.sort in place.
  lua_settop(L, list);
  lua_getglobal(L, "table");
  if (lua_istable(L, -1) && lua_getfield(L, -1, "sort") == LUA_TFUNCTION) {
    lua_pushvalue(L, list);
    lua_pcall(L, 1, 0, 0);
  }
  lua_settop(L, list);
}

// Called by libedit with state 0, 1, 2 ...: returns the next completion, to be freed by libedit.
static char *next_completion(const char *text, int state) {
  lua_State *L = completing;
  int top = lua_gettop(L);
  list_completions(L, text);
  char *found = NULL;
  if (lua_rawgeti(L, -1, state + 1) == LUA_TSTRING) {
    found = strdup(lua_tostring(L, -1));
  }
  lua_settop(L, top);
  return found;
}

static char **repl_complete(const char *text, int start, int end) {
  (void)start;
  (void)end;
  rl_attempted_completion_over = 1; // never file names
  return rl_completion_matches(text, next_completion);
}

// Makes every folder of the path of a file.
static void make_folders(char *path) {
  for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    mkdir(path, 0700);
    *slash = '/';
  }
}

// $XDG_STATE_HOME/sim2d/history, by default ~/.local/state/sim2d/history. Empty: no place for it.
static void history_path(char path[PATH_SIZE]) {
  const char *state = getenv("XDG_STATE_HOME");
  const char *home = getenv("HOME");
  int length = 0;
  if (state != NULL && state[0] == '/') {
    length = snprintf(path, PATH_SIZE, "%s/sim2d/history", state);
  } else if (home != NULL && home[0] == '/') {
    length = snprintf(path, PATH_SIZE, "%s/.local/state/sim2d/history", home);
  }
  if (length <= 0 || length >= PATH_SIZE) {
    path[0] = '\0';
  }
}

static void editing_begin(lua_State *L, char history[PATH_SIZE]) {
  completing = L;
  rl_readline_name = "sim2d";
  rl_initialize();
  rl_catch_signals = 1; // Ctrl-C gives the terminal back before we see it
  rl_attempted_completion_function = repl_complete;
  rl_completer_word_break_characters = " \t\n\"'`@$><=;|&{([,+-*/%^~#";
  rl_completion_append_character = '\0';
  history_path(history);
  if (history[0] != '\0') {
    make_folders(history);
    read_history(history); // may not be there yet
  }
  stifle_history(HISTORY_LINES);
}

static void editing_end(const char *history) {
  if (history[0] != '\0') {
    write_history(history); // losing it is no reason to fail
  }
  completing = NULL;
}

static bool read_edited(lua_State *L, const char *prompt) {
  char *line = readline(prompt);
  if (line == NULL) {
    putchar('\n');
    return false;
  }
  if (line[0] != '\0') {
    add_history(line);
  }
  lua_pushstring(L, line);
  free(line);
  return true;
}

#endif

// Pushes the next line. False, with nothing pushed, at the end of the input or on Ctrl-C.
static bool repl_read_line(lua_State *L, bool terminal, const char *prompt) {
  if (terminal) {
#ifdef S2_HAVE_EDIT
    return read_edited(L, prompt);
#else
    fputs(prompt, stdout);
    fflush(stdout);
#endif
  }
  (void)prompt;
  return repl_read_plain(L);
}

// ---- Running them -----------------------------------------------------------------------------

// A chunk that ends too early is one the user has not finished typing.
static bool is_incomplete(lua_State *L, int status) {
  static const char END[] = "<eof>";
  size_t length = 0;
  if (status != LUA_ERRSYNTAX) {
    return false;
  }
  const char *message = lua_tolstring(L, -1, &length);
  return length >= sizeof END - 1 && strcmp(message + length - (sizeof END - 1), END) == 0;
}

// Loads the text on top of the stack as an expression or else as a statement. Leaves the chunk or
// the message above it; the message of a text that could go on is the one that says so.
static int repl_load_text(lua_State *L) {
  int text = lua_gettop(L);
  lua_pushfstring(L, "return %s", lua_tostring(L, text));
  int status = luaL_loadbuffer(L, lua_tostring(L, -1), lua_rawlen(L, -1), "=stdin");
  lua_remove(L, -2);
  if (status == LUA_OK) {
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

// Reads lines until they make a chunk. Leaves the chunk, or the message, with its load status in
// *status. False at the end of the input or on Ctrl-C.
static bool repl_read_chunk(lua_State *L, bool terminal, int *status) {
  if (!repl_read_line(L, terminal, PROMPT)) {
    return false;
  }
  for (;;) { // the text so far is on top
    *status = repl_load_text(L);
    if (!is_incomplete(L, *status) || !repl_read_line(L, terminal, PROMPT_MORE)) {
      lua_remove(L, -2);
      return *s2_script_interrupted() == 0;
    }
    lua_remove(L, -2); // the message
    lua_pushliteral(L, "\n");
    lua_insert(L, -2);
    lua_concat(L, 3);
  }
}

// Prints the values above `base` as print does, whatever became of the global print.
static int print_values(lua_State *L) {
  int count = lua_gettop(L);
  for (int i = 1; i <= count; i++) {
    size_t length = 0;
    const char *text = luaL_tolstring(L, i, &length);
    if (i > 1) {
      putchar('\t');
    }
    fwrite(text, 1, length, stdout);
    lua_pop(L, 1);
  }
  putchar('\n');
  fflush(stdout);
  return 0;
}

static void run_lines(lua_State *L, bool terminal) {
  int base = lua_gettop(L);
  int status = LUA_OK;
  while (repl_read_chunk(L, terminal, &status)) {
    if (status == LUA_OK) {
      status = s2_script_call(L, 0, LUA_MULTRET);
    }
    // What it returned is printed.
    int values = lua_gettop(L) - base;
    if (status == LUA_OK && values > 0) {
      luaL_checkstack(L, LUA_MINSTACK, "too many results");
      lua_pushcfunction(L, print_values);
      lua_insert(L, base + 1);
      status = s2_script_call(L, values, 0);
    }
    if (status != LUA_OK) {
      s2_script_report(L);
    }
    lua_settop(L, base);
    if (*s2_script_interrupted() == SIGINT) { // Ctrl-C ended that line only
      s2_script_watch();
    } else if (*s2_script_interrupted() != 0) {
      break;
    }
  }
  lua_settop(L, base);
}

void s2_repl_run(lua_State *L) {
  bool terminal = isatty(STDIN_FILENO) == 1;
  // `sim` is at hand.
  lua_getglobal(L, "require");
  lua_pushliteral(L, "sim2d");
  lua_call(L, 1, 1);
  lua_setglobal(L, "sim");
  if (!terminal) {
    run_lines(L, false);
    return;
  }
  printf("sim2d %s, Lua %s.%s. `sim` is require \"sim2d\"; Ctrl-D ends.\n", s2_version(),
         LUA_VERSION_MAJOR, LUA_VERSION_MINOR);
#ifdef S2_HAVE_EDIT
  char history[PATH_SIZE];
  editing_begin(L, history);
  run_lines(L, true);
  editing_end(history);
#else
  run_lines(L, true);
#endif
}
