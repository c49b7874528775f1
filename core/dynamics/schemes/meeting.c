// When bodies meet on a piece of event stepping (event.c): a flow that ends at that time.
#include "dynamics/schemes/event.h"

// The flow just solved as a function of time, of the bodies that the island's touches are of.
static S2Flow as_function(const S2EventRun *event, double until) {
  const S2Step *step = event->step;
  for (int i = 0; i < 2 * event->island->touches; i++) {
    const S2Touch *touch = &step->touches[event->island->touch[i / 2]];
    int32_t slot = i % 2 == 0 ? touch->body_a : touch->body_b;
    bool straight = event->straight || step->node_of[slot] == S2_GROUND;
    for (int c = 3 * slot; c < 3 * slot + 3; c++) {
      event->v[c] = straight ? step->carry[c] : step->v0[c];
      event->bend[c] = straight ? 0 : (step->v1[c] - step->v0[c]) / (2 * step->h);
    }
  }
  return (S2Flow){event->step, until, event->v, event->bend, event->slop};
}

// q1 again, which looking for meetings has changed.
static void go_to_end(const S2EventRun *event) {
  for (int i = 0; i < event->island->nodes; i++) {
    s2_step_carry(event->step, event->island->node[i]);
  }
  s2_event_place_ground(event);
}

double s2_event_find_meeting(const S2EventRun *event, const S2Touch *before, int but, int *first) {
  const S2Step *step = event->step;
  S2Flow way = as_function(event, step->h);
  double earliest = INFINITY;
  for (int i = 0; i < event->island->touches; i++) {
    if (i != but && !s2_touch_soft(&before[i])) {
      const S2Touch *end = &step->touches[event->island->touch[i]];
      double s = s2_flow_meet(&way, &before[i], &event->resting[i], end);
      *first = s < earliest ? i : *first;
      earliest = fmin(s, earliest);
    }
  }
  go_to_end(event);
  return earliest;
}

// The flow that takes `tau`, and the gap at its end. False: aborted.
static bool flow_for(const S2EventRun *event, const S2Meeting *meeting, double tau, double *gap) {
  const S2Touch *before = &meeting->before[meeting->first];
  s2_event_put_touches(event, meeting->before);
  s2_notes_rewind(event->step, meeting->noted);
  if (!s2_event_flow(event, tau, meeting->rows)) {
    return false;
  }
  S2Flow way = as_function(event, event->left);
  *gap = s2_flow_gap(&way, before, &event->resting[meeting->first], tau);
  return true;
}

typedef struct Bracket { // lengths of flows that end open, and overlapping
  double lo, hi, gap_lo, gap_hi;
  double out, gap_out; // the end that was left last; gap 0: none
} Bracket;

static void meeting_tighten(Bracket *at, double s, double gap) {
  if (gap > 0 && s > at->lo) {
    at->out = at->lo, at->gap_out = at->gap_lo;
    at->lo = s, at->gap_lo = gap;
  } else if (gap < 0 && s < at->hi) {
    bool first = !isfinite(at->hi);
    at->out = first ? at->out : at->hi;
    at->gap_out = first ? at->gap_out : at->gap_hi;
    at->hi = s, at->gap_hi = gap;
  }
}

// Where the parabola through both ends and the one that was left last meets zero between them: what
// forces turn back falls by the square of the time. The chord where there is no third point.
static double meeting_interpolate(const Bracket *at) {
  double width = at->hi - at->lo, chord = (at->gap_hi - at->gap_lo) / width;
  double bend = 0;
  if (at->gap_out != 0 && isfinite(at->gap_out)) {
    bend = ((at->gap_out - at->gap_hi) / (at->out - at->hi) - chord) / (at->out - at->lo);
  }
  double slope = chord - bend * width; // at lo
  double root = sqrt(fmax(slope * slope - 4 * bend * at->gap_lo, 0));
  // Of the two forms of the root the one without a difference of near numbers.
  double s = slope <= 0 ? 2 * at->gap_lo / (root - slope) : -(slope + root) / (2 * bend);
  return s > 0 && s < width ? at->lo + s : at->lo + at->gap_lo / -chord;
}

