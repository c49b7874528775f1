#include "lua/command/misplaced.h"

#include "lua/command/command_line.h"

#include <ctype.h>
#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

static bool misplaced_in_name(char c) {
  return isalnum((unsigned char)c) || c == '_';
}

// Finds the next occurrence of a name as a whole word in a text, or NULL.
static const char *find_name(const char *text, const char *name) {
  size_t length = strlen(name);
  for (const char *at = text; (at = strstr(at, name)) != NULL; at += length) {
    if ((at == text || !misplaced_in_name(at[-1])) && !misplaced_in_name(at[length])) {
      return at;
    }
  }
  return NULL;
}

// True if the text loads other files, which may read the arguments. Loading sim2d does not count,
// because the library does not read them.
static bool loads_others(const char *text) {
  if (find_name(text, "dofile") != NULL || find_name(text, "loadfile") != NULL) {
    return true;
  }
  static const char *const library[] = {"sim2d\"", "sim2d'", "sim2d]"};
  for (const char *at = text; (at = find_name(at, "require")) != NULL;) {
    at += strlen("require");
    const char *name = at + strspn(at, " (\"'[");
    bool own = false;
    for (size_t i = 0; i < sizeof library / sizeof library[0]; i++) {
      own |= strncmp(name, library[i], strlen(library[i])) == 0;
    }
    if (!own) {
      return true;
    }
  }
  return false;
}

// True if the main function uses `...`. Lua refuses `...` in a function without varargs, so the
// text is compiled as the body of such a function.
static bool uses_dots(lua_State *L, const char *text) {
  if (strstr(text, "...") == NULL) {
    return false;
  }
  lua_pushfstring(L, "return function() %s\nend", text);
  bool uses = luaL_loadstring(L, lua_tostring(L, -1)) != LUA_OK;
  lua_pop(L, 2);
  return uses;
}

// Pushes the text of a file, without the first line if it starts with #. Returns false if the file
// cannot be read or is a compiled chunk.
static bool push_text(lua_State *L, const char *path) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) {
    return false;
  }
  luaL_Buffer buffer;
  luaL_buffinit(L, &buffer);
  char bytes[4096];
  size_t got;
  while ((got = fread(bytes, 1, sizeof bytes, file)) > 0) {
    luaL_addlstring(&buffer, bytes, got);
  }
  fclose(file);
  luaL_pushresult(&buffer);
  const char *text = lua_tostring(L, -1);
  if (*text == LUA_SIGNATURE[0]) { // the file is a compiled chunk
    lua_pop(L, 1);
    return false;
  }
  const char *start = *text == '#' ? text + strcspn(text, "\n") : text;
  lua_pushstring(L, start);
  lua_remove(L, -2);
  return true;
}

static bool reads_words(lua_State *L, const char *path) {
  if (!push_text(L, path)) {
    return true;
  }
  const char *text = lua_tostring(L, -1);
  bool reads = find_name(text, "arg") != NULL || find_name(text, "options") != NULL ||
               loads_others(text) || uses_dots(L, text);
  lua_pop(L, 1);
  return reads;
}

// The index of the first option of the command after the script, or argc if there is none.
static int misplaced_find(int argc, char **argv, int script) {
  for (int i = script + 1; i < argc; i++) {
    if (strcmp(argv[i], "--") == 0) {
      return argc;
    }
    if (s2_command_line_option_words(argv[i]) > 0) {
      return i;
    }
  }
  return argc;
}

S2Status s2_misplaced_check(lua_State *L, int argc, char **argv, int script) {
  int at = misplaced_find(argc, argv, script);
  if (at == argc || reads_words(L, argv[script])) {
    return s2_ok();
  }
  // Show the corrected order of words. The message truncates a long command line.
  char meant[S2_MESSAGE_SIZE] = "";
  int count = s2_command_line_option_words(argv[at]);
  for (int i = at; i < at + count && i < argc; i++) {
    size_t used = strlen(meant);
    snprintf(meant + used, sizeof meant - used, " %.60s", argv[i]);
  }
  return s2_error(S2_INVALID,
                  "'%.40s' comes after the script, which reads no arguments; put it before:  "
                  "sim2d%.80s %.80s",
                  argv[at], meant, argv[script]);
}
