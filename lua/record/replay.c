// host.replay: C functions for reading recordings (read_recording.lua).
#include "lua/record/replay.h"

#include "dynamics/annotation.h"
#include "lua/diff/array.h"
#include "lua/world/binding.h"
#include "record/s2d/replay_column.h"
#include "record/s2d/s2d.h"

#include <inttypes.h>
#include <stdio.h>

static const char REPLAY[] = "sim2d.Replay";

typedef struct Reader {
  S2Replay *replay; // NULL if closed
  // Set while objects are created. Finalisers in the script may run during this time and must not
  // use the reader.
  bool busy;
} Reader;

static int reader_collect(lua_State *L) {
  Reader *reader = luaL_checkudata(L, 1, REPLAY);
  s2_replay_close(reader->replay);
  reader->replay = NULL;
  return 0;
}

static Reader *check_reader(lua_State *L) {
  Reader *reader = luaL_checkudata(L, 1, REPLAY);
  if (reader->replay == NULL) {
    s2_lua_fail(L, "the recording is closed");
  } else if (reader->busy) {
    s2_lua_fail(L, "the recording is being read");
  }
  return reader;
}

static int reader_close(lua_State *L) {
  const Reader *reader = luaL_checkudata(L, 1, REPLAY);
  if (reader->replay != NULL) {
    (void)check_reader(L);
    reader_collect(L);
  }
  return 0;
}

static int replay_trouble(lua_State *L, S2Status status) {
  lua_pushnil(L);
  lua_pushstring(L, status.message);
  return 2;
}

// (path): returns a reader, or nil and a message.
static int replay_open(lua_State *L) {
  const char *path = luaL_checkstring(L, 1);
  Reader *reader = lua_newuserdatauv(L, sizeof *reader, 0);
  *reader = (Reader){0};
  if (luaL_newmetatable(L, REPLAY)) {
    lua_pushcfunction(L, reader_collect);
    lua_setfield(L, -2, "__gc");
  }
  lua_setmetatable(L, -2);
  S2Status status = s2_replay_open(path, &reader->replay);
  return status.code == S2_OK ? 1 : replay_trouble(L, status);
}

// ---- The whole --------------------------------------------------------------------------------

// (reader): returns {count =, complete =, version =, entries = {key, value, key ...}}.
static int replay_about(lua_State *L) {
  const S2Replay *replay = check_reader(L)->replay;
  lua_createtable(L, 0, 4);
  lua_pushinteger(L, (lua_Integer)s2_replay_frame_count(replay));
  lua_setfield(L, -2, "count");
  lua_pushboolean(L, s2_replay_complete(replay));
  lua_setfield(L, -2, "complete");
  lua_pushinteger(L, S2_S2D_VERSION);
  lua_setfield(L, -2, "version");
  const S2Run *run = s2_replay_run(replay);
  lua_createtable(L, 2 * run->entries.count, 0);
  for (int i = 0; i < run->entries.count; i++) {
    lua_pushstring(L, run->entries.at[i].key);
    lua_rawseti(L, -2, 2 * i + 1);
    lua_pushstring(L, run->entries.at[i].value);
    lua_rawseti(L, -2, 2 * i + 2);
  }
  lua_setfield(L, -2, "entries");
  return 1;
}

static int plots_collect(lua_State *L) {
  s2_plots_free(lua_touserdata(L, 1));
  return 0;
}

// (reader): returns {{name =, svg =}, ...}.
static int replay_plots(lua_State *L) {
  S2Replay *replay = check_reader(L)->replay;
  S2Plots *plots = lua_newuserdatauv(L, sizeof *plots, 0); // Lua frees this even after an error
  *plots = (S2Plots){0};
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, plots_collect);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  s2_replay_plots(replay, plots);
  lua_createtable(L, plots->list.count, 0);
  for (int i = 0; i < plots->list.count; i++) {
    lua_createtable(L, 0, 2);
    lua_pushstring(L, plots->list.at[i].name);
    lua_setfield(L, -2, "name");
    lua_pushstring(L, plots->list.at[i].svg);
    lua_setfield(L, -2, "svg");
    lua_rawseti(L, -2, i + 1);
  }
  s2_plots_free(plots);
  return 1;
}

