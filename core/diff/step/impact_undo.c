// Derivatives of impacts: restitution after a motion (speculative.c, impact.c), and reflections
// (reflect.c).
#include "diff/step/undo.h"

#include <string.h>

// The target of an impact is e times the speed of arrival.
static void impact_targets_vjp(S2Undo *undo, const S2Note *note) {
  for (int i = 0; i < note->of->island.touches; i++) {
    const S2Touch *touch = &undo->open.touches[i];
    S2TouchBar pair = {0};
    for (int k = 0; k < touch->count; k++) {
      double *target = &undo->more[2 * note->of->touch_index[i] + k], bar = *target;
      *target = 0;
      if (bar != 0) {
        // target = e arrival
        S2PointBar point = {0};
        pair.restitution += bar * s2_arrival_vjp(undo, touch, k, bar * touch->restitution, &point);
        s2_undo_point(undo, i, k, &point);
      }
    }
    s2_touch_material_vjp(undo->world, touch, &pair, undo->gradient);
  }
}

// Swaps the adjoints of joint impulses in the motion with those in the impact.
static void impact_exchange_joints(S2Undo *undo, const S2Note *note) {
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

// Reverses the assignment of another velocity to v2 of the island's nodes. `from` is the adjoint of
// that velocity.
static void impact_put_back(S2Undo *undo, const S2Note *note, double *from) {
  s2_undo_move_nodes(note, undo->bar.v2, from);
  s2_undo_put_nodes(note, note->plain.before, undo->step.v2);
}

// No law of restitution uses the joint impulses of the first solve.
void s2_undo_restart(S2Undo *undo, const S2Note *note) {
  s2_undo_forget_joints(undo, note);
  impact_put_back(undo, note, undo->bar.v0);
}

void s2_undo_recall(S2Undo *undo, const S2Note *note) {
  s2_undo_forget_joints(undo, note);
  impact_exchange_joints(undo, note);
  impact_put_back(undo, note, undo->bar.v0);
}

void s2_undo_rebound(S2Undo *undo, const S2Note *note) {
  impact_put_back(undo, note, undo->bar.v1);
  impact_targets_vjp(undo, note);
  if (!s2_undo_kept_impulses(undo, note)) {
    impact_exchange_joints(undo, note);
  }
  // otherwise, islands are swept together (SLOW follows all impacts)
  if (undo->in_interval) {
    memset(undo->struck, 0, sizeof(double) * S2_TOUCH_IMPULSES * (size_t)undo->touches);
  }
}

// ---- The energy of an impact --------------------------------------------------------------------

typedef struct Keep {
  S2Undo *undo;
  const S2Note *note;
  double room, linear; // adjoints of S2ImpactEnergy
  const double *pressed, *struck;
} Keep;

// Differentiates the work at a contact point: impulses times the speeds before the impact.
static void impact_point_vjp(const Keep *keep, int i, int k, S2TouchBar *pair) {
  S2Undo *undo = keep->undo;
  const S2Touch *touch = &undo->open.touches[i];
  const double *v1 = undo->step.v1;
  S2Vec2 n = touch->points[k].at.normal, t = s2_left(n), t_bar = {0};
  S2PointBar point = {0};
  int from = S2_TOUCH_IMPULSES * i + 2 * k;
  int at = 2 * keep->note->of->touch_index[i] + k;
  // Speeds of the point before the impact. They are multiplied by -pressed in `room`, and by struck
  // in `linear`.
  double across = s2_touch_velocity(touch, k, n, v1);
  double along = s2_touch_velocity(touch, k, t, v1) - touch->surface_speed;
  double by = keep->linear * keep->struck[from] - keep->room * keep->pressed[from];
  double drag = keep->linear * keep->struck[from + 1] - keep->room * keep->pressed[from + 1];
  // a point without an impulse in the motion has no row there
  if (keep->pressed[from] != 0 || keep->pressed[from + 1] != 0) {
    undo->pushed[at] -= keep->room * across;
    undo->dragged[at] -= keep->room * along;
  }
  undo->struck[2 * at] += keep->linear * across;
  undo->struck[2 * at + 1] += keep->linear * along;
  // Adjoints of v1 and of the position of the point.
  s2_touch_velocity_vjp(touch, k, n, v1, by, undo->bar.v1, &point, &point.normal);
  s2_touch_velocity_vjp(touch, k, t, v1, drag, undo->bar.v1, &point, &t_bar);
  pair->surface_speed -= drag;
  point.normal = s2_add(point.normal, s2_right(t_bar));
  s2_undo_point(undo, i, k, &point);
}

// All impulses of the impact were reduced by one fraction. Returns dl/d(fraction), and converts the
// adjoints to adjoints of the full impulses.
static double impact_fraction_bar(S2Undo *undo, const S2Note *note, const double *struck) {
  double fraction_bar = 0;
  for (int i = 0; i < S2_TOUCH_IMPULSES * note->of->island.touches; i++) {
    int touch = i / S2_TOUCH_IMPULSES;
    double *bar =
        &undo->struck[S2_TOUCH_IMPULSES * note->of->touch_index[touch] + i % S2_TOUCH_IMPULSES];
    fraction_bar += *bar * struck[i];
    *bar *= note->keep.fraction;
  }
  return fraction_bar;
}

// v2 = v1 + s (v2 - v1) with linear s + square s^2 = room (impact.c).
void s2_undo_keep(S2Undo *undo, const S2Note *note) {
  const S2Island *island = &note->of->island;
  const double *pressed = note->of->lambda;
  const double *struck = pressed + S2_TOUCH_IMPULSES * island->touches;
  S2StepAdjoint *bar = &undo->bar;
  S2Step *step = &undo->step;
  // The impulses are proportional to s.
  double s = note->keep.fraction, fraction_bar = impact_fraction_bar(undo, note, struck);
  S2ImpactEnergy energy =
      s2_impact_energy(step, undo->open.touches, island, pressed, struck, note->keep.before);
  // The change of the velocities is proportional to s.
  for (int i = 0; i < 3 * island->nodes; i++) {
    int at = 3 * island->node[i / 3] + i % 3;
    fraction_bar += bar->v2[at] * (note->keep.before[i] - step->v1[at]);
  }
  // Impulses also enter the loss directly.
  fraction_bar += s2_undo_keep_impulses(undo, note, struck);
  // ds follows from linear s + square s^2 = room. If s = 0 or there is no room, s stays constant.
  double to = s > 0 && energy.room > 0 ? fraction_bar / (energy.linear + 2 * energy.square * s) : 0;
  Keep keep = {undo, note, to, -s * to, pressed, struck};
  // The work of contacts is part of `room` and `linear`.
  for (int i = 0; i < island->touches; i++) {
    S2TouchBar pair = {0};
    const S2Touch *touch = &undo->open.touches[i];
    for (int k = 0; k < touch->count && !s2_touch_soft(touch); k++) {
      impact_point_vjp(&keep, i, k, &pair);
    }
    s2_touch_material_vjp(undo->world, touch, &pair, undo->gradient);
    // Viscous drag along the surface is not a friction row.
    undo->gradient->flags |= touch->viscosity > 0 ? S2_GRADIENT_PARTIAL : 0;
  }
  // The kinetic energies of bodies before and after the impact are part of `square` and `room`.
  for (int i = 0; i < 3 * island->nodes; i++) {
    int32_t slot = island->node[i / 3];
    int at = 3 * slot + i % 3;
    const S2Body *body = &undo->world->bodies.at[slot];
    S2BodyGradient *g = &undo->gradient->body[slot];
    double inertial = i % 3 == 0 ? body->inertia : body->mass;
    double stopped = step->v1[at] - step->v0[at], thrown = note->keep.before[i] - step->v1[at];
    double thrown_bar = s * (bar->v2[at] - to * s * inertial * thrown);
    double stopped_bar = to * inertial * stopped;
    bar->v1[at] += bar->v2[at] - thrown_bar + stopped_bar;
    bar->v0[at] -= stopped_bar;
    bar->v2[at] = thrown_bar;
    *(i % 3 == 0 ? &g->inertia : &g->mass) +=
        to * (stopped * stopped - s * s * thrown * thrown) / 2;
    step->v2[at] = note->keep.before[i];
  }
}

// ---- Reflections ------------------------------------------------------------------------------

// The gain of a reflection is e times the speed of approach at arrival, minus e times the present
// speed of approach. It is 0 if this is negative.
static void impact_gain_vjp(S2Undo *undo, const S2Note *note) {
  for (int i = 0; i < note->of->island.touches; i++) {
    const S2Touch *touch = &undo->open.touches[i];
    S2TouchBar pair = {0};
    for (int k = 0; k < touch->count; k++) {
      double *more = &undo->more[2 * note->of->touch_index[i] + k], bar = *more;
      const S2Choice *choice = &undo->open.choices[2 * i + k];
      S2Vec2 n = touch->points[k].at.normal;
      double e = touch->restitution, u = s2_touch_velocity(touch, k, n, undo->step.v2);
      // The target is only max(0, e u - e arrival).
      *more = 0;
      if (bar == 0 || !(choice->bias < 0) || !(-choice->bias + e * u > 0)) {
        continue;
      }
      S2PointBar point = {0}; // adjoint times (e u - e arrival)
      s2_touch_velocity_vjp(touch, k, n, undo->step.v2, bar * e, undo->bar.v2, &point,
                            &point.normal);
      pair.restitution += bar * (u - s2_arrival_vjp(undo, touch, k, -bar * e, &point));
      s2_undo_point(undo, i, k, &point);
    }
    s2_touch_material_vjp(undo->world, touch, &pair, undo->gradient);
  }
}

void s2_undo_blend(S2Undo *undo, const S2Note *note) {
  if (s2_undo_refuses_impulses(undo, note, "an impact with generalised reflections")) {
    return;
  }
  double e = note->blend.e, e_bar = 0;
  for (int i = 0; i < 3 * note->of->island.nodes; i++) {
    int at = 3 * note->of->island.node[i / 3] + i % 3;
    double bar = undo->bar.v2[at];
    e_bar += bar * (note->blend.reflected[i] - note->blend.before[i]);
    undo->step.v2[at] = note->blend.before[i];
    undo->reflected[at] = e * bar;
    undo->bar.v2[at] = (1 - e) * bar;
  }
  if (note->of->island.touches > 0) { // all points of a touch have this e
    S2TouchBar pair = {.restitution = e_bar};
    s2_touch_material_vjp(undo->world, &undo->open.touches[0], &pair, undo->gradient);
  }
}

// v2 was reset to its value at the start of the reflections. Saves the adjoints of that value,
// which are added later.
void s2_undo_rewind(S2Undo *undo, const S2Note *note) {
  for (int i = 0; i < 3 * note->of->island.nodes; i++) {
    int at = 3 * note->of->island.node[i / 3] + i % 3;
    undo->start[at] += undo->bar.v2[at];
    undo->bar.v2[at] = undo->reflected[at];
    undo->step.v2[at] = note->plain.before[i];
    undo->reflected[at] = 0;
  }
}

void s2_undo_reflect(S2Undo *undo, const S2Note *note) {
  s2_undo_forget_contacts(undo, note);
  s2_undo_move_nodes(note, undo->start, undo->bar.v2);
  impact_gain_vjp(undo, note);
}

// ---- Impacts at a time within the step ---------------------------------------------------------

// Returns true if the island took the step as a whole, as large islands do with stepping "auto".
static bool impact_left_whole(const S2Undo *undo) {
  return undo->world->kept.def.stepping == S2_AUTO &&
         s2_undo_last(undo, S2_ACT_INTERVAL)->interval.earlier == 0;
}

// In speculative steps, bodies without restitution land without a rebound. A restitution of 0
// counts as a constant there, even if it is a parameter.
static bool impact_leaves_restitution(const S2Undo *undo) {
  const S2WorldGradient *all = undo->gradient;
  bool leaves = false;
  for (int i = 0; i < undo->world->order.count && all->tracked != NULL; i++) {
    int32_t slot = undo->world->order.at[i];
    leaves |=
        undo->world->bodies.at[slot].restitution == 0 && S2_TRACKS_BODY(all, slot, restitution);
  }
  return leaves && undo->world->kept.def.stepping != S2_BISECT;
}

// Handles an impact whose time does not depend on the data. Sets a flag if the loss depends on the
// bodies that collide. In event stepping, a step may have a short remainder. The flag is then
// S2_GRADIENT_PARTIAL, because no better derivative exists.
void s2_undo_hit(S2Undo *undo, const S2Note *note) {
  bool rest = undo->in_interval && !impact_left_whole(undo);
  unsigned flag = rest ? S2_GRADIENT_PARTIAL : S2_GRADIENT_IMPACT;
  if (s2_undo_depends(undo, note, false)) {
    flag |= impact_leaves_restitution(undo) ? S2_GRADIENT_PARTIAL : 0;
    undo->gradient->flags |= flag;
  }
}

// Handles a joint that reached a limit in a step by projection. Every stepping scheme places that
// impact at the end of the step. With restitution, the joint's row sets another flag.
void s2_undo_stop(S2Undo *undo, const S2Note *note) {
  undo->gradient->flags |= s2_undo_depends(undo, note, false) ? S2_GRADIENT_IMPACT : 0;
}
