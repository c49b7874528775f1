#include "diff/step/recorded_vjp.h"

#include <stddef.h>
#include <string.h>

#define AT(member) (offsetof(S2TableBars, member) / sizeof(double))

typedef struct Lane { // one of `lanes` interleaved S2TableBars
  double *at;
  int lanes;
} Lane;

static void lane_put_bars(Lane lane, size_t at, const double *from, int count) {
  double *to = lane.at + (size_t)lane.lanes * at;
  for (int c = 0; c < count; c++) {
    to[lane.lanes * c] = from[c];
  }
}

static void lane_take_bars(Lane lane, size_t at, double to[3]) {
  const double *from = lane.at + (size_t)lane.lanes * at;
  for (int c = 0; c < 3; c++) {
    to[c] = from[lane.lanes * c];
  }
}

static void lane_add_bars(Lane lane, size_t at, double to[3]) {
  const double *from = lane.at + (size_t)lane.lanes * at;
  for (int c = 0; c < 3; c++) {
    to[c] += from[lane.lanes * c];
  }
}

static bool impulses_asked(const S2ProgramIsland *island, const S2WorldGradient *gradient) {
  bool asked = false;
  for (int g = 0; g < island->table.joints; g++) {
    const S2JointGradient *joint = &gradient->joint[island->joint[g]];
    asked |= joint->impulse[0] != 0 || joint->impulse[1] != 0 || joint->reaction[0] != 0 ||
             joint->reaction[1] != 0 || joint->reaction[2] != 0;
  }
  return asked;
}

static void put_bars(const S2ProgramIsland *island, const S2WorldGradient *gradient, bool asked,
                     Lane lane) {
  for (int i = 0; i < island->table.nodes; i++) {
    lane_put_bars(lane, AT(q) + 3 * (size_t)i, gradient->q + 3 * (size_t)island->node[i], 3);
    lane_put_bars(lane, AT(v) + 3 * (size_t)i, gradient->v + 3 * (size_t)island->node[i], 3);
  }
  for (int g = 0; g < island->table.joints && asked; g++) {
    const S2JointGradient *joint = &gradient->joint[island->joint[g]];
    lane_put_bars(lane, AT(lambda) + 2 * (size_t)g, joint->impulse, 2);
    lane_put_bars(lane, AT(reaction) + 3 * (size_t)g, joint->reaction, 3);
  }
}

// Returns false if the adjoints are invalid.
static bool take_bars(const S2ProgramIsland *island, S2WorldGradient *gradient, bool asked,
                      Lane lane) {
  const S2Table *table = &island->table;
  for (int i = 0; i < table->nodes; i++) {
    lane_take_bars(lane, AT(q) + 3 * (size_t)i, gradient->q + 3 * (size_t)island->node[i]);
    lane_take_bars(lane, AT(v) + 3 * (size_t)i, gradient->v + 3 * (size_t)island->node[i]);
    lane_take_bars(lane, AT(force) + 3 * (size_t)i, gradient->f + 3 * (size_t)island->node[i]);
  }
  for (int k = 0; k < table->grounds; k++) {
    if (!table->stands[k]) {
      lane_add_bars(lane, AT(ground_q) + 3 * (size_t)k,
                    gradient->q + 3 * (size_t)island->ground[k]);
    }
    if (table->goes[k]) {
      lane_add_bars(lane, AT(ground_v) + 3 * (size_t)k,
                    gradient->v + 3 * (size_t)island->ground[k]);
    }
  }
  for (int g = 0; g < table->joints && asked; g++) { // the step has overwritten them
    S2JointGradient *joint = &gradient->joint[island->joint[g]];
    memset(joint->impulse, 0, sizeof joint->impulse);
    memset(joint->reaction, 0, sizeof joint->reaction);
  }
  return lane.at[(size_t)lane.lanes * AT(missed)] == 0;
}

// Differentiates the motion of bodies without joints, as write_others() of program.c moves them.
static void others_vjp(const S2Program *program, S2WorldGradient *gradient) {
  double h = program->dt, late = program->splits ? 0.5 : 1;
  for (int i = 0; i < program->free; i++) {
    int32_t at = 3 * program->free_slot[i];
    for (int c = 0; c < 3; c++) {
      double *v = &gradient->v[at + c], q = gradient->q[at + c];
      double end = *v + h * late * q; // the adjoint of the final velocity
      gradient->f[at + c] = h / program->free_inertial[i][c > 0] * end;
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
                          const S2Program *const *programs) {
  bool same =
      sweep->lanes == step->lanes && memcmp(sweep->index, step->index, sizeof sweep->index) == 0;
  if (same || step->lanes == 1) {
    return;
  }
  sweep->lanes = step->lanes;
  memcpy(sweep->index, step->index, sizeof sweep->index);
  for (int lane = 0; lane < step->lanes; lane++) {
    const S2Program *program = programs[lane_world(step, lane)];
    for (int i = 0; i < program->islands; i++) {
      s2_program_constants(program, i, step->lanes, lane, sweep->constants[i]);
    }
  }
}

void s2_recorded_sweep_start(S2RecordedSweep *sweep, S2Arena *arena) {
  sweep->lanes = 0;
  for (int i = 0; i < S2_SWEEP_ISLANDS; i++) {
    sweep->constants[i] = s2_arena_take(arena, S2_RECORDED_LANES * sizeof(S2Constants));
  }
}

void s2_recorded_vjp(S2RecordedSweep *sweep, const S2RecordedStep *step,
                     const S2Program *const *programs, S2WorldGradient *gradients, bool *good) {
  _Alignas(64) double bars[S2_RECORDED_LANES * sizeof(S2TableBars) / sizeof(double)];
  int32_t first = lane_world(step, 0);
  if (first < 0) { // the general path took all of these steps
    return;
  }
  for (int i = 0; i < step->worlds; i++) {
    if (step->index[i] >= 0) {
      others_vjp(programs[step->index[i]], &gradients[step->index[i]]);
    }
  }
  put_constants(sweep, step, programs);
  for (int i = 0; i < programs[first]->islands; i++) {
    const S2ProgramIsland *island = &programs[first]->island[i];
    bool asked = false;
    for (int lane = 0; lane < step->worlds; lane++) {
      int32_t at = step->index[lane];
      asked |= at >= 0 && impulses_asked(&programs[at]->island[i], &gradients[at]);
    }
    for (int lane = 0; lane < step->lanes; lane++) {
      int32_t at = lane_world(step, lane);
      Lane to = {bars + lane, step->lanes};
      put_bars(&programs[at]->island[i], &gradients[at], asked, to);
    }
    const void *constants =
        step->lanes == 1 ? (const void *)&island->constants : sweep->constants[i];
    s2_table_adjoint(step->lanes, &island->table, constants, step->island[i], asked, bars);
    for (int lane = 0; lane < step->worlds; lane++) {
      int32_t at = step->index[lane];
      Lane of = {bars + lane, step->lanes};
      if (at >= 0) {
        good[at] = take_bars(&programs[at]->island[i], &gradients[at], asked, of) && good[at];
      }
    }
  }
}
