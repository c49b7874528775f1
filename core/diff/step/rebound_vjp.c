// Blows with restitution from the velocities of a motion (speculative.c), backwards.
#include "diff/step/undo.h"

#include <string.h>

// Targets of a blow: e times the speed of arrival.
static void targets_vjp(S2Undo *undo, int index) {
  const S2Note *note = s2_note_at(undo->notes, index);
  for (int i = 0; i < note->of->island.touches; i++) {
    const S2Touch *touch = &undo->open.touches[i];
    S2TouchBar pair = {0};
    for (int k = 0; k < touch->count; k++) {
      double *target = &undo->more[2 * note->of->touch_index[i] + k], bar = *target;
      *target = 0;
      if (bar != 0) {
        S2PointBar point = {0};
        pair.restitution += bar * s2_arrival_vjp(undo, touch, k, bar * touch->restitution, &point);
        s2_undo_point(undo, index, i, k, &point);
      }
    }
    s2_touch_material_vjp(undo->world, touch, &pair, undo->gradient);
  }
}

// Adjoints of what joints give to the motion and the blow, put aside or taken up again.
static void exchange_joints(S2Undo *undo, const S2Note *note) {
  for (int i = 0; i < note->of->island.joints; i++) {
    int32_t slot = note->of->island.joint[i];
    for (int r = S2_JOINT_ROWS * slot; r < S2_JOINT_ROWS * (slot + 1); r++) {
      double bar = undo->bar.joint_impulse[r];
      undo->bar.joint_impulse[r] = undo->waiting_impulse[r];
      undo->waiting_impulse[r] = bar;
    }
    for (int c = 3 * slot; c < 3 * slot + 3; c++) {
      double bar = undo->bar.joint_reaction[c];
      undo->bar.joint_reaction[c] = undo->waiting_reaction[c];
      undo->waiting_reaction[c] = bar;
    }
  }
}

void s2_undo_recall(S2Undo *undo, const S2Note *note) {
  s2_undo_forget_joints(undo, note);
  exchange_joints(undo, note);
}

void s2_undo_rebound(S2Undo *undo, int index) {
  const S2Note *note = s2_note_at(undo->notes, index);
  targets_vjp(undo, index);
  if (!s2_undo_kept_impulses(undo, note)) {
    exchange_joints(undo, note);
  }
  if (undo->in_piece) { // else islands are undone side by side (S2_ACT_SLOW comes after all blows)
    memset(undo->struck, 0, sizeof(double) * S2_TOUCH_IMPULSES * (size_t)undo->touches);
  }
}

// ---- The energy of a blow ---------------------------------------------------------------------

typedef struct Keep {
  S2Undo *undo;
  int index;
  double room, linear; // adjoints of S2ImpactEnergy
  const double *pressed, *struck;
} Keep;

// Of the impulses at a point times its speeds before the blow.
static void point_vjp(const Keep *keep, int i, int k, S2TouchBar *pair) {
  S2Undo *undo = keep->undo;
  const S2Touch *touch = &undo->open.touches[i];
  const double *v1 = undo->step.v1;
  S2Vec2 n = touch->points[k].at.normal, t = s2_left(n), t_bar = {0};
  S2PointBar point = {0};
  int from = S2_TOUCH_IMPULSES * i + 2 * k;
  int at = 2 * s2_note_at(undo->notes, keep->index)->of->touch_index[i] + k;
  double across = s2_touch_velocity(touch, k, n, v1);
  double along = s2_touch_velocity(touch, k, t, v1) - touch->surface_speed;
  double by = keep->linear * keep->struck[from] - keep->room * keep->pressed[from];
  double rub = keep->linear * keep->struck[from + 1] - keep->room * keep->pressed[from + 1];
  if (keep->pressed[from] != 0 || keep->pressed[from + 1] != 0) { // else no row takes it up
    undo->pushed[at] -= keep->room * across;
    undo->rubbed[at] -= keep->room * along;
  }
  undo->struck[2 * at] += keep->linear * across;
  undo->struck[2 * at + 1] += keep->linear * along;
  s2_touch_velocity_vjp(touch, k, n, v1, by, undo->bar.v1, &point, &point.normal);
  s2_touch_velocity_vjp(touch, k, t, v1, rub, undo->bar.v1, &point, &t_bar);
  pair->surface_speed -= rub;
  point.normal = s2_add(point.normal, s2_right(t_bar));
  s2_undo_point(undo, keep->index, i, k, &point);
}

