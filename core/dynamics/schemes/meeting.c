// Finds the impact times of bodies in a piece of event stepping (event.c).
// Also computes flows (motions of a piece) that end at an impact time.
#include "dynamics/project/passage.h"
#include "dynamics/schemes/event.h"

// The number of samples within a piece of the two-stage flow, for pairs known only at both ends. A
// corner, for example, may slide over the end of a segment in between. The number is a compromise,
// because an overlap that lasts for less than a fifth of the piece may be missed.
enum { LOOKS = 4 };

// Returns the last flow as a function of time, for the bodies of the island's touches.
static S2Flow as_function(const S2EventRun *event, double until) {
  const S2Step *step = event->step;
  for (int i = 0; i < 2 * event->island->touches; i++) {
    const S2Touch *touch = &step->touches[event->island->touch[i / 2]];
    int32_t slot = i % 2 == 0 ? touch->body_a : touch->body_b;
    bool ground = step->node_of[slot] == S2_GROUND;
    bool straight = ground || (event->straight && !event->rattled);
    for (int c = 3 * slot; c < 3 * slot + 3; c++) {
      // A piece of the two-stage flow starts with v0 and moves at the mean velocity u over h.
      double over = event->rattled ? step->carry[c] - step->v0[c] : (step->v1[c] - step->v0[c]) / 2;
      event->v[c] = straight ? step->carry[c] : step->v0[c];
      event->bend[c] = straight ? 0 : over / step->h;
    }
  }
  double leaving = S2_EVENT_LEAVING * (event->left / event->horizon);
  int looks = event->rattled ? LOOKS : 0;
  return (S2Flow){event->step, until, leaving, event->v, event->bend, event->slop, looks};
}

// Restores q1, which the search for impact times has overwritten.
static void go_to_end(const S2EventRun *event) {
  const S2Step *step = event->step;
  for (int i = 0; i < event->island->nodes; i++) {
    int32_t at = 3 * event->island->node[i];
    for (int c = at; c < at + 3 && event->rattled; c++) {
      step->q1[c] = step->q0[c] + step->h * step->carry[c];
    }
    if (!event->rattled) {
      s2_step_carry(step, event->island->node[i]);
    }
  }
  s2_event_place_ground(event);
}

// Returns true if the nearest point that does not rest is just touching.
static bool just_touches(const S2EventRun *event, const S2Touch *touch, const S2Resting *resting) {
  const S2TouchPoint *point = s2_flow_nearest(touch, resting);
  return point != NULL && fabs(point->at.gap) <= S2_EVENT_PRESSED * event->slop;
}

S2FlowEnd s2_event_find_meeting(const S2EventRun *event, const S2Touch *before, int met,
                                int *first) {
  const S2Step *step = event->step;
  S2Flow way = as_function(event, step->h);
  bool shorter = step->h < event->horizon;
  S2FlowEnd earliest = {INFINITY, false};
  for (int i = 0; i < event->island->touches; i++) {
    const S2Touch *end = &step->touches[event->island->touch[i]];
    if (i == met || s2_touch_soft(&before[i]) ||
        (shorter && just_touches(event, end, &event->resting[i]))) {
      continue;
    }
    S2FlowEnd pair = s2_flow_meet(&way, &before[i], &event->resting[i], end);
    if (pair.at < earliest.at) {
      earliest = pair;
      *first = i;
    }
  }
  go_to_end(event);
  return earliest;
}

// Returns true if the touch still has the feature of a point.
static bool has_feature(const S2Touch *touch, uint32_t id) {
  bool any = false;
  for (int k = 0; k < touch->count; k++) {
    any |= touch->points[k].at.id == id;
  }
  return any;
}

// Returns the current distance (m) of a contact point from its surface. If its feature no longer
// exists, uses the nearest feature.
static double gap_now(const S2Touch *touch, const S2TouchPoint *point) {
  double nearest = INFINITY;
  for (int k = 0; k < touch->count; k++) {
    const S2ManifoldPoint *at = &touch->points[k].at;
    if (at->id == point->at.id) {
      return at->gap;
    }
    nearest = fmin(nearest, at->gap);
  }
  return touch->count > 0 ? nearest : 0;
}

// Returns the largest distance (m) of the resting points of touch i from their surfaces at the end
// of the flow. *passed is true if a point has moved around a corner.
static double off_rows(const S2EventRun *event, const S2Touch *solved, int i, bool *passed) {
  const S2Touch *touch = &event->step->touches[event->island->touch[i]];
  double off = 0;
  for (int k = 0; k < solved[i].count; k++) {
    const S2TouchPoint *point = &solved[i].points[k];
    // a soft contact pushes as long as its feature exists
    if (s2_touch_soft(touch) && event->rattled) {
      off = fmax(off, point->normal_impulse > 0 ? gap_now(touch, point) : 0);
    } else if (s2_resting_has(&event->resting[i], point->at.id)) {
      double gap = gap_now(touch, point);
      // a point without impulse may separate
      off = fmax(off, point->normal_impulse > 0 ? fabs(gap) : -gap);
      *passed |= !has_feature(touch, point->at.id);
    }
  }
  return off;
}

