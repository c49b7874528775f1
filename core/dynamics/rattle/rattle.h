// Private to core/dynamics: the flow of islands that only joints act on, in two stages (RATTLE,
// Andersen 1983, with bounds as in Breuling, Capobianco, Eugster and Leine 2024). With the rows J0
// at the start and J1 at the end of a piece of length h, and half impulses l and k (N s):
//
//   stage 1    M (u - v0) = h/2 f(q0, u) + J0' l,   q1 = q0 + h u
//              (g(q1) - from)/h + C l + b = 0, or complementary to l within its bounds
//   stage 2    M (v1 - u) = h/2 f(q1, u) + J1' k
//              J1 v1 + C k + b = 0, or complementary to the sum l + k within its bounds
//
// Rows are chords in stage 1: motors, dry friction and dashpots act on the mean speed of what they
// measure, and ground that moves enters by its way. Contacts of pieces of event stepping are in
// rattle_contact.c; docs/stepping.md has their rows, and the derivative.
#ifndef S2_RATTLE_H
#define S2_RATTLE_H

#include "dynamics/joints/rows.h"
#include "dynamics/step/laws.h"

// Pieces of a substep that forces which turn too fast for it are given, at most; beyond it is
// implicit Euler's.
enum { S2_RATTLE_PIECES = 64 };
// Pieces of a substep that end where a limit closes. Limits that close later than that are rows of
// pieces that go on.
enum { S2_RATTLE_MEETINGS = 8 };

typedef enum S2RattleLaw {
  S2_RATTLE_EQUATION, // rigid or giving way
  S2_RATTLE_BOUNDED,  // |force| <= most: motors, dry friction, servos
  S2_RATTLE_LIMIT,    // one-sided: 0 <= impulse; limits, and the normal rows of contacts
  S2_RATTLE_FRICTION, // |impulse| <= mu times the impulse of the row before it, the normal row
} S2RattleLaw;

typedef enum S2RattleState { // of the active set
  S2_RATTLE_HELD,            // its equation holds
  S2_RATTLE_OPEN,            // no impulse
  S2_RATTLE_AT_LO,           // the impulse is at its bound
  S2_RATTLE_AT_HI,
  S2_RATTLE_GIVEN, // a row that repeats others: its impulse stays
  S2_RATTLE_KNOWN, // not of this stage, which knows its impulse
} S2RattleState;

typedef enum S2RattleSource { // which function of the joint a row measures
  S2_RATTLE_OF_ROWS,          // a combination of its equations
  S2_RATTLE_OF_COORDINATE,
  S2_RATTLE_OF_DRIVE,
  S2_RATTLE_OF_GAP, // of a point of contact, and along its surface
  S2_RATTLE_OF_SLIP,
  S2_RATTLE_OF_GROUND, // ground friction: of a body's pose
} S2RattleSource;

typedef struct S2RattleTerm { // a row of the island, by its definition
  int place, index;           // of the joint in the island; in S2Joint.impulse. For contacts:
                              // in S2RattleRows.touch; the point in it
  S2RattleLaw law;
  S2RattleSource source;
  double mix[S2_JOINT_EQUATIONS]; // of its equations; of ground friction, of (angle, x, y)
  double sign, offset;            // value = sign * (what the source measures) + offset
  double speed;                   // rad/s or m/s: what a motor asks for
  double most;                    // N or N m; infinite: no bound
  double mu;                      // of friction rows
  double restitution;             // of limits
  bool changes;                   // the change of its value counts, not the value
  bool soft, trapezoid;           // it gives way; by the trapezoid, else by implicit Euler
  bool effort;                    // an actuator's, no reaction of the joint
  // Soft rows in stage 1: C (velocity per impulse) and b (velocity). Rows of ground friction across
  // the motion have those of their stage.
  double compliance, bias;
} S2RattleTerm;

