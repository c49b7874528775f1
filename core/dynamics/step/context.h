// Private to core/dynamics and core/diff: the state of the current step, which all phases share.
// All data are in the arena of the step. Only s2_step_commit writes the world, so a step that fails
// or is aborted has no effect.
#ifndef S2_CONTEXT_H
#define S2_CONTEXT_H

#include "dynamics/joints/joint.h"
#include "dynamics/world/world.h"

typedef struct S2Assembly S2Assembly;
typedef struct S2Found S2Found;

typedef struct S2Island { // a set of bodies that act on each other; lists are in ascending order
  int nodes, touches, joints;
  int32_t *node;  // slots of bodies
  int32_t *touch; // indices into S2Step.touches
  int32_t *joint; // slots of joints
  double length;  // size of the largest body (m)
  double enough;  // projection sets this value and ignores smaller errors (m)
  S2Vec2 frame;   // mean velocity of the ground bodies (m/s), to which small speeds are relative
  bool grounded;  // true if the island touches or is joined to ground
  double swing;   // speed of rotating ground surfaces and belts (m/s).
  // The problem of the first S2_SOLVE_MOTION, whose rows belong to q0. NULL except for islands
  // without contacts in speculative steps.
  S2Assembly *motion;
  // The largest joint error (m) at the last evaluation. NAN if there are errors of angles or
  // limits, because these need a length scale.
  double joint_error;
  bool kept; // true if the step leaves the island unchanged without a solve (rest/rest.h).
  // Bisect: true if the motion includes rebounds. They may also add energy by lifting bodies
  // (repay.c).
  bool bounced;
  int8_t rattles; // result of s2_island_rattles: 1 for true, -1 for false, 0 if it is not known
  bool linkage;   // set by s2_island_rattles: rigid hinges and sliders only (rattle/linkage.h)
  bool gave_up;   // true if the two-stage flow (rattle/) failed with the maximum number of pieces
  bool accounted; // true if energy that projection adds by lifting bodies must be removed (repay.c)
  // (h w)^2 of forces that turn too fast for the step (geometric.c), or 0 if there are none.
  double turning;
  // 3 per node. NULL unless the two-stage flow (rattle/) has stepped the island in a speculative
  // step.
  double *flowed_q1, *flowed_v2;
} S2Island;

// The source of the bias of a chosen point. The derivative needs it.
typedef enum S2Target {
  S2_TARGET_FIXED,    // nothing
  S2_TARGET_GAP,      // the gap
  S2_TARGET_ARRIVAL,  // the restitution coefficient times the arrival speed
  S2_TARGET_APPROACH, // the restitution coefficient times the speed before the solve
  S2_TARGET_RETURN,   // the rebound speed, S2Rebound.after
  S2_TARGET_MIRROR,   // the speed before the solve
  S2_TARGET_NORMAL,   // the normal impulse of the preceding reflection, for S2_SOLVE_FRICTION
  S2_TARGET_LEAVING,  // the separation speed plus the speed gained in the rest of the step
  S2_TARGET_ERROR,    // the gap itself, not a speed
} S2Target;

// The treatment of one contact point in a solve. There are two entries for each touch.
typedef struct S2Choice {
  bool use;
  // The bias (m/s) of a rigid normal row. For S2_SOLVE_FRICTION, the normal impulse (N s) that
  // bounds friction.
  double bias;
  S2Target target;
} S2Choice;

// A rebound in a step that starts at a height above the surface, while forces accelerate the
// approach. The body falls through the gap, rebounds with e times its speed at the surface, and
// returns to the initial height with the speed `there`. The step gives the body the speed `after`
// for its whole motion. Forces act during the motion, so `after` is the solution of
// after^2/2 + added after = there^2/2
typedef struct S2Rebound {
  double added;  // increase of the approach speed by forces within the step (m/s)
  double there2; // square of `there` (m^2/s^2), not positive if the body does not return
  double after;  // m/s
} S2Rebound;

