// The sweep back over the notes of a step. Private to core/diff.
#ifndef S2_UNDO_H
#define S2_UNDO_H

#include "diff/joints/answers.h"
#include "diff/joints/contact_vjp.h"
#include "diff/joints/step_adjoint.h"
#include "diff/step/trace_notes.h"
#include "mcp/adjoint/mcp_vjp.h"

// The problem of an S2_ACT_SOLVE that was assembled again for a later note, and the adjoint that
// the later note has for the rows.
typedef struct S2Remade {
  S2Assembly assembly;
  double *ja, *jb; // 3 per row
} S2Remade;

typedef struct S2Opened { // the contacts of a note, unpacked while its act is undone
  const S2Note *note;
  S2Touch *touches;
  const S2Touch *solved; // the rows are made from these: `touches`, except in S2_PROJECT_SOLVED
  S2Choice *choices;     // 2 per touch
} S2Opened;

typedef struct S2Undo {
  const S2Notes *notes;
  int index;             // the note whose act is being undone
  const S2Note *substep; // the note that its substep began with
  S2Opened open;
  S2World *world;    // a view of the recorded data, for functions that read a world
  S2Step step;       // in the state before the act that is being undone
  S2StepAdjoint bar; // dl/d(arrays of step) at that moment
  S2WorldGradient *gradient;
  S2Arena *arena;
  // 1 per note: its touches that come from an earlier S2_ACT_LINEARISE. NULL: there is none.
  const bool *const *late;
  S2PointBar *late_bar; // 2 per touch: adjoint of such points
  // 2 per touch: adjoints of the impulses that bound friction; of targets, or of the remaining gain
  double *bound, *more;
  double *displaced; // 3 per slot: adjoint of displacements by joints in projections
  // Adjoints, 3 per slot: of forces held over the step; of laws called at the start of a piece (in
  // addition to `force`); and of q0, v0 and free_v at the start of the step, from which later
  // arguments of laws follow.
  double *held, *law, *law_q, *law_v, *law_free;
  double *law_flow;              // 3 per slot: of v1 before an S2_ACT_LAWS_END
  double *flowed_q1, *flowed_v2; // 3 per slot: of the result of S2_ACT_RATTLE
  double *feed;      // per joint slot: fraction of a projection's impulse that the joint kept
  S2Remade **remade; // 1 per note; NULL: there is none
  double spin,
      most;     // adjoints of the angular momentum that S2_ACT_SPIN measured, and of the energy
  double *back; // 3 per slot: of the former q1 before note back_at, where S2_ACT_GO_BACK went
  int back_at;  // S2_NONE: there is none
  double *reflected,
      *start; // 3 per slot: of v2 after the passes of reflections, and at their start
  // S2_JOINT_ROWS and 3 per joint slot: adjoints of impulses and reactions of joints. They are kept
  // here while acts that only determine the speeds of arrival are undone.
  double *waiting_impulse, *waiting_reaction;
  // Event stepping (event_undo.c): adjoints of the length of a step, and of the remaining time at
  // the end of an interval.
  double *pushed, *dragged; // 2 per touch: of the impulses of the flow, or of a motion
  double *struck;           // S2_TOUCH_IMPULSES per touch: of the impulses of an impact
  int touches;              // of the step
  double length_bar, left_bar;
  double closing;      // of the value of the limit that closes at the end of an interval
  double *impulse_bar; // as S2StepAdjoint.joint_impulse: of the sum over the intervals of a step
  // the fraction of the remaining time that an interval took; 0: the interval ended when two bodies
  // met, so the gap gets the adjoint
  double share;
  S2Drive *drives; // 1 per joint slot: of the substep
  bool striking;   // impacts at the start of the step are being undone
  // 3 per slot: adjoint of the mean velocity of ground, while v0 has the adjoints of its velocity
  // at the start
  double *ground_v0, *ground_v;
  // 3 per slot: kept while q0 and q1 of ground belong to an interval
  double *ground0, *ground1;
  S2WorldGradient *scratch;
  S2Answers answers;
  // impulse_undo.c: adjoints of the reactions of joints in the whole step (3 per slot), and
  // adjoints of contact impulses in the solves before this act (as gradient->contact), with their
  // number.
  double *reaction;
  S2ContactGradient *contact;
  int contacts;
  bool keeps; // between S2_ACT_KEEP and its REBOUND
  bool asked;
  bool in_interval; // of event stepping, between its end and its start
  unsigned other;   // S2VjpOther: which of two derivatives is used, if there are two
  unsigned found;   // S2VjpOther: the kinds of second derivatives that were found
  S2Status *failed; // S2_OK until an act has no derivative
} S2Undo;

