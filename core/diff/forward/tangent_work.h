// Private to core/diff/forward: the linear systems of pieces and impacts.
#ifndef S2_TANGENT_WORK_H
#define S2_TANGENT_WORK_H

#include "diff/forward/piece_tangent.h"

// An impulse or speed below this fraction of the speed of the island counts as 0, as in
// rattle_contact_undo.c.
#define S2_TANGENT_EDGE 1e-9

typedef struct S2Bend { // d(J_i)/d(pose c), with i and c the pose (angle, x, y) of a, then of b
  double at[6][6];
} S2Bend;

// The derivatives of a piece or of an impact: its rows, and the system of a stage.
typedef struct S2TangentWork {
  const S2Small *small;
  const S2PieceTangent *tangent;
  S2Arena *arena;
  double dt;
  int n, columns;
  bool edge[2][S2_SMALL_ROWS]; // true if the row is on the edge between two states
  S2RattleState state[2][S2_SMALL_ROWS];
  double slope[2][S2_SMALL_ROWS]; // impulse of sliding friction per normal impulse
  S2Bend *bend0, *bend1;          // per row
  double back[S2_SMALL_ROWS];     // of an impact: restitution
  double mass[3 * S2_SMALL_NODES];
  double *q0;            // n x columns: poses at the start
  double *du, *q1;       // n x columns
  double *dl, *dx;       // rows x columns
  double *right, *terms; // n x columns; `terms`: sums of the magnitudes of the terms of `right`
  // The rows of a stage: unknown impulses, the effect of each on the velocities, and the row that
  // measures the speed.
  int unknown, row[S2_SMALL_ROWS];
  double *push, *see; // unknown x n
  double *a, *b;      // unknown x unknown, unknown x columns
} S2TangentWork;

// Sets the right side b of a row for unchanged velocities and impulses, and adds the row.
typedef void S2AddRow(S2TangentWork *work, int r);

S2RattleSource s2_tangent_source_of(const S2TangentWork *work, int r);
// Returns the index of the first number of a seat among the nodes, or -1 for the ground.
int s2_tangent_place_of(const S2TangentWork *work, int seat);
// Compute how rows turn with the poses. Contacts set bend0 or bend1 (`end`).
void s2_tangent_bend_joint(const S2TangentWork *work, int r, const double q[][3], S2Bend *bend);
void s2_tangent_bend_contacts(S2TangentWork *work, bool end);
// Returns the speed along row r that a unit impulse causes, and the speed along a row.
double s2_tangent_mobility_of(const S2TangentWork *work, int r, bool end);
double s2_tangent_along_node(const S2TangentWork *work, int r, const S2SmallSide *side,
                             const double *v);
// to += factor from, over the columns
void s2_tangent_add_columns(const S2TangentWork *work, double factor, const double *from,
                            double *to);
// to += factor (6 numbers of the seats of row r)' of, where `of` has n x columns
void s2_tangent_add_along(const S2TangentWork *work, int r, double factor, const double j[6],
                          const double *of, double *to);
// right += (sum of impulses times dJ'/dq) dq
void s2_tangent_push_bends(S2TangentWork *work, const S2Bend *bends, const double *impulse,
                           const double *dq);
// j_c = sum over i of bend_ic v_i, the derivative of the speed J v with respect to the poses
void s2_tangent_bend_speed(const S2TangentWork *work, int r, const S2Bend *bend, const double *v,
                           double j[6]);
// j += factor times the row
void s2_tangent_sides_of(const S2SmallSide *side, double factor, double j[6]);
// Adds an unknown row. `sides` are the directions of impulses, and `slope` the impulse of sliding
// friction per normal impulse, both per row. `see` (6 numbers) measures the speed of the row.
void s2_tangent_add_unknown(S2TangentWork *work, int r, const S2SmallSide *sides,
                            const double *slope, const double see[6]);
// Solves a system with the unknown rows. At the start, `right` contains the momenta, and b the
// right sides of the rows without the terms of the velocities. At the end, `right` contains the
// derivatives of the velocities, and the rows of `to` those of the unknown impulses.
bool s2_tangent_solve(S2TangentWork *work, const double *give, const double *slope, double *to);
// Returns true if the derivatives leave the speeds of all rows on edges unchanged. If other rows
// hold such a row, both of its states give the same derivatives. (An example is the friction at one
// of two points of a foot that stands, if it is at its bound.) `v` contains the derivatives of the
// velocities.
bool s2_tangent_edges_hold(S2TangentWork *work, bool second, S2AddRow *add_row, const double *v);
// Allocates the arrays. `dt`: length of the step, s.
S2TangentWork s2_tangent_new(const S2Small *piece, double dt, const S2PieceTangent *tangent,
                             S2Arena *arena);
// right += J' x, where x has one number per column
void s2_tangent_push_columns(S2TangentWork *work, int r, const S2SmallSide *side, double factor,
                             const double *x);

#endif
