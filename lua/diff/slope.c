#include "lua/diff/slope.h"

#include "lua/diff/array.h"

#include <string.h>

S2LuaSlopes s2_lua_slopes(lua_State *L, const S2LuaWorld *lw, bool wanted) {
  S2LuaSlopes slopes = {0};
  // Results of the function get nodes with index `first` or higher.
  if (wanted && s2_lua_on_tape(lw) != NULL) {
    slopes.diff = s2_lua_diff(L);
    slopes.first = s2_tape_next(slopes.diff->tape);
    // the tape is full; the sweep will report it
    slopes.diff = slopes.first == 0 ? NULL : slopes.diff;
  }
  return slopes;
}

static S2Var add_input(S2LuaSlopes *slopes, const double *values, int count, int at) {
  if (slopes->diff == NULL) {
    return 0;
  }
  // Each input gets its own node, whose adjoint is the slope.
  S2Var var = s2_tape_input(slopes->diff->tape, values, count);
  slopes->input[slopes->inputs] = var;
  slopes->at[slopes->inputs++] = at;
  return var;
}

void s2_lua_slopes_pose(lua_State *L, S2LuaSlopes *slopes, const double q[3], int at) {
  S2Var var = add_input(slopes, q, 3, at);
  if (var == 0) {
    s2_lua_push_vector(L, S2_VECTOR_AXY, q, NULL);
    return;
  }
  // Push a tracked array in place of the vector.
  S2LuaArray *array = s2_lua_array_push(L, s2_size_list(3));
  memcpy(array->data, q, 3 * sizeof *q);
  s2_lua_array_track(L, array, var);
}

void s2_lua_slopes_number(lua_State *L, S2LuaSlopes *slopes, double x, int at) {
  s2_lua_tracked_push(L, x, add_input(slopes, &x, 1, at));
}

void s2_lua_slopes_time(lua_State *L, const S2LuaWorld *lw, S2LuaSlopes *slopes, double t, int at) {
  // The time is a constant, unless dt is tracked.
  if (lw->dt_on_tape) {
    s2_lua_slopes_number(L, slopes, t, at);
  } else {
    lua_pushnumber(L, t);
  }
}

// Sweeps the nodes of this call. Recording is off during a sweep, so script functions use plain
// numbers.
static void slope_sweep(lua_State *L, const S2LuaSlopes *slopes, S2Var var) {
  S2LuaDiff *diff = slopes->diff;
  // The sweep may call script functions, which must not record.
  uint32_t generation = diff->generation;
  lua_State *outer = diff->L;
  diff->generation = 0;
  diff->L = L;
  S2Status status = s2_tape_sweep_since(diff->tape, var, slopes->first);
  diff->generation = generation;
  diff->L = outer;
  s2_lua_check_sweep(L, status);
}

bool s2_lua_slopes_result(lua_State *L, const S2LuaSlopes *slopes, int index, double *value,
                          S2Slope *slope) {
  S2Var var = 0;
  // A plain number does not depend on the inputs.
  if (lua_type(L, index) == LUA_TNUMBER) {
    *value = lua_tonumber(L, index);
  } else if (!s2_lua_tracked_get(L, index, value, &var)) {
    return false;
  }
  if (slope == NULL || slopes->diff == NULL) {
    return true;
  }
  // Keep the node itself, because it may depend on numbers other than the inputs.
  *slope = (S2Slope){.origin = var};
  // Sweep the nodes that follow the inputs.
  if (var >= slopes->first) {
    slope_sweep(L, slopes, var);
    for (int i = 0; i < slopes->inputs; i++) {
      S2Tape *tape = slopes->diff->tape;
      memcpy(slope->by + slopes->at[i], s2_tape_adjoint(tape, slopes->input[i]),
             sizeof(double) * (size_t)s2_tape_count(tape, slopes->input[i]));
    }
  }
  return true;
}

void s2_lua_slopes_add(const S2LuaSlopes *slopes, S2Slope *sum, double weight, const S2Slope *of) {
  // Slopes are linear in the results.
  for (int i = 0; i <= S2_JOINT_COLUMNS; i++) {
    sum->by[i] += weight * of->by[i];
  }
  if (slopes->diff != NULL) { // the value 0 of this node is never read
    sum->origin = s2_tape_scalar2(slopes->diff->tape, 0, sum->origin, 1, of->origin, weight);
  }
}

