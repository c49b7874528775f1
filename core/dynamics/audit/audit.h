// Private to core/dynamics: audits, which judge a whole step by geometry and mechanics alone.
//
// The residual of a solve does not describe the step around it. Audits do. They read the published
// results of a step (poses, velocities, the times at which it was split, the impulses of contacts
// and joints, the forces). They do not share code with the collision tests and schemes that made
// it:
//
//     audit_shape.c     signed distance between two convex shapes
//     audit_passage.c   no pair of rigid shapes overlapped or changed sides within the step, and
//                       impulses acted only where surfaces touched
//     audit_jump.c      no body moved farther than its velocities and impulses explain, and
//                       contacts held by friction did not slip
//     audit_balance.c   the momentum of every body
//     audit_work.c      collects the work of contacts, of the integration and of corrections
//     audit_energy.c    the energy of bodies that act on each other, in a step and over a run
//     audit_joint.c     velocities that a rigid joint does not allow
//     audit.c           collects the data of a step for them, and reports their findings
//     audit_end.c       calls them
//
// A step is audited if the setting `audit` is on. Audits do not change the motion.
#ifndef S2_AUDIT_H
#define S2_AUDIT_H

#include "dynamics/step/context.h"

// ---- Tolerances -------------------------------------------------------------------------------

// Fraction of the size of a pair's smaller body. Smaller lengths may come from the tolerances of
// the step (1e-9 of a body at its end) or from the error of a second-order path.
#define S2_AUDIT_LENGTH 1e-6
// Positions are accurate to this fraction of a body. The work of a force over such a length is
// ignored.
#define S2_AUDIT_PLACE 1e-8
// Shapes that came closer than this fraction of the smaller body have touched. The time of a
// meeting is accurate to a gap of 1e-5 of the touching distance, and a step finds it by solves of
// several lengths.
#define S2_AUDIT_TOUCH 1e-5
// The sides of a pair are determined while its cores are at least this fraction of the smaller body
// apart.
#define S2_AUDIT_SIDE 1e-7
// An overlap within a step is allowed up to this fraction of the thinner shape if turning explains
// it. The reason: paths between two known poses leave out the bend of turning surfaces.
#define S2_AUDIT_DEPTH 0.25
// Samples of the relative motion of a near pair within a step: minimum and maximum.
#define S2_AUDIT_SAMPLES      64
#define S2_AUDIT_SAMPLES_MOST 4096
// Momentum: fraction of the largest term of a body's balance that rounding and the solver's
// tolerance (1e-9, times the mass ratios of an island) may leave.
#define S2_AUDIT_MOMENTUM 1e-6
// Energy: fraction of a group's kinetic energy that the balance of one step may miss, in addition
// to the known terms and the square of its largest turn. Joints leave terms of second order: 6e-5
// was observed for a pendulum near its turning point. Smaller errors of joints appear over a run of
// steps.
#define S2_AUDIT_ENERGY 1e-3
// Fraction of the kinetic energy that the work of corrections may miss, in addition to the part
// that turning explains. At this limit a body slows down by half of the fraction in each step: by a
// thousandth in 200 steps.
#define S2_AUDIT_CORRECTION 1e-5
// The effect of rigid joints on the energy oscillates with the state: its amplitude is at most this
// multiple of the part that turning explains in one step (for a pendulum: a tenth of that).
#define S2_AUDIT_SWAY 1
// In addition, errors that differ from step to step add up as a random walk. The audit allows this
// many standard deviations of that walk.
#define S2_AUDIT_SPREAD 3
// Fraction of the kinetic energy of a joint's bodies that may violate the joint. If a step turns a
// body by phi, a velocity along the chord of its path is wrong by phi/2 of the speed, or phi^2/4 of
// the energy. So this fraction corresponds to a turn of 0.06 rad per step.
#define S2_AUDIT_DRIFT 1e-3
// rad: a step that turns bodies by more than this does not resolve their energy, so the audit does
// not judge it.
#define S2_AUDIT_TURN 0.5

// Largest number of bytes for each body and shape that one audit takes from the arena. If an audit
// took more and memory ran out at the end of a step, the program would abort.
#define S2_AUDIT_SCRATCH 512

// ---- Published results of a step --------------------------------------------------------------

typedef struct S2AuditKnot { // the end of a piece of a body's path
  double t;                  // s since the start of the step
  double q[3];               // pose at that time
  double v[3];               // velocity at the beginning of the piece
  bool curved; // a parabola that begins with v; else straight, with constant angular velocity
} S2AuditKnot;

