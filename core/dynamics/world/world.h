// Private to core/dynamics: the storage of a world.
//
// The state is a structure of arrays: q, v and f contain three numbers for each body slot (angle,
// x, y). They are the vectors of the formulas. All data that determine the future of a world are in
// arrays of plain values without pointers, so a snapshot is a copy of the arrays.
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
// the relative rounding error of a gap (1e-16) and far below any visible gap.
#define S2_TOUCH_SLOP 1e-9
// A distance, as a fraction of a body's size. If two bodies move by at most this distance in a
// step, an open gap of at most this distance counts as closed. A solve with a tolerance of 1e-9
// causes gap errors of a tenth of this distance.
#define S2_REST_GAP 1e-10
// Projection corrects overlaps and joint errors beyond this fraction of a body's size.
#define S2_PROJECTION_TRIGGER 1e-9
// Projection ends when errors are below this fraction of a body's size. (Projection uses Newton
// steps, so the next step would only change rounding errors.)
#define S2_PROJECTION_TOLERANCE 1e-11
// Far from the origin, projection ends at this fraction of the coordinates, because rounding errors
// are larger there. (Anchors are sums of two rounded numbers, and errors are differences of two
// anchors.)
#define S2_PROJECTION_ROUNDING 1e-15
// Maximum number of Newton steps in a projection. A joint needs 2 or 3. Jammed piles may need more.
// The next time step corrects the remainder.
#define S2_PROJECTION_PASSES 20
// rad: maximum rotation in one projection pass. Linearised rotations are not accurate for larger
// angles.
#define S2_PROJECTION_TURN 0.3
// If a pass does not halve the error, the moments of inertia in the mass norm are multiplied by
// this factor. Otherwise a light body wedged at an angle would turn back and forth between two
// faces.
#define S2_PROJECTION_STIFFER 8.0
// Maximum number of SHAKE passes. SHAKE pushes along the joint rows of the start of the step and
// corrects velocities. Each pass multiplies the error by about the rotation in the step (in rad).
#define S2_SHAKE_PASSES 3
// Maximum number of SHAKE passes if they share a factorisation, which makes them cheap.
#define S2_SHAKE_DIRECT_PASSES 12
// If projection cannot remove joint errors beyond this fraction of a body's size, the joints
// contradict each other. Such errors are reported.
#define S2_MISFIT 1e-3
// If a step begins with a joint error beyond this fraction of a body's size, projection does not
// change velocities. Such errors occur if the program moves bodies or if a pile is jammed.
// Projection itself leaves errors of 1e-11.
#define S2_FEEDBACK_START 1e-6
// rad: if no body turns by more than this in a step, the velocity feedback of projection needs no
// additional energy check.
#define S2_FEEDBACK_TURN 0.1
// The fraction of an island's energy that rounding errors of the angular momentum may add in a
// step.
#define S2_SPIN_ROUNDING 1e-13
// Limit for approach speeds that count as errors of the last solve. It is a multiple of the solver
// tolerance times the velocity scale.
#define S2_REST_TOLERANCES 10
// The smallest velocity scale of an island, as a fraction of the speed of its ground. Relative
// velocities have rounding errors of 1e-16 of that speed.
#define S2_FRAME_ROUNDING 1e-4
// Maximum number of contact searches in one step. Each step needs one search, and another search
// each time an impact moves a body farther than predicted. More than 4 have not been observed.
#define S2_REACH_PASSES 8
// Maximum number of repeated solves of an island. A solve is repeated if the constraint rows of
// fast contacts miss the real surfaces.
#define S2_RELINEARISE_PASSES 6
// Islands with more than S2_ATTEMPT_TOUCHES touches are solved by attempts if there is an
// alternative. An attempt fails if the solver's flow finds no solution within the given number of
// factorisations. The step then keeps the old constraint rows (S2_ATTEMPT_ROWS) or is halved
// (S2_ATTEMPT_WHOLE). Attempts with S2_ATTEMPT_ROWS are shorter, because keeping old rows costs
// nothing. Half steps cost as much as the solves that they replace. Smaller islands are solved in
// microseconds.
#define S2_ATTEMPT_TOUCHES 20
#define S2_ATTEMPT_ROWS    600
#define S2_ATTEMPT_WHOLE   1000
// Maximum number of times that the step of a large island is halved after a failed attempt. With 2
// or 3, no more steps were solved, and steps took longer.
#define S2_EVENT_HALVINGS 1
// Maximum number of successive impacts within one step. The next impact is inelastic. (The sequence
// may be endless, for example for a ball between two walls or in a stack that is hit.)
#define S2_IMPACT_PASSES 10
// Because of rounding errors, the energy returned by an impact may exceed the energy absorbed by
// contacts by this fraction.
#define S2_KEEP_ROUNDING 1e-12
// Maximum number of reflections of one impact. The rest of the impact is inelastic. A line of n
// discs needs up to n passes. Contacts with different restitution may cause an endless sequence.
#define S2_REFLECTION_PASSES 50
// A fast contact counts as closed if the true gap after the step is below this fraction of the
// body's size.
#define S2_MISS_TOLERANCE 1e-6
// m: if two anchors are closer than this, the direction between them is undefined.
#define S2_NO_LENGTH 1e-12
// Maximum lag of a lock that has yielded while it followed a velocity. It is a fraction of the
// distance that its bounded force recovers in one step. With a fraction of 1, the lock would need
// exactly its maximum force to return, and derivatives jump at that force.
#define S2_LOCK_LAG 0.5
// A joint limit has a constraint row in a step if it is closer than this multiple of the distance
// travelled at the speed of the island. (A light body may leave a heavy one faster than the speed
// of the island.)
#define S2_LIMIT_REACH 4
// A contact keeps its features if it moved by less than this fraction of a body's size in a step.
#define S2_KEEP_FEATURES 1e-3
// In event stepping, contacts at rest keep their features if they moved by less than this fraction
// of a body's size.
#define S2_AT_REST 1e-10
// Limit of (h w)^2 for an oscillation perpendicular to a joint's force. For a rod, w^2 =
// tension/(length * mass). Above this limit, an island is too stiff for forces that keep their
// directions from the start of a step. A single oscillation is stable up to 4, but neighbours add
// to it.
#define S2_TURNS_TOO_FAST 2.0
// S2_GROUND_PASSES is the maximum number of additional solves if the ground friction rows of an
// island are misaligned. 1 to 3 suffice, except for jammed bodies. S2_GROUND_ASKEW is the fraction
// of the bound that may act across these rows. Derivatives have about this relative error, and the
// force exceeds its bound by half the square of this fraction.
#define S2_GROUND_PASSES 16
#define S2_GROUND_ASKEW  1e-6
// The bisect scheme accepts overlaps up to this fraction of a body's size, and makes no substeps
// below this fraction of dt. Otherwise the halving might never end.
#define S2_BISECT_TOLERANCE 1e-6
#define S2_BISECT_SMALLEST  (1.0 / 1024)
// The bisect scheme halves a substep if rebounds lift bodies so far that the added energy exceeds
// this fraction of the kinetic energy.
#define S2_BISECT_PAYS 0.1
// The bisect scheme treats a remainder of the step below this fraction as a rounding error, which
// is about 1e-16.
#define S2_BISECT_ROUNDING 1e-12

