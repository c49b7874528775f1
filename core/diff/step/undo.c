// What a note says of an island and its contacts, laid out as the step had it.
#include "diff/step/undo.h"

#include <assert.h>
#include <string.h>

void s2_undo_point(S2Undo *undo, int index, int touch, int k, const S2PointBar *bar) {
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

static S2Touch *taken_out(const S2Undo *undo, const void *const *kept, int count) {
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
  open->touches = taken_out(undo, of->touch, count);
  open->solved = of->solved == NULL ? open->touches : taken_out(undo, of->solved, count);
  open->choices = S2_TAKE(undo->arena, S2Choice, 2 * count);
  s2_note_choices(of, open->choices);
}

// What the joints of a solve brought along.
static void set_joints(S2Undo *undo, const S2Note *note) {
  S2Step *step = &undo->step;
  const S2NoteIsland *of = note->of;
  for (int i = 0; i < of->island.joints; i++) {
    int32_t slot = of->island.joint[i];
    const double *impulse = of->impulse != NULL ? of->impulse + S2_JOINT_ROWS * i
                                                : undo->part->before + S2_JOINT_ROWS * slot;
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
  step->h = note->h;
  step->t = note->t;
  step->holds = note->holds;
  step->touches = undo->open.touches;
  step->touch_count = note->of->island.touches;
  for (int i = 0; i < note->of->island.nodes; i++) {
    step->node_of[note->of->island.node[i]] = i;
  }
  set_joints(undo, note);
}

void s2_undo_forget_island(S2Undo *undo, const S2Note *note) {
  for (int i = 0; i < note->of->island.nodes; i++) {
    undo->step.node_of[note->of->island.node[i]] = S2_GROUND;
  }
  undo->open.note = NULL; // it may be in memory that is given back now
}
