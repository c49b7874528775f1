// Gear: couples the coordinates of two joints, c_a + ratio c_b = constant. A gear between hinges
// may move up to four bodies (wide_rows.c). With other joints, at most two of the bodies may be
// non-static, because such a row acts on only two bodies.
#include "dynamics/joints/joint.h"

#include <string.h>

static const S2JointKind *gear_joint_at(const S2JointAt *at, int32_t slot, S2JointAt *of) {
  *of = (S2JointAt){at->world, &at->world->joints.at[slot], at->q, at->elapsed, NULL};
  return s2_joint_kind(of->joint->type);
}

void s2_gear_columns(const S2Joint *gear, const S2Joint *of, int column[2]) {
  const int32_t slots[2] = {of->a, of->b};
  for (int side = 0; side < 2; side++) {
    column[side] = slots[side] == S2_NONE         ? -1
                   : slots[side] == gear->a       ? 0
                   : slots[side] == gear->b       ? 3
                   : slots[side] == gear->more[0] ? S2_GEAR_MORE
                   : slots[side] == gear->more[1] ? S2_GEAR_MORE + 1
                                                  : -1;
  }
}

static void gear_add(const S2JointAt *at, int32_t slot, double factor, S2JointRow *row,
                     S2JointHessian *hessian) {
  S2JointAt of;
  S2JointRow its;
  S2JointHessian bent;
  int column[2];
  // Get the coordinate of one of the coupled joints, and the columns of that joint's bodies in the
  // gear's row.
  gear_joint_at(at, slot, &of)->coordinate(&of, &its, hessian == NULL ? NULL : &bent);
  s2_gear_columns(at->joint, of.joint, column);
  row->value += factor * its.value;
  for (int i = 0; i < 6; i++) {
    int to = column[i / 3] + i % 3;
    if (column[i / 3] < 0) {
      continue;
    }
    // The column of a hinge's angle has no second derivatives.
    if (column[i / 3] >= S2_GEAR_MORE) {
      row->more[column[i / 3] - S2_GEAR_MORE][0] +=
          i % 3 > 0 ? 0 : factor * (i < 3 ? its.ja[0] : its.jb[0]);
      continue;
    }
    // Add the gradient and the second derivatives to the columns of the same bodies in the gear's
    // row.
    *(to < 3 ? &row->ja[to] : &row->jb[to - 3]) += factor * (i < 3 ? its.ja[i] : its.jb[i - 3]);
    for (int j = 0; j < 6 && hessian != NULL; j++) {
      if (column[j / 3] >= 0 && column[j / 3] < S2_GEAR_MORE) {
        hessian->at[to][column[j / 3] + j % 3] += factor * bent.at[i][j];
      }
    }
  }
}

static int gear_equations(const S2JointAt *at, S2JointRow rows[S2_JOINT_EQUATIONS]) {
  rows[0] = (S2JointRow){.value = -at->joint->sum};
  gear_add(at, at->joint->joint_a, 1, &rows[0], NULL);
  gear_add(at, at->joint->joint_b, at->joint->ratio, &rows[0], NULL);
  return 1;
}

static void gear_hessians(const S2JointAt *at, S2JointHessian hessians[S2_JOINT_EQUATIONS]) {
  S2JointRow row = {0};
  hessians[0] = (S2JointHessian){0};
  gear_add(at, at->joint->joint_a, 1, &row, &hessians[0]);
  gear_add(at, at->joint->joint_b, at->joint->ratio, &row, &hessians[0]);
}

// Finds the bodies of the gear: the non-static bodies of its joints.
static S2Status gear_find_bodies(const S2World *world, S2Joint *gear, bool hinges) {
  // List each body once, in the order of the joints. Static bodies have no column.
  int32_t *const at[4] = {&gear->a, &gear->b, &gear->more[0], &gear->more[1]};
  int count = 0;
  for (int i = 0; i < 4; i++) {
    const S2Joint *of = &world->joints.at[i < 2 ? gear->joint_a : gear->joint_b];
    int32_t slot = i % 2 == 0 ? of->a : of->b;
    bool known = slot == S2_NONE || world->bodies.at[slot].type == S2_STATIC;
    for (int k = 0; k < count; k++) {
      known |= *at[k] == slot;
    }
    if (!known) {
      *at[count++] = slot;
    }
  }
  // If more than two bodies move, the row must be rigid and act only on angles, so that wide_rows.c
  // can split it.
  if (count > 2 && !hinges) {
    return s2_error(S2_INVALID,
                    "a gear can move more than two bodies only if it couples two hinges, but the "
                    "joints of this gear have %d bodies that are not static; for a gripper, "
                    "replace the sliders by parallelograms of hinges",
                    count);
  }
  if (count > 2 &&
      (gear->compliance.linear > 0 || gear->compliance.angular > 0 || gear->compliance.size > 0)) {
    return s2_error(S2_INVALID,
                    "compliance: does not apply to a gear that moves more than two bodies");
  }
  return s2_ok();
}

static S2Status gear_create(const S2World *world, const S2JointDef *def, S2Joint *joint) {
  const S2JointId ids[2] = {def->joint_a, def->joint_b};
  static const char *const names[2] = {"joint_a", "joint_b"};
  bool hinges = true;
  int32_t *slots[2] = {&joint->joint_a, &joint->joint_b};
  // Both joints must exist and have a coordinate that is a smooth function of two poses.
  for (int i = 0; i < 2; i++) {
    if (!s2_joint_alive(world, ids[i])) {
      return s2_error(S2_STALE, "%s: %s", names[i],
                      ids[i].index == 0 ? "a joint expected" : "the joint is destroyed");
    }
    *slots[i] = (int32_t)ids[i].index - 1;
    const S2JointKind *kind = s2_joint_kind(world->joints.at[*slots[i]].type);
    if (kind->coordinate == NULL || (kind->parts & S2_HAS_OTHERS) != 0) {
      return s2_error(S2_INVALID, "%s: a hinge, slider, spring, rope or wheel expected, got a %s",
                      names[i], kind->traits.name);
    }
    hinges &= kind == &s2_hinge_kind;
  }
  if (joint->joint_a == joint->joint_b) {
    return s2_error(S2_INVALID, "a gear needs two different joints, got the same joint twice");
  }
  if (!isfinite(def->ratio) || def->ratio == 0) {
    return s2_error(S2_INVALID, "ratio: a finite number other than 0 expected, got %g", def->ratio);
  }
  joint->ratio = def->ratio;
  // Find the bodies and the present sum, which the gear holds constant.
  S2_TRY(gear_find_bodies(world, joint, hinges));
  S2JointRow row[S2_JOINT_EQUATIONS];
  gear_equations(&(S2JointAt){world, joint, world->q.at, 0, NULL}, row);
  joint->sum = row[0].value;
  return s2_ok();
}

const S2JointKind s2_gear_kind = {
    .traits = {.name = "gear",
               .keys =
                   S2_KEYS("joint_a", "joint_b", "ratio", "compliance", "damping", "stabilization"),
               .span = S2_SPAN_FAINT},
    .parts = S2_HAS_COMPLIANCE | S2_HAS_OTHERS,
    .fields = S2_FIELD_BIT(RATIO),
    .rows = gear_equations,
    .hessians = gear_hessians,
    .create = gear_create,
};
