// Private to core/dynamics and core/diff: what a step writes down of itself for its derivative.
//
// A step is a list of acts, each of which overwrites some of the arrays of S2Step. Noted is, in
// order, every act whose result went on into the world, with what it read that cannot be found
// again from the notes before it. Attempts that were thrown away are not among them.
//
// Reading the notes backwards from the end of the step, each act is undone from what it wrote down.
#ifndef S2_NOTES_H
#define S2_NOTES_H

#include "dynamics/impact/impact.h"
#include "dynamics/project/project.h"

// In brackets: the record of the act. Which function undoes it: the table in diff/step/sweep.c.
typedef enum S2Act {
  // Of all bodies:
  S2_ACT_SUBSTEP,   // (substep) begins: q1 = q0 and v0 are the world's
  S2_ACT_FREE,      // (free) mass and free_v for h, from v0 and force
  S2_ACT_RESET,     // (plain) v1 = free_v
  S2_ACT_RESET_V2,  // (plain) v2 = free_v (bisect)
  S2_ACT_LINEARISE, // (carried) touches are those of q0 + until carry, carried back to q0; of one
  S2_ACT_V2_IS_V1,  // nothing
  S2_ACT_V1_IS_V2,  // (plain) bisect
  S2_ACT_INTEGRATE, // (carried) carry and q1; touches are those of q1 from here
  S2_ACT_Q0_IS_Q1,  // (plain: q1, which is q0 from here) projected before the step
  S2_ACT_NEXT,      // (end) q0 = q1, v0 = v2: the next fraction of a substep that bisect makes
  S2_ACT_COMMIT,    // (end) ends
  S2_ACT_LAWS,      // (laws) force laws are asked at q0, v0, of all bodies or those of an island
  S2_ACT_LAWS_END,  // (laws) v2, of an island v1 and force too, agree with the laws at q1 (laws.h)
  S2_ACT_DRIFT,     // nothing; v1 = v2 = free_v and q1 = q0 + h (v0 + v1)/2 (event stepping)
  // Of an island's nodes. Solves:
  S2_ACT_SOLVE,   // (solve) v1 or v2
  S2_ACT_RATTLE,  // (rattle) q1 and v2 by the flow in two stages; what follows may overwrite them,
  S2_ACT_FLOWED,  // nothing; and they are what it has found
  S2_ACT_BALANCE, // (plain) v1 += a turn of the whole, so that joints have no moment at q0
  S2_ACT_SHORT,   // (scaled) carry is a fraction of itself, and q1 = q0 + h carry
  // Impacts:
  S2_ACT_RESTART, // (plain) v2 = v0; impulses of joints begin again
  S2_ACT_RECALL,  // (plain) v2 = v0, to see how fast things arrive
  S2_ACT_REBOUND, // (plain) targets are those of v2 and the touches as they are; then v2 = v1, and
                  // impulses of joints are those before S2_ACT_RECALL
  S2_ACT_KEEP,    // (keep) v2 = v1 + fraction (v2 - v1), as much as gains no energy
  S2_ACT_REFLECT, // nothing; reflections begin: v2 and the touches as they are
  S2_ACT_BLEND,   // (blend) v2 = e reflected + (1 - e) v2; undoing it brings S2_ACT_REWIND's v2
  S2_ACT_REWIND,  // (plain) v2 is that of its S2_ACT_REFLECT again
  S2_ACT_HIT,     // nothing; what follows has an impact whose time is that of the step
  S2_ACT_SLOW,    // (energy) v2 loses the energy that a projection has brought (repay.c)
  // Projections:
  S2_ACT_PROJECT,  // (solve) q1 += fraction v
  S2_ACT_SHAKE,    // (solve) q1 += what removes the errors of the joints' equations (shake.c)
  S2_ACT_FEEDBACK, // (solve) v2 += fraction/h (what joints displaced since S2_ACT_INTEGRATE)
  S2_ACT_SPIN,     // (spin) measured: angular momentum of an island that floats
  S2_ACT_SPIN_V2,  // (spin) v2 += a turn of the whole, so that it has the measured one
  S2_ACT_SPIN_DQ,  // (spin) what joints displaced += such a turn, so that it has none
  S2_ACT_CAP,      // (energy) v2 loses what it has beyond the most that was known at S2_ACT_SPIN
  S2_ACT_GO_BACK,  // (go_back) q1 is what it was before an earlier note
  // Event stepping: an interval of the island's step, which ends where something meets.
  S2_ACT_INTERVAL, // (interval) begins, with the ground that it touches at its time; but for the
                   // first one q0 = q1, v0 = v2
  S2_ACT_STRUCK,   // (plain) v0 = v2, after an impact
  S2_ACT_SET_OUT,  // (set_out) mass and free_v for h, from v0 and force
  S2_ACT_FLY,      // nothing; v1 = free_v
  S2_ACT_PIECE,    // (rattle) q1 and v1 by the two stages; the ARRIVE after it leaves q1 alone
  S2_ACT_ARRIVE,   // (arrive) q1 = q0 + h ((1 - share) v0 + share v1), v2 = v1; h is when `touches`
                   // meet
  S2_ACT_REPAY,    // (energy) v2 of some nodes loses the energy that the interval has brought
  S2_ACT_INTERVAL_END, // (end) ends
  S2_ACTS
} S2Act;

