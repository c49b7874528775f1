// Worlds of rigid bodies: the engine's API for programs and for the Lua binding.
//
// A step turns the world into complementarity problems, one for each island, solves them and moves
// the bodies. Units are SI, angles are counter-clockwise, and y points up. A body's position is its
// centre of mass. Handles identify bodies and joints. A handle to a destroyed object causes the
// error S2_STALE, never a crash. A call that fails leaves the world unchanged.
#ifndef S2_DYNAMICS_H
#define S2_DYNAMICS_H

#include "base/status.h"
#include "base/vec.h"
#include "dynamics/fields.h"
#include "mcp/mcp.h"
#include "shape/shape.h"

#include <stddef.h>
#include <stdint.h>

typedef struct S2World S2World;

// The null handle has index 0. A world and its copies never reuse a serial.
typedef struct S2BodyId {
  uint32_t index; // slot + 1
  uint32_t serial;
} S2BodyId;

typedef struct S2JointId {
  uint32_t index;
  uint32_t serial;
} S2JointId;

// ---- World ------------------------------------------------------------------------------------

typedef enum S2Stepping {
  S2_SPECULATIVE,
  S2_BISECT,
  S2_EVENT,
  // Uses S2_EVENT for islands of few bodies, and S2_SPECULATIVE for larger islands and for worlds
  // with settings that event stepping does not support.
  S2_AUTO,
} S2Stepping;

typedef enum S2FlowRule {
  S2_FLOW_PROJECTED, // velocities by implicit Euler, then positions by projection
  S2_FLOW_RATTLE,    // second order if the island allows it: solves positions, then velocities
  S2_FLOW_AUTO,      // S2_FLOW_RATTLE with event stepping, unless a setting excludes it
} S2FlowRule;
// The friction law of contacts. S2_CONVEX is a convex form of Coulomb's law for rigid contacts
// under S2_SPECULATIVE (mcp/problem/convex.h).
typedef enum S2ContactModel { S2_COULOMB, S2_FRICTIONLESS, S2_CONVEX } S2ContactModel;
typedef enum S2Stabilization { // how a step removes joint errors and overlaps
  S2_PROJECTION,               // projects positions until no error remains; velocities by SHAKE
  S2_NO_STABILIZATION,
  S2_BAUMGARTE, // velocities remove a fifth of the error within the step
  S2_PRE,       // projects positions by one linear solve before the step
  S2_POST,      // one linear solve after the step, with rows from its start and errors from its end
  S2_POST_ASSEMBLY, // one linear solve after the step, with newly assembled rows
} S2Stabilization;
// Fraction of a joint error or an overlap that the velocities remove in a step under S2_BAUMGARTE.
// A factor of 1 overshoots for nonlinear constraints. The correction remains in the velocities.
#define S2_BAUMGARTE_FACTOR 0.2

typedef enum S2RestitutionModel {
  S2_NEWTON,      // every contact of an impact leaves with e times its approach speed
  S2_REFLECTIONS, // generalised reflections: impacts propagate through touching bodies
} S2RestitutionModel;
// The unknown of the step problem: v+, (v+ - v_k)/h or v+ - v_k. All give the same trajectory.
typedef enum S2Formulation {
  S2_FORM_VELOCITY,
  S2_FORM_ACCELERATION,
  S2_FORM_VARIATION
} S2Formulation;
// The form of springs and compliant joints in the step problem: rows J v + C' l + b = 0, or
// stiffness in W with the elastic force on the right-hand side. Both give the same trajectory.
typedef enum S2Elasticity { S2_AS_COMPLIANCE, S2_AS_STIFFNESS } S2Elasticity;
// How much of the geometric stiffness of joints W includes: none, all, or the positive part.
typedef enum S2GeometricStiffness {
  S2_GEOMETRIC_OFF,
  S2_GEOMETRIC_ON,
  S2_GEOMETRIC_PSD
} S2GeometricStiffness;
// The derivative that s2_trace_vjp computes (diff/step/trace.h). It does not affect the motion.
typedef enum S2GradientMode {
  S2_GRADIENT_EXACT,  // contacts keep the modes that they had in the step
  S2_GRADIENT_SMOOTH, // velocities on the central path at `smoothing` (mcp/adjoint/mcp_vjp.h)
} S2GradientMode;
typedef enum S2Combine {
  S2_COMBINE_GEOMETRIC, // sqrt(a b)
  S2_COMBINE_AVERAGE,
  S2_COMBINE_MULTIPLY,
  S2_COMBINE_MIN,
  S2_COMBINE_MAX,
} S2Combine;

// fields.def lists the settings with their defaults and domains. The force of a step is alpha times
// the force at its end plus 1 - alpha times the force at its start. Likewise, beta blends the
// velocities that move the positions (docs/stepping-options.md). alpha = beta = 1 is implicit
// Euler; alpha = beta = 1/2 is of second order; beta = 0 requires compliant joints. `tolerance`
// bounds S2Residual.scaled, and `smoothing` is the kappa of S2_GRADIENT_SMOOTH.
typedef struct S2WorldDef {
#define S2_SETTING(member, type, default, domain, names, unit, derivative, meaning) type member;
#define S2_PROGRAM_SETTING(member, type, default, domain, names, unit, derivative, meaning)        \
  type member;
#include "dynamics/fields.def"
} S2WorldDef;

