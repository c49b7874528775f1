// Private to core/dynamics: the flow by two stages for islands on which only joints act (RATTLE,
// Andersen 1983, with bounds as in Breuling, Capobianco, Eugster and Leine 2024). J0 are the rows
// at the start of a piece of length h, J1 those at its end; l and k are half impulses (N s):
//
//   stage 1    M (u - v0) = h/2 f(q0, u) + J0' l,   q1 = q0 + h u
//              (g(q1) - from)/h + C l + b = 0, or complementary to l within its bounds
//   stage 2    M (v1 - u) = h/2 f(q1, u) + J1' k
//              J1 v1 + C k + b = 0, or complementary to the sum l + k within its bounds
//
// In stage 1 rows measure differences over the piece. So motors, dry friction and dashpots act on
// the mean speed of their coordinate, and moving ground enters by its displacement.
// rattle_contact.c has the contacts in pieces of event stepping. docs/stepping.md has their rows
// and the derivative.
#ifndef S2_RATTLE_H
#define S2_RATTLE_H

#include "dynamics/joints/rows.h"
#include "dynamics/step/laws.h"

// Largest number of pieces into which a substep is split if forces turn too fast for it. Islands
// that need more pieces use implicit Euler.
enum { S2_RATTLE_PIECES = 64 };
// Number of pieces of a substep that may end when a limit closes. Limits that close later are rows
// of whole pieces.
enum { S2_RATTLE_MEETINGS = 8 };

typedef enum S2RattleLaw {
  S2_RATTLE_EQUATION, // rigid or compliant
  S2_RATTLE_BOUNDED,  // |force| <= most: motors, dry friction, servos
  S2_RATTLE_LIMIT,    // one-sided: 0 <= impulse; limits, and the normal rows of contacts
  S2_RATTLE_FRICTION, // |impulse| <= mu times the impulse of the preceding normal row
} S2RattleLaw;

typedef enum S2RattleState { // state of a row in the active set
  S2_RATTLE_HELD,            // its equation holds
  S2_RATTLE_OPEN,            // no impulse
  S2_RATTLE_AT_LO,           // the impulse is at its bound
  S2_RATTLE_AT_HI,
  S2_RATTLE_GIVEN, // a redundant row: its impulse is unchanged
  S2_RATTLE_KNOWN, // not an unknown of this stage: its impulse is known
} S2RattleState;

typedef enum S2RattleSource { // which function of the joint a row measures
  S2_RATTLE_OF_ROWS,          // a combination of its equations
  S2_RATTLE_OF_COORDINATE,
  S2_RATTLE_OF_DRIVE,
  S2_RATTLE_OF_GAP, // gap of a contact point; OF_SLIP: slip along its surface
  S2_RATTLE_OF_SLIP,
  S2_RATTLE_OF_GROUND, // ground friction: a body's pose
} S2RattleSource;

typedef struct S2RattleTerm { // the definition of a row of the island
  int place, index; // index of the joint in the island, and in S2Joint.impulse. Contacts: index in
                    // S2RattleRows.touch, and of the point
  S2RattleLaw law;
  S2RattleSource source;
  double mix[S2_JOINT_EQUATIONS]; // factors of its equations; ground friction: of (angle, x, y)
  double sign, offset;            // value = sign * (value of the source) + offset
  double speed;                   // rad/s or m/s: target of a motor
  double most;                    // N or N m; infinite: no bound
  double mu;                      // friction coefficient, for friction rows
  double restitution;             // restitution of limits
  bool changes;                   // the row contains the change of its value, not the value
  bool soft, trapezoid;           // compliant; by the trapezoidal rule, else by implicit Euler
  // the impulse is an actuator's, so not part of the joint's reaction
  bool effort;
  // Soft rows in stage 1: C (velocity per impulse) and b (velocity). A row of ground friction
  // across the motion has the C of the stage to which it belongs.
  double compliance, bias;
} S2RattleTerm;

