// Reads numbers of worlds and bodies from Lua into definitions and pushes them, according to
// fields.def.
#include "lua/diff/on_tape.h"

#include <stdio.h>

bool s2_lua_field_read(lua_State *L, int index, const S2Field *field, void *definition,
                       S2Complaint *complaint) {
  void *at = s2_field_in(field, definition);
  char text[S2_LUA_TEXT];
  int64_t integer = 0;
  int choice = 0;
  // Numbers and flags are read into the member itself. Integers are read into a wider variable
  // first.
  switch (field->domain) {
  case S2_FIELD_ANY:
    return s2_value_number(L, index, S2_ANY_NUMBER, at, complaint);
  case S2_FIELD_POSITIVE:
    return s2_value_number(L, index, S2_POSITIVE, at, complaint);
  case S2_FIELD_NOT_NEGATIVE:
    return s2_value_number(L, index, S2_NON_NEGATIVE, at, complaint);
  case S2_FIELD_BOUND:
    return s2_value_bound(L, index, at, complaint);
  case S2_FIELD_PART:
  case S2_FIELD_RANGE:
    if (!s2_value_number(L, index, S2_NON_NEGATIVE, at, complaint)) {
      return false;
    }
    // A finite difference may shift a tracked number out of its range. The engine reports this
    // case.
    return s2_lua_is_tracked(L, index) ||
           s2_field_check(field, *(const double *)at).code == S2_OK ||
           s2_complain(complaint, "a number from 0 to %g expected, got %s", field->most,
                       s2_lua_describe(L, index, text));
  case S2_FIELD_VECTOR:
    return s2_value_vec2(L, index, at, complaint);
  case S2_FIELD_AT_LEAST_ONE:
    if (!s2_value_integer(L, index, 1, INT32_MAX, &integer, complaint)) {
      return false;
    }
    break;
  case S2_FIELD_BITS:
    if (!s2_value_integer(L, index, 0, UINT32_MAX, &integer, complaint)) {
      return false;
    }
    break;
  case S2_FIELD_FLAG:
    return s2_value_boolean(L, index, at, complaint);
  case S2_FIELD_CHOICE:
    if (!s2_value_choice(L, index, field->names, &choice, complaint)) {
      return false;
    }
    integer = choice;
    break;
  case S2_FIELD_COLOR:
    return s2_value_color(L, index, at, complaint);
  }
  // s2_field_set knows the type of the member, so it handles integers of any width.
  s2_field_set(field, definition, (double)integer);
  return true;
}

void s2_lua_field_key(const S2Keys *keys, const S2Field *field, void *definition) {
  S2Complaint complaint;
  // An absent key leaves the member unchanged.
  if (s2_keys_push(keys, field->name) != LUA_TNIL &&
      !s2_lua_field_read(keys->L, -1, field, definition, &complaint)) {
    s2_keys_fail(keys, field->name, "%s", complaint.text);
  }
  lua_pop(keys->L, 1);
}

static void push_color(lua_State *L, uint32_t color) {
  char text[16];
  if (color == 0) {
    lua_pushnil(L); // a colour from the palette
    return;
  }
  // Write opaque colours as #rrggbb, and others with alpha.
  if ((color & 0xff) == 0xff) {
    snprintf(text, sizeof text, "#%06x", (unsigned)(color >> 8));
  } else {
    snprintf(text, sizeof text, "#%08x", (unsigned)color);
  }
  lua_pushstring(L, text);
}

void s2_lua_field_push_number(lua_State *L, const S2Field *field, double value) {
  // Push the form that scripts write: integers, names of choices, colours as text.
  switch (field->domain) {
  case S2_FIELD_AT_LEAST_ONE:
  case S2_FIELD_BITS:
    lua_pushinteger(L, (lua_Integer)value);
    return;
  case S2_FIELD_FLAG:
    lua_pushboolean(L, value != 0);
    return;
  case S2_FIELD_CHOICE:
    lua_pushstring(L, field->names[(int)value]);
    return;
  case S2_FIELD_COLOR:
    push_color(L, (uint32_t)value);
    return;
  default:
    lua_pushnumber(L, value);
    return;
  }
}

void s2_lua_field_push(lua_State *L, const S2Field *field, const void *definition,
                       const char *vector) {
  // Push vectors as copies. Their error messages name the field to assign to.
  if (field->domain == S2_FIELD_VECTOR) {
    s2_lua_push_vec2(L, *(const S2Vec2 *)s2_field_in(field, (void *)definition), vector);
  } else {
    s2_lua_field_push_number(L, field, s2_field_get(field, definition));
  }
}