S2WorldDef s2_world_def(void); // the defaults.
// Returns the scheme that `stepping` selects. S2_AUTO resolves to S2_EVENT or S2_SPECULATIVE. Under
// S2_EVENT, large islands step speculatively.
S2Stepping s2_world_way(const S2WorldDef *def);
// Returns true if the settings select the two-stage flow, for islands that allow it.
bool s2_world_rattles(const S2WorldDef *def);
S2Status s2_world_create(const S2WorldDef *def, S2World **world);
void s2_world_destroy(S2World *world);
const S2WorldDef *s2_world_settings(const S2World *world);
// Changes settings of an existing world (gravity, dt, solver, ...). Values are checked.
S2Status s2_world_configure(S2World *world, const S2WorldDef *def);

double s2_world_time(const S2World *world); // s
uint64_t s2_world_step_count(const S2World *world);
// Identifies the contents of a world: bodies, shapes and joints, with their names, types, colours,
// masses and enabled flags. The motion does not change the number. If the number is the same, the
// contents are unchanged. The number is never 0.
uint64_t s2_world_revision(const S2World *world);

// ---- Bodies -----------------------------------------------------------------------------------

typedef enum S2BodyType { S2_DYNAMIC, S2_STATIC, S2_KINEMATIC } S2BodyType;

enum { S2_NAME_SIZE = 48 }; // size of a name in bytes, including the final 0

// m/N: the largest compliance of a contact, 1e-6 N per metre of overlap. For softer contacts, C/h^2
// might overflow.
#define S2_SOFTEST_CONTACT 1e6

typedef struct S2ShapeDef {
  const S2Vec2 *vertices; // m, relative to the body's given position; copied
  int count;
  double radius;                // m
  double friction, restitution; // NAN for the body's value
  double density;               // kg/m^2, NAN for the body's value
  bool has_previous, has_next;  // neighbours in a terrain chain, see S2Shape
  S2Vec2 previous, next;
} S2ShapeDef;

// fields.def adds more members. A kinematic body with bounded force yields: it has mass, but
// gravity does not act on it. A lock (s2_body_drive) then drives its x, y and angle with its
// velocity or motion.
typedef struct S2BodyDef {
  S2Vec2 position; // origin of the shapes; the body's own position is its centre of mass
  double angle;
  S2Vec2 velocity; // m/s, of the centre of mass
  double angular_velocity;
  double density; // kg/m^2; used if mass is NAN
#define S2_BODY_NUMBER(ID, member, default, domain, most, unit, meaning) double member;
#define S2_BODY_BOUND(ID, member, default, domain, most, unit, meaning)  double member;
#define S2_BODY_MARK(ID, member, type, default, domain, names, meaning)  type member;
#include "dynamics/fields.def"
  const char *name;         // at most S2_NAME_SIZE - 1 bytes; "" or NULL for no name
  const S2ShapeDef *shapes; // convex pieces
  int shape_count;
} S2BodyDef;

S2BodyDef s2_body_def(void);
S2Status s2_body_create(S2World *world, const S2BodyDef *def, S2BodyId *body);
S2Status s2_body_destroy(S2World *world, S2BodyId body); // also destroys its joints
bool s2_body_alive(const S2World *world, S2BodyId body);

// Fields of a body. s2_body_set requires a finite value in the field's domain; the error message
// names field, value and domain. Setting a position drops the warm start of the body's contacts.
typedef enum S2BodyField {
  S2_BODY_ANGLE,
  S2_BODY_X,
  S2_BODY_Y,
  S2_BODY_OMEGA,
  S2_BODY_VX,
  S2_BODY_VY,
  S2_BODY_STATE_COUNT, // size of the state; the fields of fields.def follow, in its order
  S2_BODY_BEFORE_FIELDS = S2_BODY_STATE_COUNT - 1,
// The mass and inertia of a body that is not dynamic are infinite and cannot be set.
#define S2_BODY_NUMBER(ID, member, default, domain, most, unit, meaning) S2_BODY_##ID,
#define S2_BODY_BOUND(ID, member, default, domain, most, unit, meaning)  S2_BODY_##ID,
#define S2_BODY_MARK(ID, member, type, default, domain, names, meaning)  S2_BODY_##ID,
#include "dynamics/fields.def"
  S2_BODY_FIELD_COUNT
} S2BodyField;

const S2Field *s2_body_field(S2BodyField field); // state fields; only name and domain
S2Status s2_body_get(const S2World *world, S2BodyId body, S2BodyField field, double *value);
S2Status s2_body_set(S2World *world, S2BodyId body, S2BodyField field, double value);
S2Status s2_body_set_q(S2World *world, S2BodyId body,
                       const double q[3]); // angle, x, y; sets all three or none
S2Status s2_body_set_v(S2World *world, S2BodyId body, const double v[3]);
S2Status s2_body_q(const S2World *world, S2BodyId body, double q[3]);
S2Status s2_body_v(const S2World *world, S2BodyId body, double v[3]);

// All readable values of a body, in one call; `name` is borrowed until the next change.
typedef struct S2BodyInfo {
  S2BodyType type;
  bool sensor, enabled;
  uint32_t color;
  double mass, inertia;
  double q[3], v[3];
  const char *name;
  int shape_count;
} S2BodyInfo;

S2Status s2_body_info(const S2World *world, S2BodyId body, S2BodyInfo *info);

// "" if it has no name. Names need not be unique.
S2Status s2_body_name(const S2World *world, S2BodyId body, const char **name);
S2Status s2_body_set_name(S2World *world, S2BodyId body, const char *name);

