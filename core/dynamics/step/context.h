// Private to core/dynamics and core/diff: the current step, which its phases share. All data are in
// the step's arena. Only s2_step_commit writes the world, so a step that fails or is aborted leaves
// no trace.
#ifndef S2_CONTEXT_H
#define S2_CONTEXT_H

#include "dynamics/joints/joint.h"
#include "dynamics/world/world.h"

typedef struct S2Assembly S2Assembly;
typedef struct S2Found S2Found;

typedef struct S2Island { // bodies that act on each other; all lists are in ascending order
  int nodes, touches, joints;
  int32_t *node;  // slots
  int32_t *touch; // indices into S2Step.touches
  int32_t *joint; // slots of joints
  double length;  // m: size of its largest body
  double enough;  // m: errors below this are not projected; set by the projection
  S2Vec2 frame;   // m/s: mean velocity of its ground; small speeds are relative to it
  bool grounded;  // it has ground
  double swing;   // m/s: speed of ground surfaces by turning, and of belts
  // For islands without contacts in speculative steps: the problem of the first S2_SOLVE_MOTION,
  // whose rows belong to q0 (so no part of the step precedes it). Else NULL.
  S2Assembly *motion;
  // m: the largest error of its joints at the last evaluation, if it needed no length (no angles,
  // no limits); else NAN.
  double joint_error;
  bool kept; // whether this step leaves it unchanged without a solve (rest/rest.h)
  // bisect: whether rebounds are part of its motion, so that lifts may also be repaid
  bool bounced;
  bool gave_up;   // the two stages (rattle/) did not solve it with their largest number of pieces
  bool accounted; // whether its lifts by projection are repaid (repay.c)
  double turning; // (h w)^2 of forces that turn too fast for the step (geometric.c); else 0
  // Speculative steps: 3 per node, if the two stages (rattle/) have made its step; else NULL.
  double *flowed_q1, *flowed_v2;
} S2Island;

// The origin of a chosen point's bias (for its derivative).
typedef enum S2Target {
  S2_TARGET_FIXED,    // nothing
  S2_TARGET_GAP,      // the gap
  S2_TARGET_ARRIVAL,  // restitution times the arrival speed
  S2_TARGET_APPROACH, // restitution times the speed before the solve
  S2_TARGET_RETURN,   // S2Rebound.after, the speed of the rebound
  S2_TARGET_MIRROR,   // the speed before the solve
  S2_TARGET_NORMAL,   // S2_SOLVE_FRICTION: the normal impulse of the preceding reflection
  S2_TARGET_LEAVING,  // the separation speed, plus the speed that the contact would still have
                      // gained
  S2_TARGET_ERROR,    // the gap itself
} S2Target;

// The treatment of one contact point (two for each touch) in a solve.
typedef struct S2Choice {
  bool use;
  // m/s, for a rigid normal row; S2_SOLVE_FRICTION: N s, the normal impulse that bounds friction
  double bias;
  S2Target target;
} S2Choice;

// A rebound at a height above the surface, in a step whose forces accelerate the approach. The body
// falls through the gap, rebounds with e times its speed there, and returns to the same height with
// the speed `there`. The step gives the body the speed `after` for its whole motion. Since forces
// act during the motion, after^2/2 + added after = there^2/2.
typedef struct S2Rebound {
  double added;  // m/s, increase of the approach speed by forces within the step
  double there2; // m^2/s^2: square of `there`; if not positive, the body does not return
  double after;  // m/s
} S2Rebound;

