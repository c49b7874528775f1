// The joint rows of an island in the two-stage flow.
// Creates their definitions (terms), and computes their values, rates and sides at given poses.
#include "dynamics/audit/audit.h"
#include "dynamics/rattle/rattle.h"
#include "dynamics/rattle/rattle_numbers.h"
#include "dynamics/trace/notes.h"

#include <string.h>

// ---- Supported joints --------------------------------------------------------------------------

// Returns true if the flow supports a constraint defined by the program. It must be rigid and act
// on at most two bodies. It must not be one-sided, bounded or at velocity level.
static bool takes_constraint(const S2Joint *joint) {
  return !s2_constraint_one_sided(joint) && !joint->velocity_only && joint->more[0] == S2_NONE &&
         s2_joint_is_rigid(joint);
}

// Returns an upper bound (1/kg) of the speed that a unit impulse causes along a linear row of the
// joint. The bound does not depend on poses.
static double linear_mobility(const S2World *world, const S2Joint *joint) {
  const int32_t slots[2] = {joint->a, joint->b};
  const S2Vec2 arms[2] = {joint->local_a, joint->local_b};
  double w = 0;
  for (int i = 0; i < 2; i++) {
    const S2Body *body = slots[i] == S2_NONE ? NULL : &world->bodies.at[slots[i]];
    if (body != NULL && s2_body_moves(body)) {
      w += 1 / body->mass + s2_dot(arms[i], arms[i]) / body->inertia;
    }
  }
  return w;
}

// Returns true if double precision suffices for the lighter body. An impulse that stops the heavier
// body has a relative rounding error of 1e-16. It therefore changes the speed of the lighter body
// by 1e-16 of the speed of the heavier body, times the mobility times the heavier mass. (Projection
// is more accurate, because it stores each impulse as two doubles.)
static bool digits_suffice(const S2World *world, const S2Joint *joint) {
  const int32_t slots[2] = {joint->a, joint->b};
  const S2Vec2 arms[2] = {joint->local_a, joint->local_b};
  const S2Body *body[2];
  double heavier = 0;
  for (int i = 0; i < 2; i++) {
    const S2Body *of = slots[i] == S2_NONE ? NULL : &world->bodies.at[slots[i]];
    body[i] = of != NULL && s2_body_moves(of) ? of : NULL;
    heavier = body[i] != NULL && of->mass > heavier ? of->mass : heavier;
  }
  // First compare without divisions. Each body may have a third of the limit.
  bool few = true;
  for (int i = 0; i < 2; i++) {
    few = few && (body[i] == NULL ||
                  heavier * (body[i]->inertia + s2_dot(arms[i], arms[i]) * body[i]->mass) <
                      S2_RATTLE_LIGHT / 3 * (body[i]->mass * body[i]->inertia));
  }
  return few || heavier * linear_mobility(world, joint) <= S2_RATTLE_LIGHT;
}

bool s2_joint_rattles(const S2World *world, const S2Joint *joint) {
  bool others = (s2_joint_kind(joint->type)->parts & S2_HAS_OTHERS) != 0;
  return s2_joint_projected(joint) && !s2_lock_yields(joint) && !s2_spring_curved(joint) &&
         joint->more[0] == S2_NONE && (!others || s2_joint_is_rigid(joint)) &&
         (joint->type != S2_CONSTRAINT || takes_constraint(joint)) && digits_suffice(world, joint);
}

// Returns true if the joint has two rigid equations and no other rows in a step of length h, so
// that linkage.c can step it. The result depends only on the joint's definition.
static bool is_plain(const S2Joint *joint, double h) {
  bool limited = joint->limit_lo > -INFINITY || joint->limit_hi < INFINITY;
  bool drives = (joint->has_motor && joint->motor_max > 0) || joint->friction > 0;
  return (joint->type == S2_HINGE || joint->type == S2_SLIDER) && !limited && !drives &&
         !joint->driven && s2_joint_is_rigid(joint) && !s2_servo_acts(joint, h);
}

bool s2_island_rattles(const S2Step *step, S2Island *island) {
  if (island->rattles != 0) {
    return island->rattles > 0;
  }
  bool takes = s2_world_rattles(&step->world->kept.def) && island->touches == 0 &&
               island->joints > 0 && island->nodes > 0;
  // Both questions read all joints, which takes more time than to answer them.
  island->linkage = true;
  for (int i = 0; takes && i < island->joints; i++) {
    const S2Joint *joint = &step->world->joints.at[island->joint[i]];
    takes = s2_joint_rattles(step->world, joint);
    island->linkage = island->linkage && is_plain(joint, step->dt);
  }
  island->linkage &= takes;
  island->rattles = takes ? 1 : -1;
  return takes;
}

