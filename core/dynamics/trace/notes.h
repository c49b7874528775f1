// Private to core/dynamics and core/diff: the notes that record a step for its derivative.
//
// A step is a list of acts. Each act overwrites some arrays of S2Step. The notes contain, in order,
// every act that contributed to the result, with the inputs that cannot be derived from earlier
// notes. Discarded attempts are not included.
//
// The derivative reads the notes backwards from the end of the step and undoes each act from its
// record.
#ifndef S2_NOTES_H
#define S2_NOTES_H

#include "dynamics/impact/impact.h"
#include "dynamics/project/project.h"

// Each comment names the record of an act, which is a member of S2Note, and describes the effect of
// the act. The table in diff/step/sweep.c names the function that undoes the act.
typedef enum S2Act {
  // Acts on all bodies.
  S2_ACT_SUBSTEP,  // record substep: starts with q1 = q0 and v0 of the world
  S2_ACT_FREE,     // record free: computes mass and free_v for h from v0 and force
  S2_ACT_RESET,    // record plain: sets v1 = free_v
  S2_ACT_RESET_V2, // record plain, bisect: sets v2 = free_v
  // Record carried: linearises a touch at q0 + until carry, and transfers it to q0.
  S2_ACT_LINEARISE,
  S2_ACT_V2_IS_V1,  // no record
  S2_ACT_V1_IS_V2,  // record plain, bisect
  S2_ACT_INTEGRATE, // record carried: computes carry and q1; later acts use touches at q1
  S2_ACT_Q0_IS_Q1,  // record plain with q1: sets q0 = q1 after a projection before the step
  S2_ACT_NEXT,      // record end: sets q0 = q1, v0 = v2 for the next part of a bisect step
  S2_ACT_COMMIT,    // record end: ends a substep
  S2_ACT_LAWS,      // record laws: calls force laws at q0, v0, for all bodies or an island.
  // Record laws: makes v2 consistent with the laws at q1. For an island, also makes v1 and force
  // consistent (laws.h).
  S2_ACT_LAWS_END,
  S2_ACT_DRIFT, // no record, event stepping: sets v1 = v2 = free_v and q1 = q0 + h (v0 + v1)/2.
  // Acts on the nodes of an island: solves.
  S2_ACT_SOLVE, // record solve: computes v1 or v2
  // Record rattle: computes q1 and v2 by the two-stage flow. Later acts may overwrite them.
  S2_ACT_RATTLE,
  S2_ACT_FLOWED,  // no record: restores q1 and v2 to the results of the two-stage flow
  S2_ACT_BALANCE, // record plain: adds a rotation to v1, so that joint impulses balance at q0
  S2_ACT_SHORT,   // record scaled: multiplies carry by a fraction, and sets q1 = q0 + h carry.
  // Impacts.
  S2_ACT_RESTART, // record plain: sets v2 = v0 and resets the impulses of joints
  S2_ACT_RECALL,  // record plain: sets v2 = v0 to find arrival speeds.
  // Record plain: computes targets from v2 and the current touches. Then sets v2 = v1, and restores
  // the impulses of joints before S2_ACT_RECALL.
  S2_ACT_REBOUND,
  // Record keep: sets v2 = v1 + fraction (v2 - v1), using the largest fraction that adds no energy.
  S2_ACT_KEEP,
  S2_ACT_REFLECT, // no record: reflections begin with v2 and the current touches
  // Record blend: sets v2 = e reflected + (1 - e) v2. Its inverse restores v2 of S2_ACT_REWIND.
  S2_ACT_BLEND,
  S2_ACT_REWIND, // record plain: restores the value of v2 at S2_ACT_REFLECT
  S2_ACT_HIT,    // no record: marks an impact in a step of given length
  S2_ACT_STOP,   // no record: marks the stop of a joint at a limit in a step of given length
  // record energy: reduces v2 to remove the energy that a projection has added (repay.c).
  S2_ACT_SLOW,
  // Projections.
  S2_ACT_PROJECT, // record solve: q1 += fraction v.
  // Record solve: displaces q1 to remove the errors of joint equations (shake.c).
  S2_ACT_SHAKE,
  S2_ACT_FEEDBACK, // record solve: v2 += fraction/h (joint displacement since S2_ACT_INTEGRATE)
  S2_ACT_SPIN,     // record spin: measures the angular momentum of an island without ground
  S2_ACT_SPIN_V2,  // record spin: adds a rotation to v2, which restores the measured value
  S2_ACT_SPIN_DQ,  // record spin: adds a rotation to the joint displacement, which removes its spin
  S2_ACT_CAP,      // record energy: reduces v2 to remove the energy above the limit of S2_ACT_SPIN
  S2_ACT_GO_BACK,  // record go_back: restores the value of q1 before an earlier note.
  // Acts of event stepping, on an interval of the island's step that ends at an impact time.
  // Record interval: starts an interval, with the ground at that time. Sets q0 = q1 and v0 = v2
  // unless it is the first interval.
  S2_ACT_INTERVAL,
  S2_ACT_STRUCK,  // record plain: sets v0 = v2 after an impact
  S2_ACT_SET_OUT, // record set_out: computes mass and free_v for h, from v0 and force
  S2_ACT_FLY,     // no record: sets v1 = free_v
  S2_ACT_PIECE,   // record rattle: computes q1 and v1 by the two-stage flow; its ARRIVE keeps q1.
  // Record arrive: sets q1 = q0 + h ((1 - share) v0 + share v1) and v2 = v1. The shapes of the
  // act's touch meet after the time h.
  S2_ACT_ARRIVE,
  // record energy: reduces v2 of some nodes to remove the energy added in the interval
  S2_ACT_REPAY,
  S2_ACT_INTERVAL_END, // record end: ends an interval
  S2_ACTS
} S2Act;

