// Geometric stiffness: a force of constant size along the gradient of g turns as the bodies move.
// With the force lambda/h of the last step, this is equivalent to the stiffness K = -sum (lambda/h)
// Hess(g) (see the notes on Compliant). For a distance joint, K acts across the joint and is the
// tension divided by the length.
//
// If forces keep their directions from the start of the step, this stiffness is integrated
// explicitly. If the step is too long, oscillations across the force gain energy, for example in a
// light link under a large force. The island of such a joint uses implicit Euler with the positive
// part of K.
#include "dynamics/joints/rows.h"
#include "dynamics/joints/sides.h"
#include "dynamics/rattle/rattle.h"

#include <string.h>

// Eigenvalues below this fraction of the largest one are rounding errors.
static const double NOTHING = 1e-13;

// Compute the eigenvalues if the largest one may be this close to a bound, as a fraction. Rounding
// would decide a cheaper test.
static const double CLEARLY = 1e-9;

static void stiffness_add(double k[36], double factor, const S2JointHessian *hessian) {
  for (int i = 0; i < 36; i++) {
    k[i] += factor * hessian->at[i / 6][i % 6];
  }
}

// Clears the rows and columns of a body that cannot move. The nonzero eigenvalues then belong to
// the other body.
static void leave_out(double k[36], int side) {
  for (int i = 0; i < 36; i++) {
    if (i / 18 == side || i % 6 / 3 == side) {
      k[i] = 0;
    }
  }
}

// The impulses of a joint in its most recent step.
static S2JointLoad last_load(const S2Joint *joint) {
  return (S2JointLoad){joint->impulse, joint->reaction_time};
}

static void stiffness_assemble(const S2JointAt *at, const S2JointLoad *load, S2Blend blend,
                               double k[36]) {
  const S2Joint *joint = at->joint;
  const S2JointKind *kind = s2_joint_kind(joint->type);
  S2JointRow rows[S2_JOINT_EQUATIONS];
  S2JointHessian hessians[S2_JOINT_EQUATIONS];
  S2SoftRow soft[S2_JOINT_EQUATIONS]; // rows that combine the equations
  // Stored impulses belong to combinations of the equations. Form the combinations that the solve
  // used.
  int count = s2_joint_rows(at, rows);
  s2_joint_speeds(joint, at->world->v.at, rows, count);
  s2_joint_hessians(at, hessians);
  s2_joint_soften(joint, rows, count, blend, soft);
  memset(k, 0, 36 * sizeof(double));
  // K = -sum (lambda/h) Hess(g), over the equations.
  for (int i = 0; i < count; i++) {
    for (int r = 0; r < count; r++) {
      stiffness_add(k, -load->impulse[i] / load->time * soft[i].mix[r], &hessians[r]);
    }
  }
  // Limits act along the coordinate. At most one of the two limits acts.
  double limit = load->impulse[S2_JOINT_LO] - load->impulse[S2_JOINT_HI];
  if (limit != 0 && kind->coordinate != NULL) {
    kind->coordinate(at, &rows[0], &hessians[0]);
    stiffness_add(k, -limit / load->time, &hessians[0]);
  }
}

double s2_joint_turning_length(const S2World *world, int32_t slot) {
  const S2Body *body = slot == S2_NONE ? NULL : &world->bodies.at[slot];
  bool heavy = body != NULL && s2_body_yields(body) && body->mass > 0 && body->inertia > 0;
  return heavy ? sqrt(body->inertia / body->mass) : 0;
}

void s2_joint_turning_lengths(const S2JointAt *at, double length[2]) {
  double a = s2_joint_turning_length(at->world, at->joint->a),
         b = s2_joint_turning_length(at->world, at->joint->b);
  length[0] = a > 0 ? a : b > 0 ? b : 1;
  length[1] = b > 0 ? b : length[0];
}

