// Backwards through the nonlinear step of an island (dynamics/schemes/midpoint.c). Its result (v+,
// l) solves equations F = 0, so with dF/d(v+, l)' y = dl/d(v+, l) the derivative with respect to
// everything else in them is -y' dF. The matrix is exact here; Newton's is not quite.
#include "diff/joints/joint_vjp.h"
#include "diff/step/undo.h"
#include "dynamics/schemes/midpoint.h"
#include "dynamics/step/islands.h"
#include "linalg/band.h"

#include <string.h>

typedef enum Law {
  RIGID,
  SOFT,
  DRIVEN,
  FORCED,
  IDLE // a damping of 0, which the step had no row for
} Law;

typedef struct Term { // as in midpoint.c
  int index, function;
  Law law;
  double hold, damp, give;
  S2JointRow start, end, chord;
  double lambda;
  double side; // FORCED: which way the impulse pushes
} Term;

typedef struct Member {
  const S2Joint *joint;
  int32_t slot;
  int of[2]; // nodes
  int count, at;
  Term term[S2_JOINT_ROWS];
} Member;

typedef struct Midpoint {
  const S2Step *step;
  const S2Island *island;
  S2StepAdjoint *bar;
  const double *v0;
  double *v0_bar, *v;  // 3 a node
  double *q1, *q1_bar; // 3 a slot
  double *scratch;     // 6 a slot
  S2WorldGradient unused;
  int32_t *at; // a node: its first unknown
  Member *member;
  S2Band matrix; // transposed
  double *y;
} Midpoint;

static S2JointAt midpoint_at_of(const Midpoint *m, const S2Joint *joint, const double *q,
                                const double *to) {
  const S2Step *step = m->step;
  double elapsed = step->t - step->world->kept.time + (q == m->q1 || to != NULL ? step->h : 0);
  return (S2JointAt){step->world, joint, q, elapsed, NULL, to};
}

// ---- The rows ---------------------------------------------------------------------------------

static int midpoint_function_of(int index) {
  return index < S2_JOINT_EQUATIONS ? index : index == S2_JOINT_LO ? S2_OF_COORDINATE : S2_OF_DRIVE;
}

static void midpoint_evaluate(const S2JointAt *at, int function, S2JointRow *row,
                              S2JointHessian *hessian) {
  const S2JointKind *kind = s2_joint_kind(at->joint->type);
  if (function == S2_OF_COORDINATE) {
    kind->coordinate(at, row, hessian);
    row->value -= at->joint->limit_lo;
  } else if (function == S2_OF_DRIVE) {
    kind->drive(at, row, hessian);
  } else {
    S2JointRow rows[S2_JOINT_EQUATIONS];
    (void)s2_joint_rows(at, rows);
    *row = rows[function];
    if (hessian != NULL) {
      S2JointHessian hessians[S2_JOINT_EQUATIONS];
      s2_joint_hessians(at, hessians);
      *hessian = hessians[function];
    }
  }
}

// The row as `joint` has it: that of the member, or a copy of it.
static Term *midpoint_add_row(const Midpoint *m, Member *member, const S2Joint *joint, int index,
                              Law law) {
  Term *term = &member->term[member->count++];
  *term = (Term){.index = index, .function = midpoint_function_of(index), .law = law};
  S2JointAt start = midpoint_at_of(m, joint, m->step->q0, NULL),
            end = midpoint_at_of(m, joint, m->q1, NULL);
  S2JointAt chord = midpoint_at_of(m, joint, m->step->q0, m->q1);
  midpoint_evaluate(&start, term->function, &term->start, NULL);
  midpoint_evaluate(&end, term->function, &term->end, NULL);
  midpoint_evaluate(&chord, term->function, &term->chord, NULL);
  return term;
}

static void midpoint_add_term(const Midpoint *m, Member *member, int index, Law law) {
  Term *term = midpoint_add_row(m, member, member->joint, index, law);
  term->lambda = m->step->joint_impulse[S2_JOINT_ROWS * member->slot + index];
}

