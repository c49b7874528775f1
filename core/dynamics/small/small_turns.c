// Checks whether a piece of a small island is too long, as rattle_turns.c does.
#include "dynamics/joints/rows.h"
#include "dynamics/project/passage.h"
#include "dynamics/rattle/rattle_numbers.h"
#include "dynamics/small/small.h"

#include <string.h>

// Returns true if row r holds the point of a hinge or weld, whose axes may turn.
static bool small_holds_point(const S2Small *small, int r) {
  const S2SmallRow *row = &small->row[r];
  if (r >= small->joint_rows || row->law != S2_RATTLE_EQUATION) {
    return false;
  }
  S2JointType type = small->joint[row->place].type;
  return type == S2_HINGE || type == S2_WELD;
}

// A round body that turns far is S2_SMALL_ELSEWHERE.
S2SmallOutcome s2_small_turns_too_far(const S2Small *small) {
  const double most = S2_RATTLE_TURN * (1 + 1e-9);
  for (int r = 0; r < small->rows; r++) {
    const S2SmallRow *row = &small->row[r];
    const S2SmallSide *from = &small->at0[r], *to = &small->at1[r];
    double x = to->b[1] - from->b[1], y = to->b[2] - from->b[2];
    double size = from->b[1] * from->b[1] + from->b[2] * from->b[2];
    if (small->l[r] == 0) {
      continue;
    }
    // Directions of rows, and lever arms of contacts.
    bool far = x * x + y * y > S2_RATTLE_TURN * most * size && !small_holds_point(small, r);
    if (r >= small->joint_rows) {
      double a = row->a < small->nodes ? fabs(to->a[0] - from->a[0]) : 0;
      double b = row->b < small->nodes ? fabs(to->b[0] - from->b[0]) : 0;
      far |= fmax(a, b) > S2_RATTLE_TURN * small->length;
    }
    if (far) {
      return S2_SMALL_TOO_LONG;
    }
  }
  // Rotations of bodies.
  S2SmallOutcome outcome = S2_SMALL_SOLVED;
  for (int i = 0; i < small->nodes; i++) {
    if (fabs(small->h * small->u[3 * i]) > most) {
      outcome = s2_body_round(small->step->world, small->slot[i]) ? S2_SMALL_ELSEWHERE
                                                                  : S2_SMALL_TOO_LONG;
      if (outcome == S2_SMALL_ELSEWHERE) {
        return outcome;
      }
    }
  }
  return outcome;
}

// A bound of (h w)^2 for the force of a hinge, as in geometric.c.
static double small_hinge_turning(const S2Small *small, const S2SmallJoint *joint) {
  const S2SmallSide *x = &small->at1[joint->row[0]], *y = &small->at1[joint->row[1]];
  double error = hypot(x->value, y->value);
  double force = 2 / small->h * hypot(small->l[joint->row[0]], small->l[joint->row[1]]);
  double a =
      joint->a < small->nodes ? s2_length(joint->local_a) / small->inertial[3 * joint->a] : 0;
  double b = joint->b < small->nodes
                 ? (s2_length(joint->local_b) + 3 * error) / small->inertial[3 * joint->b]
                 : 0;
  return small->h * small->h * force * fmax(a, b);
}

bool s2_small_loads_turn(const S2Small *small) {
  S2Step *step = small->step;
  const S2World *world = step->world;
  for (int i = 0; i < small->joints; i++) {
    const S2SmallJoint *joint = &small->joint[i];
    // The bound uses undamped masses, so it is at least that of geometric.c.
    if (joint->type == S2_HINGE && joint->rigid &&
        small_hinge_turning(small, joint) < S2_RATTLE_SWINGS) {
      continue;
    }
    double impulse[S2_JOINT_ROWS];
    bool acts = false;
    for (int k = 0; k < S2_JOINT_ROWS; k++) {
      impulse[k] = joint->row[k] == S2_NONE ? 0 : small->l[joint->row[k]];
      acts |= impulse[k] != 0;
    }
    S2JointAt at = {world, &world->joints.at[joint->slot], step->q1, small->done + small->h, NULL};
    S2JointLoad load = {impulse, small->h / 2};
    if (acts && s2_joint_turns_too_fast(step, &at, &load, small->h, S2_RATTLE_SWINGS) > 0) {
      return true;
    }
  }
  return false;
}