typedef enum S2ProjectRows { // rows of a projection, beside errors at q1
  S2_PROJECT_ANEW,           // at q1
  S2_PROJECT_SHAKE,          // equations of joints at q0, the rest at q1
  S2_PROJECT_SOLVED,         // at q0, as the solve had them
} S2ProjectRows;

typedef struct S2ShakenRow { // as in S2JointPart
  int32_t joint, row;
  double push[3];
} S2ShakenRow;

// Force laws (step/laws.h). Where a body is that a law has seen: among those of the act (at q0, v0,
// or at q1 and v2), or on its flight from the start of the step.
typedef enum S2LawOf { S2_LAW_OWN, S2_LAW_FLIES } S2LawOf;

typedef struct S2LawTerm {
  S2ForceTerm term;
  S2LawOf of;
  double rate; // of that part of the state by the time it was seen at; 0 of S2_LAW_OWN
} S2LawTerm;

typedef struct S2LawAnswer { // of a body
  int32_t slot;
  int terms;
  const S2LawTerm *term;
  double by_time[3], by_dt[3];
  uint32_t origin[3];
  bool held;        // LAWS_END: its velocity stays; RATTLE: asked at v0
  double change[3]; // LAWS_END: of the law since the start; RATTLE: the force with what is held
} S2LawAnswer;

typedef struct S2RattleNote { // the flow by two stages
  int pieces, rows, laws;     // laws: answers of all pieces
  const double *piece;        // S2RattleRecord of each, one after the other
  // Of each piece: the answers of laws in stage 1, one a body with a law, and in stage 2.
  const S2LawAnswer *answers;
  int placings; // passes that placed q0 on the joints, as S2Rattle has them
  const double *placing;
} S2RattleNote;

typedef struct S2LawsAct {
  int count;
  S2LawAnswer *answers;
  double since; // s, from the start of the substep to where they were asked
  double part;  // LAWS_END: of the way from q0 to q1, and of h
} S2LawsAct;

// The island of an act, noted with the touches that have rows: island.touches of them, in its
// order, island.touch[i] = i.
typedef struct S2NoteIsland {
  S2Island island;
  double *lambda;       // SOLVE, PROJECT, SHAKE: 1 a row; FEEDBACK: of `shaken`; KEEP: of contacts
                        // in the motion, and behind those in the impact, S2_TOUCH_IMPULSES a touch
                        // each; SLOW: of both together
  double *impulse;      // S2_JOINT_ROWS a joint of the island, before; NULL: no row looks at them,
                        // or (a SOLVE) as the substep began; KEEP: in the impact
  double *pushed;       // 2 a joint of the island; NULL: 0
  bool *stiff;          // a joint of the island; NULL: none
  S2ShakenRow *shaken;  // FEEDBACK
  const void **touch;   // as the act found them: s2_note_touch
  const void **solved;  // S2_PROJECT_SOLVED: as the solve had them, in the same order
  int32_t *touch_index; // what they are in S2Step.touches
  unsigned char *choices; // a point of them: S2Choice.use, and above that its target
  double *biases;         // of those that are in use
  int32_t *ground;        // INTERVAL: slots of bodies that its nodes touch or are joined to; REPAY:
                          // that hold them; FEEDBACK, SLOW: s2_island_holders
  int grounds;
  double stiffness; // PROJECT: of angles
  double tiny;      // REPAY: m/s, what is slower at a point counts as nothing
} S2NoteIsland;

