// A piece of event stepping by the two stages that counts: what it leaves for the step.
#include "dynamics/audit/audit.h"
#include "dynamics/rattle/rattle.h"
#include "dynamics/step/acted.h"
#include "dynamics/step/solve.h"

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
  for (int i = 0; i < island->touches; i++) {
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
    s2_audit_flight(step, island->node[i], end, h, &flight, false);
  }
  flow_note_rest(step, island, flow);
  s2_keep_worst(&step->residuals.solve, &flow->residual);
  stats->solves += (uint64_t)flow->solves;
  stats->used[S2_SOLVER_PDIPM] += (uint64_t)flow->solves;
}
