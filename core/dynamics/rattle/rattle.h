// Private to core/dynamics: the two-stage flow for islands on which only joints act.
// The method is RATTLE (Andersen 1983), with bounds as in Breuling, Capobianco, Eugster and Leine
// 2024. J0 contains the constraint rows at the start of a piece of length h. J1 contains the rows
// at its end. The half impulses (N s) are l and k:
//
//   stage 1    M (u - v0) = h/2 f(q0, u) + J0' l,   q1 = q0 + h u
//              (g(q1) - from)/h + C l + b = 0, or complementary to l within its bounds
//   stage 2    M (v1 - u) = h/2 f(q1, u) + J1' k
//              J1 v1 + C k + b = 0, or complementary to the sum l + k within its bounds.
//
// In stage 1, rows measure differences over the piece, relative to the reference values `from`.
// Motors, dry friction and dashpots therefore act on the mean speed of their coordinate, and moving
// ground is included by its displacement. rattle_contact.c adds contacts for event stepping.
// docs/stepping.md describes their rows and the derivative.
#ifndef S2_RATTLE_H
#define S2_RATTLE_H

#include "dynamics/joints/rows.h"
#include "dynamics/step/laws.h"

// Maximum number of pieces per substep. A substep is split if the direction of forces changes too
// fast. Islands that need more pieces use implicit Euler.
enum { S2_RATTLE_PIECES = 64 };
// Maximum number of pieces per substep that may end early at a closing joint limit. Limits that
// close later get rows in full-length pieces.
enum { S2_RATTLE_MEETINGS = 8 };

typedef enum S2RattleLaw {
  S2_RATTLE_EQUATION, // an equality constraint, rigid or compliant
  S2_RATTLE_BOUNDED,  // |force| <= most, for motors, dry friction and servos
  S2_RATTLE_LIMIT,    // impulse >= 0, for joint limits and contact normals
  S2_RATTLE_FRICTION, // |impulse| <= mu times the impulse of the preceding normal row
} S2RattleLaw;

typedef enum S2RattleState { // state of a row in the active set
  S2_RATTLE_HELD,            // the row's equation holds
  S2_RATTLE_OPEN,            // no impulse
  S2_RATTLE_AT_LO,           // the impulse is at its bound
  S2_RATTLE_AT_HI,
  S2_RATTLE_GIVEN, // the row is redundant and its impulse is unchanged
  S2_RATTLE_KNOWN, // the impulse is not an unknown of this stage
} S2RattleState;

typedef enum S2RattleSource { // the function of the joint that a row measures
  S2_RATTLE_OF_ROWS,          // a combination of the joint's equations
  S2_RATTLE_OF_COORDINATE,
  S2_RATTLE_OF_DRIVE,
  S2_RATTLE_OF_GAP, // gap of a contact point; OF_SLIP: slip along the surface
  S2_RATTLE_OF_SLIP,
  S2_RATTLE_OF_GROUND, // the pose of a body with ground friction
} S2RattleSource;

typedef struct S2RattleTerm { // the definition of a row of the island
  // The index of a joint in the island and an index in S2Joint.impulse, or the index of a contact
  // in S2RattleRows.touch and the index of the point.
  int place, index;
  S2RattleLaw law;
  S2RattleSource source;
  // Factors of the joint's equations, or of (angle, x, y) for ground friction.
  double mix[S2_JOINT_EQUATIONS];
  double sign, offset; // value = sign * (value of the source) + offset
  double speed;        // rad/s or m/s: target speed of a motor
  double most;         // N or N m: bound of the force, or infinite
  double mu;           // friction coefficient, for friction rows
  double restitution;  // coefficient of restitution of a joint limit
  bool changes;        // the row constrains the change of its value, not the value itself
  // `soft`: the row is compliant. `trapezoid`: it uses the trapezoidal rule, not implicit Euler.
  bool soft, trapezoid;
  // True if the row is an actuator. Its impulse is not part of the joint's reaction.
  bool effort;
  // C (velocity per impulse) and b (velocity) of compliant rows in stage 1. For a ground friction
  // row across the motion, C of the stage of this row.
  double compliance, bias;
} S2RattleTerm;

typedef struct S2RattleRows { // all rows at given poses, computed by s2_rattle_measure
  double *value, *rate;       // rate: time derivative of the value at fixed poses
  S2RowSides *side;
  S2Touch *touch; // contact manifolds, with the points that have rows
} S2RattleRows;

