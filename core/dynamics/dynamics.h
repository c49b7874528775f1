// Worlds of rigid bodies: what a program (or the Lua binding) sees of the engine.
//
// A script fills a world; a step turns the world into complementarity problems, one an island,
// solves them and moves the bodies. Units are SI, angles counter-clockwise, y up. A body's position
// is its centre of mass. Bodies and joints are named by handles; a handle to something destroyed is
// an S2_STALE error, never a crash. A call that fails leaves the world unchanged.
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

// Null when index is 0. A serial is never used twice in a world and its copies.
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
  S2_AUTO, // event for islands of few bodies, speculative for larger ones, and for worlds with
           // other settings that event stepping does not take
} S2Stepping;

typedef enum S2FlowRule {
  S2_FLOW_PROJECTED, // velocities by implicit Euler, positions by projection
  S2_FLOW_RATTLE,    // positions and velocities in a stage each, order 2, where an island allows it
  S2_FLOW_AUTO,      // S2_FLOW_RATTLE with event stepping and no option that excludes it
} S2FlowRule;
// The friction law of contacts. S2_CONVEX is a convex form of Coulomb's law
// (mcp/problem/convex.h), for rigid contacts under S2_SPECULATIVE.
typedef enum S2ContactModel { S2_COULOMB, S2_FRICTIONLESS, S2_CONVEX } S2ContactModel;
typedef enum S2Stabilization { // what is done about joint errors and overlaps
  S2_PROJECTION,               // positions projected until nothing is left; velocities by SHAKE
  S2_NO_STABILIZATION,
  S2_BAUMGARTE,     // rows ask for a fifth of the error within the step
  S2_PRE,           // positions projected by one linear solve before the step
  S2_POST,          // after it, with the rows of its start and the errors of its end
  S2_POST_ASSEMBLY, // after it, with rows assembled again
} S2Stabilization;
// Part of a joint error or an overlap that S2_BAUMGARTE asks the velocities to remove in a step: 1
// overshoots where rows are curved, and what is asked stays in the velocities as energy.
#define S2_BAUMGARTE_FACTOR 0.2

typedef enum S2RestitutionModel {
  S2_NEWTON,      // every contact of an impact leaves with e times the speed it arrived with
  S2_REFLECTIONS, // generalised reflections: an impact travels through bodies that touch
} S2RestitutionModel;
// The unknown of the step problem: v+, v+ - v_k or (v+ - v_k)/h. The trajectory is the same.
typedef enum S2Formulation {
  S2_FORM_VELOCITY,
  S2_FORM_ACCELERATION,
  S2_FORM_VARIATION
} S2Formulation;
// How springs and compliant joints enter it: as rows J v + C' l + b = 0, or as stiffness in W with
// the elastic force on the right side. The trajectory is the same.
typedef enum S2Elasticity { S2_AS_COMPLIANCE, S2_AS_STIFFNESS } S2Elasticity;
// The part of the stiffness by turning joint forces that is added to W: none, all, or its
// positive part.
typedef enum S2GeometricStiffness {
  S2_GEOMETRIC_OFF,
  S2_GEOMETRIC_ON,
  S2_GEOMETRIC_PSD
} S2GeometricStiffness;
// Which derivative s2_trace_vjp (diff/step/trace.h) gives. The motion is the same.
typedef enum S2GradientMode {
  S2_GRADIENT_EXACT,  // every contact goes on as it does
  S2_GRADIENT_SMOOTH, // velocities as on the central path at `smoothing` (mcp/adjoint/mcp_vjp.h)
} S2GradientMode;
typedef enum S2Combine {
  S2_COMBINE_GEOMETRIC, // sqrt(a b)
  S2_COMBINE_AVERAGE,
  S2_COMBINE_MULTIPLY,
  S2_COMBINE_MIN,
  S2_COMBINE_MAX,
} S2Combine;

// The settings, their defaults and what they may be are the lines of fields.def. Beside what is
// said there: with `alpha` below 1 forces act with alpha times their value at the end of the step,
// with `beta` positions move with beta times the velocity there, the rest from its start
// (docs/stepping-options.md); (1, 1) is implicit Euler, (1/2, 1/2) of second order. beta = 0:
// joints must be compliant. `tolerance` is on S2Residual.scaled, `smoothing` the kappa of
// S2_GRADIENT_SMOOTH.
typedef struct S2WorldDef {
#define S2_SETTING(member, type, default, domain, names, unit, derivative, meaning) type member;
#define S2_PROGRAM_SETTING(member, type, default, domain, names, unit, derivative, meaning)        \
  type member;
#include "dynamics/fields.def"
} S2WorldDef;

