// The derivative of the removal of surplus energy from the velocities (dynamics/project/repay.c,
// energy.c).
#include "diff/step/undo.h"

// ---- The loss of speed -----------------------------------------------------------------------

// Passes on the adjoint of the velocity of the ground that carries a body. See s2_event_ride().
static void repay_ride_vjp(S2Undo *undo, const S2Note *note, int32_t slot,
                           const double ride_bar[3]) {
  const double *q = undo->step.q1 + 3 * slot;
  double *q_bar = undo->bar.q1;
  S2Vec2 bar = s2_scale(1.0 / note->of->grounds, s2_vec2(ride_bar[1], ride_bar[2]));
  for (int g = 0; g < note->of->grounds; g++) {
    if (note->of->ground[g] == S2_NONE) {
      continue;
    }
    int32_t at = 3 * note->of->ground[g];
    const double *v = undo->step.free_v + at, *from = undo->step.q1 + at;
    // The ground at the body moves with v + w x (q - from). Several grounds contribute their mean
    // velocity.
    S2Vec2 arm = s2_vec2(q[1] - from[1], q[2] - from[2]), arm_bar = s2_scale(v[0], s2_right(bar));
    undo->bar.free_v[at] += ride_bar[0] / note->of->grounds + s2_dot(bar, s2_left(arm));
    undo->bar.free_v[at + 1] += bar.x;
    undo->bar.free_v[at + 2] += bar.y;
    q_bar[3 * slot + 1] += arm_bar.x;
    q_bar[3 * slot + 2] += arm_bar.y;
    q_bar[at + 1] -= arm_bar.x;
    q_bar[at + 2] -= arm_bar.y;
  }
}

// Differentiates v2 = ride + s (v2 - ride) with s^2 = 1 - energy/kinetic. Returns the adjoint of
// the energy.
static double repay_slower_vjp(S2Undo *undo, const S2Note *note) {
  S2ArenaMark mark = s2_arena_mark(undo->arena);
  // Compute the velocities relative to the ground that carries the bodies, and their kinetic
  // energy.
  int nodes = note->of->island.nodes;
  double *v = S2_TAKE(undo->arena, double, 3 * nodes), kinetic = 0, s_bar = 0;
  for (int i = 0; i < nodes; i++) {
    int32_t slot = note->of->island.node[i];
    const S2Body *body = &undo->world->bodies.at[slot];
    double ride[3];
    s2_event_ride(&undo->step, note->of->ground, note->of->grounds, slot, ride);
    for (int c = 0; c < 3; c++) {
      double now = v[3 * i + c] = note->energy.before[3 * i + c] - ride[c];
      kinetic += (c == 0 ? body->inertia : body->mass) * now * now / 2;
      s_bar += undo->bar.v2[3 * slot + c] * now;
    }
  }
  // s = sqrt(1 - energy/kinetic)
  double s = kinetic > note->energy.loss ? sqrt(1 - note->energy.loss / kinetic) : 0;
  double energy_bar = s > 0 ? -s_bar / (2 * s * kinetic) : 0;
  double kinetic_bar = s > 0 ? -energy_bar * note->energy.loss / kinetic : 0;
  // Differentiate v2 through s and the kinetic energy. The ground receives the remainder.
  for (int i = 0; i < nodes; i++) {
    int32_t slot = note->of->island.node[i];
    const S2Body *body = &undo->world->bodies.at[slot];
    S2BodyGradient *g = &undo->gradient->body[slot];
    double ride_bar[3];
    for (int c = 0; c < 3; c++) {
      double now = v[3 * i + c], *bar = &undo->bar.v2[3 * slot + c], all = *bar;
      *bar = s * all + kinetic_bar * (c == 0 ? body->inertia : body->mass) * now;
      ride_bar[c] = all - *bar;
      *(c == 0 ? &g->inertia : &g->mass) += kinetic_bar * now * now / 2;
      undo->step.v2[3 * slot + c] = note->energy.before[3 * i + c];
    }
    repay_ride_vjp(undo, note, slot, ride_bar);
  }
  s2_arena_rewind(undo->arena, mark);
  return energy_bar;
}

double s2_undo_repaid(S2Undo *undo, const S2Note *note) {
  return note->of->grounds > 0 ? repay_slower_vjp(undo, note) : s2_undo_slower(undo, note);
}

// ---- The energy gained in a step --------------------------------------------------------------

