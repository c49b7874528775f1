// Private to event stepping (event.c), its pieces (piece.c) and its search for meeting times
// (meeting.c).
#ifndef S2_EVENT_H
#define S2_EVENT_H

#include "dynamics/rattle/rattle.h"
#include "dynamics/schemes/flow.h"
#include "dynamics/trace/notes.h"

typedef struct S2EventRun {
  S2Step *step;
  S2Island *island;
  S2Choice *choices;  // 2 per touch of the step
  bool *touching;     // 2 per touch, of the speculative remainder
  S2Resting *resting; // per touch of the island
  double *joint_sum;  // S2_JOINT_ROWS + 3 per joint of the island
  double slop;        // m
  double done, left;  // s of the step
  double horizon;     // s: largest length of this piece
  double tiny;        // m/s: slower speeds are solver errors
  bool limited;       // it has joints with limits
  bool lawful;        // force laws act on bodies of it
  bool plain;         // always flows by implicit Euler in place of the trapezoid
  bool straight;      // this piece flows by implicit Euler
  bool rattles;       // pieces with rows are made by the two stages (rattle/)
  bool rattled;       // this piece is made by them
  S2RattleFlow flow;  // their last result
  bool ahead;         // the whole step is speculative
  bool halved;        // the whole step is speculative, in several pieces
  int halvings;       // how many more times a piece may be tried with half its length
  // State of all slots at the start of the step; and the largest distance (m) of each from its
  // motion with free_v.
  const double *q_start, *v_start, *free_start;
  double *astray;
  double *v, *bend; // 3 per slot, of the present flow
  int splits;       // so far, in this attempt
  int most;         // pieces of the island's step before the remainder is speculative
  int cuts;         // pieces so far that ended without a meeting
  int turns;        // pieces that ended because of a turn
  int arrived;      // pieces that ended where a limit closes
  int missed;       // solves of the step that had missed their tolerance before this island
  int released;     // flows of this piece repeated without a row that separated
} S2EventRun;

typedef struct S2Meeting {
  const S2Touch *before; // of the island: at the start of the flow
  int first;             // the touch that meets
  bool rows;
  int noted; // index of the first note of a flow
} S2Meeting;

// piece.c: the piece that begins now has length `h`.
void s2_event_set_piece(const S2EventRun *event, double h);
// v1 and q1 after `h`, recorded; false: aborted.
bool s2_event_flow(S2EventRun *event, double h, bool rows);
// Places the island's ground at the start and the end of the piece.
void s2_event_place_ground(const S2EventRun *event);
// The velocity of kinematic bodies: at the start of the step, or the mean.
void s2_event_set_ground(const S2EventRun *event, bool striking);
// Sets impulses of the island's contacts and joints to 0.
void s2_event_forget_impulses(const S2EventRun *event);
// 3 per slot, of the island's nodes.
void s2_event_copy_nodes(const S2EventRun *event, const double *from, double *to);
// Restores the touches of the island.
void s2_event_put_touches(const S2EventRun *event, const S2Touch *from);
// meeting.c: the time at which the last flow ends for the first of its pairs, between the touches
// `before` and those at its end; *first is that touch of the island. If the flow was shortened for
// a touch (`met`, S2_NONE: none), that touch, and pairs that just touch at the end, do not count.
S2FlowEnd s2_event_find_meeting(const S2EventRun *event, const S2Touch *before, int met,
                                int *first);
// Whether the resting points, in the last flow from the touches `solved`, stay within half the
// width of the thinner shape of their surface. A row is a plane. A point leaves it when it slides
// around a corner, over a round shape, or along a turning one. The straight path between two
// touching poses overlaps by a quarter of the flow's distance from the row. A point that has passed
// a corner may have passed through the shape before, so the path is checked, too.
bool s2_event_rows_hold(const S2EventRun *event, const S2Touch *solved);
// The flow that ends when the touch meets, near the time *tau, which becomes exact; or the
// remainder of the step if there is no meeting after all. If no exact time is found, *meets is
// false, and the flow is known to be free. False: aborted.
bool s2_event_flow_to_meeting(S2EventRun *event, const S2Meeting *meeting, double *tau,
                              bool *meets);
// Records the point of touch `first` (S2_NONE: none) that meets at q1, for the derivative of its
// time.
void s2_event_note_arrival(const S2EventRun *event, int first);
// Records an arrival at the very end of the step before, which found no meeting: the time of the
// impact still depends on the data. The recorded interval has zero length.
void s2_event_note_met_at_start(const S2EventRun *event);

// energy.c: sets v2 by the rows of the flow at its end, if they have turned or forces have changed;
// `solved` are the island's touches in the flow. False: aborted.
bool s2_event_turn(const S2EventRun *event, const S2Touch *solved, bool changed, bool *turned);
// Whether contacts in the flow have added more energy, at the mean of the velocities before and
// after, than a connected part has left. `solved` as above; the touches are those of q1, v2 is v1.
bool s2_event_falls_short(const S2EventRun *event, const S2Touch *solved);
// Removes from v2 the energy that the piece has added; `solved` as above, NULL: the remainder was
// speculative; `before`: q1 before projection, 3 per node.
void s2_event_repay(const S2EventRun *event, const S2Touch *solved, const double *before,
                    bool turned);

#endif
