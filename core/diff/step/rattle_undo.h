// A piece of the flow in two stages going backwards. Private to core/diff/step.
#ifndef S2_RATTLE_UNDO_H
#define S2_RATTLE_UNDO_H

#include "diff/step/undo.h"
#include "dynamics/rattle/rattle.h"

typedef struct S2RattlePiece {
  S2Undo *undo;
  S2Rattle rattle;
  double half;                              // s, h/2
  double *q1_bar, *q0_bar;                  // 3 a slot: of the poses at its end, at its start
  double *u_bar, *v0_bar;                   // 3 a node
  double *v1_bar, *p;                       // 3 a node
  double *l_bar, *y;                        // a row
  double *c2, *b2;                          // a row: soft rows at the end
  double (*mix)[S2_JOINT_EQUATIONS];        // a row: of a joint's equations, in stage 2
  S2RowBar *at0, *at1;                      // a row: of the rows at both ends
  double h_bar, elapsed_bar0, elapsed_bar1; // of the piece's length, and of times at its ends
  double start_bar, end_bar;                // of when it begins and ends in the substep, with h_bar
  bool unasked;                             // no loss asks for its impulses
  double timing_bar;                        // of that
  const S2Note *note;
  int laws;                   // of bodies of the island
  const S2LawAnswer *answers; // in stage 1, then in stage 2
  bool *lawful;               // a node
  bool *edge[2];              // a row of a stage: on the edge of two states
  double *share[2];           // the same of friction: the part of its bound that it has, signed
  double *give[2];            // velocity per impulse: by which it gives way beside its compliance
  double *unit[2];            // of what it misses by its own mobility, the unit of kappa
  bool event;                 // of event stepping, with contacts
  S2TouchBar *pair;           // a touch of it
  double unused;              // adjoint of what no script can set
} S2RattlePiece;

// Which bound a row of this state is at, or which way its friction pushes: 1, -1, or 0: neither.
static inline double s2_rattle_side(S2RattleState state) {
  return state == S2_RATTLE_AT_HI ? 1 : state == S2_RATTLE_AT_LO ? -1 : 0;
}

// rattle_undo.c: from q1_bar of the piece's nodes and v1_bar to q0_bar and v0_bar of them; from
// q_bar of poses that were placed on the joints (3 a node) to those before. False: it is singular.
bool s2_rattle_piece_vjp(S2RattlePiece *piece);
bool s2_rattle_placings_vjp(S2RattlePiece *piece, double *q_bar);

// rattle_laws_undo.c: forces of bodies with laws, as a stage had them; what laws damp of the
// coordinate that they push, kg/s, part of the matrix as in stage 1; `turned` += h/2 (dL/du +
// slope)' p of stage 1; from p to what laws saw in a stage, but for velocities of stage 1, which
// are in its matrix.
void s2_rattle_put_laws(S2RattlePiece *piece, bool second);
void s2_rattle_put_slopes(S2RattlePiece *piece);
void s2_rattle_laws_turn(const S2RattlePiece *piece, double *turned);
void s2_rattle_laws_vjp(S2RattlePiece *piece, bool second);

// rattle_matrix_undo.c: rows that matrices of compliance or damping couple. Are they? From y and l
// of stage 1, or k of stage 2, to the matrices, to h and to the values (`at0`, and in stage 2
// `at1`: an equation of each joint, S2_JOINT_EQUATIONS a joint of the island) that the rows do not
// see.
static inline bool s2_rattle_coupled(const S2Joint *joint) {
  return joint->compliance.size > 0 || joint->damping.size > 0;
}
void s2_rattle_matrices_vjp(S2RattlePiece *piece, bool second, S2RowBar *bars);

// rattle_reaction_undo.c: of a unit impulse along these sides of a joint, or along row r, to its
// reaction; and of an impulse along row r to where that pushes.
double s2_rattle_reaction_pull(const S2RattlePiece *piece, int32_t joint, const S2RowSides *side,
                               bool end);
double s2_rattle_row_pull(const S2RattlePiece *piece, int r, bool end);
void s2_rattle_reaction_vjp(S2RattlePiece *piece, int r, bool end, double impulse, S2RowBar *bar);

// rattle_edge_undo.c: finds rows of a stage on an edge, and lets them go; and flags one
// whose other state has another derivative, with J p of a stage and what the reaction asks; flags
// rows with bounds that repeat others.
void s2_rattle_find_edges(S2RattlePiece *piece, bool second);
void s2_rattle_flag_edge(const S2RattlePiece *piece, int r, bool second, double pushed);
void s2_rattle_flag_repeated(const S2RattlePiece *piece);

// What row r of a stage misses, m/s or rad/s: what it measures, less what it asks for.
double s2_rattle_row_off(const S2RattlePiece *piece, int r, bool second);

// rattle_relax_undo.c: smooth derivatives: states, shares and what gives way, with velocities and
// impulses on the central path, of a stage with these masses (3 a node, which stay).
void s2_rattle_relax(S2RattlePiece *piece, bool second, const double *mass);
// From y of row r to the unit of its kappa; `bar`: of that row.
void s2_rattle_unit_vjp(S2RattlePiece *piece, int r, bool second, const S2Row *row, S2RowBar *bar);

// rattle_contact_undo.c: states of the rows of a piece with contacts, whose solver finds no active
// set.
void s2_rattle_find_states(S2RattlePiece *piece, bool second);
// From the adjoints of the rows of a point of contact, the first of which is r, to its poses and
// shapes: the last of these rows. The same of one row at the end of the piece to poses alone, q_bar
// (3 a slot).
int s2_rattle_contact_vjp(S2RattlePiece *piece, int r, bool end, const S2RowBar *bars);
void s2_rattle_contact_poses(const S2RattlePiece *piece, int r, const S2RowBar *bar, double *q_bar);
// Friction that slides goes into the normal rows that push, and into what is asked of their
// impulses.
void s2_rattle_fold(const S2RattlePiece *piece, bool second, S2Row *push, double *bar);
// What friction rows of stage 1 see of u.
void s2_rattle_see_slip(const S2RattlePiece *piece, S2Row *see);
// Of friction row r: that slides, to its coefficient, with J p and what the loss asks; that sticks,
// from y to the surface speed and (stage 1) to its directions at both ends.
void s2_rattle_friction_vjp(S2RattlePiece *piece, int r, bool second, double pushed);
void s2_rattle_slip_vjp(S2RattlePiece *piece, int r, bool second, S2RowBar *end);
// Coefficients of 0 that a script differentiates by.
void s2_rattle_smooth_vjp(S2RattlePiece *piece, bool second);
void s2_rattle_materials_vjp(const S2RattlePiece *piece);

// rattle_dense_undo.c: p and y of a stage with contacts. False: it is singular.
bool s2_rattle_dense(S2RattlePiece *piece, const S2RattleState *state, const double *mass,
                     const S2Row *push, const S2Row *see, const double *right, const double *l_bar);

// rattle_zero_undo.c: bounds of 0 that a script differentiates by, in stage 2 (`end`) or stage 1; p
// are the momenta of the piece.
void s2_rattle_zeros_vjp(const S2RattlePiece *piece, bool end);

// quiet_look.c, see diff/world/quiet.h: of a piece whose stage 1 is undone.
void s2_quiet_look_at_piece(const S2RattlePiece *piece);

#endif
