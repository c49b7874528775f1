#include "diff/linear/outputs.h"

#include "diff/linear/lines.h"

#include <string.h>

// ---- Outputs ----------------------------------------------------------------------------------

// The x or y coordinate of a point of a body, and its derivatives with respect to the pose.
static S2Line reduction_point_line(const S2Lines *lines, const S2Output *output) {
  int32_t slot = (int32_t)output->of.body.index - 1;
  const double *q = lines->world->q.at + 3 * slot;
  S2Vec2 r = s2_rotate(s2_rot(q[0]), output->at);
  bool along_x = output->of.part == 1;
  double place = along_x ? r.x : r.y;
  double j[3] = {along_x ? -r.y : r.x, along_x, !along_x};
  S2Line line = s2_lines_new(lines);
  s2_line_add_slot(lines, &line, slot, j);
  line.value = q[output->of.part] + place;
  // d2(R r)/d(angle)2 = -R r
  if (lines->column[slot] != S2_NONE) {
    line.turn[lines->column[slot]] = -place * lines->world->v.at[3 * slot];
  }
  return line;
}

static S2Status reduction_check(const S2World *world, const S2Output *output) {
  int32_t slot;
  return output->of.joint.index != 0 ? s2_joint_slot(world, output->of.joint, &slot)
                                     : s2_body_slot(world, output->of.body, &slot);
}

static S2Line reduction_output_line(const S2Lines *lines, const S2Output *output) {
  return output->is_point ? reduction_point_line(lines, output)
                          : s2_line_of_coordinate(lines, &output->of);
}

S2Status s2_outputs_read(const S2World *world, const S2Output *outputs, int count, S2Arena *arena,
                         double *y) {
  S2ArenaMark mark = s2_arena_mark(arena);
  S2Lines lines = s2_lines_of(world, arena);
  S2Status status = s2_ok();
  for (int i = 0; i < count && status.code == S2_OK; i++) {
    status = reduction_check(world, &outputs[i]);
    if (status.code == S2_OK) {
      // Computes the value of an output, and its speed at the present velocities.
      S2Line line = reduction_output_line(&lines, &outputs[i]);
      y[i] = line.value;
      y[count + i] = line.rest;
      for (int s = 0; s < world->order.count; s++) {
        int32_t slot = world->order.at[s], at = lines.column[slot];
        for (int c = 0; c < 3 && at != S2_NONE; c++) {
          y[count + i] += line.j[at + c] * world->v.at[3 * slot + c];
        }
      }
    }
  }
  s2_arena_rewind(arena, mark);
  return status;
}

S2Status s2_outputs_slope(const S2World *world, const S2Output *outputs, int count,
                          const S2Reduction *reduction, const double *lift, S2Arena *arena,
                          double *dy) {
  S2ArenaMark mark = s2_arena_mark(arena);
  S2Lines lines = s2_lines_of(world, arena);
  int n = reduction->n, m = 2 * reduction->m;
  S2Status status = s2_ok();
  memset(dy, 0, sizeof(double) * (size_t)(2 * count * m));
  for (int i = 0; i < count && status.code == S2_OK; i++) {
    status = reduction_check(world, &outputs[i]);
    if (status.code != S2_OK) {
      break;
    }
    // d(value) = j dq and d(speed) = j dv + turn dq, where `lift` gives dq and dv
    S2Line line = reduction_output_line(&lines, &outputs[i]);
    for (int c = 0; c < n; c++) {
      const double *dq = lift + s2_reduction_place(c) * m,
                   *dv = lift + (s2_reduction_place(c) + 3) * m;
      for (int k = 0; k < m; k++) {
        dy[i * m + k] += line.j[c] * dq[k];
        dy[(count + i) * m + k] += line.j[c] * dv[k] + line.turn[c] * dq[k];
      }
    }
  }
  s2_arena_rewind(arena, mark);
  return status;
}
