// The rows of joints in the problem of an island.
#ifndef S2_ROWS_H
#define S2_ROWS_H

#include "dynamics/step/assemble.h"

// Assembles the rows of an island's joints at the poses q, with their parts and initial guesses.
// Returns their number. Motors, springs and moving goals raise `speed`, the velocity scale V. Adds
// impulses known before the solve to `rhs` (3 per node). *given: number of parts without rows,
// stored after the parts of the rows. (joint_rows.c)
int s2_step_joint_rows(const S2Step *step, const double *q, const S2Island *island,
                       S2SolveKind kind, S2Row *rows, S2JointPart *parts, double *lambda,
                       double *rhs, double *speed, int *given);
// Returns the blend of a joint's rows in a solve. `world` is the result of s2_joint_blend for the
// world's settings.
S2Blend s2_step_blend(const S2Step *step, int32_t joint, S2SolveKind kind, const S2Blend *world);

// Joint limits (limit_arrival.c).
// Returns true if the coordinate is near enough to a limit to count as touching it.
static inline bool s2_limit_touches(const S2Island *island, const S2JointRow *row,
                                    double distance) {
  return distance <= S2_TOUCH_SLOP * (s2_joint_row_angular(row) ? 1 : island->length);
}
// The arrival of a coordinate at a limit in this step. Speeds are rates of the distance (rad/s or
// m/s) and are negative if the distance decreases.
typedef struct S2LimitArrival {
  S2JointRow row;           // row at q0
  double sign;              // sign of d(distance)/d(coordinate): 1 for the lower limit, else -1
  double distance;          // rad or m: distance at q0
  double speed, free_speed; // rates at q0: with v0, and with only forces acting
  double arrival;           // >= 0: speed of arrival at the limit, for constant acceleration
  bool rebounds;            // true if the limit has pushed and the coordinate rebounds
} S2LimitArrival;
// `index`: S2_JOINT_LO or S2_JOINT_HI. Ends sequences of bounces: a coordinate does not rebound
// slower than half of the speed change by forces within the step.
S2LimitArrival s2_limit_arrival(const S2Step *step, const S2Island *island, int32_t slot,
                                int index);
// Returns true if the coordinate did not touch the limit at the start and approached it fast
// enough. It must be faster than half of the speed change by forces within the step.
bool s2_limit_struck(const S2Step *step, const S2Island *island, int32_t slot, int index);
// Returns the rate of the distance that restitution requires after the impact, or 0 if the
// coordinate stops at the limit.
double s2_limit_target(const S2Step *step, const S2Island *island, int32_t slot, int index);
// Returns true if any limit of the island makes its joint rebound.
bool s2_step_limit_rebounds(const S2Step *step, const S2Island *island);
// Returns true if a limit of the island makes its joint rebound or has stopped a joint within the
// step. A stopped joint did not touch the limit at q0, but its v2 at q1 still moves it towards the
// limit.
bool s2_step_limit_arrives(const S2Step *step, const S2Island *island);

typedef struct S2JointLoad {
  const double *impulse; // S2_JOINT_ROWS
  double time;           // s: time over which the impulses acted
} S2JointLoad;
// Returns (h w)^2, or 0 if it is below `least`. Here w is the frequency of oscillations that arise
// because a joint's force turns with its bodies. (geometric.c)
double s2_joint_turns_too_fast(const S2Step *step, const S2JointAt *at, const S2JointLoad *load,
                               double h, double least);
// Finds islands that are too stiff for the world's treatment of turning forces. Sets `stiff` for
// their joints and `ahead` for their bodies. (geometric.c)
void s2_step_find_stiff(S2Step *step);
// Marks an island as too stiff in this step.
void s2_island_stiffen(S2Step *step, const S2Island *island);

// Updates the momentum of bodies with ground friction after a solve with the impulses lambda and
// the velocities v (3 per node). Returns true if it differs from the momentum that the rows assume.
// (ground_friction.c)
bool s2_step_ground_turned(S2Step *step, const S2Island *island, const S2Assembly *assembly,
                           const double *v, const double *lambda);

// Gears and constraints that move more than two bodies (wide_rows.c).
typedef struct S2WideMovers {
  bool wide; // true if the joint is of this kind
  int count; // bodies with unknown motion; one or two need a single row and no extra node
  int32_t slot[4];
  double factor[4]; // gear: coefficients of the angular velocities
  double j[4][3];   // constraint: its row, d/d(angle, x, y) of each body
  double given;     // rad/s or m/s: contribution of moving ground
} S2WideMovers;
// Number of auxiliary nodes per row of a constraint, and the largest number of copy rows. The row
// acts on the first node.
enum { S2_WIDE_NODES = 3, S2_WIDE_ROWS = 9 };
S2WideMovers s2_wide_movers(const S2Step *step, const S2Joint *gear);
// 3 numbers per node. `place`: index of the velocity component in the world; S2_NONE for copies in
// a different basis.
typedef struct S2NodeArrays {
  double *mass, *rhs, *v;
  int32_t *place;
} S2NodeArrays;
S2WideMovers s2_wide_row_movers(const S2Step *step, const S2Joint *joint, const S2JointRow *row);
// Returns true if rows of the island act on more than the two bodies of S2JointRow.
bool s2_wide_any(const S2Step *step, const S2Island *island);
// Upper bound of the number of copy rows.
int s2_wide_room(const S2Step *step, const S2Island *island);
// Makes the rows for the copies of a constraint, and returns their number. `aside`: first auxiliary
// node of the row.
int s2_wide_copies(const S2Step *step, const S2WideMovers *movers, int32_t aside,
                   S2Row rows[S2_WIDE_ROWS]);
// m: the length sqrt(I/m) that converts a rotation of the body to a translation.
double s2_wide_length(const S2Step *step, int32_t slot);
// Computes an orthonormal basis whose first vector is along (j_w/length, j_v). Returns the length
// of that vector.
double s2_wide_basis(const double j[3], double length, double e[3][3]);
// Sets the nodes and Jacobians of a constraint's main row.
void s2_wide_sides(const S2Step *step, const S2WideMovers *movers, int32_t aside, S2Row *row);
// Computes J M^-1 J' over all bodies of the row.
double s2_wide_mobility(const S2Step *step, const S2WideMovers *movers);
// Sets the initial velocities of copies from the velocities of the first `nodes` nodes, the bodies.
void s2_wide_guess(const S2Row *rows, int count, int nodes, const S2NodeArrays *arrays);
// Returns the number of auxiliary nodes. They come after the island's bodies, in the order of the
// joints. s2_wide_split fills them and takes their mass from the bodies.
int s2_wide_nodes(const S2Step *step, const S2Island *island);
// The fraction of the remaining mass that each copy takes. At least a third of a body's mass
// remains for any number of gears.
static inline double s2_wide_part(int nodes) {
  return 1.0 / (nodes + 1);
}
// Multiplies the total inertias of the bodies by `stiffness`, for projections. Copies keep their
// inertias, so the bodies receive the whole difference.
void s2_wide_stiffen(const S2Step *step, const S2Island *island, double stiffness, double *mass);
void s2_wide_split(const S2Step *step, const S2Island *island, int nodes,
                   const S2NodeArrays *arrays);
int s2_wide_row_count(const S2WideMovers *movers);
// Makes the rows of a gear, and returns their number, 0 to 4. The last row is the gear's own.
// `aside`: auxiliary node of the gear.
int s2_wide_gear_rows(const S2Step *step, const S2WideMovers *movers, int32_t aside, double bias,
                      S2Row rows[4]);

#endif
