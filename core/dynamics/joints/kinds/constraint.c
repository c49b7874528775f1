// Constraints that a program defines: a callback computes rows as functions of time and of the
// poses of up to four bodies. Derivatives that the callback does not supply are computed by central
// differences.
#include "dynamics/joints/joint.h"
#include "dynamics/trace/notes.h"

#include <stddef.h>
#include <string.h>

enum { N = S2_JOINT_EQUATIONS, COLUMNS = S2_JOINT_COLUMNS, SQUARE = COLUMNS * COLUMNS };

// Relative steps of central differences at which the truncation error equals the rounding error.
// First derivatives use the cube root of the rounding unit, second derivatives its fourth root.
static const double FIRST = 6e-6, SECOND = 1.2e-4;

typedef struct Probe { // the evaluation of a constraint
  S2World *world;
  const S2Joint *joint;
  S2JointId id;
  int columns;                       // columns of its bodies: 6, or all for more than two bodies
  double q[COLUMNS], scale[COLUMNS]; // poses of the bodies, and the scales of pose changes
  bool moves[COLUMNS];               // false for columns of the world
  double t;
} Probe;

typedef struct Answer {
  double value[N], jacobian[N][COLUMNS], rate[N], hessian[N][COLUMNS][COLUMNS];
} Answer;

enum { MOST = SQUARE * N }; // largest number of values in one call

static bool constraint_refuse(Probe *probe, S2Status status) {
  probe->world->refused = status;
  return false;
}

static bool constraint_check_finite(Probe *probe, const char *what, const double *numbers,
                                    int count, int per_row) {
  const char *name = probe->joint->name;
  for (int i = 0; i < count; i++) {
    if (!isfinite(numbers[i])) {
      return constraint_refuse(
          probe, s2_error(S2_INVALID,
                          "constraint%s%s%s: its %s is %g in row %d (t = %.6g s): finite "
                          "numbers expected",
                          name[0] != 0 ? " '" : "", name, name[0] != 0 ? "'" : "", what, numbers[i],
                          i / per_row + 1, probe->t));
    }
  }
  return true;
}

static const struct {
  const char *name;
  int count; // numbers per row
  size_t at; // offset in Answer
} asked[] = {
    [S2_ASKED_VALUE] = {"value", 1, offsetof(Answer, value)},
    [S2_ASKED_JACOBIAN] = {"jacobian", COLUMNS, offsetof(Answer, jacobian)},
    [S2_ASKED_RATE] = {"rate", 1, offsetof(Answer, rate)},
    [S2_ASKED_HESSIAN] = {"hessian", SQUARE, offsetof(Answer, hessian)},
};

// Calls the callback once. The callback must not change the world.
static bool constraint_ask(Probe *probe, S2Asked what, Answer *answer) {
  // `answer` stores the result. `slope` stores its slopes, if the step is recorded for its
  // derivative.
  S2World *world = probe->world;
  int rows = probe->joint->rows, count = rows * asked[what].count;
  S2Slope slope[MOST];
  S2ConstraintCall call = {
      .joint = probe->id, .t = probe->t, .rows = rows, .bodies = s2_joint_bodies(probe->joint)};
  memcpy(call.q, probe->q, sizeof call.q);
  double *number = (double *)(void *)((char *)answer + asked[what].at);
  memset(number, 0, sizeof *number * (size_t)count);
  // Exactly one of these arrays is requested.
  call.value = what == S2_ASKED_VALUE ? answer->value : NULL;
  call.jacobian = what == S2_ASKED_JACOBIAN ? answer->jacobian : NULL;
  call.rate = what == S2_ASKED_RATE ? answer->rate : NULL;
  call.hessian = what == S2_ASKED_HESSIAN ? answer->hessian : NULL;
  if (world->notes != NULL) {
    memset(slope, 0, sizeof *slope * (size_t)count);
    call.slope = slope;
  }
  // The callback must not change the world. The mask prevents a jump across the program's stack
  // frames if memory runs out.
  bool stepping = world->stepping, evaluating = world->evaluating;
  world->stepping = true;
  // Otherwise, a callback that reads a joint would call itself.
  world->evaluating = false;
  bool masked = s2_memory_mask(true);
  bool going = world->callbacks.constraint(world->callbacks.user, world, &call);
  s2_memory_mask(masked);
  world->stepping = stepping;
  world->evaluating = evaluating;
  if (!going) {
    return constraint_refuse(probe, s2_error(S2_ABORTED, "the step was stopped by a callback"));
  }
  // The derivative of the step needs the poses and slopes of each result.
  S2Answer note = {.asked = what,
                   .slot = (int32_t)probe->id.index - 1,
                   .t = probe->t,
                   .count = count,
                   .number = number,
                   .slope = call.sloped ? slope : NULL};
  memcpy(note.q, probe->q, sizeof note.q);
  s2_note_answer(world, &note);
  return constraint_check_finite(probe, asked[what].name, number, count, asked[what].count);
}