// The damping of a joint without compliance and spring, where it is a parameter that is 0: beyond
// that the joint has a spring without stiffness.
static void midpoint_add_idle(const Midpoint *m, Member *member) {
  S2Joint sprung = *member->joint;
  if (sprung.has_spring || (s2_joint_kind(sprung.type)->parts & S2_HAS_STIFFNESS) == 0 ||
      !s2_joint_is_rigid(&sprung) ||
      !S2_TRACKS_JOINT(m->bar->gradient, member->slot, damping.linear)) {
    return;
  }
  sprung.has_spring = true;
  S2JointRow rows[S2_JOINT_EQUATIONS];
  S2JointAt at = midpoint_at_of(m, &sprung, m->step->q0, NULL);
  int count = s2_joint_rows(&at, rows);
  for (int i = member->count; i < count; i++) {
    midpoint_add_row(m, member, &sprung, i, IDLE);
  }
}

static void midpoint_add_equation(Midpoint *m, Member *member, int index, bool angular) {
  const S2Joint *joint = member->joint;
  bool springs = joint->has_spring;
  double c = angular ? joint->compliance.angular : joint->compliance.linear;
  bool sprung = s2_joint_sprung(joint, index);
  midpoint_add_term(m, member, index, sprung || (!springs && c > 0) ? SOFT : RIGID);
  Term *term = &member->term[member->count - 1];
  term->give = sprung ? 1 : c;
  term->hold = sprung ? joint->stiffness : 1;
  term->damp = sprung ? joint->damping.linear
                      : c * (angular ? joint->damping.angular : joint->damping.linear);
}

static void midpoint_velocities(const Midpoint *m, const Member *member, double v[6]) {
  for (int i = 0; i < 6; i++) {
    const double *given = s2_joint_number(member->joint, m->step->free_v, i);
    int of = member->of[i / 3];
    v[i] = of != S2_GROUND ? m->v[3 * of + i % 3] : given != NULL ? *given : 0;
  }
}

// What may push with nothing pushes against the speed along its row once it may (zero_vjp.c).
static double midpoint_zero_side(const Midpoint *m, const Member *member, const Term *term) {
  static const double still = 1e-10; // of the speed of the island: slower is rounding
  double v[6], length = m->island->length, size = 0;
  double speed = term->index == S2_JOINT_MOTOR ? -member->joint->motor_speed : 0;
  midpoint_velocities(m, member, v);
  for (int i = 0; i < 6; i++) {
    double j = i < 3 ? term->end.ja[i] : term->end.jb[i - 3];
    speed += j * v[i];
    size += i % 3 == 0 ? fabs(j) / length : fabs(j);
  }
  bool rests = fabs(speed) <= still * size * s2_island_speed(m->step, m->island);
  return rests ? 0 : speed < 0 ? 1 : -1;
}

static void midpoint_add_driven(Midpoint *m, Member *member, int index, double bound,
                                bool tracked) {
  if (!(bound > 0) && !tracked) {
    return;
  }
  midpoint_add_term(m, member, index, DRIVEN);
  Term *term = &member->term[member->count - 1];
  bool forced = fabs(term->lambda) >= bound * (1 - 1e-9); // Newton's steps round
  term->law = forced ? FORCED : DRIVEN;
  term->side = bound > 0 ? copysign(1, term->lambda) : midpoint_zero_side(m, member, term);
}

// Of a compliance of 0; springs with a curve take the ordinary step.
static void midpoint_flag_zeros(const Midpoint *m, int32_t slot) {
  const S2Joint *joint = &m->step->world->joints.at[slot];
  S2WorldGradient *all = m->bar->gradient;
  s2_joint_zero_flag(joint, slot, all);
  bool curve = joint->has_spring && all->tracked != NULL &&
               (S2_TRACKS_JOINT(all, slot, quadratic) || S2_TRACKS_JOINT(all, slot, cubic));
  all->flags |= curve ? S2_GRADIENT_JUMP : 0;
}

