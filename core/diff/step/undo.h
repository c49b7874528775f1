// A step going backwards over its notes. Private to core/diff.
#ifndef S2_UNDO_H
#define S2_UNDO_H

#include "diff/joints/contact_vjp.h"
#include "diff/step/step_adjoint.h"
#include "diff/step/trace_notes.h"
#include "mcp/adjoint/mcp_vjp.h"

// What the program said in the step, for the constraints, springs and locks that are made again;
// and where adjoints of that go. The callbacks' user of S2Undo.world.
typedef struct S2Retold {
  const S2Notes *notes;
  S2WorldGradient *gradient;
  double begun;        // s, time at the start of the whole step
  double *goal, *rate; // 3 a joint slot: adjoint of S2World.drives
} S2Retold;

// The problem of a S2_ACT_SOLVE that a note after it had made again, and what that note has for the
// adjoint of its rows.
typedef struct S2Remade {
  S2Assembly assembly;
  double *ja, *jb; // 3 a row
} S2Remade;

typedef struct S2Opened { // what a note says of contacts, taken out; as long as its act is undone
  const S2Note *note;
  S2Touch *touches;
  const S2Touch *solved; // those that its rows are taken from: `touches`, but S2_MEND_SOLVED
  S2Choice *choices;     // 2 a touch
} S2Opened;

typedef struct S2Undo {
  const S2Notes *notes;
  const S2Note *part; // that the part of the step began with
  S2Opened open;
  S2World *world;    // a view of what was kept, for what reads one
  S2Step step;       // as it looked before the act that is being undone
  S2StepAdjoint bar; // dl/d(arrays of step) at that moment
  S2WorldGradient *gradient;
  S2Arena *arena;
  // A note: which of its touches are those of a S2_ACT_LINEARISE before it; NULL: there is none.
  const bool *const *late;
  S2PointBar *late_bar; // 2 a touch: adjoint of such points
  // 2 a touch: of the impulses that bound friction; of targets, or of what is still gained
  double *lean, *more;
  double *displaced; // 3 a slot: of what joints displaced in mends
  double *feed;      // a joint slot: part of a mend's impulse that it kept
  S2Remade **remade; // a note; NULL: there is none
  double spin, most; // of the angular momentum that S2_ACT_SPIN measured, and of the energy
  double *back;      // 3 a slot: of q1 as it was before note back_at, where S2_ACT_GO_BACK went
  int back_at;       // S2_NONE: nowhere
  double *reflected, *start; // 3 a slot: of v2 after the passes of a blow, and at its start
  // S2_JOINT_ROWS and 3 a joint slot: of impulses and reactions of joints, while what only told how
  // fast things arrive is undone
  double *waiting_impulse, *waiting_reaction;
  // Event stepping (event_vjp.c): of the length of a step, and of what is left of it at the end of
  // a piece
  double *pushed, *rubbed; // 2 a touch: of the impulses of the flow, or of a motion
  double *struck;          // S2_TOUCH_IMPULSES a touch: of the impulses of a blow
  int touches;             // of the step
  double length_bar, left_bar;
  double *impulse_bar; // as S2StepAdjoint.joint_impulse: of the sum over the pieces of a step
  double share; // of what was left that a piece took; 0: until a meeting, whose gap has the rest
  double *ground0, *ground1; // 3 a slot: what waits while q0 and q1 of ground are of a piece's time
  S2WorldGradient *scratch;
  S2Retold retold;
  // impulse_vjp.c: of the reactions of joints in the whole step, 3 a slot; of those of contact
  // points in the solves before this act, as gradient->contact; is there any of those?
  double *reaction;
  S2ContactGradient *contact;
  int contacts;
  bool keeps; // between S2_ACT_KEEP and its REBOUND
  bool asked;
  bool in_piece;    // between the end of a piece of event stepping and its begin
  unsigned other;   // S2VjpOther: which of them are taken, where there are two derivatives
  unsigned found;   // the same: which of them there are
  S2Status *failed; // S2_OK until something has no derivative
} S2Undo;

static inline bool s2_undo_good(const S2Undo *undo) {
  return undo->failed->code == S2_OK;
}

// trace_vjp.c: s2_trace_vjp with those of `other` (S2VjpOther), where there are two derivatives.
// `found`: which are there?
S2Status s2_trace_sweep(const S2Trace *trace, unsigned other, unsigned *found,
                        S2WorldGradient *gradient, S2Arena *arena);

// retold.c: makes undo->world tell what was said; `undo` stays where it is.
void s2_undo_retell(S2Undo *undo);
// Of note `index`, S2_ACT_FREE: v0 of bodies that move as the program says, and how locks move.
void s2_undo_motions(S2Undo *undo, int index);
// Of the goal that a lock with a bound keeps at the end of a part of this length.
void s2_undo_given_up(S2Undo *undo, int32_t slot, double elapsed);
// Of what locks are at when the step ends: their goals and rates in the gradient.
void s2_undo_locks(S2Undo *undo, double elapsed);