// The auto scheme steps islands with more bodies than this speculatively. Each split of a step at
// an impact time costs a solve of the whole island, and large islands have more impacts.
#define S2_AUTO_BODIES 8
// The auto scheme also splits the step of a larger island at impact times if the island has at most
// this many pairs and the two-stage flow supports it. With this bound, pours of 9 to 30 bodies take
// up to 1.5 times as long as with projection. With a bound of 60 pairs, pours of 30 boxes take 16
// times as long. Without a bound, a heap of five jointed dolls takes 4 times as long.
#define S2_AUTO_PAIRS 20
// Maximum number of splits of an island's step in event stepping. The remainder is speculative.
#define S2_EVENT_SPLITS 4
// Maximum number of splits for islands with joints. Projection of joints moves bodies after their
// impact, so they may collide up to two more times.
#define S2_EVENT_JOINTED_SPLITS 12
// Maximum number of solves to find a substep that ends exactly at an impact time. Several solves
// are needed, because with friction, damping and joints the motion depends on the length of the
// substep.
#define S2_EVENT_REFINEMENTS 8
// Maximum number of solves in the bracketing search, which is used if S2_EVENT_REFINEMENTS solves
// do not find the impact time.
#define S2_EVENT_NARROWINGS 40
// Allowed gap at an impact time, as a fraction of the touching distance.
#define S2_EVENT_MET 1e-5
// If the gap at an impact time exceeds this fraction of the touching distance, the time is not
// exact and derivatives are flagged.
#define S2_EVENT_CLOSED 1e-2
// A separating pair cannot collide again before this fraction of the remainder of a step.
#define S2_EVENT_LEAVING 1e-6
// Derivatives are flagged as one-sided if the terms of the added energy almost cancel: the
// magnitude of their sum is below this fraction of the sum of their magnitudes.
#define S2_EVENT_LEVEL 1e-6
// If bodies overlap by more than this multiple of the touching distance after a flow, the search
// has missed an impact.
#define S2_EVENT_MISSED 10
// Projection of an overlap leaves a gap below this fraction of the overlap, because surfaces are
// curved and turn. A larger gap must have been caused by another contact.
#define S2_EVENT_PARTED 1e-2
// Maximum number of times that a flow is repeated with more resting points. (Without constraint
// rows, these points would collide again immediately.)
#define S2_EVENT_RETURNS 4
// Maximum number of times that a flow is repeated to release constraint rows. Rows are released if
// they carry no impulse at the end of the flow.
#define S2_EVENT_RELEASES 2
// Maximum number of times that a flow is shortened. Each new flow ends at the first impact time of
// the previous one.
#define S2_EVENT_SHORTENED 8
// Maximum number of pieces of an island's step that end without an impact. A step is cut in this
// way if an impact may follow, or if a body would overlap another deeply. These pieces do not count
// as splits. For example, a bar that turns by one radian in a step moves in pieces of a tenth of a
// radian.
#define S2_EVENT_CUTS 64
// Minimum length of a cut piece, as a fraction of the remainder of the step.
#define S2_EVENT_SHORTEST 1e-3
// An overlap of at most this fraction of the touching distance is not an impact. Resting bodies,
// for example, overlap slightly.
#define S2_EVENT_PRESSED 0.1
// An impact time counts as earlier than the end of a flow only if they differ by more than this
// fraction of the flow's length.
#define S2_EVENT_EARLY 1e-6
// Times count as equal if they differ by less than this fraction of the flow's length.
#define S2_EVENT_ROUNDING 1e-13