bool s2_event_rows_hold(const S2EventRun *event, const S2Touch *solved) {
  const S2Step *step = event->step;
  bool hold = true, looked = false;
  for (int i = 0; i < event->island->touches && hold; i++) {
    bool passed = false;
    double off = off_rows(event, solved, i, &passed);
    if (!(off > 0) && !passed) {
      continue;
    }
    double thin = s2_touch_thin(step->world, &solved[i]);
    hold = off <= thin;
    if (hold && passed) {
      S2Flow way = as_function(event, step->h);
      hold = s2_flow_deepest(&way, &solved[i], thin / 4) <= thin / 4;
      looked = true;
    }
  }
  if (looked) {
    go_to_end(event);
  }
  return hold;
}

// The result of a flow of a trial length, for the pair that should meet at the end of the flow.
typedef struct Trial {
  double gap;      // gap at the end of the flow (m)
  bool early;      // true if the pair meets before the end
  S2FlowEnd whole; // impact time if the flow continues for the whole piece
  bool appears;    // true if the point that touches at the end did not exist just before the end
} Trial;

// Returns a tolerance (s). An impact time is at the end of a flow if their difference is below it.
static double meeting_rounding(const S2EventRun *event) {
  return 4 * S2_EVENT_ROUNDING * event->left;
}

// Returns true if the point did not exist just before the end of a flow. The vertex between two
// segments of a chain belongs to one of them at a time. When an edge that rests on the vertex
// turns, the vertex may suddenly change to the other segment, even after a long contact.
static bool just_appears(const S2EventRun *event, const S2Flow *way, const S2Touch *before,
                         const S2Resting *resting, double tau, double gap) {
  double earlier = fmax(tau - 2 * meeting_rounding(event), 0);
  return fabs(gap) <= event->slop && s2_flow_gap(way, before, resting, earlier) > event->slop;
}

// Computes the flow of length `tau`. Returns false if aborted.
static bool flow_for(S2EventRun *event, const S2Meeting *meeting, double tau, Trial *trial) {
  const S2Touch *before = &meeting->before[meeting->first];
  const S2Resting *resting = &event->resting[meeting->first];
  s2_event_put_touches(event, meeting->before);
  s2_notes_rewind(event->step, meeting->noted);
  if (!s2_event_flow(event, tau, meeting->rows)) {
    return false;
  }
  S2Flow way = as_function(event, event->horizon);
  trial->gap = s2_flow_gap(&way, before, resting, tau);
  trial->whole = s2_flow_meet(&way, before, resting, NULL);
  // If the pair is open at the end, an impact just before the end also counts as early.
  double end = trial->gap > S2_EVENT_MET * event->slop ? tau - meeting_rounding(event)
                                                       : tau * (1 - S2_EVENT_EARLY);
  trial->early = trial->whole.at < end;
  trial->appears = trial->whole.meets && fabs(trial->whole.at - tau) <= meeting_rounding(event) &&
                   just_appears(event, &way, before, resting, tau, trial->gap);
  go_to_end(event);
  return true;
}

// A bracket of flow lengths. A flow of length `lo` ends before the impact. A flow of length `hi`
// ends at or after the impact.
typedef struct Bracket {
  double lo, hi, gap_lo, gap_hi;
  double out, gap_out; // the bound that was replaced last, or gap_out = 0 if there is none
} Bracket;

// Replaces a bound of the bracket. If the shapes have passed through each other, the pair may be
// open on the other side at the end. In that case its gap is ignored.
static void meeting_tighten(Bracket *at, double s, const Trial *trial) {
  bool meets = trial->gap < 0 || trial->early;
  if (!meets && s > at->lo) {
    at->out = at->lo, at->gap_out = at->gap_lo;
    at->lo = s, at->gap_lo = trial->gap;
  } else if (meets && s < at->hi) {
    bool first = !isfinite(at->hi);
    at->out = first ? at->out : at->hi;
    at->gap_out = first ? at->gap_out : at->gap_hi;
    at->hi = s, at->gap_hi = trial->gap;
  }
}

