// world.bodies and world.joints: arrays in creation order with access by name.
#include "lua/world/binding.h"

#include "base/text.h"

#include <string.h>

typedef struct Collection {
  const char *type; // s2_type_bodies or s2_type_joints
  S2LuaWorld *lw;   // the user value keeps the world alive
} Collection;

const S2BodyId *s2_lua_bodies(S2LuaWorld *lw, int *count) {
  // Read the list from the engine again if bodies were created or destroyed.
  if (lw->bodies_stale) {
    int living = s2_world_bodies(lw->world, NULL, 0);
    s2_array_reserve(lw->bodies, living);
    lw->bodies.count = s2_world_bodies(lw->world, lw->bodies.at, lw->bodies.capacity);
    lw->bodies_stale = false;
  }
  *count = lw->bodies.count;
  return lw->bodies.at;
}

const S2JointId *s2_lua_joints(S2LuaWorld *lw, int *count) {
  if (lw->joints_stale) {
    int living = s2_world_joints(lw->world, NULL, 0);
    s2_array_reserve(lw->joints, living);
    lw->joints.count = s2_world_joints(lw->world, lw->joints.at, lw->joints.capacity);
    lw->joints_stale = false;
  }
  *count = lw->joints.count;
  return lw->joints.at;
}

static Collection *collection_check(lua_State *L) {
  // The list may contain bodies or joints.
  Collection *list = s2_lua_test(L, 1, s2_type_bodies);
  if (list == NULL) {
    list = s2_lua_check(L, 1, s2_type_joints);
  }
  if (list->lw->world == NULL) {
    s2_lua_fail(L, "world is closed");
  }
  return list;
}

static int collection_size(const Collection *list) {
  const S2World *world = list->lw->world;
  return list->type == s2_type_bodies ? s2_world_bodies(world, NULL, 0)
                                      : s2_world_joints(world, NULL, 0);
}

// Pushes item number `item`, from 0 to length - 1. The collection is at stack index 1.
static void collection_push(lua_State *L, const Collection *list, int item) {
  // Push the object of the item. Create it if it is not referenced anywhere.
  lua_getiuservalue(L, 1, 1);
  if (list->type == s2_type_bodies) {
    s2_lua_push_body(L, -1, s2_world_body(list->lw->world, item));
  } else {
    s2_lua_push_joint(L, -1, s2_world_joint(list->lw->world, item));
  }
  lua_remove(L, -2);
}

static const char *item_name(const Collection *list, int item) {
  const char *name = "";
  if (list->type == s2_type_bodies) {
    (void)s2_body_name(list->lw->world, s2_world_body(list->lw->world, item), &name);
    return name;
  }
  return s2_joint_name(list->lw->world, s2_world_joint(list->lw->world, item));
}

static int no_such_name(lua_State *L, Collection *list, const char *name) {
  const char *what = list->type == s2_type_bodies ? "body" : "joint";
  int count = collection_size(list), named = 0;
  // Collect all names to find the nearest one. Skip unnamed items.
  s2_arena_reset(&list->lw->scratch);
  const char **names = S2_TAKE(&list->lw->scratch, const char *, count + 1);
  for (int i = 0; i < count; i++) {
    const char *other = item_name(list, i);
    if (other[0] != '\0') {
      names[named++] = other;
    }
  }
  const char *nearest = s2_text_nearest(name, names, named);
  if (nearest != NULL) {
    return s2_lua_fail(L, "no %s is named '%s'; did you mean '%s'?", what, name, nearest);
  }
  return s2_lua_fail(L, "no %s is named '%s'", what, name);
}

static int names_of(const Collection *list) {
  return list->type == s2_type_bodies ? S2_STORE_NAMES : S2_STORE_JOINT_NAMES;
}

// Pushes the cached result for the key at stack index 2. Returns false if none is cached or names
// have changed. The cache is useful because controllers read the same names in every step.
static bool push_found(lua_State *L, const Collection *list) {
  lua_getiuservalue(L, 1, 1);
  // If names have changed, clear the cache.
  if (list->lw->names_stale) {
    list->lw->names_stale = false;
    s2_lua_new_weak_table(L);
    lua_setiuservalue(L, -2, S2_STORE_NAMES);
    s2_lua_new_weak_table(L);
    lua_setiuservalue(L, -2, S2_STORE_JOINT_NAMES);
  }
  lua_getiuservalue(L, -1, names_of(list));
  lua_pushvalue(L, 2);
  bool found = lua_rawget(L, -2) != LUA_TNIL;
  if (!found) {
    lua_pop(L, 3);
  }
  return found;
}

