// Records the calls of the program's functions in a step, with their results and derivatives.
#include "dynamics/trace/notes.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 1024 };

static const S2Answer **answers_of(const S2Notes *notes, S2Asked asked, int32_t slot) {
  return &notes->answers[asked == S2_ASKED_BODY ? notes->joint_slots + slot : slot];
}

static const char *answer_no_slope(S2Asked asked) {
  switch (asked) {
  case S2_ASKED_PULL:
    return "a spring with a force law";
  case S2_ASKED_LOCK:
    return "a lock moved by the program";
  case S2_ASKED_BODY:
    return "a body moved by the program";
  default:
    return "a joint of type constraint";
  }
}

static void *keep_answer(S2Notes *notes, const void *from, size_t bytes) {
  void *to = s2_notes_take(notes, &notes->answer_block, BLOCK, bytes);
  memcpy(to, from, bytes);
  return to;
}

void s2_note_answer(S2World *world, const S2Answer *answer) {
  S2Notes *notes = world->notes;
  if (notes == NULL) {
    return;
  }
  // Without slopes, the step has no derivative.
  if (answer->slope == NULL) {
    notes->reason = answer_no_slope(answer->asked);
    return;
  }
  if (notes->answers == NULL) {
    size_t bytes = sizeof(void *) * (size_t)(notes->joint_slots + notes->slots);
    notes->answers = s2_notes_take(notes, &notes->answer_block, BLOCK, bytes);
    memset(notes->answers, 0, bytes);
  }
  // Add the result to the list of its joint or body, newest first.
  size_t count = (size_t)answer->count;
  const S2Answer **newest = answers_of(notes, answer->asked, answer->slot);
  S2Answer *kept = keep_answer(notes, answer, sizeof *answer);
  kept->earlier = *newest;
  kept->number = keep_answer(notes, answer->number, sizeof *answer->number * count);
  kept->slope = keep_answer(notes, answer->slope, sizeof *answer->slope * count);
  *newest = kept;
}

const S2Answer *s2_notes_answer(const S2Notes *notes, const S2Answer *like) {
  // Equal times may be sums with different rounding errors. Different times are at least a fraction
  // of a step apart.
  static const double SAME = 1e-12;
  const S2Answer *at = notes->answers == NULL ? NULL : *answers_of(notes, like->asked, like->slot);
  // Start with the newest result, which is usually the requested one.
  while (at != NULL) {
    // Poses must be exactly equal. Times must be equal up to rounding.
    bool same = at->asked == like->asked && fabs(at->t - like->t) <= SAME * (1 + fabs(like->t));
    for (int i = 0; i < S2_JOINT_COLUMNS; i++) {
      same = same && at->q[i] == like->q[i];
    }
    if (same) {
      break;
    }
    at = at->earlier;
  }
  return at;
}
