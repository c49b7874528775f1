// SHAKE with a single factorisation (project.c explains its purpose).
// Joints push along their rows J0 from the start of the step, and each pass measures their errors
// g:
//
//     J1 M^-1 J0' dl = -g(q1),   l := l + dl,   q1 := (initial q1) + M^-1 J0' l
//
// J1 contains the rows at q1 of the first pass, or J0 if the factor of the first solve can be used.
// If passes remove too little of the error, J1 is updated, and the matrix becomes Newton's matrix.
// (With J0 instead of J1, the fraction of the error that remains after a pass is about the step's
// rotation in rad. In a stretched chain it is several times larger.) With the same matrix, a pass
// only computes the errors and one substitution.
#include "dynamics/joints/rows.h"
#include "dynamics/step/touch.h"
#include "dynamics/trace/notes.h"

#include <string.h>

typedef struct Shake {
  S2Step *step;
  S2Island *island;
  S2JointErrors *errors;     // at q1
  S2Problem problem;         // equations at q0; their right-hand side is 0
  const S2JointPart *part;   // data of the problem's rows
  bool has_motion;           // true if the rows come from S2Island.motion
  S2Bilateral matrix;        //
  double *change;            // per row: -dl
  double *start, *dq, *last; // 3 per node: initial q1; displacement; previous displacement
} Shake;

// m: the largest joint error, or NAN if the equations of the joints differ from those of the
// problem.
static double shake_largest(const Shake *shake) {
  return shake->errors->rows == shake->problem.rows ? shake->errors->largest : NAN;
}

static double shake_measure(Shake *shake) {
  (void)s2_step_violation(shake->step, shake->island, shake->errors);
  return shake_largest(shake);
}

// Uses the rows of the first solve if all of them are rigid equations without drives. Otherwise
// returns false.
static bool take_rows_of_motion(Shake *shake) {
  const S2Assembly *motion = shake->island->motion;
  if (motion == NULL || motion->parts == 0 || motion->parts_given > 0) {
    return false;
  }
  for (int r = 0; r < motion->parts; r++) {
    const S2Row *row = &motion->problem.row[r];
    if (!(row->lo == -INFINITY && row->hi == INFINITY && row->compliance == 0)) {
      return false;
    }
  }
  shake->problem = motion->problem;
  shake->part = motion->part;
  return true;
}

static void take_rows_of_start(Shake *shake) {
  S2Step *step = shake->step;
  S2Choice *none = S2_TAKE_ZEROED(step->arena, S2Choice, 2 * step->touch_count);
  S2Assembly assembly =
      s2_assemble(step, step->q0, step->touches, shake->island, none, S2_SOLVE_PROJECTION);
  shake->problem = assembly.problem;
  shake->part = assembly.part;
  shake->problem.rows = 0;
  while (shake->problem.rows < assembly.problem.rows &&
         assembly.problem.row[shake->problem.rows].lo < 0) {
    shake->problem.rows++;
  }
}

// Uses the factor of the first solve if its matrix is J0 M^-1 J0'. Otherwise computes Newton's
// matrix.
static bool take_matrix(Shake *shake) {
  const S2Assembly *motion = shake->island->motion;
  bool has_pattern = shake->has_motion && motion->matrix->groups > 0;
  if (has_pattern) {
    shake->matrix = *motion->matrix;
    shake->matrix.problem = &shake->problem;
    size_t size = sizeof(double) * (size_t)(3 * shake->island->nodes);
    if (memcmp(shake->problem.mass, motion->mass, size) == 0) {
      return true;
    }
  } else if (!s2_bilateral_init(&shake->matrix, &shake->problem, shake->step->arena)) {
    return false;
  }
  return s2_bilateral_factor(&shake->matrix, shake->errors->side);
}

static bool shake_prepare(Shake *shake, double worst) {
  const S2Step *step = shake->step;
  const S2Island *island = shake->island;
  S2Arena *arena = step->arena;
  const double *q1 = step->q1;
  if (s2_wide_any(step, island)) { // wide joints have several rows per equation
    return false;
  }
  // Take the rows J0 from the first solve, or assemble them.
  shake->has_motion = take_rows_of_motion(shake);
  if (!shake->has_motion) {
    take_rows_of_start(shake);
  }
  int rows = shake->problem.rows;
  if (rows == 0) {
    return false;
  }
  // Displacements use the mass norm, which ignores damping.
  double *mass = S2_TAKE(arena, double, 3 * island->nodes);
  for (int i = 0; i < island->nodes; i++) {
    const S2Body *body = &step->world->bodies.at[island->node[i]];
    mass[3 * i] = body->inertia;
    mass[3 * i + 1] = mass[3 * i + 2] = body->mass;
  }
  shake->problem.mass = mass;
  shake->problem.rhs = S2_TAKE_ZEROED(arena, double, 3 * island->nodes);
  shake->change = S2_TAKE(arena, double, rows);
  shake->start = S2_TAKE(arena, double, 3 * island->nodes);
  shake->dq = S2_TAKE_ZEROED(arena, double, 3 * island->nodes);
  shake->last = S2_TAKE(arena, double, 3 * island->nodes);
  for (int i = 0; i < island->nodes; i++) {
    memcpy(shake->start + 3 * i, q1 + 3 * island->node[i], 3 * sizeof(double));
  }
  return shake_largest(shake) >= worst && // else a limit or an overlap has a larger error
         take_matrix(shake);
}

