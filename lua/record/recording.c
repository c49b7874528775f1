// world:draw, world:record and --record.
#include "lua/record/drawing.h"
#include "lua/record/live.h"
#include "lua/record/picture_words.h"
#include "lua/solve/validate.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

typedef struct Recording {
  const char *type;
  S2LuaWorld *lw; // the user value keeps the world alive
  int64_t id;     // id in lw->recorders while the recording is open
} Recording;

enum { PATH_SIZE = 4096 }; // Maximum path length in bytes.

// ---- Recorders --------------------------------------------------------------------------------

// Returns the index of a recorder, or -1 if the recorder is closed.
static int recording_place_of(const S2LuaWorld *lw, int64_t id) {
  for (int i = 0; i < lw->recorders.count; i++) {
    if (lw->recorders.at[i].id == id) {
      return i;
    }
  }
  return -1;
}

static S2Status close_recorder(S2LuaWorld *lw, int at) {
  S2LuaRecorder *closed = &lw->recorders.at[at];
  S2Status status = s2_ok();
  if (closed->rows != NULL) {
    status = s2_lua_rows_close(closed->rows);
  } else if (closed->recorder == NULL || closed->recorder != lw->session->open.page) {
    status = s2_recorder_close(closed->recorder);
  } // otherwise the page stays open for the plots at the end
  lw->recorders.count--;
  for (int i = at; i < lw->recorders.count; i++) {
    lw->recorders.at[i] = lw->recorders.at[i + 1];
  }
  return status;
}

// Stores watched values (sim.watch) as channels. `watched` is the index of the result of
// s2_lua_push_watched.
static void set_channels(lua_State *L, S2LuaRecorder *recorder, int watched) {
  int count = lua_istable(L, watched) ? (int)lua_rawlen(L, watched) / 3 : 0;
  for (int i = 0; i < count; i++) {
    lua_rawgeti(L, watched, 3 * i + 1);
    lua_rawgeti(L, watched, 3 * i + 2);
    lua_rawgeti(L, watched, 3 * i + 3);
    if (i >= recorder->channels) {
      s2_recorder_channel(recorder->recorder, lua_tostring(L, -3), lua_tostring(L, -2));
      recorder->channels++;
    }
    s2_recorder_set(recorder->recorder, i, lua_tonumber(L, -1));
    lua_pop(L, 3);
  }
}

static S2Status record_frame(lua_State *L, S2LuaWorld *lw, S2LuaRecorder *recorder, int watched) {
  if (recorder->rows != NULL) {
    return s2_lua_rows_add(L, lw, recorder->id);
  }
  if (recorder->recorder != NULL) {
    set_channels(L, recorder, watched);
    // Record clock decisions since the last frame.
    const S2Decisions *decided = &lw->session->open.decisions;
    int first = recorder->decisions;
    recorder->decisions = decided->count;
    if (first < decided->count) {
      S2_TRY(
          s2_recorder_decisions(recorder->recorder, decided->at + first, decided->count - first));
    }
    return s2_recorder_frame(recorder->recorder, lw->world);
  }
  return recorder->compared ? s2_validator_frame(lw->session->open.validator, lw->world) : s2_ok();
}

// Returns entries that describe the run, which the caller frees.
static S2Run describe_run(const S2Session *session, int every) {
  S2Run run = {0};
  char number[32];
  s2_run_add(&run, "sim2d", s2_version());
  s2_run_add(&run, "build", s2_build());
  snprintf(number, sizeof number, "%llu", (unsigned long long)session->seed);
  s2_run_add(&run, "seed", number);
  if (session->run != NULL) {
    s2_run_copy(&run, session->run);
  }
  snprintf(number, sizeof number, "%d", session->recordings);
  s2_run_add(&run, "recording", number);
  snprintf(number, sizeof number, "%d", every);
  s2_run_add(&run, "every", number);
  return run;
}

typedef struct Opening {
  const char *path;
  const S2RecordOptions *options;
  int every;
  bool later; // the present state is not the first frame
} Opening;