typedef struct S2RattleRows { // all rows at some poses, and as s2_rattle_measure knows them
  double *value, *rate;       // what changes of the value by itself, 1/s
  S2RowSides *side;
  S2Touch *touch; // of contacts, with the points that have rows
} S2RattleRows;

// Stage 2 without the limits that arrive with restitution, which says how fast they do.
typedef struct S2RattleArrival {
  bool any;
  double *v, *k; // 3 a node; a row. NULL: no limit of the island has restitution
  double *back;  // a row, m/s or rad/s: its speed there times e; 0: it does not rebound
  S2RattleState *state;
} S2RattleArrival;

typedef struct S2Rattle {
  S2Step *step;
  S2Island *island;
  const S2LawFrame *frame; // poses and velocities at the start of the substep
  double h, done;          // s: of the piece; from the start of the substep to the piece's
  int rows, nodes;
  int touches;                      // that have points with rows
  int grounds;                      // joints that are ground friction
  int32_t *touch;                   // of the step
  S2RattleTerm *term;               // bilateral ones, bounded ones, limits, contacts
  int32_t (*row_of)[S2_JOINT_ROWS]; // a joint of the island: its terms, S2_NONE
  double *inertial, *damping;       // 3 a node: I, m, m; those times the rates of damping
  double *q0, *q1;                  // 3 a slot: of nodes, and of ground that joints name
  double *v0, *u, *v1;              // 3 a node
  double *l, *k;                    // a row, N s
  double *kept; // S2_JOINT_ROWS a joint of the island: N s of the last piece; NULL
  bool *late;   // a row: a limit that begins open, a contact that does or overlaps (stage 1 pushes
                // along J1)
  // `point`: the point of a gap's row as stage 1 has it now. `pushed`: of a late row, the point
  // when the velocities were computed. The row has pushed there, so impulses are logged there.
  S2TouchPoint *point, *pushed;
  S2RattleState *first, *second; // a row: states of the active sets
  S2RattleArrival arrival;
  // Both stages of a piece: the pattern of the rows that were held last, and which they are.
  S2Bilateral matrix;
  bool patterned;
  int pattern_rows;
  int32_t *pattern_of;
  S2RattleRows at0, at1; // rows at q0, q1
  double *force;         // 3 a node: f of the stage
  double *slope;         // 3 a node: what laws damp beside that, kg/s
  bool laws_held;        // laws did not agree with u: they are those at v0
  double tolerance;      // of scaled residuals
  double speed;          // V of those, m/s
  // m: errors that are rounding; with which Newton's method ends; that somebody has made by hand
  double rounding, enough, placed;
  S2Residual worst; // of all stages of the step
  // Passes of s2_rattle_place, for the derivative: poses before (3 a node), then 1 a row that was
  // held and else 0. NULL: not wanted. A pass that had to be shortened has no derivative.
  double *placing;
  int placings;
  bool shortened;
  bool rests; // the piece leaves it as it is
  // Limits that begin open have no impulse in stage 1: the piece ends where the first one closes.
  bool frees;
  bool again;    // the piece is solved once more, with another length
  bool looks;    // without stage 2
  double *guess; // N s: where it is solved once more, l that it begins with
  // Contacts that begin open are rows of stage 1 alone: they arrive with their velocity, for an
  // impact as the next step begins.
  bool ahead;
  int met;      // that limit's row; S2_NONE: none closes
  double rises; // 1/s: by how much its value changes with the piece's length; only where noted
  double last;  // s: the length of the piece before
} S2Rattle;

// As a step ends: islands that it did not solve, where nothing else has been said of the step.
void s2_rattle_warn_of_unsolved(const S2Step *step);
// Does the flow take islands with this joint, by what it is?
bool s2_joint_rattles(const S2World *world, const S2Joint *joint);

// Is the island made of what this flow takes? By its definition and its touches.
bool s2_island_rattles(const S2Step *step, const S2Island *island);
// The island's substep, in pieces: v1 = (q1 - q0)/dt, q1, v2, impulses and reactions. *done is
// false, and nothing is changed but statistics, where no piece was short enough: then the step is
// unsolved, whatever follows. `frame`: the start of the substep. False: aborted. (rattle.c)
bool s2_island_rattle(S2Step *step, S2Island *island, const S2LawFrame *frame, bool *done);