bool s2_island_rattles_on(const S2Step *step, const S2Island *island) {
  const S2WorldDef *def = &step->world->kept.def;
  bool takes = s2_world_rattles(def) && island->touches > 0 && island->nodes > 0 &&
               !(island->joints > 0 && step->stiff[island->joint[0]]);
  for (int i = 0; takes && i < island->joints; i++) {
    takes = s2_joint_rattles(step->world, &step->world->joints.at[island->joint[i]]);
  }
  return takes;
}

bool s2_island_takes_pieces(const S2Step *step, S2Island *island) {
  const S2WorldDef *def = &step->world->kept.def;
  bool events = s2_world_way(def) == S2_EVENT &&
                (def->stepping == S2_EVENT || island->touches <= S2_AUTO_PAIRS);
  return s2_island_rattles(step, island) || (events && s2_island_rattles_on(step, island));
}

// ---- Compliant rows ----------------------------------------------------------------------------
//
// With F = -(K g + D g') and the mean rate s = (g1 - g0)/h, the half impulses are
//
//   trapezoid        l = h/2 F((g0 + g1)/2, s),  k = l
//   implicit Euler   l = h/2 F(g1, s),           k = h/2 F(g1 + h/2 J1 v1, J1 v1).
//
// The trapezoidal rule conserves the energy of springs and is of second order. Implicit Euler damps
// oscillations that are too fast for the step, and tends to the rigid row as C = K^-1 tends to 0.
// Multiplied by C, these are the rows of compliance.c for h and for h/2, with twice the compliance.

// Returns an upper bound, in 1/(kg m^2), of the mobility of the joint's angle. Uses the poses at
// the creation of the joint. If the joint has a pin, the mobility is
// 1/I_a + 1/I_b - c' S^-1 c
// where S is the mobility of the pin, and c couples the pin and the angle.
static double angular_mobility(const S2World *world, const S2Joint *joint) {
  const S2JointKind *kind = s2_joint_kind(joint->type);
  bool pinned = kind->equation[0] == s2_measure_x && joint->compliance.size == 0 &&
                joint->compliance.linear == 0 && joint->damping.size == 0 &&
                (!joint->has_spring || kind->sprung > 1);
  const int32_t slots[2] = {joint->a, joint->b};
  const S2Vec2 arms[2] = {s2_left(s2_rotate(s2_rot(joint->angle0), joint->local_a)),
                          s2_left(joint->local_b)};
  double w = 0, s[3] = {0}, c[2] = {0};
  for (int i = 0; i < 2; i++) {
    const S2Body *body = slots[i] == S2_NONE ? NULL : &world->bodies.at[slots[i]];
    if (body == NULL || !s2_body_moves(body)) {
      continue;
    }
    w += 1 / body->inertia;
    c[0] += arms[i].x / body->inertia;
    c[1] += arms[i].y / body->inertia;
    s[0] += 1 / body->mass + arms[i].x * arms[i].x / body->inertia;
    s[1] += arms[i].x * arms[i].y / body->inertia;
    s[2] += 1 / body->mass + arms[i].y * arms[i].y / body->inertia;
  }
  double det = s[0] * s[2] - s[1] * s[1];
  double taken = (s[2] * c[0] * c[0] - 2 * s[1] * c[0] * c[1] + s[0] * c[1] * c[1]) / det;
  return pinned && det > 0 ? fmax(w - taken, 0) : w;
}

double s2_rattle_mobility(const S2World *world, const S2Joint *joint, bool angular) {
  return angular ? angular_mobility(world, joint) : linear_mobility(world, joint);
}

// Returns an upper bound of the mobility of a combination of rows.
static double mixed_mobility(const S2World *world, const S2Joint *joint, const S2JointRow *rows,
                             int count, const double *mix) {
  double root = 0;
  for (int i = 0; i < count; i++) {
    if (mix[i] != 0) {
      bool angular = s2_joint_row_angular(&rows[i]);
      double w = s2_rattle_mobility(world, joint, angular);
      root += fabs(mix[i]) * sqrt(w);
    }
  }
  return root * root;
}

