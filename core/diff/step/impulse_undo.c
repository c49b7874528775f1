// Adjoints of impulses that the loss depends on: impulses at contact points, and reactions of
// joints. Each solve that contributed to an impulse of the step gets its part of the adjoint.
#include "diff/step/undo.h"

#include <string.h>

void s2_undo_open_impulses(S2Undo *undo) {
  size_t joints = 3 * (size_t)undo->notes->joint_slots;
  undo->bar.joint_reaction = S2_TAKE_ZEROED(undo->arena, double, joints);
  undo->reaction = S2_TAKE_ZEROED(undo->arena, double, joints);
  undo->contacts = undo->gradient->contacts;
  undo->contact = S2_TAKE_ZEROED(undo->arena, S2ContactGradient, undo->contacts);
}

static bool impulse_is_asked(const S2ContactGradient *at) {
  return at->impulse.x != 0 || at->impulse.y != 0 || at->press.x != 0 || at->press.y != 0 ||
         at->angular_a != 0 || at->angular_b != 0;
}

void s2_undo_end_impulses(S2Undo *undo) {
  S2WorldGradient *g = undo->gradient;
  for (int i = 0; i < undo->world->joint_order.count; i++) {
    int32_t slot = undo->world->joint_order.at[i];
    memcpy(undo->reaction + 3 * slot, g->joint[slot].reaction, sizeof g->joint[slot].reaction);
    memset(g->joint[slot].reaction, 0, sizeof g->joint[slot].reaction);
  }
  undo->asked = false;
  for (int i = 0; i < undo->contacts; i++) {
    undo->asked |= impulse_is_asked(&undo->gradient->contact[i]);
  }
  s2_undo_end_fraction(undo);
}

void s2_undo_sum_contacts(S2Undo *undo) {
  for (int i = 0; i < undo->contacts && undo->asked; i++) {
    undo->contact[i] = undo->gradient->contact[i];
  }
}

// Reactions and contact impulses are sums over all parts of the step.
void s2_undo_end_fraction(S2Undo *undo) {
  size_t joints = 3 * (size_t)undo->notes->joint_slots;
  memcpy(undo->bar.joint_reaction, undo->reaction, sizeof(double) * joints);
  s2_undo_sum_contacts(undo);
}

S2ContactGradient *s2_undo_copy_contacts(const S2Undo *undo) {
  int count = undo->contacts;
  S2ContactGradient *copy = S2_TAKE(undo->arena, S2ContactGradient, count);
  for (int i = 0; i < count; i++) {
    copy[i] = undo->contact[i];
  }
  return copy;
}

void s2_undo_begin_impulses(S2Undo *undo) {
  for (int i = 0; i < undo->contacts; i++) {
    s2_contact_gradient_clear(&undo->gradient->contact[i]);
  }
}

static S2ContactGradient *impulse_find(const S2Undo *undo, const S2Touch *touch, int k) {
  for (int i = 0; i < undo->contacts; i++) {
    S2ContactGradient *at = &undo->contact[i];
    if (at->shape_a == touch->shape_a && at->shape_b == touch->shape_b &&
        at->feature == touch->points[k].at.id) {
      return at;
    }
  }
  return NULL;
}

const S2ContactGradient *s2_undo_asked_impulse(const S2Undo *undo, const S2Touch *touch, int k) {
  const S2ContactGradient *at = undo->asked ? impulse_find(undo, touch, k) : NULL;
  return at != NULL && impulse_is_asked(at) ? at : NULL;
}

// Returns true if a contact belongs to the island of a note. The note itself lists only contacts
// that have rows.
static bool impulse_is_of(const S2Undo *undo, const S2ContactGradient *contact,
                          const S2Island *island) {
  const int32_t shapes[2] = {contact->shape_a, contact->shape_b};
  bool is = false;
  for (int i = 0; i < 2 * island->nodes; i++) {
    int32_t shape = shapes[i % 2];
    is |= shape < undo->world->pieces.count &&
          undo->world->pieces.at[shape].body == island->node[i / 2];
  }
  return is;
}

void s2_undo_forget_contacts(S2Undo *undo, const S2Note *note) {
  for (int i = 0; i < undo->contacts && undo->asked; i++) {
    S2ContactGradient *at = &undo->contact[i];
    if (impulse_is_asked(at) && impulse_is_of(undo, at, &note->of->island)) {
      s2_contact_gradient_clear(at);
    }
  }
}