// The result of stage 2 without the rows of limits that close with restitution. It contains the
// speeds at which these limits close.
typedef struct S2RattleArrival {
  bool any;
  double *v, *k; // v: 3 per node, k: per row; both NULL if no limit has restitution
  double *back;  // per row, rad/s or m/s: arrival speed times restitution, 0 if there is no rebound
  S2RattleState *state;
} S2RattleArrival;

typedef struct S2Rattle {
  S2Step *step;
  S2Island *island;
  const S2LawFrame *frame; // poses and velocities at the start of the substep.
  // s: length of the piece, and its start as a time since the start of the substep
  double h, done;
  int rows, nodes;
  int touches;                      // number of touches that have points with rows
  int grounds;                      // number of joints of the ground friction kind
  int32_t *touch;                   // indices of touches in the step
  S2RattleTerm *term;               // bilateral rows, bounded rows, limits, contacts
  int32_t (*row_of)[S2_JOINT_ROWS]; // per joint of the island: indices of its terms, or S2_NONE
  double *inertial, *damping;       // 3 per node: I, m, m; I, m, m times the damping rates
  double *q0, *q1;                  // 3 per slot: poses of nodes and of the ground bodies of joints
  double *v0, *u, *v1;              // 3 per node
  double *l, *k;                    // per row, N s
  double *kept; // S2_JOINT_ROWS per joint of the island: impulses of the last piece (N s), or NULL
  // Per row: true if it is late. Limits and soft contacts that are open at the start are late, and
  // so are rigid contacts with a gap. Stage 1 pushes along J1 for late rows.
  bool *late;
  // `point` is the current contact point of a gap row in stage 1. `pushed` is the point of a late
  // row from which the velocities were computed, and at which the impulse is logged.
  S2TouchPoint *point, *pushed;
  S2RattleState *first, *second; // per row: states of the active set in stages 1 and 2
  S2RattleArrival arrival;
  // The matrix pattern of the last set of held rows, and the indices of these rows. Both stages of
  // a piece share them.
  S2Bilateral matrix;
  bool patterned;
  int pattern_rows;
  int32_t *pattern_of;
  S2RattleRows at0, at1; // rows at q0, q1
  double *force;         // 3 per node: f of the stage
  double *slope;         // 3 per node: additional damping by force laws, kg/s
  bool laws_held;        // true if force laws did not agree with u and are evaluated at v0 instead
  double tolerance;      // tolerance of scaled residuals
  double speed;          // V, the velocity scale of these residuals, m/s.
  // Position errors in m: the rounding error, the error at which Newton's method ends, and the
  // error beyond which q0 is projected. Larger errors mean that the program has moved bodies.
  double rounding, enough, placed;
  S2Residual worst; // the worst residual over all stages of the step.
  // The passes of s2_rattle_place, for the derivative. For each pass: the poses before it (3 per
  // node), then for each row 1 if it was held, else 0. NULL if not requested. `shortened`: true if
  // a pass was shortened. Such a pass has no derivative.
  double *placing;
  int placings;
  bool shortened;
  bool rests; // true if the island stays at rest in this piece.
  // True if limits that are open at the start have no impulse in stage 1. The piece then ends when
  // the first of them closes.
  bool frees;
  bool again;    // true if the piece is solved again with another length
  bool looks;    // true if only stage 1 is solved
  double *guess; // N s: initial guess of l for a repeated solve.
  // True if contacts that are open at the start also have rows, but only in stage 1. They keep
  // their approach velocity, and the next step begins with their impact.
  bool ahead;
  int met; // row of the limit that closes, or S2_NONE
  // The row of a limit that closes at the end of this piece, whose length was searched for it, or
  // S2_NONE. It is closed in stage 2 even if rounding errors leave it open.
  int closes;
  // Derivative of that limit's value with respect to the length of the piece. Only computed if
  // notes are recorded.
  double rises;
  double last; // s: length of the previous piece
} S2Rattle;

// Warns about islands that this flow did not solve, unless the step has another warning. Call this
// at the end of a step.
void s2_rattle_warn_of_unsolved(const S2Step *step);
// Returns true if the flow supports islands with this joint. The result depends only on the joint's
// definition.
bool s2_joint_rattles(const S2World *world, const S2Joint *joint);

