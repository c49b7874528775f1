#include "lua/base/values.h"

#include "base/text.h"
#include "lua/base/errors.h"
#include "lua/diff/tracked.h"
#include "lua/world/binding.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool s2_complain(S2Complaint *complaint, const char *format, ...) {
  va_list args;
  va_start(args, format);
  // cppcheck-suppress ctuuninitvar // it is written here, not read
  vsnprintf(complaint->text, sizeof complaint->text, format, args);
  va_end(args);
  return false;
}

// ---- Numbers ----------------------------------------------------------------------------------

bool s2_value_number(lua_State *L, int index, S2Domain domain, double *value,
                     S2Complaint *complaint) {
  static const char *const expected[] = {"finite", "non-negative", "positive"};
  char text[S2_LUA_TEXT];
  // Read a plain number, or the value of a tracked number.
  bool is_plain = lua_type(L, index) == LUA_TNUMBER;
  double number = is_plain ? lua_tonumber(L, index) : 0;
  if (!is_plain && !s2_lua_tracked_read(L, index, &number)) {
    return s2_complain(complaint, "number expected, got %s", s2_lua_describe(L, index, text));
  }
  // The number is outside the domain. The message shows its value, even if it is tracked.
  if (!isfinite(number) || (domain == S2_NON_NEGATIVE && number < 0) ||
      (domain == S2_POSITIVE && number <= 0)) {
    lua_pushnumber(L, number); // plain value, also for a tracked number
    s2_lua_describe(L, is_plain ? index - (index < 0) : -1, text);
    lua_pop(L, 1);
    return s2_complain(complaint, "%s number expected, got %s",
                       isfinite(number) ? expected[domain] : "finite", text);
  }
  // The tape records the address of the number, which identifies it for other code.
  *value = number;
  if (!is_plain) {
    s2_lua_tracked_note(L, index, value);
  }
  return true;
}

bool s2_value_bound(lua_State *L, int index, double *value, S2Complaint *complaint) {
  if (lua_type(L, index) == LUA_TNUMBER && lua_tonumber(L, index) == INFINITY) {
    *value = INFINITY;
    return true;
  }
  return s2_value_number(L, index, S2_NON_NEGATIVE, value, complaint);
}

bool s2_value_whole(lua_State *L, int index, lua_Integer *value) {
  int is_whole = 0;
  *value = lua_type(L, index) == LUA_TNUMBER ? lua_tointegerx(L, index, &is_whole) : 0;
  return is_whole != 0;
}

bool s2_value_integer(lua_State *L, int index, int64_t lo, int64_t hi, int64_t *value,
                      S2Complaint *complaint) {
  char text[S2_LUA_TEXT];
  lua_Integer number;
  if (!s2_value_whole(L, index, &number)) {
    return s2_complain(complaint, "integer expected, got %s", s2_lua_describe(L, index, text));
  }
  // Without an upper bound the message names only the lower one.
  if (number < lo || number > hi) {
    return hi == INT64_MAX
               ? s2_complain(complaint, "integer not below %lld expected, got %s", (long long)lo,
                             s2_lua_describe(L, index, text))
               : s2_complain(complaint, "integer from %lld to %lld expected, got %s", (long long)lo,
                             (long long)hi, s2_lua_describe(L, index, text));
  }
  *value = number;
  return true;
}

bool s2_value_boolean(lua_State *L, int index, bool *value, S2Complaint *complaint) {
  char text[S2_LUA_TEXT];
  if (lua_type(L, index) != LUA_TBOOLEAN) {
    return s2_complain(complaint, "true or false expected, got %s",
                       s2_lua_describe(L, index, text));
  }
  *value = lua_toboolean(L, index) != 0;
  return true;
}

// ---- Text -------------------------------------------------------------------------------------

bool s2_value_choice(lua_State *L, int index, const char *const *names, int *value,
                     S2Complaint *complaint) {
  char text[S2_LUA_TEXT], list[160] = "";
  int count = 0;
  bool is_text = lua_type(L, index) == LUA_TSTRING;
  for (; names[count] != NULL; count++) {
    if (is_text && strcmp(lua_tostring(L, index), names[count]) == 0) {
      *value = count;
      return true;
    }
    size_t used = strlen(list);
    snprintf(list + used, sizeof list - used, "%s'%s'", count > 0 ? ", " : "", names[count]);
  }
  s2_lua_describe(L, index, text);
  const char *nearest = is_text ? s2_text_nearest(lua_tostring(L, index), names, count) : NULL;
  if (nearest != NULL) {
    return s2_complain(complaint, "one of %s expected, got %s; did you mean '%s'?", list, text,
                       nearest);
  }
  return s2_complain(complaint, "one of %s expected, got %s", list, text);
}

bool s2_value_name(lua_State *L, int index, const char **value, S2Complaint *complaint) {
  char text[S2_LUA_TEXT];
  if (lua_type(L, index) != LUA_TSTRING) {
    return s2_complain(complaint, "text expected, got %s", s2_lua_describe(L, index, text));
  }
  size_t size;
  const char *name = lua_tolstring(L, index, &size);
  if (strlen(name) != size || size >= S2_NAME_SIZE) {
    return s2_complain(complaint, "text of at most %d bytes expected, got %d", S2_NAME_SIZE - 1,
                       (int)size);
  }
  *value = name;
  return true;
}

typedef struct NamedColor {
  const char *name;
  uint32_t color; // 0xRRGGBBAA
} NamedColor;

