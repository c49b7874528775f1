// Stores initial guesses for the next search of the same step.
// The guesses are the results of the predictive passes of this search. The next search restarts
// with rows at the initial surfaces and usually finds the same points. Each of its passes starts
// from the result of the same pass in this search, which usually is the solution. Guesses are also
// stored for the impact that follows.
#include "dynamics/impact/impact.h"
#include "dynamics/schemes/schemes.h"

// Islands with at most this many touches need no stored guesses, because any guess leads to the
// solution quickly.
enum { FOUND_TOUCHES = 20 };

// The guess for one touch in one list. Empty if the touch was not in a large island.
struct S2Found {
  int32_t shape_a, shape_b; // set only in the first list
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
    step->found = S2_TAKE_ZEROED(step->arena, S2Found, S2_FOUND_LISTS * step->touch_count);
    for (int i = 0; i < step->touch_count; i++) {
      step->found[i].shape_a = step->touches[i].shape_a;
      step->found[i].shape_b = step->touches[i].shape_b;
    }
  }
}

// Returns true if the island uses stored guesses.
static bool found_has(const S2Step *step, const S2Island *island, const S2Found *list) {
  return step->h == step->dt && list != NULL && island->touches > FOUND_TOUCHES;
}

// Finds the stored guess of a touch. The list of the first pass is sorted by shapes, like the
// touches.
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

// Returns the index of point k of the touch in the stored guess, or -1.
static int found_point(const S2Found *found, const S2Touch *touch, int k) {
  for (int j = 0; found != NULL && j < found->count; j++) {
    if (found->id[j] == touch->points[k].at.id) {
      return j;
    }
  }
  return -1;
}

static void found_put(const S2Found *found, S2Touch *touch) {
  for (int k = 0; k < touch->count; k++) {
    int j = found_point(found, touch, k);
    if (j >= 0) {
      touch->points[k].normal_impulse = found->normal[j];
      touch->points[k].tangent_impulse = found->tangent[j];
    }
  }
}

// Stores the impulses of a touch. If `less` is not NULL, it contains S2_TOUCH_IMPULSES earlier
// impulses, which are subtracted.
static void found_take(S2Found *found, const S2Touch *touch, const double *less) {
  found->count = touch->count;
  for (int k = 0; k < touch->count; k++) {
    found->id[k] = touch->points[k].at.id;
    found->normal[k] = touch->points[k].normal_impulse - (less == NULL ? 0 : less[2 * k]);
    found->tangent[k] = touch->points[k].tangent_impulse - (less == NULL ? 0 : less[2 * k + 1]);
  }
}

void s2_found_guess(S2Step *step, const S2Island *island, int pass) {
  if (pass >= S2_FOUND_PASSES || !found_has(step, island, step->found_before)) {
    return;
  }
  for (int i = 0; i < island->touches; i++) {
    S2Touch *touch = &step->touches[island->touch[i]];
    found_put(found_by_pass(step, touch, pass), touch);
  }
}

double *s2_found_guess_impact(const S2Step *step, const S2Island *island) {
  if (!found_has(step, island, step->found_before)) {
    return NULL;
  }
  double *guess = S2_TAKE_ZEROED(step->arena, double, S2_TOUCH_IMPULSES * island->touches);
  for (int i = 0; i < island->touches; i++) {
    const S2Touch *touch = &step->touches[island->touch[i]];
    const S2Found *found = found_by_pass(step, touch, S2_FOUND_IMPACT);
    for (int k = 0; k < touch->count; k++) {
      int j = found_point(found, touch, k);
      guess[S2_TOUCH_IMPULSES * i + 2 * k] = j < 0 ? 0 : found->normal[j];
      guess[S2_TOUCH_IMPULSES * i + 2 * k + 1] = j < 0 ? 0 : found->tangent[j];
    }
  }
  return guess;
}

void s2_found_keep(S2Step *step, const S2Island *island, int pass) {
  bool keeps = pass < S2_FOUND_PASSES && found_has(step, island, step->found);
  for (int i = 0; keeps && i < island->touches; i++) {
    int32_t at = island->touch[i];
    found_take(&step->found[pass * step->found_count + at], &step->touches[at], NULL);
  }
}

void s2_found_keep_impact(S2Step *step, const S2Island *island, const double *before) {
  bool keeps = found_has(step, island, step->found);
  for (int i = 0; keeps && i < island->touches; i++) {
    int32_t at = island->touch[i];
    found_take(&step->found[S2_FOUND_IMPACT * step->found_count + at], &step->touches[at],
               before + S2_TOUCH_IMPULSES * i);
  }
}

S2Found *s2_found_pressed(const S2Step *step, const S2Island *island) {
  if (island->touches <= FOUND_TOUCHES) {
    return NULL;
  }
  S2Found *pressed = S2_TAKE(step->arena, S2Found, island->touches);
  for (int i = 0; i < island->touches; i++) {
    found_take(&pressed[i], &step->touches[island->touch[i]], NULL);
  }
  return pressed;
}

void s2_found_forget_impact(S2Step *step, const S2Island *island, const S2Found *pressed) {
  for (int i = 0; pressed != NULL && i < island->touches; i++) {
    found_put(&pressed[i], &step->touches[island->touch[i]]);
  }
}
