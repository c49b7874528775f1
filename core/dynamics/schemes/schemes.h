// The ways to order the phases of a step, and what they share. step.c has the order of each.
#ifndef S2_SCHEMES_H
#define S2_SCHEMES_H

#include "dynamics/step/context.h"

// Speculative (speculative.c). False: aborted.
// The solves that look ahead, of all islands, into v1 and q1; of one.
bool s2_step_look_ahead(S2Step *step, S2Choice *choices);
// With `solved` the first solve is an attempt: without an answer that is found soon *solved is
// false, and velocities and impulses are what they were.
bool s2_island_look_ahead(S2Step *step, const S2Island *island, S2Choice *choices, bool *solved);
// What arrived, from v1 into v2, which is v1 so far.
bool s2_island_impact(S2Step *step, const S2Island *island, S2Choice *choices, bool *touching);
// S2Island.flowed_q1 or flowed_v2 to 3 a slot; false: there are none.
bool s2_island_put_flowed(const S2Island *island, const double *flowed, double *to);
// Has a body gone further than the search for touches looked? Sets `slack`.
bool s2_step_outran(S2Step *step);
// What a search has seen of a touch: its points and how far apart they were; and whether the
// touches are the same as those. (The touches themselves move on with the step.)
typedef struct S2SeenTouch {
  int32_t shape_a, shape_b, count;
  uint32_t id[2];
  double gap[2];
} S2SeenTouch;
const S2SeenTouch *s2_step_see(const S2Step *step); // 1 a touch; lives as long as the step
bool s2_step_same_points(const S2Step *step, const S2SeenTouch *seen, int count);

// Guesses of a search from the one before it (found.c).
#define S2_FOUND_PASSES 3          // of the look-ahead; later ones are rare
#define S2_FOUND_IMPACT 3          // in the place of a pass: the impact behind them
#define S2_FOUND_LISTS  4          // of touches
void s2_found_begin(S2Step *step); // a search, its islands being known
void s2_found_guess(S2Step *step, const S2Island *island, int pass); // sets impulses of its points
void s2_found_keep(S2Step *step, const S2Island *island, int pass);
// Of an impact without rebound: the guess, as S2Step.impact; `before`: s2_step_contact_impulses of
// before it.
double *s2_found_guess_impact(const S2Step *step, const S2Island *island);
void s2_found_keep_impact(S2Step *step, const S2Island *island, const double *before);
// The next step of a large island begins with the impulses of the motion alone: those before the
// impact (NULL: the island is small), which at the end of the step, as its adjoint wants all of
// them, points that are still there get back.
S2Found *s2_found_pressed(const S2Step *step, const S2Island *island);
void s2_found_forget_impact(S2Step *step, const S2Island *island, const S2Found *pressed);

// Bisect (bisect.c): substeps of a step, each tried with half its length while it ends in overlaps.
typedef struct S2Bisect {
  double tolerance, before; // m: of overlaps; the deepest one as the substep began
  double smallest, h, next; // s: no substep is tried below; this one; the next one
  double left;              // s of the step
  int unsolved, noted;      // as the substep began
  S2ArenaMark clean;        // what attempts take from the arena comes behind
  double *carried;          // 3 a joint slot: reactions in the substeps before
} S2Bisect;
S2Bisect s2_bisect_begin(S2Step *step);
void s2_bisect_set_out(const S2Step *step, S2Bisect *bisect); // a substep begins
void s2_bisect_forget(S2Step *step, const S2Bisect *bisect);  // the attempt before
bool s2_bisect_solve(S2Step *step);                           // v1 = v2; false: aborted
bool s2_bisect_halves(const S2Step *step, S2Bisect *bisect);  // is half of it to be tried?
void s2_bisect_go_on(S2Step *step, S2Bisect *bisect);         // the substep is done
void s2_bisect_end(S2Step *step, const S2Bisect *bisect);

// Event (event.c): each island by itself through its meetings, from what one search has found.
typedef struct S2EventSearch {
  const double *q, *v, *free_v, *mass; // 3 a slot, as the step begins
  double *astray;          // m, a slot: how far it has been from where it would be with free_v
  const S2SeenTouch *seen; // what the last search has found
  int seen_count, noted, splits;
} S2EventSearch;
S2EventSearch s2_event_begin(S2Step *step);
void s2_event_back_to_start(S2Step *step, const S2EventSearch *search);
bool s2_event_found_more(const S2Step *step, const S2EventSearch *search); // than the one before?
bool s2_event_run(S2Step *step, S2EventSearch *search); // all islands to the end; false: aborted
// Did bodies go where the search has not looked? `slack` learns it.
bool s2_event_outran(const S2Step *step, const S2EventSearch *search);
void s2_event_settle(const S2Step *step); // pairs that are in no island, as they are at the end
// Is all of its step speculative?
bool s2_island_looks_ahead(const S2Step *step, const S2Island *island);

#endif
