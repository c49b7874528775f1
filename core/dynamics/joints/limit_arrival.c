// Computes the arrival of joints at their limits within a step, and the rebound speed that
// restitution requires.
#include "dynamics/joints/rows.h"
#include "dynamics/step/islands.h"

S2LimitArrival s2_limit_arrival(const S2Step *step, const S2Island *island, int32_t slot,
                                int index) {
  const S2Joint *joint = &step->world->joints.at[slot];
  S2LimitArrival arrival = {.sign = index == S2_JOINT_LO ? 1 : -1};
  double limit = index == S2_JOINT_LO ? joint->limit_lo : joint->limit_hi, h = step->h;
  bool pushed = step->joint_impulse[S2_JOINT_ROWS * slot + index] > 0;
  if (!pushed || !(joint->limit_lo < joint->limit_hi) || s2_joint_soft_stop(joint)) {
    return arrival;
  }
  S2JointRow *row = &arrival.row;
  S2JointAt at = {step->world, joint, step->q0, step->t - step->world->kept.time, NULL};
  s2_joint_kind(joint->type)->coordinate(&at, row, NULL);
  arrival.distance = arrival.sign * (row->value - limit);
  s2_joint_speeds(joint, step->free_v, row, 1);
  arrival.free_speed = arrival.sign * row->speed;
  s2_joint_speeds(joint, step->v0, row, 1);
  arrival.speed = arrival.sign * row->speed;
  // Until the arrival, speed^2 grows by 2 a d for an acceleration a and a distance d.
  double change = arrival.free_speed - arrival.speed;
  double gain = -2 * change / h * fmax(arrival.distance, 0);
  arrival.arrival = arrival.speed < 0 ? sqrt(fmax(arrival.speed * arrival.speed + gain, 0)) : 0;
  double length = s2_joint_row_angular(row) ? island->length : 1;
  double tiny = s2_island_rest_speed(step, island) / length;
  arrival.rebounds = joint->restitution * arrival.arrival > fmax(fabs(change) / 2, tiny);
  return arrival;
}

bool s2_limit_struck(const S2Step *step, const S2Island *island, int32_t slot, int index) {
  S2LimitArrival arrival = s2_limit_arrival(step, island, slot, index);
  double change = arrival.free_speed - arrival.speed;
  double length = s2_joint_row_angular(&arrival.row) ? island->length : 1;
  double tiny = s2_island_rest_speed(step, island) / length;
  return !s2_limit_touches(island, &arrival.row, arrival.distance) &&
         arrival.speed < -fabs(change) / 2 - tiny;
}

double s2_limit_target(const S2Step *step, const S2Island *island, int32_t slot, int index) {
  S2LimitArrival arrival = s2_limit_arrival(step, island, slot, index);
  return arrival.rebounds ? step->world->joints.at[slot].restitution * arrival.arrival : 0;
}

bool s2_step_limit_rebounds(const S2Step *step, const S2Island *island) {
  bool any = false;
  for (int i = 0; i < island->joints && !any; i++) {
    int32_t slot = island->joint[i];
    any = s2_limit_arrival(step, island, slot, S2_JOINT_LO).rebounds ||
          s2_limit_arrival(step, island, slot, S2_JOINT_HI).rebounds;
  }
  return any;
}

bool s2_step_limit_arrives(const S2Step *step, const S2Island *island) {
  double tiny = s2_island_rest_speed(step, island), elapsed = step->t - step->world->kept.time;
  for (int i = 0; i < island->joints; i++) {
    int32_t slot = island->joint[i];
    const S2Joint *joint = &step->world->joints.at[slot];
    // Consider only rigid limits with lo < hi that have pushed.
    const double *impulse = step->joint_impulse + S2_JOINT_ROWS * slot;
    bool lo = impulse[S2_JOINT_LO] > 0, hi = impulse[S2_JOINT_HI] > 0;
    if (!(lo || hi) || !(joint->limit_lo < joint->limit_hi) || s2_joint_soft_stop(joint)) {
      continue;
    }
    // Compute the initial distance, and the final speed towards the limit.
    S2JointRow start, end;
    S2JointAt at = {step->world, joint, step->q0, elapsed, NULL};
    s2_joint_kind(joint->type)->coordinate(&at, &start, NULL);
    at.q = step->q1;
    at.elapsed += step->h;
    s2_joint_kind(joint->type)->coordinate(&at, &end, NULL);
    s2_joint_speeds(joint, step->v2, &end, 1);
    double distance = lo ? start.value - joint->limit_lo : joint->limit_hi - start.value;
    double approach =
        (lo ? -end.speed : end.speed) * (s2_joint_row_angular(&end) ? island->length : 1);
    // The coordinate arrived within the step if it did not touch the limit at the start but still
    // approaches it at the end.
    if (!s2_limit_touches(island, &start, distance) && approach > tiny) {
      return true;
    }
  }
  return s2_step_limit_rebounds(step, island);
}