static void rattle_soften(const S2Joint *joint, const S2JointRow *rows, int count, double h,
                          double beta, S2SoftRow soft[S2_JOINT_EQUATIONS]) {
  S2JointRow still[S2_JOINT_EQUATIONS];
  for (int i = 0; i < count; i++) { // the differences over the piece already include the rates
    still[i] = rows[i];
    still[i].rate = still[i].speed = still[i].bend = 0;
  }
  s2_joint_soften(joint, still, count, (S2Blend){.h = h, .alpha = 1, .beta = beta}, soft);
}

static bool rows_coupled(const S2Joint *joint) {
  return joint->compliance.size > 0 || joint->damping.size > 0;
}

// Finds the rows that the step is short enough to resolve. These rows have w <= 2 C', where w is
// the mobility of the row and C' is its compliance in the trapezoidal rule over the whole step h.
// Without damping, the condition is h^2 w K <= 4. Without a spring, it is h w D <= 2. Rows coupled
// by matrices are resolved together or not at all. `soft` receives the rows of the trapezoidal rule
// over dt.
static void find_resolved(const S2World *world, double dt, const S2Joint *joint,
                          const S2JointRow *rows, int count, bool resolved[S2_JOINT_EQUATIONS],
                          S2SoftRow soft[S2_JOINT_EQUATIONS]) {
  bool all = true;
  rattle_soften(joint, rows, count, dt, 0.5, soft);
  for (int i = 0; i < count; i++) {
    double w = soft[i].rigid ? 0 : mixed_mobility(world, joint, rows, count, soft[i].mix);
    resolved[i] = !soft[i].rigid && w <= 2 * soft[i].compliance;
    all &= resolved[i] || soft[i].rigid;
  }
  for (int i = 0; i < count && rows_coupled(joint); i++) {
    resolved[i] = all && !soft[i].rigid;
  }
}

// Creates the rows over the length of the piece, each with the trapezoidal rule or implicit Euler.
// For rigid rows both agree, unless matrices couple the rows.
static void soften_resolved(const S2Rattle *rattle, const S2Joint *joint, const S2JointRow *rows,
                            int count, bool resolved[S2_JOINT_EQUATIONS],
                            S2SoftRow soft[S2_JOINT_EQUATIONS]) {
  S2SoftRow euler[S2_JOINT_EQUATIONS];
  double dt = rattle->step->dt;
  bool coupled = rows_coupled(joint), any = false;
  find_resolved(rattle->step->world, dt, joint, rows, count, resolved, soft);
  for (int i = 0; i < count; i++) {
    any |= !resolved[i] && (coupled || !soft[i].rigid);
  }
  if (rattle->h != dt) {
    rattle_soften(joint, rows, count, rattle->h, 0.5, soft);
  }
  if (any) {
    rattle_soften(joint, rows, count, rattle->h, 1, euler);
  }
  for (int i = 0; i < count && any; i++) {
    soft[i] = resolved[i] ? soft[i] : euler[i];
  }
}

// ---- Terms -------------------------------------------------------------------------------------

enum { EQUATIONS, BOUNDS, LIMITS, LISTS };

typedef struct Lists {
  S2RattleTerm *term[LISTS];
  int count[LISTS];
} Lists;

static S2RattleTerm *terms_append(Lists *lists, int list, int place, int index,
                                  S2RattleSource source) {
  static const S2RattleLaw law[LISTS] = {S2_RATTLE_EQUATION, S2_RATTLE_BOUNDED, S2_RATTLE_LIMIT};
  S2RattleTerm *term = &lists->term[list][lists->count[list]++];
  *term = (S2RattleTerm){.place = place,
                         .index = index,
                         .law = law[list],
                         .source = source,
                         .sign = 1,
                         .most = INFINITY};
  return term;
}

static void terms_add_equations(const S2Rattle *rattle, const S2JointAt *at, int place,
                                Lists *lists) {
  const S2Joint *joint = at->joint;
  S2JointRow rows[S2_JOINT_EQUATIONS];
  S2SoftRow soft[S2_JOINT_EQUATIONS];
  bool resolved[S2_JOINT_EQUATIONS] = {false};
  bool rigid = s2_joint_is_rigid(joint);
  int count = rigid ? s2_joint_row_count(at) : s2_joint_rows(at, rows);
  if (!rigid) {
    soften_resolved(rattle, joint, rows, count, resolved, soft);
  }
  for (int i = 0; i < count; i++) {
    const S2SoftRow *of = &soft[i];
    if (!rigid && !isfinite(of->compliance)) { // skip rows with neither stiffness nor damping
      continue;
    }
    S2RattleTerm *term = terms_append(lists, EQUATIONS, place, i, S2_RATTLE_OF_ROWS);
    if (rigid) {
      term->mix[i] = 1;
      continue;
    }
    memcpy(term->mix, of->mix, sizeof term->mix);
    term->soft = term->changes = !of->rigid;
    term->trapezoid = resolved[i];
    term->compliance = term->soft ? 2 * of->compliance : 0;
    term->bias = term->soft ? of->bias : 0;
  }
}