static void midpoint_make_member(Midpoint *m, int32_t slot, Member *member) {
  const S2Joint *joint = &m->step->world->joints.at[slot];
  double h = m->step->h;
  *member = (Member){.joint = joint, .slot = slot};
  midpoint_flag_zeros(m, slot);
  member->of[0] = joint->a == S2_NONE ? S2_GROUND : m->step->node_of[joint->a];
  member->of[1] = joint->b == S2_NONE ? S2_GROUND : m->step->node_of[joint->b];
  // Its equations, limits that coincide, then motor and friction.
  S2JointAt at = midpoint_at_of(m, joint, m->step->q0, NULL);
  S2JointRow rows[S2_JOINT_EQUATIONS];
  int count = s2_joint_rows(&at, rows);
  for (int i = 0; i < count; i++) {
    midpoint_add_equation(m, member, i, s2_joint_row_angular(&rows[i]));
  }
  midpoint_add_idle(m, member);
  if (joint->limit_lo == joint->limit_hi) {
    midpoint_add_term(m, member, S2_JOINT_LO, RIGID);
  }
  const S2WorldGradient *all = m->bar->gradient;
  bool drives = s2_joint_kind(joint->type)->drive != NULL;
  if (joint->has_motor) {
    midpoint_add_driven(m, member, S2_JOINT_MOTOR, joint->motor_max * h,
                        S2_TRACKS_JOINT(all, slot, motor_max));
  }
  midpoint_add_driven(m, member, S2_JOINT_DRY, joint->friction * h,
                      drives && S2_TRACKS_JOINT(all, slot, friction));
}

// ---- The matrix -------------------------------------------------------------------------------

static void midpoint_undo_number(Midpoint *m, S2Arena *arena, int *size, int *width) {
  S2MidpointGraph graph = {.nodes = m->island->nodes, .joints = m->island->joints};
  int32_t *body = S2_TAKE(arena, int32_t, 2 * graph.joints);
  for (int i = 0; i < 2 * graph.joints; i++) {
    body[i] = m->member[i / 2].of[i % 2];
  }
  graph.body = body;
  const int32_t *order = s2_midpoint_order(&graph, arena);
  *size = 0;
  *width = 2;
  for (int i = 0; i < graph.nodes + graph.joints; i++) {
    Member *member = order[i] >= graph.nodes ? &m->member[order[i] - graph.nodes] : NULL;
    *(member != NULL ? &member->at : &m->at[order[i]]) = *size;
    *size += member != NULL ? member->count : 3;
  }
  for (int i = 0; i < graph.joints; i++) {
    int lo = m->member[i].at, hi = lo + m->member[i].count;
    for (int side = 0; side < 2; side++) {
      int of = m->member[i].of[side];
      lo = of != S2_GROUND && m->at[of] < lo ? m->at[of] : lo;
      hi = of != S2_GROUND && m->at[of] + 3 > hi ? m->at[of] + 3 : hi;
    }
    *width = hi - 1 - lo > *width ? hi - 1 - lo : *width;
  }
}

static double midpoint_moved(const Midpoint *m, int i) { // h (v0 + v)/2
  return m->step->h * (m->v0[i] + m->v[i]) / 2;
}

// d(what it moves)/d(h (v0 + v)/2)
static double midpoint_turned(const Midpoint *m, int i) {
  double half = midpoint_moved(m, i) / 2;
  return i % 3 == 0 ? 1 / (1 + half * half) : 1;
}

static double midpoint_carried(const Midpoint *m, int of, int c) { // d q1 / d v
  return m->step->h / 2 * midpoint_turned(m, 3 * of + c);
}

static void midpoint_put(const Midpoint *m, int row, int column, double value) {
  *s2_band_at(&m->matrix, column, row) += value;
}

static double midpoint_j_of(const S2JointRow *row, int i) {
  return i < 3 ? row->ja[i] : row->jb[i - 3];
}

static double *midpoint_side_of(S2RowBar *bar, int i) {
  return i < 3 ? &bar->ja[i] : &bar->jb[i - 3];
}

