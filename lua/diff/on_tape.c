#include "lua/diff/on_tape.h"

#include "lua/diff/array.h"

#include <math.h>
#include <string.h>

S2WorldTape *s2_lua_put_on_tape(S2LuaWorld *lw) {
  S2WorldTape *tape = s2_lua_on_tape(lw);
  // Changes of the world are recorded after this call.
  if (tape == NULL) {
    tape = s2_world_tape_new(lw->diff->tape, &lw->diff->flags);
    s2_world_tape_look(tape, &lw->diff->quiet);
    lw->on_tape = tape;
    lw->tape_mark = NULL;
    lw->dt_on_tape = false;
    lw->tape_generation = lw->diff->generation;
  }
  return tape;
}

// ---- Writing ----------------------------------------------------------------------------------

int s2_lua_writes(lua_State *L, const S2LuaWorld *lw) {
  if (!s2_lua_recording(lw)) {
    return 0;
  }
  s2_lua_tracked_begin(L);
  return lua_gettop(L);
}

S2WorldTape *s2_lua_written(lua_State *L, S2LuaWorld *lw, int begin, int *count,
                            const S2LuaRead **list) {
  // A world on the tape also records plain numbers, because they overwrite tracked ones.
  *count = 0;
  *list = NULL;
  if (begin == 0) {
    return NULL;
  }
  *count = s2_lua_tracked_end(L, begin, list);
  return *count > 0 ? s2_lua_put_on_tape(lw) : s2_lua_on_tape(lw);
}

void s2_lua_wrote_from(lua_State *L, S2LuaWorld *lw, int begin, const double *base, int numbers,
                       int count, const int *from, const S2Place *places) {
  enum { MOST = 32 };
  S2Term terms[MOST];
  const S2LuaRead *list;
  int reads, used = 0;
  S2WorldTape *tape = s2_lua_written(L, lw, begin, &reads, &list);
  if (tape == NULL) {
    return;
  }
  for (int r = 0; r < reads; r++) {
    // The index follows from the address of the number.
    ptrdiff_t which = list[r].where - base;
    int before = used;
    for (int i = 0; i < count && which >= 0 && which < numbers; i++) {
      if (from[i] == which && used < MOST) {
        terms[used++] = (S2Term){.to = i, .from = list[r].var, .factor = 1};
      }
    }
    // If a tracked number is written to no place, raise an error instead of losing its derivative
    // silently.
    if (used == before) {
      s2_lua_fail(
          L,
          "this number has no derivative yet: give a plain number (x:value() of a tracked number)");
    }
  }
  s2_world_tape_write(tape, lw->world, count, places, used, terms);
}

void s2_lua_wrote(lua_State *L, S2LuaWorld *lw, int begin, const double *base, int count,
                  const S2Place *places) {
  static const int same[] = {0, 1, 2, 3, 4, 5, 6, 7};
  s2_lua_wrote_from(L, lw, begin, base, count, count, same, places);
}

void s2_lua_not_on_tape(lua_State *L, const S2LuaWorld *lw, const char *what) {
  if (s2_lua_on_tape(lw) != NULL) {
    s2_lua_fail(L,
                "%s has no derivative yet, and this world has received tracked numbers: do this "
                "before the world receives them, or outside the gradient call",
                what);
  }
}

void s2_lua_made(lua_State *L, S2LuaWorld *lw, int begin, bool joint, int32_t slot,
                 S2WorldBuild *build, void *user) {
  const S2LuaRead *list;
  if (begin == 0) {
    return;
  }
  int count = s2_lua_tracked_count(L, begin, &list);
  if (count == 0 && s2_lua_on_tape(lw) == NULL) {
    return;
  }
  S2WorldTape *tape = s2_lua_put_on_tape(lw);
  // Keep the inputs as long as the tape, because the object is rebuilt from them.
  S2Var *vars = s2_tape_take(lw->diff->tape, sizeof *vars * (size_t)(count + 1));
  double *values = s2_tape_take(lw->diff->tape, sizeof *values * (size_t)(count + 1));
  for (int i = 0; i < count; i++) {
    vars[i] = list[i].var;
    values[i] = list[i].value;
  }
  S2Made made = {.build = build, .user = user, .inputs = count, .vars = vars, .values = values};
  S2Status status = joint ? s2_world_tape_made_joint(tape, lw->world, slot, &made)
                          : s2_world_tape_made_body(tape, lw->world, slot, &made);
  s2_lua_tracked_end(L, begin, &list);
  s2_lua_try(L, status);
}

