// A step going backwards over its notes. Private to core/diff.
#ifndef S2_UNDO_H
#define S2_UNDO_H

#include "diff/joints/answers.h"
#include "diff/joints/contact_vjp.h"
#include "diff/joints/step_adjoint.h"
#include "diff/step/trace_notes.h"
#include "mcp/adjoint/mcp_vjp.h"

// The problem of a S2_ACT_SOLVE that a note after it had made again, and what that note has for the
// adjoint of its rows.
typedef struct S2Remade {
  S2Assembly assembly;
  double *ja, *jb; // 3 a row
} S2Remade;

typedef struct S2Opened { // what a note says of contacts, taken out; as long as its act is undone
  const S2Note *note;
  S2Touch *touches;
  const S2Touch *solved; // those that its rows are taken from: `touches`, but S2_PROJECT_SOLVED
  S2Choice *choices;     // 2 a touch
} S2Opened;

typedef struct S2Undo {
  const S2Notes *notes;
  int index;             // of the note whose act is being undone
  const S2Note *substep; // that its substep began with
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
  double *bound, *more;
  double *displaced; // 3 a slot: of what joints displaced in projections
  // 3 a slot: of what is held over the step, of laws as asked at the start of a piece beside what
  // `force` has, and of q0, v0 and free_v at the start of the step, which laws saw within it
  double *held, *law, *law_q, *law_v, *law_free;
  double *law_flow;              // 3 a slot: of v1 before a S2_ACT_LAWS_END
  double *flowed_q1, *flowed_v2; // 3 a slot: of what S2_ACT_RATTLE has found
  double *feed;                  // a joint slot: fraction of a projection's impulse that it kept
  S2Remade **remade;             // a note; NULL: there is none
  double spin, most; // of the angular momentum that S2_ACT_SPIN measured, and of the energy
  double *back;      // 3 a slot: of q1 as it was before note back_at, where S2_ACT_GO_BACK went
  int back_at;       // S2_NONE: nowhere
  double *reflected, *start; // 3 a slot: of v2 after the passes of reflections, and at their start
  // S2_JOINT_ROWS and 3 a joint slot: of impulses and reactions of joints, while what only showed
  // how fast things arrive is undone
  double *waiting_impulse, *waiting_reaction;
  // Event stepping (event_undo.c): of the length of a step, and of what is left of it at the end of
  // an interval
  double *pushed, *dragged; // 2 a touch: of the impulses of the flow, or of a motion
  double *struck;           // S2_TOUCH_IMPULSES a touch: of the impulses of an impact
  int touches;              // of the step
  double length_bar, left_bar;
  double closing;      // of the value of the limit that closes at the end of an interval
  double *impulse_bar; // as S2StepAdjoint.joint_impulse: of the sum over the intervals of a step
  double
      share; // of what was left that an interval took; 0: until a meeting, whose gap has the rest
  S2Drive *drives;              // a joint slot: of the substep
  bool striking;                // what happens as the step begins is being undone
  double *ground_v0, *ground_v; // 3 a slot: of its mean velocity, while v0 or the others are of
                                // that at the start
  double *ground0, *ground1;    // 3 a slot: what waits while q0 and q1 of ground are of an
                                // interval's time
  S2WorldGradient *scratch;
  S2Answers answers;
  // impulse_undo.c: of the reactions of joints in the whole step, 3 a slot; of those of contact
  // points in the solves before this act, as gradient->contact; is there any of those?
  double *reaction;
  S2ContactGradient *contact;
  int contacts;
  bool keeps; // between S2_ACT_KEEP and its REBOUND
  bool asked;
  bool in_interval; // of event stepping, between its end and its begin
  unsigned other;   // S2VjpOther: which of them are taken, where there are two derivatives
  unsigned found;   // the same: which of them there are
  S2Status *failed; // S2_OK until something has no derivative
} S2Undo;

static inline bool s2_undo_good(const S2Undo *undo) {
  return undo->failed->code == S2_OK;
}

// sweep.c: s2_trace_vjp with those of `other` (S2VjpOther), where there are two derivatives.
// `found`: which are there?
S2Status s2_trace_sweep(const S2Trace *trace, unsigned other, unsigned *found,
                        S2WorldGradient *gradient, S2Arena *arena);

// Undoes the act of note undo->index: arrays of the step are what they were before it, and so are
// their adjoints.
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
    s2_undo_blend, s2_undo_rewind, s2_undo_hit;
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

// ---- undo.c: what they share --------------------------------------------------------------------

// The last note of an act before the one that is being undone, or that one.
const S2Note *s2_undo_last(const S2Undo *undo, S2Act act);

void s2_undo_open(S2Undo *undo, const S2Note *note);       // into the arena
void s2_undo_set_island(S2Undo *undo, const S2Note *note); // what assembly reads of it
void s2_undo_forget_island(S2Undo *undo, const S2Note *note);

// Of an island's nodes: their places in arrays of 3 a slot get what the note has of them (3 a
// node); what is in `from` is added to `to`, and then 0.
void s2_undo_put_nodes(const S2Note *note, const double *kept, double *to);
void s2_undo_move_nodes(const S2Note *note, double *from, double *to);
// Does the loss depend on what the bodies of the note do from here on (on q1 too, where it is
// asked)?
bool s2_undo_depends(const S2Undo *undo, const S2Note *note, bool on_q1);