// The force acts during the next step only. Several calls add up. `at` is in world coordinates,
// NULL for the centre of mass.
S2Status s2_body_apply_force(S2World *world, S2BodyId body, S2Vec2 force, const S2Vec2 *at);
S2Status s2_body_apply_torque(S2World *world, S2BodyId body, double torque);
// Changes the velocity immediately.
S2Status s2_body_apply_impulse(S2World *world, S2BodyId body, S2Vec2 impulse, const S2Vec2 *at);
// the sum of the forces and torques applied so far
S2Status s2_body_force(const S2World *world, S2BodyId body, double force[3]);
// Requests a call of S2Callbacks.force for this body in every step (S2ForceCall).
S2Status s2_body_set_force_law(S2World *world, S2BodyId body, bool has_law);
// Requests calls of S2Callbacks.motion for this kinematic body.
S2Status s2_body_set_motion(S2World *world, S2BodyId body, bool has_motion);
// Returns the lock that drives a kinematic body, or null if both force bounds are infinite.
S2JointId s2_body_drive(const S2World *world, S2BodyId body);
bool s2_body_has_motion(const S2World *world, S2BodyId body);

// The shapes of a body in creation order. Vertices are in the body frame. Valid until a change.
int s2_body_shape_count(const S2World *world, S2BodyId body); // 0 for a stale handle
S2Status s2_body_shape(const S2World *world, S2BodyId body, int index, S2Shape *shape);

// Existing bodies in creation order. Writes at most `capacity` handles; returns their number.
int s2_world_bodies(const S2World *world, S2BodyId *bodies, int capacity);
S2BodyId s2_world_body(const S2World *world, int index); // {0, 0} if there are fewer.

// Forbids or permits contacts between two bodies. The order of the bodies does not matter.
S2Status s2_world_no_contact(S2World *world, S2BodyId a, S2BodyId b, bool forbidden);

// ---- Joints -----------------------------------------------------------------------------------

typedef enum S2JointType {
#define S2_JOINT_TYPE(ID, name) S2_##ID,
#include "dynamics/joints.def"
  S2_JOINT_TYPE_COUNT
} S2JointType;

// Compliance (m/N, rad/(N m)) or damping (N s/m, N m s/rad) of a joint's rows: either one number
// for lengths and one for angles, or a symmetric positive semidefinite matrix over all rows. A
// hinge has the rows x, y in b's frame, a weld x, y, angle, and a slider across, angle.
typedef struct S2JointWeights {
  double linear, angular;
  int size;         // number of rows of `matrix`; if 0, `linear` and `angular` are used
  double matrix[9]; // row-major; only the first size * size numbers are used
} S2JointWeights;

// The most bodies that a constraint may have, and the most columns of its gradient.
enum { S2_JOINT_BODIES = 4, S2_JOINT_COLUMNS = 3 * S2_JOINT_BODIES };

typedef struct S2JointDef {
  S2JointType type;
  S2BodyId a, b;             // null means the world; b is null for lock and mouse
  S2Vec2 anchor_a, anchor_b; // m, world coordinates; NAN: the centre of mass. anchor_a applies to
                             // both bodies of a hinge, weld, slider or wheel
#define S2_JOINT_KEY(member, type, default, domain, required) type member;
#include "dynamics/fields.def"
  double stiffness;                // spring, mouse, wheel: N/m, >= 0, required
  S2JointId joint_a, joint_b;      // gear
  bool lock_x, lock_y, lock_angle; // lock
  bool driven;                     // lock: S2Callbacks.motion gives its motion
  bool has_law;                    // spring: its force comes from S2Callbacks.spring
  S2Vec2 velocity;                 // lock: m/s
  S2JointWeights compliance;       // zero: rigid; invalid for spring, mouse, wheel, rope
  S2JointWeights damping;          // damping of compliant rows; spring, mouse, wheel: only `linear`
  bool has_limits, has_motor;      // for the coordinate of hinge, slider, spring, wheel
  double limit_lo, limit_hi;       // rad or m; may be infinite
  double motor_speed, motor_max;   // rad/s or m/s; N m or N, >= 0, may be infinite
  double break_force;              // N (or N m for joints without a force), > 0, may be infinite
  S2BodyId more[2];                // constraint: its third and fourth body, or null
  int rows;                        // constraint: 1 to 3; a unilateral constraint has 1
  bool velocity_only;              // constraint: rows are J v + rate = 0 and have no value
  bool unilateral;                 // constraint: value >= 0, or J v + rate >= 0 if velocity_only
  // constraint: true if the callback computes them; otherwise finite differences are used
  bool has_jacobian, has_hessian;
  // true if the callback computes it; otherwise it is 0 (velocity_only) or a difference over dt
  bool has_rate;
  // A bounded constraint has one row. A force between bound_lo and bound_hi (N or N m, finite)
  // enforces J v + rate = 0 as far as it can. With coupled_to, the row is the friction of a
  // unilateral constraint between the same bodies; its bound is `friction` times that constraint's
  // force. In both cases the row has no value.
  bool bounded;
  double bound_lo, bound_hi;
  S2JointId coupled_to;
  // If NAN, the world's setting applies. Otherwise the rows of this joint remove this fraction of
  // its error (0 to 1) in each step, and projections ignore the joint.
  double stabilization;
  bool collide; // true if the two bodies collide (default: false)
  const char *name;
} S2JointDef;

