// The nonlinear step of islands that only joints act on: the implicit midpoint rule with the joints
// exact at its end, solved by Newton's method. With w = 2 tan(turn/2), Cayley's measure of a turn,
//
//     M (v+ - v) = h f + Jbar' l,    (w, x+ - x) = h (v + v+)/2,    Jbar (w, x+ - x) = g(q+) - g(q)
//
// Jbar are the chords of measure.c, so forces of joints do exactly the work that the values of
// their rows say and balance: energy is exact, momentum and angular momentum of what is free as
// well. Order 2. The rows, u = J(q+) v+:
//
//     rigid      g(q+) = 0
//     soft       l = -h K (g(q) + g(q+))/2 - D (g(q+) - g(q)), multiplied out by C where that is
//     given driven     u = speed, and |l| <= bound, else l = +-bound: motors and dry friction
//
// An island takes the ordinary step when a contact or a limit acts.
#include "dynamics/schemes/midpoint.h"
#include "dynamics/schemes/schemes.h"
#include "dynamics/step/islands.h"
#include "dynamics/step/solve.h"
#include "dynamics/trace/notes.h"
#include "linalg/band.h"
#include "linalg/dense.h"

#include <string.h>

typedef enum Law { RIGID, SOFT, DRIVEN, FORCED } Law;

typedef struct Term { // a row of a joint
  int32_t index;      // in S2Joint.impulse
  Law law;
  double give, hold, damp; // SOFT: give l + h hold (g + g+)/2 + damp (g+ - g) = 0
  double speed, bound;     // DRIVEN, FORCED: rad/s or m/s; N s
  double start;            // g(q)
  double lambda;           // N s
} Term;

typedef struct Member { // a joint of the island
  const S2Joint *joint;
  int count, at; // of its terms; its first unknown
  Term term[S2_JOINT_ROWS];
} Member;

typedef struct Midpoint {
  S2Step *step;
  const S2Island *island;
  int nodes, joints;
  double *v0, *v; // 3 a node: before and after
  double *middle; // 3 a slot: poses half way
  int32_t *at;    // a node: its first unknown
  Member *member; // a joint
  S2Band matrix;
  double *right;
  double error; // m: of the rigid rows at the last linearisation
  bool aborted;
  bool restarted; // v0 is as an impact left it
} Midpoint;

// ---- The rows of a joint ----------------------------------------------------------------------

// By index in S2Joint.impulse.
static void midpoint_evaluate(const S2JointAt *at, const Member *member,
                              S2JointRow rows[S2_JOINT_ROWS]) {
  const S2JointKind *kind = s2_joint_kind(at->joint->type);
  (void)s2_joint_rows(at, rows);
  for (int k = 0; k < member->count; k++) {
    int index = member->term[k].index;
    if (index == S2_JOINT_LO) {
      kind->coordinate(at, &rows[index], NULL);
      rows[index].value -= at->joint->limit_lo;
    } else if (index >= S2_JOINT_EQUATIONS) {
      kind->drive(at, &rows[index], NULL);
    }
  }
}

static void midpoint_bend(const S2JointAt *at, const Member *member,
                          S2JointHessian hessians[S2_JOINT_ROWS]) {
  const S2JointKind *kind = s2_joint_kind(at->joint->type);
  S2JointRow row;
  s2_joint_hessians(at, hessians);
  for (int k = 0; k < member->count; k++) {
    int index = member->term[k].index;
    if (index == S2_JOINT_LO) {
      kind->coordinate(at, &row, &hessians[index]);
    } else if (index >= S2_JOINT_EQUATIONS) {
      kind->drive(at, &row, &hessians[index]);
    }
  }
}

// At the start of the step (q0), half way or at its end, or from start to end.
static S2JointAt start_of(const Midpoint *m, const S2Joint *joint) {
  const S2Step *step = m->step;
  return (S2JointAt){step->world, joint, step->q0, step->t - step->world->kept.time, NULL, NULL};
}