// (reader, name): returns an array with one number per frame. On failure returns nil, a message,
// and true if the name is wrong.
static int replay_column(lua_State *L) {
  S2Replay *replay = check_reader(L)->replay;
  uint64_t count = s2_replay_frame_count(replay);
  if (count > INT32_MAX) {
    return replay_trouble(L, s2_error(S2_INVALID, "the recording has more frames than an array can "
                                                  "hold"));
  }
  S2LuaArray *array = s2_lua_array_push(L, s2_size_list((int)count));
  S2Status status = s2_replay_column(replay, luaL_checkstring(L, 2), array->data);
  if (status.code == S2_OK) {
    return 1;
  }
  replay_trouble(L, status);
  lua_pushboolean(L, status.code == S2_INVALID);
  return 3;
}

// ---- Frames -----------------------------------------------------------------------------------

static void replay_set_number(lua_State *L, const char *name, double value) {
  lua_pushnumber(L, value);
  lua_setfield(L, -2, name);
}

static void set_flag(lua_State *L, const char *name, bool value) {
  lua_pushboolean(L, value);
  lua_setfield(L, -2, name);
}

static void set_text(lua_State *L, const char *name, const char *text) {
  lua_pushstring(L, text);
  lua_setfield(L, -2, name);
}

static void set_pair(lua_State *L, const char *name, S2Vec2 value) {
  lua_createtable(L, 2, 0);
  lua_pushnumber(L, value.x);
  lua_rawseti(L, -2, 1);
  lua_pushnumber(L, value.y);
  lua_rawseti(L, -2, 2);
  lua_setfield(L, -2, name);
}

static void replay_push_bodies(lua_State *L, const S2Moment *moment) {
  static const char *const types[] = {"dynamic", "static", "kinematic"};
  static const char *const q[] = {"angle", "x", "y"}, *const v[] = {"omega", "vx", "vy"};
  lua_createtable(L, moment->bodies.count, 0);
  for (int i = 0; i < moment->bodies.count; i++) {
    const S2MomentBody *body = &moment->bodies.at[i];
    lua_createtable(L, 0, 13);
    set_text(L, "name", body->name);
    set_text(L, "type", types[body->type]);
    lua_pushinteger(L, (lua_Integer)body->id.serial);
    lua_setfield(L, -2, "serial");
    for (int k = 0; k < 3; k++) {
      replay_set_number(L, q[k], body->q[k]);
      replay_set_number(L, v[k], body->v[k]);
    }
    replay_set_number(L, "mass", body->mass);
    replay_set_number(L, "inertia", body->inertia);
    set_flag(L, "sensor", body->sensor);
    set_flag(L, "enabled", body->enabled);
    lua_rawseti(L, -2, i + 1);
  }
}

// Stores the table of a body in the frame. If there is no body, the object is attached to the
// world.
static void replay_set_body(lua_State *L, int bodies, const char *name, int32_t at) {
  if (at >= 0) {
    lua_rawgeti(L, bodies, at + 1);
    lua_setfield(L, -2, name);
  }
}

static void push_contacts(lua_State *L, const S2Moment *moment, int bodies) {
  lua_createtable(L, moment->contacts.count, 0);
  for (int i = 0; i < moment->contacts.count; i++) {
    const S2MomentContact *contact = &moment->contacts.at[i];
    lua_createtable(L, 0, 8);
    replay_set_body(L, bodies, "a", contact->a);
    replay_set_body(L, bodies, "b", contact->b);
    set_pair(L, "point", contact->point);
    set_pair(L, "normal", contact->normal);
    replay_set_number(L, "gap", contact->gap);
    replay_set_number(L, "normal_impulse", contact->normal_impulse);
    replay_set_number(L, "tangent_impulse", contact->tangent_impulse);
    set_flag(L, "sliding", contact->sliding);
    lua_rawseti(L, -2, i + 1);
  }
}

static void push_joints(lua_State *L, const S2Moment *moment, int bodies) {
  lua_createtable(L, moment->joints.count, 0);
  for (int i = 0; i < moment->joints.count; i++) {
    const S2MomentJoint *joint = &moment->joints.at[i];
    lua_createtable(L, 0, 11);
    set_text(L, "name", joint->name);
    set_text(L, "type", s2_joint_type_name(joint->type));
    lua_pushinteger(L, (lua_Integer)joint->id.serial);
    lua_setfield(L, -2, "serial");
    replay_set_body(L, bodies, "a", joint->a);
    replay_set_body(L, bodies, "b", joint->b);
    set_pair(L, "anchor_a", joint->anchor_a);
    set_pair(L, "anchor_b", joint->anchor_b);
    set_pair(L, "impulse", joint->impulse);
    replay_set_number(L, "angle", joint->angle);
    replay_set_number(L, "speed", joint->speed);
    set_flag(L, "enabled", joint->enabled);
    lua_rawseti(L, -2, i + 1);
  }
}

