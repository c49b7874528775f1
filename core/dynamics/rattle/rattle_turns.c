// Checks whether a piece of the two-stage flow is too long.
// A piece is too long if bodies turn too far or if turning rows add too much energy.
#include "dynamics/rattle/rattle.h"

#include "dynamics/project/passage.h"
#include "dynamics/rattle/rattle_numbers.h"

#include <math.h>

static const double TURN = S2_RATTLE_TURN;
// The fraction of a wheel's rotation that counts if bodies may meet. If a wheel rotates by more
// than 1 rad in a piece and friction throws it against another body, the piece ends with overlaps.
static const double ROUND = 0.25;

// Returns the part (rad) of a node's rotation `turn` that affects its rows. Rows act on a wheel at
// its hub and on a disc at its centre, so their angles have no effect in a piece. The whole
// rotation counts if a row acts at the radius of gyration or farther from the centre. If bodies may
// meet, the whole rotation also counts for bodies that are not round or not held by a joint.
double s2_rattle_seen_turn(const S2Rattle *rattle, int node, double turn) {
  int32_t of = rattle->island->node[node];
  bool meets = rattle->kept == NULL && !s2_body_round(rattle->step->world, of);
  if (!(turn > TURN) || meets) {
    return turn;
  }
  double lever = 0; // m
  bool held = false;
  for (int r = 0; r < rattle->rows; r++) {
    S2RattleSource source = rattle->term[r].source;
    const S2RowSides *from = &rattle->at0.side[r], *to = &rattle->at1.side[r];
    if (s2_rattle_turns(from) || source == S2_RATTLE_OF_SLIP || source == S2_RATTLE_OF_GROUND) {
      continue;
    }
    int32_t slot[2];
    s2_rattle_bodies(rattle, &rattle->term[r], slot);
    const int32_t *node_of = rattle->step->node_of;
    if (slot[0] != S2_NONE && node_of[slot[0]] == node) {
      lever = fmax(lever, fmax(fabs(from->a[0]), fabs(to->a[0])));
      held |= !s2_rattle_of_contact(&rattle->term[r]);
    }
    if (slot[1] != S2_NONE && node_of[slot[1]] == node) {
      lever = fmax(lever, fmax(fabs(from->b[0]), fabs(to->b[0])));
      held |= !s2_rattle_of_contact(&rattle->term[r]);
    }
  }
  const double *inertial = rattle->inertial + 3 * node;
  double part = turn * (lever * sqrt(inertial[1] / inertial[0]));
  double least = rattle->kept != NULL ? 0 : held ? ROUND : 1;
  return fmin(turn, fmax(part, least * turn));
}

// Returns true if row r holds the point of a hinge or weld. The two rows of such a point are
// equivalent for all pairs of axes, so the axes may turn.
static bool holds_point(const S2Rattle *rattle, int r) {
  const S2RattleTerm *term = &rattle->term[r];
  if (s2_rattle_of_contact(term) || term->law != S2_RATTLE_EQUATION) {
    return false;
  }
  S2JointType type = s2_rattle_joint(rattle, term)->type;
  return type == S2_HINGE || type == S2_WELD;
}

// Checks the rotation of bodies and of the row directions, because rods between bodies also turn.
bool s2_rattle_turns_too_far(const S2Rattle *rattle) {
  bool far = false;
  for (int r = 0; r < rattle->rows; r++) {
    const double *from = rattle->at0.side[r].b, *to = rattle->at1.side[r].b;
    double x = to[1] - from[1], y = to[2] - from[2];
    double size = from[1] * from[1] + from[2] * from[2];
    bool pushes = rattle->l[r] != 0;
    far |= pushes && x * x + y * y > TURN * TURN * (1 + 1e-9) * size && !holds_point(rattle, r);
    far |= pushes && s2_rattle_arm_runs(rattle, r) > TURN * rattle->island->length;
  }
  for (int i = 0; i < rattle->nodes; i++) {
    double turn = fabs(rattle->h * rattle->u[3 * i]);
    far |= s2_rattle_seen_turn(rattle, i, turn) > TURN * (1 + 1e-9);
  }
  return far;
}

