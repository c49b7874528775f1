// Private to core/dynamics: the storage of a world.
//
// State is a structure of arrays: q, v and f hold three numbers for each body slot (angle, x, y),
// so the vectors of the formulas are the storage. All data that determine the future of a world are
// in arrays of plain values without pointers, so a snapshot is a copy of the arrays.
#ifndef S2_WORLD_H
#define S2_WORLD_H

#include "base/array.h"
#include "base/line.h"
#include "collide/collide.h"
#include "dynamics/annotation.h"
#include "dynamics/control/control.h"
#include "dynamics/dynamics.h"

#include <math.h>

// ---- Tolerances and limits --------------------------------------------------------------------

// Contacts closer than this fraction of a body's size count as touching. This fraction is far above
// the rounding of a gap (1e-16 relative) and far below any visible gap.
#define S2_TOUCH_SLOP 1e-9
// A fraction of a body's size. Between bodies that move by at most this in a step, an open gap of
// at most this counts as closed. A solve with the tolerance 1e-9 leaves errors of a tenth of this
// in the gaps.
#define S2_REST_GAP 1e-10
// Projection corrects overlaps and joint errors beyond this fraction of a body's size.
#define S2_PROJECTION_TRIGGER 1e-9
// Projection ends when errors are below this fraction. (The steps of projection are Newton steps,
// so the next step would only change rounding.)
#define S2_PROJECTION_TOLERANCE 1e-11
// Far from the origin, projection ends at this fraction of the coordinates, because rounding is
// larger there. (Anchors are sums of two rounded numbers, and errors are differences of two
// anchors.)
#define S2_PROJECTION_ROUNDING 1e-15
// Largest number of Newton steps of a projection. A joint needs 2 or 3; jammed piles may need more.
// The next time step corrects the remainder.
#define S2_PROJECTION_PASSES 20
// rad: largest turn of one projection pass, so that linearised rotations stay meaningful.
#define S2_PROJECTION_TURN 0.3
// If a pass does not halve the error, the cost of turning relative to moving is multiplied by this.
// Otherwise a light body wedged at an angle would turn back and forth between two faces.
#define S2_PROJECTION_STIFFER 8.0
// Passes of SHAKE, which pushes along the joints' rows at the start of the step and corrects
// velocities. Each pass multiplies the error by about the turn of the step (in rad).
#define S2_SHAKE_PASSES 3
// Number of such passes if they share a factorisation, so that they are cheap.
#define S2_SHAKE_DIRECT_PASSES 12
// Joint errors beyond this fraction of a body's size that projection cannot remove are reported,
// because the joints contradict each other.
#define S2_MISFIT 1e-3
// If a step begins with a joint error beyond this fraction of a body's size (the program moved
// bodies, or a pile is jammed), projection has no feedback to velocities. Projection itself leaves
// errors of 1e-11.
#define S2_FEEDBACK_START 1e-6
// rad: if no body turns by more than this in a step, the feedback of projection to velocities needs
// no additional check of the energy.
#define S2_FEEDBACK_TURN 0.1
// Fraction of the energy of an island that rounding of the angular momentum may add in a step.
#define S2_SPIN_ROUNDING 1e-13
// An approach slower than this many solver tolerances (times the velocity scale) is an error of the
// last solve, not an approach.
#define S2_REST_TOLERANCES 10
// Smallest speed scale of an island, as a fraction of the speed of its ground, because relative
// velocities are rounded by 1e-16 of that speed.
#define S2_FRAME_ROUNDING 1e-4
// Largest number of searches for contacts in one step. One search is always made, and one more each
// time an impact moves a body farther than predicted. More than 4 have not been observed.
#define S2_REACH_PASSES 8
// Largest number of solves of an island whose fast contacts miss each other.
#define S2_RELINEARISE_PASSES 6
// Islands with more touches than this are solved by attempts if there is an alternative. If the
// solver's flow finds no solution within the given number of factorisations, the old rows stay, or
// only half of the step is made. Smaller islands are solved in microseconds. Keeping old rows costs
// nothing, so attempts with this alternative are shorter; half steps cost as much as the solves
// that they replace.
#define S2_ATTEMPT_TOUCHES 20
#define S2_ATTEMPT_ROWS    600
#define S2_ATTEMPT_WHOLE   1000
// How often a large island's step (or its remainder) may be halved after a failed attempt. With 2
// or 3, the number of solved steps was not larger, and steps took longer.
#define S2_EVENT_HALVINGS 1
// Largest number of successive impacts within one step; the next one is inelastic. (With a ball
// between two walls, or a stack that is hit, the sequence may be endless.)
#define S2_IMPACT_PASSES 10
// The energy that an impact returns may exceed the energy that contacts took by this fraction,
// because of rounding.
#define S2_KEEP_ROUNDING 1e-12
// Largest number of reflections of one impact; the remainder ends inelastically. n discs in a row
// need up to n passes; contacts with different restitution may continue without end.
#define S2_REFLECTION_PASSES 50
// A fast contact counts as met if the true gap after the step is below this fraction of the body.
#define S2_MISS_TOLERANCE 1e-6
// m: between two anchors that are closer than this, there is no direction.
#define S2_NO_LENGTH 1e-12
// A lock that yields and follows a velocity lags behind its goal by at most this fraction of the
// distance that its bound recovers in one step. With a fraction of 1, the return would need exactly
// the bound, where derivatives jump.
#define S2_LOCK_LAG 0.5
// Limits have rows in a step if they are closer than this multiple of the distance at the island's
// speed. (A light body may leave a heavy one faster than the island's speed.)
#define S2_LIMIT_REACH 4
// If a contact moved by less than this fraction of a body in a step, it keeps its features.
#define S2_KEEP_FEATURES 1e-3
// In event stepping, contacts at rest that moved by less than this fraction keep their features.
#define S2_AT_REST 1e-10
// (h w)^2 of an oscillation across a joint's force; for a rod, w^2 = tension/(length * mass). From
// this value on, an island is too stiff for forces that keep their directions from the start of a
// step. A single oscillation is stable up to 4, but neighbours add to it.
#define S2_TURNS_TOO_FAST 2.0
// PASSES: the most additional solves of an island whose rows of ground friction prove to be
// misaligned. 1 to 3 suffice, except for jammed bodies. ASKEW: the fraction of the bound that may
// act across these rows. Derivatives have about this relative error, and the force exceeds its
// bound by half the square of this fraction.
#define S2_GROUND_PASSES 16
#define S2_GROUND_ASKEW  1e-6
// bisect: accepted overlap, as a fraction of a body's size (without it, halving might never end);
// and the smallest substep, as a fraction of dt.
#define S2_BISECT_TOLERANCE 1e-6
#define S2_BISECT_SMALLEST  (1.0 / 1024)
// bisect: a rebound may lift bodies by at most this fraction of their kinetic energy. If the lift
// is larger, half of the length is tried.
#define S2_BISECT_PAYS 0.1
// bisect: a remainder of the step below this fraction is rounding (which is about 1e-16).
#define S2_BISECT_ROUNDING 1e-12