// -d(push_i lambda)/d(q1) of all terms: chords turn as their ends move.
static void midpoint_fill_turns(Midpoint *m, const Member *member) {
  const S2Joint *joint = member->joint;
  S2JointAt chord = midpoint_at_of(m, joint, m->step->q0, m->q1);
  int slots = m->step->world->bodies.count;
  double elapsed;
  S2PlaceBar place = {
      .q = m->scratch, .to = m->scratch + 3 * slots, .elapsed = &elapsed, .gradient = &m->unused};
  for (int i = 0; i < 6; i++) {
    // Only rows of bodies that are solved for.
    if (member->of[i / 3] == S2_GROUND) {
      continue;
    }
    // Adjoints of the last row are out of the way.
    for (int j = 0; j < 6; j++) {
      double *to = s2_joint_number(joint, place.to, j);
      if (to != NULL) {
        *to = 0;
      }
    }
    // One sweep gives the derivative of all terms' pushes along i by both ends.
    for (int k = 0; k < member->count; k++) {
      if (member->term[k].law == IDLE) {
        continue; // it pushes with nothing
      }
      S2RowBar bar = {0};
      *midpoint_side_of(&bar, i) = member->term[k].lambda;
      s2_joint_function_vjp(&chord, member->term[k].function, &bar, &place);
    }
    for (int j = 0; j < 6; j++) {
      // Ends move by their velocities.
      int of = member->of[j / 3];
      if (of != S2_GROUND) {
        midpoint_put(m, m->at[member->of[i / 3]] + i % 3, m->at[of] + j % 3,
                     -*s2_joint_number(joint, place.to, j) * midpoint_carried(m, of, j % 3));
      }
    }
  }
}

static void midpoint_fill_term(const Midpoint *m, const Member *member, const Term *term, int row) {
  double h = m->step->h, by_value = 0, by_speed = 0, by_lambda = 0, w = 0, v[6];
  S2JointHessian hessian = {0};
  S2JointAt end = midpoint_at_of(m, member->joint, m->q1, NULL);
  // J M^-1 J' of the row
  for (int i = 0; i < 6; i++) {
    int of = member->of[i / 3];
    double j = midpoint_j_of(&term->end, i);
    w += of == S2_GROUND ? 0 : j * j / m->step->mass[3 * m->island->node[of] + i % 3];
  }
  // What the row makes of its value, speed and impulse, by the law it obeys.
  if (term->law == RIGID) { // redundant rows: the impulses that Newton's steps choose
    by_value = 1;
    by_lambda = S2_MIDPOINT_REGULAR * w * h / 2;
  } else if (term->law == SOFT) {
    by_lambda = term->give;
    by_value = h * term->hold / 2 + term->damp;
  } else if (term->law == DRIVEN) {
    S2JointRow again;
    by_speed = 1;
    by_lambda = S2_MIDPOINT_REGULAR * w;
    midpoint_evaluate(&end, term->function, &again, &hessian);
  } else {
    by_lambda = 1;
  }
  // The diagonal, and by every unknown: impulses push along chords, values see where bodies end.
  midpoint_velocities(m, member, v);
  midpoint_put(m, row, row, by_lambda);
  for (int i = 0; i < 6; i++) {
    int of = member->of[i / 3];
    if (of == S2_GROUND) {
      continue;
    }
    double bent = 0;
    for (int j = 0; j < 6; j++) {
      bent += hessian.at[i][j] * v[j];
    }
    int unknown = m->at[of] + i % 3;
    midpoint_put(m, unknown, row, -midpoint_j_of(&term->chord, i));
    midpoint_put(m, row, unknown,
                 by_speed * midpoint_j_of(&term->end, i) +
                     (by_value * midpoint_j_of(&term->end, i) + bent) *
                         midpoint_carried(m, of, i % 3));
  }
}

static void midpoint_fill(Midpoint *m) {
  s2_band_clear(&m->matrix);
  for (int i = 0; i < 3 * m->island->nodes; i++) {
    int32_t slot = m->island->node[i / 3], at = 3 * slot + i % 3, row = m->at[i / 3] + i % 3;
    const S2Body *body = &m->step->world->bodies.at[slot];
    double mass = i % 3 == 0 ? body->inertia : body->mass;
    midpoint_put(m, row, row, mass + (m->step->mass[at] - mass) / 2);
  }
  for (int i = 0; i < m->island->joints; i++) {
    const Member *member = &m->member[i];
    midpoint_fill_turns(m, member);
    for (int k = 0; k < member->count; k++) {
      midpoint_fill_term(m, member, &member->term[k], member->at + k);
    }
  }
}

