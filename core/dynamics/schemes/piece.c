// One piece of an island's step in event stepping.
// Starts the piece, and computes the motion of its bodies without new impacts.
#include "dynamics/project/passage.h"
#include "dynamics/project/spin.h"
#include "dynamics/schemes/event.h"
#include "dynamics/step/forces.h"
#include "dynamics/step/solve.h"

#include <string.h>

void s2_event_forget_impulses(const S2EventRun *event) {
  s2_step_scale_contacts(event->step, event->island, 0);
  s2_step_scale_joints(event->step, event->island, 0);
}

static void place_ground(const S2EventRun *event, int32_t slot) {
  const S2Step *step = event->step;
  if (slot != S2_NONE && step->node_of[slot] == S2_GROUND) {
    for (int c = 3 * slot; c < 3 * slot + 3; c++) {
      double v = step->free_v[c]; // 0 if the body does not move
      step->q0[c] = event->q_start[c] + event->done * v;
      step->v0[c] = step->v1[c] = step->v2[c] = v;
    }
    s2_step_carry(step, slot);
    // pieces of the two-stage flow start with the prescribed velocity
    if (event->rattles && event->done == 0) {
      memcpy(step->v0 + 3 * slot, step->given_start + 3 * slot, 3 * sizeof(double));
    }
  }
}

static void set_ground(const S2EventRun *event, int32_t slot, const double *v) {
  const S2Step *step = event->step;
  bool ground = slot != S2_NONE && step->node_of[slot] == S2_GROUND;
  for (int c = 3 * slot; ground && c < 3 * slot + 3; c++) {
    step->free_v[c] = step->v1[c] = step->v2[c] = v[c];
  }
}

// An impact at the start of the step uses the initial velocity of kinematic bodies and locks, not
// the mean velocity.
void s2_event_set_ground(const S2EventRun *event, bool striking) {
  const S2Step *step = event->step;
  const S2Island *island = event->island;
  const double *v = striking ? step->given_start : event->v_start;
  if (!event->rattles || event->done != 0) {
    return;
  }
  for (int i = 0; i < island->touches; i++) {
    const S2Touch *touch = &step->touches[island->touch[i]];
    set_ground(event, touch->body_a, v);
    set_ground(event, touch->body_b, v);
  }
  for (int i = 0; i < island->joints; i++) {
    const S2Joint *joint = &step->world->joints.at[island->joint[i]];
    const int32_t body[4] = {joint->a, joint->b, joint->more[0], joint->more[1]};
    for (int k = 0; k < 4; k++) {
      set_ground(event, body[k], v);
    }
    if (joint->driven) {
      step->world->drives.at[island->joint[i]].strikes = striking;
    }
  }
}

// Places the ground bodies of this island at the start and the end of the piece. Other islands have
// moved them to the times of other pieces.
void s2_event_place_ground(const S2EventRun *event) {
  const S2Step *step = event->step;
  if (step->threaded) {
    return;
  }
  for (int i = 0; i < event->island->touches; i++) {
    const S2Touch *touch = &step->touches[event->island->touch[i]];
    place_ground(event, touch->body_a);
    place_ground(event, touch->body_b);
  }
  for (int i = 0; i < event->island->joints; i++) {
    const S2Joint *joint = &step->world->joints.at[event->island->joint[i]];
    place_ground(event, joint->a);
    place_ground(event, joint->b);
    place_ground(event, joint->more[0]);
    place_ground(event, joint->more[1]);
  }
}

// Starts a piece of length `h`.
void s2_event_set_piece(const S2EventRun *event, double h) {
  S2Step *step = event->step;
  step->h = h;
  step->t = step->world->kept.time + event->done;
  for (int i = 0; i < event->island->nodes; i++) {
    s2_step_free_body(step, event->island->node[i]);
  }
}

void s2_event_copy_nodes(const S2EventRun *event, const double *from, double *to) {
  for (int i = 0; i < event->island->nodes; i++) {
    int32_t at = 3 * event->island->node[i];
    memcpy(to + at, from + at, 3 * sizeof(double));
  }
}

// Returns true if smooth derivatives omit a contact. They include contacts through their rows, but
// an upcoming impact has no row here, only a time.
static bool leaves_out(const S2EventRun *event, bool rows) {
  bool some = false;
  for (int i = 0; i < event->island->touches; i++) {
    int32_t index = event->island->touch[i];
    for (int k = 0; k < event->step->touches[index].count; k++) {
      some |= !rows || !event->choices[2 * index + k].use;
    }
  }
  return some;
}

// Computes v1 and q1 after the time `h` by the two-stage flow.
static bool piece_rattle(S2EventRun *event, double h) {
  S2LawFrame frame = {event->q_start, event->v_start, event->free_start, event->done};
  bool least = h * S2_TURN_PIECES <= event->left;
  event->flow.frees = event->arrived < S2_RATTLE_MEETINGS;
  bool going =
      s2_rattle_flow(event->step, event->island, event->choices, &frame, h, least, &event->flow);
  event->flow.failed |= !event->flow.solved;
  return going;
}

// Computes v1 and q1 after the time `h`.
bool s2_event_flow(S2EventRun *event, double h, bool rows) {
  S2Step *step = event->step;
  const S2Island *island = event->island;
  s2_event_set_piece(event, h);
  s2_note_set_out(step, island, leaves_out(event, rows));
  s2_event_place_ground(event);
  if (event->rattled) { // the two-stage flow needs neither projection nor balance
    return piece_rattle(event, h);
  }
  // Solve if there are rows. Otherwise the bodies move freely.
  if (rows) {
    if (!s2_step_solve(step, island, event->choices, S2_SOLVE_MOTION, step->v1, NULL)) {
      return false;
    }
    s2_island_balance(step, island);
  } else {
    s2_note_island(step, island, S2_ACT_FLY, NULL);
    s2_event_copy_nodes(event, step->free_v, step->v1);
    s2_event_forget_impulses(event);
  }
  for (int i = 0; i < island->nodes; i++) {
    s2_step_carry(step, island->node[i]);
  }
  return true;
}

void s2_event_put_touches(const S2EventRun *event, const S2Touch *from) {
  for (int i = 0; i < event->island->touches; i++) {
    event->step->touches[event->island->touch[i]] = from[i];
  }
}
