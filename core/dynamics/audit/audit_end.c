// The end of a step that is audited: all audits judge it.
#include "dynamics/audit/audit.h"

S2Status s2_audit_end(S2World *world) {
  S2Auditor *audit = world->audit;
  if (audit == NULL || audit->slots != world->bodies.count) {
    return s2_ok();
  }
  uint64_t unsolved = world->stats.unsolved;
  s2_arena_reset(&audit->arena);
  s2_audit_passages(world, audit);
  s2_audit_jumps(world, audit);
  s2_audit_balances(world, audit);
  if (!audit->found) {
    return s2_ok();
  }
  world->stats.unsolved = unsolved + !world->missed;
  if (!world->kept.def.strict) {
    return s2_ok();
  }
  S2Status status = s2_error(S2_UNSOLVED, "%s", world->warning);
  s2_audit_undo(world);
  world->events.count = 0;
  return status;
}
