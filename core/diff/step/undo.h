// The reverse sweep over the notes of a step. Private to core/diff.
#ifndef S2_UNDO_H
#define S2_UNDO_H

#include "diff/joints/answers.h"
#include "diff/joints/contact_vjp.h"
#include "diff/joints/step_adjoint.h"
#include "diff/step/trace_notes.h"
#include "mcp/adjoint/mcp_vjp.h"

// The problem of an S2_ACT_SOLVE that was assembled again for a later note, and the adjoint of its
// rows from that note.
typedef struct S2Remade {
  S2Assembly assembly;
  double *ja, *jb; // 3 numbers per row
} S2Remade;

typedef struct S2Opened { // the contacts of a note, unpacked while its act is undone
  const S2Note *note;
  S2Touch *touches;
  const S2Touch *solved; // contacts from which rows are assembled: `touches`, except in
                         // S2_PROJECT_SOLVED
  S2Choice *choices;     // 2 adjoints per touch
} S2Opened;

typedef struct S2Undo {
  const S2Notes *notes;
  int index;             // the note whose act is being undone
  const S2Note *substep; // the note with which its substep began
  S2Opened open;
  S2World *world;    // a view of the recorded data, for functions that read a world
  S2Step step;       // the state before the act that is being undone
  S2StepAdjoint bar; // dl/d(arrays of `step`)
  S2WorldGradient *gradient;
  S2Arena *arena;
  // 1 per note: which of its touches an earlier S2_ACT_LINEARISE computed. NULL: none
  const bool *const *late;
  S2PointBar *late_bar; // 2 per touch: adjoints of contact points that S2_ACT_LINEARISE computed.
  // 2 per touch: adjoints of the impulses that bound friction; adjoints of targets or of the
  // remaining gain
  double *bound, *more;
  double *displaced; // 3 per slot: adjoint of displacements by joints in projections.
  // Adjoints, 3 per slot: forces held over the step; laws called at the start of a piece (in
  // addition to `force`); q0, v0 and free_v at the start of the step, which determine later
  // arguments of laws.
  double *held, *law, *law_q, *law_v, *law_free;
  double *law_flow;              // 3 per slot: adjoint of v1 before S2_ACT_LAWS_END
  double *flowed_q1, *flowed_v2; // 3 per slot: adjoints of the result of S2_ACT_RATTLE
  double *feed;      // per joint slot: fraction of a projection's impulse that is stored
  S2Remade **remade; // 1 per note; NULL: none
  double spin,
      most;     // adjoints of the angular momentum (measured by S2_ACT_SPIN) and of the energy
  double *back; // 3 per slot: adjoint of q1 before note back_at, the target of S2_ACT_GO_BACK
  int back_at;  // S2_NONE: no such note
  double *reflected,
      *start; // 3 per slot: adjoints of v2 after and before the passes of reflections.
  // S2_JOINT_ROWS and 3 per joint slot: adjoints of impulses and reactions of joints, saved while
  // the sweep passes over acts that only determine the speeds of arrival.
  double *waiting_impulse, *waiting_reaction;
  // Event stepping (event_undo.c): adjoints of the length of a step, and of the remaining time at
  // the end of an interval.
  double *pushed, *dragged; // 2 per touch: adjoints of impulses of the flow or of a motion
  double *struck;           // S2_TOUCH_IMPULSES per touch: adjoints of impact impulses
  int touches;              // number of touches of the step
  double length_bar, left_bar;
  double closing;      // adjoint of the value of the limit that closes at the end of an interval
  double *impulse_bar; // like S2StepAdjoint.joint_impulse, for the sum over all intervals.
  // the fraction of the remaining time that an interval took; 0: the interval ended at a time of
  // impact, so the gap gets the adjoint
  double share;
  S2Drive *drives; // 1 per joint slot: drives of the substep
  bool striking;   // the sweep is in impacts at the start of the step.
  // 3 per slot: adjoint of the mean velocity of ground, while v0 has the adjoints of its velocity
  // at the start
  double *ground_v0, *ground_v;
  // 3 per slot: saved while q0 and q1 of ground belong to an interval
  double *ground0, *ground1;
  S2WorldGradient *scratch;
  S2Answers answers;
  // impulse_undo.c: adjoints of joint reactions in the whole step (3 per slot), adjoints of contact
  // impulses in the solves before this act (as gradient->contact), and their number.
  double *reaction;
  S2ContactGradient *contact;
  int contacts;
  bool keeps; // whether the sweep is between S2_ACT_KEEP and its REBOUND
  bool asked;
  bool in_interval; // whether the sweep is within an interval of event stepping
  unsigned other;   // S2VjpOther: which of two derivatives is used, if two exist
  unsigned found;   // S2VjpOther: the kinds of second derivatives that were found
  S2Status *failed; // S2_OK until an act has no derivative
} S2Undo;

