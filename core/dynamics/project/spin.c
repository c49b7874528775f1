// Angular momentum of floating islands.
// Projection moves masses without their momenta, which changes the angular momentum. Full SHAKE
// would correct this, but the energy limit suppresses a part of the correction. Rigid motions do
// not violate any joint. The rotation about the centre of mass is therefore set from the angular
// momentum, and the energy limit only applies to the rest of the motion.
#include "dynamics/project/spin.h"
#include "dynamics/trace/notes.h"

#include <string.h>

// Allowed imbalance between the forces on both bodies of a row, as a fraction of these forces. It
// covers the error of numerical derivatives.
static const double BALANCED = 1e-8;

// Returns true if the forces and moments of each row of a constraint cancel over its two bodies.
// Always true for other joints.
static bool spin_balances(const S2Step *step, const S2Joint *joint) {
  S2JointAt at = {step->world, joint, step->q0, step->t - step->world->kept.time, NULL};
  const double *qa = step->q0 + 3 * joint->a, *qb = step->q0 + 3 * joint->b;
  S2Vec2 arm = s2_vec2(qb[1] - qa[1], qb[2] - qa[2]);
  S2JointRow rows[S2_JOINT_EQUATIONS];
  bool along = joint->type == S2_CONSTRAINT && s2_constraint_one_sided(joint);
  int count = along ? 1 : s2_joint_rows(&at, rows);
  if (along) {
    s2_joint_kind(joint->type)->coordinate(&at, rows, NULL);
  }
  bool good = true;
  for (int r = 0; r < count && good; r++) {
    const double *ja = rows[r].ja, *jb = rows[r].jb;
    double size = hypot(jb[1], jb[2]), turn = fabs(ja[0]) + fabs(jb[0]) + s2_length(arm) * size;
    double moment = ja[0] + jb[0] + s2_cross(arm, s2_vec2(jb[1], jb[2]));
    good =
        hypot(ja[1] + jb[1], ja[2] + jb[2]) <= BALANCED * size && fabs(moment) <= BALANCED * turn;
  }
  return good;
}

// Returns true if only joints act, between bodies of the island. With contacts or ground, a
// rotation could do work against friction or close contacts. (The joints of a gear belong to the
// same island.)
bool s2_island_floats(const S2Step *step, const S2Island *island) {
  bool floats = island->joints > 0 && island->touches == 0;
  for (int i = 0; i < island->joints && floats; i++) {
    const S2Joint *joint = &step->world->joints.at[island->joint[i]];
    floats = joint->a != S2_NONE && joint->b != S2_NONE && step->node_of[joint->a] != S2_GROUND &&
             step->node_of[joint->b] != S2_GROUND && !s2_joint_is_wide(joint) &&
             (!s2_joint_may_hold(joint) || spin_balances(step, joint));
  }
  return floats;
}

typedef struct Whole { // the island as a single rigid body at q1
  double mass, inertia;
  // Position of the first body, and the centre of mass relative to it. Relative positions stay
  // accurate far from the origin.
  S2Vec2 origin, centre;
} Whole;

static S2Vec2 arm_of(const S2Step *step, const S2Island *island, const Whole *whole, int node) {
  const double *q = step->q1 + 3 * island->node[node];
  return s2_sub(s2_sub(s2_vec2(q[1], q[2]), whole->origin), whole->centre);
}

static Whole whole_of(const S2Step *step, const S2Island *island) {
  const double *first = step->q1 + 3 * island->node[0];
  Whole whole = {.origin = s2_vec2(first[1], first[2])};
  S2Vec2 sum = {0, 0};
  for (int i = 0; i < island->nodes; i++) {
    double m = step->world->bodies.at[island->node[i]].mass;
    whole.mass += m;
    sum = s2_add(sum, s2_scale(m, arm_of(step, island, &whole, i)));
  }
  whole.centre = s2_scale(1 / whole.mass, sum);
  for (int i = 0; i < island->nodes; i++) {
    const S2Body *body = &step->world->bodies.at[island->node[i]];
    whole.inertia += body->inertia + body->mass * s2_length2(arm_of(step, island, &whole, i));
  }
  return whole;
}

// Use velocities relative to the first body. This only reduces rounding errors, because the arms
// are relative to the centre of mass.
static double spin_of(const S2Step *step, const S2Island *island, const Whole *whole,
                      const double *v) {
  S2Vec2 first = s2_vec2(v[1], v[2]);
  double spin = 0;
  for (int i = 0; i < island->nodes; i++) {
    const S2Body *body = &step->world->bodies.at[island->node[i]];
    S2Vec2 arm = arm_of(step, island, whole, i);
    S2Vec2 moves = s2_sub(s2_vec2(v[3 * i + 1], v[3 * i + 2]), first);
    spin += body->inertia * v[3 * i] + body->mass * s2_cross(arm, moves);
  }
  return spin;
}