typedef struct S2RattleRows { // all rows at some poses, as s2_rattle_measure computes them
  double *value, *rate;       // rate: change of the value at fixed poses, 1/s
  S2RowSides *side;
  S2Touch *touch; // touches of contacts, with the points that have rows
} S2RattleRows;

// The result of stage 2 if limits that arrive with restitution are left out. Their arrival speeds
// follow from it.
typedef struct S2RattleArrival {
  bool any;
  double *v, *k; // 3 per node; per row. NULL: no limit of the island has restitution
  double *back;  // per row, rad/s or m/s: arrival speed times e; 0: no rebound
  S2RattleState *state;
} S2RattleArrival;

typedef struct S2Rattle {
  S2Step *step;
  S2Island *island;
  const S2LawFrame *frame; // poses and velocities at the start of the substep
  double h, done; // s: length of the piece; time from the start of the substep to the piece
  int rows, nodes;
  int touches;                      // number of touches that have points with rows
  int grounds;                      // number of joints that are ground friction
  int32_t *touch;                   // indices in the step
  S2RattleTerm *term;               // bilateral rows, bounded rows, limits, contacts
  int32_t (*row_of)[S2_JOINT_ROWS]; // per joint of the island: its terms, or S2_NONE
  double *inertial, *damping;       // 3 per node: I, m, m; these times the damping rates
  double *q0, *q1;                  // 3 per slot: poses of nodes, and of ground that joints name
  double *v0, *u, *v1;              // 3 per node
  double *l, *k;                    // per row, N s
  double *kept; // S2_JOINT_ROWS per joint of the island: N s of the last piece, or NULL
  bool *late;   // per row: a limit or soft contact that begins open, or a rigid contact off its
                // surface (stage 1 pushes along J1)
  // `point`: the present contact point of a gap row in stage 1. `pushed`: for a late row, its point
  // when the velocities were computed. The impulse acted at that point and is logged there.
  S2TouchPoint *point, *pushed;
  S2RattleState *first, *second; // per row: states of the active sets
  S2RattleArrival arrival;
  // Both stages of a piece share these: the matrix pattern of the rows that were held last, and
  // their indices.
  S2Bilateral matrix;
  bool patterned;
  int pattern_rows;
  int32_t *pattern_of;
  S2RattleRows at0, at1; // rows at q0, q1
  double *force;         // 3 per node: f of the stage
  double *slope;         // 3 per node: additional damping by laws, kg/s
  bool laws_held;        // laws did not agree with u, so their forces are held at v0
  double tolerance;      // tolerance of scaled residuals
  double speed;          // V, the scale of these residuals, m/s
  // m: rounding errors; errors at which Newton's method ends; errors that are so large that the
  // program must have moved bodies
  double rounding, enough, placed;
  S2Residual worst; // over all stages of the step
  // Passes of s2_rattle_place, for the derivative: for each pass, the poses before it (3 per node),
  // then for each row 1 if it was held, else 0. NULL: not requested. A shortened pass has no
  // derivative.
  double *placing;
  int placings;
  bool shortened;
  bool rests; // the island stays at rest in this piece
  // Limits that begin open have no impulse in stage 1: the piece ends where the first one closes.
  bool frees;
  bool again;    // the piece is solved again, with another length
  bool looks;    // only stage 1 is solved
  double *guess; // N s: initial l of a repeated solve
  // Contacts that begin open have rows in stage 1 only. They arrive with their velocity, and the
  // next step begins with their impact.
  bool ahead;
  int met;      // row of the limit that closes; S2_NONE: none
  double rises; // derivative of its value with respect to the piece's length, if notes are kept
  double last;  // s: length of the previous piece
} S2Rattle;

// At the end of a step: warns of islands that this flow did not solve, unless the step has another
// warning.
void s2_rattle_warn_of_unsolved(const S2Step *step);
// Whether the flow supports islands with this joint. This depends only on the joint's definition.
bool s2_joint_rattles(const S2World *world, const S2Joint *joint);