// The defaults of a joint type: no limits, no motor, rigid, unbreakable.
S2JointDef s2_joint_def(S2JointType type);
// Returns S2_INVALID (the message names field, value and domain) or S2_STALE on failure.
S2Status s2_joint_create(S2World *world, const S2JointDef *def, S2JointId *joint);
S2Status s2_joint_destroy(S2World *world, S2JointId joint); // also destroys gears that couple it
bool s2_joint_alive(const S2World *world, S2JointId joint);
const char *s2_joint_type_name(S2JointType type);

// Styles for drawing a joint: the span between its anchors, and the anchors themselves.
typedef enum S2JointSpan {
  S2_SPAN_NONE,
  S2_SPAN_LINE,
  S2_SPAN_FAINT, // the path along the joint's axis
  S2_SPAN_SPRING,
  S2_SPAN_ERROR // anchors of a rigid joint, which should coincide
} S2JointSpan;
typedef enum S2JointDots {
  S2_DOTS_NONE, // the joint has no position
  S2_DOTS_ENDS, // a dot at each anchor
  S2_DOTS_RING, // a ring: the joint allows rotation
  S2_DOTS_FIXED // a mark: the joint does not allow rotation
} S2JointDots;

// The public properties of a joint type.
typedef struct S2JointTraits {
  const char *name;
  // Keys of the Lua constructor, terminated by NULL; or NULL if it has no keys.
  const char *const *keys;
  bool turns; // motor and friction act on an angle
  S2JointSpan span;
  S2JointDots dots;
} S2JointTraits;
const S2JointTraits *s2_joint_traits(S2JointType type);

typedef enum S2JointField { // fields.def
#define S2_JOINT_READING(ID, name, parts)                                  S2_JOINT_##ID,
#define S2_JOINT_FIELD(ID, name, domain, parts, member, derivative, count) S2_JOINT_##ID,
#include "dynamics/fields.def"
  S2_JOINT_FIELD_COUNT
} S2JointField;

const char *s2_joint_field_name(S2JointField field);
// Tests if joints of this type have the field, or if the field can be written.
bool s2_joint_type_has(S2JointType type, S2JointField field);
bool s2_joint_type_sets(S2JointType type, S2JointField field);
S2Status s2_joint_get(const S2World *world, S2JointId joint, S2JointField field, double *value);
S2Status s2_joint_set(S2World *world, S2JointId joint, S2JointField field, double value);
// If the coordinate is outside the new limits, a step moves it to the limit. s2_joint_create
// refuses such limits.
S2Status s2_joint_set_limits(S2World *world, S2JointId joint, double lo, double hi);
// Returns true if the coordinate is within its limits, up to S2_MISFIT times the bodies' size.
bool s2_joint_is_within(const S2World *world, S2JointId joint);
typedef struct S2JointCoordinate {
  S2JointId joint; // a hinge or slider
  double value;    // rad or m
} S2JointCoordinate;
// Moves bodies so that these joints reach these coordinates, without increasing any joint error. In
// each case the lighter side moves, with all attached bodies. Other coordinates keep their values,
// except in closed loops, which keep their assembly mode. Coordinate speeds are kept; the next step
// makes the speeds in a loop consistent. Returns S2_INVALID and moves no body for a joint of
// another type, a value beyond its limits, or a loop that cannot close.
S2Status s2_world_set_coordinates(S2World *world, const S2JointCoordinate *set, int count);
// Sets the speed of a joint's coordinate (hinge, slider, wheel, spring, rope), rad/s or m/s. Adds a
// rigid motion to the bodies on one side. The side is the lighter one, or the one that is not
// attached to the ground. Other coordinates keep their speeds, except in loops, which stay closed.
// Returns S2_INVALID without any change for a joint of another type, or if a loop does not permit
// the speed.
S2Status s2_joint_set_speed(S2World *world, S2JointId joint, double speed);
// Finds the bodies that s2_joint_set_speed moves. `bodies` must have room for all bodies. *of_a is
// true if they are on the side of a. Returns S2_UNAVAILABLE if a loop moves other bodies, too.
S2Status s2_joint_branch(S2World *world, S2JointId joint, S2BodyId *bodies, int *count, bool *of_a);
S2Status s2_joint_set_target(S2World *world, S2JointId joint, S2Vec2 target); // mouse
S2Status s2_joint_set_velocity(S2World *world, S2JointId joint,               // lock
                               const double velocity[3]);                     // angle, x, y

enum { S2_JOINT_WAY = 2 };

typedef struct S2JointInfo {
  S2JointType type;
  S2BodyId a, b, more[2];     // more: other bodies of a gear or constraint, or null
  S2JointId joint_a, joint_b; // gear
  bool enabled, broken, collide;
  bool compliant;            // has compliant rows other than springs
  const char *name;          // borrowed
  S2Vec2 anchor_a, anchor_b; // world coordinates in the present state
  int ways;                  // number of points in `way`, between anchor_a and anchor_b
  S2Vec2 way[S2_JOINT_WAY];
  S2Vec2 axis;            // slider, wheel: unit vector in world coordinates
  S2Vec2 target;          // mouse
  bool driven, has_law;   // lock, spring
  double velocity[3];     // lock: angle, x, y; the mean of the last substep if driven
  S2Vec2 impulse;         // on a, N s, of the last step or part of it, in world axes
  double angular_impulse; // on a, about its anchor, N m s
  S2Vec2 force;           // on a, N: impulse divided by the time over which it acted
  double torque;          // on a, about its anchor, N m
  double angle, speed;    // of a relative to b, rad and rad/s; the angle is 0 at creation
  // m: error of rigid rows and limits (angles times body size); constraints: after the last step
  double error;
} S2JointInfo;