// J, relative to the ground or to the centre of mass. As moving_energy in rattle_turns.c.
static double small_moving_energy(const S2Small *small, const double *v) {
  double frame[3] = {0, small->island->frame.x, small->island->frame.y}, moving = 0;
  if (!small->island->grounded) {
    double mass = 0;
    frame[1] = frame[2] = 0;
    for (int i = 0; i < small->nodes; i++) {
      mass += small->inertial[3 * i + 1];
      frame[1] += small->inertial[3 * i + 1] * v[3 * i + 1];
      frame[2] += small->inertial[3 * i + 1] * v[3 * i + 2];
    }
    frame[1] /= mass;
    frame[2] /= mass;
  }
  for (int i = 0; i < 3 * small->nodes; i++) {
    double own = v[i] - frame[i % 3];
    moving += small->inertial[i] * (own * own) / 2;
  }
  return moving;
}

// Copies the velocities v of all nodes to `all`, and sets those of ground bodies to 0.
static void small_with_ground(const S2Small *small, const double *v, double *all) {
  memset(all, 0, sizeof(double) * 3 * S2_SMALL_SEATS);
  memcpy(all, v, sizeof(double) * (size_t)(3 * small->nodes));
}

// Returns the work of the normals of contacts (J) in both stages, as in rattle_turns.c.
static double small_work_of_contacts(const S2Small *small) {
  double v0[3 * S2_SMALL_SEATS], u[3 * S2_SMALL_SEATS], v1[3 * S2_SMALL_SEATS], work = 0;
  small_with_ground(small, small->v0, v0);
  small_with_ground(small, small->u, u);
  small_with_ground(small, small->v1, v1);
  for (int i = 0; i < small->points; i++) {
    int r = small->point[i].row;
    const S2SmallRow *row = &small->row[r];
    const S2SmallSide *from = &small->at0[r], *to = &small->at1[r];
    double first = s2_small_along(row, from, v0) + s2_small_along(row, from, u);
    double second = s2_small_along(row, to, v1) + s2_small_along(row, to, u);
    work += (small->l[r] * first + small->k[r] * second) / 2;
  }
  return work;
}

// Returns the work of joint rows, as in rattle_turns.c. `rigid` receives the part of rigid rows.
static double small_work_of_joints(const S2Small *small, double *rigid) {
  double u[3 * S2_SMALL_SEATS], work[2] = {0, 0};
  small_with_ground(small, small->u, u);
  for (int r = 0; r < small->joint_rows; r++) {
    const S2SmallRow *row = &small->row[r];
    if (row->source != S2_RATTLE_OF_ROWS || row->trapezoid) {
      continue;
    }
    const S2SmallSide *from = &small->at0[r], *to = &small->at1[r];
    double mean = row->soft ? (to->value - from->value) / small->h : 0;
    work[row->soft] += small->l[r] * (s2_small_along(row, from, u) - mean) +
                       small->k[r] * (s2_small_along(row, to, u) - mean);
  }
  *rigid = work[0] / 2;
  return *rigid + work[1] / 2;
}

// Returns true if the direction of a row with an impulse turns, as rods_turn in rattle_turns.c.
static bool small_rods_turn(const S2Small *small) {
  for (int r = 0; r < small->joint_rows; r++) {
    const S2SmallRow *row = &small->row[r];
    if (small->l[r] == 0 || row->source != S2_RATTLE_OF_ROWS || small_holds_point(small, r) ||
        small->joint[row->place].type == S2_SLIDER) {
      continue;
    }
    const double *from = small->at0[r].b, *to = small->at1[r].b;
    double x = to[1] - from[1], y = to[2] - from[2];
    double size = from[1] * from[1] + from[2] * from[2];
    if (x * x + y * y > S2_RATTLE_SWAY_TURN * S2_RATTLE_SWAY_TURN * size) {
      return true;
    }
  }
  return false;
}

bool s2_small_rows_bring(const S2Small *small) {
  if (small->h * S2_RATTLE_SWAY_PIECES < small->step->dt) {
    return false;
  }
  bool turns = small->points > 0;
  for (int i = 0; i < small->nodes && !turns; i++) {
    turns = fabs(small->h * small->u[3 * i]) > S2_RATTLE_SWAY_TURN;
  }
  if (!turns && !small_rods_turn(small)) {
    return false;
  }
  double before = small_moving_energy(small, small->v0), forces = 0;
  for (int i = 0; i < 3 * small->nodes; i++) {
    double given = small->h * small->force[i] / small->inertial[i];
    before += small->inertial[i] * (given * given) / 2;
    double mean = (small->v0[i] + small->v1[i]) / 2;
    forces += small->h * small->force[i] * (mean - small->u[i]) / 2;
  }
  if (small->points > 0) {
    return small_work_of_contacts(small) + fmin(0, forces) > S2_RATTLE_SWAY * before;
  }
  double allowed = S2_RATTLE_SWAY * (before + small_moving_energy(small, small->v1)), rigid;
  return small_work_of_joints(small, &rigid) > allowed || fabs(rigid) > allowed;
}