static void push_annotations(lua_State *L, const S2Moment *moment) {
  lua_createtable(L, moment->annotations.count, 0);
  for (int i = 0; i < moment->annotations.count; i++) {
    const S2MomentAnnotation *of = &moment->annotations.at[i];
    lua_createtable(L, 0, 7);
    set_text(L, "type", s2_annotation_type_name(of->type));
    set_text(L, "text", of->text);
    lua_pushinteger(L, (lua_Integer)of->color);
    lua_setfield(L, -2, "color");
    // A point and a text have one position. Lines and arrows have two.
    if (of->type == S2_ANNOTATION_LINE || of->type == S2_ANNOTATION_ARROW) {
      set_pair(L, "from", of->from);
    }
    set_pair(L, "to", of->to);
    replay_set_number(L, "size", of->size);
    replay_set_number(L, "letters", of->letters);
    lua_rawseti(L, -2, i + 1);
  }
}

static void push_channels(lua_State *L, const S2Moment *moment) {
  lua_createtable(L, moment->channels.count, 0);
  for (int i = 0; i < moment->channels.count; i++) {
    const S2MomentChannel *channel = &moment->channels.at[i];
    lua_createtable(L, 0, 3);
    set_text(L, "name", channel->name);
    set_text(L, "unit", channel->unit);
    replay_set_number(L, "value", channel->value);
    lua_rawseti(L, -2, i + 1);
  }
}

static void push_settings(lua_State *L, const S2Moment *moment) {
  lua_newtable(L);
  for (int i = 0; s2_setting_names[i] != NULL; i++) {
    s2_setting_push(L, i, &moment->settings);
    lua_setfield(L, -2, s2_setting_names[i]);
  }
}

static void push_numbers(lua_State *L, const S2Moment *moment) {
  char hash[24];
  lua_pushinteger(L, (lua_Integer)moment->step);
  lua_setfield(L, -2, "step");
  snprintf(hash, sizeof hash, "%016" PRIx64, moment->hash);
  set_text(L, "hash", hash);
  replay_set_number(L, "time", moment->time);
  replay_set_number(L, "residual", moment->residual);
  replay_set_number(L, "iterations", moment->iterations);
  lua_createtable(L, 0, 3);
  replay_set_number(L, "kinetic", moment->kinetic);
  replay_set_number(L, "potential", moment->potential);
  replay_set_number(L, "total", moment->kinetic + moment->potential);
  lua_setfield(L, -2, "energy");
  lua_createtable(L, 0, 3);
  replay_set_number(L, "angular", moment->momentum[0]);
  replay_set_number(L, "x", moment->momentum[1]);
  replay_set_number(L, "y", moment->momentum[2]);
  lua_setfield(L, -2, "momentum");
}

// (reader, i): returns frame i, counted from 1, as a table, or nil and a message.
static int replay_frame(lua_State *L) {
  Reader *reader = check_reader(L);
  const S2Moment *moment = NULL;
  S2Status status = s2_replay_frame(reader->replay, (uint64_t)luaL_checkinteger(L, 2) - 1, &moment);
  if (status.code != S2_OK) {
    return replay_trouble(L, status);
  }
  // Contacts and joints refer to the bodies in this list.
  reader->busy = true;
  lua_createtable(L, 0, 15);
  push_numbers(L, moment);
  replay_push_bodies(L, moment);
  int bodies = lua_gettop(L);
  push_contacts(L, moment, bodies);
  lua_setfield(L, -3, "contacts");
  push_joints(L, moment, bodies);
  lua_setfield(L, -3, "joints");
  lua_setfield(L, -2, "bodies");
  push_channels(L, moment);
  lua_setfield(L, -2, "channels");
  push_annotations(L, moment);
  lua_setfield(L, -2, "annotations");
  push_settings(L, moment);
  lua_setfield(L, -2, "settings");
  reader->busy = false;
  return 1;
}

void s2_lua_push_replay_host(lua_State *L) {
  static const luaL_Reg functions[] = {{"open", replay_open},
                                       {"about", replay_about},
                                       {"plots", replay_plots},
                                       {"column", replay_column},
                                       {"frame", replay_frame},
                                       {"close", reader_close},
                                       {NULL, NULL}};
  luaL_newlib(L, functions);
}