// Opens a recorder and writes the current state as the first frame. A validated run writes no
// files. It compares one recording and ignores the others.
static S2Status open_recorder(lua_State *L, S2LuaWorld *lw, const Opening *opening, int64_t *id) {
  S2Session *session = &lw->session->open;
  S2Recorder *recorder = NULL;
  s2_lua_push_watched(L, lw); // call this first: it may raise errors or close recordings
  int watched = lua_gettop(L);
  session->recordings++;
  // In a validated run, frames are only compared or ignored.
  bool compared =
      session->validator != NULL && s2_validator_wants(session->validator, session->recordings);
  if (session->validator == NULL) {
    S2Status status = s2_recorder_open_with(opening->path, opening->options, &recorder);
    if (status.code != S2_OK) {
      lua_settop(L, watched - 1);
      return status;
    }
    S2Run run = describe_run(session, opening->every);
    s2_recorder_run(recorder, &run);
    s2_run_free(&run);
  }
  // If the first frame fails, no recording is made.
  S2LuaRecorder opened = {.recorder = recorder,
                          .compared = compared,
                          .id = lw->next_recorder + 1,
                          .every = opening->every};
  S2Status status = opening->later ? s2_ok() : record_frame(L, lw, &opened, watched);
  lua_settop(L, watched - 1);
  if (status.code != S2_OK) {
    (void)s2_recorder_close(recorder);
    return status;
  }
  *id = ++lw->next_recorder;
  *s2_array_append(lw->recorders) = opened;
  return status;
}

typedef struct FirstRow {
  S2LuaWorld *lw;
  int64_t id;
  S2Status status;
} FirstRow;

// The arguments are the world and the first row.
static int add_first(lua_State *L) {
  FirstRow *first = lua_touserdata(L, 2);
  first->status = s2_lua_rows_add(L, first->lw, first->id);
  return 0;
}

// Like open_recorder, for a table of columns. The world is at stack index 1.
static S2Status open_rows(lua_State *L, S2LuaWorld *lw, const S2Keys *keys, const char *path,
                          int every, int64_t *id) {
  S2Status status;
  S2Session *session = &lw->session->open;
  session->recordings++;
  bool written = session->validator == NULL;
  S2LuaRows *rows = s2_lua_rows_read(L, lw, keys, written ? path : NULL, &status);
  if (rows == NULL) {
    return status;
  }
  // Register the recording before its functions run, because they may close it.
  *id = ++lw->next_recorder;
  *s2_array_append(lw->recorders) = (S2LuaRecorder){.rows = rows, .id = *id, .every = every};
  lua_getiuservalue(L, 1, S2_STORE_ROWS);
  lua_insert(L, -2);
  lua_rawseti(L, -2, *id);
  S2Run run = describe_run(session, every);
  s2_lua_rows_run(rows, &run);
  s2_run_free(&run);
  // If the first row fails, close the recording, because no object would refer to it.
  FirstRow first = {lw, *id, s2_ok()};
  lua_pushcfunction(L, s2_lua_keep_traceback);
  lua_pushcfunction(L, add_first);
  lua_pushvalue(L, 1);
  lua_pushlightuserdata(L, &first);
  bool raised = lua_pcall(L, 2, 0, -4) != LUA_OK;
  int at = raised || first.status.code != S2_OK ? recording_place_of(lw, *id) : -1;
  if (at >= 0) {
    (void)close_recorder(lw, at);
  }
  if (raised) {
    lua_error(L);
  }
  return first.status;
}

bool s2_lua_recorders_close(S2LuaWorld *lw, S2Status *status) {
  *status = s2_ok();
  while (lw->recorders.count > 0) {
    S2Status closed = close_recorder(lw, 0);
    if (status->code == S2_OK) {
      *status = closed;
    }
  }
  return status->code == S2_OK;
}

S2Status s2_lua_page_close(S2Session *session) {
  S2Status status = s2_ok();
  s2_live_plots(session->live, &session->plots);
  for (int i = 0; session->page != NULL && status.code == S2_OK && i < session->plots.list.count;
       i++) {
    const S2Plot *plot = &session->plots.list.at[i];
    status = s2_recorder_plot(session->page, plot->name, plot->svg);
  }
  S2Status closed = s2_recorder_close(session->page);
  session->page = NULL;
  s2_plots_free(&session->plots);
  return status.code == S2_OK ? closed : status;
}

// The path for the nth world, such as "run.csv" for the first and "run-2.csv" for the second.
static void recording_numbered(const char *path, int n, char *result) {
  if (n == 1) {
    snprintf(result, PATH_SIZE, "%s", path);
    return;
  }
  const char *slash = strrchr(path, '/');
  const char *name = slash != NULL ? slash + 1 : path;
  const char *dot = strrchr(name, '.');
  int stem = (int)(dot != NULL && dot != name ? dot - path : (ptrdiff_t)strlen(path));
  snprintf(result, PATH_SIZE, "%.*s-%d%s", stem, path, n, path + stem);
}