static bool constraint_ask_jacobian(Probe *probe, double relative_step,
                                    double jacobian[N][COLUMNS]) {
  // Use the callback's own Jacobian if it supplies one.
  Answer plus, minus;
  if (probe->joint->has_jacobian) {
    bool good = constraint_ask(probe, S2_ASKED_JACOBIAN, &plus);
    memcpy(jacobian, plus.jacobian, sizeof plus.jacobian[0] * (size_t)probe->joint->rows);
    return good;
  }
  // Otherwise compute (g(q + d) - g(q - d))/2d for each coordinate that can change.
  memset(jacobian, 0, sizeof plus.jacobian);
  for (int c = 0; c < probe->columns; c++) {
    double q = probe->q[c], up = q + relative_step * probe->scale[c],
           down = q - relative_step * probe->scale[c];
    if (!probe->moves[c]) {
      continue;
    }
    probe->q[c] = up;
    bool good = constraint_ask(probe, S2_ASKED_VALUE, &plus);
    probe->q[c] = down;
    good = good && constraint_ask(probe, S2_ASKED_VALUE, &minus);
    probe->q[c] = q;
    if (!good) {
      return false;
    }
    for (int r = 0; r < probe->joint->rows; r++) {
      jacobian[r][c] = (plus.value[r] - minus.value[r]) / (up - down);
    }
  }
  return true;
}

// Computes the rate of the constraint. The default is the mean rate over the coming step, which
// follows uniform motion exactly.
static bool constraint_ask_rate(Probe *probe, const double *value, double rate[N]) {
  const S2Joint *joint = probe->joint;
  Answer later;
  memset(rate, 0, sizeof later.rate);
  if (joint->has_rate) {
    bool good = constraint_ask(probe, S2_ASKED_RATE, &later);
    memcpy(rate, later.rate, sizeof *rate * (size_t)joint->rows);
    return good;
  }
  if (joint->velocity_only) {
    return true;
  }
  // The default rate is (g(t + h) - g(t))/h at constant poses.
  double t = probe->t;
  probe->t = t + probe->world->kept.def.dt / probe->world->kept.def.substeps;
  bool good = constraint_ask(probe, S2_ASKED_VALUE, &later);
  for (int r = 0; r < joint->rows && good && probe->t > t; r++) {
    rate[r] = (later.value[r] - value[r]) / (probe->t - t);
  }
  probe->t = t;
  return good;
}

static bool constraint_evaluate(Probe *probe, S2JointRow rows[N]) {
  // Request the value, the gradients and the rate, in this order.
  Answer now = {0};
  double jacobian[N][COLUMNS], rate[N];
  bool good = (probe->joint->velocity_only || constraint_ask(probe, S2_ASKED_VALUE, &now)) &&
              constraint_ask_jacobian(probe, FIRST, jacobian) &&
              constraint_ask_rate(probe, now.value, rate);
  for (int r = 0; r < probe->joint->rows && good; r++) {
    rows[r] = (S2JointRow){.value = now.value[r], .rate = rate[r]};
    memcpy(rows[r].ja, jacobian[r], sizeof rows[r].ja);
    memcpy(rows[r].jb, jacobian[r] + 3, sizeof rows[r].jb);
    memcpy(rows[r].more, jacobian[r] + 6, sizeof rows[r].more);
  }
  return good;
}

static Probe probe_of(S2World *world, const S2Joint *joint, const double *q, double t) {
  Probe probe = {.world = world, .joint = joint, .t = t};
  // The scale of an angle is 1 rad. The scale of a position is the body's size or the coordinate's
  // magnitude, whichever is larger.
  const int32_t slots[S2_JOINT_BODIES] = {joint->a, joint->b, joint->more[0], joint->more[1]};
  probe.columns = joint->more[0] == S2_NONE ? 6 : COLUMNS;
  for (int i = 0; i < probe.columns; i++) {
    int32_t slot = slots[i / 3];
    if (slot == S2_NONE) {
      continue;
    }
    double size = world->bodies.at[slot].reach;
    probe.moves[i] = true;
    probe.q[i] = q[3 * slot + i % 3];
    probe.scale[i] = i % 3 == 0 ? 1 : fmax(size > 0 ? size : 1, fabs(probe.q[i]));
  }
  return probe;
}

