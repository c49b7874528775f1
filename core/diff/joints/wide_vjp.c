// Gears that move more than two bodies (dynamics/joints/wide_rows.c), backwards.
#include "diff/joints/step_adjoint.h"
#include "dynamics/joints/rows.h"

void s2_wide_join(const S2Step *step, const S2Island *island, int nodes, double *mass) {
  double part = s2_wide_part(nodes - island->nodes);
  int aside = nodes;
  for (int i = island->joints - 1; i >= 0 && aside > island->nodes; i--) {
    S2WideMovers movers = s2_wide_movers(step, &step->world->joints.at[island->joint[i]]);
    if (movers.count <= 2) {
      continue;
    }
    aside -= 1;
    for (int c = movers.count - 2; c >= 0; c--) {
      int from = 3 * step->node_of[movers.slot[c]];
      mass[from] += part * (mass[3 * aside + c] - mass[from]);
    }
  }
}
