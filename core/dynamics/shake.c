// SHAKE by one factorisation (stabilise.c says what it is for). Joints push along their rows at the
// start of the step, J0, however often their errors g are measured anew:
//
//     J0 M^-1 J0' dl = -g(q1),   l := l + dl,   q1 := (what it was) + M^-1 J0' l
//
// so the matrix is the same in every pass, and a pass costs the errors and a substitution.
#include "dynamics/step.h"
#include "mcp/bilateral.h"

#include <string.h>

typedef struct Shake {
  S2Step *step;
  const S2Island *island;
  S2Problem problem;         // at q0, the equations alone; its right side is 0
  const S2JointPart *part;   // of its rows
  S2Bilateral matrix;        //
  double *error, *change;    // a row: g; what l becomes
  double *start, *dq, *last; // 3 a node: q1 at first, what it has been displaced by, and before
} Shake;

// The errors of a joint's equations, in the order of its rows (joint_rows.c); returns how many.
static int joint_errors(const S2JointAt *at, double length, double *error, double *square) {
  const S2Joint *joint = at->joint;
  S2JointRow rows[S2_JOINT_EQUATIONS + 1];
  int count = joint->velocity_only ? 0 : s2_joint_rigid_rows(at, rows);
  if (joint->limit_lo == joint->limit_hi) {
    s2_joint_kind(joint->type)->coordinate(at, &rows[count], NULL);
    rows[count++].value -= joint->limit_lo;
  }
  *square = 0;
  for (int i = 0; i < count; i++) {
    double size = rows[i].value * (s2_joint_row_angular(&rows[i]) ? length : 1);
    error[i] = rows[i].value;
    *square += size * size;
  }
  return count;
}

// Those of all joints at q1; the largest is given back, m. NAN: they are not those of the rows.
static double measure(Shake *shake) {
  const S2Step *step = shake->step;
  const S2Island *island = shake->island;
  double largest = 0, elapsed = step->t - step->world->kept.time + step->h;
  int n = 0;
  for (int i = 0; i < island->joints; i++) {
    const S2Joint *joint = &step->world->joints.at[island->joint[i]];
    S2JointAt at = {step->world, joint, step->q1, elapsed};
    double error[S2_JOINT_EQUATIONS + 1], square;
    int count = joint_errors(&at, island->length, error, &square);
    if (n + count > shake->problem.rows) {
      return NAN;
    }
    memcpy(shake->error + n, error, sizeof(double) * (size_t)count);
    largest = square > largest ? square : largest;
    n += count;
  }
  return n == shake->problem.rows ? sqrt(largest) : NAN;
}

static bool prepare(Shake *shake) {
  S2Step *step = shake->step;
  const S2Island *island = shake->island;
  S2Arena *arena = step->arena;
  double *q1 = step->q1;
  S2Choice *none = S2_TAKE_ZEROED(arena, S2Choice, 2 * step->touch_count);
  step->q1 = step->q0;
  S2Assembly assembly = s2_assemble(step, island, none, S2_POSITIONS);
  step->q1 = q1;
  shake->problem = assembly.problem;
  shake->part = assembly.part;
  int rows = 0;
  while (rows < assembly.problem.rows && assembly.problem.row[rows].lo < 0) {
    rows++;
  }
  shake->problem.rows = rows;
  if (rows == 0 || !s2_bilateral_factor(&shake->matrix, &shake->problem, arena)) {
    return false;
  }
  shake->error = S2_TAKE(arena, double, rows);
  shake->change = S2_TAKE(arena, double, rows);
  shake->start = S2_TAKE(arena, double, 3 * island->nodes);
  shake->dq = S2_TAKE_ZEROED(arena, double, 3 * island->nodes);
  shake->last = S2_TAKE(arena, double, 3 * island->nodes);
  for (int i = 0; i < island->nodes; i++) {
    memcpy(shake->start + 3 * i, q1 + 3 * island->node[i], 3 * sizeof(double));
  }
  return true;
}

