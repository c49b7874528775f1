// The step problem in the form that the interior-point method, Newton and Gauss-Seidel use. It is
// scaled, and its rows are packed into units of at most two rows. It has one linear system with the
// matrix 1 + A J' D J on the nodes, where A is W^-1 or the mobility of the local form. Both forms
// support the same calls, which use velocities.
//
// Velocities are divided by V. The impulse of row i is multiplied by w_i / V, where w = diag(J W^-1
// J' + C). All unknowns are then of order 1 for any physical units and mass ratios, and
//
//     v = A (c / V + J' (g o lambda)),   u = J v + (C g) lambda + b / V,   g = 1 / w,
//     |lambda_t| <= mu (w_t / w_n) lambda_n.
#ifndef S2_PDIPM_SYSTEM_H
#define S2_PDIPM_SYSTEM_H

#include "linalg/blocksparse.h"
#include "linalg/dense.h"
#include "mcp/mcp.h"

#include <stddef.h>

typedef enum S2UnitKind {
  S2_UNIT_BILATERAL, // one row, or two rows of one joint
  S2_UNIT_BOX,       // one row between finite bounds
  S2_UNIT_NORMAL,    // a contact without friction, or a limit
  S2_UNIT_CONTACT    // a contact with a normal and a tangent row
} S2UnitKind;

// A unit with one row has g[1] = 1, so that products need no test for the missing row.
typedef struct S2Unit {
  int32_t a, b;  // b = nodes stands for the ground
  int32_t slot;  // slot of block (a, b) in the sparse matrix
  int32_t row;   // index of the first row in the problem
  double g[2];   // 1 / w
  double c[2];   // C g
  double b0[2];  // b / V
  double mu;     // mu w_t / w_n
  double lo, hi; // bounds of a boxed row, lo < hi
  S2UnitKind kind;
  unsigned char rows; // 1 or 2
  bool turned;        // true if the ground comes first in the rows of the problem
  bool angular[2];    // true if errors of the row are multiplied by L
} S2Unit;

// The Jacobian of a unit. A row that the unit lacks is zero.
typedef struct S2UnitRows {
  S2Quad ja[2], jb[2];
} S2UnitRows;

// The response -d lambda / d u of a unit. The first index is that of the impulse, the second that
// of the velocity.
typedef struct S2Response {
  double nn, nt, tn, tt;
} S2Response;

typedef struct S2LocalMobility S2LocalMobility; // pdipm_local.h

static inline double s2_unit_clip(const S2Unit *box, double x) {
  return x > box->hi ? box->hi : x < box->lo ? box->lo : x;
}

// Vectors over units have two doubles per unit. Vectors over nodes have one quad per node and
// another for the ground. Products may write to the last quad, and read it only in velocity
// vectors, where it must be 0.
typedef struct S2System {
  const S2Problem *problem;
  int nodes, units, contacts; // contacts: number of units that are not bilateral
  S2Unit *unit;
  S2Quad *mass, *inverse_mass; // NULL in the local form; the fourth lane of inverse_mass is 0
  S2Quad *weight;              // weights of velocities in norms: the masses, or 1 in the local form
  S2Quad *rhs;                 // c / V, or A c / V in the local form
  S2Quad *scratch;             // nodes + 1 entries
  S2LocalMobility *local;      // data of the local form, else NULL
  bool prepared, dense;        // `dense` and the members below are set by s2_system_prepare
  S2Dense dense_matrix;
  S2BlockSparse sparse;
  S2Response *factored;   // response of each unit in the current factorisation of the sparse matrix
  bool factored_accurate; // value of sparse.accurate in that factorisation
  bool is_factored;       // true if there is a factorisation
  double spent;           // work, in whole factorisations with their solves and products
  S2History *history;     // records each iteration of the stages, or NULL
} S2System;

void s2_system_init(S2System *system, const S2Problem *problem, S2Arena *arena);
// Orders the nodes and finds the pattern of K, before the first factorisation. This is separate
// from init, because a scene at rest needs no factorisation, and the preparation would take a tenth
// of its step time. Further calls do nothing.
void s2_system_prepare(S2System *system, S2Arena *arena);

// Convert between the vectors of the problem and the scaled vectors.
void s2_system_read(const S2System *system, const double *v, const double *lambda, S2Quad *v_scaled,
                    double *lambda_scaled);
void s2_system_write(const S2System *system, const S2Quad *v_scaled, const double *lambda_scaled,
                     double *v, double *lambda);

