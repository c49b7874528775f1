// Private to core/dynamics: audits, which judge a whole step by geometry and mechanics alone.
//
// The residual of a solve does not describe the whole step; the audits do. They read the published
// results of a step: poses, velocities, split times, forces, and the impulses of contacts and
// joints. They share no code with the collision tests and integration schemes. The files are:
//
//     audit_shape.c     computes the signed distance between two convex shapes
//     audit_passage.c   checks that no pair of rigid shapes overlapped or changed sides within the
//                       step, and that impulses acted only where surfaces touched
//     audit_jump.c      checks that no body moved farther than its velocities and impulses explain,
//                       and that contacts held by friction did not slip
//     audit_balance.c   checks the momentum of every body
//     audit_work.c      collects the work of contacts, of the integration and of corrections
//     audit_energy.c    checks the energy of interacting bodies, in a step and over many steps
//     audit_joint.c     finds velocities that a rigid joint does not allow
//     audit.c           collects the data of a step for the audits, and reports their findings
//     audit_end.c       runs all audits
//
// A step is audited if the setting `audit` is on. Audits do not change the motion.
#ifndef S2_AUDIT_H
#define S2_AUDIT_H

#include "dynamics/step/context.h"

// ---- Tolerances -------------------------------------------------------------------------------

// Tolerance of lengths, as a fraction of the size of a pair's smaller body. It covers the
// tolerances of the step and the error of a second-order path.
#define S2_AUDIT_LENGTH 1e-6
// Positions are accurate to this fraction of a body's size. The audits ignore the work of a force
// over such a length.
#define S2_AUDIT_PLACE 1e-8
// Shapes count as touching if they are closer than this fraction of the smaller body's size. A step
// finds impact times only to within a gap of 1e-5 of the touching distance.
#define S2_AUDIT_TOUCH 1e-5
// The audit determines the sides of a pair only while their cores are at least this fraction of the
// smaller body's size apart.
#define S2_AUDIT_SIDE 1e-7
// Allowed overlap within a step, as a fraction of the thinner shape's width, if turning explains
// the overlap. Paths interpolated between two poses do not include the curvature of turning
// surfaces.
#define S2_AUDIT_DEPTH 0.25
// Minimum and maximum number of samples of the relative motion of a near pair within a step.
#define S2_AUDIT_SAMPLES      64
#define S2_AUDIT_SAMPLES_MOST 4096
// Allowed error of a body's momentum balance, as a fraction of its largest term. Causes are
// rounding and the solver's tolerance, which is 1e-9 times the mass ratios of an island.
#define S2_AUDIT_MOMENTUM 1e-6
// Allowed error of the energy balance of one step, as a fraction of a group's kinetic energy. The
// known terms and the square of the largest turn are allowed in addition. Joints cause second-order
// errors, such as 6e-5 for a pendulum near its turning point. Smaller joint errors show up over
// many steps.
#define S2_AUDIT_ENERGY 1e-3
// Allowed work of corrections, as a fraction of the kinetic energy, in addition to the work that
// turning explains. Corrections at this limit slow a body down by half of this fraction per step.
#define S2_AUDIT_CORRECTION 1e-5
// Rigid joints make the energy oscillate with the state. The allowed amplitude is this multiple of
// the change that turning explains in one step. A pendulum reaches a tenth of that change.
#define S2_AUDIT_SWAY 1
// Varying errors add up like a random walk. The audit allows a sum of this many standard
// deviations.
#define S2_AUDIT_SPREAD 3
// Allowed violation of a joint, as a fraction of the kinetic energy of its bodies. If a step turns
// a body by phi, a velocity along the chord of its path is off by the angle phi/2. That is phi^2/4
// of the energy, so this fraction allows a turn of 0.06 rad per step.
#define S2_AUDIT_DRIFT 1e-3
// rad: the energy audit skips bodies that turn by more than this in a step. Such a step is too long
// to resolve their energy.
#define S2_AUDIT_TURN 0.5

// Bytes per body and shape that one audit may take from the arena. If an audit took more, memory
// could run out at the end of a step, which would abort the program.
#define S2_AUDIT_SCRATCH 512

// ---- Published results of a step --------------------------------------------------------------

typedef struct S2AuditKnot { // the end of one piece of a body's path
  double t;                  // s since the start of the step
  double q[3];               // pose at that time
  double v[3];               // velocity at the beginning of the piece
  // True if the path is a parabola that begins with v, false if it is straight with constant
  // angular velocity.
  bool curved;
} S2AuditKnot;

// Number of knots per body. Each stores one piece of a substep. Further pieces are merged into the
// last knot. Fast turning splits a step into up to S2_TURN_PIECES pieces. So a step reserves more
// knots if a body turns by more than S2_AUDIT_SPIN (rad), or if the world has at most S2_AUDIT_FEW
// bodies.
enum { S2_AUDIT_KNOTS = 24, S2_AUDIT_KNOTS_SPINNING = 320, S2_AUDIT_FEW = 64 };
#define S2_AUDIT_SPIN 0.02

