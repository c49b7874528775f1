// Derivatives of joint reactions in the two-stage flow. A reaction is the sum of the impulses of
// both stages on the first body, about the anchor. Actuator efforts are not part of it.
#include "diff/step/rattle_undo.h"

static const double *reaction_of(const S2RattlePiece *piece, int32_t joint) {
  return piece->undo->bar.joint_reaction + 3 * joint;
}

static S2Vec2 reaction_arm(const S2RattlePiece *piece, const S2Joint *joint, bool end) {
  const double *q = end ? piece->rattle.q1 : piece->rattle.q0;
  return joint->a == S2_NONE ? s2_vec2(0, 0) : s2_rotate(s2_rot(q[3 * joint->a]), joint->local_a);
}

double s2_rattle_reaction_pull(const S2RattlePiece *piece, int32_t joint, const S2RowSides *side,
                               bool end) {
  const S2Joint *of = &piece->rattle.step->world->joints.at[joint];
  const double *bar = reaction_of(piece, joint);
  double push[3] = {0};
  if (piece->unasked || (bar[0] == 0 && bar[1] == 0 && bar[2] == 0)) {
    return 0;
  }
  s2_rattle_push(side, reaction_arm(piece, of, end), 1, push);
  return bar[0] * push[0] + bar[1] * push[1] + bar[2] * push[2];
}

// Returns the adjoints of the impulse of a contact row on both bodies. Adds the adjoint of the
// normal impulse if this is a normal row. Returns false if the loss does not use this contact.
static bool contact_asked(const S2RattlePiece *piece, int r, bool end, double on_a[3],
                          double on_b[3]) {
  const S2Rattle *rattle = &piece->rattle;
  const S2RattleTerm *term = &rattle->term[r];
  const S2Touch *touch = &(end ? &rattle->at1 : &rattle->at0)->touch[term->place];
  const S2ContactGradient *at =
      piece->unasked ? NULL : s2_undo_asked_impulse(piece->undo, touch, term->index);
  if (at == NULL) {
    return false;
  }
  bool presses = term->source == S2_RATTLE_OF_GAP;
  S2Vec2 sum = presses ? s2_add(at->impulse, at->press) : at->impulse;
  on_a[0] = at->angular_a;
  on_a[1] = sum.x;
  on_a[2] = sum.y;
  on_b[0] = at->angular_b;
  on_b[1] = on_b[2] = 0;
  return true;
}

static double contact_pull(const S2RattlePiece *piece, int r, bool end) {
  const S2Rattle *rattle = &piece->rattle;
  const S2RowSides *side = end ? &rattle->at1.side[r] : &rattle->at0.side[r];
  double on_a[3], on_b[3], sum = 0;
  bool asked = contact_asked(piece, r, end, on_a, on_b);
  for (int c = 0; c < 3 && asked; c++) {
    sum += side->a[c] * on_a[c] + side->b[c] * on_b[c];
  }
  return sum;
}

static void contact_asked_vjp(const S2RattlePiece *piece, int r, bool end, double impulse,
                              S2RowBar *bar) {
  double on_a[3], on_b[3];
  bool asked = contact_asked(piece, r, end, on_a, on_b);
  for (int c = 0; c < 3 && asked; c++) {
    bar->ja[c] += impulse * on_a[c];
    bar->jb[c] += impulse * on_b[c];
  }
}

double s2_rattle_row_pull(const S2RattlePiece *piece, int r, bool end) {
  const S2Rattle *rattle = &piece->rattle;
  const S2RattleTerm *term = &rattle->term[r];
  const S2RowSides *side = end ? &rattle->at1.side[r] : &rattle->at0.side[r];
  if (s2_rattle_of_contact(term)) {
    return contact_pull(piece, r, end);
  }
  // The loads of the next step depend on the constraint impulses, summed over both stages.
  int32_t joint = rattle->island->joint[term->place];
  double kept = piece->undo->bar.joint_impulse[S2_JOINT_ROWS * joint + term->index];
  bool force = term->source == S2_RATTLE_OF_GROUND && term->index != S2_GROUND_TORQUE;
  double sum = piece->unasked || force ? 0 : kept; // no load depends on ground friction
  return term->effort ? sum : sum + s2_rattle_reaction_pull(piece, joint, side, end);
}

void s2_rattle_reaction_vjp(S2RattlePiece *piece, int r, bool end, double impulse, S2RowBar *bar) {
  const S2Rattle *rattle = &piece->rattle;
  const S2RattleTerm *term = &rattle->term[r];
  const S2RowSides *side = end ? &rattle->at1.side[r] : &rattle->at0.side[r];
  if (s2_rattle_of_contact(term)) {
    contact_asked_vjp(piece, r, end, impulse, bar);
    return;
  }
  int32_t slot = rattle->island->joint[term->place];
  const S2Joint *joint = s2_rattle_joint(rattle, term);
  const double *reaction = reaction_of(piece, slot);
  bool asked = reaction[0] != 0 || reaction[1] != 0 || reaction[2] != 0;
  if (term->effort || impulse == 0 || piece->unasked || !asked) {
    return;
  }
  S2Vec2 arm = reaction_arm(piece, joint, end);
  bar->ja[0] += impulse * reaction[0];
  bar->ja[1] += impulse * (reaction[1] + reaction[0] * arm.y);
  bar->ja[2] += impulse * (reaction[2] - reaction[0] * arm.x);
  // Pass on the adjoint of the anchor's position.
  if (joint->a != S2_NONE && reaction[0] != 0) {
    double *q_bar = end ? piece->q1_bar : piece->q0_bar;
    const double *q = end ? rattle->q1 : rattle->q0;
    S2JointGradient *g = &piece->undo->gradient->joint[slot];
    S2Vec2 arm_bar = s2_scale(impulse * reaction[0], s2_vec2(-side->a[2], side->a[1]));
    q_bar[3 * joint->a] += s2_dot(s2_left(arm), arm_bar);
    g->local_a = s2_add(g->local_a, s2_unrotate(s2_rot(q[3 * joint->a]), arm_bar));
  }
}