static void terms_add_limits(const S2Joint *joint, int place, Lists *lists) {
  bool limited = joint->limit_lo > -INFINITY || joint->limit_hi < INFINITY;
  if (!limited || joint->type == S2_CONSTRAINT || s2_joint_kind(joint->type)->coordinate == NULL) {
    return;
  }
  int list = joint->limit_lo == joint->limit_hi ? EQUATIONS : LIMITS, before = lists->count[LIMITS];
  if (joint->limit_lo > -INFINITY) {
    terms_append(lists, list, place, S2_JOINT_LO, S2_RATTLE_OF_COORDINATE)->offset =
        -joint->limit_lo;
  }
  if (joint->limit_hi < INFINITY && list == LIMITS) {
    S2RattleTerm *term = terms_append(lists, list, place, S2_JOINT_HI, S2_RATTLE_OF_COORDINATE);
    term->sign = -1;
    term->offset = joint->limit_hi;
  }
  for (int i = before; i < lists->count[LIMITS]; i++) {
    lists->term[LIMITS][i].restitution = joint->restitution;
  }
}

static void terms_add_drive(const S2Joint *joint, int place, Lists *lists) {
  if (joint->type == S2_CONSTRAINT) {
    return;
  }
  if (joint->has_motor && joint->motor_max > 0) {
    int list = isfinite(joint->motor_max) ? BOUNDS : EQUATIONS;
    S2RattleTerm *motor = terms_append(lists, list, place, S2_JOINT_MOTOR, S2_RATTLE_OF_DRIVE);
    motor->speed = joint->motor_speed;
    motor->most = joint->motor_max;
    motor->changes = true;
  }
  if (joint->friction > 0) {
    S2RattleTerm *dry = terms_append(lists, BOUNDS, place, S2_JOINT_DRY, S2_RATTLE_OF_DRIVE);
    dry->most = joint->friction;
    dry->changes = true;
  }
}

// Adds the row of a servo, which is a spring to its goal with a maximum force.
static void terms_add_servo(const S2Rattle *rattle, const S2JointAt *at, int place, Lists *lists) {
  const S2Joint *joint = at->joint;
  S2JointRow row;
  S2SoftRow soft[S2_JOINT_EQUATIONS];
  if (!s2_servo_acts(joint, rattle->h)) {
    return;
  }
  S2Joint spring = s2_servo_spring(joint);
  s2_joint_kind(joint->type)->drive(at, &row, NULL);
  row.value -= joint->servo_goal;
  double w = s2_rattle_mobility(rattle->step->world, joint, s2_joint_row_angular(&row));
  rattle_soften(&spring, &row, 1, rattle->step->dt, 0.5, soft);
  bool resolved = w <= 2 * soft[0].compliance;
  rattle_soften(&spring, &row, 1, rattle->h, resolved ? 0.5 : 1, soft);
  if (!isfinite(soft[0].compliance)) { // skip servos without gains
    return;
  }
  S2RattleTerm *term = terms_append(lists, isfinite(joint->servo_max) ? BOUNDS : EQUATIONS, place,
                                    S2_JOINT_SERVO, S2_RATTLE_OF_DRIVE);
  term->offset = -joint->servo_goal;
  term->most = joint->servo_max;
  term->soft = term->changes = term->effort = true;
  term->trapezoid = resolved;
  term->compliance = 2 * soft[0].compliance;
  term->bias = soft[0].bias;
}

static S2RattleState state_before(const S2RattleTerm *term, double before, double h) {
  double full = term->most * h / 2 * (1 - 1e-9); // the bound minus a tolerance for rounding
  return term->law == S2_RATTLE_BOUNDED && before >= full    ? S2_RATTLE_AT_HI
         : term->law == S2_RATTLE_BOUNDED && before <= -full ? S2_RATTLE_AT_LO
         : term->law == S2_RATTLE_LIMIT && !(before > 0)     ? S2_RATTLE_OPEN
                                                             : S2_RATTLE_HELD;
}

