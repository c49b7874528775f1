// Private to core/dynamics: audits, which judge a whole step by geometry and mechanics alone.
//
// The residual of a solve says nothing about the step around it. Audits do. They read what a step
// publishes (poses, velocities, the times at which it was split, the impulses of contacts and
// joints, the forces), and they share no code with the collision tests and schemes that made it:
//
//     audit_shape.c     signed distance of two convex shapes
//     audit_passage.c   no pair of rigid shapes overlapped or changed sides within the step, and
//                       impulses acted only where surfaces touched
//     audit_jump.c      no body moved farther than its velocities and impulses explain, and what
//                       friction holds did not slip
//     audit_balance.c   the momentum of every body
//     audit_work.c      collects the work of contacts, of the integration and of corrections
//     audit_energy.c    the energy of bodies that act on each other, in a step and over a run
//     audit_joint.c     velocities that a rigid joint does not allow
//     audit.c           collects what they need during a step, and reports what they find
//     audit_end.c       calls them
//
// A step is audited when the setting `audit` is on. Nothing here changes the motion.
#ifndef S2_AUDIT_H
#define S2_AUDIT_H

#include "dynamics/step/context.h"

// ---- Numbers that matter ----------------------------------------------------------------------

// Lengths below this part of a pair's smaller body are the tolerances of the step itself (1e-9 of a
// body at its end) and what a path of second order leaves.
#define S2_AUDIT_LENGTH 1e-6
// Places are right to this part of a body: forces times that are no energy.
#define S2_AUDIT_PLACE 1e-8
// Shapes that came closer than this part of the smaller body have touched: the time at which they
// meet is found to 1e-5 of what counts as touching, and a step solves for it from several lengths.
#define S2_AUDIT_TOUCH 1e-5
// Sides of a pair are told when its cores are apart by this part of the smaller body.
#define S2_AUDIT_SIDE 1e-7
// An overlap within a step is no finding up to this part of the thinner shape: paths between two
// known poses are bent by turning, which this allows for as far as it explains it.
#define S2_AUDIT_DEPTH 0.25
// Samples of the relative motion of a near pair within a step, at least, and at most.
#define S2_AUDIT_SAMPLES      64
#define S2_AUDIT_SAMPLES_MOST 4096
// Momentum: part of the largest term of a body's balance that rounding and the solver's tolerance
// (1e-9, times the mass ratios of an island) may leave.
#define S2_AUDIT_MOMENTUM 1e-6
// Energy: part of the kinetic energy of a group that the balance of one step may be off by, beside
// the terms that are known and the square of its largest turn. Joints leave terms of second order:
// 6e-5 was seen of a pendulum near its turning point. Smaller faults of joints show over a run of
// steps.
#define S2_AUDIT_ENERGY 1e-3
// The same for the work of corrections, beside what turning explains of it: bodies slow down by
// half of that in a step, by a thousandth in 200 steps.
#define S2_AUDIT_CORRECTION 1e-5
// What rigid joints do to the energy sways by a function of the state: at most by so many times
// what turning explains in one step (a pendulum: by a tenth of that).
#define S2_AUDIT_SWAY 1
// Beside that errors that differ from step to step add up as a random walk: standard deviations.
#define S2_AUDIT_SPREAD 3
// Part of the kinetic energy of a joint's bodies that may be against the joint. Velocities along
// the chord of a step that turns by phi are off by phi/2 of the speed, phi^2/4 of the energy: this
// is a turn of 0.06 rad a step.
#define S2_AUDIT_DRIFT 1e-3
// rad: a step that turns bodies by more than this resolves no energy: its balance is not judged.
#define S2_AUDIT_TURN 0.5

// Bytes a body and a shape that any one audit takes from the arena, at most. If an audit takes
// more, running out of memory at the end of a step aborts.
#define S2_AUDIT_SCRATCH 512

// ---- What a step publishes --------------------------------------------------------------------

typedef struct S2AuditKnot { // the end of a piece of a body's path
  double t;                  // s since the start of the step
  double q[3];               // pose there
  double v[3];               // velocity with which the piece began
  bool curved; // a parabola that begins with v; else straight, with a constant angular velocity
} S2AuditKnot;

