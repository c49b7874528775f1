#include "lua/record/drawing.h"

#include "record/s2d/output.h"

#include <string.h>
#include <strings.h>

enum { MAX_WIDTH = 16384 }; // maximum in pixels; a larger value is most likely a mistake

const char *const s2_lua_draw_keys[] = {"width", "contacts", "joints", "names", "legend",
                                        "dark",  "view",     "follow", "title", NULL};
const char *const s2_lua_record_keys[] = {"every", "from",  "to",      "trails", "strobe",
                                          "fps",   "speed", "columns", "units",  NULL};

// Reads the body on top of the stack.
static bool drawing_read_body(lua_State *L, const S2LuaWorld *lw, S2BodyId *id,
                              S2Complaint *complaint) {
  char text[S2_LUA_TEXT];
  const S2LuaBody *body = luaL_testudata(L, -1, "sim2d.Body");
  if (body == NULL) {
    return s2_complain(complaint, "body expected, got %s", s2_lua_describe(L, -1, text));
  }
  if (body->lw != lw) {
    return s2_complain(complaint, "the body belongs to another world");
  }
  if (!s2_body_alive(lw->world, body->id)) {
    return s2_complain(complaint, "the body is destroyed");
  }
  *id = body->id;
  return true;
}

static void read_view(const S2Keys *keys, S2DrawOptions *options) {
  lua_State *L = keys->L;
  char text[S2_LUA_TEXT];
  // If two corners are given, they replace the automatic view.
  if (s2_keys_push(keys, "view") != LUA_TNIL) {
    if (lua_type(L, -1) != LUA_TTABLE) {
      s2_keys_fail(keys, "view", "two corners {{x, y}, {x, y}} expected, got %s",
                   s2_lua_describe(L, -1, text));
    }
    S2Vec2 *corners[2] = {&options->lo, &options->hi};
    for (int i = 0; i < 2; i++) {
      S2Complaint complaint;
      lua_geti(L, -1, i + 1);
      if (!s2_value_vec2(L, -1, corners[i], &complaint)) {
        s2_keys_fail(keys, "view", "corner %d: %s", i + 1, complaint.text);
      }
      lua_pop(L, 1);
    }
    if (options->lo.x >= options->hi.x || options->lo.y >= options->hi.y) {
      s2_keys_fail(keys, "view", "the second corner must be above and right of the first");
    }
    options->fit = false;
  }
  lua_pop(L, 1);
}

static void read_title(const S2Keys *keys, S2DrawOptions *options) {
  lua_State *L = keys->L;
  char text[S2_LUA_TEXT];
  if (s2_keys_push(keys, "title") != LUA_TNIL) {
    if (lua_type(L, -1) != LUA_TSTRING) {
      s2_keys_fail(keys, "title", "text expected, got %s", s2_lua_describe(L, -1, text));
    }
    size_t size = 0;
    const char *title = lua_tolstring(L, -1, &size);
    if (size >= S2_TITLE_SIZE || strlen(title) != size) {
      s2_keys_fail(keys, "title", "text of at most %d bytes expected, got %d", S2_TITLE_SIZE - 1,
                   (int)size);
    }
    memcpy(options->title, title, size + 1);
  }
  lua_pop(L, 1);
}

void s2_lua_draw_options(const S2Keys *keys, const S2LuaWorld *lw, S2DrawOptions *options) {
  // Read sizes and switches first, then options with values that must be checked.
  int64_t width = options->width;
  s2_keys_integer(keys, "width", 16, MAX_WIDTH, &width);
  options->width = (int)width;
  s2_keys_boolean(keys, "contacts", &options->contacts);
  s2_keys_boolean(keys, "joints", &options->joints);
  s2_keys_boolean(keys, "names", &options->names);
  s2_keys_boolean(keys, "legend", &options->legend);
  s2_keys_boolean(keys, "dark", &options->dark);
  read_view(keys, options);
  read_title(keys, options);
  S2Complaint complaint;
  if (s2_keys_push(keys, "follow") != LUA_TNIL &&
      !drawing_read_body(keys->L, lw, &options->follow, &complaint)) {
    s2_keys_fail(keys, "follow", "%s", complaint.text);
  }
  lua_pop(keys->L, 1);
}

// ---- Recordings -------------------------------------------------------------------------------

static bool is_one_of(const char *path, const char *first, const char *second) {
  const char *suffix = s2_path_suffix(path);
  return strcasecmp(suffix, first) == 0 || strcasecmp(suffix, second) == 0;
}