// Returns true if the forces found in stage 1 turn too fast for the piece, which treats their
// directions explicitly. The number of pieces was chosen from the forces of the last step, which
// may have been zero. Constraints of scripts are not checked, because their second derivatives
// would cost too much here.
bool s2_rattle_loads_turn(const S2Rattle *rattle) {
  const S2World *world = rattle->step->world;
  for (int i = 0; i < rattle->island->joints; i++) {
    const S2Joint *joint = &world->joints.at[rattle->island->joint[i]];
    double impulse[S2_JOINT_ROWS];
    bool acts = false;
    for (int k = 0; k < S2_JOINT_ROWS; k++) {
      int r = rattle->row_of[i][k];
      impulse[k] = r < 0 ? 0 : rattle->l[r];
      acts |= impulse[k] != 0;
    }
    bool known = (s2_joint_kind(joint->type)->parts & S2_HAS_OTHERS) == 0;
    S2JointAt at = {world, joint, rattle->q1, rattle->done + rattle->h, NULL};
    S2JointLoad load = {impulse, rattle->h / 2};
    if (acts && known && !s2_joint_is_wide(joint) &&
        s2_joint_turns_too_fast(rattle->step, &at, &load, rattle->h, S2_RATTLE_SWINGS) > 0) {
      return true;
    }
  }
  return false;
}

// ---- Energy -------------------------------------------------------------------------------------

// Returns the speed along row r. Bodies have the velocities v (3 per node), and ground bodies have
// the velocities `ground` (3 per slot).
static double speed_along(const S2Rattle *rattle, int r, const S2RowSides *side, const double *v,
                          const double *ground) {
  const int32_t *node_of = rattle->step->node_of;
  int32_t slot[2];
  double speed = 0;
  s2_rattle_bodies(rattle, &rattle->term[r], slot);
  for (int c = 0; c < 6; c++) {
    int32_t of = slot[c / 3];
    if (of == S2_NONE) { // the world
      continue;
    }
    int32_t node = node_of[of];
    double along = node == S2_GROUND ? ground[3 * of + c % 3] : v[3 * node + c % 3];
    speed += (c < 3 ? side->a[c] : side->b[c - 3]) * along;
  }
  return speed;
}

// Returns the work (J) of rigid contacts along their normals in both stages, relative to the moving
// ground. If rows do not turn, only contacts that close do work, and that work is never positive.
static double work_of_contacts(const S2Rattle *rattle) {
  const S2Step *step = rattle->step;
  const double *mean = step->free_v, *end = s2_rattle_ground_end(rattle);
  const double *start = rattle->done == 0 ? step->given_start : mean;
  double work = 0;
  for (int r = 0; r < rattle->rows; r++) {
    const S2RattleTerm *term = &rattle->term[r];
    if (term->source == S2_RATTLE_OF_GAP && !term->soft) {
      const S2RowSides *to = &rattle->at1.side[r];
      const S2RowSides *from = rattle->late[r] ? to : &rattle->at0.side[r];
      double first = speed_along(rattle, r, from, rattle->v0, start);
      double second = speed_along(rattle, r, to, rattle->v1, end);
      first += speed_along(rattle, r, from, rattle->u, mean);
      second += speed_along(rattle, r, to, rattle->u, mean);
      work += (rattle->l[r] * first + rattle->k[r] * second) / 2;
    }
  }
  return work;
}

// Returns the work (J) of forces at the mean velocities of both stages, minus their work along the
// displacement. If forces push bodies onto a contact, this difference is negative, and the contact
// returns the energy.
static double work_of_forces(const S2Rattle *rattle) {
  double work = 0;
  for (int i = 0; i < 3 * rattle->nodes; i++) {
    double mean = (rattle->v0[i] + rattle->v1[i]) / 2;
    work += rattle->h * rattle->force[i] * (mean - rattle->u[i]) / 2;
  }
  return work;
}

