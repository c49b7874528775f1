// Gears that move three or four bodies, in problems whose rows act on two. The gear's row
// sum c_i w_i = 0 over the angular velocities w_i becomes as many rows as it has bodies, by way of
// a node beside the bodies' own: its three numbers copy the first bodies' velocities, w_i - x_i =
// 0, and one row joins it to the last body, sum c_i x_i + c w = 0. Each copy takes a part of its
// body's inertia and momentum, so that the two together are the body: the solution is that of the
// one row.
#include "dynamics/joints/rows.h"

#include <string.h>

S2GearMovers s2_gear_movers(const S2Step *step, const S2Joint *gear) {
  S2GearMovers movers = {0};
  if (gear->type != S2_GEAR || gear->more[0] == S2_NONE) {
    return movers;
  }
  // The factors c_i are the angles' coefficients in the gear's row.
  S2JointRow rows[S2_JOINT_EQUATIONS], row;
  s2_joint_rows(&(S2JointAt){step->world, gear, step->q0, 0, NULL, NULL}, rows);
  row = rows[0];
  const int32_t slots[4] = {gear->a, gear->b, gear->more[0], gear->more[1]};
  const double factors[4] = {row.ja[0], row.jb[0], row.more[0], row.more[1]};
  movers.wide = true;
  // What moves as given goes to the known side.
  for (int i = 0; i < 4; i++) {
    if (slots[i] == S2_NONE || factors[i] == 0) {
      continue;
    }
    if (step->node_of[slots[i]] == S2_GROUND) {
      movers.given += factors[i] * step->free_v[3 * slots[i]];
      continue;
    }
    movers.slot[movers.count] = slots[i];
    movers.factor[movers.count++] = factors[i];
  }
  return movers;
}

int s2_gear_nodes(const S2Step *step, const S2Island *island) {
  int nodes = 0;
  for (int i = 0; i < island->joints; i++) {
    nodes += s2_gear_movers(step, &step->world->joints.at[island->joint[i]]).count > 2;
  }
  return nodes;
}

void s2_gear_split(const S2Step *step, const S2Island *island, int nodes,
                   const S2NodeArrays *arrays) {
  int aside = island->nodes;
  for (int i = 0; i < island->joints && nodes > 0; i++) {
    // Each wide gear has a node behind the island's bodies, in the order of the joints.
    S2GearMovers movers = s2_gear_movers(step, &step->world->joints.at[island->joint[i]]);
    if (movers.count <= 2) {
      continue;
    }
    // Component c copies the angular velocity of body c; what is unused stands still with its mass.
    for (int c = 0; c < 3; c++) {
      int at = 3 * aside + c, from = 3 * step->node_of[movers.slot[c < movers.count - 1 ? c : 0]];
      bool copies = c < movers.count - 1;
      double share = copies ? s2_gear_part(nodes) : 0;
      arrays->place[at] = 3 * movers.slot[copies ? c : 0];
      arrays->mass[at] = copies ? share * arrays->mass[from] : arrays->mass[from];
      arrays->rhs[at] = share * arrays->rhs[from];
      arrays->v[at] = copies ? arrays->v[from] : 0;
      // The body keeps what its copies do not take.
      if (copies) {
        arrays->mass[from] -= arrays->mass[at];
        arrays->rhs[from] -= arrays->rhs[at];
      }
    }
    aside += 1;
  }
}

int s2_gear_row_count(const S2GearMovers *movers) {
  return movers->count > 2 ? movers->count : movers->count > 0 ? 1 : 0;
}

int s2_gear_rows(const S2Step *step, const S2GearMovers *movers, int32_t aside, double bias,
                 S2Row rows[4]) {
  int count = s2_gear_row_count(movers);
  S2Row plain = {.a = S2_GROUND, .b = S2_GROUND, .coupled_to = -1, .lo = -INFINITY, .hi = INFINITY};
  for (int i = 0; i < count; i++) {
    rows[i] = plain;
  }
  // One or two bodies are left: a row as any other.
  if (count == 1) {
    for (int i = 0; i < movers->count; i++) {
      *(i == 0 ? &rows[0].a : &rows[0].b) = step->node_of[movers->slot[i]];
      *(i == 0 ? &rows[0].ja[0] : &rows[0].jb[0]) = movers->factor[i];
    }
    rows[0].bias = bias;
    return count;
  }
  // The copies: w_i - x_i = 0.
  for (int i = 0; i < count - 1; i++) {
    rows[i].a = step->node_of[movers->slot[i]];
    rows[i].b = aside;
    rows[i].ja[0] = 1;
    rows[i].jb[i] = -1;
    rows[count - 1].jb[i] = movers->factor[i];
  }
  // The gear's own row: sum c_i x_i + c w = -bias.
  if (count > 0) {
    rows[count - 1].a = step->node_of[movers->slot[count - 1]];
    rows[count - 1].b = aside;
    rows[count - 1].ja[0] = movers->factor[count - 1];
    rows[count - 1].bias = bias;
  }
  return count;
}
