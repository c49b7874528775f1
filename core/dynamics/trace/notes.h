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

typedef enum S2Act {
  S2_ACT_PART,      // begins: q1 = q0 and v0 are the world's
  S2_ACT_FREE,      // mass and free_v for h, from v0 and force
  S2_ACT_RESET,     // v1 = free_v (all bodies)
  S2_ACT_RESET_V2,  // v2 = free_v (all bodies; bisect)
  S2_ACT_SOLVE,     // v1 or v2 of an island's nodes
  S2_ACT_LINEARISE, // touches are those of q0 + h carry, carried back to q0 (all that are listed)
  S2_ACT_V2_IS_V1,  // all bodies
  S2_ACT_V1_IS_V2,  // all bodies (bisect)
  S2_ACT_RESTART,   // v2 = v0 of an island's nodes; impulses of joints begin anew
  S2_ACT_RECALL,    // v2 = v0 of an island's nodes, to see how fast things arrive
  S2_ACT_REBOUND,   // targets are those of v2 and the touches as they are; then v2 = v1 of an
                    // island's nodes, and impulses of joints are those before S2_ACT_RECALL
  S2_ACT_BLOW,      // reflections begin: v2 and the touches as they are
  S2_ACT_BLEND,     // v2 = e reflected + (1 - e) v2; undoing it brings S2_ACT_REWIND's v2
  S2_ACT_REWIND,    // v2 of an island's nodes is that of its S2_ACT_BLOW again
  S2_ACT_KEEP,      // v2 = v1 + part (v2 - v1), as much as gains no energy
  S2_ACT_MIDPOINT,  // v1 and v2 of an island's nodes
  S2_ACT_INTEGRATE, // carry and q1 (all bodies); touches are those of q1 from here
  S2_ACT_SHORT,     // carry is a part of itself, and q1 = q0 + h carry; of an island's nodes
  S2_ACT_SLOW,      // v2 of an island's nodes loses the energy that a mend has brought (repay.c)
  S2_ACT_MEND,      // q1 += part v
  S2_ACT_SHAKE,     // q1 += what removes the errors of the joints' equations (shake.c)
  S2_ACT_SPIN,      // measured: angular momentum of an island that floats
  S2_ACT_SPIN_V2,   // v2 += a turn of the whole, so that it has the measured one
  S2_ACT_SPIN_DQ,   // what joints displaced += such a turn, so that it has none
  S2_ACT_CAP,       // v2 loses the energy it has beyond the most that was known at S2_ACT_SPIN
  S2_ACT_BALANCE,   // v1 += a turn of the whole, so that joints have no moment at q0
  S2_ACT_GO_BACK,   // q1 of an island's nodes is what it was before note `since`
  S2_ACT_FEEDBACK,  // v2 += part/h (what joints displaced in the mends since S2_ACT_INTEGRATE)
  S2_ACT_Q0_IS_Q1,  // all bodies (mended before the step)
  S2_ACT_ON,        // q0 = q1, v0 = v2 (all bodies; the next sub-step of bisect)
  S2_ACT_COMMIT,    // ends
  S2_ACT_HIT,       // of an island: what follows has a blow whose time is that of the step
  // Event stepping. What is moved by none of its islands:
  S2_ACT_DRIFT, // v1 = v2 = free_v and q1 = q0 + h (v0 + v1)/2 of all bodies
  // A piece of an island's step, of its nodes:
  S2_ACT_PIECE,    // begins, with the ground that it touches at its time; but for the first one
                   // q0 = q1, v0 = v2
  S2_ACT_STRUCK,   // v0 = v2, after a blow
  S2_ACT_SET_OUT,  // mass and free_v for h, from v0 and force
  S2_ACT_COAST,    // v1 = free_v
  S2_ACT_ARRIVE,   // q1 = q0 + h ((1 - part) v0 + part v1), v2 = v1; h is when `touches` meet
  S2_ACT_REPAY,    // v2 of a part of them loses the energy that the piece has brought
  S2_ACT_PIECE_END // ends
} S2Act;

