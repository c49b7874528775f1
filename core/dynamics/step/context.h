// Private to core/dynamics and core/diff: one step under way, which its phases hand on. Everything
// here lives in the step's arena; the world is written only by s2_step_commit, so a step that fails
// or is aborted leaves no trace.
#ifndef S2_CONTEXT_H
#define S2_CONTEXT_H

#include "dynamics/joints/joint.h"
#include "dynamics/world/world.h"

typedef struct S2Assembly S2Assembly;
typedef struct S2Found S2Found;

typedef struct S2Island { // bodies that act on each other, in ascending order everywhere
  int nodes, touches, joints;
  int32_t *node;  // slots
  int32_t *touch; // indices into S2Step.touches
  int32_t *joint; // slots of joints
  double length;  // m: size of its largest body
  double enough;  // m: errors below this are left by its projection, which sets it
  S2Vec2 frame;   // m/s: how all of it goes along; what is slow is so against that
  double swing;   // m/s: how fast surfaces of what holds it go by turning, and belts
  // Where joints alone act and steps are speculative: the problem of its first S2_SOLVE_MOTION,
  // whose rows are those of q0 (no parts before that). Else NULL.
  S2Assembly *motion;
  // m, the largest error of its joints when they were looked at last, where no length was needed to
  // tell it (no angles, no limits); else NAN.
  double joint_error;
  bool kept;      // it stays as the last step left it (rest/rest.h)
  bool bounced;   // bisect: rebounds are part of its motion, and may be paid for, too
  bool gave_up;   // the two stages (rattle/) did not solve it in their most pieces
  bool accounted; // what projection lifts in it is paid for (repay.c)
  double turning; // (h w)^2 of forces that turn too fast for the step (geometric.c); else 0
  // Speculative steps: 3 a node, where the two stages (rattle/) have made its step; NULL: they have
  // not.
  double *flowed_q1, *flowed_v2;
} S2Island;

// What the bias of a chosen point was made of (for its derivative).
typedef enum S2Target {
  S2_TARGET_FIXED,    // nothing
  S2_TARGET_GAP,      // what the gap asks for
  S2_TARGET_ARRIVAL,  // restitution times the speed it arrives with
  S2_TARGET_APPROACH, // restitution times its speed before the solve
  S2_TARGET_RETURN,   // the speed after the rebound that S2Rebound has
  S2_TARGET_MIRROR,   // its speed before the solve
  S2_TARGET_NORMAL,   // S2_SOLVE_FRICTION: the normal impulse of the reflection before it
  S2_TARGET_LEAVING,  // the speed it leaves with, and what it would still have gained
  S2_TARGET_ERROR,    // the gap itself
} S2Target;

// What to do with one contact point (two a touch) in a solve.
typedef struct S2Choice {
  bool use;
  double bias; // of a rigid normal row, m/s; S2_SOLVE_FRICTION: the normal impulse that bounds
               // friction, N s
  S2Target target;
} S2Choice;

// A rebound at a height above the surface, of a step that adds forces to the approach. The body
// falls through the gap, is thrown back with e times the speed it has there, and is back at the
// same height with the speed `there`. The step gives it the speed `after` for all of its way, which
// the forces have to be paid from: after^2/2 + added after = there^2/2.
typedef struct S2Rebound {
  double added;  // m/s, by which forces speed up the approach within the step
  double there2; // m^2/s^2, square of the speed there; not positive: it does not come back
  double after;  // m/s
} S2Rebound;

// Of an approach at u < 0, which without contacts would be free_u at the end of the step.
static inline S2Rebound s2_rebound(double e, double u, double free_u, double gap, double h) {
  S2Rebound back = {.added = fmax(u - free_u, 0)};
  double fall2 = 2 * back.added / h * fmax(gap, 0);
  back.there2 = e * e * (u * u + fall2) - fall2;
  if (back.there2 > 0) { // the form without a difference of near numbers
    back.after = back.there2 / (back.added + sqrt(back.added * back.added + back.there2));
  }
  return back;
}

enum { S2_TOUCH_IMPULSES = 4 }; // normal and tangent ones of two points