S2Status s2_joint_info(const S2World *world, S2JointId joint, S2JointInfo *info);
// Sets only the type, a, b, the anchors and the axis, in a tenth of the time.
S2Status s2_joint_ends(const S2World *world, S2JointId joint, S2JointInfo *info);
S2JointType s2_joint_type(const S2World *world, S2JointId joint); // the joint must exist
const char *s2_joint_name(const S2World *world, S2JointId joint); // "" if the joint was destroyed
int s2_world_joints(const S2World *world, S2JointId *joints, int capacity); // creation order
S2JointId s2_world_joint(const S2World *world, int index); // {0, 0} if there are fewer

// ---- Stepping ---------------------------------------------------------------------------------

// A pre-solve callback may change friction, restitution, surface_speed and enabled of a contact.
typedef struct S2PreContact {
  S2BodyId a, b;
  S2Vec2 point, normal; // world coordinates; the normal points from b to a
  double gap;           // m
  double friction, restitution;
  double surface_speed; // m/s: surface speed of b relative to a, along the left-turned normal
  bool enabled;         // initially true; set to false to prevent the contact in this step
} S2PreContact;

// Derivatives of a number that a callback returns, with respect to the arguments. The derivative of
// a step uses them (diff/step/trace.h). The order of `by` is, for a constraint: angle, x, y of each
// body, then t at index 12; for a spring: the extension; for a motion: angle, x, y, t, h, then the
// previous velocity.
typedef struct S2Slope {
  double by[S2_JOINT_COLUMNS + 1];
  uint32_t origin; // another source of the number, chosen by the callback, or 0
} S2Slope;

// A call of a constraint's function. Poses are angle (rad), x, y (m). NULL fields are not
// requested. The result may depend only on the arguments, because a step stores it.
typedef struct S2ConstraintCall {
  S2JointId joint;                      // null during s2_joint_create
  int bodies;                           // number of bodies, 1 to 4
  double q[S2_JOINT_BODIES][3];         // poses of a, b and the bodies in S2JointDef.more
  double t;                             // s
  int rows;                             // number of rows of the joint
  double *value;                        // per row: the value g, m or rad
  double (*jacobian)[S2_JOINT_COLUMNS]; // per row: dg/d(angle, x, y) of a, then b, ...
  double *rate;                         // per row: dg/dt at fixed poses, m/s or rad/s
  double (*hessian)[S2_JOINT_COLUMNS][S2_JOINT_COLUMNS]; // per row: second derivatives of g
  // NULL, or one slope per requested number, in the same order; initially zero
  S2Slope *slope;
  // set by the callback if it has filled in `slope`; otherwise the step has no derivative
  bool sloped;
} S2ConstraintCall;

// A call of a spring's law: the pull (N) at an extension beyond the rest length (m), and its
// derivative (N/m). The result may depend only on the extension.
typedef struct S2SpringCall {
  S2JointId joint;
  double extension, force, tangent;
  S2Slope *slope; // NULL, or the slopes of force and tangent
  bool sloped;
} S2SpringCall;

// Derivative of one force component with respect to one state variable that the law has read.
typedef struct S2ForceTerm {
  int number;       // index into S2ForceCall.force
  int32_t slot;     // slot of the body, S2BodyId.index - 1
  S2BodyField part; // S2_BODY_ANGLE to S2_BODY_VY
  double by;
} S2ForceTerm;

// A call of a force law: a continuous function of time and of the state of the world, which the law
// reads with the functions of this header. The force may depend only on these. A step calls the law
// at its start. For freely flying bodies it calls the law at its end, too, until force and velocity
// agree (docs/stepping.md). If bodies collide within the step, it calls the law then, too.
typedef struct S2ForceCall {
  S2BodyId body;
  double t;        // s: time of the state
  double dt;       // s: length of the step or substep
  double force[3]; // N m, N, N: initially 0; add to it.
  // The following members are for the derivative of the step.
  bool wanted; // true if slopes are requested; otherwise the rest is not read
  bool timed;  // true if by_time is requested, too, because t is an impact time
  bool sloped; // set by the callback if it has given slopes; otherwise the step has no derivative
  double by_time[3], by_dt[3];
  uint32_t origin[3]; // see S2Slope
} S2ForceCall;
// Call this within S2Callbacks.force: `by` is the derivative of `force[number]` with respect to
// `part` of the body in `slot`. Several terms add up.
void s2_force_slope(S2World *world, int number, int32_t slot, S2BodyField part, double by);

enum { S2_MOTION_NUMBERS = 9 }; // numbers in v, start and end of S2MotionCall.