// Whether the flow supports the island: all its joints are supported, and it has no touches.
bool s2_island_rattles(const S2Step *step, const S2Island *island);
// Steps the island over the substep, in pieces. Sets v1 = (q1 - q0)/dt, q1, v2, impulses and
// reactions. *done is false if no piece was short enough. In that case only statistics have
// changed, and the step counts as unsolved. `frame`: the start of the substep. False: aborted.
// (rattle.c)
bool s2_island_rattle(S2Step *step, S2Island *island, const S2LawFrame *frame, bool *done);

// Numbers that audits get of a joint in a piece: its impulses in both stages, 3 each, and
// S2AuditWork.paced.
enum { S2_RATTLE_HALVES = 7 };

// The result of one piece of event stepping (schemes/event.c) from q0 and v0 of the step.
typedef struct S2RattleFlow {
  double *u, *v1; // 3 per slot: (q1 - q0)/h; the velocities at the end
  double *halves; // S2_RATTLE_HALVES per joint of the island
  // per touch of the island: impulses l of stage 1; impulses k of stage 2, at q1
  S2Touch *first, *second;
  S2Residual residual;
  int solves;
  bool frees; // set by the caller: whether pieces end where limits close
  bool ahead; // set by the caller: whether points that begin open also have rows
  // s: time at which a limit closes, if that is why the piece was not solved; else infinite
  double met;
  double closes_at; // s: the last such time; `closes`: the row of that limit
  int closes;
  bool failed; // whether a piece was not solved since the caller cleared this
  // `solved` is false if there is no solution, or if bodies turn too far in it; `rests`: no body
  // moves
  bool solved, rests;
} S2RattleFlow;
S2RattleFlow s2_rattle_new_flow(const S2Step *step, const S2Island *island);
// Whether the flow supports pieces of the island with its contacts. This depends only on the
// definition of the island.
bool s2_island_rattles_on(const S2Step *step, const S2Island *island);
// Whether one of both holds, in a scheme that shortens pieces of this flow until they are solved.
bool s2_island_takes_pieces(const S2Step *step, const S2Island *island);
// Solves the piece of length h, with rows for the chosen points (2 touch + k). Impulses go to the
// step and its touches. `last`: turns are not limited. False: aborted.
bool s2_rattle_flow(S2Step *step, S2Island *island, const S2Choice *choices,
                    const S2LawFrame *frame, double h, bool last, S2RattleFlow *flow);
// rattle_keep.c: records the worst residual of both stages. If it exceeds the tolerance, the step
// counts as unsolved, with a warning.
void s2_rattle_certify(S2Step *step, const S2Island *island, const S2Residual *residual);
void s2_rattle_miss(S2Step *step); // counts the step as unsolved, without a warning
// Accepts the piece: logs its impulses, records its motion for audits and keeps its residuals.
// (rattle_keep.c)
void s2_rattle_keep_flow(S2Step *step, const S2Island *island, double end, double h,
                         const S2RattleFlow *flow);