// ---- Storage ----------------------------------------------------------------------------------

enum { S2_NONE = -1 };

typedef struct S2Body {
  uint32_t serial; // 0: free slot
  bool has_law, has_motion;
// The numbers in fields.def. Mass and inertia are stored as if the body were dynamic. They are 0 if
// unknown (bare segments).
#define S2_BODY_NUMBER(ID, member, default, domain, most, unit, meaning) double member;
#define S2_BODY_MARK(ID, member, type, default, domain, names, meaning)  type member;
#include "dynamics/fields.def"
  double reach;        // m: distance from the centre of mass to the farthest point of the shapes
  int32_t first_shape; // first shape; linked by S2Piece.next in the order of creation.
  // slot of the lock if the body is kinematic with a force bound, else S2_NONE
  int32_t drive;
  int32_t first_link; // first joint of the body; linked by S2Joint.link, newest first
  char name[S2_NAME_SIZE];
} S2Body;

typedef struct S2Piece { // one convex shape of a body
  int32_t body;          // slot; S2_NONE: free
  int32_t next;
  int32_t first_vertex, count;
  double radius;
  double friction, restitution; // NAN to use the value of the body
  bool has_previous, has_next;
  bool joined; // true if adjacent to another piece; the sides (s2_sides) follow its vertices
  S2Vec2 previous, next_vertex;
} S2Piece;