// Sets the initial guess to half of the impulses of the last step or piece, with its active set.
static void terms_guess(const S2Rattle *rattle) {
  const S2Step *step = rattle->step;
  for (int r = 0; r < rattle->rows; r++) {
    const S2RattleTerm *term = &rattle->term[r];
    int32_t slot = rattle->island->joint[term->place];
    bool piece = rattle->kept != NULL && rattle->done > 0; // a previous piece exists
    double kept = piece ? rattle->kept[S2_JOINT_ROWS * term->place + term->index]
                        : step->joint_impulse[S2_JOINT_ROWS * slot + term->index];
    double l = isfinite(kept) ? kept / 2 * (rattle->h / (piece ? rattle->last : step->dt)) : 0;
    double most = term->most * rattle->h / 2;
    l = term->law == S2_RATTLE_LIMIT ? fmax(l, 0) : fmax(-most, fmin(most, l));
    rattle->l[r] = l;
    rattle->first[r] = state_before(term, l, rattle->h);
  }
}

void s2_rattle_make_terms(S2Rattle *rattle) {
  S2Step *step = rattle->step;
  const S2Island *island = rattle->island;
  S2ArenaMark mark = s2_arena_mark(step->arena);
  int most = S2_JOINT_ROWS * island->joints;
  Lists lists = {0};
  for (int i = 0; i < LISTS; i++) {
    lists.term[i] = S2_TAKE(step->arena, S2RattleTerm, most);
  }
  rattle->grounds = 0;
  for (int i = 0; i < island->joints; i++) {
    const S2Joint *joint = &step->world->joints.at[island->joint[i]];
    S2JointAt at = {step->world, joint, rattle->q0, rattle->done, NULL};
    if (joint->type == S2_GROUND_FRICTION) {
      S2RattleTerm *to = lists.term[BOUNDS] + lists.count[BOUNDS];
      lists.count[BOUNDS] += s2_rattle_ground_terms(rattle, i, to);
      rattle->grounds += 1;
      continue;
    }
    terms_add_equations(rattle, &at, i, &lists);
    terms_add_drive(joint, i, &lists);
    terms_add_servo(rattle, &at, i, &lists);
    terms_add_limits(joint, i, &lists);
  }
  // Append the lists in the standard order: equations, bounded rows, limits.
  rattle->rows = 0;
  for (int i = 0; i < LISTS; i++) {
    memcpy(rattle->term + rattle->rows, lists.term[i],
           sizeof(S2RattleTerm) * (size_t)lists.count[i]);
    rattle->rows += lists.count[i];
  }
  s2_arena_rewind(step->arena, mark);
  memset(rattle->row_of, -1, sizeof *rattle->row_of * (size_t)island->joints);
  for (int r = 0; r < rattle->rows; r++) {
    rattle->row_of[rattle->term[r].place][rattle->term[r].index] = r;
  }
  terms_guess(rattle);
  s2_rattle_guess_ground(rattle);
  s2_rattle_add_contacts(rattle);
}

// ---- Measurement -------------------------------------------------------------------------------

static void keep_row(const S2RattleTerm *term, const S2JointRow *row, int r,
                     const S2RattleRows *rows) {
  rows->value[r] = term->sign * row->value + term->offset;
  rows->rate[r] = term->sign * row->rate;
  for (int c = 0; c < 3; c++) {
    rows->side[r].a[c] = term->sign * row->ja[c];
    rows->side[r].b[c] = term->sign * row->jb[c];
  }
}

static S2JointRow terms_combine(const double *mix, const S2JointRow *of, int count) {
  S2JointRow sum = {0};
  for (int i = 0; i < count; i++) {
    sum.value += mix[i] * of[i].value;
    sum.rate += mix[i] * of[i].rate;
    for (int c = 0; c < 3; c++) {
      sum.ja[c] += mix[i] * of[i].ja[c];
      sum.jb[c] += mix[i] * of[i].jb[c];
    }
  }
  return sum;
}

// Measures a rigid hinge. This is the most common joint.
static void measure_pin(const S2JointAt *at, const int32_t *of, const S2RattleRows *rows) {
  S2Pin pin;
  s2_measure_pin(at, &pin);
  for (int k = 0; k < 2; k++) {
    rows->value[of[k]] = pin.value[k];
    rows->rate[of[k]] = 0;
    memcpy(rows->side[of[k]].a, pin.ja[k], sizeof pin.ja[k]);
    memcpy(rows->side[of[k]].b, pin.jb[k], sizeof pin.jb[k]);
  }
}