typedef enum S2ProjectRows { // the rows of a projection, used with the errors at q1
  S2_PROJECT_ANEW,           // at q1
  S2_PROJECT_SHAKE,          // equations of joints at q0, all other rows at q1
  S2_PROJECT_SOLVED,         // all rows at q0, as in the solve
} S2ProjectRows;

typedef struct S2ShakenRow { // members as in S2JointPart
  int32_t joint, row;
  double push[3];
} S2ShakenRow;

// The state of a body that a force law has read (step/laws.h). S2_LAW_OWN is the state in the act,
// which is (q0, v0) or (q1, v2). S2_LAW_FLIES is the state in free flight from the start of the
// step.
typedef enum S2LawOf { S2_LAW_OWN, S2_LAW_FLIES } S2LawOf;

typedef struct S2LawTerm {
  S2ForceTerm term;
  S2LawOf of;
  double rate; // time derivative of the component that was read, 0 for S2_LAW_OWN
} S2LawTerm;

typedef struct S2LawAnswer { // the result of a law for one body
  int32_t slot;
  int terms;
  const S2LawTerm *term;
  double by_time[3], by_dt[3];
  uint32_t origin[3];
  bool held; // LAWS_END: the act leaves the velocity unchanged. RATTLE: the law was called at v0.
  // LAWS_END: change of the law's force since the start. RATTLE: the total force, including the
  // constant part.
  double change[3];
} S2LawAnswer;

typedef struct S2RattleNote { // record of the two-stage flow
  int pieces, rows, laws;     // laws: number of law answers of all pieces
  const double *piece;        // one S2RattleRecord per piece.
  // For each piece: the law answers of stage 1, one for each body with a law, then the answers of
  // stage 2.
  const S2LawAnswer *answers;
  int placings; // number of passes that projected q0, as in S2Rattle
  const double *placing;
  // One per piece, without valid pointers (S2Notes.keeps_pieces). NULL if small/ has not solved the
  // pieces, or if the notes do not keep them.
  const struct S2Small *flat;
} S2RattleNote;

typedef struct S2LawsAct {
  int count;
  S2LawAnswer *answers;
  double since; // time from the start of the substep to the call (s)
  double part;  // LAWS_END: evaluation time, as a fraction of the motion and of h
} S2LawsAct;