int s2_joint_geometric(const S2JointAt *at, S2Blend blend, S2StiffRow rows[S2_GEOMETRIC_ROWS]) {
  const S2Joint *joint = at->joint;
  if (!(joint->reaction_time > 0)) { // the joint has not acted yet
    return 0;
  }
  // K over the bodies that can move.
  double k[36], value[6], q[36], largest = 0;
  S2JointLoad load = last_load(joint);
  stiffness_assemble(at, &load, blend, k);
  const int32_t slots[2] = {joint->a, joint->b};
  for (int side = 0; side < 2; side++) {
    if (slots[side] == S2_NONE || at->world->bodies.at[slots[side]].type == S2_STATIC) {
      leave_out(k, side);
    }
  }
  // The eigenvectors of a matrix over rotations and translations depend on the unit of length.
  // Multiply rotations by the length of their body to remove this dependence.
  double length[2], scale[6] = {1, 1, 1, 1, 1, 1};
  s2_joint_turning_lengths(at, length);
  scale[0] = length[0];
  scale[3] = length[1];
  for (int i = 0; i < 36; i++) {
    k[i] /= scale[i / 6] * scale[i % 6];
  }
  s2_joint_eigen(6, k, value, q);
  for (int i = 0; i < 6; i++) {
    largest = fmax(largest, fabs(value[i]));
  }
  // Make a row from each eigenvector, with the eigenvalue as its stiffness. Skip eigenvalues of 0.
  int count = 0;
  for (int i = 0; i < 6; i++) {
    if (fabs(value[i]) > NOTHING * largest) {
      rows[count].stiffness = value[i];
      for (int c = 0; c < 3; c++) {
        rows[count].ja[c] = scale[c] * q[6 * c + i];
        rows[count].jb[c] = scale[c + 3] * q[6 * (c + 3) + i];
      }
      count += 1;
    }
  }
  return count;
}

bool s2_joint_geometric_ground(const S2JointAt *at, S2Vec2 *from) {
  const S2Joint *joint = at->joint;
  bool ground = joint->a == S2_NONE || at->world->bodies.at[joint->a].type == S2_STATIC;
  if (!ground || joint->b == S2_NONE) {
    return false;
  }
  const double *qa = joint->a == S2_NONE ? NULL : at->q + 3 * joint->a;
  const double *qb = at->q + 3 * joint->b;
  S2Vec2 anchor = joint->local_a;
  if (qa != NULL) {
    anchor = s2_add(s2_vec2(qa[1], qa[2]), s2_rotate(s2_rot(qa[0]), joint->local_a));
  }
  *from = s2_sub(s2_vec2(qb[1], qb[2]), anchor);
  return true;
}

// ---- Steps that do not resolve the oscillation ------------------------------------------------

// Removes the component of x along y. Both have 6 numbers; y has unit length.
static void project_out(double *x, const double *y) {
  double along = 0;
  for (int i = 0; i < 6; i++) {
    along += x[i] * y[i];
  }
  for (int i = 0; i < 6; i++) {
    x[i] -= along * y[i];
  }
}

// Computes an orthonormal basis of the joint's rigid rows multiplied by `scale`. Returns its size.
static int rigid_directions(const S2JointAt *at, S2Blend blend, const double scale[6],
                            double basis[S2_JOINT_EQUATIONS][6]) {
  S2JointRow rows[S2_JOINT_EQUATIONS];
  S2SoftRow soft[S2_JOINT_EQUATIONS];
  int count = s2_joint_rows(at, rows), found = 0;
  s2_joint_speeds(at->joint, at->world->v.at, rows, count);
  s2_joint_soften(at->joint, rows, count, blend, soft);
  // Gram-Schmidt orthogonalisation. Rows that depend on earlier rows leave only rounding.
  for (int r = 0; r < count; r++) {
    double *row = basis[found], before = 0, after = 0;
    for (int c = 0; c < 3; c++) {
      row[c] = scale[c] * soft[r].row.ja[c];
      row[c + 3] = scale[c + 3] * soft[r].row.jb[c];
      before += row[c] * row[c] + row[c + 3] * row[c + 3];
    }
    for (int i = 0; i < found; i++) {
      project_out(row, basis[i]);
    }
    for (int i = 0; i < 6; i++) {
      after += row[i] * row[i];
    }
    if (soft[r].rigid && after > NOTHING * before) {
      for (int i = 0; i < 6; i++) {
        row[i] /= sqrt(after);
      }
      found += 1;
    }
  }
  return found;
}

