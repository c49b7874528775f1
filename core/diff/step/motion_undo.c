// Derivatives of copies of velocities, and of the positions that velocities change.
#include "diff/step/undo.h"

#include <string.h>

static size_t motion_count(const S2Undo *undo) {
  return 3 * (size_t)undo->notes->slots;
}

static void motion_set(const S2Undo *undo, double *to, const double *from) {
  memcpy(to, from, sizeof(double) * motion_count(undo));
}

// Adds `from` to `to` and clears it.
static void motion_move(const S2Undo *undo, double *from, double *to) {
  for (size_t i = 0; i < motion_count(undo); i++) {
    to[i] += from[i];
    from[i] = 0;
  }
}

// ---- Copies -------------------------------------------------------------------------------------

// The energies that the sweep has not yet reached do not depend on impulses before this act.
static void motion_forget_energies(const S2Undo *undo) {
  size_t bytes = sizeof(double) * 2 * (size_t)undo->touches;
  memset(undo->pushed, 0, bytes);
  memset(undo->dragged, 0, bytes);
  memset(undo->struck, 0, 2 * bytes);
}

void s2_undo_reset(S2Undo *undo, const S2Note *note) {
  motion_forget_energies(undo);
  motion_move(undo, undo->bar.v1, undo->bar.free_v);
  if (note->plain.before != NULL) {
    motion_set(undo, undo->step.v1, note->plain.before);
  }
}

void s2_undo_reset_v2(S2Undo *undo, const S2Note *note) {
  motion_forget_energies(undo);
  motion_move(undo, undo->bar.v2, undo->bar.free_v);
  motion_set(undo, undo->step.v2, note->plain.before);
}

void s2_undo_v2_is_v1(S2Undo *undo, const S2Note *note) {
  (void)note;
  motion_move(undo, undo->bar.v2, undo->bar.v1);
}

void s2_undo_v1_is_v2(S2Undo *undo, const S2Note *note) {
  motion_move(undo, undo->bar.v1, undo->bar.v2);
  motion_set(undo, undo->step.v2, undo->step.v1);
  motion_set(undo, undo->step.v1, note->plain.before);
}

void s2_undo_q0_is_q1(S2Undo *undo, const S2Note *note) {
  (void)note;
  motion_move(undo, undo->bar.q0, undo->bar.q1);
  motion_set(undo, undo->step.q1, undo->step.q0);
}

// ---- Positions ----------------------------------------------------------------------------------

// Differentiates q = q0 + until carry. The time `until` is proportional to h.
static void motion_carried_vjp(S2Undo *undo, const S2Note *note, double until, int at, double bar) {
  undo->bar.q0[at] += bar;
  undo->bar.h += s2_undo_carry(undo, note, at) * bar * (until / note->h);
  s2_undo_carried(undo, note, at, until * bar);
}

void s2_undo_integrate(S2Undo *undo, const S2Note *note) {
  S2StepAdjoint *to = &undo->bar;
  for (int i = 0; i < undo->world->order.count; i++) {
    int32_t slot = undo->world->order.at[i];
    bool goes = s2_undo_goes(&undo->world->bodies.at[slot]);
    bool ahead = s2_undo_carried_ahead(undo, note, slot);
    for (int at = 3 * slot; at < 3 * slot + 3; at++) {
      double bar = to->q1[at];
      to->q1[at] = 0;
      if (goes && !ahead) {
        motion_carried_vjp(undo, note, note->h, at, bar);
        continue;
      }
      to->q0[at] += bar;
      if (goes) { // bodies that only v1 moves are also handled here
        to->h += undo->step.v1[at] * bar;
        to->v1[at] += note->h * bar;
      }
    }
  }
  memset(undo->displaced, 0, sizeof(double) * motion_count(undo));
}

// Differentiates contact points at q = q0 + until carry. Their gaps were extrapolated back to q0
// with the speeds of the points.
void s2_undo_linearise(S2Undo *undo, const S2Note *note) {
  const S2Touch *touch = &undo->open.touches[0];
  const int32_t slot[2] = {touch->body_a, touch->body_b};
  double until = note->carried.until;
  // Bodies may pass through kinematic bodies.
  undo->gradient->flags |= note->carried.moves ? S2_GRADIENT_PARTIAL : 0;
  S2ArenaMark mark = s2_arena_mark(undo->arena);
  size_t count = motion_count(undo);
  double *q = S2_TAKE_ZEROED(undo->arena, double, count);
  double *carry = S2_TAKE_ZEROED(undo->arena, double, count);
  double *q_bar = S2_TAKE_ZEROED(undo->arena, double, count);
  double *carry_bar = S2_TAKE_ZEROED(undo->arena, double, count);
  // The poses of both bodies at the time `until`.
  for (int side = 0; side < 2; side++) {
    for (int at = 3 * slot[side]; at < 3 * slot[side] + 3; at++) {
      carry[at] = s2_undo_carry(undo, note, at);
      q[at] = undo->step.q0[at] + until * carry[at];
    }
  }
  // gap = gap(q) - until n'(carry of a - carry of b), with the contact point at q.
  for (int k = 0; k < touch->count; k++) {
    S2PointBar *bar = &undo->late_bar[2 * note->of->touch_index[0] + k];
    S2Vec2 n = touch->points[k].at.normal;
    double gap_bar = bar->gap;
    undo->bar.h -= gap_bar * s2_touch_velocity(touch, k, n, carry) * (until / note->h);
    s2_touch_velocity_vjp(touch, k, n, carry, -until * gap_bar, carry_bar, bar, &bar->normal);
    s2_touch_point_vjp(undo->world, touch, k, q, bar, q_bar, undo->gradient);
    *bar = (S2PointBar){0};
  }
  for (int side = 0; side < 2; side++) {
    for (int at = 3 * slot[side]; at < 3 * slot[side] + 3; at++) {
      // Adjoints of the velocities that moved the bodies.
      s2_undo_carried(undo, note, at, carry_bar[at]);
      motion_carried_vjp(undo, note, until, at, q_bar[at]);
    }
  }
  s2_arena_rewind(undo->arena, mark);
}

// The end time depends on the data, but counts as a constant here.
void s2_undo_short(S2Undo *undo, const S2Note *note) {
  double fraction = note->scaled.fraction;
  for (int i = 0; i < 3 * note->of->island.nodes; i++) {
    int at = 3 * note->of->island.node[i / 3] + i % 3;
    undo->bar.q0[at] += (1 - fraction) * undo->bar.q1[at];
    undo->bar.q1[at] *= fraction;
  }
  undo->gradient->flags |= S2_GRADIENT_PARTIAL;
}

// Saves the adjoint of the q1 at which an abandoned path began. It is restored when the sweep has
// passed that path.
void s2_undo_go_back(S2Undo *undo, const S2Note *note) {
  s2_undo_move_nodes(note, undo->bar.q1, undo->back);
  s2_undo_put_nodes(note, note->go_back.q1, undo->step.q1);
  undo->back_at = note->go_back.since;
}