bool s2_lua_borrow_tape(lua_State *L, S2LuaWorld *lw, int handler, bool wanted,
                        S2LuaBorrowed *tape) {
  *tape = (S2LuaBorrowed){.put = wanted && s2_lua_on_tape(lw) == NULL};
  if (!tape->put) {
    return true;
  }
  tape->before = *lw->diff;
  tape->was = lw->on_tape;
  tape->was_generation = lw->tape_generation;
  tape->was_dt = lw->dt_on_tape;
  if (!s2_lua_recording(lw)) {
    lua_pushcfunction(L, s2_lua_lend_tape);
    if (lua_pcall(L, 0, 0, handler) != LUA_OK) {
      return false;
    }
    tape->lent = true;
  }
  s2_lua_put_on_tape(lw);
  return true;
}

void s2_lua_give_tape_back(lua_State *L, S2LuaWorld *lw, const S2LuaBorrowed *tape) {
  if (tape->put) {
    lw->on_tape = tape->was;
    lw->tape_generation = tape->was_generation;
    lw->dt_on_tape = tape->was_dt;
  }
  if (tape->lent) {
    s2_lua_return_tape(L, &tape->before);
  }
}

// ---- Force laws -------------------------------------------------------------------------------

bool s2_lua_law_slopes(lua_State *L, S2LuaWorld *lw, int handler, bool wanted,
                       S2LuaLawSlopes *slopes) {
  *slopes = (S2LuaLawSlopes){.lw = lw};
  if (!s2_lua_borrow_tape(L, lw, handler, wanted, &slopes->borrowed)) {
    return false;
  }
  if (!wanted) {
    return true;
  }
  S2WorldTape *tape = s2_lua_put_on_tape(lw);
  slopes->first = s2_tape_next(lw->diff->tape);
  slopes->tape = slopes->first == 0 ? NULL : tape; // the tape is full; the sweep will report it
  if (slopes->tape != NULL) {
    s2_world_tape_law_begin(tape);
  }
  return true;
}

static void law_term(S2ForceCall *call, S2World *world, int number, S2Place place, double by) {
  if (place.kind == S2_PLACE_Q || place.kind == S2_PLACE_V) {
    int part = place.number + (place.kind == S2_PLACE_V ? S2_BODY_OMEGA : S2_BODY_ANGLE);
    s2_force_slope(world, number, place.slot, (S2BodyField)part, by);
    // The place is the world's dt. The dt of the call is a fixed fraction of it.
  } else if (place.number == S2_OF_DT) {
    call->by_dt[number] += by * s2_world_settings(world)->dt / call->dt;
  } else {
    call->by_time[number] += by;
  }
}

int s2_lua_law_answer(lua_State *L) {
  const S2LuaLawSlopes *of = lua_touserdata(L, 1);
  S2ForceCall *call = lua_touserdata(L, 2);
  const S2Var *vars = lua_touserdata(L, 3);
  S2LuaSlopes slopes = {.diff = of->lw->diff, .first = of->first};
  for (int k = 0; k < 3; k++) {
    call->origin[k] = of->borrowed.lent ? 0 : vars[k];
    if (vars[k] < of->first) { // depends on no number that the law read
      continue;
    }
    s2_world_tape_law_clear(of->tape);
    slope_sweep(L, &slopes, vars[k]);
    int count;
    const S2LawInput *input = s2_world_tape_law_inputs(of->tape, &count);
    for (int i = 0; i < count; i++) {
      if (input[i].bar != 0) {
        law_term(call, of->lw->world, k, input[i].place, input[i].bar);
      }
    }
  }
  call->sloped = true;
  return 0;
}

void s2_lua_law_slopes_end(lua_State *L, const S2LuaLawSlopes *slopes) {
  if (slopes->tape != NULL) {
    s2_world_tape_law_end(slopes->tape);
  }
  s2_lua_give_tape_back(L, slopes->lw, &slopes->borrowed);
}
