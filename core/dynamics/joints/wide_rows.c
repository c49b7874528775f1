// Gears and constraints may move three or four bodies, but the rows of a problem act on two bodies.
// The row of a gear, sum c_i w_i = 0, combines the angular velocities w_i. It is split into one row
// per body. An auxiliary node contains copies x_i of the velocities of all bodies but the last. The
// copies have the rows w_i - x_i = 0. A final row connects the node to the last body: sum c_i x_i +
// c w = 0. Each copy takes a part of its body's inertia and momentum, so copy and body together are
// equivalent to the original body. The solution is the same as with the single row.
//
// A row sum J_i v_i = 0 of a constraint is treated in the same way, with J_i v_i instead of w_i.
// However, copying only the number J_i v_i would make the mass matrix non-diagonal. With the length
// L = sqrt(I/m), the body has the same inertia in all directions of (L w, v), and the copy takes a
// fraction of it. Let e be an orthonormal basis whose first vector is along (J_w/L, J_v). Three
// rows e_j (L w, v) - x_j = 0 then copy the whole body. The remaining mass of the body is diagonal,
// and J_i v_i = |(J_w/L, J_v)| x_0. The numbers x_0 of up to three bodies form the node on which
// the constraint's row acts. The numbers x_1 and x_2 form two further nodes.
#include "dynamics/joints/rows.h"

#include <string.h>