// ---- Reading ----------------------------------------------------------------------------------

void s2_lua_push_list(lua_State *L, int count, const double *values, S2Var var) {
  S2LuaArray *array = s2_lua_array_push(L, s2_size_list(count));
  for (int i = 0; i < count; i++) {
    array->data[i] = values[i] + 0.0; // + 0.0 turns -0 into 0
  }
  s2_lua_array_track(L, array, var);
}

void s2_lua_push_place(lua_State *L, S2LuaWorld *lw, S2Place place) {
  double value = s2_place_value(lw->world, place);
  S2WorldTape *tape = s2_lua_on_tape(lw);
  // An infinite value means that there is no limit. It is a plain number.
  bool number = tape != NULL && isfinite(value);
  s2_lua_tracked_push(L, value, number ? s2_world_tape_read_places(tape, lw->world, 1, &place) : 0);
}

void s2_lua_push_places(lua_State *L, S2LuaWorld *lw, int count, const S2Place *places) {
  enum { FEW = 16 };
  // Usually the numbers are few and need no allocation.
  double few[FEW], *values = count <= FEW ? few : NULL;
  if (values == NULL) {
    s2_arena_reset(&lw->scratch);
    values = S2_TAKE(&lw->scratch, double, count);
  }
  for (int i = 0; i < count; i++) {
    values[i] = s2_place_value(lw->world, places[i]);
  }
  S2WorldTape *tape = s2_lua_on_tape(lw);
  S2Var var = tape == NULL ? 0 : s2_world_tape_read_places(tape, lw->world, count, places);
  s2_lua_push_list(L, count, values, var);
}

void s2_lua_push_measured(lua_State *L, S2LuaWorld *lw, int count, S2WorldMeasure *measure,
                          const void *user, int places, const S2Place *place) {
  enum { MOST = 8 };
  double values[MOST];
  S2WorldTape *tape = s2_lua_on_tape(lw);
  S2Var var = s2_world_tape_measure(tape, lw->world, count, values, measure, user, places, place);
  if (count == 1) {
    s2_lua_tracked_push(L, values[0] + 0.0, var);
  } else {
    s2_lua_push_list(L, count, values, var);
  }
}

void s2_lua_push_time(lua_State *L, const S2LuaWorld *lw, double t) {
  S2WorldTape *tape = s2_lua_on_tape(lw);
  S2Place time = s2_place(S2_PLACE_WORLD, 0, S2_OF_TIME);
  S2Var var = 0;
  if (tape != NULL && lw->dt_on_tape) {
    const S2Term term = {.source = time, .factor = 1};
    var = s2_world_tape_read(tape, lw->world, 1, &t, 1, &term);
  }
  s2_lua_tracked_push(L, t, var);
}

void s2_lua_push_dt(lua_State *L, S2LuaWorld *lw, double dt) {
  S2WorldTape *tape = s2_lua_on_tape(lw);
  S2Var var = 0;
  if (tape != NULL && lw->dt_on_tape) {
    const S2Term term = {.source = s2_place(S2_PLACE_WORLD, 0, S2_OF_DT),
                         .factor = dt / s2_world_settings(lw->world)->dt};
    var = s2_world_tape_read(tape, lw->world, 1, &dt, 1, &term);
  }
  s2_lua_tracked_push(L, dt, var);
}

int s2_lua_arguments(const S2LuaRead *list, int reads, const double *base, S2Argument *arguments,
                     int most) {
  int count = 0;
  for (int i = 0; i < reads && count < most; i++) {
    arguments[count++] = (S2Argument){list[i].var, (int)(list[i].where - base)};
  }
  return count;
}