typedef struct S2Note {
  S2Act act : 8;
  bool holds : 1;   // S2Step.holds
  double h, t;      // S2Step.h, t; SUBSTEP: t is the world's
  S2NoteIsland *of; // NULL: an act on all bodies
  // Arrays are 3 a slot in acts on all bodies, 3 a node in those on an island. `before` is what
  // the act overwrites.
  union {
    struct {
      double *before; // RESET: NULL where nothing reads it
    } plain;
    struct {
      double *impulse;       // S2_JOINT_ROWS a joint slot
      double *reaction_time; // a joint slot
      double *goals;         // S2_NOTE_GOALS a joint slot; NULL: there is no lock
    } substep;
    struct {
      double *q0, *v0, *force;
      S2Drive *drives; // a joint slot, where locks move as the program says; else NULL
    } free;
    struct {
      bool *ahead;  // where beta < 1: S2Step.ahead; else NULL
      double until; // s, of the way: S2_ACT_LINEARISE
      bool moves;   // when that is, moves with the inputs; else it is a part of the way
    } carried;
    struct {
      double *q1, *v2;
      double *force; // INTERVAL_END, where there are laws; else NULL
      double *v1;
    } end;
    struct {
      S2SolveKind kind : 8;   // SOLVE, PROJECT
      S2ProjectRows from : 4; // PROJECT
      bool into_v1 : 1;       // SOLVE
      bool of_motion : 1;     // SHAKE: its rows are those of the first solve
      int rows;               // of the problem
      double fraction;        // of the displacement or, in FEEDBACK, of what goes into v2; SOLVE:
                              // of the change of v
      double *before;         // v1 or v2, q1; SOLVE: NULL where that is free_v
      double *x; // the solution, of nodes of gears too; SHAKE, FEEDBACK: displacements, by the
                 // joints alone
    } solve;
    S2RattleNote rattle;
    struct {
      S2LawsAct *act;
      double *force, *v2; // 3 an answer: before
    } laws;
    struct {
      double fraction;
    } scaled;
    struct {
      double fraction, *before;
      double *reaction; // 3 a joint, in the impact
    } keep;
    struct {
      double e, *before, *reflected;
    } blend;
    struct {
      bool edge : 1;        // REPAY: as good as nothing was brought
      bool flowed : 1;      // REPAY: by contacts, too
      bool turned : 1;      // REPAY: v2 is of rows at q1, as are its touches
      bool fed : 1;         // SLOW: what joints displaced has gone into v2
      double loss, *before; // J
    } energy;
    struct {
      bool from_v2;          // SPIN: the most energy is that of v2, else of free_v
      double value, *before; // SPIN_V2: what v2 got
    } spin;
    struct {
      int since;  // the note
      double *q1; // where notes go on
    } go_back;
    struct {
      int earlier;   // how many there were before
      bool sets_out; // ground has v0, and what strikes meets it, as S2Step.given_start
    } interval;
    struct {
      bool unseen; // points in reach have no row on this way
      double *q0, *v0;
    } set_out;
    struct {
      bool meets : 1, others : 1; // something does; others at the same time
      int point;                  // of its touch
      double share;               // S2Step.share
      double *v1;
    } arrive;
  };
} S2Note;

typedef struct S2NoteBlock S2NoteBlock;

// What the program said within the step, in attempts that were thrown away too.
typedef struct S2Answer {
  const struct S2Answer *earlier; // of the same joint or body
  S2Asked asked;
  int32_t slot;
  int count; // of numbers
  double t, q[S2_JOINT_COLUMNS];
  const double *number;
  const S2Slope *slope; // 1 a number; NULL: they have no derivative
} S2Answer;

typedef struct S2Fixed S2Fixed; // what many steps share while it is equal

typedef struct S2NoteSlot {
  S2Note *note;
} S2NoteSlot;

typedef struct S2Notes {
  S2_ARRAY(S2NoteSlot) at;
  S2NoteBlock *block;           // memory of the notes, newest first
  size_t bytes, used, expected; // of the blocks; of the notes in them; of the step before
  S2Fixed *fixed;
  int slots, joint_slots;
  int substep;                   // the note that its substep began with
  S2_ARRAY(const void *) latest; // a touch: as it was kept last in this step; until its end
  int touches;                   // no S2Note.of.touch_index is as large
  bool linearised;    // there is a S2_ACT_LINEARISE, or there was one in what was forgotten
  const char *reason; // NULL, or what the step used that has no derivative
  char *text;         // for its use, NULL: not needed
  bool unsolved;      // a solve missed its tolerance: the derivative is that of a solution
  S2NoteBlock *answer_block;
  const S2Answer **answers; // newest of each joint slot, then of each body slot; NULL: none
  bool projects;            // joints are noted as projected even where they have no error
} S2Notes;