S2WorldDef s2_world_def(void); // the defaults
// What `stepping` comes to, where S2_AUTO is one of S2_EVENT (its large islands by themselves are
// speculative) and S2_SPECULATIVE; never S2_AUTO.
S2Stepping s2_world_way(const S2WorldDef *def);
// Do islands that allow it take the flow by two stages? What S2_FLOW_AUTO stands for.
bool s2_world_rattles(const S2WorldDef *def);
S2Status s2_world_create(const S2WorldDef *def, S2World **world);
void s2_world_destroy(S2World *world);
const S2WorldDef *s2_world_settings(const S2World *world);
// Changes gravity, dt, solver, tolerance ... of a living world; checked like at creation.
S2Status s2_world_configure(S2World *world, const S2WorldDef *def);

double s2_world_time(const S2World *world); // s
uint64_t s2_world_step_count(const S2World *world);
// Stands for what the world is made of: bodies, shapes and joints, their names, types, colours and
// masses, whether they are enabled; not for what moves. The same number a second time: nothing of
// that has changed. Never 0. Each world counts for itself: numbers of two say nothing.
uint64_t s2_world_revision(const S2World *world);

// ---- Bodies -----------------------------------------------------------------------------------

typedef enum S2BodyType { S2_DYNAMIC, S2_STATIC, S2_KINEMATIC } S2BodyType;

enum { S2_NAME_SIZE = 48 }; // bytes of a name with its final 0

// m/N: a contact this soft carries a micronewton a metre; beyond it C/h^2 might overflow.
#define S2_SOFTEST_CONTACT 1e6

typedef struct S2ShapeDef {
  const S2Vec2 *vertices; // m, relative to the body's given position; copied
  int count;
  double radius;                // m
  double friction, restitution; // NAN: the body's
  double density;               // kg/m^2; NAN: the body's
  bool has_previous, has_next;  // terrain chains, see S2Shape
  S2Vec2 previous, next;
} S2ShapeDef;

// Beside the numbers that have lines in fields.def. A kinematic body with a bound on its force
// yields: it has its mass, gravity does not act on it, and a lock (s2_body_drive) moves it along x,
// y and the angle as its velocity or motion says.
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
S2Status s2_body_destroy(S2World *world, S2BodyId body); // its joints go with it
bool s2_body_alive(const S2World *world, S2BodyId body);

// Numbers of a body, by name. Setting one checks it (finite, in its domain; the message names
// field, value and domain). A position set by hand drops the warm start of the body's contacts.
typedef enum S2BodyField {
  S2_BODY_ANGLE,
  S2_BODY_X,
  S2_BODY_Y,
  S2_BODY_OMEGA,
  S2_BODY_VX,
  S2_BODY_VY,
  S2_BODY_STATE_COUNT, // as many make its state; those of s2_body_fields follow, in their order:
  S2_BODY_BEFORE_FIELDS = S2_BODY_STATE_COUNT - 1,
// mass and inertia of what nothing pushes are infinite and cannot be set
#define S2_BODY_NUMBER(ID, member, default, domain, most, unit, meaning) S2_BODY_##ID,
#define S2_BODY_BOUND(ID, member, default, domain, most, unit, meaning)  S2_BODY_##ID,
#define S2_BODY_MARK(ID, member, type, default, domain, names, meaning)  S2_BODY_##ID,
#include "dynamics/fields.def"
  S2_BODY_FIELD_COUNT
} S2BodyField;

const S2Field *s2_body_field(S2BodyField field); // of the state: name and domain
S2Status s2_body_get(const S2World *world, S2BodyId body, S2BodyField field, double *value);
S2Status s2_body_set(S2World *world, S2BodyId body, S2BodyField field, double value);
S2Status s2_body_set_q(S2World *world, S2BodyId body,
                       const double q[3]); // angle, x, y; all or none
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

// "" when it has none. Names need not be unique.
S2Status s2_body_name(const S2World *world, S2BodyId body, const char **name);
S2Status s2_body_set_name(S2World *world, S2BodyId body, const char *name);

// Acts during the next step only; adds up. `at` in world coordinates, NULL: the centre of mass.
S2Status s2_body_apply_force(S2World *world, S2BodyId body, S2Vec2 force, const S2Vec2 *at);
S2Status s2_body_apply_torque(S2World *world, S2BodyId body, double torque);
// Acts at once on the velocity.
S2Status s2_body_apply_impulse(S2World *world, S2BodyId body, S2Vec2 impulse, const S2Vec2 *at);
S2Status s2_body_force(const S2World *world, S2BodyId body, double force[3]); // gathered so far
// Asks for S2Callbacks.force to be called for this body in every step (S2ForceCall).
S2Status s2_body_set_force_law(S2World *world, S2BodyId body, bool has_law);
// Asks for S2Callbacks.motion to be called for this kinematic body.
S2Status s2_body_set_motion(S2World *world, S2BodyId body, bool has_motion);
// The lock that moves a kinematic body with a bound on its force; null: there is none. It goes when
// both bounds are infinite again.
S2JointId s2_body_drive(const S2World *world, S2BodyId body);
bool s2_body_has_motion(const S2World *world, S2BodyId body);

