#include "lua/command/repl_line.h"

#include "lua/command/prompt/prompt.h"
#include "lua/command/script.h"

#include <errno.h>
#include <langinfo.h>
#include <lauxlib.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifdef S2_HAVE_EDIT
#include <editline/readline.h>
#endif

// ---- Plain lines ------------------------------------------------------------------------------

// Handles Ctrl-C at the prompt, and installs the signal handler again.
static bool line_cleared(void) {
  if (*s2_script_interrupted() != SIGINT) {
    return false;
  }
  s2_script_watch();
  return true;
}

// Pushes a line of any length without its line end.
static S2Line line_read_plain(lua_State *L, bool terminal) {
  errno = 0;
  int c = getchar();
  if (c == EOF) {
    clearerr(stdin);
    if (terminal && line_cleared()) { // the terminal has discarded the typed text
      putchar('\n');
      return S2_LINE_CLEARED;
    }
    return S2_LINE_ENDED;
  }
  luaL_Buffer line;
  luaL_buffinit(L, &line);
  for (; c != EOF && c != '\n'; c = getchar()) {
    luaL_addchar(&line, (char)c);
  }
  luaL_pushresult(&line);
  return S2_LINE_READ;
}

#ifdef S2_HAVE_EDIT

// ---- Completion -------------------------------------------------------------------------------

enum {
  HISTORY_LINES = 1000,   // lines kept in the history file
  PATH_SIZE = 4096,       // bytes; a longer path disables the history
  LOOK_AGAIN = 100000000, // ns
};

// Callbacks of libedit receive no user data, so their state has to be static.
static lua_State *completing;
static const char *typed;  // earlier lines of the chunk
static int word_start;     // start of the word to complete in the current line
static bool cleared;       // after Ctrl-C: discard the line that readline returns
static char *history_file; // NULL if there is no history file.

// Pushes the value with the given path, such as "world.bodies", without running script code.
// `length` is in bytes. An empty path names the table of globals. Returns false and pushes no value
// if there is no such value.
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

