// Private to core/dynamics: what joint types are made of.
//
// A joint type is a file (hinge.c ...) with an S2JointKind. Everything about a joint is a smooth
// function of the poses of its two bodies: up to three equations g(q) = 0, the coordinate that
// limits and gears act on, and the one that motor and friction act on. Most are measures
// (measure.c), whose derivatives and their adjoints are known; a type with others has functions of
// its own.
#ifndef S2_JOINT_H
#define S2_JOINT_H

#include "dynamics/world/world.h"

typedef enum S2Asked { // what the program is asked within a step
  S2_ASKED_VALUE,      // of a constraint
  S2_ASKED_JACOBIAN,
  S2_ASKED_RATE,
  S2_ASKED_HESSIAN,
  S2_ASKED_PULL, // of a spring: force, tangent; q[0] is the extension
  S2_ASKED_LOCK, // how fast it moves; q[0] is h
  S2_ASKED_BODY, // the same
} S2Asked;

typedef struct S2JointHessian { // second derivatives: (angle, x, y) of a, then of b
  double at[6][6];
} S2JointHessian;

typedef struct S2JointAt { // a joint at given poses
  const S2World *world;
  const S2Joint *joint;
  const double *q;   // 3 a slot
  double elapsed;    // s since the state the world is in
  const S2Rot *turn; // a slot: of the angles in q, where they are known; NULL: nowhere
} S2JointAt;

typedef enum S2JointParts { // what a definition may ask of a type
  S2_HAS_COMPLIANCE = 1,
  S2_HAS_STIFFNESS = 2,
  S2_HAS_LIMITS = 4,
  S2_HAS_DRIVE = 8, // motor and friction
  S2_HAS_LENGTH = 16,
  S2_HAS_AXIS = 32,
  S2_HAS_OTHERS = 64, // its functions are not of the way from its anchor on b to that on a
} S2JointParts;

typedef enum S2JointAnchors { // what a definition says of its anchors
  S2_ANCHORS_NONE,
  S2_ANCHORS_SHARED, // one point, of both bodies
  S2_ANCHORS_TWO,    // a point of each, its centre when it is not given
  S2_ANCHORS_ONE,    // a point of a, its centre when it is not given
} S2JointAnchors;

// A function of the poses; the Hessian may be NULL.
typedef void S2Measure(const S2JointAt *at, S2JointRow *row, S2JointHessian *hessian);

enum { S2_ALL_ROWS = -1 };

typedef struct S2JointKind {
  S2JointTraits traits;
  unsigned parts;
  unsigned fields; // bits 1 << S2JointField: what it has beside those of all joints and of `parts`
  S2JointAnchors anchors;
  double bound; // max_force and max_torque when nobody says
  S2Measure *equation[S2_JOINT_EQUATIONS];
  // Where equations are no measures. Returns how many there are; Hessians of the same.
  int (*rows)(const S2JointAt *at, S2JointRow rows[S2_JOINT_EQUATIONS]);
  void (*hessians)(const S2JointAt *at, S2JointHessian hessians[S2_JOINT_EQUATIONS]);
  // With S2_HAS_STIFFNESS: the equation that gives way, or S2_ALL_ROWS. With S2_HAS_COMPLIANCE
  // besides it is the last one, which a joint has when it is given a spring.
  int sprung;
  S2Measure *coordinate; // what limits and gears act on; NULL: nothing
  S2Measure *drive;      // what motor and friction act on; NULL: nothing
  S2Measure *length;     // what is called its length; NULL: the way between the anchors
  // Fixed points (world coordinates) that it goes by from anchor_a to anchor_b, at most
  // S2_JOINT_WAY; returns how many. NULL: none.
  int (*way)(const S2Joint *joint, S2Vec2 way[S2_JOINT_WAY]);
  // Reads and checks what is the type's own; NULL: nothing. Bodies, anchors and axis are there
  // already.
  S2Status (*create)(const S2World *world, const S2JointDef *def, S2Joint *joint);
} S2JointKind;

#define S2_JOINT_TYPE(ID, name) extern const S2JointKind s2_##name##_kind;
#include "dynamics/joints.def"

