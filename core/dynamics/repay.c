// What projection lifts is paid for. A step in which contacts took energy may lift bodies by as
// much; what is beyond that is taken from the velocities, so that no step brings energy that
// nobody gave. Event stepping keeps its own account (its flow takes none).
#include "dynamics/notes.h"

#include <string.h>

void s2_island_account(const S2Step *step, S2Island *island, const double *pressed) {
  S2ArenaMark mark = s2_arena_mark(step->arena);
  double *v2 = S2_TAKE(step->arena, double, 3 * island->nodes);
  double *struck = s2_step_contact_impulses(step, island);
  for (int i = 0; i < S2_TOUCH_IMPULSES * island->touches; i++) {
    struck[i] -= pressed[i];
  }
  for (int i = 0; i < island->nodes; i++) {
    memcpy(v2 + 3 * i, step->v2 + 3 * island->node[i], 3 * sizeof(double));
  }
  S2BlowEnergy energy = s2_blow_energy(step, island, pressed, struck, v2);
  island->room = energy.room - energy.linear - energy.square;
  s2_arena_rewind(step->arena, mark);
}

// Adds the velocity that a body would have if it rode on `ground`; false: nothing is there.
static bool ride_on(const S2Step *step, int32_t ground, int32_t slot, double ride[3]) {
  if (ground == S2_NONE || step->node_of[ground] != S2_GROUND) {
    return false;
  }
  const double *v = step->free_v + 3 * ground, *at = step->q1 + 3 * ground;
  const double *q = step->q1 + 3 * slot;
  ride[0] += v[0];
  ride[1] += v[1] - v[0] * (q[2] - at[2]);
  ride[2] += v[2] + v[0] * (q[1] - at[1]);
  return true;
}

// The mean over what holds the island, by joints or contacts that press; false: it floats.
static bool ride_of(const S2Step *step, const S2Island *island, int32_t slot, double ride[3]) {
  int count = 0;
  memset(ride, 0, 3 * sizeof(double));
  for (int i = 0; i < island->touches; i++) {
    const S2Touch *touch = &step->touches[island->touch[i]];
    bool holds = false;
    for (int k = 0; k < touch->count; k++) {
      holds |= touch->points[k].normal_impulse > 0 ||
               touch->points[k].at.gap <= S2_TOUCH_SLOP * island->length;
    }
    count += holds && ride_on(step, touch->body_a, slot, ride);
    count += holds && ride_on(step, touch->body_b, slot, ride);
  }
  for (int i = 0; i < island->joints; i++) {
    const S2Joint *joint = &step->world->joints.at[island->joint[i]];
    bool world = joint->a == S2_NONE || joint->b == S2_NONE; // which stands still
    count += world + ride_on(step, joint->a, slot, ride) + ride_on(step, joint->b, slot, ride);
  }
  for (int c = 0; c < 3 && count > 0; c++) {
    ride[c] /= count;
  }
  return count > 0;
}

void s2_island_repay(S2Step *step, const S2Island *island, const double *q, const double *v) {
  double excess = -island->room;
  for (int i = 0; i < 3 * island->nodes; i++) {
    int at = 3 * island->node[i / 3] + i % 3;
    const S2Body *body = &step->world->bodies.at[island->node[i / 3]];
    double inertial = i % 3 == 0 ? body->inertia : body->mass, v2 = step->v2[at];
    excess -= step->force[at] * (step->q1[at] - q[i]);
    excess += inertial * (v2 - v[i]) * (v2 + v[i]) / 2;
  }
  if (!(excess > 0)) {
    return;
  }
  S2ArenaMark mark = s2_arena_mark(step->arena);
  double *now = S2_TAKE(step->arena, double, 3 * island->nodes);
  double *ride = S2_TAKE_ZEROED(step->arena, double, 3 * island->nodes);
  bool held = true;
  for (int i = 0; i < island->nodes && held; i++) {
    held = ride_of(step, island, island->node[i], ride + 3 * i);
  }
  for (int i = 0; i < 3 * island->nodes; i++) {
    now[i] = step->v2[3 * island->node[i / 3] + i % 3] - ride[i];
  }
  double kinetic = s2_island_kinetic(step, island, now), most = fmax(0, kinetic - excess);
  if (held) {
    // Turns of what pivots are as much its motion as that of its centre.
    double part = kinetic > 0 ? sqrt(most / kinetic) : 0;
    for (int i = 0; i < 3 * island->nodes; i++) {
      now[i] = ride[i] + part * now[i];
    }
  } else {
    s2_island_cap(step, island, most, now); // its momentum is its own
  }
  s2_note_slow(step, island, kinetic > 0 ? sqrt(most / kinetic) : 0);
  for (int i = 0; i < island->nodes; i++) {
    double *v2 = step->v2 + 3 * island->node[i];
    const double dv[3] = {now[3 * i] - v2[0], now[3 * i + 1] - v2[1], now[3 * i + 2] - v2[2]};
    s2_step_correct(step, island->node[i], dv, 1);
    memcpy(v2, now + 3 * i, 3 * sizeof(double));
  }
  s2_arena_rewind(step->arena, mark);
}