// ---- Everything else --------------------------------------------------------------------------

static void midpoint_bodies_vjp(Midpoint *m) {
  const S2Step *step = m->step;
  S2StepAdjoint *bar = m->bar;
  double h = step->h;
  for (int i = 0; i < 3 * m->island->nodes; i++) {
    int32_t slot = m->island->node[i / 3], at = 3 * slot + i % 3;
    const S2Body *body = &step->world->bodies.at[slot];
    S2BodyGradient *g = &bar->gradient->body[slot];
    double mass = i % 3 == 0 ? body->inertia : body->mass, y = m->y[m->at[i / 3] + i % 3];
    double mean = (m->v0[i] + m->v[i]) / 2;
    bar->mass[at] -= y * mean;
    *(i % 3 == 0 ? &g->inertia : &g->mass) -= y * (m->v[i] - m->v0[i] - mean);
    m->v0_bar[i] += y * (mass - (step->mass[at] - mass) / 2);
    bar->force[at] += y * h;
    bar->h += y * step->force[at];
  }
}

static void midpoint_soft_vjp(Midpoint *m, const Member *member, const Term *term, double y) {
  S2JointGradient *g = &m->bar->gradient->joint[member->slot];
  double h = m->step->h, sum = term->start.value + term->end.value;
  double more = term->end.value - term->start.value;
  bool springs = member->joint->has_spring;
  bool angular = !springs && s2_joint_row_angular(&term->start);
  m->bar->h -= y * term->hold * sum / 2;
  double *damping = angular ? &g->damping.angular : &g->damping.linear;
  if (springs) {
    g->stiffness -= y * h * sum / 2;
    *damping -= y * more;
  } else {
    double d = term->damp / term->give;
    *(angular ? &g->compliance.angular : &g->compliance.linear) -= y * (term->lambda + d * more);
    *damping -= y * term->give * more;
  }
}

static void midpoint_bound_vjp(Midpoint *m, const Member *member, const Term *term, double y) {
  const S2Joint *joint = member->joint;
  S2JointGradient *g = &m->bar->gradient->joint[member->slot];
  bool dry = term->index == S2_JOINT_DRY;
  double pushed = y * term->side;
  *(dry ? &g->friction : &g->motor_max) += pushed * m->step->h;
  m->bar->h += pushed * (dry ? joint->friction : joint->motor_max);
}

static void midpoint_term_vjp(Midpoint *m, const Member *member, const Term *term, double y,
                              const S2PlaceBar *start_bar, const S2PlaceBar *end_bar) {
  const S2Joint *joint = member->joint;
  S2RowBar start = {0}, end = {0}, chord = {0};
  double h = m->step->h, v[6];
  if (term->law == IDLE) {
    double more = term->end.value - term->start.value;
    m->bar->gradient->joint[member->slot].damping.linear -= y * more;
    return;
  }
  midpoint_velocities(m, member, v);
  // To the function at the start and the end of the step, by the law the row obeys.
  if (term->law == RIGID) {
    end.value = -y;
  } else if (term->law == SOFT) {
    end.value = -y * (h * term->hold / 2 + term->damp);
    start.value = -y * (h * term->hold / 2 - term->damp);
    midpoint_soft_vjp(m, member, term, y);
  } else if (term->law == DRIVEN) {
    S2JointGradient *g = &m->bar->gradient->joint[member->slot];
    end.rate = -y;
    g->motor_speed += term->index == S2_JOINT_MOTOR ? y : 0;
    for (int i = 0; i < 6; i++) {
      // Ground that moves has a speed along the row, too.
      double *given = s2_joint_number(joint, m->bar->free_v, i);
      *midpoint_side_of(&end, i) = -y * v[i];
      if (member->of[i / 3] == S2_GROUND && given != NULL) {
        *given -= y * midpoint_j_of(&term->end, i);
      }
    }
  } else {
    midpoint_bound_vjp(m, member, term, y);
  }
  // To the chord that the impulse pushes along.
  for (int i = 0; i < 6; i++) {
    int of = member->of[i / 3];
    *midpoint_side_of(&chord, i) = of == S2_GROUND ? 0 : term->lambda * m->y[m->at[of] + i % 3];
  }
  // Of a coordinate the limit is subtracted.
  if (term->function == S2_OF_COORDINATE) {
    m->bar->gradient->joint[member->slot].limit_lo -= start.value + end.value;
  }
  // Each by the same function of one pose or two.
  S2JointAt at_start = midpoint_at_of(m, joint, m->step->q0, NULL),
            at_end = midpoint_at_of(m, joint, m->q1, NULL);
  S2JointAt at_chord = midpoint_at_of(m, joint, m->step->q0, m->q1);
  S2PlaceBar both = *end_bar;
  both.q = start_bar->q;
  both.to = end_bar->q;
  s2_joint_function_vjp(&at_start, term->function, &start, start_bar);
  s2_joint_function_vjp(&at_end, term->function, &end, end_bar);
  s2_joint_function_vjp(&at_chord, term->function, &chord, &both);
}