// J: work on one body within a step. An impulse times the mean of the velocities before and after
// it is the exact change of kinetic energy.
typedef struct S2AuditWork {
  double contacts; // work of rebounds and friction, at the relative velocity of the surfaces
  double ground;   // work of kinematic bodies and belts through their contacts
  // Work of forces at the mean velocity, minus their work at the velocity that moves the positions.
  double integrated;
  // Work of forces at the mean velocity, minus their work over the whole displacement, which
  // includes corrections.
  double swept;
  double corrected; // work of velocity corrections
  // N s: sum of the magnitudes of the joint impulses in the two half-steps. Their vector sum may be
  // zero.
  double halves;
  double struck; // N s: sum of the magnitudes of contact impulses
  double spun;   // N m s: sum of the magnitudes of angular contact impulses
  // J: integration error of motors and dry friction. It is the difference between their work at the
  // mean velocities and at the velocity that moves the positions.
  double paced;
} S2AuditWork;

// Energy that a group of bodies has gained or lost over consecutive steps. Only joints act on the
// group, no contacts.
typedef struct S2AuditRun {
  int members;    // number of bodies; if it changes, the group counts as new
  uint64_t step;  // the last
  double rest;    // J: sum of the unexplained energy, with its sign
  double most;    // J: largest tolerance of a step
  double spread2; // J^2: sum of the squares of errors that differ from step to step
} S2AuditRun;

typedef struct S2AuditFlight { // motion of one body in a piece; each array has 3 numbers
  const double *q0, *q1, *v0, *v2;
  const double *carry; // the velocity that moves the positions
} S2AuditFlight;

typedef struct S2AuditHeld { // a pair of shapes that stuck in the previous step
  int32_t shape_a, shape_b;
} S2AuditHeld;

typedef struct S2Auditor {
  int slots, room, knot_room; // number of bodies; capacity of the arrays in bodies; knots per slot
  double time, h;             // s: start time of the step, and the length of its completed part
  bool found;                 // true if this step has a finding
  char text[S2_MESSAGE_SIZE]; // the text of the first finding
  double *q0, *v0;            // 3 per slot, at the start of the step
  double *force;              // 3 per slot: N m s and N s of forces and damping
  double *pushed;             // 3 per slot: N s of joints along x and y
  double *corrected;          // 3 per slot: N m s and N s of the step's corrections
  double *size;               // per slot: N s, sum of the magnitudes of joint impulses
  double *damped;             // per slot: J, an upper bound of the energy that damping has removed
  double *work;               // per slot: J, work of forces other than gravity
  double *excused;            // per slot: m, displacement explained by initial overlaps
  // per slot: m, the body's reach or the largest distance of a joint from its centre
  double *arm;
  S2AuditWork *done, *tried; // per slot: final work, and work of a search that may be repeated
  S2AuditRun *run;           // per slot: the energy run of the group whose smallest slot this is
  S2AuditHeld *before;       // sorted
  int held_before, held_room;
  double *left;      // 6 per slot: pose and velocity at the end of the last step
  bool *set;         // per slot: true if the program has changed the pose or velocity since then
  double *missed;    // per slot: N s and N m s, errors of solves that missed their tolerance
  bool *jointed;     // per slot: true if a joint acts on it
  bool *held;        // per slot: true if a joint acts on it with unknown impulses
  int32_t *root;     // per slot: the smallest slot of its group of interacting bodies
  int *knots;        // per slot: number of its knots
  S2AuditKnot *knot; // knot_room knots per slot
  int joint_room;
  double *coordinate;   // per joint slot: coordinate of its motor and friction at the start
  double *pace;         // per joint slot: rate of that coordinate at the start, rad/s or m/s
  double *elastic;      // per joint slot: J, energy of its springs at the start
  double *driven;       // per joint slot: N s or N m s, impulse of its motor and friction
  double *carried;      // per joint slot: N s, impulse that it transmits between its bodies
  unsigned char *image; // image of a strict world at the start of the step
  size_t image_size, image_room;
  S2Arena arena; // memory of one step
  // The first finding of all steps, or "".
  char first[S2_MESSAGE_SIZE];
} S2Auditor;

// ---- audit.c ----------------------------------------------------------------------------------

// Prepares the audit of a step. Does nothing if the setting is off. Returns S2_MEMORY if there is
// no memory for its data.
S2Status s2_audit_begin(S2World *world);
// Records the end of a piece of the step for an island (NULL: for all bodies). The piece began with
// v0, has length h and ends at q1. `curved` is true if it follows the trapezoidal rule.
void s2_audit_piece(const S2Step *step, const S2Island *island, double h, bool curved);
// Records a piece of length h of one body's path. The piece ends at the time `end` after the start
// of the substep.
void s2_audit_flight(const S2Step *step, int32_t slot, double end, double h,
                     const S2AuditFlight *flight, bool curved);
