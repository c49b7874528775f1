// world:draw, world:record and --record.
#include "binding.h"
#include "validate.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

typedef struct Recording {
  const char *type;
  S2LuaWorld *lw; // kept alive by the user value
  int64_t id;     // in lw->recorders, while it runs
} Recording;

enum { PATH_SIZE = 4096 }; // bytes, as long as paths get

// ---- Recorders --------------------------------------------------------------------------------

static S2Status record_frame(S2LuaWorld *lw, const S2LuaRecorder *recorder) {
  if (recorder->recorder != NULL) {
    return s2_recorder_frame(recorder->recorder, lw->world);
  }
  return recorder->compared ? s2_validator_frame(lw->session->open.validator, lw->world) : s2_ok();
}

static void describe_run(const S2Session *session, int every, S2Recorder *recorder) {
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
  s2_recorder_run(recorder, &run);
  s2_run_free(&run);
}

// Opens a recorder and writes the present as its first frame. When a run is validated nothing is
// written: the recording in question is compared, others are left out.
static S2Status open_recorder(S2LuaWorld *lw, const char *path, int every, int64_t *id) {
  S2Session *session = &lw->session->open;
  S2Recorder *recorder = NULL;
  session->recordings++;
  bool compared =
      session->validator != NULL && s2_validator_wants(session->validator, session->recordings);
  if (session->validator == NULL) {
    S2Status status = s2_recorder_open(path, &recorder);
    if (status.code != S2_OK) {
      return status;
    }
    describe_run(session, every, recorder);
  }
  S2LuaRecorder opened = {
      .recorder = recorder, .compared = compared, .id = lw->next_recorder + 1, .every = every};
  S2Status status = record_frame(lw, &opened);
  if (status.code != S2_OK) {
    (void)s2_recorder_close(recorder);
    return status;
  }
  *id = ++lw->next_recorder;
  *s2_array_append(lw->recorders) = opened;
  return status;
}

static S2Status close_recorder(S2LuaWorld *lw, int at) {
  S2Status status = s2_recorder_close(lw->recorders.at[at].recorder);
  lw->recorders.count--;
  for (int i = at; i < lw->recorders.count; i++) {
    lw->recorders.at[i] = lw->recorders.at[i + 1];
  }
  return status;
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

// The path of the nth world: "run.csv", "run-2.csv", ...
static void numbered(const char *path, int n, char *result) {
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

void s2_lua_record_first(lua_State *L, S2LuaWorld *lw) {
  S2Session *session = &lw->session->open;
  char path[PATH_SIZE];
  lw->stepped = true;
  session->worlds++;
  if (session->record_path != NULL) {
    int64_t id;
    numbered(session->record_path, session->worlds, path);
    s2_lua_try(L, open_recorder(lw, path, 1, &id));
  }
  if (session->dump_directory != NULL) {
    numbered(session->dump_directory, session->worlds, path);
    if (mkdir(path, 0777) != 0 && errno != EEXIST) { // the first world's is there already
      s2_lua_fail(L, "--dump-problems '%s': %s", path, strerror(errno));
    }
    s2_lua_try(L, s2_world_dump_problems(lw->world, path));
  }
}

void s2_lua_record_step(lua_State *L, S2LuaWorld *lw) {
  for (int i = 0; i < lw->recorders.count; i++) {
    S2LuaRecorder *recorder = &lw->recorders.at[i];
    if (recorder->failed || ++recorder->skipped < recorder->every) {
      continue;
    }
    recorder->skipped = 0;
    S2Status status = record_frame(lw, recorder);
    if (status.code == S2_IO) {
      // The run goes on without it; closing tells of it again, and the command's exit status.
      recorder->failed = true;
      fflush(stdout);
      fprintf(stderr, "sim2d: warning: the recording ends here: %s\n", status.message);
    } else if (status.code != S2_OK) {
      (void)close_recorder(lw, i); // the first failure is the one to tell
      s2_lua_try(L, status);
    }
  }
}

// ---- Lua --------------------------------------------------------------------------------------

// Trouble with files is not the script's fault: it gets nil and the message.
static int result(lua_State *L, S2Status status) {
  if (status.code == S2_IO) {
    lua_pushnil(L);
    lua_pushstring(L, status.message);
    return 2;
  }
  if (status.code == S2_INVALID || status.code == S2_UNAVAILABLE) {
    return s2_lua_bad_argument(L, 2, "%s", status.message);
  }
  s2_lua_try(L, status);
  return 0;
}

static const char *check_path(lua_State *L) {
  char text[S2_LUA_TEXT];
  if (lua_type(L, 2) != LUA_TSTRING) {
    s2_lua_bad_argument(L, 2, "path expected, got %s", s2_lua_describe(L, 2, text));
  }
  return lua_tostring(L, 2);
}

static int world_draw(lua_State *L) {
  static const char *const names[] = {"width", "contacts", "joints", "names",
                                      "fit",   "lo",       "hi",     NULL};
  enum { MAX_WIDTH = 100000 }; // pixels; more is a slip
  S2LuaWorld *lw = s2_lua_world(L, 1);
  lua_settop(L, 3);
  const char *path = check_path(L);
  S2Keys keys = s2_keys_open(L, 3, true, names, NULL, 0);
  S2DrawOptions options = s2_draw_options();
  int64_t width = options.width;
  s2_keys_integer(&keys, "width", 1, MAX_WIDTH, &width);
  options.width = (int)width;
  s2_keys_boolean(&keys, "contacts", &options.contacts);
  s2_keys_boolean(&keys, "joints", &options.joints);
  s2_keys_boolean(&keys, "names", &options.names);
  bool has_lo = s2_keys_vec2(&keys, "lo", &options.lo);
  bool has_hi = s2_keys_vec2(&keys, "hi", &options.hi);
  if (has_lo != has_hi) {
    return s2_keys_fail(&keys, has_lo ? "lo" : "hi", "lo and hi are expected together");
  }
  if (has_lo && (options.lo.x >= options.hi.x || options.lo.y >= options.hi.y)) {
    return s2_keys_fail(&keys, "hi", "a corner above and right of lo expected");
  }
  options.fit = !has_lo;
  s2_keys_boolean(&keys, "fit", &options.fit);
  S2Status status = s2_world_draw(lw->world, path, &options);
  if (status.code != S2_OK) {
    return result(L, status);
  }
  lua_pushboolean(L, 1);
  return 1;
}

static int world_record(lua_State *L) {
  static const char *const names[] = {"every", NULL};
  S2LuaWorld *lw = s2_lua_world(L, 1);
  lua_settop(L, 3);
  const char *path = check_path(L);
  S2Keys keys = s2_keys_open(L, 3, true, names, NULL, 0);
  int64_t every = 1;
  s2_keys_integer(&keys, "every", 1, INT32_MAX, &every);
  Recording *recording = lua_newuserdatauv(L, sizeof *recording, 1);
  *recording = (Recording){.type = s2_type_recording, .lw = lw};
  luaL_setmetatable(L, "sim2d.Recording");
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, 1);
  S2Status status = open_recorder(lw, path, (int)every, &recording->id);
  return status.code == S2_OK ? 1 : result(L, status);
}

static int recording_close(lua_State *L) {
  const Recording *recording = s2_lua_check(L, 1, s2_type_recording);
  S2LuaWorld *lw = recording->lw;
  for (int i = 0; i < lw->recorders.count; i++) {
    if (lw->recorders.at[i].id == recording->id) {
      S2Status status = close_recorder(lw, i);
      if (status.code != S2_OK) {
        return result(L, status);
      }
      break;
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
