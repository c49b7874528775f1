// Warnings nobody handles go to stderr: the first of each kind, and at the end how many followed.
#include "binding.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

// The first letters outside quotes and numbers: what a message of one kind has in common.
static void find_kind(const char *message, char kind[S2_LUA_KIND]) {
  int length = 0;
  bool quoted = false;
  char before = ' ';
  for (; *message != '\0' && length < S2_LUA_KIND - 1; before = *message++) {
    if (*message == '\'') {
      quoted = !quoted;
    } else if (!quoted && isalpha((unsigned char)*message) && !isdigit((unsigned char)before)) {
      kind[length++] = *message;
    }
  }
  kind[length] = '\0';
}

void s2_lua_warn(S2LuaWorld *lw, const char *message) {
  char kind[S2_LUA_KIND];
  find_kind(message, kind);
  for (int i = 0; i < lw->warnings.count; i++) {
    if (strcmp(lw->warnings.at[i].kind, kind) == 0) {
      lw->warnings.at[i].held_back++;
      return;
    }
  }
  S2LuaWarning *warning = s2_array_append(lw->warnings);
  *warning = (S2LuaWarning){.held_back = 0};
  memcpy(warning->kind, kind, sizeof kind);
  snprintf(warning->message, sizeof warning->message, "%s", message);
  fprintf(stderr, "sim2d: warning: %s\n", message);
}

void s2_lua_warnings_close(S2LuaWorld *lw) {
  for (int i = 0; i < lw->warnings.count; i++) {
    const S2LuaWarning *warning = &lw->warnings.at[i];
    if (warning->held_back > 0) {
      fprintf(stderr, "sim2d: warning: %llu more like: %s\n",
              (unsigned long long)warning->held_back, warning->message);
    }
  }
  s2_array_free(lw->warnings);
}