static S2JointAt end_of(const Midpoint *m, const S2Joint *joint) {
  S2JointAt at = start_of(m, joint);
  at.q = m->step->q1;
  at.elapsed += m->step->h;
  return at;
}

static S2JointAt chord_of(const Midpoint *m, const S2Joint *joint) {
  S2JointAt at = start_of(m, joint);
  at.to = m->step->q1;
  at.elapsed += m->step->h;
  return at;
}

static void add_term(Member *member, Term term) {
  member->term[member->count++] = term;
}

// Motors and dry friction start as the linear solve left them: at their bound or not.
static void add_driven(const Midpoint *m, Member *member, int index, double speed, double bound) {
  int32_t slot = (int32_t)(member->joint - m->step->world->joints.at);
  double impulse = m->step->joint_impulse[S2_JOINT_ROWS * slot + index];
  bool full = isfinite(bound) && fabs(impulse) >= bound * (1 - 1e-9);
  add_term(member, (Term){.index = index,
                          .law = full ? FORCED : DRIVEN,
                          .speed = speed,
                          .bound = bound,
                          .lambda = full ? copysign(bound, impulse) : 0});
}

static void add_equation(Member *member, int index, bool angular) {
  const S2Joint *joint = member->joint;
  Term term = {.index = index};
  double c = angular ? joint->compliance.angular : joint->compliance.linear;
  if (s2_joint_sprung(joint, index)) {
    term.law = SOFT;
    term.give = 1;
    term.hold = joint->stiffness;
    term.damp = joint->damping.linear;
  } else if (!joint->has_spring && c > 0) {
    term.law = SOFT;
    term.give = c;
    term.hold = 1;
    term.damp = c * (angular ? joint->damping.angular : joint->damping.linear);
  }
  add_term(member, term);
}

static void make_member(const Midpoint *m, Member *member) {
  const S2Joint *joint = member->joint;
  double h = m->step->h;
  S2JointAt at = start_of(m, joint);
  S2JointRow rows[S2_JOINT_ROWS];
  int count = s2_joint_rows(&at, rows);
  for (int i = 0; i < count; i++) {
    add_equation(member, i, s2_joint_row_angular(&rows[i]));
  }
  if (joint->limit_lo == joint->limit_hi) {
    add_term(member, (Term){.index = S2_JOINT_LO});
  }
  if (joint->has_motor && joint->motor_max * h > 0) {
    add_driven(m, member, S2_JOINT_MOTOR, joint->motor_speed, joint->motor_max * h);
  }
  if (joint->friction * h > 0) {
    add_driven(m, member, S2_JOINT_DRY, 0, joint->friction * h);
  }
  midpoint_evaluate(&at, member, rows);
  for (int k = 0; k < member->count; k++) {
    member->term[k].start = rows[member->term[k].index].value;
  }
}

// ---- Newton's method --------------------------------------------------------------------------

static int midpoint_node(const Midpoint *m, int32_t slot) {
  return slot == S2_NONE ? S2_GROUND : m->step->node_of[slot];
}

// q1 and the poses half way of the island's bodies
static void midpoint_move(const Midpoint *m) {
  S2Step *step = m->step;
  for (int i = 0; i < 3 * m->nodes; i++) {
    int32_t at = 3 * m->island->node[i / 3] + i % 3;
    double by = step->h * (m->v0[i] + m->v[i]) / 2;
    by = i % 3 == 0 ? 2 * atan(by / 2) : by;
    step->q1[at] = step->q0[at] + by;
    m->middle[at] = step->q0[at] + by / 2;
  }
}

// d q1 / d v of an unknown.
static double midpoint_carried(const Midpoint *m, int of, int c) {
  double half = m->step->h * (m->v0[3 * of + c] + m->v[3 * of + c]) / 4;
  return m->step->h / 2 / (c == 0 ? 1 + half * half : 1);
}

