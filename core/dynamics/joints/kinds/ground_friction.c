// Ground friction: dry friction of a body on the plane of a world seen from above. Torque and force
// have separate bounds: |torque| <= max_torque and |force| <= max_force. The second bound is a
// disc.
//
// The disc becomes two boxed rows, along and across p, the body's momentum without ground friction.
// The force on a sliding body is F p/|p|. The row across p describes the first-order change of this
// force: when p turns, the force changes by F/|p| times the component of p across. In the row, this
// change is a compliance: the remaining speed divided by F h. Solving the island again with rows
// along the new p is therefore a Newton step for the disc. At the solution, the force across p is
// zero. A body that stops has two boxed rows without compliance. They are correct if the force is
// inside the disc.
#include "dynamics/joints/rows.h"

static int ground_friction_equations(const S2JointAt *at, S2JointRow rows[S2_JOINT_EQUATIONS]) {
  (void)at;
  (void)rows;
  return 0;
}

static void ground_friction_hessians(const S2JointAt *at,
                                     S2JointHessian hessians[S2_JOINT_EQUATIONS]) {
  (void)at;
  for (int i = 0; i < S2_JOINT_EQUATIONS; i++) {
    hessians[i] = (S2JointHessian){0};
  }
}

void s2_ground_friction_rows(const S2Joint *joint, const S2GroundState *state, S2GroundRows *rows) {
  // Take the first direction along the momentum, or any direction if the momentum is zero.
  double size = s2_length(state->momentum), most = joint->max_force * state->h;
  S2Vec2 along = size > 0 ? s2_scale(1 / size, state->momentum) : s2_vec2(1, 0);
  S2Vec2 across = s2_left(along);
  // The compliance of the row across the motion is (|p| - F h)/(m F h), the remaining speed divided
  // by F h.
  double slides = most > 0 ? fmax(size - most, 0) / (state->mass * most) : 0;
  rows->row[0] = (S2JointRow){.ja = {1, 0, 0}};
  rows->row[1] = (S2JointRow){.ja = {0, along.x, along.y}};
  rows->row[2] = (S2JointRow){.ja = {0, across.x, across.y}};
  rows->bound[0] = joint->max_torque * state->h;
  rows->bound[1] = most;
  rows->bound[2] = state->last ? S2_GROUND_ASKEW * most : most;
  rows->compliance[0] = rows->compliance[1] = 0;
  rows->compliance[2] = slides;
}

// Returns true if the rows of one body reproduce the force of the disc. `most`: radius of the disc,
// N s.
static bool ground_fits(double along, double across, double most, bool slides) {
  if (fabs(along) < (1 - S2_GROUND_ASKEW) * most) { // the body stops
    return !slides && hypot(along, across) <= most;
  }
  return fabs(across) <= S2_GROUND_ASKEW * most;
}

bool s2_step_ground_turned(S2Step *step, const S2Island *island, const S2Assembly *assembly,
                           const double *v, const double *lambda) {
  bool turned = false;
  for (int i = 0; i < island->joints; i++) {
    int32_t slot = island->joint[i];
    const S2Joint *joint = &step->world->joints.at[slot];
    if (joint->type != S2_GROUND_FRICTION || !(joint->max_force > 0)) {
      continue;
    }
    const double *now = v + 3 * step->node_of[joint->a];
    double ground[2] = {0, 0}, by_row[3] = {0};
    bool slides = false;
    for (int k = 0; k < assembly->parts; k++) {
      const S2JointPart *part = &assembly->part[k];
      if (part->joint == slot && part->row > 0) {
        ground[0] += part->push[1] * lambda[k];
        ground[1] += part->push[2] * lambda[k];
        by_row[part->row] = lambda[k];
        slides |= assembly->problem.row[k].compliance > 0;
      }
    }
    // Turn the rows and solve again if they do not reproduce the force of the disc.
    turned |= !ground_fits(by_row[1], by_row[2], joint->max_force * step->h, slides);
    // The momentum without ground friction gives the directions of the next rows.
    for (int c = 0; c < 2; c++) {
      int32_t at = 3 * joint->a + c + 1;
      double all = step->mass[at] * (now[c + 1] - step->free_v[at]);
      step->pushed[2 * slot + c] = (all - ground[c]) / step->h;
    }
  }
  return turned;
}

static S2Status ground_friction_create(const S2World *world, const S2JointDef *def,
                                       S2Joint *joint) {
  (void)world;
  const double bounds[2] = {def->max_force, def->max_torque};
  static const char *const names[2] = {"max_force", "max_torque"};
  if (joint->a == S2_NONE || joint->b != S2_NONE) {
    return s2_error(S2_INVALID, "ground friction acts on one body: give a and leave out b");
  }
  for (int i = 0; i < 2; i++) {
    if (!isfinite(bounds[i]) || !(bounds[i] >= 0)) {
      return s2_error(S2_INVALID, "%s: a finite number not below 0 expected, got %g", names[i],
                      bounds[i]);
    }
  }
  joint->max_force = bounds[0];
  joint->max_torque = bounds[1];
  return s2_ok();
}

const S2JointKind s2_ground_friction_kind = {
    .traits = {.name = "ground_friction", .keys = S2_KEYS("body", "max_force", "max_torque")},
    .fields = S2_FIELD_BIT(MAX_FORCE) | S2_FIELD_BIT(MAX_TORQUE),
    .rows = ground_friction_equations,
    .hessians = ground_friction_hessians,
    .create = ground_friction_create,
};