// The island of an act. Only touches with rows are recorded, in order. Their number is
// island.touches, and island.touch[i] is i.
typedef struct S2NoteIsland {
  S2Island island;
  // SOLVE, PROJECT, SHAKE: 1 per row. FEEDBACK: 1 per row of `shaken`. KEEP: the contact impulses
  // of the motion, followed by those of the impact, with S2_TOUCH_IMPULSES per touch each. SLOW:
  // the sums of both.
  double *lambda;
  // Impulses before the act, S2_JOINT_ROWS per joint of the island. KEEP: impulses in the impact.
  // NULL if no row uses them or, for SOLVE, if they equal the impulses at the start of the substep.
  double *impulse;
  double *pushed;       // 2 per joint of the island, or NULL if all are 0
  bool *stiff;          // per joint of the island, or NULL if all are false
  S2ShakenRow *shaken;  // FEEDBACK
  const void **touch;   // touches before the act, read by s2_note_touch
  const void **solved;  // S2_PROJECT_SOLVED: the same touches in the solve
  int32_t *touch_index; // indices of these touches in S2Step.touches.
  // Per point of these touches: S2Choice.use and, in higher bits, S2Choice.target.
  unsigned char *choices;
  double *biases; // biases of the used points.
  // INTERVAL: slots of ground bodies that touch its nodes or are joined to them. REPAY: ground
  // bodies. FEEDBACK, SLOW: s2_island_holders.
  int32_t *ground;
  int grounds;
  double stiffness; // PROJECT: factor of the moments of inertia
  double tiny;      // REPAY: speeds (m/s) of a point below this value count as zero
  // STRUCK: the impact, or NULL if small/ does not describe it or the notes do not keep it
  const struct S2SmallImpact *impact;
} S2NoteIsland;

typedef struct S2Note {
  S2Act act : 8;
  bool holds : 1;   // S2Step.holds
  double h, t;      // S2Step.h and S2Step.t; for SUBSTEP, t is the time of the world
  S2NoteIsland *of; // NULL for an act on all bodies.
  // Arrays have 3 numbers per slot in acts on all bodies, and 3 numbers per node in acts on an
  // island. `before` contains the overwritten values.
  union {
    struct {
      double *before; // NULL for a RESET whose values no act reads
    } plain;
    struct {
      double *impulse;       // S2_JOINT_ROWS per joint slot
      double *reaction_time; // per joint slot
      double *goals;         // S2_NOTE_GOALS per joint slot, or NULL if no joint is a lock
    } substep;
    struct {
      double *q0, *v0, *force;
      S2Drive *drives; // per joint slot, or NULL if the program moves no locks
    } free;
    struct {
      bool *ahead;  // S2Step.ahead if beta < 1, otherwise NULL
      double until; // S2_ACT_LINEARISE: time (s) in the motion.
      // True if `until` depends on the inputs. If not, it is a fixed fraction of the motion.
      bool moves;
    } carried;
    struct {
      double *q1, *v2;
      double *force; // INTERVAL_END with force laws, otherwise NULL
      double *v1;
    } end;
    struct {
      S2SolveKind kind : 8;   // SOLVE, PROJECT
      S2ProjectRows from : 4; // PROJECT
      bool into_v1 : 1;       // SOLVE
      bool of_motion : 1;     // SHAKE: true if the rows are the rows of the first solve
      int rows;               // number of rows of the problem.
      // Fraction of the displacement. FEEDBACK: fraction of the change of v2. SOLVE: fraction of
      // the change of v.
      double fraction;
      double *before; // previous v1, v2 or q1; for SOLVE, NULL if it equals free_v.
      // The solution, including nodes of gears. SHAKE, FEEDBACK: only the displacements caused by
      // joints.
      double *x;
    } solve;
    S2RattleNote rattle;
    struct {
      S2LawsAct *act;
      double *force, *v2; // the overwritten values, 3 per answer
    } laws;
    struct {
      double fraction;
    } scaled;
    struct {
      double fraction, *before;
      double *reaction; // reactions in the impact, 3 per joint
    } keep;
    struct {
      double e, *before, *reflected;
    } blend;
    struct {
      bool edge : 1;        // REPAY: true if the added energy is close to zero
      bool flowed : 1;      // REPAY: true if contacts also contribute
      bool turned : 1;      // REPAY: true if v2 was solved with rows and touches at q1
      bool fed : 1;         // SLOW: true if joint displacements were added to v2
      double loss, *before; // J
    } energy;
    struct {
      bool from_v2; // SPIN: true if v2 defines the energy limit, false if free_v defines it
      double value, *before; // SPIN_V2: the rotation added to v2
    } spin;
    struct {
      int since;  // the note
      double *q1; // q1 after the act
    } go_back;
    struct {
      int earlier;   // number of earlier intervals
      bool sets_out; // ground bodies start with v0, and impacts use S2Step.given_start
    } interval;
    struct {
      bool unseen; // true if points in reach have no row in this motion
      double *q0, *v0;
    } set_out;
    struct {
      bool meets : 1, others : 1; // true if a pair meets, true if others meet at that time
      int point;                  // index of the contact point in its touch
      double share;               // S2Step.share
      double *v1;
    } arrive;
  };
} S2Note;