static void midpoint_joints_vjp(Midpoint *m) {
  double at_start = 0, at_end = 0;
  S2PlaceBar start = {.q = m->bar->q0, .elapsed = &at_start, .gradient = m->bar->gradient};
  S2PlaceBar end = {.q = m->q1_bar, .elapsed = &at_end, .gradient = m->bar->gradient};
  for (int i = 0; i < m->island->joints; i++) {
    const Member *member = &m->member[i];
    for (int k = 0; k < member->count; k++) {
      midpoint_term_vjp(m, member, &member->term[k], m->y[member->at + k], &start, &end);
    }
  }
  m->bar->elapsed += at_start + at_end;
  m->bar->h += at_end;
}

// q1 = q0 + what it moves by; v1 is that over h. Of the ground h free_v.
static void midpoint_places_vjp(Midpoint *m, const double *v1_bar) {
  const S2Step *step = m->step;
  S2StepAdjoint *bar = m->bar;
  double h = step->h;
  for (int i = 0; i < 3 * m->island->nodes; i++) {
    int at = 3 * m->island->node[i / 3] + i % 3;
    double by = m->q1[at] - step->q0[at];
    double moved_bar = (m->q1_bar[at] + v1_bar[i] / h) * midpoint_turned(m, i);
    bar->q0[at] += m->q1_bar[at];
    bar->h += moved_bar * (m->v0[i] + m->v[i]) / 2 - v1_bar[i] * by / (h * h);
    m->v0_bar[i] += moved_bar * h / 2;
    m->q1_bar[at] = 0;
  }
  for (int i = 0; i < 3 * step->world->bodies.count; i++) {
    bar->q0[i] += m->q1_bar[i];
    if (m->q1_bar[i] != 0) {
      bar->free_v[i] += h * m->q1_bar[i];
      bar->h += step->free_v[i] * m->q1_bar[i];
    }
  }
}

static void midpoint_begin(Midpoint *m, S2Arena *arena) {
  const S2Step *step = m->step;
  int nodes = m->island->nodes, slots = step->world->bodies.count;
  int joints = step->world->joints.count;
  m->v = S2_TAKE(arena, double, 3 * nodes);
  m->q1 = S2_TAKE(arena, double, 3 * slots);
  m->q1_bar = S2_TAKE_ZEROED(arena, double, 3 * slots);
  m->scratch = S2_TAKE_ZEROED(arena, double, 6 * slots);
  m->unused = (S2WorldGradient){.joint = S2_TAKE_ZEROED(arena, S2JointGradient, joints)};
  m->at = S2_TAKE(arena, int32_t, nodes);
  m->member = S2_TAKE(arena, Member, m->island->joints);
  for (int i = 0; i < 3 * slots; i++) {
    bool ground = step->node_of[i / 3] == S2_GROUND;
    m->q1[i] = step->q0[i] + (ground ? step->h * step->free_v[i] : 0);
  }
  for (int i = 0; i < 3 * nodes; i++) {
    int at = 3 * m->island->node[i / 3] + i % 3;
    m->v[i] = step->v2[at];
    double by = midpoint_moved(m, i);
    m->q1[at] = step->q0[at] + (i % 3 == 0 ? 2 * atan(by / 2) : by);
  }
  for (int i = 0; i < m->island->joints; i++) {
    midpoint_make_member(m, m->island->joint[i], &m->member[i]);
  }
}

