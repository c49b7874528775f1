// Private to core/dynamics and core/diff: the notes of a step for its derivative.
//
// A step is a list of acts, each of which overwrites some of the arrays of S2Step. The notes
// contain, in order, every act whose result entered the world, with the inputs that cannot be
// derived from earlier notes. They do not contain discarded attempts.
//
// The derivative reads the notes backwards from the end of the step and undoes each act from its
// record.
#ifndef S2_NOTES_H
#define S2_NOTES_H

#include "dynamics/impact/impact.h"
#include "dynamics/project/project.h"

// The words in brackets name the record of the act. The table in diff/step/sweep.c names the
// function that undoes it.
typedef enum S2Act {
  // On all bodies:
  S2_ACT_SUBSTEP,   // (substep) begins: q1 = q0 and v0 are the world's
  S2_ACT_FREE,      // (free) mass and free_v for h, from v0 and force
  S2_ACT_RESET,     // (plain) v1 = free_v
  S2_ACT_RESET_V2,  // (plain) v2 = free_v (bisect)
  S2_ACT_LINEARISE, // (carried) one touch, linearised at q0 + until carry, is carried back to q0
  S2_ACT_V2_IS_V1,  // (no record)
  S2_ACT_V1_IS_V2,  // (plain) bisect
  S2_ACT_INTEGRATE, // (carried) carry and q1; from here on touches belong to q1
  S2_ACT_Q0_IS_Q1,  // (plain: q1) q0 = q1, after a projection before the step
  S2_ACT_NEXT,      // (end) q0 = q1, v0 = v2: the next fraction of a substep that bisect makes
  S2_ACT_COMMIT,    // (end) ends
  S2_ACT_LAWS,      // (laws) force laws are called at q0, v0, for all bodies or for an island
  // (laws) v2 agrees with the laws at q1; for an island, also v1 and force (laws.h)
  S2_ACT_LAWS_END,
  S2_ACT_DRIFT, // (no record) v1 = v2 = free_v and q1 = q0 + h (v0 + v1)/2 (event stepping)
  // On an island's nodes. Solves:
  S2_ACT_SOLVE,   // (solve) v1 or v2
  S2_ACT_RATTLE,  // (rattle) q1 and v2 by the flow in two stages; later acts may overwrite them
  S2_ACT_FLOWED,  // (no record) q1 and v2 are the results of the flow again
  S2_ACT_BALANCE, // (plain) v1 += a rotation of the island, so that joints have no moment at q0
  S2_ACT_SHORT,   // (scaled) carry := fraction carry, q1 = q0 + h carry
  // Impacts:
  S2_ACT_RESTART, // (plain) v2 = v0; impulses of joints start again
  S2_ACT_RECALL,  // (plain) v2 = v0, to find arrival speeds
  // (plain) targets come from v2 and the present touches; then v2 = v1, and impulses of joints
  // return to their values before S2_ACT_RECALL
  S2_ACT_REBOUND,
  // (keep) v2 = v1 + fraction (v2 - v1), with the largest fraction that gains no energy
  S2_ACT_KEEP,
  S2_ACT_REFLECT, // (no record) reflections begin with v2 and the present touches
  S2_ACT_BLEND,   // (blend) v2 = e reflected + (1 - e) v2; undoing it restores S2_ACT_REWIND's v2
  S2_ACT_REWIND,  // (plain) v2 returns to its value at S2_ACT_REFLECT
  S2_ACT_HIT,     // (no record) later acts contain an impact at the time of the step
  S2_ACT_STOP,    // (no record) later acts contain a stop of a joint at a limit, at the time of the
                  // step
  S2_ACT_SLOW,    // (energy) v2 loses the energy that a projection has added (repay.c)
  // Projections:
  S2_ACT_PROJECT, // (solve) q1 += fraction v
  // (solve) q1 += displacement that removes the errors of the joints' equations (shake.c)
  S2_ACT_SHAKE,
  S2_ACT_FEEDBACK, // (solve) v2 += fraction/h (joint displacement since S2_ACT_INTEGRATE)
  S2_ACT_SPIN,     // (spin) measures the angular momentum of a floating island
  S2_ACT_SPIN_V2,  // (spin) v2 += a rotation of the island, so that it has the measured spin
  S2_ACT_SPIN_DQ,  // (spin) joint displacement += a rotation, so that it has no spin
  S2_ACT_CAP,      // (energy) v2 loses the excess over the limit known at S2_ACT_SPIN
  S2_ACT_GO_BACK,  // (go_back) q1 returns to its value before an earlier note
  // Event stepping: an interval of the island's step, which ends at a meeting.
  // (interval) begins, with its ground at that time; except for the first interval q0 = q1, v0 = v2
  S2_ACT_INTERVAL,
  S2_ACT_STRUCK,  // (plain) v0 = v2, after an impact
  S2_ACT_SET_OUT, // (set_out) mass and free_v for h, from v0 and force
  S2_ACT_FLY,     // (no record) v1 = free_v
  S2_ACT_PIECE,   // (rattle) q1 and v1 by the two stages; the ARRIVE after it does not change q1
  // (arrive) q1 = q0 + h ((1 - share) v0 + share v1), v2 = v1; h is the time at which `touches`
  // meet
  S2_ACT_ARRIVE,
  S2_ACT_REPAY,        // (energy) v2 of some nodes loses the energy that the interval has added
  S2_ACT_INTERVAL_END, // (end) ends
  S2_ACTS
} S2Act;