// Finds the body of --view-follow in this world. The body must exist in the first world that is
// stepped.
static S2Status followed_of_world(const S2LuaWorld *lw, S2BodyId *follow) {
  const S2Session *session = &lw->session->open;
  *follow = (S2BodyId){0};
  if (session->pictures == NULL || session->pictures->follow == NULL) {
    return s2_ok();
  }
  S2Moment moment = {0};
  S2Status status = s2_moment_capture_bodies(&moment, lw->world);
  if (status.code == S2_OK) {
    status = s2_picture_words_body(session->pictures, &moment, follow);
  }
  s2_moment_free(&moment);
  return session->worlds == 1 || status.code != S2_INVALID ? status : s2_ok();
}

void s2_lua_record_first(lua_State *L, S2LuaWorld *lw) {
  S2Session *session = &lw->session->open;
  char path[PATH_SIZE];
  lw->stepped = true;
  session->worlds++;
  S2BodyId follow;
  s2_lua_try(L, followed_of_world(lw, &follow));
  if (session->live != NULL && follow.index != 0) {
    s2_live_follow_body(session->live, lw, follow);
  }
  if (session->record_path != NULL) {
    int64_t id;
    S2RecordOptions options = session->pictures != NULL
                                  ? s2_picture_words_options(session->pictures, follow)
                                  : s2_record_options();
    recording_numbered(session->record_path, session->worlds, path);
    const Opening opening = {.path = path, .options = &options, .every = 1};
    s2_lua_try(L, open_recorder(L, lw, &opening, &id));
    S2Recorder *recorder = lw->recorders.at[lw->recorders.count - 1].recorder;
    if (session->worlds == 1 && recorder != NULL && s2_recorder_holds_plots(recorder)) {
      session->page = recorder;
    }
  }
  if (session->dump_directory != NULL) {
    recording_numbered(session->dump_directory, session->worlds, path);
    if (mkdir(path, 0777) != 0 && errno != EEXIST) { // the folder may exist already
      s2_lua_fail(L, "--dump-problems '%s': %s", path, strerror(errno));
    }
    s2_lua_try(L, s2_world_dump_problems(lw->world, path));
  }
}

// The recorder that comes after `id`, or NULL after the last. Recorder `id` may be closed.
static S2LuaRecorder *next_recorder(S2LuaWorld *lw, int64_t id) {
  for (int i = 0; i < lw->recorders.count; i++) {
    if (lw->recorders.at[i].id > id) {
      return &lw->recorders.at[i];
    }
  }
  return NULL;
}

// After a write error the run continues without the recording. Closing reports the error again and
// sets the command's exit status.
static void record_failed(lua_State *L, S2LuaWorld *lw, int64_t id, S2Status status) {
  int at = recording_place_of(lw, id);
  if (status.code == S2_IO && at >= 0) {
    lw->recorders.at[at].failed = true;
    fflush(stdout);
    fprintf(stderr, "sim2d: warning: the recording ends here: %s\n", status.message);
    return;
  }
  if (at >= 0) {
    (void)close_recorder(lw, at); // report the first failure
  }
  s2_lua_try(L, status);
}

void s2_lua_record_step(lua_State *L, S2LuaWorld *lw) {
  if (lw->recorders.count == 0) {
    return;
  }
  s2_lua_push_watched(L, lw);
  int watched = lua_gettop(L);
  int64_t last = lw->next_recorder; // recorders opened in this loop already have this frame
  S2LuaRecorder *recorder = next_recorder(lw, 0);
  while (recorder != NULL && recorder->id <= last) {
    int64_t id = recorder->id;
    if (!recorder->failed && ++recorder->skipped >= recorder->every) {
      recorder->skipped = 0;
      S2Status status = record_frame(L, lw, recorder, watched);
      if (status.code != S2_OK) {
        record_failed(L, lw, id, status);
      }
    }
    recorder = next_recorder(lw, id);
  }
  lua_settop(L, watched - 1);
}

// ---- Lua --------------------------------------------------------------------------------------

// File errors and missing libraries are not mistakes in the script, so the script gets nil and the
// message.
static int recording_result(lua_State *L, S2Status status) {
  if (status.code == S2_IO || status.code == S2_UNAVAILABLE) {
    lua_pushnil(L);
    lua_pushstring(L, status.message);
    return 2;
  }
  if (status.code == S2_INVALID) {
    return s2_lua_bad_argument(L, 2, "%s", status.message);
  }
  s2_lua_try(L, status);
  return 0;
}

static const char *recording_check_path(lua_State *L) {
  char text[S2_LUA_TEXT];
  if (lua_type(L, 2) != LUA_TSTRING) {
    s2_lua_bad_argument(L, 2, "path expected, got %s", s2_lua_describe(L, 2, text));
  }
  return lua_tostring(L, 2);
}