// Shapes of a body, in creation order, vertices in the body frame (borrowed until the next change).
int s2_body_shape_count(const S2World *world, S2BodyId body); // 0 for a stale handle
S2Status s2_body_shape(const S2World *world, S2BodyId body, int index, S2Shape *shape);

// Living bodies in creation order; writes at most `capacity`, returns how many there are.
int s2_world_bodies(const S2World *world, S2BodyId *bodies, int capacity);
S2BodyId s2_world_body(const S2World *world, int index); // {0, 0}: there are fewer

// Two bodies that shall never touch (order does not matter), and back.
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
  int size;         // 0: the two numbers; else rows (and columns) of the matrix
  double matrix[9]; // row-major, size * size of it
} S2JointWeights;

// Bodies that a constraint may join, and the columns of its gradient.
enum { S2_JOINT_BODIES = 4, S2_JOINT_COLUMNS = 3 * S2_JOINT_BODIES };

typedef struct S2JointDef {
  S2JointType type;
  S2BodyId a, b;             // one of them may be null: the world (lock and mouse: b is)
  S2Vec2 anchor_a, anchor_b; // m, world coordinates; NAN: the centre of mass. Where the bodies
                             // share a point (hinge, weld, slider, wheel) it is anchor_a
#define S2_JOINT_KEY(member, type, default, domain, required) type member;
#include "dynamics/fields.def"
  double stiffness;                // spring, mouse, wheel: N/m, >= 0, to be given
  S2JointId joint_a, joint_b;      // gear
  bool lock_x, lock_y, lock_angle; // lock
  bool driven;                     // lock: moves as S2Callbacks.motion says
  bool has_law;                    // spring: pulls as S2Callbacks.spring says; no stiffness then
  S2Vec2 velocity;                 // lock: m/s
  S2JointWeights compliance;       // zero: rigid; not for spring, mouse, wheel, rope
  S2JointWeights damping;          // of what is compliant; spring, mouse, wheel: `linear`
  bool has_limits, has_motor;      // on the coordinate: hinge, slider, spring, wheel
  double limit_lo, limit_hi;       // rad or m; may be infinite
  double motor_speed, motor_max;   // rad/s or m/s; N m or N, >= 0, may be infinite
  double break_force;              // N (N m where there is no force), > 0, may be infinite
  S2BodyId more[2];                // constraint: its third and fourth body, null: none
  int rows;                        // constraint: 1 to 3; of a unilateral one 1
  bool velocity_only;              // constraint: rows J v + rate = 0 without a value
  bool unilateral;                 // constraint: value >= 0 (velocity_only: J v + rate >= 0)
  bool has_jacobian, has_hessian;  // constraint: its callback knows them; else by differences
  bool has_rate;                   // the same; else 0 (velocity_only) or a difference over dt
  // constraint of one row: J v + rate = 0 as far as a force from bound_lo to bound_hi (N or N m,
  // lo < hi, finite) can; or, with coupled_to, one of at most `friction` times that of a unilateral
  // constraint between the same bodies, its friction. Neither holds a value.
  bool bounded;
  double bound_lo, bound_hi;
  S2JointId coupled_to;
  // NAN: as the world; else projections leave its error alone, and rows of a motion ask for this
  // part of it within the step, 0 to 1
  double stabilization;
  bool collide; // do the two bodies still touch each other (default no)
  const char *name;
} S2JointDef;

// The defaults of a type: no limits, no motor, rigid, cannot break.
S2JointDef s2_joint_def(S2JointType type);
// Fails with S2_INVALID (the message names field, value and domain) or S2_STALE.
S2Status s2_joint_create(S2World *world, const S2JointDef *def, S2JointId *joint);
S2Status s2_joint_destroy(S2World *world, S2JointId joint); // gears on it go with it
bool s2_joint_alive(const S2World *world, S2JointId joint);
const char *s2_joint_type_name(S2JointType type);