static void measure_equations(const S2Rattle *rattle, const S2JointAt *at, const int32_t *of,
                              const S2RattleRows *rows) {
  S2JointRow own[S2_JOINT_EQUATIONS];
  bool rigid = s2_joint_is_rigid(at->joint);
  if (rigid && at->joint->type == S2_HINGE) {
    measure_pin(at, of, rows);
    return;
  }
  int count = s2_joint_rows(at, own);
  for (int i = 0; i < count; i++) {
    if (of[i] >= 0) {
      const S2RattleTerm *term = &rattle->term[of[i]];
      S2JointRow row = rigid ? own[i] : terms_combine(term->mix, own, count);
      keep_row(term, &row, of[i], rows);
    }
  }
}

static void measure_ground(const S2Rattle *rattle, const S2Joint *joint, const double *q,
                           const int32_t *of, const S2RattleRows *rows) {
  for (int k = 0; k < S2_JOINT_ROWS; k++) {
    if (of[k] >= 0) {
      S2JointRow row = {0};
      memcpy(row.ja, rattle->term[of[k]].mix, sizeof row.ja);
      for (int c = 0; c < 3; c++) {
        row.value += row.ja[c] * q[3 * joint->a + c];
      }
      keep_row(&rattle->term[of[k]], &row, of[k], rows);
    }
  }
}

void s2_rattle_measure(const S2Rattle *rattle, const double *q, double elapsed,
                       const S2RattleRows *rows) {
  const S2Step *step = rattle->step;
  S2ArenaMark mark = s2_arena_mark(step->arena);
  const S2Rot *turn = s2_step_turns(step, rattle->island, q);
  for (int i = 0; i < rattle->island->joints; i++) {
    const S2Joint *joint = &step->world->joints.at[rattle->island->joint[i]];
    const S2JointKind *kind = s2_joint_kind(joint->type);
    S2JointAt at = {step->world, joint, q, elapsed, turn};
    const int32_t *of = rattle->row_of[i];
    if (joint->type == S2_GROUND_FRICTION) {
      measure_ground(rattle, joint, q, of, rows);
      continue;
    }
    if (of[0] >= 0 || of[1] >= 0 || of[2] >= 0) {
      measure_equations(rattle, &at, of, rows);
    }
    // Measure the limits, then the rows on the driven coordinate.
    S2JointRow row;
    if (of[S2_JOINT_LO] >= 0 || of[S2_JOINT_HI] >= 0) {
      kind->coordinate(&at, &row, NULL);
    }
    for (int k = S2_JOINT_LO; k <= S2_JOINT_HI; k++) {
      if (of[k] >= 0) {
        keep_row(&rattle->term[of[k]], &row, of[k], rows);
      }
    }
    if (of[S2_JOINT_MOTOR] >= 0 || of[S2_JOINT_DRY] >= 0 || of[S2_JOINT_SERVO] >= 0) {
      kind->drive(&at, &row, NULL);
    }
    for (int k = S2_JOINT_MOTOR; k <= S2_JOINT_SERVO; k++) {
      if (of[k] >= 0) {
        keep_row(&rattle->term[of[k]], &row, of[k], rows);
      }
    }
  }
  s2_rattle_measure_contacts(rattle, q, rows);
  s2_arena_rewind(step->arena, mark);
}

// Returns true if the joint has a compliant row that uses implicit Euler.
static bool softens_at_end(const S2Rattle *rattle, const int32_t *of) {
  bool any = false;
  for (int i = 0; i < S2_JOINT_EQUATIONS; i++) {
    any |= of[i] >= 0 && rattle->term[of[i]].soft && !rattle->term[of[i]].trapezoid;
  }
  return any;
}