// Returns true if all eigenvalues of the symmetric matrix k are clearly below `bound`. Tests
// whether the matrix bound - k has a Cholesky factor. This takes a hundredth of the time of an
// eigenvalue computation.
static bool is_below(const double k[36], double bound) {
  double l[6][6];
  for (int i = 0; i < 6; i++) {
    for (int j = 0; j <= i; j++) {
      double sum = (i == j ? bound * (1 - CLEARLY) : 0) - k[6 * i + j];
      for (int c = 0; c < j; c++) {
        sum -= l[i][c] * l[j][c];
      }
      if (i == j && !(sum > 0)) {
        return false;
      }
      l[i][j] = i == j ? sqrt(sum) : sum / l[j][j];
    }
  }
  return true;
}

// Returns (h w)^2, where w is the frequency of the fastest oscillation across the joint's force
// that its rigid rows permit. Ignores other constraints on its bodies. Returns 0 if the value is
// below `least`.
static double fastest_turning(const S2JointAt *at, const S2JointLoad *load, S2Blend blend,
                              const double scale[6], double least) {
  // Compute the matrix h^2 M^-1/2 K M^-1/2, whose eigenvalues are (h w)^2.
  double k[36], square = 0, value[6], q[36], most = 0;
  stiffness_assemble(at, load, blend, k);
  for (int i = 0; i < 36; i++) {
    k[i] *= blend.h * blend.h * scale[i / 6] * scale[i % 6];
    square += k[i] * k[i];
  }
  if (!(square > least * least)) { // the Frobenius norm is an upper bound of all eigenvalues
    return 0;
  }
  // Project onto the motions that the rigid rows permit, on both sides of the matrix.
  double basis[S2_JOINT_EQUATIONS][6];
  int rigid = rigid_directions(at, blend, scale, basis);
  for (int r = 0; r < rigid; r++) {
    for (int i = 0; i < 6; i++) {
      project_out(k + 6 * i, basis[r]);
    }
    for (int j = 0; j < 6; j++) {
      double column[6];
      for (int i = 0; i < 6; i++) {
        column[i] = k[6 * i + j];
      }
      project_out(column, basis[r]);
      for (int i = 0; i < 6; i++) {
        k[6 * i + j] = column[i];
      }
    }
  }
  if (is_below(k, least)) {
    return 0;
  }
  // Take the largest eigenvalue, because negative eigenvalues are not oscillations.
  s2_joint_eigen(6, k, value, q);
  for (int i = 0; i < 6; i++) {
    most = fmax(most, value[i]);
  }
  return most > least ? most : 0;
}

// A tight bound of (h w)^2 for a rigid hinge. Its rows move the anchors together, d/dt (p_a - p_b)
// = 0, except for the present error. So only the arm of the force f on each body matters: f.ra wa^2
// - f.rb wb^2. This bound is small enough for loaded bridges and chains. The general bound is not.
static double most_hinge_turning(const S2JointAt *at, const S2JointLoad *load,
                                 const double *const mass[2], double h) {
  const S2Joint *joint = at->joint;
  // The error of the pin lengthens the arm at b. `swing` is the arm divided by the inertia.
  double error = s2_length(s2_sides_at(at).apart);
  double force = s2_length(s2_vec2(load->impulse[0], load->impulse[1])) / load->time;
  double arm_a = s2_length(joint->local_a), arm_b = s2_length(joint->local_b) + 3 * error;
  double swing_a = mass[0] != NULL && mass[0][0] > 0 ? arm_a / mass[0][0] : 0;
  double swing_b = mass[1] != NULL && mass[1][0] > 0 ? arm_b / mass[1][0] : 0;
  return h * h * force * fmax(swing_a, swing_b);
}