// How pictures show what is between the two anchors of a joint, and the anchors.
typedef enum S2JointSpan {
  S2_SPAN_NONE,
  S2_SPAN_LINE,
  S2_SPAN_FAINT, // the way along an axis
  S2_SPAN_SPRING,
  S2_SPAN_ERROR // nothing should be there, unless it gives way
} S2JointSpan;
typedef enum S2JointDots {
  S2_DOTS_NONE, // has no place of its own
  S2_DOTS_ENDS, // a dot at each anchor
  S2_DOTS_RING, // what turns
  S2_DOTS_FIXED // what does not
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
// Has a joint of this type the field, and may it be written?
bool s2_joint_type_has(S2JointType type, S2JointField field);
bool s2_joint_type_sets(S2JointType type, S2JointField field);
S2Status s2_joint_get(const S2World *world, S2JointId joint, S2JointField field, double *value);
S2Status s2_joint_set(S2World *world, S2JointId joint, S2JointField field, double value);
// The joint goes to limits that exclude its coordinate within a step; s2_joint_create refuses them.
S2Status s2_joint_set_limits(S2World *world, S2JointId joint, double lo, double hi);
// Is its coordinate within its limits, but for what numbers of a few decimals leave (S2_MISFIT of
// the bodies' size)?
bool s2_joint_is_within(const S2World *world, S2JointId joint);
typedef struct S2JointCoordinate {
  S2JointId joint; // a hinge or slider
  double value;    // rad or m
} S2JointCoordinate;
// Moves bodies so that these joints have these coordinates and all joints are as exact as before:
// the lighter side of each, with all that hangs there; other coordinates stay, but for those that
// close a loop, which stays closed in the way it is. Speeds of coordinates stay; those of a loop
// are made to fit by the next step. S2_INVALID, with nothing moved: a joint of another
// type, a value beyond its limits, a loop that cannot be closed.
S2Status s2_world_set_coordinates(S2World *world, const S2JointCoordinate *set, int count);
// Gives the bodies beyond a joint (hinge, slider, wheel, spring, rope), that is the lighter side of
// it, or the one that the ground does not hold, the rigid motion with which its coordinate changes
// at this rate: rad/s or m/s. Speeds of other coordinates stay, but for those of loops, which stay
// closed. S2_INVALID, with nothing changed: a joint of another type, a loop that does not let it.
S2Status s2_joint_set_speed(S2World *world, S2JointId joint, double speed);
// Which bodies that are (room for all of the world), and whether they are on the side of a.
// S2_UNAVAILABLE: loops move others, too.
S2Status s2_joint_branch(S2World *world, S2JointId joint, S2BodyId *bodies, int *count, bool *of_a);
S2Status s2_joint_set_target(S2World *world, S2JointId joint, S2Vec2 target); // mouse
S2Status s2_joint_set_velocity(S2World *world, S2JointId joint,               // lock
                               const double velocity[3]);                     // angle, x, y

enum { S2_JOINT_WAY = 2 };

typedef struct S2JointInfo {
  S2JointType type;
  S2BodyId a, b, more[2];     // more: of a gear or constraint, null: none
  S2JointId joint_a, joint_b; // gear
  bool enabled, broken, collide;
  bool compliant;            // has rows that give way, apart from those of springs
  const char *name;          // borrowed
  S2Vec2 anchor_a, anchor_b; // world coordinates now
  int ways;                  // points of the world it goes by from anchor_a to anchor_b
  S2Vec2 way[S2_JOINT_WAY];
  S2Vec2 axis;            // slider, wheel: unit vector, world coordinates now
  S2Vec2 target;          // mouse
  bool driven;            // lock
  bool has_law;           // spring
  double velocity[3];     // lock: angle, x, y; driven: the mean of the last (sub-)step
  S2Vec2 impulse;         // on a, N s, of the last step or part of it (world axes)
  double angular_impulse; // on a, about its anchor, N m s
  S2Vec2 force;           // on a, N: impulse over the time it acted
  double torque;          // on a, about its anchor, N m
  double angle, speed;    // of a against b, rad and rad/s, zero at creation
  double error;           // m: of rigid rows and limits (angles times the size of the bodies);
                          // of constraints: at the end of the last step
} S2JointInfo;

S2Status s2_joint_info(const S2World *world, S2JointId joint, S2JointInfo *info);
S2JointType s2_joint_type(const S2World *world, S2JointId joint); // of one that is alive
const char *s2_joint_name(const S2World *world, S2JointId joint); // "" where it is destroyed
int s2_world_joints(const S2World *world, S2JointId *joints, int capacity); // creation order
S2JointId s2_world_joint(const S2World *world, int index); // {0, 0}: there are fewer

// ---- Stepping ---------------------------------------------------------------------------------

// A contact as a pre-solve callback sees it. Fields without `const` may be changed.
typedef struct S2PreContact {
  S2BodyId a, b;
  S2Vec2 point, normal; // world; normal from b to a
  double gap;           // m
  double friction, restitution;
  double surface_speed; // m/s, of b's surface against a's along the left-turned normal
  bool enabled;         // true; false: no contact in this step
} S2PreContact;

// How a number that a callback gives changes with what it was asked with; for the derivative of the
// step (diff/step/trace.h). `by` of a constraint: (angle, x, y) of its bodies, then t (12); of a
// spring: the extension; of a motion: angle, x, y, t, h, then the velocity of the same number that
// was there.
typedef struct S2Slope {
  double by[S2_JOINT_COLUMNS + 1];
  uint32_t origin; // what else it came from: a number of the callback's own, 0: nothing
} S2Slope;

// A call of a constraint's function. Poses are angle (rad), x, y (m). A field that is NULL is not
// asked for. The answer must depend on the arguments alone, because a step keeps it.
typedef struct S2ConstraintCall {
  S2JointId joint;                      // null while s2_joint_create makes it
  int bodies;                           // 1 to 4
  double q[S2_JOINT_BODIES][3];         // of a, b and S2JointDef.more
  double t;                             // s
  int rows;                             // of the joint
  double *value;                        // a row: g, m or rad
  double (*jacobian)[S2_JOINT_COLUMNS]; // a row: dg by (angle, x, y) of a, of b, ...
  double *rate;                         // a row: dg/dt at fixed poses, m/s or rad/s
  double (*hessian)[S2_JOINT_COLUMNS][S2_JOINT_COLUMNS]; // a row: second derivatives
  S2Slope *slope; // NULL, or for each number asked for, in their order; zero until it is filled in
  bool sloped;    // set where it was; else the step has no derivative
} S2ConstraintCall;

// A call of a spring's law: the pull (N) at an extension (m, beyond the rest length), and its
// derivative by the extension (N/m). The answer must depend on the extension alone.
typedef struct S2SpringCall {
  S2JointId joint;
  double extension, force, tangent;
  S2Slope *slope; // NULL, or of force and tangent
  bool sloped;
} S2SpringCall;

// How one number of a force law changes with one number of the state that it saw.
typedef struct S2ForceTerm {
  int number;       // of S2ForceCall.force
  int32_t slot;     // of the body, S2BodyId.index - 1
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
  double force[3]; // N m, N: 0 until it is added to
  // For the derivative of the step:
  bool wanted; // slopes are; the rest is read only where it is
  bool timed;  // by_time too, though dt is no variable: t is when bodies meet
  bool sloped; // set where they were given, else the step has no derivative
  double by_time[3], by_dt[3];
  uint32_t origin[3]; // as in S2Slope
} S2ForceCall;
// From within S2Callbacks.force: `force[number]` changes by `by` for each unit of that part of the
// state of the body of that slot. Terms add up.
void s2_force_slope(S2World *world, int number, int32_t slot, S2BodyField part, double by);

enum { S2_MOTION_NUMBERS = 9 }; // of v, start and end of S2MotionCall

// How fast a kinematic body (s2_body_set_motion) or a driven lock is to move in the (sub-)step from
// t to t + h. For a position p(t) that is (p(t + h) - q)/h, which is exact at t + h and does
// not drift. May be asked more than once for a step; must depend on nothing but this.
typedef struct S2MotionCall {
  S2BodyId body; // one of the two is null
  S2JointId joint;
  double t, h;    // s
  double q[3];    // angle (rad), x, y (m): where the body is, or where the lock holds it, at t
  double v[3];    // the mean velocity, rad/s, m/s; what is there already is that of the last step
  S2Slope *slope; // NULL, or of v and, where `ends` is set, of start and end behind it
  bool sloped;
  // Asked for where `ends` is set, with S2_FLOW_RATTLE: the velocities at t and at t + h. A number
  // that stays NAN is taken from v.
  bool ends;
  double start[3], end[3];
  // Set where v leads to a place that is given, p(t + h): a lock or body with a bound on its force
  // goes back there when it has yielded. Else it goes on from where it is.
  bool place[3];
} S2MotionCall;

// Called from inside s2_world_step. The world must not be changed from them (S2_BUSY) apart from
// what they return. Returning false aborts: the step is undone and s2_world_step gives S2_ABORTED.
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
  // Adds to call->force (torque, fx, fy); called for bodies with a force law, in the order in which
  // they were made.
  bool (*force)(void *user, S2World *world, S2ForceCall *call);
  // May these two touch? Asked once, when their boxes first meet, and again after they parted.
  bool (*filter)(void *user, S2World *world, S2BodyId a, S2BodyId b, bool *collide);
  bool (*pre_solve)(void *user, S2World *world, S2PreContact *contact);
  // Fills in what is asked. Joints of type S2_CONSTRAINT rest while this is NULL. Also called by
  // s2_joint_create and s2_world_problem. Numbers that are not finite fail the step (S2_INVALID).
  bool (*constraint)(void *user, S2World *world, S2ConstraintCall *call);
  // Fills in call->v. Bodies and locks that ask for it stand still while this is NULL, and in
  // s2_world_solve_static (which fails where there is such a lock).
  bool (*motion)(void *user, S2World *world, S2MotionCall *call);
  // Fills in force and tangent. Springs with a law rest while this is NULL.
  bool (*spring)(void *user, S2World *world, S2SpringCall *call);
  // Solves what S2_SOLVER_PROGRAM is asked for, see S2ProgramSolver; `found` is what that returns.
  bool (*solve)(void *user, S2World *world, S2ProgramCall *call);
  // Polled now and then in long steps; false stops the step as an abort (Ctrl-C).
  bool (*proceed)(void *user);
} S2Callbacks;

