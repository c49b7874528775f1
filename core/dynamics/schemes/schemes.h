// The schemes, which call the phases of a step in different orders, and their common functions.
// step.c has the order of each scheme.
#ifndef S2_SCHEMES_H
#define S2_SCHEMES_H

#include "dynamics/step/context.h"

// Speculative (speculative.c). The following functions return false if aborted. s2_step_look_ahead
// makes the predictive solves of all islands, into v1 and q1; s2_island_look_ahead makes the solves
// of one island.
bool s2_step_look_ahead(S2Step *step, S2Choice *choices);
// If `solved` is given, the first solve is an attempt. If it does not converge soon, *solved is
// false, and velocities and impulses are unchanged.
bool s2_island_look_ahead(S2Step *step, const S2Island *island, S2Choice *choices, bool *solved);
// Solves the impact of arriving contacts, from v1 into v2. Before the call, v2 must be equal to v1.
bool s2_island_impact(S2Step *step, const S2Island *island, S2Choice *choices, bool *touching);
// Copies S2Island.flowed_q1 or flowed_v2 to 3 per slot; false: there are none.
bool s2_island_put_flowed(const S2Island *island, const double *flowed, double *to);
// Whether a body has gone farther than the search for touches covered. Sets `slack`.
bool s2_step_outran(S2Step *step);
// The touches that a search has found, with their points and gaps, and (s2_step_same_points)
// whether the present touches are the same. (The touches themselves change during the step.)
typedef struct S2SeenTouch {
  int32_t shape_a, shape_b, count;
  uint32_t id[2];
  double gap[2];
} S2SeenTouch;
const S2SeenTouch *s2_step_see(const S2Step *step); // 1 per touch; lives as long as the step
bool s2_step_same_points(const S2Step *step, const S2SeenTouch *seen, int count);

// Guesses that a search gets from the last search (found.c).
// number of predictive passes with guesses; later passes are rare
#define S2_FOUND_PASSES 3
#define S2_FOUND_IMPACT 3          // index of the following impact, in place of a pass
#define S2_FOUND_LISTS  4          // lists of touches
void s2_found_begin(S2Step *step); // begins a search with known islands
void s2_found_guess(S2Step *step, const S2Island *island, int pass); // sets impulses of its points
void s2_found_keep(S2Step *step, const S2Island *island, int pass);
// For an impact without rebound: the guess, in the form of S2Step.impact. `before`:
// s2_step_contact_impulses before the impact.
double *s2_found_guess_impact(const S2Step *step, const S2Island *island);
void s2_found_keep_impact(S2Step *step, const S2Island *island, const double *before);
// The next step of a large island begins with the impulses of the motion alone, before the impact
// (NULL: the island is small). The adjoint of this step needs all impulses. So the impulses of the
// motion are only restored at the end of the step, at points that still exist.
S2Found *s2_found_pressed(const S2Step *step, const S2Island *island);
void s2_found_forget_impact(S2Step *step, const S2Island *island, const S2Found *pressed);

// Bisect (bisect.c): substeps, each tried with half its length while it ends in overlaps.
typedef struct S2Bisect {
  double tolerance, before; // m: tolerance of overlaps; deepest overlap at the start of the substep
  double smallest, h, next; // s: smallest substep; the present one; the next one
  double left;              // s of the step
  int unsolved, noted;      // values at the start of the substep
  S2ArenaMark clean;        // arena position before the memory of attempts
  double *carried;          // 3 per joint slot: reactions of earlier substeps
} S2Bisect;
S2Bisect s2_bisect_begin(S2Step *step);
void s2_bisect_set_out(const S2Step *step, S2Bisect *bisect); // a substep begins
void s2_bisect_forget(S2Step *step, const S2Bisect *bisect);  // discards the previous attempt
bool s2_bisect_solve(S2Step *step);                           // v1 = v2; false: aborted
bool s2_bisect_halves(const S2Step *step, S2Bisect *bisect);  // whether to try half of the substep
void s2_bisect_go_on(S2Step *step, S2Bisect *bisect);         // the substep is complete
void s2_bisect_end(S2Step *step, const S2Bisect *bisect);

// Event (event.c): each island is stepped separately through its meetings, with the results of one
// search.
typedef struct S2EventSearch {
  const double *q, *v, *free_v, *mass; // 3 per slot, at the start of the step
  double *astray;                      // m, per slot: largest distance from the motion with free_v
  const S2SeenTouch *seen;             // results of the last search
  int seen_count, noted, splits;
} S2EventSearch;
S2EventSearch s2_event_begin(S2Step *step);
void s2_event_back_to_start(S2Step *step, const S2EventSearch *search);
// whether the last search found more than the search before it
bool s2_event_found_more(const S2Step *step, const S2EventSearch *search);
bool s2_event_run(S2Step *step, S2EventSearch *search); // steps all islands; false: aborted
// Whether bodies went where the search has not looked. Updates `slack`.
bool s2_event_outran(const S2Step *step, const S2EventSearch *search);
void s2_event_settle(const S2Step *step); // settles pairs in no island, at the end
// Whether the whole step of the island is speculative.
bool s2_island_looks_ahead(const S2Step *step, const S2Island *island);

#endif
