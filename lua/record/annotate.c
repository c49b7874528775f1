// world:annotate and world:clear_annotations: a script draws over the picture.
#include "dynamics/annotation.h"
#include "lua/base/errors.h"
#include "lua/base/keys.h"
#include "lua/diff/on_tape.h"
#include "lua/world/binding.h"

#include <string.h>

enum { ANNOTATE_POINTS = 10000 };      // maximum number of points in a line
static const double LINE_WIDTH = 2;    // px
static const double POINT_RADIUS = 4;  // px
static const double LETTERS_SIZE = 13; // pixels

// Reads the points of a line or an arrow. Returns a list of annotations, one per segment, in a
// userdata on the stack.
static S2Annotation *annotate_read_line(const S2Keys *keys, const char *key, int most,
                                        S2Annotation like, int *count) {
  lua_State *L = keys->L;
  S2Complaint complaint;
  // The value must be a list of two or more points.
  int points = s2_keys_push(keys, key) == LUA_TTABLE ? (int)luaL_len(L, -1) : 0;
  if (points < 2 || points > most) {
    s2_keys_fail(keys, key,
                 most == 2 ? "two points {{x, y}, {x, y}} expected"
                           : "a list of 2 to 10000 points {{x, y}, {x, y}, ...} expected");
  }
  S2Annotation *list = lua_newuserdatauv(L, sizeof *list * (size_t)points, 0);
  S2Vec2 last = {0};
  for (int i = 0; i < points; i++) {
    S2Vec2 point;
    lua_geti(L, -2, i + 1);
    if (!s2_value_vec2(L, -1, &point, &complaint)) {
      s2_keys_fail(keys, key, "point %d: %s", i + 1, complaint.text);
    }
    lua_pop(L, 1);
    like.from = last;
    like.to = point;
    list[i > 0 ? i - 1 : 0] = like;
    last = point;
  }
  *count = points - 1;
  return list;
}

static const char *const ANNOTATE_KEYS[] = {"line",  "arrow", "point", "text", "at",
                                            "color", "size",  "name",  NULL};

static void annotate_read_text(const S2Keys *keys, char text[S2_ANNOTATION_SIZE]) {
  lua_State *L = keys->L;
  size_t length;
  int type = s2_keys_push(keys, "text");
  if (type != LUA_TNIL && type != LUA_TSTRING && type != LUA_TNUMBER) {
    char found[S2_LUA_TEXT];
    s2_keys_fail(keys, "text", "text expected, got %s", s2_lua_describe(L, -1, found));
  }
  if (type != LUA_TNIL) {
    const char *words = luaL_tolstring(L, -1, &length);
    if (length >= S2_ANNOTATION_SIZE || strlen(words) != length || strchr(words, '\n') != NULL) {
      s2_keys_fail(keys, "text", "one line of at most %d bytes expected", S2_ANNOTATION_SIZE - 1);
    }
    memcpy(text, words, length + 1);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

// Exactly one of the four keys gives the type.
static S2AnnotationType annotate_kind(const S2Keys *keys) {
  S2AnnotationType type = S2_ANNOTATION_TEXT;
  int kinds = 0;
  for (int i = 0; i < S2_ANNOTATION_TEXT; i++) {
    if (s2_keys_has(keys, ANNOTATE_KEYS[i])) {
      type = (S2AnnotationType)i;
      kinds++;
    }
  }
  if (kinds > 1 || (kinds == 0 && !s2_keys_has(keys, "text"))) {
    s2_lua_bad_argument(keys->L, keys->argument,
                        "one of the keys 'line', 'arrow', 'point', 'text' expected");
  }
  return type;
}

static int world_annotate(lua_State *L) {
  S2LuaWorld *lw = s2_lua_world(L, 1);
  lua_settop(L, 2);
  if (lw->phase == S2_INSIDE) {
    return s2_lua_fail(L,
                       "world:annotate() cannot be called while the engine is in the middle of a "
                       "step; call it in a before_step function");
  }
  (void)s2_lua_writes(L, lw); // tracked numbers are drawn with their plain values
  S2Keys keys = s2_keys_open(L, 2, false, ANNOTATE_KEYS, NULL, 0);
  S2Annotation one = {.type = annotate_kind(&keys), .letters = LETTERS_SIZE}, *list = &one;
  int count = 1;
  annotate_read_text(&keys, one.text);
  // Read the keys that all types share.
  const char *name = "";
  s2_keys_color(&keys, "color", &one.color);
  s2_keys_name(&keys, "name", &name);
  snprintf(one.name, sizeof one.name, "%s", name);
  one.size = one.type == S2_ANNOTATION_TEXT    ? 0
             : one.type == S2_ANNOTATION_POINT ? POINT_RADIUS
                                               : LINE_WIDTH;
  s2_keys_number(&keys, "size", S2_POSITIVE,
                 one.type == S2_ANNOTATION_TEXT ? &one.letters : &one.size);
  // Read the position. The key `at` applies only to a text.
  if (one.type != S2_ANNOTATION_TEXT && s2_keys_has(&keys, "at")) {
    s2_keys_fail(&keys, "at",
                 "cannot be combined with '%s': the text is placed at the end of that drawing",
                 ANNOTATE_KEYS[one.type]);
  }
  if (one.type == S2_ANNOTATION_TEXT) {
    s2_keys_require(&keys, "at");
    s2_keys_vec2(&keys, "at", &one.to);
  } else if (one.type == S2_ANNOTATION_POINT) {
    s2_keys_vec2(&keys, "point", &one.to);
  } else {
    bool arrow = one.type == S2_ANNOTATION_ARROW;
    list = annotate_read_line(&keys, arrow ? "arrow" : "line", arrow ? 2 : ANNOTATE_POINTS, one,
                              &count);
    for (int i = 0; i + 1 < count; i++) {
      list[i].text[0] = '\0'; // only the last segment has the text
    }
  }
  s2_lua_try(L, s2_world_annotate(lw->world, list, count));
  return 0;
}

static int world_clear_annotations(lua_State *L) {
  S2LuaWorld *lw = s2_lua_world(L, 1);
  const char *name = luaL_optstring(L, 2, NULL);
  s2_world_clear_annotations(lw->world, name);
  return 0;
}

const luaL_Reg s2_annotate_methods[] = {
    {"annotate", world_annotate}, {"clear_annotations", world_clear_annotations}, {NULL, NULL}};