S2WideMovers s2_wide_movers(const S2Step *step, const S2Joint *gear) {
  S2WideMovers movers = {0};
  if (gear->type != S2_GEAR || gear->more[0] == S2_NONE) {
    return movers;
  }
  // The factors c_i are the coefficients of the angles in the gear's row.
  S2JointRow rows[S2_JOINT_EQUATIONS], row;
  s2_joint_rows(&(S2JointAt){step->world, gear, step->q0, 0, NULL}, rows);
  row = rows[0];
  const int32_t slots[4] = {gear->a, gear->b, gear->more[0], gear->more[1]};
  const double factors[4] = {row.ja[0], row.jb[0], row.more[0][0], row.more[1][0]};
  movers.wide = true;
  // Kinematic bodies have known velocities, which go to the right-hand side.
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

// Finds the bodies that one row of a constraint moves. Without a row, the Jacobians are 0.
S2WideMovers s2_wide_row_movers(const S2Step *step, const S2Joint *joint, const S2JointRow *row) {
  static const double none[3] = {0};
  const int32_t slots[4] = {joint->a, joint->b, joint->more[0], joint->more[1]};
  const double *const j[4] = {row == NULL ? none : row->ja, row == NULL ? none : row->jb,
                              row == NULL ? none : row->more[0], row == NULL ? none : row->more[1]};
  S2WideMovers movers = {.wide = true};
  for (int i = 0; i < 4; i++) {
    if (slots[i] == S2_NONE) {
      continue;
    }
    // Kinematic bodies have known velocities, which go to the right-hand side.
    bool ground = step->node_of[slots[i]] == S2_GROUND;
    for (int c = 0; c < 3; c++) {
      movers.given += ground ? j[i][c] * step->free_v[3 * slots[i] + c] : 0;
      movers.j[movers.count][c] = j[i][c];
    }
    movers.slot[movers.count] = slots[i];
    movers.count += !ground;
  }
  return movers;
}

// The number of auxiliary nodes of a joint.
static int nodes_of(const S2Step *step, const S2Joint *joint) {
  if (s2_joint_is_wide(joint)) {
    return s2_wide_row_movers(step, joint, NULL).count > 2 ? S2_WIDE_NODES * joint->rows : 0;
  }
  return joint->more[0] == S2_NONE ? 0 : s2_wide_movers(step, joint).count > 2;
}

int s2_wide_nodes(const S2Step *step, const S2Island *island) {
  int nodes = 0;
  for (int i = 0; i < island->joints; i++) {
    nodes += nodes_of(step, &step->world->joints.at[island->joint[i]]);
  }
  return nodes;
}

int s2_wide_room(const S2Step *step, const S2Island *island) {
  int rows = 0;
  for (int i = 0; i < island->joints; i++) {
    const S2Joint *joint = &step->world->joints.at[island->joint[i]];
    rows += s2_joint_is_wide(joint) ? S2_WIDE_ROWS * joint->rows : 0;
  }
  return rows;
}

bool s2_wide_any(const S2Step *step, const S2Island *island) {
  bool any = s2_wide_nodes(step, island) > 0;
  for (int i = 0; i < island->joints && !any; i++) {
    any = s2_joint_is_wide(&step->world->joints.at[island->joint[i]]);
  }
  return any;
}

double s2_wide_length(const S2Step *step, int32_t slot) {
  const S2Body *body = &step->world->bodies.at[slot];
  return sqrt(body->inertia / body->mass);
}

// Fills the auxiliary nodes of one row of a constraint. The nodes take a part of the masses of the
// bodies.
static void split_row(const S2Step *step, const S2WideMovers *movers, int aside, double part,
                      const S2NodeArrays *arrays) {
  for (int k = 0; k < 3; k++) {
    bool copies = k < movers->count - 1;
    int32_t slot = movers->slot[copies ? k : 0];
    double *of = arrays->mass + 3 * step->node_of[slot], length = s2_wide_length(step, slot);
    double share = part * fmin(of[0] / (length * length), fmin(of[1], of[2]));
    for (int j = 0; j < S2_WIDE_NODES; j++) {
      // Unused components have zero velocity.
      int at = 3 * (aside + j) + k;
      arrays->place[at] = S2_NONE;
      arrays->mass[at] = share;
      arrays->rhs[at] = arrays->v[at] = 0;
    }
    of[0] -= copies ? share * length * length : 0;
    of[1] -= copies ? share : 0;
    of[2] -= copies ? share : 0;
  }
}

double s2_wide_basis(const double j[3], double length, double e[3][3]) {
  double along[3] = {j[0] / length, j[1], j[2]};
  double size = hypot(along[0], hypot(along[1], along[2]));
  for (int c = 0; c < 3; c++) {
    e[0][c] = size > 0 ? along[c] / size : c == 0;
  }
  // The second vector is the axis farthest from the first, made orthogonal to it. The third is the
  // cross product.
  int least = fabs(e[0][0]) <= fabs(e[0][1]) ? 0 : 1;
  least = fabs(e[0][2]) < fabs(e[0][least]) ? 2 : least;
  double left = sqrt(1 - e[0][least] * e[0][least]);
  for (int c = 0; c < 3; c++) {
    e[1][c] = ((c == least) - e[0][least] * e[0][c]) / left;
  }
  for (int c = 0; c < 3; c++) {
    int d = (c + 1) % 3, f = (c + 2) % 3;
    e[2][c] = e[0][d] * e[1][f] - e[0][f] * e[1][d];
  }
  return size;
}

int s2_wide_copies(const S2Step *step, const S2WideMovers *movers, int32_t aside,
                   S2Row rows[S2_WIDE_ROWS]) {
  int count = 0;
  for (int k = 0; k < movers->count - 1 && movers->count > 2; k++) {
    double e[3][3], length = s2_wide_length(step, movers->slot[k]);
    s2_wide_basis(movers->j[k], length, e);
    for (int j = 0; j < S2_WIDE_NODES; j++) {
      rows[count] = (S2Row){.a = step->node_of[movers->slot[k]],
                            .b = aside + j,
                            .coupled_to = -1,
                            .ja = {length * e[j][0], e[j][1], e[j][2]},
                            .lo = -INFINITY,
                            .hi = INFINITY};
      rows[count++].jb[k] = -1;
    }
  }
  return count;
}

void s2_wide_sides(const S2Step *step, const S2WideMovers *movers, int32_t aside, S2Row *row) {
  int last = movers->count - 1;
  row->a = row->b = S2_GROUND;
  if (movers->count > 0) {
    row->a = step->node_of[movers->slot[last]];
    memcpy(row->ja, movers->j[last], sizeof row->ja);
  }
  if (movers->count == 2) {
    row->b = step->node_of[movers->slot[0]];
    memcpy(row->jb, movers->j[0], sizeof row->jb);
  }
  for (int k = 0; k < last && movers->count > 2; k++) {
    double e[3][3];
    row->b = aside;
    row->jb[k] = s2_wide_basis(movers->j[k], s2_wide_length(step, movers->slot[k]), e);
  }
}

double s2_wide_mobility(const S2Step *step, const S2WideMovers *movers) {
  double w = 0;
  for (int i = 0; i < 3 * movers->count; i++) {
    double j = movers->j[i / 3][i % 3];
    w += j * j / step->mass[3 * movers->slot[i / 3] + i % 3];
  }
  return w;
}

void s2_wide_guess(const S2Row *rows, int count, int nodes, const S2NodeArrays *arrays) {
  // Copies start with the velocities of their bodies. The momentum stays with the bodies.
  for (int r = 0; r < count; r++) {
    const S2Row *row = &rows[r];
    int k = row->jb[0] == -1 ? 0 : row->jb[1] == -1 ? 1 : 2, to = 3 * row->b + k;
    if (row->b < nodes || arrays->place[to] != S2_NONE || row->jb[k] != -1) {
      continue;
    }
    for (int c = 0; c < 3; c++) {
      arrays->v[to] += row->ja[c] * arrays->v[3 * row->a + c];
    }
  }
}

void s2_wide_split(const S2Step *step, const S2Island *island, int nodes,
                   const S2NodeArrays *arrays) {
  int aside = island->nodes;
  for (int i = 0; i < island->joints && nodes > 0; i++) {
    // Append the nodes of such joints after the island's bodies, in the order of the joints.
    const S2Joint *joint = &step->world->joints.at[island->joint[i]];
    if (s2_joint_is_wide(joint)) {
      S2WideMovers of = s2_wide_row_movers(step, joint, NULL);
      for (int r = 0; r < joint->rows && of.count > 2; r++, aside += S2_WIDE_NODES) {
        split_row(step, &of, aside, s2_wide_part(nodes), arrays);
      }
      continue;
    }
    S2WideMovers movers = s2_wide_movers(step, joint);
    if (movers.count <= 2) {
      continue;
    }
    // Component c copies the angular velocity of body c. Unused components have zero velocity and
    // the mass of body 0.
    for (int c = 0; c < 3; c++) {
      int at = 3 * aside + c, from = 3 * step->node_of[movers.slot[c < movers.count - 1 ? c : 0]];
      bool copies = c < movers.count - 1;
      double share = copies ? s2_wide_part(nodes) : 0;
      arrays->place[at] = 3 * movers.slot[copies ? c : 0];
      arrays->mass[at] = copies ? share * arrays->mass[from] : arrays->mass[from];
      arrays->rhs[at] = share * arrays->rhs[from];
      arrays->v[at] = copies ? arrays->v[from] : 0;
      // The body keeps the rest of the mass.
      if (copies) {
        arrays->mass[from] -= arrays->mass[at];
        arrays->rhs[from] -= arrays->rhs[at];
      }
    }
    aside += 1;
  }
}

void s2_wide_stiffen(const S2Step *step, const S2Island *island, double stiffness, double *mass) {
  for (int i = 0; i < island->nodes; i++) {
    double inertia = step->world->bodies.at[island->node[i]].inertia;
    mass[3 * i] = stiffness * inertia - (inertia - mass[3 * i]);
  }
}

int s2_wide_row_count(const S2WideMovers *movers) {
  return movers->count > 2 ? movers->count : movers->count > 0 ? 1 : 0;
}

int s2_wide_gear_rows(const S2Step *step, const S2WideMovers *movers, int32_t aside, double bias,
                      S2Row rows[4]) {
  int count = s2_wide_row_count(movers);
  S2Row plain = {.a = S2_GROUND, .b = S2_GROUND, .coupled_to = -1, .lo = -INFINITY, .hi = INFINITY};
  for (int i = 0; i < count; i++) {
    rows[i] = plain;
  }
  // An ordinary row is sufficient for at most two bodies.
  if (count == 1) {
    for (int i = 0; i < movers->count; i++) {
      *(i == 0 ? &rows[0].a : &rows[0].b) = step->node_of[movers->slot[i]];
      *(i == 0 ? &rows[0].ja[0] : &rows[0].jb[0]) = movers->factor[i];
    }
    rows[0].bias = bias;
    return count;
  }
  // The rows of the copies: w_i - x_i = 0.
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
