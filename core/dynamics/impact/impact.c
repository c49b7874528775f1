// Impacts that follow the first impact within the same step. For example, an impact may drive a
// body into a contact that was opening, or a ball may bounce between two walls.
#include "dynamics/joints/rows.h"
#include "dynamics/step/acted.h"
#include "dynamics/step/islands.h"
#include "dynamics/step/solve.h"
#include "dynamics/trace/notes.h"

#include <string.h>

// m/s: the largest approach speed of touching contacts at v2.
static double impact_approach(const S2Step *step, const S2Island *island, const bool *touching) {
  double worst = 0;
  for (int i = 0; i < island->touches; i++) {
    const S2Touch *touch = &step->touches[island->touch[i]];
    for (int k = 0; k < touch->count; k++) {
      if (touching[2 * island->touch[i] + k]) {
        worst = fmax(worst, -s2_touch_velocity(touch, k, touch->points[k].at.normal, step->v2));
      }
    }
  }
  return worst;
}

// m/s: the largest velocity change of a body by the forces of this step.
static double force_speed(const S2Step *step, const S2Island *island) {
  double speed = 0;
  for (int i = 0; i < island->nodes; i++) {
    const double *v0 = step->v0 + 3 * island->node[i], *free_v = step->free_v + 3 * island->node[i];
    speed = fmax(speed, hypot(free_v[1] - v0[1], free_v[2] - v0[2]));
  }
  return speed;
}

S2JointImpulses s2_step_take_joints(S2Step *step, const S2Island *island) {
  S2JointImpulses kept = {
      .row = S2_TAKE(step->arena, double, S2_JOINT_ROWS * island->joints),
      .reaction = S2_TAKE(step->arena, double, 3 * island->joints),
  };
  for (int i = 0; i < island->joints; i++) {
    int32_t slot = island->joint[i];
    memcpy(kept.row + S2_JOINT_ROWS * i, step->joint_impulse + S2_JOINT_ROWS * slot,
           sizeof(double) * S2_JOINT_ROWS);
    memcpy(kept.reaction + 3 * i, step->joint_reaction + 3 * slot, 3 * sizeof(double));
  }
  s2_step_scale_joints(step, island, 0);
  return kept;
}

void s2_step_put_joints(S2Step *step, const S2Island *island, const S2JointImpulses *kept) {
  for (int i = 0; i < island->joints; i++) {
    int32_t slot = island->joint[i];
    memcpy(step->joint_impulse + S2_JOINT_ROWS * slot, kept->row + S2_JOINT_ROWS * i,
           sizeof(double) * S2_JOINT_ROWS);
    memcpy(step->joint_reaction + 3 * slot, kept->reaction + 3 * i, 3 * sizeof(double));
  }
}

bool s2_step_before_impact(S2Step *step, const S2Island *island, bool recalled) {
  s2_note_island(step, island, recalled ? S2_ACT_RECALL : S2_ACT_RESTART, step->v2);
  for (int i = 0; i < island->nodes; i++) {
    int32_t at = 3 * island->node[i];
    memcpy(step->v2 + at, step->v0 + at, 3 * sizeof(double));
  }
  if (island->joints == 0) {
    return true;
  }
  S2ArenaMark mark = s2_arena_mark(step->arena);
  S2Choice *joints_only = S2_TAKE_ZEROED(step->arena, S2Choice, 2 * step->touch_count);
  bool going = s2_step_solve(step, island, joints_only, S2_SOLVE_IMPACT, step->v2, NULL);
  s2_arena_rewind(step->arena, mark);
  return going;
}

double *s2_step_contact_impulses(const S2Step *step, const S2Island *island) {
  double *of = S2_TAKE_ZEROED(step->arena, double, S2_TOUCH_IMPULSES * island->touches);
  for (int i = 0; i < island->touches; i++) {
    const S2Touch *touch = &step->touches[island->touch[i]];
    for (int k = 0; k < touch->count; k++) {
      of[S2_TOUCH_IMPULSES * i + 2 * k] = touch->points[k].normal_impulse;
      of[S2_TOUCH_IMPULSES * i + 2 * k + 1] = touch->points[k].tangent_impulse;
    }
  }
  return of;
}

S2ImpactEnergy s2_impact_energy(const S2Step *step, const S2Touch *touches, const S2Island *island,
                                const double *pressed, const double *struck, const double *v2) {
  S2ImpactEnergy energy = {0};
  // Compute the terms 1/2 dv'M dv of the stop (v0 to v1) and of the rebound (v1 to v2).
  for (int i = 0; i < island->nodes; i++) {
    const S2Body *body = &step->world->bodies.at[island->node[i]];
    const double inertial[3] = {body->inertia, body->mass, body->mass};
    for (int c = 0; c < 3; c++) {
      int at = 3 * island->node[i] + c;
      double stopped = step->v1[at] - step->v0[at], thrown = v2[3 * i + c] - step->v1[at];
      energy.room += inertial[c] * stopped * stopped / 2;
      energy.square += inertial[c] * thrown * thrown / 2;
    }
  }
  // Add the work of contact impulses at v1, the velocities between stop and rebound.
  for (int i = 0; i < island->touches; i++) {
    const S2Touch *touch = &touches[island->touch[i]];
    for (int k = 0; k < touch->count && !s2_touch_soft(touch); k++) {
      S2Vec2 n = touch->points[k].at.normal;
      double across = s2_touch_velocity(touch, k, n, step->v1);
      double along = s2_touch_velocity(touch, k, s2_left(n), step->v1) - touch->surface_speed;
      const double *by = pressed + S2_TOUCH_IMPULSES * i + 2 * k;
      const double *then = struck + S2_TOUCH_IMPULSES * i + 2 * k;
      energy.room -= by[0] * across + by[1] * along;
      energy.linear += then[0] * across + then[1] * along;
    }
  }
  return energy;
}