typedef struct S2NoteBlock S2NoteBlock;

// The result of a callback in the step. Results of discarded attempts are included.
typedef struct S2Answer {
  const struct S2Answer *earlier; // the previous result for the same joint or body
  S2Asked asked;
  int32_t slot;
  int count; // of numbers
  double t, q[S2_JOINT_COLUMNS];
  const double *number;
  const S2Slope *slope; // 1 per number, or NULL if there is no derivative
} S2Answer;

typedef struct S2Fixed S2Fixed; // data shared by many steps while they do not change

typedef struct S2NoteSlot {
  S2Note *note;
} S2NoteSlot;

typedef struct S2Notes {
  S2_ARRAY(S2NoteSlot) at;
  S2NoteBlock *block; // memory blocks of the notes, newest first.
  // Sizes (bytes) of the blocks, of the notes in them, and of the notes of the previous step.
  size_t bytes, used, expected;
  S2Fixed *fixed;
  int slots, joint_slots;
  int substep; // index of the first note of the current substep
  S2_ARRAY(const void *)
  latest;             // last record of each touch in this step, valid until the step ends
  int touches;        // greater than every S2Note.of.touch_index
  bool linearised;    // true if an S2_ACT_LINEARISE was recorded, even if discarded
  const char *reason; // the part of the step that has no derivative, or NULL
  char *text;         // memory of `reason` if it is not static, or NULL
  bool unsolved;      // true if a solve missed its tolerance, so derivatives may be inaccurate
  S2NoteBlock *answer_block;
  const S2Answer **answers; // newest result of each joint slot, then of each body slot, or NULL
  bool projects;            // true if joints count as projected even without an error
  bool keeps_pieces;        // true if the notes contain the pieces of small islands (small/)
} S2Notes;

static inline const S2Note *s2_note_at(const S2Notes *notes, int index) {
  return notes->at.at[index].note;
}

void s2_notes_init(S2Notes *notes);
void s2_notes_clear(S2Notes *notes); // frees all memory.

// Allocates memory from the list `blocks`. `size` is the size of a new block.
void *s2_notes_take(S2Notes *notes, S2NoteBlock **blocks, size_t size, size_t bytes);
void *s2_note_take(S2Notes *notes, size_t bytes); // allocates memory in the notes of the step.
// Adds a note of an act on all bodies or on an island.
S2Note *s2_note_add(const S2Step *step, S2Act act);
S2Note *s2_note_add_island(const S2Step *step, const S2Island *island, S2Act act);

// Records the result of a callback. Does nothing if the world records no notes.
void s2_note_answer(S2World *world, const S2Answer *answer);
// Returns the recorded result for the same slot, poses and time (up to rounding), or NULL.
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
  size_t bytes, expected; // expected: size of the notes of the last step
};
// Returns the data of the current world, and increments their user count.
S2Fixed *s2_fixed_of(S2World *world);
void s2_fixed_release(S2Fixed *fixed); // `fixed` may be NULL