// One piece of event stepping (schemes/event.c), from q0 and v0 of the step: what it gave.
typedef struct S2RattleFlow {
  double *u, *v1;          // 3 a slot: (q1 - q0)/h, the velocities at the end
  double *halves;          // 6 a joint of the island: what its rows gave in both stages
  S2Touch *first, *second; // a touch of the island: its rows with l as stage 1 pushes, with k at q1
  S2Residual residual;
  int solves;
  bool frees;       // set by the caller: pieces are to end where limits close
  bool ahead;       // set by the caller: points that begin open are rows, too
  double met;       // s: one does after that; then it is not solved. Else infinite
  double closes_at; // s: the last of these times, and the row of that limit
  int closes;
  bool failed;        // one was not solved since the caller has cleared this
  bool solved, rests; // false: no solution, or it turns too far; nothing moves, exactly
} S2RattleFlow;
S2RattleFlow s2_rattle_new_flow(const S2Step *step, const S2Island *island);
// Does this flow take the pieces of the island, with its contacts? By its definition.
bool s2_island_rattles_on(const S2Step *step, const S2Island *island);
// The piece of length h with the chosen points (2 touch + k) as rows. Impulses go to the step and
// its touches. `last`: it may turn as far as it likes. False: aborted.
bool s2_rattle_flow(S2Step *step, S2Island *island, const S2Choice *choices,
                    const S2LawFrame *frame, double h, bool last, S2RattleFlow *flow);
// rattle_keep.c: the worst residual of both stages counts. If it is above the tolerance the step is
// an unsolved one, with a warning.
void s2_rattle_certify(S2Step *step, const S2Island *island, const S2Residual *residual);
void s2_rattle_miss(S2Step *step); // an unsolved one, without a warning
// That piece counts: its impulses are logged, its bodies followed, its residuals kept.
// (rattle_keep.c)
void s2_rattle_keep_flow(S2Step *step, const S2Island *island, double end, double h,
                         const S2RattleFlow *flow);

// The record of a piece for its derivative is one array of numbers: 5, then 3 a node and 1 a row
// each. If a limit has restitution, those of its arrival follow.
typedef struct S2RattleRecord {
  double h, done; // s
  int met;        // as S2Rattle has them
  double rises;
  const double *q0, *v0, *u, *v1; // 3 a node
  const double *l, *k;            // N s
  const double *first, *second;   // S2RattleState
  const double *arrival;          // v, k, back, states; NULL: nothing arrives
} S2RattleRecord;
// The most passes of s2_rattle_place.
enum { S2_RATTLE_PLACINGS = 20 };
static inline int s2_rattle_record_size(int nodes, int rows, bool rebounds) {
  return 5 + 12 * nodes + 4 * rows + (rebounds ? 3 * nodes + 3 * rows : 0);
}
// rattle_record.c. Has a limit of the island restitution?
bool s2_island_rebounds(const S2Step *step, const S2Island *island);
S2RattleArrival s2_rattle_new_arrival(const S2Step *step, const S2Island *island, int rows);
void s2_rattle_record_piece(const S2Rattle *rattle, double *to);
S2RattleRecord s2_rattle_record(const double *piece, int nodes, int rows);
// Impulses and states of the piece, from its record.
void s2_rattle_recall(S2Rattle *rattle, const S2RattleRecord *record);
// The piece of a record, for the derivative: terms, and rows at both its ends. `choices`: 2 a
// touch; NULL: there are none.
S2Rattle s2_rattle_again(S2Step *step, S2Island *island, const S2LawFrame *frame,
                         const S2RattleRecord *record, const S2Choice *choices);