// Requests the mean velocity of a kinematic body (s2_body_set_motion) or a driven lock in the
// substep from t to t + h. For a position p(t), return (p(t + h) - q)/h, which is exact at t + h
// and does not drift. A step may call more than once, so the result may depend only on the
// arguments.
typedef struct S2MotionCall {
  S2BodyId body; // exactly one of body and joint is null
  S2JointId joint;
  double t, h;    // s
  double q[3];    // angle (rad), x, y (m) at t: pose of the body, or goal of the lock
  double v[3];    // mean velocity, rad/s, m/s; initially the mean of the last step
  S2Slope *slope; // NULL, or slopes of v; if `ends` is set, then also of start and end
  bool sloped;
  // true requests `start` and `end`, the velocities at t and t + h (S2_FLOW_RATTLE). NAN: use v.
  bool ends;
  double start[3], end[3];
  // Set this if v leads to a prescribed position p(t + h). A lock or a body of bounded force that
  // has yielded then returns there. Otherwise it continues from its present position.
  bool place[3];
} S2MotionCall;

typedef struct S2ProgramCall {
  int program; // the setting `solver_program`
  const S2Problem *problem;
  const S2SolverOptions *options;
  double *lambda;
  int iterations;
  bool found;
} S2ProgramCall;

// Callbacks run within s2_world_step. They change the world only through their results; other
// changes return S2_BUSY. If one returns false, the step is undone and s2_world_step returns
// S2_ABORTED.
typedef struct S2Callbacks {
  void *user;
  // Adds to call->force (torque, fx, fy). Called for each body with a law, in creation order.
  bool (*force)(void *user, S2World *world, S2ForceCall *call);
  // Returns true if two bodies may touch. Called whenever their boxes begin to overlap.
  bool (*filter)(void *user, S2World *world, S2BodyId a, S2BodyId b, bool *collide);
  bool (*pre_solve)(void *user, S2World *world, S2PreContact *contact);
  // Fills in the requested numbers. Without this callback, joints of type S2_CONSTRAINT have no
  // effect. s2_joint_create and s2_world_problem also call it. If a number is not finite, the step
  // fails (S2_INVALID).
  bool (*constraint)(void *user, S2World *world, S2ConstraintCall *call);
  // Fills in call->v. Without this callback, bodies and locks with a motion stand still. Such
  // bodies also stand still in s2_world_solve_static, which fails if there is a driven lock.
  bool (*motion)(void *user, S2World *world, S2MotionCall *call);
  // Fills in force and tangent. Without this callback, springs with a law have no effect.
  bool (*spring)(void *user, S2World *world, S2SpringCall *call);
  // Solves a problem for S2_SOLVER_PROGRAM; `found` is the result of that S2ProgramSolver.
  bool (*solve)(void *user, S2World *world, S2ProgramCall *call);
  // Called repeatedly in long steps. If it returns false (Ctrl-C), the step is aborted.
  bool (*proceed)(void *user);
} S2Callbacks;

void s2_world_set_callbacks(S2World *world, const S2Callbacks *callbacks);

// Advances the world by dt (or less, with stepping_partial) in `substeps` equal parts. Applied
// forces act in all of them. Each substep calls the force laws with its time and length. Events and
// contact impulses cover the whole step. Residuals are the maxima over the substeps.
S2Status s2_world_step(S2World *world);

// Steps many independent worlds. Each gets the same bits as from s2_world_step. Worlds whose only
// joints are hinges and sliders and in which nothing can collide run side by side in SIMD lanes, if
// their joints form the same graph. Their masses, anchors, states and dt may differ. Other worlds
// run one after the other. `each` (may be NULL) receives the status of each world; the result is
// the first failure. If a world occurs twice, the call returns S2_INVALID and steps nothing. This
// thread calls all callbacks.
S2Status s2_worlds_step_many(S2World *const *worlds, int count, S2Status *each);

// Moves the bodies to static equilibrium, where no point of a body at rest would accelerate by more
// than `tolerance`. Time does not advance, applied forces act throughout, and kinematic bodies
// stand still. At the end, dynamic bodies have zero velocity. A lack of convergence is not an
// error: result->solved is false, and the bodies stay where `max_steps` steps moved them. If a step
// fails, the world is unchanged.
typedef struct S2StaticOptions {
  double tolerance; // m/s^2, > 0
  int max_steps;    // >= 1
} S2StaticOptions;

typedef struct S2StaticResult {
  bool solved;
  double residual; // m/s^2, from the last equilibrium check
  int steps;
} S2StaticResult;

S2StaticOptions s2_static_options(void); // the defaults
S2Status s2_world_solve_static(S2World *world, const S2StaticOptions *options,
                               S2StaticResult *result);

// Save the state in the world itself, and restore the last saved state. Intended for callers whose
// callbacks may make a step fail.
void s2_world_mark(S2World *world);
void s2_world_rollback(S2World *world);

typedef enum S2EventType {
  // Events of a pair of bodies, regardless of the shapes and features that touch:
  S2_CONTACT_BEGIN, // closer than contact_margin, or touched within the step
  S2_CONTACT_END,
  S2_TOUCH_BEGIN,  // an impulse acted between them in the step, or their gap is 0
  S2_TOUCH_END,    // first step with a gap and without an impulse
  S2_SENSOR_BEGIN, // `a` is the sensor
  S2_SENSOR_END,
  S2_CONTACT_IMPULSE, // one event per contact that had a normal impulse in this step
  S2_JOINT_BREAK,     // a joint exceeded its break_force and was disabled
  S2_SOLVER_WARNING,  // message: unsolved step, overlap at the start, or smallest dt reached
} S2EventType;

