// What the passes of a search's look-ahead found, for the next search of the same step. It begins
// anew, with rows at the surfaces as they are at the start of the step, and most of its points are
// those of the search before: each of its passes begins at what the same pass found there, which as
// a rule is the solution.
#include "dynamics/schemes/schemes.h"

// Of so many touches or fewer: such an island is solved at once from any guess, and not worth it.
enum { FOUND_TOUCHES = 20 };

struct S2Found {            // of one touch after one pass; empty where it was in no large island
  int32_t shape_a, shape_b; // of the first pass
  int count;
  uint32_t id[2];
  double normal[2], tangent[2]; // N s
};

void s2_found_begin(S2Step *step) {
  step->found_before = step->found;
  step->found_before_count = step->found_count;
  step->found = NULL;
  step->found_count = step->touch_count;
  bool large = false;
  for (int i = 0; i < step->island_count; i++) {
    large |= step->islands[i].touches > FOUND_TOUCHES;
  }
  if (large) {
    step->found = S2_TAKE_ZEROED(step->arena, S2Found, S2_FOUND_PASSES * step->touch_count);
    for (int i = 0; i < step->touch_count; i++) {
      step->found[i].shape_a = step->touches[i].shape_a;
      step->found[i].shape_b = step->touches[i].shape_b;
    }
  }
}

// The list of the first pass is sorted by shapes, as touches are.
static const S2Found *found_by_pass(const S2Step *step, const S2Touch *touch, int pass) {
  const S2Found *list = step->found_before;
  int lo = 0, hi = step->found_before_count;
  while (lo < hi) {
    int middle = (lo + hi) / 2;
    const S2Found *at = &list[middle];
    bool less = at->shape_a < touch->shape_a ||
                (at->shape_a == touch->shape_a && at->shape_b < touch->shape_b);
    lo = less ? middle + 1 : lo;
    hi = less ? hi : middle;
  }
  bool there = lo < step->found_before_count && list[lo].shape_a == touch->shape_a &&
               list[lo].shape_b == touch->shape_b;
  return there ? &list[pass * step->found_before_count + lo] : NULL;
}

void s2_found_guess(S2Step *step, const S2Island *island, int pass) {
  if (step->h != step->dt || step->found_before == NULL || pass >= S2_FOUND_PASSES ||
      island->touches <= FOUND_TOUCHES) {
    return;
  }
  for (int i = 0; i < island->touches; i++) {
    S2Touch *touch = &step->touches[island->touch[i]];
    const S2Found *found = found_by_pass(step, touch, pass);
    for (int k = 0; found != NULL && k < touch->count; k++) {
      for (int j = 0; j < found->count; j++) {
        if (found->id[j] == touch->points[k].at.id) {
          touch->points[k].normal_impulse = found->normal[j];
          touch->points[k].tangent_impulse = found->tangent[j];
        }
      }
    }
  }
}

void s2_found_keep(S2Step *step, const S2Island *island, int pass) {
  if (step->h != step->dt || step->found == NULL || pass >= S2_FOUND_PASSES ||
      island->touches <= FOUND_TOUCHES) {
    return;
  }
  for (int i = 0; i < island->touches; i++) {
    int32_t index = island->touch[i];
    const S2Touch *touch = &step->touches[index];
    S2Found *found = &step->found[pass * step->found_count + index];
    found->count = touch->count;
    for (int k = 0; k < touch->count; k++) {
      found->id[k] = touch->points[k].at.id;
      found->normal[k] = touch->points[k].normal_impulse;
      found->tangent[k] = touch->points[k].tangent_impulse;
    }
  }
}