// Size of a side of a joined piece, in units of vertices.
enum { S2_SIDE_VERTICES = sizeof(S2Side) / sizeof(S2Vec2) };

// The constraint rows of a joint: equations, lower and upper limit, motor, dry friction, servo.
enum {
  S2_JOINT_EQUATIONS = 3,
  S2_JOINT_LO = S2_JOINT_EQUATIONS,
  S2_JOINT_HI,
  S2_JOINT_MOTOR,
  S2_JOINT_DRY,
  S2_JOINT_SERVO,
  S2_JOINT_ROWS
};

// A function of the poses, with its value (m or rad), its rate at fixed poses, and its exact
// gradient with respect to (angle, x, y) of the bodies. The rate is nonzero if goals move.
typedef struct S2JointRow {
  double value, rate;
  double ja[3], jb[3];
  double more[2][3];     // gradient with respect to the poses of S2Joint.more
  double force, tangent; // N and N/m of a spring with a law; set by s2_spring_ask
  double speed;          // J v0 + rate at the start of the step; set by s2_joint_speeds
  double bend; // v0' Hess v0, the rate at which motion alone changes the speed (s2_joint_bends)
} S2JointRow;

// A joint is in the lists of its two bodies. A gear is also in the lists of its two joints, and a
// constraint is also in the lists of its additional bodies. Lists link the indices S2_JOINT_LINKS *
// slot + which.
enum { S2_LINK_A, S2_LINK_B, S2_LINK_MORE, S2_JOINT_LINKS = S2_LINK_MORE + 2 };

typedef struct S2JointLink {
  int32_t before, after; // places, S2_NONE
} S2JointLink;

typedef struct S2Joint {
  uint32_t serial; // 0: free slot
  S2JointType type;
  bool enabled, broken, collide, has_motor;
  bool driven;              // lock: whether the program prescribes its motion
  bool locked[3];           // lock: whether angle, x, y are locked
  int32_t a, b;             // slots; S2_NONE for the world
  int32_t joint_a, joint_b; // gear: slots
  int32_t more[2];          // third and fourth body of a gear of hinges or a constraint, or S2_NONE
  bool has_law;             // spring
  bool has_spring;          // true if the equation S2JointKind.sprung has stiffness and damping
  bool has_servo;           // true if a servo acts along the motor's coordinate
  int rows;                 // constraint
  bool velocity_only, unilateral, has_jacobian, has_hessian, has_rate, bounded;
  // Constraint: slot of its normal constraint, or S2_NONE. If the serial differs, the normal
  // constraint was destroyed.
  int32_t coupled;
  uint32_t coupled_serial;
  double stabilization; // as in S2JointDef; NAN to use the world's setting
#define S2_JOINT_NUMBER(ID, member, type, array, count) type member array;
#define S2_JOINT_WEIGHTS(ID, member)                    S2JointWeights member;
#include "dynamics/fields.def"
  double break_force;
  S2JointRow last[S2_JOINT_EQUATIONS]; // constraint: the last evaluation.
  // N: the forces of the last step, except ground friction and applied forces
  double pushed[2];
  S2JointLink link[S2_JOINT_LINKS];
  int32_t first_link; // first gear on this joint, newest first
  char name[S2_NAME_SIZE];
} S2Joint;

typedef struct S2TouchPoint {
  S2ManifoldPoint at;                     // at.point is the lever arm on body a
  S2Vec2 arm_b;                           // contact point relative to the centre of body b
  double normal_impulse, tangent_impulse; // N s: impulses in the last step or substep
  bool sliding;
  bool closed;  // event stepping: whether the point overlapped after the flow without an impulse
  bool pressed; // for derivatives: whether the normal impulse was above 0
} S2TouchPoint;

typedef struct S2ConstraintMemo { // the last result of a constraint in this step
  S2World *world;
  bool valid;
  double t, q[S2_JOINT_COLUMNS];
  S2JointRow rows[S2_JOINT_EQUATIONS];
} S2ConstraintMemo;

