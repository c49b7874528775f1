// C functions of the live viewer for live.lua.
#include "lua/record/live.h"

#include "base/text.h"

static int live_collect(lua_State *L) {
  s2_live_free(lua_touserdata(L, 1));
  return 0;
}

S2Live *s2_lua_live_of(lua_State *L) {
  S2Session *session = s2_session(L);
  if (session->live == NULL) { // the command line opened no viewer
    S2Live *live = lua_newuserdatauv(L, sizeof *live, 0);
    *live = (S2Live){.pace = 1};
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, live_collect);
    lua_setfield(L, -2, "__gc");
    lua_setmetatable(L, -2);
    lua_rawsetp(L, LUA_REGISTRYINDEX, live);
    session->live = live;
  }
  return session->live;
}

// (world, port or nil, pace or nil, wait or nil, body or nil): opens the viewer. Returns the
// address, or nil and a message.
static int live_open(lua_State *L) {
  S2LuaWorld *lw = s2_lua_world(L, 1);
  S2Live *live = s2_lua_live_of(L);
  if (live->server == NULL) {
    S2Status status = s2_live_serve(live, (int)luaL_optinteger(L, 2, 0));
    if (status.code != S2_OK) {
      lua_pushnil(L);
      lua_pushstring(L, status.message);
      return 2;
    }
  }
  live->pace = luaL_optnumber(L, 3, live->pace);
  if (!lua_isnoneornil(L, 4)) { // an explicit value overrides the setting of the command
    live->wait = lua_toboolean(L, 4) != 0;
  }
  if (!lua_isnoneornil(L, 5)) {
    const S2LuaBody *body = s2_lua_check(L, 5, s2_type_body);
    s2_live_follow_body(live, lw, body->id);
  }
  if (lw->stepped) {
    s2_live_choose(live, lw);
  }
  lua_pushstring(L, s2_server_address(live->server));
  return 1;
}

// A viewer opened by --view stays open.
static int live_close(lua_State *L) {
  S2Live *live = s2_lua_live_of(L);
  if (!live->stays) {
    s2_live_stop(live);
  }
  return 0;
}

static int live_handler(lua_State *L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_settop(L, 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &s2_live_handler);
  return 0;
}

static int live_setting(lua_State *L) {
  const S2Live *live = s2_session(L)->live;
  lua_pushstring(L, live != NULL ? s2_live_setting(live, luaL_checkstring(L, 1)) : NULL);
  return 1; // pushes nil for NULL
}

static int live_keep(lua_State *L) {
  s2_live_keep(s2_lua_live_of(L), luaL_checkstring(L, 1), luaL_checkstring(L, 2));
  return 0;
}

// Returns true if the script can be rerun.
static int live_reruns(lua_State *L) {
  const S2Live *live = s2_session(L)->live;
  lua_pushboolean(L, live != NULL && live->unwind != NULL);
  return 1;
}

// Returns true if a viewer is open.
static int live_serving(lua_State *L) {
  const S2Live *live = s2_session(L)->live;
  lua_pushboolean(L, live != NULL && live->server != NULL);
  return 1;
}

// (world, x, y, x, y): sets the area of the world that pages show when they open.
static int live_area(lua_State *L) {
  S2Live *live = s2_lua_live_of(L);
  live->area_in = s2_lua_world(L, 1);
  live->area[0] = s2_vec2(luaL_checknumber(L, 2), luaL_checknumber(L, 3));
  live->area[1] = s2_vec2(luaL_checknumber(L, 4), luaL_checknumber(L, 5));
  return 0;
}

// (boolean): true marks the steps that follow as trials, which are neither recorded nor shown.
static int live_aside(lua_State *L) {
  s2_session(L)->aside = lua_toboolean(L, 1) != 0;
  return 0;
}

// Shows this world and keeps showing it.
static int live_show_world(lua_State *L) {
  S2LuaWorld *lw = s2_lua_world(L, 1);
  S2Live *live = s2_lua_live_of(L);
  s2_live_choose(live, lw);
  live->chosen = true;
  return 0;
}

// Pushes a text as a JSON string.
static int live_json(lua_State *L) {
  size_t length = 0;
  const char *text = luaL_checklstring(L, 1, &length), *end = text + length;
  luaL_Buffer buffer;
  luaL_buffinit(L, &buffer);
  luaL_addchar(&buffer, '"');
  while (text < end) {
    char piece[S2_TEXT_PIECE];
    luaL_addlstring(&buffer, piece, s2_text_next(S2_TEXT_JSON, &text, piece));
  }
  luaL_addchar(&buffer, '"');
  luaL_pushresult(&buffer);
  return 1;
}

void s2_lua_push_live_host(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"open", live_open},       {"close", live_close},     {"handler", live_handler},
      {"setting", live_setting}, {"keep", live_keep},       {"reruns", live_reruns},
      {"serving", live_serving}, {"show", live_show_world}, {"area", live_area},
      {"aside", live_aside},     {"json", live_json},       {NULL, NULL}};
  luaL_newlib(L, functions);
}
