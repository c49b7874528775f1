// Private to core/dynamics: pieces of the two-stage flow for small islands, in flat arrays.
// The equations are those of rattle/ (docs/stepping.md). Most islands of a robot, a hopper or a few
// boxes fit into arrays of fixed size, so a piece needs neither lists nor sparse matrices, and
// takes a fraction of the time. If a piece has something that these arrays do not describe, or if
// it is not solved, the general path solves it from the same state. Both paths solve the same
// equations to the same tolerances, so their results differ by rounding.
//
// The functions are in small_take.c (the island and its rows), small_rows.c (values and directions
// of rows), small_problem.h (the complementarity problem of a stage), small_stage.c (both stages),
// small_turns.c (pieces that are too long) and small_flow.c (lengths and results of pieces).
#ifndef S2_SMALL_H
#define S2_SMALL_H

#include "dynamics/rattle/rattle.h"
#include "dynamics/trace/notes.h"

// Sizes of the arrays. A robot with two legs has 7 bodies, 12 equations, 12 limits and 4 points.
enum {
  S2_SMALL_NODES = 8,
  S2_SMALL_SEATS = 2 * S2_SMALL_NODES, // nodes and ground bodies
  S2_SMALL_JOINTS = 8,
  S2_SMALL_POINTS = 8,
  S2_SMALL_EQUATIONS = 24,
  S2_SMALL_UNITS = 16,                 // contacts, limits and boxed rows of a problem
  S2_SMALL_SIDED = 2 * S2_SMALL_UNITS, // rows of these units
  S2_SMALL_JOINT_ROWS = 48,
  S2_SMALL_ROWS = S2_SMALL_JOINT_ROWS + 2 * S2_SMALL_POINTS
};

typedef struct S2SmallProblem S2SmallProblem;

typedef enum S2SmallMeasure { // the functions of joints/measure.c
  S2_SMALL_ANGLE,
  S2_SMALL_ALONG, // offset of the anchors along an axis of b
  S2_SMALL_LENGTH
} S2SmallMeasure;

typedef struct S2SmallFunction { // a measure of a joint
  S2SmallMeasure measure;
  S2Vec2 axis;   // of S2_SMALL_ALONG, fixed to b
  double offset; // of the value
} S2SmallFunction;

typedef struct S2SmallRow { // as S2RattleTerm
  int place, index;
  S2RattleLaw law;
  S2RattleSource source;
  S2SmallMeasure measure; // of a joint row
  S2Vec2 axis;            // of S2_SMALL_ALONG, times the sign of the row
  int a, b;               // seats
  double sign, offset, speed, most, mu;
  bool changes, soft, trapezoid, effort;
  double stiffness, damping; // of a soft row, in the units of its value
  double compliance, bias;   // C and b in stage 1
} S2SmallRow;

typedef struct S2SmallSide { // a row at given poses
  double value;
  double a[3], b[3]; // derivatives with respect to the poses of both seats
} S2SmallSide;

typedef struct S2SmallJoint {
  int32_t slot;
  S2JointType type;
  int a, b;      // seats
  bool of_world; // true if the first body is the world
  bool rigid;    // true if its equations are rigid
  S2Vec2 local_a, local_b, axis;
  double angle;
  int equations; // number of equations, counting soft ones
  S2SmallFunction equation[S2_JOINT_EQUATIONS], coordinate, drive;
  int row[S2_JOINT_ROWS]; // rows, or S2_NONE
  int rows, list[S2_JOINT_ROWS];
} S2SmallJoint;

typedef struct S2SmallPoint { // a contact point with rows
  int touch, of;              // index of its touch in the island, and of the point in the touch
  int a, b;                   // seats
  int row;                    // its normal row; the friction row follows if there is one
  bool rough;
  double radius_a, radius_b;
  S2ManifoldPoint at0, at1;
  S2Vec2 arm0, arm1; // lever arms on b
} S2SmallPoint;

