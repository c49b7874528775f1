// Private to core/dynamics: the definition of joint types and their common functions.
//
// Each joint type has a file (such as hinge.c) that defines an S2JointKind. It contains smooth
// functions of the poses of two bodies: up to three equations g(q) = 0, a coordinate for limits and
// gears, and a coordinate for motor and friction. Most of these functions are measures (measure.c),
// whose derivatives and adjoints are known. Types with other equations define functions for them.
#ifndef S2_JOINT_H
#define S2_JOINT_H

#include "dynamics/world/world.h"

typedef enum S2Asked { // the kind of a callback within a step
  S2_ASKED_VALUE,      // value of a constraint
  S2_ASKED_JACOBIAN,
  S2_ASKED_RATE,
  S2_ASKED_HESSIAN,
  S2_ASKED_PULL, // force and tangent of a spring; q[0] is the extension
  S2_ASKED_LOCK, // velocity of a lock; q[0] is h
  S2_ASKED_BODY, // velocity of a body; q[0] is h
} S2Asked;

typedef struct S2JointHessian { // second derivatives: (angle, x, y) of a, then of b
  double at[6][6];
} S2JointHessian;

typedef struct S2JointAt { // a joint at given poses
  const S2World *world;
  const S2Joint *joint;
  const double *q;   // poses, 3 per slot
  double elapsed;    // s: time after the world's present state
  const S2Rot *turn; // per slot: rotations for the angles in q if they are known, or NULL
} S2JointAt;

typedef enum S2JointParts { // parts of a joint's definition that a type supports
  S2_HAS_COMPLIANCE = 1,
  S2_HAS_STIFFNESS = 2,
  S2_HAS_LIMITS = 4,
  S2_HAS_DRIVE = 8, // motor and dry friction
  S2_HAS_LENGTH = 16,
  S2_HAS_AXIS = 32,
  S2_HAS_OTHERS = 64, // does not use the vector between the anchors
} S2JointParts;

typedef enum S2JointAnchors { // anchors in the definition of a joint
  S2_ANCHORS_NONE,
  S2_ANCHORS_SHARED, // one point that both bodies share
  S2_ANCHORS_TWO,    // one point of each body, by default its centre
  S2_ANCHORS_ONE,    // one point of a, by default its centre
} S2JointAnchors;

// A function of the poses, called a measure. `hessian` may be NULL.
typedef void S2Measure(const S2JointAt *at, S2JointRow *row, S2JointHessian *hessian);

enum { S2_ALL_ROWS = -1 };

typedef struct S2JointKind {
  S2JointTraits traits;
  unsigned parts;
  // bits 1 << S2JointField: fields of this type besides the common fields and those of `parts`
  unsigned fields;
  S2JointAnchors anchors;
  double bound; // default of max_force and max_torque
  S2Measure *equation[S2_JOINT_EQUATIONS];
  // Computes the rows if the equations are not measures, and returns their number. `hessians`
  // computes the Hessians of the same rows.
  int (*rows)(const S2JointAt *at, S2JointRow rows[S2_JOINT_EQUATIONS]);
  void (*hessians)(const S2JointAt *at, S2JointHessian hessians[S2_JOINT_EQUATIONS]);
  // Index of the compliant equation of types with S2_HAS_STIFFNESS, or S2_ALL_ROWS. With
  // S2_HAS_COMPLIANCE it is the last equation, which only exists if the joint has a spring.
  int sprung;
  S2Measure *coordinate; // coordinate of limits and gears, or NULL
  S2Measure *drive;      // coordinate of motor and friction, or NULL
  S2Measure *length;     // length of the joint; NULL: the distance between the anchors.
  // Writes up to S2_JOINT_WAY fixed points (world coordinates) between anchor_a and anchor_b.
  // Returns their number. NULL if the type has no such points.
  int (*way)(const S2Joint *joint, S2Vec2 way[S2_JOINT_WAY]);
  // Reads and checks the fields that are specific to the type, after the bodies, anchors and axis.
  // NULL if there are none.
  S2Status (*create)(const S2World *world, const S2JointDef *def, S2Joint *joint);
} S2JointKind;

#define S2_JOINT_TYPE(ID, name) extern const S2JointKind s2_##name##_kind;
#include "dynamics/joints.def"

// Keys in scripts, for S2JointTraits.keys.
#define S2_KEYS(...)     ((const char *const[]){__VA_ARGS__, NULL})
#define S2_KEYS_SHARED   "a", "b", "anchor", "compliance", "damping"
#define S2_KEYS_REST     "stiffness", "rest", "reference"
#define S2_KEYS_LENGTH   "a", "b", "anchor_a", "anchor_b"
#define S2_KEYS_DRIVEN   "limits", "restitution", "motor", "friction"
#define S2_FIELD_BIT(ID) (1u << S2_JOINT_##ID)