// Is a body moved by a velocity?
static inline bool s2_undo_goes(const S2Body *body) {
  return body->enabled && body->type != S2_STATIC;
}
// Of a body's mass and free_v over h.
void s2_undo_free_body(S2Undo *undo, int32_t slot, double h);
// The velocity that carried coordinate `at` (of 3 a slot) in the motion of a note that has
// `carried`, and what its adjoint means for v0, v1 and beta.
bool s2_undo_carried_ahead(const S2Undo *undo, const S2Note *note, int32_t slot);
double s2_undo_carry(const S2Undo *undo, const S2Note *note, int at);
void s2_undo_carried(S2Undo *undo, const S2Note *note, int at, double bar);

// The adjoint of a point of a touch of the note, to where its geometry is from: q0, or what
// S2_ACT_LINEARISE made.
void s2_undo_point(S2Undo *undo, int touch, int k, const S2PointBar *bar);
// As s2_undo_point, of a point that a S2_ACT_SOLVE had a row of.
void s2_undo_solved_point(S2Undo *undo, int touch, int k, const S2PointBar *bar);
// -sqrt(u^2 + 2 max(0, -a) max(gap, 0)), the speed of arrival that u of v2 and a of the free motion
// bring; times `bar` to those. Returns it.
double s2_arrival_vjp(S2Undo *undo, const S2Touch *touch, int k, double bar, S2PointBar *point);

// ---- Phases that serve others -------------------------------------------------------------------

// quiet_look.c: of a step that begins to be undone, see diff/world/quiet.h.
void s2_quiet_look_at_step(S2Undo *undo);
// Of a substep whose beginning was undone: bodies in free flight, which no solve sees.
void s2_quiet_look_at_flight(const S2Undo *undo);

// substep_undo.c: mass and free_v of the (sub-)step that ends with the note, and where it began.
void s2_undo_enter(S2Undo *undo);

// program_undo.c: makes undo->world answer as the program did; `undo` stays where it is.
void s2_undo_answer(S2Undo *undo);
// Of S2_ACT_FREE: v0 of bodies that move as the program says, and how locks move.
void s2_undo_motions(S2Undo *undo, const S2Note *note);
// The velocities at both ends of the step of what moves as given, as the note began with them.
void s2_undo_give(S2Undo *undo, const S2Note *note);
// Of the goal that a lock with a bound keeps at the end of a substep of this length.
void s2_undo_given_up(S2Undo *undo, int32_t slot, double elapsed);
// Of what locks are at when the step ends: their goals and rates in the gradient.
void s2_undo_locks(S2Undo *undo, double elapsed);

// laws_undo.c: of a law's answer, to what it saw.
typedef struct S2LawsSeen {
  S2Undo *undo;
  const S2Note *note;
  double *q, *v;     // 3 a slot: adjoints of where the act's own bodies are
  double part;       // of h
  double since;      // s, from the start of the substep
  double *since_bar; // of the flow by two stages: its adjoint
  bool by_share;     // the part is 2 (1 - beta)
  const bool
      *own; // a slot: bodies whose velocities it was to agree with, which get nothing; or NULL
} S2LawsSeen;
void s2_undo_law_answer(const S2LawsSeen *seen, const S2LawAnswer *answer, const double bar[3]);
// What laws saw of bodies on their way, to the start of the step.
void s2_undo_seen(S2Undo *undo);

// impulse_undo.c, in the order a sweep comes by them: at its start; at the end of a substep; of a
// fraction of it that bisect makes; at the start of the step.
void s2_undo_open_impulses(S2Undo *undo);
void s2_undo_end_impulses(S2Undo *undo);
void s2_undo_end_fraction(S2Undo *undo);
void s2_undo_begin_impulses(S2Undo *undo);
// What acted before this act is a summand of what contacts say of the step.
void s2_undo_sum_contacts(S2Undo *undo);
S2ContactGradient *s2_undo_copy_contacts(const S2Undo *undo); // those of `contact`, in the arena
// What solves before the note gave to impulses of its island is not in the result.
void s2_undo_forget_contacts(S2Undo *undo, const S2Note *note);
void s2_undo_forget_joints(S2Undo *undo, const S2Note *note);
// Are such impulses asked for? Then it fails.
bool s2_undo_refuses_impulses(const S2Undo *undo, const S2Note *note, const char *what);
// Of S2_ACT_KEEP: makes them those of the impact before its fraction was kept, and returns what
// they say of that fraction; and of the REBOUND before it, the other way round. False: there was
// none to keep.
double s2_undo_keep_impulses(S2Undo *undo, const S2Note *note, const double *struck);
bool s2_undo_kept_impulses(S2Undo *undo, const S2Note *note);
// Of the reactions, times a factor, for S2RowsAdjoint; of an impulse of that row; and of those of
// the contact points of the note, added to its rows' and to where the points come from; of those
// along the surface to `aside` (2 a touch), too.
const double *s2_undo_reaction(const S2Undo *undo, const S2Note *note, double factor);
double s2_undo_impulse(const S2Undo *undo, int32_t joint, int row, const double push[3]);
// What the loss asks of the impulse at point k of a touch of the step; NULL: nothing.
const S2ContactGradient *s2_undo_asked_impulse(const S2Undo *undo, const S2Touch *touch, int k);
void s2_undo_contact_impulses(S2Undo *undo, const S2Note *note, const S2Assembly *assembly,
                              double *dl_dlambda, double *aside);

// Of the v2 of an act that took energy from it; returns the adjoint of that energy.
double s2_undo_slower(S2Undo *undo, const S2Note *note); // spin_undo.c: where nothing holds it
double s2_undo_repaid(S2Undo *undo, const S2Note *note); // repay_undo.c

#endif