// The island during a step, and its current piece.
typedef struct S2Small {
  S2Step *step;
  const S2Island *island;
  int nodes, seats, joints, joint_rows;
  // True if a joint has other rows than the equations of a rigid hinge or slider.
  bool drives;
  int32_t slot[S2_SMALL_SEATS]; // S2_NONE: the world
  double length;                // size of the largest body, m
  double inertial[3 * S2_SMALL_NODES], damping[3 * S2_SMALL_NODES];
  S2SmallJoint joint[S2_SMALL_JOINTS];
  S2SmallRow row[S2_SMALL_ROWS]; // rows of joints, then rows of contacts, in the order of rattle/
  double tolerance;
  // The piece.
  double h, done, speed, enough, rounding;
  int rows, points;
  int closes; // as in S2Rattle
  S2SmallPoint point[S2_SMALL_POINTS];
  double q0[S2_SMALL_SEATS][3], q1[S2_SMALL_SEATS][3];
  double v0[3 * S2_SMALL_NODES], u[3 * S2_SMALL_NODES], v1[3 * S2_SMALL_NODES];
  double force[3 * S2_SMALL_NODES];
  S2SmallSide at0[S2_SMALL_ROWS], at1[S2_SMALL_ROWS];
  bool late[S2_SMALL_ROWS]; // true if a limit is open at the start
  double l[S2_SMALL_ROWS], k[S2_SMALL_ROWS];
  bool known[2][S2_SMALL_ROWS]; // per stage: true if the row has no unknown impulse
  // Per stage: the state of a row, for the derivative. With contacts, all unknown rows count as
  // held, and the derivative finds the active set from the impulses.
  S2RattleState state[2][S2_SMALL_ROWS];
  S2SmallProblem *problem; // memory for the problems of both stages
  S2Residual worst;
  int tries;
} S2Small;

// Returns the island in flat arrays, in the arena of the step. Returns NULL if the arrays do not
// describe it. The result depends only on the definition of the island. (small_take.c)
S2Small *s2_small_take(S2Step *step, const S2Island *island);
// For tests: `flat` is false if the general path must step all islands of this world.
void s2_world_set_flat(S2World *world, bool flat);
// Starts a piece of length h from the poses q and the velocities v (3 per slot), with rows for the
// chosen points (NULL: none). Returns false if the arrays do not describe the piece.
bool s2_small_begin(S2Small *small, const double *q, const double *v, const S2Choice *choices,
                    double done, double h);
// Sets the length of the piece, and the scales and the soft rows that depend on it. Returns false
// if bodies were placed off their joints.
bool s2_small_set_length(S2Small *small, double h);
// Measures the rows at q0 and sets the scales of the piece. Returns false if bodies were placed off
// their joints.
bool s2_small_set_out(S2Small *small);
// Sets l to half of the impulses of the last step, scaled to the length of the piece.
void s2_small_guess(S2Small *small);

// Computes values and sides of the rows at the poses q. `end` is true at the end of the piece; the
// contact points of that end are then set, too. At the end, skips limits that were open at the
// start. (small_rows.c)
void s2_small_measure(S2Small *small, double q[][3], bool end);
// Computes the values and sides at q1 of the limits that were open at the start.
void s2_small_measure_open(S2Small *small);
// Returns true if the row measures an angle.
static inline bool s2_small_turns(const S2SmallSide *side) {
  return side->a[1] == 0 && side->a[2] == 0 && side->b[1] == 0 && side->b[2] == 0;
}

// A stage. Stage 1 has the unknowns l. Stage 2 has the sums l + k of both stages.
typedef struct S2SmallStage {
  S2Small *small;
  bool second;
  bool refines; // true if a search refines its impulses. Otherwise, the true rows correct them.
  const S2SmallSide *side; // directions of the impulses
  // Derivatives of the speeds of rows with respect to the velocities. Stage 1 differentiates the
  // true rows, and its problem is linear in the velocities. In stage 2, this is `side`.
  const S2SmallSide *left;
  S2SmallSide slope[S2_SMALL_ROWS];
  double mass[3 * S2_SMALL_NODES], rhs[3 * S2_SMALL_NODES];
  // v = inverse (rhs + J' x); the ground has the velocity 0.
  double inverse[3 * S2_SMALL_SEATS], v[3 * S2_SMALL_SEATS];
  double x[S2_SMALL_ROWS], lo[S2_SMALL_ROWS], hi[S2_SMALL_ROWS];
  double bias[S2_SMALL_ROWS]; // the linear problem has the speeds J_left v + C x + bias
  double compliance[S2_SMALL_ROWS];
  double r[S2_SMALL_ROWS]; // speeds of rows at v
  bool *known;
  int unknown, list[S2_SMALL_ROWS]; // the rows with unknown impulses
  double scale;                     // V, m/s
} S2SmallStage;

