// The rows of joints in the problem of an island.
#ifndef S2_ROWS_H
#define S2_ROWS_H

#include "dynamics/step/assemble.h"

// The rows of an island's joints at the poses q, and their parts and first guesses; returns how
// many. `speed` is V, raised to what motors, springs and moving goals bring. Impulses known before
// the solve are added to `rhs` (3 a node); *given parts without rows follow those of the rows.
// (joint_rows.c)
int s2_step_joint_rows(const S2Step *step, const double *q, const S2Island *island,
                       S2SolveKind kind, S2Row *rows, S2JointPart *parts, double *lambda,
                       double *rhs, double *speed, int *given);
// What a joint's rows follow in a solve; `world` is s2_joint_blend of the world's settings.
S2Blend s2_step_blend(const S2Step *step, int32_t joint, S2SolveKind kind, const S2Blend *world);

// Limits (limit_arrival.c).
// Is the coordinate, this far from a limit, as near as makes no difference?
static inline bool s2_limit_touches(const S2Island *island, const S2JointRow *row,
                                    double distance) {
  return distance <= S2_TOUCH_SLOP * (s2_joint_row_angular(row) ? 1 : island->length);
}
// How a coordinate reaches a limit in this step. Speeds are those of the distance (rad/s or m/s):
// negative as it closes.
typedef struct S2LimitArrival {
  S2JointRow row;           // at q0
  double sign;              // of the distance by the coordinate: 1 of the lower limit
  double distance;          // rad or m, at q0
  double speed, free_speed; // at q0: before the step, and as forces alone would leave it
  double arrival;           // >= 0: its size at the limit, at constant acceleration
  bool rebounds;            // the limit has pushed and throws it back: arrival counts
} S2LimitArrival;
// `index`: S2_JOINT_LO or S2_JOINT_HI. A speed below half of what forces change within the step
// does not rebound, so that bounces end.
S2LimitArrival s2_limit_arrival(const S2Step *step, const S2Island *island, int32_t slot,
                                int index);
// The speed that its restitution asks of the distance after the impact; 0: it stops there.
double s2_limit_target(const S2Step *step, const S2Island *island, int32_t slot, int index);
// Does a limit of the island throw its joint back?
bool s2_step_limit_rebounds(const S2Step *step, const S2Island *island);
// The same; or did a limit that was out of touch at q0 stop its joint, but for speed that goes on
// at q1 with v2?
bool s2_step_limit_arrives(const S2Step *step, const S2Island *island);

typedef struct S2JointLoad {
  const double *impulse; // S2_JOINT_ROWS
  double time;           // s: in which it acted
} S2JointLoad;
// (h w)^2 of how fast the force of a joint turns with its bodies; 0 where it is below `least`.
// (geometric.c)
double s2_joint_turns_too_fast(const S2Step *step, const S2JointAt *at, const S2JointLoad *load,
                               double h, double least);
// Which islands are too stiff for the world's way to take forces that turn? Sets `stiff` of their
// joints and `ahead` of their bodies. (geometric.c)
void s2_step_find_stiff(S2Step *step);
// The island is one of them in this step.
void s2_island_stiffen(S2Step *step, const S2Island *island);

// What pushes bodies on the ground, after a solve with the impulses lambda that left v (3 a node);
// true when it is not what the rows were made for. (ground_friction.c)
bool s2_step_ground_turned(S2Step *step, const S2Island *island, const S2Assembly *assembly,
                           const double *v, const double *lambda);

// Gears and constraints that move more than two bodies (wide_rows.c).
typedef struct S2WideMovers {
  bool wide; // it is such a joint
  int count; // bodies that are solved for; with up to two of them it has one row and no node
  int32_t slot[4];
  double factor[4]; // gear: of the angular velocities
  double j[4][3];   // constraint: its row by (angle, x, y) of each
  double given;     // what moving ground brings, rad/s or m/s
} S2WideMovers;
// Of a row of a constraint: its nodes, the first of which the row acts on; rows of copies, at most.
enum { S2_WIDE_NODES = 3, S2_WIDE_ROWS = 9 };
S2WideMovers s2_wide_movers(const S2Step *step, const S2Joint *gear);
typedef struct S2NodeArrays { // 3 a node; place: S2_NONE of copies in a basis of their own
  double *mass, *rhs, *v;
  int32_t *place;
} S2NodeArrays;
S2WideMovers s2_wide_row_movers(const S2Step *step, const S2Joint *joint, const S2JointRow *row);
// Do rows of the island act on more than the two bodies of S2JointRow?
bool s2_wide_any(const S2Step *step, const S2Island *island);
// Rows of copies there may be.
int s2_wide_room(const S2Step *step, const S2Island *island);
// The rows of a constraint's copies; returns how many. `aside` is the first of its row's nodes.
int s2_wide_copies(const S2Step *step, const S2WideMovers *movers, int32_t aside,
                   S2Row rows[S2_WIDE_ROWS]);
// m: the length by which turns of a body are measured beside its shifts.
double s2_wide_length(const S2Step *step, int32_t slot);
// An orthonormal basis whose first vector is along (j_w/length, j_v); returns how long that is.
double s2_wide_basis(const double j[3], double length, double e[3][3]);
// Nodes and Jacobians of a constraint's own row.
void s2_wide_sides(const S2Step *step, const S2WideMovers *movers, int32_t aside, S2Row *row);
// J M^-1 J' over all its bodies.
double s2_wide_mobility(const S2Step *step, const S2WideMovers *movers);
// Velocities of copies to begin with, from those of `nodes` bodies.
void s2_wide_guess(const S2Row *rows, int count, int nodes, const S2NodeArrays *arrays);
// How many nodes there are beside those of the island's bodies; and what is in them, taken from the
// bodies. They follow in the order of the gears.
int s2_wide_nodes(const S2Step *step, const S2Island *island);
// Of what is left, so that a third of a body is left however many gears it is in.
static inline double s2_wide_part(int nodes) {
  return 1.0 / (nodes + 1);
}
// In projections: inertias of the bodies times `stiffness`, whatever part of them copies have.
void s2_wide_stiffen(const S2Step *step, const S2Island *island, double stiffness, double *mass);
void s2_wide_split(const S2Step *step, const S2Island *island, int nodes,
                   const S2NodeArrays *arrays);
int s2_wide_row_count(const S2WideMovers *movers);
// The rows, 0 to 4; the last one is the gear's own. `aside` is its node.
int s2_wide_gear_rows(const S2Step *step, const S2WideMovers *movers, int32_t aside, double bias,
                      S2Row rows[4]);

#endif