static void check_format(const S2Keys *keys, const char *path) {
  static const char *const drawing[] = {"width", "contacts", "joints", "names",  "legend", "dark",
                                        "view",  "follow",   "title",  "trails", NULL};
  // Some keys apply to pictures and videos, some only to pictures, and some only to videos.
  bool picture = is_one_of(path, ".svg", ".png"), video = is_one_of(path, ".gif", ".mp4");
  // A page always contains everything. The options only set its initial view.
  bool page = is_one_of(path, ".html", ".html");
  for (int i = 0; drawing[i] != NULL && !picture && !video; i++) {
    bool opens = strcmp(drawing[i], "follow") == 0 || strcmp(drawing[i], "trails") == 0;
    if (s2_keys_has(keys, drawing[i]) && !(page && opens)) {
      s2_keys_fail(keys, drawing[i],
                   opens ? "applies only to .svg, .png, .gif, .mp4 and .html"
                         : "applies only to .svg, .png, .gif and .mp4");
    }
  }
  if (s2_keys_has(keys, "strobe") && !picture) {
    s2_keys_fail(keys, "strobe", "applies only to pictures: .svg and .png");
  }
  for (int i = 0; i < 2 && !video; i++) {
    const char *key = i == 0 ? "fps" : "speed";
    if (s2_keys_has(keys, key) && !(page && i == 1)) {
      s2_keys_fail(keys, key,
                   i == 0 ? "applies only to videos: .gif and .mp4"
                          : "applies only to videos and pages: .gif, .mp4 and .html");
    }
  }
}

// Reads `trails`, which is `true` or a list of bodies. The list stays on the stack.
static void read_trails(const S2Keys *keys, const S2LuaWorld *lw, S2RecordOptions *options) {
  lua_State *L = keys->L;
  char text[S2_LUA_TEXT];
  int type = s2_keys_push(keys, "trails");
  // `true` means all moving bodies. A list contains bodies of this world.
  if (type == LUA_TBOOLEAN) {
    options->trails = lua_toboolean(L, -1) ? S2_TRAILS_ALL : S2_TRAILS_NONE;
  } else if (type == LUA_TTABLE) {
    int count = (int)luaL_len(L, -1);
    S2BodyId *ids = lua_newuserdatauv(L, sizeof *ids * ((size_t)count + 1), 0);
    for (int i = 0; i < count; i++) {
      S2Complaint complaint;
      lua_geti(L, -2, i + 1);
      if (!drawing_read_body(L, lw, &ids[i], &complaint)) {
        s2_keys_fail(keys, "trails", "item %d: %s", i + 1, complaint.text);
      }
      lua_pop(L, 1);
    }
    options->trails = S2_TRAILS_LISTED;
    options->trail_bodies = ids;
    options->trail_count = count;
  } else if (type != LUA_TNIL) {
    s2_keys_fail(keys, "trails", "true or a list of bodies expected, got %s",
                 s2_lua_describe(L, -1, text));
  }
}

// Reads `strobe`, which is a period or a list of times. The list stays on the stack.
static void read_strobe(const S2Keys *keys, S2RecordOptions *options) {
  lua_State *L = keys->L;
  S2Complaint complaint;
  int type = s2_keys_push(keys, "strobe");
  // Times in a list must ascend, because the recorder waits for them one after another.
  if (type == LUA_TTABLE) {
    int count = (int)luaL_len(L, -1);
    double *times = lua_newuserdatauv(L, sizeof *times * ((size_t)count + 1), 0);
    for (int i = 0; i < count; i++) {
      lua_geti(L, -2, i + 1);
      if (!s2_value_number(L, -1, S2_ANY_NUMBER, &times[i], &complaint)) {
        s2_keys_fail(keys, "strobe", "item %d: %s", i + 1, complaint.text);
      }
      lua_pop(L, 1);
      if (i > 0 && times[i] <= times[i - 1]) {
        s2_keys_fail(keys, "strobe", "times must ascend; %.14g comes after %.14g", times[i],
                     times[i - 1]);
      }
    }
    if (count == 0) {
      s2_keys_fail(keys, "strobe", "at least one time expected");
    }
    options->strobe_times = times;
    options->strobe_count = count;
    // Otherwise the value must be a period.
  } else if (type != LUA_TNIL &&
             !s2_value_number(L, -1, S2_POSITIVE, &options->strobe_period, &complaint)) {
    s2_keys_fail(keys, "strobe", "a period (s) or a list of times: %s", complaint.text);
  }
}

void s2_lua_record_options(const S2Keys *keys, const S2LuaWorld *lw, const char *path,
                           S2RecordOptions *options) {
  check_format(keys, path);
  s2_lua_draw_options(keys, lw, &options->draw);
  s2_keys_number(keys, "from", S2_ANY_NUMBER, &options->from);
  s2_keys_number(keys, "to", S2_ANY_NUMBER, &options->to);
  if (options->to < options->from) {
    s2_keys_fail(keys, "to", "must not be before 'from', %.14g s", options->from);
  }
  s2_keys_number(keys, "fps", S2_POSITIVE, &options->fps);
  s2_keys_number(keys, "speed", S2_POSITIVE, &options->speed);
  read_trails(keys, lw, options);
  if (options->trails == S2_TRAILS_LISTED && is_one_of(path, ".html", ".html")) {
    s2_keys_fail(keys, "trails",
                 "must be true or false for a page, where the reader chooses the bodies");
  }
  read_strobe(keys, options);
}
