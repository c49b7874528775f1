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
  bool *touching;     // 2 per touch, for the speculative remainder
  S2Resting *resting; // per touch of the island
  double *joint_sum;  // S2_JOINT_ROWS + 3 per joint of the island
  double slop;        // m
  double done, left;  // s of the step
  double horizon;     // s: largest length of this piece
  double tiny;        // m/s: slower speeds are solver errors
  bool limited;       // whether the island has joints with limits
  bool lawful;        // whether force laws act on its bodies
  bool plain;         // whether it always flows by implicit Euler in place of the trapezoid
  bool straight;      // whether this piece flows by implicit Euler
  bool rattles;       // whether the two stages (rattle/) make pieces with rows
  bool rattled;       // whether they make this piece
  S2RattleFlow flow;  // last result of the two stages
  bool ahead;         // whether the whole step is speculative
  bool halved;        // whether the whole step is speculative, in several pieces
  int halvings;       // how many times a piece may still be halved
  // The state of all slots at the start of the step, and the largest distance (m) of each body from
  // its motion with free_v.
  const double *q_start, *v_start, *free_start;
  double *astray;
  double *v, *bend; // 3 per slot, of the present flow
  int splits;       // pieces so far in this attempt
  int most;         // largest number of pieces before the remainder becomes speculative
  int cuts;         // pieces so far that ended without a meeting
  int turns;        // pieces that ended because of a turn
  int arrived;      // pieces that ended where a limit closes
  int missed;       // solves of the step that had missed their tolerance before this island
  int released;     // flows of this piece repeated without a row that separated
} S2EventRun;

typedef struct S2Meeting {
  const S2Touch *before; // the island's touches at the start of the flow
  int first;             // the touch that meets
  bool rows;
  int noted; // index of the first note of a flow
} S2Meeting;

// piece.c: the piece that begins now has length `h`.
void s2_event_set_piece(const S2EventRun *event, double h);
// Sets v1 and q1 to the velocities and poses after `h`, and records the flow; false: aborted.
bool s2_event_flow(S2EventRun *event, double h, bool rows);
// Places the island's ground at the start and the end of the piece.
void s2_event_place_ground(const S2EventRun *event);
// Sets the velocity of kinematic bodies: if `striking`, the velocity at the start of the step; else
// the mean.
void s2_event_set_ground(const S2EventRun *event, bool striking);
// Sets impulses of the island's contacts and joints to 0.
void s2_event_forget_impulses(const S2EventRun *event);
// Copies 3 numbers per slot for the island's nodes.
void s2_event_copy_nodes(const S2EventRun *event, const double *from, double *to);
// Restores the touches of the island.
void s2_event_put_touches(const S2EventRun *event, const S2Touch *from);
// meeting.c: the first time at which a pair of the island meets in the last flow, from the touches
// `before` to those at its end. *first: the touch that meets. If the flow was shortened for a touch
// (`met`, S2_NONE: none), that touch, and pairs that just touch at the end, do not count.
S2FlowEnd s2_event_find_meeting(const S2EventRun *event, const S2Touch *before, int met,
                                int *first);
// Whether the resting points of the last flow (from the touches `solved`) stay near their surfaces:
// within half the width of the thinner shape. A row is a plane. A point leaves this plane when it
// slides around a corner, over a round shape, or along a turning shape. The straight path between
// two touching poses overlaps by a quarter of the distance by which the flow leaves the row. A
// point that has passed a corner may have passed through the shape before, so the path is checked,
// too.
bool s2_event_rows_hold(const S2EventRun *event, const S2Touch *solved);
// Makes the flow that ends when the shapes of the touch meet. *tau: an estimate of that time, which
// becomes exact. If there is no meeting after all, makes the flow over the remainder of the step.
// If no exact time is found, *meets is false, and the flow ends before any meeting. False: aborted.
bool s2_event_flow_to_meeting(S2EventRun *event, const S2Meeting *meeting, double *tau,
                              bool *meets);
// Records the point of touch `first` (S2_NONE: none) that meets at q1, for the derivative of its
// time.
void s2_event_note_arrival(const S2EventRun *event, int first);
// Records an arrival at the very end of the last step, which found no meeting. The time of the
// impact still depends on the data. The recorded interval has zero length.
void s2_event_note_met_at_start(const S2EventRun *event);

// energy.c: if the rows of the flow have turned or forces have changed, computes v2 with the rows
// at its end; `solved` are the island's touches in the flow. False: aborted.
bool s2_event_turn(const S2EventRun *event, const S2Touch *solved, bool changed, bool *turned);
// Whether contacts in the flow (acting at the mean of the velocities before and after) have added
// more energy than a connected part has left. `solved` as above; the touches belong to q1, and v2
// is v1.
bool s2_event_falls_short(const S2EventRun *event, const S2Touch *solved);
// Removes from v2 the energy that the piece has added; `solved` as above, NULL: the remainder was
// speculative; `before`: q1 before projection, 3 per node.
void s2_event_repay(const S2EventRun *event, const S2Touch *solved, const double *before,
                    bool turned);

#endif
