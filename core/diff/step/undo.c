// Common parts of the reverse sweep: restores a note's island and contacts as in the step, and
// differentiates the motion of bodies.
#include "diff/step/undo.h"

#include <assert.h>
#include <string.h>

const S2Note *s2_undo_last(const S2Undo *undo, S2Act act) {
  int index = undo->index;
  while (s2_note_at(undo->notes, index)->act != act) {
    index -= 1;
  }
  return s2_note_at(undo->notes, index);
}

// ---- Contacts -----------------------------------------------------------------------------------

void s2_undo_point(S2Undo *undo, int touch, int k, const S2PointBar *bar) {
  int index = undo->index;
  const S2Note *note = s2_note_at(undo->notes, index);
  assert(undo->open.note == note);
  if (undo->late != NULL && undo->late[index] != NULL && undo->late[index][touch]) {
    S2PointBar *to = &undo->late_bar[2 * note->of->touch_index[touch] + k];
    to->normal = s2_add(to->normal, bar->normal);
    to->point = s2_add(to->point, bar->point);
    to->arm_b = s2_add(to->arm_b, bar->arm_b);
    to->gap += bar->gap;
  } else {
    s2_touch_point_vjp(undo->world, &undo->open.solved[touch], k, undo->step.q0, bar, undo->bar.q0,
                       undo->gradient);
  }
}

void s2_undo_solved_point(S2Undo *undo, int touch, int k, const S2PointBar *bar) {
  S2SolveKind kind = s2_note_at(undo->notes, undo->index)->solve.kind;
  if (s2_solve_traits(kind).at_end || kind == S2_SOLVE_TURNED) { // at q1
    s2_touch_point_vjp(undo->world, &undo->open.solved[touch], k, undo->step.q1, bar, undo->bar.q1,
                       undo->gradient);
    return;
  }
  s2_undo_point(undo, touch, k, bar);
}

static S2Touch *undo_taken_out(const S2Undo *undo, const void *const *kept, int count) {
  S2Touch *touches = S2_TAKE(undo->arena, S2Touch, count);
  for (int i = 0; i < count; i++) {
    s2_note_touch(&undo->world->kept.def, kept[i], &touches[i]);
  }
  return touches;
}

void s2_undo_open(S2Undo *undo, const S2Note *note) {
  const S2NoteIsland *of = note->of;
  int count = of->island.touches;
  S2Opened *open = &undo->open;
  open->note = note;
  open->touches = undo_taken_out(undo, of->touch, count);
  open->solved = of->solved == NULL ? open->touches : undo_taken_out(undo, of->solved, count);
  open->choices = S2_TAKE(undo->arena, S2Choice, 2 * count);
  s2_note_choices(of, open->choices);
}

// ---- Islands ------------------------------------------------------------------------------------

// Restores the data of the joints in a solve.
static void undo_set_joints(S2Undo *undo, const S2Note *note) {
  S2Step *step = &undo->step;
  const S2NoteIsland *of = note->of;
  for (int i = 0; i < of->island.joints; i++) {
    int32_t slot = of->island.joint[i];
    const double *impulse = of->impulse != NULL
                                ? of->impulse + S2_JOINT_ROWS * i
                                : undo->substep->substep.impulse + S2_JOINT_ROWS * slot;
    memcpy(step->joint_impulse + S2_JOINT_ROWS * slot, impulse, sizeof(double) * S2_JOINT_ROWS);
    step->stiff[slot] = of->stiff != NULL && of->stiff[i];
    for (int k = 0; k < 2; k++) {
      step->pushed[2 * slot + k] = of->pushed == NULL ? 0 : of->pushed[2 * i + k];
    }
  }
}

void s2_undo_set_island(S2Undo *undo, const S2Note *note) {
  S2Step *step = &undo->step;
  if (undo->open.note != note) {
    s2_undo_open(undo, note);
  }
  // Restore other data that the act read.
  step->h = note->h;
  step->t = note->t;
  step->holds = note->holds;
  step->touches = undo->open.touches;
  step->touch_count = note->of->island.touches;
  for (int i = 0; i < note->of->island.nodes; i++) {
    step->node_of[note->of->island.node[i]] = i;
  }
  undo_set_joints(undo, note);
}

void s2_undo_forget_island(S2Undo *undo, const S2Note *note) {
  for (int i = 0; i < note->of->island.nodes; i++) {
    undo->step.node_of[note->of->island.node[i]] = S2_GROUND;
  }
  undo->open.note = NULL; // its memory may be released at this point
}