// Computes v from x. (small_rows.c)
void s2_small_velocity(S2SmallStage *stage);
// Computes r = J_left v + C x + bias.
void s2_small_speeds(S2SmallStage *stage);

// The problem of a stage, condensed to its contacts, limits and boxed rows (small_solve.c).
S2SmallProblem *s2_small_new_problem(S2Arena *arena);
// Condenses the problem. Returns false if its equations are redundant.
bool s2_small_condense(S2SmallStage *stage, S2SmallProblem *problem);
// Finds the modes of all units and the impulses x, from a guess x with its speeds r. Returns false
// if there are no modes within the permitted number of tries.
bool s2_small_solve(S2SmallStage *stage, S2SmallProblem *problem);
// Corrects x in the modes of the last solve so that the speeds r of the rows become 0. Returns the
// largest error (m/s) before the correction, and does not correct an error of at most `enough`.
double s2_small_correct(S2SmallStage *stage, S2SmallProblem *problem, double enough);
// Clips x to its bounds, which accepted impulses may exceed by rounding errors.
void s2_small_clip(S2SmallStage *stage, const S2SmallProblem *problem);
// Sets small->state from x and r.
void s2_small_states(const S2SmallStage *stage, const S2SmallProblem *problem);
// Computes the residual of x and r.
S2Residual s2_small_residual(const S2SmallStage *stage, const S2SmallProblem *problem);

// Returns the speed along a row at the velocities v, 3 per seat.
double s2_small_along(const S2SmallRow *row, const S2SmallSide *side, const double *v);

// The stages of a piece, from the guess l (small_stage.c). `frees`: limits that are open at the
// start have no impulse in stage 1. Stage 1 sets u, q1 and l, stage 2 sets v1 and k. They return
// false if the general path must solve the piece.
bool s2_small_first(S2Small *small, bool frees);
bool s2_small_second(S2Small *small);
// Returns true if the bodies do not move and the guess l keeps them at rest. Then sets the results
// of both stages.
bool s2_small_rests(S2Small *small, bool frees);

// An impact at the poses at0 of `small`: its velocities change from v0 to v1 by the impulses l.
typedef struct S2SmallImpact {
  S2Small small;
  double restitution[S2_SMALL_POINTS]; // per point, 0 if it does not rebound
} S2SmallImpact;

typedef enum S2SmallOutcome {
  S2_SMALL_SOLVED,
  S2_SMALL_TOO_LONG,
  S2_SMALL_ELSEWHERE, // the general path must solve the piece
} S2SmallOutcome;

// Functions like those of rattle_turns.c (small_turns.c). The second one needs step->q1.
S2SmallOutcome s2_small_turns_too_far(const S2Small *small);
bool s2_small_loads_turn(const S2Small *small);
bool s2_small_rows_bring(const S2Small *small);

// Solves a piece as s2_rattle_flow does. Returns false if the general path must solve the piece.
// Only step->q1 of the nodes has changed then. (small_flow.c)
bool s2_small_flow(S2Small *small, const S2Choice *choices, double done, double h, bool last,
                   S2RattleFlow *flow);
// Returns a copy of the impact that has changed the velocities v0 of the step to v2, in the notes
// of the step. Returns NULL if the notes do not keep pieces, or if the arrays do not describe the
// impact. `small` may be NULL. Its next piece must be started again.
const S2SmallImpact *s2_small_keep_impact(S2Small *small, const S2Choice *choices, double done);
// Returns copies of the pieces of a note that the general path has solved, in the notes of the
// step. Returns NULL if the notes do not keep pieces, or if the arrays do not describe them.
const S2Small *s2_small_keep_pieces(const S2Step *step, const S2Island *island,
                                    const S2Choice *choices, const S2RattleNote *note);
// Steps an island on which only joints act, as s2_island_rattle does. Returns false if the general
// path must step it. Only step->q1 of the nodes and the audits have changed then.
bool s2_small_island(S2Step *step, S2Island *island, const S2LawFrame *frame);

#endif