// The prescribed motion of a lock in the current step or substep.
typedef struct S2Drive {
  bool valid;
  double start;            // s: time since the current state of the world
  double goal[3], rate[3]; // goal at the start of the step, and mean rate in the step
  double begin[3], end[3]; // the rates at the start and the end of the step
  // True for an impact at the start of the step, which uses the initial rates.
  bool strikes;
  bool place[3]; // true if the goal is a prescribed position, false if it follows from a velocity
} S2Drive;

// A pair of shapes whose boxes overlapped in the last step, with its contact points.
typedef struct S2Touch {
  int32_t shape_a, shape_b; // a < b; the array is sorted by (a, b)
  int32_t body_a, body_b;   // slots
  uint32_t serial_a, serial_b;
  bool allowed; // true if the filter allows the contact
  bool sensor;  // true if one of the two bodies is a sensor
  bool asked;   // true if pre-solve was called in this step
  bool enabled; // true if pre-solve enabled the contact.
  // Event stepping: true if the pair has no points but may still collide in this step. For example,
  // contact points at the corner between two segments of a chain belong to only one of the two.
  bool hidden;
  // True if this step needed a solve, because the guess was not the solution.
  bool solved;
  bool fresh;  // the value of `solved` in the previous step
  bool on_way; // true if the points belong to a time within the current step
  double friction, restitution, surface_speed;
  double compliance, damping; // m/N and N s/m, for each point; rigid if the compliance is 0
  double viscosity;           // N s/m along the surface, for each point
  int count;
  S2TouchPoint points[2];
} S2Touch;

// The impulse at one feature of a pair of shapes, summed over all impacts and substeps of the last
// step. Each impulse acts at the contact point of its solve. Reports read this list instead of
// touches, because a feature may no longer exist at the end of the step.
typedef struct S2Acted {
  int32_t shape_a, shape_b, body_a, body_b; // as in S2Touch
  uint32_t serial_a, serial_b;
  uint32_t feature; // S2ManifoldPoint.id
  int32_t next;     // during a step: the next entry of the same touch, or S2_NONE
  bool sliding;     // true if the contact was sliding at the last impulse
  bool gone;        // true if the feature does not exist at the end of the step
  S2Vec2 point;     // position of the feature at the end of the step
  double gap;       // m: gap of the feature at the end of the step
  S2Vec2 normal;    // from body b to body a, the direction of the impulse
  double normal_impulse, tangent_impulse; // N s on a, along the normal and along s2_left(normal)
  double press;                           // N s: magnitude of the vector sum of normal impulses
  double angular_a, angular_b; // N m s on bodies a and b about their centres, by both impulses
  double speed;                // m/s: impact speed
} S2Acted;

typedef S2_ARRAY(S2Acted) S2ActedList;

static inline S2Vec2 s2_acted_impulse(const S2Acted *acted) { // N s on body a
  return s2_add_scaled(s2_scale(acted->normal_impulse, acted->normal), acted->tangent_impulse,
                       s2_left(acted->normal));
}

// Compares an entry with a touch in the order of touches. Returns a negative number if the entry
// comes first, a positive number if the touch comes first, and 0 if they have the same pair.
static inline int s2_acted_compare(const S2Acted *acted, const S2Touch *touch) {
  if (acted->shape_a != touch->shape_a) {
    return acted->shape_a < touch->shape_a ? -1 : 1;
  }
  return acted->shape_b < touch->shape_b ? -1 : acted->shape_b > touch->shape_b;
}

// Two bodies that are near each other or touch, with the data for their events.
typedef struct S2Couple {
  int32_t lo, hi; // slots, lo < hi; the array is sorted by (lo, hi, sensor)
  uint32_t serial_lo, serial_hi;
  bool sensor;           // true if one of the two bodies is a sensor
  bool flipped;          // true if events name hi first
  bool near, touching;   // true from the begin event to the end event
  S2Vec2 impulse;        // N s: sum since the touch began, on the first body of the events
  double normal_impulse; // N s: sum since the touch began, along the normals
} S2Couple;

