// Records parts of a step that have no derivative or an incomplete derivative.
#include "dynamics/trace/notes.h"

#include <stdio.h>

// Records that the step has no derivative, with the names of the first joints.
void s2_note_refuse_joints(const S2Step *step, const S2Island *island, const char *what) {
  enum { NAMED = 3, SIZE = 256 };
  S2Notes *notes = step->world->notes;
  if (notes == NULL) {
    return;
  }
  notes->text = notes->text == NULL ? s2_memory_take(SIZE) : notes->text;
  // The text is "what (hinge #1, hinge #2, ...)", truncated if it is too long.
  size_t at = (size_t)snprintf(notes->text, SIZE, "%s", what);
  for (int i = 0; i < island->joints && i < NAMED && at < SIZE; i++) {
    char label[S2_NAME_SIZE + 32];
    s2_joint_label(step->world, island->joint[i], label);
    bool last = i + 1 == island->joints || i + 1 == NAMED;
    at += (size_t)snprintf(notes->text + at, SIZE - at, "%s%s%s", i == 0 ? " (" : ", ", label,
                           !last                    ? ""
                           : island->joints > NAMED ? ", ...)"
                                                    : ")");
  }
  notes->reason = notes->text;
}

void s2_note_unsolved(const S2Step *step) {
  if (step->world->notes != NULL) {
    step->world->notes->unsolved = true;
  }
}