typedef struct S2Event {
  S2EventType type;
  S2BodyId a, b;        // may be null (warnings) or stale when they are read
  S2Vec2 point, normal; // touch_begin: where the largest impulse acted
  // N s; touch_begin: sum over the step for the pair; touch_end: sum since touch_begin
  double normal_impulse, tangent_impulse; // touch_end: only normal_impulse is set
  S2Vec2 impulse;                         // N s on a (contact_impulse, touch_begin, touch_end)
  double speed;        // m/s: approach speed before the step; touch_begin: at the impact
  S2JointId joint;     // the broken joint; `point` is where it broke
  double force;        // N: the force that broke it
  const char *message; // text of a warning; otherwise ""
} S2Event;

// Events of the last step, valid until the next step.
const S2Event *s2_world_events(S2World *world, int *count);

// ---- Reading ----------------------------------------------------------------------------------

typedef struct S2Contact {
  S2BodyId a, b;
  S2Vec2 point;  // world coordinates of the feature after the step, even if it does not touch
  S2Vec2 normal; // from b to a at the time of the impulse, or else after the step
  double gap;    // m, at the end of the step
  // N s on a, along the normal and the left-turned normal, summed over all impulses at this feature
  // in the step. The sum over all contacts is the total impulse on a body.
  double normal_impulse, tangent_impulse;
  // N m s on a and on b about their centres, with the lever arms at the time of the impulse. Bodies
  // move within a step, so a moment computed from `point` may differ.
  double angular_impulse_a, angular_impulse_b;
  bool sliding;             // true if it carries an impulse and its friction is at its bound
  int32_t shape_a, shape_b; // indices into the world's shapes
  uint32_t feature;         // identifies the feature of these shapes from step to step
} S2Contact;

// Contacts (without sensors) closer than contact_margin after the last step, and all contacts that
// carried an impulse in it. Valid until the next change of the world. The geometry is that of the
// last step, even if you have moved bodies since.
const S2Contact *s2_world_contacts(S2World *world, int *count);
S2Status s2_body_touches(const S2World *world, S2BodyId body, bool *touches); // is one listed?

// Total contact impulse on a body in the last step: angular about its centre (N m s), x, y (N s).
S2Status s2_body_contact_impulse(const S2World *world, S2BodyId body, double impulse[3]);
// Impulse of the velocity corrections in the last step. In event stepping, they remove the energy
// that position projections add, and preserve the spin of bodies connected only by joints. Forces,
// contacts, joints and corrections add up to the total change of the body's momentum.
S2Status s2_body_correction(const S2World *world, S2BodyId body, double impulse[3]);

typedef struct S2Energy {
  // J. Potential energy: -m g'x, zero at the origin, plus the elastic energy 1/2 g' C^-1 g of
  // springs, compliant joints and compliant contacts (with their gaps after the last step)
  double kinetic, potential, total;
} S2Energy;

S2Energy s2_world_energy(const S2World *world);
void s2_world_momentum(const S2World *world, double momentum[3]); // angular about the origin, x, y

// Largest audit finding of each kind in the last step, if `audit` is set (docs/audits.md).
typedef struct S2AuditResiduals {
  double passage;  // m: overlap of rigid shapes within the step beyond the initial overlap
  double jump;     // m: motion of a body beyond its velocity and impulses
  double slip;     // m: slip between surfaces that friction holds
  double momentum; // N s: unexplained change of a body's momentum
  double energy;   // J: unexplained energy gain (> 0) or loss of interacting bodies
  double distance; // m: gap between shapes that exchanged an impulse
  double drift;    // m/s or rad/s: speed that violates a row of a rigid joint
} S2AuditResiduals;

typedef struct S2WorldResiduals {
  S2Residual solve;   // largest values over the islands of the last step
  double joint_error; // m: largest position error after the step
  double penetration; // m: largest overlap of rigid pairs after the step, or 0
  S2AuditResiduals audit;
} S2WorldResiduals;

S2WorldResiduals s2_world_residuals(const S2World *world);

// Numbers of audit findings, if `audit` is set. A step with a finding counts as unsolved.
typedef struct S2AuditStats {
  uint64_t passages, overlaps; // pairs that changed sides; pairs that overlapped
  uint64_t jumps, slips, momenta, energies, events;
  uint64_t drifts; // joints whose rows the velocities violate
  double energy;   // J: sum of S2AuditResiduals.energy over islands with known work
} S2AuditStats;

uint64_t s2_audit_findings(const S2AuditStats *stats); // sum of all findings
void s2_audit_stats_add(S2AuditStats *total, const S2AuditStats *stats);
// The message of the first finding. "" if there is none, or if `audit` was switched off after it.
// Valid until the next step.
const char *s2_world_finding(const S2World *world);

typedef struct S2WorldStats {
  uint64_t steps, solves, second_solves, projections, relinearisations, bisections, splits;
  uint64_t iterations;      // interior-point iterations and pivots
  uint64_t unsolved;        // steps with a solve above the tolerance or with an audit finding
  uint64_t unsolved_solves; // island solves above the tolerance; a step may have several
  uint64_t cut;             // steps that ran out of budget during a solve; not counted as unsolved
  // islands that kept the old constraint rows because the solve with new rows failed
  uint64_t rows_stayed;
  uint64_t halved;    // large islands stepped in two half-steps because the whole step failed
  uint64_t kept;      // islands that a step left unchanged, without a solve
  uint64_t shared;    // island phases that ran on several threads (setting `threads`)
  uint64_t stiffened; // islands that used implicit Euler and "psd" because forces turned too fast
  // Impacts treated as inelastic: their restitution targets provably have no solution, or no solver
  // reached the tolerance.
  uint64_t contradictions, unsolved_impacts;
  // Contact points whose mode (open, stuck or sliding) differs from the last step. A point counts
  // once if its impulse starts or ends, or if its friction reaches or leaves its bound.
  uint64_t mode_changes;
  uint64_t used[S2_SOLVER_COUNT];                            // island solves per solver
  double worst_scaled, worst_penetration, worst_joint_error; // maxima over all steps.
  // s; 0 unless `profile` is set
  double seconds_broad, seconds_narrow, seconds_solve, seconds_project, seconds_total;
  // values of the last step:
  int bodies, joints, contacts, islands, largest_island; // largest: number of contact points
  int last_iterations;
  S2SolveStatus last_status;
  size_t arena_bytes;
  S2AuditStats audit;
} S2WorldStats;