typedef enum S2ProjectRows { // rows that a projection uses with the errors at q1
  S2_PROJECT_ANEW,           // at q1
  S2_PROJECT_SHAKE,          // equations of joints at q0, the rest at q1
  S2_PROJECT_SOLVED,         // at q0, as in the solve
} S2ProjectRows;

typedef struct S2ShakenRow { // as in S2JointPart
  int32_t joint, row;
  double push[3];
} S2ShakenRow;

// Force laws (step/laws.h). The state of a body that a law has read: S2_LAW_OWN: the state in the
// act (q0, v0, or q1, v2); S2_LAW_FLIES: free flight from the start of the step.
typedef enum S2LawOf { S2_LAW_OWN, S2_LAW_FLIES } S2LawOf;

typedef struct S2LawTerm {
  S2ForceTerm term;
  S2LawOf of;
  double rate; // derivative of that component with respect to time; 0 for S2_LAW_OWN
} S2LawTerm;

typedef struct S2LawAnswer { // the answer of a law for one body
  int32_t slot;
  int terms;
  const S2LawTerm *term;
  double by_time[3], by_dt[3];
  uint32_t origin[3];
  bool held; // LAWS_END: its velocity stays; RATTLE: the law was called at v0
  // LAWS_END: change of the law since the start; RATTLE: the force with the held part
  double change[3];
} S2LawAnswer;

typedef struct S2RattleNote { // the flow by two stages
  int pieces, rows, laws;     // laws: number of answers of all pieces
  const double *piece;        // the S2RattleRecord of each piece, consecutive
  // For each piece: the answers of laws in stage 1, one for each body with a law, then in stage 2.
  const S2LawAnswer *answers;
  int placings; // passes that moved q0 onto the joints, as in S2Rattle
  const double *placing;
} S2RattleNote;

typedef struct S2LawsAct {
  int count;
  S2LawAnswer *answers;
  double since; // s, from the start of the substep to the time of the call
  double part;  // LAWS_END: fraction of the motion from q0 to q1, and of h
} S2LawsAct;