// Computes the rebound of a body that approaches with the speed u < 0. Without contacts, its speed
// at the end of the step would be free_u.
static inline S2Rebound s2_rebound(double e, double u, double free_u, double gap, double h) {
  S2Rebound back = {.added = fmax(u - free_u, 0)};
  double fall2 = 2 * back.added / h * fmax(gap, 0);
  back.there2 = e * e * (u * u + fall2) - fall2;
  if (back.there2 > 0) { // this form avoids cancellation
    back.after = back.there2 / (back.added + sqrt(back.added * back.added + back.there2));
  }
  return back;
}

enum { S2_TOUCH_IMPULSES = 4 }; // normal and tangent impulses of two points

typedef struct S2Step {
  S2World *world;
  S2Arena *arena;
  int substep, substeps; // index of the substep: 0 .. substeps - 1
  double dt;             // length of this substep (s)
  double h;              // length of this bisect step or piece (s), otherwise dt
  double t;              // time at the start (s)
  double *q0, *v0;       // 3 per slot: state at the start; v0 is 0 for bodies that cannot move
  double *v_start;       // 3 per slot: v0 at the start of the whole step.
  // Velocities of kinematic bodies at the start and the end of the substep, 3 per slot. These
  // bodies move with v0, which is their mean velocity. NULL unless the flow is S2_FLOW_RATTLE.
  double *given_start, *given_end;
  double *force; // 3 per slot: the total force.
  // The part of `force` that is constant over the step, and the force of laws at the start of the
  // piece. Both have 3 numbers per slot, and are NULL if there are no laws.
  double *held, *law;
  double *law_begin; // 3 per slot: `law` at the start of the step
  int32_t *lawful;   // slots of the bodies with force laws, in the order of the calls
  int laws;          // number of bodies with force laws.
  // 3 per slot: the diagonal of W, which includes damping. 0 for bodies that are not unknowns.
  double *mass;
  double *free_v; // 3 per slot: velocities without contacts and joints, W^-1 (M v0 + h f)
  double *slack; // allowed distance (m) from the motion with free_v, per slot, set by the last pass
  double *v1;    // 3 per slot: velocities of the first solve, which move the positions
  double *v2;    // 3 per slot: velocities at the end; equal to v1 without an impact
  double *q1;    // 3 per slot: positions at the end
  S2Rot *turn;   // per slot: rotations at q0 of the bodies in the contact search
  double *carry; // 3 per slot: (q1 - q0)/h = (1 - share) v0 + share v1
  double share;  // beta; in event stepping, the value of the current island
  bool *ahead; // per slot: true if the body moves with v1 alone, because v0 would cause an overlap
  double *joint_impulse;  // S2_JOINT_ROWS per joint slot
  double *joint_reaction; // 3 per joint slot
  double acted;           // duration of the joint impulses and reactions (s).
  // Per joint slot: true if the island uses implicit Euler with the positive part of the geometric
  // stiffness, because the step would be too long without that stiffness.
  bool *stiff;
  double *balanced; // 3 per slot: the part of `corrected` that the last solve requires (spin.h).
  // The impulses of corrections (N m s and N s), 3 per slot. They are not due to forces, contacts
  // or joints.
  double *corrected;
  double *pushed; // 2 per joint slot, N: other forces on bodies with ground friction
  S2Touch *touches;
  // The touches in the solve. NULL except for S2_POST, and for S2_PROJECTION with notes.
  S2Touch *touches_solved;
  int touch_count;
  int32_t *logged; // per touch: index of its first entry in S2World.log, or S2_NONE
  S2Island *islands;
  int island_count;
  int32_t *node_of; // per slot: index of the node in its island, or S2_GROUND
  bool *strayed;    // per slot: true if the body moved farther in this step than a search expected.
  // Per slot: true if an earlier search has halved the step of the island (event.c).
  bool *halves;
  // The unchanged part of the last step (rest/rest.h), with the bodies, the flags S2_TOUCH_... of
  // touches, and the results of islands. `still` is NULL if no unchanged bodies are known.
  bool *still;
  unsigned char *kept;
  S2RestIsland *found_at_rest;
  // Per slot: true if the step leaves out the body (rest/frozen.c). NULL if it leaves out none.
  const bool *frozen;
  int frozen_touches;          // number of touches that `touches` does not contain
  const S2ActedList *impulses; // in the commit: the impulses of the step, without frozen touches
  int passes;                  // number of completed searches, 0 during the first search.
  // Results of the predictive passes (found.c) in this search and the last search, for each pass
  // and touch.
  S2Found *found, *found_before;
  int found_count, found_before_count; // numbers of touches.
  // The guess for the current impact, S2_TOUCH_IMPULSES per touch of the island, or NULL.
  const double *impact;
  int unsolved; // number of solves that missed the tolerance
  // the remaining budget, as in S2SolverOptions.budget, or INFINITY if there is no limit
  double budget;
  bool cut; // true if the budget has ended a solve.
  // True if the budget has ended a solve or a solve was abandoned. If so, the step ends with as few
  // solves as possible.
  bool hurries;
  int trying;       // S2SolverOptions.attempt of the current solve
  bool rows_stay;   // true if the step may not add rows, because a solve with new rows failed
  bool in_pieces;   // true if fast rotations have split a step outside event stepping
  bool cut_short;   // true if a bisect step with stepping_partial ended before dt
  bool threaded;    // true if this is the copy of a thread, with fixed ground
  bool turned;      // true if `turn` belongs to the current q0
  bool holds;       // event stepping: true if projection closes contacts with an impulse
  bool ground_last; // true if ground friction rows use S2GroundState.last
  S2WorldResiduals residuals;
} S2Step;

