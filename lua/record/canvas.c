#include "lua/record/canvas.h"

#include "lua/base/values.h"
#include "lua/world/binding.h"
#include "record/draw/canvas.h"

#include <lauxlib.h>

static const char CANVAS[] = "sim2d.canvas";

enum { MOST_DASHES = 8 };

static S2Canvas *canvas_check(lua_State *L) {
  return *(S2Canvas **)luaL_checkudata(L, 1, CANVAS);
}

static int canvas_answer(lua_State *L, S2Status status) {
  if (status.code != S2_OK) {
    lua_pushnil(L);
    lua_pushstring(L, status.message);
    return 2;
  }
  lua_pushboolean(L, 1);
  return 1;
}

static int canvas_gc(lua_State *L) {
  S2Canvas **canvas = luaL_checkudata(L, 1, CANVAS);
  s2_canvas_free(*canvas);
  *canvas = NULL;
  return 0;
}

static int canvas_clip(lua_State *L) {
  s2_canvas_clip(canvas_check(L), luaL_checknumber(L, 2), luaL_checknumber(L, 3),
                 luaL_checknumber(L, 4), luaL_checknumber(L, 5));
  return 0;
}

static int canvas_unclip(lua_State *L) {
  s2_canvas_unclip(canvas_check(L));
  return 0;
}

// Returns the numbers of the list at `index`, in memory that Lua owns.
static double *canvas_read_list(lua_State *L, int index, int *count) {
  luaL_checktype(L, index, LUA_TTABLE);
  *count = (int)luaL_len(L, index);
  double *list = lua_newuserdatauv(L, sizeof *list * ((size_t)*count + 1), 0);
  for (int i = 0; i < *count; i++) {
    lua_rawgeti(L, index, i + 1);
    list[i] = luaL_checknumber(L, -1);
    lua_pop(L, 1);
  }
  return list;
}

static int canvas_line(lua_State *L) {
  int count;
  const double *xy = canvas_read_list(L, 2, &count);
  s2_canvas_line(canvas_check(L), xy, count / 2, lua_toboolean(L, 3) != 0);
  return 0;
}

static int canvas_disc(lua_State *L) {
  s2_canvas_disc(canvas_check(L), luaL_checknumber(L, 2), luaL_checknumber(L, 3),
                 luaL_checknumber(L, 4));
  return 0;
}

static int canvas_paint(lua_State *L) {
  S2CanvasPaint paint = {.fill = (uint32_t)luaL_checkinteger(L, 2),
                         .stroke = (uint32_t)luaL_checkinteger(L, 3),
                         .width = luaL_checknumber(L, 4)};
  if (!lua_isnoneornil(L, 5)) {
    paint.dash = canvas_read_list(L, 5, &paint.dash_count);
    luaL_argcheck(L, paint.dash_count <= MOST_DASHES, 5, "too many dashes");
  }
  s2_canvas_paint(canvas_check(L), &paint);
  return 0;
}

static int canvas_text(lua_State *L) {
  const S2CanvasText how = {.x = luaL_checknumber(L, 3),
                            .y = luaL_checknumber(L, 4),
                            .degrees = luaL_checknumber(L, 5),
                            .size = luaL_checknumber(L, 6),
                            .bold = lua_toboolean(L, 7) != 0,
                            .align = (S2TextAlign)luaL_checkinteger(L, 8),
                            .fill = (uint32_t)luaL_checkinteger(L, 9),
                            .halo = (uint32_t)luaL_checkinteger(L, 10),
                            .halo_width = luaL_checknumber(L, 11)};
  s2_canvas_text(canvas_check(L), &how, luaL_checkstring(L, 2));
  return 0;
}

static int canvas_save(lua_State *L) {
  return canvas_answer(L, s2_canvas_save(canvas_check(L), luaL_checkstring(L, 2)));
}

int s2_lua_canvas(lua_State *L) {
  double width = luaL_checknumber(L, 1), height = luaL_checknumber(L, 2);
  double scale = luaL_checknumber(L, 3);
  // Create the userdata before the canvas, so that the canvas is freed even after an error.
  S2Canvas **canvas = lua_newuserdatauv(L, sizeof(S2Canvas *), 0);
  *canvas = NULL;
  if (luaL_newmetatable(L, CANVAS) != 0) {
    static const luaL_Reg methods[] = {{"clip", canvas_clip},   {"unclip", canvas_unclip},
                                       {"line", canvas_line},   {"disc", canvas_disc},
                                       {"paint", canvas_paint}, {"text", canvas_text},
                                       {"save", canvas_save},   {NULL, NULL}};
    lua_pushcfunction(L, canvas_gc);
    lua_setfield(L, -2, "__gc");
    luaL_newlib(L, methods);
    lua_setfield(L, -2, "__index");
  }
  lua_setmetatable(L, -2);
  S2Status status = s2_canvas_open(canvas, S2_CANVAS_PLOT, width, height, scale);
  if (status.code != S2_OK) {
    return canvas_answer(L, status);
  }
  return 1;
}

int s2_lua_color(lua_State *L) {
  uint32_t color = 0;
  S2Complaint complaint;
  if (!s2_value_color(L, 1, &color, &complaint)) {
    lua_pushnil(L);
    lua_pushstring(L, complaint.text);
    return 2;
  }
  lua_pushinteger(L, color);
  return 1;
}