// The basic colours of CSS and further ones that drawings often use.
static const NamedColor colors[] = {
    {"black", 0x000000ff},  {"silver", 0xc0c0c0ff}, {"gray", 0x808080ff},   {"white", 0xffffffff},
    {"maroon", 0x800000ff}, {"red", 0xff0000ff},    {"purple", 0x800080ff}, {"magenta", 0xff00ffff},
    {"green", 0x008000ff},  {"lime", 0x00ff00ff},   {"olive", 0x808000ff},  {"yellow", 0xffff00ff},
    {"navy", 0x000080ff},   {"blue", 0x0000ffff},   {"teal", 0x008080ff},   {"cyan", 0x00ffffff},
    {"orange", 0xffa500ff}, {"brown", 0xa52a2aff},  {"pink", 0xffc0cbff},   {"gold", 0xffd700ff},
    {"grey", 0x808080ff},
};

enum { COLOR_COUNT = sizeof colors / sizeof colors[0] };

static bool read_hex(const char *text, uint32_t *value) {
  size_t digits = strlen(text);
  if ((digits != 6 && digits != 8) || strspn(text, "0123456789abcdefABCDEF") != digits) {
    return false;
  }
  uint32_t color = 0;
  for (; *text != '\0'; text++) {
    int digit = *text <= '9' ? *text - '0' : (*text | 0x20) - 'a' + 10;
    color = color << 4 | (uint32_t)digit;
  }
  *value = digits == 6 ? color << 8 | 0xff : color;
  return true;
}

bool s2_value_color(lua_State *L, int index, uint32_t *value, S2Complaint *complaint) {
  char text[S2_LUA_TEXT];
  if (lua_type(L, index) == LUA_TSTRING) {
    const char *color = lua_tostring(L, index), *names[COLOR_COUNT];
    if (color[0] == '#' && read_hex(color + 1, value)) {
      return true;
    }
    for (int i = 0; i < COLOR_COUNT; i++) {
      if (strcmp(colors[i].name, color) == 0) {
        *value = colors[i].color;
        return true;
      }
      names[i] = colors[i].name;
    }
    const char *nearest = s2_text_nearest(color, names, COLOR_COUNT);
    if (nearest != NULL) {
      return s2_complain(complaint, "no colour %s; did you mean '%s'?",
                         s2_lua_describe(L, index, text), nearest);
    }
  }
  return s2_complain(complaint, "'#rrggbb', '#rrggbbaa' or a colour's name expected, got %s",
                     s2_lua_describe(L, index, text));
}

// ---- Vectors ----------------------------------------------------------------------------------

bool s2_value_vector(lua_State *L, int index, int n, const char *const *names, const char *shape,
                     double *values, S2Complaint *complaint) {
  char text[S2_LUA_TEXT];
  index = lua_absindex(L, index);
  bool is_vector =
      s2_lua_test(L, index, s2_type_vector) != NULL || s2_lua_test(L, index, s2_type_array) != NULL;
  if ((!is_vector && lua_type(L, index) != LUA_TTABLE) || (is_vector && luaL_len(L, index) != n)) {
    return s2_complain(complaint, "%s expected, got %s", shape, s2_lua_describe(L, index, text));
  }
  // Components must be given all by position or all by name, because a mixture is most likely a
  // mistake.
  bool by_name = false;
  if (!is_vector) {
    by_name = lua_geti(L, index, 1) == LUA_TNIL;
    lua_pop(L, 1);
    if (!by_name && luaL_len(L, index) != n) {
      int given = (int)luaL_len(L, index);
      return s2_complain(complaint, "%s expected, got %d component%s", shape, given,
                         given == 1 ? "" : "s");
    }
  }
  for (int i = 0; i < n; i++) {
    int type = by_name ? lua_getfield(L, index, names[i]) : lua_geti(L, index, i + 1);
    if (type == LUA_TNIL && by_name) {
      lua_pop(L, 1);
      return s2_complain(complaint, "%s expected, component '%s' is missing", shape, names[i]);
    }
    S2Complaint component;
    bool good = s2_value_number(L, -1, S2_ANY_NUMBER, &values[i], &component);
    lua_pop(L, 1);
    if (!good) {
      return s2_complain(complaint, "%s expected, component %d: %.100s", shape, i + 1,
                         component.text);
    }
  }
  return true;
}

bool s2_value_vec2(lua_State *L, int index, S2Vec2 *value, S2Complaint *complaint) {
  static const char *const names[] = {"x", "y"};
  _Static_assert(sizeof *value == 2 * sizeof value->x,
                 "x and y must be adjacent, because tracked numbers are recorded by their address");
  return s2_value_vector(L, index, 2, names, "{x, y}", &value->x, complaint);
}

// ---- Arguments --------------------------------------------------------------------------------

double s2_argument_number(lua_State *L, int argument, S2Domain domain) {
  double value = 0;
  S2Complaint complaint;
  if (!s2_value_number(L, argument, domain, &value, &complaint)) {
    s2_lua_bad_argument(L, argument, "%s", complaint.text);
  }
  return value;
}

S2Vec2 s2_argument_vec2(lua_State *L, int argument) {
  S2Vec2 value = {0, 0};
  S2Complaint complaint;
  if (!s2_value_vec2(L, argument, &value, &complaint)) {
    s2_lua_bad_argument(L, argument, "%s", complaint.text);
  }
  return value;
}

int64_t s2_argument_integer(lua_State *L, int argument, int64_t lo, int64_t hi) {
  int64_t value = 0;
  S2Complaint complaint;
  if (!s2_value_integer(L, argument, lo, hi, &value, &complaint)) {
    s2_lua_bad_argument(L, argument, "%s", complaint.text);
  }
  return value;
}
