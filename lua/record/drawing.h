// Reads options of pictures, videos and recordings from Lua tables.
#ifndef S2_LUA_DRAWING_H
#define S2_LUA_DRAWING_H

#include "lua/world/binding.h"

#include "record/record.h"

extern const char *const s2_lua_draw_keys[];   // keys of world:draw
extern const char *const s2_lua_record_keys[]; // additional keys of world:record

void s2_lua_draw_options(const S2Keys *keys, const S2LuaWorld *lw, S2DrawOptions *options);
// Reads the options. Their lists are valid as long as the stack is unchanged. A key that does not
// apply to the format of `path` raises an error.
void s2_lua_record_options(const S2Keys *keys, const S2LuaWorld *lw, const char *path,
                           S2RecordOptions *options);

#endif