// ---- Within a step ----------------------------------------------------------------------------

void s2_constraints_begin(S2World *world) {
  int slots = world->joints.count;
  s2_array_reserve(world->memos, slots);
  world->memos.count = slots;
  for (int i = 0; i < slots; i++) {
    world->memos.at[i].world = world;
    world->memos.at[i].valid = false;
  }
  world->refused = s2_ok();
  world->evaluating = true;
}

S2Status s2_constraints_end(S2World *world) {
  S2Status refused = world->refused;
  world->refused = s2_ok();
  world->evaluating = false;
  return refused;
}

S2Status s2_constraint_first(S2World *world, S2Joint *joint) {
  if (world->callbacks.constraint == NULL) {
    return s2_error(S2_INVALID, "a constraint needs S2Callbacks.constraint");
  }
  Probe probe = probe_of(world, joint, world->q.at, world->kept.time);
  world->refused = s2_ok();
  (void)constraint_evaluate(&probe, joint->last);
  S2Status refused = world->refused;
  world->refused = s2_ok();
  return refused;
}

static bool same_poses(const double a[COLUMNS], const double b[COLUMNS]) {
  bool same = true;
  for (int i = 0; i < COLUMNS; i++) {
    same = same && a[i] == b[i];
  }
  return same;
}

// Returns the rows at the given poses. Uses the rows of the last call outside a step or after an
// error.
static const S2JointRow *constraint_current(const S2JointAt *at) {
  const S2Joint *joint = at->joint;
  int32_t slot = (int32_t)(joint - at->world->joints.at);
  if (!at->world->evaluating || at->world->refused.code != S2_OK) {
    return joint->last;
  }
  S2ConstraintMemo *memo = &at->world->memos.at[slot];
  S2World *world = memo->world;
  // A step evaluates joints many times. Call the callback only once per set of poses and time.
  Probe probe = probe_of(world, joint, at->q, world->kept.time + at->elapsed);
  probe.id = (S2JointId){(uint32_t)slot + 1, joint->serial};
  if (!memo->valid || memo->t != probe.t || !same_poses(memo->q, probe.q)) {
    memo->valid = constraint_evaluate(&probe, memo->rows);
    memo->t = probe.t;
    memcpy(memo->q, probe.q, sizeof memo->q);
  }
  return memo->valid ? memo->rows : joint->last;
}

void s2_constraint_keep(const S2JointAt *at, S2Joint *joint) {
  memcpy(joint->last, constraint_current(at), sizeof joint->last);
}

// ---- Adjoint ------------------------------------------------------------------------------------

typedef struct Backwards {
  Probe probe;
  S2ConstraintBack *back;
  void *user;
} Backwards;

// The callback has returned several numbers at the probe's poses. `bar` is the adjoint of the
// number at index `at`.
static void hand_back(const Backwards *to, S2Asked what, int at, double bar) {
  if (bar != 0) {
    to->back(to->user, what, to->probe.q, to->probe.t, at, bar);
  }
}

// Adjoint of constraint_ask_jacobian for one row.
static void jacobian_back(Backwards *to, int row, double relative_step, const double bar[COLUMNS]) {
  Probe *probe = &to->probe;
  // Pass the adjoint of each difference to the two results that form it.
  for (int c = 0; c < probe->columns; c++) {
    double q = probe->q[c], up = q + relative_step * probe->scale[c],
           down = q - relative_step * probe->scale[c];
    if (probe->joint->has_jacobian) {
      hand_back(to, S2_ASKED_JACOBIAN, COLUMNS * row + c, bar[c]);
    } else if (probe->moves[c]) {
      probe->q[c] = up;
      hand_back(to, S2_ASKED_VALUE, row, bar[c] / (up - down));
      probe->q[c] = down;
      hand_back(to, S2_ASKED_VALUE, row, -bar[c] / (up - down));
      probe->q[c] = q;
    }
  }
}