// auto: islands with more bodies are stepped speculatively. Splitting a step at a meeting costs a
// solve of the whole island, and the number of meetings grows with the island's size.
#define S2_AUTO_BODIES 8
// auto: in the flow by two stages, islands with up to this many pairs are split at meetings even if
// they have more bodies. With this bound, pours of 9 to 30 bodies take up to 1.5 times as long as
// with projection. With a bound of 60 pairs, pours of 30 boxes take 16 times as long. Without a
// bound, a heap of five jointed dolls takes 4 times as long.
#define S2_AUTO_PAIRS 20
// Largest number of splits of an island's step in event stepping; the remainder is speculative.
#define S2_EVENT_SPLITS 4
// Largest number of splits for islands with joints. Projection of joints moves bodies that have
// met, so they meet again, up to twice.
#define S2_EVENT_JOINTED_SPLITS 12
// Largest number of solves until a flow ends exactly at a meeting. Several are needed because the
// motion depends on its length, through friction, damping and joints.
#define S2_EVENT_REFINEMENTS 8
// Largest number of solves of the search between two times, which is made if the refinements do not
// converge.
#define S2_EVENT_NARROWINGS 40
// Allowed gap at a meeting time, as a fraction of the touching distance.
#define S2_EVENT_MET 1e-5
// If the gap at a meeting time is larger than this fraction, derivatives are flagged, because the
// time is not exact.
#define S2_EVENT_CLOSED 1e-2
// A separating pair may not meet again before this fraction of the remainder of a step.
#define S2_EVENT_LEAVING 1e-6
// Derivatives are flagged as one-sided if the added energy is, with either sign, less than this
// fraction of the sum of its terms.
#define S2_EVENT_LEVEL 1e-6
// An overlap at the end of a flow that is larger than this multiple of the touching distance means
// that a meeting was missed.
#define S2_EVENT_MISSED 10
// A projection that removes an overlap leaves a gap below this fraction of the overlap, because
// surfaces bend and turn. Only another contact can separate the pair further.
#define S2_EVENT_PARTED 1e-2
// Largest number of repeated flows with additional resting points. (Without rows, these points
// would return at once.)
#define S2_EVENT_RETURNS 4
// Largest number of times that the flow of a piece is repeated without the rows that carry no
// impulse at its end.
#define S2_EVENT_RELEASES 2
// Largest number of times that a flow is shortened, each time to the first meeting of the previous
// flow.
#define S2_EVENT_SHORTENED 8
// Largest number of pieces of an island's step that end without a meeting: the rest of the motion
// was not known to be free, or a body would have overlapped another deeply. These pieces do not
// count as splits. For example, a bar that turns by a radian in a step moves in pieces of a tenth
// of a radian.
#define S2_EVENT_CUTS 64
// A piece is not cut to less than this fraction of the remainder of a step.
#define S2_EVENT_SHORTEST 1e-3
// Bodies may overlap by this fraction of the touching distance without having met, like resting
// bodies.
#define S2_EVENT_PRESSED 0.1
// A meeting counts as earlier than the end of a flow if it is earlier by more than this fraction of
// the flow's length.
#define S2_EVENT_EARLY 1e-6
// Times that differ by less than this fraction of the flow's length are equal.
#define S2_EVENT_ROUNDING 1e-13