static void add_turn(const S2Step *step, const S2Island *island, const Whole *whole, double turn,
                     double *v) {
  for (int i = 0; i < island->nodes; i++) {
    S2Vec2 arm = arm_of(step, island, whole, i);
    v[3 * i] += turn;
    v[3 * i + 1] -= turn * arm.y;
    v[3 * i + 2] += turn * arm.x;
  }
}

double s2_island_spin(const S2Step *step, const S2Island *island, const double *v) {
  Whole whole = whole_of(step, island);
  return spin_of(step, island, &whole, v);
}

void s2_island_set_spin(const S2Step *step, const S2Island *island, double spin, double *v) {
  Whole whole = whole_of(step, island);
  double turn = (spin - spin_of(step, island, &whole, v)) / whole.inertia;
  add_turn(step, island, &whole, turn, v);
}

// Restores the angular momentum of v1 by a rotation. The rows of geometric stiffness have changed
// it, because forces along their eigenvectors do not balance. Momenta use W instead of M, to
// include damping.
static void balance_turn(const S2Step *step, const S2Island *island) {
  const double *first = step->q0 + 3 * island->node[0];
  S2Vec2 centre = {0, 0}; // relative to the first body
  double weight = 0, inertia = 0, moment = 0;
  for (int i = 0; i < island->nodes; i++) {
    int32_t at = 3 * island->node[i];
    S2Vec2 place = s2_vec2(step->q0[at + 1] - first[1], step->q0[at + 2] - first[2]);
    weight += step->mass[at + 1];
    centre = s2_add(centre, s2_scale(step->mass[at + 1], place));
  }
  centre = s2_scale(1 / weight, centre);
  for (int i = 0; i < island->nodes; i++) {
    int32_t at = 3 * island->node[i];
    const double *w = step->mass + at, *v = step->v1 + at, *free_v = step->free_v + at;
    S2Vec2 place = s2_vec2(step->q0[at + 1] - first[1], step->q0[at + 2] - first[2]);
    S2Vec2 arm = s2_sub(place, centre), missing = s2_vec2(free_v[1] - v[1], free_v[2] - v[2]);
    inertia += w[0] + w[1] * s2_length2(arm);
    moment += w[0] * (free_v[0] - v[0]) + w[1] * s2_cross(arm, missing);
  }
  double turn = moment / inertia;
  for (int i = 0; i < island->nodes; i++) {
    int32_t at = 3 * island->node[i];
    const double dv[3] = {turn, -turn * (step->q0[at + 2] - first[2] - centre.y),
                          turn * (step->q0[at + 1] - first[1] - centre.x)};
    for (int c = 0; c < 3; c++) {
      step->v1[at + c] += dv[c];
      step->balanced[at + c] = step->mass[at + c] * dv[c];
    }
  }
}

void s2_island_balance(S2Step *step, const S2Island *island) {
  for (int i = 0; i < island->nodes; i++) {
    memset(step->balanced + 3 * island->node[i], 0, 3 * sizeof(double));
  }
  if (island->joints > 0 && step->stiff[island->joint[0]] && s2_island_floats(step, island)) {
    s2_note_island(step, island, S2_ACT_BALANCE, step->v1);
    balance_turn(step, island);
  }
}

void s2_island_correct_balance(const S2Step *step, const S2Island *island) {
  // NULL: bodies were only moved, without a velocity solve.
  bool solved = step->balanced != NULL;
  for (int i = 0; i < 3 * island->nodes && solved; i++) {
    int32_t at = 3 * island->node[i / 3] + i % 3;
    step->corrected[at] += step->balanced[at];
    step->balanced[at] = 0;
  }
}

double s2_island_kinetic(const S2Step *step, const S2Island *island, const double *v) {
  double sum = 0;
  for (int i = 0; i < island->nodes; i++) {
    const S2Body *body = &step->world->bodies.at[island->node[i]];
    sum += body->inertia * v[3 * i] * v[3 * i];
    sum += body->mass * (v[3 * i + 1] * v[3 * i + 1] + v[3 * i + 2] * v[3 * i + 2]);
  }
  return sum / 2;
}

static S2Vec2 drift_of(const S2Step *step, const S2Island *island, const double *v) {
  S2Vec2 sum = {0, 0}, first = s2_vec2(v[1], v[2]); // relative to the first body, for accuracy
  double mass = 0;
  for (int i = 0; i < island->nodes; i++) {
    double m = step->world->bodies.at[island->node[i]].mass;
    mass += m;
    sum = s2_add_scaled(sum, m, s2_sub(s2_vec2(v[3 * i + 1], v[3 * i + 2]), first));
  }
  return s2_add_scaled(first, 1 / mass, sum);
}

double s2_island_kinetic_within(const S2Step *step, const S2Island *island, const double *v) {
  S2Vec2 drift = drift_of(step, island, v);
  double sum = 0;
  for (int i = 0; i < island->nodes; i++) {
    const S2Body *body = &step->world->bodies.at[island->node[i]];
    S2Vec2 within = s2_sub(s2_vec2(v[3 * i + 1], v[3 * i + 2]), drift);
    sum += body->inertia * v[3 * i] * v[3 * i] + body->mass * s2_length2(within);
  }
  return sum / 2;
}