typedef struct S2Actuator { // dynamics/control
  char name[S2_NAME_SIZE];
  S2ActuatorKind kind;
  bool on_joint, turns, implicit;
  bool warned; // true if the user was warned that the damping is too large for explicit effort
  S2JointId joint;
  S2BodyId body;
  bool fixed;       // true if direction and `at` are in the frame of the body
  S2Vec2 direction; // unit
  S2Vec2 at;
  double lo, hi, delay, kp, kd, most;
  uint64_t origin[S2_ACTUATOR_NUMBERS]; // S2_ACTUATOR_COMMAND is unused: see S2Command
} S2Actuator;

typedef struct S2Command { // a command of an actuator, valid at and after the time `t`
  int32_t actuator;
  double t, value;
  uint64_t origin; // of the value (s2_actuator_set_origin)
} S2Command;

typedef struct S2Observation {
  S2BodyId body;
  S2JointId joint; // null: observes the body
  int32_t count;
  int32_t field[S2_OBSERVED_FIELDS];
  double noise;
} S2Observation;

typedef struct S2SlotPair { // each pair is stored twice, so the pairs of a body are consecutive
  int32_t body, other;
  bool by_user; // true if excluded by no_contact, false if by a joint
} S2SlotPair;

// Returns true if the contact is compliant. Compliant contacts have no impacts, restitution or
// projection.
static inline bool s2_touch_soft(const S2Touch *touch) {
  return touch->compliance > 0;
}

enum { S2_VERTEX_CLASSES = 24 }; // Vertex blocks have sizes 1, 2, 4, ... 2^23.

// The plain values of a world that belong to a snapshot.
typedef struct S2Kept {
  S2WorldDef def;
  double time;
  uint64_t steps;
  int32_t free_body, free_joint, free_piece; // heads of free lists
  int32_t free_vertices[S2_VERTEX_CLASSES];
  // True if bodies were created or moved since the last step. The next step must then search for
  // overlaps.
  bool fresh;
} S2Kept;

// The state of the program of a world (program/program.h).
typedef enum S2ProgramIs {
  S2_PROGRAM_STALE, // the world has changed since the last step
  S2_PROGRAM_WAITS, // the world has been stepped once without changes
  S2_PROGRAM_MADE,  // the program exists, or the world does not qualify for one
} S2ProgramIs;

// An island that a step left unchanged (rest/rest.h).
typedef struct S2RestIsland {
  int32_t first; // smallest body slot
  int nodes, touches;
  int points;          // number of contact points
  uint32_t solves;     // number of solves in the step that found it at rest
  bool solved;         // true if a solve changed the island, which is then not at rest
  S2Residual residual; // largest residual of these solves
} S2RestIsland;

enum {
  S2_REST_GIVEN = 9,  // numbers per slot: force, diagonal of W and pose
  S2_TOUCH_KEPT = 1,  // the touch is the same as in the last step
  S2_TOUCH_JOINS = 2, // the touch joined its bodies into one island
};

// The impulse that each step adds to a couple of bodies at rest, from one entry of S2World.acted.
typedef struct S2RestGrowth {
  int32_t couple; // index into S2World.couples
  S2Vec2 impulse; // N s, on the first body of the events
  double normal;  // N s
} S2RestGrowth;

typedef S2_ARRAY(int32_t) S2AwakeList; // ascending indices

typedef struct S2Rest {
  uint64_t changes;               // S2World.changes when the step ended
  double h;                       // s
  S2_ARRAY(S2RestIsland) islands; // sorted by `first`; if empty, the members below are invalid
  S2_ARRAY(bool) body;            // per slot: whether the body is in one of these islands
  S2_ARRAY(double) given;         // S2_REST_GIVEN per slot, for bodies in these islands
  S2_ARRAY(unsigned char) touch;  // flags S2_TOUCH_..., in the order of S2World.touches
  // True if the members up to `growth` are valid. They describe the world without these islands,
  // for steps that leave them out (rest/frozen.c).
  bool listed;
  bool boxed;  // true if the broad phase has the boxes that the last step gave to these islands
  bool dozing; // true if the broad phase finds no pairs of bodies in these islands
  S2AwakeList awake_touches, awake_acted, awake_couples; // items of the lists of the world
  double penetration;                                    // m: largest overlap in these islands
  S2_ARRAY(S2RestGrowth) growth; // of the couples in these islands, in their order
  // True if the step kept all islands and left the whole world unchanged, except for its time and
  // the sums of impulses. The members below are valid only then.
  bool whole;
  bool forced;              // true if the program had applied forces
  uint64_t solves;          // sum over the islands
  S2_ARRAY(double) q, v, f; // S2World.q, v and f, with the forces of the step
} S2Rest;