void s2_step_keep_energy(S2Step *step, const S2Island *island, const double *pressed,
                         const S2JointImpulses *held) {
  S2ArenaMark mark = s2_arena_mark(step->arena);
  double *v2 = S2_TAKE(step->arena, double, 3 * island->nodes);
  double *struck = s2_step_contact_impulses(step, island);
  for (int i = 0; i < S2_TOUCH_IMPULSES * island->touches; i++) {
    struck[i] -= pressed[i];
  }
  for (int i = 0; i < island->nodes; i++) {
    memcpy(v2 + 3 * i, step->v2 + 3 * island->node[i], 3 * sizeof(double));
  }
  // Find the largest fraction s with linear s + square s^2 <= room.
  S2ImpactEnergy energy = s2_impact_energy(step, step->touches, island, pressed, struck, v2);
  double b = energy.linear, a = energy.square, room = fmax(energy.room, 0);
  if (!(a > 0) || a + b <= room * (1 + S2_KEEP_ROUNDING)) {
    s2_arena_rewind(step->arena, mark);
    return;
  }
  double root = sqrt(b * b + 4 * a * room);
  // The root s of linear s + square s^2 = room.
  double fraction = b > 0 ? 2 * room / (b + root) : (root - b) / (2 * a);
  s2_note_keep(step, island, fraction, pressed, struck, held);
  // v2 = v1 + s (v2 - v1). The contact and joint impulses of the impact are scaled by the same
  // fraction.
  for (int i = 0; i < 3 * island->nodes; i++) {
    int32_t at = 3 * island->node[i / 3] + i % 3;
    step->v2[at] = step->v1[at] + fraction * (v2[i] - step->v1[at]);
  }
  s2_step_scale_contacts(step, island, fraction);
  s2_step_scale_joints(step, island, fraction);
  for (int i = 0; i < 2 * island->touches; i++) {
    S2TouchPoint *point = &step->touches[island->touch[i / 2]].points[i % 2];
    point->normal_impulse += (1 - fraction) * pressed[2 * i];
    point->tangent_impulse += (1 - fraction) * pressed[2 * i + 1];
  }
  for (int i = 0; i < island->joints; i++) {
    int32_t slot = island->joint[i];
    for (int r = 0; r < S2_JOINT_ROWS; r++) {
      step->joint_impulse[S2_JOINT_ROWS * slot + r] +=
          (1 - fraction) * held->row[S2_JOINT_ROWS * i + r];
    }
    for (int c = 0; c < 3; c++) {
      step->joint_reaction[3 * slot + c] += (1 - fraction) * held->reaction[3 * i + c];
    }
  }
  s2_arena_rewind(step->arena, mark);
}

bool s2_step_later_impacts(S2Step *step, const S2Island *island, S2Choice *choices,
                           const bool *touching, double part) {
  double tiny = s2_island_rest_speed(step, island), slow = force_speed(step, island);
  for (int pass = 1; pass <= S2_IMPACT_PASSES; pass++) {
    double worst = impact_approach(step, island, touching);
    if (worst <= tiny) {
      break;
    }
    // Stop all contacts by one inelastic solve if they approach no faster than the forces of a step
    // explain, or if the sequence of impacts does not end.
    bool last = pass == S2_IMPACT_PASSES || worst <= slow || step->hurries;
    for (int i = 0; i < island->touches; i++) {
      int32_t index = island->touch[i];
      const S2Touch *touch = &step->touches[index];
      for (int k = 0; k < touch->count; k++) {
        double u = s2_touch_velocity(touch, k, touch->points[k].at.normal, step->v2);
        choices[2 * index + k] = (S2Choice){
            .use = touching[2 * index + k] && (last || u <= tiny),
            .bias = last ? 0 : part * (touch->restitution * fmin(0, u)),
            .target = last || u >= 0 ? S2_TARGET_FIXED : S2_TARGET_APPROACH,
        };
      }
    }
    step->world->stats.second_solves += 1;
    if (!s2_step_impact(step, island, choices, S2_SOLVE_IMPACT)) {
      return false;
    }
    if (last) {
      break;
    }
  }
  return true;
}

bool s2_step_impact(S2Step *step, const S2Island *island, S2Choice *choices, S2SolveKind kind) {
  bool bounces = false;
  for (int i = 0; i < island->touches; i++) {
    const S2Touch *touch = &step->touches[island->touch[i]];
    for (int k = 0; k < touch->count; k++) {
      bounces |= choices[2 * island->touch[i] + k].bias < 0;
    }
  }
  // This solve may fail, because restitution targets may contradict each other.
  if (bounces) {
    S2SolveStatus outcome = S2_SOLVED;
    if (!s2_step_solve(step, island, choices, kind, step->v2, &outcome)) {
      return false;
    }
    if (outcome == S2_SOLVED) {
      return true;
    }
    step->world->stats.contradictions += outcome == S2_INFEASIBLE;
    step->world->stats.unsolved_impacts += outcome != S2_INFEASIBLE;
  }
  for (int i = 0; i < island->touches; i++) {
    for (int k = 0; k < 2; k++) {
      S2Choice *choice = &choices[2 * island->touch[i] + k];
      choice->bias = 0;
      // The derivative with respect to e needs the target even if e = 0.
      choice->target = bounces ? S2_TARGET_FIXED : choice->target;
    }
  }
  return s2_step_solve(step, island, choices, kind, step->v2, NULL);
}