static inline const S2Note *s2_note_at(const S2Notes *notes, int index) {
  return notes->at.at[index].note;
}

void s2_notes_init(S2Notes *notes);
void s2_notes_clear(S2Notes *notes); // gives all memory back

// Memory of the list `blocks`; `size`: of a block that is begun for it.
void *s2_notes_take(S2Notes *notes, S2NoteBlock **blocks, size_t size, size_t bytes);
void *s2_note_take(S2Notes *notes, size_t bytes); // of the step's notes
// A note of an act on all bodies, or on an island.
S2Note *s2_note_add(const S2Step *step, S2Act act);
S2Note *s2_note_add_island(const S2Step *step, const S2Island *island, S2Act act);

// Does nothing when the world keeps no notes.
void s2_note_answer(S2World *world, const S2Answer *answer);
// What was answered for the same slot and poses at that time, to rounding; NULL: nothing.
const S2Answer *s2_notes_answer(const S2Notes *notes, const S2Answer *like);

// What does not change from step to step. Of joints what does is in S2_ACT_SUBSTEP.
struct S2Fixed {
  int users, bodies, order, pieces, vertices, joints, joint_order;
  S2WorldDef def;
  S2Joint *joint;
  S2Body *body;
  int32_t *order_of; // creation order of slots
  S2Piece *piece;
  S2Vec2 *vertex;
  int32_t *joint_order_of;
  size_t bytes, expected; // expected: what the notes of the last step took
};
// That of the world as it is now, for one user more.
S2Fixed *s2_fixed_of(S2World *world);
void s2_fixed_release(S2Fixed *fixed); // NULL: nothing

enum { S2_NOTE_GOALS = 6 }; // goal and rate of a lock
// The joints as the substep that begins with this note found them; `joints` has all slots.
void s2_note_joints(const S2Notes *notes, const S2Note *substep, S2Joint *joints);
void s2_note_touch(const S2WorldDef *def, const void *kept, S2Touch *touch);
// All of a note's, 2 a touch.
void s2_note_choices(const S2NoteIsland *of, S2Choice *choices);
// The step is over.
void s2_notes_end(S2Notes *notes);

// ---- Making notes: each does nothing when the step keeps none -----------------------------------

void s2_note_substep(const S2Step *step);
void s2_note_free(const S2Step *step);
// RESET, RESET_V2, V2_IS_V1, V1_IS_V2, Q0_IS_Q1, DRIFT. `before`: 3 a slot; NULL: nothing
void s2_note_plain(const S2Step *step, S2Act act, const double *before);
void s2_note_integrate(const S2Step *step);
// LAWS, LAWS_END, before they change anything; `island`: NULL: of all bodies.
// (notes_laws.c)
void s2_note_laws(const S2Step *step, const S2Island *island, S2Act act, const S2LawsAct *laws);
void s2_note_terms(S2Notes *notes, S2LawAnswer *answer); // into the notes
void s2_note_end(const S2Step *step, S2Act act);         // NEXT, COMMIT

// RESTART, RECALL, REWIND, HIT, BALANCE, STRUCK, FLY. `before`: 3 a slot; NULL: nothing
void s2_note_island(const S2Step *step, const S2Island *island, S2Act act, const double *before);
// Before the solution goes to v (3 a slot).
void s2_note_solve(const S2Step *step, const S2Island *island, const S2Choice *choices,
                   S2SolveKind kind, const S2Assembly *assembly, const double *v,
                   const S2Solution *solution);
// Of what the last solve has changed only a fraction stays.
void s2_note_fraction(const S2Step *step, double fraction);
// At `until` (s) on its way, which moves with the inputs or is a part of the way.
void s2_note_linearise(const S2Step *step, int32_t touch, double until, bool moves);
// `choices`: of the rows of a piece of event stepping, which are taken from S2Step's touches; NULL:
// the whole step of an island without touches. `numbers`: of `piece`. Terms of answers, and
// `placing`, are in the notes (s2_note_terms, s2_note_take).
void s2_note_rattle(const S2Step *step, const S2Island *island, const S2Choice *choices,
                    const S2RattleNote *rattle, int numbers);
void s2_note_short(const S2Step *step, const S2Island *island, double fraction);