// A tighter bound of (h w)^2 for a slider that is rigid across its axis u. Its rows permit a common
// rotation w and a relative speed s along u. With the force f across, the force g along the axis
// (of a spring or a limit), n = left(u) and X = x_a - x_b, K is the quadratic form
// (f n.X - g u.X) w^2 + 2 f w s on these motions. Their kinetic energy is at least
// (I w^2 + m s^2)/2, where I is the sum of both inertias and m the reduced mass.
static double most_slider_turning(const S2JointAt *at, const S2JointLoad *load,
                                  const double *const mass[2], double h) {
  const S2Joint *joint = at->joint;
  double inertia = 0, lightness = 0;
  for (int side = 0; side < 2; side++) {
    if (mass[side] == NULL || !(mass[side][0] > 0)) {
      return 0; // this body does not rotate, so w is 0
    }
    inertia += mass[side][0];
    lightness += 1 / mass[side][1];
  }
  const double *qa = at->q + 3 * joint->a, *qb = at->q + 3 * joint->b;
  S2Vec2 u = s2_rotate(s2_rot(qb[0]), joint->axis), x = s2_vec2(qa[1] - qb[1], qa[2] - qb[2]);
  double across = load->impulse[0] / load->time;
  double spring = joint->has_spring ? load->impulse[2] : 0;
  double along = (spring + load->impulse[S2_JOINT_LO] - load->impulse[S2_JOINT_HI]) / load->time;
  // The largest eigenvalue of the form in the coordinates sqrt(I) w and sqrt(m) s.
  double half = (across * s2_dot(s2_left(u), x) - along * s2_dot(u, x)) / (2 * inertia);
  return h * h * (half + sqrt(half * half + across * across * lightness / inertia));
}

// A bound of (h w)^2 from the sizes of the second derivatives in measure.c, without matrices. In
// most worlds it is far below `least`, which avoids tighter tests. These would take a significant
// part of a step's time.
static double most_turning(const S2JointAt *at, const S2JointLoad *load, const double scale[6],
                           double h) {
  const S2Joint *joint = at->joint;
  static const double world[3] = {0, 0, 0};
  const double *qa = joint->a == S2_NONE ? world : at->q + 3 * joint->a;
  const double *qb = joint->b == S2_NONE ? world : at->q + 3 * joint->b;
  // The second derivatives of these joint types are unknown.
  if ((s2_joint_kind(joint->type)->parts & S2_HAS_OTHERS) != 0) {
    return INFINITY;
  }
  // Add the sizes of all forces that may act, as if they had the same direction.
  double force = 0;
  for (int r = 0; r <= S2_JOINT_HI; r++) {
    force += fabs(load->impulse[r]) / load->time;
  }
  // Bounds of the blocks of Hess(g), as in measure.c: rotation with rotation, and rotation of b
  // with translation.
  double arm_a = s2_length(joint->local_a), arm_b = s2_length(joint->local_b);
  // `far` is the largest distance from the centre of b to the anchor.
  double apart = hypot(qa[1] - qb[1], qa[2] - qb[2]), far = apart + arm_a;
  double linear = scale[1] + scale[4];
  double turn = arm_a * scale[0] * (scale[0] + 2 * scale[3]) + far * scale[3] * scale[3] +
                2 * scale[3] * linear;
  // Joints with a length also turn across their direction. The term is (1/L) (J't)(J't)', which is
  // infinite if the anchors coincide.
  if ((s2_joint_kind(joint->type)->parts & S2_HAS_LENGTH) != 0) {
    S2JointRow row;
    s2_measure_length(at, &row, NULL);
    double across = arm_a * scale[0] + arm_b * scale[3] + linear;
    turn += across * across / row.value; // infinite if the anchors coincide
  }
  return h * h * force * turn;
}

double s2_joint_turns_too_fast(const S2Step *step, const S2JointAt *at, const S2JointLoad *load,
                               double h, double least) {
  const S2WorldDef *def = &step->world->kept.def;
  const S2Joint *joint = at->joint;
  const double *mass[2] = {joint->a == S2_NONE ? NULL : step->mass + 3 * joint->a,
                           joint->b == S2_NONE ? NULL : step->mass + 3 * joint->b};
  // Test cheap bounds first: bounds for hinges and sliders, a bound for all joint types, then the
  // eigenvalues.
  bool rigid = s2_joint_is_rigid(joint);
  bool slides = joint->type == S2_SLIDER && (rigid || joint->has_spring);
  if (rigid && joint->type == S2_HINGE && most_hinge_turning(at, load, mass, h) < least) {
    return 0;
  }
  if (slides && most_slider_turning(at, load, mass, h) < least) {
    return 0;
  }
  // M^-1/2; 0 for bodies that cannot move.
  double scale[6];
  for (int c = 0; c < 6; c++) {
    bool moves = mass[c / 3] != NULL && mass[c / 3][c % 3] > 0;
    scale[c] = moves ? 1 / sqrt(mass[c / 3][c % 3]) : 0;
  }
  if (most_turning(at, load, scale, h) < least) {
    return 0;
  }
  return fastest_turning(at, load, s2_joint_blend(def, h), scale, least);
}