// Discards the poses of this substep for an island (NULL: for all bodies), because the substep is
// attempted again.
void s2_audit_again(const S2Step *step, const S2Island *island);
// Call this if a solve missed its tolerance, so that the step is unsolved. `dynamics` is
// the largest difference between momentum change and impulses over all bodies (N s and N m s).
void s2_audit_missed(const S2Step *step, const S2Island *island, double dynamics);
// Call this at the end of a substep, before its results are written to the world. Only for worlds
// with audits.
void s2_audit_substep(const S2Step *step);
void s2_audit_free(S2World *world);
double s2_audit_turn(const S2Auditor *audit, int32_t slot); // rad: largest turn between two knots.
// rad: an upper bound of the turn within a piece of the body's path. It is the duration of the
// piece times its largest angular velocity, so it includes turns that reverse.
double s2_audit_turn_at_most(const S2Auditor *audit, int32_t slot);

// Work within a step (audit_work.c). Recorded work counts only after s2_audit_keep. The next two
// functions are only for worlds with audits.
void s2_audit_forget(const S2Step *step);
void s2_audit_keep(const S2Step *step);
// Records the impulses that a solve gave to point k of a touch, between the velocities v0 and v2.
void s2_audit_contact(const S2Step *step, const S2Touch *touch, int k, double normal,
                      double tangent);
// Call this before the correction is added to v2.
void s2_audit_correct(const S2Step *step, int32_t slot, const double dv[3]);
// Records the impulses of a joint on its first body (angular, x, y) in the two half-steps of a
// piece. If a limit stops the joint, records the impulses before the stop and those of the stop.
// See S2AuditWork for `paced` (J).
void s2_audit_halves(const S2Step *step, const S2Joint *joint, const double first[3],
                     const double second[3], double paced);
void s2_audit_integrated(const S2Step *step, int32_t slot, double h, const S2AuditFlight *flight);
// Counts a finding. The first finding of a step becomes its warning, unless the step already has
// one.
void s2_audit_find(S2World *world, uint64_t *count, int32_t a, int32_t b, double t,
                   const char *format, ...) __attribute__((format(printf, 6, 7)));

// s2_audit_pose computes the pose of a body at the time t of the step. s2_audit_rate computes its
// velocity at two times (m/s), and a bound of its angular velocity in between (rad/s).
void s2_audit_pose(const S2Auditor *audit, int32_t slot, double t, double pose[3]);
double s2_audit_next_knot(const S2Auditor *audit, int32_t slot, double t); // s, or INFINITY
void s2_audit_rate(const S2Auditor *audit, int32_t slot, double from, double to, S2Vec2 v[2],
                   double *turn);
double s2_audit_elastic(const S2World *world, int32_t joint);    // J, now
double s2_audit_coordinate(const S2World *world, int32_t joint); // rad or m, in the current state
double s2_audit_pace(const S2World *world, int32_t joint);       // speed of that coordinate
// Returns the touch of a pair of shapes, a < b, or NULL if the world has not examined the pair.
const S2Touch *s2_audit_touch(const S2World *world, int32_t shape_a, int32_t shape_b);
S2Vec2 s2_audit_point(const double q[3], S2Vec2 local); // world coordinates
S2Vec2 s2_audit_rod(const S2Joint *joint,
                    const double *q); // m: vector from its second anchor to its first.

// ---- The audits -------------------------------------------------------------------------------

// m: signed distance between two shapes, negative if they overlap. *normal points from b to a.
double s2_audit_distance(const S2Shape *a, const double qa[3], const S2Shape *b, const double qb[3],
                         S2Vec2 *normal);
// m: the distance of a beyond b along a direction. This is a lower bound of the distance between
// them. Tries *normal and all edge normals. *normal receives the direction with the largest
// distance. It points from b to a.
double s2_audit_beyond(const S2Shape *a, const double qa[3], const S2Shape *b, const double qb[3],
                       S2Vec2 *normal);
double s2_audit_thickness(const S2Shape *shape); // m: its smallest width.

// audit_end.c: runs all audits on the completed step. In a strict world, a finding gives
// S2_UNSOLVED, and the world returns to its state before the step.
S2Status s2_audit_end(S2World *world);
void s2_audit_passages(S2World *world, S2Auditor *audit);
void s2_audit_jumps(S2World *world, S2Auditor *audit);
void s2_audit_momenta(S2World *world, S2Auditor *audit);
void s2_audit_energies(S2World *world, S2Auditor *audit);
void s2_audit_joints(S2World *world, S2Auditor *audit);

#endif