static void fill_momentum(const Midpoint *m) {
  const S2Step *step = m->step;
  for (int i = 0; i < 3 * m->nodes; i++) {
    int32_t slot = m->island->node[i / 3], at = 3 * slot + i % 3;
    const S2Body *body = &step->world->bodies.at[slot];
    double mass = i % 3 == 0 ? body->inertia : body->mass;
    double damping = step->mass[at] - mass; // h times the damper's constant
    int row = m->at[i / 3] + i % 3;
    *s2_band_at(&m->matrix, row, row) += mass + damping / 2;
    m->right[row] += step->h * step->force[at] - mass * (m->v[i] - m->v0[i]) -
                     damping * (m->v0[i] + m->v[i]) / 2;
  }
}

// Half the second derivatives at the middle: what the chord turns by when its end moves, but for
// the turn of the step.
static void fill_bend(const Midpoint *m, const Member *member, const int of[2]) {
  S2JointHessian hessians[S2_JOINT_ROWS];
  S2JointAt at = start_of(m, member->joint);
  at.q = m->middle;
  midpoint_bend(&at, member, hessians);
  for (int k = 0; k < member->count; k++) {
    const S2JointHessian *hessian = &hessians[member->term[k].index];
    for (int i = 0; i < 36; i++) {
      int r = of[i / 18], c = of[i % 6 / 3];
      if (r != S2_GROUND && c != S2_GROUND) {
        *s2_band_at(&m->matrix, m->at[r] + i / 6 % 3, m->at[c] + i % 3) -=
            member->term[k].lambda / 2 * hessian->at[i / 6][i % 6] * midpoint_carried(m, c, i % 3);
      }
    }
  }
}

// The speed of a row at the velocities of the end.
static double speed_of(const Midpoint *m, const Member *member, const S2JointRow *row) {
  const int32_t slot[2] = {member->joint->a, member->joint->b};
  double u = row->rate;
  for (int i = 0; i < 6; i++) {
    int of = midpoint_node(m, slot[i / 3]);
    double v = of != S2_GROUND          ? m->v[3 * of + i % 3]
               : slot[i / 3] != S2_NONE ? m->step->free_v[3 * slot[i / 3] + i % 3]
                                        : 0;
    u += (i < 3 ? row->ja[i] : row->jb[i - 3]) * v;
  }
  return u;
}

// What a term asks for: its residual, and the factors of dl, of dg+ and of du in it.
typedef struct Demand {
  double residual, by_lambda, by_value, by_speed;
} Demand;

static Demand demand_of(Midpoint *m, const Member *member, const Term *term, const S2JointRow *end,
                        double mobility) {
  double h = m->step->h;
  Demand demand = {0};
  switch (term->law) {
  case RIGID:
    demand.residual = end->value;
    demand.by_value = 1;
    // Redundant rows: of all impulses those that Newton's steps add least of. What is solved for
    // stays the same.
    demand.by_lambda = S2_MIDPOINT_REGULAR * mobility * h / 2;
    m->error =
        fmax(m->error, fabs(end->value) * (s2_joint_row_angular(end) ? m->island->length : 1));
    break;
  case SOFT:
    demand.residual = term->give * term->lambda + h * term->hold * (term->start + end->value) / 2 +
                      term->damp * (end->value - term->start);
    demand.by_lambda = term->give;
    demand.by_value = h * term->hold / 2 + term->damp;
    break;
  case DRIVEN:
    demand.residual = speed_of(m, member, end) - term->speed;
    demand.by_lambda = S2_MIDPOINT_REGULAR * mobility;
    demand.by_speed = 1;
    break;
  case FORCED:
    demand.by_lambda = 1;
    break;
  }
  return demand;
}

static double mobility_of(const Midpoint *m, const int of[2], const S2JointRow *row) {
  double w = 0;
  for (int i = 0; i < 6; i++) {
    double j = i < 3 ? row->ja[i] : row->jb[i - 3];
    if (of[i / 3] != S2_GROUND) {
      w += j * j / m->step->mass[3 * m->island->node[of[i / 3]] + i % 3];
    }
  }
  return w;
}