// The island of an act. The island is recorded with the touches that have rows: their number is
// island.touches, they keep their order, and island.touch[i] = i.
typedef struct S2NoteIsland {
  S2Island island;
  // SOLVE, PROJECT, SHAKE: 1 per row. FEEDBACK: 1 per row of `shaken`. KEEP: impulses of contacts
  // in the motion, then in the impact, S2_TOUCH_IMPULSES per touch each. SLOW: the sum of both.
  double *lambda;
  // S2_JOINT_ROWS per joint of the island: impulses before the act; KEEP: impulses in the impact.
  // NULL: no row uses them, or (SOLVE) the impulses at the start of the substep apply.
  double *impulse;
  double *pushed;       // 2 per joint of the island; NULL: 0
  bool *stiff;          // per joint of the island; NULL: none is stiff
  S2ShakenRow *shaken;  // FEEDBACK
  const void **touch;   // touches before the act: s2_note_touch
  const void **solved;  // S2_PROJECT_SOLVED: touches in the solve, in the same order
  int32_t *touch_index; // their indices in S2Step.touches
  // per point of these touches: S2Choice.use and, in higher bits, its target
  unsigned char *choices;
  double *biases; // biases of used points
  // INTERVAL: slots of bodies that its nodes touch or are joined to; REPAY: ground bodies;
  // FEEDBACK, SLOW: s2_island_holders
  int32_t *ground;
  int grounds;
  double stiffness; // PROJECT: factor of inertias
  double tiny;      // REPAY: m/s, smaller speeds at a point count as zero
} S2NoteIsland;

typedef struct S2Note {
  S2Act act : 8;
  bool holds : 1;   // S2Step.holds
  double h, t;      // S2Step.h, t; SUBSTEP: t is the world's
  S2NoteIsland *of; // NULL: an act on all bodies
  // Arrays have 3 numbers per slot in acts on all bodies, and 3 per node in acts on an island.
  // `before`: the overwritten values.
  union {
    struct {
      double *before; // RESET: NULL if nothing reads it
    } plain;
    struct {
      double *impulse;       // S2_JOINT_ROWS per joint slot
      double *reaction_time; // per joint slot
      double *goals;         // S2_NOTE_GOALS per joint slot; NULL: there is no lock
    } substep;
    struct {
      double *q0, *v0, *force;
      S2Drive *drives; // per joint slot, if the program moves locks; else NULL
    } free;
    struct {
      bool *ahead;  // S2Step.ahead if beta < 1; else NULL
      double until; // s: time in the motion, for S2_ACT_LINEARISE
      // whether `until` depends on the inputs; otherwise it is a fraction of the motion
      bool moves;
    } carried;
    struct {
      double *q1, *v2;
      double *force; // INTERVAL_END, if there are laws; else NULL
      double *v1;
    } end;
    struct {
      S2SolveKind kind : 8;   // SOLVE, PROJECT
      S2ProjectRows from : 4; // PROJECT
      bool into_v1 : 1;       // SOLVE
      bool of_motion : 1;     // SHAKE: whether its rows are the rows of the first solve
      int rows;               // rows of the problem
      // fraction of the displacement; FEEDBACK: of the change of v2; SOLVE: of the change of v
      double fraction;
      double *before; // v1 or v2, q1; SOLVE: NULL if it is free_v
      // the solution, including nodes of gears; SHAKE, FEEDBACK: displacements by joints alone
      double *x;
    } solve;
    S2RattleNote rattle;
    struct {
      S2LawsAct *act;
      double *force, *v2; // 3 per answer: the overwritten values
    } laws;
    struct {
      double fraction;
    } scaled;
    struct {
      double fraction, *before;
      double *reaction; // 3 per joint: reactions in the impact
    } keep;
    struct {
      double e, *before, *reflected;
    } blend;
    struct {
      bool edge : 1;        // REPAY: the added energy is close to zero
      bool flowed : 1;      // REPAY: whether contacts also contribute
      bool turned : 1;      // REPAY: v2 was solved with rows at q1, and the touches belong to q1
      bool fed : 1;         // SLOW: joint displacements were added to v2
      double loss, *before; // J
    } energy;
    struct {
      bool from_v2;          // SPIN: the energy limit comes from v2, else from free_v
      double value, *before; // SPIN_V2: the rotation added to v2
    } spin;
    struct {
      int since;  // the note
      double *q1; // q1 after it
    } go_back;
    struct {
      int earlier;   // number of earlier intervals
      bool sets_out; // ground has v0, and impacts use its velocity S2Step.given_start
    } interval;
    struct {
      bool unseen; // whether points in reach have no row on this motion
      double *q0, *v0;
    } set_out;
    struct {
      bool meets : 1, others : 1; // whether a pair meets; whether others meet at the same time
      int point;                  // index of the point in its touch
      double share;               // S2Step.share
      double *v1;
    } arrive;
  };
} S2Note;

