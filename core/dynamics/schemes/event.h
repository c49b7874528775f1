// Private to event stepping.
// The functions are in event.c, piece.c (pieces), strike.c (impacts), meeting.c (search for impact
// times) and energy.c.
#ifndef S2_EVENT_H
#define S2_EVENT_H

#include "dynamics/rattle/rattle.h"
#include "dynamics/schemes/flow.h"
#include "dynamics/trace/notes.h"

typedef struct S2EventRun {
  S2Step *step;
  S2Island *island;
  S2Choice *choices;  // 2 per touch of the step
  bool *touching;     // 2 per touch of the step, for a speculative step over the remainder
  S2Resting *resting; // per touch of the island
  double *joint_sum;  // S2_JOINT_ROWS + 3 per joint of the island
  double slop;        // m
  double done, left;  // elapsed time and remaining time of the step (s)
  double horizon;     // maximum length of this piece (s)
  double tiny;        // speeds below this value (m/s) are solver errors
  bool limited;       // true if the island has joints with limits
  bool lawful;        // true if force laws act on bodies of the island
  bool plain;         // true if the island always uses implicit Euler, not the trapezoidal rule
  bool straight;      // true if this piece uses implicit Euler
  bool rattles;       // true if pieces with rows use the two-stage flow (rattle/)
  bool rattled;       // true if this piece uses the two-stage flow
  S2RattleFlow flow;  // last result of the two-stage flow
  bool ahead;         // true if the whole step is speculative
  bool halved;        // true if the whole step is speculative, in several pieces
  int halvings;       // number of times that a piece may still be halved
  // The state of all slots at the start of the step, and the largest distance (m) of each body from
  // its motion with free_v.
  const double *q_start, *v_start, *free_start;
  double *astray;
  double *v, *bend; // 3 per slot: motion of the current flow, as in S2Flow
  int splits;       // number of pieces so far in this attempt
  int most;         // maximum number of pieces before a speculative step over the remainder
  int cuts;         // number of pieces that ended without an impact
  int turns;        // number of pieces that ended because bodies turned too far
  int arrived;      // number of pieces that ended when a limit closed
  int missed;       // number of solves that had missed their tolerance before this island
  int released;     // number of repetitions of this piece without the rows of separated points
} S2EventRun;

typedef struct S2Meeting {
  const S2Touch *before; // the touches of the island at the start of the flow
  int first;             // index of the touch that meets
  bool rows;
  int noted; // index of the first note of a flow
} S2Meeting;

// piece.c: starts a piece of length `h`.
void s2_event_set_piece(const S2EventRun *event, double h);
// Computes v1 and q1, the velocities and poses after the time `h`, and records the flow. Returns
// false if aborted.
bool s2_event_flow(S2EventRun *event, double h, bool rows);
// Places the ground bodies of the island at the start and the end of the piece.
void s2_event_place_ground(const S2EventRun *event);
// Sets the velocity of kinematic bodies to the velocity at the start of the step (`striking`) or to
// the mean velocity.
void s2_event_set_ground(const S2EventRun *event, bool striking);
// Sets the impulses of all contacts and joints of the island to 0.
void s2_event_forget_impulses(const S2EventRun *event);
// Copies 3 numbers per slot for the nodes of the island.
void s2_event_copy_nodes(const S2EventRun *event, const double *from, double *to);
// Restores the touches of the island.
void s2_event_put_touches(const S2EventRun *event, const S2Touch *from);
// Returns the change of the approach speed (m/s) due to forces in half a step if the other body
// were held. Forces do not change the relative speed of bodies that fall together. If a third body
// stops one of them, however, the other body approaches it again. Such a point therefore takes part
// in the impact even if its separation speed is above `slow`.
double s2_event_slow_if_held(const S2EventRun *event, const S2Touch *touch, int k);
// Returns true if touching points approach each other at the velocities v.
bool s2_event_strikes(const S2EventRun *event, const double *v);
// Solves the impacts of touching points from v0, and writes v2 and the impulses. The impacts add no
// energy. Called after s2_event_forget_impulses and s2_event_set_ground. Returns false if aborted.
bool s2_event_strike(const S2EventRun *event);
// Finds the first impact time of the island's pairs in the last flow. (meeting.c) `before` contains
// the touches at the start of the flow. *first receives the touch that meets. `met` is the touch
// for which the flow was shortened, or S2_NONE. Ignores `met` and pairs that just touch at the end.
S2FlowEnd s2_event_find_meeting(const S2EventRun *event, const S2Touch *before, int met,
                                int *first);
// Returns true if the resting points of the last flow stay near their surfaces, within half the
// width of the thinner shape. `solved` contains the touches at the start of the flow. A row is a
// plane. A point leaves this plane when it slides around a corner, over a round shape, or along a
// turning shape. If a point ends at the distance d from the plane, the straight path between its
// two touching poses overlaps by d/4. If a point passes a corner, its path is also checked, because
// it may have passed through the shape.
bool s2_event_rows_hold(const S2EventRun *event, const S2Touch *solved);
// Computes the flow that ends when the shapes of the touch meet. *tau contains an estimate of the
// impact time and receives the exact time. If there is no impact, computes the flow over the whole
// piece. If no exact time is found, *meets is false, and the flow ends before any impact. Returns
// false if aborted.
bool s2_event_flow_to_meeting(S2EventRun *event, const S2Meeting *meeting, double *tau,
                              bool *meets);
// Records the point of touch `first` that meets at q1, for the derivative of the impact time.
// `first` is S2_NONE if no touch meets.
void s2_event_note_arrival(const S2EventRun *event, int first);
// Records an impact at the very end of the last step, which did not detect it. The recorded
// interval has zero length. The derivative needs it, because the impact time depends on the inputs.
void s2_event_note_met_at_start(const S2EventRun *event);

// Computes v2 with the rows at the end of the flow, if rows have turned or forces have changed.
// (energy.c) `solved` contains the touches of the island in the flow. Returns false if aborted.
bool s2_event_turn(const S2EventRun *event, const S2Touch *solved, bool changed, bool *turned);
// Returns true if contacts add more energy to a connected part in the flow than the part's kinetic
// energy. Contacts act at the mean of the velocities before and after the flow. `solved` contains
// the touches of the island in the flow. Called with the touches at q1 and with v2 = v1.
bool s2_event_falls_short(const S2EventRun *event, const S2Touch *solved);
// Reduces v2 to remove the energy that the piece has added. `solved` contains the touches of the
// island in the flow, or is NULL after a speculative step. `before` is q1 before projection, 3 per
// node.
void s2_event_repay(const S2EventRun *event, const S2Touch *solved, const double *before,
                    bool turned);

#endif