// Adjoint of constraint_ask_rate. Returns the adjoint of the step length.
static double rate_back(Backwards *to, int row, double rate, double bar) {
  Probe *probe = &to->probe;
  const S2Kept *kept = &probe->world->kept;
  double t = probe->t, later = t + kept->def.dt / kept->def.substeps, step = later - t;
  if (probe->joint->has_rate) {
    hand_back(to, S2_ASKED_RATE, row, bar);
    return 0;
  }
  if (probe->joint->velocity_only || !(step > 0)) {
    return 0;
  }
  // rate = (g(t + h) - g(t))/h, so its adjoint is passed to both results and to h.
  hand_back(to, S2_ASKED_VALUE, row, -bar / step);
  probe->t = later;
  hand_back(to, S2_ASKED_VALUE, row, bar / step);
  probe->t = t;
  return -bar * rate / step;
}

static void hessian_back(Backwards *to, int row, const double bar[COLUMNS][COLUMNS]) {
  Probe *probe = &to->probe;
  double relative_step = probe->joint->has_jacobian ? FIRST : SECOND;
  // A second derivative is the mean of two differences of gradients, at [c][i] and at [i][c].
  for (int c = 0; c < probe->columns; c++) {
    double q = probe->q[c], up = q + relative_step * probe->scale[c],
           down = q - relative_step * probe->scale[c];
    double above[COLUMNS] = {0}, below[COLUMNS] = {0};
    for (int i = 0; i < probe->columns; i++) {
      above[i] = (bar[c][i] + bar[i][c]) / (up - down) / 2;
      below[i] = -above[i];
      if (probe->joint->has_hessian) {
        hand_back(to, S2_ASKED_HESSIAN, SQUARE * row + COLUMNS * c + i, bar[c][i]);
      }
    }
    if (!probe->joint->has_hessian && probe->moves[c]) {
      probe->q[c] = up;
      jacobian_back(to, row, relative_step, above);
      probe->q[c] = down;
      jacobian_back(to, row, relative_step, below);
      probe->q[c] = q;
    }
  }
}

double s2_constraint_back(const S2JointAt *at, int row, const S2ConstraintBar *bar,
                          S2ConstraintBack *back, void *user) {
  int32_t slot = (int32_t)(at->joint - at->world->joints.at);
  S2World *world = at->world->memos.at[slot].world;
  Backwards to = {.back = back, .user = user};
  to.probe = probe_of(world, at->joint, at->q, world->kept.time + at->elapsed);
  // Pass the adjoints of the value, the gradients, the second derivatives and the rate.
  if (!at->joint->velocity_only) {
    hand_back(&to, S2_ASKED_VALUE, row, bar->value);
  }
  jacobian_back(&to, row, FIRST, bar->j);
  if (bar->hessian != NULL) {
    hessian_back(&to, row, bar->hessian);
  }
  return rate_back(&to, row, constraint_current(at)[row].rate, bar->rate);
}

bool s2_constraint_one_sided(const S2Joint *joint) {
  return joint->unilateral || joint->bounded || joint->coupled != S2_NONE;
}

// ---- The joint type ---------------------------------------------------------------------------

static int constraint_equations(const S2JointAt *at, S2JointRow rows[N]) {
  if (s2_constraint_one_sided(at->joint)) {
    return 0;
  }
  memcpy(rows, constraint_current(at), sizeof(S2JointRow) * (size_t)at->joint->rows);
  return at->joint->rows;
}

// The Hessians are zero outside a step, because the callback may only be called within a step.
void s2_constraint_hessians(const S2JointAt *at, double hessians[N][COLUMNS][COLUMNS]) {
  const S2Joint *joint = at->joint;
  memset(hessians, 0, sizeof(double) * N * SQUARE);
  // As in constraint_current(), the callback may be called only within a step.
  if (!at->world->evaluating || at->world->refused.code != S2_OK ||
      s2_constraint_one_sided(joint)) {
    return;
  }
  int32_t slot = (int32_t)(joint - at->world->joints.at);
  S2World *world = at->world->memos.at[slot].world;
  Probe probe = probe_of(world, joint, at->q, world->kept.time + at->elapsed);
  probe.id = (S2JointId){(uint32_t)slot + 1, joint->serial};
  if (joint->has_hessian) {
    Answer answer = {0};
    (void)constraint_ask(&probe, S2_ASKED_HESSIAN, &answer);
    memcpy(hessians, answer.hessian, sizeof answer.hessian);
    return;
  }
  // Use a short step for differences of the callback's own gradients, and a longer one for second
  // differences.
  double relative_step = joint->has_jacobian ? FIRST : SECOND;
  double plus[N][COLUMNS], minus[N][COLUMNS];
  for (int c = 0; c < probe.columns; c++) {
    double q = probe.q[c], up = q + relative_step * probe.scale[c],
           down = q - relative_step * probe.scale[c];
    if (!probe.moves[c]) {
      continue;
    }
    probe.q[c] = up;
    bool good = constraint_ask_jacobian(&probe, relative_step, plus);
    probe.q[c] = down;
    good = good && constraint_ask_jacobian(&probe, relative_step, minus);
    probe.q[c] = q;
    for (int r = 0; r < joint->rows && good; r++) {
      for (int i = 0; i < probe.columns; i++) { // symmetric except for errors of differences
        double half = (plus[r][i] - minus[r][i]) / (up - down) / 2;
        hessians[r][c][i] += half;
        hessians[r][i][c] += half;
      }
    }
  }
}