static void soften_joint_end(const S2Rattle *rattle, const S2JointAt *at, const int32_t *of,
                             const S2RattleRows *rows, double *compliance, double *bias,
                             double (*mix)[S2_JOINT_EQUATIONS]) {
  S2JointRow own[S2_JOINT_EQUATIONS];
  S2SoftRow soft[S2_JOINT_EQUATIONS];
  int count = s2_joint_rows(at, own);
  rattle_soften(at->joint, own, count, rattle->h / 2, 1, soft);
  for (int i = 0; i < count; i++) {
    const S2RattleTerm *term = of[i] < 0 ? NULL : &rattle->term[of[i]];
    if (term != NULL && term->soft && !term->trapezoid) {
      S2JointRow row = terms_combine(soft[i].mix, own, count);
      keep_row(term, &row, of[i], rows);
      compliance[of[i]] = soft[i].compliance;
      bias[of[i]] = soft[i].bias;
      if (mix != NULL) {
        memcpy(mix[of[i]], soft[i].mix, sizeof soft[i].mix);
      }
    }
  }
}

void s2_rattle_soften_end(const S2Rattle *rattle, const S2RattleRows *rows, double *compliance,
                          double *bias, double (*mix)[S2_JOINT_EQUATIONS]) {
  const S2World *world = rattle->step->world;
  double elapsed = rattle->done + rattle->h;
  // Compute the rows of joints, then the rows of contacts.
  for (int i = 0; i < rattle->island->joints; i++) {
    const S2Joint *joint = &world->joints.at[rattle->island->joint[i]];
    const int32_t *of = rattle->row_of[i];
    S2JointAt at = {world, joint, rattle->q1, elapsed, NULL};
    if (!s2_joint_is_rigid(joint) && softens_at_end(rattle, of)) {
      soften_joint_end(rattle, &at, of, rows, compliance, bias, mix);
    }
    int r = of[S2_JOINT_SERVO];
    if (r >= 0 && !rattle->term[r].trapezoid) {
      S2Joint spring = s2_servo_spring(joint);
      S2SoftRow soft[S2_JOINT_EQUATIONS];
      S2JointRow row = {.value = rows->value[r]};
      rattle_soften(&spring, &row, 1, rattle->h / 2, 1, soft);
      compliance[r] = soft[0].compliance;
      bias[r] = soft[0].bias;
    }
  }
  for (int r = 0; r < rattle->rows; r++) {
    const S2RattleTerm *term = &rattle->term[r];
    if (s2_rattle_of_contact(term) && term->soft && !term->trapezoid) {
      s2_rattle_soften_contact_end(rattle, r, &compliance[r], &bias[r]);
    }
  }
}

// ---- Rows of problems --------------------------------------------------------------------------

double s2_rattle_impulse(const S2Rattle *rattle, int r) {
  const S2RattleTerm *term = &rattle->term[r];
  if (term->source == S2_RATTLE_OF_GROUND && term->index != S2_GROUND_TORQUE) {
    bool first = term->index >= S2_GROUND_FIRST;
    return first ? 0 : s2_rattle_ground_impulse(rattle, term->place, term->index - 1);
  }
  return rattle->l[r] + rattle->k[r];
}

S2Row s2_rattle_row(const S2Rattle *rattle, int r, const S2RowSides *side) {
  const S2RattleTerm *term = &rattle->term[r];
  const int32_t *node_of = rattle->step->node_of;
  bool equation = term->law == S2_RATTLE_EQUATION && !s2_rattle_of_contact(term);
  bool rough = term->law == S2_RATTLE_FRICTION;
  int32_t slot[2];
  s2_rattle_bodies(rattle, term, slot);
  S2Row row = {
      .a = slot[0] == S2_NONE ? S2_GROUND : node_of[slot[0]],
      .b = slot[1] == S2_NONE ? S2_GROUND : node_of[slot[1]],
      .coupled_to = rough ? r - 1 : -1,
      .mu = term->mu,
      // Each bounded row has a separate group. Friction shares the group of its normal row.
      .group = equation ? term->place : rattle->island->joints + r - rough,
      .lo = -INFINITY,
      .hi = INFINITY,
  };
  for (int c = 0; c < 3; c++) {
    row.ja[c] = row.a == S2_GROUND ? 0 : side->a[c];
    row.jb[c] = row.b == S2_GROUND ? 0 : side->b[c];
  }
  return row;
}

void s2_rattle_push(const S2RowSides *side, S2Vec2 arm, double impulse, double *reaction) {
  S2Vec2 force = {side->a[1], side->a[2]};
  reaction[0] += impulse * (side->a[0] - s2_cross(arm, force));
  reaction[1] += impulse * force.x;
  reaction[2] += impulse * force.y;
}

// ---- The end of a piece ------------------------------------------------------------------------

