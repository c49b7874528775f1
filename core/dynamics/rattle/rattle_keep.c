// Passes the results of both stages to the audit, residuals, statistics and warnings of the step.
#include "dynamics/audit/audit.h"
#include "dynamics/rattle/rattle.h"
#include "dynamics/step/acted.h"
#include "dynamics/step/solve.h"
#include "dynamics/trace/notes.h"

#include <string.h>

void s2_rattle_miss(S2Step *step) {
  S2WorldStats *stats = &step->world->stats;
  stats->unsolved += !step->world->missed;
  stats->unsolved_solves += 1;
  stats->last_status = S2_MAX_ITERATIONS;
  step->world->missed = true;
  step->unsolved += 1;
  s2_note_unsolved(step);
}

void s2_rattle_certify(S2Step *step, const S2Island *island, const S2Residual *residual) {
  S2World *world = step->world;
  s2_keep_worst(&step->residuals.solve, residual);
  if (residual->scaled <= world->kept.def.tolerance) {
    return;
  }
  s2_rattle_miss(step);
  s2_audit_missed(step, island, residual->dynamics);
  if (world->warning[0] == 0) { // at most one warning per step
    s2_world_warn(world,
                  "step %llu (t = %.6g s): an island of %d bod%s was solved only to a scaled "
                  "residual of %.1e (tolerance %.1e)",
                  (unsigned long long)world->kept.steps + 1, step->t, island->nodes,
                  island->nodes == 1 ? "y" : "ies", residual->scaled, world->kept.def.tolerance);
  }
}

// Records whether the island was found at rest. The next step uses this.
static void flow_note_rest(const S2Step *step, const S2Island *island, const S2RattleFlow *flow) {
  if (step->found_at_rest != NULL) {
    S2RestIsland *found = &step->found_at_rest[island - step->islands];
    found->solves += (uint32_t)flow->solves;
    found->solved |= !flow->rests;
    s2_keep_worst(&found->residual, &flow->residual);
  }
}

void s2_rattle_keep_flow(S2Step *step, const S2Island *island, double end, double h,
                         const S2RattleFlow *flow) {
  S2WorldStats *stats = &step->world->stats;
  // The impulse l changes v0 to u, and k changes u to v1.
  S2Step first = *step, second = *step;
  first.v2 = second.v0 = flow->u;
  second.v2 = flow->v1;
  // Check if any contact pushes. If none does, only forces act, and the path of each body follows
  // the trapezoidal rule.
  bool presses = false;
  for (int i = 0; i < island->touches; i++) {
    for (int k = 0; k < flow->first[i].count; k++) {
      presses |= flow->first[i].points[k].normal_impulse != 0;
      presses |= flow->second[i].points[k].normal_impulse != 0;
    }
    s2_log_touch(&first, island->touch[i], &flow->first[i], NULL);
    s2_log_touch(&second, island->touch[i], &flow->second[i], NULL);
  }
  for (int i = 0; i < island->joints; i++) {
    const double *halves = flow->halves + S2_RATTLE_HALVES * i;
    const S2Joint *joint = &step->world->joints.at[island->joint[i]];
    s2_audit_halves(step, joint, halves, halves + 3, halves[6]);
  }
  for (int i = 0; i < island->nodes; i++) {
    int32_t at = 3 * island->node[i];
    S2AuditFlight flight = {step->q0 + at, step->q1 + at, step->v0 + at, flow->v1 + at,
                            flow->u + at};
    s2_audit_flight(step, island->node[i], end, h, &flight, !presses);
  }
  flow_note_rest(step, island, flow);
  s2_rattle_certify(step, island, &flow->residual);
  stats->solves += (uint64_t)flow->solves;
  stats->used[S2_SOLVER_PDIPM] += (uint64_t)flow->solves;
}

// Passes the motion of each piece to the audits.
void s2_rattle_show_piece(const S2Rattle *rattle) {
  const S2Step *step = rattle->step;
  for (int i = 0; i < rattle->nodes; i++) {
    int32_t slot = rattle->island->node[i];
    const double *v0 = rattle->v0 + 3 * i, *u = rattle->u + 3 * i, *v1 = rattle->v1 + 3 * i;
    S2AuditFlight flight = {rattle->q0 + 3 * slot, rattle->q1 + 3 * slot, v0, v1, u};
    s2_audit_flight(step, slot, rattle->done + rattle->h, rattle->h, &flight, false);
  }
}

void s2_rattle_keep_end(const S2Rattle *rattle, const S2RattleSums *sums) {
  S2Step *step = rattle->step;
  const S2Island *island = rattle->island;
  for (int i = 0; i < 3 * rattle->nodes; i++) {
    int at = 3 * island->node[i / 3] + i % 3;
    step->q1[at] = rattle->q1[at];
    step->v2[at] = rattle->v1[i];
    step->v1[at] = step->carry[at] = (step->q1[at] - rattle->frame->q[at]) / step->dt;
  }
  for (int i = 0; i < island->joints; i++) {
    int32_t slot = island->joint[i];
    memcpy(step->joint_impulse + S2_JOINT_ROWS * slot, sums->impulse + S2_JOINT_ROWS * i,
           sizeof(double) * S2_JOINT_ROWS);
    memcpy(step->joint_reaction + 3 * slot, sums->reaction + 3 * i, 3 * sizeof(double));
  }
}

void s2_rattle_warn_of_unsolved(const S2Step *step) {
  for (int i = 0; i < step->island_count; i++) {
    const S2Island *island = &step->islands[i];
    if (!island->gave_up) {
      continue;
    }
    char label[S2_NAME_SIZE + 32];
    s2_joint_label(step->world, island->joint[0], label);
    s2_world_warn(step->world,
                  "an island of %d bod%s (%s%s) was not solved by the two stages of RATTLE, even "
                  "in %d parts of the step, so projection was used: do its joints contradict each "
                  "other, or is it stretched taut?",
                  island->nodes, island->nodes == 1 ? "y" : "ies", label,
                  island->joints > 1 ? ", ..." : "", S2_RATTLE_PIECES);
  }
}
