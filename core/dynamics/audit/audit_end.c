// Runs all audits at the end of a step.
#include "dynamics/audit/audit.h"

#include <string.h>

S2Status s2_audit_end(S2World *world) {
  S2Auditor *audit = world->audit;
  if (audit == NULL || audit->slots != world->bodies.count) {
    return s2_ok();
  }
  uint64_t unsolved = world->stats.unsolved;
  s2_arena_reset(&audit->arena);
  s2_audit_passages(world, audit);
  s2_audit_jumps(world, audit);
  s2_audit_momenta(world, audit);
  s2_audit_energies(world, audit);
  s2_audit_joints(world, audit);
  for (int32_t slot = 0; slot < audit->slots; slot++) {
    memcpy(audit->left + 6 * slot, world->q.at + 3 * slot, 3 * sizeof(double));
    memcpy(audit->left + 6 * slot + 3, world->v.at + 3 * slot, 3 * sizeof(double));
  }
  // A step with a finding counts as unsolved, and a strict world undoes it.
  if (!audit->found) {
    return s2_ok();
  }
  world->stats.unsolved = unsolved + !world->missed;
  if (!world->kept.def.strict) {
    return s2_ok();
  }
  S2Status status = s2_error(S2_UNSOLVED, "%s", audit->text);
  (void)s2_world_image_read(world, audit->image, audit->image_size);
  world->stats.steps -= 1;
  world->events.count = 0;
  return status;
}
