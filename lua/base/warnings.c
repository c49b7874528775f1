// Without a handler, warnings go to stderr. Each world prints the first warning of each kind, and
// at the end the number of further ones. Only the first few worlds print warnings of a given kind,
// because scripts that learn or search create very many worlds.
#include "lua/world/binding.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

// Skips a leading "FILE:LINE: ".
static const char *skip_position(const char *message) {
  for (const char *at = message; (at = strchr(at, ':')) != NULL; at++) {
    size_t digits = strspn(at + 1, "0123456789");
    if (digits > 0 && strncmp(at + 1 + digits, ": ", 2) == 0) {
      return at + 1 + digits + 2;
    }
  }
  return message;
}

// Finds the kind of a message: its first letters outside quotes and numbers.
static void find_kind(const char *message, char kind[S2_LUA_KIND]) {
  message = skip_position(message);
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

// Returns the number of worlds (or calls) that have reported this kind, including the present one.
// If all slots are in use, further kinds share the last slot.
static int count_worlds(S2LuaSession *session, const char kind[S2_LUA_KIND]) {
  int i = 0;
  while (i < S2_LUA_KINDS - 1 && session->warned[i].worlds > 0 &&
         strcmp(session->warned[i].kind, kind) != 0) {
    i++;
  }
  S2LuaWarned *warned = &session->warned[i];
  memcpy(warned->kind, kind, S2_LUA_KIND);
  warned->worlds += warned->worlds <= S2_LUA_WARN_WORLDS;
  return warned->worlds;
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
  int worlds = count_worlds(lw->session, kind);
  *warning = (S2LuaWarning){.quiet = worlds > S2_LUA_WARN_WORLDS};
  memcpy(warning->kind, kind, sizeof kind);
  snprintf(warning->message, sizeof warning->message, "%s", message);
  if (!warning->quiet) {
    fprintf(stderr, "sim2d: warning: %s%s\n", message,
            worlds < S2_LUA_WARN_WORLDS ? "" : " (further worlds do not repeat this warning)");
  }
}

// Prints a warning that belongs to no world. Each call counts as one world.
void s2_lua_warn_call(lua_State *L, const char *message) {
  char kind[S2_LUA_KIND];
  find_kind(message, kind);
  int calls = count_worlds(s2_lua_session(L), kind);
  if (calls <= S2_LUA_WARN_CALLS) {
    fprintf(stderr, "sim2d: warning: %s%s\n", message,
            calls < S2_LUA_WARN_CALLS ? "" : " (further calls do not repeat this warning)");
  }
}

void s2_lua_warnings_close(S2LuaWorld *lw) {
  for (int i = 0; i < lw->warnings.count; i++) {
    const S2LuaWarning *warning = &lw->warnings.at[i];
    if (warning->held_back > 0 && !warning->quiet) {
      fprintf(stderr, "sim2d: warning: %llu more like this: %s\n",
              (unsigned long long)warning->held_back, warning->message);
    }
  }
  s2_array_free(lw->warnings);
}