// Before q1 moves; `choices` of the rows, which are taken from S2Step's touches.
void s2_note_project(const S2Step *step, const S2Island *island, S2ProjectRows from,
                     const S2Choice *choices, double stiffness, double fraction,
                     const S2Assembly *assembly, const S2Solution *solution);
// `start`: q1 before, 3 a node.
void s2_note_shake(const S2Step *step, const S2Island *island, const double *start,
                   const double *dq, int rows, const double *lambda, bool of_motion);
// `ground`: s2_island_holders
void s2_note_feedback(const S2Step *step, const S2Island *island, double fraction,
                      const S2Shaken *shaken, const int32_t *ground, int grounds);
// Before what they change is changed: v2, or displacements (3 a node).
void s2_note_spin(const S2Step *step, const S2Island *island, bool from_v2);
void s2_note_set_spin(const S2Step *step, const S2Island *island, S2Act act, double spin,
                      const double *before);
// `before`: v2 with more energy than it may have, by `excess`, 3 a node.
void s2_note_cap(const S2Step *step, const S2Island *island, double excess, const double *before);
// `q`: q1 as the notes from `since` on leave it, 3 a node.
void s2_note_go_back(const S2Step *step, const S2Island *island, int since, const double *q);

// REFLECT, REBOUND, with the touches. `before`: 3 a slot; NULL: nothing
void s2_note_impact(const S2Step *step, const S2Island *island, const S2Choice *choices, S2Act act,
                    const double *before);
// `pressed`, `struck`: as s2_impact_energy has them; `held`: of joints before the impact.
void s2_note_keep(const S2Step *step, const S2Island *island, double fraction,
                  const double *pressed, const double *struck, const S2JointImpulses *held);
void s2_note_blend(const S2Step *step, const S2Island *island, const S2Choice *choices, double e,
                   const double *reflected);
// Before an impact of a step of given length, if something within `reach` (m, or in the solve's
// rows) arrives with speed. (notes_hit.c)
void s2_note_hit(const S2Step *step, const S2Island *island, double reach);
// Before v2 loses `energy`; `fed` as in s2_island_repay, `ground`: s2_island_holders.
void s2_note_slow(const S2Step *step, const S2Island *island, double energy, bool fed,
                  const int32_t *ground, int grounds);

// Event stepping. `earlier`: intervals of the island before this one.
void s2_note_interval(const S2Step *step, const S2Island *island, int earlier, bool sets_out);
void s2_note_interval_end(const S2Step *step, const S2Island *island);
// `unseen`: points in reach have no row on the way that begins.
void s2_note_set_out(const S2Step *step, const S2Island *island, bool unseen);
// `met`: the index of a touch, or S2_NONE, and which of its points; `alone`: no other point arrives
// with that one.
void s2_note_arrive(const S2Step *step, const S2Island *island, int32_t met, int point, bool alone);
typedef struct S2Repaid {
  double energy, tiny;
  bool edge, flowed, turned;
  const int32_t *ground; // slots
  int grounds;
  const S2Touch *touches; // those that island->touch counts, with the impulses that brought it
  const int32_t *index;   // of them: what they are in S2Step.touches
} S2Repaid;
void s2_note_repay(const S2Step *step, const S2Island *island, const S2Repaid *repaid);

// The step used something that has no derivative (notes_refuse.c); a solve missed its tolerance.
void s2_note_refuse_joints(const S2Step *step, const S2Island *island, const char *what);
void s2_note_unsolved(const S2Step *step);

// Attempts: what was noted since the mark is forgotten.
int s2_notes_mark(const S2Step *step);
void s2_notes_rewind(const S2Step *step, int mark);

// ---- What making a step and undoing it share ----------------------------------------------------

// 3 of a body's slot: its velocity if it is not solved for, else 0.
static inline void s2_ground_velocity(const S2Step *step, int32_t slot, double *v) {
  bool ground = step->node_of[slot] == S2_GROUND;
  for (int c = 3 * slot; c < 3 * slot + 3; c++) {
    v[c] = ground ? step->free_v[c] : 0;
  }
}
// energy.c: speeds (m/s) of a touching point before and after, along the normal and across it.
typedef struct S2Work {
  double u0, u2, along0, along2;
} S2Work;
S2Work s2_touch_work(const S2Touch *touch, int k, const double *v0, const double *v2, double tiny);
// The velocity of a body that rode on the ground bodies (S2_NONE: the world), as their mean.
void s2_event_ride(const S2Step *step, const int32_t *ground, int grounds, int32_t slot,
                   double ride[3]);
#endif