// Computes the equations of a joint and returns their number. s2_joint_hessians computes their
// Hessians.
int s2_joint_rows(const S2JointAt *at, S2JointRow rows[S2_JOINT_EQUATIONS]);
int s2_joint_row_count(const S2JointAt *at); // number of equations; does not evaluate them
void s2_joint_hessians(const S2JointAt *at, S2JointHessian hessians[S2_JOINT_EQUATIONS]);
// Returns true if the forces on the joint's bodies may have a nonzero sum, because the joint also
// acts on something else. Returns false for a gear, because its joints balance its forces.
bool s2_joint_may_hold(const S2Joint *joint);
// Returns true if the joint's stiffness acts on this equation.
bool s2_joint_sprung(const S2Joint *joint, int row);

// kinds/kinds.c
const S2JointKind *s2_joint_kind(S2JointType type);

// Returns the number of bodies of the joint.
static inline int s2_joint_bodies(const S2Joint *joint) {
  return (joint->a != S2_NONE) + (joint->b != S2_NONE) + (joint->more[0] != S2_NONE) +
         (joint->more[1] != S2_NONE);
}
// Gathers the velocities of the joint's bodies from `v` (3 per slot), in the order of its columns.
// Missing bodies get 0.
static inline void s2_joint_all_velocities(const S2Joint *joint, const double *v,
                                           double all[S2_JOINT_COLUMNS]) {
  const int32_t slots[S2_JOINT_BODIES] = {joint->a, joint->b, joint->more[0], joint->more[1]};
  for (int i = 0; i < S2_JOINT_COLUMNS; i++) {
    all[i] = slots[i / 3] == S2_NONE ? 0 : v[3 * slots[i / 3] + i % 3];
  }
}
// Returns true if the joint is a constraint of more than two bodies (wide_rows.c).
static inline bool s2_joint_is_wide(const S2Joint *joint) {
  return joint->type == S2_CONSTRAINT && joint->more[0] != S2_NONE;
}

// joint.c.
// Writes the name of a joint for messages, such as "hinge 'name'" or "hinge #3".
void s2_joint_label(const S2World *world, int32_t slot, char label[S2_NAME_SIZE + 32]);
// Returns true if the joint acts in the next step: it is enabled, at least one of its bodies can
// move, and none is disabled.
bool s2_joint_active(const S2World *world, const S2Joint *joint);
S2Status s2_joint_slot(const S2World *world, S2JointId id, int32_t *slot);
// Returns true if all equations of the joint are rigid, without compliance or a spring.
bool s2_joint_is_rigid(const S2Joint *joint);
// Computes the joint's rigid equations and returns their number. With matrices, they are
// combinations of the equations.
int s2_joint_rigid_rows(const S2JointAt *at, S2JointRow rows[S2_JOINT_EQUATIONS]);
// Returns an error "limits: ..." if a joint of this type cannot have these limits.
S2Status s2_joint_check_limits(S2JointType type, double lo, double hi);
// Returns true if the coordinate is within its limits, with a tolerance for numbers that have only
// a few decimals. *value receives the coordinate, if there is one.
bool s2_joint_within_limits(const S2World *world, const S2Joint *joint, double *value);
// Reads `rest` and `reference` of a hinge or slider. The default is a spring that is relaxed at
// creation.
S2Status s2_joint_read_rest(const S2JointDef *def, S2Joint *joint);
// Returns the error that a joint cannot have both compliance and a spring. `name`: the offending
// number.
S2Status s2_joint_either_spring(S2JointType type, const char *name);
// m: the largest error of the joint's rigid equations and limits. Angles are multiplied by
// `length`.
double s2_joint_violation(const S2JointAt *at, double length);

typedef struct S2JointError {
  S2JointRow rows[S2_JOINT_EQUATIONS + 1]; // as in the problem: equations, then limits with lo = hi
  int count;
  double square;         // m^2: sum of the squares of these rows; angles times `length`
  double rigid, beyond;  // m^2: squares of all equations, projected or not; m: excess over limits
  bool limited, angular; // has limits with lo < hi; has rows that measure angles
} S2JointError;
// Computes the errors of all rows.
void s2_joint_error(const S2JointAt *at, double length, S2JointError *error);
// Returns true if the joint's limit is compliant. Only limits of constraints can be compliant.
bool s2_joint_soft_stop(const S2Joint *joint);
// Returns true if projections correct the error of the joint. Joints with their own `stabilization`
// are not projected.
bool s2_joint_projected(const S2Joint *joint);
// Returns the fraction of a joint error, or of an excess over a limit, that the rows of a motion
// correct.
double s2_joint_returned(const S2WorldDef *def, const S2Joint *joint);
// Returns true if a row measures an angle.
bool s2_joint_row_angular(const S2JointRow *row);

