#include "lua/record/live.h"

#include "base/memory.h"
#include "base/number.h"
#include "base/text.h"
#include "lua/base/traceback.h"
#include "lua/diff/on_tape.h"
#include "record/page/page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double FRAME = 0.012; // time between frames (s), shorter than a frame at 60 Hz
static const double SHARE = 10;    // a late run spends at most 1/SHARE of its time on frames
static const double SLICE = 0.05;  // time between checks for Ctrl-C and saved files (s)
static const double LATE = 0.1;    // longest delay that a run makes up for (s)
static const double QUIET = 0.5;   // time without a step after which another world is shown (s)

// A dragged body follows the hand as a critically damped oscillator of this frequency (Hz).
static const double HAND = 5;

const char s2_live_handler = 'h';

// ---- Texts for the page -----------------------------------------------------------------------

typedef S2_ARRAY(char) Text;

static void add_char(Text *text, char c) {
  *s2_array_append(*text) = c;
}

static void live_add(Text *text, const char *more) {
  for (; *more != '\0'; more++) {
    add_char(text, *more);
  }
}

// Adds a JSON string. Browsers drop the connection if a string is not UTF-8.
static void add_string(Text *text, const char *string) {
  add_char(text, '"');
  while (*string != '\0') {
    char piece[S2_TEXT_PIECE];
    s2_text_next(S2_TEXT_JSON, &string, piece);
    live_add(text, piece);
  }
  add_char(text, '"');
}

void s2_live_notice(S2Live *live, const char *message) {
  if (live == NULL || live->server == NULL) {
    return;
  }
  Text text = {0};
  live_add(&text, "{\"type\":\"notice\",\"text\":");
  add_string(&text, message);
  add_char(&text, '}');
  s2_server_put(live->server, S2_SERVER_NOTICE, text.at, (size_t)text.count);
  s2_array_free(text);
}

static void add_worlds(Text *text, const S2LuaSession *session) {
  enum { MOST = 100 }; // worlds offered to the user
  int count = 0;
  char number[32];
  live_add(text, ",\"worlds\":[");
  for (const S2LuaWorld *lw = session->oldest; lw != NULL && count < MOST; lw = lw->newer) {
    if (lw->stepped) {
      snprintf(number, sizeof number, count++ > 0 ? ",%llu" : "%llu",
               (unsigned long long)lw->number);
      live_add(text, number);
    }
  }
  add_char(text, ']');
}

static void put_state(S2Live *live, const S2LuaSession *session) {
  char numbers[160];
  Text text = {0};
  snprintf(numbers, sizeof numbers,
           "{\"type\":\"state\",\"run\":%d,\"paused\":%s,\"ended\":%s,\"pace\":%.6g,"
           "\"reruns\":%s,\"shown\":%llu",
           live->run, live->paused ? "true" : "false", live->ended ? "true" : "false", live->pace,
           live->unwind != NULL ? "true" : "false",
           live->shown != NULL ? (unsigned long long)live->shown->number : 0);
  live_add(&text, numbers);
  add_worlds(&text, session);
  if (live->followed_in != NULL && live->followed_in == live->shown) {
    snprintf(numbers, sizeof numbers, ",\"follow\":%u", (unsigned)live->followed.serial);
    live_add(&text, numbers);
  }
  if (live->area_in != NULL && live->area_in == live->shown) {
    const S2Vec2 *area = live->area;
    snprintf(numbers, sizeof numbers, ",\"view\":[%.9g,%.9g,%.9g,%.9g]", area[0].x, area[0].y,
             area[1].x, area[1].y);
    live_add(&text, numbers);
  }
  live_add(&text, ",\"script\":");
  add_string(&text, live->script != NULL ? live->script : "");
  add_char(&text, '}');
  // Send the state only if it has changed.
  if (text.count == live->state.count && memcmp(text.at, live->state.at, (size_t)text.count) == 0) {
    s2_array_free(text);
    return;
  }
  s2_server_put(live->server, S2_SERVER_STATE, text.at, (size_t)text.count);
  s2_array_free(live->state);
  live->state.at = text.at;
  live->state.count = text.count;
  live->state.capacity = text.capacity;
}

void s2_live_plots(S2Live *live, const S2Plots *plots) {
  if (live == NULL || live->server == NULL || live->plots == plots->changes) {
    return;
  }
  // Send all plots together, because they are few and change rarely.
  Text text = {0};
  live_add(&text, "{\"type\":\"plots\",\"plots\":[");
  for (int i = 0; i < plots->list.count; i++) {
    live_add(&text, i > 0 ? ",{\"name\":" : "{\"name\":");
    add_string(&text, plots->list.at[i].name);
    live_add(&text, ",\"svg\":");
    add_string(&text, plots->list.at[i].svg);
    add_char(&text, '}');
  }
  live_add(&text, "]}");
  s2_server_put(live->server, S2_SERVER_PLOTS, text.at, (size_t)text.count);
  s2_array_free(text);
  live->plots = plots->changes;
}

