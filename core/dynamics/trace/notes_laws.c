// Records the results of force laws in a step, and the state of their bodies before the act.
#include "dynamics/trace/notes.h"

#include <string.h>

static void *laws_copy(S2Notes *notes, const void *from, size_t bytes) {
  void *to = s2_note_take(notes, bytes);
  if (bytes > 0) {
    memcpy(to, from, bytes);
  }
  return to;
}

void s2_note_terms(S2Notes *notes, S2LawAnswer *answer) {
  answer->term = laws_copy(notes, answer->term, sizeof *answer->term * (size_t)answer->terms);
}

void s2_note_laws(const S2Step *step, const S2Island *island, S2Act act, const S2LawsAct *laws) {
  S2Notes *notes = step->world->notes;
  if (notes == NULL) {
    return;
  }
  S2Note *note = island == NULL ? s2_note_add(step, act) : s2_note_add_island(step, island, act);
  size_t count = (size_t)laws->count;
  S2LawsAct *kept = laws_copy(notes, laws, sizeof *laws);
  kept->answers = laws_copy(notes, laws->answers, sizeof *laws->answers * count);
  note->laws.act = kept;
  note->laws.force = s2_note_take(notes, sizeof(double) * 3 * count);
  note->laws.v2 = s2_note_take(notes, sizeof(double) * 3 * count);
  for (int i = 0; i < laws->count; i++) {
    S2LawAnswer *answer = &kept->answers[i];
    s2_note_terms(notes, answer);
    memcpy(note->laws.force + 3 * i, step->force + 3 * answer->slot, 3 * sizeof(double));
    memcpy(note->laws.v2 + 3 * i, step->v2 + 3 * answer->slot, 3 * sizeof(double));
  }
}