// Returns true if the flow supports the island. This requires that all its joints are supported and
// that it has no touches.
bool s2_island_rattles(const S2Step *step, S2Island *island);
// Advances the island over the substep, in pieces. Sets v1 = (q1 - q0)/dt, q1, v2, impulses and
// reactions. Sets *done to false if even the shortest allowed pieces are too long. Only the
// statistics then change, and the step counts as unsolved. `frame`: the start of the substep.
// Returns false if aborted. (rattle.c)
bool s2_island_rattle(S2Step *step, S2Island *island, const S2LawFrame *frame, bool *done);

// Number of values that audits receive for each joint and piece. These are 3 impulses of each stage
// and S2AuditWork.paced.
enum { S2_RATTLE_HALVES = 7 };

// The result of one piece of event stepping (schemes/event.c) from q0 and v0 of the step.
typedef struct S2RattleFlow {
  // Set by the caller: the island in flat arrays (small/small.h), or NULL if it does not fit.
  struct S2Small *small;
  double *u, *v1; // 3 per slot: u = (q1 - q0)/h; v1: velocities at the end
  double *halves; // S2_RATTLE_HALVES per joint of the island.
  // Per touch of the island: impulses l of stage 1, and impulses k of stage 2 at q1.
  S2Touch *first, *second;
  S2Residual residual;
  int solves;
  bool frees; // set by the caller: true if pieces end when limits close
  bool ahead; // set by the caller: true if open points also have rows
  // s: the time at which a limit closes and the piece must end, or infinite
  double met;
  double closes_at; // s: the last time at which a limit closed; `closes` is the row of that limit
  int closes;
  bool failed; // true if a piece was not solved since the caller cleared this flag
  // `solved`: there is a solution and no body turns too far. `rests`: no body moves.
  bool solved, rests;
} S2RattleFlow;
S2RattleFlow s2_rattle_new_flow(const S2Step *step, const S2Island *island);
// Returns true if the flow supports the island with its contacts. The result depends only on the
// definition of the island.
bool s2_island_rattles_on(const S2Step *step, const S2Island *island);
// Returns true if s2_island_rattles or s2_island_rattles_on is true and the scheme shortens pieces
// of this flow until they are solved.
bool s2_island_takes_pieces(const S2Step *step, S2Island *island);
// Solves the piece of length h, with rows for the chosen points (index 2 touch + k). Writes the
// impulses to the step and its touches. `last`: true to accept any rotation. Returns false if
// aborted.
bool s2_rattle_flow(S2Step *step, S2Island *island, const S2Choice *choices,
                    const S2LawFrame *frame, double h, bool last, S2RattleFlow *flow);
// Records the worst residual of both stages. If it exceeds the tolerance, counts the step as
// unsolved and adds a warning. (rattle_keep.c)
void s2_rattle_certify(S2Step *step, const S2Island *island, const S2Residual *residual);
void s2_rattle_miss(S2Step *step); // counts the step as unsolved, without a warning.
// Accepts the piece. Logs its impulses and records its residuals and its motion. (rattle_keep.c)
void s2_rattle_keep_flow(S2Step *step, const S2Island *island, double end, double h,
                         const S2RattleFlow *flow);

// The record of a piece, stored in one array for the derivative. The array begins with 5 numbers.
// Each of the following quantities has 3 numbers per node or 1 number per row. The arrival data are
// stored only if a limit has restitution.
typedef struct S2RattleRecord {
  double h, done; // s
  int met;        // as in S2Rattle
  double rises;
  const double *q0, *v0, *u, *v1; // 3 per node
  const double *l, *k;            // N s
  const double *first, *second;   // S2RattleState
  const double *arrival;          // v, k, back and states, or NULL if no limit arrives
} S2RattleRecord;
// Maximum number of passes of s2_rattle_place.
enum { S2_RATTLE_PLACINGS = 20 };
static inline int s2_rattle_record_size(int nodes, int rows, bool rebounds) {
  return 5 + 12 * nodes + 4 * rows + (rebounds ? 3 * nodes + 3 * rows : 0);
}
// Functions in rattle_record.c.
// Returns true if a limit of the island has restitution.
bool s2_island_rebounds(const S2Step *step, const S2Island *island);
S2RattleArrival s2_rattle_new_arrival(const S2Step *step, const S2Island *island, int rows);
void s2_rattle_record_piece(const S2Rattle *rattle, double *to);
// Writes a record without arrival data.
void s2_rattle_write_record(const S2RattleRecord *from, int nodes, int rows, double *to);
S2RattleRecord s2_rattle_record(const double *piece, int nodes, int rows);
// Restores the impulses and states of the piece from its record.
void s2_rattle_recall(S2Rattle *rattle, const S2RattleRecord *record);
// Restores a recorded piece for the derivative, with its terms and its rows at both ends. `choices`
// has 2 entries per touch, or is NULL if there are no contacts.
S2Rattle s2_rattle_again(S2Step *step, S2Island *island, const S2LawFrame *frame,
                         const S2RattleRecord *record, const S2Choice *choices);

