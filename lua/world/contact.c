// The contact object that is passed to pre_solve callbacks. There is one per world, valid only
// during the call.
#include "lua/world/binding.h"

#include <string.h>

static S2PreContact *check_contact(lua_State *L) {
  const S2LuaContact *object = s2_lua_check(L, 1, s2_type_contact);
  if (object->contact == NULL) {
    s2_lua_fail(L, "a contact is valid only during the pre_solve call that received it");
  }
  return object->contact;
}

static const char *const contact_fields[] = {"a",       "b",        "point",       "normal",
                                             "gap",     "friction", "restitution", "surface_speed",
                                             "enabled", NULL};

static int no_contact_field(lua_State *L) {
  // Create a table of the fields, to find the nearest name for messages.
  lua_newtable(L);
  for (int i = 0; contact_fields[i] != NULL; i++) {
    lua_pushinteger(L, i);
    lua_setfield(L, -2, contact_fields[i]);
  }
  return s2_lua_no_field(L, "Contact", 2, -1);
}

static int contact_index(lua_State *L) {
  const S2PreContact *contact = check_contact(L);
  const char *key = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
  // Bodies are objects. Other fields are plain numbers and copies.
  if (strcmp(key, "a") == 0 || strcmp(key, "b") == 0) {
    lua_getiuservalue(L, 1, 1);
    s2_lua_push_body(L, -1, key[0] == 'a' ? contact->a : contact->b);
  } else if (strcmp(key, "point") == 0) {
    s2_lua_push_vec2(L, contact->point, NULL);
  } else if (strcmp(key, "normal") == 0) {
    s2_lua_push_vec2(L, contact->normal, NULL);
  } else if (strcmp(key, "gap") == 0) {
    lua_pushnumber(L, contact->gap);
  } else if (strcmp(key, "friction") == 0) {
    lua_pushnumber(L, contact->friction);
  } else if (strcmp(key, "restitution") == 0) {
    lua_pushnumber(L, contact->restitution);
  } else if (strcmp(key, "surface_speed") == 0) {
    lua_pushnumber(L, contact->surface_speed);
  } else if (strcmp(key, "enabled") == 0) {
    lua_pushboolean(L, contact->enabled);
  } else {
    return no_contact_field(L);
  }
  return 1;
}

static int contact_newindex(lua_State *L) {
  S2PreContact *contact = check_contact(L);
  const char *key = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
  S2Complaint complaint;
  // Check the value, and write it into the engine's contact.
  bool good = true;
  if (strcmp(key, "friction") == 0) {
    good = s2_value_number(L, 3, S2_NON_NEGATIVE, &contact->friction, &complaint);
  } else if (strcmp(key, "restitution") == 0) {
    double value = contact->restitution;
    good =
        s2_value_number(L, 3, S2_NON_NEGATIVE, &value, &complaint) &&
        (value <= 1 || s2_complain(&complaint, "a number from 0 to 1 expected, got %.14g", value));
    contact->restitution = good ? value : contact->restitution;
  } else if (strcmp(key, "surface_speed") == 0) {
    good = s2_value_number(L, 3, S2_ANY_NUMBER, &contact->surface_speed, &complaint);
  } else if (strcmp(key, "enabled") == 0) {
    good = s2_value_boolean(L, 3, &contact->enabled, &complaint);
  } else {
    // The field is read-only or unknown.
    for (int i = 0; contact_fields[i] != NULL; i++) {
      if (strcmp(key, contact_fields[i]) == 0) {
        return s2_lua_fail(L, "Contact.%s is read-only", key);
      }
    }
    return no_contact_field(L);
  }
  if (!good) {
    return s2_lua_fail(L, "Contact.%s: %s", key, complaint.text);
  }
  return 0;
}

static int contact_tostring(lua_State *L) {
  (void)s2_lua_check(L, 1, s2_type_contact);
  lua_pushliteral(L, "Contact");
  return 1;
}

S2LuaContact *s2_lua_push_contact(lua_State *L, int world) {
  // Create the object once and keep it, so that a step needs no memory to push it.
  if (lua_getiuservalue(L, world, S2_STORE_CONTACT) != LUA_TUSERDATA) {
    lua_pop(L, 1);
    S2LuaContact *object = lua_newuserdatauv(L, sizeof *object, 1);
    *object = (S2LuaContact){s2_type_contact, NULL};
    luaL_setmetatable(L, "sim2d.Contact");
    lua_pushvalue(L, world);
    lua_setiuservalue(L, -2, 1);
    lua_pushvalue(L, -1);
    lua_setiuservalue(L, world, S2_STORE_CONTACT);
  }
  return lua_touserdata(L, -1);
}

void s2_lua_open_contact(lua_State *L) {
  static const luaL_Reg meta[] = {{"__index", contact_index},
                                  {"__newindex", contact_newindex},
                                  {"__tostring", contact_tostring},
                                  {NULL, NULL}};
  s2_lua_metatable(L, s2_type_contact);
  luaL_setfuncs(L, meta, 0);
  lua_pop(L, 1);
}