// q1 from l + part * change; returns the largest turn that is new.
static double displace(Shake *shake, const double *lambda, double part) {
  int nodes = shake->island->nodes;
  double turn = 0, *total = S2_TAKE(shake->step->arena, double, shake->problem.rows);
  for (int r = 0; r < shake->problem.rows; r++) {
    total[r] = lambda[r] + part * shake->change[r];
  }
  s2_mcp_velocity(&shake->problem, total, shake->dq);
  for (int i = 0; i < 3 * nodes; i++) {
    double *q = &shake->step->q1[3 * shake->island->node[i / 3] + i % 3];
    *q = shake->start[i] + shake->dq[i];
    double more = i % 3 == 0 ? fabs(shake->dq[i] - shake->last[i]) : 0;
    turn = more <= turn ? turn : more; // keeps a NaN
  }
  return turn;
}

// One pass; false when its numbers are not finite.
static bool correct(Shake *shake, double *lambda) {
  S2ArenaMark mark = s2_arena_mark(shake->step->arena);
  for (int r = 0; r < shake->problem.rows; r++) {
    shake->change[r] = -shake->error[r];
  }
  s2_bilateral_apply(&shake->matrix, shake->change);
  memcpy(shake->last, shake->dq, sizeof(double) * (size_t)(3 * shake->island->nodes));
  double part = 1, turn = displace(shake, lambda, part);
  if (turn > S2_PROJECTION_TURN) {
    part = S2_PROJECTION_TURN / turn;
    displace(shake, lambda, part);
  }
  for (int r = 0; r < shake->problem.rows; r++) {
    lambda[r] += part * shake->change[r];
  }
  s2_arena_rewind(shake->step->arena, mark);
  shake->step->world->stats.projections += 1;
  return isfinite(turn);
}

static void collide(const Shake *shake) {
  S2Step *step = shake->step;
  for (int i = 0; i < shake->island->touches; i++) {
    s2_touch_collide(step->world, &step->touches[shake->island->touch[i]], step->q1,
                     step->world->kept.def.contact_margin);
  }
}

static void undo(Shake *shake, double *lambda) {
  memset(shake->dq, 0, sizeof(double) * (size_t)(3 * shake->island->nodes));
  memset(lambda, 0, sizeof(double) * (size_t)shake->problem.rows);
  for (int i = 0; i < shake->island->nodes; i++) {
    memcpy(shake->step->q1 + 3 * shake->island->node[i], shake->start + 3 * i, 3 * sizeof(double));
  }
  collide(shake);
}

bool s2_step_shake(S2Step *step, const S2Island *island, S2Shaken *shaken, double *worst) {
  Shake shake = {.step = step, .island = island};
  if (!prepare(&shake)) {
    return false;
  }
  double now = measure(&shake), before = INFINITY;
  if (!(now >= *worst)) { // a limit or an overlap is the larger error
    return false;
  }
  // Less than this is rounding, which does not halve.
  double done = S2_PROJECTION_TOLERANCE * island->length;
  bool finite = true;
  for (int pass = 0; pass < S2_SHAKE_DIRECT_PASSES && now > done && now < before / 2; pass++) {
    before = now;
    finite = correct(&shake, shaken->lambda) && finite;
    now = measure(&shake);
  }
  collide(&shake);
  double left = s2_step_violation(step, island);
  if (!finite || !(left <= S2_PROJECTION_TRIGGER * island->length)) {
    undo(&shake, shaken->lambda);
    return false;
  }
  *worst = left;
  memcpy(shaken->dq, shake.dq, sizeof(double) * (size_t)(3 * island->nodes));
  memcpy(shaken->part, shake.part, sizeof(S2JointPart) * (size_t)shake.problem.rows);
  shaken->count = shake.problem.rows;
  return true;
}
