// Derivative of dynamics/joints/geometric.c and of the impulse that joint_rows.c computes from it.
// K+ and K- are the positive and the negative part of the geometric stiffness. V and V0 are the
// velocities of a and b at the end and at the start of the step. The impulse on the bodies is
//
//     -h^2 alpha (K+ (beta V + (1 - beta) V0) + K- V0), without K- for "psd".
//
// The parts are taken in the coordinates (length * turn, shift), as in geometric.c.
//
// The derivative of a part of a symmetric matrix uses divided differences of its eigenvalues
// (Daleckii, Krein 1965). This avoids derivatives of eigenvectors.
#include "diff/joints/joint_vjp.h"

#include <string.h>

enum { N = 6 };

static double geometric_part_of(double x, bool positive) {
  return positive ? fmax(x, 0) : fmin(x, 0);
}

// Returns the divided difference (part(x) - part(y))/(x - y). If x = y, this is the derivative. At
// 0 it is the mean of the derivatives on both sides.
static double geometric_slope(double x, double y, double size, bool positive) {
  if (fabs(x - y) > 1e-9 * size) { // otherwise x and y have the same sign, or both are negligible
    return (geometric_part_of(x, positive) - geometric_part_of(y, positive)) / (x - y);
  }
  if (fabs(x + y) <= 1e-13 * size) { // as in geometric.c: an anchor at the centre of a body
    return 0.5;
  }
  return positive ? x + y > 0 : x + y < 0;
}

// D^-1 K D^-1 = Q diag(value) Q' with D = diag(scale). The scale is 1 for shifts and the length of
// the body for turns. A part of K is D (part of D^-1 K D^-1) D.
typedef struct Split {
  double value[N], q[N * N], size;
  double scale[N];
} Split;

static double geometric_along(const Split *split, int k, const double x[N]) {
  double sum = 0;
  for (int i = 0; i < N; i++) {
    sum += split->q[N * i + k] * x[i];
  }
  return sum;
}

// y = D^-1 (part of K) x, computed with D x.
static void geometric_scaled_part(const Split *split, bool positive, const double x[N],
                                  double y[N]) {
  double scaled[N];
  for (int i = 0; i < N; i++) {
    scaled[i] = split->scale[i] * x[i];
  }
  memset(y, 0, N * sizeof(double));
  for (int k = 0; k < N; k++) {
    double by = geometric_part_of(split->value[k], positive) * geometric_along(split, k, scaled);
    for (int i = 0; i < N; i++) {
      y[i] += split->q[N * i + k] * by;
    }
  }
}

static void geometric_times_part(const Split *split, bool positive, const double x[N],
                                 double y[N]) {
  geometric_scaled_part(split, positive, x, y);
  for (int i = 0; i < N; i++) {
    y[i] *= split->scale[i];
  }
}

// Adds to k_bar the adjoint of D^-1 K D^-1, where the adjoint of its part is D z (D w)'.
static void geometric_part_vjp(const Split *split, bool positive, const double z[N],
                               const double w[N], double k_bar[N][N]) {
  double inner[N][N], half[N][N] = {{0}}, scaled_z[N], scaled_w[N], of_z[N], of_w[N];
  for (int i = 0; i < N; i++) {
    scaled_z[i] = split->scale[i] * z[i];
    scaled_w[i] = split->scale[i] * w[i];
  }
  // Transform the adjoint to the basis of eigenvectors.
  for (int i = 0; i < N; i++) {
    of_z[i] = geometric_along(split, i, scaled_z);
    of_w[i] = geometric_along(split, i, scaled_w);
  }
  // Multiply by the divided differences, and make the result symmetric.
  for (int i = 0; i < N; i++) {
    for (int j = 0; j < N; j++) {
      double of = of_z[i] * of_w[j] + of_z[j] * of_w[i];
      inner[i][j] =
          of / 2 * geometric_slope(split->value[i], split->value[j], split->size, positive);
    }
  }
  // Transform back: Q inner Q'.
  for (int i = 0; i < N; i++) {
    for (int j = 0; j < N; j++) {
      for (int k = 0; k < N; k++) {
        half[i][j] += split->q[N * i + k] * inner[k][j];
      }
    }
  }
  for (int i = 0; i < N; i++) {
    for (int j = 0; j < N; j++) {
      for (int k = 0; k < N; k++) {
        k_bar[i][j] += half[i][k] * split->q[N * j + k];
      }
    }
  }
}

