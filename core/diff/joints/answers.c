// Derivatives through the values that user callbacks returned for joints (diff/joints/answers.h).
#include "diff/joints/answers.h"

#include <string.h>

const S2Answer *s2_answer_of(const S2Answers *answers, S2Asked asked, int32_t slot, double t,
                             const double q[S2_JOINT_COLUMNS]) {
  S2Answer like = {.asked = asked, .slot = slot, .t = t};
  memcpy(like.q, q, sizeof like.q);
  return s2_notes_answer(answers->notes, &like);
}

void s2_answer_origin_vjp(const S2Answers *answers, uint32_t origin, double bar) {
  if (origin != 0 && answers->gradient->tape != NULL) {
    *s2_tape_adjoint(answers->gradient->tape, origin) += bar;
  }
}

typedef struct Back { // the user data of s2_constraint_back
  const S2JointAt *at;
  const S2PlaceBar *to;
} Back;

static void answer_number_vjp(void *user, S2Asked asked, const double q[S2_JOINT_COLUMNS], double t,
                              int number, double bar) {
  const Back *back = user;
  const S2World *world = back->at->world;
  const S2Joint *joint = back->at->joint;
  const S2Answers *answers = world->callbacks.user;
  const S2Answer *answer = s2_answer_of(answers, asked, (int32_t)(joint - world->joints.at), t, q);
  if (answer == NULL) {
    world->memos.at[joint - world->joints.at].world->refused =
        s2_error(S2_INVALID, "a callback of the program has no recorded result (this is a bug)");
    return;
  }
  // Add to the adjoint of the poses, which were arguments of the call.
  const S2Slope *slope = &answer->slope[number];
  const int32_t slots[S2_JOINT_BODIES] = {joint->a, joint->b, joint->more[0], joint->more[1]};
  for (int i = 0; i < S2_JOINT_COLUMNS; i++) {
    int32_t slot = slots[i / 3];
    if (slot != S2_NONE) {
      back->to->q[3 * slot + i % 3] += bar * slope->by[i];
    }
  }
  // The callback was called at `begun` + `elapsed` + a multiple of dt. In event stepping an
  // interval may begin within a substep, so this multiple need not be an integer.
  double by_time = bar * slope->by[S2_JOINT_COLUMNS], now = world->kept.time + back->at->elapsed;
  *back->to->elapsed += by_time;
  answers->gradient->time += by_time;
  answers->gradient->dt +=
      by_time * (world->kept.time - answers->begun + t - now) / world->kept.def.dt;
  s2_answer_origin_vjp(answers, slope->origin, bar);
}

void s2_answer_constraint_vjp(const S2JointAt *at, int row, const S2RowBar *bar,
                              const S2PlaceBar *to) {
  S2ConstraintBar its = {.value = bar->value, .rate = bar->rate};
  Back back = {at, to};
  memcpy(its.j, bar->ja, sizeof bar->ja);
  memcpy(its.j + 3, bar->jb, sizeof bar->jb);
  memcpy(its.j + 6, bar->more, sizeof bar->more);
  // Constraints of more than two bodies use the Hessian only for the bend v' Hess v.
  double bent[S2_JOINT_COLUMNS][S2_JOINT_COLUMNS];
  bool wide = s2_joint_is_wide(at->joint);
  for (int i = 0; i < S2_JOINT_COLUMNS * S2_JOINT_COLUMNS && bar->bent; i++) {
    int from = i / S2_JOINT_COLUMNS, column = i % S2_JOINT_COLUMNS;
    bool first = !wide && from < 6 && column < 6;
    bent[from][column] = wide    ? bar->bend * bar->along[from] * bar->along[column]
                         : first ? bar->hessian.at[from][column]
                                 : 0;
  }
  its.hessian = bar->bent ? (const double(*)[S2_JOINT_COLUMNS])bent : NULL;
  const S2WorldDef *def = &at->world->kept.def;
  to->gradient->dt += s2_constraint_back(at, row, &its, answer_number_vjp, &back) / def->substeps;
}

double s2_answer_pull_vjp(const S2World *world, int32_t slot, double extension, double force_bar,
                          double tangent_bar) {
  const S2Answers *answers = world->callbacks.user;
  const double q[S2_JOINT_COLUMNS] = {extension}, bar[2] = {force_bar, tangent_bar};
  const S2Answer *answer = s2_answer_of(answers, S2_ASKED_PULL, slot, 0, q);
  double sum = 0;
  for (int i = 0; i < 2 && answer != NULL; i++) {
    sum += bar[i] * answer->slope[i].by[0];
    s2_answer_origin_vjp(answers, answer->slope[i].origin, bar[i]);
  }
  return sum; // never NULL, because assembling the spring again has used the answer
}

void s2_answer_lock_vjp(const S2JointAt *at, int which, double since, double goal_bar,
                        double rate_bar) {
  const S2World *world = at->world;
  const S2Answers *answers = world->callbacks.user;
  int32_t slot = (int32_t)(at->joint - world->joints.at);
  const S2Drive *drive = &world->drives.at[slot];
  answers->goal[3 * slot + which] += goal_bar;
  answers->rate[3 * slot + which] += since * goal_bar;
  (drive->strikes ? answers->begin : answers->rate)[3 * slot + which] += rate_bar;
  double rate = drive->rate[which];
  answers->gradient->dt += goal_bar * rate * since / world->kept.def.dt;
}
