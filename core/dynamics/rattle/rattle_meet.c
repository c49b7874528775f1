// Joint limits that close within a piece of the two-stage flow.
// The piece ends when the limit closes, and stage 2 treats the limit as closed. The coordinate
// therefore stops at its limit, and the rows have the directions of that pose.
#include "dynamics/rattle/rattle.h"

#include <math.h>

enum { MOST = 60 }; // maximum number of solves of a search.
// A pass is slow if the new value is more than this fraction of the value that it replaces.
static const double LITTLE = 0.25;

double s2_rattle_least_limit(const S2Rattle *rattle, int *row) {
  double least = INFINITY;
  *row = S2_NONE;
  for (int r = 0; r < rattle->rows; r++) {
    bool begins_open = rattle->late[r] && !s2_rattle_of_contact(&rattle->term[r]);
    if (begins_open && rattle->at1.value[r] < least) {
      least = rattle->at1.value[r];
      *row = r;
    }
  }
  return least;
}

// Returns the zero of the parabola through both bounds and the bound that was replaced last. The
// zero is measured from `lo`. If no bound has been replaced, returns the zero of the chord.
static double meet_interpolate(const S2RattleMeeting *at) {
  double width = at->hi - at->lo, chord = (at->at_hi - at->at_lo) / width, bend = 0;
  if (at->left) {
    bend = ((at->at_out - at->at_hi) / (at->out - at->hi) - chord) / (at->out - at->lo);
  }
  double slope = chord - bend * width; // at lo
  double root = sqrt(fmax(slope * slope - 4 * bend * at->at_lo, 0));
  // This form of the root avoids cancellation.
  double s = slope <= 0 ? 2 * at->at_lo / (root - slope) : -(slope + root) / (2 * bend);
  return s > 0 && s < width ? s : at->at_lo / -chord;
}

double s2_rattle_next_length(S2RattleMeeting *meeting) {
  double width = meeting->hi - meeting->lo;
  bool ends = meeting->passes == MOST;
  meeting->passes += 1;
  double part = meeting->slow ? width / 2 : meet_interpolate(meeting);
  double h = meeting->lo + (part > 0 && part < width ? part : width / 2);
  return ends || !(h > meeting->lo && h < meeting->hi) ? 0 : h;
}

void s2_rattle_narrow(S2RattleMeeting *meeting, double h, double value) {
  bool beyond = value <= 0;
  double *end = beyond ? &meeting->hi : &meeting->lo;
  double *at_end = beyond ? &meeting->at_hi : &meeting->at_lo;
  // A slow pass is followed by a bisection, which bounds the number of passes.
  meeting->slow = !meeting->slow && fabs(value) > LITTLE * fabs(*at_end);
  meeting->left = true;
  meeting->out = *end;
  meeting->at_out = *at_end;
  *end = h;
  *at_end = value;
}