enum { S2_NOTE_GOALS = 6 }; // goal and rate of a lock.
// Writes the joints at the start of the substep that begins with this note. `joints` has one entry
// per slot.
void s2_note_joints(const S2Notes *notes, const S2Note *substep, S2Joint *joints);
void s2_note_touch(const S2WorldDef *def, const void *kept, S2Touch *touch);
// Reads all choices of a note, 2 per touch.
void s2_note_choices(const S2NoteIsland *of, S2Choice *choices);
// Ends the notes of the step.
void s2_notes_end(S2Notes *notes);

// ---- Writing notes: these functions do nothing if the step records no notes --------------------

void s2_note_substep(const S2Step *step);
void s2_note_free(const S2Step *step);
// Records RESET, RESET_V2, V2_IS_V1, V1_IS_V2, Q0_IS_Q1 or DRIFT. `before` has 3 numbers per slot,
// or is NULL.
void s2_note_plain(const S2Step *step, S2Act act, const double *before);
void s2_note_integrate(const S2Step *step);
// Records LAWS or LAWS_END for an island or, if `island` is NULL, for all bodies. Called before the
// act changes anything. (notes_laws.c)
void s2_note_laws(const S2Step *step, const S2Island *island, S2Act act, const S2LawsAct *laws);
void s2_note_terms(S2Notes *notes, S2LawAnswer *answer); // copies the terms into the notes
void s2_note_end(const S2Step *step, S2Act act);         // for NEXT, COMMIT.

// Records STRUCK. `before` contains v0 before the impact.
void s2_note_struck(const S2Step *step, const S2Island *island, const double *before,
                    const struct S2SmallImpact *impact);
// Records RESTART, RECALL, REWIND, HIT, BALANCE or FLY. `before` has 3 numbers per slot, or
// is NULL.
void s2_note_island(const S2Step *step, const S2Island *island, S2Act act, const double *before);
// Called before the solution is written to v (3 per slot).
void s2_note_solve(const S2Step *step, const S2Island *island, const S2Choice *choices,
                   S2SolveKind kind, const S2Assembly *assembly, const double *v,
                   const S2Solution *solution);
// Records that the step uses only a fraction of the change made by the last solve.
void s2_note_fraction(const S2Step *step, double fraction);
// Records that a touch is linearised again, at the time `until` (s) of the motion. `moves` is true
// if this time depends on the inputs. If not, it is a fixed fraction of the motion.
void s2_note_linearise(const S2Step *step, int32_t touch, double until, bool moves);
// `choices` contains the rows of a piece of event stepping, for the touches of S2Step. It is NULL
// for the whole step of an island without touches. `numbers` is the size of `piece`. The terms of
// answers and `placing` must be in the memory of the notes (s2_note_terms, s2_note_take).
void s2_note_rattle(const S2Step *step, const S2Island *island, const S2Choice *choices,
                    const S2RattleNote *rattle, int numbers);
void s2_note_short(const S2Step *step, const S2Island *island, double fraction);

// Called before q1 changes. `choices` contains the rows, for the touches of S2Step.
void s2_note_project(const S2Step *step, const S2Island *island, S2ProjectRows from,
                     const S2Choice *choices, double stiffness, double fraction,
                     const S2Assembly *assembly, const S2Solution *solution);
// Records SHAKE. `start` is q1 before the act, 3 per node.
void s2_note_shake(const S2Step *step, const S2Island *island, const double *start,
                   const double *dq, int rows, const double *lambda, bool of_motion);
// `ground`: s2_island_holders
void s2_note_feedback(const S2Step *step, const S2Island *island, double fraction,
                      const S2Shaken *shaken, const int32_t *ground, int grounds);
// Called before v2 or the displacements (3 per node) change.
void s2_note_spin(const S2Step *step, const S2Island *island, bool from_v2);
void s2_note_set_spin(const S2Step *step, const S2Island *island, S2Act act, double spin,
                      const double *before);