// The part of the Hessians that belongs to the first two bodies.
static void constraint_hessians(const S2JointAt *at, S2JointHessian hessians[N]) {
  double all[N][COLUMNS][COLUMNS];
  s2_constraint_hessians(at, all);
  for (int i = 0; i < 36 * N; i++) {
    hessians[i / 36].at[i / 6 % 6][i % 6] = all[i / 36][i / 6 % 6][i % 6];
  }
}

static void constraint_coordinate(const S2JointAt *at, S2JointRow *row, S2JointHessian *hessian) {
  *row = constraint_current(at)[0];
  if (hessian != NULL) {
    memset(hessian, 0, sizeof *hessian);
  }
}

// Finds the normal constraint to which this friction belongs. It must be unilateral, act between
// the same bodies, and have no friction yet.
static S2Status constraint_couple(const S2World *world, const S2JointDef *def, S2Joint *joint) {
  int32_t slot;
  S2_TRY(s2_joint_slot(world, def->coupled_to, &slot));
  // It must be unilateral and act between the same bodies.
  const S2Joint *normal = &world->joints.at[slot];
  if (normal->type != S2_CONSTRAINT || !normal->unilateral) {
    return s2_error(S2_INVALID, "coupled_to: a unilateral constraint expected, got a %s",
                    normal->type == S2_CONSTRAINT ? "constraint that pushes and pulls"
                                                  : s2_joint_type_name(normal->type));
  }
  if (normal->a != joint->a || normal->b != joint->b || s2_joint_is_wide(normal)) {
    return s2_error(
        S2_INVALID,
        "coupled_to: both constraints must act on the same one or two bodies, in the same order");
  }
  // It must not have a friction constraint yet.
  for (int i = 0; i < world->joint_order.count; i++) {
    const S2Joint *other = &world->joints.at[world->joint_order.at[i]];
    if (other->coupled == slot && other->coupled_serial == normal->serial) {
      return s2_error(S2_INVALID,
                      "coupled_to: the constraint already has another friction constraint");
    }
  }
  joint->coupled = slot;
  joint->coupled_serial = normal->serial;
  return s2_ok();
}

// Checks the bounds and `coupled_to`, and stores them.
static S2Status constraint_bound(const S2World *world, const S2JointDef *def, S2Joint *joint) {
  bool coupled = def->coupled_to.index != 0, soft = !s2_joint_is_rigid(joint);
  const char *what = def->bounded ? "lo, hi" : "coupled_to";
  if ((def->bounded || coupled) && (def->rows != 1 || def->unilateral || soft)) {
    return s2_error(S2_INVALID, "%s: %s", what,
                    def->rows != 1    ? "applies only to a constraint of one row"
                    : def->unilateral ? "does not apply to a unilateral constraint"
                                      : "cannot be combined with compliance");
  }
  if (def->bounded && coupled) {
    return s2_error(S2_INVALID, "coupled_to: leave out lo and hi; the bounds are friction times "
                                "the other constraint's force");
  }
  if (def->bounded &&
      !(isfinite(def->bound_lo) && isfinite(def->bound_hi) && def->bound_lo < def->bound_hi)) {
    return s2_error(S2_INVALID,
                    "lo, hi: finite numbers with lo < hi expected, got %g and %g (for a constraint "
                    "that only pushes, set unilateral)",
                    def->bound_lo, def->bound_hi);
  }
  if (def->friction != 0 && !coupled) {
    return s2_error(
        S2_INVALID,
        "friction: requires coupled_to; for a fixed friction of F newtons set lo = -F, hi = F");
  }
  // All checks have passed: store the values in the joint.
  joint->bounded = def->bounded;
  joint->bound_lo = def->bounded ? def->bound_lo : -INFINITY;
  joint->bound_hi = def->bounded ? def->bound_hi : INFINITY;
  return coupled ? constraint_couple(world, def, joint) : s2_ok();
}