typedef struct S2Threads S2Threads;
typedef struct S2Auditor S2Auditor;

struct S2World {
  S2Kept kept;
  S2_ARRAY(double) q; // 3 per slot
  S2_ARRAY(double) v;
  S2_ARRAY(double) f; // 3 per slot: forces that the program has applied for the next step
  S2_ARRAY(S2Body) bodies;
  S2_LINE(int32_t) order; // slots of existing bodies in the order of creation, by serial
  S2_ARRAY(S2Piece) pieces;
  S2_ARRAY(S2Vec2) vertices;
  S2_ARRAY(S2Joint) joints;
  S2_LINE(int32_t) joint_order;
  S2_ARRAY(S2Touch) touches;
  S2ActedList acted;          // sorted by (shape_a, shape_b), then in order of occurrence
  S2_ARRAY(double) corrected; // 3 per slot: S2Step.corrected of the last step
  S2_ARRAY(S2Couple) couples;
  S2_LINE(S2SlotPair) excluded; // sorted by (body, other)
  S2_ARRAY(S2Actuator) actuators;
  S2_ARRAY(S2Command) commands;
  S2_ARRAY(S2Observation) observations;
  uint64_t noise_seed;
  S2Broadphase *broadphase;

  // Data that are not in a snapshot. Members that every step of a program reads are adjacent.
  S2_ARRAY(S2Event) events;
  bool impulses_listed; // true if `events` contains the impulses of `acted`
  bool contacts_stale;
  S2ProgramIs program_is;
  struct S2Program *program; // NULL: none
  int lanes;                 // maximum number of lanes for stepping, or 0 without a program
  bool plain; // for tests: true if no island is stepped in flat arrays (small/small.h)
  // Number of changes to data that steps read, except state, forces and impulses.
  uint64_t changes;
  struct S2Notes *notes; // notes of the current step for its derivative (notes.h), or NULL
  // NULL, or records the step in place of the notes if the program takes it (recorded.h)
  struct S2Recorder *recorder;
  S2_ARRAY(S2Annotation) annotations;
  char *dump_directory;
  int dumped; // number of problems dumped in this step.
  // True if constraint callbacks are called, false if their last results are used.
  bool evaluating;
  S2Status refused;                 // error of a constraint or motion callback
  S2_ARRAY(S2ConstraintMemo) memos; // per joint slot
  S2_ARRAY(S2Drive) drives;         // per joint slot, within a step
  uint32_t next_serial; // ascending, so that an old handle never refers to a newer object
  bool stepping;
  S2_ARRAY(S2ForceTerm) slopes; // slopes of the force law being called (s2_force_slope)
  S2_ARRAY(double) pushed;      // within a step: f without the forces of actuators
  bool listed;                  // true if several worlds are stepped side by side with this one
  bool actuated;                // true if steps apply actuators
  bool missed;                  // true if a solve of the current step missed its tolerance
  bool cut;                     // true if a solve ended early because of the budget
  // True if positions have changed since the last update of the broad phase.
  bool boxes_stale;
  S2Callbacks callbacks;
  S2Arena arena; // memory of one step
  S2WorldStats stats;
  S2WorldResiduals residuals;
  S2ActedList acting; // `acted` of the current step.
  // Log of the current attempt or piece. S2Step.logged finds the entries of each touch.
  S2ActedList log;
  S2ActedList merged;            // scratch
  S2_ARRAY(S2Contact) contacts;  // list created on demand
  uint64_t revision;             // number of changes counted by s2_world_revised
  char warning[S2_MESSAGE_SIZE]; // text of the warning of this step
  unsigned char *marked;         // s2_world_mark
  size_t marked_size, marked_capacity;
  unsigned char *before; // image of the world at the start of a step with several substeps
  size_t before_size, before_capacity;
  void (*parted)(void *user); // called between the substeps of a step, or NULL
  void *parted_user;
  struct S2Fixed *fixed; // data shared by the last notes
  S2Threads *threads;    // threads over islands (schemes/threads.h), or NULL if not yet created
  void (*free_threads)(S2Threads *threads);
  S2Rest rest;      // islands that the last step left unchanged
  S2Auditor *audit; // see audit/audit.h; NULL if steps are not audited
  void (*free_audit)(S2World *world);
};