// Keys of scripts, for S2JointTraits.keys.
#define S2_KEYS(...)     ((const char *const[]){__VA_ARGS__, NULL})
#define S2_KEYS_SHARED   "a", "b", "anchor", "compliance", "damping"
#define S2_KEYS_REST     "stiffness", "rest", "reference"
#define S2_KEYS_LENGTH   "a", "b", "anchor_a", "anchor_b"
#define S2_KEYS_DRIVEN   "limits", "restitution", "motor", "friction"
#define S2_FIELD_BIT(ID) (1u << S2_JOINT_##ID)

// The equations of a joint; returns how many. Hessians of the same.
int s2_joint_rows(const S2JointAt *at, S2JointRow rows[S2_JOINT_EQUATIONS]);
int s2_joint_row_count(const S2JointAt *at); // of them, without what they measure
void s2_joint_hessians(const S2JointAt *at, S2JointHessian hessians[S2_JOINT_EQUATIONS]);
// May forces on its bodies leave a sum, as it pushes something else, too? (Those of a gear are
// balanced by the joints it is made of.)
bool s2_joint_may_hold(const S2Joint *joint);
// Does its stiffness act on this equation?
bool s2_joint_sprung(const S2Joint *joint, int row);

// kinds/kinds.c
const S2JointKind *s2_joint_kind(S2JointType type);

// How many bodies it names.
static inline int s2_joint_bodies(const S2Joint *joint) {
  return (joint->a != S2_NONE) + (joint->b != S2_NONE) + (joint->more[0] != S2_NONE) +
         (joint->more[1] != S2_NONE);
}
// Of arrays of 3 a slot what its bodies have, in the order of its columns; 0 where there is none.
static inline void s2_joint_all_velocities(const S2Joint *joint, const double *v,
                                           double all[S2_JOINT_COLUMNS]) {
  const int32_t slots[S2_JOINT_BODIES] = {joint->a, joint->b, joint->more[0], joint->more[1]};
  for (int i = 0; i < S2_JOINT_COLUMNS; i++) {
    all[i] = slots[i / 3] == S2_NONE ? 0 : v[3 * slots[i / 3] + i % 3];
  }
}
// Is it a constraint of more than two bodies? (wide_rows.c)
static inline bool s2_joint_is_wide(const S2Joint *joint) {
  return joint->type == S2_CONSTRAINT && joint->more[0] != S2_NONE;
}

// joint.c
// "hinge 'name'" or "hinge #3": how messages call a joint.
void s2_joint_label(const S2World *world, int32_t slot, char label[S2_NAME_SIZE + 32]);
// Is it part of the next step: enabled, with at least one body that moves and none disabled?
bool s2_joint_active(const S2World *world, const S2Joint *joint);
S2Status s2_joint_slot(const S2World *world, S2JointId id, int32_t *slot);
// Of what s2_joint_info tells only type, bodies, axis and anchors: what pushes need in each step.
void s2_joint_ends(const S2World *world, int32_t slot, S2JointInfo *info);
// Do all of its equations give no way, each by itself?
bool s2_joint_is_rigid(const S2Joint *joint);
// Its equations that give no way, as combinations where it has matrices; returns how many.
int s2_joint_rigid_rows(const S2JointAt *at, S2JointRow rows[S2_JOINT_EQUATIONS]);
// "limits: ..." unless a joint of this type can have them.
S2Status s2_joint_check_limits(S2JointType type, double lo, double hi);
// Is the coordinate within its limits, or beyond them by no more than numbers of a few decimals
// leave? *value: the coordinate, where it has one.
bool s2_joint_within_limits(const S2World *world, const S2Joint *joint, double *value);
// What `rest` and `reference` of a hinge or slider say; its spring is at rest as it is made.
S2Status s2_joint_read_rest(const S2JointDef *def, S2Joint *joint);
// That the number `name` is for one of the two ways in which a joint can give way.
S2Status s2_joint_either_spring(S2JointType type, const char *name);
// The largest error of its rigid equations and limits, m: angles times `length`.
double s2_joint_violation(const S2JointAt *at, double length);

