// Private to event stepping (event.c), its pieces (piece.c) and its search for the time of a
// meeting (meeting.c).
#ifndef S2_EVENT_H
#define S2_EVENT_H

#include "dynamics/rattle/rattle.h"
#include "dynamics/schemes/flow.h"
#include "dynamics/trace/notes.h"

typedef struct S2EventRun {
  S2Step *step;
  S2Island *island;
  S2Choice *choices;  // 2 a touch of the step
  bool *touching;     // the same, of the speculative rest
  S2Resting *resting; // a touch of the island
  double *joint_sum;  // S2_JOINT_ROWS + 3 a joint of the island
  double slop;        // m
  double done, left;  // s of the step
  double horizon;     // s: no more of what is left is this piece's
  double tiny;        // m/s: what is slower is left over by a solve
  bool limited;       // it has joints with limits
  bool lawful;        // force laws act on bodies of it
  bool plain;         // it always flows by implicit Euler in place of the trapezoid
  bool straight;      // this piece does
  bool rattles;       // pieces with rows are made by the two stages (rattle/)
  bool rattled;       // this piece is
  S2RattleFlow flow;  // what they gave last
  bool ahead;         // all of its step is speculative
  bool halved;        // the same, in several pieces
  int halvings;       // how often a piece may still be tried with half its length
  // Of all slots at the start of the step, and how far (m) each has been from where it would be
  // with free_v.
  const double *q_start, *v_start, *free_start;
  double *astray;
  double *v, *bend; // 3 a slot, of the flow at hand
  int splits;       // so far, in this attempt
  int most;         // pieces of the island's step before the rest is a speculative one
  int cuts;         // pieces so far that have ended where nothing met
  int turns;        // and that have ended since something turns
  int arrived;      // that have ended where a limit closes
  int missed;       // solves of the step that had missed their tolerance as the island began
  int released;     // flows of this piece that were made again without a row that left
} S2EventRun;

typedef struct S2Meeting {
  const S2Touch *before; // of the island: as they are where the flow begins
  int first;             // the touch that meets
  bool rows;
  int noted; // notes of a flow begin here
} S2Meeting;

// piece.c: the piece that begins now is to take `h`.
void s2_event_set_piece(const S2EventRun *event, double h);
// v1 and q1 after `h`, noted; false: aborted.
bool s2_event_flow(S2EventRun *event, double h, bool rows);
// What the island meets that is not solved for, at the start and the end of the piece.
void s2_event_place_ground(const S2EventRun *event);
// The velocity of what moves as given: as it begins the step, or the mean.
void s2_event_set_ground(const S2EventRun *event, bool striking);
// Impulses of the island's contacts and joints become 0.
void s2_event_forget_impulses(const S2EventRun *event);
// 3 a slot, of the island's nodes.
void s2_event_copy_nodes(const S2EventRun *event, const double *from, double *to);
// The touches of the island as they were.
void s2_event_put_touches(const S2EventRun *event, const S2Touch *from);
// meeting.c: when the flow just made ends for the first of its pairs, from the touches as they were
// `before` to those at its end; *first is that touch of the island. What meets at the end of a flow
// that was made shorter for that (`met`, S2_NONE: nothing, and what just touches there) is left
// out.
S2FlowEnd s2_event_find_meeting(const S2EventRun *event, const S2Touch *before, int met,
                                int *first);
// Is what rests, in the flow just made from the touches `solved`, within half the width of the
// thinner shape of its surface? A row is a plane. A point leaves it that slides round a corner,
// over something round, or along something that turns. The straight path between two poses that
// touch overlaps by a quarter of how far the flow has left the row. A point that has passed a
// corner may have gone through the shape before that, so the way is looked at, too.
bool s2_event_rows_hold(const S2EventRun *event, const S2Touch *solved);
// The flow that ends when the touch meets, about the time *tau, which becomes exact; what is left
// of the step: after all nothing does. Where no time is exact, *meets is false, and the flow is one
// that is known to be free. False: aborted.
bool s2_event_flow_to_meeting(S2EventRun *event, const S2Meeting *meeting, double *tau,
                              bool *meets);
// For the derivative of when it is: the point of touch `first` that meets at q1 (S2_NONE: none).
void s2_event_note_arrival(const S2EventRun *event, int first);
// The same where they met at the very end of the step before, which saw nothing meet: the time of
// the impact moves with the data all the same. Notes an interval of no length.
void s2_event_note_met_at_start(const S2EventRun *event);

// energy.c: v2 as the rows of the flow say at its end, where they have turned or forces have
// changed; `solved` are the island's touches as the flow had them. False: aborted.
bool s2_event_turn(const S2EventRun *event, const S2Touch *solved, bool changed, bool *turned);
// Has the flow brought more, by contacts on the mean of the velocities before and after, than what
// hangs together has left? `solved` as above; the touches are those of q1, v2 is v1.
bool s2_event_falls_short(const S2EventRun *event, const S2Touch *solved);
// Takes from v2 what the piece has brought; `solved` as above, NULL: the rest was speculative;
// `before`: q1 before it was projected, 3 a node.
void s2_event_repay(const S2EventRun *event, const S2Touch *solved, const double *before,
                    bool turned);

#endif
