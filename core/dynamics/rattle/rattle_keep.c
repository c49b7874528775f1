// The step's log, residuals and statistics get what the two stages have solved.
#include "dynamics/audit/audit.h"
#include "dynamics/rattle/rattle.h"
#include "dynamics/step/acted.h"
#include "dynamics/step/solve.h"
#include "dynamics/trace/notes.h"

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
  if (world->warning[0] == 0) { // one a step
    s2_world_warn(world,
                  "step %llu (t = %.6g s): an island of %d bod%s was solved to a scaled residual "
                  "of %.1e only, tolerance %.1e",
                  (unsigned long long)world->kept.steps + 1, step->t, island->nodes,
                  island->nodes == 1 ? "y" : "ies", residual->scaled, world->kept.def.tolerance);
  }
}

// For the next step: was the island found at rest?
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
  // l acts from v0 to u, k from there to v1.
  S2Step first = *step, second = *step;
  first.v2 = second.v0 = flow->u;
  second.v2 = flow->v1;
  bool presses = false; // else forces alone lead along the way of the search for meetings
  for (int i = 0; i < island->touches; i++) {
    for (int k = 0; k < flow->first[i].count; k++) {
      presses |= flow->first[i].points[k].normal_impulse != 0;
      presses |= flow->second[i].points[k].normal_impulse != 0;
    }
    s2_log_touch(&first, island->touch[i], &flow->first[i], NULL);
    s2_log_touch(&second, island->touch[i], &flow->second[i], NULL);
  }
  for (int i = 0; i < island->joints; i++) {
    const double *halves = flow->halves + 6 * i;
    s2_audit_halves(step, &step->world->joints.at[island->joint[i]], halves, halves + 3);
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