void s2_undo_forget_joints(S2Undo *undo, const S2Note *note) {
  for (int i = 0; i < note->of->island.joints; i++) {
    int32_t slot = note->of->island.joint[i];
    memset(undo->bar.joint_impulse + S2_JOINT_ROWS * slot, 0, sizeof(double) * S2_JOINT_ROWS);
    memset(undo->bar.joint_reaction + 3 * slot, 0, 3 * sizeof(double));
  }
}

bool s2_undo_refuses_impulses(const S2Undo *undo, const S2Note *note, const char *what) {
  bool contacts = false, joints = false;
  // The contacts between bodies of the island.
  for (int i = 0; i < undo->contacts && undo->asked; i++) {
    const S2ContactGradient *at = &undo->contact[i];
    contacts |= impulse_is_asked(at) && impulse_is_of(undo, at, &note->of->island);
  }
  // The joints of the island.
  for (int i = 0; i < 3 * note->of->island.joints; i++) {
    joints |= undo->bar.joint_reaction[3 * note->of->island.joint[i / 3] + i % 3] != 0;
  }
  if (contacts || joints) {
    *undo->failed = s2_error(S2_INVALID,
                             "the loss depends on the %s of %s, which have no derivative; pass "
                             "them through sim.stop_gradient()",
                             contacts ? "contact impulses" : "joint reactions", what);
  }
  return contacts || joints;
}

const double *s2_undo_reaction(const S2Undo *undo, const S2Note *note, double factor) {
  bool any = false;
  for (int i = 0; i < 3 * note->of->island.joints; i++) {
    any |= undo->bar.joint_reaction[3 * note->of->island.joint[i / 3] + i % 3] != 0;
  }
  if (!any || factor == 0) {
    return NULL;
  }
  double *reaction = S2_TAKE(undo->arena, double, 3 * undo->notes->joint_slots);
  for (int i = 0; i < 3 * undo->notes->joint_slots; i++) {
    reaction[i] = factor * undo->bar.joint_reaction[i];
  }
  return reaction;
}

double s2_undo_impulse(const S2Undo *undo, int32_t joint, int row, const double push[3]) {
  if (joint == S2_NONE) {
    return 0;
  }
  const double *reaction = undo->bar.joint_reaction + 3 * joint;
  double bar = push[0] * reaction[0] + push[1] * reaction[1] + push[2] * reaction[2];
  return bar + (row == S2_NONE ? 0 : undo->bar.joint_impulse[S2_JOINT_ROWS * joint + row]);
}

// Returns the adjoint of an impulse vector. It includes the adjoint through the moments of the
// impulse.
static S2Vec2 impulse_vector_bar(const S2ContactGradient *at, const S2TouchPoint *point) {
  S2Vec2 bar = s2_add_scaled(at->impulse, at->angular_a, s2_left(point->at.point));
  return s2_add_scaled(bar, -at->angular_b, s2_left(point->arm_b));
}

// Scales `bar` (`count` numbers per joint slot) by the fraction of the impact that acts, and saves
// the original in `waiting`. Returns dl/d(fraction).
static double impulse_keep_joints(const S2Note *note, int count, const double *struck, double *bar,
                                  double *waiting) {
  double sum = 0;
  for (int i = 0; i < count * note->of->island.joints; i++) {
    int at = count * note->of->island.joint[i / count] + i % count;
    sum += bar[at] * struck[i];
    waiting[at] = bar[at];
    bar[at] *= note->keep.fraction;
  }
  return sum;
}

double s2_undo_keep_impulses(S2Undo *undo, const S2Note *note, const double *struck) {
  const S2Island *island = &note->of->island;
  // dl/ds of the contact impulses of the impact.
  double sum = 0;
  for (int i = 0; i < 2 * island->touches; i++) {
    const S2Touch *touch = &undo->open.touches[i / 2];
    const S2ContactGradient *at =
        undo->asked && i % 2 < touch->count ? impulse_find(undo, touch, i % 2) : NULL;
    if (at != NULL) {
      S2Vec2 n = touch->points[i % 2].at.normal,
             bar = impulse_vector_bar(at, &touch->points[i % 2]);
      sum += s2_dot(n, s2_add(bar, at->press)) * struck[2 * i] +
             s2_dot(s2_left(n), bar) * struck[2 * i + 1];
    }
  }
  // Convert the adjoints of the contact impulses to adjoints of the full impulses.
  for (int i = 0; i < undo->contacts && undo->asked; i++) {
    S2ContactGradient *at = &undo->contact[i];
    if (impulse_is_of(undo, at, island)) {
      at->impulse = s2_scale(note->keep.fraction, at->impulse);
      at->press = s2_scale(note->keep.fraction, at->press);
      at->angular_a *= note->keep.fraction;
      at->angular_b *= note->keep.fraction;
    }
  }
  // dl/ds of the joint impulses of the impact.
  undo->keeps = true;
  sum += impulse_keep_joints(note, S2_JOINT_ROWS, note->of->impulse, undo->bar.joint_impulse,
                             undo->waiting_impulse);
  return sum + impulse_keep_joints(note, 3, note->keep.reaction, undo->bar.joint_reaction,
                                   undo->waiting_reaction);
}