// rattle_rows.c
// Terms of the island, rows at q0; l gets its first guess.
void s2_rattle_make_terms(S2Rattle *rattle);
// Rows at poses q (3 a slot), `elapsed` s after the state that the world is in.
void s2_rattle_measure(const S2Rattle *rattle, const double *q, double elapsed,
                       const S2RattleRows *rows);
// The same of stage 2 for soft rows by implicit Euler: C and b at the end, and their combinations
// (`mix`, a row; NULL: not wanted).
void s2_rattle_soften_end(const S2Rattle *rattle, const S2RattleRows *rows, double *compliance,
                          double *bias, double (*mix)[S2_JOINT_EQUATIONS]);
// N s: the part of row r, or of its stages, in step->joint_impulse. Ground friction has it along
// the axes.
double s2_rattle_impulse(const S2Rattle *rattle, int r);
// The row in a problem, with these sides; bounds are the caller's.
S2Row s2_rattle_row(const S2Rattle *rattle, int term, const S2RowSides *side);
// Adds what an impulse along a row pushes the joint's first body with to `reaction` (3); `arm` of
// its anchor.
void s2_rattle_push(const S2RowSides *side, S2Vec2 arm, double impulse, double *reaction);
typedef struct S2RattleSums { // over the pieces
  double *impulse;            // S2_JOINT_ROWS a joint of the island
  double *reaction;           // 3 a joint of the island
} S2RattleSums;
// rattle_keep.c
// Audits follow bodies from piece to piece of an island that only joints act on; the step gets what
// the last of them leaves, with the impulses of all.
void s2_rattle_show_piece(const S2Rattle *rattle);
void s2_rattle_keep_end(const S2Rattle *rattle, const S2RattleSums *sums);
// Adds what both stages gave. `halves`: NULL, and audits see that, or 6 a joint for it.
void s2_rattle_add_impulses(const S2Rattle *rattle, const S2RattleSums *sums, double *halves);
// m: the largest error of rigid hinges without anything else at the end, as s2_joint_violation()
// has it; NAN: there are other joints.
double s2_rattle_pins_error(const S2Rattle *rattle);
static inline const S2Joint *s2_rattle_joint(const S2Rattle *rattle, const S2RattleTerm *term) {
  return &rattle->step->world->joints.at[rattle->island->joint[term->place]];
}
static inline bool s2_rattle_of_contact(const S2RattleTerm *term) {
  return term->source == S2_RATTLE_OF_GAP || term->source == S2_RATTLE_OF_SLIP;
}
// Is the row off its place where its value is not 0? (rattle_place.c)
static inline bool s2_rattle_has_place(const S2RattleTerm *term) {
  return !term->changes && term->law != S2_RATTLE_FRICTION;
}
// The normal row of a contact's row r; r itself where that is none.
static inline int s2_rattle_normal(const S2Rattle *rattle, int r) {
  while (rattle->term[r].source == S2_RATTLE_OF_SLIP) {
    r -= 1;
  }
  return r;
}
// Does row r give way by the trapezoid? Then stage 2 knows its impulse.
static inline bool s2_rattle_halved(const S2RattleTerm *term) {
  return term->soft && term->trapezoid;
}
// Unknown of stage 2 are k of equations and of soft rows of joints, and the sums l + k of the
// others.
static inline bool s2_rattle_sums(const S2RattleTerm *term) {
  return term->law != S2_RATTLE_EQUATION && (!term->soft || term->source == S2_RATTLE_OF_GAP);
}
// The value from which stage 1 counts that of row r. A contact that gives way counts from its
// surface.
static inline double s2_rattle_from(const S2Rattle *rattle, int r) {
  const S2RattleTerm *term = &rattle->term[r];
  double value = rattle->at0.value[r];
  bool open = term->source == S2_RATTLE_OF_GAP && value > 0;
  return term->changes && !open ? value : 0;
}
// The bodies of a term.
static inline void s2_rattle_bodies(const S2Rattle *rattle, const S2RattleTerm *term,
                                    int32_t slot[2]) {
  bool contact = s2_rattle_of_contact(term);
  const S2Touch *touch = contact ? &rattle->at0.touch[term->place] : NULL;
  const S2Joint *joint = contact ? NULL : s2_rattle_joint(rattle, term);
  slot[0] = contact ? touch->body_a : joint->a;
  slot[1] = contact ? touch->body_b : joint->b;
}
static inline bool s2_rattle_ends_step(const S2Rattle *rattle) { // does the piece?
  return rattle->done + rattle->h >= rattle->step->dt * (1 - 1e-9);
}
// 3 a slot: how ground moves at the end of the piece. Where that is the end of the step, too, its
// velocity is that of its motion there, else the mean.
static inline const double *s2_rattle_ground_end(const S2Rattle *rattle) {
  return s2_rattle_ends_step(rattle) ? rattle->step->given_end : rattle->step->free_v;
}
static inline bool s2_rattle_turns(const S2RowSides *side) { // does it measure an angle?
  return side->a[1] == 0 && side->a[2] == 0 && side->b[1] == 0 && side->b[2] == 0;
}