typedef struct S2JointError {
  S2JointRow rows[S2_JOINT_EQUATIONS + 1]; // as in a problem: equations, limits that coincide
  int count;
  double square;         // m^2, of them; angles times `length`
  double rigid, beyond;  // m^2, of the equations, projected or not; m, beyond limits
  bool limited, angular; // has it limits that do not coincide, rows that measure angles?
} S2JointError;
// The same one by one.
void s2_joint_error(const S2JointAt *at, double length, S2JointError *error);
// Does its limit give way? Only those of constraints can.
bool s2_joint_soft_stop(const S2Joint *joint);
// Does its error count in projections? A joint with a stabilisation of its own is left out.
bool s2_joint_projected(const S2Joint *joint);
// The part of an error, or of how far it is beyond a limit, that rows of a motion ask for.
double s2_joint_returned(const S2WorldDef *def, const S2Joint *joint);
// Does a row measure an angle?
bool s2_joint_row_angular(const S2JointRow *row);

// ---- measure.c: the functions joints are made of ----------------------------------------------

// How a body is turned, or (S2_NONE) the world.
S2Rot s2_joint_turn(const S2JointAt *at, int32_t slot);
S2Measure s2_measure_angle; // theta_a - theta_b - angle0
S2Measure s2_measure_x;     // the anchor of a seen from that of b, along x of b
S2Measure s2_measure_y;
S2Measure s2_measure_translation; // along the axis
S2Measure s2_measure_across;      // along its left
S2Measure s2_measure_twist;       // the angle over its rest, S2Joint.length
S2Measure s2_measure_shift;       // the translation over its rest
S2Measure s2_measure_length;      // |p_a - p_b|
S2Measure s2_measure_stretch;     // the same over S2Joint.length
// The anchor of a seen from that of b, along `direction` (frame of b): u' R_b' (p_a - p_b).
void s2_measure_offset(const S2JointAt *at, S2Vec2 direction, S2JointRow *row,
                       S2JointHessian *hessian);
// Along x and y of b; and nothing but that, for where it is asked again and again.
typedef struct S2Pin {
  double value[2], ja[2][3], jb[2][3];
} S2Pin;
void s2_measure_offsets(const S2JointAt *at, S2JointRow rows[2]);
void s2_measure_pin(const S2JointAt *at, S2Pin *pin);
S2Vec2 s2_joint_anchor(const double *q, int32_t slot, S2Vec2 local);

// ---- constraint.c: rows of the program's own --------------------------------------------------

// Between these two constraints are asked, at most once for the same poses and time. The end gives
// what went wrong, as world->refused does before it.
void s2_constraints_begin(S2World *world);
S2Status s2_constraints_end(S2World *world);
// Second derivatives by the poses of all its bodies.
void s2_constraint_hessians(
    const S2JointAt *at, double hessians[S2_JOINT_EQUATIONS][S2_JOINT_COLUMNS][S2_JOINT_COLUMNS]);
// Has it one row along its coordinate, with bounds, in place of equations?
bool s2_constraint_one_sided(const S2Joint *joint);
// Evaluates a joint that is being made.
S2Status s2_constraint_first(S2World *world, S2Joint *joint);
// Keeps what it said at the end of a step.
void s2_constraint_keep(const S2JointAt *at, S2Joint *joint);

// A row is a sum of answers at poses nearby. Its adjoint goes to them: `back` gets that of number
// `number` of what was asked at q (of all bodies) and t. Returns what is left for the length of the
// step, as part of the default rate.
typedef struct S2ConstraintBar {
  double value, rate, j[S2_JOINT_COLUMNS];
  const double (*hessian)[S2_JOINT_COLUMNS]; // NULL: none
} S2ConstraintBar;
typedef void S2ConstraintBack(void *user, S2Asked asked, const double q[S2_JOINT_COLUMNS], double t,
                              int number, double bar);
double s2_constraint_back(const S2JointAt *at, int row, const S2ConstraintBar *bar,
                          S2ConstraintBack *back, void *user);

// ---- motion.c: locks that move as the program says --------------------------------------------

