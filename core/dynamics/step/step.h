// Private to core/dynamics: one step under way. Everything here lives in the step's arena; the
// world is written only by s2_step_commit, so a step that fails or is aborted leaves no trace.
#ifndef S2_STEP_H
#define S2_STEP_H

#include "dynamics/joints/joint.h"
#include "dynamics/world/world.h"
#include "mcp/chain/bilateral.h"

typedef struct S2Assembly S2Assembly;

typedef struct S2Island { // bodies that act on each other, in ascending order everywhere
  int nodes, touches, joints;
  int32_t *node;  // slots
  int32_t *touch; // indices into S2Step.touches
  int32_t *joint; // slots of joints
  double length;  // m: size of its largest body
  S2Vec2 frame;   // m/s: how all of it goes along; what is slow is so against that
  // Where joints alone act and steps are speculative: the problem of its first S2_SOLVE_MOTION,
  // whose rows are those of q0 (no parts before that). Else NULL.
  S2Assembly *motion;
  // m, the largest error of its joints when they were looked at last, where no length was needed to
  // tell it (no angles, no limits); else NAN.
  double joint_error;
  bool accounted; // what projection lifts in it is paid for (repay.c)
} S2Island;

// What the bias of a chosen point was made of (for its derivative).
typedef enum S2Target {
  S2_TARGET_FIXED,    // nothing
  S2_TARGET_GAP,      // what the gap asks for
  S2_TARGET_ARRIVAL,  // restitution times the speed it arrives with
  S2_TARGET_APPROACH, // restitution times its speed before the solve
  S2_TARGET_MIRROR,   // its speed before the solve
  S2_TARGET_LEAN,     // S2_SOLVE_FRICTION: the normal impulse of the reflection before it
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

typedef struct S2Step {
  S2World *world;
  S2Arena *arena;
  int part, parts; // of the world's step: 0 .. parts - 1
  double dt;       // s, of this part
  double h;        // s, of this (sub-)step of bisect; else dt
  double t;        // s, at its start
  double *q0, *v0; // 3 a slot: state at its start; what stands still has no velocity
  double *v_start; // 3 a slot: v0 at the start of the whole step
  double *force;   // 3 a slot, complete
  double *mass;    // 3 a slot: diagonal of W (damping included); 0 for what is not solved for
  double *free_v;  // 3 a slot: W^-1 (M v0 + h f), the velocities without any contact or joint
  double *slack;   // a slot: m a body may move further than free_v says, learnt from the last pass
  double *v1;      // 3 a slot: velocities of the first solve, that carry the positions
  double *v2;      // 3 a slot: velocities at the end (v1, unless there was an impact)
  double *q1;      // 3 a slot: positions at the end
  S2Rot *turn;     // a slot: how bodies are turned at q0, of what the search for contacts looked at
  double *carry;   // 3 a slot: (q1 - q0)/h = (1 - share) v0 + share v1
  double share;    // beta; in event stepping that of the island at hand
  bool *ahead;     // a slot: v1 alone carries it, as v0 would take it into another body
  double *joint_impulse;  // S2_JOINT_ROWS a joint slot
  double *joint_reaction; // 3 a joint slot
  double acted;           // s, they and the impulses of joints
  bool *stiff;            // a joint slot: in an island that takes implicit Euler with the positive
                          // part of the geometric stiffness, as the step is too long without
  double *corrected;      // 3 a slot: N m s, N s that neither forces nor contacts nor joints gave
  double *pushed;         // 2 a joint slot: N, on bodies with ground friction, by all but it
  S2Touch *touches;
  S2Touch *touches_solved; // as the solve had them: S2_POST; S2_PROJECTION with notes; else NULL
  int touch_count;
  int32_t *logged; // a touch: the first of S2World.log that is of it, or S2_NONE
  S2Island *islands;
  int island_count;
  int32_t *node_of; // a slot: its node within its island, or S2_GROUND
  int passes;       // searches done, the first is 0
  int unsolved;     // island solves that missed the tolerance
  bool cut_short;   // bisect with stepping_partial ended before dt
  bool turned;      // is `turn` that of the present q0?
  bool holds;       // event stepping: mending closes contacts that carry an impulse, too
  bool ground_last; // rows of ground friction are as S2GroundState.last has them
  S2WorldResiduals residuals;
} S2Step;

// A step about to happen, in the world's arena (reset by this): one of `parts`.
S2Step s2_step_begin(S2World *world, int part, int parts);

// The phases, each in its file.
bool s2_step_forces(const S2Step *step);                  // forces.c; false: aborted
bool s2_step_free_motion(S2Step *step, double h);         // forces.c; false: aborted
void s2_step_free_body(const S2Step *step, int32_t slot); // the same of one body over step->h
bool s2_step_motions(S2Step *step, double h);             // motion.c; false: aborted
bool s2_step_touches(S2Step *step);                       // touch.c: broad and narrow phase
void s2_step_islands(S2Step *step);                       // islands.c
void s2_step_integrate(S2Step *step);                     // carry and q1 (step.c)
void s2_step_carry(const S2Step *step, int32_t slot);     // the same of one body
bool s2_step_outran(S2Step *step);                        // speculative.c
// Are these the contact points of the touches? (speculative.c)
bool s2_step_same_points(const S2Step *step, const S2Touch *known, int count);
bool s2_step_unforeseen(const S2Step *step, bool *found); // touch.c; false: aborted
void s2_step_settle(S2Step *step);                        // touch.c: contact geometry at q1
void s2_touch_settle(const S2Step *step, S2Touch *touch); // the same of one that is no sensor
// touch.c: is that what it takes, the bodies having moved by less than a part of their size?
bool s2_touch_still(const S2Step *step, const S2Touch *touch, double part);
void s2_touch_follow(const S2Step *step, S2Touch *touch); // touch.c: the points it has, at q1
void s2_step_stop_short(S2Step *step);                    // passage.c: what would pass through
void s2_step_stabilise(S2Step *step);                     // stabilise.c
void s2_step_project(S2Step *step);                       // stabilise.c: until nothing is left
bool s2_step_pre_stabilise(S2Step *step);                 // stabilise.c: q0; false: aborted
S2Status s2_step_commit(S2Step *step);                    // commit.c
bool s2_step_speculative(S2Step *step);                   // speculative.c; false: aborted
bool s2_step_bisect(S2Step *step);                        // bisect.c; false: aborted
bool s2_step_event(S2Step *step);                         // event.c; false: aborted
// event.c: is all of its step speculative, in event stepping?
bool s2_island_looks_ahead(const S2Step *step, const S2Island *island);
// speculative.c, of one island: the solve that looks ahead, into v1 and q1; what arrived, into v2.
bool s2_island_look_ahead(S2Step *step, const S2Island *island, S2Choice *choices);
bool s2_island_blow(S2Step *step, const S2Island *island, S2Choice *choices, bool *touching);
void s2_island_project(S2Step *step, S2Island *island); // stabilise.c

// touch.c: geometry of one touch at the poses q, keeping the impulses of points that stay.
void s2_touch_collide(const S2World *world, S2Touch *touch, const double *q, double reach);
// touch.c: asks pre-solve, once in a step, when there are points; false: aborted.
bool s2_touch_ask(const S2Step *step, S2Touch *touch);
// touch.c: friction, restitution, surface speed and softness of the pair
void s2_touch_set_material(const S2World *world, S2Touch *touch);
// passage.c: s from the start of the step, on the ways that `carry` says, after which the shapes of
// a touch are so deep in each other that they would soon come out on the wrong side; INFINITY:
// never.
double s2_step_passage(const S2Step *step, const S2Touch *touch);
// Its bodies go a part of their way; false: all of it.
bool s2_island_stop_short(S2Step *step, const S2Island *island, double part);
// overlap.c: after each search, speaks after the first one since bodies were made or placed
void s2_step_warn_of_overlaps(const S2Step *step);

// acted.c: what acted where, apart from the impulses that touches keep for the next step's guess.
void s2_acted_begin(const S2Step *step); // of a part of a step
// Begins the log of an attempt, for the touches as they are now.
void s2_log_begin(S2Step *step);
// Adds the impulses of a touch (of index `touch`; `as` the solves had it), less those in `less`
// (normal, tangent; 2 points), or NULL.
void s2_log_touch(const S2Step *step, int32_t touch, const S2Touch *as, const double *less);
void s2_log_islands(S2Step *step); // begins it, with all touches of the step's islands
// What the log has is part of the step now (S2World.acting); it is empty then.
void s2_log_keep(S2Step *step);
// What changed v2 of a body by dv beside them, times `part`.
void s2_step_correct(const S2Step *step, int32_t slot, const double dv[3], double part);
// The step is over: S2World.acted is what acted, with features where they are at q1.
void s2_acted_commit(S2Step *step);
// contact_events.c: bodies that come near and part, meet and part, and (at the `last` part of the
// step) what acted between them.
void s2_step_contact_events(S2Step *step, bool last);

double s2_step_penetration(const S2Step *step); // deepest overlap of rigid touches, m
bool s2_touch_solid(const S2Touch *touch);      // may carry impulses in this step

// Relative velocity (a against b) at a contact point along a direction, of velocities v (3 a slot).
double s2_touch_velocity(const S2Touch *touch, int k, S2Vec2 direction, const double *v);

// What a solve is about.
typedef enum S2SolveKind {
  S2_SOLVE_MOTION, // velocities at the end of the step
  S2_SOLVE_TURNED, // the same once more, with contacts as they are at the end (event stepping)
  S2_SOLVE_IMPACT, // velocities after an impact that takes no time; limits act that are
                   // touched, or were met in the motion before
  S2_SOLVE_FRICTIONLESS, // an impact without friction (reflections)
  S2_SOLVE_FRICTION,     // friction of an impact, with bounds that are known (reflections)
  S2_SOLVE_LIMITS,       // an impact at q1: what arrived at limits loses what takes it beyond
  S2_SOLVE_FORCES,       // the forces of the step after an impact
  S2_SOLVE_PROJECTION,   // displacements that bring q1 back; joint biases are their position errors
} S2SolveKind;

// What kinds of solves differ in.
typedef struct S2SolveTraits {
  bool from_v0;       // goes from the velocities the step began with; else from v2
  bool takes_time;    // forces, springs and dashpots act
  bool normals;       // has normal rows
  bool friction;      // has friction rows
  bool at_end;        // joints are taken at q1
  bool displacements; // gives these and not velocities, which ground that moves has a part in
} S2SolveTraits;

static inline S2SolveTraits s2_solve_traits(S2SolveKind kind) {
  static const S2SolveTraits of[] = {
      [S2_SOLVE_MOTION] = {.from_v0 = true, .takes_time = true, .normals = true, .friction = true},
      [S2_SOLVE_TURNED] = {.from_v0 = true, .takes_time = true, .normals = true, .friction = true},
      [S2_SOLVE_IMPACT] = {.normals = true, .friction = true},
      [S2_SOLVE_FRICTIONLESS] = {.normals = true},
      [S2_SOLVE_FRICTION] = {.friction = true},
      [S2_SOLVE_LIMITS] = {.normals = true, .friction = true, .at_end = true},
      [S2_SOLVE_FORCES] = {.takes_time = true, .normals = true, .friction = true},
      [S2_SOLVE_PROJECTION] = {.normals = true, .at_end = true, .displacements = true},
  };
  return of[kind];
}

// Do contact points of this touch act? Springs do nothing in no time, and are not snapped to rest.
static inline bool s2_solve_presses(S2SolveKind kind, const S2Touch *touch) {
  return !s2_touch_soft(touch) || s2_solve_traits(kind).takes_time;
}

// Do contact points of this touch have friction rows?
static inline bool s2_solve_is_rough(S2SolveKind kind, const S2Touch *touch) {
  return touch->friction > 0 && s2_solve_traits(kind).friction;
}

// One island as a complementarity problem, rows at the touches' geometry and the joints' poses at
// the start (positions: at q1). Viscosity, then joints (equations, then motors and friction, then
// limits), then the chosen contact points.
typedef struct S2JointPart { // of a row that comes from a joint, or from a contact's viscosity
  int32_t joint;             // slot; S2_NONE: viscosity
  int32_t row;               // in S2Joint.impulse, S2_NONE: not kept there; 2 touch + k
  double push[3];            // reaction of a unit impulse
  double error;              // of an equation: its value at the poses of the row
  double given;              // impulse that acts beside the row's: the part of an elastic force
                             // that is known before the solve, already in the right side
} S2JointPart;

struct S2Assembly {
  S2Problem problem;
  const S2JointPart *part; // of the first rows, then those without a row: all of them is given
  int parts, parts_given;  // the former; the latter
  double *mass;            // the problem's
  int32_t *place;          // 3 a node: which number of 3 a slot it is (or copies)
  double *lambda, *v;      // guesses: kept impulses and v0 for motion, else zero
  S2Bilateral *matrix;     // of S2Island.motion: the factor of its solve; no groups: there is none
};
S2Assembly s2_assemble(const S2Step *step, const S2Island *island, const S2Choice *choices,
                       S2SolveKind kind);

typedef struct S2JointErrors { // the equations of an island's joints at q1
  int rows;                    // in the order of the problem
  double *value;               // a row: g
  S2RowSides *side;            // a row
  double largest;              // m, of a joint's equations; keeps a NaN
  bool limited;                // are there limits beside them?
  bool pins;                   // are all of them rigid hinges without limits?
} S2JointErrors;

// Is the gap of this point closed by mending, though it is open?
static inline bool s2_point_held(const S2Step *step, const S2TouchPoint *point) {
  return step->holds && point->normal_impulse > 0;
}

// The largest overlap or joint error of an island at q1, m. Springs are not snapped to rest.
// `errors` may be NULL, its arrays have room for S2_JOINT_EQUATIONS + 1 rows a joint. (stabilise.c)
double s2_step_violation(const S2Step *step, S2Island *island, S2JointErrors *errors);

// What is not solved for and holds an island, by joints or contacts that press: slots, S2_NONE is
// the world, into `ground` (room for S2_HOLDERS of it). Bounds on the energy count velocities
// against their mean, so that it does not matter how fast all of it goes; where there is nothing,
// against the first body's. (stabilise.c)
#define S2_HOLDERS(island) (2 * (island)->touches + 5 * (island)->joints)
int s2_island_holders(const S2Step *step, const S2Island *island, bool closed, int32_t *ground);
S2Vec2 s2_island_frame(const S2Step *step, const S2Island *island, const int32_t *ground,
                       int grounds);

typedef struct S2Shaken { // what joints displaced so far
  double *dq;             // 3 a node, those of gears too
  double *lambda;         // 1 a joint equation, S2_JOINT_ROWS a joint at most
  S2JointPart *part;
  int count;
} S2Shaken;

// Removes the errors of the joints' equations from q1 along their rows at q0, all by one
// factorisation; `worst` is the island's violation, `errors` are those at q1, before and after.
// False, and q1 is as it was, where more is violated than those, before or after, or where this
// cannot do it. (shake.c)
bool s2_step_shake(S2Step *step, S2Island *island, S2JointErrors *errors, S2Shaken *shaken,
                   double *worst);

// ground_friction.c: what pushes bodies on the ground, after a solve with the impulses lambda that
// left v (3 a node); true when it is not what the rows were made for.
bool s2_step_ground_turned(S2Step *step, const S2Island *island, const S2Assembly *assembly,
                           const double *v, const double *lambda);

// spin.c: angular momentum about the centre of mass of an island that only joints between its own
// bodies act on, at q1 with the velocities (or displacements) v, 3 a node; and v made to have it by
// a rotation of the whole.
bool s2_island_floats(const S2Step *step, const S2Island *island);
double s2_island_spin(const S2Step *step, const S2Island *island, const double *v);
void s2_island_set_spin(const S2Step *step, const S2Island *island, double spin, double *v);
// Turns v1 of an island that floats, as one body, until what its joints did is balanced at q0.
void s2_island_balance(const S2Step *step, const S2Island *island);
// Kinetic energy of an island at velocities v (3 a node), J.
double s2_island_kinetic(const S2Step *step, const S2Island *island, const double *v);
// The same beside the motion of its centre of mass.
double s2_island_kinetic_within(const S2Step *step, const S2Island *island, const double *v);
// The latter that it may have, J: that of v2 or of the free motion; infinite where joints bring
// energy. `v` is for its use; `from_v2`: is it the former?
double s2_island_most_kinetic(const S2Step *step, const S2Island *island, double *v, bool *from_v2);
// Less of v, so that its energy within is at most this; linear momentum and, if it can be, spin
// stay.
void s2_island_cap(const S2Step *step, const S2Island *island, double most, double *v);

// What a gap asks of the speed in a motion: its bias, m/s (speculative.c).
double s2_step_gap_bias(const S2Step *step, double gap);

// Which islands are too stiff for the world's way to take forces that turn? Sets `stiff` of their
// joints and `ahead` of their bodies. (geometric.c)
void s2_step_find_stiff(S2Step *step);
// The settings that a joint's rows follow in this step.
S2WorldDef s2_step_settings(const S2Step *step, int32_t joint);
static inline S2GeometricStiffness s2_step_geometric(const S2Step *step, int32_t joint) {
  return step->stiff[joint] ? S2_GEOMETRIC_PSD : step->world->kept.def.geometric_stiffness;
}

// Solves an island (motion or impact) with the chosen contact points (indexed 2 touch + k) into v
// (3 a slot). The impulses go to the touches and step->joint_impulse: those of an impact, and of
// what follows it, are added to what is there. With `outcome` a solve that misses the tolerance
// leaves v and the impulses alone and is no unsolved one; *outcome is then S2_INFEASIBLE where the
// rows were proved to contradict each other, S2_MAX_ITERATIONS otherwise. False: aborted. (solve.c)
bool s2_step_solve(S2Step *step, const S2Island *island, const S2Choice *choices, S2SolveKind kind,
                   double *v, S2SolveStatus *outcome);

// The velocities before a blow, into v2: v0 as the joints allow it at q0. A body that turned far in
// the last step has left its joints with v0, and targets taken from there could ask for any energy.
// `recalled`: they only tell how fast things arrive, and are no part of the motion. False: aborted.
// (impact.c)
bool s2_step_before_impact(S2Step *step, const S2Island *island, bool recalled);

// The impulses and reactions of an island's joints, taken out (into the arena) and put back.
// (impact.c)
typedef struct S2JointImpulses {
  double *row, *reaction; // S2_JOINT_ROWS and 3 a joint of the island
} S2JointImpulses;
S2JointImpulses s2_step_take_joints(S2Step *step, const S2Island *island);
void s2_step_put_joints(S2Step *step, const S2Island *island, const S2JointImpulses *kept);

// Normal and tangent impulses of the two points of each touch of an island, into the arena.
enum { S2_TOUCH_IMPULSES = 4 };
double *s2_step_contact_impulses(const S2Step *step, const S2Island *island);

// What contacts took from an island's energy on the way to v1, and what a part of the blow from
// there to `v2` (3 a node) gives back: linear part + square part^2, J. All of it in velocities
// relative to what is touched: bodies that move as given may do any work beside that. `pressed`,
// `struck`: impulses of contacts in the motion, and in the blow.
typedef struct S2BlowEnergy {
  double room, linear, square;
} S2BlowEnergy;
S2BlowEnergy s2_blow_energy(const S2Step *step, const S2Island *island, const double *pressed,
                            const double *struck, const double *v2);
// Of the blow from v1 to v2 only the part is taken that gives back no more than was taken: targets
// of several contacts at once, or with friction, may ask for more. `held`: what joints gave before.
void s2_step_keep_energy(S2Step *step, const S2Island *island, const double *pressed,
                         const S2JointImpulses *held);

// A solve with restitution targets into v2. Targets may contradict each other (a ball between two
// closing walls cannot leave both), or no solver may meet them: then the blow is taken as inelastic
// and counted. False: aborted. (impact.c)
bool s2_step_impact(S2Step *step, const S2Island *island, S2Choice *choices, S2SolveKind kind);

// Further blows from v2, without forces, until no contact marked in `touching` (2 touch + k)
// approaches. What is slower than one step of the forces, or does not end, ends inelastically.
// Overwrites the choices. False: aborted. (impact.c)
bool s2_step_later_impacts(S2Step *step, const S2Island *island, S2Choice *choices,
                           const bool *touching);

// The nonlinear midpoint step of an island, into v1 and v2; *done is false where the ordinary step
// has to do, and nothing is changed then. False: aborted. (midpoint.c)
bool s2_step_midpoint(S2Step *step, const S2Island *island, bool *done);

// Multiplies the impulses of an island's contacts or joints.
void s2_step_scale_contacts(S2Step *step, const S2Island *island, double factor); // solve.c
void s2_step_scale_joints(S2Step *step, const S2Island *island, double factor);
// Adds `factor` times the multipliers of joint rows.
void s2_step_add_joints(S2Step *step, const S2JointPart *parts, int count, const double *lambda,
                        double factor);

// Ends, at q1, the motion v2 of what arrived at a limit in this step: its row let it approach to
// the limit. At q1, as there it balances, and after the positions are right. False: aborted.
// (impact.c)
bool s2_step_stop_at_limits(S2Step *step);
bool s2_island_stop_at_limits(S2Step *step, const S2Island *island);

// repay.c: takes from v2 the energy that the step and its projection (to q1) have brought. `fed`:
// the mend has put into v2 what joints displaced.
void s2_island_repay(S2Step *step, const S2Island *island, bool fed);

// gear_rows.c: gears that move more than two bodies.
typedef struct S2GearMovers {
  bool wide; // it is such a gear
  int count; // bodies that are solved for; with up to two of them it has one row and no node
  int32_t slot[4];
  double factor[4], given; // of the angular velocities; what moving ground brings, rad/s
} S2GearMovers;
typedef struct S2NodeArrays { // 3 a node
  double *mass, *rhs, *v;
  int32_t *place;
} S2NodeArrays;
S2GearMovers s2_gear_movers(const S2Step *step, const S2Joint *gear);
// How many nodes there are beside those of the island's bodies; and what is in them, taken from the
// bodies. They follow in the order of the gears.
int s2_gear_nodes(const S2Step *step, const S2Island *island);
// Of what is left, so that a third of a body is left however many gears it is in.
static inline double s2_gear_part(int nodes) {
  return 1.0 / (nodes + 1);
}
void s2_gear_split(const S2Step *step, const S2Island *island, int nodes,
                   const S2NodeArrays *arrays);
int s2_gear_row_count(const S2GearMovers *movers);
// The rows, 0 to 4; the last one is the gear's own. `aside` is its node.
int s2_gear_rows(const S2Step *step, const S2GearMovers *movers, int32_t aside, double bias,
                 S2Row rows[4]);

// In place of s2_step_impact under S2_REFLECTIONS: the blow from v2, then the forces, into v2.
// `choices` are those of the blow with Newton's targets; overwritten. The joints' impulses are
// added to what is there. False: aborted. (reflect.c)
bool s2_step_reflect(S2Step *step, const S2Island *island, S2Choice *choices, const bool *touching);

// Do its soft contacts that are closed as the step begins follow alpha and beta? Where nothing in
// it is rigid and the step resolves all of them; else they are implicit Euler's.
bool s2_step_blends_contacts(const S2Step *step, const S2Island *island);
S2Blend s2_contact_blend(const S2Step *step, const S2Island *island, S2SolveKind kind);
// What a joint's rows follow in a solve; `world` is s2_joint_blend of the world's settings.
S2Blend s2_step_blend(const S2Step *step, int32_t joint, S2SolveKind kind, const S2Blend *world);

// The velocity scale V of an island (MATH: max(|g| h, |v|, 1e-6 L/h), m/s), forces included, v
// against its frame.
double s2_island_speed(const S2Step *step, const S2Island *island);
// Speeds below this are what the tolerance of the last solve left over, m/s.
double s2_island_rest_speed(const S2Step *step, const S2Island *island);

// joint_rows.c: the rows of an island's joints, and their parts and first guesses; returns how
// many. `speed` is V, raised to what motors, springs and moving goals bring. Impulses known before
// the solve are added to `rhs` (3 a node); *given parts without rows follow those of the rows.
int s2_step_joint_rows(const S2Step *step, const S2Island *island, S2SolveKind kind, S2Row *rows,
                       S2JointPart *parts, double *lambda, double *rhs, double *speed, int *given);

// How the bodies that the island's joints join are turned at the poses q, a slot.
const S2Rot *s2_step_turns(const S2Step *step, const S2Island *island, const double *q);

// blend.c: fails where beta = 0 meets a joint with a rigid row, whose position it cannot reach.
S2Status s2_world_check_blend(const S2World *world);

// formulation.c: the assembled problem as the world's formulation has it, guesses too; and its
// solution back, with the residual it leaves in the velocities. `before`: velocities before the
// step or blow, 3 a slot.
S2Problem s2_step_pose(const S2Step *step, const S2Assembly *assembly, const double *before);
void s2_step_unpose(const S2Step *step, const S2Assembly *assembly, const double *before,
                    double tolerance, S2Solution *solution);

// Did a limit that was out of touch at q0 stop its joint, but for speed that goes on at q1 with v2?
bool s2_step_limit_arrives(const S2Step *step, const S2Island *island); // joint_rows.c

// contradict.c: a warning that names what a solution that missed the tolerance leaves unmet: the
// contacts and joints that were proved to contradict each other, else those that are off by most;
// and one that names the joints that are far from where they should be at q1.
void s2_step_warn_of_unsolved(const S2Step *step, const S2Island *island, const S2Choice *choices,
                              S2SolveKind kind, const S2Assembly *assembly,
                              const S2Solution *solution);
void s2_step_warn_of_misfits(const S2Step *step, const S2Island *island);

void s2_keep_worst(S2Residual *worst, const S2Residual *residual); // solve.c

// Seconds on a monotonic clock, for the statistics.
double s2_clock(void);

#endif