typedef enum S2Mend { // rows of a mend, beside errors at q1
  S2_MEND_ANEW,       // at q1
  S2_MEND_SHAKE,      // equations of joints at q0, the rest at q1
  S2_MEND_SOLVED,     // at q0, as the solve had them
} S2Mend;

typedef struct S2ShakenRow { // as in S2JointPart
  int32_t joint, row;
  double push[3];
} S2ShakenRow;

// What acts on an island write down. Islands are noted with the touches that have rows:
// island.touches of them, in its order, island.touch[i] = i.
typedef struct S2NoteIsland {
  S2Island island;
  double *lambda;       // SOLVE, MEND, SHAKE: 1 a row; FEEDBACK: of `shaken`; KEEP: of contacts in
                        // the motion, and behind those in the blow, S2_TOUCH_IMPULSES a touch each;
                        // SLOW: of both together
  double *impulse;      // S2_JOINT_ROWS a joint of the island, before; NULL: no row looks at them,
                        // or (a SOLVE) as the part began; KEEP: in the blow
  double *pushed;       // 2 a joint of the island; NULL: 0
  bool *stiff;          // a joint of the island; NULL: none
  S2ShakenRow *shaken;  // FEEDBACK
  const void **touch;   // as the act found them: s2_note_touch
  const void **solved;  // MEND, S2_MEND_SOLVED: as the solve had them, in the same order; KEEP:
                        // after the blow, where something moves by itself
  int32_t *touch_index; // what they are in S2Step.touches
  unsigned char *choices; // a point of them: S2Choice.use, and above that its target
  double *biases;         // of those that are in use
  int32_t *ground;        // PIECE: slots of bodies that its nodes touch or are joined to; REPAY:
                          // that hold them; FEEDBACK, SLOW: s2_island_holders
  int grounds;
  double stiffness; // MEND: of angles
  double spin;      // SPIN_V2: what v2 got
  double tiny;      // REPAY: m/s, what is slower at a point counts as nothing
} S2NoteIsland;

typedef struct S2Note {
  S2Act act : 8;
  S2SolveKind kind : 8; // SOLVE, MEND
  S2Mend mend : 4;      // MEND
  bool into_v1 : 1;     // SOLVE
  bool restarted : 1;   // MIDPOINT: `more` was v2, not v0
  bool holds : 1;       // MEND: S2Step.holds
  bool edge : 1;        // REPAY: as good as nothing was brought; ARRIVE: others do at the same time
  bool flowed : 1;      // REPAY: by contacts, too
  bool turned : 1;      // REPAY: v2 is of rows at q1, as are its touches
  bool meets : 1;       // ARRIVE: something does, at the point `rows` of its touch
  bool of_motion : 1;   // SHAKE: its rows are those of the first solve
  bool unseen : 1;      // SET_OUT: points in reach that have no row on this way
  bool fed : 1;         // SLOW: what joints displaced has gone into v2
  bool from_v2 : 1;     // SPIN: the most energy is that of v2, else of free_v
  int rows;             // SOLVE, MEND, SHAKE: of the problem; PIECE: how many there were before
  double h, t;          // FREE; PART: t
  union {
    double part;     // MEND, FEEDBACK; ARRIVE: S2Step.share; KEEP; REPAY, CAP, SLOW: J
    S2Drive *drives; // FREE: a joint slot, where locks move as the program says; else NULL
    int since;       // GO_BACK
  };
  double *before; // 3 a node, or 3 a slot: what is overwritten (MEND: q1; MIDPOINT: v1; SOLVE:
                  // NULL where that is free_v; RESET: NULL where nothing reads it);
                  // FREE, Q0_IS_Q1: q0 from here on; COMMIT, ON: q1; SHAKE: q1; SPIN_V2, CAP:
                  // v2; SPIN_DQ: displacements; BALANCE: v1; GO_BACK: q1 where notes go on;
                  // PART: S2_JOINT_ROWS a joint slot, its impulses
  union {
    double *more; // 3 a slot, or 3 a node. FREE: v0; COMMIT, ON: v2; SOLVE: the solution,
                  // of nodes of gears too;
                  // MIDPOINT: v0 as it took it; BLEND: reflected; MEND, SHAKE,
                  // FEEDBACK: displacements, by the joints alone
                  // PIECE_END: before, more and v1 are q1, v2 and v1; SET_OUT: q0 and v0;
                  // STRUCK, KEEP, REPAY, SLOW: before is what is overwritten; KEEP: more is 3 a
                  // joint, its reaction in the blow
                  // PART: S2_NOTE_GOALS a joint slot; NULL: there is no lock
    bool *ahead;  // LINEARISE, INTEGRATE, where beta < 1: S2Step.ahead; else NULL
  };
  union {
    double *force; // FREE: 3 a slot
    double *v1; // COMMIT, ON: 3 a slot; then, of nonlinear steps, S2_JOINT_ROWS a joint slot: the
                // impulses they ended with
    double *acted; // PART: a joint slot, S2Joint.reaction_time
  };
  S2NoteIsland *of; // NULL: an act on all bodies
} S2Note;

