#include "lua/base/traceback.h"

#include "lua/base/embedded.h"

#include <lauxlib.h>
#include <stdbool.h>
#include <string.h>

enum {
  FRAMES_FIRST = 10, // innermost frames shown of a deep recursion, as in stock lua
  FRAMES_LAST = 11,  // outermost frames shown of a deep recursion
};

static const char TITLE[] = "\nstack traceback:";

// Show only frames with a script line. Frames of C functions and of the library do not help the
// author of the script.
static bool is_shown(lua_State *L, lua_Debug *frame) {
  lua_getinfo(L, "S", frame);
  return strcmp(frame->what, "C") != 0 && strcmp(frame->source, S2_EMBEDDED_CHUNK) != 0;
}

static void add_frame(lua_State *L, luaL_Buffer *text, lua_Debug *frame) {
  // The format is the same as in stock lua.
  lua_getinfo(L, "Slnt", frame);
  lua_pushfstring(L, "\n\t%s:%d: in ", frame->short_src, frame->currentline);
  luaL_addvalue(text);
  if (strcmp(frame->what, "main") == 0) {
    luaL_addstring(text, "main chunk");
  } else if (frame->name != NULL) {
    lua_pushfstring(L, "%s '%s'", *frame->namewhat != '\0' ? frame->namewhat : "function",
                    frame->name);
    luaL_addvalue(text);
  } else {
    lua_pushfstring(L, "function <%s:%d>", frame->short_src, frame->linedefined);
    luaL_addvalue(text);
  }
  if (frame->istailcall) {
    luaL_addstring(text, "\n\t(...tail calls...)");
  }
}

// Returns the outermost level. lua_getstack takes time in proportion to the level, so a stack
// overflow of 10^5 frames must not be walked frame by frame.
static int outermost_level(lua_State *L) {
  lua_Debug frame;
  // Doubling finds a level that does not exist. Then bisection finds the last level that exists.
  int inside = 1, outside = 1;
  while (lua_getstack(L, outside, &frame)) {
    inside = outside;
    outside *= 2;
  }
  while (outside - inside > 1) {
    int middle = inside + (outside - inside) / 2;
    if (lua_getstack(L, middle, &frame)) {
      inside = middle;
    } else {
      outside = middle;
    }
  }
  return inside;
}

static void add_traceback(lua_State *L, luaL_Buffer *text) {
  // Print the innermost frames.
  lua_Debug frame;
  int last[FRAMES_LAST]; // levels, outermost first
  int first_count = 0, last_count = 0;
  int outermost = outermost_level(L);
  int level = 1;
  for (; level <= outermost && first_count < FRAMES_FIRST; level++) {
    if (lua_getstack(L, level, &frame) && is_shown(L, &frame)) {
      if (first_count == 0) {
        luaL_addstring(text, TITLE);
      }
      add_frame(L, text, &frame);
      first_count++;
    }
  }
  // Collect the outermost frames from the outside in, then print them in the usual order.
  int at = outermost;
  for (; at >= level && last_count < FRAMES_LAST; at--) {
    if (lua_getstack(L, at, &frame) && is_shown(L, &frame)) {
      last[last_count++] = at;
    }
  }
  // Some frames in between are omitted.
  if (at >= level) {
    luaL_addstring(text, "\n\t...");
  }
  for (int i = last_count - 1; i >= 0; i--) {
    lua_getstack(L, last[i], &frame);
    add_frame(L, text, &frame);
  }
}

const char *s2_traceback_message(lua_State *L, int index) {
  // Any error value becomes text.
  if (lua_type(L, index) == LUA_TSTRING || lua_type(L, index) == LUA_TNUMBER) {
    return luaL_tolstring(L, index, NULL);
  }
  if (luaL_getmetafield(L, index, "__tostring") == LUA_TNIL) {
    return lua_pushfstring(L, "(error object is a %s value)", luaL_typename(L, index));
  }
  lua_pop(L, 1);
  return luaL_tolstring(L, index, NULL);
}

int s2_traceback_handler(lua_State *L) {
  const char *message = s2_traceback_message(L, 1);
  // The message already contains a traceback if it has passed through a handler.
  if (strstr(message, TITLE) != NULL) {
    return 1;
  }
  luaL_Buffer text;
  luaL_buffinit(L, &text);
  luaL_addstring(&text, message);
  add_traceback(L, &text);
  luaL_pushresult(&text);
  return 1;
}
