// Checks whether a piece of a linkage is too long, as rattle_turns.c does.
#include "dynamics/rattle/linkage.h"
#include "dynamics/rattle/rattle_numbers.h"

static const double TURN = S2_RATTLE_TURN;

// m: the largest lever arm of a row on the node at both ends of the piece. Rows of angles have
// none.
static double node_lever(const S2Linkage *linkage, int node) {
  double lever = 0;
  for (int32_t p = linkage->start[node]; p < linkage->start[node + 1]; p++) {
    const S2LinkageLink *link = &linkage->link[p];
    const S2Two *from = (const S2Two *)linkage->at0 + link->side;
    const S2Two *to = (const S2Two *)linkage->at1 + link->side;
    for (int k = 0; k < (linkage->joint[link->joint].slides ? 1 : 2); k++) {
      lever = fmax(lever, fmax(fabs(from[0][k]), fabs(to[0][k])));
    }
  }
  return lever;
}

double s2_linkage_seen_turn(const S2Linkage *linkage, const double *v, double h) {
  double most = 0;
  for (int i = 0; i < linkage->nodes; i++) {
    double turn = fabs(h * v[3 * i]);
    if (turn > TURN) {
      const double *inertial = linkage->inertial + 3 * (size_t)i;
      turn = fmin(turn, turn * (node_lever(linkage, i) * sqrt(inertial[1] / inertial[0])));
    }
    most = turn > most ? turn : most;
  }
  return most;
}

bool s2_linkage_turns_too_far(const S2Linkage *linkage) {
  for (int i = 0; i < linkage->joints; i++) {
    // The two rows of a hinge are equivalent for all pairs of axes. The row of a slider is not.
    if (linkage->joint[i].slides && linkage->l[2 * i] != 0) {
      const S2LinkageRows *from = &linkage->at0[i], *to = &linkage->at1[i];
      S2Vec2 start = {from->b.j[1][0], from->b.j[2][0]}, end = {to->b.j[1][0], to->b.j[2][0]};
      if (s2_length2(s2_sub(end, start)) > TURN * TURN * (1 + 1e-9) * s2_length2(start)) {
        return true;
      }
    }
  }
  return s2_linkage_seen_turn(linkage, linkage->u, linkage->h) > TURN * (1 + 1e-9);
}

// A bound of (h w)^2 for the force of a hinge, as in geometric.c. It uses undamped masses, so it is
// at least as large.
static double hinge_turning(const S2Linkage *linkage, int i) {
  const S2LinkageJoint *joint = &linkage->joint[i];
  const S2LinkageRows *at = &linkage->at1[i];
  const double *l = linkage->l + 2 * (size_t)i;
  double error = s2_length(s2_vec2(at->value[0], at->value[1]));
  double force = s2_length(s2_vec2(l[0], l[1]));
  double a = joint->swing_a, b = (joint->arm_b + 3 * error) * joint->light_b;
  return 2 * linkage->h * force * (a > b ? a : b);
}

bool s2_linkage_loads_turn(const S2Linkage *linkage) {
  S2Step *step = linkage->step;
  const S2World *world = step->world;
  bool placed = false;
  for (int i = 0; i < linkage->joints; i++) {
    const S2LinkageJoint *joint = &linkage->joint[i];
    const double *l = linkage->l + 2 * (size_t)i;
    bool acts = l[0] != 0 || l[1] != 0;
    if (!acts || (!joint->slides && hinge_turning(linkage, i) < S2_RATTLE_SWINGS)) {
      continue;
    }
    // The general test reads poses by slots.
    for (int c = 0; c < 3 * linkage->nodes && !placed; c++) {
      step->q1[3 * linkage->island->node[c / 3] + c % 3] = linkage->q1[c];
    }
    placed = true;
    double impulse[S2_JOINT_ROWS] = {l[0], l[1]};
    S2JointAt at = {world, &world->joints.at[joint->slot], step->q1, linkage->done + linkage->h,
                    NULL};
    S2JointLoad load = {impulse, linkage->h / 2};
    if (s2_joint_turns_too_fast(step, &at, &load, linkage->h, S2_RATTLE_SWINGS) > 0) {
      return true;
    }
  }
  return false;
}

// ---- Energy -------------------------------------------------------------------------------------

// J, relative to the ground or to the centre of mass. As moving_energy in rattle_turns.c.
static double linkage_energy(const S2Linkage *linkage, const double *v) {
  double frame[3] = {0, linkage->island->frame.x, linkage->island->frame.y}, moving = 0;
  if (!linkage->island->grounded) {
    double mass = 0;
    frame[1] = frame[2] = 0;
    for (int i = 0; i < linkage->nodes; i++) {
      mass += linkage->inertial[3 * i + 1];
      frame[1] += linkage->inertial[3 * i + 1] * v[3 * i + 1];
      frame[2] += linkage->inertial[3 * i + 1] * v[3 * i + 2];
    }
    frame[1] /= mass;
    frame[2] /= mass;
  }
  for (int i = 0; i < 3 * linkage->nodes; i++) {
    double own = v[i] - frame[i % 3];
    moving += linkage->inertial[i] * (own * own) / 2;
  }
  return moving;
}

bool s2_linkage_rows_bring(const S2Linkage *linkage) {
  if (linkage->h * S2_RATTLE_SWAY_PIECES < linkage->step->dt) {
    return false;
  }
  bool turns = false;
  double work = 0, given = 0;
  for (int i = 0; i < linkage->nodes; i++) {
    turns |= fabs(linkage->h * linkage->u[3 * i]) > S2_RATTLE_SWAY_TURN;
  }
  if (!turns) {
    return false;
  }
  // The work of the impulses at the velocity u. It would be 0 if rows did not turn.
  s2_linkage_speeds(linkage, linkage->at0, linkage->u, linkage->change);
  for (int r = 0; r < linkage->rows; r++) {
    work += linkage->l[r] * linkage->change[r];
  }
  s2_linkage_speeds(linkage, linkage->at1, linkage->u, linkage->change);
  for (int r = 0; r < linkage->rows; r++) {
    work += linkage->k[r] * linkage->change[r];
  }
  // The kinetic energy of the velocity changes that forces cause.
  for (int i = 0; i < 3 * linkage->nodes; i++) {
    double change = linkage->h * linkage->force[i] / linkage->inertial[i];
    given += linkage->inertial[i] * (change * change) / 2;
  }
  double before = linkage_energy(linkage, linkage->v0) + given;
  return fabs(work / 2) > S2_RATTLE_SWAY * (before + linkage_energy(linkage, linkage->v1));
}