// Functions in rattle_rows.c.
// Creates the terms of the island and its rows at q0, and sets the initial guess of l.
void s2_rattle_make_terms(S2Rattle *rattle);
// Computes the rows at poses q (3 per slot), `elapsed` seconds after the current state of the
// world.
void s2_rattle_measure(const S2Rattle *rattle, const double *q, double elapsed,
                       const S2RattleRows *rows);
// Computes C and b at the end of the piece, for the compliant rows of stage 2 that use implicit
// Euler. `mix` receives the combinations of each row and may be NULL.
void s2_rattle_soften_end(const S2Rattle *rattle, const S2RattleRows *rows, double *compliance,
                          double *bias, double (*mix)[S2_JOINT_EQUATIONS]);
// Returns an upper bound of the mobility of a joint along a linear row (1/kg) or of its angle, in
// 1/(kg m^2). The bound does not depend on poses.
double s2_rattle_mobility(const S2World *world, const S2Joint *joint, bool angular);
// Returns the impulse (N s) of row r in step->joint_impulse, which is the sum of both stages. For
// ground friction, this is the component along a world axis.
double s2_rattle_impulse(const S2Rattle *rattle, int r);
// Returns the row of a term in a problem. The caller sets the bounds.
S2Row s2_rattle_row(const S2Rattle *rattle, int term, const S2RowSides *side);
// Adds the effect of an impulse along a row to the joint's reaction, which has 3 components and
// acts on the joint's first body. `arm` is the lever arm of the joint's anchor.
void s2_rattle_push(const S2RowSides *side, S2Vec2 arm, double impulse, double *reaction);
typedef struct S2RattleSums { // sums over the pieces of a step
  double *impulse;            // S2_JOINT_ROWS per joint of the island
  double *reaction;           // 3 per joint of the island
} S2RattleSums;
// Functions in rattle_keep.c for islands on which only joints act.
// The first function passes each piece to audits. The second copies the final state of the last
// piece and the sums of impulses to the step.
void s2_rattle_show_piece(const S2Rattle *rattle);
void s2_rattle_keep_end(const S2Rattle *rattle, const S2RattleSums *sums);
// Adds the impulses of both stages to the sums. If `halves` is not NULL, it receives
// S2_RATTLE_HALVES numbers per joint. Otherwise audits record them.
void s2_rattle_add_impulses(const S2Rattle *rattle, const S2RattleSums *sums, double *halves);
// Returns the largest final error (m) of rigid hinges, as in s2_joint_violation(). Returns NAN if
// the island has other joints or rows.
double s2_rattle_pins_error(const S2Rattle *rattle);
static inline const S2Joint *s2_rattle_joint(const S2Rattle *rattle, const S2RattleTerm *term) {
  return &rattle->step->world->joints.at[rattle->island->joint[term->place]];
}
static inline bool s2_rattle_of_contact(const S2RattleTerm *term) {
  return term->source == S2_RATTLE_OF_GAP || term->source == S2_RATTLE_OF_SLIP;
}
// Returns true if a nonzero value of the row is a position error. (rattle_place.c)
static inline bool s2_rattle_has_place(const S2RattleTerm *term) {
  return !term->changes && term->law != S2_RATTLE_FRICTION;
}
// Returns the normal row of the contact to which row r belongs, or r itself if it is not a friction
// row.
static inline int s2_rattle_normal(const S2Rattle *rattle, int r) {
  while (rattle->term[r].source == S2_RATTLE_OF_SLIP) {
    r -= 1;
  }
  return r;
}
// Returns true if the row is compliant and uses the trapezoidal rule. The impulse of such a row is
// known in stage 2.
static inline bool s2_rattle_halved(const S2RattleTerm *term) {
  return term->soft && term->trapezoid;
}
// In stage 2, the unknown of an equation or a compliant joint row is k. The unknown of any other
// row is the sum l + k.
static inline bool s2_rattle_sums(const S2RattleTerm *term) {
  return term->law != S2_RATTLE_EQUATION && (!term->soft || term->source == S2_RATTLE_OF_GAP);
}
// Returns the reference value of row r in stage 1. A compliant contact that is open at the start is
// measured from the surface.
static inline double s2_rattle_from(const S2Rattle *rattle, int r) {
  const S2RattleTerm *term = &rattle->term[r];
  double value = rattle->at0.value[r];
  bool open = term->source == S2_RATTLE_OF_GAP && value > 0;
  return term->changes && !open ? value : 0;
}
// The two bodies of a term.
static inline void s2_rattle_bodies(const S2Rattle *rattle, const S2RattleTerm *term,
                                    int32_t slot[2]) {
  bool contact = s2_rattle_of_contact(term);
  const S2Touch *touch = contact ? &rattle->at0.touch[term->place] : NULL;
  const S2Joint *joint = contact ? NULL : s2_rattle_joint(rattle, term);
  slot[0] = contact ? touch->body_a : joint->a;
  slot[1] = contact ? touch->body_b : joint->b;
}
// Returns true if the piece ends the step.
static inline bool s2_rattle_ends_step(const S2Rattle *rattle) {
  return rattle->done + rattle->h >= rattle->step->dt * (1 - 1e-9);
}
// Velocities of ground bodies at the end of the piece, 3 per slot. These are the prescribed final
// velocities if the piece ends the step, otherwise the mean velocities.
static inline const double *s2_rattle_ground_end(const S2Rattle *rattle) {
  return s2_rattle_ends_step(rattle) ? rattle->step->given_end : rattle->step->free_v;
}
// Returns true if the row measures an angle.
static inline bool s2_rattle_turns(const S2RowSides *side) {
  return side->a[1] == 0 && side->a[2] == 0 && side->b[1] == 0 && side->b[2] == 0;
}