static void fill_joint(Midpoint *m, const Member *member) {
  const S2Joint *joint = member->joint;
  const int of[2] = {midpoint_node(m, joint->a), midpoint_node(m, joint->b)};
  // Forces act along chords, so that energy is kept; values are those at the end.
  S2JointRow chords[S2_JOINT_ROWS], ends[S2_JOINT_ROWS];
  S2JointAt chord = chord_of(m, joint), end = end_of(m, joint);
  midpoint_evaluate(&end, member, ends);
  midpoint_evaluate(&chord, member, chords);
  fill_bend(m, member, of);
  for (int k = 0; k < member->count; k++) {
    const Term *term = &member->term[k];
    const S2JointRow *along = &chords[term->index], *at_end = &ends[term->index];
    int row = member->at + k;
    // Row of lambda: what its law asks, linearised in lambda, the value and the speed.
    Demand demand = demand_of(m, member, term, at_end, mobility_of(m, of, at_end));
    *s2_band_at(&m->matrix, row, row) += demand.by_lambda;
    m->right[row] -= demand.residual;
    // Rows of its bodies: M dv = J_chord' lambda.
    for (int i = 0; i < 6; i++) {
      int body = of[i / 3], c = i % 3;
      if (body != S2_GROUND) {
        double push = i < 3 ? along->ja[c] : along->jb[c];
        double slope = i < 3 ? at_end->ja[c] : at_end->jb[c];
        int unknown = m->at[body] + c;
        m->right[unknown] += push * term->lambda;
        *s2_band_at(&m->matrix, unknown, row) -= push;
        *s2_band_at(&m->matrix, row, unknown) +=
            slope * (demand.by_value * midpoint_carried(m, body, c) + demand.by_speed);
      }
    }
  }
}

static bool midpoint_newton(Midpoint *m, double speed) {
  double h = m->step->h, length = m->island->length, before = INFINITY;
  for (int pass = 0; pass < S2_MIDPOINT_PASSES; pass++) {
    // Momentum balance and joint equations at the midpoint of the guess, and their Jacobian.
    s2_band_clear(&m->matrix);
    memset(m->right, 0, sizeof(double) * (size_t)m->matrix.size);
    m->error = 0;
    midpoint_move(m);
    fill_momentum(m);
    for (int i = 0; i < m->joints; i++) {
      fill_joint(m, &m->member[i]);
    }
    if (m->step->world->refused.code != S2_OK || !s2_band_factor(&m->matrix)) {
      return false;
    }
    s2_band_solve(&m->matrix, m->right);
    // The step in v and l; its size counts as a speed at the rim.
    double change = 0;
    for (int i = 0; i < 3 * m->nodes; i++) {
      double dv = m->right[m->at[i / 3] + i % 3];
      m->v[i] += dv;
      change = fmax(change, fabs(dv) * (i % 3 == 0 ? length : 1));
    }
    for (int i = 0; i < m->joints; i++) {
      for (int k = 0; k < m->member[i].count; k++) {
        m->member[i].term[k].lambda += m->right[m->member[i].at + k];
      }
    }
    if (!(change <= 1e100)) { // not a number, or off to infinity
      return false;
    }
    // Done when it is as small as rounding lets it be; positions must hold the joints then.
    bool rounding = change <= S2_MIDPOINT_STALLED * speed && change > before / 2;
    before = change;
    if (rounding || change <= S2_MIDPOINT_TOLERANCE * speed ||
        change <= S2_MIDPOINT_ROUNDING * length / h) {
      return m->error <= S2_PROJECTION_TRIGGER * length; // else the joints contradict each other
    }
  }
  return false;
}

// Motors and friction that carry more than they can do so no more; those at their bound that push
// beyond their speed hold it. Are all as they should be?
static bool revise_drives(Midpoint *m) {
  bool right = true;
  for (int i = 0; i < m->joints; i++) {
    Member *member = &m->member[i];
    S2JointAt end = end_of(m, member->joint);
    S2JointRow rows[S2_JOINT_ROWS];
    midpoint_evaluate(&end, member, rows);
    for (int k = 0; k < member->count; k++) {
      Term *term = &member->term[k];
      if (term->law == DRIVEN && fabs(term->lambda) > term->bound * (1 + 1e-9)) {
        term->law = FORCED;
        term->lambda = copysign(term->bound, term->lambda);
        right = false;
      } else if (term->law == FORCED) {
        double ahead = term->speed - speed_of(m, member, &rows[term->index]);
        if (ahead * term->lambda < 0) {
          term->law = DRIVEN;
          right = false;
        }
      }
    }
  }
  return right;
}