// ---- Storage ----------------------------------------------------------------------------------

enum { S2_NONE = -1 };

typedef struct S2Body {
  uint32_t serial; // 0: free slot
  bool has_law, has_motion;
// The numbers of fields.def. Mass and inertia are stored as if the body were dynamic; 0: unknown
// (bare segments).
#define S2_BODY_NUMBER(ID, member, default, domain, most, unit, meaning) double member;
#define S2_BODY_MARK(ID, member, type, default, domain, names, meaning)  type member;
#include "dynamics/fields.def"
  double reach;        // m: distance of the farthest point of its shapes from the centre of mass
  int32_t first_shape; // list through S2Piece.next, creation order
  // for a kinematic body with a bound on its force: the slot of its lock; else S2_NONE
  int32_t drive;
  int32_t first_link; // list of its joints through S2Joint.link, youngest first
  char name[S2_NAME_SIZE];
} S2Body;

typedef struct S2Piece { // one convex shape of a body
  int32_t body;          // slot; S2_NONE: free
  int32_t next;
  int32_t first_vertex, count;
  double radius;
  double friction, restitution; // NAN: the body's value
  bool has_previous, has_next;
  bool joined; // whether it adjoins another piece; then its sides follow its vertices (s2_sides)
  S2Vec2 previous, next_vertex;
} S2Piece;

// Size of a joined piece's side, in vertices.
enum { S2_SIDE_VERTICES = sizeof(S2Side) / sizeof(S2Vec2) };

// The rows that a joint may have in a problem: its equations, both limits, motor, friction, servo.
enum {
  S2_JOINT_EQUATIONS = 3,
  S2_JOINT_LO = S2_JOINT_EQUATIONS,
  S2_JOINT_HI,
  S2_JOINT_MOTOR,
  S2_JOINT_DRY,
  S2_JOINT_SERVO,
  S2_JOINT_ROWS
};

// A function of the poses: its value (m or rad), its rate at fixed poses (moving goals), and its
// exact gradient with respect to (angle, x, y) of its bodies.
typedef struct S2JointRow {
  double value, rate;
  double ja[3], jb[3];
  double more[2][3];     // gradient with respect to the bodies S2Joint.more
  double force, tangent; // N, N/m: of a spring with a law, at this value (after s2_spring_ask)
  double speed;          // J v0 + rate at the start of the step (after s2_joint_speeds)
  double bend; // v0' Hess v0: change of the speed by the motion alone (after s2_joint_bends)
} S2JointRow;