// Looks at the table on top of the stack. Appends its string keys that start with `word` to the
// list at index `list`.
static void add_keys(lua_State *L, int list, const char *word) {
  for (lua_pushnil(L); lua_next(L, -2) != 0; lua_pop(L, 1)) {
    // `false` marks names that are not implemented yet
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

// Pushes a sorted list of completions of `text`, as whole words. Where a key is expected, the
// completions are keys, otherwise names.
static void list_completions(lua_State *L, const char *text) {
  lua_pushfstring(L, "%s\n", typed != NULL ? typed : "");
  lua_pushlstring(L, rl_line_buffer, (size_t)word_start);
  lua_concat(L, 2);
  if (s2_prompt_keys(L, lua_tostring(L, -1), text)) {
    return;
  }
  // The completed word starts after the last point.
  const char *word = text + strlen(text);
  while (word > text && word[-1] != '.' && word[-1] != ':') {
    word--;
  }
  lua_newtable(L);
  int list = lua_gettop(L);
  // Add names in the table before the point, and names that its metatable provides.
  if (push_named(L, text, word > text ? (size_t)(word - text) - 1 : 0)) {
    if (lua_istable(L, -1)) {
      add_keys(L, list, word);
    }
    int index = luaL_getmetafield(L, -1, "__index");
    // The __index of sim2d objects is a C function whose first upvalue is the table of names.
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
  // Sort with table.sort, unless the script has replaced it.
  lua_settop(L, list);
  lua_getglobal(L, "table");
  if (lua_istable(L, -1) && lua_getfield(L, -1, "sort") == LUA_TFUNCTION) {
    lua_pushvalue(L, list);
    lua_pcall(L, 1, 0, 0);
  }
  lua_settop(L, list);
}

// libedit calls this function with state 0, 1, 2 ... It returns the next completion, which libedit
// frees.
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
  (void)end;
  word_start = start;
  rl_attempted_completion_over = 1; // do not complete file names
  return rl_completion_matches(text, next_completion);
}

// ---- History ----------------------------------------------------------------------------------

// Creates all folders in the path of a file.
static void make_folders(char *path) {
  for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    mkdir(path, 0700);
    *slash = '/';
  }
}

// $XDG_STATE_HOME/sim2d/prompt_history, by default ~/.local/state/sim2d/prompt_history. The path is
// empty if neither folder is known.
static void history_path(char path[PATH_SIZE]) {
  const char *state = getenv("XDG_STATE_HOME");
  const char *home = getenv("HOME");
  int length = 0;
  if (state != NULL && state[0] == '/') {
    length = snprintf(path, PATH_SIZE, "%s/sim2d/prompt_history", state);
  } else if (home != NULL && home[0] == '/') {
    length = snprintf(path, PATH_SIZE, "%s/.local/state/sim2d/prompt_history", home);
  }
  if (length <= 0 || length >= PATH_SIZE) {
    path[0] = '\0';
  }
}

// Appends each line to the file as soon as it is typed. Lines survive a crash, and concurrent
// sessions do not overwrite each other's lines.
static void line_remember(const char *line) {
  const HIST_ENTRY *last =
      history_length > 0 ? history_get(history_base + history_length - 1) : NULL;
  if (line[0] == '\0' || (last != NULL && strcmp(last->line, line) == 0)) {
    return;
  }
  add_history(line);
  FILE *file = history_file != NULL ? fopen(history_file, "a") : NULL;
  if (file != NULL) { // a lost line is not an error
    fprintf(file, "%s\n", line);
    fclose(file);
  }
}

// Reads the lines of the history file. If the file is long, keeps only the last lines.
static void history_load(void) {
  FILE *file = fopen(history_file, "r");
  char *line = NULL;
  size_t size = 0;
  int count = 0;
  // Read all lines, the oldest first.
  while (file != NULL && getline(&line, &size, file) > 0) {
    line[strcspn(line, "\n")] = '\0';
    if (line[0] != '\0') {
      add_history(line);
      count++;
    }
  }
  free(line);
  if (file != NULL) {
    fclose(file);
  }
  stifle_history(HISTORY_LINES);
  // Rewrite the file when it has more than twice the number of lines to keep.
  file = count > 2 * HISTORY_LINES ? fopen(history_file, "w") : NULL;
  for (int i = 0; file != NULL && i < history_length; i++) {
    const HIST_ENTRY *entry = history_get(history_base + i);
    if (entry != NULL) {
      fprintf(file, "%s\n", entry->line);
    }
  }
  if (file != NULL) {
    fclose(file);
  }
}

// ---- Editing ----------------------------------------------------------------------------------

// Waits for input. Returns false if a signal must be handled first. Signals are unblocked only
// during the wait, so that none arrives between checking the flag and waiting.
static bool line_waits(int file) {
  sigset_t ours, before;
  sigemptyset(&ours);
  sigaddset(&ours, SIGINT);
  sigaddset(&ours, SIGTERM);
  sigaddset(&ours, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &ours, &before);
  bool ready = false;
  while (!ready && *s2_script_interrupted() == 0) {
    fd_set files;
    FD_ZERO(&files);
    FD_SET(file, &files);
    struct timespec look = {.tv_nsec = LOOK_AGAIN}; // another thread may have received the signal
    int got = pselect(file + 1, &files, NULL, NULL, &look, &before);
    ready = got > 0 || (got < 0 && errno != EINTR);
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return ready;
}

// Reads the next byte from the terminal. Returns -1 at the end of the input. Ctrl-C ends the line,
// which is then discarded.
static int line_byte(FILE *file) {
  unsigned char byte;
  if (line_waits(fileno(file))) {
    return read(fileno(file), &byte, 1) == 1 ? byte : -1;
  }
  cleared = line_cleared();
  return cleared ? '\n' : -1;
}

// libedit calls this function to read the next character, which may be wide.
static int line_character(FILE *file) {
  int first = line_byte(file);
  int more = first < 0xc0 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
  int code = more == 0 ? first : first & (0x3f >> more);
  for (int i = 0; i < more && !cleared; i++) {
    int next = line_byte(file);
    if (next < 0) {
      return next;
    }
    code = code << 6 | (next & 0x3f);
  }
  return cleared ? '\n' : code;
}

void s2_repl_line_begin(lua_State *L) {
  completing = L;
  rl_readline_name = "sim2d";
  rl_getc_function = line_character;
  rl_catch_signals = 0; // This file handles Ctrl-C.
  // Letters beyond ASCII need a UTF-8 locale.
  if (setlocale(LC_CTYPE, "") == NULL || strcmp(nl_langinfo(CODESET), "UTF-8") != 0) {
    (void)setlocale(LC_CTYPE, "C.UTF-8");
  }
  rl_initialize();
  rl_attempted_completion_function = repl_complete;
  rl_completer_word_break_characters = " \t\n\"'`@$><=;|&{([,+-*/%^~#";
  rl_completion_append_character = '\0';
  // Load lines of earlier sessions. A long file is shortened.
  static char path[PATH_SIZE];
  history_path(path);
  history_file = path[0] != '\0' ? path : NULL;
  if (history_file != NULL) {
    make_folders(path);
    history_load();
  }
}

void s2_repl_line_end(void) {
  completing = NULL;
}

static S2Line line_read_edited(lua_State *L, const char *prompt, const char *so_far) {
  typed = so_far;
  cleared = false;
  // Prepare the terminal before the prompt is printed. Otherwise a Ctrl-D typed in between would be
  // lost.
  rl_prep_terminal(1);
  char *line = readline(prompt);
  typed = NULL;
  if (cleared) {
    free(line);
    return S2_LINE_CLEARED;
  }
  if (line == NULL) {
    putchar('\n');
    return S2_LINE_ENDED;
  }
  line_remember(line);
  lua_pushstring(L, line);
  free(line);
  return S2_LINE_READ;
}

#else

void s2_repl_line_begin(lua_State *L) {
  (void)L;
}

void s2_repl_line_end(void) {}

#endif

S2Line s2_repl_line_read(lua_State *L, bool terminal, const char *prompt, const char *so_far) {
  if (terminal) {
#ifdef S2_HAVE_EDIT
    return line_read_edited(L, prompt, so_far);
#else
    fputs(prompt, stdout);
    fflush(stdout);
#endif
  }
  (void)prompt;
  (void)so_far;
  return line_read_plain(L, terminal);
}