// rattle_contact.c
// The island's points that were chosen as rows.
void s2_rattle_choose(S2Rattle *rattle, const S2Choice *choices);
// Terms of contacts after those of joints, with guesses.
void s2_rattle_add_contacts(S2Rattle *rattle);
// Those that give way, as stage 1 has them from where the piece begins.
void s2_rattle_soften_contacts(const S2Rattle *rattle);
// Are surfaces that friction row r, of viscosity, drags together as the piece begins?
bool s2_rattle_drags(const S2Rattle *rattle, int r);
// C and b of row r at the end, in stage 2 by implicit Euler.
void s2_rattle_soften_contact_end(const S2Rattle *rattle, int r, double *compliance, double *bias);
// Their values and sides at poses q (3 a slot).
void s2_rattle_measure_contacts(const S2Rattle *rattle, const double *q, const S2RattleRows *rows);
// Speed at which friction row r of stage 1 slides, at the velocities v of nodes: by the mean of its
// directions at both ends, or that at the end if it is late.
double s2_rattle_slip(const S2Rattle *rattle, int r, const double *v);
// Is row r of a contact that looks ahead?
bool s2_rattle_awaits(const S2Rattle *rattle, int r);
// m: by how much the arms of row r, of a contact, change in the piece. A body that rolls on a
// nearly flat side runs along it, and stage 1 has another solution far off.
double s2_rattle_arm_runs(const S2Rattle *rattle, int r);
// Stage 2: is the contact of row r closed, or its normal row?
bool s2_rattle_closed(const S2Rattle *rattle, int r);
// Impulses of the piece to the flow, and sums to the touches of the step.
void s2_rattle_keep_contacts(const S2Rattle *rattle, S2RattleFlow *flow);

// rattle_ground.c: friction of bodies on the plane of a world seen from above, a disc of forces.
// Its rows of a joint, by index: the torque, then along and across the motion in stage 2, then the
// same in stage 1.
enum { S2_GROUND_TORQUE, S2_GROUND_SECOND, S2_GROUND_FIRST = S2_GROUND_SECOND + 2 };
// Is row r one of the other stage?
static inline bool s2_rattle_other_stage(const S2RattleTerm *term, bool second) {
  bool force = term->source == S2_RATTLE_OF_GROUND && term->index != S2_GROUND_TORQUE;
  return force && (term->index >= S2_GROUND_FIRST) == second;
}
// Rows of the joint at `place`, the force's along its axes; at most S2_JOINT_ROWS. How many.
int s2_rattle_ground_terms(const S2Rattle *rattle, int place, S2RattleTerm *terms);
// Directions to begin with, and guesses from impulses along the axes.
void s2_rattle_guess_ground(S2Rattle *rattle);
// Directions of both stages as their solutions have them.
void s2_rattle_set_grounds(S2Rattle *rattle);
// N s: what joint `place` of the island has got of x (second: 1) or y (0).
double s2_rattle_ground_impulse(const S2Rattle *rattle, int place, int axis);
// Before stage 2: what slides in stage 1 is to get the same in stage 2. After it: does that bring
// back some? They no longer get it, and stage 2 is to be solved again.
void s2_rattle_repeat_grounds(S2Rattle *rattle);
bool s2_rattle_grounds_turn_back(S2Rattle *rattle);
void s2_rattle_find_repeated(S2Rattle *rattle); // by the impulses of both stages
// Are the guesses of stage 1 within their discs?
bool s2_rattle_ground_holds(const S2Rattle *rattle);