// ---- measure.c: the functions of joints -------------------------------------------------------

// The rotation of a body, or the identity for S2_NONE, the world.
S2Rot s2_joint_turn(const S2JointAt *at, int32_t slot);
// Returns the measure of a coordinate field, or the measure whose rate is the field `speed`. That
// is the coordinate of the motor, else that of the limits, else the length or the angle. Returns
// NULL for other fields and for the speed of a constraint.
S2Measure *s2_joint_measure(const S2Joint *joint, S2JointField field);
// Reads the coordinate `field` of a joint and its speed together, which is faster than two calls of
// s2_joint_get. Returns false if that is not possible for this field.
bool s2_joint_get_motion(const S2World *world, S2JointId id, S2JointField field, double *value,
                         double *speed);
S2Measure s2_measure_angle; // theta_a - theta_b - angle0
S2Measure s2_measure_x;     // position of the anchor on a relative to the anchor on b, along x of b
S2Measure s2_measure_y;
S2Measure s2_measure_translation; // component along the axis
S2Measure s2_measure_across;      // component along the left-turned axis
S2Measure s2_measure_twist;       // the angle minus its rest value, S2Joint.length
S2Measure s2_measure_shift;       // the translation minus its rest value
S2Measure s2_measure_length;      // |p_a - p_b|
S2Measure s2_measure_stretch;     // |p_a - p_b| - S2Joint.length
// Position of the anchor on a relative to the anchor on b along `direction`, a vector u in b's
// frame: u' R_b' (p_a - p_b).
void s2_measure_offset(const S2JointAt *at, S2Vec2 direction, S2JointRow *row,
                       S2JointHessian *hessian);
// Computes only the offsets along x and y of b. Used where speed matters.
typedef struct S2Pin {
  double value[2], ja[2][3], jb[2][3];
} S2Pin;
void s2_measure_offsets(const S2JointAt *at, S2JointRow rows[2]);
void s2_measure_pin(const S2JointAt *at, S2Pin *pin);
S2Vec2 s2_joint_anchor(const double *q, int32_t slot, S2Vec2 local);

// ---- constraint.c: rows that the program defines ----------------------------------------------

// Constraints may be evaluated only between these two calls. They are evaluated at most once per
// set of poses and time. An error is stored in world->refused, and s2_constraints_end returns it.
void s2_constraints_begin(S2World *world);
S2Status s2_constraints_end(S2World *world);
// Second derivatives with respect to the poses of all bodies of the constraint.
void s2_constraint_hessians(
    const S2JointAt *at, double hessians[S2_JOINT_EQUATIONS][S2_JOINT_COLUMNS][S2_JOINT_COLUMNS]);
// Returns true if the constraint has one bounded row along its coordinate instead of equations.
bool s2_constraint_one_sided(const S2Joint *joint);
// Evaluates a constraint during its creation.
S2Status s2_constraint_first(S2World *world, S2Joint *joint);
// Stores the results of the callback at the end of a step.
void s2_constraint_keep(const S2JointAt *at, S2Joint *joint);

// Distributes the adjoint of a row to the callback results at nearby poses from which the row was
// computed. `back` receives the adjoint of entry `number` of the result at the poses q (of all
// bodies) and the time t. Returns the adjoint of the step length, on which the default rate
// depends.
typedef struct S2ConstraintBar {
  double value, rate, j[S2_JOINT_COLUMNS];
  const double (*hessian)[S2_JOINT_COLUMNS]; // NULL: none
} S2ConstraintBar;
typedef void S2ConstraintBack(void *user, S2Asked asked, const double q[S2_JOINT_COLUMNS], double t,
                              int number, double bar);
double s2_constraint_back(const S2JointAt *at, int row, const S2ConstraintBar *bar,
                          S2ConstraintBack *back, void *user);

// ---- motion.c: locks that the program moves ---------------------------------------------------