// Begins a substep. Resets the arena of the world and uses it.
S2Step s2_step_begin(S2World *world, int substep, int substeps);
void s2_step_integrate(S2Step *step);                 // computes carry and q1 of all bodies
void s2_step_carry(const S2Step *step, int32_t slot); // computes carry and q1 of one body.
// Returns the bias (m/s) of the row of a gap in a motion solve.
double s2_step_gap_bias(const S2Step *step, double gap);
// Returns the world settings for the rows of a joint in this step.
S2WorldDef s2_step_settings(const S2Step *step, int32_t joint);
static inline S2GeometricStiffness s2_step_geometric(const S2Step *step, int32_t joint) {
  // rows on more than two bodies have no geometric stiffness
  bool wide = s2_joint_is_wide(&step->world->joints.at[joint]);
  return wide                 ? S2_GEOMETRIC_OFF
         : step->stiff[joint] ? S2_GEOMETRIC_PSD
                              : step->world->kept.def.geometric_stiffness;
}
// Returns the rotations, per slot, of the bodies connected by the island's joints at the poses q.
const S2Rot *s2_step_turns(const S2Step *step, const S2Island *island, const double *q);
// Returns the velocity of body a relative to body b along a direction at a contact point, for the
// velocities v (3 per slot).
double s2_touch_velocity(const S2Touch *touch, int k, S2Vec2 direction, const double *v);
// Returns true if projection closes the gap of this point although the gap is positive.
static inline bool s2_point_held(const S2Step *step, const S2TouchPoint *point) {
  return step->holds && (point->normal_impulse > 0 || point->closed);
}
static inline bool s2_touch_kept(const S2Step *step, int touch) {
  return step->kept != NULL && (step->kept[touch] & S2_TOUCH_KEPT) != 0;
}
double s2_clock(void); // seconds, monotonic.
// Reads the clock for statistics. Returns 0 unless the world measures times, because reading the
// clock takes a tenth of the time of a step in a small world.
static inline double s2_stats_clock(const S2World *world) {
  return world->kept.def.profile ? s2_clock() : 0;
}

#endif