// NOLINTBEGIN(readability-non-const-parameter): before_bar is added to through m
void s2_midpoint_vjp(const S2Step *step, const S2Island *island, const double *before,
                     double *before_bar, S2StepAdjoint *adjoint) {
  // NOLINTEND(readability-non-const-parameter)
  S2Arena *arena = step->arena;
  S2ArenaMark mark = s2_arena_mark(arena);
  Midpoint m = {.step = step, .island = island, .bar = adjoint, .v0 = before, .v0_bar = before_bar};
  // Unknowns: 3 a node, then the rows of each joint.
  int size, width, nodes = island->nodes;
  midpoint_begin(&m, arena);
  midpoint_undo_number(&m, arena, &size, &width);
  m.matrix = s2_band_make(size, width, arena);
  m.y = S2_TAKE_ZEROED(arena, double, size);
  // dl/d(v+), where v1 is the mean of both ends and turns as the chord does, ...
  double *v1_bar = S2_TAKE(arena, double, 3 * nodes);
  for (int i = 0; i < 3 * nodes; i++) {
    int at = 3 * island->node[i / 3] + i % 3;
    v1_bar[i] = adjoint->v1[at];
    m.y[m.at[i / 3] + i % 3] = adjoint->v2[at] + v1_bar[i] * midpoint_turned(&m, i) / 2;
    adjoint->v1[at] = adjoint->v2[at] = 0;
  }
  // ... and dl/d(l), from the impulses that joints keep.
  for (int i = 0; i < island->joints; i++) {
    const Member *member = &m.member[i];
    double *kept = adjoint->joint_impulse + S2_JOINT_ROWS * member->slot;
    for (int k = 0; k < member->count; k++) {
      m.y[member->at + k] = kept[member->term[k].index];
    }
    memset(kept, 0, sizeof(double) * S2_JOINT_ROWS);
  }
  // y = (dF/d(v+, l)')^-1 dl, and everything else gets -y' dF.
  midpoint_fill(&m);
  if (!s2_band_factor(&m.matrix)) {
    adjoint->gradient->flags |= S2_GRADIENT_SINGULAR;
  } else {
    s2_band_solve(&m.matrix, m.y);
    midpoint_bodies_vjp(&m);
    midpoint_joints_vjp(&m);
    midpoint_places_vjp(&m, v1_bar);
  }
  s2_arena_rewind(arena, mark);
}

void s2_undo_midpoint(S2Undo *undo, const S2Note *note) {
  if (s2_undo_refuses_impulses(undo, note, "nonlinear steps")) {
    return;
  }
  S2ArenaMark mark = s2_arena_mark(undo->arena);
  // Its own adjoint of v0, in the order of its nodes.
  double *bar = S2_TAKE_ZEROED(undo->arena, double, 3 * note->of->island.nodes);
  undo->step.h = note->h;
  s2_undo_mean_force(undo);
  for (int i = 0; i < note->of->island.nodes; i++) {
    undo->step.node_of[note->of->island.node[i]] = i;
  }
  s2_midpoint_vjp(&undo->step, &note->of->island, note->midpoint.v0, bar, &undo->bar);
  // To v0, or to the v2 that an impact had left.
  double *to = note->midpoint.restarted ? undo->bar.v2 : undo->bar.v0;
  for (int i = 0; i < 3 * note->of->island.nodes; i++) {
    int at = 3 * note->of->island.node[i / 3] + i % 3;
    undo->step.node_of[at / 3] = S2_GROUND;
    to[at] += bar[i];
    undo->step.v1[at] = note->midpoint.before[i];
    undo->step.v2[at] = note->midpoint.restarted ? note->midpoint.v0[i] : note->midpoint.before[i];
  }
  s2_arena_rewind(undo->arena, mark);
}