// Computes the goal of a lock and the rate of the goal.
void s2_lock_goal(const S2JointAt *at, double goal[3], double rate[3]);
// lock.c: returns true if a locked component has a bound on its force.
bool s2_lock_yields(const S2Joint *joint);
// Returns the component (angle, x, y) of entry `row` (0 to 2) in S2Joint.impulse. Equations come
// first, then bounded rows.
int s2_lock_component(const S2Joint *joint, int row);
typedef struct S2BoundedRow { // |lambda| <= most h
  S2JointRow row;             // the value of the row is the distance from the goal
  int component, index;       // 0 to 2 for angle, x, y; index into S2Joint.impulse
  double most, mass;          // bound, N or N m; mass or inertia of the body, kg or kg m^2
} S2BoundedRow;
int s2_lock_bounded_rows(const S2JointAt *at, S2BoundedRow rows[S2_JOINT_EQUATIONS]);
// The speed of a lock towards a goal at the distance `off`, in addition to the goal's own speed.
// The lock returns within the step if it can still brake in the following steps. It brakes with the
// acceleration `push`, the bound divided by the body's mass. This avoids oscillation about the
// goal.
typedef struct S2LockReturn {
  double speed, by_off, by_push, by_h; // the speed and its derivatives by off, push and h
} S2LockReturn;
S2LockReturn s2_lock_return(double off, double push, double h);
// The goal of a bounded component at the end of a step of length h, if the lock follows a velocity.
// The distance of the goal from the body at q is at most S2_LOCK_LAG times the distance that the
// bound recovers in one step. This keeps the goal near a lock that yields, and a lock does not push
// for long after its velocity is reversed. Sets *held to true if the goal is unchanged. Does not
// move goals that are functions of time.
double s2_lock_goal_kept(double goal, double q, double push, double h, bool *held);
// Call these before and after a step. Outside a step, locks keep the goals from the end of the last
// step.
void s2_motions_begin(S2World *world);
void s2_motions_end(S2World *world);

// ---- pulley.c ----------------------------------------------------------------------------------

S2Measure s2_pulley_measure;   // |p_a - ground_a| + ratio |p_b - ground_b| - length
S2Measure s2_pulley_measure_a; // |p_a - ground_a|
// Returns side 0 (a) or side 1 (b) of a pulley as a distance joint between a body and the world.
S2Joint s2_pulley_side(const S2Joint *pulley, int side);

// ---- spring.c ----------------------------------------------------------------------------------

// Returns true if the joint is a nonlinear spring.
bool s2_spring_curved(const S2Joint *joint);
// Computes the pull (N) of a nonlinear spring and its derivative (N/m). Reads both from the row if
// the spring has a law.
void s2_spring_pull(const S2Joint *joint, const S2JointRow *row, double *force, double *tangent);
// Evaluates the law of a spring, if it has one. An error is stored in world->refused.
void s2_spring_ask(S2World *world, int32_t slot, S2JointRow *row);

// ---- gear.c ------------------------------------------------------------------------------------

enum { S2_GEAR_MORE = 6 }; // first column of S2Joint.more, after the columns of a and b.
// Finds the columns of bodies a and b of the joint `of` in the gear's row. A column is -1 if the
// body cannot move.
void s2_gear_columns(const S2Joint *gear, const S2Joint *of, int column[2]);

// ---- ground_friction.c ------------------------------------------------------------------------

typedef struct S2GroundState {
  S2Vec2 momentum; // N s: momentum of the body after the step without ground friction
  double mass, h;  // kg; s.
  // True if the rows did not converge. They then permit almost no force across the momentum, so
  // that the force stays within its bound.
  bool last;
} S2GroundState;

typedef struct S2GroundRows { // rows for the rotation, along the momentum and across it
  S2JointRow row[3];
  double bound[3]; // N m s, N s
  double compliance[3];
} S2GroundRows;

void s2_ground_friction_rows(const S2Joint *joint, const S2GroundState *state, S2GroundRows *rows);

// ---- compliance.c: compliant rows -------------------------------------------------------------

// Coefficients of elastic forces and rigid rows in a step.
typedef struct S2Blend {
  double h;           // s; 0 in position projections
  double alpha, beta; // the world's settings.
  // Coefficients of rigid rows. `reflect`: fraction of the initial speed, which is reversed.
  // `ahead`: fraction of 1/2 h bend, which is the effect of the bend in the step, expressed as a
  // speed. `project`: rate at which the error is corrected, 1/s.
  double reflect, ahead, project;
  double bent; // compliant rows: fraction of 1/2 h^2 bend in their force.
  // True if the elastic force is a given impulse. The row then only adds stiffness and damping to
  // W.
  bool stiffness;
} S2Blend;
S2Blend s2_joint_blend(const S2WorldDef *def, double h);

