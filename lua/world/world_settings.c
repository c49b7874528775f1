// Settings of a world, defined in fields.def. They are keys of sim.world{...} and fields of the
// world.
#include "lua/diff/on_tape.h"
#include "lua/solve/program_solver.h"

#include <string.h>

const char *const s2_setting_names[] = {
#define S2_SETTING(member, type, default, domain, names, unit, derivative, meaning) #member,
#include "dynamics/fields.def"
    "post_stabilization", // short name for two values of `stabilization`
    NULL,
};

enum { POST_STABILIZATION = sizeof s2_setting_names / sizeof s2_setting_names[0] - 2 };

static bool is_solver(int setting) {
  return setting != POST_STABILIZATION && s2_world_fields[setting].names == s2_solver_names;
}

bool s2_setting_read(lua_State *L, int index, int setting, S2WorldDef *def,
                     S2Complaint *complaint) {
  // The value may be the name of a solver that the script registered.
  if (is_solver(setting) && lua_type(L, index) == LUA_TSTRING) {
    int number = s2_lua_program_solver(L, lua_tostring(L, index));
    if (number > 0) {
      def->solver = S2_SOLVER_PROGRAM;
      def->solver_program = number;
      return true;
    }
    if (strcmp(lua_tostring(L, index), s2_solver_name(S2_SOLVER_PROGRAM)) == 0) {
      return s2_complain(
          complaint,
          "'program' stands for all functions given to sim.solver: give the name of one of them");
    }
  }
  // `post_stabilization` selects one of two values of `stabilization`.
  if (setting != POST_STABILIZATION) {
    return s2_lua_field_read(L, index, &s2_world_fields[setting], def, complaint);
  }
  bool flag = false;
  if (!s2_value_boolean(L, index, &flag, complaint)) {
    return false;
  }
  def->stabilization = flag ? S2_PROJECTION : S2_NO_STABILIZATION;
  return true;
}

void s2_setting_push(lua_State *L, int setting, const S2WorldDef *def) {
  if (is_solver(setting) && def->solver == S2_SOLVER_PROGRAM) {
    s2_lua_push_program_solver(L, def->solver_program);
  } else if (setting != POST_STABILIZATION) {
    s2_lua_field_push(L, &s2_world_fields[setting], def, "world.gravity");
  } else {
    lua_pushboolean(L, def->stabilization != S2_NO_STABILIZATION);
  }
}

// ---- Tracked ----------------------------------------------------------------------------------

// Finds the tape places of a setting that has a derivative. Returns their number.
static int setting_places(int setting, S2Place places[2]) {
  static const S2WorldNumber numbers[] = {
#define S2_SETTING(member, type, default, domain, names, unit, derivative, meaning) derivative,
#include "dynamics/fields.def"
      S2_OF_NONE, // post_stabilization
  };
  // The setting is not a number, or has no smooth effect.
  if (numbers[setting] == S2_OF_NONE) {
    return 0;
  }
  places[0] = s2_place(S2_PLACE_WORLD, 0, (int)numbers[setting]);
  places[1] = s2_place(S2_PLACE_WORLD, 0, (int)numbers[setting] + 1);
  return s2_world_fields[setting].domain == S2_FIELD_VECTOR ? 2 : 1;
}

S2SettingReads s2_setting_reads(lua_State *L, const S2LuaWorld *lw) {
  S2SettingReads reads = {.object = lua_gettop(L)};
  reads.begin = s2_lua_writes(L, lw);
  return reads;
}

void s2_setting_was_read(lua_State *L, int setting, const S2WorldDef *def, S2SettingReads *reads) {
  const S2LuaRead *list;
  S2Place places[2];
  // Without a tape, nothing was recorded.
  if (reads->begin == 0) {
    return;
  }
  // Tracked numbers that were read since the last setting belong to this setting.
  int count = s2_lua_tracked_count(L, reads->begin, &list), known = setting_places(setting, places);
  if (count > reads->count && known == 0) {
    s2_lua_fail(L,
                "World.%s has no derivative: give a plain number (x:value() of a tracked number)",
                s2_setting_names[setting]);
  }
  // The address distinguishes the second number of a vector from the first number.
  for (int r = reads->count; r < count; r++) {
    bool second = list[r].where == &def->gravity.y;
    reads->term[reads->terms++] =
        (S2Term){.to = reads->places + (second ? 1 : 0), .from = list[r].var, .factor = 1};
  }
  // Append the places of this setting.
  for (int i = 0; i < known && (size_t)reads->places < sizeof reads->place / sizeof places[0];
       i++) {
    reads->place[reads->places++] = places[i];
  }
  reads->count = count;
}

void s2_setting_wrote(lua_State *L, S2LuaWorld *lw, const S2SettingReads *reads) {
  // Record all settings in a table on the tape at once.
  const S2LuaRead *list;
  int count;
  S2WorldTape *tape = s2_lua_written(L, lw, reads->begin, &count, &list);
  if (tape != NULL && reads->places > 0) {
    s2_world_tape_write(tape, lw->world, reads->places, reads->place, reads->terms, reads->term);
    // If dt is tracked, the time depends on tracked numbers too.
    for (int i = 0; i < reads->terms; i++) {
      lw->dt_on_tape |= reads->place[reads->term[i].to].number == S2_OF_DT;
    }
  }
}

bool s2_setting_push_tracked(lua_State *L, int setting, S2LuaWorld *lw) {
  S2Place places[2];
  int count = setting_places(setting, places);
  if (count == 1) {
    s2_lua_push_place(L, lw, places[0]);
  } else if (count == 2) {
    s2_lua_push_places(L, lw, count, places);
  }
  return count > 0;
}