typedef struct S2NoteBlock S2NoteBlock;

// What the program said within the step, in attempts that were thrown away too.
typedef struct S2Answer {
  const struct S2Answer *earlier; // of the same joint or body
  S2Asked asked;
  int32_t slot;
  int count; // of numbers
  double t, q[6];
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
  int part;                      // the note that its part began with
  S2_ARRAY(const void *) latest; // a touch: as it was kept last in this step; until its end
  int touches;                   // no S2Note.of.touch_index is as large
  bool linearised;    // there is a S2_ACT_LINEARISE, or there was one in what was forgotten
  const char *reason; // NULL, or what the step used that has no derivative
  char *text;         // for its use, NULL: not needed
  bool unsolved;      // a solve missed its tolerance: the derivative is that of a solution
  S2NoteBlock *answer_block;
  const S2Answer **answers; // newest of each joint slot, then of each body slot; NULL: none
  bool mends;               // joints are noted as mended even where they have no error to mend
} S2Notes;

static inline const S2Note *s2_note_at(const S2Notes *notes, int index) {
  return notes->at.at[index].note;
}

void s2_notes_init(S2Notes *notes);
void s2_notes_clear(S2Notes *notes); // gives all memory back

// Memory of the list `blocks`; `size`: of a block that is begun for it.
void *s2_notes_take(S2Notes *notes, S2NoteBlock **blocks, size_t size, size_t bytes);
void *s2_note_take(S2Notes *notes, size_t bytes); // of the step's notes

// Does nothing when the world keeps no notes.
void s2_note_answer(S2World *world, const S2Answer *answer);
// What was answered for the same slot and poses at that time, to rounding; NULL: nothing.
const S2Answer *s2_notes_answer(const S2Notes *notes, const S2Answer *like);

// What does not change from step to step. Of joints what does is in S2_ACT_PART.
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
// The joints as the part that begins with this note found them; `joints` has all slots.
void s2_note_joints(const S2Notes *notes, const S2Note *part, S2Joint *joints);
void s2_note_touch(const S2WorldDef *def, const void *kept, S2Touch *touch);
// All of a note's, 2 a touch.
void s2_note_choices(const S2NoteIsland *of, S2Choice *choices);
// The step is over.
void s2_notes_end(S2Notes *notes);

// Each does nothing when the step keeps no notes.
void s2_note_part(const S2Step *step);
void s2_note_plain(const S2Step *step, S2Act act); // acts on all bodies
void s2_note_island(const S2Step *step, const S2Island *island,
                    S2Act act); // RESTART, RECALL, REWIND
// S2_ACT_BLOW, S2_ACT_REBOUND
void s2_note_blow(const S2Step *step, const S2Island *island, const S2Choice *choices, S2Act act);
// Before the solution goes to v (3 a slot).
void s2_note_solve(const S2Step *step, const S2Island *island, const S2Choice *choices,
                   S2SolveKind kind, const S2Assembly *assembly, const double *v,
                   const S2Solution *solution);