typedef struct S2SoftRow {
  S2JointRow row;                 // row of the problem, a combination of the given rows
  double mix[S2_JOINT_EQUATIONS]; // coefficients of the given rows
  double compliance; // C' of the row, velocity per impulse; infinite if there is no row
  double bias;       // velocity.
  // impulse that is known before the solve, in addition to the row's impulse
  double given;
  bool rigid;
} S2SoftRow;

// Computes the speeds of rows at the velocities v (3 per slot).
void s2_joint_speeds(const S2Joint *joint, const double *v, S2JointRow *rows, int count);
// Computes the bends of rows from their Hessians.
void s2_joint_bends(const S2Joint *joint, const double *v, const S2JointHessian *hessians,
                    S2JointRow *rows, int count);
// Computes the bends of the joint's own equations at given poses.
void s2_joint_bend_rows(const S2JointAt *at, const double *v, S2JointRow *rows, int count);
// Returns the bias to add to a rigid row. At the end of the step, u = -bias.
double s2_joint_return(S2Blend blend, const S2JointRow *row);
// Adds compliance and damping to the rows, with implicit blending (docs/stepping-options.md).
void s2_joint_soften(const S2Joint *joint, const S2JointRow *rows, int count, S2Blend blend,
                     S2SoftRow soft[S2_JOINT_EQUATIONS]);
// The row u + C' lambda + b >= 0 of a compliant contact. Requires h > 0; `speed` is the speed at
// the start. The dashpot acts during compression, but not during the approach. Before the surfaces
// touch, b is gap / h, which is implicit Euler.
S2SoftRow s2_soften_gap(double gap, double speed, double compliance, double damping, S2Blend blend);
// J: 1/2 g' C^-1 g
double s2_joint_energy(const S2Joint *joint, const S2JointRow *rows, int count);
// Returns an error "compliance: ..." if the weights are invalid. They must be finite. A matrix must
// also be symmetric and positive semidefinite, with this number of rows.
S2Status s2_joint_check_weights(const char *what, const S2JointWeights *weights, int rows);

// ---- servo.c: rows of servos --------------------------------------------------------------------

typedef struct S2Servo {
  S2Joint spring;                     // a spring along the coordinate, with the gains of the servo
  S2Blend blend;                      // implicit Euler, for all alpha and beta
  S2JointRow row;                     // row whose value is the distance from the goal
  S2JointHessian hessian;             // Hessian of the row
  S2SoftRow soft[S2_JOINT_EQUATIONS]; // soft[0] is the row of the problem
} S2Servo;

// Returns true if the joint's servo acts in a step of length h.
bool s2_servo_acts(const S2Joint *joint, double h);
S2Joint s2_servo_spring(const S2Joint *joint); // a spring with the servo's gains.
// Computes the row of a servo in a solve of length h. `v0`: velocities at the start of the step, 3
// per slot. `bends`: true in the first solve of the step, whose row includes the bend.
void s2_servo_row(const S2JointAt *at, double h, const double *v0, bool bends, S2Servo *servo);

// ---- geometric.c: stiffness from forces that turn ----------------------------------------------

enum { S2_GEOMETRIC_ROWS = 6 };

typedef struct S2StiffRow { // stiffness * e e'
  double ja[3], jb[3];      // e is a unit vector over (length * rotation, translation)
  double stiffness;         // N/m; not 0, may be negative
} S2StiffRow;

// m: the length sqrt(I/m) that converts a rotation of the body to a translation, or 0 for a body
// without mass.
double s2_joint_turning_length(const S2World *world, int32_t slot);
// m: these lengths for bodies a and b of the joint. A body without mass gets the length of the
// other body. If neither has mass, both lengths are 1.
void s2_joint_turning_lengths(const S2JointAt *at, double length[2]);
// Computes the eigenvectors of -sum (lambda/h) Hess(g) over the joint's equations and limits, with
// the impulses of the last step. Returns the number of nonzero eigenvalues.
int s2_joint_geometric(const S2JointAt *at, S2Blend blend, S2StiffRow rows[S2_GEOMETRIC_ROWS]);
// Returns true if side a is immovable ground. Those rows do not act on it, so it receives the
// opposite of b's impulse. *from: m, from the anchor on the ground to the centre of b.
bool s2_joint_geometric_ground(const S2JointAt *at, S2Vec2 *from);
// Computes the eigenvalues of a symmetric n x n matrix `a` (row-major; it is destroyed). The
// eigenvectors are the columns of `q`. (compliance.c)
void s2_joint_eigen(int n, double *a, double *value, double *q);

#endif