// The record of a piece for its derivative is one array: 5 numbers, then 3 per node and 1 per row
// for each quantity. If a limit has restitution, the numbers of its arrival follow.
typedef struct S2RattleRecord {
  double h, done; // s
  int met;        // as in S2Rattle
  double rises;
  const double *q0, *v0, *u, *v1; // 3 per node
  const double *l, *k;            // N s
  const double *first, *second;   // S2RattleState
  const double *arrival;          // v, k, back, states; NULL: no limit arrives
} S2RattleRecord;
// Largest number of passes of s2_rattle_place.
enum { S2_RATTLE_PLACINGS = 20 };
static inline int s2_rattle_record_size(int nodes, int rows, bool rebounds) {
  return 5 + 12 * nodes + 4 * rows + (rebounds ? 3 * nodes + 3 * rows : 0);
}
// rattle_record.c. Whether a limit of the island has restitution.
bool s2_island_rebounds(const S2Step *step, const S2Island *island);
S2RattleArrival s2_rattle_new_arrival(const S2Step *step, const S2Island *island, int rows);
void s2_rattle_record_piece(const S2Rattle *rattle, double *to);
S2RattleRecord s2_rattle_record(const double *piece, int nodes, int rows);
// Restores impulses and states of the piece from its record.
void s2_rattle_recall(S2Rattle *rattle, const S2RattleRecord *record);
// For the derivative: restores the piece of a record, with its terms and its rows at both ends.
// `choices`: 2 per touch; NULL: there are none.
S2Rattle s2_rattle_again(S2Step *step, S2Island *island, const S2LawFrame *frame,
                         const S2RattleRecord *record, const S2Choice *choices);

// rattle_rows.c
// Makes the terms of the island and its rows at q0, and sets the first guess of l.
void s2_rattle_make_terms(S2Rattle *rattle);
// Computes the rows at poses q (3 per slot), `elapsed` s after the present state of the world.
void s2_rattle_measure(const S2Rattle *rattle, const double *q, double elapsed,
                       const S2RattleRows *rows);
// For stage 2: the soft rows that use implicit Euler, with C and b at the end, and their
// combinations (`mix`, per row; NULL: not requested).
void s2_rattle_soften_end(const S2Rattle *rattle, const S2RattleRows *rows, double *compliance,
                          double *bias, double (*mix)[S2_JOINT_EQUATIONS]);
// N s: the impulse of row r in step->joint_impulse, summed over both stages. For ground friction,
// the impulse is along the axes.
double s2_rattle_impulse(const S2Rattle *rattle, int r);
// The row of a term in a problem, with these sides; the caller sets the bounds.
S2Row s2_rattle_row(const S2Rattle *rattle, int term, const S2RowSides *side);
// Adds the reaction to an impulse along a row, on the joint's first body, to `reaction` (3). `arm`:
// the arm of its anchor.
void s2_rattle_push(const S2RowSides *side, S2Vec2 arm, double impulse, double *reaction);
typedef struct S2RattleSums { // sums over the pieces
  double *impulse;            // S2_JOINT_ROWS per joint of the island
  double *reaction;           // 3 per joint of the island
} S2RattleSums;
// rattle_keep.c
// For an island on which only joints act: shows each piece to audits; at the end copies the final
// state of the last piece and the sums of impulses to the step.
void s2_rattle_show_piece(const S2Rattle *rattle);
void s2_rattle_keep_end(const S2Rattle *rattle, const S2RattleSums *sums);
// Adds the impulses of both stages. `halves`: receives S2_RATTLE_HALVES per joint; if NULL, audits
// record them.
void s2_rattle_add_impulses(const S2Rattle *rattle, const S2RattleSums *sums, double *halves);
// m: the largest final error if all joints are rigid hinges without other rows, as in
// s2_joint_violation(); NAN: there are other joints.
double s2_rattle_pins_error(const S2Rattle *rattle);
static inline const S2Joint *s2_rattle_joint(const S2Rattle *rattle, const S2RattleTerm *term) {
  return &rattle->step->world->joints.at[rattle->island->joint[term->place]];
}
static inline bool s2_rattle_of_contact(const S2RattleTerm *term) {
  return term->source == S2_RATTLE_OF_GAP || term->source == S2_RATTLE_OF_SLIP;
}
// Whether a nonzero value of the row is a position error. (rattle_place.c)
static inline bool s2_rattle_has_place(const S2RattleTerm *term) {
  return !term->changes && term->law != S2_RATTLE_FRICTION;
}
// The normal row of the contact of row r; r itself if it is not a friction row.
static inline int s2_rattle_normal(const S2Rattle *rattle, int r) {
  while (rattle->term[r].source == S2_RATTLE_OF_SLIP) {
    r -= 1;
  }
  return r;
}
// Whether the row is compliant and uses the trapezoidal rule. If so, its impulse is known in stage
// 2.
static inline bool s2_rattle_halved(const S2RattleTerm *term) {
  return term->soft && term->trapezoid;
}
// The unknowns of stage 2 are k for equations and soft joint rows, and the sums l + k for all
// others.
static inline bool s2_rattle_sums(const S2RattleTerm *term) {
  return term->law != S2_RATTLE_EQUATION && (!term->soft || term->source == S2_RATTLE_OF_GAP);
}
// The reference value of row r in stage 1. A compliant contact that begins open is measured from
// its surface.
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
static inline bool s2_rattle_ends_step(const S2Rattle *rattle) { // whether the piece ends the step
  return rattle->done + rattle->h >= rattle->step->dt * (1 - 1e-9);
}
// 3 per slot: velocity of ground at the end of the piece. At the end of the step it is the
// prescribed final velocity, otherwise the mean.
static inline const double *s2_rattle_ground_end(const S2Rattle *rattle) {
  return s2_rattle_ends_step(rattle) ? rattle->step->given_end : rattle->step->free_v;
}
static inline bool s2_rattle_turns(const S2RowSides *side) { // whether the row measures an angle
  return side->a[1] == 0 && side->a[2] == 0 && side->b[1] == 0 && side->b[2] == 0;
}

