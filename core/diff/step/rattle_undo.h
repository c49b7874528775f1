// The derivative of a piece of the two-stage flow. Private to core/diff/step.
#ifndef S2_RATTLE_UNDO_H
#define S2_RATTLE_UNDO_H

#include "diff/step/undo.h"
#include "dynamics/rattle/rattle.h"

typedef struct S2RattlePiece {
  S2Undo *undo;
  S2Rattle rattle;
  double half; // s, h/2.
  // 3 numbers per slot: adjoints of the poses at the end and at the start of the piece
  double *q1_bar, *q0_bar;
  double *u_bar, *v0_bar;            // 3 numbers per node
  double *v1_bar, *p;                // 3 numbers per node
  double *l_bar, *y;                 // 1 number per row
  double *c2, *b2;                   // 1 per row, for soft rows at the end
  double (*mix)[S2_JOINT_EQUATIONS]; // 1 per row: weights of a joint's equations in stage 2
  S2RowBar *at0, *at1;               // 1 per row: adjoints of the rows at both ends.
  // adjoints of the length of the piece, and of the times at its ends
  double h_bar, elapsed_bar0, elapsed_bar1;
  // adjoints of the times in the substep at which the piece begins and ends
  double start_bar, end_bar;
  bool unasked;      // the loss does not use the impulses of this piece
  double timing_bar; // adjoint of the limit's value, used if `unasked`
  const S2Note *note;
  int laws;                   // number of bodies with force laws in the island
  const S2LawAnswer *answers; // answers of the laws in stage 1, then in stage 2
  bool *lawful;               // 1 per node: true if the body has a force law
  bool *edge[2]; // 1 per row of a stage: true if the row is on the edge between two states
  // 1 per row of a stage: the signed fraction of the friction bound in use
  double *share[2];
  double *give[2];  // additional compliance of the row, velocity per impulse
  double *unit[2];  // unit of kappa for a row: its error divided by its mobility
  bool event;       // true for a piece of event stepping, which may have contacts
  S2TouchBar *pair; // 1 adjoint per touch
  double unused;    // receives adjoints of numbers that no script can set
} S2RattlePiece;

// Returns 1 if the row is at its upper bound, -1 at its lower bound, and 0 otherwise.
static inline double s2_rattle_side(S2RattleState state) {
  return state == S2_RATTLE_AT_HI ? 1 : state == S2_RATTLE_AT_LO ? -1 : 0;
}

// rattle_undo.c. The first function converts q1_bar and v1_bar of the piece's nodes to q0_bar and
// v0_bar. The second converts q_bar of poses that were corrected for joint errors (3 per node) to
// q_bar of the poses before. Both return false if a matrix is singular.
bool s2_rattle_piece_vjp(S2RattlePiece *piece);
bool s2_rattle_placings_vjp(S2RattlePiece *piece, double *q_bar);

// rattle_laws_undo.c. `put_laws` restores the forces of laws in a stage. `put_slopes` restores the
// damping of laws (kg/s) along the coordinates on which they act; it is part of the matrix of stage
// 1. `laws_turn` adds h/2 (dL/du + slope)' p of stage 1 to `turned`. `laws_vjp` passes p on to the
// arguments of the laws in a stage. It leaves out the velocities in stage 1, because the matrix of
// that stage contains them.
void s2_rattle_put_laws(S2RattlePiece *piece, bool second);
void s2_rattle_put_slopes(S2RattlePiece *piece);
void s2_rattle_laws_turn(const S2RattlePiece *piece, double *turned);
void s2_rattle_laws_vjp(S2RattlePiece *piece, bool second);

// rattle_matrix_undo.c: rows that are coupled by compliance or damping matrices. The first function
// returns true if a joint has such rows. The second differentiates the matrices and h, given y
// and l of stage 1 or k of stage 2. It adds the adjoints of the equation values to `bars`, which
// has S2_JOINT_EQUATIONS entries per joint of the island.
static inline bool s2_rattle_coupled(const S2Joint *joint) {
  return joint->compliance.size > 0 || joint->damping.size > 0;
}
void s2_rattle_matrices_vjp(S2RattlePiece *piece, bool second, S2RowBar *bars);