// A joint is in the lists of its two bodies; a gear is also in the lists of its two joints, and a
// constraint in the lists of its further bodies. A list links places, S2_JOINT_LINKS * slot +
// which.
enum { S2_LINK_A, S2_LINK_B, S2_LINK_MORE, S2_JOINT_LINKS = S2_LINK_MORE + 2 };

typedef struct S2JointLink {
  int32_t before, after; // places, S2_NONE
} S2JointLink;

typedef struct S2Joint {
  uint32_t serial; // 0: free slot
  S2JointType type;
  bool enabled, broken, collide, has_motor;
  bool driven;              // lock: whether the program gives its rate
  bool locked[3];           // lock: angle, x, y
  int32_t a, b;             // slots; S2_NONE: the world
  int32_t joint_a, joint_b; // gear: slots
  int32_t more[2];          // gear of hinges, constraint: its third and fourth body, S2_NONE
  bool has_law;             // spring
  bool has_spring;          // whether stiffness and damping act on the equation S2JointKind.sprung
  bool has_servo;           // whether a servo holds a goal along the motor's coordinate
  int rows;                 // constraint
  bool velocity_only, unilateral, has_jacobian, has_hessian, has_rate, bounded;
  // constraint: slot of its normal constraint, or S2_NONE; and the serial of that constraint, which
  // may be destroyed
  int32_t coupled;
  uint32_t coupled_serial;
  double stabilization; // as in S2JointDef; NAN: the world's setting
#define S2_JOINT_NUMBER(ID, member, type, array, count) type member array;
#define S2_JOINT_WEIGHTS(ID, member)                    S2JointWeights member;
#include "dynamics/fields.def"
  double break_force;
  S2JointRow last[S2_JOINT_EQUATIONS]; // constraint: its last evaluation
  // N, in the last step: all forces except ground friction and applied forces
  double pushed[2];
  S2JointLink link[S2_JOINT_LINKS];
  int32_t first_link; // list of the gears on it, youngest first
  char name[S2_NAME_SIZE];
} S2Joint;

typedef struct S2TouchPoint {
  S2ManifoldPoint at;                     // at.point is the arm on a
  S2Vec2 arm_b;                           // the contact point relative to the centre of b
  double normal_impulse, tangent_impulse; // N s, of the last (sub-)step
  bool sliding;
  bool closed;  // event stepping: whether it overlapped at the end of its flow without an impulse
  bool pressed; // in notes: whether its normal impulse was above 0
} S2TouchPoint;

typedef struct S2ConstraintMemo { // the last answer of a constraint in this step
  S2World *world;
  bool valid;
  double t, q[S2_JOINT_COLUMNS];
  S2JointRow rows[S2_JOINT_EQUATIONS];
} S2ConstraintMemo;

typedef struct S2Drive { // a lock that the program moves, in the current (sub-)step
  bool valid;
  double start;            // s since the world's present state
  double goal[3], rate[3]; // at the start of the step; mean rate until its end
  double begin[3], end[3]; // the rates at these times
  bool strikes;            // whether an impact at the start is being solved, with the initial rate
  bool place[3];           // whether the goal is a prescribed place, not the result of a velocity
} S2Drive;

// A pair of shapes whose boxes met in the last step, with its contact points.
typedef struct S2Touch {
  int32_t shape_a, shape_b; // a < b; the array is sorted by (a, b)
  int32_t body_a, body_b;   // slots
  uint32_t serial_a, serial_b;
  bool allowed; // the filter's answer
  bool sensor;  // whether one of the two is a sensor
  bool asked;   // whether pre-solve was called in this step
  bool enabled; // pre-solve's answer
  // event stepping: whether it has no points yet, because points at a chain's end belong to the
  // other segment, but may get points as the bodies turn
  bool hidden;
  bool solved; // whether its motion needed a solve in this step (the guess was not the solution)
  bool fresh;  // `solved` of the previous step
  bool on_way; // whether its points belong to a time within the present step
  double friction, restitution, surface_speed;
  double compliance, damping; // m/N, N s/m, for each point; compliance 0: rigid
  double viscosity;           // N s/m, for each point, along the surface
  int count;
  S2TouchPoint points[2];
} S2Touch;