static int world_draw(lua_State *L) {
  S2LuaWorld *lw = s2_lua_world(L, 1);
  lua_settop(L, 3);
  const char *path = recording_check_path(L);
  S2Keys keys = s2_keys_open(L, 3, true, s2_lua_draw_keys, NULL, 0);
  S2DrawOptions options = s2_draw_options();
  s2_lua_draw_options(&keys, lw, &options);
  S2Status status = s2_world_draw(lw->world, path, &options);
  if (status.code != S2_OK) {
    return recording_result(L, status);
  }
  lua_pushboolean(L, 1);
  return 1;
}

static int record_world(lua_State *L, bool later) {
  S2LuaWorld *lw = s2_lua_world(L, 1);
  lua_settop(L, 3);
  const char *path = recording_check_path(L);
  S2Keys keys = s2_keys_open(L, 3, true, s2_lua_record_keys, s2_lua_draw_keys, 0);
  S2RecordOptions options = s2_record_options();
  // Read all options. Some formats also use the options of pictures.
  s2_lua_record_options(&keys, lw, path, &options);
  int64_t every = 1;
  s2_keys_integer(&keys, "every", 1, INT32_MAX, &every);
  // The Recording object keeps the world alive.
  Recording *recording = lua_newuserdatauv(L, sizeof *recording, 1);
  *recording = (Recording){.type = s2_type_recording, .lw = lw};
  luaL_setmetatable(L, "sim2d.Recording");
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, 1);
  int top = lua_gettop(L);
  // A recording with columns takes fewer options.
  bool columns = s2_keys_has(&keys, "columns");
  if (!columns && s2_keys_has(&keys, "units")) {
    return s2_keys_fail(&keys, "units", "requires `columns`; other recordings have fixed units");
  }
  for (int i = 0; i < 2 && columns; i++) {
    const char *key = i == 0 ? "from" : "to";
    if (s2_keys_has(&keys, key)) {
      return s2_keys_fail(
          &keys, key,
          "cannot be combined with `columns`: call world:record and close at these times");
    }
  }
  if (columns && later) {
    return s2_keys_fail(&keys, "columns", "is not available for episodes; record env.world");
  }
  const Opening opening = {path, &options, (int)every, later};
  S2Status status = columns ? open_rows(L, lw, &keys, path, (int)every, &recording->id)
                            : open_recorder(L, lw, &opening, &recording->id);
  lua_settop(L, top);
  return status.code == S2_OK ? 1 : recording_result(L, status);
}

static int world_record(lua_State *L) {
  return record_world(L, false);
}

// ---- Recordings of several worlds ---------------------------------------------------------------

// (world, path, options): like world:record, but the first frame is the next one, which may come
// from another world.
int s2_lua_record_later(lua_State *L) {
  return record_world(L, true);
}

// (world, recording): the recording continues with this world, whose present state is the next
// frame. Returns false if the recording is closed.
int s2_lua_record_next(lua_State *L) {
  S2LuaWorld *lw = s2_lua_world(L, 1);
  Recording *recording = s2_lua_check(L, 2, s2_type_recording);
  S2LuaWorld *from = recording->lw;
  lua_settop(L, 2);
  s2_lua_push_watched(L, lw); // call this first: it may raise errors or close recordings
  int at = recording_place_of(from, recording->id);
  if (at < 0) {
    lua_pushboolean(L, 0);
    return 1;
  }
  if (from != lw) {
    // The entry moves to the list of the new world, and the object keeps this world alive.
    S2LuaRecorder moved = from->recorders.at[at];
    from->recorders.count--;
    for (int i = at; i < from->recorders.count; i++) {
      from->recorders.at[i] = from->recorders.at[i + 1];
    }
    moved.id = recording->id = ++lw->next_recorder;
    *s2_array_append(lw->recorders) = moved;
    recording->lw = lw;
    lua_pushvalue(L, 1);
    lua_setiuservalue(L, 2, 1);
    at = lw->recorders.count - 1;
  }
  S2LuaRecorder *recorder = &lw->recorders.at[at];
  recorder->skipped = 0;
  S2Status status = recorder->failed ? s2_ok() : record_frame(L, lw, recorder, 3);
  if (status.code != S2_OK) {
    record_failed(L, lw, recording->id, status);
  }
  lua_pushboolean(L, 1);
  return 1;
}