// Knots for each body: the number of pieces of a substep that are stored separately. Further pieces
// are merged into the last. Fast turning splits a step into up to S2_TURN_PIECES pieces. So a body
// that turns by more than S2_AUDIT_SPIN (rad) in a step has more knots, and so do all bodies of
// worlds with at most S2_AUDIT_FEW bodies.
enum { S2_AUDIT_KNOTS = 24, S2_AUDIT_KNOTS_SPINNING = 320, S2_AUDIT_FEW = 64 };
#define S2_AUDIT_SPIN 0.02

// Work on one body within a step, J. An impulse times the mean of the velocities before and after
// it is the exact change of kinetic energy.
typedef struct S2AuditWork {
  double contacts; // work of contacts by the relative velocity of the surfaces: rebounds, friction
  double ground;   // work of contacts by the velocity of kinematic bodies and of belts
  double integrated; // work of forces: h f (v0 + v2)/2 less h f times the carrying velocity
  // Work of forces: h f (v0 + v2)/2 less f times the whole displacement, corrections included.
  double swept;
  double corrected; // work of velocity corrections
  // N s: sum of the lengths of joint impulses of the two half-steps, which may cancel
  double halves;
  double struck; // N s: sum of the lengths of contact impulses
  double spun;   // N m s: sum of the sizes of angular impulses of contacts
  // J: sizes of the work of motors and dry friction at the mean velocities, less their impulses
  // times the velocity that moves the positions
  double paced;
} S2AuditWork;

// Energy that a group of bodies connected only by joints has gained or lost over consecutive steps.
typedef struct S2AuditRun {
  int members;    // number of bodies; a group of another size is a different group
  uint64_t step;  // the last
  double rest;    // J, sum of the unexplained energy, with its sign
  double most;    // J, largest tolerance of a step
  double spread2; // J^2, the sum of squares of errors that differ from step to step
} S2AuditRun;

typedef struct S2AuditFlight { // motion of one body in a piece; 3 numbers each
  const double *q0, *q1, *v0, *v2;
  const double *carry; // the velocity that moves the positions
} S2AuditFlight;

typedef struct S2AuditHeld { // a pair of shapes that friction held in the previous step
  int32_t shape_a, shape_b;
} S2AuditHeld;

typedef struct S2Auditor {
  int slots, room, knot_room; // bodies; capacity of the arrays in bodies; knots per slot
  double time, h;             // s: start of the step, and its completed part
  bool found;                 // whether this step has a finding
  char text[S2_MESSAGE_SIZE]; // the first finding
  double *q0, *v0;            // 3 per slot, at the start of the step
  double *force;              // 3 per slot: N m s, N s of forces and damping
  double *pushed;             // 3 per slot: N s of joints, along x and y
  double *corrected;          // 3 per slot: N m s, N s of corrections by the step
  double *size;               // per slot: N s of joints, sum of the lengths
  double *damped;             // per slot: largest J that its damping may have removed
  double *work;               // per slot: J of forces other than gravity
  double *excused;            // per slot: m that the initial overlaps explain
  // per slot: m, its reach, or the largest distance of a joint from its centre
  double *arm;
  S2AuditWork *done, *tried; // per slot: work that counts; work that a search may still repeat
  S2AuditRun *run;           // per slot: the run of the group whose smallest slot this is
  S2AuditHeld *before;       // sorted
  int held_before, held_room;
  double *left;      // 6 per slot: pose and velocity at the end of the last step
  bool *set;         // per slot: whether the program has changed pose or velocity since then
  double *missed;    // per slot: N s, N m s that solves above the tolerance have left unexplained
  bool *jointed;     // per slot: whether a joint acts on it
  bool *held;        // per slot: whether a joint acts on it with unknown impulses
  int32_t *root;     // per slot: the smallest slot of a body that acts on it, directly or not
  int *knots;        // per slot: number of knots
  S2AuditKnot *knot; // knot_room for each slot
  int joint_room;
  double *coordinate;   // per joint slot: coordinate of its motor and friction at the start
  double *pace;         // per joint slot: rate of that coordinate at the start, rad/s or m/s
  double *elastic;      // per joint slot: J in its springs, at the start
  double *driven;       // per joint slot: N s or N m s of its motor and friction
  double *carried;      // per joint slot: N s that it transmits between its bodies
  unsigned char *image; // image of a strict world at the start of the step
  size_t image_size, image_room;
  S2Arena arena; // of one step
  // The first finding of all steps, or "".
  char first[S2_MESSAGE_SIZE];
} S2Auditor;

// ---- audit.c ----------------------------------------------------------------------------------