// For an approach with the speed u < 0, which would be free_u at the end of the step if there were
// no contacts.
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
  int substep, substeps; // substep of the world's step: 0 .. substeps - 1
  double dt;             // s: length of this substep
  double h;              // s: length of this (sub-)step of bisect or piece; else dt
  double t;              // s: time at its start
  double *q0, *v0;       // 3 per slot: state at its start; bodies at rest have no velocity
  double *v_start;       // 3 per slot: v0 at the start of the whole step
  // 3 per slot: velocities of kinematic bodies at the start and the end of the substep; they move
  // with v0, which is the mean. NULL except with S2_FLOW_RATTLE.
  double *given_start, *given_end;
  double *force; // 3 per slot: the whole force
  // 3 per slot: the part of `force` that is held over the step, and the force of laws at the start
  // of the piece; NULL if there are no laws
  double *held, *law;
  double *law_begin; // 3 per slot: `law` at the start of the step
  int32_t *lawful;   // slots of the bodies with force laws, in the order of their calls
  int laws;          // number of these bodies
  // 3 per slot: diagonal of W (damping included); 0 for bodies that are not unknowns
  double *mass;
  double *free_v; // 3 per slot: W^-1 (M v0 + h f), the velocities without contacts and joints
  double *slack;  // per slot: m that a body may move farther than with free_v, from the last pass
  double *v1;     // 3 per slot: velocities of the first solve, which move the positions
  double *v2;     // 3 per slot: velocities at the end (v1, unless there was an impact)
  double *q1;     // 3 per slot: positions at the end
  S2Rot *turn;    // per slot: rotations at q0, of the bodies in the search for contacts
  double *carry;  // 3 per slot: (q1 - q0)/h = (1 - share) v0 + share v1
  double share;   // beta; in event stepping, the share of the present island
  bool *ahead;    // per slot: whether v1 alone moves it, because v0 would move it into another body
  double *joint_impulse;  // S2_JOINT_ROWS per joint slot
  double *joint_reaction; // 3 per joint slot
  double acted;           // s: duration of the joint impulses and reactions
  // per joint slot: whether its island uses implicit Euler with the positive part of the geometric
  // stiffness, because the step would be too long without that stiffness
  bool *stiff;
  double *balanced; // 3 per slot: part of `corrected` that the last solve requires (spin.h)
  // 3 per slot: N m s, N s of corrections, which come neither from forces nor from contacts or
  // joints
  double *corrected;
  double *pushed; // 2 per joint slot: N, force on bodies with ground friction by all other causes
  S2Touch *touches;
  // the touches in the solve (S2_POST; S2_PROJECTION with notes); else NULL
  S2Touch *touches_solved;
  int touch_count;
  int32_t *logged; // per touch: its first entry in S2World.log, or S2_NONE
  S2Island *islands;
  int island_count;
  int32_t *node_of; // per slot: its node within its island, or S2_GROUND
  bool *strayed;    // per slot: whether it moved farther in this step than a search expected
  // per slot: whether an earlier search has halved the step of its island (event.c)
  bool *halves;
  // The unchanged part of the last step (rest/rest.h): bodies (NULL: none are known), flags
  // S2_TOUCH_... of touches, and results of islands.
  bool *still;
  unsigned char *kept;
  S2RestIsland *found_at_rest;
  int passes; // number of completed searches; 0 during the first
  // Results of predictive passes (found.c) of this search and of the last one, for each pass and
  // touch.
  S2Found *found, *found_before;
  int found_count, found_before_count; // touches
  // A guess for the present impact, S2_TOUCH_IMPULSES per touch of its island, or NULL.
  const double *impact;
  int unsolved;  // island solves that missed the tolerance
  double budget; // the remaining budget, S2SolverOptions.budget; infinite: there is none
  bool cut;      // whether the budget has ended a solve
  // whether the budget has ended a solve, or a solve was given up. If so, the step ends with as few
  // solves as possible.
  bool hurries;
  int trying;       // S2SolverOptions.attempt of the present solve
  bool rows_stay;   // whether a solve with new rows failed, so that this step makes no more of them
  bool in_pieces;   // whether turning bodies split a step outside event stepping
  bool cut_short;   // whether bisect with stepping_partial ended before dt
  bool threaded;    // whether this is a thread's copy, with ground at rest and in place
  bool turned;      // whether `turn` belongs to the present q0
  bool holds;       // event stepping: whether projection also closes contacts that carry an impulse
  bool ground_last; // whether rows of ground friction use S2GroundState.last
  S2WorldResiduals residuals;
} S2Step;

// Begins a step, one of `substeps`, in the world's arena (which is reset).
S2Step s2_step_begin(S2World *world, int substep, int substeps);
void s2_step_integrate(S2Step *step);                 // carry and q1 of all bodies
void s2_step_carry(const S2Step *step, int32_t slot); // carry and q1 of one body
// The bias of a gap in a motion, m/s.
double s2_step_gap_bias(const S2Step *step, double gap);
// The settings for a joint's rows in this step.
S2WorldDef s2_step_settings(const S2Step *step, int32_t joint);
static inline S2GeometricStiffness s2_step_geometric(const S2Step *step, int32_t joint) {
  // rows on more than two bodies have no geometric stiffness
  bool wide = s2_joint_is_wide(&step->world->joints.at[joint]);
  return wide                 ? S2_GEOMETRIC_OFF
         : step->stiff[joint] ? S2_GEOMETRIC_PSD
                              : step->world->kept.def.geometric_stiffness;
}
// The rotations at the poses q of the bodies that the island's joints connect, per slot.
const S2Rot *s2_step_turns(const S2Step *step, const S2Island *island, const double *q);
// The velocity of a relative to b at a contact point along a direction, if bodies have the
// velocities v (3 per slot).
double s2_touch_velocity(const S2Touch *touch, int k, S2Vec2 direction, const double *v);
// Whether projection closes the gap of this point although it is open.
static inline bool s2_point_held(const S2Step *step, const S2TouchPoint *point) {
  return step->holds && (point->normal_impulse > 0 || point->closed);
}
static inline bool s2_touch_kept(const S2Step *step, int touch) {
  return step->kept != NULL && (step->kept[touch] & S2_TOUCH_KEPT) != 0;
}
double s2_clock(void); // s, monotonic
// The clock for statistics. It is 0 unless the world measures times, because reading the clock
// takes a tenth of the time of a small world's step.
static inline double s2_stats_clock(const S2World *world) {
  return world->kept.def.profile ? s2_clock() : 0;
}

#endif
