// A canvas for modules written in Lua (core/record/draw/canvas.h).
#ifndef S2_LUA_CANVAS_H
#define S2_LUA_CANVAS_H

#include <lua.h>

// canvas(width, height, scale) -> canvas, or nil and a message. Its methods:
//   canvas:clip(x, y, width, height), canvas:unclip()
//   canvas:line({x, y, x, y, ...}, closed), canvas:disc(x, y, radius): add to the path
//   canvas:paint(fill, stroke, width, {dash, gap, ...} or nil): draws the path
//   canvas:text(text, x, y, degrees, size, bold, align (0 left, 1 centre, 2 right), fill, halo,
//   width)
//   canvas:save(path) -> true, or nil and a message
int s2_lua_canvas(lua_State *L);
// color(text) -> 0xRRGGBBAA, or nil and a complaint.
int s2_lua_color(lua_State *L);

#endif
