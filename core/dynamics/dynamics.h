// Worlds of rigid bodies: the engine's API for programs and for the Lua binding.
//
// A script fills a world. A step turns the world into complementarity problems, one for each
// island, solves them and moves the bodies. Units are SI, angles are counter-clockwise, y points
// up. A body's position is its centre of mass. Handles name bodies and joints; a handle to a
// destroyed object gives the error S2_STALE, never a crash. A call that fails leaves the world
// unchanged.
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

// The null handle has index 0. A serial is never reused in a world and its copies.
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
  // event for islands of few bodies, speculative for larger ones and for worlds with settings that
  // event stepping does not support
  S2_AUTO,
} S2Stepping;

typedef enum S2FlowRule {
  S2_FLOW_PROJECTED, // velocities by implicit Euler, positions by projection
  S2_FLOW_RATTLE,    // positions, then velocities: two stages, order 2, if the island allows it
  S2_FLOW_AUTO,      // S2_FLOW_RATTLE with event stepping, unless an option excludes it
} S2FlowRule;
// The friction law of contacts. S2_CONVEX is a convex form of Coulomb's law
// (mcp/problem/convex.h), for rigid contacts under S2_SPECULATIVE.
typedef enum S2ContactModel { S2_COULOMB, S2_FRICTIONLESS, S2_CONVEX } S2ContactModel;
typedef enum S2Stabilization { // how joint errors and overlaps are removed
  S2_PROJECTION,               // positions projected until no error is left; velocities by SHAKE
  S2_NO_STABILIZATION,
  S2_BAUMGARTE,     // rows ask for a fifth of the error within the step
  S2_PRE,           // positions projected by one linear solve before the step
  S2_POST,          // linear solve after the step: rows from its start, errors from its end
  S2_POST_ASSEMBLY, // linear solve after the step, with rows assembled again
} S2Stabilization;
// Fraction of a joint error or an overlap that S2_BAUMGARTE asks the velocities to remove in a
// step. A factor of 1 overshoots where rows are curved, and its correction stays in the velocities.
#define S2_BAUMGARTE_FACTOR 0.2