// ---- Where it applies -------------------------------------------------------------------------

static bool is_known(const S2Joint *joint, const double *impulse) {
  bool matrix = joint->compliance.size > 0 || joint->damping.size > 0;
  // A motion that is given by its positions would have a speed that goes up and down about the
  // mean.
  bool given = joint->driven, wide = joint->more[0] != S2_NONE, curved = s2_spring_curved(joint);
  bool own = !s2_joint_projected(joint) ||
             (joint->type == S2_CONSTRAINT && s2_constraint_one_sided(joint));
  bool other = joint->velocity_only || own || joint->type == S2_GROUND_FRICTION ||
               s2_lock_yields(joint) || given || wide || curved || joint->has_servo;
  bool stopped =
      joint->limit_lo < joint->limit_hi && (impulse[S2_JOINT_LO] != 0 || impulse[S2_JOINT_HI] != 0);
  return !matrix && !other && !stopped;
}

// Joints alone act, with rows of a known kind, and no limit.
static bool midpoint_applies(const S2Step *step, const S2Island *island) {
  for (int i = 0; i < island->touches; i++) {
    const S2Touch *touch = &step->touches[island->touch[i]];
    for (int k = 0; k < touch->count; k++) {
      if (touch->points[k].normal_impulse > 0) {
        return false;
      }
    }
  }
  for (int i = 0; i < island->joints; i++) {
    int32_t slot = island->joint[i];
    const S2Joint *joint = &step->world->joints.at[slot];
    S2JointAt at = {step->world, joint, step->q0, step->t - step->world->kept.time, NULL, NULL};
    if (!is_known(joint, step->joint_impulse + S2_JOINT_ROWS * slot) ||
        s2_joint_violation(&at, island->length) > S2_FEEDBACK_START * island->length) {
      return false; // what takes away an error placed by hand must not go into velocities
    }
  }
  return island->joints > 0;
}

// How fast v0 leaves the joints at q0, m/s.
static double off_joints(const Midpoint *m) {
  double worst = 0;
  for (int i = 0; i < m->joints; i++) {
    Member *member = &m->member[i];
    S2JointAt at = start_of(m, member->joint);
    S2JointRow rows[S2_JOINT_ROWS];
    midpoint_evaluate(&at, member, rows);
    for (int k = 0; k < member->count; k++) {
      S2JointRow *row = &rows[member->term[k].index];
      s2_joint_speeds(member->joint, m->step->v0, row, 1);
      double size = s2_joint_row_angular(row) ? m->island->length : 1;
      worst = member->term[k].law == RIGID ? fmax(worst, fabs(row->speed) * size) : worst;
    }
  }
  return worst;
}

static bool opens_nothing(const Midpoint *m) {
  const S2Step *step = m->step;
  const S2Island *island = m->island;
  bool open = true;
  for (int i = 0; i < island->touches; i++) {
    const S2Touch *touch = &step->touches[island->touch[i]];
    for (int k = 0; k < touch->count; k++) {
      double u = s2_touch_velocity(touch, k, touch->points[k].at.normal, step->v1);
      open &= touch->points[k].at.gap + step->h * u >= -S2_TOUCH_SLOP * island->length;
    }
  }
  for (int i = 0; i < m->joints; i++) {
    const S2Joint *joint = m->member[i].joint;
    if (joint->limit_lo < joint->limit_hi &&
        (joint->limit_lo > -INFINITY || joint->limit_hi < INFINITY)) {
      S2JointAt at = end_of(m, joint);
      S2JointRow row;
      s2_joint_kind(joint->type)->coordinate(&at, &row, NULL);
      open &= row.value >= joint->limit_lo && row.value <= joint->limit_hi;
    }
  }
  return open;
}