// Pieces of a substep that are kept apart; later ones are joined to the last. Where a body turns by
// more than S2_AUDIT_SPIN (rad) in a step, or may since there are no more than S2_AUDIT_FEW bodies,
// steps are made in up to S2_TURN_PIECES pieces, and those are split.
enum { S2_AUDIT_KNOTS = 24, S2_AUDIT_KNOTS_SPINNING = 320, S2_AUDIT_FEW = 64 };
#define S2_AUDIT_SPIN 0.02

// Work within a step on one body, J. The mean of the velocities before and after an impulse gives
// the exact change of kinetic energy.
typedef struct S2AuditWork {
  double contacts; // of contacts, by the relative velocity of the two surfaces: rebounds, friction
  double ground;   // of contacts, by the velocity of bodies that move as given, and of belts
  double integrated; // of forces: h f (v0 + v2)/2 less h f times the velocity that carried it
  double swept;      // the same less f times the whole way, with what positions were corrected by
  double corrected;  // of corrections of its velocity
  double halves;     // N s: lengths of what joints gave one after the other, which may cancel
  double struck;     // N s: the same of contacts
  double spun;       // N m s: the same of their torques
} S2AuditWork;

// What a group of bodies that only joints act on gained or lost over consecutive steps.
typedef struct S2AuditRun {
  int members;    // bodies; a group of another size is another one
  uint64_t step;  // the last
  double rest;    // J, the sum of what no work explains, with its sign
  double most;    // J, the largest of what a step may be off by
  double spread2; // J^2, the sum of squares of errors that differ from step to step
} S2AuditRun;

typedef struct S2AuditFlight { // of one body in a piece, 3 numbers each
  const double *q0, *q1, *v0, *v2;
  const double *carry; // the velocity that carries the positions
} S2AuditFlight;

typedef struct S2AuditHeld { // a pair of shapes that friction held in the step before
  int32_t shape_a, shape_b;
} S2AuditHeld;

typedef struct S2Auditor {
  int slots, room, knot_room; // bodies; how many the arrays have room for; knots a slot
  double time, h;             // s: the start of the step, and how much of it is done
  bool found;                 // something in this step
  char text[S2_MESSAGE_SIZE]; // the first finding
  double *q0, *v0;            // 3 a slot, at the start of the step
  double *force;              // 3 a slot: N m s, N s of forces and damping
  double *pushed;             // 3 a slot: N s of joints, along x and y
  double *corrected;          // 3 a slot: N m s, N s that the stepping itself gave
  double *size;               // a slot: N s of joints, as a sum of lengths
  double *damped;             // a slot: J that its damping may have taken
  double *work;               // a slot: J of forces other than gravity
  double *excused;            // a slot: m that the overlaps it began with explain
  double *arm;                // a slot: m, its reach, or as far as joints hold it from its centre
  S2AuditWork *done, *tried;  // a slot: of what counts; of what a search may still make again
  S2AuditRun *run;            // a slot: of the group whose smallest slot it is
  S2AuditHeld *before;        // sorted
  int held_before, held_room;
  double *left;      // 6 a slot: pose and velocity that the last step left
  bool *set;         // a slot: one of them was changed since
  double *missed;    // a slot: N s, N m s that solves left which missed their tolerance
  bool *jointed;     // a slot: a joint acts on it
  bool *held;        // a slot: of one it is not known what it gives to either body
  int32_t *root;     // a slot: the smallest slot that acts on it, perhaps through others
  int *knots;        // a slot: how many
  S2AuditKnot *knot; // knot_room a slot
  int joint_room;
  double *coordinate;   // a joint's slot: where motor and friction act, at the start
  double *pace;         // a joint's slot: rad/s or m/s of that, at the start
  double *elastic;      // a joint's slot: J in its springs, at the start
  double *driven;       // a joint's slot: N s or N m s of its motor and friction
  double *carried;      // a joint's slot: N s between its bodies
  unsigned char *image; // the world at the start of the step, where it is strict
  size_t image_size, image_room;
  S2Arena arena; // of one step
  // The first finding of all steps; "": there is none.
  char first[S2_MESSAGE_SIZE];
} S2Auditor;

// ---- audit.c ----------------------------------------------------------------------------------

// A step begins; does nothing where the setting is off. S2_MEMORY: no room for what the audit
// keeps.
S2Status s2_audit_begin(S2World *world);
// A piece of the step of an island (NULL: of all bodies) ends: it began with v0, it takes h, and it
// ends at q1. `curved`: by the trapezoid.
void s2_audit_piece(const S2Step *step, const S2Island *island, double h, bool curved);
// The same of one body, of a piece of length h that ends `end` after the start of the substep.
void s2_audit_flight(const S2Step *step, int32_t slot, double end, double h,
                     const S2AuditFlight *flight, bool curved);