static inline bool s2_undo_good(const S2Undo *undo) {
  return undo->failed->code == S2_OK;
}

// sweep.c: s2_trace_vjp with the derivatives of `other` (S2VjpOther) where there are two. `found`
// receives the kinds that exist.
S2Status s2_trace_sweep(const S2Trace *trace, unsigned other, unsigned *found,
                        S2WorldGradient *gradient, S2Arena *arena);

// Undoes the act of note undo->index: the arrays of the step, and their adjoints, become those of
// the state before the act.
typedef void S2UndoAct(S2Undo *undo, const S2Note *note);

// substep_undo.c
S2UndoAct s2_undo_substep, s2_undo_free, s2_undo_next, s2_undo_commit;
// motion_undo.c
S2UndoAct s2_undo_reset, s2_undo_reset_v2, s2_undo_v2_is_v1, s2_undo_v1_is_v2, s2_undo_q0_is_q1,
    s2_undo_integrate, s2_undo_linearise, s2_undo_short, s2_undo_go_back;
S2UndoAct s2_undo_solve;                                 // solve_undo.c
S2UndoAct s2_undo_rattle, s2_undo_flowed, s2_undo_piece; // rattle_pieces_undo.c
// impact_undo.c
S2UndoAct s2_undo_restart, s2_undo_recall, s2_undo_rebound, s2_undo_keep, s2_undo_reflect,
    s2_undo_blend, s2_undo_rewind, s2_undo_hit, s2_undo_stop;
S2UndoAct s2_undo_project;  // project_undo.c
S2UndoAct s2_undo_shake;    // shake_undo.c
S2UndoAct s2_undo_feedback; // feedback_undo.c
// spin_undo.c
S2UndoAct s2_undo_balance, s2_undo_spin, s2_undo_spin_v2, s2_undo_spin_dq, s2_undo_cap;
S2UndoAct s2_undo_slow;                   // repay_undo.c
S2UndoAct s2_undo_laws, s2_undo_laws_end; // laws_undo.c
// event_undo.c
S2UndoAct s2_undo_drift, s2_undo_interval, s2_undo_struck, s2_undo_set_out, s2_undo_fly,
    s2_undo_arrive, s2_undo_repay, s2_undo_interval_end;

// ---- undo.c: common parts ----------------------------------------------------------------------

// The last note of an act before the one that is being undone, or that note itself.
const S2Note *s2_undo_last(const S2Undo *undo, S2Act act);

void s2_undo_open(S2Undo *undo, const S2Note *note);       // into the arena
void s2_undo_set_island(S2Undo *undo, const S2Note *note); // the island's data for assembly
void s2_undo_forget_island(S2Undo *undo, const S2Note *note);

// An island's nodes in arrays of 3 per slot. `put` gives them the note's values (3 per node);
// `move` adds their values in `from` to `to` and clears them in `from`.
void s2_undo_put_nodes(const S2Note *note, const double *kept, double *to);
void s2_undo_move_nodes(const S2Note *note, double *from, double *to);
// Whether the loss depends on the later motion of the note's bodies (on their q1 too, with on_q1).
bool s2_undo_depends(const S2Undo *undo, const S2Note *note, bool on_q1);

// Whether a velocity moves a body.
static inline bool s2_undo_goes(const S2Body *body) {
  return body->enabled && body->type != S2_STATIC;
}
// Adjoints of a body's mass and free_v over h.
void s2_undo_free_body(S2Undo *undo, int32_t slot, double h);
// For a note that has `carried`: the velocity that moves coordinate `at` (of 3 per slot), and from
// its adjoint to the adjoints of v0, v1 and beta.
bool s2_undo_carried_ahead(const S2Undo *undo, const S2Note *note, int32_t slot);
double s2_undo_carry(const S2Undo *undo, const S2Note *note, int at);
void s2_undo_carried(S2Undo *undo, const S2Note *note, int at, double bar);

// Passes the adjoint of a point of a note's touch on to the source of its geometry: q0, or the
// result of S2_ACT_LINEARISE.
void s2_undo_point(S2Undo *undo, int touch, int k, const S2PointBar *bar);
// Passes on the adjoint of a point for which an S2_ACT_SOLVE had a row; otherwise as s2_undo_point.
void s2_undo_solved_point(S2Undo *undo, int touch, int k, const S2PointBar *bar);
// The adjoint of the speed of arrival, -sqrt(u^2 + 2 max(0, -a) max(gap, 0)), with u of v2 and a of
// the free motion. `bar` is the adjoint of that speed. Returns that speed.
double s2_arrival_vjp(S2Undo *undo, const S2Touch *touch, int k, double bar, S2PointBar *point);