void s2_note_linearise(const S2Step *step, int32_t touch);
// Before q1 moves; `choices` of the rows, `solved` the touches they are taken from (as S2Step's).
void s2_note_mend(const S2Step *step, const S2Island *island, S2Mend mend, const S2Choice *choices,
                  double stiffness, double part, const S2Assembly *assembly,
                  const S2Solution *solution);
// `start`: q1 before, 3 a node.
void s2_note_shake(const S2Step *step, const S2Island *island, const double *start,
                   const double *dq, int rows, const double *lambda, bool of_motion);
// Before what they change is changed: v2, or displacements (3 a node).
void s2_note_spin(const S2Step *step, const S2Island *island, bool from_v2);
void s2_note_set_spin(const S2Step *step, const S2Island *island, S2Act act, double spin,
                      const double *before);
// `before`: v2 with more energy than it may have, by `excess`, 3 a node.
void s2_note_cap(const S2Step *step, const S2Island *island, double excess, const double *before);
void s2_note_balance(const S2Step *step, const S2Island *island); // before v1 is changed
// `q`: q1 as the notes from `since` on leave it, 3 a node.
void s2_note_go_back(const S2Step *step, const S2Island *island, int since, const double *q);
// The step used something that has no derivative.
void s2_note_refuse_joints(const S2Step *step, const S2Island *island, const char *what);
void s2_note_unsolved(const S2Step *step);
// `ground`: s2_island_holders
void s2_note_feedback(const S2Step *step, const S2Island *island, double part,
                      const S2Shaken *shaken, const int32_t *ground, int grounds);
void s2_note_blend(const S2Step *step, const S2Island *island, const S2Choice *choices, double e,
                   const double *reflected);
// `restarted`: v0 (3 a node) is from v2.
void s2_note_midpoint(const S2Step *step, const S2Island *island, bool restarted, const double *v0,
                      const double *linear);
// Before a blow of a step of given length, if something within `reach` (m, or in the solve's rows)
// arrives with speed. (notes_hit.c)
void s2_note_hit(const S2Step *step, const S2Island *island, double reach);
// Event stepping. `before`: pieces of the island before this one; `share`, `met` as S2Note says:
// the index of a touch, or S2_NONE, and which of its points.
void s2_note_piece(const S2Step *step, const S2Island *island, int before);
void s2_note_of_piece(const S2Step *step, const S2Island *island, S2Act act);
// `unseen`: points in reach have no row on the way that begins.
void s2_note_set_out(const S2Step *step, const S2Island *island, bool unseen);
// `alone`: no other point arrives with that one.
void s2_note_arrive(const S2Step *step, const S2Island *island, int32_t met, int point, bool alone);
// `pressed`, `struck`: as s2_impact_energy has them; `held`: of joints before the blow.
void s2_note_keep(const S2Step *step, const S2Island *island, double part, const double *pressed,
                  const double *struck, const S2JointImpulses *held);
// Before v2 loses `energy`; `fed` as in s2_island_repay, `ground`: s2_island_holders.
void s2_note_slow(const S2Step *step, const S2Island *island, double energy, bool fed,
                  const int32_t *ground, int grounds);
void s2_note_short(const S2Step *step, const S2Island *island, double part);
typedef struct S2Repaid {
  double energy, tiny;
  bool edge, flowed, turned;
  const int32_t *ground; // slots
  int grounds;
  const S2Touch *touches; // those that island->touch counts, with the impulses that brought it
  const int32_t *index;   // of them: what they are in S2Step.touches
} S2Repaid;
void s2_note_repay(const S2Step *step, const S2Island *island, const S2Repaid *repaid);
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
// Attempts: what was noted since the mark is forgotten.
int s2_notes_mark(const S2Step *step);
void s2_notes_rewind(const S2Step *step, int mark);

#endif