// impulse_vjp.c, in the order a sweep comes by them: at its start; at the end of a part; of a
// sub-step of bisect; at the start of the step.
void s2_undo_open_impulses(S2Undo *undo);
void s2_undo_end_impulses(S2Undo *undo);
void s2_undo_end_sub_step(S2Undo *undo);
void s2_undo_begin_impulses(S2Undo *undo);
// What acted before this act is a summand of what contacts tell of the step.
void s2_undo_sum_contacts(S2Undo *undo);
S2ContactGradient *s2_undo_copy_contacts(const S2Undo *undo); // those of `contact`, in the arena
// What solves before the note gave to impulses of its island is not in the result.
void s2_undo_forget_contacts(S2Undo *undo, const S2Note *note);
void s2_undo_forget_joints(S2Undo *undo, const S2Note *note);
// Are such impulses asked for? Then it fails.
bool s2_undo_refuses_impulses(const S2Undo *undo, const S2Note *note, const char *what);
// Of S2_ACT_KEEP: makes them those of the blow before its part was kept, and returns what they say
// of that part; and of the REBOUND before it, the other way round. False: there was none to keep.
double s2_undo_keep_impulses(S2Undo *undo, const S2Note *note, const double *struck);
bool s2_undo_kept_impulses(S2Undo *undo, const S2Note *note);
// Of the reactions, times a factor, for S2RowsAdjoint; of an impulse of that row; and of those of
// the contact points of note `index`, added to its rows' and to where the points come from.
const double *s2_undo_reaction(const S2Undo *undo, const S2Note *note, double factor);
double s2_undo_impulse(const S2Undo *undo, int32_t joint, int row, const double push[3]);
void s2_undo_contact_impulses(S2Undo *undo, int index, const S2Assembly *assembly,
                              double *dl_dlambda);

// undo.c
void s2_undo_open(S2Undo *undo, const S2Note *note);       // into the arena
void s2_undo_set_island(S2Undo *undo, const S2Note *note); // what assembly reads of it
void s2_undo_forget_island(S2Undo *undo, const S2Note *note);
// The adjoint of a point of a touch of the note, to where its geometry is from: q0, or what
// S2_ACT_LINEARISE made.
void s2_undo_point(S2Undo *undo, int index, int touch, int k, const S2PointBar *bar);

// solve_vjp.c, mend_vjp.c: the island's velocities, or q1, are those before; their adjoint is that
// before.
void s2_undo_solve(S2Undo *undo, int index);
// As s2_undo_point, of a point that a S2_ACT_SOLVE had a row of.
void s2_undo_solved_point(S2Undo *undo, int index, int touch, int k, const S2PointBar *bar);
void s2_undo_mend(S2Undo *undo, int index);

// shake_vjp.c: of S2_ACT_SHAKE; of SPIN, SPIN_V2, SPIN_DQ and CAP; of BALANCE
void s2_undo_shake(S2Undo *undo, int index);
void s2_undo_spin(S2Undo *undo, int index);
void s2_undo_balance(S2Undo *undo, const S2Note *note);

// feedback_vjp.c
void s2_undo_feedback(S2Undo *undo, const S2Note *note);

// shake_vjp.c: of S2_ACT_CAP, and of S2_ACT_REPAY where nothing holds; returns the adjoint of the
// energy.
double s2_undo_slower(S2Undo *undo, const S2Note *note);

// repay_vjp.c: of S2_ACT_SLOW; of v2 of that and of S2_ACT_REPAY, returns the adjoint of the
// energy.
void s2_undo_slow(S2Undo *undo, int index);
double s2_undo_repaid(S2Undo *undo, const S2Note *note);

// rebound_vjp.c: of S2_ACT_RECALL and REBOUND, but for v2; of S2_ACT_KEEP.
void s2_undo_recall(S2Undo *undo, const S2Note *note);
void s2_undo_rebound(S2Undo *undo, int index);
void s2_undo_keep(S2Undo *undo, int index);

// event_vjp.c: of what belongs to a piece, and of S2_ACT_DRIFT.
void s2_undo_piece(S2Undo *undo, int index);
void s2_undo_drift(S2Undo *undo, const S2Note *note);

// trace_vjp.c: of a body's mass and free_v over h.
void s2_undo_free_body(S2Undo *undo, int32_t slot, double h);

// trace_vjp.c: the last note of an act before note `index`; the velocity that carried coordinate
// `at` (of 3 a slot) in the note's motion, and what its adjoint means for v0, v1 and beta.
int s2_undo_last(const S2Undo *undo, int index, S2Act act);
// Does the loss depend on what the bodies of the note do from here on (on q1 too, where it is
// told)?
bool s2_undo_depends(const S2Undo *undo, const S2Note *note, bool on_q1);
double s2_undo_carry(const S2Undo *undo, const S2Note *note, int at);
void s2_undo_carried(S2Undo *undo, const S2Note *note, int at, double bar);

// -sqrt(u^2 + 2 max(0, -a) max(gap, 0)), the speed of arrival that u of v2 and a of the free motion
// bring; times `bar` to those. Returns it.
double s2_arrival_vjp(S2Undo *undo, const S2Touch *touch, int k, double bar, S2PointBar *point);

// stick_vjp.c: dl/d(data) of the rows of two points of a pair with friction, the first of which is
// row `normal`. False: which of them gives way depends on the way the data change; it is the mean
// of both, `beyond` one of them.
bool s2_stick_vjp(const S2Problem *problem, const double *v, const double *lambda,
                  const double *dl_dlambda, int normal, bool beyond, S2McpGradient *data);

#endif