// ---- Shared among the files of dynamics/ ------------------------------------------------------

S2Status s2_world_idle(const S2World *world); // returns S2_BUSY inside a step
void s2_annotations_begin_step(S2World *world);
void s2_annotations_end_step(S2World *world);
S2Status s2_body_slot(const S2World *world, S2BodyId body, int32_t *slot);
// Must be called when data that steps read change, except state, forces and impulses.
static inline void s2_world_changed(S2World *world) {
  world->program_is = S2_PROGRAM_STALE;
  world->changes += 1;
}
// Must be called when data covered by s2_world_revision change.
static inline void s2_world_revised(S2World *world) {
  world->revision++;
  s2_world_changed(world);
}
static inline S2BodyId s2_body_id(const S2World *world, int32_t slot) {
  return slot < 0 ? (S2BodyId){0, 0}
                  : (S2BodyId){(uint32_t)slot + 1, world->bodies.at[slot].serial};
}
// Returns true if forces can move the body while it is enabled.
static inline bool s2_body_yields(const S2Body *body) {
  return body->type == S2_DYNAMIC || body->drive != S2_NONE;
}
static inline bool s2_body_moves(const S2Body *body) { // true if the body is an unknown of a solve
  return s2_body_yields(body) && body->enabled;
}
// Writes the label of a body for messages: "'name'" or "#3".
void s2_body_label(const S2World *world, int32_t slot, char label[S2_NAME_SIZE + 8]);
static inline S2Pose s2_slot_pose(const double *q, int32_t slot) {
  return s2_pose(q[3 * slot], q[3 * slot + 1], q[3 * slot + 2]);
}
// Returns the geometry of a piece. It points into the vertex array of the world.
S2Shape s2_piece_shape(const S2World *world, const S2Piece *piece);
void s2_body_drop_warm_start(S2World *world, int32_t slot);

// exclude.c: pairs of bodies that never touch
bool s2_world_excluded(const S2World *world, int32_t body_a, int32_t body_b);
void s2_world_exclude(S2World *world, int32_t body_a, int32_t body_b, bool by_user);
void s2_world_include(S2World *world, int32_t body_a, int32_t body_b, bool by_user);
// Removes the entries of a body that will be destroyed.
void s2_world_include_all(S2World *world, int32_t body);

void s2_joint_destroy_slot(S2World *world, int32_t slot);
// joint.c: creates the lock of a kinematic body that yields, with the current motion of the body.
void s2_body_add_drive(S2World *world, int32_t slot, double max_force, double max_torque);

// Returns the index of an existing body or joint in the order of creation.
int s2_world_body_place(const S2World *world, int32_t slot);
int s2_world_joint_place(const S2World *world, int32_t slot);

// world.c: runs a function that may be called between steps. Returns S2_MEMORY if memory runs out.
// The world is then unchanged, or some parts of the work are complete.
S2Status s2_world_within_memory(S2World *world, S2MemoryRun *run, void *user);

// events.c
S2Event *s2_world_event(S2World *world, S2EventType type);
void s2_world_warn(S2World *world, const char *format, ...) __attribute__((format(printf, 2, 3)));

// boxes.c: update the boxes of the broad phase
void s2_world_refresh_boxes(S2World *world);
void s2_world_drop_boxes(S2World *world, int32_t body);

#endif
