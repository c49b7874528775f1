// Options of pictures, videos and recordings as Lua tables.
#ifndef S2_LUA_DRAWING_H
#define S2_LUA_DRAWING_H

#include "lua/world/binding.h"

#include "record/record.h"

extern const char *const s2_lua_draw_keys[];   // of world:draw
extern const char *const s2_lua_record_keys[]; // more, of world:record

void s2_lua_draw_options(const S2Keys *keys, const S2LuaWorld *lw, S2DrawOptions *options);
// Lists in the options live as long as the stack stays as it is. Keys that say nothing to the
// format of `path` raise.
void s2_lua_record_options(const S2Keys *keys, const S2LuaWorld *lw, const char *path,
                           S2RecordOptions *options);

#endif