void s2_system_row_velocity(const S2System *system, const S2Quad *v, double *u); // u := J v
// Adds factor J' (g o lambda) to y. These are momenta, which A converts to velocities.
void s2_system_add_impulses(const S2System *system, const double *lambda, double factor, S2Quad *y);
// Adds factor A J' (g o lambda) to y, which must not be `scratch`.
void s2_system_push_all(const S2System *system, const double *lambda, double factor, S2Quad *y);
// Computes v := A (c + J' (g o lambda)).
void s2_system_velocity(const S2System *system, const double *lambda, S2Quad *v);
// Clips impulses to their bounds. The bounds of tangential impulses follow from the clipped normal
// impulses.
void s2_system_clip(const S2System *system, double *lambda);
// Computes f := v - A (c + J' (g o lambda)). f must not be `scratch`.
void s2_system_imbalance(const S2System *system, const S2Quad *v, const double *lambda, S2Quad *f);

// Computes `scaled` of s2_mcp_residual from the scaled unknowns. Also sets u = J v and leaves the
// imbalance in `scratch`.
double s2_system_residual(const S2System *system, const S2Quad *v, const double *lambda, double *u);

// Factors 1 + A J' (g o response) J. For bodies the factorisation is symmetric unless
// `nonsymmetric` is set. Returns false if the matrix is numerically singular. A call costs less if
// few responses have changed since the last call. The result is bitwise the same.
bool s2_system_factor(S2System *system, const S2Response *response, bool nonsymmetric);
void s2_system_solve(const S2System *system, const S2Quad *b, S2Quad *x); // x may be b.

// This function is unrolled, because a loop would store the numbers in memory and take twice as
// long.
S2_INLINE void s2_unit_rows(const S2System *system, const S2Unit *unit, S2UnitRows *j) {
  const S2Row *row = &system->problem->row[unit->row];
  s2_quad_load(&j->ja[0], unit->turned ? row[0].jb : row[0].ja);
  s2_quad_load(&j->jb[0], unit->turned ? row[0].ja : row[0].jb);
  j->ja[1] = j->jb[1] = (S2Quad){0};
  if (unit->rows == 2) {
    s2_quad_load(&j->ja[1], unit->turned ? row[1].jb : row[1].ja);
    s2_quad_load(&j->jb[1], unit->turned ? row[1].ja : row[1].jb);
  }
}

// Returns the factor by which errors of row r are multiplied.
S2_INLINE double s2_unit_arm(const S2System *system, const S2Unit *unit, int r) {
  return unit->angular[r] ? system->problem->length : 1;
}

// Operations on single units, for methods that go from contact to contact. The first computes u = J
// v of unit k. The second adds the velocities that a change of its impulses causes. The third
// returns its block of the scaled Delassus matrix with compliance, which gives u_n and u_t per
// lambda_n and lambda_t.
S2_INLINE void s2_system_unit_velocity(const S2System *system, int k, const S2Quad *v,
                                       double u[2]) {
  const S2Unit *unit = &system->unit[k];
  S2UnitRows j;
  s2_unit_rows(system, unit, &j);
  S2Quad va = v[unit->a], vb = v[unit->b];
  for (int r = 0; r < 2; r++) {
    S2Quad s = j.ja[r] * va + j.jb[r] * vb;
    u[r] = s[0] + s[1] + s[2];
  }
}

void s2_local_push(const S2System *system, int k, const double change[2], S2Quad *v);
S2Response s2_local_coupling(const S2System *system, int k);

S2_INLINE void s2_system_push(const S2System *system, int k, const double change[2], S2Quad *v) {
  if (system->local != NULL) {
    s2_local_push(system, k, change, v);
    return;
  }
  const S2Unit *unit = &system->unit[k];
  S2UnitRows j;
  s2_unit_rows(system, unit, &j);
  double n = unit->g[0] * change[0], t = unit->g[1] * change[1];
  v[unit->a] += system->inverse_mass[unit->a] * (j.ja[0] * n + j.ja[1] * t);
  v[unit->b] += system->inverse_mass[unit->b] * (j.jb[0] * n + j.jb[1] * t);
}

S2_INLINE S2Response s2_system_coupling(const S2System *system, int k) {
  if (system->local != NULL) {
    return s2_local_coupling(system, k);
  }
  const S2Unit *unit = &system->unit[k];
  S2UnitRows j;
  s2_unit_rows(system, unit, &j);
  double w[2][2];
  for (int r = 0; r < 2; r++) {
    for (int s = 0; s < 2; s++) {
      S2Quad sum = j.ja[r] * system->inverse_mass[unit->a] * j.ja[s] +
                   j.jb[r] * system->inverse_mass[unit->b] * j.jb[s];
      w[r][s] = (sum[0] + sum[1] + sum[2]) * unit->g[s];
    }
  }
  return (S2Response){w[0][0] + unit->c[0], w[0][1], w[1][0], w[1][1] + unit->c[1]};
}

#endif