// ---- Parts that several acts use ----------------------------------------------------------------

// quiet_look.c: a step whose undoing begins, see diff/world/quiet.h.
void s2_quiet_look_at_step(S2Undo *undo);
// A substep whose start has been undone: bodies in free flight, which are in no solve.
void s2_quiet_look_at_flight(const S2Undo *undo);

// substep_undo.c: mass and free_v of the (sub-)step that ends with the note, and its start.
void s2_undo_enter(S2Undo *undo);

// program_undo.c: makes undo->world answer as the program did. `undo` must not move in memory.
void s2_undo_answer(S2Undo *undo);
// S2_ACT_FREE: v0 of bodies that move as the program prescribes, and the motion of locks.
void s2_undo_motions(S2Undo *undo, const S2Note *note);
// Adjoints of the velocities of kinematic bodies at both ends of the step, which the note began
// with.
void s2_undo_give(S2Undo *undo, const S2Note *note);
// Adjoint of the goal that a bounded lock keeps at the end of a substep of this length.
void s2_undo_given_up(S2Undo *undo, int32_t slot, double elapsed);
// Adjoints of the goals and rates of locks at the end of the step, from the gradient.
void s2_undo_locks(S2Undo *undo, double elapsed);

// laws_undo.c: from the adjoint of a law's answer to the adjoints of its arguments.
typedef struct S2LawsSeen {
  S2Undo *undo;
  const S2Note *note;
  double *q, *v;     // 3 per slot: adjoints of the state of the act's own bodies
  double part;       // fraction of h
  double since;      // s, from the start of the substep
  double *since_bar; // in the two-stage flow: its adjoint
  bool by_share;     // the part is 2 (1 - beta)
  // 1 per slot: bodies with whose velocities the answer had to agree (they get nothing); or NULL
  const bool *own;
} S2LawsSeen;
void s2_undo_law_answer(const S2LawsSeen *seen, const S2LawAnswer *answer, const double bar[3]);
// Laws get states of bodies within the step. Passes the adjoints of these states on to the start of
// the step.
void s2_undo_seen(S2Undo *undo);

// impulse_undo.c, in the order of a sweep: at its start; at the end of a substep; at the end of a
// fraction of it that bisection makes; at the start of the step.
void s2_undo_open_impulses(S2Undo *undo);
void s2_undo_end_impulses(S2Undo *undo);
void s2_undo_end_fraction(S2Undo *undo);
void s2_undo_begin_impulses(S2Undo *undo);
// From here on, impulses before this act are terms of the sums for contacts of the step.
void s2_undo_sum_contacts(S2Undo *undo);
S2ContactGradient *s2_undo_copy_contacts(const S2Undo *undo); // entries of `contact`, in the arena
// Impulses that solves before the note gave to its island are not in the result.
void s2_undo_forget_contacts(S2Undo *undo, const S2Note *note);
void s2_undo_forget_joints(S2Undo *undo, const S2Note *note);
// Whether the loss contains such impulses. If so, it sets `failed`.
bool s2_undo_refuses_impulses(const S2Undo *undo, const S2Note *note, const char *what);
// S2_ACT_KEEP: turns the adjoints into the adjoints of the whole impact, of which a fraction was
// kept, and returns the adjoint of that fraction. The second function, for the REBOUND before it,
// does the reverse. It returns false if nothing was kept.
double s2_undo_keep_impulses(S2Undo *undo, const S2Note *note, const double *struck);
bool s2_undo_kept_impulses(S2Undo *undo, const S2Note *note);
// Adjoints of the reactions times a factor, for S2RowsAdjoint; of an impulse along that row; and of
// the impulses at the contact points of the note. The last function adds to the adjoints of the
// rows and of the sources of the points, and for impulses along the surface also to `aside` (2 per
// touch).
const double *s2_undo_reaction(const S2Undo *undo, const S2Note *note, double factor);
double s2_undo_impulse(const S2Undo *undo, int32_t joint, int row, const double push[3]);
// The adjoint of the impulse at point k of a touch of the step. NULL: there is none.
const S2ContactGradient *s2_undo_asked_impulse(const S2Undo *undo, const S2Touch *touch, int k);
void s2_undo_contact_impulses(S2Undo *undo, const S2Note *note, const S2Assembly *assembly,
                              double *dl_dlambda, double *aside);

// The adjoint of v2 for an act that took energy from v2. Returns the adjoint of that energy.
double s2_undo_slower(S2Undo *undo, const S2Note *note); // spin_undo.c: an island without ground
double s2_undo_repaid(S2Undo *undo, const S2Note *note); // repay_undo.c

#endif