// Adds the effect of an impulse along a row of a hinge to the reaction. A row of the angle causes a
// torque. The pin causes no torque about the anchor.
static void push_of_hinge(const S2RowSides *side, double impulse, double reaction[3]) {
  reaction[0] += impulse * (s2_rattle_turns(side) ? side->a[0] : 0);
  reaction[1] += impulse * side->a[1];
  reaction[2] += impulse * side->a[2];
}

// Returns the magnitude (J) of the difference between two values of the work of row r. One value
// uses the mean velocity of each stage, and the other uses the mean speed u of the piece.
static double paced_work(const S2Rattle *rattle, int r) {
  const S2RowSides *side = &rattle->at1.side[r];
  const int32_t *node_of = rattle->step->node_of;
  int32_t slot[2];
  double work = 0;
  s2_rattle_bodies(rattle, &rattle->term[r], slot);
  for (int c = 0; c < 6; c++) {
    int32_t node = slot[c / 3] == S2_NONE ? S2_GROUND : node_of[slot[c / 3]];
    if (node != S2_GROUND) {
      int at = 3 * node + c % 3;
      double first = rattle->l[r] * (rattle->v0[at] - rattle->u[at]);
      double second = rattle->k[r] * (rattle->v1[at] - rattle->u[at]);
      work += (c < 3 ? side->a[c] : side->b[c - 3]) * (first + second) / 2;
    }
  }
  return fabs(work);
}

void s2_rattle_add_impulses(const S2Rattle *rattle, const S2RattleSums *sums, double *halves) {
  const S2World *world = rattle->step->world;
  for (int i = 0; i < rattle->island->joints; i++) {
    const S2Joint *joint = &world->joints.at[rattle->island->joint[i]];
    // Hinges do not need lever arms, which saves two sines and cosines.
    bool hinge = joint->type == S2_HINGE && joint->a != S2_NONE;
    bool held = joint->a == S2_NONE || hinge;
    S2Vec2 none = {0, 0};
    S2Vec2 start = held ? none : s2_rotate(s2_rot(rattle->q0[3 * joint->a]), joint->local_a);
    S2Vec2 end = held ? none : s2_rotate(s2_rot(rattle->q1[3 * joint->a]), joint->local_a);
    double half[2][3] = {{0}}, paced = 0;
    for (int k = 0; k < S2_JOINT_ROWS; k++) {
      int r = rattle->row_of[i][k];
      if (r < 0) {
        continue;
      }
      sums->impulse[S2_JOINT_ROWS * i + k] += s2_rattle_impulse(rattle, r);
      if (world->audit != NULL && (k == S2_JOINT_MOTOR || k == S2_JOINT_DRY)) {
        paced += paced_work(rattle, r);
      }
      bool late = rattle->late[r];
      double first[3] = {0}, second[3] = {0};
      const S2RowSides *from = &(late ? rattle->at1 : rattle->at0).side[r];
      if (hinge) {
        push_of_hinge(from, rattle->l[r], first);
        push_of_hinge(&rattle->at1.side[r], rattle->k[r], second);
      } else {
        s2_rattle_push(from, late ? end : start, rattle->l[r], first);
        s2_rattle_push(&rattle->at1.side[r], end, rattle->k[r], second);
      }
      for (int c = 0; c < 3; c++) {
        half[0][c] += first[c];
        half[1][c] += second[c];
        // The reaction does not include the effort of an actuator.
        sums->reaction[3 * i + c] += rattle->term[r].effort ? 0 : first[c] + second[c];
      }
    }
    if (halves == NULL) {
      s2_audit_halves(rattle->step, joint, half[0], half[1], paced);
    } else {
      memcpy(halves + S2_RATTLE_HALVES * i, half, sizeof half);
      halves[S2_RATTLE_HALVES * i + 6] = paced;
    }
  }
}

double s2_rattle_pins_error(const S2Rattle *rattle) {
  const S2Island *island = rattle->island;
  const double *value = rattle->at1.value;
  double worst = 0;
  for (int i = 0; i < island->joints; i++) {
    const S2Joint *joint = &rattle->step->world->joints.at[island->joint[i]];
    bool limited = joint->limit_lo > -INFINITY || joint->limit_hi < INFINITY;
    const int32_t *of = rattle->row_of[i];
    if (joint->type != S2_HINGE || limited || !s2_joint_is_rigid(joint)) {
      return NAN;
    }
    double square = value[of[0]] * value[of[0]] + value[of[1]] * value[of[1]];
    worst = square > worst ? square : worst;
  }
  return sqrt(worst);
}