// Poses of this substep that were noted, of an island (NULL: of all bodies), are of an attempt that
// is made again.
void s2_audit_again(const S2Step *step, const S2Island *island);
// A solve missed its tolerance, which makes the step an unsolved one: N s and N m s between the
// velocities and the impulses of any one body.
void s2_audit_missed(const S2Step *step, const S2Island *island, double dynamics);
// In a world with audits: a substep is finished, and not yet in the world.
void s2_audit_substep(const S2Step *step);
void s2_audit_free(S2World *world);
double s2_audit_turn(const S2Auditor *audit, int32_t slot); // rad: the largest from knot to knot
// rad: the most that it would turn in a piece of its path at the fastest that it turns there: what
// turns back within a piece has turned, too.
double s2_audit_turn_at_most(const S2Auditor *audit, int32_t slot);

// Work within a step (audit_work.c). Noted work counts only after s2_audit_keep. These two are for
// worlds with audits.
void s2_audit_forget(const S2Step *step);
void s2_audit_keep(const S2Step *step);
// A solve gave point k of a touch these impulses between the velocities v0 and v2.
void s2_audit_contact(const S2Step *step, const S2Touch *touch, int k, double normal,
                      double tangent);
void s2_audit_correct(const S2Step *step, int32_t slot, const double dv[3]); // before v2 has it
// What a joint gave in the two halves of a piece, or on the way to a limit and at it: angular, x, y
// each, on its first body.
void s2_audit_halves(const S2Step *step, const S2Joint *joint, const double first[3],
                     const double second[3]);
void s2_audit_integrated(const S2Step *step, int32_t slot, double h, const S2AuditFlight *flight);
// Counts a finding. The first one of a step is its text, and a warning if the step has no other.
void s2_audit_find(S2World *world, uint64_t *count, int32_t a, int32_t b, double t,
                   const char *format, ...) __attribute__((format(printf, 6, 7)));

// The pose of a body at a time of the step, and bounds until `to` of how fast it goes: m/s, rad/s.
void s2_audit_pose(const S2Auditor *audit, int32_t slot, double t, double pose[3]);
double s2_audit_next_knot(const S2Auditor *audit, int32_t slot, double t); // s; the end: INFINITY
void s2_audit_rate(const S2Auditor *audit, int32_t slot, double from, double to, S2Vec2 v[2],
                   double *turn);
double s2_audit_elastic(const S2World *world, int32_t joint);    // J, now
double s2_audit_coordinate(const S2World *world, int32_t joint); // rad or m, now
double s2_audit_pace(const S2World *world, int32_t joint);       // its speed
// What the world knows of a pair of shapes, a < b; NULL: it has not looked at it.
const S2Touch *s2_audit_touch(const S2World *world, int32_t shape_a, int32_t shape_b);
S2Vec2 s2_audit_point(const double q[3], S2Vec2 local); // world coordinates
S2Vec2 s2_audit_rod(const S2Joint *joint,
                    const double *q); // m: from its second anchor to its first

// ---- The audits -------------------------------------------------------------------------------

// m: signed distance of two shapes, negative where they overlap; *normal: from b to a.
double s2_audit_distance(const S2Shape *a, const double qa[3], const S2Shape *b, const double qb[3],
                         S2Vec2 *normal);
// m: how far a lies beyond b along a direction, at most as far as they are apart: along *normal or
// the normal of an edge, which is then *normal (from b to a), whichever is the most.
double s2_audit_beyond(const S2Shape *a, const double qa[3], const S2Shape *b, const double qb[3],
                       S2Vec2 *normal);
double s2_audit_thickness(const S2Shape *shape); // m: its least width

// audit_end.c: judges the step that has ended. S2_UNSOLVED in a strict world with a finding, which
// is then as it was before the step.
S2Status s2_audit_end(S2World *world);
void s2_audit_passages(S2World *world, S2Auditor *audit);
void s2_audit_jumps(S2World *world, S2Auditor *audit);
void s2_audit_momenta(S2World *world, S2Auditor *audit);
void s2_audit_energies(S2World *world, S2Auditor *audit);
void s2_audit_joints(S2World *world, S2Auditor *audit);

#endif
