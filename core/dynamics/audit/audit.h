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
//     audit_balance.c   the momentum of every body, the energy of bodies that act on each other
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
// Energy: part of an island's energy in the step that the balance may be off by, beside the square
// of its largest turn. Chosen by judgement: it is far above rounding and below what is seen.
#define S2_AUDIT_ENERGY 1e-3
// The same for what the stepping itself takes or gives, to make up for what its projection of
// positions lifted or lost.
#define S2_AUDIT_CORRECTION 1e-2
// rad: a step that turns bodies by more than this resolves no energy: its balance is not judged.
#define S2_AUDIT_TURN 0.5

// ---- What a step publishes --------------------------------------------------------------------

typedef struct S2AuditKnot { // the end of a piece of a body's path
  double t;                  // s since the start of the step
  double q[3];               // pose there
  double v[3];               // velocity with which the piece began
  bool curved; // a parabola that begins with v; else straight, with a constant angular velocity
} S2AuditKnot;

// Pieces of a step that are kept apart, a substep; later ones are joined to the last.
enum { S2_AUDIT_KNOTS = 24 };

typedef struct S2Auditor {
  int slots, room, knot_room; // bodies; how many the arrays have room for; knots a slot
  double time, h;             // s: the start of the step, and how much of it is done
  bool found;                 // something in this step
  double *q0, *v0;            // 3 a slot, at the start of the step
  double *force;              // 3 a slot: N m s, N s of forces and damping
  double *pushed;             // 3 a slot: N s of joints, along x and y
  double *corrected;          // 3 a slot: N m s, N s that the stepping itself gave
  double *size;               // a slot: N s of joints, as a sum of lengths
  double *damped;             // a slot: J that its damping may have taken
  double *work;               // a slot: J of forces other than gravity
  double *excused;            // a slot: m that the overlaps it began with explain
  bool *jointed;              // a slot: a joint acts on it
  bool *held;                 // a slot: of one it is not known what it gives to either body
  int32_t *root;              // a slot: the smallest slot that acts on it, perhaps through others
  int *knots;                 // a slot: how many
  S2AuditKnot *knot;          // knot_room a slot
  int joint_room;
  double *coordinate;   // a joint's slot: where motor and friction act, at the start
  double *elastic;      // a joint's slot: J in its springs, at the start
  double *driven;       // a joint's slot: N s or N m s of its motor and friction
  double *carried;      // a joint's slot: N s between its bodies
  unsigned char *image; // the world at the start of the step
  size_t image_size, image_room;
  S2Arena arena; // of one step
  // The first finding of all steps; "": there is none.
  char first[S2_MESSAGE_SIZE];
} S2Auditor;

// ---- audit.c ----------------------------------------------------------------------------------

void s2_audit_begin(S2World *world); // a step; nothing where the setting is off
// A piece of the step of an island (NULL: of all bodies) ends: it began with v0, it takes h, and it
// ends at q1. `curved`: by the trapezoid.
void s2_audit_piece(const S2Step *step, const S2Island *island, double h, bool curved);
// Poses of this substep that were noted are of an attempt that is made again.
void s2_audit_again(const S2Step *step);
void s2_audit_substep(const S2Step *step); // a substep is finished, and not yet in the world
void s2_audit_undo(S2World *world);        // the world is as it was when the step began
void s2_audit_free(S2World *world);
// A finding: counts it, once a step, and warns. The text begins with its kind.
void s2_audit_find(S2World *world, uint64_t *count, int32_t a, int32_t b, double t,
                   const char *format, ...) __attribute__((format(printf, 6, 7)));

// The pose of a body at a time of the step, and bounds until `to` of how fast it goes: m/s, rad/s.
void s2_audit_pose(const S2Auditor *audit, int32_t slot, double t, double pose[3]);
double s2_audit_next_knot(const S2Auditor *audit, int32_t slot, double t); // s; the end: INFINITY
void s2_audit_rate(const S2Auditor *audit, int32_t slot, double from, double to, S2Vec2 v[2],
                   double *turn);
double s2_audit_elastic(const S2World *world, int32_t joint);    // J, now
double s2_audit_coordinate(const S2World *world, int32_t joint); // rad or m, now
// What the world knows of a pair of shapes, a < b; NULL: it has not looked at it.
const S2Touch *s2_audit_touch(const S2World *world, int32_t shape_a, int32_t shape_b);
S2Vec2 s2_audit_point(const double q[3], S2Vec2 local); // world coordinates

// ---- The audits -------------------------------------------------------------------------------

// m: signed distance of two shapes, negative where they overlap; *normal: from b to a.
double s2_audit_distance(const S2Shape *a, const double qa[3], const S2Shape *b, const double qb[3],
                         S2Vec2 *normal);
double s2_audit_thickness(const S2Shape *shape); // m: its least width

// audit_end.c: judges the step that has ended. S2_UNSOLVED in a strict world with a finding, which
// is then as it was before the step.
S2Status s2_audit_end(S2World *world);
void s2_audit_passages(S2World *world, S2Auditor *audit);
void s2_audit_jumps(S2World *world, S2Auditor *audit);
void s2_audit_balances(S2World *world, S2Auditor *audit);

#endif