static inline bool s2_undo_good(const S2Undo *undo) {
  return undo->failed->code == S2_OK;
}

// sweep.c: s2_trace_vjp with the derivatives that `other` (S2VjpOther) selects if two exist.
// `found` receives the kinds that exist.
S2Status s2_trace_sweep(const S2Trace *trace, unsigned other, unsigned *found,
                        S2WorldGradient *gradient, S2Arena *arena);

// Undoes the act of note undo->index: the arrays of the step and their adjoints return to the state
// before the act.
typedef void S2UndoAct(S2Undo *undo, const S2Note *note);

// substep_undo.c
S2UndoAct s2_undo_substep, s2_undo_free, s2_undo_next, s2_undo_commit;
// motion_undo.c
S2UndoAct s2_undo_reset, s2_undo_reset_v2, s2_undo_v2_is_v1, s2_undo_v1_is_v2, s2_undo_q0_is_q1,
    s2_undo_integrate, s2_undo_linearise, s2_undo_short, s2_undo_go_back;
S2UndoAct s2_undo_solve;                                 // solve_undo.c
S2UndoAct s2_undo_rattle, s2_undo_flowed, s2_undo_piece; // rattle_pieces_undo.c.
// impact_undo.c
S2UndoAct s2_undo_restart, s2_undo_recall, s2_undo_rebound, s2_undo_keep, s2_undo_reflect,
    s2_undo_blend, s2_undo_rewind, s2_undo_hit, s2_undo_stop;
S2UndoAct s2_undo_project;  // project_undo.c
S2UndoAct s2_undo_shake;    // shake_undo.c
S2UndoAct s2_undo_feedback; // feedback_undo.c.
// spin_undo.c
S2UndoAct s2_undo_balance, s2_undo_spin, s2_undo_spin_v2, s2_undo_spin_dq, s2_undo_cap;
S2UndoAct s2_undo_slow;                   // repay_undo.c
S2UndoAct s2_undo_laws, s2_undo_laws_end; // laws_undo.c.
// event_undo.c
S2UndoAct s2_undo_drift, s2_undo_interval, s2_undo_struck, s2_undo_set_out, s2_undo_fly,
    s2_undo_arrive, s2_undo_repay, s2_undo_interval_end;

// ---- undo.c: common parts ----------------------------------------------------------------------

// Returns the last note of the given act, at or before the note that is being undone.
const S2Note *s2_undo_last(const S2Undo *undo, S2Act act);

void s2_undo_open(S2Undo *undo, const S2Note *note);       // allocated in the arena
void s2_undo_set_island(S2Undo *undo, const S2Note *note); // the island's data for assembly
void s2_undo_forget_island(S2Undo *undo, const S2Note *note);

// Access to the island's nodes in arrays of 3 numbers per slot. `put` copies the note's values (3
// per node) to such an array. `move` adds the nodes' values in `from` to those in `to`, and sets
// them to 0 in `from`.
void s2_undo_put_nodes(const S2Note *note, const double *kept, double *to);
void s2_undo_move_nodes(const S2Note *note, double *from, double *to);
// Whether the loss depends on the later motion of the note's bodies (with on_q1, also on their q1).
bool s2_undo_depends(const S2Undo *undo, const S2Note *note, bool on_q1);

// Whether the body can move: it is enabled and not static.
static inline bool s2_undo_goes(const S2Body *body) {
  return body->enabled && body->type != S2_STATIC;
}
// Adjoints of a body's mass and free_v over the time h.
void s2_undo_free_body(S2Undo *undo, int32_t slot, double h);
// For a note with `carried`: the first function returns the velocity that moves coordinate `at` (of
// 3 per slot). The second passes the adjoint of that velocity on to v0, v1 and beta.
bool s2_undo_carried_ahead(const S2Undo *undo, const S2Note *note, int32_t slot);
double s2_undo_carry(const S2Undo *undo, const S2Note *note, int at);
void s2_undo_carried(S2Undo *undo, const S2Note *note, int at, double bar);

// Passes the adjoint of a note's contact point on to the source of its geometry: q0 or the result
// of S2_ACT_LINEARISE.
void s2_undo_point(S2Undo *undo, int touch, int k, const S2PointBar *bar);
// Passes on the adjoint of a contact point for which an S2_ACT_SOLVE had a row. Otherwise it acts
// like s2_undo_point.
void s2_undo_solved_point(S2Undo *undo, int touch, int k, const S2PointBar *bar);
// Passes on `bar`, the adjoint of the speed of arrival -sqrt(u^2 + 2 max(0, -a) max(gap, 0)), with
// u from v2 and a from the free motion. Returns that speed.
double s2_arrival_vjp(S2Undo *undo, const S2Touch *touch, int k, double bar, S2PointBar *point);

