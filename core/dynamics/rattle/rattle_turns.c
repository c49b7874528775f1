// Is a piece of the flow by two stages too long for what turns in it?
#include "dynamics/rattle/rattle.h"
#include "dynamics/rattle/rattle_numbers.h"

#include <math.h>

static const double TURN = S2_RATTLE_TURN;

// Bodies, and the directions along which rows push: rods between bodies turn, too.
bool s2_rattle_turns_too_far(const S2Rattle *rattle) {
  bool far = false;
  for (int r = 0; r < rattle->rows; r++) {
    const double *from = rattle->at0.side[r].b, *to = rattle->at1.side[r].b;
    double x = to[1] - from[1], y = to[2] - from[2];
    double size = from[1] * from[1] + from[2] * from[2];
    far |= rattle->l[r] != 0 && x * x + y * y > TURN * TURN * (1 + 1e-9) * size;
    far |= rattle->l[r] != 0 && s2_rattle_arm_runs(rattle, r) > TURN * rattle->island->length;
  }
  for (int i = 0; i < rattle->nodes; i++) {
    far |= fabs(rattle->h * rattle->u[3 * i]) > TURN * (1 + 1e-9);
  }
  return far;
}

// Do the forces that stage 1 found turn too fast for the piece? They are explicit in it, and those
// of the last step, which the number of pieces is from, may have been none. Second derivatives of
// what a script constrains are too dear for that.
bool s2_rattle_loads_turn(const S2Rattle *rattle) {
  const S2World *world = rattle->step->world;
  for (int i = 0; i < rattle->island->joints; i++) {
    const S2Joint *joint = &world->joints.at[rattle->island->joint[i]];
    double impulse[S2_JOINT_ROWS];
    bool acts = false;
    for (int k = 0; k < S2_JOINT_ROWS; k++) {
      int r = rattle->row_of[i][k];
      impulse[k] = r < 0 ? 0 : rattle->l[r];
      acts |= impulse[k] != 0;
    }
    bool known = (s2_joint_kind(joint->type)->parts & S2_HAS_OTHERS) == 0;
    S2JointAt at = {world, joint, rattle->q1, rattle->done + rattle->h, NULL, NULL};
    S2JointLoad load = {impulse, rattle->h / 2};
    if (acts && known && !s2_joint_is_wide(joint) &&
        s2_joint_turns_too_fast(rattle->step, &at, &load, rattle->h, S2_RATTLE_SWINGS) > 0) {
      return true;
    }
  }
  return false;
}