// The impulse at one feature of a pair of shapes in the last step: the sum over impacts and
// substeps, each with the point of its solve. Touches belong to the end of the step, when the
// feature may no longer exist. So reports use this list.
typedef struct S2Acted {
  int32_t shape_a, shape_b, body_a, body_b; // as in S2Touch
  uint32_t serial_a, serial_b;
  uint32_t feature; // S2ManifoldPoint.id
  int32_t next;     // next entry of the same touch while a step collects, or S2_NONE
  bool sliding;     // whether it slid at its last impulse
  bool gone;        // whether it is not a point of the touch at the end of the step
  S2Vec2 point;     // world: place of the feature at the end of the step; and its gap, m
  double gap;
  S2Vec2 normal;                          // from b to a, direction of the impulse
  double normal_impulse, tangent_impulse; // N s on a, along the normal and the left-turned normal
  double press;                           // N s: length of the vector sum of normal impulses
  double angular_a, angular_b; // N m s on a and on b about their centres, by both impulses
  double speed;                // m/s, meeting speed
} S2Acted;

typedef S2_ARRAY(S2Acted) S2ActedList;

static inline S2Vec2 s2_acted_impulse(const S2Acted *acted) { // N s on a
  return s2_add_scaled(s2_scale(acted->normal_impulse, acted->normal), acted->tangent_impulse,
                       s2_left(acted->normal));
}

// Compares an entry with a touch in the order of touches: negative below, 0 equal, positive above.
static inline int s2_acted_compare(const S2Acted *acted, const S2Touch *touch) {
  if (acted->shape_a != touch->shape_a) {
    return acted->shape_a < touch->shape_a ? -1 : 1;
  }
  return acted->shape_b < touch->shape_b ? -1 : acted->shape_b > touch->shape_b;
}

// Two bodies that are near or touch, for their events.
typedef struct S2Couple {
  int32_t lo, hi; // slots, lo < hi; the array is sorted by (lo, hi, sensor)
  uint32_t serial_lo, serial_hi;
  bool sensor;           // whether one of the two is a sensor
  bool flipped;          // whether events name hi first
  bool near, touching;   // whether a begin event was sent and the end event is still to come
  S2Vec2 impulse;        // N s, on the first body of its events, in this touch so far
  double normal_impulse; // N s, along the normals, in this touch so far
} S2Couple;

typedef struct S2Actuator { // dynamics/control
  char name[S2_NAME_SIZE];
  S2ActuatorKind kind;
  bool on_joint, turns, implicit;
  bool warned; // whether a warning was given that its damping is too large for explicit effort
  S2JointId joint;
  S2BodyId body;
  bool fixed;       // direction and `at` are in the body's frame
  S2Vec2 direction; // unit
  S2Vec2 at;
  double lo, hi, delay, kp, kd, most;
} S2Actuator;

typedef struct S2Command { // a command of an actuator, valid from `t` on
  int32_t actuator;
  double t, value;
} S2Command;

typedef struct S2Observation {
  S2BodyId body;
  S2JointId joint; // null: of the body
  int32_t count;
  int32_t field[S2_OBSERVED_FIELDS];
  double noise;
} S2Observation;

typedef struct S2SlotPair { // each pair occurs twice, so that the pairs of a body are consecutive
  int32_t body, other;
  bool by_user; // no_contact; else because of a joint
} S2SlotPair;

// Whether the contact is a spring that pushes, which has no impacts, restitution or projection.
static inline bool s2_touch_soft(const S2Touch *touch) {
  return touch->compliance > 0;
}

enum { S2_VERTEX_CLASSES = 24 }; // vertex blocks of 1, 2, 4, ... 2^23

// The plain values of a world that belong to a snapshot.
typedef struct S2Kept {
  S2WorldDef def;
  double time;
  uint64_t steps;
  int32_t free_body, free_joint, free_piece; // heads of the free lists
  int32_t free_vertices[S2_VERTEX_CLASSES];
  // whether bodies were created or moved since the last step, so that overlaps are searched
  bool fresh;
} S2Kept;

// The state of a world's program (program/program.h).
typedef enum S2ProgramIs {
  S2_PROGRAM_STALE, // the world has changed since its last step
  S2_PROGRAM_WAITS, // it has been stepped once
  S2_PROGRAM_MADE,  // the program is made, or the world does not qualify
} S2ProgramIs;