static void repay_bodies_vjp(S2Undo *undo, const S2Note *note, double bar) {
  const S2Step *step = &undo->step;
  S2StepAdjoint *to = &undo->bar;
  double h = step->h;
  for (int i = 0; i < note->of->island.nodes; i++) {
    int32_t slot = note->of->island.node[i];
    const S2Body *body = &undo->world->bodies.at[slot];
    S2BodyGradient *g = &undo->gradient->body[slot];
    double ride[3] = {0}, ride_bar[3] = {0};
    // Velocities due to the feedback are relative to the ground that carries the body.
    if (note->energy.fed && note->of->grounds > 0) {
      s2_event_ride(step, note->of->ground, note->of->grounds, slot, ride);
    }
    // Terms of each body: m (thrown^2 - stopped^2)/2 + m thrown rides, f (h v1 - (q1 - q0)).
    for (int c = 0; c < 3; c++) {
      int at = 3 * slot + c;
      double inertial = c == 0 ? body->inertia : body->mass, f = step->force[at];
      double v1 = step->v1[at], stopped = v1 - step->v0[at], thrown = step->v2[at] - v1;
      double rides = note->energy.fed ? v1 - ride[c] : 0, fed = note->energy.fed ? thrown : 0;
      *(c == 0 ? &g->inertia : &g->mass) +=
          bar * ((thrown * thrown - stopped * stopped) / 2 + thrown * rides);
      to->v0[at] += bar * inertial * stopped;
      to->v1[at] += bar * (inertial * (fed - thrown - rides - stopped) + h * f);
      to->v2[at] += bar * inertial * (thrown + rides);
      to->force[at] += bar * (h * v1 - (step->q1[at] - step->q0[at]));
      to->h += bar * f * v1;
      to->q0[at] += bar * f;
      to->q1[at] -= bar * f;
      ride_bar[c] = -bar * inertial * fed;
    }
    if (note->energy.fed && note->of->grounds > 0) {
      repay_ride_vjp(undo, note, slot, ride_bar);
    }
  }
}

// The impulse at a contact point is the sum over the motion and the impacts, which all receive the
// same adjoint.
static void repay_point_vjp(S2Undo *undo, const S2Note *note, int i, int k, double bar,
                            S2TouchBar *pair) {
  const S2Touch *touch = &undo->open.touches[i];
  const double *impulse = note->of->lambda + S2_TOUCH_IMPULSES * i + 2 * k, *v1 = undo->step.v1;
  S2Vec2 n = touch->points[k].at.normal, t = s2_left(n), t_bar = {0};
  S2PointBar point = {0};
  int at = 2 * note->of->touch_index[i] + k;
  double across = bar * s2_touch_velocity(touch, k, n, v1);
  double along = bar * (s2_touch_velocity(touch, k, t, v1) - touch->surface_speed);
  undo->pushed[at] += across;
  undo->dragged[at] += along;
  undo->struck[2 * at] += across;
  undo->struck[2 * at + 1] += along;
  s2_touch_velocity_vjp(touch, k, n, v1, bar * impulse[0], undo->bar.v1, &point, &point.normal);
  s2_touch_velocity_vjp(touch, k, t, v1, bar * impulse[1], undo->bar.v1, &point, &t_bar);
  pair->surface_speed -= bar * impulse[1];
  point.normal = s2_add(point.normal, s2_right(t_bar));
  s2_undo_point(undo, i, k, &point);
}

// Returns true if there was an impact with generalised reflections. Their impulses have no
// derivatives.
static bool repay_was_reflected(const S2Undo *undo, const S2Note *of) {
  int32_t first = of->of->island.node[0];
  bool any = false;
  for (int i = undo->index; s2_note_at(undo->notes, i)->act != S2_ACT_FREE; i--) {
    const S2Note *note = s2_note_at(undo->notes, i);
    any |= note->act == S2_ACT_REFLECT && note->of->island.node[0] == first;
  }
  return any;
}

void s2_undo_slow(S2Undo *undo, const S2Note *note) {
  double bar = s2_undo_repaid(undo, note);
  if (bar == 0) {
    return;
  }
  repay_bodies_vjp(undo, note, bar);
  bool reflected = repay_was_reflected(undo, note);
  undo->gradient->flags |= reflected ? S2_GRADIENT_PARTIAL : 0;
  for (int i = 0; i < note->of->island.touches && !reflected; i++) {
    const S2Touch *touch = &undo->open.touches[i];
    const double *impulse = note->of->lambda + S2_TOUCH_IMPULSES * i;
    S2TouchBar pair = {0};
    for (int k = 0; k < touch->count && !s2_touch_soft(touch); k++) {
      if (impulse[2 * k] != 0 || impulse[2 * k + 1] != 0) {
        repay_point_vjp(undo, note, i, k, bar, &pair);
      }
    }
    s2_touch_material_vjp(undo->world, touch, &pair, undo->gradient);
  }
}