void s2_world_set_callbacks(S2World *world, const S2Callbacks *callbacks);

// Advances the world by dt (stepping_partial: possibly by less), in `substeps` equal parts. Forces
// by hand act in all of them; force laws are asked in each, with its time and length. Events and
// the impulses of contacts are those of the whole step; residuals the worst of its parts.
S2Status s2_world_step(S2World *world);

// The same of many worlds, which know nothing of each other: each has the bits that s2_world_step
// gives it. Worlds that hinges and sliders alone hold, where nothing can collide, are stepped side
// by side in the lanes of the processor if they hang together alike (masses, anchors, states and dt
// may differ), the others one after the other. `each` (may be NULL) gets the status of each
// world; returned is that of the first one that failed. A world that is there twice is S2_INVALID,
// and nothing is stepped. Callbacks are those of each world, called from this thread.
S2Status s2_worlds_step_many(S2World *const *worlds, int count, S2Status *each);

// Moves the bodies to rest: to where no body would accelerate, from rest, by more than `tolerance`
// (turning counted at the farthest point of a body). Time stands still, forces by hand act
// throughout, kinematic bodies wait; velocities of dynamic bodies are 0 at the end. Not solved is
// no error: result->solved says so, and the bodies are where `max_steps` steps brought them. If a
// step fails, the world is unchanged.
typedef struct S2StaticOptions {
  double tolerance; // m/s^2, > 0
  int max_steps;    // >= 1
} S2StaticOptions;