static void keep_found(lua_State *L, const Collection *list) {
  lua_getiuservalue(L, 1, 1);
  lua_getiuservalue(L, -1, names_of(list));
  lua_pushvalue(L, 2);
  lua_pushvalue(L, -4);
  lua_rawset(L, -3);
  lua_pop(L, 2);
}

static int collection_index(lua_State *L) {
  Collection *list = collection_check(L);
  // A number is the position in creation order. Beyond the end, nil ends a loop.
  if (lua_isinteger(L, 2) || (lua_type(L, 2) == LUA_TNUMBER)) {
    int exact = 0;
    lua_Integer i = lua_tointegerx(L, 2, &exact);
    if (exact != 0 && i >= 1 && i <= collection_size(list)) {
      collection_push(L, list, (int)i - 1);
    } else {
      lua_pushnil(L); // ends ipairs
    }
    return 1;
  }
  if (lua_type(L, 2) != LUA_TSTRING) {
    char text[S2_LUA_TEXT];
    return s2_lua_fail(L, "a number or a name expected, got %s", s2_lua_describe(L, 2, text));
  }
  // For a name, push the cached result, or else the first item with the name.
  const char *name = lua_tostring(L, 2);
  if (push_found(L, list)) {
    return 1;
  }
  int count = collection_size(list);
  for (int i = 0; i < count; i++) {
    if (name[0] != '\0' && strcmp(item_name(list, i), name) == 0) {
      collection_push(L, list, i);
      keep_found(L, list);
      return 1;
    }
  }
  return no_such_name(L, list, name);
}

static int collection_newindex(lua_State *L) {
  const Collection *list = collection_check(L);
  return s2_lua_fail(L, "world.%s is read-only",
                     list->type == s2_type_bodies ? "bodies" : "joints");
}

static int collection_length(lua_State *L) {
  lua_pushinteger(L, collection_size(collection_check(L)));
  return 1;
}

static int next_of_list(lua_State *L) {
  // Step through the copy, which has no holes.
  lua_Integer i = lua_tointeger(L, 2) + 1;
  lua_pushinteger(L, i);
  return lua_geti(L, 1, i) == LUA_TNIL ? 1 : 2;
}

// Iterates over a copy of the list, so that the loop may destroy items.
static int collection_pairs(lua_State *L) {
  const Collection *list = collection_check(L);
  int count = collection_size(list);
  // Return the iterator, the copy of the list, and the start index.
  lua_settop(L, 1);
  lua_pushcfunction(L, next_of_list);
  lua_createtable(L, count, 0);
  for (int i = 0; i < count; i++) {
    collection_push(L, list, i);
    lua_rawseti(L, -2, i + 1);
  }
  lua_pushinteger(L, 0);
  return 3;
}

static int collection_tostring(lua_State *L) {
  const Collection *list = collection_check(L);
  lua_pushfstring(L, "%s (%d)", list->type, collection_size(list));
  return 1;
}

void s2_lua_push_collection(lua_State *L, int world, bool joints) {
  // The list keeps its world alive.
  world = lua_absindex(L, world);
  Collection *list = lua_newuserdatauv(L, sizeof *list, 1);
  *list = (Collection){joints ? s2_type_joints : s2_type_bodies, lua_touserdata(L, world)};
  lua_pushvalue(L, world);
  lua_setiuservalue(L, -2, 1);
  luaL_setmetatable(L, joints ? "sim2d.Joints" : "sim2d.Bodies");
}

void s2_lua_open_collection(lua_State *L) {
  // Lists of bodies and joints have the same metamethods.
  static const luaL_Reg meta[] = {
      {"__index", collection_index},       {"__newindex", collection_newindex},
      {"__len", collection_length},        {"__pairs", collection_pairs},
      {"__tostring", collection_tostring}, {NULL, NULL}};
  s2_lua_metatable(L, s2_type_bodies);
  luaL_setfuncs(L, meta, 0);
  s2_lua_metatable(L, s2_type_joints);
  luaL_setfuncs(L, meta, 0);
  lua_pop(L, 2);
}