// Returns (h w)^2 for the impulses of the last step if the world's settings cannot resolve such an
// oscillation and if the value is above `least`. Otherwise returns 0.
static double turned_too_fast(const S2Step *step, int32_t slot, const S2Rot *turn, double least) {
  const S2World *world = step->world;
  const S2WorldDef *def = &world->kept.def;
  const S2Joint *joint = &world->joints.at[slot];
  // Implicit Euler with geometric stiffness is stable for steps of any length.
  bool implicit = def->beta == 1 && def->geometric_stiffness != S2_GEOMETRIC_OFF;
  if (implicit || !(joint->reaction_time > 0) || s2_joint_is_wide(joint)) {
    return 0;
  }
  S2JointAt at = {world, joint, step->q0, step->t - world->kept.time, turn};
  S2JointLoad load = last_load(joint);
  return s2_joint_turns_too_fast(step, &at, &load, step->h, least);
}

// Returns the joint of the island with the largest impulses in the last step.
static int32_t most_loaded(const S2Step *step, const S2Island *island) {
  double most = -1;
  int32_t found = island->joint[0];
  for (int i = 0; i < island->joints; i++) {
    const double *impulse = step->world->joints.at[island->joint[i]].impulse;
    double sum = 0;
    for (int r = 0; r <= S2_JOINT_HI; r++) {
      sum += fabs(impulse[r]);
    }
    found = sum > most ? island->joint[i] : found;
    most = fmax(most, sum);
  }
  return found;
}

// Sets the largest value of all joints, or the first value above `most`.
static void find_turning(const S2Step *step, S2Island *island, double most) {
  const S2Rot *turn = s2_step_turns(step, island, step->q0);
  // Smaller values do not matter, and a bound suffices to exclude them. So begin with a large
  // value.
  double large = turned_too_fast(step, most_loaded(step, island), turn, S2_TURNS_TOO_FAST);
  island->turning = large <= most ? large : 0;
  for (int i = 0; i < island->joints && island->turning <= most; i++) {
    double least = fmax(S2_TURNS_TOO_FAST, island->turning);
    island->turning = fmax(island->turning, turned_too_fast(step, island->joint[i], turn, least));
  }
}

void s2_island_stiffen(S2Step *step, const S2Island *island) {
  // Mark all joints and bodies of the island.
  for (int i = 0; i < island->joints; i++) {
    step->stiff[island->joint[i]] = true;
  }
  for (int i = 0; i < island->nodes; i++) {
    step->ahead[island->node[i]] = true;
  }
  step->world->stats.stiffened += 1;
}

void s2_step_find_stiff(S2Step *step) {
  memset(step->ahead, 0, sizeof(bool) * (size_t)step->world->bodies.count);
  for (int k = 0; k < step->island_count; k++) {
    S2Island *island = &step->islands[k];
    for (int i = 0; i < island->joints; i++) {
      step->stiff[island->joint[i]] = false;
    }
    // The two-stage flow can split the step into a limited number of pieces. (After an impact, the
    // impulses of the last step are no measure of the forces.)
    bool splits = island->joints > 0 && s2_island_takes_pieces(step, island);
    double most = splits ? S2_TURNS_TOO_FAST * S2_RATTLE_PIECES * S2_RATTLE_PIECES : 0;
    // A single joint whose force turns too fast makes its whole island implicit.
    island->turning = 0;
    if (island->joints > 0) {
      find_turning(step, island, most);
    }
    if (island->turning > most) {
      s2_island_stiffen(step, island);
    }
  }
}