// Returns the zero of the parabola through both bounds and the bound that was replaced last. A
// parabola suits motions that forces reverse, because they are quadratic in time. Without a third
// point, returns the zero of the chord.
static double meeting_interpolate(const Bracket *at) {
  double width = at->hi - at->lo, chord = (at->gap_hi - at->gap_lo) / width;
  double bend = 0;
  if (at->gap_out != 0 && isfinite(at->gap_out)) {
    bend = ((at->gap_out - at->gap_hi) / (at->out - at->hi) - chord) / (at->out - at->lo);
  }
  double slope = chord - bend * width; // at lo
  double root = sqrt(fmax(slope * slope - 4 * bend * at->gap_lo, 0));
  // This form of the root avoids cancellation.
  double s = slope <= 0 ? 2 * at->gap_lo / (root - slope) : -(slope + root) / (2 * bend);
  return s > 0 && s < width ? at->lo + s : at->lo + at->gap_lo / -chord;
}

static bool trial_meets(const S2EventRun *event, const Trial *trial) {
  return fabs(trial->gap) <= S2_EVENT_MET * event->slop && !trial->early;
}

// Estimates the length of a flow that ends at its impact time, from two lengths and the impact
// times of their flows.
static double meeting_secant(double tau, double s, double last, double last_s) {
  double slope = tau != last ? (s - last_s) / (tau - last) : 0;
  return tau + (s - tau) / (1 - slope);
}

// Returns the next length to try. Every fourth length halves the bracket, which bounds the number
// of passes. `secant` is a length computed from impact times, or NAN. It is used for pairs that are
// open again at the end of a flow that is too long.
static double meeting_next(const S2EventRun *event, const Bracket *at, double secant, int pass) {
  double next = at->lo + (at->hi - at->lo) / 2;
  if (pass % 4 == 3) {
    return next;
  }
  // Gaps that are out of reach are infinite and cannot be interpolated.
  if (isfinite(at->gap_lo) && at->gap_lo > S2_EVENT_MET * event->slop && at->gap_hi < 0) {
    return meeting_interpolate(at);
  }
  return secant > at->lo && secant < at->hi ? secant : next;
}

// Searches for a flow length between one without an impact and one whose flow has an impact before
// its end. This search is used if a simple prediction fails, because the path of the flow depends
// on its length. An example is a thrown body that a spring reverses. If no exact length is found,
// uses the longest length that is known to precede the impact.
static bool search_meeting(S2EventRun *event, const S2Meeting *meeting, Bracket at, double *tau,
                           bool *meets) {
  Trial trial;
  // for the secant method: the last length with an impact, and its impact time
  double secant = NAN, last = NAN, last_s = NAN;
  *meets = true;
  // Without an upper bound, try the whole piece.
  if (!isfinite(at.hi)) {
    *tau = event->horizon;
    if (!flow_for(event, meeting, *tau, &trial)) {
      return false;
    }
    meeting_tighten(&at, *tau, &trial);
    if (!isfinite(at.hi)) { // there is no impact
      return true;
    }
    last = *tau;
    last_s = trial.whole.at;
  }
  double least = S2_EVENT_LEAVING * event->left; // touching pairs have separated by then
  for (int pass = 0; pass < S2_EVENT_NARROWINGS && at.hi > least; pass++) {
    *tau = meeting_next(event, &at, secant, pass);
    if (!flow_for(event, meeting, *tau, &trial)) {
      return false;
    }
    if (trial_meets(event, &trial)) {
      return true;
    }
    meeting_tighten(&at, *tau, &trial);
    if (trial.whole.meets) {
      secant = meeting_secant(*tau, trial.whole.at, last, last_s);
      last = *tau;
      last_s = trial.whole.at;
    }
  }
  *meets = false;
  *tau = at.lo > 0 ? at.lo : at.hi;
  return flow_for(event, meeting, *tau, &trial);
}

bool s2_event_flow_to_meeting(S2EventRun *event, const S2Meeting *meeting, double *tau,
                              bool *meets) {
  const S2Touch *before = &meeting->before[meeting->first];
  const S2Resting *resting = &event->resting[meeting->first];
  const S2TouchPoint *nearest = s2_flow_nearest(before, resting);
  double last = 0, last_s = 0; // for the secant method
  Bracket at = {.hi = INFINITY, .gap_lo = nearest == NULL ? 0 : nearest->at.gap};
  *meets = true;
  for (int pass = 0; pass < S2_EVENT_REFINEMENTS; pass++) {
    // Compute the flow of this length, and use the impact time that it predicts.
    Trial trial;
    if (!flow_for(event, meeting, *tau, &trial)) {
      return false;
    }
    *meets = !trial.appears;
    if (trial.appears || trial_meets(event, &trial)) {
      return true;
    }
    meeting_tighten(&at, *tau, &trial);
    double s = trial.whole.at, near = meeting_rounding(event);
    // The point may appear just after the end of the flow.
    if (trial.whole.meets && fabs(s - *tau) < near / 2 && trial.gap > event->slop) {
      *tau = s + near / 2;
      continue;
    }
    if (!trial.whole.meets || !(s > 0) || s == *tau) {
      break;
    }
    // Apply the secant method to s(tau) - tau, where s is the impact time predicted by the flow of
    // length tau.
    double next = meeting_secant(*tau, s, pass > 0 ? last : *tau, last_s);
    last = *tau;
    last_s = s;
    *tau = next > 0 && next <= event->horizon ? next : s;
  }
  return search_meeting(event, meeting, at, tau, meets);
}