// rattle_contact.c
// Selects the points of the island that are to have rows.
void s2_rattle_choose(S2Rattle *rattle, const S2Choice *choices);
// Appends the terms of contacts to the terms of joints, with guesses.
void s2_rattle_add_contacts(S2Rattle *rattle);
// Sets C and b of compliant contacts in stage 1, from the start of the piece.
void s2_rattle_soften_contacts(const S2Rattle *rattle);
// Whether viscous friction row r acts: the surfaces touch at the start of the piece.
bool s2_rattle_drags(const S2Rattle *rattle, int r);
// C and b of row r at the end, for stage 2 with implicit Euler.
void s2_rattle_soften_contact_end(const S2Rattle *rattle, int r, double *compliance, double *bias);
// Values and sides of contact rows at poses q (3 per slot).
void s2_rattle_measure_contacts(const S2Rattle *rattle, const double *q, const S2RattleRows *rows);
// The sliding speed of friction row r in stage 1, at the velocities v of nodes. It uses the mean
// direction of both ends, or the final direction if the row is late.
double s2_rattle_slip(const S2Rattle *rattle, int r, const double *v);
// Whether row r belongs to a rigid contact that began open and is predictive (`ahead`).
bool s2_rattle_awaits(const S2Rattle *rattle, int r);
// m: change of the arms of contact row r in the piece. If a body rolls on a nearly flat side, its
// arm moves along that side, and stage 1 has a second, distant solution.
double s2_rattle_arm_runs(const S2Rattle *rattle, int r);
// For stage 2: whether the contact or limit of row r is closed.
bool s2_rattle_closed(const S2Rattle *rattle, int r);
// Copies impulses of the piece to the flow, and their sums to the touches of the step.
void s2_rattle_keep_contacts(const S2Rattle *rattle, S2RattleFlow *flow);

