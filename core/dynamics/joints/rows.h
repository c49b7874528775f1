// The rows of joints in the problem of an island.
#ifndef S2_ROWS_H
#define S2_ROWS_H

#include "dynamics/step/assemble.h"

// Makes the rows of an island's joints at the poses q, with their parts and initial guesses;
// returns their number. `speed` is V; motors, springs and moving goals raise it. Impulses known
// before the solve are added to `rhs` (3 per node). *given: number of parts without rows, which
// follow the parts of the rows. (joint_rows.c)
int s2_step_joint_rows(const S2Step *step, const double *q, const S2Island *island,
                       S2SolveKind kind, S2Row *rows, S2JointPart *parts, double *lambda,
                       double *rhs, double *speed, int *given);
// The blend of a joint's rows in a solve; `world` is s2_joint_blend of the world's settings.
S2Blend s2_step_blend(const S2Step *step, int32_t joint, S2SolveKind kind, const S2Blend *world);

// Limits (limit_arrival.c).
// Whether the coordinate is near enough to a limit to count as touching it.
static inline bool s2_limit_touches(const S2Island *island, const S2JointRow *row,
                                    double distance) {
  return distance <= S2_TOUCH_SLOP * (s2_joint_row_angular(row) ? 1 : island->length);
}
// The arrival of a coordinate at a limit in this step. Speeds are rates of the distance (rad/s or
// m/s): negative if it decreases.
typedef struct S2LimitArrival {
  S2JointRow row;           // the row at q0
  double sign;              // sign of d(distance)/d(coordinate): 1 for the lower limit
  double distance;          // rad or m, at q0
  double speed, free_speed; // at q0: before the step, and if only forces acted
  double arrival;           // >= 0: magnitude of the speed at the limit, at constant acceleration
  bool rebounds; // whether the limit has pushed and reflects the coordinate, so that arrival counts
} S2LimitArrival;
// `index`: S2_JOINT_LO or S2_JOINT_HI. If the speed is below half of the change by forces within
// the step, the coordinate does not rebound, so that bounces end.
S2LimitArrival s2_limit_arrival(const S2Step *step, const S2Island *island, int32_t slot,
                                int index);
// Whether the coordinate did not touch the limit at the start, and approached faster than half of
// the speed that forces cause in the step.
bool s2_limit_struck(const S2Step *step, const S2Island *island, int32_t slot, int index);
// The rate of the distance that restitution requires after the impact; 0: the coordinate stops at
// the limit.
double s2_limit_target(const S2Step *step, const S2Island *island, int32_t slot, int index);
// Whether a limit of the island reflects its joint.
bool s2_step_limit_rebounds(const S2Step *step, const S2Island *island);
// Whether a limit of the island reflects its joint, or stopped a joint that did not touch the limit
// at q0, while a speed towards the limit remains at q1 with v2.
bool s2_step_limit_arrives(const S2Step *step, const S2Island *island);

typedef struct S2JointLoad {
  const double *impulse; // S2_JOINT_ROWS
  double time;           // s: duration of the impulse
} S2JointLoad;
// (h w)^2, where w is the frequency of oscillations caused by the turning of a joint's force with
// its bodies; 0 if below `least`. (geometric.c)
double s2_joint_turns_too_fast(const S2Step *step, const S2JointAt *at, const S2JointLoad *load,
                               double h, double least);
// Finds islands that are too stiff for the world's treatment of turning forces. Sets `stiff` of
// their joints and `ahead` of their bodies. (geometric.c)
void s2_step_find_stiff(S2Step *step);
// Marks the island as too stiff in this step.
void s2_island_stiffen(S2Step *step, const S2Island *island);

// Updates the momentum of bodies on the ground after a solve with the impulses lambda and
// velocities v (3 per node); true if it differs from the momentum that the rows assume.
// (ground_friction.c)
bool s2_step_ground_turned(S2Step *step, const S2Island *island, const S2Assembly *assembly,
                           const double *v, const double *lambda);

// Gears and constraints that move more than two bodies (wide_rows.c).
typedef struct S2WideMovers {
  bool wide; // whether the joint is one of these
  int count; // bodies with unknown motion; up to two need one row and no node
  int32_t slot[4];
  double factor[4]; // gear: factors of the angular velocities
  double j[4][3];   // constraint: its row, d/d(angle, x, y) of each body
  double given;     // contribution of moving ground, rad/s or m/s
} S2WideMovers;
// For each row of a constraint: number of its nodes (the row acts on the first), and the largest
// number of copy rows.
enum { S2_WIDE_NODES = 3, S2_WIDE_ROWS = 9 };
S2WideMovers s2_wide_movers(const S2Step *step, const S2Joint *gear);
typedef struct S2NodeArrays { // 3 per node; place: S2_NONE for copies in a separate basis
  double *mass, *rhs, *v;
  int32_t *place;
} S2NodeArrays;
S2WideMovers s2_wide_row_movers(const S2Step *step, const S2Joint *joint, const S2JointRow *row);
// Whether rows of the island act on more than the two bodies of S2JointRow.
bool s2_wide_any(const S2Step *step, const S2Island *island);
// Upper bound of the number of copy rows.
int s2_wide_room(const S2Step *step, const S2Island *island);
// Makes the rows of a constraint's copies; returns their number. `aside`: the first node of the
// row.
int s2_wide_copies(const S2Step *step, const S2WideMovers *movers, int32_t aside,
                   S2Row rows[S2_WIDE_ROWS]);
// m: the length that converts a body's turn to a shift.
double s2_wide_length(const S2Step *step, int32_t slot);
// Computes an orthonormal basis whose first vector is along (j_w/length, j_v); returns the length
// of (j_w/length, j_v).
double s2_wide_basis(const double j[3], double length, double e[3][3]);
// Nodes and Jacobians of a constraint's main row.
void s2_wide_sides(const S2Step *step, const S2WideMovers *movers, int32_t aside, S2Row *row);
// J M^-1 J' over all its bodies.
double s2_wide_mobility(const S2Step *step, const S2WideMovers *movers);
// Sets the initial velocities of copies from the velocities of the `nodes` bodies.
void s2_wide_guess(const S2Row *rows, int count, int nodes, const S2NodeArrays *arrays);
// The number of auxiliary nodes, and (s2_wide_split) their contents, taken from the bodies. These
// nodes follow the island's bodies, in the order of the joints.
int s2_wide_nodes(const S2Step *step, const S2Island *island);
// The fraction of the remaining mass that a copy takes. A third of a body remains for any number of
// gears.
static inline double s2_wide_part(int nodes) {
  return 1.0 / (nodes + 1);
}
// For projections: multiplies the whole inertias of the bodies by `stiffness`. The parts that
// copies hold are unchanged, so the bodies get the difference.
void s2_wide_stiffen(const S2Step *step, const S2Island *island, double stiffness, double *mass);
void s2_wide_split(const S2Step *step, const S2Island *island, int nodes,
                   const S2NodeArrays *arrays);
int s2_wide_row_count(const S2WideMovers *movers);
// Makes the gear's rows; returns their number, 0 to 4. The last one is the gear's own. `aside`: its
// node.
int s2_wide_gear_rows(const S2Step *step, const S2WideMovers *movers, int32_t aside, double bias,
                      S2Row rows[4]);

#endif
