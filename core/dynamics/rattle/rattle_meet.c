// Limits that close within a piece of the flow by two stages: the piece ends at that time, with the
// limit closed in its second stage. So what arrives stops there, with the directions at that place.
#include "dynamics/rattle/rattle.h"

// Solves of a search, of which every so many halves what is left.
enum { MOST = 60, HALVES = 4 };

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

double s2_rattle_next_length(S2RattleMeeting *meeting) {
  double width = meeting->hi - meeting->lo;
  bool ends = meeting->passes == MOST;
  double part = meeting->at_lo / (meeting->at_lo - meeting->at_hi);
  meeting->passes += 1;
  part = meeting->passes % HALVES == 0 || !(part > 0 && part < 1) ? 0.5 : part;
  double h = meeting->lo + part * width;
  return ends || !(h > meeting->lo && h < meeting->hi) ? 0 : h;
}

void s2_rattle_narrow(S2RattleMeeting *meeting, double h, double value) {
  bool beyond = value <= 0;
  // The end that stays twice counts for half, so that chords come from both sides (Illinois).
  double *stays = beyond ? &meeting->at_lo : &meeting->at_hi;
  *stays *= meeting->passes > 1 && beyond == meeting->side ? 0.5 : 1;
  meeting->side = beyond;
  if (beyond) {
    meeting->hi = h;
    meeting->at_hi = value;
  } else {
    meeting->lo = h;
    meeting->at_lo = value;
  }
}