typedef struct S2NoteBlock S2NoteBlock;

// An answer of the program within the step. Answers of discarded attempts are included.
typedef struct S2Answer {
  const struct S2Answer *earlier; // the previous answer for the same joint or body
  S2Asked asked;
  int32_t slot;
  int count; // of numbers
  double t, q[S2_JOINT_COLUMNS];
  const double *number;
  const S2Slope *slope; // 1 per number; NULL: there is no derivative
} S2Answer;

typedef struct S2Fixed S2Fixed; // data that many steps share while they are equal

typedef struct S2NoteSlot {
  S2Note *note;
} S2NoteSlot;

typedef struct S2Notes {
  S2_ARRAY(S2NoteSlot) at;
  S2NoteBlock *block; // memory of the notes, newest first
  // bytes of the blocks; of the notes in them; of the notes of the previous step
  size_t bytes, used, expected;
  S2Fixed *fixed;
  int slots, joint_slots;
  int substep; // index of the first note of its substep
  S2_ARRAY(const void *)
  latest;             // per touch: its last record in this step; valid until the step ends
  int touches;        // larger than every S2Note.of.touch_index
  bool linearised;    // whether there is an S2_ACT_LINEARISE, also in discarded notes
  const char *reason; // NULL, or the part of the step that has no derivative
  char *text;         // text of `reason` if it is not static, or NULL
  bool unsolved;      // whether a solve missed its tolerance; the derivative assumes a solution
  S2NoteBlock *answer_block;
  const S2Answer **answers; // newest answer of each joint slot, then of each body slot; NULL: none
  bool projects;            // whether joints count as projected even if they have no error
} S2Notes;

static inline const S2Note *s2_note_at(const S2Notes *notes, int index) {
  return notes->at.at[index].note;
}

void s2_notes_init(S2Notes *notes);
void s2_notes_clear(S2Notes *notes); // frees all memory

// Takes memory from the list `blocks`; `size`: size of a new block.
void *s2_notes_take(S2Notes *notes, S2NoteBlock **blocks, size_t size, size_t bytes);
void *s2_note_take(S2Notes *notes, size_t bytes); // memory from the step's notes
// A note of an act on all bodies, or on an island.
S2Note *s2_note_add(const S2Step *step, S2Act act);
S2Note *s2_note_add_island(const S2Step *step, const S2Island *island, S2Act act);

// Records an answer. Does nothing if the world keeps no notes.
void s2_note_answer(S2World *world, const S2Answer *answer);
// The answer for the same slot, poses and time (up to rounding), or NULL.
const S2Answer *s2_notes_answer(const S2Notes *notes, const S2Answer *like);

// Data that do not change from step to step. The changing part of joints is in S2_ACT_SUBSTEP.
struct S2Fixed {
  int users, bodies, order, pieces, vertices, joints, joint_order;
  S2WorldDef def;
  S2Joint *joint;
  S2Body *body;
  int32_t *order_of; // creation order of slots
  S2Piece *piece;
  S2Vec2 *vertex;
  int32_t *joint_order_of;
  size_t bytes, expected; // expected: size of the last step's notes
};
// Returns the data of the present world, with one more user.
S2Fixed *s2_fixed_of(S2World *world);
void s2_fixed_release(S2Fixed *fixed); // NULL is allowed

