// Null impulses are impulses that together have no effect. This file finds the contacts that they
// tie to each other or to joints.
#include "mcp/adjoint/mcp_vjp_stages.h"

#include <math.h>

// A contact takes part in a tie if its impulse is above this fraction of the largest impulse.
static const double TIES = 1e-2;

// Returns true if a limit belongs to a joint with other rows. The limit may then depend linearly on
// the dry friction or the motor of its joint, which only means that the joint is at rest.
static bool tie_limits_joint(const S2System *system, const S2Unit *unit) {
  for (int k = 0; k < system->units; k++) {
    const S2Unit *other = &system->unit[k];
    bool joint = other->kind == S2_UNIT_BILATERAL || other->kind == S2_UNIT_BOX;
    if (joint && other->a == unit->a && other->b == unit->b) {
      return true;
    }
  }
  return false;
}

double s2_vjp_pull(const S2System *system, const double *z, int k) {
  const S2Unit *unit = &system->unit[k];
  double pull = 0;
  for (int j = k > 0 ? k - 1 : k; j <= k + 1 && j < system->units; j++) {
    const S2Unit *other = &system->unit[j];
    if (other->kind == S2_UNIT_CONTACT && other->a == unit->a && other->b == unit->b) {
      pull += other->g[1] * z[2 * j + 1];
    }
  }
  return pull / sqrt(unit->g[1]);
}

static double tie_largest_impulse(const S2McpLinear *l, bool joints) {
  const S2System *system = &l->system;
  double most = 0;
  for (int k = 0; k < 2 * system->units; k++) {
    const S2Unit *unit = &system->unit[k / 2];
    if (!joints || unit->kind == S2_UNIT_BILATERAL) {
      most = fmax(most, sqrt(unit->g[k % 2]) * fabs(l->r.unit[k]));
    }
  }
  return most;
}

S2VjpTie s2_vjp_tie(const S2McpLinear *l, int *pair) {
  const S2System *system = &l->system;
  double least = TIES * tie_largest_impulse(l, false);
  bool alone = tie_largest_impulse(l, true) > least;
  *pair = S2_VJP_NO_UNIT;
  // The tie holds if the normal impulse of a contact takes part, and the contact is not the limit
  // of a joint.
  for (int k = 0; k < system->units; k++) {
    const S2Unit *unit = &system->unit[k];
    bool rough = unit->kind == S2_UNIT_CONTACT;
    bool presses = rough || unit->kind == S2_UNIT_NORMAL;
    if (presses && sqrt(unit->g[0]) * fabs(l->r.unit[2 * k]) > least &&
        (rough || !tie_limits_joint(system, unit))) {
      return S2_TIE_HOLDS;
    }
    // If friction takes part, check that it belongs to one pair of bodies only.
    if (rough && fabs(s2_vjp_pull(system, l->r.unit, k)) > least) {
      const S2Unit *first = *pair == S2_VJP_NO_UNIT ? unit : &system->unit[*pair];
      alone &= first->a == unit->a && first->b == unit->b;
      *pair = k;
    }
  }
  return *pair == S2_VJP_NO_UNIT ? S2_TIE_NONE : alone ? S2_TIE_YIELDS : S2_TIE_HOLDS;
}