// Impulses of rows are those of the rule. Reactions are all that joints gave, with what put the
// velocities on the joints before it.
static void keep_impulses(const Midpoint *m) {
  S2Step *step = m->step;
  if (!m->restarted) { // else they began anew there
    s2_step_scale_joints(step, m->island, 0);
  }
  for (int i = 0; i < m->joints; i++) {
    const Member *member = &m->member[i];
    int32_t slot = m->island->joint[i];
    memset(step->joint_impulse + S2_JOINT_ROWS * slot, 0, sizeof(double) * S2_JOINT_ROWS);
    S2JointAt chord = chord_of(m, member->joint);
    S2JointRow rows[S2_JOINT_ROWS];
    midpoint_evaluate(&chord, member, rows);
    double *reaction = step->joint_reaction + 3 * slot;
    double turn = member->joint->a == S2_NONE ? 0 : m->middle[3 * member->joint->a];
    S2Vec2 arm = s2_rotate(s2_rot(turn), member->joint->local_a);
    for (int k = 0; k < member->count; k++) {
      const Term *term = &member->term[k];
      const double *ja = rows[term->index].ja;
      step->joint_impulse[S2_JOINT_ROWS * slot + term->index] = term->lambda;
      reaction[0] += term->lambda * (ja[0] - s2_cross(arm, s2_vec2(ja[1], ja[2])));
      reaction[1] += term->lambda * ja[1];
      reaction[2] += term->lambda * ja[2];
    }
  }
}

// ---- The step of an island --------------------------------------------------------------------

// Places of the unknowns, and the width of the band.
static void midpoint_number(Midpoint *m, S2Arena *arena, int *size, int *width) {
  S2MidpointGraph graph = {.nodes = m->nodes, .joints = m->joints};
  int32_t *body = S2_TAKE(arena, int32_t, 2 * m->joints);
  for (int i = 0; i < m->joints; i++) {
    body[2 * i] = midpoint_node(m, m->member[i].joint->a);
    body[2 * i + 1] = midpoint_node(m, m->member[i].joint->b);
  }
  graph.body = body;
  // Bodies and joints in an order that keeps those that meet close to each other.
  const int32_t *order = s2_midpoint_order(&graph, arena);
  *size = *width = 0;
  for (int i = 0; i < m->nodes + m->joints; i++) {
    bool joint = order[i] >= m->nodes;
    Member *member = joint ? &m->member[order[i] - m->nodes] : NULL;
    *(joint ? &member->at : &m->at[order[i]]) = *size;
    *size += joint ? member->count : 3;
  }
  // The band: from the first to the last unknown of any joint and its bodies.
  for (int i = 0; i < m->joints; i++) {
    int lo = m->member[i].at, hi = lo + m->member[i].count;
    for (int side = 0; side < 2; side++) {
      int32_t of = body[2 * i + side];
      lo = of != S2_GROUND && m->at[of] < lo ? m->at[of] : lo;
      hi = of != S2_GROUND && m->at[of] + 3 > hi ? m->at[of] + 3 : hi;
    }
    *width = hi - 1 - lo > *width ? hi - 1 - lo : *width;
  }
  *width = *width < 2 ? 2 : *width;
}

static Midpoint midpoint_make(S2Step *step, const S2Island *island) {
  S2Arena *arena = step->arena;
  int slots = step->world->bodies.count;
  Midpoint m = {
      .step = step,
      .island = island,
      .nodes = island->nodes,
      .joints = island->joints,
      .v0 = S2_TAKE(arena, double, 3 * island->nodes),
      .v = S2_TAKE(arena, double, 3 * island->nodes),
      .middle = S2_TAKE(arena, double, 3 * slots),
      .at = S2_TAKE(arena, int32_t, island->nodes),
      .member = S2_TAKE_ZEROED(arena, Member, island->joints),
  };
  for (int i = 0; i < 3 * slots; i++) { // what moves as given
    m.middle[i] = (step->q0[i] + step->q1[i]) / 2;
  }
  for (int i = 0; i < m.joints; i++) {
    m.member[i].joint = &step->world->joints.at[island->joint[i]];
    make_member(&m, &m.member[i]);
  }
  return m;
}