// Where a lock holds its body, and how fast that moves.
void s2_lock_goal(const S2JointAt *at, double goal[3], double rate[3]);
// lock.c: does any of what it locks have a bound on its force?
bool s2_lock_yields(const S2Joint *joint);
// Which of angle, x, y is row 0, 1, 2 of S2Joint.impulse: equations, then what has a bound.
int s2_lock_component(const S2Joint *joint, int row);
typedef struct S2BoundedRow { // |lambda| <= most h
  S2JointRow row;             // its value is how far it is from its goal
  int component, index;       // of angle, x, y; in S2Joint.impulse
  double most, mass;          // N or N m; kg or kg m^2, of the body
} S2BoundedRow;
int s2_lock_bounded_rows(const S2JointAt *at, S2BoundedRow rows[S2_JOINT_EQUATIONS]);
// How fast a lock goes back to a goal that is `off` away, beside the goal's own speed: all the way
// within the step, but not faster than an acceleration of `push` (its bound over its body's mass)
// can brake again, step by step. So it comes to its goal without going to and fro.
typedef struct S2LockReturn {
  double speed, by_off, by_push, by_h; // and its derivatives
} S2LockReturn;
S2LockReturn s2_lock_return(double off, double push, double h);
// The goal that a bounded component keeps at the end of a step of length h, where it follows a
// velocity: it is away from the body, at q, by no more than S2_LOCK_LAG of what its bound makes up
// in one step. What it yielded is lost, and it does not push for long after it is told to go back.
// *held: it is as it was. (Goals that are functions of time stay where they are.)
double s2_lock_goal_kept(double goal, double q, double push, double h, bool *held);
// Around a step: outside of it locks are where they were at its end.
void s2_motions_begin(S2World *world);
void s2_motions_end(S2World *world);

// ---- pulley.c ----------------------------------------------------------------------------------

S2Measure s2_pulley_measure;   // |p_a - ground_a| + ratio |p_b - ground_b| - length
S2Measure s2_pulley_measure_a; // |p_a - ground_a|
// What is on side 0 (a) or 1 (b), as a distance between a body and the world.
S2Joint s2_pulley_side(const S2Joint *pulley, int side);

// ---- spring.c ----------------------------------------------------------------------------------

// Is it a spring whose pull is no multiple of its extension?
bool s2_spring_curved(const S2Joint *joint);
// The pull (N) of a curved spring and its derivative (N/m); of a law: those of the row.
void s2_spring_pull(const S2Joint *joint, const S2JointRow *row, double *force, double *tangent);
// Asks a law, where there is one; what goes wrong is in world->refused.
void s2_spring_ask(S2World *world, int32_t slot, S2JointRow *row);

// ---- gear.c ------------------------------------------------------------------------------------

enum { S2_GEAR_MORE = 6 }; // columns of the angles of S2Joint.more, behind those of a and b
// Columns of a and b of the joint `of` in the row of the gear, -1: it stands still.
void s2_gear_columns(const S2Joint *gear, const S2Joint *of, int column[2]);

// ---- ground_friction.c ------------------------------------------------------------------------

typedef struct S2GroundState {
  S2Vec2 momentum; // N s, that the body would end the step with but for the ground
  double mass, h;  // kg, s
  bool last;       // rows that did not settle: hardly anything across, so that the bound is kept
} S2GroundState;

typedef struct S2GroundRows { // a turn, along and across the momentum
  S2JointRow row[3];
  double bound[3]; // N m s, N s
  double compliance[3];
} S2GroundRows;

void s2_ground_friction_rows(const S2Joint *joint, const S2GroundState *state, S2GroundRows *rows);

// ---- compliance.c: rows that give way ---------------------------------------------------------

// How a step takes elastic forces and rigid rows.
typedef struct S2Blend {
  double h;           // s; 0 in projections of positions
  double alpha, beta; // of the world
  // Rigid rows: how much of the speed at the start is turned round, of what the bend adds to the
  // value within the step (1/2 h bend, as a speed) and of the error itself (1/s) goes into the row.
  double reflect, ahead, project;
  double bent;    // of what gives way: the part of 1/2 h^2 bend that its force sees
  bool stiffness; // the elastic force is given, the row has only what stiffness and damping add
} S2Blend;
S2Blend s2_joint_blend(const S2WorldDef *def, double h);