// Sets q1 from lambda. Returns the largest new rotation.
static double shake_displace(Shake *shake, const double *lambda) {
  double turn = 0;
  s2_mcp_velocity(&shake->problem, lambda, shake->dq);
  for (int i = 0; i < shake->island->nodes; i++) {
    const double *from = shake->start + 3 * i, *dq = shake->dq + 3 * i;
    double *q = shake->step->q1 + 3 * shake->island->node[i];
    double more = fabs(dq[0] - shake->last[3 * i]);
    turn = more <= turn ? turn : more; // this form propagates NaN
    for (int c = 0; c < 3; c++) {
      q[c] = from[c] + dq[c];
    }
  }
  return turn;
}

// Makes one pass. Returns false if the result is not finite or a body turned too far.
static bool shake_correct(Shake *shake, double *lambda) {
  memcpy(shake->last, shake->dq, sizeof(double) * (size_t)(3 * shake->island->nodes));
  memcpy(shake->change, shake->errors->value, sizeof(double) * (size_t)shake->problem.rows);
  s2_bilateral_apply(&shake->matrix, shake->change);
  for (int r = 0; r < shake->problem.rows; r++) {
    lambda[r] -= shake->change[r];
  }
  shake->step->world->stats.projections += 1;
  return shake_displace(shake, lambda) <= S2_PROJECTION_TURN;
}

static void shake_collide(const Shake *shake) {
  S2Step *step = shake->step;
  for (int i = 0; i < shake->island->touches; i++) {
    s2_touch_collide(step->world, &step->touches[shake->island->touch[i]], step->q1,
                     step->world->kept.def.contact_margin);
  }
}

static void shake_undo(Shake *shake, double *lambda) {
  memset(shake->dq, 0, sizeof(double) * (size_t)(3 * shake->island->nodes));
  memset(lambda, 0, sizeof(double) * (size_t)shake->problem.rows);
  for (int i = 0; i < shake->island->nodes; i++) {
    memcpy(shake->step->q1 + 3 * shake->island->node[i], shake->start + 3 * i, 3 * sizeof(double));
  }
  shake_collide(shake);
}

bool s2_step_shake(S2Step *step, S2Island *island, S2JointErrors *errors, S2Shaken *shaken,
                   double *worst) {
  Shake shake = {.step = step, .island = island, .errors = errors};
  if (!shake_prepare(&shake, *worst)) {
    return false;
  }
  double now = shake_largest(&shake), before = INFINITY;
  double done = island->enough;
  bool small = true;
  // Chord iteration: keep the factor, and update Newton's matrix if the errors decrease slowly.
  for (int pass = 0; pass < S2_SHAKE_DIRECT_PASSES && small && now > done && now < before / 2;
       pass++) {
    before = now;
    small = shake_correct(&shake, shaken->lambda);
    now = shake_measure(&shake);
    bool slow = now * (now / before) * (now / before) > done; // two more passes would not suffice
    small = small && (!slow || s2_bilateral_factor(&shake.matrix, errors->side));
  }
  // SHAKE ignores contacts and limits. Check that it does not violate them.
  double left = now;
  if (island->touches > 0 || errors->limited) {
    shake_collide(&shake);
    left = s2_step_violation(step, island, NULL);
  }
  if (!small || !(left <= fmax(S2_PROJECTION_TRIGGER * island->length, 2 * done))) {
    shake_undo(&shake, shaken->lambda);
    return false;
  }
  // Return the displacements caused by joints. The caller adds them to the velocities.
  *worst = left;
  s2_note_shake(step, island, shake.start, shake.dq, shake.problem.rows, shaken->lambda,
                shake.has_motion);
  memcpy(shaken->dq, shake.dq, sizeof(double) * (size_t)(3 * island->nodes));
  memcpy(shaken->part, shake.part, sizeof(S2JointPart) * (size_t)shake.problem.rows);
  shaken->count = shake.problem.rows;
  return true;
}