typedef enum S2RestitutionModel {
  S2_NEWTON,      // every contact of an impact leaves with e times its arrival speed
  S2_REFLECTIONS, // generalised reflections: an impact travels through bodies that touch
} S2RestitutionModel;
// The unknown of the step problem: v+, v+ - v_k or (v+ - v_k)/h. The trajectory is the same.
typedef enum S2Formulation {
  S2_FORM_VELOCITY,
  S2_FORM_ACCELERATION,
  S2_FORM_VARIATION
} S2Formulation;
// How springs and compliant joints enter the step problem: as rows J v + C' l + b = 0, or as
// stiffness in W with the elastic force on the right side. The trajectory is the same.
typedef enum S2Elasticity { S2_AS_COMPLIANCE, S2_AS_STIFFNESS } S2Elasticity;
// The part of the stiffness of turning joint forces that is added to W: none, all, or positive.
typedef enum S2GeometricStiffness {
  S2_GEOMETRIC_OFF,
  S2_GEOMETRIC_ON,
  S2_GEOMETRIC_PSD
} S2GeometricStiffness;
// Which derivative s2_trace_vjp (diff/step/trace.h) gives. The motion is the same.
typedef enum S2GradientMode {
  S2_GRADIENT_EXACT,  // contacts keep the modes that they have in the step
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
// its value at the end plus 1 - alpha times its value at the start. Positions move with beta times
// the velocity at the end plus 1 - beta times that at the start (docs/stepping-options.md). (1, 1)
// is implicit Euler, (1/2, 1/2) is of second order; beta = 0 needs compliant joints. `tolerance`
// bounds S2Residual.scaled, and `smoothing` is the kappa of S2_GRADIENT_SMOOTH.
typedef struct S2WorldDef {
#define S2_SETTING(member, type, default, domain, names, unit, derivative, meaning) type member;
#define S2_PROGRAM_SETTING(member, type, default, domain, names, unit, derivative, meaning)        \
  type member;
#include "dynamics/fields.def"
} S2WorldDef;

S2WorldDef s2_world_def(void); // the defaults
// The scheme that `stepping` selects. S2_AUTO resolves to S2_EVENT (whose large islands step
// speculatively) or S2_SPECULATIVE; the result is never S2_AUTO.
S2Stepping s2_world_way(const S2WorldDef *def);
// Whether islands that allow it use the flow by two stages. Resolves S2_FLOW_AUTO.
bool s2_world_rattles(const S2WorldDef *def);
S2Status s2_world_create(const S2WorldDef *def, S2World **world);
void s2_world_destroy(S2World *world);
const S2WorldDef *s2_world_settings(const S2World *world);
// Changes settings of an existing world (gravity, dt, solver ...), with the checks of creation.
S2Status s2_world_configure(S2World *world, const S2WorldDef *def);

double s2_world_time(const S2World *world); // s
uint64_t s2_world_step_count(const S2World *world);
// A revision number of the world's contents: bodies, shapes and joints, their names, types, colours
// and masses, and whether they are enabled. It does not change with the motion. If two numbers of
// the same world are equal, all of these are unchanged. It is never 0.
uint64_t s2_world_revision(const S2World *world);

// ---- Bodies -----------------------------------------------------------------------------------

typedef enum S2BodyType { S2_DYNAMIC, S2_STATIC, S2_KINEMATIC } S2BodyType;

enum { S2_NAME_SIZE = 48 }; // bytes of a name with its final 0

// m/N: the largest compliance of a contact: one micronewton per metre of depth. For softer
// contacts, C/h^2 might overflow.
#define S2_SOFTEST_CONTACT 1e6

typedef struct S2ShapeDef {
  const S2Vec2 *vertices; // m, relative to the body's given position; copied
  int count;
  double radius;                // m
  double friction, restitution; // NAN: the body's value
  double density;               // kg/m^2; NAN: the body's value
  bool has_previous, has_next;  // terrain chains, see S2Shape
  S2Vec2 previous, next;
} S2ShapeDef;

// fields.def adds further numbers. A kinematic body with a bound on its force yields: it has mass
// but no gravity. A lock (s2_body_drive) moves its x, y and angle according to its velocity or
// motion.
typedef struct S2BodyDef {
  S2Vec2 position; // of the shapes' origin; the body's own position is the centre of mass
  double angle;
  S2Vec2 velocity; // m/s, of the centre of mass
  double angular_velocity;
  double density; // kg/m^2; used where mass is NAN
#define S2_BODY_NUMBER(ID, member, default, domain, most, unit, meaning) double member;
#define S2_BODY_BOUND(ID, member, default, domain, most, unit, meaning)  double member;
#define S2_BODY_MARK(ID, member, type, default, domain, names, meaning)  type member;
#include "dynamics/fields.def"
  const char *name;         // "" or NULL: none; at most S2_NAME_SIZE - 1 bytes
  const S2ShapeDef *shapes; // convex pieces
  int shape_count;
} S2BodyDef;

S2BodyDef s2_body_def(void);
S2Status s2_body_create(S2World *world, const S2BodyDef *def, S2BodyId *body);
S2Status s2_body_destroy(S2World *world, S2BodyId body); // also destroys its joints
bool s2_body_alive(const S2World *world, S2BodyId body);

// Numbers of a body, by name. Setting one checks it (finite, in its domain; the message names
// field, value and domain). Setting a position drops the warm start of the body's contacts.
typedef enum S2BodyField {
  S2_BODY_ANGLE,
  S2_BODY_X,
  S2_BODY_Y,
  S2_BODY_OMEGA,
  S2_BODY_VX,
  S2_BODY_VY,
  S2_BODY_STATE_COUNT, // size of the state; the fields of s2_body_fields follow in their order:
  S2_BODY_BEFORE_FIELDS = S2_BODY_STATE_COUNT - 1,
// Mass and inertia of bodies that are not dynamic are infinite and cannot be set.
#define S2_BODY_NUMBER(ID, member, default, domain, most, unit, meaning) S2_BODY_##ID,
#define S2_BODY_BOUND(ID, member, default, domain, most, unit, meaning)  S2_BODY_##ID,
#define S2_BODY_MARK(ID, member, type, default, domain, names, meaning)  S2_BODY_##ID,
#include "dynamics/fields.def"
  S2_BODY_FIELD_COUNT
} S2BodyField;

const S2Field *s2_body_field(S2BodyField field); // for fields of the state: name and domain
S2Status s2_body_get(const S2World *world, S2BodyId body, S2BodyField field, double *value);
S2Status s2_body_set(S2World *world, S2BodyId body, S2BodyField field, double value);
S2Status s2_body_set_q(S2World *world, S2BodyId body,
                       const double q[3]); // angle, x, y; sets all or none
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

// The force acts during the next step only. Calls add up. `at`: world coordinates, NULL: the
// centre of mass.
S2Status s2_body_apply_force(S2World *world, S2BodyId body, S2Vec2 force, const S2Vec2 *at);
S2Status s2_body_apply_torque(S2World *world, S2BodyId body, double torque);
// Changes the velocity at once.
S2Status s2_body_apply_impulse(S2World *world, S2BodyId body, S2Vec2 impulse, const S2Vec2 *at);
// the sum of the calls so far
S2Status s2_body_force(const S2World *world, S2BodyId body, double force[3]);
// Requests a call of S2Callbacks.force for this body in every step (S2ForceCall).
S2Status s2_body_set_force_law(S2World *world, S2BodyId body, bool has_law);
// Requests calls of S2Callbacks.motion for this kinematic body.
S2Status s2_body_set_motion(S2World *world, S2BodyId body, bool has_motion);
// The lock of a kinematic body while its force has a bound; null if both bounds are infinite.
S2JointId s2_body_drive(const S2World *world, S2BodyId body);
bool s2_body_has_motion(const S2World *world, S2BodyId body);

// Shapes of a body, in creation order, vertices in the body frame (borrowed until the next change).
int s2_body_shape_count(const S2World *world, S2BodyId body); // 0 for a stale handle
S2Status s2_body_shape(const S2World *world, S2BodyId body, int index, S2Shape *shape);

// Living bodies in creation order. Writes at most `capacity` handles; returns their number.
int s2_world_bodies(const S2World *world, S2BodyId *bodies, int capacity);
S2BodyId s2_world_body(const S2World *world, int index); // {0, 0} if there are fewer

// Forbids (or permits again) contacts of two bodies. Their order does not matter.
S2Status s2_world_no_contact(S2World *world, S2BodyId a, S2BodyId b, bool forbidden);

// ---- Joints -----------------------------------------------------------------------------------

typedef enum S2JointType {
#define S2_JOINT_TYPE(ID, name) S2_##ID,
#include "dynamics/joints.def"
  S2_JOINT_TYPE_COUNT
} S2JointType;

// Compliances (m/N, rad/(N m)) or dampings (N s/m, N m s/rad) of a joint's rows: one for rows that
// measure a length and one for those that measure an angle, or a symmetric positive semidefinite
// matrix over all rows (hinge: x, y in b's frame; weld: x, y, angle; slider: across, angle).
typedef struct S2JointWeights {
  double linear, angular;
  int size;         // 0: linear and angular count; else rows (and columns) of the matrix
  double matrix[9]; // row-major; the first size * size are used
} S2JointWeights;

// Bodies that a constraint may join, and the columns of its gradient.
enum { S2_JOINT_BODIES = 4, S2_JOINT_COLUMNS = 3 * S2_JOINT_BODIES };

typedef struct S2JointDef {
  S2JointType type;
  S2BodyId a, b;             // one may be null, meaning the world (lock and mouse: b is null)
  S2Vec2 anchor_a, anchor_b; // m, world coordinates; NAN: the centre of mass. If the bodies share
                             // a point (hinge, weld, slider, wheel), it is anchor_a
#define S2_JOINT_KEY(member, type, default, domain, required) type member;
#include "dynamics/fields.def"
  double stiffness;                // spring, mouse, wheel: N/m, >= 0, required
  S2JointId joint_a, joint_b;      // gear
  bool lock_x, lock_y, lock_angle; // lock
  bool driven;                     // lock: moves as S2Callbacks.motion specifies
  bool has_law;                    // spring: S2Callbacks.spring gives its pull; no stiffness then
  S2Vec2 velocity;                 // lock: m/s
  S2JointWeights compliance;       // zero: rigid; not for spring, mouse, wheel, rope
  S2JointWeights damping;          // damping of compliant rows; spring, mouse, wheel: `linear`
  bool has_limits, has_motor;      // on the coordinate: hinge, slider, spring, wheel
  double limit_lo, limit_hi;       // rad or m; may be infinite
  double motor_speed, motor_max;   // rad/s or m/s; N m or N, >= 0, may be infinite
  double break_force;              // N (N m where there is no force), > 0, may be infinite
  S2BodyId more[2];                // constraint: its third and fourth body, null: none
  int rows;                        // constraint: 1 to 3; 1 if unilateral
  bool velocity_only;              // constraint: rows J v + rate = 0 without a value
  bool unilateral;                 // constraint: value >= 0 (velocity_only: J v + rate >= 0)
  // constraint: whether the callback computes these; else finite differences are used
  bool has_jacobian, has_hessian;
  // whether the callback computes the rate; else it is 0 (velocity_only) or a difference over dt
  bool has_rate;
  // A bounded constraint has one row: J v + rate = 0, as far as a force from bound_lo to bound_hi
  // (N or N m, lo < hi, finite) can achieve it. With coupled_to it is the friction of a unilateral
  // constraint between the same bodies: the bound is `friction` times that constraint's force.
  // Neither form holds a value.
  bool bounded;
  double bound_lo, bound_hi;
  S2JointId coupled_to;
  // NAN: the world's setting. Otherwise (0 to 1) projections ignore the error of this joint, and
  // its rows in the solve remove this fraction of the error within the step.
  double stabilization;
  bool collide; // whether the two bodies still collide (default no)
  const char *name;
} S2JointDef;

// The defaults of a type: no limits, no motor, rigid, cannot break.
S2JointDef s2_joint_def(S2JointType type);
// Fails with S2_INVALID (the message names field, value and domain) or S2_STALE.
S2Status s2_joint_create(S2World *world, const S2JointDef *def, S2JointId *joint);
S2Status s2_joint_destroy(S2World *world, S2JointId joint); // also destroys the gears on it
bool s2_joint_alive(const S2World *world, S2JointId joint);
const char *s2_joint_type_name(S2JointType type);

// The drawing of a joint: the span between its two anchors, and the anchors.
typedef enum S2JointSpan {
  S2_SPAN_NONE,
  S2_SPAN_LINE,
  S2_SPAN_FAINT, // the path along an axis
  S2_SPAN_SPRING,
  S2_SPAN_ERROR // the anchors should coincide, unless the joint is compliant
} S2JointSpan;
typedef enum S2JointDots {
  S2_DOTS_NONE, // the joint has no place
  S2_DOTS_ENDS, // a dot at each anchor
  S2_DOTS_RING, // a ring: a joint that lets the bodies turn
  S2_DOTS_FIXED // a mark of joints without rotation
} S2JointDots;

// The public properties of a joint type.
typedef struct S2JointTraits {
  const char *name;
  // Keys of the Lua constructor, ends with NULL. NULL: the constructor takes no keys.
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
// Whether joints of this type have the field, and whether it can be written.
bool s2_joint_type_has(S2JointType type, S2JointField field);
bool s2_joint_type_sets(S2JointType type, S2JointField field);
S2Status s2_joint_get(const S2World *world, S2JointId joint, S2JointField field, double *value);
S2Status s2_joint_set(S2World *world, S2JointId joint, S2JointField field, double value);
// If the coordinate is beyond the new limits, a step moves it to the limit. (s2_joint_create
// refuses such limits.)
S2Status s2_joint_set_limits(S2World *world, S2JointId joint, double lo, double hi);
// Whether the coordinate is within the limits, up to S2_MISFIT of the bodies' size.
bool s2_joint_is_within(const S2World *world, S2JointId joint);
typedef struct S2JointCoordinate {
  S2JointId joint; // a hinge or slider
  double value;    // rad or m
} S2JointCoordinate;
// Moves bodies so that these joints have these coordinates, while all joints stay as exact as
// before. Moves the lighter side of each joint with all attached bodies. Other coordinates stay,
// except in closed loops, which keep their assembly mode. Speeds of coordinates stay; the next step
// makes the speeds in a loop consistent. S2_INVALID, with nothing moved: a joint of another type, a
// value beyond its limits, or a loop that cannot be closed.
S2Status s2_world_set_coordinates(S2World *world, const S2JointCoordinate *set, int count);
// Gives the bodies on one side of a joint (hinge, slider, wheel, spring, rope) the rigid motion
// with which its coordinate changes at this rate, rad/s or m/s. The side is the lighter one, or the
// one that is not attached to the ground. Speeds of other coordinates stay, except in loops, which
// stay closed. S2_INVALID, with nothing changed: a joint of another type, or a loop that does not
// permit the speed.
S2Status s2_joint_set_speed(S2World *world, S2JointId joint, double speed);
// The bodies that s2_joint_set_speed moves (`bodies` has room for all bodies), and whether this is
// the side of a. S2_UNAVAILABLE: loops move other bodies, too.
S2Status s2_joint_branch(S2World *world, S2JointId joint, S2BodyId *bodies, int *count, bool *of_a);
S2Status s2_joint_set_target(S2World *world, S2JointId joint, S2Vec2 target); // mouse
S2Status s2_joint_set_velocity(S2World *world, S2JointId joint,               // lock
                               const double velocity[3]);                     // angle, x, y

enum { S2_JOINT_WAY = 2 };

typedef struct S2JointInfo {
  S2JointType type;
  S2BodyId a, b, more[2];     // more: further bodies of a gear or constraint, or null
  S2JointId joint_a, joint_b; // gear
  bool enabled, broken, collide;
  bool compliant;            // has compliant rows that are not springs
  const char *name;          // borrowed
  S2Vec2 anchor_a, anchor_b; // world coordinates now
  int ways;                  // number of points in `way`, passed from anchor_a to anchor_b
  S2Vec2 way[S2_JOINT_WAY];
  S2Vec2 axis;            // slider, wheel: unit vector, world coordinates now
  S2Vec2 target;          // mouse
  bool driven;            // lock
  bool has_law;           // spring
  double velocity[3];     // lock: angle, x, y; driven: the mean of the last (sub-)step
  S2Vec2 impulse;         // on a, N s, of the last step or part of it (world axes)
  double angular_impulse; // on a, about its anchor, N m s
  S2Vec2 force;           // on a, N: impulse divided by the time it acted
  double torque;          // on a, about its anchor, N m
  double angle, speed;    // of a relative to b, rad and rad/s, zero at creation
  // m: error of rigid rows and limits (angles times bodies' size); constraints: after the last step
  double error;
} S2JointInfo;

S2Status s2_joint_info(const S2World *world, S2JointId joint, S2JointInfo *info);
S2JointType s2_joint_type(const S2World *world, S2JointId joint); // the joint must exist
const char *s2_joint_name(const S2World *world, S2JointId joint); // "" if it was destroyed
int s2_world_joints(const S2World *world, S2JointId *joints, int capacity); // creation order
S2JointId s2_world_joint(const S2World *world, int index); // {0, 0}: there are fewer

// ---- Stepping ---------------------------------------------------------------------------------

// A contact as a pre-solve callback sees it. Fields without `const` may be changed.
typedef struct S2PreContact {
  S2BodyId a, b;
  S2Vec2 point, normal; // world; normal from b to a
  double gap;           // m
  double friction, restitution;
  double surface_speed; // m/s, of b's surface relative to a's along the left-turned normal
  bool enabled;         // true; false: no contact in this step
} S2PreContact;

// The derivatives of a number, returned by a callback, with respect to the arguments. The
// derivative of the step uses them (diff/step/trace.h). The order of `by` is: for a constraint the
// (angle, x, y) of its bodies, then t (12); for a spring the extension; for a motion the angle, x,
// y, t, h, then the previous velocity.
typedef struct S2Slope {
  double by[S2_JOINT_COLUMNS + 1];
  uint32_t origin; // further source of the number, in a numbering of the callback; 0: none
} S2Slope;

// A call of a constraint's function. Poses are angle (rad), x, y (m). A field that is NULL is not
// requested. The answer must depend on the arguments alone, because a step stores it.
typedef struct S2ConstraintCall {
  S2JointId joint;                      // null while s2_joint_create runs
  int bodies;                           // 1 to 4
  double q[S2_JOINT_BODIES][3];         // poses of a, b and S2JointDef.more
  double t;                             // s
  int rows;                             // of the joint
  double *value;                        // per row: g, m or rad
  double (*jacobian)[S2_JOINT_COLUMNS]; // per row: dg/d(angle, x, y) of a, of b, ...
  double *rate;                         // per row: dg/dt at fixed poses, m/s or rad/s
  double (*hessian)[S2_JOINT_COLUMNS][S2_JOINT_COLUMNS]; // per row: second derivatives
  // NULL, or one for each requested number, in their order; initially zero
  S2Slope *slope;
  // the callback sets this if it has filled in `slope`; else the step has no derivative
  bool sloped;
} S2ConstraintCall;

// A call of a spring's law: the pull (N) at an extension (m, beyond the rest length), and its
// derivative with respect to the extension (N/m). The answer must depend on the extension alone.
typedef struct S2SpringCall {
  S2JointId joint;
  double extension, force, tangent;
  S2Slope *slope; // NULL, or slopes of force and tangent
  bool sloped;
} S2SpringCall;

// The derivative of one force component with respect to one number of the state read by the law.
typedef struct S2ForceTerm {
  int number;       // index in S2ForceCall.force
  int32_t slot;     // slot of the body, S2BodyId.index - 1
  S2BodyField part; // S2_BODY_ANGLE to S2_BODY_VY
  double by;
} S2ForceTerm;

// A call of a force law: a continuous force as a function of the time and of the state of the
// world, which the functions of this header read. The force must depend on these alone. A step
// calls the law at its start and, for bodies that fly, at its end until force and velocity agree
// (docs/stepping.md). If bodies meet within the step, the law is called at that time, too.
typedef struct S2ForceCall {
  S2BodyId body;
  double t;        // s, of the state
  double dt;       // s, of the step (or substep)
  double force[3]; // N m, N: initially 0; add to it
  // For the derivative of the step:
  bool wanted; // whether slopes are requested; otherwise the rest is not read
  bool timed;  // by_time is requested, too: t is a time at which bodies meet
  bool sloped; // the callback sets this if it has given slopes; else the step has no derivative
  double by_time[3], by_dt[3];
  uint32_t origin[3]; // as in S2Slope
} S2ForceCall;
// Call this within S2Callbacks.force: `force[number]` changes by `by` for each unit of `part` of
// the state of the body in `slot`. Terms add up.
void s2_force_slope(S2World *world, int number, int32_t slot, S2BodyField part, double by);

enum { S2_MOTION_NUMBERS = 9 }; // numbers in v, start and end of S2MotionCall

// The velocity that a kinematic body (s2_body_set_motion) or a driven lock is to have in the
// (sub-)step from t to t + h. For a position p(t) this is (p(t + h) - q)/h, which is exact at t + h
// and does not drift. A step may ask more than once; the answer must depend on these arguments
// alone.
typedef struct S2MotionCall {
  S2BodyId body; // one of the two is null
  S2JointId joint;
  double t, h;    // s
  double q[3];    // angle (rad), x, y (m): where the body is, or where the lock holds it, at t
  double v[3];    // the mean velocity, rad/s, m/s; initially the mean of the last step
  S2Slope *slope; // NULL, or slopes of v and then, if `ends` is set, of start and end
  bool sloped;
  // `ends` requests `start` and `end`, the velocities at t and t + h (S2_FLOW_RATTLE). NAN: use v.
  bool ends;
  double start[3], end[3];
  // Set this if v leads to a prescribed place p(t + h). If so, a lock or body with a bound on its
  // force returns there after it has yielded. Otherwise it continues from its present place.
  bool place[3];
} S2MotionCall;

// Callbacks run within s2_world_step. They may change the world only through their results
// (S2_BUSY). If one returns false, the step is undone and s2_world_step returns S2_ABORTED.
typedef struct S2ProgramCall {
  int program; // the setting `solver_program`
  const S2Problem *problem;
  const S2SolverOptions *options;
  double *lambda;
  int iterations;
  bool found;
} S2ProgramCall;

typedef struct S2Callbacks {
  void *user;
  // Adds to call->force (torque, fx, fy); called for bodies with a law, in creation order.
  bool (*force)(void *user, S2World *world, S2ForceCall *call);
  // Whether these two may touch. Called each time that their boxes begin to overlap.
  bool (*filter)(void *user, S2World *world, S2BodyId a, S2BodyId b, bool *collide);
  bool (*pre_solve)(void *user, S2World *world, S2PreContact *contact);
  // Fills in the requested numbers. While this is NULL, joints of type S2_CONSTRAINT do not act.
  // s2_joint_create and s2_world_problem call it, too. Numbers that are not finite make the step
  // fail (S2_INVALID).
  bool (*constraint)(void *user, S2World *world, S2ConstraintCall *call);
  // Fills in call->v. While this is NULL, bodies and locks with a motion stand still. So do bodies
  // in s2_world_solve_static, which fails if there is such a lock.
  bool (*motion)(void *user, S2World *world, S2MotionCall *call);
  // Fills in force and tangent. While this is NULL, springs with a law do not act.
  bool (*spring)(void *user, S2World *world, S2SpringCall *call);
  // Solves a problem for S2_SOLVER_PROGRAM; `found` is the result of that S2ProgramSolver.
  bool (*solve)(void *user, S2World *world, S2ProgramCall *call);
  // Polled repeatedly in long steps. If it returns false, the step is aborted (Ctrl-C).
  bool (*proceed)(void *user);
} S2Callbacks;

void s2_world_set_callbacks(S2World *world, const S2Callbacks *callbacks);

// Advances the world by dt (with stepping_partial possibly by less), in `substeps` equal parts.
// Applied forces act in all of them. Each substep calls the force laws with its time and length.
// Events and impulses of contacts cover the whole step; residuals are the largest of its substeps.
S2Status s2_world_step(S2World *world);

// Steps many worlds, which do not interact. Each gets the same bits as from s2_world_step. Worlds
// whose only joints are hinges and sliders, and in which nothing can collide, are stepped side by
// side in the lanes of the processor if their joints form the same graph (masses, anchors, states
// and dt may differ). Other worlds are stepped one after the other. `each` (may be NULL) receives
// the status of each world; the result is the first failure. If a world occurs twice, the call
// returns S2_INVALID and steps nothing. Callbacks of each world are called from this thread.
S2Status s2_worlds_step_many(S2World *const *worlds, int count, S2Status *each);

// Moves the bodies to static equilibrium: no body would accelerate from rest by more than
// `tolerance` (rotation is measured at the farthest point of a body). Time does not advance,
// applied forces act throughout, and kinematic bodies stand still. Velocities of dynamic bodies are
// 0 at the end. If it does not converge, this is not an error: result->solved is false, and the
// bodies stay where `max_steps` steps moved them. If a step fails, the world is unchanged.
typedef struct S2StaticOptions {
  double tolerance; // m/s^2, > 0
  int max_steps;    // >= 1
} S2StaticOptions;

typedef struct S2StaticResult {
  bool solved;
  double residual; // m/s^2, at the last equilibrium check
  int steps;
} S2StaticResult;

S2StaticOptions s2_static_options(void); // the defaults
S2Status s2_world_solve_static(S2World *world, const S2StaticOptions *options,
                               S2StaticResult *result);

// Saves the state inside the world (one level) and restores it. For callers whose callbacks run
// around a step and may fail.
void s2_world_mark(S2World *world);
void s2_world_rollback(S2World *world);

typedef enum S2EventType {
  // Events of a pair of bodies, whichever shapes and features touch:
  S2_CONTACT_BEGIN, // nearer than contact_margin, or they touched within the step
  S2_CONTACT_END,
  S2_TOUCH_BEGIN,  // an impulse acted between them in the step, or there is no gap
  S2_TOUCH_END,    // the first step with a gap and no impulse
  S2_SENSOR_BEGIN, // `a` is the sensor
  S2_SENSOR_END,
  S2_CONTACT_IMPULSE, // the impulse of this step, one event for each contact with a normal impulse
  S2_JOINT_BREAK,     // a joint carried more than its break_force and is disabled
  S2_SOLVER_WARNING,  // messages: unsolved step, overlap at the start, smallest dt reached
} S2EventType;

typedef struct S2Event {
  S2EventType type;
  S2BodyId a, b;        // may be null (warnings), may be stale when they are read
  S2Vec2 point, normal; // touch_begin: where the largest impulse acted
  // N s; touch_begin: sum over the step for the two bodies; touch_end: sum since touch_begin
  double normal_impulse, tangent_impulse; // touch_end: only normal_impulse
  S2Vec2 impulse;      // N s, on a, as a vector (contact_impulse, touch_begin, touch_end)
  double speed;        // m/s: approach before the step; touch_begin: approach when they met
  S2JointId joint;     // the broken joint; it broke at `point`
  double force;        // N, the force that broke it
  const char *message; // warnings; else ""
} S2Event;

// Events of the last step, valid until the next.
const S2Event *s2_world_events(S2World *world, int *count);

// ---- Reading ----------------------------------------------------------------------------------

typedef struct S2Contact {
  S2BodyId a, b;
  S2Vec2 point;  // world: place of this feature at the end of the step, touching or not
  S2Vec2 normal; // from b to a, when the impulse acted; at the end of the step if there was none
  double gap;    // m, at the end of the step
  // N s on a, along the normal and the left-turned normal: all impulses of the step at this
  // feature. So the sum over contacts is the whole impulse on a body.
  double normal_impulse, tangent_impulse;
  // N m s on a and on b about their centres, with the lever arms at the time of the impulse. The
  // bodies move within a step, so a moment computed from `point` differs.
  double angular_impulse_a, angular_impulse_b;
  bool sliding;             // carries an impulse and its friction is at its bound
  int32_t shape_a, shape_b; // indices of the world's shapes
  uint32_t feature;         // of these shapes; keeps its value from step to step
} S2Contact;

// Contacts (sensors excluded) closer than contact_margin after the last step, and all contacts that
// carried an impulse in the step. Valid until the next change of the world. If you have moved
// bodies since, the geometry is still that of the last step.
const S2Contact *s2_world_contacts(S2World *world, int *count);

// The impulse of all contacts of the last step on a body: angular about its centre (N m s), x, y.
S2Status s2_body_contact_impulse(const S2World *world, S2BodyId body, double impulse[3]);
// The impulse of corrections by the step. Event stepping removes the energy that projection adds by
// lifting, and bodies connected only by joints keep their spin. Forces, contacts, joints and
// corrections add up to the whole change of the body's momentum.
S2Status s2_body_correction(const S2World *world, S2BodyId body, double impulse[3]);

typedef struct S2Energy {
  // J; potential: -m g'x, zero at the origin, plus the elastic energy 1/2 g' C^-1 g of springs,
  // compliant joints and compliant contacts (with the gaps after the last step)
  double kinetic, potential, total;
} S2Energy;

S2Energy s2_world_energy(const S2World *world);
void s2_world_momentum(const S2World *world, double momentum[3]); // angular about the origin, x, y

// Findings of the setting `audit` in the last step, the largest of each kind (docs/audits.md).
typedef struct S2AuditResiduals {
  double passage;  // m: overlap of rigid shapes within the step, beyond the overlap at its start
  double jump;     // m: motion of a body that its velocity and impulses do not explain
  double slip;     // m: slip between surfaces held by friction
  double momentum; // N s: change that forces, contacts and joints do not explain
  double energy;   // J: energy without a cause that interacting bodies gained (> 0) or lost
  double distance; // m: distance between shapes that exchanged an impulse
  double drift;    // m/s or rad/s: violation of a rigid joint's row by the velocities
} S2AuditResiduals;

typedef struct S2WorldResiduals {
  S2Residual solve;   // largest over the islands of the last step
  double joint_error; // m, largest position error after the step
  double penetration; // m, largest overlap of rigid pairs after the step (0: none)
  S2AuditResiduals audit;
} S2WorldResiduals;

S2WorldResiduals s2_world_residuals(const S2World *world);

// Numbers of findings of the setting `audit`. A step with a finding counts as unsolved.
typedef struct S2AuditStats {
  uint64_t passages, overlaps; // pairs that changed sides; pairs that overlapped
  uint64_t jumps, slips, momenta, energies, events;
  uint64_t drifts; // joints whose velocities violate them
  double energy;   // J, the sum of S2AuditResiduals.energy over islands with known work
} S2AuditStats;

uint64_t s2_audit_findings(const S2AuditStats *stats); // sum of all findings
void s2_audit_stats_add(S2AuditStats *total, const S2AuditStats *stats);
// The message of the first finding. "" if there is none, or if `audit` has been switched off since.
// Valid until the next step.
const char *s2_world_finding(const S2World *world);

typedef struct S2WorldStats {
  uint64_t steps, solves, second_solves, projections, relinearisations, bisections, splits;
  uint64_t iterations; // interior-point iterations and pivots
  uint64_t unsolved;   // steps with a solve that missed the tolerance, or a finding of an audit
  uint64_t unsolved_solves; // island solves that missed the tolerance; a step may have several
  uint64_t cut; // steps with a solve that the budget ended; they do not count as unsolved
  // islands that kept their old rows because the step with new rows was not solved
  uint64_t rows_stayed;
  uint64_t halved;    // large islands stepped in two halves because the whole step was not solved
  uint64_t kept;      // islands that a step left unchanged without solving for them
  uint64_t shared;    // phases of islands that ran in threads (the setting `threads`)
  uint64_t stiffened; // islands that used implicit Euler with "psd", because forces turned too fast
  // Impacts treated as inelastic, because their restitution targets provably have no solution, or
  // (without such a proof) because no solver reached the tolerance.
  uint64_t contradictions, unsolved_impacts;
  // Contact points whose mode (open, stuck or sliding) differs from the last step. A point that
  // begins or ceases to carry an impulse, or whose friction reaches or leaves its bound, counts 1.
  uint64_t mode_changes;
  uint64_t used[S2_SOLVER_COUNT]; // island solves answered by each solver
  double worst_scaled, worst_penetration, worst_joint_error; // over all steps
  // s; 0 unless `profile` is set
  double seconds_broad, seconds_narrow, seconds_solve, seconds_project, seconds_total;
  // of the last step:
  int bodies, joints, contacts, islands, largest_island; // largest in contact points
  int last_iterations;
  S2SolveStatus last_status;
  size_t arena_bytes;
  S2AuditStats audit;
} S2WorldStats;

const S2WorldStats *s2_world_stats(const S2World *world);
// Adds the statistics of another world or of a part of the work. Counts, times and sizes add up.
// Residuals, largest islands and memory take the maximum. The last status becomes one that is not
// S2_SOLVED, if any.
void s2_stats_add(S2WorldStats *total, const S2WorldStats *stats);

// The problem that the next step would solve first from the present state, with all islands
// together. nodes[i] is the body of node i, or null for nodes of gears on more than two bodies; at
// most `capacity` are written. Free the problem with s2_problem_free.
S2Status s2_world_problem(S2World *world, S2Problem **problem, S2BodyId *nodes, int capacity);

// From now on, steps also write every island problem to DIR/problem-SSSSSS-II.txt (SSSSSS: step,
// II: solve within the step). NULL ends this.
S2Status s2_world_dump_problems(S2World *world, const char *directory);

// ---- Overlaps ---------------------------------------------------------------------------------

typedef struct S2Overlap {
  S2BodyId a, b;
  double depth; // m, > 0
} S2Overlap;

// Rigid pairs that now overlap by more than the tolerance, deepest first; returns their number. The
// overlap of compliant pairs is their deformation and does not count. Returns 0 if a filter aborts,
// or if there are too many pairs for a step (the next step reports them).
int s2_world_overlaps(S2World *world, S2Overlap *overlaps, int capacity);
// Separates bodies by the smallest mass-weighted motion; `remaining` is the largest overlap left.
S2Status s2_world_resolve_overlaps(S2World *world, double *remaining);

// ---- Queries ----------------------------------------------------------------------------------

typedef struct S2RayResult {
  S2BodyId body; // null: nothing hit
  S2Vec2 point, normal;
  double fraction;
} S2RayResult;

// Selects what a query finds (never disabled bodies). No filter, or all zeros: all but sensors.
typedef struct S2QueryFilter {
  uint32_t category; // 0: any body; else the body's mask has one of these bits
  uint32_t mask;     // 0: any body; else the body's category has one of these bits
  const S2BodyId *ignored;
  int ignored_count;
  bool sensors; // whether sensors are found, too
} S2QueryFilter;

// Nearest hit. A ray that begins on a surface and points inwards hits at fraction 0. A shape that
// contains the start is not hit (s2_shape_raycast).
S2RayResult s2_world_raycast(S2World *world, S2Vec2 from, S2Vec2 to, const S2QueryFilter *filter);
// All bodies along the ray, sorted by fraction, each at the point where the ray first enters one of
// its shapes. Returns their number and writes at most `capacity`.
int s2_world_raycast_all(S2World *world, S2Vec2 from, S2Vec2 to, const S2QueryFilter *filter,
                         S2RayResult *results, int capacity);
// Bodies with a shape whose box overlaps [lo, hi], or that contains the point; creation order.
int s2_world_query_box(S2World *world, S2Vec2 lo, S2Vec2 hi, const S2QueryFilter *filter,
                       S2BodyId *bodies, int capacity);
int s2_world_query_point(S2World *world, S2Vec2 point, const S2QueryFilter *filter,
                         S2BodyId *bodies, int capacity);

typedef struct S2ClosestBodies {
  double distance; // m, negative when overlapping
  S2Vec2 point_a, point_b, normal;
} S2ClosestBodies;
S2Status s2_world_closest(S2World *world, S2BodyId a, S2BodyId b, S2ClosestBodies *closest);

// ---- State ------------------------------------------------------------------------------------

// The motion only: a x y va vx vy of each dynamic body in creation order.
int s2_world_state_size(const S2World *world);
void s2_world_state(const S2World *world, double *state);
S2Status s2_world_set_state(S2World *world, const double *state, int count); // drops warm starts

// The whole world, bit for bit: a restored world continues with the same bits. Handles to objects
// in the image are valid again; handles to later objects are stale.
size_t s2_world_image_size(const S2World *world);
void s2_world_image_write(const S2World *world, void *image);
S2Status s2_world_image_read(S2World *world, const void *image, size_t size);
// Restores an image that this world wrote when s2_world_changes was `changes`. If only the motion
// has changed since, the prepared data of its steps stay valid, and so does s2_world_changes.
S2Status s2_world_image_return(S2World *world, const void *image, size_t size, uint64_t changes);
// Counts changes of a world other than its motion (states, forces, impulses, commands).
uint64_t s2_world_changes(const S2World *world);
S2Status s2_world_clone(const S2World *world, S2World **clone); // without callbacks

uint64_t s2_world_hash(const S2World *world); // hash of the bits of time, q and v, to compare runs

#endif
