// The reverse sweep over the notes of a step. Private to core/diff.
#ifndef S2_UNDO_H
#define S2_UNDO_H

#include "diff/joints/answers.h"
#include "diff/joints/contact_vjp.h"
#include "diff/joints/step_adjoint.h"
#include "diff/step/trace_notes.h"
#include "dynamics/program/recorded.h"
#include "mcp/adjoint/mcp_vjp.h"

// The problem of an S2_ACT_SOLVE, assembled again for a later note. Holds the adjoint that this
// note gives to the rows.
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
  // 1 per note: flags of the touches that an earlier S2_ACT_LINEARISE computed, or NULL if there
  // are none
  const bool *const *late;
  S2PointBar *late_bar; // 2 per touch: adjoints of contact points from S2_ACT_LINEARISE
  // 2 per touch: adjoints of the impulses that bound friction; adjoints of targets or of the
  // remaining gain
  double *bound, *more;
  double *displaced; // 3 per slot: adjoint of joint displacements in projections
  // Adjoints, 3 per slot. `held`: forces held over the step. `law`: force laws called at the start
  // of a piece, in addition to `force`. The others belong to q0, v0 and free_v at the start of the
  // step, on which later arguments of force laws depend.
  double *held, *law, *law_q, *law_v, *law_free;
  double *law_flow;              // 3 per slot: adjoint of v1 before S2_ACT_LAWS_END
  double *flowed_q1, *flowed_v2; // 3 per slot: adjoints of the result of S2_ACT_RATTLE
  double *feed;      // per joint slot: fraction of a projection's impulse that is stored
  S2Remade **remade; // 1 per note; NULL: none
  double spin,
      most;     // adjoints of the angular momentum in S2_ACT_SPIN and of the energy
  double *back; // 3 per slot: adjoint of q1 before note back_at, the target of S2_ACT_GO_BACK
  int back_at;  // S2_NONE: no such note
  double *reflected,
      *start; // 3 per slot: adjoints of v2 after and before the passes of reflections.
  // S2_JOINT_ROWS and 3 per joint slot: adjoints of impulses and reactions of joints. Saved while
  // the sweep passes over acts that only compute approach speeds.
  double *waiting_impulse, *waiting_reaction;
  // Event stepping, see event_undo.c.
  double *pushed, *dragged; // 2 per touch: adjoints of impulses of the flow or of a motion
  double *struck;           // S2_TOUCH_IMPULSES per touch: adjoints of impact impulses
  int touches;              // number of touches of the step
  // adjoints of the step length, and of the time that remains after an interval
  double length_bar, left_bar;
  double closing; // adjoint of the value of the limit that is reached at the end of an interval
  double *impulse_bar; // like S2StepAdjoint.joint_impulse, for the sum over all intervals.
  // The fraction of the remaining time that an interval took. It is 0 if the interval ended at an
  // impact time. In that case the gap receives the adjoint.
  double share;
  S2Drive *drives; // 1 per joint slot: drives of the substep
  bool striking;   // true while the sweep is in impacts at the start of the step
  // 3 per slot: adjoint of the mean velocity of ground, while v0 has the adjoints of its velocity
  // at the start
  double *ground_v0, *ground_v;
  // 3 per slot: saved poses of ground bodies, while q0 and q1 are those of an interval
  double *ground0, *ground1;
  S2WorldGradient *scratch;
  S2Answers answers;
  // impulse_undo.c: adjoints of joint reactions in the whole step (3 per slot), and adjoints of
  // contact impulses in the solves before this act (see gradient->contact).
  double *reaction;
  S2ContactGradient *contact;
  int contacts;
  bool keeps; // true while the sweep is between S2_ACT_KEEP and its REBOUND
  bool asked;
  bool in_interval; // true while the sweep is within an interval of event stepping
  unsigned other;   // S2VjpOther: which of two derivatives is used, if two exist
  unsigned found;   // S2VjpOther: the kinds of second derivatives that were found
  S2Status *failed; // S2_OK until an act has no derivative
} S2Undo;

static inline bool s2_undo_good(const S2Undo *undo) {
  return undo->failed->code == S2_OK;
}