// Returns true if the joint has a spring or compliance. These may add energy that the unconstrained
// motion does not contain.
static bool is_elastic(const S2Joint *joint) {
  const S2JointWeights *weights = &joint->compliance;
  return joint->has_spring || weights->size > 0 || weights->linear > 0 || weights->angular > 0;
}

double s2_island_most_kinetic(const S2Step *step, const S2Island *island, double *v,
                              bool *from_v2) {
  *from_v2 = false;
  for (int i = 0; i < island->joints; i++) {
    const S2Joint *joint = &step->world->joints.at[island->joint[i]];
    if (is_elastic(joint) || joint->has_motor || joint->has_servo) {
      return INFINITY;
    }
  }
  double most = 0;
  for (int way = 0; way < 2; way++) {
    for (int i = 0; i < island->nodes; i++) {
      const double *from = way == 0 ? step->free_v : step->v2;
      memcpy(v + 3 * i, from + 3 * island->node[i], 3 * sizeof(double));
    }
    double kinetic = s2_island_kinetic_within(step, island, v);
    *from_v2 = kinetic > most && way == 1;
    most = fmax(most, kinetic);
  }
  return most * (1 + S2_SPIN_ROUNDING);
}

// Keeps the velocity of the centre of mass and the common rotation, and reduces the remaining
// motion. Also reduces the rotation if that is not sufficient because masses moved far inwards.
// Adds changes to v to limit rounding errors.
void s2_island_cap(const S2Step *step, const S2Island *island, double most, double *v) {
  double kinetic = s2_island_kinetic_within(step, island, v);
  if (kinetic <= most) {
    return;
  }
  Whole whole = whole_of(step, island);
  S2Vec2 drift = drift_of(step, island, v);
  double spin = spin_of(step, island, &whole, v), turn = spin / whole.inertia;
  double turning = spin * turn / 2, rest = kinetic - turning;
  double less = rest > 0 ? 1 - sqrt(fmin(1, fmax(0, most - turning) / rest)) : 0;
  for (int i = 0; i < island->nodes; i++) {
    S2Vec2 arm = arm_of(step, island, &whole, i);
    v[3 * i] -= less * (v[3 * i] - turn);
    v[3 * i + 1] -= less * (v[3 * i + 1] - drift.x + turn * arm.y);
    v[3 * i + 2] -= less * (v[3 * i + 2] - drift.y - turn * arm.x);
  }
  double slower = turning > most ? sqrt(most / turning) - 1 : 0;
  add_turn(step, island, &whole, turn * slower, v);
}

// ---- Ground of an island ----------------------------------------------------------------------

static int add_holder(const S2Step *step, int32_t slot, int32_t *ground, int count) {
  bool known = slot != S2_NONE && step->node_of[slot] != S2_GROUND;
  for (int i = 0; i < count && !known; i++) {
    known = ground[i] == slot;
  }
  if (!known) {
    ground[count++] = slot;
  }
  return count;
}

int s2_island_holders(const S2Step *step, const S2Island *island, bool closed, int32_t *ground) {
  int count = 0;
  for (int i = 0; i < island->joints; i++) {
    const S2Joint *joint = &step->world->joints.at[island->joint[i]];
    count = add_holder(step, joint->a, ground, count);
    count = add_holder(step, joint->b, ground, count);
    for (int k = 0; k < 2 && joint->more[k] != S2_NONE; k++) {
      count = add_holder(step, joint->more[k], ground, count);
    }
    if (s2_joint_may_hold(joint) && !s2_island_floats(step, island)) {
      // the joint holds its bodies relative to the world
      count = add_holder(step, S2_NONE, ground, count);
    }
  }
  for (int i = 0; i < island->touches; i++) {
    const S2Touch *touch = &step->touches[island->touch[i]];
    bool presses = false;
    for (int k = 0; k < touch->count; k++) {
      presses |= touch->points[k].normal_impulse > 0 ||
                 (closed && touch->points[k].at.gap <= S2_TOUCH_SLOP * island->length);
    }
    if (presses) {
      count = add_holder(step, touch->body_a, ground, count);
      count = add_holder(step, touch->body_b, ground, count);
    }
  }
  return count;
}

S2Vec2 s2_island_frame(const S2Step *step, const S2Island *island, const int32_t *ground,
                       int grounds) {
  S2Vec2 sum = {0, 0};
  for (int i = 0; i < grounds; i++) {
    const double *v = step->free_v + 3 * ground[i];
    sum = ground[i] == S2_NONE ? sum : s2_add(sum, s2_vec2(v[1], v[2]));
  }
  const double *first = step->v0 + 3 * island->node[0];
  return grounds > 0 ? s2_scale(1.0 / grounds, sum) : s2_vec2(first[1], first[2]);
}