// ---- The script's side ------------------------------------------------------------------------

// Pops the values on top of the stack, calls the function of live.lua with the verb and these
// values, and pushes its result. An error in a script function is reported, and so is the second
// result if it is a text. Neither ends the run.
static void call_handler(lua_State *L, S2Live *live, const char *verb, int arguments) {
  // The library loads live.lua. If it is not loaded, the result is nil.
  int first = lua_gettop(L) - arguments + 1;
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &s2_live_handler) != LUA_TFUNCTION) {
    lua_settop(L, first - 1);
    lua_pushnil(L);
    return;
  }
  // Order on the stack: message handler, function, verb, values.
  lua_insert(L, first);
  lua_pushstring(L, verb);
  lua_insert(L, first + 1);
  lua_pushcfunction(L, s2_traceback_handler);
  lua_insert(L, first);
  if (lua_pcall(L, arguments + 1, 2, first) != LUA_OK) {
    lua_pushnil(L); // the result is nil, and the error becomes the text
    lua_insert(L, -2);
  }
  lua_remove(L, first);
  if (!lua_isnil(L, -1)) {
    const char *message = luaL_tolstring(L, -1, NULL);
    fprintf(stderr, "sim2d: %s\n", message);
    s2_live_notice(live, message);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

void s2_lua_push_watched(lua_State *L, S2LuaWorld *lw) {
  lua_pushvalue(L, 1);
  call_handler(L, lw->session->open.live, "watched", 1);
}

void s2_lua_push_watch(lua_State *L, const char *name) {
  lua_pushstring(L, name);
  call_handler(L, s2_session(L)->live, "watch", 1);
}

static void put_result(lua_State *L, S2Live *live, S2ServerMessage message) {
  size_t size = 0;
  const char *text = lua_tolstring(L, -1, &size);
  if (text != NULL) {
    s2_server_put(live->server, message, text, size);
  }
  lua_pop(L, 1);
}

// ---- Showing ----------------------------------------------------------------------------------

// `world` is the stack index of the shown World. If it is 0, the World is not on the stack, and
// watched values are not sent.
static void live_show(lua_State *L, S2Live *live, const S2LuaSession *session, int world) {
  if (live->server == NULL) {
    return;
  }
  // Send the parts that do not need a world.
  put_state(live, session);
  s2_live_plots(live, &session->open.plots);
  call_handler(L, live, "controls", 0);
  put_result(L, live, S2_SERVER_CONTROLS);
  if (live->shown == NULL || !live->stale) {
    return;
  }
  // Send a frame and the watched values at its time. The cost of the frame limits the frame rate.
  double start = s2_lua_clock();
  S2Status status = s2_frames_show(&live->frames, live->server, live->shown->world);
  if (status.code != S2_OK) {
    s2_live_notice(live, status.message);
  }
  if (world != 0) {
    lua_pushvalue(L, world);
    lua_pushnumber(L, s2_world_time(live->shown->world));
    call_handler(L, live, "values", 2);
    put_result(L, live, S2_SERVER_WATCH);
  }
  live->stale = false;
  live->put = s2_lua_clock();
  live->cost = live->put - start;
}

void s2_live_choose(S2Live *live, S2LuaWorld *lw) {
  if (live->shown != lw) {
    live->shown = lw;
    live->stale = lw != NULL;
    live->anchored = false;
    live->put = 0;
    s2_frames_restart(&live->frames);
  }
}

// ---- Commands ---------------------------------------------------------------------------------

// Reads the next word as a number. Returns false if it is not a number.
static bool live_read_number(const char **at, double *value) {
  char *end = NULL;
  *value = s2_number_read(*at, &end);
  bool good = end != *at && (*end == ' ' || *end == '\0') && isfinite(*value);
  *at = end;
  return good;
}

static S2LuaWorld *find_world(const S2LuaSession *session, double number) {
  for (S2LuaWorld *lw = session->oldest; lw != NULL; lw = lw->newer) {
    if (lw->stepped && (double)lw->number == number) {
      return lw;
    }
  }
  return NULL;
}

// Handles the command "grab SLOT SERIAL LOCAL_X LOCAL_Y X Y".
static void live_grab(S2Live *live, S2LiveDrag *drag, const char *at) {
  double value[6];
  for (int i = 0; i < 6; i++) {
    if (!live_read_number(&at, &value[i])) {
      return;
    }
  }
  if (live->shown == NULL || drag->lw != NULL || value[0] < 1 || value[0] > (double)UINT32_MAX ||
      value[1] < 0 || value[1] > (double)UINT32_MAX) {
    return;
  }
  *drag = (S2LiveDrag){.lw = live->shown,
                       .body = {(uint32_t)value[0], (uint32_t)value[1]},
                       .local = {value[2], value[3]},
                       .target = {value[4], value[5]}};
}

static void live_reset(S2Live *live) {
  if (live->unwind != NULL) {
    live->again = true;
    return;
  }
  live->resets = true;
}

static void live_obey(lua_State *L, S2Live *live, const S2LuaSession *session,
                      const S2ServerCommand *command) {
  const char *text = command->text;
  const char *blank = strchr(text, ' ');
  const char *rest = blank != NULL ? blank + 1 : "";
  size_t length = blank != NULL ? (size_t)(blank - text) : strlen(text);
  S2LiveDrag *drag = &live->drags[command->client];
  double x, y;
// This function handles these verbs. All others go to live.lua.
#define IS(verb) (length == sizeof(verb) - 1 && memcmp(text, verb, length) == 0)
  // Commands for the pace of the run. Resuming the run or changing the pace restarts the clock.
  if (IS("pause")) {
    live->paused = true;
    live->steps = 0;
  } else if (IS("resume")) {
    live->paused = false;
    live->anchored = false;
  } else if (IS("step") && live_read_number(&rest, &x) && x >= 1 && x <= 1e9) {
    live->paused = true;
    live->steps += (int64_t)x;
  } else if (IS("pace") && live_read_number(&rest, &x) && x >= 0) {
    live->pace = x;
    live->anchored = false;
    // Commands for the shown world.
  } else if (IS("world") && live_read_number(&rest, &x)) {
    S2LuaWorld *lw = find_world(session, x);
    if (lw != NULL) {
      s2_live_choose(live, lw);
      live->chosen = true;
    }
  } else if (IS("reset")) {
    live_reset(live);
    // Commands for hands. Each client has one hand, which takes effect when the next step begins.
  } else if (IS("grab")) {
    live_grab(live, drag, rest);
  } else if (IS("move") && live_read_number(&rest, &x) && live_read_number(&rest, &y)) {
    drag->target = s2_vec2(x, y);
  } else if (IS("drop")) {
    drag->dropped = true;
  } else {
    // live.lua handles sliders, buttons and keys. A client that disconnects also drops its body.
    drag->dropped |= IS("gone");
    lua_pushinteger(L, command->client);
    lua_pushstring(L, rest);
    lua_pushlstring(L, text, length);
    lua_insert(L, -3);
    call_handler(L, live, "command", 3);
    live->again |= lua_toboolean(L, -1) && live->unwind != NULL;
    lua_pop(L, 1);
  }
#undef IS
}

// `lw` is the World at stack index 1, or NULL if there is none.
static void obey_all(lua_State *L, S2Live *live, const S2LuaSession *session,
                     const S2LuaWorld *lw) {
  S2ServerCommand command;
  if (live->server != NULL && s2_server_take(live->server, &command)) {
    do {
      live_obey(L, live, session, &command);
    } while (s2_server_take(live->server, &command));
    live_show(L, live, session, live->shown == lw && lw != NULL ? 1 : 0);
  }
}

// ---- Hands ------------------------------------------------------------------------------------

static S2Status take_hold(S2LiveDrag *drag, S2World *world) {
  double q[3], mass;
  S2_TRY(s2_body_q(world, drag->body, q));
  S2_TRY(s2_body_get(world, drag->body, S2_BODY_MASS, &mass));
  if (!isfinite(mass)) {
    return s2_error(S2_INVALID, "only dynamic bodies can be dragged");
  }
  double omega = 2 * 3.14159265358979323846 * HAND, c = cos(q[0]), s = sin(q[0]);
  S2JointDef def = s2_joint_def(S2_MOUSE);
  def.a = drag->body;
  def.anchor_a = s2_vec2(q[1] + c * drag->local.x - s * drag->local.y,
                         q[2] + s * drag->local.x + c * drag->local.y);
  def.target = drag->target;
  def.stiffness = mass * omega * omega;
  def.damping.linear = 2 * mass * omega;
  def.name = "hand";
  return s2_joint_create(world, &def, &drag->joint);
}

// Applies the hands to bodies of this world. Called between two steps.
static void move_hands(S2Live *live, S2LuaWorld *lw) {
  for (int i = 0; i < S2_SERVER_CLIENTS; i++) {
    S2LiveDrag *drag = &live->drags[i];
    if (drag->lw != lw) {
      continue;
    }
    bool held = s2_joint_alive(lw->world, drag->joint);
    S2Status status = s2_ok();
    if (drag->dropped || s2_lua_recording(lw) || s2_lua_on_tape(lw) != NULL) {
      if (held) {
        status = s2_joint_destroy(lw->world, drag->joint);
        s2_lua_world_changed(lw);
      }
      *drag = (S2LiveDrag){0};
    } else if (held) {
      status = s2_joint_set_target(lw->world, drag->joint, drag->target);
    } else {
      status = take_hold(drag, lw->world);
      s2_lua_world_changed(lw);
    }
    if (status.code != S2_OK) { // the body does not exist
      *drag = (S2LiveDrag){0};
    }
  }
}

// Returns the world to the state in which it was first shown. Used if the script cannot be rerun.
static void live_start_over(lua_State *L, S2Live *live) {
  lua_pushvalue(L, 1);
  call_handler(L, live, "reset", 1);
  lua_pop(L, 1);
  live->stale = true;
  live->resets = live->anchored = false;
}

// ---- Between steps ----------------------------------------------------------------------------

static void live_follow(S2Live *live, S2LuaWorld *lw, double now) {
  if (live->shown == NULL || (live->shown != lw && !live->chosen && now > live->stepped + QUIET)) {
    s2_live_choose(live, lw);
  }
  if (live->shown == lw) {
    live->stepped = now;
    live->stale = true;
  }
}

// The wall-clock time at which the viewer should show the current state of the world.
static double live_due(S2Live *live, const S2LuaWorld *lw, double now) {
  double time = s2_world_time(lw->world);
  if (live->pace <= 0 || live->shown != lw || live->server == NULL) {
    return now;
  }
  double at = live->anchor_wall + (time - live->anchor_time) / live->pace;
  double longest = s2_world_settings(lw->world)->dt / live->pace + LATE;
  // If the run is late, or if a script has set the time, restart the clock here.
  if (!live->anchored || at < now - LATE || at > now + longest || time < live->anchor_time) {
    live->anchored = true;
    live->anchor_wall = now;
    live->anchor_time = time;
    return now;
  }
  return at;
}

static void raise_if_over(lua_State *L, S2Live *live, const S2LuaSession *session) {
  if (s2_lua_interrupted(session)) {
    s2_lua_fail(L, "interrupted");
  }
  if (live->again) {
    if (live->unwind != NULL) {
      live->unwind();
    }
    s2_lua_fail(L, "interrupted: the script runs again");
  }
}

void s2_lua_live(lua_State *L, S2LuaWorld *lw, bool first) {
  const S2LuaSession *session = lw->session;
  S2Live *live = session->open.live;
  double entered = s2_lua_clock(), now = entered;
  live_follow(live, lw, now);
  // If the script cannot be rerun, a reset restores the first state of the world.
  if (first && live->unwind == NULL && live->shown == lw) {
    lua_pushvalue(L, 1);
    call_handler(L, live, "start", 1); // stores the state for resets
    lua_pop(L, 1);
  }
  double time = live_due(live, lw, now);
  // Until the step is due, handle commands, saved files and frames, then sleep for a time slice.
  bool wanted = first;
  for (;;) {
    obey_all(L, live, session, lw);
    live->again |= s2_watch_look(&live->watch, s2_lua_clock()) && live->unwind != NULL;
    raise_if_over(L, live, session);
    if (live->resets && live->shown == lw) {
      live_start_over(L, live);
    }
    // The run is halted if it is paused or waits for the first viewer.
    now = s2_lua_clock();
    bool halted =
        live->server != NULL && ((live->paused && live->steps == 0) ||
                                 (live->wait && s2_server_client_count(live->server) == 0));
    if (!halted) {
      time = live_due(live, lw, now);
    }
    // Send a frame if the last frame is old enough. The cost of frames must not delay a late run
    // too much.
    wanted |= halted || now >= live->put + fmax(FRAME, SHARE * live->cost) || time > now + FRAME;
    if (wanted && live->stale && live->shown == lw) {
      live_show(L, live, session, 1);
    }
    if (!halted && now >= time) {
      break;
    }
    if (halted && live->wait && !live->paused && !live->asked) {
      live->asked = true;
      fputs("viewer: the run waits until the address is opened (Ctrl-C ends it; --no-wait or "
            "world:view{wait = false} avoids the wait)\n",
            stderr);
    }
    s2_server_wait(live->server, halted ? now + SLICE : fmin(time, now + SLICE));
  }
  // Let the step proceed. A step of the shown world uses up one requested single step.
  live->wait = false;
  if (live->steps > 0 && (live->shown == lw || entered > live->stepped + QUIET)) {
    live->steps--;
  }
  move_hands(live, lw);
}

void s2_lua_live_world_closes(S2LuaWorld *lw) {
  S2Live *live = lw->session->open.live;
  if (live == NULL) {
    return;
  }
  for (int i = 0; i < S2_SERVER_CLIENTS; i++) {
    if (live->drags[i].lw == lw) {
      live->drags[i] = (S2LiveDrag){0};
    }
  }
  live->followed_in = live->followed_in == lw ? NULL : live->followed_in;
  live->area_in = live->area_in == lw ? NULL : live->area_in;
  if (live->shown == lw) { // clients continue to see the last state of this world
    if (live->stale && live->server != NULL) {
      (void)s2_frames_show(&live->frames, live->server, lw->world);
    }
    s2_live_choose(live, NULL);
    live->chosen = false;
  }
}

// ---- Runs -------------------------------------------------------------------------------------

S2Status s2_live_serve(S2Live *live, int port) {
  size_t size = 0;
  const unsigned char *page = s2_page_bytes(&size);
  if (page == NULL) {
    return s2_error(S2_UNAVAILABLE, "this sim2d was built without the live viewer: %s",
                    s2_page_missing());
  }
  S2_TRY(s2_server_open(port, page, size, &live->server));
  fprintf(stderr, "viewer: %s\n", s2_server_address(live->server));
  return s2_ok();
}

void s2_live_begin(S2Live *live) {
  live->again = live->ended = live->chosen = live->resets = false;
  live->steps = 0;
  live->shown = live->followed_in = live->area_in = NULL;
  live->anchored = false;
  live->run++;
  memset(live->drags, 0, sizeof live->drags);
  s2_frames_restart(&live->frames);
  s2_live_notice(live, "");
  s2_live_plots(live, &(S2Plots){0});
}

void s2_live_follow_body(S2Live *live, S2LuaWorld *lw, S2BodyId body) {
  live->followed_in = lw;
  live->followed = body;
}

void s2_live_linger(lua_State *L, S2Live *live, const volatile sig_atomic_t *interrupted) {
  const S2LuaSession *session = s2_lua_session(L);
  live->ended = true;
  if (live->server == NULL) {
    struct timespec slice = {0, (long)(1e9 * SLICE)};
    while (!live->again && *interrupted == 0) {
      live->again = s2_watch_look(&live->watch, s2_lua_clock());
      if (!live->again) {
        nanosleep(&slice, NULL);
      }
    }
    return;
  }
  live_show(L, live, session, 0);
  while (!live->again && *interrupted == 0) {
    obey_all(L, live, session, NULL);
    live->again |= s2_watch_look(&live->watch, s2_lua_clock());
    s2_server_wait(live->server, s2_lua_clock() + SLICE);
  }
}

void s2_live_stop(S2Live *live) {
  s2_server_close(live->server);
  live->server = NULL;
  s2_array_free(live->state);
}

void s2_live_free(S2Live *live) {
  s2_live_stop(live);
  s2_watch_free(&live->watch);
  s2_frames_free(&live->frames);
  for (int i = 0; i < live->settings.count; i++) {
    s2_memory_free(live->settings.at[i].key);
    s2_memory_free(live->settings.at[i].value);
  }
  s2_array_free(live->settings);
}

// ---- Settings ---------------------------------------------------------------------------------

static char *live_copy(const char *text) {
  size_t size = strlen(text) + 1;
  return memcpy(s2_memory_take(size), text, size);
}

static S2LiveSetting *find_setting(const S2Live *live, const char *key) {
  for (int i = 0; i < live->settings.count; i++) {
    if (strcmp(live->settings.at[i].key, key) == 0) {
      return &live->settings.at[i];
    }
  }
  return NULL;
}

const char *s2_live_setting(const S2Live *live, const char *key) {
  const S2LiveSetting *setting = find_setting(live, key);
  return setting != NULL ? setting->value : NULL;
}

void s2_live_keep(S2Live *live, const char *key, const char *value) {
  S2LiveSetting *setting = find_setting(live, key);
  if (setting != NULL) {
    s2_memory_free(setting->value);
    setting->value = live_copy(value);
    return;
  }
  *s2_array_append(live->settings) = (S2LiveSetting){live_copy(key), live_copy(value)};
}