const S2WorldStats *s2_world_stats(const S2World *world);
// Adds the statistics of another world or of a part of the work. Counts and times add up.
// Residuals, the largest island and memory take the maximum. last_status becomes the status of
// `stats` if that is not S2_SOLVED.
void s2_stats_add(S2WorldStats *total, const S2WorldStats *stats);

// Creates the problem that the next step would solve first, for all islands together. nodes[i] is
// the body of node i, or null for the node of a gear on more than two bodies. At most `capacity`
// nodes are written. Free the problem with s2_problem_free.
S2Status s2_world_problem(S2World *world, S2Problem **problem, S2BodyId *nodes, int capacity);

// Makes steps write every island problem to DIR/problem-SSSSSS-II.txt (step SSSSSS, solve II of
// that step). Pass NULL to stop.
S2Status s2_world_dump_problems(S2World *world, const char *directory);

// ---- Overlaps ---------------------------------------------------------------------------------

typedef struct S2Overlap {
  S2BodyId a, b;
  double depth; // m, > 0
} S2Overlap;

// Lists rigid pairs that overlap by more than the tolerance, deepest first. Returns their number,
// or 0 if a filter aborts or there are too many pairs. The next step then fails with the reason.
int s2_world_overlaps(S2World *world, S2Overlap *overlaps, int capacity);
// Separates bodies by the smallest mass-weighted motion. *remaining: largest overlap left.
S2Status s2_world_resolve_overlaps(S2World *world, double *remaining);

// ---- Queries ----------------------------------------------------------------------------------

typedef struct S2RayResult {
  S2BodyId body; // null if nothing was hit
  S2Vec2 point, normal;
  double fraction;
} S2RayResult;

// Selects the bodies that a query finds. It never finds disabled bodies. Default: no sensors.
typedef struct S2QueryFilter {
  uint32_t category; // 0: any body; otherwise the body's mask must have one of these bits
  uint32_t mask;     // 0: any body; otherwise the body's category must have one of these bits
  const S2BodyId *ignored;
  int ignored_count;
  bool sensors; // whether to find sensors, too
} S2QueryFilter;

// Nearest hit. A ray that starts on a surface and points inwards hits at fraction 0. A shape that
// contains the starting point is not hit (s2_shape_raycast).
S2RayResult s2_world_raycast(S2World *world, S2Vec2 from, S2Vec2 to, const S2QueryFilter *filter);
// All bodies along the ray, sorted by fraction. The result for each body is the point where the ray
// first enters one of its shapes. Returns their number and writes at most `capacity`.
int s2_world_raycast_all(S2World *world, S2Vec2 from, S2Vec2 to, const S2QueryFilter *filter,
                         S2RayResult *results, int capacity);
// Bodies with a shape whose box overlaps [lo, hi], or that contains the point, in creation order.
int s2_world_query_box(S2World *world, S2Vec2 lo, S2Vec2 hi, const S2QueryFilter *filter,
                       S2BodyId *bodies, int capacity);
int s2_world_query_point(S2World *world, S2Vec2 point, const S2QueryFilter *filter,
                         S2BodyId *bodies, int capacity);

typedef struct S2ClosestBodies {
  double distance; // m, negative if they overlap
  S2Vec2 point_a, point_b, normal;
} S2ClosestBodies;
S2Status s2_world_closest(S2World *world, S2BodyId a, S2BodyId b, S2ClosestBodies *closest);

// ---- State ------------------------------------------------------------------------------------

// Only the motion: a, x, y, va, vx, vy of each dynamic body, in creation order.
int s2_world_state_size(const S2World *world);
void s2_world_state(const S2World *world, double *state);
S2Status s2_world_set_state(S2World *world, const double *state, int count); // drops warm starts.

// Images of the whole world. A restored world continues with exactly the same bits. Handles to
// objects in the image are valid again; handles to later objects are stale.
size_t s2_world_image_size(const S2World *world);
void s2_world_image_write(const S2World *world, void *image);
S2Status s2_world_image_read(S2World *world, const void *image, size_t size);
// Restores an image that this world wrote when s2_world_changes was `changes`. If only the motion
// has changed since, s2_world_changes and the data prepared for steps stay valid.
S2Status s2_world_image_return(S2World *world, const void *image, size_t size, uint64_t changes);
// Counts the changes of a world, except changes of its motion (states, forces, impulses, commands).
uint64_t s2_world_changes(const S2World *world);
S2Status s2_world_clone(const S2World *world, S2World **clone); // without callbacks

uint64_t s2_world_hash(const S2World *world); // hash of the bits of time, q and v

#endif