// Functions in rattle_contact.c.
// Selects the contact points of the island that get rows.
void s2_rattle_choose(S2Rattle *rattle, const S2Choice *choices);
// Appends the terms of contacts to the terms of joints, with initial guesses.
void s2_rattle_add_contacts(S2Rattle *rattle);
// Sets C and b of compliant contacts in stage 1 from the state at the start of the piece.
void s2_rattle_soften_contacts(const S2Rattle *rattle);
// Returns true if viscous friction row r acts. It acts if the surfaces touch at the start of the
// piece.
bool s2_rattle_drags(const S2Rattle *rattle, int r);
// Computes C and b of row r at the end of the piece, for stage 2 with implicit Euler.
void s2_rattle_soften_contact_end(const S2Rattle *rattle, int r, double *compliance, double *bias);
// Computes values and sides of contact rows at poses q (3 per slot).
void s2_rattle_measure_contacts(const S2Rattle *rattle, const double *q, const S2RattleRows *rows);
// Returns the sliding speed of friction row r in stage 1, at the velocities v of the nodes. The
// direction is the mean of both ends of the piece, or the final direction if the row is late.
double s2_rattle_slip(const S2Rattle *rattle, int r, const double *v);
// Returns true if row r belongs to a rigid contact that was open at the start (`ahead`).
bool s2_rattle_awaits(const S2Rattle *rattle, int r);
// Returns the change of the lever arms (m) of contact row r in the piece. If a body rolls on a
// nearly flat side, its lever arm moves along that side, and stage 1 has a second, distant
// solution.
double s2_rattle_arm_runs(const S2Rattle *rattle, int r);
// Returns true if the contact or limit of row r is closed in stage 2.
bool s2_rattle_closed(const S2Rattle *rattle, int r);
// Copies the impulses of the piece to the flow, and their sums to the touches of the step.
void s2_rattle_keep_contacts(const S2Rattle *rattle, S2RattleFlow *flow);