// Records CAP. `before` is v2 before the act, 3 per node. Its energy exceeds the limit by `excess`.
void s2_note_cap(const S2Step *step, const S2Island *island, double excess, const double *before);
// Records GO_BACK. `q` is q1 before the note `since`, 3 per node.
void s2_note_go_back(const S2Step *step, const S2Island *island, int since, const double *q);

// Records REFLECT or REBOUND, with the touches. `before` has 3 numbers per slot, or is NULL.
void s2_note_impact(const S2Step *step, const S2Island *island, const S2Choice *choices, S2Act act,
                    const double *before);
// Records KEEP. `pressed` and `struck` are the same as in s2_impact_energy. `held` contains the
// impulses of joints before the impact.
void s2_note_keep(const S2Step *step, const S2Island *island, double fraction,
                  const double *pressed, const double *struck, const S2JointImpulses *held);
void s2_note_blend(const S2Step *step, const S2Island *island, const S2Choice *choices, double e,
                   const double *reflected);
// Called before an impact in a step of given length. Records whether a point arrives with speed.
// `reach` is the maximum gap (m) of points without a row in the solve. (notes_hit.c)
void s2_note_hit(const S2Step *step, const S2Island *island, double reach);
// Called after a motion solve in a step of given length. Records whether a joint has reached a
// limit.
void s2_note_stop(const S2Step *step, const S2Island *island);
// Called before `energy` is removed from v2. `fed` is the same as in s2_island_repay. `ground` is
// the result of s2_island_holders.
void s2_note_slow(const S2Step *step, const S2Island *island, double energy, bool fed,
                  const int32_t *ground, int grounds);

// Records an interval of event stepping. `earlier` is the number of earlier intervals of the
// island.
void s2_note_interval(const S2Step *step, const S2Island *island, int earlier, bool sets_out);
void s2_note_interval_end(const S2Step *step, const S2Island *island);
// `unseen` is true if points in reach have no row in the motion that begins.
void s2_note_set_out(const S2Step *step, const S2Island *island, bool unseen);
// `met` is the index of the touch whose shapes meet, or S2_NONE. `point` is its contact point.
// `alone` is true if no other point arrives at the same time.
void s2_note_arrive(const S2Step *step, const S2Island *island, int32_t met, int point, bool alone);
typedef struct S2Repaid {
  double energy, tiny;
  bool edge, flowed, turned;
  const int32_t *ground; // slots
  int grounds;
  // Touches with the impulses that added the energy. The array island->touch contains indices into
  // this array.
  const S2Touch *touches;
  const int32_t *index; // indices of these touches in S2Step.touches
} S2Repaid;
void s2_note_repay(const S2Step *step, const S2Island *island, const S2Repaid *repaid);

// s2_note_refuse_joints records that the step has no derivative because of `what`. s2_note_unsolved
// records that a solve missed its tolerance. (notes_refuse.c)
void s2_note_refuse_joints(const S2Step *step, const S2Island *island, const char *what);
void s2_note_unsolved(const S2Step *step);

// For attempts. s2_notes_rewind discards the notes since the mark.
int s2_notes_mark(const S2Step *step);
void s2_notes_rewind(const S2Step *step, int mark);

// ---- Shared by steps and their derivatives ------------------------------------------------------

// Writes the velocity of a body (3 numbers) if the body is not an unknown. Otherwise writes 0.
static inline void s2_ground_velocity(const S2Step *step, int32_t slot, double *v) {
  bool ground = step->node_of[slot] == S2_GROUND;
  for (int c = 3 * slot; c < 3 * slot + 3; c++) {
    v[c] = ground ? step->free_v[c] : 0;
  }
}
// Speeds (m/s) of a contact point at v0 and v2, along the normal and the tangent. (energy.c)
typedef struct S2Work {
  double u0, u2, along0, along2;
} S2Work;
S2Work s2_touch_work(const S2Touch *touch, int k, const double *v0, const double *v2, double tiny);
// Computes the velocity of a body that moves rigidly with a ground body. If there are several
// ground bodies, computes the mean velocity. S2_NONE is the world, which is at rest.
void s2_event_ride(const S2Step *step, const int32_t *ground, int grounds, int32_t slot,
                   double ride[3]);
#endif