typedef struct S2StaticResult {
  bool solved;
  double residual; // m/s^2, at the last stop
  int steps;
} S2StaticResult;

S2StaticOptions s2_static_options(void); // the defaults
S2Status s2_world_solve_static(S2World *world, const S2StaticOptions *options,
                               S2StaticResult *result);

// A place to come back to, kept inside the world (one level): for callers whose own callbacks run
// around a step and may fail.
void s2_world_mark(S2World *world);
void s2_world_rollback(S2World *world);

typedef enum S2EventType {
  // Events of two bodies, for any of their shapes and features:
  S2_CONTACT_BEGIN, // nearer than contact_margin, or they touched within the step
  S2_CONTACT_END,
  S2_TOUCH_BEGIN,  // they met: an impulse acted between them in the step, or there is no gap
  S2_TOUCH_END,    // a step without
  S2_SENSOR_BEGIN, // `a` is the sensor
  S2_SENSOR_END,
  S2_CONTACT_IMPULSE, // the impulse of this step, one event a contact that has a normal one
  S2_JOINT_BREAK,     // a joint carried more than its break_force and is disabled
  S2_SOLVER_WARNING,  // numbers: unsolved step, overlap at the start, smallest dt reached
} S2EventType;

typedef struct S2Event {
  S2EventType type;
  S2BodyId a, b;        // may be null (warnings), may be stale by the time they are read
  S2Vec2 point, normal; // of touch_begin: where the largest impulse acted
  // N s; of touch_begin all of the step between the two, of touch_end all since touch_begin
  double normal_impulse, tangent_impulse; // of touch_end only the former
  S2Vec2 impulse;      // N s, on a: the same as a vector (contact_impulse, touch_begin, touch_end)
  double speed;        // approach before the step, m/s; of touch_begin that with which they met
  S2JointId joint;     // that broke, at `point`
  double force;        // N, that broke it
  const char *message; // warnings; else ""
} S2Event;

// Events of the last step, valid until the next.
const S2Event *s2_world_events(S2World *world, int *count);

// ---- Reading ----------------------------------------------------------------------------------