// Friction between bodies and the ground plane, in a world seen from above. (rattle_ground.c) The
// force is bounded by a disc. There is a row for the torque. Each stage has a row for the force
// along the motion and a row for the force across it, those of stage 2 first.
enum { S2_GROUND_TORQUE, S2_GROUND_SECOND, S2_GROUND_FIRST = S2_GROUND_SECOND + 2 };
// Returns true if the term is a row of the other stage only. `second` is true in stage 2.
static inline bool s2_rattle_other_stage(const S2RattleTerm *term, bool second) {
  bool force = term->source == S2_RATTLE_OF_GROUND && term->index != S2_GROUND_TORQUE;
  return force && (term->index >= S2_GROUND_FIRST) == second;
}
// Creates the rows of the joint at `place`, with the force along the axes. Returns the number of
// rows, at most S2_JOINT_ROWS.
int s2_rattle_ground_terms(const S2Rattle *rattle, int place, S2RattleTerm *terms);
// Sets the initial directions, and the initial guesses from impulses along the axes.
void s2_rattle_guess_ground(S2Rattle *rattle);
// Sets the directions of the rows of both stages from their solutions.
void s2_rattle_set_grounds(S2Rattle *rattle);
// Returns the impulse (N s) of joint `place` of the island along the x axis (0) or the y axis (1).
double s2_rattle_ground_impulse(const S2Rattle *rattle, int place, int axis);
// s2_rattle_repeat_grounds is called before stage 2. It gives bodies that slide in stage 1 the same
// impulse in stage 2. s2_rattle_grounds_turn_back is called after stage 2. It returns true if that
// impulse reverses a body. The impulse of such a body is then no longer repeated, and stage 2 must
// be solved again.
void s2_rattle_repeat_grounds(S2Rattle *rattle);
bool s2_rattle_grounds_turn_back(S2Rattle *rattle);
void s2_rattle_find_repeated(S2Rattle *rattle); // finds bodies that repeat their impulse
// Returns true if the guessed ground friction forces of stage 1 are within their discs.
bool s2_rattle_ground_holds(const S2Rattle *rattle);

// Returns the speed along a row at the velocities v (3 per node), and the mobility of the row. The
// mobility is the change of the speed per unit impulse, in 1/kg or 1/(kg m^2).
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

// Functions in rattle_stage.c.
// The first two solve stage 1 or stage 2 from a guess of its impulses and states. They return false
// if they find no solution.
bool s2_rattle_first(S2Rattle *rattle);
bool s2_rattle_second(S2Rattle *rattle);
// Returns the speed (m/s or rad/s) along row r that moving ground and driven locks cause at the end
// of the piece. It does not include the row's own rate.
double s2_rattle_given_speed(const S2Rattle *rattle, int r);
// Returns the component of a driven lock that row r constrains. Returns S2_NONE unless the final
// rate of this component differs from its mean rate.
int s2_rattle_lock_of(const S2Rattle *rattle, int r);
// Returns true if bodies at rest and the guessed impulses satisfy stage 1. The impulses are
// corrected if springs amplify the rounding errors of positions.
bool s2_rattle_rests(S2Rattle *rattle);

// These functions return true if the piece is too long. (rattle_turns.c) s2_rattle_turns_too_far
// checks how far bodies and rows turn in stage 1. s2_rattle_loads_turn checks how fast the forces
// of stage 1 turn.
bool s2_rattle_turns_too_far(const S2Rattle *rattle);
// Returns the part (rad) of the rotation `turn` of a node that affects its rows.
double s2_rattle_seen_turn(const S2Rattle *rattle, int node, double turn);
bool s2_rattle_loads_turn(const S2Rattle *rattle);
// Returns true if turning contact rows and closing contacts add more energy than S2_RATTLE_SWAY
// permits. Without contacts, checks the energy that turning joint rows add or remove.
bool s2_rattle_rows_bring(const S2Rattle *rattle);

// Returns the smallest final value of the limits that were open at the start, and its row.
// (rattle_meet.c)
double s2_rattle_least_limit(const S2Rattle *rattle, int *row);
// A root search for the length of a piece at which the smallest limit value is 0. This value is
// positive at the shorter bound and not positive at the longer bound. (schemes/strike.c searches
// for a fraction of the restitution with it.)
typedef struct S2RattleMeeting {
  double lo, hi, at_lo, at_hi; // lengths in s, and the values there
  double out, at_out;          // the bound of the bracket that was replaced last
  bool left;                   // true if a bound has been replaced
  int passes;
  bool slow; // true if the last pass made little progress
} S2RattleMeeting;
// Returns the next length to try, or 0 if no length is better than `hi`.
double s2_rattle_next_length(S2RattleMeeting *meeting);
void s2_rattle_narrow(S2RattleMeeting *meeting, double h, double value);

// If the program has moved bodies so that they violate joints or limits, projects q0, updates the
// rows and returns true. (rattle_place.c)
bool s2_rattle_place(S2Rattle *rattle);

#endif