typedef struct S2SoftRow {
  S2JointRow row;                 // of the problem: a combination of the given ones
  double mix[S2_JOINT_EQUATIONS]; // its parts of them
  double compliance;              // C' of the row, velocity per impulse; infinite: no row
  double bias;                    // velocity
  double given;                   // impulse known before the solve, beside that of the row
  bool rigid;
} S2SoftRow;

// The speeds of rows at velocities v (3 a slot).
void s2_joint_speeds(const S2Joint *joint, const double *v, S2JointRow *rows, int count);
// What rows bend by, from their Hessians.
void s2_joint_bends(const S2Joint *joint, const double *v, const S2JointHessian *hessians,
                    S2JointRow *rows, int count);
// The same of the joint's own equations at these poses.
void s2_joint_bend_rows(const S2JointAt *at, const double *v, S2JointRow *rows, int count);
// Speed that a rigid row asks for against the end of the step: u = -this.
double s2_joint_return(S2Blend blend, const S2JointRow *row);
// Rows with compliance and damping, blended (docs/stepping-options.md).
void s2_joint_soften(const S2Joint *joint, const S2JointRow *rows, int count, S2Blend blend,
                     S2SoftRow soft[S2_JOINT_EQUATIONS]);
// The row u + C' lambda + b >= 0 of a contact that gives way; h > 0, `speed` at the start. Its
// dashpot acts on the speed of the compression, not on what still approaches: b is gap / h before
// they touch, and the rule implicit Euler.
S2SoftRow s2_soften_gap(double gap, double speed, double compliance, double damping, S2Blend blend);
// 1/2 g' C^-1 g, J
double s2_joint_energy(const S2Joint *joint, const S2JointRow *rows, int count);
// "compliance: ..." unless finite, symmetric and positive semidefinite of this many rows.
S2Status s2_joint_check_weights(const char *what, const S2JointWeights *weights, int rows);

// ---- servo.c: a goal that is held ---------------------------------------------------------------

typedef struct S2Servo {
  S2Joint spring;                     // its gains as those of a spring along the coordinate
  S2Blend blend;                      // implicit Euler, whatever alpha and beta are
  S2JointRow row;                     // its value is the distance from the goal
  S2JointHessian hessian;             // of the row
  S2SoftRow soft[S2_JOINT_EQUATIONS]; // the first: the row of the problem
} S2Servo;

// Does its servo act in a step of length h?
bool s2_servo_acts(const S2Joint *joint, double h);
S2Joint s2_servo_spring(const S2Joint *joint); // its gains, as a spring has them
// The row of a servo in a solve of time h; v0: velocities at the start of the step, 3 a slot;
// bends: is it the first solve of the step, whose row sees how it bends?
void s2_servo_row(const S2JointAt *at, double h, const double *v0, bool bends, S2Servo *servo);

// ---- geometric.c: stiffness from forces that turn ----------------------------------------------

enum { S2_GEOMETRIC_ROWS = 6 };

typedef struct S2StiffRow { // stiffness * e e'
  double ja[3], jb[3];      // e, of unit length over (length * turn, shift)
  double stiffness;         // N/m, not 0, may be negative
} S2StiffRow;

// The length by which a body's turn counts beside its shift, m: sqrt(I/m); 0 where it has no mass.
double s2_joint_turning_length(const S2World *world, int32_t slot);
// m: these lengths of the joint's bodies a and b. A body without mass takes the other's; where
// neither has any, both are 1.
void s2_joint_turning_lengths(const S2JointAt *at, double length[2]);
// Eigenvectors of -sum (lambda/h) Hess(g) over the joint's equations and limits, with the impulses
// of the last step; returns how many are not zero.
int s2_joint_geometric(const S2JointAt *at, S2Blend blend, S2StiffRow rows[S2_GEOMETRIC_ROWS]);
// Is the first side ground that stands still, which has no part in those rows? Then it gets the
// opposite of what b gets. *from: from the anchor on it to the centre of b, m.
bool s2_joint_geometric_ground(const S2JointAt *at, S2Vec2 *from);
// Eigenvalues of a symmetric n x n matrix `a` (row-major, destroyed, diagonal afterwards);
// eigenvectors in the columns of `q`. (compliance.c)
void s2_joint_eigen(int n, double *a, double *value, double *q);

#endif