// rattle_ground.c: friction of bodies on the plane of a world seen from above; the force is in a
// disc. Such a joint has these rows, by index: the torque, then the force along and across the
// motion in stage 2, then the force along and across the motion in stage 1.
enum { S2_GROUND_TORQUE, S2_GROUND_SECOND, S2_GROUND_FIRST = S2_GROUND_SECOND + 2 };
// Whether row r belongs to the other stage.
static inline bool s2_rattle_other_stage(const S2RattleTerm *term, bool second) {
  bool force = term->source == S2_RATTLE_OF_GROUND && term->index != S2_GROUND_TORQUE;
  return force && (term->index >= S2_GROUND_FIRST) == second;
}
// Makes the rows of the joint at `place`, with the force along the axes; at most S2_JOINT_ROWS.
// Returns their number.
int s2_rattle_ground_terms(const S2Rattle *rattle, int place, S2RattleTerm *terms);
// Sets initial directions, and guesses from impulses along the axes.
void s2_rattle_guess_ground(S2Rattle *rattle);
// Sets the directions of the rows of both stages from their solutions.
void s2_rattle_set_grounds(S2Rattle *rattle);
// N s: impulse of joint `place` of the island along x (axis 0) or y (1).
double s2_rattle_ground_impulse(const S2Rattle *rattle, int place, int axis);
// s2_rattle_repeat_grounds is called before stage 2: bodies that slide in stage 1 get the same
// impulse in stage 2. The next function is called after stage 2 and returns whether that impulse
// reverses a body. Such a body no longer repeats its impulse, and stage 2 must be solved again.
void s2_rattle_repeat_grounds(S2Rattle *rattle);
bool s2_rattle_grounds_turn_back(S2Rattle *rattle);
void s2_rattle_find_repeated(S2Rattle *rattle); // from the impulses of both stages
// Whether the guesses of stage 1 are within their discs.
bool s2_rattle_ground_holds(const S2Rattle *rattle);

// The speed along a row of a stage's problem at velocities v (3 per node), and the row's mobility:
// the change of that speed per unit impulse, 1/kg or 1/(kg m^2).
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
// Solve one stage from a guess of its impulses and states; false: the stage is not solved.
bool s2_rattle_first(S2Rattle *rattle);
bool s2_rattle_second(S2Rattle *rattle);
// m/s or rad/s: speed along row r that moving ground and driven locks cause at the end of the
// piece, in addition to the row's own rate.
double s2_rattle_given_speed(const S2Rattle *rattle, int r);
// The component of the driven lock to which row r belongs, if its final rate differs from its mean
// rate; else S2_NONE.
int s2_rattle_lock_of(const S2Rattle *rattle, int r);
// Whether stage 1 holds with bodies at rest and the guessed impulses. If springs amplify the
// rounding of positions, the impulses are corrected.
bool s2_rattle_rests(S2Rattle *rattle);

// rattle_turns.c: whether the piece is too long for the turns of its bodies and rows in stage 1, or
// for the turning of the forces that stage 1 has found.
bool s2_rattle_turns_too_far(const S2Rattle *rattle);
// rad: the relevant part of the angle `turn` of a node.
double s2_rattle_seen_turn(const S2Rattle *rattle, int node, double turn);
bool s2_rattle_loads_turn(const S2Rattle *rattle);
// Whether turning rows of contacts, or arriving contacts, add more energy than S2_RATTLE_SWAY
// permits. In an island without contacts: whether turning rows of joints add or take more.
bool s2_rattle_rows_bring(const S2Rattle *rattle);

// rattle_meet.c: the smallest final value of the limits that began open, and its row.
double s2_rattle_least_limit(const S2Rattle *rattle, int *row);
// The search for the length of a piece at whose end this value is 0. The value is positive at the
// shorter bound and not positive at the longer one.
typedef struct S2RattleMeeting {
  double lo, hi, at_lo, at_hi; // s, and values
  double out, at_out;          // the bound that was replaced last
  bool left;                   // whether such a bound exists
  int passes;
  bool slow; // the last pass made little progress
} S2RattleMeeting;
// The length to try next; 0: no length is better than `hi`.
double s2_rattle_next_length(S2RattleMeeting *meeting);
void s2_rattle_narrow(S2RattleMeeting *meeting, double h, double value);

// rattle_place.c: if the program moved bodies off the joints or beyond limits, projects q0, updates
// the rows and returns true.
bool s2_rattle_place(S2Rattle *rattle);

#endif
