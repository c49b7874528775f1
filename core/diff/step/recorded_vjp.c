#include "diff/step/recorded_vjp.h"

#include <stddef.h>
#include <string.h>

#define AT(member) (offsetof(S2TableBars, member) / sizeof(double))

typedef struct Lane { // one of `lanes` interleaved S2TableBars
  double *at;
  int lanes;
} Lane;

static void lane_put(Lane lane, size_t at, const double from[3]) {
  double *to = lane.at + (size_t)lane.lanes * at;
  for (int c = 0; c < 3; c++) {
    to[lane.lanes * c] = from[c];
  }
}

static void lane_take(Lane lane, size_t at, double to[3]) {
  const double *from = lane.at + (size_t)lane.lanes * at;
  for (int c = 0; c < 3; c++) {
    to[c] = from[lane.lanes * c];
  }
}

static void lane_add(Lane lane, size_t at, double to[3]) {
  const double *from = lane.at + (size_t)lane.lanes * at;
  for (int c = 0; c < 3; c++) {
    to[c] += from[lane.lanes * c];
  }
}

static void put_bars(const S2ProgramIsland *island, const S2WorldGradient *gradient, Lane lane) {
  for (int i = 0; i < island->table.nodes; i++) {
    lane_put(lane, AT(q) + 3 * (size_t)i, gradient->q + 3 * (size_t)island->node[i]);
    lane_put(lane, AT(v) + 3 * (size_t)i, gradient->v + 3 * (size_t)island->node[i]);
  }
}

// Returns false if the adjoints are invalid.
static bool take_bars(const S2ProgramIsland *island, S2WorldGradient *gradient, Lane lane) {
  const S2Table *table = &island->table;
  for (int i = 0; i < table->nodes; i++) {
    lane_take(lane, AT(q) + 3 * (size_t)i, gradient->q + 3 * (size_t)island->node[i]);
    lane_take(lane, AT(v) + 3 * (size_t)i, gradient->v + 3 * (size_t)island->node[i]);
    lane_take(lane, AT(force) + 3 * (size_t)i, gradient->f + 3 * (size_t)island->node[i]);
  }
  for (int k = 0; k < table->grounds; k++) {
    if (!table->stands[k]) {
      lane_add(lane, AT(ground_q) + 3 * (size_t)k, gradient->q + 3 * (size_t)island->ground[k]);
    }
    if (table->goes[k]) {
      lane_add(lane, AT(ground_v) + 3 * (size_t)k, gradient->v + 3 * (size_t)island->ground[k]);
    }
  }
  return lane.at[(size_t)lane.lanes * AT(missed)] == 0;
}

// Differentiates the motion of bodies without joints, as write_others() of program.c moves them.
static void others_vjp(const S2World *world, S2WorldGradient *gradient) {
  const S2Program *program = world->program;
  double h = program->dt, late = s2_world_way(&world->kept.def) == S2_EVENT ? 0.5 : 1;
  for (int i = 0; i < program->free; i++) {
    int32_t slot = program->free_slot[i];
    const S2Body *body = &world->bodies.at[slot];
    for (int c = 0; c < 3; c++) {
      double *v = &gradient->v[3 * slot + c], q = gradient->q[3 * slot + c];
      double end = *v + h * late * q; // the adjoint of the final velocity
      gradient->f[3 * slot + c] = h / (c == 0 ? body->inertia : body->mass) * end;
      *v = end + h * (1 - late) * q;
    }
  }
  for (int i = 0; i < program->still; i++) {
    int32_t at = 3 * program->still_slot[i];
    for (int c = at; c < at + 3; c++) {
      gradient->v[c] += program->goes[i] ? h * gradient->q[c] : 0;
      gradient->f[c] = 0;
    }
  }
}

// The world of a lane. Surplus lanes, and lanes without a result, repeat another world.
static int32_t lane_world(const S2RecordedStep *step, int lane) {
  if (lane < step->worlds && step->index[lane] >= 0) {
    return step->index[lane];
  }
  int32_t first = -1;
  for (int i = 0; i < step->worlds && first < 0; i++) {
    first = step->index[i];
  }
  return first;
}

static void put_constants(S2RecordedSweep *sweep, const S2RecordedStep *step,
                          S2World *const *worlds) {
  bool same =
      sweep->lanes == step->lanes && memcmp(sweep->index, step->index, sizeof sweep->index) == 0;
  if (same || step->lanes == 1) {
    return;
  }
  sweep->lanes = step->lanes;
  memcpy(sweep->index, step->index, sizeof sweep->index);
  for (int lane = 0; lane < step->lanes; lane++) {
    const S2World *world = worlds[lane_world(step, lane)];
    for (int i = 0; i < world->program->islands; i++) {
      s2_program_constants(world, i, step->lanes, lane, sweep->constants[i]);
    }
  }
}

void s2_recorded_sweep_start(S2RecordedSweep *sweep, S2Arena *arena) {
  sweep->lanes = 0;
  for (int i = 0; i < S2_SWEEP_ISLANDS; i++) {
    sweep->constants[i] = s2_arena_take(arena, S2_RECORDED_LANES * sizeof(S2Constants));
  }
}

void s2_recorded_vjp(S2RecordedSweep *sweep, const S2RecordedStep *step, S2World *const *worlds,
                     S2WorldGradient *gradients, bool *good) {
  _Alignas(64) double bars[S2_RECORDED_LANES * sizeof(S2TableBars) / sizeof(double)];
  int32_t first = lane_world(step, 0);
  if (first < 0) { // the general path took all of these steps
    return;
  }
  for (int i = 0; i < step->worlds; i++) {
    if (step->index[i] >= 0) {
      others_vjp(worlds[step->index[i]], &gradients[step->index[i]]);
    }
  }
  put_constants(sweep, step, worlds);
  for (int i = 0; i < worlds[first]->program->islands; i++) {
    const S2ProgramIsland *island = &worlds[first]->program->island[i];
    for (int lane = 0; lane < step->lanes; lane++) {
      int32_t at = lane_world(step, lane);
      put_bars(&worlds[at]->program->island[i], &gradients[at], (Lane){bars + lane, step->lanes});
    }
    const void *constants =
        step->lanes == 1 ? (const void *)&island->constants : sweep->constants[i];
    s2_table_adjoint(step->lanes, &island->table, constants, step->island[i], bars);
    for (int lane = 0; lane < step->worlds; lane++) {
      int32_t at = step->index[lane];
      Lane of = {bars + lane, step->lanes};
      if (at >= 0) {
        good[at] = take_bars(&worlds[at]->program->island[i], &gradients[at], of) && good[at];
      }
    }
  }
}