// Adds to d_bar the adjoint of D in z' D (part of D^-1 K D^-1) D w, where the part counts as
// constant.
static void geometric_scale_vjp(const Split *split, bool positive, const double z[N],
                                const double w[N], double d_bar[N]) {
  double of_z[N], of_w[N];
  geometric_scaled_part(split, positive, z, of_z);
  geometric_scaled_part(split, positive, w, of_w);
  for (int i = 0; i < N; i++) {
    d_bar[i] += z[i] * of_w[i] + w[i] * of_z[i];
  }
}

// Turns the adjoint of D^-1 K D^-1 into the adjoint of K, in place, and adds to the adjoint of D.
static void geometric_unscale_vjp(const Split *split, double k_bar[N][N], double d_bar[N]) {
  for (int i = 0; i < N; i++) {
    for (int j = 0; j < N; j++) {
      double scaled = 0;
      for (int k = 0; k < N; k++) {
        scaled += split->q[N * i + k] * split->value[k] * split->q[N * j + k];
      }
      d_bar[i] -= k_bar[i][j] * scaled / split->scale[i];
      d_bar[j] -= k_bar[i][j] * scaled / split->scale[j];
    }
  }
  for (int i = 0; i < N; i++) {
    for (int j = 0; j < N; j++) {
      k_bar[i][j] /= split->scale[i] * split->scale[j];
    }
  }
}

// A length is sqrt(I/m) of the body on that side, or of the other body if that body has no mass.
static void geometric_lengths_vjp(const S2JointUndo *undo, const double d_bar[N]) {
  const S2Joint *joint = undo->joint;
  const int32_t slot[2] = {joint->a, joint->b};
  for (int side = 0; side < 2; side++) {
    double length = s2_joint_turning_length(undo->at.world, slot[side]);
    double other = s2_joint_turning_length(undo->at.world, slot[1 - side]);
    double bar = d_bar[3 * side] + (other > 0 ? 0 : d_bar[3 - 3 * side]);
    if (length > 0) {
      const S2Body *body = &undo->at.world->bodies.at[slot[side]];
      S2BodyGradient *g = &undo->bar->gradient->body[slot[side]];
      g->inertia += bar * length / (2 * body->inertia);
      g->mass -= bar * length / (2 * body->mass);
    }
  }
}

typedef struct Terms { // K = -sum impulse/time Hess
  int count;
  int function[S2_JOINT_EQUATIONS + 1];
  double impulse[S2_JOINT_EQUATIONS + 1];
  S2JointHessian hessian[S2_JOINT_EQUATIONS + 1];
  S2SoftRow soft[S2_JOINT_EQUATIONS];
  bool moves[2];
} Terms;

static void geometric_find_terms(const S2JointUndo *undo, Terms *terms) {
  const S2Joint *joint = undo->joint;
  const S2JointKind *kind = s2_joint_kind(joint->type);
  S2JointRow rows[S2_JOINT_EQUATIONS];
  // Find each equation's impulse, summed over the rows that contain the equation.
  int count = s2_joint_rows(&undo->at, rows);
  s2_joint_hessians(&undo->at, terms->hessian);
  s2_joint_speeds(joint, undo->step->v0, rows, count);
  s2_joint_soften(joint, rows, count, undo->blend, terms->soft);
  for (int r = 0; r < count; r++) {
    terms->function[r] = r;
    terms->impulse[r] = 0;
    for (int k = 0; k < count; k++) {
      terms->impulse[r] += joint->impulse[k] * terms->soft[k].mix[r];
    }
  }
  // Add the coordinate if it was at a limit.
  double limit = joint->impulse[S2_JOINT_LO] - joint->impulse[S2_JOINT_HI];
  if (limit != 0 && kind->coordinate != NULL) {
    kind->coordinate(&undo->at, &rows[0], &terms->hessian[count]);
    terms->function[count] = S2_OF_COORDINATE;
    terms->impulse[count++] = limit;
  }
  terms->count = count;
  // A static body does not move.
  for (int side = 0; side < 2; side++) {
    int32_t slot = side == 0 ? joint->a : joint->b;
    terms->moves[side] = slot != S2_NONE && undo->at.world->bodies.at[slot].type != S2_STATIC;
  }
}