// Where the straight way of a flow leads nowhere, as its length bends it (a spring turns back what
// was thrown). *tau is what is left of the step where they do not meet after all.
static bool search_meeting(const S2EventRun *event, const S2Meeting *meeting, Bracket at,
                           double *tau) {
  double met = S2_EVENT_MET * event->slop, gap;
  // An end that overlaps, if there is one: all that is left of the step.
  if (!isfinite(at.hi)) {
    *tau = event->left;
    if (!flow_for(event, meeting, *tau, &gap)) {
      return false;
    }
    meeting_tighten(&at, *tau, gap);
  }
  double least = S2_EVENT_LEAVING * event->left; // what touches at first has left by then
  bool meets = isfinite(at.hi);
  if (meets && at.hi <= least) { // nothing to search in: the length last thought of has to do
    if (!flow_for(event, meeting, *tau, &gap)) {
      return false;
    }
    meets = false;
  }
  // Three parabolas, then a halving, which bounds the number of passes.
  for (int pass = 0; pass < S2_EVENT_NARROWINGS && meets && at.hi > least; pass++) {
    bool smooth = isfinite(at.gap_lo) && at.gap_lo > met; // infinite: out of reach
    *tau = smooth && pass % 4 < 3 ? meeting_interpolate(&at) : at.lo + (at.hi - at.lo) / 2;
    if (!flow_for(event, meeting, *tau, &gap)) {
      return false;
    }
    if (fabs(gap) <= met) {
      break;
    }
    meeting_tighten(&at, *tau, gap);
  }
  go_to_end(event);
  return true;
}

bool s2_event_flow_to_meeting(const S2EventRun *event, const S2Meeting *meeting, double *tau) {
  const S2Touch *before = &meeting->before[meeting->first];
  const S2Resting *resting = &event->resting[meeting->first];
  const S2TouchPoint *nearest = s2_flow_nearest(before, resting);
  double last = 0, last_s = 0, gap, met = S2_EVENT_MET * event->slop; // last: for a secant
  Bracket at = {.hi = INFINITY, .gap_lo = nearest == NULL ? 0 : nearest->at.gap};
  for (int pass = 0; pass < S2_EVENT_REFINEMENTS; pass++) {
    // The flow of that length, and when its own way says that they meet.
    if (!flow_for(event, meeting, *tau, &gap)) {
      return false;
    }
    meeting_tighten(&at, *tau, gap);
    S2Flow way = as_function(event, event->left);
    double s = fabs(gap) <= met ? *tau : s2_flow_meet(&way, before, resting, NULL);
    go_to_end(event);
    if (fabs(gap) <= met) {
      return true;
    }
    if (!isfinite(s) || !(s > 0) || s == *tau) {
      break;
    }
    // Secant on s(tau) - tau, where s is the time that the flow of length tau predicts.
    double slope = pass > 0 ? (s - last_s) / (*tau - last) : 0;
    double next = *tau + (s - *tau) / (1 - slope);
    last = *tau;
    last_s = s;
    *tau = next > 0 && next <= event->left ? next : s;
  }
  return search_meeting(event, meeting, at, tau);
}

// Do other points that did not rest arrive with point k of the touch? Which is the first changes
// with the data, and the impact with it.
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

// The touch of the island that arrives as the step begins, and *k, its point: it pressed nothing
// in the step before. S2_NONE: none does.
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

// Does something press elsewhere in the island? Its bodies do not fly there.
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
  // A flight of no time, which ends where it begins. What it overwrites is set anew by the flow.
  double h = step->h;
  s2_event_set_piece(event, 0);
  s2_event_copy_nodes(event, step->v0, step->v1);
  s2_event_copy_nodes(event, step->v0, step->v2);
  s2_event_copy_nodes(event, step->q0, step->q1);
  s2_note_set_out(step, island, false);
  s2_note_island(step, island, S2_ACT_FLY, NULL);
  bool alone = !others_arrive(event, first, k);
  k = others_press(event) ? S2_NONE : k; // when it is is not known, and is said not to be
  s2_note_arrive(step, island, island->touch[first], k, alone);
  s2_note_interval_end(step, island);
  // The step goes on with all that is left.
  s2_event_set_piece(event, h);
  s2_note_interval(step, island, 1);
}