typedef struct S2Step {
  S2World *world;
  S2Arena *arena;
  int substep, substeps; // of the world's step: 0 .. substeps - 1
  double dt;             // s, of this substep
  double h;              // s, of this (sub-)step of bisect; else dt
  double t;              // s, at its start
  double *q0, *v0;       // 3 a slot: state at its start; what stands still has no velocity
  double *v_start;       // 3 a slot: v0 at the start of the whole step
  // 3 a slot: velocities of bodies that move as given at the start and the end of the substep; they
  // go at v0, which is the mean. NULL but with S2_FLOW_RATTLE.
  double *given_start, *given_end;
  double *force;      // 3 a slot, complete
  double *held, *law; // 3 a slot: the parts of `force` that are held over the step, and that laws
                      // gave at the start of the piece; without laws NULL
  double *law_begin;  // 3 a slot: `law` at the start of the step
  int32_t *lawful;    // slots of the bodies with force laws, in the order they are asked in
  int laws;           // of them
  double *mass;       // 3 a slot: diagonal of W (damping included); 0 for what is not solved for
  double *free_v;     // 3 a slot: W^-1 (M v0 + h f), the velocities without any contact or joint
  double *slack; // a slot: m a body may move further than free_v says, learnt from the last pass
  double *v1;    // 3 a slot: velocities of the first solve, that carry the positions
  double *v2;    // 3 a slot: velocities at the end (v1, unless there was an impact)
  double *q1;    // 3 a slot: positions at the end
  S2Rot *turn;   // a slot: how bodies are turned at q0, of what the search for contacts looked at
  double *carry; // 3 a slot: (q1 - q0)/h = (1 - share) v0 + share v1
  double share;  // beta; in event stepping that of the island at hand
  bool *ahead;   // a slot: v1 alone carries it, as v0 would take it into another body
  double *joint_impulse;  // S2_JOINT_ROWS a joint slot
  double *joint_reaction; // 3 a joint slot
  double acted;           // s, they and the impulses of joints
  bool *stiff;            // a joint slot: in an island that takes implicit Euler with the positive
                          // part of the geometric stiffness, as the step is too long without
  double *balanced;       // 3 a slot: of `corrected`, what the last solve asks for (spin.h)
  double *corrected;      // 3 a slot: N m s, N s that neither forces nor contacts nor joints gave
  double *pushed;         // 2 a joint slot: N, on bodies with ground friction, by all but it
  S2Touch *touches;
  S2Touch *touches_solved; // as the solve had them: S2_POST; S2_PROJECTION with notes; else NULL
  int touch_count;
  int32_t *logged; // a touch: the first of S2World.log that is of it, or S2_NONE
  S2Island *islands;
  int island_count;
  int32_t *node_of; // a slot: its node within its island, or S2_GROUND
  bool *strayed;    // a slot: went further in this step than a search expected
  bool *halves;     // a slot: a search before has stepped its island by halves (event.c)
  // What of the last step stays (rest/rest.h): bodies, as far as is known (NULL: nothing does);
  // S2_TOUCH_... of touches; islands, or what is found of others
  bool *still;
  unsigned char *kept;
  S2RestIsland *found_at_rest;
  int passes; // searches done, the first is 0
  // What passes of the look-ahead found (found.c), a pass and touch; in the search before
  S2Found *found, *found_before;
  int found_count, found_before_count; // touches
  // Guess of the impact at hand, S2_TOUCH_IMPULSES a touch of its island; NULL: there is none.
  const double *impact;
  int unsolved;     // island solves that missed the tolerance
  double budget;    // what is left of it, S2SolverOptions.budget; infinite: there is none
  bool cut;         // it ended a solve
  bool hurries;     // that, or one was given up: the step goes the shortest way to its end
  int trying;       // S2SolverOptions.attempt of the solve at hand
  bool rows_stay;   // rows made again were not solved for: none are any more in this step
  bool in_pieces;   // several, since something turns, of a step that is not event stepping's
  bool cut_short;   // bisect with stepping_partial ended before dt
  bool threaded;    // a thread's copy: the ground stands, and is where it should be
  bool turned;      // is `turn` that of the present q0?
  bool holds;       // event stepping: projection closes contacts that carry an impulse, too
  bool ground_last; // rows of ground friction are as S2GroundState.last has them
  S2WorldResiduals residuals;
} S2Step;

// A step about to happen, in the world's arena (reset by this): one of `substeps`.
S2Step s2_step_begin(S2World *world, int substep, int substeps);
void s2_step_integrate(S2Step *step);                 // carry and q1 of all bodies
void s2_step_carry(const S2Step *step, int32_t slot); // the same of one body
// What a gap asks of the speed in a motion: its bias, m/s.
double s2_step_gap_bias(const S2Step *step, double gap);
// The settings that a joint's rows follow in this step.
S2WorldDef s2_step_settings(const S2Step *step, int32_t joint);
static inline S2GeometricStiffness s2_step_geometric(const S2Step *step, int32_t joint) {
  bool wide = s2_joint_is_wide(&step->world->joints.at[joint]); // that of two bodies is no part
  return wide                 ? S2_GEOMETRIC_OFF
         : step->stiff[joint] ? S2_GEOMETRIC_PSD
                              : step->world->kept.def.geometric_stiffness;
}
// How the bodies that the island's joints join are turned at the poses q, a slot.
const S2Rot *s2_step_turns(const S2Step *step, const S2Island *island, const double *q);
// Relative velocity (a against b) at a contact point along a direction, of velocities v (3 a slot).
double s2_touch_velocity(const S2Touch *touch, int k, S2Vec2 direction, const double *v);
// Is the gap of this point closed by projection, though it is open?
static inline bool s2_point_held(const S2Step *step, const S2TouchPoint *point) {
  return step->holds && (point->normal_impulse > 0 || point->closed);
}
static inline bool s2_touch_kept(const S2Step *step, int touch) {
  return step->kept != NULL && (step->kept[touch] & S2_TOUCH_KEPT) != 0;
}
double s2_clock(void); // s, monotonic
// The same for the statistics: 0 unless the world is to measure times, as looking at the clock is a
// tenth of a small world's step.
static inline double s2_stats_clock(const S2World *world) {
  return world->kept.def.profile ? s2_clock() : 0;
}

#endif