static Split geometric_split_of(const S2JointUndo *undo, const Terms *terms) {
  Split split = {.size = 0, .scale = {1, 1, 1, 1, 1, 1}};
  double k[N * N] = {0}, length[2];
  s2_joint_turning_lengths(&undo->at, length);
  split.scale[0] = length[0];
  split.scale[3] = length[1];
  for (int r = 0; r < terms->count; r++) {
    for (int i = 0; i < N * N; i++) {
      bool both = terms->moves[i / 18] && terms->moves[i % 6 / 3];
      k[i] -=
          both ? terms->impulse[r] / undo->joint->reaction_time * terms->hessian[r].at[i / 6][i % 6]
               : 0;
    }
  }
  for (int i = 0; i < N * N; i++) {
    k[i] /= split.scale[i / N] * split.scale[i % N];
  }
  s2_joint_eigen(N, k, split.value, split.q);
  for (int i = 0; i < N; i++) {
    split.size = fmax(split.size, fabs(split.value[i]));
  }
  return split;
}

// Passes the adjoint of K on to the Hessians and to the impulses of the last step.
static void geometric_terms_vjp(S2JointUndo *undo, const Terms *terms, double k_bar[N][N]) {
  const S2Joint *joint = undo->joint;
  S2JointGradient *g = undo->gradient;
  double time = joint->reaction_time;
  for (int r = 0; r < terms->count; r++) {
    S2RowBar bar = {.bent = true};
    double impulse_bar = 0;
    // K = -sum impulse/time Hess
    for (int i = 0; i < N * N; i++) {
      if (terms->moves[i / 18] && terms->moves[i % 6 / 3]) {
        bar.hessian.at[i / 6][i % 6] = -terms->impulse[r] / time * k_bar[i / 6][i % 6];
        impulse_bar -= k_bar[i / 6][i % 6] * terms->hessian[r].at[i / 6][i % 6] / time;
      }
    }
    // Adjoints of the duration of the last step and of its impulses.
    g->reaction_time -= impulse_bar * terms->impulse[r] / time;
    if (terms->function[r] == S2_OF_COORDINATE) {
      g->impulse[S2_JOINT_LO] += impulse_bar;
      g->impulse[S2_JOINT_HI] -= impulse_bar;
    } else {
      for (int k = 0; k < terms->count && k < S2_JOINT_EQUATIONS; k++) {
        bool equation = terms->function[k] != S2_OF_COORDINATE;
        g->impulse[k] += equation ? terms->soft[k].mix[r] * impulse_bar : 0;
      }
    }
    // These adjoints lead to the third derivatives of the constraint function.
    s2_joint_function_vjp(&undo->at, terms->function[r], &bar, &undo->place);
  }
}

// Adds the adjoint of the reaction to the adjoint of the momenta. The reaction is the impulse on a,
// about its anchor.
static void geometric_add_reaction(const S2JointUndo *undo, double z[N]) {
  if (undo->rows->reaction == NULL) {
    return;
  }
  const double *reaction = undo->rows->reaction + 3 * undo->slot;
  S2Vec2 arm = s2_joint_arm(undo), from;
  if (s2_joint_geometric_ground(&undo->at, &from)) { // the opposite of the impulse on b
    z[3] -= reaction[0];
    z[4] += reaction[0] * from.y - reaction[1];
    z[5] -= reaction[0] * from.x + reaction[2];
    return;
  }
  z[0] += reaction[0];
  z[1] += reaction[1] + reaction[0] * arm.y;
  z[2] += reaction[2] - reaction[0] * arm.x;
}

// The impulses `push` act on a, with their moment about the anchor of a. Passes the adjoint of that
// moment on to the position of the anchor. If a is ground, the centre of b also gets an adjoint.
static void geometric_arm_vjp(S2JointUndo *undo, const double push[N]) {
  int32_t a = undo->joint->a, b = undo->joint->b;
  S2Vec2 from, force = s2_vec2(push[4], push[5]);
  if (!s2_joint_geometric_ground(&undo->at, &from)) {
    s2_joint_arm_vjp(undo, s2_vec2(push[1], push[2]));
    return;
  }
  double torque = undo->rows->reaction == NULL ? 0 : undo->rows->reaction[3 * undo->slot];
  S2Vec2 bar = s2_scale(torque, s2_left(force)), local = s2_scale(-1, bar); // adjoint of the anchor
  undo->place.q[3 * b + 1] += bar.x;
  undo->place.q[3 * b + 2] += bar.y;
  if (a != S2_NONE) {
    undo->place.q[3 * a] += s2_dot(s2_left(s2_joint_arm(undo)), local);
    undo->place.q[3 * a + 1] -= bar.x;
    undo->place.q[3 * a + 2] -= bar.y;
    local = s2_unrotate(s2_rot(undo->at.q[3 * a]), local);
  }
  undo->gradient->local_a = s2_add(undo->gradient->local_a, local);
}