// Reads the third and fourth body. Some options are not permitted with them.
static S2Status constraint_widen(const S2World *world, const S2JointDef *def, S2Joint *joint) {
  const int32_t *const before[3] = {&joint->a, &joint->b, &joint->more[0]};
  for (int i = 0; i < 2 && def->more[i].index != 0; i++) {
    S2_TRY(s2_body_slot(world, def->more[i], &joint->more[i]));
    for (int k = 0; k < 2 + i; k++) {
      if (*before[k] == joint->more[i]) {
        return s2_error(S2_INVALID, "a joint needs different bodies, got the same body twice");
      }
    }
  }
  bool wide = joint->more[0] != S2_NONE, gap = joint->a == S2_NONE || joint->b == S2_NONE;
  if ((wide && gap) || (def->more[1].index != 0 && def->more[0].index == 0)) {
    return s2_error(
        S2_INVALID,
        "more: bodies a and b expected before a third body, and a third before a fourth");
  }
  // Constraints on more than two bodies support neither bounds nor matrices.
  const char *what = def->bounded                                        ? "lo, hi"
                     : def->coupled_to.index != 0                        ? "coupled_to"
                     : def->compliance.size > 0 || def->damping.size > 0 ? "compliance, damping"
                                                                         : NULL;
  if (wide && what != NULL) {
    return s2_error(
        S2_INVALID,
        "%s: %s only for a constraint of one or two bodies, got %d; leave it out, or use a "
        "constraint between two of them",
        what, def->bounded || def->coupled_to.index != 0 ? "possible" : "a matrix is possible",
        s2_joint_bodies(joint));
  }
  return s2_ok();
}

static S2Status constraint_create(const S2World *world, const S2JointDef *def, S2Joint *joint) {
  S2_TRY(constraint_widen(world, def, joint));
  // Reject combinations of options that are not permitted.
  if (def->rows < 1 || def->rows > N || (def->unilateral && def->rows > 1)) {
    return s2_error(S2_INVALID, "rows: %s expected, got %d",
                    def->unilateral ? "1 for a unilateral constraint" : "1 to 3", def->rows);
  }
  if (def->velocity_only && !def->has_jacobian) {
    return s2_error(S2_INVALID, "a velocity_only constraint needs a jacobian");
  }
  if (def->velocity_only &&
      (def->compliance.size > 0 || def->compliance.linear > 0 || def->compliance.angular > 0)) {
    return s2_error(S2_INVALID, "compliance: does not apply to a velocity_only constraint");
  }
  if (def->unilateral && (def->compliance.size > 0 || def->damping.size > 0 ||
                          def->compliance.linear != def->compliance.angular)) {
    return s2_error(S2_INVALID, "compliance: one number expected for a unilateral constraint");
  }
  if (def->restitution != 0 && !def->unilateral) {
    return s2_error(S2_INVALID, "restitution: requires unilateral = true");
  }
  if (def->restitution != 0 && def->compliance.linear > 0) {
    return s2_error(S2_INVALID,
                    "restitution: a constraint has restitution or compliance, not both");
  }
  // A unilateral constraint is a coordinate whose lower limit is 0.
  joint->rows = def->rows;
  joint->velocity_only = def->velocity_only;
  joint->unilateral = def->unilateral;
  joint->has_jacobian = def->has_jacobian;
  joint->has_hessian = def->has_hessian;
  joint->has_rate = def->has_rate;
  joint->limit_lo = def->unilateral ? 0 : -INFINITY;
  return constraint_bound(world, def, joint);
}

const S2JointKind s2_constraint_kind = {
    .traits = {.name = "constraint"},
    .parts = S2_HAS_COMPLIANCE | S2_HAS_OTHERS,
    .fields = S2_FIELD_BIT(BOUND_LO) | S2_FIELD_BIT(BOUND_HI) | S2_FIELD_BIT(FRICTION) |
              S2_FIELD_BIT(RESTITUTION),
    .rows = constraint_equations,
    .hessians = constraint_hessians,
    .coordinate = constraint_coordinate,
    .create = constraint_create,
};
