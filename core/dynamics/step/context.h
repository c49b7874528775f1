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
  double length;  // m: size of the largest body
  double enough;  // m: projection ignores smaller errors; set by the projection
  S2Vec2 frame;   // m/s: mean velocity of the ground bodies; small speeds are relative to it
  bool grounded;  // whether the island touches or is joined to ground
  double swing;   // m/s: speed of rotating ground surfaces and belts.
  // For islands without contacts in speculative steps: the problem of the first S2_SOLVE_MOTION,
  // whose rows belong to q0. Else NULL.
  S2Assembly *motion;
  // m: the largest joint error at the last evaluation. NAN if there are errors of angles or limits,
  // which need a length scale.
  double joint_error;
  bool kept; // whether the step leaves the island unchanged without a solve (rest/rest.h).
  // Bisect: whether the motion includes rebounds, which may also add energy by lifting bodies
  // (repay.c).
  bool bounced;
  bool gave_up;   // whether the two-stage flow (rattle/) failed with the maximum number of pieces
  bool accounted; // whether to remove energy that projection adds by lifting bodies (repay.c)
  double turning; // (h w)^2 of forces that turn too fast for the step (geometric.c); else 0.
  // Speculative steps: 3 per node, if the two-stage flow (rattle/) has stepped the island; else
  // NULL.
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
  S2_TARGET_NORMAL,   // S2_SOLVE_FRICTION: the normal impulse of the preceding reflection
  S2_TARGET_LEAVING,  // the separation speed plus the speed gained in the rest of the step
  S2_TARGET_ERROR,    // the gap itself, not a speed
} S2Target;

// The treatment of one contact point in a solve. There are two entries for each touch.
typedef struct S2Choice {
  bool use;
  // m/s, for a rigid normal row. S2_SOLVE_FRICTION: N s, the normal impulse that bounds friction.
  double bias;
  S2Target target;
} S2Choice;

// A rebound in a step that starts at a height above the surface, while forces accelerate the
// approach. The body falls through the gap, rebounds with e times its speed at the surface, and
// returns to the initial height with the speed `there`. The step gives the body the speed `after`
// for its whole motion. Forces act during the motion, so after^2/2 + added after = there^2/2.
typedef struct S2Rebound {
  double added;  // m/s: increase of the approach speed by forces within the step
  double there2; // m^2/s^2: square of `there`; not positive: the body does not return
  double after;  // m/s
} S2Rebound;