// Impulses of the blow were made smaller, too: dl/d(part), and the adjoints of what they were.
static double part_of_impulses(S2Undo *undo, const S2Note *note, const double *struck) {
  double part_bar = 0;
  for (int i = 0; i < S2_TOUCH_IMPULSES * note->of->island.touches; i++) {
    int touch = i / S2_TOUCH_IMPULSES;
    double *bar =
        &undo->struck[S2_TOUCH_IMPULSES * note->of->touch_index[touch] + i % S2_TOUCH_IMPULSES];
    part_bar += *bar * struck[i];
    *bar *= note->part;
  }
  return part_bar;
}

// v2 = v1 + part (v2 - v1) with linear part + square part^2 = room (impact.c).
void s2_undo_keep(S2Undo *undo, int index) {
  const S2Note *note = s2_note_at(undo->notes, index);
  const S2Island *island = &note->of->island;
  const double *pressed = note->of->lambda;
  const double *struck = pressed + S2_TOUCH_IMPULSES * island->touches;
  S2StepAdjoint *bar = &undo->bar;
  S2Step *step = &undo->step;
  double part = note->part, part_bar = part_of_impulses(undo, note, struck);
  S2ImpactEnergy energy =
      s2_impact_energy(step, undo->open.touches, island, pressed, struck, note->before);
  for (int i = 0; i < 3 * island->nodes; i++) {
    int at = 3 * island->node[i / 3] + i % 3;
    part_bar += bar->v2[at] * (note->before[i] - step->v1[at]);
  }
  part_bar += s2_undo_keep_impulses(undo, note, struck);
  double to =
      part > 0 && energy.room > 0 ? part_bar / (energy.linear + 2 * energy.square * part) : 0;
  Keep keep = {undo, index, to, -part * to, pressed, struck};
  for (int i = 0; i < island->touches; i++) {
    S2TouchBar pair = {0};
    const S2Touch *touch = &undo->open.touches[i];
    for (int k = 0; k < touch->count && !s2_touch_soft(touch); k++) {
      point_vjp(&keep, i, k, &pair);
    }
    s2_touch_material_vjp(undo->world, touch, &pair, undo->gradient);
    // Drag along the surface is no friction row.
    undo->gradient->flags |= touch->viscosity > 0 ? S2_GRADIENT_PARTIAL : 0;
  }
  for (int i = 0; i < 3 * island->nodes; i++) {
    int32_t slot = island->node[i / 3];
    int at = 3 * slot + i % 3;
    const S2Body *body = &undo->world->bodies.at[slot];
    S2BodyGradient *g = &undo->gradient->body[slot];
    double inertial = i % 3 == 0 ? body->inertia : body->mass;
    double stopped = step->v1[at] - step->v0[at], thrown = note->before[i] - step->v1[at];
    double thrown_bar = part * (bar->v2[at] - to * part * inertial * thrown);
    double stopped_bar = to * inertial * stopped;
    bar->v1[at] += bar->v2[at] - thrown_bar + stopped_bar;
    bar->v0[at] -= stopped_bar;
    bar->v2[at] = thrown_bar;
    *(i % 3 == 0 ? &g->inertia : &g->mass) +=
        to * (stopped * stopped - part * part * thrown * thrown) / 2;
    step->v2[at] = note->before[i];
  }
}