// rattle_reaction_undo.c. The first two functions return the adjoint of the reaction per unit
// impulse along a joint row. The row is given by its sides or by its index r. The third function
// passes the adjoint of an impulse along row r on to the point where the impulse acts.
double s2_rattle_reaction_pull(const S2RattlePiece *piece, int32_t joint, const S2RowSides *side,
                               bool end);
double s2_rattle_row_pull(const S2RattlePiece *piece, int r, bool end);
void s2_rattle_reaction_vjp(S2RattlePiece *piece, int r, bool end, double impulse, S2RowBar *bar);

// rattle_edge_undo.c. The first function finds rows of a stage on an edge and frees them. The
// second sets a flag if the other state of such a row has a different derivative; it uses J p of a
// stage and the adjoint of the reaction. The third sets a flag for redundant rows with bounds.
void s2_rattle_find_edges(S2RattlePiece *piece, bool second);
void s2_rattle_flag_edge(const S2RattlePiece *piece, int r, bool second, double pushed);
void s2_rattle_flag_repeated(const S2RattlePiece *piece);

// The error of row r of a stage, m/s or rad/s: its measured value minus its target.
double s2_rattle_row_off(const S2RattlePiece *piece, int r, bool second);

// rattle_relax_undo.c: smooth derivatives. Sets the states, shares and compliances of a stage, and
// its velocities and impulses on the central path. `mass` holds the masses of the stage (3 per
// node, unchanged).
void s2_rattle_relax(S2RattlePiece *piece, bool second, const double *mass);
// Passes y of row r on to the unit in which the row's kappa is measured; `bar` is the adjoint of
// the row.
void s2_rattle_unit_vjp(S2RattlePiece *piece, int r, bool second, const S2Row *row, S2RowBar *bar);

// rattle_contact_undo.c: states of the rows of a piece with contacts. The solver of such a piece
// does not determine an active set.
void s2_rattle_find_states(S2RattlePiece *piece, bool second);
// The first function passes the adjoints of the rows of a contact point, beginning with row r, on
// to the poses and shapes. It returns the last of these rows. The second function passes the
// adjoint of one row at the end of the piece on to the poses alone, q_bar (3 per slot).
int s2_rattle_contact_vjp(S2RattlePiece *piece, int r, bool end, const S2RowBar *bars);
void s2_rattle_contact_poses(const S2RattlePiece *piece, int r, const S2RowBar *bar, double *q_bar);
// Adds sliding friction to the impulse directions of normal rows, and to the adjoints of their
// impulses.
void s2_rattle_fold(const S2RattlePiece *piece, bool second, S2Row *push, double *bar);
// Differentiates the speed that friction rows measure in stage 1 with respect to u.
void s2_rattle_see_slip(const S2RattlePiece *piece, S2Row *see);
// The first function differentiates the friction coefficient of a sliding row r, given J p and the
// adjoint of the impulse. The second function is for sticking rows. It passes y on to the surface
// speed and, in stage 1, to the directions of the row at both ends.
void s2_rattle_friction_vjp(S2RattlePiece *piece, int r, bool second, double pushed);
void s2_rattle_slip_vjp(S2RattlePiece *piece, int r, bool second, S2RowBar *end);
// Derivatives with respect to material coefficients that are 0.
void s2_rattle_smooth_vjp(S2RattlePiece *piece, bool second);
void s2_rattle_materials_vjp(const S2RattlePiece *piece);

// rattle_dense_undo.c: computes p and y of a stage with contacts. Returns false if the matrix is
// singular.
bool s2_rattle_dense(S2RattlePiece *piece, const S2RattleState *state, const double *mass,
                     const S2Row *push, const S2Row *see, const double *right, const double *l_bar);

// rattle_zero_undo.c: derivatives with respect to bounds that are 0, in stage 2 (`end`) or stage 1.
void s2_rattle_zeros_vjp(const S2RattlePiece *piece, bool end);

// quiet_look.c (see diff/world/quiet.h): inspects a piece after the sweep over its stage 1.
void s2_quiet_look_at_piece(const S2RattlePiece *piece);

#endif
