#include "lua/base/embedded.h"

#include "lua/base/host.h"

#include <lauxlib.h>

void s2_embedded_open(lua_State *L) {
  int sim = lua_gettop(L);
  s2_host_push(L);
  // Each module is a chunk that returns a function (sim, host), which adds functions to sim.
  for (const S2Embedded *module = s2_embedded; module->name != NULL; module++) {
    if (luaL_loadbufferx(L, (const char *)module->source, module->size, S2_EMBEDDED_CHUNK, "t") !=
        LUA_OK) {
      lua_error(L);
    }
    lua_call(L, 0, 1);
    lua_pushvalue(L, sim);
    lua_pushvalue(L, sim + 1);
    lua_call(L, 2, 0);
  }
  lua_settop(L, sim);
}
