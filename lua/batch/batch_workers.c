// Lua objects that own worker threads.
#include "lua/batch/batch.h"

#include "linalg/dense.h"

static const char WORKERS[] = "sim2d.workers";

typedef struct WorkersObject {
  S2Workers *workers;
} WorkersObject;

static int workers_collect(lua_State *L) {
  WorkersObject *object = lua_touserdata(L, 1);
  s2_workers_free(object->workers);
  object->workers = NULL;
  return 0;
}

S2Workers *s2_lua_workers(lua_State *L, int index) {
  return ((const WorkersObject *)luaL_checkudata(L, index, WORKERS))->workers;
}

int s2_lua_new_workers(lua_State *L) {
  lua_Integer threads = luaL_checkinteger(L, 1);
  WorkersObject *object = lua_newuserdatauv(L, sizeof *object, 0);
  object->workers = NULL;
  if (luaL_newmetatable(L, WORKERS)) {
    lua_pushcfunction(L, workers_collect);
    lua_setfield(L, -2, "__gc");
  }
  lua_setmetatable(L, -2);
  s2_dense_single_threaded(); // must run before the first thread starts
  object->workers = s2_workers_new((int)threads);
  return 1;
}