// ---- Parts that several acts use ----------------------------------------------------------------

// quiet_look.c (see diff/world/quiet.h): inspects a step at the start of its sweep.
void s2_quiet_look_at_step(S2Undo *undo);
// Inspects bodies in free flight, which no solve contains, after the sweep over the start of a
// substep.
void s2_quiet_look_at_flight(const S2Undo *undo);

// substep_undo.c: restores the start of the step or substep that ends with the note, and its masses
// and free_v.
void s2_undo_enter(S2Undo *undo);

// program_undo.c: makes the callbacks of undo->world return the recorded values. `undo` must not
// move in memory.
void s2_undo_answer(S2Undo *undo);
// S2_ACT_FREE: v0 of bodies with prescribed motion, and the motion of locks.
void s2_undo_motions(S2Undo *undo, const S2Note *note);
// Adjoints of the velocities of kinematic bodies at both ends of the step that the note began.
void s2_undo_give(S2Undo *undo, const S2Note *note);
// Adjoint of the goal of a bounded lock at the end of a substep of this length.
void s2_undo_given_up(S2Undo *undo, int32_t slot, double elapsed);
// Takes the adjoints of the goals and rates of locks at the end of the step from the gradient.
void s2_undo_locks(S2Undo *undo, double elapsed);

// laws_undo.c: passes the adjoint of a law's force on to the arguments of the law.
typedef struct S2LawsSeen {
  S2Undo *undo;
  const S2Note *note;
  double *q, *v;     // 3 per slot: adjoints of the state of bodies in the act
  double part;       // fraction of h
  double since;      // s, since the start of the substep
  double *since_bar; // in the two-stage flow: adjoint of `since`
  bool by_share;     // the part is 2 (1 - beta).
  // 1 per slot: bodies whose velocities were solved together with the law, so they receive no
  // adjoint here; or NULL
  const bool *own;
} S2LawsSeen;
void s2_undo_law_answer(const S2LawsSeen *seen, const S2LawAnswer *answer, const double bar[3]);
// Laws are called with states of bodies within the step. Passes the adjoints of these states on to
// the start of the step.
void s2_undo_seen(S2Undo *undo);

// impulse_undo.c, in the order of a sweep: called at the start of the sweep, at the end of a
// substep, at the end of each part of a bisected substep, and at the start of the step.
void s2_undo_open_impulses(S2Undo *undo);
void s2_undo_end_impulses(S2Undo *undo);
void s2_undo_end_fraction(S2Undo *undo);
void s2_undo_begin_impulses(S2Undo *undo);
// From here on, earlier impulses count as terms of the contact impulses of the step.
void s2_undo_sum_contacts(S2Undo *undo);
S2ContactGradient *s2_undo_copy_contacts(const S2Undo *undo); // entries of `contact`, in the arena.
// Impulses of earlier solves of the note's island are not part of the result.
void s2_undo_forget_contacts(S2Undo *undo, const S2Note *note);
void s2_undo_forget_joints(S2Undo *undo, const S2Note *note);
// Whether the loss contains impulses for which no derivative exists. If so, it sets `failed`.
bool s2_undo_refuses_impulses(const S2Undo *undo, const S2Note *note, const char *what);
// S2_ACT_KEEP: converts the adjoints to the adjoints of the whole impact, of which the step applied
// a fraction, and returns the adjoint of that fraction. The second function, for the preceding
// REBOUND, does the reverse. It returns false if no adjoints were saved.
double s2_undo_keep_impulses(S2Undo *undo, const S2Note *note, const double *struck);
bool s2_undo_kept_impulses(S2Undo *undo, const S2Note *note);
// The first function returns the adjoints of the reactions times a factor, for S2RowsAdjoint. The
// second returns the adjoint of an impulse along a row. s2_undo_contact_impulses passes the
// adjoints of the impulses at the note's contact points on to the rows, to the sources of the
// points and, for impulses along the surface, also to `aside` (2 per touch).
const double *s2_undo_reaction(const S2Undo *undo, const S2Note *note, double factor);
double s2_undo_impulse(const S2Undo *undo, int32_t joint, int row, const double push[3]);
// The adjoint of the impulse at point k of a touch of the step, or NULL.
const S2ContactGradient *s2_undo_asked_impulse(const S2Undo *undo, const S2Touch *touch, int k);
void s2_undo_contact_impulses(S2Undo *undo, const S2Note *note, const S2Assembly *assembly,
                              double *dl_dlambda, double *aside);

// Undoes the removal of energy from v2: updates the adjoint of v2, and returns the adjoint of the
// removed energy.
double s2_undo_slower(S2Undo *undo, const S2Note *note); // spin_undo.c: for an island without
                                                         // ground
double s2_undo_repaid(S2Undo *undo, const S2Note *note); // repay_undo.c

#endif