enum { S2_NOTE_GOALS = 6 }; // goal and rate of a lock
// The joints at the start of the substep that begins with this note; `joints` has all slots.
void s2_note_joints(const S2Notes *notes, const S2Note *substep, S2Joint *joints);
void s2_note_touch(const S2WorldDef *def, const void *kept, S2Touch *touch);
// Writes all choices of a note, 2 per touch.
void s2_note_choices(const S2NoteIsland *of, S2Choice *choices);
// Ends the notes of the step.
void s2_notes_end(S2Notes *notes);

// ---- Writing notes: each function does nothing if the step keeps none --------------------------

void s2_note_substep(const S2Step *step);
void s2_note_free(const S2Step *step);
// RESET, RESET_V2, V2_IS_V1, V1_IS_V2, Q0_IS_Q1, DRIFT. `before`: 3 per slot, or NULL
void s2_note_plain(const S2Step *step, S2Act act, const double *before);
void s2_note_integrate(const S2Step *step);
// LAWS, LAWS_END. Called before the act changes anything; `island` NULL: for all bodies.
// (notes_laws.c)
void s2_note_laws(const S2Step *step, const S2Island *island, S2Act act, const S2LawsAct *laws);
void s2_note_terms(S2Notes *notes, S2LawAnswer *answer); // copies its terms into the notes
void s2_note_end(const S2Step *step, S2Act act);         // NEXT, COMMIT

// RESTART, RECALL, REWIND, HIT, BALANCE, STRUCK, FLY. `before`: 3 per slot, or NULL
void s2_note_island(const S2Step *step, const S2Island *island, S2Act act, const double *before);
// Called before the solution is written to v (3 per slot).
void s2_note_solve(const S2Step *step, const S2Island *island, const S2Choice *choices,
                   S2SolveKind kind, const S2Assembly *assembly, const double *v,
                   const S2Solution *solution);
// Records that only a fraction of the change by the last solve is kept.
void s2_note_fraction(const S2Step *step, double fraction);
// `until`: s, time in the motion; `moves`: whether it depends on the inputs, otherwise it is a
// fraction.
void s2_note_linearise(const S2Step *step, int32_t touch, double until, bool moves);
// `choices`: the rows of a piece of event stepping, from S2Step's touches; NULL: the whole step of
// an island without touches. `numbers`: size of `piece`. Terms of answers, and `placing`, must be
// in the notes (s2_note_terms, s2_note_take).
void s2_note_rattle(const S2Step *step, const S2Island *island, const S2Choice *choices,
                    const S2RattleNote *rattle, int numbers);
void s2_note_short(const S2Step *step, const S2Island *island, double fraction);

// Called before q1 changes. `choices`: the rows, from S2Step's touches.
void s2_note_project(const S2Step *step, const S2Island *island, S2ProjectRows from,
                     const S2Choice *choices, double stiffness, double fraction,
                     const S2Assembly *assembly, const S2Solution *solution);
// `start`: q1 before the act, 3 per node.
void s2_note_shake(const S2Step *step, const S2Island *island, const double *start,
                   const double *dq, int rows, const double *lambda, bool of_motion);
// `ground`: s2_island_holders
void s2_note_feedback(const S2Step *step, const S2Island *island, double fraction,
                      const S2Shaken *shaken, const int32_t *ground, int grounds);
// Called before the change of v2, or of displacements (3 per node).
void s2_note_spin(const S2Step *step, const S2Island *island, bool from_v2);
void s2_note_set_spin(const S2Step *step, const S2Island *island, S2Act act, double spin,
                      const double *before);