// From v0, the guess v1.
static bool midpoint_solve(Midpoint *m) {
  S2Step *step = m->step;
  double speed = s2_island_speed(step, m->island);
  // The linear step is the first guess.
  for (int i = 0; i < 3 * m->nodes; i++) {
    int32_t at = 3 * m->island->node[i / 3] + i % 3;
    m->v0[i] = step->v0[at];
    m->v[i] = step->v1[at];
  }
  if (off_joints(m) > S2_MIDPOINT_OFF * speed) { // the rule would keep that, with changing sign
    s2_step_scale_joints(step, m->island, 0);
    if (!s2_step_before_impact(step, m->island, false)) {
      m->aborted = true;
      return false;
    }
    for (int i = 0; i < 3 * m->nodes; i++) {
      m->v0[i] = step->v2[3 * m->island->node[i / 3] + i % 3];
    }
    m->restarted = true;
  }
  // Newton with the drives as they are, until none of them is beyond its bound.
  s2_dense_single_threaded();
  for (int pass = 0; pass < S2_MIDPOINT_DRIVES; pass++) {
    if (!midpoint_newton(m, speed)) {
      return false;
    }
    midpoint_move(m);
    if (revise_drives(m)) {
      return true;
    }
  }
  return false;
}

bool s2_step_midpoint(S2Step *step, const S2Island *island, bool *done) {
  *done = false;
  if (!midpoint_applies(step, island)) {
    return true;
  }
  S2ArenaMark mark = s2_arena_mark(step->arena);
  // Bodies and joints in an order that makes the Jacobian a narrow band.
  Midpoint m = midpoint_make(step, island);
  int size, width, noted = s2_notes_mark(step);
  midpoint_number(&m, step->arena, &size, &width);
  if (s2_band_room(size, width) > S2_MIDPOINT_ROOM) {
    s2_arena_rewind(step->arena, mark);
    return true;
  }
  m.matrix = s2_band_make(size, width, step->arena);
  m.right = S2_TAKE(step->arena, double, size);
  // What the linear step gave, which stays where this one does not solve.
  double *linear = S2_TAKE(step->arena, double, 3 * m.nodes);
  for (int i = 0; i < 3 * m.nodes; i++) {
    linear[i] = step->v1[3 * island->node[i / 3] + i % 3];
  }
  int joints = step->world->joints.count;
  double *impulse = s2_arena_copy(step->arena, step->joint_impulse, S2_JOINT_ROWS * joints);
  double *reaction = s2_arena_copy(step->arena, step->joint_reaction, 3 * joints);
  // v1 is what carries q0 to q1, so that q1 comes out of it again.
  bool solved = midpoint_solve(&m);
  for (int i = 0; i < 3 * m.nodes && solved; i++) {
    int32_t at = 3 * island->node[i / 3] + i % 3;
    step->v1[at] = (step->q1[at] - step->q0[at]) / step->h;
  }
  // What has no row in it, contacts and limits, must stay open.
  *done = solved && opens_nothing(&m);
  for (int i = 0; i < 3 * m.nodes; i++) {
    int32_t at = 3 * island->node[i / 3] + i % 3;
    step->v1[at] = *done ? step->v1[at] : linear[i];
    step->v2[at] = *done ? m.v[i] : linear[i];
  }
  if (*done) {
    s2_note_midpoint(step, island, m.restarted, m.v0, linear);
    keep_impulses(&m);
  } else { // putting velocities on the joints left its own
    s2_notes_rewind(step, noted);
    memcpy(step->joint_impulse, impulse, sizeof(double) * S2_JOINT_ROWS * (size_t)joints);
    memcpy(step->joint_reaction, reaction, sizeof(double) * 3 * (size_t)joints);
  }
  s2_arena_rewind(step->arena, mark);
  return !m.aborted && step->world->refused.code == S2_OK;
}