// Returns the work (J) of joint rows at the velocity u of the piece, minus the work of their
// impulses along the changes of their values. The values of rigid rows do not change. The
// difference would be 0 if rows did not turn. Rows that use the trapezoidal rule are not included.
// `rigid` receives the part of rigid rows.
static double work_of_joints(const S2Rattle *rattle, double *rigid) {
  const double *ground = rattle->step->free_v;
  double work[2] = {0, 0};
  for (int r = 0; r < rattle->rows; r++) {
    const S2RattleTerm *term = &rattle->term[r];
    if (term->source != S2_RATTLE_OF_ROWS || term->law != S2_RATTLE_EQUATION || term->trapezoid) {
      continue;
    }
    const S2RattleRows *from = &rattle->at0, *to = &rattle->at1;
    double mean = term->soft ? (to->value[r] - from->value[r]) / rattle->h : 0;
    double first = speed_along(rattle, r, &from->side[r], rattle->u, ground) + from->rate[r] - mean;
    double second = speed_along(rattle, r, &to->side[r], rattle->u, ground) + to->rate[r] - mean;
    work[term->soft] += rattle->l[r] * first + rattle->k[r] * second;
  }
  *rigid = work[0] / 2;
  return *rigid + work[1] / 2;
}

// Returns the kinetic energy (J) at the velocities v (3 per node). It is relative to the ground or,
// for an island without ground, to the centre of mass.
static double moving_energy(const S2Rattle *rattle, const double *v) {
  double frame[3] = {0, rattle->island->frame.x, rattle->island->frame.y}, moving = 0;
  if (!rattle->island->grounded) {
    double mass = 0;
    frame[1] = frame[2] = 0;
    for (int i = 0; i < rattle->nodes; i++) {
      mass += rattle->inertial[3 * i + 1];
      frame[1] += rattle->inertial[3 * i + 1] * v[3 * i + 1];
      frame[2] += rattle->inertial[3 * i + 1] * v[3 * i + 2];
    }
    frame[1] /= mass;
    frame[2] /= mass;
  }
  for (int i = 0; i < 3 * rattle->nodes; i++) {
    double own = v[i] - frame[i % 3];
    moving += rattle->inertial[i] * (own * own) / 2;
  }
  return moving;
}

// Returns the kinetic energy (J) of the velocity changes that forces cause in the piece.
static double energy_given(const S2Rattle *rattle) {
  double moving = 0;
  for (int i = 0; i < 3 * rattle->nodes; i++) {
    double given = rattle->h * rattle->force[i] / rattle->inertial[i];
    moving += rattle->inertial[i] * (given * given) / 2;
  }
  return moving;
}

// Returns true if a row with an impulse changes its direction by more than S2_RATTLE_SWAY_TURN in
// the piece. A rod between two points may turn even if no body does. The directions of hinges,
// welds and sliders do not count, because they turn with a body or not at all.
static bool rods_turn(const S2Rattle *rattle) {
  for (int r = 0; r < rattle->rows; r++) {
    const S2RattleTerm *term = &rattle->term[r];
    if (rattle->l[r] == 0 || term->source != S2_RATTLE_OF_ROWS || term->law != S2_RATTLE_EQUATION ||
        holds_point(rattle, r) || s2_rattle_joint(rattle, term)->type == S2_SLIDER) {
      continue;
    }
    const double *from = rattle->at0.side[r].b, *to = rattle->at1.side[r].b;
    double x = to[1] - from[1], y = to[2] - from[2];
    double size = from[1] * from[1] + from[2] * from[2];
    if (x * x + y * y > S2_RATTLE_SWAY_TURN * S2_RATTLE_SWAY_TURN * size) {
      return true;
    }
  }
  return false;
}

bool s2_rattle_rows_bring(const S2Rattle *rattle) {
  if (rattle->h * S2_RATTLE_SWAY_PIECES < rattle->step->dt) {
    return false;
  }
  bool turns = rattle->touches > 0;
  for (int i = 0; i < rattle->nodes && !turns; i++) {
    turns = fabs(rattle->h * rattle->u[3 * i]) > S2_RATTLE_SWAY_TURN;
  }
  if (!turns && !rods_turn(rattle)) {
    return false;
  }
  double before = moving_energy(rattle, rattle->v0) + energy_given(rattle), rigid;
  if (rattle->touches > 0) {
    double work = work_of_contacts(rattle) + fmin(0, work_of_forces(rattle));
    return work > S2_RATTLE_SWAY * before;
  }
  double allowed = S2_RATTLE_SWAY * (before + moving_energy(rattle, rattle->v1));
  // Stiff compliant rows that use implicit Euler may remove energy, so limit only their energy
  // gain.
  return work_of_joints(rattle, &rigid) > allowed || fabs(rigid) > allowed;
}