// sweep.c: same as s2_trace_vjp, but `other` (S2VjpOther) selects the derivative if two exist.
// `found` receives the kinds of second derivatives.
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
void s2_undo_set_island(S2Undo *undo, const S2Note *note); // for the assembly
void s2_undo_forget_island(S2Undo *undo, const S2Note *note);

// Access to the island's nodes in arrays of 3 numbers per slot. `put` copies the note's values (3
// per node) to such an array. `move` adds the nodes' values in `from` to those in `to`, and sets
// them to 0 in `from`.
void s2_undo_put_nodes(const S2Note *note, const double *kept, double *to);
void s2_undo_move_nodes(const S2Note *note, double *from, double *to);
// Returns true if the loss depends on the later motion of the note's bodies. If on_q1 is set, also
// tests q1.
bool s2_undo_depends(const S2Undo *undo, const S2Note *note, bool on_q1);

// Returns true if the body is enabled and not static.
static inline bool s2_undo_goes(const S2Body *body) {
  return body->enabled && body->type != S2_STATIC;
}
// Computes the adjoints of a body's mass and free_v over the time h.
void s2_undo_free_body(S2Undo *undo, int32_t slot, double h);
// For notes with `carried`. s2_undo_carry returns the velocity that moves coordinate `at`, an index
// into arrays with 3 numbers per slot. s2_undo_carried passes the adjoint of that velocity on to
// v0, v1 and beta.
bool s2_undo_carried_ahead(const S2Undo *undo, const S2Note *note, int32_t slot);
double s2_undo_carry(const S2Undo *undo, const S2Note *note, int at);
void s2_undo_carried(S2Undo *undo, const S2Note *note, int at, double bar);

// Passes the adjoint of a note's contact point on to the source of its geometry: q0 or the result
// of S2_ACT_LINEARISE.
void s2_undo_point(S2Undo *undo, int touch, int k, const S2PointBar *bar);
// Same as s2_undo_point, for a contact point with a row in an S2_ACT_SOLVE.
void s2_undo_solved_point(S2Undo *undo, int touch, int k, const S2PointBar *bar);
// Returns the approach speed of a contact, -sqrt(u^2 + 2 max(0, -a) max(gap, 0)), with u from v2
// and a from the free motion. Passes its adjoint `bar` on.
double s2_arrival_vjp(S2Undo *undo, const S2Touch *touch, int k, double bar, S2PointBar *point);

// ---- Parts that several acts use ----------------------------------------------------------------

// quiet_look.c (see diff/world/quiet.h): inspects a step at the start of its sweep.
void s2_quiet_look_at_step(S2Undo *undo);
// The same for a step that a program has taken.
void s2_quiet_look_at_record(const S2Program *program, const S2RecordedStep *step,
                             const S2WorldGradient *all);
// Inspects bodies in free flight, after the sweep over the start of a substep. These bodies are in
// no solve.
void s2_quiet_look_at_flight(const S2Undo *undo);

// substep_undo.c: restores the state, the masses and free_v at the start of the step or substep
// that ends with the note.
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
  bool by_share;     // the part is 2 (1 - beta)
  // 1 per slot, or NULL: true if the velocity was solved together with the law. Such a velocity
  // receives no adjoint here.
  const bool *own;
} S2LawsSeen;
void s2_undo_law_answer(const S2LawsSeen *seen, const S2LawAnswer *answer, const double bar[3]);
// Force laws read the states of bodies within the step. Passes the adjoints of these states on to
// the start of the step.
void s2_undo_seen(S2Undo *undo);

// impulse_undo.c: a sweep calls these functions at its start, at the end of a substep, at the end
// of each part of a bisected substep, and at the start of the step.
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
// Returns true and sets `failed` if the loss contains impulses without a derivative.
bool s2_undo_refuses_impulses(const S2Undo *undo, const S2Note *note, const char *what);
// S2_ACT_KEEP: the step applied only a fraction of an impact. The first function converts the
// adjoints to those of the whole impact, and returns the adjoint of the fraction. The second
// function does the reverse for the preceding REBOUND. It returns false if no adjoints were saved.
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