typedef struct S2Contact {
  S2BodyId a, b;
  S2Vec2 point;  // world: where this feature of the two is at the end of the step, touching or not
  S2Vec2 normal; // from b to a: along which the impulse acted; without one, of the end of the step
  double gap;    // m, at the end of the step
  // N s on a, along the normal and the left-turned normal: all that acted at this feature in the
  // step, so that the sum over contacts is what the bodies got.
  double normal_impulse, tangent_impulse;
  // N m s of both on a and on b about their centres, with the arms as they acted: the bodies move
  // within a step, so those of `point` are off by as much.
  double angular_impulse_a, angular_impulse_b;
  bool sliding;             // carries an impulse and its friction is at its bound
  int32_t shape_a, shape_b; // which of the world's
  uint32_t feature;         // of those, the same in the next step
} S2Contact;

// Contacts (sensors excluded) closer than contact_margin after the last step, and those that
// carried an impulse in it wherever they are now; valid until the next change of the world. Bodies
// moved by hand since: geometry is that of the last step.
const S2Contact *s2_world_contacts(S2World *world, int *count);

// The impulse of all contacts of the last step on a body: angular about its centre (N m s), x, y (N
// s).
S2Status s2_body_contact_impulse(const S2World *world, S2BodyId body, double impulse[3]);
// The impulse of corrections by the step itself: event stepping takes back the energy of lifts by
// projection, and bodies that only joints connect keep their spin. Forces, contacts, joints and
// corrections together are the whole change of the body's momentum.
S2Status s2_body_correction(const S2World *world, S2BodyId body, double impulse[3]);

typedef struct S2Energy {
  // J; potential: -m g'x, zero at the origin, and the elastic energy 1/2 g' C^-1 g of springs,
  // compliant joints and compliant contacts (their gaps are those after the last step)
  double kinetic, potential, total;
} S2Energy;

S2Energy s2_world_energy(const S2World *world);
void s2_world_momentum(const S2World *world, double momentum[3]); // angular about the origin, x, y

// Findings of the setting `audit` in the last step, the worst of each kind. 0: none. See
// docs/audits.md.
typedef struct S2AuditResiduals {
  double passage;  // m, of a pair of rigid shapes within the step, beyond the overlap it began with
  double jump;     // m, that a body moved beyond what its velocity and impulses explain
  double slip;     // m, between surfaces that friction holds
  double momentum; // N s, of a body, that forces, contacts and joints do not explain
  double energy;   // J, of bodies that act on each other: gained (> 0) or lost without a cause
  double distance; // m, between shapes that an impulse acted on
  double drift;    // m/s or rad/s, of a row of a rigid joint: what its velocities violate it by
} S2AuditResiduals;

typedef struct S2WorldResiduals {
  S2Residual solve;   // worst over the islands of the last step
  double joint_error; // m, largest position error after the step
  double penetration; // m, largest overlap of rigid pairs after the step (0: none)
  S2AuditResiduals audit;
} S2WorldResiduals;

S2WorldResiduals s2_world_residuals(const S2World *world);

// Findings of the setting `audit`. A step with one counts as unsolved.
typedef struct S2AuditStats {
  uint64_t passages, overlaps; // pairs that changed sides; that were in each other
  uint64_t jumps, slips, momenta, energies, events;
  uint64_t drifts; // joints with velocities that they do not allow
  double energy; // J, the sum of what S2AuditResiduals.energy was, for islands whose work is known
} S2AuditStats;

uint64_t s2_audit_findings(const S2AuditStats *stats); // their sum
void s2_audit_stats_add(S2AuditStats *total, const S2AuditStats *stats);
// The first finding, as its warning said it; "" if there is none, or if `audit` has been set to
// false since. Valid until the next step.
const char *s2_world_finding(const S2World *world);

typedef struct S2WorldStats {
  uint64_t steps, solves, second_solves, projections, relinearisations, bisections, splits;
  uint64_t iterations; // interior-point iterations and pivots
  uint64_t unsolved;   // steps with a solve that missed the tolerance, or a finding of an audit
  uint64_t unsolved_solves; // island solves that did: of one step several may
  uint64_t cut; // steps with a solve that the budget ended; these are not among the unsolved
  uint64_t rows_stayed; // islands whose rows should have been made again, where that was not solved
  uint64_t halved;    // times that a large island was stepped by half, as the whole was not solved
  uint64_t kept;      // islands that steps left as the last one had, without solving for them
  uint64_t shared;    // phases of islands that threads have done (the setting `threads`)
  uint64_t stiffened; // islands that took implicit Euler with "psd", as forces turned too fast
  // Impacts taken as inelastic: those whose restitution targets were proved to have no solution,
  // and those where none was found to the tolerance and nothing is proved.
  uint64_t contradictions, unsolved_impacts;
  // Contact points that were open, stuck or slipped otherwise than in the step before: one that
  // begins or ceases to carry an impulse, or whose friction comes to or leaves its bound, counts 1.
  uint64_t mode_changes;
  uint64_t used[S2_SOLVER_COUNT]; // island solves answered by each solver
  double worst_scaled, worst_penetration, worst_joint_error; // over all steps
  // s; 0 without the setting `profile`
  double seconds_broad, seconds_narrow, seconds_solve, seconds_project, seconds_total;
  // of the last step:
  int bodies, joints, contacts, islands, largest_island; // largest in contact points
  int last_iterations;
  S2SolveStatus last_status;
  size_t arena_bytes;
  S2AuditStats audit;
} S2WorldStats;

