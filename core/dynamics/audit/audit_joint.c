// Checks that the velocities at the end of a step satisfy the rigid joints, up to the tolerance of
// the step.
#include "dynamics/audit/audit.h"
#include "dynamics/joints/joint.h"

enum { ROWS = S2_JOINT_EQUATIONS + 1 };

typedef struct Against {
  double speed;   // m/s or rad/s: largest speed along a row
  double energy;  // J: energy that an inelastic impact along the rows would remove
  double kinetic; // J: kinetic energy of the bodies that the joint moves
  double slow;    // J: kinetic energy of bodies that move by the length tolerance in a step
} Against;

static double row_dot(const S2World *world, const S2Joint *joint, const S2JointRow *a,
                      const S2JointRow *b) {
  const int32_t slot[2] = {joint->a, joint->b};
  double sum = 0;
  for (int k = 0; k < 2; k++) {
    const S2Body *body = slot[k] == S2_NONE ? NULL : &world->bodies.at[slot[k]];
    const double *x = k == 0 ? a->ja : a->jb, *y = k == 0 ? b->ja : b->jb;
    for (int c = 0; body != NULL && s2_body_moves(body) && c < 3; c++) {
      sum += x[c] * y[c] / (c == 0 ? body->inertia : body->mass);
    }
  }
  return sum;
}

static double row_speed(const S2World *world, const S2Joint *joint, const S2JointRow *row) {
  const int32_t slot[2] = {joint->a, joint->b};
  double speed = row->rate;
  for (int k = 0; k < 2; k++) {
    const double *gradient = k == 0 ? row->ja : row->jb;
    for (int c = 0; slot[k] != S2_NONE && c < 3; c++) {
      speed += gradient[c] * world->v.at[3 * slot[k] + c];
    }
  }
  return speed;
}

static void joint_kinetic(const S2World *world, const S2Joint *joint, double h, Against *against) {
  const int32_t slot[2] = {joint->a, joint->b};
  for (int k = 0; k < 2; k++) {
    const S2Body *body = slot[k] == S2_NONE ? NULL : &world->bodies.at[slot[k]];
    for (int c = 0; body != NULL && s2_body_moves(body) && c < 3; c++) {
      double v = world->v.at[3 * slot[k] + c];
      against->kinetic += (c == 0 ? body->inertia : body->mass) * v * v / 2;
    }
    double still = body == NULL ? 0 : S2_AUDIT_LENGTH * body->reach / h;
    against->slow += body != NULL && s2_body_moves(body) ? body->mass * still * still : 0;
  }
}

// Computes the violation by Gram-Schmidt orthogonalisation, row by row. A row that depends on
// earlier rows contributes nothing.
static Against joint_against(const S2World *world, const S2Joint *joint, const S2JointRow *rows,
                             int count, double h) {
  // A row counts as independent if more than this fraction of its squared length remains.
  const double INDEPENDENT = 1e-9;
  double l[ROWS][ROWS], z[ROWS];
  Against against = {0};
  joint_kinetic(world, joint, h, &against);
  for (int i = 0; i < count; i++) {
    double u = row_speed(world, joint, &rows[i]), rest = u;
    against.speed = fmax(against.speed, fabs(u));
    for (int k = 0; k <= i; k++) {
      double sum = row_dot(world, joint, &rows[i], &rows[k]), whole = sum;
      for (int m = 0; m < k; m++) {
        sum -= l[i][m] * l[k][m];
      }
      l[i][k] =
          k < i ? (l[k][k] > 0 ? sum / l[k][k] : 0) : (sum > INDEPENDENT * whole ? sqrt(sum) : 0);
      rest -= k < i ? l[i][k] * z[k] : 0;
    }
    z[i] = l[i][i] > 0 ? rest / l[i][i] : 0;
    against.energy += z[i] * z[i] / 2;
  }
  return against;
}

// Returns true if a function of time moves a body of the joint. Such a body has the mean velocity
// of the step, not the velocity at its end. In the two-stage flow, driven locks count, too, because
// they have the velocity at the end of the step.
static bool follows_a_motion(const S2World *world, const S2Joint *joint) {
  const S2Body *bodies = world->bodies.at;
  return (joint->driven && s2_world_rattles(&world->kept.def)) ||
         (joint->a != S2_NONE && bodies[joint->a].has_motion) ||
         (joint->b != S2_NONE && bodies[joint->b].has_motion);
}

void s2_audit_joints(S2World *world, S2Auditor *audit) {
  for (int i = 0; i < world->joint_order.count; i++) {
    int32_t slot = world->joint_order.at[i];
    const S2Joint *joint = &world->joints.at[slot];
    if (!s2_joint_active(world, joint) || s2_joint_may_hold(joint) || s2_joint_is_wide(joint) ||
        follows_a_motion(world, joint)) {
      continue;
    }
    S2JointError error;
    s2_joint_error(&(S2JointAt){world, joint, world->q.at, 0, NULL}, 1, &error);
    Against against = joint_against(world, joint, error.rows, error.count, audit->h);
    world->residuals.audit.drift = fmax(world->residuals.audit.drift, against.speed);
    if (against.energy > S2_AUDIT_DRIFT * against.kinetic + against.slow) {
      s2_audit_find(world, &world->stats.audit.drifts, joint->a != S2_NONE ? joint->a : joint->b,
                    joint->a != S2_NONE ? joint->b : S2_NONE, audit->h,
                    "velocities that violate the joint have %.3g J (kinetic energy %.3g J)",
                    against.energy, against.kinetic);
    }
  }
}