// An island that a step has left unchanged (rest/rest.h).
typedef struct S2RestIsland {
  int32_t first; // its first slot
  int nodes, touches;
  uint32_t solves;     // number of solves of the step that found it at rest
  bool solved;         // whether a solve did more than confirm the rest, so that it is not at rest
  S2Residual residual; // the largest residual of these solves
} S2RestIsland;

enum {
  S2_REST_GIVEN = 9,  // numbers per slot: force, diagonal of W, pose
  S2_TOUCH_KEPT = 1,  // the touch stays as in the last step
  S2_TOUCH_JOINS = 2, // the touch joined its bodies to one island
};

typedef struct S2Rest {
  uint64_t changes;               // S2World.changes at that time
  double h;                       // s
  S2_ARRAY(S2RestIsland) islands; // sorted by `first`; empty: nothing below is valid
  S2_ARRAY(bool) body;            // per slot: whether it is in one of these islands
  S2_ARRAY(double) given;         // S2_REST_GIVEN per slot, for these bodies
  S2_ARRAY(unsigned char) touch;  // S2_TOUCH_..., in the order of S2World.touches
} S2Rest;

typedef struct S2Threads S2Threads;
typedef struct S2Auditor S2Auditor;

struct S2World {
  S2Kept kept;
  S2_ARRAY(double) q; // 3 per slot
  S2_ARRAY(double) v;
  S2_ARRAY(double) f; // 3 per slot: forces applied by the program, for the next step
  S2_ARRAY(S2Body) bodies;
  S2_LINE(int32_t) order; // living slots in creation order, with ascending serials
  S2_ARRAY(S2Piece) pieces;
  S2_ARRAY(S2Vec2) vertices;
  S2_ARRAY(S2Joint) joints;
  S2_LINE(int32_t) joint_order;
  S2_ARRAY(S2Touch) touches;
  S2ActedList acted;          // sorted by (shape_a, shape_b), then in order of occurrence
  S2_ARRAY(double) corrected; // 3 per slot, of the last step: S2Step.corrected
  S2_ARRAY(S2Couple) couples;
  S2_LINE(S2SlotPair) excluded; // sorted by (body, other)
  S2_ARRAY(S2Actuator) actuators;
  S2_ARRAY(S2Command) commands;
  S2_ARRAY(S2Observation) observations;
  uint64_t noise_seed;
  S2Broadphase *broadphase;

  // Data that are not in a snapshot. Values that each step of a program reads are close together.
  S2_ARRAY(S2Event) events;
  bool impulses_listed; // whether the impulses of `acted` are among the events
  bool contacts_stale;
  S2ProgramIs program_is;
  struct S2Program *program; // NULL: none
  int lanes;                 // most lanes in which it may be stepped; 0: no program
  // number of changes of all data that steps read, except state, forces and impulses
  uint64_t changes;
  struct S2Notes *notes; // notes of the current step, for its derivative; NULL: none (notes.h)
  S2_ARRAY(S2Annotation) annotations;
  char *dump_directory;
  int dumped; // problems dumped in this step
  // whether constraints are called; otherwise their last answer counts
  bool evaluating;
  S2Status refused;                 // error of a constraint or motion
  S2_ARRAY(S2ConstraintMemo) memos; // per joint slot
  S2_ARRAY(S2Drive) drives;         // per joint slot, within a step
  uint32_t next_serial;             // ascending, so an old handle never names a newer object
  bool stepping;
  S2_ARRAY(S2ForceTerm) slopes; // slopes of the force law being called (s2_force_slope)
  S2_ARRAY(double) pushed;      // f before actuators acted, within a step
  bool listed;                  // whether it is among the worlds that are stepped side by side
  bool actuated;                // whether steps apply actuators
  bool missed;                  // whether a solve of the current step missed its tolerance
  bool cut;                     // whether the budget ended a solve
  // whether positions changed since the last update of the broad phase
  bool boxes_stale;
  S2Callbacks callbacks;
  S2Arena arena; // memory of one step
  S2WorldStats stats;
  S2WorldResiduals residuals;
  S2ActedList acting; // `acted` of the current step
  // `acted` of the current attempt or piece, by touch (S2Step.logged)
  S2ActedList log;
  S2ActedList merged;            // scratch
  S2_ARRAY(S2Contact) contacts;  // view made on demand
  uint64_t revision;             // changes counted by s2_world_revised
  char warning[S2_MESSAGE_SIZE]; // text of the warnings of this step
  unsigned char *marked;         // s2_world_mark
  size_t marked_size, marked_capacity;
  unsigned char *before; // the world at the start of a step of several substeps
  size_t before_size, before_capacity;
  void (*parted)(void *user); // NULL, or called between the substeps of a step
  void *parted_user;
  struct S2Fixed *fixed; // shared data of the last notes
  S2Threads *threads;    // threads over islands (schemes/threads.h); NULL: none yet
  void (*free_threads)(S2Threads *threads);
  S2Rest rest;      // islands that the last step left unchanged
  S2Auditor *audit; // audit/audit.h; NULL: steps are not audited
  void (*free_audit)(S2World *world);
};