const S2WorldStats *s2_world_stats(const S2World *world);
// Adds those of another world, or of a part of the work: counts, times and sizes add up; of
// residuals, largest islands and memory the largest stays, of the last status one that is no
// S2_SOLVED.
void s2_stats_add(S2WorldStats *total, const S2WorldStats *stats);

// The problem the next step would solve from the present state, all islands together (first solve
// of the step). nodes[i] is the body of node i, null for those of gears on more than two bodies.
// Free with s2_problem_free; `nodes` is written up to `capacity`.
S2Status s2_world_problem(S2World *world, S2Problem **problem, S2BodyId *nodes, int capacity);

// Every island problem solved from now on is also written to DIR/problem-SSSSSS-II.txt (step,
// solve number within it). NULL ends it.
S2Status s2_world_dump_problems(S2World *world, const char *directory);

// ---- Overlaps ---------------------------------------------------------------------------------

typedef struct S2Overlap {
  S2BodyId a, b;
  double depth; // m, > 0
} S2Overlap;

// Rigid pairs that overlap by more than the tolerance now, deepest first; returns how many there
// are. Compliant pairs overlap by what they give way: they are no overlaps here. 0 where a filter
// stops it, or where they are too many for a step (which says so).
int s2_world_overlaps(S2World *world, S2Overlap *overlaps, int capacity);
// Moves bodies apart, as little as possible (mass-weighted); `remaining` is the largest overlap
// left.
S2Status s2_world_resolve_overlaps(S2World *world, double *remaining);

// ---- Queries ----------------------------------------------------------------------------------

typedef struct S2RayResult {
  S2BodyId body; // null: nothing hit
  S2Vec2 point, normal;
  double fraction;
} S2RayResult;

// Which bodies a query finds; disabled ones never. Zeros, or no filter: all that are no sensors.
typedef struct S2QueryFilter {
  uint32_t category; // 0, or bits one of which the body's mask has
  uint32_t mask;     // 0, or bits one of which the body's category has
  const S2BodyId *ignored;
  int ignored_count;
  bool sensors; // these, too
} S2QueryFilter;

// Nearest hit. A ray that begins on a surface and points inwards hits at fraction 0; a shape that
// it begins in is not hit (s2_shape_raycast).
S2RayResult s2_world_raycast(S2World *world, S2Vec2 from, S2Vec2 to, const S2QueryFilter *filter);
// All bodies on the way, each where the ray first enters one of its shapes, by fraction. Returns
// how many there are and writes as many as there is room for.
int s2_world_raycast_all(S2World *world, S2Vec2 from, S2Vec2 to, const S2QueryFilter *filter,
                         S2RayResult *results, int capacity);
// Bodies with a shape whose box overlaps [lo, hi] / that contain the point; creation order.
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

// Physics only: a x y va vx vy of each dynamic body in creation order.
int s2_world_state_size(const S2World *world);
void s2_world_state(const S2World *world, double *state);
S2Status s2_world_set_state(S2World *world, const double *state, int count); // drops warm starts

// Everything, bit for bit: a restored world goes on with the same bits. Handles to what existed
// then are valid again, handles to what came later are stale.
size_t s2_world_image_size(const S2World *world);
void s2_world_image_write(const S2World *world, void *image);
S2Status s2_world_image_read(S2World *world, const void *image, size_t size);
// The same for an image that this very world wrote when s2_world_changes was `changes`. Where
// nothing but motion lies between, what was prepared for its steps stays, and so does
// s2_world_changes.
S2Status s2_world_image_return(S2World *world, const void *image, size_t size, uint64_t changes);
// Counts what is done to a world but for its motion: states, forces, impulses, commands.
uint64_t s2_world_changes(const S2World *world);
S2Status s2_world_clone(const S2World *world, S2World **clone); // without callbacks

uint64_t s2_world_hash(const S2World *world); // of the bits of time, q and v: for comparing runs

#endif