// The speed along a row of a stage's problem at the velocities v (3 a node), and its mobility: the
// change of that speed by a unit impulse, 1/kg or 1/(kg m^2).
static inline double s2_rattle_row_speed(const S2Row *row, const double *v) {
  double speed = 0;
  for (int c = 0; c < 3; c++) {
    speed += row->a >= 0 ? row->ja[c] * v[3 * row->a + c] : 0;
    speed += row->b >= 0 ? row->jb[c] * v[3 * row->b + c] : 0;
  }
  return speed;
}
static inline double s2_rattle_row_mobility(const S2Rattle *rattle, const S2Row *row) {
  const double *inertial = rattle->inertial;
  double w = 0;
  for (int c = 0; c < 3; c++) {
    w += row->a >= 0 ? row->ja[c] * row->ja[c] / inertial[3 * row->a + c] : 0;
    w += row->b >= 0 ? row->jb[c] * row->jb[c] / inertial[3 * row->b + c] : 0;
  }
  return w;
}

// rattle_stage.c
// One stage from the guess of its impulses and states; false: it is not solved.
bool s2_rattle_first(S2Rattle *rattle);
bool s2_rattle_second(S2Rattle *rattle);
// m/s or rad/s: what ground and locks that move as given bring along row r at the end of the piece,
// beyond the row's own rate.
double s2_rattle_given_speed(const S2Rattle *rattle, int r);
// The component of a lock that row r holds, where its rate at the end of the step is not the mean;
// S2_NONE: of none.
int s2_rattle_lock_of(const S2Rattle *rattle, int r);
// Do bodies that stand still solve stage 1 with the guessed impulses? Where those do so but for
// what springs make of rounded places, they are corrected.
bool s2_rattle_rests(S2Rattle *rattle);

// rattle_turns.c: is the piece too long for how far its bodies and rows turn in stage 1, or for how
// fast the forces do that it found?
bool s2_rattle_turns_too_far(const S2Rattle *rattle);
// rad: of the angle `turn` of a node, the part that counts.
double s2_rattle_seen_turn(const S2Rattle *rattle, int node, double turn);
bool s2_rattle_loads_turn(const S2Rattle *rattle);
// Do contacts bring more than S2_RATTLE_SWAY, as their rows turn or as what arrives is held?
bool s2_rattle_contacts_bring(const S2Rattle *rattle);

// rattle_meet.c: the least value of limits that began open, at the end of the piece, and its row.
double s2_rattle_least_limit(const S2Rattle *rattle, int *row);
// The search for the length of a piece at the end of which that is 0, between one that leaves it
// positive and one that does not.
typedef struct S2RattleMeeting {
  double lo, hi, at_lo, at_hi; // s, and values
  double out, at_out;          // the end that was left last
  bool left;                   // there is such an end
  int passes;
  bool slow; // the last pass has brought little
} S2RattleMeeting;
// The length to be tried next; 0: that of `hi` is as near as it gets.
double s2_rattle_next_length(S2RattleMeeting *meeting);
void s2_rattle_narrow(S2RattleMeeting *meeting, double h, double value);

// rattle_place.c: q0 on the joints and within the limits, and rows there, where somebody has placed
// it off them. False: it was not.
bool s2_rattle_place(S2Rattle *rattle);

#endif
