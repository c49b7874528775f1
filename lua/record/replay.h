// Functions that read recordings, for read_recording.lua.
#ifndef S2_LUA_REPLAY_H
#define S2_LUA_REPLAY_H

#include <lua.h>

void s2_lua_push_replay_host(lua_State *L); // pushes the table host.replay

#endif