void s2_joint_geometric_vjp(S2JointUndo *undo) {
  const S2Step *step = undo->step;
  const S2Joint *joint = undo->joint;
  if (s2_step_geometric(step, undo->slot) == S2_GEOMETRIC_OFF || undo->kind != S2_SOLVE_MOTION ||
      !(joint->reaction_time > 0)) {
    return;
  }
  S2WorldDef def = s2_step_settings(step, undo->slot);
  // K and its positive and negative parts, as in the solve.
  Terms terms;
  geometric_find_terms(undo, &terms);
  Split split = geometric_split_of(undo, &terms);
  if (split.size == 0) { // zero forces give K = 0, but a small change of the forces gives another K
    split.size = 1;
  }
  bool whole = def.geometric_stiffness != S2_GEOMETRIC_PSD;
  double h = step->h, alpha = def.alpha, beta = def.beta;
  // The products of the momenta z with K+ and K-, each with its factor.
  double z[S2_JOINT_COLUMNS], v[S2_JOINT_COLUMNS], v0[S2_JOINT_COLUMNS], mean[N], up[N], down[N],
      k_bar[N][N] = {{0}}, d_bar[N] = {0};
  s2_joint_momenta_bar(undo, z);
  geometric_add_reaction(undo, z);
  s2_joint_velocities(undo, v);
  s2_joint_start(undo, v0);
  geometric_times_part(&split, true, z, up);
  geometric_times_part(&split, false, z, down);
  double along_mean = 0, along_more = 0, along_down = 0;
  for (int i = 0; i < N; i++) {
    mean[i] = beta * v[i] + (1 - beta) * v0[i];
    along_mean += up[i] * mean[i];
    along_more += up[i] * (v[i] - v0[i]);
    along_down += whole ? down[i] * v0[i] : 0;
  }
  // Adjoints of the initial velocities and of moving ground.
  double by = -h * h * alpha;
  for (int i = 0; i < N; i++) {
    double *start = s2_joint_number(joint, undo->bar->v0, i);
    double *given = s2_joint_number(joint, undo->bar->free_v, i);
    int32_t slot = i < 3 ? joint->a : joint->b;
    if (slot == S2_NONE) {
      continue;
    }
    *start += by * ((1 - beta) * up[i] + (whole ? down[i] : 0));
    *given += step->node_of[slot] == S2_GROUND ? by * beta * up[i] : 0;
  }
  // Adjoints of the settings.
  undo->bar->h += -2 * h * alpha * (along_mean + along_down);
  if (!step->stiff[undo->slot]) { // stiff joints do not use the world's alpha and beta
    undo->bar->gradient->alpha += -h * h * (along_mean + along_down);
    undo->bar->gradient->beta += by * along_more;
  }
  // The impulse itself. The adjoint of the reaction's moment needs it.
  for (int i = 0; i < N; i++) {
    mean[i] *= by;
    v0[i] *= by;
  }
  double push[N], still[N];
  geometric_times_part(&split, true, mean, push);
  geometric_times_part(&split, false, v0, still);
  for (int i = 0; i < N; i++) {
    push[i] += whole ? still[i] : 0;
  }
  geometric_arm_vjp(undo, push);
  // The adjoint of K comes from both parts. Pass it on to the terms of K.
  geometric_part_vjp(&split, true, z, mean, k_bar);
  geometric_scale_vjp(&split, true, z, mean, d_bar);
  if (whole) {
    geometric_part_vjp(&split, false, z, v0, k_bar);
    geometric_scale_vjp(&split, false, z, v0, d_bar);
  }
  geometric_unscale_vjp(&split, k_bar, d_bar);
  geometric_lengths_vjp(undo, d_bar);
  geometric_terms_vjp(undo, &terms, k_bar);
}