// ---- Shared among the files of dynamics/ ------------------------------------------------------

S2Status s2_world_idle(const S2World *world); // S2_BUSY inside a step
void s2_annotations_begin_step(S2World *world);
void s2_annotations_end_step(S2World *world);
S2Status s2_body_slot(const S2World *world, S2BodyId body, int32_t *slot);
// Call this when any data that steps read change, except state, forces and impulses.
static inline void s2_world_changed(S2World *world) {
  world->program_is = S2_PROGRAM_STALE;
  world->changes += 1;
}
// Call this when the contents that s2_world_revision covers change.
static inline void s2_world_revised(S2World *world) {
  world->revision++;
  s2_world_changed(world);
}
static inline S2BodyId s2_body_id(const S2World *world, int32_t slot) {
  return slot < 0 ? (S2BodyId){0, 0}
                  : (S2BodyId){(uint32_t)slot + 1, world->bodies.at[slot].serial};
}
// whether the body has a mass, so that forces act on it if it is enabled
static inline bool s2_body_yields(const S2Body *body) {
  return body->type == S2_DYNAMIC || body->drive != S2_NONE;
}
static inline bool s2_body_moves(const S2Body *body) { // whether it is an unknown of the solve
  return s2_body_yields(body) && body->enabled;
}
// "'name'" or "#3": the name of a body in messages.
void s2_body_label(const S2World *world, int32_t slot, char label[S2_NAME_SIZE + 8]);
static inline S2Pose s2_slot_pose(const double *q, int32_t slot) {
  return s2_pose(q[3 * slot], q[3 * slot + 1], q[3 * slot + 2]);
}
// Geometry of a piece; borrowed from the world's vertex array.
S2Shape s2_piece_shape(const S2World *world, const S2Piece *piece);
void s2_body_drop_warm_start(S2World *world, int32_t slot);

// exclude.c: pairs that never touch
bool s2_world_excluded(const S2World *world, int32_t body_a, int32_t body_b);
void s2_world_exclude(S2World *world, int32_t body_a, int32_t body_b, bool by_user);
void s2_world_include(S2World *world, int32_t body_a, int32_t body_b, bool by_user);
// Removes the entries of a body that is destroyed.
void s2_world_include_all(S2World *world, int32_t body);

void s2_joint_destroy_slot(S2World *world, int32_t slot);
// joint.c: creates the lock of a kinematic body that yields, with its present motion.
void s2_body_add_drive(S2World *world, int32_t slot, double max_force, double max_torque);

// The index of a living slot in the order of creation.
int s2_world_body_place(const S2World *world, int32_t slot);
int s2_world_joint_place(const S2World *world, int32_t slot);

// world.c: runs a function that may be called between steps. If memory runs out within the
// function, returns S2_MEMORY, with the world unchanged or in the state after a complete part of
// the work.
S2Status s2_world_within_memory(S2World *world, S2MemoryRun *run, void *user);

// events.c
S2Event *s2_world_event(S2World *world, S2EventType type);
void s2_world_warn(S2World *world, const char *format, ...) __attribute__((format(printf, 2, 3)));

// boxes.c: the broad phase's boxes at the present positions
void s2_world_refresh_boxes(S2World *world);
void s2_world_drop_boxes(S2World *world, int32_t body);

#endif