// `before`: v2, whose energy exceeds the limit by `excess`, 3 per node.
void s2_note_cap(const S2Step *step, const S2Island *island, double excess, const double *before);
// `q`: q1 before the notes from `since` on, 3 per node.
void s2_note_go_back(const S2Step *step, const S2Island *island, int since, const double *q);

// REFLECT, REBOUND, with the touches. `before`: 3 per slot, or NULL
void s2_note_impact(const S2Step *step, const S2Island *island, const S2Choice *choices, S2Act act,
                    const double *before);
// `pressed`, `struck`: as in s2_impact_energy; `held`: impulses of joints before the impact.
void s2_note_keep(const S2Step *step, const S2Island *island, double fraction,
                  const double *pressed, const double *struck, const S2JointImpulses *held);
void s2_note_blend(const S2Step *step, const S2Island *island, const S2Choice *choices, double e,
                   const double *reflected);
// Called before an impact in a step of given length: records whether a point within `reach` (m, or
// in the solve's rows) arrives with speed. (notes_hit.c)
void s2_note_hit(const S2Step *step, const S2Island *island, double reach);
// Called after the solve of a motion in such a step: records whether a joint has reached a limit.
void s2_note_stop(const S2Step *step, const S2Island *island);
// Called before v2 loses `energy`; `fed` as in s2_island_repay, `ground`: s2_island_holders.
void s2_note_slow(const S2Step *step, const S2Island *island, double energy, bool fed,
                  const int32_t *ground, int grounds);

// Event stepping. `earlier`: number of earlier intervals of the island.
void s2_note_interval(const S2Step *step, const S2Island *island, int earlier, bool sets_out);
void s2_note_interval_end(const S2Step *step, const S2Island *island);
// `unseen`: whether points in reach have no row on the motion that begins.
void s2_note_set_out(const S2Step *step, const S2Island *island, bool unseen);
// `met`: the index of a touch, or S2_NONE; `point`: its point; `alone`: whether no other point
// arrives at the same time.
void s2_note_arrive(const S2Step *step, const S2Island *island, int32_t met, int point, bool alone);
typedef struct S2Repaid {
  double energy, tiny;
  bool edge, flowed, turned;
  const int32_t *ground; // slots
  int grounds;
  // touches in which island->touch is an index, with the impulses that added the energy
  const S2Touch *touches;
  const int32_t *index; // their indices in S2Step.touches
} S2Repaid;
void s2_note_repay(const S2Step *step, const S2Island *island, const S2Repaid *repaid);

// s2_note_refuse_joints records that the step has no derivative because of `what`, s2_note_unsolved
// that a solve missed its tolerance. (notes_refuse.c)
void s2_note_refuse_joints(const S2Step *step, const S2Island *island, const char *what);
void s2_note_unsolved(const S2Step *step);

// For attempts: s2_notes_rewind discards the notes since the mark.
int s2_notes_mark(const S2Step *step);
void s2_notes_rewind(const S2Step *step, int mark);

// ---- Shared by steps and their derivatives ------------------------------------------------------

// Writes the velocity of a body (3 numbers) if it is not an unknown, else 0.
static inline void s2_ground_velocity(const S2Step *step, int32_t slot, double *v) {
  bool ground = step->node_of[slot] == S2_GROUND;
  for (int c = 3 * slot; c < 3 * slot + 3; c++) {
    v[c] = ground ? step->free_v[c] : 0;
  }
}
// energy.c: speeds (m/s) of a touching point before and after, along the normal and along the
// tangent.
typedef struct S2Work {
  double u0, u2, along0, along2;
} S2Work;
S2Work s2_touch_work(const S2Touch *touch, int k, const double *v0, const double *v2, double tiny);
// The velocity that a body would have if it moved rigidly with the ground bodies (the mean over
// them; S2_NONE: the world).
void s2_event_ride(const S2Step *step, const int32_t *ground, int grounds, int32_t slot,
                   double ride[3]);
#endif