// Computes the rebound of a body that approaches with the speed u < 0. Without contacts, this speed
// would be free_u at the end of the step.
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
  double dt;             // s: length of this substep
  double h;              // s: length of this bisect step or piece; else dt
  double t;              // s: time at the start
  double *q0, *v0;       // 3 per slot: state at the start; v0 is 0 for bodies that cannot move
  double *v_start;       // 3 per slot: v0 at the start of the whole step.
  // 3 per slot: velocities of kinematic bodies at the start and the end of the substep. These
  // bodies move with v0, which is their mean velocity. NULL except with S2_FLOW_RATTLE.
  double *given_start, *given_end;
  double *force; // 3 per slot: the total force.
  // 3 per slot: the part of `force` that is constant over the step, and the force of laws at the
  // start of the piece. NULL if there are no laws.
  double *held, *law;
  double *law_begin; // 3 per slot: `law` at the start of the step
  int32_t *lawful;   // slots of the bodies with force laws, in the order of the calls
  int laws;          // number of bodies with force laws.
  // 3 per slot: the diagonal of W, which includes damping. 0 for bodies that are not unknowns.
  double *mass;
  double *free_v; // 3 per slot: velocities without contacts and joints, W^-1 (M v0 + h f)
  double *slack; // per slot: allowed distance (m) beyond the motion with free_v, from the last pass
  double *v1;    // 3 per slot: velocities of the first solve, which move the positions
  double *v2;    // 3 per slot: velocities at the end; equal to v1 without an impact
  double *q1;    // 3 per slot: positions at the end
  S2Rot *turn;   // per slot: rotations at q0 of the bodies in the contact search
  double *carry; // 3 per slot: (q1 - q0)/h = (1 - share) v0 + share v1
  double share;  // beta; in event stepping, the value of the current island
  bool *ahead; // per slot: whether the body moves with v1 alone, because v0 would cause an overlap
  double *joint_impulse;  // S2_JOINT_ROWS per joint slot
  double *joint_reaction; // 3 per joint slot
  double acted;           // s: duration of the joint impulses and reactions.
  // Per joint slot: whether the island uses implicit Euler with the positive part of the geometric
  // stiffness, because the step would be too long without that stiffness.
  bool *stiff;
  double *balanced; // 3 per slot: the part of `corrected` that the last solve requires (spin.h).
  // 3 per slot, N m s and N s: the impulses of corrections, which are not due to forces, contacts
  // or joints.
  double *corrected;
  double *pushed; // 2 per joint slot, N: other forces on bodies with ground friction
  S2Touch *touches;
  // The touches in the solve, for S2_POST, and for S2_PROJECTION with notes; else NULL.
  S2Touch *touches_solved;
  int touch_count;
  int32_t *logged; // per touch: index of its first entry in S2World.log, or S2_NONE
  S2Island *islands;
  int island_count;
  int32_t *node_of; // per slot: index of the node in its island, or S2_GROUND
  bool *strayed;    // per slot: whether the body moved farther in this step than a search expected.
  // Per slot: whether an earlier search has halved the step of the island (event.c).
  bool *halves;
  // The unchanged part of the last step (rest/rest.h): bodies, flags S2_TOUCH_... of touches, and
  // results of islands. `still` NULL: no unchanged bodies are known.
  bool *still;
  unsigned char *kept;
  S2RestIsland *found_at_rest;
  int passes; // number of completed searches; 0 during the first search.
  // Results of the predictive passes (found.c) in this search and the last search, for each pass
  // and touch.
  S2Found *found, *found_before;
  int found_count, found_before_count; // numbers of touches.
  // The guess for the current impact, S2_TOUCH_IMPULSES per touch of the island, or NULL.
  const double *impact;
  int unsolved;  // number of solves that missed the tolerance
  double budget; // the remaining budget, as in S2SolverOptions.budget; infinite: no limit
  bool cut;      // whether the budget has ended a solve.
  // Whether the budget has ended a solve or a solve was abandoned. If so, the step ends with as few
  // solves as possible.
  bool hurries;
  int trying;       // S2SolverOptions.attempt of the current solve
  bool rows_stay;   // whether the step may not add rows, because a solve with new rows failed
  bool in_pieces;   // whether fast rotations have split a step outside event stepping
  bool cut_short;   // whether a bisect step with stepping_partial ended before dt
  bool threaded;    // whether this is the copy of a thread, with fixed ground
  bool turned;      // whether `turn` belongs to the current q0
  bool holds;       // event stepping: whether projection closes contacts with an impulse
  bool ground_last; // whether ground friction rows use S2GroundState.last
  S2WorldResiduals residuals;
} S2Step;

// Begins a substep. Resets the arena of the world and uses it.
S2Step s2_step_begin(S2World *world, int substep, int substeps);
void s2_step_integrate(S2Step *step);                 // computes carry and q1 of all bodies
void s2_step_carry(const S2Step *step, int32_t slot); // computes carry and q1 of one body.
// The bias of the row of a gap in a motion solve, m/s.
double s2_step_gap_bias(const S2Step *step, double gap);
// The world settings to use for the rows of a joint in this step.
S2WorldDef s2_step_settings(const S2Step *step, int32_t joint);
static inline S2GeometricStiffness s2_step_geometric(const S2Step *step, int32_t joint) {
  // rows on more than two bodies have no geometric stiffness
  bool wide = s2_joint_is_wide(&step->world->joints.at[joint]);
  return wide                 ? S2_GEOMETRIC_OFF
         : step->stiff[joint] ? S2_GEOMETRIC_PSD
                              : step->world->kept.def.geometric_stiffness;
}
// The rotations, per slot, of the bodies connected by the island's joints at the poses q.
const S2Rot *s2_step_turns(const S2Step *step, const S2Island *island, const double *q);
// The velocity of body a relative to body b along a direction at a contact point, for the
// velocities v (3 per slot).
double s2_touch_velocity(const S2Touch *touch, int k, S2Vec2 direction, const double *v);
// Whether projection closes the gap of this point although the gap is positive.
static inline bool s2_point_held(const S2Step *step, const S2TouchPoint *point) {
  return step->holds && (point->normal_impulse > 0 || point->closed);
}
static inline bool s2_touch_kept(const S2Step *step, int touch) {
  return step->kept != NULL && (step->kept[touch] & S2_TOUCH_KEPT) != 0;
}
double s2_clock(void); // seconds, monotonic.
// The clock for statistics. Returns 0 unless the world measures times, because reading the clock
// takes a tenth of the time of a step in a small world.
static inline double s2_stats_clock(const S2World *world) {
  return world->kept.def.profile ? s2_clock() : 0;
}

#endif