static int recording_close(lua_State *L) {
  const Recording *recording = s2_lua_check(L, 1, s2_type_recording);
  S2LuaWorld *lw = recording->lw;
  int at = recording_place_of(lw, recording->id);
  if (at >= 0) {
    S2Status status = close_recorder(lw, at);
    lua_getiuservalue(L, 1, 1);
    lua_getiuservalue(L, -1, S2_STORE_ROWS);
    lua_pushnil(L);
    lua_rawseti(L, -2, recording->id);
    if (status.code != S2_OK) {
      return recording_result(L, status);
    }
  }
  lua_pushboolean(L, 1);
  return 1;
}

static int recording_tostring(lua_State *L) {
  (void)s2_lua_check(L, 1, s2_type_recording);
  lua_pushliteral(L, "Recording");
  return 1;
}

static int recording_no_field(lua_State *L) {
  return s2_lua_no_field(L, "Recording", 2, lua_upvalueindex(1));
}

// ---- Decisions of clocks ----------------------------------------------------------------------

// In a validated run, pushes the clock decision that was recorded at this point. It is a number, or
// nil if none was recorded.
int s2_lua_decided(lua_State *L) {
  const S2Session *session = s2_session(L);
  uint32_t decision;
  if (session->validator == NULL ||
      !s2_validator_decision(session->validator, session->decisions.count, &decision)) {
    lua_pushnil(L);
  } else {
    lua_pushinteger(L, decision);
  }
  return 1;
}

// (number): stores a decision for recordings.
int s2_lua_decide(lua_State *L) {
  *s2_array_append(s2_session(L)->decisions) = (uint32_t)luaL_checkinteger(L, 1);
  return 0;
}

// ---- Plots ------------------------------------------------------------------------------------

// True if plots of the script can be shown, because a page is being recorded or a viewer is open.
static bool plots_wanted(const S2Session *session) {
  const char *suffix = session->record_path == NULL ? "" : s2_path_suffix(session->record_path);
  bool records = session->validator == NULL &&
                 (strcasecmp(suffix, ".html") == 0 || strcasecmp(suffix, ".s2d") == 0);
  return records || (session->live != NULL && session->live->server != NULL);
}

int s2_lua_plots_wanted(lua_State *L) {
  lua_pushboolean(L, plots_wanted(s2_session(L)));
  return 1;
}

// (name, svg): shows the plot. Returns false if neither a page nor a viewer shows it.
int s2_lua_plot_show(lua_State *L) {
  S2Session *session = s2_session(L);
  bool wanted = plots_wanted(session);
  if (wanted) {
    s2_plots_put(&session->plots, luaL_checkstring(L, 1), luaL_checkstring(L, 2));
  }
  lua_pushboolean(L, wanted);
  return 1;
}

// (recording, name, svg): records a plot. Returns true, or nil and a message.
int s2_lua_plot_record(lua_State *L) {
  const Recording *recording = s2_lua_check(L, 1, s2_type_recording);
  S2LuaWorld *lw = recording->lw;
  int at = recording_place_of(lw, recording->id);
  if (at < 0) {
    return s2_lua_fail(L, "'plot': the recording is closed");
  }
  const S2LuaRecorder *recorder = &lw->recorders.at[at];
  S2Status status = s2_ok();
  if (recorder->rows != NULL) {
    status = s2_error(S2_INVALID, "a recording with columns holds no plots");
  } else if (recorder->recorder != NULL) {
    status = s2_recorder_plot(recorder->recorder, luaL_checkstring(L, 2), luaL_checkstring(L, 3));
  }
  if (status.code == S2_INVALID) {
    return s2_lua_fail(L, "bad argument #1 to 'plot' (%s)", status.message);
  }
  if (status.code != S2_OK) {
    return recording_result(L, status);
  }
  lua_pushboolean(L, 1);
  return 1;
}

// Pushes the table of Recording's methods, so that modules can add to it.
int s2_lua_recording_methods(lua_State *L) {
  luaL_getmetatable(L, "sim2d.Recording");
  lua_getfield(L, -1, "__index");
  return 1;
}

const luaL_Reg s2_world_record_methods[] = {
    {"draw", world_draw}, {"record", world_record}, {NULL, NULL}};

void s2_lua_open_recording(lua_State *L) {
  static const luaL_Reg methods[] = {{"close", recording_close}, {NULL, NULL}};
  static const luaL_Reg meta[] = {
      {"__close", recording_close}, {"__tostring", recording_tostring}, {NULL, NULL}};
  s2_lua_metatable(L, s2_type_recording);
  luaL_setfuncs(L, meta, 0);
  lua_newtable(L);
  s2_lua_functions(L, methods, 0);
  lua_createtable(L, 0, 1);
  lua_pushvalue(L, -2);
  lua_pushcclosure(L, recording_no_field, 1);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
}