// A step begins. Does nothing if the setting is off. S2_MEMORY: no memory for the audit's data.
S2Status s2_audit_begin(S2World *world);
// A piece of the step of an island (NULL: of all bodies) ends. It began with v0, has length h, and
// ends at q1. `curved`: by the trapezoidal rule.
void s2_audit_piece(const S2Step *step, const S2Island *island, double h, bool curved);
// Records a piece of length h of one body that ends `end` after the start of the substep.
void s2_audit_flight(const S2Step *step, int32_t slot, double end, double h,
                     const S2AuditFlight *flight, bool curved);
// Discards the poses of this substep for an island (NULL: for all bodies), because the attempt is
// repeated.
void s2_audit_again(const S2Step *step, const S2Island *island);
// A solve missed its tolerance, so the step is unsolved. `dynamics`: N s and N m s, the largest
// difference between momentum change and impulses of any one body.
void s2_audit_missed(const S2Step *step, const S2Island *island, double dynamics);
// A substep is complete but not yet in the world. Only for worlds with audits.
void s2_audit_substep(const S2Step *step);
void s2_audit_free(S2World *world);
double s2_audit_turn(const S2Auditor *audit, int32_t slot); // rad: largest turn between knots
// rad: the largest turn of a piece of its path if the body turned at the piece's largest angular
// velocity throughout. So turns that reverse within a piece count, too.
double s2_audit_turn_at_most(const S2Auditor *audit, int32_t slot);

// Work within a step (audit_work.c). Recorded work counts only after s2_audit_keep. The next two
// functions are only for worlds with audits.
void s2_audit_forget(const S2Step *step);
void s2_audit_keep(const S2Step *step);
// A solve gave these impulses to point k of a touch, between the velocities v0 and v2.
void s2_audit_contact(const S2Step *step, const S2Touch *touch, int k, double normal,
                      double tangent);
// Call this before the correction is added to v2.
void s2_audit_correct(const S2Step *step, int32_t slot, const double dv[3]);
// Impulses of a joint on its first body (angular, x, y) in the two half-steps of a piece, or before
// a limit and at it. `paced`, J: see S2AuditWork.
void s2_audit_halves(const S2Step *step, const S2Joint *joint, const double first[3],
                     const double second[3], double paced);
void s2_audit_integrated(const S2Step *step, int32_t slot, double h, const S2AuditFlight *flight);
// Counts a finding. The first finding of a step gives its text, which is issued as a warning unless
// the step already has a warning.
void s2_audit_find(S2World *world, uint64_t *count, int32_t a, int32_t b, double t,
                   const char *format, ...) __attribute__((format(printf, 6, 7)));

// The pose of a body at a time of the step; and bounds of its velocity until `to`, m/s and rad/s.
void s2_audit_pose(const S2Auditor *audit, int32_t slot, double t, double pose[3]);
double s2_audit_next_knot(const S2Auditor *audit, int32_t slot, double t); // s; INFINITY: none
void s2_audit_rate(const S2Auditor *audit, int32_t slot, double from, double to, S2Vec2 v[2],
                   double *turn);
double s2_audit_elastic(const S2World *world, int32_t joint);    // J, now
double s2_audit_coordinate(const S2World *world, int32_t joint); // rad or m, now
double s2_audit_pace(const S2World *world, int32_t joint);       // speed of that coordinate
// The touch of a pair of shapes, a < b; NULL: the world has not examined the pair.
const S2Touch *s2_audit_touch(const S2World *world, int32_t shape_a, int32_t shape_b);
S2Vec2 s2_audit_point(const double q[3], S2Vec2 local); // world coordinates
S2Vec2 s2_audit_rod(const S2Joint *joint,
                    const double *q); // m: from its second anchor to its first

// ---- The audits -------------------------------------------------------------------------------

// m: signed distance between two shapes, negative if they overlap; *normal: from b to a.
double s2_audit_distance(const S2Shape *a, const double qa[3], const S2Shape *b, const double qb[3],
                         S2Vec2 *normal);
// m: the distance of a beyond b along a direction, a lower bound of the distance between them. The
// direction is *normal or the normal of an edge, whichever gives the largest distance; *normal
// receives it (from b to a).
double s2_audit_beyond(const S2Shape *a, const double qa[3], const S2Shape *b, const double qb[3],
                       S2Vec2 *normal);
double s2_audit_thickness(const S2Shape *shape); // m: its smallest width

// audit_end.c: judges the step that has ended. In a strict world, a finding gives S2_UNSOLVED, and
// the world returns to its state before the step.
S2Status s2_audit_end(S2World *world);
void s2_audit_passages(S2World *world, S2Auditor *audit);
void s2_audit_jumps(S2World *world, S2Auditor *audit);
void s2_audit_momenta(S2World *world, S2Auditor *audit);
void s2_audit_energies(S2World *world, S2Auditor *audit);
void s2_audit_joints(S2World *world, S2Auditor *audit);

#endif