void s2_undo_put_nodes(const S2Note *note, const double *kept, double *to) {
  for (int i = 0; i < note->of->island.nodes; i++) {
    memcpy(to + 3 * note->of->island.node[i], kept + 3 * i, 3 * sizeof(double));
  }
}

void s2_undo_move_nodes(const S2Note *note, double *from, double *to) {
  for (int i = 0; i < note->of->island.nodes; i++) {
    for (int at = 3 * note->of->island.node[i], c = 0; c < 3; c++, at++) {
      to[at] += from[at];
      from[at] = 0;
    }
  }
}

bool s2_undo_depends(const S2Undo *undo, const S2Note *note, bool on_q1) {
  const S2StepAdjoint *bar = &undo->bar;
  const double *const of[] = {bar->q0, bar->v0, bar->v1, bar->v2, bar->free_v, bar->q1};
  bool depends = false;
  for (int i = 0; i < 3 * note->of->island.nodes && !depends; i++) {
    int at = 3 * note->of->island.node[i / 3] + i % 3;
    for (size_t k = 0; k < sizeof of / sizeof *of - !on_q1; k++) {
      depends |= of[k][at] != 0;
    }
  }
  return depends;
}

// ---- Bodies -------------------------------------------------------------------------------------

void s2_undo_free_body(S2Undo *undo, int32_t slot, double h) {
  double alpha = undo->world->kept.def.alpha;
  S2StepAdjoint *bar = &undo->bar;
  const S2Step *step = &undo->step;
  S2WorldGradient *g = undo->gradient;
  const S2Body *body = &undo->world->bodies.at[slot];
  for (int c = 0; c < 3; c++) {
    int at = 3 * slot + c;
    double free_bar = bar->free_v[at], mass_bar = bar->mass[at];
    bar->free_v[at] = bar->mass[at] = 0;
    // A body without forces keeps its velocity, so its free_v is v0.
    if (!s2_body_moves(body)) {
      bar->v0[at] += body->type == S2_KINEMATIC && body->enabled ? free_bar : 0;
      continue;
    }
    // W = m (1 + h alpha d), W free_v = m (1 - h (1 - alpha) d) v0 + h f
    double inertial = c == 0 ? body->inertia : body->mass;
    double damping = c == 0 ? body->angular_damping : body->linear_damping;
    double mass = step->mass[at], left = inertial * (1 - h * (1 - alpha) * damping);
    // mass_bar receives the contribution of W; left is the factor of v0.
    double over = free_bar / mass, left_bar = over * step->v0[at];
    mass_bar -= over * step->free_v[at];
    bar->v0[at] += over * left;
    bar->force[at] += over * h;
    bar->h +=
        over * step->force[at] + inertial * damping * (mass_bar * alpha - left_bar * (1 - alpha));
    *(c == 0 ? &g->body[slot].inertia : &g->body[slot].mass) +=
        mass_bar * (1 + h * alpha * damping) + left_bar * (1 - h * (1 - alpha) * damping);
    // Damping enters both equations, with the factors alpha and 1 - alpha.
    *(c == 0 ? &g->body[slot].angular_damping : &g->body[slot].linear_damping) +=
        inertial * h * (mass_bar * alpha - left_bar * (1 - alpha));
    g->alpha += inertial * h * damping * (mass_bar + left_bar);
  }
}

bool s2_undo_carried_ahead(const S2Undo *undo, const S2Note *note, int32_t slot) {
  const S2WorldDef *def = &undo->world->kept.def;
  return def->beta == 1 || s2_world_way(def) == S2_EVENT ||
         (note->carried.ahead != NULL && note->carried.ahead[slot]);
}

double s2_undo_carry(const S2Undo *undo, const S2Note *note, int at) {
  double beta = undo->world->kept.def.beta;
  if (!s2_undo_goes(&undo->world->bodies.at[at / 3])) {
    return 0;
  }
  return s2_undo_carried_ahead(undo, note, at / 3)
             ? undo->step.v1[at]
             : (1 - beta) * undo->step.v0[at] + beta * undo->step.v1[at];
}

void s2_undo_carried(S2Undo *undo, const S2Note *note, int at, double bar) {
  double beta = undo->world->kept.def.beta;
  if (!s2_undo_goes(&undo->world->bodies.at[at / 3])) {
    return;
  }
  if (s2_undo_carried_ahead(undo, note, at / 3)) {
    undo->bar.v1[at] += bar;
    return;
  }
  undo->bar.v0[at] += (1 - beta) * bar;
  undo->bar.v1[at] += beta * bar;
  undo->gradient->beta += (undo->step.v1[at] - undo->step.v0[at]) * bar;
}
