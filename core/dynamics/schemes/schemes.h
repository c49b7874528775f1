// The stepping schemes and their common functions.
// The schemes call the phases of a step in different orders, which step.c defines.
#ifndef S2_SCHEMES_H
#define S2_SCHEMES_H

#include "dynamics/step/context.h"

// Speculative (speculative.c). These functions return false if aborted. s2_step_look_ahead performs
// the predictive solves of all islands and writes v1 and q1. s2_island_look_ahead does this for one
// island.
bool s2_step_look_ahead(S2Step *step, S2Choice *choices);
// If `solved` is not NULL, the first solve is an attempt. If the attempt does not converge soon,
// *solved is false, and velocities and impulses are unchanged.
bool s2_island_look_ahead(S2Step *step, const S2Island *island, S2Choice *choices, bool *solved);
// Solves the impact of arriving contacts. Starts from v1 and writes v2. Before the call, v2 must be
// equal to v1.
bool s2_island_impact(S2Step *step, const S2Island *island, S2Choice *choices, bool *touching);
// Copies S2Island.flowed_q1 or flowed_v2 to an array with 3 entries per slot. Returns false if
// there are no such data.
bool s2_island_put_flowed(const S2Island *island, const double *flowed, double *to);
// Returns true if a body has moved farther than the search for touches assumed. Sets `slack`.
bool s2_step_outran(S2Step *step);
// A copy of the touches found by a search, with their points and gaps. The touches themselves
// change during the step. s2_step_same_points compares the current touches with this copy.
typedef struct S2SeenTouch {
  int32_t shape_a, shape_b, count;
  uint32_t id[2];
  double gap[2];
} S2SeenTouch;
const S2SeenTouch *s2_step_see(const S2Step *step); // 1 per touch; valid until the step ends.
bool s2_step_same_points(const S2Step *step, const S2SeenTouch *seen, int count);

// Initial guesses from the last search of the same step (found.c). The first S2_FOUND_PASSES
// predictive passes have guesses. Later passes are rare.
#define S2_FOUND_PASSES 3
#define S2_FOUND_IMPACT 3          // index of the list for the impact that follows
#define S2_FOUND_LISTS  4          // number of lists of touches
void s2_found_begin(S2Step *step); // starts a search; islands are known
void s2_found_guess(S2Step *step, const S2Island *island, int pass); // sets impulses of the points.
void s2_found_keep(S2Step *step, const S2Island *island, int pass);
// Returns the guess for an impact without rebound, in the format of S2Step.impact. `before` is
// s2_step_contact_impulses before the impact.
double *s2_found_guess_impact(const S2Step *step, const S2Island *island);
void s2_found_keep_impact(S2Step *step, const S2Island *island, const double *before);
// s2_found_pressed returns the impulses of the motion, or NULL if the island is small. The next
// step of a large island starts from these impulses, without the impulses of the impact. They are
// restored only at the end of the step, because the adjoint of this step needs all impulses.
S2Found *s2_found_pressed(const S2Step *step, const S2Island *island);
void s2_found_forget_impact(S2Step *step, const S2Island *island, const S2Found *pressed);

// Bisecting stepping (bisect.c). Repeats each substep with half its length until it ends without
// overlaps.
typedef struct S2Bisect {
  double tolerance, before; // tolerance of overlaps, and the deepest overlap before the substep (m)
  double smallest, h, next; // lengths of the smallest, the current and the next substep (s)
  double left;              // remainder of the step (s)
  int unsolved, noted;      // S2Step.unsolved and mark of the notes, at the start of the substep
  S2ArenaMark clean;        // position of the arena before any attempt
  double *carried;          // sums of the reactions of earlier substeps, 3 per joint slot
} S2Bisect;
S2Bisect s2_bisect_begin(S2Step *step);
void s2_bisect_set_out(const S2Step *step, S2Bisect *bisect); // starts a substep
void s2_bisect_forget(S2Step *step, const S2Bisect *bisect);  // discards the previous attempt
bool s2_bisect_solve(S2Step *step); // sets v1 = v2, returns false if aborted
// returns true if the substep must be halved
bool s2_bisect_halves(const S2Step *step, S2Bisect *bisect);
void s2_bisect_go_on(S2Step *step, S2Bisect *bisect); // ends the substep
void s2_bisect_end(S2Step *step, const S2Bisect *bisect);

// Event stepping (event.c). Steps each island separately from one impact time to the next, with the
// touches of one search.
typedef struct S2EventSearch {
  const double *q, *v, *free_v, *mass; // 3 per slot, at the start of the step
  double *astray;          // the largest distance (m) from the motion with free_v, per slot
  const S2SeenTouch *seen; // results of the last search
  int seen_count, noted, splits;
} S2EventSearch;
S2EventSearch s2_event_begin(S2Step *step);
void s2_event_back_to_start(S2Step *step, const S2EventSearch *search);
// Returns true if the last search found more touches than the search before it.
bool s2_event_found_more(const S2Step *step, const S2EventSearch *search);
// steps all islands, returns false if aborted
bool s2_event_run(S2Step *step, S2EventSearch *search);
// Returns true if bodies have left the region that the search covered. Updates `slack`.
bool s2_event_outran(const S2Step *step, const S2EventSearch *search);
void s2_event_settle(const S2Step *step); // called at the end, for pairs outside islands
// Returns true if the whole step of the island is speculative.
bool s2_island_looks_ahead(const S2Step *step, const S2Island *island);

#endif