bool s2_undo_kept_impulses(S2Undo *undo, const S2Note *note) {
  bool keeps = undo->keeps;
  for (int i = 0; i < undo->contacts && undo->asked && keeps; i++) {
    if (impulse_is_of(undo, &undo->contact[i], &note->of->island)) {
      undo->contact[i] = undo->gradient->contact[i];
    }
  }
  if (keeps) { // the contact impulses of the motion are already stored
    s2_undo_forget_joints(undo, note);
  }
  undo->keeps = false;
  return keeps;
}

// Passes the adjoints of the sums on to the normal and tangential impulses of one solve, and to the
// geometry at which these impulses acted.
static void impulse_point_vjp(S2Undo *undo, int touch, int k, const double lambda[2],
                              double lambda_bar[2]) {
  const S2Touch *of = &undo->open.touches[touch];
  const S2ContactGradient *at = impulse_find(undo, of, k);
  if (at == NULL || !impulse_is_asked(at)) {
    return;
  }
  // The impulse vector n ln + t lt, and its adjoint. The adjoint includes the moments.
  S2Vec2 n = of->points[k].at.normal, t = s2_left(n);
  S2Vec2 all = s2_add_scaled(s2_scale(lambda[0], n), lambda[1], t);
  S2Vec2 all_bar = impulse_vector_bar(at, &of->points[k]);
  S2Vec2 normal_bar = s2_add(all_bar, at->press); // adjoint of lambda[0] n
  lambda_bar[0] += s2_dot(n, normal_bar);
  lambda_bar[1] += s2_dot(t, all_bar);
  // The impulse acts along the normal. Its moments are about the centres of both bodies.
  S2PointBar bar = {
      .normal = s2_add_scaled(s2_scale(lambda[0], normal_bar), lambda[1], s2_right(all_bar)),
      .point = s2_scale(at->angular_a, s2_right(all)),
      .arm_b = s2_scale(-at->angular_b, s2_right(all)),
  };
  s2_undo_solved_point(undo, touch, k, &bar);
}

void s2_undo_contact_impulses(S2Undo *undo, const S2Note *note, const S2Assembly *assembly,
                              double *dl_dlambda, double *aside) {
  S2SolveKind kind = note->solve.kind;
  const double *lambda = note->of->lambda;
  // Follow the order of the rows: first the normal, then the tangent of each point in use.
  int r = assembly->parts;
  for (int i = 0; i < 2 * note->of->island.touches && undo->asked; i++) {
    const S2Touch *touch = &undo->open.touches[i / 2];
    bool used = i % 2 < touch->count && undo->open.choices[i].use && s2_solve_presses(kind, touch);
    if (!used) {
      continue;
    }
    bool normal = s2_solve_traits(kind).normals, rough = s2_solve_is_rough(kind, touch);
    // Rows that do not exist have impulse 0.
    const double here[2] = {normal ? lambda[r] : 0, rough ? lambda[r + normal] : 0};
    double bar[2] = {0};
    impulse_point_vjp(undo, i / 2, i % 2, here, bar);
    aside[i] += bar[1];
    if (normal) {
      dl_dlambda[r] += bar[0];
    }
    if (rough) {
      dl_dlambda[r + normal] += bar[1];
    }
    r += normal + rough;
  }
  // Viscosity rows are listed among the joint rows.
  for (int p = 0; p < assembly->parts && undo->asked; p++) { // viscosity
    int point = assembly->part[p].row;
    if (assembly->part[p].joint == S2_NONE) {
      const double here[2] = {0, lambda[p]};
      double bar[2] = {0};
      impulse_point_vjp(undo, point / 2, point % 2, here, bar);
      dl_dlambda[p] += bar[1];
    }
  }
}