// Returns true if other points that did not rest arrive at the same time as point k of the touch.
// Small changes of the inputs then determine which point arrives first, and therefore which impact
// occurs.
static bool others_arrive(const S2EventRun *event, int first, int k) {
  const S2Step *step = event->step;
  bool any = false;
  for (int i = 0; i < event->island->touches; i++) {
    const S2Touch *touch = &step->touches[event->island->touch[i]];
    for (int j = 0; j < touch->count && !s2_touch_soft(touch); j++) {
      const S2ManifoldPoint *at = &touch->points[j].at;
      bool rests = s2_resting_has(&event->resting[i], at->id);
      any |= !(i == first && j == k) && !rests && at->gap <= event->slop &&
             s2_touch_velocity(touch, j, at->normal, step->v1) < -event->tiny;
    }
  }
  return any;
}

void s2_event_note_arrival(const S2EventRun *event, int first) {
  const S2Step *step = event->step;
  int32_t met = first == S2_NONE ? S2_NONE : event->island->touch[first];
  int k = 0;
  if (met != S2_NONE) {
    const S2Touch *touch = &step->touches[met];
    const S2TouchPoint *point = s2_flow_nearest(touch, &event->resting[first]);
    k = point == NULL ? S2_NONE : (int)(point - touch->points);
  }
  bool alone = met == S2_NONE || !others_arrive(event, first, k);
  s2_note_arrive(step, event->island, met, k, alone);
}

// Returns the touch of the island that arrives at the start of the step and had no impulse in the
// last step. Returns S2_NONE if there is no such touch. *k receives the point that arrives.
static int arrives_at_start(const S2EventRun *event, int *k) {
  const S2Step *step = event->step;
  int first = S2_NONE;
  double least = INFINITY;
  for (int i = 0; i < event->island->touches; i++) {
    const S2Touch *touch = &step->touches[event->island->touch[i]];
    double pressed = 0;
    for (int j = 0; j < touch->count; j++) {
      pressed += touch->points[j].normal_impulse;
    }
    for (int j = 0; j < touch->count && pressed == 0 && !s2_touch_soft(touch); j++) {
      const S2ManifoldPoint *at = &touch->points[j].at;
      bool arrives = fabs(at->gap) <= event->slop &&
                     s2_touch_velocity(touch, j, at->normal, step->v0) < -event->tiny;
      if (arrives && at->gap < least) {
        first = i;
        *k = j;
        least = at->gap;
      }
    }
  }
  return first;
}

// Returns true if other contacts of the island press, which means that its bodies did not move
// freely.
static bool others_press(const S2EventRun *event) {
  bool any = false;
  for (int i = 0; i < event->island->touches; i++) {
    const S2Touch *touch = &event->step->touches[event->island->touch[i]];
    for (int k = 0; k < touch->count; k++) {
      any |= touch->points[k].normal_impulse > 0;
    }
  }
  return any;
}

void s2_event_note_met_at_start(const S2EventRun *event) {
  S2Step *step = event->step;
  const S2Island *island = event->island;
  int k = 0, first = step->world->notes == NULL ? S2_NONE : arrives_at_start(event, &k);
  if (first == S2_NONE) {
    return;
  }
  // Record a free flight of zero length. The flow will set the overwritten arrays again.
  double h = step->h;
  s2_event_set_piece(event, 0);
  s2_event_copy_nodes(event, step->v0, step->v1);
  s2_event_copy_nodes(event, step->v0, step->v2);
  s2_event_copy_nodes(event, step->q0, step->q1);
  s2_note_set_out(step, island, false);
  s2_note_island(step, island, S2_ACT_FLY, NULL);
  bool alone = !others_arrive(event, first, k);
  // The note records that the time of arrival is unknown if other contacts press.
  k = others_press(event) ? S2_NONE : k;
  s2_note_arrive(step, island, island->touch[first], k, alone);
  s2_note_interval_end(step, island);
  // Continue the step with the whole remainder.
  s2_event_set_piece(event, h);
  s2_note_interval(step, island, 1, event->rattles && event->done == 0);
}
